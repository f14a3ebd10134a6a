//! `laxity emulate`: one point of a sweep in real time, with real programs at its ports or adapters.

pub(crate) mod via;

use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use laxity_emulator::emulate::{Driven, Emulation, EmulationOptions, drive, no_reports};
use laxity_emulator::log::{End, LogHeader, RecordedFiles, Recorder};
use laxity_emulator::tap_port::{Ports, Site, TapBell};
use laxity_engine::{Dilation, TickEpoch, Ticks};
use laxity_lab::campaign::{self, RunOptions as Pipeline};
use laxity_machine::claim_core;
use laxity_machine::signal::StopOnSignal;
use laxity_machine::tap::Tap;
use laxity_report::output::{self, Draft, FileKind};
use laxity_report::present::check_target;
use laxity_scenario::files::Disk;
use laxity_scenario::{PointIndex, Scenario};
use laxity_units::{Span, Time};
use laxity_world::experiment::{Experiment, HostPlace, RunLength, System, Task};
use laxity_world::results::RealTime;
use laxity_world::text::{clean, in_words};

use crate::arguments::Emulate;
use crate::budget;
use crate::live::Table;
use crate::run::{refuse, show, unwritten};
use crate::terminal::{Terminal, waiting};
use crate::{Exit, stamp};

/// From the start of the emulating thread to time zero.
const LEAD: Span = Span::from_ms(50);
/// A step of the emulation reads a batch of frames or writes some, and what the kernel then does in
/// the calls is ours.
const LONGEST_STEP: Span = Span::from_us(100);
/// Time of the calls for which an event may have to wait. A wake-up reads eight frames at half a
/// microsecond, each may be written at 2.5 us, and the world's own work adds to that. Above this
/// limit, the emulation is behind.
const CALLS: Span = Span::from_us(40);
/// A source this close to the rate of its contract, or above it, may fall behind it for ever.
const MARGIN: f64 = 0.001;

/// The reason why an emulation is impossible, and its exit code.
struct Failed(Exit, String);

#[allow(clippy::needless_pass_by_value, reason = "so that `map_err` takes them by name")]
impl Failed {
    fn input(reason: impl ToString) -> Self {
        Failed(Exit::BadInput, reason.to_string())
    }

    fn work(reason: impl ToString) -> Self {
        Failed(Exit::Broken, reason.to_string())
    }
}

pub(crate) fn emulate(arguments: &Emulate, terminal: &mut Terminal) -> Exit {
    let files = RecordedFiles::of(&Disk);
    let scenario = match laxity_lab::read(&arguments.file, &files) {
        Ok(scenario) => scenario,
        Err(diagnostics) => {
            terminal.note(&diagnostics.render(terminal.error_colour()));
            return Exit::BadInput;
        }
    };
    match scenario.first().system {
        System::Hosts { .. } | System::Receiver(_) => {}
        System::Signalled(_) => {
            let reason =
                "nodes with `[signalling]` run under virtual time; `laxity serve` runs one on a network";
            terminal.error(&format!("{}: {reason}", clean(&scenario.name)));
            return Exit::BadInput;
        }
        System::VirtualInterfaces(_) => return via::emulate(arguments, &scenario, &files, terminal),
    }
    if arguments.adapters.is_some() || arguments.perfetto.is_some() {
        let reason = "`--adapters` and `--perfetto` are of scenarios with `[via]`";
        terminal.error(&format!("{}: {reason}", clean(&scenario.name)));
        return Exit::BadInput;
    }
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("results").join(&scenario.name));
    if let Err(error) = writable(arguments, &out, &scenario) {
        return terminal.unwritten(&error);
    }
    // Installed until the results are written: a second signal during the write would cost them.
    let stop = match StopOnSignal::install() {
        Ok(stop) => stop,
        Err(refused) => {
            terminal.error(&refused.to_string());
            return Exit::Broken;
        }
    };
    let planned = plan(arguments, &scenario).and_then(|plan| {
        go(arguments, &plan, &scenario, &files, &stop, terminal)
            .map(|(driven, logged)| (plan, driven, logged))
    });
    let (plan, driven, logged) = match planned {
        Ok(planned) => planned,
        Err(Failed(exit, reason)) => {
            terminal.error(&format!("{}: {reason}", clean(&scenario.name)));
            return exit;
        }
    };
    report(&driven, &plan.experiment, terminal);
    let gone = driven.outside.gone();
    gone.iter().for_each(|line| terminal.error(line));
    let ended = if gone.is_empty() { logged } else { Exit::Broken };
    let results = (Some(out), arguments.no_report);
    let exit =
        stop.while_it_may_end(|| conclude(&scenario, &plan.point, "real", driven.run, results, terminal));
    exit.max(ended)
}

