//! What tells a driver that something is wrong: how long an adapter has had a packet, and responses that nobody announced.
//!
//! A driver in a simulation and one in a thread notice the same things and differ in what they then do, so this is theirs in
//! common. It keeps no clock and reads no queue: it is told what is handed over, what has come back, and whether anything is
//! unread.

use std::collections::VecDeque;

use laxity_qos::seldom::seldom;
use laxity_units::{Span, Time};

use super::DriverConfig;
use crate::adapter::Notification;

/// Why a host looks at the response queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// It polls, and it is time.
    Poll,
    /// To find what no interrupt announced.
    Watch,
}

/// Watches over an adapter whose packets are named by `P`.
#[derive(Debug)]
pub struct Watchdog<P> {
    config: DriverConfig,
    notification: Notification,
    /// Packets that the adapter has, and since when; kept only if that matters.
    outstanding: VecDeque<(P, Time)>,
    /// Since when packets wait and the adapter has none.
    refused: Option<Time>,
    /// When the host looked last: as the run begins there is nothing to see.
    looked: Time,
}

impl<P: PartialEq> Watchdog<P> {
    /// Watches as `config` has it over an adapter that announces responses as `notification` has it.
    pub fn new(config: DriverConfig, notification: Notification) -> Self {
        Self { config, notification, outstanding: VecDeque::new(), refused: None, looked: Time::ZERO }
    }

    /// The adapter has taken a packet.
    #[inline]
    pub fn handed(&mut self, now: Time, packet: P) {
        if self.config.reset_after.is_some() {
            self.outstanding.push_back((packet, now));
        }
    }

    /// A packet has come back, transmitted or lost.
    #[inline]
    pub fn returned(&mut self, packet: &P) {
        if seldom(!self.outstanding.is_empty()) {
            self.has_come_back(packet);
        }
    }

    #[inline(never)]
    fn has_come_back(&mut self, packet: &P) {
        if let Some(at) = self.outstanding.iter().position(|(other, _)| other == packet) {
            self.outstanding.remove(at);
        }
    }

    /// Whether packets wait for room at `now`, all that could be handed over having been.
    pub fn waiting(&mut self, now: Time, waits: bool) {
        let refuses = waits && self.outstanding.is_empty();
        self.refused = if refuses { self.refused.or(Some(now)) } else { None };
    }

    /// Whether it watches how long packets take.
    #[inline]
    pub fn is_strict(&self) -> bool {
        self.config.reset_after.is_some()
    }

    /// Whether the adapter has kept a packet too long, or has refused any, and is to be reset.
    #[inline]
    pub fn gives_up(&self, now: Time) -> bool {
        self.reset_at().is_some_and(|at| at <= now)
    }

    /// When that will be, as far as is known; `None` for never.
    pub fn reset_at(&self) -> Option<Time> {
        let kept = self.outstanding.front().map(|(_, since)| *since);
        Some(kept.or(self.refused)? + self.config.reset_after?)
    }

    /// The adapter was reset: each packet comes back as lost, or was on its way back already.
    pub fn has_reset(&mut self) {
        self.outstanding.clear();
        self.refused = None;
    }

    /// Why the host looks at the response queue at `now` without having been told, if it does.
    pub fn looks(&self, now: Time) -> Option<Look> {
        let on_time = |every: Span| now.is_multiple_of(every);
        match self.notification {
            Notification::Poll(every) if on_time(every) => Some(Look::Poll),
            _ => self.config.watchdog.filter(|every| on_time(*every)).map(|_| Look::Watch),
        }
    }

    /// The host has looked.
    pub fn looked(&mut self, now: Time) {
        self.looked = now;
    }

    /// When it next does: at `now` if it is time and it has not looked, for another thing that happens at the same instant may have come first; `None` for never.
    pub fn next_look(&self, now: Time) -> Option<Time> {
        let is_to_come = |every: Span| now.is_multiple_of(every) && self.looked != now;
        let next = |every: Span| if is_to_come(every) { now } else { now.next_multiple_of(every) };
        let poll = match self.notification {
            Notification::Poll(every) => Some(next(every)),
            Notification::Interrupt => None,
        };
        Time::earlier(poll, self.config.watchdog.map(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// Kept since 10 with a limit of 100: a reset at 110, and no other while what was lost by it is still on its way back,
    /// though nothing is taken meanwhile; what is handed over at 150 is watched anew.
    #[test]
    fn one_reset_is_enough() {
        let config = DriverConfig { watchdog: None, reset_after: Some(Span::from_us(100)) };
        let mut watchdog = Watchdog::new(config, Notification::Interrupt);
        watchdog.handed(at(10), 'a');
        watchdog.handed(at(20), 'b');
        assert!(!watchdog.gives_up(at(109)) && watchdog.gives_up(at(110)));
        watchdog.has_reset();
        assert_eq!((watchdog.gives_up(at(1000)), watchdog.reset_at()), (false, None));
        watchdog.handed(at(150), 'c');
        watchdog.returned(&'a');
        assert_eq!(watchdog.reset_at(), Some(at(250)));
        watchdog.returned(&'c');
        assert_eq!(watchdog.reset_at(), None);
    }

    /// What waits while the adapter has a packet is not refused: that is from 50 on, when it has none. From when it takes another, that is what is watched.
    #[test]
    fn who_has_a_packet_refuses_nobody() {
        let config = DriverConfig { watchdog: None, reset_after: Some(Span::from_us(100)) };
        let mut watchdog = Watchdog::new(config, Notification::Interrupt);
        watchdog.handed(at(10), 'a');
        watchdog.waiting(at(20), true);
        assert_eq!(watchdog.reset_at(), Some(at(110)));
        watchdog.returned(&'a');
        watchdog.waiting(at(50), true);
        assert_eq!(watchdog.reset_at(), Some(at(150)));
        watchdog.handed(at(60), 'b');
        assert_eq!(watchdog.reset_at(), Some(at(160)));
    }

    /// It polls at multiples of 30 and watches at multiples of 50; at 150 it polls, so that nothing is found by chance.
    #[test]
    fn whoever_polls_is_watched_too() {
        let config = DriverConfig { watchdog: Some(Span::from_us(50)), reset_after: None };
        let mut watchdog = Watchdog::<char>::new(config, Notification::Poll(Span::from_us(30)));
        let looks = [30, 40, 50, 60, 150].map(|us| watchdog.looks(at(us)));
        assert_eq!(looks, [Some(Look::Poll), None, Some(Look::Watch), Some(Look::Poll), Some(Look::Poll)]);
        let next = [0, 30, 50, 120].map(|us| {
            watchdog.looked(at(us));
            watchdog.next_look(at(us))
        });
        assert_eq!(next, [30, 50, 60, 150].map(|us| Some(at(us))));
    }

    /// A message is offered at 60, before the host has looked: it still does, once.
    #[test]
    fn a_look_is_not_passed_over() {
        let config = DriverConfig { watchdog: None, reset_after: None };
        let mut watchdog = Watchdog::<char>::new(config, Notification::Poll(Span::from_us(30)));
        assert_eq!(watchdog.next_look(at(59)), Some(at(60)));
        assert_eq!(watchdog.next_look(at(60)), Some(at(60)));
        watchdog.looked(at(60));
        assert_eq!(watchdog.next_look(at(60)), Some(at(90)));
    }
}
