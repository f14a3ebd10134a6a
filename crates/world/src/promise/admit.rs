//! Admission of an experiment's channels in their order, with all of them in place, and of copies
//! of one.

use std::collections::BTreeMap;

use laxity_admission::reception::bound;
use laxity_admission::{AdmissionId, Bound, Formula, Request};
use laxity_qos::channel::Role;
use laxity_qos::discipline::Class;
use laxity_units::Span;

use super::answer::{Hop, Promise, Promises};
use super::division::ENOUGH;
use super::table::{Answer, Reservation, Reserved, Tables, longest_way, on_path};
use super::{arriving, asks, backlog, chances, computing, fifo, via};
use crate::coverage::{Coverage, Uncovered, coverage, is_queue, notices, receiving, spaced};
use crate::experiment::{ChannelSpec, Experiment, HostSpec, ReceiverSpec, System};

/// Admits the channels of `experiment` in order, by `formula`; or why none of them can be promised
/// anything.
pub fn promises(experiment: &Experiment, formula: Formula) -> Result<Promises, Uncovered> {
    let channels = match &experiment.system {
        System::Hosts { receivers } if receivers.is_empty() => {
            return along_paths(experiment, formula).map(|promises| together(experiment, promises));
        }
        System::Hosts { .. } => {
            return arriving::promises(experiment, formula).map(|promises| together(experiment, promises));
        }
        System::Receiver(receiver) => where_they_come_in(experiment, receiver)?,
        System::Signalled(_) => return Err(Uncovered::Signalled),
        System::VirtualInterfaces(spec) => via::connections(experiment, spec)?,
    };
    Ok(Promises { formula, channels, computing: Vec::new() })
}

/// The same, where a multicast of which one channel is refused is refused whole.
fn together(experiment: &Experiment, mut promises: Promises) -> Promises {
    let mut first = 0;
    while first < promises.channels.len() {
        let all = experiment.multicast(first);
        let channels = &mut promises.channels[all.clone()];
        if all.len() > 1
            && let Some(place) = channels.iter().position(Promise::is_refused)
        {
            let refused = match &channels[place] {
                Promise::Unkept(why) => {
                    let name = &experiment.channels[first + place].name;
                    Promise::Unkept(format!("`{name}` of the same multicast: {why}"))
                }
                refused => refused.clone(),
            };
            channels.iter_mut().filter(|it| !it.is_refused()).for_each(|it| *it = refused.clone());
        }
        first = all.end;
    }
    promises
}

/// The same for the paths of channels, as far as the interfaces at which they end.
pub(super) fn along_paths(experiment: &Experiment, formula: Formula) -> Result<Promises, Uncovered> {
    spaced(experiment)?;
    let mut coverage = coverage(experiment)?;
    if chances::accepted(experiment) {
        let channels = chances::admit(experiment, &coverage, formula)?;
        return Ok(Promises { formula, channels, computing: Vec::new() });
    }
    loop {
        let answered = answered(experiment, &coverage, formula)?;
        let late = fifo::late(experiment, &answered.tables, &answered.answers);
        if late.is_empty() {
            return answered.promises(experiment, formula);
        }
        late.into_iter().for_each(|(node, why)| coverage.withdraw(node, why));
    }
}

/// The answers of all stations.
struct Answered {
    tables: Tables,
    notices: Vec<Span>,
    answers: Vec<Answer>,
    /// What no station keeps.
    unkept: Vec<Option<String>>,
}

/// The answers with the shortest local deadlines of [`ENOUGH`] that refuse no channel; else those that refuse
/// the fewest.
fn answered(experiment: &Experiment, coverage: &Coverage, formula: Formula) -> Result<Answered, Uncovered> {
    let tables = || Tables::new(experiment, coverage, formula);
    let mut best: Option<Answered> = None;
    for enough in ENOUGH {
        let answered = answered_by(experiment, coverage, tables().with_enough(enough))?;
        if !answered.tables.counts_early() {
            return Ok(answered);
        }
        // Queues are kept to the deadlines that channels ask for, and not to shorter ones.
        let answered = match (answered.is_kept(), enough) {
            (true, _) => answered,
            (false, Some(_)) => continue,
            (false, None) => answered_by(experiment, coverage, tables().without_tries())?,
        };
        if answered.refused() == 0 {
            return Ok(answered);
        }
        if best.as_ref().is_none_or(|best| answered.refused() < best.refused()) {
            best = Some(answered);
        }
    }
    Ok(best.expect("the last is kept"))
}

