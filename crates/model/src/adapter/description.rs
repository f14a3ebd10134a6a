//! What an adapter is, as a file says it: stages, queues, resources, buffers and the host's interface.
//!
//! ```text
//!          command queues            transmit stages                 medium
//!  host ──▶ ▭▭▭ (by class) ──fetch──▶ queue ▶ phases ─▶ … ─▶ queue ▶ phases ──▶ frame
//!  host ◀── responses ◀────────────── receive stages ◀───────────────────────── frame
//! ```
//!
//! This is thesis Table 4.1 as types. A stage serves one packet per server. Serving is a list of phases;
//! a phase takes a time that depends on the packet, holds resources meanwhile (the adapter's processor, a
//! bus), and may end with a response to the host, which the next phase may have to wait for an answer to.

mod check;
mod contract;
mod interface;
mod takes;

use laxity_qos::channel::Order;
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::Tag;
use laxity_units::{ByteTime, Bytes, Span};

use super::Delay;
pub use check::Flaw;
pub use contract::{Contract, Excess, Own, Policing};
pub use interface::{Answers, CommandQueue, Interface, Moderation, Notification, Release, ResponseQueue};
pub use takes::Takes;
pub(super) use takes::spread_over;

/// Index of the adapter's processor in [`Description::resources`].
pub const PROCESSOR: usize = 0;

/// An adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The host's side.
    pub interface: Interface,
    /// What phases share; the first is the processor.
    pub resources: Vec<Resource>,
    /// What a packet passes from the command queue to its completion; at least one.
    pub transmit: Vec<Stage>,
    /// What a frame passes from the medium to the host; without any it is there at once.
    pub receive: Vec<Stage>,
    /// Where fetched packets lie until they complete.
    pub transmit_buffers: Buffers,
    /// Where received frames lie until the host has them.
    pub receive_buffers: Buffers,
    /// Whether packets of the host are held to the contracts of their channels, where they are fetched.
    pub transmit_policing: Option<Policing>,
    /// Whether frames are, where they come in.
    pub receive_policing: Option<Policing>,
    /// The link that it is at: a frame is on the medium for no less than this takes. Nothing for one that keeps up.
    pub link: LinkCosts,
}

/// What phases share: a processor, a bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Name in results.
    pub name: String,
    /// Phases that hold it at once, at most; at least 1.
    pub servers: u32,
    /// Whether a phase of higher priority takes it from one of lower, which resumes with the time it had
    /// left (thesis §4.3.3).
    pub preemptive: bool,
    /// Among phases of one priority the one whose packet is more urgent goes first, real time by its deadline; and takes it from the other, if it
    /// may be taken. Otherwise who has it keeps it, and else the older packet goes first.
    pub urgent: bool,
    /// The host's CPU takes it while it copies, before all phases, which go on with the time that they had left: a bus to the memory that
    /// both of them move bytes of, whose cycles the CPU steals.
    pub host: bool,
    /// The bus of the host that it is: one and the same for all adapters of a host that name it, with all else here the same.
    pub bus: Option<String>,
}

/// A stage: queues, servers, and what a server does to a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// Name in results.
    pub name: String,
    /// Packets served at once, or batches of them; at least 1.
    pub servers: u32,
    /// Packets that a server takes together, at most; at least 1. What a phase takes then is
    /// [`Delay::of_all`] of them: one transfer for several descriptors, or one write for several completions.
    pub batch: u32,
    /// For how long a server that could serve waits for more of them, until it has as many.
    pub linger: Span,
    /// Where packets wait; at least one, and every class has one that takes it.
    pub queues: Vec<Queue>,
    /// Which queue is served next.
    pub selection: Selection,
    /// What is done, in order; at least one.
    pub phases: Vec<Phase>,
    /// Packets that it chooses ahead, at most: those that it has or that wait at the next stage beyond what that has servers for. With none it
    /// chooses when the next stage is free for it, with one what is next is chosen while the one before is served there (thesis §4.4.1).
    /// `None` for as many as there are places.
    pub ahead: Option<u32>,
}

