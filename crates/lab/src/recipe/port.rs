//! The queue of a link: a link out of a host, or a port of a switch.

use laxity_qos::channel::Order;
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::Selection;
use laxity_units::{Bytes, Span};
use laxity_world::experiment::{ChannelSpec, Experiment, Network, SourceSpec};

use super::classes::{Classes, map};
use super::missing::Missing;
use super::section::Section;
use super::{fair, shaped};

/// Bytes on the link that the kernel does not count: preamble, check sequence and interframe gap of
/// Ethernet.
pub(super) const UNCOUNTED: u64 = 24;
/// Classes of `tc prio`.
const BANDS: usize = 16;
/// The longest queue that a command sets, in packets.
const LONGEST: u64 = 1 << 20;

/// The end of a queue.
#[derive(Debug, Clone, Copy)]
pub(super) enum Limit {
    /// Packet buffers of the channels.
    Buffers,
    /// Memory of a port.
    Memory(Bytes),
}

/// A queue before a link.
pub(super) struct Port<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) classes: &'a Classes,
    /// Its place in words.
    pub(super) place: &'a str,
    pub(super) order: Order,
    pub(super) selection: Option<&'a Selection>,
    /// The most urgent level with frames that are interrupted.
    pub(super) preemptable_from: Option<u8>,
    pub(super) link: LinkCosts,
    pub(super) network: Option<&'a Network>,
    /// The channels that leave by the link.
    pub(super) channels: Vec<usize>,
    pub(super) limit: Limit,
    /// Whether packets wait for their time, by the rates of sockets.
    pub(super) paced: bool,
    /// The lead of a packet with a launch time, if packets of the first class have one.
    pub(super) launched: Option<Span>,
    /// Whether programs send here, and can name a class.
    pub(super) programs: bool,
}

