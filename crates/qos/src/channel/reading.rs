//! Programs that take the messages of channels that end here.
//!
//! A message that is whole again is not with its program yet: that has to get the CPU, and takes its own time. Until it is done with
//! a message that keeps a place in a queue of the channel's, which has an end. Whoever computes that a message has been received when the handler is done
//! promises what nobody gets, and a queue without an end hides that a program is too slow.
//!
//! A program is an item in the queue of handlers, with the tag of the first message that waits for it, so its turn comes when the message's handler's
//! would, and it is asked for nothing between two preemption points but one message. What exceeded its contract waits in a queue of its own, as
//! it did everywhere before.
//!
//! A message that is larger than its contract has it comes in pieces, and its program takes it piece by piece, as they come, each as the message of the contract that bounds count it as: all of
//! it at once, at its end, would be more work than anybody has reserved for. It is delivered with its last piece, if it had a place for each.
//!
//! ```text
//! packets ─▶ handler ─▶ reassembly ─▶ ▭▭▭ slots ─▶ program ─▶ delivered
//!                                     full: dropped
//! ```

use laxity_units::{Span, Time};

use super::cores::Ready;
use super::inbox::Waiting;
use super::lane::Lane;
use super::message::Delivery;
use super::step::{Dropped, Step, Thread};
use super::subsystem::Subsystem;
use crate::fragment::Cut;
use crate::names::CoreId;
use crate::packet::Packet;
use crate::tag::Tag;

impl Subsystem {
    /// A message of `lane` is whole again: delivered unless its channel has a program, which has to take it first.
    pub(super) fn completed(
        &mut self,
        now: Time,
        lane: usize,
        delivery: Delivery,
        tag: Tag,
    ) -> Option<Delivery> {
        let (channel, message) = (delivery.channel, delivery.message);
        if !self.lanes[lane].terms.is_read {
            self.channels[channel].counters.delivered += 1;
            return Some(delivery);
        }
        let size = self.cut(&self.channels[channel].config, delivery.size).last_piece();
        let spoilt = self.lanes[lane].inbox.spoilt == Some(message);
        if spoilt || !self.wait_for_program(now, lane, Waiting { delivery: Some(delivery), size, tag }) {
            self.count_drop(channel, 0, Dropped::ProgramQueue);
        }
        None
    }

    /// A packet of `lane` came that does not complete its message: it may complete a piece.
    pub(super) fn came(&mut self, now: Time, lane: usize, packet: &Packet) {
        if !self.lanes[lane].terms.is_read {
            return;
        }
        let config = &self.channels[self.lanes[lane].channel].config;
        let ends = |cut: &Cut| cut.begins_piece(u64::from(packet.index) + 1);
        if !ends(&self.cut(config, packet.message_size)) {
            return;
        }
        let piece = Waiting { delivery: None, size: config.spec.max_message, tag: packet.tag };
        if !self.wait_for_program(now, lane, piece) {
            self.lanes[lane].inbox.spoilt = Some(packet.message);
        }
    }

    /// Gives `waiting` a place, if there is one.
    fn wait_for_program(&mut self, now: Time, lane: usize, waiting: Waiting) -> bool {
        let Lane { channel, inbox, .. } = &mut self.lanes[lane];
        let slots = self.channels[*channel].config.reader.map_or(0, |reader| reader.slots as usize);
        let room = inbox.waiting.len() < slots;
        if room {
            inbox.waiting.push_back(waiting);
            if inbox.waiting.len() == 1 {
                self.call_reader(now, lane);
            }
        }
        room
    }

    /// Puts the program of `lane`, for which something waits, among the handlers that wait.
    fn call_reader(&mut self, now: Time, lane: usize) {
        let flow = self.lanes[lane].channel;
        let core = self.channels[flow].config.reader.expect("only a program reads").core;
        let Waiting { size, tag, .. } = self.lanes[lane].inbox.waiting.front().expect("something waits");
        let (size, tag) = ((*size).min(self.config.packet), *tag);
        self.wait_for_cpu(core, now, flow, (size, tag), Ready::Reader(lane as u32));
    }

    /// A program was chosen.
    pub(super) fn begin_reading(&mut self, core: CoreId, lane: u32) -> Step {
        let lane = lane as usize;
        self.cores[core].reading = Some(lane);
        let of = &mut self.lanes[lane];
        let reader = self.channels[of.channel].config.reader.expect("only a program reads");
        let size = of.inbox.waiting.front().expect("something waits").size;
        let work = of.inbox.left.take().unwrap_or_else(|| reader.takes(size));
        let channel = of.channel;
        Step::Read { thread: Thread::Reader(channel), channel, work }
    }

    /// The work of the last [`Step::Read`] of `core` is done, and the message delivered if that was the last of it; or but for `left` of it, for which the driver took the core.
    pub fn read(&mut self, core: CoreId, now: Time, left: Span) -> Option<Delivery> {
        let lane = self.cores[core].reading.take().expect("a program has the CPU");
        let inbox = &mut self.lanes[lane].inbox;
        if !left.is_zero() {
            inbox.left = Some(left);
            self.call_reader(now, lane);
            return None;
        }
        let read = inbox.waiting.pop_front().expect("something was read");
        if !inbox.waiting.is_empty() {
            self.call_reader(now, lane);
        }
        let delivery = read.delivery?;
        self.channels[delivery.channel].counters.delivered += 1;
        Some(delivery)
    }

    /// By what the program that has `core` is ranked, if one has.
    pub(super) fn reading_tag(&self, core: CoreId) -> Option<Tag> {
        let inbox = &self.lanes[self.cores[core].reading?].inbox;
        inbox.waiting.front().map(|waiting| waiting.tag)
    }
}
