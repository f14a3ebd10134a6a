//! Tables of tsnkit: streams, links, and a schedule of gates, offsets, routes and queues.
//!
//! A node with one neighbour that a stream begins or ends at is a host, each other a switch; a switch
//! at which a stream begins or ends gets a host of its own. Without a schedule ports are by arrival.
//!
//! Format: documentation of tsnkit (Xue et al. 2023), "IO format": sizes in bytes, times in
//! nanoseconds, rates in bits per nanosecond.

mod schedule;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use laxity_units::Span;

use super::csv::{Row, Table, items};
use super::network::{AT_ONCE, Channel, Kind, Net, Source};
use super::{ImportError, ImportInput, units};
use schedule::Schedule;

/// Columns by which tables are known.
const STREAMS: [&str; 4] = ["src", "dst", "size", "period"];
const LINKS: [&str; 3] = ["link", "rate", "t_proc"];
/// A link by its two nodes.
type Pair = (u64, u64);

/// Whether a table with these headings is one of tsnkit.
pub(super) fn is_one(headings: &[String]) -> bool {
    has(headings, &STREAMS)
        || has(headings, &LINKS)
        || has(headings, &["link", "queue", "start", "end", "cycle"])
        || has(headings, &["stream", "offset"])
        || has(headings, &["stream", "link"])
}

fn has(headings: &[String], names: &[&str]) -> bool {
    names.iter().all(|name| headings.iter().any(|heading| heading == name))
}

struct Stream {
    id: String,
    from: u64,
    to: Vec<u64>,
    size: u64,
    period: Span,
    deadline: Span,
    line: usize,
}

#[derive(Debug, Clone, Copy)]
struct Line {
    rate: u64,
    processing: Span,
    propagation: Span,
}

pub(super) fn read(inputs: &[ImportInput]) -> Result<Net, ImportError> {
    let find = |names: &[&str], what: &str| {
        let found = inputs.iter().find(|input| has(&Table::headings(&input.text), names));
        found.ok_or_else(|| {
            let name = &inputs[0].name;
            ImportError::new(
                name,
                1,
                format!(
                    "no table of {what} is given; tsnkit has it in a file of its own, with the columns {}",
                    names.join(", ")
                ),
            )
        })
    };
    let tasks = find(&STREAMS, "streams")?;
    let topology = find(&LINKS, "links")?;
    for input in inputs {
        if !is_one(&Table::headings(&input.text)) {
            return Err(ImportError::new(&input.name, 1, "this is no table of tsnkit"));
        }
    }
    let lines = lines(&Table::read(&topology.name, &topology.text)?)?;
    let table = Table::read(&tasks.name, &tasks.text)?;
    let streams = streams(&table)?;
    let schedule = Schedule::read(inputs)?;
    let mut net = Net { title: "Streams of tsnkit".into(), scheduled: schedule.is_some(), ..Net::default() };
    net.note("Jitter of streams is not asked for.");
    let ends: BTreeSet<u64> =
        streams.iter().flat_map(|stream| stream.to.iter().copied().chain([stream.from])).collect();
    let mut neighbours: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for (a, b) in lines.keys() {
        neighbours.entry(*a).or_default().insert(*b);
        neighbours.entry(*b).or_default().insert(*a);
    }
    let places = Places {
        hosts: ends.into_iter().filter(|end| neighbours.get(end).is_some_and(|all| all.len() == 1)).collect(),
    };
    let mut flows = Vec::new();
    for stream in &streams {
        let mut paths = Vec::new();
        for to in &stream.to {
            let fault = |what: String| ImportError::new(&tasks.name, stream.line, what);
            let given = schedule.as_ref().and_then(|schedule| schedule.route(&stream.id, stream.from, *to));
            let path = match given {
                Some(path) => path,
                None => path(&lines, stream.from, *to)
                    .ok_or_else(|| fault(format!("no links lead from node {} to node {to}", stream.from)))?,
            };
            if path.len() < 2 {
                return Err(fault(format!("stream {} ends where it begins", stream.id)));
            }
            paths.push(path);
        }
        flows.push(Flow { stream, paths });
    }
    match &schedule {
        None => by_arrival(&mut net, &places, &lines, &flows),
        Some(schedule) => schedule.write(&mut net, &places, &lines, &flows)?,
    }
    Ok(net)
}

/// A stream, and its path to each receiver.
struct Flow<'a> {
    stream: &'a Stream,
    paths: Vec<Vec<u64>>,
}

impl Flow<'_> {
    /// Adds the channel of the stream, of which these are the routes.
    fn add(&self, net: &mut Net, routes: Vec<Vec<String>>, level: Option<u8>, source: Source) {
        let name = format!("stream-{}", self.stream.id);
        let channel = Channel {
            name: name.clone(),
            route: Vec::new(),
            further: Vec::new(),
            limits: Vec::new(),
            message: self.stream.size,
            burst: 1,
            interval: self.stream.period,
            deadline: self.stream.deadline,
            level,
            source,
            line: self.stream.line,
        };
        net.flow(routes, |place| format!("{name}-{}", place + 1), channel);
    }

    /// The links of all paths, each once.
    fn links(&self) -> BTreeSet<Pair> {
        self.paths.iter().flat_map(|path| path.windows(2)).map(|pair| (pair[0], pair[1])).collect()
    }
}

