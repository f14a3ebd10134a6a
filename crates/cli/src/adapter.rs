//! `laxity adapter`: adapter files, checked and shown.

use laxity_lab::present::adapter;
use laxity_lab::scenario::AdapterFile;

use crate::Exit;
use crate::arguments::{AdapterCheck, AdapterCommand, AdapterShow};
use crate::check::counted;
use crate::terminal::{Terminal, clean};

pub(crate) fn adapter(command: &AdapterCommand, terminal: &mut Terminal) -> Exit {
    match command {
        AdapterCommand::Check(arguments) => check(arguments, terminal),
        AdapterCommand::Show(arguments) => show(arguments, terminal),
    }
}

fn check(arguments: &AdapterCheck, terminal: &mut Terminal) -> Exit {
    let mut exit = Exit::Holds;
    for file in &arguments.files {
        match AdapterFile::load(file) {
            Ok(adapter) => {
                let sources = counted(adapter.sources.len(), "source");
                terminal.line(&format!("ok  {}: {sources}", clean(&file.display().to_string())));
            }
            Err(diagnostics) => {
                terminal.note(&diagnostics.render(terminal.error_colour()));
                exit = Exit::BadInput;
            }
        }
    }
    exit
}

fn show(arguments: &AdapterShow, terminal: &mut Terminal) -> Exit {
    let file = match AdapterFile::load(&arguments.file) {
        Ok(file) => file,
        Err(diagnostics) => {
            terminal.note(&diagnostics.render(terminal.error_colour()));
            return Exit::BadInput;
        }
    };
    terminal.print(&adapter::text(&file, terminal.width()));
    if let Some(path) = &arguments.svg {
        let shown = clean(&path.display().to_string());
        if let Err(error) = std::fs::write(path, adapter::svg(&file)) {
            terminal.note(&format!("error: {shown} cannot be written: {error}"));
            return Exit::Broken;
        }
        terminal.line(&format!("\nwrote {shown}"));
    }
    Exit::Holds
}
