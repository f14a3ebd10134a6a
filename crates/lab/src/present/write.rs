//! The only file here that touches a disk.
//!
//! A directory that holds half of an outcome and looks like all of it is worse than none. Everything is
//! rendered first, then written and synced into a hidden sibling of the target, which takes the target's
//! name last. An earlier outcome steps aside for the one moment between two renames and is put back if the
//! second fails. What others put into it (a trace, notes) is carried over; only what this module writes is
//! replaced, and a directory that is not an earlier outcome is refused.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{FigureSpec, figure, json, parquet, report};
use crate::results::{Results, Verdict};

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The directory that holds it all.
    pub directory: PathBuf,
    /// Every file, the report first.
    pub files: Vec<PathBuf>,
}

const REPORT: &str = "report.html";
const JSON: &str = "results.json";
const PARQUET: &str = "results.parquet";
const FIGURES: &str = "figures";

/// Writes `report.html`, `results.json`, `results.parquet` and `figures/*.svg` into the directory `dir`,
/// all or nothing; figures that suit the results if `figures` is empty.
///
/// # Errors
///
/// [`io::ErrorKind::InvalidInput`] if a figure names what the results have not,
/// [`io::ErrorKind::AlreadyExists`] if `dir` exists and is neither empty nor an earlier outcome, otherwise
/// what the file system says. `dir` is then as it was.
pub fn write_all(
    dir: &Path,
    results: &Results,
    verdicts: &[Verdict],
    figures: &[FigureSpec],
) -> io::Result<Written> {
    let defaults;
    let figures = if figures.is_empty() {
        defaults = figure::defaults(results);
        &defaults
    } else {
        figures
    };
    let mut files = vec![
        (PathBuf::from(REPORT), report::html(results, verdicts, figures)?.into_bytes()),
        (PathBuf::from(JSON), json::text(results, verdicts).into_bytes()),
        (PathBuf::from(PARQUET), parquet::bytes(results)?),
    ];
    let mut taken = BTreeSet::new();
    for spec in figures {
        let name = file_name(&spec.name(), &mut taken);
        let svg = figure::svg(results, spec).map_err(super::Error::from)?;
        files.push((Path::new(FIGURES).join(name), svg.into_bytes()));
    }

    // A link to a directory stays a link: what it points to is replaced.
    let target = match fs::canonicalize(dir) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => std::path::absolute(dir)?,
        Err(error) => return Err(error),
    };
    refuse_foreign(&target)?;
    let parent = target.parent().ok_or_else(|| io::Error::other("a root directory cannot be replaced"))?;
    fs::create_dir_all(parent)?;
    let fresh = Temporary::beside(&target, "partial")?;
    if !taken.is_empty() {
        fs::create_dir(fresh.path.join(FIGURES))?;
    }
    for (name, bytes) in &files {
        let mut file = fs::File::create_new(fresh.path.join(name))?;
        file.write_all(bytes)?;
        file.sync_all()?;
    }
    replace(fresh, &target)?;
    Ok(Written { files: files.iter().map(|(name, _)| target.join(name)).collect(), directory: target })
}

fn refuse_foreign(target: &Path) -> io::Result<()> {
    let mut entries = match fs::read_dir(target) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if entries.next().is_none() || target.join(JSON).is_file() {
        return Ok(());
    }
    let reason = format!("{} exists and is not the outcome of an earlier run", target.display());
    Err(io::Error::new(io::ErrorKind::AlreadyExists, reason))
}

/// Gives `fresh` the name `target`.
fn replace(mut fresh: Temporary, target: &Path) -> io::Result<()> {
    if !target.exists() {
        fs::rename(&fresh.path, target)?;
        fresh.keep();
        return Ok(());
    }
    let mut old = Temporary::beside(target, "replaced")?;
    let earlier = old.path.join("earlier");
    // From here on the old one is all there is: nothing may delete it before the new one is in place.
    old.keep();
    fs::rename(target, &earlier)?;
    if let Err(error) = fs::rename(&fresh.path, target) {
        fs::rename(&earlier, target)?;
        fs::remove_dir(&old.path)?;
        return Err(error);
    }
    fresh.keep();
    carry_over(&earlier, target)?;
    fs::remove_dir_all(&old.path)
}

