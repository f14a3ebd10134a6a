//! An adapter as it stands in a file: a scenario's `[adapter]`, and a file of its own.

use laxity_model::adapter::cim250::{BufferMemory, HostInterface};
use laxity_model::adapter::{Answers, Excess, LatePolicy, Overload, QueueSelection, Release, Takes, Tells};
use laxity_qos::channel::Order;
use laxity_scenario_keys::keys;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::choice::{AdapterKind, AdapterQueueKind, AsContract, FullAnswers, Interrupt, PhaseKind};
use crate::leaf::{Bounded, Cost, Delay, Flow, Interval, Name, Or, PerByte, Size, Whole};
use crate::written::{Either, Leaf, List, Part, Written};

/// A rank: 0 goes before all others.
pub(crate) type Rank = Whole<0, 255>;
/// Places for packets.
pub(crate) type Slots = Whole<1, 1_000_000>;
/// Buffers of a channel's own: a number, or a word.
pub(crate) type OwnWord = Or<AsContract, Slots>;
/// Packets that a stage chooses ahead.
pub(crate) type Ahead = Whole<0, 1_000_000>;
/// Queues that are alike.
pub(crate) type Spread = Whole<1, 4096>;
/// Packets that are served together.
pub(crate) type Batch = Whole<1, 4096>;
/// A fixed priority.
pub(crate) type Level = Whole<0, 31>;
/// Which packets: a word, or levels.
pub(crate) type TakesWord = Either<Takes, RawLevels>;
/// Servers of a stage or a resource.
pub(crate) type Servers = Whole<1, 1024>;
/// How the host learns of responses.
pub(crate) type NotificationWord = Or<Interrupt, Bounded<Interval>>;
/// A number, or a table of it and its source.
pub(crate) type Cited<T> = Either<T, RawCited<T>>;

/// An adapter file.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Laxity adapter")]
pub(crate) struct RawAdapterFile {
    /// The adapter in one line.
    #[schemars(required)]
    pub(crate) title: Option<Written<String>>,
    /// Properties of the device that the description has, and those that it leaves out.
    pub(crate) about: Option<Written<String>>,
    /// The adapter, as a scenario would say it, with the source of every number.
    #[schemars(required)]
    pub(crate) adapter: Option<Part<RawAdapter>>,
}

