//! Admission of an experiment's channels: who is promised what before anything runs.
//!
//! Every host has a table of its own. A channel asks each host of its way for the same local delay, or each for what it needs (`division.rs`), and is admitted if all
//! of them can keep it; then the bound of its messages is made up host by host. A message counts as arrived at the next host
//! when its local deadline here and the longest way have passed, however early it comes: so each host has to reserve
//! for the contract only, and what is ahead of its time is held (Kandlur, Shin and Ferrari 1994).

mod ahead;
mod arrivals;
mod backlog;
mod computing;
mod cores;
mod departures;
mod division;
mod environment;
mod frames;
mod leg;
mod links;
mod refusal;
mod room;
mod station;
mod table;
mod via;

use std::collections::BTreeMap;

use laxity_qos::admission::{AdmissionId, Bound, Breakdown, Formula, Reason, Refusal, Request, Test};
use laxity_qos::channel::{Order, Role};
use laxity_qos::discipline::Class;
use laxity_qos::reception::bound::{self, Missing};
use laxity_units::Span;

pub use crate::coverage::Uncovered;
use crate::coverage::{coverage, notices, receiving};
use crate::experiment::{ChannelSpec, Experiment, LocalDeadline};
use station::GoesBy;
use table::{Reservation, Reserved, Tables};

pub(crate) use arrivals::by_sender;
pub(crate) use backlog::held;
pub use computing::of_computing;
pub(crate) use departures::makes;
pub use refusal::{Advice, Fit, Shortfall, fit, shortfall, undelivered};
pub use room::Room;
pub use via::Connection;

/// What admission answered to an experiment.
#[derive(Debug, Clone)]
pub struct Promises {
    /// Whose formulas.
    pub formula: Formula,
    /// Per channel, in the experiment's order.
    pub channels: Vec<Promise>,
    /// Per node and application that computes there: by when each budget is done, from the beginning of its period.
    pub computing: Vec<Vec<Option<Span>>>,
}

/// What admission answered to one channel.
#[derive(Debug, Clone)]
pub enum Promise {
    /// Best effort asks for nothing.
    BestEffort,
    /// Admitted at every host of its way, in its order; the last may be missing if it only receives.
    Admitted(Vec<Hop>),
    /// Promised nothing, since no analysis covers its way; admitted as far as one does, for the others' sake.
    Unbounded(Uncovered, Vec<Hop>),
    /// Not admitted.
    Refused(Refused),
    /// Admitted where it comes in.
    Received(bound::Bound),
    /// Not admitted where it comes in: for which channel something is missing, and what.
    Unreceived(bound::Refusal),
    /// A virtual interface that both ends and the link can keep.
    Connected(Connection),
    /// One that they cannot, and why.
    Unconnected(String),
}

/// What one host promises a channel, with all channels in place.
#[derive(Debug, Clone)]
pub struct Hop {
    /// Which hop of the channel's route it is.
    pub hop: usize,
    /// The host.
    pub node: usize,
    /// What the channel does there.
    pub role: Role,
    /// The bound and what it is made of.
    pub bound: Bound,
    /// `W` term by term.
    pub wait: Breakdown,
    /// `S` term by term.
    pub service: Breakdown,
    /// The deadline that EDF orders by, and after which a message counts as arrived at the next host.
    pub local_deadline: Span,
    /// What is kept: the bound, or the deadline where EDF goes by that.
    pub kept: Span,
    /// The longest way to the next host; zero from the last.
    pub way: Span,
    /// Packets of it that there may be at a time: with buffers for them none is lost.
    pub backlog: u64,
    /// Frames of all who come in there that may be in the adapter at a time, if that has stages and it comes in there.
    pub frames: Option<u64>,
}

/// Which host refused a channel, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// The host.
    pub node: usize,
    /// Its reason.
    pub refusal: Refusal,
}

impl Refused {
    /// The reason, and where unless that is the first of nodes without names.
    pub fn in_words(&self, experiment: &Experiment) -> String {
        match experiment.suffix(self.node).is_empty() {
            true => self.refusal.to_string(),
            false => format!("{}: {}", experiment.place(self.node), self.refusal),
        }
    }
}

impl Promise {
    /// The bound from the logical arrival to the end of the last transmission, if there is one; of a channel that comes in from its
    /// arrival to its program.
    pub fn bound(&self) -> Option<Span> {
        if let Promise::Received(received) = self {
            return Some(received.bound);
        }
        let Promise::Admitted(hops) = self else { return None };
        let last = hops.iter().rposition(|hop| hop.role != Role::Receive)?;
        Some(through(&hops[..=last]))
    }

