//! The contract that a refusal proposes.
//!
//! A resource knows one bound of a contract, and others may be in the way of what it proposes. So a node
//! asks itself for each proposal before a program does.

use laxity_units::Span;

use super::Manager;
use crate::faults::Fault;
use crate::identity::Owner;
use crate::refusal::{Alternative, NodeResource, Shortage};
use crate::resources::{NodeRequest, Offer, Resources};

/// Proposals that a node tries for one refusal.
const TRIES: usize = 6;

impl<R: Resources> Manager<R> {
    /// Reserves for `asked` within the balance, and charges the owner.
    pub(super) fn grant(
        &mut self,
        asked: &NodeRequest,
        owner: Owner,
        channels: u64,
    ) -> Result<Offer, Shortage> {
        let offer = in_time(&mut self.resources, asked)?;
        if !self.broken(Fault::QuotaUnchecked)
            && let Err(shortage) = self.quotas.charge(owner, channels, offer.claim, &asked.contract)
        {
            self.resources.withdraw(offer.id);
            return Err(shortage);
        }
        Ok(offer)
    }

    /// A contract in place of `asked` that this node accepts, `first` or one that follows from it: else
    /// the same contract later, if what others hold is in the way.
    pub(super) fn acceptable(
        &mut self,
        asked: &NodeRequest,
        owner: Owner,
        channels: u64,
        first: Alternative,
    ) -> Alternative {
        let mut proposed = Some(readable(first));
        for _ in 0..TRIES {
            let Some(proposal) = proposed else { break };
            let Some(other) = changed(asked, proposal) else { break };
            let offer = in_time(&mut self.resources, &other);
            let accepted = offer.and_then(|offer| {
                self.resources.withdraw(offer.id);
                self.quotas.check(owner, channels, offer.claim, &other.contract)
            });
            match accepted {
                Ok(()) => return proposal,
                Err(shortage) => proposed = further(proposal, shortage.acceptable).map(readable),
            }
        }
        let alone = in_time(&mut self.empty, asked).is_ok_and(|offer| {
            self.empty.withdraw(offer.id);
            self.quotas.of(owner).has_room(channels, offer.claim)
        });
        if alone { Alternative::Later } else { Alternative::Unknown }
    }
}

/// Reserves for `asked`, if its balance is as long as the node needs.
fn in_time<R: Resources>(resources: &mut R, asked: &NodeRequest) -> Result<Offer, Shortage> {
    let offer = resources.reserve(asked)?;
    let needed = offer.least.saturating_add(offer.way);
    if needed > asked.balance {
        resources.withdraw(offer.id);
        return Err(late(asked.contract.deadline, asked.balance, needed));
    }
    Ok(offer)
}

/// The shortage of time where `needed` exceeds the balance.
pub(super) fn late(deadline: Span, balance: Span, needed: Span) -> Shortage {
    let missing = needed.saturating_sub(balance);
    let acceptable = Alternative::Deadline(deadline.saturating_add(missing));
    Shortage::of(NodeResource::Deadline, missing.as_ps()).but(acceptable)
}

/// The request with the contract that is proposed; `None` if that is no other contract.
fn changed(asked: &NodeRequest, proposal: Alternative) -> Option<NodeRequest> {
    let mut other = *asked;
    match proposal {
        Alternative::Deadline(deadline) => {
            let more = deadline.saturating_sub(asked.contract.deadline);
            other.balance = asked.balance.saturating_add(more);
            other.contract.deadline = deadline;
        }
        Alternative::Interval(interval) => other.contract.min_interval = interval,
        Alternative::Burst(burst) => other.contract.burst = burst,
        Alternative::Unknown | Alternative::Later => return None,
    }
    Some(other)
}

/// A proposal with times of four digits, rounded up. With a longer deadline the nodes before keep some
/// nanoseconds more of it, for the drift of clocks.
fn readable(proposal: Alternative) -> Alternative {
    match proposal {
        Alternative::Deadline(deadline) => Alternative::Deadline(deadline.rounded_up(4)),
        Alternative::Interval(interval) => Alternative::Interval(interval.rounded_up(4)),
        other => other,
    }
}

/// The next proposal after `refused`, for which `found` is proposed. A proposal changes one value, so
/// there is none where another value is in the way as well.
fn further(refused: Alternative, found: Alternative) -> Option<Alternative> {
    // The clocks of neighbours differ by less than a 512th, and a longer interval is regulated by that.
    let longer = |refused: Span, found: Span| match found > refused {
        true => found,
        false => refused.saturating_add(refused / 512 + Span::from_ps(1)),
    };
    match (refused, found) {
        (Alternative::Deadline(refused), Alternative::Deadline(found)) => {
            Some(Alternative::Deadline(longer(refused, found)))
        }
        (Alternative::Interval(refused), Alternative::Interval(found)) => {
            Some(Alternative::Interval(longer(refused, found)))
        }
        (Alternative::Burst(refused), Alternative::Burst(found)) => {
            (found < refused).then_some(Alternative::Burst(found))
        }
        _ => None,
    }
}
