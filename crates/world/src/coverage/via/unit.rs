//! The units of a node as servers, and which of them are taken as one.

use crate::experiment::Experiment;

/// Servers of a node.
pub(super) const OF_NODE: usize = 4;
pub(super) const P: usize = 0;
pub(super) const H: usize = 1;
pub(super) const N: usize = 2;
pub(super) const R: usize = 3;

/// Which of a node's units are taken as one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// None.
    Apart,
    /// The processor and HDMA, between which messages go to and fro.
    ToAndFro,
    /// All of them.
    Whole,
}

impl Taken {
    /// Every way to take them.
    const ALL: [Self; 3] = [Self::Apart, Self::ToAndFro, Self::Whole];

    /// The possible partitions of an adapter into servers. With virtual interfaces in groups a
    /// message waits outside while HDMA serves another, and the processor may be idle: so these two
    /// are at least one server.
    ///
    /// Each is with whether it counts on messages with a bandwidth to go first. One server that
    /// works while a message waits has a bound in any order, too, and that may be the lower one.
    pub(crate) fn ways(experiment: &Experiment) -> impl Iterator<Item = (Self, bool)> {
        let ordered = !is_grouped(experiment);
        let first = Self::ALL.map(|taken| (taken, true)).into_iter().filter(move |_| ordered);
        first.chain([(Self::ToAndFro, false), (Self::Whole, false)])
    }

    /// The server that each unit is a part of.
    pub(super) fn unit(self, unit: usize) -> usize {
        match (self, unit) {
            (Self::ToAndFro, H) | (Self::Whole, _) => P,
            (Self::Apart | Self::ToAndFro, _) => unit,
        }
    }
}

/// Whether some virtual interface is in a group, with others or alone.
pub(super) fn is_grouped(experiment: &Experiment) -> bool {
    experiment.channels.iter().any(|channel| channel.group.is_some())
}
