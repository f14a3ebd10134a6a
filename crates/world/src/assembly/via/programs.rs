//! The programs at both ends of a virtual interface: what they have handed over and what has come of it, the credits of the layer
//! above, and rounds.

use std::collections::VecDeque;

use laxity_units::{Bytes, Time};

use crate::experiment::{Experiment, SourceSpec, ViaSpec};

/// Both ends of a channel.
#[derive(Debug, Clone)]
pub(super) struct Program {
    /// Its two processes: until when each is busy.
    pub(super) free: [Time; 2],
    /// The process that sends, as twice a channel and whether it is that one's second.
    pub(super) sender: usize,
    /// The process that receives, likewise.
    pub(super) receiver: usize,
    /// Handed over and not posted for want of credit: numbers, sizes.
    waiting: VecDeque<(u64, Bytes)>,
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
}

/// A round of messages that is answered by another.
#[derive(Debug, Clone, Copy)]
struct Rounds {
    /// Messages of a round.
    window: u32,
    /// Those of the one under way that have come.
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
    /// Messages taken whose credits have not gone back.
    owed: u32,
    /// They go back by so many.
    lot: u32,
}

impl Program {
    /// Those of every channel.
    pub(super) fn of(experiment: &Experiment, spec: &ViaSpec) -> Vec<Program> {
        let rounds = |channel: usize| match experiment.channels[channel].source {
            SourceSpec::Rounds { window, after, .. } => Some((window, after)),
            _ => None,
        };
        let program = |channel: usize| Program {
            free: [Time::ZERO; 2],
            sender: 2 * channel,
            // Whoever answers is who has received.
            receiver: rounds(channel).map_or(2 * channel + 1, |(_, after)| 2 * after),
            waiting: VecDeque::new(),
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

    /// A message is handed over.
    pub(super) fn offer(&mut self, message: Handed) {
        self.waiting.push_back((self.handed, message.size));
        self.under_way.push_back(Some(message));
        self.unnoted.push_back(message);
        self.handed += 1;
    }

    /// The next message to post, if one waits and there is credit for it.
    pub(super) fn next_to_post(&mut self) -> Option<(u64, Bytes)> {
        if self.waiting.is_empty() {
            return None;
        }
        if let Some(credits) = &mut self.credits {
            credits.left = credits.left.checked_sub(1)?;
        }
        self.waiting.pop_front()
    }

    /// A message has been sent: which.
    pub(super) fn noted(&mut self) -> Option<Handed> {
        self.unnoted.pop_front()
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

    /// A lot of credits has come back.
    pub(super) fn credited(&mut self) {
        if let Some(credits) = &mut self.credits {
            credits.left += credits.lot;
        }
    }

    /// The last of what was handed over as one was taken; the channel of the answer and how many it has, if that was the last of a
    /// round.
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
