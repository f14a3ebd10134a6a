//! The host's device driver: what stands between a host that wants to know and an adapter that may not say.
//!
//! While nothing is wrong it passes packets one way and responses the other. It is there for when something is: a full
//! command queue, an interrupt that never comes, an adapter that stops. Then a packet waits here, a
//! watchdog reads responses that nobody announced, and an adapter that has had a packet for too long, or has none and
//! takes none, is reset, so that each of its packets comes back as transmitted or failed. The host can neither
//! hang nor lose account of a buffer.
//!
//! Packets wait here in the order in which the host handed them over, but a full queue of one class does not
//! hold up the other: that would undo the adapter's own order.

use std::collections::VecDeque;

use laxity_engine::Stream;
use laxity_qos::channel::Slot;
use laxity_qos::discipline::Class;
use laxity_units::{Span, Time};

use super::watchdog::{Look, Watchdog};
use crate::adapter::{Notification, Response};

/// When a driver gives up waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DriverConfig {
    /// Responses that no interrupt announced are found at multiples of this; `None` for never.
    pub watchdog: Option<Span>,
    /// An adapter that has had a packet for so long, or has had none and refused one, is reset; `None` for never.
    pub reset_after: Option<Span>,
}

/// What a driver has been through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DriverReport {
    /// Interrupts that were lost.
    pub lost_interrupts: u64,
    /// Responses that the watchdog found.
    pub recovered: u64,
    /// Resets of the adapter.
    pub resets: u64,
    /// Most packets that waited for room in a command queue.
    pub longest_backlog: usize,
}

#[derive(Debug)]
pub(super) struct Driver {
    notification: Notification,
    watchdog: Watchdog<Slot>,
    /// Packets that found the command queues full, by class, each with its place in the order.
    backlog: [VecDeque<(u64, Slot)>; 2],
    /// Packets that ever waited here, if only for an instant.
    waited: u64,
    /// What the adapter has written and the host not read.
    responses: VecDeque<Response<Slot>>,
    /// How many of them an interrupt has announced, or a later one's.
    announced: usize,
    /// The share of interrupts that get lost, and the chance that decides.
    loses: Option<(f64, Stream)>,
    pub(super) report: DriverReport,
}

impl Driver {
    pub(super) fn new(config: DriverConfig, notification: Notification) -> Self {
        Self {
            notification,
            watchdog: Watchdog::new(config, notification),
            backlog: [VecDeque::new(), VecDeque::new()],
            waited: 0,
            responses: VecDeque::new(),
            announced: 0,
            loses: None,
            report: DriverReport::default(),
        }
    }

    pub(super) fn lose_interrupts(&mut self, loses: Option<(f64, Stream)>) {
        self.loses = loses;
    }

    pub(super) fn wait(&mut self, packet: Slot, class: Class) {
        self.backlog[class as usize].push_back((self.waited, packet));
        self.waited += 1;
        self.report.longest_backlog = self.report.longest_backlog.max(self.waiting());
    }

