//! The real clock under the driver: order and accounting under any load.
#![cfg(not(target_family = "wasm"))]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use laxity_engine::{
    Calendar, Dilation, InputDoorbell, Limits, RealClock, Stop, TickEpoch, Ticks, World, run,
};
use laxity_units::{Span, Time};

/// Numbers sent from another thread: their count, and whether they are complete.
#[derive(Default)]
struct Mailbox {
    sent: AtomicU64,
    closed: AtomicBool,
    taken: AtomicU64,
    noticed: AtomicBool,
}

struct Bell<'a>(&'a Mailbox);

impl InputDoorbell for Bell<'_> {
    fn is_rung(&mut self) -> bool {
        let closed = self.0.closed.load(Ordering::Acquire) && !self.0.noticed.load(Ordering::Relaxed);
        closed || self.0.sent.load(Ordering::Acquire) != self.0.taken.load(Ordering::Relaxed)
    }
}

struct Receiver<'a> {
    mailbox: &'a Mailbox,
    period: Option<Span>,
    ticks: Vec<Time>,
    polls: Vec<Time>,
}

impl World for Receiver<'_> {
    type Event = ();

    fn handle(&mut self, now: Time, (): (), calendar: &mut Calendar<()>) {
        self.ticks.push(now);
        if let Some(period) = self.period {
            calendar.schedule_after(period, ());
        }
    }

    fn poll_inputs(&mut self, now: Time, _: &mut Calendar<()>) {
        self.polls.push(now);
        self.mailbox.noticed.store(self.mailbox.closed.load(Ordering::Acquire), Ordering::Relaxed);
        self.mailbox.taken.store(self.mailbox.sent.load(Ordering::Acquire), Ordering::Relaxed);
    }

    fn is_finished(&self) -> bool {
        self.mailbox.noticed.load(Ordering::Relaxed)
    }
}

fn epoch(dilation: Dilation) -> TickEpoch {
    TickEpoch::starting_in(Span::from_us(50), Ticks::calibrate(), dilation)
}

#[test]
fn events_happen_at_their_times_and_all_are_accounted_for() {
    for dilation in [Dilation::NONE, Dilation::new(3, 2).unwrap(), Dilation::new(1, 4).unwrap()] {
        let mailbox = Mailbox::default();
        let period = Span::from_us(10);
        let mut world = Receiver { mailbox: &mailbox, period: Some(period), ticks: vec![], polls: vec![] };
        let mut clock = RealClock::new(epoch(dilation), || false);
        let mut calendar = Calendar::new();
        calendar.schedule(Time::ZERO, ());
        let limit = Time::ZERO + Span::from_ms(5);
        let outcome = run(&mut world, &mut calendar, &mut clock, Limits::NONE.until(limit));
        assert_eq!((outcome.stop, outcome.events, outcome.wakes), (Stop::Until, 501, 0));
        let expected: Vec<Time> = (0..=500).map(|n| Time::ZERO + Span::from_us(10 * n)).collect();
        assert_eq!(world.ticks, expected);
        assert!(clock.now() >= limit, "the run ended early");
        assert_eq!(outcome.lateness.count(), 501);
        // The wait for the limit itself counts, too.
        assert_eq!(clock.attribution().reached(), 502);
    }
}

#[test]
fn inputs_of_another_thread_are_all_taken_and_end_a_run_without_limits() {
    for period in [None, Some(Span::from_us(1))] {
        let mailbox = Mailbox::default();
        let mut world = Receiver { mailbox: &mailbox, period, ticks: vec![], polls: vec![] };
        let mut calendar = Calendar::new();
        if period.is_some() {
            calendar.schedule(Time::ZERO, ());
        }
        let outcome = thread::scope(|scope| {
            scope.spawn(|| {
                for n in 1..=10_000 {
                    mailbox.sent.store(n, Ordering::Release);
                }
                mailbox.closed.store(true, Ordering::Release);
            });
            let mut clock = RealClock::new(epoch(Dilation::NONE), Bell(&mailbox));
            run(&mut world, &mut calendar, &mut clock, Limits::NONE)
        });
        assert_eq!(outcome.stop, Stop::Finished);
        assert_eq!(mailbox.taken.load(Ordering::Relaxed), 10_000);
        assert!(outcome.wakes >= 1 && world.polls.len() as u64 == outcome.wakes);
        assert!(world.polls.is_sorted() && world.ticks.is_sorted());
    }
}

#[test]
fn two_threads_mean_the_same_by_a_time() {
    let epoch = epoch(Dilation::NONE);
    let first = epoch.now();
    let second = thread::spawn(move || epoch.now()).join().unwrap();
    let third = epoch.now();
    assert!(first <= second && second <= third, "{first}, {second}, {third}");
}
