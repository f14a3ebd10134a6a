//! A host with a faster link promises no less.

use super::fifo::{of, promises};

fn host(paradigm: &str, depth: u32, rate: &str, size: u32) -> String {
    format!(
        r#"title = "one host"
[host]
profile = "mc68040"
speedup = 20
subsystem = {{ packet = "1500 B", link = {{ paradigm = "{paradigm}", depth = {depth} }} }}
[adapter]
kind = "null"
rate = "{rate}"
[run]
time = "100 ms"
[[channel]]
name = "only"
class = "real_time"
max_message = "{size} B"
burst = 1
min_interval = "33 ms"
deadline = "33 ms"
source = {{ kind = "periodic" }}
"#
    )
}

/// The channel has three packets in 33 ms. By time, completions of packets on a fast link take all of
/// the CPU.
#[test]
fn no_link_is_too_fast() {
    for paradigm in ["O1", "O2", "O3"] {
        for depth in [1, 2, 8] {
            let rates = ["10 Mbit/s", "100 Mbit/s", "1 Gbit/s", "5 Gbit/s", "40 Gbit/s"];
            let bounds = rates.map(|rate| {
                let promise = promises(&of(&host(paradigm, depth, rate, 4000))).remove(0);
                promise.bound().unwrap_or_else(|| panic!("{paradigm}, {depth}, {rate}: {promise:?}"))
            });
            assert!(bounds.is_sorted_by(|slow, fast| fast <= slow), "{paradigm}, {depth}: {bounds:?}");
        }
    }
}
