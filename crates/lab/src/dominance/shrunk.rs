//! A broken law, cut down to a small pair of files.

use laxity_scenario::draw::{Table, shrink};

use super::{Breach, FileChange, PairJudgement, changes, pair, settled};
use crate::property::experiment_of;
use laxity_admission::Formula;
use laxity_world::promise::promises;

/// A pair of files that breaks a law.
#[derive(Debug, Clone)]
pub struct Shrunk {
    /// The first file.
    pub before: String,
    /// The changed file.
    pub after: String,
    /// The broken law, as these files show it.
    pub breach: Breach,
}

/// The smallest pair of files, by at most `tries` attempts, that breaks a law as `breach` of `file`
/// does.
pub fn shrunk(file: &Table, breach: &Breach, tries: u32) -> Option<Shrunk> {
    let small = shrink(file, tries, &mut |file| broken(&file.text(), breach).is_some());
    broken(&small.text(), breach)
}

/// The first change of `text` that breaks the law of `like` in the same way.
fn broken(text: &str, like: &Breach) -> Option<Shrunk> {
    let before = settled(text)?;
    let experiment = experiment_of(&before).ok()?;
    let first = promises(&experiment, Formula::Corrected).ok()?;
    let all = changes(&before, &experiment);
    let shows = |change: &FileChange| match pair(&experiment, &first, change) {
        PairJudgement::Broken(breach) if breach.harm.is_like(&like.harm) => {
            Some(Shrunk { before: before.clone(), after: change.text.clone(), breach })
        }
        _ => None,
    };
    all.iter().filter(|change| change.law == like.law).find_map(shows)
}
