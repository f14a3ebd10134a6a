//! A node, assembled without sockets: what a daemon wraps and a laboratory simulates.
//!
//! [`Node`] joins the network manager (`laxity-signalling`), the admission tables, a link scheduler
//! for each link, messages with bytes (`laxity-transport`) and a queue for each receiving program.
//! Frames and commands are arguments, and so is the time by the clock of the node. Frames, answers
//! and the next timeout are polled.
//!
//! # Delay bound
//!
//! A message with logical arrival `ℓ` at the source leaves node `k` by `ℓ_k + d_k`, its local
//! deadline there. A packet carries the time that is left until this deadline at the end of its
//! transmission. The next node adds it to the arrival, so that
//!
//! ```text
//! ℓ_{k+1} = max(a + r, ℓ' + I) ≤ ℓ_k + d_k + w_k
//! ```
//!
//! holds with `w_k` for the propagation delay and `ℓ'` for the message before (Kandlur, Shin and
//! Ferrari 1994). A packet is held until `ℓ_k`. Admission therefore sees the same contract at each
//! node, and the message is delivered by `ℓ + Σ d_k + Σ w_k ≤ ℓ + D`.
//!
//! # Release of a reservation
//!
//! A channel that ends may just have sent a message. The link time of this message counts until
//! `ℓ + I`. The node thus frees a reservation in its table at `ℓ + I`, and a later request is not
//! admitted into time that is already used.

mod command;
mod config;
mod counters;
mod data;
#[doc(hidden)]
pub mod faults;
mod flow;
mod line;
mod link;
mod node;
mod receive;

pub use command::{Answer, Command, Departure, Failure, Message, Response};
pub use config::{LinkConfig, NodeConfig, NotANode};
pub use counters::{Counters, Dropped};
pub use line::Lines;
pub use node::Node;
