//! Detection of a file's format by its first bytes: users rename files, and half of the wrong ones
//! are one command away from a right one.

use super::TraceFormat;
use super::error::{ANY, Fault, ROWS, TracePosition};
use super::pcap;

/// How much of a file is looked at.
pub(super) const LOOKED_AT: usize = 4096;

/// Starts of files that are no traces, what they are, and what would help.
const OTHERS: [(&[u8], &str, &str); 17] = [
    (b"\xff\xfe", "a text in UTF-16", UTF8),
    (b"\xfe\xff", "a text in UTF-16", UTF8),
    (b"\0\0\xfe\xff", "a text in UTF-32", UTF8),
    (b"\x1f\x8b", "compressed with gzip", "the file that `gzip -d` makes of it"),
    (b"\x28\xb5\x2f\xfd", "compressed with Zstandard", "the file that `zstd -d` makes of it"),
    (b"\xfd7zXZ\0", "compressed with xz", "the file that `xz -d` makes of it"),
    (b"BZh", "compressed with bzip2", "the file that `bzip2 -d` makes of it"),
    (b"PK\x03\x04", "a zip archive", "one of the files in the archive"),
    (b"\x1a\x45\xdf\xa3", "the video itself (Matroska)", ROWS),
    (b"\0\0\x01\xba", "the video itself (MPEG program stream)", ROWS),
    (b"\0\0\x01\xb3", "the video itself (MPEG)", ROWS),
    (b"\0\0\0\x01", "the video itself (H.264 or H.265)", ROWS),
    (b"RIFF", "the video itself (AVI)", ROWS),
    (b"PAR1", "a Parquet file", ANY),
    (b"\xa1\xb2\xcd\x34", "a pcap of a modified libpcap", "a pcap that `editcap -F pcap` makes of it"),
    (b"\x34\xcd\xb2\xa1", "a pcap of a modified libpcap", "a pcap that `editcap -F pcap` makes of it"),
    (b"<", "XML", ROWS),
];

/// The start of a pcapng capture.
pub(super) const PCAPNG: &[u8] = &[0x0a, 0x0d, 0x0d, 0x0a];

const UTF8: &str = "the same text in UTF-8; in PowerShell, `... | Out-File -Encoding utf8 FILE`";

/// The kind of trace that starts with `head`, which is the whole file if it is shorter than [`LOOKED_AT`].
/// Text that is not JSON is said to be rows, of which a plain list of sizes is a case.
pub(super) fn format(head: &[u8]) -> Result<TraceFormat, Fault> {
    let refuse = |what: &str, valid| {
        Err(Fault::new(TracePosition::Whole, format!("it is {what}, not a trace"), valid))
    };
    if head.is_empty() {
        return Err(Fault::new(TracePosition::Whole, "it is empty", ANY));
    }
    if head.starts_with(PCAPNG) {
        return Ok(TraceFormat::PcapNg);
    }
    if head.first_chunk().copied().and_then(pcap::magic).is_some() {
        return Ok(TraceFormat::Pcap);
    }
    if let Some((_, what, valid)) = OTHERS.iter().find(|(start, ..)| head.starts_with(start)) {
        return refuse(what, valid);
    }
    if head.get(4..8) == Some(b"ftyp") {
        return refuse("the video itself (MP4)", ROWS);
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    if let Some(zero) = text.iter().position(|byte| *byte == 0) {
        // A text in UTF-16 without a mark has a zero in every other byte from the first or second on.
        let wide =
            zero <= 1 && text.len() > 3 && text[zero + 2] == 0 && text[1 - zero] != 0 && text[3 - zero] != 0;
        return match wide {
            true => refuse("a text in UTF-16", UTF8),
            false => refuse("binary and of no known kind", ANY),
        };
    }
    match text.trim_ascii_start() {
        [b'{', ..] => Ok(TraceFormat::Json),
        [b'[', ..] if text.trim_ascii_start().starts_with(b"[PACKET]") => {
            refuse("ffprobe's default output", ROWS)
        }
        [b'[', ..] if text.trim_ascii_start().starts_with(b"[FRAME]") => {
            refuse("ffprobe's default output", ROWS)
        }
        [b'[', ..] => refuse("a JSON list", "JSON as ffprobe writes it, or one size per line"),
        _ => Ok(TraceFormat::Rows),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_traces_are_named() {
        for (head, words) in [
            (&b""[..], "empty"),
            (b"\xff\xfe1\0", "UTF-16"),
            (b"1\x002\x003\0", "UTF-16"),
            (b"\0\x31\0\x32", "UTF-16"),
            (b"\0", "binary"),
            (b"\0\0", "binary"),
            (b"1\0", "binary"),
            (b"1\0\0\0", "binary"),
            (b"\x7fELF\x02\0\0", "binary"),
            (b"\x1f\x8b\x08", "gzip"),
            (b"\0\0\0\x20ftypisom", "MP4"),
            (b"\x1a\x45\xdf\xa3", "Matroska"),
            (b"[PACKET]\nsize=3", "default output"),
            (b"<?xml", "XML"),
        ] {
            assert!(format(head).unwrap_err().reason.contains(words), "{head:?}");
        }
        assert_eq!(format(b" \n{"), Ok(TraceFormat::Json));
        assert_eq!(format(b"\xef\xbb\xbf{"), Ok(TraceFormat::Json));
        assert_eq!(format(b"\xd4\xc3\xb2\xa1"), Ok(TraceFormat::Pcap));
        assert_eq!(format(b"12"), Ok(TraceFormat::Rows));
    }
}
