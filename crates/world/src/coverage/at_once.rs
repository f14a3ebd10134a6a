//! The adapters with a bound that take each packet as it is made, and order packets in queues of
//! their own. `laxity_admission::station::open` has the proof.
//!
//! In each queue real time goes before best effort: by deadline, in order of arrival, by rates, or
//! in another order (`lines.rs`). An adapter may have one queue for both, in order of arrival, or by
//! rates with a rate for best effort. A host that makes packets no faster than the adapter serves
//! them cannot fill such a queue (*fed by a slower host* there).

use std::sync::Arc;

use laxity_admission::station::{Closed, Link, Open, Rated, StageLine, Station, UnratedStation};
use laxity_model::adapter::{Description, Queue, Stage};
use laxity_qos::channel::{LinkId, MessageOverflow, Order};
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::{Class, Tag};
use laxity_qos::virtual_clock::Vtick;
use laxity_units::{Span, Time};

use super::covered::Covered;
use super::faults::faults_at;
use super::incoming::incoming;
use super::lines::Window;
use super::reason::Uncovered;
use super::row::{plain, row};
use super::sources::largest;
use crate::experiment::Experiment;
use crate::traffic::departures::makes;

/// Stages that have each packet at once.
struct AtOnce {
    open: Open,
    /// They go by the same order as the host, not just by class.
    ranked: bool,
    /// Some stage has one queue for real time and best effort, in which neither goes before the other.
    filled: bool,
    /// Best effort goes by a rate in some.
    shared: bool,
}

/// Analyses of an adapter that has each packet at once, one at least.
pub(super) struct OpenWays {
    /// The adapter keeps the order of the host, not only that of classes.
    ranked: Option<Open>,
    /// The bounds hold in any order of packets.
    any_order: Option<Open>,
}

impl OpenWays {
    /// The analyses of a host that goes by `host`, that with an order first.
    pub(super) fn of(self, host: &Covered) -> Vec<Covered> {
        let link = |open| Link::Open(Arc::new(open));
        let ranked = |open| Covered { link: link(open), ..host.clone() };
        let any = |open| Covered { link: link(open), levels: Some(1), any_order: true, ..host.clone() };
        self.ranked.map(ranked).into_iter().chain(self.any_order.map(any)).collect()
    }
}

/// An adapter that has each packet at once.
pub(super) fn open(
    experiment: &Experiment,
    node: usize,
    description: &Description,
    window: &Window,
) -> Result<OpenWays, Uncovered> {
    let AtOnce { open, ranked, filled, shared: _ } = at_once(experiment, node, description, window)?;
    if ranked && !filled {
        return Ok(OpenWays { ranked: Some(open), any_order: None });
    }
    // One queue for all classes is never overtaken.
    let one_queue = |stage: &Stage| matches!(&stage.queues[..], [queue] if queue.order == Order::Fifo && queue.spread == 1);
    let passing = !description.transmit.iter().skip(1).all(one_queue);
    fed_or_alike(experiment, node, open, passing, filled)
}

/// The same with rate-based stages, which need no bound on the traffic of others:
/// `laxity_admission::station::Rated` has the proof.
pub(super) fn rated(
    experiment: &Experiment,
    node: usize,
    description: &Description,
    window: &Window,
) -> Result<(Arc<Rated>, bool), Uncovered> {
    let AtOnce { open, ranked: _, filled, shared } = at_once(experiment, node, description, window)?;
    let host = experiment.host(node);
    let spacing = match host.subsystem.preemption.immediate {
        true => Span::ZERO,
        false => makes(experiment, node).saturating_add(host.costs.transmit(host.subsystem.link.paradigm)),
    };
    if held_up(experiment, node)? {
        return Err(Uncovered::UnevenRates);
    }
    let lines: Vec<StageLine> = description.transmit.iter().map(line).collect();
    let rated = Rated::new(Arc::new(open), &lines, spacing, !filled).map_err(|unrated| match unrated {
        UnratedStation::None => Uncovered::StageNone,
        UnratedStation::Order => Uncovered::StageMixed,
        UnratedStation::Fluid => Uncovered::StageFluid,
        UnratedStation::HeldUp => Uncovered::StageHeldUp,
        UnratedStation::Slow => Uncovered::StageSlow,
        UnratedStation::Medium => Uncovered::StageMedium,
    })?;
    Ok((Arc::new(rated), shared))
}

/// What the queues of `stage` are to rates.
fn line(stage: &Stage) -> StageLine {
    let order = |queue: &Queue, alone: bool| match queue.order {
        Order::Fifo if alone => StageLine::Fifo,
        Order::Fifo => StageLine::Before,
        order if order.serves_rates_first() => StageLine::Rates(order, stage.speed()),
        _ => StageLine::Other,
    };
    match (lines(stage), &stage.queues[..]) {
        (_, [queue]) => order(queue, true),
        (Ok((queues, real_time, best_effort)), [_, _]) if real_time < best_effort => {
            order(queues[real_time], false)
        }
        _ => StageLine::Other,
    }
}

