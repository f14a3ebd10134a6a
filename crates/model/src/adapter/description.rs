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

use laxity_qos::channel::Order;
use laxity_qos::discipline::Class;
use laxity_units::{Bytes, Span};

use super::Delay;

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
}

/// The host's side of an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Where the host leaves commands; at least one.
    pub queues: Vec<CommandQueue>,
    /// The adapter looks for commands at multiples of this; `None` if a doorbell tells it at once.
    pub poll: Option<Span>,
    /// How the host learns of responses.
    pub notification: Notification,
}

/// A queue of commands, in the order in which the host wrote them. A command goes to the first that takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandQueue {
    /// Which packets' commands it takes.
    pub takes: Takes,
    /// Which queue is looked at first, 0 before all.
    pub priority: u8,
    /// Commands that it holds; a mailbox holds one. `None` for as many as there are.
    pub slots: Option<u32>,
}

/// How the host learns that the adapter has written responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    /// Each response interrupts.
    Interrupt,
    /// The host looks at multiples of this.
    Poll(Span),
}

/// Which packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Takes {
    /// All.
    #[default]
    All,
    /// One class.
    Only(Class),
}

impl Takes {
    /// Whether a packet of `class` is among them.
    pub fn admits(self, class: Class) -> bool {
        match self {
            Takes::All => true,
            Takes::Only(only) => only == class,
        }
    }
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
}

/// A stage: queues, servers, and what a server does to a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// Name in results.
    pub name: String,
    /// Packets served at once; at least 1.
    pub servers: u32,
    /// Where packets wait; at least one, and every class has one that takes it.
    pub queues: Vec<Queue>,
    /// Which queue is served next.
    pub selection: Selection,
    /// What is done, in order; at least one.
    pub phases: Vec<Phase>,
}

impl Stage {
    /// How long a server has a packet of `size` that waits for nothing.
    pub fn service(&self, size: Bytes) -> Span {
        let phases = self.phases.iter().filter(|phase| phase.applies(size));
        phases.fold(Span::ZERO, |passed, phase| match phase.since_service {
            true => passed.max(phase.delay.of(size)),
            false => passed + phase.delay.of(size),
        })
    }
}

/// Which of a stage's queues is served next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Selection {
    /// The one of highest priority that is not empty.
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
    /// Rank among the stage's queues, 0 before all.
    pub priority: u8,
    /// Packets that it holds; `None` for as many as there are.
    pub slots: Option<u32>,
    /// What happens to one too many.
    pub overload: Overload,
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
}

/// A part of a stage's work.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Phase {
    /// How long it takes.
    pub delay: Delay,
    /// It is there only for packets of at least this size …
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
}

