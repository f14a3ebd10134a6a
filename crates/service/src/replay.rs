//! A daemon's log again, in virtual time.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use laxity_node::{Node, Response};
use laxity_signalling::identity::{Epoch, NodeId, Program};
use laxity_units::{Span, Time};

use crate::daemon::jitter;
use crate::journal::{Head, Input, MAGIC, hash, quotas};
use crate::node_file::{LinkFile, NodeFile};

/// The outcome of a repeated log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplayedLog {
    /// The version of the program that wrote it.
    pub version: String,
    /// The name of the node.
    pub name: String,
    /// Inputs.
    pub inputs: u64,
    /// The last instant, since the start of the daemon.
    pub end: Time,
    /// Frames that arrived, and that left as they did in the run.
    pub frames: (u64, u64),
    /// Messages that were accepted from programs, and delivered to them.
    pub messages: (u64, u64),
    /// Packets that left by more than the stated delay of the hosts after their local deadlines:
    /// channel, instant and lateness.
    pub late: Vec<(String, Time, Span)>,
    /// The log was cut off in the middle of an input.
    pub is_cut: bool,
}

/// Whether the bytes are the begin of a daemon's log.
pub fn is_log(begin: &[u8]) -> bool {
    begin.starts_with(MAGIC)
}

/// A frame that a daemon received from or sent to a neighbour, without its seal.
#[derive(Debug, Clone, Copy)]
pub struct Passed<'a> {
    /// When, since the start of the daemon.
    pub at: Time,
    /// The addresses of the sender and of the receiver.
    pub between: [SocketAddr; 2],
    /// The name of the neighbour.
    pub neighbour: &'a str,
    /// The header and the payload.
    pub bytes: &'a [u8],
}

/// Repeats the log at `path`, and passes each frame to `watch`.
///
/// # Errors
/// A sentence: the file is no log of a daemon, or the node does something else than in the run.
pub fn replay(path: &Path, watch: &mut dyn FnMut(Passed<'_>)) -> Result<ReplayedLog, String> {
    let bytes = fs::read(path).map_err(|why| format!("{}: {why}", path.display()))?;
    run(&bytes, watch).map_err(|why| format!("{}: {why}", path.display()))
}

/// The next record, and the rest; `None` if it is cut off.
fn record(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

fn run(bytes: &[u8], watch: &mut dyn FnMut(Passed<'_>)) -> Result<ReplayedLog, String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("it is no log of a daemon")?;
    let (head, mut rest) = record(rest).ok_or("it has no begin")?;
    let head: Head = postcard::from_bytes(head).map_err(|why| format!("its begin is none: {why}"))?;
    let file = NodeFile::parse(&head.text, Path::new("."))?;
    let epoch = Epoch(head.epoch);
    let hosts = file.host.delay;
    let node = Node::new(file.node(epoch), jitter(epoch, file.id)).map_err(|why| why.to_string())?;
    let seen = ReplayedLog { version: head.version, name: file.name, ..ReplayedLog::default() };
    let mut run = Run { node, hosts, links: file.links, watch, seen };
    while !rest.is_empty() {
        let Some((input, after)) = record(rest) else {
            run.seen.is_cut = true;
            break;
        };
        let number = run.seen.inputs;
        let input: Input<'_> =
            postcard::from_bytes(input).map_err(|why| format!("input {number} is none: {why}"))?;
        run.take(input).map_err(|why| format!("input {number}: {why}"))?;
        rest = after;
    }
    Ok(run.seen)
}

struct Run<'a> {
    node: Node,
    hosts: Span,
    links: Vec<LinkFile>,
    watch: &'a mut dyn FnMut(Passed<'_>),
    seen: ReplayedLog,
}

impl Run<'_> {
    /// A frame passed the link to `peer`.
    fn passed(&mut self, at: Time, peer: u32, is_sent: bool, bytes: &[u8]) {
        let Some(link) = self.links.iter().find(|link| link.peer_id == peer) else { return };
        let mut between = [link.remote, link.local];
        if is_sent {
            between.reverse();
        }
        (self.watch)(Passed { at, between, neighbour: &link.peer, bytes });
    }

    fn at(&mut self, now: u64) -> Time {
        self.seen.end = Time::from_ps(now);
        self.seen.end
    }

    fn take(&mut self, input: Input<'_>) -> Result<(), String> {
        self.seen.inputs += 1;
        match input {
            Input::Frame((now, waited), from, frame) => {
                let now = self.at(now);
                self.seen.frames.0 += 1;
                self.passed(now, from, false, frame);
                self.node.handle_waiting_frame(now, Span::from_ps(waited), NodeId(from), frame);
            }
            Input::Command(now, program, what) => {
                let now = self.at(now);
                match self.node.command(now, Program(program), what.into()) {
                    Ok(Response::Accepted { .. }) => self.seen.messages.0 += 1,
                    Ok(Response::Received(_)) => self.seen.messages.1 += 1,
                    Ok(_) | Err(_) => {}
                }
            }
            Input::Timeout(now) => {
                let now = self.at(now);
                self.node.handle_timeout(now);
            }
            Input::Sent(now, to, expected) => {
                let now = self.at(now);
                let frame = self.node.poll_frame(now, NodeId(to));
                let frame = frame.ok_or_else(|| format!("no frame leaves for node {to} at {now}"))?;
                if hash(&frame) != expected {
                    return Err(format!("another frame leaves for node {to} at {now}"));
                }
                self.seen.frames.1 += 1;
                self.passed(now, to, true, &frame);
                self.judge(now);
            }
            Input::Free(to) => self.node.transmitted(NodeId(to)),
            Input::Routes(routes) => {
                let routes: BTreeMap<_, _> =
                    routes.into_iter().map(|(to, next)| (NodeId(to), NodeId(next))).collect();
                self.node.set_routes(routes);
            }
            Input::Quotas(limits) => self.node.set_quotas(quotas(limits)),
        }
        while self.node.poll_answer().is_some() {}
        Ok(())
    }

    fn judge(&mut self, now: Time) {
        let Some(departure) = self.node.poll_departure() else { return };
        let late = departure.lateness().saturating_sub(self.hosts);
        if let (Some(channel), false) = (departure.channel, late.is_zero()) {
            self.seen.late.push((crate::exchange::name(channel).to_string(), now, late));
        }
    }
}
