//! Work of an adapter on incoming frames, until the host can be notified.
//!
//! # The question
//!
//! A host waits for a message from when its frames should be there. Between the last bit of a frame
//! and the adapter's response is a row of stages again, and frames may arrive from several links at
//! once, as dense as each allows. How long may a frame be in there?
//!
//! # The argument
//!
//! The argument assumes no property of queues, and of orders only that they are work-conserving.
//! Let `t` be the last instant before a frame's response at which no frame was in the row, and
//! `T(n)` the time of frame `n` without a wait. Of those in the row look at the one that is
//! furthest. It is in a phase that goes on, or its server waits for company, or it waits for a
//! resource. Incoming frames go before outgoing ones where both need a resource, so an outgoing one
//! has it for one of its phases at most, each time: `H` for each phase that shares. (Between
//! themselves those that came in go on while they hold what others want.) A batch takes no longer
//! than its frames one after the other. So with `w(n) = T(n) + H` for each such phase, the row has
//! been empty again after `B` if it is through with all that came in `B` by then.
//!
//! Link `l` has frames of sizes from `a` to `b`. Each frame takes the link `x(n)`. So the frames
//! that arrive in `Δ`, but for the first, took it no longer than `Δ`, or `Δ + J` if they are pushed
//! together by up to `J` on the way; and of `w` they have at most
//!
//! ```text
//! w(b) + ρ (Δ + J),   ρ = max_{a ≤ n ≤ b} w(n)/x(n).                                      (1)
//! B = Σ_l (w_l + ρ_l J_l) / (1 − Σ_l ρ_l).                                                (2)
//! ```
//!
//! If `Σ ρ ≥ 1` there is no such end: the adapter is slower than the arrivals. Where `w` and `x`
//! are lines in the size, `ρ` is at an end of them, so it is sought where phases begin and end, and
//! at knees. Segments are counted as lines, above for `w` and below for `x`.
//!
//! *By number.* Suppose that no more than `b + ⌈Δ/i⌉` of a source's frames arrive in `Δ`, for each
//! of its groups. Then they have at most `w(b) (b + 1 + Δ/i)` of `w`, and
//!
//! ```text
//! B = Σ_g w_g (b_g + 1) / (1 − Σ_g w_g/i_g).                                               (3)
//! ```
//!
//! A link of 25 Gbit/s may bring short frames faster than an adapter takes them, and hosts not make
//! them as fast. But groups that waited in ports together are counted as if they came at once,
//! which no link lets them. *By both*: frames of guaranteed channels, of which there are few, are
//! counted by (3), however short they are. Only other possible arrivals, which may all be long
//! frames, are counted by (1).
//!
//! In each way the `w` of a source in `Δ` is a line, so `B` is where the sum over all sources of
//! the lowest of their lines falls to `Δ`. Whichever line is taken of each source, where their sum
//! does so is no earlier, and is sought by taking the lowest there again and again.
//!
//! How many frames there are then is `counted.rs`.

mod counted;

pub use counted::NotifiedHost;

use laxity_units::{Bytes, Span};

use super::{StationPhase, StationStage, ps, span};
use laxity_qos::costs::{Delay, LinkCosts};

/// A row of stages for incoming frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// Stages that a frame passes, in order.
    pub stages: Vec<StationStage>,
    /// Longest wait of each of its phases that shares a resource with outgoing frames: the longest
    /// phase there.
    pub held: Span,
    /// Resources that what goes out wants as well.
    pub shared: Vec<usize>,
    /// The sources of frames.
    pub sources: Vec<FrameSource>,
}

/// A link that frames arrive by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameSource {
    /// Time of the link for a frame.
    pub spacing: Spacing,
    /// The smallest.
    pub smallest: Bytes,
    /// The largest.
    pub largest: Bytes,
    /// By how much frames may be nearer to each other than they left.
    pub pushed: Span,
    /// Their number by sender; `None` if only the link is known.
    pub senders: Option<FrameSenders>,
}

/// Frames by sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameSenders {
    /// Those of guaranteed channels.
    pub guaranteed: Vec<FrameGroup>,
    /// All others.
    pub others: Vec<FrameGroup>,
    /// The smallest and the largest of the others.
    pub sizes: (Bytes, Bytes),
}

/// At most `burst` frames and one in each `interval`, which is not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameGroup {
    /// How many.
    pub burst: u64,
    /// How often.
    pub interval: Span,
}

