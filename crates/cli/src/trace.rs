//! `laxity trace`: one point of a sweep, watched.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use laxity_engine::trace::{NoTrace, PerfettoTrace};
use laxity_engine::{FrameCapture, Interface, LinkType};
use laxity_lab::scenario::Scenario;
use laxity_lab::world::{self, FrameSink};
use laxity_units::{Bytes, Time};

use crate::Exit;
use crate::arguments::Trace;
use crate::terminal::{Terminal, clean};

/// Enough of a frame for its header and what identifies a payload.
const SNAP: Bytes = Bytes::new(128);

pub(crate) fn trace(arguments: &Trace, terminal: &mut Terminal) -> Exit {
    let scenario = match Scenario::load(&arguments.file) {
        Ok(scenario) => scenario,
        Err(diagnostics) => {
            terminal.note(&diagnostics.render(terminal.error_colour()));
            return Exit::BadInput;
        }
    };
    let points = scenario.points().count();
    let Some(point) = scenario.points().nth(arguments.point) else {
        let last = points - 1;
        terminal.note(&format!("error: there is no point {}; valid is 0 to {last}", arguments.point));
        return Exit::BadInput;
    };
    if arguments.perfetto.is_none() && arguments.pcap.is_none() {
        terminal.note("error: nothing to write; name a file with --perfetto or --pcap");
        return Exit::BadInput;
    }
    let watched = watch(&scenario.experiment(&point), arguments);
    if let Err((path, error)) = watched {
        terminal.note(&format!("error: {} cannot be written: {error}", clean(&path)));
        return Exit::Broken;
    }
    let described = scenario.describe(&point);
    let of = if described.is_empty() { String::new() } else { format!(" at {described}") };
    terminal.line(&format!("{}{of}", scenario.name));
    for path in arguments.perfetto.iter().chain(&arguments.pcap) {
        terminal.line(&format!("wrote {}", clean(&path.display().to_string())));
    }
    Exit::Holds
}

type Failure = (String, io::Error);

fn watch(experiment: &laxity_lab::scenario::Experiment, arguments: &Trace) -> Result<(), Failure> {
    let mut capture = arguments.pcap.as_deref().map(Capture::create).transpose()?;
    let mut record = |node: usize, at: Time, frame: &[u8]| {
        if let Some(capture) = &mut capture {
            capture.record(node, at, frame);
        }
    };
    let frames = arguments.pcap.is_some().then_some(&mut record as &mut FrameSink<'_>);
    if let Some(path) = &arguments.perfetto {
        let (temporary, file) = create(path)?;
        let mut trace = PerfettoTrace::new(file);
        world::observe(experiment, &mut trace, frames);
        finish(path, &temporary, trace.finish())?;
    } else {
        world::observe(experiment, &mut NoTrace, frames);
    }
    if let (Some(capture), Some(path)) = (capture, &arguments.pcap) {
        finish(path, &capture.temporary, capture.frames.finish())?;
    }
    Ok(())
}

/// A capture with an interface for every node, named as nodes first send.
struct Capture {
    temporary: PathBuf,
    frames: FrameCapture<BufWriter<File>>,
    interfaces: Vec<Interface>,
}

impl Capture {
    fn create(path: &Path) -> Result<Self, Failure> {
        let (temporary, file) = create(path)?;
        Ok(Self { temporary, frames: FrameCapture::new(file, SNAP), interfaces: Vec::new() })
    }

    fn record(&mut self, node: usize, at: Time, frame: &[u8]) {
        while self.interfaces.len() <= node {
            let name = format!("node{}", self.interfaces.len());
            self.interfaces.push(self.frames.interface(&name, LinkType::User0));
        }
        self.frames.frame(self.interfaces[node], at, frame);
    }
}

/// A file beside `path`, which takes its name when it is whole.
fn create(path: &Path) -> Result<(PathBuf, BufWriter<File>), Failure> {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let temporary = PathBuf::from(name);
    let file = File::create(&temporary).map_err(|error| (path.display().to_string(), error))?;
    Ok((temporary, BufWriter::new(file)))
}

fn finish(path: &Path, temporary: &Path, writer: io::Result<BufWriter<File>>) -> Result<(), Failure> {
    writer
        .and_then(|mut writer| writer.flush())
        .and_then(|()| std::fs::rename(temporary, path))
        .map_err(|error| (path.display().to_string(), error))
}
