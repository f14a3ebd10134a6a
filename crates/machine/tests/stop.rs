//! A run without limits under the real clock ends when the process is asked to stop.
//!
//! This test is a program of its own, because the signal is for the whole process.
#![cfg(target_os = "linux")]

use std::process::Command;

use laxity_engine::{Calendar, Dilation, Limits, RealClock, Stop, TickEpoch, Ticks, World, run};
use laxity_machine::signal::{StopFlag, StopOnSignal};
use laxity_units::{Span, Time};

/// World without events, except for a stop signal that it raises when it is first polled.
struct Idle {
    stop: StopFlag,
    ticks: u64,
}

impl World for Idle {
    type Event = ();

    fn handle(&mut self, _now: Time, (): (), _calendar: &mut Calendar<()>) {
        self.ticks += 1;
        let process = std::process::id().to_string();
        assert!(Command::new("kill").args(["-INT", &process]).status().unwrap().success());
    }

    fn is_finished(&self) -> bool {
        self.stop.is_set()
    }
}

#[test]
fn an_interrupted_run_finishes_in_order() {
    let caught = StopOnSignal::install().unwrap();
    let stop = caught.flag();
    let mut world = Idle { stop, ticks: 0 };
    let mut calendar = Calendar::new();
    calendar.schedule(Time::ZERO, ());
    let epoch = TickEpoch::starting_in(Span::ZERO, Ticks::calibrate(), Dilation::NONE);
    let mut clock = RealClock::new(epoch, move || stop.is_set());
    let outcome = run(&mut world, &mut calendar, &mut clock, Limits::NONE);
    assert_eq!((outcome.stop, outcome.events, world.ticks), (Stop::Finished, 1, 1));
}
