//! How many frames there are at a time in an incoming row of stages, and until the host has served
//! them.
//!
//! # In the row
//!
//! A frame in the row at an instant arrived no longer than `B` before. With `x_l` for what the
//! frame that takes its link the least time takes of it, of source `l` there are at most
//!
//! ```text
//! min(1 + ⌊(B + J_l)/x_l⌋, G_l(B) + min(O_l(B), 1 + ⌊(B + J_l)/o_l⌋))                (4)
//! ```
//!
//! frames: `G` and `O` of guaranteed channels and of others, `Σ_g (b_g + ⌈B/i_g⌉)`, and `o` the
//! link time of the least of the others, since the link lets no frames that waited before it arrive
//! at once. With buffers and places for the sum none is lost for want of them. Of frames that are
//! lost fewer are in the row, so this rests on no more than `B` does.
//!
//! *Before the first stage* no frame has had any of the adapter's time. Let the row have had
//! something for `Δ`, in which `A(Δ)` frames came, `q` of them waiting there now. In that time the
//! others have had what they took, `w` each at most, and the row was never idle, so `Δ ≤ (A(Δ) − q)
//! w`. A switch that lets a thousand go one after the other at the speed of its link does not make
//! a thousand wait:
//!
//! ```text
//! q ≤ max_{0 ≤ Δ ≤ B} A(Δ) − Δ/w.                                                    (5)
//! ```
//!
//! # Until the host has served them
//!
//! The host hears of a frame no later than `told` after the adapter was done with it. From then on
//! it is in one row with all that interrupts, in order of arrival. It takes the host `r`. Besides
//! there are `m` tokens in that row, responses of packets that go out, each of which takes `c` and
//! is there again some time after it was served; `s + σ Δ` is what all else takes that may
//! interrupt or may not be interrupted. As the row is served in order, a token that returns where
//! at least `Q` frames wait is not served before they are. So let `Δ` be for how long there have
//! been `Q` waiting. In it `F` frames were served, a token no more than `1 + F/Q` times, and one of
//! them or of the frames is in hand:
//!
//! ```text
//! Δ ≤ s + σ Δ + r (F + 1) + c (m (1 + F/Q) + 1).
//! ```
//!
//! Of the frames notified before there are fewer than `Q`, all others arrived in `Δ + B + told`,
//! and so with any `Q` there wait, heard of or not,
//!
//! ```text
//! q ≤ Q + max_{Δ ≥ 0} A(Δ + B + told) − ((1 − σ) Δ − s − r − c (m + 1)) / (r + c m/Q).      (6)
//! ```
//!
//! `A` is made of lines of which each source has the lowest, so in (5) and (6) the greatest is
//! where two of them cross, or at an end.

use laxity_units::Span;

use super::{FrameSenders, FrameSource, Incoming};
use crate::station::ps;

/// The largest `Q` that is tried, as a power of two.
const LARGEST: u32 = 20;

/// The host that is notified of incoming frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotifiedHost {
    /// `B + told`: how long after it came in the host hears of a frame.
    pub hears: Span,
    /// `r`: what it does for each.
    pub each: Span,
    /// `m`: responses of what goes out, of packets that are under way.
    pub tokens: u64,
    /// `c`: what it does for each of those.
    pub token: Span,
    /// `s`: what else it does once.
    pub once: Span,
    /// `σ`: and of any time, in parts of `1/`[`NotifiedHost::PARTS`].
    pub rate: u128,
}

impl NotifiedHost {
    /// All of the time.
    pub const PARTS: u128 = 1 << 40;
}

/// At most `once` and `rate` in each picosecond, in parts.
#[derive(Debug, Clone, Copy)]
struct Line {
    once: u128,
    rate: u128,
}

impl Line {
    const PARTS: u128 = 1 << 64;

    fn at(self, time: u128) -> u128 {
        self.once.saturating_add(self.rate.saturating_mul(time).div_ceil(Self::PARTS))
    }

    /// When the other, which begins higher, is the lower.
    fn crosses(self, other: Self) -> Option<u128> {
        let (low, high) = if self.once <= other.once { (self, other) } else { (other, self) };
        let nearer = low.rate.checked_sub(high.rate).filter(|nearer| *nearer > 0)?;
        (high.once - low.once).checked_mul(Self::PARTS)?.checked_div(nearer)
    }
}

impl Incoming {
    /// (4): frames that arrive within `span`, the one at its end included; `None` if that has no
    /// bound.
    pub fn within(&self, span: Span) -> Option<u64> {
        self.sources.iter().try_fold(0u64, |all, source| Some(all.saturating_add(source.within(span)?)))
    }

    /// (5): frames that wait before the first stage, each in the row for `stay` at most; `None` if
    /// that has no bound, or a server of it waits for a batch, which takes time of those that wait.
    pub fn before_the_first(&self, stay: Span) -> Option<u64> {
        if self.stages.first().is_none_or(|first| !first.linger.is_zero()) {
            return None;
        }
        let (lines, stay) = (self.lines()?, ps(stay));
        let longest = self.sources.iter().map(|source| self.most(source.largest)).max().unwrap_or(0);
        let knees = knees(&lines).map(|knee| knee.min(stay));
        let waits = |time: u128| {
            let gone = time.checked_div(longest).unwrap_or(u128::MAX);
            come(&lines, time).saturating_sub(gone)
        };
        counted(knees.chain([0, stay]).map(waits).max())
    }

    /// (6): frames that arrived and that `host` has not served; `None` if that has no bound, or
    /// none of this form.
    pub fn unserved(&self, host: &NotifiedHost) -> Option<u64> {
        let lines = self.lines()?;
        (0..=LARGEST).filter_map(|power| beyond(&lines, host, 1 << power)).min()
    }

