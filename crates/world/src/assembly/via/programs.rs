//! The programs at both ends of a virtual interface: handed-over messages and their fate, the
//! credits of the layer above, and rounds.

use std::collections::VecDeque;

use laxity_qos::discipline::Class;
use laxity_qos::traffic::LogicalClock;
use laxity_units::{Bytes, Span, Time};

use crate::experiment::{Experiment, SourceSpec, ViaSpec};
use crate::promise::Promise;

/// Both ends of a channel.
#[derive(Debug, Clone)]
pub(super) struct Program {
    /// Its two processes: until when each is busy.
    pub(super) free: [Time; 2],
    /// The process that sends, as twice a channel and whether it is that one's second.
    pub(super) sender: usize,
    /// The process that receives, likewise.
    pub(super) receiver: usize,
    /// Handed over and not posted, for want of time, credit or room: numbers, and from when they
    /// may be.
    waiting: VecDeque<(u64, Handed)>,
    /// Its regulator, if it was admitted with a contract.
    clock: Option<LogicalClock>,
    /// When it will look again at what it may post, if it is to.
    due: Option<Time>,
    /// Descriptors that its send queue has room for; `None` for any number.
    room: Option<u32>,
    handed: u64,
    /// Those that have not ended, in order from the first of them on.
    under_way: VecDeque<Option<Handed>>,
    first: u64,
    /// Those of which the adapter has not said that they are sent.
    unnoted: VecDeque<Handed>,
    credits: Option<Credits>,
    rounds: Option<Rounds>,
}

/// A message that was handed over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Handed {
    /// When.
    pub(super) at: Time,
    /// Its bytes.
    pub(super) size: Bytes,
    /// It is the last of what was handed over as one.
    pub(super) last: bool,
    /// Which negotiation of its channel's bandwidth it is sent under, counted from 0.
    pub(super) negotiation: usize,
}

/// A round of messages that is answered by another.
#[derive(Debug, Clone, Copy)]
struct Rounds {
    /// Messages of a round.
    window: u32,
    /// Arrived messages of the current round.
    come: u32,
    /// The channel of the answer.
    answer: usize,
    /// Messages of an answer.
    answers: u32,
}

#[derive(Debug, Clone, Copy)]
struct Credits {
    /// Messages that may be posted.
    left: u32,
    /// Taken messages without returned credits.
    owed: u32,
    /// The batch size of returned credits.
    lot: u32,
}

impl Program {
    /// Those of every channel.
    pub(super) fn of(experiment: &Experiment, spec: &ViaSpec, promises: &[Promise]) -> Vec<Program> {
        let rounds = |channel: usize| match experiment.channels[channel].source {
            SourceSpec::Rounds { window, after, .. } => Some((window, after)),
            _ => None,
        };
        let program = |channel: usize| Program {
            free: [Time::ZERO; 2],
            sender: 2 * channel,
            // The receiver answers.
            receiver: rounds(channel).map_or(2 * channel + 1, |(_, after)| 2 * after),
            waiting: VecDeque::new(),
            clock: promises[channel]
                .delivery_bound()
                .map(|_| LogicalClock::new(experiment.channels[channel].spec)),
            due: None,
            room: spec.depth.filter(|_| experiment.channels[channel].class == Class::BestEffort),
            handed: 0,
            under_way: VecDeque::new(),
            first: 0,
            unnoted: VecDeque::new(),
            // By halves, so that a sender that has used up one half has the other.
            credits: spec.credits.map(|all| Credits { left: all, owed: 0, lot: all.div_ceil(2) }),
            rounds: rounds(channel).map(|(window, answer)| {
                let answers = rounds(answer).map_or(0, |(window, _)| window);
                Rounds { window, come: 0, answer, answers }
            }),
        };
        (0..experiment.channels.len()).map(program).collect()
    }

