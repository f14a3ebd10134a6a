//! The medium of a described adapter, and the capacity that a token ring leaves a node.

use laxity_admission::station::{FrameMedium, Turns};
use laxity_model::adapter::Description;
use laxity_model::network::TokenRingParameters;
use laxity_qos::channel::LinkId;
use laxity_units::Span;

use super::faults::faults_at;
use super::reason::Uncovered;
use super::sources::largest;
use crate::experiment::{AdapterSpec, Experiment, MediumSpec, Network};

/// The medium that frames of an adapter ask for, of a node by its link.
pub(super) fn medium(
    experiment: &Experiment,
    (node, link): (usize, LinkId),
    description: &Description,
) -> Result<FrameMedium, Uncovered> {
    let mut turns = None;
    let networks = || experiment.networks_at((node, link));
    for (number, network) in networks() {
        match &network.medium {
            MediumSpec::PointToPoint => {}
            MediumSpec::Csma(_) => {
                return Err(Uncovered::Collisions);
            }
            MediumSpec::TokenRing(_) if !description.asks_for_medium() => {
                return Err(Uncovered::NoToken);
            }
            MediumSpec::TokenRing(ring) => {
                if networks().count() > 1 {
                    return Err(Uncovered::RingAndOthers);
                }
                turns = Some(self::turns(experiment, (number, network), ring, node)?);
            }
        }
    }
    Ok(turns.map_or(FrameMedium::Own, FrameMedium::Ring))
}

/// The capacity that the token of `network` leaves `node`.
fn turns(
    experiment: &Experiment,
    (number, network): (usize, &Network),
    ring: &TokenRingParameters,
    node: usize,
) -> Result<Turns, Uncovered> {
    let TokenRingParameters { rotation, holding, latency: _, handling } = ring;
    // Passing it on is part of the rotation.
    let at = |member: &usize| (*member, experiment.link_to(*member, number));
    if network.members.iter().any(|member| faults_at(experiment, at(member)).next().is_some()) {
        return Err(Uncovered::TokenKept);
    }
    let (mut longest, mut others, mut own) = (Span::ZERO, Span::ZERO, Span::ZERO);
    for (place, member) in network.members.iter().enumerate() {
        let link = experiment.link_to(*member, number);
        let frame = frame(experiment, (*member, link))?.saturating_add(handling.saturating_mul(2));
        if *member == node {
            (longest, own) = (frame, holding[place]);
        } else {
            others = others.saturating_add(frame);
        }
    }
    Ok(Turns { rotation: *rotation, holding: own, handling: *handling, longest, others })
}

/// The longest frame that an adapter sends, in time.
fn frame(experiment: &Experiment, (node, link): (usize, LinkId)) -> Result<Span, Uncovered> {
    let AdapterSpec::Described(description) = experiment.adapter_of(node, link) else {
        return Err(Uncovered::TokenUnasked);
    };
    let phases = description.transmit.iter().flat_map(|stage| &stage.phases);
    let Some(phase) = phases.into_iter().find(|phase| phase.medium) else {
        return Err(Uncovered::TokenUnasked);
    };
    if !phase.holds.is_empty() {
        return Err(Uncovered::TokenWaits);
    }
    let most = largest(experiment, node);
    Ok(phase.delay.of(phase.up_to.map_or(most, |end| end.min(most))))
}
