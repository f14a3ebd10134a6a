//! Networks of other tools as scenarios: Saihu and WOPANet, tsnkit, and tables of AFDX.
//!
//! Each reader turns its files into one model of a network, and the model is written as a scenario. The
//! scenario is read again before it is returned, so an import is a valid file or an error with a place.
//! Formats describe networks and not hosts: hosts of the scenario take no time.

mod afdx;
mod csv;
mod json;
mod network;
mod saihu;
mod tsnkit;
mod units;
mod wopanet;

use std::fmt;

use laxity_world::text::clean;

use self::csv::Table;
use self::json::Node;
use self::network::Net;

/// A file of another tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportInput {
    /// Its name, for errors.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputFormat {
    /// Saihu's output-port network, as JSON.
    Saihu,
    /// WOPANet's network, as XML.
    Wopanet,
    /// Tables of tsnkit: streams, links and a schedule.
    Tsnkit,
    /// A table of virtual links.
    Afdx,
}

/// An error of a file, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    file: String,
    line: usize,
    what: String,
}

impl ImportError {
    fn new(file: &str, line: usize, what: impl Into<String>) -> Self {
        Self { file: file.into(), line: line.max(1), what: what.into() }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", clean(&self.file), self.line, clean(&self.what))
    }
}

impl std::error::Error for ImportError {}

/// A network as a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The file of the scenario.
    pub scenario: String,
    /// The sentences on parts of the network that it leaves out, which the scenario has as well.
    pub notes: Vec<String>,
}

/// The scenario of `inputs`, which are one file, or the tables of tsnkit. The format is that of the
/// content unless `format` says another.
///
/// # Errors
///
/// [`ImportError`] if a file is none of the format, or its network is beyond what a scenario can have.
pub fn import(inputs: &[ImportInput], format: Option<InputFormat>) -> Result<Imported, ImportError> {
    let Some(first) = inputs.first() else { return Err(ImportError::new("import", 1, "no file is given")) };
    let format = match format {
        Some(format) => format,
        None => told(first)?,
    };
    if let Some(second) = inputs.get(1).filter(|_| format != InputFormat::Tsnkit) {
        return Err(ImportError::new(&second.name, 1, "only the tables of tsnkit are several files"));
    }
    let net: Net = match format {
        InputFormat::Saihu => saihu::read(&first.name, &Node::read(&first.name, &first.text)?)?,
        InputFormat::Wopanet => wopanet::read(&first.name, &first.text)?,
        InputFormat::Tsnkit => tsnkit::read(inputs)?,
        InputFormat::Afdx => afdx::read(&first.name, &first.text)?,
    };
    let text = net.scenario(&first.name)?;
    match crate::from_text("imported.toml", &text) {
        Ok(_) => Ok(Imported { scenario: text, notes: net.notes }),
        Err(diagnostics) => {
            let said = diagnostics.render(false);
            let said = said.lines().next().unwrap_or_default().trim_start_matches("error: ");
            Err(ImportError::new(&first.name, 1, format!("the network is no valid scenario: {said}")))
        }
    }
}

/// The format of a file by its content.
fn told(input: &ImportInput) -> Result<InputFormat, ImportError> {
    let text = input.text.trim_start_matches('\u{feff}').trim_start();
    let fault = |what: &str| ImportError::new(&input.name, 1, what);
    match text.chars().next() {
        None => Err(fault("the file is empty")),
        Some('<') => Ok(InputFormat::Wopanet),
        Some('{') => match saihu::is_one(&Node::read(&input.name, &input.text)?) {
            true => Ok(InputFormat::Saihu),
            false => Err(fault("this JSON is no network of Saihu, which has `flows` and `servers`")),
        },
        Some(_) => match Table::headings(text) {
            headings if afdx::is_one(&headings) => Ok(InputFormat::Afdx),
            headings if tsnkit::is_one(&headings) => Ok(InputFormat::Tsnkit),
            _ => Err(fault(
                "this is none of the formats: Saihu's JSON, WOPANet's XML, tables of tsnkit or of virtual links; \
                 `--format` names one",
            )),
        },
    }
}
