//! Which part of a run is counted.

use laxity_units::Time;

use crate::experiment::RunLength;

/// A stretch in the middle of a run, with how things stood, an `S`, at its edges.
#[derive(Debug)]
pub(super) struct Window<S> {
    pub(super) length: RunLength,
    /// Packets that have come to their end: what a length in packets counts.
    pub(super) through: u64,
    pub(super) opened: Option<S>,
    pub(super) closed: Option<S>,
}

impl<S> Window<S> {
    pub(super) fn of(length: RunLength) -> Self {
        Self { length, through: 0, opened: None, closed: None }
    }

    /// When it opens and closes, if time says that.
    pub(super) fn edges(&self) -> impl Iterator<Item = Time> + use<S> {
        let edges = match self.length {
            RunLength::Packets { .. } => None,
            RunLength::Time { total, warmup, cooldown } => {
                Some([Time::ZERO + warmup, Time::ZERO + (total - cooldown)])
            }
        };
        edges.into_iter().flatten()
    }

    #[inline]
    pub(super) fn counts(&self) -> bool {
        self.opened.is_some() && self.closed.is_none()
    }

    /// Notes how things stand at each edge that has been passed at `now` and had not been: `stands` is asked, and told whether it is the first.
    /// Whether there was such an edge.
    #[inline]
    pub(super) fn look(&mut self, now: Time, mut stands: impl FnMut(bool) -> S) -> bool {
        let (opens, closes) = self.passed(now);
        if (opens, closes) == (self.opened.is_some(), self.closed.is_some()) {
            return false;
        }
        for (passed, edge, is_first) in [(opens, &mut self.opened, true), (closes, &mut self.closed, false)] {
            if passed && edge.is_none() {
                *edge = Some(stands(is_first));
            }
        }
        true
    }

    fn passed(&self, now: Time) -> (bool, bool) {
        match self.length {
            RunLength::Packets { total, warmup, cooldown } => {
                (self.through >= warmup, self.through >= total - cooldown)
            }
            RunLength::Time { total, warmup, cooldown } => {
                (now >= Time::ZERO + warmup, now >= Time::ZERO + (total - cooldown))
            }
        }
    }

    /// Whether as many packets have come to their end as the run is to have.
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
