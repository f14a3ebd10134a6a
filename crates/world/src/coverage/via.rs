//! Clusters of virtual interfaces that have bounds, and the requests that their messages make.
//!
//! The analysis is `laxity_admission::holistic`. This module argues why an adapter
//! ([`laxity_model::via`]) is four of its servers, a processor `P`, HDMA `H`, NSDMA `N` and NRDMA
//! `R`, beside a process for each end of a virtual interface. A message makes these requests:
//!
//! ```text
//!  program    post
//!  sender     P doorbell ▸ H descriptor ▸ P program ▸ H data ▸ P hand over ▸ N ▸ (P status ▸ H status ▸ P finish, program)
//!  receiver   R ▸ P program ▸ H data ▸ P status ▸ H status ▸ (P finish) ▸ program
//! ```
//!
//! * **P** is never idle while an event is unnoticed: it handles an event, or polls. Less than a
//!   round of polls lies between two events that it handles, and before the first. So each event is
//!   charged its handling and a round of polls, and an insertion into a queue is charged a pass
//!   over all that may wait there. P notices events of a unit in the order of their arrival, and
//!   units in turn, which is some order.
//! * **H** takes the next request when it is done with one, in the order of arrival, or under
//!   QoSVIA by stamps. By stamps every request with a bandwidth goes before every one without, of
//!   which the stamp is ∞, except for the `guard` at the head, which keeps its order. Where best
//!   effort has a reserved rate it has stamps too, and the order is some order. N's queue, in
//!   software or hardware, is alike.
//! * **N** has a hardware queue and works like H; or it has none, and stands still from the end of
//!   a message until P has noticed that and programmed the next. In between P handles at most one
//!   event of each other unit, as units have turns: each message keeps N for the longest of those,
//!   too.
//! * **R** takes the next message when it has one.
//!
//! * **Units as one.** While an adapter has a message one of its units works, or P polls. So `P`
//!   and `H`, or all of a node, are also analysed as one server ([`Taken`]), and a channel is
//!   promised the least of the bounds.
//!
//! * **Groups** keep a noted doorbell outside until the rate of all groups admits it, or HDMA is
//!   idle. In between HDMA works, so as one server (`P` and `H`, or all) the adapter still works
//!   while a message waits, in some order; as separate servers it may not.
//!
//! * **Doorbells told apart** ([`Doorbells::Apart`]): P polls all units before it handles an event,
//!   and handles events with a bandwidth first; R does so too, where messages in the network have
//!   lanes. Then messages with a bandwidth go before those without at each of the four servers,
//!   whatever the load: endless best effort is only the one event in progress. A message admitted
//!   by turns has the stamp ∞. A doorbell of a channel that keeps its contract is within its
//!   bandwidth when it is rung, if its program is at most an interval late, which is checked on the
//!   result ([`Path::early`]). P notices that N stands still before all else where a message with a
//!   bandwidth waits for N. So N stands still for one event that P has in progress, and P sees off
//!   one message of others for each such event. A path through these servers is also analysed as a
//!   whole ([`laxity_admission::holistic::along`]).
//!
//! With a *reserved rate* there ([`ViLimits::best_effort`]) best effort is one more flow with a
//! bandwidth, in each direction (`shared.rs`). The clock of an adapter stamps doorbells no closer
//! than one message's time at that rate, and arrived messages likewise; from then on these messages
//! go first everywhere. Before its stamp a message delays no other, and the responses of the units
//! on its path bound how late a stamp is used.
//!
//! *Programs that exceed their contract* do not occur here: a program with a promise holds a
//! message until its logical arrival, and a refused one is not connected. A program at an emulated
//! adapter may, and this module promises no bound beside it. Its effect is still known, and
//! `emulator/tests/suite/via/beside.rs` holds adapters to it. At the sender it has two stamps at
//! once and then one in each interval, since a stamp is given when its clock is an interval ahead
//! at most. At the receiver arrive its messages with stamps, as they are, and those without, when
//! its clock has reached the present. Let the last of those be stamped at `p` in a window from `s`
//! to `t`. They are no more than one and one in each interval until `p`, and then those stamped at
//! the sender, two and one in each interval, each as late as possible. A message behind one without
//! a stamp is treated like it, so these three are all. A stamp takes the processor's time once for
//! each message that was admitted without one.
//!
//! Under **SVIA** P gets one request for the whole message at a side, its transfers included, since
//! it waits for each.
//!
//! *Message distances.* A channel with a promise posts no sooner than its contract allows: its
//! program holds a message until its logical arrival. Best effort is bounded if its send queues are
//! finite (`depth`). A descriptor is posted where another has completed, so two messages of one
//! slot pass any point on the sender's side at least the shortest time from doorbell to completion
//! apart. With an infinite queue endless doorbells keep the processor busy, since doorbells are
//! noticed in the order in which they are rung.
//!
//! *A program that answers* its messages (`rounds`) is one server for both.
//!
//! **Delay** runs from the logical arrival until the receiving program has the message: the
//! responses on the path, that of N without the message's own transmission, as the receiver has its
//! first bit when it begins. **Jitter**: messages sent `I` apart are received at most `I` and the
//! longest delay less the shortest apart, and θ is at most that difference over `I`.
//!
//! *Played out* ([`ChannelSpec::playout`]): a message waits in its program's memory until that time
//! after its logical arrival, delays no other message, and is then seen. Its delay is the longer of
//! two: its delay without playout, and the playout with the response of the program, where messages
//! arrive no less evenly than without. If the first is no longer than the playout, the delay does
//! not depend on the path: the shortest and the longest differ by the program's work in between.

