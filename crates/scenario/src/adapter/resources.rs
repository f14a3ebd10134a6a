//! Resources that stages of an adapter share, and their order of service.

use laxity_model::adapter::{PROCESSOR, Resource};

use super::*;
use crate::leaf::Name;
use crate::raw::{Rank, RawResource};

/// Name of the adapter's processor.
pub(super) const PROCESSOR_NAME: &str = "processor";

/// The rank.
pub(super) fn rank(priority: &Key<Rank>) -> Result<u8, Reported> {
    Ok(priority.value?.small() as u8)
}

/// The adapter's resources, as they are declared or named.
pub(super) struct Resources {
    list: Vec<Resource>,
    /// Where those are declared that no phase has held so far.
    unheld: Vec<Option<Range<usize>>>,
}

impl Resources {
    pub(super) fn new() -> Self {
        let processor = Resource {
            name: PROCESSOR_NAME.into(),
            servers: 1,
            preemptive: false,
            urgent: false,
            host: false,
            bus: None,
        };
        Self { list: vec![processor], unheld: vec![None] }
    }

    pub(super) fn declare(
        &mut self,
        cx: &mut Context<'_>,
        sources: &mut Sources,
        list: Option<List<Part<RawResource>>>,
    ) -> Result<(), Reported> {
        let mut outcome = Ok(());
        let mut known: Vec<String> = Vec::new();
        for part in cx.items(list)? {
            if let Err(reported) = self.declare_one(cx, sources, part, &mut known) {
                outcome = Err(reported);
            }
        }
        outcome
    }

    fn declare_one(
        &mut self,
        cx: &mut Context<'_>,
        sources: &mut Sources,
        part: Part<RawResource>,
        known: &mut Vec<String>,
    ) -> Result<(), Reported> {
        let (span, keys) = cx.keys(part, "this resource")?;
        let name = keys.name.spanned()?;
        let (place, name) = (name.span(), name.into_inner().0);
        let bus = match keys.bus.placed()? {
            None => None,
            Some(bus) => {
                let (reason, help) =
                    ("a bus says this itself", "remove this, or say it in `[host.bus.NAME]`");
                let all = [
                    cx.foreign(&keys.servers, "one packet is on a bus at a time", "remove this"),
                    cx.foreign(&keys.preemptive, reason, help),
                    cx.foreign(&keys.urgent, reason, help),
                    cx.foreign(&keys.host, reason, "remove this, or say `cpu` in `[host.bus.NAME]`"),
                ];
                let bus = self.at_bus(cx, &name, bus)?;
                all.into_iter().collect::<Result<(), _>>()?;
                Some(bus)
            }
        };
        let servers = keys.servers.value?.small();
        let preemptive = keys.preemptive.value?.unwrap_or(name != PROCESSOR_NAME);
        let (urgent, host) = (keys.urgent.value?, keys.host.value?);
        sources.cite(cx, keys.source.placed(), servers != 1, &span, &format!("the resource `{name}`"))?;
        if known.contains(&name) {
            let reason = format!("there are two resources called `{name}`");
            return Err(cx.fault(&place, reason, "declare each resource once"));
        }
        known.push(name.clone());
        if name == PROCESSOR_NAME {
            self.list[PROCESSOR] = Resource { name, servers, preemptive, urgent, host, bus };
        } else {
            self.list.push(Resource { name, servers, preemptive, urgent, host, bus });
            self.unheld.push(Some(place));
        }
        Ok(())
    }

    /// The name of the bus that the resource `name` is said to be.
    fn at_bus(&self, cx: &mut Context<'_>, name: &str, bus: Spanned<Name>) -> Result<String, Reported> {
        if name == PROCESSOR_NAME {
            let help = "call the resource otherwise, and name it in the `holds` of phases that move data";
            return Err(cx.fault(&bus.span(), "an adapter's processor is no bus", help));
        }
        if let Some(other) = self.list.iter().find(|resource| resource.bus.is_some()) {
            let reason = format!("the adapter is at a bus already, by its resource `{}`", other.name);
            return Err(cx.fault(&bus.span(), reason, "an adapter sits at one bus of its host; keep one"));
        }
        Ok(bus.into_inner().0)
    }

    /// All of them, in the order of their numbers.
    pub(super) fn into_list(self) -> Vec<Resource> {
        self.list
    }

    /// The resource called `name`, which a phase holds.
    pub(super) fn held(&mut self, name: String) -> usize {
        let index = self.list.iter().position(|resource| resource.name == name).unwrap_or_else(|| {
            self.list.push(Resource {
                name,
                servers: 1,
                preemptive: true,
                urgent: false,
                host: false,
                bus: None,
            });
            self.unheld.push(None);
            self.list.len() - 1
        });
        self.unheld[index] = None;
        index
    }

    /// Reports those that were declared and no phase holds: more likely the phase has another name for one.
    pub(super) fn all_held(&self, cx: &mut Context<'_>) -> Result<(), Reported> {
        let mut outcome = Ok(());
        for (resource, place) in self.list.iter().zip(&self.unheld) {
            if let Some(place) = place {
                let reason = format!("no phase holds the resource `{}`", resource.name);
                outcome = Err(cx.fault(place, reason, "name it in the `holds` of a phase, or remove it"));
            }
        }
        outcome
    }
}
