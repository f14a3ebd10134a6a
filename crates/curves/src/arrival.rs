//! Arrival curves: how much a flow can send in any window of time.
//!
//! A curve is the minimum of straight lines (token buckets), so it is concave. Amounts are whole
//! picobits (10⁻¹² bit) and times whole picoseconds, so a rate in bit/s times a time is exact. A
//! sum of curves needs the instants at which two lines meet. Those are rounded. A wrong instant
//! picks a pair of lines that is valid there but not the least, so rounding never lowers a curve.

use laxity_units::{Bytes, Rate, Span};

/// Picobits of `size`.
pub(crate) const fn picobits(size: Bytes) -> u128 {
    size.get() as u128 * 8 * 1_000_000_000_000
}

/// A straight line: a token bucket in picobits and bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) burst: u128,
    pub(crate) rate: u128,
}

impl Line {
    /// The value after `ps` picoseconds.
    pub(crate) const fn at(self, ps: u128) -> u128 {
        self.burst.saturating_add(self.rate.saturating_mul(ps))
    }

    /// First picosecond, rounded down, at which `self` is no longer below the flatter `later`.
    const fn meets(self, later: Line) -> u128 {
        later.burst.saturating_sub(self.burst) / (self.rate - later.rate)
    }
}

/// One limit that a flow keeps at its source.
///
/// A flow with several limits keeps all of them (several token buckets, as the T-SPEC of RFC 2212).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bucket {
    /// At most `burst` and `rate` times the window, in any window.
    Fluid {
        /// Bytes that can arrive at once, the largest frame included.
        burst: Bytes,
        /// Rate at which the bucket fills.
        rate: Rate,
    },
    /// At most `burst + ⌊window / interval⌋` frames of at most `size` in any closed window (the
    /// linear bounded arrival process of Cruz 1991, counted in messages).
    Frames {
        /// Largest frame, with all that surrounds it on the link.
        size: Bytes,
        /// Frames that can arrive at once; at least 1.
        burst: u64,
        /// Least mean interval of frames; not zero.
        interval: Span,
    },
}

impl Bucket {
    /// Picobits of whole frames in a closed window of `ps`, if they are counted.
    pub(crate) fn frames(self, jitter: Span, ps: u128) -> Option<u128> {
        let Bucket::Frames { size, burst, interval } = self else { return None };
        let later = (ps + u128::from(jitter.as_ps())) / u128::from(interval.as_ps());
        Some(picobits(size).saturating_mul(u128::from(burst) + later))
    }

    /// Most picobits in a half-open window of `ps`, which is not zero.
    pub(crate) fn within(self, jitter: Span, ps: u128) -> u128 {
        let Bucket::Fluid { burst, rate } = self else {
            return self.frames(jitter, ps - 1).unwrap_or(u128::MAX);
        };
        let time = ps + u128::from(jitter.as_ps());
        picobits(burst).saturating_add(u128::from(rate.bits_per_sec()) * time)
    }

    /// The same limit in bits at any instant: whole messages are not counted.
    pub(crate) fn in_bits(self) -> Bucket {
        let Bucket::Frames { size, burst, interval } = self else { return self };
        let rate = picobits(size).div_ceil(u128::from(interval.as_ps()));
        let rate = Rate::from_bits_per_sec(u64::try_from(rate).unwrap_or(u64::MAX));
        Bucket::Fluid { burst: Bytes::new(size.get().saturating_mul(burst)), rate }
    }

    /// Lines that lie above what the flow can send in a window, if its frames are shifted against
    /// each other by up to `jitter` (Le Boudec and Thiran 2001, theorem 1.4.3).
    ///
    /// The staircase of frames has a concave hull of two lines: until its first step, and after it.
    fn lines(self, jitter: Span, out: &mut Vec<Line>) {
        let jitter = u128::from(jitter.as_ps());
        match self {
            Bucket::Fluid { burst, rate } => {
                let rate = u128::from(rate.bits_per_sec());
                out.push(Line { burst: picobits(burst) + rate * jitter, rate });
            }
            Bucket::Frames { size, burst, interval } => {
                let (size, interval) = (picobits(size), u128::from(interval.as_ps()));
                let rate = size.div_ceil(interval);
                out.push(Line { burst: size * u128::from(burst) + (size * jitter).div_ceil(interval), rate });
                let first = interval - jitter % interval;
                let at_once = size * (u128::from(burst) + jitter / interval);
                out.push(Line { burst: at_once, rate: size.div_ceil(first) });
            }
        }
    }
}

