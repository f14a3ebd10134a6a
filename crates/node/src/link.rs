//! The scheduler of one link: signalling, channels and best effort.

use std::collections::VecDeque;

use laxity_qos::channel::{Carried, ChannelId as Local};
use laxity_qos::discipline::{Class, Discipline, EarlyPolicy, Order, Request, Server, Tag};
use laxity_qos::virtual_clock::Vtick;
use laxity_signalling::codec;
use laxity_units::{Bytes, Span, Time};

use crate::config::LinkConfig;
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

#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) config: LinkConfig,
    queue: Discipline<Frame>,
    /// A frame is in transmission until [`Link::transmitted`].
    busy: bool,
    /// Logical arrival of the next frame of signalling messages at the earliest.
    signalling: Time,
    /// Signalling messages and when they were there. The first ones have a frame in the queue, which
    /// takes as many as a message of the longest length has bytes when it leaves.
    pub(crate) signals: VecDeque<(Time, Vec<u8>)>,
    pub(crate) datagrams: usize,
    /// With a fault: best effort that goes before all.
    pub(crate) first: VecDeque<Frame>,
}

impl Link {
    pub(crate) fn new(config: LinkConfig, early: EarlyPolicy) -> Self {
        Self {
            config,
            queue: Order::MultiClassEdf.discipline(&Server::with(early)),
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
        let request = Request { flow: Local(0), size, tag, carried: Carried::NOTHING };
        self.queue.enqueue(now, &request, frame);
    }

    /// Queues a signalling message. Messages are due an interval behind the logical arrival of their
    /// frame; a `demoted` one is best effort, which is a fault.
    pub(crate) fn add_signal(&mut self, now: Time, interval: Span, demoted: bool, message: Vec<u8>) {
        self.signals.push_back((now, message));
        if self.signals.len() == 1 {
            self.queue_signals(now, interval, demoted);
        }
    }

    /// Queues the frame of the first signalling messages.
    fn queue_signals(&mut self, now: Time, interval: Span, demoted: bool) {
        let Some((since, _)) = self.signals.front() else { return };
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
        while let Some((_, message)) = self.signals.front()
            && messages.len() + message.len() <= codec::LONGEST
        {
            messages.extend_from_slice(message);
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
