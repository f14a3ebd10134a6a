//! `laxity channel`, `laxity node` and `laxity top`: the state of the local node.

use std::time::Duration;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use laxity_client::protocol::QuotaShare;
use laxity_client::{ChannelName, Contract, Direction, Error, NodeStatus, Row};
use laxity_units::Span;
use laxity_world::text::clean;

use crate::Exit;
use crate::arguments::{ChannelCommand, ContractChanges, ShowNode, Top};
use crate::check::counted;
use crate::service::top::live;
use crate::service::{connect, finish, span};
use crate::terminal::Terminal;

pub(crate) fn channel(command: &ChannelCommand, terminal: &mut Terminal) -> Exit {
    let outcome = match command {
        ChannelCommand::Show { json, daemon } => connect(daemon).and_then(|client| {
            let status = client.status()?;
            let text = if *json { json_of(&status.rows) } else { table(&status) };
            terminal.line(&text);
            Ok(Exit::Holds)
        }),
        ChannelCommand::Change { channel, contract, daemon } => connect(daemon).and_then(|client| {
            let channel = named(channel)?;
            let status = client.status()?;
            let begins_here = |row: &&Row| {
                row.channel == channel && matches!(row.direction, Direction::Source | Direction::Within)
            };
            let row = status.rows.iter().rfind(begins_here);
            let row = row.ok_or_else(|| {
                Error::Failed(format!("no channel {channel} begins at {}", clean(client.node())))
            })?;
            client.renegotiate(channel, changed(row.contract, contract))?;
            Ok(Exit::Holds)
        }),
        ChannelCommand::Del { channel, daemon } => connect(daemon).and_then(|client| {
            client.delete(named(channel)?)?;
            Ok(Exit::Holds)
        }),
    };
    finish(outcome, terminal)
}

/// The channel that `show` names so.
fn named(channel: &str) -> Result<ChannelName, Error> {
    let numbers: Result<Vec<u32>, _> = channel.split('.').map(str::parse).collect();
    match numbers.as_deref() {
        Ok([node, epoch, local]) => Ok(ChannelName { node: *node, epoch: *epoch, local: *local }),
        _ => Err(Error::Failed("a channel is three numbers, as in 1.4.0".to_owned())),
    }
}

/// The contract with these changes.
fn changed(contract: Contract, changes: &ContractChanges) -> Contract {
    let ns = |span: Option<Span>, old: u64| span.map_or(old, |span| span.as_ps() / 1000);
    let max_message = changes.size.unwrap_or(contract.max_message);
    Contract {
        max_message,
        min_message: contract.min_message.min(max_message),
        interval_ns: ns(changes.interval, contract.interval_ns),
        burst: changes.burst.unwrap_or(contract.burst),
        deadline_ns: ns(changes.deadline, contract.deadline_ns),
    }
}

pub(crate) fn node(options: &ShowNode, terminal: &mut Terminal) -> Exit {
    let outcome = connect(&options.daemon).and_then(|client| {
        let status = client.status()?;
        let text = if options.json { json_of(&status) } else { node_text(&status) };
        terminal.line(&text);
        Ok(Exit::Holds)
    });
    finish(outcome, terminal)
}

pub(crate) fn top(options: &Top, terminal: &mut Terminal) -> Exit {
    let outcome = connect(&options.daemon).and_then(|client| {
        let every = Duration::from_secs_f64(options.every.as_secs_f64());
        if console::Term::stdout().is_term() {
            return live(&client, every, options.count);
        }
        let mut left = options.count;
        while left != Some(0) {
            let status = client.status()?;
            terminal.line(&format!("{}\n{}", headline(&status), table(&status)));
            left = left.map(|left| left - 1);
            if left != Some(0) && matches!(client.event(every), Some(laxity_client::Event::Stopping)) {
                return Err(Error::Disconnected);
            }
        }
        Ok(Exit::Holds)
    });
    finish(outcome, terminal)
}

fn json_of<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string_pretty(value).expect("a status has no value that JSON lacks")
}