/// A network adapter.
#[keys(kind = AdapterKind)]
pub(crate) struct RawAdapter {
    /// The adapter's file: a path ending in `.toml` relative to this file, or a name. A name is
    /// looked for beside this file, then in a folder `adapters` there and in every folder above,
    /// then among the built-in adapters. Either this or `kind`; all other keys are laid over the
    /// file's, and lists replace its lists.
    #[key(elsewhere)]
    pub(crate) file: Option<Written<String>>,
    /// The family of adapters.
    #[key(elsewhere)]
    pub(crate) kind: Option<Written<AdapterKind>>,
    /// The cores of its host that its response queues interrupt: the first queue the first of
    /// these, and so on, in turn. Not in adapter files. Default `[0]`.
    #[key(elsewhere)]
    pub(crate) interrupts: Option<List<Written<super::CoreNumber>>>,
    /// Source of the numbers of this table itself. Needed in adapter files.
    pub(crate) source: Option<Written<String>>,
    /// Null: `C_x`, overhead of initiating a transmission.
    #[key(of(Null), default = "0 us")]
    pub(crate) startup: Option<Written<Bounded<Cost>>>,
    /// Null: time per byte. Either this or `rate`.
    #[key(of(Null))]
    pub(crate) per_byte: Option<Written<Bounded<PerByte>>>,
    /// Null: the rate of the slower of link and host transfer, for `per_byte`.
    #[key(of(Null))]
    pub(crate) rate: Option<Written<Bounded<Flow>>>,
    /// Generic: the adapter polls for commands at multiples of this. Default: a doorbell notifies
    /// it at once.
    #[key(of(Generic))]
    pub(crate) poll: Option<Written<Bounded<Interval>>>,
    /// Generic: the time from when the host has written a command to when the adapter knows.
    /// {default} Not with `poll`.
    #[key(of(Generic), default = "0 us")]
    pub(crate) doorbell: Option<Written<Bounded<Delay>>>,
    /// Generic: choice of the next command queue: by `priority` until the queue is empty, or in
    /// turn, a command each.
    #[key(of(Generic), default = "priority")]
    pub(crate) selection: Option<Written<QueueSelection>>,
    /// Generic: `interrupt` for one with each response, or how often the host looks.
    #[key(of(Generic), default = "interrupt")]
    pub(crate) notification: Option<Written<NotificationWord>>,
    /// Generic: the queues in which the host leaves commands. Default: one for all packets, without end.
    #[key(of(Generic))]
    pub(crate) queue: Option<List<Part<RawCommandQueue>>>,
    /// Generic: the queues in which the adapter leaves responses, each with an interrupt of its
    /// own; a response goes to the first that takes it. Default: one for all, without end, in which
    /// each response interrupts.
    #[key(of(Generic))]
    pub(crate) response_queue: Option<List<Part<RawResponseQueue>>>,
    /// Generic: where packets lie from being fetched until they complete. Default: as many as there are.
    #[key(of(Generic))]
    pub(crate) transmit_buffers: Option<Part<RawBuffers>>,
    /// Generic: where received frames lie until the host has them. Default: as many as there are.
    #[key(of(Generic))]
    pub(crate) receive_buffers: Option<Part<RawBuffers>>,
    /// Generic: packets of the host are held to the contracts of their channels where the adapter
    /// fetches them. Default: they are not.
    #[key(of(Generic))]
    pub(crate) transmit_policing: Option<Part<RawPolicing>>,
    /// Generic: policing of received frames. Default: none.
    #[key(of(Generic))]
    pub(crate) receive_policing: Option<Part<RawPolicing>>,
    /// Generic: resources that are not as they are by being named in a phase, which is one preemptive server;
    /// `processor`, which there always is, is not preemptive.
    #[key(of(Generic))]
    pub(crate) resource: Option<List<Part<RawResource>>>,
    /// Generic: the stages from the command queues to the medium and back to the host, in order.
    #[key(of(Generic))]
    pub(crate) transmit: Option<List<Part<RawStage>>>,
    /// Generic: the stages of a frame from the medium, in order. Default: it is at the host at once.
    #[key(of(Generic))]
    pub(crate) receive: Option<List<Part<RawStage>>>,
    /// CIM 250: the adapter's part of a command crossing the interface.
    #[key(of(Cim250))]
    pub(crate) command: Option<Cited<Bounded<Cost>>>,
    /// CIM 250: the same for a response.
    #[key(of(Cim250))]
    pub(crate) response: Option<Cited<Bounded<Cost>>>,
    /// CIM 250: `D_segsize`, bytes per DMA segment.
    #[key(of(Cim250))]
    pub(crate) dma_segment: Option<Cited<Bounded<Size>>>,
    /// CIM 250: `D_overhead`, per DMA segment.
    #[key(of(Cim250))]
    pub(crate) dma_overhead: Option<Cited<Bounded<Cost>>>,
    /// CIM 250: `D_byte^small`, per byte up to `small`.
    #[key(of(Cim250))]
    pub(crate) dma_byte_small: Option<Cited<Bounded<PerByte>>>,
    /// CIM 250: `S_small`, size of small messages.
    #[key(of(Cim250))]
    pub(crate) small: Option<Cited<Bounded<Size>>>,
    /// CIM 250: `D_byte^large`, per byte past `small`.
    #[key(of(Cim250))]
    pub(crate) dma_byte_large: Option<Cited<Bounded<PerByte>>>,
    /// CIM 250: `F_overhead`, Fiber Channel's overhead per message.
    #[key(of(Cim250))]
    pub(crate) fc_overhead: Option<Cited<Bounded<Cost>>>,
    /// CIM 250: the part of `fc_overhead` that needs no memory bus.
    #[key(of(Cim250))]
    pub(crate) fc_overlap: Option<Cited<Bounded<Cost>>>,
    /// CIM 250: `F_framesize`.
    #[key(of(Cim250))]
    pub(crate) fc_frame: Option<Cited<Bounded<Size>>>,
    /// CIM 250: `F_framedelay`, per frame begun.
    #[key(of(Cim250))]
    pub(crate) fc_frame_delay: Option<Cited<Bounded<Cost>>>,
    /// CIM 250: how a message is negotiated with the host.
    #[key(of(Cim250), default = "full")]
    pub(crate) interface: Option<Written<HostInterface>>,
    /// CIM 250: buses to the adapter's memory.
    #[key(of(Cim250), default = "shared")]
    pub(crate) memory: Option<Written<BufferMemory>>,
}

