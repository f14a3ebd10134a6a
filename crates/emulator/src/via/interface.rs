//! Virtual interface in the adapter's process: descriptors read, messages in progress, and
//! completions.
//!
//! The firmware decides when data is fetched, moved or reported; this module has the data.
//! Descriptors complete in the order in which they were posted, so a program only needs to read a
//! count.

use std::collections::VecDeque;

use laxity_units::{Bytes, Span, Time};
use laxity_vi::provider::{ReadDescriptor, ViQueues, Which};
use laxity_vi::{Bandwidth, Completion, DEPTH, Operation, Reliability, Remote, State, Status, ViFault};

use super::turns::Share;

#[derive(Debug)]
pub(super) struct Lane<T> {
    first: u64,
    items: VecDeque<T>,
}

impl<T> Default for Lane<T> {
    fn default() -> Self {
        Self { first: 0, items: VecDeque::new() }
    }
}

impl<T> Lane<T> {
    pub(super) fn next(&self) -> u64 {
        self.first + self.items.len() as u64
    }

    pub(super) fn push(&mut self, item: T) {
        self.items.push_back(item);
    }

    pub(super) fn item(&mut self, number: u64) -> Option<&mut T> {
        let place = number.checked_sub(self.first)?;
        self.items.get_mut(usize::try_from(place).ok()?)
    }

    pub(super) fn pop_if(&mut self, over: impl FnOnce(&T) -> bool) -> Option<T> {
        if !self.items.front().is_some_and(over) {
            return None;
        }
        self.first += 1;
        self.items.pop_front()
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    #[inline]
    pub(super) fn first(&self) -> Option<&T> {
        self.items.front()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.items.iter_mut()
    }
}

#[derive(Debug)]
pub(super) struct Outgoing {
    /// Descriptor; for the response to a read, the memory that is read is its one segment.
    pub(super) posted: ReadDescriptor,
    /// For a response: number of the read at the peer, and its status.
    pub(super) answers: Option<(u64, Status)>,
    /// Error. The message is then handled as an empty one, so that it takes time only at its own
    /// adapter, and ends at the adapter's edge.
    pub(super) flaw: Option<Status>,
    pub(super) data: Vec<u8>,
    /// Time of its doorbell, if it is a message: neither a read nor a response.
    pub(super) rung_at: Option<Time>,
    /// The firmware has finished it.
    pub(super) sent: bool,
    /// For a read: status of the response.
    pub(super) answered: Option<Status>,
    /// It has already completed as flushed.
    pub(super) void: bool,
}

impl Outgoing {
    pub(super) fn new(posted: ReadDescriptor, flaw: Option<Status>) -> Self {
        let (data, answers, answered) = (Vec::new(), None, None);
        Self { posted, answers, flaw, data, rung_at: None, sent: false, answered, void: false }
    }

    fn waits_for_answer(&self) -> bool {
        let reads = matches!(self.posted.operation, Operation::RdmaRead(_));
        reads && self.answers.is_none() && self.flaw.is_none() && self.answered.is_none() && !self.void
    }

    fn is_over(&self) -> bool {
        self.sent && !self.waits_for_answer()
    }

