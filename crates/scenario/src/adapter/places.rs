//! Where the parts of an adapter's description stand in its file.

use std::ops::Range;

/// Which way a stage's packets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Transmit,
    Receive,
}

/// Where the parts of a description stand in the file.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) whole: Range<usize>,
    pub(super) queues: Range<usize>,
    pub(super) responses: Range<usize>,
    pub(super) transmit_buffers: Range<usize>,
    pub(super) receive_buffers: Range<usize>,
    pub(super) transmit: Vec<Range<usize>>,
    pub(super) receive: Vec<Range<usize>>,
    /// Phases on the medium.
    pub(super) medium: Vec<(Side, Range<usize>)>,
}
