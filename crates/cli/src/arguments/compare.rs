//! The arguments of `laxity compare`.

use std::path::PathBuf;

use clap::Args;
use laxity_lab::measured::Sequence;
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
    /// `CHANNEL:CLASS=FILE` names a traffic class of the RTC-Testbench, if the log has several, or a thread
    /// of cyclictest.
    /// `THERE,BACK=FILE` names the channels from the reference to the mirror and from the mirror to the
    /// reference, so that round trips have a bound. `CHANNEL=SENT,RECEIVED` names two captures of one
    /// stream, pcap or pcapng, at its sender and at its receiver; `--sequence` says how to match packets.
    #[arg(long = "log", value_name = "CHANNEL=FILE", value_parser = log)]
    pub(crate) logs: Vec<MeasuredLog>,
    /// The place of the number that the sender writes into each captured packet: `OFFSET+BYTES` in the
    /// payload of UDP, such as `0+4`; `frame:OFFSET+BYTES` in the captured frame; `rtp` for the number of
    /// RTP.
    ///
    /// BYTES is 1, 2, 4 or 8. The number is big endian, or little endian with `:little` behind it.
    #[arg(long, value_name = "PLACE", requires = "logs")]
    pub(crate) sequence: Option<Sequence>,
    /// The destination port of UDP of the captured stream. Default: the only one in the captures.
    #[arg(long, value_name = "PORT", requires = "logs")]
    pub(crate) port: Option<u16>,
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
    /// The log, or two captures with a comma between them.
    pub(crate) file: PathBuf,
}

impl MeasuredLog {
    /// The captures of sender and receiver; `None` if the log is one file. A name of a file can have
    /// commas in it.
    pub(crate) fn captures(&self) -> Option<(PathBuf, PathBuf)> {
        let text = self.file.to_str().filter(|_| !self.file.exists())?;
        let at = |comma: usize| (PathBuf::from(&text[..comma]), PathBuf::from(&text[comma + 1..]));
        let commas = || text.match_indices(',').map(|(comma, _)| at(comma));
        let both = commas().find(|(sent, received)| sent.exists() && received.exists());
        both.or_else(|| commas().next())
    }
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
        assert_eq!(log("video=sent.pcap").unwrap().captures(), None);
        let both = Some((PathBuf::from("sent.pcap"), PathBuf::from("received,2.pcap")));
        assert_eq!(log("video=sent.pcap,received,2.pcap").unwrap().captures(), both);
        assert!(log("video").is_err() && log("=a.log").is_err() && log("video=").is_err());
    }
}
