//! Messages with bytes: the packet header, fragmentation without copies, reassembly in reserved
//! buffers.
//!
//! `laxity_qos::fragment` counts packets and sizes, which is all that a simulation needs. This
//! crate moves the bytes of a running service, in the same packets. It does no I/O: packets and
//! readings of the local clock are arguments.
//!
//! * [`TransportHeader`] is version 2 of the wire header.
//! * [`Sender`] cuts a message into [`Fragments`], which are slices of the message.
//! * [`Reassembly`] puts a message together in buffers that were allocated when the channel was
//!   established.

mod fragments;
mod header;
mod reassembly;

pub use fragments::{Fragment, FragmentSizes, Fragments, Sender, TooLong};
pub use header::{HEADER_LEN, Timing, TransportError, TransportHeader, WireChannelId};
pub use reassembly::{Buffer, Ignored, PacketArrival, Reassembly, ReassemblyCounts, Reservation};
