//! A component and what it has told, for whoever looks at it afterwards.
//!
//! In a run what a component does is heard while it does it, by a world made for that. A test, or a program that drives one
//! component by hand, would rather call first and look then.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

use laxity_qos::channel::{ChannelId, Packet};
use laxity_units::{Bytes, Time};

use crate::adapter::{Access, Adapter, AdapterOutput, Breakdown, Command};
use crate::host::{Endless, Host, Interrupt, Output};
use crate::node::{Node, NodeOutput};

/// A component that writes down what it tells, until it is asked for.
#[derive(Debug)]
pub struct Told<C, O> {
    component: C,
    output: VecDeque<O>,
}

impl<C, O> Told<C, O> {
    /// Listens to `component` from now on.
    pub fn new(component: C) -> Self {
        Self { component, output: VecDeque::new() }
    }

    /// What it did, oldest first.
    pub fn poll_output(&mut self) -> Option<O> {
        self.output.pop_front()
    }

    /// The component, and whoever hears it.
    fn parts(&mut self) -> (&mut C, impl FnMut(O)) {
        let Self { component, output } = self;
        (component, |told| output.push_back(told))
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
                    let (component, mut tell) = self.parts();
                    component.$name(now, $($argument,)* &mut tell);
                }
            )*
        }
    };
}

heard!(
    Adapter,
    AdapterOutput,
    proceed(packet: &Packet),
    receive(packet: &Packet),
    medium(access: Access),
    reset(),
    break_down(breakdown: Breakdown, broken: bool),
    timer(),
);

impl Told<Adapter, AdapterOutput> {
    /// See [`Adapter::transmit`].
    pub fn transmit(&mut self, now: Time, packet: &Packet) -> bool {
        let (adapter, mut tell) = self.parts();
        adapter.transmit(now, packet, &mut tell)
    }
}

heard!(
    Host,
    Output,
    offer(channel: ChannelId, size: Bytes),
    send_without_end(channel: ChannelId, endless: Endless),
    interrupt(interrupt: Interrupt),
    timer(),
);

heard!(
    Node,
    NodeOutput,
    offer(channel: ChannelId, size: Bytes),
    send_without_end(channel: ChannelId, endless: Endless),
    command(command: Command),
    reset_adapter(),
    receive(packet: &Packet),
    medium(access: Access),
    break_down(breakdown: Breakdown, broken: bool),
    timer(),
);