impl Default for Stage {
    fn default() -> Self {
        Self {
            name: String::new(),
            servers: 1,
            batch: 1,
            linger: Span::ZERO,
            queues: vec![Queue::default()],
            selection: Selection::Priority,
            phases: Vec::new(),
            ahead: None,
        }
    }
}

impl Stage {
    /// How long a server has a packet of `size` that waits for nothing.
    pub fn service(&self, size: Bytes) -> Span {
        let phases = self.phases.iter().filter(|phase| phase.applies(size));
        phases.fold(Span::ZERO, |passed, phase| match phase.since_service {
            true => passed.max(phase.time(size)),
            false => passed + phase.time(size),
        })
    }

    /// The first phase from `number` on that a packet of `size` with this tag goes through.
    pub(super) fn next_phase(&self, number: usize, size: Bytes, tag: &Tag) -> Option<usize> {
        (number..self.phases.len()).find(|n| self.phases[*n].is_for(size, tag))
    }
}

impl Stage {
    /// The line through its times for nothing and for 64 KiB, which they lie below where bytes past a knee cost more: for disciplines that follow a fluid server.
    pub fn speed(&self) -> LinkCosts {
        const LARGE: Bytes = Bytes::from_kib(64);
        let (least, most) = (self.service(Bytes::ZERO), self.service(LARGE));
        let bytes = ByteTime::ratio(u128::from(most.saturating_sub(least).as_ps()), u128::from(LARGE.get()));
        let rounding: Span = self.phases.iter().map(|phase| phase.delay.rounding()).sum();
        LinkCosts { startup: least + rounding, per_byte: bytes, ..LinkCosts::default() }
    }
}

/// Which of a stage's queues is served next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Selection {
    /// The one of highest priority that is not empty; those that are one by a flow's hash in turn.
    #[default]
    Priority,
    /// In turn.
    RoundRobin,
}

/// A queue before a stage. A packet joins the first that takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// Which packets it takes.
    pub takes: Takes,
    /// In which order they leave.
    pub order: Order,
    /// The shortest frame of time, in orders that have frames.
    pub frame: Span,
    /// Rank among the stage's queues, 0 before all.
    pub priority: u8,
    /// Packets that it holds; `None` for as many as there are.
    pub slots: Option<u32>,
    /// What happens to one too many.
    pub overload: Overload,
    /// What becomes of a packet that is late for its whole way: past when it is due at the end of that, if its channel is established.
    pub late: Late,
    /// How long before that it is late here, since what is left of its way takes so long.
    pub margin: Span,
    /// As many queues like this one, at least 1; a packet goes to one by its channel.
    pub spread: u32,
}

impl Default for Queue {
    fn default() -> Self {
        let (order, frame, overload) = (Order::Fifo, Span::ZERO, Overload::Block);
        let (late, margin) = (Late::Keep, Span::ZERO);
        Self { takes: Takes::All, order, frame, priority: 0, slots: None, overload, late, margin, spread: 1 }
    }
}

/// What becomes of a packet whose deadline has passed: who looks at headers knows it before anything more is spent on the packet
/// (thesis §3.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Late {
    /// It is served as any other.
    #[default]
    Keep,
    /// It is lost, when it comes or when it would be served.
    Drop,
}

/// What happens to a packet that finds no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overload {
    /// It waits where it is, and with it what is behind.
    #[default]
    Block,
    /// It is lost.
    Drop,
    /// A real-time packet takes the place of a best-effort one that waits, if there is one; else it is
    /// lost, as best effort is.
    Priority,
    /// The least important is lost, of those that wait and the one that comes: best effort before real time, and of that what is
    /// due last. Of queues only, and in an order that [displaces](Order::displaces).
    Importance,
}

/// Buffers in the adapter's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Buffers {
    /// How many there are, and for whom.
    pub pool: Pool,
    /// What happens when there is none.
    pub overload: Overload,
}

