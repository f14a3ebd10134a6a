//! The table of a host with several cores: each core is a host by itself, with the work that is
//! placed there.
//!
//! Timers are counted on every core, though each is on one; frames interrupt the core of their
//! adapter.

use std::collections::BTreeSet;

use laxity_admission::station::Link;
use laxity_admission::{Caller, CoresTable, Environment, Formula, WayOut};
use laxity_qos::channel::{ChannelId, CoreId, LinkId, LinkParadigm, PacketOverflow};
use laxity_units::Bytes;

use super::analyses::Reading;
use super::environment::{best_effort, environment, receptions, timers};
use super::links::{buffers, leaving};
use super::station::Station;
use crate::coverage::{Coverage, Uncovered};
use crate::experiment::{ChannelSpec, Experiment, Placement};

/// That of `node`, without channels.
pub(super) fn table(
    experiment: &Experiment,
    coverage: &Coverage,
    formula: Formula,
    (node, placement): (usize, &Placement),
    reading: Reading,
) -> Result<Station, Uncovered> {
    if formula != Formula::Corrected {
        return Err(Uncovered::PapersCores);
    }
    let host = experiment.host(node);
    let common = environment(experiment, coverage, formula, (node, LinkId::FIRST), reading)?;
    let covered = coverage.with(node, reading.by)?;
    let attached = &experiment.nodes[node].adapters;
    let hears = |link: LinkId| attached[usize::from(link.0)].interrupts[0];
    let of = |core: CoreId| -> Result<Environment, Uncovered> {
        let here = |number: u32| placement.of(node, ChannelId(number)).handler == core;
        let channels = (0..).zip(&experiment.channels).filter(|(number, _)| here(*number));
        let without = |(_, channel)| best_effort(experiment, channel, (node, LinkId::FIRST));
        let computes =
            (0..).zip(&host.computing).filter(|(number, _)| placement.of_computing(node, *number) == core);
        let left = computes.filter(|(_, application)| application.budget.is_none());
        let mut above = timers(experiment, node);
        for link in experiment.links_of(node).filter(|link| hears(*link) == core) {
            above.extend(receptions(experiment, node, Some(link), reading)?);
        }
        Ok(Environment {
            best_effort: channels.flat_map(without).collect(),
            slice: left.map(|(_, application)| application.slice).max().unwrap_or_default(),
            interference: above,
            ..common.clone()
        })
    };
    let each = (0..host.subsystem.cores).map(CoreId).map(of).collect::<Result<Vec<_>, _>>()?;
    let way = |(link, costs): (LinkId, &Link)| {
        let called = is_called(experiment, (node, placement), (hears(link), covered.ahead));
        let leaving = leaving(experiment, (node, link));
        let makers =
            leaving.iter().map(|(channel, _)| placement.of(node, ChannelId(*channel as u32)).handler);
        WayOut {
            link: costs.clone(),
            hears: hears(link),
            called,
            sent: sent(experiment, &leaving),
            buffers: buffers(experiment, &leaving),
            makers: makers.collect::<BTreeSet<_>>().len() as u32,
        }
    };
    let links: Vec<WayOut> = (0..).map(LinkId).zip(covered.links()).map(way).collect();
    let config = &host.subsystem.link;
    let caller = Caller { core: config.core, is_thread: config.paradigm == LinkParadigm::O2 };
    let table = CoresTable::new(&each, &links, caller).map_err(|_| Uncovered::CoresFree)?;
    Ok(Station::Cores(Box::new(table)))
}

/// Whether other cores of `node` wake up a thread on `core`: a handler for their notifications, or
/// for a packet buffer that it waits for (no guaranteed message on time does), or an application of
/// theirs for a message.
fn is_called(
    experiment: &Experiment,
    (node, placement): (usize, &Placement),
    (core, ahead): (CoreId, bool),
) -> bool {
    let is_elsewhere =
        |link: LinkId| experiment.nodes[node].adapters[usize::from(link.0)].interrupts[0] != core;
    let calls = |(number, channel): (u32, &ChannelSpec), hop: usize| {
        let placed = placement.of(node, ChannelId(number));
        let may = ahead || channel.has_best_effort();
        let waits = may && channel.packet_overflow == PacketOverflow::Block;
        placed.handler == core
            && match experiment.link_in(channel, hop) {
                Some(link) => is_elsewhere(link),
                None => {
                    placed.application != core || waits && is_elsewhere(experiment.link_out(channel, hop))
                }
            }
    };
    let mut channels = (0..).zip(&experiment.channels);
    channels.any(|(number, channel)| channel.passages(node).any(|hop| calls((number, channel), hop)))
}

/// The smallest and the largest packet of the channels that are `leaving`.
fn sent(experiment: &Experiment, leaving: &[(usize, usize)]) -> Option<(Bytes, Bytes)> {
    let packet = experiment.packet();
    let sizes = leaving.iter().map(|(channel, _)| {
        let spec = &experiment.channels[*channel].spec;
        (spec.smallest_packet(packet), spec.largest_packet(packet))
    });
    sizes.reduce(|(least, most), (small, large)| (least.min(small), most.max(large)))
}
