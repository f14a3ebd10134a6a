//! End-to-end bounds of channels that pass FIFO queues, by network calculus.
//!
//! A FIFO queue holds no early packet, so no table of a station alone has a bound. The queues of
//! all channels form one network of `laxity_curves` instead. A channel enters it
//!
//! * at its host, if that is such a queue itself: with its contract, or one message an interval if
//!   the CPU holds early messages;
//! * at a port behind stations with tables. The last of these that holds early packets lets a packet
//!   go no sooner than a horizon before its logical arrival there, and the packet leaves the last by
//!   its logical arrival plus the promised delays since then. So messages are an interval apart but for
//!   a jitter of both, less the shortest transmission. With launch times a packet leaves the station
//!   no sooner than that, so the jitter is shorter by them. Where none holds, a source that keeps its
//!   contract sends no sooner than `(B_max - 1) I_min` before. Packets that share the link of the last
//!   station arrive one after the other.
//!
//! Queues in a row on a path are one flow of the network. A station with a table behind them holds messages
//! until the bound of the row (`fifo/behind.rs`), so a further row is a flow of its own, with the jitter of
//! that station alone.
//!
//! The bound is the promises of the stations with tables, the bounds of the rows, and the paths between
//! stations. Each path takes a constant time, which shifts all arrivals at a station alike, so the network
//! needs none of them. The promise at a queue is the growth of the bound there.

mod answer;
mod behind;
mod copies;
mod metered;
mod present;
mod server;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use laxity_admission::{AdmissionRefusal, Claimant, Deficit, Reason, Scarce};
use laxity_curves::{Bucket, Effort, Flow, QueueNetwork, Unbounded, bounds_where};
use laxity_qos::channel::LinkId;
use laxity_qos::costs::LinkCosts;
use laxity_units::{Bytes, Span};

use self::answer::Answer;
pub(super) use self::behind::{goes_on, late, stations_behind};
use self::copies::before_copy;
pub(super) use self::server::of_host;
use self::server::{frames, further, limits, server};
use super::admit::All;
use super::answer::{Hop, Refused};
use super::refusal::are_copies;
use super::table::{Answers, Tables, on_path};
use crate::coverage::{Uncovered, keeps_order, passes, queue};
use crate::experiment::{ChannelSpec, CopyOf, Experiment, Outlet};
use crate::traffic::conformance::keeps_contract;

/// The rounding of the period of a source.
const PERIOD: Span = Span::from_ps(1);

/// The limits that a channel keeps somewhere, and the jitter since then.
type Arrivals = (Vec<Bucket>, Span);