pub(crate) fn headline(status: &NodeStatus) -> String {
    // Channels that are over count, too.
    let [missed, attributed, lost] = ["missed", "missed_by_stops", "lost"].map(|name| status.counter(name));
    let stops = match status.counter("stalls") {
        0 => "no stop".to_owned(),
        stalls => {
            let longest = span(status.counter("stall_longest_us") * 1000);
            format!("{}, the longest {longest}", counted(stalls as usize, "stop"))
        }
    };
    format!(
        "{} (node {}), up {} s: {}, {missed} missed ({attributed} of them by stops of the platform), {lost} lost, {stops}",
        clean(&status.name),
        status.id,
        status.uptime_s,
        counted(status.channels as usize, "channel"),
    )
}

/// Which end of a channel is at the node.
pub(crate) fn here(row: &Row) -> &'static str {
    match row.direction {
        Direction::Source => "source",
        Direction::Relay => "relay",
        Direction::Destination => "destination",
        Direction::Within => "within",
    }
}

/// The bound of a row.
pub(crate) fn bound(row: &Row) -> u64 {
    match row.direction {
        Direction::Destination | Direction::Within => row.contract.deadline_ns,
        Direction::Source | Direction::Relay => row.local_ns,
    }
}

fn table(status: &NodeStatus) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header([
        "channel", "here", "receiver", "size B", "interval", "messages", "excess", "worst", "bound",
        "missed", "by stops", "lost",
    ]);
    for row in &status.rows {
        let worst =
            if row.worst_ns > bound(row) { format!("{} !", span(row.worst_ns)) } else { span(row.worst_ns) };
        table.add_row([
            row.channel.to_string(),
            here(row).to_owned(),
            clean(&row.name),
            row.contract.max_message.to_string(),
            span(row.contract.interval_ns),
            row.messages.to_string(),
            row.excess.to_string(),
            worst,
            span(bound(row)),
            row.missed.to_string(),
            row.attributed.to_string(),
            row.lost.to_string(),
        ]);
    }
    for column in 3..12 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string()
}

/// The reservations of an owner, with its limits.
fn quota(share: &QuotaShare) -> String {
    let units = ["channels", "B/s", "buffers", "ppm of a processor"];
    let each = share.used.iter().zip(&share.limit).zip(units).map(|((used, limit), unit)| match limit {
        Some(limit) => format!("{used} of {limit} {unit}"),
        None => format!("{used} {unit}"),
    });
    format!("quota of {:<15} {}", clean(&share.owner), each.collect::<Vec<_>>().join(", "))
}

fn node_text(status: &NodeStatus) -> String {
    let mut lines = vec![headline(status), String::new()];
    for (peer, up, share) in &status.links {
        let state = if *up { "up" } else { "down" };
        lines.push(format!(
            "link to {:<16} {state:<5} {:.1} % reserved",
            clean(peer),
            f64::from(*share) / 1e4
        ));
    }
    let used = status.counter("work_us") as f64 / (status.uptime_s.max(1) * 10_000) as f64;
    let took = status.packet_took_ns().map_or_else(String::new, |took| format!(": {} a packet", span(took)));
    lines.push(format!(
        "processor {:>21.1} % reserved for {} a packet, {used:.1} % used{took}",
        f64::from(status.processor) / 1e4,
        span(status.packet_ns)
    ));
    lines.extend(status.owners.iter().map(quota));
    for (peer, offset, error) in &status.clocks {
        let sign = if *offset < 0 { '-' } else { '+' };
        let error = error
            .map_or_else(|| "an unknown error".to_owned(), |error| format!("at most {} off", span(error)));
        lines.push(format!("clock of {:<15} {sign}{}, {error}", clean(peer), span(offset.unsigned_abs())));
    }
    lines.push(String::new());
    for (name, node) in &status.names {
        lines.push(format!("receiver {:<20} on {}", clean(name), clean(node)));
    }
    lines.push(String::new());
    for (name, value) in status.counters.iter().filter(|(_, value)| *value > 0) {
        lines.push(format!("{name:<28} {value}"));
    }
    lines.join("\n")
}
