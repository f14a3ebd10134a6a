//! The interval with which a refused channel would be admitted.

use laxity_model::source::{AdversaryParameters, Allowance, Sizes, SourceParameters};
use laxity_qos::discipline::Order;
use laxity_qos::limits::Limits;
use laxity_qos::traffic::TrafficSpec;
use laxity_units::{Span, Time};

use super::super::admit::request;
use super::super::via::Before;
use super::search::{least, least_of_some, readable};
use super::turn::{self, Tried};
use super::{Beside, by_tables};
use crate::experiment::{ChannelSpec, SourceSpec};
use crate::traffic::conformance::conforms;

/// Longer intervals that are tried, in percent of the first.
const LONGER: [u64; 8] = [105, 125, 150, 200, 300, 500, 1000, 3000];

impl Beside<'_> {
    pub(super) fn least_interval(&mut self) -> Option<(Span, Option<Span>)> {
        let Self { experiment, formula, index, tables, turns } = self;
        let channel = &experiment.channels[*index];
        let asked = channel.spec.min_interval;
        let virtual_interfaces =
            experiment.virtual_interfaces().map(|spec| Before::of(experiment, spec, *index));
        // If the source keeps the contract, the advice is for one that keeps the new one. Virtual
        // interfaces hold messages back.
        let silent = matches!(channel.source, SourceSpec::None);
        let keeps = virtual_interfaces.is_none() && !silent && conforms(channel);
        let with = |interval, deadline: Option<Span>| {
            let mut channel = channel.asking(experiment.packet(), interval, deadline);
            if keeps {
                channel.source = worst_source(&channel.spec, channel.limits);
            }
            channel
        };
        if tables.is_none() && by_tables(experiment, *index) {
            return None;
        }
        let which = (*experiment, *formula, *index);
        let asks = tables.is_none() && virtual_interfaces.is_none();
        let mut fits = |channel: ChannelSpec| match (&mut *tables, &virtual_interfaces) {
            (Some(tables), _) => {
                let request = request(experiment, &channel).ok().flatten();
                request.is_some_and(|request| tables.would_admit(experiment, &channel, request))
            }
            (None, Some(before)) => before.as_ref().is_some_and(|before| before.fits(channel)),
            (None, None) => turns.keeps(which, &channel),
        };
        // In other orders than these a packet may wait the longer the less is reserved, so there what
        // is rarer may not fit where what is more frequent does.
        let by_deadline_or_level =
            [Order::MultiClassEdf, Order::Edf, Order::FixedPriority, Order::StrictPriority, Order::Fifo];
        let rates = |station: &usize| {
            virtual_interfaces.is_none() && !by_deadline_or_level.contains(&experiment.link_order(*station))
        };
        let of_some = channel.senders().iter().any(rates);
        let least = if of_some { least_of_some } else { least };
        // Where the search asks as a request in its turn does, no other interval fits if none does.
        let is_final = asks && !of_some;
        let due = channel.deadline?;
        // With the deadline that it asks for, or else with one of the interval's length.
        for is_own in [true, false] {
            let deadline = |interval| if is_own { due } else { interval };
            let with = |interval| with(interval, Some(deadline(interval)));
            let shortest = if is_own { asked } else { asked.max(due) };
            let mut fits = |interval| fits(with(interval));
            let found = match !is_own && fits(shortest) {
                true => Some(shortest),
                false => least(shortest, &mut fits),
            };
            if found.is_none() && is_final {
                continue;
            }
            let first = found.map_or(shortest, |found| readable(found, &mut fits));
            let longer = LONGER.map(|percent| (first / 100).saturating_mul(percent).rounded_up(3));
            // An interval that is longer by as much as a message is late is no better.
            let mut ask = |interval| match turns.answer(which, &with(interval)) {
                Tried::Late(_) => Tried::Refused,
                other => other,
            };
            if let Some(interval) = turn::confirmed(first, longer, &mut ask) {
                return Some((interval, Some(deadline(interval))));
            }
        }
        None
    }
}

/// A source that sends all that `spec` and `limits` allow.
fn worst_source(spec: &TrafficSpec, limits: Limits) -> SourceSpec {
    let parameters = SourceParameters::Adversary(AdversaryParameters {
        burst: spec.burst,
        interval: spec.min_interval,
        limits,
        sizes: Sizes::Fixed(spec.max_message),
        start: Time::ZERO,
        allowance: Allowance::Saving,
    });
    SourceSpec::Timed { parameters, jitter: Span::ZERO }
}
