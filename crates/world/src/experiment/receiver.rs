//! Hosts that receive at interfaces: alone, or at the ends of the paths of a network.

use laxity_model::reception::{Interface, InterfaceConfig, ProgramConfig, Receiver};
use laxity_qos::discipline::Class;

use super::{Chance, ChannelSpec, Experiment};

/// The receiving part of a host: its interfaces, and the programs that take what they receive.
#[derive(Debug, Clone)]
pub struct ReceiverSpec {
    /// The node with its host.
    pub node: usize,
    /// Interfaces at which channels arrive; at least one.
    pub interfaces: Vec<InterfaceSpec>,
    /// Programs that take incoming messages; at least one.
    pub programs: Vec<ProgramSpec>,
}

impl ReceiverSpec {
    /// The interface of this receiver at which `channel` ends, if it ends here.
    pub fn entry(&self, channel: &ChannelSpec) -> Option<usize> {
        channel.interface.filter(|_| channel.route.last() == Some(&self.node))
    }
}

/// An interface at which channels arrive.
#[derive(Debug, Clone)]
pub struct InterfaceSpec {
    /// Name, unique.
    pub name: String,
    /// The adapter's receive side, and when the host takes packets from it.
    pub config: InterfaceConfig,
}

/// A program that takes incoming messages.
#[derive(Debug, Clone)]
pub struct ProgramSpec {
    /// Name, unique.
    pub name: String,
    /// Its work and its reservation.
    pub config: ProgramConfig,
}

impl Experiment {
    /// The receiver at `node`, and its place among all.
    pub fn receiver_at(&self, node: usize) -> Option<(usize, &ReceiverSpec)> {
        self.receivers().iter().enumerate().find(|(_, receiver)| receiver.node == node)
    }

    /// The receiver at which `channel` ends, and its place among all.
    pub fn receiver_of(&self, channel: &ChannelSpec) -> Option<(usize, &ReceiverSpec)> {
        channel.interface?;
        self.receiver_at(*channel.route.last()?)
    }

    /// The interface at which `channel` ends.
    pub fn interface_of(&self, channel: &ChannelSpec) -> Option<&InterfaceSpec> {
        Some(&self.receiver_of(channel)?.1.interfaces[channel.interface?])
    }

    /// The same, for a change.
    pub fn interface_of_mut(&mut self, channel: usize) -> Option<&mut InterfaceSpec> {
        let channel = &self.channels[channel];
        let (place, interface) = (self.receiver_of(channel)?.0, channel.interface?);
        Some(&mut self.receivers_mut()[place].interfaces[interface])
    }

    /// Whether packets of `class` arrive at the interfaces of `receiver` for which `here` holds.
    ///
    /// Over a network a message beyond the contract of a channel may arrive as best effort.
    pub fn arrives(
        &self,
        receiver: &ReceiverSpec,
        class: Class,
        here: impl Fn(&ChannelSpec) -> bool,
    ) -> bool {
        let excess = |channel: &ChannelSpec| channel.sends_excess() && self.schedules();
        let sends = |channel: &ChannelSpec| match class {
            Class::RealTime => channel.class == Class::RealTime,
            Class::BestEffort => channel.class == Class::BestEffort || excess(channel),
        };
        let ends = |channel: &&ChannelSpec| receiver.entry(channel).is_some();
        self.channels.iter().filter(ends).any(|channel| here(channel) && sends(channel))
    }

    /// The interfaces of `receiver` as they are when it begins, each with the chance of its own
    /// clock.
    pub fn interfaces_at_rest(&self, receiver: &ReceiverSpec) -> Vec<Interface> {
        let interfaces = receiver.interfaces.iter().enumerate();
        let clock = |i| self.chance(Chance::Clock(receiver.node, i));
        interfaces.map(|(i, spec)| Interface::new(spec.config.clone(), clock(i))).collect()
    }

    /// `receiver` as it is when it begins; packets have the places of their channels as streams.
    pub fn receiver_at_rest(&self, receiver: &ReceiverSpec) -> Receiver {
        let host = self.host(receiver.node);
        let programs = receiver.programs.iter().map(|program| program.config).collect();
        let of = self.channels.iter().map(|spec| spec.program).collect();
        let costs = self.chance(Chance::ReceptionCosts(receiver.node));
        Receiver::new(host.reception, self.interfaces_at_rest(receiver), costs)
            .with_programs(programs, of)
            .with_pool(host.pool)
    }
}
