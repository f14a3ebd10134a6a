//! Response times: the least fixed point of `r = constant + Σ ⌈r/I⌉ S`.
//!
//! One channel's is found by iteration from below. Those of all channels in priority order are
//! found in one [`sweep`]: the response time never falls from one place to the next (a lower
//! channel waits for all that the one above it waits for, and for that one). So time only moves
//! forward, and a release of channel `j` is an event that adds `S_j` once. That costs the number of
//! releases in the longest response time, times the logarithm of a heap, where separate iterations
//! would cost the square of the number of channels. Near a full load the longest response time has
//! many more releases than there are channels. There the sweep goes on to where the line of the
//! frequent tasks meets the releases of the rare ones ([`beyond`]), as one channel's iteration does.
//!
//! *Which channels are in time* is a smaller question, and one request must not take long because a
//! channel of the table has a deadline of a minute ([`in_time`]). As `t/I ≤ ⌈t/I⌉ ≤ 1 + t/I`, with
//! `U = Σ S/I` of the channels before
//!
//! ```text
//! constant / (1 − U) ≤ r ≤ (constant + Σ S) / (1 − U),
//! ```
//!
//! (Bini and Baruah 2007 have the second), so releases are counted only for a channel with a
//! deadline between the two, from the first on. The count is limited, too: a channel that would
//! take more than [`MOST_RELEASES`] counts as late.
//!
//! *The promise to a newcomer* is its own response time. Its iteration may go on for as many steps
//! as there are releases before its deadline. A request has a limited [`Effort`]. When that is
//! spent, the second line stands for the response time where it is no later than the requested
//! deadline; otherwise the answer is open ([`Late::Untold`]). The iteration never goes beyond the
//! response time, and the line never falls short of it. So with less effort no late channel is
//! admitted, and none is called late that is not.

pub(super) mod selected;

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A recurring demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Task {
    /// Between releases, in picoseconds.
    interval: u64,
    /// `S`, in picoseconds; at most `interval`, so that no sum over tasks can overflow.
    service: u64,
    /// `S/I` in units of `1/WHOLE`, rounded down.
    pub(super) weight: u64,
}

impl Task {
    /// A weight of one.
    pub(super) const WHOLE: u128 = 1 << 32;

    /// `None` if the demand alone exceeds its interval.
    pub(super) fn new(interval: u64, service: u128) -> Option<Self> {
        let service = u64::try_from(service).ok().filter(|&service| service <= interval)?;
        let weight = (u128::from(service) * Self::WHOLE / u128::from(interval)) as u64;
        Some(Self { interval, service, weight })
    }

    /// Demand of releases in `[0, t)`, the first at 0. That one counts at `t = 0`, too: a claim
    /// that takes no time of its own waits all the same for arrivals at the same instant.
    pub(super) fn demand(&self, t: u64) -> u128 {
        if t <= self.interval {
            u128::from(self.service)
        } else {
            u128::from(t.div_ceil(self.interval)) * u128::from(self.service)
        }
    }

    /// The first release at `t` or later that `demand(t)` has not.
    fn next_release(&self, t: u64) -> u64 {
        t.max(1).div_ceil(self.interval).saturating_mul(self.interval)
    }

    pub(super) fn service(&self) -> u128 {
        u128::from(self.service)
    }

    pub(super) fn interval(&self) -> u64 {
        self.interval
    }
}

/// `Σ ⌈t/I⌉ S`.
pub(super) fn demand(tasks: &[Task], t: u64) -> u128 {
    tasks.iter().map(|task| task.demand(t)).sum()
}

/// Looks at a task that a request for admission may take: below a tenth of a second.
pub(super) const MOST_LOOKS: u64 = 1 << 24;

/// Looks that take as long as one release on the heap.
const LOOKS_OF_A_RELEASE: usize = 8;

/// The looks that are left.
#[derive(Debug)]
pub(super) struct Effort(Cell<u64>);

impl Effort {
    /// An effort of `looks`.
    pub(super) fn of(looks: u64) -> Self {
        Self(Cell::new(looks))
    }

