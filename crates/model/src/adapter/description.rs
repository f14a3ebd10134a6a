//! Description of an adapter, as a file gives it: stages, queues, resources, buffers and the host
//! interface.
//!
//! ```text
//!          command queues            transmit stages                 medium
//!  host ──▶ ▭▭▭ (by class) ──fetch──▶ queue ▶ phases ─▶ … ─▶ queue ▶ phases ──▶ frame
//!  host ◀── responses ◀────────────── receive stages ◀───────────────────────── frame
//! ```
//!
//! This is thesis Table 4.1 as types. A stage serves one packet per server. Service is a list of
//! phases. A phase takes a time that depends on the packet, holds resources meanwhile (the
//! adapter's processor, a bus), and may end with a response to the host, whose reply the next phase
//! may have to wait for.

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
pub use contract::{AdapterContract, Excess, Own, Policing};
pub use interface::{Answers, CommandQueue, HostSide, Moderation, Notification, Release, ResponseQueue};
pub use takes::Takes;
pub(super) use takes::spread_over;

/// Index of the adapter's processor in [`Description::resources`].
pub const PROCESSOR: usize = 0;

/// An adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The host interface.
    pub interface: HostSide,
    /// Resources that phases share; the first is the processor.
    pub resources: Vec<Resource>,
    /// Stages from the command queue to completion; at least one.
    pub transmit: Vec<Stage>,
    /// Stages from the medium to the host; without any, reception takes no time.
    pub receive: Vec<Stage>,
    /// Memory of fetched packets until they complete.
    pub transmit_buffers: AdapterBuffers,
    /// Memory of received frames until the host has them.
    pub receive_buffers: AdapterBuffers,
    /// Policing of the host's packets by their channels' contracts, where they are fetched.
    pub transmit_policing: Option<Policing>,
    /// Policing of frames by their channels' contracts, where they arrive.
    pub receive_policing: Option<Policing>,
    /// Its link: a frame occupies the medium for at least this time. Zero for an adapter that keeps
    /// up.
    pub link: LinkCosts,
}

/// A resource that phases share: a processor, a bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Name in results.
    pub name: String,
    /// Maximum number of phases that hold it at once; at least 1.
    pub servers: u32,
    /// Whether a phase of higher priority preempts one of lower, which resumes with its remaining
    /// time (thesis §4.3.3).
    pub preemptive: bool,
    /// Whether urgency orders phases of one priority, real time by its deadline, and preempts at a
    /// preemptive resource. Otherwise the holder keeps it, and else the older packet goes first.
    pub urgent: bool,
    /// Whether the host's CPU occupies it while it copies, before all phases, which resume with
    /// their remaining time: a memory bus with cycles that the CPU steals.
    pub host: bool,
    /// Name of the host's bus that it is: one resource for all adapters of a host that name it,
    /// with equal parameters.
    pub bus: Option<String>,
}

/// A stage: queues, servers, and the service of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// Name in results.
    pub name: String,
    /// Packets (or batches) served at once; at least 1.
    pub servers: u32,
    /// Maximum number of packets that a server takes together; at least 1. A phase then takes
    /// [`Delay::of_all`] of them: one transfer for several descriptors, or one write for several
    /// completions.
    pub batch: u32,
    /// Maximum time for which a free server waits for a full batch.
    pub linger: Span,
    /// Its queues; at least one, and every class has one that accepts it.
    pub queues: Vec<Queue>,
    /// Which queue is served next.
    pub selection: QueueSelection,
    /// The phases of service, in order; at least one.
    pub phases: Vec<Phase>,
    /// Maximum number of packets selected ahead: those in this stage or waiting at the next stage
    /// beyond its servers. With 0 it selects when the next stage is free, with 1 the next packet is
    /// selected while the one before is served there (thesis §4.4.1). `None`: limited only by queue
    /// capacity.
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
            selection: QueueSelection::Priority,
            phases: Vec::new(),
            ahead: None,
        }
    }
}

impl Stage {
    /// Service time of a packet of `size` without waiting.
    pub fn service(&self, size: Bytes) -> Span {
        let phases = self.phases.iter().filter(|phase| phase.applies(size));
        phases.fold(Span::ZERO, |passed, phase| match phase.since_service {
            true => passed.max(phase.time(size)),
            false => passed + phase.time(size),
        })
    }