    /// The bound from the logical arrival until the receiving host has the whole message, if a host receives.
    pub fn delivery_bound(&self) -> Option<Span> {
        if let Promise::Connected(connection) = self {
            return Some(connection.longest);
        }
        let Promise::Admitted(hops) = self else { return None };
        let received = hops.last().is_some_and(|hop| hop.role == Role::Receive);
        received.then(|| through(hops))
    }

    /// Whether it was refused, so that the channel is not there.
    pub fn is_refused(&self) -> bool {
        matches!(self, Promise::Refused(_) | Promise::Unreceived(_) | Promise::Unconnected(_))
    }

    /// Whether it was refused for too little room.
    pub fn lacks_room(&self) -> bool {
        match self {
            Promise::Refused(refused) => {
                matches!(refused.refusal.reason, Reason::NoRoom | Reason::NoRoomInAdapter)
            }
            Promise::Unreceived(refusal) => {
                matches!(refusal.missing, Missing::Slots { .. } | Missing::Buffers { .. })
            }
            _ => false,
        }
    }

    /// What the hosts promise where the channel is admitted, in the order of its way.
    pub fn hops(&self) -> &[Hop] {
        match self {
            Promise::Admitted(hops) | Promise::Unbounded(_, hops) => hops,
            _ => &[],
        }
    }

    /// What is promised at that hop of the channel's route, if it is admitted there.
    pub fn at(&self, hop: usize) -> Option<&Hop> {
        self.hops().iter().find(|other| other.hop == hop)
    }
}

/// Each host but the last takes its local deadline and the way: until then a message is early at the next.
fn through(hops: &[Hop]) -> Span {
    let Some((last, before)) = hops.split_last() else { return Span::ZERO };
    before.iter().fold(last.kept, |all, hop| all.saturating_add(hop.local_deadline).saturating_add(hop.way))
}

/// Admits the channels of `experiment` in order, by `formula`; or why none of them can be promised anything.
pub fn promises(experiment: &Experiment, formula: Formula) -> Result<Promises, Uncovered> {
    if !experiment.interfaces.is_empty() {
        return Ok(Promises { formula, channels: where_they_come_in(experiment)?, computing: Vec::new() });
    }
    if experiment.via.is_some() {
        return Ok(Promises { formula, channels: via::connections(experiment)?, computing: Vec::new() });
    }
    let mut tables = Tables::new(experiment, &coverage(experiment)?, formula);
    let mut answers = Vec::new();
    for channel in &experiment.channels {
        let answer = request(channel)?.map(|request| tables.admit(experiment, channel, request));
        answers.push(answer);
    }
    let reserved = || answers.iter().flatten().flatten();
    if let Some(why) = reserved().find_map(|reservation| reservation.unbounded)
        && reserved().all(|reservation| reservation.unbounded.is_some())
    {
        return Err(why);
    }
    let all =
        All { experiment, formula, bounds: tables.bounds(), notices: notices(experiment), tables: &tables };
    let computing =
        computing::bounds(tables.computing(), &all.bounds, experiment.admission.test_with(formula));
    let channels = answers.into_iter().enumerate().map(|(i, answer)| match answer {
        None => Promise::BestEffort,
        Some(Err(refused)) => Promise::Refused(refused),
        Some(Ok(Reservation { reserved, unbounded })) => {
            let mut hops: Vec<Hop> = reserved.iter().map(|reserved| all.hop(i, reserved)).collect();
            backlog::backlogs(experiment, i, &all.notices, &mut hops);
            match unbounded {
                None => Promise::Admitted(hops),
                Some(why) => Promise::Unbounded(why, hops),
            }
        }
    });
    Ok(Promises { formula, channels: channels.collect(), computing })
}

/// What every station promises, with all channels in place.
struct All<'a> {
    experiment: &'a Experiment,
    formula: Formula,
    tables: &'a Tables,
    /// Per station.
    bounds: Vec<BTreeMap<AdmissionId, Bound>>,
    /// Per station, how late it may hear of a frame.
    notices: Vec<Span>,
}

impl All<'_> {
    /// What is promised to channel `i` where it has `reserved`; how many of its packets there may be is for others to say.
    fn hop(&self, i: usize, Reserved { hop, node, role, id, asked }: &Reserved) -> Hop {
        let (experiment, node) = (self.experiment, *node);
        let bound = self.bounds[node][id];
        let test = experiment.admission.test_with(self.formula);
        let (goes_by, chosen) = (self.tables.goes_by(node), experiment.admission.local_deadline);
        let by_bound = match goes_by {
            GoesBy::Either => chosen == LocalDeadline::Bound,
            GoesBy::Requested => false,
            // No deadline orders anything, and none makes a bound longer.
            GoesBy::None => true,
        };
        let requested = asked.rate.request.deadline();
        // The demand test bounds what EDF by the requested deadlines makes of it.
        let ordered = by_bound
            || goes_by == GoesBy::Requested
            || test == Test::Demand
            || experiment.order(node) == Order::FixedPriority;
        let (wait, service) = self.tables.terms(node, asked, &bound);
        Hop {
            hop: *hop,
            node,
            role: *role,
            bound,
            wait,
            service,
            local_deadline: if by_bound { bound.bound } else { requested },
            kept: if ordered { bound.bound } else { requested },
            way: way_from(experiment, &experiment.channels[i], *hop, &self.notices),
            backlog: 0,
            frames: self.tables.inside(node).and_then(|inside| inside.all).filter(|_| *role != Role::Send),
        }
    }
}

