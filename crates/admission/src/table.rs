//! The channels of a host, and `D_order`, which keeps them in priority order. (`table/by_demand.rs`
//! has the other [`Test`]; there the order is by deadline only.)
//!
//! # `D_order` (Kandlur, Shin and Ferrari 1994)
//!
//! A newcomer gets the highest priority at which every channel below it still meets its deadline;
//! its own response time there is its bound, and it is refused if that exceeds its deadline.
//! Channels admitted before keep their order. Recomputing every response time at every place is
//! cubic in the number of channels; the same decision is reached faster because
//!
//! * whether a channel tolerates the newcomer above it does not depend on where above: the newcomer
//!   stands below the lowest channel that does not tolerate it;
//! * `r_j ≤ d_j` as soon as *some* `t ≤ d_j` has `demand_j(t) ≤ t`. The demand at `t = d_j` is kept
//!   for every channel and corrected by one product when a channel arrives or leaves. Only channels
//!   that fail there are looked at more closely: the first few one by one, the rest in one
//!   [`sweep`].
//!
//! A newcomer that is longer or has shorter packets than any before changes `W`, `α` or a block for
//! all. Then every service time and demand is computed anew (`table/at_deadlines.rs`), and an
//! *existing* channel may be what refuses it.
//!
//! # The bounds hold under EDF too
//!
//! Admission reasons with fixed priorities, while handlers and packets are scheduled by deadline
//! (resource §2.2). The papers take it for granted that this is sound; with two resources that
//! cannot be preempted it needs a proof. Let `d_j` stand for any local deadlines with `r_j ≤ d_j ≤
//! I_j`; `d_j = r_j` is what the papers use. Suppose message `m` with absolute deadline `D`
//! finishes at `f > D` under EDF on CPU and link. Take as its level the messages with deadlines up
//! to `D`. Inequality (1) of [`super::trajectory`] holds with the same `W`, since `W` covers blocks
//! and packets of *any* channel: for all `x` in `(s, f)`
//!
//! ```text
//! x − s < W + G(x − s) + Σ_j n_j(x) S_j,
//! ```
//!
//! with `G` the work above the handlers, and `n_j` counting messages released in `[s, x)` with
//! deadlines up to `D`. With `t = D − s`, `n_j(x) ≤ b_j(t) = max(0, ⌊(t − d_j)/I_j⌋ + 1)` for every
//! `x`.
//!
//! Consider one abstract preemptive processor on which at time 0 a job `W`, then `G`, then the
//! channels' periodic jobs `S_j` all start, served in the table's fixed order, `W` and `G` at the
//! top. By the table's test the first job of every channel ends by `r_j ≤ d_j ≤ I_j`, and since
//! that is a critical instant so does every later one by its deadline. So by `t` all `Σ b_j(t) S_j`
//! of jobs due by then are done, in time left over by `W` and `G`. They leave in `[0, t]` the time
//! `max_{0 ≤ y ≤ t} (y − W − G(y))` (a priority served at the top executes `min_y (W + G(y) + t −
//! y)`, where `W + G(0) = 0`). Let `y` be where the maximum is; `y > 0`, because at least `m`
//! itself is in the sum. Then
//!
//! ```text
//! W + G(y) + Σ_j n_j(s + y) S_j ≤ W + G(y) + Σ_j b_j(t) S_j ≤ y,
//! ```
//!
//! which contradicts (1) at `x = s + y ≤ D < f`. Hence `f ≤ D`. ∎
//!
//! The proof needs that `W` is the same for all channels. Fixed priorities have a `W` for each level by hand
//! ([`super::below`]), and at a link alone each channel has (`table/on_levels.rs`), with no proof under EDF.

mod alike;
mod at_deadlines;
mod by_deadline;
mod by_demand;
mod by_hand;
mod by_level;
mod by_order;
mod late;
mod on_levels;
mod relax;
mod release;
mod through;
mod waits;

use std::borrow::Cow;

use laxity_units::{Bytes, Span};

use at_deadlines::at_deadlines;
use on_levels::OnLevels;

