//! The demand test by lines, which looks at each channel once.
//!
//! # The argument
//!
//! From its first deadline on a channel asks for no more than a line that goes through all steps
//! (Devi 2003 has it for one processor without `W`; Albers and Slomka 2004 as the coarsest of their
//! approximations):
//!
//! ```text
//! b_j(t) S_j ≤ S_j + u_j (t − d_j) for t ≥ d_j, else 0,     G(t) ≤ Σ_g (burst_g + 1) A_g + t Σ_g A_g/interval_g.
//! ```
//!
//! With those for `B` and `G`, `W + G(t) + B(t) ≤ t` is enough for `h(t) ≤ t`. Its left side grows
//! by no more than `u = Σ_g A_g/interval_g + Σ_j u_j` with `t` but for the deadlines `d_j`, where
//! it rises by `S_j`. So if `u ≤ 1` and it holds at each `d_j`, it holds from the first on. A later
//! deadline takes a line further down, so the least that lets a newcomer join is sought by halves.
//!
//! Sets that need a deadline looked at for itself are not decided: of three channels with half of
//! their deadlines to themselves these lines refuse the third.

use super::super::response::Task;
use super::{Host, Stream, WHOLE};

/// Deadlines above this are not tried.
const LARGEST: u64 = 1 << 62;

/// Whether lines say that `streams` keep their deadlines together.
pub(in super::super) fn feasible_by_lines(host: Host<'_>, streams: &[Stream]) -> bool {
    Lines::of(host, streams).keep(None)
}

/// A deadline with which they say that `task` can join `settled`: the least of those.
pub(in super::super) fn least_deadline_by_lines(
    host: Host<'_>,
    settled: &[Stream],
    task: &Task,
) -> Option<u64> {
    let lines = Lines::of(host, settled);
    let keeps = |deadline| lines.keep(Some(Stream::new(task, deadline)));
    let (mut short, mut long) = (0, LARGEST);
    if !keeps(long) {
        return None;
    }
    while long - short > 1 {
        let middle = short + (long - short) / 2;
        *(if keeps(middle) { &mut long } else { &mut short }) = middle;
    }
    Some(long)
}

/// Claims on time, those with deadlines in their order.
struct Lines {
    /// `W + Σ_g (burst_g + 1) A_g`.
    once: u128,
    /// `Σ_g A_g/interval_g`, in parts of `WHOLE`.
    above: u128,
    streams: Vec<Stream>,
}

impl Lines {
    fn of(host: Host<'_>, streams: &[Stream]) -> Self {
        let (mut once, mut above) = (host.most(), 0u128);
        for task in host.activations {
            once = once.saturating_add(task.service());
            above += (task.service() * WHOLE).div_ceil(u128::from(task.interval()));
        }
        let mut streams = streams.to_vec();
        streams.sort_unstable_by_key(|stream| stream.deadline);
        Self { once, above, streams }
    }

    /// Whether all of it is under the diagonal, with `newcomer`.
    fn keep(&self, newcomer: Option<Stream>) -> bool {
        let place = |new: &Stream| self.streams.partition_point(|stream| stream.deadline <= new.deadline);
        let at = newcomer.as_ref().map_or(self.streams.len(), place);
        let (before, after) = self.streams.split_at(at);
        // The demand at the last deadline that was looked at, and its growth with each picosecond.
        let (mut asked, mut rate, mut last) = (self.once.checked_mul(WHOLE), self.above, 0);
        for stream in before.iter().chain(&newcomer).chain(after) {
            let further = rate.checked_mul(u128::from(stream.deadline - last));
            let service = u128::from(stream.service) * WHOLE;
            asked = asked
                .zip(further)
                .and_then(|(asked, further)| asked.checked_add(further)?.checked_add(service));
            (rate, last) = (rate + u128::from(stream.utilisation), stream.deadline);
            if rate > WHOLE || asked.is_none_or(|asked| asked > u128::from(stream.deadline) * WHOLE) {
                return false;
            }
        }
        true
    }
}
