//! WOPANet's networks of stations and switches, as XML; Saihu calls them physical networks.
//!
//! A link out of a node is a queue by arrival, of the service rate of the link or of its node, and else
//! of the transmission capacity. A link without any models no delay: a packet takes no time there. The
//! service latency becomes a propagation delay.
//!
//! Format: README of Saihu (Tsai, Tabatabaee, Plassart and Le Boudec 2023), "Physical Network".

use laxity_units::Span;
use roxmltree::{Document, Node};

use super::network::{AT_ONCE, Channel, FASTER, Kind, Net, Source};
use super::{ImportError, units};

/// A reader of one document.
struct Reader<'a> {
    file: &'a str,
    document: &'a Document<'a>,
    general: Option<Node<'a, 'a>>,
}

pub(super) fn read(file: &str, text: &str) -> Result<Net, ImportError> {
    let document = Document::parse(text).map_err(|error| {
        ImportError::new(file, error.pos().row as usize, format!("this is no XML: {error}"))
    })?;
    let root = document.root_element();
    let general = root.children().find(|node| node.has_tag_name("network"));
    let reader = Reader { file, document: &document, general };
    let title = general.and_then(|network| network.attribute("name")).unwrap_or("network");
    let mut net = Net { title: format!("{title}: a network of stations and switches"), ..Net::default() };
    reader.nodes(root, &mut net)?;
    reader.links(root, &mut net)?;
    for (number, flow) in root.children().filter(|node| node.has_tag_name("flow")).enumerate() {
        reader.flow(number, flow, &mut net)?;
    }
    if net.channels.is_empty() {
        return Err(ImportError::new(file, reader.line(root), "the network has no `flow`"));
    }
    Ok(net)
}

impl<'a> Reader<'a> {
    fn line(&self, node: Node<'_, '_>) -> usize {
        self.document.text_pos_at(node.range().start).row as usize
    }

    fn fault(&self, node: Node<'_, '_>, what: impl Into<String>) -> ImportError {
        ImportError::new(self.file, self.line(node), what)
    }

