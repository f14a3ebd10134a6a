//! Model of the part behind a host's link scheduler, as a bound needs it: the stages of an adapter,
//! and the medium.
//!
//! ```text
//!            window: at most D packets handed over, and their completion not heard of
//!          ┌───────────────────────────────────────────────────────────────┐
//!  host ───┴▶ command queue ─▶ ▭ stage 1 ─▶ ▭ stage 2 ─▶ … ─▶ ▭ stage K ─▶ medium
//!    ▲                                                               │
//!    └──────────────────────── completion, interrupt ◀───────────────┘
//! ```
//!
//! The analyses of a host ([`crate`]) need four figures of the transmitter. They are the time that
//! a packet adds to a phase in which the link is waited for (`L_x(S)` of the papers), the time of
//! such a phase charged once, the spacing of completions that take the CPU, and the number of
//! interrupts of each packet. The papers have an adapter that is a delay. [`Behind`] answers for
//! any row of stages: see [`window`] for what is proved and how.
//!
//! This module knows no hosts or adapters of the model: a station is numbers, and so every part of
//! it can be tried out.

mod clusters;
mod open;
pub mod overtaking;
mod parallel;
mod rated;
mod receive;
mod ring;
#[cfg(test)]
mod tests;
pub mod window;

use std::sync::Arc;

use laxity_units::{Bytes, Span};

use crate::terms::Term;
use laxity_qos::costs::{Delay, LinkCosts};

pub use open::{Closed, Open};
pub use rated::{Rated, RatedServer, StageLine, UnratedStation};
pub use receive::{EndlessFrames, FrameGroup, FrameSenders, FrameSource, Incoming, NotifiedHost, Spacing};
pub use ring::Turns;
pub use window::{Behind, Method};

/// An adapter on its way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Station {
    /// Stages that a packet passes, in order; at least one.
    pub stages: Vec<StationStage>,
    /// How long a command may be there before the adapter knows: it looks so often, or the doorbell
    /// takes so long.
    pub looks: Span,
    /// How long a response may be there before the host notices: the host polls at this interval,
    /// or its interrupt is moderated.
    pub hears: Span,
    /// How long a response is there at least before the host is notified, if no other is.
    pub gathers: Span,
    /// CPU time of the host for each packet whose completion it hears of, the start of the next
    /// included, if it does that at once and in the order of completions. Then it is a stage like
    /// any other.
    pub host: Option<Span>,
    /// Packets that are handed over later than one and may be served before it all the same, at
    /// most, beside those that [`order`](Self::order) lets pass.
    pub passes: u32,
    /// Packets between being fetched and their completion, at most; `None` for as many as there
    /// are. One too many waits.
    pub buffers: Option<u32>,
    /// Overtaking among packets.
    pub order: Overtaking,
    /// The medium of the frames.
    pub medium: FrameMedium,
}

/// A stage: with one server, or with several that keep the order, or where only one packet is in
/// the adapter at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StationStage {
    /// Name in reports.
    pub name: String,
    /// Places before it if packets that find none wait in the stage before; `None` if there are
    /// always enough.
    pub places: Option<u32>,
    /// It does only a processor's work, so that a frame before the last stage counts as one that
    /// follows.
    pub selects: bool,
    /// Work of its server on a packet, in order.
    pub phases: Vec<StationPhase>,
    /// Packets, or batches of them, that it serves at once; at least 1.
    pub servers: u32,
    /// Packets that a server takes together, at most; at least 1. Together they take no longer than
    /// one after the other.
    pub batch: u32,
    /// For how long a server waits for company before it takes any.
    pub linger: Span,
}

impl Default for StationStage {
    fn default() -> Self {
        Self {
            name: String::new(),
            places: None,
            selects: false,
            phases: Vec::new(),
            servers: 1,
            batch: 1,
            linger: Span::ZERO,
        }
    }
}

/// A part of what a server does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StationPhase {
    /// How long it takes.
    pub delay: Delay,
    /// It is there for packets of at least this size …
    pub from: Bytes,
    /// … and at most this; `None` for any.
    pub up_to: Option<Bytes>,
    /// Resources that it holds, all of them or none, preemptive or not.
    pub holds: Vec<usize>,
    /// Its rank there, 0 before all.
    pub rank: u8,
    /// Its time counts from when the server took the packet.
    pub since_service: bool,
    /// Notification of the host at its end.
    pub tells: StationTells,
    /// The frame is on the medium meanwhile.
    pub medium: bool,
    /// It may not be there for a packet even so.
    pub optional: bool,
}

