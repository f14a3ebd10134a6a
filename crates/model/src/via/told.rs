//! Inputs and outputs of an adapter.

use laxity_units::{Bytes, Time};

use super::{Endpoint, ViDirection, ViStep};

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViMessage {
    /// Its virtual interface.
    pub vi: u32,
    /// Its sequence number.
    pub number: u64,
    /// Its size.
    pub size: Bytes,
    /// Its sender gives its address (RDMA), so that it takes no receive descriptor.
    pub directed: bool,
    /// Its sender's adapter admitted it in turn and by no bandwidth, so it goes in turn at the
    /// receiver. An adapter that [separates](super::Doorbells::Apart) processes sets this in
    /// messages that [depart](ViaOutput::Departs).
    pub in_turn: bool,
}

impl ViMessage {
    /// Placeholder message of a receive descriptor.
    pub(super) fn room(vi: u32) -> Self {
        Self { vi, number: 0, size: Bytes::ZERO, directed: false, in_turn: false }
    }
}

/// A doorbell of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViDoorbell {
    /// A descriptor of a message to send.
    Send(ViMessage),
    /// A message that the peer has requested by RDMA. It has a queue apart from the process's own
    /// sends, if the virtual interface has no bandwidth.
    Answer(ViMessage),
    /// A receive descriptor for this virtual interface.
    Receive(u32),
}

/// An output of the adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViaOutput {
    /// NSDMA begins to send a message.
    Departs(ViMessage),
    /// The program can see that its message was sent.
    Sent(ViMessage),
    /// The program can see a received message.
    Received(ViMessage),
    /// A message has arrived for which no descriptor was posted.
    Dropped(ViMessage),
    /// HDMA has moved a message's data; a caller with real memory moves it now.
    Moved(ViDirection, ViMessage),
    /// The adapter has fetched another receive descriptor of this virtual interface.
    Posted(u32),
    /// A step of Table 1 is done, which counts from this time. Only if [watched](super::Via::watch).
    Did(ViStep, ViMessage, Time),
    /// A unit was at work from this time until now. Only if [watched](super::Via::watch).
    Worked(Unit, &'static str, ViMessage, Time),
}

/// A unit of an adapter that can be busy.
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
    /// All units, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Processor, Self::Hdma, Self::Nsdma, Self::Nrdma];

    /// Its name as a resource of a node.
    pub fn resource(self) -> &'static str {
        match self {
            Self::Processor => "lanai",
            Self::Hdma => "hdma",
            Self::Nsdma => "nsdma",
            Self::Nrdma => "nrdma",
        }
    }
}

/// A kind of doorbell queue of a virtual interface, where they are separated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rung(u32);

pub(super) const SENDS: Rung = Rung(0);
pub(super) const RECEIVES: Rung = Rung(1);
pub(super) const ANSWERS: Rung = Rung(2);

impl Rung {
    /// Index of this queue of `vi` among all.
    pub(super) fn of(self, vi: u32) -> u32 {
        vi * 3 + self.0
    }
}

/// Whether it is a queue of receive descriptors.
pub(super) fn is_room(lane: u32) -> bool {
    lane % 3 == RECEIVES.0
}

/// Lane of a separated doorbell, and its charge. A receive descriptor counts as a message of the
/// largest size, since the actual size is unknown.
pub(super) fn lane_of(doorbell: ViDoorbell, endpoints: &[Endpoint]) -> (u32, Option<Bytes>) {
    match doorbell {
        ViDoorbell::Send(message) => (SENDS.of(message.vi), Some(message.size)),
        ViDoorbell::Answer(message) if endpoints[message.vi as usize].vtick.is_some() => {
            (SENDS.of(message.vi), Some(message.size))
        }
        ViDoorbell::Answer(message) => (ANSWERS.of(message.vi), Some(message.size)),
        ViDoorbell::Receive(vi) => (RECEIVES.of(vi), None),
    }
}
