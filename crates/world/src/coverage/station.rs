//! Which described adapters have a bound, and as what the proof sees them.
//!
//! The proof is `laxity_qos::station::window`. With one packet in the adapter at a time hardly anything of a description can
//! break it. With several, packets may pass each other, be lost for want of room, or be kept from being fetched, and each of
//! those is either shown not to matter or has no bound.

use std::sync::Arc;

use laxity_model::adapter::{
    Buffers, Description, Interface, Notification, Overload, Phase, Pool, Queue, Selection, Stage, Takes,
    Tells,
};
use laxity_model::network::TokenRingParameters;
use laxity_qos::admission::ResourceModel;
use laxity_qos::channel::{LinkConfig, MessageOverflow, Order, PacketOverflow};
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::{Class, Tag};
use laxity_qos::station::{self, Behind, Closed, Link, Medium, Open, Overtaking, Station, Turns};
use laxity_units::{Bytes, Span, Time};

use super::{Covered, Uncovered};
use crate::experiment::{Adapter, ChannelSpec, Experiment, Host, MediumSpec, Network, Task};

/// What analysis covers `node`, whose adapter is described and whose host goes by `host`: with packets in a window, or, where the
/// host's link queue is always empty, with each packet as it is made; if both do, by what promises more.
pub(super) fn covered(
    experiment: &Experiment,
    node: usize,
    description: &Description,
    host: &Covered,
) -> Result<Covered, Uncovered> {
    let LinkConfig { paradigm: _, order: _, early, depth } = experiment.host(node).subsystem.link;
    let held = early.horizon.is_zero();
    let at_once = |nothing_early: bool| {
        let window = Window { depth: u32::MAX, by_level: host.by_level, nothing_early };
        let (open, ranked) = open(experiment, node, description, window)?;
        let levels = if ranked { host.levels } else { Some(1) };
        let link = Link::Open(Arc::new(open));
        Ok(Covered { model: ResourceModel::Handed, link, levels, ..host.clone() })
    };
    let most = under_way(experiment, node, depth);
    if host.model == ResourceModel::Handed {
        if depth < u32::MAX && most == depth {
            return Err(Uncovered("packets that the adapter schedules wait for a window before that"));
        }
        return at_once(!host.ahead);
    }
    let window = Window { depth: most, by_level: host.by_level, nothing_early: held };
    let behind = behind(experiment, node, description, window).map(|behind| Link::Behind(Arc::new(behind)));
    let behind = behind.map(|link| Covered { link, depth: most, ..host.clone() });
    if host.model != ResourceModel::O1 || window.depth == depth {
        return behind;
    }
    let largest = largest(experiment, node);
    let once = |link: &Link, packets: u32| {
        let once = link.once().iter().fold(Span::ZERO, |sum, term| sum.saturating_add(term.cost));
        once.saturating_add(link.transmit(largest).saturating_mul(u64::from(packets)))
    };
    match (behind, at_once(held || !host.ahead)) {
        (Ok(behind), Ok(open)) if once(&behind.link, window.depth) <= once(&open.link, 0) => Ok(behind),
        (_, Ok(open)) => Ok(open),
        (behind, Err(_)) => behind,
    }
}

/// Packets that are under way at `node`, at most: `depth`, or as many as there are buffers for, each having one until it is complete.
fn under_way(experiment: &Experiment, node: usize, depth: u32) -> u32 {
    if let Task::Fill(_) = experiment.task {
        // Copies have buffers of their own, and nobody knows yet how many there will be.
        return depth;
    }
    let mut all = 0u64;
    for channel in &experiment.channels {
        match channel.hop(node) {
            Some(0) if channel.packet_overflow != PacketOverflow::DecayDeadline => {
                let lanes = 1 + u64::from(channel.message_overflow == MessageOverflow::BestEffort);
                all = all.saturating_add(channel.packet_slots.saturating_mul(lanes));
            }
            None => {}
            _ => return depth,
        }
    }
    // With room for all, nothing ever waits for the window.
    if all < u64::from(depth) { all.max(1) as u32 } else { depth }
}

