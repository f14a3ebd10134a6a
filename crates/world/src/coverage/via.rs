//! Which clusters of virtual interfaces have bounds, and the requests that their messages make.
//!
//! The analysis is `laxity_qos::holistic`; here is why an adapter ([`laxity_model::via`]) is four of its servers, a processor `P`, HDMA
//! `H`, NSDMA `N` and NRDMA `R`, beside a process for each end of a virtual interface. A message makes these requests:
//!
//! ```text
//!  program    post
//!  sender     P doorbell ▸ H descriptor ▸ P program ▸ H data ▸ P hand over ▸ N ▸ (P status ▸ H status ▸ P finish, program)
//!  receiver   R ▸ P program ▸ H data ▸ P status ▸ H status ▸ (P finish) ▸ program
//! ```
//!
//! * **P** is never idle while something has happened that it has not noticed: it handles something, or looks. Fewer looks than a round
//!   has lie between two things that it handles, and before the first; so each is charged its handling and a round of looks, and if it
//!   inserts into a queue, a passage of all that may wait there. What is noticed at each unit in the order of its coming, and units in turn, is
//!   some order.
//! * **H** takes the next request when it is done with one, in the order of coming, or under QoSVIA in that of stamps: then everybody with a
//!   bandwidth goes before everybody without, whose stamp is ∞, but for the `guard` at the head that stay where they are. Where best
//!   effort has a rate set aside it has stamps, too, and the order is some order. So it is with N's queue, in software or hardware.
//! * **N** has a hardware queue and does so too; or it has none, and stands still from the end of a message until P has noticed that and
//!   programmed the next. In between P handles no more than one thing of each other unit, as units have turns: each message keeps N for the
//!   longest of those, too.
//! * **R** takes the next message when it has one.
//!
//! * **Units as one.** While an adapter has a message one of its units works, or P looks. So `P` and `H`, or all of a node, are taken as one server
//!   too ([`Taken`]), and whoever is promised something is promised the least of what follows.
//!
//! * **Groups** keep a doorbell that is noted outside until the rate of all of them allows it in, or HDMA has nothing to do. In between HDMA is at work, so taken as one (`P` and `H`, or all) the
//!   adapter still works while something waits, in some order; taken apart it may not.
//!
//! * **Doorbells told apart** ([`Doorbells::Apart`]): P looks at all units before it handles something, and handles what has a bandwidth first; so is it at R, where what waits in the network
//!   has lanes. Then everybody with a bandwidth goes before everybody without at each of the four, however much those ask for: best effort without an end is no more than the one thing that is in
//!   hand. Whoever is let in by turns has the stamp ∞. A doorbell of who keeps its contract is within its bandwidth when it is rung, if its program is no more than an interval late, which is asked of
//!   the answer ([`Path::early`]). N's standing still is noticed before all else where somebody with a bandwidth waits for it, so that it stands for one thing that P has in hand, and P has a message
//!   of others to see off for each that does. A way through these servers is looked at as a whole, too ([`laxity_qos::holistic::along`]).
//!
//! With a *rate set aside* there ([`Limits::best_effort`]) best effort is one flow more with a bandwidth, each way (`shared.rs`): the clock of an adapter gives stamps to what is rung for no closer than one message's time at that
//! rate, and to what has come likewise, and from then on that goes first wherever it is. Whatever it waited for before was in nobody's way, and how late a stamp is used is the responses of the units on its way.
//!
//! *Who posts more than its contract* is nobody here: a program holds a message until its logical arrival if it is promised something, and one that was refused is not connected. A program at an emulated adapter may, and
//! nothing is promised beside it by this; but what it comes to is known, and `emulator/tests/via_beside.rs` holds adapters to it. Where it sends it has two stamps at once and then one in each interval, since a stamp is
//! given when its clock is an interval ahead at most. Where it comes it has what had stamps there, as it comes, and what had none when its clock has come to the present: if the last of those is given at `p` in a window from `s`
//! to `t`, it is no more than one and one in each interval until `p`, and then as much as was stamped at the sender, two and one in each interval, each as late as it may be. What waits behind one without a stamp is judged
//! as that is, so nothing else adds to these three. To be given a stamp takes the processor's time once for each that was let in without.
//!
//! Under **SVIA** P is asked once for all that a message takes at a side, its transfers included, since it waits for each.
//!
//! *Who comes how often.* What was promised something posts no sooner than its contract allows: its program holds a message until
//! its logical arrival. Best effort is bounded if its send queues have an end (`depth`): a descriptor is posted where another has
//! completed, so of each place in a queue no two messages pass any point on the sender's side within less than the least that a message takes
//! from its doorbell to its completion. Without an end whoever rings without end keeps the processor at it, since doorbells are noticed in the
//! order in which they are rung.
//!
//! *A program that answers* what it receives (`rounds`) is one server for both.
//!
//! **Delay** runs from the logical arrival until the receiving program has the message: the responses on the way, that of N without the
//! message's own transmission, as the receiver has its first bit when it begins. **Jitter**: messages sent `I` apart are
//! received at most `I` and the longest delay less the shortest apart, and θ is at most that difference over `I`.
//!
//! *Played out* ([`ChannelSpec::playout`]) a message that came waits in its program's memory until so long after its logical arrival, in nobody's way, and is then seen. So it is with its program by
//! the longest of two: what it takes otherwise, and the playout with the response of the program, to which it comes no less evenly than without. If the first is no longer than the
//! playout nothing of the way is left in the delay: the shortest and the longest differ by what its program does meanwhile.

