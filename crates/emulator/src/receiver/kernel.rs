//! Receiving host that is this machine's kernel, with a program of Laxity in a network namespace.
//!
//! ```text
//!   END's thread                                                       the host's processor
//!   sources ▶ slots ▶ posted ─ the policy: when, how many ─▶ TAP ─ interrupt ─▶ the kernel ▶ socket ▶ program, a program beside it
//!   meters ◀──────────────── ring: which datagrams the program has done with ◀───────────────────────────────────┘
//! ```
//!
//! A TAP device has no interrupt: the kernel processes a written frame through all layers at once,
//! on the writer's processor. The device is therefore configured to do so on the host's processor
//! (receive packet steering), where the write acts as an adapter's interrupt. Its cost, the
//! kernel's behaviour under a flood, and its drops are the kernel's and not modelled. END decides
//! as an adapter does: which packets it keeps, and when it hands over how many. Possible policies
//! are therefore those with batches in the interrupt routine.
//!
//! *The adapter's view of such a host* is the number of full buffers: those it has filled and the
//! program has not released. The socket holds as many packets as the interface has buffers. Excess
//! packets are dropped by the kernel, at its own cost. Datagrams keep their order, so one that is
//! missing when a later one arrives was dropped.
//!
//! *Residual CPU time* is measured by completed work: the program's, of fixed size for each
//! datagram, and that of the background program. The rest is time of the network, and of other
//! users of the processor; [`Left`] has the latter.

mod adapters;
mod frames;
mod program;
mod site;
#[cfg(test)]
mod tests;

use std::net::UdpSocket;
use std::sync::Arc;

use laxity_engine::TickEpoch;
use laxity_machine::place::{PlacedThread, ThreadPlacement, spawn_on};
use laxity_machine::ring::{Watcher, ring};
use laxity_units::Span;
use laxity_world::experiment::Experiment;

use super::RING;
pub(super) use adapters::Handing;
pub(super) use program::{Done, Left};
use program::{Program, Shared};
use site::Site;

/// Interval without a reading of END's counter from which the platform counts as stalled. It
/// exceeds END's longest step, which hands over two frames and wakes another processor for each:
/// some 5 us, if that processor does not hold the lock on its backlog.
pub(super) const GAP: Span = Span::from_us(60);

/// Devices and a socket for a host of this kind, and its processor.
pub(super) struct Prepared {
    site: Site,
    socket: UdpSocket,
    core: usize,
}

pub(super) struct Started {
    /// END's part.
    pub(super) adapters: Handing,
    /// Rings when the program has completed a datagram.
    pub(super) bell: Watcher<Done>,
    /// Program, which ends when the adapters close.
    pub(super) program: PlacedThread<Left>,
}

impl Prepared {
    /// Prepares the host of `experiment` on processor `core`.
    pub(super) fn new(experiment: &Experiment, core: Option<usize>) -> Result<Self, String> {
        let core = core.ok_or("the kernel cannot be told to receive on a processor that is not known")?;
        let site = Site::new(experiment, core).map_err(|refused| refused.to_string())?;
        let socket = site.socket().try_clone().map_err(|why| format!("cannot share a socket: {why}"))?;
        Ok(Self { site, socket, core })
    }

    /// Starts the program of `experiment`.
    pub(super) fn start(self, experiment: &Arc<Experiment>, epoch: TickEpoch) -> Result<Started, String> {
        let Self { site, socket, core } = self;
        let (done, heard) = ring(RING);
        let shared = Arc::new(Shared::default());
        let at_host = {
            let (experiment, shared) = (experiment.clone(), shared.clone());
            move || Program::new(&experiment, &shared, epoch, socket, done, core).run()
        };
        let program = spawn_on(ThreadPlacement { core: Some(core), fifo: None }, "laxity-program", at_host);
        let program = program.map_err(|refused| refused.to_string())?;
        let bell = heard.watcher();
        Ok(Started { adapters: Handing::new(experiment, site, shared, heard), bell, program })
    }
}