/// An adapter that has each packet at once, and whether it goes by the same order as the host, not just by class.
fn open(
    experiment: &Experiment,
    node: usize,
    description: &Description,
    window: Window,
) -> Result<(Open, bool), Uncovered> {
    if experiment.host(node).driver.reset_after.is_some() {
        return Err(Uncovered("the driver resets the adapter while it does what it was given"));
    }
    if !window.nothing_early {
        return Err(Uncovered("a queue in the adapter takes what is ahead of its time for urgent"));
    }
    let (station, _) = row(experiment, node, description, window)?;
    let best_effort = experiment.channels.iter().any(|channel| {
        let excess = channel.message_overflow == MessageOverflow::BestEffort;
        channel.senders().contains(&node) && (channel.class == Class::BestEffort || excess)
    });
    let (last, before) = description.transmit.split_last().ok_or(Uncovered("an adapter without stages"))?;
    let prefetched = station.stages.last().is_some_and(|stage| stage.places.is_some());
    if prefetched && last.queues.len() > 1 {
        return Err(Uncovered("no analysis covers a prefetch into several queues"));
    }
    let alone = if prefetched { None } else { Some(last) };
    let mut ranked = true;
    for stage in before.iter().chain(alone) {
        let (lines, real_time, best) = lines(stage)?;
        let fifo = lines[real_time].order == Order::Fifo;
        if fifo && real_time == best && best_effort {
            return Err(Uncovered("best effort may fill the adapter's queue before whoever has a deadline"));
        }
        ranked &= !fifo;
    }
    let open = Open::new(station, largest(experiment, node)).map_err(|closed| {
        Uncovered(match closed {
            Closed::NoRoom => {
                "without a window, packets wait for room in the adapter in the order in which they come"
            }
            Closed::Entangled => {
                "without a window, stages before the last that hold each other up have no bound"
            }
            Closed::Talkative => {
                "without a window, no analysis covers what tells the host of more than completions"
            }
            Closed::Token => "the token leaves while the adapter has frames for it",
        })
    })?;
    Ok((open, ranked))
}

/// The queues of `stage` in the order of their priority, and which are real time's and best effort's.
fn lines(stage: &Stage) -> Result<(Vec<&Queue>, usize, usize), Uncovered> {
    let mut lines: Vec<&Queue> = stage.queues.iter().collect();
    lines.sort_by_key(|queue| queue.priority);
    let of = |class| lines.iter().position(|queue| queue.takes.admits(&tag(class)));
    match (of(Class::RealTime), of(Class::BestEffort)) {
        (Some(real_time), Some(best_effort)) => Ok((lines, real_time, best_effort)),
        _ => Err(Uncovered("a class has no queue")),
    }
}

/// What is behind the link scheduler of `node`, with so many packets under way.
fn behind(
    experiment: &Experiment,
    node: usize,
    description: &Description,
    window: Window,
) -> Result<Behind, Uncovered> {
    let (mut station, order) = row(experiment, node, description, window)?;
    station.buffers = window.buffers(&description.transmit_buffers, order)?;
    if order == Allowed::Urgent && station.stages[0].places.is_some() {
        return Err(Uncovered("best effort that is fetched first takes the buffers of what is urgent"));
    }
    let largest = largest(experiment, node);
    let behind = Behind::new(station, window.depth, largest);
    patient(experiment.host(node), &behind, largest)?;
    Ok(behind)
}

/// The stages of `node` as the proofs see them, and who may overtake whom.
fn row(
    experiment: &Experiment,
    node: usize,
    description: &Description,
    window: Window,
) -> Result<(Station, Allowed), Uncovered> {
    let comes_in = |channel: &ChannelSpec| channel.hop(node).is_some_and(|hop| hop > 0);
    let Description {
        interface,
        resources: _,
        transmit,
        receive,
        transmit_buffers,
        receive_buffers: _,
        link,
    } = description;
    // See `Window::commands` for the queues.
    let Interface { queues: _, selection: _, doorbell, poll, notification, responses: _ } = interface;
    plain(description)?;
    if !doorbell.is_zero() {
        return Err(Uncovered("no analysis covers a doorbell that is heard late"));
    }
    if !interface.answers_plainly() {
        return Err(Uncovered("no analysis covers moderated interrupts, or responses that wait for room"));
    }
    // A frame that passes no stage is at the host at once, and has given its buffer back.
    if !receive.is_empty() && experiment.channels.iter().any(comes_in) {
        return Err(Uncovered("no analysis covers what an adapter does with the frames that it receives"));
    }
    let mut order = window.commands(description)?;
    let mut stages = Vec::new();
    for stage in transmit {
        let (overtaking, mut stage) = window.stage(stage)?;
        stage.phases.iter_mut().filter(|phase| phase.medium).for_each(|phase| slowed(phase, *link));
        order = order.max(overtaking);
        stages.push(stage);
    }
    let station = Station {
        stages,
        looks: poll.unwrap_or(Span::ZERO),
        hears: hears(*notification),
        buffers: window.limit(transmit_buffers),
        order: match order {
            Allowed::Never => Overtaking::Never,
            Allowed::Urgent => Overtaking::Urgent,
        },
        medium: medium(experiment, node, description)?,
    };
    Ok((station, order))
}

