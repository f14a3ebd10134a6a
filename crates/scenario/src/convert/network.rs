//! `[network]` and `[[fault]]`: access to the medium, impairments of frames, and faults.

use laxity_model::adapter::{AdapterBreakdown, Delay};
use laxity_model::network::{
    Background, CsmaParameters, ImpairmentParameters, NetworkError, Probability, Reordering,
    TokenRingParameters,
};
use laxity_qos::channel::LinkId;
use laxity_units::Rate;

use super::way::Way;
use super::*;
use crate::choice::{FaultKind, NetworkKind};
use crate::leaf::Interval;
use crate::raw::{NetworkKeys, RawFault, RawImpairments, RawNetwork, RawNetworks, RawOthers};
use crate::section::{Key, first, strays};
use crate::written::{List, Named, keys};

/// How the hosts of `[path]` stand.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Chain {
    pub(super) relays: u32,
    pub(super) receive: bool,
    pub(super) propagation: Span,
}

/// The network of equal hosts that go by their numbers.
pub(super) fn network(
    cx: &mut Context<'_>,
    networks: Option<RawNetworks>,
    path: &Result<Chain, Reported>,
    adapter: Option<&AdapterSpec>,
    speedup: f64,
) -> Result<(Network, Way), Reported> {
    let path = path.as_ref().copied().map_err(|reported| *reported);
    let of = |stations: usize, medium, impairments, path: Chain| Network {
        name: None,
        members: (0..stations).collect(),
        medium,
        framed: false,
        tagged: false,
        propagation: path.propagation,
        impairments,
    };
    let way =
        |stations, path: Chain, receives| Way::Numbered { stations, relays: path.relays as usize, receives };
    let Some(networks) = networks else {
        let path = path?;
        let stations = path.relays as usize + 1 + usize::from(path.receive);
        let network = of(stations, MediumSpec::PointToPoint, ImpairmentParameters::default(), path);
        return Ok((network, way(stations, path, path.receive)));
    };
    let RawNetworks { own, named } = networks;
    unknown(cx, named)?;
    let (span, keys) = cx.keys(own, "")?;
    let kind = keys.kind.needed(cx, &span, "the network");
    if let Some(span) = first([&keys.joins, &keys.propagation]) {
        let help = "describe the nodes by name, as `[node.NAME]`, and this under `[network.NAME]`";
        return Err(cx.fault(&span, "nodes without names are joined as they stand", help));
    }
    let (path, kind) = (path?, kind?);
    let on_path = path.relays as usize + 1 + usize::from(path.receive);
    let stations = match keys.stations.placed()? {
        Some(stations) if on_path > 1 && stations.get_ref().get() as usize != on_path => {
            let help = format!("say {on_path}, or nothing");
            return Err(cx.fault(&stations.span(), format!("the path has {on_path} hosts"), help));
        }
        stations => stations.map_or(on_path, |stations| stations.into_inner().get() as usize),
    };
    let place = kind.span();
    let kind = kind.into_inner();
    if let Some(adapter) = adapter
        && kind != NetworkKind::PointToPoint
        && !waits(adapter)
    {
        let help = "describe an adapter with a phase that says `medium = true`";
        return Err(cx.fault(&place, "the adapter never waits for a shared medium", help));
    }
    let framed =
        ["frames are of the links between named nodes", "remove this, or describe nodes as `[node.NAME]`"];
    cx.foreign(&keys.framing, framed[0], framed[1])?;
    cx.foreign(&keys.mtu, framed[0], framed[1])?;
    without_rate(cx, kind, &keys.rate)?;
    let (medium, impairments) = self::medium(cx, kind, keys, &span, stations, speedup, path.propagation)?;
    Ok((of(stations, medium, impairments, path), way(stations, path, path.receive || stations > 1)))
}

/// Reports what stands under keys of no network, where there are no nodes that named networks could join.
fn unknown(cx: &mut Context<'_>, named: Named<RawNetwork>) -> Result<(), Reported> {
    let mut outcome = Ok(());
    for (key, part) in named {
        outcome = Err(match part.value {
            Err(_) => cx.unknown_key(&part.span, &key, keys::<RawNetwork>()),
            Ok(_) => {
                let reason = format!("network `{}` has no nodes to join", key.get_ref());
                cx.fault(&key.span(), reason, "describe the nodes by name, as `[node.NAME]`")
            }
        });
    }
    outcome
}

/// Whether an adapter asks its medium before each frame.
pub(super) fn waits(adapter: &AdapterSpec) -> bool {
    matches!(adapter, AdapterSpec::Described(adapter) if adapter.asks_for_medium())
}

