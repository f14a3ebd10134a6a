//! Nodes in a row, each a daemon of its own.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use laxity_client::Client;

use super::lossy::Lossy;

/// A row of nodes; dropped, it ends its daemons.
pub(crate) struct Net {
    directory: PathBuf,
    nodes: Vec<String>,
    /// Second byte of the loopback addresses, so that tests do not meet.
    net: u8,
    /// Names of the namespaces of the nodes, if they have some.
    space: Option<fn(&str) -> String>,
    /// A hop on each line, if lines lose packets.
    hops: Vec<Lossy>,
    daemons: Mutex<BTreeMap<String, Child>>,
}

impl Net {
    /// Nodes in a row over loopback addresses, all up and joined.
    pub(crate) fn loopback(net: u8, nodes: &[&str]) -> Self {
        Self::new(net, nodes, None, false)
    }

    /// The same with a hop on each line that can lose packets.
    pub(crate) fn lossy(net: u8, nodes: &[&str]) -> Self {
        Self::new(net, nodes, None, true)
    }

    /// The same in namespaces, with interfaces `lxsNa` and `lxsNb` at both ends of line `N`.
    pub(crate) fn in_namespaces(net: u8, nodes: &[&str], space: fn(&str) -> String) -> Self {
        Self::new(net, nodes, Some(space), false)
    }

    fn new(net: u8, nodes: &[&str], space: Option<fn(&str) -> String>, lossy: bool) -> Self {
        let directory = std::env::temp_dir().join(format!("laxity-service-{}-{net}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        let nodes: Vec<String> = nodes.iter().map(|node| (*node).to_owned()).collect();
        let mut made = Self { directory, nodes, net, space, hops: Vec::new(), daemons: Mutex::default() };
        for number in 1..if lossy { made.nodes.len() } else { 0 } {
            let (left, right) = (&made.nodes[number - 1], &made.nodes[number]);
            let hop = Lossy::between(made.address(left, 1), made.address(right, 0));
            made.hops.push(hop);
        }
        made.make_keys("keys");
        for node in made.nodes.clone() {
            made.write(&node);
            made.start(&node);
        }
        for node in &made.nodes {
            let client = made.client(node);
            let known = || client.status().unwrap().links.iter().all(|link| link.1);
            assert!((0..200).any(|_| known() || wait()), "the sessions of {node} are up");
        }
        made
    }

    /// Makes an authority and keys of all nodes in a directory.
    pub(crate) fn make_keys(&self, name: &str) {
        let keys = self.laxity().args(["keys", name]).args(&self.nodes).output().unwrap();
        assert!(keys.status.success());
    }

    pub(crate) fn laxity(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_laxity"));
        command.current_dir(&self.directory);
        command
    }

    fn number(&self, node: &str) -> usize {
        self.nodes.iter().position(|known| known == node).unwrap()
    }

    /// The address of a node on its link to the node before (0) or behind (1).
    pub(crate) fn address(&self, node: &str, side: usize) -> SocketAddr {
        let number = self.number(node) + side;
        if self.space.is_some() {
            let host = if side == 1 { 1 } else { 2 };
            return SocketAddr::from(([10, 78, number as u8, host], 4700));
        }
        let host = 1 + 2 * number + usize::from(side == 0);
        let port = 4700 + u16::from(side == 0);
        SocketAddr::from(([127, self.net, 0, host as u8], port))
    }

    fn write(&self, node: &str) {
        let number = self.number(node);
        let mut text = format!(
            "name = \"{node}\"\nid = {}\nsocket = \"{node}.sock\"\nstate = \"state\"\nlease = \"2 s\"\n\
             security = {{ authority = \"keys/authority.pem\", certificate = \"keys/{node}.pem\", key = \"keys/{node}.key\" }}\n\
             [host]\npriority = 0\n",
            number + 1
        );
        let line = |device: String| match self.space {
            Some(_) => format!("interface = \"{device}\"\nline = \"100 Mbit/s\"\n"),
            None => String::new(),
        };
        let mut link = |peer: usize, local: SocketAddr, remote: SocketAddr, device: String| {
            text += &format!(
                "[[link]]\npeer = \"{}\"\npeer_id = {}\nlocal = \"{local}\"\nremote = \"{remote}\"\nrate = \"80 Mbit/s\"\n",
                self.nodes[peer],
                peer + 1
            );
            text += &line(device);
        };
        if number > 0 {
            link(
                number - 1,
                self.address(node, 0),
                self.hops.get(number - 1).map_or(self.address(&self.nodes[number - 1], 1), |hop| hop.right),
                format!("lxs{number}b"),
            );
        }
        if number + 1 < self.nodes.len() {
            link(
                number + 1,
                self.address(node, 1),
                self.hops.get(number).map_or(self.address(&self.nodes[number + 1], 0), |hop| hop.left),
                format!("lxs{}a", number + 1),
            );
        }
        self.set_text(node, &text);
    }

    /// Starts the daemon of a node, and waits until programs can connect.
    pub(crate) fn start(&self, node: &str) {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.directory.join(format!("{node}.log")))
            .unwrap();
        let file = format!("{node}.toml");
        let mut command = match self.space {
            None => self.laxity(),
            Some(space) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", &space(node), env!("CARGO_BIN_EXE_laxity")]);
                command.current_dir(&self.directory);
                command
            }
        };
        let child = command.args(["serve", &file]).stderr(log).stdin(Stdio::null()).spawn().unwrap();
        self.daemons.lock().unwrap().insert(node.to_owned(), child);
        let up = || Client::connect_to(&self.socket(node)).is_ok();
        assert!((0..200).any(|_| up() || wait()), "{}", self.log(node));
    }

