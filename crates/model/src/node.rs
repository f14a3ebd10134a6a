//! A node: a host and its adapters, each connected by a driver.
//!
//! A packet from the host enters the adapter of a link; a response of the adapter interrupts the
//! host. From outside, a node is one component with one deadline.
//!
//! ```text
//! Host ──Transmit──▶ transmit ──▶ Adapter     a packet goes down in one call, unless it has to wait in the driver
//!   ▲                                │
//!   └── Interrupt ◀── Driver ◀── Response     and is read when the call that brought it up is over
//! ```
//!
//! Each component reports its outputs to an observer (`device.rs`) during the call; outputs for the
//! outside go to the caller. Adapters share the CPU of the host, and perhaps a bus: the call of one
//! may change the state of others, which are polled after it.

mod device;
mod driver;
mod mailbox;
mod opening;
mod watchdog;

use laxity_engine::Stream;
use laxity_qos::channel::{ChannelId, Label, LinkId, Packet, Slot};
use laxity_qos::few::Few;
use laxity_qos::seldom::{mostly, seldom};
use laxity_units::{Bytes, Time};

use crate::adapter::{
    Adapter, AdapterBreakdown, AdapterOutput, AdapterResponse, Directive, Loss, MediumAccess, Passage,
};
use crate::around::{Around, Shared};
use crate::bus::BusReport;
use crate::host::{Endless, Entry, Host, Interrupt, Output};
use device::{Device, of_adapter, of_host};
pub use driver::{DriverConfig, DriverReport};
pub use watchdog::{Look, Watchdog};

/// An output of a node; `P` names a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NodeOutput<P = Packet> {
    /// The last bit of a packet left the adapter of that link; whether more wait behind it.
    Departed(LinkId, P, bool),
    /// A packet begins to leave its adapter; the time is when its last bit will. Only where that is
    /// [announced](HostNode::announce_packets).
    Begun(P, Time),
    /// A frame is ready for the medium of that link.
    Request(LinkId),
    /// The ready frame no longer is.
    Withdraw(LinkId),
    /// A packet to be transmitted is lost.
    Failed(P, Loss),
    /// A received frame is lost.
    Discarded(P, Loss),
    /// A packet has passed a stage of that adapter; only while recording is on.
    Passed(LinkId, Passage),
    /// The host's own output, except commands to its adapters.
    Host(Output<Slot>),
    /// A response for a remote host, and whether an interrupt announces it.
    Response(AdapterResponse<P>, bool),
}

/// A host with its adapters; or an adapter with a remote host: another thread or program.
#[derive(Debug)]
pub struct HostNode {
    host: Option<Host>,
    /// By links, at least one.
    devices: Few<Device>,
    /// All packets, and the buses that adapters share.
    shared: Shared,
    /// Time of the next due call; `Time::MAX` for never.
    due: Time,
}

impl HostNode {
    /// Prefetches the state of a channel for an event that is about to arrive.
    #[inline]
    pub fn fetch(&self, channel: ChannelId, label: Label) {
        if let Some(host) = &self.host {
            host.subsystem().fetch(channel, label);
        }
    }

    /// Prefetches the state of a channel for a message that is about to be sent in a few packets.
    #[inline]
    pub fn fetch_sender(&self, channel: ChannelId, label: Label) {
        self.shared.packets.fetch(2);
        if let Some(host) = &self.host {
            host.fetch_sender(channel, label);
        }
    }

    /// Second step of a prefetch for an incoming message, after [`fetch`](Self::fetch).
    #[inline]
    pub fn fetch_incoming(&self, label: Label) {
        if let Some(host) = &self.host {
            host.subsystem().fetch_incoming(label);
        }
    }

    #[inline]
    fn device(&mut self, link: LinkId) -> &mut Device {
        &mut self.devices[usize::from(link.0)]
    }

    /// The host, read-only, if it is local.
    pub fn host(&self) -> Option<&Host> {
        self.host.as_ref()
    }

    /// The adapter of a link, read-only.
    pub fn adapter(&self, link: LinkId) -> &Adapter {
        &self.devices[usize::from(link.0)].adapter
    }

    /// All adapters, by their links.
    pub fn adapters(&self) -> impl Iterator<Item = &Adapter> {
        self.devices.iter().map(|device| &device.adapter)
    }

    /// Packets in it: created by the host, or received, and neither transmitted, delivered nor
    /// lost.
    pub fn packets(&self) -> usize {
        self.shared.packets.len()
    }

    /// Usage of each shared bus until `now`.
    pub fn buses(&self, now: Time) -> impl Iterator<Item = BusReport> {
        self.shared.buses.reports(now)
    }

