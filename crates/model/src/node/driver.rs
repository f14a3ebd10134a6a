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
use laxity_qos::channel::Packet;
use laxity_units::{Span, Time};

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
    config: DriverConfig,
    notification: Notification,
    /// Packets that found the command queues full, by class, each with its place in the order.
    backlog: [VecDeque<(u64, Packet)>; 2],
    /// Packets that ever waited here, if only for an instant.
    waited: u64,
    /// Since when packets wait and the adapter has none.
    refused: Option<Time>,
    /// What the adapter has written and the host not read.
    responses: VecDeque<Response>,
    /// Packets that the adapter has, and since when; kept only if that matters.
    outstanding: VecDeque<(Packet, Time)>,
    /// The share of interrupts that get lost, and the chance that decides.
    loses: Option<(f64, Stream)>,
    pub(super) report: DriverReport,
}

impl Driver {
    pub(super) fn new(config: DriverConfig, notification: Notification) -> Self {
        Self {
            config,
            notification,
            backlog: [VecDeque::new(), VecDeque::new()],
            waited: 0,
            refused: None,
            responses: VecDeque::new(),
            outstanding: VecDeque::new(),
            loses: None,
            report: DriverReport::default(),
        }
    }

    pub(super) fn lose_interrupts(&mut self, loses: Option<(f64, Stream)>) {
        self.loses = loses;
    }

    pub(super) fn wait(&mut self, packet: Packet) {
        self.backlog[packet.tag.class as usize].push_back((self.waited, packet));
        self.waited += 1;
        self.report.longest_backlog = self.report.longest_backlog.max(self.waiting());
    }

    /// Packets that wait for room in a command queue.
    pub(super) fn waiting(&self) -> usize {
        self.backlog.iter().map(VecDeque::len).sum()
    }

    /// The packet that has waited longest among classes that the adapter has not `refused`.
    pub(super) fn first_waiting(&self, refused: [bool; 2]) -> Option<Packet> {
        let fronts = self.backlog.iter().zip(refused).filter(|(_, refused)| !refused);
        fronts
            .filter_map(|(queue, _)| queue.front())
            .min_by_key(|(place, _)| *place)
            .map(|(_, packet)| *packet)
    }

    /// The adapter has taken the first packet of its class.
    pub(super) fn handed(&mut self, now: Time, packet: Packet) {
        self.backlog[packet.tag.class as usize].pop_front();
        if self.config.reset_after.is_some() {
            self.outstanding.push_back((packet, now));
        }
    }

    /// All that could be handed over has been.
    pub(super) fn settled(&mut self, now: Time) {
        let refuses = self.waiting() > 0 && self.outstanding.is_empty();
        self.refused = if refuses { self.refused.or(Some(now)) } else { None };
    }

    /// The adapter was reset.
    pub(super) fn has_reset(&mut self) {
        self.report.resets += 1;
        self.refused = None;
    }

    /// The adapter has written a response; answers whether the host reads it now.
    pub(super) fn written(&mut self, response: Response) -> bool {
        self.responses.push_back(response);
        self.announces()
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

    pub(super) fn read(&mut self) -> Option<Response> {
        let response = self.responses.pop_front()?;
        if let Response::Transmitted(packet) | Response::Failed(packet, _) = &response {
            let at = self.outstanding.iter().position(|(other, _)| other.is_same(packet));
            if let Some(at) = at {
                self.outstanding.remove(at);
            }
        }
        Some(response)
    }

    /// Whether the host looks at the response queue at `now` without having been told.
    pub(super) fn looks(&mut self, now: Time) -> bool {
        if self.responses.is_empty() {
            return false;
        }
        let on_time = |every: Span| now.is_multiple_of(every);
        if matches!(self.notification, Notification::Poll(every) if on_time(every)) {
            return true;
        }
        let found = self.config.watchdog.is_some_and(on_time);
        self.report.recovered += if found { self.responses.len() as u64 } else { 0 };
        found
    }

    /// Whether the adapter has kept a packet too long, or has refused any.
    pub(super) fn gives_up(&self, now: Time) -> bool {
        self.reset_at().is_some_and(|at| at <= now)
    }

    fn reset_at(&self) -> Option<Time> {
        let kept = self.outstanding.front().map(|(_, since)| *since);
        Some(kept.or(self.refused)? + self.config.reset_after?)
    }

    pub(super) fn next_deadline(&self, now: Time) -> Option<Time> {
        let next = |every: Span| now.next_multiple_of(every);
        let unread = !self.responses.is_empty();
        let poll = match self.notification {
            Notification::Poll(every) if unread => Some(next(every)),
            _ => None,
        };
        let watchdog = self.config.watchdog.filter(|_| unread).map(next);
        [poll, watchdog, self.reset_at()].into_iter().flatten().min()
    }
}