/// Notification of a host while a packet is on its way, each time by an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StationTells {
    /// No notification.
    #[default]
    Nothing,
    /// How far it is.
    Progress,
    /// That, and the stage waits until it was heard.
    Handshake,
}

/// Overtaking within an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overtaking {
    /// None: it is one queue after the other.
    Never,
    /// No packet overtakes one that the host would not have sent before it.
    Urgent,
}

/// The medium of frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FrameMedium {
    /// A link of their own.
    Own,
    /// A token ring.
    Ring(Turns),
}

/// The transmitter of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// A packet has it for `L_x(S)`, one after the other, and interrupts when it is done.
    Alone(LinkCosts),
    /// An adapter of stages, with a window.
    Behind(Arc<Behind>),
    /// One that has each packet as it is made.
    Open(Arc<Open>),
}

const SLOWEST: &str = "the adapter's slowest stages for the packets bound by it";

impl From<LinkCosts> for Link {
    fn from(costs: LinkCosts) -> Self {
        Link::Alone(costs)
    }
}

impl Link {
    /// Time that a packet of up to `size` adds to a phase in which the link is waited for.
    pub fn transmit(&self, size: Bytes) -> Span {
        match self {
            Link::Alone(costs) => costs.transmit(size),
            Link::Behind(behind) => span(behind.charge(size)),
            Link::Open(open) => span(open.charge(size)),
        }
    }

    /// How far apart completions of packets of at least `size` are in the long run.
    pub fn apart(&self, size: Bytes) -> Span {
        match self {
            Link::Alone(costs) => costs.transmit(size),
            Link::Behind(behind) => span(behind.apart(size)),
            Link::Open(open) => span(open.apart(size)),
        }
    }

    /// Time of such a phase that is charged once.
    pub fn once(&self) -> &[Term] {
        match self {
            Link::Alone(_) => &[],
            Link::Behind(behind) => behind.once(),
            Link::Open(open) => open.once(),
        }
    }

    /// Interrupts of a packet: how many, and how many of them the adapter does not wait for.
    pub fn interrupts(&self) -> Interrupts {
        match self {
            Link::Alone(_) | Link::Open(_) => Interrupts { all: 1, beside: 0, waited_for: 0 },
            Link::Behind(behind) => behind.interrupts(),
        }
    }

    /// Whether what the host's CPU does for a packet's start and completion is in
    /// [`transmit`](Self::transmit) and [`once`](Self::once).
    pub fn has_starts(&self) -> bool {
        matches!(self, Link::Behind(behind) if behind.has_starts())
    }

    /// How a packet is charged for, in words.
    pub(crate) fn by(&self) -> &'static str {
        match self {
            Link::Alone(_) => "transmission of the packets bound by the link",
            Link::Behind(behind) => match behind.method() {
                Method::OneByOne | Method::Gathered => {
                    "all stages of the adapter for the packets bound by it, one by one"
                }
                Method::SideBySide => SLOWEST,
            },
            Link::Open(_) => SLOWEST,
        }
    }

    /// For how long the host may not have looked for completions.
    pub(crate) fn hears(&self) -> Span {
        match self {
            Link::Alone(_) => Span::ZERO,
            Link::Behind(behind) => behind.station().hears,
            Link::Open(open) => open.hears(),
        }
    }

    /// The link, if there is no other stage.
    pub fn alone(&self) -> Option<LinkCosts> {
        match self {
            Link::Alone(link) => Some(*link),
            Link::Behind(_) | Link::Open(_) => None,
        }
    }

    /// Whether completions arrive one by one, each `apart` from the one before, however many
    /// packets are outstanding.
    pub fn is_alone(&self) -> bool {
        matches!(self, Link::Alone(_))
    }
}

/// The interrupts of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupts {
    /// All of them, that of its completion among them.
    pub all: u32,
    /// The number of those that report progress, while the adapter goes on.
    pub beside: u32,
    /// Of those, how many the adapter waits for.
    pub waited_for: u32,
}

impl StationPhase {
    fn applies(&self, size: Bytes) -> bool {
        size >= self.from && self.up_to.is_none_or(|most| size <= most)
    }
}

impl StationStage {
    /// How long its server has a packet of `size` at most that waits only for its batch.
    pub fn service(&self, size: Bytes) -> u128 {
        let phases = self.phases.iter().filter(|phase| phase.applies(size));
        ps(self.linger) + in_turn(phases.map(|phase| (phase, ps(phase.delay.of(size)))))
    }

    /// How long its server has a packet of `size` at least, if it is alone.
    fn shortest(&self, size: Bytes) -> u128 {
        let phases = self.phases.iter().filter(|phase| phase.applies(size) && !phase.optional);
        in_turn(phases.map(|phase| (phase, ps(phase.delay.of(size)))))
    }

