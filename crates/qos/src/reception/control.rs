//! The control interface of an adapter: commands that set its interrupt mode, during a run (thesis
//! Table 7.1).
//!
//! An adapter has three modes at a time, and each command sets one of them:
//!
//! | command | mode |
//! |---|---|
//! | `MODE_POLL`, `MODE_INTR` | whether the host polls, or the adapter interrupts |
//! | `HOST_INTR_CTRL_ON`, `_OFF` | whether the host disables and enables interrupts itself |
//! | `BACKOFF_ENABLE`, `_DISABLE` | whether interrupts of an overloaded host are spaced |
//!
//! The thesis gives defaults (interrupts, not controlled by the host, no backoff), but no
//! precedence if several are set. Here a polled adapter does not interrupt, and a host that
//! controls interrupts itself needs no backoff. A setting made under another mode takes effect when
//! that mode ends. A policy without commands, such as NAPI, has no modes.

use laxity_units::Span;

use super::{Backoff, Context, Continuous, Explicit, Operations, PerCommand, Policy, Timed};

/// How a host polls an adapter that does not interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polls {
    /// Without a pause.
    Continuous(Continuous),
    /// At a clock's ticks, with this interval.
    Timed(Timed, Span),
}

/// A command of the host to its adapter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ControlCommand {
    /// `MODE_POLL`.
    Poll(Polls),
    /// `MODE_INTR`.
    Interrupt,
    /// `HOST_INTR_CTRL_ON`.
    HostOn(Explicit),
    /// `HOST_INTR_CTRL_OFF`.
    HostOff,
    /// `BACKOFF_ENABLE`.
    BackoffOn(Backoff),
    /// `BACKOFF_DISABLE`.
    BackoffOff,
}

/// The modes of an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Modes {
    polls: Option<Polls>,
    host: Option<Explicit>,
    backoff: Option<Backoff>,
}

impl Modes {
    /// The modes that give `policy`, with a clock of `interval`; `None` if the commands cannot
    /// express it.
    pub fn of(policy: &Policy, interval: Option<Span>) -> Option<Self> {
        let mut modes = Self::default();
        match policy {
            Policy::PerCommand(policy) if policy.context() == Context::Routine => {}
            Policy::Continuous(polls) => modes.polls = Some(Polls::Continuous(*polls)),
            Policy::Timed(polls) => modes.polls = Some(Polls::Timed(*polls, interval?)),
            Policy::Explicit(explicit) => modes.host = Some(*explicit),
            Policy::Backoff(backoff) => modes.backoff = Some(*backoff),
            _ => return None,
        }
        Some(modes)
    }

    /// Sets the mode of `command`.
    pub fn set(&mut self, command: ControlCommand) {
        match command {
            ControlCommand::Poll(polls) => self.polls = Some(polls),
            ControlCommand::Interrupt => self.polls = None,
            ControlCommand::HostOn(explicit) => self.host = Some(explicit),
            ControlCommand::HostOff => self.host = None,
            ControlCommand::BackoffOn(backoff) => self.backoff = Some(backoff),
            ControlCommand::BackoffOff => self.backoff = None,
        }
    }

    /// The policy in force, in its initial state, and the interval of its clock, if it has one.
    pub fn policy(&self) -> (Policy, Option<Span>) {
        match (self.polls, self.host, self.backoff) {
            (Some(Polls::Continuous(polls)), ..) => (Policy::Continuous(polls), None),
            (Some(Polls::Timed(polls, interval)), ..) => (Policy::Timed(polls), Some(interval)),
            (None, Some(explicit), _) => (Policy::Explicit(explicit), None),
            (None, None, Some(backoff)) => (Policy::Backoff(backoff), None),
            (None, None, None) => (Policy::PerCommand(PerCommand::ROUTINE), None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reception::Napi;

    #[test]
    fn who_is_asked_interrupts_nobody_and_what_was_set_comes_back() {
        let explicit = Explicit::new(4, Span::from_ms(2));
        let timed = Timed { quota: 3 };
        let mut modes = Modes::of(&Policy::PerCommand(PerCommand::ROUTINE), None).unwrap();
        assert_eq!(modes, Modes::default());
        modes.set(ControlCommand::Poll(Polls::Timed(timed, Span::from_ms(1))));
        modes.set(ControlCommand::HostOn(explicit));
        assert_eq!(modes.policy(), (Policy::Timed(timed), Some(Span::from_ms(1))));
        modes.set(ControlCommand::Interrupt);
        assert_eq!(modes.policy(), (Policy::Explicit(explicit), None));
        modes.set(ControlCommand::HostOff);
        modes.set(ControlCommand::BackoffOff);
        assert_eq!(modes.policy().0, Policy::PerCommand(PerCommand::ROUTINE));
    }

    #[test]
    fn a_policy_is_the_one_that_its_modes_say_or_has_none() {
        let explicit = Policy::Explicit(Explicit::new(4, Span::from_ms(2)));
        let continuous = Policy::Continuous(Continuous { quota: 2 });
        for policy in [explicit, continuous, Policy::PerCommand(PerCommand::ROUTINE)] {
            assert_eq!(Modes::of(&policy, None).unwrap().policy(), (policy, None));
        }
        assert_eq!(Modes::of(&Policy::PerCommand(PerCommand::KERNEL), None), None);
        assert_eq!(Modes::of(&Policy::Napi(Napi::new(4, 1)), None), None);
        assert_eq!(Modes::of(&Policy::Timed(Timed { quota: 3 }), None), None, "without a clock");
    }
}