    /// Statistics of an adapter's driver.
    pub fn driver(&self, link: LinkId) -> DriverReport {
        self.devices[usize::from(link.0)].driver.report
    }

    /// The application of `channel` has a message to send; panics without a host. Here and below,
    /// `tell` receives the outputs.
    pub fn offer(
        &mut self,
        now: Time,
        channel: ChannelId,
        size: Bytes,
        tell: &mut impl FnMut(NodeOutput<&Packet>),
    ) {
        let Self { host, devices, shared, .. } = self;
        let host = host.as_mut().expect("the node has a host");
        host.offer(now, channel, size, &mut of_host(now, devices, shared, tell));
        self.settle(now, tell);
    }

    /// From now on the application of `channel` always has another message; panics without a host.
    pub fn send_without_end(
        &mut self,
        now: Time,
        channel: ChannelId,
        endless: Endless,
        tell: &mut impl FnMut(NodeOutput<&Packet>),
    ) {
        let Self { host, devices, shared, .. } = self;
        let host = host.as_mut().expect("the node has a host");
        host.send_without_end(now, channel, endless, &mut of_host(now, devices, shared, tell));
        self.settle(now, tell);
    }

    /// A remote host has written a command, which waits while there is no room for it.
    pub fn command(&mut self, now: Time, command: &Directive, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        let Self { devices, shared, .. } = self;
        let Device { driver, adapter } = &mut devices[0];
        match command {
            Directive::Transmit(packet) => driver.wait(shared.packets.put(packet), packet.tag.class),
            Directive::Proceed(packet) => {
                adapter.proceed(now, packet, &mut of_adapter(now, LinkId::FIRST, driver, shared, tell));
            }
        }
        self.settle(now, tell);
    }

    /// A remote host resets its adapter.
    pub fn reset_adapter(&mut self, now: Time, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        self.reset(now, LinkId::FIRST, tell);
        self.settle(now, tell);
    }

    /// A frame arrives from the network of `link`.
    pub fn receive_at(
        &mut self,
        now: Time,
        link: LinkId,
        packet: &Packet,
        tell: &mut impl FnMut(NodeOutput<&Packet>),
    ) {
        let packet = self.take_in(packet);
        self.receive_taken_in(now, link, packet, tell);
    }

    /// Copies an arriving frame into a slot, which is to be [received](Self::receive_taken_in) at
    /// once: for a caller that cannot lend its own copy during the call.
    #[inline]
    pub fn take_in(&mut self, packet: &Packet) -> Slot {
        self.shared.packets.put(packet)
    }

    /// A frame that was [taken in](Self::take_in) arrives from the network of `link`.
    pub fn receive_taken_in(
        &mut self,
        now: Time,
        link: LinkId,
        packet: Slot,
        tell: &mut impl FnMut(NodeOutput<&Packet>),
    ) {
        let (adapter, mut around) = self.adapter_heard(now, link, tell);
        adapter.receive(now, packet, &mut around);
        drop(around);
        self.settle(now, tell);
    }

    /// The medium of `link` replies to its adapter's request.
    pub fn medium_at(
        &mut self,
        now: Time,
        link: LinkId,
        access: MediumAccess,
        tell: &mut impl FnMut(NodeOutput<&Packet>),
    ) {
        let (adapter, mut around) = self.adapter_heard(now, link, tell);
        adapter.medium(now, access, &mut around);
        drop(around);
        self.settle(now, tell);
    }

    /// A fault in the adapter of `link` begins, or ends.
    pub fn break_down_at(
        &mut self,
        now: Time,
        link: LinkId,
        breakdown: AdapterBreakdown,
        broken: bool,
        tell: &mut impl FnMut(NodeOutput<&Packet>),
    ) {
        let (adapter, mut around) = self.adapter_heard(now, link, tell);
        adapter.break_down(now, breakdown, broken, &mut around);
        drop(around);
        self.settle(now, tell);
    }

    /// From now on that fraction of an adapter's interrupts is lost, drawn from the given stream;
    /// `None` for none.
    pub fn lose_interrupts(&mut self, link: LinkId, loses: Option<(f64, Stream)>) {
        self.device(link).driver.lose_interrupts(loses);
    }

