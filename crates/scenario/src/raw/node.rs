//! The raw form of a node of a network with different nodes.

use laxity_qos::channel::Order;
use laxity_scenario_keys::keys;
use laxity_world::experiment::{Forwarding, SwitchSpec};

use super::{RawAdapters, RawAts, RawClock, RawCyclic, RawHost, RawShaper, RawWindow};
use crate::choice::NodeKind;
use crate::leaf::{Bounded, Delay, Interval, Room, Whole};
use crate::written::{List, Part, Written};

/// A node, or several that are alike: what it has that is not as `[host]` and `[adapter]` say.
#[keys(kind = NodeKind, fills = SwitchSpec)]
pub(crate) struct RawNode {
    /// Kind of the node.
    #[key(default = "host")]
    pub(crate) kind: Option<Written<NodeKind>>,
    /// How many such nodes there are; more than one are called `name-1`, `name-2` …, and `name` is
    /// all of them.
    #[key(default = 1)]
    pub(crate) count: Option<Written<Whole<1, 10_000>>>,
    /// With `[signalling]`: the clock of the node. Default: true time.
    pub(crate) clock: Option<Part<RawClock>>,
    /// Host: what differs from `[host]`.
    #[key(of(Host))]
    pub(crate) host: Option<Part<RawHost>>,
    /// Host: what differs from `[adapter]` and its file; with `kind` or `file`, an adapter of its
    /// own. A host with several adapters has each under a name, as `[node.NAME.adapter.left]`, and
    /// what stands here is what they have in common.
    #[key(of(Host))]
    pub(crate) adapter: Option<RawAdapters>,
    /// Switch: when it passes a frame on.
    #[key(of(Switch), default = "store_and_forward", fills)]
    pub(crate) forwarding: Option<Written<Forwarding>>,
    /// Switch: from then until the frame is in the queue of the port where it leaves.
    #[key(of(Switch), default = "0 us", fills)]
    pub(crate) latency: Option<Written<Bounded<Delay>>>,
    /// Switch: in which order frames leave each port.
    #[key(of(Switch), default = "multiclass_edf")]
    pub(crate) order: Option<Written<Order>>,
    /// Switch: the shortest frame of time. For `stop_and_go` and `hrr`, which need it; others have none.
    #[key(of(Switch))]
    pub(crate) frame: Option<Written<Bounded<Interval>>>,
    /// Switch: classes with a credit-based shaper at each port. For `strict_priority` only, alone or with
    /// `gates`. Default none.
    #[key(of(Switch))]
    pub(crate) shapers: Option<List<Part<RawShaper>>>,
    /// Switch: windows of each port in which the gates of classes are open, in their order, and again
    /// from the first after the last. A frame begins only if its gate stays open until its end. All
    /// switches have one clock. For `strict_priority` only. Default: all gates are open.
    #[key(of(Switch))]
    pub(crate) gates: Option<List<Part<RawWindow>>>,
    /// Switch: begin of the first window.
    #[key(of(Switch), default = "0 us")]
    pub(crate) gate_offset: Option<Written<Bounded<Delay>>>,
    /// Switch: classes with cyclic queueing and forwarding at each port. Cycles of all switches begin
    /// together, at time zero. For `strict_priority` only. Default none.
    #[key(of(Switch))]
    pub(crate) cyclic: Option<List<Part<RawCyclic>>>,
    /// Switch: classes with asynchronous traffic shaping at each port. A frame joins the queue of its
    /// class when the contract of its channel allows, and frames of one link keep their order until
    /// then. For `strict_priority` only. Default none.
    #[key(of(Switch))]
    pub(crate) ats: Option<List<Part<RawAts>>>,
    /// Switch: the most urgent level with frames that can be preempted (IEEE 802.1Qbu): frames of more
    /// urgent levels interrupt those of this one and of all below. Best effort has level 31. For
    /// `strict_priority` at links of Ethernet only, alone or with `gates`. All levels from this one on
    /// then have the gate of best effort, and their frames are interrupted when it closes (hold), so
    /// that none is on the link when the next window begins. Default: no frame is interrupted.
    #[key(of(Switch))]
    pub(crate) preemptable_from: Option<Written<Whole<1, 31>>>,
    /// Switch: a flow meter for each real-time channel that enters from a host (IEEE 802.1Qci), which drops
    /// frames beyond the contract of the channel. The value is how much later some frames may be than
    /// others without being beyond it: the jitter that they have in the host. For `fifo` and
    /// `strict_priority` only. Default: no frame is dropped.
    #[key(of(Switch))]
    pub(crate) policing: Option<Written<Bounded<Delay>>>,
    /// Switch: how long before its logical arrival time a frame may leave if no on-time frame
    /// waits.
    #[key(of(Switch), default = "0 us")]
    pub(crate) horizon: Option<Written<Bounded<Delay>>>,
    /// Switch: whether early frames within the horizon go before best effort.
    #[key(of(Switch), default = false)]
    pub(crate) early_above_best_effort: Option<Written<bool>>,
    /// Switch: memory that each port has to itself, beside what is set aside for admitted channels.
    #[key(of(Switch), default = "64 KiB")]
    pub(crate) memory: Option<Written<Bounded<Room>>>,
    /// Switch: memory that all ports share, where one has no more of its own.
    #[key(of(Switch), default = "0 B", said = "none", fills(shared))]
    pub(crate) shared_memory: Option<Written<Bounded<Room>>>,
}
