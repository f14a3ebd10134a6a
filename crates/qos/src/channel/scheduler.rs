//! The subsystem's decisions: what the CPU does next.
//!
//! At a preemption point (the end of a block, or an idle CPU) the order is: the link scheduler's thread,
//! applications that want to send, handlers by the CPU's discipline. Between two packets of a block
//! nobody is asked.

use std::collections::VecDeque;

use laxity_units::{Bytes, Time};

use super::computing::Ready;
use super::handler::{Doing, Running};
use super::message::{Carried, Delivery, Message, Packet};
use super::policy::{Block, LinkParadigm, PacketOverflow, Processing, Role};
use super::slots::Slots;
use super::step::{Dropped, Finished, Step, Thread, Work};
use super::subsystem::Subsystem;
use crate::discipline::{Class, Request, Tag};

impl Subsystem {
    /// What the CPU is to do, now that it is free to be given something.
    pub fn next_step(&mut self, now: Time) -> Step {
        if let Some(running) = &mut self.running {
            if running.doing == Doing::LinkCall {
                running.doing = Doing::Between;
                let thread = Thread::Handler(self.handlers[running.handler].thread);
                let link = self.lanes[self.handlers[running.handler].lane].config.link;
                if let Some(packet) = self.links[link].take(now) {
                    return Step::Transmit { thread, packet, new_thread: false };
                }
            }
            if self.continues() {
                return self.begin(now);
            }
            self.yield_cpu(now);
        }
        if let Some(step) = self.link_thread(now) {
            return step;
        }
        if let Some(channel) = self.applications.iter_mut().find_map(VecDeque::pop_front) {
            return Step::Application { channel };
        }
        self.give_budgets(now);
        match self.cpu.select(now) {
            Some((tag, Ready::Handler(handler))) => self.dispatch(now, handler as usize, &tag),
            Some((_, Ready::Application(application))) => self.begin_slice(application),
            Some((_, Ready::Reader(lane))) => self.begin_reading(lane),
            None => Step::Idle,
        }
    }

    fn link_thread(&mut self, now: Time) -> Option<Step> {
        match self.config.link.paradigm {
            LinkParadigm::O1 | LinkParadigm::Adapter => None,
            LinkParadigm::O2 => {
                let packet = self.links.take(now)?;
                Some(Step::Transmit { thread: Thread::LinkScheduler, packet, new_thread: false })
            }
            LinkParadigm::O3 => {
                while let Some(link) = self.link_threads.pop_front() {
                    self.link_threads_created += 1;
                    // A handler's call may have taken the packet meanwhile; then the thread just ends.
                    if let Some(packet) = self.links[link].take(now) {
                        let thread = Thread::LinkThread(self.link_threads_created);
                        return Some(Step::Transmit { thread, packet, new_thread: true });
                    }
                }
                None
            }
        }
    }

    fn dispatch(&mut self, now: Time, index: usize, tag: &Tag) -> Step {
        let early = tag.class == Class::RealTime && tag.logical_arrival > now;
        let preemption = &self.config.preemption;
        let block = match tag.class {
            Class::BestEffort => preemption.best_effort,
            Class::RealTime if early => preemption.early,
            Class::RealTime => preemption.real_time,
        };
        let handler = &mut self.handlers[index];
        let budget = match block {
            Block::Packets(n) => Some(n),
            // The end of a received message to stop at may have been lost on the way.
            Block::Message if handler.message.is_none() => {
                let spec = &self.lanes[handler.lane].config.spec;
                Some(spec.fragmentation(self.config.packet).packets() as u32)
            }
            Block::Message | Block::Never => None,
        };
        let (one_message, drains) = (block == Block::Message, block == Block::Never);
        let held_by_timer = early && !handler.awake && self.lanes[handler.lane].config.role == Role::Send;
        if held_by_timer && self.config.processing == Processing::PerChannel {
            handler.awake = true;
            let (thread, channel) = (Thread::Proxy(handler.thread), self.lanes[handler.lane].channel);
            let doing = Doing::Signal;
            self.running =
                Some(Running { handler: index, doing, budget: Some(0), one_message: false, drains: false });
            return Step::Process { thread, channel, work: Work::Signal, bytes: Bytes::ZERO, resumed: false };
        }
        self.running = Some(Running { handler: index, doing: Doing::Between, budget, one_message, drains });
        self.begin(now)
    }

    /// Whether the running handler goes on without a preemption point, and can.
    fn continues(&mut self) -> bool {
        let running = self.running.expect("asked of a running handler");
        if running.budget == Some(0) {
            return false;
        }
        let lane = &self.lanes[self.handlers[running.handler].lane];
        let has_work = self.handlers[running.handler].message.is_some() || !lane.packets.is_empty();
        has_work && !self.must_block(running.handler)
    }

    fn must_block(&self, handler: usize) -> bool {
        let handler = &self.handlers[handler];
        let lane = &self.lanes[handler.lane];
        handler.message.as_ref().is_some_and(|message| !lane.has_buffer_for(message.id))
            && self.config.enforcement
            && lane.config.packet_overflow == PacketOverflow::Block
    }