impl Port<'_> {
    pub(super) fn channel(&self, i: usize) -> &ChannelSpec {
        &self.experiment.channels[i]
    }

    /// The commands of the queue.
    pub(super) fn write(&self, section: &mut Section, missing: &mut Missing) {
        section.line("tc qdisc del dev \"$dev\" root 2> /dev/null || true");
        let none = |what: &str| format!("{what}: Linux has no such queue, and the nearest is used");
        match self.order {
            Order::StrictPriority => match (self.selection, self.preemptable_from) {
                (Some(selection), _) if *selection != Selection::NONE => {
                    shaped::write(self, selection, section, missing);
                }
                (_, Some(from)) => shaped::by_preemption(self, from, section, missing),
                (_, None) => self.by_class(section),
            },
            Order::FixedPriority => self.by_class(section),
            Order::MultiClassEdf | Order::Edf | Order::HopLaxity => {
                missing.at(self.place, none(&format!("the order {} of a link", self.order.short())));
                section.comment("Linux has no EDF. Nearest: priorities, the shortest deadline first.");
                self.by_class(section);
            }
            Order::Fifo => self.by_arrival(section),
            Order::FifoPlus => {
                missing.at(self.place, none("the order FIFO+ of a link"));
                self.by_arrival(section);
            }
            Order::DeficitRoundRobin => fair::in_turn(self, section, missing),
            Order::VirtualClock
            | Order::WeightedFair
            | Order::WorstCaseFair
            | Order::SelfClocked
            | Order::StartTimeFair
            | Order::HierarchicalFair
            | Order::StopAndGo
            | Order::HierarchicalRoundRobin
            | Order::RateControlled => fair::by_rates(self, section, missing),
        }
    }

    /// One queue for all.
    pub(super) fn by_arrival(&self, section: &mut Section) {
        match self.launched {
            Some(_) => self.by_class(section),
            None => {
                section.comment("Packets leave by arrival.");
                section.tc("qdisc replace", format!("root handle 1: {}", self.fifo(&self.channels)));
            }
        }
    }

    /// A class for each priority that is present.
    pub(super) fn by_class(&self, section: &mut Section) {
        let present = self.classes.present(&self.channels);
        if let Some(lead) = self.launched {
            return shaped::launched(self, lead, section);
        }
        if present.len() == 1 || present.len() > BANDS {
            section.comment("One class only: packets leave by arrival.");
            section.tc("qdisc replace", format!("root handle 1: {}", self.fifo(&self.channels)));
            return;
        }
        section
            .comment(format!("Classes by SO_PRIORITY, the first the most urgent: {}.", self.named(&present)));
        section.tc(
            "qdisc replace",
            format!("root handle 1: prio bands {} priomap {}", present.len(), map(&present, false)),
        );
        for (place, priority) in present.iter().enumerate() {
            let leaf = self.leaf(*priority);
            section.tc("qdisc replace", format!("parent 1:{0:x} handle {0:x}0: {leaf}", place + 1));
        }
    }

    /// The queue of a class.
    pub(super) fn leaf(&self, priority: u8) -> String {
        let members = self.members(priority);
        match self.paces(priority) {
            true => format!("fq limit {}", self.packets(&members)),
            false => self.fifo(&members),
        }
    }

    /// Whether packets of a class wait for the rates of their sockets: of datagrams, `fq` alone goes by
    /// `SO_MAX_PACING_RATE`.
    pub(super) fn paces(&self, priority: u8) -> bool {
        self.paced && priority > 0 && self.launched.is_none() && !self.by_number()
    }

    /// Whether each channel has a class of its own, which programs choose by its number.
    pub(super) fn by_number(&self) -> bool {
        self.order.serves_rates_first() || self.order.holds()
    }

    /// The channels of a class.
    pub(super) fn members(&self, priority: u8) -> Vec<usize> {
        let of = |i: &usize| self.classes.priority(*i) == priority;
        self.channels.iter().copied().filter(of).collect()
    }

    /// A FIFO queue with room for the packets of `channels`.
    pub(super) fn fifo(&self, channels: &[usize]) -> String {
        match self.limit {
            Limit::Buffers => format!("pfifo limit {}", self.packets(channels)),
            Limit::Memory(memory) => format!("bfifo limit {}", memory.get().clamp(1, u32::MAX.into())),
        }
    }

    /// Packet buffers of `channels` together, and 1000 for traffic without a channel.
    fn packets(&self, channels: &[usize]) -> u64 {
        let slots = channels.iter().map(|i| self.channel(*i).packet_slots);
        match slots.fold(0, u64::saturating_add) {
            0 => 1000,
            slots => slots.min(LONGEST),
        }
    }

    /// Priorities with the names of their channels.
    pub(super) fn named(&self, present: &[u8]) -> String {
        let each = present.iter().map(|priority| {
            let names: Vec<&str> =
                self.members(*priority).iter().map(|i| self.channel(*i).name.as_str()).collect();
            match names.len() {
                0 => format!("{priority} other traffic"),
                n if n > 4 => format!("{priority} {} and {} more", names[..4].join(" "), n - 4),
                _ => format!("{priority} {}", names.join(" ")),
            }
        });
        each.collect::<Vec<_>>().join(", ")
    }

    /// The largest packet of `channel` here.
    fn largest_packet(&self, channel: &ChannelSpec) -> Bytes {
        let largest = match &channel.source {
            // Best effort has the sizes of its source.
            SourceSpec::None | SourceSpec::Timed { .. } => channel.spec.max_message,
            endless => endless_size(endless).unwrap_or(channel.spec.max_message),
        };
        largest.min(self.experiment.packet()).max(Bytes::new(1))
    }

    /// The largest frame of channel `i` with all that surrounds it on the link.
    pub(super) fn frame(&self, i: usize) -> u64 {
        let packet = self.largest_packet(self.channel(i));
        self.link.on_link(packet).get()
    }

    /// The largest frame of `channels`; 0 if there are none.
    pub(super) fn largest(&self, channels: &[usize]) -> u64 {
        channels.iter().map(|i| self.frame(*i)).max().unwrap_or(0)
    }

    /// The rate of the link in bits per second.
    pub(super) fn rate(&self) -> u64 {
        self.link.per_byte.rate().map_or(1_000_000_000, |rate| rate.bits_per_sec()).max(1)
    }

    /// `stab` that counts what surrounds a frame, of links with framing.
    pub(super) fn stab(&self) -> String {
        match self.network.is_some_and(|network| network.framed) {
            true => format!("stab overhead {UNCOUNTED} linklayer ethernet "),
            false => String::new(),
        }
    }
}

/// The bytes of a message of `channel` on a link of `network`, as the kernel counts them: from the
/// destination address to the last byte of data, in packets of `packet`.
pub(super) fn counted(channel: &ChannelSpec, packet: Bytes, network: Option<&Network>) -> u64 {
    let message = channel.spec.max_message;
    let frame = |size: Bytes| network.map_or(size, |network| network.frame(size)).get();
    let full = message.get().div_ceil(packet.get().max(1)).saturating_sub(1);
    let last = message.saturating_sub(Bytes::new(full.saturating_mul(packet.get())));
    full.saturating_mul(frame(packet)).saturating_add(frame(last))
}

fn endless_size(source: &SourceSpec) -> Option<Bytes> {
    use laxity_model::source::Sizes;
    let (SourceSpec::Continuous(sizes) | SourceSpec::Closed { sizes, .. } | SourceSpec::Rounds { sizes, .. }) =
        source
    else {
        return None;
    };
    Some(match sizes {
        Sizes::Fixed(size) => *size,
        Sizes::Uniform { most, .. } => *most,
    })
}
