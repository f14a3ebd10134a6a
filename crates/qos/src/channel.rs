//! The QoS-sensitive communication subsystem of a host (structuring §3).
//!
//! Every channel has a *handler*, a thread that takes messages from the channel's queue and turns
//! them into packets. Handlers share a core under one scheduler, and their packets share the link
//! under another. [`Subsystem`] holds this state and only decides. The driver reports each event
//! (message sent, packet left the adapter, packet received), and the subsystem returns the CPU's
//! next [`Step`]. The driver pays for the step, in virtual time or by doing the work, and then
//! calls [`Subsystem::finish`].
//!
//! ```text
//! send ──police──▶ message queue ─▶ handler ─▶ packet ─▶ link scheduler ─▶ adapter
//!                  (B_max slots)    (CPU        (B_max × N_pkts buffers)
//!                                    scheduler)
//! ```

mod applications;
mod closing;
mod computing;
mod cores;
mod counters;
mod handler;
mod inbox;
mod lane;
mod link;
mod message;
mod misuse;
mod observing;
mod policy;
mod reading;
mod scheduler;
mod sending;
mod slots;
mod step;
mod subsystem;

pub use crate::by_channel::{ByChannel, Label};
pub use crate::names::{ChannelId, CoreId, LinkId};
pub use crate::packet::{Carried, Packet};
pub use crate::paradigm::LinkParadigm;
pub use applications::{Budget, Computed, Computing};
pub use cores::TakenPacket;
pub use counters::ChannelCounters;
pub use message::Delivery;
pub use misuse::Misuse;
pub use policy::{
    Block, ChannelConfig, Config, LinkConfig, MessageOverflow, Order, Oversize, PacketOverflow, Preemption,
    Processing, Reader, Role, Way,
};
pub use slots::{Slot, Slots};
pub use step::{Dropped, Finished, Sent, Step, Thread, Work};
pub use subsystem::Subsystem;

#[cfg(test)]
mod tests;
