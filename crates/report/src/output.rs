//! Output files that a user names, and the files that they may replace.
//!
//! A path on a command line is typed by hand, and a slip that names the scenario instead of the
//! trace must not destroy the scenario. So a path is written only if it does not exist, is an empty
//! file, or is a file that Laxity wrote ([`FileKind`] says how that is recognised). It is never written
//! through a link, nor to a device, a pipe or a file that this run reads. A list of files that
//! Laxity has written would not do: it can be lost, copied with a directory or be older than the
//! files. The file itself identifies its writer.
//!
//! A file appears whole or not at all: it grows under a temporary name beside the path, and is
//! renamed to the path at the end. A reader never sees a part of it, and the earlier file stays
//! until the rename.

mod kind;
mod workplace;

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

pub use kind::FileKind;
pub use workplace::Workplace;
pub(crate) use workplace::target;

/// Why something was not written.
#[derive(Debug)]
pub enum OutputError {
    /// The file at the path must not be replaced: the user named it by mistake.
    Refused {
        /// Where.
        path: PathBuf,
        /// The kind of file at the path, and what would be valid.
        reason: String,
    },
    /// The file system would not.
    Failed {
        /// Where.
        path: PathBuf,
        /// The error of the operation.
        error: io::Error,
    },
}

impl OutputError {
    /// The error that the file at `path` must not be replaced: `reason` says what it is, and what
    /// would be valid.
    pub fn refused(path: &Path, reason: impl Into<String>) -> Self {
        OutputError::Refused { path: path.to_path_buf(), reason: reason.into() }
    }

    /// The file system would not, at `path`.
    pub fn failed(path: &Path, error: io::Error) -> Self {
        OutputError::Failed { path: path.to_path_buf(), error }
    }
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OutputError::Refused { path, reason } => write!(f, "{} {reason}", path.display()),
            OutputError::Failed { path, error } => write!(f, "{} cannot be written: {error}", path.display()),
        }
    }
}

impl std::error::Error for OutputError {}

/// Whether a file of that `kind` may be written to `path` by a run that reads `inputs`; asked
/// before any work is done for it.
///
/// # Errors
///
/// [`OutputError::Refused`] with what stands there, [`OutputError::Failed`] if that cannot be found out.
pub fn check(path: &Path, kind: FileKind, inputs: &[PathBuf]) -> Result<(), OutputError> {
    let same = |input: &PathBuf| match (fs::canonicalize(path), fs::canonicalize(input)) {
        (Ok(path), Ok(input)) => path == input,
        _ => false,
    };
    let valid = format!("valid is a new file, or {} that Laxity wrote", kind.words());
    if path.file_name().is_none() {
        return Err(OutputError::refused(path, format!("is no file's name; {valid}")));
    }
    if inputs.iter().any(same) {
        return Err(OutputError::refused(path, format!("is read by this very command; {valid}")));
    }
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(OutputError::failed(path, error)),
    };
    let what = metadata.file_type();
    if what.is_symlink() {
        let to = fs::read_link(path).map(|to| format!(" to {}", to.display())).unwrap_or_default();
        return Err(OutputError::refused(path, format!("is a link{to}; name the file itself: {valid}")));
    }
    if what.is_dir() {
        return Err(OutputError::refused(path, format!("is a directory; {valid}")));
    }
    if !what.is_file() {
        return Err(OutputError::refused(path, format!("is a device, a pipe or a socket; {valid}")));
    }
    if metadata.len() == 0 || kind.wrote(path).map_err(|error| OutputError::failed(path, error))? {
        return Ok(());
    }
    Err(OutputError::refused(
        path,
        format!("exists, and Laxity did not write it as {}; {valid}", kind.words()),
    ))
}

/// An unfinished file: it has a temporary name until it is complete, and is removed if it never is.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    temporary: PathBuf,
    kind: FileKind,
    named: bool,
}

impl Draft {
    /// A new file for `path`, renamed to it by [`finish`](Self::finish); and the file to write to.
    ///
    /// # Errors
    ///
    /// As [`check`], and if the file cannot be made.
    pub fn begin(path: &Path, kind: FileKind, inputs: &[PathBuf]) -> Result<(Draft, File), OutputError> {
        check(path, kind, inputs)?;
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        // Two commands may write the same path; each has its own temporary file, and the last
        // rename wins.
        name.push(format!(".laxity-{}", std::process::id()));
        let temporary = path.with_file_name(name);
        let file = File::create_new(&temporary).map_err(|error| OutputError::failed(path, error))?;
        Ok((Draft { path: path.to_path_buf(), temporary, kind, named: false }, file))
    }