/// For whom buffers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pool {
    /// As many as are asked for.
    #[default]
    Unlimited,
    /// So many, for whoever comes.
    Shared(u32),
    /// So many for each channel, for nobody else.
    PerChannel(u32),
    /// Some for each channel, and beyond those so many for whoever comes.
    Reserved {
        /// What a channel has to itself, and has before any other.
        own: Own,
        /// For whoever comes.
        shared: u32,
    },
}

/// A part of a stage's work.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Phase {
    /// How long it takes.
    pub delay: Delay,
    /// It is there only for these packets …
    pub takes: Takes,
    /// … and for those of at least this size …
    pub from: Bytes,
    /// … and at most this; `None` for any. Short messages by programmed I/O and long ones by DMA are two phases.
    pub up_to: Option<Bytes>,
    /// Resources it holds, all of them or none.
    pub holds: Vec<usize>,
    /// Rank at its resources, 0 before all.
    pub priority: u8,
    /// Instructions of the adapter's processor, which a faster one would do in less; otherwise a delay that
    /// the hardware takes whatever processor it has (`c` and `d` of thesis §4.4.2).
    pub work: bool,
    /// The frame goes over the medium meanwhile, which has to be free for it.
    pub medium: bool,
    /// What the host is told at its end.
    pub tells: Tells,
    /// Its time counts from when the server took the packet: so much of it has passed already as the phases before it took.
    /// What was started first and goes on by itself, while a processor does something else for the packet.
    pub since_service: bool,
    /// At its end the packet has been copied, and its buffer is free; else it has it until it completes.
    pub releases: bool,
    /// It is done a segment of its [`delay`](Self::delay) at a time, and between two of them whoever is before it at its resources has those: what
    /// becomes of a packet that is cut into cells.
    pub yields: bool,
    /// What is added to a packet before it is cut into segments.
    pub trailer: Bytes,
}

impl Phase {
    /// What it takes for a packet of `size`.
    pub fn time(&self, size: Bytes) -> Span {
        self.delay.of(size + self.trailer)
    }

    /// In how many parts that is done.
    pub fn parts(&self, size: Bytes) -> u64 {
        if self.yields { (size + self.trailer).div_ceil(self.delay.segment).max(1) } else { 1 }
    }

    /// Whether a packet of `size` goes through it, if it is for packets like that otherwise.
    pub fn applies(&self, size: Bytes) -> bool {
        size >= self.from && self.up_to.is_none_or(|most| size <= most)
    }

    /// Whether a packet of `size` with this tag goes through it.
    pub fn is_for(&self, size: Bytes, tag: &Tag) -> bool {
        self.applies(size) && self.takes.admits(tag)
    }

    /// Whether every packet goes through it.
    pub fn is_for_all(&self) -> bool {
        self.takes == Takes::All && self.from <= Bytes::new(1) && self.up_to.is_none()
    }
}

/// What a phase tells the host at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tells {
    /// Nothing.
    #[default]
    Nothing,
    /// That it is done; the adapter goes on at once.
    Progress,
    /// That it is done; the adapter goes on when the host's next command for the packet has come.
    Handshake,
}

impl Description {
    /// Its resource that is a bus of the host, and the name of that.
    pub fn bus(&self) -> Option<(usize, &str)> {
        let buses = self.resources.iter().enumerate();
        buses.filter_map(|(place, resource)| Some((place, resource.bus.as_deref()?))).next()
    }

    /// Whether frames ask for the medium before they go.
    pub fn asks_for_medium(&self) -> bool {
        self.transmit.iter().flat_map(|stage| &stage.phases).any(|phase| phase.medium)
    }

    /// The same adapter with a processor `C_sf` times as fast: work takes less, delays stay (thesis §4.4.2).
    #[must_use]
    pub fn with_speedup(mut self, csf: f64) -> Self {
        for phase in self.transmit.iter_mut().chain(&mut self.receive).flat_map(|stage| &mut stage.phases) {
            if phase.work {
                phase.delay = phase.delay.divided(csf);
            }
        }
        self
    }
}
