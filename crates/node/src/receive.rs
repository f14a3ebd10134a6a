//! Messages at their destination: order, and the queues of programs.

use std::collections::BTreeMap;

use laxity_signalling::contract::ChannelContract;
use laxity_signalling::identity::{GlobalChannelId, Port, Program, Version};
use laxity_transport::TransportHeader;
use laxity_units::{Span, Time};

use crate::command::{Failure, ProgramMessage, Response};
use crate::counters::DropCause;
use crate::faults::NodeFault;
use crate::flow::{Key, messages};
use crate::node::Node;
use crate::queue::Queue;
use crate::timers::Due;

/// The end of a channel.
///
/// A complete message waits here for the messages before it, until it is due at the latest: all of
/// them are due before. Messages of a new contract may overtake those of the old one on the way, by
/// more than the hops leave. So as long as the old contract is held, they may wait until their
/// end-to-end bound.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) port: Port,
    /// The next message.
    expected: u32,
    /// Messages that did not arrive, until the program has another one.
    lost: u32,
    /// Complete messages.
    held: BTreeMap<u32, Held>,
    /// The most of them, by contract.
    most: BTreeMap<Version, u64>,
    /// The timer of the held messages.
    pub(crate) armed: Option<Time>,
}

/// A complete message.
#[derive(Debug)]
struct Held {
    /// When it waits for no message before it any more.
    due: Time,
    payload: Vec<u8>,
    /// Its age when its last packet arrived, and when that was.
    age: (Span, Time),
    /// [`ProgramMessage::bound`].
    bound: Span,
    /// In a channel within the node: the contract under which it was sent. The message then is due at
    /// its logical arrival, and no earlier one is missing.
    within: Option<Version>,
}

impl Receiver {
    pub(crate) fn new(port: Port) -> Self {
        Self { port, expected: 0, lost: 0, held: BTreeMap::new(), most: BTreeMap::new(), armed: None }
    }

    pub(crate) fn resize(&mut self, version: Version, contract: &ChannelContract) {
        self.most.insert(version, messages(contract, Span::ZERO));
        while self.most.len() > 2 {
            self.most.pop_first();
        }
    }
}

impl Node {
    /// A packet completed a message at its destination, which is due at `due`. The terms of the contract
    /// are what its deadline leaves, and the deadline.
    pub(crate) fn on_message(
        &mut self,
        now: Time,
        of: Key,
        header: &TransportHeader,
        (payload, due): (Vec<u8>, Time),
        (rest, bound): (Span, Span),
    ) {
        let unordered = self.broken(NodeFault::OrderIgnored);
        let number = header.message as u32;
        let Some(receiver) = self.receivers.get_mut(&of.0) else { return };
        if number < receiver.expected {
            return self.counters.drop(DropCause::Old);
        }
        // There is no contract before the first one.
        let before = (of.0, Version::FIRST)..of;
        let changing = of.1 > Version::FIRST && self.flows.range(before).next().is_some();
        let rest = if changing { rest } else { Span::ZERO };
        let (due, age) = (due.saturating_add(rest), (header.age, now));
        let held = Held { due, payload, age, bound, within: None };
        if number == receiver.expected && receiver.held.is_empty() && !unordered {
            receiver.expected = number.saturating_add(1);
            let (port, lost) = (receiver.port, std::mem::take(&mut receiver.lost));
            return self.put(now, of.0, (port, lost), (number, held));
        }
        if receiver.held.len() as u64 >= receiver.most.values().sum::<u64>() {
            return self.counters.drop(DropCause::Buffers);
        }
        receiver.held.insert(number, held);
        self.deliver(now, of.0);
    }

    /// With a fault: delivers a packet that arrived before once more.
    pub(crate) fn repeat(&mut self, of: Key, header: &TransportHeader, payload: &[u8]) {
        let (Some(receiver), Some(flow)) = (self.receivers.get(&of.0), self.flows.get(&of)) else { return };
        if header.fragments > 1 {
            return self.counters.drop(DropCause::Old);
        }
        let (channel, number, payload) = (Some(of.0), header.message as u32, payload.to_vec());
        let (delay, bound) = (header.age, flow.contract.deadline);
        let message = ProgramMessage { channel, number, payload, delay, bound, lost: 0 };
        self.queues.entry(receiver.port).or_default().push(message);
    }

    /// A message of a channel within the node waits for its logical arrival `at`.
    pub(crate) fn keep_message(
        &mut self,
        now: Time,
        channel: GlobalChannelId,
        (version, number): (Version, u32),
        at: Time,
        payload: &[u8],
    ) {
        let due = if self.broken(NodeFault::DeliveredEarly) { now } else { at };
        let flow = self.flows.get(&(channel, version));
        let (Some(receiver), Some(flow)) = (self.receivers.get_mut(&channel), flow) else { return };
        let (age, bound, within) = ((Span::ZERO, at), flow.contract.deadline, Some(version));
        receiver.held.insert(number, Held { due, payload: payload.to_vec(), age, bound, within });
        self.deliver(now, channel);
    }

