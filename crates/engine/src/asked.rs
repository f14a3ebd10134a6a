//! The time at which a component has requested its next call, and recognition of outdated events.

use laxity_units::Time;

/// Last requested call time of a component, which may change with every call: the generation in the
/// [calendar's](crate::Calendar) pattern for withdrawn events.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked {
    at: Option<Time>,
    /// Wraps: an event that outlasted 2³² requests would cause one spurious call, which components
    /// tolerate.
    times: u32,
}

impl Asked {
    /// Requests a call at `deadline`. If this is a change to a new time, returns the time of the
    /// event to schedule and the number that it carries.
    #[inline]
    pub fn change(&mut self, deadline: Option<Time>) -> Option<(Time, u32)> {
        if self.at == deadline {
            return None;
        }
        self.at = deadline;
        self.times = self.times.wrapping_add(1);
        deadline.map(|at| (at, self.times))
    }

    /// Records a call without an event, before the time of a pending event. The effect is that of a
    /// request changed to that time and called then, so other events at the instant of the next
    /// event keep their order.
    #[inline]
    pub fn leapt(&mut self) {
        if self.at.take().is_some() {
            self.times = self.times.wrapping_add(1);
        }
    }

    /// Whether an event of that number is the pending one, which is then consumed.
    #[inline]
    pub fn comes(&mut self, number: u32) -> bool {
        let waited_for = self.times == number;
        if waited_for {
            self.at = None;
        }
        waited_for
    }
}

#[cfg(test)]
mod tests {
    use laxity_units::Span;

    use super::*;

    #[test]
    fn only_the_last_wish_counts() {
        let at = |ns| Some(Time::ZERO + Span::from_ns(ns));
        let mut asked = Asked::default();
        assert_eq!(asked.change(None), None);
        let (_, first) = asked.change(at(5)).unwrap();
        assert_eq!(asked.change(at(5)), None, "it knows");
        let (when, second) = asked.change(at(3)).unwrap();
        assert_eq!(Some(when), at(3));
        assert!(!asked.comes(first) && asked.comes(second));
        assert!(asked.change(at(3)).is_some(), "it was called, and wants to be again");
        assert_eq!(asked.change(None), None);
        assert!(!asked.comes(second + 1), "it wants nothing any more");
        let (_, before) = asked.change(at(9)).unwrap();
        asked.leapt();
        let (_, again) = asked.change(at(9)).unwrap();
        assert!(!asked.comes(before) && asked.comes(again), "it was called in between, and waits anew");
    }
}
