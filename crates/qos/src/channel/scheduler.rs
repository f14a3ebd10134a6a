//! The subsystem's decisions: what a core does next.
//!
//! At a preemption point (the end of a block, or an idle core) the order is: the link scheduler's thread,
//! applications that want to send, handlers by the core's discipline. Between two packets of a block
//! nobody is asked.

use std::cmp::Reverse;
use std::collections::VecDeque;

use laxity_units::{Bytes, Time};

use super::cores::{Ready, Taken};
use super::handler::{Doing, Running};
use super::lane::Incoming;
use super::message::{Delivery, Message};
use super::policy::{Block, PacketOverflow, Processing, Role};
use super::slots::Slots;
use super::step::{Dropped, Finished, Step, Thread, Work};
use super::subsystem::Subsystem;
use crate::discipline::Request;
use crate::names::CoreId;
use crate::packet::Carried;
use crate::paradigm::LinkParadigm;
use crate::seldom::seldom;
use crate::tag::{Class, Tag};

impl Subsystem {
    /// What `core` is to do, now that it is free to be given something.
    pub fn next_step(&mut self, core: CoreId, now: Time) -> Step {
        if let Some(running) = &mut self.cores[core].running {
            if running.doing == Doing::LinkCall {
                let handler = &self.handlers[running.handler];
                let thread = Thread::Handler(handler.thread);
                let link = self.lanes[handler.lane].terms.link;
                match self.links.take_from(core, link, now) {
                    // It calls again when it is let in.
                    Taken::Held => return Step::Spin { thread: Some(thread) },
                    Taken::Packet(packet) => {
                        running.doing = Doing::Between;
                        return Step::Transmit { thread, packet, new_thread: false };
                    }
                    Taken::Nothing => running.doing = Doing::Between,
                }
            }
            if self.continues(core) {
                return self.go_on(core);
            }
            self.yield_cpu(core, now);
        }
        if self.config.link.paradigm.has_threads()
            && let Some(step) = self.link_thread(core, now)
        {
            return step;
        }
        if seldom(self.cores[core].has_applications())
            && let Some(channel) = self.cores[core].applications.iter_mut().find_map(VecDeque::pop_front)
        {
            return Step::Application { channel };
        }
        self.give_budgets(core, now);
        match self.cores[core].cpu.select(now) {
            Some((tag, Ready::Handler(handler))) => self.dispatch(core, now, handler as usize, &tag),
            Some((_, Ready::Application(application))) => self.begin_slice(core, application),
            Some((_, Ready::Reader(lane))) => self.begin_reading(core, lane),
            None => Step::Idle,
        }
    }

    #[inline(never)]
    fn link_thread(&mut self, core: CoreId, now: Time) -> Option<Step> {
        match self.config.link.paradigm {
            LinkParadigm::O1 | LinkParadigm::Adapter => None,
            // It is one thread, so it has the lock to itself.
            LinkParadigm::O2 if core == self.config.link.core => match self.links.take(core, now) {
                Taken::Packet(packet) => {
                    Some(Step::Transmit { thread: Thread::LinkScheduler, packet, new_thread: false })
                }
                Taken::Nothing | Taken::Held => None,
            },
            LinkParadigm::O2 => None,
            LinkParadigm::O3 => {
                while let Some(link) = self.cores[core].link_threads.pop_front() {
                    // A handler's call may have taken the packet meanwhile; then the thread just ends.
                    match self.links.take_from(core, link, now) {
                        Taken::Packet(packet) => {
                            let thread = self.new_link_thread();
                            // A completion is one place, so one thread for each is enough; but several packets may have turned current at once when there were places for them.
                            if self.links[link].can_start(now) && !self.cores.have_thread_for(link) {
                                self.cores[core].link_threads.push_back(link);
                            }
                            return Some(Step::Transmit { thread, packet, new_thread: true });
                        }
                        Taken::Nothing => {
                            self.new_link_thread();
                        }
                        Taken::Held => {
                            self.cores[core].link_threads.push_front(link);
                            return Some(Step::Spin { thread: None });
                        }
                    }
                }
                None
            }
        }
    }

    /// The next thread of option O3 is created.
    fn new_link_thread(&mut self) -> Thread {
        self.link_threads_created = self.link_threads_created.wrapping_add(1);
        Thread::LinkThread(self.link_threads_created)
    }

