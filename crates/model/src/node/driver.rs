//! The host's device driver, between the host and an adapter that may fail to report.
//!
//! Without faults it passes packets one way and responses the other. It handles a full command
//! queue, a lost interrupt, and an adapter that stops: a packet waits here, a watchdog reads
//! unannounced responses, and an adapter that has held a packet for too long, or holds none and
//! accepts none, is reset, so that each of its packets returns as transmitted or failed. The host
//! can neither hang nor lose a buffer.
//!
//! Packets wait in the order in which the host handed them over, but a full queue of one class does
//! not block the other: that would undo the adapter's own order.

use std::collections::VecDeque;

use laxity_engine::Stream;
use laxity_qos::channel::{Packet, Slot};
use laxity_qos::discipline::Class;
use laxity_units::{Span, Time};

use super::mailbox::Mailbox;
use super::watchdog::{Look, Watchdog};
use crate::adapter::{Adapter, AdapterResponse, Notification};
use crate::host::Entry;

/// Time-outs of a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DriverConfig {
    /// Polling interval of the watchdog for unannounced responses, at its multiples; `None` for
    /// never.
    pub watchdog: Option<Span>,
    /// An adapter that has held a packet for this long, or has held none and refused one, is reset;
    /// `None` for never.
    pub reset_after: Option<Span>,
}

/// Statistics of a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DriverReport {
    /// Interrupts that the adapter raised.
    pub interrupts: u64,
    /// Those of them that were lost.
    pub lost_interrupts: u64,
    /// Responses that the watchdog found.
    pub recovered: u64,
    /// Resets of the adapter.
    pub resets: u64,
    /// Maximum number of packets that waited for room in a command queue.
    pub longest_backlog: usize,
}

#[derive(Debug)]
pub(super) struct Driver {
    notification: Notification,
    watchdog: Watchdog<Slot>,
    /// Packets that found the command queues full, by class, each with its sequence number.
    backlog: [VecDeque<(u64, Slot)>; 2],
    /// Number of packets that ever waited here, if only for an instant.
    waited: u64,
    /// Responses written and not read.
    mailbox: Mailbox,
    /// A remote host polls by itself.
    hands_over: bool,
    /// The host pays for a poll that finds no response.
    pays_for_looks: bool,
    /// Each response interrupts by itself, and there is one queue of them.
    is_plain: bool,
    /// Responses go to a remote host at once: no moderation and no bounded queue.
    passes_on: bool,
    /// Fraction of interrupts that are lost, and its random stream.
    loses: Option<Box<(f64, Stream)>>,
    pub(super) report: DriverReport,
}

impl Driver {
    /// The driver of `adapter`; `looks` is whether a local host pays for polls, `None` for a remote
    /// host.
    pub(super) fn new(config: DriverConfig, adapter: &Adapter, looks: Option<bool>) -> Self {
        let (interface, notification) = (adapter.interface(), adapter.notification());
        let polls = notification != Notification::Interrupt;
        let mailbox = Mailbox::new(interface, looks.is_none());
        Self {
            is_plain: !polls && mailbox.is_plain(),
            notification,
            watchdog: Watchdog::new(config, notification),
            backlog: [VecDeque::new(), VecDeque::new()],
            waited: 0,
            mailbox,
            hands_over: polls && looks.is_none(),
            pays_for_looks: polls && looks.unwrap_or_default(),
            passes_on: looks.is_none() && interface.is_none_or(|interface| interface.answers_plainly()),
            loses: None,
            report: DriverReport::default(),
        }
    }

    pub(super) fn lose_interrupts(&mut self, loses: Option<(f64, Stream)>) {
        self.loses = loses.map(Box::new);
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

    /// Whether a packet waits for room, or an announced response for the host.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.waiting() > 0 || self.mailbox.is_announced()
    }

    /// The oldest waiting packet of the classes that the adapter has not `refused`.
    pub(super) fn first_waiting(&self, refused: [bool; 2]) -> Option<Slot> {
        let fronts = self.backlog.iter().zip(refused).filter(|(_, refused)| !refused);
        fronts
            .filter_map(|(queue, _)| queue.front())
            .min_by_key(|(place, _)| *place)
            .map(|(_, packet)| *packet)
    }

    /// The adapter has accepted the first packet of its class.
    pub(super) fn handed(&mut self, now: Time, packet: Slot, class: Class) {
        self.backlog[class as usize].pop_front();
        self.watchdog.handed(now, packet);
    }

