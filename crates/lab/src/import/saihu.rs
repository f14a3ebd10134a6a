//! Saihu's output-port network: flows through servers, as JSON.
//!
//! A server is a queue by arrival with a rate-latency curve, and the link behind it. Servers that
//! follow one server are ports of one switch, since the link of that server leads there. The latency
//! of a curve becomes a propagation delay of the link, which has the same sum from end to end. A host
//! for each flow, and one for each end, have links at which a packet takes no time.
//!
//! Format: README of Saihu (Tsai, Tabatabaee, Plassart and Le Boudec 2023), "Output-Port Network".

use std::collections::{BTreeMap, BTreeSet};

use laxity_qos::limits::MOST_LIMITS;
use laxity_units::Span;

use super::json::Node;
use super::network::{AT_ONCE, Channel, FASTER, Kind, Net, Source};
use super::{ImportError, units};

/// Whether `node` is such a network.
pub(super) fn is_one(node: &Node) -> bool {
    node.get("flows").is_some() && node.get("servers").is_some()
}

/// Units without which a number is in seconds, bits or bits per second.
#[derive(Debug, Clone)]
struct Units {
    time: String,
    data: String,
    rate: String,
}

impl Units {
    /// Those that `node` names, and else those of `outer`.
    fn of(file: &str, node: &Node, outer: &Units) -> Result<Units, ImportError> {
        let unit = |key: &str, outer: &String| match node.get(key) {
            None => Ok(outer.clone()),
            Some(found) => found.text(file, key).map(str::to_string),
        };
        Ok(Units {
            time: unit("time_unit", &outer.time)?,
            data: unit("data_unit", &outer.data)?,
            rate: unit("rate_unit", &outer.rate)?,
        })
    }
}

struct Server {
    name: String,
    /// Segments: latency and rate.
    curve: Vec<(Span, u64)>,
    /// The rate of the link, if the file says one.
    capacity: Option<u64>,
    line: usize,
}

struct Flow {
    name: String,
    path: Vec<usize>,
    /// Segments: burst and rate.
    curve: Vec<(u64, u64)>,
    packet: Option<u64>,
    line: usize,
}

pub(super) fn read(file: &str, root: &Node) -> Result<Net, ImportError> {
    let usual = Units { time: "s".into(), data: "b".into(), rate: "bps".into() };
    let network = root.get("network");
    let general = network.map_or(Ok(usual.clone()), |network| Units::of(file, network, &usual))?;
    let servers = servers(file, root, network, &general)?;
    let flows = flows(file, root, network, &general, &servers)?;
    let mut net = Net { title: title(file, network)?, ..Net::default() };
    if let Some(policy) = network.and_then(|network| network.get("multiplexing"))
        && !policy.text(file, "multiplexing")?.eq_ignore_ascii_case("fifo")
    {
        net.note("Multiplexing is not FIFO in the file; bounds here are those of FIFO ports.");
    }
    let chosen = chosen(&servers, &flows);
    if servers.iter().any(|server| server.curve.len() > 1) {
        net.note("Of a service curve of several segments one is used: the least latency, as far as the server is not overloaded.");
    }
    let devices = devices(file, &servers, &flows)?;
    let device = |server: usize| format!("{} switch", servers[devices[server]].name);
    for server in 0..servers.len() {
        net.node(&device(server), Kind::Switch { order: "fifo", latency: Span::ZERO, gates: Vec::new() });
    }
    let end = |server: usize| format!("{} end", servers[server].name);
    let next: BTreeMap<usize, usize> =
        flows.iter().flat_map(|flow| flow.path.windows(2)).map(|pair| (pair[0], pair[1])).collect();
    for (place, server) in servers.iter().enumerate() {
        let (latency, rate) = server.curve[chosen[place]];
        // Behind the last server the distance of frames is of no matter.
        if next.contains_key(&place) && server.capacity != Some(rate) {
            net.note(FASTER);
        }
        let to = match next.get(&place) {
            Some(next) => device(*next),
            None => {
                net.node(&end(place), Kind::Host);
                end(place)
            }
        };
        if net.joined(&device(place), &to) {
            let what = format!(
                "`{}` is a second link between two switches, which has no place in a scenario",
                server.name
            );
            return Err(ImportError::new(file, server.line, what));
        }
        net.link(&device(place), &to, rate, latency);
    }
    for flow in &flows {
        let (first, last) = (flow.path[0], flow.path[flow.path.len() - 1]);
        let source = format!("{} source", flow.name);
        net.node(&source, Kind::Host);
        net.link(&source, &device(first), AT_ONCE, Span::ZERO);
        let mut route = vec![source];
        route.extend(flow.path.iter().map(|server| device(*server)));
        if let Some(next) = next.get(&last) {
            // Other flows go on from the switch at which this one ends.
            route.push(device(*next));
            net.node(&end(last), Kind::Host);
            net.link(&device(*next), &end(last), AT_ONCE, Span::ZERO);
        }
        route.push(end(last));
        net.channels.push(channel(file, flow, route)?);
    }
    Ok(net)
}

