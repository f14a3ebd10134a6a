//! Counter of real time, and the map from its ticks to the time of a run.
//!
//! Reading the time from the operating system takes 20 to 30 ns; the time stamp counter of an x86
//! processor takes 10 ns. The counter is used only if the processor declares that it runs at one
//! rate in every sleep state; then one zero holds for all threads. Its rate is measured
//! (`clock/tsc.rs`). Otherwise the tick is the nanosecond of `std::time::Instant`.
//!
//! The map multiplies by a fixed-point number. A division would be as exact, but take 20 ns in
//! every wait.

use std::time::Instant;

use laxity_units::{Span, Time};

use super::monotonic;
#[cfg(target_arch = "x86_64")]
use super::tsc;

/// Fraction bits of a tick's length in run picoseconds.
const LENGTH_BITS: u32 = 48;
/// Fraction bits of the ticks per run picosecond.
const DENSITY_BITS: u32 = 56;

/// Counter of constant rate.
pub(super) trait Counter {
    /// Current value.
    fn read(&mut self) -> u64;
}

#[derive(Debug, Clone, Copy)]
enum Source {
    /// Time stamp counter of the processor.
    #[cfg(target_arch = "x86_64")]
    Tsc,
    /// Nanoseconds since an instant.
    Monotonic(Instant),
}

/// Finest counter of this machine, and the length of its tick.
///
/// A plain value: calibrate once and copy it to every thread.
#[derive(Debug, Clone, Copy)]
pub struct Ticks {
    source: Source,
    ps_per_tick: f64,
    error_ppb: f64,
}

impl Ticks {
    /// Selects the counter and measures its rate, which takes 20 ms of the calling thread.
    pub fn calibrate() -> Self {
        #[cfg(target_arch = "x86_64")]
        if tsc::is_invariant() {
            let (ns_per_tick, error) = tsc::calibrate();
            return Self {
                source: Source::Tsc,
                ps_per_tick: ns_per_tick * 1e3,
                error_ppb: 3e9 * error / ns_per_tick,
            };
        }
        Self { source: Source::Monotonic(monotonic::now()), ps_per_tick: 1e3, error_ppb: 0.0 }
    }

    /// Current value of the counter.
    #[inline(always)]
    pub fn read(&self) -> u64 {
        match self.source {
            #[cfg(target_arch = "x86_64")]
            Source::Tsc => tsc::read(),
            Source::Monotonic(zero) => monotonic::now().duration_since(zero).as_nanos() as u64,
        }
    }

    /// Real time of `ticks`.
    pub fn span(&self, ticks: u64) -> Span {
        Span::from_ps((ticks as f64 * self.ps_per_tick) as u64)
    }

    /// Ticks of a `span` of real time, rounded down.
    pub fn in_span(&self, span: Span) -> u64 {
        (span.as_ps() as f64 / self.ps_per_tick) as u64
    }

    /// Ticks per second.
    pub fn per_second(&self) -> f64 {
        1e12 / self.ps_per_tick
    }

    /// Three standard errors of the rate, in parts per billion, from the residuals of the
    /// calibration.
    pub fn error_ppb(&self) -> f64 {
        self.error_ppb
    }

    /// Description of the source, for a report.
    pub fn source(&self) -> &'static str {
        match self.source {
            #[cfg(target_arch = "x86_64")]
            Source::Tsc => "time stamp counter, by least squares against the monotonic clock",
            Source::Monotonic(_) => "monotonic clock",
        }
    }
}

impl Counter for Ticks {
    #[inline(always)]
    fn read(&mut self) -> u64 {
        Ticks::read(self)
    }
}

/// Seconds of real time per second of run time: thesis 4.4.2 scales all delays by `C_sf`.
///
/// A machine that is too slow to emulate a device emulates it in slow motion; results are in the
/// device's own time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dilation {
    real: u32,
    run: u32,
}

impl Dilation {
    /// No dilation.
    pub const NONE: Dilation = Dilation { real: 1, run: 1 };

    /// `run` seconds of run time take `real` seconds; `None` unless `real / run` is in `[1/32,
    /// 4096]`, the range of the fixed-point map between ticks and run time.
    pub fn new(real: u32, run: u32) -> Option<Self> {
        let (wide, narrow) = (u64::from(real), u64::from(run));
        (run != 0 && wide * 32 >= narrow && wide <= narrow * 4_096).then_some(Self { real, run })
    }

    /// Seconds of real time per second of run time.
    pub fn factor(self) -> f64 {
        f64::from(self.real) / f64::from(self.run)
    }
}

/// Start and rate of a run's time on the counter.
///
/// Made once and copied to every thread of a run, so all threads agree on the time.
#[derive(Debug, Clone, Copy)]
pub struct TickEpoch {
    ticks: Ticks,
    /// Counter at time zero.
    zero: u64,
    /// Run picoseconds per tick, with [`LENGTH_BITS`] fraction bits.
    length: u64,
    /// Ticks per run picosecond, with [`DENSITY_BITS`] fraction bits.
    density: u64,
}

