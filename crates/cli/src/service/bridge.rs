//! `laxity bridge`: datagrams of unchanged programs over channels, one way or both.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use laxity_client::{Channel, Client, Error, Listener};
use laxity_machine::signal::{StopFlag, StopOnSignal};

use crate::Exit;
use crate::arguments::Bridge;
use crate::check::counted;
use crate::service::{Failure, connect, contract, finish, open};
use crate::terminal::Terminal;

/// A wait is at most so long, so that an interrupt is noticed.
const LOOK: std::time::Duration = std::time::Duration::from_millis(100);

pub(crate) fn bridge(options: &Bridge, terminal: &mut Terminal) -> Exit {
    let outcome = run(options, terminal);
    finish(outcome, terminal)
}

/// One socket: programs send to it and get answers from it, as from the program at the other end.
struct Port {
    socket: UdpSocket,
    /// The program that gets messages: a stated one, or that of the last datagram.
    program: Mutex<Option<SocketAddr>>,
    stop: StopFlag,
    /// One direction has ended.
    over: AtomicBool,
}

impl Port {
    fn goes_on(&self) -> bool {
        !self.stop.is_set() && !self.over.load(Ordering::Relaxed)
    }
}

fn run(options: &Bridge, terminal: &Terminal) -> Result<Exit, Failure> {
    let stop = StopOnSignal::install().map_err(|refused| Error::Failed(refused.to_string()))?;
    let any = |to: SocketAddr| if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = match (options.listen, options.send) {
        (Some(listen), _) => UdpSocket::bind(listen)?,
        (None, Some(send)) => {
            let socket = UdpSocket::bind(any(send))?;
            // Answers are those of that program.
            socket.connect(send)?;
            socket
        }
        // The arguments are checked before.
        (None, None) => return Err(Error::Failed("a bridge has `--listen` or `--send`".to_owned()).into()),
    };
    socket.set_read_timeout(Some(LOOK))?;
    let port =
        Port { socket, program: Mutex::new(options.send), stop: stop.flag(), over: AtomicBool::new(false) };
    let client = connect(&options.daemon)?;
    // The other end may wait for this name before it has its own.
    let listener = options.from.as_ref().map(|from| listen(options, &client, from, terminal)).transpose()?;
    let channel = match &options.to {
        None => None,
        Some(to) => match establish(options, &client, (to, &port), terminal)? {
            None => return Ok(Exit::Holds),
            channel => channel,
        },
    };
    // Both directions end with the first that does.
    let ended = |outcome: Result<(), Error>| {
        port.over.store(true, Ordering::Relaxed);
        outcome
    };
    let incoming = |listener| ended(back(&port, listener, terminal));
    let outcome = std::thread::scope(|scope| {
        let incoming = listener.map(|listener| scope.spawn(|| incoming(listener)));
        let outgoing = channel.map_or(Ok(()), |channel| ended(forth(&port, channel, terminal)));
        let incoming = incoming.map_or(Ok(()), |thread| thread.join().expect("no panic"));
        outgoing.and(incoming)
    });
    outcome?;
    Ok(Exit::Holds)
}

fn listen(options: &Bridge, client: &Client, from: &str, terminal: &Terminal) -> Result<Listener, Error> {
    let listener = client.listen(from)?;
    let to = options.send.map_or_else(|| "the program that sends".to_owned(), |send| send.to_string());
    terminal.note(&format!("`{from}` on {} → {to}", client.node()));
    Ok(listener)
}

/// The channel, as soon as its receiver is known; `None` after an interrupt.
fn establish(
    options: &Bridge,
    client: &Client,
    (to, port): (&str, &Port),
    terminal: &Terminal,
) -> Result<Option<Channel>, Failure> {
    let channel = match open(client, to, contract(&options.contract), |_| port.goes_on(), terminal) {
        Err(_) if !port.goes_on() => return Ok(None),
        channel => channel?,
    };
    let from = options.listen.map_or_else(|| "answers".to_owned(), |listen| listen.to_string());
    terminal.note(&format!("{from} → channel {} over {}", channel.name(), channel.route().join(" → ")));
    Ok(Some(channel))
}

/// From programs to the channel.
fn forth(port: &Port, mut channel: Channel, terminal: &Terminal) -> Result<(), Error> {
    let (mut buffer, mut long) = (vec![0; 65_536], 0_u64);
    while port.goes_on() {
        let Ok((length, program)) = port.socket.recv_from(&mut buffer) else { continue };
        *port.program.lock().expect("no panic") = Some(program);
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
    channel.close()
}

/// From a name to the program.
fn back(port: &Port, mut listener: Listener, terminal: &Terminal) -> Result<(), Error> {
    let (mut carried, mut lost) = (0_u64, 0_u64);
    while port.goes_on() {
        let Some(message) = listener.recv_timeout(LOOK)? else { continue };
        let program = *port.program.lock().expect("no panic");
        // No program is known yet, none listens there now, or the message is longer than a datagram.
        let taken = program.is_some_and(|program| port.socket.send_to(&message.payload, program).is_ok());
        if taken { carried += 1 } else { lost += 1 }
    }
    terminal.note(&format!("{carried} messages carried, {lost} not taken"));
    Ok(())
}
