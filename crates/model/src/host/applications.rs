//! The applications of a host: their messages, and sends that find no room.
//!
//! An application that shares the CPU waits for it, and pays `send_call` once for each message when
//! it sends it. One with a blocking channel
//! ([`MessageOverflow::Block`](laxity_qos::channel::MessageOverflow::Block)) that has no room
//! sleeps: further messages neither wake it nor cost CPU time. When there is room it becomes ready
//! again, and sends as many messages as fit.
//!
//! Blocked senders are served in FIFO order. Endless sources wait from the start, and send at no
//! cost as soon as there is room; they model a permanent backlog.
//!
//! The simulated host and the threaded one share this file; they differ only in the CPU charge.

use std::collections::VecDeque;

use laxity_engine::Stream;
use laxity_qos::channel::{ByChannel, ChannelId, CoreId, Label, Packet, Sent, Subsystem};
use laxity_units::{Bytes, Time};

use crate::source::Sizes;

/// Why no call of the subsystem names a channel wrongly.
const OPEN: &str = "a sender's channel is open as long as the host";

/// Where a channel's sending application runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applications {
    /// On a core of this host, as a thread above all handlers: a send waits for a preemption point
    /// and costs time.
    Shared,
    /// On other processors: a send happens when it is due and costs this host no time.
    Separate,
}

/// An endless source: there is always another message, as soon as it may be sent.
#[derive(Debug)]
pub struct Endless {
    sizes: Sizes,
    random: Stream,
    most: Option<u32>,
    outstanding: u32,
}

impl Endless {
    /// Messages of sizes drawn from `random`, with at most `most` outstanding (sent and not known
    /// to be transmitted or lost); `None` for no limit but the queue.
    pub fn new(sizes: Sizes, random: Stream, most: Option<u32>) -> Self {
        Self { sizes, random, most, outstanding: 0 }
    }

    /// The size of the next message, if it may be sent.
    fn draw(&mut self) -> Option<Bytes> {
        let more = self.most.is_none_or(|most| self.outstanding < most);
        more.then(|| self.sizes.draw(&mut self.random))
    }

    /// Records a send and its result.
    fn answered(&mut self, answer: Sent) {
        self.outstanding += u32::from(matches!(answer, Sent::Accepted { .. } | Sent::Excess { .. }));
    }

    /// The last packet of a message has left the adapter.
    #[inline]
    fn returned(&mut self) {
        self.outstanding = self.outstanding.saturating_sub(1);
    }
}

/// The sending applications of a host, one per channel.
#[derive(Debug)]
pub struct Senders {
    placement: Applications,
    all: ByChannel<Sender>,
    /// Channels with blocked senders, longest first.
    waiting: Vec<ChannelId>,
    /// A blocked sender may proceed for a reason other than room: a new request, or a completion.
    stirred: bool,
    /// Whether any source is endless: only those need completions.
    any_endless: bool,
}

#[derive(Debug, Default)]
struct Sender {
    core: CoreId,
    /// Messages produced and not sent: waiting for the CPU, or for room in the message queue.
    pending: VecDeque<Bytes>,
    /// Messages being sent in its current CPU time.
    sending: u64,
    /// It waits for the CPU.
    ready: bool,
    /// It waits for room.
    waits: bool,
    /// Its endless source.
    endless: Option<Endless>,
}

impl Senders {
    /// No senders yet.
    pub fn new(placement: Applications) -> Self {
        Self { placement, all: ByChannel::default(), waiting: Vec::new(), stirred: true, any_endless: false }
    }

    /// Adds the application of `channel`, which runs on `core`.
    pub fn open(&mut self, channel: ChannelId, core: CoreId) {
        self.all.insert(channel, Sender { core, ..Sender::default() });
    }

    /// Prefetches the sender of `channel`, at index `label`.
    #[inline]
    pub(super) fn fetch(&self, channel: ChannelId, label: Label) {
        self.all.fetch_way(channel);
        self.all.fetch(label);
    }

    /// The application of `channel` has a message to send. Here and below, `answered` receives each
    /// send's channel, size and result; a send that has to wait has no result yet.
    pub fn offer(
        &mut self,
        now: Time,
        channel: ChannelId,
        size: Bytes,
        subsystem: &mut Subsystem,
        answered: &mut impl FnMut(ChannelId, Bytes, Sent),
    ) {
        self.stirred = true;
        let sender = &mut self.all[channel];
        if sender.waits || sender.ready {
            // Earlier messages still wait, and a channel delivers in sequence.
        } else if subsystem.room(channel).expect(OPEN) <= sender.sending {
            sender.waits = true;
            self.waiting.push(channel);
        } else if self.placement == Applications::Separate {
            debug_assert!(sender.pending.is_empty(), "who has something pending waits");
            return send(now, channel, size, subsystem, answered);
        } else {
            sender.ready = true;
            subsystem.application_ready(channel).expect(OPEN);
        }
        sender.pending.push_back(size);
    }

