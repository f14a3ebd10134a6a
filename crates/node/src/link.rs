//! The scheduler of one link: signalling, channels and best effort.

use std::collections::VecDeque;

use laxity_qos::channel::{Carried, ChannelId as Local};
use laxity_qos::discipline::{Class, Discipline, EarlyPolicy, ItemRequest, Order, ServerParameters, Tag};
use laxity_qos::virtual_clock::Vtick;
use laxity_signalling::codec;
use laxity_signalling::identity::{GlobalChannelId, NodeId};
use laxity_units::{Bytes, Span, Time};

use crate::config::NodeLinkConfig;
use crate::flow::Key;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Signalling,
    Datagram,
    /// A packet of a channel.
    Packet(Key),
}

#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: Kind,
    pub(crate) bytes: Vec<u8>,
    /// Age of the message when the frame came to this node, and when that was.
    pub(crate) age: (Span, Time),
}

/// The subject of a signalling message, of which the newest message counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A channel, with the kind of the message.
    Channel(GlobalChannelId, u8),
    /// Clock synchronisation from one node to another, with the kind of the message.
    Clock { from: NodeId, to: NodeId, request: bool },
}

impl Subject {
    /// Whether a message may void earlier ones about `other`.
    fn is_beside(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Channel(channel, _), Self::Channel(other, _)) => channel == other,
            _ => self == other,
        }
    }
}

/// A signalling message that waits.
#[derive(Debug)]
pub(crate) struct Signal {
    since: Time,
    subject: Subject,
    bytes: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) config: NodeLinkConfig,
    queue: Discipline<Frame>,
    /// A frame is in transmission until [`Link::transmitted`].
    busy: bool,
    /// Logical arrival of the next frame of signalling messages at the earliest.
    signalling: Time,
    /// Signalling messages. The first ones have a frame in the queue, which takes as many as a
    /// message of the longest length has bytes when it leaves.
    pub(crate) signals: VecDeque<Signal>,
    pub(crate) datagrams: usize,
    /// With a fault: best effort that goes before all.
    pub(crate) first: VecDeque<Frame>,
}

impl Link {
    pub(crate) fn new(config: NodeLinkConfig, early: EarlyPolicy) -> Self {
        Self {
            config,
            queue: Order::MultiClassEdf.discipline(&ServerParameters::with(early)),
            busy: false,
            signalling: Time::ZERO,
            signals: VecDeque::new(),
            datagrams: 0,
            first: VecDeque::new(),
        }
    }

    /// Queues a frame with a guarantee: served from `at` on, by `at + within`.
    pub(crate) fn promise(&mut self, now: Time, at: Time, within: Span, frame: Frame) {
        self.put(now, Tag::real_time(at, within, Vtick::NONE, 0), frame);
    }

    /// Queues a frame without a guarantee.
    pub(crate) fn offer(&mut self, now: Time, frame: Frame) {
        self.put(now, Tag::best_effort(now), frame);
    }

    fn put(&mut self, now: Time, tag: Tag, frame: Frame) {
        let size = Bytes::new(frame.bytes.len() as u64);
        let request = ItemRequest { flow: Local(0), size, tag, carried: Carried::NOTHING };
        self.queue.enqueue(now, &request, frame);
    }

    /// Queues a signalling message. Messages are due an interval behind the logical arrival of their
    /// frame; a `demoted` one is best effort, which is a fault. The answer is whether there was room:
    /// at most `most` messages wait.
    ///
    /// The message takes the place of one of the same kind about the same channel that waits. A message
    /// of the source has a higher number than those before it about the channel, and a lower number is
    /// void. So it goes to the end if another about the channel waits behind the older one.
    pub(crate) fn add_signal(
        &mut self,
        now: Time,
        (interval, demoted): (Span, bool),
        most: usize,
        (subject, message): (Subject, &[u8]),
    ) -> bool {
        let beside = |signal: &&mut Signal| signal.subject.is_beside(&subject);
        if let Some(last) = self.signals.iter_mut().rfind(beside).filter(|last| last.subject == subject) {
            last.bytes = message.to_vec();
            return true;
        }
        if let Some(older) = self.signals.iter().position(|signal| signal.subject == subject) {
            self.signals.remove(older);
        }
        if self.signals.len() >= most {
            return false;
        }
        self.signals.push_back(Signal { since: now, subject, bytes: message.to_vec() });
        if self.signals.len() == 1 {
            self.queue_signals(now, interval, demoted);
        }
        true
    }

