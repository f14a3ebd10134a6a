//! The thread that keeps deadlines: it runs [`Node`] on sockets, shared memory and a clock.
//!
//! One turn takes what control, programs and links have, does what is due, and lets each free link
//! have its next frame. All decisions are those of the node. Between turns the thread sleeps until
//! shortly before the next instant, and then spins; a packet or a bell wakes it before. It never
//! blocks: two rings lead to control ([`exchange`](crate::exchange)).

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::os::fd::AsFd;

use laxity_client::bell::{Bell, arm_all};
use laxity_node::{Node, NodeConfig, NotANode};
use laxity_signalling::identity::{GlobalChannelId, NodeId, Port, Program};
use laxity_transport::TransportHeader;
use laxity_units::{Span, Time};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::{TimeSpec, TimeValLike};
use rtrb::{Consumer, Producer};

use crate::clock::{Clock, cpu_time};
use crate::exchange::{FromEngine, RequestId, ToEngine};
use crate::inbox::Inbox;
use crate::journal::Journal;
use crate::ledger::Ledger;
use crate::logged::Logged;
use crate::node_file::Idle;
use crate::outbox::Outbox;
use crate::stalls::Stalls;
use crate::wire::Wire;

/// The thread spins for so long before an instant: a sleep ends later than asked.
const SPIN: Span = Span::from_us(80);
/// The longest sleep.
const LONGEST_SLEEP: Span = Span::from_ms(100);
/// The longest sleep while the ring of a receiver is full.
const FULL_SLEEP: Span = Span::from_ms(2);
/// Turns without an input until a daemon that yields its processor does so.
const LOOKS: u32 = 4;
/// Requests of control that one turn takes.
const REQUESTS: usize = 16;
/// Batches of frames that one turn takes from a link.
const BATCHES: usize = 4;
/// Events that one wake-up takes; further ones end the next sleep at once.
const EVENTS: usize = 32;

/// The request of a program that a channel waits for.
#[derive(Debug)]
pub(crate) enum Waiting {
    Open(RequestId, Program, String),
    /// Whether another program asked for it.
    Change(RequestId, bool),
    /// The slot is free at the end, if it is the program of the channel that closes it.
    Close(RequestId, Option<(Program, u32)>),
}

/// How much a turn did of what was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Done {
    /// There was no input, and no frame to send.
    Nothing,
    /// All of it.
    All,
    /// As much as a turn may do: more may be there.
    Part,
}

/// The engine.
pub(crate) struct Engine {
    pub(crate) clock: Clock,
    pub(crate) node: Logged,
    pub(crate) wires: Vec<Wire>,
    pub(crate) outboxes: BTreeMap<Program, Outbox>,
    pub(crate) inboxes: BTreeMap<Port, Inbox>,
    pub(crate) waiting: BTreeMap<GlobalChannelId, Waiting>,
    pub(crate) ledger: Ledger,
    pub(crate) stalls: Stalls,
    /// CPU time of the turns that had something to do.
    pub(crate) work: Span,
    requests: Consumer<ToEngine>,
    /// The bell of control, kept for the set that watches it.
    _request_bell: Bell,
    answers: Producer<FromEngine>,
    answer_bell: Bell,
    /// Answers that the ring has no room for.
    backlog: VecDeque<FromEngine>,
    pub(crate) files: Epoll,
    pub(crate) idle: Idle,
    /// Turns without an input.
    looks: u32,
    stopped: bool,
    /// When the leases of the programs are renewed.
    renew_at: Time,
    pub(crate) scratch: Vec<u8>,
    /// Slots that changed in this turn.
    pub(crate) changed: Vec<(Program, u32)>,
    /// Receivers with a full ring.
    pub(crate) full: Vec<Port>,
}

