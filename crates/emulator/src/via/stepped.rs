//! Adapters that whoever has them takes forward: the same ones, without a thread and a clock of their own.
//!
//! Time goes where events take it, so stages take their time and nobody waits for it. What two programs exchange is then the same from
//! run to run if they ring in the same order, and what a message costs can be counted.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use laxity_engine::{Calendar, Clock, Doorbell as _, Limits, Stop, Wait};
use laxity_machine::place::Placed;
use laxity_units::{Span, Time};

use super::bells::AnyBell;
use super::cluster::{Cluster, Event, Violations};
use super::control::{Doors, socket_of};
use super::desk::Desk;
use super::interface::Tally;
use super::{Setup, attend};

/// Adapters to be taken forward.
pub struct Stepped {
    cluster: Cluster,
    calendar: Calendar<Event>,
    clock: AtOnce,
    control: Placed<()>,
    over: Arc<AtomicBool>,
    directory: PathBuf,
}

impl Stepped {
    /// Opens the adapters of `setup` at sockets in `directory`. A program's requests are answered in steps, so it makes them from another
    /// thread.
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

    /// Where adapter `node` is to be opened.
    pub fn socket(&self, node: usize) -> PathBuf {
        socket_of(&self.directory, node)
    }

    /// Hears what was rung and asked for, and lets everything happen that comes of it.
    pub fn step(&mut self) {
        while self.step_events(u64::MAX) {}
    }

    /// Hears what was rung and asked for, and lets at most so many events happen, which programs may see and answer before the next. False if
    /// nothing is to come.
    pub fn step_events(&mut self, most: u64) -> bool {
        let Self { cluster, calendar, clock, .. } = self;
        laxity_engine::run(cluster, calendar, clock, Limits::NONE.events(most)).stop == Stop::Events
    }

    /// How far time has come.
    pub fn now(&self) -> Time {
        self.calendar.now()
    }

    /// What became of messages, and what programs did that they should not.
    pub fn account(&self) -> (Tally, Violations) {
        (self.cluster.tally(), self.cluster.violations)
    }

    /// Ends it.
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

/// A clock for which it is always time, once nothing waits to be heard.
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
