//! Clock of an emulation: spins until the real time of an event.
//!
//! A thread that sleeps until a deadline resumes tens of microseconds after it; a thread that polls
//! the counter, 10 ns after it. An emulated adapter whose stages last microseconds needs the
//! latter. Spinning also detects outside inputs without a system call, and stalls of the platform
//! ([`Attribution`]). The price is a processor.
//!
//! ```text
//! begin ─▶ read counter ─▶ doorbell rung? ──yes──▶ Woken { at: the time, but not after t }
//!              ▲                 │ no
//!              └── not yet ── time reached? ──yes──▶ Reached { late }
//! ```
//!
//! Every turn, and so every wait, however late, polls the doorbell first; this implements "inputs
//! do not starve". One exception: a wait for a time that has passed, after a wake for a time that
//! had passed, does not poll it. Otherwise a doorbell that keeps ringing would block such a time
//! for ever. When the clock is behind, one reading and one poll serve for a few events that were
//! due by then.
//!
//! The loop does not use the processor's spin-wait hint. The hint takes 28 ns, a reading of the
//! counter 10 ns, so the median wait would end 15 ns late instead of 5 ns; and a hypervisor may
//! take a long stream of hints for an idle guest.
//!
//! The clock does not stop a run. To stop one from outside, ring the doorbell and let the world
//! report that it is finished. This also works without limits, since a wait for [`Time::MAX`] ends
//! only by a wake.

use laxity_units::{Span, Time};

use super::attribution::{Attribution, During, Gap};
use super::ticks::{Counter, TickEpoch, Ticks};
use super::{Clock, Wait};

/// Reports whether an input has arrived since the world last took all of them.
///
/// Every turn of a spinning wait polls it, so it should cost no more than a load;
/// [`is_rung_before`](Self::is_rung_before) is for costlier ones. A world that takes all inputs
/// clears it; if it is still rung afterwards, that is a new wake.
pub trait InputDoorbell {
    /// Whether an input is pending.
    fn is_rung(&mut self) -> bool;

    /// [`is_rung`](Self::is_rung) for a doorbell that needs a system call: the counter of the run's
    /// epoch reads `now`, and `due` at the time waited for, or later. The doorbell can thus poll
    /// rarely, and not just before a deadline.
    ///
    /// It must not postpone its poll for ever, or inputs starve.
    #[inline(always)]
    fn is_rung_before(&mut self, now: u64, due: u64) -> bool {
        let _ = (now, due);
        self.is_rung()
    }
}

impl<F: FnMut() -> bool> InputDoorbell for F {
    #[inline(always)]
    fn is_rung(&mut self) -> bool {
        self()
    }
}

/// Clock that spins until the requested time or until its doorbell is rung.
#[derive(Debug)]
pub struct RealClock<D> {
    spin: Spin<Ticks, D>,
}

impl<D: InputDoorbell> RealClock<D> {
    /// Clock of the run that begins at `epoch`, woken by `doorbell`.
    ///
    /// An event counts as on time up to 1 us after its time, and 20 us without a reading of the
    /// counter count as a gap; [`allowing`](Self::allowing) and
    /// [`seeing_gaps_from`](Self::seeing_gaps_from) change these.
    pub fn new(epoch: TickEpoch, doorbell: D) -> Self {
        Self { spin: Spin::new(*epoch.ticks(), epoch, doorbell) }
    }

    /// Counts events late by at most `allowance` of run time as on time.
    #[must_use]
    pub fn allowing(mut self, allowance: Span) -> Self {
        self.spin.allowance = allowance;
        self
    }

    /// Counts `threshold` or more of real time between two readings as a gap.
    #[must_use]
    pub fn seeing_gaps_from(mut self, threshold: Span) -> Self {
        self.spin.threshold = self.spin.epoch.ticks().in_span(threshold);
        self
    }

    /// Time of the run.
    pub fn now(&self) -> Time {
        self.spin.epoch.now()
    }

    /// Causes of the lateness so far.
    pub fn attribution(&self) -> &Attribution {
        &self.spin.attribution
    }
}

