//! A channel has more time from now on.
//!
//! A channel keeps its place under `D_order`. Its response time there does not depend on its own
//! deadline, and no other channel waits for it more or less than before. With levels, the order and
//! the response times stay, and a range of places that may share a level may share it still. By the
//! demand test, the work of the channel that is due by each instant falls or stays. So no test is
//! run again: the kept demand at the own deadline is computed for the new one, or the stream moves
//! to its place by deadline.
//!
//! Common properties do not depend on deadlines ([`Population`]), and stay too.

use laxity_units::Span;

use super::*;

impl AdmissionTable {
    /// Gives an admitted channel a later `deadline`; no other channel is touched.
    ///
    /// `false`, and no change, if the channel is not admitted, if `deadline` is before its own, or
    /// if a request for it is refused whatever other channels there are: for want of buffers, or
    /// beyond `I_min` under [`Test::DOrder`].
    pub fn relax(&mut self, id: AdmissionId, deadline: Span) -> bool {
        if let Some(place) = self.place_through(id) {
            let request = self.through[place].1.within(deadline);
            let stays = deadline >= self.through[place].1.deadline()
                && buffers::check(&self.environment, &request).is_ok();
            if stays {
                self.through[place].1 = request;
            }
            return stays;
        }
        let Some(place) = self.place_of(id) else { return false };
        let request = self.channels[place].request.within(deadline);
        if deadline < self.channels[place].request.deadline() || self.within_reach(&request).is_err() {
            return false;
        }
        let above = self.above();
        let at = above + place;
        match self.test {
            Test::DOrder => {
                let at_deadline = self.at_own_deadline(at, &self.tasks[at], deadline.as_ps());
                let channel = &mut self.channels[place];
                (channel.request, channel.at_deadline) = (request, at_deadline);
            }
            Test::Demand => {
                let (channel, task) = (self.channels.remove(place), self.tasks.remove(at));
                self.streams.remove(place);
                let place = self.channels.partition_point(|channel| channel.deadline() <= deadline.as_ps());
                self.streams.insert(place, Stream::new(&task, deadline.as_ps()));
                self.channels.insert(place, Channel { request, ..channel });
                self.tasks.insert(above + place, task);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use laxity_units::Span;
    use proptest::prelude::*;

    use super::*;
    use crate::tests::{environments, requests};

    /// Whatever the table keeps of its channels is what it would be if it were computed anew.
    fn is_as_if_new(table: &AdmissionTable) -> bool {
        let mut again = table.clone();
        if let Some(shared) = table.shared.clone() {
            let tasks = again.tasks_under(&shared).unwrap();
            again.rebuild(shared, tasks);
        }
        let channels = table.channels.iter();
        again.population =
            channels.fold(table.best_effort, |all, c| all.with(&table.environment, &c.request));
        format!("{again:?}") == format!("{table:?}")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// Channels join, have more time and leave in any order. Kept figures are those computed
        /// anew, all keep their deadlines, and under `D_order` the bounds of all stay.
        #[test]
        fn relaxed_channels_keep_every_promise(
            environment in environments(), levels in prop::option::of(1u32..8),
            demand in any::<bool>(), requests in requests(),
            later in prop::collection::vec((0usize..40, 1u64..=12, any::<bool>()), 1..40),
        ) {
            let test = if demand { Test::Demand } else { Test::DOrder };
            let levels = levels.filter(|_| !demand);
            let mut table = AdmissionTable::with_test(Environment { levels, ..environment }, test).unwrap();
            for (request, (which, tenths, leaves)) in requests.into_iter().zip(later.into_iter().cycle()) {
                table.request(request);
                let before = table.bounds();
                let Some(chosen) = before.get(which % before.len().max(1)) else { continue };
                let interval = table.admitted(chosen.id).unwrap().spec().min_interval;
                let deadline = interval * tenths / 10;
                let relaxed = table.relax(chosen.id, deadline);
                let within = deadline <= interval || demand && table.environment.block_real_time != Block::Never;
                prop_assert_eq!(relaxed, deadline >= chosen.deadline && within);
                let after = table.bounds();
                prop_assert!(after.iter().all(|bound| bound.bound <= bound.deadline));
                if relaxed {
                    prop_assert_eq!(table.admitted(chosen.id).unwrap().deadline(), deadline);
                } else {
                    prop_assert_eq!(&after, &before);
                }
                if !demand && levels.is_none() {
                    let bounds = |all: &[Bound]| all.iter().map(|bound| (bound.id, bound.bound)).collect::<Vec<_>>();
                    prop_assert_eq!(bounds(&after), bounds(&before));
                }
                prop_assert!(is_as_if_new(&table));
                if leaves {
                    prop_assert!(table.release(chosen.id));
                    prop_assert!(!table.relax(chosen.id, Span::MAX));
                    prop_assert!(is_as_if_new(&table));
                }
            }
        }
    }
}