impl TickEpoch {
    /// Run with time zero at `lead` of real time from now.
    ///
    /// The lead lets threads start before the first event. Until then the time is zero.
    pub fn starting_in(lead: Span, ticks: Ticks, dilation: Dilation) -> Self {
        Self::at(ticks.read() + ticks.in_span(lead), ticks, dilation)
    }

    fn at(zero: u64, ticks: Ticks, dilation: Dilation) -> Self {
        let length = ticks.ps_per_tick / dilation.factor() * (1_u64 << LENGTH_BITS) as f64;
        let length = length.round() as u64;
        // Derived from the rounded length, and rounded down: the first guess of `tick_at` must not
        // be too high.
        let density = (1_u128 << (LENGTH_BITS + DENSITY_BITS)) / u128::from(length);
        let density = u64::try_from(density).expect("a dilation keeps a tick longer than 2^-8 ps");
        Self { ticks, zero, length, density }
    }

    /// Current time of the run.
    #[inline]
    pub fn now(&self) -> Time {
        self.time_at(self.ticks.read())
    }

    /// Counter of the run's time.
    pub fn ticks(&self) -> &Ticks {
        &self.ticks
    }

    /// Time of the run at `tick`; zero before the start.
    #[inline]
    pub fn time_at(&self, tick: u64) -> Time {
        Time::from_ps(self.run_ps(tick.saturating_sub(self.zero)))
    }

    /// Run time of `ticks`.
    #[inline]
    pub fn run_span(&self, ticks: u64) -> Span {
        Span::from_ps(self.run_ps(ticks))
    }

    #[inline]
    fn run_ps(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.length)) >> LENGTH_BITS).try_into().unwrap_or(u64::MAX)
    }

    /// First tick at which the time of the run is `time` or later.
    #[inline]
    pub fn tick_at(&self, time: Time) -> u64 {
        let ticks = |ps: u64| (u128::from(ps) * u128::from(self.density)) >> DENSITY_BITS;
        let wanted = u128::from(time.as_ps()) << LENGTH_BITS;
        // The first guess is never high, and low by the rounding of two factors: a tick or two,
        // more after months.
        let mut tick = u64::try_from(ticks(time.as_ps())).unwrap_or(u64::MAX);
        loop {
            let reached = u128::from(tick) * u128::from(self.length);
            if reached >= wanted || tick == u64::MAX {
                return self.zero.saturating_add(tick);
            }
            let step = u64::try_from(ticks(((wanted - reached) >> LENGTH_BITS) as u64)).unwrap_or(u64::MAX);
            tick = tick.saturating_add(step.max(1));
        }
    }
}

/// Epoch that is independent of any counter.
#[cfg(test)]
pub(super) fn epoch(ps_per_tick: f64, zero: u64, dilation: Dilation) -> TickEpoch {
    let ticks = Ticks { source: Source::Monotonic(monotonic::now()), ps_per_tick, error_ppb: 0.0 };
    TickEpoch::at(zero, ticks, dilation)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_time_is_reached_at_its_tick_and_not_before(
            ps_per_tick in 100.0..2000.0_f64,
            zero in 0..u64::MAX / 4,
            real in 1..=4096_u32,
            run in 1..=32_u32,
            time in 0..1_u64 << 55,
        ) {
            let epoch = epoch(ps_per_tick, zero, Dilation::new(real, run).unwrap());
            let time = Time::from_ps(time);
            let tick = epoch.tick_at(time);
            prop_assert!(epoch.time_at(tick) >= time);
            prop_assert!(tick == zero || epoch.time_at(tick - 1) < time);
        }

        #[test]
        fn run_time_is_real_time_over_the_dilation(real in 1..=64_u32, run in 1..=32_u32, ms in 1..100_000_u64) {
            let epoch = epoch(384.6, 7, Dilation::new(real, run).unwrap());
            let ticks = epoch.ticks().in_span(Span::from_ms(ms));
            let expected = ms as f64 / 1e3 * f64::from(run) / f64::from(real);
            let got = epoch.time_at(7 + ticks).as_secs_f64();
            prop_assert!((got / expected - 1.0).abs() < 1e-6, "{got} s for {expected} s");
        }
    }

    #[test]
    fn dilations_that_the_map_cannot_hold_are_refused() {
        assert_eq!(Dilation::new(1, 33), None);
        assert_eq!(Dilation::new(1, 0), None);
        assert_eq!(Dilation::new(4_097, 1), None);
        assert!(Dilation::new(1, 32).is_some() && Dilation::new(4_096, 1).is_some());
    }

    #[test]
    fn the_counter_goes_forward_at_about_the_rate_of_the_monotonic_clock() {
        let ticks = Ticks::calibrate();
        let (began, first) = (monotonic::now(), ticks.read());
        while began.elapsed() < Duration::from_millis(5) {}
        let (last, took) = (ticks.read(), began.elapsed());
        // Only a lower bound holds, since the machine may suspend the thread between the two
        // readings of an end.
        assert!(
            ticks.span(last - first) > Span::from_us(4_900),
            "{:?} for {took:?}",
            ticks.span(last - first)
        );
        assert!(ticks.error_ppb() < 1e6, "the rate is known to {} ppb", ticks.error_ppb());
    }
}
