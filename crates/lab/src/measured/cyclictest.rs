//! cyclictest: how late threads woke up, by each of its three outputs.
//!
//! The layout is that of `print_stat`, `print_hist` and `write_stats` in `src/cyclictest/cyclictest.c` of
//! rt-tests (0.8 to 2.4):
//!
//! ```text
//! T: 0 ( 4152) P:80 I:1000 C:    500 Min:      4 Act:    9 Avg:    7 Max:     834
//!
//! # Histogram                              -h: a column for each thread; -H: and one for all
//! 000000 000000  000000
//! …
//! # Total: 000001997 000001975             threads with a lateness below the last line
//! # Min Latencies: 00004 00006             (`Latencys` in old versions)
//! # Max Latencies: 00834 03634
//! # Histogram Overflows: 00003 00025       later than the last line
//!
//! {"resolution_in_ns": 0, "thread": {"0": {"histogram": {"4": 1, …}, "cycles": 500, "max": 834, …}}}
//! ```
//!
//! Times are microseconds, rounded down, or nanoseconds with `-N`. JSON has the unit. A line of a thread
//! shows it by the width of its columns: `Act` and `Avg` have 5 digits or, with `-N`, 8. A histogram does
//! not have the unit, so its times count as microseconds. The longest lateness is `Max`, which covers
//! those that a histogram has no line for.

use laxity_units::Span;
use serde_json::Value;

use super::{LogError, Measurement, Missing, Place, Stretch, Worst, number, numbers};

/// The first line of a histogram.
const HEAD: &str = "# Histogram";
/// A key that JSON of cyclictest has.
const JSON: &str = "\"resolution_in_ns\"";

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Thread {
    /// Its number.
    name: String,
    wakeups: u64,
    /// The longest lateness.
    longest: Span,
}

/// The wake-ups of the threads of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wakeups {
    /// Those that woke up.
    threads: Vec<Thread>,
    notes: Vec<String>,
}

/// Whether the text is of cyclictest.
pub(super) fn is_one(text: &str) -> bool {
    is_json(text) || text.lines().any(|line| line == HEAD || is_thread(line))
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains(JSON)
}

/// Whether the line has the state of a thread. A spike (`--spike`) begins alike.
fn is_thread(line: &str) -> bool {
    line.starts_with("T:") && line.contains(" P:") && line.contains(" I:")
}

impl Wakeups {
    /// Reads a file.
    pub(super) fn parse(file: &str, text: &str) -> Result<Self, LogError> {
        let fault = |(line, what): (usize, String)| match line {
            0 => LogError::new(file, Place::File, what),
            line => LogError::new(file, Place::Line(line), what),
        };
        let mut log = match () {
            () if is_json(text) => of_json(text),
            () if text.lines().any(|line| line == HEAD) => of_histogram(text),
            () => of_lines(text),
        }
        .map_err(fault)?;
        log.threads.retain(|thread| thread.wakeups > 0);
        match log.threads.is_empty() {
            true => Err(LogError::new(file, Place::File, "no thread woke up")),
            false => Ok(log),
        }
    }

    /// The lateness of the thread `asked`, or of all.
    pub(super) fn measurement(&self, asked: Option<&str>) -> Result<Measurement, String> {
        let mut threads = self.threads.iter().filter(|thread| asked.is_none_or(|name| thread.name == name));
        let first = threads.next().ok_or_else(|| {
            let names: Vec<&str> = self.threads.iter().map(|thread| &thread.name[..]).collect();
            format!("it has no thread `{}`; it has {}", asked.unwrap_or_default(), names.join(", "))
        })?;
        let (wakeups, longest) =
            threads.fold((first.wakeups, first.longest), |(wakeups, longest), thread| {
                (wakeups.saturating_add(thread.wakeups), longest.max(thread.longest))
            });
        let (stretch, missing) = (Stretch::WakeUp, Missing::Unknown);
        Ok(Measurement { stretch, received: wakeups, missing, worst: Worst::Is(longest) })
    }