/// Moves what this module does not write from the earlier directory into the new one.
fn carry_over(earlier: &Path, target: &Path) -> io::Result<()> {
    for entry in fs::read_dir(earlier)? {
        let name = entry?.file_name();
        let ours = [REPORT, JSON, PARQUET, FIGURES].iter().any(|own| name == *own);
        if !ours && !target.join(&name).exists() {
            fs::rename(earlier.join(&name), target.join(&name))?;
        }
    }
    let figures = earlier.join(FIGURES);
    if !figures.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(&figures)? {
        let name = entry?.file_name();
        let svg = Path::new(&name).extension().is_some_and(|ending| ending == "svg");
        if !svg {
            fs::create_dir_all(target.join(FIGURES))?;
            fs::rename(figures.join(&name), target.join(FIGURES).join(&name))?;
        }
    }
    Ok(())
}

/// A directory that goes away unless it is kept.
struct Temporary {
    path: PathBuf,
    kept: bool,
}

impl Temporary {
    /// A new directory beside `target`, hidden; runs into the same target do not share it.
    fn beside(target: &Path, what: &str) -> io::Result<Self> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        for n in 0..1000 {
            let path = target.with_file_name(format!(".{name}.{what}-{n}"));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path, kept: false }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other(format!("too many unfinished runs beside {}", target.display())))
    }

    fn keep(&mut self) {
        self.kept = true;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.kept {
            // Nobody is left to tell; a hidden directory stays behind at worst.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// A name that is one file in one directory whatever a scenario says, and that no other figure has.
fn file_name(name: &str, taken: &mut BTreeSet<String>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let base: String = name.chars().take(80).map(plain).collect();
    let base = base.trim_start_matches('.');
    let base = if base.is_empty() { "figure" } else { base };
    let mut free = format!("{base}.svg");
    let mut n = 2;
    // Some file systems do not tell capitals apart.
    while !taken.insert(free.to_ascii_lowercase()) {
        free = format!("{base}-{n}.svg");
        n += 1;
    }
    free
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    /// A directory of the test's own, gone afterwards.
    fn scratch(name: &str) -> Temporary {
        let target = std::env::temp_dir().join(format!("laxity-present-{name}-{}", std::process::id()));
        Temporary::beside(&target, "test").unwrap()
    }

    #[test]
    fn a_run_leaves_all_files_and_no_temporary() {
        let scratch = scratch("all");
        let dir = scratch.path.join("out/s5");
        let written = write_all(&dir, &sample::sweep(), &sample::verdicts(), &[]).unwrap();
        assert!(written.files.iter().all(|file| file.is_file()));
        assert!(written.files.len() > 5, "{:?}", written.files);
        assert_eq!(fs::read_dir(dir.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn an_earlier_outcome_is_replaced_and_notes_survive() {
        let scratch = scratch("again");
        let dir = scratch.path.join("s5");
        write_all(&dir, &sample::sweep(), &[], &[]).unwrap();
        fs::write(dir.join("notes.txt"), "mine").unwrap();
        fs::write(dir.join("figures/stale.svg"), "old").unwrap();
        write_all(&dir, &sample::single(), &[], &[]).unwrap();
        assert_eq!(fs::read_to_string(dir.join("notes.txt")).unwrap(), "mine");
        assert!(!dir.join("figures/stale.svg").exists());
        assert!(!dir.join("figures/throughput-over-load.svg").exists());
        assert_eq!(fs::read_dir(&scratch.path).unwrap().count(), 1);
    }

    #[test]
    fn a_foreign_directory_is_refused_and_left_alone() {
        let scratch = scratch("foreign");
        fs::write(scratch.path.join("thesis.tex"), "years").unwrap();
        let error = write_all(&scratch.path, &sample::sweep(), &[], &[]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert!(scratch.path.join("thesis.tex").is_file());
    }

    #[test]
    fn a_bad_figure_leaves_the_earlier_outcome() {
        let scratch = scratch("bad");
        let dir = scratch.path.join("s5");
        write_all(&dir, &sample::sweep(), &[], &[]).unwrap();
        let bad = FigureSpec::new("lod", "throughput".parse().unwrap());
        let error = write_all(&dir, &sample::sweep(), &[], &[bad]).unwrap_err();
        assert!(error.to_string().contains("there is load"), "{error}");
        assert!(dir.join("report.html").is_file());
    }

    #[test]
    fn names_stay_in_their_directory() {
        let mut taken = BTreeSet::new();
        assert_eq!(file_name("../../etc/passwd", &mut taken), "-..-etc-passwd.svg");
        assert_eq!(file_name("Load", &mut taken), "Load.svg");
        assert_eq!(file_name("load", &mut taken), "load-2.svg");
        assert_eq!(file_name("..", &mut taken), "figure.svg");
    }
}
