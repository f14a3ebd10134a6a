//! Operating-system support for a run in real time: threads and their processors, rings between
//! threads, interrupts as signals, TAP devices, and network namespaces for real programs.
//!
//! The crate is independent of scenarios, hosts and adapters, and makes no decisions: it wraps
//! resources of the operating system in values that clean up after themselves. It therefore builds
//! in seconds, and its unsafe code can be checked separately (the ring under Miri).
//!
//! Few machines permit everything that a real-time run could use. Requests that only improve a run
//! (an own processor, a priority, no deep idle) return the refusal and the missing capability, and
//! the run continues. For a required resource the refusal is an error.

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
pub mod udp;

#[cfg(target_os = "linux")]
pub use core_claim::{CoreClaim, claim_core, claim_two_cores};
#[cfg(target_os = "linux")]
pub use error::RefusedBySystem;
#[cfg(target_os = "linux")]
pub use link::Mac;