    /// The adapter has accepted a packet at once.
    #[inline]
    pub(super) fn passed(&mut self, now: Time, packet: Slot) {
        self.waited += 1;
        self.report.longest_backlog = self.report.longest_backlog.max(1);
        self.watchdog.handed(now, packet);
    }

    /// All possible packets have been handed over; returns the next due call, `Time::MAX` for
    /// never.
    #[inline(never)]
    pub(super) fn settled(&mut self, now: Time) -> Time {
        self.watchdog.waiting(now, self.waiting() > 0);
        self.next_deadline(now).unwrap_or(Time::MAX)
    }

    /// The adapter was reset.
    pub(super) fn has_reset(&mut self) {
        self.report.resets += 1;
        self.watchdog.has_reset();
    }

    /// Whether responses go to a remote host at once.
    #[inline]
    pub(super) fn passes_on(&self) -> bool {
        self.passes_on
    }

    /// The adapter has written a response about `packet`.
    #[inline]
    pub(super) fn written(&mut self, now: Time, response: AdapterResponse<Slot>, packet: &Packet) {
        match self.is_plain {
            true => self.mailbox.announce(response, reaches(&mut self.loses, &mut self.report)),
            false => self.gather(now, response, packet),
        }
    }

    /// Stores a response until its queue interrupts or is polled.
    #[inline(never)]
    fn gather(&mut self, now: Time, response: AdapterResponse<Slot>, packet: &Packet) {
        self.mailbox.write(now, response, packet);
        if self.hands_over {
            self.mailbox.uncover();
        }
        self.raise(now);
    }

    /// Raises the interrupts of response queues that are due.
    pub(super) fn raise(&mut self, now: Time) {
        let Self { notification, mailbox, loses, report, .. } = self;
        if *notification == Notification::Interrupt {
            mailbox.raise(now, || reaches(loses, report));
        }
    }

    /// Whether an interrupt announces a response to the host.
    pub(super) fn announces(&mut self) -> bool {
        self.notification == Notification::Interrupt && reaches(&mut self.loses, &mut self.report)
    }

    /// Whether the host pays for a poll that finds no response.
    pub(super) fn pays_for_looks(&self) -> bool {
        self.pays_for_looks
    }

    /// The next announced response, or one written before an announced one.
    #[inline]
    pub(super) fn read_announced(&mut self) -> Option<(AdapterResponse<Slot>, u32, Entry)> {
        let read = self.mailbox.read_announced()?;
        self.returned(&read.0);
        Some(read)
    }

    /// The next response, and its queue.
    pub(super) fn read(&mut self) -> Option<(AdapterResponse<Slot>, u32)> {
        let read = self.mailbox.read()?;
        self.returned(&read.0);
        Some(read)
    }

    #[inline]
    fn returned(&mut self, response: &AdapterResponse<Slot>) {
        if let AdapterResponse::Transmitted(packet) | AdapterResponse::Failed(packet, _) = response {
            self.watchdog.returned(packet);
        }
    }

    /// The host has served a response of that queue; returns the queue if the adapter counts its
    /// entries.
    #[inline]
    pub(super) fn served(&mut self, queue: u32) -> Option<usize> {
        self.mailbox.is_bounded().then_some(queue as usize)
    }

    /// Whether it is neither [busy](Self::is_busy) nor [alert](Self::is_alert).
    #[inline]
    pub(super) fn is_quiet(&self) -> bool {
        self.waiting() == 0 && !self.is_alert()
    }

    /// Whether it has to watch unread responses, or the adapter's time.
    #[inline]
    pub(super) fn is_alert(&self) -> bool {
        !self.mailbox.is_empty() || self.watchdog.is_strict() || self.pays_for_looks
    }

    /// Whether the host polls the response queue at `now` without an announcement.
    pub(super) fn looks(&mut self, now: Time) -> bool {
        if self.mailbox.is_empty() && !self.pays_for_looks {
            return false;
        }
        let Some(look) = self.watchdog.looks(now) else { return false };
        self.watchdog.looked(now);
        self.report.recovered += if look == Look::Watch { self.mailbox.len() as u64 } else { 0 };
        true
    }

    /// Whether the adapter has held a packet too long, or has refused any.
    pub(super) fn gives_up(&self, now: Time) -> bool {
        self.watchdog.gives_up(now)
    }

