//! A core of a host: its current work, and pending interrupts.

use laxity_qos::channel::{LinkId, Slot, Thread};
use laxity_qos::short_queue::ShortQueue;
use laxity_units::{Span, Time};

use super::activity::Activity;
use super::{Entry, Interrupt};

/// A pending interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) interrupt: Interrupt<Slot>,
    pub(super) entry: Entry,
    /// The adapter's link, and its response queue.
    pub(super) link: LinkId,
    pub(super) queue: u32,
}

impl Pending {
    /// The core's own timer.
    pub(super) const TIMER: Pending =
        Pending { interrupt: Interrupt::Timer, entry: Entry::Timer, link: LinkId::FIRST, queue: 0 };
    /// Another core has something for this one.
    pub(super) const CALL: Pending =
        Pending { interrupt: Interrupt::Nothing, entry: Entry::Call, link: LinkId::FIRST, queue: 0 };
}

/// A core.
#[derive(Debug)]
pub(super) struct Core {
    /// Now: at most one of a thread's work and, above it, an interrupt's.
    pub(super) running: Option<Activity>,
    /// Remaining time of the thread's work, while an interrupt is served.
    pub(super) interrupted: Option<Span>,
    pub(super) interrupt: Option<Activity>,
    /// Pending interrupts, the one being served first.
    pub(super) pending: ShortQueue<Pending>,
    pub(super) last_thread: Option<Thread>,
    /// When the subsystem wants to be woken here; `Time::MAX` for never.
    pub(super) wakeup: Time,
    /// The timer's interrupt is pending.
    pub(super) awake: bool,
    /// It has been served, and of what it found current not all may have been started.
    pub(super) woken: bool,
    /// It is idle, and has not been interrupted since.
    pub(super) asleep: bool,
}

impl Core {
    /// Whether it is to find out, beginning with `entry`, that there is no response in a queue.
    #[cold]
    pub(super) fn looks(&self, entry: Entry, (link, queue): (LinkId, u32)) -> bool {
        let look = Pending { interrupt: Interrupt::Nothing, entry, link, queue };
        self.pending.iter().any(|other| *other == look)
    }
}

impl Default for Core {
    fn default() -> Self {
        Self {
            running: None,
            interrupted: None,
            interrupt: None,
            pending: ShortQueue::new(),
            last_thread: None,
            wakeup: Time::MAX,
            awake: false,
            woken: false,
            asleep: true,
        }
    }
}

impl Core {
    /// Its timer interrupts, if that is due.
    #[inline]
    pub(super) fn wake(&mut self, now: Time) {
        if self.wakeup <= now {
            self.wakeup = Time::MAX;
            self.awake = true;
            self.pending.push_back(Pending::TIMER);
        }
    }

    /// Its current activity: an interrupt, or a thread that is not interrupted.
    pub(super) fn under_way(&self) -> Option<&Activity> {
        self.interrupt.as_ref().or(self.running.as_ref().filter(|_| self.interrupted.is_none()))
    }

    /// When it next wants to be looked at; `Time::MAX` for never.
    #[inline]
    pub(super) fn due(&self) -> Time {
        let top = self.interrupt.as_ref().or(self.running.as_ref());
        top.map_or(Time::MAX, |activity| activity.ends).min(self.wakeup)
    }
}
