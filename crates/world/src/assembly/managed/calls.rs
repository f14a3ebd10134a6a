//! Calls: requests of programs, and the channels that follow from them.

use std::collections::VecDeque;

use laxity_node::{Failure, Response};
use laxity_signalling::contract::ChannelContract;
use laxity_signalling::identity::Owner;

use super::*;

/// A request of a program, and its channel.
pub(super) struct Call {
    pub(super) channel: usize,
    /// The nodes on its route, and the networks between them.
    pub(super) route: Vec<usize>,
    pub(super) ways: Vec<usize>,
    pub(super) id: GlobalChannelId,
    pub(super) asked: Time,
    /// The request counts: it was made in the window.
    pub(super) counted: bool,
    /// The part of the window.
    pub(super) part: usize,
    pub(super) state: State,
    /// The contract in the local time of the source, and the deadline in true time.
    pub(super) contract: ChannelContract,
    pub(super) deadline: Span,
    /// The same that was asked for beside.
    pub(super) wanted: Option<(ChannelContract, Span)>,
    /// How long it is held, if a call of several.
    pub(super) hold: Option<Span>,
    pub(super) source: Option<Source>,
    /// The size of the next message.
    pub(super) size: Bytes,
    /// Messages that were accepted.
    pub(super) accepted: u32,
    /// Those among them that have not arrived.
    pub(super) sent: VecDeque<Sent>,
    /// A fault touches the route: messages count again if the channel has a new contract then.
    pub(super) excused: Option<Time>,
    /// The route loses frames, and with them leases.
    pub(super) lossy: bool,
    /// A fault touched the route since the request.
    pub(super) touched: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Opening,
    Open,
    Closing,
    /// Its program is dead, and takes no answer.
    Orphan,
}

/// A message that was accepted and has not arrived.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) number: u32,
    pub(super) size: Bytes,
    /// The true instant of its logical arrival.
    pub(super) begin: Time,
    pub(super) deadline: Span,
    pub(super) bound: Span,
    /// It was sent in the window.
    pub(super) counted: bool,
    /// It may be late.
    pub(super) excused: bool,
    /// No fault lets it be lost.
    pub(super) must: bool,
}

impl Sent {
    pub(super) fn due(&self) -> Time {
        self.begin.saturating_add(self.deadline)
    }
}

/// The counts of requests of a channel.
#[derive(Debug, Clone, Default)]
pub(super) struct Asks {
    pub(super) requests: u64,
    pub(super) established: u64,
    pub(super) refused: u64,
    /// By node and resource.
    pub(super) refusals: BTreeMap<String, u64>,
    pub(super) changed: u64,
    pub(super) changes_refused: u64,
    pub(super) lost: u64,
    /// Ended with its node or its program.
    pub(super) over: u64,
    /// Refusals and losses that the scenario does not expect.
    pub(super) unexpected: u64,
}

/// The worst delay and its bound, where the worst is the largest part of its bound.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Closest(pub(super) Option<(Option<Span>, Span)>);

impl Closest {
    /// A contract has this bound.
    pub(super) fn promised(&mut self, bound: Span) {
        self.0.get_or_insert((None, bound));
    }

    /// A message took `delay` under a contract with this bound.
    pub(super) fn took(&mut self, delay: Span, bound: Span) {
        let product = |a: Span, b: Span| u128::from(a.as_ps()) * u128::from(b.as_ps());
        let nearer = match self.0 {
            Some((Some(worst), other)) => product(delay, other) > product(worst, bound),
            _ => true,
        };
        if nearer {
            self.0 = Some((Some(delay), bound));
        }
    }
}

impl Call {
    pub(super) fn is_unanswered(&self) -> bool {
        self.state == State::Opening
    }

    pub(super) fn is_orphan(&self) -> bool {
        self.state == State::Orphan
    }

    /// Messages do not count from now on, until the channel has a new contract after `until`.
    pub(super) fn excuse(&mut self, until: Time) {
        self.touched = true;
        self.excused = self.excused.max(Some(until));
        for sent in &mut self.sent {
            (sent.excused, sent.must) = (true, false);
        }
    }

    /// A fault took a packet of a message.
    pub(super) fn spare(&mut self, number: u32) {
        self.touched = true;
        if let Some(sent) = self.sent.iter_mut().find(|sent| sent.number == number) {
            sent.must = false;
        }
    }
}

