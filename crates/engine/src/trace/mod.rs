//! What a run did: stages, steps, levels.
//!
//! A result says that a deadline was missed; a trace says in which stage the time went. A component is given
//! a [`Trace`] and tells it what it did once that is known: a [`Trace::span`] when a stage ends, with its
//! beginning, an [`Trace::instant`] for what takes no time, a [`Trace::level`] when a queue grows. Telling a
//! span at its end keeps the trace a list of facts: there are no open spans to be closed in the right order,
//! nor any left when the run stops.
//!
//! What is told goes to a sink:
//!
//! * [`NoTrace`] keeps nothing and compiles to nothing: a world generic in its sink pays only for what it
//!   keeps;
//! * [`PerfettoTrace`] writes a file that opens in Perfetto;
//! * [`TraceHasher`] keeps 64 bits, by which two runs are compared;
//! * a pair of sinks is a sink.
//!
//! ```
//! use laxity_engine::trace::{PerfettoTrace, Trace};
//! use laxity_units::Time;
//!
//! fn simulate(trace: &mut impl Trace) {
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

/// A line of a trace: a resource, a queue, a component. Numbered from zero in the order of naming.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Track(u32);

impl Track {
    /// The track of that number: for sinks, which number them.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }
}

/// What a record says beside its name: a channel, a packet, a length.
pub type Arguments<'a> = &'a [(&'a str, u64)];

/// Where on its way something is that goes from track to track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// It sets out.
    Begins,
    /// It comes by.
    Passes,
    /// It has come to its end.
    Ends,
}

/// Takes what components tell.
pub trait Trace {
    /// Whether what is told is kept; lets a component spare itself work that only a trace needs.
    fn is_kept(&self) -> bool {
        true
    }

    /// The track called `name`; naming it again gives the same.
    fn track(&mut self, name: &str) -> Track;

    /// `name` was done on `track` from `begin` to `end`.
    ///
    /// Spans of one track may enclose one another and must not overlap otherwise: a track stands for what
    /// does one thing at a time. Panics if `end` is before `begin`.
    fn span(&mut self, track: Track, name: &str, begin: Time, end: Time, arguments: Arguments<'_>);

    /// `name` happened on `track` at `at`.
    fn instant(&mut self, track: Track, name: &str, at: Time, arguments: Arguments<'_>);

    /// From `at` on, the level of which `track` is the name is `value`: a queue's length, a window.
    fn level(&mut self, track: Track, at: Time, value: i64);

    /// What goes by the number `id` is in the span that `track` has at `at`. Spans are told when they end, so that one may be told
    /// before or after. Who shows no ways leaves it.
    fn flow(&mut self, _track: Track, _at: Time, _id: u64, _flow: Flow) {}

    /// Where `argument` is `value` in a record, it means what is called `name`: who shows records may write that in its place.
    fn means(&mut self, _argument: &'static str, _value: u64, _name: &str) {}
}

/// Keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTrace;

impl Trace for NoTrace {
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

impl<T: Trace + ?Sized> Trace for &mut T {
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

    fn flow(&mut self, track: Track, at: Time, id: u64, flow: Flow) {
        (**self).flow(track, at, id, flow);
    }

    fn means(&mut self, argument: &'static str, value: u64, name: &str) {
        (**self).means(argument, value, name);
    }
}

/// Both are told everything. They must have been told the same tracks before they became a pair.
impl<A: Trace, B: Trace> Trace for (A, B) {
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

    fn flow(&mut self, track: Track, at: Time, id: u64, flow: Flow) {
        self.0.flow(track, at, id, flow);
        self.1.flow(track, at, id, flow);
    }

    fn means(&mut self, argument: &'static str, value: u64, name: &str) {
        self.0.means(argument, value, name);
        self.1.means(argument, value, name);
    }
}

/// The numbers that sinks give to names.
#[derive(Debug, Clone, Default)]
struct Tracks {
    by_name: std::collections::BTreeMap<String, Track>,
}

impl Tracks {
    /// The track called `name`, and whether it is new.
    fn name(&mut self, name: &str) -> (Track, bool) {
        if let Some(track) = self.by_name.get(name) {
            return (*track, false);
        }
        let track = Track(u32::try_from(self.by_name.len()).expect("a trace has fewer than 2^32 tracks"));
        self.by_name.insert(name.to_owned(), track);
        (track, true)
    }
}
