//! The table under `D_order` where each channel asks for its level (802.1Q priorities, CAN
//! identifiers, transmit rings in strict priority).
//!
//! The order of channels is then that of their levels, whichever was admitted first, and nothing is
//! left to find but the response times. A level is served in order of arrival, so each of its
//! channels counts as above all others of it, and has the response time of the lowest
//! (`levels.rs`). The proofs of a host hold for any order of priorities. They need response times
//! within `I_min`, which deadlines under `D_order` are.

use std::cmp::Ordering;

use super::*;

impl AdmissionTable {
    /// The level that `request` is to have here. Where there is one level, all channels share it.
    pub(super) fn by_hand(&self, request: &Request) -> Option<u32> {
        request.level().filter(|_| self.environment.levels.is_some_and(|levels| levels > 1))
    }

    /// The levels of all channels, if they asked for them.
    pub(super) fn levels_by_hand(&self) -> Option<Vec<u32>> {
        self.channels.iter().map(|channel| self.by_hand(&channel.request)).collect()
    }

    /// The newcomer as the last of its `level`, with everything that has to change for it.
    pub(super) fn place_by_hand(&self, request: &Request, level: u32) -> Result<Placed, Refusal> {
        let shared = self.shared_with(request)?;
        let constant = shared.constant();
        let service = shared.demand(&self.environment, request);
        let own = constant.saturating_add(service);
        let Some(task) = Task::new(request.spec().min_interval.as_ps(), service) else {
            return Err(self.late(request, service, &shared.activations, Late::AtLeast(own), None));
        };
        let changed = self.shared.as_ref() != Some(&shared);
        let tasks = if changed { Some(self.tasks_under(&shared)?) } else { None };
        let place = self.channels.partition_point(|channel| channel.request.level() <= Some(level));
        let before = tasks.as_ref().unwrap_or(&self.tasks);
        let (mut all, above) = (before.clone(), shared.activations.len());
        all.insert(above + place, task);
        let seat = |request: &Request| (request.level(), request.deadline().as_ps());
        let mut seats: Vec<_> = self.channels.iter().map(|channel| seat(&channel.request)).collect();
        seats.insert(place, seat(request));
        let effort = Effort::of(MOST_LOOKS);
        let (mut first, mut bound) = (0, 0);
        for seats in seats.chunk_by(|one, next| one.0 == next.0) {
            let lowest = first + seats.len() - 1;
            let (hurried, limit) = seats
                .iter()
                .map(|seat| seat.1)
                .enumerate()
                .min_by_key(|seat| seat.1)
                .expect("a chunk has a seat");
            let (higher, own) =
                (&all[..above + lowest], constant.saturating_add(all[above + lowest].service()));
            match (response_or_line(own, higher, limit, &effort), (first + hurried).cmp(&place)) {
                (Ok(r), _) => bound = if (first..=lowest).contains(&place) { r } else { bound },
                (Err(late), Ordering::Equal) => {
                    let late = diagnosed(late, (own, higher), limit, &effort);
                    return Err(self.late(request, service, before, late, None));
                }
                (Err(_), Ordering::Less) => {
                    return Err(self.makes_late(first + hurried, own, higher, &effort));
                }
                (Err(_), Ordering::Greater) => {
                    return Err(self.makes_late(first + hurried - 1, own, higher, &effort));
                }
            }
            first = lowest + 1;
        }
        Ok(Placed { place, bound, task, shared: changed.then_some(shared), tasks })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests::{Naive, environments, requests};

    /// The response time of the channel at `place` of `order`: that of the lowest of its level, if
    /// all of the level are in time with it.
    fn response_on_level(naive: &Naive, shared: &Shared, order: &[Request], place: usize) -> Option<u128> {
        let level: Vec<usize> =
            (0..order.len()).filter(|at| order[*at].level() == order[place].level()).collect();
        let limit = level.iter().map(|at| order[*at].deadline()).min()?;
        let lowest = *level.last()?;
        let mut hurried = order.to_vec();
        hurried[lowest] = hurried[lowest].within(limit);
        naive.response(shared, &hurried, lowest)
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
                let shared = naive.shared(&order);
                let responses: Option<Vec<u128>> = shared.and_then(|shared| {
                    (0..order.len()).map(|at| response_on_level(&naive, &shared, &order, at)).collect()
                });
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
