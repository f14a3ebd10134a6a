//! Results from the meters and counters of a finished run.

use std::collections::BTreeMap;

use laxity_admission::Formula;
use laxity_engine::trace::TraceSink;
use laxity_model::host::{Use, Uses};
use laxity_model::network::MediumReport;
use laxity_qos::channel::ChannelCounters;
use laxity_qos::discipline::Class;
use laxity_units::{Bytes, Span, Time};

use super::state::Snapshot;
use super::{Assembly, Outside, Said, buses, parts};
use crate::coverage::Uncovered;
use crate::experiment::{AdapterSpec, Experiment, MissesEffect, RefusalEffect};
use crate::measure::{Kept, Tally};
use crate::promise::{self, Advice, Hop, Promise, Shortfall, exchange_bounds, jitter_bound, share_lost};
use crate::results::{Channel, RefusedChannel, ResourceResults, Run, StageResults};

/// The report of a host outside the world.
#[derive(Debug, Clone, Default)]
pub struct HostReport {
    /// Its node.
    pub node: usize,
    /// The counts when the window opened.
    pub opened: HostTally,
    /// The same when it closed.
    pub closed: HostTally,
    /// The same at the end of the run.
    pub ended: HostTally,
    /// Per channel with a deadline: what was sent, and how it was answered, in order of time.
    pub said: Vec<Vec<(Time, Said)>>,
    /// Most packets that waited for the link.
    pub longest_queue: usize,
    /// The total time for which the platform stalled its thread.
    pub stalls: Span,
    /// The longest of that at a time.
    pub longest_stall: Span,
}

/// The counts of a host so far.
#[derive(Debug, Clone, Default)]
pub struct HostTally {
    /// CPU time by use.
    pub uses: Uses,
    /// Per channel: what became of its messages.
    pub counters: Vec<ChannelCounters>,
    /// Per channel: messages offered, and their bytes.
    pub offered: Vec<(u64, Bytes)>,
}

impl HostTally {
    /// `tally` of a channel, with what this host knows of it.
    fn add_to(&self, mut tally: Tally, channel: usize, sends: bool) -> Tally {
        if let (Some((messages, bytes)), true) = (self.offered.get(channel), sends) {
            (tally.messages, tally.offered) = (*messages, *bytes);
        }
        match self.counters.get(channel) {
            Some(counters) => tally.with(counters),
            None => tally,
        }
    }
}

/// How things stood at the edges of the window, and at the end.
pub(super) struct Edges<'a> {
    pub(super) opened: &'a Snapshot,
    pub(super) closed: &'a Snapshot,
    pub(super) ended: &'a Snapshot,
    /// Per channel: when a message was lost first.
    pub(super) lost: &'a [Option<Time>],
}

/// Whether missed deadlines of channel `i` do not fail the run.
pub(super) fn expects_misses(experiment: &Experiment, i: usize) -> bool {
    experiment.channels[i].misses.unwrap_or(experiment.misses) == MissesEffect::Expected
}

