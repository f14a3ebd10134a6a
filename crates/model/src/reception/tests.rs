//! Timelines by hand, the thesis's equations as limits, and what holds for every policy: nothing is lost.

mod commands;
mod conservation;
mod importance;
mod rates;
mod timelines;

use laxity_engine::Seed;
use laxity_qos::discipline::Class;
use laxity_qos::reception::{BatchSharing, Policy};
use laxity_units::{Bytes, Span, Time};

use super::*;

/// Thesis Table 7.2 with "load = 1000".
pub(super) const THESIS: ReceptionCosts = ReceptionCosts {
    interrupt: ActivityCost::Fixed(Span::from_us(28)),
    poll: ActivityCost::Fixed(Span::from_us(28)),
    switch: ActivityCost::Fixed(Span::from_us(20)),
    announce: ActivityCost::NONE,
    protocol: ActivityCost::Fixed(Span::from_us(400)),
    program: ActivityCost::Fixed(Span::from_us(347)),
};

/// An interface of the thesis: two commands, 128 buffers.
pub(super) fn interface(policy: Policy) -> InterfaceConfig {
    InterfaceConfig {
        policy,
        sharing: BatchSharing::Common,
        slots: 128,
        slots_best_effort: 0,
        handshake: true,
        transfer: Delay::default(),
        early_drop: true,
        buffers: Some(128),
        buffers_real_time: 0,
        discard: Discard::Newest,
        ticks: None,
    }
}

pub(super) fn us(n: u64) -> Time {
    Time::ZERO + Span::from_us(n)
}

pub(super) fn packet(stream: u32, at: Time) -> Arrived {
    Arrived {
        stream,
        number: 0,
        class: Class::RealTime,
        size: Bytes::new(64),
        at,
        due: Time::MAX,
        importance: 0,
    }
}

/// A receiver and what has become of packets, with the times.
pub(super) struct Bench {
    pub(super) receiver: Receiver,
    pub(super) now: Time,
    pub(super) seen: Vec<(Time, Reception)>,
}

impl Bench {
    pub(super) fn new(costs: ReceptionCosts, interfaces: Vec<InterfaceConfig>) -> Self {
        let chance = |of: &str| Seed::new(1).stream(&format!("receiver {of}"));
        let interfaces = interfaces.into_iter().enumerate();
        let interfaces = interfaces.map(|(i, config)| Interface::new(config, chance(&format!("clock {i}"))));
        let receiver = Receiver::new(costs, interfaces.collect(), chance("costs"));
        Self { receiver, now: Time::ZERO, seen: Vec::new() }
    }

    /// Lets everything happen up to `until`.
    pub(super) fn run_to(&mut self, until: Time) {
        while let Some(at) = self.receiver.next_deadline().filter(|at| *at <= until) {
            self.now = at.max(self.now);
            self.receiver.timer(self.now);
            self.collect();
        }
        self.now = until;
    }

    pub(super) fn arrive(&mut self, at: Time, interface: usize, stream: u32) {
        self.run_to(at);
        self.receiver.arrive(at, interface, packet(stream, at));
        self.collect();
    }

    fn collect(&mut self) {
        while let Some(output) = self.receiver.next_output() {
            self.seen.push(*output);
        }
    }

    /// When each packet was delivered, in microseconds, by stream.
    pub(super) fn delivered(&self) -> Vec<(u32, u64)> {
        let delivered = self.seen.iter().filter_map(|(at, output)| match output {
            Reception { packet, lost: None } => Some((packet.stream, at.as_ps() / 1_000_000)),
            Reception { lost: Some(_), .. } => None,
        });
        delivered.collect()
    }

    pub(super) fn dropped(&self, cause: Dropped) -> usize {
        let at = |output: &Reception| output.lost == Some(cause);
        self.seen.iter().filter(|(_, output)| at(output)).count()
    }
}
