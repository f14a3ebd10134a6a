//! Packets of channels and datagrams: sending and relaying.

use laxity_qos::discipline::Class;
use laxity_signalling::identity::{GlobalChannelId, NodeId, Port, Program, Version};
use laxity_transport::{Sender, Timing, TransportHeader};
use laxity_units::{Span, Time};

use crate::command::Failure;
use crate::config::NodeConfig;
use crate::counters::DropCause;
use crate::faults::NodeFault;
use crate::flow::{Key, apart, key, number, wire};
use crate::frame::{encoded, one_packet};
use crate::link::{Frame, Kind};
use crate::node::{DATAGRAM, Node};
use crate::timers::Due;

/// Nodes that a datagram, or a record of clocks, passes at most.
pub(crate) const MOST_HOPS: u64 = 32;
/// Bytes of destination and queue in front of a datagram.
pub const ADDRESS: usize = 8;

/// A channel that begins here.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) program: Program,
    /// The contract in use; `None` before establishment.
    used: Option<Version>,
    /// Number of the next message.
    message: u32,
    /// When the last message has passed the nodes that send, at the latest: its logical arrival with
    /// their local deadlines added.
    passed: Time,
    /// The same of the contracts before, as the slowest clocks count.
    before: Time,
}

impl Source {
    pub(crate) fn new(program: Program) -> Self {
        Self { program, used: None, message: 0, passed: Time::ZERO, before: Time::ZERO }
    }
}

impl Node {
    /// The contract `version` is in use from the next message on.
    pub(crate) fn promised(&mut self, channel: GlobalChannelId, version: Version) {
        let restart = self.broken(NodeFault::NumbersRestart) && version != Version::FIRST;
        if let Some(source) = self.sources.get_mut(&channel) {
            let before = source.used.and_then(|before| self.flows.get(&(channel, before)));
            let slack = before.map(|flow| {
                let waits = flow.next.saturating_since(flow.conforming);
                apart(self.config.drift, flow.contract.drain().saturating_add(waits))
            });
            source.before = source.before.max(source.passed.saturating_add(slack.unwrap_or_default()));
            source.used = Some(version);
            if restart {
                source.message = 0;
            }
        }
    }

    /// How much later than by the contract in use alone the next message of a channel is due.
    ///
    /// A program that sends all that a contract admits may keep its messages so much behind, from one
    /// change of contract to the next. Each message sent leaves the difference as it is, and time
    /// shortens it.
    pub(crate) fn waits(&self, now: Time, channel: GlobalChannelId) -> Span {
        let source = self.sources.get(&channel);
        let flow = source.and_then(|source| self.flows.get(&(channel, source.used?)));
        let (Some(source), Some(flow)) = (source, flow) else { return Span::ZERO };
        flow.next.max(flow.behind(source.before)).saturating_since(flow.conforming.max(now))
    }

