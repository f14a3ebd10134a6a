//! The analysis that covers a host, by the policies of its CPU and its links.

use laxity_admission::ResourceModel;
use laxity_model::node::DriverConfig;
use laxity_qos::channel::{Block, Config, LinkConfig, LinkParadigm, Order, Oversize, Preemption, Processing};
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::{Class, EarlyPolicy, LOWEST};

use super::covered::Covered;
use super::fifo::is_queue;
use super::reason::Uncovered;
use super::unheld::unheld;
use crate::experiment::{AdapterSpec, ChannelSpec, EmulationSpec, Experiment, HostPlace, HostSpec, Pace};

/// Whether what a host takes is what its profile says.
pub(super) fn clock_of_host(emulation: &EmulationSpec) -> Result<(), Uncovered> {
    let EmulationSpec { host, pace, transfer: _, core: _, host_core: _ } = emulation;
    match (host, pace) {
        (HostPlace::Model, _) | (HostPlace::Thread, Pace::Profile) => Ok(()),
        (HostPlace::Thread, Pace::Native) => Err(Uncovered::NativePace),
        (HostPlace::Kernel, _) => Err(Uncovered::Kernel),
    }
}

/// Whether bounds hold beside oversize messages: not where those are spaced by their packets. The
/// time of a lone message does not depend on it.
pub(crate) fn spaced(experiment: &Experiment) -> Result<(), Uncovered> {
    match experiment.hosts.iter().all(|host| host.subsystem.oversize == Oversize::Intervals) {
        true => Ok(()),
        false => Err(Uncovered::OversizeByPackets),
    }
}

/// The analysis of a host by its policies, without its link.
pub(super) fn host_policies(experiment: &Experiment, node: usize) -> Result<Covered, Uncovered> {
    let HostSpec {
        profile: _,
        // Of timers, too: see `promise/table.rs`.
        costs: _,
        speedup: _,
        applications: _,
        subsystem,
        // See `shaped.rs`.
        shapers: _,
        ideal,
        // An application without a budget is one more lower block; a budget is one more deadline (see
        // `promise/computing.rs`), or one more level (see `by_hand.rs`).
        computing: _,
        // Of an adapter that is alone at one, as a resource of its own; of others see `several` in
        // `coverage.rs`.
        buses: _,
        // See `patient`.
        driver: _,
        reception: _,
        pool: _,
    } = experiment.host(node);
    let Config {
        cores,
        // See `by_rates`.
        processing: _,
        order,
        early,
        preemption,
        link: link_config,
        packet: _,
        enforcement,
        oversize: _,
    } = subsystem;
    let Preemption { real_time, early: early_block, best_effort: _, immediate } = preemption;
    // Ahead on the link is one more lower packet with the adapter; `early` of the link may be
    // anything. Launch times: see `launched.rs`.
    let LinkConfig { paradigm, core: _, order: link_order, early: _, depth, launch: _, frame: _, speed: _ } =
        link_config;
    let model = match (paradigm, immediate) {
        (LinkParadigm::O1, true) if *ideal => ResourceModel::Ideal,
        (_, true) => return Err(Uncovered::Immediate),
        (LinkParadigm::O1, false) => ResourceModel::O1,
        (LinkParadigm::O2, false) => ResourceModel::O2,
        (LinkParadigm::O3, false) => ResourceModel::O3,
        (LinkParadigm::Adapter, false) => ResourceModel::Handed,
    };
    if by_level(*order).is_none() && !is_queue(experiment, node) {
        unheld(experiment, node)?;
        if !enforcement {
            return Err(Uncovered::Enforcement);
        }
        let depth = link_config.depth;
        let host = Covered::of(model, LinkCosts::default(), true);
        return Ok(Covered { levels: Some(1), any_order: true, unheld: true, depth, ..host });
    }
    let waits = at_link(experiment, node, model)?;
    let rates = match waits {
        Waits::ByRates => Some(*link_order),
        Waits::Alike | Waits::Levelled | Waits::InClasses => None,
    };
    let levelled = waits == Waits::Levelled;
    let model = match model {
        ResourceModel::O2 if levelled => ResourceModel::ApartByThread,
        _ if rates.is_some() || levelled => ResourceModel::Apart,
        ResourceModel::O1 | ResourceModel::O2 if *cores > 1 => ResourceModel::Core,
        model => model,
    };
    let by_level = by_level(*order).ok_or(Uncovered::Orders)?;
    let EarlyPolicy { horizon, above_best_effort: _ } = early;
    let ahead = !horizon.is_zero();
    if ahead && rates.is_some() {
        return Err(Uncovered::AheadByRates);
    }
    if ahead && early_block != real_time {
        return Err(Uncovered::EarlyYields);
    }
    if ahead && *real_time == Block::Never {
        return Err(Uncovered::NeverYields);
    }
    if !enforcement {
        return Err(Uncovered::Enforcement);
    }
    let host = Covered::of(model, LinkCosts::default(), by_level);
    let any_order = waits == Waits::InClasses;
    let levels = if any_order { Some(1) } else { host.levels };
    let (by_level, depth) = (by_level && !levelled, *depth);
    Ok(Covered { rates, by_level, levels, any_order, ahead, depth, ..host })
}

