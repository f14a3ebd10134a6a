//! When a component wants to be called, so that events it no longer wants count for nothing.

use laxity_units::Time;

/// The last wish of a component, which may change it with every call: the generation of the
/// [calendar's](crate::Calendar) pattern for events that are withdrawn.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked {
    at: Option<Time>,
    /// Counted round: an event that lay there for four thousand million other wishes would be one call too many, which a component has to bear.
    times: u32,
}

impl Asked {
    /// The component wants to be called at `deadline`. If that is news, when an event is due, and the number that it carries.
    #[inline]
    pub fn change(&mut self, deadline: Option<Time>) -> Option<(Time, u32)> {
        if self.at == deadline {
            return None;
        }
        self.at = deadline;
        self.times = self.times.wrapping_add(1);
        deadline.map(|at| (at, self.times))
    }

    /// The component has been called without an event, at a time before that of the event that it may have waited for: as if it had changed its
    /// wish to that time, and had been called then. What else falls on the same instant as its next event happens in the same order either way.
    #[inline]
    pub fn leapt(&mut self) {
        if self.at.take().is_some() {
            self.times = self.times.wrapping_add(1);
        }
    }

    /// The event of that number has come: whether it is the one that is waited for.
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
