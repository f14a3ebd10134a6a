//! Findings of attacks, kept beside the results so that a reader of one sees the other.
//!
//! Every run replaces its directory of results as a whole, but findings that took an hour to
//! compute must survive. They are stored beside the directory, under its name with `.attack`
//! appended. They hold for the file as it was attacked, so its hash is stored too.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use laxity_report::output::{self, FileKind};
use laxity_scenario::{PointIndex, Scenario};
use laxity_units::Span;
use laxity_world::experiment::{Experiment, RunLength, SourceSpec, Task};
use laxity_world::results::Run;
use serde::{Deserialize, Serialize};

use super::{Found, Goal};

/// All that was found of one scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttackRecord {
    /// Name of the scenario; the first key, which identifies the file as ours.
    pub attacked: String,
    /// Hash of the scenario and all it names.
    pub file_hash: String,
    /// The findings.
    pub points: Vec<AttackedPoint>,
}

/// The findings at equivalent points of the sweep.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttackedPoint {
    /// The points in words.
    pub points: Vec<String>,
    /// Per channel.
    pub channels: Vec<Attacked>,
}

/// The findings for a channel, exact and in words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attacked {
    /// Its name.
    pub name: String,
    /// Which of its times was attacked.
    pub goal: Goal,
    /// Its bound.
    pub bound: String,
    /// The longest response that was found.
    pub worst: String,
    /// The scenario that shows it, beside this record; `None` if the scenario's own traffic does.
    pub file: Option<String>,
}

/// The path at which attacks store their findings for the scenario with the results in `out`.
pub fn beside(out: &Path) -> PathBuf {
    let mut name = out.file_name().map_or_else(OsString::new, OsString::from);
    name.push(".attack");
    out.with_file_name(name)
}

/// The points of `scenario` in groups that are equal to an attack: those that differ in seed,
/// sources and length only.
pub fn alike(scenario: &Scenario) -> Vec<Vec<PointIndex>> {
    let mut groups: Vec<(String, Vec<PointIndex>)> = Vec::new();
    for point in scenario.points() {
        let key = ground(scenario.experiment(&point));
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, points)) => points.push(point),
            None => groups.push((key, vec![point])),
        }
    }
    groups.into_iter().map(|(_, points)| points).collect()
}

/// The part of an experiment that an attack does not change.
fn ground(mut experiment: Experiment) -> String {
    experiment.seed = 0;
    if let Task::Simulate(length) = &mut experiment.task {
        *length = RunLength::Time { total: Span::ZERO, warmup: Span::ZERO, cooldown: Span::ZERO };
    }
    for channel in &mut experiment.channels {
        channel.source = SourceSpec::None;
    }
    format!("{experiment:?}")
}

impl AttackedPoint {
    /// The findings `found` at `points` of `scenario`, with the file that shows each, if there is
    /// one.
    pub fn new(scenario: &Scenario, points: &[PointIndex], found: &[(Found, Option<String>)]) -> Self {
        let attacked = |(found, file): &(Found, Option<String>)| Attacked {
            name: found.name.clone(),
            goal: found.goal,
            bound: found.bound.to_string(),
            worst: found.worst.to_string(),
            file: file.clone(),
        };
        Self {
            points: points.iter().map(|point| scenario.describe(point)).collect(),
            channels: found.iter().map(attacked).collect(),
        }
    }
}

impl AttackRecord {
    /// The record in `directory`, if it exists and belongs to the file with this hash.
    pub fn read(directory: &Path, file_hash: &str) -> Option<AttackRecord> {
        let record: AttackRecord =
            serde_json::from_slice(&fs::read(directory.join("attack.json")).ok()?).ok()?;
        (record.file_hash == file_hash).then_some(record)
    }

    /// Keeps the record in `directory`.
    ///
    /// # Errors
    ///
    /// As [`output::write`].
    pub fn write(&self, directory: &Path) -> Result<(), output::OutputError> {
        let path = directory.join("attack.json");
        fs::create_dir_all(directory).map_err(|error| output::OutputError::failed(&path, error))?;
        let text = serde_json::to_string_pretty(self).expect("a record is plain data");
        output::write(&path, FileKind::Attack, &[], text.as_bytes())
    }

    /// Replaces the findings for the same points and channels by `new`.
    pub fn renew(&mut self, new: AttackedPoint) {
        match self.points.iter_mut().find(|known| known.points == new.points) {
            None => self.points.push(new),
            Some(known) => {
                let is = |a: &Attacked, b: &Attacked| (&a.name, a.goal) == (&b.name, b.goal);
                known.channels.retain(|old| !new.channels.iter().any(|channel| is(channel, old)));
                known.channels.extend(new.channels);
            }
        }
    }

    /// Adds the findings for the channels to the run of the point, in words, if their bounds are
    /// still the same.
    pub fn tell(&self, point: &str, run: &mut Run) {
        let here = self.points.iter().filter(|known| known.points.iter().any(|known| known == point));
        for attacked in here.flat_map(|known| &known.channels) {
            let seconds = |text: &str| text.parse::<Span>().ok().map(Span::as_secs_f64);
            let channel = run.channels.iter_mut().find(|channel| channel.name == attacked.name);
            let goal = attacked.goal;
            if let Some(channel) = channel
                && goal.bound(channel) == attacked.bound.parse().ok()
            {
                let found = match goal {
                    Goal::Delivery => &mut channel.delivery_found,
                    Goal::Sent => &mut channel.worst_found,
                    Goal::Exchange => &mut channel.response_found,
                };
                *found = seconds(&attacked.worst);
            }
        }
    }
}