fn title(file: &str, network: Option<&Node>) -> Result<String, ImportError> {
    match network.and_then(|network| network.get("name")) {
        Some(name) => Ok(format!("{}: a network of output ports", name.text(file, "name")?)),
        None => Ok("A network of output ports".into()),
    }
}

/// A curve by two lists of one length.
fn curve<T>(
    file: &str,
    node: &Node,
    keys: [&str; 2],
    first: impl Fn(&str) -> Result<T, String>,
    rate: impl Fn(&str) -> Result<u64, String>,
) -> Result<Vec<(T, u64)>, ImportError> {
    let lists =
        [node.need(file, keys[0])?.list(file, keys[0])?, node.need(file, keys[1])?.list(file, keys[1])?];
    if lists[0].len() != lists[1].len() {
        let [firsts, rates] = lists.map(<[_]>::len);
        let what = format!("the curve has {firsts} `{}` and {rates} `{}`", keys[0], keys[1]);
        return Err(ImportError::new(file, node.line, what));
    }
    let pairs = lists[0].iter().zip(lists[1]).map(|(a, b)| {
        let one = first(a.text(file, keys[0])?).map_err(|what| ImportError::new(file, a.line, what))?;
        let other = rate(b.text(file, keys[1])?).map_err(|what| ImportError::new(file, b.line, what))?;
        Ok((one, other))
    });
    let pairs: Vec<(T, u64)> = pairs.collect::<Result<_, ImportError>>()?;
    match pairs.is_empty() {
        true => Err(ImportError::new(file, node.line, format!("the curve has no `{}`", keys[0]))),
        false => Ok(pairs),
    }
}

fn servers(
    file: &str,
    root: &Node,
    network: Option<&Node>,
    general: &Units,
) -> Result<Vec<Server>, ImportError> {
    let mut servers: Vec<Server> = Vec::new();
    for node in root.need(file, "servers")?.list(file, "servers")? {
        let units = Units::of(file, node, general)?;
        let name = node.need(file, "name")?.text(file, "name")?.to_string();
        let default = network.and_then(|network| network.get("service_curve"));
        let said = match node.get("service_curve").or(default) {
            Some(said) => said,
            None => node.need(file, "service_curve")?,
        };
        let time = |text: &str| units::time(text, &units.time);
        let mut curve =
            curve(file, said, ["latencies", "rates"], time, |text| units::rate(text, &units.rate, false))?;
        if curve.iter().any(|(_, rate)| *rate == 0) {
            return Err(ImportError::new(file, said.line, format!("server `{name}` has a rate of zero")));
        }
        curve.sort();
        if servers.iter().any(|server| server.name == name) {
            return Err(ImportError::new(file, node.line, format!("a second server is called `{name}`")));
        }
        let capacity =
            match node.get("capacity").or_else(|| network.and_then(|network| network.get("capacity"))) {
                None => None,
                Some(said) => {
                    let rate = units::rate(said.text(file, "capacity")?, &units.rate, false);
                    Some(rate.map_err(|what| ImportError::new(file, said.line, what))?)
                }
            };
        servers.push(Server { name, curve, capacity, line: node.line });
    }
    Ok(servers)
}

