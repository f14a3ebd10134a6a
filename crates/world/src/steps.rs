//! A run taken step by step: opened, run until a time, observed, and closed.
//!
//! [`run`](crate::run) returns when the run is over, and is this module in one step. A program that
//! shows, explains or searches a run stops in between and observes it, and must get the same run. A
//! run in pieces is the same run, bit by bit, since all future events are in the calendar. This
//! holds for every world: hosts at networks, one that receives at interfaces, a cluster of virtual
//! interfaces, or nodes that establish channels.

use laxity_admission::Formula;
use laxity_engine::trace::{NoTrace, TraceSink};
use laxity_engine::{Calendar, Limits, SimulationClock, Stop};
use laxity_units::Time;

use crate::assembly::{Assembly, FrameSink, Live, Measured, limits, managed, receiving, via};
use crate::experiment::{Experiment, RunLength, System, Task};
use crate::results::Run;

/// The number of events without a packet's end after which a run is given up: some seconds of a
/// computer's time. Hosts that poll in vain have millions an hour.
const PATIENCE: u64 = 1 << 24;

/// Events of a run between two questions whether the caller still has time: some milliseconds.
const PIECE: u64 = 1 << 14;

/// A simulation that its caller takes forward.
pub struct Steps<'a>(Box<dyn AnyCourse + 'a>);

impl<'a> Steps<'a> {
    /// The run of `experiment` at its beginning; `None` if it is to be filled and not run.
    pub fn open(experiment: &'a Experiment) -> Option<Self> {
        match experiment.task {
            Task::Simulate(length) => Some(Self::of_length(experiment, length)),
            Task::Fill(_) => None,
        }
    }

    /// The same of another length than the experiment's own.
    pub fn of_length(experiment: &'a Experiment, length: RunLength) -> Self {
        // `NoTrace` has no size, so this leaks no memory.
        Self::observed(experiment, length, Box::leak(Box::new(NoTrace)), None)
    }

    /// The same, where `trace` records the work of CPUs and links, and `frames` the packets on
    /// them.
    pub fn observed<T: TraceSink>(
        experiment: &'a Experiment,
        length: RunLength,
        trace: &'a mut T,
        frames: Option<&'a mut FrameSink<'_>>,
    ) -> Self {
        let formula = experiment.admission.formula;
        let dynamic = |trace: &'a mut T| trace.is_kept().then_some(trace as &mut dyn TraceSink);
        Self(match &experiment.system {
            System::Hosts { .. } => {
                let world = Assembly::observed(experiment, length, trace, frames);
                Box::new(Course::new(world, length, formula))
            }
            System::Receiver(receiver) => {
                let world = receiving::of(experiment, receiver, length, dynamic(trace));
                Box::new(Course::new(world, length, formula))
            }
            System::Signalled(spec) => {
                let captured = frames.map(|frames| Box::new(frames) as managed::Captured<'_>);
                let world = managed::of(experiment, spec, length, dynamic(trace), captured);
                Box::new(Course::new(world, length, formula))
            }
            System::VirtualInterfaces(spec) => {
                let world = via::of(experiment, spec, length, dynamic(trace));
                Box::new(Course::new(world, length, formula))
            }
        })
    }

    /// Lets what is next happen; whether there was anything.
    pub fn step(&mut self) -> bool {
        self.0.go(Limits::NONE.events(1)) == 1
    }

    /// Handles all events up to and at `time`, or to the run's end if that is earlier; returns
    /// whether the run goes on.
    pub fn until(&mut self, time: Time) -> bool {
        self.0.go(Limits::NONE.until(time));
        !self.0.has_ended()
    }

    /// Runs to the end.
    pub fn finish(&mut self) {
        let ended = self.finish_within(u64::MAX);
        assert!(ended, "no run has so many events");
    }

    /// Runs to the end, or for that number of `events`; returns whether it ended.
    pub fn finish_within(&mut self, events: u64) -> bool {
        self.0.go(Limits::NONE.events(events));
        self.0.has_ended()
    }

    /// Runs to the end, for `events` events at most, while `go_on` says so; whether the run ended.
    pub fn finish_while(&mut self, events: u64, go_on: &dyn Fn() -> bool) -> bool {
        let mut left = events;
        while left > 0 && !self.0.has_ended() && go_on() {
            let piece = left.min(PIECE);
            self.0.go(Limits::NONE.events(piece));
            left -= piece;
        }
        self.0.has_ended()
    }

    /// The present time of the run.
    pub fn now(&self) -> Time {
        self.0.now()
    }

    /// How its channels and stages stand.
    pub fn live(&self) -> Live {
        self.0.live()
    }

    /// The results so far; a run that ended has the results of [`run`](crate::run).
    pub fn close(self) -> Run {
        self.0.close()
    }
}

/// A run of any kind of world.
trait AnyCourse {
    /// Goes on within `limits` and those of the run; how many events happened.
    fn go(&mut self, limits: Limits) -> u64;
    fn has_ended(&self) -> bool;
    fn now(&self) -> Time;
    fn live(&self) -> Live;
    fn close(self: Box<Self>) -> Run;
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The full length, or no event left.
    Whole,
    /// Given up: by packets, of which none left the system for that number of events; or by time,
    /// which stood still for as many.
    GivenUp,
    /// By packets, of which some were still missing at the end of the longest run.
    TooLong,
}

/// A run of `world`.
struct Course<W: Measured> {
    world: W,
    calendar: Calendar<W::Event>,
    length: RunLength,
    formula: Option<Formula>,
    patience: u64,
    /// How things stood, in packets and in time, when patience was last looked at, and events
    /// since: the same events however the run is taken forward.
    stood: (u64, Time),
    since: u64,
    /// How it ended, and when.
    end: Option<(End, Time)>,
}

impl<W: Measured> Course<W> {
    fn new(mut world: W, length: RunLength, formula: Option<Formula>) -> Self {
        let mut calendar = Calendar::new();
        world.start(&mut calendar);
        let stood = (world.through(), calendar.now());
        Self { world, calendar, length, formula, patience: PATIENCE, stood, since: 0, end: None }
    }

