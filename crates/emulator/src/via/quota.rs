//! Quotas of users at the adapters, so that no user takes all.
//!
//! **Rule.** A user gets more of a resource only while at least as much as that user then has is
//! still free. One user alone gets half of it, the next user half of the rest, and so on: a part
//! always stays free. This is the dynamic threshold of shared switch buffers (Choudhury and Hahne,
//! IEEE/ACM Transactions on Networking 6(2), 1998) with a factor of 1. The kernel names the user of
//! a connection (`SO_PEERCRED`), which no program can forge.
//!
//! A quota is checked before any object of a request is created or mapped. END's own limits per
//! process are checked here, too, for the same reason.

use std::collections::BTreeMap;

use laxity_vi::ViRefusal;
use laxity_vi::provider::{Answer, CompletionEntries, ControlRequest, ViQueues};

use super::desk::{MOST_AT_ADAPTER, MOST_MADE, MOST_PROCESSES, MOST_VIS};
use super::regions;

/// Bytes of memory that all processes together may share with the adapters.
const MOST_SHARED: u64 = 4 << 30;

/// Amount of one resource, shared by users.
#[derive(Debug)]
struct Pool {
    free: u64,
    /// By user; only for users that have some.
    taken: BTreeMap<u32, u64>,
}

impl Pool {
    fn new(all: u64) -> Self {
        Self { free: all, taken: BTreeMap::new() }
    }

    /// Takes `amount` for `user`, if the rule allows it.
    fn take(&mut self, user: u32, amount: u64) -> bool {
        let has = self.taken.get(&user).copied().unwrap_or(0).saturating_add(amount);
        let is_fair = self.free.checked_sub(amount).is_some_and(|left| has <= left);
        if is_fair && amount > 0 {
            self.free -= amount;
            self.taken.insert(user, has);
        }
        is_fair
    }

    /// Returns `amount`, which `user` had taken.
    fn give_back(&mut self, user: u32, amount: u64) {
        let Some(has) = self.taken.get_mut(&user) else { return };
        let amount = amount.min(*has);
        *has -= amount;
        self.free += amount;
        if *has == 0 {
            self.taken.remove(&user);
        }
    }
}

/// Use of all adapters by all users.
#[derive(Debug)]
pub(super) struct Quotas {
    connections: Pool,
    /// By adapter.
    interfaces: Vec<Pool>,
    bytes: Pool,
}

#[derive(Debug)]
pub(super) struct Holdings {
    user: u32,
    node: usize,
    /// Bytes of each registration, by its handle.
    regions: BTreeMap<u32, u64>,
    /// Virtual interfaces, each with the bytes of its queues.
    interfaces: BTreeMap<u32, u64>,
    /// Completion queues, each with its bytes.
    queues: BTreeMap<u32, u64>,
}

/// Amounts that a request takes of its user's quotas until it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Claim {
    bytes: u64,
    interfaces: u64,
}

impl Claim {
    fn of(request: &ControlRequest) -> Result<Self, ViRefusal> {
        let bytes = match *request {
            ControlRequest::Register { length, .. } if length > regions::MOST_BYTES => {
                return Err(ViRefusal::Resource);
            }
            ControlRequest::Register { length, .. } => length,
            ControlRequest::CreateVi { .. } => ViQueues::BYTES as u64,
            ControlRequest::CreateQueue(entries) => {
                CompletionEntries::bytes(entries).ok_or(ViRefusal::InvalidParameter)? as u64
            }
            _ => 0,
        };
        Ok(Self { bytes, interfaces: u64::from(matches!(request, ControlRequest::CreateVi { .. })) })
    }
}