/// The longest way of `channel` from its station at `hop` until the next of its route hears of it, who does so late by one of `notices`; zero from
/// the last.
fn way_from(experiment: &Experiment, channel: &ChannelSpec, hop: usize, notices: &[Span]) -> Span {
    let way = |next: &usize| experiment.longest_way(channel, hop).saturating_add(notices[*next]);
    channel.route.get(hop + 1).map_or(Span::ZERO, way)
}

/// What the channels of a host that receives are promised, in their order.
fn where_they_come_in(experiment: &Experiment) -> Result<Vec<Promise>, Uncovered> {
    let host = receiving(experiment)?;
    let asked = |i| Some((i, request_where_it_comes_in(experiment, i)?));
    let (of, requests): (Vec<usize>, Vec<bound::Request>) =
        (0..experiment.channels.len()).filter_map(asked).unzip();
    let mut channels = vec![Promise::BestEffort; experiment.channels.len()];
    for (i, answer) in of.iter().zip(bound::admit(&host, &requests)) {
        channels[*i] = match answer {
            Ok(bound) => Promise::Received(bound),
            Err(refusal) => Promise::Unreceived(bound::Refusal { whose: of[refusal.whose], ..refusal }),
        };
    }
    Ok(channels)
}

fn request_where_it_comes_in(experiment: &Experiment, i: usize) -> Option<bound::Request> {
    let channel = &experiment.channels[i];
    let deadline = channel.deadline.filter(|_| channel.class == Class::RealTime)?;
    Some(bound::Request {
        interface: channel.interface?,
        program: channel.program,
        spec: channel.spec,
        deadline,
    })
}

/// What admission by `formula` promises each channel of `experiment`: nothing without a formula, or where none covers it.
pub fn of_channels(experiment: &Experiment, formula: Option<Formula>) -> Vec<Promise> {
    let promises = formula.and_then(|formula| promises(experiment, formula).ok());
    promises
        .map_or_else(|| vec![Promise::BestEffort; experiment.channels.len()], |promises| promises.channels)
}

/// What came of filling hosts with copies of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filled {
    /// So many copies were admitted.
    pub admitted: u64,
    /// None was refused: it was stopped, and there may be more.
    pub stopped: bool,
}

/// Looks that a fill may take, some half a minute, where each copy takes the square of those before it.
const MOST_LOOKS: u64 = 1 << 34;

/// How many copies of channel `index` are admitted after all others, up to `limit`.
pub fn fill(
    experiment: &Experiment,
    index: usize,
    formula: Formula,
    limit: u64,
) -> Result<Filled, Uncovered> {
    let mut tables = Tables::new(experiment, &coverage(experiment)?, formula);
    if let Some(why) = tables.unbounded(&experiment.channels[index]) {
        return Err(why);
    }
    for (i, channel) in experiment.channels.iter().enumerate() {
        if i != index
            && let Some(request) = request(channel)?
        {
            let _ = tables.admit(experiment, channel, request);
        }
    }
    let channel = &experiment.channels[index];
    let Some(copy) = request(channel)? else { return Ok(Filled { admitted: 0, stopped: false }) };
    let steep = tables.looks_at_pairs(channel);
    let (mut admitted, mut asks, mut wait, mut looks) = (0, 0, 1, 0);
    while admitted < limit && looks < MOST_LOOKS {
        let Ok(last) = tables.admit(experiment, channel, copy) else {
            return Ok(Filled { admitted, stopped: false });
        };
        admitted += 1;
        looks += if steep { admitted * admitted } else { 0 };
        // To ask for many costs as much as for one, and is in vain where each has to be looked at.
        if admitted < asks {
            continue;
        }
        let further = tables.admit_alike(experiment, &last, limit - admitted);
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
    // What a lone message takes does not depend on what it asks for.
    let request = Request::new(channel.spec, channel.spec.min_interval).ok()?;
    Some(tables.terms_of_sender(experiment, channel, &request)?.1.total())
}

fn request(channel: &ChannelSpec) -> Result<Option<Request>, Uncovered> {
    let Some(deadline) = channel.deadline.filter(|_| channel.class == Class::RealTime) else {
        return Ok(None);
    };
    Request::new(channel.spec, deadline).map(Some).map_err(|_| Uncovered("a contract is out of range"))
}
