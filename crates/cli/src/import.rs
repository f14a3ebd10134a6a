//! `laxity import`: a network of another tool as a scenario.

use std::path::Path;

use laxity_lab::import::{self, ImportInput, Imported, InputFormat};
use laxity_units::Bytes;
use laxity_world::text::clean;

use crate::arguments::{Import, ImportFormat};
use crate::terminal::Terminal;
use crate::{Exit, files, new};

/// The largest file that is read.
const LARGEST: Bytes = Bytes::new(64 << 20);

pub(crate) fn import(arguments: &Import, terminal: &mut Terminal) -> Exit {
    let inputs: Result<Vec<ImportInput>, String> = arguments.files.iter().map(|file| read(file)).collect();
    let inputs = match inputs {
        Ok(inputs) => inputs,
        Err(reason) => {
            terminal.error(&reason);
            return Exit::BadInput;
        }
    };
    let format = arguments.format.map(|format| match format {
        ImportFormat::Saihu => InputFormat::Saihu,
        ImportFormat::Wopanet => InputFormat::Wopanet,
        ImportFormat::Tsnkit => InputFormat::Tsnkit,
        ImportFormat::Afdx => InputFormat::Afdx,
    });
    let Imported { scenario, notes } = match import::import(&inputs, format) {
        Ok(imported) => imported,
        Err(fault) => {
            terminal.error(&fault.to_string());
            return Exit::BadInput;
        }
    };
    for note in &notes {
        terminal.note(&format!("note: {}", clean(note)));
    }
    let Some(path) = &arguments.out else {
        terminal.print(&scenario);
        return Exit::Holds;
    };
    match new::create(path, scenario.as_bytes(), "exists; `-o` names another file") {
        Ok(()) => {
            terminal.note(&format!("wrote {}", clean(&path.display().to_string())));
            Exit::Holds
        }
        Err(error) => terminal.unwritten(&error),
    }
}

/// The text of a file.
fn read(path: &Path) -> Result<ImportInput, String> {
    let name = clean(&path.display().to_string());
    let bytes = files::bytes(path, LARGEST).map_err(|why| format!("{name}: {why}"))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        format!("{name}:{line}: this is no text in UTF-8")
    })?;
    Ok(ImportInput { name, text })
}