fn at_once(
    experiment: &Experiment,
    node: usize,
    description: &Description,
    window: &Window,
) -> Result<AtOnce, Uncovered> {
    if experiment.host(node).driver.reset_after.is_some() {
        return Err(Uncovered::DriverResets);
    }
    window.in_time()?;
    plain(description)?;
    if description.transmit.iter().any(|stage| stage.ahead.is_some()) {
        return Err(Uncovered::AheadWithoutWindow);
    }
    let (station, passing) = row(experiment, (node, LinkId::FIRST), description, window)?;
    let best_effort = best_effort(experiment, node);
    let (last, before) = description.transmit.split_last().ok_or(Uncovered::NoStages)?;
    let prefetched = station.stages.last().is_some_and(|stage| stage.places.is_some());
    if prefetched && last.queues.len() > 1 {
        return Err(Uncovered::Prefetch);
    }
    let alone = if prefetched { None } else { Some(last) };
    let (mut ranked, mut filled) = (!passing.alike, passing.shared);
    for stage in before.iter().chain(alone) {
        let (lines, real_time, best) = lines(stage)?;
        let fifo = lines[real_time].order == Order::Fifo;
        filled |= fifo && real_time == best && best_effort;
        ranked &= !fifo;
    }
    let open = Open::new(station, largest(experiment, node)).map_err(|closed| match closed {
        Closed::NoRoom => Uncovered::RoomInOrder,
        Closed::Entangled => Uncovered::Entangled,
        Closed::Talkative => Uncovered::Talkative,
        Closed::Together => Uncovered::ServedTogether,
        Closed::Token => Uncovered::TokenLeaves,
    })?;
    Ok(AtOnce { open, ranked, filled, shared: passing.shared })
}

/// A null device that has each packet as it is made.
pub(super) fn at_a_link(
    experiment: &Experiment,
    node: usize,
    link: LinkCosts,
) -> Result<OpenWays, Uncovered> {
    let open = Open::new(Station::of_link(link), largest(experiment, node));
    let open = open.map_err(|_| Uncovered::NullLink)?;
    fed_or_alike(experiment, node, open, false, best_effort(experiment, node))
}

/// `open` as fed by a slower host, which keeps the order of the host. An adapter that is `filled`
/// with best effort has no other bound. Without best effort every packet in the adapter has a
/// guarantee, so `open` bounds it as well, in any order. The two compete: a host that is slower than
/// the adapter by little may have much shorter bounds in any order.
fn fed_or_alike(
    experiment: &Experiment,
    node: usize,
    open: Open,
    passing: bool,
    filled: bool,
) -> Result<OpenWays, Uncovered> {
    match (fed(experiment, node, open.clone(), passing), filled) {
        (Ok(fed), true) => Ok(OpenWays { ranked: Some(fed), any_order: None }),
        (Err(why), true) => Err(why),
        (fed, false) => Ok(OpenWays { ranked: fed.ok(), any_order: Some(open) }),
    }
}

/// Whether anything without a guarantee is sent at `node`.
fn best_effort(experiment: &Experiment, node: usize) -> bool {
    experiment.channels.iter().any(|channel| {
        let excess = channel.message_overflow == MessageOverflow::BestEffort;
        channel.leaves(node) && (channel.class == Class::BestEffort || excess)
    })
}

/// An adapter that may be full of best effort, if its host makes packets no faster than it is done with them.
fn fed(experiment: &Experiment, node: usize, open: Open, passing: bool) -> Result<Open, Uncovered> {
    let host = experiment.host(node);
    let over = host.costs.transmit(host.subsystem.link.paradigm);
    let spacing = makes(experiment, node).saturating_add(over);
    let immediate = host.subsystem.preemption.immediate;
    let ahead = !host.subsystem.early.horizon.is_zero();
    let fed =
        if immediate || ahead || held_up(experiment, node)? { None } else { open.fed(spacing, passing) };
    fed.ok_or(Uncovered::BestEffortFills)
}

/// Whether what comes in, or a fault, may keep what goes out from a part of the adapter.
fn held_up(experiment: &Experiment, node: usize) -> Result<bool, Uncovered> {
    let stands_still = faults_at(experiment, (node, LinkId::FIRST)).next().is_some();
    Ok(!incoming(experiment, (node, LinkId::FIRST))?.held.is_zero() || stands_still)
}

/// The queues of `stage` in the order of their priority, and which are real time's and best effort's.
fn lines(stage: &Stage) -> Result<(Vec<&Queue>, usize, usize), Uncovered> {
    let mut lines: Vec<&Queue> = stage.queues.iter().collect();
    lines.sort_by_key(|queue| queue.priority);
    let of = |class| lines.iter().position(|queue| queue.takes.admits(&tag(class)));
    match (of(Class::RealTime), of(Class::BestEffort)) {
        (Some(real_time), Some(best_effort)) => Ok((lines, real_time, best_effort)),
        _ => Err(Uncovered::NoQueue),
    }
}

/// That of any packet of `class`, where its level makes no difference.
fn tag(class: Class) -> Tag {
    Tag { class, logical_arrival: Time::ZERO, deadline: Time::MAX, tick: Vtick::NONE, level: 0 }
}
