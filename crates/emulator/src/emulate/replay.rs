//! Replay of an emulation from its log: the same world, at the speed of a simulation.
//!
//! The clock is a script: it wakes the world as logged, and reaches all other times at once.
//! `laxity_engine::ScriptedClock` identifies a wake by its time alone, which is ambiguous if an
//! input arrived between several events of one time; this clock also counts events.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::io::Read;
use std::rc::Rc;

use laxity_engine::{Clock, Wait};
use laxity_units::{Span, Time};
use laxity_world::experiment::Experiment;
use laxity_world::results::{Fitness, RealTime, Run};
use laxity_world::{Elsewhere, Input, Notice, Outside};

use super::gate::Gate;
use super::{Course, no_reports};
use crate::log::{Batch, Log, LogError};

/// Replayed emulation.
#[derive(Debug)]
pub struct ReplayedEmulation {
    /// Results: those of the emulation. Its timeliness is in the log's end; without an end the
    /// fitness is unknown.
    pub run: Run,
    /// Digest of all departures: the emulation's.
    pub departures: u64,
    /// Number of inputs.
    pub inputs: u64,
    /// End time.
    pub end: Time,
    /// Where and how the log was truncated, if it was; the replay then ends at its last input.
    pub cut: Option<LogError>,
    /// Bytes of the file after the log's end, which were ignored.
    pub trailing: u64,
}

/// Reason for which a replay failed.
#[derive(Debug)]
pub enum ReplayError {
    /// The log is damaged.
    Log(LogError),
    /// The world differed from the log: its version differs, or there is a bug.
    Diverged(String),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::Log(error) => error.fmt(f),
            ReplayError::Diverged(how) => {
                write!(f, "the replay does not go the way of the emulation: {how}; was it another version's?")
            }
        }
    }
}

impl std::error::Error for ReplayError {}

/// Replays `experiment` from `log`; it must be the one of the log's header.
pub fn replay<R: Read>(log: Log<R>, experiment: &Experiment) -> Result<ReplayedEmulation, ReplayError> {
    let header = log.header().clone();
    let events: Rc<Cell<u64>> = Rc::default();
    let script = Rc::new(RefCell::new(Script::new(log, events.clone())));
    let course = Course {
        experiment,
        length: header.length(),
        outside: Gate::new(Logged::of(script.clone()), None, None, None),
        elsewhere: Elsewhere { hosts: &header.hosts, channels: &header.channels },
        slice: None,
        events,
    };
    let ended = course.run(&mut ScriptClock(script.clone()), &mut |_, _| {}, no_reports());
    let mut script = script.borrow_mut();
    if let Some(error) = script.error.take() {
        return Err(error);
    }
    if let Some(next) = &script.next {
        return Err(ReplayError::Diverged(format!(
            "it ended at {}, before an input at {}",
            ended.end, next.at
        )));
    }
    let (cut, trailing) = (script.cut.take(), script.log.trailing());
    // The stop at the end of a truncated log was no input of the emulation.
    let inputs = ended.inputs - u64::from(cut.is_some() && script.stopped);
    let mut replayed = ReplayedEmulation {
        run: ended.run,
        departures: ended.departures,
        inputs,
        end: ended.end,
        cut,
        trailing,
    };
    let Some(end) = script.log.end() else {
        let inputs = replayed.inputs;
        replayed.run.real_time = Some(RealTime { inputs, fitness: Fitness::untold(), ..RealTime::default() });
        return Ok(replayed);
    };
    if (replayed.departures, replayed.inputs, replayed.end) != (end.departures, end.inputs, end.end()) {
        return Err(ReplayError::Diverged(format!(
            "it ended at {} after {} inputs with departures {:016x}, and the emulation at {} after {} with {:016x}",
            replayed.end,
            replayed.inputs,
            replayed.departures,
            end.end(),
            end.inputs,
            end.departures
        )));
    }
    replayed.run.real_time = end.real_time.clone();
    Ok(replayed)
}

struct Script<R> {
    log: Log<R>,
    next: Option<Batch>,
    /// Inputs of the last wake, until they are fetched.
    current: Vec<(Time, Input)>,
    events: Rc<Cell<u64>>,
    /// Last answer of the clock.
    answered: Time,
    error: Option<ReplayError>,
    /// The log was truncated: there are no further inputs.
    cut: Option<LogError>,
    /// The world was stopped at the end of a truncated log.
    stopped: bool,
}

impl<R: Read> Script<R> {
    fn new(log: Log<R>, events: Rc<Cell<u64>>) -> Self {
        let mut script = Self {
            log,
            next: None,
            current: Vec::new(),
            events,
            answered: Time::ZERO,
            error: None,
            cut: None,
            stopped: false,
        };
        script.advance();
        script
    }

    fn advance(&mut self) {
        self.next = match self.log.next_batch() {
            Ok(next) => next,
            Err(error) if error.is_cut => {
                self.cut = Some(error);
                None
            }
            Err(error) => {
                self.fail(ReplayError::Log(error));
                None
            }
        };
    }

    fn fail(&mut self, error: ReplayError) {
        self.error.get_or_insert(error);
        self.next = None;
    }

    fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Time of a wake before `t`, if there is one.
    fn wake(&mut self, t: Time) -> Option<Time> {
        if self.has_failed() || (self.cut.is_some() && self.next.is_none()) {
            self.stopped = true;
            // Once: this input ends the run.
            self.current = vec![(self.answered, Input::Stop)];
            return Some(self.answered);
        }
        let Some(next) = &self.next else {
            self.answered = t;
            return None;
        };
        let (events, at) = (self.events.get(), next.at);
        if events > next.events || at < self.answered {
            let now = self.answered;
            let how =
                format!("{events} events had come at {now}, and {} before an input at {at}", next.events);
            self.fail(ReplayError::Diverged(how));
            return self.wake(t);
        }
        if events < next.events || at > t {
            self.answered = t;
            return None;
        }
        self.answered = at;
        self.current = self.next.take().map(|batch| batch.inputs).unwrap_or_default();
        self.advance();
        Some(at)
    }
}

struct ScriptClock<R>(Rc<RefCell<Script<R>>>);

impl<R: Read> Clock for ScriptClock<R> {
    fn wait_until(&mut self, t: Time) -> Wait {
        match self.0.borrow_mut().wake(t) {
            Some(at) => Wait::Woken { at },
            None => Wait::Reached { late: Span::ZERO },
        }
    }
}

struct Logged<R> {
    inputs: VecDeque<(Time, Input)>,
    read_at: Time,
    script: Rc<RefCell<Script<R>>>,
}

impl<R> Logged<R> {
    fn of(script: Rc<RefCell<Script<R>>>) -> Self {
        Self { inputs: VecDeque::new(), read_at: Time::ZERO, script }
    }
}

impl<R: Read> Outside for Logged<R> {
    const TELLS: bool = false;

    fn next_input(&mut self, _now: Time) -> Option<Input> {
        if self.inputs.is_empty() {
            self.inputs.extend(self.script.borrow_mut().current.drain(..));
        }
        let (read_at, input) = self.inputs.pop_front()?;
        self.read_at = read_at;
        Some(input)
    }

    fn read_at(&self, _now: Time) -> Time {
        self.read_at
    }

    fn notice(&mut self, _now: Time, _notice: Notice<'_>) {}
}
