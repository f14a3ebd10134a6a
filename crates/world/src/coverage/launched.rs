//! Hosts with launch times of real-time packets. `laxity_admission::LaunchedHost` has the proof.
//!
//! The CPU goes by EDF and hands each packet over as it is made. So no packet may wait at the link of
//! the host: there is no window, and the order of the link holds no early packet.

use laxity_admission::ResourceModel;
use laxity_qos::channel::Order;
use laxity_qos::costs::LinkCosts;
use laxity_units::Span;

use super::covered::{Covered, Holding};
use super::reason::Uncovered;
use super::station::before_holding;
use crate::experiment::Experiment;

/// The analysis of `node`, which has launch times `launch` after logical arrivals and a null adapter
/// with that `link`; `host` is the analysis of its policies.
pub(super) fn covered(
    experiment: &Experiment,
    node: usize,
    (link, launch): (LinkCosts, Span),
    host: &Covered,
) -> Result<Covered, Uncovered> {
    let orders = host.model == ResourceModel::Handed && !host.by_level;
    let order = experiment.host(node).subsystem.link.order;
    let holds_early = host.ahead && matches!(order, Order::MultiClassEdf | Order::FixedPriority);
    if !orders || holds_early || order.holds() {
        return Err(Uncovered::LaunchOrder);
    }
    Ok(Covered { holding: Some(Holding::Launch(launch)), ..before_holding(experiment, node, link, host)? })
}
