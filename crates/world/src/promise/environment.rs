//! The parameters of a table: costs, policies, channels without a guarantee, and work above all
//! handlers.

use laxity_admission::station::Link;
use laxity_admission::{
    Above, BestEffort, Counting, CountingOthers, Environment, Formula, Interference, ResourceModel, Timers,
};
use laxity_model::adapter::Notification;
use laxity_model::host::Applications;
use laxity_qos::channel::{Block, Config, LinkId, Reader, Role};
use laxity_qos::costs::HostCosts;
use laxity_qos::discipline::Class;
use laxity_units::Span;

use super::analyses::Reading;
use super::arrivals::{Choice, arrivals, choices};
use super::links::{buffers, leaving, other_links};
use super::moderation::{ByModeration, Moderated, moderated};
use crate::coverage::{Coverage, Covered, Incoming, Uncovered, incoming, notice, stalls, thread_per_message};
use crate::experiment::{ChannelSpec, Experiment, SourceSpec};
use crate::traffic::departures::{Departures, makes};

/// The program that takes the messages of `channel` at `node`, where it ends.
pub(super) fn reader(experiment: &Experiment, channel: &ChannelSpec, node: usize) -> Option<Reader> {
    let ends_here = channel.received && channel.route.last() == Some(&node);
    channel.reader_at(experiment.host(node).speedup).filter(|_| ends_here)
}

pub(super) fn environment(
    experiment: &Experiment,
    coverage: &Coverage,
    formula: Formula,
    (node, at): (usize, LinkId),
    reading: Reading,
) -> Result<Environment, Uncovered> {
    let Covered { model, link, further, levels, ahead, depth, .. } = coverage.with(node, reading.by)?.clone();
    if formula != Formula::Corrected && !further.is_empty() {
        return Err(Uncovered::PapersAdapters);
    }
    if formula != Formula::Corrected && model == ResourceModel::O3 {
        return Err(Uncovered::PapersO3);
    }
    let links: Vec<Link> = std::iter::once(link).chain(further).collect();
    let link = links[usize::from(at.0)].clone();
    if formula != Formula::Corrected && !link.is_alone() {
        return Err(Uncovered::PapersStages);
    }
    let best_effort =
        experiment.channels.iter().flat_map(|c| best_effort(experiment, c, (node, at))).collect();
    if let Some(outlet) = experiment.outlet(node) {
        // A port is a host without costs: only its link remains.
        return Ok(Environment {
            host: HostCosts::default(),
            link,
            packet: experiment.packet(),
            model,
            block_real_time: Block::Packets(1),
            block_best_effort: Block::Packets(1),
            depth,
            thread_per_message: false,
            makes: None,
            buffers: None,
            ahead,
            early: !outlet.config.early.horizon.is_zero(),
            levels,
            counting: reading.counting,
            best_effort,
            slice: Span::ZERO,
            interference: Vec::new(),
            others: Vec::new(),
            counting_others: CountingOthers::default(),
            formula,
        });
    }
    let host = experiment.host(node);
    let config = &host.subsystem;
    if formula != Formula::Corrected && !host.computing.is_empty() {
        return Err(Uncovered::PapersCpu);
    }
    if ahead && experiment.channels.iter().any(|channel| reader(experiment, channel, node).is_some()) {
        return Err(Uncovered::FillsProgram);
    }
    let left = host.computing.iter().filter(|application| application.budget.is_none());
    let by_packets = matches!(reading.counting, Counting::Expected | Counting::Packets);
    Ok(Environment {
        // Each response interrupts, or is found by a look, which is paid for by itself (`looks`)
        // and costs no more then.
        host: costs(experiment, node, (model, reading.moderated)),
        link,
        packet: config.packet,
        model,
        block_real_time: config.preemption.real_time,
        block_best_effort: config.preemption.best_effort,
        depth,
        thread_per_message: thread_per_message(config.processing),
        makes: Some(makes(experiment, node)),
        buffers: by_packets.then(|| buffers(experiment, &leaving(experiment, (node, at)))).flatten(),
        ahead,
        early: ahead || !config.link.early.horizon.is_zero(),
        levels,
        counting: reading.counting,
        best_effort,
        slice: left.map(|application| application.slice).max().unwrap_or_default(),
        others: other_links(experiment, (node, at), &links)?,
        counting_others: reading.others,
        interference: match formula {
            // They do not know any.
            Formula::Papers | Formula::PapersEach | Formula::Printed => Vec::new(),
            Formula::Corrected => {
                let above = applications(experiment, node)?.into_iter();
                above
                    .chain(all_receptions(experiment, (node, at), reading)?)
                    .chain(looks(experiment, node))
                    .chain(stalls(experiment, (node, at)))
                    .chain(timers(experiment, node))
                    .collect()
            }
        },
        formula,
    })
}