fn flows(
    file: &str,
    root: &Node,
    network: Option<&Node>,
    general: &Units,
    servers: &[Server],
) -> Result<Vec<Flow>, ImportError> {
    let mut flows = Vec::new();
    for node in root.need(file, "flows")?.list(file, "flows")? {
        let units = Units::of(file, node, general)?;
        let name = node.need(file, "name")?.text(file, "name")?.to_string();
        let default = |key: &str| node.get(key).or_else(|| network.and_then(|network| network.get(key)));
        let said = match default("arrival_curve") {
            Some(said) => said,
            None => node.need(file, "arrival_curve")?,
        };
        let data = |text: &str| units::size(text, &units.data);
        let mut curve =
            curve(file, said, ["bursts", "rates"], data, |text| units::rate(text, &units.rate, true))?;
        if curve.iter().any(|(burst, rate)| *burst == 0 || *rate == 0) {
            return Err(ImportError::new(
                file,
                said.line,
                format!("flow `{name}` has a burst or a rate of zero"),
            ));
        }
        curve.sort();
        let packet = match default("max_packet_length") {
            None => None,
            Some(node) => {
                let size = data(node.text(file, "max_packet_length")?);
                Some(size.map_err(|what| ImportError::new(file, node.line, what))?).filter(|size| *size > 0)
            }
        };
        let path = node.need(file, "path")?;
        let mut places = Vec::new();
        for item in path.list(file, "path")? {
            let wanted = item.text(file, "path")?;
            let place = servers.iter().position(|server| server.name == wanted);
            let place = place.ok_or_else(|| {
                ImportError::new(file, item.line, format!("no server is called `{wanted}`"))
            })?;
            if places.contains(&place) {
                return Err(ImportError::new(
                    file,
                    item.line,
                    format!("the path of `{name}` passes `{wanted}` twice"),
                ));
            }
            places.push(place);
        }
        if places.is_empty() {
            return Err(ImportError::new(file, path.line, format!("the path of `{name}` is empty")));
        }
        flows.push(Flow { name, path: places, curve, packet, line: node.line });
    }
    Ok(flows)
}

/// The segment of each server's curve that is used: of the least latency that its flows do not overload, or
/// else of the highest rate.
fn chosen(servers: &[Server], flows: &[Flow]) -> Vec<usize> {
    let slowest = |flow: &Flow| flow.curve.iter().map(|segment| segment.1).min().unwrap_or(0);
    let segment = |(place, server): (usize, &Server)| {
        let passing = flows.iter().filter(|flow| flow.path.contains(&place));
        let load = passing.fold(0_u64, |sum, flow| sum.saturating_add(slowest(flow)));
        let fastest = || (0..server.curve.len()).max_by_key(|i| server.curve[*i].1).unwrap_or(0);
        (0..server.curve.len()).find(|i| server.curve[*i].1 >= load).unwrap_or_else(fastest)
    };
    servers.iter().enumerate().map(segment).collect()
}

/// The switch of each server, by the place of one of its servers.
fn devices(file: &str, servers: &[Server], flows: &[Flow]) -> Result<Vec<usize>, ImportError> {
    let mut device: Vec<usize> = (0..servers.len()).collect();
    let mut behind: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for pair in flows.iter().flat_map(|flow| flow.path.windows(2)) {
        behind.entry(pair[0]).or_default().insert(pair[1]);
    }
    for next in behind.values() {
        let mut all = next.iter();
        let Some(first) = all.next().map(|first| device[*first]) else { continue };
        for other in all {
            let from = device[*other];
            device.iter_mut().filter(|device| **device == from).for_each(|device| *device = first);
        }
    }
    for (server, next) in &behind {
        if next.iter().any(|next| device[*next] == device[*server]) {
            let what = format!("the link of `{}` would lead back to its own switch", servers[*server].name);
            return Err(ImportError::new(file, servers[*server].line, what));
        }
    }
    Ok(device)
}

/// The channel of a flow. Its contract is the segment of the least burst. The others are limits of a higher
/// burst and a lower rate, as far as a channel can have them.
fn channel(file: &str, flow: &Flow, route: Vec<String>) -> Result<Channel, ImportError> {
    let (least, _) = flow.curve[0];
    let message = flow.packet.map_or(least, |packet| packet.min(least));
    let mut limits: Vec<(u64, Span)> = Vec::new();
    for (burst, rate) in &flow.curve {
        let limit = (burst.div_ceil(message.max(1)), units::interval(message, *rate));
        // By the bursts in their order, so that a limit of no lower rate is implied by the one before.
        if limits.last().is_none_or(|(_, before)| limit.1 > *before) {
            limits.push(limit);
        }
    }
    limits.dedup_by(|later, before| {
        let same = later.0 == before.0;
        before.1 = if same { later.1 } else { before.1 };
        same
    });
    let (burst, interval) = limits.remove(0);
    if interval.is_zero() {
        return Err(ImportError::new(file, flow.line, format!("flow `{}` is too fast", flow.name)));
    }
    // Of more the lowest rate decides in the long run.
    while limits.len() > MOST_LIMITS {
        limits.remove(limits.len() - 2);
    }
    Ok(Channel {
        name: flow.name.clone(),
        route,
        further: Vec::new(),
        limits,
        message,
        burst,
        interval,
        deadline: Span::from_secs(10),
        level: None,
        source: Source::Greedy,
        line: flow.line,
    })
}