fn answered_by(
    experiment: &Experiment,
    coverage: &Coverage,
    mut tables: Tables,
) -> Result<Answered, Uncovered> {
    let (mut answers, mut unkept) = (Vec::new(), Vec::new());
    for (i, channel) in experiment.channels.iter().enumerate() {
        let request = request(experiment, channel)?;
        let why = request.and_then(|_| asks::unkept(experiment, coverage, channel));
        let request = request.filter(|_| why.is_none());
        let answer = request.map(|request| tables.admit_among(experiment, (i, request), &mut answers));
        answers.push(answer);
        unkept.push(why);
    }
    let notices = notices(experiment);
    tables.order_by_deadline(experiment);
    tables.settle(experiment, &mut answers);
    fifo::admit(experiment, &notices, &mut tables, &mut answers);
    if fifo::passes_queues(experiment) {
        tables.count_early(experiment, &answers);
    }
    Ok(Answered { tables, notices, answers, unkept })
}

impl Answered {
    /// Whether queues and stations keep what others count on.
    fn is_kept(&self) -> bool {
        self.tables.are_kept(&self.answers)
    }

    /// The number of channels that are refused.
    fn refused(&self) -> usize {
        self.answers.iter().filter(|answer| matches!(answer, Some(Err(_)))).count()
    }

    /// The promises; or why there are none.
    fn promises(self, experiment: &Experiment, formula: Formula) -> Result<Promises, Uncovered> {
        let Self { tables, notices, answers, unkept } = self;
        let unbounded = |answer: &Result<Reservation, _>| Some(answer.as_ref().ok()?.unbounded?.1);
        let mut all = answers.iter().flatten().map(unbounded);
        if let Some(Some(why)) = all.next()
            && all.all(|unbounded| unbounded.is_some())
        {
            return Err(why);
        }
        let all = All::of(experiment, &tables, &notices);
        let computing = computing::bounds(&tables, &all.bounds);
        let channels = answers.iter().zip(unkept).enumerate().map(|(i, (answer, why))| match answer {
            None => why.map_or(Promise::BestEffort, Promise::Unkept),
            Some(Err(refused)) => Promise::Refused(*refused),
            Some(Ok(Reservation { unbounded, queues, .. })) => {
                let reserved = on_path(experiment, &answers, i);
                let mut hops: Vec<Hop> = reserved.map(|reserved| all.hop(i, reserved)).collect();
                backlog::backlogs(experiment, i, &notices, &mut hops, queues);
                for queue in queues {
                    match hops.iter_mut().find(|hop| hop.hop == queue.hop) {
                        // A station behind the queues.
                        Some(table) => table.backlog = table.backlog.min(queue.backlog),
                        None => hops.push(queue.clone()),
                    }
                }
                hops.sort_by_key(|hop| hop.hop);
                match unbounded {
                    None => Promise::Admitted(hops),
                    Some((_, why)) => Promise::Unbounded(*why, hops),
                }
            }
        });
        let channels = channels.collect();
        Ok(Promises { formula, channels, computing })
    }
}

/// The promise of every station, with all channels in place.
pub(super) struct All<'a> {
    experiment: &'a Experiment,
    tables: &'a Tables,
    /// Per station.
    bounds: Vec<BTreeMap<AdmissionId, Bound>>,
    /// Per station, how late it may hear of a frame.
    notices: &'a [Span],
}

impl<'a> All<'a> {
    pub(super) fn of(experiment: &'a Experiment, tables: &'a Tables, notices: &'a [Span]) -> Self {
        Self { experiment, bounds: tables.bounds(), notices, tables }
    }

