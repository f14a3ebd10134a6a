//! One admission table for every host, with all channels that pass it.

mod alike;
mod among;
mod earliness;
mod forward;
mod multicast;
mod paying;
mod sooner;

use std::collections::BTreeMap;

use laxity_admission::{
    AdmissionId, AdmissionTable, Bound, Breakdown, Environment, Formula, LaunchedHost, LevelledHost,
    RateTable, RatedHost, Request, ShapedHost, Test, UnheldHost, Unrated,
};
use laxity_qos::channel::{LinkId, Order, Role};
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::{Class, Group, LOWEST, Share, Sharing};
use laxity_units::{Bytes, Span};

use super::analyses::{Analyses, Reading, readings};
use super::answer::{Hop, Refused};
use super::asked::Asked;
use super::computing;
use super::cores;
use super::environment::{best_effort, environment};
use super::fifo::{self, of_host};
use super::frames::Inside;
use super::leg::Leg;
use super::links::{Links, promising};
use super::station::{GoesBy, Station};
use crate::coverage::{Coverage, Holding, Row, Uncovered, is_queue, notices};
use crate::experiment::{ChannelSpec, Experiment, LocalDeadline, Placement};
pub(super) use among::{Answer, Answers};
pub(super) use multicast::on_path;
pub(super) use paying::behind;

/// A reservation.
pub(super) struct Reserved {
    /// Which hop of the channel's route it is for.
    pub(super) hop: usize,
    /// The host.
    pub(super) node: usize,
    /// The role of the channel there.
    pub(super) role: Role,
    /// Its place in the table.
    pub(super) id: AdmissionId,
    /// Its request.
    pub(super) asked: Asked,
}

/// The tables of all hosts that an analysis covers.
pub(super) struct Tables {
    hosts: Vec<Result<Analyses, Uncovered>>,
    /// Per station, the incoming frames at its adapters, by their links.
    inside: Vec<Vec<Option<Inside>>>,
    /// Per node, the reservations for applications that compute there.
    computing: Vec<Vec<Option<AdmissionId>>>,
    formula: Formula,
    /// The placement on cores, where hosts have several.
    placement: Placement,
    /// Per station, how late it may hear of a frame.
    notices: Vec<Span>,
    /// How long local deadlines are at most, where longer ones cost other channels more than they give:
    /// see [`ENOUGH`](super::division::ENOUGH).
    enough: Option<u64>,
    /// How often a deadline may still be shared out again in vain.
    tries: usize,
    /// The local deadlines of each channel of a multicast, by hop, for the copies of it.
    shared: BTreeMap<usize, BTreeMap<usize, Span>>,
}

/// The reservations of a channel: all that its bound needs, or as far as its path is covered.
pub(super) struct Reservation {
    pub(super) reserved: Vec<Reserved>,
    /// The hop from which the channel has no bound all the same, and why.
    pub(super) unbounded: Option<(usize, Uncovered)>,
    /// The promises of FIFO queues on its path, which network calculus gives, and of the stations that have
    /// messages from them.
    pub(super) queues: Vec<Hop>,
    /// By when FIFO queues on its path have to be through with a message, as stations behind them count on
    /// it: by hop.
    pub(super) counted_on: BTreeMap<usize, Span>,
}

