//! An adapter's description where a scenario is expected: put into a scenario that tries it.
//!
//! The author of a description wants to know its promise before writing scenarios. So a file with
//! an `[adapter]` and no other part of an experiment is tried. The scenario of its name in a folder
//! `trials` beside it gives the load and the medium. It names an adapter by its `file`, and the
//! description takes that place. Without such a file the trial is [derived](derived) from the description.

mod derived;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use laxity_world::experiment::AdapterSpec;

use crate::adapter_file::AdapterFile;
use crate::claim::Unread;
use crate::diagnostic::{Diagnostic, Diagnostics, SourceText, shown};
use crate::document;
use crate::files::{Disk, Files, Opened, read_text, refusal};
use crate::raw::RawAdapterFile;
use crate::scenario::Scenario;
use crate::written::keys;

/// The scenario by which a description is tried.
pub(crate) struct Trial {
    /// The adapter in one line.
    pub(crate) of: String,
    /// The file beside which what the scenario names is looked for.
    pub(crate) path: PathBuf,
    /// The scenario, with the description as its adapter.
    pub(crate) source: Arc<SourceText>,
}

/// The trial of the description at `path` of `files`, if `source`, which was read there, is one and
/// no scenario.
pub(crate) fn of(
    source: &Arc<SourceText>,
    document: &DeTable<'_>,
    path: &Path,
    files: &dyn Files,
) -> Result<Option<Trial>, Diagnostics> {
    if !is_description(document) {
        return Ok(None);
    }
    let AdapterFile { name, title, adapter, .. } = AdapterFile::parse(source)?;
    let error =
        |reason: String, help: &str| Diagnostics::from(Diagnostic::of_file(source.name(), reason).help(help));
    let file = path.file_name().and_then(|file| file.to_str()).filter(|file| file.ends_with(".toml"));
    let file = file.ok_or_else(|| {
        error("an adapter is tried from a file that ends in .toml".into(), "give the file such a name")
    })?;
    let own = path.with_file_name("trials").join(file);
    let (path, trial, file) = match files.open(&own) {
        Ok(_) => (own.clone(), read_text(files, &own, "a scenario")?, format!("../{file}")),
        Err(missing) if matches!(missing.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            let text = derived(&adapter, file, path, files);
            let source = Arc::new(SourceText::new(format!("the trial of {file}"), text));
            return Ok(Some(Trial { of: title, path: path.to_path_buf(), source }));
        }
        Err(other) => {
            let reason = format!(
                "its trial {} cannot be read: {}",
                shown(&own.display().to_string()),
                refusal(&other)
            );
            return Err(error(reason, "valid is a scenario, or none"));
        }
    };
    let place = place_of_adapter(document::parse(&trial)?.get_ref());
    let Some(place) = place else {
        let help = "add `file = \"…\"` to its `[adapter]`, in whose place the description goes";
        let reason = format!("as the trial of `{}` it has no `file` in its `[adapter]`", shown(&name));
        return Err(Diagnostic::of_file(trial.name(), reason).help(help).into());
    };
    let mut text = trial.text().to_string();
    text.replace_range(place, &quoted(&file));
    Ok(Some(Trial { of: title, path, source: Arc::new(SourceText::new(trial.name(), text)) }))
}

/// The text of the trial that is derived from the description in the file at `path`, or from the built-in
/// one of that name where no file is.
///
/// # Errors
/// The file is no valid description.
pub fn adapter_trial(path: &Path) -> Result<String, Diagnostics> {
    let adapter = AdapterFile::named(path)?.adapter;
    let file = path.file_name().map(|file| file.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(derived(&adapter, &file, path, &Disk))
}

/// The trial of `adapter`, which `file` beside `path` of `files` describes.
fn derived(adapter: &AdapterSpec, file: &str, path: &Path, files: &dyn Files) -> String {
    derived::text(adapter, file, |text| {
        let with = With { path: &path.with_file_name(TRIAL), text, files };
        Scenario::read(with.path, &with, &Unread).ok().map(|scenario| scenario.first())
    })
}

/// The name by which the text of a derived trial is read.
const TRIAL: &str = "trial of a description";

/// Files with one more.
struct With<'a> {
    path: &'a Path,
    text: &'a str,
    files: &'a dyn Files,
}

impl Files for With<'_> {
    fn open(&self, path: &Path) -> io::Result<Opened<'_>> {
        match path == self.path {
            true => {
                Ok(Opened { length: Some(self.text.len() as u64), bytes: Box::new(self.text.as_bytes()) })
            }
            false => self.files.open(path),
        }
    }
}

/// Whether it has a described `[adapter]`, and only keys of an adapter file.
fn is_description(document: &DeTable<'_>) -> bool {
    let described = table(document, "adapter").is_some_and(|adapter| !adapter.contains_key("file"));
    let known = keys::<RawAdapterFile>();
    described && document.iter().all(|(key, _)| known.contains(&key.get_ref().as_ref()))
}

/// A string in JSON is one in TOML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn place_of_adapter(document: &DeTable<'_>) -> Option<std::ops::Range<usize>> {
    table(document, "adapter")?.get("file").map(Spanned::span)
}

fn table<'a, 'i>(document: &'a DeTable<'i>, key: &str) -> Option<&'a DeTable<'i>> {
    document.get(key).map(Spanned::get_ref).and_then(DeValue::as_table)
}
