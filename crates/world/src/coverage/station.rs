//! Which described adapters have a bound, and as what the proof sees them.
//!
//! The proof is `laxity_qos::station::window`. With one packet in the adapter at a time hardly anything of a description can
//! break it. With several, packets may pass each other (`lines.rs`), be lost for want of room, or be kept from being fetched, and each of
//! those is either shown not to matter or has no bound. What comes in is `incoming.rs`'s.

use std::sync::Arc;

use laxity_model::adapter::{
    Answers, Buffers, Description, Interface, Notification, Overload, Own, Phase, Pool, Resource,
    ResponseQueue, Stage, Takes, Tells,
};
use laxity_qos::admission::{ResourceModel, Test};
use laxity_qos::channel::{LinkConfig, LinkId, LinkParadigm, MessageOverflow, PacketOverflow};
use laxity_qos::station::{self, Behind, Link, Overtaking, Station};
use laxity_units::{Bytes, Span};

use super::at_once::{open, rated};
use super::incoming::{incoming, sources, told};
use super::lines::{Passing, Window, kinds};
use super::medium::medium;
use super::policing::lenient;
use super::stage::{served, slowed, trailers};
use super::{Covered, Row, Uncovered};
use crate::experiment::{ChannelSpec, Experiment, Host, Task};

/// What analysis covers `node`, whose adapter is described and whose host goes by `host`: with packets in a window, or, where the
/// host's link queue is always empty, with each packet as it is made; if both do, by what promises more.
pub(super) fn covered(
    experiment: &Experiment,
    node: usize,
    description: &Description,
    host: &Covered,
) -> Result<Covered, Uncovered> {
    let LinkConfig { paradigm: _, core: _, order: _, early, depth, frame: _, speed: _ } =
        experiment.host(node).subsystem.link;
    let held = early.horizon.is_zero();
    let kinds = kinds(experiment, node, host.by_level || host.is_levelled());
    let window = |depth, nothing_early| {
        let kinds = kinds.clone();
        Window { depth, by_level: host.by_level, nothing_early, kinds }
    };
    let at_once = |nothing_early: bool| {
        let (open, ranked) = open(experiment, node, description, &window(u32::MAX, nothing_early))?;
        let levels = if ranked { host.levels } else { Some(1) };
        let link = Link::Open(Arc::new(open));
        Ok(Covered { model: ResourceModel::Handed, link, levels, ..host.clone() })
    };
    let most = under_way(experiment, node, depth);
    if host.model == ResourceModel::Handed {
        if depth < u32::MAX && most == depth {
            return Err(Uncovered("packets that the adapter schedules wait for a window before that"));
        }
        let by_rates = rated(experiment, node, description, &window(u32::MAX, !host.ahead));
        let by_rates = by_rates.and_then(|(rated, shared)| match host.by_level {
            true => Err(Uncovered("stages by rates are analysed behind a CPU that goes by multi-class EDF")),
            false => Ok(Row { rated, shared }),
        });
        let row = |at_once: Covered, row| Covered {
            model: ResourceModel::ApartHanded,
            levels: None,
            row: Some(row),
            ..at_once
        };
        // That has no test of one level, and deadlines beyond intervals.
        let by_demand = experiment.admission.test == Test::Demand;
        return match (at_once(!host.ahead), by_rates) {
            (Ok(alike), Ok(by_rates)) if alike.levels.is_some() && by_demand => Ok(row(alike, by_rates)),
            (Ok(open), _) => Ok(open),
            (Err(_), Ok(by_rates)) => {
                let link = Link::Open(by_rates.rated.stages());
                Ok(row(Covered { link, ..host.clone() }, by_rates))
            }
            (Err(_), Err(why)) if goes_by_rates(description) => Err(why),
            (Err(why), Err(_)) => Err(why),
        };
    }
    let behind = behind(experiment, node, description, &window(most, held)).map(|(behind, alike)| {
        let link = Link::Behind(Arc::new(behind));
        // Of a CPU by levels that is told apart from its link it is all one in which order packets go there.
        let levels = if alike && !host.is_levelled() { Some(1) } else { host.levels };
        Covered { link, levels, depth: most, ..host.clone() }
    });
    if host.model != ResourceModel::O1 || most == depth {
        return behind;
    }
    let largest = largest(experiment, node);
    let once = |link: &Link, packets: u32| {
        let once = link.once().iter().fold(Span::ZERO, |sum, term| sum.saturating_add(term.cost));
        once.saturating_add(link.transmit(largest).saturating_mul(u64::from(packets)))
    };
    match (behind, at_once(held || !host.ahead)) {
        (Ok(behind), Ok(open)) if once(&behind.link, most) <= once(&open.link, 0) => Ok(behind),
        (_, Ok(open)) => Ok(open),
        (behind, Err(_)) => behind,
    }
}

