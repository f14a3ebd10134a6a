//! The applications of a host: what they have to send, and what becomes of a send that finds no room.
//!
//! An application that shares the CPU waits for it, and pays `send_call` for each message when it sends it, once. One whose
//! channel makes senders wait ([`MessageOverflow::Block`](laxity_qos::channel::MessageOverflow::Block)) and has no room
//! sleeps: what it has to send meanwhile neither wakes it nor costs anything. When there is room it is made ready again, and
//! sends as many messages as fit.
//!
//! Senders that wait are asked in the order in which they began to: whoever has waited longest is the first whose message
//! is queued, or who is made ready. Sources without end wait from the start, and send for nothing as soon as there is room;
//! they stand for a backlog that was always there.
//!
//! The host whose time is charged and the one in a thread share this file, for what they may differ in is only who pays.

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
    /// On a core of this host, as a thread above all handlers: a send waits for a preemption point and costs time.
    Shared,
    /// On other processors: a send happens when it is due and costs this host nothing.
    Separate,
}

/// Messages without end: there is always another, as soon as it may be sent.
#[derive(Debug)]
pub struct Endless {
    sizes: Sizes,
    random: Stream,
    most: Option<u32>,
    outstanding: u32,
}

impl Endless {
    /// Messages of sizes drawn from `random`, of which at most `most` are sent and not yet transmitted or lost, as far
    /// as the host knows; `None` for as many as there is room for.
    pub fn new(sizes: Sizes, random: Stream, most: Option<u32>) -> Self {
        Self { sizes, random, most, outstanding: 0 }
    }

    /// The size of the next message, if it may be sent.
    fn draw(&mut self) -> Option<Bytes> {
        let more = self.most.is_none_or(|most| self.outstanding < most);
        more.then(|| self.sizes.draw(&mut self.random))
    }

    /// A message was sent, and answered so.
    fn answered(&mut self, answer: Sent) {
        self.outstanding += u32::from(matches!(answer, Sent::Accepted { .. } | Sent::Excess { .. }));
    }

    /// The last packet of a message is out of the adapter.
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
    /// Channels whose applications wait for room, longest first.
    waiting: Vec<ChannelId>,
    /// Something other than room may let one of those go on that wait: it has been sent for, or what it waited for has come back.
    stirred: bool,
    /// Whether any of them sends without end: nobody else asks what comes back.
    any_endless: bool,
}

#[derive(Debug, Default)]
struct Sender {
    core: CoreId,
    /// Messages it has produced and not sent: waiting for the CPU, or for room in the message queue.
    pending: VecDeque<Bytes>,
    /// Messages that it is sending, now that it has the CPU.
    sending: u64,
    /// It waits for the CPU.
    ready: bool,
    /// It waits for room.
    waits: bool,
    /// It always has another message.
    endless: Option<Endless>,
}

impl Senders {
    /// None yet.
    pub fn new(placement: Applications) -> Self {
        Self { placement, all: ByChannel::default(), waiting: Vec::new(), stirred: true, any_endless: false }
    }

    /// Adds the application of `channel`, which is `core`'s.
    pub fn open(&mut self, channel: ChannelId, core: CoreId) {
        self.all.insert(channel, Sender { core, ..Sender::default() });
    }

    /// A message comes for `channel`, which was the how-manyth to be opened, as `label` has it.
    #[inline]
    pub(super) fn fetch(&self, channel: ChannelId, label: Label) {
        self.all.fetch_way(channel);
        self.all.fetch(label);
    }

    /// The application of `channel` has a message to send. Here and below `answered` is told each send's channel, size and
    /// answer; a send that has to wait has none yet.
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
            // What came before still waits, and a channel delivers in sequence.
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

    /// The application of `channel` from now on always has another message.
    pub fn send_without_end(&mut self, channel: ChannelId, endless: Endless) {
        (self.stirred, self.any_endless) = (true, true);
        let sender = &mut self.all[channel];
        sender.endless = Some(endless);
        if !sender.waits {
            sender.waits = true;
            self.waiting.push(channel);
        }
    }

    /// The application of `channel` has got the CPU; answers how many messages it will send.
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

    /// The application of `channel` sends what it has had the CPU for.
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

    /// Whether [`retry`](Self::retry) may find anything since this was last asked: on a host of one core nobody else is to be asked.
    #[inline]
    pub(super) fn may_go_on(&mut self, subsystem: &mut Subsystem) -> bool {
        std::mem::take(&mut self.stirred) | subsystem.has_made_room()
    }

    /// Lets those of `core` go on for whom there is room by now; answers whether there is anything new to be done by it.
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
                // There is still room, and it tries again.
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

    /// A packet is out of the adapter; its application may wait for that.
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

    /// Sends as long as there is room and something to send; answers whether anything was queued, and whether the last was refused though
    /// there was room.
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
                // What is refused leaves room for the next, which would be refused as well, without end.
                return (any, true);
            }
            any = true;
        }
        (any, false)
    }
}
