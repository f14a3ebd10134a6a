//! The processor-demand test: exact under EDF where `D_order` is only sufficient, and at home with
//! deadlines beyond `I_min`.
//!
//! # The problem
//!
//! `D_order` asks whether fixed priorities would do, though EDF serves (see [`super::table`]).
//! Channels that only EDF can serve together are refused. The test looks at one message of a
//! channel at a time, so a deadline beyond `I_min`, with several messages of a channel under way,
//! cannot even be requested. Both end when the question is put as EDF puts it: how much has to be
//! done *by* each instant (Baruah, Mok and Rosier 1990)?
//!
//! # The test, and why it is sound
//!
//! EDF orders CPU and link by the deadlines asked for, `d_j` after the logical arrival. Let
//!
//! ```text
//! B(t) = Σ_j b_j(t) S_j,   b_j(t) = ⌊(t − d_j)/I_j⌋ + 1 for t ≥ d_j, else 0
//! h(t) = the least y with W + G(y) + B(t) ≤ y
//! ```
//!
//! where `G(y) = Σ_g (burst_g + ⌈y/interval_g⌉) A_g` is the work above the handlers. The set is
//! admitted if `h(t) ≤ t` for every `t` from the least `d_j` on.
//!
//! Suppose message `m` with absolute deadline `D` finished at `f > D` all the same. Take as its
//! level the messages with deadlines up to `D`; those are what EDF may serve before it, on either
//! resource. Inequality (1) of [`super::trajectory`] then holds with `n_j(x)` the messages of `j`
//! released in `[s, x)` with deadlines up to `D`. Logical arrivals are `I_j` apart whatever a
//! channel sends, so with `t = D − s` there are `n_j(x) ≤ b_j(t)` for every `x`: the first is due
//! at `s + d_j` at the earliest. This is where `d ≤ I_min` is *not* needed. The rest of that proof
//! does not need it either, since an earlier message of `m`'s own channel has an earlier deadline
//! and is in the level like any other. As `m` is released at or after `s`, `t ≥ d_m`, so `y = h(t)
//! ≤ t` exists, and `s < s + y ≤ D < f`. Now (1) at `x = s + y` says
//!
//! ```text
//! y < W + G(y) + Σ_j n_j(s + y) S_j ≤ W + G(y) + B(t) ≤ y,
//! ```
//!
//! which cannot be. ∎ (With `h(t) = 0` there is no demand, no cost and no message to be late.)
//!
//! Whatever `D_order` admits is admitted here as well: its proof in [`super::table`] ends in
//! exactly this `y`. Without `W` the test would be exact; what pessimism there is, is in `W` and
//! `S`.
//!
//! # A link alone
//!
//! Where the CPU takes no time, and one packet at a time has the link, the argument of [`super::below`]
//! holds with the deadlines up to `D` for the level. The packet that the link has at `s` is below it:
//! released by `s` with a deadline after `D`, so of a channel with `d_j > t`, or of best effort. `W`
//! depends on `t` then (George, Rivierre and Spuri 1996 have it for a processor without preemption):
//!
//! ```text
//! W(t) = max L_j over the channels j with d_j > t, and over best effort.                       (2)
//! ```
//!
//! `h` does not fall all the same: where `W(t)` falls at `t = d_j`, it falls by `L_j` at most, and
//! `b_j(t) S_j ≥ L_j` begins. The newcomer is below the others at windows before its own deadline. The
//! others are looked at as if it were below them at all windows. That refuses no more: later it asks for
//! `S ≥ L` itself.
//!
//! # What it needs of buffers
//!
//! (1) takes it that a current message with packets left to make can make them. With `d > I_min` up
//!     to `q = ⌈d/I_min⌉` messages of a channel are current and unfinished, and up to `B_max − 1`
//!     more may have come early: the queue needs `B_max − 1 + q` places, and `q` messages' packets
//!     a buffer each ([`Request::under_way`]).
//!
//! # Solving it: QPA
//!
//! `h` changes at absolute deadlines only, of which there may be millions below the point where it
//! can be shown to stay under the diagonal. Zhang and Burns (2009) look at few of them, walking
//! down from that point. They have a uniprocessor without `W` and `G`; all they need is that `h`
//! does not fall:
//!
//! * at `t` with `h(t) < t`, every `u` in `[h(t), t]` has `h(u) ≤ h(t) ≤ u`, so go on at `h(t)`;
//! * at `t` with `h(t) = t`, go on at the last absolute deadline `t′` before `t`: every `u` in
//!   `[t′, t)` has `h(u) = h(t′)`, so if `t′` is good all of them are;
//! * at `t` with `h(t) > t` the set fails.
//!
//! `t` falls with every step. Once at `h(t)` with no absolute deadline in `(h(t), t]`, the next `h`
//! is the same and the step after it passes a deadline: at most two steps for each, so it ends.
//!
//! It starts where it need not look further up. `b_j(t) S_j ≤ u_j t + (1 − d_j/I_j)⁺ S_j` with `u_j
//! = S_j/I_j`, and `y = t` is as good as any in `h(t) ≤ t`, so no test fails from
//!
//! ```text
//! t = (W + Σ_g (burst_g + 1) A_g + Σ_j (1 − d_j/I_j)⁺ S_j) / (1 − Σ_g A_g/interval_g − Σ_j u_j)   on.
//! ```
//!
//! # The least deadline that could be promised
//!
//! is found on the same walk. Start the newcomer with the least deadline that its own message
//! allows. Where `h(t) > t`, only some number `n` of its messages fits by `t`. The next one's
//! deadline cannot be before `y`, when the host is done with it beside the work of others due by
//! `t`. At every `u` in `[t, y)` that much would be due, and be done at `y > u`. So `d ≥ y − n I`
//! whatever feasible deadline the newcomer is given, and with that the walk goes on from the last
//! point that was good, which postponing leaves good. At the end the set is feasible, with a
//! deadline that no feasible one is below: the least. A request is admitted if it asks for no less,
//! and a refusal says how much less it asked for. Below the newcomer's deadline the demand is
//! unchanged, so the walk ends there. (Balbastre, Ripoll and Crespo 2008 ask the same of one
//! processor without `W`.)
//!
//! # Where the walk is long
//!
//! Where the residual capacity is close to zero, the number of deadlines to look at has no limit. A
//! request has a limited number of looks; after that `lines.rs` says whether lines above `b_j(t)
//! S_j` stay under the diagonal, which takes one look at each channel. A request without that proof
//! is refused, with the reason that the answer was not found.
//!
//! [`Request::under_way`]: super::Request::under_way