use laxity_model::source::{Sizes, SourceParameters};
use laxity_model::via::{Doorbells, Firmware, FirmwareCosts, Limits, ViaConfig};
use laxity_qos::discipline::Class;
use laxity_qos::holistic::{Flow, Server, Slots, Stage};
use laxity_qos::traffic::TrafficSpec;
use laxity_units::{Bytes, Span};

mod shared;

use super::Uncovered;
use crate::experiment::{ChannelSpec, Experiment, SourceSpec, ViaSpec};

/// Servers of a node.
const OF_NODE: usize = 4;
const P: usize = 0;
const H: usize = 1;
const N: usize = 2;
const R: usize = 3;

/// Which of a node's units are taken as one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// None.
    Apart,
    /// The processor and HDMA, between which messages go to and fro.
    ToAndFro,
    /// All of them.
    Whole,
}

impl Taken {
    /// Every way to take them.
    const ALL: [Self; 3] = [Self::Apart, Self::ToAndFro, Self::Whole];

    /// The ways in which an adapter may be taken. Where virtual interfaces are in groups a message waits outside while HDMA is at another, and nothing of its adapter is idle but the processor may
    /// be: so these two are one server at least.
    pub(crate) fn ways(experiment: &Experiment) -> impl Iterator<Item = Self> {
        let grouped = is_grouped(experiment);
        Self::ALL.into_iter().filter(move |taken| !grouped || *taken != Self::Apart)
    }

    /// The server that each unit is a part of.
    fn unit(self, unit: usize) -> usize {
        match (self, unit) {
            (Self::ToAndFro, H) | (Self::Whole, _) => P,
            (Self::Apart | Self::ToAndFro, _) => unit,
        }
    }
}

/// A virtual interface as the analysis sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    /// Its requests.
    pub(crate) flow: Flow,
    /// Those of its stages that its message waits for one after the other.
    pub(crate) critical: Vec<usize>,
    /// What passes beside them, whatever happens: the wire; the transmission is taken back.
    pub(crate) wire: Span,
    pub(crate) taken_back: Span,
    /// The shortest delay.
    pub(crate) shortest: Span,
    /// How long after it was sent it may be seen at the earliest.
    pub(crate) playout: Option<Span>,
    /// If doorbells are told apart: the stage after which its doorbell is rung, and how much later than at least that may be done for its contract to be kept there.
    pub(crate) early: Option<(usize, Span)>,
}

impl Path {
    /// The same, with servers as parts of those that `of` says.
    fn through(self, of: &[usize]) -> Self {
        let (flow, part) = self.flow.through(of);
        let mut critical: Vec<usize> = self.critical.iter().map(|k| part[*k]).collect();
        critical.dedup();
        Self { flow, critical, ..self }
    }
}

/// A cluster as the analysis sees it.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    /// Its servers: four of each node, then two of each channel.
    pub(crate) servers: Vec<Server>,
    /// Per channel.
    pub(crate) paths: Vec<Path>,
    /// Best effort that goes by a rate that is set aside for all of it at an adapter, where processes are told apart.
    pub(crate) shared: Vec<Flow>,
}

/// Whether some virtual interface is in a group, with others or alone.
fn is_grouped(experiment: &Experiment) -> bool {
    experiment.channels.iter().any(|channel| channel.group.is_some())
}

