//! The arguments of `laxity compare`.

use std::path::PathBuf;

use clap::Args;
use laxity_units::Span;

use super::Settings;

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The network file; with `--log`, a scenario or a network file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The output of `laxity node --json` at a node. Default: the daemons at the sockets of the node
    /// files are asked.
    #[arg(long, value_name = "FILE", conflicts_with = "logs")]
    pub(crate) status: Vec<PathBuf>,
    /// A log and the channel that carried its packets: `CHANNEL=FILE`. Can be given several times.
    ///
    /// `CHANNEL:CLASS=FILE` names a traffic class of the RTC-Testbench, if the log has several.
    /// `THERE,BACK=FILE` names the channels from the reference to the mirror and from the mirror to the
    /// reference, so that round trips have a bound.
    #[arg(long = "log", value_name = "CHANNEL=FILE", value_parser = log)]
    pub(crate) logs: Vec<MeasuredLog>,
    /// The longest time from the arrival of a packet at the mirror to its sending: one cycle, for a
    /// mirror that sends in its next cycle. A part of the bound on round trips.
    #[arg(long, value_name = "TIME", requires = "logs")]
    pub(crate) turnaround: Option<Span>,
    /// The point of the sweep that is simulated, counted from 0 with the last axis fastest.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "logs")]
    pub(crate) point: usize,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

/// A log, and the channels in the words of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MeasuredLog {
    /// Channels and class.
    pub(crate) of: String,
    pub(crate) file: PathBuf,
}

/// `CHANNEL=FILE`.
fn log(text: &str) -> Result<MeasuredLog, String> {
    match text.split_once('=') {
        Some((of, file)) if !of.is_empty() && !file.is_empty() => {
            Ok(MeasuredLog { of: of.into(), file: file.into() })
        }
        _ => Err("valid is a channel, `=` and the name of a log".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_a_channel_and_a_file() {
        let read = log("video:TsnHigh=a=b.log").unwrap();
        assert_eq!((&read.of[..], read.file), ("video:TsnHigh", PathBuf::from("a=b.log")));
        assert!(log("video").is_err() && log("=a.log").is_err() && log("video=").is_err());
    }
}
