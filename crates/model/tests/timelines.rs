//! Steps of a host, instant by instant, against schedules worked out by hand from the papers'
//! rules.
//!
//! A run of random traffic shows that no packet is lost; it does not show a cost charged twice, or
//! to the wrong thread, or two equals served in the wrong order. These tests do. All costs are
//! different numbers, so a wrong instant identifies its cause.

#[path = "timelines/accounts.rs"]
mod accounts;
#[path = "timelines/applications.rs"]
mod applications;
#[path = "timelines/bench.rs"]
mod bench;
#[path = "timelines/buses.rs"]
mod buses;
#[path = "timelines/computing.rs"]
mod computing;
#[path = "timelines/cores.rs"]
mod cores;
#[path = "timelines/interrupts.rs"]
mod interrupts;
#[path = "timelines/nodes.rs"]
mod nodes;
#[path = "timelines/preemption.rs"]
mod preemption;
#[path = "timelines/reading.rs"]
mod reading;
#[path = "timelines/references.rs"]
mod references;
#[path = "timelines/threads.rs"]
mod threads;
#[path = "timelines/timers.rs"]
mod timers;
