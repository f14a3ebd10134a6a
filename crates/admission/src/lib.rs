//! Admission: whether a channel's deadline can be promised, given every promise already made.
//!
//! The obvious answer, to add up rates, gives no deadline. A message waits for the packets and
//! handlers of others, for work that cannot be preempted, and for the interrupts of other links'
//! transmissions. [`AdmissionTable`] therefore keeps the channels of a host in a priority order. The
//! response time of a message runs from its logical arrival to the end of the transmission of its
//! last packet. Its bound is the least fixed point of (Kandlur, Shin and Ferrari 1994; resource §4)
//!
//! ```text
//! r = W + S_i + Σ_{j ∈ hp(i)} ⌈r/I_j⌉ S_j + Σ_g (burst_g + ⌈r/interval_g⌉) A_g
//! ```
//!
//! with `W` what may have to be waited for below, `S_j` what one message of channel `j` demands,
//! `hp(i)` the channels above `i`, and `A_g` what one activation of an application takes from the
//! handlers.
//!
//! Several readings of `W` and `S` exist side by side ([`Formula`]). `papers.rs` has the formulas
//! in print. They describe a lone message and its predicted throughput well, and are *not* sound.
//! `o1.rs`, `o2.rs`, `o3.rs`, `ideal.rs` and `handed.rs` have bounds proved for the subsystem of
//! [`laxity_qos::channel`]. Their common part, and the proof, is in `trajectory.rs`. `table.rs`
//! proves that they hold under EDF as well as under fixed priorities. EDF can do more than any fixed
//! priorities: `demand.rs` has the test for it, from the same `W` and `S`, which also allows
//! deadlines beyond `I_min` ([`Test`]). Channels that accept a small chance of late messages have
//! `chances.rs`.
//!
//! A link that is shared by rates has a table of its own, `rates.rs`; where a CPU makes what goes
//! over it `rated_host.rs` is both. A host with several cores has `cores.rs`,
//! and one with shapers in its adapter `shaped_host.rs`.
//!
//! The bounds assume of the host, besides its costs:
//!
//! * timers cost no CPU, or are among its declared interrupts ([`Timers`]);
//! * every message is within the sizes of its contract, best effort within those declared as
//!   [`BestEffort`]: [`laxity_qos::channel`] refuses what is not, or carries it as messages of the
//!   contract;
//! * what is ahead of its time stands below everything current, and its handlers yield as often as
//!   others;
//! * calling the link scheduler is not preempted by handlers, whatever the model.

mod below;
mod beside;
mod buffers;
mod chances;
mod cores;
mod counted;
mod decision;
mod demand;
mod environment;
mod handed;
pub mod holistic;
mod ideal;
mod launched_host;
mod least;
mod levelled_host;
mod levels;
mod model;
mod o1;
mod o2;
mod o3;
mod papers;
mod population;
mod rated_host;
mod rates;
pub mod reception;
mod response;
mod shaped_host;
pub mod station;
mod table;
mod terms;
mod timers;
mod trajectory;
mod transmission;
mod unheld_host;

#[cfg(test)]
mod tests;

pub use chances::{Varying, share_late};
pub use cores::{Caller, CorePlace, CoresTable, WayOut};
pub use decision::{AdmissionId, AdmissionRefusal, Bound, Claimant, Decision, Deficit, Reason, Scarce};
pub use environment::{
    Above, ApplicationWork, BestEffort, Buffers, Counting, CountingOthers, Environment, EnvironmentError,
    Formula, Interference, OtherLink, ReceivingProgram, Request, RequestError, ResourceModel,
};
pub use launched_host::LaunchedHost;
pub use levelled_host::LevelledHost;
pub use rated_host::{RatedHost, Unrated};
pub use rates::{Early, Pays, RateRequest, RateTable};
pub use shaped_host::ShapedHost;
pub use table::{AdmissionTable, Test};
pub use terms::{Breakdown, Term};
pub use timers::Timers;
pub use unheld_host::UnheldHost;
