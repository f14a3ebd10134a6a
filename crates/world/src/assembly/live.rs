//! How a run stands while it goes on.

use laxity_units::{Span, Time};

use crate::measure::Meter;

/// The state of a run for an observer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Live {
    /// The time of the run.
    pub now: Time,
    /// Per channel, in the order of the experiment.
    pub channels: Vec<LiveChannel>,
    /// Name and number of waiting packets: per node and stage; per interface of a receiving host;
    /// per adapter of virtual interfaces, of which the messages and doorbells count.
    pub stages: Vec<(String, usize)>,
}

/// How a channel stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveChannel {
    /// Messages offered.
    pub messages: u64,
    /// Messages transmitted whole.
    pub completed: u64,
    /// Messages received whole.
    pub delivered: u64,
    /// Bytes transmitted.
    pub bytes: u64,
    /// Messages after their deadline.
    pub missed: u64,
    /// Packets lost.
    pub lost: u64,
    /// The longest time from a message's logical arrival to its end, in seconds.
    pub worst: Option<f64>,
}

impl LiveChannel {
    pub(super) fn of(meter: &Meter) -> Self {
        Self {
            messages: meter.tally.messages,
            completed: meter.tally.completed,
            delivered: meter.tally.delivered,
            bytes: meter.tally.transmitted.get(),
            missed: meter.tally.late(),
            lost: meter.tally.lost_packets,
            worst: meter.worst.map(Span::as_secs_f64),
        }
    }
}
