//! The servers that a flow depends on, as a tree towards the last server of its path.
//!
//! The root is that last server. Below it stand the servers that send to it, and so on. A
//! server that reaches the root by two ways stands in the tree twice. Each copy then has traffic of
//! its own, which allows more than the network does, so a bound of the tree holds in the network.
//! Traffic of servers beyond the tree enters with its arrival curve.

use std::collections::BTreeMap;

use crate::arrival::{Arrival, Line, picobits};
use crate::network::{QueueNetwork, Visit};
use crate::preemption::straddles;
use crate::service::Piece;
use crate::total::{Share, Total, longest};

/// A server in the tree.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) server: usize,
    /// Node towards the root; `None` for the root.
    pub(crate) parent: Option<usize>,
    pub(crate) depth: usize,
    /// Longest delay of a frame of the level here, in picoseconds.
    pub(crate) delay: u128,
    /// Longest busy period, in picoseconds.
    pub(crate) busy: u128,
    pub(crate) pieces: Vec<Piece>,
    /// Longest frame of the classes that go on to the parent, in picobits; zero at the root.
    pub(crate) onward: u128,
    /// Links that bring frames, with their rate and longest frame in picobits.
    pub(crate) links: Vec<Link>,
}

/// A link into a node, and the classes that it carries.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) rate: u128,
    pub(crate) longest: u128,
    pub(crate) classes: Vec<usize>,
}

/// Flows that enter the tree and leave it at the same nodes, over the same link.
#[derive(Debug)]
pub(crate) struct Class {
    /// Nodes passed, the last one first.
    pub(crate) nodes: Vec<usize>,
    /// The traffic that enters the tree at the first node passed.
    pub(crate) arrival: Arrival,
    /// Longest frame, in picobits.
    pub(crate) longest: u128,
}

/// The tree of one flow.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    pub(crate) classes: Vec<Class>,
    /// The first server of the flow.
    pub(crate) first: usize,
}

/// Reads the levels of servers once.
pub(crate) struct Shares<'a> {
    pub(crate) network: &'a QueueNetwork,
    pub(crate) total: &'a Total,
    known: BTreeMap<usize, Vec<Share>>,
}

impl<'a> Shares<'a> {
    pub(crate) fn new(network: &'a QueueNetwork, total: &'a Total) -> Self {
        Self { network, total, known: BTreeMap::new() }
    }

    /// The share of `level` at `server`.
    pub(crate) fn at(&mut self, server: usize, level: u8) -> Option<&Share> {
        let (network, total) = (self.network, self.total);
        let shares = self.known.entry(server).or_insert_with(|| total.shares(network, server));
        let level = if network.servers[server].fifo { 0 } else { level };
        shares.iter().find(|share| network.visits[server][share.visits.start].level == level)
    }
}

impl Tree {
    /// The tree of `flow` with about `room` nodes; the path itself is always in it.
    ///
    /// A source at which no frame waits is no node, and takes the room of one. Take a solution of the
    /// program without this source, and give the source the dates of its parent. The traffic has the same
    /// curve on both sides, so each row of the source holds. So the program with the source has no lower
    /// maximum.
    pub(crate) fn of(shares: &mut Shares<'_>, flow: usize, room: usize) -> Option<Self> {
        let (network, total) = (shares.network, shares.total);
        let (path, level) = (&network.flows[flow].path, network.flows[flow].level);
        let mut tree = Self { nodes: Vec::new(), classes: Vec::new(), first: 0 };
        tree.push(shares, *path.last()?, None, level)?;
        let (mut next, mut without_wait) = (0, 0);
        while next < tree.nodes.len() {
            let Node { server, depth, .. } = tree.nodes[next];
            let on_path = tree.on_path(next, path);
            let visits = &network.visits[server][shares.at(server, level)?.visits.clone()];
            let mut sources: Vec<usize> = visits.iter().filter_map(|visit| visit.from).collect();
            sources.dedup();
            for source in sources {
                let mine = on_path && path.len().checked_sub(depth + 2).is_some_and(|at| path[at] == source);
                // A ring turns back to a server below: it is cut there. So is a link without a queue.
                let queued = visits.iter().any(|visit| {
                    let waits = visit.hop > 0 && network.together(source, level, visit.flow);
                    visit.from == Some(source) && waits
                });
                let candidate = queued && !tree.below(next, source);
                let grows = tree.nodes.len() + without_wait + path.len() < room;
                let as_sent = |visit: &Visit| {
                    let [sent, arrived, ..] = total.jitter[visit.flow][..] else { return false };
                    visit.hop == 1 && network.flows[visit.flow].entry.is_none() && sent == arrived
                };
                let of_source = |visit: &&Visit| visit.from == Some(source);
                if candidate && !mine && grows && visits.iter().filter(of_source).all(as_sent) {
                    without_wait += 1;
                } else if mine || (candidate && grows) {
                    tree.push(shares, source, Some(next), level)?;
                    if mine {
                        tree.first = tree.nodes.len() - 1;
                    }
                }
            }
            next += 1;
        }
        tree.classify(shares, level)?;
        Some(tree)
    }

    /// Whether `node` stands for a server of `path`, and all below it do.
    fn on_path(&self, mut node: usize, path: &[usize]) -> bool {
        loop {
            let Node { server, parent, depth, .. } = self.nodes[node];
            if path.len().checked_sub(depth + 1).map(|at| path[at]) != Some(server) {
                return false;
            }
            let Some(parent) = parent else { return true };
            node = parent;
        }
    }

    /// Whether `server` stands at `node` or between it and the root.
    fn below(&self, mut node: usize, server: usize) -> bool {
        loop {
            if self.nodes[node].server == server {
                return true;
            }
            let Some(parent) = self.nodes[node].parent else { return false };
            node = parent;
        }
    }

