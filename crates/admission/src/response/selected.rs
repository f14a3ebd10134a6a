//! Response times at a link alone, by the selection of a message's last packet.
//!
//! # The problem
//!
//! The response time of [`super`] lets higher messages go before each packet until the end of the
//! last one. The link does not stop for them while it sends that packet. So they count until its
//! selection only. Messages that came meanwhile then wait, and delay the *next* message of the
//! channel, which may be the later one (Davis, Burns, Bril and Lukkien, "Controller Area Network
//! (CAN) schedulability analysis: refuted, revisited and revised", Real-Time Systems 35, 2007).
//!
//! # The argument
//!
//! Take `s` of [`crate::below`] and a message `m` of channel `i` that is released `q` messages of
//! `i` after `s`, with its last packet selected at `f_s`. Let `S_j` be what a message of `j` takes,
//! and `L` the last packet of `m`. Before that packet the link sends at most `W`, the packets of `q`
//! messages of `i`, those of `m` itself but `L`, and the messages of other level channels that are
//! released by `f_s`. A level packet waits or is on the link throughout `[s, f_s)`. So at each
//! `x = s + y` there, some of the work released by `x` is left:
//!
//! ```text
//! y < W + q S_i + (S_i − L) + Σ_{j ≠ i} (⌊y/I_j⌋ + 1) S_j.                                (1)
//! ```
//!
//! Let `w_q` be the least `y` at which (1) does not hold. Then `f_s ≤ s + w_q`, for otherwise (1)
//! would hold at `x = s + w_q`. The release of `m` is at `s + q I_i` or later, so its response time
//! is at most
//!
//! ```text
//! r = max_q (w_q + L − q I_i).                                                            (2)
//! ```
//!
//! *Which `q`.* Let `t` be the least positive fixed point of `t = W + Σ_j ⌈t/I_j⌉ S_j`, over all
//! channels of the level. At `s + t` the link has sent all level packets released before, if `f_s`
//! is not earlier. Then `s` would not be the last such instant. So `f_s < s + t`, and `q I_i < t`.
//!
//! *Smaller messages.* A smaller message has no more before its last packet, and no more in all.
//! Where `c` is the constant of (1), `w(c − δ) ≤ w(c) − δ`. So a smaller message has no larger
//! bound.
//!
//! Channels of the same level count as other channels, in any order.

use super::{Effort, Late, Task};

/// A channel at a link alone.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Selected {
    /// `W`.
    pub(in super::super) wait: u128,
    /// Its messages.
    pub(in super::super) task: Task,
    /// `L`.
    pub(in super::super) last: u128,
}

impl Selected {
    /// `r` of (2) beside the `others` of its level, if it is at most `limit`.
    pub(in super::super) fn response(
        &self,
        others: &[Task],
        limit: u64,
        effort: &Effort,
    ) -> Result<u64, Late> {
        let (service, interval) = (self.task.service(), u128::from(self.task.interval));
        let busy = self.busy(others, effort)?;
        let (mut longest, mut selected) = (0, 0);
        for before in (0u128..).take_while(|before| *before == 0 || before * interval < busy) {
            let constant = self.wait + (before + 1) * service - self.last.min(service);
            selected = least(selected, effort, others.len(), |y| constant + arrived(others, y))?;
            let response = (selected + self.last).saturating_sub(before * interval);
            longest = response.max(longest);
            if longest > u128::from(limit) {
                return Err(Late::AtLeast(longest));
            }
        }
        u64::try_from(longest).map_err(|_| Late::AtLeast(longest))
    }

    /// `t`.
    fn busy(&self, others: &[Task], effort: &Effort) -> Result<u128, Late> {
        let all = || others.iter().chain([&self.task]);
        let weights: u128 = all().map(|task| u128::from(task.weight)).sum();
        if weights >= Task::WHOLE {
            return Err(Late::Untold);
        }
        let released = |t: u128| -> u128 {
            all().map(|task| t.div_ceil(u128::from(task.interval)) * task.service()).sum()
        };
        least(1, effort, others.len(), |t| self.wait + released(t))
    }
}

/// `Σ_j (⌊y/I_j⌋ + 1) S_j`.
fn arrived(others: &[Task], y: u128) -> u128 {
    others.iter().map(|task| (y / u128::from(task.interval) + 1) * task.service()).sum()
}

/// The least `y` from `from` on that is no less than `work(y)`, which grows with `y`.
fn least(from: u128, effort: &Effort, tasks: usize, work: impl Fn(u128) -> u128) -> Result<u128, Late> {
    let mut y = from;
    loop {
        if !effort.take(tasks + 1) {
            return Err(Late::Untold);
        }
        let next = work(y);
        if next <= y {
            return Ok(y);
        }
        y = next;
    }
}

#[cfg(test)]
mod tests;
