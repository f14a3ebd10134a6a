//! Proposals to refused channels are admitted, in drawn scenarios.

use laxity_admission::Formula;
use laxity_lab::property::drawn;
use laxity_scenario::draw::scenario;
use laxity_units::Span;
use laxity_world::experiment::{ChannelSpec, Experiment};
use laxity_world::promise::{Advice, Promise, Shortfall, promises};

/// Scenarios that are drawn.
const CASES: u64 = 600;
const SEED: u64 = 7;

/// `channel` with the deadline, the jitter and the slots that are proposed.
fn with(experiment: &Experiment, channel: &ChannelSpec, told: &Shortfall, deadline: Span) -> ChannelSpec {
    let mut changed = channel.clone();
    let longer = told.jitter.is_none() || Some(deadline) > channel.deadline;
    changed.deadline = if longer { Some(deadline) } else { channel.deadline };
    changed.asks.jitter = told.jitter.or(channel.asks.jitter);
    let slots = told.slots.unwrap_or(channel.message_slots);
    changed.message_slots = slots;
    let packets = u64::from(slots) * channel.spec.fragmentation(experiment.packet()).packets();
    // The default is as many as there are under way.
    let by_default = told.slots.map_or(0, |_| packets);
    changed.packet_slots = told.packet_slots.unwrap_or(channel.packet_slots.max(by_default));
    changed
}

/// Channels that would be refused with `changed` in place of channel `i`: it, or one that was
/// admitted.
fn refused(experiment: &Experiment, i: usize, changed: ChannelSpec, before: &[Promise]) -> Vec<String> {
    let mut experiment = experiment.clone();
    experiment.channels[i] = changed;
    let Ok(after) = promises(&experiment, Formula::Corrected) else { return vec!["all".into()] };
    let is_worse = |j: &usize| (*j == i || !before[*j].is_refused()) && after.channels[*j].is_refused();
    (0..before.len()).filter(is_worse).map(|j| experiment.channels[j].name.clone()).collect()
}

#[test]
fn what_a_refusal_proposes_is_admitted() {
    let (mut deadlines, mut intervals) = (0, 0);
    for number in 0..CASES {
        let Ok(experiment) = drawn(&scenario(SEED, number).file.text()).map(|drawn| drawn.first()) else {
            continue;
        };
        let Ok(before) = promises(&experiment, Formula::Corrected) else { continue };
        let mut advice = Advice::of(&experiment, Formula::Corrected);
        for (i, promise) in before.channels.iter().enumerate().filter(|(_, promise)| promise.is_refused()) {
            let (channel, fit) = (&experiment.channels[i], advice.fit(i, promise));
            if let Some(deadline) = fit.shortfall.proposed {
                let changed = with(&experiment, channel, &fit.shortfall, deadline);
                let worse = refused(&experiment, i, changed, &before.channels);
                assert!(worse.is_empty(), "{number}: {}, {:?}: {worse:?}", channel.name, fit.shortfall);
                deadlines += 1;
            }
            if let Some((interval, deadline)) = fit.interval {
                let mut changed = ChannelSpec { deadline, ..channel.clone() };
                changed.spec.min_interval = interval;
                let worse = refused(&experiment, i, changed, &before.channels);
                assert!(worse.is_empty(), "{number}: {}, a message each {interval}: {worse:?}", channel.name);
                intervals += 1;
            }
        }
    }
    assert!(deadlines > 100 && intervals > 100, "{deadlines} and {intervals}");
}
