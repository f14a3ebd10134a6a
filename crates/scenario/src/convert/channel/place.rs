//! The parts of hosts that have a channel: cores, an interface, a program.

use laxity_world::experiment::ChannelCores;

use super::super::way::Route;
use super::super::*;
use crate::raw::CoreNumber;

/// The cores of a channel's handlers, sender and program, at each host with several cores.
pub(super) fn cores_of(
    cx: &mut Context<'_>,
    said: [Option<Written<CoreNumber>>; 3],
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
        let Some((number, at)) = core::core_number(cx, said)? else { continue };
        if around.cluster || around.interfaces.is_some() {
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

/// The interface at which a channel arrives, where there are any.
pub(super) fn interface_of(
    cx: &mut Context<'_>,
    name: Option<Written<Name>>,
    owner: &Range<usize>,
    what: &str,
    around: &Surroundings,
) -> Result<Option<usize>, Reported> {
    let Some(interfaces) = &around.interfaces else {
        let help = "remove this, or add `[[interface]]`";
        return cx.foreign(name.as_ref(), "the host receives at no interface", help).map(|()| None);
    };
    let name = cx.required(name, "interface", owner, what)?;
    match interfaces.iter().position(|interface| *interface == name.get_ref().0) {
        Some(index) => Ok(Some(index)),
        None => {
            let help = format!("interfaces are {}", list(interfaces));
            Err(cx.fault(&name.span(), format!("there is no interface `{}`", name.get_ref().0), help))
        }
    }
}

/// The program that takes what a channel received at an interface.
pub(super) fn program_of(
    cx: &mut Context<'_>,
    name: Option<Written<Name>>,
    around: &Surroundings,
) -> Result<usize, Reported> {
    let Some(programs) = &around.programs else {
        let help = "remove this, or add `[[program]]`";
        return cx.foreign(name.as_ref(), "the scenario has no `[[program]]`", help).map(|()| 0);
    };
    let Some(name) = cx.optional(name)? else { return Ok(0) };
    programs.iter().position(|program| *program == name.get_ref().0).ok_or_else(|| {
        let help = format!("programs are {}", list(programs));
        cx.fault(&name.span(), format!("there is no program `{}`", name.get_ref().0), help)
    })
}