    /// Takes `looks`, if that many are left; else they are all gone.
    pub(super) fn take(&self, looks: usize) -> bool {
        let left = self.0.get().checked_sub(looks as u64);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}

/// Why there is no response time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Late {
    /// It is no less than this, and later than what is asked for.
    AtLeast(u128),
    /// It has no end.
    Never,
    /// It was not found out, as that would have taken too long.
    Untold,
}

impl Late {
    /// A lower bound, if that is known.
    pub(super) fn at_least(self) -> Option<u128> {
        match self {
            Late::AtLeast(least) => Some(least),
            Late::Never | Late::Untold => None,
        }
    }
}

/// The least fixed point of `r = constant + demand(tasks, r)` if it is at most `limit`.
///
/// Iteration starts from where the demand would be if its steps were a line, which is below the
/// fixed point. Where it takes many steps, each goes on to where the line of the frequent tasks meets
/// what the rare ones have released ([`beyond`]).
pub(super) fn response(constant: u128, tasks: &[Task], limit: u64, effort: &Effort) -> Result<u64, Late> {
    let (services, weights) = tasks.iter().fold((0u128, 0u128), |(services, weights), task| {
        (services + task.service(), weights + u128::from(task.weight))
    });
    if weights >= Task::WHOLE && constant > 0 {
        return Err(Late::Never);
    }
    let line = match constant.checked_mul(Task::WHOLE) {
        Some(scaled) if weights < Task::WHOLE => scaled / (Task::WHOLE - weights),
        _ => constant,
    };
    let mut r = line.max(constant.saturating_add(services));
    let (mut steps, mut by_interval) = (0, None);
    loop {
        let t = match u64::try_from(r) {
            Ok(t) if t <= limit => t,
            _ => return Err(Late::AtLeast(r)),
        };
        if !effort.take(tasks.len() + 1) {
            return Err(Late::Untold);
        }
        let next = constant.saturating_add(demand(tasks, t));
        // Starting above zero, below the fixed point and on the way up: never downwards.
        if next <= r {
            return Ok(t);
        }
        steps += 1;
        r = match steps > FEW_STEPS {
            true => {
                let tasks = by_interval.get_or_insert_with(|| sorted(tasks));
                next.max(beyond(constant, tasks, t))
            }
            false => next,
        };
    }
}

/// Steps of an iteration that need no line.
const FEW_STEPS: u32 = 8;

/// `tasks` from the most frequent to the rarest.
fn sorted(tasks: &[Task]) -> Vec<Task> {
    let mut tasks = tasks.to_vec();
    tasks.sort_by_key(Task::interval);
    tasks
}

/// A lower bound on the fixed point `r ≥ t` of `constant + Σ demand` of `tasks`, in the order of [`sorted`]. With
/// any of them called frequent,
///
/// ```text
/// r ≥ constant + Σ_rare demand(t) + r Σ_frequent S/I.
/// ```
///
/// With one of them called frequent and `C` for `constant + Σ_rare demand(t)`, the fixed point of
/// `r = C + ⌈r/I⌉ S` is `C + ⌈C/(I − S)⌉ S`.
///
/// Near a full load the steps of an iteration are as short as the rest of an interval of a frequent task.
fn beyond(constant: u128, tasks: &[Task], t: u64) -> u128 {
    let mut rare = constant.saturating_add(demand(tasks, t));
    let (mut weights, mut furthest) = (0, 0);
    for (place, task) in tasks.iter().enumerate() {
        rare = rare.saturating_sub(task.demand(t));
        if place == 0 && task.service < task.interval {
            let releases = rare.div_ceil(u128::from(task.interval - task.service));
            furthest = rare.saturating_add(releases.saturating_mul(task.service()));
        }
        weights += u128::from(task.weight);
        let free = Task::WHOLE.checked_sub(weights).filter(|free| *free > 0);
        let Some((free, scaled)) = free.zip(rare.checked_mul(Task::WHOLE)) else { break };
        furthest = furthest.max(scaled / free);
    }
    furthest
}

/// The same, or a lower bound where the search would take too long and the line is within `limit`.
pub(super) fn response_or_line(
    constant: u128,
    tasks: &[Task],
    limit: u64,
    effort: &Effort,
) -> Result<u64, Late> {
    response(constant, tasks, limit, effort).or_else(|late| {
        let line = || Before::all(tasks).most(constant).and_then(|most| u64::try_from(most).ok());
        let within = (late == Late::Untold).then(line).flatten().filter(|most| *most <= limit);
        within.ok_or(late)
    })
}