/// A concave arrival curve: the minimum of its lines, which have falling rates and rising bursts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arrival {
    lines: Vec<Line>,
}

impl Arrival {
    /// The curve of no traffic.
    pub(crate) fn none() -> Self {
        Self { lines: vec![Line { burst: 0, rate: 0 }] }
    }

    /// The least of `lines`, of which there is one at least.
    pub(crate) fn least(mut lines: Vec<Line>) -> Self {
        lines.sort_unstable_by(|a, b| b.rate.cmp(&a.rate).then(a.burst.cmp(&b.burst)));
        let mut kept: Vec<Line> = Vec::with_capacity(lines.len());
        for line in lines {
            while let Some(&top) = kept.last() {
                if line.burst <= top.burst {
                    kept.pop();
                } else if line.rate == top.rate {
                    break;
                } else if let [.., below, _] = kept[..]
                    && below.meets(line) <= below.meets(top)
                {
                    kept.pop();
                } else {
                    break;
                }
            }
            if kept.last().is_none_or(|top| line.burst > top.burst && line.rate < top.rate) {
                kept.push(line);
            }
        }
        Self { lines: kept }
    }

    /// The curve of a flow with all of `buckets`, shifted by up to `jitter` since its source.
    pub(crate) fn of(buckets: &[Bucket], jitter: Span) -> Self {
        let mut lines = Vec::with_capacity(2 * buckets.len());
        for bucket in buckets {
            bucket.lines(jitter, &mut lines);
        }
        if lines.is_empty() { Self::none() } else { Self::least(lines) }
    }

    /// The curve limited by what the link upstream can carry: `rate` times the window and a frame
    /// (line shaping; Mifdaoui and Leydier 2017, TFA++).
    pub(crate) fn shaped(self, rate: Rate, longest: Bytes) -> Self {
        self.within(Line { burst: picobits(longest), rate: u128::from(rate.bits_per_sec()) })
    }

    /// The curve limited by a further line.
    pub(crate) fn within(self, line: Line) -> Self {
        let mut lines = self.lines;
        lines.push(line);
        Self::least(lines)
    }

    /// The curve limited by further lines.
    pub(crate) fn within_all(self, further: impl IntoIterator<Item = Line>) -> Self {
        let mut lines = self.lines;
        let known = lines.len();
        lines.extend(further);
        if lines.len() > known { Self::least(lines) } else { Self { lines } }
    }

    /// The curve of traffic that has both.
    pub(crate) fn least_of(self, other: Self) -> Self {
        let mut lines = self.lines;
        lines.extend(other.lines);
        Self::least(lines)
    }

    /// The curve of the same traffic, delayed by up to `ps`.
    pub(crate) fn late(mut self, ps: u128) -> Self {
        for line in &mut self.lines {
            line.burst = line.at(ps);
        }
        self
    }

    /// The curve raised by a line: the sum of both.
    pub(crate) fn plus(mut self, line: Line) -> Self {
        for own in &mut self.lines {
            own.burst = own.burst.saturating_add(line.burst);
            own.rate += line.rate;
        }
        self
    }

