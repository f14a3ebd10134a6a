//! The null device: a packet of `S` bytes takes `L_x(S)`, and nothing else happens.
//!
//! The papers' own emulated adapter (structuring §4.3, resource §2.3.2). It is all that a host needs of an
//! adapter to be studied: a bounded, predictable transmission time.
//!
//! # Launch times
//!
//! With a launch time (`launch.rs`) a real-time packet waits in the device until its logical arrival
//! plus an offset. The link then takes the packet before all packets without a launch time. A packet
//! that is being transmitted is not interrupted, and no packet is kept back because a launch time is
//! near.
//!
//! # Shapers
//!
//! With credit-based shapers (`classes.rs`) packets wait in the queues of their classes. The idle link
//! takes the most urgent class of which the credit is not negative.

mod classes;
mod launch;

use laxity_qos::channel::Slot;
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::{Class, Shaper};
use laxity_qos::seldom::seldom;
use laxity_qos::short_queue::ShortQueue;
use laxity_units::{Span, Time};

use crate::around::Around;

use super::{AdapterOutput, AdapterResponse, Loss, StageReport};
use classes::Classes;
use launch::Launches;

/// Where packets wait before the queue of the link.
#[derive(Debug)]
enum Before {
    /// Real-time packets, for their launch times.
    Launches(Box<Launches>),
    /// All packets, for their turn and the credit of their class.
    Classes(Box<Classes>),
}

impl Before {
    /// Removes the packet that an idle link takes `now`, if there is one.
    fn take(&mut self, now: Time) -> Option<Slot> {
        match self {
            Before::Launches(launches) => launches.take(now),
            Before::Classes(classes) => classes.take(now),
        }
    }

    /// When an idle link can take the next packet; `Time::MAX` without a packet.
    fn next(&mut self, now: Time) -> Time {
        match self {
            Before::Launches(launches) => launches.next(),
            Before::Classes(classes) => classes.next(now),
        }
    }

    fn len(&self) -> usize {
        match self {
            Before::Launches(launches) => launches.len(),
            Before::Classes(classes) => classes.len(),
        }
    }

    /// Removes all packets, in their order.
    fn drain(&mut self) -> Vec<Slot> {
        match self {
            Before::Launches(launches) => launches.drain(),
            Before::Classes(classes) => classes.drain(),
        }
    }
}

