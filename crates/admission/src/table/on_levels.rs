//! Bounds of channels on levels that admission finds.
//!
//! A level is served in order of arrival, so all its channels have the response time of the lowest one
//! ([`super::super::levels`]). Levels are found by that, with one `W` for all.
//!
//! At a link alone the bound of a channel is less, in two ways. It waits for one packet of a lower level, or
//! of best effort, by (1) of [`super::super::below`], for which the `W` of all has room. And higher messages,
//! among which are those of its level, count until its last packet is selected
//! ([`super::super::response::selected`]).
//!
//! Why does `D_order` not decide by these? A newcomer gets the highest priority that those below tolerate,
//! and leaves them no more than they need. A channel without lower ones would then have no room for the
//! packet of a later one, which would be refused.

use super::by_level::selected;
use super::levels::TooFew;
use super::*;

/// A link alone.
pub(super) struct Alone<'a> {
    environment: &'a Environment,
    /// `W` and the bursts, without a packet.
    constant: u128,
    /// Per place, the longest packet below it.
    below: Vec<u128>,
}

/// Channels in order, with the levels that they get.
pub(super) struct OnLevels<'a> {
    /// The work above all channels.
    above: &'a [Task],
    claims: &'a [Claim],
    responses: Vec<u64>,
    levels: Vec<u32>,
}

impl<'a> OnLevels<'a> {
    /// The channels of `claims`, which are all in time, on no more than `most` levels; or one that is
    /// late if those do not suffice.
    pub(super) fn new(
        constant: u128,
        (above, claims): (&'a [Task], &'a [Claim]),
        most: u32,
        effort: &Effort,
    ) -> Result<Self, TooFew> {
        let mut responses = Vec::with_capacity(claims.len());
        sweep(constant, above, claims.iter().copied(), effort, |at, r| {
            responses.push((r.expect("an admitted channel meets its deadline"), claims[at].limit));
        });
        let levels = levels::assign(&responses, most)?;
        Ok(Self { above, claims, responses: responses.into_iter().map(|(r, _)| r).collect(), levels })
    }

    /// The level of the channel at `place`.
    pub(super) fn level(&self, place: usize) -> u32 {
        self.levels[place]
    }

    /// The lowest channel on the level of that at `place`.
    fn lowest(&self, place: usize) -> usize {
        levels::lowest_beside(&self.levels, place)
    }

    /// The response time of the level of the channel at `place`.
    pub(super) fn together(&self, place: usize) -> u64 {
        self.responses[self.lowest(place)]
    }

    /// `W` and the bursts of the channel at `place`.
    pub(super) fn wait(&self, place: usize, alone: &Alone<'_>) -> u128 {
        alone.constant + alone.below[self.lowest(place)]
    }

    /// The bound of `request`, which is the channel at `place`.
    pub(super) fn bound(
        &self,
        (place, request): (usize, &Request),
        alone: Option<&Alone<'_>>,
        effort: &Effort,
    ) -> u64 {
        let together = self.together(place);
        let Some(alone) = alone.filter(|_| request.is_sent()) else { return together };
        let level = self.claims[..=self.lowest(place)].iter().map(|claim| claim.task);
        let level = self.above.iter().copied().chain(level).collect();
        let channel = (self.above.len() + place, request);
        let (own, others) = selected(alone.environment, self.wait(place, alone), level, channel);
        own.response(&others, together, effort).unwrap_or(together)
    }
}

impl AdmissionTable {
    /// The link alone with channels in that order, where `shared` is of `population`; `None` if CPU and
    /// link are there.
    pub(super) fn alone<'a>(
        &self,
        (shared, population): (&Shared, &Population),
        order: impl DoubleEndedIterator<Item = &'a Request>,
    ) -> Option<Alone<'_>> {
        let constant = self.without_packet(shared, population)?;
        let mut longest = self.best_effort.largest_packet.map_or(0, |size| self.on_link(size));
        let mut below = Vec::new();
        for request in order.rev() {
            below.push(longest);
            longest = longest.max(self.longest_packet(request));
        }
        below.reverse();
        Some(Alone { environment: &self.environment, constant, below })
    }
}
