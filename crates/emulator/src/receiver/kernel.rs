//! A host that receives and is this machine's kernel, with a program of ours in a network namespace.
//!
//! ```text
//!   END's thread                                                       the host's processor
//!   sources ▶ slots ▶ posted ─ the policy: when, how many ─▶ TAP ─ interrupt ─▶ the kernel ▶ socket ▶ program, a program beside it
//!   meters ◀──────────────── ring: which datagrams the program has done with ◀───────────────────────────────────┘
//! ```
//!
//! A TAP device has no interrupt of its own: what is written, the kernel takes through its layers there and then, on the writer's
//! processor. So the device is told to do that on the host's (receive packet steering), to which the write is then what an adapter's
//! interrupt is. How costly that is, what the kernel does under a flood, and when it drops, is the kernel's affair and not modelled;
//! END decides what an adapter decides: which packets it keeps, and when it hands how many of them over. So of all policies those can be had
//! whose batch is the interrupt routine's.
//!
//! *What an adapter knows of such a host* is which of its buffers are full: those it has filled and the program has not given
//! back. The socket has room for as many packets as the interface has buffers. What was handed over beyond that is the kernel's
//! to drop, at its own cost; datagrams keep their order, so one that is missing when a later one comes was dropped.
//!
//! *What is left of the CPU* is measured by work that gets done: the program's, of fixed size for each datagram, and that of the program
//! beside it. Everything else is the network's, and of whoever else had the processor. [`Left`] says how much the latter was.

mod adapters;
mod frames;
mod program;
mod site;
#[cfg(test)]
mod tests;

use std::net::UdpSocket;
use std::sync::Arc;

use laxity_engine::Epoch;
use laxity_machine::place::{Placed, Placement, spawn_on};
use laxity_machine::ring::{Watcher, ring};
use laxity_units::Span;
use laxity_world::experiment::Experiment;

use super::RING;
pub(super) use adapters::Handing;
pub(super) use program::{Done, Left};
use program::{Program, Shared};
use site::Site;

/// What END's thread is away from the counter for when the platform has stood still: more than a step of its own takes, in which it
/// hands over two frames and wakes another processor for each, some 5 us if that does not hold the lock on its backlog.
pub(super) const GAP: Span = Span::from_us(60);

/// Devices and a socket for a host of this kind, and the processor that is to be its own.
pub(super) struct Prepared {
    site: Site,
    socket: UdpSocket,
    core: usize,
}

/// A host of this kind, started.
pub(super) struct Started {
    /// END's part.
    pub(super) adapters: Handing,
    /// Rings when the program has done with something.
    pub(super) bell: Watcher<Done>,
    /// The program, which ends when the adapters close.
    pub(super) program: Placed<Left>,
}

impl Prepared {
    /// What the host of `experiment` needs on processor `core`.
    pub(super) fn new(experiment: &Experiment, core: Option<usize>) -> Result<Self, String> {
        let core = core.ok_or("the kernel cannot be told to receive on a processor that is not known")?;
        let site = Site::new(experiment, core).map_err(|refused| refused.to_string())?;
        let socket = site.socket().try_clone().map_err(|why| format!("cannot share a socket: {why}"))?;
        Ok(Self { site, socket, core })
    }

    /// Starts the program of `experiment`.
    pub(super) fn start(self, experiment: &Arc<Experiment>, epoch: Epoch) -> Result<Started, String> {
        let Self { site, socket, core } = self;
        let (done, heard) = ring(RING);
        let shared = Arc::new(Shared::default());
        let at_host = {
            let (experiment, shared) = (experiment.clone(), shared.clone());
            move || Program::new(&experiment, &shared, epoch, socket, done, core).run()
        };
        let program = spawn_on(Placement { core: Some(core), fifo: None }, "laxity-program", at_host);
        let program = program.map_err(|refused| refused.to_string())?;
        let bell = heard.watcher();
        Ok(Started { adapters: Handing::new(experiment, site, shared, heard), bell, program })
    }
}
