//! Experiments that are assembled, bounded and run.
//!
//! `tests/memory.rs` is a program of its own, because it counts with its own allocator.

mod advice;
mod advised;
mod ahead;
mod another_order;
mod arrivals;
mod ats;
mod behind;
mod by_hand;
mod bytes;
mod common;
mod cores;
mod divided;
mod fast_links;
mod faults;
mod fifo;
mod fifo_ends;
mod fifo_rates;
mod fifo_relays;
mod framing;
mod goodput;
mod launch;
mod links;
mod lost;
mod managed;
mod meters;
mod moderation;
mod networks;
mod notices;
mod promised;
mod refusal;
mod rows;
mod shapers;
mod sooner;
mod stages_alone;
mod stages_beside;
mod stalls;
mod steps;
mod terminals;
mod traced;
mod tsn;
mod uncovered;
mod ways;
mod whole;
mod windows;