    /// Puts the messages that are next, or due, into the queue of the program.
    pub(crate) fn deliver(&mut self, now: Time, channel: GlobalChannelId) {
        let unordered = self.broken(NodeFault::OrderIgnored);
        while let Some(receiver) = self.receivers.get_mut(&channel) {
            let is_due = |held: &Held| held.due <= now;
            let first = receiver.held.values().next();
            let within = first.is_some_and(|held| held.within.is_some());
            // All messages before one that is due are given up or delivered. Within a node each waits
            // for its own time, and for those before.
            let due = if within { first.is_some_and(is_due) } else { receiver.held.values().any(is_due) };
            let next = receiver.held.first_entry().filter(|first| {
                let number = *first.key();
                due || !within && (number == receiver.expected || unordered)
            });
            let Some(next) = next else {
                let mut dues = receiver.held.values().map(|held| held.due);
                let next = if within { dues.next() } else { dues.min() };
                return self.timers.set(&mut receiver.armed, next, Due::Deliver(channel));
            };
            let (number, held) = next.remove_entry();
            let lost = receiver.lost.saturating_add(number.saturating_sub(receiver.expected));
            receiver.lost = 0;
            receiver.expected = if unordered { 0 } else { number.saturating_add(1) };
            let port = receiver.port;
            let flow = held.within.and_then(|version| self.flows.get_mut(&(channel, version)));
            if let Some(flow) = flow {
                let packets = flow.sizes.packets_of(held.payload.len() as u32);
                flow.waiting = flow.waiting.saturating_sub(packets.into());
                flow.left = flow.left.max(Some(held.age.1));
            }
            self.put(now, channel, (port, lost), (number, held));
        }
    }

    /// Puts a message, before which `lost` ones did not arrive, into the queue of the program.
    fn put(
        &mut self,
        now: Time,
        channel: GlobalChannelId,
        (port, lost): (Port, u32),
        (number, held): (u32, Held),
    ) {
        let waiting = self.queues.get(&port).map_or(0, Queue::of_channels);
        if waiting as u64 >= self.config.places {
            if let Some(receiver) = self.receivers.get_mut(&channel) {
                receiver.lost = lost;
            }
            return self.counters.drop(DropCause::ReceiveQueue);
        }
        let (age, arrived) = held.age;
        let delay = age.saturating_add(now.saturating_since(arrived));
        let Held { payload, bound, .. } = held;
        let message = ProgramMessage { channel: Some(channel), number, payload, delay, bound, lost };
        self.queues.entry(port).or_default().push(message);
        self.counters.delivered += 1;
    }

    /// Puts a datagram into the queue of the program; whether there was room.
    pub(crate) fn keep_datagram(&mut self, port: Port, body: &[u8]) -> bool {
        let listens = self.listeners.contains_key(&port);
        let queue = self.queues.entry(port).or_default();
        let fits = listens && queue.datagrams() < self.config.datagrams;
        if fits {
            let (payload, delay, bound) = (body.to_vec(), Span::ZERO, Span::ZERO);
            queue.push(ProgramMessage { channel: None, number: 0, payload, delay, bound, lost: 0 });
        } else {
            self.counters.drop(DropCause::BestEffort);
        }
        if queue.is_empty() {
            self.queues.remove(&port);
        }
        fits
    }

    /// Closes a channel for the program that opened it, or for its receiver.
    pub(crate) fn close(
        &mut self,
        now: Time,
        program: Program,
        channel: GlobalChannelId,
    ) -> Result<(), Failure> {
        let listener = self.receivers.get(&channel).and_then(|of| self.listeners.get(&of.port));
        let closed = match self.check(program, channel) {
            Ok(()) => self.manager.close(now, channel),
            Err(_) if listener == Some(&program) => self.manager.leave(now, channel),
            Err(why) => return Err(why),
        };
        closed.map_err(Failure::Unfit)
    }

    pub(crate) fn listen(&mut self, program: Program, port: Port) -> Result<Response, Failure> {
        match self.listeners.get(&port) {
            Some(other) if *other != program => Err(Failure::NotYours),
            Some(_) => Ok(Response::Done),
            None if self.listeners.len() >= self.config.settings.entries => Err(Failure::TooMany),
            None => {
                self.listeners.insert(port, program);
                Ok(Response::Done)
            }
        }
    }

    pub(crate) fn unlisten(&mut self, now: Time, program: Program, port: Port) -> Result<Response, Failure> {
        if self.listeners.get(&port) != Some(&program) {
            return Err(Failure::NotYours);
        }
        let ends =
            |(channel, receiver): (&GlobalChannelId, &Receiver)| (receiver.port == port).then_some(*channel);
        let channels: Vec<GlobalChannelId> = self.receivers.iter().filter_map(ends).collect();
        for channel in channels {
            // A channel that is being closed already stays in that state.
            let _ = self.manager.leave(now, channel);
        }
        self.listeners.remove(&port);
        self.queues.remove(&port);
        Ok(Response::Done)
    }

    pub(crate) fn receive(&mut self, program: Program, port: Port) -> Result<Response, Failure> {
        if self.listeners.get(&port) != Some(&program) {
            return Err(Failure::NotYours);
        }
        let keeps = self.broken(NodeFault::ReceiveKeeps);
        let Some(queue) = self.queues.get_mut(&port) else { return Ok(Response::Empty) };
        let first = if keeps { queue.first().cloned() } else { queue.pop() };
        if queue.is_empty() {
            self.queues.remove(&port);
        }
        Ok(first.map_or(Response::Empty, Response::Received))
    }
}
