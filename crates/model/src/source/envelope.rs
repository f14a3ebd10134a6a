//! Maximum send rate of a source, for the analysis of a CPU that it shares.

use laxity_units::{Span, Time};

use super::recorded::TraceTiming;
use super::{Multiple, SourceParameters};

/// At most `extra + ⌈δ / every⌉` times in any span `δ`, a source sends at most `batch` messages at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope {
    /// Messages at once.
    pub batch: u32,
    /// Spacing of the times, rounded down; not zero.
    pub every: Span,
    /// Times beyond the regular ones.
    pub extra: u32,
}

impl SourceParameters {
    /// The source's envelope; `None` where nothing bounds it, or only a look at the whole trace would.
    pub fn envelope(&self) -> Option<Envelope> {
        let regular = |batch: u32, interval: Span, multiple: Multiple| {
            // A source rounds every instant up, so two of them may be a picosecond closer than this.
            let period = multiple.after(Time::ZERO, interval, u64::from(batch))?;
            let every = period.since(Time::ZERO).saturating_sub(Span::from_ps(1));
            (!every.is_zero()).then_some(Envelope { batch, every, extra: 0 })
        };
        match self {
            SourceParameters::Periodic(p) => regular(1, p.interval, p.multiple),
            SourceParameters::Bursty(p) => regular(p.burst, p.interval, p.multiple),
            SourceParameters::Poisson(_) => None,
            SourceParameters::Adversary(p) => Some(Envelope { batch: 1, every: p.interval, extra: p.burst }),
            SourceParameters::Recorded(p) => {
                let interval = match p.timing {
                    TraceTiming::Interval(interval) => Some(interval),
                    TraceTiming::Recorded => p.trace.frame_interval(),
                };
                regular(1, interval?, p.pace)
            }
            SourceParameters::Script(p) => p.envelope(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BurstyParameters, Sizes};
    use super::*;
    use laxity_units::Bytes;

    #[test]
    fn a_burst_is_one_time() {
        let parameters = SourceParameters::Bursty(BurstyParameters {
            burst: 12,
            interval: Span::from_ms(50),
            multiple: Multiple::new(3, 2).unwrap(),
            sizes: Sizes::Fixed(Bytes::new(1)),
            start: Time::ZERO,
        });
        let every = Span::from_ms(400).saturating_sub(Span::from_ps(1));
        assert_eq!(parameters.envelope(), Some(Envelope { batch: 12, every, extra: 0 }));
    }
}