    /// Queues the frame of the first signalling messages.
    fn queue_signals(&mut self, now: Time, interval: Span, demoted: bool) {
        let Some(Signal { since, .. }) = self.signals.front() else { return };
        let at = self.signalling.max(*since);
        let frame = Frame { kind: Kind::Signalling, bytes: Vec::new(), age: (Span::ZERO, now) };
        if demoted {
            return self.offer(now, frame);
        }
        self.signalling = at.saturating_add(interval);
        self.promise(now, at, interval, frame);
    }

    /// The messages of a frame that leaves, one behind the other.
    pub(crate) fn take_signals(&mut self, now: Time, interval: Span, demoted: bool) -> Vec<u8> {
        let mut messages = Vec::new();
        while let Some(Signal { bytes, .. }) = self.signals.front()
            && messages.len() + bytes.len() <= codec::LONGEST
        {
            messages.extend_from_slice(bytes);
            self.signals.pop_front();
        }
        self.queue_signals(now, interval, demoted);
        messages
    }

    /// The next frame, if the link is free.
    pub(crate) fn select(&mut self, now: Time) -> Option<(Tag, Frame)> {
        if self.busy {
            return None;
        }
        if let Some(frame) = self.first.pop_front() {
            return Some((Tag::best_effort(now), frame));
        }
        self.queue.select(now)
    }

    pub(crate) fn begin(&mut self) {
        self.busy = true;
    }

    pub(crate) fn transmitted(&mut self) {
        self.busy = false;
    }

    /// When a frame that is held may leave; now, if one waits that may already.
    pub(crate) fn next_eligible(&mut self, now: Time) -> Option<Time> {
        if self.busy {
            return None;
        }
        match self.queue.best(now) {
            Some(_) => Some(now),
            None => self.queue.next_eligible(now),
        }
    }

    /// Frames in the queue.
    pub(crate) fn len(&self) -> usize {
        self.queue.len() + self.first.len()
    }
}

/// Whether a tag has a guarantee.
pub(crate) fn is_promised(tag: &Tag) -> bool {
    tag.class == Class::RealTime
}

#[cfg(test)]
mod tests {
    use laxity_signalling::identity::Epoch;
    use laxity_units::{ByteTime, Rate};

    use super::*;

    const INTERVAL: Span = Span::from_ms(2);

    fn link() -> Link {
        let per_byte = ByteTime::at(Rate::of(Bytes::new(1_000_000), Span::from_secs(1)));
        let config = NodeLinkConfig { per_byte, way: Span::ZERO, hosts: Span::ZERO, around: 0 };
        Link::new(config, EarlyPolicy::HOLD)
    }

    fn about(local: u32, kind: u8) -> Subject {
        Subject::Channel(GlobalChannelId { node: NodeId(1), epoch: Epoch(1), local }, kind)
    }

    fn waiting(link: &Link) -> Vec<&str> {
        link.signals.iter().map(|signal| std::str::from_utf8(&signal.bytes).unwrap()).collect()
    }

    /// A retransmission takes the place of its earlier copy, and another kind or channel does not. Behind
    /// a later message about the channel it goes to the end, since numbers of a channel rise.
    #[test]
    fn the_newest_message_of_a_kind_waits() {
        let mut link = link();
        let mut add = |subject, text: &str| {
            assert!(link.add_signal(Time::ZERO, (INTERVAL, false), 4, (subject, text.as_bytes())));
            waiting(&link).join(" ")
        };
        assert_eq!(add(about(1, 1), "ask1"), "ask1");
        assert_eq!(add(about(2, 1), "other"), "ask1 other");
        assert_eq!(add(about(1, 1), "ask2"), "ask2 other");
        assert_eq!(add(about(1, 2), "refresh1"), "ask2 other refresh1");
        assert_eq!(add(about(1, 2), "refresh2"), "ask2 other refresh2");
        assert_eq!(add(about(1, 1), "ask3"), "other refresh2 ask3");
        let clock = |request| Subject::Clock { from: NodeId(1), to: NodeId(2), request };
        assert_eq!(add(clock(true), "time1"), "other refresh2 ask3 time1");
        assert_eq!(add(clock(true), "time2"), "other refresh2 ask3 time2");
        // The queue is full: a message that replaces another still has room.
        assert_eq!(add(about(2, 1), "newer"), "newer refresh2 ask3 time2");
        let full = (clock(false), &b"reply"[..]);
        assert!(!link.add_signal(Time::ZERO, (INTERVAL, false), 4, full));
        assert_eq!(link.take_signals(Time::ZERO, INTERVAL, false), b"newerrefresh2ask3time2");
        assert!(link.signals.is_empty());
    }
}
