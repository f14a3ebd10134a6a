//! Further receivers of a channel: a multicast.

use laxity_world::experiment::CopyOf;

use super::super::way::Route;
use super::super::*;
use crate::raw::{NodeName, RawFurther};
use crate::section::{Key, Section};
use crate::written::List;

/// A further receiver.
#[derive(Debug, Clone)]
pub(super) struct Further {
    /// The name of its channel is that of the first receiver's with this behind.
    pub(super) name: String,
    /// The place of the table.
    pub(super) span: Range<usize>,
    /// The routes there, in turn, as those of the first receiver.
    pub(super) routes: Vec<Route>,
}

/// The further receivers of a channel from `from`, of which copies go to each receiver in turn.
pub(super) fn further(
    cx: &mut Context<'_>,
    list: Option<List<Part<RawFurther>>>,
    (from, routed): (&Key<Option<NodeName>>, bool),
    most: usize,
    around: &Surroundings,
) -> Result<Vec<Further>, Reported> {
    let Some(list) = list else { return Ok(Vec::new()) };
    let mut further = Vec::new();
    for part in cx.items(Some(list))? {
        let part = cx.part(part)?;
        let span = part.span();
        let mut keys = part.into_inner().read(cx, &span, "this receiver");
        let route = keys.route.take();
        if routed && route.is_none() {
            let help = "give this receiver a `route`, or the channel `from` and `to`";
            return Err(cx.fault(&span, "the channel has a `route`, and this receiver has none", help));
        }
        let found = around.way.receivers(cx, (from, &keys.to, route), most, &span)?;
        further.extend(found.into_iter().map(|(name, routes)| Further { name, span: span.clone(), routes }));
    }
    Ok(further)
}

/// Where each of the `routes` of a multicast begins to be a copy of one of those before it.
pub(super) fn copies(
    cx: &mut Context<'_>,
    routes: &[(&Route, &Range<usize>)],
) -> Result<Vec<Option<CopyOf>>, Reported> {
    let mut copies: Vec<Option<CopyOf>> = Vec::new();
    for (i, (route, span)) in routes.iter().enumerate() {
        let twice = (1..route.stations.len()).any(|hop| route.stations[..hop].contains(&route.stations[hop]));
        if twice && routes.len() > 1 {
            let help = "let the route pass each node once, or write a channel for each receiver";
            return Err(cx.fault(span, "a route of a multicast passes a node twice", help));
        }
        let shared = |other: &usize| {
            let each = route.stations.iter().zip(&routes[*other].0.stations);
            each.take_while(|(station, other)| station == other).count()
        };
        // Of several the first.
        let Some(other) = (0..i).max_by_key(|other| (shared(other), usize::MAX - other)) else {
            copies.push(None);
            continue;
        };
        let (hops, of) = (shared(&other), &routes[other].0);
        let (reason, help) = match () {
            () if hops == 0 => {
                ("a multicast has one sender", "let all routes start at the node of the first receiver's")
            }
            () if routes[..i].iter().any(|(other, _)| other.stations.last() == route.stations.last()) => {
                ("this receiver is there twice", "name each receiver once")
            }
            () if hops == route.stations.len() || hops == of.stations.len() => {
                let help = "let routes part at a switch, or write a channel for each receiver";
                ("a multicast would pass through one of its receivers", help)
            }
            () if route.ways[hops - 1] != of.ways[hops - 1] => {
                let help = "let routes part at a switch, or write a channel for each receiver";
                ("a host would send a multicast over two links", help)
            }
            () => {
                let before = |at: usize| copies[at].filter(|copy| copy.hops >= hops).map(|copy| copy.channel);
                let channel = std::iter::successors(Some(other), |at| before(*at)).last().unwrap_or(other);
                copies.push(Some(CopyOf { channel, hops }));
                continue;
            }
        };
        return Err(cx.fault(span, reason, help));
    }
    Ok(copies)
}

/// Refuses what a multicast cannot have; `key` is that of its further receivers.
pub(super) fn fits(
    cx: &mut Context<'_>,
    key: &Range<usize>,
    (rounds, late, carries): (bool, bool, bool),
    around: &Surroundings,
) -> Result<(), Reported> {
    let (reason, help) = match () {
        () if around.cluster => ("a virtual interface leads to one node", "write one for each receiver"),
        () if around.is_managed() => {
            ("nodes with signalling establish channels to one node", "write a channel for each receiver")
        }
        () if around.reception.is_alone() => ("what comes in has one receiver", "remove this"),
        () if rounds => ("a round is answered by one receiver", "use another source, or remove this"),
        () if late => ("messages to several receivers may not be `late`", "remove one of the two"),
        () if carries => {
            ("frames of programs go to each receiver by a channel of its own", "write a channel for each")
        }
        () => return Ok(()),
    };
    Err(cx.fault(key, reason, help))
}
