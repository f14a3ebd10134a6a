//! Adapters in this process, and programs that open them in others: the test's own program, started again in a role.

#![allow(dead_code, reason = "not all of it is of every test")]

use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use laxity_emulator::via::{Served, Service, Setup, serve, socket_of};
use laxity_machine::place::Placement;
use laxity_model::via::{Engines, Firmware, FirmwareCosts, ViaConfig};
use laxity_units::Span;

/// What a process plays that was started in a role, and where its adapter is.
const ROLE: &str = "LAXITY_TEST_ROLE";
const SOCKET: &str = "LAXITY_TEST_SOCKET";

/// One of these at a time has the processors.
static ALONE: Mutex<()> = Mutex::new(());

/// A part that another process plays.
pub(crate) struct Role(&'static str);

impl Role {
    pub(crate) fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// In a process that was started for this role, plays it and ends; in the test itself, does nothing.
    pub(crate) fn play(self, part: impl FnOnce(&Path)) {
        if env::var(ROLE).is_ok_and(|role| role == self.0) {
            part(Path::new(&env::var_os(SOCKET).expect("a role has a socket")));
            std::process::exit(0);
        }
    }
}

/// The adapter of Table 1.
pub(crate) fn adapter(firmware: Firmware) -> ViaConfig {
    ViaConfig::table_1(firmware)
}

/// An adapter whose stages take no time.
pub(crate) fn zero(firmware: Firmware) -> ViaConfig {
    ViaConfig { costs: FirmwareCosts::FREE, engines: Engines::FREE, ..ViaConfig::table_1(firmware) }
}

/// Two adapters at work, and a directory for their sockets that is removed with them.
pub(crate) struct Site {
    test: &'static str,
    directory: PathBuf,
    service: Option<Service>,
    _alone: MutexGuard<'static, ()>,
}

impl Site {
    /// For the test of that name, by which processes that play a role find it.
    pub(crate) fn new(test: &'static str, config: ViaConfig) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = env::temp_dir().join(format!("laxity-vi-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let setup = Setup { adapter: config, nodes: 2, latency: Span::from_ns(500), recorded: false };
        let service = Some(serve(setup, &directory, Placement::default()).unwrap());
        Self { test, directory, service, _alone: alone }
    }

    /// The socket of an adapter.
    pub(crate) fn socket(&self, node: usize) -> PathBuf {
        socket_of(&self.directory, node)
    }

    /// Starts a process in a role at an adapter.
    pub(crate) fn start(&self, role: &str, node: usize) -> Player {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", self.test, "--nocapture", "--test-threads", "1"]);
        command
            .env(ROLE, role)
            .env(SOCKET, self.socket(node))
            .env("ADAPTER", self.socket(node))
            .stdout(Stdio::piped());
        Player { role: role.to_string(), child: Some(command.spawn().unwrap()) }
    }

    /// Ends the adapters.
    pub(crate) fn end(mut self) -> Served {
        self.service.take().expect("it ends once").stop().unwrap()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(service) = self.service.take() {
            let _ = service.stop();
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// A process that plays a role; killed if it is dropped before it has ended.
pub(crate) struct Player {
    role: String,
    child: Option<Child>,
}

impl Player {
    /// What it printed, once it has ended without an error.
    pub(crate) fn ended_well(mut self) -> String {
        let output = self.child.take().expect("it ends once").wait_with_output().unwrap();
        assert!(output.status.success(), "{}: {}", self.role, output.status);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Player {
    /// Waits until it has printed a line that ends so, whatever the test's harness puts before it.
    pub(crate) fn waits_for(&mut self, end: &str) {
        let child = self.child.as_mut().expect("it has not ended");
        let mut lines = BufReader::new(child.stdout.as_mut().expect("it is piped")).lines();
        assert!(lines.any(|line| line.is_ok_and(|line| line.ends_with(end))), "{} ended first", self.role);
    }

    /// Waits until it has ended with an error.
    pub(crate) fn ended_badly(mut self) {
        let output = self.child.take().expect("it ends once").wait_with_output().unwrap();
        assert!(!output.status.success(), "{}", self.role);
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
