//! An outcome on disk.
//!
//! A directory that holds half of an outcome and looks complete is worse than none. Everything is
//! rendered first, then written and synced in the workplace beside the target, and renamed to the
//! target at the end. An earlier outcome is moved aside between the two renames and put back if the
//! second fails. Other files in it (a trace, notes, a user's drawing) are carried over; only files
//! that Laxity wrote are replaced, and a directory that is not an earlier outcome is refused.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use laxity_scenario::figure::FigureSpec;
use laxity_world::results::{Results, Verdict};

use super::{Stamp, csv, figure, json, junit, parquet, report, stamp};
use crate::output::{self, FileKind, OutputError, Workplace};

/// The files that were written.
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
const CSV: &str = "results.csv";
const JUNIT: &str = "junit.xml";
const STAMP: &str = "run.json";
const FIGURES: &str = "figures";

/// The files that are replaced as a whole, and the kind by which each is recognised.
const FILES: [(&str, FileKind); 6] = [
    (REPORT, FileKind::Report),
    (JSON, FileKind::Results),
    (PARQUET, FileKind::Rows),
    (CSV, FileKind::Table),
    (JUNIT, FileKind::Cases),
    (STAMP, FileKind::Stamp),
];

/// The facts about an outcome beside its results.
#[derive(Debug, Clone, Copy)]
pub struct Making<'a> {
    /// The files that were read for it; they are never replaced.
    pub inputs: &'a [PathBuf],
    /// The program that makes it, and when.
    pub stamp: &'a Stamp,
    /// How many points an earlier run had run.
    pub kept: usize,
    /// The drawing of its network, if there is one: [`network::svg`](super::network::svg).
    pub network: Option<&'a str>,
}

/// Writes `report.html`, `results.json`, `results.parquet`, `results.csv`, `junit.xml`, `run.json`
/// and `figures/*.svg` into the directory of results of `place`, all or none. If `figures` is empty,
/// the default figures of the results are written.
///
/// # Errors
///
/// [`PresentError::Refused`] if the directory exists and is neither empty nor an earlier outcome, or a
/// file in it that would be replaced is not ours; [`PresentError::Failed`] if a figure names an axis or
/// metric that the results do not have, or if the file system fails. The directory is then as it
/// was.
pub fn write_all(
    place: &Workplace,
    making: Making<'_>,
    results: &Results,
    verdicts: &[Verdict],
    figures: &[FigureSpec],
) -> Result<Written, OutputError> {
    let target = place.target();
    let failed = |error: io::Error| OutputError::failed(target, error);
    let files = rendered(making, results, verdicts, figures).map_err(failed)?;
    settle(place).map_err(failed)?;
    check_target(target, making.inputs)?;
    for (name, _) in &files {
        if name.starts_with(FIGURES) {
            output::check(&target.join(name), FileKind::Drawing, making.inputs)?;
        }
    }
    let fresh = place.path("partial");
    let written = write_and_replace(place, &fresh, &files);
    if written.is_err() {
        // The disk may be full of just this.
        drop(fs::remove_dir_all(&fresh));
    }
    written.map_err(failed)?;
    let files = files.iter().map(|(name, _)| target.join(name)).collect();
    Ok(Written { files, directory: target.to_path_buf() })
}

/// Whether results can be written into the directory `out`; asked before any work is done for them.
///
/// # Errors
///
/// [`PresentError::Refused`] if it exists and is neither empty nor an earlier outcome, or one of its files
/// is one of the `inputs` or not ours.
pub fn check_target(out: &Path, inputs: &[PathBuf]) -> Result<(), OutputError> {
    let target = output::target(out)?;
    let mut entries = match fs::read_dir(&target) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(OutputError::failed(out, error)),
    };
    if entries.next().is_none() {
        return Ok(());
    }
    if !target.join(JSON).is_file() {
        let reason = "exists and is not the outcome of an earlier run; valid is a new or an empty directory, or one \
                      that `laxity run` wrote";
        return Err(OutputError::refused(out, reason));
    }
    for (name, kind) in FILES {
        output::check(&target.join(name), kind, inputs)?;
    }
    match fs::symlink_metadata(target.join(FIGURES)) {
        Ok(metadata) if !metadata.is_dir() => Err(OutputError::refused(
            &target.join(FIGURES),
            "is no directory, and figures would be written there",
        )),
        _ => Ok(()),
    }
}

