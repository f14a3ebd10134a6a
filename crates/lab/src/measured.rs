//! Logs of measuring programs, beside the bound and the simulated worst case of channels.
//!
//! A reader turns the file of a program into packets or counts. [`rows`] compares these with channels.
//! A delay is compared only with a bound that covers all of it:
//!
//! ```text
//! isochron         wake-up of the sender → arrival at the program       the channel
//!                  adapter of the sender → adapter of the receiver      the channel, of which it is a part
//! captures         capture at the sender → capture at the receiver      the channel, of which it is a part
//! cyclictest       planned → real wake-up of a thread                   [`ComparedChannel::wake_up`]
//! RTC-Testbench    program → program                                    the channel
//!                  reference → mirror → reference                       the channel there, the time in the
//!                                                                       mirror, and the channel back
//! ```
//!
//! A packet that did not arrive has no delay, so a worst case alone would hide it. Each row therefore
//! has the number of packets that are missing, as far as the log contains it.

mod captures;
mod cyclictest;
mod histogram;
mod isochron;
mod rows;
mod testbench;

use std::fmt;
use std::str::FromStr;

use laxity_model::source::trace;
use laxity_units::Span;
use laxity_world::text::clean;

pub use captures::{Captures, File, Sequence, Stream};
pub use cyclictest::Wakeups;
pub use histogram::Histogram;
pub use isochron::IsochronLog;
pub use rows::{ComparedChannel, MeasuredRow, MeasuredVerdict, Pair, rows};
pub use testbench::TestbenchLog;

/// An error of a log, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogError {
    file: String,
    place: Place,
    what: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A line, counted from 1.
    Line(usize),
    /// A byte, counted from 0.
    Byte(usize),
    /// All of the file.
    File,
}

impl LogError {
    fn new(file: &str, place: Place, what: impl Into<String>) -> Self {
        Self { file: file.into(), place, what: what.into() }
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, what) = (clean(&self.file), clean(&self.what));
        match self.place {
            Place::Line(line) => write!(f, "{file}:{line}: {what}"),
            Place::Byte(byte) => write!(f, "{file}: byte {byte}: {what}"),
            Place::File => write!(f, "{file}: {what}"),
        }
    }
}

impl std::error::Error for LogError {}

/// A log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Log {
    /// Packets of `isochron send` and `isochron rcv`.
    Isochron(IsochronLog),
    /// A capture at the sender and one at the receiver.
    Captures(Captures),
    /// Wake-ups of threads, by cyclictest.
    Cyclictest(Wakeups),
    /// The log file of the RTC-Testbench.
    Testbench(TestbenchLog),
    /// The histogram of round trips of the RTC-Testbench.
    Histogram(Histogram),
}

/// The part of the delay that a log measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stretch {
    /// From the wake-up of the sending program to the arrival at the receiving program.
    WakeupToArrival,
    /// From the hardware timestamp of the sender to that of the receiver.
    AdapterToAdapter,
    /// From the capture at the sender to that at the receiver.
    CaptureToCapture,
    /// From the time at which a thread was to wake up to its wake-up.
    WakeUp,
    /// From one program to the other.
    OneWay,
    /// From a program to the other and back.
    RoundTrip,
}

impl Stretch {
    /// The stretch in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::WakeupToArrival => "wake-up to arrival",
            Self::AdapterToAdapter => "adapter to adapter",
            Self::CaptureToCapture => "capture to capture",
            Self::WakeUp => "wake-up",
            Self::OneWay => "one way",
            Self::RoundTrip => "round trip",
        }
    }
}

/// The longest delay of a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worst {
    /// No packet was received.
    None,
    /// It is this one.
    Is(Span),
    /// It is longer: the log has no more than a lower limit.
    Above(Span),
    /// A packet arrived before it was sent, by this much: the clocks differ.
    Clocks(Span),
}

impl Worst {
    /// The delay between two times that are `ps` picoseconds apart, less the time that a packet waited
    /// for its logical arrival.
    fn of(ps: i128, waited: Span) -> Self {
        let span = Span::from_ps(u64::try_from(ps.unsigned_abs()).unwrap_or(u64::MAX));
        match ps < 0 {
            true => Self::Clocks(span),
            false => Self::Is(span.saturating_sub(waited)),
        }
    }

    /// The worse of two. Clocks that differ are worst: no delay can be judged then.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, worst) | (worst, Self::None) => worst,
            (Self::Clocks(a), Self::Clocks(b)) => Self::Clocks(a.max(b)),
            (clocks @ Self::Clocks(_), _) | (_, clocks @ Self::Clocks(_)) => clocks,
            (Self::Is(a), Self::Is(b)) => Self::Is(a.max(b)),
            (Self::Above(a), Self::Is(b) | Self::Above(b)) | (Self::Is(b), Self::Above(a)) => {
                Self::Above(a.max(b))
            }
        }
    }
}

