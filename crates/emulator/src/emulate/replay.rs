//! An emulation once more, from its log: the same world, at the speed of a simulation.
//!
//! The clock is a script: it wakes the world where the log says, and lets every time else be reached at once.
//! `laxity_engine::ScriptedClock` has wakes by time alone, which is not enough when several events happen at one time
//! and an input came between two of them; so this one counts events, too.

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

/// An emulation that was run again.
#[derive(Debug)]
pub struct Replayed {
    /// Its results: those of the emulation. How well that kept time is told by the log's end; without one its fitness is untold.
    pub run: Run,
    /// A digest of which packet departed from which node when: the emulation's.
    pub departures: u64,
    /// How many inputs there were.
    pub inputs: u64,
    /// When it ended.
    pub end: Time,
    /// Where and how the log was cut off, if it was: the replay ends at its last input then.
    pub cut: Option<LogError>,
    /// Bytes of the file behind the log's end, which were not looked at.
    pub trailing: u64,
}

/// Why an emulation could not be run again.
#[derive(Debug)]
pub enum ReplayError {
    /// The log is damaged.
    Log(LogError),
    /// The world went another way than the log: it is of another version, or there is an error of ours.
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

/// Runs `experiment` as `log` says; it must be the one of the log's header.
pub fn replay<R: Read>(log: Log<R>, experiment: &Experiment) -> Result<Replayed, ReplayError> {
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
    // What stopped a world whose log was cut off was no input of the emulation.
    let inputs = ended.inputs - u64::from(cut.is_some() && script.stopped);
    let mut replayed =
        Replayed { run: ended.run, departures: ended.departures, inputs, end: ended.end, cut, trailing };
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

/// What is still to come of a log.
struct Script<R> {
    log: Log<R>,
    next: Option<Batch>,
    /// The inputs of the wake that was last, until they are fetched.
    current: Vec<(Time, Input)>,
    events: Rc<Cell<u64>>,
    /// The last answer.
    answered: Time,
    error: Option<ReplayError>,
    /// The log was cut off: there is no further input, and none was stopped by yet.
    cut: Option<LogError>,
    /// The world was told to stop, for want of a log.
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

    /// Ends the run, with an error.
    fn fail(&mut self, error: ReplayError) {
        self.error.get_or_insert(error);
        self.next = None;
    }

    fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Whether the world is woken before it reaches `t`, and when.
    fn wake(&mut self, t: Time) -> Option<Time> {
        if self.has_failed() || (self.cut.is_some() && self.next.is_none()) {
            self.stopped = true;
            // Once: the answer to it ends the run.
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

/// The clock that the script is.
struct ScriptClock<R>(Rc<RefCell<Script<R>>>);

impl<R: Read> Clock for ScriptClock<R> {
    fn wait_until(&mut self, t: Time) -> Wait {
        match self.0.borrow_mut().wake(t) {
            Some(at) => Wait::Woken { at },
            None => Wait::Reached { late: Span::ZERO },
        }
    }
}

/// The outside that the log is.
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
