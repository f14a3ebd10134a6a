//! The running service: the daemon, and commands that are its programs.

pub(crate) mod bridge;
pub(crate) mod capture;
pub(crate) mod network;
pub(crate) mod ping;
pub(crate) mod receive;
pub(crate) mod send;
pub(crate) mod show;
mod top;

use std::time::Duration;

use laxity_client::{Channel, Client, Contract, Error};
use laxity_service::NodeFile;
use laxity_units::Span;
use laxity_world::text::clean;

use crate::Exit;
use crate::arguments::{ContractOptions, Daemon, MakeKeys, Serve};
use crate::terminal::Terminal;

/// Five seconds of searches for a receiver, one each 50 ms: records of names are flooded each second.
fn for_seconds(search: u32) -> bool {
    search < 100
}

/// `laxity serve`.
pub(crate) fn serve(options: &Serve, terminal: &mut Terminal) -> Exit {
    let file = match NodeFile::read(&options.file) {
        Ok(file) => file,
        Err(why) => {
            terminal.error(&why.to_string());
            return Exit::BadInput;
        }
    };
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_target(false).with_ansi(false);
    let _ = log.with_max_level(options.log.filter()).try_init();
    let ready = |socket: &std::path::Path| {
        terminal.note(&format!("{}: programs connect at {}", file.name, socket.display()));
    };
    match laxity_service::serve(&file, ready) {
        Ok(()) => Exit::Holds,
        Err(why) => {
            terminal.error(&clean(&why));
            Exit::Broken
        }
    }
}

/// `laxity keys`.
pub(crate) fn keys(options: &MakeKeys, terminal: &mut Terminal) -> Exit {
    match laxity_service::make_keys(&options.directory, &options.nodes) {
        Ok(written) => {
            written.iter().for_each(|path| terminal.line(&path.display().to_string()));
            Exit::Holds
        }
        Err(why) => {
            terminal.error(&clean(&why));
            Exit::Broken
        }
    }
}

fn connect(daemon: &Daemon) -> Result<Client, Error> {
    daemon.socket.as_ref().map_or_else(Client::connect, |path| Client::connect_to(path))
}

/// Why a program of the service ends early.
enum Failure {
    /// An error of the client.
    Client(Error),
    /// No node knows the receiver, for the reason of the daemon.
    Unknown(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Client(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Client(error.into())
    }
}

/// A channel to `name`. A receiver that no node knows yet is searched for while `goes_on` with the
/// number of searches.
fn open(
    client: &Client,
    name: &str,
    contract: Contract,
    goes_on: impl Fn(u32) -> bool,
    terminal: &Terminal,
) -> Result<Channel, Failure> {
    for search in 0.. {
        match client.resolve(name) {
            Err(Error::Failed(why)) if !goes_on(search) => return Err(Failure::Unknown(why)),
            Err(Error::Failed(_)) => {}
            Err(other) => return Err(other.into()),
            Ok(_) => break,
        }
        if search == 10 {
            terminal.note(&format!("no node knows a receiver `{}` yet; waiting", clean(name)));
        }
        std::thread::park_timeout(Duration::from_millis(50));
    }
    Ok(client.open(name, contract)?)
}

fn contract(options: &ContractOptions) -> Contract {
    let ns = |span: Span| span.as_ps() / 1000;
    Contract {
        max_message: options.size,
        min_message: 1,
        interval_ns: ns(options.interval),
        burst: options.burst,
        deadline_ns: ns(options.deadline),
    }
}

/// The exit code of a program of the service.
fn finish(outcome: Result<Exit, impl Into<Failure>>, terminal: &mut Terminal) -> Exit {
    outcome.unwrap_or_else(|failure| {
        let error = match failure.into() {
            Failure::Client(error) => error,
            Failure::Unknown(why) => {
                terminal.error(&clean(&why));
                return Exit::Fails;
            }
        };
        terminal.error(&clean(&error.to_string()));
        match error {
            Error::Refused(_) | Error::Lost | Error::Ended | Error::Excess | Error::Length => Exit::Fails,
            Error::Failed(_) => Exit::BadInput,
            Error::System(_) | Error::Disconnected | Error::Garbled | Error::Forked => Exit::Broken,
        }
    })
}

/// A measured time in the largest unit of which it has one, to a thousandth of it.
fn span(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us"), (1, "ns")];
    let (unit, name) = units.into_iter().find(|(unit, _)| ns >= *unit).unwrap_or((1, "s"));
    let value = (ns as f64 * 1000.0 / unit as f64).round() / 1000.0;
    format!("{value} {name}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_measured_time_is_short() {
        let shown = [0, 900, 8_166_726, 5_000_000, 196_619, 1_500_000_000].map(super::span);
        assert_eq!(shown, ["0 s", "900 ns", "8.167 ms", "5 ms", "196.619 us", "1.5 s"]);
    }
}
