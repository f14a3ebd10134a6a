//! Links and names of a network as one node knows them, without I/O.
//!
//! Each node floods a record of itself: its neighbours, and the receivers that listen there. A
//! record has the epoch and a number, and a newer one replaces an older one (the link-state
//! flooding of OSPF, RFC 2328, without areas). A record is sent again each [`PERIOD`] and is over
//! after a [`LEASE`], so the names of a dead node disappear, and routes avoid it. A link is used if
//! both of its ends name it. Where names are kept elsewhere ([`names`](crate::names)), records of the node
//! have none.

use std::collections::BTreeMap;

use laxity_signalling::identity::{Epoch, NodeId, Port, Program};
use laxity_signalling::routes::Topology;
use laxity_units::{Span, Time};
use serde::{Deserialize, Serialize};

/// From one record of a node to the next.
pub const PERIOD: Span = Span::from_secs(1);
/// How long a record holds.
pub const LEASE: Span = Span::from_secs(4);
/// Nodes that are remembered.
const MOST_NODES: usize = 1024;
/// Names and neighbours of a node.
const MOST_ENTRIES: usize = 4096;

/// The description that a node floods of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRecord {
    /// The node.
    pub node: u32,
    /// Its life.
    pub epoch: u32,
    /// Larger in each record of a life.
    pub number: u64,
    /// The name of the node.
    pub name: String,
    /// Neighbours with a session, and the bytes per second of the link to each.
    pub neighbours: Vec<(u32, u64)>,
    /// Receivers: name and port.
    pub names: Vec<(String, u32)>,
}

/// The records of a network, as one node has them.
#[derive(Debug)]
pub struct Directory {
    own: NodeRecord,
    /// The names of this node are kept elsewhere.
    elsewhere: bool,
    /// The programs of the receivers here.
    programs: BTreeMap<Port, Program>,
    records: BTreeMap<NodeId, (NodeRecord, Time)>,
    /// When the own record is sent next.
    due: Time,
    /// Records to send, each to all neighbours but one.
    out: Vec<(NodeRecord, Option<NodeId>)>,
}

impl Directory {
    /// The directory of a node without neighbours.
    pub fn new(node: NodeId, epoch: Epoch, name: &str) -> Self {
        let own = NodeRecord {
            node: node.0,
            epoch: epoch.0,
            number: 0,
            name: name.to_owned(),
            neighbours: Vec::new(),
            names: Vec::new(),
        };
        let (programs, records) = (BTreeMap::new(), BTreeMap::new());
        Self { own, elsewhere: false, programs, records, due: Time::ZERO, out: Vec::new() }
    }

    /// The same; the names of the node are kept in another store if `elsewhere`.
    #[must_use]
    pub fn with_names(self, elsewhere: bool) -> Self {
        Self { elsewhere, ..self }
    }

    /// The record of this node, as others get it.
    fn shown(&self) -> NodeRecord {
        let mut shown = self.own.clone();
        if self.elsewhere {
            shown.names.clear();
        }
        shown
    }

    /// A session with a neighbour is up, or down (`None`). A new neighbour gets all records.
    pub fn set_neighbour(&mut self, now: Time, neighbour: NodeId, rate: Option<u64>) -> Vec<NodeRecord> {
        self.own.neighbours.retain(|(node, _)| *node != neighbour.0);
        self.own.neighbours.extend(rate.map(|rate| (neighbour.0, rate)));
        self.own.neighbours.sort_unstable();
        self.announce(now);
        let known = self.records.values().map(|(record, _)| record.clone());
        if rate.is_some() { known.chain([self.shown()]).collect() } else { Vec::new() }
    }

    /// A receiver listens at this node.
    ///
    /// # Errors
    /// The name is taken at this node.
    pub fn register(&mut self, now: Time, name: &str, port: Port, program: Program) -> Result<(), NameTaken> {
        if self.own.names.iter().any(|(known, _)| known == name) {
            return Err(NameTaken);
        }
        self.own.names.push((name.to_owned(), port.0));
        self.programs.insert(port, program);
        self.announce(now);
        Ok(())
    }

    /// The receiver of `port` listens no more.
    pub fn unregister(&mut self, now: Time, port: Port) {
        self.own.names.retain(|(_, known)| *known != port.0);
        self.programs.remove(&port);
        self.announce(now);
    }

    /// The receivers of a program.
    pub fn ports_of(&self, program: Program) -> Vec<Port> {
        self.programs.iter().filter(|(_, of)| **of == program).map(|(port, _)| *port).collect()
    }