/// The ends of the rings, and their bells.
pub(crate) struct Ends {
    /// Requests of control.
    pub(crate) requests: Consumer<ToEngine>,
    /// The bell that control rings after a request.
    pub(crate) request_bell: Bell,
    /// Answers.
    pub(crate) answers: Producer<FromEngine>,
    /// The bell that the engine rings after an answer.
    pub(crate) answer_bell: Bell,
}

impl Engine {
    /// An engine on the links `wires`. `jitter` spreads retransmissions; `journal` logs the inputs of
    /// the node.
    ///
    /// # Errors
    /// The description is no node, or the process has too many open files.
    pub(crate) fn new(
        config: NodeConfig,
        wires: Vec<Wire>,
        ends: Ends,
        idle: Idle,
        clock: Clock,
        jitter: laxity_signalling::Jitter,
        journal: Journal,
    ) -> Result<Self, Unstarted> {
        let (own, packet) = (config.node, config.packet);
        let delay = wires.iter().map(Wire::hosts).min();
        let stalls = Stalls::new(delay.unwrap_or(Span::ZERO));
        let node = Node::new(config, jitter).map_err(Unstarted::Node)?;
        let files = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        for wire in &wires {
            files.add(wire.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
        }
        files.add(ends.request_bell.as_fd(), ring())?;
        Ok(Self {
            clock,
            node: Logged::new(node, journal),
            wires,
            outboxes: BTreeMap::new(),
            inboxes: BTreeMap::new(),
            waiting: BTreeMap::new(),
            ledger: Ledger::new(own, packet),
            stalls,
            work: Span::ZERO,
            requests: ends.requests,
            _request_bell: ends.request_bell,
            answers: ends.answers,
            answer_bell: ends.answer_bell,
            backlog: VecDeque::new(),
            files,
            idle,
            looks: 0,
            stopped: false,
            renew_at: Time::ZERO,
            scratch: Vec::new(),
            changed: Vec::new(),
            full: Vec::new(),
        })
    }

    /// Runs until control stops it.
    pub(crate) fn run(mut self) {
        while !self.stopped {
            let now = self.clock.now();
            self.stalls.works(now, cpu_time);
            let done = self.turn(now);
            if done != Done::Nothing {
                let used = self.stalls.works(self.clock.now(), cpu_time);
                self.work = self.work.saturating_add(used);
            }
            match (done, self.idle) {
                // Input that arrives from here on ends the sleep, so no turn has to poll for it first.
                (Done::Nothing, _) | (Done::All, Idle::Sleep) => self.pause(),
                // A program on this processor has what it waits for.
                (Done::All, Idle::Yield) => std::thread::yield_now(),
                (Done::All, Idle::Spin) | (Done::Part, _) => {}
            }
        }
    }

    /// Takes and does what is there, within the limits of a turn.
    pub(crate) fn turn(&mut self, mut now: Time) -> Done {
        let mut done = Done::Nothing;
        for _ in 0..REQUESTS {
            let Ok(request) = self.requests.pop() else { break };
            done = Done::Part;
            self.serve(now, request);
        }
        // Messages leave before the sockets are read, which takes a system call for each.
        let messages = self.take_messages(now);
        if messages != Done::Nothing {
            done = done.max(messages).max(self.transmit(now));
            now = self.clock.now();
        }
        done = done.max(self.take_frames(now));
        if self.node.poll_timeout(now).is_some_and(|at| at <= now) {
            self.node.handle_timeout(now);
        }
        if self.renew_at <= now {
            self.renew(now);
        }
        done = done.max(self.transmit(now));
        self.wake_senders();
        self.deliver(now);
        self.notify();
        done
    }

    /// Messages that programs sent.
    fn take_messages(&mut self, now: Time) -> Done {
        let mut done = Done::Nothing;
        let mut behind = Bound::Unbounded;
        let has_some = |(program, outbox): (&Program, &mut Outbox)| (!outbox.is_empty()).then_some(*program);
        while let Some(program) = self.outboxes.range_mut((behind, Bound::Unbounded)).find_map(has_some) {
            done = done.max(self.take_from(now, program));
            behind = Bound::Excluded(program);
        }
        done
    }

    /// Frames that arrived.
    fn take_frames(&mut self, now: Time) -> Done {
        let mut done = Done::Nothing;
        for number in 0..self.wires.len() {
            for _ in 0..BATCHES {
                let (node, wire) = (&mut self.node, &mut self.wires[number]);
                let (peer, crossing, way, mut hidden) = (wire.peer, wire.crossing, wire.way(), Span::ZERO);
                // The kernel's stamp is of a clock that may step.
                let longest = now.saturating_since(wire.empty_at);
                let full = wire.receive(|frame, waited| {
                    let waited = waited.min(longest);
                    // The time that the frame has waited in this host's kernel is part of its age, and
                    // what clocks prove of its time on the link.
                    let departure = TransportHeader::take_stamp(frame).ok().flatten();
                    let arrival = now.saturating_sub(waited);
                    let proved =
                        crossing.zip(departure).map(|(crossing, at)| crossing.hidden(at, arrival, way));
                    let proved = proved.unwrap_or_default();
                    hidden = hidden.max(proved);
                    let _ = TransportHeader::add_age(frame, waited.saturating_add(proved));
                    node.handle_frame((now, waited), peer, frame);
                });
                wire.counters.hidden = wire.counters.hidden.max(hidden);
                if full != Some(true) {
                    wire.empty_at = now;
                }
                let Some(full) = full else { break };
                self.deliver(now);
                done = done.max(if full { Done::Part } else { Done::All });
                if !full {
                    break;
                }
            }
        }
        done
    }

    /// Gives each free link its next frame.
    fn transmit(&mut self, now: Time) -> Done {
        let mut done = Done::Nothing;
        for wire in &mut self.wires {
            loop {
                if wire.busy && wire.free_at <= now {
                    wire.busy = false;
                    self.node.transmitted(wire.peer);
                }
                if wire.busy {
                    break;
                }
                let Some(mut frame) = self.node.poll_frame(now, wire.peer) else {
                    wire.idle_at = now;
                    break;
                };
                done = Done::All;
                wire.transmit(now, &mut frame);
                let Some(departure) = self.node.poll_departure() else { continue };
                let slot = self.ledger.departed(&departure, wire.hosts(), wire.idle_at, &self.stalls);
                if let Some((program, slot)) = slot
                    && let Some(outbox) = self.outboxes.get(&program)
                {
                    outbox.transmitted(slot);
                    self.changed.push((program, slot));
                }
            }
            wire.flush();
        }
        done
    }

    /// Wakes the threads that wait for a change of a slot: once each, and behind the packets.
    fn wake_senders(&mut self) {
        self.changed.sort_unstable();
        self.changed.dedup();
        for (program, slot) in self.changed.drain(..) {
            if let Some(outbox) = self.outboxes.get(&program) {
                outbox.changed(slot);
            }
        }
    }

    /// Connected programs are alive: a connection ends with its program.
    fn renew(&mut self, now: Time) {
        let period = self.node.manager().settings().program_lease.scale_floor(1, 4);
        self.renew_at = now.saturating_add(period);
        for program in self.outboxes.keys() {
            let _ = self.node.command(now, *program, laxity_node::Command::Renew);
        }
    }

    pub(crate) fn answer(&mut self, answer: FromEngine) {
        self.backlog.push_back(answer);
    }

    /// Passes answers on while the ring has room.
    fn notify(&mut self) {
        self.hear_node();
        if self.backlog.is_empty() {
            return;
        }
        while let Some(answer) = self.backlog.pop_front() {
            if let Err(rtrb::PushError::Full(answer)) = self.answers.push(answer) {
                self.backlog.push_front(answer);
                break;
            }
        }
        self.answer_bell.ring();
    }

    /// When the engine has something to do without an input.
    fn next(&mut self, now: Time) -> Time {
        // A program that makes room in a full ring does not say so.
        let longest = if self.full.is_empty() { LONGEST_SLEEP } else { FULL_SLEEP };
        let mut next = now.saturating_add(longest);
        if let Some(at) = self.node.poll_timeout(now) {
            next = next.min(at);
        }
        for wire in &self.wires {
            if wire.busy && self.node.waiting(wire.peer) > 0 {
                next = next.min(wire.free_at);
            }
        }
        next
    }

    /// Waits for the next instant, or for an input.
    fn pause(&mut self) {
        match self.idle {
            Idle::Spin => return std::hint::spin_loop(),
            Idle::Yield => {
                self.looks = self.looks.wrapping_add(1);
                if self.looks.is_multiple_of(LOOKS) {
                    std::thread::yield_now();
                }
                return;
            }
            Idle::Sleep => {}
        }
        let now = self.clock.now();
        let planned = self.next(now).saturating_sub(SPIN);
        if planned <= now || self.is_asked() {
            return std::hint::spin_loop();
        }
        // Each program that puts something into its outbox from here on rings.
        arm_all(self.outboxes.values().map(Outbox::armed));
        if self.is_asked() {
            return;
        }
        self.stalls.works(now, cpu_time);
        self.sleep(planned.saturating_since(now));
        self.stalls.woke(self.clock.now(), cpu_time(), planned);
    }

    /// Whether a ring of a program or of control has something.
    fn is_asked(&mut self) -> bool {
        !self.requests.is_empty() || self.outboxes.values_mut().any(|outbox| !outbox.is_empty())
    }

    /// Sleeps until a file is ready, for at most `most`, and takes the events. The next turn polls all
    /// inputs.
    fn sleep(&self, most: Span) {
        let mut events = [EpollEvent::empty(); EVENTS];
        // The set itself waits for whole milliseconds. The rest is a sleep of its own.
        let ms = most.as_ps() / Span::from_ms(1).as_ps();
        if ms > 0 {
            let ms = u16::try_from(ms).unwrap_or(u16::MAX);
            let _ = self.files.wait(&mut events, EpollTimeout::from(ms));
            return;
        }
        let most = TimeSpec::nanoseconds((most.as_ps() / 1000) as i64);
        let mut files = [PollFd::new(self.files.0.as_fd(), PollFlags::POLLIN)];
        if ppoll(&mut files, Some(most), None).unwrap_or(0) > 0 {
            let _ = self.files.wait(&mut events, EpollTimeout::ZERO);
        }
    }

    pub(crate) fn attach(&mut self, program: Program, outbox: Outbox) {
        // Without the watch the outbox is read each turn all the same.
        let _ = self.files.add(outbox.file(), ring());
        self.outboxes.insert(program, outbox);
    }

    /// The outbox is read no more. The program still has its bell, which must not wake the engine.
    pub(crate) fn remove(&mut self, program: Program) {
        if let Some(outbox) = self.outboxes.remove(&program) {
            let _ = self.files.delete(outbox.file());
        }
    }

    pub(crate) fn stop(&mut self) {
        self.stopped = true;
    }

    pub(crate) fn wire(&mut self, peer: NodeId) -> Option<&mut Wire> {
        self.wires.iter_mut().find(|wire| wire.peer == peer)
    }
}

/// The event of a bell: each ring wakes the thread once, and its file needs no read.
fn ring() -> EpollEvent {
    EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, 0)
}

/// Why an engine does not start.
#[derive(Debug)]
pub(crate) enum Unstarted {
    /// The description is no node.
    Node(NotANode),
    /// The system refuses.
    System(std::io::Error),
}

impl From<nix::errno::Errno> for Unstarted {
    fn from(why: nix::errno::Errno) -> Self {
        Self::System(why.into())
    }
}

impl From<std::io::Error> for Unstarted {
    fn from(why: std::io::Error) -> Self {
        Self::System(why)
    }
}

impl std::fmt::Display for Unstarted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Node(why) => why.fmt(f),
            Self::System(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for Unstarted {}