    /// Renames the file to its path; everything has been written to `file`.
    ///
    /// # Errors
    ///
    /// As [`check`], since another program may have written the path meanwhile; and if the disk is
    /// full.
    pub fn finish(self, file: &File) -> Result<(), OutputError> {
        file.sync_all().map_err(|error| OutputError::failed(&self.path, error))?;
        self.name()
    }

    /// Renames the file to its path at once, and lets it grow: for files that are useful even if
    /// truncated.
    ///
    /// # Errors
    ///
    /// As [`check`], since another program may have written the path meanwhile.
    pub fn name(mut self) -> Result<(), OutputError> {
        check(&self.path, self.kind, &[])?;
        fs::rename(&self.temporary, &self.path).map_err(|error| OutputError::failed(&self.path, error))?;
        self.named = true;
        Ok(())
    }

    /// The error of its path.
    pub fn failed(&self, error: io::Error) -> OutputError {
        OutputError::failed(&self.path, error)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.named {
            // No error can be reported here; at worst a hidden file stays behind.
            drop(fs::remove_file(&self.temporary));
        }
    }
}

/// Writes `bytes` to `path` as a whole.
///
/// # Errors
///
/// As [`check`], and errors of the file system.
pub fn write(path: &Path, kind: FileKind, inputs: &[PathBuf], bytes: &[u8]) -> Result<(), OutputError> {
    let (draft, mut file) = Draft::begin(path, kind, inputs)?;
    match io::Write::write_all(&mut file, bytes) {
        Ok(()) => draft.finish(&file),
        Err(error) => Err(draft.failed(error)),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A directory of the test's own, gone afterwards.
    pub(crate) struct Scratch(pub(crate) PathBuf);

    impl Scratch {
        pub(crate) fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("laxity-report-{name}-{}", std::process::id()));
            drop(fs::remove_dir_all(&path));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    const PROFILE: &[u8] = b"# Measured by `laxity calibrate`.\n";

    fn refusal(path: &Path, inputs: &[PathBuf]) -> String {
        match write(path, FileKind::Profile, inputs, PROFILE) {
            Err(error @ OutputError::Refused { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_laxity_wrote_is_replaced_and_nothing_else_is_left() {
        let scratch = Scratch::new("replaced");
        let path = scratch.0.join("host.toml");
        for more in ["", "title = \"again\"\n"] {
            let bytes = [PROFILE, more.as_bytes()].concat();
            write(&path, FileKind::Profile, &[], &bytes).unwrap();
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
        fs::write(&path, "").unwrap();
        write(&path, FileKind::Profile, &[], PROFILE).unwrap();
        assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 1);
    }

    #[test]
    fn what_others_wrote_is_refused_and_left_alone() {
        let scratch = Scratch::new("others");
        let path = scratch.0.join("host.toml");
        fs::write(&path, "title = \"years of work\"").unwrap();
        let said = refusal(&path, &[]);
        assert!(said.contains("host.toml exists") && said.contains("valid is a new file"), "{said}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "title = \"years of work\"");
        assert!(refusal(&scratch.0, &[]).contains("is a directory"));
        assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 1);
    }

    #[test]
    fn an_input_is_never_replaced_even_if_laxity_wrote_it() {
        let scratch = Scratch::new("input");
        let path = scratch.0.join("host.toml");
        write(&path, FileKind::Profile, &[], PROFILE).unwrap();
        let otherwise = scratch.0.join("../").join(scratch.0.file_name().unwrap()).join("host.toml");
        assert!(refusal(&path, &[otherwise]).contains("is read by this very command"));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_devices_are_refused() {
        let scratch = Scratch::new("links");
        let (real, link) = (scratch.0.join("real.toml"), scratch.0.join("link.toml"));
        write(&real, FileKind::Profile, &[], PROFILE).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(refusal(&link, &[]).contains("is a link to "));
        let dangling = scratch.0.join("dangling.toml");
        std::os::unix::fs::symlink(scratch.0.join("nowhere"), &dangling).unwrap();
        assert!(refusal(&dangling, &[]).contains("is a link to "));
        assert!(refusal(Path::new("/dev/null"), &[]).contains("is a device"));
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_failure_names_the_path_and_leaves_nothing() {
        let scratch = Scratch::new("failure");
        let path = scratch.0.join("no such directory/host.toml");
        let error = write(&path, FileKind::Profile, &[], PROFILE).unwrap_err();
        assert!(
            matches!(error, OutputError::Failed { .. })
                && error.to_string().contains("host.toml cannot be written")
        );
        let (draft, _) = Draft::begin(&scratch.0.join("host.toml"), FileKind::Profile, &[]).unwrap();
        drop(draft);
        assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 0);
    }
}
