//! The null device: a packet of `S` bytes takes `L_x(S)`, and nothing else happens.
//!
//! The papers' own emulated adapter (structuring §4.3, resource §2.3.2). It is all that a host needs of an
//! adapter to be studied: a bounded, predictable transmission time.

use std::collections::VecDeque;

use laxity_qos::channel::Packet;
use laxity_qos::costs::LinkCosts;
use laxity_units::{Span, Time};

use super::{AdapterOutput, Command, Loss, Response, StageReport};

/// Transmits one packet at a time, in the order given.
#[derive(Debug)]
pub struct Null {
    costs: LinkCosts,
    queue: VecDeque<Packet>,
    /// When the packet at the front completes.
    completes: Option<Time>,
    busy: Span,
    passed: u64,
    /// Most packets that ever waited behind the one in transmission.
    longest: usize,
    output: VecDeque<AdapterOutput>,
}

impl Null {
    /// An idle device that takes `costs` per packet.
    pub fn new(costs: LinkCosts) -> Self {
        let (queue, output) = (VecDeque::new(), VecDeque::new());
        Self { costs, queue, completes: None, busy: Span::ZERO, passed: 0, longest: 0, output }
    }

    pub(super) fn command(&mut self, now: Time, command: Command) -> Result<(), Command> {
        if let Command::Transmit(packet) = command {
            self.queue.push_back(packet);
            self.longest = self.longest.max(self.queue.len() - 1);
            if self.completes.is_none() {
                self.start(now);
            }
        }
        Ok(())
    }

    pub(super) fn receive(&mut self, _now: Time, packet: Packet) {
        self.output.push_back(AdapterOutput::Response(Response::Received(packet)));
    }

    pub(super) fn reset(&mut self, _now: Time) {
        self.completes = None;
        let lost = |packet| AdapterOutput::Response(Response::Failed(packet, Loss::Reset));
        self.output.extend(self.queue.drain(..).map(lost));
    }

    pub(super) fn held(&self) -> usize {
        self.queue.len()
    }

    fn start(&mut self, now: Time) {
        self.completes = self.queue.front().map(|packet| {
            let time = self.costs.transmit(packet.size);
            self.busy += time;
            now + time
        });
    }

    pub(super) fn timer(&mut self, now: Time) {
        if self.completes.take_if(|at| *at <= now).is_some() {
            let packet = self.queue.pop_front().expect("a packet was in transmission");
            self.passed += 1;
            let more = !self.queue.is_empty();
            self.output.push_back(AdapterOutput::Frame { packet, more });
            self.output.push_back(AdapterOutput::Response(Response::Transmitted(packet)));
            self.start(now);
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Time> {
        self.completes
    }

    pub(super) fn poll_output(&mut self) -> Option<AdapterOutput> {
        self.output.pop_front()
    }

    pub(super) fn stages(&self) -> impl Iterator<Item = StageReport> {
        let (waiting, longest) = (self.queue.len().saturating_sub(1), self.longest);
        let (name, busy, passed) = ("link".into(), self.busy, self.passed);
        std::iter::once(StageReport { name, busy, waiting, longest, passed })
    }
}