/// THT of each station of a token ring: one for all, or one each.
fn holdings(
    cx: &mut Context<'_>,
    one: &Key<Option<Span>>,
    each: Option<List<Written<Bounded<Interval>>>>,
    span: &Range<usize>,
    stations: usize,
) -> Result<Vec<Span>, Reported> {
    let Some(list) = each else {
        let holding = one.needed(cx, span, "the token ring")?;
        return Ok(vec![holding.into_inner(); stations]);
    };
    cx.foreign(one, "the holding times are given twice", "keep either `holding` or `holdings`")?;
    let place = list.span.clone();
    let items: Vec<_> = cx.items(Some(list))?.into_iter().map(|item| cx.value(item)).collect();
    let items = items.into_iter().collect::<Result<Vec<_>, _>>()?;
    if items.len() != stations {
        let reason = format!("there are {} holding times, and {stations} stations", items.len());
        return Err(cx.fault(&place, reason, format!("give {stations}, in ring order")));
    }
    Ok(items.into_iter().map(|item| item.into_inner().get()).collect())
}

/// The report of a key that only Ethernet with collisions has.
const OF_ETHERNET: (&str, &str) = ("this is CSMA/CD's", "remove this, or say `kind = \"csma\"`");

/// Refuses a rate of a medium that has none.
pub(super) fn without_rate(
    cx: &mut Context<'_>,
    kind: NetworkKind,
    rate: &Key<Option<Rate>>,
) -> Result<(), Reported> {
    if kind == NetworkKind::Csma { Ok(()) } else { cx.foreign(rate, OF_ETHERNET.0, OF_ETHERNET.1) }
}

/// Access to the medium and impairments of frames, for a number of `stations` with processors of a
/// given speed.
pub(super) fn medium(
    cx: &mut Context<'_>,
    kind: NetworkKind,
    keys: NetworkKeys,
    span: &Range<usize>,
    stations: usize,
    speedup: f64,
    propagation: Span,
) -> Result<(MediumSpec, ImpairmentParameters), Reported> {
    let stray = strays(keys.owned(), kind).next();
    let impairments =
        keys.impairments.map_or(Ok(ImpairmentParameters::default()), |part| self::impairments(cx, part));
    if let Some((stray, at)) = stray {
        let (reason, help) = match stray.of {
            [NetworkKind::Csma] => OF_ETHERNET,
            _ => (
                "rotation and holding times are a token ring's",
                "remove this, or say `kind = \"token_ring\"`",
            ),
        };
        return Err(cx.fault(&at, reason, help));
    }
    let medium = match kind {
        NetworkKind::PointToPoint => MediumSpec::PointToPoint,
        NetworkKind::TokenRing => {
            let rotation = keys.rotation.needed(cx, span, "the token ring");
            let holding = self::holdings(cx, &keys.holding, keys.holdings, span, stations);
            let handling = Delay::fixed(keys.handling.value?).divided(speedup).fixed;
            let (rotation, holding, latency) = (rotation?.into_inner(), holding?, keys.latency.value?);
            let ring = TokenRingParameters { rotation, holding, latency, handling };
            ring.check().map_err(|error| refuse(cx, span, &error))?;
            MediumSpec::TokenRing(ring)
        }
        NetworkKind::Csma => {
            let rate = keys.rate.needed(cx, span, "the network");
            let others = keys.others.map(|part| self::others(cx, part)).transpose();
            let (rate, others) = (rate?.into_inner(), others?);
            let csma = CsmaParameters { rate, stations, propagation, others };
            csma.check().map_err(|error| refuse(cx, span, &error))?;
            MediumSpec::Csma(csma)
        }
    };
    Ok((medium, impairments?))
}

fn refuse(cx: &mut Context<'_>, span: &Range<usize>, error: &NetworkError) -> Reported {
    let reason = format!("the network's {} {}", error.parameter(), error.reason());
    cx.fault(span, reason, format!("valid is {}", error.valid()))
}

fn others(cx: &mut Context<'_>, part: Part<RawOthers>) -> Result<Background, Reported> {
    let (_, keys) = cx.keys(part, "these stations")?;
    Ok(Background {
        stations: keys.stations.value?.small(),
        frame: keys.frame.value?,
        load: keys.load.value?,
    })
}

fn impairments(cx: &mut Context<'_>, part: Part<RawImpairments>) -> Result<ImpairmentParameters, Reported> {
    let (span, keys) = cx.keys(part, "")?;
    let share = |share: Key<f64>| Ok(Probability::new(share.value?).expect("a share is a probability"));
    let parameters = ImpairmentParameters {
        delay: keys.delay.value?,
        jitter: keys.jitter.value?,
        loss: share(keys.loss)?,
        corruption: share(keys.corruption)?,
        duplication: share(keys.duplication)?,
        reordering: Reordering { probability: share(keys.reordering)?, by: keys.reorder_by.value? },
    };
    parameters.check().map_err(|error| refuse(cx, &span, &error))?;
    Ok(parameters)
}

