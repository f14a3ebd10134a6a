//! Lateness of events under the engine's real clock, compared with a bare loop.
//!
//! No user-space code is earlier than a loop that reads the counter until a deadline, so the
//! baseline is such a loop over a row of deadlines. The engine runs with all parts: calendar,
//! driver, record of lateness, attribution, and a doorbell on a ring that another thread could
//! write. There is an event every 10 us; in both, it records the counter when it runs, so the
//! engine's work between reaching the time and calling the handler counts.
//!
//! The upper percentiles depend on the platform: compare them only within a run, together with the
//! lateness that the engine attributes to stalls.
//!
//! `cargo bench -p laxity-emulator --bench lateness`, or with `-- --quick` for fewer rounds.

#[cfg(target_os = "linux")]
#[path = "support/rounds.rs"]
mod rounds;

#[cfg(target_os = "linux")]
mod contest {
    use laxity_engine::{
        Attribution, Calendar, Dilation, Lateness, Limits, RealClock, TickEpoch, Ticks, World, run,
    };
    use laxity_machine::place::{ThreadPlacement, cores, keep_awake, spawn_on};
    use laxity_machine::ring::{Consumer, ring};
    use laxity_units::{Span, Time};

    use crate::rounds::{interleaved, median, rounds};

    const PERIOD: Span = Span::from_us(10);
    const EVENTS: u64 = 20_000;

    fn due(event: u64) -> Time {
        Time::ZERO + PERIOD.saturating_mul(event)
    }

    /// Records the times of its calls, and schedules itself again.
    struct Periodic {
        ticks: Ticks,
        seen: Vec<u64>,
        inputs: Consumer<u64>,
        taken: u64,
    }

    impl World for Periodic {
        type Event = u64;

        fn handle(&mut self, _now: Time, event: u64, calendar: &mut Calendar<u64>) {
            self.seen[event as usize] = self.ticks.read();
            calendar.schedule(due(event + 1), event + 1);
        }

        fn poll_inputs(&mut self, _now: Time, _calendar: &mut Calendar<u64>) {
            self.taken += self.inputs.pop_each(usize::MAX, |_| ()) as u64;
        }
    }

    fn epoch(ticks: Ticks) -> TickEpoch {
        TickEpoch::starting_in(Span::from_us(100), ticks, Dilation::NONE)
    }

    fn lateness(epoch: &TickEpoch, seen: &[u64]) -> Lateness {
        let mut lateness = Lateness::default();
        for (event, tick) in (0..).zip(seen) {
            let late = tick.checked_sub(epoch.tick_at(due(event))).expect("no event is early");
            lateness.record(epoch.ticks().span(late));
        }
        lateness
    }

    fn bare(ticks: Ticks) -> (Lateness, Attribution) {
        let mut seen = vec![1; EVENTS as usize];
        let epoch = epoch(ticks);
        let deadlines: Vec<u64> = (0..EVENTS).map(|event| epoch.tick_at(due(event))).collect();
        for (deadline, seen) in deadlines.into_iter().zip(&mut seen) {
            while ticks.read() < deadline {}
            *seen = ticks.read();
        }
        (lateness(&epoch, &seen), Attribution::default())
    }

    fn engine(ticks: Ticks) -> (Lateness, Attribution) {
        let (_producer, inputs) = ring(1024);
        let bell = inputs.watcher();
        let mut world = Periodic { ticks, seen: vec![1; EVENTS as usize], inputs, taken: 0 };
        let mut calendar = Calendar::new();
        calendar.schedule(Time::ZERO, 0);
        let epoch = epoch(ticks);
        let mut clock = RealClock::new(epoch, bell);
        let outcome = run(&mut world, &mut calendar, &mut clock, Limits::NONE.events(EVENTS));
        assert_eq!((outcome.events, clock.attribution().reached(), world.taken), (EVENTS, EVENTS, 0));
        (lateness(&epoch, &world.seen), clock.attribution().clone())
    }

    pub(crate) fn main() {
        let ticks = Ticks::calibrate();
        println!("{}: {:.0} Hz ± {:.0} ppb", ticks.source(), ticks.per_second(), ticks.error_ppb());
        let _awake = keep_awake().map_err(|refused| println!("{refused}"));
        let core = cores().last().copied().expect("a thread runs somewhere");
        let rounds = rounds();
        let contest = move || interleaved(rounds, &mut [&mut || bare(ticks), &mut || engine(ticks)]);
        let placed =
            spawn_on(ThreadPlacement::on(core), "lateness", contest).expect("there is a thread to be had");
        placed.refused.iter().for_each(|refused| println!("{refused}"));
        let results = placed.join().expect("both contestants keep time");
        println!(
            "{EVENTS} events, one every {PERIOD}, on processor {core}; medians of {rounds} interleaved rounds"
        );
        println!("{:<10} {:>12} {:>12} {:>8} {:>8}", "lateness", "bare ns", "engine ns", "ratio", "target");
        for (name, q, target) in
            [("median", 0.5, "2.00"), ("p99", 0.99, ""), ("p99.9", 0.999, "2.00"), ("max", 1.0, "")]
        {
            let of = |(lateness, _): &(Lateness, Attribution)| lateness.quantile(q).as_ps() as f64 / 1e3;
            let (bare, engine) = (median(&results[0], of), median(&results[1], of));
            println!("{name:<10} {bare:>12.1} {engine:>12.1} {:>8.2} {target:>8}", engine / bare);
        }
        let sum = |of: fn(&Attribution) -> u64| results[1].iter().map(|(_, of_run)| of(of_run)).sum::<u64>();
        println!(
            "the engine's {} events: {} late by 1 us or less, {} later by stalls, {} by backlog; {} gaps of 20 us or more",
            sum(Attribution::reached),
            sum(|of| of.on_time),
            sum(|of| of.stall.count),
            sum(|of| of.backlog.count),
            sum(|of| of.gap_count),
        );
    }
}

fn main() {
    #[cfg(target_os = "linux")]
    contest::main();
}
