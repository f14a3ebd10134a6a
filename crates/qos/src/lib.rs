//! What gives guarantees: traffic contracts, admission, scheduling disciplines and the communication
//! subsystem that enforces them.
//!
//! Nothing here reads a clock, sleeps, draws a random number or touches a socket. Time is an argument,
//! and the subsystem only *decides* the next step; a driver (the simulation's or the real one) pays
//! for it. The code that a simulation schedules with is the code that a service runs.

pub mod admission;
pub mod ahead;
pub mod channel;
pub mod costs;
pub mod discipline;
pub mod few;
pub mod fragment;
pub mod holistic;
pub mod reception;
pub mod seldom;
pub mod short_queue;
pub mod station;
pub mod token_bucket;
pub mod traffic;
pub mod virtual_clock;
pub mod wire;
