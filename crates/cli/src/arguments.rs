//! The arguments, which are also their own documentation: `docs/cli.md` is made from here.

mod compare;
mod designer;
mod edits;
mod exchange;
mod service;
mod tools;

use std::num::NonZero;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::LazyLock;

use clap::{Args, Parser, Subcommand};
use laxity_units::Span;

pub(crate) use compare::{Compare, MeasuredLog};
pub(crate) use designer::Designer;
pub(crate) use edits::Settings;
pub(crate) use exchange::{Import, ImportFormat, New, Recipe, Start};
pub(crate) use service::{
    Bridge, Capture, Channel, ChannelCommand, ContractChanges, ContractOptions, Daemon, MakeKeys, Ping, Recv,
    Send, Serve, ShowNode, Top,
};
pub(crate) use tools::{
    Adapter, AdapterCheck, AdapterCommand, AdapterShow, AdapterTrial, Calibrate, Completions, Contract, Diff,
    Explain, Man, Reference, Schema,
};

/// Text of `--version`.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), ", build ", env!("LAXITY_BUILD"));

/// Text of `--version`: the version, and what this program can do.
static ABILITIES: LazyLock<String> = LazyLock::new(|| {
    let linux = cfg!(target_os = "linux");
    let on_linux = |what: &str| if linux { what.to_string() } else { "no, this is not Linux".into() };
    [
        VERSION.into(),
        format!("format of scenarios: {}", laxity_scenario::FORMAT),
        format!("real time: {}", on_linux("yes")),
        format!("TAP interfaces and namespaces: {}", on_linux("yes, with CAP_NET_ADMIN and CAP_SYS_ADMIN")),
        format!("service: {}", on_linux("yes")),
        "results: HTML, SVG, JSON, CSV, Parquet, JUnit, Perfetto, pcapng".into(),
        format!("adapters built in: {}", laxity_scenario::built_in_adapters().join(", ")),
    ]
    .join("\n")
});