mod lines;
mod response;

#[cfg(test)]
mod tests;

pub(super) use lines::{feasible_by_lines, least_deadline_by_lines};
pub(super) use response::{Worst, responses};

use std::cmp::Reverse;

use super::response::{Effort, Late, Task, response};

/// One, in the unit of utilisations here: fine enough that ten thousand roundings against the
/// claimant are still less than a thousand-millionth of the host.
pub(super) const WHOLE: u128 = 1 << 48;

/// A channel as the test sees it: recurring demand with a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stream {
    interval: u64,
    service: u64,
    deadline: u64,
    /// `S/I` in units of `1/WHOLE`, rounded up.
    utilisation: u64,
}

impl Stream {
    /// `task` with every release done within `deadline`, in picoseconds.
    pub(super) fn new(task: &Task, deadline: u64) -> Self {
        let (interval, service) = (task.interval(), task.service() as u64);
        let utilisation = (u128::from(service) * WHOLE).div_ceil(u128::from(interval)) as u64;
        Self { interval, service, deadline, utilisation }
    }

    /// How many releases are due by `t`, the first at 0.
    fn jobs(&self, t: u64) -> u64 {
        t.checked_sub(self.deadline).map_or(0, |since| since / self.interval + 1)
    }

    /// `b(t) S`.
    fn due(&self, t: u64) -> u128 {
        u128::from(self.jobs(t)) * u128::from(self.service)
    }