/// A number with its source.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "T: Leaf")]
#[schemars(inline, rename = "Cited", bound = "T: Leaf")]
pub(crate) struct RawCited<T> {
    /// The number.
    #[schemars(required)]
    pub(crate) value: Option<Written<T>>,
    /// A table of a paper, a measurement, or `own choice:` and the argument. Needed in adapter files.
    pub(crate) source: Option<Written<String>>,
}

/// A queue in which the host leaves commands.
#[keys]
pub(crate) struct RawCommandQueue {
    /// Which packets' commands it takes; a command goes to the first queue that takes it. Default `all`.
    pub(crate) takes: Option<TakesWord>,
    /// As many queues like this one; a command goes to one by its packet's channel, as a hash of
    /// addresses has it.
    #[key(default = 1)]
    pub(crate) spread: Option<Written<Spread>>,
    /// Until when a command has its place. Default `fetched`.
    pub(crate) release: Option<Written<Release>>,
    /// Whether it holds several commands or one.
    #[key(default = "fifo")]
    pub(crate) kind: Option<Written<AdapterQueueKind>>,
    /// Commands that it holds; a mailbox holds one. Default: as many as there are.
    pub(crate) slots: Option<Written<Slots>>,
    /// Which queue the adapter looks at first, 0 before all.
    #[key(default = 0)]
    pub(crate) priority: Option<Written<Rank>>,
    /// Source of `slots` and `spread`. Needed in adapter files.
    pub(crate) source: Option<Written<String>>,
}

/// Packets by their fixed priority, which stands for that of a VLAN.
#[keys]
pub(crate) struct RawLevels {
    /// The first level, 0 being the most urgent.
    #[key(default = 0)]
    pub(crate) from: Option<Written<Level>>,
    /// The last.
    #[key(default = 31, said = "31, that of best effort")]
    pub(crate) to: Option<Written<Level>>,
}

/// A queue in which the adapter leaves responses for the host, and when it interrupts for them.
#[keys]
pub(crate) struct RawResponseQueue {
    /// Kinds of response in the queue.
    #[key(default = "all")]
    pub(crate) answers: Option<Written<Answers>>,
    /// Of which packets. Default `all`.
    pub(crate) takes: Option<TakesWord>,
    /// As many queues like this one, each with its interrupt; a response goes to one by its
    /// packet's channel.
    #[key(default = 1)]
    pub(crate) spread: Option<Written<Spread>>,
    /// Responses that it holds, each until the host has taken it out. Default: as many as there are.
    pub(crate) slots: Option<Written<Slots>>,
    /// Treatment of a response that finds the queue full. Default `block`.
    pub(crate) overload: Option<Written<FullAnswers>>,
    /// An interrupt when this number of responses waits (rx-frames, tx-frames); needs `delay`.
    /// Default: no interrupt for their number alone.
    pub(crate) frames: Option<Written<Slots>>,
    /// An interrupt when the first of those that wait has waited for so long (rx-usecs, tx-usecs).
    #[key(default = "0 us", said = "`0 us`: at once")]
    pub(crate) delay: Option<Written<Bounded<Delay>>>,
    /// The least time between two interrupts (the adapter's throttle). Default: none.
    pub(crate) interval: Option<Written<Bounded<Interval>>>,
    /// Source of the numbers. Needed in adapter files.
    pub(crate) source: Option<Written<String>>,
}

/// Buffers in the adapter's memory.
#[keys]
pub(crate) struct RawBuffers {
    /// Buffers for all channels; with `per_channel`, for channels that have used up their own. One
    /// of the two is needed.
    pub(crate) shared: Option<Written<Slots>>,
    /// Buffers for each channel alone; or `contract`, which needs `shared`.
    pub(crate) per_channel: Option<Written<OwnWord>>,
    /// Treatment of a packet without a buffer. Default `block` for packets of the host, `drop` for
    /// received ones.
    pub(crate) overload: Option<Written<Overload>>,
    /// Source of the number. Needed in adapter files.
    pub(crate) source: Option<Written<String>>,
}