    /// Packets that wait for room in a command queue.
    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.backlog[0].len() + self.backlog[1].len()
    }

    /// Whether a packet waits for room, or a response for the host to read it.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.waiting() > 0 || self.announced > 0
    }

    /// The packet that has waited longest among classes that the adapter has not `refused`.
    pub(super) fn first_waiting(&self, refused: [bool; 2]) -> Option<Slot> {
        let fronts = self.backlog.iter().zip(refused).filter(|(_, refused)| !refused);
        fronts
            .filter_map(|(queue, _)| queue.front())
            .min_by_key(|(place, _)| *place)
            .map(|(_, packet)| *packet)
    }

    /// The adapter has taken the packet that is the first of its class.
    pub(super) fn handed(&mut self, now: Time, packet: Slot, class: Class) {
        self.backlog[class as usize].pop_front();
        self.watchdog.handed(now, packet);
    }

    /// The adapter has taken a packet at once, which waited for no more than that.
    pub(super) fn passed(&mut self, now: Time, packet: Slot) {
        self.waited += 1;
        self.report.longest_backlog = self.report.longest_backlog.max(1);
        self.watchdog.handed(now, packet);
    }

    /// All that could be handed over has been; answers when it next has something to do, `Time::MAX` for never.
    pub(super) fn settled(&mut self, now: Time) -> Time {
        self.watchdog.waiting(now, self.waiting() > 0);
        self.next_deadline(now).unwrap_or(Time::MAX)
    }

    /// The adapter was reset.
    pub(super) fn has_reset(&mut self) {
        self.report.resets += 1;
        self.watchdog.has_reset();
    }

    /// The adapter has written a response.
    pub(super) fn written(&mut self, response: Response<Slot>) {
        self.responses.push_back(response);
        if self.announces() {
            self.announced = self.responses.len();
        }
    }

    /// Whether an interrupt tells the host of a response.
    pub(super) fn announces(&mut self) -> bool {
        if self.notification != Notification::Interrupt {
            return false;
        }
        let lost = self.loses.as_mut().is_some_and(|(share, chance)| chance.chance(*share));
        self.report.lost_interrupts += u64::from(lost);
        !lost
    }

    /// The next response that the host was told of, or that was written before one of those.
    #[inline]
    pub(super) fn read_announced(&mut self) -> Option<Response<Slot>> {
        if self.announced == 0 { None } else { self.read() }
    }

    /// The next response.
    pub(super) fn read(&mut self) -> Option<Response<Slot>> {
        let response = self.responses.pop_front()?;
        self.announced = self.announced.saturating_sub(1);
        if let Response::Transmitted(packet) | Response::Failed(packet, _) = &response {
            self.watchdog.returned(packet);
        }
        Some(response)
    }

    /// Whether it has anything to watch: responses that nobody has read, or how long the adapter takes.
    #[inline]
    pub(super) fn is_alert(&self) -> bool {
        !self.responses.is_empty() || self.watchdog.is_strict()
    }

    /// Whether the host looks at the response queue at `now` without having been told.
    pub(super) fn looks(&mut self, now: Time) -> bool {
        if self.responses.is_empty() {
            return false;
        }
        let look = self.watchdog.looks(now);
        self.report.recovered += if look == Some(Look::Watch) { self.responses.len() as u64 } else { 0 };
        look.is_some()
    }

    /// Whether the adapter has kept a packet too long, or has refused any.
    pub(super) fn gives_up(&self, now: Time) -> bool {
        self.watchdog.gives_up(now)
    }

    fn next_deadline(&self, now: Time) -> Option<Time> {
        let look = if self.responses.is_empty() { None } else { self.watchdog.next_look(now) };
        Time::earlier(look, self.watchdog.reset_at())
    }
}

#[cfg(test)]
mod tests {
    use laxity_engine::Seed;
    use laxity_qos::channel::{ChannelId, Packet, Slots};
    use laxity_qos::discipline::Tag;
    use laxity_units::Bytes;

    use super::*;
    use crate::adapter::Loss;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// Names of places with packets.
    fn slots<const N: usize>() -> [Slot; N] {
        let tag = Tag { class: Class::RealTime, logical_arrival: at(0), deadline: Time::MAX, level: 31 };
        let size = Bytes::new(5);
        let (due_from, sent, created, handed) = (at(0), at(0), at(0), at(0));
        let packet = Packet {
            channel: ChannelId(0),
            message: 0,
            index: 0,
            count: 1,
            size,
            message_size: size,
            tag,
            due_from,
            sent,
            created,
            handed,
        };
        let mut packets = Slots::default();
        std::array::from_fn(|_| packets.put(&packet))
    }

    fn driver(watchdog: Option<u64>, reset_after: Option<u64>, notification: Notification) -> Driver {
        let config = DriverConfig {
            watchdog: watchdog.map(Span::from_us),
            reset_after: reset_after.map(Span::from_us),
        };
        Driver::new(config, notification)
    }

    /// In the order in which they were handed over, but a class that is refused does not hold up the other.
    #[test]
    fn packets_wait_in_order() {
        let mut driver = driver(None, None, Notification::Interrupt);
        let packets = slots::<3>();
        let classes = [Class::BestEffort, Class::RealTime, Class::BestEffort];
        for (packet, class) in packets.into_iter().zip(classes) {
            driver.wait(packet, class);
        }
        assert_eq!((driver.waiting(), driver.report.longest_backlog), (3, 3));
        assert_eq!(driver.first_waiting([false, false]), Some(packets[0]));
        assert_eq!(driver.first_waiting([false, true]), Some(packets[1]));
        assert_eq!(driver.first_waiting([true, true]), None);
        driver.handed(at(0), packets[0], classes[0]);
        assert_eq!(driver.first_waiting([false, false]), Some(packets[1]));
        assert_eq!(driver.first_waiting([true, false]), Some(packets[2]));
        driver.handed(at(0), packets[1], classes[1]);
        driver.handed(at(0), packets[2], classes[2]);
        assert_eq!((driver.waiting(), driver.report.longest_backlog), (0, 3));
        assert_eq!(driver.next_deadline(at(0)), None, "nothing is to be waited for");
    }

