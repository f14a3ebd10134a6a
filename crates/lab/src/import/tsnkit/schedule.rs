//! The schedule of tsnkit: gates of ports, times of sources, routes and queues.
//!
//! Gates of a scenario are those of all ports of a switch, and tsnkit's are of one port. So each port
//! with gates becomes a switch of its own, behind the switch that receives, on a link at which a frame
//! takes less than a picosecond for a bit. Each window is a nanosecond longer for these links.
//!
//! A channel of a scenario has one level along its route, and a stream of tsnkit a queue at each link.
//! Streams of the same queue everywhere share a level; otherwise each stream has a level of its own.

use std::collections::{BTreeMap, BTreeSet};

use laxity_units::Span;

use super::super::network::{AT_ONCE, Kind, Net, Source};
use super::super::{ImportError, ImportInput, units};
use super::{Flow, Line, Pair, Places, Table, has, latency, nanoseconds, pair};

/// Added to each window.
const SLACK: Span = Span::from_ns(1);
/// Levels above best effort.
const LEVELS: usize = 31;
/// The most messages of a source that are listed.
const MOST: u64 = 10_000;

/// A part of the cycle of a link in which a queue is open.
struct Window {
    queue: u64,
    start: Span,
    end: Span,
}

/// A schedule.
pub(super) struct Schedule {
    file: String,
    /// By link: the windows, and the cycle.
    gates: BTreeMap<Pair, (Vec<Window>, Span)>,
    /// By stream: the offset of each frame.
    offsets: BTreeMap<String, BTreeMap<u64, Span>>,
    routes: BTreeMap<String, BTreeSet<Pair>>,
    queues: BTreeMap<(String, Pair), u64>,
}

impl Schedule {
    /// The schedule among `inputs`; `None` without gates.
    pub(super) fn read(inputs: &[ImportInput]) -> Result<Option<Schedule>, ImportError> {
        let mut schedule = Schedule {
            file: String::new(),
            gates: BTreeMap::new(),
            offsets: BTreeMap::new(),
            routes: BTreeMap::new(),
            queues: BTreeMap::new(),
        };
        for input in inputs {
            let headings = Table::headings(&input.text);
            let table = |columns: &[&str]| match has(&headings, columns) {
                true => Table::read(&input.name, &input.text).map(Some),
                false => Ok(None),
            };
            if let Some(table) = table(&["link", "queue", "start", "end", "cycle"])? {
                schedule.file = input.name.clone();
                schedule.read_gates(&table)?;
            } else if let Some(table) = table(&["stream", "link", "queue"])? {
                schedule.read_queues(&table)?;
            } else if let Some(table) = table(&["stream", "offset"])? {
                schedule.read_offsets(&table)?;
            } else if let Some(table) = table(&["stream", "link"])? {
                schedule.read_routes(&table)?;
            }
        }
        Ok((!schedule.gates.is_empty()).then_some(schedule))
    }

    fn read_gates(&mut self, table: &Table<'_>) -> Result<(), ImportError> {
        let [link, queue, start, end, cycle] =
            ["link", "queue", "start", "end", "cycle"].map(|name| table.column(&[name]));
        let (link, queue, start, end, cycle) = (link?, queue?, start?, end?, cycle?);
        for row in table.rows() {
            let window = Window {
                queue: row.get(queue, units::whole)?,
                start: row.get(start, nanoseconds)?,
                end: row.get(end, nanoseconds)?,
            };
            let cycle = row.get(cycle, nanoseconds)?;
            if window.start >= window.end || window.end > cycle {
                return Err(row.fault("a window begins before its end, and ends within the cycle"));
            }
            let (windows, known) = self.gates.entry(row.get(link, pair)?).or_insert((Vec::new(), cycle));
            if *known != cycle {
                return Err(row.fault("the link has two cycles"));
            }
            windows.push(window);
        }
        Ok(())
    }

    fn read_queues(&mut self, table: &Table<'_>) -> Result<(), ImportError> {
        let (stream, link, queue) =
            (table.column(&["stream", "id"])?, table.column(&["link"])?, table.column(&["queue"])?);
        for row in table.rows() {
            let key = (row.text(stream).to_string(), row.get(link, pair)?);
            let queue = row.get(queue, units::whole)?;
            if *self.queues.entry(key).or_insert(queue) != queue {
                return Err(
                    row.fault("frames of a stream have different queues at a link, and a channel has one")
                );
            }
        }
        Ok(())
    }

