//! `laxity emulate` of a scenario with `[via]`: its adapters in real time, for programs that open
//! them.
//!
//! Programs decide who sends and when; the file gives the adapters, their stage times and the
//! wires. A simulation of the file's own channels runs beside, and the paper's table is printed
//! next to both. The results are written as of any emulation: figures of the adapters, accuracy of
//! the clock, channels that programs named, and the simulation's figures under names of their own.

use std::fs::File;
use std::io::{BufWriter, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use laxity_emulator::emulate::ReplayError;
use laxity_emulator::log::{End, Log, LogHeader, RecordedFiles as Files, Recorder};
use laxity_emulator::via::{
    Beside, Logging, RecordedOutput, ReplayedService, Served, Setup, log, serve_beside,
};
use laxity_engine::trace::TraceSink;
use laxity_machine::place::ThreadPlacement;
use laxity_machine::signal::StopOnSignal;
use laxity_model::via::{Doorbells, Firmware, Unit, ViStep, ViaOutput};
use laxity_report::output::{Draft, FileKind, OutputError};
use laxity_report::perfetto::{self, TraceFile};
use laxity_scenario::{PointIndex, Scenario};
use laxity_units::Span;
use laxity_world::Observed;
use laxity_world::experiment::{Experiment, RunLength, Task, ViaSpec};
use laxity_world::figures::SIMULATED;
use laxity_world::results::Run;
use laxity_world::text::{clean, in_words};

use super::{conclude, writable};
use crate::Exit;
use crate::arguments::Emulate;
use crate::terminal::Terminal;

/// Serves the adapters of one point of `scenario` until its time has passed, or a signal arrives.
pub(super) fn emulate(
    arguments: &Emulate,
    scenario: &Scenario,
    files: &Files<'_>,
    terminal: &mut Terminal,
) -> Exit {
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("results").join(&scenario.name));
    if let Err(error) = writable(arguments, &out, scenario) {
        return terminal.unwritten(&error);
    }
    let stop = match StopOnSignal::install() {
        Ok(stop) => stop,
        Err(refused) => {
            terminal.error(&refused.to_string());
            return Exit::Broken;
        }
    };
    let Plan { point, experiment, time, directory } = match plan(arguments, scenario) {
        Ok(planned) => planned,
        Err(reason) => {
            terminal.error(&format!("{}: {reason}", clean(&scenario.name)));
            return Exit::BadInput;
        }
    };
    stop.while_it_may_end(|| {
        let length = RunLength::Time { total: time, warmup: Span::ZERO, cooldown: Span::ZERO };
        let header = LogHeader::new(scenario, &point, length, &arguments.file, files);
        let log = arguments.log.as_ref().map(|path| begin(path, scenario, &header)).transpose();
        let (logging, recorder) = match log {
            Ok(begun) => begun.unzip(),
            Err(error) => return terminal.unwritten(&error),
        };
        let on = (directory, time);
        match serve_for(&experiment, on, arguments.perfetto.as_ref(), logging, &stop, terminal) {
            Ok((served, run, traced)) => {
                let logged = match (recorder, &arguments.log) {
                    (Some(recorder), Some(path)) => end(recorder, &served, path, terminal),
                    _ => Exit::Holds,
                };
                let results = (Some(out), arguments.no_report);
                conclude(scenario, &point, "real", run, results, terminal).max(traced).max(logged)
            }
            Err(exit) => exit,
        }
    })
}

/// The adapters to serve.
struct Plan<'a> {
    point: PointIndex,
    experiment: Experiment,
    time: Span,
    directory: &'a Path,
}

fn plan<'a>(arguments: &'a Emulate, scenario: &Scenario) -> Result<Plan<'a>, String> {
    let last = scenario.points().count() - 1;
    let point = scenario.points().nth(arguments.point);
    let point = point.ok_or_else(|| {
        format!("there is no point {}: they are numbered from 0 to {last}", arguments.point)
    })?;
    let experiment = scenario.experiment(&point);
    if experiment.virtual_interfaces().is_none() {
        return Err("this point has no virtual interfaces, and others have".into());
    }
    let time = match (arguments.time, &experiment.task) {
        (Some(time), _) => time,
        (None, Task::Simulate(RunLength::Time { total, .. })) => *total,
        (None, _) => return Err("the file does not say for how long: say so, as in `--for \"1 min\"`".into()),
    };
    let directory = arguments.adapters.as_deref();
    let directory = directory.ok_or("say where programs find its adapters, as in `--adapters /tmp/via`")?;
    Ok(Plan { point, experiment, time, directory })
}

