//! Hosts that serve messages as they arrive: `laxity_admission::UnheldHost` has the proof.
//!
//! An adapter of stages is analysed as behind a host that takes real time for one level (`station.rs`).

use laxity_qos::channel::{Block, Config, LinkParadigm, MessageOverflow, Order};
use laxity_qos::discipline::{Class, LOWEST};

use super::host::in_classes;
use super::reason::Uncovered;
use crate::experiment::{ChannelSpec, Experiment};
use crate::traffic::conformance::keeps_contract;

/// Whether `node` serves real time before best effort, on its CPU and at its link, and holds no early
/// message.
pub(super) fn unheld(experiment: &Experiment, node: usize) -> Result<(), Uncovered> {
    let host = experiment.host(node);
    let Config { order, link, preemption, early, .. } = &host.subsystem;
    let scheduled = matches!(link.paradigm, LinkParadigm::O1 | LinkParadigm::O2 | LinkParadigm::O3);
    let single = experiment.nodes[node].adapters.len() == 1;
    let holds = experiment.holds(node) || !early.horizon.is_zero();
    if !scheduled || !single || holds || !host.computing.is_empty() {
        return Err(Uncovered::Orders);
    }
    if preemption.early != preemption.real_time {
        return Err(Uncovered::EarlyYields);
    }
    if preemption.real_time == Block::Never {
        return Err(Uncovered::NeverYields);
    }
    let passes = |channel: &&ChannelSpec| channel.is_at(node);
    let mut here = experiment.channels.iter().filter(passes);
    let shares = |channel: &ChannelSpec| channel.class == Class::BestEffort && !channel.share.is_none();
    match order {
        Order::Fifo if here.clone().any(ChannelSpec::has_best_effort) => {
            return Err(Uncovered::CpuBestEffort);
        }
        Order::Fifo => {}
        Order::StrictPriority
            if here.clone().any(|it| it.class == Class::RealTime && it.level == Some(LOWEST)) =>
        {
            return Err(Uncovered::LowestLevel);
        }
        order if order.serves_rates_first() && here.clone().any(shares) => {
            return Err(Uncovered::BestEffortRate);
        }
        order if order.serves_real_time_first() => {}
        _ => return Err(Uncovered::Orders),
    }
    // The number of messages ahead of their time has to be known.
    let ahead = |channel: &ChannelSpec| {
        channel.class == Class::RealTime
            && channel.message_overflow != MessageOverflow::BestEffort
            && !keeps_contract(experiment, channel)
    };
    if here.any(ahead) {
        return Err(Uncovered::SentAhead);
    }
    in_classes(experiment, node)
}
