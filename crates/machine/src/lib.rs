//! The machine that a run in real time has under it: threads and the processors they run on, rings between them,
//! interrupts as signals, TAP devices and the network namespaces that real programs run in.
//!
//! What is here knows nothing of scenarios, hosts or adapters, and decides nothing: it makes what the operating system has
//! into values that clean up after themselves. So it builds in seconds, and what is unsafe in it can be looked at by itself
//! (the ring under Miri).
//!
//! A machine rarely permits all that a real-time run could use. What only makes a run better (a processor of its
//! own, a priority, a machine kept awake) is asked for and answered with what was refused and which
//! capability it needs; the run goes on. What a run cannot do without is an error that says the same.

#[cfg(target_os = "linux")]
pub mod bpf;
#[cfg(target_os = "linux")]
mod core_claim;
#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
pub mod ip;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
pub mod namespace;
#[cfg(target_os = "linux")]
pub mod offload;
#[cfg(target_os = "linux")]
mod ownership;
#[cfg(target_os = "linux")]
pub mod place;
#[cfg(target_os = "linux")]
pub mod poll;
pub mod ring;
#[cfg(target_os = "linux")]
pub mod signal;
#[cfg(target_os = "linux")]
pub mod socket;
#[cfg(target_os = "linux")]
pub mod tap;

#[cfg(target_os = "linux")]
pub use core_claim::{CoreClaim, claim_core, claim_two_cores};
#[cfg(target_os = "linux")]
pub use error::Refused;
#[cfg(target_os = "linux")]
pub use link::Mac;
