//! A promise of a shorter deadline than the requested one.
//!
//! A channel is content with any promise that ends before its deadline, and a longer deadline is not
//! always easier to keep. By a deadline beyond `I_min` several messages may be under way, which some tests
//! do not cover and which takes more buffers. A path shares out all of a deadline, so messages are ahead of
//! their time by more behind each hop. Where the requested deadline is refused, shorter ones are tried.

use laxity_admission::{Deficit, Formula, Request};
use laxity_units::Span;

use super::super::answer::Refused;
use super::{Reservation, Tables};
use crate::experiment::{ChannelSpec, Experiment};

/// Parts of the requested deadline that are tried, in percent.
pub(super) const PARTS: [u64; 4] = [75, 50, 25, 10];

impl Tables {
    /// Reserves for `channel` with a deadline before that of `asked`, which is `refused`.
    pub(super) fn admit_sooner(
        &mut self,
        experiment: &Experiment,
        channel: &ChannelSpec,
        (asked, refused): (Request, Refused),
    ) -> Option<Reservation> {
        let of_deadlines = matches!(refused.refusal.deficit, Deficit::Time(_) | Deficit::Places(_));
        // The papers have one deadline, and admit it or not.
        if self.formula != Formula::Corrected || !of_deadlines {
            return None;
        }
        let (deadline, interval) = (asked.deadline(), channel.spec.min_interval);
        let at_once = (interval < deadline).then_some(interval);
        // A single station orders its channels by the deadline itself.
        let divided = (channel.route.len() > 1).then_some(PARTS);
        let parts = divided.into_iter().flatten().map(|part| (deadline / 100).saturating_mul(part));
        let mut shorter: Vec<Span> = at_once.into_iter().chain(parts).collect();
        shorter.truncate(self.tries);
        self.tries -= shorter.len();
        shorter.into_iter().find_map(|span| self.admit(experiment, channel, asked.within(span)).ok())
    }
}
