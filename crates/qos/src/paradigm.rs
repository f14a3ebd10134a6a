//! How packets get from handlers to an adapter: a choice of hosts that decides about their costs too.

/// Who runs the link scheduler (resource §3.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkParadigm {
    /// The handler that made a packet, by a call, or the interrupt that announces a completion.
    O1,
    /// A thread of its own above all handlers, which like any thread waits for a preemption point.
    O2,
    /// The handler by a call, or a new thread after every completion.
    O3,
    /// Nobody: packets go to the adapter as they are made, and it schedules them itself (thesis §6.3.1).
    Adapter,
}

impl LinkParadigm {
    /// Whether threads of its own choose packets.
    #[inline]
    pub(crate) fn has_threads(self) -> bool {
        matches!(self, LinkParadigm::O2 | LinkParadigm::O3)
    }
}
