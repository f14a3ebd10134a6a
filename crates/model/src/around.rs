//! Context of a component's call: the packets of its node, and the observer of its outputs.
//!
//! A packet stays in one slot of its node from creation or arrival until its last use there
//! ([`Slots`]); components hold the slot's name. Each component and each observer needs access to
//! the table, though never two at once: so each call passes it along, with the allocation of shared
//! buses.

use laxity_qos::channel::Slots;

use crate::bus::Buses;

/// Context of a component with outputs `O`.
pub trait Around<O> {
    /// The packets of the node.
    fn packets(&mut self) -> &mut Slots;

    /// The buses of the node. Only adapters with a seat call this.
    fn buses(&mut self) -> &mut Buses {
        unreachable!("who is called by itself is at no bus with others")
    }

    /// Reports an output of the component.
    fn tell(&mut self, output: O);
}

/// State that the components of a node share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// The packets of the node.
    pub(crate) packets: Slots,
    /// The buses of the node.
    pub(crate) buses: Buses,
}

/// Packets and an observer with access to them.
pub struct Heard<'a, F> {
    /// The packets of the node.
    pub packets: &'a mut Slots,
    /// The observer.
    pub hear: F,
}

impl<O, F: FnMut(&mut Slots, O)> Around<O> for Heard<'_, F> {
    #[inline]
    fn packets(&mut self) -> &mut Slots {
        self.packets
    }

    #[inline]
    fn tell(&mut self, output: O) {
        (self.hear)(self.packets, output);
    }
}
