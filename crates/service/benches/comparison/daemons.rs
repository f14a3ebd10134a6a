//! A daemon in each host, as a process of its own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use laxity_client::{Client, NodeStatus};
use laxity_service::make_keys;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::line::{Hosts, address, device};

/// Mbit/s that the daemons have of a line of 100 Mbit/s.
pub(crate) const RATE: u64 = 40;
/// Seconds that a node keeps a channel without a message of its source.
pub(crate) const LEASE: u64 = 2;

/// Daemons `n0`, `n1`, …; dropped, they end in order.
pub(crate) struct Daemons {
    directory: PathBuf,
    children: Vec<Option<Child>>,
}

fn name(host: usize) -> String {
    format!("n{host}")
}

/// The node file of a host.
fn file(directory: &Path, host: usize, hosts: usize) -> String {
    let name = name(host);
    let mut text = format!(
        "name = \"{name}\"\nid = {}\nsocket = \"{1}/{name}.sock\"\nstate = \"{1}\"\nlease = \"{LEASE} s\"\n\
         security = {{ authority = \"keys/authority.pem\", certificate = \"keys/{name}.pem\", \
         key = \"keys/{name}.key\" }}\n",
        host + 1,
        directory.display()
    );
    // Line `n` joins host `n - 1` and host `n`.
    for (line, peer, right) in [(host, host.wrapping_sub(1), true), (host + 1, host + 1, false)] {
        if line == 0 || line >= hosts {
            continue;
        }
        text += &format!(
            "[[link]]\npeer = \"n{peer}\"\npeer_id = {}\nlocal = \"{}:4700\"\nremote = \"{}:4700\"\n\
             interface = \"{}\"\nline = \"100 Mbit/s\"\nrate = \"{RATE} Mbit/s\"\n",
            peer + 1,
            address(line, right),
            address(line, !right),
            device(line, right),
        );
    }
    text
}

impl Daemons {
    /// Starts a daemon in each host, and waits until all are joined.
    pub(crate) fn start(hosts: &Hosts) -> Result<Self, String> {
        let directory = std::env::temp_dir().join(format!("laxity-comparison-{}", std::process::id()));
        let count = hosts.spaces.len();
        let names: Vec<String> = (0..count).map(name).collect();
        make_keys(&directory.join("keys"), &names).map_err(|why| why.to_string())?;
        let mut daemons = Self { directory, children: Vec::new() };
        for host in 0..count {
            let path = daemons.directory.join(format!("{}.toml", name(host)));
            std::fs::write(&path, file(&daemons.directory, host, count)).map_err(|why| why.to_string())?;
            let program = std::env::current_exe().map_err(|why| why.to_string())?;
            let mut command = Command::new(program);
            command.arg("node").arg(path).stdin(Stdio::null()).stderr(Stdio::null());
            let child = hosts.within(host, || command.spawn())?;
            daemons.children.push(Some(child.map_err(|why| why.to_string())?));
        }
        for host in 0..count {
            let up = || Some(daemons.client(host).ok()?.status().ok()?.links.iter().all(|link| link.1));
            within(&format!("{} is joined", name(host)), || up() == Some(true))?;
        }
        Ok(daemons)
    }

    /// The socket of programs at a host.
    pub(crate) fn socket(&self, host: usize) -> PathBuf {
        self.directory.join(format!("{}.sock", name(host)))
    }

    /// A program at a host.
    pub(crate) fn client(&self, host: usize) -> Result<Client, String> {
        Client::connect_to(&self.socket(host)).map_err(|why| format!("{}: {why}", name(host)))
    }

    /// The state of a host's daemon.
    pub(crate) fn status(&self, host: usize) -> Result<NodeStatus, String> {
        self.client(host)?.status().map_err(|why| why.to_string())
    }

    /// A counter, the sum over all daemons.
    pub(crate) fn sum(&self, counter: &str) -> Result<u64, String> {
        let mut sum = 0;
        for host in (0..self.children.len()).filter(|host| self.children[*host].is_some()) {
            sum += count(&self.status(host)?, counter);
        }
        Ok(sum)
    }

    /// Waits until the receiver `name` is known at a host.
    pub(crate) fn know(&self, host: usize, name: &str) -> Result<(), String> {
        let client = self.client(host)?;
        within(&format!("`{name}` is known"), || client.resolve(name).is_ok()).map(drop)
    }

    /// Kills a daemon.
    pub(crate) fn kill(&mut self, host: usize) {
        if let Some(mut child) = self.children[host].take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A counter of a daemon.
pub(crate) fn count(status: &NodeStatus, counter: &str) -> u64 {
    status.counters.iter().find(|(name, _)| name == counter).map_or(0, |(_, count)| *count)
}

/// Waits until `done`, 20 s at most, and answers how long it took.
pub(crate) fn within(what: &str, mut done: impl FnMut() -> bool) -> Result<Duration, String> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(20) {
        if done() {
            return Ok(begin.elapsed());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(format!("{what}: not within 20 s"))
}

impl Drop for Daemons {
    fn drop(&mut self) {
        for child in self.children.iter_mut().flatten() {
            let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM);
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
