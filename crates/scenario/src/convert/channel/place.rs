//! The parts of hosts that have a channel: cores, an interface, a program.

use laxity_qos::channel::CoreId;
use laxity_qos::fragment::Reassembler;
use laxity_units::Bytes;
use laxity_world::experiment::ChannelCores;

use super::super::receiver::{Ends, Reception};
use super::super::way::Route;
use super::super::*;
use crate::raw::CoreNumber;
use crate::section::Key;

/// The cores of a channel's handlers, sender and program, at each host with several cores.
pub(super) fn cores_of(
    cx: &mut Context<'_>,
    said: [Result<Option<Spanned<CoreNumber>>, Reported>; 3],
    routes: &[Route],
    around: &Surroundings,
) -> Result<ChannelCores, Reported> {
    let of_route: [fn(&Route) -> &[usize]; 3] = [
        |route| &route.stations,
        |route| &route.stations[..1],
        |route| &route.stations[route.stations.len() - 1..],
    ];
    let mut cores = [None; 3];
    for ((core, said), stations) in cores.iter_mut().zip(said).zip(of_route) {
        let Some(said) = said? else { continue };
        let (number, at) = (CoreId(said.get_ref().small() as u8), said.span());
        if around.cluster || around.reception.is_alone() {
            return Err(cx.fault(&at, "no host here has cores to choose from", "remove this"));
        }
        let hosts = routes.iter().flat_map(stations).filter_map(|station| around.cores.get(*station));
        let several = hosts.clone().filter(|(cores, _)| *cores > 1);
        let narrow = several.clone().find(|(cores, _)| *cores <= number.0);
        let alone = hosts.clone().next().filter(|_| several.clone().next().is_none());
        if let Some((cores, host)) = narrow.or(alone) {
            core::core(cx, number, &at, *cores, host)?;
        }
        *core = Some(number);
    }
    let [handler, application, reader] = cores;
    Ok(ChannelCores { handler, application, reader })
}

/// The interfaces at which a channel may end; `None` if its receiver has no interface.
pub(super) fn ends_of<'a>(
    cx: &mut Context<'_>,
    routes: &Result<Vec<Route>, Reported>,
    (owner, what): (&Range<usize>, &str),
    around: &'a Surroundings,
) -> Result<Option<&'a Ends>, Reported> {
    let all = match &around.reception {
        Reception::None => return Ok(None),
        Reception::Alone(ends) => return Ok(Some(ends)),
        Reception::Nodes(Err(reported)) => return Err(*reported),
        Reception::Nodes(Ok(all)) => all,
    };
    let routes = routes.as_ref().map_err(|reported| *reported)?;
    let end = |route: &Route| all.iter().find(|ends| route.stations.last() == Some(&ends.node));
    let first = routes.first().and_then(end);
    let names = |ends: &Ends| (ends.interfaces.clone(), ends.programs.clone());
    match routes.iter().all(|route| end(route).map(names) == first.map(names)) {
        true => Ok(first),
        false => {
            let help = "write a channel for each kind of receiving node";
            Err(cx.fault(owner, format!("copies of {what} end at nodes with different interfaces"), help))
        }
    }
}

/// The interface at which a channel arrives, of those that it may end at.
pub(super) fn interface_of(
    cx: &mut Context<'_>,
    name: &Key<Option<Name>>,
    owner: &Range<usize>,
    what: &str,
    ends: &Result<Option<&Ends>, Reported>,
) -> Result<Option<usize>, Reported> {
    let Some(Ends { named, interfaces, unread, .. }) = ends.as_ref().map_err(|reported| *reported)? else {
        let help = "remove this, or add `[[interface]]`";
        return cx.foreign(name, "the host receives at no interface", help).map(|()| None);
    };
    if name.at.is_none() && *named && interfaces.len() == 1 {
        return Ok(Some(0));
    }
    let name = name.needed(cx, owner, what)?;
    match interfaces.iter().position(|interface| *interface == name.get_ref().0) {
        Some(index) => Ok(Some(index)),
        None => Err(unread.unwrap_or_else(|| {
            let help = format!("interfaces are {}", list(interfaces));
            cx.fault(&name.span(), format!("there is no interface `{}`", name.get_ref().0), help)
        })),
    }
}

/// The program that takes what a channel received at an interface.
pub(super) fn program_of(
    cx: &mut Context<'_>,
    name: &Key<Option<Name>>,
    ends: &Result<Option<&Ends>, Reported>,
) -> Result<usize, Reported> {
    let ends = ends.as_ref().map_err(|reported| *reported)?;
    let Some(programs) = ends.and_then(|ends| ends.programs.as_ref()) else {
        let help = "remove this, or add `[[program]]`";
        return cx.foreign(name, "the scenario has no `[[program]]`", help).map(|()| 0);
    };
    let Some(name) = name.placed()? else { return Ok(0) };
    programs.iter().position(|program| *program == name.get_ref().0).ok_or_else(|| {
        if let Some(reported) = ends.and_then(|ends| ends.unread) {
            return reported;
        }
        let help = format!("programs are {}", list(programs));
        cx.fault(&name.span(), format!("there is no program `{}`", name.get_ref().0), help)
    })
}

/// Refuses a reader of a channel that `ends` at an interface, where programs take packets.
pub(super) fn no_reader<T>(
    cx: &mut Context<'_>,
    reader: Option<&Part<T>>,
    ends: bool,
) -> Result<(), Reported> {
    match reader.filter(|_| ends) {
        Some(reader) => {
            let help = "remove this, and name one by `program`";
            Err(cx.fault(&reader.span, "a `[[program]]` takes what is received at an interface", help))
        }
        None => Ok(()),
    }
}

/// The largest message, if hosts with that `packet` can carry it: in one packet if it `ends` a path at
/// an interface.
pub(super) fn size_of(
    cx: &mut Context<'_>,
    max_message: &Key<Bytes>,
    packet: Bytes,
    ends: bool,
) -> Result<Bytes, Reported> {
    let (span, size) = (max_message.at.clone().unwrap_or_default(), max_message.value?);
    let packets = size.div_ceil(packet);
    if packets > u64::from(Reassembler::MAX_FRAGMENTS) {
        let reason = format!("a message of {size} falls into {packets} packets of {packet}");
        let help = format!("at most {} packets make a message", Reassembler::MAX_FRAGMENTS);
        return Err(cx.fault(&span, reason, help));
    }
    if ends && packets > 1 {
        let reason = format!("a message of {size} is more than one packet of {packet}");
        let help = format!("messages that end at an interface are of one packet: say at most \"{packet}\"");
        return Err(cx.fault(&span, reason, help));
    }
    Ok(size)
}
