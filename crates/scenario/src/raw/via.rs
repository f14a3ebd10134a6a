//! The raw form of `[via]`: adapters with virtual interfaces.

use laxity_scenario_keys::keys;

use crate::choice::{DoorbellsKind, FirmwareKind};
use crate::leaf::{Bounded, Cost, Delay, Factor, Flow, Name, PerByte, Whole};
use crate::written::{List, Part, Written};
use laxity_model::via::FirmwareCosts;

/// A cluster of nodes with virtual interfaces at their adapters. Then every channel is one, from a
/// node to another. It reserves its `rate`, or `max_message` every `min_interval`; messages larger
/// than `max_message` are sent as several. No host schedules: each program has a processor.
#[keys(kind = FirmwareKind)]
pub(crate) struct RawVia {
    /// How the adapter's processor goes about its work.
    #[key(required)]
    pub(crate) firmware: Option<Written<FirmwareKind>>,
    /// `svia`: whether it goes on to the next message while the network interface sends (Trapeze).
    #[key(of(Sequential), default = false)]
    pub(crate) overlap: Option<Written<bool>>,
    /// Nodes of the cluster, called by their numbers.
    #[key(default = 2)]
    pub(crate) nodes: Option<Written<Whole<2, 64>>>,
    // Defaults of wires and programs: a Myrinet switch, and a Pentium Pro of 400 MHz that writes a
    // descriptor and a doorbell across PCI, or finds completion information by polling. The paper
    // prints neither, so its claims are judged over a range.
    /// From the first bit out of one adapter to the first bit at another.
    #[key(default = "0.5 us")]
    pub(crate) latency: Option<Written<Bounded<Delay>>>,
    /// Time of a program to post a descriptor and ring its doorbell.
    #[key(default = "2 us")]
    pub(crate) post: Option<Written<Bounded<Cost>>>,
    /// Time of a program to see a completion.
    #[key(default = "2 us")]
    pub(crate) reap: Option<Written<Bounded<Cost>>>,
    /// Receive descriptors that a program posts for each virtual interface at the start, and again
    /// one whenever it has taken a message. A message that finds none is lost. Default: there are
    /// always some, and no doorbells for them.
    pub(crate) receives: Option<Written<Whole<1, 1_000_000>>>,
    /// Messages of a virtual interface that may be sent and not yet taken: the receiving program
    /// returns credits, by halves of this, in messages of their own. Default: no flow control.
    pub(crate) credits: Option<Written<Whole<1, 1_000_000>>>,
    /// Descriptors that the send queue of a virtual interface without a bandwidth holds; its
    /// program waits for room. Needed for bounds beside best effort. Default: any number.
    pub(crate) depth: Option<Written<Whole<1, 1_000_000>>>,
    /// Messages on their way out that the adapter's memory holds; not of `svia`. Default: any number.
    #[key(of(Parallel, QualityOfService))]
    pub(crate) send_buffers: Option<Written<Whole<1, 1_000_000>>>,
    /// Messages on their way in that the adapter's memory holds; what finds no room waits in the
    /// network. Default: any number.
    pub(crate) receive_buffers: Option<Written<Whole<1, 1_000_000>>>,
    /// Whether NSDMA has a hardware queue, as HDMA has; not of `svia`.
    #[key(of(Parallel, QualityOfService), default = false)]
    pub(crate) nsdma_queue: Option<Written<bool>>,
    /// `qosvia`: requests at the head of a hardware queue that stay where they are while another is
    /// inserted.
    #[key(of(QualityOfService), default = 1)]
    pub(crate) guard: Option<Written<Whole<0, 1000>>>,
    /// `qosvia`: the guaranteed rate of best effort, all of it at a node together; where doorbells
    /// are told apart all that is sent, and all that is received, and a message counts as 1 KiB at
    /// least. Default: none.
    #[key(of(QualityOfService))]
    pub(crate) best_effort: Option<Written<Bounded<Flow>>>,
    /// `qosvia`: queueing of doorbells, and of received messages.
    #[key(of(QualityOfService), default = "merged")]
    pub(crate) doorbells: Option<Written<DoorbellsKind>>,
    /// Doorbells that are told apart: number of received messages without a bandwidth that are
    /// inside an adapter at a time, in each direction.
    #[key(default = 4, said = "4, which keeps all units busy")]
    pub(crate) ahead: Option<Written<Whole<1, 1000>>>,
    /// How many times as fast the adapter's processor is as what its costs are for; engines take
    /// their own time. At least 0.01.
    #[key(default = 1)]
    pub(crate) speedup: Option<Written<Factor>>,
    /// Single costs, in place of those of the paper's Table 1.
    pub(crate) costs: Option<Part<RawViaCosts>>,
    /// Renegotiations of virtual interfaces during the run.
    pub(crate) renegotiate: Option<List<Part<RawRenegotiation>>>,
}

