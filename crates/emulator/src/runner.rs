//! Runs a point of a sweep under the clock that it asks for.
//!
//! Simulated points run side by side, one per core. An emulated one needs the machine for itself: a thread that
//! spins beside two others that compute sees stalls that nobody outside made. So it waits until the others are
//! done, and they wait for it.

use std::sync::{PoisonError, RwLock};

use laxity_world::experiment::{ClockKind, Experiment, HostPlace};
use laxity_world::results::Run;

use crate::in_process;

/// Runs points, of several threads at once.
#[derive(Debug, Default)]
pub struct Runner {
    machine: RwLock<()>,
}

impl Runner {
    /// Runs `experiment`; an error says what it lacks.
    pub fn run(&self, experiment: &Experiment) -> Result<Run, String> {
        match experiment.clock {
            ClockKind::Virtual => {
                let _shared = self.machine.read().unwrap_or_else(PoisonError::into_inner);
                Ok(laxity_world::run(experiment))
            }
            ClockKind::Real => {
                let _alone = self.machine.write().unwrap_or_else(PoisonError::into_inner);
                match experiment.emulation.host {
                    HostPlace::Thread => {
                        in_process::run(experiment, None, &mut |_| ()).map(|driven| driven.run)
                    }
                    HostPlace::Model => Err("a modelled host is emulated by `laxity emulate`".into()),
                }
            }
        }
    }
}
