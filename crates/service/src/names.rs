//! Names in etcd, for networks of many hosts: each daemon puts its own names there, and looks others
//! up. Records of nodes then have links only.
//!
//! The key of a name is `laxity/names/NAME/NODE`, with the number of the node, and its value the life of
//! the node and the port. All are under one lease of the daemon, so the names of a dead node
//! disappear. Until then an entry counts only if the directory has its node in the same life. A port of
//! a former life may be that of another receiver today.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use laxity_signalling::identity::{Epoch, NodeId, Port};
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::control::Control;
use crate::etcd::{Etcd, Lease};

/// How long names stay without a renewal.
const TTL: Duration = Duration::from_secs(6);
/// From one renewal to the next.
const RENEWAL: Duration = Duration::from_secs(2);
/// From a failure to the next attempt.
const RETRY: Duration = Duration::from_secs(1);
/// How long the end of the daemon waits for the end of its names.
const PARTING: Duration = Duration::from_millis(500);
const PREFIX: &str = "laxity/names/";

/// The names of this node in etcd, and those of others.
pub(crate) struct Names {
    etcd: Etcd,
    lease: RefCell<Option<Lease>>,
    changed: Notify,
    /// All names of this node are there.
    is_up: Cell<bool>,
}

impl Names {
    /// Names in `etcd`.
    pub(crate) fn new(etcd: Etcd) -> Self {
        Self { etcd, lease: RefCell::default(), changed: Notify::new(), is_up: Cell::new(false) }
    }

    /// The names of this node changed.
    pub(crate) fn changed(&self) {
        self.changed.notify_one();
    }

    /// The nodes at which `name` listens: number, life and port, by number.
    ///
    /// # Errors
    /// A sentence: no server answers.
    pub(crate) async fn look_up(&self, name: &str) -> Result<Vec<(NodeId, Epoch, Port)>, String> {
        let prefix = format!("{PREFIX}{name}/");
        let found = self.etcd.range(&prefix).await?;
        let mut found: Vec<_> = found.iter().filter_map(|(key, value)| read(&prefix, key, value)).collect();
        found.sort_unstable();
        Ok(found)
    }

    /// Keeps the names of this node in etcd, for ever.
    pub(crate) async fn keep(self: Rc<Self>, control: Rc<Control>) {
        let mut last = String::new();
        loop {
            let Err(why) = self.hold(&control).await;
            // The first failure of many is logged.
            if self.is_up.take() || why != last {
                control.warn(format!("names are not in etcd: {why}"));
            }
            last = why;
            sleep(RETRY).await;
        }
    }

    /// Puts names under a lease and follows their changes, until something fails. Names that could not
    /// be deleted are over with the lease.
    async fn hold(&self, control: &Control) -> Result<std::convert::Infallible, String> {
        let lease = self.etcd.grant(TTL).await?;
        self.lease.replace(Some(lease.clone()));
        let mut known = BTreeMap::new();
        let mut renewal = interval(RENEWAL);
        renewal.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            for (name, port) in changes(&known, &control.own_names()) {
                let key = format!("{PREFIX}{name}/{}", control.id().0);
                match port {
                    Some(port) => {
                        let value = format!("{} {port}", control.epoch().0);
                        self.etcd.put(&key, &value, &lease).await?;
                        known.insert(name, port);
                    }
                    None => {
                        self.etcd.delete(&key).await?;
                        known.remove(&name);
                    }
                }
            }
            if !self.is_up.replace(true) {
                control.log("names are in etcd");
            }
            tokio::select! {
                () = self.changed.notified() => {}
                _ = renewal.tick() => {
                    if !self.etcd.keep_alive(&lease).await? {
                        return Err("the lease is over".to_owned());
                    }
                }
            }
        }
    }

    /// The daemon ends: its names do, too.
    pub(crate) async fn end(&self) {
        let lease = self.lease.take();
        if let Some(lease) = lease {
            let _ = timeout(PARTING, self.etcd.revoke(&lease)).await;
        }
    }
}

/// The steps from `known` to `wanted`: names with their port, or `None` for one that is over.
fn changes(known: &BTreeMap<String, u32>, wanted: &BTreeMap<String, u32>) -> Vec<(String, Option<u32>)> {
    let over = known.keys().filter(|name| !wanted.contains_key(*name)).map(|name| (name.clone(), None));
    let new = wanted.iter().filter(|(name, port)| known.get(*name) != Some(port));
    over.chain(new.map(|(name, port)| (name.clone(), Some(*port)))).collect()
}

/// The receiver of an entry; `None` for the entry of a longer name, and for what no daemon has put.
fn read(prefix: &str, key: &str, value: &str) -> Option<(NodeId, Epoch, Port)> {
    let node = key.strip_prefix(prefix)?.parse().ok()?;
    let (epoch, port) = value.split_once(' ')?;
    Some((NodeId(node), Epoch(epoch.parse().ok()?), Port(port.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_put() {
        let names = |all: &[(&str, u32)]| {
            all.iter().map(|(name, port)| ((*name).to_owned(), *port)).collect::<BTreeMap<_, _>>()
        };
        let known = names(&[("a", 1), ("b", 2), ("c", 3)]);
        let changes = changes(&known, &names(&[("b", 2), ("c", 4), ("d", 5)]));
        let expected = [("a", None), ("c", Some(4)), ("d", Some(5))];
        assert_eq!(changes, expected.map(|(name, port)| (name.to_owned(), port)));
    }

    #[test]
    fn an_entry_is_that_of_the_whole_name() {
        let read = |key: &str, value: &str| read("laxity/names/film/", key, value);
        let found = Some((NodeId(3), Epoch(7), Port(9)));
        assert_eq!(read("laxity/names/film/3", "7 9"), found);
        for (key, value) in [
            ("laxity/names/film/x/3", "7 9"),
            ("laxity/names/film/", "7 9"),
            ("laxity/names/film/3", "7"),
            ("laxity/names/film/3", "7 -9"),
            ("laxity/names/film/99999999999", "7 9"),
        ] {
            assert_eq!(read(key, value), None, "{key} {value}");
        }
    }
}
