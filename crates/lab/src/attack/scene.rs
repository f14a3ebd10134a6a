//! A scene: the messages and times of each channel, as the search tries them.
//!
//! A search that may leave the contract would only find that contracts matter. So every change of a
//! scene ends in [`fit`], which delays each message that is too early to the first instant that the
//! contract allows. [`conforms`] then checks the result against the contract independently: it
//! follows the wording of the contract and shares no line with `fit`.

use std::sync::Arc;

use laxity_model::source::{
    Arrival, Multiple, PeriodicParameters, ScriptParameters, Sizes, SourceParameters,
};
use laxity_qos::limits::Limits;
use laxity_qos::traffic::TrafficSpec;
use laxity_units::{Span, Time};

use laxity_world::experiment::SourceSpec;

/// Maximum number of best-effort messages in a scene; a flood is not limited.
const MOST_PULSES: usize = 400;

/// The traffic of one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Play {
    /// Sends these, in order.
    Script(Arc<[Arrival]>),
    /// Best effort that always has another message of this size.
    Flood(laxity_units::Bytes),
    /// Best effort arriving at an interface, without back-pressure: one message of this size per
    /// interval.
    Stream(laxity_units::Bytes, Span),
    /// Best effort that keeps this number of messages of this size in its send queue.
    Window(laxity_units::Bytes, u32),
    /// Rounds of messages; the arrival of a round of another channel starts each round.
    Rounds {
        /// The size of each message.
        size: laxity_units::Bytes,
        /// Messages of a round.
        window: u32,
        /// The place of the other channel.
        after: usize,
    },
}

impl Play {
    /// No messages.
    pub(super) fn silence() -> Self {
        Play::Script(Arc::new([]))
    }

    /// The source that does it.
    pub fn source(&self) -> SourceSpec {
        match self {
            Play::Flood(size) => SourceSpec::Continuous(Sizes::Fixed(*size)),
            Play::Stream(size, interval) => SourceSpec::Timed {
                parameters: SourceParameters::Periodic(PeriodicParameters {
                    sizes: Sizes::Fixed(*size),
                    interval: *interval,
                    multiple: Multiple::ONE,
                    start: Time::ZERO,
                }),
                jitter: Span::ZERO,
            },
            Play::Window(size, outstanding) => {
                SourceSpec::Closed { sizes: Sizes::Fixed(*size), outstanding: *outstanding }
            }
            Play::Rounds { size, window, after } => {
                SourceSpec::Rounds { sizes: Sizes::Fixed(*size), window: *window, after: *after }
            }
            Play::Script(messages) => SourceSpec::Timed {
                parameters: SourceParameters::Script(ScriptParameters {
                    messages: Arc::clone(messages),
                    start: Time::ZERO,
                }),
                jitter: Span::ZERO,
            },
        }
    }

    /// The messages of a script; empty for any other play.
    pub fn messages(&self) -> &[Arrival] {
        match self {
            Play::Script(messages) => messages,
            Play::Flood(_) | Play::Stream(..) | Play::Window(..) | Play::Rounds { .. } => &[],
        }
    }
}

/// The traffic of every channel, and when the run ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scene {
    /// Per channel, in the experiment's order.
    pub plays: Vec<Play>,
    /// The length of the run.
    pub length: Span,
}

/// Makes `messages` conform to `spec` and `limits`: sizes within it, times in order, each as early
/// as it was but no earlier than allowed.
///
/// Each limit as a bucket: `logical` is the arrival time of the next message if all before it had
/// kept `I_min` apart. A message may be sent `B_max − 1` intervals before that.
pub(super) fn fit(messages: &mut Vec<Arrival>, spec: &TrafficSpec, limits: Limits, length: Span) {
    messages.sort_by_key(|message| message.at);
    let mut buckets: Vec<(TrafficSpec, Time)> =
        limits.contracts(*spec).map(|kept| (kept, Time::ZERO)).collect();
    let mut last = Time::ZERO;
    for message in messages.iter_mut() {
        message.size = message.size.clamp(spec.min_message, spec.max_message);
        let allowed = buckets.iter().map(|(kept, logical)| {
            logical.saturating_sub(kept.min_interval.saturating_mul(u64::from(kept.burst - 1)))
        });
        message.at = allowed.fold(message.at.max(last), Time::max);
        for (kept, logical) in &mut buckets {
            *logical = (*logical).max(message.at).saturating_add(kept.min_interval);
        }
        last = message.at;
    }
    messages.retain(|message| message.at < Time::ZERO + length);
}

/// The same for best effort, which has sizes and no contract.
pub(super) fn fit_best_effort(messages: &mut Vec<Arrival>, spec: &TrafficSpec, length: Span) {
    messages.sort_by_key(|message| message.at);
    for message in messages.iter_mut() {
        message.size = message.size.clamp(spec.min_message, spec.max_message);
    }
    messages.retain(|message| message.at < Time::ZERO + length);
    messages.truncate(MOST_PULSES);
}

/// Whether `messages` keep the contract: by each limit at most `B_max + δ R_max` messages in any
/// interval of length `δ`, in order, none larger or smaller than it says.
pub fn conforms(messages: &[Arrival], spec: &TrafficSpec, limits: Limits) -> bool {
    limits.contracts(*spec).all(|kept| conforms_to_one(messages, &kept))
}