use laxity_admission::holistic::{ArrivalSlots, HolisticFlow, HolisticServer};
use laxity_model::via::{Doorbells, Firmware, ViLimits, ViaConfig};
use laxity_qos::discipline::Class;
use laxity_units::Span;

mod shared;
mod unit;
mod way;

use super::reason::Uncovered;
pub(crate) use unit::Taken;
use unit::{H, N, OF_NODE, P, R};
use way::{Way, least_of, way};

use crate::experiment::{ChannelSpec, Experiment, SourceSpec, ViaSpec};

/// A virtual interface as the analysis sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    /// Its requests.
    pub(crate) flow: HolisticFlow,
    /// Those of its stages that its message waits for one after the other.
    pub(crate) critical: Vec<usize>,
    /// The fixed part beside them: the wire; the transmission is subtracted again.
    pub(crate) wire: Span,
    pub(crate) taken_back: Span,
    /// The shortest delay.
    pub(crate) shortest: Span,
    /// How long after it was sent it may be seen at the earliest.
    pub(crate) playout: Option<Span>,
    /// If doorbells are told apart: the stage after which its doorbell is rung, and the largest
    /// lateness beyond the least that still keeps its contract there.
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
    pub(crate) servers: Vec<HolisticServer>,
    /// Per channel.
    pub(crate) paths: Vec<Path>,
    /// Best effort with a rate reserved for all of it at an adapter, where processes are told
    /// apart.
    pub(crate) shared: Vec<HolisticFlow>,
}

/// The name of server `server`.
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

/// The cluster `spec` of `experiment` with units `taken` as one, if there is an analysis of it;
/// `ordered` if it counts on messages with a bandwidth to go first.
pub(crate) fn cluster(
    (experiment, spec): (&Experiment, &ViaSpec),
    (taken, ordered): (Taken, bool),
) -> Result<Cluster, Uncovered> {
    let ViaSpec { adapter, post: _, reap: _, latency: _, receives, credits, depth, renegotiations: _ } = spec;
    let ViaConfig { firmware, costs: _, engines: _, limits } = adapter;
    let ViLimits { send_buffers, receive_buffers, nsdma_queue, guard, best_effort, doorbells } = limits;
    let apart = *doorbells != Doorbells::Merged;
    if send_buffers.is_some() || receive_buffers.is_some() {
        return Err(Uncovered::ViaMemory);
    }
    if receives.is_some() {
        return Err(Uncovered::ViaPosted);
    }
    if credits.is_some() {
        return Err(Uncovered::ViaCredits);
    }
    if *firmware == (Firmware::Sequential { overlap: true }) {
        return Err(Uncovered::ViaOverlap);
    }
    let unbounded = |channel: &ChannelSpec| {
        channel.class == Class::BestEffort && !matches!(channel.source, SourceSpec::None)
    };
    if depth.is_none() && !apart && experiment.channels.iter().any(unbounded) {
        return Err(Uncovered::ViaDepth);
    }
    let nodes = experiment.nodes.len();
    let mut servers = vec![HolisticServer::default(); nodes * OF_NODE + 2 * experiment.channels.len()];
    for node in 0..nodes {
        // A look that has begun just before what it would have found.
        let server = |unit| node * OF_NODE + unit;
        servers[server(P)].blocked = match apart {
            true => adapter.costs.poll * 4,
            false => adapter.costs.poll,
        };
        let in_software = if *nsdma_queue { *guard } else { 0 };
        let in_stamps = best_effort.is_some() && !apart;
        if *firmware == Firmware::QualityOfService && !in_stamps && ordered {
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
        // At all renegotiations the largest bandwidth bounds the distance of two messages.
        Class::RealTime => ArrivalSlots { count: 1, interval: spec.least_interval(i, channel) },
        Class::BestEffort => {
            let silent = matches!(channel.source, SourceSpec::None);
            let depth = if silent { 0 } else { spec.depth.unwrap_or(0) };
            // Where processes are told apart, the wait of requests in turn is not needed. Two
            // messages of one slot are at least a turn apart, so there are no bursts on this side.
            let alone = if apart { stages.len() } else { sending + 1 };
            for stage in &mut stages[..alone] {
                stage.parent = None;
            }
            match apart && !silent {
                true => ArrivalSlots::ENDLESS,
                false => ArrivalSlots { count: u64::from(depth), interval: turn.max(Span::from_ns(1)) },
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
        flow: HolisticFlow { slots, urgent: channel.class == Class::RealTime, stages },
        critical,
        wire: spec.latency,
        taken_back: wire_begins,
        shortest: shortest.saturating_add(spec.latency).max(played),
        playout: channel.playout,
        early: apart.then(|| (0, spec.least_interval(i, channel))),
    }
}
