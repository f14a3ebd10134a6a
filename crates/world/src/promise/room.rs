//! The least room with which a channel is admitted that is refused for too little.
//!
//! A refusal for room says what is missing first; with that there, something else may be. So all
//! that a file says about a channel's room is taken to have no end, and if that is admitted each is
//! asked for by itself: how much room one thing takes does not hang on how much there is of
//! another.

use laxity_admission::Formula;
use laxity_qos::discipline::Class;

use super::admit::fits;
use super::answer::{Promise, Room};
use crate::experiment::{ChannelSpec, Experiment, InterfaceSpec};

/// A number of buffers that a file sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Messages,
    Packets,
    Program,
    Interface,
    Buffers,
    BuffersOfRealTime,
}

/// More than any need; sums of it are infinite, too.
pub(super) const NO_END: u64 = 1 << 30;

impl Of {
    const ALL: [Of; 6] =
        [Of::Messages, Of::Packets, Of::Program, Of::Interface, Of::Buffers, Of::BuffersOfRealTime];

    /// The most to try: what a file can say at most, and of packets, where that is more, no end.
    fn most(self) -> u64 {
        match self {
            Of::Packets => NO_END,
            Of::Messages | Of::Program | Of::Interface | Of::Buffers | Of::BuffersOfRealTime => 1_000_000,
        }
    }

    fn key(self) -> &'static str {
        match self {
            Of::Messages => "message_slots",
            Of::Packets => "packet_slots",
            Of::Program => "reader.slots",
            Of::Interface => "slots",
            Of::Buffers => "buffers",
            Of::BuffersOfRealTime => "buffers_real_time",
        }
    }

    /// The value in `experiment` for channel `i`; `None` if it is not set.
    fn of(self, experiment: &Experiment, i: usize) -> Option<u64> {
        let channel = &experiment.channels[i];
        let config = experiment.interface_of(channel).map(|interface| &interface.config);
        // Where best effort arrives too, only buffers that it may not use count.
        let here = |other: &ChannelSpec| other.interface == channel.interface;
        let rest = experiment
            .receiver_of(channel)
            .is_some_and(|(_, receiver)| experiment.arrives(receiver, Class::BestEffort, here));
        let sent = experiment.lone_receiver().is_none();
        match self {
            Of::Messages if sent => Some(channel.message_slots.into()),
            Of::Packets if sent => Some(channel.packet_slots),
            Of::Program => channel.reader.map(|reader| reader.slots.into()),
            Of::Interface => config.map(|config| config.slots.into()),
            Of::Buffers if !rest => config?.buffers.map(u64::from),
            Of::BuffersOfRealTime if rest => {
                config?.buffers.map(|_| config.map_or(0, |c| c.buffers_real_time).into())
            }
            Of::Messages | Of::Packets | Of::Buffers | Of::BuffersOfRealTime => None,
        }
    }

    fn set(self, experiment: &mut Experiment, i: usize, room: u64) {
        let small = u32::try_from(room).unwrap_or(u32::MAX);
        let all = experiment.multicast(i);
        for channel in &mut experiment.channels[all] {
            match self {
                Of::Messages => channel.message_slots = small,
                Of::Packets => channel.packet_slots = room,
                Of::Program => channel.reader.iter_mut().for_each(|reader| reader.slots = small),
                Of::Interface | Of::Buffers | Of::BuffersOfRealTime => {}
            }
        }
        let Some(InterfaceSpec { config, .. }) = experiment.interface_of_mut(i) else { return };
        match self {
            Of::Messages | Of::Packets | Of::Program => {}
            Of::Interface => config.slots = small,
            Of::Buffers => config.buffers = Some(small),
            Of::BuffersOfRealTime => {
                // As many for all as before.
                let open = config.buffers.unwrap_or(0).saturating_sub(config.buffers_real_time);
                config.buffers_real_time = small;
                config.buffers = Some(small.saturating_add(open));
            }
        }
    }
}

/// The shortfall of buffers of channel `i`, to which admission by `formula` gave the result
/// `refused`; empty if it lacks no buffers, or lacks more than buffers.
pub(super) fn least(experiment: &Experiment, formula: Formula, i: usize, refused: &Promise) -> Vec<Room> {
    let all: Vec<(Of, u64)> = match refused.lacks_room() {
        true => Of::ALL.into_iter().filter_map(|of| Some((of, of.of(experiment, i)?))).collect(),
        false => return Vec::new(),
    };
    let mut roomy = experiment.clone();
    all.iter().for_each(|(of, has)| of.set(&mut roomy, i, of.most().max(*has)));
    if !fits(&roomy, formula, i) {
        return Vec::new();
    }
    let of = |(of, has): (Of, u64)| {
        let mut with = roomy.clone();
        let mut enough = |room| {
            of.set(&mut with, i, room);
            fits(&with, formula, i)
        };
        (!enough(has)).then(|| Room { key: of.key(), has, least: count(has, of.most(), enough) })
    };
    all.into_iter().filter_map(of).collect()
}

/// The least beyond `has` that is enough, which `most` is.
fn count(has: u64, most: u64, mut enough: impl FnMut(u64) -> bool) -> u64 {
    let (mut few, mut many) = (has, has.saturating_mul(2).max(has + 1).min(most));
    while many < most && !enough(many) {
        (few, many) = (many, many.saturating_mul(2).min(most));
    }
    while many - few > 1 {
        let middle = few + (many - few) / 2;
        if enough(middle) { many = middle } else { few = middle }
    }
    many
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_that_is_enough_is_found() {
        for (has, edge) in [(0, 1), (0, 7), (1, 2), (3, 4), (3, 6), (3, 7), (5, 1000), (100, NO_END)] {
            assert_eq!(count(has, NO_END, |room| room >= edge), edge, "{has}");
        }
    }
}
