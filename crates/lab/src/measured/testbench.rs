//! The log file of the RTC-Testbench: counts and times of each traffic class, once an interval.
//!
//! A line has a time, a level and a message, `[ 1700000000. 12345678]: [INFO]: …`; newer versions pad
//! times with zeros. One line an interval, of level `INFO`, has the statistics since the start of the
//! run (`src/log.c` and `src/stat.c` of the RTC-Testbench):
//!
//! ```text
//! TsnHighSent=2000 | TsnHighReceived=1998 | TsnHighRttMin=1012 [us] | TsnHighRttMax=1100 [us] | …
//! ```
//!
//! Times are whole microseconds, rounded down. The reference measures round trips, and the one-way
//! delays from the mirror to itself. The mirror measures the one-way delays from the reference. It has
//! no round trips, so the least of them is above the longest.
//!
//! A one-way delay begins when a program begins to send the packets of a cycle, and a round trip when
//! the call that sends them has returned. Both end when the program has taken the packet. The mirror
//! sends a packet back in its next cycle, so the time in the mirror is a part of each round trip.
//!
//! A signal resets the statistics. The parts before and after it are put together.

use laxity_units::Span;

use super::{LogError, Measurement, Missing, Place, Stretch, Worst};

/// The least and the longest of a time in microseconds.
type Extremes = Option<(i128, i128)>;

/// The statistics of a class in one line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Statistics {
    sent: u64,
    received: u64,
    round_trip: Extremes,
    one_way: Extremes,
}

/// A traffic class.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Class {
    name: String,
    /// Before the last reset.
    before: Statistics,
    /// Since the last reset.
    since: Statistics,
    /// Packets that were lost for certain before the last line.
    lost: u64,
}

/// The statistics of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestbenchLog {
    classes: Vec<Class>,
    resets: u64,
    /// Lines of level `WARNING` or `ERROR`, and the first.
    complaints: Option<(u64, usize)>,
}

/// Whether the text is such a log: it starts with the time of a line.
pub(super) fn is_one(text: &str) -> bool {
    text.starts_with('[')
}

impl TestbenchLog {
    /// Reads a file.
    pub(super) fn parse(file: &str, text: &str) -> Result<Self, LogError> {
        let mut log = Self { classes: Vec::new(), resets: 0, complaints: None };
        for (i, line) in text.lines().enumerate() {
            let fault = |what: String| LogError::new(file, Place::Line(i + 1), what);
            let Some((level, message)) = message(line) else {
                if line.trim().is_empty() {
                    continue;
                }
                return Err(fault("a line starts with `[TIME]: [LEVEL]: `".into()));
            };
            match level {
                "INFO" if message.contains("Sent=") => log.take(message).map_err(fault)?,
                "WARNING" | "ERROR" => log.complaints.get_or_insert((0, i + 1)).0 += 1,
                "INFO" | "DEBUG" => {}
                other => return Err(fault(format!("there is no level `{other}`"))),
            }
        }
        match log.classes.is_empty() {
            true => Err(LogError::new(file, Place::File, "no line has statistics of a traffic class")),
            false => Ok(log),
        }
    }

    /// Takes the statistics of a line.
    fn take(&mut self, message: &str) -> Result<(), String> {
        let read = statistics(message)?;
        let falls = |(name, now): &(String, Statistics)| {
            self.classes.iter().any(|class| class.name == *name && now.falls_behind(&class.since))
        };
        let reset = read.iter().any(falls);
        self.resets += u64::from(reset);
        for class in self.classes.iter_mut().filter(|_| reset) {
            class.before = class.before.and(&class.since);
            class.since = Statistics::default();
        }
        for (name, now) in read {
            match self.classes.iter_mut().find(|class| class.name == name) {
                Some(class) => class.take(now),
                None => self.classes.push(Class::new(name, now)),
            }
        }
        Ok(())
    }

    /// The delays of a class.
    pub(super) fn measurements(&self, asked: Option<&str>) -> Result<Measurements, String> {
        let class = super::class(&self.classes, |class| &class.name, asked)?;
        let all = class.before.and(&class.since);
        let is_reference = all.round_trip.is_some() || (all.received == 0 && all.sent > 0);
        let most = all.sent.saturating_sub(all.received);
        let missing = Missing::Between { least: class.lost.min(most), most };
        let round_trip = Measurement {
            stretch: Stretch::RoundTrip,
            received: all.received,
            missing,
            worst: worst(all.round_trip),
        };
        let one_way = all.one_way.map(|_| Measurement {
            stretch: Stretch::OneWay,
            received: all.received,
            missing: Missing::Unknown,
            worst: worst(all.one_way),
        });
        Ok(Measurements { round_trip: is_reference.then_some(round_trip), one_way })
    }

    /// Facts that the rows do not contain.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.resets > 0 {
            notes.push(format!("the statistics were reset {} times; all parts are counted", self.resets));
        }
        if let Some((count, first)) = self.complaints {
            notes.push(format!("{count} lines are warnings or errors, the first is line {first}"));
        }
        notes
    }
}

/// The delays of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Measurements {
    /// Of the reference; `None` in the log of a mirror.
    pub(super) round_trip: Option<Measurement>,
    /// To the program that wrote the log.
    pub(super) one_way: Option<Measurement>,
}

