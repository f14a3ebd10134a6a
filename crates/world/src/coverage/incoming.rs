//! The receive side of an adapter, as the proofs see it: `laxity_admission::station::receive` has
//! the argument.
//!
//! A message counts as arrived at a host when its time at the station before and the longest path
//! delay have passed. The receive stages and the wait until the host is notified are part of that
//! delay. Incoming frames disturb outgoing ones where both need a resource; since each frame is
//! also one response that the host counts, it is charged there ([`Incoming::held`]).

use laxity_admission::station::{self, FrameMedium, FrameSource, Spacing};
use laxity_model::adapter::{
    Answers, Description, Moderation, Notification, Overload, Phase, ResponseQueue, Tells,
};
use laxity_qos::channel::{LinkConfig, LinkId, LinkParadigm};
use laxity_units::{Bytes, Span};

use super::medium::medium;
use super::reason::Uncovered;
use super::sources::{Sources, largest, sources_by};
use super::stage::{phase, served};
use crate::experiment::{AdapterSpec, Experiment};
use crate::traffic::senders::by_sender;

/// The receive side of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Incoming {
    /// How long after its last bit the host may hear of a frame.
    pub(crate) notice: Span,
    /// For how long a frame keeps what goes out from a resource.
    pub(crate) held: Span,
}

/// The receive side of an adapter, by the node and its link, or why its delay has no bound.
pub(crate) fn incoming(
    experiment: &Experiment,
    (node, link): (usize, LinkId),
) -> Result<Incoming, Uncovered> {
    let adapter = experiment.nodes.get(node).map(|_| experiment.adapter_of(node, link));
    let Some(AdapterSpec::Described(description)) = adapter else {
        return Ok(Incoming::default());
    };
    let sources = sources_by(experiment, node, link);
    if sources.is_empty() {
        return Ok(Incoming::default());
    }
    let waits = told(description, Answers::Received);
    let interface = &description.interface;
    let said = interface.responses.iter().filter(|queue| queue.answers != Answers::Sent);
    if said.clone().any(|queue| queue.slots.is_some() && queue.overload == Overload::Block) {
        return Err(Uncovered::IncomingRead);
    }
    if description.receive.is_empty() {
        return Ok(Incoming { notice: waits, ..Incoming::default() });
    }
    let longest = sources.values().map(|(_, most)| *most).max().unwrap_or(Bytes::ZERO);
    let row = row(experiment, node, description, sources)?;
    let stay = row.stay().map_err(|_| Uncovered::IncomingFast)?;
    let held = match medium(experiment, (node, link), description)? {
        // No outgoing packet waits for the resource.
        _ if only_receives(experiment, node) => Span::ZERO,
        FrameMedium::Own => row.holding(longest),
        // Where the token stays for what goes out, it stays for what that waits for.
        FrameMedium::Ring(turns) => turns.stretch(row.holding(longest)),
    };
    Ok(Incoming { notice: stay.saturating_add(waits), held })
}

/// Whether no packet leaves `node`, be it of a channel or of signalling.
fn only_receives(experiment: &Experiment, node: usize) -> bool {
    largest(experiment, node).is_zero() && experiment.signalling().is_none()
}

/// The stages on the receive path of frames from `sources`.
fn row(
    experiment: &Experiment,
    node: usize,
    description: &Description,
    sources: Sources,
) -> Result<station::Incoming, Uncovered> {
    let of = |((before, way), (smallest, largest)): ((usize, usize), (Bytes, Bytes))| {
        let pushed = experiment.networks[way].impairments.jitter;
        let senders = by_sender(experiment, node, (before, way)).map(|senders| senders.pushed(pushed));
        Ok(FrameSource { spacing: spacing(experiment, (before, way))?, smallest, largest, pushed, senders })
    };
    // The row has to be busy while anything is in it.
    let mut queues = description.receive.iter().flat_map(|stage| &stage.queues);
    if queues.any(|queue| queue.order.holds()) {
        return Err(Uncovered::IncomingHeld);
    }
    let (shared, held) = shared(description, largest(experiment, node))?;
    let held = if only_receives(experiment, node) { Span::ZERO } else { held };
    Ok(station::Incoming {
        stages: description.receive.iter().map(served).collect(),
        held,
        shared,
        sources: sources.into_iter().map(of).collect::<Result<_, Uncovered>>()?,
    })
}

/// Incoming frames at an adapter of stages, counted by (4) of `laxity_admission::station::receive`.
pub(crate) struct Frames {
    row: station::Incoming,
    /// For how long each is in the adapter.
    pub(crate) stay: Span,
    /// The longest time until the host is notified of a frame.
    pub(crate) told: Span,
}

impl Frames {
    /// For the adapter of a link of a node; `None` without stages, incoming frames, or a bound.
    pub(crate) fn of(
        experiment: &Experiment,
        (node, link): (usize, LinkId),
        description: &Description,
    ) -> Option<Self> {
        let sources = sources_by(experiment, node, link);
        let row = row(experiment, node, description, sources).ok()?;
        let stay = row.stay().ok()?;
        Some(Self { row, stay, told: told(description, Answers::Received) })
    }

    /// How many wait before the first stage.
    pub(crate) fn before_the_first(&self) -> Option<u64> {
        self.row.before_the_first(self.stay)
    }

