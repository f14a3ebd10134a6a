//! Groups of flows that have a rate together, in groups of their own if need be: a tree whose leaves are flows.
//!
//! A tenant has its part of a link whatever others send, and divides it among its flows as it likes (link sharing: Floyd and Jacobson, "Link-sharing and resource management
//! models for packet networks", IEEE/ACM ToN 3(4), 1995). Who orders by the tree is [`HierarchicalFair`](super::HierarchicalFair); to others there are only flows.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::names::ChannelId;
use crate::virtual_clock::Vtick;

/// Flows, and groups, that have a rate together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// The rate.
    pub tick: Vtick,
    /// The place of the group of which it is a part, which comes before it; none of a group of the server's own.
    pub within: Option<usize>,
}

/// All groups, and whose flows are whose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Groups(Arc<Tree>);

#[derive(Debug, Default, PartialEq, Eq)]
struct Tree {
    groups: Vec<Group>,
    members: BTreeMap<ChannelId, usize>,
}

impl Groups {
    /// Groups, each behind that of which it is a part, and the places of those that flows are in. Panics if a place is of no such group.
    pub fn new(groups: Vec<Group>, members: impl IntoIterator<Item = (ChannelId, usize)>) -> Self {
        let before = |(place, group): (usize, &Group)| group.within.is_none_or(|within| within < place);
        assert!(groups.iter().enumerate().all(before), "a group comes behind that of which it is a part");
        let members: BTreeMap<_, _> = members.into_iter().collect();
        assert!(members.values().all(|place| *place < groups.len()), "there are {} groups", groups.len());
        Self(Arc::new(Tree { groups, members }))
    }

    /// Every one.
    pub(super) fn all(&self) -> &[Group] {
        &self.0.groups
    }

    /// The place of the group that a flow is in, if it is in one.
    pub(super) fn of(&self, flow: ChannelId) -> Option<usize> {
        self.0.members.get(&flow).copied()
    }
}