impl<T: TraceSink, O: Outside> Assembly<'_, '_, T, O> {
    /// The results of a run that ended at `end`, with those of hosts that are elsewhere; and the
    /// outside.
    pub fn into_run(mut self, end: Time, hosts: &[HostReport]) -> (Run, O) {
        let opened = self.around.window.opened.take().unwrap_or_else(|| self.snapshot(end));
        let closed = self.around.window.closed.take().unwrap_or_else(|| self.snapshot(end));
        let window = closed.at.saturating_since(opened.at).as_secs_f64();
        let over = |window: f64, from: Span, to: Span| {
            if window > 0.0 { to.saturating_sub(from).as_secs_f64() / window } else { 0.0 }
        };
        let (mut resources, mut stages) = (Vec::new(), Vec::new());
        let mut meters = std::mem::take(&mut self.around.stages).into_iter();
        let mut received = BTreeMap::new();
        for (i, node) in self.nodes.iter().enumerate() {
            let at_interfaces = self.terminals.cpu(self.experiment, i, [&opened, &closed], &mut received);
            let elsewhere = hosts.iter().find(|host| host.node == i);
            let (from, to) = match elsewhere {
                Some(host) => (&vec![host.opened.uses], &vec![host.closed.uses]),
                None => (&opened.uses[i], &closed.uses[i]),
            };
            let here = node.host().map(|host| host.subsystem().link_queue().1);
            let longest = here.or(elsewhere.map(|host| host.longest_queue)).unwrap_or_default();
            let own = if at_interfaces.is_some() { Vec::new() } else { parts::cpu_names(self.experiment, i) };
            resources.extend(at_interfaces);
            for (core, (name, (from, to))) in own.into_iter().zip(from.iter().zip(to)).enumerate() {
                let uses = Use::ALL.map(|u| (u.name().to_string(), over(window, from.of(u), to.of(u))));
                resources.push(ResourceResults {
                    name,
                    utilisation: over(window, from.total(), to.total()),
                    uses: uses.into(),
                    // That of the links, which all cores share.
                    longest_queue: (core == 0).then_some(longest as u64),
                });
            }
            let adapters = self.experiment.links_of(i).zip(meters.next().expect("every node has meters"));
            let reports = adapters.flat_map(|(link, meters)| {
                let stages = node.adapter(link).stages(end).into_iter().zip(meters);
                stages.map(move |(report, meter)| (link, report, meter))
            });
            for (n, (link, report, meter)) in reports.enumerate() {
                let suffix = self.experiment.suffix_of(i, link);
                let (name, longest) = (format!("{}{suffix}", report.name), report.longest as u64);
                let ((busy_then, passed_then), (busy, passed)) = (opened.stages[i][n], closed.stages[i][n]);
                let utilisation = over(window, busy_then, busy);
                if matches!(self.experiment.adapter_of(i, link), AdapterSpec::Described(_)) {
                    let [waited, served] = meter.passages.summaries(false);
                    stages.push(StageResults {
                        name: name.clone(),
                        packets: passed - passed_then,
                        utilisation,
                        longest_queue: longest,
                        waited,
                        served,
                    });
                }
                resources.push(ResourceResults {
                    name,
                    utilisation,
                    longest_queue: Some(longest),
                    uses: BTreeMap::new(),
                });
            }
            for (from, to) in opened.buses[i].iter().zip(&closed.buses[i]) {
                let over = |from, to| over(window, from, to);
                resources.push(buses::resource(self.experiment, i, [from, to], over));
            }
        }
        let mut figures = self.figures();
        figures.append(&mut received);
        for (i, ((from, to), ended)) in
            opened.ports.iter().zip(&closed.ports).zip(self.switches.reports(end)).enumerate()
        {
            let suffix = self.experiment.suffix(self.nodes.len() + i);
            resources.push(ResourceResults {
                name: format!("link{suffix}"),
                utilisation: over(window, from.busy, to.busy),
                longest_queue: Some(ended.longest as u64),
                uses: BTreeMap::new(),
            });
            let dropped = [("switch_lost", ended.lost), ("switch_policed", ended.policed)];
            let dropped = dropped.into_iter().filter(|(_, count)| *count > 0);
            figures.extend(dropped.map(|(name, count)| (format!("{name}{suffix}"), count as f64)));
        }
        for host in hosts {
            let suffix = self.experiment.suffix(host.node);
            figures.insert(format!("host_stalls{suffix}"), host.stalls.as_secs_f64());
            figures.insert(format!("host_longest_stall{suffix}"), host.longest_stall.as_secs_f64());
        }
        let ended = self.snapshot(end);
        let lost: Vec<Option<Time>> = self.around.meters.iter().map(|meter| meter.lost).collect();
        let edges = Edges { opened: &opened, closed: &closed, ended: &ended, lost: &lost };
        let mut advice = advice(self.experiment);
        let channels =
            (0..self.around.meters.len()).map(|i| self.channel(i, &edges, hosts, &mut advice)).collect();
        let computations = self.computations(&edges);
        let simulated = end.as_secs_f64();
        let run =
            Run { simulated, window, channels, resources, stages, computations, figures, ..Run::default() };
        (run, self.around.outside)
    }

    fn figures(&self) -> BTreeMap<String, f64> {
        let mut figures = self.network_figures();
        let refused = self.promises.iter().filter(|p| p.is_refused()).count();
        if refused > 0 {
            figures.insert("refused".into(), refused as f64);
        }
        // Formulas predict the throughput of messages that follow each other without a pause.
        let first = &self.experiment.channels[0];
        if self.experiment.admission.formula.is_some() && first.source.is_endless() {
            let both = [("papers_throughput", Formula::Papers), ("corrected_throughput", Formula::Corrected)];
            for (name, formula) in both {
                if let Some(service) = promise::service(self.experiment, formula).filter(|s| !s.is_zero()) {
                    figures.insert(name.into(), first.spec.max_message.get() as f64 / service.as_secs_f64());
                }
            }
        }
        figures
    }

