//! How channels get from one node to another.

use std::collections::{BTreeMap, VecDeque};

use super::*;
use crate::raw::NodeName;
use crate::section::Key;
use crate::written::List;

/// The way of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    /// The stations that it passes.
    pub(super) stations: Vec<usize>,
    /// The network from each of them to the next.
    pub(super) ways: Vec<usize>,
    /// Whether the last of them receives.
    pub(super) received: bool,
}

/// Where nodes are, and how channels go from one to another.
#[derive(Debug, Clone)]
pub(super) enum Way {
    /// Nodes by their numbers, alike, and each next to each but for relays.
    Numbered {
        stations: usize,
        relays: usize,
        /// Whether the last node of a channel's way receives.
        receives: bool,
    },
    /// Nodes by name.
    Named(Graph),
    /// Nodes by name of which something is wrong, and has been reported.
    Unknown(Reported),
}

/// How the way of a channel is written: its ends, or all that it passes.
pub(super) type AsWritten<'k> =
    (&'k Key<Option<NodeName>>, &'k Key<Option<NodeName>>, Option<List<Written<Name>>>);

/// By root: for every place the one before it.
type Trees = BTreeMap<usize, Vec<Option<usize>>>;

/// Where a place is in the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// A node, by its number.
    Node(usize),
    /// A switch, by its number.
    Switch(usize),
}

/// Places and the links between them.
#[derive(Debug, Clone, Default)]
pub(super) struct Graph {
    /// Every place, in the order of their names.
    pub(super) places: Vec<Place>,
    /// The names.
    pub(super) names: Vec<String>,
    /// The places that a name stands for: one, or all copies.
    pub(super) by_name: BTreeMap<String, Vec<usize>>,
    /// Per place: the places next to it and the network between, in the order of the networks'
    /// names and of what each joins.
    pub(super) next: Vec<Vec<(usize, usize)>>,
    /// The station that is the port of a switch, by the place of the switch and of the next.
    pub(super) ports: BTreeMap<(usize, usize), usize>,
}

impl Way {
    /// A host by itself.
    pub(super) const ALONE: Way = Way::Numbered { stations: 1, relays: 0, receives: false };

    /// The node that is written, or the first.
    pub(super) fn node(&self, cx: &mut Context<'_>, node: &Key<Option<NodeName>>) -> Result<usize, Reported> {
        let Some(node) = node.placed()? else { return Ok(0) };
        let span = node.span();
        match self {
            Way::Unknown(reported) => Err(*reported),
            Way::Numbered { stations, .. } => numbered(cx, *stations, node),
            Way::Named(graph) => {
                let found = graph.nodes(cx, &node)?;
                match found[..] {
                    [node] => Ok(node),
                    _ => {
                        let reason = format!("there are {} nodes by this name", found.len());
                        Err(cx.fault(&span, reason, "name one of them, such as its name with `-1` behind"))
                    }
                }
            }
        }
    }

    /// The ways from one name to another, or written, one for each of the nodes that the names
    /// stand for; of the first `most` if there are more.
    pub(super) fn routes(
        &self,
        cx: &mut Context<'_>,
        (from, to, route): AsWritten<'_>,
        most: usize,
        owner: &Range<usize>,
    ) -> Result<Vec<Route>, Reported> {
        match self {
            Way::Unknown(reported) => Err(*reported),
            Way::Numbered { stations, relays, receives } => {
                if let Some(route) = route {
                    let help = "remove this, or describe the nodes by name, as `[node.NAME]`";
                    return Err(cx.fault(&route.span, "nodes without names have one way between them", help));
                }
                let (from, to) = ends(cx, (*stations, *relays), from, to)?;
                let stations: Vec<usize> = match relays {
                    0 if from == to => vec![from],
                    0 => vec![from, to],
                    _ => (0..*stations).collect(),
                };
                let received = *receives && stations.len() > 1;
                Ok(vec![Route { ways: vec![0; stations.len() - 1], received, stations }])
            }
            Way::Named(graph) => match route {
                Some(route) => {
                    let reason = "the route says where the channel starts and ends";
                    cx.foreign(from, reason, "remove this, or the route")?;
                    cx.foreign(to, reason, "remove this, or the route")?;
                    graph.written(cx, route, most)
                }
                None => graph.found(cx, (from, to), most, owner),
            },
        }
    }

