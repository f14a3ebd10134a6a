//! Scenarios: read, changed, asked and run.

mod search;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use laxity_lab::answer::{self, Answers};
use laxity_lab::campaign::{self, Outcome, RunOptions};
use laxity_scenario::files::{Disk, Files, Opened};
use laxity_scenario::{Change, Edits, PointIndex};
use laxity_world::experiment::Experiment;
use laxity_world::results::{Axis, Run};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use serde_json::json;

use crate::error::{Error, of_scenario};
use crate::results::Results;
use crate::toml;
use crate::work::{self, Monitor};

/// Contents of files by their paths.
type Contents = BTreeMap<PathBuf, Vec<u8>>;

/// Files that were read once: from memory, else from the disk, which is noted.
struct Noted<'a> {
    known: &'a Contents,
    read: RefCell<Contents>,
}

impl Files for Noted<'_> {
    fn open(&self, path: &Path) -> io::Result<Opened<'_>> {
        if self.known.contains_key(path) {
            return self.known.open(path);
        }
        let mut bytes = Vec::new();
        Disk.open(path)?.bytes.read_to_end(&mut bytes)?;
        self.read.borrow_mut().insert(path.to_path_buf(), bytes.clone());
        Ok(Opened { length: Some(bytes.len() as u64), bytes: Box::new(io::Cursor::new(bytes)) })
    }
}

/// A scenario with its files, so that another process can read it without them.
#[pyclass(frozen, module = "laxity._laxity")]
pub(crate) struct Scenario {
    path: PathBuf,
    contents: Contents,
    edits: Edits,
    read: Arc<laxity_scenario::Scenario>,
}

impl Scenario {
    fn new(py: Python<'_>, path: PathBuf, known: Contents, edits: Edits) -> PyResult<Self> {
        let read = py.detach(|| {
            let files = Noted { known: &known, read: RefCell::default() };
            laxity_lab::edited(&path, &files, &edits).map(|read| (read, files.read.into_inner()))
        });
        let (read, noted) = read.map_err(|diagnostics| of_scenario(py, &diagnostics))?;
        let contents = known.into_iter().chain(noted).collect();
        Ok(Self { path, contents, edits, read: Arc::new(read) })
    }

    /// The point of that number.
    fn point(&self, number: usize) -> PyResult<PointIndex> {
        self.read.points().nth(number).ok_or_else(|| {
            let points = self.read.points().count();
            PyIndexError::new_err(format!("there is no point {number}; valid is 0 to {}", points - 1))
        })
    }

    /// These points, or all.
    fn chosen(&self, number: Option<usize>) -> PyResult<Vec<PointIndex>> {
        match number {
            Some(number) => Ok(vec![self.point(number)?]),
            None => Ok(self.read.points().collect()),
        }
    }
}

fn threads(threads: Option<usize>) -> PyResult<Option<NonZero<usize>>> {
    let none = || PyValueError::new_err("there has to be a thread");
    threads.map(|threads| NonZero::new(threads).ok_or_else(none)).transpose()
}