impl Tables {
    pub(super) fn new(experiment: &Experiment, coverage: &Coverage, formula: Formula) -> Self {
        let placement = Placement::new(experiment);
        let table = |node: usize, reading: Reading| {
            let covered = coverage.with(node, reading.by)?;
            let environment = |link| environment(experiment, coverage, formula, (node, link), reading);
            let by_rates = covered.rates;
            if let (Some(order), Some(outlet)) = (by_rates, experiment.outlet(node)) {
                let speed = (outlet.config.link, outlet.config.frame);
                let sharing = sharing(experiment, formula, node, speed, true)?;
                let table = RateTable::new(order, experiment.packet(), sharing);
                let table = table.ok_or(Uncovered::PortLatency)?;
                return Ok(Station::Rates(Box::new(table)));
            }
            if let Some(order) = by_rates {
                let environment = environment(LinkId::FIRST)?;
                let speed = (LinkCosts::default(), Span::ZERO);
                let sharing = sharing(experiment, formula, node, speed, true)?;
                return rated(RatedHost::new(environment, order, sharing));
            }
            if let Some(Row { rated: stages, shared }) = covered.row.clone() {
                let environment = environment(LinkId::FIRST)?;
                let speed = (LinkCosts::default(), Span::ZERO);
                let sharing = sharing(experiment, formula, node, speed, shared)?;
                return rated(RatedHost::of_stages(environment, stages, sharing));
            }
            match covered.holding {
                Some(Holding::Launch(launch)) => return launched(environment(LinkId::FIRST)?, launch),
                Some(Holding::Shapers) => return shaped(experiment, node, environment(LinkId::FIRST)?),
                None => {}
            }
            if covered.unheld {
                return unheld(environment(LinkId::FIRST)?);
            }
            if covered.is_levelled() {
                return levelled(environment(LinkId::FIRST)?);
            }
            if experiment.cores(node) > 1 {
                return cores::table(experiment, coverage, formula, (node, &placement), reading);
            }
            let test = covered.test(experiment.admission.test_with(formula));
            let by_link =
                |link| AdmissionTable::with_test(environment(link)?, test).map_err(|_| Uncovered::HostRange);
            match experiment.nodes.get(node).map_or(1, |node| node.adapters.len()) {
                1 => by_link(LinkId::FIRST).map(|table| Station::Ordered(Box::new(table))),
                _ => {
                    let of = |link| Ok((link, by_link(link)?));
                    let mut links = promising(experiment, node);
                    if links.is_empty() {
                        links.insert(reading.link);
                    }
                    let tables = links.into_iter().map(of);
                    Ok(Station::Several(Links::new(tables.collect::<Result<_, Uncovered>>()?)))
                }
            }
        };
        let mut computing = vec![Vec::new(); experiment.nodes.len()];
        let reserved = |node: usize| {
            let readings = readings(experiment, coverage, formula, node);
            let mut table = Analyses::new(&readings, |reading| table(node, reading))?;
            if let Some(reserved) = computing.get_mut(node) {
                *reserved = computing::reserve(experiment.host(node), &mut table, |number| {
                    placement.of_computing(node, number)
                })?;
            }
            Ok(table)
        };
        let hosts = (0..experiment.stations()).map(reserved).collect();
        let hosts = coverage.spread(experiment, hosts);
        let inside = |(node, host): (usize, &Result<Analyses, Uncovered>)| {
            let covered = host.as_ref().ok().and(coverage.first(node).ok());
            let Some(covered) = covered.filter(|_| node < experiment.nodes.len()) else { return Vec::new() };
            experiment.links_of(node).map(|link| Inside::of(experiment, (node, link), covered)).collect()
        };
        let inside = hosts.iter().enumerate().map(inside).collect();
        let notices = notices(experiment);
        let tries = among::tries_for_all(experiment.channels.len());
        let shared = BTreeMap::new();
        Self { hosts, inside, computing, formula, placement, notices, enough: None, tries, shared }
    }

    /// The same, with local deadlines that are no longer than they are worth.
    pub(super) fn with_enough(self, enough: Option<u64>) -> Self {
        Self { enough, ..self }
    }

    /// The same, without promises of shorter deadlines than the requested ones, or of other parts of them.
    pub(super) fn without_tries(self) -> Self {
        Self { tries: 0, ..self }
    }

    /// Orders the channels of each station with levels by their deadlines, unless `d_order` is asked for.
    pub(super) fn order_by_deadline(&mut self, experiment: &Experiment) {
        if experiment.admission.test_with(self.formula) == Test::Demand {
            self.hosts.iter_mut().flatten().for_each(Analyses::order_by_deadline);
        }
    }

    /// Whether a station counts early messages.
    pub(super) fn counts_early(&self) -> bool {
        self.hosts.iter().flatten().any(Analyses::counts_early)
    }

