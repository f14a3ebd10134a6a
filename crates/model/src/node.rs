//! A node: a host and its adapter, joined by a driver.
//!
//! What the host hands over goes into the adapter, what the adapter responds interrupts the host, and
//! both happen at the instant they are due. From outside a node is one component with one deadline.
//!
//! ```text
//! Host ──Transmit──▶ transmit ──▶ Adapter     a packet goes down in one call, unless it has to wait in the driver
//!   ▲                                │
//!   └── Interrupt ◀── Driver ◀── Response     and is read when the call that brought it up is over
//! ```
//!
//! Each of them tells somebody what it does while it does it; who that is, is said here: [`of_host`] and [`of_adapter`].
//! What is of the world is told to whoever called the node.

mod driver;
mod mailbox;
mod watchdog;

use laxity_engine::Stream;
use laxity_qos::channel::{ChannelConfig, ChannelId, Computing, Packet, Slot, Slots};
use laxity_units::{Bytes, Span, Time};

use crate::adapter::{Access, Adapter, AdapterOutput, Breakdown, Command, Contract, Loss, Passage, Response};
use crate::around::{Around, Heard};
use crate::host::{Endless, Entry, Host, Interrupt, Output};
use driver::Driver;
pub use driver::{DriverConfig, DriverReport};
pub use watchdog::{Look, Watchdog};

/// What a node does to the world around it; `P` is by what a packet is named.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NodeOutput<P = Packet> {
    /// A packet left the adapter, whole; whether more wait behind it.
    Departed(P, bool),
    /// A packet begins to leave the adapter, and when the last of it will have; only where that is
    /// [announced](Node::announce_packets).
    Begun(P, Time),
    /// A frame is ready for the medium.
    Request,
    /// The frame that was ready no longer is.
    Withdraw,
    /// A packet that was to be transmitted is lost.
    Failed(P, Loss),
    /// A received frame is lost.
    Discarded(P, Loss),
    /// A packet has passed a stage of the adapter; only while recording is on.
    Passed(Passage),
    /// The host's own output, but for what it says to its adapter.
    Host(Output<Slot>),
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
    /// The packets of all three.
    packets: Slots,
    /// When it wants to be called; `Time::MAX` for never.
    due: Time,
}

impl Node {
    /// Joins the two.
    pub fn new(host: Host, driver: DriverConfig, adapter: Adapter) -> Self {
        let driver = Driver::new(driver, &adapter, Some(host.pays_for_looks()));
        let due = host.due();
        Self { host: Some(host), driver, adapter, packets: Slots::default(), due }
    }

    /// An adapter whose host is elsewhere, and has a driver of its own.
    pub fn without_host(adapter: Adapter) -> Self {
        let driver = Driver::new(DriverConfig::default(), &adapter, None);
        Self { host: None, driver, adapter, packets: Slots::default(), due: Time::MAX }
    }

    /// Says which groups of channels have a rate together, before the run.
    pub fn group(&mut self, groups: &laxity_qos::discipline::Groups) {
        self.host.iter_mut().for_each(|host| host.group(groups));
        self.adapter.group(groups);
    }

    /// Opens a channel at the host, before the run; panics without one.
    pub fn open(&mut self, config: ChannelConfig) -> ChannelId {
        self.host.as_mut().expect("the node has a host").open(config)
    }

    /// The same by a number of the channel's own, which it has at every host of its way.
    pub fn open_as(&mut self, id: ChannelId, config: ChannelConfig) {
        self.host.as_mut().expect("the node has a host").open_as(id, config);
    }

    /// The adapter is told of a channel that is established through it, before the run.
    pub fn establish(&mut self, id: ChannelId, contract: &Contract) {
        self.adapter.establish(id, contract);
    }

