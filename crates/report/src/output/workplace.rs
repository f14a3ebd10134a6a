//! A directory of results, and the hidden one beside it in which it is made.
//!
//! `results/s5` is made in `results/.s5.laxity`, on the same file system, so that a rename puts a
//! finished outcome in place:
//!
//! ```text
//! lock       held by the run that is at work here; others wait for it
//! points/    points of the sweep that have run
//! partial/   an outcome that is being written
//! earlier/   the outcome before, for the moment between two renames
//! ```
//!
//! One run holds the lock from its first point to its last file. Locks for each step would let two
//! runs go on side by side, but each run deletes the points that are not its own, and the second of
//! two runs of one file has no work left after the first. The lock is an operating-system lock on
//! an open file, so it ends with the process that held it.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::OutputError;

/// The entries that a workplace may have; a hidden directory with any other is not a workplace.
const OURS: [&str; 4] = ["lock", "points", "partial", "earlier"];

/// The workplace of one directory of results, held until dropped.
#[derive(Debug)]
pub struct Workplace {
    target: PathBuf,
    hidden: PathBuf,
    _lock: File,
}

impl Workplace {
    /// Takes the workplace of the directory of results `out`, whether or not `out` exists. If
    /// another run has it, calls `waiting` and waits.
    ///
    /// # Errors
    ///
    /// [`OutputError::Refused`] if `out` cannot be a directory of results, [`OutputError::Failed`] if the
    /// workplace cannot be written.
    pub fn take(out: &Path, waiting: &mut dyn FnMut()) -> Result<Workplace, OutputError> {
        let target = target(out)?;
        let mut name = OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(".laxity");
        let hidden = target.with_file_name(name);
        let failed = |error| OutputError::failed(out, error);
        refuse_foreign(&hidden).map_err(failed)??;
        fs::create_dir_all(&hidden).map_err(failed)?;
        let lock = File::options().create(true).truncate(false).write(true).open(hidden.join("lock"));
        let lock = lock.map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                waiting();
                lock.lock().map_err(failed)?;
            }
            // A file system without locks: other runs cannot be detected.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        Ok(Workplace { target, hidden, _lock: lock })
    }

    /// The directory of results, links resolved.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// A directory of the workplace, made if it is not there.
    pub fn directory(&self, name: &str) -> io::Result<PathBuf> {
        debug_assert!(OURS.contains(&name));
        let path = self.hidden.join(name);
        fs::create_dir_all(&path).map(|()| path)
    }

    /// The path of `name` in the workplace, which need not exist.
    pub fn path(&self, name: &str) -> PathBuf {
        debug_assert!(OURS.contains(&name));
        self.hidden.join(name)
    }
}

/// The directory that `out` names. A link to a directory stays a link: its target is replaced.
pub(crate) fn target(out: &Path) -> Result<PathBuf, OutputError> {
    let valid = "valid is a new directory, or one that `laxity run` wrote";
    let target = match fs::canonicalize(out) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if fs::symlink_metadata(out).is_ok() {
                return Err(OutputError::refused(out, format!("is a link to nothing; {valid}")));
            }
            std::path::absolute(out).map_err(|error| OutputError::failed(out, error))?
        }
        Err(error) => return Err(OutputError::failed(out, error)),
    };
    if target.file_name().is_none() {
        return Err(OutputError::refused(out, format!("cannot be replaced as a whole; {valid}")));
    }
    if fs::metadata(&target).is_ok_and(|metadata| !metadata.is_dir()) {
        return Err(OutputError::refused(out, format!("is no directory; {valid}")));
    }
    Ok(target)
}

/// Refuses a hidden directory that Laxity did not make.
fn refuse_foreign(hidden: &Path) -> io::Result<Result<(), OutputError>> {
    let metadata = match fs::symlink_metadata(hidden) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Ok(())),
        Err(error) => return Err(error),
    };
    let foreign = Err(OutputError::refused(hidden, "is in the way: Laxity works there and did not make it"));
    if !metadata.is_dir() {
        return Ok(foreign);
    }
    for entry in fs::read_dir(hidden)? {
        let name = entry?.file_name();
        if !OURS.iter().any(|own| name == *own) {
            return Ok(foreign);
        }
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::Scratch;
    use super::*;

    #[test]
    fn the_second_waits_for_the_first() {
        let scratch = Scratch::new("turns");
        let out = scratch.0.join("s5");
        let first = Workplace::take(&out, &mut || panic!("nobody else is here")).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        let second = std::thread::spawn({
            let out = out.clone();
            move || {
                let mut waited = false;
                let place = Workplace::take(&out, &mut || {
                    waited = true;
                    sender.send(()).unwrap();
                });
                place.map(|_| waited)
            }
        });
        receiver.recv().unwrap();
        assert!(!second.is_finished());
        drop(first);
        assert!(second.join().unwrap().unwrap());
    }

    #[test]
    fn what_can_be_no_directory_of_results_is_refused() {
        let scratch = Scratch::new("no-directory");
        let file = scratch.0.join("scenario.toml");
        fs::write(&file, "title").unwrap();
        let refused = |out: &Path| match Workplace::take(out, &mut || ()) {
            Err(error @ OutputError::Refused { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        };
        assert!(refused(&file).contains("is no directory"));
        assert!(refused(Path::new("/")).contains("cannot be replaced"));
        fs::create_dir(scratch.0.join(".s5.laxity")).unwrap();
        fs::write(scratch.0.join(".s5.laxity/diary"), "mine").unwrap();
        assert!(refused(&scratch.0.join("s5")).contains("is in the way"));
        assert!(matches!(Workplace::take(&file.join("s5"), &mut || ()), Err(OutputError::Failed { .. })));
    }
}