    /// The last absolute deadline before `t`.
    pub(super) fn last_before(&self, t: u64) -> Option<u64> {
        let since = t.checked_sub(self.deadline)?.checked_sub(1)?;
        Some(self.deadline + since / self.interval * self.interval)
    }

    /// `(1 − d/I)⁺ S`, rounded up.
    fn head(&self) -> u128 {
        let ahead = u128::from(self.interval.saturating_sub(self.deadline));
        (ahead * u128::from(self.service)).div_ceil(u128::from(self.interval))
    }
}

/// Work above all channels: `W` with the bursts of activations, and the activations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Host<'a> {
    pub(super) constant: u128,
    /// The part of `W` that falls with the window, by (2): later stairs are lower.
    pub(super) stairs: &'a [Stair],
    pub(super) activations: &'a [Task],
    /// Number of looks allowed.
    pub(super) effort: &'a Effort,
}

/// The wait for a packet below the level, in windows before a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stair {
    /// The deadline of the channel, in picoseconds; [`u64::MAX`] of best effort.
    pub(super) before: u64,
    /// `L_j`.
    pub(super) wait: u128,
}

/// The stairs of `packets`, in any order.
pub(super) fn stairs(mut packets: Vec<Stair>) -> Vec<Stair> {
    packets.sort_unstable_by_key(|stair| Reverse((stair.before, stair.wait)));
    let mut all: Vec<Stair> = Vec::new();
    for stair in packets {
        if all.last().is_none_or(|later| later.wait < stair.wait) {
            all.push(stair);
        }
    }
    all.reverse();
    all
}

/// `W(t)` of `stairs`.
pub(super) fn wait_below(stairs: &[Stair], t: u64) -> u128 {
    stairs.get(stairs.partition_point(|stair| stair.before <= t)).map_or(0, |stair| stair.wait)
}

/// Why channels cannot be served together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// They, and the work above them, use all time, or so nearly all that rounding hides the rest.
    Overload,
    /// Work due by `t` is done no sooner than `done`; `None` if never.
    Late { t: u64, done: Option<u128> },
    /// It was not found out whether they can.
    Untold,
}

impl Failure {
    /// Of what is never done by any time that can be named.
    fn of_all(late: Late) -> Self {
        match late {
            Late::Untold => Failure::Untold,
            Late::AtLeast(_) | Late::Never => Failure::Overload,
        }
    }
}

impl Host<'_> {
    /// `h(t)`, for what is due: when it is done if by `limit`.
    fn done(&self, due: u128, t: u64, limit: u64) -> Result<u64, Late> {
        let own = self.constant.saturating_add(wait_below(self.stairs, t)).saturating_add(due);
        match u64::try_from(own) {
            Ok(done) if self.activations.is_empty() && done <= limit => Ok(done),
            _ if self.activations.is_empty() => Err(Late::AtLeast(own)),
            _ => response(own, self.activations, limit, self.effort),
        }
    }

    /// The shortest window in which a message of that service is done.
    fn alone(&self, service: u128) -> Result<u64, Late> {
        let mut from = 0;
        loop {
            let done = self.done(service, from, u64::MAX)?.max(from);
            let next = self.stairs.iter().map(|stair| stair.before).find(|before| *before > from);
            match next {
                Some(next) if done >= next => from = next,
                _ => return Ok(done),
            }
        }
    }

    /// `W`, and the bursts, of the shortest window.
    fn most(&self) -> u128 {
        self.constant.saturating_add(wait_below(self.stairs, 0))
    }

    /// Whether `h(t)` is by `t`.
    fn is_done(&self, due: u128, t: u64) -> Result<bool, Failure> {
        match self.done(due, t, t) {
            Err(Late::Untold) => Err(Failure::Untold),
            done => Ok(done.is_ok()),
        }
    }

    /// The point from which on no test fails; `None` if there is no such point that can be named.
    pub(super) fn horizon<'a>(&self, streams: impl Iterator<Item = &'a Stream>) -> Option<u64> {
        let (mut used, mut once) = (0u128, self.most());
        for task in self.activations {
            used += (task.service() * WHOLE).div_ceil(u128::from(task.interval()));
            once = once.saturating_add(task.service());
        }
        for stream in streams {
            used += u128::from(stream.utilisation);
            once = once.saturating_add(stream.head());
        }
        let left = WHOLE.checked_sub(used).filter(|left| *left > 0)?;
        u64::try_from(once.checked_mul(WHOLE)?.div_ceil(left)).ok()
    }
}

