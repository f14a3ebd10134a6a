//! Adaptive moderation: coalescing with parameters that follow the traffic, as in Linux's DIM.
//!
//! A ladder of [`PROFILES`] from short to long holdoff times. Every [`EVENTS`] interrupts the rates
//! of bytes, packets and interrupts are compared with the previous ones. A step that improved them
//! is followed by another in the same direction, and a step that worsened them is reversed. A
//! profile that is worse than both its neighbours is left; a better one is kept until the rates
//! change by a tenth. More bytes are better; of equal bytes more packets; of equal packets fewer
//! interrupts. The kernel's library (lib/dim: `net_dim`) is the definition; this is that automaton
//! over simulated counters.
//!
//! Batches run in the kernel ([`Context::Kernel`]), without a quota: the number of waiting commands
//! limits them.

use laxity_units::{Span, Time};

use super::{Again, Batch, Context, Load, Operations, Posted};

/// Holdoff time of the first frame and number of frames, from short to long
/// (`NET_DIM_RX_EQE_PROFILES`).
pub const PROFILES: [(Span, u32); 5] = [
    (Span::from_us(1), 256),
    (Span::from_us(8), 256),
    (Span::from_us(64), 256),
    (Span::from_us(128), 256),
    (Span::from_us(256), 256),
];

/// Interrupts between two decisions (`DIM_NEVENTS`).
pub const EVENTS: u32 = 64;

/// Coalescing by the profile that the rates selected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adaptive {
    profile: usize,
    state: State,
    steps_left: u32,
    steps_right: u32,
    tired: u32,
    masked: bool,
    latest: Time,
    /// Counters since the last decision.
    began: Time,
    interrupts: u32,
    commands: u32,
    previous: Rates,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    ParkedOnTop,
    ParkedTired,
    GoingRight,
    GoingLeft,
}

/// Commands and interrupts a second. Packets have the same size here, so bytes are in proportion to
/// commands.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Rates {
    commands: f64,
    interrupts: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Same,
    Better,
    Worse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Taken,
    OnEdge,
    TooTired,
}

impl Default for Adaptive {
    /// At the profile with the shortest holdoff, going right.
    fn default() -> Self {
        Self {
            profile: 0,
            state: State::GoingRight,
            steps_left: 0,
            steps_right: 0,
            tired: 0,
            masked: false,
            latest: Time::ZERO,
            began: Time::ZERO,
            interrupts: 0,
            commands: 0,
            previous: Rates::default(),
        }
    }
}

impl Adaptive {
    /// The profile in force, by its index in [`PROFILES`].
    pub fn profile(&self) -> usize {
        self.profile
    }

    fn decide(&mut self, now: Time) {
        let seconds = now.saturating_since(self.began).as_secs_f64();
        if seconds <= 0.0 {
            return;
        }
        let rates = Rates {
            commands: f64::from(self.commands) / seconds,
            interrupts: f64::from(self.interrupts) / seconds,
        };
        let before = self.state;
        match self.state {
            State::ParkedOnTop => {
                if self.compare(&rates) != Change::Same {
                    self.leave_parking();
                }
            }
            State::ParkedTired => {
                self.tired = self.tired.saturating_sub(1);
                if self.tired == 0 {
                    self.leave_parking();
                }
            }
            State::GoingRight | State::GoingLeft => self.walk(&rates),
        }
        if before != State::ParkedOnTop || self.state != State::ParkedOnTop {
            self.previous = rates;
        }
        (self.began, self.interrupts, self.commands) = (now, 0, 0);
    }

    fn walk(&mut self, rates: &Rates) {
        if self.compare(rates) != Change::Better {
            self.turn();
        }
        if self.is_on_top() {
            return self.park(State::ParkedOnTop);
        }
        match self.step() {
            Step::Taken => {}
            Step::OnEdge => self.park(State::ParkedOnTop),
            Step::TooTired => self.park(State::ParkedTired),
        }
    }

    /// More commands are better, then fewer interrupts; a difference of at most a tenth counts as
    /// none.
    fn compare(&self, rates: &Rates) -> Change {
        let differs = |now: f64, before: f64| (now - before).abs() > 0.1 * before;
        if self.previous.commands == 0.0 {
            return if rates.commands > 0.0 { Change::Better } else { Change::Same };
        }
        if differs(rates.commands, self.previous.commands) {
            return if rates.commands > self.previous.commands { Change::Better } else { Change::Worse };
        }
        if differs(rates.interrupts, self.previous.interrupts) {
            return if rates.interrupts < self.previous.interrupts { Change::Better } else { Change::Worse };
        }
        Change::Same
    }

    fn is_on_top(&self) -> bool {
        match self.state {
            State::ParkedOnTop | State::ParkedTired => true,
            State::GoingRight => self.steps_left > 1 && self.steps_right == 1,
            State::GoingLeft => self.steps_right > 1 && self.steps_left == 1,
        }
    }

    fn turn(&mut self) {
        match self.state {
            State::GoingRight => (self.state, self.steps_left) = (State::GoingLeft, 0),
            State::GoingLeft => (self.state, self.steps_right) = (State::GoingRight, 0),
            State::ParkedOnTop | State::ParkedTired => {}
        }
    }

    fn step(&mut self) -> Step {
        if self.tired as usize == 2 * PROFILES.len() {
            return Step::TooTired;
        }
        match self.state {
            State::ParkedOnTop | State::ParkedTired => {}
            State::GoingRight if self.profile + 1 == PROFILES.len() => return Step::OnEdge,
            State::GoingRight => (self.profile, self.steps_right) = (self.profile + 1, self.steps_right + 1),
            State::GoingLeft if self.profile == 0 => return Step::OnEdge,
            State::GoingLeft => (self.profile, self.steps_left) = (self.profile - 1, self.steps_left + 1),
        }
        self.tired += 1;
        Step::Taken
    }

    fn park(&mut self, state: State) {
        (self.steps_left, self.steps_right) = (0, 0);
        if state == State::ParkedOnTop {
            self.tired = 0;
        }
        self.state = state;
    }

    fn leave_parking(&mut self) {
        self.state = if self.profile > 0 { State::GoingLeft } else { State::GoingRight };
        self.step();
    }
}

impl Operations for Adaptive {
    fn context(&self) -> Context {
        Context::Kernel
    }

    fn posted(&mut self, now: Time) {
        self.latest = now;
    }

    fn interrupt_at(&self, posted: &Posted) -> Option<Time> {
        if self.masked {
            return None;
        }
        let (delay, frames) = PROFILES[self.profile];
        let timed = posted.oldest.saturating_add(delay);
        Some(if posted.waiting >= frames { timed.min(self.latest) } else { timed })
    }

    fn entered(&mut self, now: Time) {
        self.masked = true;
        self.interrupts += 1;
        if self.interrupts >= EVENTS {
            self.decide(now);
        }
    }

    fn left(&mut self, _now: Time, batch: &Batch, _load: &Load) -> Again {
        self.masked = false;
        self.commands += batch.taken;
        Again::OnSignal
    }
}