/// The costs of the host of `node`: where it hands packets over as it makes them, that is part of making
/// one.
fn costs(experiment: &Experiment, node: usize, (model, by): (ResourceModel, ByModeration)) -> HostCosts {
    let host = experiment.host(node);
    let costs = host.costs.interrupted_for_each().with_real_time_packets();
    let costs = costs.with_packets_of(host.subsystem.packet);
    let completion = match by {
        ByModeration::All => moderated(experiment, node, by).map(|moderated| moderated.each),
        ByModeration::Nothing | ByModeration::Arrivals => None,
    };
    let costs = HostCosts { interrupt: completion.unwrap_or(costs.interrupt), ..costs };
    if !matches!(model, ResourceModel::Handed | ResourceModel::ApartHanded) {
        return costs;
    }
    let over = costs.transmit(host.subsystem.link.paradigm);
    HostCosts {
        first_packet: costs.first_packet + over,
        single_packet: costs.single_packet + over,
        packet: costs.packet + over,
        receive_packet: costs.receive_packet + over,
        link_scheduling: over,
        ..costs
    }
}

/// The best effort of a channel at a node at each of its visits: all of it, or the part beyond its
/// contract. For a link of the node, the part on another link is elsewhere.
pub(super) fn best_effort(
    experiment: &Experiment,
    channel: &ChannelSpec,
    (node, link): (usize, LinkId),
) -> impl Iterator<Item = BestEffort> {
    // Most channels have none, and the check runs at every station: it is before the look at their
    // path.
    let hops = channel.has_best_effort().then(|| experiment.hops(channel)).into_iter().flatten();
    let here = hops.enumerate().skip(channel.begins()).filter(move |(_, (other, _))| *other == node);
    here.map(move |(hop, (_, role))| BestEffort {
        max_message: channel.spec.max_message,
        min_message: channel.spec.min_message,
        role,
        elsewhere: experiment.link_out(channel, hop) != link,
        program: match role {
            Role::Receive => {
                let reader = reader(experiment, channel, node);
                reader.map_or(Span::ZERO, |reader| reader.takes(channel.spec.max_message))
            }
            Role::Send | Role::Relay => Span::ZERO,
        },
    })
}

/// Applications on the same CPU take it before any handler.
pub(super) fn applications(experiment: &Experiment, node: usize) -> Result<Vec<Interference>, Uncovered> {
    let host = experiment.host(node);
    let of = |channel: &ChannelSpec| match &channel.source {
        SourceSpec::None | SourceSpec::Continuous(_) | SourceSpec::Closed { .. } => None,
        SourceSpec::Rounds { .. } => Some(Err(Uncovered::Answers)),
        SourceSpec::Timed { parameters, .. } => Some(
            parameters
                .envelope()
                .map(|envelope| Interference {
                    above: Above::Thread,
                    cost: host.costs.switch() + host.costs.send_call * u64::from(envelope.batch),
                    adapter: Span::ZERO,
                    burst: envelope.extra,
                    interval: envelope.every,
                })
                .ok_or(Uncovered::SentAnyTime),
        ),
    };
    match host.applications {
        Applications::Separate => Ok(Vec::new()),
        Applications::Shared => {
            let starts = |channel: &&ChannelSpec| channel.route[0] == node && channel.copy.is_none();
            experiment.channels.iter().filter(starts).filter_map(of).collect()
        }
    }
}

/// The ways to count arrivals at `node`: a single one where an arrival costs no CPU time.
pub(super) fn choices_at(experiment: &Experiment, node: usize) -> Vec<Choice> {
    if node >= experiment.nodes.len() {
        return vec![Choice::Expected];
    }
    let Ok(comes_in) = all_incoming(experiment, node) else { return vec![Choice::Expected] };
    let cost = experiment.host(node).costs.interrupted_for_each().interrupt;
    match comes_in.iter().all(|comes_in| cost.saturating_add(comes_in.held).is_zero()) {
        true => vec![Choice::Expected],
        false => choices(experiment, (node, None), notice(experiment, node)),
    }
}