    fn need(&self, node: Node<'a, 'a>, key: &str) -> Result<&'a str, ImportError> {
        let tag = node.tag_name().name().to_string();
        node.attribute(key).ok_or_else(|| self.fault(node, format!("a `{tag}` has no `{key}`")))
    }

    /// The attribute of `node`, or else that of the network.
    fn attribute(&self, node: Node<'a, 'a>, key: &str) -> Option<&'a str> {
        node.attribute(key).or_else(|| self.general.and_then(|network| network.attribute(key)))
    }

    fn nodes(&self, root: Node<'a, 'a>, net: &mut Net) -> Result<(), ImportError> {
        for node in root.children().filter(Node::is_element) {
            let kind = match node.tag_name().name() {
                "station" => Kind::Host,
                "switch" => Kind::Switch { order: "fifo", latency: Span::ZERO, gates: Vec::new() },
                "network" | "link" | "flow" => continue,
                other => {
                    net.note(format!("Elements `{other}` are not read."));
                    continue;
                }
            };
            let name = self.need(node, "name")?;
            if net.has(name) {
                return Err(self.fault(node, format!("a second node is called `{name}`")));
            }
            net.node(name, kind);
        }
        Ok(())
    }

    fn links(&self, root: Node<'a, 'a>, net: &mut Net) -> Result<(), ImportError> {
        for link in root.children().filter(|node| node.has_tag_name("link")) {
            let ends = [self.need(link, "from")?, self.need(link, "to")?];
            for end in ends {
                if !net.has(end) {
                    return Err(self.fault(link, format!("no station or switch is called `{end}`")));
                }
            }
            if ends[0] == ends[1] {
                return Err(self.fault(link, format!("the link leads from `{}` to itself", ends[0])));
            }
            let from = root.children().find(|node| {
                (node.has_tag_name("station") || node.has_tag_name("switch"))
                    && node.attribute("name") == Some(ends[0])
            });
            let said = |key: &str| {
                let own = link.attribute(key).or_else(|| from.and_then(|node| node.attribute(key)));
                own.or_else(|| self.general.and_then(|network| network.attribute(key)))
            };
            let rate = match said("service-rate").or_else(|| said("transmission-capacity")) {
                None => AT_ONCE,
                Some(text) => units::rate(text, "bps", false).map_err(|what| self.fault(link, what))?,
            };
            if rate == 0 {
                return Err(self.fault(link, "the rate of the link is zero"));
            }
            let capacity =
                said("transmission-capacity").and_then(|text| units::rate(text, "bps", false).ok());
            if rate < AT_ONCE && capacity.is_none_or(|capacity| capacity > rate) {
                net.note(FASTER);
            }
            let latency = match said("service-latency") {
                None => Span::ZERO,
                Some(text) => units::time(text, "s").map_err(|what| self.fault(link, what))?,
            };
            net.link(ends[0], ends[1], rate.min(AT_ONCE), latency);
        }
        Ok(())
    }

    fn size(&self, node: Node<'a, 'a>, key: &str) -> Result<Option<u64>, ImportError> {
        let Some(text) = self.attribute(node, key) else { return Ok(None) };
        // The README gives bytes, and the program bits, to a number without a unit.
        let size = units::size(text, if text.trim() == "0" { "B" } else { "" });
        let size = size.map_err(|what| self.fault(node, format!("`{key}`: {what}")))?;
        Ok(Some(size).filter(|size| *size > 0))
    }

    fn flow(&self, number: usize, flow: Node<'a, 'a>, net: &mut Net) -> Result<(), ImportError> {
        let unnamed = format!("flow-{number}");
        let name = flow.attribute("name").unwrap_or(&unnamed);
        let packet = self.size(flow, "maximum-packet-size")?;
        let overhead = self.size(flow, "overhead")?.unwrap_or(0);
        let (message, burst, interval) = match (self.size(flow, "lb-burst")?, flow.attribute("period")) {
            (Some(all), _) => {
                let text = self
                    .attribute(flow, "lb-rate")
                    .ok_or_else(|| self.fault(flow, format!("flow `{name}` has no `lb-rate`")))?;
                let rate = units::rate(text, "bps", true).map_err(|what| self.fault(flow, what))?;
                if rate == 0 {
                    return Err(self.fault(flow, format!("the rate of flow `{name}` is zero")));
                }
                let message = packet.map_or(all, |packet| packet.min(all));
                (message, all.div_ceil(message), units::interval(message, rate))
            }
            (None, Some(period)) => {
                let period = units::time(period, "s").map_err(|what| self.fault(flow, what))?;
                let message = packet
                    .ok_or_else(|| self.fault(flow, format!("flow `{name}` has no `maximum-packet-size`")))?;
                (message, 1, period)
            }
            (None, None) => {
                return Err(self.fault(
                    flow,
                    format!("flow `{name}` has neither `lb-burst` with `lb-rate` nor `period`"),
                ));
            }
        };
        let deadline = match flow.attribute("deadline") {
            None => Span::from_secs(10),
            Some(text) => units::time(text, "s").map_err(|what| self.fault(flow, what))?,
        };
        let source = self.need(flow, "source")?;
        if !net.has(source) {
            return Err(self.fault(flow, format!("no station or switch is called `{source}`")));
        }
        let targets: Vec<Node<'a, 'a>> = flow.children().filter(|node| node.has_tag_name("target")).collect();
        if targets.is_empty() {
            return Err(self.fault(flow, format!("flow `{name}` has no `target`")));
        }
        let (mut routes, mut names) = (Vec::new(), Vec::new());
        for (place, target) in targets.iter().enumerate() {
            let mut route = vec![source.to_string()];
            for step in target.children().filter(|node| node.has_tag_name("path")) {
                let node = self.need(step, "node")?;
                if !net.has(node) {
                    return Err(self.fault(step, format!("no station or switch is called `{node}`")));
                }
                route.push(node.to_string());
            }
            if route.len() < 2 {
                return Err(self.fault(*target, format!("a target of flow `{name}` has no `path`")));
            }
            ended(net, &mut route);
            let unnamed = format!("p{place}");
            names.push(format!("{name}_{}", target.attribute("name").unwrap_or(&unnamed)));
            routes.push(route);
        }
        let channel = Channel {
            name: name.to_string(),
            route: Vec::new(),
            further: Vec::new(),
            limits: Vec::new(),
            message: message.saturating_add(overhead),
            burst,
            interval,
            deadline,
            level: None,
            source: Source::Greedy,
            line: self.line(flow),
        };
        net.flow(routes, |place| names[place].clone(), channel);
        Ok(())
    }
}

/// A route from switch to switch begins and ends at a host of its own.
fn ended(net: &mut Net, route: &mut Vec<String>) {
    let hosts = [(0, "source at"), (route.len() - 1, "end at")].map(|(at, what)| {
        let node = route[at].clone();
        let host = format!("{what} {node}");
        net.is_switch(&node).then(|| {
            net.node(&host, Kind::Host);
            net.link(&host, &node, AT_ONCE, Span::ZERO);
            host
        })
    });
    let [first, last] = hosts;
    route.extend(last);
    if let Some(first) = first {
        route.insert(0, first);
    }
}
