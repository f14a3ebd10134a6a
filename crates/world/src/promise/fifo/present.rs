//! Messages and packets that can be at a queue.

use laxity_curves::{Bucket, FlowBound};
use laxity_units::Span;

use super::{Entry, Found, Part};
use crate::coverage::Uncovered;

impl Part<'_> {
    /// Takes the bound from hosts where a packet may wait for a buffer before the queue; whether
    /// there is one.
    pub(super) fn blocks(
        &self,
        entries: &[Entry],
        found: &[Option<Found>],
        queues: &mut [Result<(), Uncovered>],
    ) -> bool {
        let mut blocks = false;
        for (entry, found) in entries.iter().zip(found).filter(|(entry, _)| entry.hops.start == 0) {
            let Some(Ok(found)) = found else { continue };
            let channel = self.channel(entry);
            let messages = self.present(entry, found, 0);
            let packets =
                messages.saturating_mul(channel.spec.fragmentation(self.experiment.packet()).packets());
            let short = messages > u64::from(channel.message_slots) || packets > channel.packet_slots;
            if short && queues[channel.route[0]].is_ok() {
                queues[channel.route[0]] = Err(Uncovered::FifoRoom);
                blocks = true;
            }
        }
        blocks
    }

    /// Messages of a channel that can be at queue `place` of a row.
    pub(super) fn present(&self, entry: &Entry, found: &FlowBound, place: usize) -> u64 {
        self.within(entry, found.stays[place].saturating_add(found.jitter[place]))
    }

    /// Messages of a channel within a closed `window` as it enters the row.
    pub(super) fn within(&self, entry: &Entry, window: Span) -> u64 {
        let Ok((source, _)) = &entry.source else { return u64::MAX };
        let [Bucket::Frames { burst, interval, .. }] = source[..] else { return u64::MAX };
        burst.saturating_add(window.as_ps() / interval.as_ps())
    }
}