impl<D: InputDoorbell> Clock for RealClock<D> {
    #[inline]
    fn wait_until(&mut self, t: Time) -> Wait {
        self.spin.wait_until(t)
    }
}

/// Further answers for late events after a reading of the counter and a poll of the doorbell.
///
/// A reading and a poll take as long as many an event, so a clock that is behind and does both for
/// each event stays behind. The reported lateness of these events is too small by the time of the
/// events before them, some tenths of a microsecond.
const UNSEEN: u8 = 3;
/// Only events shorter than the gap threshold divided by this are answered without a reading, or
/// together they would look like a gap.
const SHORT: u64 = 16;

/// The clock for any counter, so that a test can script stalls.
#[derive(Debug)]
struct Spin<C, D> {
    counter: C,
    epoch: TickEpoch,
    doorbell: D,
    /// Time of the last answer.
    answered: Time,
    /// Counter at the last answer; `None` before the first, since a run's preparations are no step
    /// of it.
    ended: Option<u64>,
    /// The last answer was a wake for a requested time that had passed.
    late_wake: bool,
    /// Time of the run at the last reading of the counter.
    seen: Time,
    /// Number of further answers from that reading.
    good_for: u8,
    /// Missing run time since the thread was last on time.
    missing: Span,
    /// In the time of the run.
    allowance: Span,
    /// In ticks.
    threshold: u64,
    attribution: Attribution,
}

impl<C: Counter, D: InputDoorbell> Spin<C, D> {
    fn new(counter: C, epoch: TickEpoch, doorbell: D) -> Self {
        Self {
            counter,
            epoch,
            doorbell,
            answered: Time::ZERO,
            ended: None,
            late_wake: false,
            seen: Time::ZERO,
            good_for: 0,
            missing: Span::ZERO,
            allowance: Span::from_us(1),
            threshold: epoch.ticks().in_span(Span::from_us(20)),
            attribution: Attribution::default(),
        }
    }

    #[inline]
    fn wait_until(&mut self, t: Time) -> Wait {
        // Times before the last reading are reached; the doorbell can wait for a few answers.
        if t <= self.seen && self.good_for > 0 {
            self.good_for -= 1;
            self.answered = t;
            return self.reached(self.seen.saturating_since(t), false);
        }
        self.look(t)
    }

    #[inline]
    fn look(&mut self, t: Time) -> Wait {
        let due = if t == Time::MAX { u64::MAX } else { self.epoch.tick_at(t) };
        let begun = self.counter.read();
        let step = self.ended.map_or(0, |ended| begun.saturating_sub(ended));
        if step >= self.threshold {
            self.note(step, begun, During::Step);
        }
        if begun < due {
            self.missing = Span::ZERO;
        }
        let owed = std::mem::take(&mut self.late_wake) && begun >= due;
        let mut now = begun;
        loop {
            if !owed && self.doorbell.is_rung_before(now, due) {
                if begun < due && due < now {
                    self.missing = self.missing.max(self.epoch.run_span(now - due));
                }
                self.late_wake = now >= due;
                self.ended = Some(now);
                // Taking inputs takes time, so the next wait reads the counter.
                self.good_for = 0;
                self.answered = self.epoch.time_at(now).min(t).max(self.answered);
                return Wait::Woken { at: self.answered };
            }
            if now >= due {
                break;
            }
            let read = self.counter.read();
            // A thread that migrates may read a slightly lower value on its new core.
            let gap = read.saturating_sub(now);
            if gap >= self.threshold {
                self.note(gap, read, During::Spin);
            }
            now = read.max(now);
        }
        self.ended = Some(now);
        self.answered = t;
        self.seen = self.epoch.time_at(now);
        self.good_for = if step < self.threshold / SHORT { UNSEEN } else { 0 };
        self.reached(self.seen.saturating_since(t), begun < due)
    }

    #[inline]
    fn reached(&mut self, late: Span, began_in_time: bool) -> Wait {
        if late <= self.allowance {
            self.attribution.on_time += 1;
        } else {
            self.attribute(late, began_in_time);
        }
        Wait::Reached { late }
    }

