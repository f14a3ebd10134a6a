//! `[signalling]`: nodes that establish channels during the run, their links and clocks, when
//! channels are asked for, and what fails.

use laxity_qos::traffic::TrafficSpec;
use laxity_signalling::codec::LONGEST;
use laxity_signalling::contract::{ChannelContract, QuotaClaim};
use laxity_signalling::message::MOST_HOPS;
use laxity_signalling::quota::Quota;
use laxity_transport::HEADER_LEN;
use laxity_units::{ByteTime, Bytes, Rate};
use laxity_world::experiment::{
    AskedTimes, ClockSpec, Fails, LinkSpec, Outage, OwnerSpec, SignallingSpec, SynchroniseSpec,
};

use super::source::interval_of;
use super::topology::{Topology, of_nodes};
use super::*;
use crate::choice::FaultKind;
use crate::leaf::Name;
use crate::raw::{
    Difference, RateError, RawCalls, RawChange, RawClock, RawFault, RawOwner, RawSignalling, RawSynchronise,
};
use crate::section::{Key, first};
use crate::written::{Entries, List};

/// The largest payload of a packet: a frame has its length in 16 bits below.
const LARGEST: Bytes = Bytes::new(65_000);

/// Reads `[signalling]`, and the nodes and networks that it is about.
pub(super) fn signalling(
    cx: &mut Context<'_>,
    part: Part<RawSignalling>,
    nodes: Option<Entries<Part<RawNode>>>,
    networks: Option<RawNetworks>,
) -> Result<(SignallingSpec, Topology), Reported> {
    let (_, keys) = cx.keys(part, "")?;
    let owners = self::owners(cx, keys.owner);
    let packet = keys.packet.value?;
    if packet < Bytes::new(LONGEST as u64) || packet > LARGEST {
        let reason = format!("packets of {packet} are out of range");
        let help =
            format!("a signalling message has up to {LONGEST} B: say `\"{LONGEST} B\"` to `\"{LARGEST}\"`");
        return Err(cx.fault(&keys.packet.at.unwrap_or_default(), reason, help));
    }
    let Some(nodes) = nodes else {
        let help = "add `[node.NAME]` for each, and `[network.NAME]` with what it `joins`";
        return Err(cx.fault(&WHOLE, "nodes with signalling have names", help));
    };
    let frame = packet + Bytes::new(HEADER_LEN as u64);
    let (topology, links, clocks) = of_nodes(cx, nodes, networks, frame)?;
    let synchronise = keys.synchronise.map(|part| self::synchronise(cx, part, &topology)).transpose()?;
    let spec = SignallingSpec {
        packet: packet.get() as u32,
        spacing: keys.spacing.value?,
        lease: keys.lease.value?,
        memory: keys.memory.value?,
        routes: keys.routes.value?,
        owners: owners?,
        links,
        synchronise,
        clocks,
        outages: Vec::new(),
    };
    Ok((spec, topology))
}

/// The owners of channels, by name.
fn owners(
    cx: &mut Context<'_>,
    entries: Option<Entries<Part<RawOwner>>>,
) -> Result<Vec<OwnerSpec>, Reported> {
    let mut owners = Vec::new();
    for (name, part) in cx.entries(entries)? {
        cx.named(&name)?;
        let (_, keys) = cx.keys(part, "")?;
        let most = |most: Option<Whole<0, 1_000_000>>| most.map_or(u64::MAX, Whole::get);
        let bandwidth = keys.bandwidth.value?.map_or(u64::MAX, |rate| rate.bits_per_sec() / 8);
        let quota = Quota {
            channels: most(keys.channels.value?),
            claim: QuotaClaim { bandwidth, buffers: most(keys.buffers.value?), cpu: u64::MAX },
        };
        owners.push(OwnerSpec { name: name.get_ref().clone(), quota });
    }
    Ok(owners)
}

/// The synchronisation of clocks.
fn synchronise(
    cx: &mut Context<'_>,
    part: Part<RawSynchronise>,
    topology: &Topology,
) -> Result<SynchroniseSpec, Reported> {
    let (owner, keys) = cx.keys(part, "")?;
    if keys.reference.at.is_none() {
        return Err(cx.missing("reference", &owner, "the synchronisation", "the name of a node"));
    }
    Ok(SynchroniseSpec {
        reference: topology.way.node(cx, &keys.reference)?,
        accept: keys.accept.value?,
        period: keys.period.value?,
        retry: keys.retry.value?,
    })
}

