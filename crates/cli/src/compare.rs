//! `laxity compare`: bound and simulated worst case beside what daemons or logs measured.

use laxity_emulator::Runner;
use laxity_lab::campaign;
use laxity_lab::measured::{
    self, ComparedChannel, MeasuredRow, MeasuredVerdict, Missing, Pair, Stream, Worst,
};
use laxity_qos::traffic::TrafficSpec;
use laxity_units::{Bytes, Span};
use laxity_world::results::Channel;
use laxity_world::text::clean;

use crate::arguments::{Compare, MeasuredLog};
use crate::service::network;
use crate::terminal::Terminal;
use crate::{Exit, contract, files, run};

/// The largest log that is read.
const LARGEST: Bytes = Bytes::new(1 << 30);

pub(crate) fn compare(options: &Compare, terminal: &mut Terminal) -> Exit {
    let network = network::is_network(&options.file);
    let of_scenario = options.point != 0 || !options.settings.edits().is_empty();
    let refused = match () {
        () if network && of_scenario => "is a network of node files: it has no points, and no keys to set",
        () if options.logs.is_empty() && !network && options.status.is_empty() && options.file.exists() => {
            "is no network of node files, which daemons measure; `--log CHANNEL=FILE` names a log"
        }
        () if options.logs.is_empty() => return network::compare_with(options, terminal),
        () => "",
    };
    if !refused.is_empty() {
        terminal.error(&format!("{} {refused}", clean(&options.file.display().to_string())));
        return Exit::BadInput;
    }
    let channels =
        match if network { of_network(options, terminal) } else { of_scenario_at(options, terminal) } {
            Ok(channels) => channels,
            Err(exit) => return exit,
        };
    let mut rows = Vec::new();
    for log in &options.logs {
        let file = clean(&log.file.display().to_string());
        match rows_of(log, &file, &channels, options) {
            Ok((more, notes)) => {
                rows.extend(more);
                notes.iter().for_each(|note| terminal.note(&format!("{file}: {note}")));
            }
            Err(why) => {
                terminal.error(&why);
                return Exit::BadInput;
            }
        }
    }
    show(&rows, terminal)
}

/// The channels of a network of node files.
fn of_network(options: &Compare, terminal: &Terminal) -> Result<Vec<ComparedChannel>, Exit> {
    let (network, predicted) = network::predicted(&options.file, terminal).ok_or(Exit::BadInput)?;
    // The stated delay of the host is the part of the bound for late wake-ups of the daemon.
    let host = |name: &str| network.nodes.iter().find(|node| node.name == name).map(|node| node.host.delay);
    let channels = network.channels.iter().zip(&predicted).map(|(channel, outcome)| {
        let contract = channel.contract();
        let admitted = outcome.refused.is_none();
        ComparedChannel {
            name: channel.name.clone(),
            spec: TrafficSpec {
                max_message: contract.max_message,
                min_message: contract.min_message.max(Bytes::new(1)),
                burst: contract.burst,
                min_interval: contract.min_interval,
            },
            bound: admitted.then_some(channel.deadline),
            ends_early: false,
            simulated: admitted.then_some(outcome.worst),
            wake_up: host(&channel.from).filter(|_| admitted),
        }
    });
    Ok(channels.collect())
}

/// The channels of a point of a scenario, which is run.
fn of_scenario_at(options: &Compare, terminal: &Terminal) -> Result<Vec<ComparedChannel>, Exit> {
    let read = files::scenario_at(&options.file, &options.settings, options.point, terminal);
    let (scenario, point) = read.ok_or(Exit::BadInput)?;
    let warn = |warning: &str| terminal.note(&format!("warning: {warning}"));
    let runner = Runner::new(&warn);
    let outcome = campaign::run_point(&scenario, &point, &|experiment| runner.run(experiment))
        .map_err(|error| run::refuse(&scenario, &error, terminal))?;
    let experiment = scenario.experiment(&point);
    let compared = |channel: &Channel| {
        let spec = experiment.channels.iter().find(|spec| spec.name == channel.name)?.spec;
        // To the delivery if a host receives, and to the last transmission otherwise.
        let (bound, simulated) = match channel.delivery_bound {
            Some(bound) => (Some(bound), channel.delivery_worst),
            None => (channel.bound, channel.worst),
        };
        let span = |seconds: Option<f64>| seconds.and_then(Span::from_secs_f64);
        Some(ComparedChannel {
            name: channel.name.clone(),
            spec,
            bound: span(bound),
            ends_early: channel.delivery_bound.is_none(),
            simulated: span(simulated),
            // Rule (1) of the contract covers all messages of a program that plans by the contract and
            // is late by an interval.
            wake_up: bound.map(|_| spec.min_interval),
        })
    };
    Ok(outcome.channels.iter().filter_map(compared).collect())
}

/// The rows of a log and notes on it, or an error with the name of the log.
fn rows_of(
    log: &MeasuredLog,
    file: &str,
    channels: &[ComparedChannel],
    options: &Compare,
) -> Result<(Vec<MeasuredRow>, Vec<String>), String> {
    let of_file = |why: String| format!("{file}: {why}");
    let (pair, class) =
        pair(&log.of, channels).map_err(|why| format!("`--log {}`: {why}", clean(&log.of)))?;
    let read = match log.captures() {
        None => measured::read(file, &files::bytes(&log.file, LARGEST).map_err(of_file)?),
        Some(both) => {
            let [sent, received] = [both.0, both.1].map(|path| {
                let name = path.display().to_string();
                let read = files::bytes(&path, LARGEST).map_err(|why| format!("{}: {why}", clean(&name)));
                read.map(|bytes| (name, bytes))
            });
            let ((sent, sent_bytes), (received, received_bytes)) = (sent?, received?);
            let sequence = options.sequence.ok_or_else(|| {
                of_file("captures need `--sequence`, the place of the number in each packet".into())
            })?;
            let stream = Stream { sequence, port: options.port };
            measured::read_captures((&sent, &sent_bytes), (&received, &received_bytes), stream)
        }
    };
    let read = read.map_err(|error| error.to_string())?;
    measured::rows(&read, class, Pair { turnaround: options.turnaround, ..pair })
        .map_err(|why: String| of_file(clean(&why)))
}

