//! Programs of the simulated nodes: their commands, messages and answers.

use super::*;

/// A contract of a program.
pub(super) fn contract(dice: &mut Stream) -> ChannelContract {
    ChannelContract {
        max_message: Bytes::new(200 + dice.below(4000)),
        min_message: Bytes::new(8),
        min_interval: Span::from_ms(8 + dice.below(30)),
        burst: 1 + u32::try_from(dice.below(3)).unwrap(),
        deadline: Span::from_ms(10 + dice.below(60)),
    }
}

impl Network {
    pub(super) fn source(&mut self, key: u32) -> Option<(&mut Node, &mut Channel, Time)> {
        let channel = self.channels.get_mut(&key)?;
        let node = channel.route[0];
        let now = self.clocks[node].shown(self.now);
        Some((self.nodes[node].as_mut()?, channel, now)).filter(|(_, channel, _)| !channel.crashed)
    }

    pub(super) fn open(&mut self, key: u32) {
        let Some((node, channel, now)) = self.source(key) else { return };
        let route = channel.route.iter().map(|node| NodeId(*node as u32)).collect();
        let open = Command::Open { owner: Owner(1), port: PORT, contract: channel.contract, route };
        let Ok(Response::Opening(id)) = node.command(now, PROGRAM, open) else { unreachable!() };
        channel.id = Some(id);
        let from = channel.route[0];
        self.ids.insert(id, key);
        self.pump(from);
    }

    pub(super) fn change(&mut self, key: u32) {
        let wanted = contract(&mut self.dice);
        let Some((node, channel, now)) = self.source(key) else { return };
        let (Some(id), true) = (channel.id, channel.established) else { return };
        if node.command(now, PROGRAM, Command::Change(id, wanted)).is_ok() {
            channel.wanted = Some(wanted);
        }
        let from = channel.route[0];
        self.pump(from);
    }

    pub(super) fn close(&mut self, key: u32) {
        let time = self.now;
        let Some((node, channel, now)) = self.source(key) else { return };
        let Some(id) = channel.id else { return };
        if node.command(now, PROGRAM, Command::Close(id)).is_ok() {
            channel.over(time);
        }
        let from = channel.route[0];
        self.pump(from);
    }

    pub(super) fn send(&mut self, key: u32) {
        let time = self.now;
        let (length, pause, filler) = (self.dice.next_u64(), self.dice.chance(0.2), self.dice.next_u64());
        let (clocks, quality) = (self.clocks.clone(), self.quality);
        let Some((node, channel, now)) = self.source(key) else { return };
        let (Some(id), true) = (channel.id, channel.established) else { return };
        let ChannelContract { max_message, min_interval, burst, deadline, .. } = channel.contract;
        let (from, greedy) = (channel.route[0], channel.greedy);
        // A greedy program fills its burst and goes on; another one keeps its interval.
        for _ in 0..if greedy { 3 } else { 1 } {
            let length = 8 + (length % (max_message.get() - 7)) as usize;
            let length = if filler % 3 == 0 { max_message.get() as usize } else { length };
            let number = channel.sent.len() as u64;
            let byte = |at: usize| (filler.rotate_left(at as u32 % 64) ^ at as u64 ^ number) as u8;
            let bytes: Vec<u8> = (0..length).map(byte).collect();
            let at = channel.next[0].max(now);
            let conforms = at <= now + min_interval * u64::from(burst - 1);
            match node.command(now, PROGRAM, Command::Send(id, bytes.clone())) {
                Ok(Response::Accepted { due }) => {
                    // Behind a change a message may be due with the last one of the old contract.
                    let behind = due.saturating_sub(deadline);
                    let latest = at.max(channel.next[1]).max(channel.before.saturating_sub(deadline));
                    if behind < at || behind > latest && !channel.stepped {
                        return self.fail(Rule::LogicalArrival, format!("message {number} of {id}"));
                    }
                    let at = if channel.stepped { behind } else { at };
                    channel.next = [at, behind].map(|at| at + min_interval);
                    let seen = quality.drift.seen_by(quality.drift);
                    channel.last = due + seen.share(channel.contract.drain()) * 2 + Span::from_us(2);
                    // The bound of the crate's documentation, from the instant of the logical arrival.
                    let begin = clocks[from].first_at(behind, time).unwrap();
                    let nodes = channel.route.len() as u64;
                    let due = begin + quality.drift.longest_true(deadline + quality.grain * nodes);
                    let excused = channel.excused.is_some();
                    channel.sent.push(Sent { begin, due, bytes, excused, must: !excused, arrived: false });
                }
                other if conforms && !(channel.stepped && channel.next[0] == Time::ZERO) => {
                    return self.fail(Rule::Conforming, format!("message of {id}: {other:?}"));
                }
                _ => {}
            }
        }
        let wait = if greedy { min_interval / 2 } else { min_interval * if pause { 2 } else { 1 } };
        self.at(time + wait, Item::Send(key));
        self.pump(from);
    }

