//! `laxity check`.

use laxity_world::text::clean;

use crate::arguments::Check;
use crate::terminal::Terminal;
use crate::{Exit, files};

pub(crate) fn check(arguments: &Check, terminal: &mut Terminal) -> Exit {
    let mut exit = Exit::Holds;
    let named = match files::named(&arguments.files) {
        Ok(named) => named,
        Err(reason) => {
            terminal.error(&reason);
            return Exit::BadInput;
        }
    };
    for file in &named {
        match files::load(file, &arguments.settings) {
            Ok(scenario) => {
                let points = counted(scenario.points().count(), "point");
                let claims = counted(scenario.claims.len(), "claim");
                terminal.line(&format!("ok  {}: {points}, {claims}", clean(&file.display().to_string())));
            }
            Err(diagnostics) => {
                terminal.note(&diagnostics.render(terminal.error_colour()));
                exit = Exit::BadInput;
            }
        }
    }
    exit
}

/// `1 point`, `3 points`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
