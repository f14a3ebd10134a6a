//! Impairments of frames on a path: delay, duplication, corruption, reordering, loss.
//!
//! The kinds and their names are those of Linux's netem. The choices here differ in three points:
//!
//! * *Jitter keeps order.* netem delays each packet independently, so a jitter larger than the
//!   packet spacing reorders packets, which no queue in a network does. Here a frame arrives no
//!   sooner than the one before it; only [`Reordering`] reorders.
//! * *Reordered is late, not early.* netem sends a reordered packet at once, below the path's
//!   minimum delay. Here it is held back, as on a longer path, and others overtake.
//! * *Copies are independent.* A duplicate is lost, damaged and delayed independently of the
//!   original.
//!
//! Every frame draws the same random numbers whether they are used or not. So with the same seed
//! the frames lost at 1 % are among those lost at 2 %, and a change of one probability does not
//! affect the others: two runs differ only by the change.

use std::fmt;

use laxity_engine::Stream;
use laxity_units::{Span, Time};

use super::NetworkError;

/// A probability, within 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Probability(f64);

impl Probability {
    /// Probability 0.
    pub const NEVER: Probability = Probability(0.0);
    /// Probability 1.
    pub const ALWAYS: Probability = Probability(1.0);

    /// The probability `value`; `None` if it is not one.
    pub fn new(value: f64) -> Option<Probability> {
        (0.0..=1.0).contains(&value).then_some(Probability(value))
    }

    /// The number.
    pub fn value(self) -> f64 {
        self.0
    }

    fn happens(self, random: &mut Stream) -> bool {
        random.chance(self.0)
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Frames that are overtaken.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reordering {
    /// Per frame, independently.
    pub probability: Probability,
    /// Extra delay of such a frame.
    pub by: Span,
}

/// Parameters of [`Impairments`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ImpairmentParameters {
    /// Minimum delay of every frame.
    pub delay: Span,
    /// Maximum of a uniform extra delay; a frame is later still if one before it is.
    pub jitter: Span,
    /// Probability that a frame never arrives.
    pub loss: Probability,
    /// Probability that a frame arrives damaged.
    pub corruption: Probability,
    /// Probability that a frame is sent twice.
    pub duplication: Probability,
    /// Frames that are overtaken.
    pub reordering: Reordering,
}

impl ImpairmentParameters {
    /// Checks the parameters; the error names the first invalid one.
    pub fn check(&self) -> Result<(), NetworkError> {
        let Reordering { probability, by } = self.reordering;
        if probability > Probability::NEVER && by.is_zero() {
            let reason = format!("has probability {probability} but holds back by nothing");
            return Err(NetworkError::new("reordering", reason, "a time above zero to hold frames back by"));
        }
        Ok(())
    }
}

/// A frame that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameDelivery {
    /// Arrival time.
    pub at: Time,
    /// Whether it is damaged.
    pub corrupted: bool,
}

/// Statistics of frames; `offered + duplicated = delivered + lost`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImpairmentCounts {
    /// Frames sent.
    pub offered: u64,
    /// Second copies that were made of them.
    pub duplicated: u64,
    /// Copies that arrive, damaged ones included.
    pub delivered: u64,
    /// Copies that never arrive.
    pub lost: u64,
    /// Copies that arrive damaged.
    pub corrupted: u64,
    /// Copies that arrive and were held back, whether or not another overtook.
    pub reordered: u64,
}

impl std::ops::Add for ImpairmentCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            offered: self.offered + other.offered,
            duplicated: self.duplicated + other.duplicated,
            delivered: self.delivered + other.delivered,
            lost: self.lost + other.lost,
            corrupted: self.corrupted + other.corrupted,
            reordered: self.reordered + other.reordered,
        }
    }
}

/// The path from one station to another.
#[derive(Debug, Clone)]
pub struct Impairments {
    parameters: ImpairmentParameters,
    random: Stream,
    /// When the last frame that was not held back arrives.
    last: Time,
    counts: ImpairmentCounts,
}

