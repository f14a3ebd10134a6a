//! END and its tools: a scenario run in real time with real programs, a host in a thread beside the
//! emulated adapter, the log of a run and its replay, and the calibration of this machine as a
//! host.
//!
//! The crate moves frames and inputs between an emulated host and the machine it runs on
//! (`laxity_machine`), at times given by `laxity_engine::RealClock`. All decisions about the
//! network are in `laxity_world::Assembly`, as in virtual time.

#[cfg(target_os = "linux")]
pub mod calibrate;
#[cfg(target_os = "linux")]
pub mod emulate;
pub mod frame;
#[cfg(target_os = "linux")]
pub mod host;
#[cfg(target_os = "linux")]
pub mod in_process;
pub mod log;
#[cfg(target_os = "linux")]
pub mod receiver;
#[cfg(target_os = "linux")]
mod runner;
#[cfg(target_os = "linux")]
pub mod tap_port;
#[cfg(target_os = "linux")]
pub mod via;

#[cfg(target_os = "linux")]
pub use runner::Runner;
