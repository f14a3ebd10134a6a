//! Hosts with credit-based shapers in a null adapter. `laxity_admission::ShapedHost` has the proof.
//!
//! The CPU goes by EDF, holds early messages and hands each packet over as it is made. So no packet
//! may wait at the link of the host. A packet has to take no other time on the link than that of its
//! bytes, because a credit counts bytes.

use laxity_admission::ResourceModel;
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::{Class, LOWEST};

use super::covered::{Covered, Holding};
use super::reason::Uncovered;
use super::station::before_holding;
use crate::experiment::{ChannelSpec, Experiment};

/// The analysis of `node`, which has shapers and a null adapter with that `link`; `host` is the
/// analysis of its policies.
pub(super) fn covered(
    experiment: &Experiment,
    node: usize,
    link: LinkCosts,
    host: &Covered,
) -> Result<Covered, Uncovered> {
    let orders = host.model == ResourceModel::Handed && !host.by_level;
    if !orders || experiment.host(node).subsystem.link.order.holds() {
        return Err(Uncovered::ShapedOrder);
    }
    if host.ahead {
        return Err(Uncovered::ShapedEarly);
    }
    if !link.startup.is_zero() || link.per_byte.is_zero() {
        return Err(Uncovered::ShapedStartup);
    }
    let lowest = |channel: &ChannelSpec| {
        let real_time = channel.class == Class::RealTime && channel.level == Some(LOWEST);
        real_time && channel.leaves(node)
    };
    if experiment.channels.iter().any(lowest) {
        return Err(Uncovered::LowestLevel);
    }
    Ok(Covered { holding: Some(Holding::Shapers), ..before_holding(experiment, node, link, host)? })
}
