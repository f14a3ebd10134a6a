//! The requests of control, and what the node says.

use laxity_client::outbox::SlotState;
use laxity_client::protocol::{Direction, Row};
use laxity_node::{Command, Failure, Response};
use laxity_signalling::HeldContract;
use laxity_signalling::contract::ChannelContract;
use laxity_signalling::event::SourceEvent;
use laxity_signalling::identity::{GlobalChannelId, NodeId, Port, Program};
use laxity_units::{Bytes, Span, Time};

use crate::engine::{Engine, Waiting};
use crate::exchange::{EngineStatus, FromEngine, Outcome, RequestId, ToEngine, name};
use crate::inbox::Inbox;
use crate::outbox::Outbox;

/// Rows of a status, so that its making is a matter of microseconds.
const ROWS: usize = 128;
/// Owners in a status.
const OWNERS: usize = 64;
/// Stops in a status.
const STALLS: usize = 32;

impl Engine {
    pub(crate) fn serve(&mut self, now: Time, request: ToEngine) {
        match request {
            ToEngine::Attach { program, owner, outbox, bell } => {
                let outbox = Outbox::new(owner, outbox, bell);
                self.attach(program, outbox);
            }
            ToEngine::Detach(program) => self.detach(now, program),
            ToEngine::Listen { program, port, inbox, bell } => {
                if self.node.command(now, program, Command::Listen(port)).is_ok() {
                    self.inboxes.insert(port, Inbox::new(program, &inbox, bell));
                }
            }
            ToEngine::Unlisten(program, port) => self.unlisten(now, program, port),
            ToEngine::Open { request, program, port, name, contract, route } => {
                let Some(owner) = self.outboxes.get(&program).map(|outbox| outbox.owner) else {
                    return self.done(request, Outcome::Unknown);
                };
                let command = Command::Open { owner, port, contract, route };
                match self.node.command(now, program, command) {
                    Ok(Response::Opening(channel)) => {
                        self.waiting.insert(channel, Waiting::Open(request, program, name));
                    }
                    Ok(_) => self.done(request, Outcome::Unknown),
                    Err(failure) => self.done(request, Outcome::Failed(failure)),
                }
            }
            ToEngine::Change(request, program, slot, contract) => {
                let command = |channel| Command::Change(channel, contract);
                let change = |request| Waiting::Change(request, false);
                self.of_slot(now, request, (program, slot), command, change);
            }
            ToEngine::Close(request, program, slot) => {
                if self.outboxes.get_mut(&program).is_some_and(|outbox| outbox.release(slot)) {
                    return self.done(request, Outcome::Done);
                }
                let close = |request| Waiting::Close(request, Some((program, slot)));
                self.of_slot(now, request, (program, slot), Command::Close, close);
            }
            ToEngine::Delete(request, channel) => {
                let Some((program, slot)) = self.ledger.slot(channel) else {
                    return self.done(request, Outcome::Unknown);
                };
                let close = |request| Waiting::Close(request, None);
                self.of_slot(now, request, (program, slot), Command::Close, close);
            }
            ToEngine::Renegotiate(request, channel, contract) => {
                let Some((program, slot)) = self.ledger.slot(channel) else {
                    return self.done(request, Outcome::Unknown);
                };
                let command = |channel| Command::Change(channel, contract);
                let change = |request| Waiting::Change(request, true);
                self.of_slot(now, request, (program, slot), command, change);
            }
            ToEngine::Status(request, from) => {
                let status = Box::new(self.status(from));
                self.done(request, Outcome::Status(status));
            }
            ToEngine::Keys { peer, number, own, theirs } => {
                if let Some(wire) = self.wire(peer) {
                    wire.set_keys(number, &own, &theirs);
                }
            }
            ToEngine::Idle(idle) => self.idle = idle,
            ToEngine::Clock(peer, crossing) => {
                if let Some(wire) = self.wire(peer) {
                    wire.crossing = crossing;
                }
            }
            ToEngine::Quotas(quotas) => self.node.set_quotas(quotas),
            ToEngine::Routes(routes) => self.node.set_routes(routes),
            ToEngine::Stop => self.stop(),
        }
    }

    fn done(&mut self, request: RequestId, outcome: Outcome) {
        self.answer(FromEngine::Outcome(request, outcome));
    }

    /// A command about the channel of a slot, with an outcome that the node notifies of later.
    fn of_slot(
        &mut self,
        now: Time,
        request: RequestId,
        (program, slot): (Program, u32),
        command: impl FnOnce(GlobalChannelId) -> Command,
        waiting: impl FnOnce(RequestId) -> Waiting,
    ) {
        let open = self.outboxes.get(&program).and_then(|outbox| outbox.channel(slot));
        let Some(channel) = open.map(|open| open.channel) else {
            return self.done(request, Outcome::Unknown);
        };
        if self.waiting.contains_key(&channel) {
            let busy = Failure::Unfit(laxity_signalling::event::Unfit::Busy);
            return self.done(request, Outcome::Failed(busy));
        }
        match self.node.command(now, program, command(channel)) {
            Ok(_) => drop(self.waiting.insert(channel, waiting(request))),
            Err(failure) => self.done(request, Outcome::Failed(failure)),
        }
    }