/// Another bandwidth for a virtual interface from a time on.
#[keys]
pub(crate) struct RawRenegotiation {
    /// Name of the channel, which has the class `real_time`; of several copies `NAME-1` is the
    /// first.
    #[key(required)]
    pub(crate) channel: Option<Written<Name>>,
    /// From when on.
    #[key(required)]
    pub(crate) at: Option<Written<Bounded<Delay>>>,
    /// Its new reservation. Used capacity of the old bandwidth stays used. A bound is for the
    /// largest reservation that the channel ever has.
    #[key(required)]
    pub(crate) rate: Option<Written<Bounded<Flow>>>,
}

/// Costs of an adapter with virtual interfaces. Default: those of Table 1 for its firmware.
#[keys(fills = FirmwareCosts)]
pub(crate) struct RawViaCosts {
    /// A look at one unit. Where steps are noticed by looks, what Table 1 has for them is in part
    /// the wait for one, so costs that are not written follow from this.
    #[key(default = "0.1 us")]
    pub(crate) poll: Option<Written<Bounded<Cost>>>,
    /// A doorbell: its stamp, and programming the transfer of the descriptor.
    #[key(fills)]
    pub(crate) doorbell: Option<Written<Bounded<Cost>>>,
    /// Noting what takes no transfer.
    #[key(fills)]
    pub(crate) note: Option<Written<Bounded<Cost>>>,
    /// Examining a descriptor and programming the transfer of the first KiB of its data.
    #[key(fills)]
    pub(crate) data: Option<Written<Bounded<Cost>>>,
    /// Each further KiB.
    #[key(fills)]
    pub(crate) fragment: Option<Written<Bounded<Cost>>>,
    /// Queueing data for the network.
    #[key(fills)]
    pub(crate) queue: Option<Written<Bounded<Cost>>>,
    /// Programming NSDMA.
    #[key(fills)]
    pub(crate) start: Option<Written<Bounded<Cost>>>,
    /// Programming the transfer of completion information.
    #[key(fills)]
    pub(crate) status: Option<Written<Bounded<Cost>>>,
    /// Putting away what is complete.
    #[key(fills)]
    pub(crate) finish: Option<Written<Bounded<Cost>>>,
    /// Passing one entry of a queue on the way to where a stamp belongs.
    #[key(fills)]
    pub(crate) scan: Option<Written<Bounded<Cost>>>,
    /// HDMA of a descriptor.
    pub(crate) descriptor: Option<Written<Bounded<Cost>>>,
    /// HDMA of completion information.
    pub(crate) completion: Option<Written<Bounded<Cost>>>,
    /// HDMA of data, for anything.
    pub(crate) hdma: Option<Written<Bounded<Cost>>>,
    /// HDMA of data, for each byte from host memory.
    pub(crate) down: Option<Written<Bounded<PerByte>>>,
    /// HDMA of data, for each byte to host memory.
    pub(crate) up: Option<Written<Bounded<PerByte>>>,
    /// The network, for anything.
    pub(crate) frame: Option<Written<Bounded<Cost>>>,
    /// The network, for each byte.
    pub(crate) byte: Option<Written<Bounded<PerByte>>>,
}
