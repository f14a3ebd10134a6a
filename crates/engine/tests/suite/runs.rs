//! One loop with any clock gives the same run.

use laxity_engine::trace::{NoTrace, TraceHasher, TraceSink, Track};
use laxity_engine::{
    Calendar, Clock, EngineOutcome, Limits, ScriptedClock, Seed, SimulationClock, Stop, Stream, World, run,
};
use laxity_units::{Span, Time};
use proptest::prelude::*;

/// Queue with a random source and a random server, and optional outside arrivals.
struct Queue<T> {
    arrivals: Stream,
    services: Stream,
    waiting: u64,
    served: u64,
    enough: u64,
    outside: Vec<Time>,
    polled: Vec<Time>,
    trace: T,
    track: Track,
}

#[derive(Clone, Copy)]
enum Event {
    Arrive,
    Served { since: Time },
}

impl<T: TraceSink> Queue<T> {
    fn new(seed: u64, mut trace: T) -> (Self, Calendar<Event>) {
        let seed = Seed::new(seed);
        let track = trace.track("server");
        let (arrivals, services) = (seed.stream("source"), seed.stream("server"));
        let mut calendar = Calendar::new();
        calendar.schedule(Time::ZERO, Event::Arrive);
        let outside = Vec::new();
        let (waiting, served, enough, polled) = (0, 0, u64::MAX, Vec::new());
        (Self { arrivals, services, waiting, served, enough, outside, polled, trace, track }, calendar)
    }

    fn enqueue(&mut self, now: Time, calendar: &mut Calendar<Event>) {
        self.waiting += 1;
        self.trace.level(self.track, now, self.waiting as i64);
        if self.waiting == 1 {
            self.serve(now, calendar);
        }
    }

    fn serve(&mut self, now: Time, calendar: &mut Calendar<Event>) {
        let span = self.services.exponential(Span::from_us(8));
        calendar.schedule(now + span, Event::Served { since: now });
    }
}

impl<T: TraceSink> World for Queue<T> {
    type Event = Event;

    fn handle(&mut self, now: Time, event: Event, calendar: &mut Calendar<Event>) {
        match event {
            Event::Arrive => {
                calendar.schedule_after(self.arrivals.exponential(Span::from_us(10)), Event::Arrive);
                self.enqueue(now, calendar);
            }
            Event::Served { since } => {
                self.trace.span(self.track, "service", since, now, &[("waiting", self.waiting)]);
                self.waiting -= 1;
                self.served += 1;
                if self.waiting > 0 {
                    self.serve(now, calendar);
                }
            }
        }
    }

    fn poll_inputs(&mut self, now: Time, calendar: &mut Calendar<Event>) {
        self.polled.push(now);
        while self.outside.first().is_some_and(|at| *at <= now) {
            self.outside.remove(0);
            self.enqueue(now, calendar);
        }
    }

    fn is_finished(&self) -> bool {
        self.served >= self.enough
    }
}

const END: Time = Time::from_ns(2_000_000);

/// Hash of a run of `seed` under `clock`, and its outcome.
fn traced(seed: u64, clock: &mut impl Clock, outside: &[Time]) -> (u64, EngineOutcome) {
    let (mut world, mut calendar) = Queue::new(seed, TraceHasher::new());
    world.outside = outside.to_vec();
    let outcome = run(&mut world, &mut calendar, clock, Limits::NONE.until(END));
    assert!(world.trace.records() > 100);
    (world.trace.hash(), outcome)
}

#[test]
fn the_same_seed_is_the_same_run() {
    let (hash, outcome) = traced(1, &mut SimulationClock, &[]);
    assert_eq!((hash, outcome.clone()), traced(1, &mut SimulationClock, &[]));
    assert_ne!(hash, traced(2, &mut SimulationClock, &[]).0);
    assert_eq!((outcome.stop, outcome.now), (Stop::Until, END));
    assert_eq!((outcome.lateness.count(), outcome.lateness.max()), (outcome.events, Span::ZERO));
    assert_eq!(hash, 2_666_704_998_940_448_870, "the same on every machine");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_late_and_restless_clock_gives_the_same_run(
        late in proptest::collection::vec(0u64..1_000_000, 0..300),
        mut wakes in proptest::collection::vec(0u64..3_000_000, 0..50),
    ) {
        wakes.sort_unstable();
        let late = late.into_iter().map(Span::from_ps);
        let wakes: Vec<Time> = wakes.into_iter().map(Time::from_ns).collect();
        let mut clock = ScriptedClock::new(late.clone(), wakes.iter().copied());
        let (hash, outcome) = traced(1, &mut clock, &[]);
        let (punctual_hash, punctual) = traced(1, &mut SimulationClock, &[]);
        prop_assert_eq!(hash, punctual_hash);
        prop_assert_eq!(outcome.events, punctual.events);
        prop_assert_eq!(outcome.wakes, wakes.iter().filter(|at| **at <= END).count() as u64);
        let greatest = late.take(outcome.events as usize).max().unwrap_or_default();
        prop_assert_eq!(outcome.lateness.max(), greatest);
        prop_assert_eq!(outcome.lateness.count(), outcome.events);
    }
}