/// Finds out whether hosts and network adapters keep deadlines, before traffic does.
///
/// An experiment is a file that describes a host, an adapter, a workload and the claims that the
/// outcome must meet. Running it prints bound beside measurement and a verdict per claim.
///
/// The exit code is the first of these that applies.
///
/// 3: the work could not be done, or an output file could not be written. A full disk costs the
/// files; the table and the verdicts are still printed.
///
/// 2: the input is bad: an argument, a file, or the script of a claim.
///
/// 1: a claim is contradicted; a channel without `refusal = "expected"` is refused; a guaranteed
/// channel or a budget of an application missed its deadline without `misses = "expected"`; or a
/// run exceeded a proved bound. `admit` also exits with 1 if a CPU cannot keep its budgets.
///
/// 4: a claim is not judged because its figures were not measured well enough; a run was given up
/// because it made no progress, or because its packets take more than 720 h; or a run without
/// claims carried no message, or none of a channel that has a bound or that sent messages with a
/// deadline. `tune` also exits with 4 if it measured no setting, and `trace` if nothing happened
/// in the part of the run that was asked for. `admit` does if it could not decide: no analysis
/// covers a host, or the bound ends before the receiving host; admission is off beside a deadline;
/// or copies of a channel are counted.
///
/// 0: every claim holds, at least within a stated range, and every channel is admitted as expected.
///
/// Results go to standard output, all else to standard error; colours only to a terminal, and not
/// if NO_COLOR is set.
///
/// No output replaces a file that Laxity did not write, a file that the same command reads, a link,
/// a device or a pipe. Files appear whole or not at all. Several runs with one directory of results
/// run one after the other.
#[derive(Debug, Parser)]
#[command(name = "laxity", version = VERSION, long_version = ABILITIES.as_str(), arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Writes a commented scenario to start from: `camera`, `office`, `nic`, `receiver` or
    /// `cluster`.
    ///
    /// `camera` is one host with a deadline beside a bulk transfer. `office` is a network of unlike
    /// hosts at two switches. `nic` is a pair of hosts with a 25 Gbit/s adapter of stages and
    /// queues. `receiver` is a host that more packets reach than it can process. `cluster` has
    /// adapters with virtual interfaces, past the kernel. Each runs as it is. The schema of the
    /// format is written beside it, once, for editors. A file that exists is never replaced.
    New(New),
    /// Writes the network of another tool as a scenario: Saihu, WOPANet, tsnkit, or a table of AFDX.
    ///
    /// Formats describe networks and not hosts, so hosts of the scenario take no time. The `about` of the
    /// scenario states the changes of the import. An error names file and line.
    Import(Import),
    /// Runs experiments, judges their claims and writes a directory of results for each.
    Run(Run),
    /// Shows the delay bound of each channel and its margin, or why the channel is refused. Runs no
    /// simulation.
    ///
    /// `--fix` looks for the least change of one thing (or of two, if no single one is enough) with
    /// which every channel is admitted. It then exits with 0 if it shows such a change, and with 1
    /// if it found none.
    Admit(Admit),
    /// Searches for the worst case of every channel and exchange that has a bound, and writes the
    /// scenarios that show it.
    ///
    /// A channel is searched for its longest time to delivery, or to the last transmission where no
    /// host receives; an exchange for its longest time to the answer. Chooses phases, sizes and order
    /// of messages within each channel's contract, and any best effort. The same seed and number of
    /// steps find the same, whatever the number of threads. A scene that takes more than two million
    /// events is given up. Exit code 1 if a bound was exceeded, 4 if no channel has one.
    Attack(Attack),
    /// Searches the sweep of a scenario for the setting that its `[tune]` asks for.
    ///
    /// Prints the best setting and the price of the runners-up, and draws the frontier of the goal
    /// over the needs. The best is confirmed with fresh seeds. The same file gives the same answer,
    /// whatever the number of threads. Exit code 1 if no setting keeps the needs; then the nearest
    /// is shown.
    Tune(Tune),
    /// Checks scenario files, every point of their sweeps and the scripts of their claims, and the files
    /// of the service; runs no simulation.
    Check(Check),
    /// Compares the results of two runs: what changed, and whether the change is more than chance.
    ///
    /// Rows are matched by point and channel. Points that differ only in an axis called `seed` are
    /// draws of one row, and a change of their mean is tested (paired, if the seeds are the same;
    /// corrected for the number of tests). Exit code 1 if anything differs that is significant or
    /// has one draw only.
    Diff(Diff),
    /// Runs all experiments and writes the table of what was reproduced.
    ///
    /// Prints a line per claim. The table has no times and no dates: the same experiments give the same file.
    Reproduce(Reproduce),
    /// Runs one point of a sweep and writes down what CPU and link do, and the packets they send.
    Trace(Trace),
    /// Measures what this machine costs as a host, and writes a profile that scenarios can name.
    ///
    /// Costs of packets are measured at several sizes, and given for each packet and each byte. The
    /// profile holds for sizes between the smallest (64 B) and the largest; a scenario with other
    /// packets is refused.
    Calibrate(Calibrate),
    /// Shows what a recording must reserve: the contracts with the least rate, and one to copy.
    ///
    /// All messages of the recording keep each contract in the table, and none waits longer for its
    /// logical arrival than `--wait`. Another recording of the same program may not keep it.
    Contract(Contract),
    /// Prints a shell script that sets Linux up as the scenario says: queues, adapters, programs.
    ///
    /// Each host or switch has `tc` and `ethtool` commands, and the socket options of its programs.
    /// The head lists the parts of the scenario that Linux cannot keep. No command is run.
    Recipe(Recipe),
    /// Checks adapter files, and shows what is in one.
    Adapter(Adapter),
    /// Runs one point in real time, and lets real programs send and receive at its ports.
    ///
    /// Makes the TAP interfaces and network namespaces that the scenario's ports ask for, and
    /// removes them at the end, which is that of the run or an interrupt (Ctrl-C). Of a scenario
    /// with `[via]` it opens the adapters for programs that use the library `laxity-vi`, and needs
    /// no privilege. Otherwise it needs CAP_NET_ADMIN, CAP_SYS_ADMIN and, for the directories under
    /// /run, CAP_DAC_OVERRIDE, as root has them and `setcap
    /// cap_net_admin,cap_sys_admin,cap_dac_override+ep` gives them.
    Emulate(Emulate),
    /// Runs an emulation again from its log, at the speed of a simulation, and prints the same outcome.
    Replay(Replay),
    /// Runs the daemon of a node: guaranteed channels between real programs on real hosts.
    ///
    /// Reads a node file: the node, its links and neighbours. Programs connect at
    /// `/run/laxity/NAME.sock`. Ends in order with SIGINT or SIGTERM, and leaves no discipline,
    /// socket or reservation behind. With `interface` on a link it needs CAP_NET_ADMIN.
    Serve(Serve),
    /// Writes the frames in the log of a daemon as pcapng, which dissector/laxity.lua decodes.
    ///
    /// The node file of the daemon has `log`. Packets on the line are sealed; those of the capture
    /// are not, and have all of their payload. Times count from the start of the daemon.
    Capture(Capture),
    /// Sets prediction and measurement side by side: bound, simulated worst and measured worst of each
    /// channel.
    ///
    /// Of a network of node files, the channels that run are found by sender and receiver. A message
    /// later than its bound is explained by stops of the platform on its route, or is a bug: exit code
    /// 1. Exit code 4 if no daemon has a channel.
    ///
    /// With `--log`, the measured delays are those in the logs of other programs: `isochron.dat`, and
    /// the log file or the histogram of the RTC-Testbench. The file is a scenario then, or a network of
    /// node files. Exit code 1 if a delay is above its bound or a packet was lost, and 4 if a row has
    /// no judgement.
    Compare(Compare),
    /// Makes a test authority, and a certificate and a key for each node.
    Keys(MakeKeys),
    /// Sends standard input over a channel: pieces of `--size` bytes, as fast as the contract lets.
    ///
    /// Exit code 1 if the channel is refused, or breaks.
    Send(Send),
    /// Receives at a name, and writes the payload of messages to standard output.
    Recv(Recv),
    /// Measures round trips to a receiver that `laxity recv NAME --echo` runs: two channels, with the
    /// bound beside the worst case.
    Ping(Ping),
    /// Carries UDP datagrams of a local program over a channel, or those of a channel to one.
    ///
    /// With `--listen ADDRESS --to NAME` each datagram that arrives there is a message of a channel; one
    /// beyond the contract is dropped and counted. With `--from NAME --send ADDRESS` each message is a
    /// datagram to the address. With both names answers come back. Ends with an interrupt, or when the
    /// channel breaks.
    Bridge(Bridge),
    /// Shows or closes the channels at the local node.
    Channel(Channel),
    /// Shows the local node: links, names, counters.
    Node(ShowNode),
    /// Shows the channels at the local node, live: the bound beside the worst case.
    Top(Top),
    /// Serves the designer: a page that shows bounds, worst cases and timelines as a scenario is edited.
    ///
    /// The page is at `http://localhost:7117`, for browsers of this machine only. It needs no other
    /// server, and a scenario does not leave the browser except to this program. Ends with an
    /// interrupt (Ctrl-C).
    Designer(Designer),
    /// Prints the JSON schema of scenario files, for editors.
    Schema(Schema),
    /// Says what a key of a scenario or a word of tables, reports and claims means.
    ///
    /// Of a key: its meaning, values with their unit and range, default and an example. A path may
    /// be as a scenario or a sweep writes it (`channel.video.source.rate`), some parts of one
    /// (`host.poll`), or a key's name alone.
    Explain(Explain),
    /// Prints the script that completes commands and options in a shell.
    Completions(Completions),
    /// Prints the manual page of a command, for `man -l -`.
    Man(Man),
    /// Prints this reference as Markdown.
    #[command(hide = true)]
    Reference(Reference),
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Scenario files, descriptions of adapters, networks of node files, or folders: a folder stands
    /// for the files right in it that end in `.toml`, and `-` for a scenario from standard input.
    ///
    /// Of a network of node files the nodes of daemons are simulated; it stands alone on the command
    /// line, and only prints a table: the bound of each channel beside its simulated worst case.
    ///
    /// A description is put into a scenario that tries it, in place of its `[adapter] file`: the
    /// scenario of the same name in a folder `trials` beside it, or else one that `laxity adapter trial`
    /// derives from the description. So `laxity run adapters` shows what each adapter can promise.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Directory of results; of several files, the directory that holds theirs. Default `results/<name>`.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) effort: Effort,
    /// Prints table and verdicts only; leaves the directory of results as it is.
    #[arg(long)]
    pub(crate) no_report: bool,
    /// Root seed of every random stream, in place of the file's.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