    /// Advances to the time that [`next_deadline`](Self::next_deadline) named.
    pub fn timer(&mut self, now: Time, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        // Adapters first: a completion at the end of a step may change the next one.
        match mostly(self.devices.is_one()) {
            true => self.adapter_timer(now, LinkId::FIRST, tell),
            false => self.adapter_timers(now, tell),
        }
        if seldom(self.devices.any(|device| device.driver.is_alert())) {
            self.watch_all(now, tell);
        }
        let Self { host, devices, shared, .. } = self;
        if let Some(host) = host
            && host.due() <= now
        {
            host.timer(now, &mut of_host(now, devices, shared, tell));
        }
        self.settle(now, tell);
    }

    /// Calls the timer of the adapter of `link`, if it is due.
    // Inlined, so that a node with one adapter does not search.
    #[inline(always)]
    fn adapter_timer(&mut self, now: Time, link: LinkId, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        if self.device(link).adapter.due() <= now {
            let (adapter, mut around) = self.adapter_heard(now, link, tell);
            adapter.timer(now, &mut around);
            drop(around);
            self.exchange(now, tell);
        }
    }

    #[inline(never)]
    fn adapter_timers(&mut self, now: Time, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        for link in self.links() {
            self.adapter_timer(now, link, tell);
        }
    }

    /// Runs the watchdogs of all drivers that need one.
    #[inline(never)]
    fn watch_all(&mut self, now: Time, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        for link in self.links() {
            if self.device(link).driver.is_alert() {
                self.watch(now, link, tell);
            }
        }
    }

    /// The links of its adapters.
    #[inline]
    fn links(&self) -> impl Iterator<Item = LinkId> + use<> {
        (0..self.devices.len() as u8).map(LinkId)
    }