/// A channel as a sweep sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub(super) task: Task,
    /// Latest response time that is of interest.
    pub(super) limit: u64,
}

/// Calls `visit` with the place of every claim, from the top, and its response time if that is
/// within its limit. `above` is served before all of them.
///
/// When there is no effort left the rest have what the line says, or their limit if that is less:
/// they must be known to be within it.
pub(super) fn sweep(
    constant: u128,
    above: &[Task],
    claims: impl ExactSizeIterator<Item = Claim> + Clone,
    effort: &Effort,
    mut visit: impl FnMut(usize, Option<u64>),
) {
    let horizon = claims.clone().map(|claim| claim.limit).max().unwrap_or(0);
    let mut window = Window::until(horizon);
    for &task in above {
        window.add(task);
    }
    let places = claims.len();
    for (place, claim) in claims.clone().enumerate() {
        let own = constant.saturating_add(claim.task.service());
        let response = loop {
            if !window.advance(effort) {
                let mut before = Before::all(&window.tasks);
                for (place, claim) in claims.enumerate().skip(place) {
                    let line = before.most(constant.saturating_add(claim.task.service()));
                    let line = line.and_then(|most| u64::try_from(most).ok()).unwrap_or(u64::MAX);
                    visit(place, Some(line.min(claim.limit)));
                    before.add(claim.task);
                }
                return;
            }
            let next = own.saturating_add(window.demand);
            if next <= u128::from(window.t) {
                break Some(window.t);
            }
            let next = match window.take_many() {
                true => next.max(beyond(own, &sorted(&window.tasks), window.t)),
                false => next,
            };
            let Some(t) = u64::try_from(next).ok().filter(|&t| t <= horizon) else {
                // Beyond every limit, and later claims are later still.
                (place..places).for_each(|place| visit(place, None));
                return;
            };
            window.forward(t);
            if t > claim.limit {
                break None;
            }
        };
        visit(place, response.filter(|&r| r <= claim.limit));
        window.add(claim.task);
    }
}

/// Releases that are counted to decide which channels are in time: some milliseconds of work, and
/// several times the count for ten thousand channels with deadlines that decide.
pub(super) const MOST_RELEASES: usize = 1 << 17;

/// Calls `visit` with the place of every claim, from the top, and whether its response time is
/// within its limit. A claim counts as beyond its limit if more than `most` releases would have to
/// be counted. Answers how many were.
pub(super) fn in_time(
    constant: u128,
    above: &[Task],
    claims: impl ExactSizeIterator<Item = Claim>,
    most: usize,
    mut visit: impl FnMut(usize, bool),
) -> usize {
    let mut window = Window::until(u64::MAX);
    window.releases.reserve(above.len() + claims.len());
    let mut before = Before::default();
    for &task in above {
        before.add(task);
        window.add(task);
    }
    let mut counted = 0;
    for (place, claim) in claims.enumerate() {
        let own = constant.saturating_add(claim.task.service());
        let limit = u128::from(claim.limit);
        let met = if before.most(own).is_some_and(|most| most <= limit) {
            true
        } else {
            let least = before.least(own).filter(|least| *least <= limit && counted <= most);
            least.and_then(|least| u64::try_from(least).ok()).is_some_and(|least| {
                counted += window.forward(least);
                window.settle(own, claim.limit, most, &mut counted)
            })
        };
        visit(place, met);
        before.add(claim.task);
        window.add(claim.task);
    }
    counted
}

/// Claims that are served before a claim.
#[derive(Debug, Default)]
struct Before {
    services: u128,
    /// `U`, in units of `1/WHOLE`, rounded down for each, with the number of claims.
    weights: u128,
    tasks: u128,
}

impl Before {
    fn all(tasks: &[Task]) -> Self {
        let mut all = Self::default();
        tasks.iter().for_each(|task| all.add(*task));
        all
    }

    fn add(&mut self, task: Task) {
        self.services += task.service();
        self.weights += u128::from(task.weight);
        self.tasks += 1;
    }