    fn channel(
        &mut self,
        i: usize,
        edges: &Edges<'_>,
        hosts: &[HostReport],
        advice: &mut Option<Advice<'_>>,
    ) -> Channel {
        let window = edges.closed.at.saturating_since(edges.opened.at).as_secs_f64();
        let (spec, curves) = (&self.experiment.channels[i], self.experiment.curves);
        // The channel that is sent for this one.
        let sender_of = self.experiment.multicast(i).start;
        let mut meter = std::mem::take(&mut self.around.meters[i]);
        let with_hosts = |edge: &Snapshot, of: fn(&HostReport) -> &HostTally| {
            let tallies = hosts.iter().map(|host| (of(host), host.node == spec.route[0]));
            let number = |sends: bool| if sends { sender_of } else { i };
            tallies.fold(edge.tallies[i].clone(), |tally, (host, sends)| {
                host.add_to(tally, number(sends), sends)
            })
        };
        let opened = with_hosts(edges.opened, |host| &host.opened);
        let counted = with_hosts(edges.closed, |host| &host.closed).since(&opened);
        let whole = with_hosts(edges.ended, |host| &host.ended);
        let sender = hosts.iter().find(|host| host.node == spec.route[0]);
        if let (Some(punctuality), Some(host)) = (&mut meter.punctuality, sender) {
            punctuality.hear(&host.said[sender_of], edges.opened.at, edges.closed.at);
        }
        let rate = |bytes: Bytes| if window > 0.0 { bytes.get() as f64 / window } else { 0.0 };
        let real_time = spec.class == Class::RealTime;
        let received = spec.received;
        let (promise, papers) = (&self.promises[i], self.papers[i].bound().map(Span::as_secs_f64));
        let bound = promise.bound().map(Span::as_secs_f64);
        let backlog = self.backlog(i);
        let kept = meter.punctuality.take().and_then(|punctuality| punctuality.kept(edges.ended.at));
        let [latency, laxity, sojourn] = meter.timeliness(curves);
        let delivery = meter.delivery.summary(curves);
        // From end to end as far as the bound goes.
        let delays = match promise.delivery_bound() {
            Some(_) => (meter.delivery_worst, delivery.as_ref()),
            None => (meter.worst, latency.as_ref()),
        };
        let jitter = jitter_bound(self.experiment, spec, promise);
        let found = self.experiment.exchange(i);
        // A loop goes on for as long as each of its messages is delivered.
        let stopped = found
            .as_ref()
            .filter(|found| found.closed)
            .and_then(|found| found.channels.iter().filter_map(|i| edges.lost[*i]).min());
        let closed = found.as_ref().filter(|found| found.closed).map(|found| found.channels[0]);
        let exchange = found.and_then(|found| exchange_bounds(self.experiment, &self.promises, &found).ok());
        let [queueing, access] = meter.waits.summaries(curves);
        Channel {
            name: spec.name.clone(),
            class: if real_time { "real_time" } else { "best_effort" }.into(),
            reserved: real_time.then(|| spec.spec.rate().bytes_per_sec_f64()),
            deadline: meter.deadline.map(Span::as_secs_f64),
            bound,
            bound_papers: papers.filter(|p| Some(*p) != bound),
            refused: refused(self.experiment, i, &self.promises[i], advice),
            no_bound: self.no_bound(i, &whole, advice),
            worst: meter.worst.map(Span::as_secs_f64).filter(|_| real_time),
            worst_found: None,
            offered: rate(counted.offered),
            throughput: rate(counted.transmitted),
            goodput: rate(if received { counted.delivered_bytes } else { counted.completed_bytes }),
            messages: counted.messages,
            completed: counted.completed,
            packets: counted.packets,
            missed_packets: counted.missed_packets,
            missed_messages: counted.missed_messages,
            late_outside: whole.late() - counted.late(),
            due_messages: kept.map(|kept| kept.due),
            failed_messages: kept.map(Kept::failed),
            impaired_messages: kept.map_or(0, |kept| kept.impaired),
            on_time: kept.map(Kept::share),
            misses_expected: expects_misses(self.experiment, i),
            drops: counted.dropped.named().collect(),
            incomplete: counted.dropped.incomplete(),
            dropped_packets: counted.dropped_packets,
            lost_packets: counted.lost_packets,
            impaired_packets: counted.impaired_packets,
            delivered: received.then_some(counted.delivered),
            delivered_late: (received && real_time).then_some(counted.delivered_late),
            delivery_bound: promise.delivery_bound().map(Span::as_secs_f64),
            delivery_found: None,
            delivery_worst: meter.delivery_worst.map(Span::as_secs_f64).filter(|_| real_time),
            backlog: backlog.map(|(most, _)| most),
            backlog_bound: backlog.map(|(_, bound)| bound),
            delay_jitter: jitter
                .and(delays.0.zip(delays.1))
                .map(|(worst, all)| worst.as_secs_f64() - all.min),
            delay_jitter_bound: jitter.map(Span::as_secs_f64),
            response: meter.response.summary(curves),
            response_worst: meter.response_worst.map(Span::as_secs_f64),
            response_found: None,
            response_bound: exchange.map(|bounds| bounds.response.as_secs_f64()),
            round_mean: closed.and_then(|first| self.around.rounds.mean_round(first)).map(Span::as_secs_f64),
            round_stopped: stopped.map(Time::as_secs_f64),
            round_bound: exchange.and_then(|bounds| bounds.round).map(Span::as_secs_f64),
            lost_bound: spec.asks.loss.map(|_| share_lost(self.experiment, spec)),
            late_bound: if let Promise::Likely(share) = promise { Some(*share) } else { None },
            jitter_duration: None,
            jitter_fraction: None,
            jitter_fraction_bound: None,
            jittered: None,
            delivery,
            laxity,
            latency,
            sojourn,
            queueing,
            access,
            // Of nodes that admit channels during the run.
            requests: None,
            established: None,
            refused_requests: None,
            refusals: BTreeMap::new(),
            changed: None,
            refused_changes: None,
            lost: None,
            unexpected: None,
            blocking: None,
            blocking_half: None,
            establishment: None,
            establishment_worst: None,
            establishment_bound: None,
            establishment_queue: None,
        }
    }

