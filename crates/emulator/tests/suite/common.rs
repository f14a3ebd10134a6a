//! The harness of these tests: turns, ports, permissions, emulations and files in memory.

use std::fmt::Display;
use std::io::Write;
use std::process::id;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use laxity_emulator::emulate::{Emulation, no_reports};
use laxity_emulator::log::Journal;
use laxity_emulator::tap_port::{Ports, TapBell};
use laxity_engine::TickEpoch;
use laxity_machine::RefusedBySystem;
use laxity_machine::tap::Tap;
use laxity_world::experiment::{Experiment, Task};

/// Processors: one test in real time has them, or any number of tests in virtual time.
static PROCESSORS: RwLock<()> = RwLock::new(());

/// Turn of a test in real time, whose spinning threads compete with those of no other test.
pub(crate) fn alone() -> RwLockWriteGuard<'static, ()> {
    PROCESSORS.write().unwrap_or_else(PoisonError::into_inner)
}

/// Turn of a test in virtual time, which shares the processors with others of its kind.
pub(crate) fn together() -> RwLockReadGuard<'static, ()> {
    PROCESSORS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Ports of nodes 0 and 1 in a scenario, each `tap0` in its own namespace, which is named after
/// `test`; at these addresses.
pub(crate) fn ports(test: &str, [from, to]: [impl Display; 2]) -> String {
    let port = |node: u32, end: &str, address: &dyn Display| {
        format!(
            r#"
        [[port]]
        node = {node}
        interface = "tap0"
        namespace = "lx-{test}-{}-{end}"
        address = "{address}/24"
        "#,
            id()
        )
    };
    port(0, "a", &from) + &port(1, "b", &to)
}

/// Result of `attempt`, or `None` with the reason printed where devices are not permitted.
pub(crate) fn permitted<T>(attempt: Result<T, RefusedBySystem>) -> Option<T> {
    match attempt {
        Err(refused) if refused.capability().is_some() => {
            println!("skipped: {refused}");
            None
        }
        made => Some(made.unwrap()),
    }
}

/// Emulation of a simulated experiment with TAP devices, and with all of its hosts inside.
pub(crate) fn at_ports(
    experiment: &Arc<Experiment>,
    ports: Ports<Tap>,
    epoch: TickEpoch,
    journal: Option<Journal>,
) -> Emulation<Ports<Tap>, TapBell<Tap>> {
    let Task::Simulate(length) = experiment.task else { panic!("a test is simulated") };
    Emulation {
        experiment: experiment.clone(),
        length,
        doorbell: TapBell::new(&ports, epoch),
        channels: ports.channels(),
        outside: ports,
        hosts: Vec::new(),
        epoch,
        reports: no_reports(),
        journal,
    }
}

/// File that the writer fills and the test reads afterwards.
#[derive(Clone, Default)]
pub(crate) struct Written(pub(crate) Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