    /// The number of frames that arrive within `span`.
    pub(crate) fn within(&self, span: Span) -> Option<u64> {
        self.row.within(span)
    }

    /// How many `host` has not served, of what came in.
    pub(crate) fn unserved(&self, host: &station::NotifiedHost) -> Option<u64> {
        self.row.unserved(host)
    }
}

/// Per station, the longest time from a frame's last bit until the station notices it; zero where
/// that is not known.
pub(crate) fn notices(experiment: &Experiment) -> Vec<Span> {
    (0..experiment.stations()).map(|station| notice(experiment, station)).collect()
}

/// The same of one.
pub(crate) fn notice(experiment: &Experiment, station: usize) -> Span {
    if station >= experiment.nodes.len() {
        return Span::ZERO;
    }
    let by = |link| incoming(experiment, (station, link)).map_or(Span::ZERO, |incoming| incoming.notice);
    experiment.links_of(station).map(by).max().unwrap_or_default()
}

/// The longest time until the host is notified of responses of this kind.
pub(super) fn told(description: &Description, what: Answers) -> Span {
    let interface = &description.interface;
    let about = |queue: &&ResponseQueue| queue.answers == Answers::All || queue.answers == what;
    let waits = |queue: &ResponseQueue| {
        let Moderation { frames: _, delay, interval } = queue.moderation;
        delay.max(interval)
    };
    match interface.notification {
        // One that was written before the last interrupt was announced by it, so the next is that
        // much later at most.
        Notification::Interrupt => {
            interface.responses.iter().filter(about).map(waits).max().unwrap_or_default()
        }
        polls @ Notification::Poll(_) => hears(polls),
    }
}

/// Resources that both ways want, and for how long at most what goes out has one of them, if its
/// packets have up to `largest`.
fn shared(description: &Description, largest: Bytes) -> Result<(Vec<usize>, Span), Uncovered> {
    let comes_in = || description.receive.iter().flat_map(|stage| &stage.phases);
    let goes_out =
        || description.transmit.iter().flat_map(|stage| stage.phases.iter().map(move |phase| (stage, phase)));
    if comes_in().any(|phase| phase.tells != Tells::Nothing) {
        return Err(Uncovered::IncomingAnnounced);
    }
    let both = |r: &usize| goes_out().any(|(_, phase)| phase.holds.contains(r));
    let (mut shared, mut longest) = (Vec::new(), Span::ZERO);
    for phase in comes_in().filter(|phase| phase.holds.iter().any(both)) {
        let [resource] = phase.holds[..] else {
            return Err(Uncovered::IncomingSeveral);
        };
        for (stage, other) in goes_out().filter(|(_, other)| other.holds.contains(&resource)) {
            if other.medium {
                return Err(Uncovered::IncomingMedium);
            }
            if other.priority < phase.priority {
                return Err(Uncovered::IncomingAfter);
            }
            let each = other.delay.of(other.up_to.map_or(largest, |most| most.min(largest)));
            longest = longest.max(each.saturating_mul(u64::from(stage.batch)));
        }
        shared.push(resource);
    }
    Ok((shared, longest))
}

/// The least distance of frames of at least `size` and at most `largest` that leave a station over
/// a network; zero if it is not known.
pub(crate) fn frames_apart(
    experiment: &Experiment,
    from: (usize, usize),
    (size, largest): (Bytes, Bytes),
) -> Span {
    let source =
        |spacing| FrameSource { spacing, smallest: size, largest, pushed: Span::ZERO, senders: None };
    spacing(experiment, from).map_or(Span::ZERO, |spacing| source(spacing).apart())
}

/// The least time of a frame on the link from `before` to a network.
fn spacing(experiment: &Experiment, (before, network): (usize, usize)) -> Result<Spacing, Uncovered> {
    let link = experiment.link_to(before, network);
    if let Some(link) = experiment.link(before, link) {
        return Ok(Spacing::Link(link));
    }
    let AdapterSpec::Described(description) = experiment.adapter_of(before, link) else {
        return Err(Uncovered::IncomingClose);
    };
    let phases: Vec<_> = description.transmit.iter().flat_map(|stage| &stage.phases).collect();
    let on_medium = phases.iter().position(|phase| phase.medium);
    let LinkConfig { paradigm, depth, .. } = experiment.host(before).subsystem.link;
    // The next is handed over when the one before is complete.
    let alone = depth == 1 && paradigm != LinkParadigm::Adapter;
    let of = |phases: &[&Phase]| station::StationStage {
        phases: phases.iter().map(|of| phase(of)).collect(),
        ..station::StationStage::default()
    };
    let stage = match (on_medium, description.transmit.last()) {
        (last, _) if alone => of(&phases[..last.map_or(phases.len(), |last| last + 1)]),
        (Some(medium), _) => of(&phases[medium..=medium]),
        (None, Some(last)) if last.servers == 1 && last.batch == 1 => served(last),
        _ => return Err(Uncovered::IncomingClose),
    };
    Ok(Spacing::Stage(stage))
}

/// How long the host may not have looked for responses.
fn hears(notification: Notification) -> Span {
    match notification {
        Notification::Interrupt => Span::ZERO,
        Notification::Poll(period) => period,
    }
}
