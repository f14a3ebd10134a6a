//! Runs a point of a sweep under its clock.
//!
//! Simulated points run in parallel, one per core. An emulated one needs the machine alone: a
//! spinning thread beside computing ones would see stalls that are not the platform's. It therefore
//! waits for the others, and they wait for it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError, RwLock};

use laxity_world::experiment::{ClockKind, Experiment, HostPlace};
use laxity_world::results::Run;

use crate::{in_process, receiver};

/// Runs points, from several threads.
pub struct Runner<'a> {
    machine: RwLock<()>,
    warn: &'a (dyn Fn(&str) + Sync),
    /// Warnings already issued, which would repeat for each point.
    warned: Mutex<BTreeSet<String>>,
}

impl fmt::Debug for Runner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("warned", &self.warned).finish_non_exhaustive()
    }
}

impl<'a> Runner<'a> {
    /// Runner that passes to `warn`, before a point is run in real time, any disturbance.
    pub fn new(warn: &'a (dyn Fn(&str) + Sync)) -> Self {
        Self { machine: RwLock::default(), warn, warned: Mutex::default() }
    }

    fn warn(&self, warning: &str) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.insert(warning.to_string()) {
            (self.warn)(warning);
        }
    }

    /// Runs `experiment`; an error states what it lacks.
    pub fn run(&self, experiment: &Experiment) -> Result<Run, String> {
        match experiment.clock {
            ClockKind::Virtual => {
                let _shared = self.machine.read().unwrap_or_else(PoisonError::into_inner);
                Ok(laxity_world::run(experiment))
            }
            ClockKind::Real => {
                let _alone = self.machine.write().unwrap_or_else(PoisonError::into_inner);
                match experiment.emulation.host {
                    HostPlace::Thread | HostPlace::Kernel if experiment.lone_receiver().is_some() => {
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