    /// How long it takes at least for each of many packets of `size`: of what is fixed a batch pays
    /// one, and servers share the rest.
    fn each(&self, size: Bytes) -> u128 {
        let alone = match self.batch {
            1 => self.shortest(size),
            batch => {
                let phases = self.phases.iter().filter(|phase| phase.applies(size) && !phase.optional);
                // Time counted from the beginning is left out: of it there may be as little as of
                // one packet.
                let own = phases.filter(|phase| !phase.since_service).map(|phase| {
                    let fixed = ps(phase.delay.fixed);
                    ps(phase.delay.of(size)) - fixed + fixed / u128::from(batch)
                });
                own.sum()
            }
        };
        alone / u128::from(self.servers)
    }

    /// How long of that at most a packet of `size` holds a resource that `shared` says others want.
    fn holding(&self, size: Bytes, shared: impl Fn(usize) -> bool) -> u128 {
        let holds = |phase: &&StationPhase| phase.applies(size) && phase.holds.iter().any(|r| shared(*r));
        self.phases.iter().filter(holds).map(|phase| ps(phase.delay.of(size))).sum()
    }

    fn wants(&self, resource: usize) -> bool {
        self.phases.iter().any(|phase| phase.holds.contains(&resource))
    }
}

impl Station {
    /// An adapter of only these stages, first come, first served, of which the last is at a link of
    /// its own. It has no delay of notification or polling, no incoming traffic, and unlimited
    /// memory.
    pub fn of_stages(stages: Vec<StationStage>) -> Self {
        Self {
            stages,
            looks: Span::ZERO,
            hears: Span::ZERO,
            gathers: Span::ZERO,
            host: None,
            passes: 0,
            buffers: None,
            order: Overtaking::Never,
            medium: FrameMedium::Own,
        }
    }

    /// One of one stage, which is the link.
    pub fn of_link(link: LinkCosts) -> Self {
        let filled_up = link.shortest;
        let fixed = |fixed| Delay { fixed, ..Delay::default() };
        let short = StationPhase {
            delay: fixed(link.transmit(filled_up)),
            up_to: Some(filled_up),
            ..StationPhase::default()
        };
        let delay = Delay { per_byte: link.per_byte, ..fixed(link.fixed()) };
        let long = StationPhase { delay, from: filled_up + Bytes::new(1), ..StationPhase::default() };
        Self::of_stages(vec![StationStage {
            name: "link".into(),
            phases: vec![short, long],
            ..StationStage::default()
        }])
    }

    /// `T`: how long a packet of `size` takes without a wait.
    pub fn transit(&self, size: Bytes) -> u128 {
        self.stages.iter().map(|stage| stage.service(size)).sum()
    }

    /// The most that `of` is for a packet of up to `size`, `of` being made of delays: it does not
    /// fall with the size but where phases begin or cease to apply.
    fn most(&self, size: Bytes, of: impl Fn(Bytes) -> u128) -> u128 {
        let phases = self.stages.iter().flat_map(|stage| &stage.phases);
        let ends = phases.flat_map(|phase| {
            let before = phase.from.get().checked_sub(1).map(Bytes::new);
            before.into_iter().chain(phase.up_to)
        });
        ends.filter(|end| *end < size && !end.is_zero()).map(&of).fold(of(size), u128::max)
    }

    /// How long a packet of `size` takes at least.
    fn shortest(&self, size: Bytes) -> u128 {
        self.stages.iter().map(|stage| stage.shortest(size)).sum()
    }

    /// The least that `of` is for a packet of at least `size` and at most `largest`.
    fn least(&self, size: Bytes, largest: Bytes, of: impl Fn(Bytes) -> u128) -> u128 {
        let phases = self.stages.iter().flat_map(|stage| &stage.phases);
        let begins = phases.flat_map(|phase| {
            std::iter::once(phase.from).chain(phase.up_to.map(|most| most + Bytes::new(1)))
        });
        begins.filter(|begin| *begin > size && *begin <= largest).map(&of).fold(of(size), u128::min)
    }
}

/// Time of phases one after the other, some of them counted from the beginning.
fn in_turn<'a>(phases: impl Iterator<Item = (&'a StationPhase, u128)>) -> u128 {
    phases.fold(
        0,
        |passed, (phase, delay)| if phase.since_service { passed.max(delay) } else { passed + delay },
    )
}

fn ps(span: Span) -> u128 {
    u128::from(span.as_ps())
}

fn span(ps: u128) -> Span {
    Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
}
