//! Clocks: waiting for the time of an event.
//!
//! A simulation jumps to its next event, an emulation waits for it, and a test defines in advance
//! how late each wait ends. Three separate loops would make tests meaningless for the emulation.
//! There is one loop with three clocks, which implement [`Clock::wait_until`].
//!
//! # Contract of a clock
//!
//! Times are those of the run. Answers are monotonic: of two successive answers `a` and `b`,
//! whether the time requested or that of a [`Wait::Woken`], `a <= b`. The driver requests no time
//! before the last answer.
//!
//! *Inputs do not starve.* A clock that is woken after the requested time `t` has passed returns
//! `Woken { at: t }` before it returns `Reached`: the world is still at `t`. The world decides when
//! the input happens: not at `t`, or its effects would be too early by the world's lateness. An
//! overloaded emulation is late, which its [`Lateness`] shows, but it sees its inputs.
//!
//! *Time does not starve.* Inputs faster than the world would wake such a clock for ever. After an
//! answer of that kind, the next answer for a time that has passed is therefore `Reached`, whatever
//! has arrived: in the worst case events and wakes alternate.
//!
//! *A wake is returned once.* The answer clears it; otherwise the loop would not advance.
//!
//! A time of [`Time::MAX`] means that no event is scheduled: a clock with outside inputs waits for
//! a wake; a clock without them returns `Reached`, and the run ends.
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
pub use attribution::{Attribution, During, Gap, LateEvents};
#[cfg(not(target_family = "wasm"))]
pub use real::{InputDoorbell, RealClock};
#[cfg(not(target_family = "wasm"))]
pub use ticks::{Dilation, TickEpoch, Ticks};

/// Result of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// The requested time is reached, or has passed.
    Reached {
        /// Lateness.
        late: Span,
    },
    /// An outside input has arrived.
    Woken {
        /// Arrival in the time of the run: not before the last answer, not after the requested
        /// time.
        at: Time,
    },
}

/// Waits on behalf of a driver; the module's header has the contract.
pub trait Clock {
    /// Whether every wait ends at once and on time, so a world may [leap](crate::Calendar::leap)
    /// without asking.
    const JUMPS: bool = false;

    /// Waits until `t` or an outside input, whichever is first.
    fn wait_until(&mut self, t: Time) -> Wait;
}

/// Clock of a simulation: every time is reached at once, without outside inputs.
#[derive(Debug, Clone, Copy, Default)]
pub struct SimulationClock;

impl Clock for SimulationClock {
    const JUMPS: bool = true;

    #[inline(always)]
    fn wait_until(&mut self, _t: Time) -> Wait {
        Wait::Reached { late: Span::ZERO }
    }
}

/// Clock with scripted lateness and wakes, to test a world against the behaviour of a real clock.
///
/// After the end of the script it behaves as a [`SimulationClock`].
#[derive(Debug, Clone, Default)]
pub struct ScriptedClock {
    late: VecDeque<Span>,
    wakes: VecDeque<Time>,
}

impl ScriptedClock {
    /// Clock whose `n`-th `Reached` is late by the `n`-th of `late`, and which is woken at each of
    /// `wakes`.
    ///
    /// A wake at the requested time precedes it. Panics if `wakes` decrease.
    pub fn new(late: impl IntoIterator<Item = Span>, wakes: impl IntoIterator<Item = Time>) -> Self {
        let wakes: VecDeque<Time> = wakes.into_iter().collect();
        assert!(wakes.iter().is_sorted(), "a script's wakes go back in time");
        Self { late: late.into_iter().collect(), wakes }
    }

    /// Whether the whole script has been played.
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
