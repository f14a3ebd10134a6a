//! Closing and removing a channel (`rtc_close` and teardown, thesis 3.2.2).
//!
//! A channel's reservation can be released when the host has no more work of the channel, which is
//! later than the application's close. A message that waits for its logical arrival is still work,
//! and the bounds of other channels count it. A channel therefore ends in two steps. After
//! [`close`](Subsystem::close) the channel accepts no more messages, and accepted messages proceed
//! as before. Once they are finished, [`forget`](Subsystem::forget) releases the channel's threads
//! and queues and returns its counters. Admission may then release the reservation.
//!
//! A channel ends at its sender first, and at each later host when no packet of it is on the path
//! to that host any more.

use super::counters::ChannelCounters;
use super::misuse::Misuse;
use super::step::Dropped;
use super::subsystem::{Channel, Subsystem};
use crate::names::ChannelId;

impl Subsystem {
    /// Closes `channel`: its application sends no more, or, at the receiver, no more packets will
    /// arrive. Accepted messages are not affected.
    ///
    /// From now on [`send`](Subsystem::send) refuses the channel as [closed](Misuse::Closed). To
    /// close it again changes no state.
    ///
    /// # Errors
    ///
    /// [`Misuse::Unknown`] if the channel is not open here.
    pub fn close(&mut self, channel: ChannelId) -> Result<(), Misuse> {
        let &Channel { lane, excess, ref config, .. } = self.channel(channel)?;
        let application = config.application;
        for lane in [Some(lane), excess].into_iter().flatten() {
            self.lanes[lane].closed = true;
        }
        for applications in &mut self.cores[application].applications {
            applications.retain(|other| *other != channel);
        }
        Ok(())
    }

    /// Removes a closed channel that has no work left, and returns its counters. `None` while the
    /// channel is open or has work left.
    ///
    /// Packets of a message that never became complete are dropped as
    /// [incomplete](Dropped::Incomplete). The channel's number may then be used again.
    ///
    /// # Errors
    ///
    /// [`Misuse::Unknown`] if the channel is not open here.
    pub fn forget(&mut self, channel: ChannelId) -> Result<Option<ChannelCounters>, Misuse> {
        let &Channel { lane, excess, .. } = self.channel(channel)?;
        let lanes = [Some(lane), excess].into_iter().flatten();
        if !lanes.clone().all(|lane| self.has_nothing_left(lane)) {
            return Ok(None);
        }
        let mut incomplete = 0;
        for lane in lanes {
            incomplete += self.lanes[lane].reassembler.incomplete();
            self.free_handlers.extend(self.lanes[lane].handler.take());
            self.free_lanes.push(lane);
        }
        let removed = self.channels.remove(channel).ok_or(Misuse::Unknown(channel))?;
        let mut counters = removed.counters;
        if incomplete > 0 {
            *counters.dropped.entry(Dropped::Incomplete).or_default() += incomplete;
        }
        Ok(Some(counters))
    }

    /// Whether a lane is closed and has no message, packet or working thread.
    fn has_nothing_left(&self, place: usize) -> bool {
        let lane = &self.lanes[place];
        let at_work = || self.handlers.iter().any(|handler| handler.lane == place && handler.is_at_work());
        lane.closed
            && lane.messages.is_empty()
            && lane.packets.is_empty()
            && lane.used_packets == 0
            && lane.unfinished.is_empty()
            && lane.inbox.is_empty()
            && !self.cores.iter().any(|core| core.reading == Some(place))
            && !at_work()
    }
}