/// Every file's name and bytes, the report first.
fn rendered(
    making: Making<'_>,
    results: &Results,
    verdicts: &[Verdict],
    figures: &[FigureSpec],
) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let defaults;
    let figures = if figures.is_empty() {
        defaults = figure::defaults(results);
        &defaults
    } else {
        figures
    };
    let mut files = vec![
        (
            PathBuf::from(REPORT),
            report::html(results, verdicts, figures, making.network, making.stamp)?.into_bytes(),
        ),
        (PathBuf::from(JSON), json::text(results, verdicts).into_bytes()),
        (PathBuf::from(PARQUET), parquet::bytes(results)?),
        (PathBuf::from(CSV), csv::text(results).into_bytes()),
        (PathBuf::from(JUNIT), junit::text(results, verdicts).into_bytes()),
        (PathBuf::from(STAMP), stamp::text(making.stamp, making.kept, results.runs.len()).into_bytes()),
    ];
    let mut taken = BTreeSet::new();
    for spec in figures {
        let name = file_name(&spec.name(), &mut taken);
        let svg = figure::svg(results, spec).map_err(super::PresentError::from)?;
        files.push((Path::new(FIGURES).join(name), svg.into_bytes()));
    }
    Ok(files)
}

fn write_and_replace(place: &Workplace, fresh: &Path, files: &[(PathBuf, Vec<u8>)]) -> io::Result<()> {
    // An earlier run left it unfinished, and this run holds the lock.
    remove(fresh)?;
    fs::create_dir(fresh)?;
    if files.iter().any(|(name, _)| name.starts_with(FIGURES)) {
        fs::create_dir(fresh.join(FIGURES))?;
    }
    for (name, bytes) in files {
        let mut file = fs::File::create_new(fresh.join(name))?;
        file.write_all(bytes)?;
        file.sync_all()?;
    }
    let (target, earlier) = (place.target(), place.path("earlier"));
    if !target.exists() {
        return fs::rename(fresh, target);
    }
    fs::rename(target, &earlier)?;
    if let Err(error) = fs::rename(fresh, target) {
        fs::rename(&earlier, target)?;
        return Err(error);
    }
    carry_over(&earlier, target)?;
    fs::remove_dir_all(&earlier)
}

/// Completes the work of a run that was killed between two renames.
fn settle(place: &Workplace) -> io::Result<()> {
    let (target, earlier) = (place.target(), place.path("earlier"));
    if !earlier.is_dir() {
        return Ok(());
    }
    if !target.exists() {
        return fs::rename(&earlier, target);
    }
    carry_over(&earlier, target)?;
    fs::remove_dir_all(&earlier)
}

fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Moves files that Laxity did not write from the earlier directory into the new one.
fn carry_over(earlier: &Path, target: &Path) -> io::Result<()> {
    for entry in fs::read_dir(earlier)? {
        let name = entry?.file_name();
        let ours = name == FIGURES || FILES.iter().any(|(own, _)| name == *own);
        if !ours && !target.join(&name).exists() {
            fs::rename(earlier.join(&name), target.join(&name))?;
        }
    }
    let figures = earlier.join(FIGURES);
    if !figures.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(&figures)? {
        let path = entry?.path();
        let ours = fs::symlink_metadata(&path)?.is_file() && FileKind::Drawing.wrote(&path)?;
        if let Some(name) = path.file_name().filter(|_| !ours) {
            fs::create_dir_all(target.join(FIGURES))?;
            fs::rename(&path, target.join(FIGURES).join(name))?;
        }
    }
    Ok(())
}

