//! The subsystem's decisions: the next step of a core.
//!
//! At a preemption point (the end of a block, or an idle core) the order is: the link scheduler's
//! thread, applications that want to send, handlers by the core's discipline. Between two packets
//! of a block the scheduler is not called.

use std::cmp::Reverse;
use std::collections::VecDeque;

use laxity_units::{Bytes, Time};

use super::cores::{Ready, TakenPacket};
use super::handler::{Doing, Running};
use super::lane::Incoming;
use super::message::{Delivery, Message};
use super::policy::{Block, PacketOverflow, Processing, Role};
use super::slots::Slots;
use super::step::{Dropped, Finished, Step, Thread, Work};
use super::subsystem::Subsystem;
use crate::discipline::ItemRequest;
use crate::names::{ChannelId, CoreId};
use crate::packet::Carried;
use crate::paradigm::LinkParadigm;
use crate::seldom::seldom;
use crate::tag::{Class, Tag};

impl Subsystem {
    /// The next step of `core`, which is free.
    pub fn next_step(&mut self, core: CoreId, now: Time) -> Step {
        if let Some(running) = &mut self.cores[core].running {
            if running.doing == Doing::LinkCall {
                let handler = &self.handlers[running.handler];
                let thread = Thread::Handler(handler.thread);
                let link = self.lanes[handler.lane].terms.link;
                match self.links.take_from(core, link, now) {
                    // The handler calls again when it has the lock.
                    TakenPacket::Held => return Step::Spin { thread: Some(thread) },
                    TakenPacket::Packet(packet) => {
                        running.doing = Doing::Between;
                        return Step::Transmit { thread, packet, new_thread: false };
                    }
                    TakenPacket::Nothing => running.doing = Doing::Between,
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
            // O2 has one thread, so the lock is free for it.
            LinkParadigm::O2 if core == self.config.link.core => match self.links.take(core, now) {
                TakenPacket::Packet(packet) => {
                    Some(Step::Transmit { thread: Thread::LinkScheduler, packet, new_thread: false })
                }
                TakenPacket::Nothing | TakenPacket::Held => None,
            },
            LinkParadigm::O2 => None,
            LinkParadigm::O3 => {
                while let Some(link) = self.cores[core].link_threads.pop_front() {
                    // A handler's call may have taken the packet meanwhile; then the thread just
                    // ends.
                    match self.links.take_from(core, link, now) {
                        TakenPacket::Packet(packet) => {
                            let thread = self.new_link_thread();
                            // A completion frees one place, so one thread for each is enough. But
                            // several packets may have become current at once while several places
                            // were free.
                            if self.links[link].can_start(now) && !self.cores.have_thread_for(link) {
                                self.cores[core].link_threads.push_back(link);
                            }
                            return Some(Step::Transmit { thread, packet, new_thread: true });
                        }
                        TakenPacket::Nothing => {
                            self.new_link_thread();
                        }
                        TakenPacket::Held => {
                            self.cores[core].link_threads.push_front(link);
                            return Some(Step::Spin { thread: None });
                        }
                    }
                }
                None
            }
        }
    }

    fn new_link_thread(&mut self) -> Thread {
        self.link_threads_created = self.link_threads_created.wrapping_add(1);
        Thread::LinkThread(self.link_threads_created)
    }

    /// Whether `core`, which was to [spin](Step::Spin), has entered the link scheduler and
    /// continues.
    #[inline]
    pub fn is_let_in(&self, core: CoreId) -> bool {
        self.links.are_held_by(core)
    }

    /// `core` has handed over its packet, and the next core may choose. With one core the call has
    /// no effect.
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
            // The last packet of a received message, where the block would end, may have been lost
            // on the path.
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

    /// Whether the running handler has no preemption point now and can continue.
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

    /// A handler that has `core` begins its next packet, if a buffer is free.
    #[inline]
    fn begin(&mut self, core: CoreId, now: Time, index: usize) -> Step {
        if seldom(self.must_block(index)) {
            self.yield_cpu(core, now);
            return self.next_step(core, now);
        }
        self.go_on(core)
    }

    /// The running handler begins its next packet, for which a buffer is free.
    #[inline]
    fn go_on(&mut self, core: CoreId) -> Step {
        let running = self.cores[core].running.as_mut().expect("a handler runs");
        running.doing = Doing::Packet;
        let index = running.handler;
        let handler = &mut self.handlers[index];
        let lane = &self.lanes[handler.lane];
        let work = match (&handler.message, lane.terms.role) {
            (Some(message), _) if message.begins_piece() => {
                let new_thread = handler.new_thread && message.made == 0;
                Work::FirstPacket { new_thread, single: message.cut.is_single(message.made) }
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

    /// Whether a waiting handler preempts the running thread of `core` at once, within a packet or
    /// within the work of an application or program.
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

    /// Preempts the packet in progress, which is resumed when its handler is next chosen.
    pub fn preempt(&mut self, core: CoreId, now: Time) {
        let running = self.cores[core].running.expect("a handler runs");
        self.handlers[running.handler].mid_packet = true;
        self.yield_cpu(core, now);
    }

    /// Ends the last [`Step::Process`] of `core`. A packet that was made lies in `packets` until a
    /// component that has its slot removes it.
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
            Finished { delivered: None, lost: self.finish_packet(core, now, index, packets) }
        } else {
            self.finish_received(core, now, index, packets)
        }
    }

    /// Ends the work on a packet of a message to send; returns the message if it was dropped.
    #[inline]
    fn finish_packet(
        &mut self,
        core: CoreId,
        now: Time,
        index: usize,
        packets: &mut Slots,
    ) -> Option<(ChannelId, u64)> {
        let mut lost = None;
        let handler = &mut self.handlers[index];
        let lane = &mut self.lanes[handler.lane];
        let channel = lane.channel;
        let message = handler.message.as_mut().expect("a message is in hand");
        let enforced = self.config.enforcement;
        let overflows = seldom(!lane.has_buffer() && enforced);
        if overflows && lane.terms.packet_overflow == PacketOverflow::Drop {
            let rest = message.packets() - message.made;
            let (unsent, number) = (message.made == 0, message.id);
            let Tag { class, logical_arrival: logical, .. } = message.tag;
            message.made = message.packets();
            lane.unfinished.remove(&message.id);
            self.made_room = true;
            let state = &mut self.channels[channel];
            // Excess has not moved the contract's clock, so there is no step of the clock to
            // retract.
            if unsent && state.sent == number + 1 && class == Class::RealTime {
                state.clock.retract(logical);
            }
            lost = Some((channel, number));
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
                // The next piece is as early as a message would be, and its handler too.
                running.budget = Some(0);
            }
            self.channels[channel].counters.created += 1;
            link.enqueue(now, &ItemRequest::of(&packet), packets.put(&packet));
        }
        if self.handlers[index].message.as_ref().is_some_and(Message::done) {
            self.end_message(core, index);
        }
        lost
    }

    fn end_message(&mut self, core: CoreId, index: usize) {
        self.made_room = true;
        self.handlers[index].message = None;
        self.handlers[index].awake = false;
        let lane = self.handlers[index].lane;
        if self.lanes[lane].handler.is_none() {
            return;
        }
        // A handler that drains its queue continues without a preemption point, but not with a
        // message that the scheduler would hold.
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

    fn finish_received(&mut self, core: CoreId, now: Time, index: usize, packets: &mut Slots) -> Finished {
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
            link.enqueue(now, &ItemRequest::of(packet), incoming.slot);
            return Finished::default();
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
            return Finished::default();
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

    /// Ends the block with `packet` if the next packet belongs to another message or piece.
    ///
    /// A block is the work of a handler for one message, or one piece of it. The next one may be
    /// early, or have a lower priority than another handler, so the scheduler decides. Messages
    /// without a guarantee continue.
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

    /// The running handler gives up the CPU, and joins the scheduler's queues if it has more work.
    fn yield_cpu(&mut self, core: CoreId, now: Time) {
        let Some(running) = self.cores[core].running.take() else { return };
        let index = running.handler;
        self.handlers[index].active = false;
        let lane = self.handlers[index].lane;
        let persistent = self.lanes[lane].handler.is_some();
        if persistent && self.handlers[index].message.is_none() {
            // A message may have arrived after the last one ended, while the handler called the
            // link.
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

    /// Gives `handler`, which serves `lane`, another message: directly if the handler has no work,
    /// else through the queue.
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

    /// Signals the core of the link scheduler's thread, if the paradigm has one (O2).
    #[inline]
    pub(super) fn call_link_thread(&mut self) {
        if self.config.link.paradigm == LinkParadigm::O2 {
            self.cores[self.config.link.core].called = true;
        }
    }

    /// A handler's request for the CPU: where the CPU is shared by rates, a block counts as the
    /// bytes of its first packet.
    #[inline]
    fn request(&self, index: usize) -> ItemRequest {
        let handler = &self.handlers[index];
        let lane = &self.lanes[handler.lane];
        let received = || lane.packets.front().map_or(Bytes::ZERO, |packet| packet.size);
        let size = handler.message.as_ref().map_or_else(received, Message::next_size);
        let tag = self.tag(index);
        ItemRequest {
            flow: lane.channel,
            size,
            tag,
            carried: Carried { due: tag.deadline, ..Carried::NOTHING },
        }
    }

    /// The tag that ranks a handler: its message's, or its first packet's.
    #[inline]
    fn tag(&self, index: usize) -> Tag {
        let handler = &self.handlers[index];
        match &handler.message {
            Some(message) => message.tag,
            None => self.lanes[handler.lane].packets.front().expect("an active handler has work").tag,
        }
    }
}