fn conforms_to_one(messages: &[Arrival], spec: &TrafficSpec) -> bool {
    let sizes = messages.iter().all(|m| (spec.min_message..=spec.max_message).contains(&m.size));
    // `k − j + 1 − B` messages beyond the burst need as many intervals: with `g_k = t_k − k I` that
    // is `g_k − g_j ≥ (1 − B) I` for every `j ≤ k`, so for the largest of them.
    let interval = i128::from(spec.min_interval.as_ps());
    let least = (1 - i128::from(spec.burst)) * interval;
    let ahead = |(k, message): (usize, &Arrival)| {
        i128::from(message.at.since(Time::ZERO).as_ps()) - k as i128 * interval
    };
    let mut most = i128::MIN / 2;
    let keeps = |g: i128| {
        most = most.max(g);
        g - most >= least
    };
    sizes
        && messages.is_sorted_by_key(|message| message.at)
        && messages.iter().enumerate().map(ahead).all(keeps)
}

#[cfg(test)]
mod tests {
    use laxity_qos::limits::MessageLimit;
    use laxity_units::Bytes;
    use proptest::prelude::*;

    use super::*;

    const SPEC: TrafficSpec = TrafficSpec {
        max_message: Bytes::new(1000),
        min_message: Bytes::new(10),
        burst: 2,
        min_interval: Span::from_us(10),
    };

    fn messages(times: &[u64]) -> Vec<Arrival> {
        let message = |us: &u64| Arrival { at: Time::ZERO + Span::from_us(*us), size: Bytes::new(1000) };
        times.iter().map(message).collect()
    }

    fn kept(messages: &[Arrival], spec: &TrafficSpec) -> bool {
        conforms(messages, spec, Limits::NONE)
    }

    fn limit(burst: u32, interval: u64) -> Limits {
        let limit = MessageLimit { burst, min_interval: Span::from_us(interval) };
        Limits::new(&[limit]).expect("one limit")
    }

    /// Two at once and one each 10 us, at a distance of 4 us.
    #[test]
    fn further_limits_are_kept_as_well() {
        let mut sent = messages(&[0, 0, 0, 30, 31]);
        fit(&mut sent, &SPEC, limit(1, 4), Span::from_ms(1));
        assert_eq!(sent, messages(&[0, 4, 10, 30, 34]));
        assert!(conforms(&sent, &SPEC, limit(1, 4)) && !conforms(&sent, &SPEC, limit(1, 5)));
        assert!(conforms(&sent, &SPEC, limit(3, 11)) && !conforms(&sent, &SPEC, limit(2, 11)));
    }

    #[test]
    fn the_contract_is_read_to_the_picosecond() {
        assert!(kept(&messages(&[0, 0, 10, 20]), &SPEC));
        assert!(!kept(&messages(&[0, 0, 0]), &SPEC));
        assert!(!kept(&messages(&[0, 0, 10, 19]), &SPEC));
        assert!(kept(&messages(&[0, 30, 30, 40]), &SPEC));
        assert!(!kept(&messages(&[0, 25, 30, 30]), &SPEC), "three within 5 us");
        assert!(!kept(&messages(&[10, 0]), &SPEC), "out of order");
        let sized = |size| vec![Arrival { at: Time::ZERO, size: Bytes::new(size) }];
        assert!(kept(&sized(10), &SPEC) && !kept(&sized(9), &SPEC) && !kept(&sized(1001), &SPEC));
    }

    #[test]
    fn what_comes_too_early_waits_until_it_may_and_no_longer() {
        let mut sent = messages(&[0, 0, 0, 5, 60]);
        fit(&mut sent, &SPEC, Limits::NONE, Span::from_ms(1));
        assert_eq!(sent, messages(&[0, 0, 10, 20, 60]));
        fit(&mut sent, &SPEC, Limits::NONE, Span::from_us(60));
        assert_eq!(sent, messages(&[0, 0, 10, 20]), "the run ends before the last");
    }

    proptest! {
        #[test]
        fn whatever_is_fitted_conforms(
            wanted in prop::collection::vec((0u64..500, 1u64..2000), 0..40),
            burst in 1u32..5,
            interval in 1u64..100,
            further in (1u32..5, 1u64..100),
        ) {
            let spec = TrafficSpec { burst, min_interval: Span::from_us(interval), ..SPEC };
            let message = |&(us, size): &(u64, u64)| Arrival {
                at: Time::ZERO + Span::from_us(us),
                size: Bytes::new(size),
            };
            let mut sent: Vec<Arrival> = wanted.iter().map(message).collect();
            let further = limit(further.0, further.1);
            fit(&mut sent, &spec, further, Span::from_secs(1));
            prop_assert_eq!(sent.len(), wanted.len());
            prop_assert!(conforms(&sent, &spec, further));
            let mut again = sent.clone();
            fit(&mut again, &spec, further, Span::from_secs(1));
            prop_assert_eq!(again, sent, "what conforms stays as it is");
        }
    }
}
