//! A network as all formats have it, and the scenario that is written of it.

use std::collections::{BTreeMap, BTreeSet};

use laxity_units::{Rate, Span};

use super::ImportError;

/// A rate at which a packet takes no time that matters, for links that a format does not model.
pub(super) const AT_ONCE: u64 = 1_000_000_000_000_000;
/// The note where a server of a format can be faster than its service curve.
pub(super) const FASTER: &str = "A link is as fast as the service curve of its server, and no faster. In the file a \
     server can be faster at times, by its capacity or without a limit, and then frames are closer together at the \
     next one. So bounds hold for this scenario, and can be below delays of the network in the file.";
/// The most of anything that is imported.
const MOST: usize = 10_000;
/// The largest message of a scenario, 1 GiB.
const LARGEST: u64 = 1 << 30;
/// The longest time of a scenario.
const LONGEST: Span = Span::from_secs(3600);

/// A network.
#[derive(Debug, Default)]
pub(super) struct Net {
    pub(super) title: String,
    /// Sentences on the import.
    pub(super) notes: Vec<String>,
    pub(super) nodes: Vec<(String, Kind)>,
    pub(super) links: Vec<Link>,
    pub(super) channels: Vec<Channel>,
    pub(super) run: Option<Span>,
    /// Whether the times of sources are a schedule, which admission does not know.
    pub(super) scheduled: bool,
}

/// The kind of a node.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Host,
    /// A switch: the order of its ports, its latency, and windows of gates with open levels.
    Switch {
        order: &'static str,
        latency: Span,
        gates: Vec<(Span, Vec<u8>)>,
    },
}

/// A link in both directions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Link {
    ends: [String; 2],
    rate: u64,
    propagation: Span,
}

/// A channel.
#[derive(Debug, Clone)]
pub(super) struct Channel {
    pub(super) name: String,
    /// Both ends and all switches between them.
    pub(super) route: Vec<String>,
    /// The same to each further receiver.
    pub(super) further: Vec<Vec<String>>,
    pub(super) message: u64,
    pub(super) burst: u64,
    pub(super) interval: Span,
    /// Further limits: messages at once, and their interval.
    pub(super) limits: Vec<(u64, Span)>,
    pub(super) deadline: Span,
    pub(super) level: Option<u8>,
    pub(super) source: Source,
    /// The line of the file that has it.
    pub(super) line: usize,
}

/// When a channel sends.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// As its contract allows at most.
    Greedy,
    /// A message each interval, the first at this time.
    Periodic(Span),
    /// Messages at these times.
    Script(Vec<Span>),
}

impl Link {
    /// Whether it joins `a` and `b`, in any direction.
    fn joins(&self, a: &str, b: &str) -> bool {
        let [one, other] = &self.ends;
        one == a && other == b || one == b && other == a
    }
}

