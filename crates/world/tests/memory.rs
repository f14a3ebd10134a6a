//! The memory of a run does not grow with its length.

#![allow(unsafe_code, reason = "an allocator that counts is one")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use laxity_scenario::Scenario;

/// The system's allocator, and how much of it is in use.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on as it came; counting touches no memory of the caller's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`, and the pointer came from the same
        // allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The peak of memory in use, over the use before, in a run of `packets` packets: messages of one
/// packet and of two, of either class, through two stages and over a lossy path, to a second host.
fn peak(packets: u64) -> usize {
    let text = format!(
        r#"
        title = "a long run"
        [host]
        profile = "mc68040"
        [adapter]
        kind = "generic"
        [[adapter.transmit]]
        name = "fetch"
        phase = [{{ fixed = "20 us" }}]
        [[adapter.transmit]]
        name = "link"
        phase = [{{ fixed = "400 us", medium = true }}]
        [admission]
        formula = "off"
        [path]
        receive = true
        [network]
        kind = "point_to_point"
        impairments = {{ loss = 0.01 }}
        [run]
        packets = {packets}
        [[channel]]
        name = "flood"
        class = "best_effort"
        max_message = "4 KiB"
        burst = 4
        source = {{ kind = "continuous" }}
        [[channel]]
        name = "real"
        class = "real_time"
        max_message = "8 KiB"
        burst = 2
        min_interval = "2 ms"
        deadline = "20 ms"
        source = {{ kind = "periodic" }}
        "#
    );
    let scenario = Scenario::from_text("long.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let experiment = scenario.first();
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let run = laxity_world::run(&experiment);
    assert!(run.channels.iter().map(|channel| channel.packets).sum::<u64>() > packets / 2);
    PEAK.load(Ordering::Relaxed) - before
}

/// A distribution has some thousand buckets, of which a longer run fills a few more. Of each value
/// it would keep eight bytes, thirty megabytes here.
#[test]
fn a_run_of_twice_the_length_needs_little_more() {
    let (long, longer) = (peak(800_000), peak(1_600_000));
    assert!(longer <= 2 * long && longer < 1 << 20, "{long} bytes became {longer}");
}
