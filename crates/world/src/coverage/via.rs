//! Which clusters of virtual interfaces have bounds, and the requests that their messages make.
//!
//! The analysis is `laxity_admission::holistic`; here is why an adapter ([`laxity_model::via`]) is four of its servers, a processor `P`, HDMA
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
//!   of others to see off for each that does. A way through these servers is looked at as a whole, too ([`laxity_admission::holistic::along`]).
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

use laxity_admission::holistic::{Flow, Server, Slots};
use laxity_model::via::{Doorbells, Firmware, Limits, ViaConfig};
use laxity_qos::discipline::Class;
use laxity_units::Span;

mod shared;
mod unit;
mod way;

use super::covered::Uncovered;
pub(crate) use unit::Taken;
use unit::{H, N, OF_NODE, P, R, is_grouped};
use way::{Way, least_of, way};

use crate::experiment::{ChannelSpec, Experiment, SourceSpec, ViaSpec};

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
