//! A node and a reference that synchronise over links with random delays, in true time.

use std::collections::BTreeMap;

use laxity_clock::{
    ClockMessage, Drift, Known, NodeClock, Responder, Shift, Synchroniser, SynchroniserCounts,
    SynchroniserOutcome, SynchroniserPolicy, Tolerance,
};
use laxity_engine::{Seed, Stream};
use laxity_units::{Span, Time};

/// The delay of a message beyond the least.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Load {
    /// On each of these links a message meets a packet of this length with this probability.
    Blocked { hops: u32, packet: Span, chance: f64 },
    /// Exponential with this mean: no upper bound.
    Exponential(Span),
}

#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub(crate) known: Known,
    pub(crate) policy: SynchroniserPolicy,
    pub(crate) load: Load,
    pub(crate) loss: f64,
    pub(crate) duplicates: f64,
    /// Time that the reference takes to answer at most.
    pub(crate) stay: Span,
    /// Clocks change their drift, within the tolerance, after so long.
    pub(crate) wander: Span,
    /// Steps: true time, of the node's own clock (else the reference's), by.
    pub(crate) steps: Vec<(Time, bool, Shift)>,
    pub(crate) until: Time,
}

/// Largest values over a run, while the guarantee holds.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Reached {
    pub(crate) error: Span,
    pub(crate) stated: Span,
    /// Requests without success in a row, after the first success.
    pub(crate) failures: u64,
    pub(crate) checks: u64,
    pub(crate) counts: SynchroniserCounts,
}

enum Event {
    ToReference(ClockMessage),
    ToNode(ClockMessage),
    Answer,
    Check,
}

/// A drift within `bound`.
fn drift(stream: &mut Stream, bound: Tolerance) -> Drift {
    let width = u64::from(bound.ppb()) * 2 + 1;
    Drift::from_ppb(stream.below(width) as i64 - i64::from(bound.ppb())).unwrap()
}

/// A clock with random drift and the steps of one side.
fn clock(stream: &mut Stream, bound: Tolerance, grain: Span, setting: &Setting, own: bool) -> NodeClock {
    let start = Time::ZERO + Span::from_secs(1000) + stream.uniform(Span::ZERO, Span::from_secs(1));
    let mut clock = NodeClock::new(start, drift(stream, bound)).with_grain(grain);
    let mut changes: Vec<(Time, Shift)> =
        setting.steps.iter().filter(|(_, of, _)| *of == own).map(|&(at, _, by)| (at, by)).collect();
    let mut at = Time::ZERO + setting.wander;
    while at < setting.until {
        changes.push((at, Shift::NONE));
        at += setting.wander;
    }
    changes.sort_by_key(|(at, _)| *at);
    for (at, by) in changes {
        clock.change(at, by, drift(stream, bound)).unwrap();
    }
    clock
}

/// Runs, and checks at every event and at random instants that the true error is within the stated
/// one.
pub(crate) fn run(setting: &Setting, seed: u64) -> Result<Reached, String> {
    let known = setting.known;
    let seed = Seed::new(seed);
    let (mut delays, mut checks) = (seed.stream("delays"), seed.stream("checks"));
    let node = clock(&mut seed.stream("node"), known.own, known.own_grain, setting, true);
    let reference =
        clock(&mut seed.stream("reference"), known.reference, known.reference_grain, setting, false);
    let mut synchroniser = Synchroniser::new(known, setting.policy, node.shown(Time::ZERO), 7);
    let mut responder = Responder::new(4);
    let mut events: BTreeMap<(Time, u64), Event> = BTreeMap::new();
    let mut order = 0;
    let mut now = Time::ZERO;
    let mut begun = BTreeMap::new();
    let mut guaranteed_from = None;
    let mut latest = Time::ZERO;
    let mut successful = 0;
    let mut reached = Reached::default();
    let mut after = |events: &mut BTreeMap<(Time, u64), Event>, at: Time, event| {
        order += 1;
        events.insert((at, order), event);
    };
    after(&mut events, Time::ZERO, Event::Check);
    loop {
        let alarm = synchroniser.poll_timeout().and_then(|local| node.first_at(local, now));
        let event = match (events.first_key_value().map(|((at, _), _)| *at), alarm) {
            (Some(at), Some(alarm)) if alarm < at => (alarm, None),
            (Some(at), _) => (at, events.pop_first().map(|(_, event)| event)),
            (None, _) => unreachable!("a check follows each check"),
        };
        now = event.0;
        if now > setting.until {
            break;
        }
        let local = node.shown(now);
        let send = |stream: &mut Stream, least: Span| -> Vec<Time> {
            let copies =
                u32::from(!stream.chance(setting.loss)) + u32::from(stream.chance(setting.duplicates));
            let extra =
                |stream: &mut Stream| match setting.load {
                    Load::Exponential(mean) => stream.exponential(mean),
                    Load::Blocked { hops, packet, chance } => (0..hops)
                        .map(|_| {
                            if stream.chance(chance) {
                                stream.uniform(Span::ZERO, packet)
                            } else {
                                Span::ZERO
                            }
                        })
                        .sum(),
                };
            (0..copies).map(|_| now + least + extra(stream)).collect()
        };
        match event.1 {
            None => {
                synchroniser.handle_timeout(local);
                if let Some(message @ ClockMessage::Request { number }) = synchroniser.poll_transmit(local) {
                    begun.insert(number, now);
                    for at in send(&mut delays, known.least_request) {
                        after(&mut events, at, Event::ToReference(message));
                    }
                }
            }
            Some(Event::ToReference(message)) => {
                responder.handle(reference.shown(now), (), message);
                let stay = delays.uniform(Span::ZERO, setting.stay);
                after(&mut events, now + stay, Event::Answer);
            }
            Some(Event::Answer) => {
                if let Some(((), message)) = responder.poll_transmit(reference.shown(now)) {
                    for at in send(&mut delays, known.least_reply) {
                        after(&mut events, at, Event::ToNode(message));
                    }
                }
            }
            Some(Event::ToNode(message)) => {
                let outcome = synchroniser.handle(local, message);
                if let (SynchroniserOutcome::Adopted { error, .. }, ClockMessage::Reply { number, .. }) =
                    (outcome, message)
                {
                    guaranteed_from = Some(begun[&number]);
                    successful = synchroniser.counts().requests;
                    if error > setting.policy.accept {
                        return Err(format!("adopted an error of {error}"));
                    }
                }
            }
            Some(Event::Check) => {
                let next = now + checks.exponential(Span::from_ms(20)) + Span::from_ps(1);
                after(&mut events, next, Event::Check);
            }
        }
        let Some(shown) = synchroniser.show(local) else { continue };
        reached.failures = reached.failures.max(synchroniser.counts().requests - successful);
        if shown.time < latest {
            return Err(format!("the shown clock went back from {latest} to {}", shown.time));
        }
        latest = shown.time;
        let last_step = setting.steps.iter().map(|step| step.0).filter(|at| *at <= now).max();
        let holds = guaranteed_from.is_some_and(|begun| last_step.is_none_or(|step| step <= begun));
        if let (true, Some(stated)) = (holds, shown.error) {
            let error = Shift::between(reference.shown(now), shown.time).size();
            if error > stated {
                return Err(format!("at {now} the error is {error}, where {stated} is stated"));
            }
            reached.error = reached.error.max(error);
            reached.stated = reached.stated.max(stated);
            reached.checks += 1;
        }
    }
    reached.counts = synchroniser.counts();
    Ok(reached)
}