    /// The further receivers that are written, each with its name and the ways there from each sender: all
    /// nodes that `to` names, or the end of a route.
    pub(super) fn receivers(
        &self,
        cx: &mut Context<'_>,
        (from, to, route): AsWritten<'_>,
        most: usize,
        owner: &Range<usize>,
    ) -> Result<Vec<(String, Vec<Route>)>, Reported> {
        let receiver = |cx: &mut Context<'_>| match to.placed()? {
            Some(receiver) => Ok(receiver),
            None => Err(cx.missing("to", owner, "this receiver", "the node that receives")),
        };
        match (self, route) {
            (Way::Named(graph), Some(route)) => {
                let reason = "the route says where the channel starts and ends";
                cx.foreign(to, reason, "remove this, or the route")?;
                let last = route.value.as_ref().ok().and_then(|route| route.last()?.value.clone().ok());
                let name = last.map_or_else(String::new, |Name(name)| name);
                Ok(vec![(name, graph.written(cx, route, most)?)])
            }
            (Way::Named(graph), None) => {
                let to = receiver(cx)?;
                graph.receivers(cx, from, &to, most, owner)
            }
            (Way::Numbered { .. } | Way::Unknown(_), None) => {
                let name = match receiver(cx)?.into_inner() {
                    Or::That(name) => name.0,
                    Or::This(number) => number.get().to_string(),
                };
                Ok(vec![(name, self.routes(cx, (from, to, None), most, owner)?)])
            }
            // An error: only named nodes have routes.
            (Way::Numbered { .. } | Way::Unknown(_), Some(route)) => {
                self.routes(cx, (from, to, Some(route)), most, owner).map(|_| Vec::new())
            }
        }
    }
}

/// The node with that number, of `stations`.
fn numbered(cx: &mut Context<'_>, stations: usize, node: Spanned<NodeName>) -> Result<usize, Reported> {
    let last = stations - 1;
    let span = node.span();
    let (what, help) = match node.into_inner() {
        Or::This(node) if node.get() as usize <= last => return Ok(node.get() as usize),
        Or::This(node) if last == 0 => {
            let help = "the only node is 0; `stations` under `[network]` says how many there are";
            (node.get().to_string(), help.to_string())
        }
        Or::This(node) => (node.get().to_string(), format!("nodes are numbered from 0 to {last}")),
        Or::That(name) => {
            let help = format!("add `[node.{}]`, or use a number from 0 to {last}", name.0);
            (format!("`{}`", name.0), help)
        }
    };
    Err(cx.fault(&span, format!("there is no node {what}"), help))
}

/// Both ends of a channel among equal hosts.
fn ends(
    cx: &mut Context<'_>,
    (stations, relays): (usize, usize),
    from: &Key<Option<NodeName>>,
    to: &Key<Option<NodeName>>,
) -> Result<(usize, usize), Reported> {
    let mut end = |key: &Key<Option<NodeName>>, usual: usize| {
        let Some(end) = key.placed()? else { return Ok(usual) };
        let span = end.span();
        if relays > 0 && !matches!(end.get_ref(), Or::This(end) if end.get() as usize == usual) {
            let help = "remove this, or the relays";
            return Err(cx.fault(&span, "with relays every channel takes the whole path", help));
        }
        numbered(cx, stations, end)
    };
    let (from, to) = (end(from, 0), end(to, stations - 1));
    Ok((from?, to?))
}

