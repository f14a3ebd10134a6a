//! What a component is called with: where the packets of its node lie, and who hears what it does.
//!
//! A packet lies in one place of its node from where it is made or comes in to where nobody there wants it any more
//! ([`Slots`]); components hold the name of the place. So each of them, whoever it calls, and whoever hears it has to be able
//! to look there, though never two at once: the table is passed along with each call. So is who has which bus, where adapters share one.

use laxity_qos::channel::Slots;

use crate::bus::Buses;

/// The surroundings of a component that puts out `O`.
pub trait Around<O> {
    /// Where the packets of the node lie.
    fn packets(&mut self) -> &mut Slots;

    /// Who has which bus of the node. Only adapters ask that a node has seated at one.
    fn buses(&mut self) -> &mut Buses {
        unreachable!("who is called by itself is at no bus with others")
    }

    /// The component does something.
    fn tell(&mut self, output: O);
}

/// What the components of a node have in common.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Where the packets of the node lie.
    pub(crate) packets: Slots,
    /// Who has which bus.
    pub(crate) buses: Buses,
}

/// Packets and a listener, who may look at them.
pub struct Heard<'a, F> {
    /// Where the packets of the node lie.
    pub packets: &'a mut Slots,
    /// Hears the component.
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
