//! Programs that read the messages of channels that end here.
//!
//! A reassembled message is not yet at its program, which needs the CPU and time of its own. Until
//! the program has finished with a message, the message keeps a slot in a bounded queue of the
//! channel. A bound that ended when the handler is done would not hold for the application, and an
//! unbounded queue would hide that a program is too slow.
//!
//! A program is an item in the queue of handlers. Its tag is that of the first message that waits,
//! so its rank is that of the message's handler. It reads one message between two preemption
//! points. Excess messages wait in a queue of their own, as at every earlier stage.
//!
//! A message that is larger than its contract's largest arrives in pieces, and its program reads
//! each piece as it arrives. Each piece counts as a message of the contract, as in the bounds:
//! reading the whole message at its end would be more work than any reservation covers. The message
//! is delivered with its last piece, if each piece found a slot.
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
use super::step::{Dropped, Finished, Step, Thread};
use super::subsystem::Subsystem;
use crate::fragment::Cut;
use crate::names::CoreId;
use crate::packet::Packet;
use crate::tag::Tag;

impl Subsystem {
    /// A message of `lane` is complete: it is delivered, unless the channel's program has to read
    /// it first, and lost if the queue of that program is full.
    pub(super) fn completed(&mut self, now: Time, lane: usize, delivery: Delivery, tag: Tag) -> Finished {
        let (channel, message) = (delivery.channel, delivery.message);
        if !self.lanes[lane].terms.is_read {
            self.channels[channel].counters.delivered += 1;
            return Finished { delivered: Some(delivery), lost: None };
        }
        let size = self.cut(&self.channels[channel].config, delivery.size).last_piece();
        let spoilt = self.lanes[lane].inbox.spoilt == Some(message);
        if spoilt || !self.wait_for_program(now, lane, Waiting { delivery: Some(delivery), size, tag }) {
            self.count_drop(channel, 0, Dropped::ProgramQueue);
            return Finished { delivered: None, lost: Some((channel, message)) };
        }
        Finished::default()
    }

    /// A packet of `lane` arrived that does not complete its message; the packet may complete a
    /// piece.
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

    /// Queues the program of `lane`, which has input, among the handlers that wait.
    fn call_reader(&mut self, now: Time, lane: usize) {
        let flow = self.lanes[lane].channel;
        let core = self.channels[flow].config.reader.expect("only a program reads").core;
        let Waiting { size, tag, .. } = self.lanes[lane].inbox.waiting.front().expect("something waits");
        let (size, tag) = ((*size).min(self.config.packet), *tag);
        self.wait_for_cpu(core, now, flow, (size, tag), Ready::Reader(lane as u32));
    }

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

    /// Ends the last [`Step::Read`] of `core`, of which `left` remains if the driver preempted it.
    /// Returns the message to deliver if the work completed one.
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

    pub(super) fn reading_tag(&self, core: CoreId) -> Option<Tag> {
        let inbox = &self.lanes[self.cores[core].reading?].inbox;
        inbox.waiting.front().map(|waiting| waiting.tag)
    }
}
