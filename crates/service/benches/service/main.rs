//! Daemons over loopback, beside plain UDP in the same run: round trips of small messages,
//! throughput of channels and of best effort on one processor, establishments over one and three
//! hops, messages of many channels, and daemons at rest.
//!
//! `cargo xtask bench service [rest | trips | establishments | throughput | channels]`

#![allow(clippy::disallowed_methods, reason = "a benchmark reads the machine's clock")]

mod channels;
mod daemons;
mod establishments;
mod relays;
mod throughput;
mod trips;

use std::time::Duration;

use daemons::Daemons;
use laxity_machine::place::{ThreadPlacement, place};
use nix::time::{ClockId, clock_gettime};
use trips::Wait;

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

/// Keeps this thread, and those that it starts from here on, on a processor.
fn stay_on(processor: usize) {
    assert!(place(ThreadPlacement::on(processor)).is_empty(), "there is a processor {processor}");
}

fn main() {
    let parts: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|word| word == part);
    println!("packets sealed");
    let trips = |wait, idle| {
        let host = |place| format!("core = {place}\nidle = \"{idle}\"\n");
        trips::measure(wait, || Daemons::start(2, host));
    };
    let pair = || Daemons::start(2, |_| String::new());
    // Each part has threads of its own, which stay where they are.
    let part = |name, measure: &(dyn Fn() + Sync)| {
        if wanted(name) {
            std::thread::scope(|scope| scope.spawn(measure).join().unwrap());
        }
    };
    part("rest", &|| {
        let _daemons = pair();
        channels::rest(2);
    });
    part("trips", &|| trips(Wait::Asleep, "sleep"));
    part("establishments", &|| establishments::measure(&Daemons::start(4, |_| String::new())));
    part("throughput", &|| {
        stay_on(0);
        throughput::measure(&pair());
    });
    part("channels", &|| {
        stay_on(0);
        channels::measure(&pair());
    });
    // Daemons that never sleep are the last: they run until the process ends.
    part("trips", &|| trips(Wait::Awake, "yield"));
    std::process::exit(0);
}