    /// Facts that the rows do not contain.
    pub(super) fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

/// Why a text is not what cyclictest writes, behind the number of the line; 0 for all of the file.
type Fault = (usize, String);

/// A lateness in its unit. A negative one is printed as it is, or without its sign as a number that is
/// beyond 63 bits.
fn lateness(text: &str, nanoseconds: bool) -> Result<Span, String> {
    let count = u64::try_from(number::<i128>(text)?).ok().filter(|count| *count <= i64::MAX.unsigned_abs());
    let count = count.ok_or("a thread woke up before its time: its clock was set")?;
    Ok(Span::from_ps(count.saturating_mul(if nanoseconds { 1000 } else { 1_000_000 })))
}

/// The last line of each thread.
fn of_lines(text: &str) -> Result<Wakeups, Fault> {
    let mut threads: Vec<Thread> = Vec::new();
    for (i, line) in text.lines().enumerate().filter(|(_, line)| is_thread(line)) {
        let field = |label: &str| {
            let behind = line.split_once(label).map(|(_, behind)| behind);
            let text = behind.map(str::trim_start).and_then(|text| text.split([' ', ')']).next());
            let text = text.filter(|text| !text.is_empty());
            let text = text.ok_or_else(|| (i + 1, format!("the line is cut off: it has no `{label}`")))?;
            let padding = behind.map_or(0, |behind| behind.len() - behind.trim_start().len());
            Ok((text, padding + text.len()))
        };
        let wide = [field("Act:")?, field("Avg:")?].iter().all(|(_, width)| *width >= 8);
        let at = |what| (i + 1, what);
        let longest = lateness(field("Max:")?.0, wide).map_err(at)?;
        let wakeups = number(field("C:")?.0).map_err(at)?;
        let thread = Thread { name: field("T:")?.0.into(), wakeups, longest };
        match threads.iter_mut().find(|other| other.name == thread.name) {
            Some(other) => *other = thread,
            None => threads.push(thread),
        }
    }
    Ok(Wakeups { threads, notes: Vec::new() })
}

fn of_histogram(text: &str) -> Result<Wakeups, Fault> {
    let head = text.lines().position(|line| line == HEAD).unwrap_or_default();
    let mut lines = text.lines().enumerate().skip(head + 1).map(|(i, line)| (i + 1, line)).peekable();
    let end = text.lines().count();
    let mut sums: Vec<u64> = Vec::new();
    // The longest lateness with a line, of each column.
    let mut longest: Vec<Option<u64>> = Vec::new();
    let mut size = 0u64;
    while let Some((at, line)) = lines.next_if(|(_, line)| !line.starts_with('#')) {
        let (time, counts) = line.split_once(' ').unwrap_or((line, ""));
        if time.parse() != Ok(size) {
            return Err((at, format!("a line begins with its lateness, which is {size} here")));
        }
        let counts = numbers(counts).map_err(|what| (at, what))?;
        if size == 0 {
            (sums, longest) = (vec![0; counts.len()], vec![None; counts.len()]);
        }
        if counts.is_empty() || counts.len() != sums.len() {
            return Err((at, format!("{} columns, and {} in the first line", counts.len(), sums.len())));
        }
        for (column, count) in counts.into_iter().enumerate() {
            let sum = sums[column].checked_add(count);
            sums[column] = sum.ok_or_else(|| (at, "more wake-ups than a number can have".to_string()))?;
            longest[column] = longest[column].max((count > 0).then_some(size));
        }
        size += 1;
    }
    if let Some(again) = lines.clone().find(|(_, line)| *line == HEAD) {
        return Err((again.0, "this is a second histogram: a log is of one run".into()));
    }
    let footer = |label: &str| {
        let found = lines.clone().find_map(|(at, line)| Some((at, line.strip_prefix(label)?)));
        let (at, rest) = found.ok_or_else(|| (end, format!("the file is cut off: it has no `{label}`")))?;
        // `Latencies:`, and `Latencys:` of old versions.
        let values = rest.split_once(':').map_or("", |(_, values)| values);
        numbers(values).map(|values| (at, values)).map_err(|what| (at, what))
    };
    let (at, totals) = footer("# Total")?;
    if totals != sums {
        return Err((at, "the totals are not the sums of the lines above".into()));
    }
    // Least latencies are of threads only; other lines have one more entry with `-H`.
    let threads = footer("# Min Latenc")?.1.len();
    let (at, maxima) = footer("# Max Latenc")?;
    let (overflows_at, overflows) = footer("# Histogram Overflows")?;
    for (at, entries) in [(at, maxima.len()), (overflows_at, overflows.len())] {
        if entries != sums.len() {
            return Err((at, format!("{entries} entries, and {} columns above", sums.len())));
        }
    }
    if threads == 0 || !(threads..=threads + 1).contains(&sums.len()) {
        return Err((at, format!("{} columns do not fit {threads} threads", sums.len())));
    }
    let thread = |i: usize| {
        let beyond = overflows[i];
        let wakeups = sums[i].saturating_add(beyond);
        let fits = match longest[i] {
            _ if beyond > 0 => maxima[i] >= size,
            Some(longest) => maxima[i] == longest,
            None => true,
        };
        if !fits {
            return Err((at, format!("the longest lateness of thread {i} does not fit its histogram")));
        }
        let longest = match wakeups {
            0 => Span::ZERO,
            _ => lateness(&maxima[i].to_string(), false).map_err(|what| (at, what))?,
        };
        Ok(Thread { name: i.to_string(), wakeups, longest })
    };
    Ok(Wakeups { threads: (0..threads).map(thread).collect::<Result<_, _>>()?, notes: Vec::new() })
}

fn of_json(text: &str) -> Result<Wakeups, Fault> {
    let all: Value = serde_json::from_str(text)
        .map_err(|error| (error.line(), format!("this is no JSON as cyclictest writes it: {error}")))?;
    let whole = |what: String| (0, what);
    let nanoseconds = match all["resolution_in_ns"].as_u64() {
        Some(flag @ (0 | 1)) => flag == 1,
        _ => return Err(whole("`resolution_in_ns` is not 0 or 1".into())),
    };
    let threads = all["thread"].as_object().ok_or_else(|| whole("it has no threads: `thread`".into()))?;
    let mut read = Vec::new();
    for (name, thread) in threads {
        let lacks = |key: &str| whole(format!("thread `{name}` has no whole number `{key}`"));
        let wakeups = thread["cycles"].as_u64().ok_or_else(|| lacks("cycles"))?;
        let max = thread["max"].as_i64().ok_or_else(|| lacks("max"))?;
        let times = thread["histogram"].as_object().into_iter().flatten().map(|(time, _)| time);
        if times.filter_map(|time| time.parse::<i64>().ok()).any(|time| time > max) {
            return Err(whole(format!("the longest lateness of thread `{name}` does not fit its histogram")));
        }
        let longest = lateness(&max.to_string(), nanoseconds).map_err(whole)?;
        read.push(Thread { name: name.clone(), wakeups, longest });
    }
    // The order in which cyclictest writes them, not that of their names.
    read.sort_by_key(|thread| thread.name.parse::<u64>().unwrap_or(u64::MAX));
    let notes = match all["return_code"].as_i64() {
        None | Some(0) => Vec::new(),
        Some(code) => vec![format!("cyclictest ended with the code {code}")],
    };
    Ok(Wakeups { threads: read, notes })
}

#[cfg(test)]
mod tests;
