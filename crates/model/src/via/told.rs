//! What an adapter is told, and what it tells.

use laxity_units::{Bytes, Time};

use super::{Direction, Endpoint, Step};

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Its virtual interface.
    pub vi: u32,
    /// The how-manyth of it.
    pub number: u64,
    /// Its bytes.
    pub size: Bytes,
    /// Its sender says where it goes (RDMA), so that it takes no receive descriptor.
    pub directed: bool,
    /// Its sender's adapter let it in in turn and by no bandwidth, so that it goes in turn where it comes. An adapter that tells
    /// processes [apart](super::Doorbells::Apart) says so of what [departs](ViaOutput::Departs).
    pub in_turn: bool,
}

impl Message {
    /// What a descriptor of room for a message counts as: none.
    pub(super) fn room(vi: u32) -> Self {
        Self { vi, number: 0, size: Bytes::ZERO, directed: false, in_turn: false }
    }
}

/// What a program announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doorbell {
    /// A descriptor of a message to send.
    Send(Message),
    /// A message that the other side has asked for by RDMA. It is told apart from what the process sends itself, if the virtual interface has no bandwidth.
    Answer(Message),
    /// A descriptor of room for a message on this virtual interface.
    Receive(u32),
}

/// What an adapter does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViaOutput {
    /// NSDMA begins to send a message.
    Departs(Message),
    /// The program can see that its message was sent.
    Sent(Message),
    /// The program can see a message that has come.
    Received(Message),
    /// A message has come for which no descriptor was posted.
    Dropped(Message),
    /// HDMA has moved a message's data, and whoever has real memory does so now.
    Moved(Direction, Message),
    /// The adapter knows of a receive descriptor more of this virtual interface.
    Posted(u32),
    /// A step of Table 1 is done, which counts from this time. Only if [watched](super::Via::watch).
    Did(Step, Message, Time),
    /// A unit was at work from this time until now. Only if [watched](super::Via::watch).
    Worked(Unit, &'static str, Message, Time),
}

/// What of an adapter can be busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// The processor.
    Processor,
    /// Between host memory and adapter memory.
    Hdma,
    /// From adapter memory to the network.
    Nsdma,
    /// From the network to adapter memory.
    Nrdma,
}

impl Unit {
    /// Every one, each at the place of its number.
    pub const ALL: [Self; 4] = [Self::Processor, Self::Hdma, Self::Nsdma, Self::Nrdma];

    /// What it is called as a resource of a node.
    pub fn resource(self) -> &'static str {
        match self {
            Self::Processor => "lanai",
            Self::Hdma => "hdma",
            Self::Nsdma => "nsdma",
            Self::Nrdma => "nrdma",
        }
    }
}

/// Which of the queues of doorbells of a virtual interface, where they are told apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rung(u32);

pub(super) const SENDS: Rung = Rung(0);
pub(super) const RECEIVES: Rung = Rung(1);
pub(super) const ANSWERS: Rung = Rung(2);

impl Rung {
    /// That of virtual interface `vi` among those of all.
    pub(super) fn of(self, vi: u32) -> u32 {
        vi * 3 + self.0
    }
}

/// Whether that is a queue of room that is posted.
pub(super) fn is_room(lane: u32) -> bool {
    lane % 3 == RECEIVES.0
}

/// Where a doorbell waits that is told apart, and what it counts for. Room counts for a message of the largest size, since nobody says how much is going to come.
pub(super) fn lane_of(doorbell: Doorbell, endpoints: &[Endpoint]) -> (u32, Option<Bytes>) {
    match doorbell {
        Doorbell::Send(message) => (SENDS.of(message.vi), Some(message.size)),
        Doorbell::Answer(message) if endpoints[message.vi as usize].vtick.is_some() => {
            (SENDS.of(message.vi), Some(message.size))
        }
        Doorbell::Answer(message) => (ANSWERS.of(message.vi), Some(message.size)),
        Doorbell::Receive(vi) => (RECEIVES.of(vi), None),
    }
}