/// Admits the channels that pass FIFO queues, in the order of the file, and writes their promises
/// into the reservations that `answers` has.
pub(super) fn admit(experiment: &Experiment, notices: &[Span], tables: &mut Tables, answers: &mut Answers) {
    let stations = (0..experiment.stations()).map(|station| queue(experiment, station));
    let queues: Vec<Option<Result<(), Uncovered>>> = stations.collect();
    let passes = |i: &usize| {
        let senders = experiment.channels[*i].senders();
        senders.iter().any(|station| queues[*station].is_some())
    };
    let reserved = |i: &usize| matches!(answers[*i], Some(Ok(_)));
    let has_gates = |outlet: &Outlet| outlet.config.selection.as_ref().is_some_and(|it| it.gates.is_some());
    let gated = experiment.outlets.iter().any(has_gates);
    let mut active: Vec<usize> = (0..answers.len()).filter(|i| passes(i) && reserved(i)).collect();
    loop {
        let of = |active: &[usize], looks| {
            let all = All::of(experiment, tables, notices);
            Part { experiment, queues: &queues, all: &all, answers, looks }.answers(active)
        };
        let late =
            |answers: &[Answer]| answers.iter().position(|answer| matches!(answer, Answer::Refused(..)));
        let kept = |answers: Vec<Answer>| answers.iter().all(|answer| matches!(answer, Answer::Kept(_)));
        let at_a_glance = |active: &[usize]| gated && kept(of(active, Looks::Glance));
        let fits = |active: &[usize]| at_a_glance(active) || late(&of(active, Looks::Needed)).is_none();
        let (mut found, mut number) = (Vec::new(), active.len());
        if fits(&active) {
            found = of(&active, Looks::Least);
        } else {
            // The first channel with which a deadline is not kept: more traffic shortens no bound.
            let mut kept = 0;
            while number - kept > 1 {
                let middle = (kept + number) / 2;
                if fits(&active[..middle]) { kept = middle } else { number = middle }
            }
        }
        if number == active.len() && (number == 0 || !found.is_empty()) {
            for (i, answer) in active.into_iter().zip(found) {
                let unknown = before_copy(experiment, answers, i);
                let copied = experiment.multicast(i).len() > 1;
                let Some(Ok(reservation)) = &mut answers[i] else { continue };
                (reservation.unbounded, reservation.queues) = match (answer, unknown) {
                    (Answer::Kept(_), Some(unknown)) => (Some(unknown), Vec::new()),
                    (Answer::Kept(hops), None) => (None, hops),
                    (Answer::Unknown(from, why, hops), _) if copied => (Some((from, why)), hops),
                    (Answer::Unknown(from, why, _), _) => (Some((from, why)), Vec::new()),
                    (Answer::Refused(..), _) => continue,
                };
            }
            return;
        }
        let refused = active[number - 1];
        let mut found = of(&active[..number], Looks::Needed);
        let place = late(&found);
        let whose = place.map(|place| active[place]).filter(|late| *late != refused);
        let refusal = match place.map(|place| found.swap_remove(place)) {
            Some(Answer::Refused(scarce, deficit, node)) => {
                Refused { whose, ..refusal(experiment, (scarce, deficit), node) }
            }
            _ => {
                let endless = (Scarce::Link, Deficit::Unbounded);
                refusal(experiment, endless, experiment.channels[refused].route[0])
            }
        };
        // A copy that has no reservation before the queues would be refused for the same reason.
        let none_before = matches!(&answers[refused], Some(Ok(it)) if it.reserved.is_empty());
        let is_copy = |i: &&usize| none_before && are_copies(experiment, refused, **i);
        let alike = active[number..].iter().take_while(is_copy).count();
        let alike = active[number - 1..number + alike].to_vec();
        let all: BTreeSet<usize> = alike.into_iter().flat_map(|i| experiment.multicast(i)).collect();
        active.retain(|i| !all.contains(i));
        for i in all {
            if let Some(Ok(reservation)) = answers[i].replace(Err(refusal)) {
                tables.give_up(&reservation.reserved);
            }
        }
        tables.settle(experiment, answers);
    }
}

/// Whether a real-time channel of `experiment` passes a FIFO queue.
pub fn passes_queues(experiment: &Experiment) -> bool {
    experiment.channels.iter().any(|channel| passes(experiment, channel))
}

/// The promises of `hops` and the ways behind them.
fn through<'a>(hops: impl Iterator<Item = &'a Hop>) -> Span {
    hops.fold(Span::ZERO, |all, hop| all.saturating_add(hop.kept).saturating_add(hop.way))
}

fn refusal(experiment: &Experiment, (scarce, deficit): (Scarce, Deficit), node: usize) -> Refused {
    let selects = experiment.outlet(node).is_some_and(|outlet| outlet.config.selection.is_some());
    let reason = match scarce {
        Scarce::Deadline => Reason::LateTogether,
        Scarce::Messages | Scarce::Packets => Reason::NoRoom,
        _ if selects => Reason::Withheld,
        _ => Reason::Overload,
    };
    let refusal = AdmissionRefusal::new(scarce, deficit, reason, Claimant::Newcomer);
    Refused { node, refusal, whose: None }
}

/// All channels and queues, at one point of admission.
struct Part<'a> {
    experiment: &'a Experiment,
    queues: &'a [Option<Result<(), Uncovered>>],
    all: &'a All<'a>,
    answers: &'a Answers,
    looks: Looks,
}

/// How much is looked at for a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looks {
    /// As `Needed`, without rows of gates.
    Glance,
    /// Further analyses where a deadline needs more than the first.
    Needed,
    /// Bounds are the least of all analyses.
    Least,
}

/// A channel as it enters queues in a row.
struct Entry {
    channel: usize,
    /// The hops of its path that are these queues.
    hops: Range<usize>,
    source: Result<Arrivals, Uncovered>,
    /// Each row has this much of the deadline, if the deadline can be kept where no packet waits.
    room: Option<Span>,
}

/// The bounds at queues in a row, or which of them is the first without one, and why.
type Found = Result<laxity_curves::FlowBound, Unbounded>;

/// Queues in a row, and what is known of them.
struct Row<'a> {
    entry: &'a Entry,
    /// Whether arrivals are known at all of the queues, or why not.
    known: Result<(), Uncovered>,
    found: &'a Option<Found>,
}

