//! The arguments of commands beside experiments: adapters, profiles, words, shells.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::Shell;
use laxity_units::{Bytes, Span};

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// A key or a word as it stands anywhere: `channel.deadline`, `napi`, `on_time`, `laxity.min`,
    /// `"not judged"`. All words if there is none.
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Reference {
    /// The reference of claims instead.
    #[arg(long)]
    pub(crate) claims: bool,
    /// The glossary instead.
    #[arg(long)]
    pub(crate) glossary: bool,
    /// The page of which systems have a bound instead.
    #[arg(long)]
    pub(crate) coverage: bool,
    /// The pages of the scenario format instead, each after a line that names its file.
    #[arg(long)]
    pub(crate) scenario: bool,
    /// The page of node files instead.
    #[arg(long)]
    pub(crate) node: bool,
    /// The manual pages instead, each after a line that names its file.
    #[arg(long)]
    pub(crate) man: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Contract {
    /// A capture (pcap, pcapng), ffprobe's rows or JSON, or a list of sizes. Each packet or frame is
    /// a message. A capture of several flows is filtered first, such as by `tshark -Y … -w …`.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The spacing of messages, in place of the times of the file if it has any.
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub(crate) interval: Option<Span>,
    /// The longest time that a message may wait for its logical arrival, from which its deadline
    /// counts. Default: the mean spacing of messages.
    #[arg(long, value_name = "TIME")]
    pub(crate) wait: Option<Span>,
    /// The largest message of the contract: a larger one counts as several. Default: the one that
    /// reserves least, among the largest in the file, half of it, and so on.
    #[arg(long, value_name = "SIZE")]
    pub(crate) message: Option<Bytes>,
    /// Counts the link header of captured packets as payload, as a network without `framing` does.
    #[arg(long)]
    pub(crate) link_header: bool,
    /// File of a figure: the least rate for each wait.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Prints JSON instead of a table; values in SI units.
    #[arg(long, short)]
    pub(crate) json: bool,
}

/// From 1 ns to an hour, as the interval of a source.
fn interval(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error: laxity_units::UnitError| error.to_string())?;
    let valid = Span::from_ns(1)..=Span::from_secs(3600);
    if valid.contains(&span) { Ok(span) } else { Err("valid is 1 ns to 1 h".into()) }
}

#[derive(Debug, Args)]
pub(crate) struct Calibrate {
    /// Fits an adapter to its throughput by packet size instead, and writes an adapter file and a
    /// figure.
    ///
    /// The file has a line of headings, `size,throughput` or `size,time`, and a line for each size: bytes,
    /// and bytes per second or seconds. One packet is in the adapter at a time. The fit is
    /// `C_x + size / B_x`; two lines that meet at a measured size stand beside it, with the
    /// residuals of both.
    #[arg(long, value_name = "CURVE", conflicts_with = "packet")]
    pub(crate) adapter: Option<PathBuf>,
    /// File of the profile, or of the adapter. Default: `this-machine.toml`, or the name of the
    /// curve with `.toml`.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Largest packet in bytes, header not counted.
    #[arg(long, value_name = "BYTES", default_value_t = 4096, value_parser = clap::value_parser!(u64).range(64..=65536))]
    pub(crate) packet: u64,
}

#[derive(Debug, Args)]
pub(crate) struct Adapter {
    #[command(subcommand)]
    pub(crate) command: AdapterCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AdapterCommand {
    /// Checks adapter files: whether each is an adapter, and has the source of every number.
    Check(AdapterCheck),
    /// Prints an adapter's stages, queues, resources and buffers, what packets cost it, and what limits it.
    Show(AdapterShow),
    /// Prints the scenario that loads an adapter, derived from its description: `laxity run FILE` runs it
    /// where no scenario of the same name is in a folder `trials` beside the file.
    Trial(AdapterTrial),
}

#[derive(Debug, Args)]
pub(crate) struct AdapterCheck {
    /// Adapter files, or names of built-in adapters.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct AdapterShow {
    /// An adapter file, or the name of a built-in adapter.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// File of a block diagram.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct AdapterTrial {
    /// An adapter file, or the name of a built-in adapter.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// The schema of host cost profiles instead.
    #[arg(long)]
    pub(crate) profile: bool,
    /// The schema of adapter files instead.
    #[arg(long, conflicts_with = "profile")]
    pub(crate) adapter: bool,
    /// The schema of node files, which `laxity serve` reads, instead.
    #[arg(long, conflicts_with_all = ["profile", "adapter"])]
    pub(crate) node: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// Results of the one run: a directory that `laxity run` wrote, or its `results.json`.
    #[arg(value_name = "A")]
    pub(crate) before: PathBuf,
    /// Results of the other.
    #[arg(value_name = "B")]
    pub(crate) after: PathBuf,
    /// Compares only this metric, as a figure names it: `worst`, `latency.p99`, `figure:admitted`.
    /// Can be given several times. Default: bounds, worst cases, delays, throughput, misses, drops
    /// and every further figure of the runs.
    #[arg(long = "metric", value_name = "NAME")]
    pub(crate) metrics: Vec<String>,
    /// Prints JSON instead of a table; values in SI units.
    #[arg(long, short)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell: `bash`, `elvish`, `fish`, `powershell` or `zsh`.
    #[arg(value_name = "SHELL", hide_possible_values = true)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The command, such as `run` or `adapter show`. Default: the page of `laxity` itself.
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}
