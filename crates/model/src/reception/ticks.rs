//! Clocks that poll: hard ones tick periodically, soft ones when it happens to be cheap.
//!
//! A *soft timer* (Aron and Druschel 2000) is looked at whenever the system passes a state in which
//! looking costs little: at the end of a system call, of an interrupt, of a trip through the idle
//! loop. How long that takes is a matter of what the system does; so a scenario gives a
//! distribution that was measured, and a hard timer cuts it off.

use std::fmt;

use laxity_engine::Stream;
use laxity_units::Span;

/// When a clock ticks.
#[derive(Debug, Clone, PartialEq)]
pub enum ClockTicks {
    /// Every so often.
    Hard(Span),
    /// After intervals drawn from a distribution.
    Soft(Intervals),
}

impl ClockTicks {
    /// The time to the next tick.
    pub(super) fn draw(&self, random: &mut Stream) -> Span {
        match self {
            ClockTicks::Hard(period) => *period,
            ClockTicks::Soft(intervals) => intervals.at(random.unit()),
        }
    }

    /// The mean time between ticks.
    pub fn mean(&self) -> Span {
        match self {
            ClockTicks::Hard(period) => *period,
            ClockTicks::Soft(intervals) => intervals.mean(),
        }
    }
}

impl ClockTicks {
    /// The mean of the time between ticks, of its square and of its cube, in seconds.
    pub fn moments(&self) -> [f64; 3] {
        match self {
            ClockTicks::Hard(period) => {
                let period = period.as_secs_f64();
                [period, period.powi(2), period.powi(3)]
            }
            ClockTicks::Soft(intervals) => intervals.moments(),
        }
    }
}

/// A distribution of intervals: points of its cumulative function, straight lines between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Intervals {
    /// The interval and the share of intervals that are no longer, both rising; the last share is 1.
    points: Vec<(Span, f64)>,
}

/// Why points are no distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NotADistribution {
    /// There are fewer than two points.
    TooFew,
    /// The point of this number, counted from 0, does not rise above the one before.
    NotRising(usize),
    /// The first share is not in `[0, 1)`, or the last is not 1, or one lies between.
    Shares,
    /// An interval is zero: the clock would tick for ever at one instant.
    Zero,
}

impl fmt::Display for NotADistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew => f.write_str("it has fewer than two points"),
            Self::NotRising(n) => write!(f, "point {} does not rise above the one before", n + 1),
            Self::Shares => f.write_str("its shares do not go from 0 or more up to 1"),
            Self::Zero => f.write_str("an interval of 0 would tick for ever at one instant"),
        }
    }
}

impl std::error::Error for NotADistribution {}

impl Intervals {
    /// The distribution through `points`, cut off at `bound`: what would be longer is as long as that.
    pub fn new(points: &[(Span, f64)], bound: Option<Span>) -> Result<Self, NotADistribution> {
        if points.len() < 2 {
            return Err(NotADistribution::TooFew);
        }
        if points[0].0.is_zero() {
            return Err(NotADistribution::Zero);
        }
        let rises = |pair: &[(Span, f64)]| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1;
        if let Some(n) = points.windows(2).position(|pair| !rises(pair)) {
            return Err(NotADistribution::NotRising(n + 1));
        }
        let last = points[points.len() - 1].1;
        if !(0.0..1.0).contains(&points[0].1) || last != 1.0 {
            return Err(NotADistribution::Shares);
        }
        let whole = Self { points: points.to_vec() };
        Ok(match bound.filter(|bound| *bound < whole.points[whole.points.len() - 1].0) {
            Some(bound) => whole.cut(bound),
            None => whole,
        })
    }

    /// All that is above `bound` becomes `bound`: a share of intervals that are exactly as long.
    fn cut(&self, bound: Span) -> Self {
        let below = self.share_of(bound);
        let mut points: Vec<(Span, f64)> =
            self.points.iter().copied().filter(|(at, _)| *at < bound).collect();
        points.push((bound, below));
        points.push((bound, 1.0));
        Self { points }
    }

    /// The share of intervals that are no longer than `span`.
    fn share_of(&self, span: Span) -> f64 {
        let after = self.points.partition_point(|(at, _)| *at < span);
        match after {
            0 => 0.0,
            n if n == self.points.len() => 1.0,
            n => {
                let ((a, p), (b, q)) = (self.points[n - 1], self.points[n]);
                p + (q - p) * (span - a).as_secs_f64() / (b - a).as_secs_f64()
            }
        }
    }

    /// The interval that a share `unit` of all are no longer than, to the picosecond below.
    pub fn at(&self, unit: f64) -> Span {
        let after = self.points.partition_point(|(_, share)| *share <= unit);
        match after {
            0 => self.points[0].0,
            n if n == self.points.len() => self.points[n - 1].0,
            n => {
                let ((a, p), (b, q)) = (self.points[n - 1], self.points[n]);
                a + Span::from_ps(((b - a).as_ps() as f64 * ((unit - p) / (q - p))) as u64)
            }
        }
    }

    /// No interval is shorter.
    pub fn shortest(&self) -> Span {
        self.points[0].0
    }

    /// No interval is longer.
    pub fn longest(&self) -> Span {
        self.points[self.points.len() - 1].0
    }

    fn moments(&self) -> [f64; 3] {
        let (least, share) = (self.points[0].0.as_secs_f64(), self.points[0].1);
        [1, 2, 3].map(|power| {
            // Of what is as likely everywhere from a to b, the mean of the n-th power: (aⁿ + aⁿ⁻¹ b
            // + … + bⁿ) / (n + 1).
            let between = self.points.windows(2).map(|pair| {
                let ((a, p), (b, q)) =
                    ((pair[0].0.as_secs_f64(), pair[0].1), (pair[1].0.as_secs_f64(), pair[1].1));
                let powers: f64 = (0..=power).map(|k| a.powi(power - k) * b.powi(k)).sum();
                (q - p) * powers / f64::from(power + 1)
            });
            share * least.powi(power) + between.sum::<f64>()
        })
    }

    /// The mean interval, to the picosecond below.
    pub fn mean(&self) -> Span {
        let first = self.points[0].0.as_ps() as f64 * self.points[0].1;
        let between = self.points.windows(2).map(|pair| {
            let ((a, p), (b, q)) = (pair[0], pair[1]);
            (q - p) * (a.as_ps() as f64 + b.as_ps() as f64) / 2.0
        });
        Span::from_ps((first + between.sum::<f64>()) as u64)
    }
}