    /// The running handler begins its next packet.
    fn begin(&mut self, now: Time) -> Step {
        let running = self.running.as_mut().expect("a handler runs");
        running.doing = Doing::Packet;
        let index = running.handler;
        if self.must_block(index) {
            self.yield_cpu(now);
            return self.next_step(now);
        }
        let handler = &mut self.handlers[index];
        let lane = &self.lanes[handler.lane];
        let work = match (&handler.message, lane.config.role) {
            (Some(message), _) if message.begins_piece() => {
                Work::FirstPacket { new_thread: handler.new_thread && message.made == 0 }
            }
            (Some(_), _) => Work::Packet,
            (None, Role::Relay) => Work::Relay,
            (None, _) => Work::Receive { completes: lane.packets.front().is_some_and(Packet::is_last) },
        };
        let received = || lane.packets.front().map_or(Bytes::ZERO, |packet| packet.size);
        let bytes = handler.message.as_ref().map_or_else(received, Message::next_size);
        let resumed = std::mem::take(&mut handler.mid_packet);
        Step::Process { thread: Thread::Handler(handler.thread), channel: lane.channel, work, bytes, resumed }
    }

    /// Whether a waiting handler takes the CPU from the running one in the middle of a packet, or from an application or a program in that of its work.
    pub fn wants_preemption(&mut self, now: Time) -> bool {
        if !self.config.preemption.immediate {
            return false;
        }
        let other = self.computing_tag(now).or_else(|| self.reading_tag());
        let tag = match (self.running, other) {
            (Some(running), _) if running.doing == Doing::Packet => self.tag(running.handler),
            (None, Some(tag)) => tag,
            _ => return false,
        };
        let rank = self.cpu.rank(&tag, now);
        self.cpu.best(now).is_some_and(|best| best < rank)
    }

    /// The driver stopped the packet in progress; it is resumed when its handler is next chosen.
    pub fn preempt(&mut self, now: Time) {
        let running = self.running.expect("a handler runs");
        self.handlers[running.handler].mid_packet = true;
        self.yield_cpu(now);
    }

    /// The work of the last [`Step::Process`] is done; a packet that was made is put into `packets`, until somebody who was given
    /// its place takes it out.
    pub fn finish(&mut self, now: Time, packets: &mut Slots) -> Finished {
        let running = self.running.as_mut().expect("a handler runs");
        let index = running.handler;
        if running.doing == Doing::Signal {
            running.doing = Doing::Between;
            return Finished::default();
        }
        if let Some(budget) = &mut running.budget {
            *budget -= 1;
        }
        running.doing = match self.config.link.paradigm {
            LinkParadigm::O1 | LinkParadigm::O3 | LinkParadigm::Adapter => Doing::LinkCall,
            LinkParadigm::O2 => Doing::Between,
        };
        if self.handlers[index].message.is_some() {
            self.finish_packet(now, index, packets);
            Finished::default()
        } else {
            Finished { delivered: self.finish_received(now, index, packets) }
        }
    }

    /// A packet of the message in hand was made.
    fn finish_packet(&mut self, now: Time, index: usize, packets: &mut Slots) {
        let handler = &mut self.handlers[index];
        let lane = &mut self.lanes[handler.lane];
        let channel = lane.channel;
        let message = handler.message.as_mut().expect("a message is in hand");
        let enforced = self.config.enforcement;
        if !lane.has_buffer() && enforced && lane.config.packet_overflow == PacketOverflow::Drop {
            let rest = message.packets() - message.made;
            let (unsent, latest) = (message.made == 0, message.id + 1);
            let Tag { class, logical_arrival: logical, .. } = message.tag;
            message.made = message.packets();
            lane.unfinished.remove(&message.id);
            let state = &mut self.channels[channel];
            // Excess has not moved the contract's clock, so it leaves nothing to take back.
            if unsent && state.sent == latest && class == Class::RealTime {
                state.clock.retract(logical);
            }
            self.count_drop(channel, rest, Dropped::PacketQueue);
        } else {
            if !lane.has_buffer() && enforced && lane.config.packet_overflow == PacketOverflow::DecayDeadline
            {
                let reserved = lane.config.spec.fragmentation(self.config.packet).packets();
                message.postpone(lane.config.spec.min_interval.scale_ceil(1, reserved));
            }
            lane.take_buffer();
            lane.made(message.id);
            let mut packet = message.next_packet(channel, lane.config.way, now);
            let link = &mut self.links[lane.config.link];
            packet.join(link.usual_wait());
            let turned = message.turn_to_next_piece(lane.config.spec.min_interval);
            if let (true, Some(running)) = (turned, &mut self.running) {
                // The next piece is as early as a message would be, and so is whoever makes it.
                running.budget = Some(0);
            }
            self.channels[channel].counters.created += 1;
            link.enqueue(now, &Request::of(&packet), packets.put(&packet));
        }
        if self.handlers[index].message.as_ref().is_some_and(Message::done) {
            self.end_message(index);
        }
    }

