//! The ring of a receiver, as the engine sees it.

use std::sync::Arc;

use laxity_client::bell::Bell;
use laxity_client::listener::{CAPACITY, DATAGRAM, MESSAGE};
use laxity_client::ring::{RecordProducer, RingRecord};
use laxity_node::{Command, ProgramMessage, Response};
use laxity_signalling::identity::{Port, Program};
use laxity_units::Time;
use laxity_vi::provider::Memory;

use crate::engine::Engine;

/// The ring of a receiver.
pub(crate) struct Inbox {
    pub(crate) program: Program,
    ring: RecordProducer,
    bell: Bell,
    /// A message that the ring has no room for; further ones wait in the node's queue.
    kept: Option<ProgramMessage>,
}

impl Inbox {
    pub(crate) fn new(program: Program, memory: &Arc<Memory>, bell: Bell) -> Self {
        Self { program, ring: RecordProducer::new(memory, 0, CAPACITY), bell, kept: None }
    }

    /// Puts a message into the ring; gives it back if there is no room.
    fn put(&mut self, message: ProgramMessage) -> Option<ProgramMessage> {
        let delay = message.delay.as_ps() / 1000;
        let record = match message.channel {
            Some(channel) => {
                let source = u64::from(channel.node.0) | u64::from(channel.epoch.0) << 32;
                let of = u64::from(channel.local) | u64::from(message.lost) << 32;
                RingRecord { kind: MESSAGE, words: [source, of, delay] }
            }
            None => RingRecord { kind: DATAGRAM, words: [0; 3] },
        };
        (!self.ring.push(record, &message.payload)).then_some(message)
    }
}

impl Engine {
    /// Moves messages from the queues of the node to the rings of programs.
    pub(crate) fn deliver(&mut self, now: Time) {
        let mut ready = std::mem::take(&mut self.full);
        ready.extend(self.node.ready().map(|(port, _)| port));
        ready.sort_unstable();
        ready.dedup();
        for port in ready {
            self.deliver_to(now, port);
        }
    }

    fn deliver_to(&mut self, now: Time, port: Port) {
        let Some(inbox) = self.inboxes.get_mut(&port) else { return };
        if let Some(kept) = inbox.kept.take() {
            inbox.kept = inbox.put(kept);
        }
        while inbox.kept.is_none() {
            let received = self.node.command(now, inbox.program, Command::Receive(port));
            let Ok(Response::Received(message)) = received else { break };
            if let Some(channel) = message.channel {
                self.ledger.delivered(now, channel, &message);
            }
            inbox.kept = inbox.put(message);
        }
        if inbox.kept.is_some() {
            self.full.push(port);
        }
        inbox.bell.ring_if(inbox.ring.armed());
    }
}
