//! Configuration of a virtual-interface adapter.

use laxity_units::Rate;

use super::{Engines, FirmwareCosts};

/// Schedule of the adapter's processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Firmware {
    /// SVIA: one operation after the other.
    Sequential {
        /// It continues while NSDMA sends.
        overlap: bool,
    },
    /// PVIA: all units in turn, queues in order of arrival.
    Parallel,
    /// QoSVIA: all units in turn, queues in order of VirtualClock's stamps.
    QualityOfService,
}

impl Firmware {
    pub(super) fn is_sequential(self) -> bool {
        matches!(self, Firmware::Sequential { .. })
    }
}

/// How doorbells and received messages wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doorbells {
    /// In one queue, first come, first served: as the paper's hardware merges them.
    Merged,
    /// By virtual interface: those within their bandwidth go first, by stamps; the rest takes turns
    /// by process. The processor polls all units before it handles an event, and handles the one
    /// with the first stamp. QoSVIA only.
    Apart {
        /// Maximum number of messages inside that were not admitted by a bandwidth, each direction.
        ahead: u32,
    },
}

/// Capacity of the adapter, and reservations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViLimits {
    /// Outgoing messages that the adapter's memory holds; `None` for unlimited. A sequential
    /// firmware needs only one.
    pub send_buffers: Option<u32>,
    /// Incoming messages, likewise; the network holds messages without room.
    pub receive_buffers: Option<u32>,
    /// Whether NSDMA has a hardware queue, as HDMA has.
    pub nsdma_queue: bool,
    /// Requests at the head of a hardware queue that are not reordered by an insertion.
    pub guard: u32,
    /// Reserved rate of all best effort together; `None` for none. QoSVIA only. Where doorbells are
    /// [separated](Doorbells::Apart) it holds for all doorbells and for all received messages,
    /// each.
    pub best_effort: Option<Rate>,
    /// How doorbells wait.
    pub doorbells: Doorbells,
}

impl ViLimits {
    /// The paper's simulator: unlimited memory, no reservation; the head of a queue is not
    /// reordered.
    pub const NONE: Self = Self {
        send_buffers: None,
        receive_buffers: None,
        nsdma_queue: false,
        guard: 1,
        best_effort: None,
        doorbells: Doorbells::Merged,
    };
}

/// An adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViaConfig {
    /// Its firmware.
    pub firmware: Firmware,
    /// Costs of the firmware's steps.
    pub costs: FirmwareCosts,
    /// Times of its engines.
    pub engines: Engines,
    /// Its capacity.
    pub limits: ViLimits,
}

impl ViaConfig {
    /// Maximum number of messages inside without a bandwidth, if processes are separated.
    pub(super) fn ahead(&self) -> Option<u32> {
        match (self.firmware, self.limits.doorbells) {
            (Firmware::QualityOfService, Doorbells::Apart { ahead }) => Some(ahead.max(1)),
            _ => None,
        }
    }

    /// The adapter of Table 1 under `firmware`.
    pub fn table_1(firmware: Firmware) -> Self {
        let costs = FirmwareCosts::table_1(firmware, FirmwareCosts::LOOK);
        Self { firmware, costs, engines: Engines::TABLE_1, limits: ViLimits::NONE }
    }
}
