//! Points that have run, kept in the workplace beside the directory of results.
//!
//! They stand there and not inside, because the directory of results is replaced as a whole. A
//! point is one file, complete from the moment it has its name; what cannot be read counts as not
//! there. The files are not synchronised with the disk: a point that a crash of the machine left
//! cut off is no JSON, and runs again.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use laxity_report::output::{self, Workplace};
use laxity_world::results::Run;

/// The kept points of one directory of results.
#[derive(Debug)]
pub(super) struct Store {
    directory: PathBuf,
    /// How many have been begun: points that are alike may run at the same time, and each is
    /// written to a file of its own.
    begun: AtomicU64,
}

impl Store {
    /// The store of a workplace: `results/.s5.laxity/points` for `results/s5`.
    pub(super) fn of(place: &Workplace) -> io::Result<Store> {
        Ok(Store { directory: place.directory("points")?, begun: AtomicU64::new(0) })
    }

    fn path(&self, key: &str) -> PathBuf {
        self.directory.join(format!("{key}.json"))
    }

    /// The stored run of that key, if it is complete.
    pub(super) fn load(&self, key: &str) -> Option<Run> {
        serde_json::from_slice(&fs::read(self.path(key)).ok()?).ok()
    }

    /// Keeps a run.
    pub(super) fn save(&self, key: &str, run: &Run) -> Result<(), output::OutputError> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        let temporary = self.directory.join(format!("{key}.{number}.tmp"));
        let written = fs::File::create(&temporary).and_then(|mut file| {
            file.write_all(&serde_json::to_vec(run)?)?;
            fs::rename(&temporary, self.path(key))
        });
        written.map_err(|error| {
            drop(fs::remove_file(&temporary));
            output::OutputError::Failed { path: self.path(key), error }
        })
    }

    /// Removes all other points and partial files. A failure is harmless.
    pub(super) fn keep_only<'a>(&self, keys: impl Iterator<Item = &'a str>) {
        let wanted: BTreeSet<PathBuf> = keys.map(|key| self.path(key)).collect();
        for entry in fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let ours = path.extension().is_some_and(|ending| ending == "json" || ending == "tmp");
            if ours && !wanted.contains(&path) {
                drop(fs::remove_file(path));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    /// Two points of a sweep are equal, `1 Gbit/s` and `1000 Mbit/s`, and run at the same time.
    #[test]
    fn points_that_are_alike_are_kept_at_the_same_time() {
        let folder = Scratch::new("store");
        let store = Store { directory: folder.0.clone(), begun: AtomicU64::new(0) };
        let run = Run::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50).for_each(|_| store.save("point", &run).expect("it is kept")));
            }
        });
        assert_eq!(store.load("point"), Some(run));
        store.keep_only(["point"].into_iter());
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    }
}
