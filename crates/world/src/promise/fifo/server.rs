//! Links as servers of network calculus, and channels on them.

use laxity_curves::{Bucket, Cyclic, FramePreemption, Gates, Server};
use laxity_model::switch::PortConfig;
use laxity_model::switch::preemption::{LONGEST_WAIT, OVERHEAD};
use laxity_qos::channel::Order;
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::{Class, LOWEST, Shaper};
use laxity_qos::limits::MessageLimit;
use laxity_units::{Bytes, Rate, Span};

use crate::experiment::{ChannelSpec, Experiment};
use crate::traffic::conformance::kept_limits;

/// Bytes on the link of the shortest and the longest frame of `channel`.
pub(super) fn frames(experiment: &Experiment, channel: &ChannelSpec, framing: LinkCosts) -> (Bytes, Bytes) {
    let packet = experiment.packet();
    (
        framing.on_link(channel.spec.smallest_packet(packet)),
        framing.on_link(channel.spec.largest_packet(packet)),
    )
}

/// The limits of `channel` on the link of `station`, with `burst` messages at once.
pub(super) fn limits(
    experiment: &Experiment,
    channel: &ChannelSpec,
    station: usize,
    burst: u32,
) -> Vec<Bucket> {
    let size = experiment.message_on_link(station, channel);
    vec![Bucket::Frames { size, burst: burst.into(), interval: channel.spec.min_interval }]
}

/// The further limits that the source of `channel` keeps on the link of `station`, but those that its first
/// one implies with `burst` messages at once.
pub(super) fn further(
    experiment: &Experiment,
    channel: &ChannelSpec,
    station: usize,
    burst: u32,
) -> impl Iterator<Item = Bucket> {
    let size = experiment.message_on_link(station, channel);
    let first = MessageLimit { burst, ..channel.spec.limit() };
    let further = kept_limits(channel).filter(move |limit| !first.implies(*limit));
    further.map(move |limit| Bucket::Frames { size, burst: limit.burst.into(), interval: limit.min_interval })
}

/// The server of a link of `station`, for real-time frames of at least `smallest` bytes.
pub(super) fn server(experiment: &Experiment, station: usize, link: LinkCosts, smallest: Bytes) -> Server {
    let server = first_come(link, smallest);
    if experiment.link_order(station) != Order::StrictPriority {
        return server;
    }
    let server = Server { fifo: false, below: below(experiment, station, link), ..server };
    let Some(outlet) = experiment.outlet(station) else { return server };
    let port = &outlet.config;
    Server {
        shapers: port.selection.as_deref().map(|it| shapers(&it.shapers, server.peak)).unwrap_or_default(),
        gates: gates(experiment, station, port),
        cyclic: cyclic(experiment, station, port),
        regulated: regulated(port),
        preemption: preemption(port),
        ..server
    }
}

/// The server of the link of host `node` with the shapers of its adapter.
pub(crate) fn of_host(experiment: &Experiment, node: usize, link: LinkCosts) -> Server {
    let below = below(experiment, node, link);
    let guaranteed = |channel: &&ChannelSpec| channel.class == Class::RealTime && channel.leaves(node);
    let frames = experiment.channels.iter().filter(guaranteed).map(|it| frames(experiment, it, link).0);
    let smallest = frames.chain((!below.is_zero()).then_some(below)).min().unwrap_or(Bytes::new(1));
    let server = first_come(link, smallest);
    Server { fifo: false, below, shapers: shapers(experiment.shapers(node), server.peak), ..server }
}

/// A link in order of arrival: it is at least as fast as its rounded transmissions from `smallest` bytes
/// on, and never faster than its exact time for a byte.
fn first_come(link: LinkCosts, smallest: Bytes) -> Server {
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
    Server { peak: fast, ..Server::first_come(slow) }
}

