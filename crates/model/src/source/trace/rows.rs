//! Rows: one size per line, and the output of ffprobe with `-of csv` and `-of compact`, with keys
//! or without.
//!
//! The rows differ by version and by option: `packet,0.000000,17824,K_`, the same without `packet`
//! (`csv=p=0`), the same with keys (`csv=nk=0`), `packet|codec_type=video|...` (compact), a tail of
//! side data on the row and a `side_data,` row and a blank line after it, which no option of
//! ffprobe removes. A plain list of sizes is the case of one cell. All of them are read here, a row
//! at a time.
//!
//! Without keys a number has no label; [`super::layout`] decides which column is the size, or
//! refuses and names an unambiguous command. Comments start with `#`.

use std::io::BufRead;

use super::cell::{Cell, cells};
use super::collect::Collector;
use super::error::{Fault, ROWS, TracePosition};
use super::field::{Record, Section};
use super::layout::{ENOUGH_TO_RISE, Layout};
use super::text::Lines;
use super::{Trace, TraceFormat, TraceLimits};

/// Rows of other views, which carry no frame.
const OTHER_SECTIONS: [&str; 14] = [
    "side_data",
    "stream",
    "format",
    "program",
    "chapter",
    "subtitle",
    "error",
    "program_version",
    "library_version",
    "stream_group",
    "packet_side_data",
    "stream_side_data",
    "frame_side_data",
    "log",
];

/// Reads rows to the end of `input`.
pub(super) fn parse(input: &mut dyn BufRead, limits: TraceLimits) -> Result<Trace, Fault> {
    let mut lines = Lines::new(input, limits);
    let mut collector = Collector::new(limits);
    let mut layout: Option<Layout> = None;
    while let Some((number, line)) = lines.next()? {
        let line = line.strip_prefix('\u{feff}').filter(|_| number == 1).unwrap_or(line);
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let cells = cells(line);
        let (section, cells) = match cells.first().map(|cell| cell.text) {
            Some("packet") => (Some(Section::Packet), &cells[1..]),
            Some("frame") => (Some(Section::Frame), &cells[1..]),
            Some(other) if OTHER_SECTIONS.contains(&other) => continue,
            _ => (None, &cells[..]),
        };
        if !collector.wants(section) {
            continue;
        }
        let start = TracePosition::Text { line: number, column: 1 };
        let record = if cells.iter().any(|cell| cell.text.contains('=')) {
            keyed(section, cells, number)?
        } else if cells.is_empty() {
            Record::default()
        } else if section == Some(Section::Frame) && matches!(cells[0].text, "audio" | "subtitle") {
            // Its fields are not a picture's, and its columns are unknown.
            continue;
        } else {
            if layout.is_none() {
                layout = Some(Layout::infer(section, cells, number)?);
            }
            layout.as_ref().expect("it has just been inferred").record(cells, number)?
        };
        collector.push(&record, start)?;
    }
    let plain = match &layout {
        Some(layout) => {
            layout.check_sizes(collector.common_step(ENOUGH_TO_RISE))?;
            layout.is_plain()
        }
        None => false,
    };
    collector.finish(if plain { TraceFormat::Sizes } else { TraceFormat::Rows })
}

/// A record of cells with keys.
fn keyed(section: Option<Section>, cells: &[Cell<'_>], line: u64) -> Result<Record, Fault> {
    let mut record = Record { section, ..Record::default() };
    for cell in cells {
        let Some((key, text)) = cell.text.split_once('=') else { continue };
        // The rest is side data, with keys that may be a frame's.
        if key == "side_data_type" {
            break;
        }
        let value = Cell { column: cell.column + key.chars().count() as u64 + 1, text };
        record.set(key, text).map_err(|bad| value.fault(line, bad))?;
    }
    if record.size.is_none() {
        let at = TracePosition::Text { line, column: cells.first().map_or(1, |cell| cell.column) };
        return Err(Fault::new(at, "the row has no size", ROWS));
    }
    Ok(record)
}