    /// Handles a record from `from`. Whether something changed.
    pub fn handle(&mut self, now: Time, from: NodeId, record: NodeRecord) -> bool {
        let node = NodeId(record.node);
        let entries = record.names.len() + record.neighbours.len();
        if node.0 == self.own.node || entries > MOST_ENTRIES {
            return false;
        }
        let until = now.saturating_add(LEASE);
        let age = |record: &NodeRecord| (record.epoch, record.number);
        let full = self.records.len() >= MOST_NODES;
        match self.records.get_mut(&node) {
            Some((known, _)) if age(known) >= age(&record) => return false,
            Some((known, held)) => {
                let same = known.neighbours == record.neighbours && known.names == record.names;
                (*known, *held) = (record.clone(), until);
                self.out.push((record, Some(from)));
                return !same;
            }
            None if full => return false,
            None => drop(self.records.insert(node, (record.clone(), until))),
        }
        self.out.push((record, Some(from)));
        true
    }

    /// Does what is due. Whether something changed.
    pub fn handle_timeout(&mut self, now: Time) -> bool {
        let before = self.records.len();
        self.records.retain(|_, (_, until)| *until > now);
        if self.due <= now {
            self.announce(now);
        }
        self.records.len() != before
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn poll_timeout(&self) -> Time {
        self.records.values().map(|(_, until)| *until).fold(self.due, Time::min)
    }

    /// The records to send, each to all neighbours but the one named.
    pub fn poll_transmit(&mut self) -> Vec<(NodeRecord, Option<NodeId>)> {
        std::mem::take(&mut self.out)
    }

    fn announce(&mut self, now: Time) {
        self.own.number += 1;
        self.due = now.saturating_add(PERIOD);
        self.out.push((self.shown(), None));
    }

    fn all(&self) -> impl Iterator<Item = &NodeRecord> {
        std::iter::once(&self.own).chain(self.records.values().map(|(record, _)| record))
    }

    /// The receiver `name`; of several, that at this node or at the node with the least number.
    pub fn resolve(&self, name: &str) -> Option<(NodeId, Port)> {
        self.all().find_map(|record| {
            let port = record.names.iter().find(|(known, _)| known == name)?.1;
            Some((NodeId(record.node), Port(port)))
        })
    }

    /// The first of `found` at a node that lives and is in that life.
    pub fn living(&self, found: &[(NodeId, Epoch, Port)]) -> Option<(NodeId, Port)> {
        let lives = |node: NodeId, epoch: Epoch| {
            self.records.get(&node).is_some_and(|(record, _)| record.epoch == epoch.0)
        };
        found.iter().find(|(node, epoch, _)| lives(*node, *epoch)).map(|(node, _, port)| (*node, *port))
    }

    /// The receivers at this node, with their ports.
    pub fn own_names(&self) -> BTreeMap<String, u32> {
        self.own.names.iter().cloned().collect()
    }

    /// The name of a receiver at this node.
    pub fn own_name(&self, port: Port) -> Option<&str> {
        self.own.names.iter().find(|(_, known)| *known == port.0).map(|(name, _)| name.as_str())
    }

    /// The name of a node.
    pub fn node_name(&self, node: NodeId) -> Option<&str> {
        self.all().find(|record| record.node == node.0).map(|record| record.name.as_str())
    }

    /// All receivers: name and name of the node.
    pub fn names(&self) -> Vec<(String, String)> {
        let of = |record: &NodeRecord| {
            let node = record.name.clone();
            record.names.iter().map(move |(name, _)| (name.clone(), node.clone())).collect::<Vec<_>>()
        };
        self.all().flat_map(of).collect()
    }

    /// The links that both ends name.
    pub fn topology(&self) -> Topology {
        let mut topology = Topology::default();
        for record in self.all() {
            for (other, rate) in &record.neighbours {
                let back = self.all().find(|known| known.node == *other);
                if back.is_some_and(|known| known.neighbours.iter().any(|(node, _)| *node == record.node)) {
                    topology.set(NodeId(record.node), NodeId(*other), *rate);
                }
            }
        }
        topology
    }

    /// The neighbour towards each other node.
    pub fn next_hops(&self) -> BTreeMap<NodeId, NodeId> {
        let (topology, own) = (self.topology(), NodeId(self.own.node));
        let next = |node: &NodeId| Some((*node, *topology.route(own, *node)?.get(1)?));
        self.records.keys().filter_map(next).collect()
    }
}

/// A receiver of this name listens at this node already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameTaken;

#[cfg(test)]
mod tests {
    use super::*;

    /// Directories of a network, and what is alive in it.
    struct Net {
        now: Time,
        nodes: BTreeMap<u32, Directory>,
        links: Vec<(u32, u32)>,
    }

    impl Net {
        fn new(links: &[(u32, u32)]) -> Self {
            let mut net = Self { now: Time::ZERO, nodes: BTreeMap::new(), links: links.to_vec() };
            for (a, b) in links {
                for node in [a, b] {
                    let made = || Directory::new(NodeId(*node), Epoch(1), &format!("n{node}"));
                    net.nodes.entry(*node).or_insert_with(made);
                }
            }
            for (a, b) in links {
                net.join(*a, *b);
            }
            net.settle();
            net
        }

        fn join(&mut self, a: u32, b: u32) {
            for (a, b) in [(a, b), (b, a)] {
                let records = self.nodes.get_mut(&a).unwrap().set_neighbour(self.now, NodeId(b), Some(100));
                for record in records {
                    self.nodes.get_mut(&b).unwrap().handle(self.now, NodeId(a), record);
                }
            }
        }

