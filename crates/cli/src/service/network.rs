//! `laxity run NETWORK.toml` and `laxity compare`: node files in virtual time, beside what daemons
//! measured.

use std::path::Path;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use laxity_client::{Client, NodeStatus};
use laxity_scenario::files::{Disk, read_text};
use laxity_service::compare::{ComparedVerdict, Measured, compare};
use laxity_service::network::NodeNetwork;
use laxity_service::predict::{Predicted, predict};
use laxity_world::text::{clean, clean_lines};

use crate::Exit;
use crate::arguments::Compare;
use crate::terminal::Terminal;

/// Whether the file at `path` is a network of node files.
pub(crate) fn is_network(path: &Path) -> bool {
    read_text(&Disk, path, "a network").is_ok_and(|source| NodeNetwork::is_one(source.text()))
}

/// The network at `path` and the outcome of its channels; `None` after an error is shown.
pub(crate) fn predicted(path: &Path, terminal: &Terminal) -> Option<(NodeNetwork, Vec<Predicted>)> {
    let both = NodeNetwork::read(path).and_then(|network| Ok((predict(&network)?, network)));
    match both {
        Ok((predicted, network)) => Some((network, predicted)),
        Err(why) => {
            terminal.error(&clean_lines(&why));
            None
        }
    }
}

/// `laxity run`.
pub(crate) fn run(path: &Path, terminal: &mut Terminal) -> Exit {
    let Some((network, predicted)) = predicted(path, terminal) else { return Exit::BadInput };
    let mut table =
        headed(&["channel", "route", "bound", "simulated worst", "messages", "excess", "late"], 2);
    let mut exit = Exit::Holds;
    for (channel, outcome) in network.channels.iter().zip(&predicted) {
        table.add_row([
            clean(&channel.name),
            outcome.route.iter().map(|node| clean(node)).collect::<Vec<_>>().join(" → "),
            channel.deadline.to_string(),
            worst(outcome),
            outcome.delivered.0.to_string(),
            outcome.sent.1.to_string(),
            outcome.delivered.1.to_string(),
        ]);
        if let Some(refusal) = &outcome.refused {
            terminal.note(&format!("{} is refused: {}", clean(&channel.name), clean(&refusal.to_string())));
        }
        if outcome.refused.is_some() || outcome.delivered.1 > 0 {
            exit = Exit::Fails;
        } else if outcome.delivered.0 == 0 {
            let name = clean(&channel.name);
            terminal.note(&format!("not judged: no message of `{name}` was delivered in {}", network.time));
            exit = exit.max(Exit::NotJudged);
        }
    }
    terminal.line(&table.to_string());
    exit
}

/// `laxity compare` with what daemons measured.
pub(crate) fn compare_with(options: &Compare, terminal: &mut Terminal) -> Exit {
    let Some((network, predicted)) = predicted(&options.file, terminal) else { return Exit::BadInput };
    let states = match states(&network, options) {
        Ok(states) => states,
        Err(why) => {
            terminal.error(&clean_lines(&why));
            return Exit::BadInput;
        }
    };
    let head =
        ["channel", "bound", "simulated worst", "measured worst", "messages", "late", "lost", "judgement"];
    let mut table = headed(&head, 1);
    let mut exit = Exit::Holds;
    let judged = compare(&network, &predicted, &states);
    for ((channel, outcome), (measured, verdict)) in network.channels.iter().zip(&predicted).zip(judged) {
        let of = |value: fn(&Measured) -> String| measured.as_ref().map_or_else(String::new, value);
        let (word, this) = words(&verdict);
        exit = exit.max(this);
        table.add_row([
            clean(&channel.name),
            channel.deadline.to_string(),
            worst(outcome),
            of(|measured| measured.worst.to_string()),
            of(|measured| measured.messages.to_string()),
            of(|measured| measured.missed.to_string()),
            of(|measured| measured.lost.to_string()),
            word,
        ]);
    }
    terminal.line(&table.to_string());
    for state in &states {
        let longest = state.stalls.iter().max_by_key(|stall| stall.1);
        if let Some((at, length)) = longest {
            terminal.note(&format!(
                "{}: {} stops; the longest of the last {} took {} at {} after its start",
                clean(&state.name),
                state.counter("stalls"),
                state.stalls.len(),
                super::span(*length),
                super::span(*at)
            ));
        }
    }
    exit
}

/// The states of the nodes: from the files, or from the daemons at the sockets of the node files.
fn states(network: &NodeNetwork, options: &Compare) -> Result<Vec<NodeStatus>, String> {
    if !options.status.is_empty() {
        let read = |path: &std::path::PathBuf| {
            let of = |why: String| format!("{}: {why}", path.display());
            let text = std::fs::read_to_string(path).map_err(|why| of(why.to_string()))?;
            serde_json::from_str(&text).map_err(|why| of(why.to_string()))
        };
        return options.status.iter().map(read).collect();
    }
    let ask = |node: &laxity_service::NodeFile| {
        let status = Client::connect_to(&node.socket()).and_then(|client| client.status());
        status.map_err(|why| format!("{}: {why}", node.name))
    };
    network.nodes.iter().map(ask).collect()
}

fn words(verdict: &ComparedVerdict) -> (String, Exit) {
    match verdict {
        ComparedVerdict::Within => ("within the bound".to_owned(), Exit::Holds),
        ComparedVerdict::Stopped(stops) => {
            let stop = |(node, stop): &(String, laxity_units::Span)| format!("{} {stop}", clean(node));
            let stops: Vec<String> = stops.iter().map(stop).collect();
            (format!("late by stops of the platform: {}", stops.join(", ")), Exit::Holds)
        }
        ComparedVerdict::Lost(lost) => (format!("{lost} messages did not arrive"), Exit::Fails),
        ComparedVerdict::Bug => ("BUG: no stop explains it".to_owned(), Exit::Fails),
        ComparedVerdict::Refused => ("refused".to_owned(), Exit::Holds),
        ComparedVerdict::Another(contract) => {
            let [interval, deadline] = [contract.interval_ns, contract.deadline_ns].map(super::span);
            let (size, burst) = (contract.max_message, contract.burst);
            let asked = format!("{size} B, {burst} at once, each {interval}, deadline {deadline}");
            (format!("another contract was asked for: {asked}"), Exit::NotJudged)
        }
        ComparedVerdict::Unmeasured => ("not measured".to_owned(), Exit::NotJudged),
    }
}

fn worst(outcome: &Predicted) -> String {
    if outcome.refused.is_some() { "refused".to_owned() } else { outcome.worst.to_string() }
}

/// A table with numbers from column `first` on.
pub(crate) fn headed(head: &[&str], first: usize) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head);
    for (column, _) in head.iter().enumerate().skip(first).filter(|(_, word)| **word != "judgement") {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
