//! Admission of an experiment's channels: who is promised what before anything runs.
//!
//! Every host has a table of its own. A channel asks each host of its way for the same local delay, or each for what it needs (`division.rs`), and is admitted if all
//! of them can keep it; then the bound of its messages is made up host by host. A message counts as arrived at the next host
//! when its local deadline here and the longest way have passed, however early it comes: so each host has to reserve
//! for the contract only, and what is ahead of its time is held (Kandlur, Shin and Ferrari 1994).

mod admit;
mod analyses;
mod answer;
mod arrivals;
mod asked;
mod backlog;
mod computing;
mod cores;
mod division;
mod environment;
mod frames;
mod leg;
mod links;
mod proof;
mod refusal;
mod room;
mod station;
mod table;
mod via;

pub use crate::coverage::Uncovered;
pub use admit::{Filled, fill, of_channels, of_computing, promises, service};
pub use answer::{Connection, Hop, Promise, Promises, Refused, Room};
pub(crate) use backlog::held;
pub use proof::proofs;
pub use refusal::{Advice, Fit, Shortfall, fit, shortfall, undelivered};
