//! Searches: the worst case of a channel, the least change that admits all.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

use laxity_lab::attack::{self, AttackOptions, TimeLimit, Unattacked};
use laxity_lab::fix;
use laxity_units::Span;
use laxity_world::experiment::Experiment;
use pyo3::prelude::*;
use serde_json::{Value, json};

use super::{Scenario, threads};
use crate::error::Error;
use crate::work::{self, Monitor};

/// Events after which a scene is given up, as `laxity attack` does.
const EVENTS: u64 = 2_000_000;

/// A search that was asked to stop unwinds with this.
struct Stopped;

#[pymethods]
impl Scenario {
    /// Searches the worst case of each channel that has a bound, as JSON.
    #[pyo3(signature = (progress=None, steps=4000, seconds=None, seed=1, channel=None, point=None, threads=None))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn attack(
        &self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
        steps: u64,
        seconds: Option<f64>,
        seed: u64,
        channel: Option<String>,
        point: Option<usize>,
        threads: Option<usize>,
    ) -> PyResult<String> {
        let options =
            AttackOptions { steps, seed, threads: self::threads(threads)?, channel, events: EVENTS };
        let mut groups = attack::alike(&self.read);
        if let Some(number) = point {
            let point = self.point(number)?;
            groups.retain(|group| group.contains(&point));
        }
        let limit = seconds.map(|seconds| Span::from_us((seconds * 1e6) as u64)).unwrap_or(Span::MAX);
        let found = work::long(py, progress, |monitor: &Monitor| {
            let mut all: Vec<Value> = Vec::new();
            for group in &groups {
                let words = self.read.describe(&group[0]);
                let experiments: Vec<Experiment> =
                    group.iter().map(|point| self.read.experiment(point)).collect();
                #[allow(clippy::disallowed_methods, reason = "a limit in wall-clock time")]
                let start = Instant::now();
                // A search that is stopped has used up its time.
                let passed = || match monitor.stopped() {
                    true => Span::MAX,
                    false => Span::from_us(start.elapsed().as_micros() as u64),
                };
                let time = TimeLimit { limit: Some(limit), passed: &passed };
                let mut observe = |progress: &attack::AttackProgress| {
                    monitor.report(progress.done.min(steps), steps, &words);
                };
                match attack::attack(&experiments, &options, time, &mut observe) {
                    Ok(found) => all.extend(found.iter().map(|found| {
                        json!({
                            "point": words, "channel": found.name, "bound": found.bound.as_secs_f64(),
                            "worst": found.worst.as_secs_f64(), "share": found.share(),
                            "plain": found.plain.map(Span::as_secs_f64), "exceeds": found.exceeds(),
                        })
                    })),
                    Err(Unattacked::Nothing(reason)) => {
                        all.push(json!({ "point": words, "not_attacked": reason }));
                    }
                    Err(Unattacked::Unknown(name)) => {
                        let reason = format!("no channel called `{name}` has a bound");
                        all.push(json!({ "point": words, "not_attacked": reason }));
                    }
                }
            }
            json!(all).to_string()
        })?;
        Ok(found)
    }

    /// Searches the least changes that admit every channel at a point, as JSON.
    #[pyo3(signature = (progress=None, point=0, threads=None))]
    fn fix(
        &self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
        point: usize,
        threads: Option<usize>,
    ) -> PyResult<String> {
        let (point, threads) = (self.point(point)?, self::threads(threads)?);
        let fixes = work::long(py, progress, |monitor: &Monitor| {
            let mut observe = |progress: fix::FixProgress| {
                if monitor.stopped() {
                    // The search has no other way out, and its threads end with their receiver.
                    resume_unwind(Box::new(Stopped));
                }
                monitor.report(progress.done as u64, progress.total as u64, "");
            };
            let search = || fix::fix(&self.read, &point, threads, &mut observe);
            match catch_unwind(AssertUnwindSafe(search)) {
                Ok(fixes) => Some(fixes),
                Err(panic) if panic.is::<Stopped>() => None,
                Err(panic) => resume_unwind(panic),
            }
        })?;
        let fixes = fixes.ok_or_else(|| Error::new_err("it was stopped"))?;
        let fix = |fix: &fix::Fix| {
            let changes = |thing: &fix::Turned| {
                thing
                    .changes
                    .iter()
                    .map(|change| (change.key.clone(), change.value.clone()))
                    .collect::<Vec<_>>()
            };
            let things: Vec<Value> = fix
                .things
                .iter()
                .map(|thing| json!({ "what": thing.what, "now": thing.now, "then": thing.then, "changes": changes(thing) }))
                .collect();
            json!({ "factor": fix.factor(), "things": things })
        };
        Ok(json!({
            "asked": fixes.asked, "lacking": fixes.lacking,
            "fixes": fixes.fixes.iter().map(fix).collect::<Vec<_>>(),
            "nearest": fixes.nearest.as_ref().map(|(nearest, left)| json!({ "fix": fix(nearest), "left": left })),
        })
        .to_string())
    }
}
