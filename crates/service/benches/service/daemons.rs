//! Daemons in a row, each in threads of this process.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use laxity_client::{Channel, Client, Contract};
use laxity_service::{NodeFile, make_keys, serve};

/// Numbers of nodes that were used: daemons of an earlier part still run.
static NODES: AtomicU32 = AtomicU32::new(1);

pub(crate) struct Daemons {
    directory: PathBuf,
    first: u32,
}

/// The file of a node with its neighbours.
fn node(directory: &Path, id: u32, peers: &[u32], host: &str) -> PathBuf {
    let mut text = format!(
        "name = \"n{id}\"\nid = {id}\nsocket = \"{0}/n{id}.sock\"\nstate = \"{0}\"\n\
         security = {{ authority = \"keys/authority.pem\", certificate = \"keys/n{id}.pem\", key = \"keys/n{id}.key\" }}\n\
         [host]\npacket = \"0 s\"\npriority = 0\ndatagrams = 2048\nplaces = 65536\n{host}",
        directory.display()
    );
    for peer in peers {
        let port = |id: &u32| 4700 + id;
        text += &format!(
            "[[link]]\npeer = \"n{peer}\"\npeer_id = {peer}\nlocal = \"127.99.{id}.{peer}:{}\"\n\
             remote = \"127.99.{peer}.{id}:{}\"\nrate = \"100 Gbit/s\"\n",
            port(&id),
            port(peer)
        );
    }
    let path = directory.join(format!("n{id}.toml"));
    std::fs::write(&path, text).unwrap();
    path
}

impl Daemons {
    /// Starts `count` daemons in a row. `host` has the keys of a host by its place in the row.
    pub(crate) fn start(count: u32, host: impl Fn(u32) -> String) -> Self {
        let first = NODES.fetch_add(count, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("laxity-bench-{}-{first}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let ids: Vec<u32> = (first..first + count).collect();
        let names: Vec<String> = ids.iter().map(|id| format!("n{id}")).collect();
        make_keys(&directory.join("keys"), &names).unwrap();
        for id in &ids {
            let peers: Vec<u32> = ids.iter().copied().filter(|peer| peer.abs_diff(*id) == 1).collect();
            let file = NodeFile::read(&node(&directory, *id, &peers, &host(id - first))).unwrap();
            std::thread::spawn(move || serve(&file, |_| {}).unwrap());
        }
        Self { directory, first }
    }

    /// A program at a node, by its place in the row.
    pub(crate) fn client(&self, place: u32) -> Client {
        let path = self.directory.join(format!("n{}.sock", self.first + place));
        patiently(|| Client::connect_to(&path).ok())
    }
}

impl Drop for Daemons {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// What `f` has, as soon as it has it.
pub(crate) fn patiently<T>(mut f: impl FnMut() -> Option<T>) -> T {
    let tried = (0..400).find_map(|_| {
        let found = f();
        if found.is_none() {
            std::thread::park_timeout(Duration::from_millis(50));
        }
        found
    });
    tried.expect("it is there within 20 s")
}

/// A channel to a receiver that may not be known yet.
pub(crate) fn open(client: &Client, name: &str, contract: Contract) -> Channel {
    patiently(|| client.resolve(name).ok());
    patiently(|| client.open(name, contract).ok())
}