    /// The longest time from the end of a transmission of `channel` at `hop` until the next hop
    /// knows of the packet.
    pub(super) fn way(&self, channel: &ChannelSpec, hop: usize) -> Span {
        longest_way(self.experiment, channel, hop, self.notices)
    }

    /// Why `channel` has no promise of a table at `hop`: the first station up to there without one.
    pub(super) fn without_table(&self, channel: &ChannelSpec, hop: usize) -> Uncovered {
        let mut stations =
            channel.route[..=hop].iter().filter(|station| !is_queue(self.experiment, **station));
        stations.find_map(|station| self.tables.without(*station)).unwrap_or(Uncovered::FifoLeft)
    }

    /// How late the station may hear of a frame.
    pub(super) fn notice(&self, station: usize) -> Span {
        self.notices[station]
    }

    /// The promise to channel `i` where it has `reserved`, without the number of its packets.
    pub(super) fn hop(&self, i: usize, Reserved { hop, node, role, id, asked }: &Reserved) -> Hop {
        let (experiment, node) = (self.experiment, *node);
        let bound = self.bounds[node][id];
        let requested = asked.rate.request.deadline();
        let (wait, service) = self.tables.terms(node, asked, &bound);
        Hop {
            hop: *hop,
            node,
            role: *role,
            bound,
            wait,
            service,
            reading: self.tables.reading(node, *id),
            local_deadline: match experiment.launch(node).filter(|_| *role != Role::Receive) {
                // The CPU goes by launch times.
                Some(launch) => launch,
                None if self.tables.orders_by_bounds(experiment, node) => bound.bound,
                None => requested,
            },
            kept: match self.tables.promises_bounds(experiment, node) {
                true => bound.bound,
                false => requested,
            },
            way: self.way(&experiment.channels[i], *hop),
            backlog: 0,
            frames: self
                .tables
                .inside(experiment, &experiment.channels[i], *hop)
                .and_then(|inside| inside.all)
                .filter(|_| *role != Role::Send),
            room: None,
        }
    }
}

/// The promises to the channels of a receiving host, in their order.
fn where_they_come_in(experiment: &Experiment, receiver: &ReceiverSpec) -> Result<Vec<Promise>, Uncovered> {
    let host = receiving(experiment, receiver)?;
    let asked = |i| Some((i, request_where_it_comes_in(experiment, i)?));
    let (of, requests): (Vec<usize>, Vec<bound::ReceptionRequest>) =
        (0..experiment.channels.len()).filter_map(asked).unzip();
    let mut channels = vec![Promise::BestEffort; experiment.channels.len()];
    for (i, answer) in of.iter().zip(bound::admit(&host, &requests)) {
        channels[*i] = match answer {
            Ok(bound) => Promise::Received(bound),
            Err(refusal) => {
                Promise::Unreceived(bound::ReceptionRefusal { whose: of[refusal.whose], ..refusal })
            }
        };
    }
    Ok(channels)
}

pub(super) fn request_where_it_comes_in(
    experiment: &Experiment,
    i: usize,
) -> Option<bound::ReceptionRequest> {
    let channel = &experiment.channels[i];
    let deadline = channel.deadline.filter(|_| channel.class == Class::RealTime)?;
    Some(bound::ReceptionRequest {
        interface: channel.interface?,
        program: channel.program,
        spec: channel.spec,
        jitter: Span::ZERO,
        deadline,
    })
}

/// The promise of admission by `formula` to each channel of `experiment`: best effort without a
/// formula, or where no formula covers it.
pub fn of_channels(experiment: &Experiment, formula: Option<Formula>) -> Vec<Promise> {
    let promises = formula.and_then(|formula| promises(experiment, formula).ok());
    promises
        .map_or_else(|| vec![Promise::BestEffort; experiment.channels.len()], |promises| promises.channels)
}

/// The result of filling hosts with copies of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filled {
    /// The number of admitted copies.
    pub admitted: u64,
    /// None was refused: it was stopped, and there may be more.
    pub stopped: bool,
}

/// Looks that a fill may take, some half a minute, where each copy takes the square of those before
/// it.
const MOST_LOOKS: u64 = 1 << 34;