impl Net {
    /// Adds a node; a name that is known is left as it is.
    pub(super) fn node(&mut self, name: &str, kind: Kind) {
        if !self.has(name) {
            self.nodes.push((name.into(), kind));
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.nodes.iter().any(|(known, _)| known == name)
    }

    pub(super) fn is_switch(&self, name: &str) -> bool {
        self.nodes.iter().any(|(known, kind)| known == name && *kind != Kind::Host)
    }

    /// Adds a flow over `routes` from one sender: `channel` with several receivers, if routes part at
    /// switches and each ends elsewhere. Else there is a channel for each route, with a name by `named`.
    pub(super) fn flow(
        &mut self,
        mut routes: Vec<Vec<String>>,
        named: impl Fn(usize) -> String,
        channel: Channel,
    ) {
        if routes.len() > 1 && !is_multicast(&routes) {
            self.note(
                "A flow over several routes has a channel for each, of which each loads the links that they \
                 share, where routes part at their sender or two of them end at one receiver.",
            );
            let each = routes.into_iter().enumerate();
            let each = each.map(|(at, route)| Channel { name: named(at), route, ..channel.clone() });
            self.channels.extend(each);
            return;
        }
        let route = routes.remove(0);
        self.channels.push(Channel { route, further: routes, ..channel });
    }

    /// Adds a note once.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds a link. A link that is there, in the other direction, has the slower rate and the longer
    /// propagation of both.
    pub(super) fn link(&mut self, a: &str, b: &str, rate: u64, propagation: Span) {
        match self.links.iter_mut().find(|link| link.joins(a, b)) {
            Some(link) if link.rate == rate && link.propagation == propagation => {}
            Some(link) => {
                link.rate = link.rate.min(rate);
                link.propagation = link.propagation.max(propagation);
                self.note("A link with two directions that differ has the slower rate and the longer delay of both.");
            }
            None => self.links.push(Link { ends: [a.into(), b.into()], rate, propagation }),
        }
    }

    /// Whether a link joins `a` and `b`.
    pub(super) fn joined(&self, a: &str, b: &str) -> bool {
        a != b && self.links.iter().any(|link| link.joins(a, b))
    }

    /// The scenario; `file` is the source of the network.
    pub(super) fn scenario(&self, file: &str) -> Result<String, ImportError> {
        let fault = |line: usize, what: String| ImportError::new(file, line, what);
        let count = self.nodes.len().max(self.links.len()).max(self.channels.len());
        if count > MOST {
            return Err(fault(
                1,
                format!("the network has {count} nodes, links or channels; at most {MOST} are imported"),
            ));
        }
        if self.channels.is_empty() {
            return Err(fault(1, "the network has no flow".into()));
        }
        for channel in &self.channels {
            self.check(channel).map_err(|what| fault(channel.line, what))?;
        }
        let names = Names::new(self);
        let largest = self.channels.iter().map(|channel| channel.message).max().unwrap_or(1);
        let mut text = format!("title = {}\nabout = \"\"\"\n", quoted(&self.title));
        text += &format!("Imported by `laxity import` from {}.\n", escaped(file));
        for note in &self.notes {
            text += &format!("{}\n", escaped(note));
        }
        text += "\"\"\"\n\n[host]\nprofile = \"mc68040\"\n# Formats of networks do not model hosts, so hosts take no time here.\n";
        text += "costs = { context_switch = \"0 us\", cache_miss = \"0 us\", first_packet = \"0 us\", packet = \"0 us\", \
                 link_scheduling = \"0 us\", hand_over = \"0 us\", interrupt = \"0 us\", thread_creation = \"0 us\", \
                 receive_packet = \"0 us\", receive_message = \"0 us\", send_call = \"0 us\" }\n";
        text += &format!(
            "subsystem = {{ packet = \"{largest} B\", cpu = \"fifo\", link = {{ order = \"fifo\" }} }}\n"
        );
        text += &format!("\n[adapter]\nkind = \"null\"\nrate = \"{}\"\n\n", rate(AT_ONCE));
        for (name, kind) in &self.nodes {
            text += &format!("[node.{}]\n", names.of(name));
            if let Kind::Switch { order, latency, gates } = kind {
                text += &format!("kind = \"switch\"\norder = \"{order}\"\n");
                if !latency.is_zero() {
                    text += &format!("latency = \"{latency}\"\n");
                }
                if !gates.is_empty() {
                    let windows = gates.iter().map(|(length, levels)| match levels.is_empty() {
                        true => format!("    {{ for = \"{length}\", best_effort = true }},\n"),
                        false => format!("    {{ for = \"{length}\", levels = {levels:?} }},\n"),
                    });
                    text += &format!("gates = [\n{}]\n", windows.collect::<String>());
                }
            }
        }
        text += "\n";
        for (number, Link { ends: [a, b], rate: bits, propagation }) in (1..).zip(&self.links) {
            text += &format!(
                "[network.l{number}]\njoins = [\"{}\", \"{}\"]\nrate = \"{}\"\n",
                names.of(a),
                names.of(b),
                rate(*bits)
            );
            if !propagation.is_zero() {
                text += &format!("propagation = \"{propagation}\"\n");
            }
        }
        let mut used = BTreeSet::new();
        for channel in &self.channels {
            text += &written(channel, &names, &mut used);
        }
        if self.scheduled {
            text += "\n[admission]\n# The times of sources are a schedule, which admission does not know.\nformula = \"off\"\n";
        } else {
            text += "\n[admission]\ntest = \"demand\"\n";
        }
        let longest = self.channels.iter().map(|channel| channel.interval).max().unwrap_or(Span::from_ms(10));
        let run = self.run.unwrap_or_else(|| longest.saturating_mul(20).max(Span::from_ms(10)));
        text += &format!("\n[run]\ntime = \"{}\"\n", run.min(LONGEST));
        Ok(text)
    }

    /// Whether a channel is one that a scenario can have.
    fn check(&self, channel: &Channel) -> Result<(), String> {
        let Channel { name, route, further, message, burst, interval, deadline, .. } = channel;
        if *message == 0 || *message > LARGEST {
            return Err(format!("messages of `{name}` have {message} B; valid is 1 B to 1 GiB"));
        }
        if *burst == 0 || *burst > 1_000_000 {
            return Err(format!("`{name}` sends {burst} messages at once; valid is 1 to 1000000"));
        }
        let valid = Span::from_ns(1)..=LONGEST;
        for (what, time) in [("interval", interval), ("deadline", deadline)] {
            if !valid.contains(time) {
                return Err(format!("the {what} of `{name}` is {time}; valid is 1 ns to 1 h"));
            }
        }
        let routes = || std::iter::once(route).chain(further);
        if routes().any(|route| route.len() < 2) {
            return Err(format!("the route of `{name}` has no link"));
        }
        for pair in routes().flat_map(|route| route.windows(2)) {
            if !self.joined(&pair[0], &pair[1]) {
                return Err(format!(
                    "no link leads from `{}` to `{}`, which are on the route of `{name}`",
                    pair[0], pair[1]
                ));
            }
        }
        Ok(())
    }
}

fn written(channel: &Channel, names: &Names, used: &mut BTreeSet<String>) -> String {
    let route = |route: &Vec<String>| {
        let names: Vec<String> = route.iter().map(|node| format!("\"{}\"", names.of(node))).collect();
        format!("[{}]", names.join(", "))
    };
    // Each receiver has a name of its own behind that of the channel.
    let ends: Vec<&str> = channel.further.iter().filter_map(|route| Some(names.of(route.last()?))).collect();
    let mut name = unused(&channel.name, used);
    while ends.iter().any(|end| used.contains(&format!("{name}-{end}"))) {
        name = unused(&channel.name, used);
    }
    used.extend(ends.iter().map(|end| format!("{name}-{end}")));
    let further: Vec<String> =
        channel.further.iter().map(|it| format!("{{ route = {} }}", route(it))).collect();
    let limits = channel.limits.iter();
    let limits: Vec<String> = limits
        .map(|(burst, interval)| format!("{{ burst = {burst}, min_interval = \"{interval}\" }}"))
        .collect();
    let limits = match limits.is_empty() {
        true => String::new(),
        false => format!("limits = [{}]\n", limits.join(", ")),
    };
    let further = match further.is_empty() {
        true => String::new(),
        false => format!("receivers = [{}]\n", further.join(", ")),
    };
    let source = match &channel.source {
        Source::Greedy => "{ kind = \"adversary\" }".to_string(),
        Source::Periodic(phase) if phase.is_zero() => "{ kind = \"periodic\" }".to_string(),
        Source::Periodic(phase) => format!("{{ kind = \"periodic\", phase = \"{phase}\" }}"),
        Source::Script(times) => {
            let times: Vec<String> = times.iter().map(|at| format!("{{ at = \"{at}\" }}")).collect();
            format!("{{ kind = \"script\", messages = [{}] }}", times.join(", "))
        }
    };
    let level = channel.level.map_or(String::new(), |level| format!("level = {level}\n"));
    format!(
        "\n[[channel]]\nname = \"{}\"\nclass = \"real_time\"\nmax_message = \"{} B\"\nburst = {}\nmin_interval = \"{}\"\n\
         deadline = \"{}\"\n{level}{limits}route = {}\n{further}source = {source}\n",
        name,
        channel.message,
        channel.burst,
        channel.interval,
        channel.deadline,
        route(&channel.route),
    )
}

/// Whether routes begin alike, pass no node twice, part at switches, and each ends at a node of its own.
fn is_multicast(routes: &[Vec<String>]) -> bool {
    let alone = |at: usize| {
        let (route, before) = (&routes[at], &routes[..at]);
        let once = (1..route.len()).all(|hop| !route[..hop].contains(&route[hop]));
        let common = |other: &Vec<String>| route.iter().zip(other).take_while(|(a, b)| a == b).count();
        let parts = before.iter().map(common).max().is_none_or(|most| most >= 2);
        let passes = |other: &Vec<String>| {
            route.last().is_none_or(|end| other.contains(end))
                || other.last().is_none_or(|end| route.contains(end))
        };
        once && parts && !before.iter().any(passes)
    };
    (0..routes.len()).all(alone)
}

/// The names of nodes in the scenario, which have letters, digits, `-` and `_` only.
struct Names<'a>(BTreeMap<&'a str, String>);

impl<'a> Names<'a> {
    fn new(net: &'a Net) -> Self {
        let mut used = BTreeSet::new();
        Self(net.nodes.iter().map(|(name, _)| (name.as_str(), unused(name, &mut used))).collect())
    }

    fn of(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

/// `name` with other characters replaced, and a number behind it if it is used already.
fn unused(name: &str, used: &mut BTreeSet<String>) -> String {
    let valid = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    let mut plain: String = name.chars().map(valid).take(60).collect();
    // A number alone names a host without a name.
    if !plain.starts_with(|c: char| c.is_ascii_alphabetic()) {
        plain.insert(0, 'n');
    }
    let mut chosen = plain.clone();
    let mut number = 2;
    while !used.insert(chosen.clone()) {
        chosen = format!("{plain}_{number}");
        number += 1;
    }
    chosen
}

/// A rate as a scenario has it.
fn rate(bits: u64) -> String {
    Rate::from_bits_per_sec(bits).to_string()
}

/// A string of TOML on one line.
fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text).replace('"', "\\\""))
}

/// `text` without controls and with escapes, for a basic string of TOML.
fn escaped(text: &str) -> String {
    laxity_world::text::clean(text).replace('\\', "\\\\").replace("\"\"\"", "'''")
}
