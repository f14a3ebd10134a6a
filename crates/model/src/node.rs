//! A node: a host and its adapter, joined by a driver.
//!
//! What the host hands over goes into the adapter, what the adapter responds interrupts the host, and
//! both happen at the instant they are due. From outside a node is one component with one deadline.

mod driver;

use std::collections::VecDeque;

use laxity_engine::Stream;
use laxity_qos::channel::{ChannelConfig, ChannelId, Packet};
use laxity_units::{Bytes, Time};

use crate::adapter::{Access, Adapter, AdapterOutput, Breakdown, Command, Loss, Passage, Response};
use crate::host::{Endless, Host, Interrupt, Output};
use driver::Driver;
pub use driver::{DriverConfig, DriverReport};

/// What a node does to the world around it.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeOutput {
    /// A packet left the adapter, whole; whether more wait behind it.
    Departed(Packet, bool),
    /// A frame is ready for the medium.
    Request,
    /// The frame that was ready no longer is.
    Withdraw,
    /// A packet that was to be transmitted is lost.
    Failed(Packet, Loss),
    /// A received frame is lost.
    Discarded(Packet, Loss),
    /// A packet has passed a stage of the adapter; only while recording is on.
    Passed(Passage),
    /// The host's own output, but for what it says to its adapter.
    Host(Output),
    /// A response for a host that is elsewhere, and whether an interrupt announces it.
    Response(Response, bool),
}

/// A host with one adapter; or an adapter whose host is elsewhere, another thread or program that
/// speaks to it by commands and responses.
#[derive(Debug)]
pub struct Node {
    host: Option<Host>,
    driver: Driver,
    adapter: Adapter,
    now: Time,
    output: VecDeque<NodeOutput>,
}

impl Node {
    /// Joins the two.
    pub fn new(host: Host, driver: DriverConfig, adapter: Adapter) -> Self {
        let driver = Driver::new(driver, adapter.notification());
        Self { host: Some(host), driver, adapter, now: Time::ZERO, output: VecDeque::new() }
    }

    /// An adapter whose host is elsewhere, and has a driver of its own.
    pub fn without_host(adapter: Adapter) -> Self {
        let driver = Driver::new(DriverConfig::default(), adapter.notification());
        Self { host: None, driver, adapter, now: Time::ZERO, output: VecDeque::new() }
    }

    /// Opens a channel at the host, before the run; panics without one.
    pub fn open(&mut self, config: ChannelConfig) -> ChannelId {
        self.here().open(config)
    }

    fn here(&mut self) -> &mut Host {
        self.host.as_mut().expect("the node has a host")
    }

    /// Also puts out what the CPU does, for a trace.
    pub fn record_cpu(&mut self) {
        if let Some(host) = &mut self.host {
            host.record();
        }
    }

    /// Also puts out how long packets are in each stage of the adapter.
    pub fn record_stages(&mut self) {
        self.adapter.record();
    }

    /// The adapter's medium is a link of its own: it asks nobody.
    pub fn own_the_link(&mut self) {
        self.adapter.own_the_link();
    }

    /// Frames on the medium take at least `span`.
    pub fn pad_frames_to(&mut self, span: laxity_units::Span) {
        self.adapter.pad_frames_to(span);
    }

    /// The host, to look at, if it is here.
    pub fn host(&self) -> Option<&Host> {
        self.host.as_ref()
    }

    /// The adapter, to look at.
    pub fn adapter(&self) -> &Adapter {
        &self.adapter
    }

    /// What the driver has been through.
    pub fn driver(&self) -> DriverReport {
        self.driver.report
    }

    /// The application of `channel` has a message to send.
    pub fn offer(&mut self, now: Time, channel: ChannelId, size: Bytes) {
        self.here().offer(now, channel, size);
        self.settle(now);
    }

    /// The application of `channel` from now on always has another message.
    pub fn send_without_end(&mut self, now: Time, channel: ChannelId, endless: Endless) {
        self.here().send_without_end(now, channel, endless);
        self.settle(now);
    }

    /// A host that is elsewhere has written a command; waits if there is no room for it.
    pub fn command(&mut self, now: Time, command: Command) {
        match command {
            Command::Transmit(packet) => self.driver.wait(packet),
            Command::Proceed(_) => {
                self.adapter.command(now, command).expect("an answer takes no place in a queue");
            }
        }
        self.settle(now);
    }

    /// A host that is elsewhere resets its adapter.
    pub fn reset_adapter(&mut self, now: Time) {
        self.reset(now);
        self.settle(now);
    }

    /// A frame came in from the network.
    pub fn receive(&mut self, now: Time, packet: Packet) {
        self.adapter.receive(now, packet);
        self.settle(now);
    }

    /// The medium answers the adapter's request.
    pub fn medium(&mut self, now: Time, access: Access) {
        self.adapter.medium(now, access);
        self.settle(now);
    }

