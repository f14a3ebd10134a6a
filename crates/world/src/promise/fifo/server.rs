//! Links as servers of network calculus, and frames on them.

use laxity_curves::Server;
use laxity_qos::costs::LinkCosts;
use laxity_units::{Bytes, Rate, Span};

use crate::experiment::{ChannelSpec, Experiment};

/// Bytes on the link of the shortest and the longest frame of `channel`.
pub(super) fn frames(experiment: &Experiment, channel: &ChannelSpec, framing: LinkCosts) -> (Bytes, Bytes) {
    let packet = experiment.packet();
    let on_link = |size: Bytes| size.max(framing.shortest) + framing.around;
    (on_link(channel.spec.smallest_packet(packet)), on_link(channel.spec.max_message.min(packet)))
}

/// Bytes on the link of the largest message of `channel`.
pub(super) fn message(experiment: &Experiment, channel: &ChannelSpec, framing: LinkCosts) -> Bytes {
    let fragments = channel.spec.fragmentation(experiment.packet());
    let on_link = |size: Bytes| size.max(framing.shortest) + framing.around;
    let full = on_link(experiment.packet()).get().saturating_mul(fragments.packets().saturating_sub(1));
    Bytes::new(full.saturating_add(on_link(fragments.last()).get()))
}

/// The server of a link: it is at least as fast as its rounded transmissions from `smallest` bytes
/// on, and never faster than its exact time for a byte.
pub(super) fn server(link: LinkCosts, smallest: Bytes) -> Server {
    const BITS: u128 = 8_000_000_000_000;
    const MANY: Bytes = Bytes::new(1 << 20);
    let rate = |bytes: Bytes, ps: u64, up: bool| {
        let (bits, ps) = (u128::from(bytes.get()) * BITS, u128::from(ps.max(1)));
        let rate = if up { bits.div_ceil(ps) } else { bits / ps };
        Rate::from_bits_per_sec(u64::try_from(rate).unwrap_or(u64::MAX).max(1))
    };
    let rounding = link.per_byte.rounding().as_ps();
    let slow = rate(smallest, link.per_byte.time(smallest).as_ps() + rounding, false);
    let fast = rate(MANY, link.per_byte.time(MANY).as_ps().saturating_sub(rounding), true);
    let (latency, propagation, below) = (Span::ZERO, Span::ZERO, Bytes::ZERO);
    Server { rate: slow, peak: fast, latency, propagation, fifo: true, below }
}

/// The longest frame of best effort at a port by strict priority, with its framing.
pub(super) fn below(experiment: &Experiment, station: usize, framing: LinkCosts) -> Bytes {
    let passes = |channel: &&ChannelSpec| channel.has_best_effort() && channel.senders().contains(&station);
    let frame = |channel: &ChannelSpec| {
        let kept = experiment.host(channel.route[0]).subsystem.enforcement;
        let longest = if kept { channel.spec.max_message } else { experiment.packet() };
        longest.min(experiment.packet()).max(framing.shortest) + framing.around
    };
    experiment.channels.iter().filter(passes).map(frame).max().unwrap_or_default()
}
