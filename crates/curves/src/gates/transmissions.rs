//! The traffic of a link between two instants, as it arrives at the next server.

use laxity_units::Span;

/// Frames of a class from one link. All instants are below 2⁶³ ps.
#[derive(Debug, Clone)]
pub(super) struct Transmissions {
    /// Highest rate of the link in bit/s.
    pub(super) rate: u128,
    /// Shortest and longest frame in picobits; not zero.
    pub(super) sizes: (u128, u128),
    /// The windows in which the class sends, as its frames arrive; `None` if it always can.
    pub(super) windows: Option<Windows>,
}

/// Windows that are repeated each cycle.
#[derive(Debug, Clone)]
pub(super) struct Windows {
    cycle: u64,
    /// Begin and length, in order, and none beyond the end of the cycle.
    open: Vec<(u64, u64)>,
    /// Sum of the lengths.
    all: u64,
}

impl Windows {
    /// `windows` of which each instant arrives `later` picoseconds later.
    pub(super) fn later(cycle: Span, windows: &[(Span, Span)], later: i128) -> Self {
        let cycle = cycle.as_ps();
        let moved = |&(begin, length): &(Span, Span)| {
            let begin = (i128::from(begin.as_ps()) + later).rem_euclid(i128::from(cycle)) as u64;
            let until = length.as_ps().min(cycle - begin);
            [(begin, until), (0, length.as_ps() - until)]
        };
        let mut open: Vec<(u64, u64)> = windows.iter().flat_map(moved).filter(|it| it.1 > 0).collect();
        open.sort_unstable();
        let all = open.iter().map(|window| window.1).sum();
        Self { cycle, open, all }
    }

    /// After which the windows begin again.
    pub(super) fn cycle(&self) -> u128 {
        self.cycle.into()
    }

    /// How long the windows are open until `at`.
    fn opened(&self, at: u64) -> u64 {
        let phase = at % self.cycle;
        let open = self.open.iter().map(|(begin, length)| phase.saturating_sub(*begin).min(*length));
        at / self.cycle * self.all + open.sum::<u64>()
    }

    /// The last instant until which the windows are open for `time`.
    fn until(&self, time: u64) -> Option<u64> {
        let (cycles, mut left) = (time.checked_div(self.all)?, time % self.all.max(1));
        for (begin, length) in &self.open {
            if left < *length {
                return Some(cycles * self.cycle + begin + left);
            }
            left -= length;
        }
        None
    }
}

impl Transmissions {
    /// The longest time by which a transmission begins before its end, as far as it counts.
    pub(super) fn begun(&self) -> u128 {
        self.sizes.1.div_ceil(self.rate)
    }

    /// Most picobits of frames that arrive from `from` to `to`: those that the link can send in the time,
    /// and in that of the longest frame before it.
    ///
    /// The first frame can have begun before `from`, in the same window.
    pub(super) fn bits(&self, from: u128, to: u128) -> u128 {
        let from = from - self.begun();
        let open = match &self.windows {
            Some(windows) => u128::from(windows.opened(to as u64) - windows.opened(from as u64)),
            None => to - from,
        };
        self.rate.saturating_mul(open)
    }

    /// The last instant from which `amount` picobits can arrive until `to`.
    pub(super) fn since(&self, to: u128, amount: u128) -> Option<u128> {
        let time = amount.div_ceil(self.rate);
        let begun = match &self.windows {
            Some(windows) => {
                let time = u64::try_from(time).ok()?;
                u128::from(windows.until(windows.opened(to as u64).checked_sub(time)?)?)
            }
            None => to.checked_sub(time)?,
        };
        Some(begun + self.begun())
    }

    /// Finds instants from `from` to `to`, and around it, at which a window begins or ends for arrivals.
    pub(super) fn edges(&self, from: u128, to: u128, found: &mut Vec<u128>) {
        let (Some(windows), begun) = (&self.windows, self.begun()) else { return };
        let cycle = u128::from(windows.cycle);
        for number in (from - begun) / cycle..=to / cycle {
            let at = number * cycle + begun;
            let edges = windows.open.iter().flat_map(|(begin, length)| [*begin, begin + length]);
            found.extend(edges.map(|edge| at + u128::from(edge)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window from 80 us of each 100 us for 30 us, which arrives 5 us later: from 85 to 100 us, and
    /// from 0 to 15 us.
    #[test]
    fn open_time_is_counted_over_cycles() {
        let windows = [(Span::from_ps(80), Span::from_ps(30))];
        let windows = Windows::later(Span::from_ps(100), &windows, 5);
        assert_eq!(windows.open, [(0, 15), (85, 15)]);
        assert_eq!([0, 10, 15, 85, 90, 100, 190].map(|at| windows.opened(at)), [0, 10, 15, 15, 20, 30, 50]);
        assert_eq!([0, 14, 15, 30, 50].map(|time| windows.until(time)), [0, 14, 85, 100, 190].map(Some));
        // A frame of up to 10 bits begins 5 us before its end.
        let link = Transmissions { rate: 2, sizes: (4, 10), windows: Some(windows) };
        assert_eq!((link.bits(90, 190), link.bits(105, 190), link.bits(95, 95)), (70, 40, 10));
        assert_eq!((link.since(190, 10), link.since(190, 60)), (Some(190), Some(95)));
        let mut edges = Vec::new();
        link.edges(10, 95, &mut edges);
        assert_eq!(edges, [5, 20, 90, 105]);
        let never = Windows::later(Span::from_ps(100), &[], 0);
        assert_eq!((never.opened(1000), never.until(0)), (0, None));
    }
}
