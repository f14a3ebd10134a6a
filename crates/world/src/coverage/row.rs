//! The stages of a described adapter as the proofs see them: in which order packets go through,
//! what they may wait for, and what of it has no bound.

use laxity_admission::Test;
use laxity_admission::station::{self, Overtaking, Station};
use laxity_model::adapter::{
    AdapterBuffers, Answers, BufferPool, Description, HostSide, Notification, Overload, Own, Phase, Resource,
    ResponseQueue, Stage, Takes, Tells,
};
use laxity_qos::channel::{LinkId, LinkParadigm};
use laxity_qos::discipline::Class;
use laxity_units::Span;

use super::incoming::{incoming, told};
use super::lines::{Passing, Window, overtaking};
use super::medium::medium;
use super::policing::lenient;
use super::reason::Uncovered;
use super::sources::sources_by;
use super::stage::{served, slowed, trailers};
use crate::experiment::{ChannelSpec, Experiment, HostSpec};

/// The stages of an adapter, by the node and its link, as the proofs see them, and which packets may
/// overtake which.
pub(super) fn row(
    experiment: &Experiment,
    (node, at): (usize, LinkId),
    description: &Description,
    window: &Window,
) -> Result<(Station, Passing), Uncovered> {
    let Description {
        interface,
        resources: _,
        transmit,
        receive: _,
        transmit_buffers,
        receive_buffers: _,
        // See there.
        transmit_policing: _,
        receive_policing: _,
        link,
    } = description;
    lenient(experiment, node, description)?;
    let comes = !sources_by(experiment, node, at).is_empty();
    whole(description, window, comes)?;
    undisturbed(experiment.host(node), description)?;
    // See `Window::commands` for the queues.
    let HostSide { queues: _, selection: _, doorbell, poll, notification: _, responses: _ } = interface;
    let host = experiment.host(node);
    let comes_in = incoming(experiment, (node, at))?;
    if !comes_in.held.is_zero() && host.driver.reset_after.is_some() {
        return Err(Uncovered::ResetIncoming);
    }
    answers(host, (description, comes), window)?;
    let (mut passing, turn) = window.commands(description)?;
    let mut turns: Vec<_> = turn.into_iter().collect();
    let mut stages = Vec::new();
    for stage in transmit {
        let (overtakes, turn, places) = window.stage(stage, description)?;
        passing = passing.and(overtakes);
        turns.extend(turn);
        let added = trailers(stage, *link);
        let mut stage = station::StationStage { places, ..served(stage) };
        stage.phases.iter_mut().filter(|phase| phase.medium).for_each(|phase| slowed(phase, *link));
        stage.phases.extend(added);
        stages.push(stage);
    }
    for (n, stage) in transmit.iter().enumerate() {
        // A packet that is not chosen for want of slots behind waits like one that a stage cannot
        // pass on, only earlier.
        let ahead = stage.ahead.filter(|ahead| ahead.saturating_add(1) < window.depth);
        if let (Some(ahead), Some(next)) = (ahead, stages.get_mut(n + 1)) {
            next.places = next.places.min(Some(ahead)).or(Some(ahead));
        }
    }
    let several = stages.iter().any(|stage| stage.servers > 1 || stage.batch > 1);
    if (passing.in_turn || several && !window.is_one()) && stages.iter().any(|stage| stage.places.is_some()) {
        return Err(Uncovered::TurnPlaces);
    }
    let tells = stages
        .iter()
        .flat_map(|stage| &stage.phases)
        .any(|phase| phase.tells != station::StationTells::Nothing);
    if passing.in_turn && tells {
        return Err(Uncovered::PassAndWait);
    }
    let counted = passing.in_turn && one_level(experiment, node, window);
    passing.alike |= counted;
    let station = Station {
        stages,
        looks: poll.unwrap_or(Span::ZERO).saturating_add(*doorbell),
        hears: told(description, Answers::Sent),
        gathers: gathers(description),
        host: starts(host, description),
        passes: u32::try_from(overtaking(&turns, window.depth, counted)).unwrap_or(u32::MAX),
        buffers: window.limit(transmit_buffers, own(experiment, node, transmit_buffers)),
        order: if passing.urgent { Overtaking::Urgent } else { Overtaking::Never },
        medium: medium(experiment, (node, at), description)?,
    };
    Ok((station, passing))
}