    /// The sum of `curves`: what all of them send in the same window.
    pub(crate) fn sum<'a>(curves: impl IntoIterator<Item = &'a Arrival>) -> Self {
        let mut turns: Vec<(u128, Line, Line)> = Vec::new();
        let mut now = Line { burst: 0, rate: 0 };
        for curve in curves {
            now = Line {
                burst: now.burst.saturating_add(curve.lines[0].burst),
                rate: now.rate + curve.lines[0].rate,
            };
            // Rounding must not put the turns of a curve in another order.
            let mut latest = 0;
            for pair in curve.lines.windows(2) {
                latest = pair[0].meets(pair[1]).max(latest);
                turns.push((latest, pair[0], pair[1]));
            }
        }
        turns.sort_by_key(|turn| turn.0);
        let mut lines = vec![now];
        let mut turns = turns.into_iter().peekable();
        while let Some((at, from, to)) = turns.next() {
            now.burst = (now.burst - from.burst).saturating_add(to.burst);
            now.rate = now.rate - from.rate + to.rate;
            if turns.peek().is_none_or(|next| next.0 != at) {
                lines.push(now);
            }
        }
        Self::least(lines)
    }

    /// Most that can arrive in a closed window of `ps`.
    pub(crate) fn at(&self, ps: u128) -> u128 {
        self.lines.iter().map(|line| line.at(ps)).min().expect("a curve has a line")
    }

    /// The lines: falling rates and rising bursts.
    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The line of long windows.
    pub(crate) fn last(&self) -> Line {
        *self.lines.last().expect("a curve has a line")
    }

    /// Instants, rounded down and up, at which the next line becomes the least.
    pub(crate) fn turns(&self) -> impl Iterator<Item = (u128, u128)> {
        self.lines.windows(2).map(|pair| {
            let (missing, faster) = (pair[1].burst - pair[0].burst, pair[0].rate - pair[1].rate);
            (missing / faster, missing.div_ceil(faster))
        })
    }

    /// Shortest window, rounded down, in which `amount` can arrive; `None` if it never can.
    pub(crate) fn reaches(&self, amount: u128) -> Option<u128> {
        let window = |line: &Line| match amount.saturating_sub(line.burst) {
            0 => Some(0),
            missing => missing.checked_div(line.rate),
        };
        self.lines.iter().map(window).try_fold(0, |longest, window| Some(longest.max(window?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u128 = 1_000_000;

    fn line(burst: u128, rate: u128) -> Line {
        Line { burst, rate }
    }

    /// Two frames of 125 bytes (1000 bit) at once and one each 100 us: 1000, 2000, 3000 … bits are
    /// reached at the steps, and the hull is never below them.
    #[test]
    fn frames_are_below_the_hull_of_their_steps() {
        let frames = Bucket::Frames { size: Bytes::new(125), burst: 2, interval: Span::from_us(100) };
        for jitter in [0, 30, 100, 250] {
            let hull = Arrival::of(&[frames], Span::from_us(jitter));
            for window in (0..1000).step_by(10) {
                let most = 1000 * (2 + (window + u128::from(jitter)) / 100) * 1_000_000_000_000;
                assert!(hull.at(window * US) >= most, "{jitter} {window}");
            }
        }
        let hull = Arrival::of(&[frames], Span::from_us(30));
        let bit = 1_000_000_000_000;
        assert_eq!(hull.at(0), 2000 * bit);
        assert_eq!(hull.at(70 * US), 3000 * bit);
        assert_eq!(hull.last(), line(2300 * bit, 10_000_000));
    }

    #[test]
    fn several_limits_hold_together() {
        let fluid =
            |burst, rate| Bucket::Fluid { burst: Bytes::new(burst), rate: Rate::from_bits_per_sec(rate) };
        let both = Arrival::of(&[fluid(100, 8000), fluid(200, 800)], Span::ZERO);
        assert_eq!(both.at(0), picobits(Bytes::new(100)));
        let late = 10 * 1_000_000_000_000;
        assert_eq!(both.at(late), picobits(Bytes::new(200)) + 800 * late);
        let shaped = both.shaped(Rate::from_bits_per_sec(80), Bytes::new(50));
        assert_eq!(shaped.at(late), picobits(Bytes::new(50)) + 80 * late);
    }

    #[test]
    fn a_sum_is_not_below_the_sum_of_its_parts() {
        let curves = [
            Arrival::least(vec![line(100, 70), line(1000, 7), line(5000, 1)]),
            Arrival::least(vec![line(10, 33), line(777, 5)]),
            Arrival::least(vec![line(50, 2)]),
            Arrival::none(),
        ];
        let sum = Arrival::sum(&curves);
        for window in 0..3000 {
            let parts: u128 = curves.iter().map(|curve| curve.at(window)).sum();
            assert!(sum.at(window) >= parts && sum.at(window) <= parts + 70, "{window}");
        }
    }

    #[test]
    fn a_line_that_is_never_the_least_is_left_out() {
        let curve =
            Arrival::least(vec![line(0, 100), line(100, 50), line(60, 60), line(400, 50), line(90, 10)]);
        assert_eq!(curve.lines(), [line(0, 100), line(90, 10)]);
        assert_eq!(curve.turns().collect::<Vec<_>>(), [(1, 1)]);
        assert_eq!((curve.reaches(0), curve.reaches(100), curve.reaches(190)), (Some(0), Some(1), Some(10)));
        assert_eq!(Arrival::none().reaches(1), None);
    }
}
