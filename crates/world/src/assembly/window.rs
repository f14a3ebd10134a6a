//! How long a run is, and which part of it is counted.

use laxity_engine::Limits;
use laxity_units::{Span, Time};

use crate::experiment::RunLength;

/// The longest run, 720 h of simulated time: the most that a file can ask for in time, and where a
/// run by packets ends if it still waits for some.
pub(super) const LONGEST: Span = Span::from_secs(720 * 3600);

/// The engine's limits for a run of `length`.
pub fn limits(length: RunLength) -> Limits {
    match length {
        RunLength::Time { total, .. } => Limits::NONE.until(Time::ZERO + total),
        // No file has a longer time, and far beyond it time itself ends.
        RunLength::Packets { .. } => Limits::NONE.until(Time::ZERO + LONGEST),
    }
}

/// A stretch in the middle of a run, with how things stood, an `S`, at its edges.
#[derive(Debug)]
pub(super) struct Window<S> {
    pub(super) length: RunLength,
    /// Packets that have left the system: the unit of a length in packets.
    pub(super) through: u64,
    pub(super) opened: Option<S>,
    pub(super) closed: Option<S>,
    /// The next edge, by what is asked for each packet: its time, or how many packets are through
    /// by then; the largest for neither.
    next: (Time, u64),
    /// Whether it is open.
    counts: bool,
    /// When the window was opened and closed; `Time::MAX` if in the future.
    edges: [Time; 2],
}

impl<S> Window<S> {
    pub(super) fn of(length: RunLength) -> Self {
        let next = Self::edge(length, 0);
        Self { length, through: 0, opened: None, closed: None, next, counts: false, edges: [Time::MAX; 2] }
    }

    /// When it opens and closes, if time says that.
    pub(super) fn edges(&self) -> impl Iterator<Item = Time> + use<S> {
        let edges = [0, 1].map(|number| Self::edge(self.length, number).0);
        edges.into_iter().filter(|at| *at < Time::MAX)
    }

    /// The time and the packets at which the how-manyth edge is.
    fn edge(length: RunLength, number: usize) -> (Time, u64) {
        match (length, number) {
            (RunLength::Packets { warmup, .. }, 0) => (Time::MAX, warmup),
            (RunLength::Packets { total, cooldown, .. }, 1) => (Time::MAX, total - cooldown),
            (RunLength::Time { warmup, .. }, 0) => (Time::ZERO + warmup, u64::MAX),
            (RunLength::Time { total, cooldown, .. }, 1) => (Time::ZERO + (total - cooldown), u64::MAX),
            _ => (Time::MAX, u64::MAX),
        }
    }

    #[inline]
    pub(super) fn counts(&self) -> bool {
        self.counts
    }

    /// Whether it was open at `at`, of which one may hear later.
    #[inline]
    pub(super) fn counts_at(&self, at: Time) -> bool {
        let [opened, closed] = self.edges;
        opened <= at && at < closed
    }

    /// A packet has left the system: whether that passes an edge, at which the caller has to
    /// [look](Self::look).
    #[inline]
    pub(super) fn pass(&mut self) -> bool {
        self.through += 1;
        self.through >= self.next.1
    }

    /// Takes a snapshot at each edge that `now` has passed: `stands` gets whether it is the first
    /// edge. Returns whether there was one.
    #[inline]
    pub(super) fn look(&mut self, now: Time, mut stands: impl FnMut(bool) -> S) -> bool {
        if !self.is_passed(now) {
            return false;
        }
        if self.opened.is_none() {
            self.opened = Some(stands(true));
            self.edges[0] = now;
        }
        self.next = Self::edge(self.length, 1);
        if self.is_passed(now) {
            self.closed = Some(stands(false));
            self.edges[1] = now;
            self.next = (Time::MAX, u64::MAX);
        }
        self.counts = self.closed.is_none();
        true
    }

    #[inline]
    fn is_passed(&self, now: Time) -> bool {
        now >= self.next.0 || self.through >= self.next.1
    }

    /// Whether the run has had its number of packets.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.length, RunLength::Packets { total, .. } if self.through >= total)
    }
}

#[cfg(test)]
mod tests {
    use laxity_units::Span;

    use super::*;

    #[test]
    fn each_edge_is_noted_once_and_in_order() {
        let length = RunLength::Packets { total: 10, warmup: 2, cooldown: 3 };
        let (mut window, mut noted) = (Window::of(length), Vec::new());
        for through in 0..=10 {
            window.through = through;
            window.look(Time::ZERO, |is_first| noted.push((through, is_first)));
            assert_eq!(window.counts(), (2..7).contains(&through), "{through}");
            assert_eq!(window.is_over(), through == 10);
        }
        assert_eq!(noted, [(2, true), (7, false)]);
        assert_eq!(window.edges().count(), 0);
    }

    #[test]
    fn both_edges_may_be_passed_at_once() {
        let ms = Span::from_ms;
        let length = RunLength::Time { total: ms(10), warmup: ms(2), cooldown: ms(3) };
        let mut window = Window::of(length);
        assert_eq!(window.edges().collect::<Vec<_>>(), [Time::ZERO + ms(2), Time::ZERO + ms(7)]);
        assert!(!window.look(Time::ZERO + ms(1), |_| unreachable!("nothing has been passed")));
        let mut noted = Vec::new();
        assert!(window.look(Time::ZERO + ms(8), |is_first| noted.push(is_first)));
        assert_eq!((noted, window.counts(), window.is_over()), (vec![true, false], false, false));
    }
}
