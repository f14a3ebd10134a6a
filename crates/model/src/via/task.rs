//! Tasks of the firmware, executed one at a time.

use super::ViDirection;

/// A task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    /// A doorbell: the descriptor is to be fetched.
    Fetch,
    /// A doorbell of best effort, or of a group: it is to wait outside.
    Hold,
    /// A receive doorbell with a descriptor that is prefetched.
    FetchAhead,
    /// There is a receive descriptor more: its doorbell under SVIA, its arrival under the others.
    Note,
    /// A message has arrived, and its descriptor is to be fetched: SVIA.
    FetchFor,
    /// A message has arrived without a descriptor.
    Discard,
    /// One that is inside without a stamp has one now.
    Stamp,
    /// The transfer of data: up to its first KiB.
    Program(ViDirection),
    /// The rest of it.
    Fragments(ViDirection),
    /// The data waits for room in the adapter's memory.
    Wait,
    /// Data is down and goes to NSDMA, or into its queue.
    Queue,
    /// NSDMA is free: the next is started, before this one's status.
    Restart,
    /// The transfer of completion information.
    Status(ViDirection),
    /// It is there.
    Finish(ViDirection),
}

impl Task {
    /// Its name in a trace.
    pub(super) fn name(self) -> &'static str {
        match self {
            Task::Fetch => "doorbell",
            Task::Hold => "doorbell that waits",
            Task::FetchAhead => "receive doorbell",
            Task::Note => "note a receive descriptor",
            Task::FetchFor => "program receive descriptor",
            Task::Discard => "discard",
            Task::Stamp => "stamp for what has none",
            Task::Program(_) => "program data",
            Task::Fragments(_) => "program further fragments",
            Task::Wait => "no room for data",
            Task::Queue => "hand to network",
            Task::Restart => "start next on network",
            Task::Status(_) => "program status",
            Task::Finish(_) => "finish",
        }
    }
}
