//! The response queues as the host sees them: written responses, and their announcement.
//!
//! An interrupt announces all responses of its queue. Without moderation each response interrupts;
//! with it interrupts are delayed ([`Moderation`](crate::adapter::Moderation)), and the host pays
//! for one handler entry per batch. Each queue has an interrupt of its own.

use laxity_qos::channel::{Packet, Slot};
use laxity_qos::few::Few;
use laxity_qos::short_queue::ShortQueue;
use laxity_units::Time;

use crate::adapter::{AdapterResponse, HostSide, ResponseQueue};
use crate::host::Entry;

/// The response queues of an adapter.
#[derive(Debug)]
pub(super) struct Mailbox {
    /// Assignment of responses to queues; `None` where there is only one.
    interface: Option<Box<HostSide>>,
    lines: Few<Line>,
    /// Total number of unread responses.
    unread: usize,
    /// The host is remote: announced responses are passed on even if the interrupt was lost, the
    /// last of them with the interrupt.
    elsewhere: bool,
    /// Whether the adapter counts queue entries.
    bounded: bool,
}

/// A response queue.
#[derive(Debug)]
struct Line {
    queue: ResponseQueue,
    responses: ShortQueue<AdapterResponse<Slot>>,
    /// Number of responses announced by their own or a later interrupt.
    announced: usize,
    /// Interrupts that have announced them, with handlers that have not begun.
    interrupts: usize,
    /// Responses written since the last interrupt, and when the first of them was.
    gathered: u32,
    oldest: Time,
    /// When it last interrupted.
    last: Option<Time>,
}

impl Line {
    fn new(queue: ResponseQueue) -> Self {
        let (responses, oldest) = (ShortQueue::new(), Time::ZERO);
        Self { queue, responses, announced: 0, interrupts: 0, gathered: 0, oldest, last: None }
    }

    /// Time of its next interrupt; `Time::MAX` for none.
    #[inline]
    fn due(&self) -> Time {
        match self.gathered {
            0 => Time::MAX,
            count => self.queue.moderation.due(count, self.oldest, self.last),
        }
    }

    fn take(&mut self) -> Option<AdapterResponse<Slot>> {
        let response = self.responses.pop_front()?;
        self.announced = self.announced.saturating_sub(1);
        if self.responses.is_empty() {
            // Responses that were read need no announcement.
            (self.gathered, self.interrupts) = (0, 0);
        }
        Some(response)
    }
}

impl Mailbox {
    /// Empty queues of `interface`; without one, an unlimited queue that announces each response.
    pub(super) fn new(interface: Option<&HostSide>, elsewhere: bool) -> Self {
        let queues: Vec<ResponseQueue> = match interface {
            Some(interface) => interface.all_responses().copied().collect(),
            None => vec![ResponseQueue::default()],
        };
        let lines = Few::new(queues.len(), |number| Line::new(queues[number]));
        let bounded = queues.iter().any(|queue| queue.slots.is_some());
        Self {
            interface: interface.filter(|_| !lines.is_one()).cloned().map(Box::new),
            lines,
            unread: 0,
            elsewhere,
            bounded,
        }
    }

    /// Whether there is one queue without moderation.
    pub(super) fn is_plain(&self) -> bool {
        self.lines.is_one() && self.lines.first().queue.moderation.is_none()
    }

    /// Whether an announced response is unread.
    #[inline]
    pub(super) fn is_announced(&self) -> bool {
        self.lines.any(|line| line.announced > 0)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.unread == 0
    }

    /// Number of unread responses.
    pub(super) fn len(&self) -> usize {
        self.unread
    }

    /// The adapter has written a response into a [plain](Self::is_plain) queue; its interrupt
    /// `reaches` the host, or is lost.
    #[inline]
    pub(super) fn announce(&mut self, response: AdapterResponse<Slot>, reaches: bool) {
        let line = self.lines.first_mut();
        line.responses.push_back(response);
        line.interrupts += usize::from(reaches);
        self.unread += 1;
        if reaches || self.elsewhere {
            line.announced = line.responses.len();
        }
    }

    /// The adapter has written a response about `packet`.
    pub(super) fn write(&mut self, now: Time, response: AdapterResponse<Slot>, packet: &Packet) {
        let interface = self.interface.as_ref();
        let line =
            interface.map_or(0, |interface| interface.response_queue(&response, &packet.tag, packet.channel));
        let line = &mut self.lines[line];
        line.responses.push_back(response);
        self.unread += 1;
        if line.gathered == 0 {
            line.oldest = now;
        }
        line.gathered += 1;
    }