    fn completion(&self) -> Completion {
        let kind = match self.posted.operation {
            Operation::Message => Status::default(),
            Operation::RdmaWrite(_) => Status::RDMA_WRITE,
            Operation::RdmaRead(_) => Status::RDMA_READ,
        };
        let flaw = self.flaw.or(self.answered).unwrap_or_default();
        let length = if flaw.is_error() { 0 } else { self.posted.len() as u32 };
        Completion { status: Status::DONE.and(kind).and(flaw), length, immediate: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Message for the next receive descriptor.
    Message,
    /// RDMA write to the given memory.
    Write(Remote),
    /// RDMA read of this memory; `number` is the read's at the sender.
    Read { from: Remote, length: u32, number: u64 },
    /// Response to the read of that number, with its status.
    Answer { number: u64, status: Status },
}

#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) kind: Kind,
    pub(super) immediate: Option<u32>,
    pub(super) data: Vec<u8>,
    pub(super) size: Bytes,
    /// Channel of the message.
    pub(super) of: Option<u32>,
    /// Time of its doorbell, if it is a message.
    pub(super) rung_at: Option<Time>,
    /// The firmware has finished it, and it is held until this playout time.
    pub(super) held_until: Option<Time>,
    /// Completion of its receive descriptor.
    pub(super) completion: Option<Completion>,
    /// Its connection has ended.
    pub(super) void: bool,
    /// The firmware has finished it, and its program was notified if required.
    pub(super) over: bool,
}

impl Arrival {
    pub(super) fn takes_descriptor(&self) -> bool {
        match self.kind {
            Kind::Message => true,
            Kind::Write(_) => self.immediate.is_some(),
            Kind::Read { .. } | Kind::Answer { .. } => false,
        }
    }
}

/// Counts of messages at a virtual interface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InterfaceTally {
    /// Sent messages.
    pub sent: u64,
    /// Received messages.
    pub received: u64,
    /// Messages lost for lack of a receive descriptor, or because too many were in flight.
    pub lost: u64,
    /// Descriptors that completed in error, except for flushed ones.
    pub errors: u64,
}

impl InterfaceTally {
    pub(super) fn add(&mut self, other: InterfaceTally) {
        self.sent += other.sent;
        self.received += other.received;
        self.lost += other.lost;
        self.errors += other.errors;
    }
}

#[derive(Debug)]
pub(super) struct Interface {
    pub(super) owner: u32,
    pub(super) node: u32,
    /// Its number in the firmware.
    pub(super) endpoint: u32,
    pub(super) tag: u32,
    pub(super) reliability: Reliability,
    /// RDMA that it accepts: writes, reads.
    pub(super) access: [bool; 2],
    pub(super) bandwidth: Bandwidth,
    /// Playout delay: minimum time from the doorbell to the completion here.
    pub(super) playout: Span,
    /// Completion queues of its process.
    pub(super) announced: [Option<u32>; 2],
    pub(super) state: State,
    pub(super) peer: Option<u32>,
    /// Channel of the file to which it is assigned, while connected.
    pub(super) channel: Option<u32>,
    /// The peer has gone, and its earlier messages are still arriving.
    pub(super) left: bool,
    /// `None` once it is destroyed, and only waits for the firmware.
    pub(super) queues: Option<ViQueues>,
    /// Number of descriptors read.
    heard: [u32; 2],
    completed: [u32; 2],
    /// Number of completions of which its program was not notified.
    untold: [u32; 2],
    pub(super) outgoing: Lane<Outgoing>,
    /// Receive descriptors that no message has consumed.
    pub(super) receives: VecDeque<Result<ReadDescriptor, Status>>,
    pub(super) arrivals: Lane<Arrival>,
    /// Receive doorbells that the firmware has not handled.
    pub(super) unposted: u32,
    /// Index of the share that counts its doorbells in the firmware.
    pub(super) share: usize,
    pub(super) tally: InterfaceTally,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Made {
    pub(super) owner: u32,
    pub(super) node: u32,
    pub(super) endpoint: u32,
    pub(super) tag: u32,
    pub(super) reliability: Reliability,
    pub(super) access: [bool; 2],
    pub(super) bandwidth: Bandwidth,
    pub(super) playout: Span,
    pub(super) announced: [Option<u32>; 2],
}

impl Interface {
    pub(super) fn new(made: Made, share: usize, queues: ViQueues) -> Self {
        let Made { owner, node, endpoint, tag, reliability, access, bandwidth, playout, announced } = made;
        Self {
            owner,
            node,
            endpoint,
            tag,
            reliability,
            access,
            bandwidth,
            playout,
            announced,
            state: State::Idle,
            peer: None,
            channel: None,
            left: false,
            queues: Some(queues),
            heard: [0; 2],
            completed: [0; 2],
            untold: [0; 2],
            outgoing: Lane::default(),
            receives: VecDeque::new(),
            arrivals: Lane::default(),
            unposted: 0,
            share,
            tally: InterfaceTally::default(),
        }
    }

