//! Quotas of owners: how much of a node one owner may have reserved.

use std::collections::BTreeMap;

use laxity_units::Span;

use crate::contract::{ChannelContract, QuotaClaim};
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

    /// Whether an owner without channels may have `channels` and `claim`.
    pub(crate) fn has_room(&self, channels: u64, claim: QuotaClaim) -> bool {
        let asked = Quota { channels, claim }.amounts();
        asked.into_iter().zip(self.amounts()).all(|(asked, most)| asked <= most)
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

    /// Whether `owner` may have `channels` and `claim` of `contract` beside what it has.
    ///
    /// # Errors
    /// The shortage. A contract that the quota has room for alone is accepted later.
    pub(crate) fn check(
        &self,
        owner: Owner,
        channels: u64,
        claim: QuotaClaim,
        contract: &ChannelContract,
    ) -> Result<(), Shortage> {
        let limit = self.of(owner);
        let (had, used) = self.used(owner);
        let left = limit.claim.minus(used);
        let wider = |part: u64, left: u64| {
            let wider = u128::from(contract.min_interval.as_ps()) * u128::from(part);
            let wider = wider.div_ceil(u128::from(left.max(1)));
            u64::try_from(wider).map_or(Alternative::Unknown, |ps| Alternative::Interval(Span::from_ps(ps)))
        };
        let (bandwidth, cpu) = (wider(claim.bandwidth, left.bandwidth), wider(claim.cpu, left.cpu));
        let fewer = Alternative::shorter(contract.burst, claim.buffers.saturating_sub(left.buffers));
        let QuotaClaim { bandwidth: most_bandwidth, buffers: most_buffers, cpu: most_cpu } = limit.claim;
        let of = [
            (NodeResource::QuotaChannels, channels, had, limit.channels, Alternative::Unknown),
            (NodeResource::QuotaBandwidth, claim.bandwidth, used.bandwidth, most_bandwidth, bandwidth),
            (NodeResource::QuotaBuffers, claim.buffers, used.buffers, most_buffers, fewer),
            (NodeResource::QuotaCpu, claim.cpu, used.cpu, most_cpu, cpu),
        ];
        for (resource, asked, used, most, smaller) in of {
            let missing = used.saturating_add(asked).saturating_sub(most);
            if missing > 0 {
                let acceptable = if asked > most { smaller } else { Alternative::Later };
                return Err(Shortage::of(resource, missing).but(acceptable));
            }
        }
        Ok(())
    }

    /// Charges `owner` for `channels` and `claim` of `contract`.
    ///
    /// # Errors
    /// The shortage; then the owner is charged for neither.
    pub(crate) fn charge(
        &mut self,
        owner: Owner,
        channels: u64,
        claim: QuotaClaim,
        contract: &ChannelContract,
    ) -> Result<(), Shortage> {
        self.check(owner, channels, claim, contract)?;
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
    use laxity_units::Bytes;

    use super::*;

    fn channels(channels: u64) -> Quota {
        Quota { channels, ..Quota::UNLIMITED }
    }

    fn contract() -> ChannelContract {
        ChannelContract {
            max_message: Bytes::new(1000),
            min_message: Bytes::new(1),
            min_interval: Span::from_ms(10),
            burst: 8,
            deadline: Span::from_ms(10),
        }
    }

    /// A contract that exceeds the quota alone gets a smaller one proposed, and no later time.
    #[test]
    fn a_contract_beyond_the_quota_is_not_for_later() {
        let owner = Owner(1);
        let refused = |limit: QuotaClaim, used: QuotaClaim, claim: QuotaClaim| {
            let mut quotas = Quotas::new(Quota { channels: 9, claim: limit });
            quotas.used.insert(owner, (1, used));
            quotas.check(owner, 1, claim, &contract()).unwrap_err()
        };
        let all = QuotaClaim { bandwidth: 100_000, buffers: 4, cpu: 300 };
        let [none, some] = [0, 20_000].map(|bandwidth| QuotaClaim { bandwidth, buffers: 0, cpu: 0 });
        let wide = |bandwidth| QuotaClaim { bandwidth, buffers: 0, cpu: 0 };
        let of = |resource, missing, acceptable| Shortage::of(resource, missing).but(acceptable);
        let interval = |us| Alternative::Interval(Span::from_us(us));
        let bandwidth = NodeResource::QuotaBandwidth;
        assert_eq!(refused(all, none, wide(100_100)), of(bandwidth, 100, interval(10_010)));
        assert_eq!(
            refused(all, some, wide(100_100)),
            of(bandwidth, 20_100, Alternative::Interval(Span::from_ps(12_512_500_000)))
        );
        assert_eq!(refused(all, some, wide(100_000)), of(bandwidth, 20_000, Alternative::Later));
        let buffers = QuotaClaim { buffers: 8, ..none };
        assert_eq!(refused(all, none, buffers), of(NodeResource::QuotaBuffers, 4, Alternative::Burst(4)));
        let cpu = QuotaClaim { cpu: 600, ..none };
        assert_eq!(refused(all, none, cpu), of(NodeResource::QuotaCpu, 300, interval(20_000)));
    }

    /// Three channels under a limit that falls to two: they stay, and a fourth waits until two are over.
    #[test]
    fn a_new_limit_takes_no_channel_away() {
        let (owner, other) = (Owner(1), Owner(2));
        let mut quotas = Quotas::new(channels(3));
        let charge = |quotas: &mut Quotas, owner| quotas.charge(owner, 1, QuotaClaim::default(), &contract());
        for _ in 0..3 {
            assert_eq!(charge(&mut quotas, owner), Ok(()));
        }
        let mut new = Quotas::new(channels(0));
        new.set(owner, channels(2));
        quotas.set_limits(new.clone());
        let short = |missing| Shortage::of(NodeResource::QuotaChannels, missing);
        assert_eq!(charge(&mut quotas, owner), Err(short(2).but(Alternative::Later)));
        assert_eq!(charge(&mut quotas, other), Err(short(1)), "no channel is ever within a quota of none");
        for missing in [1, 0] {
            quotas.refund(owner, 1, QuotaClaim::default());
            assert_eq!(charge(&mut quotas, owner).is_ok(), missing == 0);
        }
        (0..2).for_each(|_| quotas.refund(owner, 1, QuotaClaim::default()));
        assert_eq!(quotas, new);
    }
}
