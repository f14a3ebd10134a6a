//! Hosts behind FIFO queues that take time for the messages that end there.
//!
//! A queue gives a frame the deadline of its bound, and the host holds messages until then. All packets of a
//! message are there by then. So they are at the host like those of a station with a table: in time, and
//! `I_min` apart. The table of the host needs no more, and its promise is added to that of the queues.
//!
//! *No circle.* A host may send into the queues from which it receives. Its promise rests on arrivals in
//! time, and the bounds of the queues rest on its promise. Neither value follows from the other: the table
//! knows the contracts only. Assume that some promise or bound is exceeded, and take the first instant at
//! which one is. All that it rests on was kept until then, and each proof needs the past only. So it is not
//! exceeded.
//!
//! Where a channel has no bound at the queues, its messages may arrive late, several at once. The host then
//! has no table for any channel, and admission is repeated without it.

use laxity_qos::channel::LinkId;
use laxity_units::Span;

use super::super::answer::Refused;
use super::super::table::{Reservation, Tables};
use super::{Entry, Part, passes, through};
use crate::coverage::{Uncovered, delivers_at_once};
use crate::experiment::{ChannelSpec, Experiment};

/// The host that takes time for the messages of `channel` behind queues, if there is one.
pub(in crate::promise) fn receiver(experiment: &Experiment, channel: &ChannelSpec) -> Option<usize> {
    let end = *channel.route.last().filter(|_| channel.received && passes(experiment, channel))?;
    (!delivers_at_once(experiment, end)).then_some(end)
}

/// The hosts that take time for messages behind queues.
pub(in crate::promise) fn receivers(experiment: &Experiment) -> impl Iterator<Item = usize> {
    experiment.channels.iter().filter_map(|channel| receiver(experiment, channel))
}

/// The hosts with tables behind the queues of channels that have no bound there, each with the reason.
pub(in crate::promise) fn late(
    experiment: &Experiment,
    tables: &Tables,
    answers: &[Option<Result<Reservation, Refused>>],
) -> Vec<(usize, Uncovered)> {
    let of = |(channel, answer): (&ChannelSpec, &Option<Result<Reservation, Refused>>)| {
        let why = answer.as_ref()?.as_ref().ok()?.unbounded?;
        let end = receiver(experiment, channel).filter(|_| tables.undelivered(channel).is_none())?;
        Some((end, why))
    };
    experiment.channels.iter().zip(answers).filter_map(of).collect()
}

impl Part<'_> {
    /// Whether the queues of `entry` can keep its deadline if no packet waits, and the time that they
    /// have for it.
    pub(super) fn room(&self, entry: &Entry) -> (bool, Span) {
        let channel = self.channel(entry);
        let hops = entry.first..channel.route.len() - 1;
        let ways = hops.fold(Span::ZERO, |all, hop| all.saturating_add(self.all.way(channel, hop)));
        let others = through(entry.before.iter().chain(&entry.end)).saturating_add(ways);
        let room = channel.deadline.unwrap_or(Span::MAX).saturating_sub(others);
        let packet = channel.spec.largest_packet(self.experiment.packet());
        let own = channel.senders()[entry.first..].iter().filter_map(|&station| {
            let link = self.experiment.link(station, LinkId::FIRST)?;
            Some(link.transmit(packet))
        });
        (own.fold(Span::ZERO, Span::saturating_add) <= room, room)
    }
}