impl Quotas {
    /// Quotas of `nodes` unused adapters.
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            connections: Pool::new(MOST_PROCESSES as u64),
            interfaces: (0..nodes).map(|_| Pool::new(MOST_AT_ADAPTER as u64)).collect(),
            bytes: Pool::new(MOST_SHARED),
        }
    }

    /// Connects a process of `user` to adapter `node`; `None` if the user's quota of connections is
    /// exhausted.
    pub(super) fn connect(&mut self, user: u32, node: usize) -> Option<Holdings> {
        let [regions, interfaces, queues] = [const { BTreeMap::new() }; 3];
        self.connections.take(user, 1).then_some(Holdings { user, node, regions, interfaces, queues })
    }

    /// Ends a connection, and returns all that its process had.
    pub(super) fn disconnect(&mut self, had: Holdings) {
        let Holdings { user, node, regions, interfaces, queues } = had;
        self.connections.give_back(user, 1);
        self.interfaces[node].give_back(user, interfaces.len() as u64);
        let bytes = [regions, interfaces, queues].iter().flat_map(BTreeMap::values).sum();
        self.bytes.give_back(user, bytes);
    }

    /// Takes the amounts for `request`; [`settle`](Self::settle) follows.
    pub(super) fn claim(&mut self, own: &Holdings, request: &ControlRequest) -> Result<Claim, ViRefusal> {
        let claim = Claim::of(request)?;
        let held: u64 = own.regions.values().sum();
        let is_within = match request {
            ControlRequest::Register { .. } => {
                own.regions.len() < regions::MOST && held + claim.bytes <= regions::MOST_BYTES
            }
            ControlRequest::CreateVi { .. } => own.interfaces.len() < MOST_VIS as usize,
            ControlRequest::CreateQueue(_) => own.queues.len() < MOST_MADE,
            _ => true,
        };
        if !is_within || !self.interfaces[own.node].take(own.user, claim.interfaces) {
            return Err(ViRefusal::Resource);
        }
        if !self.bytes.take(own.user, claim.bytes) {
            self.interfaces[own.node].give_back(own.user, claim.interfaces);
            return Err(ViRefusal::Resource);
        }
        Ok(claim)
    }

    /// Accounts for `answer` to `request`. The claim of a refused request is returned.
    pub(super) fn settle(
        &mut self,
        own: &mut Holdings,
        request: &ControlRequest,
        claim: Claim,
        answer: &Answer,
    ) {
        let (mut bytes, mut interfaces) = (0, 0);
        match (*request, answer) {
            (ControlRequest::Register { .. }, Answer::Made(handle)) => {
                own.regions.insert(*handle, claim.bytes);
            }
            (ControlRequest::CreateVi { .. }, Answer::Made(vi)) => {
                own.interfaces.insert(*vi, claim.bytes);
            }
            (ControlRequest::CreateQueue(_), Answer::Made(queue)) => {
                own.queues.insert(*queue, claim.bytes);
            }
            (ControlRequest::Deregister(handle), Answer::Done) => {
                bytes = own.regions.remove(&handle).unwrap_or(0);
            }
            (ControlRequest::DestroyQueue(queue), Answer::Done) => {
                bytes = own.queues.remove(&queue).unwrap_or(0);
            }
            (ControlRequest::DestroyVi(vi), Answer::Done) => {
                bytes = own.interfaces.remove(&vi).unwrap_or(0);
                interfaces = u64::from(bytes > 0);
            }
            (_, Answer::Refused(_)) => (bytes, interfaces) = (claim.bytes, claim.interfaces),
            _ => {}
        }
        self.bytes.give_back(own.user, bytes);
        self.interfaces[own.node].give_back(own.user, interfaces);
    }
}

#[cfg(test)]
mod tests {
    use laxity_vi::{Bandwidth, Reliability};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_user_gets_half_and_the_next_user_half_of_the_rest() {
        let mut pool = Pool::new(64);
        let all = |pool: &mut Pool, user| (0..100).filter(|_| pool.take(user, 1)).count();
        assert_eq!([1, 2, 3, 4].map(|user| all(&mut pool, user)), [32, 16, 8, 4]);
        assert!(!pool.take(1, 1));
        pool.give_back(1, 30);
        // 34 are free, and user 2 has 16: 9 more leave 25 for the 25 that it then has.
        assert_eq!(all(&mut pool, 2), 9);
        assert!(!pool.take(5, u64::MAX) && pool.take(5, 0));
    }

    fn create() -> ControlRequest {
        let bandwidth = Bandwidth::None;
        let reliability = Reliability::Unreliable;
        ControlRequest::CreateVi {
            tag: 1,
            reliability,
            write: false,
            read: false,
            bandwidth,
            queues: [None; 2],
            playout: 0,
        }
    }