#[test]
fn an_input_arrives_at_the_time_of_the_wake() {
    let arrivals = [Time::from_ns(5_001), Time::from_ns(7_500), Time::from_ns(7_500)];
    let script = || ScriptedClock::new([], arrivals);
    let (hash, outcome) = traced(1, &mut script(), &arrivals);
    assert_eq!(outcome.wakes, 3);
    assert_eq!((hash, outcome), traced(1, &mut script(), &arrivals));
    assert_ne!(hash, traced(1, &mut script(), &[]).0);
}

#[test]
fn an_idle_world_waits_for_its_outside_until_the_limit() {
    let (mut world, _) = Queue::new(1, NoTrace);
    world.outside = vec![Time::from_ns(10), Time::from_ns(90_000)];
    let mut clock = ScriptedClock::new([], [10, 90_000, 200_000].map(Time::from_ns));
    let until = Time::from_ns(100_000);
    let outcome = run(&mut world, &mut Calendar::new(), &mut clock, Limits::NONE.until(until));
    assert_eq!((outcome.stop, outcome.now, outcome.wakes), (Stop::Until, until, 2));
    assert_eq!((world.served, world.polled.len()), (2, 2));
}

#[test]
fn a_run_in_pieces_is_the_same_run() {
    let (whole, _) = traced(1, &mut SimulationClock, &[]);
    let (mut world, mut calendar) = Queue::new(1, TraceHasher::new());
    let mut until = Time::ZERO;
    while until < END {
        until += Span::from_us(50);
        loop {
            let limits = Limits::NONE.until(until).events(3);
            match run(&mut world, &mut calendar, &mut SimulationClock, limits).stop {
                Stop::Events => {}
                stop => break assert_eq!(stop, Stop::Until),
            }
        }
    }
    assert_eq!(world.trace.hash(), whole);
}

#[test]
fn every_limit_stops_where_it_says() {
    let stopped = |limits, enough| {
        let (mut world, mut calendar) = Queue::new(1, NoTrace);
        world.enough = enough;
        let outcome = run(&mut world, &mut calendar, &mut SimulationClock, limits);
        (outcome.stop, outcome.events, world.served)
    };
    assert_eq!(stopped(Limits::NONE.events(7), u64::MAX).0, Stop::Events);
    assert_eq!(stopped(Limits::NONE.events(7), u64::MAX).1, 7);
    assert_eq!(stopped(Limits::NONE.events(0), u64::MAX).1, 0);
    assert_eq!(stopped(Limits::NONE.until(Time::ZERO), u64::MAX), (Stop::Until, 1, 0));
    assert_eq!(stopped(Limits::NONE, 5), (Stop::Finished, stopped(Limits::NONE, 5).1, 5));
    assert_eq!(stopped(Limits::NONE, 0), (Stop::Finished, 0, 0));
}

#[test]
fn nothing_to_come_and_no_limit_is_the_end() {
    let (mut world, _) = Queue::new(1, NoTrace);
    let mut calendar = Calendar::new();
    calendar.schedule(Time::from_ns(3), Event::Served { since: Time::ZERO });
    world.waiting = 1;
    let outcome = run(&mut world, &mut calendar, &mut SimulationClock, Limits::NONE);
    assert_eq!((outcome.stop, outcome.now, outcome.events), (Stop::Drained, Time::from_ns(3), 1));
    let limit = Limits::NONE.until(Time::from_ns(1));
    let again = run(&mut world, &mut calendar, &mut SimulationClock, limit);
    assert_eq!((again.stop, again.now), (Stop::Until, Time::from_ns(3)), "a limit in the past leaves now");
}

/// Handled events in order, and the prefetch hints with the number of events handled before each.
#[derive(Default)]
struct Told {
    handled: Vec<u64>,
    ahead: std::cell::RefCell<Vec<(usize, Vec<u64>)>>,
}

impl World for Told {
    type Event = u64;

    fn handle(&mut self, _: Time, event: u64, _: &mut Calendar<u64>) {
        self.handled.push(event);
    }

    fn ahead<'e>(&self, events: impl Iterator<Item = &'e u64> + Clone) {
        self.ahead.borrow_mut().push((self.handled.len(), events.copied().collect()));
    }
}

