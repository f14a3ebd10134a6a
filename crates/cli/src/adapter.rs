//! `laxity adapter`: adapter files, checked and shown.

use laxity_report::output::{self, FileKind};
use laxity_report::present::adapter;
use laxity_scenario::{AdapterFile, adapter_trial};
use laxity_world::text::clean;

use crate::Exit;
use crate::arguments::{AdapterCheck, AdapterCommand, AdapterShow, AdapterTrial};
use crate::check::counted;
use crate::terminal::Terminal;

pub(crate) fn adapter(command: &AdapterCommand, terminal: &mut Terminal) -> Exit {
    match command {
        AdapterCommand::Check(arguments) => check(arguments, terminal),
        AdapterCommand::Show(arguments) => show(arguments, terminal),
        AdapterCommand::Trial(arguments) => trial(arguments, terminal),
    }
}

fn check(arguments: &AdapterCheck, terminal: &mut Terminal) -> Exit {
    let mut exit = Exit::Holds;
    for file in &arguments.files {
        match AdapterFile::named(file) {
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
    if let Some(path) = &arguments.svg
        && let Err(error) = output::check(path, FileKind::Drawing, std::slice::from_ref(&arguments.file))
    {
        return terminal.unwritten(&error);
    }
    let file = match AdapterFile::named(&arguments.file) {
        Ok(file) => file,
        Err(diagnostics) => {
            terminal.note(&diagnostics.render(terminal.error_colour()));
            return Exit::BadInput;
        }
    };
    terminal.print(&adapter::text(&file, terminal.width()));
    if let Some(path) = &arguments.svg {
        let shown = clean(&path.display().to_string());
        let svg = adapter::svg(&file);
        if let Err(error) =
            output::write(path, FileKind::Drawing, std::slice::from_ref(&arguments.file), svg.as_bytes())
        {
            return terminal.unwritten(&error);
        }
        terminal.line(&format!("\nwrote {shown}"));
    }
    Exit::Holds
}

fn trial(arguments: &AdapterTrial, terminal: &mut Terminal) -> Exit {
    match adapter_trial(&arguments.file) {
        Ok(text) => {
            terminal.print(&text);
            Exit::Holds
        }
        Err(diagnostics) => {
            terminal.note(&diagnostics.render(terminal.error_colour()));
            Exit::BadInput
        }
    }
}