    /// Polices a message, cuts it and queues its packets. The message is delivered by the returned
    /// time.
    ///
    /// # Across a change
    /// A message conforms to the contract that is in use when it is sent, so that no message is in
    /// excess for a message of the contract before. Both contracts are reserved meanwhile.
    ///
    /// A channel delivers in order, and a message of the new contract may overtake one of the old
    /// contract. The destination holds it back until its end-to-end bound at the latest, by `rest`
    /// after the time at which the last link is due to deliver it. So the old message has to be there
    /// by then: with `ℓ'` and `T' = Σ d'` of the old one, `T` and `rest` of the new one
    ///
    /// ```text
    /// ℓ' + T' + apart ≤ ℓ + T + rest
    /// ```
    ///
    /// The propagation delays are the same on both sides. Where the new deadline is as long as the
    /// old one, `T + rest ≥ T'` up to what the old one left, and the rule delays no message that is
    /// not ahead of its time. Where the new deadline is shorter, the message is due with the old one,
    /// as every order-preserving channel would have it, and waits here for the difference. The
    /// difference is below `B' I' + D'`, and what messages of the old contract waited in turn
    /// ([`waits`](Self::waits)); by that the reservation has room for more messages
    /// ([`waits`](crate::flow::waits)), and the old contract lasts longer.
    ///
    /// # Within a node
    /// The message is not cut: it waits for its logical arrival, and then for the messages before it.
    /// With `T = 0` the rule above has it delivered by `ℓ + rest`, where `rest` is `D` without the time
    /// of the host.
    pub(crate) fn send(
        &mut self,
        now: Time,
        program: Program,
        channel: GlobalChannelId,
        payload: &[u8],
    ) -> Result<Time, Failure> {
        let unfit = Failure::Unfit(laxity_signalling::event::Unfit::NotHeld);
        let unpoliced = self.broken(NodeFault::ContractNotPoliced);
        let (whole, cut) =
            (self.broken(NodeFault::LocalDeadlineIgnored), self.broken(NodeFault::LastPacketLost));
        let source = self.sources.get_mut(&channel).filter(|source| source.program == program);
        let source = source.ok_or(Failure::NotYours)?;
        let version = source.used.ok_or(unfit)?;
        let flow = self.flows.get_mut(&(channel, version)).ok_or(unfit)?;
        let deadline = flow.deadline.ok_or(unfit)?;
        let link = flow.place.to.map(|to| self.links.get_mut(&to).ok_or(unfit)).transpose()?;
        let length = u32::try_from(payload.len()).ok().filter(|length| *length <= flow.sizes.message);
        let length = length.ok_or(Failure::TooLong)?;
        if u64::from(length) < flow.contract.min_message.get() {
            return Err(Failure::TooLong);
        }
        let conforming = flow.conforming.max(now);
        let behind = flow.behind(source.before);
        let at = if unpoliced { now } else { conforming.max(flow.next).max(behind) };
        let packets = u64::from(flow.sizes.packets_of(length));
        let ahead = flow.contract.min_interval.saturating_mul(flow.contract.burst.into());
        let next = source.message.checked_add(1).ok_or(Failure::NoRoom)?;
        let excess = conforming > now.saturating_add(ahead) || flow.waiting + packets > flow.most;
        if excess && !unpoliced {
            self.counters.excess += 1;
            return Err(Failure::Excess);
        }
        let due = at.saturating_add(flow.contract.deadline);
        flow.next = at.saturating_add(flow.contract.min_interval);
        flow.conforming = conforming.saturating_add(flow.contract.min_interval);
        source.passed = source.passed.max(at.saturating_add(flow.total));
        let of_channel = std::mem::replace(&mut source.message, next);
        flow.waiting += packets;
        let Some(link) = link else {
            self.keep_message(now, channel, (version, of_channel), at, payload);
            return Ok(due);
        };
        let message = number(version, of_channel);
        let mut sender = Sender::new(wire(channel), channel.epoch.0, Class::RealTime, flow.sizes);
        let fragments = sender.send(payload, Timing::Remaining(deadline)).map_err(|_| Failure::TooLong)?;
        let within = if whole { flow.contract.deadline } else { deadline };
        for fragment in fragments {
            if cut && packets > 1 && fragment.header.fragment + 1 == fragment.header.fragments {
                continue;
            }
            let bytes = encoded(&TransportHeader { message, ..fragment.header }, &[fragment.payload]);
            let frame = Frame { kind: Kind::Packet((channel, version)), bytes, age: (Span::ZERO, at) };
            link.promise(now, at, within, frame);
        }
        Ok(due)
    }

    /// A packet of a channel that `arrived` from `from` is handled.
    pub(crate) fn on_packet(
        &mut self,
        (now, arrived): (Time, Time),
        from: NodeId,
        header: &TransportHeader,
        payload: &[u8],
        frame: &[u8],
    ) {
        let of = key(header);
        let Some(flow) = self.flows.get_mut(&of).filter(|flow| flow.place.from == Some(from)) else {
            return self.counters.drop(DropCause::Unknown);
        };
        if flow.deadline.is_none() {
            return self.counters.drop(DropCause::Unknown);
        }
        let Timing::Remaining(left) = header.timing else {
            return self.counters.drop(DropCause::Contract);
        };
        if left > flow.contract.deadline || header.class != Class::RealTime {
            return self.counters.drop(DropCause::Contract);
        }
        let due = arrived.saturating_add(left);
        match flow.place.to {
            None => {
                let (taken, terms) = (flow.take(now, header, payload), (flow.rest, flow.contract.deadline));
                let until = flow.partial_until();
                self.timers.set(&mut flow.armed, until, Due::Partial(of));
                match taken {
                    Ok(Some(message)) => self.on_message(now, of, header, (message, due), terms),
                    Ok(None) => {}
                    Err(_) if self.broken(NodeFault::DuplicateDelivered) => self.repeat(of, header, payload),
                    Err(cause) => self.counters.drop(cause),
                }
            }
            Some(to) => self.relay(now, (of, to), header, payload, frame, due),
        }
    }

