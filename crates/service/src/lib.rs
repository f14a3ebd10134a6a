//! What needs an operating system: threads and the processors they run on, rings between them, interrupts as
//! signals, TAP devices and the network namespaces that real programs run in.
//!
//! No other crate opens a socket or starts a thread for real time. What is here decides nothing about a
//! network: it moves frames and inputs between an emulated host and the machine it runs on, at times that
//! `laxity_engine::RealClock` tells.
//!
//! A machine rarely permits all that a real-time run could use. What only makes a run better (a processor of its
//! own, a priority, a machine kept awake) is asked for and answered with what was refused and which
//! capability it needs; the run goes on. What a run cannot do without is an error that says the same.

#[cfg(target_os = "linux")]
pub mod calibrate;
#[cfg(target_os = "linux")]
mod core_claim;
#[cfg(target_os = "linux")]
pub mod emulate;
#[cfg(target_os = "linux")]
mod error;
pub mod frame;
#[cfg(target_os = "linux")]
pub mod host;
#[cfg(target_os = "linux")]
pub mod in_process;
#[cfg(target_os = "linux")]
pub mod ip;
#[cfg(target_os = "linux")]
mod link;
pub mod log;
#[cfg(target_os = "linux")]
pub mod namespace;
#[cfg(target_os = "linux")]
mod ownership;
#[cfg(target_os = "linux")]
pub mod place;
pub mod ring;
#[cfg(target_os = "linux")]
mod runner;
#[cfg(target_os = "linux")]
pub mod signal;
#[cfg(target_os = "linux")]
pub mod tap;
#[cfg(target_os = "linux")]
pub mod tap_port;

#[cfg(target_os = "linux")]
pub use core_claim::{CoreClaim, claim_core};
#[cfg(target_os = "linux")]
pub use error::Refused;
#[cfg(target_os = "linux")]
pub use link::Mac;
#[cfg(target_os = "linux")]
pub use runner::Runner;