    /// A message is handed over. If it was admitted by a contract, it counts as handed over at its
    /// logical arrival. Returns from when on it counts.
    pub(super) fn offer(&mut self, mut message: Handed) -> Time {
        if let Some(clock) = &mut self.clock {
            message.at = clock.arrive(message.at, message.size).at;
        }
        self.waiting.push_back((self.handed, message));
        self.under_way.push_back(Some(message));
        self.unnoted.push_back(message);
        self.handed += 1;
        message.at
    }

    /// Messages are sent at another rate from now on, under negotiation `number`. The first that
    /// waits for its time keeps it, and those behind follow at the new rate.
    pub(super) fn renegotiate(&mut self, now: Time, interval: Span, number: usize) {
        let Some(clock) = &mut self.clock else { return };
        clock.renegotiate(interval);
        let unposted = self.unnoted.len() - self.waiting.len();
        let early: Vec<usize> = (0..self.waiting.len()).filter(|k| self.waiting[*k].1.at > now).collect();
        if let Some(first) = early.first() {
            clock.retract(self.waiting[*first].1.at);
        }
        for k in early {
            let (place, message) = &mut self.waiting[k];
            *message = Handed { at: clock.arrive(now, message.size).at, negotiation: number, ..*message };
            self.under_way[(*place - self.first) as usize] = Some(*message);
            self.unnoted[unposted + k] = *message;
        }
    }

    /// The next message to post now, if one waits and there is credit and room for it.
    pub(super) fn next_to_post(&mut self, now: Time) -> Option<(u64, Bytes)> {
        let (_, first) = self.waiting.front()?;
        if first.at > now || self.room == Some(0) {
            return None;
        }
        if let Some(credits) = &mut self.credits {
            credits.left = credits.left.checked_sub(1)?;
        }
        if let Some(room) = &mut self.room {
            *room -= 1;
        }
        self.waiting.pop_front().map(|(number, message)| (number, message.size))
    }

    /// When the first waiting message is on time, if that is later and not yet scheduled.
    pub(super) fn next_due(&mut self, now: Time) -> Option<Time> {
        let due = self.waiting.front().map(|(_, first)| first.at).filter(|at| *at > now)?;
        (self.due.replace(due) != Some(due)).then_some(due)
    }

    /// A message has been sent: which.
    pub(super) fn noted(&mut self) -> Option<Handed> {
        self.room = self.room.map(|room| room + 1);
        self.unnoted.pop_front()
    }

    /// When a message that has not ended was handed over.
    pub(super) fn sent_at(&self, number: u64) -> Option<Time> {
        let place = number.checked_sub(self.first)? as usize;
        self.under_way.get(place)?.map(|handed| handed.at)
    }

    /// A message is received or lost: which.
    pub(super) fn end(&mut self, number: u64) -> Option<Handed> {
        let place = number.checked_sub(self.first)? as usize;
        let ended = self.under_way.get_mut(place)?.take();
        while self.under_way.front().is_some_and(Option::is_none) {
            self.under_way.pop_front();
            self.first += 1;
        }
        ended
    }

    /// A message was taken; whether credits go back for it and those before.
    pub(super) fn returns_credits(&mut self) -> bool {
        let Some(credits) = &mut self.credits else { return false };
        credits.owed += 1;
        let returns = credits.owed == credits.lot;
        if returns {
            credits.owed = 0;
        }
        returns
    }

    /// A batch of credits has returned.
    pub(super) fn credited(&mut self) {
        if let Some(credits) = &mut self.credits {
            credits.left += credits.lot;
        }
    }

    /// The last of what was handed over as one was taken; the channel of the answer and how many it
    /// has, if that was the last of a round.
    pub(super) fn round(&mut self) -> Option<(usize, u32)> {
        let rounds = self.rounds.as_mut()?;
        rounds.come += 1;
        if rounds.come < rounds.window {
            return None;
        }
        rounds.come = 0;
        Some((rounds.answer, rounds.answers))
    }
}
