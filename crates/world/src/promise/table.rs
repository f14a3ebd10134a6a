//! One admission table for every host, told of all that passes it.

mod alike;

use std::collections::BTreeMap;

use laxity_model::adapter::Notification;
use laxity_model::host::Applications;
use laxity_qos::admission::{
    Above, AdmissionId, AdmissionTable, BestEffort, Bound, Breakdown, Environment, Formula, Interference,
    LevelledHost, RateTable, RatedHost, Request, ResourceModel, Timers, Unrated,
};
use laxity_qos::channel::{Block, Config, LinkId, MessageOverflow, Reader, Role};
use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_qos::discipline::{Class, Group, LEVELS, Share, Sharing};
use laxity_qos::station::Link;
use laxity_units::{Bytes, Span};

use super::Refused;
use super::arrivals::arrivals;
use super::computing;
use super::cores;
use super::departures::{Departures, makes};
use super::division::{self, Needs};
use super::frames::Inside;
use super::leg::Leg;
use super::links::{Links, other_links, promising};
use super::station::{Asked, GoesBy, Station};
use crate::coverage::{Coverage, Covered, Row, Uncovered, incoming, stalls, thread_per_message};
use crate::experiment::{ChannelSpec, Division, Experiment, Host, Placement, SourceSpec};

/// A reservation.
pub(super) struct Reserved {
    /// Which hop of the channel's route it is for.
    pub(super) hop: usize,
    /// The host.
    pub(super) node: usize,
    /// What the channel does there.
    pub(super) role: Role,
    /// Its place in the table.
    pub(super) id: AdmissionId,
    /// What it asked for.
    pub(super) asked: Asked,
}

/// The tables of all hosts that an analysis covers.
pub(super) struct Tables {
    hosts: Vec<Result<Station, Uncovered>>,
    /// Per station, what may come in at its adapter.
    inside: Vec<Option<Inside>>,
    /// What is reserved at each for applications that compute there.
    computing: Vec<Vec<Option<AdmissionId>>>,
    formula: Formula,
    /// Who is on which core, where hosts have several.
    placement: Placement,
}

/// What a channel has reserved: all that its bound takes, or as far as its way is covered.
pub(super) struct Reservation {
    pub(super) reserved: Vec<Reserved>,
    /// Why the channel has no bound all the same.
    pub(super) unbounded: Option<Uncovered>,
}

impl Tables {
    pub(super) fn new(experiment: &Experiment, coverage: &Coverage, formula: Formula) -> Self {
        let placement = Placement::new(experiment);
        let table = |node: usize| {
            let by_rates = coverage.stations[node].as_ref().ok().and_then(|covered| covered.rates);
            if let (Some(order), Some(outlet)) = (by_rates, experiment.outlet(node)) {
                let speed = (outlet.config.link, outlet.config.frame);
                let sharing = sharing(experiment, formula, node, speed, true)?;
                let table = RateTable::new(order, experiment.packet(), sharing);
                let table = table.ok_or(Uncovered("no latency is known of the order at a port"))?;
                return Ok(Station::Rates(table));
            }
            if let Some(order) = by_rates {
                let environment = environment(experiment, coverage, formula, (node, LinkId::FIRST))?;
                let speed = (LinkCosts::default(), Span::ZERO);
                let sharing = sharing(experiment, formula, node, speed, true)?;
                return rated(RatedHost::new(environment, order, sharing));
            }
            if let Some(Row { rated: stages, shared }) =
                coverage.stations[node].clone().ok().and_then(|c| c.row)
            {
                let environment = environment(experiment, coverage, formula, (node, LinkId::FIRST))?;
                let speed = (LinkCosts::default(), Span::ZERO);
                let sharing = sharing(experiment, formula, node, speed, shared)?;
                return rated(RatedHost::of_stages(environment, stages, sharing));
            }
            if coverage.stations[node].as_ref().is_ok_and(Covered::is_levelled) {
                return levelled(environment(experiment, coverage, formula, (node, LinkId::FIRST))?);
            }
            if experiment.cores(node) > 1 {
                return cores::table(experiment, coverage, formula, (node, &placement));
            }
            let test = experiment.admission.test_with(formula);
            let by_link = |link| {
                let environment = environment(experiment, coverage, formula, (node, link))?;
                AdmissionTable::with_test(environment, test)
                    .map_err(|_| Uncovered("the host is out of range"))
            };
            match experiment.nodes.get(node).map_or(1, |node| node.adapters.len()) {
                1 => by_link(LinkId::FIRST).map(|table| Station::Ordered(Box::new(table))),
                _ => {
                    let of = |link| Ok((link, by_link(link)?));
                    let tables = promising(experiment, node).into_iter().map(of);
                    Ok(Station::Several(Links::new(tables.collect::<Result<_, Uncovered>>()?)))
                }
            }
        };
        let mut computing = vec![Vec::new(); experiment.stations()];
        let reserved = |(node, reserved): (usize, &mut Vec<Option<AdmissionId>>)| {
            let mut table = table(node)?;
            if node < experiment.nodes.len() {
                *reserved = computing::reserve(experiment.host(node), &mut table, |number| {
                    placement.of_computing(node, number)
                })?;
            }
            Ok(table)
        };
        let hosts = computing.iter_mut().enumerate().map(reserved).collect();
        let hosts = coverage.spread(experiment, hosts);
        let inside = |(node, host): (usize, &Result<Station, Uncovered>)| {
            let covered = host.as_ref().ok().and(coverage.stations[node].as_ref().ok())?;
            Inside::of(experiment, node, covered)
        };
        let inside = hosts.iter().enumerate().map(inside).collect();
        Self { hosts, inside, computing, formula, placement }
    }

