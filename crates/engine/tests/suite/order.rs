//! The calendar against the simplest equivalent: a sorted map.

use std::collections::BTreeMap;

use laxity_engine::Calendar;
use laxity_units::{Span, Time};
use proptest::collection::vec;
use proptest::prelude::*;

/// Operations on a calendar. Spans are short so that times coincide often.
#[derive(Debug, Clone)]
enum Step {
    Schedule(u64),
    Pop,
    /// Pops, and schedules that many as a handler would.
    Handle(Vec<u64>),
    Advance(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u64..20).prop_map(Step::Schedule),
        2 => Just(Step::Pop),
        4 => vec(0u64..20, 0..4).prop_map(Step::Handle),
        1 => (0u64..5).prop_map(Step::Advance),
    ]
}

/// Model: pending events by time and number, the number being both sequence and event.
#[derive(Default)]
struct Sorted {
    now: u64,
    scheduled: u64,
    to_come: BTreeMap<(u64, u64), u64>,
}

impl Sorted {
    fn schedule_after(&mut self, span: u64) -> u64 {
        self.to_come.insert((self.now + span, self.scheduled), self.scheduled);
        self.scheduled += 1;
        self.scheduled - 1
    }

    fn pop(&mut self) -> Option<(Time, u64)> {
        let ((time, _), event) = self.to_come.pop_first()?;
        self.now = time;
        Some((Time::from_ps(time), event))
    }

    fn next(&self) -> Option<u64> {
        self.to_come.first_key_value().map(|((time, _), _)| *time)
    }
}

proptest! {
    #[test]
    fn a_calendar_is_a_sorted_map(steps in vec(step(), 0..400)) {
        let (mut calendar, mut sorted) = (Calendar::new(), Sorted::default());
        let schedule = |calendar: &mut Calendar<u64>, sorted: &mut Sorted, span| {
            let event = sorted.schedule_after(span);
            calendar.schedule_after(Span::from_ps(span), event);
        };
        for step in steps {
            match step {
                Step::Schedule(span) => schedule(&mut calendar, &mut sorted, span),
                Step::Pop => prop_assert_eq!(calendar.pop(), sorted.pop()),
                Step::Handle(spans) => {
                    prop_assert_eq!(calendar.pop(), sorted.pop());
                    for span in spans {
                        schedule(&mut calendar, &mut sorted, span);
                    }
                }
                Step::Advance(span) => {
                    sorted.now = (sorted.now + span).min(sorted.next().unwrap_or(u64::MAX));
                    calendar.advance(Time::from_ps(sorted.now));
                }
            }
            prop_assert_eq!(calendar.next_time(), sorted.next().map(Time::from_ps));
            prop_assert_eq!(calendar.now(), Time::from_ps(sorted.now));
            prop_assert_eq!(calendar.len(), sorted.to_come.len());
            prop_assert_eq!(calendar.is_empty(), sorted.to_come.is_empty());
        }
        while let Some(popped) = calendar.pop() {
            prop_assert_eq!(Some(popped), sorted.pop());
        }
        prop_assert_eq!(sorted.pop(), None);
    }

    #[test]
    fn all_at_one_time_run_as_scheduled(count in 0u32..200) {
        let mut calendar = Calendar::with_capacity(3);
        for event in 0..count {
            calendar.schedule(Time::from_ns(1), event);
        }
        let order: Vec<u32> = std::iter::from_fn(|| calendar.pop()).map(|(_, event)| event).collect();
        prop_assert_eq!(order, (0..count).collect::<Vec<u32>>());
    }
}

/// Operations on a crowded calendar: events by the thousand, near, far and at one instant.
#[derive(Debug, Clone)]
enum Wave {
    /// Schedules `count` events, each up to 2^`bits` picoseconds away, drawn from the seed.
    Schedule { count: u64, bits: u32, seed: u64 },
    /// Pops `count` events; with `more`, schedules another for each.
    Handle { count: u64, bits: u32, more: bool },
}

fn wave() -> impl Strategy<Value = Wave> {
    let bits = prop_oneof![Just(0), 1..8u32, 8..48u32];
    prop_oneof![
        (0..5000u64, bits.clone(), any::<u64>()).prop_map(|(count, bits, seed)| Wave::Schedule {
            count,
            bits,
            seed
        }),
        (0..8000u64, bits, any::<bool>()).prop_map(|(count, bits, more)| Wave::Handle { count, bits, more }),
    ]
}

/// Pseudo-random number of up to `bits` bits.
fn scattered(seed: u64, bits: u32) -> u64 {
    let mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed ^ mixed >> 29).wrapping_mul(0x94D0_49BB_1331_11EB) >> 1 & ((1 << bits) - 1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_crowded_calendar_is_a_sorted_map(waves in vec(wave(), 0..10)) {
        let (mut calendar, mut sorted) = (Calendar::new(), Sorted::default());
        let schedule = |calendar: &mut Calendar<u64>, sorted: &mut Sorted, span| {
            let event = sorted.schedule_after(span);
            calendar.schedule_after(Span::from_ps(span), event);
        };
        for wave in waves {
            match wave {
                Wave::Schedule { count, bits, seed } => {
                    for number in 0..count {
                        schedule(&mut calendar, &mut sorted, scattered(seed ^ number, bits));
                    }
                }
                Wave::Handle { count, bits, more } => {
                    for number in 0..count {
                        if number % 50 == 0 {
                            prop_assert_eq!(calendar.next_time(), sorted.next().map(Time::from_ps));
                            calendar.advance(Time::from_ps(sorted.next().unwrap_or(sorted.now)));
                        }
                        prop_assert_eq!(calendar.pop(), sorted.pop());
                        if more {
                            schedule(&mut calendar, &mut sorted, scattered(number, bits));
                        }
                    }
                }
            }
            prop_assert_eq!(calendar.next_time(), sorted.next().map(Time::from_ps));
            prop_assert_eq!(calendar.len(), sorted.to_come.len());
        }
        while let Some(popped) = calendar.pop() {
            prop_assert_eq!(Some(popped), sorted.pop());
        }
        prop_assert_eq!(sorted.pop(), None);
    }
}