pub(super) fn faults(
    cx: &mut Context<'_>,
    list: Option<List<Part<RawFault>>>,
    topology: Option<&Topology>,
    way: &Way,
) -> Result<Vec<FaultSpec>, Reported> {
    let faults: Vec<_> = cx.items(list)?.into_iter().map(|part| fault(cx, part, topology, way)).collect();
    faults.into_iter().collect()
}

fn fault(
    cx: &mut Context<'_>,
    part: Part<RawFault>,
    topology: Option<&Topology>,
    way: &Way,
) -> Result<FaultSpec, Reported> {
    let (owner, keys) = cx.keys(part, "this fault")?;
    let node = way.node(cx, &keys.node);
    cx.foreign(&keys.network, "only a cut is of a network", "remove this")?;
    let (kind, node) = (keys.kind.spanned()?, node?);
    let place = kind.span();
    let kind = kind.into_inner();
    if kind != FaultKind::Stall {
        let help = "remove this, or say `kind = \"stall\"`";
        cx.foreign(&keys.resource, "only a stall has a resource", help)?;
        cx.foreign(&keys.every, "only a stall comes again", help)?;
    }
    if kind != FaultKind::LostInterrupts {
        let help = "remove this, or say `kind = \"lost_interrupts\"`";
        cx.foreign(&keys.share, "only interrupts get lost by a share", help)?;
    }
    if matches!(kind, FaultKind::Crash | FaultKind::ProgramCrash | FaultKind::Cut) {
        let help = "add `[signalling]`, or use another fault";
        return Err(cx.fault(&place, "hosts that schedule do not crash, and their links are not cut", help));
    }
    let attached = topology.and_then(|topology| topology.nodes.get(node)).map(|node| &node.adapters[..]);
    let link = match keys.adapter.placed()? {
        None => 0,
        Some(name) => {
            let called = |attached: &Attached| attached.name.as_deref() == Some(&name.get_ref().0);
            attached.unwrap_or_default().iter().position(called).ok_or_else(|| {
                let reason = format!("the node has no adapter `{}`", name.get_ref().0);
                cx.fault(&name.span(), reason, "name one of `[node.NAME.adapter]`, or none for the only one")
            })?
        }
    };
    let adapter = topology.zip(attached).map(|(of, attached)| &of.adapters[attached[link].adapter].value);
    let described = match adapter {
        Some(AdapterSpec::Described(description)) => Some(description),
        Some(AdapterSpec::Null(_)) if kind != FaultKind::LostInterrupts => {
            let help = "describe an adapter with stages, or let interrupts get lost";
            return Err(cx.fault(&place, "a null device has nothing that could break", help));
        }
        _ => None,
    };
    let fault = match kind {
        FaultKind::LostInterrupts => KindOfFault::LostInterrupts(keys.share.value?.unwrap_or(1.0)),
        FaultKind::FullQueues => KindOfFault::Breakdown(AdapterBreakdown::FullQueues),
        FaultKind::Stop => KindOfFault::Breakdown(AdapterBreakdown::Stop),
        FaultKind::Crash | FaultKind::ProgramCrash | FaultKind::Cut => unreachable!("it is refused above"),
        FaultKind::Stall => {
            let resource = keys.resource.needed(cx, &owner, "this stall")?;
            let name = &resource.get_ref().0;
            let known = described.map_or(&[][..], |description| &description.resources);
            let index = known.iter().position(|resource| resource.name == *name);
            KindOfFault::Breakdown(AdapterBreakdown::Stall(index.ok_or_else(|| {
                let help = format!("the adapter has {}", list(known.iter().map(|resource| &resource.name)));
                cx.fault(&resource.span(), format!("the adapter has no resource `{name}`"), help)
            })?))
        }
    };
    let (at, length) = (keys.at.value?, keys.length.value?);
    let every = match keys.every.placed()? {
        None => None,
        Some(every) => {
            let (span, every) = (every.span(), every.into_inner());
            if length.is_none_or(|length| length >= every) {
                let help = "say `for`, and a longer time from one beginning to the next";
                return Err(cx.fault(&span, "it would begin again before it is over", help));
            }
            Some(every)
        }
    };
    Ok(FaultSpec { node, link: LinkId(link as u8), fault, at, length, every })
}