    /// Why channel `i` has no bound; where that is for collisions, with how probable they and late
    /// messages were.
    fn no_bound(&self, i: usize, whole: &Tally, advice: &mut Option<Advice<'_>>) -> String {
        let why = no_bound(self.experiment, i, &self.promises[i], advice);
        let csma = self.around.networks.media().filter_map(|(medium, _)| match medium.report() {
            MediumReport::Csma(report) => Some(report),
            MediumReport::PointToPoint(_) | MediumReport::TokenRing(_) => None,
        });
        let (mut attempts, mut collisions) = (0, 0);
        for report in csma {
            attempts += report.stations.iter().map(|station| station.attempts).sum::<u64>();
            collisions += report.stations.iter().map(|station| station.collisions).sum::<u64>();
        }
        if !why.starts_with(Uncovered::Collisions.sentence()) || attempts == 0 || whole.completed == 0 {
            return why;
        }
        let share = |part: u64, of: u64| format!("{:.3} %", 100.0 * part as f64 / of as f64);
        format!(
            "{why}; here {} of {attempts} transmissions collided, and {} of {} messages were late",
            share(collisions, attempts),
            share(whole.late(), whole.completed),
            whole.completed,
        )
    }

    /// The most packets of channel `i` at a station and the bound on them there, where the first is
    /// most of the second.
    fn backlog(&self, i: usize) -> Option<(u64, u64)> {
        let of = |hop: &Hop| {
            // A receiver counts the packets of all channels together.
            if hop.room.is_some() {
                return None;
            }
            let bound = hop.backlog_bound()?;
            let id = self.around.laps.at(i, hop.hop);
            match self.nodes.get(hop.node) {
                Some(node) => {
                    let most = node.host()?.subsystem().most_buffers(id);
                    Some((most.expect("a hop's host has the channel"), bound))
                }
                None => Some((self.switches.most(hop.node, id), bound)),
            }
        };
        let hops = self.promises[i].hops();
        let share = |(most, bound): &(u64, u64)| (u128::from(*most) << 64) / u128::from((*bound).max(1));
        let own = hops.iter().filter(|hop| hop.hop >= self.experiment.channels[i].begins());
        own.filter_map(of).max_by_key(share)
    }

