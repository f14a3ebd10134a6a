//! Groups of flows that share a rate. Groups may contain groups: a tree with flows as leaves.
//!
//! A tenant has its part of a link whatever others send, and divides the part among its flows (link
//! sharing: Floyd and Jacobson, "Link-sharing and resource management models for packet networks",
//! IEEE/ACM ToN 3(4), 1995). [`HierarchicalFair`](super::HierarchicalFair) orders by the tree;
//! other disciplines use the flows only.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::names::ChannelId;
use crate::virtual_clock::Vtick;

/// A group of flows and groups that share a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// The rate.
    pub tick: Vtick,
    /// Index of the parent group, which precedes this one; `None` for a group directly at the
    /// server.
    pub within: Option<usize>,
}

/// All groups, and the group of each flow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Groups(Arc<Tree>);

#[derive(Debug, Default, PartialEq, Eq)]
struct Tree {
    groups: Vec<Group>,
    members: BTreeMap<ChannelId, usize>,
}

impl Groups {
    /// Groups, each behind its parent, and for each flow in a group the index of its group. Panics
    /// if an index is out of range.
    pub fn new(groups: Vec<Group>, members: impl IntoIterator<Item = (ChannelId, usize)>) -> Self {
        let before = |(place, group): (usize, &Group)| group.within.is_none_or(|within| within < place);
        assert!(groups.iter().enumerate().all(before), "a group comes behind that of which it is a part");
        let members: BTreeMap<_, _> = members.into_iter().collect();
        assert!(members.values().all(|place| *place < groups.len()), "there are {} groups", groups.len());
        Self(Arc::new(Tree { groups, members }))
    }

    pub(super) fn all(&self) -> &[Group] {
        &self.0.groups
    }

    /// Index of the group of a flow, if the flow is in one.
    pub(super) fn of(&self, flow: ChannelId) -> Option<usize> {
        self.0.members.get(&flow).copied()
    }
}
