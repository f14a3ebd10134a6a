//! Cost of the engine compared with a hand-written loop for one problem.
//!
//! A general engine is useful only if its speed is no reason to bypass it. The baseline is
//! therefore not another engine but a loop without one: a `std::collections::BinaryHeap`, one event
//! enum, no components, no clock, no limits, state in local variables. The engine runs with all
//! parts: components with their own state and event enums, a world that dispatches to them, the
//! driver with its virtual clock, its limits and its record of lateness.
//!
//! Two workloads. A, a polling adapter: few pending events, most work in the handlers. B, the hold
//! model: every event schedules the next of its component, with 1000, 100 000 and a million
//! pending. Every run must match its workload's checksum. Then a curve: the cost of an event in the
//! hold model against the number of pending events, for both.
//!
//! * Time: both contestants count nanoseconds in their models; the engine's calendar has
//!   picoseconds, so its components convert at every event and pay for it.
//! * Random numbers and `exp` are the same functions in both. The logarithm is the standard
//!   library's, with which the checksums were made; `libm`'s, which the engine's own streams use,
//!   gives the same checksums and is slower.
//! * Only the run loop is timed, in processor time where available. Runs of the two are
//!   interleaved, so that other load affects both; `ratio` is of medians, `fastest` of the fastest
//!   runs.
//!
//! Workload A is sensitive to compilation. With two or three pending events, drawing service times
//! takes two fifths of the engine's time, and the rest is a dozen nanoseconds an event. The same
//! hand-written source took 0.11 s with one codegen unit and 0.19 s with sixteen, the engine 0.12 s
//! and 0.15 s.
//!
//! `cargo bench -p laxity-engine`, or with `-- --quick` for fewer repetitions of the same runs.

#[path = "calendar/by_hand.rs"]
mod by_hand;
#[path = "calendar/engine.rs"]
mod engine;
#[path = "support/timing.rs"]
mod timing;

use std::time::Duration;

use timing::{median, timed};

/// The benchmark's own generator, fixed by the checksums.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Exponentially distributed number of nanoseconds, at least one.
    fn exp(&mut self, mean: f64) -> u64 {
        let unit = (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
        ((-(1.0 - unit).ln() * mean + 0.5) as u64).max(1)
    }
}

const SEED: u64 = 42;

/// Parameters of the polling adapter, in nanoseconds.
mod polling {
    pub(crate) const UNTIL: u64 = 15_763_000_000;
    pub(crate) const PERIOD: u64 = 8_000;
    pub(crate) const SLOT: u64 = 20_000;
    pub(crate) const CPU: u64 = 1_590;
    pub(crate) const SERVICE: f64 = 5_600.0;
    pub(crate) const QUEUE: usize = 500;
}

/// Parameters of the hold model.
mod hold {
    pub(crate) const MEAN: f64 = 1e9;
    pub(crate) const FIRES: u64 = 10_000_000;
    pub(crate) const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
}

#[derive(Debug, PartialEq, Eq)]
struct Polled {
    events: u64,
    served: [u64; 2],
    drops: u64,
    latency: u64,
}

const POLLED: Polled =
    Polled { events: 5_000_656, served: [985_188, 985_186], drops: 0, latency: 39_781_287_941 };

/// Runs `by_hand` and `engine` alternately `repetitions` times and prints a row.
fn compare<R: PartialEq + std::fmt::Debug>(
    name: &str,
    target: f64,
    repetitions: usize,
    checksum: &R,
    by_hand: impl Fn() -> (R, Duration),
    engine: impl Fn() -> (R, Duration),
) {
    let mut seconds = [Vec::new(), Vec::new()];
    for repetition in 0..repetitions {
        let turns: [usize; 2] = if repetition % 2 == 0 { [0, 1] } else { [1, 0] };
        for turn in turns {
            let (result, took) = if turn == 0 { by_hand() } else { engine() };
            assert_eq!(&result, checksum, "{name}");
            seconds[turn].push(took.as_secs_f64());
        }
    }
    let fastest = seconds.each_ref().map(|seconds| seconds.iter().copied().fold(f64::INFINITY, f64::min));
    let [hand, engine] = seconds.map(|mut seconds| median(&mut seconds));
    let (ratio, best) = (hand / engine, fastest[0] / fastest[1]);
    println!("{name:<22} {hand:>10.4} {engine:>10.4} {ratio:>8.2} {best:>8.2} {target:>8.2}");
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let repetitions = if quick { 3 } else { 15 };
    println!("medians of {repetitions} interleaved runs, checksums met in every one");
    println!(
        "{:<22} {:>10} {:>10} {:>8} {:>8} {:>8}",
        "workload", "by hand s", "engine s", "ratio", "fastest", "target"
    );
    compare("A polling adapter", 1.3, repetitions, &POLLED, by_hand::polling, engine::polling);
    for (name, target, components, checksum) in [
        ("B hold, 1000", 1.3, 1_000, 0x8557_c62f_73f7_b4e1_u64),
        ("B hold, 100 000", 1.4, 100_000, 0xe5c9_3553_c281_3eab),
        ("B hold, 1 000 000", 2.0, 1_000_000, 0x8c1c_6f3c_c01a_9706),
    ] {
        compare(
            name,
            target,
            repetitions,
            &checksum,
            || by_hand::hold(components, hold::FIRES),
            || engine::hold(components, hold::FIRES),
        );
    }
    println!("\n{:<22} {:>10} {:>10}", "events to come", "by hand ns", "engine ns");
    for components in [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000] {
        let fires = hold::FIRES / 10;
        let ((by_hand, hand), (engine, own)) =
            (by_hand::hold(components, fires), engine::hold(components, fires));
        assert_eq!(by_hand, engine, "both have the same events");
        let [hand, own] = [hand, own].map(|took| took.as_secs_f64() * 1e9 / fires as f64);
        println!("{components:<22} {hand:>10.0} {own:>10.0}");
    }
}