    /// The lower bound of `r`; `None` if it has no end.
    fn least(&self, constant: u128) -> Option<u128> {
        let free = Task::WHOLE.checked_sub(self.weights).filter(|free| *free > 0)?;
        Some(constant.checked_mul(Task::WHOLE)? / free)
    }

    /// And at most.
    fn most(&self, constant: u128) -> Option<u128> {
        let free = Task::WHOLE.checked_sub(self.weights + self.tasks).filter(|free| *free > 0)?;
        Some(constant.checked_add(self.services)?.checked_mul(Task::WHOLE)?.div_ceil(free))
    }
}

/// The releases in `[0, t)` of the tasks served so far, for a `t` that only grows.
struct Window {
    t: u64,
    demand: u128,
    tasks: Vec<Task>,
    /// `Σ 1/I` in units of 2⁻⁶⁴ of a picosecond.
    frequency: u128,
    releases: BinaryHeap<Reverse<(u64, u32)>>,
    horizon: u64,
    /// Releases that [`advance`](Self::advance) counted since the last line by [`beyond`].
    counted: usize,
}

impl Window {
    /// A window that needs no release at `horizon` or later.
    fn until(horizon: u64) -> Self {
        let (tasks, releases) = (Vec::new(), BinaryHeap::new());
        Self { t: 0, demand: 0, tasks, frequency: 0, releases, horizon, counted: 0 }
    }

    fn add(&mut self, task: Task) {
        self.demand += task.demand(self.t);
        let released = task.next_release(self.t);
        let index = u32::try_from(self.tasks.len()).expect("tasks fit in memory");
        self.tasks.push(task);
        self.frequency += (1u128 << 64) / u128::from(task.interval);
        self.schedule(released, index);
    }

    /// Goes on to `t`, if that is later; answers how many tasks were looked at for it.
    fn forward(&mut self, t: u64) -> usize {
        let Some(further) = t.checked_sub(self.t).filter(|further| *further > 0) else { return 0 };
        let several = u128::from(further).saturating_mul(self.frequency) >> 64;
        self.t = t;
        if several <= 2 * self.tasks.len() as u128 {
            return 0;
        }
        // All anew is less.
        self.demand = demand(&self.tasks, t);
        self.releases.clear();
        for index in 0..self.tasks.len() {
            self.schedule(self.tasks[index].next_release(t), index as u32);
        }
        self.tasks.len()
    }

    /// Whether a line by [`beyond`] costs little beside the releases counted since the last one.
    fn take_many(&mut self) -> bool {
        let many = self.counted > FEW_STEPS as usize * self.tasks.len();
        if many {
            self.counted = 0;
        }
        many
    }

    /// Goes on to where `own` is done, and says whether that is within `limit`; or does not, once
    /// more than `most` releases are `counted`.
    fn settle(&mut self, own: u128, limit: u64, most: usize, counted: &mut usize) -> bool {
        loop {
            while let Some(&Reverse((at, _))) = self.releases.peek()
                && at < self.t
            {
                if *counted >= most {
                    return false;
                }
                *counted += 1;
                self.count_one();
            }
            if *counted > most {
                return false;
            }
            let next = own.saturating_add(self.demand);
            if next <= u128::from(self.t) {
                return self.t <= limit;
            }
            match u64::try_from(next) {
                Ok(t) if t <= limit => self.t = t,
                _ => return false,
            }
        }
    }

    fn schedule(&mut self, at: u64, task: u32) {
        // A release counts once `t` has passed it.
        if at < self.horizon {
            self.releases.push(Reverse((at, task)));
        }
    }

    /// Counts what is released before `t`; `false` if that would take too long.
    fn advance(&mut self, effort: &Effort) -> bool {
        while let Some(&Reverse((at, _))) = self.releases.peek()
            && at < self.t
        {
            if !effort.take(LOOKS_OF_A_RELEASE) {
                return false;
            }
            self.counted += 1;
            self.count_one();
        }
        true
    }

    fn count_one(&mut self) {
        let Some(Reverse((at, index))) = self.releases.pop() else { return };
        let task = self.tasks[index as usize];
        self.demand += task.service();
        self.schedule(at.saturating_add(task.interval), index);
    }
}

#[cfg(test)]
mod tests;