    /// Regulates a packet by the arrivals of its channel and queues it for the next link.
    fn relay(
        &mut self,
        now: Time,
        (of, to): (Key, NodeId),
        header: &TransportHeader,
        payload: &[u8],
        frame: &[u8],
        due: Time,
    ) {
        let whole = self.broken(NodeFault::LocalDeadlineIgnored);
        let late = self.broken(NodeFault::LatePacketUnregulated);
        let unregulated = self.broken(NodeFault::RegulatorMissing);
        let (Some(flow), Some(link)) = (self.flows.get_mut(&of), self.links.get_mut(&to)) else { return };
        let Some(deadline) = flow.deadline else { return };
        let position = (header.message, header.fragment);
        if flow.last.is_some_and(|(message, fragment, _)| position <= (message, fragment)) {
            return self.counters.drop(DropCause::Old);
        }
        let length = header.message_length;
        let fits = length >= flow.contract.min_message
            && length <= flow.contract.max_message
            && flow.sizes.fits(length.get() as u32, header, payload);
        // A packet that is later than others of its message counts from its arrival too.
        let at = match flow.last {
            Some((message, _, at)) if message == header.message && late => at,
            Some((message, _, at)) if message == header.message => at.max(due),
            _ if unregulated => due,
            _ => due.max(flow.next),
        };
        if !fits {
            return self.counters.drop(DropCause::Contract);
        }
        if at > now.saturating_add(flow.contract.deadline) {
            return self.counters.drop(DropCause::Behind);
        }
        if flow.waiting >= flow.most {
            return self.counters.drop(DropCause::Buffers);
        }
        flow.next = at.saturating_add(flow.contract.min_interval);
        flow.last = Some((header.message, header.fragment, at));
        flow.waiting += 1;
        let within = if whole { flow.contract.deadline } else { deadline };
        let age = (header.age, now);
        link.promise(now, at, within, Frame { kind: Kind::Packet(of), bytes: frame.to_vec(), age });
    }

    /// The destination and the queue of a frame that is a datagram, for observers of links.
    pub fn address(header: &TransportHeader, payload: &[u8]) -> Option<(NodeId, Port)> {
        if header.channel.local != DATAGRAM {
            return None;
        }
        let (address, _) = payload.split_first_chunk::<ADDRESS>()?;
        let [to, port] = words(address);
        Some((NodeId(to), Port(port)))
    }

    /// Sends a datagram.
    pub(crate) fn datagram(
        &mut self,
        now: Time,
        to: NodeId,
        port: Port,
        payload: &[u8],
    ) -> Result<(), Failure> {
        if payload.len() + ADDRESS > self.config.packet as usize {
            return Err(Failure::TooLong);
        }
        if to == self.config.node {
            return if self.keep_datagram(port, payload) { Ok(()) } else { Err(Failure::NoRoom) };
        }
        let forwarded = self.forward(now, to, |config| {
            let parts = [&to.0.to_be_bytes()[..], &port.0.to_be_bytes(), payload];
            one_packet(config, DATAGRAM, Class::BestEffort, &parts)
        });
        forwarded.map_err(|cause| {
            self.counters.drop(cause);
            Failure::NoRoom
        })
    }

    /// Queues a datagram for the next link, if there is room: it is made then.
    fn forward(
        &mut self,
        now: Time,
        to: NodeId,
        bytes: impl FnOnce(&NodeConfig) -> Vec<u8>,
    ) -> Result<(), DropCause> {
        let (first, most) = (self.broken(NodeFault::BestEffortFirst), self.config.datagrams);
        let next = self.config.routes.get(&to).ok_or(DropCause::Route)?;
        let link = self.links.get_mut(next).ok_or(DropCause::Route)?;
        if link.datagrams >= most {
            return Err(DropCause::BestEffort);
        }
        link.datagrams += 1;
        let frame = Frame { kind: Kind::Datagram, bytes: bytes(&self.config), age: (Span::ZERO, now) };
        if first {
            link.first.push_back(frame);
        } else {
            link.offer(now, frame);
        }
        Ok(())
    }

    /// A datagram arrived: it is for a program here, or goes on.
    pub(crate) fn on_datagram(&mut self, now: Time, header: &TransportHeader, payload: &[u8]) {
        let Some((address, body)) = payload.split_first_chunk::<ADDRESS>() else {
            return self.counters.drop(DropCause::Malformed);
        };
        let [to, port] = words(address);
        let (to, port) = (NodeId(to), Port(port));
        // A longer frame would block channels for longer than admission counts.
        let fits = payload.len() <= self.config.packet as usize && header.fragments == 1;
        if header.class != Class::BestEffort || !fits {
            return self.counters.drop(DropCause::Malformed);
        }
        if to == self.config.node {
            self.keep_datagram(port, body);
            return;
        }
        if header.message >= MOST_HOPS {
            return self.counters.drop(DropCause::Route);
        }
        let onward =
            TransportHeader { message: header.message + 1, timing: Timing::None, tag: None, ..*header };
        if let Err(cause) = self.forward(now, to, |_| encoded(&onward, &[payload])) {
            self.counters.drop(cause);
        }
    }
}

/// The two numbers in front of a datagram.
fn words(address: &[u8; ADDRESS]) -> [u32; 2] {
    let word =
        |at: usize| u32::from_be_bytes([address[at], address[at + 1], address[at + 2], address[at + 3]]);
    [word(0), word(4)]
}