/// Whether all of real time at `node` is one level to queues in turn: under EDF, with no early packet
/// and bursts that are shorter than the turns of one more queue. `D_order` decides then, so deadlines
/// have to be within intervals.
fn one_level(experiment: &Experiment, node: usize, window: &Window) -> bool {
    let burst = |channel: &ChannelSpec| {
        u64::from(channel.spec.burst)
            .saturating_mul(channel.spec.fragmentation(experiment.packet()).packets())
    };
    let sends = |channel: &&ChannelSpec| channel.class == Class::RealTime && channel.leaves(node);
    let longest = experiment.channels.iter().filter(sends).map(burst).max().unwrap_or(0);
    let held = !window.by_level && window.in_time().is_ok();
    let within = |channel: &ChannelSpec| channel.deadline.is_some_and(|d| d <= channel.spec.min_interval);
    let by_order =
        experiment.admission.test == Test::DOrder || experiment.channels.iter().filter(sends).all(within);
    held && by_order && longest <= u64::from(window.depth)
}

/// Refuses an adapter of which the phases stop while the CPU of `host` copies, if it does.
fn undisturbed(host: &HostSpec, description: &Description) -> Result<(), Uncovered> {
    let costs = &host.costs;
    let copies =
        [costs.send_byte, costs.receive_byte, costs.transfer_byte].iter().any(|byte| !byte.is_zero());
    match copies && description.resources.iter().any(|resource| resource.host) {
        true => Err(Uncovered::HostCopies),
        false => Ok(()),
    }
}

/// Refuses packets that overtake each other at a resource, or between the segments of one, where
/// there are several. With several packets, or incoming frames, also refuses a trailer of which the
/// cost is no sum of lines ([`trailers`]).
fn whole(description: &Description, window: &Window, comes_in: bool) -> Result<(), Uncovered> {
    let Description { resources, transmit, receive, .. } = description;
    let receive: &[Stage] = if comes_in { receive } else { &[] };
    let mut phases = transmit.iter().chain(receive).flat_map(|stage| &stage.phases);
    let added = |stages: &[Stage]| {
        stages.iter().flat_map(|stage| &stage.phases).any(|phase| !phase.trailer.is_zero())
    };
    if added(receive) || added(transmit) && !window.is_one() {
        return Err(Uncovered::Segments);
    }
    // Resources that the host uses are checked by `undisturbed`; a bus of one adapter is like any
    // resource, and for more see `several`.
    let passes =
        |Resource { name: _, servers: _, preemptive: _, urgent, host: _, bus: _ }: &Resource| *urgent;
    let out = || transmit.iter().flat_map(|stage| &stage.phases);
    let both = |r: &usize| out().any(|phase| phase.holds.contains(r));
    let shared = receive.iter().flat_map(|stage| &stage.phases).filter(|phase| phase.holds.iter().any(both));
    let loses = |phase: &Phase| phase.yields || phase.holds.iter().any(|r| passes(&resources[*r]));
    if shared.clone().any(loses) {
        return Err(Uncovered::BetweenSegments);
    }
    let out = phases.any(|phase| phase.yields) || resources.iter().any(passes);
    match out && !window.is_one() {
        true => Err(Uncovered::PassAtResource),
        false => Ok(()),
    }
}

/// Phases of a packet on its way out of which the host is notified, beside its completion.
pub(super) fn announced(description: &Description) -> usize {
    let phases = description.transmit.iter().flat_map(|stage| &stage.phases);
    phases.filter(|phase| phase.tells != Tells::Nothing).count()
}

/// The least wait of a response about a packet, if its queue gets no other response meanwhile.
fn gathers(description: &Description) -> Span {
    let HostSide { notification, responses, .. } = &description.interface;
    let own = |queue: &ResponseQueue| match (queue.answers, queue.moderation.frames) {
        (Answers::All, _) | (_, Some(1)) => Span::ZERO,
        _ => queue.moderation.delay,
    };
    let sent = responses.iter().filter(|queue| queue.answers != Answers::Received).map(own).min();
    let waits = *notification == Notification::Interrupt && announced(description) == 0;
    sent.filter(|_| waits).unwrap_or_default()
}

