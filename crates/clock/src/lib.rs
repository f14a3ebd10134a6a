//! Clocks of nodes: how they differ from true time, and how they agree.
//!
//! * [`NodeClock`] is the model: it maps true time to the time that a node shows, and back,
//!   exactly.
//! * [`Synchroniser`] and [`Responder`] are Cristian's probabilistic clock synchronisation. They do
//!   no I/O: readings of the local clock and messages are arguments.
//!
//! A simulation knows true time and gives it to [`NodeClock`] only. Every other type sees local
//! readings.

mod drift;
mod message;
mod node_clock;
mod responder;
mod round_trip;
mod shift;
mod synchroniser;

pub use drift::{Drift, DriftError, Tolerance};
pub use message::{MESSAGE_LEN, Message, MessageError};
pub use node_clock::{ClockError, NodeClock};
pub use responder::Responder;
pub use round_trip::{Interval, Known, RoundTrip};
pub use shift::Shift;
pub use synchroniser::{Counts, Outcome, Policy, Shown, Synchroniser};