/// The longest frame of best effort at a station by strict priority, with its framing.
fn below(experiment: &Experiment, station: usize, framing: LinkCosts) -> Bytes {
    let passes = |channel: &&ChannelSpec| channel.has_best_effort() && channel.leaves(station);
    let frame = |channel: &ChannelSpec| {
        let kept = experiment.host(channel.route[0]).subsystem.enforcement;
        let longest = if kept { channel.spec.max_message } else { experiment.packet() };
        framing.on_link(longest.min(experiment.packet()))
    };
    experiment.channels.iter().filter(passes).map(frame).max().unwrap_or_default()
}

/// The classes with a credit-based shaper, and their idle slopes. A slope that the link does not
/// exceed holds nothing back: the credit never falls.
fn shapers(shapers: &[Shaper], link: Rate) -> Vec<(u8, Rate)> {
    let holding = shapers.iter().filter(|shaper| shaper.idle_slope < link);
    holding.map(|shaper| (shaper.level, shaper.idle_slope)).collect()
}

/// The windows of a port's gates, by level.
fn gates(experiment: &Experiment, station: usize, port: &PortConfig) -> Option<Gates> {
    let gates = port.selection.as_ref()?.gates.as_ref()?;
    let begins = |begin: Span| {
        let at = u128::from(begin.as_ps()) + u128::from(gates.offset().as_ps());
        Span::from_ps((at % u128::from(gates.cycle().as_ps())) as u64)
    };
    let windows = |level: u8| {
        let name = if level == LOWEST { Gates::BELOW } else { level };
        let open = gates.of(level)?.into_iter().map(|(begin, length)| (begins(begin), length));
        Some((name, open.collect()))
    };
    let open = (0..=LOWEST).filter_map(windows).collect();
    Some(Gates { cycle: gates.cycle(), open, behind: behind(experiment, station) })
}

/// Picoseconds from the end of a transmission of a port to the arrival at the next station, if it is the
/// same for all channels that go on.
fn behind(experiment: &Experiment, station: usize) -> Option<i64> {
    let mut found: Option<i64> = None;
    for (channel, hop) in passages_on(experiment, station) {
        let network = &experiment.networks[channel.ways[hop]];
        let way = network.longest_way().saturating_add(experiment.latency_into(channel.route[hop + 1]));
        let way = i64::try_from(way.as_ps()).ok()?;
        let way = way.checked_sub_unsigned(experiment.gap_behind(channel, hop).as_ps())?;
        if found.is_some_and(|found| found != way) {
            return None;
        }
        found = Some(way);
    }
    Some(found.unwrap_or(0))
}

/// The levels of a port with regulators.
fn regulated(port: &PortConfig) -> Vec<u8> {
    port.selection.iter().flat_map(|selection| selection.ats.iter().copied()).collect()
}

/// The preemption of a port. Each part of a frame is rounded up to a picosecond, which a byte covers.
fn preemption(port: &PortConfig) -> Option<FramePreemption> {
    let rounding = Bytes::new(2 * port.link.per_byte.rounding().as_ps());
    let from = port.preemptable_from?;
    Some(FramePreemption { from, wait: LONGEST_WAIT + rounding, overhead: OVERHEAD + rounding })
}

/// The channels that go on from `station` to another one that sends them, and their hops at `station`.
fn passages_on(experiment: &Experiment, station: usize) -> impl Iterator<Item = (&ChannelSpec, usize)> {
    experiment.channels.iter().flat_map(move |channel| {
        let (_, before) = channel.senders().split_last().unwrap_or((&station, &[]));
        // Packets of a copy pass the stations before it, too.
        let here = before.iter().enumerate().filter(move |(_, other)| **other == station);
        here.map(move |(hop, _)| (channel, hop))
    })
}

/// The cyclic classes of a port, with the paths to the next port.
fn cyclic(experiment: &Experiment, station: usize, port: &PortConfig) -> Vec<Cyclic> {
    let ways = passages_on(experiment, station).map(|(channel, hop)| experiment.longest_way(channel, hop));
    let ways = ways.map(|way| (way, way));
    let behind = ways.reduce(|(least, most), (way, _)| (least.min(way), most.max(way))).unwrap_or_default();
    let classes = port.selection.iter().flat_map(|selection| &selection.cyclic);
    classes.map(|class| Cyclic { level: class.level, cycle: class.cycle, behind }).collect()
}