    /// From now on the application of `channel` always has another message.
    pub fn send_without_end(&mut self, channel: ChannelId, endless: Endless) {
        (self.stirred, self.any_endless) = (true, true);
        let sender = &mut self.all[channel];
        sender.endless = Some(endless);
        if !sender.waits {
            sender.waits = true;
            self.waiting.push(channel);
        }
    }

    /// The application of `channel` has the CPU; returns how many messages it will send.
    pub fn dispatch(&mut self, channel: ChannelId, subsystem: &Subsystem) -> u64 {
        self.stirred = true;
        let sender = &mut self.all[channel];
        let pending = sender.pending.len() as u64;
        sender.ready = false;
        sender.sending = pending.min(subsystem.room(channel).expect(OPEN));
        if sender.sending < pending && !sender.waits {
            sender.waits = true;
            self.waiting.push(channel);
        }
        sender.sending
    }

    /// The application of `channel` sends the messages of its CPU time.
    pub fn send(
        &mut self,
        now: Time,
        channel: ChannelId,
        subsystem: &mut Subsystem,
        answered: &mut impl FnMut(ChannelId, Bytes, Sent),
    ) {
        self.stirred = true;
        let sender = &mut self.all[channel];
        let messages = std::mem::take(&mut sender.sending);
        sender.send(now, channel, messages, subsystem, answered);
    }

    /// Whether [`retry`](Self::retry) may find work since the last call, on a host of one core.
    #[inline]
    pub(super) fn may_go_on(&mut self, subsystem: &mut Subsystem) -> bool {
        std::mem::take(&mut self.stirred) | subsystem.has_made_room()
    }

    /// Resumes blocked senders of `core` that have room now; returns whether the core has new work.
    #[inline]
    pub fn retry(
        &mut self,
        now: Time,
        core: CoreId,
        subsystem: &mut Subsystem,
        answered: &mut impl FnMut(ChannelId, Bytes, Sent),
    ) -> bool {
        let (mut n, mut any) = (0, false);
        while let Some(&channel) = self.waiting.get(n) {
            let sender = &mut self.all[channel];
            if sender.core != core {
                n += 1;
                continue;
            }
            if sender.endless.is_some() || self.placement == Applications::Separate {
                let (sent, refused) = sender.resend(now, channel, subsystem, answered);
                any |= sent;
                // There is still room, so it tries again.
                self.stirred |= refused;
                sender.waits = sender.endless.is_some() || !sender.pending.is_empty();
            } else if subsystem.room(channel).expect(OPEN) > sender.sending {
                sender.waits = false;
                sender.ready = true;
                any = true;
                subsystem.application_ready(channel).expect(OPEN);
            }
            if sender.waits {
                n += 1;
            } else {
                self.waiting.remove(n);
            }
        }
        any
    }

    /// A packet has left the adapter; its endless source may wait for that.
    #[inline]
    pub fn returned(&mut self, packet: &Packet) {
        if self.any_endless
            && packet.is_last()
            && let Some(endless) = &mut self.all[packet.channel].endless
        {
            endless.returned();
            self.stirred = true;
        }
    }
}

/// Sends a message for which there is room.
fn send(
    now: Time,
    channel: ChannelId,
    size: Bytes,
    subsystem: &mut Subsystem,
    answered: &mut impl FnMut(ChannelId, Bytes, Sent),
) {
    let answer = subsystem.send(now, channel, size).expect(OPEN);
    assert_ne!(answer, Sent::WouldBlock, "there was room for as many");
    answered(channel, size, answer);
}

impl Sender {
    /// Sends the first `messages`, for which there is room.
    fn send(
        &mut self,
        now: Time,
        channel: ChannelId,
        messages: u64,
        subsystem: &mut Subsystem,
        answered: &mut impl FnMut(ChannelId, Bytes, Sent),
    ) {
        for _ in 0..messages {
            let size = self.pending.pop_front().expect("it was counted");
            send(now, channel, size, subsystem, answered);
        }
    }

    /// Sends while there is room and a message; returns whether any was queued, and whether the
    /// last was refused despite room.
    #[inline]
    fn resend(
        &mut self,
        now: Time,
        channel: ChannelId,
        subsystem: &mut Subsystem,
        answered: &mut impl FnMut(ChannelId, Bytes, Sent),
    ) -> (bool, bool) {
        let mut any = false;
        while subsystem.has_room(now, channel).expect(OPEN) {
            let drawn = || self.endless.as_mut().and_then(Endless::draw);
            let Some(size) = self.pending.pop_front().or_else(drawn) else { break };
            let answer = subsystem.send(now, channel, size).expect(OPEN);
            if let Some(endless) = &mut self.endless {
                endless.answered(answer);
            }
            answered(channel, size, answer);
            if matches!(answer, Sent::Dropped(_)) {
                // A refusal leaves room for the next message, which would be refused as well,
                // without end.
                return (any, true);
            }
            any = true;
        }
        (any, false)
    }
}
