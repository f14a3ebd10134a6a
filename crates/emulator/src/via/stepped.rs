//! Adapters advanced by their owner, without their own thread and clock.
//!
//! Time advances with events, so stages take their time and no thread waits. The exchange of two
//! programs is then reproducible if they ring in the same order, and the cost of a message can be
//! counted.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use laxity_engine::{Calendar, Clock, InputDoorbell as _, Limits, Stop, Wait};
use laxity_machine::place::PlacedThread;
use laxity_units::{Span, Time};

use super::bells::AnyBell;
use super::cluster::{Cluster, Event, Violations};
use super::control::{Doors, socket_of};
use super::desk::Desk;
use super::interface::InterfaceTally;
use super::{Setup, attend};

/// Adapters to be advanced.
pub struct Stepped {
    cluster: Cluster,
    calendar: Calendar<Event>,
    clock: AtOnce,
    control: PlacedThread<()>,
    over: Arc<AtomicBool>,
    directory: PathBuf,
}

impl Stepped {
    /// Opens the adapters of `setup` at sockets in `directory`. A program's requests are handled in
    /// steps, so it makes them from another thread.
    pub fn open(setup: Setup, directory: &Path) -> io::Result<Self> {
        let doors = Doors::open(directory, setup.nodes)?;
        let over = Arc::new(AtomicBool::new(false));
        let (desk, counter) = Desk::with_counter(&over);
        let control = attend(doors, counter, over.clone())?;
        let cluster = Cluster::new(setup, None, desk);
        let clock = AtOnce { bell: cluster.bell(), at: Time::ZERO };
        let directory = directory.to_path_buf();
        Ok(Self { cluster, calendar: Calendar::new(), clock, control, over, directory })
    }

    /// Path of the socket of adapter `node`.
    pub fn socket(&self, node: usize) -> PathBuf {
        socket_of(&self.directory, node)
    }

    /// Reads doorbells and orders, and runs all resulting events.
    pub fn step(&mut self) {
        while self.step_events(u64::MAX) {}
    }

    /// Reads doorbells and orders, and runs at most `most` events; programs may react between
    /// calls. False if no event is pending.
    pub fn step_events(&mut self, most: u64) -> bool {
        let Self { cluster, calendar, clock, .. } = self;
        laxity_engine::run(cluster, calendar, clock, Limits::NONE.events(most)).stop == Stop::Events
    }

    /// Current time.
    pub fn now(&self) -> Time {
        self.calendar.now()
    }

    /// Counts of messages, and violations by programs.
    pub fn account(&self) -> (InterfaceTally, Violations) {
        (self.cluster.tally(), self.cluster.violations)
    }

    /// Stops the adapters.
    #[allow(clippy::disallowed_methods, reason = "it waits for the thread that talks to programs")]
    pub fn stop(mut self) -> io::Result<()> {
        self.over.store(true, Ordering::Release);
        while !self.cluster.over {
            self.step();
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        self.control.join().map_err(|_| io::Error::other("a thread of the adapters broke off"))
    }
}

/// Clock that reaches every time at once, when no input is pending.
struct AtOnce {
    bell: AnyBell,
    at: Time,
}

impl Clock for AtOnce {
    fn wait_until(&mut self, t: Time) -> Wait {
        if self.bell.is_rung() {
            return Wait::Woken { at: self.at };
        }
        if t != Time::MAX {
            self.at = t;
        }
        Wait::Reached { late: Span::ZERO }
    }
}