    fn register(length: u64) -> ControlRequest {
        ControlRequest::Register { base: 0, length, tag: 1, write: false, read: false }
    }

    #[test]
    fn what_one_user_cannot_have_another_user_can() {
        let mut quotas = Quotas::new(2);
        let mut refused = 0;
        let mut greedy: Vec<Holdings> = (0..200).map_while(|_| quotas.connect(1, 0)).collect();
        assert_eq!(greedy.len(), MOST_PROCESSES / 2);
        let mut number = 0;
        for own in &mut greedy {
            for request in std::iter::repeat_n(create(), 70).chain([register(256 << 20)]) {
                let Ok(claim) = quotas.claim(own, &request) else {
                    refused += 1;
                    continue;
                };
                number += 1;
                quotas.settle(own, &request, claim, &Answer::Made(number));
            }
        }
        let interfaces: usize = greedy.iter().map(|own| own.interfaces.len()).sum();
        let bytes: u64 = greedy.iter().flat_map(|own| own.regions.values()).sum();
        assert_eq!(interfaces, MOST_AT_ADAPTER / 2);
        // The queues of its interfaces count, too, so one registration of 256 MiB less than half
        // fits.
        assert_eq!((bytes, refused > 0), (MOST_SHARED / 2 - (256 << 20), true));
        let other = quotas.connect(2, 0).unwrap();
        assert!(
            quotas.claim(&other, &create()).is_ok() && quotas.claim(&other, &register(256 << 20)).is_ok()
        );
        greedy.into_iter().for_each(|own| quotas.disconnect(own));
        assert!(quotas.connect(1, 0).is_some_and(|own| quotas.claim(&own, &create()).is_ok()));
    }

    fn request() -> impl Strategy<Value = ControlRequest> {
        let number = 0..4u32;
        prop_oneof![
            Just(create()),
            (0..300u64).prop_map(|mib| register(mib << 20)),
            (0..9u32).prop_map(ControlRequest::CreateQueue),
            number.clone().prop_map(ControlRequest::DestroyVi),
            number.clone().prop_map(ControlRequest::DestroyQueue),
            number.prop_map(ControlRequest::Deregister),
        ]
    }

    proptest! {
        /// After any sequence of requests and answers, all amounts are free when every process is
        /// gone.
        #[test]
        fn what_is_taken_is_given_back(
            steps in prop::collection::vec((0..3usize, request(), 0..4u32, 0..3u8), 0..200),
        ) {
            let mut quotas = Quotas::new(1);
            let mut own: Vec<Holdings> = (0..3).map(|user| quotas.connect(user / 2, 0).unwrap()).collect();
            for (process, request, number, outcome) in steps {
                let own = &mut own[process];
                let Ok(claim) = quotas.claim(own, &request) else { continue };
                // As in END: a number is assigned to one object only, and a missing object is not
                // destroyed.
                let answer = match (request, outcome) {
                    (_, 0) => Answer::Refused(ViRefusal::InvalidState),
                    (ControlRequest::Register { .. }, _) if !own.regions.contains_key(&number) => Answer::Made(number),
                    (ControlRequest::CreateVi { .. }, _) if !own.interfaces.contains_key(&number) => Answer::Made(number),
                    (ControlRequest::CreateQueue(_), _) if !own.queues.contains_key(&number) => Answer::Made(number),
                    (ControlRequest::Deregister(_) | ControlRequest::DestroyVi(_) | ControlRequest::DestroyQueue(_), _) => Answer::Done,
                    _ => Answer::Refused(ViRefusal::Resource),
                };
                quotas.settle(own, &request, claim, &answer);
            }
            own.into_iter().for_each(|own| quotas.disconnect(own));
            prop_assert_eq!(quotas.bytes.free, MOST_SHARED);
            prop_assert_eq!(quotas.interfaces[0].free, MOST_AT_ADAPTER as u64);
            prop_assert_eq!(quotas.connections.free, MOST_PROCESSES as u64);
        }
    }
}
