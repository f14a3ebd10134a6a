//! Stations behind FIFO queues that take time for messages: hosts that receive or relay, and ports by
//! deadlines.
//!
//! A queue gives a frame the deadline of its bound, and the station behind holds messages until then.
//! All packets of a message are there by then. So they are at the station like those of one with a
//! table: in time, and `I_min` apart. Its table needs no more, and its promise is added to that of the
//! queues. Messages are ahead of their time there by no more than the deadline from end to end, which
//! the queues keep.
//!
//! *No circle.* A host may send into the queues from which it receives. Its promise rests on arrivals in
//! time, and the bounds of the queues rest on its promise. Neither value follows from the other: the table
//! knows the contracts only. Assume that some promise or bound is exceeded, and take the first instant at
//! which one is. All that it rests on was kept until then, and each proof needs the past only. So it is not
//! exceeded.
//!
//! Where a channel has no bound at the queues, its messages may arrive late, several at once. The stations
//! behind then have no table for any channel, and admission is repeated without it.

use laxity_qos::channel::LinkId;
use laxity_qos::discipline::Class;
use laxity_units::Span;

use super::super::answer::Hop;
use super::super::asks;
use super::super::table::{Answers, Tables};
use super::{Part, through};
use crate::coverage::{Uncovered, delivers_at_once, is_queue};
use crate::experiment::{ChannelSpec, Experiment};

/// The hops of `channel` behind the first of its queues at stations that take time for its messages.
fn hops_behind(experiment: &Experiment, channel: &ChannelSpec) -> impl Iterator<Item = usize> {
    let first = channel.senders().iter().position(|station| is_queue(experiment, *station));
    let first = first.filter(|_| channel.class == Class::RealTime);
    let behind = first.map_or(0..0, |first| first + 1..channel.senders().len());
    let end = channel.route.len() - 1;
    let end = (channel.received && first.is_some() && !delivers_at_once(experiment, channel.route[end]))
        .then_some(end);
    behind.filter(|hop| !is_queue(experiment, channel.route[*hop])).chain(end)
}

/// The stations that take time for messages behind queues.
pub(in crate::promise) fn stations_behind(experiment: &Experiment) -> impl Iterator<Item = usize> {
    experiment
        .channels
        .iter()
        .flat_map(move |channel| hops_behind(experiment, channel).map(move |hop| channel.route[hop]))
}

/// Whether the path of `channel` goes on behind a queue, at stations with `tables`.
pub(in crate::promise) fn goes_on(experiment: &Experiment, channel: &ChannelSpec, tables: &Tables) -> bool {
    hops_behind(experiment, channel).any(|hop| tables.without(channel.route[hop]).is_none())
}

/// The stations with tables behind queues at which channels have no bound, each with the reason.
pub(in crate::promise) fn late(
    experiment: &Experiment,
    tables: &Tables,
    answers: &Answers,
) -> Vec<(usize, Uncovered)> {
    let unbounded = experiment.channels.iter().zip(answers).filter_map(|(channel, answer)| {
        let (from, why) = answer.as_ref()?.as_ref().ok()?.unbounded?;
        Some((channel, from, why))
    });
    let late = unbounded.flat_map(|(channel, from, why)| {
        let behind = hops_behind(experiment, channel).filter(move |hop| *hop > from);
        behind.map(move |hop| (channel.route[hop], why))
    });
    late.filter(|(station, _)| tables.without(*station).is_none()).collect()
}

impl Part<'_> {
    /// The time that the queues at `hops` of `channel` have for its messages together, if they can keep
    /// its deadline where no packet waits.
    pub(super) fn room(&self, channel: &ChannelSpec, hops: &[usize], tables: &[Hop]) -> Option<Span> {
        let ways = hops.iter().fold(Span::ZERO, |all, hop| all.saturating_add(self.all.way(channel, *hop)));
        let others = through(tables.iter()).saturating_add(ways);
        let deadline = asks::deadline(self.experiment, channel).unwrap_or(Span::MAX);
        let room = deadline.saturating_sub(others);
        let packet = channel.spec.largest_packet(self.experiment.packet());
        let own = hops.iter().filter_map(|hop| {
            let link = self.experiment.link(channel.route[*hop], LinkId::FIRST)?;
            Some(link.transmit(packet))
        });
        (own.fold(Span::ZERO, Span::saturating_add) <= room).then_some(room)
    }
}
