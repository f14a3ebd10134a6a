//! Limits of this machine for the script of a claim.
//!
//! The lab reads no clock. A script may have another author, and one that fills the memory ends the
//! terminal as well. So the command, which has a clock and a machine, sets the limits.

use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::time::{Duration, Instant};

use laxity_report::claims::ScriptBudget;

const TIME: Duration = Duration::from_secs(2);
const MEMORY: u64 = 64 << 20;
/// The system is asked no more often than this: an answer costs it up to 30 us, and a script fills
/// 10 MB in this time.
const INTERVAL: Duration = Duration::from_millis(1);

/// The state of this program at an instant, by the operating system; `None` for each value that the
/// system does not give.
#[derive(Clone, Copy)]
struct Usage {
    /// Time of this thread on a processor.
    processor: Option<Duration>,
    /// Resident memory of the program in bytes.
    memory: Option<u64>,
}

/// Of one script, from now on: 2 s of a processor, so that what else the machine does ends none,
/// and 64 MiB more than the program has now, where the system says what it has.
///
/// The first reading is [`INTERVAL`] after the start, so that a script that ends before costs no
/// reading at all.
#[allow(
    clippy::disallowed_methods,
    reason = "a claim that exceeds it is an error, and no verdict depends on it"
)]
pub(crate) fn of_a_script() -> ScriptBudget {
    let start = Instant::now();
    let (first, due) = (Cell::new(None), Cell::new(INTERVAL));
    Box::new(move || {
        let elapsed = start.elapsed();
        if elapsed < due.get() {
            return None;
        }
        due.set(elapsed + INTERVAL);
        let now = Usage { processor: on_processor(), memory: resident() };
        let Some(Usage { processor, memory }) = first.get() else {
            first.set(Some(now));
            return None;
        };
        let took = now.processor.zip(processor).map(|(now, first)| now.saturating_sub(first));
        if took.unwrap_or(elapsed) > TIME {
            return Some(format!("it was ended after {} s", TIME.as_secs()));
        }
        let grown = now.memory.zip(memory).map(|(now, first)| now.saturating_sub(first));
        (grown > Some(MEMORY)).then(|| format!("it was ended when it had taken {} MiB", MEMORY >> 20))
    })
}

/// How long this thread has been on a processor, where the system says so.
fn on_processor() -> Option<Duration> {
    let mut text = [0; 128];
    let length = File::open("/proc/thread-self/schedstat").ok()?.read(&mut text).ok()?;
    let first = std::str::from_utf8(&text[..length]).ok()?.split(' ').next()?;
    first.parse().ok().map(Duration::from_nanos)
}

/// Bytes of memory that the program has.
fn resident() -> Option<u64> {
    // Large enough for all lines up to the one that is looked for.
    let mut text = [0; 2048];
    let length = File::open("/proc/self/status").ok()?.read(&mut text).ok()?;
    let text = std::str::from_utf8(&text[..length]).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asleep it takes none, and at work it does.
    #[test]
    #[cfg(target_os = "linux")]
    #[allow(clippy::disallowed_methods, reason = "it waits for time to pass")]
    fn time_counts_that_a_processor_was_taken() {
        let (start, began) = (Instant::now(), on_processor().expect("Linux says so"));
        std::thread::sleep(Duration::from_millis(300));
        let slept = on_processor().unwrap() - began;
        assert!(2 * slept < start.elapsed(), "{slept:?}");
        while on_processor().unwrap() - began < Duration::from_millis(20) {
            std::hint::black_box(());
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[allow(clippy::disallowed_methods, reason = "it waits for time to pass")]
    fn memory_that_is_used_is_seen() {
        let budget = of_a_script();
        assert_eq!(budget(), None);
        std::thread::sleep(2 * INTERVAL);
        assert_eq!(budget(), None, "the first reading is what a script begins with");
        let taken = vec![1_u8; 80 << 20];
        std::thread::sleep(2 * INTERVAL);
        assert!(budget().is_some_and(|why| why.contains("64 MiB")), "{}", taken.len());
    }
}