/// The order in which packets wait for the link of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// That of the CPU, or no packet of real time waits.
    Alike,
    /// By rates. `laxity_admission::RatedHost` has the proof.
    ByRates,
    /// By deadline behind a CPU by levels: the set-up of thesis chapter 3.
    Levelled,
    /// Real time is before best effort, in any order: one level of `laxity_admission`'s `trajectory.rs`.
    InClasses,
}

/// How packets wait for the link of `node`, where CPU and link are shared by `model`.
fn at_link(experiment: &Experiment, node: usize, model: ResourceModel) -> Result<Waits, Uncovered> {
    let Config { order, processing, link, early, .. } = &experiment.host(node).subsystem;
    let by_adapter = link.paradigm == LinkParadigm::Adapter;
    if by_adapter && !link.order.holds() {
        return Ok(Waits::Alike);
    }
    let at_cpu = by_level(*order).ok_or(Uncovered::Orders)?;
    let sends = |channel: &&ChannelSpec| channel.class == Class::RealTime && channel.leaves(node);
    let levels = || experiment.channels.iter().filter(sends).map(|channel| channel.level);
    let at_link = match link.order {
        // Packets of one level keep their order, and none is early.
        Order::StrictPriority if early.horizon.is_zero() && levels().all(|level| level.is_some()) => {
            Some(true)
        }
        order => by_level(order),
    };
    // Levels and deadlines order real time, and best effort in one way.
    if at_link == Some(at_cpu) || at_link.is_some() && levels().next().is_none() {
        return Ok(Waits::Alike);
    }
    let in_classes = in_classes(experiment, node);
    let scheduled = matches!(model, ResourceModel::O1 | ResourceModel::O2);
    match (at_cpu, at_link) {
        (true, Some(false))
            if scheduled && (in_classes.is_err() || levels().all(|level| level.is_none())) =>
        {
            Ok(Waits::Levelled)
        }
        (_, None) if !by_adapter && link.order.has_latency() => {
            let by_rates = by_rates(link.order, model, at_cpu, *processing);
            let null = experiment.nodes[node].adapters.iter().map(|it| &experiment.adapters[it.adapter]);
            let null = null.map(|adapter| matches!(adapter, AdapterSpec::Null(_))).eq([true]);
            match (by_rates, in_classes) {
                (Ok(()), Ok(())) if !null => Ok(Waits::InClasses),
                (Ok(()), _) => Ok(Waits::ByRates),
                (Err(_), Ok(())) => Ok(Waits::InClasses),
                (Err(why), Err(_)) => Err(why),
            }
        }
        _ => in_classes.map(|()| Waits::InClasses),
    }
}