impl Phase {
    /// Whether a packet of `size` goes through it.
    pub fn applies(&self, size: Bytes) -> bool {
        size >= self.from && self.up_to.is_none_or(|most| size <= most)
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

/// Why a description is no adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flaw {
    /// There is no stage to transmit with.
    NoStage,
    /// The stage of this name lacks a phase, a server or a queue.
    Empty(String),
    /// No queue of the stage takes this class.
    Unserved(String, Class),
    /// No command queue takes this class.
    NoCommandQueue(Class),
    /// More than one phase, or one on the receiving side, is on the medium.
    Medium,
    /// The stage with the phase on the medium has several servers.
    MediumServers(String),
    /// A resource, queue or pool has room for nothing.
    NoRoom(String),
    /// A received frame cannot wait on the medium: this receive stage or its buffers block.
    Receive(String),
}

impl Description {
    /// Whether it is an adapter: every packet has a way through.
    pub fn check(&self) -> Result<(), Flaw> {
        if self.transmit.is_empty() {
            return Err(Flaw::NoStage);
        }
        for class in [Class::RealTime, Class::BestEffort] {
            if !self.interface.queues.iter().any(|queue| queue.takes.admits(class)) {
                return Err(Flaw::NoCommandQueue(class));
            }
            for stage in self.transmit.iter().chain(&self.receive) {
                if !stage.queues.iter().any(|queue| queue.takes.admits(class)) {
                    return Err(Flaw::Unserved(stage.name.clone(), class));
                }
            }
        }
        for stage in self.transmit.iter().chain(&self.receive) {
            if stage.phases.is_empty() || stage.servers == 0 {
                return Err(Flaw::Empty(stage.name.clone()));
            }
            if stage.queues.iter().any(|queue| queue.slots == Some(0)) {
                return Err(Flaw::NoRoom(stage.name.clone()));
            }
        }
        if let Some(resource) = self.resources.iter().find(|resource| resource.servers == 0) {
            return Err(Flaw::NoRoom(resource.name.clone()));
        }
        let roomless = |buffers: &Buffers| matches!(buffers.pool, Pool::Shared(0) | Pool::PerChannel(0));
        if roomless(&self.transmit_buffers) || roomless(&self.receive_buffers) {
            return Err(Flaw::NoRoom("buffers".into()));
        }
        if self.interface.queues.iter().any(|queue| queue.slots == Some(0)) {
            return Err(Flaw::NoRoom("a command queue".into()));
        }
        let on_medium = |stages: &[Stage]| stages.iter().flat_map(|s| &s.phases).filter(|p| p.medium).count();
        if on_medium(&self.transmit) > 1 || on_medium(&self.receive) > 0 {
            return Err(Flaw::Medium);
        }
        let link = self.transmit.iter().find(|stage| stage.phases.iter().any(|phase| phase.medium));
        if let Some(stage) = link.filter(|stage| stage.servers > 1) {
            return Err(Flaw::MediumServers(stage.name.clone()));
        }
        // What waits at the first receive queue would wait on the medium, and frames do not.
        if let Some(first) = self.receive.first()
            && first.queues.iter().any(|q| q.slots.is_some() && q.overload == Overload::Block)
        {
            return Err(Flaw::Receive(first.name.clone()));
        }
        if self.receive_buffers.overload == Overload::Block && self.receive_buffers.pool != Pool::Unlimited {
            return Err(Flaw::Receive("buffers".into()));
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &str) -> Stage {
        let queue = Queue {
            takes: Takes::All,
            order: Order::Fifo,
            priority: 0,
            slots: None,
            overload: Overload::Block,
        };
        let phases = vec![Phase { delay: Delay::fixed(Span::from_us(10)), ..Phase::default() }];
        Stage { name: name.into(), servers: 1, queues: vec![queue], selection: Selection::Priority, phases }
    }

    fn good() -> Description {
        Description {
            interface: Interface {
                queues: vec![CommandQueue { takes: Takes::All, priority: 0, slots: None }],
                poll: None,
                notification: Notification::Interrupt,
            },
            resources: vec![Resource { name: "processor".into(), servers: 1, preemptive: false }],
            transmit: vec![stage("tx"), stage("link")],
            receive: vec![stage("rx"), stage("up")],
            transmit_buffers: Buffers::default(),
            receive_buffers: Buffers::default(),
        }
    }

    /// What `check` says of the good description after one change.
    fn after(change: impl FnOnce(&mut Description)) -> Result<(), Flaw> {
        let mut description = good();
        change(&mut description);
        description.check()
    }

    const REAL_TIME: Takes = Takes::Only(Class::RealTime);
    const BEST_EFFORT: Takes = Takes::Only(Class::BestEffort);

    /// 10, then 20, then what is left of 45 or of 25 since the start, then 5 only for what is longer than 100 B.
    #[test]
    fn a_server_has_a_packet_for_all_its_phases() {
        let phase = |us| Phase { delay: Delay::fixed(Span::from_us(us)), ..Phase::default() };
        let service = |since, size| {
            let since = Phase { since_service: true, ..phase(since) };
            let long = Phase { from: Bytes::new(101), ..phase(5) };
            let stage = Stage { phases: vec![phase(10), phase(20), since, long], ..stage("a") };
            stage.service(Bytes::new(size))
        };
        assert_eq!([service(45, 100), service(25, 100), service(25, 101)], [45, 30, 35].map(Span::from_us));
    }

    #[test]
    fn every_packet_has_a_way_through() {
        assert_eq!(good().check(), Ok(()));
        assert_eq!(after(|d| d.transmit.clear()), Err(Flaw::NoStage));
        assert_eq!(after(|d| d.receive.clear()), Ok(()));
        let command = |takes| CommandQueue { takes, priority: 0, slots: Some(1) };
        assert_eq!(
            after(|d| d.interface.queues = vec![command(REAL_TIME)]),
            Err(Flaw::NoCommandQueue(Class::BestEffort))
        );
        assert_eq!(
            after(|d| d.interface.queues = vec![command(BEST_EFFORT)]),
            Err(Flaw::NoCommandQueue(Class::RealTime))
        );
        assert_eq!(after(|d| d.interface.queues = vec![command(BEST_EFFORT), command(REAL_TIME)]), Ok(()));
        assert_eq!(
            after(|d| d.receive[1].queues[0].takes = REAL_TIME),
            Err(Flaw::Unserved("up".into(), Class::BestEffort))
        );
        assert_eq!(
            after(|d| d.transmit[0].queues[0].takes = BEST_EFFORT),
            Err(Flaw::Unserved("tx".into(), Class::RealTime))
        );
    }

    #[test]
    fn nothing_is_empty() {
        assert_eq!(after(|d| d.transmit[1].phases.clear()), Err(Flaw::Empty("link".into())));
        assert_eq!(after(|d| d.receive[0].servers = 0), Err(Flaw::Empty("rx".into())));
        assert_eq!(after(|d| d.transmit[1].queues[0].slots = Some(0)), Err(Flaw::NoRoom("link".into())));
        assert_eq!(after(|d| d.transmit[1].queues[0].slots = Some(1)), Ok(()));
        assert_eq!(after(|d| d.resources[0].servers = 0), Err(Flaw::NoRoom("processor".into())));
        assert_eq!(
            after(|d| d.interface.queues[0].slots = Some(0)),
            Err(Flaw::NoRoom("a command queue".into()))
        );
        let pool = |pool| Buffers { pool, overload: Overload::Drop };
        for pool in [pool(Pool::Shared(0)), pool(Pool::PerChannel(0))] {
            assert_eq!(after(|d| d.transmit_buffers = pool), Err(Flaw::NoRoom("buffers".into())));
            assert_eq!(after(|d| d.receive_buffers = pool), Err(Flaw::NoRoom("buffers".into())));
        }
        assert_eq!(after(|d| d.transmit_buffers = pool(Pool::Shared(1))), Ok(()));
    }

    #[test]
    fn one_server_of_the_way_out_is_on_the_medium() {
        let on_medium = |stage: &mut Stage| stage.phases[0].medium = true;
        assert_eq!(after(|d| on_medium(&mut d.transmit[1])), Ok(()));
        assert_eq!(after(|d| on_medium(&mut d.receive[0])), Err(Flaw::Medium));
        assert_eq!(after(|d| d.transmit.iter_mut().for_each(on_medium)), Err(Flaw::Medium));
        let several = |d: &mut Description| {
            on_medium(&mut d.transmit[1]);
            d.transmit[1].servers = 2;
        };
        assert_eq!(after(several), Err(Flaw::MediumServers("link".into())));
        assert_eq!(after(|d| d.transmit[1].servers = 2), Ok(()));
        assert!(!good().asks_for_medium());
        let mut asks = good();
        on_medium(&mut asks.transmit[0]);
        assert!(asks.asks_for_medium());
    }

    /// A received frame cannot wait: the first stage may be full only if it then drops; the second may hold up the first.
    #[test]
    fn a_frame_does_not_wait_on_the_medium() {
        let slots = |d: &mut Description, n: usize, overload| {
            let queue = &mut d.receive[n].queues[0];
            (queue.slots, queue.overload) = (Some(3), overload);
        };
        assert_eq!(after(|d| slots(d, 0, Overload::Block)), Err(Flaw::Receive("rx".into())));
        assert_eq!(after(|d| slots(d, 0, Overload::Drop)), Ok(()));
        assert_eq!(after(|d| slots(d, 1, Overload::Block)), Ok(()));
        let shared = |overload| Buffers { pool: Pool::Shared(3), overload };
        assert_eq!(
            after(|d| d.receive_buffers = shared(Overload::Block)),
            Err(Flaw::Receive("buffers".into()))
        );
        assert_eq!(after(|d| d.receive_buffers = shared(Overload::Drop)), Ok(()));
        assert_eq!(after(|d| d.transmit_buffers = shared(Overload::Block)), Ok(()));
    }

    /// Only work is faster on a faster processor.
    #[test]
    fn a_faster_processor_works_faster() {
        let mut description = good();
        description.transmit[1].phases[0].work = true;
        description.receive[0].phases[0].work = true;
        let faster = description.with_speedup(2.0);
        let fixed = |stages: &[Stage]| stages.iter().map(|s| s.phases[0].delay.fixed).collect::<Vec<_>>();
        assert_eq!(fixed(&faster.transmit), [10, 5].map(Span::from_us));
        assert_eq!(fixed(&faster.receive), [5, 10].map(Span::from_us));
    }

    #[test]
    fn a_phase_is_for_sizes_from_to() {
        let phase = Phase { from: Bytes::new(10), up_to: Some(Bytes::new(20)), ..Phase::default() };
        let applies = [9, 10, 20, 21].map(|size| phase.applies(Bytes::new(size)));
        assert_eq!(applies, [false, true, true, false]);
        assert!(Phase::default().applies(Bytes::ZERO));
    }
}