impl Class {
    fn new(name: String, since: Statistics) -> Self {
        Self { name, before: Statistics::default(), since, lost: 0 }
    }

    /// Counts lost packets. Only packets of this interval can be under way, unless a round trip takes as
    /// long as an interval.
    fn take(&mut self, now: Statistics) {
        let interval = now.sent.saturating_sub(self.since.sent);
        let back = self.before.received.saturating_add(now.received);
        let missing = self.before.sent.saturating_add(now.sent).saturating_sub(back);
        self.lost = self.lost.max(missing.saturating_sub(interval));
        self.since = now;
    }
}

impl Statistics {
    /// Whether these are statistics after a reset since `earlier`: none of them can fall.
    fn falls_behind(&self, earlier: &Self) -> bool {
        let longest = |extremes: Extremes| extremes.map(|(_, longest)| longest);
        self.sent < earlier.sent
            || self.received < earlier.received
            || longest(self.round_trip) < longest(earlier.round_trip)
            || longest(self.one_way) < longest(earlier.one_way)
    }

    fn and(&self, other: &Self) -> Self {
        let wider = |a: Extremes, b: Extremes| match (a, b) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        Self {
            sent: self.sent.saturating_add(other.sent),
            received: self.received.saturating_add(other.received),
            round_trip: wider(self.round_trip, other.round_trip),
            one_way: wider(self.one_way, other.one_way),
        }
    }
}

/// Level and message of a line.
fn message(line: &str) -> Option<(&str, &str)> {
    let (time, rest) = line.strip_prefix('[')?.split_once("]: [")?;
    let is_time = |c: char| c.is_ascii_digit() || matches!(c, ' ' | '.');
    if time.is_empty() || !time.chars().all(is_time) {
        return None;
    }
    let (level, message) = rest.split_once("]:")?;
    Some((level, message.trim()))
}

/// The classes of a message, in their order.
fn statistics(message: &str) -> Result<Vec<(String, Statistics)>, String> {
    let mut classes: Vec<(String, Vec<(&str, i128)>)> = Vec::new();
    for field in message.split('|').map(str::trim).filter(|field| !field.is_empty()) {
        let (key, value) = field.split_once('=').ok_or_else(|| format!("`{field}` has no value"))?;
        if let Some(name) = key.strip_suffix("Sent") {
            if classes.iter().any(|(other, _)| other == name) {
                return Err(format!("the traffic class `{name}` is there twice"));
            }
            classes.push((name.to_string(), Vec::new()));
        }
        let (name, fields) = classes.last_mut().ok_or("a class starts with the packets that it sent")?;
        let kind = key.strip_prefix(name.as_str()).ok_or_else(|| format!("`{key}` is none of `{name}`"))?;
        if KINDS.contains(&kind) {
            let number = value.trim_end_matches("[us]").trim();
            let number =
                number.parse().ok().filter(|number: &i128| *number >= -LARGEST && *number <= LARGEST);
            fields.push((kind, number.ok_or_else(|| format!("`{key}` is no number: {value}"))?));
        }
    }
    classes.into_iter().map(|(name, fields)| of_fields(&name, &fields).map(|read| (name, read))).collect()
}

/// The fields that are read.
const KINDS: [&str; 6] = ["Sent", "Received", "RttMin", "RttMax", "OnewayMin", "OnewayMax"];
/// The largest value, which also is the least time of no packets.
const LARGEST: i128 = u64::MAX as i128;

fn of_fields(name: &str, fields: &[(&str, i128)]) -> Result<Statistics, String> {
    let value = |kind: &str| fields.iter().find(|(key, _)| *key == kind).map(|(_, value)| *value);
    let count = |kind: &str| {
        let count = value(kind).ok_or_else(|| format!("`{name}{kind}` is missing: the line is cut off"))?;
        u64::try_from(count).map_err(|_| format!("`{name}{kind}` is below zero"))
    };
    let (sent, received) = (count("Sent")?, count("Received")?);
    let extremes = |least: &str, longest: &str| match (value(least), value(longest)) {
        (Some(least), Some(longest)) => Ok(Some((least, longest)).filter(|(least, most)| least <= most)),
        (None, None) => Ok(None),
        _ => Err(format!("only one of `{name}{least}` and `{name}{longest}` is there: the line is cut off")),
    };
    let round_trip = extremes("RttMin", "RttMax")?;
    let one_way = extremes("OnewayMin", "OnewayMax")?;
    let none = received == 0;
    let measured = |extremes: Extremes| extremes.filter(|_| !none);
    Ok(Statistics { sent, received, round_trip: measured(round_trip), one_way: measured(one_way) })
}

/// The longest of the times. One that is below zero, or wraps around there, says that clocks differ.
fn worst(extremes: Extremes) -> Worst {
    let Some((least, longest)) = extremes else { return Worst::None };
    let span = |us: i128| {
        let ps = us.unsigned_abs().saturating_mul(1_000_000);
        Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    };
    match () {
        () if least < 0 => Worst::Clocks(span(least)),
        // Older versions subtract without a sign, and divide by 1000.
        () if longest > WRAPPED / 2 => Worst::Clocks(span(WRAPPED - longest.min(WRAPPED))),
        () => Worst::Is(span(longest)),
    }
}

/// One nanosecond below zero, in microseconds there.
const WRAPPED: i128 = LARGEST / 1000;

#[cfg(test)]
mod tests;