/// How many copies of channel `index` are admitted after all others, up to `limit`.
pub fn fill(
    experiment: &Experiment,
    index: usize,
    formula: Formula,
    limit: u64,
) -> Result<Filled, Uncovered> {
    spaced(experiment)?;
    let mut coverage = coverage(experiment)?;
    if chances::accepted(experiment) {
        let admitted = chances::fill(experiment, &coverage, formula, (index, limit))?;
        return Ok(Filled { admitted, stopped: admitted == limit });
    }
    // The bounds of queues are not asked for each copy.
    fifo::stations_behind(experiment).for_each(|node| coverage.withdraw(node, Uncovered::FifoLeft));
    let mut tables = Tables::new(experiment, &coverage, formula);
    if let Some(why) = tables.unbounded(&experiment.channels[index]) {
        return Err(why);
    }
    let mut answers = Vec::new();
    for (i, channel) in experiment.channels.iter().enumerate() {
        let request = request(experiment, channel)?.filter(|_| i != index);
        let answer = request.map(|request| tables.admit_among(experiment, (i, request), &mut answers));
        answers.push(answer);
    }
    let channel = &experiment.channels[index];
    let Some(copy) = request(experiment, channel)? else { return Ok(Filled { admitted: 0, stopped: false }) };
    let steep = tables.looks_at_pairs(channel);
    let (mut admitted, mut asks, mut wait, mut looks) = (0, 0, 1, 0);
    while admitted < limit && looks < MOST_LOOKS {
        let Ok(last) = tables.admit_among(experiment, (index, copy), &mut answers) else {
            return Ok(Filled { admitted, stopped: false });
        };
        admitted += 1;
        looks += if steep { admitted * admitted } else { 0 };
        // To ask for many costs as much as for one, and is in vain where each has to be looked at.
        if admitted < asks {
            continue;
        }
        let further = tables.admit_alike(&last, limit - admitted);
        admitted += further;
        wait = if further > 0 { 1 } else { wait * 2 };
        asks = admitted + wait;
    }
    Ok(Filled { admitted, stopped: true })
}

/// `T_service` of the first channel's largest message at its sender, by `formula`.
pub fn service(experiment: &Experiment, formula: Formula) -> Option<Span> {
    let tables = Tables::new(experiment, &coverage(experiment).ok()?, formula);
    let channel = &experiment.channels[0];
    // The time of a lone message does not depend on its request.
    let request = Request::new(channel.spec, channel.spec.min_interval).ok()?;
    Some(tables.terms_of_sender(experiment, channel, &request)?.1.total())
}

pub(super) fn request(experiment: &Experiment, channel: &ChannelSpec) -> Result<Option<Request>, Uncovered> {
    let deadline = asks::deadline(experiment, channel).filter(|_| channel.class == Class::RealTime);
    let Some(deadline) = deadline else { return Ok(None) };
    Request::new(channel.spec, deadline).map(Some).map_err(|_| Uncovered::ContractRange)
}

/// Per node and application, the response time of its budget from the beginning of a period; `None`
/// without a promise.
pub fn of_computing(experiment: &Experiment, formula: Option<Formula>) -> Vec<Vec<Option<Span>>> {
    let hosts = || (0..experiment.nodes.len()).map(|node| experiment.host(node));
    let asks = hosts().any(HostSpec::has_budgets);
    let promised = formula.filter(|_| asks).and_then(|formula| promises(experiment, formula).ok());
    let promised = promised.map(|promises| promises.computing).unwrap_or_default();
    let of = |(node, host): (usize, &HostSpec)| match promised.get(node) {
        Some(Ok(bounds)) if !bounds.is_empty() => bounds.clone(),
        _ => vec![None; host.computing.len()],
    };
    hosts().enumerate().map(of).collect()
}

/// Whether channel `index` is admitted in its turn.
pub(super) fn fits(experiment: &Experiment, formula: Formula, index: usize) -> bool {
    let promises = promises(experiment, formula);
    promises.is_ok_and(|promises| !promises.channels[index].is_refused())
}
