//! The scheduler of one link: signalling, channels and best effort.

use std::collections::VecDeque;

use laxity_qos::channel::{Carried, ChannelId as Local};
use laxity_qos::discipline::{Class, Discipline, EarlyPolicy, Order, Request, Server, Tag};
use laxity_qos::virtual_clock::Vtick;
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
    /// Logical arrival of the next signalling message at the earliest.
    pub(crate) signalling: Time,
    pub(crate) signals: usize,
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
            signals: 0,
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
