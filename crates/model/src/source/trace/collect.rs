//! From records to frames: which stream, in which order, at which times.
//!
//! **Order.** The order of the file is kept. ffprobe lists packets in the order of coding, which is the order
//! in which a coder sends them; frames it lists in the order of display, the order in which published traces
//! (Rose 1995) and the cycle IBBPBBPBBPBB are written.
//!
//! **Times.** Sorting the *frames* by presentation time would send a B picture before the P picture that it
//! refers to. So a packet goes at its decoding time. A file that has presentation times only still says at
//! which instants something is sent: the k-th frame of the file takes the k-th smallest of the times. That is
//! how a container's writer makes decoding times in the first place, but for a constant delay. If some frame
//! has neither, no frame gets a time, and the scenario has to give the interval.
//!
//! **Stream.** A file that lists sound and pictures gives its first video stream; one that lists no video
//! gives its first stream.

use laxity_units::{Bytes, Span, Time};

use super::error::{ANY, Fault, ROWS, TracePosition};
use super::field::{Instant, Record, Section};
use super::{Frame, Trace, TraceFormat, TraceLimits};

/// No frame is shown more than 16 pictures later than it is coded (H.264 and H.265 hold that many
/// references), so a presentation time earlier than the one this many rows before is a clock that
/// was set back.
const REORDERING: usize = 32;

/// Containers keep time in ticks as coarse as a millisecond; a frame that is off the grid by no more than
/// that is on it.
const TICK: Instant = 1_000_000_000;

const STEADY: &str =
    "times that do not go back; `ffmpeg -i VIDEO -c copy WHOLE.mkv` writes a file whose times do not";

/// A frame while its times are still as the container has them.
#[derive(Debug, Clone, Copy)]
struct Raw {
    size: u64,
    presentation: Option<Instant>,
    decoding: Option<Instant>,
    kind: Option<super::FrameKind>,
}

/// State of the durations so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Duration {
    Unknown,
    Always(Instant),
    Varying,
}

/// Gathers the records of one file.
#[derive(Debug)]
pub(super) struct Collector {
    limits: TraceLimits,
    frames: Vec<Raw>,
    section: Option<Section>,
    stream: Option<u64>,
    video: Option<bool>,
    duration: Duration,
}

impl Collector {
    pub(super) fn new(limits: TraceLimits) -> Collector {
        Collector {
            limits,
            frames: Vec::new(),
            section: None,
            stream: None,
            video: None,
            duration: Duration::Unknown,
        }
    }

    /// Whether records of `section` count: a file that lists packets and frames says everything twice, and
    /// what came first is kept.
    pub(super) fn wants(&mut self, section: Option<Section>) -> bool {
        match (self.section, section) {
            (Some(first), Some(this)) => first == this,
            (None, Some(_)) if self.frames.is_empty() => {
                self.section = section;
                true
            }
            (_, this) => this.is_none(),
        }
    }

    /// Takes `record`, which stands `at`.
    pub(super) fn push(&mut self, record: &Record, at: TracePosition) -> Result<(), Fault> {
        if !self.same_stream(record) {
            return Ok(());
        }
        let Some(size) = record.size else {
            return Err(Fault::new(at, "this frame has no size", ROWS));
        };
        if self.frames.len() >= self.limits.frames {
            return Err(Fault::new(
                at,
                format!("the trace has more than {} frames", self.limits.frames),
                "a shorter trace, or the part of it that the experiment needs",
            ));
        }
        self.check_times(record, at)?;
        if let Some(duration) = record.duration {
            self.duration = match self.duration {
                Duration::Unknown => Duration::Always(duration),
                Duration::Always(before) if before == duration => self.duration,
                _ => Duration::Varying,
            };
        }
        let Record { presentation, decoding, kind, .. } = *record;
        self.frames.push(Raw { size, presentation, decoding, kind });
        Ok(())
    }

    fn same_stream(&mut self, record: &Record) -> bool {
        if self.video == Some(false) && record.video == Some(true) {
            self.frames.clear();
            self.duration = Duration::Unknown;
            (self.stream, self.video) = (record.stream, record.video);
            return true;
        }
        if self.frames.is_empty() && self.video != Some(true) {
            (self.stream, self.video) = (record.stream, record.video);
            return true;
        }
        self.stream == record.stream && self.video == record.video
    }

    fn check_times(&self, record: &Record, at: TracePosition) -> Result<(), Fault> {
        let before = self.frames.last().and_then(|frame| frame.decoding);
        let reordered = self.frames.len().checked_sub(REORDERING).and_then(|i| self.frames[i].presentation);
        for (earlier, now) in [(before, record.decoding), (reordered, record.presentation)] {
            if let (Some(earlier), Some(now)) = (earlier, now)
                && now < earlier
            {
                let (now, earlier) = (now as f64 / 1e12, earlier as f64 / 1e12);
                let reason = format!("the time goes back from {earlier} s to {now} s");
                return Err(Fault::new(at, reason, STEADY));
            }
        }
        Ok(())
    }

    /// How much every size exceeds the one before, if all do by the same and there are at least `frames`.
    pub(super) fn common_step(&self, frames: usize) -> Option<u64> {
        if self.frames.len() < frames {
            return None;
        }
        let mut steps = self.frames.windows(2).map(|pair| pair[1].size.checked_sub(pair[0].size));
        let first = steps.next()??;
        steps.all(|step| step == Some(first)).then_some(first)
    }

