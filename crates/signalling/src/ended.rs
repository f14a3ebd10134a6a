//! The channels that are over, remembered for a while.
//!
//! A late duplicate of a request would revive a channel that was refused or closed. The revived
//! channel would take resources for a lease. So a node remembers the last channels that ended, as
//! many as it is set to. A duplicate has the neighbour of its channel, so an ending counts for requests
//! of that neighbour. No other neighbour can end a channel before it begins.

use std::collections::{BTreeMap, VecDeque};

use crate::identity::{GlobalChannelId, NodeId, Version};
use crate::refusal::Denial;

/// How a version of a channel ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The whole channel is over.
    Over,
    /// This version was refused.
    Refused(Denial),
}

/// A version of a channel, and the neighbour that it came by.
type Key = (NodeId, GlobalChannelId, Version);

/// The last endings; the oldest makes way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ended {
    endings: BTreeMap<Key, Ending>,
    order: VecDeque<Key>,
}

impl Ended {
    /// Remembers how a version of a channel ended, among `most` endings.
    pub(crate) fn remember(&mut self, key: Key, ending: Ending, most: usize) {
        if self.endings.insert(key, ending).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > most
            && let Some(oldest) = self.order.pop_front()
        {
            self.endings.remove(&oldest);
        }
    }

    /// How `version` of `channel` ended: by itself, or with the channel.
    pub(crate) fn ending(&self, from: NodeId, channel: GlobalChannelId, version: Version) -> Option<Ending> {
        // An ended channel is remembered under version 0, which no contract has.
        let over = self.endings.get(&(from, channel, Version(0)));
        over.or_else(|| self.endings.get(&(from, channel, version))).copied()
    }

    /// Remembers that the whole of `channel` is over.
    pub(crate) fn over(&mut self, from: NodeId, channel: GlobalChannelId, most: usize) {
        self.remember((from, channel, Version(0)), Ending::Over, most);
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }
}
