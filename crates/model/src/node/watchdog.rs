//! Fault detection for a driver: the time for which an adapter has held a packet, and unannounced
//! responses.
//!
//! The drivers of the simulation and of real threads detect the same faults and react differently;
//! this is the common part. It has no clock and reads no queue: the driver reports hand-overs,
//! returns, and unread responses.

use std::collections::VecDeque;

use laxity_qos::seldom::seldom;
use laxity_units::{Span, Time};

use super::DriverConfig;
use crate::adapter::Notification;

/// Why a host polls the response queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Its polling time is due.
    Poll,
    /// To find unannounced responses.
    Watch,
}

/// Watchdog of an adapter; `P` names a packet.
#[derive(Debug)]
pub struct Watchdog<P> {
    config: DriverConfig,
    notification: Notification,
    /// Packets that the adapter holds, and since when; kept only with `reset_after`.
    outstanding: VecDeque<(P, Time)>,
    /// Since when packets wait and the adapter holds none.
    refused: Option<Time>,
    /// Time of the last poll: at the start of the run there are no responses.
    looked: Time,
}

impl<P: PartialEq> Watchdog<P> {
    /// A watchdog for an adapter with this notification.
    pub fn new(config: DriverConfig, notification: Notification) -> Self {
        Self { config, notification, outstanding: VecDeque::new(), refused: None, looked: Time::ZERO }
    }

    /// The adapter has accepted a packet.
    #[inline]
    pub fn handed(&mut self, now: Time, packet: P) {
        if self.config.reset_after.is_some() {
            self.outstanding.push_back((packet, now));
        }
    }

    /// A packet has returned, transmitted or lost.
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

    /// Records whether packets wait for room at `now`, after all possible hand-overs.
    pub fn waiting(&mut self, now: Time, waits: bool) {
        let refuses = waits && self.outstanding.is_empty();
        self.refused = if refuses { self.refused.or(Some(now)) } else { None };
    }

    /// Whether it limits the time of packets.
    #[inline]
    pub fn is_strict(&self) -> bool {
        self.config.reset_after.is_some()
    }

    /// Whether the adapter has held a packet too long, or has refused any, and is to be reset.
    #[inline]
    pub fn gives_up(&self, now: Time) -> bool {
        self.reset_at().is_some_and(|at| at <= now)
    }

    /// Time of that reset, as far as known; `None` for never.
    pub fn reset_at(&self) -> Option<Time> {
        let kept = self.outstanding.front().map(|(_, since)| *since);
        Some(kept.or(self.refused)? + self.config.reset_after?)
    }

    /// The adapter was reset: each packet returns as lost, or was already returning.
    pub fn has_reset(&mut self) {
        self.outstanding.clear();
        self.refused = None;
    }

    /// Why the host polls the response queue at `now` without an announcement, if it does.
    pub fn looks(&self, now: Time) -> Option<Look> {
        let on_time = |every: Span| now.is_multiple_of(every);
        match self.notification {
            Notification::Poll(every) if on_time(every) => Some(Look::Poll),
            _ => self.config.watchdog.filter(|every| on_time(*every)).map(|_| Look::Watch),
        }
    }

    /// The host has polled.
    pub fn looked(&mut self, now: Time) {
        self.looked = now;
    }

    /// Time of the next poll: `now` if it is due and not done, since another event of the same
    /// instant may have been first; `None` for never.
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

    /// Held since 10 with a limit of 100: a reset at 110, and no other while the lost packets
    /// return, though none is accepted meanwhile; a packet handed over at 150 restarts the
    /// time-out.
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

    /// A packet that waits while the adapter holds another is not refused: refusal counts from 50,
    /// when it holds none. From the next hand-over, that packet is timed.
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

    /// It polls at multiples of 30 and watches at multiples of 50; at 150 it polls, so no response
    /// counts as recovered.
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

    /// A message is offered at 60, before the host has polled: it still polls, once.
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
