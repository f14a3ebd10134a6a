//! The worst that a specification allows.
//!
//! A linear bounded arrival process promises that in any interval of length δ there are at most
//! B_max + δ R_max messages, of at most M_max bytes (resource management paper, §2.1). A proof must hold for
//! every such traffic, so a test needs the one that leaves the proof no room, and then some that are merely
//! awkward.
//!
//! The bound is the same as this rule for one message after another. Let T be the earliest instant at which
//! the next message would come if all before it had kept I_min apart (its logical arrival time, were it sent
//! now or before). It may be sent at t if t ≥ T − (B_max − 1) I_min; then T becomes max(T, t) + I_min.
//!
//! Of several limits each has a T of its own, and a message is sent when all of them allow it.
//!
//! ```text
//! greedy   ||||  |  |  |  |  |  |  |        B_max at once, then one every I_min, as early as allowed
//! saving   ||||        |||  |    ||||      |  saves up some of the burst, lets it go, and again
//! ```

use laxity_engine::Stream;
use laxity_qos::limits::{Limits, MOST_LIMITS, MessageLimit};
use laxity_units::{Span, Time};

use super::bursty::BURST;
use super::periodic::INTERVAL;
use super::{Arrival, Sizes, SourceError};

/// Use of an [`Adversary`]'s allowance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowance {
    /// Sends every message as early as allowed: the critical instant of every proof.
    Greedy,
    /// Again and again waits until a random part of the largest burst is allowed, at times a little longer,
    /// and sends all of it at once, or as close together as further limits allow: bursts that meet other
    /// channels' at every phase.
    Saving,
}

/// Parameters of an [`Adversary`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdversaryParameters {
    /// B_max of the specification, in messages.
    pub burst: u32,
    /// I_min = 1 / R_max of the specification.
    pub interval: Span,
    /// Limits of the specification beside those two.
    pub limits: Limits,
    /// The sizes of messages: fixed at M_max for the worst.
    pub sizes: Sizes,
    /// Before this nothing is sent.
    pub start: Time,
    /// How it uses what it is allowed.
    pub allowance: Allowance,
}

/// Sends all that its specification allows, and never more.
#[derive(Debug, Clone)]
pub struct Adversary {
    parameters: AdversaryParameters,
    random: Stream,
    /// The last instant at which something was sent, or the start.
    now: Time,
    /// The next message's logical arrival time if it is sent before that: T.
    logical: Time,
    /// The same by each further limit.
    further: [Time; MOST_LIMITS],
    /// Messages of the present burst that are still to be sent from `now` on.
    left: u64,
}

/// The earliest instant at which `limit` allows `wanted` messages at once, or its burst if that is less.
///
/// The last of `wanted` messages at one instant has a logical arrival time `wanted - 1` later.
fn allows(limit: MessageLimit, logical: Time, wanted: u64) -> Time {
    let spare = u64::from(limit.burst).saturating_sub(wanted);
    logical.saturating_sub(limit.min_interval.saturating_mul(spare))
}

impl Adversary {
    /// The source with `parameters`; waits and sizes are drawn from `random`.
    pub fn new(parameters: AdversaryParameters, random: Stream) -> Result<Adversary, SourceError> {
        if parameters.burst == 0 {
            return Err(SourceError::new("burst", "is zero", BURST));
        }
        if parameters.interval.is_zero() {
            return Err(SourceError::new("interval", "is zero", INTERVAL));
        }
        parameters.sizes.check()?;
        if parameters.limits.iter().any(|limit| limit.burst == 0 || limit.min_interval.is_zero()) {
            return Err(SourceError::new("limits", "have a zero", "at least 1 message and an interval"));
        }
        let AdversaryParameters { burst, start, .. } = parameters;
        let (logical, further) = (start, [start; MOST_LIMITS]);
        Ok(Adversary { parameters, random, now: start, logical, further, left: u64::from(burst) })
    }

    /// The next message; `None` past the last instant.
    pub fn next_arrival(&mut self) -> Option<Arrival> {
        if self.left == 0 {
            self.plan()?;
        }
        self.left -= 1;
        self.now = self.now.max(self.allowed(1));
        let now = self.now;
        let next = |logical: Time, interval: Span| {
            logical.max(now).as_ps().checked_add(interval.as_ps()).map(Time::from_ps)
        };
        self.logical = next(self.logical, self.parameters.interval)?;
        for (logical, limit) in self.further.iter_mut().zip(self.parameters.limits.iter()) {
            *logical = next(*logical, limit.min_interval)?;
        }
        Some(Arrival { at: self.now, size: self.parameters.sizes.draw(&mut self.random) })
    }

    /// The earliest instant at which all limits allow `wanted` messages, as many at once as each can.
    fn allowed(&self, wanted: u64) -> Time {
        let AdversaryParameters { burst, interval, limits, .. } = self.parameters;
        let first = allows(MessageLimit { burst, min_interval: interval }, self.logical, wanted);
        let further = self.further.iter().zip(limits.iter());
        further.map(|(logical, limit)| allows(limit, *logical, wanted)).fold(first, Time::max)
    }

    /// Sets when the next burst is and how many messages it has.
    fn plan(&mut self) -> Option<()> {
        let AdversaryParameters { burst, interval, limits, allowance, .. } = self.parameters;
        let burst = u64::from(limits.iter().map(|limit| limit.burst).fold(burst, u32::max));
        let (wanted, wait) = match allowance {
            Allowance::Greedy => (1, Span::ZERO),
            Allowance::Saving => {
                let wanted = 1 + self.random.below(burst);
                let waits = self.random.below(4) == 0;
                (wanted, if waits { Span::from_ps(self.random.below(interval.as_ps())) } else { Span::ZERO })
            }
        };
        let allowed = self.allowed(wanted);
        self.now = self.now.max(allowed).as_ps().checked_add(wait.as_ps()).map(Time::from_ps)?;
        self.left = wanted;
        Some(())
    }
}