/// Begins the log at `path`. It takes its name as soon as it has its header: a log that is cut off
/// is of use, too.
fn begin(path: &Path, scenario: &Scenario, header: &LogHeader) -> Result<(Logging, Recorder), OutputError> {
    let (draft, file) = Draft::begin(path, FileKind::Log, &scenario.inputs())?;
    let begun = log(BufWriter::new(file), header).map_err(|why| draft.failed(why))?;
    draft.name().map(|()| begun)
}

/// Ends the log at `path`.
fn end(recorder: Recorder, served: &Served, path: &Path, terminal: &mut Terminal) -> Exit {
    let end = End::new(served.inputs, served.end, served.departures).keeping(Some(served.kept.clone()));
    terminal.note(&format!("departures {:016x}", served.departures));
    match recorder.finish(end) {
        Ok(()) => {
            terminal.note(&format!("`laxity replay {}` runs it again", path.display()));
            Exit::Holds
        }
        // The results are there all the same.
        Err(why) => {
            terminal.note(&format!("warning: the log {} is not whole: {why}", path.display()));
            Exit::Broken
        }
    }
}

/// The adapters of an experiment with virtual interfaces.
fn setup_of(experiment: &Experiment, spec: &ViaSpec, recorded: bool) -> Setup {
    // Where processes are told apart, promises to others assume messages of the file's sizes.
    let sizes = experiment.channels.iter().map(|channel| channel.spec.max_message.get());
    let longest = match spec.adapter.limits.doorbells {
        Doorbells::Merged => Setup::LONGEST,
        Doorbells::Apart { .. } => sizes.max().unwrap_or(Setup::LONGEST).min(Setup::LONGEST),
    };
    let nodes = experiment.nodes.len();
    Setup { adapter: spec.adapter, nodes, latency: spec.latency, longest, recorded }
}

/// Adapters that served programs once more, from the log of that; what came of them then.
pub(crate) fn replay<R: Read + 'static>(
    log: Log<R>,
    experiment: &Experiment,
    spec: &ViaSpec,
    terminal: &mut Terminal,
) -> Result<(Run, ReplayedService), ReplayError> {
    let replayed =
        laxity_emulator::via::replay(log, setup_of(experiment, spec, false), Observed::all(experiment))?;
    let simulated = laxity_world::run(experiment);
    report(experiment, spec, &replayed.served, &simulated, terminal);
    Ok((measured(experiment, &replayed.served, &simulated), replayed))
}

/// The outcome, and whether a trace of it could be written.
fn serve_for(
    experiment: &Experiment,
    (directory, time): (&Path, Span),
    perfetto: Option<&PathBuf>,
    logging: Option<Logging>,
    stop: &StopOnSignal,
    terminal: &mut Terminal,
) -> Result<(Served, Run, Exit), Exit> {
    let spec = experiment.virtual_interfaces().expect("it was asked for");
    let begin = |path: &PathBuf| {
        let (draft, file) = Draft::begin(path, perfetto::kind(path), &[])?;
        Ok((draft, TraceFile::new(path, BufWriter::new(file))))
    };
    let draft = match perfetto.map(begin).transpose() {
        Ok(draft) => draft,
        Err(error) => return Err(terminal.unwritten(&error)),
    };
    let setup = setup_of(experiment, spec, draft.is_some());
    let placement = ThreadPlacement { core: experiment.emulation.core, fifo: None };
    let beside = Beside { log: logging, channels: Observed::all(experiment) };
    let service = match serve_beside(setup, directory, placement, beside) {
        Ok(service) => service,
        Err(error) => {
            terminal.error(&format!("{}: cannot open adapters there: {error}", directory.display()));
            return Err(Exit::Broken);
        }
    };
    for left in service.swept() {
        terminal.note(&format!("removed what a crashed run had left: {left}"));
    }
    let began = began();
    for node in 0..setup.nodes {
        terminal.note(&format!("adapter {node} is open at {}", service.socket(node).display()));
    }
    // No thread sends on this channel: the wait is for the time.
    let (_quiet, silence) = mpsc::channel::<()>();
    let length = Duration::from_nanos(time.as_ps() / 1000);
    while let Some(left) = length.checked_sub(began.elapsed()).filter(|left| !left.is_zero())
        && !stop.flag().is_set()
    {
        let _ = silence.recv_timeout(left.min(Duration::from_millis(50)));
    }
    let served = match service.stop() {
        Ok(served) => served,
        Err(error) => {
            terminal.error(&error.to_string());
            return Err(Exit::Broken);
        }
    };
    let simulated = laxity_world::run(experiment);
    report(experiment, spec, &served, &simulated, terminal);
    let traced = match draft.map(|(draft, trace)| write(&served.recorded, setup.nodes, draft, trace)) {
        Some(Err(error)) => terminal.unwritten(&error),
        Some(Ok(())) | None => Exit::Holds,
    };
    let run = measured(experiment, &served, &simulated);
    Ok((served, run, traced))
}

