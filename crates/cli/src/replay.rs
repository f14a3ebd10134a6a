//! `laxity replay`: an emulation again, from its log alone.

use std::fs::File;
use std::io::BufReader;

use laxity_emulator::emulate::{self, ReplayError, Replayed};
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
    let log = match Log::open(BufReader::new(file)) {
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
    let replayed = match experiment.via.is_some() {
        true => via::replay(log, &experiment, terminal).map(|(run, replayed)| {
            let Served { departures, inputs, end, .. } = replayed.served;
            Replayed { run, departures, inputs, end, cut: replayed.cut, trailing: replayed.trailing }
        }),
        false => emulate::replay(log, &experiment),
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
