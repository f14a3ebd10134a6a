//! End-to-end bounds of channels that pass FIFO queues, by network calculus.
//!
//! A FIFO queue holds no early packet, so no table of a station alone has a bound. The queues of
//! all channels form one network of `laxity_curves` instead. A channel enters it
//!
//! * at its host, if that is such a queue itself: with its contract, or one message an interval if
//!   the CPU holds early messages;
//! * at a port behind stations with tables. The last of these holds early packets. A packet leaves
//!   it by its logical arrival plus the promised delay there, and no sooner than a horizon before.
//!   So messages are an interval apart but for a jitter of both, less the shortest transmission. With
//!   launch times a packet leaves the station no sooner than that, so the jitter is shorter by them.
//!   Packets that share the link of that station arrive one after the other.
//!
//! The bound is the promise of the stations before, the bound of the network, the promise of the host
//! behind it (`fifo/end.rs`), and the paths between stations. Each path takes a constant time, which shifts
//! all arrivals at a station alike, so the network needs none of them. The promise at a queue is the growth
//! of the bound there.

mod end;
mod metered;
mod present;
mod server;

use std::collections::BTreeMap;

use laxity_admission::{
    AdmissionId, AdmissionRefusal, Bound, Breakdown, Claimant, Deficit, Reason, Scarce, Term,
};
use laxity_curves::{Bucket, Effort, Flow, QueueNetwork, Unbounded, bounds_where};
use laxity_qos::channel::{LinkId, Role};
use laxity_qos::costs::LinkCosts;
use laxity_units::{Bytes, Span};

pub(super) use self::end::{late, receiver, receivers};
pub(super) use self::server::of_host;
use self::server::{frames, limits, server};
use super::admit::All;
use super::analyses::Reading;
use super::answer::{Hop, Promise, Refused};
use super::refusal::are_copies;
use super::table::{Reservation, Reserved, Tables};
use crate::coverage::{Uncovered, delivers_at_once, keeps_order, passes, queue};
use crate::experiment::{ChannelSpec, Experiment};
use crate::traffic::conformance::conforms;

/// The promises of a channel's queues, the receiver included if it delivers at once; or why there
/// are none.
type Tail = Result<Vec<Hop>, Uncovered>;

/// The limits that a channel keeps somewhere, and the jitter since then.
type Arrivals = (Vec<Bucket>, Span);

/// The answer to a channel that passes queues.
enum Answer {
    Tail(Tail),
    /// The bound exceeds the deadline by this, or there is none; where it grows most.
    Late(Deficit, usize),
}

