//! Independent messages: the traffic of many small senders.
//!
//! The intervals are independent and exponential, so any number of messages can arrive in any
//! interval: a Poisson source conforms to no specification with a finite burst. It serves as
//! best-effort load and as a violation.

use laxity_engine::Stream;
use laxity_units::{Span, Time};

use super::periodic::INTERVAL;
use super::{Arrival, Sizes, SourceError};

/// Parameters of a [`Poisson`] source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoissonParameters {
    /// From one message to the next on average.
    pub mean_interval: Span,
    /// The sizes of messages.
    pub sizes: Sizes,
    /// Start of the process; the first message arrives an interval after it.
    pub start: Time,
}

/// Sends after intervals that are drawn, one by one.
#[derive(Debug, Clone)]
pub struct Poisson {
    parameters: PoissonParameters,
    random: Stream,
    last: Time,
}

impl Poisson {
    /// The source with `parameters`; intervals and sizes are drawn from `random`.
    pub fn new(parameters: PoissonParameters, random: Stream) -> Result<Poisson, SourceError> {
        if parameters.mean_interval.is_zero() {
            return Err(SourceError::new("mean_interval", "is zero", INTERVAL));
        }
        parameters.sizes.check()?;
        Ok(Poisson { parameters, random, last: parameters.start })
    }

    /// The next message; `None` past the last instant.
    pub fn next_arrival(&mut self) -> Option<Arrival> {
        let interval = self.random.exponential(self.parameters.mean_interval);
        self.last = self.last.as_ps().checked_add(interval.as_ps()).map(Time::from_ps)?;
        Some(Arrival { at: self.last, size: self.parameters.sizes.draw(&mut self.random) })
    }
}
