//! Quotas of owners: how much of a node one owner may have reserved.

use std::collections::BTreeMap;

use crate::contract::QuotaClaim;
use crate::identity::Owner;
use crate::refusal::{Alternative, NodeResource, Shortage};

/// The most that an owner may have reserved at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Channels that begin at, pass or end at the node.
    pub channels: u64,
    /// Bandwidth, buffers and CPU time, the contracts of a channel that is being changed both
    /// counted.
    pub claim: QuotaClaim,
}

impl Quota {
    /// No limit.
    pub const UNLIMITED: Quota = Quota {
        channels: u64::MAX,
        claim: QuotaClaim { bandwidth: u64::MAX, buffers: u64::MAX, cpu: u64::MAX },
    };

    /// Channels, bandwidth, buffers and CPU time.
    pub fn amounts(&self) -> [u64; 4] {
        let Quota { channels, claim: QuotaClaim { bandwidth, buffers, cpu } } = *self;
        [channels, bandwidth, buffers, cpu]
    }

    /// The quota of these [amounts](Self::amounts).
    pub fn of([channels, bandwidth, buffers, cpu]: [u64; 4]) -> Self {
        Self { channels, claim: QuotaClaim { bandwidth, buffers, cpu } }
    }
}

/// The quotas of a node, and what each owner has reserved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quotas {
    /// The quota of an owner without one of its own.
    default: Quota,
    limits: BTreeMap<Owner, Quota>,
    used: BTreeMap<Owner, (u64, QuotaClaim)>,
}

impl Default for Quotas {
    fn default() -> Self {
        Self::new(Quota::UNLIMITED)
    }
}

impl Quotas {
    /// Every owner has `default`.
    pub fn new(default: Quota) -> Self {
        Self { default, limits: BTreeMap::new(), used: BTreeMap::new() }
    }

    /// Gives `owner` a quota of its own. Reservations stay.
    pub fn set(&mut self, owner: Owner, quota: Quota) {
        self.limits.insert(owner, quota);
    }

    /// Takes all limits of `other`. Reservations stay, also those above their new limit.
    pub fn set_limits(&mut self, other: Quotas) {
        (self.default, self.limits) = (other.default, other.limits);
    }

    /// The quota of an owner without one of its own, and each other with its owner.
    pub fn limits(&self) -> (Quota, impl Iterator<Item = (Owner, Quota)> + '_) {
        (self.default, self.limits.iter().map(|(owner, quota)| (*owner, *quota)))
    }

    /// The quota of `owner`.
    pub fn of(&self, owner: Owner) -> Quota {
        self.limits.get(&owner).copied().unwrap_or(self.default)
    }

    /// Channels and claims of `owner` at the node.
    pub fn used(&self, owner: Owner) -> (u64, QuotaClaim) {
        self.used.get(&owner).copied().unwrap_or_default()
    }

    /// The owners with reservations, and what they have reserved.
    pub fn in_use(&self) -> impl Iterator<Item = (Owner, Quota)> + '_ {
        self.used
            .iter()
            .map(|(owner, (channels, claim))| (*owner, Quota { channels: *channels, claim: *claim }))
    }

    /// Whether no owner has anything reserved.
    pub fn is_unused(&self) -> bool {
        self.used.is_empty()
    }

    /// Whether `owner` may have `channels` and `claim` beside what it has.
    ///
    /// # Errors
    /// The shortage.
    pub(crate) fn check(&self, owner: Owner, channels: u64, claim: QuotaClaim) -> Result<(), Shortage> {
        let limit = self.of(owner);
        let (had, used) = self.used(owner);
        let (channels, sum) = (had.saturating_add(channels), used.plus(claim));
        let over = [
            (NodeResource::QuotaChannels, channels, limit.channels),
            (NodeResource::QuotaBandwidth, sum.bandwidth, limit.claim.bandwidth),
            (NodeResource::QuotaBuffers, sum.buffers, limit.claim.buffers),
            (NodeResource::QuotaCpu, sum.cpu, limit.claim.cpu),
        ];
        match over.into_iter().find(|(_, wanted, limit)| wanted > limit) {
            None => Ok(()),
            Some((resource, wanted, limit)) => {
                Err(Shortage::of(resource, wanted - limit).but(Alternative::Later))
            }
        }
    }

    /// Charges `owner` for `channels` and `claim`.
    ///
    /// # Errors
    /// The shortage; then the owner is charged for neither.
    pub(crate) fn charge(&mut self, owner: Owner, channels: u64, claim: QuotaClaim) -> Result<(), Shortage> {
        self.check(owner, channels, claim)?;
        let (had, used) = self.used(owner);
        self.used.insert(owner, (had.saturating_add(channels), used.plus(claim)));
        Ok(())
    }

    /// Takes back what [`charge`](Self::charge) charged.
    pub(crate) fn refund(&mut self, owner: Owner, channels: u64, claim: QuotaClaim) {
        let (had, used) = self.used(owner);
        let left = (had.saturating_sub(channels), used.minus(claim));
        if left == (0, QuotaClaim::default()) {
            self.used.remove(&owner);
        } else {
            self.used.insert(owner, left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channels(channels: u64) -> Quota {
        Quota { channels, ..Quota::UNLIMITED }
    }

    /// Three channels under a limit that falls to two: they stay, and a fourth waits until two are over.
    #[test]
    fn a_new_limit_takes_no_channel_away() {
        let (owner, other) = (Owner(1), Owner(2));
        let mut quotas = Quotas::new(channels(3));
        let charge = |quotas: &mut Quotas, owner| quotas.charge(owner, 1, QuotaClaim::default());
        for _ in 0..3 {
            assert_eq!(charge(&mut quotas, owner), Ok(()));
        }
        let mut new = Quotas::new(channels(0));
        new.set(owner, channels(2));
        quotas.set_limits(new.clone());
        let short = |missing| Err(Shortage::of(NodeResource::QuotaChannels, missing).but(Alternative::Later));
        assert_eq!((charge(&mut quotas, owner), charge(&mut quotas, other)), (short(2), short(1)));
        for missing in [1, 0] {
            quotas.refund(owner, 1, QuotaClaim::default());
            assert_eq!(charge(&mut quotas, owner).is_ok(), missing == 0);
        }
        (0..2).for_each(|_| quotas.refund(owner, 1, QuotaClaim::default()));
        assert_eq!(quotas, new);
    }
}
