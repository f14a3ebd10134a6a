//! Interleaved regulators of asynchronous traffic shaping (IEEE 802.1Qcr).
//!
//! A regulator is a FIFO queue before the queue of a class. Frames of several flows share it, and each
//! flow has a token bucket of its own. Only the first frame is examined: it is released when the
//! bucket of its flow contains it, and the frames behind it wait until then (Specht and Samii 2016).
//! All of that is known on arrival (802.1Q, 8.6.11): a frame is released at the latest of its arrival,
//! the release of the frame before it, and the instant at which its bucket contains it.
//!
//! Times are whole picoseconds and buckets are exact ([`TokenBucket`]). A release is rounded up, and
//! releases that a proof compares it with are whole as well, so rounding accumulates nowhere.

use laxity_units::{Bytes, Span, Time};

use crate::by_channel::ByChannel;
use crate::names::ChannelId;
use crate::token_bucket::TokenBucket;
use crate::traffic::TrafficSpec;

/// What a flow can send past its regulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The regulator at this port; flows with the same number share one.
    pub regulator: u32,
    /// Bytes on the link of the largest message.
    pub message: Bytes,
    /// Messages at once; at least 1.
    pub burst: u32,
    /// Interval of messages.
    pub interval: Span,
    /// How far messages can be shifted against each other.
    pub tolerance: Span,
}

impl Committed {
    fn bucket(self) -> TokenBucket {
        let Self { regulator: _, message: max_message, burst, interval: min_interval, tolerance } = self;
        let spec = TrafficSpec { max_message, min_message: max_message, burst, min_interval };
        TokenBucket::new(&spec, tolerance)
    }
}

/// The regulators of a port.
#[derive(Debug, Clone, Default)]
pub(super) struct Regulators {
    /// Regulator and bucket of each regulated flow.
    flows: ByChannel<(usize, TokenBucket)>,
    /// By regulator: the release of its last frame.
    last: Vec<Time>,
}

impl Regulators {
    /// Regulates `flow` from now on.
    pub(super) fn add(&mut self, flow: ChannelId, committed: Committed) {
        let regulator = committed.regulator as usize;
        self.last.resize(self.last.len().max(regulator + 1), Time::ZERO);
        self.flows.insert(flow, (regulator, committed.bucket()));
    }

    /// The release of a frame of `flow` that arrives `now`, with so many bytes on the link.
    pub(super) fn release(&mut self, now: Time, flow: ChannelId, on_link: Bytes) -> Time {
        let Some((regulator, bucket)) = self.flows.get_mut(flow) else { return now };
        let last = &mut self.last[*regulator];
        *last = bucket.earliest(now.max(*last), on_link);
        bucket.count(*last, on_link);
        *last
    }
}
