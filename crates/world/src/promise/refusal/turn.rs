//! Whether a proposal would be admitted in its turn.
//!
//! Proposals are searched with a channel as the last one, beside all others. In the file the channel
//! has another turn, and the order of requests counts: under `D_order` a newcomer gets the highest
//! priority that the others tolerate, and channels after it may then be refused. The number of buffers
//! may follow from a deadline, and costs from the buffers. So admission is repeated with the proposal as
//! the file would have it, and with a few other values if it fails ([`confirmed`]).
//!
//! With many refused channels that takes time with the square of their number. After [`MOST_LOOKS`]
//! admissions no value is tried or proposed.

use std::cell::{Cell, OnceCell, RefCell};

use laxity_admission::{Claimant, Deficit, Formula};
use laxity_units::Span;

use super::super::admit::promises;
use super::super::answer::{Promise, Refused};
use super::super::asks;
use super::Shortfall;
use crate::coverage::{Covered, Uncovered, coverage};
use crate::experiment::{ChannelSpec, Experiment, unfinished};

/// Channels that are admitted to try proposals, at most.
const MOST_LOOKS: usize = 4000;
/// The number that one channel counts for where a host searches least deadlines by attempts.
const SEARCHED: usize = 16;
/// Messages of a proposal that may be under way, at most: admission takes long with many, and a reader
/// has no use for a deadline so far beyond the interval.
const MOST_UNDER_WAY: u64 = 1000;
/// Proposals that are longer by as much as the one before is late, at most.
const STEPS: usize = 4;
/// Steps to a proposal that is closer to a refused one.
const CLOSER: usize = 3;

/// The answer to a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tried {
    /// The channel is admitted, and all that are admitted now.
    Admitted,
    /// The channel is refused: it would be later than the proposal by this time.
    Late(Span),
    /// The channel is refused for another reason or has no bound, or another channel loses its own.
    Refused,
    /// That would take too long.
    Untried,
}

/// The channels of a file that are admitted, and how many have been since.
#[derive(Default)]
pub(super) struct Turns {
    admitted: OnceCell<Vec<bool>>,
    looks: Cell<usize>,
    /// The number that each channel counts for.
    each: OnceCell<usize>,
    /// Whether a proposal was left untried.
    stopped: Cell<bool>,
    /// Why the last proposal that no station refused has no bound.
    unanalysed: Cell<Option<Uncovered>>,
}

/// A channel of a file, by its place there.
pub(super) type Which<'a> = (&'a Experiment, Formula, usize);

impl Turns {
    /// The answer to `changed` in place of channel `index`.
    pub(super) fn answer(&self, (experiment, formula, index): Which<'_>, changed: &ChannelSpec) -> Tried {
        let under_way = changed.deadline.map_or(1, |due| due.div_ceil(changed.spec.min_interval));
        let now =
            experiment.channels[index].deadline.map_or(1, |due| due.div_ceil(changed.spec.min_interval));
        if under_way > MOST_UNDER_WAY.max(now) {
            return Tried::Refused;
        }
        let each = *self.each.get_or_init(|| if searches(experiment) { SEARCHED } else { 1 });
        let looks = self.looks.get() + each * experiment.channels.len();
        if looks > MOST_LOOKS {
            self.stopped.set(true);
            return Tried::Untried;
        }
        self.looks.set(looks);
        self.ask((experiment, formula, index), changed)
    }

    /// Whether `changed` in place of channel `index` is admitted beside all that are admitted now, however
    /// long it takes to find out.
    pub(super) fn keeps(&self, which: Which<'_>, changed: &ChannelSpec) -> bool {
        self.ask(which, changed) == Tried::Admitted
    }

    /// Whether a proposal was left untried since this was asked before.
    pub(super) fn has_stopped(&self) -> bool {
        self.stopped.replace(false)
    }

    /// Why a proposal since this was asked before has no bound although no station refuses it.
    pub(super) fn unanalysed(&self) -> Option<Uncovered> {
        self.unanalysed.take()
    }

    fn ask(&self, (experiment, formula, index): Which<'_>, changed: &ChannelSpec) -> Tried {
        let of = |experiment: &Experiment| promises(experiment, formula).map(|promises| promises.channels);
        let is_admitted = |promise: &Promise| !promise.is_refused() && promise.uncovered().is_none();
        let before = self
            .admitted
            .get_or_init(|| of(experiment).unwrap_or_default().iter().map(is_admitted).collect());
        let without_bound = |why| {
            self.unanalysed.set(Some(why));
            Tried::Refused
        };
        let after = match of(&experiment.with_channel(index, changed)) {
            Ok(after) => after,
            Err(why) => return without_bound(why),
        };
        match &after[index] {
            Promise::Unbounded(why, _) => without_bound(*why),
            Promise::Refused(Refused { refusal, whose: None, .. }) => match refusal.deficit {
                Deficit::Time(by) if refusal.claimant == Claimant::Newcomer => Tried::Late(by),
                _ => Tried::Refused,
            },
            answer if answer.is_refused() => Tried::Refused,
            _ => match before.iter().zip(&after).all(|(was, is)| !was || is_admitted(is)) {
                true => Tried::Admitted,
                false => Tried::Refused,
            },
        }
    }
}

/// Whether a host of `experiment` searches least deadlines by attempts.
fn searches(experiment: &Experiment) -> bool {
    let Ok(coverage) = coverage(experiment) else { return false };
    let at = |node: usize| {
        let by_attempts = coverage.first(node).is_ok_and(Covered::searches);
        by_attempts || experiment.cores(node) > 1
    };
    (0..experiment.nodes.len()).any(at)
}

