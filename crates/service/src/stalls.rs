//! Stops of the platform: time in which the daemon wanted to run and did not.
//!
//! While the thread works, the clock and its CPU time advance alike. Where the clock advances by
//! more, the platform ran something else. A thread that slept until an instant and woke after it was
//! stopped for the difference. Both are stops with a begin and a length. A packet that is late by no
//! more than the stops since its link was last idle is late because of them.
//!
//! A kernel that does not count interrupts apart gives their time to the thread that they interrupt:
//! up to 8 ms of other traffic at once in Linux. A turn with more CPU time than the stated delay of the
//! host is an overrun, of interrupts or of a slow processor. A packet that is later than stops and
//! overruns together is a bug.

use std::collections::VecDeque;

use laxity_units::{Span, Time};

/// Stops that are remembered.
const REMEMBERED: usize = 1024;
/// A stop is longer than this; shorter ones are part of the stated delay of the host.
pub(crate) const SHORTEST: Span = Span::from_us(50);
/// The longest time in which the CPU time of the thread is not read.
const UNREAD: Span = Span::from_us(10);

/// A stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stall {
    /// When it began.
    pub(crate) at: Time,
    /// How long it was.
    pub(crate) length: Span,
}

/// The stops of the platform.
#[derive(Debug, Default)]
pub(crate) struct Stalls {
    last: VecDeque<Stall>,
    /// All of them.
    pub(crate) count: u64,
    /// Their length together.
    pub(crate) total: Span,
    /// The longest.
    pub(crate) longest: Span,
    /// The longest CPU time of the thread between two looks at the clock.
    pub(crate) longest_turn: Span,
    /// A turn with more CPU time is an overrun.
    allowed: Span,
    overruns: VecDeque<Stall>,
    /// Clock and CPU time in nanoseconds when both were last read.
    read: Option<(Time, u64)>,
    /// When the thread last worked.
    worked: Time,
}

impl Stalls {
    /// No stop so far, of a host with that stated delay.
    pub(crate) fn new(allowed: Span) -> Self {
        Self { allowed, ..Self::default() }
    }

    /// The thread works at `now`. The answer is its CPU time since it worked or woke before, or a little
    /// more.
    ///
    /// `cpu` reads its CPU time in nanoseconds. This is a system call, so it is left out while less than
    /// [`UNREAD`] has passed since the last one: neither a stop nor an overrun is as short. A stop counts
    /// for that time more at most, which other threads had before it.
    pub(crate) fn works(&mut self, now: Time, cpu: impl FnOnce() -> u64) -> Span {
        let gap = now.saturating_since(std::mem::replace(&mut self.worked, now));
        let Some((then, before)) = self.read else {
            self.read = Some((now, cpu()));
            return Span::ZERO;
        };
        let passed = now.saturating_since(then);
        if passed < UNREAD.min(self.allowed) {
            return gap;
        }
        let cpu = cpu();
        self.read = Some((now, cpu));
        let used = Span::from_ns(cpu.saturating_sub(before));
        self.note(now.saturating_sub(gap), passed.saturating_sub(used).min(gap));
        let turn = used.min(gap);
        self.longest_turn = self.longest_turn.max(turn);
        if turn > self.allowed {
            remember(&mut self.overruns, Stall { at: now.saturating_sub(gap), length: turn });
        }
        turn
    }

    /// The thread is awake again at `now`, after `cpu` nanoseconds of CPU time. It slept until
    /// `planned` at the latest.
    pub(crate) fn woke(&mut self, now: Time, cpu: u64, planned: Time) {
        (self.read, self.worked) = (Some((now, cpu)), now);
        self.note(planned, now.saturating_since(planned));
    }

    fn note(&mut self, at: Time, length: Span) {
        if length < SHORTEST {
            return;
        }
        self.count += 1;
        self.total = self.total.saturating_add(length);
        self.longest = self.longest.max(length);
        remember(&mut self.last, Stall { at, length });
    }

    /// The stops between two instants together.
    pub(crate) fn between(&self, from: Time, until: Time) -> Span {
        within(&self.last, from, until)
    }

    /// The overruns between two instants together.
    pub(crate) fn overruns(&self, from: Time, until: Time) -> Span {
        within(&self.overruns, from, until)
    }

    /// The stops that are remembered.
    pub(crate) fn last(&self) -> impl DoubleEndedIterator<Item = &Stall> {
        self.last.iter()
    }
}

fn remember(last: &mut VecDeque<Stall>, stall: Stall) {
    if last.len() == REMEMBERED {
        last.pop_front();
    }
    last.push_back(stall);
}

fn within(last: &VecDeque<Stall>, from: Time, until: Time) -> Span {
    let parts = last.iter().rev().map(|stall| {
        let end = stall.at.saturating_add(stall.length).min(until);
        end.saturating_since(stall.at.max(from))
    });
    parts.fold(Span::ZERO, Span::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::from_ns(us * 1000)
    }

    #[test]
    fn a_stop_is_where_the_clock_goes_on_without_the_thread() {
        let mut stalls = Stalls::default();
        stalls.works(us(0), || 0);
        stalls.works(us(1000), || 990_000);
        assert_eq!(stalls.count, 0, "ten microseconds are none");
        stalls.works(us(2000), || 1_190_000);
        let longest = Span::from_us(800);
        assert_eq!((stalls.count, stalls.longest), (1, longest));
        assert_eq!(stalls.longest_turn, Span::from_us(990));
        stalls.woke(us(5000), 1_190_000, us(8900));
        assert_eq!(stalls.count, 1, "a sleep is none");
        stalls.woke(us(9000), 1_190_000, us(8900));
        assert_eq!((stalls.count, stalls.total), (2, Span::from_us(900)));
    }

    #[test]
    fn short_turns_are_not_looked_at_and_hide_no_stop() {
        let mut stalls = Stalls::new(Span::from_us(500));
        stalls.works(us(0), || 0);
        for turn in 1..10 {
            let used = stalls.works(us(turn), || unreachable!("less than ten microseconds have passed"));
            assert_eq!(used, Span::from_us(1));
        }
        let used = stalls.works(us(309), || 10_000);
        assert_eq!(used, Span::from_us(10), "at most all CPU time since the last look");
        let stop = Stall { at: us(9), length: Span::from_us(299) };
        assert_eq!(stalls.last().collect::<Vec<_>>(), [&stop]);
    }

    #[test]
    fn the_part_of_a_stop_within_two_instants_counts() {
        let mut stalls = Stalls::default();
        stalls.woke(us(300), 0, us(100));
        stalls.woke(us(900), 0, us(800));
        assert_eq!(stalls.between(us(0), us(1000)), Span::from_us(300));
        assert_eq!(stalls.between(us(200), us(850)), Span::from_us(150));
        assert_eq!(stalls.between(us(300), us(800)), Span::ZERO);
    }

    #[test]
    fn a_turn_beyond_the_stated_delay_is_an_overrun() {
        let mut stalls = Stalls::new(Span::from_us(500));
        stalls.works(us(0), || 0);
        stalls.works(us(500), || 500_000);
        assert_eq!(stalls.overruns(us(0), us(500)), Span::ZERO);
        stalls.works(us(2100), || 2_000_000);
        assert_eq!(stalls.overruns(us(0), us(2100)), Span::from_us(1500));
        assert_eq!(stalls.overruns(us(600), us(1000)), Span::from_us(400));
        assert_eq!(stalls.between(us(0), us(2100)), Span::from_us(100), "the thread was also stopped");
    }
}
