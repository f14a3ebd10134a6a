//! An adapter's description where a scenario is expected: put into a scenario that tries it.
//!
//! The author of a description wants to know its promise before writing scenarios. So a file with
//! an `[adapter]` and no other part of an experiment is tried: by the scenario of its name in a
//! folder `trials` beside it, which gives the load and the medium, or else by the built-in one,
//! [`DEFAULT`]. Either names an adapter by its `file`; the description takes its place.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use crate::adapter_file::AdapterFile;
use crate::diagnostic::{Diagnostic, Diagnostics, SourceText, shown};
use crate::document;
use crate::files::{Files, read_text, refusal};
use crate::raw::RawAdapterFile;
use crate::written::keys;

/// A film, a control loop and a flood, over a link of its own.
const DEFAULT: &str = include_str!("../../../adapters/trials/default.toml");

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
    let AdapterFile { name, title, .. } = AdapterFile::parse(source)?;
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
            let default = SourceText::new("adapters/trials/default.toml (built in)", DEFAULT);
            (path.to_path_buf(), Arc::new(default), file.to_string())
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