    /// Adds an application that computes at the host, before the run; panics without one.
    pub fn compute(&mut self, config: Computing) {
        let host = self.host.as_mut().expect("the node has a host");
        host.compute(config);
        self.due = self.due.min(host.due());
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

    /// Also puts out when a packet begins to leave. Panics if the adapter is described: then the medium knows it, and nobody
    /// before.
    pub fn announce_packets(&mut self) {
        match &mut self.adapter {
            Adapter::Null(adapter) => adapter.announce(),
            Adapter::Pipeline(_) => panic!("a described adapter does not know when a packet will have left"),
        }
    }

    /// Frames on the medium take at least `span`.
    pub fn pad_frames_to(&mut self, span: Span) {
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

    /// Packets in it: made by the host, or come in, and neither transmitted, handed up nor lost.
    pub fn packets(&self) -> usize {
        self.packets.len()
    }

    /// What the driver has been through.
    pub fn driver(&self) -> DriverReport {
        self.driver.report
    }

    /// The application of `channel` has a message to send; panics without a host. Here and below `tell` hears what the node
    /// does.
    pub fn offer(
        &mut self,
        now: Time,
        channel: ChannelId,
        size: Bytes,
        tell: &mut impl FnMut(NodeOutput<&Packet>),
    ) {
        let Self { host, driver, adapter, packets, .. } = self;
        let host = host.as_mut().expect("the node has a host");
        host.offer(now, channel, size, &mut of_host(now, driver, adapter, packets, tell));
        self.settle(now, tell);
    }

    /// The application of `channel` from now on always has another message; panics without a host.
    pub fn send_without_end(
        &mut self,
        now: Time,
        channel: ChannelId,
        endless: Endless,
        tell: &mut impl FnMut(NodeOutput<&Packet>),
    ) {
        let Self { host, driver, adapter, packets, .. } = self;
        let host = host.as_mut().expect("the node has a host");
        host.send_without_end(now, channel, endless, &mut of_host(now, driver, adapter, packets, tell));
        self.settle(now, tell);
    }

    /// A host that is elsewhere has written a command; waits if there is no room for it.
    pub fn command(&mut self, now: Time, command: Command, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        match command {
            Command::Transmit(packet) => self.driver.wait(self.packets.put(&packet), packet.tag.class),
            Command::Proceed(packet) => {
                let Self { driver, adapter, packets, .. } = self;
                adapter.proceed(now, &packet, &mut of_adapter(now, driver, packets, tell));
            }
        }
        self.settle(now, tell);
    }

    /// A host that is elsewhere resets its adapter.
    pub fn reset_adapter(&mut self, now: Time, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        self.reset(now, tell);
        self.settle(now, tell);
    }

    /// A frame came in from the network.
    pub fn receive(&mut self, now: Time, packet: &Packet, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        let Self { driver, adapter, packets, .. } = self;
        let packet = packets.put(packet);
        adapter.receive(now, packet, &mut of_adapter(now, driver, packets, tell));
        self.settle(now, tell);
    }

    /// The medium answers the adapter's request.
    pub fn medium(&mut self, now: Time, access: Access, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        let Self { driver, adapter, packets, .. } = self;
        adapter.medium(now, access, &mut of_adapter(now, driver, packets, tell));
        self.settle(now, tell);
    }

    /// Something in the adapter breaks, or works again.
    pub fn break_down(
        &mut self,
        now: Time,
        breakdown: Breakdown,
        broken: bool,
        tell: &mut impl FnMut(NodeOutput<&Packet>),
    ) {
        let Self { driver, adapter, packets, .. } = self;
        adapter.break_down(now, breakdown, broken, &mut of_adapter(now, driver, packets, tell));
        self.settle(now, tell);
    }

    /// From now on that share of the adapter's interrupts is lost, as `chance` has it; `None` for none.
    pub fn lose_interrupts(&mut self, loses: Option<(f64, Stream)>) {
        self.driver.lose_interrupts(loses);
    }

    /// The time that [`next_deadline`](Self::next_deadline) named has come.
    pub fn timer(&mut self, now: Time, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        let Self { driver, adapter, packets, .. } = self;
        // The adapter first: a completion that falls on the end of a step may change what comes next,
        // and real hardware would have raised it.
        if adapter.due() <= now {
            adapter.timer(now, &mut of_adapter(now, driver, packets, tell));
            self.exchange(now, tell);
        }
        if self.driver.is_alert() {
            self.watch(now, tell);
        }
        let Self { host, driver, adapter, packets, .. } = self;
        if let Some(host) = host
            && host.due() <= now
        {
            host.timer(now, &mut of_host(now, driver, adapter, packets, tell));
        }
        self.settle(now, tell);
    }

    /// When the node next wants [`timer`](Self::timer) to be called.
    #[inline]
    pub fn next_deadline(&self) -> Option<Time> {
        self.due.named()
    }

    /// The driver looks whether something is wrong.
    fn watch(&mut self, now: Time, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        self.driver.raise(now);
        self.exchange(now, tell);
        if self.driver.looks(now) {
            self.look(now, tell);
        }
        if self.driver.gives_up(now) {
            self.reset(now, tell);
        }
    }

    fn reset(&mut self, now: Time, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        let Self { driver, adapter, packets, .. } = self;
        driver.has_reset();
        adapter.reset(now, &mut of_adapter(now, driver, packets, tell));
        self.exchange(now, tell);
        // Whoever resets an adapter also reads what it had to say.
        self.look(now, tell);
    }

    /// Lets the two go on until neither has anything for the other, and asks when to be called next.
    fn settle(&mut self, now: Time, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        self.exchange(now, tell);
        let host = self.host.as_ref().map_or(Time::MAX, Host::due);
        self.due = host.min(self.adapter.due());
        if self.driver.is_alert() {
            self.due = self.due.min(self.driver.settled(now));
        }
    }

    /// Hands over what has waited for room, and gives the host what it was told of.
    #[inline]
    fn exchange(&mut self, now: Time, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        if self.driver.is_busy() {
            self.exchange_all(now, tell);
        }
    }

    fn exchange_all(&mut self, now: Time, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        while self.driver.is_busy() {
            let handed = self.driver.waiting() > 0 && self.hand_over(now, tell);
            match self.driver.read_announced() {
                Some((response, entry)) if self.host.is_some() => self.notice(now, response, entry, tell),
                Some((response, entry)) => self.pass_on(now, response, entry, tell),
                None if handed => {}
                None => return,
            }
        }
    }

    /// Offers the adapter the packets that wait, in their order; one class that it refuses does not hold up the other. Answers
    /// whether it took any.
    fn hand_over(&mut self, now: Time, tell: &mut impl FnMut(NodeOutput<&Packet>)) -> bool {
        let Self { driver, adapter, packets, .. } = self;
        let (mut refused, mut any) = ([false; 2], false);
        while let Some(packet) = driver.first_waiting(refused) {
            let class = packets.at(packet).tag.class;
            if adapter.transmit(now, packet, &mut of_adapter(now, driver, packets, tell)) {
                driver.handed(now, packet, class);
                any = true;
            } else {
                refused[class as usize] = true;
            }
        }
        any
    }

    /// The host reads every response there is, without having been told of them.
    fn look(&mut self, now: Time, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        if self.host.is_none() {
            return;
        }
        let mut entry = Entry::Look;
        while let Some(response) = self.driver.read() {
            self.notice(now, response, entry, tell);
            entry = Entry::Further;
        }
        let Self { host, driver, adapter, packets, .. } = self;
        if let (Entry::Look, Some(host)) = (entry, host)
            && driver.pays_for_looks()
        {
            host.notice(now, Interrupt::Nothing, entry, &mut of_host(now, driver, adapter, packets, tell));
        }
    }

    /// A response goes to the host that is elsewhere; where it lay is free.
    fn pass_on(
        &mut self,
        now: Time,
        response: Response<Slot>,
        entry: Entry,
        tell: &mut impl FnMut(NodeOutput<&Packet>),
    ) {
        let Self { driver, adapter, packets, .. } = self;
        tell(NodeOutput::Response(response.with_packet(packets), entry == Entry::Interrupt));
        if let Some(queue) = driver.served() {
            adapter.has_read(now, queue, &mut of_adapter(now, driver, packets, tell));
        }
    }

    fn notice(
        &mut self,
        now: Time,
        response: Response<Slot>,
        entry: Entry,
        tell: &mut impl FnMut(NodeOutput<&Packet>),
    ) {
        let Self { host: Some(host), driver, adapter, packets, .. } = self else {
            unreachable!("responses for a host elsewhere are passed on")
        };
        let interrupt = match response {
            Response::Progress(packet) => Interrupt::Progress(packet),
            Response::Handshake(packet) => Interrupt::Handshake(packet),
            Response::Transmitted(packet) => Interrupt::Transmitted(packet),
            Response::Failed(packet, loss) => {
                tell(NodeOutput::Failed(packets.at(packet), loss));
                Interrupt::Failed(packet)
            }
            Response::Received(packet) => Interrupt::Received(packet),
        };
        host.notice(now, interrupt, entry, &mut of_host(now, driver, adapter, packets, tell));
    }
}

/// Who hears what the host does: its packets are for the adapter, the rest is for the world.
fn of_host<'a>(
    now: Time,
    driver: &'a mut Driver,
    adapter: &'a mut Adapter,
    packets: &'a mut Slots,
    tell: &'a mut impl FnMut(NodeOutput<&Packet>),
) -> impl Around<Output<Slot>> + 'a {
    let hear = move |packets: &mut Slots, output| match output {
        Output::Transmit(slot) => {
            let packet = packets.at_mut(slot);
            packet.handed = now;
            let class = packet.tag.class;
            // A driver in which nothing waits has nothing to do but to pass it on.
            let idle = driver.waiting() == 0;
            if idle && adapter.transmit(now, slot, &mut of_adapter(now, driver, packets, tell)) {
                driver.passed(now, slot);
            } else {
                driver.wait(slot, class);
            }
        }
        Output::Proceed(slot) => {
            let packet = *packets.at(slot);
            adapter.proceed(now, &packet, &mut of_adapter(now, driver, packets, tell));
        }
        Output::Read => {
            if let Some(queue) = driver.served() {
                adapter.has_read(now, queue, &mut of_adapter(now, driver, packets, tell));
            }
        }
        other => tell(NodeOutput::Host(other)),
    };
    Heard { packets, hear }
}

