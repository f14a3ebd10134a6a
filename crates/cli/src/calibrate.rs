//! `laxity calibrate`.

use laxity_lab::output::{self, Kind};
use laxity_service::calibrate;

use crate::Exit;
use crate::arguments::Calibrate;
use crate::terminal::{Terminal, clean};

pub(crate) fn calibrate(arguments: &Calibrate, terminal: &mut Terminal) -> Exit {
    if let Err(error) = output::check(&arguments.out, Kind::Profile, &[]) {
        return terminal.unwritten(&error);
    }
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
    let profile = calibration.profile(arguments.packet);
    if let Err(error) = output::write(&arguments.out, Kind::Profile, &[], profile.as_bytes()) {
        return terminal.unwritten(&error);
    }
    terminal.note(&format!("profile in {}", arguments.out.display()));
    Exit::Holds
}
