//! `laxity calibrate`.

use laxity_emulator::calibrate;
use laxity_report::output::{self, Kind};
use laxity_world::text::clean;

use crate::arguments::Calibrate;
use crate::terminal::Terminal;
use crate::{Exit, stamp};

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
    let (sizes, largest) = (&calibration.sizes, calibration.sizes.last().copied().unwrap_or_default());
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    terminal.line(&format!("packets of {} B; in ns, 10 % and 90 % at {largest} B", sizes.join(", ")));
    terminal.line(&format!(
        "{:<18} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10}  {}",
        "cost", "a packet", "a byte", "10 %", "90 %", "line off", "rounds", "measured by"
    ));
    for cost in calibration.costs.iter().chain(&calibration.parts) {
        let point = cost.largest();
        let sized = |value: String| if point.size > 0 { value } else { "-".into() };
        terminal.line(&format!(
            "{:<18} {:>9.0} {:>9} {:>9.0} {:>9.0} {:>9} {:>10}  {}",
            cost.name,
            cost.line.fixed,
            sized(format!("{:.3}", cost.line.per_byte)),
            point.low,
            point.high,
            sized(format!("{:.0}", cost.residual())),
            format!("{:.0} %{}", 100.0 * cost.spread, if cost.is_unstable() { " !" } else { "" }),
            cost.method
        ));
    }
    terminal.line(&format!(
        "rounds: by how much {} rounds differ; `!` marks what differs by more than {:.0} %, and is unstable",
        calibrate::ROUNDS,
        100.0 * calibrate::STABLE
    ));
    for (cost, doubt) in calibration.costs.iter().filter_map(|cost| Some((cost, cost.doubt()?))) {
        terminal.note(&format!(
            "warning: {} means little: {doubt}; measure again on a quieter machine",
            cost.name
        ));
    }
    let profile = calibration.profile(&stamp::words(&stamp::now()));
    if let Err(error) = output::write(&arguments.out, Kind::Profile, &[], profile.as_bytes()) {
        return terminal.unwritten(&error);
    }
    terminal.note(&format!("profile in {}", arguments.out.display()));
    Exit::Holds
}