impl Part<'_> {
    fn answers(&self, active: &[usize]) -> Vec<Answer> {
        let paths: Vec<Vec<Hop>> = active.iter().map(|&i| self.tables_on_path(i)).collect();
        let rows = |(i, tables): (&usize, &Vec<Hop>)| self.entries(*i, tables);
        let entries: Vec<Entry> = active.iter().zip(&paths).flat_map(rows).collect();
        let mut queues: Vec<Result<(), Uncovered>> =
            self.queues.iter().map(|queue| queue.unwrap_or(Ok(()))).collect();
        let reach = self.spread(&entries, &mut queues);
        let found = self.bounds(&entries, &reach, &queues);
        let rows = entries.iter().zip(reach).zip(&found);
        let rows: Vec<Row> = rows.map(|((entry, (_, known)), found)| Row { entry, known, found }).collect();
        // Each path has a row at least.
        let of_path = rows.chunk_by(|row, next| row.entry.channel == next.entry.channel);
        of_path.zip(&paths).map(|(rows, tables)| self.answer(rows, tables)).collect()
    }

    fn channel(&self, entry: &Entry) -> &ChannelSpec {
        &self.experiment.channels[entry.channel]
    }

    /// The stations of the queues that `entry` passes.
    fn stations(&self, entry: &Entry) -> &[usize] {
        &self.channel(entry).senders()[entry.hops.clone()]
    }

    /// The promises of the stations with tables on the path of channel `i`.
    fn tables_on_path(&self, i: usize) -> Vec<Hop> {
        on_path(self.experiment, self.answers, i).map(|reserved| self.all.hop(i, reserved)).collect()
    }

    /// Channel `i` as it enters each row of queues, with the promises of the stations with `tables`.
    fn entries(&self, i: usize, tables: &[Hop]) -> Vec<Entry> {
        let channel = &self.experiment.channels[i];
        let senders = channel.senders();
        let hops: Vec<usize> =
            (0..senders.len()).filter(|hop| self.queues[senders[*hop]].is_some()).collect();
        let rows = hops.chunk_by(|hop, next| hop + 1 == *next).map(|row| row[0]..row[0] + row.len());
        let rows: Vec<Range<usize>> = rows.collect();
        let room = self.room(channel, &hops, tables).map(|room| room / rows.len() as u64);
        let entry = |hops: Range<usize>| {
            let source = once_each(&senders[hops.clone()]).and_then(|()| self.source(channel, &hops, tables));
            Entry { channel: i, hops, source, room }
        };
        rows.into_iter().map(entry).collect()
    }

    /// The arrivals of `channel` at the first of `hops`: its limits, and the jitter since then.
    fn source(
        &self,
        channel: &ChannelSpec,
        hops: &Range<usize>,
        tables: &[Hop],
    ) -> Result<Arrivals, Uncovered> {
        let (experiment, first) = (self.experiment, hops.start);
        let (committed, _) = experiment.commitment(channel);
        let kept = keeps_contract(experiment, channel);
        let regulated = self.regulated(channel, hops);
        let arrivals = |burst: u32, jitter: Span| {
            let burst = if regulated { burst.max(committed) } else { burst };
            let mut limits = limits(experiment, channel, channel.route[first], burst);
            if kept && !regulated {
                limits.extend(further(experiment, channel, channel.route[first], burst));
            }
            // A period is rounded to the picosecond, which logical arrivals do not show of the first limit.
            let rounded = if limits.len() > 1 { jitter.max(PERIOD) } else { jitter };
            (limits, rounded)
        };
        if first > 0 {
            return Ok(arrivals(1, self.jitter(channel, first, tables)?));
        }
        let from = channel.route[0];
        let horizon = experiment.host(from).subsystem.early.horizon;
        match experiment.holds(from) && horizon < Span::MAX {
            true => Ok(arrivals(1, horizon)),
            false if kept => Ok(arrivals(channel.spec.burst, PERIOD)),
            false => Err(Uncovered::FifoExcess),
        }
    }

    /// The jitter of `channel` at hop `first`, behind stations with `tables`: the least of those since each
    /// station that holds messages, and since the source.
    fn jitter(&self, channel: &ChannelSpec, first: usize, tables: &[Hop]) -> Result<Span, Uncovered> {
        let (experiment, last) = (self.experiment, first - 1);
        let from = channel.route[last];
        let smallest = channel.spec.smallest_packet(experiment.packet());
        let fastest = experiment.link(from, experiment.link_out(channel, last));
        let fastest = fastest.map_or(Span::ZERO, |link| link.transmit(smallest));
        let least = fastest.saturating_add(experiment.launch(from).unwrap_or_default());
        let table = |hop: usize| {
            let known = tables.iter().find(|table| table.hop == hop);
            let known = known.ok_or_else(|| match hop == last {
                true => self.all.without_table(channel, hop),
                false => Uncovered::FifoEarly,
            })?;
            keeps_order(&experiment.networks[channel.ways[hop]]).map(|()| known)
        };
        let regulated = experiment.regulates(channel.route[first], channel);
        let (mut since, mut jitter) = (Span::ZERO, None::<Span>);
        for hop in (if regulated { last } else { 0 }..first).rev() {
            let station = channel.route[hop];
            let table = match table(hop) {
                Ok(table) => table,
                Err(why) => return jitter.ok_or(why),
            };
            let held = experiment.holds(station) && experiment.horizon(station) < Span::MAX;
            // Behind a table messages are not in the order of their logical arrivals.
            if regulated && (!held || experiment.keeps_arrivals(station)) {
                return Err(Uncovered::AtsOrder);
            }
            let way = if hop < last { table.way } else { Span::ZERO };
            since = since.saturating_add(table.kept).saturating_add(way);
            let early = held.then(|| experiment.horizon(station));
            let burst = || channel.spec.min_interval.saturating_mul(u64::from(channel.spec.burst - 1));
            let of_source = (hop == 0 && keeps_contract(experiment, channel)).then(burst);
            let each = early.into_iter().chain(of_source);
            let found = each.map(|early| since.saturating_sub(least).saturating_add(early));
            jitter = jitter.into_iter().chain(found).min();
        }
        jitter.ok_or(Uncovered::FifoExcess)
    }

    /// Whether `channel` passes a regulator at one of `hops`.
    fn regulated(&self, channel: &ChannelSpec, hops: &Range<usize>) -> bool {
        let stations = &channel.senders()[hops.clone()];
        stations.iter().any(|station| self.experiment.regulates(*station, channel))
    }

    /// The framing of the links of the queues that `entry` passes.
    fn framing(&self, entry: &Entry) -> LinkCosts {
        let link = self.experiment.link(self.stations(entry)[0], LinkId::FIRST);
        link.expect("the times of a queue are known")
    }

    /// For each channel, the number of its queues from which a bound is known of what arrives, and
    /// why not of all.
    ///
    /// A queue without a bound delays what passes it by any time, so later queues have none either, up to
    /// a meter.
    fn spread(
        &self,
        entries: &[Entry],
        queues: &mut [Result<(), Uncovered>],
    ) -> Vec<(usize, Result<(), Uncovered>)> {
        loop {
            let mut spreads = false;
            let mut all = Vec::with_capacity(entries.len());
            for entry in entries {
                let path = self.stations(entry);
                let alike = self.framed_alike(entry);
                let failed = path.iter().position(|station| queues[*station].is_err());
                let (reach, why) = match (&entry.source, &alike, failed) {
                    (Err(why), _, _) | (_, Err(why), _) => (0, Err(*why)),
                    (_, _, Some(at)) => (at, queues[path[at]]),
                    (_, _, None) => (path.len(), Ok(())),
                };
                if let Err(why) = why {
                    let end = self.restored(entry, reach).map_or(path.len(), |(place, _)| place);
                    // Behind the meter up to the next queue without a bound.
                    let again = path[end..].iter().position(|station| queues[*station].is_err());
                    let again = again.map_or(path.len(), |place| end + place);
                    for station in path[reach..end].iter().chain(&path[again..]) {
                        spreads |= queues[*station].is_ok();
                        queues[*station] = queues[*station].and(Err(why));
                    }
                }
                all.push((reach, why));
            }
            if !spreads {
                return all;
            }
        }
    }

    /// Whether all links of the queues of `entry` frame packets alike, and a station's link leads to
    /// each next station over one network.
    fn framed_alike(&self, entry: &Entry) -> Result<(), Uncovered> {
        let framing = |link: &LinkCosts| (link.shortest, link.around);
        let own = framing(&self.framing(entry));
        let other = |station: &usize| {
            self.experiment.link(*station, LinkId::FIRST).is_none_or(|link| framing(&link) != own)
        };
        match self.stations(entry).iter().any(other) {
            true => Err(Uncovered::FifoFraming),
            false => Ok(()),
        }
    }

    /// The bounds of the network of all queues.
    fn bounds(
        &self,
        entries: &[Entry],
        reach: &[(usize, Result<(), Uncovered>)],
        queues: &[Result<(), Uncovered>],
    ) -> Vec<Option<Found>> {
        let experiment = self.experiment;
        let mut places: BTreeMap<(usize, LinkId), usize> = BTreeMap::new();
        let mut servers = Vec::new();
        let smallest =
            entries.iter().map(|entry| frames(experiment, self.channel(entry), self.framing(entry)).0);
        let smallest = smallest.min().unwrap_or(Bytes::new(1));
        let mut place = |station: usize, link: LinkId, costs: LinkCosts| {
            *places.entry((station, link)).or_insert_with(|| {
                servers.push(server(experiment, station, costs, smallest));
                servers.len() - 1
            })
        };
        let known = entries.iter().zip(reach).enumerate().flat_map(|(row, (entry, (reach, why)))| {
            let own = entry.source.as_ref().ok().filter(|_| *reach > 0);
            let own = own.map(|source| (entry, 0..*reach, source.clone(), Some(row)));
            let behind = why.err().and_then(|_| self.behind_meter(entry, *reach, queues));
            own.into_iter().chain(behind.map(|(part, source)| (entry, part, source, None)))
        });
        let (mut flows, mut of) = (Vec::new(), Vec::new());
        // By channel and the hop at which a flow of it begins.
        let mut begun = BTreeMap::new();
        for (entry, part, (source, jitter), row) in known {
            let channel = self.channel(entry);
            let framing = self.framing(entry);
            let link = |station: usize| experiment.link(station, LinkId::FIRST).expect("a queue has a link");
            let first = entry.hops.start + part.start;
            let path = self.stations(entry)[part].iter();
            let path: Vec<usize> =
                path.map(|&station| place(station, LinkId::FIRST, link(station))).collect();
            // The link before, if its frames are as long as those here.
            let enters = first.checked_sub(1).and_then(|hop| {
                let by = experiment.link_out(channel, hop);
                let costs = experiment.link(channel.route[hop], by)?;
                let alike = (costs.shortest, costs.around) == (framing.shortest, framing.around);
                (alike && !costs.per_byte.is_zero()).then(|| place(channel.route[hop], by, costs))
            });
            let (shortest, longest) = frames(experiment, channel, framing);
            let (_, tolerance) = experiment.commitment(channel);
            let level = channel.level.unwrap_or(0);
            let copy = channel.copy.and_then(|CopyOf { channel, hops }| {
                let flow: usize = *begun.get(&(channel, first))?;
                let sent: &Flow = &flows[flow];
                let hops = hops.checked_sub(first)?.min(path.len()).min(sent.path.len());
                (hops > 0).then_some(laxity_curves::CopyOf { flow, hops })
            });
            begun.insert((entry.channel, first), flows.len());
            flows.push(Flow {
                path,
                level,
                source,
                jitter,
                tolerance,
                entry: enters,
                shortest,
                longest,
                copy,
            });
            of.push(row);
        }
        let network =
            QueueNetwork::new(servers, flows).expect("queues have rates, and channels have contracts");
        // Analyses beyond the first can help if a deadline is between the two.
        let needed = |flow: usize, delay: Span| {
            let row: Option<usize> = of[flow];
            row.and_then(|row| entries[row].room).is_some_and(|room| delay > room)
        };
        let effort = Effort { rows: self.looks != Looks::Glance, ..Effort::default() };
        let wanted = |flow: usize, delay: Span| self.looks == Looks::Least || needed(flow, delay);
        let bounds = bounds_where(&network, effort, wanted);
        let mut found: Vec<Option<Found>> = entries.iter().map(|_| None).collect();
        for (row, bound) in of.iter().zip(bounds) {
            if let Some(row) = *row {
                found[row] = Some(bound);
            }
        }
        self.share(entries, &mut found);
        found
    }
}

/// Whether a path passes no station twice.
fn once_each(stations: &[usize]) -> Result<(), Uncovered> {
    match (1..stations.len()).any(|hop| stations[..hop].contains(&stations[hop])) {
        true => Err(Uncovered::FifoTwice),
        false => Ok(()),
    }
}
