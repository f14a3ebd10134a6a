//! Reading of a log, which may be truncated, damaged or forged.

use std::fmt;
use std::io::{self, ErrorKind, Read};

use laxity_units::Time;
use laxity_world::Input;
use serde::de::DeserializeOwned;

use super::{End, LONGEST, LogHeader, MAGIC, Wake};

/// Error in a log, and its position.
#[derive(Debug)]
pub struct LogError {
    /// Offset in the file at which the error begins.
    pub at: u64,
    what: String,
    /// The log is truncated.
    pub is_cut: bool,
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.at, self.what)
    }
}

impl std::error::Error for LogError {}

/// Log in reading.
pub struct Log<R> {
    file: R,
    at: u64,
    header: LogHeader,
    /// Wakes of the last block, in reverse order.
    wakes: Vec<Wake>,
    events: u64,
    time: u64,
    end: Option<End>,
    trailing: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Number of events before the wake.
    pub(crate) events: u64,
    /// Time of the wake.
    pub(crate) at: Time,
    /// Inputs, each with the time at which it was read.
    pub(crate) inputs: Vec<(Time, Input)>,
}

impl<R: Read> Log<R> {
    /// Reads the start of a log.
    pub fn open(mut file: R) -> Result<Self, LogError> {
        let error = |what: &str| LogError { at: 0, what: what.into(), is_cut: false };
        let mut magic = [0; MAGIC.len()];
        file.read_exact(&mut magic).map_err(|why| match why.kind() {
            ErrorKind::UnexpectedEof => error("this is too short for a log of an emulation"),
            _ => error(&format!("it cannot be read: {why}")),
        })?;
        if magic != MAGIC.as_bytes() {
            let ours = MAGIC.trim_end();
            return Err(error(&match magic.starts_with(b"laxity log ") {
                true => format!("this log has a format that this version does not know; it reads `{ours}`"),
                false => format!("this is no log of an emulation, which begins with `{ours}`"),
            }));
        }
        let mut at = MAGIC.len() as u64;
        let start = at;
        let (kind, bytes) = block(&mut file, &mut at)?;
        if kind != 0 {
            return Err(LogError {
                at: start,
                what: "the log does not begin with a header".into(),
                is_cut: false,
            });
        }
        let header = decode(&bytes, start)?;
        Ok(Self { file, at, header, wakes: Vec::new(), events: 0, time: 0, end: None, trailing: 0 })
    }

    /// Identification of the run.
    pub fn header(&self) -> &LogHeader {
        &self.header
    }

    /// End of the run, once all its wakes are read.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Number of bytes after the end of the log, once it is read.
    pub fn trailing(&self) -> u64 {
        self.trailing
    }

    /// Entries of the next block of `kind`; `None` after the last.
    pub(crate) fn next_entries<T: DeserializeOwned>(&mut self, kind: u8) -> Result<Option<Vec<T>>, LogError> {
        if self.end.is_some() {
            return Ok(None);
        }
        let start = self.at;
        let (found, bytes) = block(&mut self.file, &mut self.at)?;
        if found == kind {
            return decode(&bytes, start).map(Some);
        }
        self.last(found, &bytes, start).map(|()| None)
    }

    /// Reads a block without entries: the end.
    fn last(&mut self, kind: u8, bytes: &[u8], start: u64) -> Result<(), LogError> {
        if kind != 2 {
            let what = format!("there is no block of kind {kind}");
            return Err(LogError { at: start, what, is_cut: false });
        }
        self.end = Some(decode(bytes, start)?);
        self.trailing = io::copy(&mut self.file, &mut io::sink()).unwrap_or(1);
        Ok(())
    }

    /// Next wake; `None` after the last.
    pub(crate) fn next_batch(&mut self) -> Result<Option<Batch>, LogError> {
        let start = self.at;
        while self.wakes.is_empty() {
            if self.end.is_some() {
                return Ok(None);
            }
            let (kind, bytes) = block(&mut self.file, &mut self.at)?;
            match kind {
                1 => self.wakes = decode(&bytes, start)?,
                _ => self.last(kind, &bytes, start)?,
            }
            self.wakes.reverse();
        }
        let wake = self.wakes.pop().expect("there is one");
        let overflow =
            || LogError { at: start, what: "its time goes beyond all times".into(), is_cut: false };
        self.events = self.events.checked_add(wake.events).ok_or_else(overflow)?;
        self.time = self.time.checked_add(wake.at).ok_or_else(overflow)?;
        let mut read_at = self.time;
        let input = |(later, logged): &(u64, super::LoggedInput)| {
            read_at = read_at.checked_add(*later).ok_or_else(overflow)?;
            let input = logged.input(&self.header.channels, &self.header.hosts).ok_or_else(|| LogError {
                at: start,
                what: format!("it has an input for what was not outside: {logged:?}"),
                is_cut: false,
            })?;
            Ok((Time::from_ps(read_at), input))
        };
        let inputs = wake.inputs.iter().map(input).collect::<Result<_, _>>()?;
        Ok(Some(Batch { events: self.events, at: Time::from_ps(self.time), inputs }))
    }
}

/// Reads a block; returns its kind and contents, and moves `at` behind it.
fn block(file: &mut impl Read, at: &mut u64) -> Result<(u8, Vec<u8>), LogError> {
    let start = *at;
    let error = |what: String| LogError { at: start, what, is_cut: false };
    let cut = |why: io::Error| match why.kind() {
        ErrorKind::UnexpectedEof => {
            let what = "the log ends without its end: the run was killed, or the file is cut off";
            LogError { is_cut: true, ..error(what.into()) }
        }
        _ => error(format!("it cannot be read: {why}")),
    };
    let mut head = [0; 8];
    file.read_exact(&mut head).map_err(cut)?;
    let [length, sum] =
        [0, 4].map(|i| u32::from_le_bytes(head[i..i + 4].try_into().expect("four bytes are four bytes")));
    let length = length as usize;
    if length == 0 || length > LONGEST {
        return Err(error(format!("a block cannot have {length} bytes: the log is damaged")));
    }
    // Read incrementally: a damaged length must not allocate a gigabyte for a small file.
    let mut bytes = Vec::new();
    let read = file.take(length as u64).read_to_end(&mut bytes).map_err(cut)?;
    if read < length {
        return Err(cut(ErrorKind::UnexpectedEof.into()));
    }
    if crc32fast::hash(&bytes) != sum {
        return Err(error("a block does not have its checksum: the log is damaged".into()));
    }
    *at += 8 + length as u64;
    Ok((bytes[0], bytes.split_off(1)))
}

fn decode<T: DeserializeOwned>(bytes: &[u8], at: u64) -> Result<T, LogError> {
    let error = |what: String| LogError { at, what, is_cut: false };
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(error(format!("a block has {} bytes more than it says", rest.len()))),
        Err(why) => Err(error(format!("a block does not say what it should: {why}"))),
    }
}
