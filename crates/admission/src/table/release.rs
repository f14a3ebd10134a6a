//! A channel leaves.
//!
//! The common properties were found for all channels that were there; with one less they are found
//! anew, and usually are less. Not always. Where two ways of counting both hold, the one with the
//! lower estimate is taken before any channel has been looked at ([`super::super::beside`],
//! [`super::super::counted`]). For fewer channels that may be the other, by which one of them would
//! be late. None is: what was proved beside more channels holds beside some of them. So the new
//! properties are taken over if all channels keep their deadlines by them, as all do if the last
//! admitted is the first to leave. Otherwise the known ones stay.

use super::super::demand::{Host, feasible, feasible_by_lines};
use super::by_level::ByLevel;
use super::*;

impl AdmissionTable {
    /// Gives up a channel's reservation; `false` if there is none.
    pub fn release(&mut self, id: AdmissionId) -> bool {
        if let Some(place) = self.place_through(id) {
            self.through.remove(place);
            return true;
        }
        let Some(place) = self.place_of(id) else { return false };
        let task = self.tasks.remove(self.above() + place);
        let gone = self.channels.remove(place);
        match self.test {
            Test::DOrder => {
                for channel in &mut self.channels[place..] {
                    channel.at_deadline -= task.demand(channel.deadline());
                }
            }
            Test::Demand => drop(self.streams.remove(place)),
        }
        let population = self.population_without(&gone.request);
        if population != self.population {
            self.population = population;
            if let Some((shared, tasks)) = self.found_anew() {
                self.found_for = self.population;
                self.rebuild(shared, tasks);
            }
        }
        true
    }

    /// The population after `gone` left. Figures only grow with each channel, so the search ends
    /// with the channels that make up those of all.
    fn population_without(&self, gone: &Request) -> Population {
        let alone = self.best_effort.with(&self.environment, gone);
        if !alone.may_decide(&self.population, &self.best_effort) {
            return self.population;
        }
        let mut found = self.best_effort;
        for channel in &self.channels {
            found = found.with(&self.environment, &channel.request);
            if found == self.population {
                break;
            }
        }
        found
    }

    /// The common properties by themselves, if they differ from the known ones and all channels
    /// keep their deadlines by them.
    fn found_anew(&self) -> Option<(Shared, Vec<Task>)> {
        let shared = Shared::new(&self.environment, &self.population).ok()?;
        if self.shared.as_ref() == Some(&shared) {
            return None;
        }
        let tasks = self.tasks_under(&shared).ok()?;
        self.are_in_time(&shared, &tasks).then_some((shared, tasks))
    }

    fn are_in_time(&self, shared: &Shared, tasks: &[Task]) -> bool {
        let (above, tasks) = tasks.split_at(shared.activations.len());
        if self.is_by_hand() {
            let by_level = ByLevel { population: self.population, ..self.by_level(shared, tasks) };
            return by_level.responses(&by_level.waits()).is_ok();
        }
        let effort = Effort::of(MOST_LOOKS_AT_ALL);
        match self.test {
            Test::DOrder => {
                let mut responses = Vec::with_capacity(tasks.len());
                sweep(shared.constant(), above, claims(&self.channels, tasks), &effort, |at, r| {
                    responses.extend(r.map(|r| (r, self.channels[at].deadline())));
                });
                let levels = self.environment.levels;
                responses.len() == tasks.len()
                    && levels.is_none_or(|levels| levels::assign(&responses, levels).is_ok())
            }
            Test::Demand => {
                let (constant, stairs) = self.waits(shared, &self.population);
                let stairs = stairs.unwrap_or_default();
                let host = Host { constant, stairs: &stairs, activations: above, effort: &effort };
                let streams = self.streams_of(tasks);
                feasible(host, &streams).is_ok() || feasible_by_lines(host, &streams)
            }
        }
    }
}