/// The receive sides of the adapters of `node`, by their links.
fn all_incoming(experiment: &Experiment, node: usize) -> Result<Vec<Incoming>, Uncovered> {
    experiment.links_of(node).map(|link| incoming(experiment, (node, link))).collect()
}

/// The arrivals by all adapters of a node, for the table of its link `at`. A frame keeps outgoing
/// packets from a resource of the adapter by which it arrives only.
fn all_receptions(
    experiment: &Experiment,
    (node, at): (usize, LinkId),
    reading: Reading,
) -> Result<Vec<Interference>, Uncovered> {
    // Null adapters, or one adapter: all arrivals are alike.
    let alike = all_incoming(experiment, node)?.windows(2).all(|two| two[0] == two[1]);
    if alike {
        return receptions(experiment, node, None, reading);
    }
    let mut all = Vec::new();
    for link in experiment.links_of(node) {
        let mut by_link = receptions(experiment, node, Some(link), reading)?;
        if link != at {
            by_link.iter_mut().for_each(|arrival| arrival.adapter = Span::ZERO);
            by_link.retain(|arrival| !arrival.cost.is_zero());
        }
        all.extend(by_link);
    }
    Ok(all)
}

/// Every arriving packet interrupts, unless interrupts are moderated, and may keep outgoing packets
/// from a resource of the adapter before. Packets that adapter delays and jitter push together
/// arrive at once. By the adapter of that link, or by any.
pub(super) fn receptions(
    experiment: &Experiment,
    node: usize,
    link: Option<LinkId>,
    Reading { arrivals: choice, moderated: by, .. }: Reading,
) -> Result<Vec<Interference>, Uncovered> {
    let comes_in = incoming(experiment, (node, link.unwrap_or(LinkId::FIRST)))?;
    let (cost, further) = match moderated(experiment, node, by) {
        Some(Moderated { each, others }) => (each, others),
        None => (experiment.host(node).costs.interrupted_for_each().interrupt, Vec::new()),
    };
    let all = cost.saturating_add(comes_in.held);
    if all.is_zero() {
        return Ok(further);
    }
    let of = |Departures { burst, interval }: Departures| {
        let burst = u32::try_from(burst).map_err(|_| Uncovered::TooMany)?;
        Ok(Interference { above: Above::Interrupt, cost, adapter: comes_in.held, burst, interval })
    };
    let frames = arrivals(experiment, (node, link), (all, comes_in.notice), choice)?;
    frames.into_iter().map(of).chain(further.into_iter().map(Ok)).collect()
}

/// A host that looks for responses of an adapter does so whether there are any or not.
pub(super) fn looks(experiment: &Experiment, node: usize) -> impl Iterator<Item = Interference> {
    let cost = experiment.host(node).costs.poll;
    let intervals =
        experiment.links_of(node).map(move |link| polls(experiment.adapter_of(node, link).notification()));
    let looks = intervals.filter(move |interval| !cost.is_zero() && !interval.is_zero());
    let look = move |interval| Interference {
        above: Above::Interrupt,
        cost,
        adapter: Span::ZERO,
        burst: 1,
        interval,
    };
    looks.map(look)
}

/// Timers for early packets at `node`, and for periods of applications.
pub(super) fn timers(experiment: &Experiment, node: usize) -> Vec<Interference> {
    let host = experiment.host(node);
    let Config { early, link, .. } = &host.subsystem;
    let is_held = |channel: &&ChannelSpec| channel.class == Class::RealTime;
    let channels = experiment.channels.iter().filter(is_held);
    let channels = channels.flat_map(|channel| channel.passages(node).map(|_| channel.spec.min_interval));
    let budgets = host.computing.iter().filter_map(|application| application.budget);
    let queues = [*early, link.early];
    Timers::new(host.costs.timer, &queues).interference(channels, budgets.map(|budget| budget.period))
}

fn polls(notification: Notification) -> Span {
    match notification {
        Notification::Interrupt => Span::ZERO,
        Notification::Poll(period) => period,
    }
}
