//! The table under `D_order`: the priority that a newcomer can have among the channels that are in
//! it.
//!
//! The lowest channel that tolerates the newcomer above it is where it goes, so that it takes no
//! priority that it does not need. Where it changes no common property, the slack of each channel
//! at its deadline decides for most of them at once.

use std::cmp::Ordering;

use super::levels::TooFew;
use super::*;

impl AdmissionTable {
    /// Where the newcomer goes, no higher than `from`, with everything that has to change for it.
    pub(super) fn place_by_order(&self, request: &Request, from: usize) -> Result<Placed, AdmissionRefusal> {
        self.levels_of_all(request)?;
        if let Some(level) = self.by_hand(request) {
            return self.place_by_hand(request, level);
        }
        let shared = self.shared_with(request)?;
        let constant = shared.constant();
        let service = shared.demand(&self.environment, request);
        let own = constant.saturating_add(service);
        let deadline = request.deadline().as_ps();
        let effort = Effort::of(MOST_LOOKS);
        let alone = response_or_line(own, &shared.activations, deadline, &effort);
        let task = Task::new(request.spec().min_interval.as_ps(), service);
        let Some(task) = task.filter(|_| alone.is_ok()) else {
            let late = alone.map_or_else(|late| late, |r| Late::AtLeast(u128::from(r).max(own)));
            return Err(self.late(request, service, &shared.activations, late, None));
        };
        let changed = self.shared.as_ref() != Some(&shared);
        let tasks = if changed { Some(self.tasks_under(&shared)?) } else { None };
        let (above, channels) = tasks.as_deref().unwrap_or(&self.tasks).split_at(shared.activations.len());
        let place = if changed {
            self.sweep_for_place(constant, above, task, channels)
        } else {
            self.scan_for_place((constant, above), task, channels, &effort)
        };
        // Below the highest place where it is tolerated it is tolerated everywhere.
        let place = place.max(from);
        if changed {
            // Those above the newcomer do not wait for it, but for what it changed.
            let mut broken = None;
            in_time(constant, above, claims(&self.channels[..place], channels), MOST_RELEASES, |at, met| {
                broken = broken.or((!met).then_some(at));
            });
            if let Some(at) = broken {
                return Err(self.breaks(at, (constant, above), channels, &effort));
            }
        }
        let all = tasks.as_deref().unwrap_or(&self.tasks);
        let higher = &all[..above.len() + place];
        let blocked_by = place.checked_sub(1).map(|lowest| self.channels[lowest].id);
        match response_or_line(own, higher, deadline, &effort) {
            Ok(response) => {
                let (least, bound) = match self.environment.levels {
                    Some(levels) => self.bounds_on_level(&shared, all, (request, task), place, levels)?,
                    None => (response, response),
                };
                Ok(Placed { place, bound, least, task, shared: changed.then_some(shared), tasks })
            }
            Err(late) => {
                let late = diagnosed(late, (own, higher), deadline, &effort);
                Err(self.late(request, service, all, late, blocked_by))
            }
        }
    }

    /// The place below the lowest channel that does not tolerate `task` above it.
    fn scan_for_place(
        &self,
        (constant, above): (u128, &[Task]),
        task: Task,
        channels: &[Task],
        effort: &Effort,
    ) -> usize {
        let mut looked_at = 0;
        for (place, channel) in self.channels.iter().enumerate().rev() {
            let deadline = channel.deadline();
            if channel.at_deadline + task.demand(deadline) <= u128::from(deadline) {
                continue;
            }
            if looked_at == ONE_BY_ONE {
                return self.sweep_for_place(constant, above, task, &channels[..=place]);
            }
            looked_at += 1;
            let with_newcomer: Vec<Task> =
                above.iter().chain(&channels[..place]).copied().chain([task]).collect();
            let own = constant.saturating_add(channels[place].service());
            if response_or_line(own, &with_newcomer, deadline, effort).is_err() {
                return place + 1;
            }
        }
        0
    }

    /// The response time and the bound of a newcomer at `place` on a level, which it may have to share;
    /// refused if there are not enough levels.
    fn bounds_on_level(
        &self,
        shared: &Shared,
        tasks: &[Task],
        (request, task): (&Request, Task),
        place: usize,
        levels: u32,
    ) -> Result<(u64, u64), AdmissionRefusal> {
        let (above, channels) = tasks.split_at(shared.activations.len());
        let mut all: Vec<Claim> = claims(&self.channels, channels).collect();
        all.insert(place, Claim { task, limit: request.deadline().as_ps() });
        let effort = Effort::of(MOST_LOOKS);
        let on_levels = OnLevels::new(shared.constant(), (above, &all), levels, &effort);
        let on_levels = on_levels.map_err(|TooFew { place: late, by }| {
            let claimant = match late.cmp(&place) {
                Ordering::Less => Claimant::Channel(self.channels[late].id),
                Ordering::Equal => Claimant::Newcomer,
                Ordering::Greater => Claimant::Channel(self.channels[late - 1].id),
            };
            let by = Deficit::Time(Span::from_ps(by));
            AdmissionRefusal::new(Scarce::Levels, by, Reason::SharedLevels, claimant)
        })?;
        let mut order: Vec<&Request> = self.channels.iter().map(|channel| &channel.request).collect();
        order.insert(place, request);
        let alone = self.alone((shared, &self.found_with(request)), order.into_iter());
        Ok((on_levels.together(place), on_levels.bound((place, request), alone.as_ref(), &effort)))
    }

    fn sweep_for_place(&self, constant: u128, above: &[Task], task: Task, channels: &[Task]) -> usize {
        let with_newcomer: Vec<Task> = above.iter().copied().chain([task]).collect();
        let mut place = 0;
        in_time(constant, &with_newcomer, claims(&self.channels, channels), MOST_RELEASES, |at, met| {
            if !met {
                place = at + 1;
            }
        });
        place
    }
}
