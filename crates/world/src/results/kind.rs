//! Kinds of quantities.

use crate::figures::plain;

/// The kind of a quantity; decides its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Seconds.
    Time,
    /// Bytes per second.
    Rate,
    /// Bytes.
    Size,
    /// A part of one, shown in per cent.
    Share,
    /// A pure number.
    Count,
}

impl Kind {
    /// The kind of a run's further figure, which carries no unit of its own: by the end of its
    /// name.
    ///
    /// `…throughput`, `…rate` are bytes per second; `…delay`, `…latency`, `…laxity`, `…bound`,
    /// `…worst`, `…time`, `…jitter`, `…seconds`, and what media report (`…held`, `…wait`,
    /// `…rotation`, `…overrun`, `…access`, `…stall`) are seconds; `…bytes` bytes; `…utilisation`,
    /// `…share`, `…fraction` parts of one; anything else is a count.
    pub fn of_figure(name: &str) -> Kind {
        let name = plain(name);
        let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        if ends(&["throughput", "rate"]) {
            Kind::Rate
        } else if ends(&[
            "delay", "latency", "laxity", "bound", "worst", "time", "jitter", "deadline", "seconds", "held",
            "wait", "rotation", "overrun", "access", "stall", "stalls",
        ]) {
            Kind::Time
        } else if ends(&["bytes"]) {
            Kind::Size
        } else if ends(&["utilisation", "share", "fraction"]) {
            Kind::Share
        } else {
            Kind::Count
        }
    }
}