/// Refuses what tells packets apart by more than their class, and what serves several together.
fn plain(description: &Description) -> Result<(), Uncovered> {
    let stages = || description.transmit.iter().chain(&description.receive);
    let queues = || stages().flat_map(|stage| &stage.queues);
    let commands = &description.interface.queues;
    let takes = commands.iter().map(|queue| queue.takes).chain(queues().map(|queue| queue.takes));
    if takes.into_iter().any(|takes| matches!(takes, Takes::Levels(..))) {
        return Err(Uncovered("no analysis covers queues that packets choose by their level"));
    }
    if commands.iter().any(|queue| queue.spread > 1) || queues().any(|queue| queue.spread > 1) {
        return Err(Uncovered("no analysis covers queues that packets choose by their flow"));
    }
    if stages().any(|stage| stage.batch > 1) {
        return Err(Uncovered("no analysis covers packets that an adapter serves together"));
    }
    if stages().flat_map(|stage| &stage.phases).any(|phase| phase.takes != Takes::All) {
        return Err(Uncovered("no analysis covers work that only some packets are"));
    }
    Ok(())
}

/// A frame takes what the slower of adapter and link takes; both together in each of their terms is no less.
fn slowed(phase: &mut station::Phase, link: LinkCosts) {
    let delay = &mut phase.delay;
    delay.fixed = delay.fixed.max(link.transmit(Bytes::ZERO));
    delay.per_byte = delay.per_byte.max(link.per_byte);
    delay.per_byte_past = delay.per_byte_past.max(link.per_byte);
}

/// How long the host may not have looked for responses.
pub(crate) fn hears(notification: Notification) -> Span {
    match notification {
        Notification::Interrupt => Span::ZERO,
        Notification::Poll(period) => period,
    }
}

/// The largest packet that `node` sends.
fn largest(experiment: &Experiment, node: usize) -> Bytes {
    let sent = experiment.channels.iter().filter(|channel| channel.senders().contains(&node));
    sent.map(|channel| channel.spec.max_message).max().unwrap_or(Bytes::ZERO).min(experiment.packet())
}

/// A driver that resets an adapter that is slow must not do so while it does what it was given.
fn patient(host: &Host, behind: &Behind, largest: Bytes) -> Result<(), Uncovered> {
    let Some(after) = host.driver.reset_after else { return Ok(()) };
    let depth = u64::from(host.subsystem.link.depth);
    let costs = host.costs.with_packets_of(largest);
    let packet = Span::from_ps(u64::try_from(behind.charge(largest)).unwrap_or(u64::MAX))
        .saturating_add(costs.interrupt.saturating_mul(u64::from(behind.interrupts().all)))
        .saturating_add(costs.link_scheduling);
    let once = behind.once().iter().fold(Span::ZERO, |sum, term| sum.saturating_add(term.cost));
    // Twice, for what comes behind may hold up an interrupt.
    let longest = packet.saturating_mul(2 * depth).saturating_add(once);
    match after <= longest || behind.interrupts().waited_for > 0 {
        true => Err(Uncovered("the driver resets the adapter while it does what it was given")),
        false => Ok(()),
    }
}

/// Who may overtake whom, as far as a proof allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Allowed {
    Never,
    Urgent,
}

/// The window of packets through which the host looks at its adapter.
#[derive(Debug, Clone, Copy)]
struct Window {
    depth: u32,
    by_level: bool,
    /// The host hands over nothing ahead of its time, which a queue in the adapter would take for urgent.
    nothing_early: bool,
}

impl Window {
    /// One packet is in the adapter at a time: it meets nobody, and has all the room there is.
    fn is_one(self) -> bool {
        self.depth == 1
    }

    fn holds(self, room: Option<u32>) -> bool {
        room.is_none_or(|room| room >= self.depth)
    }

