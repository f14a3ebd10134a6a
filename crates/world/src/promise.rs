//! Admission of an experiment's channels: the bound that each channel is promised before the run.
//!
//! Every host has a table of its own. A channel asks each host of its path for the same local
//! delay, or each for the delay that it needs (`division.rs`). It is admitted if all hosts can keep
//! it; then the bound of its messages is composed host by host. A message counts as arrived at the
//! next host when its local deadline here and the longest path delay have passed, however early it
//! arrives. Each host therefore reserves for the contract only, and early messages are held
//! (Kandlur, Shin and Ferrari 1994).

mod admit;
mod analyses;
mod answer;
mod arrivals;
mod arriving;
mod asked;
mod asks;
mod backlog;
mod chances;
mod computing;
mod cores;
mod division;
mod environment;
mod fifo;
mod frames;
mod leg;
mod links;
mod moderation;
mod proof;
mod refusal;
mod response;
mod room;
mod station;
mod table;
mod via;

pub use crate::coverage::{CoveredBy, Uncovered};
pub use laxity_admission::reception::bound::ReceptionRoom;

pub use admit::{Filled, fill, of_channels, of_computing, promises, service};
pub use analyses::Reading;
pub use answer::{Connection, Hop, Promise, Promises, Refused, Room};
pub use arrivals::Choice;
pub(crate) use arriving::policer;
pub use asks::{jitter_bound, share_lost};
pub(crate) use backlog::held;
pub use fifo::passes_queues;
pub use proof::{proofs, tests};
pub use refusal::{Advice, Fit, Shortfall, fit, shortfall, undelivered};
pub use response::{ExchangeBounds, Unanswered, exchange_bounds};