/// Whether a stage goes by rates.
fn goes_by_rates(description: &Description) -> bool {
    let mut queues = description.transmit.iter().flat_map(|stage| &stage.queues);
    queues.any(|queue| queue.order.serves_rates_first())
}

/// Packets that are under way at `node`, at most: `depth`, or as many as there are buffers for, each having one until it is complete.
fn under_way(experiment: &Experiment, node: usize, depth: u32) -> u32 {
    if let Task::Fill(_) = experiment.task {
        // Copies have buffers of their own, and nobody knows yet how many there will be.
        return depth;
    }
    let mut all = 0u64;
    for channel in &experiment.channels {
        let mut passages = channel.passages(node);
        match (passages.next(), passages.next()) {
            (Some(0), None) if channel.packet_overflow != PacketOverflow::DecayDeadline => {
                let lanes = 1 + u64::from(channel.message_overflow == MessageOverflow::BestEffort);
                all = all.saturating_add(channel.packet_slots.saturating_mul(lanes));
            }
            (None, _) => {}
            _ => return depth,
        }
    }
    // With room for all, nothing ever waits for the window.
    if all < u64::from(depth) { all.max(1) as u32 } else { depth }
}

/// What is behind the link scheduler of `node`, with so many packets under way, and whether real time is one level there.
fn behind(
    experiment: &Experiment,
    node: usize,
    description: &Description,
    window: &Window,
) -> Result<(Behind, bool), Uncovered> {
    let (mut station, passing) = row(experiment, node, description, window)?;
    if passing.shared {
        return Err(Uncovered("best effort with a rate of its own passes real time within the adapter"));
    }
    let own = own(experiment, node, &description.transmit_buffers);
    station.buffers = window.buffers(&description.transmit_buffers, own, passing)?;
    let releases = description.transmit.iter().flat_map(|stage| &stage.phases).any(|phase| phase.releases);
    if station.buffers.is_some() && releases {
        return Err(Uncovered("packets are fetched into buffers of those that are under way"));
    }
    if !passing.is_none() && station.stages[0].places.is_some() {
        return Err(Uncovered("best effort that is fetched first takes the buffers of what is urgent"));
    }
    if passing.urgent && experiment.host(node).driver.reset_after.is_some() {
        return Err(Uncovered(
            "packets that others pass in the adapter may be there until the driver resets it",
        ));
    }
    let largest = largest(experiment, node);
    let behind = Behind::new(station, window.depth, largest);
    patient(experiment.host(node), &behind, largest)?;
    Ok((behind, passing.alike))
}

