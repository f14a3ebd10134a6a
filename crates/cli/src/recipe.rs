//! `laxity recipe`: a scenario as settings of Linux.

use laxity_lab::recipe;
use laxity_report::output::{self, FileKind};
use laxity_world::text::clean;

use crate::arguments::Recipe;
use crate::terminal::Terminal;
use crate::{Exit, files};

pub(crate) fn recipe(arguments: &Recipe, terminal: &mut Terminal) -> Exit {
    let read = files::scenario_at(&arguments.file, &arguments.settings, arguments.point, terminal);
    let Some((scenario, point)) = read else { return Exit::BadInput };
    let experiment = scenario.experiment(&point);
    let title = match scenario.points().nth(1) {
        None => scenario.title.clone(),
        Some(_) => format!("{} (at {})", scenario.title, scenario.describe(&point)),
    };
    let text = match recipe::recipe(&experiment, &title, arguments.host.as_deref()) {
        Ok(text) => text,
        Err(reason) => {
            terminal.error(&format!("{}: {}", clean(&scenario.name), clean(&reason.to_string())));
            return Exit::BadInput;
        }
    };
    let Some(path) = &arguments.out else {
        terminal.print(&text);
        return Exit::Holds;
    };
    match output::write(path, FileKind::Recipe, &scenario.inputs(), text.as_bytes()) {
        Ok(()) => {
            terminal.note(&format!("recipe in {}", clean(&path.display().to_string())));
            Exit::Holds
        }
        Err(error) => terminal.unwritten(&error),
    }
}
