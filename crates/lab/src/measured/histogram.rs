//! The histogram of round trips that the reference of the RTC-Testbench writes at its end.
//!
//! Lines before the head have the version and the kernel. Then a column stands for each traffic class,
//! and a line for each microsecond with a round trip (`src/hist.c` of the RTC-Testbench):
//!
//! ```text
//! Testbench RTT Histogram: TsnHigh TsnLow Rtc Rta Dcp Lldp UdpHigh UdpLow GenericL2
//! 00001012: 00000998  00000000  …
//! Overflow: 00000002  00000000  …
//! Underflow: 00000000  00000000  …
//! ```
//!
//! Round trips beyond the range of the histogram are in `Overflow`: they are longer than each that has
//! a line, and no line has their times. The file has no count of packets that were sent.

use laxity_units::Span;

use super::{LogError, Measurement, Missing, Place, Stretch, Worst, number, numbers};

/// The beginning of the head.
const HEAD: &str = "Testbench RTT Histogram:";

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Class {
    name: String,
    count: u64,
    /// The longest round trip that has a line, in microseconds.
    longest: Option<u64>,
    /// Round trips that are longer.
    beyond: u64,
}

/// The round trips of each traffic class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// Those with round trips.
    classes: Vec<Class>,
}

/// Whether the text is such a histogram.
pub(super) fn is_one(text: &str) -> bool {
    text.lines().take(8).any(|line| line.starts_with(HEAD))
}

impl Histogram {
    /// Reads a file.
    pub(super) fn parse(file: &str, text: &str) -> Result<Self, LogError> {
        let mut classes: Vec<Class> = Vec::new();
        let (mut latest, mut ends) = (None, 0);
        for (i, line) in text.lines().enumerate() {
            let fault = |what: String| LogError::new(file, Place::Line(i + 1), what);
            if let Some(names) = line.strip_prefix(HEAD) {
                let class = |name: &str| Class { name: name.into(), count: 0, longest: None, beyond: 0 };
                classes = names.split_whitespace().map(class).collect();
                continue;
            }
            if classes.is_empty() || line.trim().is_empty() {
                continue;
            }
            let (label, counts) =
                line.split_once(':').ok_or_else(|| fault("a line is a time, a colon and counts".into()))?;
            let counts = numbers(counts).map_err(fault)?;
            if counts.len() != classes.len() {
                let (wanted, has) = (classes.len(), counts.len());
                return Err(fault(format!(
                    "there are {wanted} traffic classes, and the line has {has} counts"
                )));
            }
            let time = match label {
                "Overflow" | "Underflow" => None,
                time => Some(number(time.trim()).map_err(fault)?),
            };
            if time.is_some() && (time <= latest || ends > 0) {
                return Err(fault(format!("the time {label} is not after the time of the line before")));
            }
            latest = latest.max(time);
            ends += usize::from(time.is_none());
            for (class, count) in classes.iter_mut().zip(counts) {
                let sum = class.count.checked_add(count);
                class.count = sum.ok_or_else(|| fault("more packets than a number can have".into()))?;
                match label {
                    "Underflow" => {}
                    "Overflow" => class.beyond += count,
                    _ if count > 0 => class.longest = time,
                    _ => {}
                }
            }
        }
        if ends != 2 {
            let what = "the file is cut off: it ends with the lines `Overflow` and `Underflow`";
            return Err(LogError::new(file, Place::Line(text.lines().count()), what));
        }
        classes.retain(|class| class.count > 0);
        match classes.is_empty() {
            true => Err(LogError::new(file, Place::File, "the histogram has no round trip")),
            false => Ok(Self { classes }),
        }
    }

    /// The round trips of a class.
    pub(super) fn measurement(&self, asked: Option<&str>) -> Result<Measurement, String> {
        let class = super::class(&self.classes, |class| &class.name, asked)?;
        let longest = Span::from_ps(class.longest.unwrap_or(0).saturating_mul(1_000_000));
        Ok(Measurement {
            stretch: Stretch::RoundTrip,
            received: class.count,
            missing: Missing::Unknown,
            worst: match (class.beyond, class.longest) {
                (0, Some(_)) => Worst::Is(longest),
                _ => Worst::Above(longest),
            },
        })
    }

    /// Facts that the rows do not contain.
    pub(super) fn notes(&self) -> Vec<String> {
        vec!["a histogram has no count of packets that were sent: those that are lost are not in it".into()]
    }
}

#[cfg(test)]
mod tests;