/// The names of nodes.
struct Places {
    hosts: BTreeSet<u64>,
}

impl Places {
    fn is_host(&self, node: u64) -> bool {
        self.hosts.contains(&node)
    }

    fn name(&self, node: u64) -> String {
        if self.is_host(node) { format!("h{node}") } else { format!("s{node}") }
    }

    /// A node at the end of a path, as a host: a switch has one on a link that takes no time.
    fn end(&self, net: &mut Net, node: u64) -> Option<String> {
        if self.is_host(node) {
            return None;
        }
        let host = format!("h{node}");
        net.node(&host, Kind::Host);
        net.link(&host, &self.name(node), AT_ONCE, Span::ZERO);
        Some(host)
    }
}

/// The switches' ports are by arrival.
fn by_arrival(net: &mut Net, places: &Places, lines: &BTreeMap<Pair, Line>, flows: &[Flow<'_>]) {
    for flow in flows {
        for &node in flow.paths.iter().flatten() {
            let latency = latency(lines, node);
            let switch = Kind::Switch { order: "fifo", latency, gates: Vec::new() };
            net.node(&places.name(node), if places.is_host(node) { Kind::Host } else { switch });
        }
        for pair in flow.links() {
            if let Some(line) = lines.get(&pair) {
                net.link(&places.name(pair.0), &places.name(pair.1), line.rate, line.propagation);
            }
        }
        let mut routes = Vec::new();
        for path in &flow.paths {
            let [first, last] = [0, path.len() - 1].map(|at| places.end(net, path[at]));
            let nodes = path.iter().map(|node| places.name(*node));
            routes.push(first.into_iter().chain(nodes).chain(last).collect());
        }
        flow.add(net, routes, None, Source::Greedy);
    }
}

/// The longest processing time of a link to `node`.
fn latency(lines: &BTreeMap<Pair, Line>, node: u64) -> Span {
    let into = lines.iter().filter(|((_, to), _)| *to == node);
    into.map(|(_, line)| line.processing).max().unwrap_or(Span::ZERO)
}

/// The route of fewest hops, of equal ones the first.
fn path(lines: &BTreeMap<Pair, Line>, from: u64, to: u64) -> Option<Vec<u64>> {
    let mut before: BTreeMap<u64, u64> = BTreeMap::from([(from, from)]);
    let mut next = VecDeque::from([from]);
    while let Some(node) = next.pop_front() {
        if node == to {
            let mut path = vec![to];
            while let Some(previous) =
                path.last().and_then(|node| before.get(node)).filter(|_| path.last() != Some(&from))
            {
                path.push(*previous);
            }
            path.reverse();
            return Some(path);
        }
        for (_, b) in lines.range((node, 0)..=(node, u64::MAX)).map(|(pair, _)| *pair) {
            if let Entry::Vacant(entry) = before.entry(b) {
                entry.insert(node);
                next.push_back(b);
            }
        }
    }
    None
}

fn nanoseconds(text: &str) -> Result<Span, String> {
    units::time(text, "ns")
}

/// A link such as `(0, 1)`.
fn pair(text: &str) -> Result<Pair, String> {
    let [a, b] = items(text)[..] else {
        return Err(format!("`{text}` is no link; valid is two nodes, such as `(0, 1)`"));
    };
    Ok((units::whole(a)?, units::whole(b)?))
}

fn lines(table: &Table<'_>) -> Result<BTreeMap<Pair, Line>, ImportError> {
    let (link, rate) = (table.column(&["link"])?, table.column(&["rate"])?);
    let (processing, propagation) = (table.column(&["t_proc"])?, table.find(&["t_prop"]));
    let mut lines = BTreeMap::new();
    for row in table.rows() {
        let ends = row.get(link, pair)?;
        // Bits per nanosecond.
        let rate = row.get(rate, |text| units::rate(text, "Gbps", false))?;
        if rate == 0 || ends.0 == ends.1 {
            return Err(row.fault("a link needs two nodes and a rate above zero"));
        }
        let propagation = propagation.map_or(Ok(Span::ZERO), |column| row.get(column, nanoseconds))?;
        let line = Line { rate, processing: row.get(processing, nanoseconds)?, propagation };
        if lines.insert(ends, line).is_some() {
            return Err(row.fault(format!("the link ({}, {}) is there twice", ends.0, ends.1)));
        }
    }
    Ok(lines)
}

fn streams(table: &Table<'_>) -> Result<Vec<Stream>, ImportError> {
    let id = table.column(&["stream", "id"])?;
    let (from, to) = (table.column(&["src"])?, table.column(&["dst"])?);
    let (size, period) = (table.column(&["size"])?, table.column(&["period"])?);
    let deadline = table.column(&["deadline"])?;
    let stream = |row: Row<'_>| {
        let to = row.get(to, |text| {
            items(text).into_iter().map(units::whole).collect::<Result<Vec<u64>, String>>()
        })?;
        if to.is_empty() {
            return Err(row.fault("the stream has no receiver"));
        }
        Ok(Stream {
            id: row.text(id).to_string(),
            from: row.get(from, units::whole)?,
            to,
            size: row.get(size, |text| units::size(text, "B"))?,
            period: row.get(period, nanoseconds)?,
            deadline: row.get(deadline, nanoseconds)?,
            line: row.line,
        })
    };
    table.rows().map(stream).collect()
}
