//! Hosts with launch times of real-time packets. `laxity_admission::LaunchedHost` has the proof.
//!
//! The CPU goes by EDF and hands each packet over as it is made. So no packet may wait at the link of
//! the host: there is no window, and the order of the link holds no early packet. A driver with
//! `reset_after` would take an adapter that holds packets for one that stands still.

use laxity_admission::ResourceModel;
use laxity_admission::station::Link;
use laxity_qos::channel::Order;
use laxity_qos::costs::LinkCosts;

use super::covered::Covered;
use super::reason::Uncovered;
use super::station::{under_way, without_window};
use crate::experiment::Experiment;

/// The analysis of `node`, which has launch times and a null adapter with that `link`; `host` is the
/// analysis of its policies.
pub(super) fn covered(
    experiment: &Experiment,
    node: usize,
    link: LinkCosts,
    host: &Covered,
) -> Result<Covered, Uncovered> {
    let config = experiment.host(node);
    let orders = host.model == ResourceModel::Handed && !host.by_level;
    let order = config.subsystem.link.order;
    let holds_early = host.ahead && matches!(order, Order::MultiClassEdf | Order::FixedPriority);
    if !orders || holds_early || order.holds() {
        return Err(Uncovered::LaunchOrder);
    }
    if config.driver.reset_after.is_some() {
        return Err(Uncovered::DriverResets);
    }
    without_window(experiment, node)?;
    let depth = under_way(experiment, node, host.depth);
    let (model, link, launch) = (ResourceModel::ApartHanded, Link::Alone(link), experiment.launch(node));
    Ok(Covered { model, link, depth, launch, ..host.clone() })
}
