//! Local deadlines that are shared out again.
//!
//! The parts of a deadline follow from what the hops of a path can promise when the channel is admitted. A
//! later channel may need time at a hop with a small part, while other hops of that path have plenty. Hosts
//! that were three times as fast made the part of a receiver so small that a camera was refused beside a
//! channel with 1.9 of 2 ms to spare.
//!
//! So where a newcomer is refused because the promise of an admitted channel would not hold at a
//! station, the deadline of that channel is shared out again, with as much more at that station as is
//! missing. Where a station can promise the newcomer too little beside the others, one of them lets it
//! pass: it gets a deadline there with which the newcomer would have been admitted. The deadlines from
//! end to end stay. If the newcomer is refused all the same, everything is as before.

use laxity_admission::{Claimant, Deficit, Reason, Request};
use laxity_units::Span;

use super::super::admit::request;
use super::super::analyses::Analyses;
use super::super::answer::Refused;
use super::{Reservation, Reserved, Tables};
use crate::experiment::Experiment;

/// Deadlines that are shared out again for one newcomer, at most.
const TRIES: usize = 16;

/// The same for all newcomers together: a second where a station has thousands of channels, and some
/// for each newcomer where it has few.
pub(super) fn tries_for_all(channels: usize) -> usize {
    64 + 20_000 / channels.max(1)
}

/// The answer to a channel; `None` for best effort, and for a channel that asks for what no station keeps.
pub(in crate::promise) type Answer = Option<Result<Reservation, Refused>>;

/// The answers to channels, in their order.
pub(in crate::promise) type Answers = [Answer];

/// A channel that shall have at least that deadline at that hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct More {
    channel: usize,
    hop: usize,
    needs: Span,
}

/// A channel of which the deadline was shared out again, and what was there before.
struct Shift {
    channel: usize,
    reservation: Reservation,
    stations: Vec<(usize, Analyses)>,
}

impl Tables {
    /// Reserves for channel `i` as [`admit`](Self::admit) does, if need be with other parts of the deadlines
    /// of those that were admitted before it.
    pub(in crate::promise) fn admit_among(
        &mut self,
        experiment: &Experiment,
        (i, asked): (usize, Request),
        answers: &mut Answers,
    ) -> Result<Reservation, Refused> {
        let channel = &experiment.channels[i];
        if experiment.multicast(i).len() > 1 {
            return self.admit_multicast(experiment, (i, asked), answers);
        }
        let first = match self.admit(experiment, channel, asked) {
            Err(refused) => named(refused, answers),
            admitted => return admitted,
        };
        let (mut refused, mut shifts, mut tried) = (first, Vec::new(), Vec::new());
        while tried.len() < TRIES.min(self.tries)
            && let Some(more) = more(experiment, (refused, asked.deadline()), answers, &tried)
        {
            tried.push(more);
            let Some(shift) = self.shift(experiment, more, answers) else { continue };
            shifts.push(shift);
            match self.admit(experiment, channel, asked) {
                Err(again) => refused = named(again, answers),
                admitted => return admitted,
            }
        }
        self.tries -= tried.len();
        for Shift { channel, reservation, stations } in shifts.into_iter().rev() {
            self.put_back(stations);
            answers[channel] = Some(Ok(reservation));
        }
        self.admit_sooner(experiment, channel, (asked, first)).ok_or(first)
    }

    /// Shares out again the deadline of a channel, if none of its stations searches the least deadline, which
    /// takes long.
    fn shift(&mut self, experiment: &Experiment, more: More, answers: &mut Answers) -> Option<Shift> {
        let Some(Ok(reservation)) = &answers[more.channel] else { return None };
        let reserved = &reservation.reserved;
        let mut nodes: Vec<usize> = reserved.iter().map(|it| it.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.iter().any(|node| self.hosts[*node].as_ref().is_ok_and(|host| !host.tells_at_once())) {
            return None;
        }
        let stations: Vec<(usize, Analyses)> =
            nodes.into_iter().map(|node| (node, self.table(node).clone())).collect();
        self.give_up(reserved);
        match self.with_more(experiment, more) {
            Some(new) => {
                let before = answers[more.channel].replace(Ok(new));
                let of = |reservation| Shift { channel: more.channel, reservation, stations };
                before.and_then(Result::ok).map(of)
            }
            None => {
                self.put_back(stations);
                None
            }
        }
    }

    /// Reserves for a channel with at least that deadline at that hop.
    fn with_more(&mut self, experiment: &Experiment, more: More) -> Option<Reservation> {
        let More { channel, hop, needs } = more;
        let channel = &experiment.channels[channel];
        let asked = request(experiment, channel).ok()??;
        let mut forward = self.forward(experiment, channel, asked).ok()?;
        let at = forward.hops.get_mut(hop).filter(|at| needs <= at.latest)?;
        at.least = at.least.max(needs);
        let hops = self.hosts_of(experiment, channel).count();
        let deadlines = forward.deadlines(experiment, asked, hops).ok()?;
        self.reserve(experiment, channel, asked, &deadlines).ok()
    }

    fn put_back(&mut self, stations: Vec<(usize, Analyses)>) {
        for (node, before) in stations {
            *self.table(node) = before;
        }
    }
}

/// The channel that may give time to a newcomer with that deadline which is `refused`: the claimant
/// of the promise that would not hold; or, where the newcomer can be promised too little at a
/// station beside the others, the one of them with the latest deadline that is due earlier there
/// than the newcomer would have to be. No channel that was `tried` is tried again.
fn more(
    experiment: &Experiment,
    (refused, deadline): (Refused, Span),
    answers: &Answers,
    tried: &[More],
) -> Option<More> {
    let reserved = |i: usize| match &answers[i] {
        Some(Ok(reservation)) if reservation.reserved.len() > 1 && experiment.multicast(i).len() == 1 => {
            &reservation.reserved[..]
        }
        _ => &[],
    };
    let held = |it: &Reserved| it.asked.rate.request.deadline();
    let Deficit::Time(missing) = refused.refusal.deficit else { return None };
    if let Some(channel) = refused.whose {
        let at = reserved(channel).iter().find(|it| holds(it, &refused))?;
        let more = More { channel, hop: at.hop, needs: held(at).saturating_add(missing) };
        return (!tried.contains(&more)).then_some(more);
    }
    if refused.refusal.reason != Reason::LateTogether {
        return None;
    }
    // With that deadline the newcomer would be admitted.
    let needs = deadline.saturating_add(missing);
    let before = (0..answers.len()).filter_map(|channel| {
        let due_before = |it: &&Reserved| it.node == refused.node && held(it) < needs;
        let at = reserved(channel).iter().find(due_before)?;
        Some(More { channel, hop: at.hop, needs })
    });
    let untried = before.filter(|more| !tried.contains(more));
    untried.max_by_key(|more| experiment.channels[more.channel].deadline)
}

/// Whether `refused` is for the promise that is `reserved`.
fn holds(reserved: &Reserved, refused: &Refused) -> bool {
    reserved.node == refused.node && refused.refusal.claimant == Claimant::Channel(reserved.id)
}

/// `refused` with the number of the admitted channel that the station names, if it does.
fn named(refused: Refused, answers: &Answers) -> Refused {
    let is_claimant = |answer: &Answer| match answer {
        Some(Ok(reservation)) => reservation.reserved.iter().any(|it| holds(it, &refused)),
        _ => false,
    };
    Refused { whose: answers.iter().position(is_claimant), ..refused }
}