    fn commands(self, description: &Description) -> Result<Allowed, Uncovered> {
        let queues = &description.interface.queues;
        if self.is_one() {
            return Ok(Allowed::Never);
        }
        if !queues.iter().all(|queue| self.holds(queue.slots)) {
            return Err(Uncovered("the host's driver waits for room in a command queue"));
        }
        let of = |class| queues.iter().position(|queue| queue.takes.admits(&tag(class)));
        if queues.len() > 1 && description.interface.selection != Selection::Priority {
            return Err(Uncovered("the adapter fetches best effort in turn with real time"));
        }
        match (of(Class::RealTime), of(Class::BestEffort)) {
            (Some(real_time), Some(best_effort)) if real_time == best_effort => Ok(Allowed::Never),
            (Some(real_time), Some(best_effort))
                if (queues[real_time].priority, real_time) < (queues[best_effort].priority, best_effort) =>
            {
                Ok(Allowed::Urgent)
            }
            _ => Err(Uncovered("the adapter fetches best effort before real time")),
        }
    }

    /// How many buffers there are, if there need not be enough.
    fn limit(self, buffers: &Buffers) -> Option<u32> {
        let room = match buffers.pool {
            Pool::Unlimited => None,
            Pool::Shared(most) | Pool::PerChannel(most) => Some(most),
        };
        room.filter(|_| !self.holds(room))
    }

    fn buffers(self, buffers: &Buffers, order: Allowed) -> Result<Option<u32>, Uncovered> {
        let Buffers { pool, overload } = *buffers;
        if self.limit(buffers).is_none() {
            return Ok(None);
        }
        match (pool, overload) {
            (Pool::Shared(most), Overload::Block) if order == Allowed::Never => Ok(Some(most)),
            (Pool::Shared(_), Overload::Block) => {
                Err(Uncovered("best effort that is fetched first takes the buffers of what is urgent"))
            }
            (Pool::Unlimited | Pool::PerChannel(_), _) => {
                Err(Uncovered("a channel that waits for a buffer of its own lets others pass"))
            }
            (Pool::Shared(_), Overload::Drop | Overload::Priority) => {
                Err(Uncovered("the adapter loses packets for want of buffers"))
            }
        }
    }

    fn stage(self, stage: &Stage) -> Result<(Allowed, station::Stage), Uncovered> {
        // One at a time: see `plain`.
        let Stage { name, servers, batch: _, linger: _, queues: _, selection, phases } = stage;
        let selects = phases.iter().all(|phase| phase.work);
        let phases = phases.iter().map(phase).collect();
        if self.is_one() {
            let stage = station::Stage { name: name.clone(), places: None, selects, phases };
            return Ok((Allowed::Never, stage));
        }
        if *servers > 1 {
            return Err(Uncovered("packets that are served side by side may pass each other"));
        }
        let (lines, real_time, best_effort) = lines(stage)?;
        if real_time > best_effort || real_time != best_effort && *selection != Selection::Priority {
            return Err(Uncovered("best effort passes real time within the adapter"));
        }
        let mut allowed = if real_time == best_effort { Allowed::Never } else { Allowed::Urgent };
        let mut places: Option<u32> = None;
        for line in [lines[real_time], lines[best_effort]] {
            let Queue { takes: _, order: _, priority: _, slots, overload, spread: _ } = *line;
            if self.holds(slots) {
                continue;
            }
            if overload != Overload::Block {
                return Err(Uncovered("the adapter loses packets for want of places in a queue"));
            }
            places = places.min(slots).or(slots);
        }
        allowed = allowed.max(self.ordered(lines[real_time].order)?);
        if real_time != best_effort {
            // Best effort has the last deadline and the last level, and is in order by either.
            allowed = Allowed::Urgent;
        }
        Ok((allowed, station::Stage { name: name.clone(), places, selects, phases }))
    }

    fn ordered(self, order: Order) -> Result<Allowed, Uncovered> {
        match order {
            Order::Fifo => Ok(Allowed::Never),
            _ if !self.nothing_early => {
                Err(Uncovered("a queue in the adapter takes what is ahead of its time for urgent"))
            }
            Order::Edf | Order::MultiClassEdf if !self.by_level => Ok(Allowed::Urgent),
            Order::FixedPriority if self.by_level => Ok(Allowed::Urgent),
            Order::Edf | Order::MultiClassEdf | Order::FixedPriority => {
                Err(Uncovered("host and adapter go by different orders"))
            }
            Order::VirtualClock => Err(Uncovered("no analysis covers VirtualClock in an adapter")),
        }
    }
}

/// That of any packet of `class`, where its level makes no difference.
fn tag(class: Class) -> Tag {
    Tag { class, logical_arrival: Time::ZERO, deadline: Time::MAX, tick: Span::MAX, level: 0 }
}

