//! An adapter with its driver, and the observers within a node.

use laxity_qos::channel::{LinkId, Packet, Slot, Slots};
use laxity_qos::few::Few;
use laxity_qos::seldom::{mostly, seldom};
use laxity_units::{Span, Time};

use super::NodeOutput;
use super::driver::Driver;
use crate::adapter::{Adapter, AdapterOutput};
use crate::around::{Around, Shared};
use crate::bus::Buses;
use crate::host::Output;

/// An adapter and its driver.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) driver: Driver,
    pub(super) adapter: Adapter,
}

impl Device {
    /// When it next has something to do, all that could be handed over having been; `Time::MAX` for never.
    #[inline]
    pub(super) fn due(&mut self, now: Time) -> Time {
        let due = self.adapter.due();
        if seldom(self.driver.is_alert()) { due.min(self.driver.settled(now)) } else { due }
    }
}

/// Hears what the host does: its packets are for the adapters of their links, the rest is for the world.
struct OfHost<'a, F> {
    now: Time,
    devices: &'a mut Few<Device>,
    shared: &'a mut Shared,
    tell: &'a mut F,
}

/// The observer of the host.
#[inline]
pub(super) fn of_host<'a>(
    now: Time,
    devices: &'a mut Few<Device>,
    shared: &'a mut Shared,
    tell: &'a mut impl FnMut(NodeOutput<&Packet>),
) -> impl Around<Output<Slot>> + 'a {
    OfHost { now, devices, shared, tell }
}

impl<F: FnMut(NodeOutput<&Packet>)> Around<Output<Slot>> for OfHost<'_, F> {
    #[inline]
    fn packets(&mut self) -> &mut Slots {
        &mut self.shared.packets
    }

    // Inlined, here and below: the caller knows the output's kind, so most of this is eliminated.
    #[inline(always)]
    fn tell(&mut self, output: Output<Slot>) {
        let Self { now, devices, shared, tell } = self;
        let now = *now;
        match output {
            Output::Transmit(link, slot) => {
                let Device { driver, adapter } = &mut devices[usize::from(link.0)];
                let packet = shared.packets.at_mut(slot);
                packet.handed = now;
                let class = packet.tag.class;
                // A driver without waiting packets only passes it on.
                let idle = driver.waiting() == 0;
                if mostly(idle)
                    && adapter.transmit(now, slot, &mut of_adapter(now, link, driver, shared, *tell))
                {
                    driver.passed(now, slot);
                } else {
                    driver.wait(slot, class);
                }
            }
            Output::Proceed(link, slot) => {
                let Device { driver, adapter } = &mut devices[usize::from(link.0)];
                let packet = *shared.packets.at(slot);
                adapter.proceed(now, &packet, &mut of_adapter(now, link, driver, shared, *tell));
            }
            Output::Read(link, queue) => {
                let Device { driver, adapter } = &mut devices[usize::from(link.0)];
                if let Some(queue) = driver.served(queue) {
                    adapter.has_read(now, queue, &mut of_adapter(now, link, driver, shared, *tell));
                }
            }
            Output::Copies(span) => copies(now, span, devices, shared, *tell),
            other => tell(NodeOutput::Host(other)),
        }
    }
}

/// The host copies: the bus is its own, and whatever adapter is at it stands back.
#[inline(never)]
fn copies(
    now: Time,
    span: Span,
    devices: &mut Few<Device>,
    shared: &mut Shared,
    tell: &mut impl FnMut(NodeOutput<&Packet>),
) {
    shared.buses.copies(now, span);
    for (link, Device { driver, adapter }) in (0..).map(LinkId).zip(devices.iter_mut()) {
        adapter.copies(now, span, &mut of_adapter(now, link, driver, shared, tell));
    }
}

/// Hears what the adapter does: its responses are for the host, through the driver if that is here;
/// the rest is for the world.
struct OfAdapter<'a, F> {
    now: Time,
    link: LinkId,
    driver: &'a mut Driver,
    shared: &'a mut Shared,
    tell: &'a mut F,
}

/// The observer of an adapter.
#[inline]
pub(super) fn of_adapter<'a>(
    now: Time,
    link: LinkId,
    driver: &'a mut Driver,
    shared: &'a mut Shared,
    tell: &'a mut impl FnMut(NodeOutput<&Packet>),
) -> impl Around<AdapterOutput<Slot>> + 'a {
    OfAdapter { now, link, driver, shared, tell }
}

impl<F: FnMut(NodeOutput<&Packet>)> Around<AdapterOutput<Slot>> for OfAdapter<'_, F> {
    #[inline]
    fn packets(&mut self) -> &mut Slots {
        &mut self.shared.packets
    }

    fn buses(&mut self) -> &mut Buses {
        &mut self.shared.buses
    }

    #[inline(always)]
    fn tell(&mut self, output: AdapterOutput<Slot>) {
        let Self { now, link, driver, shared, tell } = self;
        match output {
            AdapterOutput::Response(response) if !driver.passes_on() => {
                driver.written(*now, response, shared.packets.at(*response.packet()));
            }
            AdapterOutput::Response(response) => {
                tell(NodeOutput::Response(response.with_packet(&mut shared.packets), driver.announces()));
            }
            AdapterOutput::Frame { packet, more } => {
                tell(NodeOutput::Departed(*link, shared.packets.at(packet), more));
            }
            AdapterOutput::Begun(packet, until) => tell(NodeOutput::Begun(shared.packets.at(packet), until)),
            AdapterOutput::Request => tell(NodeOutput::Request(*link)),
            AdapterOutput::Withdraw => tell(NodeOutput::Withdraw(*link)),
            AdapterOutput::Discarded(packet, loss) => {
                tell(NodeOutput::Discarded(shared.packets.free(packet), loss));
            }
            AdapterOutput::Passed(passage) => tell(NodeOutput::Passed(*link, passage)),
        }
    }
}
