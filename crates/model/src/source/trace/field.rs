//! The fields of a coded frame as ffprobe names and writes them, shared by rows and JSON.
//!
//! Numbers are read as decimals into integers: a time written `0.033367` is exactly 33 367 000 000
//! picoseconds. `N/A` is ffprobe's word for a value that the container does not hold.

use super::FrameKind;
use super::error::{SECONDS, SIZE};

/// The largest frame that is believed. An uncompressed 16K picture of 8 bytes a pixel is just under this;
/// a larger number in a size's place is a different column.
const LARGEST: u64 = 1 << 30;

/// Picoseconds, of either sign: decoding times start below zero where frames are reordered.
pub(super) type Instant = i64;

const PS_PER_SEC: i64 = 1_000_000_000_000;

/// Why a text is not the field it should be: at which character (from 0), the reason, and what
/// would be valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BadField {
    pub(super) character: usize,
    pub(super) reason: String,
    pub(super) valid: &'static str,
}

fn bad<T>(character: usize, reason: String, valid: &'static str) -> Result<T, BadField> {
    Err(BadField { character, reason, valid })
}

/// Enough of `text` to recognise it by, however long it is.
pub(super) fn shown(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut shown: String = text.chars().take(SHOWN).map(|c| if c.is_control() { '?' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push_str("...");
    }
    shown
}

/// A frame's size in bytes.
pub(super) fn size(text: &str) -> Result<u64, BadField> {
    if text.is_empty() {
        return bad(0, "the size is empty".to_string(), SIZE);
    }
    if let Some(character) = text.chars().position(|c| !c.is_ascii_digit()) {
        let reason = match text.strip_prefix('-') {
            Some(rest) if whole(rest) => format!("the size `{}` is negative", shown(text)),
            _ => format!("`{}` is not a whole number", shown(text)),
        };
        return bad(character, reason, SIZE);
    }
    match text.parse() {
        Ok(0) => bad(0, "the frame has no bytes, and a message carries at least one".to_string(), SIZE),
        Ok(size) if size <= LARGEST => Ok(size),
        _ => bad(0, format!("{} bytes is larger than any coded frame", shown(text)), SIZE),
    }
}

/// Whether `text` is a whole number.
pub(super) fn whole(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Whether `text` looks like ffprobe's seconds, which always have a point.
pub(super) fn decimal(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    text.split_once('.').is_some_and(|(seconds, fraction)| whole(seconds) && whole(fraction))
}

/// Seconds; `None` where ffprobe prints that there is no value.
pub(super) fn seconds(text: &str) -> Result<Option<Instant>, BadField> {
    if text == "N/A" {
        return Ok(None);
    }
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole_part, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    if !whole(whole_part) || !whole(fraction) {
        let accepted = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
        let character = text.chars().position(|c| !accepted(c)).unwrap_or(0);
        let reason = match text.contains(':') {
            true => format!("`{}` is in hours, minutes and seconds", shown(text)),
            false => format!("`{}` is not a time in seconds", shown(text)),
        };
        return bad(character, reason, SECONDS);
    }
    // Digits past a picosecond are below anything a container's clock can say, and are cut.
    let picoseconds = format!("{:0<12}", &fraction[..fraction.len().min(12)]).parse::<i64>();
    let total = whole_part.parse::<i64>().ok().and_then(|s| s.checked_mul(PS_PER_SEC));
    let total = total.zip(picoseconds.ok()).and_then(|(seconds, ps)| seconds.checked_add(ps));
    match total {
        Some(total) => Ok(Some(if negative { -total } else { total })),
        None => bad(0, format!("{} seconds is more than 106 days", shown(text)), SECONDS),
    }
}

/// The picture type; anything but I, P and B (a sprite, a switching picture, unknown) is no kind.
pub(super) fn picture_type(text: &str) -> Option<FrameKind> {
    match text {
        "I" => Some(FrameKind::I),
        "P" => Some(FrameKind::P),
        "B" => Some(FrameKind::B),
        _ => None,
    }
}

/// Whether `text` is a packet's flags: `K__`, `_D`, `__C`.
pub(super) fn is_flags(text: &str) -> bool {
    (2..=3).contains(&text.len()) && text.bytes().all(|b| b"KDC_".contains(&b))
}

/// Which of ffprobe's two views of a stream a record belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// A packet of the container, in the order of coding.
    Packet,
    /// A decoded picture, in the order of display.
    Frame,
}

/// Fields of one row or one JSON object about a coded frame.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Record {
    pub(super) section: Option<Section>,
    /// `Some(true)` for video, `Some(false)` for anything else that is named.
    pub(super) video: Option<bool>,
    pub(super) stream: Option<u64>,
    pub(super) size: Option<u64>,
    /// When it is to be shown.
    pub(super) presentation: Option<Instant>,
    /// When it is to be decoded: the order in which a coder sends.
    pub(super) decoding: Option<Instant>,
    pub(super) duration: Option<Instant>,
    pub(super) kind: Option<FrameKind>,
}

impl Record {
    /// Whether `key` says something that is kept.
    pub(super) fn knows(key: &str) -> bool {
        matches!(
            key,
            "type"
                | "codec_type"
                | "media_type"
                | "stream_index"
                | "size"
                | "pkt_size"
                | "pts_time"
                | "pkt_pts_time"
                | "best_effort_timestamp_time"
                | "dts_time"
                | "duration_time"
                | "pkt_duration_time"
                | "pict_type"
                | "flags"
        )
    }

    /// Takes one key and its value; unknown keys are ignored.
    ///
    /// A frame's `pkt_dts_time` is not used: it is the decoding time of the packet that made the
    /// decoder output the picture, which for a reordered picture is a later packet than its own.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Result<(), BadField> {
        match key {
            "type" => {
                self.section = match value {
                    "packet" => Some(Section::Packet),
                    "frame" => Some(Section::Frame),
                    _ => None,
                }
            }
            "codec_type" | "media_type" => self.video = Some(value == "video"),
            "stream_index" => self.stream = value.parse().ok(),
            "size" | "pkt_size" => self.size = Some(size(value)?),
            "pts_time" | "pkt_pts_time" => self.presentation = seconds(value)?.or(self.presentation),
            "best_effort_timestamp_time" => self.presentation = self.presentation.or(seconds(value)?),
            "dts_time" => self.decoding = seconds(value)?,
            "duration_time" | "pkt_duration_time" => self.duration = seconds(value)?.or(self.duration),
            "pict_type" => self.kind = picture_type(value),
            "flags" if value.starts_with('K') => self.kind = self.kind.or(Some(FrameKind::I)),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact_and_signed() {
        assert_eq!(seconds("0.033367"), Ok(Some(33_367_000_000)));
        assert_eq!(seconds("-0.080000"), Ok(Some(-80_000_000_000)));
        assert_eq!(seconds("12"), Ok(Some(12 * PS_PER_SEC)));
        assert_eq!(seconds("0.0000000000019"), Ok(Some(1)));
        assert_eq!(seconds("N/A"), Ok(None));
        for text in ["", "-", ".", "1.", "0:00:01.0", "1e3", "--1", "99999999", "1.2.3", "é"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_whole_and_believable() {
        assert_eq!(size("534"), Ok(534));
        for (text, reason) in [
            ("", "empty"),
            ("0", "no bytes"),
            ("-3", "negative"),
            ("12.5", "not a whole"),
            ("1073741825", "larger"),
            ("99999999999999999999999", "larger"),
        ] {
            assert!(size(text).unwrap_err().reason.contains(reason), "{text}");
        }
    }
}
