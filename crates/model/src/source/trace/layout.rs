//! Which column of a row without keys is the size.
//!
//! ffprobe prints the fields in its own order and not in the order asked for, versions add fields, and a
//! presentation time stamp, a duration in ticks or a position in the file is a whole number like a size.
//! Taking the wrong one would give a trace that runs and means nothing. So only what can be told apart is
//! accepted: a row in which exactly one column holds whole numbers and at most one holds seconds, and the
//! complete rows of `-show_packets` and `-show_frames`, which begin or end alike in all versions. Everything
//! else is refused with the command that prints keys.

use super::cell::Cell;
use super::error::{Fault, ROWS, SIZE, TracePosition};
use super::field::{self, BadField, Record, Section, decimal, is_flags, picture_type, shown, whole};

const MEDIA: [&str; 5] = ["video", "audio", "subtitle", "data", "attachment"];

/// Rows needed before a steady rise is taken for a count.
pub(super) const ENOUGH_TO_RISE: usize = 8;

/// Where the fields stand.
#[derive(Debug)]
pub(super) struct Layout {
    line: u64,
    column: u64,
    cells: usize,
    size: usize,
    presentation: Option<usize>,
    decoding: Option<usize>,
    kind: Option<usize>,
    flags: Option<usize>,
    media: Option<usize>,
    stream: Option<usize>,
    plain: bool,
    /// Whether every row has as many fields as the first; a complete frame's row ends in tags, if it has any.
    even: bool,
}