/// The CPU work of `host` for each packet, where it is done in the order of completions and at
/// once.
fn starts(host: &HostSpec, description: &Description) -> Option<Span> {
    let config = &host.subsystem;
    let in_order = |queue: &&ResponseQueue| queue.answers != Answers::Received;
    let queues: u32 = description.interface.responses.iter().filter(in_order).map(|queue| queue.spread).sum();
    // Of several cores, another may be in the link scheduler then.
    let alone = config.cores == 1;
    let at_once = alone && config.link.paradigm == LinkParadigm::O1 && !config.preemption.immediate;
    let costs = host.costs.interrupted_for_each().with_packets_of(config.packet);
    (at_once && queues == 1 && announced(description) == 0)
        .then(|| costs.interrupt.saturating_add(costs.link_scheduling))
}

/// Refuses an adapter that may wait for the host to read its responses, and a host that polls
/// before it is notified; `received` says whether frames arrive.
fn answers(
    host: &HostSpec,
    (description, received): (&Description, bool),
    window: &Window,
) -> Result<(), Uncovered> {
    let said = description.interface.responses.iter().filter(|queue| queue.answers != Answers::Received);
    let each = 1 + announced(description) as u64;
    for queue in said {
        let ResponseQueue { answers, takes: _, slots, overload: _, moderation, spread: _ } = queue;
        if !moderation.is_none() && host.driver.watchdog.is_some() {
            return Err(Uncovered::WatchdogCompany);
        }
        let Some(slots) = *slots else { continue };
        if received && *answers == Answers::All {
            return Err(Uncovered::WaitsForReading);
        }
        if u64::from(slots) < each.saturating_mul(u64::from(window.depth)) {
            return Err(Uncovered::WaitsForAnswers);
        }
    }
    Ok(())
}

/// Refuses, for an adapter without a window, distinctions of packets beyond their class, and batch
/// service.
pub(super) fn plain(description: &Description) -> Result<(), Uncovered> {
    let queues = || description.transmit.iter().flat_map(|stage| &stage.queues);
    let commands = &description.interface.queues;
    let takes = commands.iter().map(|queue| queue.takes).chain(queues().map(|queue| queue.takes));
    if takes.into_iter().any(|takes| matches!(takes, Takes::Levels(..))) {
        return Err(Uncovered::ChosenByLevel);
    }
    if commands.iter().any(|queue| queue.spread > 1) || queues().any(|queue| queue.spread > 1) {
        return Err(Uncovered::ChosenByFlow);
    }
    Ok(())
}

impl Window {
    /// How many buffers there are, if there need not be enough; `own` is the least that a channel
    /// has to itself.
    fn limit(&self, buffers: &AdapterBuffers, own: u32) -> Option<u32> {
        let room = match buffers.pool {
            BufferPool::Unlimited => None,
            BufferPool::Shared(most) | BufferPool::PerChannel(most) => Some(most),
            // Of all that are under way those take most of what is shared that are of one channel.
            BufferPool::Reserved { own: _, shared } => Some(shared.saturating_add(own)),
        };
        room.filter(|_| !self.holds(room))
    }

    pub(super) fn buffers(
        &self,
        buffers: &AdapterBuffers,
        own: u32,
        passing: Passing,
    ) -> Result<Option<u32>, Uncovered> {
        let AdapterBuffers { pool, overload } = *buffers;
        if self.limit(buffers, own).is_none() {
            return Ok(None);
        }
        match (pool, overload) {
            (BufferPool::Shared(most), Overload::Block) if passing.is_none() => Ok(Some(most)),
            (BufferPool::Shared(_), Overload::Block) => Err(Uncovered::FetchedFirst),
            (BufferPool::Unlimited | BufferPool::PerChannel(_) | BufferPool::Reserved { .. }, _) => {
                Err(Uncovered::OwnBuffer)
            }
            (BufferPool::Shared(_), Overload::Drop | Overload::Priority | Overload::Importance) => {
                Err(Uncovered::LosesBuffers)
            }
        }
    }
}

/// The fewest buffers that a channel of `node` has to itself, of those that some have.
pub(super) fn own(experiment: &Experiment, node: usize, buffers: &AdapterBuffers) -> u32 {
    let BufferPool::Reserved { own, shared: _ } = buffers.pool else { return 0 };
    match own {
        Own::Each(each) => each,
        Own::Contract => {
            let sent = experiment.channels.iter().filter(|channel| channel.leaves(node));
            sent.map(|channel| experiment.burst(channel).unwrap_or(0)).min().unwrap_or(0)
        }
    }
}