/// The owner of a channel, among those with a quota.
pub(super) fn owner_of(
    cx: &mut Context<'_>,
    owner: &Key<Option<Name>>,
    promised: bool,
    around: &Surroundings,
) -> Result<Option<usize>, Reported> {
    let Some(written) = owner.placed()? else { return Ok(None) };
    let (span, Name(name)) = (written.span(), written.into_inner());
    let (reason, help) = match around.managed.as_ref().map_err(|reported| *reported)? {
        None => (
            "only nodes with signalling have quotas".to_string(),
            "remove this, or add `[signalling]`".into(),
        ),
        Some(_) if !promised => {
            ("best effort reserves nothing".into(), "remove this, or say `class = \"real_time\"`".into())
        }
        Some(spec) => match spec.owners.iter().position(|owner| owner.name == name) {
            Some(owner) => return Ok(Some(owner)),
            None if spec.owners.is_empty() => (
                format!("there is no owner `{name}`"),
                format!("add `[signalling.owner.{name}]` with its quota"),
            ),
            None => {
                let owners = list(spec.owners.iter().map(|owner| &owner.name));
                (format!("there is no owner `{name}`"), format!("owners are {owners}"))
            }
        },
    };
    Err(cx.fault(&span, reason, help))
}

/// Refuses sections that nodes with signalling take the place of; `other` is the first of them.
pub(super) fn beside(
    cx: &mut Context<'_>,
    place: &Range<usize>,
    other: &Option<Range<usize>>,
    cluster: bool,
) -> Result<(), Reported> {
    if let Some(span) = other {
        let help = "remove this, or `[signalling]`";
        return Err(cx.fault(span, "nodes with signalling take the place of hosts that schedule", help));
    }
    if cluster {
        let help = "remove `[signalling]`, or `[via]`";
        return Err(cx.fault(place, "virtual interfaces have no other nodes", help));
    }
    Ok(())
}

/// The clock of a node.
pub(super) fn clock(cx: &mut Context<'_>, part: Option<Part<RawClock>>) -> Result<ClockSpec, Reported> {
    let (owner, keys) = cx.keys_or_none(part, &WHOLE)?;
    let mut steps = Vec::new();
    for part in cx.items(keys.step)? {
        let (_, keys) = cx.keys(part, "this step")?;
        steps.push((keys.at.value?, keys.by.value?.0));
    }
    steps.sort_by_key(|(at, _)| *at);
    let (Difference(offset), RateError(drift)) = (keys.offset.value?, keys.drift.value?);
    let clock = ClockSpec { offset, drift, grain: keys.grain.value?, steps };
    match clock.clock() {
        Some(_) => Ok(clock),
        None => Err(cx.fault(&owner, "the steps of this clock are too large together", "step back by less")),
    }
}

/// The keys of a channel on when it is asked for.
pub(super) type Times = (Key<Span>, Key<Option<Span>>, Option<List<Part<RawChange>>>, Option<Part<RawCalls>>);

/// When a channel is asked for, changed and closed.
pub(super) fn asked(
    cx: &mut Context<'_>,
    (open, close, change, calls): Times,
    what: &str,
    (spec, deadline): (TrafficSpec, Option<Span>),
    around: &Surroundings,
) -> Result<AskedTimes, Reported> {
    let managed = around.is_managed();
    let TrafficSpec { max_message, min_message, burst, min_interval } = spec;
    let contract =
        deadline.map(|deadline| ChannelContract { max_message, min_message, min_interval, burst, deadline });
    let once = first([&open, &close, &change]);
    let Some(contract) = contract.filter(|_| managed) else {
        let Some(span) = first([&once, &calls]) else { return Ok(AskedTimes::ALWAYS) };
        let (reason, help) = match managed {
            true => ("best effort asks for nothing", "remove this, or say `class = \"real_time\"`"),
            false => ("channels are asked for before the run", "remove this, or add `[signalling]`"),
        };
        return Err(cx.fault(&span, reason, help));
    };
    if let Some(calls) = calls {
        if let Some(span) = once {
            let help = "remove this, or `calls`";
            return Err(cx.fault(&span, format!("{what} is asked for by its `calls`"), help));
        }
        let (_, keys) = cx.keys(calls, "these calls")?;
        return Ok(AskedTimes::Calls { every: keys.every.value?, hold: keys.hold.value? });
    }
    let at = open.value?;
    let until = close.placed()?.map(|close| (close.span(), close.into_inner()));
    if let Some((span, until)) = &until
        && *until <= at
    {
        let help = format!("close it after {at}");
        return Err(cx.fault(span, format!("{what} would be closed before it is asked for"), help));
    }
    let until = until.map(|(_, until)| until);
    let mut changes = Vec::new();
    for part in cx.items(change)? {
        let span = part.span.clone();
        let (time, contract) = self::change(cx, part, contract)?;
        if time <= at || until.is_some_and(|until| time >= until) {
            let reason = format!("{what} is not open at {time}");
            return Err(cx.fault(&span, reason, "change it between `open` and `close`"));
        }
        changes.push((time, contract));
    }
    changes.sort_by_key(|(at, _)| *at);
    Ok(AskedTimes::Once { at, until, changes })
}

