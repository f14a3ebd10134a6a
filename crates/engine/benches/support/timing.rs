//! Timing for benchmarks on machines with other load.

use std::time::Duration;

/// Runs `body` and returns its duration: processor time where available (Linux), which is less
/// sensitive to other load, else wall-clock time.
#[allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]
pub(crate) fn timed<R>(body: impl FnOnce() -> R) -> (R, Duration) {
    let processor = || {
        let line = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        Some(Duration::from_nanos(line.split_whitespace().next()?.parse().ok()?))
    };
    let (began, start) = (processor(), std::time::Instant::now());
    let result = body();
    let wall = start.elapsed();
    (result, processor().zip(began).map_or(wall, |(ended, began)| ended - began))
}

/// Median of `values`.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}