    fn next_deadline(&self, now: Time) -> Option<Time> {
        let idle = self.mailbox.is_empty() && !self.pays_for_looks;
        let look = if idle { None } else { self.watchdog.next_look(now) };
        let raise =
            if self.notification == Notification::Interrupt { self.mailbox.due().named() } else { None };
        Time::earlier(Time::earlier(look, self.watchdog.reset_at()), raise)
    }
}

/// Counts a raised interrupt; returns whether it reaches the host.
fn reaches(loses: &mut Option<Box<(f64, Stream)>>, report: &mut DriverReport) -> bool {
    let lost = loses.as_mut().is_some_and(|loses| loses.1.chance(loses.0));
    report.interrupts += 1;
    report.lost_interrupts += u64::from(lost);
    !lost
}

#[cfg(test)]
pub(super) mod tests {
    use laxity_engine::Seed;
    use laxity_qos::channel::{Carried, ChannelId, Slots};
    use laxity_qos::costs::LinkCosts;
    use laxity_qos::discipline::Tag;
    use laxity_qos::virtual_clock::Vtick;
    use laxity_units::Bytes;

    use super::*;
    use crate::adapter::{
        AdapterBuffers, CommandQueue, Delay, Description, HostSide, Loss, Moderation, Phase, Pipeline,
        QueueSelection, Resource, ResponseQueue, Stage,
    };

    pub(in crate::node) fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    pub(in crate::node) fn packet() -> Packet {
        let tag = Tag {
            class: Class::RealTime,
            logical_arrival: at(0),
            deadline: Time::MAX,
            tick: Vtick::NONE,
            level: 31,
        };
        let size = Bytes::new(5);
        let (due_from, sent, created, handed) = (at(0), at(0), at(0), at(0));
        Packet {
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
            carried: Carried::NOTHING,
        }
    }

    fn slots<const N: usize>() -> [Slot; N] {
        let mut packets = Slots::default();
        std::array::from_fn(|_| packets.put(&packet()))
    }

    fn driver(watchdog: Option<u64>, reset_after: Option<u64>, notification: Notification) -> Driver {
        let config = DriverConfig {
            watchdog: watchdog.map(Span::from_us),
            reset_after: reset_after.map(Span::from_us),
        };
        Driver::new(config, &adapter(notification, ResponseQueue::default()), Some(false))
    }

    /// An adapter with one response queue.
    fn adapter(notification: Notification, queue: ResponseQueue) -> Adapter {
        let phases = vec![Phase { delay: Delay::fixed(Span::from_us(1)), ..Phase::default() }];
        let stage = |name: &str| Stage { name: name.into(), phases: phases.clone(), ..Stage::default() };
        Adapter::Pipeline(Box::new(Pipeline::new(Description {
            interface: HostSide {
                queues: vec![CommandQueue::default()],
                selection: QueueSelection::Priority,
                doorbell: Span::ZERO,
                poll: None,
                notification,
                responses: vec![queue],
            },
            resources: vec![Resource {
                name: "processor".into(),
                servers: 1,
                preemptive: false,
                urgent: false,
                host: false,
                bus: None,
            }],
            transmit: vec![stage("out")],
            receive: vec![stage("in")],
            transmit_buffers: AdapterBuffers::default(),
            receive_buffers: AdapterBuffers::default(),
            transmit_policing: None,
            receive_policing: None,
            link: LinkCosts::default(),
        })))
    }

    /// Packets keep their order, but a refused class does not block the other.
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