        fn settle(&mut self) {
            loop {
                let mut sent = Vec::new();
                for (node, directory) in &mut self.nodes {
                    for (record, but) in directory.poll_transmit() {
                        sent.push((*node, record, but));
                    }
                }
                if sent.is_empty() {
                    return;
                }
                for (from, record, but) in sent {
                    for (a, b) in self.links.clone() {
                        for (a, b) in [(a, b), (b, a)] {
                            if a == from
                                && Some(NodeId(b)) != but
                                && let Some(to) = self.nodes.get_mut(&b)
                            {
                                to.handle(self.now, NodeId(a), record.clone());
                            }
                        }
                    }
                }
            }
        }

        fn pass(&mut self, seconds: u64) {
            for _ in 0..seconds * 4 {
                self.now += Span::from_ms(250);
                let now = self.now;
                for node in self.nodes.values_mut() {
                    node.handle_timeout(now);
                }
                self.settle();
            }
        }
    }

    #[test]
    fn a_name_is_found_from_every_node_until_its_node_is_dead() {
        let mut net = Net::new(&[(1, 2), (2, 3), (3, 4)]);
        net.nodes.get_mut(&4).unwrap().register(net.now, "recorder", Port(7), Program(1)).unwrap();
        net.settle();
        for node in 1..=4 {
            assert_eq!(net.nodes[&node].resolve("recorder"), Some((NodeId(4), Port(7))), "{node}");
        }
        let route = net.nodes[&1].topology().route(NodeId(1), NodeId(4)).unwrap();
        assert_eq!(route, [1, 2, 3, 4].map(NodeId));
        assert_eq!(net.nodes[&1].next_hops()[&NodeId(4)], NodeId(2));
        net.pass(60);
        assert!(net.nodes[&1].resolve("recorder").is_some(), "a living node keeps its names");
        net.nodes.remove(&4);
        net.pass(5);
        assert_eq!(net.nodes[&1].resolve("recorder"), None);
        assert_eq!(net.nodes[&1].topology().route(NodeId(1), NodeId(4)), None);
    }

    #[test]
    fn a_link_that_one_end_has_lost_is_on_no_route() {
        let mut net = Net::new(&[(1, 2), (2, 3), (1, 3)]);
        assert_eq!(net.nodes[&1].next_hops()[&NodeId(3)], NodeId(3));
        net.nodes.get_mut(&3).unwrap().set_neighbour(net.now, NodeId(1), None);
        net.settle();
        assert_eq!(net.nodes[&1].next_hops()[&NodeId(3)], NodeId(2));
    }

    /// A name in another store is that of a node which lives, in the life that put it there.
    #[test]
    fn names_that_are_kept_elsewhere_are_in_no_record() {
        let mut net = Net::new(&[(1, 2)]);
        let elsewhere = net.nodes.remove(&2).unwrap().with_names(true);
        net.nodes.insert(2, elsewhere);
        net.nodes.get_mut(&2).unwrap().register(net.now, "recorder", Port(7), Program(1)).unwrap();
        net.pass(2);
        assert_eq!(net.nodes[&2].own_names(), [("recorder".to_owned(), 7)].into());
        let near = &net.nodes[&1];
        assert_eq!((near.resolve("recorder"), near.names().len()), (None, 0));
        let found = |epoch| [(NodeId(1), Epoch(1), Port(3)), (NodeId(2), Epoch(epoch), Port(7))];
        assert_eq!(near.living(&found(1)), Some((NodeId(2), Port(7))), "the own names are known here");
        assert_eq!(near.living(&found(9)), None);
        net.nodes.remove(&2);
        net.pass(5);
        assert_eq!(net.nodes[&1].living(&found(1)), None);
    }

    #[test]
    fn a_record_of_a_former_life_is_not_heeded() {
        let mut directory = Directory::new(NodeId(1), Epoch(1), "a");
        let record = |epoch, number, names: &[(&str, u32)]| NodeRecord {
            node: 2,
            epoch,
            number,
            name: "b".to_owned(),
            neighbours: Vec::new(),
            names: names.iter().map(|(name, port)| ((*name).to_owned(), *port)).collect(),
        };
        let from = NodeId(2);
        assert!(directory.handle(Time::ZERO, from, record(2, 1, &[("new", 1)])));
        assert!(!directory.handle(Time::ZERO, from, record(1, 9, &[("old", 1)])));
        assert!(!directory.handle(Time::ZERO, from, record(2, 2, &[("new", 1)])), "nothing new in it");
        assert!(directory.resolve("old").is_none());
        assert!(directory.register(Time::ZERO, "x", Port(1), Program(1)).is_ok());
        assert_eq!(directory.register(Time::ZERO, "x", Port(2), Program(1)), Err(NameTaken));
        assert!(!directory.handle(Time::ZERO, from, record(3, 1, &[("far", 1); 5000])), "too many names");
    }
}
