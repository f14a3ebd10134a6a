//! The arguments of commands that make scenarios, or make something else of them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Settings;

#[derive(Debug, Args)]
pub(crate) struct New {
    /// The kind of scenario: `camera`, `office`, `nic`, `receiver` or `cluster`.
    #[arg(value_name = "START", hide_possible_values = true)]
    pub(crate) start: Start,
    /// File of the scenario, in `.toml`. Default `<START>.toml`.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Scenarios to start from.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Start {
    /// One host with a deadline beside a bulk transfer.
    Camera,
    /// A network of unlike hosts at two switches.
    Office,
    /// A pair of hosts with an adapter of stages and queues.
    Nic,
    /// A host that more packets reach than it can process.
    Receiver,
    /// Adapters with virtual interfaces, past the kernel.
    Cluster,
}

#[derive(Debug, Args)]
pub(crate) struct Recipe {
    /// A scenario file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// Only this host or switch. Default: all, and the first argument of the script chooses one.
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,
    /// Which point of the sweep, counted from 0 with the last axis fastest.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) point: usize,
    /// File of the script. Default: standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// Saihu's output-port network (JSON), WOPANet's network (XML), a table of virtual links (CSV), or
    /// tables of tsnkit (CSV): streams and links, and a schedule of gates, offsets, routes and queues.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The format, for files whose content does not show it.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<ImportFormat>,
    /// File of the scenario, which must not exist. Default: standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Formats of networks.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ImportFormat {
    /// Saihu's output-port network.
    Saihu,
    /// WOPANet's network of stations and switches.
    Wopanet,
    /// Tables of tsnkit.
    Tsnkit,
    /// A table of virtual links.
    Afdx,
}
