//! A component with a record of its outputs.
//!
//! In a run, observers receive a component's outputs during the call. A test, or a program that
//! drives one component by hand, calls first and reads the outputs then.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

use laxity_qos::channel::{ChannelId, LinkId, Packet, Slot, Slots};
use laxity_units::{Bytes, Span, Time};

use crate::adapter::{Adapter, AdapterBreakdown, AdapterOutput, Directive, MediumAccess};
use crate::around::{Around, Heard};
use crate::host::{Endless, Host, Interrupt, Output};
use crate::node::{HostNode, NodeOutput};

/// A component with outputs recorded until polled.
#[derive(Debug)]
pub struct Told<C, O> {
    component: C,
    /// The component's packets; recorded outputs contain whole packets.
    packets: Slots,
    output: VecDeque<O>,
}

impl<C, O> Told<C, O> {
    /// Listens to `component` from now on.
    pub fn new(component: C) -> Self {
        Self { component, packets: Slots::default(), output: VecDeque::new() }
    }

    /// The oldest recorded output.
    pub fn poll_output(&mut self) -> Option<O> {
        self.output.pop_front()
    }
}

impl<C, O> Deref for Told<C, O> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.component
    }
}

impl<C, O> DerefMut for Told<C, O> {
    fn deref_mut(&mut self) -> &mut C {
        &mut self.component
    }
}

/// The component's own methods, without the one that hears.
macro_rules! heard {
    ($component:ty, $output:ty, $($name:ident($($argument:ident: $kind:ty),*)),* $(,)?) => {
        impl Told<$component, $output> {
            $(
                #[doc = concat!("See [`", stringify!($component), "::", stringify!($name), "`].")]
                pub fn $name(&mut self, now: Time, $($argument: $kind),*) {
                    let (component, mut around) = self.parts();
                    component.$name(now, $($argument,)* &mut around);
                }
            )*
        }
    };
}

impl Told<Adapter, AdapterOutput> {
    fn parts(&mut self) -> (&mut Adapter, impl Around<AdapterOutput<Slot>>) {
        let Self { component, packets, output } = self;
        let hear = |packets: &mut Slots, told: AdapterOutput<Slot>| {
            output.push_back(match told {
                AdapterOutput::Response(response) => {
                    AdapterOutput::Response(response.with_packet(packets).copied())
                }
                AdapterOutput::Begun(packet, until) => AdapterOutput::Begun(*packets.at(packet), until),
                AdapterOutput::Request => AdapterOutput::Request,
                AdapterOutput::Withdraw => AdapterOutput::Withdraw,
                AdapterOutput::Frame { packet, more } => {
                    AdapterOutput::Frame { packet: *packets.at(packet), more }
                }
                AdapterOutput::Discarded(packet, loss) => {
                    AdapterOutput::Discarded(packets.take(packet), loss)
                }
                AdapterOutput::Passed(passage) => AdapterOutput::Passed(passage),
            });
        };
        (component, Heard { packets, hear })
    }

    /// See [`Adapter::transmit`].
    pub fn transmit(&mut self, now: Time, packet: &Packet) -> bool {
        let slot = self.packets.put(packet);
        let (adapter, mut around) = self.parts();
        let taken = adapter.transmit(now, slot, &mut around);
        if !taken {
            around.packets().free(slot);
        }
        taken
    }

    /// See [`Adapter::receive`].
    pub fn receive(&mut self, now: Time, packet: &Packet) {
        let slot = self.packets.put(packet);
        let (adapter, mut around) = self.parts();
        adapter.receive(now, slot, &mut around);
    }
}

heard!(
    Adapter,
    AdapterOutput,
    proceed(packet: &Packet),
    medium(access: MediumAccess),
    has_read(queue: usize),
    copies(span: Span),
    reset(),
    break_down(breakdown: AdapterBreakdown, broken: bool),
    timer(),
);