/// Who hears what the adapter does: its responses are for the host, through the driver if that is here; the rest is for the
/// world.
fn of_adapter<'a>(
    now: Time,
    driver: &'a mut Driver,
    packets: &'a mut Slots,
    tell: &'a mut impl FnMut(NodeOutput<&Packet>),
) -> impl Around<AdapterOutput<Slot>> + 'a {
    let hear = move |packets: &mut Slots, output| match output {
        AdapterOutput::Response(response) if !driver.passes_on() => {
            driver.written(now, response, packets.at(*response.packet()));
        }
        AdapterOutput::Response(response) => {
            tell(NodeOutput::Response(response.with_packet(packets), driver.announces()));
        }
        AdapterOutput::Frame { packet, more } => tell(NodeOutput::Departed(packets.at(packet), more)),
        AdapterOutput::Begun(packet, until) => tell(NodeOutput::Begun(packets.at(packet), until)),
        AdapterOutput::Request => tell(NodeOutput::Request),
        AdapterOutput::Withdraw => tell(NodeOutput::Withdraw),
        AdapterOutput::Discarded(packet, loss) => tell(NodeOutput::Discarded(packets.free(packet), loss)),
        AdapterOutput::Passed(passage) => tell(NodeOutput::Passed(passage)),
    };
    Heard { packets, hear }
}
