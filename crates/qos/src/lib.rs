//! The data path: traffic contracts, scheduling disciplines, reception policies and the communication
//! subsystem that enforces contracts. The proofs that a contract can be kept are in `laxity-admission`.
//!
//! Nothing here reads a clock, sleeps, draws a random number or touches a socket. Time is an argument,
//! and the subsystem only *decides* the next step; a driver (the simulation's or the real one) pays
//! for it. The code that a simulation schedules with is the code that a service runs.

pub mod ahead;
mod by_channel;
pub mod channel;
pub mod costs;
pub mod discipline;
pub mod few;
pub mod fragment;
mod names;
mod packet;
mod paradigm;
pub mod reception;
pub mod seldom;
pub mod short_queue;
mod tag;
pub mod token_bucket;
pub mod traffic;
pub mod virtual_clock;
pub mod wire;
