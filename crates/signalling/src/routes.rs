//! Routes: given, or computed from a topology.
//!
//! A computed route is widest-shortest: of the routes with the fewest hops, one of which the
//! narrowest link has the most that is not reserved (Guérin, Orda and Williams, "QoS routing
//! mechanisms and OSPF extensions", 1997). Ties go to the lower node numbers, so a route is a
//! function of the topology. A route of fewest hops visits no node twice: it has no loop by
//! construction.
//!
//! Reservations on links of other nodes may be out of date. A stale view costs a refusal or a
//! longer route, never a promise, as each node decides by its own tables.

use std::collections::BTreeMap;

use crate::identity::NodeId;
use crate::message::MOST_HOPS;

/// A directed link, as far as routes depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Link {
    /// Bytes per second that are not reserved.
    residual: u64,
    up: bool,
}

/// The links of a network.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Topology {
    links: BTreeMap<NodeId, BTreeMap<NodeId, Link>>,
}

impl Topology {
    /// Links that join the nodes of each pair in both directions, with nothing reserved.
    pub fn of(pairs: impl IntoIterator<Item = (NodeId, NodeId)>) -> Self {
        let mut topology = Self::default();
        for (a, b) in pairs {
            topology.set(a, b, u64::MAX);
            topology.set(b, a, u64::MAX);
        }
        topology
    }

    /// The link from `a` to `b` is up, and has `residual` bytes per second that are not reserved.
    pub fn set(&mut self, a: NodeId, b: NodeId, residual: u64) {
        if a != b {
            self.links.entry(a).or_default().insert(b, Link { residual, up: true });
        }
    }

    /// The link from `a` to `b` is down, or up again.
    pub fn set_up(&mut self, a: NodeId, b: NodeId, up: bool) {
        if let Some(link) = self.links.get_mut(&a).and_then(|links| links.get_mut(&b)) {
            link.up = up;
        }
    }

    /// The widest of the shortest routes from `from` to `to`, both included; `None` if there is
    /// none of at most [`MOST_HOPS`] nodes.
    pub fn route(&self, from: NodeId, to: NodeId) -> Option<Vec<NodeId>> {
        // Layer by layer: each node of the layer with its width and the node before. Nodes of
        // earlier layers are left out.
        let mut reached = BTreeMap::from([(from, (u64::MAX, from))]);
        let mut layer = vec![from];
        for _ in 1..MOST_HOPS {
            if reached.contains_key(&to) || layer.is_empty() {
                break;
            }
            let mut next: BTreeMap<NodeId, (u64, NodeId)> = BTreeMap::new();
            for node in &layer {
                let (width, _) = reached[node];
                let links = self.links.get(node).into_iter().flatten();
                for (after, link) in links.filter(|(after, link)| link.up && !reached.contains_key(after)) {
                    let width = width.min(link.residual);
                    let best = next.entry(*after).or_insert((width, *node));
                    if width > best.0 {
                        *best = (width, *node);
                    }
                }
            }
            layer = next.keys().copied().collect();
            reached.extend(next);
        }
        let mut route = vec![to];
        while let Some(last) = route.last().copied().filter(|last| *last != from) {
            route.push(reached.get(&last)?.1);
        }
        route.reverse();
        Some(route)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::is_route;

    fn n(nodes: &[u32]) -> Vec<NodeId> {
        nodes.iter().map(|node| NodeId(*node)).collect()
    }

    fn square() -> Topology {
        Topology::of([(0, 1), (1, 3), (0, 2), (2, 3), (3, 4)].map(|(a, b)| (NodeId(a), NodeId(b))))
    }

    #[test]
    fn of_the_shortest_routes_the_widest_is_taken() {
        let mut topology = square();
        assert_eq!(topology.route(NodeId(0), NodeId(4)), Some(n(&[0, 1, 3, 4])));
        topology.set(NodeId(1), NodeId(3), 10);
        assert_eq!(topology.route(NodeId(0), NodeId(4)), Some(n(&[0, 2, 3, 4])));
        // A longer route is not taken for its width, and a direction is one of its own.
        topology.set(NodeId(0), NodeId(3), 1);
        assert_eq!(topology.route(NodeId(0), NodeId(4)), Some(n(&[0, 3, 4])));
        assert_eq!(topology.route(NodeId(4), NodeId(0)), Some(n(&[4, 3, 1, 0])));
    }

    #[test]
    fn a_link_that_is_down_is_on_no_route() {
        let mut topology = square();
        topology.set_up(NodeId(3), NodeId(4), false);
        assert_eq!(topology.route(NodeId(0), NodeId(4)), None);
        assert_eq!(topology.route(NodeId(0), NodeId(9)), None);
    }

    #[test]
    fn a_row_that_is_too_long_has_no_route() {
        let last = u32::try_from(MOST_HOPS).unwrap();
        let row = Topology::of((0..last).map(|node| (NodeId(node), NodeId(node + 1))));
        assert!(row.route(NodeId(0), NodeId(last)).is_none());
        assert!(is_route(&row.route(NodeId(0), NodeId(last - 1)).unwrap()));
    }

    proptest::proptest! {
        /// In any network a route follows links that are up, and has no loop.
        #[test]
        fn a_route_has_no_loop(links in proptest::collection::vec((0u32..12, 0u32..12, 0u64..9, proptest::bool::ANY), 0..60)) {
            let mut topology = Topology::default();
            for (a, b, residual, up) in &links {
                topology.set(NodeId(*a), NodeId(*b), *residual);
                topology.set_up(NodeId(*a), NodeId(*b), *up);
            }
            for to in 1..12 {
                let Some(route) = topology.route(NodeId(0), NodeId(to)) else { continue };
                proptest::prop_assert!(is_route(&route));
                let up = |pair: &[NodeId]| topology.links[&pair[0]][&pair[1]].up;
                proptest::prop_assert!(route.windows(2).all(up));
            }
        }
    }
}
