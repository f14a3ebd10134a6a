//! Clocks of nodes: how they differ from true time, how they agree, and how a deadline crosses
//! hops.
//!
//! * [`NodeClock`] is the model: it maps true time to the time that a node shows, and back,
//!   exactly.
//! * [`Synchroniser`] and [`Responder`] are Cristian's probabilistic clock synchronisation. They do
//!   no I/O: readings of the local clock and messages are arguments.
//! * [`Crossing`] has the terms by which imperfect clocks lengthen a bound over several hops, for
//!   regulation by arrivals, by remaining time, and by deadlines in synchronised time.
//!
//! A simulation knows true time and gives it to [`NodeClock`] only. Every other type sees local
//! readings.

mod crossing;
mod drift;
mod message;
mod node_clock;
mod responder;
mod round_trip;
mod shift;
mod synchroniser;

pub use crossing::{Crossing, CrossingHop, Quality};
pub use drift::{Drift, DriftError, Tolerance};
pub use message::{ClockMessage, MESSAGE_LEN, MessageError};
pub use node_clock::{ClockError, NodeClock};
pub use responder::Responder;
pub use round_trip::{Interval, Known, RoundTrip};
pub use shift::Shift;
pub use synchroniser::{Shown, Synchroniser, SynchroniserCounts, SynchroniserOutcome, SynchroniserPolicy};
