//! Recorded traffic: a trace, sent again.
//!
//! Many channels replay one trace. Started together they would all send their large pictures at
//! once, or, within one frame interval, each always just behind the same other; the thesis (§6.4.3)
//! therefore staggers the start within the trace by a minute for each instance and the start in
//! time at random. [`Start`] gives the first, the `start` parameter or a random phase the second.
//! The trace itself is shared, not copied.

use std::sync::Arc;

use laxity_engine::Stream;
use laxity_units::{Span, Time};

use super::periodic::INTERVAL;
use super::trace::Trace;
use super::{Arrival, Multiple, SourceError};

const TIMES: &str = "timing by an interval, such as the 40 ms of 25 frames/s";
const ONCE: &str = "timing by an interval, such as the 40 ms of 25 frames/s, or a trace that is sent once (`repeat = false`)";

/// When the frames of a trace are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceTiming {
    /// As the trace was recorded: at its constant frame rate if it shows one, or else at its own times.
    Recorded,
    /// One frame every interval, whatever the trace says.
    Interval(Span),
}

/// Where in a trace sending starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At a frame, the first being 0; past the end it counts on from the beginning.
    Frame(u64),
    /// At the first frame that was sent no earlier than this after the beginning; past the end it counts on
    /// from the beginning.
    After(Span),
    /// At any frame, each as likely.
    Random,
    /// `further` past a place that is drawn, less than `within` after the beginning. A run draws one
    /// place for all sources of a trace, so that they stay as far apart as they are.
    Cut {
        /// The length of the trace.
        within: Span,
        /// How far past the place.
        further: Span,
    },
}

/// Parameters of a [`RecordedSource`] source.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedParameters {
    /// The trace.
    pub trace: Arc<Trace>,
    /// When its frames are sent.
    pub timing: TraceTiming,
    /// The frame that is sent first.
    pub from: Start,
    /// Whether the trace starts over when it ends, or the source ends with it.
    pub repeat: bool,
    /// How many times faster than recorded.
    pub pace: Multiple,
    /// When the first frame is sent, at the earliest.
    pub start: Time,
    /// The first frame is sent later than `start` by less than this, as it is drawn; zero draws nothing.
    pub jitter: Span,
}

/// The pace of a trace, once it is known that it has one.
#[derive(Debug, Clone, Copy)]
enum Pace {
    /// Frame k at k intervals.
    Constant(Span),
    /// Each frame at its own time; the whole trace takes this long, the last frame's interval included.
    Own(Span),
}

/// A span below `limit`, as it is drawn; zero for zero, which draws no number.
fn below(limit: Span, random: &mut Stream) -> Span {
    if limit.is_zero() { Span::ZERO } else { Span::from_ps(random.below(limit.as_ps())) }
}

/// Sends the frames of a trace.
#[derive(Debug, Clone)]
pub struct RecordedSource {
    trace: Arc<Trace>,
    pace: Pace,
    faster: Multiple,
    repeat: bool,
    start: Time,
    first: usize,
    sent: u64,
}

impl RecordedSource {
    /// The source with `parameters`; a random start is drawn from `random`.
    pub fn new(parameters: RecordedParameters, mut random: Stream) -> Result<RecordedSource, SourceError> {
        let RecordedParameters { trace, timing, from, repeat, pace: faster, start, jitter } = parameters;
        let pace = match timing {
            TraceTiming::Interval(interval) if interval.is_zero() => {
                return Err(SourceError::new("timing", "has an interval of zero", INTERVAL));
            }
            TraceTiming::Interval(interval) => Pace::Constant(interval),
            TraceTiming::Recorded => recorded_pace(&trace, repeat)?,
        };
        let count = trace.frames().len() as u64;
        let after = |offset: Span| match pace {
            Pace::Constant(interval) => offset.div_ceil(interval) % count,
            Pace::Own(length) => {
                let offset = Time::from_ps(offset.as_ps() % length.as_ps());
                let before = trace.frames().partition_point(|frame| frame.at < Some(offset));
                before as u64 % count
            }
        };
        let first = match from {
            Start::Frame(frame) => frame % count,
            Start::Random => random.below(count),
            Start::After(offset) => after(offset),
            Start::Cut { within, further } => after(further.saturating_add(below(within, &mut random))),
        };
        let late = below(jitter, &mut random);
        let start = start.saturating_add(late);
        Ok(RecordedSource { trace, pace, faster, repeat, start, first: first as usize, sent: 0 })
    }

    /// The trace that is sent.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The next frame; `None` when the trace has ended and does not repeat, or past the last instant.
    pub fn next_arrival(&mut self) -> Option<Arrival> {
        let frames = self.trace.frames();
        let count = frames.len() as u64;
        let place = self.first as u64 + self.sent;
        if place >= count && !self.repeat {
            return None;
        }
        let frame = &frames[(place % count) as usize];
        let at = match self.pace {
            Pace::Constant(interval) => self.faster.after(self.start, interval, self.sent)?,
            Pace::Own(length) => {
                let first = frames[self.first].at?.since(Time::ZERO);
                let rounds = length.as_ps().checked_mul(place / count).map(Span::from_ps)?;
                let elapsed = rounds.as_ps().checked_add(frame.at?.as_ps())?;
                self.faster.stretch(self.start, Span::from_ps(elapsed) - first)?
            }
        };
        self.sent += 1;
        Some(Arrival { at, size: frame.size })
    }
}

/// The pace of `trace`. From the last frame of a round to the first of the next it takes as long as from one
/// frame to the next on average; where all frames have one time, there is no next round.
fn recorded_pace(trace: &Trace, repeat: bool) -> Result<Pace, SourceError> {
    if let Some(interval) = trace.frame_interval() {
        return Ok(Pace::Constant(interval));
    }
    let frames = trace.frames();
    let last = frames.last().and_then(|frame| frame.at).map(|at| at.since(Time::ZERO));
    let Some(last) = last else {
        let reason = format!("is as recorded, but {} has no times", trace.name());
        return Err(SourceError::new("timing", reason, TIMES));
    };
    match frames.len() as u64 - 1 {
        _ if last.is_zero() && !repeat => Ok(Pace::Own(Span::from_ps(1))),
        0 => Err(SourceError::new("timing", "is as recorded, but the trace has one frame", ONCE)),
        _ if last.is_zero() => {
            Err(SourceError::new("timing", "is as recorded, but all frames have the same time", ONCE))
        }
        gaps => Ok(Pace::Own(last.saturating_add(Span::from_ps(last.as_ps().div_ceil(gaps))))),
    }
}