impl Managed<'_> {
    /// A program asks for a channel.
    pub(super) fn ask(&mut self, channel: usize, calendar: &mut Calendar<Event>) {
        let spec = &self.experiment.channels[channel];
        let mut hold = None;
        if let AskedTimes::Calls { every, hold: mean } = spec.asked {
            let random = &mut self.requests[channel];
            hold = Some(random.exponential(mean));
            let next = random.exponential(every);
            calendar.schedule_after(next.max(Span::from_ps(1)), Event::Ask { channel: channel as u32 });
        }
        let from = spec.route[0];
        let (route, ways) = self.route_of(channel);
        let asked = spec
            .contract()
            .and_then(|contract| Some((self.spec.in_local_time(route.len(), contract)?, contract)));
        let Some((contract, said)) = asked.filter(|_| self.has_program(from)) else {
            return self.note(&spec.name, "not asked", "its node or its program is down".into(), None);
        };
        let nodes = route.iter().map(|node| NodeId(*node as u32)).collect();
        let owner = spec.owner.unwrap_or(self.spec.owners.len() + channel);
        let shown = self.shown(from);
        let Some(node) = &mut self.stations[from].node else { return };
        let open = Command::Open { owner: Owner(owner as u32), port: CHANNELS, contract, route: nodes };
        // The answer is taken when the call is known, so the node is pumped below.
        let Ok(Response::Opening(id)) = node.command(shown, PROGRAM, open) else {
            return self.fail(rules::ANSWERED, &spec.name, "the request was not taken".into());
        };
        let number = self.asked;
        self.asked += 1;
        let counted = self.window.counts();
        let part = self.part();
        if counted {
            self.counted[channel].parts[part].0 += 1;
        }
        self.counted[channel].asks.requests += 1;
        let (failing, lossy) = (self.is_failing(&route, &ways), self.is_lossy(&ways));
        let excused = if failing { Some(Time::MAX) } else { self.unsettled(&route) };
        self.counted[channel].routes.insert(route.clone());
        let call = Call {
            channel,
            route,
            ways,
            id,
            asked: self.now,
            counted,
            part,
            state: State::Opening,
            contract,
            deadline: said.deadline,
            wanted: None,
            hold,
            source: None,
            size: Bytes::ZERO,
            accepted: 0,
            sent: VecDeque::new(),
            excused,
            touched: lossy || excused.is_some(),
            lossy,
        };
        self.calls.insert(number, call);
        self.ids.insert(id, number);
        self.pump(from, calendar);
    }

    /// The part of the window that it is now.
    fn part(&self) -> usize {
        let RunLength::Time { total, warmup, cooldown } = self.window.length else { return 0 };
        let window = (total - warmup - cooldown).as_ps().max(1);
        let passed = self.now.saturating_since(Time::ZERO + warmup).as_ps();
        ((u128::from(passed) * PARTS as u128 / u128::from(window)) as usize).min(PARTS - 1)
    }

    /// The call of a channel that is asked for once, if the channel is held.
    fn call_of(&self, channel: usize) -> Option<u64> {
        self.calls
            .iter()
            .find(|(_, call)| call.channel == channel && !call.is_orphan())
            .map(|(call, _)| *call)
    }

    /// A program asks for another contract.
    pub(super) fn change(&mut self, channel: usize, number: usize, calendar: &mut Calendar<Event>) {
        let spec = &self.experiment.channels[channel];
        let AskedTimes::Once { changes, .. } = &spec.asked else { return };
        let said = changes[number].1;
        let open = |call: &u64| self.calls[call].state == State::Open;
        let asked = self.call_of(channel).filter(open);
        let asked = asked
            .and_then(|call| Some((call, self.spec.in_local_time(self.calls[&call].route.len(), said)?)));
        let Some((call, contract)) = asked else {
            return self.note(&spec.name, "not changed", "the channel is not established".into(), None);
        };
        let id = self.calls[&call].id;
        let from = spec.route[0];
        let shown = self.shown(from);
        let Some(node) = &mut self.stations[from].node else { return };
        match node.command(shown, PROGRAM, Command::Change(id, contract)) {
            Ok(_) => {
                let call = self.calls.get_mut(&call).expect("it was found");
                call.wanted = Some((contract, said.deadline));
            }
            Err(failure) => self.change_refused(channel, failure.to_string()),
        }
        self.pump(from, calendar);
    }

    /// A change is refused: the old contract stays.
    pub(super) fn change_refused(&mut self, channel: usize, why: String) {
        let spec = &self.experiment.channels[channel];
        let asks = &mut self.counted[channel].asks;
        asks.changes_refused += 1;
        asks.unexpected += u64::from(spec.refusal == crate::experiment::RefusalEffect::Fails);
        self.note(&spec.name, "change refused", why, None);
    }

    /// The program closes a channel that is asked for once.
    pub(super) fn close_channel(&mut self, channel: usize, calendar: &mut Calendar<Event>) {
        if let Some(call) = self.call_of(channel) {
            self.close(call, calendar);
        }
    }

    /// The program closes a call.
    pub(super) fn close(&mut self, call: u64, calendar: &mut Calendar<Event>) {
        let Some(closed) = self.calls.get_mut(&call) else { return };
        let from = self.experiment.channels[closed.channel].route[0];
        if !matches!(closed.state, State::Opening | State::Open) || self.stations[from].node.is_none() {
            return;
        }
        closed.state = State::Closing;
        closed.stop(self.now);
        let id = closed.id;
        match self.command(from, Command::Close(id), calendar) {
            // The channel broke at the same instant.
            Ok(_) | Err(Failure::Unfit(_)) => {}
            Err(failure) => self.fail(rules::ANSWERED, "", failure.to_string()),
        }
    }

    /// A call is over.
    pub(super) fn end(&mut self, call: u64) {
        let Some(mut call) = self.calls.remove(&call) else { return };
        self.ids.remove(&call.id);
        self.quiet = self.now;
        call.stop(self.now);
        while let Some(sent) = call.sent.pop_front() {
            self.missing(call.channel, &sent);
        }
    }

    /// The program of a call is dead.
    pub(super) fn orphan(&mut self, call: u64) {
        self.quiet = self.now;
        if let Some(call) = self.calls.get_mut(&call) {
            call.state = State::Orphan;
            call.stop(self.now);
        }
    }
}

impl Call {
    /// The source ends, and messages that are not due yet need not arrive.
    fn stop(&mut self, now: Time) {
        self.source = None;
        for sent in self.sent.iter_mut().filter(|sent| sent.due() >= now) {
            sent.must = false;
        }
    }
}
