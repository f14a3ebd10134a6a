//! A channel as it stands in a file, and what is sent on it.

use laxity_model::source::Allowance;
use laxity_model::source::mpeg::Film;
use laxity_qos::channel::{MessageOverflow, PacketOverflow};
use laxity_qos::discipline::Class;
use laxity_scenario_keys::keys;
use laxity_world::experiment::{MissesEffect, RefusalEffect};

use super::{CoreNumber, NodeName, RawCalls, RawChange, RawReader};
use crate::choice::{Random, SourceKind};
use crate::leaf::{Bounded, Delay, Factor, Flow, Interval, Name, Or, Share, Size, Whole};
use crate::written::{Either, List, Part, Written};

/// A channel.
#[keys]
pub(crate) struct RawChannel {
    /// Its name: letters, digits, `-` and `_`.
    #[key(required)]
    pub(crate) name: Option<Written<Name>>,
    /// Class of service.
    #[key(required)]
    pub(crate) class: Option<Written<Class>>,
    /// The node that sends: its number, or its name. Of several nodes by one name each sends in
    /// turn. Default 0, the first.
    pub(crate) from: Option<Written<NodeName>>,
    /// The node that receives, if any does. Default the last.
    pub(crate) to: Option<Written<NodeName>>,
    /// The route through named nodes, both ends and switches included; it may pass a node again.
    /// Default: fewest hops.
    pub(crate) route: Option<List<Written<Name>>>,
    /// Further receivers: a multicast. The host sends each packet once, and a switch copies it where the
    /// routes part. Each receiver is a channel of its own in results, called `name-RECEIVER`, and a refusal
    /// of one refuses all. A name of several nodes stands for each of them. Default: none.
    pub(crate) receivers: Option<List<Part<RawFurther>>>,
    /// How many such channels there are; more than one are called `name-1`, `name-2` … and have random
    /// streams of their own. Default 1, or one for each node that sends or receives by the same name.
    pub(crate) count: Option<Written<Whole<1, 10_000>>>,
    /// `M_max`: the largest message.
    #[key(required)]
    pub(crate) max_message: Option<Written<Bounded<Size>>>,
    /// The smallest message; smaller ones are dropped as undersized. Bounds need to know how small
    /// packets can get. Default: the smallest that the source can send if that is known, else 1 B;
    /// of a channel that `carries` frames the smallest of those, such as 42 B of `udp`.
    pub(crate) min_message: Option<Written<Bounded<Size>>>,
    /// `B_max`: the longest burst, in messages; for best effort the slots of its message queue.
    #[key(required)]
    pub(crate) burst: Option<Written<Whole<1, 1_000_000>>>,
    /// `I_min`: least average spacing of messages. Either this or `rate`; only for real time.
    pub(crate) min_interval: Option<Written<Bounded<Interval>>>,
    /// Further limits that the source keeps beside `burst` and `min_interval`: in any window at
    /// most `burst` messages and one for each `min_interval` that the window is long. `[{ burst =
    /// 1, min_interval = "125 us" }]` is a least distance between messages. Bounds of FIFO queues
    /// count fewer messages by them. Hosts and switches enforce `burst` and `min_interval` alone.
    /// Only for real time. Default: none.
    pub(crate) limits: Option<List<Part<RawLimit>>>,
    /// The reserved rate, for `min_interval` = `max_message` / `rate`, rounded up to the picosecond.
    pub(crate) rate: Option<Written<Bounded<Flow>>>,
    /// End-to-end deadline, from the logical arrival of a message at its source to its delivery:
    /// until the receiving host has the whole message, or its `reader` has taken it. Where no host
    /// receives, it ends with the transmission of the last packet on the last link; so does the
    /// deadline that is admitted where no analysis covers the receiver. Over one hop at most the
    /// interval, unless the admission test is `demand` or admission is off. Only for real time.
    pub(crate) deadline: Option<Written<Bounded<Interval>>>,
    /// The longest delay less the shortest, at most: admission proves it, or refuses the channel.
    /// Messages must not leave ahead of their logical arrival. Only for real time. Default: no
    /// request.
    pub(crate) jitter: Option<Written<Bounded<Interval>>>,
    /// The share of messages that networks may lose by their `loss` and `corruption`, at most.
    /// Admission adds up the probabilities for all packets of the largest message and all networks
    /// of the route. Only for real time. Default: no request.
    pub(crate) loss: Option<Written<Share>>,
    /// The share of messages that may be late or dropped, at most. Admission then reserves for
    /// messages of the mean size, by Chernoff's bound, and needs the test `demand`, one host
    /// without a receiver, and `late` at each of its real-time channels. Default: no request, no
    /// message is late.
    pub(crate) late: Option<Written<Share>>,
    /// The mean size of messages, of which the sizes are independent of each other. Only with
    /// `late`. Default `max_message`.
    pub(crate) mean_message: Option<Written<Bounded<Size>>>,
    /// Effect on the run if admission refuses the channel. Default: that of `[admission]`. Only for
    /// real time.
    pub(crate) refusal: Option<Written<RefusalEffect>>,
    /// The effect on the exit code of messages within the contract that are late, lost or dropped.
    /// They have none while they are no more than the packets that `impairments` lost. Default:
    /// what `[run]` says. Only for real time.
    pub(crate) misses: Option<Written<MissesEffect>>,
    /// Best effort: the rate for which it counts where a resource is shared by rates. Default: what
    /// is left. Real time has that of its contract.
    pub(crate) share: Option<Written<Bounded<Flow>>>,
    /// The group with which it shares a rate where a queue is in the order `hsfq`, or at the
    /// adapter of a `[via]`. Best effort needs a `share` to be in one. Default: none.
    pub(crate) group: Option<Written<Name>>,
    /// Level under fixed or strict priority, 0 the most urgent; best effort is below all. Under fixed
    /// priority all real-time channels of a host name theirs, or none. Default: by admission. Only
    /// for real time.
    pub(crate) level: Option<Written<Whole<0, 31>>>,
    /// Message queue slots. Default `burst`; where the admission test allows a deadline beyond the
    /// interval, one more for each further interval that it spans; with a contract one more where
    /// each message has a thread and applications share the CPU.
    pub(crate) message_slots: Option<Written<Whole<1, 1_000_000>>>,
    /// Packet buffers. Default: those slots × the packets of the largest message.
    pub(crate) packet_slots: Option<Written<Whole<1, 1_000_000_000_000>>>,
    /// When the message queue is full.
    #[key(default = "drop")]
    pub(crate) message_overflow: Option<Written<MessageOverflow>>,
    /// When the packet buffers are full.
    #[key(default = "block")]
    pub(crate) packet_overflow: Option<Written<PacketOverflow>>,
    /// The core of its handlers at hosts of its way that have several. Default: the next in turn,
    /// of the channels that the host has.
    pub(crate) core: Option<Written<CoreNumber>>,
    /// The program that takes its messages at the host that receives them. Default: none, a message
    /// is delivered when it is whole.
    pub(crate) reader: Option<Part<RawReader>>,
    /// In an emulation: the frames of the sending node's port that this channel carries, in place
    /// of the messages of `source`. `all`, `icmp`, `tcp`, `udp`, either with a port (`udp 5201`),
    /// or `dscp 46`; the first channel to a frame's host that takes the frame has it. A frame is
    /// for the host with its Ethernet address at a port. A broadcast, a multicast and a frame for
    /// an address of no port go to each host to which a channel takes them. Under virtual time
    /// `source` gives the expected frames.
    pub(crate) carries: Option<Written<String>>,
    /// The interface at which the channel arrives. Of a host without a network: the packets of
    /// `source` arrive there, one per message, and the deadline runs from the arrival to the
    /// receiving program; needed. Of the node at the end of its path: the deadline runs from the
    /// sender to the program; needed where the node has several.
    pub(crate) interface: Option<Written<Name>>,
    /// A virtual interface, where `doorbells` under `[via]` is `apart`: the process that has it, by
    /// a name that others of it have too. Default: a process of its own.
    pub(crate) process: Option<Written<Name>>,
    /// The importance of its messages where an interface discards by `tag`, 0 the least: of the
    /// first message, the second and so on, and again from the first. Default `[0]`.
    pub(crate) importance: Option<List<Written<Whole<0, 7>>>>,
    /// The program that takes what was received at the interface. Default the first of its host.
    pub(crate) program: Option<Written<Name>>,
    /// A virtual interface: number of sources that send on it, each as `source` says, by itself.
    #[key(default = 1)]
    pub(crate) streams: Option<Written<Whole<1, 1000>>>,
    /// A virtual interface: least time from sending a message to its delivery, so that the latency
    /// is constant if no message takes longer on its route. Default: delivery on arrival.
    pub(crate) playout: Option<Written<Bounded<Interval>>>,
    /// With `[signalling]`: when its program asks for the channel. Its source begins when the
    /// channel is established.
    #[key(default = "0 s")]
    pub(crate) open: Option<Written<Bounded<Delay>>>,
    /// With `[signalling]`: when its program closes the channel. Default: never.
    pub(crate) close: Option<Written<Bounded<Interval>>>,
    /// With `[signalling]`: other contracts that its program asks for while the channel is open.
    pub(crate) change: Option<List<Part<RawChange>>>,
    /// With `[signalling]`: the channel is asked for again and again, as independent calls, each
    /// with a source of its own. Refusals of calls are expected.
    pub(crate) calls: Option<Part<RawCalls>>,
    /// With `[signalling]`: the owner that its reservations are charged to. Default: an owner without
    /// a quota.
    pub(crate) owner: Option<Written<Name>>,
    /// The messages of the application.
    #[key(required)]
    pub(crate) source: Option<Part<RawSource>>,
}

