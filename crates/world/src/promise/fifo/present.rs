//! Messages and packets that can be at a queue.

use laxity_admission::Scarce;
use laxity_curves::{Bucket, FlowBound};
use laxity_units::Span;

use super::{Entry, Part};

impl Part<'_> {
    /// The slots that the host of `entry` lacks where its packets wait before the queue, and how many: a
    /// packet that waited for a buffer would keep its handler.
    pub(super) fn lacks(&self, entry: &Entry, found: &FlowBound) -> Option<(Scarce, u64)> {
        let channel = self.channel(entry);
        let messages = self.present(entry, found, 0);
        let packets = messages.saturating_mul(channel.spec.fragmentation(self.experiment.packet()).packets());
        let needs = [
            (Scarce::Messages, messages, u64::from(channel.message_slots)),
            (Scarce::Packets, packets, channel.packet_slots),
        ];
        let lack = |(scarce, needs, has): (Scarce, u64, u64)| Some((scarce, needs.checked_sub(has)?));
        needs.into_iter().filter_map(lack).find(|(_, lacks)| *lacks > 0)
    }

    /// Messages of a channel that can be at queue `place` of a row.
    ///
    /// They have arrived within the longest stay. Each arrives no sooner than `(B - 1) I` and a jitter before
    /// its latest instant, is gone by its bound after that, and these instants are an interval apart.
    pub(super) fn present(&self, entry: &Entry, found: &FlowBound, place: usize) -> u64 {
        let Some((burst, interval, jitter)) = frames(entry) else { return u64::MAX };
        let under_way = found.passed[place].saturating_add(jitter).div_ceil(interval).max(1);
        let stays = self.arrive(entry, found.stays[place].saturating_add(found.jitter[place]));
        stays.min((burst - 1).saturating_add(under_way))
    }

    /// Messages of a channel that arrive at a queue within a closed `window`, by all of its limits.
    fn arrive(&self, entry: &Entry, window: Span) -> u64 {
        let Ok((source, _)) = &entry.source else { return u64::MAX };
        let messages = source.iter().map(|bucket| match bucket {
            Bucket::Frames { burst, interval, .. } => burst.saturating_add(window.as_ps() / interval.as_ps()),
            Bucket::Fluid { .. } => u64::MAX,
        });
        messages.min().unwrap_or(u64::MAX)
    }

    /// Messages of a channel at a station that holds them until their logical arrival, each until a
    /// `window` after that at most.
    ///
    /// A further limit counts arrivals, and early messages wait there from their arrival on.
    pub(super) fn within(&self, entry: &Entry, window: Span) -> u64 {
        let Some((burst, interval, _)) = frames(entry) else { return u64::MAX };
        burst.saturating_add(window.as_ps() / interval.as_ps())
    }
}

/// The burst and the interval of a channel as it enters a row, by its first limit, and its jitter there.
fn frames(entry: &Entry) -> Option<(u64, Span, Span)> {
    let Ok((source, jitter)) = &entry.source else { return None };
    let [Bucket::Frames { burst, interval, .. }, ..] = source[..] else { return None };
    Some((burst, interval, *jitter))
}