    /// Whether the events since the last call had no effect.
    ///
    /// Where all channels are refused, or no message finds a buffer, no packet leaves the system. A
    /// run with a length in packets would then have no end while there are events.
    fn stands(&mut self) -> bool {
        let stands = (self.world.through(), self.calendar.now());
        let before = std::mem::replace(&mut self.stood, stands);
        self.since = 0;
        match self.length {
            RunLength::Packets { .. } => stands.0 == before.0,
            RunLength::Time { .. } => stands.1 == before.1,
        }
    }
}

impl<W: Measured> AnyCourse for Course<W> {
    fn go(&mut self, asked: Limits) -> u64 {
        let last = limits(self.length).until;
        let by_packets = matches!(self.length, RunLength::Packets { .. });
        let mut left = asked.events;
        while self.end.is_none() && left > 0 {
            if self.since == self.patience && self.stands() {
                self.end = Some((End::GivenUp, self.calendar.now()));
                break;
            }
            let limits =
                Limits { until: asked.until.min(last), events: left.min(self.patience - self.since) };
            let Self { world, calendar, .. } = self;
            let outcome = laxity_engine::run(world, calendar, &mut SimulationClock, limits);
            left -= outcome.events;
            self.since += outcome.events;
            match outcome.stop {
                Stop::Events => {}
                // A run without an end of its own is over when no event is left, also for a later
                // `until`.
                Stop::Until if by_packets && calendar.next_time().is_none() => {
                    self.end = Some((End::Whole, outcome.idle_from));
                }
                Stop::Until if limits.until < last => break,
                Stop::Until if by_packets => self.end = Some((End::TooLong, last)),
                Stop::Until | Stop::Finished | Stop::Drained => {
                    self.end = Some((End::Whole, calendar.now()));
                }
            }
        }
        asked.events - left
    }

    fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    fn now(&self) -> Time {
        self.end.map_or(self.calendar.now(), |(_, at)| at)
    }

    fn live(&self) -> Live {
        self.world.live(self.now())
    }