/// What server `server` is, in words.
pub(crate) fn server_name(experiment: &Experiment, taken: Taken, server: usize) -> String {
    let nodes = experiment.nodes.len();
    match server.checked_sub(nodes * OF_NODE) {
        None => {
            let unit = match (taken, server % OF_NODE) {
                (Taken::Whole, _) => "the adapter",
                (Taken::ToAndFro, P) => "the processor with HDMA",
                (_, unit) => ["the processor", "HDMA", "NSDMA", "NRDMA"][unit],
            };
            format!("{unit} of node {}", server / OF_NODE)
        }
        Some(process) => {
            let end = ["sends", "receives"][process % 2];
            format!("the program that {end} on `{}`", experiment.channels[process / 2].name)
        }
    }
}

/// The cluster of `experiment` with units `taken` as one, if there is an analysis of it.
pub(crate) fn cluster(experiment: &Experiment, taken: Taken) -> Result<Cluster, Uncovered> {
    let spec = experiment.via.as_ref().ok_or(Uncovered("there are no virtual interfaces"))?;
    let ViaSpec { adapter, post: _, reap: _, latency: _, receives, credits, depth, renegotiations: _ } = spec;
    let ViaConfig { firmware, costs: _, engines: _, limits } = adapter;
    let Limits { send_buffers, receive_buffers, nsdma_queue, guard, best_effort, doorbells } = limits;
    let apart = *doorbells != Doorbells::Merged;
    if send_buffers.is_some() || receive_buffers.is_some() {
        return Err(Uncovered("no analysis covers waiting for room in an adapter's memory"));
    }
    if receives.is_some() {
        return Err(Uncovered("no analysis covers descriptors that are posted for each message"));
    }
    if credits.is_some() {
        return Err(Uncovered("no analysis covers waiting for credits"));
    }
    if *firmware == (Firmware::Sequential { overlap: true }) {
        return Err(Uncovered("no analysis covers a sequence that overlaps"));
    }
    let unbounded = |channel: &ChannelSpec| {
        channel.class == Class::BestEffort && !matches!(channel.source, SourceSpec::None)
    };
    if depth.is_none() && !apart && experiment.channels.iter().any(unbounded) {
        return Err(Uncovered(
            "best effort whose send queues have no end (`depth`) may keep an adapter's processor for ever",
        ));
    }
    let nodes = experiment.nodes.len();
    let mut servers = vec![Server::default(); nodes * OF_NODE + 2 * experiment.channels.len()];
    for node in 0..nodes {
        // A look that has begun just before what it would have found.
        let server = |unit| node * OF_NODE + unit;
        servers[server(P)].blocked = match apart {
            true => adapter.costs.poll * 4,
            false => adapter.costs.poll,
        };
        let in_software = if *nsdma_queue { *guard } else { 0 };
        let in_stamps = best_effort.is_some() && !apart;
        if *firmware == Firmware::QualityOfService && !in_stamps && !is_grouped(experiment) {
            for (unit, stay) in [(H, *guard), (N, in_software)] {
                let alone = taken.unit(unit) == unit && taken != Taken::Whole;
                servers[server(unit)].urgent_first = alone.then_some(stay);
                // Of all that waits where units are one.
                servers[server(taken.unit(unit))].urgent_passed = Some(*guard);
            }
        }
        if apart && taken == Taken::Apart {
            for unit in [P, R] {
                servers[server(unit)].urgent_first = Some(0);
                servers[server(unit)].urgent_passed = Some(0);
            }
        }
    }
    let units = (0..nodes * OF_NODE).map(|s| s - s % OF_NODE + taken.unit(s % OF_NODE));
    let servers_of: Vec<usize> = units.chain(nodes * OF_NODE..servers.len()).collect();
    let paths = (0..experiment.channels.len()).map(|i| path(experiment, spec, i, taken).through(&servers_of));
    // Taken as one, units have all of best effort in some order anyhow.
    let shared = match best_effort.filter(|_| apart && taken == Taken::Apart) {
        Some(rate) => (0..nodes).flat_map(|node| shared::at(experiment, spec, node, rate)).collect(),
        None => Vec::new(),
    };
    Ok(Cluster { servers, paths: paths.collect(), shared })
}

/// The stages of a message, as they are put together.
#[derive(Default)]
struct Builder {
    stages: Vec<Stage>,
    critical: Vec<usize>,
}

