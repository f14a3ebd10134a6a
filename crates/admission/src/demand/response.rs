//! Worst response times under EDF: what each admitted channel gets, beside what it was promised.
//!
//! The test says that deadlines are kept; a channel with a late deadline on an idle host gets far
//! better, and a bound should say so. Let `m` be as in [`super`], `f` its end, and count releases
//! as well as deadlines: `n_j(x) ≤ min(b_j(t), ⌈(x − s)/I_j⌉)` with `t = D − s`. Let
//!
//! ```text
//! y(t) = the least y > 0 with W + G(y) + Σ_j min(b_j(t), ⌈y/I_j⌉) S_j ≤ y.
//! ```
//!
//! Were `f > s + y(t)`, (1) at `x = s + y(t)` would contradict that. So `f ≤ s + y(t)`, and since
//! `m` was released at `ℓ = D − d`, it takes `f − ℓ ≤ y(t) − (t − d)`. As `s ≤ ℓ`, the worst of
//! these over `t ≥ d` is a bound (Spuri 1996 has it for one processor without `W`). It is at most
//! `d` if the test holds, for `y(t) ≤ h(t) ≤ t`.
//!
//! `y` grows with `t` and changes at absolute deadlines only, in between the bound falls: so
//! absolute deadlines are where to look. A job released after the longest busy period, the `y` with
//! all releases and no deadline, never counts. So one sweep up over the jobs of that period does
//! for all channels: each counts from when it is both due and released.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::response::{Task, response};
use super::{Host, Stream};

/// More jobs than this in a busy period are not worth the wait, about a second.
const MOST_JOBS: u64 = 1 << 20;

/// When the worst message of a channel ends, in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Worst {
    /// The bound: `window − head_start`.
    pub(in super::super) bound: u64,
    /// `y(t)`.
    pub(in super::super) window: u64,
    /// `t − d`: how long the window has lasted when the message arrives.
    pub(in super::super) head_start: u64,
}

impl Worst {
    /// A response time of `bound` where all other messages arrive with this one.
    pub(in super::super) fn at_once(bound: u64) -> Self {
        Self { bound, window: bound, head_start: 0 }
    }
}

/// The worst response time of each of `streams`, which are feasible; `None` if the busy period is
/// too long to be looked through.
pub(in super::super) fn responses(host: Host<'_>, streams: &[Stream], tasks: &[Task]) -> Option<Vec<Worst>> {
    let all: Vec<Task> = host.activations.iter().chain(tasks).copied().collect();
    let shortest = streams.iter().map(|stream| stream.interval).min()?;
    let busy = response(host.most(), &all, shortest.saturating_mul(MOST_JOBS), host.effort).ok()?;
    let jobs: u128 = streams.iter().map(|stream| u128::from(busy.div_ceil(stream.interval))).sum();
    if jobs > MOST_JOBS.into() {
        return None;
    }
    let steps = steps(host, streams, busy)?;
    // `y(t) − t` at its worst from each step on.
    let mut worst = steps.clone();
    for at in (1..worst.len()).rev() {
        let (step, later) = (worst[at - 1], worst[at]);
        if later.excess() >= step.excess() {
            worst[at - 1] = later;
        }
    }
    let of = |stream: &Stream| {
        let from = steps.partition_point(|step| step.t < stream.deadline);
        let Step { t, y } = worst[from];
        let head_start = t - stream.deadline;
        Worst { bound: y.saturating_sub(head_start), window: y, head_start }
    };
    Some(streams.iter().map(of).collect())
}

/// `y(t)` from an absolute deadline on.
#[derive(Debug, Clone, Copy)]
struct Step {
    t: u64,
    y: u64,
}

impl Step {
    fn excess(&self) -> i128 {
        i128::from(self.y) - i128::from(self.t)
    }
}

/// `y` at every absolute deadline of a job released within `busy`, upwards; `None` if that takes
/// too long.
fn steps(host: Host<'_>, streams: &[Stream], busy: u64) -> Option<Vec<Step>> {
    // By deadline, and by release once due; each with its stream.
    let mut pending: BinaryHeap<Reverse<(u64, u64, usize)>> =
        streams.iter().enumerate().map(|(index, stream)| Reverse((stream.deadline, 0, index))).collect();
    let mut unreleased: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let (mut steps, mut demand, mut y) = (Vec::new(), 0u128, 0u64);
    while let Some(Reverse((t, released, index))) = pending.pop() {
        let stream = &streams[index];
        unreleased.push(Reverse((released, index)));
        let next = released.saturating_add(stream.interval);
        if next < busy {
            pending.push(Reverse((next.saturating_add(stream.deadline), next, index)));
        }
        if pending.peek().is_some_and(|Reverse((other, ..))| *other == t) {
            continue;
        }
        loop {
            while let Some(&Reverse((released, index))) = unreleased.peek()
                && (released < y || released == 0)
            {
                unreleased.pop();
                demand += u128::from(streams[index].service);
            }
            // No window outlasts the busy period.
            let done = host.done(demand, t, busy).ok()?;
            if done <= y {
                break;
            }
            y = done;
        }
        steps.push(Step { t, y });
    }
    Some(steps)
}