impl Run {
    /// Whether anything but files is given.
    pub(crate) fn has_options(&self) -> bool {
        let Run { files: _, out, settings, effort, no_report, seed } = self;
        let Effort { threads, fresh } = effort;
        let edits = settings.edits();
        out.is_some() || !edits.is_empty() || threads.is_some() || *fresh || *no_report || seed.is_some()
    }
}

/// How the points of a sweep are run.
#[derive(Debug, Args)]
pub(crate) struct Effort {
    /// Points that run at once. Default: one per core. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = positive::<NonZero<usize>>)]
    pub(crate) threads: Option<NonZero<usize>>,
    /// Runs every point, also those that an earlier run of the same build has finished.
    #[arg(long)]
    pub(crate) fresh: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Admit {
    /// A scenario file, or an adapter's description, which is tried as `run` does.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// Shows what each bound is made of, station by station.
    #[arg(long)]
    pub(crate) terms: bool,
    /// Shows how much room each station, interface and socket needs so that no packet with a bound
    /// is lost.
    #[arg(long)]
    pub(crate) rooms: bool,
    /// Shows only this channel, or all copies of it.
    #[arg(long, value_name = "NAME")]
    pub(crate) channel: Option<String>,
    /// Looks for the least change that admits every channel.
    ///
    /// Changes deadlines, intervals, bursts and sizes of channels, speeds of hosts, interrupt
    /// moderation, link rates, disciplines, depths of queues, and how admission is done; by a
    /// factor of 16 at most. Each change that is shown was checked by admission.
    #[arg(long, conflicts_with_all = ["terms", "channel", "rooms"])]
    pub(crate) fix: bool,
    /// Prints JSON instead of tables; times in seconds.
    #[arg(long, short)]
    pub(crate) json: bool,
    /// Number of searches at once, with `--fix`. Default: one per core. The findings do not depend
    /// on it.
    #[arg(long, value_name = "N", value_parser = positive::<NonZero<usize>>, requires = "fix")]
    pub(crate) threads: Option<NonZero<usize>>,
}

#[derive(Debug, Args)]
pub(crate) struct Tune {
    /// A scenario file with `[tune]`.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// Points that run at once. Default: one per core.
    #[arg(long, value_name = "N", value_parser = positive::<NonZero<usize>>)]
    pub(crate) threads: Option<NonZero<usize>>,
    /// Where the frontier is drawn. Default `results/<name>.tune.svg`.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Attack {
    /// A scenario file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// Only this point of the sweep, counted from 0 with the last axis fastest. Default: all; those
    /// that differ in seed, sources and length only are attacked once.
    #[arg(long, value_name = "N")]
    pub(crate) point: Option<usize>,
    /// Only this channel. Default: all that have a bound.
    #[arg(long, value_name = "NAME")]
    pub(crate) channel: Option<String>,
    /// Runs for each channel, about. Default 4000, or as many as the time allows.
    #[arg(long, value_name = "N", value_parser = positive::<NonZero<u64>>)]
    pub(crate) steps: Option<NonZero<u64>>,
    /// How long to search at each point, such as `1 min`. The findings then depend on the machine.
    #[arg(long, value_name = "TIME")]
    pub(crate) time: Option<Span>,
    /// Root of the search's random streams.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Number of searches at once. Default: one per core. The findings do not depend on it.
    #[arg(long, value_name = "N", value_parser = positive::<NonZero<usize>>)]
    pub(crate) threads: Option<NonZero<usize>>,
    /// Directory of the experiment's results, beside which `<DIR>.attack` is put. Default `results/<name>`.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Scenario files, descriptions of adapters, or folders, as `run` takes them.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

#[derive(Debug, Args)]
pub(crate) struct Reproduce {
    /// Only this system: a directory below the experiments. The rest of the table stays.
    #[arg(value_name = "SYSTEM")]
    pub(crate) system: Option<String>,
    /// Directory of the experiments, `<system>/<name>.toml`.
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    pub(crate) experiments: PathBuf,
    /// File of the table.
    #[arg(long, value_name = "FILE", default_value = "docs/reproduction.md")]
    pub(crate) table: PathBuf,
    /// Writes no file; runs the experiments in virtual time, and fails unless their rows equal
    /// those of the table, byte for byte.
    #[arg(long)]
    pub(crate) check: bool,
    /// Writes no file; runs the experiments in virtual time as they are and N times as long, and
    /// fails if a verdict depends on the length.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000), conflicts_with = "check")]
    pub(crate) longer: Option<u32>,
    /// Puts the sections that another command wrote into the table, and runs no experiment.
    #[arg(long, value_name = "FILE", hide = true, conflicts_with_all = ["check", "longer", "system"])]
    pub(crate) merge: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) effort: Effort,
}

#[derive(Debug, Args)]
pub(crate) struct Trace {
    /// A scenario file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// Which point of the sweep, counted from 0 with the last axis fastest.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) point: usize,
    /// File of what happened when, which opens in Perfetto (ui.perfetto.dev), such as `run.pftrace`.
    /// A name that ends in `.json` gives trace-event JSON instead, which is exact to the picosecond
    /// and many times as large.
    #[arg(long, value_name = "FILE")]
    pub(crate) perfetto: Option<PathBuf>,
    /// File of the packets as Ethernet, IPv4 and UDP: pcapng with nanoseconds, for Wireshark with
    /// `dissector/laxity.lua`. A frame holds the bytes that took time on its link. Frames of nodes with
    /// signalling have a header of Ethernet, and none of IP or UDP.
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// From this virtual time on, such as `1.5 s`. Default: from the beginning.
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<Span>,
    /// For so long, such as `10 ms`. Default: to the end. A step that a limit cuts is written whole.
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) length: Option<Span>,
}

