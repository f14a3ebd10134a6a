//! Text, line by line, without trusting it to have lines, to end, or to be text.

use std::io::{self, BufRead, Read};

use super::TraceLimits;
use super::error::{ANY, Fault, TracePosition};

/// No row that a program writes comes near this; a file with no line ends must not be held in memory.
const LONGEST_LINE: usize = 64 * 1024;

pub(super) const TOO_LONG: &str = "a shorter file: the rows of the frames that the experiment needs, or a capture cut to \
                                   the packets' heads, as `editcap -s 64` does";

/// The lines of a text, counted, decoded and bounded.
pub(super) struct Lines<'a> {
    input: &'a mut dyn BufRead,
    limits: TraceLimits,
    taken: u64,
    number: u64,
    buffer: Vec<u8>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(input: &'a mut dyn BufRead, limits: TraceLimits) -> Lines<'a> {
        Lines { input, limits, taken: 0, number: 0, buffer: Vec::new() }
    }

    /// The next line without its end, and its number from 1; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &str)>, Fault> {
        self.buffer.clear();
        self.number += 1;
        let start = TracePosition::Text { line: self.number, column: 1 };
        let bound = LONGEST_LINE as u64 + 1;
        let read = (&mut *self.input).take(bound).read_until(b'\n', &mut self.buffer);
        let read = read.map_err(|error| Fault::io(start, &error))?;
        if read == 0 {
            return Ok(None);
        }
        self.taken += read as u64;
        if self.taken > self.limits.bytes {
            let reason = format!("the text is longer than {} bytes", self.limits.bytes);
            return Err(Fault::new(start, reason, TOO_LONG));
        }
        if read > LONGEST_LINE {
            return Err(Fault::new(start, format!("the line is longer than {LONGEST_LINE} characters"), ANY));
        }
        let line = match std::str::from_utf8(&self.buffer) {
            Ok(line) => line,
            Err(error) => return Err(not_text(&self.buffer, error.valid_up_to(), self.number)),
        };
        if let Some(place) = line.find('\0') {
            return Err(not_text(&self.buffer, place, self.number));
        }
        Ok(Some((self.number, line.trim_end_matches(['\n', '\r']))))
    }
}

fn not_text(line: &[u8], place: usize, number: u64) -> Fault {
    let column = String::from_utf8_lossy(&line[..place]).chars().count() as u64 + 1;
    let byte = line.get(place).copied().unwrap_or_default();
    Fault::new(
        TracePosition::Text { line: number, column },
        format!("the byte 0x{byte:02x} is not UTF-8 text"),
        "a text in UTF-8 or ASCII",
    )
}

/// A reader that fails once it has given more than it may, for parsers that read on their own.
pub(super) struct Metered<'a> {
    input: &'a mut dyn BufRead,
    left: u64,
}

/// Error text of [`Metered`], by which the error is recognised.
pub(super) const METER: &str = "the text is longer than the reader accepts";

impl<'a> Metered<'a> {
    pub(super) fn new(input: &'a mut dyn BufRead, limits: TraceLimits) -> Metered<'a> {
        Metered { input, left: limits.bytes }
    }
}

impl Read for Metered<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| io::Error::other(METER))?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(bytes: &[u8], limits: TraceLimits) -> Fault {
        let mut input = bytes;
        let mut lines = Lines::new(&mut input, limits);
        loop {
            match lines.next() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("no fault"),
                Err(fault) => return fault,
            }
        }
    }

    #[test]
    fn ends_of_lines_are_not_content() {
        let mut input = &b"a\r\nb\n\nc"[..];
        let mut lines = Lines::new(&mut input, TraceLimits::DEFAULT);
        assert_eq!(lines.next().unwrap(), Some((1, "a")));
        assert_eq!(lines.next().unwrap(), Some((2, "b")));
        assert_eq!(lines.next().unwrap(), Some((3, "")));
        assert_eq!(lines.next().unwrap(), Some((4, "c")));
        assert_eq!(lines.next().unwrap(), None);
    }

    #[test]
    fn what_is_not_text_is_placed() {
        let latin = fault(
            "12\n12 é\n".replace('é', "\u{1}").as_bytes(),
            TraceLimits { bytes: 3, ..TraceLimits::DEFAULT },
        );
        assert_eq!(latin.at, TracePosition::Text { line: 2, column: 1 });
        let latin = fault(b"12\n\xc3\xa9\xe9\n", TraceLimits::DEFAULT);
        assert_eq!(latin.at, TracePosition::Text { line: 2, column: 2 });
        assert!(latin.reason.contains("0xe9"), "{latin:?}");
        assert!(fault(b"12\n1\x002", TraceLimits::DEFAULT).reason.contains("0x00"));
        assert!(
            fault(&vec![b'1'; LONGEST_LINE + 9], TraceLimits::DEFAULT).reason.contains("longer than 65536")
        );
    }
}