    fn close(self: Box<Self>) -> Run {
        let now = self.now();
        let Self { world, formula, end, .. } = *self;
        told(end.map(|(end, _)| end), formula, world.into_run(now))
    }
}

/// `run` with what its `end` was among its figures, if it was given up; and with how many bounds it
/// exceeded that were proved, if it did any.
fn told(end: Option<End>, formula: Option<Formula>, mut run: Run) -> Run {
    match end {
        Some(End::GivenUp) => drop(run.figures.insert("given_up".into(), 1.0)),
        Some(End::TooLong) => drop(run.figures.insert("too_long".into(), 1.0)),
        Some(End::Whole) | None => {}
    }
    // Those of the papers are there to be looked at, and some are exceeded.
    if formula == Some(Formula::Corrected) {
        let exceeded = run.exceeded().count();
        if exceeded > 0 {
            run.figures.insert("exceeded".into(), exceeded as f64);
        }
    }
    run
}

#[cfg(test)]
mod tests {
    use laxity_engine::World;
    use laxity_units::Span;

    use super::*;
    use crate::results::Channel;

    /// Periodic events, of which every `n`-th ends a packet; the period and the count so far.
    struct Ticks {
        apart: Span,
        packet: u64,
        ticks: u64,
        through: u64,
    }

    impl World for Ticks {
        type Event = ();

        fn handle(&mut self, _: Time, (): (), calendar: &mut Calendar<()>) {
            self.ticks += 1;
            self.through += u64::from(self.ticks.is_multiple_of(self.packet));
            calendar.schedule_after(self.apart, ());
        }

        fn is_finished(&self) -> bool {
            self.through >= 10
        }
    }

    impl Measured for Ticks {
        fn start(&mut self, calendar: &mut Calendar<()>) {
            calendar.schedule(Time::ZERO, ());
        }

        fn through(&self) -> u64 {
            self.through
        }

        fn live(&self, now: Time) -> Live {
            Live { now, ..Live::default() }
        }

        fn into_run(self, _: Time) -> Run {
            Run::default()
        }
    }

    /// How it ends that has a packet every `packet` events, so far `apart`, with patience for a
    /// hundred and no more than `events`; and after how many. In pieces of any number of events,
    /// and of any time, it is the same.
    fn ends(length: RunLength, (apart, packet): (Span, u64), events: u64) -> (Option<End>, u64) {
        let course = || {
            let ticks = Ticks { apart, packet, ticks: 0, through: 0 };
            Course { patience: 100, ..Course::new(ticks, length, None) }
        };
        let mut whole = course();
        whole.go(Limits::NONE.events(events));
        for piece in [1, 7, 50, 99, 100, 101] {
            let (mut pieces, mut left) = (course(), events);
            while left > 0 && !pieces.has_ended() {
                left -= pieces.go(Limits::NONE.events(left.min(piece)));
            }
            assert_eq!((pieces.end, pieces.world.ticks), (whole.end, whole.world.ticks), "{piece}");
            let (mut pieces, mut left) = (course(), events);
            while left > 0 && !pieces.has_ended() {
                let until = pieces.now().saturating_add(Span::from_us(1500));
                left -= pieces.go(Limits { until, events: left });
            }
            assert_eq!((pieces.end, pieces.world.ticks), (whole.end, whole.world.ticks));
        }
        (whole.end.map(|(end, _)| end), whole.world.ticks)
    }

    /// A run by packets without further events is over then, and not at the time until which it was
    /// run: after 3 ms, and at once if there was never an event.
    #[test]
    fn nobody_waits_a_run_longer() {
        struct Left(u64);
        impl World for Left {
            type Event = ();

            fn handle(&mut self, _: Time, (): (), calendar: &mut Calendar<()>) {
                self.0 -= 1;
                self.schedule(calendar);
            }
        }
        impl Left {
            fn schedule(&self, calendar: &mut Calendar<()>) {
                if self.0 > 0 {
                    calendar.schedule_after(Span::from_ms(1), ());
                }
            }
        }
        impl Measured for Left {
            fn start(&mut self, calendar: &mut Calendar<()>) {
                self.schedule(calendar);
            }

            fn through(&self) -> u64 {
                0
            }

            fn live(&self, now: Time) -> Live {
                Live { now, ..Live::default() }
            }

            fn into_run(self, now: Time) -> Run {
                Run { simulated: now.as_secs_f64(), ..Run::default() }
            }
        }
        let length = RunLength::Packets { total: 1, warmup: 0, cooldown: 0 };
        for events in [0, 3] {
            for wait in [100, 1000, 1500, u64::MAX / 1_000_000] {
                let mut course = Box::new(Course::new(Left(events), length, None));
                while !course.has_ended() {
                    let until = course.now().saturating_add(Span::from_us(wait));
                    course.go(Limits::NONE.until(until));
                }
                assert_eq!(course.now(), Time::ZERO + Span::from_ms(events));
                assert_eq!(course.close().simulated, events as f64 / 1000.0, "in pieces of {wait} us");
            }
        }
    }