    fn end_message(&mut self, index: usize) {
        self.handlers[index].message = None;
        self.handlers[index].awake = false;
        let lane = self.handlers[index].lane;
        if self.lanes[lane].handler.is_none() {
            return;
        }
        // A handler that drains its queue goes on without a preemption point, though not past what it
        // may not yet touch: the scheduler would hold that message.
        let hold = self.config.early.horizon.is_zero();
        let drains = self.running.is_some_and(|running| running.drains);
        let next_is_held = |message: &Message| hold && message.tag.class == Class::RealTime;
        let next = self.lanes[lane].messages.pop_front();
        let stops = !drains || next.as_ref().is_none_or(next_is_held);
        self.handlers[index].message = next;
        if stops && let Some(running) = &mut self.running {
            running.budget = Some(0);
        }
    }

    fn finish_received(&mut self, now: Time, index: usize, packets: &mut Slots) -> Option<Delivery> {
        let lane = self.handlers[index].lane;
        let mut packet = self.lanes[lane].packets.pop_front().expect("a packet was in hand");
        let channel = packet.channel;
        self.end_received_block(lane, &packet);
        if self.lanes[lane].config.role == Role::Relay {
            packet.created = now;
            let link = &mut self.links[self.lanes[lane].config.link];
            packet.join(link.usual_wait());
            self.channels[channel].counters.created += 1;
            link.enqueue(now, &Request::of(&packet), packets.put(&packet));
            return None;
        }
        self.release_buffer(now, lane);
        let reassembled = self.lanes[lane].reassembler.accept(packet.message, packet.index, packet.count);
        let state = &mut self.channels[channel];
        if reassembled.discarded > 0 {
            *state.counters.dropped.entry(Dropped::Incomplete).or_default() += reassembled.discarded;
        }
        if !reassembled.complete {
            self.came(now, lane, &packet);
            return None;
        }
        let delivery = Delivery {
            channel,
            message: packet.message,
            class: packet.tag.class,
            size: packet.message_size,
            sent: packet.sent,
            due_from: packet.due_from,
        };
        self.completed(now, lane, delivery, packet.tag)
    }

    /// Ends the block with `packet` if what comes next is another matter.
    ///
    /// A block is what a handler does for one message, or one piece of it: the next may be ahead of its time, or less
    /// urgent than somebody else's, and the scheduler is to be asked. What has no guarantee goes on.
    fn end_received_block(&mut self, lane: usize, packet: &Packet) {
        let guaranteed = packet.tag.class == Class::RealTime && self.config.enforcement;
        let next = self.lanes[lane].packets.front();
        let another = guaranteed && next.is_some_and(|next| next.tag != packet.tag);
        if let Some(running) = &mut self.running
            && (another || packet.is_last() && running.one_message)
        {
            running.budget = Some(0);
        }
    }

    /// The running handler gives up the CPU: to the scheduler's queues if it has more to do.
    fn yield_cpu(&mut self, now: Time) {
        let Some(running) = self.running.take() else { return };
        let index = running.handler;
        self.handlers[index].active = false;
        let lane = self.handlers[index].lane;
        let persistent = self.lanes[lane].handler.is_some();
        if persistent && self.handlers[index].message.is_none() {
            // A message may have come since the last one ended, while the handler called the link.
            self.handlers[index].message = self.lanes[lane].messages.pop_front();
        }
        if !persistent && self.handlers[index].message.is_none() {
            self.free_handlers.push(index);
        } else if self.must_block(index) {
            self.handlers[index].active = true;
            let message = self.handlers[index].message.as_ref().map_or(0, |message| message.id);
            self.lanes[lane].blocked.insert((message, index));
        } else if self.handlers[index].message.is_some() || !self.lanes[lane].packets.is_empty() {
            self.activate(now, index);
        }
    }

    /// An idle handler takes the next message of its queue, if there is one.
    pub(super) fn take_message(&mut self, now: Time, index: usize) {
        let handler = &mut self.handlers[index];
        if handler.message.is_some() || handler.active {
            return;
        }
        if let Some(message) = self.lanes[handler.lane].messages.pop_front() {
            handler.message = Some(message);
            self.activate(now, index);
        }
    }

    pub(super) fn activate(&mut self, now: Time, index: usize) {
        self.handlers[index].active = true;
        let request = self.request(index);
        self.cpu.enqueue(now, &request, Ready::Handler(index as u32));
    }

    /// What a handler asks of the CPU: where that is shared by rates, a block counts as the bytes of its first packet.
    fn request(&self, index: usize) -> Request {
        let handler = &self.handlers[index];
        let lane = &self.lanes[handler.lane];
        let received = || lane.packets.front().map_or(Bytes::ZERO, |packet| packet.size);
        let size = handler.message.as_ref().map_or_else(received, Message::next_size);
        let tag = self.tag(index);
        Request { flow: lane.channel, size, tag, carried: Carried { due: tag.deadline, ..Carried::NOTHING } }
    }

    /// By what the scheduler ranks a handler: its message's tag, or its first packet's.
    fn tag(&self, index: usize) -> Tag {
        let handler = &self.handlers[index];
        match &handler.message {
            Some(message) => message.tag,
            None => self.lanes[handler.lane].packets.front().expect("an active handler has work").tag,
        }
    }
}
