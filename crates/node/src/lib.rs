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
//! # Clocks
//!
//! Nodes count by clocks of their own, of rates from `1 − ρ` to `1 + ρ`. The bound is one for true
//! time under three rules, with `ρ'` for the rate of one clock as another sees it.
//!
//! * Nodes after the source regulate by `I' = (1 − ρ') I`, and reserve for `I'`.
//! * A link takes `1 + ρ` times its nominal time in the local time of a node.
//! * A message is delivered within `(D + n g) / (1 − ρ)` of true time, over `n` nodes with clocks of
//!   grain `g`. The last grain is that of the destination, where a message may wait for others until
//!   its bound.
//!
//! *Proof.* Let `T_k(i)` be the true time at which the clock of node `k` reaches `ℓ_k` of message
//! `i`. *Claim:* `T_k(i) ≤ T_0(i) + B_k` with `B_{k+1} = B_k + (d_k + g)/(1 − ρ) + w_k`. By
//! induction over `k` and `i`: the clock reaches `a + r` by `T_k(i) + (d_k + g)/(1 − ρ) + w_k ≤
//! T_0(i) + B_{k+1}` (`laxity_clock::Crossing`). It reaches `ℓ_{k+1}(i−1) + I'` by `T_{k+1}(i−1) +
//! I'/(1 − ρ) ≤ T_0(i−1) + B_{k+1} + I/(1 + ρ) ≤ T_0(i) + B_{k+1}`. ∎ The comparison is with the
//! source and not with the node before. So one factor `1 − ρ'` is enough for all nodes, where a
//! proof from node to node needs one for each hop.
//!
//! The bound needs clocks that are not set. A clock that is set back passes no time in the node, but
//! the time from the last input to the step is lost, and messages that wait are late by it. A clock
//! that is set forward ends leases and holds early, so messages of other channels may be late.
//! Lateness stays: remaining time is not negative, so the next node counts `ℓ` of a late packet
//! from its arrival, and `I'` from there. Pauses of the source make up for it; without them it
//! shrinks by the difference of `I` and `I'` only. So a step voids the bound for channels that pass
//! the node, until they are opened again or have a new contract. Daemons use a clock that is never
//! set.
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
mod follow;
mod frame;
mod line;
mod link;
mod memory;
mod node;
mod processor;
mod queue;
mod receive;
mod steady;
mod synchronise;
mod timers;

pub use command::{Command, Departure, Failure, ProgramAnswer, ProgramMessage, Response};
pub use config::{NodeConfig, NodeLinkConfig, NotANode};
pub use counters::{DropCause, NodeCounters};
pub use data::ADDRESS;
pub use line::Lines;
pub use node::{Node, SIGNALS};
pub use synchronise::{RECORD, split_clock};