impl Builder {
    /// A request after stage `parent`, that costs `least` to `most`.
    fn then(&mut self, parent: Option<usize>, server: usize, (least, most): (Span, Span)) -> Option<usize> {
        self.stages.push(Stage { server, least, most, parent, scans: Vec::new() });
        Some(self.stages.len() - 1)
    }

    /// The same, on the way to the receiver.
    fn on_way(&mut self, parent: Option<usize>, server: usize, cost: (Span, Span)) -> Option<usize> {
        let stage = self.then(parent, server, cost);
        self.critical.extend(stage);
        stage
    }

    /// Stage `stage` passes what waits at `queue`.
    fn scans(&mut self, stage: Option<usize>, queue: usize, each: Span) {
        if let Some(stage) = stage.filter(|_| !each.is_zero()) {
            self.stages[stage].scans.push((queue, each));
        }
    }
}

/// What steps take for messages of a size.
struct Costs<'a> {
    costs: &'a FirmwareCosts,
    /// A round of looks.
    round: Span,
}

impl Costs<'_> {
    /// The longest from the end of a message on the network until the processor has programmed the next, where it has to: it handles at
    /// most one doorbell, one thing of HDMA's and one arrival before.
    fn notice(&self, size: Bytes) -> Span {
        let costs = self.costs;
        let program = self.program(size);
        let transferred =
            [program, costs.queue.saturating_add(costs.start), costs.status, costs.finish, costs.note];
        let transferred = transferred.into_iter().max().unwrap_or_default();
        // Each of the three with its look, a look in vain, and that at NSDMA.
        let looks = costs.poll.saturating_mul(5);
        [costs.doorbell.max(costs.note), transferred, program.max(costs.note), costs.start, looks]
            .into_iter()
            .fold(Span::ZERO, Span::saturating_add)
    }

    /// The same where the processor handles that before anything else that it finds: what it has in hand, looks in vain, and a round that finds it.
    fn notice_first(&self, size: Bytes) -> Span {
        let costs = self.costs;
        let program = self.program(size);
        let others = [costs.doorbell, costs.note, costs.queue.saturating_add(costs.start), costs.finish];
        let status = costs.start.saturating_add(costs.status);
        let hand = others.into_iter().fold(program.max(status), Span::max);
        [hand, costs.start, self.round * 3].into_iter().fold(Span::ZERO, Span::saturating_add)
    }

    /// What the processor takes for something: a look at it and its handling, or all the looks until then.
    fn handling(&self, takes: Span) -> (Span, Span) {
        (takes, takes.saturating_add(self.round))
    }

    fn program(&self, size: Bytes) -> Span {
        self.costs.data.saturating_add(self.costs.further(size))
    }
}

/// The smallest message of a channel's contract; a byte where its source has larger ones than that allows, which go in pieces.
fn smallest(channel: &ChannelSpec) -> Bytes {
    let TrafficSpec { max_message, min_message, .. } = channel.spec;
    let of = |sizes: Sizes| match sizes {
        Sizes::Fixed(size) => Some(size),
        Sizes::Uniform { most, .. } => Some(most),
    };
    let largest = match &channel.source {
        SourceSpec::None => Some(max_message),
        SourceSpec::Continuous(sizes)
        | SourceSpec::Closed { sizes, .. }
        | SourceSpec::Rounds { sizes, .. } => of(*sizes),
        SourceSpec::Timed { parameters, .. } => match parameters {
            SourceParameters::Periodic(periodic) => of(periodic.sizes),
            SourceParameters::Bursty(bursty) => of(bursty.sizes),
            SourceParameters::Poisson(poisson) => of(poisson.sizes),
            SourceParameters::Script(script) => {
                script.messages.iter().map(|message| message.size).max().or(Some(min_message))
            }
            SourceParameters::Adversary(_) | SourceParameters::Recorded(_) => None,
        },
    };
    if largest.is_some_and(|largest| largest <= max_message) { min_message } else { Bytes::new(1) }
}

fn least_of(stages: &[Stage], which: &[usize]) -> Span {
    which.iter().fold(Span::ZERO, |sum, k| sum.saturating_add(stages[*k].least))
}

fn between(least: Span, most: Span) -> (Span, Span) {
    (least.min(most), most)
}

/// What a message asks for, all the way.
struct Way {
    stages: Vec<Stage>,
    critical: Vec<usize>,
    /// So many of them are on the sender's side.
    sending: usize,
    /// The least from its doorbell to its completion.
    turn: Span,
    /// How much of the wire's time passes with NSDMA.
    wire_begins: Span,
    /// The least that its transmission takes.
    transmission: Span,
}