    /// Events on the medium, on the path and in the drivers; absent events have no entry.
    fn network_figures(&self) -> BTreeMap<String, f64> {
        let mut figures = BTreeMap::new();
        let mut note = |name: String, value: f64| {
            if value != 0.0 {
                figures.insert(name, value);
            }
        };
        for (medium, members) in self.around.networks.media() {
            let suffix = |station: usize| self.experiment.suffix(members[station]);
            match medium.report() {
                MediumReport::PointToPoint(_) => {}
                MediumReport::TokenRing(stations) => {
                    for (i, station) in stations.iter().enumerate() {
                        let suffix = suffix(i);
                        note(format!("token_holdings{suffix}"), station.holdings as f64);
                        note(format!("token_held{suffix}"), station.held.as_secs_f64());
                        note(format!("token_longest_wait{suffix}"), station.longest_wait.as_secs_f64());
                        note(
                            format!("token_longest_rotation{suffix}"),
                            station.longest_rotation.as_secs_f64(),
                        );
                        note(format!("token_overrun{suffix}"), station.overrun.as_secs_f64());
                        note(format!("token_longest_overrun{suffix}"), station.longest_overrun.as_secs_f64());
                    }
                }
                MediumReport::Csma(report) => {
                    for (i, station) in report.stations.iter().enumerate() {
                        let suffix = suffix(i);
                        note(format!("csma_attempts{suffix}"), station.attempts as f64);
                        note(format!("csma_collisions{suffix}"), station.collisions as f64);
                        note(format!("csma_given_up{suffix}"), station.given_up as f64);
                        note(format!("csma_longest_access{suffix}"), station.longest_access.as_secs_f64());
                    }
                    note("csma_others_sent".into(), report.background.sent as f64);
                    note("csma_others_collisions".into(), report.background.collisions as f64);
                }
            }
        }
        let counts = self.around.networks.counts();
        note("network_lost".into(), counts.lost as f64);
        note("network_corrupted".into(), counts.corrupted as f64);
        note("network_duplicated".into(), counts.duplicated as f64);
        note("network_reordered".into(), counts.reordered as f64);
        let adapters =
            self.nodes.iter().enumerate().flat_map(|(i, node)| {
                self.experiment.links_of(i).map(move |link| (i, link, node.driver(link)))
            });
        // The bound on incoming frames holds for a whole adapter, so the first hop that has it reports it.
        let mut frames = BTreeMap::new();
        for (channel, promise) in self.experiment.channels.iter().zip(&self.promises) {
            for hop in promise.hops() {
                if let (Some(bound), Some(link)) = (hop.frames, self.experiment.link_in(channel, hop.hop)) {
                    frames.entry((hop.node, link)).or_insert(bound);
                }
            }
        }
        for (i, link, report) in adapters {
            let suffix = self.experiment.suffix_of(i, link);
            note(format!("driver_interrupts{suffix}"), report.interrupts as f64);
            note(format!("driver_lost_interrupts{suffix}"), report.lost_interrupts as f64);
            note(format!("driver_recovered{suffix}"), report.recovered as f64);
            note(format!("driver_resets{suffix}"), report.resets as f64);
            note(format!("driver_backlog{suffix}"), report.longest_backlog.saturating_sub(1) as f64);
            if let Some(bound) = frames.get(&(i, link)) {
                note(
                    format!("frames_in_adapter{suffix}"),
                    self.nodes[i].adapter(link).most_received() as f64,
                );
                note(format!("frames_possible{suffix}"), *bound as f64);
            }
        }
        figures
    }
}

/// The admission that advises refused channels of `experiment`; `None` if admission is off.
pub(super) fn advice(experiment: &Experiment) -> Option<Advice<'_>> {
    experiment.admission.formula.map(|formula| Advice::of(experiment, formula))
}

/// The needs of channel `i`, if admission refused it.
pub(super) fn refused(
    experiment: &Experiment,
    i: usize,
    promise: &Promise,
    advice: &mut Option<Advice<'_>>,
) -> Option<RefusedChannel> {
    let reason = promise.refusal(experiment, i)?;
    // Another deadline is no advice to a channel that lacks buffers, and the reason says how many.
    let shortfall = match promise.is_unkept() || promise.lacks_room() {
        true => Shortfall::default(),
        false => advice.as_mut()?.shortfall(i),
    };
    Some(RefusedChannel {
        reason,
        admissible: shortfall.proposed.map(Span::as_secs_f64),
        admissible_jitter: shortfall.jitter.map(Span::as_secs_f64),
        largest_term: shortfall.largest.map(|term| term.name.to_string()).unwrap_or_default(),
        largest: shortfall.largest.map(|term| term.cost.as_secs_f64()),
        expected: experiment.channels[i].refusal == RefusalEffect::Expected,
    })
}

/// Why channel `i`, if it asks for a deadline, has no bound; empty if it has one, or asks for none.
pub(super) fn no_bound(
    experiment: &Experiment,
    i: usize,
    promise: &Promise,
    advice: &mut Option<Advice<'_>>,
) -> String {
    match promise {
        Promise::Unbounded(why, _) => return why.sentence().into(),
        Promise::Likely(share) => return format!("at most {share:.2e} of its messages are late or dropped"),
        Promise::BestEffort if experiment.asks_for_bound(&experiment.channels[i]) => {}
        _ => return String::new(),
    }
    match advice {
        None => "admission is off".into(),
        Some(advice) => advice.uncovered().map_or("", |uncovered| uncovered.sentence()).into(),
    }
}
