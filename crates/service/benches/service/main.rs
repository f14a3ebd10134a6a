//! Daemons over loopback, beside plain UDP in the same run: round trips of small messages,
//! throughput of channels and of best effort on one processor, and establishments over one and
//! three hops.
//!
//! `cargo xtask bench service [trips | throughput | establishments] [--idle WORD]`

#![allow(clippy::disallowed_methods, reason = "a benchmark reads the machine's clock")]

mod daemons;
mod establishments;
mod throughput;
mod trips;

use std::time::Duration;

use daemons::Daemons;
use nix::time::{ClockId, clock_gettime};

/// That of the program `laxity`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long a figure is measured.
const SECONDS: u64 = 2;

/// CPU time of the process, kernel included: on a busy machine it says more than the clock.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// The outcome of `f`, and the CPU time it took.
fn counted<T>(f: impl FnOnce() -> T) -> (T, Duration) {
    let before = cpu_time();
    let outcome = f();
    (outcome, cpu_time() - before)
}

fn main() {
    let (mut idle, mut parts) = ("sleep".to_owned(), Vec::new());
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(word) = words.next() {
        match word.as_str() {
            "--idle" => idle = words.next().unwrap_or(idle),
            _ => parts.push(word),
        }
    }
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|word| word == part);
    println!("idle strategy: {idle}; packets sealed");
    if wanted("trips") {
        let daemons = Daemons::start(2, &idle);
        trips::measure(&daemons);
    }
    if wanted("establishments") {
        let daemons = Daemons::start(4, &idle);
        establishments::measure(&daemons);
    }
    if wanted("throughput") {
        // Last, since all threads stay on one processor from here on.
        throughput::on_one_processor();
        let daemons = Daemons::start(2, &idle);
        throughput::measure(&daemons);
    }
    // The daemons' threads end with the process.
    std::process::exit(0);
}
