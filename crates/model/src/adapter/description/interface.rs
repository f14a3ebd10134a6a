//! The host interface of an adapter: command queues, response queues, and notification.
//!
//! A response queue is a ring in host memory and, on a host with interrupts, an interrupt of its
//! own. An interrupt for each response would overload the host. Moderation therefore delays the
//! interrupt, as Linux drivers do (`ethtool -C`: rx-frames, rx-usecs) and as adapters throttle it
//! (Intel's EITR: a minimum interval). The gain is one handler entry for several responses; the
//! cost is delay.

use laxity_qos::channel::ChannelId;
use laxity_qos::discipline::Tag;
use laxity_units::{Span, Time};

use super::{Overload, QueueSelection, Takes, spread_over};
use crate::adapter::AdapterResponse;

/// The host interface of an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSide {
    /// Command queues; at least one.
    pub queues: Vec<CommandQueue>,
    /// Which of them is polled next: by priority until they are empty or there is no room, or in
    /// turn, one command each.
    pub selection: QueueSelection,
    /// Delay from the host's write of a command to the adapter's notice: the doorbell over the bus.
    pub doorbell: Span,
    /// Polling interval of the adapter for commands, at its multiples; `None` if a doorbell
    /// notifies it at once.
    pub poll: Option<Span>,
    /// How the host is notified of responses.
    pub notification: Notification,
    /// Response queues; at least one.
    pub responses: Vec<ResponseQueue>,
}

/// A command queue, FIFO. A command goes to the first that accepts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandQueue {
    /// The accepted packets.
    pub takes: Takes,
    /// Polling priority, 0 the highest.
    pub priority: u8,
    /// Capacity in commands; a mailbox holds one. `None` for unlimited.
    pub slots: Option<u32>,
    /// When an entry is freed.
    pub release: Release,
    /// Number of queues like this one, at least 1; a packet's channel selects its queue.
    pub spread: u32,
}

impl Default for CommandQueue {
    fn default() -> Self {
        Self { takes: Takes::All, priority: 0, slots: None, release: Release::Fetched, spread: 1 }
    }
}

/// When the entry of a command is freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Release {
    /// When the adapter fetches it.
    #[default]
    Fetched,
    /// When the adapter reports the packet's outcome: the entry of a ring, which is written back.
    Completed,
}

/// How the host is notified of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    /// Each response interrupts.
    Interrupt,
    /// The host polls at multiples of this.
    Poll(Span),
}

/// A response queue, FIFO. A response goes to the first that accepts it, and occupies its entry
/// until the host has removed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseQueue {
    /// The responses that it accepts.
    pub answers: Answers,
    /// The packets that it accepts.
    pub takes: Takes,
    /// Capacity in responses; `None` for unlimited.
    pub slots: Option<u32>,
    /// Treatment of a response when it is full: the response waits in the adapter and blocks its
    /// packet's server; or the received packet is lost, in a queue for received packets only. Never
    /// [`Overload::Priority`].
    pub overload: Overload,
    /// Interrupt moderation, if the host does not poll.
    pub moderation: Moderation,
    /// Number of queues like this one, at least 1; a packet's channel selects its queue.
    pub spread: u32,
}

impl Default for ResponseQueue {
    fn default() -> Self {
        let (overload, moderation) = (Overload::Block, Moderation::default());
        Self { answers: Answers::All, takes: Takes::All, slots: None, overload, moderation, spread: 1 }
    }
}

/// The responses of a response queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Answers {
    /// All.
    #[default]
    All,
    /// Received packets: [`AdapterResponse::Received`].
    Received,
    /// All others: outcomes of commands, and responses of phases.
    Sent,
}

impl Answers {
    /// Whether `response` is among them.
    pub fn admit<P>(self, response: &AdapterResponse<P>) -> bool {
        match self {
            Answers::All => true,
            Answers::Received => matches!(response, AdapterResponse::Received(_)),
            Answers::Sent => !matches!(response, AdapterResponse::Received(_)),
        }
    }
}

/// Interrupt moderation: an interrupt announces waiting responses when there are `frames` of them,
/// or the first has waited for `delay`, and the interrupt before was `interval` ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moderation {
    /// Number of responses that interrupts without further delay (rx-frames); `None` for no number.
    pub frames: Option<u32>,
    /// Maximum delay of a response (rx-usecs).
    pub delay: Span,
    /// Minimum time between two interrupts.
    pub interval: Span,
}

impl Moderation {
    /// Whether each response interrupts at once.
    pub fn is_none(&self) -> bool {
        self.delay.is_zero() && self.interval.is_zero()
    }

    /// When `count` responses, the first written at `oldest`, raise an interrupt if the last one
    /// was at `last`; a past time means at once.
    pub fn due(&self, count: u32, oldest: Time, last: Option<Time>) -> Time {
        let enough = self.frames.is_some_and(|frames| count >= frames);
        let ready = if enough { oldest } else { oldest + self.delay };
        last.map_or(ready, |last| ready.max(last + self.interval))
    }
}

impl HostSide {
    /// Index of the queue that accepts `response`, about a packet of `channel` with this tag,
    /// spread queues counted one by one.
    pub fn response_queue<P>(&self, response: &AdapterResponse<P>, tag: &Tag, channel: ChannelId) -> usize {
        let lists = self
            .responses
            .iter()
            .map(|queue| (queue.answers.admit(response) && queue.takes.admits(tag), queue.spread));
        spread_over(lists, channel).expect("every response has a queue that takes it")
    }

    /// Index of the queue for the command to transmit a packet of `channel` with this tag, spread
    /// queues counted one by one.
    pub fn command_queue(&self, tag: &Tag, channel: ChannelId) -> usize {
        let lists = self.queues.iter().map(|queue| (queue.takes.admits(tag), queue.spread));
        spread_over(lists, channel).expect("every packet has a queue that takes its commands")
    }

    /// The response queues, spread ones one by one.
    pub fn all_responses(&self) -> impl Iterator<Item = &ResponseQueue> {
        self.responses.iter().flat_map(|queue| std::iter::repeat_n(queue, queue.spread as usize))
    }

    /// Whether there is one unlimited response queue without moderation.
    pub fn answers_plainly(&self) -> bool {
        matches!(self.responses[..], [ResponseQueue { slots: None, moderation, spread: 1, .. }] if moderation.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A batch is three, the maximum delay is 50, and interrupts are 80 apart.
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
