//! Calibration: the measured cost of each step of the subsystem on this machine as a host.
//!
//! Each cost is measured by repeating its work in batches, long enough for the resolution of the
//! counter and short enough to fit between two interruptions by the platform. An interrupted batch
//! is long, so the median is reported, with the 10th and 90th percentile; a mean would include the
//! interruptions.
//!
//! The costs are those of the host in [`host`](crate::host): one thread that runs the subsystem.
//! Its handlers are not threads of the operating system, and a switch between them is a call.
//! `C_sw` is therefore measured for a host with a thread per handler, by two threads on one
//! processor that alternate.
//!
//! The cost of a packet grows with its size, so costs that may depend on size are measured at
//! several sizes (`sizes`) and fitted by a line ([`FittedLine`]). A profile holds for the sizes in
//! between; [`MeasuredCost::residual`] is the error of the fit.
//!
//! All costs are measured in [`ROUNDS`] rounds, some tenths of a second apart. A cost whose rounds
//! differ by more than [`STABLE`] is unstable ([`MeasuredCost::spread`]): the machine changes its
//! speed, or other programs use it, and the next run will find another cost.

mod fit;
mod measures;

use std::fmt::Write as _;

use laxity_engine::Ticks;
use laxity_machine::RefusedBySystem;
use laxity_machine::place::{ThreadPlacement, cores, place};
use laxity_units::Span;

pub use fit::{FittedLine, Point};

/// Measured cost.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredCost {
    /// Name in a profile; `C_x`, which is not a cost of a host, has its own name.
    pub name: &'static str,
    /// Result at each packet size, in rising order; one point if the cost has no size.
    pub points: Vec<Point>,
    /// Line through the points, in nanoseconds.
    pub line: FittedLine,
    /// Number of batches at each size.
    pub batches: usize,
    /// Maximum difference between the medians of rounds, over all sizes, as a fraction of the
    /// median.
    pub spread: f64,
    /// Description of the measured work.
    pub method: String,
    /// Raw batches at each size.
    raw: Vec<(u64, Vec<f64>)>,
}

/// Number of rounds.
pub const ROUNDS: usize = 3;
/// Spread above which a cost is unstable.
pub const STABLE: f64 = 0.1;
/// Differences between rounds up to this, in nanoseconds, are due to reading the counter.
const RESOLUTION: f64 = 2.0;

impl MeasuredCost {
    fn of(name: &'static str, batches: Vec<f64>, method: impl Into<String>) -> Self {
        Self::at_sizes(name, vec![(0, batches)], method)
    }

    /// Cost from batches at each size, in rising order.
    fn at_sizes(name: &'static str, sizes: Vec<(u64, Vec<f64>)>, method: impl Into<String>) -> Self {
        let raw = sizes.clone();
        let batches = sizes.first().map_or(0, |(_, batches)| batches.len());
        let point = |(size, mut batches): (u64, Vec<f64>)| {
            batches.sort_by(f64::total_cmp);
            let at = |share| quantile(&batches, share);
            Point { size, median: at(0.5), low: at(0.1), high: at(0.9) }
        };
        let points: Vec<Point> = sizes.into_iter().map(point).collect();
        Self {
            name,
            line: FittedLine::through(&points),
            points,
            batches,
            spread: 0.0,
            method: method.into(),
            raw,
        }
    }

    fn of_rounds(rounds: &[Self]) -> Self {
        let sizes = 0..rounds[0].raw.len();
        let all_of =
            |size: usize| rounds.iter().flat_map(|round| round.raw[size].1.iter().copied()).collect();
        let raw: Vec<(u64, Vec<f64>)> =
            sizes.clone().map(|size| (rounds[0].raw[size].0, all_of(size))).collect();
        let spread_at = |size: usize| {
            let medians = || rounds.iter().map(|round| round.points[size].median);
            let (least, most) = (medians().fold(f64::INFINITY, f64::min), medians().fold(0.0, f64::max));
            match most - least > RESOLUTION {
                true => (most - least) / median(raw[size].1.clone()).max(1.0),
                false => 0.0,
            }
        };
        let spread = sizes.map(spread_at).fold(0.0, f64::max);
        Self { spread, ..Self::at_sizes(rounds[0].name, raw, rounds[0].method.clone()) }
    }

