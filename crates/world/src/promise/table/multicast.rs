//! Reservations of a multicast.
//!
//! The stations before a copy is made have a reservation of the channel that is copied, with its local
//! deadlines. The copy has the rest of the deadline for those behind. So a channel asks for a part of the
//! deadline, as long as its route is beside the longest of the multicast, and for all of it if that is
//! refused. Deadlines of a multicast are not shared out again: copies count on them.

use laxity_admission::Request;
use laxity_units::Span;

use super::super::answer::Refused;
use super::among::Answers;
use super::{Reserved, Tables};
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
    ) -> Result<super::Reservation, Refused> {
        let channel = &experiment.channels[i];
        if let Some(Some(Err(refused))) = channel.copy.map(|copy| &answers[copy.channel]) {
            return Err(*refused);
        }
        let all = experiment.multicast(i);
        let hops = |channel: &ChannelSpec| channel.senders().len().max(1) as u64;
        let longest = experiment.channels[all].iter().map(hops).max().unwrap_or(1);
        let part = (asked.deadline() / longest).saturating_mul(hops(channel));
        let admitted = match self.admit(experiment, channel, asked.within(part)) {
            Err(_) => self.admit(experiment, channel, asked),
            admitted => admitted,
        };
        let sooner =
            |refused: Refused| self.admit_sooner(experiment, channel, (asked, refused)).ok_or(refused);
        match admitted.or_else(sooner) {
            Ok(reservation) => {
                let own = reservation.reserved.iter().map(|it| (it.hop, it.asked.rate.request.deadline()));
                let before =
                    (0..channel.begins()).filter_map(|hop| Some((hop, self.shared_at(channel, hop)?)));
                let shared = before.chain(own).collect();
                self.shared.insert(i, shared);
                Ok(reservation)
            }
            Err(refused) => {
                for other in &mut answers[experiment.multicast(i).start..i] {
                    if let Some(Ok(reservation)) = other.replace(Err(refused)) {
                        self.give_up(&reservation.reserved);
                    }
                }
                Err(refused)
            }
        }
    }
}