    /// The first phase from `number` on that applies to a packet of `size` with this tag.
    pub(super) fn next_phase(&self, number: usize, size: Bytes, tag: &Tag) -> Option<usize> {
        (number..self.phases.len()).find(|n| self.phases[*n].is_for(size, tag))
    }
}

impl Stage {
    /// The line through its times for 0 bytes and for 64 KiB, above the actual times where bytes
    /// past a knee cost more: for disciplines that follow a fluid server.
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
pub enum QueueSelection {
    /// The non-empty queue of highest priority; queues that are one by a flow's hash take turns.
    #[default]
    Priority,
    /// In turn.
    RoundRobin,
}

/// A queue before a stage. A packet joins the first that accepts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// The packets that it accepts.
    pub takes: Takes,
    /// Its discipline.
    pub order: Order,
    /// The shortest time frame, in disciplines that have frames.
    pub frame: Span,
    /// Priority among the stage's queues, 0 the highest.
    pub priority: u8,
    /// Its capacity in packets; `None` for unlimited.
    pub slots: Option<u32>,
    /// Treatment of a packet when it is full.
    pub overload: Overload,
    /// Treatment of a packet past its end-to-end deadline, if its channel is established.
    pub late: LatePolicy,
    /// Time before that deadline at which it is late here, for the rest of its path.
    pub margin: Span,
    /// Number of queues like this one, at least 1; a packet's channel selects its queue.
    pub spread: u32,
}

impl Default for Queue {
    fn default() -> Self {
        let (order, frame, overload) = (Order::Fifo, Span::ZERO, Overload::Block);
        let (late, margin) = (LatePolicy::Keep, Span::ZERO);
        Self { takes: Takes::All, order, frame, priority: 0, slots: None, overload, late, margin, spread: 1 }
    }
}

/// Treatment of a packet after its deadline: an adapter that reads headers can detect it
/// before spending more on the packet (thesis §3.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LatePolicy {
    /// It is served as any other.
    #[default]
    Keep,
    /// It is lost, on arrival or when it would be served.
    Drop,
}

/// Treatment of a packet that finds no free slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overload {
    /// It waits where it is, and blocks the packets behind it.
    #[default]
    Block,
    /// It is lost.
    Drop,
    /// A real-time packet replaces a waiting best-effort one, if there is one; else it is lost, as
    /// best effort is.
    Priority,
    /// The least important of the waiting packets and the arriving one is lost: best effort before
    /// real time, then the latest deadline. Of queues only, and in a discipline that
    /// [displaces](Order::displaces).
    Importance,
}

/// Buffers in the adapter's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AdapterBuffers {
    /// Their number and partition.
    pub pool: BufferPool,
    /// Treatment of a packet without a buffer.
    pub overload: Overload,
}

/// Partition of buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BufferPool {
    /// No limit.
    #[default]
    Unlimited,
    /// This many, first come, first served.
    Shared(u32),
    /// This many for each channel alone.
    PerChannel(u32),
    /// Some for each channel, and beyond those a shared pool.
    Reserved {
        /// A channel's own buffers, used first.
        own: Own,
        /// The shared pool.
        shared: u32,
    },
}

/// A part of a stage's service.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Phase {
    /// Its duration.
    pub delay: Delay,
    /// It applies only to these packets …
    pub takes: Takes,
    /// … and to those of at least this size …
    pub from: Bytes,
    /// … and at most this; `None` for any. Short messages by programmed I/O and long ones by DMA
    /// are two phases.
    pub up_to: Option<Bytes>,
    /// Resources it holds, all of them or none.
    pub holds: Vec<usize>,
    /// Priority at its resources, 0 the highest.
    pub priority: u8,
    /// Whether it is instructions of the adapter's processor, which a faster one would shorten;
    /// otherwise a hardware delay (`c` and `d` of thesis §4.4.2).
    pub work: bool,
    /// The frame is on the medium meanwhile, which has to be free for it.
    pub medium: bool,
    /// The response to the host at its end.
    pub tells: Tells,
    /// Its time counts from the start of service, so that the phases before it overlap with it: an
    /// operation started first that runs while a processor does something else for the packet.
    pub since_service: bool,
    /// At its end the packet has been copied and its buffer is free; else the packet keeps it until
    /// it completes.
    pub releases: bool,
    /// It runs in segments of its [`delay`](Self::delay), with a preemption point between them: a
    /// packet that is cut into cells.
    pub yields: bool,
    /// Bytes added to a packet before it is cut into segments.
    pub trailer: Bytes,
}

