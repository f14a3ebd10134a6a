//! A window of virtual time: the part of a run's events that is written.

use std::collections::BTreeMap;

use laxity_engine::trace::{Arguments, TraceFlow, TraceSink, Track};
use laxity_units::Time;

/// From the first time, which is within, to the second, which is not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) from: Time,
    pub(crate) to: Time,
}

impl Window {
    /// Whether something at `at` is within.
    pub(crate) fn holds(self, at: Time) -> bool {
        (self.from..self.to).contains(&at)
    }

    /// Whether a part of what was done from `begin` to `end` is within.
    fn meets(self, begin: Time, end: Time) -> bool {
        self.holds(begin) || begin < self.from && end > self.from
    }
}

/// Passes on the events within a window.
///
/// A span that a limit of the window cuts is passed on whole, since its times are facts. A level
/// from before the window is passed on at its beginning, so that a counter has a first value.
pub(crate) struct Windowed<T> {
    sink: T,
    window: Window,
    /// Levels before the window, until it begins.
    before: BTreeMap<Track, i64>,
    /// Whether an event was within.
    met: bool,
}

impl<T: TraceSink> Windowed<T> {
    pub(crate) fn new(sink: T, window: Window) -> Self {
        Self { sink, window, before: BTreeMap::new(), met: false }
    }

    /// The sink, after all events, and whether there were any in the window.
    pub(crate) fn finish(mut self) -> (T, bool) {
        self.begin();
        (self.sink, self.met)
    }

    /// Passes on the levels at the beginning of the window, once.
    fn begin(&mut self) {
        for (track, value) in std::mem::take(&mut self.before) {
            self.sink.level(track, self.window.from, value);
        }
    }
}

impl<T: TraceSink> TraceSink for Windowed<T> {
    fn is_kept(&self) -> bool {
        self.sink.is_kept()
    }

    fn track(&mut self, name: &str) -> Track {
        self.sink.track(name)
    }

    fn span(&mut self, track: Track, name: &str, begin: Time, end: Time, arguments: Arguments<'_>) {
        if self.window.meets(begin, end) {
            self.met = true;
            self.sink.span(track, name, begin, end, arguments);
        }
    }

    fn instant(&mut self, track: Track, name: &str, at: Time, arguments: Arguments<'_>) {
        if self.window.holds(at) {
            self.met = true;
            self.sink.instant(track, name, at, arguments);
        }
    }

    fn level(&mut self, track: Track, at: Time, value: i64) {
        if at < self.window.from {
            self.before.insert(track, value);
            return;
        }
        self.begin();
        if at < self.window.to {
            self.met = true;
            self.sink.level(track, at, value);
        }
    }

    fn flow(&mut self, track: Track, at: Time, id: u64, flow: TraceFlow) {
        if self.window.holds(at) {
            self.sink.flow(track, at, id, flow);
        }
    }

    fn means(&mut self, argument: &'static str, value: u64, name: &str) {
        self.sink.means(argument, value, name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records the events.
    #[derive(Default)]
    struct Said(Vec<String>);

    impl TraceSink for Said {
        fn track(&mut self, name: &str) -> Track {
            Track::new(name.len() as u32)
        }

        fn span(&mut self, _: Track, name: &str, begin: Time, end: Time, _: Arguments<'_>) {
            self.0.push(format!("{name} {}-{}", begin.as_ps(), end.as_ps()));
        }

        fn instant(&mut self, _: Track, name: &str, at: Time, _: Arguments<'_>) {
            self.0.push(format!("{name} {}", at.as_ps()));
        }

        fn level(&mut self, _: Track, at: Time, value: i64) {
            self.0.push(format!("{value} at {}", at.as_ps()));
        }

        fn flow(&mut self, _: Track, at: Time, id: u64, _: TraceFlow) {
            self.0.push(format!("flow {id} {}", at.as_ps()));
        }
    }

    #[test]
    fn only_what_is_within_is_passed_on() {
        let at = Time::from_ps;
        let mut trace = Windowed::new(Said::default(), Window { from: at(10), to: at(20) });
        let track = trace.track("cpu");
        for (name, begin, end) in [
            ("before", 2, 10),
            ("into", 2, 11),
            ("first", 10, 10),
            ("within", 12, 14),
            ("out", 19, 25),
            ("after", 20, 21),
        ] {
            trace.span(track, name, at(begin), at(end), &[]);
        }
        for time in [9, 10, 19, 20] {
            trace.instant(track, "mark", at(time), &[]);
            trace.flow(track, at(time), time, TraceFlow::Passes);
        }
        let (said, met) = trace.finish();
        let expected = [
            "into 2-11",
            "first 10-10",
            "within 12-14",
            "out 19-25",
            "mark 10",
            "flow 10 10",
            "mark 19",
            "flow 19 19",
        ];
        assert_eq!((said.0, met), (expected.map(String::from).to_vec(), true));
    }

    #[test]
    fn a_level_from_before_is_told_as_the_window_begins() {
        let at = Time::from_ps;
        let mut trace = Windowed::new(Said::default(), Window { from: at(10), to: at(20) });
        let track = trace.track("queue");
        for (time, value) in [(1, 3), (5, 4), (12, 5), (20, 6)] {
            trace.level(track, at(time), value);
        }
        assert_eq!(trace.finish().0.0, ["4 at 10", "5 at 12"]);
        let mut still = Windowed::new(Said::default(), Window { from: at(10), to: at(20) });
        let track = still.track("queue");
        still.level(track, at(5), 4);
        let (said, met) = still.finish();
        assert_eq!((&said.0[..], met), (&["4 at 10".to_owned()][..], false));
    }
}
