//! Draws and runs scenarios for as long as told, on all cores, and writes down each that fails, cut to what it fails
//! by: `cargo xtask soak`.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use laxity_lab::property::{Failure, Property, Tally, Verdict};
use laxity_scenario::draw::{self, Table, files, scenario, shrink};
use laxity_units::Span;

const USAGE: &str = "usage: cargo xtask soak [--time 1h] [--seed N] [--from N] [--threads N] [--out DIR] [--words] [--with PATH=WORD]...";
/// Attempts at making a failing scenario smaller.
const TRIES: u32 = 4000;
/// From one line of progress to the next.
const PROGRESS: Duration = Duration::from_secs(10);
/// A scenario that takes longer than this is worth a line.
const SLOW: Duration = Duration::from_secs(3);
/// A scenario that is still looked at after so many lines of progress hangs. Counted, not timed: the whole search may have been
/// stopped meanwhile, and its machine put to sleep.
const PATIENCE: u32 = 4;

struct Arguments {
    time: Duration,
    seed: u64,
    from: u64,
    threads: usize,
    out: PathBuf,
    words: bool,
    /// What a drawn file must say to be run, as `--words` prints it: a corner of the space, looked at more closely.
    with: Vec<String>,
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(reason) => {
            eprintln!("error: {reason}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    // A panic is a finding, with its message in the file that shows it.
    std::panic::set_hook(Box::new(|_| ()));
    let soak = Soak::new(arguments);
    soak.run();
    soak.finish()
}

fn arguments() -> Result<Arguments, String> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let mut read = Arguments {
        time: Duration::from_secs(60),
        seed: 1,
        from: 0,
        threads: cores,
        out: PathBuf::from("target/soak"),
        words: false,
        with: Vec::new(),
    };
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
            "--seed" => read.seed = number(value()?)?,
            "--from" => read.from = number(value()?)?,
            "--threads" => read.threads = number(value()?)?.max(1) as usize,
            "--out" => read.out = value()?.into(),
            "--words" => read.words = true,
            "--with" => read.with.push(value()?),
            _ => return Err(format!("there is no `{key}`")),
        }
    }
    Ok(read)
}

struct Soak {
    arguments: Arguments,
    started: Instant,
    next: AtomicU64,
    over: AtomicBool,
    tally: Mutex<Tally>,
    found: Mutex<Found>,
    /// Per thread: what it looks at, and since when.
    looks: Vec<Mutex<Option<(u64, Instant)>>>,
}

/// What was written, and by what it failed.
#[derive(Default)]
struct Found {
    kinds: BTreeSet<String>,
    files: Vec<PathBuf>,
}

#[allow(clippy::disallowed_methods, reason = "how long to go on is told in time on the wall")]
fn now() -> Instant {
    Instant::now()
}

impl Soak {
    fn new(arguments: Arguments) -> Self {
        let looks = (0..arguments.threads).map(|_| Mutex::new(None)).collect();
        let next = AtomicU64::new(arguments.from);
        let (tally, found) = (Mutex::default(), Mutex::default());
        Self { arguments, started: now(), next, over: AtomicBool::new(false), tally, found, looks }
    }

    fn run(&self) {
        thread::scope(|scope| {
            let workers: Vec<_> =
                (0..self.arguments.threads).map(|number| scope.spawn(move || self.work(number))).collect();
            let mut said = now();
            let mut seen = vec![(0, 0); workers.len()];
            while !workers.iter().all(|worker| worker.is_finished()) {
                thread::park_timeout(Duration::from_millis(100));
                if now() - said > PROGRESS {
                    said = now();
                    self.say();
                    self.look_for_hangs(&mut seen);
                }
            }
        });
        self.say();
    }