/// Judges and shows what one point came to.
pub(crate) fn conclude(
    scenario: &Scenario,
    point: &PointIndex,
    clock: &str,
    run: laxity_world::results::Run,
    (out, no_report): (Option<PathBuf>, bool),
    terminal: &mut Terminal,
) -> Exit {
    let budget = Some(budget::of_a_script as fn() -> _);
    let options = Pipeline { out, no_report, budget, stamp: stamp::now(), ..Pipeline::default() };
    let mut wait = || terminal.note(&waiting(&clean(&scenario.name)));
    match campaign::of_point(scenario, &options, point, clock, run, &mut wait) {
        Ok(outcome) => {
            show(&outcome, terminal);
            if scenario.points().nth(1).is_some() && !scenario.claims.is_empty() {
                terminal.note("the claims are about the whole sweep, and were not judged on one point of it");
            }
            Exit::from(outcome.standing()).max(unwritten(&outcome, terminal))
        }
        Err(error) => refuse(scenario, &error, terminal),
    }
}

/// Whether all that is to be written may be, before an hour is spent on it.
fn writable(arguments: &Emulate, out: &Path, scenario: &Scenario) -> Result<(), output::OutputError> {
    let inputs = scenario.inputs();
    if let Some(log) = &arguments.log {
        output::check(log, FileKind::Log, &inputs)?;
    }
    match (arguments.no_report, check_target(out, &inputs)) {
        // A disk that is full or read-only costs the files and not the run.
        (true, _) | (_, Err(output::OutputError::Failed { .. })) => Ok(()),
        (false, checked) => checked,
    }
}

/// The run to make.
struct Plan {
    point: PointIndex,
    experiment: Arc<Experiment>,
    length: RunLength,
}

fn plan(arguments: &Emulate, scenario: &Scenario) -> Result<Plan, Failed> {
    let points = scenario.points().count();
    let point = scenario.points().nth(arguments.point).ok_or_else(|| {
        Failed::input(format!(
            "there is no point {}: they are numbered from 0 to {}",
            arguments.point,
            points - 1
        ))
    })?;
    let experiment = scenario.experiment(&point);
    if experiment.emulation.host != HostPlace::Model {
        return Err(Failed::input(
            "its host is a thread or the kernel, and programs at ports need a host that is part of the emulation: say \
             `host = \"model\"` under `[emulation]`, or use `laxity run`",
        ));
    }
    let Task::Simulate(mut length) = experiment.task else {
        return Err(Failed::input(
            "it fills the host with channels and sends nothing: `laxity run` does that",
        ));
    };
    if let Some(total) = arguments.time {
        let (warmup, cooldown) = match length {
            RunLength::Time { warmup, cooldown, .. } if warmup.saturating_add(cooldown) < total => {
                (warmup, cooldown)
            }
            _ => (Span::ZERO, Span::ZERO),
        };
        if total.is_zero() {
            return Err(Failed::input("`--for` takes a time above zero, such as `30 s`"));
        }
        length = RunLength::Time { total, warmup, cooldown };
    }
    Ok(Plan { point, experiment: Arc::new(experiment), length })
}

fn go(
    arguments: &Emulate,
    plan: &Plan,
    scenario: &Scenario,
    files: &RecordedFiles<'_>,
    stop: &StopOnSignal,
    terminal: &mut Terminal,
) -> Result<(Driven<Ports<Tap>>, Exit), Failed> {
    let site = Site::new(&plan.experiment).map_err(Failed::work)?;
    let ports = Ports::new(&plan.experiment, site.taps()).map_err(Failed::input)?;
    for name in site.swept() {
        terminal.note(&format!("removed what a crashed run had left: {name}"));
    }
    for line in site.describe() {
        terminal.note(&line);
    }
    for line in site.unsteered() {
        terminal.note(&format!("warning: {line}"));
    }
    let mut header = LogHeader::new(scenario, &plan.point, plan.length, &arguments.file, files);
    header.channels = ports.channels();
    // It takes its name as soon as it has its header: a log that is cut off is of use, too.
    let log = |path: &PathBuf| {
        let (draft, file) = Draft::begin(path, FileKind::Log, &scenario.inputs())?;
        let started = Recorder::start(BufWriter::new(file), &header).map_err(|why| draft.failed(why))?;
        draft.name().map(|()| started)
    };
    let (journal, recorder) = match arguments.log.as_ref().map(log).transpose().map_err(Failed::work)? {
        None => (None, None),
        Some((journal, recorder)) => (Some(journal), Some(recorder)),
    };
    let core = claim_core(plan.experiment.emulation.core);
    if let Some(shared) = core.warning() {
        terminal.note(&format!("warning: {shared}. `core` under `[emulation]` chooses another"));
    }
    let epoch = TickEpoch::starting_in(LEAD, Ticks::calibrate(), Dilation::NONE);
    let ports = ports.timed_by(move || epoch.now());
    let emulation = Emulation {
        experiment: plan.experiment.clone(),
        length: plan.length,
        doorbell: TapBell::new(&ports, epoch),
        channels: ports.channels(),
        outside: ports,
        hosts: Vec::new(),
        epoch,
        reports: no_reports(),
        journal,
    };
    let on = EmulationOptions::on(core.core);
    let options = EmulationOptions {
        by_clock: true,
        stop: Some(stop.flag()),
        allowance: CALLS,
        gap: LONGEST_STEP,
        ..on
    };
    let mut table = Table::new(&plan.experiment);
    let driven = stop.while_it_may_end(|| drive(emulation, &options, &mut |glance| table.update(glance)));
    drop(table);
    let mut driven = driven.map_err(Failed::work)?;
    if let RunLength::Time { total, .. } = plan.length
        && driven.end < Time::ZERO + total
        && !stop.flag().is_set()
        && driven.outside.gone().is_empty()
    {
        terminal.note(&format!(
            "warning: {total} have passed by the clock and events have come to {}: the emulation was behind",
            driven.end
        ));
    }
    if let Some(real_time) = &mut driven.run.real_time {
        real_time.delays = driven.outside.delays();
        real_time.frames = driven.outside.frames(&plan.experiment);
    }
    let mut logged = Exit::Holds;
    if let (Some(recorder), Some(path)) = (recorder, &arguments.log) {
        let end =
            End::new(driven.inputs, driven.end, driven.departures).keeping(driven.run.real_time.clone());
        match recorder.finish(end) {
            Ok(()) => terminal.note(&format!("`laxity replay {}` runs it again", path.display())),
            // The results are there all the same.
            Err(why) => {
                terminal.note(&format!("warning: the log {} is not whole: {why}", path.display()));
                logged = Exit::Broken;
            }
        }
    }
    for (node, drops) in site.drops() {
        if drops.unread > 0 {
            terminal.note(&format!(
                "warning: node {node}: {} frames were dropped by the kernel before they were read, {}: programs send more \
                 than is read, or the platform stood still",
                drops.unread,
                match site.taps().get(&node).is_some_and(|tap| tap.queues() > 1) {
                    true => "of channels that are guaranteed nothing, or of a real-time channel that sent some thousands at once",
                    false => "of whatever channel",
                }
            ));
        }
        if drops.written > 0 {
            terminal.note(&format!(
                "warning: node {node}: {} written frames were dropped by the kernel",
                drops.written
            ));
        }
    }
    Ok((driven, logged))
}