    /// Result at the largest size.
    pub fn largest(&self) -> Point {
        *self.points.last().expect("something was measured")
    }

    /// Cost of a packet of no bytes, to the nanosecond. At least 1 ns if the cost per byte is zero,
    /// since a cost of zero would look like a missing one.
    pub fn value(&self) -> Span {
        let least = if self.line.per_byte > 0.0 { 0.0 } else { 1.0 };
        Span::from_ns(self.line.fixed.round().max(least) as u64)
    }

    /// Cost per byte, to the picosecond.
    pub fn per_byte(&self) -> Span {
        Span::from_ps((self.line.per_byte * 1e3).round() as u64)
    }

    /// Maximum error of the line, in nanoseconds.
    pub fn residual(&self) -> f64 {
        self.line.residual(&self.points)
    }

    /// Whether the spread exceeds [`STABLE`].
    pub fn is_unstable(&self) -> bool {
        self.spread > STABLE
    }

    /// Reason to doubt the value, if any: batches vary by more than the value, the line's error is
    /// as large, or rounds differ.
    pub fn doubt(&self) -> Option<String> {
        let wide = |point: &Point| point.high - point.low > point.median.max(1.0);
        let off = self.residual() > self.line.at(self.largest().size) / 2.0;
        match () {
            () if self.points.iter().any(wide) => {
                Some("batches differ by more than the figure itself".into())
            }
            () if off && self.line.per_byte > 0.0 => {
                Some("no line fits: it is off by more than half the figure".into())
            }
            () if self.is_unstable() => {
                Some(format!("unstable, rounds differ by {:.0} %", 100.0 * self.spread))
            }
            () => None,
        }
    }
}

/// Quantile of the `sorted` values.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

fn median(mut batches: Vec<f64>) -> f64 {
    batches.sort_by(f64::total_cmp);
    quantile(&batches, 0.5)
}

/// Result of a calibration.
#[derive(Debug)]
pub struct Calibration {
    /// Name of the processor.
    pub processor: String,
    /// Measured packet sizes, in rising order.
    pub sizes: Vec<u64>,
    /// Costs, in the order of a profile; costs of an adapter last: [`ADAPTER_START`] and
    /// [`INTERRUPT_LATENCY`].
    pub costs: Vec<MeasuredCost>,
    /// Costs of single operations on each byte, copying and checksumming. They are parts of costs
    /// and not in a profile.
    pub parts: Vec<MeasuredCost>,
    /// Refused requests that would have improved the measurement.
    pub refused: Vec<RefusedBySystem>,
}

/// Measures this machine, on the calling thread and one more; takes some seconds. `packet` is the
/// size of the largest packet, in bytes.
pub fn calibrate(packet: u64) -> Result<Calibration, RefusedBySystem> {
    let cores = cores();
    let first = cores.first().copied();
    let refused = place(ThreadPlacement { core: first, fifo: None });
    let ticks = Ticks::calibrate();
    let sizes = sizes(packet);
    let (mut costs, mut parts) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        costs.push(measures::all(ticks, &sizes, first, cores.last().copied())?);
        parts.push(measures::parts(ticks, &sizes));
    }
    let (costs, parts) = (together(costs), together(parts));
    Ok(Calibration { processor: processor(), sizes, costs, parts, refused })
}

/// Combines the costs of all rounds, which have the same order.
fn together(rounds: Vec<Vec<MeasuredCost>>) -> Vec<MeasuredCost> {
    let mut costs: Vec<Vec<MeasuredCost>> = Vec::new();
    for round in rounds {
        costs.resize_with(round.len(), Vec::new);
        costs.iter_mut().zip(round).for_each(|(of_cost, measured)| of_cost.push(measured));
    }
    costs.iter().map(|rounds| MeasuredCost::of_rounds(rounds)).collect()
}