    #[cold]
    fn attribute(&mut self, late: Span, began_in_time: bool) {
        if began_in_time {
            // The missing time may be less than a gap, and still make the next events late.
            self.missing = self.missing.max(late);
        }
        if late <= self.missing.saturating_add(self.allowance) {
            self.attribution.add_stall(late);
        } else {
            self.attribution.add_backlog(late);
        }
    }

    #[cold]
    fn note(&mut self, ticks: u64, at: u64, during: During) {
        self.missing = self.missing.saturating_add(self.epoch.run_span(ticks));
        let (at, length) = (self.epoch.time_at(at), self.epoch.ticks().span(ticks));
        self.attribution.add_gap(Gap { at, length, during });
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::VecDeque;
    use std::rc::Rc;

    use proptest::prelude::*;

    use super::super::ticks::{Dilation, epoch};
    use super::*;

    /// Counter of nanoseconds that advances by the next of a script at every reading, then by 10.
    struct Scripted {
        now: Rc<Cell<u64>>,
        steps: VecDeque<u64>,
    }

    impl Counter for Scripted {
        fn read(&mut self) -> u64 {
            self.now.set(self.now.get() + self.steps.pop_front().unwrap_or(10));
            self.now.get()
        }
    }

    /// Clock over a scripted counter, and the counter's cell.
    fn clock<D: InputDoorbell>(steps: &[u64], doorbell: D) -> (Spin<Scripted, D>, Rc<Cell<u64>>) {
        let now = Rc::new(Cell::new(0));
        let counter = Scripted { now: now.clone(), steps: steps.iter().copied().collect() };
        (Spin::new(counter, epoch(1000.0, 0, Dilation::NONE), doorbell), now)
    }

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn late(wait: Wait) -> Span {
        match wait {
            Wait::Reached { late } => late,
            Wait::Woken { at } => panic!("woken at {at}"),
        }
    }

    #[test]
    fn a_stall_explains_all_events_until_it_is_made_up_for() {
        let (mut clock, now) = clock(&[10, 10, 500_000], || false);
        assert!(late(clock.wait_until(us(100))) > Span::from_us(399));
        for event in 2..=5 {
            now.set(now.get() + 1_000);
            assert!(late(clock.wait_until(us(event * 100))) > Span::ZERO);
        }
        assert!(late(clock.wait_until(us(600))) < Span::from_ns(20), "the thread has caught up");
        let attribution = &clock.attribution;
        assert_eq!((attribution.stall.count, attribution.backlog.count, attribution.on_time), (5, 0, 1));
        assert_eq!(
            attribution.gaps(),
            [Gap { at: us(500) + Span::from_ns(20), length: Span::from_us(500), during: During::Spin }]
        );
    }

    #[test]
    fn a_short_gap_explains_the_events_after_it_too() {
        let (mut clock, _) = clock(&[10, 15_000], || false);
        for event in [5, 10] {
            assert!(late(clock.wait_until(us(event))) > Span::from_us(1));
        }
        assert_eq!((clock.attribution.stall.count, clock.attribution.gap_count), (2, 0));
    }

    #[test]
    fn a_machine_that_is_too_slow_has_a_backlog_even_after_a_stall() {
        // Every step takes 15 us of a period of 10 us; the first is delayed by another 100 us.
        let (mut clock, now) = clock(&[], || false);
        for event in 1..=40 {
            clock.wait_until(us(event * 10));
            now.set(now.get() + if event == 1 { 115_000 } else { 15_000 });
        }
        let attribution = &clock.attribution;
        assert_eq!((attribution.gap_count, attribution.gaps()[0].during), (1, During::Step));
        // Lateness is 105 us at the second event, 110 us at the third, and so on; the stall
        // explains 115 us and the allowance 1 us.
        assert_eq!((attribution.on_time, attribution.stall.count, attribution.backlog.count), (1, 3, 36));
    }

    #[test]
    fn a_gap_that_a_wake_ends_is_still_a_stall() {
        let mut asked = 0;
        let (mut clock, _) = clock(&[10, 15_000], move || {
            asked += 1;
            asked == 2
        });
        assert_eq!(clock.wait_until(us(5)), Wait::Woken { at: us(5) });
        assert!(late(clock.wait_until(us(5))) > Span::from_us(1));
        assert_eq!((clock.attribution.stall.count, clock.attribution.backlog.count), (1, 0));
    }

    #[test]
    fn a_flood_of_inputs_and_events_that_are_late_take_turns() {
        let (mut clock, now) = clock(&[], || true);
        now.set(100_000);
        let turn = 1 + u64::from(UNSEEN);
        for event in 0..48 {
            if event % turn == 0 {
                assert_eq!(clock.wait_until(us(event)), Wait::Woken { at: us(event) });
            }
            assert!(late(clock.wait_until(us(event))) >= Span::from_us(50));
        }
        assert!(matches!(clock.wait_until(us(500)), Wait::Woken { .. }), "in time again, it asks at once");
        assert!(matches!(clock.wait_until(us(500)), Wait::Woken { .. }), "a wake in time owes nothing");
    }

    proptest! {
        #[test]
        fn answers_never_go_back_and_inputs_are_never_starved(
            steps in proptest::collection::vec(prop_oneof![8 => 1..100_u64, 1 => 1_000..50_000_u64], 0..400),
            rings in proptest::collection::vec(proptest::bool::weighted(0.1), 0..400),
            waits in proptest::collection::vec((0..20_000_u64, 0..30_000_u64), 1..60),
        ) {
            let asked = Rc::new(Cell::new((0_usize, false)));
            let (log, script) = (asked.clone(), rings.clone());
            let (mut clock, now) = clock(&steps, move || {
                let (asked, _) = log.get();
                let rung = script.get(asked).copied().unwrap_or(false);
                log.set((asked + 1, rung));
                rung
            });
            let (mut answered, mut due, mut reached, mut woken) = (Time::ZERO, Time::ZERO, 0, 0);
            let (mut late_wake, mut seen, mut unseen) = (false, Time::ZERO, 0);
            for (period, step) in waits {
                due = due.max(answered) + Span::from_ns(period);
                loop {
                    let before = asked.get().0;
                    let wait = clock.wait_until(due);
                    let time = Time::from_ns(now.get());
                    let was_asked = asked.get().0 > before;
                    let owed = late_wake && matches!(wait, Wait::Reached { .. });
                    let passed = !was_asked && !owed;
                    unseen = if passed { unseen + 1 } else { 0 };
                    prop_assert!(unseen <= UNSEEN, "the doorbell was not asked");
                    match wait {
                        Wait::Woken { at } => {
                            woken += 1;
                            prop_assert!(asked.get().1 && answered <= at);
                            prop_assert_eq!(at, time.min(due).max(answered));
                            answered = at;
                            prop_assert!(!late_wake || time < due, "time stands still");
                            late_wake = time >= due;
                            unseen = UNSEEN;
                        }
                        Wait::Reached { late } => {
                            reached += 1;
                            prop_assert!(!was_asked || !asked.get().1, "an input was passed over");
                            late_wake = false;
                            if !passed {
                                seen = time;
                            }
                            prop_assert!(due <= seen, "too early");
                            prop_assert_eq!(seen.since(due), late);
                            answered = due;
                            break;
                        }
                    }
                }
                now.set(now.get() + step);
            }
            let heard = rings.iter().take(asked.get().0).filter(|rung| **rung).count();
            prop_assert_eq!(woken, heard);
            let attribution = &clock.attribution;
            prop_assert_eq!(attribution.reached(), reached);
            prop_assert_eq!(attribution.gaps().len() as u64, attribution.gap_count.min(32));
            for late in [attribution.backlog, attribution.stall] {
                prop_assert!(late.count == 0 || late.longest > clock.allowance && late.total >= late.longest);
            }
        }
    }
}
