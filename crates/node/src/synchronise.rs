//! Messages of clock synchronisation between nodes, in the frames of the signalling channels.
//!
//! The synchronisation itself ([`laxity_clock::Synchroniser`]) is the owner's, which has the clock.
//! A node carries the messages, so that no flood delays them by more than a frame at each link.

use laxity_clock::{ClockMessage, MESSAGE_LEN};
use laxity_signalling::identity::NodeId;
use laxity_units::Time;

use crate::counters::DropCause;
use crate::data::MOST_HOPS;
use crate::link::Subject;
use crate::node::Node;

/// The first byte of a record; a signalling message begins with its format, which is 1.
const KIND: u8 = 2;
/// Kind, nodes passed, destination, source.
const HEAD: usize = 1 + 1 + 4 + 4;
/// Bytes of a record.
pub const RECORD: usize = HEAD + MESSAGE_LEN;
/// Messages that wait for the owner.
const WAITING: usize = 64;

/// A record.
#[derive(Debug, Clone, Copy)]
struct Record {
    passed: u8,
    to: NodeId,
    from: NodeId,
    message: [u8; MESSAGE_LEN],
}

impl Record {
    fn encode(&self) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        (bytes[0], bytes[1]) = (KIND, self.passed);
        bytes[2..6].copy_from_slice(&self.to.0.to_be_bytes());
        bytes[6..HEAD].copy_from_slice(&self.from.0.to_be_bytes());
        bytes[HEAD..].copy_from_slice(&self.message);
        bytes
    }

    fn decode(bytes: &[u8; RECORD]) -> Self {
        let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let mut message = [0; MESSAGE_LEN];
        message.copy_from_slice(&bytes[HEAD..]);
        Self { passed: bytes[1], to: NodeId(word(2)), from: NodeId(word(6)), message }
    }
}

/// The record at the beginning of the payload of a signalling frame, and the rest.
pub fn split_clock(payload: &[u8]) -> Option<(&[u8; RECORD], &[u8])> {
    payload.split_first_chunk::<RECORD>().filter(|(record, _)| record[0] == KIND)
}

impl Node {
    /// Sends a message of clock synchronisation to a node, over the routes of datagrams and in the
    /// frames of signalling. Without a route it is dropped and counted.
    pub fn send_clock(&mut self, now: Time, to: NodeId, message: &ClockMessage) {
        let now = self.time(now);
        let record = Record { passed: 0, to, from: self.config.node, message: message.encode() };
        self.pass_clock(now, &record);
    }

    /// The next message of clock synchronisation for this node, and the node that sent it.
    pub fn poll_clock(&mut self) -> Option<(NodeId, ClockMessage)> {
        self.clocks.pop_front()
    }

    /// A record arrived.
    pub(crate) fn on_clock(&mut self, now: Time, record: &[u8; RECORD]) {
        let record = Record::decode(record);
        if record.to != self.config.node {
            let record = Record { passed: record.passed.saturating_add(1), ..record };
            return self.pass_clock(now, &record);
        }
        match ClockMessage::decode(&record.message) {
            Ok(message) if self.clocks.len() < WAITING => self.clocks.push_back((record.from, message)),
            Ok(_) => self.counters.drop(DropCause::Buffers),
            Err(_) => self.counters.drop(DropCause::Malformed),
        }
    }

    fn pass_clock(&mut self, now: Time, record: &Record) {
        let next = self.config.routes.get(&record.to).copied();
        match next.filter(|_| u64::from(record.passed) < MOST_HOPS) {
            Some(next) => {
                let request =
                    matches!(ClockMessage::decode(&record.message), Ok(ClockMessage::Request { .. }));
                let subject = Subject::Clock { from: record.from, to: record.to, request };
                self.signal(now, next, (subject, &record.encode()));
            }
            None => self.counters.drop(DropCause::Route),
        }
    }
}