/// The stages of `node` as the proofs see them, and who may overtake whom.
pub(super) fn row(
    experiment: &Experiment,
    node: usize,
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
    let comes = !sources(experiment, node).is_empty();
    whole(description, window, comes)?;
    undisturbed(experiment.host(node), description)?;
    // See `Window::commands` for the queues.
    let Interface { queues: _, selection: _, doorbell, poll, notification: _, responses: _ } = interface;
    let host = experiment.host(node);
    let comes_in = incoming(experiment, node)?;
    if !comes_in.held.is_zero() && host.driver.reset_after.is_some() {
        return Err(Uncovered("the driver resets the adapter while what comes in holds it up"));
    }
    answers(experiment, node, description, window)?;
    let mut passing = window.commands(description)?;
    let mut stages = Vec::new();
    for stage in transmit {
        let (who, places) = window.stage(stage, description)?;
        passing = passing.and(who);
        let added = trailers(stage, *link);
        let mut stage = station::Stage { places, ..served(stage) };
        stage.phases.iter_mut().filter(|phase| phase.medium).for_each(|phase| slowed(phase, *link));
        stage.phases.extend(added);
        stages.push(stage);
    }
    for (n, stage) in transmit.iter().enumerate() {
        // Who is not chosen for want of room behind waits as one does whom a stage cannot pass on, only earlier.
        let ahead = stage.ahead.filter(|ahead| ahead.saturating_add(1) < window.depth);
        if let (Some(ahead), Some(next)) = (ahead, stages.get_mut(n + 1)) {
            next.places = next.places.min(Some(ahead)).or(Some(ahead));
        }
    }
    let several = stages.iter().any(|stage| stage.servers > 1 || stage.batch > 1);
    if (passing.packets > 0 || several && !window.is_one())
        && stages.iter().any(|stage| stage.places.is_some())
    {
        return Err(Uncovered("packets of queues that are served in turn, or together, wait for places"));
    }
    let tells =
        stages.iter().flat_map(|stage| &stage.phases).any(|phase| phase.tells != station::Tells::Nothing);
    if passing.packets > 0 && tells {
        return Err(Uncovered("packets that pass in the adapter wait for the host on their way"));
    }
    let station = Station {
        stages,
        looks: poll.unwrap_or(Span::ZERO).saturating_add(*doorbell),
        hears: told(description, Answers::Sent),
        gathers: gathers(description),
        host: starts(host, description),
        passes: u32::try_from(passing.packets).unwrap_or(u32::MAX),
        buffers: window.limit(transmit_buffers, own(experiment, node, transmit_buffers)),
        order: if passing.urgent { Overtaking::Urgent } else { Overtaking::Never },
        medium: medium(experiment, (node, LinkId::FIRST), description)?,
    };
    Ok((station, passing))
}

/// Refuses an adapter whose phases stop while the CPU of `host` copies, if it does.
fn undisturbed(host: &Host, description: &Description) -> Result<(), Uncovered> {
    let costs = &host.costs;
    let copies =
        [costs.send_byte, costs.receive_byte, costs.transfer_byte].iter().any(|byte| !byte.is_zero());
    match copies && description.resources.iter().any(|resource| resource.host) {
        true => Err(Uncovered("the host's copying takes what the adapter moves packets over")),
        false => Ok(()),
    }
}

/// Refuses packets that pass each other at a resource, or between the segments of one, where there are several; and of several, or of what comes in if anything does, what they take with a trailer,
/// which is no sum of lines ([`trailers`]).
fn whole(description: &Description, window: &Window, comes_in: bool) -> Result<(), Uncovered> {
    let Description { resources, transmit, receive, .. } = description;
    let receive: &[Stage] = if comes_in { receive } else { &[] };
    let mut phases = transmit.iter().chain(receive).flat_map(|stage| &stage.phases);
    let added = |stages: &[Stage]| {
        stages.iter().flat_map(|stage| &stage.phases).any(|phase| !phase.trailer.is_zero())
    };
    if added(receive) || added(transmit) && !window.is_one() {
        return Err(Uncovered("no analysis covers what is added to a packet before it is cut into segments"));
    }
    // Who holds what the host takes is seen to by `undisturbed`; a bus with nobody else at it is as any resource, and with others see `several`.
    let passes =
        |Resource { name: _, servers: _, preemptive: _, urgent, host: _, bus: _ }: &Resource| *urgent;
    let out = || transmit.iter().flat_map(|stage| &stage.phases);
    let both = |r: &usize| out().any(|phase| phase.holds.contains(r));
    let shared = receive.iter().flat_map(|stage| &stage.phases).filter(|phase| phase.holds.iter().any(both));
    let loses = |phase: &Phase| phase.yields || phase.holds.iter().any(|r| passes(&resources[*r]));
    if shared.clone().any(loses) {
        return Err(Uncovered(
            "what goes out may go before what comes in between its segments, or for being urgent",
        ));
    }
    let out = phases.any(|phase| phase.yields) || resources.iter().any(passes);
    match out && !window.is_one() {
        true => Err(Uncovered("packets pass each other at a resource of the adapter")),
        false => Ok(()),
    }
}

