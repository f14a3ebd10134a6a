//! Messages that applications send: queue capacity, policing, and the queue of a lane.

use laxity_units::{Bytes, Time};

use super::message::Message;
use super::misuse::Misuse;
use super::policy::{ChannelConfig, MessageOverflow};
use super::step::{Dropped, Sent};
use super::subsystem::{Channel, Subsystem};
use crate::fragment::{Cut, Reassembler};
use crate::names::ChannelId;
use crate::seldom::{mostly, seldom};
use crate::tag::{Class, Tag};
use crate::traffic::LogicalClock;

impl Subsystem {
    /// Whether a message sent at `now` would find a free slot, with or without a guarantee.
    ///
    /// # Errors
    ///
    /// [`Misuse::Unknown`] if the channel is not open here.
    #[inline]
    pub fn has_room(&self, now: Time, channel: ChannelId) -> Result<bool, Misuse> {
        let &Channel { ref clock, ref config, lane, excess, .. } = self.channel(channel)?;
        let Some(excess) = excess else { return Ok(self.lane_has_room(lane)) };
        let covered = || self.is_covered(clock, now, config.spec.max_message);
        Ok(self.lane_has_room(lane) && covered() || self.lane_has_room(excess))
    }

    /// Whether a message has a guarantee, on a channel that carries its excess without one.
    fn is_covered(&self, clock: &LogicalClock, now: Time, size: Bytes) -> bool {
        !self.config.enforcement || clock.covers(now, size)
    }

    #[inline]
    fn lane_has_room(&self, lane: usize) -> bool {
        self.lanes[lane].room(self.config.processing) > 0 || !self.config.enforcement
    }

    /// Whether a message queue may have freed a slot since the last call.
    #[inline]
    pub fn has_made_room(&mut self) -> bool {
        std::mem::take(&mut self.made_room)
    }

    /// Number of messages that a sender may send now without blocking; [`u64::MAX`] if it never
    /// blocks.
    ///
    /// # Errors
    ///
    /// [`Misuse::Unknown`] if the channel is not open here.
    pub fn room(&self, channel: ChannelId) -> Result<u64, Misuse> {
        let &Channel { ref config, lane, .. } = self.channel(channel)?;
        if !self.config.enforcement || config.message_overflow != MessageOverflow::Block {
            return Ok(u64::MAX);
        }
        let lane = &self.lanes[lane];
        // An idle handler dequeues the first message at once.
        let idle =
            |&handler: &usize| self.handlers[handler].message.is_none() && !self.handlers[handler].active;
        Ok(match lane.room(self.config.processing) {
            0 => 0,
            room => room + u64::from(lane.handler.as_ref().is_some_and(idle)),
        })
    }

