//! Runs a point of a sweep under the clock that it asks for.
//!
//! Simulated points run side by side, one per core. An emulated one needs the machine for itself: a thread that
//! spins beside two others that compute sees stalls that nobody outside made. So it waits until the others are
//! done, and they wait for it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError, RwLock};

use laxity_world::experiment::{ClockKind, Experiment, HostPlace};
use laxity_world::results::Run;

use crate::{in_process, receiver};

/// Runs points, of several threads at once.
pub struct Runner<'a> {
    machine: RwLock<()>,
    warn: &'a (dyn Fn(&str) + Sync),
    /// Warnings that were given: of many points each says the same.
    warned: Mutex<BTreeSet<String>>,
}

impl fmt::Debug for Runner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("warned", &self.warned).finish_non_exhaustive()
    }
}

impl<'a> Runner<'a> {
    /// One that tells `warn`, before a point is run in real time, what will disturb it.
    pub fn new(warn: &'a (dyn Fn(&str) + Sync)) -> Self {
        Self { machine: RwLock::default(), warn, warned: Mutex::default() }
    }

    fn warn(&self, warning: &str) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.insert(warning.to_string()) {
            (self.warn)(warning);
        }
    }

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
                    HostPlace::Thread | HostPlace::Kernel if !experiment.interfaces.is_empty() => {
                        receiver::run(experiment, &mut |warning| self.warn(warning)).map(|ended| ended.run)
                    }
                    HostPlace::Thread => {
                        let warn = &mut |warning: &str| self.warn(warning);
                        in_process::run(experiment, None, warn, &mut |_| ()).map(|driven| driven.run)
                    }
                    HostPlace::Model | HostPlace::Kernel => {
                        Err("a modelled host is emulated by `laxity emulate`".into())
                    }
                }
            }
        }
    }
}