    fn read_offsets(&mut self, table: &Table<'_>) -> Result<(), ImportError> {
        let (stream, offset) = (table.column(&["stream", "id"])?, table.column(&["offset"])?);
        let frame = table.find(&["frame", "ins"]);
        for row in table.rows() {
            let frame = frame.map_or(Ok(0), |column| row.get(column, units::whole))?;
            let offset = row.get(offset, nanoseconds)?;
            self.offsets.entry(row.text(stream).to_string()).or_default().insert(frame, offset);
        }
        Ok(())
    }

    fn read_routes(&mut self, table: &Table<'_>) -> Result<(), ImportError> {
        let (stream, link) = (table.column(&["stream", "id"])?, table.column(&["link"])?);
        for row in table.rows() {
            let link = row.get(link, pair)?;
            self.routes.entry(row.text(stream).to_string()).or_default().insert(link);
        }
        Ok(())
    }

    /// The route of a stream to one of its receivers, if the schedule has one.
    pub(super) fn route(&self, stream: &str, from: u64, to: u64) -> Option<Vec<u64>> {
        let links = self.routes.get(stream)?;
        // Backwards from the receiver, which one link of the tree leads to.
        let mut path = vec![to];
        while path.last() != Some(&from) {
            let here = *path.last()?;
            let previous = links.iter().find(|link| link.1 == here)?.0;
            if path.contains(&previous) {
                return None;
            }
            path.push(previous);
        }
        path.reverse();
        Some(path)
    }

    fn queue(&self, flow: &Flow<'_>, link: Pair) -> u64 {
        self.queues.get(&(flow.stream.id.clone(), link)).copied().unwrap_or(0)
    }

    /// The links of a flow that have a port of a switch.
    fn ports(places: &Places, flow: &Flow<'_>) -> impl Iterator<Item = Pair> {
        flow.links().into_iter().filter(|(from, _)| !places.is_host(*from))
    }

