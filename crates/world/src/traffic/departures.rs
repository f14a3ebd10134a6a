//! The number of frames that may leave a station in an interval: each is an interrupt where it
//! arrives.
//!
//! *By the link.* Frames are as far apart as the shortest takes, whatever is done before: in `Δ` at
//! most `1 + Δ/x`.
//!
//! *By the host*, where that is slower. Every frame of a host was made and started by its CPU. Let
//! a handler take at least `C` for a packet, its start `c`, and reading its completion `r`. Let at
//! most `D` be with its adapters, and let `B` be the buffers of all that send there; each packet
//! has one of them from when it is made until it is complete, for any adapter. Of `n` packets that
//! are started in `Δ` all but `B` and one are made in it, and the completions of all but `D` are
//! read, so
//!
//! ```text
//! n c + (n − D) r + (n − B − 1) C ≤ Δ + c,   frames ≤ D + n ≤ D + (Δ + c + D r + (B + 1) C)/(C + c + r).   (1)
//! ```
//!
//! This also holds for the frames to one host alone, with `B` of their channels: the CPU makes and
//! starts others besides, which takes no less.
//!
//! Of `K` cores each makes packets, and `K` packets may be half made; all cores have `K` times the
//! time: `K (Δ + c)` in (1).
//!
//! Frames that leave a port have been sent by many hosts, and wait in the memory of its switch: see
//! `senders.rs`.

use laxity_admission::station::FrameGroup;
use laxity_qos::channel::{LinkParadigm, MessageOverflow, PacketOverflow};
use laxity_units::Span;

use crate::experiment::{ChannelSpec, Experiment, Task};

/// At most `burst` frames and one in each `interval`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Departures {
    pub(crate) burst: u64,
    pub(crate) interval: Span,
}

impl From<Departures> for FrameGroup {
    fn from(Departures { burst, interval }: Departures) -> Self {
        Self { burst, interval }
    }
}

impl Departures {
    /// The same after a path that pushes frames together by that time.
    pub(crate) fn pushed(self, by: Span) -> Self {
        match self.interval.is_zero() {
            true => self,
            false => Self { burst: self.burst.saturating_add(by.div_ceil(self.interval)), ..self },
        }
    }

    /// By (1), of those channels that are `counted`.
    pub(crate) fn by_host(
        experiment: &Experiment,
        station: usize,
        counted: impl Fn(&ChannelSpec) -> bool,
    ) -> Option<Self> {
        experiment.nodes.get(station)?;
        let host = experiment.host(station);
        let link = &host.subsystem.link;
        let buffers = buffers(experiment, station, counted)?;
        // Immediately preemptible handlers may each have a packet half made.
        let cores = u64::from(host.subsystem.cores);
        let halves =
            if host.subsystem.preemption.immediate { experiment.channels.len() as u64 } else { cores };
        let adapters = experiment.nodes[station].adapters.len() as u64;
        let depth = u64::from(link.depth).saturating_mul(adapters).min(buffers);
        let start = match link.paradigm {
            LinkParadigm::Adapter => host.costs.hand_over,
            LinkParadigm::O1 | LinkParadigm::O2 | LinkParadigm::O3 => host.costs.link_scheduling,
        };
        let read = host.costs.response;
        let made = makes(experiment, station);
        let each = made.saturating_add(start).saturating_add(read);
        let interval = each / cores;
        let ahead = start
            .saturating_mul(cores)
            .saturating_add(read.saturating_mul(depth))
            .saturating_add(made.saturating_mul(buffers.saturating_add(halves)));
        let several = if interval.is_zero() { return None } else { ahead.div_ceil(each) };
        Some(Self { burst: depth.saturating_add(several).saturating_add(1), interval })
    }
}

/// The least that a handler at `node` takes for a packet, whatever bytes it has.
pub(crate) fn makes(experiment: &Experiment, node: usize) -> Span {
    let costs = &experiment.host(node).costs;
    let relays = experiment.channels.iter().any(|channel| channel.comes_to(node));
    let made = costs.first_packet.min(costs.single_packet).min(costs.packet);
    if relays { made.min(costs.receive_packet) } else { made }
}

/// The hops of its path at which `channel` arrives at `node` from a station over a network.
pub(crate) fn comes_by(
    channel: &ChannelSpec,
    node: usize,
    from: (usize, usize),
) -> impl Iterator<Item = usize> {
    let hops = (1..).zip(channel.route.windows(2).zip(&channel.ways));
    let hops = hops.skip(channel.begins().saturating_sub(1));
    hops.filter(move |(_, (hop, way))| (hop[0], **way) == from && hop[1] == node).map(|(at, _)| at)
}

/// `B`: packets of `counted` channels that may be between a handler of `node` and their completion,
/// if only such as start there are sent.
pub(crate) fn buffers(
    experiment: &Experiment,
    node: usize,
    counted: impl Fn(&ChannelSpec) -> bool,
) -> Option<u64> {
    // Without traffic enforcement queues are infinite, and the number of copies is not known yet.
    if matches!(experiment.task, Task::Fill(_)) || !experiment.host(node).subsystem.enforcement {
        return None;
    }
    let sent = |channel: &&ChannelSpec| channel.leaves(node) && counted(channel);
    experiment.channels.iter().filter(sent).try_fold(0u64, |all, channel| {
        let own =
            channel.passages_from(node).eq([0]) && channel.packet_overflow != PacketOverflow::DecayDeadline;
        let lanes = 1 + u64::from(channel.message_overflow == MessageOverflow::BestEffort);
        own.then(|| all.saturating_add(channel.packet_slots.saturating_mul(lanes)))
    })
}