#[pymethods]
impl Scenario {
    /// Reads the scenario at `path` of `contents` or of the disk.
    #[new]
    #[pyo3(signature = (path, contents=BTreeMap::new(), changes=Vec::new(), sweep=String::new()))]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        contents: Contents,
        changes: Vec<(String, String)>,
        sweep: String,
    ) -> PyResult<Self> {
        let changes = changes.into_iter().map(|(key, value)| Change { key, value }).collect();
        Self::new(py, path, contents, Edits { changes, sweep })
    }

    /// The arguments that make the same scenario in another process.
    fn parts(&self) -> (PathBuf, Contents, Vec<(String, String)>, String) {
        let changes = self.edits.changes.iter().map(|Change { key, value }| (key.clone(), value.clone()));
        (self.path.clone(), self.contents.clone(), changes.collect(), self.edits.sweep.clone())
    }

    /// With these values, pairs of a key and a value of Python, in place of the file's.
    fn changed(&self, py: Python<'_>, changes: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<Self> {
        let mut edits = self.edits.clone();
        for (key, value) in changes {
            edits.set(Change { key, value: toml::value(&value)? });
        }
        Self::new(py, self.path.clone(), self.contents.clone(), edits)
    }

    /// The same with values as they stand in a file.
    fn changed_as_written(&self, py: Python<'_>, changes: Vec<(String, String)>) -> PyResult<Self> {
        let mut edits = self.edits.clone();
        changes.into_iter().for_each(|(key, value)| edits.set(Change { key, value }));
        Self::new(py, self.path.clone(), self.contents.clone(), edits)
    }

    /// With further axes of the sweep, dictionaries of the keys of `[[sweep]]`.
    fn swept(&self, py: Python<'_>, axes: &Bound<'_, PyAny>) -> PyResult<Self> {
        let sweep = format!("{}{}", self.edits.sweep, toml::axes(axes)?);
        Self::new(py, self.path.clone(), self.contents.clone(), Edits { sweep, ..self.edits.clone() })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.read.name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.read.title
    }

    #[getter]
    fn about(&self) -> &str {
        &self.read.about
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.read.seed
    }

    #[getter]
    fn hash(&self) -> &str {
        &self.read.hash
    }

    /// Name and values of each axis.
    #[getter]
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        let texts = |axis: &Axis| axis.points.iter().map(|point| point.text.clone()).collect();
        self.read.axes.iter().map(|axis| (axis.name.clone(), texts(axis))).collect()
    }

    /// The points in words.
    #[getter]
    fn points(&self) -> Vec<String> {
        self.read.points().map(|point| self.read.describe(&point)).collect()
    }

    /// The names of the channels at the first point.
    #[getter]
    fn channels(&self) -> Vec<String> {
        self.read.first().channels.into_iter().map(|channel| channel.name).collect()
    }

    /// The text of the file.
    #[getter]
    fn text(&self) -> PyResult<&str> {
        let bytes = self.contents.get(&self.path).ok_or_else(|| Error::new_err("its file was not read"))?;
        std::str::from_utf8(bytes).map_err(|error| Error::new_err(error.to_string()))
    }

    /// Admission's answers at a point or at all, as JSON.
    #[pyo3(signature = (point=None))]
    fn admit(&self, py: Python<'_>, point: Option<usize>) -> PyResult<String> {
        let points = self.chosen(point)?;
        work::long(py, None, |monitor: &Monitor| {
            let answer = |point: &PointIndex| {
                let Answers { channels, applications, exchanges, not_analysed } =
                    answer::answers(&self.read.experiment(point), |_| true);
                json!({
                    "point": self.read.describe(point), "not_analysed": not_analysed,
                    "channels": channels, "applications": applications, "exchanges": exchanges,
                })
            };
            let asked = points.iter().take_while(|_| !monitor.stopped());
            json!(asked.map(answer).collect::<Vec<_>>()).to_string()
        })
    }

    /// Runs all points.
    #[pyo3(signature = (progress=None, threads=None, seed=None, out=None, fresh=false, build=String::new()))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn run(
        &self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
        seed: Option<u64>,
        out: Option<PathBuf>,
        fresh: bool,
        build: String,
    ) -> PyResult<Results> {
        let threads = self::threads(threads)?;
        let options = RunOptions { out, threads, seed, fresh, build, ..RunOptions::default() };
        let outcome = work::long(py, progress, |monitor: &Monitor| {
            let runner = |experiment: &Experiment| monitor.run(experiment);
            campaign::run_by(&self.read, &options, &runner, &mut |progress| {
                monitor.report(progress.done as u64, progress.total as u64, "");
            })
        })?;
        self.outcome(outcome)
    }

    /// Runs one point, and returns its run as JSON for [`collect`](Self::collect).
    fn run_point(&self, py: Python<'_>, number: usize) -> PyResult<Vec<u8>> {
        let point = self.point(number)?;
        let run = work::long(py, None, |monitor: &Monitor| {
            campaign::run_point(&self.read, &point, &|experiment: &Experiment| monitor.run(experiment))
        })?;
        let run = run.map_err(|error| Error::new_err(error.to_string()))?;
        Ok(serde_json::to_vec(&run).expect("a run is plain data"))
    }

    /// The results of all points that [`run_point`](Self::run_point) ran, in their order.
    #[pyo3(signature = (runs, out=None))]
    fn collect(&self, py: Python<'_>, runs: Vec<Vec<u8>>, out: Option<PathBuf>) -> PyResult<Results> {
        let points = self.read.points().count();
        if runs.len() != points {
            return Err(PyValueError::new_err(format!("{} runs of {points} points", runs.len())));
        }
        let runs: Result<Vec<Run>, _> = runs.iter().map(|run| serde_json::from_slice(run)).collect();
        let runs = runs.map_err(|error| PyValueError::new_err(format!("this is no run: {error}")))?;
        let options = RunOptions { out, ..RunOptions::default() };
        let outcome = py.detach(|| campaign::of_runs(&self.read, &options, runs));
        self.outcome(outcome)
    }
}

impl Scenario {
    fn outcome(&self, outcome: Result<Outcome, campaign::CampaignError>) -> PyResult<Results> {
        let outcome = outcome.map_err(|error| Error::new_err(error.to_string()))?;
        Ok(Results::new(outcome, Arc::clone(&self.read)))
    }
}
