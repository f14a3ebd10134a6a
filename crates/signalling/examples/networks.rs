//! Simulates random networks of managers for as long as asked, and writes down each plan that
//! breaks an invariant, cut to what it fails by: `cargo xtask soak --protocol`.

use std::num::NonZero;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use laxity_signalling::simulation::{Mix, draw, run, shrink};
use laxity_units::Span;

const USAGE: &str = "usage: cargo xtask soak --protocol [--time 1h] [--from N] [--threads N] [--out DIR]";
/// Runs that make one failing plan smaller, at most.
const TRIES: u32 = 5000;

struct Arguments {
    time: Duration,
    from: u64,
    threads: usize,
    out: PathBuf,
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(reason) => {
            eprintln!("error: {reason}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let end = now() + arguments.time;
    let (next, found) = (AtomicU64::new(arguments.from), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..arguments.threads {
            scope.spawn(|| {
                while now() < end {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let Some((least, violation)) = failing(seed) else { continue };
                    found.fetch_add(1, Ordering::Relaxed);
                    eprintln!("seed {seed}: {violation}");
                    if let Err(reason) = write(&arguments.out, seed, &format!("{violation}\n{least}")) {
                        eprintln!("error: the plan could not be written: {reason}");
                    }
                }
            });
        }
    });
    let (runs, found) = (next.into_inner() - arguments.from, found.into_inner());
    println!("{runs} networks, {found} of them broke an invariant");
    if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The plan of `seed` and how it fails, made smaller, if it does.
fn failing(seed: u64) -> Option<(String, String)> {
    let plan = draw(seed, Mix::Any);
    run(&plan).err()?;
    shrink(&plan, TRIES).map(|(least, violation)| (least.to_string(), violation.to_string()))
}

fn write(out: &PathBuf, seed: u64, text: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(out)?;
    std::fs::write(out.join(format!("network-{seed}.txt")), text)
}

fn arguments() -> Result<Arguments, String> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let out = PathBuf::from("target/soak");
    let mut read = Arguments { time: Duration::from_secs(60), from: 0, threads, out };
    let mut words = std::env::args().skip(1);
    while let Some(key) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("`{key}` needs a value"));
        let number =
            |text: String| text.parse::<u64>().map_err(|_| format!("`{text}` is not a whole number"));
        match key.as_str() {
            "--time" => {
                let span: Span = value()?.parse().map_err(|error| format!("{error}"))?;
                read.time = Duration::from_secs_f64(span.as_secs_f64());
            }
            "--from" => read.from = number(value()?)?,
            "--threads" => {
                read.threads = usize::try_from(number(value()?)?.max(1)).map_err(|e| e.to_string())?;
            }
            "--out" => read.out = value()?.into(),
            _ => return Err(format!("there is no `{key}`")),
        }
    }
    Ok(read)
}

#[allow(clippy::disallowed_methods, reason = "how long to go on is in time on the wall")]
fn now() -> Instant {
    Instant::now()
}
