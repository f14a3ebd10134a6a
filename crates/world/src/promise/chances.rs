//! Admission of channels that accept a share of late messages: one host that sends, by the demand of
//! the mean.

use laxity_admission::{AdmissionRefusal, Environment, Formula, Test, Varying, share_late};
use laxity_qos::channel::{LinkId, Role};

use super::admit::request;
use super::analyses::readings;
use super::answer::Promise;
use super::asks;
use super::environment::environment;
use super::leg::Leg;
use crate::coverage::{Coverage, Covered, Uncovered};
use crate::experiment::{ChannelSpec, Experiment, Placement};

/// Whether a channel of `experiment` accepts late messages; then all of real time do.
pub(super) fn accepted(experiment: &Experiment) -> bool {
    experiment.channels.iter().any(|channel| channel.asks.late.is_some())
}

/// The host as the analysis sees it, in each way of counting; or why there is none.
fn analysed(
    experiment: &Experiment,
    coverage: &Coverage,
    formula: Formula,
) -> Result<Vec<Environment>, Uncovered> {
    if experiment.stations() > 1 {
        return Err(Uncovered::ChanceStations);
    }
    let covered = coverage.first(0)?;
    let Covered { rates, row, by_level, holding, .. } = covered;
    let host = experiment.host(0);
    let by_deadlines = rates.is_none() && row.is_none() && holding.is_none() && !by_level;
    let plain = by_deadlines && host.computing.is_empty();
    let alone = experiment.cores(0) == 1 && experiment.nodes[0].adapters.len() == 1;
    let demand = covered.test(experiment.admission.test_with(formula)) == Test::Demand;
    if !plain || !alone || !demand {
        return Err(Uncovered::ChanceHost);
    }
    let all = readings(experiment, coverage, formula, 0).into_iter();
    all.map(|reading| environment(experiment, coverage, formula, (0, LinkId::FIRST), reading)).collect()
}

/// The share of late messages of each channel at most: each way of counting holds, so the least.
fn least_late(environments: &[Environment], channels: &[Varying]) -> Result<Vec<f64>, AdmissionRefusal> {
    let each = environments.iter().map(|environment| share_late(environment, channels));
    let least = |one: Vec<f64>, other: Vec<f64>| one.into_iter().zip(other).map(|(a, b)| a.min(b)).collect();
    let known = each.reduce(|one, other| match (one, other) {
        (Ok(one), Ok(other)) => Ok(least(one, other)),
        (Ok(known), Err(_)) | (Err(_), Ok(known)) => Ok(known),
        (Err(refusal), Err(_)) => Err(refusal),
    });
    known.expect("a station is read in one way at least")
}

/// The request of `channel` at the host, if it asks for a share.
fn varying(experiment: &Experiment, channel: &ChannelSpec) -> Result<Option<(Varying, f64)>, Uncovered> {
    let (Some(request), Some(accepts)) = (request(experiment, channel)?, channel.asks.late) else {
        return Ok(None);
    };
    let placement = Placement::new(experiment);
    let leg = Leg::first((experiment, &placement), channel, false);
    let request = leg.asked((0, Role::Send), request).rate.request;
    let mean_message = channel.asks.mean_message.unwrap_or(channel.spec.max_message);
    Ok(Some((Varying { request, mean_message }, accepts)))
}

/// How many copies of channel `index` are admitted after all others, up to `limit`.
pub(super) fn fill(
    experiment: &Experiment,
    coverage: &Coverage,
    formula: Formula,
    (index, limit): (usize, u64),
) -> Result<u64, Uncovered> {
    let environments = analysed(experiment, coverage, formula)?;
    let promised = admit(experiment, coverage, formula)?;
    let mut before = Vec::new();
    for (i, channel) in experiment.channels.iter().enumerate() {
        if i != index && matches!(promised[i], Promise::Likely(_)) {
            before.extend(varying(experiment, channel)?);
        }
    }
    let Some(copy) = varying(experiment, &experiment.channels[index])? else { return Ok(0) };
    if asks::unkept(experiment, coverage, &experiment.channels[index]).is_some() {
        return Ok(0);
    }
    let fits = |copies: u64| {
        let all: Vec<(Varying, f64)> =
            before.iter().copied().chain(std::iter::repeat_n(copy, copies as usize)).collect();
        let channels: Vec<Varying> = all.iter().map(|(channel, _)| *channel).collect();
        let shares = least_late(&environments, &channels);
        shares.is_ok_and(|shares| shares.iter().zip(&all).all(|(share, (_, accepts))| share <= accepts))
    };
    // More channels are later.
    let (mut fit, mut too_many) = (0, 1);
    while too_many <= limit && fits(too_many) {
        (fit, too_many) = (too_many, too_many * 2);
    }
    too_many = too_many.min(limit.saturating_add(1));
    while too_many - fit > 1 {
        let middle = fit + (too_many - fit) / 2;
        *(if fits(middle) { &mut fit } else { &mut too_many }) = middle;
    }
    Ok(fit)
}

/// Admits the channels in their order.
pub(super) fn admit(
    experiment: &Experiment,
    coverage: &Coverage,
    formula: Formula,
) -> Result<Vec<Promise>, Uncovered> {
    let environments = analysed(experiment, coverage, formula)?;
    let mut promises = vec![Promise::BestEffort; experiment.channels.len()];
    let (mut admitted, mut places): (Vec<Varying>, Vec<usize>) = (Vec::new(), Vec::new());
    for (i, channel) in experiment.channels.iter().enumerate() {
        let Some((channel_asked, accepts)) = varying(experiment, channel)? else { continue };
        admitted.push(channel_asked);
        places.push(i);
        let late = |place: usize| experiment.channels[place].asks.late.unwrap_or(0.0);
        let unkept = asks::unkept(experiment, coverage, channel).or_else(|| {
            match least_late(&environments, &admitted) {
                Err(refusal) => Some(refusal.to_string()),
                Ok(shares) => {
                    let worst = shares.iter().zip(&places).find(|(share, place)| **share > late(**place));
                    worst.map(|(share, place)| match *place == i {
                        true => format!("{share:.2e} of its messages may be late, and it accepts {accepts}"),
                        false => format!(
                            "with it {share:.2e} of the messages of `{}` may be late, which accepts {}",
                            experiment.channels[*place].name,
                            late(*place)
                        ),
                    })
                }
            }
        });
        if let Some(reason) = unkept {
            promises[i] = Promise::Unkept(reason);
            admitted.pop();
            places.pop();
        }
    }
    let shares = least_late(&environments, &admitted).unwrap_or_default();
    for (place, share) in places.into_iter().zip(shares) {
        promises[place] = Promise::Likely(share);
    }
    Ok(promises)
}