fn change(
    cx: &mut Context<'_>,
    part: Part<RawChange>,
    contract: ChannelContract,
) -> Result<(Span, ChannelContract), Reported> {
    let (_, keys) = cx.keys(part, "this change")?;
    let size = keys.max_message.value?.unwrap_or(contract.max_message);
    let interval = match (keys.min_interval.value?, keys.rate.placed()?) {
        (Some(_), Some(rate)) => {
            let help = "keep either `min_interval` or `rate`";
            return Err(cx.fault(&rate.span(), "this change has its rate given twice", help));
        }
        (Some(interval), None) => interval,
        (None, Some(rate)) => interval_of(cx, size, *rate.get_ref(), &rate.span())?,
        (None, None) => contract.min_interval,
    };
    let changed = ChannelContract {
        max_message: size,
        min_message: contract.min_message.min(size),
        min_interval: interval,
        burst: keys.burst.value?.map_or(contract.burst, Whole::small),
        deadline: keys.deadline.value?.unwrap_or(contract.deadline),
    };
    Ok((keys.at.value?, changed))
}

/// The faults of nodes and networks.
pub(super) fn outages(
    cx: &mut Context<'_>,
    list: Option<List<Part<RawFault>>>,
    topology: &Topology,
) -> Result<Vec<Outage>, Reported> {
    let all: Vec<_> = cx.items(list)?.into_iter().map(|part| outage(cx, part, topology)).collect();
    all.into_iter().collect()
}

fn outage(cx: &mut Context<'_>, part: Part<RawFault>, topology: &Topology) -> Result<Outage, Reported> {
    let (owner, keys) = cx.keys(part, "this fault")?;
    let (reason, help) = ("nodes with signalling have no adapters that fail", "remove this");
    cx.foreign(&keys.adapter, reason, help)?;
    cx.foreign(&keys.resource, reason, help)?;
    cx.foreign(&keys.share, reason, help)?;
    cx.foreign(&keys.every, "only a stall comes again", help)?;
    let (node, network, kind) = (keys.node, keys.network, keys.kind.spanned()?);
    let what = match kind.get_ref() {
        FaultKind::Crash | FaultKind::ProgramCrash => {
            let help = "remove this, or say `kind = \"cut\"`";
            cx.foreign(&network, "this fault is of a node", help)?;
            if node.at.is_none() {
                return Err(cx.missing("node", &owner, "this fault", "the name of a node"));
            }
            let node = topology.way.node(cx, &node)?;
            match kind.get_ref() {
                FaultKind::Crash => Fails::Node(node),
                _ => Fails::Programs(node),
            }
        }
        FaultKind::Cut => {
            cx.foreign(&node, "this fault is of a network", "remove this, or say `kind = \"crash\"`")?;
            let name = network.needed(cx, &owner, "this fault")?;
            let called = |network: &Network| network.name.as_deref() == Some(&name.get_ref().0);
            match topology.networks.iter().position(called) {
                Some(network) => Fails::Network(network),
                None => {
                    let names = topology.networks.iter().filter_map(|network| network.name.as_ref());
                    let help = format!("networks are {}", list(names));
                    let reason = format!("there is no network `{}`", name.get_ref().0);
                    return Err(cx.fault(&name.span(), reason, help));
                }
            }
        }
        FaultKind::LostInterrupts | FaultKind::Stall | FaultKind::FullQueues | FaultKind::Stop => {
            let help = "use `crash`, `program_crash` or `cut`";
            return Err(cx.fault(&kind.span(), reason, help));
        }
    };
    let length = match (what, keys.length.placed()?) {
        (Fails::Programs(_), Some(length)) => {
            let help = "remove this";
            return Err(cx.fault(&length.span(), "programs that died do not start again", help));
        }
        (_, length) => length.map(Spanned::into_inner),
    };
    Ok(Outage { what, at: keys.at.value?, length })
}