    pub(super) fn answer(&mut self, event: SourceEvent) {
        let id = match event {
            SourceEvent::Established { channel, .. }
            | SourceEvent::Refused { channel, .. }
            | SourceEvent::Changed { channel, .. }
            | SourceEvent::ChangeRefused { channel, .. }
            | SourceEvent::Closed { channel, .. }
            | SourceEvent::Lost { channel, .. } => channel,
            SourceEvent::Opened { .. } | SourceEvent::Ended { .. } => return,
        };
        let Some(key) = self.ids.get(&id).copied() else {
            // The answer to a request that the command is still returning.
            return;
        };
        let Some(channel) = self.channels.get_mut(&key) else { return };
        match event {
            SourceEvent::Established { .. } | SourceEvent::Refused { .. } => {
                channel.outcomes[0] += 1;
                channel.established = matches!(event, SourceEvent::Established { .. });
                self.counts[usize::from(!channel.established)] += 1;
                let took = self.now.since(channel.asked);
                let hops = channel.route.len() as u64 - 1;
                // Five messages before ours on each link, both ways.
                let bound = self.quality.drift.longest_true(Span::from_ms(2 * 7) * hops * 2);
                let late = self.fates == [0; 3] && channel.excused.is_none() && took > bound;
                if channel.established {
                    self.at(self.now, Item::Send(key));
                }
                if late {
                    self.fail(Rule::Establishment, format!("{id} took {took} of {bound}"));
                }
            }
            SourceEvent::Changed { .. } => {
                self.counts[2] += 1;
                channel.contract = channel.wanted.take().expect("a change was asked for");
                channel.next = [Time::ZERO; 2];
                channel.before = channel.before.max(channel.last);
                // The regulators of the new contract start afresh.
                channel.excused = channel.excused.filter(|until| *until > self.now);
            }
            SourceEvent::ChangeRefused { .. } => channel.wanted = None,
            SourceEvent::Closed { .. } | SourceEvent::Lost { .. } => {
                channel.outcomes[1] += 1;
                channel.over(self.now);
                let touched = channel.touched || self.fates != [0; 3];
                if matches!(event, SourceEvent::Lost { .. }) && !touched {
                    self.fail(Rule::Kept, format!("{id} is lost"));
                }
            }
            SourceEvent::Opened { .. } | SourceEvent::Ended { .. } => {}
        }
    }

    pub(super) fn received(&mut self, id: GlobalChannelId, bytes: &[u8]) {
        let Some(channel) = self.ids.get(&id).and_then(|key| self.channels.get_mut(key)) else {
            return self.fail(Rule::Content, format!("a message of {id}, which is unknown"));
        };
        let from = channel.delivered.map_or(0, |number| number as usize + 1);
        let Some(number) = (from..channel.sent.len()).find(|number| channel.sent[*number].bytes == bytes)
        else {
            return self.fail(Rule::Content, format!("a message of {id}"));
        };
        channel.delivered = Some(number as u32);
        let sent = &mut channel.sent[number];
        sent.arrived = true;
        let (begin, due, counts) = (sent.begin, sent.due, !sent.excused);
        let early = channel.route.len() == 1 && self.now < begin && !channel.stepped;
        self.counts[3] += 1;
        if early {
            self.fail(Rule::Held, format!("message {number} of {id} within its node"));
        }
        if counts {
            self.counts[4] += 1;
            if self.now > due {
                let late = self.now.since(due);
                self.fail(Rule::Bound, format!("message {number} of {id} is late by {late}"));
            }
        }
    }
}
