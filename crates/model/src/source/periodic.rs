//! A message every interval: what a specification promises, with nothing left over.

use laxity_engine::Stream;
use laxity_units::{Span, Time};

use super::{Arrival, Multiple, Sizes, SourceError};

pub(super) const INTERVAL: &str = "an interval above zero, such as `50 ms`";

/// Parameters of a [`Periodic`] source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeriodicParameters {
    /// From one message to the next at multiple one: I_min.
    pub interval: Span,
    /// How many times the rate 1/I_min is sent; above one violates the specification.
    pub multiple: Multiple,
    /// The sizes of messages.
    pub sizes: Sizes,
    /// The first message.
    pub start: Time,
}

/// Sends at `start + k × interval / multiple`, k = 0, 1, ...
#[derive(Debug, Clone)]
pub struct Periodic {
    parameters: PeriodicParameters,
    random: Stream,
    sent: u64,
}

impl Periodic {
    /// The source with `parameters`; sizes are drawn from `random`.
    pub fn new(parameters: PeriodicParameters, random: Stream) -> Result<Periodic, SourceError> {
        if parameters.interval.is_zero() {
            return Err(SourceError::new("interval", "is zero", INTERVAL));
        }
        parameters.sizes.check()?;
        Ok(Periodic { parameters, random, sent: 0 })
    }

    /// The next message; `None` past the last instant.
    #[inline(always)]
    pub fn next_arrival(&mut self) -> Option<Arrival> {
        let of = &self.parameters;
        let at = of.multiple.after(of.start, of.interval, self.sent)?;
        self.sent += 1;
        Some(Arrival { at, size: of.sizes.draw(&mut self.random) })
    }
}