    /// The adapter of a link, with the observer of its outputs.
    #[inline]
    fn adapter_heard<'a>(
        &'a mut self,
        now: Time,
        link: LinkId,
        tell: &'a mut impl FnMut(NodeOutput<&Packet>),
    ) -> (&'a mut Adapter, impl Around<AdapterOutput<Slot>> + 'a) {
        let Self { devices, shared, .. } = self;
        let Device { driver, adapter } = &mut devices[usize::from(link.0)];
        (adapter, of_adapter(now, link, driver, shared, tell))
    }

    /// Time at which [`timer`](Self::timer) is next due.
    #[inline]
    pub fn next_deadline(&self) -> Option<Time> {
        self.due.named()
    }

    /// Runs a driver's watchdog.
    fn watch(&mut self, now: Time, link: LinkId, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        self.device(link).driver.raise(now);
        self.exchange(now, tell);
        if self.device(link).driver.looks(now) {
            self.look(now, link, tell);
        }
        if self.device(link).driver.gives_up(now) {
            self.reset(now, link, tell);
        }
    }

    fn reset(&mut self, now: Time, link: LinkId, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        self.device(link).driver.has_reset();
        let (adapter, mut around) = self.adapter_heard(now, link, tell);
        adapter.reset(now, &mut around);
        drop(around);
        self.exchange(now, tell);
        // After a reset the host also reads the adapter's responses.
        self.look(now, link, tell);
    }

    /// Lets host and adapters exchange packets and responses until none is left, and computes the
    /// next due call.
    #[inline]
    fn settle(&mut self, now: Time, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        if mostly(self.devices.is_one() && self.devices.first().driver.is_quiet()) {
            let host = self.host.as_ref().map_or(Time::MAX, Host::due);
            self.due = host.min(self.devices.first().adapter.due());
        } else {
            self.settle_all(now, tell);
        }
    }

    /// As `settle`, for several adapters, or a driver with pending work.
    #[inline(never)]
    fn settle_all(&mut self, now: Time, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        self.exchange(now, tell);
        while let Some(link) = self.shared.buses.untold() {
            let (adapter, mut around) = self.adapter_heard(now, link, tell);
            adapter.look_at_bus(now, &mut around);
            drop(around);
            self.exchange(now, tell);
        }
        let host = self.host.as_ref().map_or(Time::MAX, Host::due);
        self.due = match mostly(self.devices.is_one()) {
            true => host.min(self.devices.first_mut().due(now)),
            false => self.devices.iter_mut().fold(host, |due, device| due.min(device.due(now))),
        };
    }

    /// Hands waiting packets to adapters, and announced responses to the host.
    #[inline]
    fn exchange(&mut self, now: Time, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        if self.devices.any(|device| device.driver.is_busy()) {
            self.exchange_all(now, tell);
        }
    }

    #[inline(never)]
    fn exchange_all(&mut self, now: Time, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        if mostly(self.devices.is_one()) {
            while self.devices.first().driver.is_busy() && self.exchange_with(now, LinkId::FIRST, tell) {}
        } else {
            self.exchange_among(now, tell);
        }
    }

    /// As `exchange`, for several adapters.
    #[inline(never)]
    fn exchange_among(&mut self, now: Time, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        // A command to one adapter may be what another has waited for.
        let mut any = true;
        while any && self.devices.any(|device| device.driver.is_busy()) {
            any = false;
            for link in self.links() {
                any |= self.exchange_with(now, link, tell);
            }
        }
    }

    /// Hands over the packets that fit, and reads one response of one adapter; returns whether
    /// there were any.
    #[inline(always)]
    fn exchange_with(&mut self, now: Time, link: LinkId, tell: &mut impl FnMut(NodeOutput<&Packet>)) -> bool {
        let handed = self.device(link).driver.waiting() > 0 && self.hand_over(now, link, tell);
        match self.device(link).driver.read_announced() {
            Some((response, queue, entry)) if self.host.is_some() => {
                self.notice(now, (link, queue), response, entry, tell);
            }
            Some((response, queue, entry)) => self.pass_on(now, (link, queue), response, entry, tell),
            None => return handed,
        }
        true
    }

    /// Offers the adapter the waiting packets in order; a refused class does not block the other.
    /// Returns whether it accepted any.
    #[inline(never)]
    fn hand_over(&mut self, now: Time, link: LinkId, tell: &mut impl FnMut(NodeOutput<&Packet>)) -> bool {
        let Self { devices, shared, .. } = self;
        let Device { driver, adapter } = &mut devices[usize::from(link.0)];
        let (mut refused, mut any) = ([false; 2], false);
        while let Some(packet) = driver.first_waiting(refused) {
            let class = shared.packets.at(packet).tag.class;
            if adapter.transmit(now, packet, &mut of_adapter(now, link, driver, shared, tell)) {
                driver.handed(now, packet, class);
                any = true;
            } else {
                refused[class as usize] = true;
            }
        }
        any
    }

    /// The host reads all responses of an adapter, without an announcement.
    fn look(&mut self, now: Time, link: LinkId, tell: &mut impl FnMut(NodeOutput<&Packet>)) {
        // Each core polls its own queues, and pays the start of a poll once.
        let mut looked = 0u64;
        while let Some((host, (response, queue))) =
            self.host.as_ref().and_then(|host| Some((host, self.devices[usize::from(link.0)].driver.read()?)))
        {
            let core = 1 << host.steered(link, queue).0;
            let entry = if looked & core == 0 { Entry::Look } else { Entry::Further };
            looked |= core;
            self.notice(now, (link, queue), response, entry, tell);
        }
        let pays = self.device(link).driver.pays_for_looks();
        let Self { host, devices, shared, .. } = self;
        if let (0, Some(host), true) = (looked, host, pays) {
            let heard = &mut of_host(now, devices, shared, tell);
            host.notice(now, (link, 0), Interrupt::Nothing, Entry::Look, heard);
        }
    }

    /// Passes a response to the remote host, and frees its slot.
    #[inline(never)]
    fn pass_on(
        &mut self,
        now: Time,
        (link, queue): (LinkId, u32),
        response: AdapterResponse<Slot>,
        entry: Entry,
        tell: &mut impl FnMut(NodeOutput<&Packet>),
    ) {
        tell(NodeOutput::Response(response.with_packet(&mut self.shared.packets), entry == Entry::Interrupt));
        if let Some(queue) = self.device(link).driver.served(queue) {
            let (adapter, mut around) = self.adapter_heard(now, link, tell);
            adapter.has_read(now, queue, &mut around);
        }
    }

    fn notice(
        &mut self,
        now: Time,
        (link, queue): (LinkId, u32),
        response: AdapterResponse<Slot>,
        entry: Entry,
        tell: &mut impl FnMut(NodeOutput<&Packet>),
    ) {
        let Self { host: Some(host), devices, shared, .. } = self else {
            unreachable!("responses for a host elsewhere are passed on")
        };
        let interrupt = match response {
            AdapterResponse::Progress(packet) => Interrupt::Progress(packet),
            AdapterResponse::Handshake(packet) => Interrupt::Handshake(packet),
            AdapterResponse::Transmitted(packet) => Interrupt::Transmitted(packet),
            AdapterResponse::Failed(packet, loss) => {
                tell(NodeOutput::Failed(shared.packets.at(packet), loss));
                Interrupt::Failed(packet, loss.cause())
            }
            AdapterResponse::Received(packet) => Interrupt::Received(packet),
        };
        host.notice(now, (link, queue), interrupt, entry, &mut of_host(now, devices, shared, tell));
    }
}