    /// Per node, what is reserved for each application that computes there.
    pub(super) fn computing(&self) -> &[Vec<Option<AdmissionId>>] {
        &self.computing
    }

    /// Reserves for `channel` with those local deadlines at every hop as far as the path is
    /// covered, or at none.
    fn reserve(
        &mut self,
        experiment: &Experiment,
        channel: &ChannelSpec,
        request: Request,
        deadlines: &[Span],
    ) -> Result<Reservation, Refused> {
        let (mut reserved, mut by_queues, mut counted_on) = (Vec::new(), None, BTreeMap::new());
        let spared = self.spared(experiment, channel);
        let goes_on = fifo::goes_on(experiment, channel, self);
        let mut leg =
            Leg::first((experiment, &self.placement), channel, self.pays_once(experiment, channel, request));
        for (hop, (node, role)) in self.hosts_of(experiment, channel).enumerate() {
            let own = request.within(deadlines[hop]);
            let asked = leg.asked((node, role), own);
            let inside = inside_at(&self.inside, experiment, channel, hop);
            let host = match &mut self.hosts[node] {
                Ok(host) => host,
                Err(why) if goes_on && is_queue(experiment, node) => {
                    by_queues = by_queues.or(Some((hop, *why)));
                    // Its bound is not known yet, and has to be no more than this.
                    let most = if hop < spared { own.deadline() } else { request.deadline() };
                    if role != Role::Receive {
                        counted_on.insert(hop, most);
                    }
                    leg.leaves(None, most);
                    continue;
                }
                Err(why) => {
                    let unbounded = by_queues.or(Some((hop, *why)).filter(|_| role != Role::Receive));
                    return Ok(Reservation { reserved, unbounded, queues: Vec::new(), counted_on });
                }
            };
            if hop < channel.begins() {
                // The channel that is copied has reserved here.
                leg.leaves(host.handed_on(&asked), own.deadline());
                continue;
            }
            let loses = inside.and_then(|inside| inside.refuses(experiment, channel, hop));
            match loses.map_or_else(|| host.request(&asked), Err) {
                Ok(id) => reserved.push(Reserved { hop, node, role, id, asked }),
                Err(refusal) => {
                    self.give_up(&reserved);
                    return Err(Refused { node, refusal, whose: None });
                }
            }
            leg.leaves(host.handed_on(&asked), own.deadline());
        }
        // Until network calculus has bounds of the queues.
        Ok(Reservation { reserved, unbounded: by_queues, queues: Vec::new(), counted_on })
    }

    /// Whether [`admit`](Self::admit) would succeed, without a reservation.
    pub(super) fn would_admit(
        &mut self,
        experiment: &Experiment,
        channel: &ChannelSpec,
        request: Request,
    ) -> bool {
        let Ok(reservation) = self.admit(experiment, channel, request) else { return false };
        self.give_up(&reservation.reserved);
        true
    }

    /// Takes back what is reserved.
    pub(super) fn give_up(&mut self, reserved: &[Reserved]) {
        for Reserved { node, id, .. } in reserved {
            self.table(*node).release(*id);
        }
    }

    /// The incoming frames at the adapter by which `channel` arrives at `hop`, if it has stages.
    pub(super) fn inside(
        &self,
        experiment: &Experiment,
        channel: &ChannelSpec,
        hop: usize,
    ) -> Option<&Inside> {
        inside_at(&self.inside, experiment, channel, hop)
    }

