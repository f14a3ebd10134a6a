//! The promises of the hops of a path, for the component that shares an end-to-end deadline out
//! among them.
//!
//! The division is that of the network manager ([`laxity_signalling::division`]), so a static
//! scenario has the local deadlines that establishment gives.

use laxity_admission::{AdmissionRefusal, Claimant, Deficit, Reason, Scarce};
use laxity_signalling::division;
use laxity_units::Span;

use super::answer::Refused;
use crate::experiment::Division;

/// The deadlines that one hop can promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Needs {
    pub(super) node: usize,
    /// The least deadline that it can promise.
    pub(super) least: Span,
    /// The latest deadline that it can use.
    pub(super) latest: Span,
    /// The latest deadline that is worth its while: see [`enough`].
    pub(super) enough: Span,
}

impl Needs {
    /// The latest deadline that it gets.
    pub(super) fn most(&self) -> Span {
        self.latest.min(self.enough.max(self.least))
    }
}

/// Quarters of an interval that are enough of a local deadline, in the order in which they are tried.
///
/// Behind a station messages are early by its local deadline, and some stations count all early messages.
/// No deadline orders messages there. A local deadline of many intervals therefore delays other channels by
/// as many messages, and helps no channel. A short one leaves little room for later channels.
pub(super) const ENOUGH: [Option<u64>; 3] = [Some(2), Some(8), None];

/// The latest deadline that is worth while at a station up to the last one that counts early messages.
pub(super) fn enough(least: Span, interval: Span, quarters: u64) -> Span {
    (interval / 4).saturating_mul(quarters).max(least.saturating_mul(4))
}

/// The deadline of each of `hops`, which have what the links `between` them leave of `deadline`, or the
/// refusal by the slowest hop.
pub(super) fn divide(
    hops: &[Needs],
    (deadline, between): (Span, Span),
    division: Division,
) -> Result<Vec<Span>, Refused> {
    division::divide(&needs(hops), deadline.saturating_sub(between), division).map_err(|late| {
        // The links alone may take longer than the deadline.
        let missing = Deficit::Time(late.missing.saturating_add(between.saturating_sub(deadline)));
        let refusal =
            AdmissionRefusal::new(Scarce::Deadline, missing, Reason::LateTogether, Claimant::Newcomer);
        Refused { node: hops.get(late.hop).map_or(0, |needs| needs.node), refusal, whose: None }
    })
}

/// The least budget that [`divide`] shares out among `hops`.
pub(super) fn least(hops: &[Needs], division: Division) -> Span {
    division::least(&needs(hops), division)
}

fn needs(hops: &[Needs]) -> Vec<division::Needs> {
    hops.iter().map(|hop| division::Needs { least: hop.least, latest: hop.most() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 72 are needed. The slowest hop is named by its node, with the time that is missing.
    #[test]
    fn a_path_that_needs_more_is_refused_by_the_node_of_its_slowest_hop() {
        let us = Span::from_us;
        let hop = |node, least| Needs { node, least: us(least), latest: us(99), enough: Span::MAX };
        let all = [hop(7, 10), hop(5, 50), hop(3, 12)];
        assert!(divide(&all, (us(72), us(0)), Division::Proportional).is_ok());
        let Refused { node, refusal, .. } =
            divide(&all, (us(69), us(0)), Division::Proportional).unwrap_err();
        assert_eq!((node, refusal.deficit), (5, Deficit::Time(us(3))));
        let Refused { node, refusal, .. } = divide(&all, (us(147), us(0)), Division::Alike).unwrap_err();
        assert_eq!((node, refusal.deficit), (5, Deficit::Time(us(1))));
    }
}