    /// A program is gone: its channels are closed, and those to its receivers.
    fn detach(&mut self, now: Time, program: Program) {
        self.remove(program);
        let mut channels = self.ledger.vacate(program);
        let opening = self
            .waiting
            .iter()
            .filter(|(_, waiting)| matches!(waiting, Waiting::Open(_, of, _) if *of == program));
        channels.extend(opening.map(|(channel, _)| *channel));
        for channel in channels {
            let _ = self.node.command(now, program, Command::Close(channel));
        }
        let ports: Vec<Port> = self
            .inboxes
            .iter()
            .filter(|(_, inbox)| inbox.program == program)
            .map(|(port, _)| *port)
            .collect();
        for port in ports {
            self.unlisten(now, program, port);
        }
    }

    fn unlisten(&mut self, now: Time, program: Program, port: Port) {
        if self.inboxes.get(&port).is_some_and(|inbox| inbox.program == program) {
            self.inboxes.remove(&port);
            let _ = self.node.command(now, program, Command::Unlisten(port));
        }
    }

    /// Takes the notifications of the node.
    pub(crate) fn hear_node(&mut self) {
        while let Some(answer) = self.node.poll_answer() {
            self.hear(answer.program, answer.event);
        }
    }

    fn hear(&mut self, program: Option<Program>, event: SourceEvent) {
        match event {
            SourceEvent::Established { channel, .. } => self.established(channel),
            SourceEvent::Refused { channel, refused } => self.finish(channel, Outcome::Refused(refused)),
            SourceEvent::Changed { channel, version, .. } => {
                let held = self.node.manager().held_of(channel).find(|held| held.version == version);
                let slot = self.ledger.slot(channel);
                if let (Some(held), Some((program, slot))) = (held, slot)
                    && let Some(outbox) = self.outboxes.get_mut(&program)
                {
                    outbox.set_contract(slot, held.contract);
                    if matches!(self.waiting.get(&channel), Some(Waiting::Change(_, true))) {
                        self.answer(FromEngine::Changed(program, slot, channel, held.contract));
                    }
                }
                self.finish(channel, Outcome::Done);
            }
            SourceEvent::ChangeRefused { channel, refused, .. } => {
                self.finish(channel, Outcome::Refused(refused));
            }
            SourceEvent::Closed { channel, .. } => {
                self.forget(channel, SlotState::Ended);
                self.finish(channel, Outcome::Done);
            }
            SourceEvent::Lost { channel, left } => {
                let state = if left { SlotState::Ended } else { SlotState::Broken };
                if let Some((program, slot)) = self.forget(channel, state) {
                    self.answer(FromEngine::Lost(program, slot));
                }
                self.finish(channel, Outcome::Unknown);
            }
            SourceEvent::Opened { channel, port } => {
                self.ledger.opened(self.clock.now(), channel);
                if let Some(program) = program {
                    self.answer(FromEngine::Connected(program, port, channel));
                }
            }
            SourceEvent::Ended { channel } => {
                let _ = self.ledger.closed(channel);
                if let Some(program) = program {
                    self.answer(FromEngine::Ended(program, channel));
                }
            }
        }
    }

    fn established(&mut self, channel: GlobalChannelId) {
        let Some(Waiting::Open(request, program, name)) = self.waiting.remove(&channel) else { return };
        let contract = self.node.manager().held_of(channel).next().map(|held| held.contract);
        let slot = match (self.outboxes.get_mut(&program), contract) {
            (Some(outbox), Some(contract)) => outbox.open(channel, contract, name),
            _ => None,
        };
        let Some(slot) = slot else {
            // The program is gone, or has as many channels as it may.
            let now = self.clock.now();
            let _ = self.node.command(now, program, Command::Close(channel));
            return self.done(request, Outcome::Failed(Failure::TooMany));
        };
        self.ledger.begun(self.clock.now(), channel, (program, slot));
        self.done(request, Outcome::Opened(slot, channel));
    }

    fn forget(&mut self, channel: GlobalChannelId, state: SlotState) -> Option<(Program, u32)> {
        let (program, slot) = self.ledger.closed(channel)?;
        if let Some(outbox) = self.outboxes.get_mut(&program) {
            outbox.end(slot, state);
        }
        Some((program, slot))
    }

    /// The outcome of what a program asked for a channel.
    fn finish(&mut self, channel: GlobalChannelId, outcome: Outcome) {
        match self.waiting.remove(&channel) {
            Some(Waiting::Open(request, ..) | Waiting::Change(request, _)) => self.done(request, outcome),
            Some(Waiting::Close(request, of)) => {
                // However it ended, the channel is over and its slot is free.
                if let Some((program, slot)) = of
                    && let Some(outbox) = self.outboxes.get_mut(&program)
                {
                    outbox.release(slot);
                }
                self.done(request, Outcome::Done);
            }
            None => {}
        }
    }