/// A single valid file name, for any name in a scenario, that no other figure has.
fn file_name(name: &str, taken: &mut BTreeSet<String>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let base: String = name.chars().take(80).map(plain).collect();
    let base = base.trim_start_matches('.');
    let base = if base.is_empty() { "figure" } else { base };
    let mut free = format!("{base}.svg");
    let mut n = 2;
    // Some file systems do not distinguish capitals.
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
    use crate::output::tests::Scratch;

    fn write(dir: &Path, results: &Results, figures: &[FigureSpec]) -> Result<Written, OutputError> {
        let place = Workplace::take(dir, &mut || ()).unwrap();
        let making = Making { inputs: &[], stamp: &Stamp::default(), kept: 0, network: None };
        write_all(&place, making, results, &sample::verdicts(), figures)
    }

    fn refusal(dir: &Path) -> String {
        match write(dir, &sample::sweep(), &[]) {
            Err(error @ OutputError::Refused { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_run_leaves_all_files_and_no_draft() {
        let scratch = Scratch::new("all");
        let dir = scratch.0.join("out/s5");
        let written = write(&dir, &sample::sweep(), &[]).unwrap();
        assert!(written.files.iter().all(|file| file.is_file()));
        assert!(written.files.len() > 5, "{:?}", written.files);
        let beside: Vec<_> = fs::read_dir(scratch.0.join("out/.s5.laxity")).unwrap().collect();
        assert_eq!(beside.len(), 1, "{beside:?}");
    }

    #[test]
    fn an_earlier_outcome_is_replaced_and_what_others_put_there_survives() {
        let scratch = Scratch::new("again");
        let dir = scratch.0.join("s5");
        write(&dir, &sample::sweep(), &[]).unwrap();
        fs::write(dir.join("notes.txt"), "mine").unwrap();
        fs::copy(dir.join("figures/throughput-over-load.svg"), dir.join("figures/stale.svg")).unwrap();
        fs::write(dir.join("figures/mine.svg"), "<svg xmlns=\"http://www.w3.org/2000/svg\"/>").unwrap();
        write(&dir, &sample::single(), &[]).unwrap();
        assert_eq!(fs::read_to_string(dir.join("notes.txt")).unwrap(), "mine");
        assert!(dir.join("figures/mine.svg").exists());
        assert!(!dir.join("figures/stale.svg").exists());
        assert!(!dir.join("figures/throughput-over-load.svg").exists());
    }

    #[test]
    fn what_others_wrote_is_refused_and_left_alone() {
        let scratch = Scratch::new("foreign");
        let dir = scratch.0.join("thesis");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("thesis.tex"), "years").unwrap();
        assert!(refusal(&dir).contains("not the outcome of an earlier run"));
        fs::write(dir.join("results.json"), "{\"results\": [1, 2, 3]}").unwrap();
        assert!(refusal(&dir).contains("results.json exists, and Laxity did not write it"));
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 2);
        let dir = scratch.0.join("s5");
        write(&dir, &sample::sweep(), &[]).unwrap();
        fs::write(dir.join("report.html"), "<p>my own words on it").unwrap();
        assert!(refusal(&dir).contains("report.html exists"));
        fs::remove_file(dir.join("report.html")).unwrap();
        fs::write(dir.join("figures/throughput-over-load.svg"), "<svg/>").unwrap();
        assert!(refusal(&dir).contains("throughput-over-load.svg exists"));
        assert_eq!(fs::read_to_string(dir.join("figures/throughput-over-load.svg")).unwrap(), "<svg/>");
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_or_taken_through_a_link() {
        let scratch = Scratch::new("through");
        let (dir, elsewhere) = (scratch.0.join("s5"), scratch.0.join("elsewhere"));
        write(&dir, &sample::sweep(), &[]).unwrap();
        fs::rename(dir.join("figures"), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, dir.join("figures")).unwrap();
        let before = fs::read_dir(&elsewhere).unwrap().count();
        assert!(refusal(&dir).contains("figures is no directory"));
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), before);
        // The directory itself may be one: what it points to is replaced.
        let link = scratch.0.join("link");
        std::os::unix::fs::symlink(scratch.0.join("real"), &link).unwrap();
        assert!(Workplace::take(&link, &mut || ()).unwrap_err().to_string().contains("is a link to nothing"));
        fs::create_dir(scratch.0.join("real")).unwrap();
        write(&link, &sample::sweep(), &[]).unwrap();
        assert!(
            fs::symlink_metadata(&link).unwrap().is_symlink() && scratch.0.join("real/report.html").is_file()
        );
    }

    #[test]
    fn what_a_killed_run_left_is_put_right() {
        let scratch = Scratch::new("killed");
        let dir = scratch.0.join("s5");
        write(&dir, &sample::sweep(), &[]).unwrap();
        fs::write(dir.join("notes.txt"), "mine").unwrap();
        let beside = scratch.0.join(".s5.laxity");
        // Killed between the two renames; and in the middle of writing, another time.
        fs::rename(&dir, beside.join("earlier")).unwrap();
        fs::create_dir(beside.join("partial")).unwrap();
        fs::write(beside.join("partial/results.json"), "{").unwrap();
        write(&dir, &sample::sweep(), &[]).unwrap();
        assert_eq!(fs::read_to_string(dir.join("notes.txt")).unwrap(), "mine");
        assert_eq!(fs::read_dir(&beside).unwrap().count(), 1);
    }

    #[test]
    fn a_bad_figure_leaves_the_earlier_outcome() {
        let scratch = Scratch::new("bad");
        let dir = scratch.0.join("s5");
        write(&dir, &sample::sweep(), &[]).unwrap();
        let bad = FigureSpec::new("lod", "throughput".parse().unwrap());
        let error = write(&dir, &sample::sweep(), &[bad]).unwrap_err();
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
