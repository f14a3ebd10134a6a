//! The results of admission.

use laxity_admission::reception::bound::{self, Missing};
use laxity_admission::{AdmissionRefusal, Bound, Breakdown, Claimant, Formula, Reason};
use laxity_qos::channel::Role;
use laxity_units::Span;

use super::analyses::Reading;
use super::asks;
use crate::coverage::Uncovered;
use crate::experiment::Experiment;

/// The result of admission for an experiment.
#[derive(Debug, Clone)]
pub struct Promises {
    /// The formulas.
    pub formula: Formula,
    /// Per channel, in the experiment's order.
    pub channels: Vec<Promise>,
    /// Per node and application that computes there: by when each budget is done, from the
    /// beginning of its period; or why its budgets have no bound.
    pub computing: Vec<Result<Vec<Option<Span>>, Uncovered>>,
}

/// The result of admission for one channel.
#[derive(Debug, Clone)]
pub enum Promise {
    /// Best effort makes no request.
    BestEffort,
    /// Admitted at every host of its way, in its order; the last may be missing if it only
    /// receives.
    Admitted(Vec<Hop>),
    /// Without a promise, since no analysis covers its path; admitted as far as one does, to
    /// protect the others.
    Unbounded(Uncovered, Vec<Hop>),
    /// Not admitted.
    Refused(Refused),
    /// Admitted where it arrives, without a network.
    Received(bound::ReceptionBound),
    /// Not admitted where it arrives at an interface: the channel that lacks a resource, and the resource.
    Unreceived(bound::ReceptionRefusal),
    /// A virtual interface that both ends and the link can keep.
    Connected(Connection),
    /// One that they cannot, and why.
    Unconnected(String),
    /// Admitted, with this share of late or dropped messages at most.
    Likely(f64),
    /// Not admitted for a request beside its deadline, and why.
    Unkept(String),
}

/// The promise of one host to a channel, with all channels in place.
#[derive(Debug, Clone)]
pub struct Hop {
    /// Which hop of the channel's route it is.
    pub hop: usize,
    /// The host.
    pub node: usize,
    /// The role of the channel there.
    pub role: Role,
    /// The bound and what it is made of.
    pub bound: Bound,
    /// `W` term by term.
    pub wait: Breakdown,
    /// `S` term by term.
    pub service: Breakdown,
    /// The way in which the analysis counts that the bound is from.
    pub reading: Reading,
    /// The deadline that EDF orders by, from the logical arrival here. Of a channel with launch times
    /// that is the launch time, and `kept` is longer.
    pub local_deadline: Span,
    /// The promised delay: the bound, or the deadline where EDF orders by that and no lower bound
    /// is proved. A message arrives logically at the next hop when this delay and the longest path
    /// delay have passed.
    pub kept: Span,
    /// The longest way to the next hop; zero from the last.
    pub way: Span,
    /// Packets of it that there may be at a time: with buffers for them none is lost. [`u64::MAX`] is no
    /// bound.
    pub backlog: u64,
    /// The maximum number of frames of all channels in the adapter at a time, if that has stages
    /// and the channel arrives there.
    pub frames: Option<u64>,
    /// Slots and buffers that the channels of its interface need, if it ends at one.
    pub room: Option<bound::ReceptionRoom>,
}

impl Hop {
    /// The packets of the channel that there may be at a time, if they have a bound: the source of a channel
    /// that passes stations ahead of its contract may send any number.
    pub fn backlog_bound(&self) -> Option<u64> {
        (self.backlog < u64::MAX).then_some(self.backlog)
    }
}

/// Which host refused a channel, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// The host.
    pub node: usize,
    /// Its reason.
    pub refusal: AdmissionRefusal,
    /// The admitted channel with the promise that would not hold beside the refused one, to which the
    /// refusal then belongs. `None` if the refused one lacks something itself, or if the refusal's
    /// claimant is no channel of the file.
    pub whose: Option<usize>,
}

/// What a channel is refused for that would break the promise of channel `whose`; the reason follows.
fn would_not_hold(experiment: &Experiment, whose: usize) -> String {
    let channel = &experiment.channels[whose];
    let left = asks::deadline(experiment, channel).filter(|left| Some(*left) < channel.deadline);
    let by_jitter = channel
        .asks
        .jitter
        .zip(left)
        .map(|(jitter, left)| format!(" (its `jitter` of {jitter} leaves a deadline of {left})"));
    format!("with it the promise of `{}` would not hold{}: ", channel.name, by_jitter.unwrap_or_default())
}

impl Refused {
    /// The reason, and where unless that is the first of nodes without names.
    pub fn in_words(&self, experiment: &Experiment) -> String {
        let whose = match (self.whose, self.refusal.claimant) {
            (Some(whose), _) => would_not_hold(experiment, whose),
            (None, Claimant::Channel(_)) => "with it another promise would not hold: ".into(),
            (None, Claimant::Newcomer) => String::new(),
        };
        match experiment.suffix(self.node).is_empty() {
            true => format!("{whose}{}", self.refusal),
            false => format!("{whose}{}: {}", experiment.place(self.node), self.refusal),
        }
    }
}

