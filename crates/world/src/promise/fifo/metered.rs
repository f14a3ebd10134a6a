//! Channels behind flow meters: a meter restores the contract, whatever the host before it does.
//!
//! A meter passes no more in an interval `δ` than its bucket, `B_max + (δ + τ) / I_min` messages. So a
//! channel without a bound at its host, because the source exceeds its contract or the queue there is
//! shared with such a source, burdens the queues from its meter on no more than that. It has no bound
//! itself: the meter may drop any of its frames.
//!
//! The meter passes all frames of a channel that keeps the same limit. A channel with bursts `B ≤ B_max` and,
//! by its bound at the host, jitter `J` does so if `J ≤ τ + (B_max - B) I_min`.

use std::ops::Range;

use laxity_curves::{Bucket, FlowBound};
use laxity_units::Span;

use super::server::limits;
use super::{Arrivals, Entry, Part, once_each};
use crate::coverage::Uncovered;

impl Part<'_> {
    /// The place of the meter of `entry` among its queues, and its tolerance.
    fn meter(&self, entry: &Entry) -> Option<(usize, Span)> {
        let channel = self.channel(entry);
        let tolerance = |hop: usize| self.experiment.meter_tolerance(channel, hop);
        entry.hops.clone().zip(0..).find_map(|(hop, place)| Some((place, tolerance(hop)?)))
    }

    /// The place of the queue at which a meter restores the contract of `entry`, and the tolerance, if
    /// arrivals of it are known at its first `reach` queues only. A regulator further on would go by the
    /// contract at a host that keeps it.
    pub(super) fn restored(&self, entry: &Entry, reach: usize) -> Option<(usize, Span)> {
        let unknown = reach + usize::from(entry.source.is_ok());
        let (place, tolerance) = self.meter(entry).filter(|(place, _)| *place >= unknown)?;
        let (channel, hops) = (self.channel(entry), entry.hops.start + place..entry.hops.end);
        let bounded =
            once_each(&self.stations(entry)[place..]).and_then(|()| self.framed_alike(entry)).is_ok();
        (bounded && !self.regulated(channel, &hops)).then_some((place, tolerance))
    }

    /// The queues from that one on, up to one without a bound, and the arrivals of `entry` there.
    pub(super) fn behind_meter(
        &self,
        entry: &Entry,
        reach: usize,
        queues: &[Result<(), Uncovered>],
    ) -> Option<(Range<usize>, Arrivals)> {
        let (begin, tolerance) = self.restored(entry, reach)?;
        let (channel, path) = (self.channel(entry), self.stations(entry));
        let bounded = path[begin..].iter().take_while(|station| queues[**station].is_ok()).count();
        let limits = limits(self.experiment, channel, path[begin], channel.spec.burst);
        (bounded > 0).then_some((begin..begin + bounded, (limits, tolerance)))
    }

    /// Whether the meter of `entry` passes all that its contract allows, by its bounds.
    pub(super) fn passes_meter(&self, entry: &Entry, found: &FlowBound) -> Result<(), Uncovered> {
        let Some((place, tolerance)) = self.meter(entry) else { return Ok(()) };
        let spec = &self.channel(entry).spec;
        let Ok((source, _)) = &entry.source else { return Ok(()) };
        let [Bucket::Frames { burst, .. }, ..] = source[..] else { return Err(Uncovered::MeterTolerance) };
        let spare = spec.min_interval.saturating_mul(u64::from(spec.burst).saturating_sub(burst));
        match found.jitter[place] <= tolerance.saturating_add(spare) {
            true => Ok(()),
            false => Err(Uncovered::MeterTolerance),
        }
    }
}
