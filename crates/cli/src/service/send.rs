//! `laxity send`: standard input over a channel.

use std::io::Read;

use laxity_client::{Channel, Error};

use crate::Exit;
use crate::arguments::Send;
use crate::service::{Failure, connect, contract, finish, for_seconds, open};
use crate::terminal::Terminal;

pub(crate) fn send(options: &Send, terminal: &mut Terminal) -> Exit {
    finish(run(options, terminal), terminal)
}

fn run(options: &Send, terminal: &Terminal) -> Result<Exit, Failure> {
    let client = connect(&options.daemon)?;
    let mut channel = open(&client, &options.name, contract(&options.contract), for_seconds, terminal)?;
    terminal.note(&format!("channel {} over {}", channel.name(), channel.route().join(" → ")));
    let size = options.contract.size as usize;
    let sent = match options.count {
        Some(count) => {
            let message = vec![0; size];
            for _ in 0..count {
                one(&mut channel, &message, options.excess)?;
            }
            count
        }
        None => input(&mut channel, size, options.excess)?,
    };
    channel.drain()?;
    terminal.note(&match options.excess {
        true => format!("{sent} messages, {} accepted, {} refused", channel.accepted(), channel.excess()),
        // One that the daemon refused was sent again.
        false => format!("{sent} messages, all accepted"),
    });
    channel.close()?;
    Ok(Exit::Holds)
}

/// Sends a message; with `excess`, one beyond the contract is only counted.
fn one(channel: &mut Channel, message: &[u8], excess: bool) -> Result<(), Error> {
    if !excess {
        return channel.send(message);
    }
    match channel.try_send(message) {
        Err(Error::Excess) => Ok(()),
        sent => sent,
    }
}

fn input(channel: &mut Channel, size: usize, excess: bool) -> Result<u64, Error> {
    let (mut input, mut message, mut sent) = (std::io::stdin().lock(), Vec::new(), 0);
    loop {
        message.clear();
        input.by_ref().take(size as u64).read_to_end(&mut message)?;
        if message.is_empty() {
            return Ok(sent);
        }
        one(channel, &message, excess)?;
        sent += 1;
    }
}