#[allow(
    clippy::disallowed_methods,
    reason = "it says when the adapters are closed, which is no part of a run"
)]
fn began() -> Instant {
    Instant::now()
}

/// The measured run, with the simulation of the file's own channels.
fn measured(experiment: &Experiment, served: &Served, simulated: &Run) -> Run {
    let mut run = laxity_world::served(experiment, &served.adapters, served.channels.clone(), served.end);
    let tally = served.tally;
    for (name, count) in [
        ("messages_sent", tally.sent),
        ("messages_received", tally.received),
        ("messages_lost", tally.lost),
        ("descriptors_in_error", tally.errors),
    ] {
        run.figures.insert(name.into(), count as f64);
    }
    if run.window > 0.0 {
        run.figures.insert("received_per_second".into(), tally.received as f64 / run.window);
    }
    let beside = simulated.figures.iter().map(|(name, figure)| (format!("{SIMULATED}{name}"), *figure));
    run.figures.extend(beside);
    run.real_time = Some(served.kept.clone());
    run
}

/// Table 1 of Nagar et al. in microseconds, by size (4 B, 1 KiB, 4 KiB, 16 KiB): SVIA, PVIA,
/// QoSVIA. Data that a firmware fetched earlier has 0 there, and is no step here.
const TABLE_1: [(ViStep, [[u16; 4]; 3]); 13] = [
    (ViStep::SendDescriptorProgrammed, [[3, 3, 3, 3], [7, 7, 7, 7], [9, 9, 9, 9]]),
    (ViStep::SendDescriptorDown, [[6, 6, 6, 6], [11, 10, 11, 10], [13, 13, 13, 13]]),
    (ViStep::SendDataProgrammed, [[9, 9, 9, 11], [19, 19, 23, 34], [24, 24, 30, 49]]),
    (ViStep::SendDataDown, [[11, 18, 43, 141], [23, 28, 52, 148], [27, 33, 57, 152]]),
    (ViStep::SendNetworkDone, [[12, 25, 69, 244], [28, 39, 82, 254], [32, 43, 86, 261]]),
    (ViStep::SendStatusProgrammed, [[13, 27, 71, 245], [33, 45, 87, 260], [37, 49, 91, 266]]),
    (ViStep::SendStatusDone, [[14, 28, 72, 247], [38, 49, 92, 264], [41, 53, 95, 270]]),
    (ViStep::ReceiveDescriptorProgrammed, [[3, 3, 3, 3], [0; 4], [0; 4]]),
    (ViStep::ReceiveDescriptorDown, [[5, 5, 5, 5], [0; 4], [0; 4]]),
    (ViStep::ReceiveDataProgrammed, [[8, 8, 9, 11], [10, 10, 14, 24], [12, 12, 17, 35]]),
    (ViStep::ReceiveDataUp, [[10, 17, 42, 138], [14, 19, 42, 138], [15, 21, 44, 139]]),
    (ViStep::ReceiveStatusProgrammed, [[11, 18, 43, 140], [19, 24, 47, 143], [20, 25, 48, 143]]),
    (ViStep::ReceiveStatusDone, [[12, 20, 44, 141], [23, 28, 51, 146], [24, 29, 52, 147]]),
];