    fn work(&self, thread: usize) {
        let property = Property { twice: true, ..Property::default() };
        let mut tally = Tally::default();
        while self.started.elapsed() < self.arguments.time && !self.over.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            *self.looks[thread].lock().unwrap() = Some((number, now()));
            let drawn = scenario(self.arguments.seed, number);
            if !self.arguments.with.iter().all(|wanted| says(&drawn.file, wanted)) {
                continue;
            }
            let verdict = property.check(&drawn.file.text());
            tally.count(&drawn, &verdict);
            if let Verdict::Broken(failure) = &verdict {
                self.write_down(number, &drawn, failure, property);
            }
            if let Some(since) = self.looks[thread].lock().unwrap().map(|(_, since)| since.elapsed())
                && since > SLOW
            {
                eprintln!("scenario {number}: {:.1} s", since.as_secs_f64());
            }
            if tally.cases == 10 {
                self.tally.lock().unwrap().add(std::mem::take(&mut tally));
            }
        }
        *self.looks[thread].lock().unwrap() = None;
        self.tally.lock().unwrap().add(tally);
    }

    fn write_down(&self, number: u64, drawn: &draw::Scenario, failure: &Failure, property: Property) {
        let property = Property { twice: *failure == Failure::Differs, ..property };
        let fails = |file: &Table| match property.check(&file.text()) {
            Verdict::Broken(other) if other.is_like(failure) => Some(other),
            _ => None,
        };
        let small = shrink(&drawn.file, TRIES, &mut |file| fails(file).is_some());
        let shown = fails(&small).unwrap_or_else(|| failure.clone());
        let kind = kind(&small, &shown);
        let mut found = self.found.lock().unwrap();
        if !found.kinds.insert(kind.clone()) {
            return;
        }
        let seed = self.arguments.seed;
        let comment = format!("# {shown}\n# Scenario {number} of seed {seed}, cut down.\n# {kind}\n\n");
        let path = self.arguments.out.join(format!("{seed}-{number}.toml"));
        match write(&path, &format!("{comment}{}", small.text())) {
            Ok(()) => eprintln!("\n{}: {shown}\n  {kind}", path.display()),
            Err(error) => eprintln!("\nerror: {}: {error}\n{}", path.display(), small.text()),
        }
        found.files.push(path);
    }

    fn say(&self) {
        let tally = self.tally.lock().unwrap();
        let closest = tally.closest.iter().rposition(|count| *count > 0).unwrap_or(0);
        eprintln!(
            "{:6.0} s  {} runs, {} with a bound ({} channels), {} broken, {} endless, {} invalid ({} on purpose); worst/bound up to {:.2}",
            self.started.elapsed().as_secs_f64(),
            tally.cases,
            tally.bounded,
            tally.bounds,
            tally.broken,
            tally.endless,
            tally.invalid,
            tally.careless,
            (closest + 1).min(20) as f64 / 20.0
        );
    }

    /// A run that never gives back its thread cannot be ended; it can be said which it is.
    ///
    /// `seen` has for each thread what it looked at when last asked, and for how many lines it has.
    fn look_for_hangs(&self, seen: &mut [(u64, u32)]) {
        for (look, (before, lines)) in self.looks.iter().zip(seen) {
            let Some((number, since)) = *look.lock().unwrap() else { continue };
            *lines = if number == *before { *lines + 1 } else { 0 };
            *before = number;
            if *lines >= PATIENCE {
                let text = scenario(self.arguments.seed, number).file.text();
                let path = self.arguments.out.join(format!("{}-{number}-hangs.toml", self.arguments.seed));
                let _ = write(&path, &text);
                eprintln!("\n{}: no end after {} s", path.display(), since.elapsed().as_secs());
                std::process::exit(1);
            }
        }
    }

    fn finish(&self) -> ExitCode {
        let tally = self.tally.lock().unwrap();
        if self.arguments.words {
            println!("{:>8} {:>8}", "drawn", "bounded");
            for ((path, word), (drawn, bounded)) in &tally.words {
                println!("{drawn:>8} {bounded:>8}  {path} = {word}");
            }
            for (why, count) in &tally.unbounded {
                println!("{count:>8} without a bound: {why}");
            }
        }
        if let Some((text, error)) = &tally.first_invalid {
            println!("drawn to be valid, and refused:\n{text}\n{error}");
        }
        println!("worst/bound by twentieths: {:?}", tally.closest);
        let found = self.found.lock().unwrap();
        println!(
            "{} runs, {} with a bound, {} broken in {} ways",
            tally.cases,
            tally.bounded,
            tally.broken,
            found.files.len()
        );
        match found.files.is_empty() && tally.invalid == 0 {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        }
    }
}

/// Whether the file says `wanted`, a word with its path.
fn says(file: &Table, wanted: &str) -> bool {
    let mut says = false;
    file.visit_words(&mut |path, word, _| says |= wanted.split_once('=') == Some((path, word)));
    says
}

/// The words of the file and how it fails: scenarios that agree in them are most likely the same finding.
fn kind(file: &Table, failure: &Failure) -> String {
    let mut words = BTreeSet::new();
    file.visit_words(&mut |path, word, _| {
        if !path.starts_with("channel.class") {
            words.insert(format!("{}={word}", path.rsplit('.').next().unwrap_or(path)));
        }
    });
    let how = match failure {
        Failure::Exceeded { .. } => "exceeded",
        Failure::Lost { .. } => "lost",
        Failure::Crowded { .. } => "crowded",
        Failure::Starved { .. } => "starved",
        Failure::Differs => "differs",
        Failure::Panicked(_) => "panicked",
        Failure::Wordless => "wordless",
    };
    format!("{how}: {}", words.into_iter().collect::<Vec<_>>().join(" "))
}

/// Writes the file, and the traces that it may name beside it.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    for (name, bytes) in files() {
        fs::write(folder.join(name), bytes)?;
    }
    fs::write(path, text)
}
