//! The table under `D_order` where each channel asks for its level (802.1Q priorities, CAN
//! identifiers, transmit rings in strict priority).
//!
//! The order of channels is then that of their levels, whichever was admitted first, and nothing is
//! left to find but the response times. A level is served in order of arrival, so each of its
//! channels counts as above all others of it, and has the response time of the lowest
//! (`levels.rs`). The proofs of a host hold for any order of priorities. They need response times
//! within `I_min`, which deadlines under `D_order` are.

use std::cmp::Ordering;

use super::by_level::TooLate;
use super::*;

impl AdmissionTable {
    /// The level that `request` is to have here. Where there is one level, all channels share it.
    pub(super) fn by_hand(&self, request: &Request) -> Option<u32> {
        request.level().filter(|_| self.environment.levels.is_some_and(|levels| levels > 1))
    }

    /// Whether all channels of the table have a level by hand, and there are some.
    pub(super) fn is_by_hand(&self) -> bool {
        let all = self.channels.iter().all(|channel| self.by_hand(&channel.request).is_some());
        all && !self.channels.is_empty()
    }

    /// Refuses a level by hand beside channels without one, and the reverse.
    pub(super) fn levels_of_all(&self, request: &Request) -> Result<(), AdmissionRefusal> {
        match self.is_by_hand() == self.by_hand(request).is_some() || self.channels.is_empty() {
            true => Ok(()),
            false => Err(refused((Scarce::Levels, Deficit::Unbounded, Reason::SharedLevels))),
        }
    }

    /// The newcomer as the last of its `level`, with everything that has to change for it.
    pub(super) fn place_by_hand(&self, request: &Request, level: u32) -> Result<Placed, AdmissionRefusal> {
        let shared = self.shared_with(request)?;
        let service = shared.demand(&self.environment, request);
        let Some(task) = Task::new(request.spec().min_interval.as_ps(), service) else {
            let wait = self.wait_above(request, &shared, |other| other.level() > request.level());
            let own = wait.picoseconds().saturating_add(service);
            return Err(self.late(request, service, &shared.activations, Late::AtLeast(own), None));
        };
        let changed = self.shared.as_ref() != Some(&shared);
        let tasks = if changed { Some(self.tasks_under(&shared)?) } else { None };
        let place = self.channels.partition_point(|channel| channel.request.level() <= Some(level));
        let before = tasks.as_ref().unwrap_or(&self.tasks);
        let (_, of_channels) = before.split_at(shared.activations.len());
        let mut all = self.by_level(&shared, of_channels);
        all.population = self.found_with(request);
        all.channels.insert(place, (*request, task));
        let bound = match all.responses(&all.waits()) {
            Ok(responses) => responses[place],
            Err(TooLate { at, late }) => {
                return Err(match at.cmp(&place) {
                    Ordering::Equal => self.late(request, service, before, late, None),
                    Ordering::Less => self.is_late(at, late),
                    Ordering::Greater => self.is_late(at - 1, late),
                });
            }
        };
        Ok(Placed { place, bound, least: bound, task, shared: changed.then_some(shared), tasks })
    }