    /// The trace, once the file has ended.
    pub(super) fn finish(self, format: TraceFormat) -> Result<Trace, Fault> {
        if self.frames.is_empty() {
            return Err(Fault::new(TracePosition::Whole, "it has no frames", ANY));
        }
        let mut times = self.times();
        // One time that every frame shares is how long a frame lasts, and not when it is.
        let mut duration = self.duration;
        if let Some(&[first, .., last]) = times.as_deref()
            && first == last
        {
            duration = Duration::Always(first);
            times = None;
        }
        let first = times.as_ref().map_or(0, |times| times[0]);
        let frames = self.frames.iter().enumerate().map(|(k, raw)| Frame {
            size: Bytes::new(raw.size),
            header: 0,
            at: times.as_ref().map(|times| Time::from_ps(times[k].abs_diff(first))),
            kind: raw.kind,
        });
        let interval = match (&times, duration) {
            (Some(times), _) => common_interval(times),
            (None, Duration::Always(ps)) => u64::try_from(ps).ok().filter(|ps| *ps > 0).map(Span::from_ps),
            _ => None,
        };
        Ok(Trace::new(format, frames.collect(), interval))
    }

    /// When each frame of the file is sent, not decreasing; or nothing.
    fn times(&self) -> Option<Vec<Instant>> {
        let decoding: Option<Vec<Instant>> = self.frames.iter().map(|frame| frame.decoding).collect();
        decoding.or_else(|| {
            let mut times: Vec<Instant> =
                self.frames.iter().map(|frame| frame.presentation).collect::<Option<_>>()?;
            times.sort_unstable();
            Some(times)
        })
    }
}

/// The interval of a constant frame rate, if `times` keep to one.
fn common_interval(times: &[Instant]) -> Option<Span> {
    let (first, last) = (i128::from(*times.first()?), i128::from(*times.last()?));
    let steps = times.len() as i128 - 1;
    let whole = last - first;
    let constant = steps > 0
        && whole >= steps
        && times.iter().enumerate().all(|(k, at)| {
            let off = (i128::from(*at) - first) * steps - whole * k as i128;
            off.abs() <= i128::from(TICK) * steps
        });
    // A tick's tolerance must not make a grid of frames that are closer together than a few ticks.
    (constant && whole >= 4 * i128::from(TICK) * steps)
        .then(|| Span::from_ps(u64::try_from((whole + steps / 2) / steps).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(times: &[(Option<Instant>, Option<Instant>)]) -> Result<Trace, Fault> {
        let mut collector = Collector::new(TraceLimits::DEFAULT);
        for (k, (presentation, decoding)) in times.iter().enumerate() {
            let record = Record {
                size: Some(100 + k as u64),
                presentation: *presentation,
                decoding: *decoding,
                ..Record::default()
            };
            collector.push(&record, TracePosition::Whole)?;
        }
        collector.finish(TraceFormat::Rows)
    }

    const MS: Instant = 1_000_000_000;

    #[test]
    fn reordered_frames_keep_their_order_and_take_the_times_in_order() {
        let shown = [0, 120, 40, 80, 240, 160, 200].map(|ms| (Some(ms * MS), None));
        let trace = collected(&shown).unwrap();
        let at: Vec<u64> = trace.frames().iter().map(|f| f.at.unwrap().as_ps() / MS as u64).collect();
        assert_eq!(at, [0, 40, 80, 120, 160, 200, 240]);
        assert_eq!(trace.frames()[1].size, Bytes::new(101));
        assert_eq!(trace.frame_interval(), Some(Span::from_ms(40)));
    }

    #[test]
    fn a_clock_set_back_is_refused() {
        let decoding = [0, 40, 80, 0].map(|ms| (None, Some(ms * MS)));
        assert!(collected(&decoding).unwrap_err().reason.contains("goes back from 0.08 s to 0 s"));
        let mut shown: Vec<_> = (0..50).map(|k| (Some((k + 1) * 40 * MS), None)).collect();
        shown.push((Some(0), None));
        assert!(collected(&shown).is_err());
    }

    #[test]
    fn times_that_some_frame_lacks_are_not_made_up() {
        let trace = collected(&[(Some(0), None), (None, None), (Some(80 * MS), None)]).unwrap();
        assert!(trace.frames().iter().all(|frame| frame.at.is_none()));
        assert_eq!(trace.frame_interval(), None);
    }

    #[test]
    fn a_millisecond_clock_still_has_a_frame_rate() {
        let at = [0, 33, 67, 100, 133, 167, 200].map(|ms| (None, Some(ms * MS)));
        let interval = collected(&at).unwrap().frame_interval().unwrap();
        assert_eq!(interval.as_ps() / 1_000_000, 33_333);
        let uneven = [0, 33, 100, 133].map(|ms| (None, Some(ms * MS)));
        assert_eq!(collected(&uneven).unwrap().frame_interval(), None);
    }

    #[test]
    fn the_first_video_stream_is_taken() {
        let mut collector = Collector::new(TraceLimits::DEFAULT);
        for (video, stream, size) in
            [(false, 1, 10), (true, 0, 20), (false, 1, 30), (true, 2, 40), (true, 0, 50)]
        {
            let record =
                Record { video: Some(video), stream: Some(stream), size: Some(size), ..Record::default() };
            collector.push(&record, TracePosition::Whole).unwrap();
        }
        let trace = collector.finish(TraceFormat::Rows).unwrap();
        let sizes: Vec<u64> = trace.frames().iter().map(|frame| frame.size.get()).collect();
        assert_eq!(sizes, [20, 50]);
    }
}