    /// An exceeded bound that was proved is reported; a bound of the papers is only shown. The last
    /// bit of a double exceeds no bound, and each end of a path counts.
    #[test]
    fn a_bound_that_is_exceeded_is_told_of() {
        let channel = |bound, worst, delivery| Channel {
            bound: Some(bound),
            worst: Some(worst),
            delivery_bound: Some(3.0),
            delivery_worst: Some(delivery),
            ..Channel::default()
        };
        for (formula, channels, exceeded) in [
            (Formula::Corrected, vec![channel(2.0, 2.0, 3.0)], None),
            (Formula::Corrected, vec![channel(2.0, 2.0 + 4e-16, 3.0)], None),
            (Formula::Corrected, vec![channel(2.0, 2.1, 3.0), channel(2.0, 1.0, 3.1)], Some(2.0)),
            (Formula::Papers, vec![channel(2.0, 2.1, 3.0)], None),
        ] {
            let run = told(Some(End::Whole), Some(formula), Run { channels, ..Run::default() });
            let figure = run.figures.get("exceeded").copied();
            assert_eq!((figure, run.exceeds_bounds()), (exceeded, exceeded.is_some()));
        }
    }

    #[test]
    fn a_run_is_given_up_of_which_nothing_comes() {
        const MS: Span = Span::from_ms(1);
        let (whole, given_up) = (Some(End::Whole), Some(End::GivenUp));
        let packets = RunLength::Packets { total: 10, warmup: 0, cooldown: 0 };
        assert_eq!(ends(packets, (MS, 100), u64::MAX), (whole, 1000));
        assert_eq!(ends(packets, (Span::ZERO, 7), u64::MAX), (whole, 70), "all at one instant");
        assert_eq!(ends(packets, (MS, 250), u64::MAX), (given_up, 100));
        assert_eq!(ends(packets, (MS, u64::MAX), u64::MAX), (given_up, 100));
        assert_eq!(ends(packets, (MS, u64::MAX), 70), (None, 70));
        assert_eq!(ends(packets, (MS, 70), 330), (None, 330));
        // By time a run does not wait for packets, but time has to advance.
        let time = RunLength::Time { total: Span::from_secs(1), warmup: Span::ZERO, cooldown: Span::ZERO };
        assert_eq!(ends(time, (MS, u64::MAX), u64::MAX), (whole, 1001));
        assert_eq!(ends(time, (Span::ZERO, u64::MAX), u64::MAX), (given_up, 100));
    }

    /// Of ten packets the last comes at 720 h, or an hour later. In pieces it is the same.
    #[test]
    fn a_run_by_packets_has_the_longest_time_at_most() {
        let packets = RunLength::Packets { total: 10, warmup: 0, cooldown: 0 };
        for (hours, end) in [(80, End::Whole), (81, End::TooLong)] {
            let apart = Span::from_secs(hours * 3600);
            for piece in [Time::MAX.saturating_since(Time::ZERO), Span::from_secs(100 * 3600)] {
                let mut course =
                    Box::new(Course::new(Ticks { apart, packet: 1, ticks: 0, through: 0 }, packets, None));
                while !course.has_ended() {
                    course.go(Limits::NONE.until(course.now().saturating_add(piece)));
                }
                assert_eq!(course.end, Some((end, Time::ZERO + Span::from_secs(720 * 3600))));
                assert_eq!(course.world.through, if hours == 80 { 10 } else { 9 });
                assert_eq!(course.close().is_given_up(), end == End::TooLong);
            }
        }
    }
}
