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
//! ```text
//! packets ─▶ handler ─▶ reassembly ─▶ ▭▭▭ slots ─▶ program ─▶ delivered
//!                                     full: dropped
//! ```

use std::collections::VecDeque;

use laxity_units::{Bytes, Span, Time};

use super::computing::Ready;
use super::message::Delivery;
use super::step::{Dropped, Step, Thread};
use super::subsystem::Subsystem;
use crate::discipline::Tag;

/// The program that takes a channel's messages where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    /// Messages that wait for it, the one that it has included; at least 1.
    pub slots: u32,
    /// What it does with a message.
    pub work: Span,
    /// What it does with each byte of one, beside.
    pub per_byte: Span,
}

impl Reader {
    /// What it takes for a message of `size`.
    pub fn takes(&self, size: Bytes) -> Span {
        self.work.saturating_add(self.per_byte.saturating_mul(size.get()))
    }
}

/// Messages that wait for a program.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    waiting: VecDeque<(Delivery, Tag)>,
    /// What is left of the first, which the program has begun and was taken the CPU from.
    left: Option<Span>,
}

impl Subsystem {
    /// A message of `lane` is whole again: delivered unless its channel has a program, which has to take it first.
    pub(super) fn completed(
        &mut self,
        now: Time,
        lane: usize,
        delivery: Delivery,
        tag: Tag,
    ) -> Option<Delivery> {
        let channel = delivery.channel;
        let Some(reader) = self.lanes[lane].config.reader else {
            self.channels[channel].counters.delivered += 1;
            return Some(delivery);
        };
        let waiting = &mut self.lanes[lane].inbox.waiting;
        if waiting.len() >= reader.slots as usize {
            self.count_drop(channel, 0, Dropped::ProgramQueue);
            return None;
        }
        waiting.push_back((delivery, tag));
        if waiting.len() == 1 {
            self.call_reader(now, lane);
        }
        None
    }

    /// Puts the program of `lane`, for which a message waits, among the handlers that wait.
    fn call_reader(&mut self, now: Time, lane: usize) {
        let (delivery, tag) = self.lanes[lane].inbox.waiting.front().expect("a message waits");
        let (flow, size, tag) = (delivery.channel, delivery.size.min(self.config.packet), *tag);
        self.wait_for_cpu(now, flow, (size, tag), Ready::Reader(lane as u32));
    }

    /// A program was chosen.
    pub(super) fn begin_reading(&mut self, lane: u32) -> Step {
        let lane = lane as usize;
        self.reading = Some(lane);
        let of = &mut self.lanes[lane];
        let reader = of.config.reader.expect("only a program reads");
        let (delivery, _) = of.inbox.waiting.front().expect("a message waits");
        let work = of.inbox.left.take().unwrap_or_else(|| reader.takes(delivery.size));
        let channel = of.channel;
        Step::Read { thread: Thread::Reader(channel), channel, work }
    }

    /// The work of the last [`Step::Read`] is done, and the message delivered; or but for `left` of it, for which the driver took the CPU.
    pub fn read(&mut self, now: Time, left: Span) -> Option<Delivery> {
        let lane = self.reading.take().expect("a program has the CPU");
        let inbox = &mut self.lanes[lane].inbox;
        if !left.is_zero() {
            inbox.left = Some(left);
            self.call_reader(now, lane);
            return None;
        }
        let (delivery, _) = inbox.waiting.pop_front().expect("a message was read");
        if !inbox.waiting.is_empty() {
            self.call_reader(now, lane);
        }
        self.channels[delivery.channel].counters.delivered += 1;
        Some(delivery)
    }

    /// By what the program that has the CPU is ranked, if one has.
    pub(super) fn reading_tag(&self) -> Option<Tag> {
        let inbox = &self.lanes[self.reading?].inbox;
        inbox.waiting.front().map(|(_, tag)| *tag)
    }
}
