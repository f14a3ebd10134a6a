//! What an adapter with virtual interfaces is like.

use laxity_units::Rate;

use super::{Engines, FirmwareCosts};

/// How the adapter's processor goes about its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Firmware {
    /// SVIA: one operation after the other.
    Sequential {
        /// It goes on while NSDMA sends.
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

/// How what programs ring for waits, and what comes for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doorbells {
    /// In one queue, first come, first served: as the paper's hardware merges them.
    Merged,
    /// By virtual interfaces, of which those that keep their bandwidth go first, by stamps, and those of different processes take turns with the rest. The processor
    /// looks at all units before it handles something, and handles what has the first stamp. Of QoSVIA only.
    Apart {
        /// Messages that did not come in by a bandwidth of which so many are inside at a time, each way.
        ahead: u32,
    },
}

/// What the adapter has room for, and what is set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Messages on their way out that the adapter's memory holds; `None` for any number. A sequence needs no more than it has.
    pub send_buffers: Option<u32>,
    /// Messages on their way in, likewise; the network holds what finds no room.
    pub receive_buffers: Option<u32>,
    /// Whether NSDMA has a hardware queue, as HDMA has.
    pub nsdma_queue: bool,
    /// Requests at the head of a hardware queue that stay where they are while another is inserted.
    pub guard: u32,
    /// The rate that best effort has for sure, all of it together; `None` for none. Of QoSVIA only. Where doorbells are
    /// [apart](Doorbells::Apart) it is that of all of it that is rung for, and that of all that comes.
    pub best_effort: Option<Rate>,
    /// How doorbells wait.
    pub doorbells: Doorbells,
}

impl Limits {
    /// The paper's simulator: room for everything, nothing set aside; the head of a queue is left alone.
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
    /// What the firmware's steps take.
    pub costs: FirmwareCosts,
    /// What its engines take.
    pub engines: Engines,
    /// What there is room for.
    pub limits: Limits,
}

impl ViaConfig {
    /// How many are inside at a time that came in by no bandwidth, if processes are told apart.
    pub(super) fn ahead(&self) -> Option<u32> {
        match (self.firmware, self.limits.doorbells) {
            (Firmware::QualityOfService, Doorbells::Apart { ahead }) => Some(ahead.max(1)),
            _ => None,
        }
    }

    /// The adapter of Table 1 under `firmware`.
    pub fn table_1(firmware: Firmware) -> Self {
        let costs = FirmwareCosts::table_1(firmware, FirmwareCosts::LOOK);
        Self { firmware, costs, engines: Engines::TABLE_1, limits: Limits::NONE }
    }
}