fn phase(phase: &Phase) -> station::Phase {
    // Whose time it is is all one once a description is read.
    let Phase { delay, takes: _, from, up_to, holds, priority, work: _, medium, tells, since_service } =
        phase;
    station::Phase {
        delay: *delay,
        from: *from,
        up_to: *up_to,
        holds: holds.clone(),
        rank: *priority,
        since_service: *since_service,
        tells: match tells {
            Tells::Nothing => station::Tells::Nothing,
            Tells::Progress => station::Tells::Progress,
            Tells::Handshake => station::Tells::Handshake,
        },
        medium: *medium,
    }
}

/// The medium that frames of `node` ask for.
fn medium(experiment: &Experiment, node: usize, description: &Description) -> Result<Medium, Uncovered> {
    let mut turns = None;
    for network in experiment.networks.iter().filter(|network| network.members.contains(&node)) {
        match &network.medium {
            MediumSpec::PointToPoint => {}
            MediumSpec::Csma(_) => {
                return Err(Uncovered("collisions have a probability, and no number of them is the last"));
            }
            MediumSpec::TokenRing(_) if !description.asks_for_medium() => {
                return Err(Uncovered("frames go onto a ring without a token"));
            }
            MediumSpec::TokenRing(ring) => {
                let only =
                    experiment.networks.iter().filter(|other| other.members.contains(&node)).count() == 1;
                if !only {
                    return Err(Uncovered("no analysis covers an adapter at a ring and at other networks"));
                }
                turns = Some(self::turns(experiment, network, ring, node)?);
            }
        }
    }
    Ok(turns.map_or(Medium::Own, Medium::Ring))
}

/// What the token of `network` leaves `node`.
fn turns(
    experiment: &Experiment,
    network: &Network,
    ring: &TokenRingParameters,
    node: usize,
) -> Result<Turns, Uncovered> {
    let TokenRingParameters { rotation, holding, latency: _, handling } = ring;
    // Passing it on is part of the rotation.
    if experiment.faults.iter().any(|fault| network.members.contains(&fault.node)) {
        return Err(Uncovered("nothing bounds for how long a fault keeps the token"));
    }
    let (mut longest, mut others, mut own) = (Span::ZERO, Span::ZERO, Span::ZERO);
    for (place, member) in network.members.iter().enumerate() {
        let frame = frame(experiment, *member)?.saturating_add(handling.saturating_mul(2));
        if *member == node {
            (longest, own) = (frame, holding[place]);
        } else {
            others = others.saturating_add(frame);
        }
    }
    Ok(Turns { rotation: *rotation, holding: own, handling: *handling, longest, others })
}

/// The longest frame that `node` sends, in time.
fn frame(experiment: &Experiment, node: usize) -> Result<Span, Uncovered> {
    let Adapter::Described(description) = experiment.adapter(node) else {
        return Err(Uncovered("an adapter at the ring does not ask for the token"));
    };
    let phases = description.transmit.iter().flat_map(|stage| &stage.phases);
    let Some(phase) = phases.into_iter().find(|phase| phase.medium) else {
        return Err(Uncovered("an adapter at the ring does not ask for the token"));
    };
    if !phase.holds.is_empty() {
        return Err(Uncovered("a frame that waits for its adapter keeps the token for as long"));
    }
    let most = largest(experiment, node);
    Ok(phase.delay.of(phase.up_to.map_or(most, |end| end.min(most))))
}

/// How far apart frames of at least `size` leave `node`, whatever is done there.
pub(crate) fn frames_apart(experiment: &Experiment, node: usize, size: Bytes) -> Span {
    if let Some(link) = experiment.link(node) {
        return link.transmit(size);
    }
    let Adapter::Described(description) = experiment.adapter(node) else { return Span::ZERO };
    if plain(description).is_err() {
        return Span::ZERO;
    }
    let several = description.transmit.last().is_none_or(|stage| stage.servers > 1);
    if several && !description.asks_for_medium() {
        return Span::ZERO;
    }
    let stage = |stage: &Stage| station::Stage {
        name: stage.name.clone(),
        places: None,
        selects: false,
        phases: stage.phases.iter().map(phase).collect(),
    };
    let station = Station {
        stages: description.transmit.iter().map(stage).collect(),
        looks: Span::ZERO,
        hears: Span::ZERO,
        buffers: None,
        order: Overtaking::Urgent,
        medium: Medium::Own,
    };
    station.frames_apart(size, largest(experiment, node))
}
