//! Responses: their queues, and back-pressure while the host does not read.
//!
//! A response occupies an entry of its queue from its write until the host has removed it. Without
//! a free entry the packet stays where it is, with its server. A host that does not read therefore
//! blocks the adapter stage by stage, to the command queues in one direction and to the medium,
//! where frames are lost, in the other. A response without a server, about a lost packet, waits
//! here for an entry.

use std::collections::VecDeque;

use laxity_qos::channel::Slot;
use laxity_units::Time;

use super::Pipeline;
use crate::adapter::{AdapterOutput, AdapterResponse, HostSide, Overload, ResponseQueue};
use crate::around::Around;

/// The response queues at work, as the adapter sees them.
#[derive(Debug)]
pub(super) struct Responses {
    lines: Vec<Line>,
    /// Whether any of them has an end.
    bounded: bool,
    /// The driver resets the adapter, and has what it says without a queue.
    pub(super) to_driver: bool,
    /// Responses that wait for a place, in all queues.
    waiting: usize,
}

#[derive(Debug)]
struct Line {
    slots: usize,
    overload: Overload,
    unread: usize,
    waiting: VecDeque<AdapterResponse<Slot>>,
}

impl Line {
    fn has_room(&self) -> bool {
        self.unread < self.slots && self.waiting.is_empty()
    }
}

impl Responses {
    pub(super) fn new(interface: &HostSide) -> Self {
        let line = |queue: &ResponseQueue| Line {
            slots: queue.slots.map_or(usize::MAX, |slots| slots as usize),
            overload: queue.overload,
            unread: 0,
            waiting: VecDeque::new(),
        };
        let bounded = interface.responses.iter().any(|queue| queue.slots.is_some());
        Self { lines: interface.all_responses().map(line).collect(), bounded, to_driver: false, waiting: 0 }
    }

    /// Whether any of the queues has an end.
    pub(super) fn is_bounded(&self) -> bool {
        self.bounded
    }

    /// Entries in use of each queue, where any has an end.
    pub(super) fn entries(&self) -> impl Iterator<Item = usize> {
        self.lines.iter().map(|line| line.unread)
    }

    /// Responses that wait for a place.
    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }
}

impl Pipeline {
    pub(in crate::adapter) fn has_read(
        &mut self,
        now: Time,
        queue: usize,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) {
        if self.responses.bounded {
            let line = &mut self.responses.lines[queue];
            line.unread = line.unread.checked_sub(1).expect("a response is read once");
            self.settle(now, around);
        }
    }

    /// Writes `response`, or keeps it until there is a place.
    #[inline]
    pub(super) fn respond(
        &mut self,
        response: AdapterResponse<Slot>,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) {
        match self.is_plain {
            true => around.tell(AdapterOutput::Response(response)),
            false => self.find_place(response, around),
        }
    }

    #[inline(never)]
    fn find_place(&mut self, response: AdapterResponse<Slot>, around: &mut impl Around<AdapterOutput<Slot>>) {
        if let AdapterResponse::Transmitted(slot) | AdapterResponse::Failed(slot, _) = response {
            self.restore(slot, around.packets());
        }
        if self.responses.bounded {
            let queue = self.queue_of(&response, around);
            let line = &mut self.responses.lines[queue];
            if !line.has_room() && !self.responses.to_driver {
                self.responses.waiting += 1;
                return line.waiting.push_back(response);
            }
            line.unread += 1;
        }
        self.say(response, around);
    }

    fn say(&mut self, response: AdapterResponse<Slot>, around: &mut impl Around<AdapterOutput<Slot>>) {
        if let AdapterResponse::Transmitted(slot) | AdapterResponse::Failed(slot, _) = response {
            self.write_back(around.packets().at(slot));
        }
        around.tell(AdapterOutput::Response(response));
    }

    /// Whether `response` would find a place.
    #[inline]
    pub(super) fn has_room_for(
        &self,
        response: &AdapterResponse<Slot>,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) -> bool {
        !self.responses.bounded || self.finds_room(response, around)
    }

    #[inline(never)]
    fn finds_room(
        &self,
        response: &AdapterResponse<Slot>,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) -> bool {
        self.responses.lines[self.queue_of(response, around)].has_room()
    }

    /// Whether `response` is lost if there is no place for it, and does not wait.
    #[inline(never)]
    pub(super) fn is_lossy(
        &self,
        response: &AdapterResponse<Slot>,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) -> bool {
        self.responses.lines[self.queue_of(response, around)].overload == Overload::Drop
    }

    fn queue_of(
        &self,
        response: &AdapterResponse<Slot>,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) -> usize {
        let packet = around.packets().at(*response.packet());
        self.description.interface.response_queue(response, &packet.tag, packet.channel)
    }

    /// Writes what has waited, as far as there are places now; answers whether it was anything.
    #[inline(never)]
    pub(super) fn write_waiting(&mut self, around: &mut impl Around<AdapterOutput<Slot>>) -> bool {
        let mut any = false;
        for n in 0..self.responses.lines.len() {
            let to_driver = self.responses.to_driver;
            let next = |line: &mut Line| match line.unread < line.slots || to_driver {
                true => line.waiting.pop_front(),
                false => None,
            };
            while let Some(response) = next(&mut self.responses.lines[n]) {
                self.responses.lines[n].unread += 1;
                self.responses.waiting -= 1;
                self.say(response, around);
                any = true;
            }
        }
        any
    }
}