/// The first span that `ask` admits: `first`, spans that are longer by as much as the one before is late,
/// or one of `others`. Of the others that are longer than `first`, a shorter one is tried in turn.
pub(super) fn confirmed(
    first: Span,
    others: impl IntoIterator<Item = Span>,
    ask: &mut dyn FnMut(Span) -> Tried,
) -> Option<Span> {
    let tried = RefCell::new(Vec::new());
    let mut ask = |span: Span| {
        let is_new = !span.is_zero() && !tried.borrow().contains(&span);
        tried.borrow_mut().push(span);
        if is_new { ask(span) } else { Tried::Refused }
    };
    let mut span = first;
    for _ in 0..=STEPS {
        match ask(span) {
            Tried::Admitted => return Some(span),
            Tried::Late(by) => span = span.saturating_add(by).rounded_up(3),
            Tried::Refused => break,
            Tried::Untried => return None,
        }
    }
    let found = others.into_iter().find(|span| ask(*span) == Tried::Admitted)?;
    let shorter = tried.borrow().iter().copied().filter(|span| *span < found).max();
    let Some(mut refused) = shorter.filter(|_| found > first) else { return Some(found) };
    let mut admitted = found;
    for _ in 0..CLOSER {
        let between = (refused + (admitted - refused) / 2).rounded_up(2);
        if between >= admitted {
            break;
        }
        match ask(between) {
            Tried::Admitted => admitted = between,
            _ => refused = between,
        }
    }
    Some(admitted)
}

/// `channel` with the request that leaves it up to `delay`, as the file would have it, and with buffers
/// for all messages that are under way then, if it is to have `more`.
pub(super) fn asking(experiment: &Experiment, channel: &ChannelSpec, delay: Span, more: bool) -> ChannelSpec {
    let jitter = asks::jitter_with(experiment, channel, delay);
    let deadline = match jitter {
        Some(_) => channel.deadline.max(Some(delay)),
        None => Some(delay),
    };
    let mut changed = channel.asking(experiment.packet(), channel.spec.min_interval, deadline);
    changed.asks.jitter = jitter.or(channel.asks.jitter);
    if more {
        let slots = unfinished(channel.spec.burst, channel.spec.min_interval, deadline, true);
        let packets =
            u64::from(slots).saturating_mul(channel.spec.fragmentation(experiment.packet()).packets());
        changed.message_slots = changed.message_slots.max(slots);
        changed.packet_slots = changed.packet_slots.max(packets);
    }
    changed
}

/// The proposal to a channel that may take up to `delay`.
pub(super) fn proposal(experiment: &Experiment, channel: &ChannelSpec, delay: Span, more: bool) -> Shortfall {
    let changed = asking(experiment, channel, delay, more);
    let in_file = channel.asking(experiment.packet(), channel.spec.min_interval, changed.deadline);
    let packets = changed.packet_slots > in_file.packet_slots;
    Shortfall {
        proposed: Some(delay),
        jitter: asks::jitter_with(experiment, channel, delay),
        slots: (changed.message_slots > channel.message_slots).then_some(changed.message_slots),
        packet_slots: packets.then_some(changed.packet_slots),
        ..Shortfall::default()
    }
}

impl Shortfall {
    /// The proposed request in words, for `channel`.
    pub fn proposal(&self, channel: &ChannelSpec) -> Option<String> {
        let longer = self.proposed.filter(|it| self.jitter.is_none() || Some(*it) > channel.deadline);
        let deadline = longer.map(|deadline| format!("a deadline of {deadline}"));
        let jitter = self.jitter.map(|jitter| format!("a jitter of {jitter}"));
        let all: Vec<String> = deadline.into_iter().chain(jitter).collect();
        (!all.is_empty()).then(|| all.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The confirmed one of `first` and `others`, milliseconds, where `ask` answers; and how often it did.
    fn found(first: u64, others: &[u64], ask: impl Fn(u64) -> Tried) -> (Option<String>, usize) {
        let mut asked = 0;
        let others = others.iter().map(|ms| Span::from_ms(*ms));
        let found = confirmed(Span::from_ms(first), others, &mut |span| {
            asked += 1;
            ask(span.as_ps() / 1_000_000_000)
        });
        (found.map(|span| span.to_string()), asked)
    }

    #[test]
    fn a_refused_proposal_is_followed_by_another() {
        let admitted = |is: bool| if is { Tried::Admitted } else { Tried::Refused };
        assert_eq!(found(10, &[20], |_| Tried::Admitted), (Some("10 ms".into()), 1));
        // As much longer as it is late.
        let late = |ms| if ms < 17 { Tried::Late(Span::from_ms(17 - ms)) } else { Tried::Admitted };
        assert_eq!(found(10, &[20], late), (Some("17 ms".into()), 2));
        // A proposal that never has enough is given up.
        assert_eq!(found(10, &[], |_| Tried::Late(Span::from_ms(1))).1, STEPS + 1);
        // A shorter one, and of longer ones one that is closer to what is refused.
        assert_eq!(found(10, &[20, 5], |ms| admitted(ms < 8)), (Some("5 ms".into()), 3));
        assert_eq!(found(10, &[10, 40], |ms| admitted(ms >= 12)).0.as_deref(), Some("14 ms"));
        // Each proposal was tried.
        assert_eq!(found(10, &[20, 5], |_| Tried::Untried).0, None);
    }
}
