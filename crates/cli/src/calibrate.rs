//! `laxity calibrate`.

use laxity_emulator::calibrate;
use laxity_report::output::{self, FileKind};
use laxity_world::text::clean;

use std::path::{Path, PathBuf};

use crate::arguments::Calibrate;
use crate::terminal::Terminal;
use crate::{Exit, stamp};

mod curve;

pub(crate) fn calibrate(arguments: &Calibrate, terminal: &mut Terminal) -> Exit {
    if let Some(curve) = &arguments.adapter {
        return adapter(curve, arguments.out.as_deref(), terminal);
    }
    let out = arguments.out.clone().unwrap_or_else(|| "this-machine.toml".into());
    if let Err(error) = output::check(&out, FileKind::Profile, &[]) {
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
    if let Err(error) = output::write(&out, FileKind::Profile, &[], profile.as_bytes()) {
        return terminal.unwritten(&error);
    }
    terminal.note(&format!("profile in {}", out.display()));
    Exit::Holds
}

/// Fits the curve of an adapter, and writes the adapter and a figure of the fit.
fn adapter(curve: &Path, out: Option<&Path>, terminal: &mut Terminal) -> Exit {
    let name = curve.file_name().map(|name| clean(&name.to_string_lossy())).unwrap_or_default();
    let points = match std::fs::read_to_string(curve) {
        Ok(text) => curve::read(&text),
        Err(error) => Err(error.to_string()),
    };
    let points = match points {
        Ok(points) => points,
        Err(why) => {
            terminal.error(&format!("{}: {}", clean(&curve.display().to_string()), clean(&why)));
            return Exit::Broken;
        }
    };
    let out = out.map_or_else(|| curve.with_extension("toml"), PathBuf::from);
    let (figure, inputs) = (out.with_extension("svg"), [curve.to_path_buf()]);
    for (path, kind) in [(&out, FileKind::Profile), (&figure, FileKind::Drawing)] {
        if let Err(error) = output::check(path, kind, &inputs) {
            return terminal.unwritten(&error);
        }
    }
    let line = curve::one(&points);
    let mut fits = vec![("one line", line)];
    fits.extend(curve::two(&points).map(|lines| ("two lines", lines)));
    for (words, fit) in &fits {
        terminal.line(&format!(
            "{words}: C_x = {:.2} us, {:.3} ns a byte, B_x = {:.3} MB/s{}; off by {:.2} % on average, {:.2} % at most",
            fit.startup * 1e6,
            fit.per_byte * 1e9,
            1e-6 / fit.per_byte,
            fit.bend.map_or(String::new(), |(bend, beyond)| format!(
                " up to {bend} B, and {:.3} ns a byte, {:.3} MB/s, beyond",
                beyond * 1e9,
                1e-6 / beyond
            )),
            100.0 * fit.mean,
            100.0 * fit.worst
        ));
    }
    terminal.line(&format!("{:>10} {:>12} {:>12}", "size (B)", "time (us)", "residuals"));
    for (size, time) in &points {
        let off = |fit: &curve::Fit| format!("{:+.2} %", 100.0 * (fit.at(*size) / time - 1.0));
        let off: Vec<String> = fits.iter().map(|(_, fit)| off(fit)).collect();
        terminal.line(&format!("{size:>10} {:>12.2} {:>12}", time * 1e6, off.join(", ")));
    }
    if line.startup < 0.0 || line.per_byte <= 0.0 {
        terminal.error(
            "the line has no time a packet, or none a byte: such a curve is of no adapter of this kind",
        );
        return Exit::Broken;
    }
    let text = curve::adapter(&name, &points, &line);
    let drawing = curve::drawing(&name, &points, &fits);
    for (path, kind, bytes) in
        [(&out, FileKind::Profile, text.as_bytes()), (&figure, FileKind::Drawing, drawing.as_bytes())]
    {
        if let Err(error) = output::write(path, kind, &inputs, bytes) {
            return terminal.unwritten(&error);
        }
    }
    terminal.note(&format!("adapter in {}, figure in {}", out.display(), figure.display()));
    Exit::Holds
}
