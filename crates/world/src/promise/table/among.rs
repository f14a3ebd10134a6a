//! Local deadlines that are shared out again.
//!
//! The parts of a deadline follow from what the hops of a path can promise when the channel is admitted. A
//! later channel may need time at a hop with a small part, while other hops of that path have plenty. Hosts
//! that were three times as fast made the part of a receiver so small that a camera was refused beside a
//! channel with 1.9 of 2 ms to spare.
//!
//! So where a newcomer is refused because the promise of an admitted channel would not hold at a station,
//! the deadline of that channel is shared out again, with as much more at that station as is missing. Its
//! deadline from end to end stays. If the newcomer is refused all the same, everything is as before.

use laxity_admission::{Claimant, Deficit, Request};
use laxity_units::Span;

use super::super::admit::request;
use super::super::analyses::Analyses;
use super::super::answer::Refused;
use super::super::division;
use super::{Reservation, Reserved, Tables};
use crate::experiment::Experiment;

/// Deadlines that are shared out again for one newcomer, at most.
const SHIFTS: usize = 16;

/// The answers to channels, in their order; `None` for best effort, and for a channel that asks for what no
/// station keeps.
type Answers = [Option<Result<Reservation, Refused>>];

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
        let first = match self.admit(experiment, channel, asked) {
            Err(refused) => named(refused, answers),
            admitted => return admitted,
        };
        let (mut refused, mut shifts) = (first, Vec::new());
        while shifts.len() < SHIFTS
            && let Some(shift) = self.shift(experiment, refused, answers)
        {
            shifts.push(shift);
            match self.admit(experiment, channel, asked) {
                Err(again) => refused = named(again, answers),
                admitted => return admitted,
            }
        }
        for Shift { channel, reservation, stations } in shifts.into_iter().rev() {
            self.put_back(stations);
            answers[channel] = Some(Ok(reservation));
        }
        Err(first)
    }

    /// Shares out again the deadline of the channel whose promise `refused` the newcomer.
    fn shift(&mut self, experiment: &Experiment, refused: Refused, answers: &mut Answers) -> Option<Shift> {
        let (i, Deficit::Time(missing)) = (refused.whose?, refused.refusal.deficit) else { return None };
        let Some(Ok(reservation)) = &answers[i] else { return None };
        let reserved = &reservation.reserved;
        let at = reserved.iter().find(|it| holds(it, &refused)).filter(|_| reserved.len() > 1)?;
        let (hop, needs) = (at.hop, at.asked.rate.request.deadline().saturating_add(missing));
        let mut nodes: Vec<usize> = reserved.iter().map(|it| it.node).collect();
        nodes.dedup();
        let stations: Vec<(usize, Analyses)> =
            nodes.into_iter().map(|node| (node, self.table(node).clone())).collect();
        for Reserved { node, id, .. } in reserved {
            self.table(*node).release(*id);
        }
        match self.with_more(experiment, i, (hop, needs)) {
            Some(new) => {
                let before = answers[i].replace(Ok(new));
                before.and_then(Result::ok).map(|reservation| Shift { channel: i, reservation, stations })
            }
            None => {
                self.put_back(stations);
                None
            }
        }
    }

    /// Reserves for channel `i` with at least that deadline at that hop.
    fn with_more(
        &mut self,
        experiment: &Experiment,
        i: usize,
        (hop, needs): (usize, Span),
    ) -> Option<Reservation> {
        let channel = &experiment.channels[i];
        let asked = request(experiment, channel).ok()??;
        let mut forward = self.forward(experiment, channel, asked).ok()?;
        let at = forward.hops.get_mut(hop).filter(|at| needs <= at.latest)?;
        at.least = at.least.max(needs);
        let budget = asked.deadline().saturating_sub(forward.between);
        let mut deadlines = division::divide(&forward.hops, budget, experiment.admission.division).ok()?;
        deadlines.resize(self.hosts_of(experiment, channel).count(), asked.deadline());
        self.reserve(experiment, channel, asked, &deadlines).ok()
    }

    fn put_back(&mut self, stations: Vec<(usize, Analyses)>) {
        for (node, before) in stations {
            *self.table(node) = before;
        }
    }
}

/// Whether `refused` is for the promise that is `reserved`.
fn holds(reserved: &Reserved, refused: &Refused) -> bool {
    reserved.node == refused.node && refused.refusal.claimant == Claimant::Channel(reserved.id)
}

/// `refused` with the number of the admitted channel that the station names, if it does.
fn named(refused: Refused, answers: &Answers) -> Refused {
    let is_claimant = |answer: &Option<Result<Reservation, Refused>>| match answer {
        Some(Ok(reservation)) => reservation.reserved.iter().any(|it| holds(it, &refused)),
        _ => false,
    };
    Refused { whose: answers.iter().position(is_claimant), ..refused }
}