    /// Something in the adapter breaks, or works again.
    pub fn break_down(&mut self, now: Time, breakdown: Breakdown, broken: bool) {
        self.adapter.break_down(now, breakdown, broken);
        self.settle(now);
    }

    /// From now on that share of the adapter's interrupts is lost, as `chance` has it; `None` for none.
    pub fn lose_interrupts(&mut self, loses: Option<(f64, Stream)>) {
        self.driver.lose_interrupts(loses);
    }

    /// The time that [`next_deadline`](Self::next_deadline) named has come.
    pub fn timer(&mut self, now: Time) {
        // The adapter first: a completion that falls on the end of a step may change what comes next,
        // and real hardware would have raised it.
        if self.adapter.next_deadline().is_some_and(|at| at <= now) {
            self.adapter.timer(now);
        }
        self.pass_on(now);
        if self.driver.looks(now) {
            self.read(now);
        }
        if self.driver.gives_up(now) {
            self.reset(now);
        }
        if let Some(host) = &mut self.host
            && host.next_deadline().is_some_and(|at| at <= now)
        {
            host.timer(now);
        }
        self.settle(now);
    }

    /// When the node next wants [`timer`](Self::timer) to be called.
    pub fn next_deadline(&self) -> Option<Time> {
        let driver = self.driver.next_deadline(self.now);
        let host = self.host.as_ref().and_then(Host::next_deadline);
        Time::earlier(Time::earlier(host, self.adapter.next_deadline()), driver)
    }

    /// What the node did, oldest first.
    pub fn poll_output(&mut self) -> Option<NodeOutput> {
        self.output.pop_front()
    }

    fn reset(&mut self, now: Time) {
        self.driver.has_reset();
        self.adapter.reset(now);
        self.pass_on(now);
        // Whoever resets an adapter also reads what it had to say.
        self.read(now);
    }

    fn settle(&mut self, now: Time) {
        self.now = now;
        while self.pass_on(now) {}
        self.driver.settled(now);
    }

    /// Passes what the two put out to each other; answers whether there was anything.
    fn pass_on(&mut self, now: Time) -> bool {
        let mut any = false;
        while let Some(output) = self.host.as_mut().and_then(Host::poll_output) {
            any = true;
            match output {
                Output::Transmit(packet) => self.transmit(now, Packet { handed: now, ..packet }),
                Output::Proceed(packet) => {
                    let taken = self.adapter.command(now, Command::Proceed(packet));
                    taken.expect("an answer to an adapter takes no place in its queues");
                }
                other => self.output.push_back(NodeOutput::Host(other)),
            }
        }
        let mut refused = [false; 2];
        while self.driver.waiting() > 0
            && let Some(packet) = self.driver.first_waiting(refused)
        {
            if self.adapter.command(now, Command::Transmit(packet)).is_err() {
                refused[packet.tag.class as usize] = true;
                continue;
            }
            self.driver.handed(now, packet);
            any = true;
        }
        while let Some(output) = self.adapter.poll_output() {
            any = true;
            let output = match output {
                AdapterOutput::Response(response) if self.host.is_none() => {
                    NodeOutput::Response(response, self.driver.announces())
                }
                AdapterOutput::Response(response) => {
                    if self.driver.written(response) {
                        self.read(now);
                    }
                    continue;
                }
                AdapterOutput::Frame { packet, more } => NodeOutput::Departed(packet, more),
                AdapterOutput::Request => NodeOutput::Request,
                AdapterOutput::Withdraw => NodeOutput::Withdraw,
                AdapterOutput::Discarded(packet, loss) => NodeOutput::Discarded(packet, loss),
                AdapterOutput::Passed(passage) => NodeOutput::Passed(passage),
            };
            self.output.push_back(output);
        }
        any
    }

    /// The host has handed over a packet. If the driver has nothing to do but to pass it on, now or before it, it does.
    fn transmit(&mut self, now: Time, packet: Packet) {
        let idle = self.driver.waiting() == 0 && self.host.as_ref().is_none_or(Host::is_silent);
        if idle && self.adapter.command(now, Command::Transmit(packet)).is_ok() {
            self.driver.passed(now, packet);
        } else {
            self.driver.wait(packet);
        }
    }

    /// The host reads every response there is.
    fn read(&mut self, now: Time) {
        while let Some(response) = self.driver.read() {
            let Some(host) = &mut self.host else {
                unreachable!("responses for a host elsewhere are passed on")
            };
            let interrupt = match response {
                Response::Progress(packet) => Interrupt::Progress(packet),
                Response::Handshake(packet) => Interrupt::Handshake(packet),
                Response::Transmitted(packet) => Interrupt::Transmitted(packet),
                Response::Failed(packet, loss) => {
                    self.output.push_back(NodeOutput::Failed(packet, loss));
                    Interrupt::Failed(packet)
                }
                Response::Received(packet) => Interrupt::Received(packet.channel, packet),
            };
            host.interrupt(now, interrupt);
        }
    }
}
