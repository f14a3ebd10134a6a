//! Statistics of a trace's sizes, in the terms of the papers.
//!
//! Rose (1995) and the tables that cite it give minimum, maximum, mean and standard deviation of
//! the frame size; the ratio of peak to mean shows the waste of a reservation for the worst frame.

use laxity_units::{Bytes, Rate, Span};

use super::{FrameKind, Trace};

/// A summary of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// Frames in the trace; at least one.
    pub frames: usize,
    /// Bytes of all frames.
    pub total: Bytes,
    /// Bytes of the smallest frame.
    pub min: Bytes,
    /// Bytes of the largest frame.
    pub max: Bytes,
    /// Mean size in bytes.
    pub mean: f64,
    /// Standard deviation of the size in bytes, over the frames as the whole population (divided by n).
    pub standard_deviation: f64,
    /// How long the trace lasts, the last frame's interval included: frames times their interval, or, without
    /// a constant interval, from the first frame to the last. `None` without times.
    pub duration: Option<Span>,
    /// `total` over `duration`; `None` without times, or if all frames come at once.
    pub mean_rate: Option<Rate>,
    /// The largest frame over one frame interval; `None` without a constant interval, where a peak
    /// would depend on an unspecified window.
    pub peak_rate: Option<Rate>,
    /// The cycle of kinds from one I to the next, such as `IBBPBBPBBPBB`, if all whole cycles are the same;
    /// there must be at least two I.
    pub pattern: Option<String>,
    /// Frames and mean size in bytes of the I, P and B frames, in this order, of which there are any.
    pub kinds: Vec<(FrameKind, usize, f64)>,
}

impl Statistics {
    pub(super) fn of(trace: &Trace) -> Statistics {
        let frames = trace.frames();
        let sizes = || frames.iter().map(|frame| frame.size.get());
        // Exact in integers: at most 2^24 frames of at most 2^30 bytes.
        let total: u64 = sizes().sum();
        let squares: u128 = sizes().map(|size| u128::from(size).pow(2)).sum();
        let n = frames.len() as u128;
        let deviation = (n * squares - u128::from(total).pow(2)) as f64;
        let max = Bytes::new(sizes().max().unwrap_or(0));
        let interval = trace.frame_interval();
        let duration = match interval {
            Some(interval) => Some(interval.saturating_mul(frames.len() as u64)),
            None => frames
                .last()
                .and_then(|last| last.at)
                .zip(frames[0].at)
                .map(|(last, first)| last.since(first)),
        };
        Statistics {
            frames: frames.len(),
            total: Bytes::new(total),
            min: Bytes::new(sizes().min().unwrap_or(0)),
            max,
            mean: total as f64 / n as f64,
            standard_deviation: deviation.sqrt() / n as f64,
            duration,
            mean_rate: duration.and_then(|duration| rate(total, duration)),
            peak_rate: interval.and_then(|interval| rate(max.get(), interval)),
            pattern: pattern(trace),
            kinds: kinds(trace),
        }
    }

    /// The largest frame over the mean one.
    pub fn peak_to_mean(&self) -> f64 {
        self.max.get() as f64 / self.mean
    }
}

/// `bytes` in `span`, rounded down; `None` where that is no number or more than a [`Rate`] holds.
fn rate(bytes: u64, span: Span) -> Option<Rate> {
    let bits = (u128::from(bytes) * 8 * 1_000_000_000_000).checked_div(u128::from(span.as_ps()))?;
    u64::try_from(bits).ok().map(Rate::from_bits_per_sec)
}

fn pattern(trace: &Trace) -> Option<String> {
    let kinds: Vec<FrameKind> = trace.frames().iter().map(|frame| frame.kind).collect::<Option<_>>()?;
    let starts: Vec<usize> =
        kinds.iter().enumerate().filter(|(_, kind)| **kind == FrameKind::I).map(|(place, _)| place).collect();
    let mut cycles = starts.windows(2).map(|pair| &kinds[pair[0]..pair[1]]);
    let first = cycles.next()?;
    cycles.all(|cycle| cycle == first).then(|| first.iter().map(FrameKind::to_string).collect())
}

fn kinds(trace: &Trace) -> Vec<(FrameKind, usize, f64)> {
    let of = |kind| {
        let sizes =
            trace.frames().iter().filter(|frame| frame.kind == Some(kind)).map(|frame| frame.size.get());
        let (count, total) = sizes.fold((0, 0u64), |(count, total), size| (count + 1, total + size));
        (count > 0).then(|| (kind, count, total as f64 / count as f64))
    };
    [FrameKind::I, FrameKind::P, FrameKind::B].into_iter().filter_map(of).collect()
}