    fn status(&mut self, from: u32) -> EngineStatus {
        let own = self.node.manager().node();
        let manager = self.node.manager();
        let held: Vec<HeldContract> = manager.held().skip(from as usize).take(ROWS).collect();
        let rows = held.iter().map(|held| self.row(own, held)).collect();
        let reserved = self.wires.iter().map(|wire| (wire.peer, self.node.reserved(wire.peer))).collect();
        let quotas = manager.quotas();
        let owners = quotas.in_use().map(|(owner, used)| (owner, used, quotas.of(owner)));
        let ns = |ps: u64| ps / 1000;
        let stalls = self.stalls.last().rev().take(STALLS);
        EngineStatus {
            channels: self.node.manager().held().count() as u32,
            rows,
            reserved,
            processor: self.node.reserved_processor(),
            packet: self.node.packet_time(),
            owners: owners.take(OWNERS).collect(),
            counters: self.counters(),
            laxity: self.ledger.laxity(),
            stalls: stalls.map(|stall| (ns(stall.at.as_ps()), ns(stall.length.as_ps()))).collect(),
        }
    }

    fn row(&self, own: NodeId, held: &HeldContract) -> (Row, Port) {
        let account = self.ledger.get(held.channel);
        let direction = match (held.channel.node == own, held.place.to) {
            (true, None) => Direction::Within,
            (true, Some(_)) => Direction::Source,
            (false, Some(_)) => Direction::Relay,
            (false, None) => Direction::Destination,
        };
        let ns = |span: Span| span.as_ps() / 1000;
        let row = Row {
            channel: name(held.channel),
            direction,
            name: self.name_of(held.channel),
            contract: shown(&held.contract),
            local_ns: held.deadline.map_or(0, ns),
            messages: account.messages,
            excess: account.excess,
            worst_ns: ns(account.worst),
            missed: account.missed,
            attributed: account.attributed,
            lost: account.lost,
            since_ns: account.since.as_ps() / 1000,
        };
        (row, held.place.port)
    }

    /// The name of the receiver of a channel that begins here.
    fn name_of(&self, channel: GlobalChannelId) -> String {
        let slot = self.ledger.slot(channel);
        let open = slot.and_then(|(program, slot)| self.outboxes.get(&program)?.channel(slot));
        open.map(|open| open.name.clone()).unwrap_or_default()
    }

    fn counters(&self) -> Vec<(String, u64)> {
        let node = self.node.counters();
        let mut counters = vec![
            ("frames_received".to_owned(), node.frames),
            ("frames_sent".to_owned(), node.sent),
            ("messages_delivered".to_owned(), node.delivered),
            ("messages_excess".to_owned(), node.excess),
            ("messages_stray".to_owned(), self.ledger.strays),
            ("signals_late".to_owned(), self.ledger.late_signals),
            ("missed".to_owned(), self.ledger.missed),
            ("missed_by_stops".to_owned(), self.ledger.attributed),
            ("lost".to_owned(), self.ledger.lost),
            ("late_by_overruns".to_owned(), self.ledger.overrun),
            ("late_unexplained".to_owned(), self.ledger.unexplained),
            ("work_us".to_owned(), self.work.as_ps() / 1_000_000),
            ("stalls".to_owned(), self.stalls.count),
            ("stalls_us".to_owned(), self.stalls.total.as_ps() / 1_000_000),
            ("stall_longest_us".to_owned(), self.stalls.longest.as_ps() / 1_000_000),
            ("turn_longest_us".to_owned(), self.stalls.longest_turn.as_ps() / 1_000_000),
        ];
        for (cause, count) in &node.dropped {
            counters.push((format!("dropped_{cause:?}").to_lowercase(), *count));
        }
        for wire in &self.wires {
            let of = |what: &str| format!("link_{}_{what}", wire.peer.0);
            let counts = &wire.counters;
            counters.extend([
                (of("received"), counts.received),
                (of("sent"), counts.sent),
                (of("unsent"), counts.unsent),
                (of("forged"), counts.forged),
                (of("replayed"), counts.replayed),
                (of("keyless"), counts.keyless),
                (of("hidden_us"), counts.hidden.as_ps() / 1_000_000),
            ]);
        }
        counters
    }
}

/// A contract as programs see it.
pub(crate) fn shown(contract: &ChannelContract) -> laxity_client::Contract {
    let bytes = |bytes: Bytes| u32::try_from(bytes.get()).unwrap_or(u32::MAX);
    laxity_client::Contract {
        max_message: bytes(contract.max_message),
        min_message: bytes(contract.min_message),
        interval_ns: contract.min_interval.as_ps() / 1000,
        burst: contract.burst,
        deadline_ns: contract.deadline.as_ps() / 1000,
    }
}

/// A contract as the network counts it.
pub(crate) fn counted(contract: &laxity_client::Contract) -> ChannelContract {
    ChannelContract {
        max_message: Bytes::new(contract.max_message.into()),
        min_message: Bytes::new(contract.min_message.into()),
        min_interval: Span::from_ns(contract.interval_ns),
        burst: contract.burst,
        deadline: Span::from_ns(contract.deadline_ns),
    }
}
