//! The kinds of systems, and the questions that distinguish them.

use laxity_qos::discipline::Class;

use super::{ChannelSpec, Experiment, ReceiverSpec, SignallingSpec, ViaSpec};

/// The kind of a system, with the parts that only that kind has.
#[derive(Debug, Clone)]
pub enum System {
    /// Hosts that schedule what they send, alone or at networks.
    Hosts {
        /// Hosts at the ends of paths that receive at interfaces and do not send; one for a node at
        /// most.
        receivers: Vec<ReceiverSpec>,
    },
    /// A host without a network that receives at interfaces, at which sources deliver by themselves.
    Receiver(ReceiverSpec),
    /// Nodes that establish channels while traffic runs.
    Signalled(SignallingSpec),
    /// Adapters with virtual interfaces, of which each channel connects two.
    VirtualInterfaces(ViaSpec),
}

impl Experiment {
    /// Whether hosts schedule what they send.
    pub fn schedules(&self) -> bool {
        match self.system {
            System::Hosts { .. } => true,
            System::Receiver(_) | System::Signalled(_) | System::VirtualInterfaces(_) => false,
        }
    }

    /// Whether packets are frames on networks.
    pub fn carries_frames(&self) -> bool {
        match self.system {
            System::Hosts { .. } | System::Signalled(_) => true,
            System::Receiver(_) | System::VirtualInterfaces(_) => false,
        }
    }

    /// The hosts that receive at interfaces.
    pub fn receivers(&self) -> &[ReceiverSpec] {
        match &self.system {
            System::Hosts { receivers } => receivers,
            System::Receiver(receiver) => std::slice::from_ref(receiver),
            System::Signalled(_) | System::VirtualInterfaces(_) => &[],
        }
    }

    /// The same, for a change.
    pub(super) fn receivers_mut(&mut self) -> &mut [ReceiverSpec] {
        match &mut self.system {
            System::Hosts { receivers } => receivers,
            System::Receiver(receiver) => std::slice::from_mut(receiver),
            System::Signalled(_) | System::VirtualInterfaces(_) => &mut [],
        }
    }

    /// The receiver that is all of the experiment.
    pub fn lone_receiver(&self) -> Option<&ReceiverSpec> {
        if let System::Receiver(receiver) = &self.system { Some(receiver) } else { None }
    }

    /// The description of nodes that establish channels.
    pub fn signalling(&self) -> Option<&SignallingSpec> {
        if let System::Signalled(spec) = &self.system { Some(spec) } else { None }
    }

    /// The description of adapters with virtual interfaces.
    pub fn virtual_interfaces(&self) -> Option<&ViaSpec> {
        if let System::VirtualInterfaces(spec) = &self.system { Some(spec) } else { None }
    }

    /// Whether `channel` asks for a bound: by a deadline or, as a virtual interface, by a bandwidth.
    pub fn asks_for_bound(&self, channel: &ChannelSpec) -> bool {
        match self.system {
            System::Hosts { .. } | System::Receiver(_) | System::Signalled(_) => channel.deadline.is_some(),
            System::VirtualInterfaces(_) => channel.class == Class::RealTime,
        }
    }
}