use super::decision::{
    AdmissionId, AdmissionRefusal, Bound, Claimant, Decision, Deficit, Reason, Scarce, refused,
};
use super::demand::{Stream, Worst};
use super::environment::{Environment, EnvironmentError, Request};
use super::model::{Shared, shares};
use super::population::Population;
use super::response::{
    Claim, Effort, Late, MOST_LOOKS, MOST_RELEASES, Task, demand, in_time, response, response_or_line, sweep,
};
use super::terms::{Breakdown, span};
use super::{buffers, levels};
use laxity_qos::channel::Block;

/// Channels that fail the quick test and are looked at one by one before the rest is swept.
const ONE_BY_ONE: usize = 2;
/// Looks that the bounds of all channels may take, about a second.
const MOST_LOOKS_AT_ALL: u64 = 1 << 28;
/// The same where each attempt at a deadline needs them: a hundredth of a second.
const LOOKS_FOR_AN_ATTEMPT: u64 = 1 << 20;
/// The least deadline that there is.
const LEAST_DEADLINE: Span = Span::from_ps(1);
/// How many deadlines late a refused newcomer is still told its lateness exactly.
const DIAGNOSED: u64 = 8;

/// How it is decided whether channels can be served together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Test {
    /// Fixed priorities in the order found (Kandlur, Shin and Ferrari 1994). The bounds hold under
    /// them, and under EDF by any deadlines between the bound and the one asked for. Deadlines are
    /// at most `I_min`.
    #[default]
    DOrder,
    /// Work due by each instant, for EDF by the deadlines asked for only: admits whatever `DOrder`
    /// does and more, and deadlines beyond `I_min`.
    Demand,
}

/// Every promise a host has made.
#[derive(Debug, Clone)]
pub struct AdmissionTable {
    environment: Environment,
    test: Test,
    best_effort: Population,
    population: Population,
    /// The population that `shared` is of. After a release it can be an earlier one.
    found_for: Population,
    /// `None` while no channel is admitted.
    shared: Option<Shared>,
    /// From the highest priority to the lowest.
    channels: Vec<Channel>,
    /// The work above all channels, then the channels', in the same order.
    tasks: Vec<Task>,
    /// The channels again, as the demand test sees them; empty under `D_order`.
    streams: Vec<Stream>,
    /// Channels that take no time here, and are in no order.
    through: Vec<(AdmissionId, Request)>,
    next_id: u64,
}

#[derive(Debug, Clone, Copy)]
struct Channel {
    id: AdmissionId,
    request: Request,
    /// `constant + S + Σ_hp ⌈d/I⌉ S` at its own deadline, or more, kept under `D_order`.
    at_deadline: u128,
}

impl Channel {
    fn deadline(&self) -> u64 {
        self.request.deadline().as_ps()
    }

    /// Its bound with that priority and level.
    fn bound(&self, (priority, level): (usize, Option<u32>), worst: Worst, parts: Parts) -> Bound {
        let interference = parts.above.min(parts.others);
        Bound {
            id: self.id,
            priority,
            level,
            deadline: self.request.deadline(),
            bound: Span::from_ps(worst.bound),
            wait: span(parts.wait),
            service: span(parts.service),
            higher: span(parts.others - interference),
            interference: span(interference),
            head_start: Span::from_ps(worst.head_start),
        }
    }
}

/// Parts of a response time.
#[derive(Debug, Clone, Copy)]
struct Parts {
    /// `W`.
    wait: u128,
    /// `S`.
    service: u128,
    /// The part of others in it.
    others: u128,
    /// Work above all handlers, of which no more counts than others take.
    above: u128,
}

impl AdmissionTable {
    /// A host without channels that admits by `D_order`.
    pub fn new(environment: Environment) -> Result<Self, EnvironmentError> {
        Self::with_test(environment, Test::DOrder)
    }

