//! A virtual interface as the adapter's process keeps it: descriptors that it was told of, messages under way, and what completes.
//!
//! The firmware says when something is fetched, moved or told; here lies *what*. Descriptors complete in the order in which they were
//! posted, whatever else happens, so that a count is all that a program needs to look at.

use std::collections::VecDeque;

use laxity_units::{Bytes, Span, Time};
use laxity_vi::provider::{Posted, ViQueues, Which};
use laxity_vi::{Bandwidth, Completion, DEPTH, Fault, Operation, Reliability, Remote, State, Status};

use super::turns::Share;

/// Things numbered in the order in which they came, of which the oldest goes first.
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
    /// The number that the next has.
    pub(super) fn next(&self) -> u64 {
        self.first + self.items.len() as u64
    }

    pub(super) fn push(&mut self, item: T) {
        self.items.push_back(item);
    }

    /// What has this number.
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

/// Something that is sent.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// What for; of the answer to a read, the memory that is read is its one segment.
    pub(super) posted: Posted,
    /// Of an answer: the read's number at the other side, and what came of it.
    pub(super) answers: Option<(u64, Status)>,
    /// What is wrong with it. It goes its way as an empty message then, so that it takes its adapter's time and nobody else's, and ends at the
    /// adapter's edge.
    pub(super) flaw: Option<Status>,
    pub(super) data: Vec<u8>,
    /// When it was rung for, if it is a message: no read, and no answer to one.
    pub(super) rung_at: Option<Time>,
    /// The firmware is done with it.
    pub(super) sent: bool,
    /// Of a read: what came back.
    pub(super) answered: Option<Status>,
    /// It has completed before, as flushed.
    pub(super) void: bool,
}

impl Outgoing {
    pub(super) fn new(posted: Posted, flaw: Option<Status>) -> Self {
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

/// What a message that comes is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It goes where the next receive descriptor says.
    Message,
    /// It goes where its sender says.
    Write(Remote),
    /// The sender wants this memory, for its read of that number.
    Read { from: Remote, length: u32, number: u64 },
    /// What the read of that number wanted, or why not.
    Answer { number: u64, status: Status },
}

/// A message on its way in.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) kind: Kind,
    pub(super) immediate: Option<u32>,
    pub(super) data: Vec<u8>,
    pub(super) size: Bytes,
    /// The channel that it is a message of.
    pub(super) of: Option<u32>,
    /// When it was rung for, if it is a message.
    pub(super) rung_at: Option<Time>,
    /// The firmware is done with it, and it may be seen from then on.
    pub(super) held_until: Option<Time>,
    /// What the receive descriptor that it took completes with.
    pub(super) completion: Option<Completion>,
    /// Its connection has ended.
    pub(super) void: bool,
    /// The firmware is done with it, and its program was told if it is to be.
    pub(super) over: bool,
}

impl Arrival {
    /// Whether it takes a receive descriptor.
    pub(super) fn takes_descriptor(&self) -> bool {
        match self.kind {
            Kind::Message => true,
            Kind::Write(_) => self.immediate.is_some(),
            Kind::Read { .. } | Kind::Answer { .. } => false,
        }
    }
}

/// What became of messages at a virtual interface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages sent.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
    /// Messages that came and found no descriptor, or no room on the way.
    pub lost: u64,
    /// Descriptors that completed in error, those that were flushed not counted.
    pub errors: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: Tally) {
        self.sent += other.sent;
        self.received += other.received;
        self.lost += other.lost;
        self.errors += other.errors;
    }
}

