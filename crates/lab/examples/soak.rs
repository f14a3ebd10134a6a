//! Draws and runs scenarios for the given time, on all cores, and writes down each that fails,
//! reduced to the cause of its failure: `cargo xtask soak`.
//!
//! With `--attack N` the bounds of each scenario that keeps them with its own traffic are attacked
//! as well, with N runs for each channel: ordinary traffic shows little of how tight a bound is.
//! The findings are printed in shares of the bounds, and with `--words` for each drawn word.
//!
//! With `--laws` no scenario is run. Each scenario is paired with every change of it that can only
//! help, and admission judges both: see `laxity_lab::dominance`.
//!
//! With `--network` only networks of nodes with signalling are drawn.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use laxity_lab::attack::{self, median};
use laxity_lab::dominance::{self, Law, PairJudgement, Shrunk};
use laxity_lab::property::{Checked, Defect, Kept, Property, PropertyTally, drawn};
use laxity_scenario::draw::{self, Table, files, scenario, shrink};
use laxity_units::Span;

const USAGE: &str = "usage: cargo xtask soak [--time 1h] [--seed N] [--from N] [--threads N] [--out DIR] [--words] [--attack N] [--laws] [--network] [--with PATH=WORD|TEXT]...";
/// Attempts at making a failing scenario smaller.
const TRIES: u32 = 4000;
/// From one line of progress to the next.
const PROGRESS: Duration = Duration::from_secs(10);
/// The same of a pair of which one breaks a law.
const PAIR_TRIES: u32 = 300;
/// The word for pairs that break a law.
const BROKEN: &str = "BROKEN";
/// An attack on one scenario takes no longer: of many channels with long scenes each run may take
/// its share of a second.
const LONGEST: Duration = Duration::from_secs(60);
/// A scenario that takes longer than this is worth a line.
const SLOW: Duration = Duration::from_secs(3);
/// A scenario that is unfinished after this number of progress lines hangs. Lines are counted
/// instead of time, because the search may have been stopped or the machine suspended meanwhile.
const PATIENCE: u32 = 4;