    /// A host without channels that admits by `test`.
    pub fn with_test(environment: Environment, test: Test) -> Result<Self, EnvironmentError> {
        environment.check()?;
        let best_effort = Population::of_best_effort(&environment);
        Ok(Self {
            environment,
            test,
            best_effort,
            population: best_effort,
            found_for: best_effort,
            shared: None,
            channels: Vec::new(),
            tasks: Vec::new(),
            streams: Vec::new(),
            through: Vec::new(),
            next_id: 0,
        })
    }

    /// The host.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The test that decides.
    pub fn test(&self) -> Test {
        self.test
    }

    /// Whether it covers several messages of a channel under way at a time: the demand test does, if
    /// a block ends with its message. A handler that drained its queue would make blocks of them.
    pub fn reaches_beyond_interval(&self) -> bool {
        self.test == Test::Demand && self.environment.block_real_time != Block::Never
    }

    /// Whether channels have fixed priorities, of which there may be too few.
    pub fn has_levels(&self) -> bool {
        self.environment.levels.is_some()
    }

    /// How many channels are admitted.
    pub fn len(&self) -> usize {
        self.channels.len() + self.through.len()
    }

    /// Whether no channel is admitted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The longest work between two preemption points, switches excluded; `None` if there may be no
    /// second.
    pub(super) fn longest_block(&self) -> Option<Span> {
        (!self.population.never_yields).then(|| span(self.population.block))
    }

    /// Request of an admitted channel.
    pub fn admitted(&self, id: AdmissionId) -> Option<&Request> {
        let ordered = self.channels.iter().map(|channel| (channel.id, &channel.request));
        let mut all = ordered.chain(self.through.iter().map(|(id, request)| (*id, request)));
        all.find(|(other, _)| *other == id).map(|(_, request)| request)
    }

    /// The least deadline that could be promised in place of the one of `request` now, given every
    /// promise already made.
    pub fn least_deadline(&self, request: &Request) -> Result<Span, AdmissionRefusal> {
        match self.test {
            // The newcomer's place depends on the others' deadlines and not on its own.
            Test::DOrder => self.least_deadline_from(request, 0),
            Test::Demand => {
                self.in_order(request)?.map_or(Ok(LEAST_DEADLINE), |table| table.least_by_demand(request))
            }
        }
    }

    /// The same under `D_order`, no higher than `from`.
    pub fn least_deadline_from(&self, request: &Request, from: usize) -> Result<Span, AdmissionRefusal> {
        let Some(table) = self.in_order(request)? else { return Ok(LEAST_DEADLINE) };
        Ok(Span::from_ps(table.place_by_order(&request.loosest(), from)?.least))
    }

    /// Under `D_order`: the highest priority that the admitted channels tolerate it at, as they do
    /// any lower one; `None` if they tolerate it at none, or no deadline up to `I_min` could be
    /// promised there.
    pub fn highest_priority(&self, request: &Request) -> Option<usize> {
        let Some(table) = self.in_order(request).ok()? else { return Some(0) };
        table.place_by_order(&request.loosest(), 0).ok().map(|placed| placed.place)
    }

    /// Admits `request`, or says why not and leaves the table unchanged.
    pub fn request(&mut self, request: Request) -> Decision {
        self.request_from(request, 0)
    }

    /// The same, under `D_order` at a priority no higher than `from`, counted from the highest;
    /// there are as many channels at least.
    pub fn request_from(&mut self, request: Request, from: usize) -> Decision {
        match self.in_order(&request) {
            Ok(None) => self.let_through(request),
            Ok(Some(Cow::Borrowed(_))) => self.put_in_order(request, from),
            Ok(Some(Cow::Owned(mut table))) => {
                let decision = table.put_in_order(request, from);
                if matches!(decision, Decision::Admitted { .. }) {
                    *self = table;
                }
                decision
            }
            Err(refusal) => Decision::Refused(refusal),
        }
    }

    fn put_in_order(&mut self, request: Request, from: usize) -> Decision {
        let placed = self.within_reach(&request).and_then(|()| match self.test {
            Test::DOrder => self.place_by_order(&request, from),
            Test::Demand => self.place_by_demand(&request),
        });
        match placed {
            Ok(placed) => self.insert(request, placed),
            Err(refusal) => Decision::Refused(refusal),
        }
    }