impl Phase {
    /// Its duration for a packet of `size`.
    pub fn time(&self, size: Bytes) -> Span {
        self.delay.of(size + self.trailer)
    }

    /// Its number of segments.
    pub fn parts(&self, size: Bytes) -> u64 {
        if self.yields { (size + self.trailer).div_ceil(self.delay.segment).max(1) } else { 1 }
    }

    /// Whether it applies to a packet of `size`, classes aside.
    pub fn applies(&self, size: Bytes) -> bool {
        size >= self.from && self.up_to.is_none_or(|most| size <= most)
    }

    /// Whether it applies to a packet of `size` with this tag.
    pub fn is_for(&self, size: Bytes, tag: &Tag) -> bool {
        self.applies(size) && self.takes.admits(tag)
    }

    /// Whether it applies to every packet.
    pub fn is_for_all(&self) -> bool {
        self.takes == Takes::All && self.from <= Bytes::new(1) && self.up_to.is_none()
    }
}

/// Response to the host at the end of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tells {
    /// None.
    #[default]
    Nothing,
    /// The phase is done; the adapter proceeds at once.
    Progress,
    /// The phase is done; the adapter proceeds at the host's next command for the packet.
    Handshake,
}

impl Description {
    /// Its resource that is a bus of the host, with the bus's name.
    pub fn bus(&self) -> Option<(usize, &str)> {
        let buses = self.resources.iter().enumerate();
        buses.filter_map(|(place, resource)| Some((place, resource.bus.as_deref()?))).next()
    }

    /// Whether frames request the medium first.
    pub fn asks_for_medium(&self) -> bool {
        self.transmit.iter().flat_map(|stage| &stage.phases).any(|phase| phase.medium)
    }

    /// Whether a packet may be lost at the instant at which it is fetched.
    pub fn loses_at_once(&self) -> bool {
        let loses = |overload: Overload| overload != Overload::Block;
        let queues = self.transmit.first().into_iter().flat_map(|stage| &stage.queues);
        let mut queues = queues.map(|queue| queue.late == LatePolicy::Drop || loses(queue.overload));
        self.transmit_policing.is_some() || loses(self.transmit_buffers.overload) || queues.any(|any| any)
    }

    /// The stage or resource with the longest time per server for a sent packet of `size`, and that
    /// time.
    pub fn bottleneck(&self, size: Bytes) -> (String, Span) {
        let mut most = (String::new(), Span::ZERO);
        let mut consider = |part: String, time: Span, servers: u32| {
            // Of equals the first: the packet meets it before the others.
            let each = time / u64::from(servers);
            if most.0.is_empty() || each > most.1 {
                most = (part, each);
            }
        };
        // A full batch each time: the fixed costs are shared by the packets of the batch.
        let together = |stage: &Stage| std::iter::repeat_n(size, stage.batch as usize);
        for stage in &self.transmit {
            let time = match stage.batch {
                1 => stage.service(size),
                _ => stage.phases.iter().map(|phase| phase.delay.of_all(together(stage))).sum(),
            };
            consider(format!("stage {}", stage.name), time, stage.servers * stage.batch);
        }
        for (index, resource) in self.resources.iter().enumerate() {
            let of_stage = |stage: &Stage| {
                let held = stage.phases.iter().filter(|p| p.applies(size) && p.holds.contains(&index));
                let time: Span = held.map(|phase| phase.delay.of_all(together(stage))).sum();
                time / u64::from(stage.batch)
            };
            let time = self.transmit.iter().map(of_stage).sum();
            consider(format!("resource {}", resource.name), time, resource.servers);
        }
        most
    }

    /// The same adapter with a processor `C_sf` times as fast: work takes less time, delays do not
    /// change (thesis §4.4.2).
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
