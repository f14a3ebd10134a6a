//! An adapter of stages without best effort, of which packets are charged in several ways.

use laxity_admission::Formula;
use laxity_units::Span;
use laxity_world::promise::promises;

use super::fifo::of;

fn host(speedup: u32, depth: u32, best_effort: bool) -> String {
    let channel = |name: &str, size: u32, burst: u32, every: u32, deadline: u32| {
        format!(
            "[[channel]]\nname = \"{name}\"\nclass = \"real_time\"\nmax_message = \"{size} B\"\nburst = {burst}\n\
             min_interval = \"{every} ms\"\ndeadline = \"{deadline} ms\"\nsource = {{ kind = \"periodic\" }}\n"
        )
    };
    let flood = "[[channel]]\nname = \"flood\"\nclass = \"best_effort\"\nmax_message = \"1500 B\"\nburst = 8\n\
                 source = { kind = \"continuous\" }\n";
    format!(
        "title = \"alone\"\n[host]\nprofile = \"mc68040\"\nspeedup = {speedup}\n\
         subsystem = {{ packet = \"1500 B\", preemption = 2, link = {{ depth = {depth}, paradigm = \"O1\" }} }}\n\
         [adapter]\nfile = \"tsn-1g\"\n[run]\ntime = \"50 ms\"\n{}{}{}{}",
        channel("film", 4000, 1, 33, 20),
        channel("command", 200, 1, 33, 10),
        channel("control", 4000, 1, 2, 5),
        if best_effort { flood } else { "" },
    )
}

/// Beside best effort packets overtake each other in the adapter, so its stages are charged one after the
/// other. Side by side, as without it, a packet takes less and the first one more.
#[test]
fn best_effort_that_is_gone_lengthens_no_bound() {
    let bounds = |text: &str| -> Option<Vec<Span>> {
        let promises = promises(&of(text), Formula::Corrected).ok()?;
        promises.channels.iter().take(3).map(|promise| promise.bound()).collect()
    };
    let (mut compared, mut shorter) = (0, 0);
    for speedup in [1, 2, 3, 5, 10, 20, 50, 200] {
        for depth in [2, 3, 4, 8] {
            let Some(beside) = bounds(&host(speedup, depth, true)) else { continue };
            let alone = bounds(&host(speedup, depth, false)).expect("it is admitted beside a flood");
            for (alone, beside) in alone.iter().zip(&beside) {
                assert!(alone <= beside, "{speedup} times, {depth}: {alone} alone, {beside} beside a flood");
                compared += 1;
                shorter += usize::from(alone < beside);
            }
        }
    }
    assert!(compared > 50 && shorter > 0, "{compared}, {shorter}");
}
