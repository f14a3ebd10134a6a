//! The path of packets from handlers to an adapter, which also determines the costs.

/// The thread that runs the link scheduler (resource §3.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkParadigm {
    /// The handler that made a packet, by a call, or the interrupt that announces a completion.
    O1,
    /// A dedicated thread with priority above all handlers, which waits for a preemption point like
    /// any thread.
    O2,
    /// The handler by a call, or a new thread after every completion.
    O3,
    /// No thread: packets go to the adapter as they are made, and the adapter schedules them
    /// (thesis §6.3.1).
    Adapter,
}

impl LinkParadigm {
    /// Whether dedicated threads choose packets.
    #[inline]
    pub(crate) fn has_threads(self) -> bool {
        matches!(self, LinkParadigm::O2 | LinkParadigm::O3)
    }
}