impl Told<Host, Output> {
    fn parts(&mut self) -> (&mut Host, impl Around<Output<Slot>>) {
        let Self { component, packets, output } = self;
        let hear = |packets: &mut Slots, told: Output<Slot>| {
            output.push_back(match told {
                // The driver handles freed entries of a response queue, and the adapters the bus:
                // neither is here.
                Output::Read(..) | Output::Copies(_) => return,
                Output::Transmit(link, packet) => Output::Transmit(link, packets.take(packet)),
                Output::Proceed(link, packet) => Output::Proceed(link, packets.take(packet)),
                Output::Answered { channel, size, answer } => Output::Answered { channel, size, answer },
                Output::Delivered(delivery) => Output::Delivered(delivery),
                Output::Lost { channel, message } => Output::Lost { channel, message },
                Output::Busy(busy) => Output::Busy(busy),
                Output::Computed(computed) => Output::Computed(computed),
            });
        };
        (component, Heard { packets, hear })
    }

    /// See [`Host::interrupt`].
    pub fn interrupt(&mut self, now: Time, interrupt: Interrupt) {
        let packets = &mut self.packets;
        let interrupt = match interrupt {
            Interrupt::Transmitted(packet) => Interrupt::Transmitted(packets.put(&packet)),
            Interrupt::Failed(packet, cause) => Interrupt::Failed(packets.put(&packet), cause),
            Interrupt::Progress(packet) => Interrupt::Progress(packets.put(&packet)),
            Interrupt::Handshake(packet) => Interrupt::Handshake(packets.put(&packet)),
            Interrupt::Received(packet) => Interrupt::Received(packets.put(&packet)),
            Interrupt::Timer => Interrupt::Timer,
            Interrupt::Nothing => Interrupt::Nothing,
        };
        let (host, mut around) = self.parts();
        host.interrupt(now, interrupt, &mut around);
    }
}

heard!(
    Host,
    Output,
    offer(channel: ChannelId, size: Bytes),
    send_without_end(channel: ChannelId, endless: Endless),
    timer(),
);

impl Told<HostNode, NodeOutput> {
    fn parts(&mut self) -> (&mut HostNode, impl FnMut(NodeOutput<&Packet>)) {
        let Self { component, output, .. } = self;
        let hear = |told: NodeOutput<&Packet>| {
            output.push_back(match told {
                NodeOutput::Departed(link, packet, more) => NodeOutput::Departed(link, *packet, more),
                NodeOutput::Begun(packet, until) => NodeOutput::Begun(*packet, until),
                NodeOutput::Request(link) => NodeOutput::Request(link),
                NodeOutput::Withdraw(link) => NodeOutput::Withdraw(link),
                NodeOutput::Failed(packet, loss) => NodeOutput::Failed(*packet, loss),
                NodeOutput::Discarded(packet, loss) => NodeOutput::Discarded(*packet, loss),
                NodeOutput::Passed(link, passage) => NodeOutput::Passed(link, passage),
                NodeOutput::Host(output) => NodeOutput::Host(output),
                NodeOutput::Response(response, announced) => {
                    NodeOutput::Response(response.copied(), announced)
                }
            });
        };
        (component, hear)
    }
}

heard!(
    HostNode,
    NodeOutput,
    offer(channel: ChannelId, size: Bytes),
    send_without_end(channel: ChannelId, endless: Endless),
    command(command: &Directive),
    reset_adapter(),
    receive_at(link: LinkId, packet: &Packet),
    medium_at(link: LinkId, access: MediumAccess),
    break_down_at(link: LinkId, breakdown: AdapterBreakdown, broken: bool),
    timer(),
);

/// Of a node that has one adapter.
impl Told<HostNode, NodeOutput> {
    /// See [`HostNode::receive_at`].
    pub fn receive(&mut self, now: Time, packet: &Packet) {
        self.receive_at(now, LinkId::FIRST, packet);
    }

    /// See [`HostNode::medium_at`].
    pub fn medium(&mut self, now: Time, access: MediumAccess) {
        self.medium_at(now, LinkId::FIRST, access);
    }

    /// See [`HostNode::break_down_at`].
    pub fn break_down(&mut self, now: Time, breakdown: AdapterBreakdown, broken: bool) {
        self.break_down_at(now, LinkId::FIRST, breakdown, broken);
    }
}