    /// Every channel's bound, from the highest priority to the lowest.
    pub fn bounds(&self) -> Vec<Bound> {
        self.bounds_within(MOST_LOOKS_AT_ALL)
    }

    /// The same, for an attempt at a deadline. By the demand test a channel has its deadline where response
    /// times take too many looks.
    pub(super) fn bounds_in_short(&self) -> Vec<Bound> {
        self.bounds_within(LOOKS_FOR_AN_ATTEMPT)
    }

    fn bounds_within(&self, looks: u64) -> Vec<Bound> {
        let ordered = self.shared.as_ref().map(|shared| self.bounds_in_order(shared, looks));
        ordered.into_iter().flatten().chain(self.bounds_through()).collect()
    }

    fn bounds_in_order(&self, shared: &Shared, looks: u64) -> Vec<Bound> {
        let (above, tasks) = self.tasks.split_at(self.above());
        if self.test == Test::Demand {
            return self.bounds_by_demand(shared, above, tasks, &Effort::of(looks));
        }
        if self.is_by_hand() {
            return self.bounds_by_hand(shared, above, tasks);
        }
        let effort = Effort::of(MOST_LOOKS_AT_ALL);
        let claims: Vec<Claim> = claims(&self.channels, tasks).collect();
        // For EDF each channel has a level of its own.
        let levels = self.environment.levels.unwrap_or(u32::MAX);
        let on_levels = OnLevels::new(shared.constant(), (above, &claims), levels, &effort)
            .expect("the levels sufficed when the last channel was admitted");
        let order = self.channels.iter().map(|channel| &channel.request);
        let alone = self.alone((shared, &self.found_for), order);
        let bound = |(priority, channel): (usize, &Channel)| {
            let r = on_levels.bound((priority, &channel.request), alone.as_ref(), &effort);
            let service = tasks[priority].service();
            let wait = alone.as_ref().map_or(shared.constant(), |alone| on_levels.wait(priority, alone));
            let wait = wait - shared.bursts;
            // Where the bound is a line's, more of it may be above than is waited for.
            let others = u128::from(r) - wait - service;
            let parts = Parts { wait, service, others, above: shared.bursts + demand(above, r) };
            let level = self.environment.levels.map(|_| on_levels.level(priority));
            channel.bound((priority, level), Worst::at_once(r), parts)
        };
        self.channels.iter().enumerate().map(bound).collect()
    }

    fn place_of(&self, id: AdmissionId) -> Option<usize> {
        self.channels.iter().position(|channel| channel.id == id)
    }

    /// Tasks that stand before the channels'.
    fn above(&self) -> usize {
        self.tasks.len() - self.channels.len()
    }

    fn shared_with(&self, request: &Request) -> Result<Shared, AdmissionRefusal> {
        let population = self.population.with(&self.environment, request);
        match &self.shared {
            Some(shared) if population == self.population => Ok(shared.clone()),
            _ => Shared::new(&self.environment, &population).map_err(refused),
        }
    }

    /// Whether the test covers the messages of `request` that may be under way at a time.
    fn within_reach(&self, request: &Request) -> Result<(), AdmissionRefusal> {
        buffers::check(&self.environment, request).map_err(refused)?;
        if self.reaches_beyond_interval() || request.under_way() == 1 {
            return Ok(());
        }
        let beyond = Deficit::Time(request.deadline() - request.spec().min_interval);
        Err(refused((Scarce::Deadline, beyond, Reason::BeyondInterval)))
    }

