//! Messages of one channel put together in reserved buffers.
//!
//! # Memory
//!
//! [`Reassembly::new`] allocates the reservation: `buffers` messages of `M_max` bytes, and a mark
//! for each of their packets. No packet allocates. A buffer is free, holds a partial message, or
//! holds a complete one until the program releases it.
//!
//! # Copies
//!
//! A payload is copied once, from the packet to its place in the buffer. A message of one packet is
//! not copied here at all and takes no buffer: [`PacketArrival::Whole`] is the payload in the packet
//! ([fast path](crate::Sender)).
//!
//! # Order and limits
//!
//! FRAG does not retransmit (structuring 4.1), and a channel delivers in sequence. A complete
//! message thus gives up all older ones. If no buffer is free, the oldest partial message is given
//! up for a newer one, and a message older than all partial ones is itself given up. Complete
//! messages stay. These are the rules of [`laxity_qos::fragment::Reassembler`], which keeps 16
//! messages open; here that is the number of buffers.
//!
//! # Time-out
//!
//! All packets of a message arrive within its delay bound `d` after the logical arrival, if the
//! network keeps its promise. So the first to arrive and the last are at most `d` apart (plus
//! drift), and a message that is partial for longer has lost a packet. It is given up with all
//! older ones, which are due even earlier.

use laxity_units::{Bytes, Span, Time};

use crate::fragments::FragmentSizes;
use crate::header::{TransportHeader, WireChannelId};

/// The part of a contract that reassembly rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation {
    /// Sizes of messages and packets.
    pub sizes: FragmentSizes,
    /// Messages, partial or complete and not yet released, that have a buffer: `B_max`, and one
    /// that the program reads.
    pub buffers: u32,
    /// From the first packet of a message until the message is given up, by the local clock.
    pub timeout: Span,
}

impl Reservation {
    /// Bytes of payload that are reserved.
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.sizes.message.into()) * u64::from(self.buffers)
    }
}

/// A complete message in a buffer of the reservation, until [`Reassembly::release`].
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a buffer that is not released stays reserved"]
pub struct Buffer {
    index: usize,
}

/// Why a packet changed no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignored {
    /// Another channel.
    Channel,
    /// Another incarnation of the node that established the channel.
    Epoch,
    /// Sizes that the contract does not have, or that contradict an earlier packet of the message.
    Sizes,
    /// A message that is delivered or given up.
    Old,
    /// A packet that arrived before.
    Duplicate,
    /// All buffers hold complete messages, or newer partial ones.
    NoBuffer,
}

/// The effect of a packet.
#[derive(Debug, PartialEq, Eq)]
pub enum PacketArrival<'p> {
    /// A message of one packet: the payload in that packet.
    Whole(&'p [u8]),
    /// The last missing packet of a message.
    Complete(Buffer),
    /// A packet of a message that is still partial.
    Partial,
    /// The packet changed no message.
    Ignored(Ignored),
}

/// Counters of a channel's reassembly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReassemblyCounts {
    /// Messages delivered, of one packet.
    pub whole: u64,
    /// Messages delivered from a buffer.
    pub complete: u64,
    /// Messages given up, those included of which no packet arrived.
    pub given_up: u64,
    /// Partial messages among them that were given up by time-out.
    pub timed_out: u64,
    /// Packets ignored.
    pub ignored: u64,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Free,
    Partial { message: u64, length: u32, missing: u32, since: Time },
    Complete { length: u32 },
}

/// The receiving side of one channel.
#[derive(Debug)]
pub struct Reassembly {
    channel: WireChannelId,
    epoch: u32,
    reservation: Reservation,
    states: Box<[State]>,
    /// Partial ones of them. A channel of short messages never has one, and then no packet reads the states.
    partial: usize,
    /// `buffers` times `M_max` bytes.
    payload: Box<[u8]>,
    /// `buffers` times a bit for each packet of the largest message.
    arrived: Box<[u64]>,
    /// Messages below this number are delivered or given up.
    next: u64,
    counts: ReassemblyCounts,
}

impl Reassembly {
    /// Allocates the reservation of a channel; panics if packets have no payload.
    pub fn new(channel: WireChannelId, epoch: u32, reservation: Reservation) -> Self {
        assert!(reservation.sizes.packet > 0, "a packet carries at least one byte");
        let buffers = reservation.buffers as usize;
        Self {
            channel,
            epoch,
            reservation,
            states: vec![State::Free; buffers].into(),
            partial: 0,
            payload: vec![0; buffers * reservation.sizes.message as usize].into(),
            arrived: vec![0; buffers * marks(reservation.sizes)].into(),
            next: 0,
            counts: ReassemblyCounts::default(),
        }
    }

