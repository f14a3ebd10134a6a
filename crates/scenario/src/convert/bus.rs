//! `[host.bus.NAME]`: buses that adapters of a host share, and which adapters sit at them.

use laxity_model::adapter::Description;
use laxity_world::experiment::BusSpec;

use super::*;
use crate::raw::RawBus;
use crate::written::Entries;

/// The buses of a host, in the order of their names, and where each is named.
pub(super) fn buses(
    cx: &mut Context<'_>,
    entries: Option<Entries<Part<RawBus>>>,
) -> Result<(Vec<BusSpec>, Vec<Range<usize>>), Reported> {
    let (mut all, mut places) = (Vec::new(), Vec::new());
    let mut outcome = Ok(());
    for (name, part) in cx.entries(entries)? {
        places.push(name.span());
        match bus(cx, name, part) {
            Ok(spec) => all.push(spec),
            Err(reported) => outcome = Err(reported),
        }
    }
    outcome.map(|()| (all, places))
}

fn bus(cx: &mut Context<'_>, name: Spanned<String>, part: Part<RawBus>) -> Result<BusSpec, Reported> {
    cx.named(&name)?;
    let (_, keys) = cx.keys(part, "")?;
    let (preemptive, urgent, cpu) = (keys.preemptive.value?, keys.urgent.value?, keys.cpu.value?);
    Ok(BusSpec { name: name.into_inner(), preemptive, urgent, cpu })
}

/// Gives each adapter at a bus what its host says of that. A bus at which no adapter of the
/// scenario sits is more likely called otherwise there.
pub(super) fn seat(cx: &mut Context<'_>, topology: &mut Topology) -> Result<(), Reported> {
    let Topology { hosts, adapters, nodes, .. } = topology;
    let mut named = Vec::new();
    for node in nodes {
        for Attached { adapter, .. } in &mut node.adapters {
            let Located { value, spans } = &adapters[*adapter];
            let Some((resource, name)) = at_bus(value) else { continue };
            named.push(name.to_string());
            let buses = &hosts[node.host].value.buses;
            let Some(bus) = buses.iter().find(|bus| bus.name == name) else {
                let of =
                    node.name.as_ref().map_or("the host".to_string(), |name| format!("the host of `{name}`"));
                let help = match buses.is_empty() {
                    true => format!("add `[host.bus.{name}]`"),
                    false => {
                        let known: Vec<_> = buses.iter().map(|bus| &*bus.name).collect();
                        format!("add `[host.bus.{name}]`, or name {}", list(&known))
                    }
                };
                return Err(cx.fault(&spans.bus, format!("{of} has no bus `{name}`"), help));
            };
            let mut value = value.clone();
            if let AdapterSpec::Described(description) = &mut value {
                let resource = &mut description.resources[resource];
                (resource.preemptive, resource.urgent, resource.host) = (bus.preemptive, bus.urgent, bus.cpu);
            }
            // Nodes that are alike share it.
            let spans = spans.clone();
            *adapter = adapters.iter().position(|other| other.value == value).unwrap_or_else(|| {
                adapters.push(Located { value, spans });
                adapters.len() - 1
            });
        }
    }
    for host in hosts.iter() {
        for (bus, place) in host.value.buses.iter().zip(&host.spans.buses) {
            if !named.contains(&bus.name) {
                let reason = format!("no adapter is at the bus `{}`", bus.name);
                let help = format!("say `bus = \"{}\"` at a `resource` of one, or remove this", bus.name);
                return Err(cx.fault(place, reason, help));
            }
        }
    }
    Ok(())
}

fn at_bus(adapter: &AdapterSpec) -> Option<(usize, &str)> {
    match adapter {
        AdapterSpec::Null(_) => None,
        AdapterSpec::Described(description) => Description::bus(description),
    }
}
