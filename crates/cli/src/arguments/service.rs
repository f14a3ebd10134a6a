//! The arguments of the running service's commands.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use laxity_units::Span;
use tracing_subscriber::filter::LevelFilter;

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The node file.
    #[arg(value_name = "NODE")]
    pub(crate) file: PathBuf,
    /// The least important messages that standard error gets.
    #[arg(long, value_name = "LEVEL", env = "LAXITY_LOG", default_value = "info")]
    pub(crate) log: LogLevel,
}

/// How important a message of the daemon is.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LogLevel {
    /// None.
    Off,
    /// Warnings.
    Warn,
    /// Sessions and reloads, too.
    Info,
}

impl LogLevel {
    pub(crate) fn filter(self) -> LevelFilter {
        match self {
            Self::Off => LevelFilter::OFF,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Capture {
    /// The log of a daemon.
    #[arg(value_name = "LOG")]
    pub(crate) log: PathBuf,
    /// The capture, such as `camera.pcapng`.
    #[arg(value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct MakeKeys {
    /// Where the files are written; an authority that is there signs the new nodes.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Names of nodes.
    #[arg(value_name = "NODE", required = true)]
    pub(crate) nodes: Vec<String>,
}

/// The local daemon.
#[derive(Debug, Args)]
pub(crate) struct Daemon {
    /// The socket of the daemon; the only one in /run/laxity if it is absent.
    #[arg(long, value_name = "PATH", env = "LAXITY_SOCKET")]
    pub(crate) socket: Option<PathBuf>,
}

/// A contract.
#[derive(Debug, Args)]
pub(crate) struct ContractOptions {
    /// The largest message.
    #[arg(long, value_name = "BYTES", default_value = "1000")]
    pub(crate) size: u32,
    /// The least average spacing of messages.
    #[arg(long, value_name = "TIME", default_value = "10 ms")]
    pub(crate) interval: Span,
    /// The longest burst.
    #[arg(long, value_name = "MESSAGES", default_value = "1")]
    pub(crate) burst: u32,
    /// How long after its logical arrival each message is delivered at the latest.
    #[arg(long, value_name = "TIME", default_value = "5 ms")]
    pub(crate) deadline: Span,
}

/// Parts of a contract.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct ContractChanges {
    /// The largest message.
    #[arg(long, value_name = "BYTES")]
    pub(crate) size: Option<u32>,
    /// The least average spacing of messages.
    #[arg(long, value_name = "TIME")]
    pub(crate) interval: Option<Span>,
    /// The longest burst.
    #[arg(long, value_name = "MESSAGES")]
    pub(crate) burst: Option<u32>,
    /// How long after its logical arrival each message is delivered at the latest.
    #[arg(long, value_name = "TIME")]
    pub(crate) deadline: Option<Span>,
}

#[derive(Debug, Args)]
pub(crate) struct Send {
    /// The receiver.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) contract: ContractOptions,
    /// Sends N messages of zeros instead of standard input.
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,
    /// Does not wait for the contract: messages beyond it are refused, and counted.
    #[arg(long)]
    pub(crate) excess: bool,
    #[command(flatten)]
    pub(crate) daemon: Daemon,
}

#[derive(Debug, Args)]
pub(crate) struct Recv {
    /// The name to listen at.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Ends after N messages. The exit code is 4 if fewer came until the end.
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,
    /// Ends after this time.
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) time: Option<Span>,
    /// Writes a table at the end instead of the messages: the worst delay of each channel beside its
    /// bound. The exit code is 1 if a message is late or did not arrive though one behind it did, and 4 if
    /// none came.
    #[arg(long)]
    pub(crate) report: bool,
    /// Sends each message of `laxity ping` back.
    #[arg(long)]
    pub(crate) echo: bool,
    #[command(flatten)]
    pub(crate) daemon: Daemon,
}

#[derive(Debug, Args)]
pub(crate) struct Ping {
    /// The receiver, which runs `laxity recv NAME --echo`.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) contract: ContractOptions,
    /// Round trips that are counted. One before them establishes the channel back.
    #[arg(long, short, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: u64,
    #[command(flatten)]
    pub(crate) daemon: Daemon,
}

#[derive(Debug, Args)]
#[group(id = "end", required = true)]
pub(crate) struct Bridge {
    /// The address at which the datagrams of a program arrive; it gets answers from there.
    #[arg(long, value_name = "ADDRESS", requires = "to", group = "end")]
    pub(crate) listen: Option<SocketAddr>,
    /// The receiver of the datagrams; with `--send`, of the answers to what was sent.
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// The name at which messages arrive; with `--listen`, the answers.
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<String>,
    /// The address that gets the messages as datagrams.
    #[arg(long, value_name = "ADDRESS", requires = "from", group = "end")]
    pub(crate) send: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) contract: ContractOptions,
    #[command(flatten)]
    pub(crate) daemon: Daemon,
}

#[derive(Debug, Args)]
pub(crate) struct Channel {
    #[command(subcommand)]
    pub(crate) command: ChannelCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChannelCommand {
    /// Shows the channels that begin at, pass or end at the node.
    Show {
        /// As JSON.
        #[arg(long, short)]
        json: bool,
        #[command(flatten)]
        daemon: Daemon,
    },
    /// Asks for another contract of a channel that begins at the node: what is not given stays. The
    /// program goes on under the new contract; if it is refused, the old one stays.
    Change {
        /// The channel as `show` names it: node, epoch and number.
        #[arg(value_name = "CHANNEL")]
        channel: String,
        #[command(flatten)]
        contract: ContractChanges,
        #[command(flatten)]
        daemon: Daemon,
    },
    /// Closes a channel that begins at the node.
    Del {
        /// The channel as `show` names it: node, epoch and number.
        #[arg(value_name = "CHANNEL")]
        channel: String,
        #[command(flatten)]
        daemon: Daemon,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ShowNode {
    /// As JSON.
    #[arg(long, short)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) daemon: Daemon,
}

#[derive(Debug, Args)]
pub(crate) struct Top {
    /// From one view to the next.
    #[arg(long, value_name = "TIME", default_value = "1 s")]
    pub(crate) every: Span,
    /// Ends after N views.
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,
    #[command(flatten)]
    pub(crate) daemon: Daemon,
}
