//! Workload: sources of messages, with sizes and times.
//!
//! A guarantee is only as good as its test traffic. Periodic traffic never meets the worst case and
//! Poisson traffic meets it by accident. Therefore there are also an [`Adversary`] with the worst
//! traffic of its specification, sources that [violate](Multiple) theirs on purpose, and
//! [`RecordedSource`] traffic without a specification.
//!
//! All sources are open loop: arrivals do not depend on outcomes. A source therefore has no network
//! and no clock; it is a lazy list of [`Arrival`]s, not decreasing in time, the same for the same
//! parameters and seed.
//!
//! ```
//! use laxity_engine::Seed;
//! use laxity_model::source::{Bursty, BurstyParameters, Multiple, Sizes};
//! use laxity_units::{Bytes, Span, Time};
//!
//! // Channel 0 of the thesis's Table 6.2: 12 messages of 60 KiB at once, one every 50 ms on average.
//! let parameters = BurstyParameters {
//!     burst: 12,
//!     interval: Span::from_ms(50),
//!     multiple: Multiple::ONE,
//!     sizes: Sizes::Fixed(Bytes::from_kib(60)),
//!     start: Time::ZERO,
//! };
//! let mut source = Bursty::new(parameters, Seed::new(1).stream("channel 0")).unwrap();
//! let thirteenth = (0..13).filter_map(|_| source.next_arrival()).last().unwrap();
//! assert_eq!(thirteenth.at, Time::ZERO + Span::from_ms(600));
//! ```

mod adversary;
mod bursty;
mod envelope;
pub mod mpeg;
mod multiple;
mod periodic;
mod poisson;
mod recorded;
mod script;
mod sizes;
pub mod trace;

use std::fmt;

use laxity_engine::Stream;
use laxity_units::{Bytes, Time};

pub use adversary::{Adversary, AdversaryParameters, Allowance};
pub use bursty::{Bursty, BurstyParameters};
pub use envelope::Envelope;
pub use multiple::Multiple;
pub use periodic::{Periodic, PeriodicParameters};
pub use poisson::{Poisson, PoissonParameters};
pub use recorded::{RecordedParameters, RecordedSource, Start, TraceTiming};
pub use script::{Script, ScriptParameters};
pub use sizes::Sizes;

/// A message handed to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When.
    pub at: Time,
    /// Its bytes, headers of the network excluded; at least one.
    pub size: Bytes,
}

/// The parameters of a source, as a scenario gives them.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceParameters {
    /// A message every interval.
    Periodic(PeriodicParameters),
    /// Bursts of messages at once.
    Bursty(BurstyParameters),
    /// Independent messages.
    Poisson(PoissonParameters),
    /// The worst that a specification allows.
    Adversary(AdversaryParameters),
    /// A recording.
    Recorded(RecordedParameters),
    /// A list of messages.
    Script(ScriptParameters),
}

/// A source of any kind.
#[derive(Debug, Clone)]
pub enum Source {
    /// A message every interval.
    Periodic(Periodic),
    /// Bursts of messages at once.
    Bursty(Bursty),
    /// Independent messages.
    Poisson(Poisson),
    /// The worst that a specification allows.
    Adversary(Adversary),
    /// A recording.
    Recorded(RecordedSource),
    /// A list of messages.
    Script(Script),
}

impl Source {
    /// The source with `parameters`, which draws what it leaves to chance from `random`.
    pub fn new(parameters: SourceParameters, random: Stream) -> Result<Source, SourceError> {
        Ok(match parameters {
            SourceParameters::Periodic(parameters) => Source::Periodic(Periodic::new(parameters, random)?),
            SourceParameters::Bursty(parameters) => Source::Bursty(Bursty::new(parameters, random)?),
            SourceParameters::Poisson(parameters) => Source::Poisson(Poisson::new(parameters, random)?),
            SourceParameters::Adversary(parameters) => Source::Adversary(Adversary::new(parameters, random)?),
            SourceParameters::Recorded(parameters) => {
                Source::Recorded(RecordedSource::new(parameters, random)?)
            }
            SourceParameters::Script(parameters) => Source::Script(Script::new(parameters, random)?),
        })
    }

    /// The next message; `None` when the source has ended or time has.
    // Each message asks for the next, so the commonest source is a few instructions where it is
    // asked and the others are a call.
    #[inline(always)]
    pub fn next_arrival(&mut self) -> Option<Arrival> {
        match self {
            Source::Periodic(source) => source.next_arrival(),
            other => other.next_of_another(),
        }
    }

    #[inline(never)]
    fn next_of_another(&mut self) -> Option<Arrival> {
        match self {
            Source::Periodic(source) => source.next_arrival(),
            Source::Bursty(source) => source.next_arrival(),
            Source::Poisson(source) => source.next_arrival(),
            Source::Adversary(source) => source.next_arrival(),
            Source::Recorded(source) => source.next_arrival(),
            Source::Script(source) => source.next_arrival(),
        }
    }
}

/// Why parameters make no source, and what would.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceError {
    parameter: &'static str,
    reason: String,
    valid: &'static str,
}

impl SourceError {
    fn new(parameter: &'static str, reason: impl Into<String>, valid: &'static str) -> SourceError {
        SourceError { parameter, reason: reason.into(), valid }
    }

    /// The parameter at fault, by its name in the parameter struct.
    pub fn parameter(&self) -> &'static str {
        self.parameter
    }

    /// Why it is invalid.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The valid values.
    pub fn valid(&self) -> &'static str {
        self.valid
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the source's {} {}; valid is {}", self.parameter, self.reason, self.valid)
    }
}

impl std::error::Error for SourceError {}