/// Figures that are not in the results: the frames, the digest, and refused permissions.
fn report(driven: &Driven<Ports<Tap>>, experiment: &Experiment, terminal: &Terminal) {
    for refused in &driven.refused {
        terminal.note(&format!("warning: {refused}"));
    }
    let counts = driven.outside.counts();
    let mut line = format!("frames: {} read, {} written", counts.read, counts.written);
    for (count, what) in [
        (counts.refused, "dropped by a full channel"),
        (counts.undersized, "dropped as smaller than their channel's `min_message`"),
        (counts.unadmitted, "for a channel that was not admitted"),
        (counts.oversize, "oversize: longer than the port's MTU or their channel's `max_message`"),
        (counts.unmatched, "carried by no channel to their host"),
        (counts.copies, "copies for further hosts"),
        (counts.lost, "lost on the way"),
        (counts.undeliverable, "not taken by their host"),
        (counts.strays, "too late to be known"),
    ] {
        if count > 0 {
            line += &format!(", {count} {what}");
        }
    }
    terminal.note(&line);
    for error in driven.outside.errors() {
        terminal.note(&format!("warning: {error}"));
    }
    if let Some(real_time) = &driven.run.real_time {
        for line in told(real_time, experiment, driven.end) {
            terminal.note(&line);
        }
    }
    terminal.note(&format!("departures {:016x}", driven.departures));
}

/// How well time was kept, in sentences.
fn told(real_time: &RealTime, experiment: &Experiment, end: Time) -> Vec<String> {
    let mut lines = Vec::new();
    let longest = real_time.gaps.iter().max_by(|a, b| a.length.total_cmp(&b.length));
    lines.push(match longest {
        None => "the platform did not stand still".into(),
        Some(gap) => format!(
            "the platform stood still for {} in all, {:.3} % of the run; longest for {}, until {:.3} s",
            in_words(real_time.stall_total),
            100.0 * real_time.stall_total / end.as_secs_f64().max(f64::MIN_POSITIVE),
            in_words(gap.length),
            gap.at
        ),
    });
    if let Some(delays) = &real_time.delays {
        lines.push(format!(
            "delays of {} frames: too long by {} (median), {} (99 %), {} (most); {} too short",
            delays.frames,
            in_words(delays.p50),
            in_words(delays.p99),
            in_words(delays.max),
            match delays.early {
                0 => "none".into(),
                early => format!("{early}, by up to {},", in_words(delays.earliest)),
            }
        ));
    }
    for frames in &real_time.frames {
        let Some(share) = frames.of_contract.filter(|share| *share >= 1.0 - MARGIN) else { continue };
        let interval = experiment.channels.iter().find(|channel| channel.name == frames.channel);
        let interval = interval.map_or(Span::ZERO, |channel| channel.spec.min_interval);
        lines.push(format!(
            "warning: the source of channel {} sends at {share:.4} of its contract's rate. A clock that is a little too \
             fast falls behind the contract without end: let `min_interval`, now {interval}, be at least 0.1 % shorter \
             than what is sent",
            clean(&frames.channel)
        ));
    }
    lines
}
