//! An adapter that changes its policy while packets arrive. Worked out by hand.

use laxity_qos::reception::{Continuous, PerCommand, Timed};

use super::importance::{COSTS, interrupts};
use super::*;

fn poll(quota: u32, every: u64) -> (Policy, Option<ClockTicks>) {
    (Policy::Timed(Timed { quota }), Some(ClockTicks::Hard(Span::from_us(every))))
}

impl Bench {
    fn told(&mut self, at: u64, (policy, ticks): (Policy, Option<ClockTicks>)) {
        self.run_to(us(at));
        self.receiver.change_policy(us(at), 0, policy, ticks);
        self.collect();
    }
}

#[test]
fn what_comes_in_poll_mode_waits_for_the_clock_and_then_interrupts_again() {
    let mut bench = Bench::new(COSTS, vec![interrupts()]);
    bench.arrive(us(0), 0, 1);
    bench.told(20, poll(4, 100));
    bench.arrive(us(30), 0, 2);
    bench.arrive(us(40), 0, 3);
    // The clock began at 20: 120, an interrupt, a switch and two packets to 130.
    bench.arrive(us(155), 0, 4);
    bench.told(160, (Policy::PerCommand(PerCommand::ROUTINE), None));
    bench.run_to(us(1000));
    assert_eq!(bench.delivered(), [(1, 13), (2, 140), (3, 150), (4, 173)]);
    assert_eq!((bench.receiver.report(0).interrupts, bench.receiver.report(0).ticks), (2, 1));
}

#[test]
fn a_routine_is_finished_under_the_policy_that_it_was_begun_under() {
    let mut bench = Bench::new(COSTS, vec![interrupts()]);
    bench.arrive(us(0), 0, 1);
    // The routine has until 3; a second command is not its any more.
    bench.arrive(us(1), 0, 2);
    bench.told(2, (Policy::Continuous(Continuous { quota: 8 }), None));
    bench.run_to(us(1000));
    // The program does 1 to 13; then the host, idle, polls: a switch and a packet to 20.
    assert_eq!(bench.delivered(), [(1, 13), (2, 30)]);
    assert!(bench.receiver.spins());
    assert_eq!(bench.receiver.report(0).interrupts, 1);
    bench.told(1000, poll(1, 50));
    assert!(!bench.receiver.spins(), "nobody asks without end any more");
}

#[test]
fn of_several_policies_that_it_is_told_before_it_may_the_last_holds() {
    let mut bench = Bench::new(COSTS, vec![interrupts()]);
    bench.arrive(us(0), 0, 1);
    bench.told(1, poll(1, 50));
    bench.told(2, poll(1, 500));
    bench.arrive(us(10), 0, 2);
    bench.run_to(us(1000));
    // From 3 on: 503, then 1, 5, 2 and 10.
    assert_eq!(bench.delivered(), [(1, 13), (2, 521)]);
}