/// Packets that were sent and are not among the received ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The log has no count of the sender.
    Unknown,
    /// All were lost.
    Lost(u64),
    /// A log that may end while packets are under way.
    Between {
        /// Those that were lost for certain.
        least: u64,
        /// Those that did not arrive before the end of the log.
        most: u64,
    },
}

/// The delays of a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measurement {
    /// Where they begin and end.
    pub stretch: Stretch,
    /// Packets with a delay.
    pub received: u64,
    /// Packets without one.
    pub missing: Missing,
    /// The longest.
    pub worst: Worst,
}

/// Reads the log in `bytes`. The content decides which program wrote it.
///
/// # Errors
///
/// [`LogError`] with the line or byte at which it is not what that program writes.
pub fn read(file: &str, bytes: &[u8]) -> Result<Log, LogError> {
    if trace::is_capture(bytes) {
        return Err(LogError::new(file, Place::File, ALONE));
    }
    if isochron::is_one(bytes) {
        return IsochronLog::parse(file, bytes).map(Log::Isochron);
    }
    let text = std::str::from_utf8(bytes).map_err(|error| match error.valid_up_to() {
        0 => LogError::new(file, Place::File, NONE),
        valid => {
            let line = 1 + bytes[..valid].iter().filter(|byte| **byte == b'\n').count();
            LogError::new(file, Place::Line(line), "this is no text in UTF-8")
        }
    })?;
    match () {
        () if text.trim().is_empty() => Err(LogError::new(file, Place::File, "the file is empty")),
        () if cyclictest::is_one(text) => Wakeups::parse(file, text).map(Log::Cyclictest),
        () if histogram::is_one(text) => Histogram::parse(file, text).map(Log::Histogram),
        () if testbench::is_one(text) => TestbenchLog::parse(file, text).map(Log::Testbench),
        () => Err(LogError::new(file, Place::File, NONE)),
    }
}

/// Reads the captures of a stream at its sender and at its receiver.
///
/// # Errors
///
/// [`LogError`] with the file that is no capture, or with the byte of the packet that does not fit.
pub fn read_captures(sent: File<'_>, received: File<'_>, stream: Stream) -> Result<Log, LogError> {
    for (file, bytes) in [sent, received] {
        if !trace::is_capture(bytes) {
            let what = "this is no capture: `CHANNEL=SENT,RECEIVED` names two files of pcap or pcapng";
            return Err(LogError::new(file, Place::File, what));
        }
    }
    Captures::read(sent, received, stream).map(Log::Captures)
}

/// The error for a capture without another.
const ALONE: &str = "a capture alone has no delays: `CHANNEL=SENT,RECEIVED` names one at the sender and one \
                     at the receiver";

/// The error for the file of an unknown program.
const NONE: &str = "this is none of the logs: `isochron.dat`, a capture, the output of cyclictest, or the log file or \
     histogram of the RTC-Testbench";

/// The whole number that `text` is.
fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is no whole number"))
}

/// The whole numbers of a line.
fn numbers(text: &str) -> Result<Vec<u64>, String> {
    text.split_whitespace().map(number).collect()
}

/// The class that `asked` means among `classes`, each with its name; the only one if none is asked for.
fn class<'a, T>(classes: &'a [T], name: impl Fn(&T) -> &str, asked: Option<&str>) -> Result<&'a T, String> {
    let names: Vec<&str> = classes.iter().map(&name).collect();
    let found = match asked {
        Some(asked) => classes.iter().find(|class| name(class) == asked),
        None if classes.len() == 1 => classes.first(),
        None => None,
    };
    found.ok_or_else(|| {
        let names = names.join(", ");
        match asked {
            Some(asked) => format!("it has no traffic class `{asked}`; it has {names}"),
            None => format!("it has several traffic classes: {names}; `CHANNEL:CLASS=FILE` names one"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_files_are_refused() {
        let said = |bytes: &[u8]| read("a.log", bytes).unwrap_err().to_string();
        assert_eq!(said(b""), "a.log: the file is empty");
        assert_eq!(said(b" \n"), "a.log: the file is empty");
        assert_eq!(said(b"title = \"a\"\n"), format!("a.log: {NONE}"));
        assert_eq!(said(b"\xff\xfe"), format!("a.log: {NONE}"));
        assert_eq!(said(b"[ 1\n\n \xff"), "a.log:3: this is no text in UTF-8");
    }
}