    /// Time of the next interrupt; `Time::MAX` for never.
    #[inline]
    pub(super) fn due(&self) -> Time {
        if self.unread == 0 {
            return Time::MAX;
        }
        self.lines.iter().map(Line::due).min().unwrap_or(Time::MAX)
    }

    /// Raises due interrupts; `reaches` decides whether an interrupt reaches the host.
    #[inline]
    pub(super) fn raise(&mut self, now: Time, mut reaches: impl FnMut() -> bool) {
        for line in self.lines.iter_mut() {
            if line.due() > now {
                continue;
            }
            (line.gathered, line.last) = (0, Some(now));
            let reached = reaches();
            line.interrupts += usize::from(reached);
            if reached || self.elsewhere {
                line.announced = line.responses.len();
            }
        }
    }

    /// Makes all responses readable without an interrupt.
    pub(super) fn uncover(&mut self) {
        for line in self.lines.iter_mut() {
            line.announced = line.responses.len();
        }
    }

    /// The next announced response, or one written before an announced one, its queue, and the
    /// first cost of reading it.
    pub(super) fn read_announced(&mut self) -> Option<(AdapterResponse<Slot>, u32, Entry)> {
        let number = self.lines.iter().position(|line| line.announced > 0)?;
        let line = &mut self.lines[number];
        let told = line.interrupts > 0 && (!self.elsewhere || line.announced == 1);
        line.interrupts -= usize::from(told);
        let entry = if told { Entry::Interrupt } else { Entry::Further };
        let response = line.take()?;
        self.unread -= 1;
        Some((response, number as u32, entry))
    }

    /// The next response, announced or not, and its queue.
    pub(super) fn read(&mut self) -> Option<(AdapterResponse<Slot>, u32)> {
        let number = self.lines.iter().position(|line| !line.responses.is_empty())?;
        let line = &mut self.lines[number];
        let response = line.take()?;
        self.unread -= 1;
        Some((response, number as u32))
    }

    /// Whether the adapter needs to know the queue of each served response.
    #[inline]
    pub(super) fn is_bounded(&self) -> bool {
        self.bounded
    }
}

#[cfg(test)]
mod tests {
    use laxity_qos::channel::{ChannelId, Slots};
    use laxity_units::Span;

    use super::*;
    use crate::adapter::{CommandQueue, Moderation, Notification, QueueSelection};
    use crate::node::driver::tests::{at, packet};

    fn interface(queue: ResponseQueue) -> HostSide {
        HostSide {
            queues: vec![CommandQueue::default()],
            selection: QueueSelection::Priority,
            doorbell: Span::ZERO,
            poll: None,
            notification: Notification::Interrupt,
            responses: vec![queue],
        }
    }

    /// Channels are spread over two queues; each queue notifies the host.
    #[test]
    fn each_queue_is_heard() {
        let interface = interface(ResponseQueue { spread: 2, ..ResponseQueue::default() });
        let mut queues = Vec::new();
        for channel in (0..8).map(ChannelId) {
            let (mut mailbox, mut packets) = (Mailbox::new(Some(&interface), false), Slots::default());
            let packet = Packet { channel, ..packet() };
            let response = AdapterResponse::Transmitted(packets.put(&packet));
            mailbox.write(at(0), response, &packet);
            assert!(!mailbox.is_announced());
            mailbox.raise(at(0), || true);
            assert!(mailbox.is_announced());
            let (read, queue, entry) = mailbox.read_announced().unwrap();
            assert_eq!((read, entry, mailbox.is_announced()), (response, Entry::Interrupt, false));
            queues.push(queue);
        }
        assert!(queues.contains(&0) && queues.contains(&1), "{queues:?}");
    }

    /// A response of 0 is announced at 10, unless the host polls before; then a response of 8 waits
    /// its own delay until 18, and not the rest of the first one's.
    #[test]
    fn who_comes_after_a_look_waits_from_then_on() {
        let moderation = Moderation { frames: None, delay: Span::from_us(10), interval: Span::ZERO };
        let interface = interface(ResponseQueue { moderation, ..ResponseQueue::default() });
        let (mut mailbox, mut packets) = (Mailbox::new(Some(&interface), false), Slots::default());
        let response = AdapterResponse::Transmitted(packets.put(&packet()));
        mailbox.write(at(0), response, &packet());
        assert_eq!(mailbox.due(), at(10));
        assert_eq!(mailbox.read(), Some((response, 0)));
        assert_eq!(mailbox.due(), Time::MAX);
        mailbox.write(at(8), response, &packet());
        assert_eq!(mailbox.due(), at(18));
    }
}