    /// Per station, what is reserved for each application that computes there.
    pub(super) fn computing(&self) -> &[Vec<Option<AdmissionId>>] {
        &self.computing
    }

    /// Reserves for `channel` at every host of its way as far as that is covered, or at none.
    ///
    /// Where only the receiving host is not covered there is a bound all the same, to the end of the last transmission.
    pub(super) fn admit(
        &mut self,
        experiment: &Experiment,
        channel: &ChannelSpec,
        request: Request,
    ) -> Result<Reservation, Refused> {
        let mut reserved: Vec<Reserved> = Vec::new();
        let deadlines = match experiment.admission.division {
            Division::Alike => None,
            Division::Shared => Some(self.divided(experiment, channel, request)?),
        };
        let mut leg =
            Leg::first((experiment, &self.placement), channel, self.pays_once(experiment, channel, request));
        for (hop, (node, role)) in self.hosts_of(experiment, channel).enumerate() {
            let own = deadlines.as_ref().map_or(request, |deadlines| request.within(deadlines[hop]));
            let asked = leg.asked((node, role), own);
            let host = match &mut self.hosts[node] {
                Ok(host) => host,
                Err(why) => {
                    let unbounded = Some(*why).filter(|_| role != Role::Receive);
                    return Ok(Reservation { reserved, unbounded });
                }
            };
            let inside = self.inside[node].as_ref().filter(|_| hop > 0);
            let loses = inside.and_then(|inside| inside.refuses(experiment, channel, hop));
            match loses.map_or_else(|| host.request(&asked), Err) {
                Ok(id) => reserved.push(Reserved { hop, node, role, id, asked }),
                Err(refusal) => {
                    self.give_up(reserved);
                    return Err(Refused { node, refusal });
                }
            }
            leg.leaves(host.handed_on(&asked), own.deadline());
        }
        Ok(Reservation { reserved, unbounded: None })
    }

    /// Whether [`admit`](Self::admit) would; reserves nothing.
    pub(super) fn would_admit(
        &mut self,
        experiment: &Experiment,
        channel: &ChannelSpec,
        request: Request,
    ) -> bool {
        let Ok(reservation) = self.admit(experiment, channel, request) else { return false };
        self.give_up(reservation.reserved);
        true
    }

    /// Takes back what is reserved.
    pub(super) fn give_up(&mut self, reserved: Vec<Reserved>) {
        for Reserved { node, id, .. } in reserved {
            self.table(node).release(id);
        }
    }

    /// What each station of the way is asked for, if the channel is to be in time over all of it: see [`Division::Shared`].
    fn divided(
        &self,
        experiment: &Experiment,
        channel: &ChannelSpec,
        request: Request,
    ) -> Result<Vec<Span>, Refused> {
        let mut stations = Vec::new();
        let all: Vec<(usize, Role)> = self.hosts_of(experiment, channel).collect();
        let mut leg =
            Leg::first((experiment, &self.placement), channel, self.pays_once(experiment, channel, request));
        // What a station before it may be asked for.
        let most = request.deadline().saturating_mul(all.len() as u64);
        for &(node, role) in &all {
            let asked = leg.asked((node, role), request);
            let Ok(host) = &self.hosts[node] else { break };
            let least = host.least_deadline(&asked).map_err(|refusal| Refused { node, refusal })?;
            // Its own buffers are for what it asks for itself.
            let latest = match role {
                Role::Send => host.latest_deadline(&asked).min(request.deadline().max(least)),
                Role::Relay | Role::Receive => host.latest_deadline(&asked),
            };
            stations.push(Needs { node, receives: role == Role::Receive, least, latest });
            leg.leaves(host.handed_on(&asked), most);
        }
        let mut deadlines = division::divide(&stations, request.deadline())?;
        // What no analysis covers is asked for nothing, and reserves nothing.
        deadlines.resize(all.len(), request.deadline());
        Ok(deadlines)
    }