/// Whether `streams` keep their deadlines together.
pub(super) fn feasible(host: Host<'_>, streams: &[Stream]) -> Result<(), Failure> {
    walk(host, streams, None)
}

/// The least deadline, in picoseconds, with which `task` can join `settled`, which keep theirs
/// without it.
///
/// If there is none the settled ones are what fails, or all together use all there is.
pub(super) fn least_deadline(host: Host<'_>, settled: &[Stream], task: &Task) -> Result<u64, Failure> {
    let alone = host.alone(task.service()).map_err(Failure::of_all)?;
    let mut newcomer = Stream::new(task, alone.max(1));
    walk(host, settled, Some(&mut newcomer))?;
    Ok(newcomer.deadline)
}

/// The walk down: over `settled` alone, or with a newcomer whose deadline is postponed as far as
/// necessary.
fn walk(host: Host<'_>, settled: &[Stream], mut newcomer: Option<&mut Stream>) -> Result<(), Failure> {
    let all = settled.iter().chain(newcomer.as_deref());
    let mut t = host.horizon(all).ok_or(Failure::Overload)?;
    // Everything from here up is good.
    let mut good = t;
    let least = settled.iter().map(|stream| stream.deadline).min().unwrap_or(u64::MAX);
    while t >= newcomer.as_ref().map_or(least, |newcomer| newcomer.deadline) {
        if !host.effort.take(settled.len() + 1) {
            return Err(Failure::Untold);
        }
        let others: u128 = settled.iter().map(|stream| stream.due(t)).sum();
        let own = newcomer.as_ref().map_or(0, |newcomer| newcomer.due(t));
        match host.done(others + own, t, t) {
            Ok(done) => {
                good = done;
                if done < t {
                    t = done;
                    continue;
                }
            }
            Err(Late::Untold) => return Err(Failure::Untold),
            Err(late) => match &mut newcomer {
                Some(newcomer) if host.is_done(others, t)? => newcomer.postpone(host, others, t)?,
                _ => return Err(Failure::Late { t, done: late.at_least() }),
            },
        }
        let all = settled.iter().chain(newcomer.as_deref());
        match all.filter_map(|stream| stream.last_before(good)).max() {
            Some(before) => t = before,
            None => break,
        }
    }
    Ok(())
}

impl Stream {
    /// Gives this the least deadline that `others`, due by `t`, leave it for the first job that
    /// does not fit by `t`.
    fn postpone(&mut self, host: Host<'_>, others: u128, t: u64) -> Result<(), Failure> {
        let with = |jobs: u64| others + u128::from(jobs) * u128::from(self.service);
        let (mut fit, mut too_many) = (0, self.jobs(t));
        while too_many - fit > 1 {
            let middle = fit + (too_many - fit) / 2;
            *(if host.is_done(with(middle), t)? { &mut fit } else { &mut too_many }) = middle;
        }
        let done = host.done(with(too_many), t, u64::MAX).map_err(Failure::of_all)?;
        self.deadline = done - fit * self.interval;
        Ok(())
    }
}
