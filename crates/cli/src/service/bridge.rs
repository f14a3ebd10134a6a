//! `laxity bridge`: datagrams of unchanged programs over a channel.

use std::net::{SocketAddr, UdpSocket};

use laxity_client::Error;
use laxity_machine::signal::StopOnSignal;

use crate::Exit;
use crate::arguments::Bridge;
use crate::check::counted;
use crate::service::{connect, contract, finish, open};
use crate::terminal::Terminal;

/// A wait is at most so long, so that an interrupt is noticed.
const LOOK: std::time::Duration = std::time::Duration::from_millis(100);

pub(crate) fn bridge(options: &Bridge, terminal: &mut Terminal) -> Exit {
    let outcome = match (&options.listen, &options.to, &options.from, &options.send) {
        (Some(listen), Some(to), ..) => forth(options, *listen, to, terminal),
        (_, _, Some(from), Some(send)) => back(options, from, *send, terminal),
        // The arguments are checked before.
        _ => Err(Error::Failed("a bridge goes from an address to a name, or back".to_owned())),
    };
    finish(outcome, terminal)
}

fn stop() -> Result<StopOnSignal, Error> {
    StopOnSignal::install().map_err(|refused| Error::Failed(refused.to_string()))
}

fn forth(options: &Bridge, listen: SocketAddr, to: &str, terminal: &Terminal) -> Result<Exit, Error> {
    let stop = stop()?;
    let socket = UdpSocket::bind(listen)?;
    socket.set_read_timeout(Some(LOOK))?;
    let client = connect(&options.daemon)?;
    let mut channel = open(&client, to, contract(&options.contract), terminal)?;
    terminal.note(&format!("{listen} → channel {} over {}", channel.name(), channel.route().join(" → ")));
    let (mut buffer, mut long) = (vec![0; 65_536], 0_u64);
    while !stop.flag().is_set() {
        let Ok(length) = socket.recv(&mut buffer) else { continue };
        match channel.try_send(&buffer[..length]) {
            Ok(()) | Err(Error::Excess) => {}
            Err(Error::Length) => long += 1,
            Err(other) => return Err(other),
        }
    }
    let (accepted, excess) = (channel.accepted(), channel.excess());
    terminal.note(&format!(
        "{} carried, {excess} beyond the contract, {long} too long or empty",
        counted(accepted as usize, "datagram")
    ));
    channel.close()?;
    Ok(Exit::Holds)
}

fn back(options: &Bridge, from: &str, send: SocketAddr, terminal: &Terminal) -> Result<Exit, Error> {
    let stop = stop()?;
    let any = if send.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any)?;
    let client = connect(&options.daemon)?;
    let mut listener = client.listen(from)?;
    terminal.note(&format!("`{from}` on {} → {send}", client.node()));
    let (mut carried, mut lost) = (0_u64, 0_u64);
    while !stop.flag().is_set() {
        let Some(message) = listener.recv_timeout(LOOK)? else { continue };
        match socket.send_to(&message.payload, send) {
            Ok(_) => carried += 1,
            // Nothing listens there now, or the message is longer than a datagram.
            Err(_) => lost += 1,
        }
    }
    terminal.note(&format!("{carried} messages carried, {lost} not taken"));
    Ok(Exit::Holds)
}