    /// What may come in at the adapter of `node`, if it has stages.
    pub(super) fn inside(&self, node: usize) -> Option<&Inside> {
        self.inside[node].as_ref()
    }

    /// The table of `node`, which has one.
    fn table(&mut self, node: usize) -> &mut Station {
        self.hosts[node].as_mut().expect("nothing is reserved where there is no table")
    }

    /// The hosts that `channel` reserves at. The papers know none that receives.
    fn hosts_of(
        &self,
        experiment: &Experiment,
        channel: &ChannelSpec,
    ) -> impl Iterator<Item = (usize, Role)> + use<> {
        let formula = self.formula;
        let hops: Vec<(usize, Role)> = experiment.hops(channel).collect();
        hops.into_iter().filter(move |(_, role)| formula == Formula::Corrected || *role != Role::Receive)
    }

    /// The least deadline in place of that of `request` that every host of the way would admit now, if all of them would
    /// admit any.
    pub(super) fn least_deadline(
        &self,
        experiment: &Experiment,
        channel: &ChannelSpec,
        request: Request,
    ) -> Option<Span> {
        let mut stations = Vec::new();
        let mut leg =
            Leg::first((experiment, &self.placement), channel, self.pays_once(experiment, channel, request));
        for (node, role) in self.hosts_of(experiment, channel) {
            let Ok(host) = &self.hosts[node] else { break };
            let asked = leg.asked((node, role), request);
            let least = host.least_deadline(&asked).ok()?;
            stations.push(Needs { node, receives: role == Role::Receive, least, latest: Span::MAX });
            leg.leaves(host.handed_on(&asked), request.deadline());
        }
        Some(match experiment.admission.division {
            Division::Alike => stations.iter().map(|needs| needs.least).max().unwrap_or_default(),
            Division::Shared => division::least(&stations),
        })
    }

    /// Whether `channel`, over a row of links that are shared by rates, is promised less if its burst is paid for at the first of them only.
    fn pays_once(&self, experiment: &Experiment, channel: &ChannelSpec, request: Request) -> bool {
        let least = |once| {
            let mut leg = Leg::first((experiment, &self.placement), channel, once);
            let mut sum = Span::ZERO;
            for (node, role) in self.hosts_of(experiment, channel) {
                let asked = leg.asked((node, role), request);
                let Ok(host) = &self.hosts[node] else { break };
                if host.goes_by() != GoesBy::Either {
                    sum = sum.saturating_add(host.least_deadline(&asked).unwrap_or(Span::MAX));
                }
                leg.leaves(host.handed_on(&asked), request.deadline());
            }
            sum
        };
        let rates = channel.route.iter().filter(|node| self.goes_by(**node) != GoesBy::Either).count();
        rates > 1 && least(true) < least(false)
    }

    /// Every host's bounds by reservation.
    pub(super) fn bounds(&self) -> Vec<BTreeMap<AdmissionId, Bound>> {
        let by_id = |table: &Station| table.bounds().into_iter().map(|bound| (bound.id, bound)).collect();
        self.hosts.iter().map(|host| host.as_ref().map_or_else(|_| BTreeMap::new(), by_id)).collect()
    }

    /// `W` and `S` of an admitted request.
    pub(super) fn terms(&self, node: usize, asked: &Asked, bound: &Bound) -> (Breakdown, Breakdown) {
        let terms = self.hosts[node].as_ref().ok().and_then(|table| table.terms(asked, bound).ok());
        terms.expect("an admitted channel has terms")
    }

    /// By which deadlines `node` goes.
    pub(super) fn goes_by(&self, node: usize) -> GoesBy {
        self.hosts[node].as_ref().map_or(GoesBy::Either, Station::goes_by)
    }

    /// `W` and `S` where `channel` starts, as if it were admitted now.
    pub(super) fn terms_of_sender(
        &self,
        experiment: &Experiment,
        channel: &ChannelSpec,
        request: &Request,
    ) -> Option<(Breakdown, Breakdown)> {
        let link = experiment.link_out(channel, 0);
        self.hosts[channel.route[0]].as_ref().ok()?.terms_of(request, link)
    }

