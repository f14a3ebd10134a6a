//! This machine as a host: what each step of the subsystem costs here, measured.
//!
//! Every cost is measured by doing what it stands for many times over, in batches long enough for the counter to
//! tell and short enough to fall between two interruptions of the platform. A batch that was interrupted is
//! long, so the median is what is reported, and the 10th and 90th percentile beside it; a mean would measure
//! the neighbours.
//!
//! The costs are those of the host in [`host`](crate::host): one thread that runs the subsystem. Its handlers
//! are not threads of the operating system, and a switch between them is a call. `C_sw` is therefore measured
//! as a host pays it that does have a thread per handler, by two threads on one processor that hand over to each
//! other.

mod measures;

use std::fmt::Write as _;

use laxity_engine::Ticks;
use laxity_units::Span;

use crate::Refused;
use crate::place::{Placement, cores, place};

/// A measured cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Its name in a profile; `C_x`, which is no host's, has one of its own.
    pub name: &'static str,
    /// The median, in nanoseconds.
    pub median: f64,
    /// The 10th percentile.
    pub low: f64,
    /// The 90th percentile.
    pub high: f64,
    /// How many batches.
    pub batches: usize,
    /// What was done, in words.
    pub method: String,
}

impl Measured {
    fn of(name: &'static str, mut batches: Vec<f64>, method: impl Into<String>) -> Self {
        batches.sort_by(f64::total_cmp);
        let at = |share: f64| batches[((batches.len() - 1) as f64 * share).round() as usize];
        let (median, low, high) = (at(0.5), at(0.1), at(0.9));
        Self { name, median, low, high, batches: batches.len(), method: method.into() }
    }

    /// To the nanosecond, at least one: a cost of nothing would be a forgotten one.
    pub fn value(&self) -> Span {
        Span::from_ns(self.median.round().max(1.0) as u64)
    }
}

/// What was measured.
#[derive(Debug)]
pub struct Calibration {
    /// The processor's name.
    pub processor: String,
    /// The costs, in the order of a profile; `adapter_start` (`C_x`) last.
    pub costs: Vec<Measured>,
    /// What would have made it better and was not permitted.
    pub refused: Vec<Refused>,
}

/// Measures this machine, on the calling thread and one more; takes some seconds. `packet` is the largest packet, in
/// bytes.
pub fn calibrate(packet: u64) -> Result<Calibration, Refused> {
    let cores = cores();
    let first = cores.first().copied();
    let refused = place(Placement { core: first, fifo: None });
    let ticks = Ticks::calibrate();
    let costs = measures::all(ticks, packet, first, cores.last().copied())?;
    Ok(Calibration { processor: processor(), costs, refused })
}

/// As the kernel names it.
fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name"));
    let name = model.and_then(|rest| rest.split_once(':')).map(|(_, name)| name.trim().to_string());
    name.unwrap_or_else(|| format!("an unnamed {} processor", std::env::consts::ARCH))
}

impl Calibration {
    /// A host profile, which `laxity run` takes like any other.
    pub fn profile(&self, packet: u64) -> String {
        let mut text = String::new();
        let link = self.costs.iter().find(|cost| cost.name == ADAPTER_START);
        let startup = link.map_or(Span::ZERO, Measured::value);
        let quoted = self.processor.replace(['"', '\\'], " ");
        let _ = write!(
            text,
            "# Measured by `laxity calibrate`; a further calibration may replace this file.\n\
             title = \"{quoted}, measured\"\nabout = \"\"\"\nMeasured by `laxity calibrate` with packets of {packet} B. \
             Each value is the median of batches; behind it stand the 10th and 90th\npercentile. C_x, from a \
             command in a ring in shared memory to the adapter's reading it on another processor, took {startup}: it is \
             an adapter's\n`startup` and not in here.\"\"\"\n"
        );
        for cost in self.costs.iter().filter(|cost| cost.name != ADAPTER_START) {
            let Measured { name, low, high, batches, method, .. } = cost;
            let value = cost.value();
            let _ = write!(
                text,
                "\n[{name}]\nvalue = \"{value}\"\nsource = \"measured: {method}; {low:.0} to {high:.0} ns, {batches} batches\"\n"
            );
        }
        text
    }
}

/// `C_x`'s name here.
pub const ADAPTER_START: &str = "adapter_start";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_a_profile() {
        let calibration = calibrate(4096).expect("there is a thread to be had");
        let path = std::path::Path::new("here.toml");
        let text = calibration.profile(4096);
        let files = std::collections::BTreeMap::from([(path.to_path_buf(), text.clone().into_bytes())]);
        let profile = laxity_lab::profile::Profile::load(&files, path)
            .unwrap_or_else(|why| panic!("{}\n{text}", why.render(false)));
        assert!(profile.sources.iter().all(|cost| cost.source.contains("batches")));
        assert!(calibration.costs.iter().all(|cost| cost.low <= cost.median && cost.median <= cost.high));
    }
}
