//! Ownership of the system resources that a run makes.
//!
//! A network namespace outlives the process that made it. A crashed run leaves it behind, and
//! cleaning up by name alone could remove a namespace of a user or of another run. Every run
//! therefore keeps a record of its resources, and a lock on the record while it lives; the kernel
//! releases the lock however the process ends. A record with a free lock belongs to a dead run, and
//! its entries are removed.
//!
//! ```text
//! /run/laxity/lock        held for the moments in which records are made or swept
//! /run/laxity/1234.0.run  locked by the living run; a line per namespace: name, device and inode; and per socket: its path
//! ```
//!
//! The file of a socket is removed if no process listens on it, whatever its inode is.
//!
//! A line is written before the namespace is named, and has the namespace's inode: neither a crash
//! in between nor a user's namespace of the same name misleads the sweep.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::fcntl::{Flock, FlockArg};

/// Directory for records: `/run/laxity`, or the user's own if that is not writable.
pub(crate) fn directory() -> io::Result<PathBuf> {
    let system = PathBuf::from("/run/laxity");
    let made = fs::create_dir_all(&system).and_then(|()| {
        let probe = system.join("lock");
        OpenOptions::new().create(true).append(true).open(probe).map(drop)
    });
    match (made, env::var_os("XDG_RUNTIME_DIR")) {
        (Ok(()), _) => Ok(system),
        (Err(_), Some(own)) => {
            let own = PathBuf::from(own).join("laxity");
            fs::create_dir_all(&own)?;
            Ok(own)
        }
        (Err(why), None) => Err(why),
    }
}

fn locked(file: File, how: FlockArg) -> io::Result<Flock<File>> {
    Flock::lock(file, how).map_err(|(_, why)| why.into())
}

#[derive(Debug)]
pub(crate) struct Record {
    directory: PathBuf,
    path: PathBuf,
    file: Flock<File>,
    /// Whether the record is left for the next run's sweep.
    kept: bool,
}

impl Record {
    /// Passes every line of every dead run in `directory` to `remove`, then creates a record for
    /// this run.
    ///
    /// A dead run's record stays if one of its lines could not be removed.
    pub(crate) fn claim(
        directory: &Path,
        mut remove: impl FnMut(&str) -> io::Result<()>,
    ) -> io::Result<Self> {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let _turn = turn(directory)?;
        let mut entries: Vec<PathBuf> =
            fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        entries.sort();
        for path in entries.iter().filter(|path| path.extension().is_some_and(|ending| ending == "run")) {
            let opened = OpenOptions::new().read(true).write(true).open(path);
            let Ok(mut dead) = opened.and_then(|file| locked(file, FlockArg::LockExclusiveNonblock)) else {
                continue;
            };
            let mut lines = String::new();
            dead.read_to_string(&mut lines)?;
            // An incomplete line is of a run that died while writing it, before it made the
            // resource.
            let whole = lines.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
            if whole.map(&mut remove).filter(Result::is_err).count() == 0 {
                fs::remove_file(path)?;
            }
        }
        let (path, file) = loop {
            let run = RUNS.fetch_add(1, Ordering::Relaxed);
            let path = directory.join(format!("{}.{run}.run", std::process::id()));
            match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => break (path, file),
                // Record of a dead run with our process number, with an entry that could not be
                // removed.
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
                Err(why) => return Err(why),
            }
        };
        // This run holds the directory's lock, so no other run sees the record before it is locked.
        let file = locked(file, FlockArg::LockExclusiveNonblock)?;
        Ok(Self { directory: directory.to_owned(), path, file, kept: false })
    }

    /// Writes `line`, then calls `make`; removes the line if that fails.
    pub(crate) fn making<T>(&mut self, line: &str, make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let end = self.file.seek(io::SeekFrom::End(0))?;
        self.file.write_all(format!("{line}\n").as_bytes())?;
        let made = make();
        if made.is_err() {
            self.file.set_len(end)?;
        }
        made
    }

    /// Keeps the record, because an entry could not be removed.
    pub(crate) fn keep(&mut self) {
        self.kept = true;
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // Otherwise all entries are gone: each resource holds on to the record.
        if !self.kept
            && let Ok(_turn) = turn(&self.directory)
        {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn turn(directory: &Path) -> io::Result<Flock<File>> {
    let path = directory.join("lock");
    locked(OpenOptions::new().create(true).append(true).open(path)?, FlockArg::LockExclusive)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let directory = env::temp_dir().join(format!("laxity-{name}-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        directory
    }

    fn sweep(directory: &Path) -> Vec<String> {
        let mut lines = Vec::new();
        Record::claim(directory, |line| {
            lines.push(line.to_owned());
            Ok(())
        })
        .unwrap();
        lines
    }

    #[test]
    fn only_the_dead_are_swept_and_only_once() {
        let directory = scratch("sweep");
        let mut living = Record::claim(&directory, |_| Ok(())).unwrap();
        living.making("mine", || Ok(())).unwrap();
        assert!(living.making("not made", || Err::<(), _>(io::ErrorKind::AlreadyExists.into())).is_err());
        assert_eq!(fs::read_to_string(&living.path).unwrap(), "mine\n");
        fs::write(directory.join("1.0.run"), "left behind\nhalf a li").unwrap();
        assert_eq!(sweep(&directory), ["left behind"]);
        assert_eq!(sweep(&directory), [""; 0]);
        drop(living);
        let left: Vec<_> =
            fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["lock"]);
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_record_that_is_kept_is_left_to_the_next_run() {
        let directory = scratch("kept");
        let mut living = Record::claim(&directory, |_| Ok(())).unwrap();
        living.making("stuck", || Ok(())).unwrap();
        living.keep();
        assert_eq!(sweep(&directory), [""; 0]);
        drop(living);
        assert_eq!(sweep(&directory), ["stuck"]);
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn what_could_not_be_removed_is_tried_again() {
        let directory = scratch("again");
        fs::write(directory.join("1.0.run"), "stuck\n").unwrap();
        drop(Record::claim(&directory, |_| Err(io::ErrorKind::ResourceBusy.into())).unwrap());
        assert_eq!(sweep(&directory), ["stuck"]);
        fs::remove_dir_all(directory).unwrap();
    }
}