/// Admits the channels that pass FIFO queues, in the order of the file, and writes their promises
/// into the reservations that `answers` has.
pub(super) fn admit(
    experiment: &Experiment,
    notices: &[Span],
    tables: &mut Tables,
    answers: &mut [Option<Result<Reservation, Refused>>],
) {
    let stations = (0..experiment.stations()).map(|station| queue(experiment, station));
    let queues: Vec<Option<Result<(), Uncovered>>> = stations.collect();
    let passes = |i: &usize| first(&queues, &experiment.channels[*i]).is_some();
    let reserved = |i: &usize| matches!(answers[*i], Some(Ok(_)));
    let mut active: Vec<usize> = (0..answers.len()).filter(|i| passes(i) && reserved(i)).collect();
    loop {
        let of = |active: &[usize], least| {
            let all = All::of(experiment, tables, notices);
            Part { experiment, queues: &queues, all: &all, answers, least }.answers(active)
        };
        let late =
            |answers: &[Answer]| answers.iter().position(|answer| matches!(answer, Answer::Late(_, _)));
        let fits = |active: &[usize]| late(&of(active, false)).is_none();
        let (mut found, mut number) = (Vec::new(), active.len());
        if fits(&active) {
            found = of(&active, true);
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
                let (Some(Ok(reservation)), Answer::Tail(tail)) = (&mut answers[i], answer) else { continue };
                (reservation.unbounded, reservation.queues) = match tail {
                    Ok(hops) => (None, hops),
                    Err(why) => (Some(why), Vec::new()),
                };
            }
            return;
        }
        let refused = active[number - 1];
        let mut found = of(&active[..number], false);
        let place = late(&found);
        let whose = place.map(|place| active[place]).filter(|late| *late != refused);
        let refusal = match place.map(|place| found.swap_remove(place)) {
            Some(Answer::Late(deficit, node)) => Refused { whose, ..refusal(experiment, deficit, node) },
            _ => refusal(experiment, Deficit::Unbounded, experiment.channels[refused].route[0]),
        };
        // A copy that has no reservation before the queues would be refused for the same reason.
        let none_before = matches!(&answers[refused], Some(Ok(it)) if it.reserved.is_empty());
        let is_copy = |i: &&usize| none_before && are_copies(experiment, refused, **i);
        let alike = active[number..].iter().take_while(is_copy).count();
        for i in active.drain(number - 1..number + alike) {
            if let Some(Ok(reservation)) = answers[i].replace(Err(refusal)) {
                tables.give_up(reservation.reserved);
            }
        }
        tables.settle(answers);
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

fn refusal(experiment: &Experiment, deficit: Deficit, node: usize) -> Refused {
    let selects = experiment.outlet(node).is_some_and(|outlet| outlet.config.selection.is_some());
    let (resource, reason) = match deficit {
        Deficit::Time(_) => (Scarce::Deadline, Reason::LateTogether),
        _ if selects => (Scarce::Link, Reason::Withheld),
        _ => (Scarce::Link, Reason::Overload),
    };
    Refused {
        node,
        refusal: AdmissionRefusal::new(resource, deficit, reason, Claimant::Newcomer),
        whose: None,
    }
}

/// The first hop of `channel` that is a queue.
fn first(queues: &[Option<Result<(), Uncovered>>], channel: &ChannelSpec) -> Option<usize> {
    channel.senders().iter().position(|station| queues[*station].is_some())
}

/// All channels and queues, at one point of admission.
struct Part<'a> {
    experiment: &'a Experiment,
    queues: &'a [Option<Result<(), Uncovered>>],
    all: &'a All<'a>,
    answers: &'a [Option<Result<Reservation, Refused>>],
    /// Bounds are the least of all analyses; else only where a deadline needs more than the first.
    least: bool,
}

/// A channel as it enters the queues.
struct Entry {
    channel: usize,
    /// The first hop that is a queue.
    first: usize,
    /// Promises of the stations before.
    before: Vec<Hop>,
    /// The promise of the host behind them, if it takes time for a message.
    end: Option<Hop>,
    source: Result<Arrivals, Uncovered>,
}

/// The bounds at queues in a row, or which of them is the first without one, and why.
type Found = Result<laxity_curves::FlowBound, Unbounded>;