fn way(experiment: &Experiment, spec: &ViaSpec, i: usize, taken: Taken) -> Way {
    let channel = &experiment.channels[i];
    let ViaConfig { firmware, costs, engines, limits } = &spec.adapter;
    let (from, to) = (channel.route[0] * OF_NODE, channel.route[1] * OF_NODE);
    let process = experiment.nodes.len() * OF_NODE + 2 * i;
    // Whoever answers is who has received.
    let receiver = match channel.source {
        SourceSpec::Rounds { after, .. } => experiment.nodes.len() * OF_NODE + 2 * after,
        _ => process + 1,
    };
    let (most, least) = (channel.spec.max_message, smallest(channel));
    let largest = experiment.channels.iter().map(|channel| channel.spec.max_message).max().unwrap_or(most);
    let round = costs.poll * if matches!(firmware, Firmware::Sequential { .. }) { 2 } else { 4 };
    let of = Costs { costs, round };
    let apart = limits.doorbells != Doorbells::Merged;
    let exactly = |span: Span| (span, span);
    let network = between(engines.network.takes(least), engines.network.takes(most));
    let down = between(engines.down.takes(least), engines.down.takes(most));
    let up = between(engines.up.takes(least), engines.up.takes(most));
    let program = between(of.program(least), of.program(most));
    let programming = (program.0, program.1.saturating_add(round));
    let scan = if *firmware == Firmware::QualityOfService { costs.scan } else { Span::ZERO };
    let mut path = Builder::default();
    let posted = path.on_way(None, process, exactly(spec.post));
    // What leads to N and what is left when it is done; what the processor does for it, whatever waits.
    // The least from a doorbell to the completion: what the sender does for it, one thing after the other.
    let (departure, wire_begins, turn) = match firmware {
        Firmware::Sequential { .. } => {
            let until_begun = |size: Bytes| {
                [
                    costs.doorbell,
                    engines.descriptor,
                    of.program(size),
                    engines.down.takes(size),
                    costs.queue,
                    costs.start,
                ]
                .into_iter()
                .fold(Span::ZERO, Span::saturating_add)
            };
            let rest = [engines.network.takes(most), costs.status, engines.status, costs.finish, round];
            let all = rest.into_iter().fold(until_begun(most), Span::saturating_add);
            // The message is on its way before the end, and no earlier than NSDMA can begin with it.
            let sent = path.on_way(posted, from + P, (until_begun(least), all));
            path.then(sent, process, exactly(spec.reap));
            let until_sent = [network.0, costs.status, engines.status];
            (sent, Span::ZERO, until_sent.into_iter().fold(until_begun(least), Span::saturating_add))
        }
        Firmware::Parallel | Firmware::QualityOfService => {
            // Who is in a group waits outside once its doorbell is noted.
            let noted = match channel.group {
                Some(_) => path.on_way(posted, from + P, of.handling(costs.note)),
                None => posted,
            };
            let rung = path.on_way(noted, from + P, of.handling(costs.doorbell));
            path.scans(rung, from + H, scan);
            let described = path.on_way(rung, from + H, exactly(engines.descriptor));
            let programmed = path.on_way(described, from + P, programming);
            path.scans(programmed, from + H, scan);
            let fetched = path.on_way(programmed, from + H, down);
            let queue = costs.queue.saturating_add(costs.start);
            let queued = path.on_way(fetched, from + P, (costs.queue, queue.saturating_add(round)));
            path.scans(queued, from + N, scan);
            // Where P and N are one, what P does meanwhile is counted.
            let stands = !limits.nsdma_queue && taken != Taken::Whole;
            let notice = match (stands, apart) {
                (true, true) => of.notice_first(largest),
                (true, false) => of.notice(largest),
                (false, _) => Span::ZERO,
            };
            let sent = path.on_way(queued, from + N, (network.0, network.1.saturating_add(notice)));
            if stands && let Some(sent) = sent.filter(|_| !scan.is_zero()) {
                // A doorbell, a request of HDMA's and an arrival may each look for a place in HDMA's queue before, or for one in NSDMA's.
                let most = if apart { 1 } else { 3 };
                path.stages[sent].scans = vec![(from + H, scan * most), (from + N, scan)];
            }
            if apart && stands {
                // Somebody else's message may have to be seen off first.
                let others = costs.status.saturating_add(costs.start).saturating_add(round);
                let off = path.then(queued, from + P, (Span::ZERO, others));
                path.scans(off, from + H, scan);
            }
            // The next is started in the same visit.
            let after = costs.status.saturating_add(costs.start).saturating_add(round);
            let noticed = path.then(sent, from + P, (costs.status, after));
            path.scans(noticed, from + H, scan);
            let told = path.then(noticed, from + H, exactly(engines.status));
            let until_told: Vec<usize> = (1..path.stages.len()).collect();
            let turn = least_of(&path.stages, &until_told);
            path.then(told, from + P, of.handling(costs.finish));
            path.then(told, process, exactly(spec.reap));
            if limits.best_effort.is_some()
                && !apart
                && channel.class == Class::BestEffort
                && channel.group.is_none()
            {
                // It is noted before, and waits outside.
                path.then(posted, from + P, of.handling(costs.note));
            }
            // It begins at the latest when all that it may wait for is over but its own transmission; and what comes after that, before the next.
            let after = if apart { notice } else { Span::ZERO };
            (sent, network.0.saturating_add(after), turn)
        }
    };
    let sending = path.stages.len();
    // The first bit comes when NSDMA begins, so what comes in lumps there does so here.
    let arrived = path.on_way(departure, to + R, network);
    let received = match firmware {
        Firmware::Sequential { .. } => {
            let sequence = |size: Bytes| {
                [engines.descriptor, engines.up.takes(size), engines.status]
                    .into_iter()
                    .fold(of.program(size), Span::saturating_add)
                    .saturating_add(costs.doorbell)
                    .saturating_add(costs.status)
            };
            let all = sequence(most).saturating_add(costs.finish).saturating_add(round);
            path.on_way(arrived, to + P, (sequence(least), all))
        }
        Firmware::Parallel | Firmware::QualityOfService => {
            let programmed = path.on_way(arrived, to + P, programming);
            path.scans(programmed, to + H, scan);
            let moved = path.on_way(programmed, to + H, up);
            let noticed = path.on_way(moved, to + P, of.handling(costs.status));
            path.scans(noticed, to + H, scan);
            let told = path.on_way(noticed, to + H, exactly(engines.status));
            path.then(told, to + P, of.handling(costs.finish));
            told
        }
    };
    path.on_way(received, receiver, exactly(spec.reap));
    Way { stages: path.stages, critical: path.critical, sending, turn, wire_begins, transmission: network.0 }
}

