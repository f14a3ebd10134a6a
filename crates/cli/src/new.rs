//! `laxity new`: a commented scenario to start from, and the schema that an editor reads beside it.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use laxity_report::output;
use laxity_world::text::clean;

use crate::Exit;
use crate::arguments::{New, Start};
use crate::terminal::Terminal;

/// The schema's file, which stands beside each scenario that refers to it.
const SCHEMA: &str = "laxity.schema.json";
/// The error of a file that exists.
const EXISTS: &str = "exists; `--out` names another file";

impl Start {
    /// The scenario.
    fn text(self) -> &'static str {
        match self {
            Start::Camera => include_str!("new/camera.toml"),
            Start::Office => include_str!("new/office.toml"),
            Start::Nic => include_str!("new/nic.toml"),
            Start::Receiver => include_str!("new/receiver.toml"),
            Start::Cluster => include_str!("new/cluster.toml"),
        }
    }

    /// The file's name without its ending.
    fn name(self) -> &'static str {
        match self {
            Start::Camera => "camera",
            Start::Office => "office",
            Start::Nic => "nic",
            Start::Receiver => "receiver",
            Start::Cluster => "cluster",
        }
    }
}

pub(crate) fn new(arguments: &New, terminal: &mut Terminal) -> Exit {
    let path =
        arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}.toml", arguments.start.name())));
    // A command that reads a folder, or tries an adapter, knows a file by this ending.
    if path.extension().is_none_or(|ending| ending != "toml") {
        terminal
            .error(&format!("{}: the name of a scenario ends in .toml", clean(&path.display().to_string())));
        return Exit::BadInput;
    }
    let text =
        format!("#:schema ./{SCHEMA}\nformat = {}\n{}", laxity_scenario::FORMAT, arguments.start.text());
    if let Err(error) = create(&path, text.as_bytes(), EXISTS) {
        return terminal.unwritten(&error);
    }
    let shown = clean(&path.display().to_string());
    terminal.line(&format!("wrote {shown}"));
    let schema = path.with_file_name(SCHEMA);
    let named = clean(&schema.display().to_string());
    if schema.exists() {
        terminal.line(&format!(
            "kept {named}, which is there already; `laxity schema` prints the one of this version"
        ));
    } else {
        match create(&schema, format!("{:#}\n", laxity_scenario::schema()).as_bytes(), EXISTS) {
            Ok(()) => terminal.line(&format!("wrote {named}, by which an editor completes and checks keys")),
            Err(error) => return terminal.unwritten(&error),
        }
    }
    terminal.line(&format!(
        "\nlaxity admit {shown}    # the bound of each channel\nlaxity run {shown}      # the bound beside the measured worst case\n\
         laxity explain KEY    # what a key means, such as channel.deadline"
    ));
    Exit::Holds
}

/// Writes a new file: a scenario is its author's work from the first line on, so it is never
/// replaced.
pub(crate) fn create(path: &Path, bytes: &[u8], exists: &str) -> Result<(), output::OutputError> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(bytes).map_err(|error| output::OutputError::failed(path, error)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(output::OutputError::refused(path, exists))
        }
        Err(error) => Err(output::OutputError::failed(path, error)),
    }
}
