//! Points that have run, kept beside the directory of results.
//!
//! They stand in a hidden sibling and not inside, because the directory of results is replaced as a whole.
//! A point is one file, complete from the moment it has its name; what cannot be read counts as not there.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::results::Run;

/// The kept points of one directory of results.
#[derive(Debug)]
pub(super) struct Store {
    directory: PathBuf,
}

impl Store {
    /// The store that belongs to the directory of results `out`: `results/.s5.points` to `results/s5`.
    pub(super) fn beside(out: &Path) -> io::Result<Store> {
        let out = std::path::absolute(out)?;
        let name = out.file_name().ok_or_else(|| io::Error::other("a root directory cannot hold results"))?;
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(".points");
        let directory = out.with_file_name(hidden);
        fs::create_dir_all(&directory)?;
        Ok(Store { directory })
    }

    fn path(&self, key: &str) -> PathBuf {
        self.directory.join(format!("{key}.json"))
    }

    /// The run of that key, if it was kept and is whole.
    pub(super) fn load(&self, key: &str) -> Option<Run> {
        serde_json::from_slice(&fs::read(self.path(key)).ok()?).ok()
    }

    /// Keeps a run.
    pub(super) fn save(&self, key: &str, run: &Run) -> io::Result<()> {
        // Another process may be at the same point; each writes a file of its own, and the last name counts.
        let temporary = self.directory.join(format!("{key}.{}.tmp", std::process::id()));
        let written = fs::File::create(&temporary).and_then(|mut file| {
            file.write_all(&serde_json::to_vec(run)?)?;
            file.sync_all()?;
            fs::rename(&temporary, self.path(key))
        });
        written.inspect_err(|_| drop(fs::remove_file(&temporary)))
    }

    /// Forgets all other points and whatever was left half written. Failing to is no harm.
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
