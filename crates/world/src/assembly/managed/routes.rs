//! Routes of channels: those of the file, or computed at each request.

use laxity_signalling::routes::Topology;

use super::*;
use crate::experiment::Routing;

/// The links of the file.
pub(super) fn described(spec: &SignallingSpec) -> Topology {
    let id = |node: usize| NodeId(node as u32);
    Topology::of(spec.links.iter().map(|link| (id(link.ends[0]), id(link.ends[1]))))
}

impl Managed<'_> {
    /// The nodes and networks over which a channel is asked for now. A computed route is that of the
    /// file if no other works.
    pub(super) fn route_of(&self, channel: usize) -> (Vec<usize>, Vec<usize>) {
        let spec = &self.experiment.channels[channel];
        let given = || (spec.route.clone(), spec.ways.clone());
        if spec.routed || self.spec.routes == Routing::FewestHops {
            return given();
        }
        let id = |node: usize| NodeId(node as u32);
        let ends = spec.route.first().zip(spec.route.last());
        let widest = ends.and_then(|(from, to)| self.topology().route(id(*from), id(*to)));
        let Some(route) = widest else { return given() };
        let route: Vec<usize> = route.iter().map(|node| node.0 as usize).collect();
        let network = |pair: &[usize]| Some(self.spec.between(pair[0], pair[1])?.network);
        match route.windows(2).map(network).collect() {
            Some(ways) => (route, ways),
            None => given(),
        }
    }

    /// The links that work, with what is not reserved of each.
    fn topology(&self) -> Topology {
        let mut topology = Topology::default();
        for link in &self.links {
            let [from, to] = [link.from, link.to].map(|node| NodeId(node as u32));
            let other = self.stations[link.to].node.as_ref();
            let Some(node) = self.stations[link.from].node.as_ref().filter(|_| other.is_some()) else {
                continue;
            };
            if link.cuts > 0 {
                continue;
            }
            let millionths = 1_000_000_u32.saturating_sub(node.reserved(to));
            let second = Span::from_secs(1).as_ps() / link.config.per_byte.time(Bytes::new(1)).as_ps().max(1);
            let residual = u128::from(second) * u128::from(millionths) / 1_000_000;
            topology.set(from, to, residual as u64);
        }
        topology
    }
}