    /// Why there is no bound to the host where `channel` is received.
    pub(super) fn undelivered(&self, channel: &ChannelSpec) -> Option<Uncovered> {
        let last = channel.route.last().filter(|_| channel.received)?;
        self.hosts[*last].as_ref().err().copied()
    }

    /// Why `channel` has no bound, whether it fits or not.
    pub(super) fn unbounded(&self, channel: &ChannelSpec) -> Option<Uncovered> {
        channel.senders().iter().find_map(|node| self.hosts[*node].as_ref().err().copied())
    }
}

/// The table of a host whose link is shared by rates, or stages of its adapter.
fn rated(table: Result<RatedHost, Unrated>) -> Result<Station, Uncovered> {
    table.map(|table| Station::Host(Box::new(table))).map_err(|unrated| {
        Uncovered(match unrated {
            Unrated::Environment(_) => "the host is out of range",
            Unrated::Order => "no latency is known of the order at a host's link",
            Unrated::NothingLeft => "work above the handlers takes all of the CPU",
        })
    })
}

/// The table of a host whose CPU goes by levels, and its link by deadlines.
fn levelled(environment: Environment) -> Result<Station, Uncovered> {
    if environment.formula != Formula::Corrected {
        return Err(Uncovered("the papers' host has one order for CPU and link"));
    }
    LevelledHost::new(environment)
        .map(|table| Station::Levelled(Box::new(table)))
        .map_err(|_| Uncovered("the host is out of range"))
}

/// Who shares the link of `station` by rates without a guarantee, a link of that speed and with frames as short as that; `shares` says whether any does.
fn sharing(
    experiment: &Experiment,
    formula: Formula,
    station: usize,
    (speed, frame): (LinkCosts, Span),
    shares: bool,
) -> Result<Sharing, Uncovered> {
    if formula != Formula::Corrected {
        return Err(Uncovered("the papers' formulas are of deadlines, and not of rates"));
    }
    let packet = experiment.packet();
    let groups = experiment.groups.iter().map(Group::from).collect();
    let mut sharing = Sharing { speed, flows: Vec::new(), without: Bytes::ZERO, frame, groups };
    for channel in experiment.channels.iter().filter(|channel| channel.senders().contains(&station)) {
        let largest = channel.spec.max_message.min(packet);
        if shares && channel.class == Class::BestEffort && !channel.share.is_none() {
            // Whoever is not held to what it declares may send anything.
            let kept = experiment.host(channel.route[0]).subsystem.enforcement;
            sharing.flows.push(Share {
                tick: channel.share,
                burst: channel.spec.max_message,
                largest: if kept { largest } else { packet },
                smallest: if kept { channel.spec.smallest_packet(packet) } else { Bytes::new(1) },
                level: LEVELS as u8 - 1,
                group: channel.group,
            });
        } else if best_effort(experiment, channel, (station, LinkId::FIRST)).next().is_some() {
            sharing.without = sharing.without.max(packet);
        }
    }
    Ok(sharing)
}

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
) -> Result<Environment, Uncovered> {
    let Covered { model, link, further, rates: _, row: _, by_level: _, levels, ahead, depth } =
        coverage.stations[node].clone()?;
    if formula != Formula::Corrected && !further.is_empty() {
        return Err(Uncovered("the papers' host has one adapter"));
    }
    if formula != Formula::Corrected && model == ResourceModel::O3 {
        return Err(Uncovered("the papers have no formula for link scheduling by O3"));
    }
    let links: Vec<Link> = std::iter::once(link).chain(further).collect();
    let link = links[usize::from(at.0)].clone();
    if formula != Formula::Corrected && !link.is_alone() {
        return Err(Uncovered("the papers' adapter is a delay and has no stages"));
    }
    let best_effort =
        experiment.channels.iter().flat_map(|c| best_effort(experiment, c, (node, at))).collect();
    if experiment.outlet(node).is_some() {
        // A port is a host that pays for nothing: what is left is its link.
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
            ahead,
            levels,
            best_effort,
            slice: Span::ZERO,
            interference: Vec::new(),
            others: Vec::new(),
            formula,
        });
    }
    let host = experiment.host(node);
    let config = &host.subsystem;
    if formula != Formula::Corrected && !host.computing.is_empty() {
        return Err(Uncovered("the papers have the CPU to themselves"));
    }
    if ahead && experiment.channels.iter().any(|channel| reader(experiment, channel, node).is_some()) {
        return Err(Uncovered("handlers that work ahead may fill the queue of a program"));
    }
    let left = host.computing.iter().filter(|application| application.budget.is_none());
    Ok(Environment {
        // Each response interrupts, or is found by a look, which is paid for by itself (`looks`) and costs no more then.
        host: costs(host, model),
        link,
        packet: config.packet,
        model,
        block_real_time: config.preemption.real_time,
        block_best_effort: config.preemption.best_effort,
        depth,
        thread_per_message: thread_per_message(config.processing),
        makes: Some(makes(experiment, node)),
        ahead,
        levels,
        best_effort,
        slice: left.map(|application| application.slice).max().unwrap_or_default(),
        others: other_links(experiment, (node, at), &links)?,
        interference: match formula {
            // They do not know any.
            Formula::Papers | Formula::Printed => Vec::new(),
            Formula::Corrected => {
                let above = applications(experiment, node)?.into_iter();
                above
                    .chain(receptions(experiment, node, None)?)
                    .chain(looks(experiment, node))
                    .chain(stalls(experiment, (node, at)))
                    .chain(timers(experiment, node))
                    .collect()
            }
        },
        formula,
    })
}

