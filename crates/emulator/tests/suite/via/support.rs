//! Adapters in this process, and programs in others: the test's own executable, restarted in a
//! role.

#![allow(unsafe_code, reason = "a file without pages is made by a system call")]

use std::collections::BTreeMap;
use std::env;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor};
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::RwLockWriteGuard;

use crate::common::{Written, alone};
use laxity_emulator::log::{End, Log, LogHeader, RecordedFiles, Recorder};
use laxity_emulator::via::{Beside, Served, Setup, ViService, log, replay, serve_beside, socket_of};
use laxity_machine::place::ThreadPlacement;
use laxity_model::via::{Engines, Firmware, FirmwareCosts, ViaConfig};
use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::Observed;
use laxity_world::experiment::RunLength;
use laxity_world::results::Run;

/// Environment variables: role of a process, and its adapter's socket.
const ROLE: &str = "LAXITY_TEST_ROLE";
const SOCKET: &str = "LAXITY_TEST_SOCKET";

pub(crate) struct Role(&'static str);

impl Role {
    pub(crate) fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// In a process started for this role, plays it and exits; in the test itself, has no effect.
    pub(crate) fn play(self, part: impl FnOnce(&Path)) {
        if env::var(ROLE).is_ok_and(|role| role == self.0) {
            part(Path::new(&env::var_os(SOCKET).expect("a role has a socket")));
            std::process::exit(0);
        }
    }
}

/// Adapter of Table 1.
pub(crate) fn adapter(firmware: Firmware) -> ViaConfig {
    ViaConfig::table_1(firmware)
}

pub(crate) fn zero(firmware: Firmware) -> ViaConfig {
    ViaConfig { costs: FirmwareCosts::FREE, engines: Engines::FREE, ..ViaConfig::table_1(firmware) }
}

/// A scenario of virtual interfaces: two channels, of which the second responds to the first.
fn scenario() -> Scenario {
    let channel = |name: &str, from: u8, after: &str| {
        format!(
            "[[channel]]\nname = \"{name}\"\nclass = \"best_effort\"\nfrom = {from}\nto = {}\nmax_message = \"1 KiB\"\nburst = 1\n\
             source = {{ kind = \"rounds\", after = \"{after}\" }}\n",
            1 - from
        )
    };
    let text = format!(
        "title = \"x\"\n[via]\nfirmware = \"pvia\"\n[run]\ntime = \"1 s\"\n{}{}",
        channel("ping", 0, "pong"),
        channel("pong", 1, "ping")
    );
    Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"))
}

fn header() -> LogHeader {
    let scenario = scenario();
    let length = RunLength::Time { total: Span::from_secs(1), warmup: Span::ZERO, cooldown: Span::ZERO };
    let files: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
    let point = scenario.points().next().unwrap();
    LogHeader::new(&scenario, &point, length, Path::new("test.toml"), &RecordedFiles::of(&files))
}

pub(crate) fn results(served: &Served) -> Run {
    laxity_world::served(&scenario().first(), &served.adapters, served.channels.clone(), served.end)
}

/// Two running adapters, and a directory for their sockets that is removed with them. The inputs of
/// every test are logged, and replayed at the end.
pub(crate) struct Site {
    test: &'static str,
    directory: PathBuf,
    setup: Setup,
    file: Written,
    recorder: Option<Recorder>,
    service: Option<ViService>,
    _alone: RwLockWriteGuard<'static, ()>,
}

impl Site {
    /// Site for the test of that path, by which processes in a role find it.
    pub(crate) fn new(test: &'static str, config: ViaConfig) -> Self {
        let alone = alone();
        let name = test.rsplit("::").next().unwrap_or(test);
        let directory = env::temp_dir().join(format!("laxity-vi-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let setup = Setup {
            adapter: config,
            nodes: 2,
            latency: Span::from_ns(500),
            longest: Setup::LONGEST,
            recorded: false,
        };
        let file = Written::default();
        let (logging, recorder) = log(file.clone(), &header()).unwrap();
        let beside = Beside { log: Some(logging), channels: Observed::all(&scenario().first()) };
        let service = Some(serve_beside(setup, &directory, ThreadPlacement::default(), beside).unwrap());
        Self { test, directory, setup, file, recorder: Some(recorder), service, _alone: alone }
    }

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

    /// Stops the adapters, and replays them.
    pub(crate) fn end(mut self) -> Served {
        self.end_once()
    }

    pub(crate) fn setup(&self) -> Setup {
        self.setup
    }

    /// [`end`](Self::end) that keeps the site.
    pub(crate) fn end_once(&mut self) -> Served {
        let served = self.service.take().expect("it ends once").stop().unwrap();
        let end = End::new(served.inputs, served.end, served.departures);
        self.recorder.take().unwrap().finish(end.keeping(Some(served.kept.clone()))).unwrap();
        let bytes = self.file.0.lock().unwrap().clone();
        let channels = Observed::all(&scenario().first());
        let replayed = replay(Log::open(Cursor::new(bytes)).unwrap(), self.setup, channels).unwrap();
        assert!(replayed.cut.is_none() && replayed.trailing == 0);
        let again = replayed.served;
        assert_eq!(again.adapters, served.adapters);
        assert_eq!(results(&again), results(&served));
        assert_eq!((again.tally, again.violations), (served.tally, served.violations));
        assert_eq!((again.events, again.inputs, again.end), (served.events, served.inputs, served.end));
        assert_eq!((again.departures, &again.kept), (served.departures, &served.kept));
        served
    }

    pub(crate) fn log(&self) -> Vec<u8> {
        self.file.0.lock().unwrap().clone()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        match std::thread::panicking() {
            true => self.service.take().into_iter().for_each(|service| _ = service.stop()),
            false if self.service.is_some() => _ = self.end_once(),
            false => {}
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Sparse file of `length` bytes that an adapter accepts.
pub(crate) fn sparse(length: u64) -> OwnedFd {
    let name = c"sparse";
    // SAFETY: a name that ends with zero, and flags.
    let number = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    assert!(number >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the call made this file, which has no other owner.
    let file = File::from(unsafe { OwnedFd::from_raw_fd(number) });
    file.set_len(length).unwrap();
    // SAFETY: a file that lives through the call, and numbers.
    assert_eq!(unsafe { libc::fcntl(number, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) }, 0);
    file.into()
}

/// Process in a role; killed if it is dropped before it has ended.
pub(crate) struct Player {
    role: String,
    child: Option<Child>,
}

impl Player {
    /// Its output, once it has ended without an error.
    pub(crate) fn ended_well(mut self) -> String {
        let output = self.child.take().expect("it ends once").wait_with_output().unwrap();
        assert!(output.status.success(), "{}: {}", self.role, output.status);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Player {
    /// Waits for an output line with this end, whatever prefix the test harness adds.
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