    /// The table of `node`, which has one.
    fn table(&mut self, node: usize) -> &mut Analyses {
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

    /// Every host's bounds by reservation.
    pub(super) fn bounds(&self) -> Vec<BTreeMap<AdmissionId, Bound>> {
        (0..self.hosts.len()).map(|node| self.bounds_at(node)).collect()
    }

    /// The bounds of `node` by reservation.
    pub(super) fn bounds_at(&self, node: usize) -> BTreeMap<AdmissionId, Bound> {
        let bounds = self.hosts[node].as_ref().map_or_else(|_| Vec::new(), Analyses::bounds);
        bounds.into_iter().map(|bound| (bound.id, bound)).collect()
    }

    /// `W` and `S` of an admitted request.
    pub(super) fn terms(&self, node: usize, asked: &Asked, bound: &Bound) -> (Breakdown, Breakdown) {
        let terms = self.hosts[node].as_ref().ok().and_then(|table| table.terms(asked, bound).ok());
        terms.expect("an admitted channel has terms")
    }

    /// The way in which the table counts that the bound of a channel at `node` is from.
    pub(super) fn reading(&self, node: usize, id: AdmissionId) -> Reading {
        self.hosts[node].as_ref().map_or(Reading::default(), |table| table.reading(id))
    }

    /// By which deadlines `node` goes.
    pub(super) fn goes_by(&self, node: usize) -> GoesBy {
        self.hosts[node].as_ref().map_or(GoesBy::Either, Analyses::goes_by)
    }

    /// Whether the promised delays of `node` are its bounds. EDF may go by requested deadlines, and keep no
    /// more than these.
    pub(super) fn promises_bounds(&self, experiment: &Experiment, node: usize) -> bool {
        self.goes_by(node) == GoesBy::Requested
            || self.orders_by_bounds(experiment, node)
            || experiment.order(node) == Order::FixedPriority
    }

    /// Whether the local deadlines of `node` are its bounds.
    pub(super) fn orders_by_bounds(&self, experiment: &Experiment, node: usize) -> bool {
        match self.goes_by(node) {
            GoesBy::Either => experiment.admission.local_deadline == LocalDeadline::Bound,
            GoesBy::Requested => false,
            // No deadline orders anything, and none makes a bound longer.
            GoesBy::None => true,
        }
    }

    /// Whether `node` has tables of channels in an order only.
    fn is_ordered(&self, node: usize) -> bool {
        self.hosts[node].as_ref().map_or(true, Analyses::is_ordered)
    }

    /// `W` and `S` at `station`, or where `channel` starts if they are not known there, as if it
    /// were admitted now.
    pub(super) fn terms_where(
        &self,
        experiment: &Experiment,
        channel: &ChannelSpec,
        request: &Request,
        station: Option<usize>,
    ) -> Option<(usize, (Breakdown, Breakdown))> {
        let known = station.and_then(|station| {
            let (hop, (_, role)) =
                self.hosts_of(experiment, channel).enumerate().find(|(_, hop)| hop.0 == station)?;
            let table = self.hosts[station].as_ref().ok()?;
            let there = if role == Role::Send { *request } else { request.at(role) };
            Some((station, table.terms_of(&there, experiment.link_out(channel, hop))?))
        });
        known.or_else(|| Some((channel.route[0], self.terms_of_sender(experiment, channel, request)?)))
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

    /// Why `station` has no table, if it has none.
    pub(super) fn without(&self, station: usize) -> Option<Uncovered> {
        self.hosts[station].as_ref().err().copied()
    }

    /// Why there is no bound to the host where `channel` is received.
    pub(super) fn undelivered(&self, channel: &ChannelSpec) -> Option<Uncovered> {
        self.without(*channel.route.last().filter(|_| channel.received)?)
    }

    /// Why `channel` has no bound, whether it fits or not.
    pub(super) fn unbounded(&self, channel: &ChannelSpec) -> Option<Uncovered> {
        channel.senders().iter().find_map(|station| self.without(*station))
    }
}

/// Of the incoming frames `inside` stations, those at the adapter by which `channel` arrives at `hop`.
fn inside_at<'a>(
    inside: &'a [Vec<Option<Inside>>],
    experiment: &Experiment,
    channel: &ChannelSpec,
    hop: usize,
) -> Option<&'a Inside> {
    let link = experiment.link_in(channel, hop)?;
    inside[channel.route[hop]].get(usize::from(link.0))?.as_ref()
}