impl Promise {
    /// The bound from the logical arrival to the end of the last transmission, if there is one; for
    /// an incoming channel from its arrival to its program.
    pub fn bound(&self) -> Option<Span> {
        if let Promise::Received(received) = self {
            return Some(received.bound);
        }
        let Promise::Admitted(hops) = self else { return None };
        let last = hops.iter().rposition(|hop| hop.role != Role::Receive)?;
        Some(through(&hops[..=last]))
    }

    /// The bound from the logical arrival until the receiving host has the whole message, if a host
    /// receives.
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
        matches!(
            self,
            Promise::Refused(_) | Promise::Unreceived(_) | Promise::Unconnected(_) | Promise::Unkept(_)
        )
    }

    /// Whether it was refused for a request beside its deadline, which no other deadline or rate changes.
    pub fn is_unkept(&self) -> bool {
        matches!(self, Promise::Unkept(_))
    }

    /// Why channel `i`, with this promise, was refused: `None` if it was not.
    pub fn refusal(&self, experiment: &Experiment, i: usize) -> Option<String> {
        match self {
            Promise::Refused(refused) => Some(refused.in_words(experiment)),
            Promise::Unreceived(refusal) if refusal.whose == i => Some(refusal.missing.to_string()),
            Promise::Unreceived(refusal) => {
                Some(would_not_hold(experiment, refusal.whose) + &refusal.missing.to_string())
            }
            Promise::Unconnected(reason) | Promise::Unkept(reason) => Some(reason.clone()),
            Promise::BestEffort
            | Promise::Admitted(_)
            | Promise::Unbounded(..)
            | Promise::Received(_)
            | Promise::Connected(_)
            | Promise::Likely(_) => None,
        }
    }

    /// Why no analysis covers its path.
    pub fn uncovered(&self) -> Option<Uncovered> {
        if let Promise::Unbounded(why, _) = self { Some(*why) } else { None }
    }

    /// Why channel `i` has no bound: its refusal, or what no analysis covers.
    pub fn unbounded(&self, experiment: &Experiment, i: usize) -> Option<String> {
        match self.uncovered() {
            Some(why) => Some(why.to_string()),
            None => self.refusal(experiment, i),
        }
    }

    /// The answer in a word or two.
    pub fn verdict(&self) -> &'static str {
        match self {
            Promise::BestEffort => "best effort",
            Promise::Unbounded(..) => "not analysed",
            Promise::Admitted(_) | Promise::Received(_) | Promise::Connected(_) | Promise::Likely(_) => {
                "admitted"
            }
            Promise::Refused(_) | Promise::Unreceived(_) | Promise::Unconnected(_) | Promise::Unkept(_) => {
                "refused"
            }
        }
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

    /// The promises of the hosts where the channel is admitted, in the order of its path.
    pub fn hops(&self) -> &[Hop] {
        match self {
            Promise::Admitted(hops) | Promise::Unbounded(_, hops) => hops,
            _ => &[],
        }
    }

    /// By how much the promised delay at that hop is less than the deadline that EDF orders by
    /// there.
    pub fn spare(&self, hop: usize) -> Span {
        self.at(hop).map_or(Span::ZERO, |hop| hop.local_deadline.saturating_sub(hop.kept))
    }

    /// By how much the promised delay at that hop is more than the deadline that EDF orders by there.
    pub fn beyond(&self, hop: usize) -> Span {
        self.at(hop).map_or(Span::ZERO, |hop| hop.kept.saturating_sub(hop.local_deadline))
    }

    /// The bound that the deadline is compared with: on delivery, or on the last transmission where
    /// there is none on delivery.
    pub fn end_to_end_bound(&self) -> Option<Span> {
        self.delivery_bound().or_else(|| self.bound())
    }

    /// The slots and buffers that the channels of its interface need, if it ends at one and has a
    /// bound.
    pub fn room_at_interface(&self) -> Option<bound::ReceptionRoom> {
        match self {
            Promise::Received(received) => Some(received.room),
            Promise::Admitted(hops) => hops.last().and_then(|hop| hop.room),
            _ => None,
        }
    }

    /// Whether a bound is in force: the channel is admitted, and its path is analysed.
    pub fn is_bound(&self) -> bool {
        self.end_to_end_bound().is_some()
    }

    /// The promise at that hop of the channel's route, if it is admitted there.
    pub fn at(&self, hop: usize) -> Option<&Hop> {
        self.hops().iter().find(|other| other.hop == hop)
    }
}

/// The promised delays of `hops` and the longest ways between them.
fn through(hops: &[Hop]) -> Span {
    let Some((last, before)) = hops.split_last() else { return Span::ZERO };
    before.iter().fold(last.kept, |all, hop| all.saturating_add(hop.kept).saturating_add(hop.way))
}

/// The promise to a virtual interface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Connection {
    /// The longest from a message's logical arrival until the receiving program has it.
    pub longest: Span,
    /// The shortest.
    pub shortest: Span,
    /// The bound on θ of messages that are sent at the rate that was negotiated.
    pub jitter_fraction: f64,
}

/// Room that a channel has too little of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// The key of the file that says it.
    pub key: &'static str,
    /// The value in the file.
    pub has: u64,
    /// The least that would do.
    pub least: u64,
}
