//! `laxity calibrate`.

use laxity_service::calibrate;

use crate::Exit;
use crate::arguments::Calibrate;
use crate::terminal::{Terminal, clean};

pub(crate) fn calibrate(arguments: &Calibrate, terminal: &mut Terminal) -> Exit {
    let calibration = match calibrate::calibrate(arguments.packet) {
        Ok(calibration) => calibration,
        Err(refused) => {
            terminal.error(&refused.to_string());
            return Exit::Broken;
        }
    };
    for refused in &calibration.refused {
        terminal.note(&format!("{refused}; the figures are the worse for it"));
    }
    terminal.line(&clean(&calibration.processor));
    terminal.line(&format!("{:<16} {:>10} {:>10} {:>10}  {}", "ns", "median", "10 %", "90 %", "measured by"));
    for cost in &calibration.costs {
        terminal.line(&format!(
            "{:<16} {:>10.0} {:>10.0} {:>10.0}  {}",
            cost.name, cost.median, cost.low, cost.high, cost.method
        ));
    }
    if let Err(error) = std::fs::write(&arguments.out, calibration.profile(arguments.packet)) {
        terminal.error(&format!("{}: cannot be written: {error}", arguments.out.display()));
        return Exit::Broken;
    }
    terminal.note(&format!("profile in {}", arguments.out.display()));
    Exit::Holds
}
