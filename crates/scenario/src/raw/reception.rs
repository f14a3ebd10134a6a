//! The raw form of reception at a host: its interfaces, and its costs.

use laxity_model::reception::Discard;
use laxity_qos::reception::TakenBuffers;
use laxity_scenario_keys::keys;

use crate::choice::{CommandKind, CostKind, NoProgram, PolicyKind, ProgramOrder, SharingKind};
use crate::leaf::{Bounded, Cost, Delay, Factor, Interval, Name, Or, Share, Whole};
use crate::written::{Part, Written};

/// Commands taken at a time.
pub(crate) type Quota = Whole<1, 1_000_000>;
/// Packets that something holds.
pub(crate) type Room = Whole<1, 1_000_000>;

/// Costs of a packet received at an interface, beside `interrupt`, `context_switch` and
/// `receive_packet` of the host's profile.
#[keys]
pub(crate) struct RawReceive {
    /// `C_pp`: what the receiving program does with a packet.
    #[key(default = "0 us")]
    pub(crate) program: Option<Written<Bounded<Cost>>>,
    /// A clock tick at which the kernel polls. Default: what an interrupt costs.
    pub(crate) poll: Option<Written<Bounded<Cost>>>,
    /// The first of a packet's two commands, or its refusal there; with the policy `lazy_software`,
    /// the search for the program of a packet.
    #[key(default = "0 us")]
    pub(crate) announce: Option<Written<Bounded<Cost>>>,
    /// How interrupts, polls, the protocol and the program vary.
    #[key(default = "fixed")]
    pub(crate) costs: Option<Written<CostKind>>,
    /// Receive buffers that all interfaces share when their own are full.
    #[key(default = 0)]
    pub(crate) pool: Option<Written<Whole<0, 1_000_000>>>,
}

/// An interface at which channels arrive, and the times at which the host takes their packets.
#[keys(kind = PolicyKind)]
pub(crate) struct RawInterface {
    /// Its name: letters, digits, `-` and `_`.
    #[key(required)]
    pub(crate) name: Option<Written<Name>>,
    /// The node that receives at it, where nodes have names: all channels that end there arrive at
    /// its interfaces, over their paths. Such a node does not send.
    pub(crate) node: Option<Written<Name>>,
    /// Policy of the times at which the host takes received packets.
    #[key(required)]
    pub(crate) policy: Option<Written<PolicyKind>>,
    /// `Q`: commands taken at a time, at most. A packet takes two with a `handshake`, and one
    /// without. Guaranteed: packets.
    #[key(of(
        Continuous,
        Timed,
        HardTimer,
        SoftTimer,
        Explicit,
        Limited,
        Backoff,
        Guaranteed,
        Napi,
        CycleLimited
    ))]
    pub(crate) quota: Option<Written<Quota>>,
    /// `I`: timed, hard timer: between ticks. Explicit: until interrupts are heard again at the
    /// latest. Limited: between interrupts at least. Guaranteed: the period in which the quota is
    /// reserved. Cycle-limited: that of which polls have a share.
    #[key(of(Timed, HardTimer, Explicit, Limited, Guaranteed, CycleLimited))]
    pub(crate) interval: Option<Written<Bounded<Interval>>>,
    /// Soft timer: the distribution of intervals between ticks, a file: a path ending in `.toml`
    /// relative to this file, or a name, which is looked for like a profile's, in folders called
    /// `distributions`.
    #[key(of(SoftTimer))]
    pub(crate) intervals: Option<Written<String>>,
    /// Soft timer: the hard timer behind it, which cuts intervals off.
    #[key(of(SoftTimer))]
    pub(crate) bound: Option<Written<Bounded<Interval>>>,
    /// `I_min`: backoff: the first period between interrupts of an overloaded host.
    #[key(of(Backoff))]
    pub(crate) minimum: Option<Written<Bounded<Interval>>>,
    /// `I_max`: backoff: the longest period.
    #[key(of(Backoff))]
    pub(crate) maximum: Option<Written<Bounded<Interval>>>,
    /// `b`: backoff: by what the period grows while the host is overloaded; above 1.
    #[key(of(Backoff))]
    pub(crate) factor: Option<Written<Factor>>,
    /// `r`: backoff: by what the period shrinks when it is not; below 1.
    #[key(of(Backoff))]
    pub(crate) restore: Option<Written<Share>>,
    /// Backoff: the host is overloaded with less than this share of its buffers free.
    #[key(of(Backoff), default = 0.25)]
    pub(crate) threshold: Option<Written<Share>>,
    /// Backoff: when a buffer counts as taken.
    #[key(of(Backoff), default = "filled")]
    pub(crate) taken: Option<Written<TakenBuffers>>,
    /// Guaranteed: unreserved packets are taken while the program has at most this number of
    /// packets to process.
    #[key(of(Guaranteed), default = 1)]
    pub(crate) spare: Option<Written<Whole<0, 1_000_000>>>,
    /// Coalescing: an interrupt when this number of commands waits (rx-frames).
    #[key(of(Coalescing))]
    pub(crate) frames: Option<Written<Quota>>,
    /// Coalescing: an interrupt when the first has waited for so long (rx-usecs).
    #[key(of(Coalescing))]
    pub(crate) delay: Option<Written<Bounded<Delay>>>,
    /// NAPI: polls that follow each other before the program has its turn.
    #[key(of(Napi), default = 10)]
    pub(crate) restarts: Option<Written<Whole<0, 1000>>>,
    /// Cycle-limited: the share of each `interval` that polls may have.
    #[key(of(CycleLimited))]
    pub(crate) share: Option<Written<Share>>,
    /// How a quota is shared between real time and the rest. Default: one queue for all.
    pub(crate) sharing: Option<Part<RawSharing>>,
    // Thesis §7.2.3 has as many buffers.
    /// Capacity of the adapter in packets; if classes are told apart, of those of real time.
    #[key(default = 128)]
    pub(crate) slots: Option<Written<Room>>,
    /// Capacity of the adapter in best-effort packets if classes are told apart. Default as many as
    /// `slots`.
    pub(crate) slots_best_effort: Option<Written<Room>>,
    /// Whether a packet takes two commands with a transfer between them, as in thesis Fig. 7.2.
    /// Without, it is in host memory when its one command is posted.
    #[key(default = false)]
    pub(crate) handshake: Option<Written<bool>>,
    /// Handshake: the transfer into host memory, one at a time.
    #[key(default = "0 us")]
    pub(crate) transfer: Option<Written<Bounded<Cost>>>,
    /// Whether a packet that would find no buffer is refused before the protocol.
    #[key(default = false)]
    pub(crate) early_drop: Option<Written<bool>>,
    /// Receive buffers, which the program empties; or `none` if a packet is delivered when the
    /// protocol is done.
    #[key(default = 128)]
    pub(crate) buffers: Option<Written<Or<NoProgram, Room>>>,
    /// Those of the buffers that only real time may have.
    #[key(default = 0)]
    pub(crate) buffers_real_time: Option<Written<Whole<0, 1_000_000>>>,
    /// Packets that are dropped when the queue is full.
    #[key(default = "newest")]
    pub(crate) discard: Option<Written<Discard>>,
}

