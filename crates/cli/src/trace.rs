//! `laxity trace`: one point of a sweep, watched.

mod window;

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use laxity_engine::trace::NoTrace;
use laxity_report::capture::Capture;
use laxity_report::output::{self, Draft, FileKind};
use laxity_report::perfetto::{self, TraceFile};
use laxity_units::{Span, Time};
use laxity_world::text::clean;
use laxity_world::{Departed, FrameSink};

use crate::arguments::Trace;
use crate::terminal::Terminal;
use crate::{Exit, files};
use window::{Window, Windowed};

pub(crate) fn trace(arguments: &Trace, terminal: &mut Terminal) -> Exit {
    let read = files::scenario_at(&arguments.file, &arguments.settings, arguments.point, terminal);
    let Some((scenario, point)) = read else { return Exit::BadInput };
    if arguments.perfetto.is_none() && arguments.pcap.is_none() {
        terminal.note("error: nothing to write; name a file with --perfetto or --pcap");
        return Exit::BadInput;
    }
    let first = scenario.first();
    if let Some(path) = arguments.pcap.as_ref().filter(|_| !first.carries_frames()) {
        let path = clean(&path.display().to_string());
        terminal.error(&format!("{path}: this scenario has no frames; --perfetto shows what happens"));
        return Exit::BadInput;
    }
    let inputs = scenario.inputs();
    let same = |a: &Path, b: &Path| a == b || std::path::absolute(a).ok() == std::path::absolute(b).ok();
    if let (Some(a), Some(b)) = (&arguments.perfetto, &arguments.pcap)
        && same(a, b)
    {
        terminal.error(&format!("{}: trace and packets cannot be one file", clean(&a.display().to_string())));
        return Exit::BadInput;
    }
    let met = match watch(&scenario.experiment(&point), arguments, &inputs) {
        Ok(met) => met,
        Err(error) => return terminal.unwritten(&error),
    };
    let described = scenario.describe(&point);
    let of = if described.is_empty() { String::new() } else { format!(" at {described}") };
    terminal.line(&format!("{}{of}", scenario.name));
    for path in arguments.perfetto.iter().chain(&arguments.pcap) {
        terminal.line(&format!("wrote {}", clean(&path.display().to_string())));
    }
    if met {
        return Exit::Holds;
    }
    terminal.note("nothing happened in the part of the run that was asked for");
    Exit::NotJudged
}

/// The part of the run that is written. Default: all.
fn window(arguments: &Trace) -> Window {
    let from = Time::ZERO.saturating_add(arguments.from.unwrap_or(Span::ZERO));
    Window { from, to: arguments.length.map_or(Time::MAX, |length| from.saturating_add(length)) }
}

/// Writes the files; whether there is anything in one of them.
fn watch(
    experiment: &laxity_world::experiment::Experiment,
    arguments: &Trace,
    inputs: &[PathBuf],
) -> Result<bool, output::OutputError> {
    let begin = |path: &PathBuf| {
        let (draft, file) = Draft::begin(path, FileKind::Capture, inputs)?;
        Ok((draft, Capture::new(BufWriter::new(file), experiment)))
    };
    let mut capture = arguments.pcap.as_ref().map(begin).transpose()?;
    let window = window(arguments);
    let mut met = false;
    let mut record = |departed: Departed<'_>| {
        if let Some((_, frames)) = &mut capture
            && window.holds(departed.at)
        {
            met = true;
            frames.record(departed);
        }
    };
    let frames = arguments.pcap.is_some().then_some(&mut record as &mut FrameSink<'_>);
    if let Some(path) = &arguments.perfetto {
        let (draft, file) = Draft::begin(path, perfetto::kind(path), inputs)?;
        let mut trace = Windowed::new(TraceFile::new(path, BufWriter::new(file)), window);
        laxity_world::observe(experiment, &mut trace, frames);
        let (file, happened) = trace.finish();
        met |= happened;
        finish(draft, file.finish())?;
    } else {
        laxity_world::observe(experiment, &mut NoTrace, frames);
    }
    if let Some((draft, frames)) = capture {
        finish(draft, frames.finish())?;
    }
    Ok(met)
}

fn finish(draft: Draft, writer: io::Result<BufWriter<File>>) -> Result<(), output::OutputError> {
    match writer.and_then(|writer| writer.into_inner().map_err(io::IntoInnerError::into_error)) {
        Ok(file) => draft.finish(&file),
        Err(error) => Err(draft.failed(error)),
    }
}