/// Whether no packet is before real time at the link of `node` but for those of real time, of which none
/// is early.
pub(super) fn in_classes(experiment: &Experiment, node: usize) -> Result<(), Uncovered> {
    let Config { cores, link, early, .. } = &experiment.host(node).subsystem;
    if is_queue(experiment, node) {
        return Err(Uncovered::Orders);
    }
    if !early.horizon.is_zero() {
        return Err(Uncovered::AheadInClasses);
    }
    if *cores > 1 {
        return Err(Uncovered::CoresOrder);
    }
    let mut sent = experiment.channels.iter().filter(|channel| channel.leaves(node));
    let shares = |channel: &ChannelSpec| channel.class == Class::BestEffort && !channel.share.is_none();
    match link.order {
        Order::Fifo if sent.any(ChannelSpec::has_best_effort) => Err(Uncovered::LinkBestEffort),
        Order::Fifo => Ok(()),
        Order::StrictPriority | Order::FixedPriority
            if sent.any(|channel| channel.class == Class::RealTime && channel.level == Some(LOWEST)) =>
        {
            Err(Uncovered::LowestLevel)
        }
        // Best effort with a share has a rate.
        order if order.serves_rates_first() && sent.any(shares) => Err(Uncovered::BestEffortRate),
        order if order.serves_real_time_first() => Ok(()),
        _ => Err(Uncovered::LinkHolds),
    }
}

/// Whether a host's link may be shared by rates in `order`: `laxity_admission::RatedHost` has the
/// proof.
fn by_rates(
    order: Order,
    model: ResourceModel,
    by_level: bool,
    processing: Processing,
) -> Result<(), Uncovered> {
    let why = match (model, by_level, processing) {
        _ if !order.goes_by_what_is_served() => Uncovered::ServedOrder,
        (ResourceModel::O1, false, Processing::PerChannel) => return Ok(()),
        (ResourceModel::O1, false, Processing::PerMessage) => Uncovered::ThreadEach,
        (ResourceModel::O1, true, _) => Uncovered::RatesBehindEdf,
        _ => Uncovered::RatesByO1,
    };
    Err(why)
}

/// Whether `order` is fixed priorities (`true`), or EDF of current work before best effort
/// (`false`); the other orders have no bounds here.
pub(super) fn by_level(order: Order) -> Option<bool> {
    match order {
        Order::MultiClassEdf => Some(false),
        Order::FixedPriority => Some(true),
        Order::Edf
        | Order::Fifo
        | Order::VirtualClock
        | Order::WeightedFair
        | Order::WorstCaseFair
        | Order::SelfClocked
        | Order::StartTimeFair
        | Order::HierarchicalFair
        | Order::DeficitRoundRobin
        | Order::StopAndGo
        | Order::HierarchicalRoundRobin
        | Order::RateControlled
        | Order::FifoPlus
        | Order::HopLaxity
        | Order::StrictPriority => None,
    }
}

/// A driver must not give up a null device while it does what it was given.
pub(super) fn patient(host: &HostSpec, link: LinkCosts) -> Result<(), Uncovered> {
    let Config { packet, link: LinkConfig { depth, .. }, .. } = &host.subsystem;
    // Responses that an interrupt has announced are not found again.
    let DriverConfig { watchdog: _, reset_after } = host.driver;
    let longest = link.transmit(*packet).saturating_mul(u64::from(*depth));
    match reset_after.is_some_and(|after| after <= longest) {
        true => Err(Uncovered::DriverResets),
        false => Ok(()),
    }
}

/// Threads that process: the analyses know both, and charge the creation of one for every message.
pub(crate) fn thread_per_message(processing: Processing) -> bool {
    match processing {
        Processing::PerChannel => false,
        Processing::PerMessage => true,
    }
}
