//! Arguments of `laxity designer`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Designer {
    /// The local port of the page; 0 for any free one.
    #[arg(long, value_name = "PORT", default_value_t = 7117)]
    pub(crate) port: u16,
    /// Writes the page into a new or empty directory, for any web server, and ends.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// The simulator as WebAssembly, where this build of Laxity has none in it: what `cargo xtask
    /// designer` writes. Without any, the page asks this program.
    #[arg(long, value_name = "FILE")]
    pub(crate) module: Option<PathBuf>,
}
