//! The outbox of a program, as the engine sees it.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use laxity_client::bell::Bell;
use laxity_client::outbox::{CAPACITY, DATAGRAM, MESSAGE, OutboxSlot, RING_AT, SLOTS, SlotState};
use laxity_client::ring::{Garbled, RecordConsumer, RingRecord};
use laxity_node::Failure;
use laxity_signalling::contract::ChannelContract;
use laxity_signalling::identity::{GlobalChannelId, NodeId, Owner, Port, Program};
use laxity_units::Time;
use laxity_vi::provider::Memory;

use crate::engine::{Done, Engine};
use crate::exchange::FromEngine;

/// Records of one program that one turn takes, so that none keeps the others waiting.
const RECORDS: usize = 64;

/// A channel in a slot.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) channel: GlobalChannelId,
    pub(crate) contract: ChannelContract,
    /// The name of the receiver.
    pub(crate) name: String,
    slot: OutboxSlot,
}

/// The outbox of a program.
pub(crate) struct Outbox {
    pub(crate) owner: Owner,
    memory: Arc<Memory>,
    ring: RecordConsumer,
    bell: Bell,
    channels: Vec<Place>,
}

/// The contents of a slot.
#[derive(Debug)]
enum Place {
    Free,
    Open(Open),
    /// The channel is over, and the program has not closed it: its handle still reads the slot.
    Over,
}

impl Outbox {
    pub(crate) fn new(owner: Owner, memory: Arc<Memory>, bell: Bell) -> Self {
        let ring = RecordConsumer::new(&memory, RING_AT, CAPACITY);
        Self { owner, memory, ring, bell, channels: Vec::new() }
    }

    pub(crate) fn armed(&self) -> &AtomicU32 {
        self.ring.armed()
    }

    pub(crate) fn is_empty(&mut self) -> bool {
        self.ring.is_empty()
    }

    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    fn pop(&mut self, payload: &mut Vec<u8>) -> Result<Option<RingRecord>, Garbled> {
        self.ring.pop(payload)
    }

    /// Puts a channel into a free slot; `None` if there is none.
    pub(crate) fn open(
        &mut self,
        channel: GlobalChannelId,
        contract: ChannelContract,
        name: String,
    ) -> Option<u32> {
        let is_free = |place: &Place| matches!(place, Place::Free);
        let free = self.channels.iter().position(is_free).unwrap_or(self.channels.len());
        if free >= SLOTS {
            return None;
        }
        let slot = OutboxSlot::of(&self.memory, free as u32)?;
        slot.clear();
        if free == self.channels.len() {
            self.channels.push(Place::Free);
        }
        self.channels[free] = Place::Open(Open { channel, contract, name, slot });
        Some(free as u32)
    }

    pub(crate) fn channel(&self, slot: u32) -> Option<&Open> {
        match self.channels.get(slot as usize)? {
            Place::Open(open) => Some(open),
            Place::Free | Place::Over => None,
        }
    }

    pub(crate) fn set_contract(&mut self, slot: u32, contract: ChannelContract) {
        if let Some(Place::Open(open)) = self.channels.get_mut(slot as usize) {
            open.contract = contract;
        }
    }

    /// The channel of a slot is over, in that state.
    pub(crate) fn end(&mut self, slot: u32, state: SlotState) {
        if let Some(place) = self.channels.get_mut(slot as usize)
            && let Place::Open(open) = std::mem::replace(place, Place::Over)
        {
            open.slot.set_state(state);
        }
    }

    /// The program has closed the channel of a slot; whether the channel is over.
    pub(crate) fn release(&mut self, slot: u32) -> bool {
        let place = self.channels.get_mut(slot as usize);
        let Some(place) = place.filter(|place| matches!(place, Place::Over)) else { return false };
        *place = Place::Free;
        true
    }

    /// The node has transmitted a packet.
    pub(crate) fn transmitted(&self, slot: u32) {
        if let Some(open) = self.channel(slot) {
            open.slot.transmitted().fetch_add(1, Ordering::Release);
        }
    }

    /// Wakes the threads that wait for a change of a slot.
    pub(crate) fn changed(&self, slot: u32) {
        if let Some(open) = self.channel(slot) {
            open.slot.changed();
        }
    }
}

impl Engine {
    /// Takes records of a program.
    pub(crate) fn take_from(&mut self, now: Time, program: Program) -> Done {
        let mut payload = std::mem::take(&mut self.scratch);
        let mut taken = 0;
        while taken < RECORDS {
            let Some(outbox) = self.outboxes.get_mut(&program) else { break };
            match outbox.pop(&mut payload) {
                Ok(None) => break,
                Ok(Some(record)) => self.take(now, program, record, &payload),
                Err(Garbled) => {
                    // Its outbox is read no more; control ends the connection.
                    self.remove(program);
                    self.answer(FromEngine::Hostile(program));
                    break;
                }
            }
            taken += 1;
        }
        self.scratch = payload;
        match taken {
            0 => Done::Nothing,
            RECORDS => Done::Part,
            _ => Done::All,
        }
    }

    fn take(&mut self, now: Time, program: Program, record: RingRecord, payload: &[u8]) {
        let [first, second, _] = record.words;
        match record.kind {
            MESSAGE => self.take_message(now, program, first as u32, payload),
            DATAGRAM => {
                self.node.datagram(now, program, NodeId(first as u32), Port(second as u32), payload);
            }
            _ => {}
        }
    }

    fn take_message(&mut self, now: Time, program: Program, number: u32, payload: &[u8]) {
        let open = self.outboxes.get(&program).and_then(|outbox| outbox.channel(number));
        let Some(open) = open else {
            // The channel ended with messages in the outbox, or the program made the number up.
            self.ledger.strays += 1;
            return;
        };
        let (channel, contract, slot) = (open.channel, open.contract, &open.slot);
        slot.decide_here();
        match self.node.send(now, program, channel, payload) {
            Ok(due) => {
                // The next message is within the contract when its logical arrival is at most a
                // burst ahead.
                let next = due.saturating_sub(contract.deadline).saturating_add(contract.min_interval);
                let ahead = contract.min_interval.saturating_mul(contract.burst.into());
                let room = self.clock.monotonic(next.saturating_sub(ahead));
                slot.room_at().store(room, Ordering::Relaxed);
                let packets = self.ledger.accepted(now, channel, payload.len());
                slot.packets().fetch_add(packets, Ordering::Relaxed);
                slot.accepted().fetch_add(1, Ordering::Release);
            }
            failed => {
                if failed == Err(Failure::Excess) {
                    self.ledger.exceeded(now, channel);
                }
                slot.refused().fetch_add(1, Ordering::Release);
            }
        }
        self.changed.push((program, number));
    }
}