    /// The node file.
    pub(crate) fn text(&self, node: &str) -> String {
        std::fs::read_to_string(self.directory.join(format!("{node}.toml"))).unwrap()
    }

    /// Writes the node file.
    pub(crate) fn set_text(&self, node: &str, text: &str) {
        std::fs::write(self.directory.join(format!("{node}.toml")), text).unwrap();
    }

    /// The messages of the daemon.
    pub(crate) fn log(&self, node: &str) -> String {
        std::fs::read_to_string(self.directory.join(format!("{node}.log"))).unwrap_or_default()
    }

    /// A file in the directory of the nodes.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub(crate) fn socket(&self, node: &str) -> PathBuf {
        self.directory.join(format!("{node}.sock"))
    }

    pub(crate) fn client(&self, node: &str) -> Client {
        Client::connect_to(&self.socket(node)).unwrap()
    }

    /// Waits until a node knows a name.
    pub(crate) fn know(&self, node: &str, name: &str) {
        let client = self.client(node);
        assert!((0..200).any(|_| client.resolve(name).is_ok() || wait()), "{node} knows {name}");
    }

    /// A program at a node.
    pub(crate) fn program(&self, node: &str, arguments: &[&str]) -> Child {
        let mut command = self.laxity();
        command.args(arguments).env("LAXITY_SOCKET", self.socket(node));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// The hop on the line behind a node.
    pub(crate) fn hop(&self, node: &str) -> &Lossy {
        &self.hops[self.number(node)]
    }

    fn process(&self, node: &str) -> u32 {
        self.daemons.lock().unwrap()[node].id()
    }

    /// Sends a signal to the daemon of a node.
    pub(crate) fn signal(&self, node: &str, signal: &str) {
        let id = self.process(node).to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Open files of a daemon, and its maps of memory that it shares with programs.
    pub(crate) fn held(&self, node: &str) -> (usize, usize) {
        let process = PathBuf::from(format!("/proc/{}", self.process(node)));
        let files = std::fs::read_dir(process.join("fd")).unwrap().count();
        let maps = std::fs::read_to_string(process.join("maps")).unwrap();
        (files, maps.lines().filter(|line| line.contains("/memfd:laxity")).count())
    }

    /// Kills the daemon of a node.
    pub(crate) fn kill(&self, node: &str) {
        let mut daemon = self.daemons.lock().unwrap().remove(node).unwrap();
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }

    /// Ends the daemon of a node in order.
    pub(crate) fn stop(&self, node: &str) {
        let mut daemon = self.daemons.lock().unwrap().remove(node).unwrap();
        let id = daemon.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert!(daemon.wait().unwrap().success(), "{}", self.log(node));
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        let daemons = self.daemons.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        for daemon in daemons.values_mut() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.directory);
        } else {
            for node in &self.nodes {
                eprintln!("{}", self.log(node));
            }
        }
    }
}

fn wait() -> bool {
    std::thread::park_timeout(Duration::from_millis(50));
    false
}