/// A virtual interface.
#[derive(Debug)]
pub(super) struct Interface {
    pub(super) owner: u32,
    pub(super) node: u32,
    /// What the firmware calls it.
    pub(super) endpoint: u32,
    pub(super) tag: u32,
    pub(super) reliability: Reliability,
    /// RDMA that it takes: writes, reads.
    pub(super) access: [bool; 2],
    pub(super) bandwidth: Bandwidth,
    /// How long after it was rung for a message may be seen here at the earliest.
    pub(super) playout: Span,
    /// The completion queues of its process that hear of it.
    pub(super) announced: [Option<u32>; 2],
    pub(super) state: State,
    pub(super) peer: Option<u32>,
    /// The channel of the file that it is, while it is connected.
    pub(super) channel: Option<u32>,
    /// The other side has gone, and what it had sent before is still coming.
    pub(super) left: bool,
    /// None once it is destroyed, and only waits for the firmware to be done with it.
    pub(super) queues: Option<ViQueues>,
    /// Descriptors that it was told of.
    heard: [u32; 2],
    completed: [u32; 2],
    /// Those of them that are complete and of which its program was not told.
    untold: [u32; 2],
    pub(super) outgoing: Lane<Outgoing>,
    /// Receive descriptors that no message has taken.
    pub(super) receives: VecDeque<Result<Posted, Status>>,
    pub(super) arrivals: Lane<Arrival>,
    /// Receive doorbells that the firmware has not handled.
    pub(super) unposted: u32,
    /// The place of the share in which those doorbells are counted that the firmware has.
    pub(super) share: usize,
    pub(super) tally: Tally,
}

/// What a virtual interface is made of.
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
            tally: Tally::default(),
        }
    }

    /// The number of the next descriptor that its program posted; `None` if it has posted more than there is room for. The firmware may
    /// still have in hand what was flushed before, once over: who breaks and connects without end gets no further.
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

    /// In which share its doorbells are counted. Another bandwidth changes that once the firmware is done with those that it has.
    pub(super) fn counted_in(&self) -> Share {
        let reserved = (self.bandwidth != Bandwidth::None).then_some(self.endpoint);
        Share { node: self.node, process: self.owner, reserved }
    }

    /// The firmware has none of its doorbells, and none waits.
    pub(super) fn is_done_with(&self) -> bool {
        self.outgoing.len() == 0 && self.unposted == 0
    }

    /// The oldest descriptor of `which` is complete.
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

    /// Whether its program was told of all that is complete.
    pub(super) fn has_told(&self) -> bool {
        self.untold == [0; 2]
    }

    /// Tells its program how many descriptors of `which` are complete: those that it was not told of yet.
    pub(super) fn tell(&mut self, which: Which) -> u32 {
        let untold = std::mem::take(&mut self.untold[which as usize]);
        if untold > 0
            && let Some(queues) = &self.queues
        {
            queues.tell(which);
        }
        untold
    }

    /// Takes the oldest thing sent out that is over: what its descriptor completes with, if it has one that has not completed; and its data.
    pub(super) fn next_sent(&mut self) -> Option<(Option<Completion>, Vec<u8>)> {
        let over = self.outgoing.pop_if(Outgoing::is_over)?;
        let completes = over.answers.is_none() && !over.void;
        Some((completes.then(|| over.completion()), over.data))
    }

    /// What is left of the connection is no more: how many descriptors complete as flushed, to send and to receive. What the
    /// firmware has in hand goes its way, and nothing comes of it.
    pub(super) fn flush(&mut self) -> [u32; 2] {
        (self.peer, self.channel, self.left) = (None, None, false);
        self.receives.clear();
        self.outgoing.iter_mut().for_each(|outgoing| {
            outgoing.void = true;
            outgoing.flaw = outgoing.flaw.or(Some(Status::FLUSHED));
        });
        self.arrivals.iter_mut().for_each(|arrival| {
            arrival.void = true;
            // Nobody waits for what was held.
            arrival.over |= arrival.held_until.is_some();
        });
        [0, 1].map(|which| self.heard[which].wrapping_sub(self.completed[which]))
    }

    /// Whether a message is over that came, or something has ended.
    #[inline]
    pub(super) fn is_to_be_swept(&self) -> bool {
        self.arrivals.first().is_some_and(|arrival| arrival.over) || self.is_ending()
    }

    /// Whether its connection or itself is to end once nothing is left of it.
    #[inline]
    pub(super) fn is_ending(&self) -> bool {
        self.left || self.queues.is_none()
    }

    /// Whether it is destroyed, and the firmware has nothing of it in hand.
    pub(super) fn is_gone(&self) -> bool {
        self.queues.is_none() && self.arrivals.len() == 0 && self.is_done_with()
    }

    pub(super) fn show_fault(&mut self, fault: Fault) {
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