struct Arguments {
    time: Duration,
    seed: u64,
    from: u64,
    threads: usize,
    out: PathBuf,
    words: bool,
    /// Runs of the attack on each channel with a bound.
    attack: Option<u64>,
    /// Pairs of scenarios are judged by admission alone.
    laws: bool,
    /// Only networks of nodes with signalling are drawn.
    network: bool,
    /// The words that a drawn file must have to be run, as `--words` prints them: a corner of the
    /// space to examine.
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
        attack: None,
        laws: false,
        network: false,
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
            "--attack" => read.attack = Some(number(value()?)?),
            "--words" => read.words = true,
            "--laws" => read.laws = true,
            "--network" => read.network = true,
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
    tally: Mutex<PropertyTally>,
    found: Mutex<Found>,
    attacked: Mutex<Vec<Attacked>>,
    /// How many pairs were judged, by law and judgement.
    pairs: Mutex<BTreeMap<(Law, &'static str), u64>>,
    /// Per thread: what it looks at, and since when.
    looks: Vec<Mutex<Option<(u64, Instant)>>>,
}

/// The scenarios written, and their failures.
#[derive(Default)]
struct Found {
    kinds: BTreeSet<String>,
    files: Vec<PathBuf>,
}

/// The findings of attacks on a scenario.
struct Attacked {
    number: u64,
    /// The words of its file.
    words: BTreeSet<String>,
    /// For each channel with a bound, the worst response found as a share of it.
    shares: Vec<(String, f64)>,
}

#[allow(clippy::disallowed_methods, reason = "how long to go on is told in time on the wall")]
fn now() -> Instant {
    Instant::now()
}

impl Soak {
    fn new(arguments: Arguments) -> Self {
        let looks = (0..arguments.threads).map(|_| Mutex::new(None)).collect();
        let next = AtomicU64::new(arguments.from);
        let (tally, found, attacked) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (over, pairs) = (AtomicBool::new(false), Mutex::default());
        Self { arguments, started: now(), next, over, tally, found, attacked, pairs, looks }
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

    /// Whether the time of the search is over.
    fn is_over(&self) -> bool {
        self.started.elapsed() >= self.arguments.time
    }

    fn work(&self, thread: usize) {
        let property = Property { twice: true, ..Property::default() };
        let mut tally = PropertyTally::default();
        while !self.is_over() && !self.over.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let number = if self.arguments.network { draw::network(number) } else { number };
            *self.looks[thread].lock().unwrap() = Some((number, now()));
            let drawn = scenario(self.arguments.seed, number);
            if !self.arguments.with.iter().all(|wanted| says(&drawn.file, wanted)) {
                continue;
            }
            if self.arguments.laws {
                self.judge(number, &drawn.file);
                tally.cases += 1;
                self.tally.lock().unwrap().add(std::mem::take(&mut tally));
                continue;
            }
            let verdict = property.check(&drawn.file.text());
            tally.count(&drawn, &verdict);
            if let Checked::Broken(failure) = &verdict {
                // Cutting a finding down takes thousands of runs, and is no run that hangs.
                *self.looks[thread].lock().unwrap() = None;
                self.write_down(number, &drawn, failure, property);
            }
            if let (Some(steps), Checked::Kept(Kept { bounds: 1.., .. })) = (self.arguments.attack, &verdict)
            {
                self.attack(number, &drawn.file, steps);
            } else if let Some(since) = self.looks[thread].lock().unwrap().map(|(_, since)| since.elapsed())
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

    /// Judges every change of a scenario that can only help, and writes down each breach of a law.
    fn judge(&self, number: u64, file: &Table) {
        let Some(text) = dominance::settled(&file.text()) else { return };
        for (law, judgement) in dominance::judge(&text, &Law::ALL, usize::MAX) {
            let word = match &judgement {
                PairJudgement::Kept(0) => "kept without a bound",
                PairJudgement::Kept(_) => "kept",
                PairJudgement::Unjudged(why) => why,
                PairJudgement::Broken(_) => BROKEN,
            };
            *self.pairs.lock().unwrap().entry((law, word)).or_default() += 1;
            let PairJudgement::Broken(breach) = judgement else { continue };
            let Some(Shrunk { before, after, breach }) = dominance::shrunk(file, &breach, PAIR_TRIES) else {
                eprintln!("\nscenario {number}: {breach}");
                self.found.lock().unwrap().files.push(PathBuf::from(format!("{number}")));
                continue;
            };
            let kind = format!("{law:?} {}", kind_of_pair(&before));
            let mut found = self.found.lock().unwrap();
            if !found.kinds.insert(kind) {
                continue;
            }
            for (text, which) in [(before, "before"), (after, "after")] {
                let path = self
                    .arguments
                    .out
                    .join(format!("{}-{number}-{law:?}-{which}.toml", self.arguments.seed).to_lowercase());
                match write(&path, &format!("# {breach}\n\n{text}")) {
                    Ok(()) if which == "before" => eprintln!("\n{}: {breach}", path.display()),
                    Ok(()) => {}
                    Err(error) => eprintln!("\nerror: {}: {error}", path.display()),
                }
                found.files.push(path);
            }
        }
    }

    /// Attacks every bound of a scenario, and writes down each excess.
    fn attack(&self, number: u64, file: &Table, steps: u64) {
        let Ok(scenario) = drawn(&file.text()) else { return };
        let Some(point) = scenario.points().next() else { return };
        let experiments = [scenario.experiment(&point)];
        let options = attack::AttackOptions {
            steps,
            seed: number,
            threads: NonZero::new(1),
            channel: None,
            events: EVENTS,
        };
        let began = now();
        let left = self.arguments.time.saturating_sub(self.started.elapsed()).min(LONGEST);
        let passed = || Span::from_secs_f64(began.elapsed().as_secs_f64()).unwrap_or(Span::MAX);
        let time = attack::TimeLimit { limit: Span::from_secs_f64(left.as_secs_f64()), passed: &passed };
        let search = || attack::attack(&experiments, &options, time, &mut |_| ());
        let at =
            |name: &str| self.arguments.out.join(format!("{}-{number}-{name}.toml", self.arguments.seed));
        let Ok(all) = catch_unwind(AssertUnwindSafe(search)) else {
            let path = at("panics");
            eprintln!("\n{}: an attack panicked", path.display());
            let _ = write(&path, &file.text());
            self.found.lock().unwrap().files.push(path);
            return;
        };
        // Some scenarios have no bound to attack, and say so.
        let Ok(all) = all else { return };
        // An attack that was cut short does not show how far a full one would have got.
        if !time.allows(attack::SearchPhase::Climb) && all.iter().all(|found| !found.exceeds()) {
            return;
        }
        for found in all.iter().filter(|found| found.exceeds()) {
            let path = at(&found.stem());
            if let Err(error) = attack::write(&scenario, &point, found, &path, attack::TimeLimit::NONE) {
                eprintln!("\nerror: {error}");
            }
            eprintln!("\n{}: {} of a bound of {}", path.display(), found.worst, found.bound);
            self.found.lock().unwrap().files.push(path);
        }
        let mut words = BTreeSet::new();
        file.visit_words(&mut |path, word, _| {
            words.insert(format!("{path} = {word}"));
        });
        let shares = all.iter().map(|found| (found.title(), found.share())).collect();
        self.attacked.lock().unwrap().push(Attacked { number, words, shares });
    }

    fn write_down(&self, number: u64, drawn: &draw::DrawnScenario, failure: &Defect, property: Property) {
        let property = Property { twice: *failure == Defect::Differs, ..property };
        let fails = |file: &Table| match property.check(&file.text()) {
            Checked::Broken(other) if other.is_like(failure) => Some(other),
            _ => None,
        };
        let small = shrink(&drawn.file, TRIES, &mut |file| !self.is_over() && fails(file).is_some());
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

    /// Reports runs that hang. A run that never returns cannot be ended, but it can be named.
    ///
    /// `seen` has for each thread its scenario at the last call, and the number of progress lines
    /// since.
    fn look_for_hangs(&self, seen: &mut [(u64, u32)]) {
        for (look, (before, lines)) in self.looks.iter().zip(seen) {
            let Some((number, since)) = *look.lock().unwrap() else { continue };
            *lines = if number == *before { *lines + 1 } else { 0 };
            *before = number;
            if *lines >= PATIENCE && self.arguments.attack.is_none() && !self.arguments.laws {
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
        self.tell_attacks();
        let mut broken = tally.broken;
        for ((law, word), count) in self.pairs.lock().unwrap().iter() {
            println!("{count:>8} {law:?}: {word}");
            broken += if *word == BROKEN { *count } else { 0 };
        }
        let found = self.found.lock().unwrap();
        println!(
            "{} runs, {} with a bound, {broken} broken, {} files of findings",
            tally.cases,
            tally.bounded,
            found.files.len()
        );
        if tally.cases == 0 {
            println!("not judged: nothing that was drawn was run");
            return ExitCode::from(4);
        }
        match found.files.is_empty() && tally.invalid == 0 {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        }
    }
}

/// Events after which a scene of an attack is given up.
const EVENTS: u64 = 200_000;
/// The minimum number of scenarios with a word for its median to be printed.
const TOLD: usize = 5;

impl Soak {
    fn tell_attacks(&self) {
        let attacked = self.attacked.lock().unwrap();
        let shares = |of: &dyn Fn(&Attacked) -> bool| {
            let of = attacked.iter().filter(|one| of(one));
            median(of.flat_map(|one| one.shares.iter().map(|(_, share)| *share)))
        };
        let Some(all) = shares(&|_| true) else { return };
        let channels: usize = attacked.iter().map(|one| one.shares.len()).sum();
        println!(
            "attacked: {} scenarios, {channels} channels, found/bound in the median {all:.3}",
            attacked.len()
        );
        let mut lowest: Vec<(f64, u64, &str)> = Vec::new();
        let mut words: BTreeMap<&str, usize> = BTreeMap::new();
        for one in attacked.iter() {
            lowest.extend(one.shares.iter().map(|(name, share)| (*share, one.number, name.as_str())));
            one.words.iter().for_each(|word| *words.entry(word).or_default() += 1);
        }
        lowest.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (share, number, name) in lowest.iter().take(TOLD) {
            println!("  {share:.3} of `{name}` in scenario {number}");
        }
        for (word, count) in words.into_iter().filter(|(_, count)| *count >= TOLD && self.arguments.words) {
            let median = shares(&|one| one.words.contains(word)).unwrap_or_default();
            println!("{count:>8} {median:>8.3}  {word}");
        }
    }
}

/// Whether the file says `wanted`: a word with its path (`via.doorbells=apart`), or anything else
/// as it is written (`doorbells = "apart"`).
fn says(file: &Table, wanted: &str) -> bool {
    let wanted_word = wanted.split_once('=').filter(|(path, _)| !path.contains(char::is_whitespace));
    let Some(wanted_word) = wanted_word else { return file.text().contains(wanted) };
    let mut says = false;
    file.visit_words(&mut |path, word, _| says |= wanted_word == (path, word));
    says
}

/// The words of the file and its failure: scenarios that agree in them are most likely the same
/// finding.
fn kind(file: &Table, failure: &Defect) -> String {
    let mut words = BTreeSet::new();
    file.visit_words(&mut |path, word, _| {
        if !path.starts_with("channel.class") {
            words.insert(format!("{}={word}", path.rsplit('.').next().unwrap_or(path)));
        }
    });
    let how = match failure {
        Defect::Exceeded { .. } => "exceeded",
        Defect::Lost { .. } => "lost",
        Defect::Crowded { .. } => "crowded",
        Defect::Starved { .. } => "starved",
        Defect::Jittered { .. } => "jittered",
        Defect::Displaced { .. } => "displaced",
        Defect::Rules { .. } => "broke a rule",
        Defect::Unkept { .. } => "broke a contract",
        Defect::Dropped { .. } => "lost a channel",
        Defect::Differs => "differs",
        Defect::Panicked(_) => "panicked",
        Defect::Wordless => "wordless",
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

/// The words of a file, without its numbers.
fn kind_of_pair(text: &str) -> String {
    let words = text.lines().filter(|line| !line.starts_with("title"));
    words.flat_map(|line| line.split(|c: char| !c.is_alphabetic() && c != '_')).collect()
}
