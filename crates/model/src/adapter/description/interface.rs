//! The host's side of an adapter: queues of commands one way, of responses the other, and who looks when.
//!
//! A response queue is a ring in the host's memory and, where the host is interrupted, an interrupt of its own. An adapter that
//! announced each response would stop its host for each; so the interrupt waits for company, as the drivers of Linux have it
//! (`ethtool -C`: rx-frames, rx-usecs) and as adapters throttle it (Intel's EITR: so long between two interrupts). What is
//! gained is the entry into the routine, once for many; what is lost is time, and that is measured.

use laxity_qos::channel::ChannelId;
use laxity_qos::discipline::Tag;
use laxity_units::{Span, Time};

use super::{Overload, Selection, Takes, spread_over};
use crate::adapter::Response;

/// The host's side of an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Where the host leaves commands; at least one.
    pub queues: Vec<CommandQueue>,
    /// Which of them is looked at next: by their priorities until they are empty or there is no place, or in turn, one command each.
    pub selection: Selection,
    /// From when the host has written a command to when the adapter knows: the doorbell's way over the bus.
    pub doorbell: Span,
    /// The adapter looks for commands at multiples of this; `None` if a doorbell tells it at once.
    pub poll: Option<Span>,
    /// How the host learns of responses.
    pub notification: Notification,
    /// Where the adapter leaves responses; at least one.
    pub responses: Vec<ResponseQueue>,
}

/// A queue of commands, in the order in which the host wrote them. A command goes to the first that takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandQueue {
    /// Which packets' commands it takes.
    pub takes: Takes,
    /// Which queue is looked at first, 0 before all.
    pub priority: u8,
    /// Commands that it holds; a mailbox holds one. `None` for as many as there are.
    pub slots: Option<u32>,
    /// Until when it holds one.
    pub release: Release,
    /// As many queues like this one, at least 1; a command goes to one by its packet's channel.
    pub spread: u32,
}

impl Default for CommandQueue {
    fn default() -> Self {
        Self { takes: Takes::All, priority: 0, slots: None, release: Release::Fetched, spread: 1 }
    }
}

/// Until when a command has its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Release {
    /// The adapter takes it.
    #[default]
    Fetched,
    /// The adapter says what became of the packet: the entry of a ring, which is written back.
    Completed,
}

/// How the host learns that the adapter has written responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    /// Each response interrupts.
    Interrupt,
    /// The host looks at multiples of this.
    Poll(Span),
}

/// A queue of responses, in the order in which the adapter wrote them. A response goes to the first that takes it, and has its
/// place until the host has taken it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseQueue {
    /// What is said in it.
    pub answers: Answers,
    /// Of which packets.
    pub takes: Takes,
    /// Responses that it holds; `None` for as many as there are.
    pub slots: Option<u32>,
    /// What happens to one too many: it waits in the adapter, and its packet's server with it; or the packet that has come is
    /// lost, where nothing else is said. Never [`Overload::Priority`].
    pub overload: Overload,
    /// When an interrupt announces what is in it, if the host does not poll.
    pub moderation: Moderation,
    /// As many queues like this one, at least 1; a response goes to one by its packet's channel.
    pub spread: u32,
}

impl Default for ResponseQueue {
    fn default() -> Self {
        let (overload, moderation) = (Overload::Block, Moderation::default());
        Self { answers: Answers::All, takes: Takes::All, slots: None, overload, moderation, spread: 1 }
    }
}

/// What is said in a response queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Answers {
    /// All.
    #[default]
    All,
    /// That packets have come: [`Response::Received`].
    Received,
    /// All else: what becomes of commands, and whatever a phase tells.
    Sent,
}

impl Answers {
    /// Whether `response` is among them.
    pub fn admit<P>(self, response: &Response<P>) -> bool {
        match self {
            Answers::All => true,
            Answers::Received => matches!(response, Response::Received(_)),
            Answers::Sent => !matches!(response, Response::Received(_)),
        }
    }
}

/// When responses that nobody has been told of become an interrupt: as many as `frames` wait, or the first has waited for `delay`,
/// and the interrupt before was `interval` ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moderation {
    /// So many are not to wait any longer (rx-frames); `None` for no number.
    pub frames: Option<u32>,
    /// Nor is any for longer than this (rx-usecs).
    pub delay: Span,
    /// The least between two interrupts.
    pub interval: Span,
}

impl Moderation {
    /// Whether each response interrupts at once.
    pub fn is_none(&self) -> bool {
        self.delay.is_zero() && self.interval.is_zero()
    }

    /// When `count` responses, the first of them written at `oldest`, interrupt whose last interrupt was at `last`; a time that has
    /// passed is at once.
    pub fn due(&self, count: u32, oldest: Time, last: Option<Time>) -> Time {
        let enough = self.frames.is_some_and(|frames| count >= frames);
        let ready = if enough { oldest } else { oldest + self.delay };
        last.map_or(ready, |last| ready.max(last + self.interval))
    }
}

impl Interface {
    /// The queue that takes `response`, about a packet of `channel` with this tag, all that are spread counted.
    pub fn response_queue<P>(&self, response: &Response<P>, tag: &Tag, channel: ChannelId) -> usize {
        let lists = self
            .responses
            .iter()
            .map(|queue| (queue.answers.admit(response) && queue.takes.admits(tag), queue.spread));
        spread_over(lists, channel).expect("every response has a queue that takes it")
    }

    /// The queue that takes the command to transmit a packet of `channel` with this tag, all that are spread counted.
    pub fn command_queue(&self, tag: &Tag, channel: ChannelId) -> usize {
        let lists = self.queues.iter().map(|queue| (queue.takes.admits(tag), queue.spread));
        spread_over(lists, channel).expect("every packet has a queue that takes its commands")
    }

    /// The response queues, those that are spread one by one.
    pub fn all_responses(&self) -> impl Iterator<Item = &ResponseQueue> {
        self.responses.iter().flat_map(|queue| std::iter::repeat_n(queue, queue.spread as usize))
    }

    /// Whether responses are as simple as they can be: one queue without end, and each interrupts.
    pub fn answers_plainly(&self) -> bool {
        matches!(self.responses[..], [ResponseQueue { slots: None, moderation, spread: 1, .. }] if moderation.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three are enough, none waits for more than 50, and 80 pass between two interrupts.
    #[test]
    fn an_interrupt_waits_for_company_but_not_for_ever() {
        let at = |us| Time::ZERO + Span::from_us(us);
        let moderation =
            Moderation { frames: Some(3), delay: Span::from_us(50), interval: Span::from_us(80) };
        assert_eq!(moderation.due(1, at(10), None), at(60));
        assert_eq!(moderation.due(2, at(10), None), at(60));
        assert_eq!(moderation.due(3, at(10), None), at(10));
        assert_eq!(moderation.due(3, at(100), Some(at(60))), at(140));
        assert_eq!(moderation.due(1, at(100), Some(at(60))), at(150));
        assert_eq!(Moderation::default().due(1, at(10), Some(at(10))), at(10));
        assert!(Moderation::default().is_none() && !moderation.is_none());
    }
}
