//! Channels of several receivers.
//!
//! A multicast is a channel and its copies, one for each further receiver, each with a route of its own
//! from the same source. Packets are sent once as far as routes are the same. Where two routes part, a
//! copy is made of each packet: at the switch or the shared medium behind the last common station. From there
//! on the copy is a channel like others, with buffers and deadlines of its own.
//!
//! A copy belongs to the channel with which it has most of its route in common, so copies can have copies.
//! All of them are admitted together, or none is.

use std::ops::Range;

use super::{ChannelSpec, Experiment};

/// The channel that a channel is a copy of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyOf {
    /// Its place among the channels, before that of the copy.
    pub channel: usize,
    /// The stations at the beginning of both routes that send each packet once; at least 1.
    pub hops: usize,
}

impl ChannelSpec {
    /// The hop of its route from which stations have it. Those before have the channel of which it is a copy.
    pub fn begins(&self) -> usize {
        self.copy.map_or(0, |copy| copy.hops)
    }

    /// Whether it goes on from `station`, as itself.
    pub fn leaves(&self, station: usize) -> bool {
        self.passages_from(station).next().is_some()
    }
}

impl Experiment {
    /// Channel `i` and those of the same multicast, which follow each other.
    pub fn multicast(&self, i: usize) -> Range<usize> {
        let is_copy = |channel: &ChannelSpec| channel.copy.is_some();
        let before = self.channels[..=i].iter().rev().take_while(|channel| is_copy(channel)).count();
        let behind = self.channels[i + 1..].iter().take_while(|channel| is_copy(channel)).count();
        i - before..i + 1 + behind
    }

    /// The channel by which the station of that hop of channel `i` knows its packets: itself, or one that
    /// channel `i` is a copy of.
    pub fn known_as(&self, i: usize, hop: usize) -> usize {
        let copied = |i: &usize| self.channels[*i].copy.filter(|copy| hop < copy.hops);
        std::iter::successors(Some(i), |i| Some(copied(i)?.channel)).last().unwrap_or(i)
    }

    /// The experiment with `changed` in place of channel `i`, and with the same change of the others of its
    /// multicast.
    pub fn with_channel(&self, i: usize, changed: &ChannelSpec) -> Experiment {
        let mut with = self.clone();
        for channel in &mut with.channels[self.multicast(i)] {
            *channel = ChannelSpec {
                name: std::mem::take(&mut channel.name),
                route: std::mem::take(&mut channel.route),
                ways: std::mem::take(&mut channel.ways),
                copy: channel.copy,
                ..changed.clone()
            };
        }
        with
    }
}
