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

/// `channel` with the deadline, the jitter and the slots that are proposed, as a file would have it.
fn with(experiment: &Experiment, channel: &ChannelSpec, told: &Shortfall, deadline: Span) -> ChannelSpec {
    let longer = told.jitter.is_none() || Some(deadline) > channel.deadline;
    let deadline = if longer { Some(deadline) } else { channel.deadline };
    let mut changed = channel.asking(experiment.packet(), channel.spec.min_interval, deadline);
    changed.asks.jitter = told.jitter.or(channel.asks.jitter);
    if let Some(slots) = told.slots {
        changed.message_slots = slots;
    }
    if let Some(slots) = told.packet_slots {
        changed.packet_slots = slots;
    }
    changed
}

/// Channels that would be refused with `changed` in place of channel `i` and of all of its multicast: it, or
/// one that was admitted.
fn refused(experiment: &Experiment, i: usize, changed: &ChannelSpec, before: &[Promise]) -> Vec<String> {
    let experiment = experiment.with_channel(i, changed);
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
                let worse = refused(&experiment, i, &changed, &before.channels);
                assert!(worse.is_empty(), "{number}: {}, {:?}: {worse:?}", channel.name, fit.shortfall);
                deadlines += 1;
            }
            if let Some((interval, deadline)) = fit.interval {
                let changed = channel.asking(experiment.packet(), interval, deadline);
                let worse = refused(&experiment, i, &changed, &before.channels);
                assert!(worse.is_empty(), "{number}: {}, a message each {interval}: {worse:?}", channel.name);
                intervals += 1;
            }
        }
    }
    assert!(deadlines > 100 && intervals > 100, "{deadlines} and {intervals}");
}