/// The longest time from the end of a transmission of `channel` at `hop` until the next hop knows
/// of the packet, each of which is late by one of `notices`; zero from the last.
pub(super) fn longest_way(
    experiment: &Experiment,
    channel: &ChannelSpec,
    hop: usize,
    notices: &[Span],
) -> Span {
    let way = |next: &usize| experiment.longest_way(channel, hop).saturating_add(notices[*next]);
    channel.route.get(hop + 1).map_or(Span::ZERO, way)
}

/// The table of a host of which the link, or stages of whose adapter, are rate-based.
fn rated(table: Result<RatedHost, Unrated>) -> Result<Station, Uncovered> {
    table.map(|table| Station::Host(Box::new(table))).map_err(|unrated| match unrated {
        Unrated::Environment(_) => Uncovered::HostRange,
        Unrated::Order => Uncovered::LinkOrder,
        Unrated::NothingLeft => Uncovered::CpuFull,
    })
}

/// The table of a host that serves messages as they arrive.
fn unheld(environment: Environment) -> Result<Station, Uncovered> {
    if environment.formula != Formula::Corrected {
        return Err(Uncovered::PapersOrder);
    }
    UnheldHost::new(environment)
        .map(|table| Station::Unheld(Box::new(table)))
        .map_err(|_| Uncovered::HostRange)
}

/// The table of a host of which the CPU goes by levels, and its link by deadlines.
fn levelled(environment: Environment) -> Result<Station, Uncovered> {
    if environment.formula != Formula::Corrected {
        return Err(Uncovered::PapersOrder);
    }
    LevelledHost::new(environment)
        .map(|table| Station::Levelled(Box::new(table)))
        .map_err(|_| Uncovered::HostRange)
}

/// The table of a host of which the packets have launch times.
fn launched(environment: Environment, launch: Span) -> Result<Station, Uncovered> {
    if environment.formula != Formula::Corrected {
        return Err(Uncovered::PapersLaunch);
    }
    LaunchedHost::new(environment, launch)
        .map(|table| Station::Launched(Box::new(table)))
        .map_err(|_| Uncovered::HostRange)
}

/// The table of a host with credit-based shapers.
fn shaped(experiment: &Experiment, node: usize, environment: Environment) -> Result<Station, Uncovered> {
    if environment.formula != Formula::Corrected {
        return Err(Uncovered::PapersShapers);
    }
    let link = environment.link.alone().ok_or(Uncovered::HostRange)?;
    ShapedHost::new(environment, of_host(experiment, node, link))
        .map(|table| Station::Shaped(Box::new(table)))
        .map_err(|_| Uncovered::HostRange)
}

/// The channels without a guarantee that share the rate-based link of `station`, with its speed and
/// shortest frames; `shares` says whether any channel has a share.
fn sharing(
    experiment: &Experiment,
    formula: Formula,
    station: usize,
    (speed, frame): (LinkCosts, Span),
    shares: bool,
) -> Result<Sharing, Uncovered> {
    if formula != Formula::Corrected {
        return Err(Uncovered::PapersRates);
    }
    let packet = experiment.packet();
    let groups = experiment.groups.iter().map(Group::from).collect();
    let mut sharing = Sharing { speed, flows: Vec::new(), without: Bytes::ZERO, frame, groups };
    for channel in experiment.channels.iter().filter(|channel| channel.leaves(station)) {
        let largest = channel.spec.largest_packet(packet);
        if shares && channel.class == Class::BestEffort && !channel.share.is_none() {
            // Without enforcement a channel may send any traffic.
            let kept = experiment.host(channel.route[0]).subsystem.enforcement;
            sharing.flows.push(Share {
                tick: channel.share,
                burst: channel.spec.max_message,
                largest: if kept { largest } else { packet },
                smallest: if kept { channel.spec.smallest_packet(packet) } else { Bytes::new(1) },
                messages: None,
                level: LOWEST,
                group: channel.group,
            });
        } else if best_effort(experiment, channel, (station, LinkId::FIRST)).next().is_some() {
            sharing.without = sharing.without.max(packet);
        }
    }
    Ok(sharing)
}