    /// Takes the packet with this decoded header and payload, which arrived at `now` by the local
    /// clock.
    pub fn accept<'p>(
        &mut self,
        now: Time,
        header: &TransportHeader,
        payload: &'p [u8],
    ) -> PacketArrival<'p> {
        let outcome = self.sort(now, header, payload);
        match outcome {
            PacketArrival::Whole(_) => self.counts.whole += 1,
            PacketArrival::Complete(_) => self.counts.complete += 1,
            PacketArrival::Partial => {}
            PacketArrival::Ignored(_) => self.counts.ignored += 1,
        }
        outcome
    }

    /// The bytes of a complete message; panics if the buffer is another channel's.
    pub fn message(&self, buffer: &Buffer) -> &[u8] {
        let State::Complete { length } = self.states[buffer.index] else {
            unreachable!("a buffer is complete")
        };
        let begin = buffer.index * self.reservation.sizes.message as usize;
        &self.payload[begin..begin + length as usize]
    }

    /// Frees the buffer of a message that the program has read; the buffer is this channel's.
    pub fn release(&mut self, buffer: Buffer) {
        self.states[buffer.index] = State::Free;
        drop(buffer);
    }

    /// The local time at which [`handle_timeout`](Self::handle_timeout) is due.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.partial().map(|(_, _, since)| since.saturating_add(self.reservation.timeout)).min()
    }

    /// Gives up messages that are partial for too long, and all older ones.
    pub fn handle_timeout(&mut self, now: Time) {
        let late =
            self.partial().filter(|(_, _, since)| since.saturating_add(self.reservation.timeout) <= now);
        if let Some((_, newest, _)) = late.max_by_key(|(_, message, _)| *message) {
            self.counts.timed_out +=
                self.partial().filter(|(_, message, _)| *message <= newest).count() as u64;
            self.counts.given_up += newest + 1 - self.next;
            self.advance(newest + 1);
        }
    }

    /// Buffers that are not free.
    pub fn in_use(&self) -> usize {
        self.states.iter().filter(|state| !matches!(state, State::Free)).count()
    }

    /// The counters.
    pub fn counts(&self) -> ReassemblyCounts {
        self.counts
    }

    fn sort<'p>(&mut self, now: Time, header: &TransportHeader, payload: &'p [u8]) -> PacketArrival<'p> {
        if header.channel != self.channel {
            return PacketArrival::Ignored(Ignored::Channel);
        }
        if header.epoch != self.epoch {
            return PacketArrival::Ignored(Ignored::Epoch);
        }
        let sizes = self.reservation.sizes;
        let length =
            u32::try_from(header.message_length.get()).ok().filter(|length| *length <= sizes.message);
        let Some(length) = length.filter(|length| sizes.fits(*length, header, payload)) else {
            return PacketArrival::Ignored(Ignored::Sizes);
        };
        // No number follows the last one.
        if header.message < self.next || header.message == u64::MAX {
            return PacketArrival::Ignored(Ignored::Old);
        }
        if header.fragments == 1 {
            if self.partial().any(|(_, message, _)| message == header.message) {
                return PacketArrival::Ignored(Ignored::Sizes);
            }
            self.deliver(header.message);
            return PacketArrival::Whole(payload);
        }
        let known = self.partial().find(|(_, message, _)| *message == header.message);
        let index = match known {
            Some((index, _, _)) => index,
            None => match self.open(now, header, length) {
                Some(index) => index,
                None => return PacketArrival::Ignored(Ignored::NoBuffer),
            },
        };
        self.store(index, header, length, payload)
    }

    /// Copies a payload to its place in the partial message of buffer `index`.
    fn store<'p>(
        &mut self,
        index: usize,
        header: &TransportHeader,
        length: u32,
        payload: &[u8],
    ) -> PacketArrival<'p> {
        let sizes = self.reservation.sizes;
        let State::Partial { length: expected, missing, .. } = &mut self.states[index] else {
            unreachable!("the buffer holds a partial message")
        };
        if *expected != length {
            return PacketArrival::Ignored(Ignored::Sizes);
        }
        let word = &mut self.arrived[index * marks(sizes) + header.fragment as usize / 64];
        let bit = 1u64 << (header.fragment % 64);
        if *word & bit != 0 {
            return PacketArrival::Ignored(Ignored::Duplicate);
        }
        *word |= bit;
        *missing -= 1;
        let done = *missing == 0;
        let begin = index * sizes.message as usize + header.fragment as usize * sizes.packet as usize;
        self.payload[begin..begin + payload.len()].copy_from_slice(payload);
        if !done {
            return PacketArrival::Partial;
        }
        self.states[index] = State::Complete { length };
        self.partial -= 1;
        self.deliver(header.message);
        PacketArrival::Complete(Buffer { index })
    }

    /// A buffer for a message of which the first packet arrived, at the cost of the oldest partial
    /// one if none is free.
    fn open(&mut self, now: Time, header: &TransportHeader, length: u32) -> Option<usize> {
        let free = self.states.iter().position(|state| matches!(state, State::Free));
        let index = match free {
            Some(index) => index,
            None => {
                let (index, oldest, _) = self.partial().min_by_key(|(_, message, _)| *message)?;
                let victim = oldest.min(header.message);
                self.counts.given_up += victim + 1 - self.next;
                self.advance(victim + 1);
                if victim == header.message {
                    return None;
                }
                index
            }
        };
        let marks = marks(self.reservation.sizes);
        self.arrived[index * marks..(index + 1) * marks].fill(0);
        self.states[index] =
            State::Partial { message: header.message, length, missing: header.fragments, since: now };
        self.partial += 1;
        Some(index)
    }

    /// Partial messages: buffer, number, and the arrival of the first packet.
    fn partial(&self) -> impl Iterator<Item = (usize, u64, Time)> + '_ {
        let states = if self.partial == 0 { &[] } else { &self.states[..] };
        states.iter().enumerate().filter_map(|(index, state)| match *state {
            State::Partial { message, since, .. } => Some((index, message, since)),
            State::Free | State::Complete { .. } => None,
        })
    }

    /// `message` is delivered: older ones are given up.
    fn deliver(&mut self, message: u64) {
        self.counts.given_up += message - self.next;
        self.advance(message + 1);
    }

    /// Messages below `next` are over: their buffers are free.
    fn advance(&mut self, next: u64) {
        self.next = next;
        if self.partial == 0 {
            return;
        }
        for state in &mut self.states {
            if matches!(state, State::Partial { message, .. } if *message < next) {
                *state = State::Free;
                self.partial -= 1;
            }
        }
    }
}

/// Words of marks for the packets of one message.
fn marks(sizes: FragmentSizes) -> usize {
    sizes.packets().div_ceil(64) as usize
}
