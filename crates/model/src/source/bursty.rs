//! Bursts: a window of messages at once, then nothing for as long as they were worth.
//!
//! With bursts of B_max messages every B_max × I_min it has the specification's rate and its burst,
//! and conforms: two bursts and the interval between them hold 2 B_max = B_max + (B_max I_min)
//! R_max messages. It is the traffic of channels 0 and 1 of the papers' workloads (structuring
//! paper, Table 3; thesis, Table 6.2).

use laxity_engine::Stream;
use laxity_units::{Span, Time};

use super::periodic::INTERVAL;
use super::{Arrival, Multiple, Sizes, SourceError};

pub(super) const BURST: &str = "at least 1 message";

/// Parameters of a [`Bursty`] source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BurstyParameters {
    /// Messages in a burst: at most B_max for a source that conforms.
    pub burst: u32,
    /// From one message to the next on average at multiple one: I_min. A burst comes every `burst` of it.
    pub interval: Span,
    /// How many times the rate 1/I_min is sent; above one violates the specification.
    pub multiple: Multiple,
    /// The sizes of messages.
    pub sizes: Sizes,
    /// The first burst.
    pub start: Time,
}

/// Sends `burst` messages at `start + k × burst × interval / multiple`, k = 0, 1, ...
#[derive(Debug, Clone)]
pub struct Bursty {
    parameters: BurstyParameters,
    random: Stream,
    sent: u64,
}

impl Bursty {
    /// The source with `parameters`; sizes are drawn from `random`.
    pub fn new(parameters: BurstyParameters, random: Stream) -> Result<Bursty, SourceError> {
        if parameters.burst == 0 {
            return Err(SourceError::new("burst", "is zero", BURST));
        }
        if parameters.interval.is_zero() {
            return Err(SourceError::new("interval", "is zero", INTERVAL));
        }
        parameters.sizes.check()?;
        Ok(Bursty { parameters, random, sent: 0 })
    }

    /// The next message; `None` past the last instant.
    pub fn next_arrival(&mut self) -> Option<Arrival> {
        let BurstyParameters { burst, interval, multiple, sizes, start } = self.parameters;
        let in_bursts_before = self.sent - self.sent % u64::from(burst);
        let at = multiple.after(start, interval, in_bursts_before)?;
        self.sent += 1;
        Some(Arrival { at, size: sizes.draw(&mut self.random) })
    }
}