    /// Every channel's bound, where all have a level by hand.
    pub(super) fn bounds_by_hand(&self, shared: &Shared, above: &[Task], tasks: &[Task]) -> Vec<Bound> {
        let all = self.by_level(shared, tasks);
        // Beside fewer channels than at its admission each keeps its deadline all the same.
        let kept = |_| self.channels.iter().map(Channel::deadline).collect();
        let waits = all.waits();
        let responses: Vec<u64> = all.responses(&waits).unwrap_or_else(kept);
        let waits = waits.into_iter().flat_map(|(level, wait)| level.map(move |_| wait.picoseconds()));
        let bound = |(priority, (wait, r)): (usize, (u128, u64))| {
            let (channel, service) = (&self.channels[priority], tasks[priority].service());
            let others = u128::from(r).saturating_sub(wait + service);
            let parts = Parts { wait, service, others, above: shared.bursts + demand(above, r) };
            channel.bound((priority, self.by_hand(&channel.request)), Worst::at_once(r), parts)
        };
        waits.zip(responses).enumerate().map(bound).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::below::Below;
    use crate::tests::{Naive, environments, requests};

    /// The response time of the channel at `place` of `order`: that of the lowest of its level, if
    /// all of the level are in time with it. Its `W` has the longest block below the level.
    fn response_on_level(naive: &Naive, order: &[Request], place: usize) -> Option<u128> {
        let environment = &naive.environment;
        let level: Vec<usize> =
            (0..order.len()).filter(|at| order[*at].level() == order[place].level()).collect();
        let limit = level.iter().map(|at| order[*at].deadline()).min()?;
        let lowest = *level.last()?;
        let mut hurried = order.to_vec();
        hurried[lowest] = hurried[lowest].within(limit);
        let best_effort = Population::of_best_effort(environment);
        let of = |requests: &[Request]| {
            requests.iter().fold(best_effort, |all, request| all.with(environment, request))
        };
        let (all, lower) = (of(order), of(&order[lowest + 1..]));
        let any = lowest + 1 < order.len() || !environment.best_effort.is_empty();
        let below = Below { block: any.then_some(lower.block), packet: all.largest_packet };
        let shared = Shared::new(environment, &Population { below: Some(below), ..all }).ok()?;
        naive.response(&shared, &hurried, lowest)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// The definition: all channels by level, and in the order of admission on each; every
        /// response time from scratch.
        #[test]
        fn levels_by_hand_are_kept(
            environment in environments(), requests in requests(),
            levels in prop::collection::vec(0u32..5, 40), leaves in prop::collection::vec(any::<bool>(), 40),
        ) {
            let environment = Environment { levels: Some(31), ..environment };
            let mut naive = Naive { environment: environment.clone(), admitted: Vec::new() };
            let mut table = AdmissionTable::new(environment).unwrap();
            for ((request, level), leaves) in requests.into_iter().zip(levels).zip(leaves) {
                let request = request.on_level(level);
                let before = table.bounds();
                let mut order = naive.admitted.clone();
                let place = order.partition_point(|other| other.level() <= request.level());
                order.insert(place, request);
                let responses: Option<Vec<u128>> =
                    (0..order.len()).map(|at| response_on_level(&naive, &order, at)).collect();
                let least = table.least_deadline(&request);
                match (table.request(request), responses) {
                    (Decision::Admitted { id, priority, bound }, Some(responses)) => {
                        prop_assert_eq!((priority, u128::from(bound.as_ps())), (place, responses[place]));
                        let bounds = table.bounds();
                        let found: Vec<u128> = bounds.iter().map(|b| b.bound.as_ps().into()).collect();
                        prop_assert_eq!(found, responses);
                        let on: Vec<_> = bounds.iter().map(|bound| bound.level).collect();
                        prop_assert_eq!(on, order.iter().map(Request::level).collect::<Vec<_>>());
                        prop_assert_eq!(least.ok(), Some(bound));
                        if leaves {
                            prop_assert!(table.release(id));
                            prop_assert_eq!(table.bounds(), before);
                        } else {
                            naive.admitted = order;
                        }
                    }
                    (Decision::Refused(refusal), None) => {
                        let blames = matches!(refusal.claimant, Claimant::Newcomer)
                            || before.iter().any(|b| refusal.claimant == Claimant::Channel(b.id));
                        prop_assert!(blames);
                        prop_assert_eq!(table.bounds(), before);
                    }
                    (ours, reference) => prop_assert!(false, "{:?} against {:?}", ours, reference),
                }
            }
        }
    }

    /// An urgent newcomer makes a channel below it late, which no other place would.
    #[test]
    fn the_channel_that_it_makes_late_is_named() {
        let environment = Environment {
            levels: Some(31),
            ..crate::tests::mc68040(crate::ResourceModel::Ideal, 1, crate::Formula::Corrected)
        };
        let mut table = AdmissionTable::new(environment).unwrap();
        let ms = Span::from_ms;
        let request =
            |kib, interval, deadline| Request::new(crate::tests::spec(kib, interval), deadline).unwrap();
        let short = request(20, ms(40), ms(4)).on_level(4);
        let Decision::Admitted { id, .. } = table.request(short) else { panic!("it is alone") };
        let long = request(60, ms(100), ms(100));
        let Decision::Refused(refusal) = table.request(long.on_level(4)) else {
            panic!("they share a level")
        };
        assert_eq!((refusal.claimant, refusal.reason), (Claimant::Channel(id), Reason::Late));
        assert!(matches!(table.request(long.on_level(3)), Decision::Refused(_)));
        let Decision::Admitted { priority, .. } = table.request(long.on_level(5)) else {
            panic!("it is below")
        };
        assert_eq!(priority, 1);
        let late = request(20, ms(40), ms(4)).on_level(6);
        let Decision::Refused(refusal) = table.request(late) else { panic!("it is below the long one") };
        assert_eq!(refusal.claimant, Claimant::Newcomer);
    }
}