impl Graph {
    /// The places by a name.
    pub(super) fn places(
        &self,
        cx: &mut Context<'_>,
        name: &str,
        span: &Range<usize>,
    ) -> Result<&[usize], Reported> {
        match self.by_name.get(name) {
            Some(places) => Ok(places),
            None => {
                let near = nearest(name, self.by_name.keys().map(String::as_str));
                let help = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("nodes are {}", list(self.by_name.keys())),
                };
                Err(cx.fault(span, format!("there is no node `{name}`"), help))
            }
        }
    }

    /// The nodes by a name; a switch is none that sends or receives.
    fn nodes(&self, cx: &mut Context<'_>, node: &Spanned<NodeName>) -> Result<Vec<usize>, Reported> {
        self.places_of(cx, node)?
            .iter()
            .map(|place| match self.places[*place] {
                Place::Node(node) => Ok(node),
                Place::Switch(_) => {
                    let help = "name a host behind it";
                    Err(cx.fault(&node.span(), "a switch neither sends nor receives", help))
                }
            })
            .collect()
    }

    fn places_of(&self, cx: &mut Context<'_>, node: &Spanned<NodeName>) -> Result<&[usize], Reported> {
        match node.get_ref() {
            Or::That(name) => self.places(cx, &name.0, &node.span()),
            Or::This(_) => {
                let help = format!("nodes are {}", list(self.by_name.keys()));
                Err(cx.fault(&node.span(), "nodes have names here, and no numbers", help))
            }
        }
    }

    /// The ways of fewest hops from each of `from` to each of `to` in turn.
    fn found(
        &self,
        cx: &mut Context<'_>,
        (from, to): (&Key<Option<NodeName>>, &Key<Option<NodeName>>),
        most: usize,
        owner: &Range<usize>,
    ) -> Result<Vec<Route>, Reported> {
        let mut end = |end: &Key<Option<NodeName>>, key: &str| match end.placed()? {
            Some(name) => {
                self.nodes(cx, &name)?;
                Ok((self.places_of(cx, &name)?, name.span()))
            }
            None => Err(cx.missing(key, owner, "this channel", "the name of a node")),
        };
        let (from, to) = (end(from, "from"), end(to, "to"));
        let ((from, _), (to, span)) = (from?, to?);
        let mut routes = Vec::new();
        let mut trees = Trees::new();
        for copy in 0..from.len().max(to.len()).min(most) {
            let ends = (from[copy % from.len()], to[copy % to.len()]);
            routes.push(self.joined(cx, &mut trees, ends, &span)?);
        }
        Ok(routes)
    }

    /// The nodes that `to` names, each with the ways of fewest hops from each sender.
    fn receivers(
        &self,
        cx: &mut Context<'_>,
        from: &Key<Option<NodeName>>,
        to: &Spanned<NodeName>,
        most: usize,
        owner: &Range<usize>,
    ) -> Result<Vec<(String, Vec<Route>)>, Reported> {
        let ends = self.places_of(cx, to)?;
        self.nodes(cx, to)?;
        let Some(from) = from.placed()? else {
            return Err(cx.missing("from", owner, "this channel", "the name of a node"));
        };
        let starts = self.places_of(cx, &from)?;
        let mut trees = Trees::new();
        let mut receivers = Vec::new();
        for end in ends {
            let starts = starts.iter().take(most);
            let routes = starts.map(|start| self.joined(cx, &mut trees, (*start, *end), &to.span()));
            receivers.push((self.names[*end].clone(), routes.collect::<Result<_, _>>()?));
        }
        Ok(receivers)
    }

    /// The way of fewest hops between two places; `span` is that of the name of the second.
    fn joined(
        &self,
        cx: &mut Context<'_>,
        trees: &mut Trees,
        (from, to): (usize, usize),
        span: &Range<usize>,
    ) -> Result<Route, Reported> {
        if from == to {
            let help = "send to another node, or leave the channel out";
            let reason = format!("`{}` would send to itself", self.names[from]);
            return Err(cx.fault(span, reason, help));
        }
        let Some(places) = self.path(trees, from, to) else {
            let reason = format!("nothing leads from `{}` to `{}`", self.names[from], self.names[to]);
            return Err(cx.fault(span, reason, "join them by a `[network.NAME]`"));
        };
        Ok(self.route(&places).expect("what was found is joined"))
    }

    /// The places on the way of fewest hops from one to another, both included, if there is one.
    /// `trees` keeps what was looked for.
    fn path(&self, trees: &mut Trees, from: usize, to: usize) -> Option<Vec<usize>> {
        // A node with one neighbour uses the tree of that neighbour, so hosts at a switch share its
        // tree.
        let root = match self.next[from][..] {
            [(only, _)] => only,
            _ => from,
        };
        let tree = trees.entry(root).or_insert_with(|| self.tree(root));
        let mut places: Vec<usize> = std::iter::successors(Some(to), |place| tree[*place]).collect();
        if places.last() != Some(&root) {
            return None;
        }
        places.extend(Some(from).filter(|from| *from != root));
        places.reverse();
        Some(places)
    }

    /// For every place the one before it on the way of fewest hops from `root`; of several the
    /// first in the order of `next`.
    fn tree(&self, root: usize) -> Vec<Option<usize>> {
        let mut before = vec![None; self.places.len()];
        let mut seen = vec![false; self.places.len()];
        let mut reached = VecDeque::from([root]);
        seen[root] = true;
        while let Some(place) = reached.pop_front() {
            for (next, _) in &self.next[place] {
                if !std::mem::replace(&mut seen[*next], true) {
                    before[*next] = Some(place);
                    reached.push_back(*next);
                }
            }
        }
        before
    }

    /// The ways that are written out.
    fn written(
        &self,
        cx: &mut Context<'_>,
        route: List<Written<Name>>,
        most: usize,
    ) -> Result<Vec<Route>, Reported> {
        let span = route.span.clone();
        let mut stops: Vec<(&[usize], Range<usize>)> = Vec::new();
        for name in cx.items(Some(route))? {
            let name = cx.value(name)?;
            stops.push((self.places(cx, &name.get_ref().0, &name.span())?, name.span()));
        }
        if stops.len() < 2 {
            return Err(cx.fault(
                &span,
                "a route has two ends",
                "name the sender, what is between, and the receiver",
            ));
        }
        let copies = stops.iter().map(|(places, _)| places.len()).max().unwrap_or(1);
        let mut routes = Vec::new();
        for copy in 0..copies.min(most) {
            let places: Vec<usize> = stops.iter().map(|(places, _)| places[copy % places.len()]).collect();
            for (at, (place, (_, span))) in places.iter().zip(&stops).enumerate() {
                let is_end = at == 0 || at == stops.len() - 1;
                let name = &self.names[*place];
                if is_end && matches!(self.places[*place], Place::Switch(_)) {
                    return Err(cx.fault(
                        span,
                        "a switch neither sends nor receives",
                        "name a host behind it",
                    ));
                }
                if at > 0 && self.network(places[at - 1], *place).is_none() {
                    let reason = format!("nothing joins `{}` and `{name}`", self.names[places[at - 1]]);
                    return Err(cx.fault(
                        span,
                        reason,
                        "join them by a `[network.NAME]`, or name what is between",
                    ));
                }
            }
            routes.push(self.route(&places).expect("what joins them was looked for"));
        }
        Ok(routes)
    }

    fn network(&self, from: usize, to: usize) -> Option<usize> {
        self.next[from].iter().find(|(next, _)| *next == to).map(|(_, network)| *network)
    }

    /// The stations on the way through `places`, if all of them are joined.
    fn route(&self, places: &[usize]) -> Option<Route> {
        let station = |(at, place): (usize, &usize)| match self.places[*place] {
            Place::Node(node) => Some(node),
            Place::Switch(_) => self.ports.get(&(*place, *places.get(at + 1)?)).copied(),
        };
        let stations = places.iter().enumerate().map(station).collect::<Option<_>>()?;
        let ways = places.windows(2).map(|pair| self.network(pair[0], pair[1])).collect::<Option<_>>()?;
        Some(Route { stations, ways, received: true })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A node that shares the tree of its neighbour has the routes of its own tree.
        #[test]
        fn a_shared_tree_changes_no_way(
            links in proptest::collection::vec((0usize..12, 0usize..12), 0..16),
            ends in proptest::collection::vec((0usize..12, 0usize..12), 1..20),
        ) {
            let mut next = vec![Vec::new(); 12];
            for (network, (a, b)) in links.into_iter().enumerate().filter(|(_, (a, b))| a != b) {
                next[a].push((b, network));
                next[b].push((a, network));
            }
            let graph = Graph { places: (0..12).map(Place::Node).collect(), next, ..Graph::default() };
            let mut trees = Trees::new();
            for (from, to) in ends.into_iter().filter(|(from, to)| from != to) {
                let own = graph.tree(from);
                let mut places: Vec<usize> = std::iter::successors(Some(to), |place| own[*place]).collect();
                places.reverse();
                let found = Some(places).filter(|places| places[0] == from);
                prop_assert_eq!(graph.path(&mut trees, from, to), found);
            }
        }
    }
}