    /// The first packet was handed over at 10 and the second at 15: a reset is due at 110, at 115
    /// once the first is back, and never once both are.
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
        driver.written(at(20), AdapterResponse::Transmitted(packets[0]), &packet());
        let first = Some((AdapterResponse::Transmitted(packets[0]), 0, Entry::Interrupt));
        assert_eq!(driver.read_announced(), first);
        assert_eq!((driver.next_deadline(at(20)), driver.read_announced()), (Some(at(115)), None));
        driver.written(at(20), AdapterResponse::Failed(packets[1], Loss::Overload), &packet());
        driver.read();
        assert_eq!((driver.next_deadline(at(20)), driver.gives_up(at(9999))), (None, false));
    }

    /// The adapter refuses since 20 and again at 30; a reset restarts the time-out.
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
        // The adapter holds another packet, so a refusal is normal.
        driver.wait(packets[1], Class::RealTime);
        driver.handed(at(140), packets[0], Class::RealTime);
        driver.settled(at(140));
        assert_eq!(driver.next_deadline(at(140)), Some(at(240)));
    }

    /// Every interrupt is lost; the watchdog polls at multiples of 50 and finds both responses at
    /// the next.
    #[test]
    fn a_watchdog_finds_what_no_interrupt_announced() {
        let mut driver = driver(Some(50), None, Notification::Interrupt);
        driver.lose_interrupts(Some((1.0, Seed::new(1).stream("interrupts"))));
        assert!(!driver.looks(at(50)) && driver.next_deadline(at(40)).is_none());
        let packets = slots::<4>();
        for packet in &packets[..2] {
            driver.written(at(40), AdapterResponse::Received(*packet), &self::packet());
        }
        assert_eq!(driver.read_announced(), None);
        assert_eq!(driver.next_deadline(at(60)), Some(at(100)));
        assert!(!driver.looks(at(99)) && driver.looks(at(100)));
        assert_eq!((driver.report.lost_interrupts, driver.report.recovered), (2, 2));
        driver.lose_interrupts(None);
        driver.written(at(101), AdapterResponse::Received(packets[2]), &packet());
        // The announcement of the third also covers the two before it, and not a fourth.
        driver.lose_interrupts(Some((1.0, Seed::new(1).stream("interrupts"))));
        driver.written(at(102), AdapterResponse::Received(packets[3]), &packet());
        let read: Vec<_> = std::iter::from_fn(|| driver.read_announced()).map(|(.., entry)| entry).collect();
        assert_eq!(read, [Entry::Interrupt, Entry::Further, Entry::Further], "one interrupt told of three");
        assert_eq!(driver.read(), Some((AdapterResponse::Received(packets[3]), 0)));
        assert_eq!(driver.report.lost_interrupts, 3);
    }

    /// A polling host gets no interrupts, so none is lost; it polls at multiples of 30, if there is
    /// a response.
    #[test]
    fn a_host_that_polls_looks_at_its_times() {
        let mut driver = driver(None, None, Notification::Poll(Span::from_us(30)));
        assert_eq!((driver.next_deadline(at(10)), driver.looks(at(30))), (None, false));
        driver.written(at(10), AdapterResponse::Received(slots::<1>()[0]), &packet());
        assert_eq!(driver.read_announced(), None);
        assert_eq!(driver.next_deadline(at(10)), Some(at(30)));
        assert!(!driver.looks(at(29)) && driver.looks(at(30)));
        assert_eq!((driver.report.recovered, driver.report.lost_interrupts), (0, 0));
    }

    /// A batch is three responses, the maximum delay is 50, and interrupts are 80 apart. The first
    /// two arrive at 10 and 20 and are announced at 60; four more arrive until 75, a full batch,
    /// and wait until 140.
    #[test]
    fn responses_wait_for_company() {
        let moderation =
            Moderation { frames: Some(3), delay: Span::from_us(50), interval: Span::from_us(80) };
        let queue = ResponseQueue { moderation, ..ResponseQueue::default() };
        let adapter = adapter(Notification::Interrupt, queue);
        let mut driver = Driver::new(DriverConfig::default(), &adapter, Some(false));
        let packets = slots::<6>();
        let read = |driver: &mut Driver| {
            std::iter::from_fn(|| driver.read_announced()).map(|(.., entry)| entry).collect::<Vec<_>>()
        };
        for (packet, us) in packets[..2].iter().zip([10, 20]) {
            driver.written(at(us), AdapterResponse::Received(*packet), &self::packet());
        }
        assert_eq!((read(&mut driver), driver.next_deadline(at(20))), (vec![], Some(at(60))));
        driver.raise(at(59));
        assert_eq!(read(&mut driver), []);
        driver.raise(at(60));
        assert_eq!(read(&mut driver), [Entry::Interrupt, Entry::Further]);
        assert_eq!(driver.next_deadline(at(60)), None);
        for (packet, us) in packets[2..].iter().zip([65, 70, 75, 76]) {
            driver.written(at(us), AdapterResponse::Received(*packet), &self::packet());
        }
        assert_eq!((read(&mut driver), driver.next_deadline(at(76))), (vec![], Some(at(140))));
        driver.raise(at(140));
        let further = [Entry::Interrupt, Entry::Further, Entry::Further, Entry::Further];
        assert_eq!((read(&mut driver), driver.report.interrupts), (further.to_vec(), 2));
    }
}