/// How long the response about a packet waits at least, if nothing else is said in its queue meanwhile.
fn gathers(description: &Description) -> Span {
    let Interface { notification, responses, .. } = &description.interface;
    let own = |queue: &ResponseQueue| match (queue.answers, queue.moderation.frames) {
        (Answers::All, _) | (_, Some(1)) => Span::ZERO,
        _ => queue.moderation.delay,
    };
    let sent = responses.iter().filter(|queue| queue.answers != Answers::Received).map(own).min();
    let tells = description
        .transmit
        .iter()
        .flat_map(|stage| &stage.phases)
        .any(|phase| phase.tells != Tells::Nothing);
    let waits = *notification == Notification::Interrupt && !tells;
    sent.filter(|_| waits).unwrap_or_default()
}

/// What the CPU of `host` does for each packet, where it does that in the order of completions and at once.
fn starts(host: &Host, description: &Description) -> Option<Span> {
    let config = &host.subsystem;
    let in_order = |queue: &&ResponseQueue| queue.answers != Answers::Received;
    let queues: u32 = description.interface.responses.iter().filter(in_order).map(|queue| queue.spread).sum();
    let tells = description
        .transmit
        .iter()
        .flat_map(|stage| &stage.phases)
        .any(|phase| phase.tells != Tells::Nothing);
    let at_once = config.link.paradigm == LinkParadigm::O1 && !config.preemption.immediate;
    let costs = host.costs.interrupted_for_each().with_packets_of(config.packet);
    (at_once && queues == 1 && !tells).then(|| costs.interrupt.saturating_add(costs.link_scheduling))
}

/// Refuses an adapter that may wait for the host to read what it has said, and a host that looks before it is told.
fn answers(
    experiment: &Experiment,
    node: usize,
    description: &Description,
    window: &Window,
) -> Result<(), Uncovered> {
    let said = description.interface.responses.iter().filter(|queue| queue.answers != Answers::Received);
    let comes_in = |channel: &ChannelSpec| channel.comes_to(node);
    let received = experiment.channels.iter().any(comes_in);
    let phases = || description.transmit.iter().flat_map(|stage| &stage.phases);
    let each = 1 + phases().filter(|phase| phase.tells != Tells::Nothing).count() as u64;
    for queue in said {
        let ResponseQueue { answers, takes: _, slots, overload: _, moderation, spread: _ } = queue;
        if !moderation.is_none() && experiment.host(node).driver.watchdog.is_some() {
            return Err(Uncovered("the driver's watchdog reads what waits for company"));
        }
        let Some(slots) = *slots else { continue };
        if received && *answers == Answers::All {
            return Err(Uncovered("the adapter waits for the host to read of what came in"));
        }
        if u64::from(slots) < each.saturating_mul(u64::from(window.depth)) {
            return Err(Uncovered("the adapter waits for the host to read what it has said"));
        }
    }
    Ok(())
}

/// Refuses, of an adapter without a window, what tells packets apart by more than their class, and what serves several together.
pub(super) fn plain(description: &Description) -> Result<(), Uncovered> {
    let queues = || description.transmit.iter().flat_map(|stage| &stage.queues);
    let commands = &description.interface.queues;
    let takes = commands.iter().map(|queue| queue.takes).chain(queues().map(|queue| queue.takes));
    if takes.into_iter().any(|takes| matches!(takes, Takes::Levels(..))) {
        return Err(Uncovered(
            "without a window, no analysis covers queues that packets choose by their level",
        ));
    }
    if commands.iter().any(|queue| queue.spread > 1) || queues().any(|queue| queue.spread > 1) {
        return Err(Uncovered(
            "without a window, no analysis covers queues that packets choose by their flow",
        ));
    }
    Ok(())
}

