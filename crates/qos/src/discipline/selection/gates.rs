//! Gates of classes that open and close by a list.

use laxity_units::{Bytes, Span, Time};

/// A list of windows, repeated for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateList {
    /// Begin of the first window, counted from time zero and from each cycle.
    offset: Span,
    windows: Vec<Window>,
    cycle: Span,
    hold: Option<Hold>,
}

/// Frames that are cut when their gate closes, by preemption with hold and release (IEEE 802.1Qbu).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// The most urgent level with frames that are cut. The gates of all levels from it on are alike.
    pub from: u8,
    /// Bytes on the link that have to fit before the gate closes, if the frame has more.
    pub least: Bytes,
}

/// A part of the cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Length; not zero.
    pub length: Span,
    /// Bit `n` is set if level `n` is open.
    pub open: u32,
}

impl GateList {
    /// Gates by `windows`, in their order, the first at `offset` and again after their sum.
    ///
    /// Panics if there is no window, or one without length.
    pub fn new(offset: Span, windows: Vec<Window>) -> Self {
        assert!(!windows.is_empty() && windows.iter().all(|window| !window.length.is_zero()), "windows");
        let cycle = windows.iter().fold(Span::ZERO, |sum, window| sum.saturating_add(window.length));
        Self { offset: Span::from_ps(offset.as_ps() % cycle.as_ps()), windows, cycle, hold: None }
    }

    /// The same with frames that are cut when their gate closes.
    pub fn holding(self, hold: Hold) -> Self {
        Self { hold: Some(hold), ..self }
    }

    /// Bytes on the link that have to fit before the gate of `level` closes; `None` if all of a frame
    /// has to.
    pub fn least(&self, level: u8) -> Option<Bytes> {
        self.hold.filter(|hold| level >= hold.from).map(|hold| hold.least)
    }

    /// When the gate of `level`, which is open at `at`, closes; `None` if it never does.
    pub fn closes(&self, level: u8, at: Time) -> Option<Time> {
        let cycle = u128::from(self.cycle.as_ps());
        let left = self.of(level)?.into_iter().find_map(|(begin, length)| {
            let since = (self.counted(at) + cycle - u128::from(begin.as_ps())) % cycle;
            length.as_ps().checked_sub(since as u64).filter(|left| *left > 0)
        });
        Some(at.saturating_add(Span::from_ps(left.unwrap_or(0))))
    }

    /// Begin of the first window, counted from time zero.
    pub fn offset(&self) -> Span {
        self.offset
    }

    /// The windows of a cycle, in their order.
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// The sum of all windows.
    pub fn cycle(&self) -> Span {
        self.cycle
    }

    /// The times in which `level` is open, by begin and length, in a cycle that begins with the first
    /// window: windows in a row are one. `None` if the level is always open.
    pub fn of(&self, level: u8) -> Option<Vec<(Span, Span)>> {
        let open = |window: &Window| window.open >> level & 1 == 1;
        let shut = self.windows.iter().position(|window| !open(window))?;
        let mut found: Vec<(Span, Span)> = Vec::new();
        let before = self.windows[..shut].iter().fold(Span::ZERO, |sum, window| sum + window.length);
        let (mut at, mut goes_on) = (before, false);
        // From a closed window on, so that none goes on beyond the end.
        for window in self.windows[shut..].iter().chain(&self.windows[..shut]) {
            match (open(window), found.last_mut()) {
                (true, Some((_, length))) if goes_on => *length += window.length,
                (true, _) => found.push((Span::from_ps(at.as_ps() % self.cycle.as_ps()), window.length)),
                (false, _) => {}
            }
            goes_on = open(window);
            at += window.length;
        }
        Some(found)
    }

    /// How long `level` is open from `from` until `to`.
    pub fn open_for(&self, level: u8, from: Time, to: Time) -> Span {
        let Some(windows) = self.of(level) else { return to.saturating_since(from) };
        let opened = self.opened(&windows, self.counted(to)) - self.opened(&windows, self.counted(from));
        Span::from_ps(opened as u64)
    }