impl FrameGroup {
    /// Arrivals of them within `span`.
    pub fn within(&self, span: Span) -> u64 {
        self.burst.saturating_add(span.div_ceil(self.interval))
    }
}

/// Time of a link for a frame, at least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spacing {
    /// `L_x(S)`.
    Link(LinkCosts),
    /// All phases up to the one on the medium, where one packet is in the adapter at a time; that
    /// one alone; or those of the last stage, if that has one server.
    Stage(StationStage),
}

/// Frames arrive faster than the adapter takes them, or their rate is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndlessFrames;

/// Time of the row that frames take: an amount at once, and a share of any time, in parts.
#[derive(Debug, Clone, Copy)]
struct Load {
    once: u128,
    rate: u128,
}

impl Load {
    /// In parts of a picosecond, rounded up.
    const PARTS: u128 = 1 << 32;

    const NONE: Self = Self { once: 0, rate: 0 };

    fn and(self, other: Self) -> Self {
        Self { once: self.once.saturating_add(other.once), rate: self.rate.saturating_add(other.rate) }
    }

    /// Until when, picoseconds.
    fn by(self, end: u128) -> u128 {
        self.once.saturating_add(self.rate.saturating_mul(end) / Self::PARTS)
    }

    /// When all of it is done; `None` if never.
    fn done(self) -> Option<u128> {
        let free = Self::PARTS.checked_sub(self.rate).filter(|free| *free > 0)?;
        Some(self.once.checked_mul(Self::PARTS)?.div_ceil(free))
    }
}

impl Incoming {
    /// `B`: for how long a frame is in the row, at most.
    pub fn stay(&self) -> Result<Span, EndlessFrames> {
        let ways: Vec<Vec<Load>> = self.sources.iter().map(|source| self.loads(source)).collect();
        let taken = |key: &dyn Fn(&Load) -> u128| {
            let mut each = ways.iter().map(|ways| ways.iter().min_by_key(|load| key(load)));
            each.try_fold(Load::NONE, |all, load| Some(all.and(*load?))).and_then(Load::done)
        };
        let mut stay = taken(&|load| load.rate).ok_or(EndlessFrames)?;
        while let Some(less) = taken(&|load| load.by(stay)).filter(|less| *less < stay) {
            stay = less;
        }
        u64::try_from(stay).map(Span::from_ps).map_err(|_| EndlessFrames)
    }

    /// Load of `source`, by each of the ways that bound it: (1), (3) and both.
    fn loads(&self, source: &FrameSource) -> Vec<Load> {
        let each = self.most(source.largest);
        let by_groups = |groups: &[FrameGroup]| {
            let of = |group: &FrameGroup| {
                let once = each.saturating_mul(u128::from(group.burst) + 1);
                Load { once, rate: each.saturating_mul(Load::PARTS).div_ceil(ps(group.interval)) }
            };
            groups.iter().map(of).fold(Load::NONE, Load::and)
        };
        let mut loads: Vec<Load> = self.by_link(source).into_iter().collect();
        if let Some(senders) = &source.senders {
            let guaranteed = by_groups(&senders.guaranteed);
            loads.push(guaranteed.and(by_groups(&senders.others)));
            let others = source.of_others(senders).and_then(|others| self.by_link(&others));
            loads.extend(others.map(|others| guaranteed.and(others)));
        }
        loads
    }

    /// (1).
    fn by_link(&self, source: &FrameSource) -> Option<Load> {
        let rate = self.rate(source, Load::PARTS).ok()?;
        let pushed = rate.checked_mul(ps(source.pushed))?.div_ceil(Load::PARTS);
        Some(Load { once: self.most(source.largest).saturating_add(pushed), rate })
    }

    /// Time for which a frame of up to `size` holds resources of outgoing frames, all its phases
    /// together.
    pub fn holding(&self, size: Bytes) -> Span {
        let phases = self.stages.iter().flat_map(|stage| &stage.phases);
        let shares = |phase: &&StationPhase| phase.holds.iter().any(|r| self.shared.contains(r));
        span(phases.filter(shares).map(|phase| line_above(&phase.delay, size)).sum())
    }