/// A further limit of a contract.
#[keys]
pub(crate) struct RawLimit {
    /// The longest burst, in messages.
    #[key(required)]
    pub(crate) burst: Option<Written<Whole<1, 1_000_000>>>,
    /// The least average spacing of messages.
    #[key(required)]
    pub(crate) min_interval: Option<Written<Bounded<Interval>>>,
}

/// The messages that an application sends.
#[keys(kind = SourceKind)]
pub(crate) struct RawSource {
    /// The kind of source.
    #[key(required)]
    pub(crate) kind: Option<Written<SourceKind>>,
    /// The core of the application that sends, of several. Default: that of the channel's handler.
    #[key(elsewhere)]
    pub(crate) core: Option<Written<CoreNumber>>,
    /// Mean spacing of messages. Either this or `rate`; default the channel's `I_min`, or a trace's own.
    #[key(of(Periodic, Bursty, Poisson, Adversary, Recorded, Mpeg))]
    pub(crate) interval: Option<Written<Bounded<Interval>>>,
    /// Mean rate in bytes, for the interval = mean size / rate.
    #[key(of(Periodic, Bursty, Poisson, Adversary))]
    pub(crate) rate: Option<Written<Bounded<Flow>>>,
    /// How many times the rate is sent; above 1 violates the contract.
    #[key(of(Periodic, Bursty, Poisson, Recorded, Mpeg), default = 1)]
    pub(crate) multiple: Option<Written<Factor>>,
    /// Messages at once. Default the channel's; 1 for a periodic source.
    #[key(of(Periodic, Bursty, Adversary))]
    pub(crate) burst: Option<Written<Whole<1, 1_000_000>>>,
    /// Size of messages: one for all, or a range. Default `max_message`.
    #[key(of(Periodic, Bursty, Poisson, Adversary, Script, Continuous, Closed, Rounds))]
    pub(crate) size: Option<Either<Bounded<Size>, RawSizes>>,
    /// Closed: messages under way, at most the slots of the message queue. Rounds: messages of a
    /// round.
    #[key(of(Closed, Rounds), default = 1)]
    pub(crate) outstanding: Option<Written<Whole<1, 1_000_000>>>,
    /// When the first message is sent, or `random` within the first period.
    #[key(of(Periodic, Bursty, Poisson, Adversary, Recorded, Mpeg, Script), default = "0 us")]
    pub(crate) phase: Option<Written<Or<Random, Bounded<Delay>>>>,
    /// Adversary: how it uses what the contract allows.
    #[key(of(Adversary), default = "greedy")]
    pub(crate) allowance: Option<Written<Allowance>>,
    /// Recorded: the trace, a path relative to this file: one size per line, ffprobe's CSV or JSON,
    /// pcap or pcapng. Each captured packet is a message. Its size is the original length of the
    /// packet if the channel's first link has no `framing`. Otherwise the size is that length
    /// without the captured link header. The link type of the capture decides how long that header
    /// is: 14 B for Ethernet and 4 B for each VLAN tag, 16 or 20 B for Linux cooked captures, 0 B
    /// for raw IP. A check sequence in the capture counts as payload. A capture of one packet, or
    /// of one instant, is sent once (`repeat = false`) or at an `interval`.
    #[key(of(Recorded))]
    pub(crate) trace: Option<Written<String>>,
    /// MPEG: a film of thesis Table 6.4. Either this or the summary of one: `min`, `max`, `mean` and
    /// `deviation`.
    #[key(of(Mpeg))]
    pub(crate) film: Option<Written<Film>>,
    /// MPEG: the smallest frame.
    #[key(of(Mpeg))]
    pub(crate) min: Option<Written<Bounded<Size>>>,
    /// MPEG: the largest frame.
    #[key(of(Mpeg))]
    pub(crate) max: Option<Written<Bounded<Size>>>,
    /// MPEG: the mean frame.
    #[key(of(Mpeg))]
    pub(crate) mean: Option<Written<Bounded<Size>>>,
    /// MPEG: the standard deviation of the frame size.
    #[key(of(Mpeg))]
    pub(crate) deviation: Option<Written<Bounded<Size>>>,
    /// MPEG: the cycle of frame kinds.
    #[key(of(Mpeg), default = "IBBPBBPBBPBB")]
    pub(crate) pattern: Option<Written<String>>,
    /// Recorded and MPEG: the k-th copy of the channel starts k times this into the trace, the first at its
    /// beginning. With `start = "random"` the first starts at a place that is drawn, one for all
    /// channels of the trace.
    #[key(of(Recorded, Mpeg))]
    pub(crate) stagger: Option<Written<Bounded<Delay>>>,
    /// Recorded and MPEG: the frame sent first, counted from 0, or `random`.
    #[key(of(Recorded, Mpeg), default = 0)]
    pub(crate) start: Option<Written<Or<Whole<0, 1_000_000_000>, Random>>>,
    /// Recorded and MPEG: whether the trace starts over when it ends.
    #[key(of(Recorded, Mpeg), default = true)]
    pub(crate) repeat: Option<Written<bool>>,
    /// Rounds: the channel of which a round is answered by a round of this one; a round of a channel with
    /// another source is one message. The k-th copy answers the k-th copy. Where it is a guaranteed
    /// channel, as this one, the exchange has a bound, and a circle of them a rate.
    #[key(of(Rounds))]
    pub(crate) after: Option<Written<Name>>,
    /// Script: the messages, in the order of their times.
    #[key(of(Script))]
    pub(crate) messages: Option<List<Part<RawMessage>>>,
}

/// A message of a script, or several at once.
#[keys]
pub(crate) struct RawMessage {
    /// When, counted from the source's `phase`.
    #[key(required)]
    pub(crate) at: Option<Written<Bounded<Delay>>>,
    /// Its size. Default the source's `size`, which must then be one for all.
    pub(crate) size: Option<Written<Bounded<Size>>>,
    /// How many such messages at once.
    #[key(default = 1)]
    pub(crate) count: Option<Written<Whole<1, 10_000>>>,
}

/// A range of sizes.
#[keys]
pub(crate) struct RawSizes {
    /// The smallest and the largest; every size between is as likely.
    #[key(required)]
    pub(crate) uniform: Option<List<Written<Bounded<Size>>>>,
}

/// A further receiver of a channel. Its route starts at the same node, and passes no node twice.
#[keys]
pub(crate) struct RawFurther {
    /// The node that receives; needed without a `route`.
    pub(crate) to: Option<Written<NodeName>>,
    /// The route through named nodes, both ends and switches included. Default: fewest hops.
    pub(crate) route: Option<List<Written<Name>>>,
}