impl Impairments {
    /// A path with `parameters`, which draws from `random`.
    pub fn new(parameters: ImpairmentParameters, random: Stream) -> Result<Impairments, NetworkError> {
        parameters.check()?;
        Ok(Impairments { parameters, random, last: Time::ZERO, counts: ImpairmentCounts::default() })
    }

    /// A frame's last bit is sent, no earlier than that of any before; returns its arrivals: none,
    /// one, or two.
    pub fn pass(&mut self, now: Time) -> impl Iterator<Item = FrameDelivery> + use<> {
        self.counts.offered += 1;
        let twice = self.parameters.duplication.happens(&mut self.random);
        self.counts.duplicated += u64::from(twice);
        let first = self.copy(now, true);
        let second = self.copy(now, twice);
        [first, second].into_iter().flatten()
    }

    /// Statistics so far.
    pub fn counts(&self) -> ImpairmentCounts {
        self.counts
    }

    /// One copy of a frame, if it exists; draws random numbers either way.
    fn copy(&mut self, now: Time, exists: bool) -> Option<FrameDelivery> {
        let ImpairmentParameters { delay, jitter, loss, corruption, reordering, .. } = self.parameters;
        let random = &mut self.random;
        let lost = loss.happens(random);
        let corrupted = corruption.happens(random);
        let held_back = reordering.probability.happens(random);
        let jitter = random.uniform(Span::ZERO, jitter);
        if !exists {
            return None;
        }
        if lost {
            self.counts.lost += 1;
            return None;
        }
        self.counts.delivered += 1;
        self.counts.corrupted += u64::from(corrupted);
        let mut at = now.saturating_add(delay).saturating_add(jitter);
        if held_back {
            self.counts.reordered += 1;
            at = at.saturating_add(reordering.by);
        } else {
            at = at.max(self.last);
            self.last = at;
        }
        Some(FrameDelivery { at, corrupted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laxity_engine::Seed;
    use proptest::prelude::*;

    fn probability() -> impl Strategy<Value = Probability> {
        prop_oneof![Just(0.0), Just(1.0), 0.0..1.0f64].prop_map(|p| Probability::new(p).unwrap())
    }

    prop_compose! {
        fn parameters()(
            delay in 0u64..1000, jitter in 0u64..1000, loss in probability(), corruption in probability(),
            duplication in probability(), probability in probability(), by in 1u64..1000
        ) -> ImpairmentParameters {
            let reordering = Reordering { probability, by: Span::from_us(by) };
            let (delay, jitter) = (Span::from_us(delay), Span::from_us(jitter));
            ImpairmentParameters { delay, jitter, loss, corruption, duplication, reordering }
        }
    }

    /// Sends a frame every 10 us and returns the arrivals of each.
    fn pass(
        parameters: ImpairmentParameters,
        seed: u64,
        frames: u64,
    ) -> (Vec<Vec<FrameDelivery>>, ImpairmentCounts) {
        let mut way = Impairments::new(parameters, Seed::new(seed).stream("way")).unwrap();
        let sent = (0..frames).map(|k| way.pass(Time::ZERO + Span::from_us(10 * k)).collect());
        (sent.collect(), way.counts())
    }

    /// Whether `count` of `trials` is within six deviations of the expectation for probability `p`,
    /// plus four, since a small expectation is not normally distributed.
    fn likely(count: u64, trials: u64, p: Probability) -> bool {
        let (n, p) = (trials as f64, p.value());
        (count as f64 - n * p).abs() <= 6.0 * (n * p * (1.0 - p)).sqrt() + 4.0
    }

    proptest! {
        #[test]
        fn nothing_disappears_and_chances_are_as_asked(parameters in parameters(), seed: u64) {
            let (sent, counts) = pass(parameters, seed, 2000);
            let delivered: Vec<&FrameDelivery> = sent.iter().flatten().collect();
            prop_assert_eq!(counts.offered, 2000);
            prop_assert_eq!(counts.offered + counts.duplicated, counts.delivered + counts.lost);
            prop_assert_eq!(counts.delivered, delivered.len() as u64);
            prop_assert_eq!(counts.corrupted, delivered.iter().filter(|d| d.corrupted).count() as u64);
            prop_assert!(likely(counts.duplicated, counts.offered, parameters.duplication));
            prop_assert!(likely(counts.lost, counts.offered + counts.duplicated, parameters.loss));
            prop_assert!(likely(counts.corrupted, counts.delivered, parameters.corruption));
            prop_assert!(likely(counts.reordered, counts.delivered, parameters.reordering.probability));
        }

        #[test]
        fn order_is_kept_unless_reordering_is_asked_for(parameters in parameters(), seed: u64) {
            let mut parameters = parameters;
            parameters.reordering.probability = Probability::NEVER;
            let (sent, _) = pass(parameters, seed, 500);
            let all: Vec<Time> = sent.iter().flatten().map(|d| d.at).collect();
            prop_assert!(all.windows(2).all(|pair| pair[0] <= pair[1]));
            for (k, frame) in sent.iter().enumerate() {
                let now = Time::ZERO + Span::from_us(10 * k as u64);
                // Delayed by those before it, a frame still arrives within the path's maximum
                // delay.
                for delivery in frame {
                    let took = delivery.at.since(now);
                    prop_assert!(parameters.delay <= took && took <= parameters.delay + parameters.jitter);
                }
            }
        }

        /// A higher loss includes the losses of a lower one; surviving frames are damaged under
        /// both or neither.
        #[test]
        fn what_is_not_changed_stays(parameters in parameters(), seed: u64, more in probability()) {
            prop_assume!(more >= parameters.loss);
            let (before, _) = pass(parameters, seed, 300);
            let (after, _) = pass(ImpairmentParameters { loss: more, ..parameters }, seed, 300);
            for (before, after) in before.iter().zip(&after) {
                let damaged = |frame: &[FrameDelivery]| frame.iter().filter(|d| d.corrupted).count();
                prop_assert!(after.len() <= before.len());
                prop_assert!(damaged(after) <= damaged(before));
            }
        }
    }

    #[test]
    fn a_second_copy_changes_nothing_of_the_first() {
        let corruption = Probability::new(0.5).unwrap();
        let first = |duplication| {
            let parameters = ImpairmentParameters { corruption, duplication, ..Default::default() };
            let (sent, _) = pass(parameters, 1, 300);
            sent.iter().map(|frame| frame[0].corrupted).collect::<Vec<_>>()
        };
        let once = first(Probability::NEVER);
        assert!(once.contains(&true) && once.contains(&false));
        assert_eq!(once, first(Probability::ALWAYS));
    }

    #[test]
    fn what_is_held_back_is_overtaken() {
        let by = Span::from_us(35);
        let half = Probability::new(0.5).unwrap();
        let reordering = Reordering { probability: half, by };
        let parameters = ImpairmentParameters { reordering, ..Default::default() };
        let (sent, counts) = pass(parameters, 1, 1000);
        let overtaken = sent.windows(2).filter(|pair| pair[0][0].at > pair[1][0].at).count();
        // Half are held back, half of those have a successor that is not.
        assert!((200..300).contains(&overtaken) && counts.reordered > 400, "{overtaken} {counts:?}");
    }

    #[test]
    fn a_way_that_does_nothing_is_valid_and_a_probability_is_its_number() {
        assert_eq!(ImpairmentParameters::default().check(), Ok(()));
        assert_eq!(Probability::new(0.25).unwrap().to_string(), "0.25");
    }

    #[test]
    fn what_is_not_a_probability_is_refused() {
        assert!([-0.1, 1.1, f64::NAN, f64::INFINITY].iter().all(|p| Probability::new(*p).is_none()));
        let reordering = Reordering { probability: Probability::ALWAYS, by: Span::ZERO };
        let parameters = ImpairmentParameters { reordering, ..Default::default() };
        assert!(parameters.check().unwrap_err().to_string().contains("holds back by nothing"));
    }
}
