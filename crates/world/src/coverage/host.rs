//! The analysis that covers a host, by the policies of its CPU and its links.

use laxity_admission::ResourceModel;
use laxity_model::node::DriverConfig;
use laxity_qos::channel::{Block, Config, LinkConfig, LinkParadigm, Order, Oversize, Preemption, Processing};
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::{Class, EarlyPolicy, LEVELS};

use super::covered::Covered;
use super::reason::Uncovered;
use crate::experiment::{ChannelSpec, EmulationSpec, Experiment, HostPlace, HostSpec, Pace};

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
        processing,
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
    let scheduled = *paradigm != LinkParadigm::Adapter;
    let (by_level, at_link) = (by_level(*order), by_level(*link_order));
    // Levels and deadlines order real time, and best effort in one way.
    let sends = |channel: &ChannelSpec| channel.class == Class::RealTime && channel.senders().contains(&node);
    let alike = by_level == at_link || experiment.channels.iter().any(sends);
    let at_link = if alike { at_link } else { at_link.and(by_level) };
    // No packet waits at the host's link, unless the link holds it.
    let passes = !scheduled && !link_order.holds();
    let rates = Some(*link_order).filter(|order| scheduled && order.has_latency());
    if let Some(order) = rates {
        by_rates(order, model, by_level, *processing)?;
    }
    // The set-up of thesis chapter 3.
    let levelled = matches!(model, ResourceModel::O1 | ResourceModel::O2)
        && (by_level, at_link, rates) == (Some(true), Some(false), None);
    let model = match model {
        ResourceModel::O2 if levelled => ResourceModel::ApartByThread,
        _ if rates.is_some() || levelled => ResourceModel::Apart,
        ResourceModel::O1 | ResourceModel::O2 if *cores > 1 => ResourceModel::Core,
        model => model,
    };
    let one_order = passes || rates.is_some() || levelled || by_level == at_link;
    let by_level = by_level.filter(|_| one_order).ok_or(Uncovered::Orders)?;
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
    let link = LinkCosts::default().into();
    let (levels, further) = (levels(by_level), Vec::new());
    let by_level = by_level && !levelled;
    let (row, any_order, depth) = (None, false, *depth);
    Ok(Covered { model, link, further, rates, row, by_level, levels, any_order, ahead, depth, holding: None })
}

/// Whether a host's link may be shared by rates in `order`: `laxity_admission::RatedHost` has the
/// proof.
fn by_rates(
    order: Order,
    model: ResourceModel,
    by_level: Option<bool>,
    processing: Processing,
) -> Result<(), Uncovered> {
    let why = match (model, by_level, processing) {
        _ if !order.goes_by_what_is_served() => Uncovered::ServedOrder,
        (ResourceModel::O1, Some(false), Processing::PerChannel) => return Ok(()),
        (ResourceModel::O1, Some(false), Processing::PerMessage) => Uncovered::ThreadEach,
        (ResourceModel::O1, Some(true) | None, _) => Uncovered::RatesBehindEdf,
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

/// Levels that real-time channels share under fixed priorities; the last one is best effort's.
pub(super) fn levels(by_level: bool) -> Option<u32> {
    by_level.then_some(LEVELS as u32 - 1)
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
