//! `laxity`: scenarios in, verdicts out. All it does beside reading arguments and printing is the lab's.
//!
//! Results go to standard output, everything else to standard error. The exit code says what came of it:
//! see [`Exit`].

mod adapter;
mod admit;
mod arguments;
mod attack;
mod budget;
mod calibrate;
mod check;
mod columns;
mod compare;
mod contract;
mod designer;
mod diff;
mod emulate;
mod explain;
mod files;
mod import;
mod live;
mod new;
mod recipe;
mod reference;
mod replay;
mod reproduce;
mod reproduction;
mod run;
mod service;
mod shell;
mod stamp;
mod terminal;
mod trace;
mod tune;

use std::process::ExitCode;

use clap::Parser;
use laxity_world::results::Standing;

use arguments::{Arguments, Command};
use terminal::Terminal;

/// A large network is many small things of few sizes, and those of a size are looked at one after
/// the other: here they lie together.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Outcome of a command, from the best to the worst; the worst of several counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Every claim holds, every channel is admitted, every file is valid.
    Holds,
    /// A claim could not be judged, or no analysis covers the request; the rest is fine.
    NotJudged,
    /// A claim is contradicted, or a channel is refused that was to be admitted.
    Fails,
    /// The input is bad: arguments, a scenario, or the script of a claim.
    BadInput,
    /// The input is good and the work could not be done: a full disk, an error of ours.
    Broken,
}

impl Exit {
    /// The code that the process ends with.
    fn code(self) -> u8 {
        match self {
            Exit::Holds => 0,
            Exit::Fails => 1,
            Exit::BadInput => 2,
            Exit::Broken => 3,
            Exit::NotJudged => 4,
        }
    }
}

impl From<Standing> for Exit {
    fn from(standing: Standing) -> Exit {
        match standing {
            Standing::Holds => Exit::Holds,
            Standing::NotJudged => Exit::NotJudged,
            Standing::Fails => Exit::Fails,
            Standing::BadClaim => Exit::BadInput,
        }
    }
}

fn main() -> ExitCode {
    laxity_machine::signal::survive_file_size_limit();
    let arguments = Arguments::parse();
    let mut terminal = Terminal::new();
    let exit = match &arguments.command {
        Command::New(options) => new::new(options, &mut terminal),
        Command::Import(options) => import::import(options, &mut terminal),
        Command::Run(options) => run::run(options, &mut terminal),
        Command::Admit(options) => admit::admit(options, &mut terminal),
        Command::Attack(options) => attack::attack(options, &mut terminal),
        Command::Tune(options) => tune::tune(options, &mut terminal),
        Command::Check(options) => check::check(options, &mut terminal),
        Command::Diff(options) => diff::diff(options, &mut terminal),
        Command::Reproduce(options) => reproduce::reproduce(options, &mut terminal),
        Command::Trace(options) => trace::trace(options, &mut terminal),
        Command::Calibrate(options) => calibrate::calibrate(options, &mut terminal),
        Command::Contract(options) => contract::contract(options, &mut terminal),
        Command::Recipe(options) => recipe::recipe(options, &mut terminal),
        Command::Adapter(options) => adapter::adapter(&options.command, &mut terminal),
        Command::Emulate(options) => emulate::emulate(options, &mut terminal),
        Command::Replay(options) => replay::replay(options, &mut terminal),
        Command::Serve(options) => service::serve(options, &mut terminal),
        Command::Capture(options) => service::capture::capture(options, &mut terminal),
        Command::Compare(options) => compare::compare(options, &mut terminal),
        Command::Keys(options) => service::keys(options, &mut terminal),
        Command::Send(options) => service::send::send(options, &mut terminal),
        Command::Recv(options) => service::receive::receive(options, &mut terminal),
        Command::Ping(options) => service::ping::ping(options, &mut terminal),
        Command::Bridge(options) => service::bridge::bridge(options, &mut terminal),
        Command::Channel(options) => service::show::channel(&options.command, &mut terminal),
        Command::Node(options) => service::show::node(options, &mut terminal),
        Command::Top(options) => service::show::top(options, &mut terminal),
        Command::Designer(options) => designer::designer(options, &mut terminal),
        Command::Schema(options) => {
            let schema = match options {
                _ if options.profile => laxity_scenario::profile_schema(),
                _ if options.adapter => laxity_scenario::adapter_schema(),
                _ if options.node => reference::node_schema(),
                _ => laxity_scenario::schema(),
            };
            terminal.line(&format!("{schema:#}"));
            Exit::Holds
        }
        Command::Explain(options) => explain::explain(options, &mut terminal),
        Command::Completions(options) => shell::completions(options, &mut terminal),
        Command::Man(options) => shell::man(options, &mut terminal),
        Command::Reference(options) => {
            terminal.print(&match options {
                _ if options.claims => laxity_report::glossary::claims_reference(),
                _ if options.glossary => laxity_report::glossary::glossary(),
                _ if options.scenario => reference::scenario_pages(),
                _ if options.node => reference::node_files(),
                _ if options.man => shell::man_pages(),
                _ if options.coverage => laxity_lab::coverage::markdown(),
                _ => reference::markdown(),
            });
            Exit::Holds
        }
    };
    ExitCode::from(terminal.finish(exit).code())
}