/// Sizes to measure for packets of up to `packet` bytes: fractions of it, and the smallest one.
fn sizes(packet: u64) -> Vec<u64> {
    let mut sizes: Vec<u64> =
        [packet / 8, packet / 4, packet / 2, packet].into_iter().filter(|s| *s > SMALLEST).collect();
    sizes.insert(0, SMALLEST.min(packet));
    sizes
}

/// Smallest size of an Ethernet frame.
const SMALLEST: u64 = 64;

fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name"));
    let name = model.and_then(|rest| rest.split_once(':')).map(|(_, name)| name.trim().to_string());
    name.unwrap_or_else(|| format!("an unnamed {} processor", std::env::consts::ARCH))
}

impl Calibration {
    /// Host profile for `laxity run`; `made` states its origin and date.
    pub fn profile(&self, made: &str) -> String {
        let mut text = String::new();
        let of_adapter = |name: &str| {
            let cost = self.costs.iter().find(|cost| cost.name == name);
            cost.map_or_else(String::new, |cost| format!("{} ({})", cost.value(), spread_in_words(cost)))
        };
        let (startup, latency) = (of_adapter(ADAPTER_START), of_adapter(INTERRUPT_LATENCY));
        let quoted = self.processor.replace(['"', '\\'], " ");
        let sizes: Vec<String> = self.sizes.iter().map(u64::to_string).collect();
        let (sizes, least, most) = (sizes.join(", "), self.sizes[0], self.sizes[self.sizes.len() - 1]);
        let parts: Vec<String> =
            self.parts.iter().map(|part| format!("{}: {}", part.method, in_words(part))).collect();
        let _ = write!(
            text,
            "# Measured by `laxity calibrate`; a further calibration may replace this file.\n\
             # {made}\n\
             title = \"{quoted}, measured\"\nabout = \"\"\"\nEach cost is of a packet of no bytes, and of each byte: a line through \
             the medians of batches with packets of\n{sizes} B. It holds between them, and a scenario with other packets is \
             refused. Behind it stand the 10th and 90th\npercentile at the largest, and by how much the line is off at most.\n\
             {}.\nC_x, from a command in a ring in shared memory to the adapter's reading it on another processor, took \
             {startup}: it is\nan adapter's `startup` and not in here. An interrupt reached the thread {latency} after it was raised: \
             it is an adapter's,\nthe `delay` of its response queue, and not in here.\"\"\"\n\n\
             [measured]\nleast = \"{least} B\"\nmost = \"{most} B\"\n",
            parts.join(";\n")
        );
        for cost in self.costs.iter().filter(|cost| ![ADAPTER_START, INTERRUPT_LATENCY].contains(&cost.name))
        {
            let MeasuredCost { name, batches, method, .. } = cost;
            text.push('\n');
            if cost.is_unstable() {
                let _ = writeln!(text, "# Unstable: its rounds differ by {:.0} %.", 100.0 * cost.spread);
            }
            let _ = write!(text, "[{name}]\nvalue = \"{}\"\n", cost.value());
            if !cost.per_byte().is_zero() {
                let _ = writeln!(text, "per_byte = \"{}\"", cost.per_byte());
            }
            let _ = writeln!(
                text,
                "source = \"measured: {method}; {}, {batches} batches\"",
                spread_in_words(cost)
            );
        }
        text
    }
}

fn in_words(cost: &MeasuredCost) -> String {
    format!("{:.0} ns and {:.3} ns a byte, {}", cost.line.fixed, cost.line.per_byte, spread_in_words(cost))
}

/// Spread, residual, and doubts.
fn spread_in_words(cost: &MeasuredCost) -> String {
    let Point { size, low, high, .. } = cost.largest();
    let mut words = format!("{low:.0} to {high:.0} ns");
    if size > 0 {
        let _ = write!(words, " at {size} B, line off by at most {:.0} ns", cost.residual());
    }
    if let Some(doubt) = cost.doubt() {
        let _ = write!(words, " (means little: {doubt})");
    }
    words
}

