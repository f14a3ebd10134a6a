//! A node: a host and its adapter, joined.
//!
//! What the host hands over goes into the adapter, what the adapter completes interrupts the host, and
//! both happen at the instant they are due. From outside a node is one component with one deadline.

use std::collections::VecDeque;

use laxity_engine::Stream;
use laxity_qos::channel::{ChannelConfig, ChannelId, Packet};
use laxity_units::{Bytes, Time};

use crate::adapter::{Adapter, AdapterOutput};
use crate::host::{Host, Interrupt, Output};
use crate::source::Sizes;

/// What a node does to the world around it.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeOutput {
    /// A packet left the adapter, whole.
    Departed(Packet),
    /// The host's own output, but for the packets it hands to its adapter.
    Host(Output),
}

/// A host with one adapter.
#[derive(Debug)]
pub struct Node {
    host: Host,
    adapter: Adapter,
    output: VecDeque<NodeOutput>,
}

impl Node {
    /// Joins the two.
    pub fn new(host: Host, adapter: Adapter) -> Self {
        Self { host, adapter, output: VecDeque::new() }
    }

    /// Opens a channel at the host, before the run.
    pub fn open(&mut self, config: ChannelConfig) -> ChannelId {
        self.host.open(config)
    }

    /// Also puts out what the CPU does, for a trace.
    pub fn record(&mut self) {
        self.host.record();
    }

    /// The host, to look at.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The adapter, to look at.
    pub fn adapter(&self) -> &Adapter {
        &self.adapter
    }

    /// The application of `channel` has a message to send.
    pub fn offer(&mut self, now: Time, channel: ChannelId, size: Bytes) {
        self.host.offer(now, channel, size);
        self.settle(now);
    }

    /// The application of `channel` from now on always has another message, of sizes drawn from `random`.
    pub fn saturate(&mut self, now: Time, channel: ChannelId, sizes: Sizes, random: Stream) {
        self.host.saturate(now, channel, sizes, random);
        self.settle(now);
    }

    /// A packet came in from the network.
    pub fn receive(&mut self, now: Time, channel: ChannelId, packet: Packet) {
        self.host.interrupt(now, Interrupt::Received(channel, packet));
        self.settle(now);
    }

    /// The time that [`next_deadline`](Self::next_deadline) named has come.
    pub fn timer(&mut self, now: Time) {
        // The adapter first: a completion that falls on the end of a step may change what comes next,
        // and real hardware would have raised it.
        if self.adapter.next_deadline().is_some_and(|at| at <= now) {
            self.adapter.timer(now);
        }
        self.pass_on(now);
        if self.host.next_deadline().is_some_and(|at| at <= now) {
            self.host.timer(now);
        }
        self.settle(now);
    }

    /// When the node next wants [`timer`](Self::timer) to be called.
    pub fn next_deadline(&self) -> Option<Time> {
        [self.host.next_deadline(), self.adapter.next_deadline()].into_iter().flatten().min()
    }

    /// What the node did, oldest first.
    pub fn poll_output(&mut self) -> Option<NodeOutput> {
        self.output.pop_front()
    }

    fn settle(&mut self, now: Time) {
        while self.pass_on(now) {}
    }

    /// Passes what the two put out to each other; answers whether there was anything.
    fn pass_on(&mut self, now: Time) -> bool {
        let mut any = false;
        while let Some(output) = self.host.poll_output() {
            any = true;
            match output {
                Output::Transmit(packet) => self.adapter.transmit(now, Packet { handed: now, ..packet }),
                other => self.output.push_back(NodeOutput::Host(other)),
            }
        }
        while let Some(AdapterOutput::Transmitted(packet)) = self.adapter.poll_output() {
            any = true;
            self.output.push_back(NodeOutput::Departed(packet));
            self.host.interrupt(now, Interrupt::Transmitted(packet));
        }
        any
    }
}
