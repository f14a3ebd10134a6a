//! Guaranteed channels for programs: the library that talks to a local `laxity serve`.
//!
//! A receiver [listens](Client::listen) at a name. A sender [opens](Client::open) a channel to that
//! name with a [`Contract`]: the size and spacing of its messages, and the end-to-end deadline. The
//! network either reserves what the contract needs on the whole route, or refuses it with the node,
//! the resource, how much is missing, and what would be accepted ([`Refusal`]).
//!
//! ```no_run
//! use std::time::Duration;
//! use laxity_client::{Client, Contract};
//!
//! # fn main() -> Result<(), laxity_client::Error> {
//! let client = Client::connect()?;
//! let contract = Contract::periodic(1000, Duration::from_millis(10), Duration::from_millis(5));
//! let mut camera = client.open("recorder", contract)?;
//! camera.send(&[0; 1000])?; // Accepted: it is delivered within 5 ms of its logical arrival.
//! # Ok(())
//! # }
//! ```
//!
//! Messages pass through memory that the program shares with the daemon. Sending is no system call
//! while the daemon is awake. A message is delivered in order, whole or not at all, and is never
//! retransmitted (thesis 3.2). Requests use a Unix socket, and the daemon knows the user of the
//! program from the kernel.
//!
//! A connection belongs to the process that opened it. In a child of `fork` its calls fail
//! ([`Error::Forked`]), and the child opens a connection of its own.

#![cfg(target_os = "linux")]

pub mod bell;
mod channel;
mod client;
mod error;
pub mod listener;
pub mod outbox;
mod owner;
pub mod packed;
pub mod protocol;
pub mod ring;
pub mod socket;

pub use channel::Channel;
pub use client::{Client, Event};
pub use error::Error;
pub use listener::{Listener, Message};
pub use protocol::{Acceptable, ChannelName, Contract, Direction, NodeStatus, Refusal, Row};
