//! Analyses of a host that receives: a bound for each interface, and predictions of throughput.
//!
//! The policies themselves are [`laxity_qos::reception`].

pub mod bound;
mod predictions;
pub mod queueing;

pub use predictions::ReceivingCosts;
