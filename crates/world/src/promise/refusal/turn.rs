//! Whether a proposal would be admitted in its turn.
//!
//! Proposals are searched with a channel as the last one, beside all others. In the file the channel
//! has another turn, and the order of requests counts: under `D_order` a newcomer gets the highest
//! priority that the others tolerate, and channels after it may then be refused. So admission is
//! repeated with the proposal, and with a few longer ones if it fails ([`confirmed`]). With many
//! refused channels that takes time with the square of their number. After [`MOST_LOOKS`] admissions
//! first proposals are given untried.

use std::cell::{Cell, OnceCell};

use laxity_admission::Formula;
use laxity_units::Span;

use super::super::admit::promises;
use super::super::answer::Promise;
use super::super::asks;
use super::Shortfall;
use crate::experiment::{ChannelSpec, Experiment};

/// Channels that are admitted to try proposals, at most.
const MOST_LOOKS: usize = 4_000;
/// Times in place of those asked for are tried up to this multiple: with more messages under way
/// admission itself takes long.
const MOST_TIMES: u64 = 1000;
/// Longer proposals that are tried, in percent of the first.
const LONGER: [u64; 5] = [105, 125, 150, 200, 400];

/// The channels of a file that are admitted, and how many have been since.
#[derive(Default)]
pub(super) struct Turns {
    admitted: OnceCell<Vec<bool>>,
    looks: Cell<usize>,
}

impl Turns {
    /// Whether with `changed` in place of channel `index` that channel is admitted, and all that are
    /// admitted now; `None` where that takes too long.
    pub(super) fn keep(
        &self,
        (experiment, formula, index): (&Experiment, Formula, usize),
        changed: &ChannelSpec,
    ) -> Option<bool> {
        let looks = self.looks.get() + experiment.channels.len();
        let now = &experiment.channels[index];
        let most = now.spec.min_interval.max(now.deadline.unwrap_or_default()).saturating_mul(MOST_TIMES);
        let longest = changed.spec.min_interval.max(changed.deadline.unwrap_or_default());
        if looks > MOST_LOOKS || longest > most {
            return None;
        }
        self.looks.set(looks);
        Some(self.keeps((experiment, formula, index), changed))
    }

    /// The same however long it takes.
    pub(super) fn keeps(
        &self,
        (experiment, formula, index): (&Experiment, Formula, usize),
        changed: &ChannelSpec,
    ) -> bool {
        let of = |experiment: &Experiment| {
            let promises = promises(experiment, formula).ok();
            let admitted = |promise: &Promise| !promise.is_refused();
            promises.map(|promises| promises.channels.iter().map(admitted).collect::<Vec<_>>())
        };
        let before = self.admitted.get_or_init(|| of(experiment).unwrap_or_default());
        let mut file = experiment.clone();
        file.channels[index] = changed.clone();
        let keeps = |after: Vec<bool>| after[index] && before.iter().zip(&after).all(|(was, is)| !was || *is);
        of(&file).is_some_and(keeps)
    }
}

/// The first of some spans, `first` or a longer one that `fits`, which is not known to be refused in its
/// turn.
pub(super) fn confirmed(
    first: Span,
    fits: &mut dyn FnMut(Span) -> bool,
    kept: &dyn Fn(Span) -> Option<bool>,
) -> Option<Span> {
    let longer = LONGER.map(|percent| (first / 100).saturating_mul(percent).rounded_up(3));
    let mut all = std::iter::once(first).chain(longer.into_iter().filter(|span| fits(*span)));
    all.find(|span| kept(*span) != Some(false))
}

/// `channel` with the request that leaves it up to `delay`, and with buffers for all messages that are
/// under way then, if it is to have `more`.
pub(super) fn asking(experiment: &Experiment, channel: &ChannelSpec, delay: Span, more: bool) -> ChannelSpec {
    let told = proposal(experiment, channel, delay, more);
    let mut changed = channel.clone();
    match told.jitter {
        Some(_) => {
            changed.asks.jitter = told.jitter;
            changed.deadline = channel.deadline.max(Some(delay));
        }
        None => changed.deadline = Some(delay),
    }
    if let Some(slots) = told.slots {
        changed.message_slots = slots;
        changed.packet_slots = changed.packet_slots.max(packets(experiment, channel, slots));
    }
    changed
}

/// The proposal to a channel that may take up to `delay`.
pub(super) fn proposal(experiment: &Experiment, channel: &ChannelSpec, delay: Span, more: bool) -> Shortfall {
    let under_way = |delay: Span| {
        let messages = u32::try_from(delay.div_ceil(channel.spec.min_interval)).unwrap_or(u32::MAX);
        channel.spec.burst.saturating_sub(1).saturating_add(messages)
    };
    let slots = under_way(delay);
    let needed = packets(experiment, channel, slots);
    let by_default = channel.deadline.map(|own| packets(experiment, channel, under_way(own)));
    let few = channel.packet_slots < needed && by_default != Some(channel.packet_slots);
    Shortfall {
        proposed: Some(delay),
        jitter: asks::jitter_with(experiment, channel, delay),
        slots: (more && slots > channel.message_slots).then_some(slots),
        packet_slots: (more && few).then_some(needed),
        ..Shortfall::default()
    }
}

/// Packets of that many messages.
fn packets(experiment: &Experiment, channel: &ChannelSpec, messages: u32) -> u64 {
    u64::from(messages).saturating_mul(channel.spec.fragmentation(experiment.packet()).packets())
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