/// How long the host may not have looked for responses.
pub(super) fn hears(notification: Notification) -> Span {
    match notification {
        Notification::Interrupt => Span::ZERO,
        Notification::Poll(period) => period,
    }
}

/// The largest packet that `node` sends.
pub(super) fn largest(experiment: &Experiment, node: usize) -> Bytes {
    let sent = experiment.channels.iter().filter(|channel| channel.senders().contains(&node));
    sent.map(|channel| channel.spec.max_message).max().unwrap_or(Bytes::ZERO).min(experiment.packet())
}

impl Window {
    /// How many buffers there are, if there need not be enough; `own` is the least that a channel has to itself.
    fn limit(&self, buffers: &Buffers, own: u32) -> Option<u32> {
        let room = match buffers.pool {
            Pool::Unlimited => None,
            Pool::Shared(most) | Pool::PerChannel(most) => Some(most),
            // Of all that are under way those take most of what is shared that are of one channel.
            Pool::Reserved { own: _, shared } => Some(shared.saturating_add(own)),
        };
        room.filter(|_| !self.holds(room))
    }

    fn buffers(&self, buffers: &Buffers, own: u32, passing: Passing) -> Result<Option<u32>, Uncovered> {
        let Buffers { pool, overload } = *buffers;
        if self.limit(buffers, own).is_none() {
            return Ok(None);
        }
        match (pool, overload) {
            (Pool::Shared(most), Overload::Block) if passing.is_none() => Ok(Some(most)),
            (Pool::Shared(_), Overload::Block) => {
                Err(Uncovered("best effort that is fetched first takes the buffers of what is urgent"))
            }
            (Pool::Unlimited | Pool::PerChannel(_) | Pool::Reserved { .. }, _) => {
                Err(Uncovered("a channel that waits for a buffer of its own lets others pass"))
            }
            (Pool::Shared(_), Overload::Drop | Overload::Priority | Overload::Importance) => {
                Err(Uncovered("the adapter loses packets for want of buffers"))
            }
        }
    }
}

/// The fewest buffers that a channel of `node` has to itself, of those that some have.
fn own(experiment: &Experiment, node: usize, buffers: &Buffers) -> u32 {
    let Pool::Reserved { own, shared: _ } = buffers.pool else { return 0 };
    match own {
        Own::Each(each) => each,
        Own::Contract => {
            let sent = experiment.channels.iter().filter(|channel| channel.senders().contains(&node));
            sent.map(|channel| experiment.burst(channel).unwrap_or(0)).min().unwrap_or(0)
        }
    }
}

/// A driver that resets an adapter that is slow must not do so while it does what it was given.
fn patient(host: &Host, behind: &Behind, largest: Bytes) -> Result<(), Uncovered> {
    let Some(after) = host.driver.reset_after else { return Ok(()) };
    let depth = u64::from(host.subsystem.link.depth);
    let costs = host.costs.with_packets_of(largest);
    let packet = Span::from_ps(u64::try_from(behind.charge(largest)).unwrap_or(u64::MAX))
        .saturating_add(costs.interrupt.saturating_mul(u64::from(behind.interrupts().all)))
        .saturating_add(costs.link_scheduling);
    let once = behind.once().iter().fold(Span::ZERO, |sum, term| sum.saturating_add(term.cost));
    // Twice, for what comes behind may hold up an interrupt.
    let longest = packet.saturating_mul(2 * depth).saturating_add(once);
    match after <= longest || behind.interrupts().waited_for > 0 {
        true => Err(Uncovered("the driver resets the adapter while it does what it was given")),
        false => Ok(()),
    }
}
