//! What a host does, instant by instant, against schedules worked out by hand from the papers'
//! rules.
//!
//! A run of random traffic shows that nothing is lost; it does not show that a cost was charged
//! twice, or to the wrong thread, or that two equals were served in the wrong order. These do.
//! Every cost is another number, so that an instant that is off says by which.

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