/// Policing: channels are held to the rates of their contracts, by buckets of `burst` messages of
/// the largest size that fill with one of them in each `min_interval`. Channels without a contract
/// are not policed.
#[keys]
pub(crate) struct RawPolicing {
    /// Treatment of a packet that exceeds its contract.
    #[key(default = "drop")]
    pub(crate) excess: Option<Written<Excess>>,
    /// Tolerated lateness of packets at their origin, which makes the packets behind them early.
    /// With the longest of a host's bounds, no channel that keeps its contract loses a packet.
    #[key(default = "0 us")]
    pub(crate) tolerance: Option<Written<Bounded<Delay>>>,
    /// Source of the tolerance. Needed in adapter files.
    pub(crate) source: Option<Written<String>>,
}

/// A resource that phases share: a processor, a bus.
#[keys]
pub(crate) struct RawResource {
    /// Its name, by which phases hold it.
    #[key(required)]
    pub(crate) name: Option<Written<Name>>,
    /// Phases that hold it at once, at most.
    #[key(default = 1)]
    pub(crate) servers: Option<Written<Servers>>,
    /// Whether a phase of higher priority takes it from one of lower, which resumes with the time
    /// it had left. Default `true`, but `false` for the processor.
    pub(crate) preemptive: Option<Written<bool>>,
    /// Order among phases of one priority: with `true`, the more urgent packet first, real time by
    /// its deadline, which also preempts if the resource is preemptive.
    #[key(default = false, said = "`false`: the holder keeps the resource, then the older packet is first")]
    pub(crate) urgent: Option<Written<bool>>,
    /// Whether the host's CPU takes the resource while it copies (its costs per byte), before all
    /// phases, which continue afterwards: a shared bus with cycles that the CPU steals. A host in a
    /// thread steals none.
    #[key(default = false)]
    pub(crate) host: Option<Written<bool>>,
    /// The bus of the host that it is, a `[host.bus.NAME]`, which adapters share that name it; that
    /// then says what it is like. An adapter is at one at most.
    pub(crate) bus: Option<Written<Name>>,
    /// Source of `servers`. Needed in adapter files if there are several.
    pub(crate) source: Option<Written<String>>,
}

/// A stage of an adapter.
#[keys]
pub(crate) struct RawStage {
    /// Its name in results.
    #[key(required)]
    pub(crate) name: Option<Written<Name>>,
    /// Packets served at once, or batches of them.
    #[key(default = 1)]
    pub(crate) servers: Option<Written<Servers>>,
    /// Packets that a server takes together, at most: `fixed` is then for all of them and
    /// `per_packet` for each.
    #[key(default = 1)]
    pub(crate) batch: Option<Written<Batch>>,
    /// How long a server that could serve waits until there is a whole batch. Default `0 us`.
    pub(crate) linger: Option<Written<Bounded<Delay>>>,
    /// Packets that it chooses ahead, at most: those that it has or that wait at the next stage
    /// beyond what that has servers for. Default: as many as there are places.
    pub(crate) ahead: Option<Written<Ahead>>,
    /// Which of its queues is served next.
    #[key(default = "priority")]
    pub(crate) selection: Option<Written<QueueSelection>>,
    /// Where packets wait; a packet joins the first that takes it. Default: one FIFO for all, without end.
    pub(crate) queue: Option<List<Part<RawQueue>>>,
    /// Steps of the service of a packet, in order; at least one.
    #[key(required)]
    pub(crate) phase: Option<List<Part<RawPhase>>>,
    /// Source of `servers`, `batch`, `linger` and `ahead`. Needed in adapter files if any of them
    /// is not 1.
    pub(crate) source: Option<Written<String>>,
}