#[derive(Debug, Args)]
pub(crate) struct Emulate {
    /// A scenario file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Which point of the sweep, counted from 0 with the last axis fastest.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) point: usize,
    /// How long, such as `30 s`, in place of what the file says.
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) time: Option<Span>,
    /// Of a scenario with `[via]`: the directory in which its adapters are opened, each as a socket
    /// that is called by its number.
    #[arg(long, value_name = "DIR")]
    pub(crate) adapters: Option<PathBuf>,
    /// Of such a scenario: file of what its adapters did, which opens in Perfetto
    /// (ui.perfetto.dev); the first million of steps. JSON if the name ends in `.json`.
    #[arg(long, value_name = "FILE")]
    pub(crate) perfetto: Option<PathBuf>,
    /// File for every input with its time, which `laxity replay` runs again.
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Directory of results. Default `results/<name>`.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Prints table and verdicts only; leaves the directory of results as it is.
    #[arg(long)]
    pub(crate) no_report: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// A log that `laxity emulate --log` or a daemon (`log` in its node file) wrote.
    #[arg(value_name = "LOG")]
    pub(crate) log: PathBuf,
    /// Directory of results. Default none.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// A whole number that is not zero.
fn positive<N: FromStr>(text: &str) -> Result<N, &'static str> {
    text.parse().map_err(|_| "valid is a whole number from 1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn arguments_are_consistent() {
        Arguments::command().debug_assert();
    }
}