    /// The first packet was handed over at 10 and the second at 15: a reset is due at 110, at 115 once the first is back, and
    /// never once both are.
    #[test]
    fn a_packet_that_is_kept_too_long_calls_for_a_reset() {
        let mut driver = driver(None, Some(100), Notification::Interrupt);
        let packets = slots::<2>();
        for (packet, class, us) in [(packets[0], Class::BestEffort, 10), (packets[1], Class::RealTime, 15)] {
            driver.wait(packet, class);
            driver.handed(at(us), packet, class);
        }
        assert_eq!(driver.next_deadline(at(20)), Some(at(110)));
        assert!(!driver.gives_up(at(109)) && driver.gives_up(at(110)));
        driver.written(Response::Transmitted(packets[0]));
        assert_eq!(driver.read_announced(), Some(Response::Transmitted(packets[0])));
        assert_eq!((driver.next_deadline(at(20)), driver.read_announced()), (Some(at(115)), None));
        driver.written(Response::Failed(packets[1], Loss::Overload));
        driver.read();
        assert_eq!((driver.next_deadline(at(20)), driver.gives_up(at(9999))), (None, false));
    }

    /// Refused since 20, though it is refused again at 30; a reset starts that anew.
    #[test]
    fn an_adapter_that_refuses_calls_for_a_reset() {
        let mut driver = driver(None, Some(100), Notification::Interrupt);
        let packets = slots::<2>();
        driver.settled(at(10));
        assert_eq!(driver.next_deadline(at(10)), None, "nothing waits");
        driver.wait(packets[0], Class::RealTime);
        driver.settled(at(20));
        driver.settled(at(30));
        assert_eq!(driver.next_deadline(at(30)), Some(at(120)));
        driver.has_reset();
        assert_eq!((driver.next_deadline(at(120)), driver.report.resets), (None, 1));
        driver.settled(at(130));
        assert_eq!(driver.next_deadline(at(130)), Some(at(230)));
        // Another is with the adapter, so that it refuses is no wonder.
        driver.wait(packets[1], Class::RealTime);
        driver.handed(at(140), packets[0], Class::RealTime);
        driver.settled(at(140));
        assert_eq!(driver.next_deadline(at(140)), Some(at(240)));
    }

    /// Every interrupt is lost; the watchdog looks at multiples of 50 and finds both responses at the next.
    #[test]
    fn a_watchdog_finds_what_no_interrupt_announced() {
        let mut driver = driver(Some(50), None, Notification::Interrupt);
        driver.lose_interrupts(Some((1.0, Seed::new(1).stream("interrupts"))));
        assert!(!driver.looks(at(50)) && driver.next_deadline(at(40)).is_none());
        let packets = slots::<4>();
        for packet in &packets[..2] {
            driver.written(Response::Received(*packet));
        }
        assert_eq!(driver.read_announced(), None);
        assert_eq!(driver.next_deadline(at(60)), Some(at(100)));
        assert!(!driver.looks(at(99)) && driver.looks(at(100)));
        assert_eq!((driver.report.lost_interrupts, driver.report.recovered), (2, 2));
        driver.lose_interrupts(None);
        driver.written(Response::Received(packets[2]));
        // Whoever is told of the third reads the two before it, and not a fourth that nobody announces.
        driver.lose_interrupts(Some((1.0, Seed::new(1).stream("interrupts"))));
        driver.written(Response::Received(packets[3]));
        let read = std::iter::from_fn(|| driver.read_announced()).count();
        assert_eq!((read, driver.read()), (3, Some(Response::Received(packets[3]))));
        assert_eq!(driver.report.lost_interrupts, 3);
    }

    /// A host that polls is told nothing, so nothing can get lost; it looks at multiples of 30, if there is anything.
    #[test]
    fn a_host_that_polls_looks_at_its_times() {
        let mut driver = driver(None, None, Notification::Poll(Span::from_us(30)));
        assert_eq!((driver.next_deadline(at(10)), driver.looks(at(30))), (None, false));
        driver.written(Response::Received(slots::<1>()[0]));
        assert_eq!(driver.read_announced(), None);
        assert_eq!(driver.next_deadline(at(10)), Some(at(30)));
        assert!(!driver.looks(at(29)) && driver.looks(at(30)));
        assert_eq!((driver.report.recovered, driver.report.lost_interrupts), (0, 0));
    }
}