    /// Whether `core`, which was to [spin](Step::Spin), has been let in to the link scheduler and is to go on.
    #[inline]
    pub fn is_let_in(&self, core: CoreId) -> bool {
        self.links.are_held_by(core)
    }

    /// `core` has handed the packet over that it was given to transmit, and lets the next core choose. Of one core nobody need be told.
    #[inline]
    pub fn handed_over(&mut self, core: CoreId) {
        self.links.leave(core);
    }

    fn dispatch(&mut self, core: CoreId, now: Time, index: usize, tag: &Tag) -> Step {
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
                let spec = &self.channels[self.lanes[handler.lane].channel].config.spec;
                Some(spec.fragmentation(self.config.packet).packets() as u32)
            }
            Block::Message | Block::Never => None,
        };
        let (one_message, drains) = (block == Block::Message, block == Block::Never);
        let held_by_timer = early && !handler.awake && self.lanes[handler.lane].terms.role == Role::Send;
        if seldom(held_by_timer) && self.config.processing == Processing::PerChannel {
            handler.awake = true;
            let (thread, channel) = (Thread::Proxy(handler.thread), self.lanes[handler.lane].channel);
            let doing = Doing::Signal;
            self.cores[core].running =
                Some(Running { handler: index, doing, budget: Some(0), one_message: false, drains: false });
            return Step::Process { thread, channel, work: Work::Signal, bytes: Bytes::ZERO, resumed: false };
        }
        self.cores[core].running =
            Some(Running { handler: index, doing: Doing::Between, budget, one_message, drains });
        self.begin(core, now, index)
    }

    /// Whether the running handler goes on without a preemption point, and can.
    #[inline]
    fn continues(&mut self, core: CoreId) -> bool {
        let running = self.cores[core].running.expect("asked of a running handler");
        if running.budget == Some(0) {
            return false;
        }
        let lane = &self.lanes[self.handlers[running.handler].lane];
        let has_work = self.handlers[running.handler].message.is_some() || lane.has_received();
        has_work && !self.must_block(running.handler)
    }

    #[inline]
    fn must_block(&self, handler: usize) -> bool {
        let handler = &self.handlers[handler];
        let lane = &self.lanes[handler.lane];
        handler.message.as_ref().is_some_and(|message| !lane.has_buffer_for(message.id))
            && self.config.enforcement
            && lane.terms.packet_overflow == PacketOverflow::Block
    }

    /// A handler that has got `core` begins its next packet, if there is a buffer for it.
    #[inline]
    fn begin(&mut self, core: CoreId, now: Time, index: usize) -> Step {
        if seldom(self.must_block(index)) {
            self.yield_cpu(core, now);
            return self.next_step(core, now);
        }
        self.go_on(core)
    }

    /// The running handler begins its next packet, for which there is a buffer.
    #[inline]
    fn go_on(&mut self, core: CoreId) -> Step {
        let running = self.cores[core].running.as_mut().expect("a handler runs");
        running.doing = Doing::Packet;
        let index = running.handler;
        let handler = &mut self.handlers[index];
        let lane = &self.lanes[handler.lane];
        let work = match (&handler.message, lane.terms.role) {
            (Some(message), _) if message.begins_piece() => {
                Work::FirstPacket { new_thread: handler.new_thread && message.made == 0 }
            }
            (Some(_), _) => Work::Packet,
            (None, Role::Relay) => Work::Relay,
            (None, _) => {
                Work::Receive { completes: lane.packets.front().is_some_and(|packet| packet.is_last) }
            }
        };
        let received = || lane.packets.front().map_or(Bytes::ZERO, |packet| packet.size);
        let bytes = handler.message.as_ref().map_or_else(received, Message::next_size);
        let resumed = std::mem::take(&mut handler.mid_packet);
        Step::Process { thread: Thread::Handler(handler.thread), channel: lane.channel, work, bytes, resumed }
    }

    /// Whether a waiting handler takes `core` from the running one in the middle of a packet, or from an application or a program in that of its work.
    pub fn wants_preemption(&mut self, core: CoreId, now: Time) -> bool {
        if !self.config.preemption.immediate {
            return false;
        }
        let other = self.computing_tag(core, now).or_else(|| self.reading_tag(core));
        let tag = match (self.cores[core].running, other) {
            (Some(running), _) if running.doing == Doing::Packet => self.tag(running.handler),
            (None, Some(tag)) => tag,
            _ => return false,
        };
        let cpu = &mut self.cores[core].cpu;
        let rank = cpu.rank(&tag, now);
        cpu.best(now).is_some_and(|best| best < rank)
    }

    /// The driver stopped the packet in progress; it is resumed when its handler is next chosen.
    pub fn preempt(&mut self, core: CoreId, now: Time) {
        let running = self.cores[core].running.expect("a handler runs");
        self.handlers[running.handler].mid_packet = true;
        self.yield_cpu(core, now);
    }

    /// The work of the last [`Step::Process`] of `core` is done; a packet that was made is put into `packets`, until somebody who was given
    /// its place takes it out.
    pub fn finish(&mut self, core: CoreId, now: Time, packets: &mut Slots) -> Finished {
        let running = self.cores[core].running.as_mut().expect("a handler runs");
        let index = running.handler;
        if seldom(running.doing == Doing::Signal) {
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
        self.call_link_thread();
        if self.handlers[index].message.is_some() {
            self.finish_packet(core, now, index, packets);
            Finished::default()
        } else {
            Finished { delivered: self.finish_received(core, now, index, packets) }
        }
    }

    /// A packet of the message in hand was made.
    #[inline]
    fn finish_packet(&mut self, core: CoreId, now: Time, index: usize, packets: &mut Slots) {
        let handler = &mut self.handlers[index];
        let lane = &mut self.lanes[handler.lane];
        let channel = lane.channel;
        let message = handler.message.as_mut().expect("a message is in hand");
        let enforced = self.config.enforcement;
        let overflows = seldom(!lane.has_buffer() && enforced);
        if overflows && lane.terms.packet_overflow == PacketOverflow::Drop {
            let rest = message.packets() - message.made;
            let (unsent, latest) = (message.made == 0, message.id + 1);
            let Tag { class, logical_arrival: logical, .. } = message.tag;
            message.made = message.packets();
            lane.unfinished.remove(&message.id);
            self.made_room = true;
            let state = &mut self.channels[channel];
            // Excess has not moved the contract's clock, so it leaves nothing to take back.
            if unsent && state.sent == latest && class == Class::RealTime {
                state.clock.retract(logical);
            }
            self.count_drop(channel, rest, Dropped::PacketQueue);
        } else {
            if overflows && lane.terms.packet_overflow == PacketOverflow::DecayDeadline {
                let reserved = self.channels[channel].config.spec.fragmentation(self.config.packet).packets();
                message.postpone(lane.terms.min_interval.scale_ceil(1, reserved));
            }
            lane.take_buffer();
            self.made_room |= lane.made(message.id);
            let mut packet = message.next_packet(channel, lane.terms.way, now);
            let link = &mut self.links[lane.terms.link];
            packet.join(link.usual_wait());
            let turned = message.turn_to_next_piece(lane.terms.min_interval);
            if seldom(turned)
                && let Some(running) = &mut self.cores[core].running
            {
                // The next piece is as early as a message would be, and so is whoever makes it.
                running.budget = Some(0);
            }
            self.channels[channel].counters.created += 1;
            link.enqueue(now, &Request::of(&packet), packets.put(&packet));
        }
        if self.handlers[index].message.as_ref().is_some_and(Message::done) {
            self.end_message(core, index);
        }
    }

    fn end_message(&mut self, core: CoreId, index: usize) {
        self.made_room = true;
        self.handlers[index].message = None;
        self.handlers[index].awake = false;
        let lane = self.handlers[index].lane;
        if self.lanes[lane].handler.is_none() {
            return;
        }
        // A handler that drains its queue goes on without a preemption point, though not past what it
        // may not yet touch: the scheduler would hold that message.
        let hold = self.config.early.horizon.is_zero();
        let drains = self.cores[core].running.is_some_and(|running| running.drains);
        let next_is_held = |message: &Message| hold && message.tag.class == Class::RealTime;
        let next = self.lanes[lane].messages.pop_front();
        let stops = !drains || next.as_ref().is_none_or(next_is_held);
        self.handlers[index].message = next;
        if stops && let Some(running) = &mut self.cores[core].running {
            running.budget = Some(0);
        }
    }

    fn finish_received(
        &mut self,
        core: CoreId,
        now: Time,
        index: usize,
        packets: &mut Slots,
    ) -> Option<Delivery> {
        let lane = self.handlers[index].lane;
        let incoming = self.lanes[lane].packets.pop_front().expect("a packet was in hand");
        self.end_received_block(core, lane, &incoming);
        let channel = self.lanes[lane].channel;
        if self.lanes[lane].terms.role == Role::Relay {
            let packet = packets.at_mut(incoming.slot);
            packet.created = now;
            let link = &mut self.links[self.lanes[lane].terms.link];
            packet.join(link.usual_wait());
            self.channels[channel].counters.created += 1;
            link.enqueue(now, &Request::of(packet), incoming.slot);
            return None;
        }
        let packet = packets.free(incoming.slot);
        self.release_buffer(now, lane);
        let reassembled = self.lanes[lane].reassembler.accept(packet.message, packet.index, packet.count);
        let state = &mut self.channels[channel];
        if reassembled.discarded > 0 {
            *state.counters.dropped.entry(Dropped::Incomplete).or_default() += reassembled.discarded;
        }
        if !reassembled.complete {
            self.came(now, lane, packet);
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
    fn end_received_block(&mut self, core: CoreId, lane: usize, packet: &Incoming) {
        let guaranteed = packet.tag.class == Class::RealTime && self.config.enforcement;
        let next = self.lanes[lane].packets.front();
        let another = guaranteed && next.is_some_and(|next| next.tag != packet.tag);
        if let Some(running) = &mut self.cores[core].running
            && (another || packet.is_last && running.one_message)
        {
            running.budget = Some(0);
        }
    }

    /// The running handler gives up the CPU: to the scheduler's queues if it has more to do.
    fn yield_cpu(&mut self, core: CoreId, now: Time) {
        let Some(running) = self.cores[core].running.take() else { return };
        let index = running.handler;
        self.handlers[index].active = false;
        let lane = self.handlers[index].lane;
        let persistent = self.lanes[lane].handler.is_some();
        if persistent && self.handlers[index].message.is_none() {
            // A message may have come since the last one ended, while the handler called the link.
            if let Some(message) = self.lanes[lane].messages.pop_front() {
                self.handlers[index].message = Some(message);
            }
            self.made_room = true;
        }
        if !persistent && self.handlers[index].message.is_none() {
            self.free_handlers.push(index);
        } else if self.must_block(index) {
            self.handlers[index].active = true;
            let message = self.handlers[index].message.as_ref().map_or(0, |message| message.id);
            self.lanes[lane].blocked.push(Reverse((message, index)));
        } else if self.handlers[index].message.is_some() || self.lanes[lane].has_received() {
            self.activate(now, index);
        }
    }

    /// Gives `handler`, whose lane that is, another message: into its hands if it has nothing to do, without a way through the queue.
    #[inline]
    pub(super) fn hand(&mut self, now: Time, lane: usize, handler: usize, message: Message) {
        let (messages, state) = (&mut self.lanes[lane].messages, &mut self.handlers[handler]);
        if state.is_at_work() {
            return messages.push_back(message);
        }
        debug_assert!(messages.is_empty(), "who has done with a message takes the next");
        state.message = Some(message);
        self.activate(now, handler);
    }

    pub(super) fn activate(&mut self, now: Time, index: usize) {
        self.handlers[index].active = true;
        let request = self.request(index);
        let core = &mut self.cores[self.lanes[self.handlers[index].lane].terms.core];
        core.called = true;
        core.cpu.enqueue(now, &request, Ready::Handler(index as u32));
    }

    /// Where a thread schedules links, its core is called.
    #[inline]
    pub(super) fn call_link_thread(&mut self) {
        if self.config.link.paradigm == LinkParadigm::O2 {
            self.cores[self.config.link.core].called = true;
        }
    }

    /// What a handler asks of the CPU: where that is shared by rates, a block counts as the bytes of its first packet.
    #[inline]
    fn request(&self, index: usize) -> Request {
        let handler = &self.handlers[index];
        let lane = &self.lanes[handler.lane];
        let received = || lane.packets.front().map_or(Bytes::ZERO, |packet| packet.size);
        let size = handler.message.as_ref().map_or_else(received, Message::next_size);
        let tag = self.tag(index);
        Request { flow: lane.channel, size, tag, carried: Carried { due: tag.deadline, ..Carried::NOTHING } }
    }

    /// By what the scheduler ranks a handler: its message's tag, or its first packet's.
    #[inline]
    fn tag(&self, index: usize) -> Tag {
        let handler = &self.handlers[index];
        match &handler.message {
            Some(message) => message.tag,
            None => self.lanes[handler.lane].packets.front().expect("an active handler has work").tag,
        }
    }
}
