//! Time stamp counter of an x86 processor, and its rate.
//!
//! It counts cycles of an undocumented frequency, which is measured once against the system's
//! monotonic clock. Two pairs of readings 20 ms apart would suffice if both clocks were read at the
//! same instant. But a reading lies anywhere between two of the other clock, and the thread may be
//! interrupted there. Each of [`POINTS`] points is therefore the narrowest of [`TRIES`] readings,
//! and the rate is the slope of a least-squares line; its residuals give the error. Repeated
//! measurements agree to 10 parts in a billion.
//!
//! The system's clock is steered (NTP may change it by up to 500 ppm), and the line follows it on
//! purpose: the kernel's time stamps on frames then agree with ours.

use std::time::Duration;

use super::monotonic;

const POINTS: u32 = 64;
/// Readings per point.
const TRIES: u32 = 16;
/// Duration of the calibration, in nanoseconds.
const CALIBRATION_NS: u64 = 20_000_000;

#[inline(always)]
#[allow(unsafe_code, reason = "an intrinsic without a safe form")]
pub(super) fn read() -> u64 {
    // SAFETY: every x86-64 processor has the instruction; it accesses no memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Whether the counter has a constant rate in all states (CPUID 8000_0007h, EDX bit 8).
#[allow(
    unsafe_code,
    unused_unsafe,
    reason = "the intrinsic is safe only in the newer of the compilers we support"
)]
pub(super) fn is_invariant() -> bool {
    use core::arch::x86_64::__cpuid;
    // SAFETY: every x86-64 processor has the instruction.
    let leaf = |leaf| unsafe { __cpuid(leaf) };
    leaf(0x8000_0000).eax >= 0x8000_0007 && leaf(0x8000_0007).edx & (1 << 8) != 0
}

/// Nanoseconds per tick and their standard error, after 20 ms.
pub(super) fn calibrate() -> (f64, f64) {
    slope(&points())
}

/// Readings of (ticks, nanoseconds) over the calibration, relative to the first.
fn points() -> Vec<(f64, f64)> {
    let start = monotonic::now();
    let first = read();
    let reading = || {
        let before = read();
        let at = monotonic::now();
        let after = read();
        (after.wrapping_sub(before), before.wrapping_sub(first), at.duration_since(start))
    };
    let readings: Vec<(u64, u64, Duration)> = (0..POINTS)
        .map(|point| {
            let from = Duration::from_nanos(CALIBRATION_NS * u64::from(point) / u64::from(POINTS - 1));
            while monotonic::now().duration_since(start) < from {
                std::hint::spin_loop();
            }
            (0..TRIES).map(|_| reading()).min_by_key(|(width, ..)| *width).expect("a point has tries")
        })
        .collect();
    // If the thread was suspended in every try of a point, all of them are wide; the point is
    // discarded.
    let narrowest = readings.iter().map(|(width, ..)| *width).min().expect("a line has points");
    readings
        .into_iter()
        .filter(|(width, ..)| *width <= 4 * narrowest)
        .map(|(width, before, at)| (before as f64 + width as f64 / 2.0, at.as_nanos() as f64))
        .collect()
}

/// Slope of the least-squares line through `points`, and its standard error.
fn slope(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let xx: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let xy: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let slope = xy / xx;
    let residuals: f64 = points.iter().map(|point| (point.1 - y - slope * (point.0 - x)).powi(2)).sum();
    (slope, (residuals / (count - 2.0).max(1.0) / xx).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_known_slope_is_found_and_a_noisy_one_says_so() {
        let exact: Vec<(f64, f64)> =
            (0..64).map(|i| (f64::from(i) * 1e6, f64::from(i) * 384_615.0 + 5.0)).collect();
        let (found, error) = slope(&exact);
        assert!((found - 0.384_615).abs() < 1e-12 && error < 1e-12, "{found} ± {error}");
        let noisy: Vec<(f64, f64)> = exact
            .iter()
            .enumerate()
            .map(|(i, (x, y))| (*x, y + if i % 2 == 0 { 20.0 } else { -20.0 }))
            .collect();
        let (found, error) = slope(&noisy);
        assert!(error > 1e-9 && (found - 0.384_615).abs() < 3.0 * error, "{found} ± {error}");
    }
}
