//! Times on the express path: sums over phases that only take time, computed once per packet size.

use laxity_qos::seldom::seldom;
use laxity_units::{Bytes, Span};

use super::{Pipeline, Reach};
use crate::adapter::{Description, Phase, Tells};

/// Times for the last packet's size.
#[derive(Debug, Default)]
pub(super) struct Times {
    pub(super) size: Bytes,
    /// In each stage of its way unseen.
    pub(super) stages: Vec<Span>,
    /// In all of them.
    pub(super) way: Span,
    /// On the medium behind them.
    pub(super) frame: Span,
}

/// Whether all that a phase does for a packet is to take its time.
pub(super) fn only_takes_time(phase: &Phase) -> bool {
    phase.is_for_all() && phase.from.is_zero() && !phase.yields && !phase.since_service
}

/// Whether others see the end of a phase.
pub(super) fn is_seen(phase: &Phase) -> bool {
    phase.medium || phase.tells != Tells::Nothing
}

/// Time of a phase for a packet of that size alone.
pub(super) fn time(description: &Description, phase: &Phase, size: Bytes) -> Span {
    let time = phase.time(size);
    if phase.medium { time.max(description.link.transmit(size)) } else { time }
}

impl Pipeline {
    /// Finds out what each stage takes for a packet of `size`.
    #[inline]
    pub(super) fn look_how_long(&mut self, reach: Reach, size: Bytes) {
        if seldom(self.express.times.size != size || self.express.times.stages.is_empty()) {
            self.add_up(reach, size);
        }
    }

    #[inline(never)]
    fn add_up(&mut self, reach: Reach, size: Bytes) {
        let times = &mut self.express.times;
        times.stages.clear();
        for (stage, station) in self.stations[..=reach.stage].iter().enumerate() {
            let phases = &station.stage.phases;
            let phases = if stage == reach.stage { &phases[..=reach.phase] } else { &phases[..] };
            times.stages.push(phases.iter().map(|phase| time(&self.description, phase, size)).sum());
        }
        (times.size, times.way) = (size, times.stages.iter().copied().sum());
        self.express.times.frame =
            if reach.sends { self.time_of_frame(reach.stage + 1, size) } else { Span::ZERO };
    }
}
