//! Tables of AFDX: virtual links with BAG, largest frame and paths.
//!
//! The columns are those of the literature (Bauer, Scharbarg and Fraboul 2010): `name`, `bag`, `smax`,
//! `source` and `path` (or `path` with its source). A path lists nodes with spaces, `-` or `>` between
//! them; several paths of a multicast link stand behind each other with `;`. A BAG without a unit is in
//! milliseconds, `smax` in bytes on the link. Comments `# rate = 100 Mbit/s`, `# latency = 16 us` and
//! `# overhead = 0 B` change what all have in common.

use std::collections::{BTreeMap, BTreeSet};

use laxity_units::Span;

use super::csv::Table;
use super::network::{Channel, Kind, Net, Source};
use super::{ImportError, units};

const NAME: [&str; 6] = ["name", "vl", "virtual_link", "virtual link", "vl_id", "id"];
const BAG: [&str; 3] = ["bag", "bag_ms", "bag (ms)"];
const SIZE: [&str; 6] = ["smax", "s_max", "smax (b)", "smax_bytes", "lmax", "max_frame"];
const SOURCE: [&str; 3] = ["source", "src", "sender"];
const PATH: [&str; 6] = ["path", "paths", "route", "destinations", "destination", "dst"];

/// Whether a table with these headings is one of virtual links.
pub(super) fn is_one(headings: &[String]) -> bool {
    let has = |names: &[&str]| headings.iter().any(|heading| names.contains(&heading.as_str()));
    has(&BAG) && has(&SIZE)
}

pub(super) fn read(file: &str, text: &str) -> Result<Net, ImportError> {
    let table = Table::read(file, text)?;
    let mut net = Net { title: "Virtual links of AFDX".into(), ..Net::default() };
    let (mut rate, mut latency, mut overhead) = (100_000_000, Span::from_us(16), 0);
    for (line, key, value) in &table.settings {
        let fault = |what| ImportError::new(file, *line, what);
        match key.as_str() {
            "rate" => rate = units::rate(value, "Mbps", false).map_err(fault)?,
            "latency" => latency = units::time(value, "us").map_err(fault)?,
            "overhead" => overhead = units::size(value, "B").map_err(fault)?,
            "title" => net.title = value.clone(),
            other => net.note(format!("The setting `{other}` is not read.")),
        }
    }
    if rate == 0 {
        return Err(ImportError::new(file, 1, "the rate of links is zero"));
    }
    let (name, bag, size) = (table.column(&NAME)?, table.column(&BAG)?, table.column(&SIZE)?);
    let (source, path) = (table.find(&SOURCE), table.column(&PATH)?);
    let sources = source.map(|column| table.rows().map(|row| row.text(column).trim()).collect());
    let sources: BTreeSet<&str> = sources.unwrap_or_default();
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    for row in table.rows() {
        let plain = row.text(name);
        if let Some(line) = named.insert(plain, row.line) {
            return Err(row.fault(format!("line {line} has a virtual link `{plain}` already")));
        }
        let interval = row.get(bag, |text| units::time(text, "ms"))?;
        let message = row.get(size, |text| units::size(text, "B"))?.saturating_add(overhead);
        let paths: Vec<&str> = row.text(path).split(';').filter(|path| !path.trim().is_empty()).collect();
        if paths.is_empty() {
            return Err(row.fault("the virtual link has no path"));
        }
        let mut routes = Vec::new();
        for text in paths {
            let nodes = text.split([' ', '\t', '>', ',', '/']).map(|node| node.trim_matches('-'));
            let mut route: Vec<String> = nodes.filter(|node| !node.is_empty()).map(str::to_string).collect();
            let first = source.map(|column| row.text(column).trim()).filter(|first| !first.is_empty());
            if let Some(first) = first.filter(|first| route.first().is_none_or(|known| known != first)) {
                // A path without its source begins with a switch.
                let other = route.first().filter(|known| sources.contains(known.as_str()));
                if other.is_some() || route.iter().any(|node| node == first) {
                    let begins = route.first().map_or("", String::as_str);
                    return Err(
                        row.fault(format!("the source is `{first}`, and a path begins with `{begins}`"))
                    );
                }
                route.insert(0, first.to_string());
            }
            if route.len() < 3 {
                return Err(
                    row.fault("a path is the sender, switches and the receiver, such as `e1 s1 s3 e6`")
                );
            }
            for (at, node) in route.iter().enumerate() {
                let host = at == 0 || at + 1 == route.len();
                if net.has(node) && net.is_switch(node) == host {
                    return Err(row.fault(format!("`{node}` is an end of one path and a switch of another")));
                }
                net.node(
                    node,
                    if host {
                        Kind::Host
                    } else {
                        Kind::Switch { order: "fifo", latency, gates: Vec::new() }
                    },
                );
            }
            for pair in route.windows(2) {
                if pair[0] == pair[1] {
                    return Err(row.fault(format!("a path passes `{}` twice", pair[0])));
                }
                net.link(&pair[0], &pair[1], rate, Span::ZERO);
            }
            routes.push(route);
        }
        let channel = Channel {
            name: plain.to_string(),
            route: Vec::new(),
            further: Vec::new(),
            limits: Vec::new(),
            message,
            burst: 1,
            interval,
            deadline: interval.max(Span::from_ns(1)),
            level: None,
            source: Source::Greedy,
            line: row.line,
        };
        net.flow(routes, |place| format!("{plain}-{}", place + 1), channel);
    }
    Ok(net)
}
