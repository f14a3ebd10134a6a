//! Clocks: when is it time?
//!
//! A simulation jumps to its next event, an emulation waits for it, a test wants to say beforehand how late
//! each wait will end. If these were three loops, the test would prove nothing about the emulation. They are
//! one loop and three clocks, and the question between them is [`Clock::wait_until`].
//!
//! # What a clock promises
//!
//! Times are those of the run. Between two calls that answered `a` and then `b`, whether as the time asked
//! for or as that of a [`Wait::Woken`], `a <= b`; the driver asks for no time before the last answer.
//!
//! *An input is never starved.* A clock that is woken when the time asked for, `t`, has already passed
//! answers `Woken { at: t }` before it answers `Reached`: the world has not come further. When the input
//! happens is another matter, and the world's: not at `t`, or what follows from it would come too early by as much as
//! the world is behind. An overloaded emulation is late, which its [`Lateness`] shows, but it sees its inputs.
//!
//! *Nor is time.* Inputs that come faster than a world takes them would wake such a clock for ever. So after an
//! answer of that kind, the next answer for a time that has passed is `Reached`, whatever has arrived: at worst an
//! event and a wake take turns.
//!
//! *A wake is answered once.* The answer clears it, or the loop would turn without moving.
//!
//! A time of [`Time::MAX`] means that nothing is scheduled: a clock with an outside waits for a wake, a clock
//! without one answers `Reached`, and the run ends.
//!
//! [`Lateness`]: crate::Lateness

#[cfg(not(target_family = "wasm"))]
mod attribution;
#[cfg(not(target_family = "wasm"))]
mod monotonic;
#[cfg(not(target_family = "wasm"))]
mod real;
#[cfg(not(target_family = "wasm"))]
mod ticks;
#[cfg(target_arch = "x86_64")]
mod tsc;

use std::collections::VecDeque;

use laxity_units::{Span, Time};

#[cfg(not(target_family = "wasm"))]
pub use attribution::{Attribution, During, Gap, Late};
#[cfg(not(target_family = "wasm"))]
pub use real::{Doorbell, RealClock};
#[cfg(not(target_family = "wasm"))]
pub use ticks::{Dilation, Epoch, Ticks};

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// It is the time waited for, or later.
    Reached {
        /// By how much later.
        late: Span,
    },
    /// Something arrived from outside.
    Woken {
        /// When, in the time of the run: not before the last answer, not after the time waited for.
        at: Time,
    },
}

/// Tells a driver when it is time; the module's header gives the contract.
pub trait Clock {
    /// Whether every wait is over at once and on time, so that nobody need ask: a world may [go on](crate::Calendar::leap) by itself.
    const JUMPS: bool = false;

    /// Waits until `t` or an outside input, whichever is first.
    fn wait_until(&mut self, t: Time) -> Wait;
}

/// The clock of simulation: every time is reached at once, and nothing comes from outside.
#[derive(Debug, Clone, Copy, Default)]
pub struct VirtualClock;

impl Clock for VirtualClock {
    const JUMPS: bool = true;

    #[inline(always)]
    fn wait_until(&mut self, _t: Time) -> Wait {
        Wait::Reached { late: Span::ZERO }
    }
}

/// A clock that is late and is woken by a script, so that a test can hold a world to what a real clock does.
///
/// When the script ends it is a [`VirtualClock`].
#[derive(Debug, Clone, Default)]
pub struct ScriptedClock {
    late: VecDeque<Span>,
    wakes: VecDeque<Time>,
}

impl ScriptedClock {
    /// A clock whose `n`-th `Reached` is late by the `n`-th of `late`, and which is woken at each of `wakes`.
    ///
    /// A wake at the time waited for precedes it. Panics if `wakes` go back in time.
    pub fn new(late: impl IntoIterator<Item = Span>, wakes: impl IntoIterator<Item = Time>) -> Self {
        let wakes: VecDeque<Time> = wakes.into_iter().collect();
        assert!(wakes.iter().is_sorted(), "a script's wakes go back in time");
        Self { late: late.into_iter().collect(), wakes }
    }

    /// Whether every line of the script has been played.
    pub fn is_played(&self) -> bool {
        self.late.is_empty() && self.wakes.is_empty()
    }
}

impl Clock for ScriptedClock {
    fn wait_until(&mut self, t: Time) -> Wait {
        if let Some(at) = self.wakes.front().copied().filter(|at| *at <= t) {
            self.wakes.pop_front();
            return Wait::Woken { at };
        }
        Wait::Reached { late: self.late.pop_front().unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_played_in_order_and_then_time_jumps() {
        let ns = Time::from_ns;
        let mut clock = ScriptedClock::new([Span::from_ns(3)], [ns(5), ns(9)]);
        assert_eq!(clock.wait_until(ns(4)), Wait::Reached { late: Span::from_ns(3) });
        assert_eq!(clock.wait_until(ns(9)), Wait::Woken { at: ns(5) });
        assert_eq!(clock.wait_until(ns(9)), Wait::Woken { at: ns(9) });
        assert!(clock.is_played());
        assert_eq!(clock.wait_until(ns(9)), Wait::Reached { late: Span::ZERO });
    }
}
