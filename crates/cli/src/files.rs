//! Files as they are named on a command line: each by itself, or all that a folder has.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use laxity_scenario::diagnostic::{Diagnostic, Diagnostics};
use laxity_scenario::files::{Disk, Files, LARGEST, Opened, read_text};
use laxity_scenario::profile::Profile;
use laxity_scenario::{PointIndex, Scenario};
use laxity_service::NodeFile;
use laxity_service::network::NodeNetwork;
use laxity_units::Bytes;
use laxity_world::text::clean;

use crate::arguments::Settings;
use crate::terminal::Terminal;

/// The files that are meant: a folder stands for those that end in `.toml` right in it, in the
/// order of their names.
pub(crate) fn named(files: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut all = Vec::new();
    for file in files {
        if !file.is_dir() {
            // The reader of the file reports the error.
            all.push(file.clone());
            continue;
        }
        let shown = clean(&file.display().to_string());
        let (inside, folders) = of_folder(file).map_err(|error| format!("{shown}: {error}"))?;
        if inside.is_empty() {
            let advice = match folders.as_slice() {
                [] => "name a file, or a folder with some".to_string(),
                folders => format!("folders in it are {}", clean(&folders.join(", "))),
            };
            return Err(format!("{shown}: no file in this folder ends in .toml; {advice}"));
        }
        all.extend(inside);
    }
    Ok(all)
}

/// The files of a folder that end in `.toml`, and the names of the folders in it.
fn of_folder(folder: &Path) -> io::Result<(Vec<PathBuf>, Vec<String>)> {
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        match () {
            // An editor's, or the system's.
            () if name.starts_with('.') => {}
            () if path.is_dir() => folders.push(name),
            () if name.ends_with(".toml") => files.push(path),
            () => {}
        }
    }
    files.sort();
    folders.sort();
    Ok((files, folders))
}

/// The name under which a scenario from standard input is known.
const STDIN: &str = "stdin";

/// The files of this machine, and what standard input had.
struct WithInput(Vec<u8>);

impl Files for WithInput {
    fn open(&self, path: &Path) -> io::Result<Opened<'_>> {
        match path == Path::new(STDIN) {
            true => Ok(Opened { length: Some(self.0.len() as u64), bytes: Box::new(self.0.as_slice()) }),
            false => Disk.open(path),
        }
    }
}

/// Reads the scenario at `path`, or from standard input if that is `-`, with what `settings` change.
/// Relative names in a scenario from standard input start at the current directory.
pub(crate) fn load(path: &Path, settings: &Settings) -> Result<Scenario, Diagnostics> {
    let edits = settings.edits();
    if path != Path::new("-") {
        let another = |diagnostics| another_kind(path).map_or(diagnostics, Diagnostics::from);
        return laxity_lab::edited(path, &Disk, &edits).map_err(another);
    }
    let mut bytes = Vec::new();
    // One byte more than a scenario may have: the reader refuses it.
    io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| {
        Diagnostics::from(Diagnostic::of_file(STDIN, format!("it cannot be read: {error}")))
    })?;
    laxity_lab::edited(Path::new(STDIN), &WithInput(bytes), &edits)
}

/// The point of that number, or why there is none.
pub(crate) fn point(scenario: &Scenario, number: usize) -> Result<PointIndex, String> {
    scenario
        .points()
        .nth(number)
        .ok_or_else(|| format!("there is no point {number}; valid is 0 to {}", scenario.points().count() - 1))
}

/// The scenario at `path` with what `settings` change, and its point of that number; `None` after an error
/// is shown.
pub(crate) fn scenario_at(
    path: &Path,
    settings: &Settings,
    number: usize,
    terminal: &Terminal,
) -> Option<(Scenario, PointIndex)> {
    let scenario = load(path, settings)
        .map_err(|diagnostics| terminal.note(&diagnostics.render(terminal.error_colour())))
        .ok()?;
    let point = point(&scenario, number).map_err(|reason| terminal.error(&reason)).ok()?;
    Some((scenario, point))
}

/// The bytes of the file at `path`, of which there may be `most`, or why they are not to be had.
pub(crate) fn bytes(path: &Path, most: Bytes) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(most.get() + 1).read_to_end(&mut bytes));
    match read {
        Err(error) => Err(format!("it cannot be read: {error}")),
        Ok(_) if bytes.len() as u64 > most.get() => Err(format!("it is larger than {most}")),
        Ok(_) => Ok(bytes),
    }
}

/// What the file at `path` is, if it is another file of Laxity than a scenario.
fn another_kind(path: &Path) -> Option<Diagnostic> {
    let source = read_text(&Disk, path, "a scenario").ok()?;
    let (what, help) = if NodeNetwork::is_one(source.text()) {
        ("a network of node files", "`laxity run` and `laxity compare` read it")
    } else if NodeFile::is_one(source.text()) {
        ("the file of a node", "`laxity serve` reads it")
    } else if Profile::load(&Disk, path).is_ok() {
        ("a profile of the costs of a host", "name it in a scenario: `[host] profile = \"…\"`")
    } else {
        return None;
    };
    Some(Diagnostic::of_file(source.name(), format!("it is {what}, and no scenario")).help(help))
}