fn report(
    experiment: &Experiment,
    spec: &ViaSpec,
    served: &Served,
    simulated: &Run,
    terminal: &mut Terminal,
) {
    for refused in &served.refused {
        terminal.note(&format!("warning: {refused}"));
    }
    let size = experiment.channels.first().map(|channel| channel.spec.max_message.get());
    let row = [4, 1024, 4096, 16_384].iter().position(|known| Some(*known) == size);
    let firmware = match spec.adapter.firmware {
        Firmware::Sequential { .. } => 0,
        Firmware::Parallel => 1,
        Firmware::QualityOfService => 2,
    };
    let size = size.map_or_else(String::new, |size| format!(", messages of {size} B"));
    terminal.line(&format!("{:<44} {:>11} {:>11} {:>8}", "us, mean", "real", "simulated", "Table 1"));
    terminal.line(&format!(
        "{:<44} {:>11} {:>11} {:>8}",
        "",
        "all of it",
        "the file's",
        row.map_or("", |_| "same")
    ));
    for (step, paper) in TABLE_1 {
        let (node, suffix) = if (step as usize) < 7 { (0, "") } else { (1, "@1") };
        let real = served.adapters.get(node).and_then(|adapter| adapter.steps.mean(step));
        let figure = simulated.figures.get(&format!("{}{suffix}", step.figure()));
        let cell = |microseconds: Option<f64>| microseconds.map_or("-".into(), |us| format!("{us:.1}"));
        let paper = row.map(|row| paper[firmware][row]).filter(|us| *us > 0);
        terminal.line(&format!(
            "{:<44} {:>11} {:>11} {:>8}",
            step.words(),
            cell(real.map(|span| span.as_secs_f64() * 1e6)),
            cell(figure.map(|seconds| seconds * 1e6)),
            cell(paper.map(f64::from)),
        ));
    }
    terminal.line(&format!("sent by adapter 0, received by adapter 1{size} in the file"));
    let tally = served.tally;
    terminal.line(&format!(
        "{} messages sent, {} received, {} lost; {} descriptors in error",
        tally.sent, tally.received, tally.lost, tally.errors
    ));
    let violations = served.violations;
    if violations != Default::default() {
        terminal.note(&format!(
            "programs rang {} doorbells that are not theirs and {} that are none, overran {} queues, and tried {} times what \
             RDMA may not touch",
            violations.foreign_doorbells, violations.garbled_doorbells, violations.overruns, violations.rdma
        ));
    }
    fitness(served, terminal);
}

/// How well time was kept, as of any emulation.
fn fitness(served: &Served, terminal: &mut Terminal) {
    let kept = &served.kept;
    terminal.note(&format!(
        "{} events, late by {} (median), {} (99.9 %), {} (most); the platform stood still for {} in all, longest for {}",
        served.events,
        in_words(kept.late_p50),
        in_words(kept.late_p999),
        in_words(kept.late_max),
        in_words(kept.stall_total),
        in_words(kept.stall_longest),
    ));
    terminal.note(&match kept.fitness.spoils_all() {
        None => "the machine was fit for it".into(),
        Some(why) => format!("not fit to be judged by: {why}"),
    });
}

/// Activity of adapters, for Perfetto: a track for each unit, and one for the steps at each.
fn write(
    recorded: &[RecordedOutput],
    nodes: usize,
    draft: Draft,
    mut trace: TraceFile<BufWriter<File>>,
) -> Result<(), OutputError> {
    let mut track = |name: &str, node: usize| trace.track(&format!("{name}@{node}"));
    let tracks: Vec<_> = (0..nodes)
        .map(|node| (Unit::ALL.map(|unit| track(unit.resource(), node)), track("steps", node)))
        .collect();
    for RecordedOutput { node, at, output } in recorded {
        let (units, steps) = &tracks[*node as usize];
        match output {
            ViaOutput::Worked(unit, what, message, since) => {
                let arguments = [("vi", u64::from(message.vi)), ("message", message.number)];
                trace.span(units[*unit as usize], what, *since, *at, &arguments);
            }
            ViaOutput::Did(step, message, base) => {
                let after = at.saturating_since(*base).as_ps() / 1000;
                let arguments =
                    [("vi", u64::from(message.vi)), ("message", message.number), ("nanoseconds", after)];
                trace.instant(*steps, step.words(), *at, &arguments);
            }
            _ => {}
        }
    }
    let written =
        trace.finish().and_then(|writer| writer.into_inner().map_err(std::io::IntoInnerError::into_error));
    match written {
        Ok(file) => draft.finish(&file),
        Err(error) => Err(draft.failed(error)),
    }
}
