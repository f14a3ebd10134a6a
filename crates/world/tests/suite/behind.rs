//! A world that lags behind: responses to inputs are late, and never early.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use laxity_engine::trace::NoTrace;
use laxity_engine::{Calendar, Clock, Wait};
use laxity_units::{Bytes, Span, Time};
use proptest::prelude::*;

use laxity_scenario::Scenario;
use laxity_world::experiment::{Experiment, Task};
use laxity_world::{Assembly, Elsewhere, Input, Notice, Outside, limits};

/// The way from one host to the other, which is far longer than a message takes anywhere else.
const DELAY: Span = Span::from_ms(10);
/// The time of a message beside the delay, with all that may be before it: a world that lags reads
/// everything at once. One of these and one of `busy` in turn take 145 us of the sender's CPU and
/// less of the receiver's. The run has at most 59 of these, and fewer of the others, one each two
/// milliseconds. The sum is therefore less than 9 ms. (At a tenth of that speed, twenty messages and
/// three that were read 3.6 ms later took longer than this.)
const QUEUED: Span = Span::from_ms(20);

fn experiment() -> Experiment {
    let text = r#"
        title = "a test"
        [host]
        profile = "mc68040"
        speedup = 10.0
        [adapter]
        kind = "null"
        startup = "1 us"
        per_byte = "1 ns"
        [admission]
        formula = "off"
        [path]
        receive = true
        propagation = "10 ms"
        [run]
        time = "100 ms"
        [[channel]]
        name = "busy"
        class = "best_effort"
        max_message = "1000 B"
        burst = 4
        source = { kind = "poisson", rate = "500 KiB/s" }
        [[channel]]
        name = "outside"
        class = "best_effort"
        max_message = "1000 B"
        burst = 64
        source = { kind = "none" }
        "#;
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
    scenario.first()
}

/// The real time, and the inputs that have not been read.
#[derive(Clone, Default)]
struct Hand {
    now: Rc<Cell<Time>>,
    waiting: Rc<RefCell<VecDeque<Time>>>,
}

impl Hand {
    fn pass(&self, span: Span) {
        self.now.set(self.now.get() + span);
    }

    fn has_come(&self) -> bool {
        self.waiting.borrow().front().is_some_and(|at| *at <= self.now.get())
    }
}

/// A clock that each step of the world takes some time of, as the script says.
struct Slow {
    hand: Hand,
    steps: VecDeque<Span>,
    answered: Time,
    late_wake: bool,
}

impl Clock for Slow {
    fn wait_until(&mut self, t: Time) -> Wait {
        self.hand.pass(self.steps.pop_front().unwrap_or(Span::ZERO));
        let owed = std::mem::take(&mut self.late_wake) && self.hand.now.get() >= t;
        let next = self.hand.waiting.borrow().front().copied();
        if let Some(next) = next.filter(|next| *next < t && !owed) {
            self.hand.now.set(self.hand.now.get().max(next));
        }
        if !owed && self.hand.has_come() {
            self.late_wake = self.hand.now.get() >= t;
            self.answered = self.hand.now.get().min(t).max(self.answered);
            return Wait::Woken { at: self.answered };
        }
        self.hand.now.set(self.hand.now.get().max(t));
        self.answered = t;
        Wait::Reached { late: self.hand.now.get().since(t) }
    }
}

/// Reads the inputs and keeps their times; and how long each message took in real time and in the
/// world's.
struct Reader {
    hand: Hand,
    read: Vec<Time>,
    taken: Vec<u32>,
    took: Vec<(Span, Span)>,
}

impl Outside for Reader {
    fn next_input(&mut self, _now: Time) -> Option<Input> {
        if !self.hand.has_come() {
            return None;
        }
        self.hand.waiting.borrow_mut().pop_front();
        self.hand.pass(Span::from_ns(700));
        self.read.push(self.hand.now.get());
        Some(Input::Message { channel: 1, size: Bytes::new(500), handle: self.read.len() as u32 - 1 })
    }

    fn read_at(&self, _now: Time) -> Time {
        *self.read.last().expect("something was read")
    }

    fn notice(&mut self, now: Time, notice: Notice<'_>) {
        match notice {
            Notice::Taken { handle, .. } => self.taken.push(handle),
            Notice::Delivered { channel: 1, message } => {
                let read = self.read[self.taken[message as usize] as usize];
                self.took.push((self.hand.now.get().saturating_since(read), now.saturating_since(read)));
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_message_arrives_before_the_delay_it_was_to_have_after_it_was_read(
        steps in proptest::collection::vec(prop_oneof![20 => 0..2_000_u64, 1 => 0..15_000_000_u64], 1..2000),
        sent in proptest::collection::vec(0..80_000_000_u64, 1..60),
    ) {
        let experiment = experiment();
        let Task::Simulate(length) = experiment.task else { unreachable!("a test is simulated") };
        let mut sent: Vec<Time> = sent.into_iter().map(Time::from_ns).collect();
        sent.sort_unstable();
        let hand = Hand::default();
        hand.waiting.borrow_mut().extend(sent);
        let outside = Reader { hand: hand.clone(), read: Vec::new(), taken: Vec::new(), took: Vec::new() };
        let mut nothing = NoTrace;
        let elsewhere = Elsewhere { hosts: &[], channels: &[1] };
        let mut assembly = Assembly::with_outside(&experiment, length, &mut nothing, outside, elsewhere);
        let mut calendar = Calendar::new();
        assembly.start(&mut calendar);
        let steps = steps.into_iter().map(Span::from_ns).collect();
        let mut clock = Slow { hand, steps, answered: Time::ZERO, late_wake: false };
        let outcome = laxity_engine::run(&mut assembly, &mut calendar, &mut clock, limits(length));
        prop_assert_eq!(outcome.now, limits(length).until);
        let (_, reader) = assembly.into_run(outcome.now, &[]);
        for (real, world) in &reader.took {
            prop_assert!(*real >= DELAY, "a message took {real} where the way alone takes {DELAY}");
            prop_assert!(real >= world, "it took {real}, less than in the world, {world}");
        }
        let happened = reader.read.iter().filter(|read| **read < outcome.now).count();
        prop_assert!(reader.taken.len() >= happened, "there is room for all of them");
        // Messages that were read early enough have arrived.
        let in_time = |read: &&Time| read.saturating_add(DELAY + QUEUED) < outcome.now;
        prop_assert!(reader.took.len() >= reader.read.iter().filter(in_time).count());
    }
}