    /// All tasks as `shared` makes them, or which channel cannot live with it.
    fn tasks_under(&self, shared: &Shared) -> Result<Vec<Task>, AdmissionRefusal> {
        let mut tasks = shared.activations.clone();
        for channel in &self.channels {
            let spec = channel.request.spec();
            let service = shared.demand(&self.environment, &channel.request);
            // A message that takes longer than its interval may be in time all the same: the next ones
            // are not.
            let task = Task::new(spec.min_interval.as_ps(), service).ok_or_else(|| {
                let claimant = Claimant::Channel(channel.id);
                let late = span(service).saturating_sub(channel.request.deadline());
                if !late.is_zero() {
                    return AdmissionRefusal::late(late, claimant);
                }
                let (on_cpu, on_link) = shares(&self.environment, &channel.request);
                let resource = if on_cpu >= on_link { Scarce::Cpu } else { Scarce::Link };
                let deficit = Deficit::share_beyond(service, spec.min_interval.as_ps().into());
                AdmissionRefusal::new(resource, deficit, Reason::Overload, claimant)
            })?;
            tasks.push(task);
        }
        Ok(tasks)
    }

    fn insert(&mut self, request: Request, placed: Placed) -> Decision {
        let Placed { place, bound, least: _, task, shared, tasks } = placed;
        let id = AdmissionId(self.next_id);
        self.next_id += 1;
        self.found_for = self.found_with(&request);
        self.population = self.population.with(&self.environment, &request);
        let mut channel = Channel { id, request, at_deadline: 0 };
        if let (Some(shared), Some(mut tasks)) = (shared, tasks) {
            tasks.insert(shared.activations.len() + place, task);
            self.channels.insert(place, channel);
            self.rebuild(shared, tasks);
        } else {
            let above = self.above() + place;
            match self.test {
                Test::DOrder => {
                    channel.at_deadline = self.at_own_deadline(above, &task, channel.deadline());
                    for lower in &mut self.channels[place..] {
                        lower.at_deadline += task.demand(lower.deadline());
                    }
                }
                Test::Demand => self.streams.insert(place, Stream::new(&task, channel.deadline())),
            }
            self.channels.insert(place, channel);
            self.tasks.insert(above, task);
        }
        Decision::Admitted { id, priority: place, bound: Span::from_ps(bound) }
    }

    /// Demand before `task`, itself included, by its own deadline below the first `above` tasks.
    fn at_own_deadline(&self, above: usize, task: &Task, deadline: u64) -> u128 {
        let constant = self.shared.as_ref().map_or(0, Shared::constant);
        constant + task.service() + demand(&self.tasks[..above], deadline)
    }

    /// Takes over what changed for all channels.
    fn rebuild(&mut self, shared: Shared, tasks: Vec<Task>) {
        let (constant, above) = (shared.constant(), shared.activations.len());
        match self.test {
            Test::DOrder => {
                let (above, channels) = tasks.split_at(above);
                let deadlines = self.channels.iter().map(Channel::deadline);
                let all = at_deadlines(constant, above, channels, deadlines);
                self.channels.iter_mut().zip(all).for_each(|(channel, at)| channel.at_deadline = at);
            }
            Test::Demand => self.streams = self.streams_of(&tasks[above..]),
        }
        self.tasks = tasks;
        self.shared = Some(shared);
    }
}

/// How late a newcomer is that needs `own` below `higher`, and is too late for its deadline.
fn diagnosed(late: Late, (own, higher): (u128, &[Task]), deadline: u64, effort: &Effort) -> Late {
    match response(own, higher, deadline.saturating_mul(DIAGNOSED), effort) {
        Ok(r) => Late::AtLeast(r.into()),
        Err(Late::Untold) => late,
        Err(later) => later,
    }
}

/// Result of [`AdmissionTable::place`].
struct Placed {
    place: usize,
    bound: u64,
    /// The least deadline that it could ask for.
    least: u64,
    task: Task,
    /// Present, with all tasks under it, if the newcomer changes what all have in common.
    shared: Option<Shared>,
    tasks: Option<Vec<Task>>,
}

/// As many of the channels as there are tasks, as a sweep sees them.
fn claims(channels: &[Channel], tasks: &[Task]) -> impl ExactSizeIterator<Item = Claim> + Clone {
    channels.iter().zip(tasks).map(|(channel, &task)| Claim { task, limit: channel.deadline() })
}