/// What `host` pays for: where it hands packets over as it makes them, that is part of making one.
fn costs(host: &Host, model: ResourceModel) -> HostCosts {
    let costs = host.costs.interrupted_for_each().with_packets_of(host.subsystem.packet);
    if !matches!(model, ResourceModel::Handed | ResourceModel::ApartHanded) {
        return costs;
    }
    let over = costs.transmit(host.subsystem.link.paradigm);
    HostCosts {
        first_packet: costs.first_packet + over,
        packet: costs.packet + over,
        receive_packet: costs.receive_packet + over,
        link_scheduling: over,
        ..costs
    }
}

/// What a channel has at a node without a guarantee each time that it passes: all of it, or what exceeds its contract. To a link of the node, one of another is elsewhere.
pub(super) fn best_effort(
    experiment: &Experiment,
    channel: &ChannelSpec,
    (node, link): (usize, LinkId),
) -> impl Iterator<Item = BestEffort> {
    let excess = channel.message_overflow == MessageOverflow::BestEffort;
    let hops = experiment.hops(channel).enumerate();
    let here =
        hops.filter(move |(_, (other, _))| *other == node && (channel.class == Class::BestEffort || excess));
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
fn applications(experiment: &Experiment, node: usize) -> Result<Vec<Interference>, Uncovered> {
    let host = experiment.host(node);
    let of = |channel: &ChannelSpec| match &channel.source {
        SourceSpec::None
        | SourceSpec::Continuous(_)
        | SourceSpec::Closed { .. }
        | SourceSpec::Rounds { .. } => None,
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
                .ok_or(Uncovered("an application on this CPU sends at times that nothing bounds")),
        ),
    };
    match host.applications {
        Applications::Separate => Ok(Vec::new()),
        Applications::Shared => {
            experiment.channels.iter().filter(|channel| channel.route[0] == node).filter_map(of).collect()
        }
    }
}

/// Every packet that comes in interrupts, and may keep what goes out from a resource of the adapter before. What its way through that
/// adapter and jitter push together comes at once. By the adapter of that link, or by any.
pub(super) fn receptions(
    experiment: &Experiment,
    node: usize,
    link: Option<LinkId>,
) -> Result<Vec<Interference>, Uncovered> {
    let comes_in = incoming(experiment, node)?;
    let cost = experiment.host(node).costs.interrupted_for_each().interrupt;
    let all = cost.saturating_add(comes_in.held);
    if all.is_zero() {
        return Ok(Vec::new());
    }
    let of = |Departures { burst, interval }: Departures| {
        let burst = u32::try_from(burst).map_err(|_| Uncovered("too many packets may come together"))?;
        Ok(Interference { above: Above::Interrupt, cost, adapter: comes_in.held, burst, interval })
    };
    arrivals(experiment, (node, link), all, comes_in.notice)?.into_iter().map(of).collect()
}

/// A host that looks for responses does so whether there are any or not.
pub(super) fn looks(experiment: &Experiment, node: usize) -> Option<Interference> {
    let (cost, interval) = (experiment.host(node).costs.poll, polls(experiment.adapter(node).notification()));
    let looks = !cost.is_zero() && !interval.is_zero();
    looks.then_some(Interference { above: Above::Interrupt, cost, adapter: Span::ZERO, burst: 1, interval })
}

/// What is ahead of its time at `node` is waited for by timers, and so are periods of applications.
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