/// A link of a rate, with the bytes around each frame.
pub(super) fn link(network: usize, ends: [usize; 2], rate: Rate, around: u32) -> LinkSpec {
    LinkSpec { network, ends, per_byte: ByteTime::at(rate), around }
}

/// Refuses parts of a file that nodes with signalling cannot use.
pub(super) fn only_nodes(
    cx: &mut Context<'_>,
    experiment: &Experiment,
    place: &Range<usize>,
) -> Result<(), Reported> {
    let Experiment { ports, clock, admission, task, .. } = experiment;
    let default = matches!(admission.formula, Some(Formula::Corrected)) && admission.test == Test::Demand;
    let (reason, help) = match () {
        () if !default => {
            ("nodes admit by their own tables", "remove `formula` and `test` under `[admission]`")
        }
        () if matches!(task, Task::Fill(_)) => {
            ("no copies are counted of channels that nodes admit", "remove `fill` under `[admission]`")
        }
        () if matches!(task, Task::Simulate(RunLength::Packets { .. })) => {
            ("nodes run for a time", "say `time` under `[run]` in place of `packets`")
        }
        () if !ports.is_empty() => ("ports are of hosts that schedule", "remove `[[port]]`"),
        () if *clock == ClockKind::Real => {
            ("nodes run under virtual time here", "remove `clock` under `[run]`; `laxity serve` runs a node")
        }
        () => {
            let Some((node, why)) = experiment.impossible_node() else { return Ok(()) };
            let reason = format!("node `{}` cannot be: {why}", experiment.name(node));
            return Err(cx.fault(place, reason, "say a longer `spacing`, or a higher `rate` of its links"));
        }
    };
    Err(cx.fault(place, reason, help))
}

/// Refuses a channel that nodes with signalling cannot carry; `place` is that of its name.
pub(super) fn fits(
    cx: &mut Context<'_>,
    around: &Surroundings,
    channel: &ChannelSpec,
    place: &Range<usize>,
) -> Result<(), Reported> {
    let Some(spec) = around.managed.as_ref().map_err(|reported| *reported)? else { return Ok(()) };
    let name = &channel.name;
    let datagram = Bytes::new(u64::from(spec.packet) - laxity_node::ADDRESS as u64);
    let contracts = || {
        let changes = match &channel.asked {
            AskedTimes::Once { changes, .. } => &changes[..],
            AskedTimes::Calls { .. } => &[],
        };
        channel.contract().into_iter().chain(changes.iter().map(|(_, contract)| *contract))
    };
    let (reason, help) = match () {
        () if channel.route.len() < 2 => (
            format!("channel `{name}` would lead from a node to itself"),
            "let `from` and `to` be two nodes".into(),
        ),
        () if channel.route.len() > MOST_HOPS => (
            format!("the route of `{name}` has {} nodes", channel.route.len()),
            format!("at most {MOST_HOPS} are possible"),
        ),
        () if channel.carries.is_some() => (
            "frames of programs come through ports, of hosts that schedule".into(),
            "remove `carries`".into(),
        ),
        () if channel.deadline.is_none() && channel.spec.max_message > datagram => (
            format!("best effort `{name}` is sent in datagrams of up to {datagram}"),
            format!("say `max_message = \"{datagram}\"` or less, or a larger `packet` under `[signalling]`"),
        ),
        () if channel.deadline.is_some() && channel.source.is_endless() => (
            format!("`{name}` has a contract, and its source has no rate"),
            "use a source with times of its own, such as `adversary`".into(),
        ),
        () if channel.source.is_answer() => {
            (format!("`{name}` sends in rounds, which virtual interfaces do"), "use another source".into())
        }
        () if contracts().any(|contract| spec.in_local_time(channel.route.len(), contract).is_none()) => (
            format!("the deadline of `{name}` is shorter than the terms of clocks"),
            "allow more time, or finer clocks".into(),
        ),
        () => return Ok(()),
    };
    Err(cx.fault(place, reason, help))
}