    /// `ρ` in `parts`, rounded up.
    fn rate(&self, source: &FrameSource, parts: u128) -> Result<u128, EndlessFrames> {
        let (a, b) = (source.smallest, source.largest);
        let mut sizes = vec![a, b];
        let inner = |phase: &StationPhase| {
            let next = |size: Bytes| size + Bytes::new(1);
            let ends = phase.up_to.map(|most| [most, next(most)]);
            let begins = [
                Bytes::new(phase.from.get().saturating_sub(1)),
                phase.from,
                phase.delay.knee,
                next(phase.delay.knee),
            ];
            begins.into_iter().chain(ends.into_iter().flatten()).collect::<Vec<_>>()
        };
        let phases = self.stages.iter().flat_map(|stage| &stage.phases);
        match &source.spacing {
            Spacing::Link(costs) => sizes.push(costs.shortest),
            Spacing::Stage(stage) => sizes.extend(stage.phases.iter().flat_map(inner)),
        }
        sizes.extend(phases.flat_map(inner));
        sizes.retain(|size| (a..=b).contains(size));
        sizes.into_iter().try_fold(0, |most, size| {
            let (work, apart) = (self.work(size), source.at(size));
            let rate = work.checked_mul(parts).ok_or(EndlessFrames)?.checked_div(apart);
            // A frame that takes no time of either takes none of the adapter's.
            let rate = if work == 0 { 0 } else { rate.ok_or(EndlessFrames)? + 1 };
            Ok(most.max(rate))
        })
    }

    /// `w`, at least.
    fn work(&self, size: Bytes) -> u128 {
        let of = |stage: &StationStage| {
            let delays = stage.phases.iter().filter(|phase| phase.applies(size)).map(|phase| {
                let shares = phase.holds.iter().any(|r| self.shared.contains(r));
                line_above(&phase.delay, size) + if shares { ps(self.held) } else { 0 }
            });
            // Time counted from the beginning of the service adds no more than itself.
            ps(stage.linger) + delays.sum::<u128>()
        };
        self.stages.iter().map(of).sum()
    }

    /// The most that `w` is for a frame of up to `size`.
    fn most(&self, size: Bytes) -> u128 {
        let phases = self.stages.iter().flat_map(|stage| &stage.phases);
        let ends = phases.flat_map(|phase| {
            let before = phase.from.get().checked_sub(1).map(Bytes::new);
            before.into_iter().chain(phase.up_to)
        });
        ends.filter(|end| *end < size).map(|end| self.work(end)).fold(self.work(size), u128::max)
    }
}

impl FrameSource {
    /// Time of the link for a frame of `size`, at least.
    fn at(&self, size: Bytes) -> u128 {
        match &self.spacing {
            Spacing::Link(costs) => ps(costs.transmit(size)),
            Spacing::Stage(stage) => {
                let phases = stage.phases.iter().filter(|phase| phase.applies(size) && !phase.optional);
                phases.filter(|phase| !phase.since_service).map(|phase| line_below(&phase.delay, size)).sum()
            }
        }
    }

    /// How far apart its frames are at least.
    pub fn apart(&self) -> Span {
        span(self.least())
    }

    fn least(&self) -> u128 {
        let (size, smallest, largest) = (self.smallest, self.smallest, self.largest);
        let Spacing::Stage(stage) = &self.spacing else { return self.at(size) };
        let begins = stage.phases.iter().flat_map(|phase| {
            std::iter::once(phase.from).chain(phase.up_to.map(|most| most + Bytes::new(1)))
        });
        begins
            .filter(|begin| *begin > smallest && *begin <= largest)
            .map(|size| self.at(size))
            .fold(self.at(size), u128::min)
    }
}

/// `delay` with its segments as a line above the steps.
fn line_above(delay: &Delay, size: Bytes) -> u128 {
    let steps = ps(delay.per_segment) * u128::from(size.get() + delay.segment.get().saturating_sub(1));
    ps(without_segments(delay).of(size))
        + steps.checked_div(u128::from(delay.segment.get())).map_or(0, |part| part + 1)
}

/// `delay` with its segments as a line below the steps.
fn line_below(delay: &Delay, size: Bytes) -> u128 {
    let steps = ps(delay.per_segment) * u128::from(size.get());
    ps(without_segments(delay).of(size)) + steps.checked_div(u128::from(delay.segment.get())).unwrap_or(0)
}

fn without_segments(delay: &Delay) -> Delay {
    Delay { per_segment: Span::ZERO, ..*delay }
}