    /// Number of the next descriptor to read; `None` if the program has posted more than the queue
    /// holds. The firmware may also have flushed descriptors, up to as many again: this bounds
    /// repeated disconnects and connects.
    pub(super) fn hear(&mut self, which: Which) -> Option<u32> {
        let number = self.heard[which as usize];
        let in_hand = match which {
            Which::Send => self.outgoing.len(),
            Which::Receive => self.unposted as usize,
        };
        if number.wrapping_sub(self.completed[which as usize]) >= DEPTH || in_hand >= 2 * DEPTH as usize {
            return None;
        }
        self.heard[which as usize] = number.wrapping_add(1);
        Some(number)
    }

    /// Share that counts its doorbells. Another bandwidth changes it once the firmware has finished
    /// the current ones.
    pub(super) fn counted_in(&self) -> Share {
        let reserved = (self.bandwidth != Bandwidth::None).then_some(self.endpoint);
        Share { node: self.node, process: self.owner, reserved }
    }

    /// Whether no doorbell of it is in the firmware or waiting.
    pub(super) fn is_done_with(&self) -> bool {
        self.outgoing.len() == 0 && self.unposted == 0
    }

    /// Completes the oldest descriptor of `which`.
    pub(super) fn complete(&mut self, which: Which, completion: &Completion) {
        let Some(queues) = &mut self.queues else { return };
        queues.complete(which, completion);
        self.completed[which as usize] = self.completed[which as usize].wrapping_add(1);
        self.untold[which as usize] += 1;
        let flushed = completion.status.has(Status::FLUSHED);
        self.tally.errors += u64::from(completion.status.is_error() && !flushed);
        if !completion.status.is_error() {
            match which {
                Which::Send => self.tally.sent += 1,
                Which::Receive => self.tally.received += 1,
            }
        }
    }

    /// Whether its program was notified of all completions.
    pub(super) fn has_told(&self) -> bool {
        self.untold == [0; 2]
    }

    /// Notifies its program of the completions of `which`; returns their number.
    pub(super) fn tell(&mut self, which: Which) -> u32 {
        let untold = std::mem::take(&mut self.untold[which as usize]);
        if untold > 0
            && let Some(queues) = &self.queues
        {
            queues.tell(which);
        }
        untold
    }

    /// Removes the oldest message if it is finished: returns the completion of its descriptor,
    /// unless it has none or has completed; and its data.
    pub(super) fn next_sent(&mut self) -> Option<(Option<Completion>, Vec<u8>)> {
        let over = self.outgoing.pop_if(Outgoing::is_over)?;
        let completes = over.answers.is_none() && !over.void;
        Some((completes.then(|| over.completion()), over.data))
    }

    /// Ends the connection: returns the number of descriptors that complete as flushed, to send and
    /// to receive. The firmware finishes its current work without effect.
    pub(super) fn flush(&mut self) -> [u32; 2] {
        (self.peer, self.channel, self.left) = (None, None, false);
        self.receives.clear();
        self.outgoing.iter_mut().for_each(|outgoing| {
            outgoing.void = true;
            outgoing.flaw = outgoing.flaw.or(Some(Status::FLUSHED));
        });
        self.arrivals.iter_mut().for_each(|arrival| {
            arrival.void = true;
            // Held messages are not completed any more.
            arrival.over |= arrival.held_until.is_some();
        });
        [0, 1].map(|which| self.heard[which].wrapping_sub(self.completed[which]))
    }

    /// Whether a message has finished, or an end is pending.
    #[inline]
    pub(super) fn is_to_be_swept(&self) -> bool {
        self.arrivals.first().is_some_and(|arrival| arrival.over) || self.is_ending()
    }

    /// Whether the connection or the virtual interface ends once its work is finished.
    #[inline]
    pub(super) fn is_ending(&self) -> bool {
        self.left || self.queues.is_none()
    }

    /// Whether it is destroyed, and the firmware has no work of it.
    pub(super) fn is_gone(&self) -> bool {
        self.queues.is_none() && self.arrivals.len() == 0 && self.is_done_with()
    }

    pub(super) fn show_fault(&mut self, fault: ViFault) {
        self.state = State::Error;
        if let Some(queues) = &self.queues {
            queues.show_fault(fault);
        }
    }

    pub(super) fn show(&mut self, state: State) {
        self.state = state;
        if let Some(queues) = &self.queues {
            queues.show(state);
        }
    }
}