fn path(experiment: &Experiment, spec: &ViaSpec, i: usize, taken: Taken) -> Path {
    let channel = &experiment.channels[i];
    let ViaConfig { firmware, costs: _, engines: _, limits } = &spec.adapter;
    let apart = limits.doorbells != Doorbells::Merged;
    let Way { mut stages, critical, sending, turn, wire_begins, transmission } =
        way(experiment, spec, i, taken);
    let slots = match channel.class {
        // Whatever is negotiated when, no two come closer than the largest bandwidth has it.
        Class::RealTime => Slots { count: 1, interval: spec.least_interval(i, channel) },
        Class::BestEffort => {
            let silent = matches!(channel.source, SourceSpec::None);
            let depth = if silent { 0 } else { spec.depth.unwrap_or(0) };
            // Where processes are told apart, how long what comes in turn waits is asked by nobody.
            // Whatever holds it up, no two of a place pass within a turn: nothing comes in lumps on this side.
            let alone = if apart { stages.len() } else { sending + 1 };
            for stage in &mut stages[..alone] {
                stage.parent = None;
            }
            match apart && !silent {
                true => Slots::ENDLESS,
                false => Slots { count: u64::from(depth), interval: turn.max(Span::from_ns(1)) },
            }
        }
    };
    let shortest = least_of(&stages, &critical);
    let shortest = match firmware {
        Firmware::Sequential { .. } => shortest,
        // The transmission is NSDMA's and NRDMA's at once.
        Firmware::Parallel | Firmware::QualityOfService => shortest.saturating_sub(transmission),
    };
    let played = channel.playout.map_or(Span::ZERO, |playout| playout.saturating_add(spec.reap));
    Path {
        flow: Flow { slots, urgent: channel.class == Class::RealTime, stages },
        critical,
        wire: spec.latency,
        taken_back: wire_begins,
        shortest: shortest.saturating_add(spec.latency).max(played),
        playout: channel.playout,
        early: apart.then(|| (0, spec.least_interval(i, channel))),
    }
}