    /// Of each source; `None` if one has none.
    fn lines(&self) -> Option<Vec<Vec<Line>>> {
        let all: Vec<_> = self.sources.iter().map(FrameSource::lines).collect();
        all.iter().all(|lines| !lines.is_empty()).then_some(all)
    }
}

/// `A`, and one more of each source, as what is between two points is.
fn come(lines: &[Vec<Line>], time: u128) -> u128 {
    let of = |lines: &Vec<Line>| lines.iter().map(|line| line.at(time)).min().unwrap_or(u128::MAX);
    lines.iter().map(of).fold(lines.len() as u128, u128::saturating_add)
}

/// Where lines of a source cross.
fn knees(lines: &[Vec<Line>]) -> impl Iterator<Item = u128> + '_ {
    let of = |lines: &Vec<Line>| {
        let pairs = |at: usize| lines[at + 1..].iter().map(move |other| (at, *other));
        let pairs = (0..lines.len()).flat_map(pairs);
        pairs.filter_map(|(at, other)| lines[at].crosses(other)).collect::<Vec<_>>()
    };
    lines.iter().flat_map(of)
}

/// (6) for one `Q`.
fn beyond(lines: &[Vec<Line>], host: &NotifiedHost, together: u64) -> Option<u64> {
    let NotifiedHost { hears, each, tokens, token, once, rate } = *host;
    let (hears, each, token) = (ps(hears), ps(each), ps(token));
    let (tokens, waiting) = (u128::from(tokens), u128::from(together));
    let free = NotifiedHost::PARTS.checked_sub(rate).filter(|free| *free > 0)?;
    let begins = ps(once).checked_add(each)?.checked_add(token.checked_mul(tokens + 1)?)?;
    // Time that passes with each frame that is served, in parts of `Q`.
    let served = each.checked_mul(waiting)?.checked_add(token.checked_mul(tokens)?)?;
    let least = |lines: &Vec<Line>| lines.iter().map(|line| line.rate).min().unwrap_or(u128::MAX);
    let comes: u128 = lines.iter().map(least).sum();
    // More arrive than it serves, however long that goes on.
    let as_fast = comes.checked_mul(served.div_ceil(waiting))?;
    if as_fast >= free.checked_mul(Line::PARTS / NotifiedHost::PARTS)? {
        return None;
    }
    let waits = |time: u128| {
        let left = (time.saturating_mul(free) / NotifiedHost::PARTS).saturating_sub(begins);
        let gone = match left.saturating_mul(waiting).checked_div(served) {
            Some(gone) => gone,
            // It takes no time to serve them all.
            None => left.saturating_mul(u128::MAX),
        };
        come(lines, time.saturating_add(hears)).saturating_sub(gone)
    };
    let until = begins.checked_mul(NotifiedHost::PARTS)? / free;
    let knees = knees(lines).map(|knee| knee.saturating_sub(hears));
    counted(knees.chain([0, until]).map(waits).max().map(|most| most.saturating_add(waiting)))
}

fn counted(most: Option<u128>) -> Option<u64> {
    most.map(|most| u64::try_from(most).unwrap_or(u64::MAX))
}

impl FrameSource {
    fn within(&self, span: Span) -> Option<u64> {
        let by_link = self.by_link(span);
        let by_sender = self.senders.as_ref().map(|senders| {
            let FrameSenders { guaranteed, others, .. } = senders;
            let of = |groups: &[super::FrameGroup]| {
                groups.iter().fold(0u64, |all, group| all.saturating_add(group.within(span)))
            };
            let by_link = self.of_others(senders).and_then(|others| others.by_link(span));
            of(guaranteed).saturating_add(by_link.into_iter().chain([of(others)]).min().unwrap_or(0))
        });
        by_link.into_iter().chain(by_sender).min()
    }

    /// The first of (4).
    fn by_link(&self, span: Span) -> Option<u64> {
        let several = (ps(span) + ps(self.pushed)).checked_div(self.least())?;
        Some(u64::try_from(several).unwrap_or(u64::MAX).saturating_add(1))
    }

    /// Traffic without a guarantee, by the link alone; `None` if there is none of it.
    pub(super) fn of_others(&self, senders: &FrameSenders) -> Option<FrameSource> {
        let (smallest, largest) = senders.sizes;
        let others = || FrameSource { smallest, largest, senders: None, ..self.clone() };
        (!senders.others.is_empty()).then(others)
    }

    /// The arrivals by the link, by sender, and by both.
    fn lines(&self) -> Vec<Line> {
        let by_groups = |groups: &[super::FrameGroup]| Line {
            once: groups.iter().map(|group| u128::from(group.burst) + 1).sum(),
            rate: groups.iter().map(|group| Line::PARTS.div_ceil(ps(group.interval).max(1))).sum(),
        };
        let and = |one: Line, other: Line| Line { once: one.once + other.once, rate: one.rate + other.rate };
        let mut lines: Vec<Line> = self.line_of_link().into_iter().collect();
        if let Some(senders) = &self.senders {
            let guaranteed = by_groups(&senders.guaranteed);
            lines.push(and(guaranteed, by_groups(&senders.others)));
            let others = self.of_others(senders).and_then(|others| others.line_of_link());
            lines.extend(others.map(|others| and(guaranteed, others)));
        }
        lines
    }

    fn line_of_link(&self) -> Option<Line> {
        let least = Some(self.least()).filter(|least| *least > 0)?;
        Some(Line { once: 1 + ps(self.pushed).div_ceil(least), rate: Line::PARTS.div_ceil(least) })
    }
}
