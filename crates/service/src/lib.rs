//! The daemon of a host: guaranteed channels between real programs on real hosts.
//!
//! `laxity-node` makes all decisions, without I/O. This crate gives it sockets, a clock, shared
//! memory and people:
//!
//! ```text
//! programs ── Unix socket ──▶ control ◀── TLS ──▶ control of neighbours
//!    │                          │ ring
//!    └──── shared memory ────▶ engine ◀── UDP ──▶ engines of neighbours
//! ```
//!
//! The [engine](engine::Engine) is one thread that keeps deadlines and never blocks. Control is the
//! thread that can block: names and routes ([`directory`]), sessions with neighbours, requests of
//! programs, metrics.

#![cfg(target_os = "linux")]

mod check;
mod clock;
pub mod compare;
pub mod config;
mod control;
mod crossing;
mod daemon;
pub mod directory;
mod engine;
mod etcd;
mod exchange;
#[cfg(test)]
mod hostile;
mod identity;
mod inbox;
mod journal;
mod ledger;
mod logged;
mod metrics;
mod names;
pub mod network;
mod node_file;
mod notify;
mod outbox;
mod owners;
mod pinned;
mod policer;
pub mod predict;
mod programs;
mod pulse;
mod reload;
mod replay;
mod seal;
mod serve;
mod session;
mod shaper;
mod stalls;
mod watch;
mod wire;

pub use daemon::serve;
pub use identity::make_keys;
pub use node_file::{NodeFile, Security};
pub use replay::{Passed, ReplayedLog, is_log, replay};
