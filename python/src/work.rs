//! Long work: without the interpreter, with progress, ended by Ctrl-C.
//!
//! A signal reaches Python only while the main thread runs its code, and a callback may be called
//! only with the interpreter held. So the work has a thread of its own, and the thread that called
//! looks every [`PART`] for signals and progress. After an exception (of a signal, or out of the
//! callback) the work is asked to stop, waited for, and its result dropped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use laxity_world::Steps;
use laxity_world::experiment::{ClockKind, Experiment, Task};
use laxity_world::results::Run;
use pyo3::prelude::*;

/// The longest time without a look for signals.
const PART: Duration = Duration::from_millis(50);

/// How far the work is: done, of how many, and a few words.
pub(crate) type Step = (u64, u64, String);

/// What the work has of its caller.
pub(crate) struct Monitor {
    stop: AtomicBool,
    steps: mpsc::Sender<Step>,
}

impl Monitor {
    /// Whether the work is to end early; its result is not used then.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Reports progress.
    pub(crate) fn report(&self, done: u64, total: u64, words: &str) {
        // The caller has gone: it has raised, and set `stop`.
        drop(self.steps.send((done, total, words.to_string())));
    }

    /// Runs one point in virtual time, or says why not.
    pub(crate) fn run(&self, experiment: &Experiment) -> Result<Run, String> {
        if experiment.clock == ClockKind::Real {
            return Err("it runs in real time, which only `laxity run` does".into());
        }
        let Task::Simulate(_) = experiment.task else { return Ok(laxity_world::run(experiment)) };
        let Some(mut steps) = Steps::open(experiment) else { return Ok(laxity_world::run(experiment)) };
        match steps.finish_while(u64::MAX, &|| !self.stopped()) {
            true => Ok(steps.close()),
            false => Err("it was stopped".into()),
        }
    }
}

/// Result of `work`, which runs on another thread; `progress` is called with each [`Step`].
pub(crate) fn long<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Monitor) -> T + Send,
) -> PyResult<T> {
    let (sender, steps) = mpsc::channel();
    let monitor = Monitor { stop: AtomicBool::new(false), steps: sender };
    let stop = |error: PyErr, monitor: &Monitor| {
        monitor.stop.store(true, Ordering::Relaxed);
        error
    };
    std::thread::scope(|scope| {
        // `finished` is dropped at the end of the work, which ends the wait for it.
        let (finished, mut end) = mpsc::channel::<()>();
        let monitor = &monitor;
        let worker = scope.spawn(move || {
            let _finished = finished;
            work(monitor)
        });
        let mut failed = None;
        loop {
            let waiting = &mut end;
            let goes_on = py.detach(move || waiting.recv_timeout(PART) == Err(RecvTimeoutError::Timeout));
            if failed.is_none() {
                let newest = steps.try_iter().last();
                let told = match (progress, newest) {
                    (Some(progress), Some(step)) => progress.call1(step).map(drop),
                    _ => Ok(()),
                };
                failed = told.and_then(|()| py.check_signals()).err().map(|error| stop(error, monitor));
            }
            if !goes_on {
                break;
            }
        }
        let result = py.detach(|| worker.join());
        match (failed, result) {
            (Some(error), _) => Err(error),
            (None, Ok(result)) => Ok(result),
            (None, Err(panic)) => std::panic::resume_unwind(panic),
        }
    })
}
