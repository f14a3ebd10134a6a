//! Stations of which only the load is of interest: competition for those that are modelled.

use laxity_engine::Stream;
use laxity_units::{Bytes, Rate, Span, Time};

use super::{Background, NetworkError};

impl Background {
    pub(super) fn check(&self, rate: Rate) -> Result<(), NetworkError> {
        if self.stations == 0 {
            return Err(NetworkError::new("others", "are no stations", "at least 1 station, or no others"));
        }
        if self.frame < Bytes::new(64) {
            let reason = format!("send frames of {}, which are shorter than a slot", self.frame);
            return Err(NetworkError::new("others", reason, "frames of at least 64 B"));
        }
        if self.load.is_zero() || self.load > rate {
            let reason = format!("offer {}", self.load);
            return Err(NetworkError::new("others", reason, format!("a load above zero and at most {rate}")));
        }
        Ok(())
    }
}

/// The queues of the others.
#[derive(Debug)]
pub(super) struct Others {
    mean_interval: Span,
    /// Transmission time of each frame.
    pub(super) frame: Span,
    /// Arrival of the next frame.
    pub(super) next: Time,
    /// Frames of each station, the one being sent included.
    pub(super) waiting: Vec<u64>,
}

impl Others {
    pub(super) fn new(others: Background, rate: Rate, random: &mut Stream) -> Others {
        let mean_interval = others.load.time_for_ceil(others.frame);
        Others {
            mean_interval,
            frame: rate.time_for_ceil(others.frame),
            next: Time::ZERO.saturating_add(random.exponential(mean_interval)),
            waiting: vec![0; others.stations as usize],
        }
    }

    /// A frame arrives, and the next is drawn; returns its station.
    pub(super) fn offer(&mut self, at: Time, random: &mut Stream) -> usize {
        self.next = at.saturating_add(random.exponential(self.mean_interval));
        let other = random.below(self.waiting.len() as u64) as usize;
        self.waiting[other] += 1;
        other
    }

    /// A frame is sent or given up; answers whether another waits.
    pub(super) fn done(&mut self, other: usize) -> bool {
        self.waiting[other] -= 1;
        self.waiting[other] > 0
    }
}
