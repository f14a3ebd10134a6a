//! The null device: a packet of `S` bytes takes `L_x(S)`, and nothing else happens.
//!
//! The papers' own emulated adapter (structuring §4.3, resource §2.3.2). It is all that a host needs of an
//! adapter to be studied: a bounded, predictable transmission time.

use laxity_qos::channel::Slot;
use laxity_qos::costs::LinkCosts;
use laxity_qos::short_queue::ShortQueue;
use laxity_units::{Span, Time};

use crate::around::Around;

use super::{AdapterOutput, AdapterResponse, Loss, StageReport};

/// Transmits one packet at a time, in the order given.
#[derive(Debug)]
pub struct Null {
    costs: LinkCosts,
    queue: ShortQueue<Slot>,
    /// When the packet at the front completes; `Time::MAX` if there is none.
    completes: Time,
    /// And when it began.
    began: Time,
    /// Says so when a transmission begins.
    announces: bool,
    busy: Span,
    passed: u64,
    /// Most packets that ever waited behind the one in transmission.
    longest: usize,
}

impl Null {
    /// An idle device that takes `costs` per packet.
    pub fn new(costs: LinkCosts) -> Self {
        Self {
            costs,
            queue: ShortQueue::new(),
            completes: Time::MAX,
            began: Time::ZERO,
            announces: false,
            busy: Span::ZERO,
            passed: 0,
            longest: 0,
        }
    }

    /// From now on says when a transmission begins.
    pub fn announce(&mut self) {
        self.announces = true;
    }

    pub(super) fn transmit(
        &mut self,
        now: Time,
        packet: Slot,
        around: &mut impl Around<AdapterOutput<Slot>>,
    ) -> bool {
        self.queue.push_back(packet);
        self.longest = self.longest.max(self.queue.len() - 1);
        if self.queue.len() == 1 {
            self.start(now, around);
        }
        true
    }

    pub(super) fn reset(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        self.busy += self.under_way(now);
        self.completes = Time::MAX;
        for packet in self.queue.drain() {
            around.tell(AdapterOutput::Response(AdapterResponse::Failed(packet, Loss::Reset)));
        }
    }

    pub(super) fn held(&self) -> usize {
        self.queue.len()
    }

    fn start(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        self.completes = Time::MAX;
        if let Some(&packet) = self.queue.front() {
            let time = self.costs.transmit(around.packets().at(packet).size);
            (self.began, self.completes) = (now, now + time);
            if self.announces {
                around.tell(AdapterOutput::Begun(packet, self.completes));
            }
        }
    }

    pub(super) fn timer(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        if self.completes <= now {
            self.busy += self.under_way(now);
            let packet = self.queue.pop_front().expect("a packet was in transmission");
            self.passed += 1;
            around.tell(AdapterOutput::Frame { packet, more: !self.queue.is_empty() });
            around.tell(AdapterOutput::Response(AdapterResponse::Transmitted(packet)));
            self.start(now, around);
        }
    }

    #[inline]
    pub(super) fn due(&self) -> Time {
        self.completes
    }

    /// For how long the packet at the front has been in transmission at `now`.
    fn under_way(&self, now: Time) -> Span {
        match self.queue.is_empty() {
            true => Span::ZERO,
            false => now.min(self.completes).saturating_since(self.began),
        }
    }

    pub(super) fn stages(&self, now: Time) -> impl Iterator<Item = StageReport> {
        let (waiting, longest) = (self.queue.len().saturating_sub(1), self.longest);
        let (name, busy, passed) = ("link".into(), self.busy + self.under_way(now), self.passed);
        std::iter::once(StageReport { name, busy, waiting, longest, passed })
    }
}

#[cfg(test)]
mod tests {
    use laxity_qos::channel::{Carried, ChannelId, Packet};
    use laxity_qos::discipline::{Class, Tag};
    use laxity_qos::virtual_clock::Vtick;
    use laxity_units::Bytes;

    use super::*;
    use crate::adapter::Adapter;
    use crate::told::Told;

    fn null(costs: LinkCosts) -> Told<Adapter, AdapterOutput> {
        Told::new(Adapter::Null(Null::new(costs)))
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn packet(message: u64, size: u64) -> Packet {
        let tag = Tag {
            class: Class::BestEffort,
            logical_arrival: at(0),
            deadline: Time::MAX,
            tick: Vtick::NONE,
            level: 31,
        };
        let (channel, size) = (ChannelId(0), Bytes::new(size));
        let (due_from, sent, created, handed) = (at(0), at(0), at(0), at(0));
        Packet {
            channel,
            message,
            index: 0,
            count: 1,
            size,
            message_size: size,
            tag,
            due_from,
            sent,
            created,
            handed,
            carried: Carried::NOTHING,
        }
    }

    /// 10 and 1 for each of 5, 20 and 3 bytes, one after the other from 7 on: done at 22, 52 and
    /// 65. Two wait at most, and the last leaves nothing behind it.
    #[test]
    fn packets_take_their_time_one_by_one() {
        let mut null = null(LinkCosts::new(Span::from_us(10), Span::from_us(1)));
        let sent = [packet(0, 5), packet(1, 20), packet(2, 3)];
        for packet in sent {
            assert!(null.transmit(at(7), &packet), "it takes all");
        }
        let report = |busy, waiting, passed| StageReport {
            name: "link".into(),
            busy: Span::from_us(busy),
            waiting,
            longest: 2,
            passed,
        };
        for (now, busy) in [(7, 0), (15, 8), (22, 15), (23, 15)] {
            assert_eq!((null.held(), null.stages(at(now))), (3, vec![report(busy, 2, 0)]));
        }
        null.timer(at(21));
        assert_eq!(null.poll_output(), None, "it is not done");
        for (packet, done, more) in [(sent[0], 22, true), (sent[1], 52, true), (sent[2], 65, false)] {
            assert_eq!(null.next_deadline(), Some(at(done)));
            null.timer(at(done));
            assert_eq!(null.poll_output(), Some(AdapterOutput::Frame { packet, more }));
            assert_eq!(
                null.poll_output(),
                Some(AdapterOutput::Response(AdapterResponse::Transmitted(packet)))
            );
            assert_eq!(null.poll_output(), None);
        }
        assert_eq!(null.next_deadline(), None);
        assert_eq!((null.held(), null.stages(at(80))), (0, vec![report(58, 0, 3)]));
    }

    #[test]
    fn a_reset_gives_everything_back_and_what_comes_in_is_there_at_once() {
        let mut null = null(LinkCosts::new(Span::from_us(10), Span::ZERO));
        assert!(null.transmit(at(0), &packet(0, 5)), "it takes all");
        assert!(null.transmit(at(0), &packet(1, 5)), "it takes all");
        null.reset(at(4));
        for message in [0, 1] {
            let failed = AdapterResponse::Failed(packet(message, 5), Loss::Reset);
            assert_eq!(null.poll_output(), Some(AdapterOutput::Response(failed)));
        }
        assert_eq!((null.next_deadline(), null.held()), (None, 0));
        assert_eq!(null.stages(at(20))[0].busy, Span::from_us(4), "what is lost keeps the link no longer");
        null.receive(at(5), &packet(9, 5));
        assert_eq!(
            null.poll_output(),
            Some(AdapterOutput::Response(AdapterResponse::Received(packet(9, 5))))
        );
        assert!(null.transmit(at(20), &packet(2, 5)), "it takes all");
        assert_eq!(null.next_deadline(), Some(at(30)));
    }
}