    /// The application sends a message of `size` bytes on `channel`.
    ///
    /// # Errors
    ///
    /// [`Misuse::Unknown`] if the channel is not open here, [`Misuse::Closed`] if it was
    /// [closed](Self::close).
    pub fn send(&mut self, now: Time, channel: ChannelId, size: Bytes) -> Result<Sent, Misuse> {
        let own = self.find(channel)?;
        let Channel { ref config, ref clock, lane, excess, sent: id, .. } = self.channels[own];
        let ChannelConfig { class, deadline, share, level, message_overflow, .. } = *config;
        if seldom(self.lanes[lane].closed) {
            return Err(Misuse::Closed(channel));
        }
        let best_effort = Tag::sharing(now, share);
        let real_time = class == Class::RealTime;
        let fits = (config.spec.min_message..=config.spec.max_message).contains(&size);
        if seldom(!fits)
            && let Some(cause) = self.outside_contract(config, size)
        {
            return Ok(self.drop_message(channel, size, cause));
        }
        let cut = self.cut(config, size);
        let guaranteed = self.lane_has_room(lane) && (excess.is_none() || self.is_covered(clock, now, size));
        let (lane, tag, due_from) = if mostly(guaranteed) {
            let channel = &mut self.channels[own];
            if real_time {
                let (at, due_from) = if self.config.enforcement {
                    let arrival = channel.clock.arrive(now, size);
                    (arrival.at, arrival.at.saturating_add(arrival.stretch))
                } else {
                    (now, now)
                };
                (lane, Tag::real_time(at, deadline, share, level), due_from)
            } else {
                (lane, best_effort, now)
            }
        } else {
            match (message_overflow, excess) {
                (MessageOverflow::Block, _) => return Ok(Sent::WouldBlock),
                (MessageOverflow::BestEffort, Some(excess))
                    if self.lanes[excess].room(self.config.processing) > 0 =>
                {
                    (excess, Tag::best_effort(now), now)
                }
                _ => return Ok(self.drop_message(channel, size, Dropped::MessageQueue)),
            }
        };
        let state = &mut self.channels[own];
        state.sent += 1;
        state.counters.accepted += 1;
        let message = Message { id, size, sent: now, due_from, tag, made: 0, cut };
        match self.lanes[lane].handler {
            Some(handler) => self.hand(now, lane, handler, message),
            None => {
                self.lanes[lane].unfinished.insert(id, message.packets());
                let handler = self.add_handler(lane, Some(message));
                self.activate(now, handler);
            }
        }
        if Some(lane) == excess {
            self.channels[own].counters.excess += 1;
            return Ok(Sent::Excess { message: id });
        }
        Ok(Sent::Accepted { message: id })
    }

    /// The division of a channel's message into packets. A message without a guarantee is not cut
    /// into pieces, because no reservation covers it.
    pub(super) fn cut(&self, config: &ChannelConfig, size: Bytes) -> Cut {
        let enforced = self.config.enforcement && config.class == Class::RealTime;
        Cut::new(size, if enforced { config.spec.max_message } else { size }, self.config.packet)
    }

    /// Why a message of `size`, outside the sizes of its contract, cannot be carried at all; `None`
    /// if it can be.
    ///
    /// Bounds rest on the message sizes of all contracts. Short packets complete often, and under
    /// O1 every completion interrupts the running thread; long packets block others. A real-time
    /// message that is too large is carried in pieces, unless the last packet would be shorter than
    /// any of the contract. Best effort has no rate at which pieces could be sent.
    #[inline(never)]
    fn outside_contract(&self, config: &ChannelConfig, size: Bytes) -> Option<Dropped> {
        let spec = &config.spec;
        if !self.config.enforcement {
            return None;
        }
        if size < spec.min_message {
            return Some(Dropped::Undersized);
        }
        let cut = self.cut(config, size);
        let carried = config.class == Class::RealTime
            && cut.packets() <= u64::from(Reassembler::MAX_FRAGMENTS)
            && cut.last() >= spec.smallest_packet(self.config.packet);
        (!carried).then_some(Dropped::Oversize)
    }

    fn drop_message(&mut self, channel: ChannelId, size: Bytes, cause: Dropped) -> Sent {
        let packets = self.cut(&self.channels[channel].config, size).packets();
        self.count_drop(channel, packets, cause);
        Sent::Dropped(cause)
    }

    pub(super) fn count_drop(&mut self, channel: ChannelId, packets: u64, cause: Dropped) {
        let counters = &mut self.channels[channel].counters;
        *counters.dropped.entry(cause).or_default() += 1;
        counters.dropped_packets += packets;
    }

    /// The application of `channel` requests its core in order to send.
    ///
    /// # Errors
    ///
    /// [`Misuse::Unknown`] if the channel is not open here.
    pub fn application_ready(&mut self, channel: ChannelId) -> Result<(), Misuse> {
        let ChannelConfig { class, application, .. } = self.channel(channel)?.config;
        let core = &mut self.cores[application];
        core.called = true;
        core.applications[usize::from(class == Class::BestEffort)].push_back(channel);
        Ok(())
    }
}
