//! Which hosts with several cores have bounds: `laxity_admission::CoresTable` has the proof, and
//! what it takes for granted.

use laxity_admission::ResourceModel;
use laxity_model::adapter::{Description, Notification};
use laxity_model::host::Applications;
use laxity_qos::channel::{ChannelId, LinkId};
use laxity_qos::discipline::Class;

use super::covered::Covered;
use super::faults::stalls;
use super::reason::Uncovered;
use super::row::announced;
use crate::experiment::{AdapterSpec, Attached, Experiment, Placement, Task};

/// Whether `node`, a host with several cores that are to work so, is covered.
pub(super) fn covered(experiment: &Experiment, node: usize, host: &Covered) -> Result<(), Uncovered> {
    if host.model != ResourceModel::Core || host.by_level {
        return Err(Uncovered::CoresOrder);
    }
    for link in experiment.links_of(node) {
        let adapter = experiment.adapter_of(node, link);
        if let AdapterSpec::Described(description) = adapter {
            interrupts_once(description, &experiment.nodes[node].adapters[usize::from(link.0)])?;
        }
        if adapter.notification() != Notification::Interrupt {
            return Err(Uncovered::CoresPoll);
        }
        if stalls(experiment, (node, link)).next().is_some() {
            return Err(Uncovered::CoresStall);
        }
    }
    // Which core a copy is placed on is known when it is there.
    if matches!(experiment.task, Task::Fill(_)) {
        return Err(Uncovered::CoresCopies);
    }
    if experiment.host(node).applications == Applications::Shared {
        return Err(Uncovered::CoresRoom);
    }
    let placement = Placement::new(experiment);
    let hears = |link: LinkId| experiment.nodes[node].adapters[usize::from(link.0)].interrupts[0];
    let passages = (0..)
        .zip(&experiment.channels)
        .flat_map(|(number, channel)| channel.passages(node).map(move |hop| (number, channel, hop)));
    for (number, channel, hop) in passages {
        let placed = placement.of(node, ChannelId(number));
        if channel.reader.is_some() && placed.reader != placed.handler {
            return Err(Uncovered::CoresProgram);
        }
        let came_by = experiment.link_in(channel, hop);
        if channel.class == Class::RealTime && came_by.is_some_and(|link| placed.handler != hears(link)) {
            return Err(Uncovered::CoresIncoming);
        }
    }
    Ok(())
}

/// Refuses an adapter of stages that interrupts more than once for a packet, or more than one core.
fn interrupts_once(description: &Description, attached: &Attached) -> Result<(), Uncovered> {
    if announced(description) > 0 {
        return Err(Uncovered::CoresProgress);
    }
    let queues: u32 = description.interface.responses.iter().map(|queue| queue.spread).sum();
    let mut used = attached.interrupts.iter().take(queues as usize);
    match used.all(|core| *core == attached.interrupts[0]) {
        true => Ok(()),
        false => Err(Uncovered::CoresQueues),
    }
}