    fn push(
        &mut self,
        shares: &mut Shares<'_>,
        server: usize,
        parent: Option<usize>,
        level: u8,
    ) -> Option<()> {
        let (network, total) = (shares.network, shares.total);
        let share = shares.at(server, level)?;
        let service = share.service.as_ref()?;
        let visits = &network.visits[server][share.visits.clone()];
        if visits.iter().any(|visit| total.valid[visit.flow] <= visit.hop) {
            return None;
        }
        let delay = visits.iter().map(|visit| total.delay[visit.flow][visit.hop]).max()?;
        self.nodes.push(Node {
            server,
            parent,
            depth: parent.map_or(0, |parent| self.nodes[parent].depth + 1),
            delay: u128::from(delay.as_ps()),
            busy: service.busy(&share.arrival)?,
            pieces: service.pieces().to_vec(),
            onward: 0,
            links: Vec::new(),
        });
        Some(())
    }

    /// Groups the flows of all nodes into classes.
    fn classify(&mut self, shares: &mut Shares<'_>, level: u8) -> Option<()> {
        let (network, total) = (shares.network, shares.total);
        for entry in 0..self.nodes.len() {
            let server = self.nodes[entry].server;
            let children: Vec<usize> =
                (0..self.nodes.len()).filter(|&node| self.nodes[node].parent == Some(entry)).collect();
            let queued = |from: usize| children.iter().any(|&child| self.nodes[child].server == from);
            // A flow of another level waited elsewhere at the server before.
            let waited =
                |from: usize, visit: &Visit| queued(from) && network.together(from, level, visit.flow);
            let counts = |visit: &Visit| network.counts(visit.flow, visit.hop);
            // The frames of a copy that is made behind the server before counted as another's there.
            let counted = |visit: &Visit| visit.hop > 0 && network.counts(visit.flow, visit.hop - 1);
            let inside = |visit: &Visit| counted(visit) && visit.from.is_some_and(|from| waited(from, visit));
            let visits = &network.visits[server][shares.at(server, level)?.visits.clone()];
            let mut classes: BTreeMap<(Option<usize>, Vec<usize>), Vec<Visit>> = BTreeMap::new();
            for visit in visits.iter().filter(|visit| counts(visit) && !inside(visit)) {
                let nodes = self.passed(network, entry, level, visit);
                classes.entry((visit.from, nodes)).or_default().push(*visit);
            }
            let mut links: BTreeMap<usize, (Vec<Visit>, Vec<usize>)> = BTreeMap::new();
            for ((from, nodes), visits) in classes {
                if let Some(from) = from {
                    let link = links.entry(from).or_default();
                    link.0.extend_from_slice(&visits);
                    link.1.push(self.classes.len());
                }
                let curves: Vec<Arrival> = visits.iter().map(|visit| total.arrival(network, visit)).collect();
                let longest = picobits(longest(network, &visits));
                self.classes.push(Class { nodes, arrival: Arrival::sum(&curves), longest });
            }
            for (from, (visits, classes)) in links {
                let burst = picobits(straddles(network, from, &visits));
                let rate = u128::from(network.servers[from].peak.bits_per_sec());
                let limits = total.outputs.together(network, from, &visits).iter().copied();
                let limits: Vec<Line> = limits.chain([Line { burst, rate }]).collect();
                self.limit(entry, &classes, limits);
            }
        }
        for child in 0..self.nodes.len() {
            let Some(parent) = self.nodes[child].parent else { continue };
            let both = |class: &Class| class.nodes.windows(2).any(|pair| pair == [parent, child]);
            let classes: Vec<usize> =
                (0..self.classes.len()).filter(|&class| both(&self.classes[class])).collect();
            let longest = classes.iter().map(|&class| self.classes[class].longest).max().unwrap_or(0);
            self.nodes[child].onward = longest;
            let server = self.nodes[child].server;
            let rate = u128::from(network.servers[server].peak.bits_per_sec());
            let own = if network.servers[server].fifo { 0 } else { level };
            if let Some(&Line { burst, rate }) = total.sent[server].get(&own) {
                let classes = Vec::clone(&classes);
                self.nodes[parent].links.push(Link { rate, longest: burst, classes });
            }
            self.nodes[parent].links.push(Link { rate, longest, classes });
        }
        Some(())
    }

    /// Notes that `classes`, which enter at node `entry`, keep all `limits` together. A limit that the
    /// curves of the classes imply is left out, and that of one class is part of its curve.
    fn limit(&mut self, entry: usize, classes: &[usize], limits: Vec<Line>) {
        if let &[class] = classes {
            let none = Arrival::none();
            let arrival = std::mem::replace(&mut self.classes[class].arrival, none);
            self.classes[class].arrival = arrival.within_all(limits);
            return;
        }
        let curves = classes.iter().map(|&class| &self.classes[class].arrival);
        let all = Arrival::sum(curves).within_all(limits.iter().copied());
        for line @ Line { burst, rate } in limits {
            if all.lines().contains(&line) {
                self.nodes[entry].links.push(Link { rate, longest: burst, classes: classes.to_vec() });
            }
        }
    }

    /// Nodes that the flow of `visit` passes from `entry` on, the last one first.
    fn passed(&self, network: &QueueNetwork, entry: usize, level: u8, visit: &Visit) -> Vec<usize> {
        let path = &network.flows[visit.flow].path[visit.hop..];
        let mut nodes = vec![entry];
        for &server in &path[1..] {
            match self.nodes[*nodes.last().expect("the entry")].parent {
                Some(parent)
                    if self.nodes[parent].server == server && network.together(server, level, visit.flow) =>
                {
                    nodes.push(parent);
                }
                _ => break,
            }
        }
        nodes.reverse();
        nodes
    }
}