/// A control command to an adapter.
#[keys(kind = CommandKind)]
pub(crate) struct RawCommand {
    /// Which.
    #[key(required)]
    pub(crate) kind: Option<Written<CommandKind>>,
    /// When.
    #[key(required)]
    pub(crate) at: Option<Written<Bounded<Delay>>>,
    /// The interface that gets the command, with the policy `interrupt`, `continuous`, `timed`,
    /// `explicit` or `backoff`. Needed unless there is a `channel`.
    #[key(of(ModePoll, ModeInterrupt, HostOn, HostOff, BackoffEnable, BackoffDisable))]
    pub(crate) interface: Option<Written<Name>>,
    /// `create_periodic`, `clear_periodic`: the channel with the source that begins or ends. A
    /// created source sends no message before.
    #[key(of(CreatePeriodic, ClearPeriodic))]
    pub(crate) channel: Option<Written<Name>>,
    /// `mode_poll`, `host_intr_ctrl_on`, `backoff_enable`: as of an interface.
    #[key(of(ModePoll, HostOn, BackoffEnable))]
    pub(crate) quota: Option<Written<Quota>>,
    /// `mode_poll`: between ticks of the clock that polls; without one the host polls without a
    /// pause. `host_intr_ctrl_on`: until interrupts are heard again at the latest.
    #[key(of(ModePoll, HostOn))]
    pub(crate) interval: Option<Written<Bounded<Interval>>>,
    /// `backoff_enable`: as of an interface.
    #[key(of(BackoffEnable))]
    pub(crate) minimum: Option<Written<Bounded<Interval>>>,
    /// `backoff_enable`: as of an interface.
    #[key(of(BackoffEnable))]
    pub(crate) maximum: Option<Written<Bounded<Interval>>>,
    /// `backoff_enable`: as of an interface.
    #[key(of(BackoffEnable))]
    pub(crate) factor: Option<Written<Factor>>,
    /// `backoff_enable`: as of an interface.
    #[key(of(BackoffEnable))]
    pub(crate) restore: Option<Written<Share>>,
    /// `backoff_enable`: as of an interface.
    #[key(of(BackoffEnable), default = 0.25)]
    pub(crate) threshold: Option<Written<Share>>,
    /// `backoff_enable`: as of an interface.
    #[key(of(BackoffEnable), default = "filled")]
    pub(crate) taken: Option<Written<TakenBuffers>>,
}

/// A program that takes received packets.
#[keys]
pub(crate) struct RawProgram {
    /// Its name: letters, digits, `-` and `_`.
    #[key(required)]
    pub(crate) name: Option<Written<Name>>,
    /// The node that it is at, where nodes have names. Default: the only one with an `[[interface]]`.
    pub(crate) node: Option<Written<Name>>,
    /// `C_pp`: what it does with a packet. Default the `program` of `[host.receive]`.
    pub(crate) work: Option<Written<Bounded<Cost>>>,
    /// Which of its packets it takes first.
    #[key(default = "arrival")]
    pub(crate) order: Option<Written<ProgramOrder>>,
    /// CPU time that the program has before others in each `period`; a packet that it has begun is
    /// finished. Default: no reservation.
    pub(crate) budget: Option<Written<Bounded<Interval>>>,
    /// The period of the budget. Of several programs with some left the one with the shortest goes first.
    pub(crate) period: Option<Written<Bounded<Interval>>>,
}

/// How a quota is shared.
#[keys]
pub(crate) struct RawSharing {
    /// In which way.
    #[key(required)]
    pub(crate) kind: Option<Written<SharingKind>>,
    /// Weighted: `q1`, packets of real time in a batch. Turns: batches for real time.
    pub(crate) real_time: Option<Written<Quota>>,
    /// Weighted: `q2`, packets of the rest. Turns: batches for the rest.
    pub(crate) best_effort: Option<Written<Quota>>,
}
