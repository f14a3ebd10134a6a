//! Response times of channels on levels by hand, each level with its own `W` ([`crate::below`]).
//!
//! A level is served in order of arrival. So all its channels have the response time of the lowest
//! one, for which the others count as higher. At a link alone each channel has a response time of
//! its own ([`crate::response::selected`]). Where that takes too long to find, the response time of
//! the level holds there, too.

use std::ops::Range;

use super::super::below::{Lower, is_link_alone};
use super::super::response::selected::Selected;
use super::super::terms::ps;
use super::*;

/// Channels in the order of their levels.
pub(super) struct ByLevel<'a> {
    pub(super) environment: &'a Environment,
    pub(super) shared: &'a Shared,
    /// The population that `shared` is of.
    pub(super) population: Population,
    /// The work above all channels.
    pub(super) above: &'a [Task],
    pub(super) channels: Vec<(Request, Task)>,
}

/// A channel that is late.
pub(super) struct TooLate {
    /// Its place among the channels.
    pub(super) at: usize,
    pub(super) late: Late,
}

impl ByLevel<'_> {
    /// The places of each level, from the highest.
    fn levels(&self) -> Vec<Range<usize>> {
        let mut first = 0;
        let chunks = self.channels.chunk_by(|one, next| one.0.level() == next.0.level());
        let range = |chunk: &[(Request, Task)]| {
            let range = first..first + chunk.len();
            first = range.end;
            range
        };
        chunks.map(range).collect()
    }

    /// `W` of each level, with its places, from the highest.
    pub(super) fn waits(&self) -> Vec<(Range<usize>, Breakdown)> {
        let mut lower = Lower::of_best_effort(self.environment);
        let mut waits = Vec::new();
        for level in self.levels().into_iter().rev() {
            let wait = wait_above(&lower, self.environment, self.shared, self.population);
            waits.push((level.clone(), wait));
            lower = self.channels[level].iter().fold(lower, |all, it| all.with(self.environment, &it.0));
        }
        waits.reverse();
        waits
    }

    /// The response time of each channel with these `waits`, if all are in time.
    pub(super) fn responses(&self, waits: &[(Range<usize>, Breakdown)]) -> Result<Vec<u64>, TooLate> {
        let (simple, sharp) = (Effort::of(MOST_LOOKS), Effort::of(MOST_LOOKS));
        let tasks: Vec<Task> =
            self.above.iter().copied().chain(self.channels.iter().map(|it| it.1)).collect();
        let is_alone = is_link_alone(self.environment, &self.population);
        let mut responses = Vec::with_capacity(self.channels.len());
        for (level, wait) in waits {
            let level = level.clone();
            let constant = wait.picoseconds().saturating_add(self.shared.bursts);
            let deadline = |at: &usize| self.channels[*at].0.deadline().as_ps();
            let lowest = level.end - 1;
            let hurried = level.clone().min_by_key(deadline).unwrap_or(lowest);
            let (own, higher) =
                (constant.saturating_add(self.channels[lowest].1.service()), self.above.len() + lowest);
            let together = || {
                let (limit, higher) = (deadline(&hurried), &tasks[..higher]);
                response_or_line(own, higher, limit, &simple).map_err(|late| {
                    let late = diagnosed(late, (own, higher), limit, &Effort::of(MOST_LOOKS));
                    TooLate { at: hurried, late }
                })
            };
            if !is_alone {
                let response = together()?;
                responses.extend(level.map(|_| response));
                continue;
            }
            for at in level {
                if !self.channels[at].0.is_sent() {
                    responses.push(together()?);
                    continue;
                }
                let place = (self.above.len() + at, &self.channels[at].0);
                let (own, others) = selected(self.environment, constant, tasks[..=higher].to_vec(), place);
                let limit = deadline(&at);
                responses.push(match own.response(&others, limit, &sharp) {
                    Ok(response) => response,
                    Err(Late::Untold) => together()?,
                    Err(late) => {
                        let limit = limit.saturating_mul(DIAGNOSED);
                        let by = own.response(&others, limit, &Effort::of(MOST_LOOKS));
                        let late = by.map_or(late, |r| Late::AtLeast(r.into()));
                        return Err(TooLate { at, late });
                    }
                });
            }
        }
        Ok(responses)
    }
}

/// The channel of `request` at the place `at` of a `level` with all above it, for which it waits `wait`, and
/// the others.
pub(super) fn selected(
    environment: &Environment,
    wait: u128,
    mut level: Vec<Task>,
    (at, request): (usize, &Request),
) -> (Selected, Vec<Task>) {
    let task = level.remove(at);
    let last = request.spec().fragmentation(environment.packet).last();
    (Selected { wait, task, last: ps(environment.link.transmit(last)) }, level)
}

/// `W` above `lower`, where `shared` is of `population`.
fn wait_above(
    lower: &Lower,
    environment: &Environment,
    shared: &Shared,
    population: Population,
) -> Breakdown {
    let below = Some(lower.found(environment, &population));
    let own = Shared::new(environment, &Population { below, ..population });
    own.map_or_else(|_| shared.wait.clone(), |shared| shared.wait)
}

impl AdmissionTable {
    /// The channels of the table, which all have a level by hand.
    pub(super) fn by_level<'a>(&'a self, shared: &'a Shared, tasks: &[Task]) -> ByLevel<'a> {
        let requests = self.channels.iter().map(|channel| channel.request);
        ByLevel {
            environment: &self.environment,
            shared,
            population: self.found_for,
            above: &shared.activations,
            channels: requests.zip(tasks.iter().copied()).collect(),
        }
    }

    /// `W` of `request` above the channels that are `below` it.
    pub(super) fn wait_above(
        &self,
        request: &Request,
        shared: &Shared,
        below: impl Fn(&Request) -> bool,
    ) -> Breakdown {
        let lower = self.channels.iter().filter(|channel| below(&channel.request));
        let lower = lower.fold(Lower::of_best_effort(&self.environment), |all, channel| {
            all.with(&self.environment, &channel.request)
        });
        let population = self.found_with(request);
        wait_above(&lower, &self.environment, shared, population)
    }

    /// The population that [`shared_with`](Self::shared_with) `request` is of.
    pub(super) fn found_with(&self, request: &Request) -> Population {
        let population = self.population.with(&self.environment, request);
        if population == self.population && self.shared.is_some() { self.found_for } else { population }
    }
}
