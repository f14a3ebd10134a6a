//! `laxity replay`: an emulation or a daemon again, from its log alone.

use std::fs::File;
use std::io::{BufRead, BufReader};

use laxity_emulator::emulate::{self, ReplayError, ReplayedEmulation};
use laxity_emulator::log::Log;
use laxity_emulator::via::Served;
use laxity_world::text::{clean, clean_lines};

use crate::Exit;
use crate::arguments::Replay;
use crate::emulate::{conclude, via};
use crate::terminal::Terminal;

pub(crate) fn replay(arguments: &Replay, terminal: &mut Terminal) -> Exit {
    let refused = |why: &str| terminal.error(&format!("{}: {}", arguments.log.display(), clean_lines(why)));
    let file = match File::open(&arguments.log) {
        Ok(file) => file,
        Err(why) => {
            refused(&why.to_string());
            return Exit::BadInput;
        }
    };
    let mut reader = BufReader::new(file);
    if reader.fill_buf().is_ok_and(laxity_service::is_log) {
        return daemon(arguments, terminal);
    }
    let log = match Log::open(reader) {
        Ok(log) => log,
        Err(error) => {
            refused(&error.to_string());
            return Exit::BadInput;
        }
    };
    let (version, own) = (log.header().version.clone(), env!("CARGO_PKG_VERSION"));
    if version != own {
        let version = clean(&version);
        terminal.note(&format!(
            "warning: the log is of Laxity {version}, and this is {own}: it may go another way"
        ));
    }
    let (scenario, point, experiment) = match log.header().experiment() {
        Ok(logged) => logged,
        Err(why) => {
            refused(&why);
            return Exit::BadInput;
        }
    };
    let replayed = match experiment.virtual_interfaces() {
        Some(spec) => via::replay(log, &experiment, spec, terminal).map(|(run, replayed)| {
            let Served { departures, inputs, end, .. } = replayed.served;
            ReplayedEmulation { run, departures, inputs, end, cut: replayed.cut, trailing: replayed.trailing }
        }),
        None => emulate::replay(log, &experiment),
    };
    let replayed = match replayed {
        Ok(replayed) => replayed,
        Err(error) => {
            terminal.error(&format!("{}: {}", arguments.log.display(), clean_lines(&error.to_string())));
            return if matches!(error, ReplayError::Log(_)) { Exit::BadInput } else { Exit::Broken };
        }
    };
    if let Some(cut) = &replayed.cut {
        terminal.note(&format!("warning: {cut}; it is replayed as far as it goes, until {}", replayed.end));
    }
    if replayed.trailing > 0 {
        terminal.note(&format!(
            "warning: {} bytes follow the end of the log, and say nothing",
            replayed.trailing
        ));
    }
    terminal.note(&format!("{} inputs from outside, until {}", replayed.inputs, replayed.end));
    terminal.note(&format!("departures {:016x}", replayed.departures));
    conclude(&scenario, &point, "replayed", replayed.run, (arguments.out.clone(), false), terminal)
}

/// The log of a daemon.
fn daemon(arguments: &Replay, terminal: &mut Terminal) -> Exit {
    let replayed = match laxity_service::replay(&arguments.log, &mut |_| {}) {
        Ok(replayed) => replayed,
        Err(why) => {
            terminal.error(&clean_lines(&why));
            return Exit::Broken;
        }
    };
    if replayed.version != env!("CARGO_PKG_VERSION") {
        terminal.note(&format!("warning: the log is of Laxity {}", clean(&replayed.version)));
    }
    if replayed.is_cut {
        terminal.note("warning: the log is cut off in the middle of an input");
    }
    let (arrived, left) = replayed.frames;
    let (accepted, delivered) = replayed.messages;
    terminal.line(&format!(
        "{}: {} inputs in {}; {arrived} frames arrived, and {left} left as in the run; {accepted} messages \
         accepted, {delivered} delivered; {} packets late",
        clean(&replayed.name),
        replayed.inputs,
        replayed.end,
        replayed.late.len()
    ));
    for (channel, at, late) in &replayed.late {
        terminal.line(&format!("channel {channel} at {at}: {late} late"));
    }
    if replayed.late.is_empty() { Exit::Holds } else { Exit::Fails }
}