/// With many pending events, each is hinted once, before it is handled, and the events of a hint
/// are handled before the next hint; with few there are no hints.
#[test]
fn what_comes_near_is_said_ahead() {
    for (count, told) in [(300, 0), (5000, 5000)] {
        let (mut world, mut calendar) = (Told::default(), Calendar::new());
        let mut random = Seed::new(1).stream("times");
        for event in 0..count {
            calendar.schedule(Time::from_ns(random.below(1 << 40)), event);
        }
        run(&mut world, &mut calendar, &mut SimulationClock, Limits::NONE);
        let mut so_far = 0;
        for (handled, mut events) in world.ahead.into_inner() {
            assert_eq!(handled, so_far);
            so_far += events.len();
            events.sort_unstable();
            let mut then = world.handled[handled..so_far].to_vec();
            then.sort_unstable();
            assert_eq!(events, then);
        }
        assert_eq!(so_far, told);
    }
}

/// Components that request calls repeatedly, and a record of their calls; with `goes_on` they leap
/// where permitted.
struct Walkers {
    goes_on: bool,
    steps: Vec<Stream>,
    /// Longest step of each.
    longest: Vec<u64>,
    walked: Vec<(Time, usize)>,
    leaps: usize,
}

impl Walkers {
    fn new(count: usize, goes_on: bool) -> (Self, Calendar<usize>) {
        let steps = (0..count).map(|who| Seed::new(7).stream(&format!("walker {who}"))).collect();
        // Short steps, so that calls coincide often; of a hundred components only two, so that
        // these leap among others. Of five thousand, all steps are long.
        let is_short = |who| count < 10 || count < 1000 && who < 2;
        let longest = (0..count).map(|who| if is_short(who) { 5 } else { 1 << 30 }).collect();
        let mut calendar = Calendar::new();
        (0..count).for_each(|who| calendar.schedule(Time::ZERO, who));
        (Self { goes_on, steps, longest, walked: Vec::new(), leaps: 0 }, calendar)
    }
}

impl World for Walkers {
    type Event = usize;

    fn handle(&mut self, mut now: Time, who: usize, calendar: &mut Calendar<usize>) {
        loop {
            assert_eq!(now, calendar.now());
            self.walked.push((now, who));
            let next = now + Span::from_ps(self.steps[who].below(self.longest[who]));
            if !self.goes_on || !calendar.leap(next) {
                return calendar.schedule(next, who);
            }
            now = next;
            self.leaps += 1;
        }
    }
}

#[test]
fn who_goes_on_by_itself_is_the_same_run() {
    const EVENTS: usize = 40_000;
    let mut clocks = (SimulationClock, ScriptedClock::default());
    for count in [1, 2, 3, 5, 7, 100, 5000] {
        let (mut asks, mut calendar) = Walkers::new(count, false);
        let asked = run(&mut asks, &mut calendar, &mut clocks.0, Limits::NONE.events(EVENTS as u64));
        let (mut goes, mut calendar) = Walkers::new(count, true);
        let whole = run(&mut goes, &mut calendar, &mut clocks.0, Limits::NONE.events(EVENTS as u64));
        assert!(asks.walked == goes.walked && asked == whole, "{count}: {asked:?} and {whole:?}");
        assert!(goes.leaps > 0 && asks.leaps == 0, "{count}: {} leaps", goes.leaps);

        // In pieces of events and of time, and under a clock that has to be asked.
        let (mut goes, mut calendar) = Walkers::new(count, true);
        let mut pieces = Seed::new(1).stream("pieces");
        while goes.walked.len() < EVENTS {
            let left = (EVENTS - goes.walked.len()) as u64;
            let (events, until) =
                (pieces.below(50).min(left), calendar.now() + Span::from_ps(pieces.below(100)));
            let before = goes.walked.len();
            let outcome = match pieces.below(3) {
                0 => run(&mut goes, &mut calendar, &mut clocks.0, Limits::NONE.events(events)),
                1 => run(&mut goes, &mut calendar, &mut clocks.1, Limits::NONE.events(events)),
                _ => run(&mut goes, &mut calendar, &mut clocks.0, Limits::NONE.until(until).events(left)),
            };
            assert_eq!(outcome.events, (goes.walked.len() - before) as u64);
            assert_eq!(outcome.lateness.count(), outcome.events);
        }
        assert!(asks.walked == goes.walked, "{count}, in pieces");
    }
}

/// There is no leap outside a run, nor under a clock that waits.
#[test]
fn nobody_goes_on_who_is_waited_for() {
    let (mut goes, mut calendar) = Walkers::new(1, true);
    assert!(!calendar.leap(Time::from_ns(1)));
    run(&mut goes, &mut calendar, &mut ScriptedClock::default(), Limits::NONE.events(50));
    assert_eq!((goes.walked.len(), goes.leaps), (50, 0));
    run(&mut goes, &mut calendar, &mut SimulationClock, Limits::NONE.events(50));
    assert_eq!((goes.walked.len(), goes.leaps), (100, 49));
    let at = calendar.now();
    assert!(!calendar.leap(at + Span::from_ns(1)) && calendar.now() == at);
}
