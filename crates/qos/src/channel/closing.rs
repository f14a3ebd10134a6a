//! The end of a channel (`rtc_close` and teardown, thesis 3.2.2).
//!
//! What a channel has reserved may be promised to others when nothing of it is left at a host, and not when its application says
//! that this was all: a message that waits for its logical arrival is work that the host has still to do, and others' bounds count it. So an end has two steps. From
//! [`close`](Subsystem::close) on nothing more is accepted, and what was goes its way as before, in its time. Once that is over
//! [`forget`](Subsystem::forget) gives back what the channel had here, its threads and queues, and answers what became of its messages; then admission may let go of it, too.
//!
//! A channel ends at its sender first, and at each host behind that when nothing of it is on the way there any more.

use super::counters::Counters;
use super::misuse::Misuse;
use super::step::Dropped;
use super::subsystem::{Channel, Subsystem};
use crate::names::ChannelId;

impl Subsystem {
    /// The application of `channel` sends no more, or, where it is received, nothing more is to come. What was accepted is not affected.
    ///
    /// From now on [`send`](Subsystem::send) refuses the channel as [closed](Misuse::Closed).
    /// To close it again changes no state.
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

    /// Takes a closed channel away, if nothing of it is left, and answers what became of its messages: what has come of one that never became whole
    /// is dropped with it, as [incomplete](Dropped::Incomplete). `None` while it is open or something is left. Its number may be given to another then.
    ///
    /// # Errors
    ///
    /// [`Misuse::Unknown`] if the channel is not open here.
    pub fn forget(&mut self, channel: ChannelId) -> Result<Option<Counters>, Misuse> {
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

    /// Whether a lane is closed, and nobody has or does anything of it.
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
