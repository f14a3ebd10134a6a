//! Traces of a run: stages, instants, levels.
//!
//! A result shows that a deadline was missed; a trace shows in which stage the time was spent. A
//! component is given a [`TraceSink`] and reports facts: a [`TraceSink::span`] at the end of a stage, with
//! its beginning; a [`TraceSink::instant`] for an action without duration; a [`TraceSink::level`] when a
//! queue's length changes. Reporting a span at its end avoids open spans that must be closed in
//! order, or are left when the run stops.
//!
//! Sinks:
//!
//! * [`NoTrace`] discards everything and compiles to no code: a world generic in its sink pays only
//!   for a trace that is kept;
//! * [`PerfettoTrace`] writes a file for Perfetto as JSON; `laxity-report` has one in Perfetto's own,
//!   smaller format;
//! * [`TraceHasher`] keeps 64 bits, by which two runs are compared;
//! * a pair of sinks is a sink.
//!
//! ```
//! use laxity_engine::trace::{PerfettoTrace, TraceSink};
//! use laxity_units::Time;
//!
//! fn simulate(trace: &mut impl TraceSink) {
//!     let dma = trace.track("adapter.dma");
//!     trace.span(dma, "transfer", Time::from_ns(1000), Time::from_ns(1640), &[("channel", 3)]);
//! }
//!
//! let mut trace = PerfettoTrace::new(Vec::new());
//! simulate(&mut trace);
//! let json = String::from_utf8(trace.finish().unwrap()).unwrap();
//! assert!(json.contains(r#""name":"transfer","ts":1.000000,"dur":0.640000,"args":{"channel":3}"#));
//! ```

use laxity_units::Time;

mod hasher;
mod perfetto;

pub use hasher::TraceHasher;
pub use perfetto::PerfettoTrace;

/// Track of a trace: a resource, a queue, a component. Numbered from zero in order of naming.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Track(u32);

impl Track {
    /// Track of that number; for sinks, which assign the numbers.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number; for sinks.
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// Arguments of a record: a channel, a packet, a length.
pub type Arguments<'a> = &'a [(&'a str, u64)];

/// Position in a flow from track to track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceFlow {
    /// First span.
    Begins,
    /// Intermediate span.
    Passes,
    /// Last span.
    Ends,
}

/// Sink of a trace.
pub trait TraceSink {
    /// Whether records are kept; a component can skip work that only a trace needs.
    fn is_kept(&self) -> bool {
        true
    }

    /// Track called `name`; the same name gives the same track.
    fn track(&mut self, name: &str) -> Track;

    /// Records that `name` was done on `track` from `begin` to `end`.
    ///
    /// Spans of one track may nest and must not overlap otherwise: a track is a resource that does
    /// one thing at a time. Panics if `end` is before `begin`.
    fn span(&mut self, track: Track, name: &str, begin: Time, end: Time, arguments: Arguments<'_>);

    /// Records that `name` happened on `track` at `at`.
    fn instant(&mut self, track: Track, name: &str, at: Time, arguments: Arguments<'_>);

    /// Records that the level named by `track`, such as a queue's length or a window, is `value`
    /// from `at` on.
    fn level(&mut self, track: Track, at: Time, value: i64);

    /// Records that the flow `id` is in the span of `track` at `at`. Spans are recorded at their
    /// end, so the span may be recorded before or after this. Sinks without flows ignore it.
    fn flow(&mut self, _track: Track, _at: Time, _id: u64, _flow: TraceFlow) {}

    /// Declares that `value` of `argument` means `name`, which a sink may write instead.
    fn means(&mut self, _argument: &'static str, _value: u64, _name: &str) {}
}

/// Discards all records.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTrace;

impl TraceSink for NoTrace {
    #[inline(always)]
    fn is_kept(&self) -> bool {
        false
    }

    #[inline(always)]
    fn track(&mut self, _: &str) -> Track {
        Track(0)
    }

    #[inline(always)]
    fn span(&mut self, _: Track, _: &str, _: Time, _: Time, _: Arguments<'_>) {}

    #[inline(always)]
    fn instant(&mut self, _: Track, _: &str, _: Time, _: Arguments<'_>) {}

    #[inline(always)]
    fn level(&mut self, _: Track, _: Time, _: i64) {}
}

impl<T: TraceSink + ?Sized> TraceSink for &mut T {
    fn is_kept(&self) -> bool {
        (**self).is_kept()
    }

    fn track(&mut self, name: &str) -> Track {
        (**self).track(name)
    }

    fn span(&mut self, track: Track, name: &str, begin: Time, end: Time, arguments: Arguments<'_>) {
        (**self).span(track, name, begin, end, arguments);
    }

    fn instant(&mut self, track: Track, name: &str, at: Time, arguments: Arguments<'_>) {
        (**self).instant(track, name, at, arguments);
    }

    fn level(&mut self, track: Track, at: Time, value: i64) {
        (**self).level(track, at, value);
    }

    fn flow(&mut self, track: Track, at: Time, id: u64, flow: TraceFlow) {
        (**self).flow(track, at, id, flow);
    }

    fn means(&mut self, argument: &'static str, value: u64, name: &str) {
        (**self).means(argument, value, name);
    }
}

/// Both get all records. They must have the same tracks before they become a pair.
impl<A: TraceSink, B: TraceSink> TraceSink for (A, B) {
    fn is_kept(&self) -> bool {
        self.0.is_kept() || self.1.is_kept()
    }

    fn track(&mut self, name: &str) -> Track {
        let (first, second) = (self.0.track(name), self.1.track(name));
        match (self.0.is_kept(), self.1.is_kept()) {
            (true, true) => assert_eq!(first, second, "the sinks of a pair number their tracks differently"),
            (false, _) => return second,
            (true, false) => {}
        }
        first
    }

    fn span(&mut self, track: Track, name: &str, begin: Time, end: Time, arguments: Arguments<'_>) {
        self.0.span(track, name, begin, end, arguments);
        self.1.span(track, name, begin, end, arguments);
    }

    fn instant(&mut self, track: Track, name: &str, at: Time, arguments: Arguments<'_>) {
        self.0.instant(track, name, at, arguments);
        self.1.instant(track, name, at, arguments);
    }

    fn level(&mut self, track: Track, at: Time, value: i64) {
        self.0.level(track, at, value);
        self.1.level(track, at, value);
    }

    fn flow(&mut self, track: Track, at: Time, id: u64, flow: TraceFlow) {
        self.0.flow(track, at, id, flow);
        self.1.flow(track, at, id, flow);
    }

    fn means(&mut self, argument: &'static str, value: u64, name: &str) {
        self.0.means(argument, value, name);
        self.1.means(argument, value, name);
    }
}

#[derive(Debug, Clone, Default)]
struct Tracks {
    by_name: std::collections::BTreeMap<String, Track>,
}

impl Tracks {
    /// Track called `name`, and whether it is new.
    fn name(&mut self, name: &str) -> (Track, bool) {
        if let Some(track) = self.by_name.get(name) {
            return (*track, false);
        }
        let track = Track(u32::try_from(self.by_name.len()).expect("a trace has fewer than 2^32 tracks"));
        self.by_name.insert(name.to_owned(), track);
        (track, true)
    }
}