impl Part<'_> {
    fn answers(&self, active: &[usize]) -> Vec<Answer> {
        let entries: Vec<Entry> = active.iter().map(|&i| self.entry(i)).collect();
        let mut queues: Vec<Result<(), Uncovered>> =
            self.queues.iter().map(|queue| queue.unwrap_or(Ok(()))).collect();
        loop {
            let reach = self.spread(&entries, &mut queues);
            let found = self.bounds(&entries, &reach, &queues);
            if self.blocks(&entries, &found, &mut queues) {
                continue;
            }
            let answer = |(entry, reach, found): (&Entry, &Result<usize, Uncovered>, &Option<Found>)| match (
                reach, found,
            ) {
                (Err(why), _) => Answer::Tail(Err(*why)),
                (Ok(_), Some(Ok(found))) => match self.passes_meter(entry, found) {
                    Ok(()) => self.judged(entry, found),
                    Err(why) => Answer::Tail(Err(why)),
                },
                (Ok(_), Some(Err(Unbounded { hop: _, disordered: true }))) => {
                    Answer::Tail(Err(Uncovered::AtsOrder))
                }
                (Ok(_), Some(Err(Unbounded { hop, disordered: false }))) => {
                    Answer::Late(Deficit::Unbounded, self.senders(entry)[entry.first + hop])
                }
                (Ok(_), None) => Answer::Late(Deficit::Unbounded, self.senders(entry)[entry.first]),
            };
            let all = entries
                .iter()
                .zip(&reach)
                .zip(&found)
                .map(|((entry, reach), found)| (entry, &reach.1, found));
            return all.map(answer).collect();
        }
    }

    fn channel(&self, entry: &Entry) -> &ChannelSpec {
        &self.experiment.channels[entry.channel]
    }

    fn senders(&self, entry: &Entry) -> &[usize] {
        self.channel(entry).senders()
    }

    /// Channel `i` as it enters the queues.
    fn entry(&self, i: usize) -> Entry {
        let channel = &self.experiment.channels[i];
        let first = first(self.queues, channel).expect("an active channel passes a queue");
        let reservation = self.answers[i].as_ref().and_then(|answer| answer.as_ref().ok());
        let reserved = reservation.map_or(&[][..], |reservation| &reservation.reserved);
        let of = |reserved: &Reserved| self.all.hop(i, reserved);
        let before: Vec<Hop> = reserved.iter().filter(|reserved| reserved.hop < first).map(of).collect();
        let end = reserved.last().filter(|reserved| reserved.hop > first).map(of);
        let source = match reservation.and_then(|reservation| reservation.unbounded) {
            Some(why) if before.len() < first => Err(why),
            _ => self.path(channel, first).and_then(|()| self.source(channel, first, &before)),
        };
        Entry { channel: i, first, before, end, source }
    }

    /// Whether `channel` passes queues only from hop `first` on, each once.
    fn path(&self, channel: &ChannelSpec, first: usize) -> Result<(), Uncovered> {
        let rest = &channel.senders()[first..];
        if rest.iter().any(|station| self.queues[*station].is_none()) {
            return Err(Uncovered::FifoLeft);
        }
        match rest.iter().enumerate().any(|(hop, station)| rest[..hop].contains(station)) {
            true => Err(Uncovered::FifoTwice),
            false => Ok(()),
        }
    }

    /// The arrivals of `channel` at hop `first`: its limits, and the jitter since then.
    fn source(&self, channel: &ChannelSpec, first: usize, before: &[Hop]) -> Result<Arrivals, Uncovered> {
        let experiment = self.experiment;
        let (from, horizon) = match first.checked_sub(1) {
            Some(hop) => (channel.route[hop], experiment.horizon(channel.route[hop])),
            None => (channel.route[0], experiment.host(channel.route[0]).subsystem.early.horizon),
        };
        let (committed, _) = experiment.commitment(channel);
        let limits = |burst: u32| {
            let burst = if self.regulated(channel, first) { burst.max(committed) } else { burst };
            limits(experiment, channel, channel.route[first], burst)
        };
        if experiment.holds(from) && horizon < Span::MAX {
            let Some((hop, last)) = first.checked_sub(1).zip(before.last()) else {
                return Ok((limits(1), horizon));
            };
            keeps_order(&experiment.networks[channel.ways[hop]])?;
            // Behind a table messages are not in the order of their logical arrivals.
            if experiment.regulates(channel.route[first], channel) && experiment.keeps_arrivals(from) {
                return Err(Uncovered::AtsOrder);
            }
            let smallest = channel.spec.smallest_packet(experiment.packet());
            let fastest = experiment.link(from, experiment.link_out(channel, hop));
            let fastest = fastest.map_or(Span::ZERO, |link| link.transmit(smallest));
            let least = fastest.saturating_add(experiment.launch(from).unwrap_or_default());
            return Ok((limits(1), last.kept.saturating_sub(least).saturating_add(horizon)));
        }
        if first > 0 {
            return Err(Uncovered::FifoEarly);
        }
        match conforms(channel) && channel.carries.is_none() && experiment.commands.is_empty() {
            // A period is rounded to the picosecond.
            true => Ok((limits(channel.spec.burst), Span::from_ps(1))),
            false => Err(Uncovered::FifoExcess),
        }
    }

    /// Whether `channel` passes a regulator from hop `first` on.
    fn regulated(&self, channel: &ChannelSpec, first: usize) -> bool {
        channel.senders()[first..].iter().any(|station| self.experiment.regulates(*station, channel))
    }

    /// The framing of the links of the queues that `channel` passes.
    fn framing(&self, channel: &ChannelSpec, first: usize) -> LinkCosts {
        let link = self.experiment.link(channel.route[first], LinkId::FIRST);
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
    ) -> Vec<(usize, Result<usize, Uncovered>)> {
        loop {
            let mut spreads = false;
            let mut all = Vec::with_capacity(entries.len());
            for entry in entries {
                let path = &self.senders(entry)[entry.first..];
                let alike = self.framed_alike(entry);
                let failed = path.iter().position(|station| queues[*station].is_err());
                let (reach, why) = match (&entry.source, &alike, failed) {
                    (Err(why), _, _) | (_, Err(why), _) => (0, Err(*why)),
                    (_, _, Some(at)) => (at, queues[path[at]].map(|()| path.len())),
                    (_, _, None) => (path.len(), Ok(path.len())),
                };
                if let Err(why) = why {
                    let end = self.restored(entry, reach).map_or(path.len(), |(place, _)| place);
                    for station in path.iter().take(end).skip(reach) {
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
        let channel = self.channel(entry);
        let framing = |link: &LinkCosts| (link.shortest, link.around);
        let own = framing(&self.framing(channel, entry.first));
        let other = |station: &usize| {
            self.experiment.link(*station, LinkId::FIRST).is_none_or(|link| framing(&link) != own)
        };
        match self.senders(entry)[entry.first..].iter().any(other) {
            true => Err(Uncovered::FifoFraming),
            false => Ok(()),
        }
    }

    /// The bounds of the network of all queues.
    fn bounds(
        &self,
        entries: &[Entry],
        reach: &[(usize, Result<usize, Uncovered>)],
        queues: &[Result<(), Uncovered>],
    ) -> Vec<Option<Found>> {
        let experiment = self.experiment;
        let mut places: BTreeMap<(usize, LinkId), usize> = BTreeMap::new();
        let mut servers = Vec::new();
        let smallest = entries.iter().map(|entry| {
            frames(experiment, self.channel(entry), self.framing(self.channel(entry), entry.first)).0
        });
        let smallest = smallest.min().unwrap_or(Bytes::new(1));
        let mut place = |station: usize, link: LinkId, costs: LinkCosts| {
            *places.entry((station, link)).or_insert_with(|| {
                servers.push(server(experiment, station, costs, smallest));
                servers.len() - 1
            })
        };
        let known = entries.iter().zip(reach).flat_map(|(entry, (reach, why))| {
            let own = entry.source.as_ref().ok().filter(|_| *reach > 0);
            let own = own.map(|source| (entry, 0..*reach, source.clone(), true));
            let behind = why.err().and_then(|_| self.behind_meter(entry, *reach, queues));
            own.into_iter().chain(behind.map(|(part, source)| (entry, part, source, false)))
        });
        let (mut flows, mut of) = (Vec::new(), Vec::new());
        for (entry, part, (source, jitter), is_own) in known {
            let channel = self.channel(entry);
            let framing = self.framing(channel, entry.first);
            let link = |station: usize| experiment.link(station, LinkId::FIRST).expect("a queue has a link");
            let first = entry.first + part.start;
            let path = channel.senders()[first..entry.first + part.end].iter();
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
            flows.push(Flow { path, level, source, jitter, tolerance, entry: enters, shortest, longest });
            of.push(is_own.then_some(entry));
        }
        let network =
            QueueNetwork::new(servers, flows).expect("queues have rates, and channels have contracts");
        // Analyses beyond the first can help if a deadline is between the two.
        let needed = |flow: usize, delay: Span| {
            let Some((least, most)) = of[flow].map(|entry| self.room(entry)) else { return false };
            least && delay > most
        };
        let bounds =
            bounds_where(&network, Effort::default(), |flow, delay| self.least || needed(flow, delay));
        let found = of.iter().zip(bounds).filter_map(|(of, bound)| Some((of.as_ref()?.channel, bound)));
        let mut found: BTreeMap<usize, Found> = found.collect();
        entries.iter().map(|entry| found.remove(&entry.channel)).collect()
    }

    /// The promises of the queues of a channel, if they keep its deadline.
    fn judged(&self, entry: &Entry, found: &laxity_curves::FlowBound) -> Answer {
        let (experiment, channel) = (self.experiment, self.channel(entry));
        let deadline = channel.deadline.unwrap_or(Span::MAX);
        let packets = channel.spec.fragmentation(experiment.packet()).packets();
        let mut hops = Vec::new();
        let mut passed = Span::ZERO;
        let last = channel.route.len() - 1;
        let at_once = channel.received && delivers_at_once(experiment, channel.route[last]);
        for (place, &by) in found.passed.iter().enumerate() {
            let hop = entry.first + place;
            let (kept, node) = (by.saturating_sub(passed), channel.route[hop]);
            passed = passed.max(by);
            let link = experiment.link(node, LinkId::FIRST).unwrap_or_default();
            let own = link.transmit(channel.spec.largest_packet(experiment.packet())).min(kept);
            let backlog = self.present(entry, found, place).saturating_mul(packets);
            let role = if hop == 0 { Role::Send } else { Role::Relay };
            hops.push(self.hop(channel, (hop, node, role), (kept.saturating_sub(own), own), backlog));
        }
        let until = through(entry.before.iter().chain(&hops));
        // A message can wait for the bound of its whole path, and is early by its jitter at most.
        let present = |stay: Span| {
            let window =
                until.saturating_add(stay).saturating_add(found.jitter[0]).saturating_add(found.jitter[0]);
            self.within(entry, window).saturating_mul(packets)
        };
        if at_once {
            let here = (last, channel.route[last], Role::Receive);
            hops.push(self.hop(channel, here, (Span::ZERO, Span::ZERO), present(Span::ZERO)));
        } else if let Some(end) = &entry.end {
            let backlog = present(end.kept.saturating_add(self.all.notice(end.node)));
            hops.push(Hop { backlog, ..end.clone() });
        }
        let slowest = hops.iter().max_by_key(|hop| hop.kept).map_or(channel.route[0], |hop| hop.node);
        let promise = Promise::Admitted(entry.before.iter().chain(&hops).cloned().collect());
        match promise.end_to_end_bound() {
            Some(bound) if bound <= deadline => Answer::Tail(Ok(hops)),
            Some(bound) => Answer::Late(Deficit::Time(bound.saturating_sub(deadline)), slowest),
            None => Answer::Late(Deficit::Unbounded, slowest),
        }
    }

    fn hop(
        &self,
        channel: &ChannelSpec,
        (hop, node, role): (usize, usize, Role),
        (wait, service): (Span, Span),
        backlog: u64,
    ) -> Hop {
        let kept = wait.saturating_add(service);
        let (id, deadline) = (AdmissionId::of_number(hop as u64), channel.deadline.unwrap_or(kept));
        let (higher, interference, head_start) = (Span::ZERO, Span::ZERO, Span::ZERO);
        let bound = Bound {
            id,
            priority: 0,
            level: None,
            deadline,
            bound: kept,
            wait,
            service,
            higher,
            interference,
            head_start,
        };
        let term = |name, cost: Span| {
            Breakdown::of((!cost.is_zero()).then_some(Term { name, cost }).into_iter().collect())
        };
        Hop {
            hop,
            node,
            role,
            bound,
            wait: term("frames before it in the FIFO queue", wait),
            service: term("its own transmission", service),
            reading: Reading::default(),
            local_deadline: kept,
            kept,
            way: self.all.way(channel, hop),
            backlog,
            frames: None,
            room: None,
        }
    }
}