/// Transmits one packet at a time, in the order given; those with launch times before others, in the
/// order of these times; or by class, with shapers.
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
    /// Packets that wait for their launch times or their credits; `None` where packets have none.
    before: Option<Before>,
    /// When the link, idle now, begins a packet that waits there; `Time::MAX` if it is busy or no packet
    /// waits.
    wakes: Time,
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
            before: None,
            wakes: Time::MAX,
        }
    }

    /// The same with launch times: real-time packets begin no sooner than `offset` after their logical
    /// arrival, and are lost if they are handed over later.
    #[must_use]
    pub fn launching(self, offset: Span) -> Self {
        Self { before: Some(Before::Launches(Box::new(Launches::new(offset)))), ..self }
    }

    /// The same with a queue for each class, and these `shapers`.
    #[must_use]
    pub fn shaping(self, shapers: Vec<Shaper>) -> Self {
        Self { before: Some(Before::Classes(Box::new(Classes::new(self.costs, shapers)))), ..self }
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
        if seldom(self.before.is_some()) && self.hold(now, packet, around) {
            return true;
        }
        self.queue.push_back(packet);
        self.longest = self.longest.max(self.waiting());
        if self.queue.len() == 1 {
            self.start(now, around);
        }
        true
    }

    /// Takes a packet before the queue of the link; `false` if it is to join that queue at once.
    #[inline(never)]
    fn hold(&mut self, now: Time, slot: Slot, around: &mut impl Around<AdapterOutput<Slot>>) -> bool {
        let packet = around.packets().at(slot);
        match &mut self.before {
            Some(Before::Launches(launches)) if packet.tag.class == Class::RealTime => {
                if !launches.put(now, packet.tag.logical_arrival, slot) {
                    let lost = AdapterResponse::Failed(slot, Loss::Launch);
                    around.tell(AdapterOutput::Response(lost));
                    return true;
                }
            }
            Some(Before::Classes(classes)) => classes.put(now, packet, slot),
            Some(Before::Launches(_)) | None => return false,
        }
        if self.queue.is_empty() {
            self.start(now, around);
        }
        self.longest = self.longest.max(self.waiting());
        true
    }

    pub(super) fn reset(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        self.busy += self.under_way(now);
        (self.completes, self.wakes) = (Time::MAX, Time::MAX);
        let waiting = self.before.iter_mut().flat_map(|before| before.drain());
        for packet in self.queue.drain().chain(waiting) {
            around.tell(AdapterOutput::Response(AdapterResponse::Failed(packet, Loss::Reset)));
        }
    }

    pub(super) fn held(&self) -> usize {
        self.queue.len() + self.before.as_ref().map_or(0, |before| before.len())
    }

    /// Packets in it that are not in transmission.
    fn waiting(&self) -> usize {
        self.held() - usize::from(!self.queue.is_empty())
    }

    /// The idle link takes the next packet, if one may begin.
    fn start(&mut self, now: Time, around: &mut impl Around<AdapterOutput<Slot>>) {
        self.completes = Time::MAX;
        if let Some(before) = &mut self.before {
            if let Some(packet) = before.take(now) {
                self.queue.push_front(packet);
            }
            self.wakes = if self.queue.is_empty() { before.next(now) } else { Time::MAX };
        }
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
        } else if self.wakes <= now {
            self.start(now, around);
        }
    }

    #[inline]
    pub(super) fn due(&self) -> Time {
        self.completes.min(self.wakes)
    }

    /// For how long the packet at the front has been in transmission at `now`.
    fn under_way(&self, now: Time) -> Span {
        match self.queue.is_empty() {
            true => Span::ZERO,
            false => now.min(self.completes).saturating_since(self.began),
        }
    }

    pub(super) fn stages(&self, now: Time) -> impl Iterator<Item = StageReport> {
        let (waiting, longest) = (self.waiting(), self.longest);
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

    /// A device in which packets launch 30 us after their logical arrivals.
    fn launching() -> Told<Adapter, AdapterOutput> {
        Told::new(Adapter::Null(
            Null::new(LinkCosts::new(Span::from_us(10), Span::ZERO)).launching(Span::from_us(30)),
        ))
    }

    /// A real-time packet of that logical arrival.
    fn timed(message: u64, arrival: u64) -> Packet {
        let plain = packet(message, 5);
        Packet { tag: Tag { class: Class::RealTime, logical_arrival: at(arrival), ..plain.tag }, ..plain }
    }

    /// The frames and losses until the device is empty, with their times.
    fn outcome(null: &mut Told<Adapter, AdapterOutput>) -> Vec<(u64, &'static str, u64)> {
        let mut outcome = Vec::new();
        loop {
            let mut now = u64::MAX;
            if let Some(due) = null.next_deadline() {
                now = due.saturating_since(Time::ZERO).as_ps() / 1_000_000;
                null.timer(due);
            }
            while let Some(output) = null.poll_output() {
                match output {
                    AdapterOutput::Frame { packet, .. } => outcome.push((now, "sent", packet.message)),
                    AdapterOutput::Response(AdapterResponse::Failed(packet, Loss::Launch)) => {
                        outcome.push((now, "late", packet.message));
                    }
                    AdapterOutput::Response(_) => {}
                    other => panic!("{other:?}"),
                }
            }
            if now == u64::MAX {
                return outcome;
            }
        }
    }

    /// Packets 0, 1 and 2 launch at 60, 40 and 40: 1 before 2, which was handed over after it. The link
    /// is idle until 40. Packet 2 ends at 60, when 0 may begin.
    #[test]
    fn packets_leave_in_the_order_of_their_launch_times() {
        let mut null = launching();
        for packet in [timed(0, 30), timed(1, 10), timed(2, 10)] {
            assert!(null.transmit(at(5), &packet));
        }
        assert_eq!((null.held(), null.next_deadline()), (3, Some(at(40))));
        assert_eq!(outcome(&mut null), [(50, "sent", 1), (60, "sent", 2), (70, "sent", 0)]);
        let report = null.stages(at(90)).remove(0);
        assert_eq!(
            (report.busy, report.waiting, report.longest, report.passed),
            (Span::from_us(30), 0, 3, 3)
        );
    }

    /// Best effort has the link before the first launch time. It is not interrupted at 40, and the rest
    /// of it waits for both packets that launch at 40 and at 50, though it was handed over first.
    #[test]
    fn a_launched_packet_goes_before_all_that_has_no_launch_time() {
        let mut null = launching();
        assert!(null.transmit(at(0), &timed(0, 10)));
        for message in [10, 11, 12] {
            assert!(null.transmit(at(25), &packet(message, 5)));
        }
        assert!(null.transmit(at(26), &timed(1, 20)));
        let sent = [(35, "sent", 10), (45, "sent", 11), (55, "sent", 0), (65, "sent", 1), (75, "sent", 12)];
        assert_eq!(outcome(&mut null), sent);
    }

    /// A packet that is handed over at its launch time begins at once, before best effort of that
    /// instant. A packet that is handed over a nanosecond later is lost, and the link stays idle.
    #[test]
    fn a_packet_that_is_handed_over_after_its_launch_time_is_lost() {
        let mut null = launching();
        assert!(null.transmit(at(30), &timed(0, 0)));
        assert!(null.transmit(at(30), &packet(9, 5)));
        assert!(null.transmit(at(30) + Span::from_ns(1), &timed(1, 0)));
        let lost = AdapterOutput::Response(AdapterResponse::Failed(timed(1, 0), Loss::Launch));
        assert_eq!(null.poll_output(), Some(lost));
        assert_eq!(null.held(), 2);
        assert_eq!(outcome(&mut null), [(40, "sent", 0), (50, "sent", 9)]);
        assert!(null.transmit(at(99), &timed(2, 68)));
        assert_eq!(outcome(&mut null), [(u64::MAX, "late", 2)]);
        assert_eq!((null.held(), null.next_deadline()), (0, None));
    }

    /// At 40 a packet of best effort is handed over before the device is called for the packet that
    /// launches then.
    #[test]
    fn at_its_launch_time_a_packet_goes_before_best_effort() {
        let mut null = launching();
        assert!(null.transmit(at(0), &timed(0, 10)));
        assert!(null.transmit(at(40), &packet(9, 5)));
        assert_eq!(outcome(&mut null), [(50, "sent", 0), (60, "sent", 9)]);
    }

    #[test]
    fn a_reset_gives_back_what_waits_for_its_launch_time() {
        let mut null = launching();
        assert!(null.transmit(at(0), &packet(9, 5)));
        assert!(null.transmit(at(0), &timed(0, 10)));
        null.reset(at(4));
        for lost in [packet(9, 5), timed(0, 10)] {
            let failed = AdapterResponse::Failed(lost, Loss::Reset);
            assert_eq!(null.poll_output(), Some(AdapterOutput::Response(failed)));
        }
        assert_eq!((null.held(), null.next_deadline()), (0, None));
    }

    /// A device of 4 Mbit/s with 1 Mbit/s for level 0. A packet of 5 B takes 10 us, and 30 us of credit.
    fn shaping() -> Told<Adapter, AdapterOutput> {
        let shaper = Shaper { level: 0, idle_slope: laxity_units::Rate::from_bits_per_sec(1_000_000) };
        let costs = LinkCosts::new(Span::ZERO, Span::from_us(2));
        Told::new(Adapter::Null(Null::new(costs).shaping(vec![shaper])))
    }

    fn of_level(message: u64, level: u8) -> Packet {
        let plain = packet(message, 5);
        Packet { tag: Tag { level, ..plain.tag }, ..plain }
    }

    /// The link is idle from 20 to 40 us and from 50 to 80 us, though packets wait.
    #[test]
    fn a_class_without_credit_leaves_the_link_to_others() {
        let mut null = shaping();
        for packet in [of_level(0, 0), of_level(1, 0), of_level(2, 0), of_level(9, 31)] {
            assert!(null.transmit(at(0), &packet));
        }
        assert_eq!((null.held(), null.stages(at(0))[0].waiting), (4, 3));
        assert_eq!(outcome(&mut null), [(10, "sent", 0), (20, "sent", 9), (50, "sent", 1), (90, "sent", 2)]);
        let report = null.stages(at(99)).remove(0);
        assert_eq!((report.busy, report.longest, report.passed), (Span::from_us(40), 3, 4));
        assert_eq!((null.held(), null.next_deadline()), (0, None));
    }

    /// The packet before the reset has spent the credit, and a reset device has none to repay.
    #[test]
    fn a_reset_gives_back_all_classes_and_their_credits() {
        let mut null = shaping();
        for packet in [of_level(0, 0), of_level(9, 31), of_level(1, 0)] {
            assert!(null.transmit(at(0), &packet));
        }
        null.reset(at(4));
        for lost in [of_level(0, 0), of_level(1, 0), of_level(9, 31)] {
            let failed = AdapterResponse::Failed(lost, Loss::Reset);
            assert_eq!(null.poll_output(), Some(AdapterOutput::Response(failed)));
        }
        assert_eq!((null.held(), null.next_deadline()), (0, None));
        assert!(null.transmit(at(5), &of_level(2, 0)));
        assert_eq!(outcome(&mut null), [(15, "sent", 2)]);
    }
}