/// A queue before a stage.
#[keys]
pub(crate) struct RawQueue {
    /// Which packets it takes. Default `all`.
    pub(crate) takes: Option<TakesWord>,
    /// As many queues like this one; a packet goes to one by its channel, as a hash of addresses
    /// has it.
    #[key(default = 1)]
    pub(crate) spread: Option<Written<Spread>>,
    /// In which order they leave.
    #[key(default = "fifo")]
    pub(crate) order: Option<Written<Order>>,
    /// The shortest frame of time. For `stop_and_go` and `hrr`, which need it; others have none.
    pub(crate) frame: Option<Written<Bounded<Interval>>>,
    /// Rank among the stage's queues, 0 before all.
    #[key(default = 0)]
    pub(crate) priority: Option<Written<Rank>>,
    /// Packets that it holds. Default: as many as there are.
    pub(crate) slots: Option<Written<Slots>>,
    /// Treatment of a packet that finds the queue full. Default `block`.
    pub(crate) overload: Option<Written<Overload>>,
    /// Treatment of a packet with an end-to-end deadline that passes before its service here.
    #[key(default = "keep")]
    pub(crate) late: Option<Written<LatePolicy>>,
    /// How long before it is due a packet is late here, for what is left of its way; for `late =
    /// "drop"`.
    #[key(default = "0 us")]
    pub(crate) margin: Option<Written<Bounded<Delay>>>,
    /// Source of `slots`, `spread` and `margin`. Needed in adapter files.
    pub(crate) source: Option<Written<String>>,
}

/// A part of a stage's work: `fixed` + `per_packet` + ⌈S / `segment`⌉ × `per_segment` + the cost of
/// S bytes, S being the packet's size and its `trailer`.
#[keys]
pub(crate) struct RawPhase {
    /// Time whatever the size.
    #[key(default = "0 us")]
    pub(crate) fixed: Option<Written<Bounded<Cost>>>,
    /// Time for each packet whatever its size, where `fixed` is once for a batch.
    #[key(default = "0 us")]
    pub(crate) per_packet: Option<Written<Bounded<Cost>>>,
    /// Only these packets go through it. Default `all`.
    pub(crate) takes: Option<TakesWord>,
    /// Size of a segment; given with `per_segment`.
    pub(crate) segment: Option<Written<Bounded<Size>>>,
    /// Time per segment begun; given with `segment`.
    pub(crate) per_segment: Option<Written<Bounded<Cost>>>,
    /// Time per byte, up to `knee`. Default `0 ns`.
    pub(crate) per_byte: Option<Written<Bounded<PerByte>>>,
    /// The same as a rate.
    pub(crate) rate: Option<Written<Bounded<Flow>>>,
    /// Size from where on a byte costs `per_byte_past`.
    pub(crate) knee: Option<Written<Bounded<Size>>>,
    /// Time per byte past `knee`; given with it.
    pub(crate) per_byte_past: Option<Written<Bounded<PerByte>>>,
    /// Only packets of at least this size go through it.
    pub(crate) from: Option<Written<Bounded<Size>>>,
    /// Only packets of at most this size go through it.
    pub(crate) up_to: Option<Written<Bounded<Size>>>,
    /// Component that spends the time.
    #[key(default = "delay")]
    pub(crate) kind: Option<Written<PhaseKind>>,
    /// Bytes that are added to a packet before it is cut into segments, as AAL5 adds 8 B. Default
    /// `0 B`.
    pub(crate) trailer: Option<Written<Bounded<Size>>>,
    /// Whether the phase is done a segment at a time, so that a packet before it at its resources
    /// has them between two segments: cells.
    #[key(default = false)]
    pub(crate) yields: Option<Written<bool>>,
    /// Resources it holds, all or none, by their names.
    pub(crate) holds: Option<List<Written<Name>>>,
    /// Rank at its resources, 0 before all.
    #[key(default = 0)]
    pub(crate) priority: Option<Written<Rank>>,
    /// Whether the frame goes over the medium meanwhile, which must be free for it.
    #[key(default = false)]
    pub(crate) medium: Option<Written<bool>>,
    /// Whether the packet has been copied at its end, so that its buffer in the adapter is free.
    #[key(default = false, said = "`false`: it has it until it completes")]
    pub(crate) releases: Option<Written<bool>>,
    /// Notification of the host at its end. Default: none.
    pub(crate) tells: Option<Written<Tells>>,
    /// Source of the times. Needed in adapter files.
    pub(crate) source: Option<Written<String>>,
}
