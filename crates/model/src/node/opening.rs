//! A node before the run: its construction, and the opening of channels.

use laxity_qos::channel::{ChannelConfig, ChannelId, Computing, CoreId, Label, LinkId};
use laxity_qos::costs::LinkCosts;
use laxity_qos::few::Few;
use laxity_units::{Span, Time};

use super::HostNode;
use super::device::Device;
use super::driver::{Driver, DriverConfig};
use crate::adapter::{Adapter, AdapterContract};
use crate::around::Shared;
use crate::host::Host;

impl HostNode {
    /// Joins the two.
    pub fn new(host: Host, driver: DriverConfig, mut adapter: Adapter) -> Self {
        let mut shared = Shared::default();
        adapter.sit(LinkId::FIRST, &mut shared.buses);
        let driver = Driver::new(driver, &adapter, Some(host.pays_for_looks()));
        let due = host.due();
        let devices = Few::one(Device { driver, adapter });
        Self { host: Some(host), devices, shared, due }
    }

    /// Gives the host another adapter, on which a packet takes what `speed` says; before the run.
    /// Channels are opened by the link that is answered. Panics without a host: one that is
    /// elsewhere has one adapter.
    pub fn add_adapter(&mut self, driver: DriverConfig, mut adapter: Adapter, speed: LinkCosts) -> LinkId {
        adapter.sit(LinkId(self.devices.len() as u8), &mut self.shared.buses);
        let host = self.host.as_mut().expect("the node has a host");
        let driver = Driver::new(driver, &adapter, Some(host.pays_for_looks()));
        self.devices.push(Device { driver, adapter });
        host.add_link(speed)
    }

    /// The response queues of the adapter of `link` interrupt these cores of the host, in turn;
    /// before the run. Panics without a host, or such a core.
    pub fn steer(&mut self, link: LinkId, cores: &[CoreId]) {
        self.host.as_mut().expect("the node has a host").steer(link, cores);
    }

    /// An adapter with a remote host, which has a driver of its own.
    pub fn without_host(mut adapter: Adapter) -> Self {
        let mut shared = Shared::default();
        adapter.sit(LinkId::FIRST, &mut shared.buses);
        let driver = Driver::new(DriverConfig::default(), &adapter, None);
        let devices = Few::one(Device { driver, adapter });
        Self { host: None, devices, shared, due: Time::MAX }
    }

    /// Says which groups of channels have a rate together, before the run.
    pub fn group(&mut self, groups: &laxity_qos::discipline::Groups) {
        self.host.iter_mut().for_each(|host| host.group(groups));
        self.devices.each(|device| device.adapter.group(groups));
    }

    /// Opens a channel at the host, before the run; panics without one.
    pub fn open(&mut self, config: ChannelConfig) -> ChannelId {
        self.host.as_mut().expect("the node has a host").open(config)
    }

    /// The same by a number of the channel's own, which it has at every host of its way.
    pub fn open_as(&mut self, id: ChannelId, config: ChannelConfig) {
        self.host.as_mut().expect("the node has a host").open_as(id, config);
    }

    /// Index of a channel at its host, for packets on their way there; none if the host is remote,
    /// or does not know it.
    pub fn label(&self, id: ChannelId) -> Label {
        self.host.as_ref().map_or(Label::NONE, |host| host.subsystem().label(id))
    }

    /// Establishes a channel at the adapter of a link, before the run.
    pub fn establish(&mut self, link: LinkId, id: ChannelId, contract: &AdapterContract) {
        self.device(link).adapter.establish(id, contract);
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

    /// Simulates each phase in its adapters as an event, so that their levels are exact at any time.
    pub fn step_through(&mut self) {
        self.devices.each(|device| device.adapter.step_through());
    }

    /// Also puts out how long packets are in each stage of adapters.
    pub fn record_stages(&mut self) {
        self.devices.each(|device| device.adapter.record());
    }

    /// The medium of that adapter is a link of its own, without requests.
    pub fn own_the_link(&mut self, link: LinkId) {
        self.device(link).adapter.own_the_link();
    }

    /// Also outputs when a packet begins to leave by `link`. Panics if its adapter is described:
    /// then only the medium knows that time.
    pub fn announce_packets(&mut self, link: LinkId) {
        match &mut self.device(link).adapter {
            Adapter::Null(adapter) => adapter.announce(),
            Adapter::Pipeline(_) => panic!("a described adapter does not know when a packet will have left"),
        }
    }

    /// Frames on the medium of `link` take at least `span`.
    pub fn pad_frames_to(&mut self, link: LinkId, span: Span) {
        self.device(link).adapter.pad_frames_to(span);
    }
}
