//! Reservations of a multicast.
//!
//! The stations before a copy is made have a reservation of the channel that is copied, with its local
//! deadlines. The copy has the rest of the deadline for those behind. So a channel asks for a part of the
//! deadline, as long as its route is beside the longest of the multicast, and for all of it if that is
//! refused. If a copy is refused behind it, both are tried again with smaller parts. Deadlines of a multicast
//! are not shared out again beside other channels: copies count on them.

use laxity_admission::Request;
use laxity_units::Span;

use super::super::answer::Refused;
use super::among::Answers;
use super::sooner::PARTS;
use super::{Reservation, Reserved, Tables};
use crate::experiment::{ChannelSpec, Experiment};

/// The reservations on the path of channel `i`, those of the channels that it is a copy of included.
pub(in crate::promise) fn on_path<'a>(
    experiment: &Experiment,
    answers: &'a Answers,
    i: usize,
) -> impl Iterator<Item = &'a Reserved> + use<'a> {
    let (mut found, mut of, mut end) = (Vec::new(), Some(i), usize::MAX);
    while let Some(i) = of {
        if let Some(Ok(reservation)) = &answers[i] {
            found.splice(0..0, reservation.reserved.iter().filter(|reserved| reserved.hop < end));
        }
        let copy = experiment.channels[i].copy;
        (of, end) = (copy.map(|copy| copy.channel), copy.map_or(0, |copy| copy.hops.min(end)));
    }
    found.into_iter()
}

impl Tables {
    /// The local deadline of a copy at a hop where the channel that is copied has reserved.
    pub(super) fn shared_at(&self, channel: &ChannelSpec, hop: usize) -> Option<Span> {
        let copy = channel.copy.filter(|copy| hop < copy.hops)?;
        self.shared.get(&copy.channel)?.get(&hop).copied()
    }

    /// Reserves for channel `i` of a multicast, of which all channels are admitted or none.
    pub(super) fn admit_multicast(
        &mut self,
        experiment: &Experiment,
        (i, asked): (usize, Request),
        answers: &mut Answers,
    ) -> Result<Reservation, Refused> {
        let channel = &experiment.channels[i];
        if let Some(Some(Err(refused))) = channel.copy.map(|copy| &answers[copy.channel]) {
            return Err(*refused);
        }
        let all = experiment.multicast(i);
        let hops = |channel: &ChannelSpec| channel.senders().len().max(1) as u64;
        let longest = experiment.channels[all.clone()].iter().map(hops).max().unwrap_or(1);
        let part = (asked.deadline() / longest).saturating_mul(hops(channel));
        let admitted = self.reserve_shared(experiment, i, asked.within(part));
        let whole = |_| self.reserve_shared(experiment, i, asked);
        let refused = match admitted.or_else(whole) {
            Err(refused) => refused,
            admitted => return admitted,
        };
        let mut before = all.start..i;
        let is_admitted = |i: usize| matches!(answers[i], Some(Ok(_)));
        let others = before.all(is_admitted);
        for other in answers[all.start..i].iter().flatten().flatten() {
            self.give_up(&other.reserved);
        }
        if others {
            for percent in PARTS {
                if let Some(reservation) = self.admit_again(experiment, (i, asked), percent, answers) {
                    return Ok(reservation);
                }
            }
        }
        answers[all.start..i].iter_mut().flatten().for_each(|other| *other = Err(refused));
        Err(refused)
    }

    /// Reserves for a multicast up to channel `i` once more, where those before it ask for a part of the
    /// deadline, and it asks for all that they leave; or for none.
    fn admit_again(
        &mut self,
        experiment: &Experiment,
        (i, asked): (usize, Request),
        percent: u64,
        answers: &mut Answers,
    ) -> Option<Reservation> {
        let start = experiment.multicast(i).start;
        let part = asked.within((asked.deadline() / 100).saturating_mul(percent));
        let mut found: Vec<Reservation> = Vec::new();
        for channel in start..=i {
            // A channel alone may need less than it asks for.
            let asked = if channel < i || start == i { part } else { asked };
            match self.reserve_shared(experiment, channel, asked) {
                Ok(reservation) => found.push(reservation),
                Err(_) => {
                    found.iter().for_each(|reservation| self.give_up(&reservation.reserved));
                    return None;
                }
            }
        }
        let own = found.pop();
        answers[start..i].iter_mut().zip(found).for_each(|(answer, it)| *answer = Some(Ok(it)));
        own
    }

    /// Reserves for channel `i`, and notes its local deadlines for copies of it.
    fn reserve_shared(
        &mut self,
        experiment: &Experiment,
        i: usize,
        asked: Request,
    ) -> Result<Reservation, Refused> {
        let channel = &experiment.channels[i];
        let reservation = self.admit(experiment, channel, asked)?;
        let own = reservation.reserved.iter().map(|it| (it.hop, it.asked.rate.request.deadline()));
        let before = (0..channel.begins()).filter_map(|hop| Some((hop, self.shared_at(channel, hop)?)));
        let shared = before.chain(own).collect();
        self.shared.insert(i, shared);
        Ok(reservation)
    }
}