/// The channels and the class of `CHANNEL`, `CHANNEL:CLASS`, `THERE,BACK` or `THERE,BACK:CLASS`. A name
/// of a channel can have colons and commas in it.
fn pair<'a, 'b>(of: &'b str, channels: &'a [ComparedChannel]) -> Result<(Pair<'a>, Option<&'b str>), String> {
    let named = |name: &str| -> Result<&'a ComparedChannel, String> {
        let mut all = channels.iter().filter(|channel| channel.name == name);
        match (all.next(), all.next()) {
            (Some(channel), None) => Ok(channel),
            (None, _) => Err(format!("there is no channel called `{}`", clean(name))),
            _ => Err(format!("several channels are called `{}`", clean(name))),
        }
    };
    let is_one = |name: &str| channels.iter().any(|channel| channel.name == name);
    let both = |text: &str| match text.split_once(',') {
        Some((there, back)) if !is_one(text) => Ok((named(there)?, Some(named(back)?))),
        _ => Ok((named(text)?, None)),
    };
    let pair = |(there, back)| Pair { there, back, turnaround: None };
    match (both(of), of.rsplit_once(':')) {
        (Ok(found), _) => Ok((pair(found), None)),
        (Err(_), Some((names, class))) => Ok((pair(both(names)?), Some(class))),
        (Err(why), None) => Err(why),
    }
}

/// Prints the table.
fn show(rows: &[MeasuredRow], terminal: &mut Terminal) -> Exit {
    let head = [
        "channel",
        "measured",
        "bound",
        "simulated worst",
        "measured worst",
        "received",
        "lost",
        "judgement",
    ];
    let mut table = network::headed(&head, 2);
    let mut exit = Exit::Holds;
    for row in rows {
        let time = |span: Option<Span>| span.map_or_else(|| "-".into(), in_microseconds);
        let (word, this) = words(&row.verdict);
        exit = exit.max(this);
        table.add_row([
            clean(&row.channel),
            row.measured.stretch.words().into(),
            time(row.bound),
            time(row.simulated),
            worst(row.measured.worst),
            row.measured.received.to_string(),
            match row.measured.missing {
                Missing::Unknown => "-".into(),
                Missing::Lost(lost) => lost.to_string(),
                Missing::Between { least, most } if least == most => least.to_string(),
                Missing::Between { least, most } => format!("{least} to {most}"),
            },
            word,
        ]);
    }
    terminal.line(&table.to_string());
    exit
}

fn worst(worst: Worst) -> String {
    match worst {
        Worst::None => "-".into(),
        Worst::Is(span) => in_microseconds(span),
        Worst::Above(span) => format!("> {}", in_microseconds(span)),
        Worst::Clocks(span) => format!("-{}", in_microseconds(span)),
    }
}

fn words(verdict: &MeasuredVerdict) -> (String, Exit) {
    match verdict {
        MeasuredVerdict::Within => ("within the bound".into(), Exit::Holds),
        MeasuredVerdict::Above => ("ABOVE the bound".into(), Exit::Fails),
        MeasuredVerdict::Lost(lost) => (format!("{lost} lost"), Exit::Fails),
        MeasuredVerdict::NotJudged(why) => (format!("not judged: {why}"), Exit::NotJudged),
    }
}

/// One unit for all, to the nanosecond that logs have; rounded up, as bounds are.
fn in_microseconds(span: Span) -> String {
    contract::in_us(span.as_ps().div_ceil(1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_found_by_names_with_marks_in_them() {
        let size = Bytes::new(1);
        let channel = |name: &str| ComparedChannel {
            name: name.into(),
            spec: TrafficSpec {
                max_message: size,
                min_message: size,
                burst: 1,
                min_interval: Span::from_ms(1),
            },
            bound: None,
            ends_early: false,
            simulated: None,
            wake_up: None,
        };
        let channels = ["a", "b", "a:b", "a,b", "twice", "twice"].map(channel);
        let found = |of: &str| {
            pair(of, &channels).map(|(pair, class)| {
                let back = pair.back.map(|back| back.name.as_str());
                (pair.there.name.as_str(), back, class.map(String::from))
            })
        };
        let class = |name: &str| Some(name.to_string());
        assert_eq!(found("a"), Ok(("a", None, None)));
        assert_eq!(found("a:b"), Ok(("a:b", None, None)));
        assert_eq!(found("a:b:C"), Ok(("a:b", None, class("C"))));
        assert_eq!(found("a:C"), Ok(("a", None, class("C"))));
        assert_eq!(found("a,b"), Ok(("a,b", None, None)));
        assert_eq!(found("b,a:C"), Ok(("b", Some("a"), class("C"))));
        let said = |of: &str| found(of).unwrap_err();
        assert_eq!(said("c"), "there is no channel called `c`");
        assert_eq!(said("a,c:C"), "there is no channel called `c`");
        assert_eq!(said("twice"), "several channels are called `twice`");
    }
}