/// Name of `C_x`.
pub const ADAPTER_START: &str = "adapter_start";
/// Name of the time from raising an interrupt to its detection by the interrupted thread.
pub const INTERRUPT_LATENCY: &str = "interrupt_latency";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_a_profile_for_the_packets_that_were_measured() {
        let calibration = calibrate(2048).expect("there is a thread to be had");
        assert_eq!(calibration.sizes, [64, 256, 512, 1024, 2048]);
        let path = std::path::Path::new("here.toml");
        let text = calibration.profile("laxity 0.1.0");
        let files = std::collections::BTreeMap::from([(path.to_path_buf(), text.clone().into_bytes())]);
        let profile = laxity_scenario::profile::Profile::load(&files, path)
            .unwrap_or_else(|why| panic!("{}\n{text}", why.render(false)));
        assert!(profile.sources.iter().all(|cost| cost.source.contains("batches")));
        let at = |bytes| profile.costs_for(laxity_units::Bytes::new(bytes));
        assert!(at(64).is_ok() && at(2048).is_ok() && at(63).is_err() && at(2049).is_err());
        // On any machine, 2 KiB take longer to copy and checksum than 64 B.
        assert!(at(2048).unwrap().packet > at(64).unwrap().packet, "{text}");
        let points = calibration.costs.iter().flat_map(|cost| &cost.points);
        assert!(points.into_iter().all(|point| point.low <= point.median && point.median <= point.high));
        // A signal to another processor takes longer than a load, and is not part of a profile's
        // steps.
        let latency = calibration.costs.iter().find(|cost| cost.name == INTERRUPT_LATENCY).unwrap();
        assert!(latency.value() > Span::from_ns(50), "{latency:?}");
        assert!(
            text.contains("An interrupt reached the thread") && !text.contains("[interrupt_latency]"),
            "{text}"
        );
        let marks = text.matches("# Unstable: its rounds differ by").count();
        let of_profile = calibration
            .costs
            .iter()
            .filter(|cost| !cost.name.starts_with("adapter") && cost.name != INTERRUPT_LATENCY);
        assert_eq!(marks, of_profile.filter(|cost| cost.is_unstable()).count());
    }

    /// Medians of 100, 104 and 112 differ by 12 of 104, the median of all.
    #[test]
    fn rounds_that_differ_make_a_cost_unstable() {
        let rounds = |medians: [f64; 3]| {
            MeasuredCost::of_rounds(
                &medians.map(|median| MeasuredCost::of("packet", vec![median; 9], "copying")),
            )
        };
        let unstable = rounds([100.0, 104.0, 112.0]);
        assert!((unstable.spread - 12.0 / 104.0).abs() < 1e-9 && unstable.is_unstable(), "{unstable:?}");
        assert_eq!((unstable.batches, unstable.points[0].median), (27, 104.0));
        assert_eq!(unstable.doubt().unwrap(), "unstable, rounds differ by 12 %");
        assert!(spread_in_words(&unstable).contains("means little: unstable"));
        assert_eq!(rounds([100.0, 104.0, 108.0]).doubt(), None);
        assert_eq!(rounds([4.0, 5.0, 6.0]).spread, 0.0, "the counter does not tell such rounds apart");
        let one = |small, large| {
            MeasuredCost::at_sizes("packet", vec![(64, vec![small; 3]), (512, vec![large; 3])], "copying")
        };
        let worst = MeasuredCost::of_rounds(&[one(100.0, 300.0), one(101.0, 200.0)]);
        assert!((worst.spread - 100.0 / 300.0).abs() < 1e-9, "{worst:?}");
    }

    #[test]
    fn a_spread_that_makes_a_figure_meaningless_is_said() {
        let wide: Vec<f64> = (0..100).map(f64::from).collect();
        let doubtful = MeasuredCost::of("cache_miss", wide, "sweeping");
        assert!(spread_in_words(&doubtful).contains("means little: batches differ"));
        assert_eq!(MeasuredCost::of("cache_miss", vec![50.0; 100], "sweeping").doubt(), None);
        let sizes = [(64, 100.0), (256, 100.0), (512, 900.0), (1024, 130.0)];
        let bent = MeasuredCost::at_sizes(
            "packet",
            sizes.map(|(size, cost)| (size, vec![cost; 10])).to_vec(),
            "copying",
        );
        assert!(bent.doubt().is_some_and(|doubt: String| doubt.contains("no line fits")), "{bent:?}");
    }
}