    /// The level of each flow.
    fn levels(&self, places: &Places, flows: &[Flow<'_>]) -> Result<Vec<u8>, ImportError> {
        let queues = flows.iter().map(|flow| {
            Self::ports(places, flow).map(|link| self.queue(flow, link)).collect::<BTreeSet<u64>>()
        });
        let queues: Vec<BTreeSet<u64>> = queues.collect();
        let all: BTreeSet<u64> = queues.iter().flatten().copied().collect();
        if queues.iter().all(|own| own.len() <= 1) && all.len() <= LEVELS {
            // The highest queue is the most urgent.
            let level = |queue: u64| all.iter().rev().position(|known| *known == queue).unwrap_or(0) as u8;
            return Ok(queues.iter().map(|own| own.first().map_or(0, |queue| level(*queue))).collect());
        }
        if flows.len() > LEVELS {
            let what = format!(
                "streams change their queues along their routes, which is imported for {LEVELS} streams at most"
            );
            return Err(ImportError::new(&self.file, 1, what));
        }
        Ok((0..flows.len() as u8).collect())
    }

    /// The network with a switch for each port.
    pub(super) fn write(
        &self,
        net: &mut Net,
        places: &Places,
        lines: &BTreeMap<Pair, Line>,
        flows: &[Flow<'_>],
    ) -> Result<(), ImportError> {
        net.note("Gates of tsnkit are of one port, so each port is a switch of its own, and windows are 1 ns longer.");
        let levels = self.levels(places, flows)?;
        let mut run = Span::from_ms(1);
        for (flow, &level) in flows.iter().zip(&levels) {
            for &node in flow.paths.iter().flatten() {
                let order = "strict_priority";
                let switch = Kind::Switch { order, latency: latency(lines, node), gates: Vec::new() };
                net.node(&places.name(node), if places.is_host(node) { Kind::Host } else { switch });
            }
            let mut routes = Vec::new();
            for path in &flow.paths {
                let mut route: Vec<String> = places.end(net, path[0]).into_iter().collect();
                for pair in path.windows(2) {
                    let (from, to) = (places.name(pair[0]), places.name(pair[1]));
                    let link = (pair[0], pair[1]);
                    let Some(line) = lines.get(&link) else {
                        let what = format!(
                            "the route of stream {} has a link ({}, {}) that the network lacks",
                            flow.stream.id, link.0, link.1
                        );
                        return Err(ImportError::new(&self.file, 1, what));
                    };
                    route.push(from.clone());
                    if places.is_host(pair[0]) {
                        net.link(&from, &to, line.rate, line.propagation);
                        continue;
                    }
                    let port = format!("s{}-{}", link.0, link.1);
                    if !net.has(&port) {
                        let gates = self.windows(link, flows, &levels, places);
                        net.node(
                            &port,
                            Kind::Switch { order: "strict_priority", latency: Span::ZERO, gates },
                        );
                    }
                    net.link(&from, &port, AT_ONCE, Span::ZERO);
                    net.link(&port, &to, line.rate, line.propagation);
                    route.push(port);
                }
                let last = path[path.len() - 1];
                route.push(places.name(last));
                route.extend(places.end(net, last));
                routes.push(route);
            }
            let (source, lasts) = self.source(flow)?;
            run = run.max(lasts);
            flow.add(net, routes, Some(level), source);
        }
        net.run = Some(run);
        Ok(())
    }

    /// When a stream sends, and how long it takes for all of its offsets.
    fn source(&self, flow: &Flow<'_>) -> Result<(Source, Span), ImportError> {
        let (period, none) = (flow.stream.period, BTreeMap::new());
        let offsets = self.offsets.get(&flow.stream.id).unwrap_or(&none);
        let first = offsets.values().next().copied().unwrap_or(Span::ZERO);
        if offsets.values().all(|offset| *offset == first) {
            return Ok((Source::Periodic(first), period.saturating_mul(10)));
        }
        let count = offsets.len() as u64;
        if count > MOST {
            return Err(ImportError::new(
                &self.file,
                1,
                format!("stream {} has {count} offsets; at most {MOST} are imported", flow.stream.id),
            ));
        }
        let times = (0..count)
            .zip(offsets.values())
            .map(|(frame, offset)| period.saturating_mul(frame).saturating_add(*offset));
        let mut times: Vec<Span> = times.collect();
        times.sort();
        Ok((Source::Script(times), period.saturating_mul(count + 1)))
    }

    /// The windows of a port, each with the levels that are open; none if the link has no gates.
    fn windows(
        &self,
        link: Pair,
        flows: &[Flow<'_>],
        levels: &[u8],
        places: &Places,
    ) -> Vec<(Span, Vec<u8>)> {
        let Some((windows, cycle)) = self.gates.get(&link) else { return Vec::new() };
        let longer = |window: &Window| window.end.saturating_add(SLACK).min(*cycle);
        let mut edges: BTreeSet<Span> = windows.iter().flat_map(|w| [w.start, longer(w)]).collect();
        edges.extend([Span::ZERO, *cycle]);
        let edges: Vec<Span> = edges.into_iter().collect();
        let passes = |flow: &Flow<'_>| Self::ports(places, flow).any(|port| port == link);
        let here: Vec<(u64, u8)> = flows
            .iter()
            .zip(levels)
            .filter(|(flow, _)| passes(flow))
            .map(|(flow, level)| (self.queue(flow, link), *level))
            .collect();
        let mut found: Vec<(Span, Vec<u8>)> = Vec::new();
        for pair in edges.windows(2) {
            let open: BTreeSet<u64> = windows
                .iter()
                .filter(|w| w.start <= pair[0] && longer(w) >= pair[1])
                .map(|w| w.queue)
                .collect();
            let levels: BTreeSet<u8> =
                here.iter().filter(|(queue, _)| open.contains(queue)).map(|(_, level)| *level).collect();
            let (length, levels) = (pair[1].saturating_sub(pair[0]), levels.into_iter().collect::<Vec<u8>>());
            match found.last_mut() {
                Some((before, same)) if *same == levels => *before = before.saturating_add(length),
                _ => found.push((length, levels)),
            }
        }
        found
    }
}