    /// The first instant by which `level` has been open for `time` since `from`; `None` if it never
    /// opens.
    pub fn opened_for(&self, level: u8, from: Time, time: Span) -> Option<Time> {
        let Some(windows) = self.of(level).filter(|_| !time.is_zero()) else {
            return Some(from.saturating_add(time));
        };
        let each = windows.iter().map(|(_, length)| u128::from(length.as_ps())).sum::<u128>();
        let (cycle, since) = (u128::from(self.cycle.as_ps()), self.counted(from));
        let wanted = self.opened(&windows, since) + u128::from(time.as_ps());
        let (mut low, mut high) = (since, since + cycle * (u128::from(time.as_ps()).checked_div(each)? + 2));
        while low < high {
            let middle = low + (high - low) / 2;
            match self.opened(&windows, middle) < wanted {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Some(from.saturating_add(Span::from_ps(u64::try_from(low - since).unwrap_or(u64::MAX))))
    }

    /// `at`, counted from a begin of a cycle that is not after time zero.
    fn counted(&self, at: Time) -> u128 {
        u128::from(at.as_ps()) + u128::from(self.cycle.as_ps() - self.offset.as_ps())
    }

    /// How long `windows` are open until `at`, both counted from a begin of a cycle.
    fn opened(&self, windows: &[(Span, Span)], at: u128) -> u128 {
        let cycle = u128::from(self.cycle.as_ps());
        let (cycles, phase) = (at / cycle, at % cycle);
        let open = |&(begin, length): &(Span, Span)| {
            let (begin, length) = (u128::from(begin.as_ps()), u128::from(length.as_ps()));
            // The end of a window that began in the cycle before.
            let end = phase.min((begin + length).saturating_sub(cycle));
            cycles * length + end + phase.saturating_sub(begin).min(length)
        };
        windows.iter().map(open).sum()
    }

    /// The first instant from `from` on at which `level` stays open for `time`; `None` if it never
    /// does.
    pub fn open(&self, from: Time, level: u8, time: Span) -> Option<Time> {
        let Some(windows) = self.of(level) else { return Some(from) };
        let cycle = self.cycle.as_ps();
        let phase = (self.counted(from) % u128::from(cycle)) as u64;
        let begins = windows.iter().filter(|(_, length)| *length >= time).map(|(begin, length)| {
            let last = begin.as_ps() + (length.as_ps() - time.as_ps());
            // A window that goes on from the cycle before can still be open.
            match [phase, phase + cycle].into_iter().find(|at| (begin.as_ps()..=last).contains(at)) {
                Some(_) => 0,
                None => (begin.as_ps() + cycle - phase) % cycle,
            }
        });
        begins.min().map(|wait| from.saturating_add(Span::from_ps(wait)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Span = Span::from_us;

    fn at(us: u64) -> Time {
        Time::ZERO + US(us)
    }

    /// Level 0 is open from 10 to 40 us of each 100 us, level 1 from 90 us to 10 us of the next.
    fn gates(offset: u64) -> GateList {
        let window = |us, open| Window { length: US(us), open };
        GateList::new(
            US(offset),
            vec![window(10, 2), window(20, 5), window(10, 1), window(50, 4), window(10, 6)],
        )
    }

    #[test]
    fn windows_in_a_row_are_one() {
        assert_eq!(gates(0).of(0), Some(vec![(US(10), US(30))]));
        assert_eq!(gates(0).of(1), Some(vec![(US(90), US(20))]));
        assert_eq!(gates(0).of(2), Some(vec![(US(10), US(20)), (US(40), US(60))]));
        assert_eq!(gates(0).of(3), Some(vec![]));
        let always = GateList::new(US(0), vec![Window { length: US(5), open: 1 }]);
        assert_eq!((always.of(0), always.of(1)), (None, Some(vec![])));
    }

    /// Level 0 is open for 30 us of each 100 us, level 1 over the end of the cycle, and level 3 never.
    #[test]
    fn open_time_is_counted_over_cycles() {
        let open = |level, from, to| gates(0).open_for(level, at(from), at(to)).as_ps() / 1_000_000;
        assert_eq!([open(0, 0, 10), open(0, 0, 35), open(0, 20, 100), open(0, 35, 1035)], [0, 25, 20, 300]);
        assert_eq!([open(1, 0, 5), open(1, 5, 95), open(1, 95, 205), open(3, 0, 1000)], [5, 10, 30, 0]);
        let opened =
            |level, from, us| gates(0).opened_for(level, at(from), US(us)).map(|at| at.as_ps() / 1_000_000);
        assert_eq!([opened(0, 0, 0), opened(0, 0, 5), opened(0, 20, 20)], [0, 15, 40].map(Some));
        assert_eq!([opened(0, 20, 21), opened(1, 5, 30), opened(0, 50, 90)], [111, 195, 340].map(Some));
        assert_eq!((opened(3, 0, 1), opened(3, 7, 0)), (None, Some(7)));
        let late = gates(30);
        assert_eq!(late.open_for(0, at(0), at(50)), US(10));
        assert_eq!(late.opened_for(0, at(0), US(31)), Some(at(141)));
    }

    #[test]
    fn a_gate_closes_at_the_end_of_its_windows() {
        let closes = |level, us| gates(0).closes(level, at(us)).map(|at| at.as_ps() / 1_000_000);
        assert_eq!(
            [closes(0, 10), closes(0, 139), closes(1, 95), closes(1, 105)],
            [40, 140, 110, 110].map(Some)
        );
        let always = GateList::new(US(0), vec![Window { length: US(5), open: 1 }]);
        assert_eq!(always.closes(0, at(3)), None);
        assert_eq!(gates(30).closes(0, at(1069)), Some(at(1070)));
    }

    #[test]
    fn a_frame_begins_if_its_gate_stays_open() {
        let open = |from, level, us| gates(0).open(at(from), level, US(us)).map(|at| at.as_ps() / 1_000_000);
        assert_eq!(open(0, 0, 12), Some(10));
        assert_eq!(open(10, 0, 12), Some(10));
        assert_eq!(open(28, 0, 12), Some(28));
        assert_eq!(open(29, 0, 12), Some(110), "it would end after the gate");
        assert_eq!(open(29, 0, 31), None, "no window is long enough");
        assert_eq!(open(195, 1, 15), Some(195));
        assert_eq!(open(203, 1, 7), Some(203), "a window over the end of the cycle");
        assert_eq!(open(204, 1, 7), Some(290));
        assert_eq!(open(5, 3, 1), None);
        let late = gates(30);
        assert_eq!(late.open(at(0), 0, US(12)), Some(at(40)));
        assert_eq!(late.open(at(1069), 0, US(1)), Some(at(1069)));
        assert_eq!(late.open(at(1070), 0, US(1)), Some(at(1140)));
    }
}