impl Layout {
    /// The layout of the rows like this one, which stands in `line`.
    pub(super) fn infer(section: Option<Section>, cells: &[Cell<'_>], line: u64) -> Result<Layout, Fault> {
        let count = cells.len();
        let mut layout = Layout {
            line,
            column: 1,
            cells: count,
            size: 0,
            presentation: None,
            decoding: None,
            kind: None,
            flags: None,
            media: None,
            stream: None,
            plain: section.is_none() && count == 1,
            even: true,
        };
        if layout.plain {
            return Ok(layout);
        }
        if is_complete_packet(section, cells) {
            layout.size = count - 3;
            (layout.media, layout.stream, layout.flags) = (Some(0), Some(1), Some(count - 1));
            (layout.presentation, layout.decoding) = (Some(3), Some(5));
            return Ok(layout);
        }
        if let Some((size, kind)) = complete_frame(section, cells) {
            (layout.size, layout.kind, layout.cells, layout.even) = (size, Some(kind), kind + 1, false);
            (layout.media, layout.stream, layout.presentation) = (Some(0), Some(1), Some(4));
            return Ok(layout);
        }
        let mut sizes = Vec::new();
        let mut times = Vec::new();
        for (place, cell) in cells.iter().enumerate() {
            let text = cell.text;
            if whole(text) {
                sizes.push(place);
            } else if decimal(text) || text == "N/A" {
                times.push(place);
            } else if is_kind(text) {
                layout.kind = Some(place);
            } else if is_flags(text) {
                layout.flags = Some(place);
            } else if MEDIA.contains(&text) {
                layout.media = Some(place);
            } else {
                let reason = format!(
                    "`{}` is no field of a coded frame that can be told without its key",
                    shown(text)
                );
                return Err(Fault::new(TracePosition::Text { line, column: cell.column }, reason, ROWS));
            }
        }
        layout.presentation = times.first().copied();
        let doubt = |places: &[usize], what: &str, means: &str| {
            let (first, second) = (places[0] + 1, places[1] + 1);
            let at = TracePosition::Text { line, column: cells[places[1]].column };
            let reason =
                format!("fields {first} and {second} both hold {what}, and no key says which is {means}");
            Err(Fault::new(at, reason, ROWS))
        };
        match (sizes.as_slice(), times.as_slice()) {
            ([], _) => {
                let at = TracePosition::Text { line, column: cells[0].column };
                Err(Fault::new(at, "the row has no whole number that could be a size", ROWS))
            }
            ([_, _, ..], _) => doubt(&sizes, "whole numbers", "the size"),
            (_, [_, _, ..]) => doubt(&times, "seconds", "the time of sending"),
            ([size], _) => {
                layout.size = *size;
                layout.column = cells[*size].column;
                Ok(layout)
            }
        }
    }

    /// Whether the file is a bare list of sizes.
    pub(super) fn is_plain(&self) -> bool {
        self.plain
    }

    /// Fields of `cells`, in line `line`.
    pub(super) fn record(&self, cells: &[Cell<'_>], line: u64) -> Result<Record, Fault> {
        if cells.len() < self.cells || self.even && cells.len() > self.cells {
            let (have, want, first) = (cells.len(), self.cells, self.line);
            let extra = cells.get(want).or(cells.last()).map_or(1, |cell| cell.column);
            let plural = |n: usize| if n == 1 { "field" } else { "fields" };
            let reason =
                format!("the row has {have} {}, and line {first} has {want} {}", plural(have), plural(want));
            let valid = if self.plain { SIZE } else { ROWS };
            return Err(Fault::new(TracePosition::Text { line, column: extra }, reason, valid));
        }
        let placed = |bad: BadField, place: usize| cells[place].fault(line, bad);
        let seconds = |place: Option<usize>| match place {
            Some(place) => field::seconds(cells[place].text).map_err(|bad| placed(bad, place)),
            None => Ok(None),
        };
        let key_frame = self.flags.is_some_and(|place| cells[place].text.starts_with('K'));
        let kind = self.kind.and_then(|place| picture_type(cells[place].text));
        Ok(Record {
            section: None,
            video: self.media.map(|place| cells[place].text == "video"),
            stream: self.stream.and_then(|place| cells[place].text.parse().ok()),
            size: Some(field::size(cells[self.size].text).map_err(|bad| placed(bad, self.size))?),
            presentation: seconds(self.presentation)?,
            decoding: seconds(self.decoding)?,
            duration: None,
            kind: kind.or(key_frame.then_some(super::FrameKind::I)),
        })
    }

    /// Refuses inferred sizes that rise by the same `step` from row to row: those count ticks, not bytes.
    pub(super) fn check_sizes(&self, step: Option<u64>) -> Result<(), Fault> {
        match step {
            Some(step) if step > 0 && !self.plain => {
                let at = TracePosition::Text { line: self.line, column: self.column };
                let reason =
                    format!("the only whole numbers rise by {step} from row to row, so they are not sizes");
                Err(Fault::new(at, reason, ROWS))
            }
            _ => Ok(()),
        }
    }
}

/// `packet,video,0,pts,pts_time,dts,dts_time,duration,duration_time,...,size,pos,flags`: all of a packet, as
/// `-show_packets -of csv` prints it. Between durations and size some versions have a convergence duration.
fn is_complete_packet(section: Option<Section>, cells: &[Cell<'_>]) -> bool {
    let is = |place: usize, what: fn(&str) -> bool| what(cells[place].text) || cells[place].text == "N/A";
    section == Some(Section::Packet)
        && matches!(cells.len(), 11 | 13)
        && MEDIA.contains(&cells[0].text)
        && whole(cells[1].text)
        && [3, 5, 7].into_iter().all(|place| is(place, decimal))
        && is_flags(cells[cells.len() - 1].text)
}

/// `frame,video,0,key,pts,pts_time,dts,dts_time,best,best_time,duration,duration_time,...,pos,size,width,height,
/// ...,type`: all of a picture, as `-show_frames -of csv` prints it, and the places of size and
/// type. Version 6 has the duration twice; what stands between height and type differs by version.
fn complete_frame(section: Option<Section>, cells: &[Cell<'_>]) -> Option<(usize, usize)> {
    let is = |place: usize, what: fn(&str) -> bool| {
        cells.get(place).is_some_and(|cell| what(cell.text) || cell.text == "N/A")
    };
    let ticks_and_seconds = |place: usize| is(place, ticks) && is(place + 1, decimal);
    if section != Some(Section::Frame) || cells.first()?.text != "video" || cells.len() < 18 {
        return None;
    }
    let size = if whole(cells[12].text) { 12 } else { 14 };
    let times = (3..size - 1).step_by(2).all(ticks_and_seconds);
    let picture = (size..size + 3).all(|place| whole(cells[place].text));
    let kind = (size + 5..cells.len()).find(|place| is_kind(cells[*place].text))?;
    (times && picture && is(size - 1, whole)).then_some((size, kind))
}

/// Whether `text` is a time in a container's ticks.
fn ticks(text: &str) -> bool {
    whole(text.strip_prefix('-').unwrap_or(text))
}

/// Whether `text` is a picture type, known to the model or not.
fn is_kind(text: &str) -> bool {
    picture_type(text).is_some() || matches!(text, "?" | "S" | "SI" | "SP" | "BI")
}
