//! The null device: a packet of `S` bytes takes `L_x(S)`, and nothing else happens.
//!
//! The papers' own emulated adapter (structuring §4.3, resource §2.3.2). It is all that a host needs of an
//! adapter to be studied: a bounded, predictable transmission time.

use std::collections::VecDeque;

use laxity_qos::channel::Packet;
use laxity_qos::costs::LinkCosts;
use laxity_units::{Span, Time};

use super::{AdapterOutput, Command, Loss, Response};

/// Transmits one packet at a time, in the order given.
#[derive(Debug)]
pub struct Null {
    costs: LinkCosts,
    queue: VecDeque<Packet>,
    /// When the packet at the front completes.
    completes: Option<Time>,
    busy: Span,
    output: VecDeque<AdapterOutput>,
}

impl Null {
    /// An idle device that takes `costs` per packet.
    pub fn new(costs: LinkCosts) -> Self {
        Self { costs, queue: VecDeque::new(), completes: None, busy: Span::ZERO, output: VecDeque::new() }
    }

    pub(super) fn command(&mut self, now: Time, command: Command) -> Result<(), Command> {
        if let Command::Transmit(packet) = command {
            self.queue.push_back(packet);
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

    pub(super) fn busy(&self) -> Span {
        self.busy
    }
}
