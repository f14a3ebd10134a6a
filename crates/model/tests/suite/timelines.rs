//! Steps of a host, instant by instant, against schedules worked out by hand from the papers'
//! rules.
//!
//! A run of random traffic shows that no packet is lost; it does not show a cost charged twice, or
//! to the wrong thread, or two equals served in the wrong order. These tests do. All costs are
//! different numbers, so a wrong instant identifies its cause.

mod accounts;
mod applications;
mod bench;
mod buses;
mod computing;
mod cores;
mod interrupts;
mod nodes;
mod preemption;
mod reading;
mod references;
mod threads;
mod timers;
