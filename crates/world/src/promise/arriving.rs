//! Channels that end at the interfaces of a node: a bound on their path, and another from there.
//!
//! # The bound
//!
//! The path of a channel has a bound `D` from the release of a packet to its arrival at the
//! interface, by the tables of the stations or by network calculus. The receiver adds the bound of
//! `laxity_admission::reception::bound`. That proof needs the number of arrivals in any window, and
//! so the earliest arrival of a packet, too. A station `k` that holds early packets sends a packet
//! no sooner than its horizon `H_k` before the logical arrival there. The logical arrival is the one
//! at the source plus the local deadlines and ways before. A packet that is released at `t` arrives in
//!
//! ```text
//! [t + e, t + D],   e = max over stations k that hold: Σ_{j<k} (kept_j + way_j) − H_k,   J = D − e.
//! ```
//!
//! Releases are `I_min` apart, for each station that holds goes by logical arrivals, those of pieces
//! of a message included. Where every station holds, `J` is little more than the bound of the last.
//! Where no station does, any number of packets may arrive ahead of their time, and there is no
//! bound.
//!
//! # The deadline
//!
//! Both parts have to fit the deadline, and the jitter of the path is part of the second. So paths
//! are admitted with the whole deadlines first. If a channel does not fit then, they are admitted
//! again with what the receiver left of the deadlines before, a few times. Each answer is judged by
//! its own sums, so the search decides on how many are admitted, and on no bound.

use laxity_admission::reception::bound::{self, Missing, ReceptionBound, ReceptionRefusal, ReceptionRequest};
use laxity_admission::{AdmissionId, Bound, Breakdown, Formula};
use laxity_qos::channel::Role;
use laxity_qos::discipline::Class;
use laxity_qos::reception::Policer;
use laxity_qos::traffic::TrafficSpec;
use laxity_units::Span;

use super::admit;
use super::analyses::Reading;
use super::answer::{Hop, Promise, Promises};
use crate::coverage::{Uncovered, receiving, way};
use crate::experiment::{ChannelSpec, Experiment, ReceiverSpec};

/// Divisions of deadlines between path and receiver that are tried.
const TRIES: usize = 4;

/// The promises to the channels of `experiment`, some of which end at interfaces.
pub(super) fn promises(experiment: &Experiment, formula: Formula) -> Result<Promises, Uncovered> {
    // The papers know no interface, so what they say ends before.
    if formula != Formula::Corrected {
        return admit::along_paths(experiment, formula);
    }
    let refused = |promises: &Promises| promises.channels.iter().filter(|it| it.is_refused()).count();
    let (mut promises, mut needs) = received(experiment, admit::along_paths(experiment, formula)?);
    for _ in 1..TRIES {
        if refused(&promises) == 0 {
            break;
        }
        let Ok(paths) = admit::along_paths(&earlier(experiment, &needs), formula) else { break };
        let (found, then) = received(experiment, paths);
        if refused(&found) < refused(&promises) {
            promises = found;
        }
        if then == needs {
            break;
        }
        needs = then;
    }
    Ok(promises)
}

/// `experiment` with deadlines that are earlier by `needs`, as far as there is time left.
fn earlier(experiment: &Experiment, needs: &[Span]) -> Experiment {
    let mut earlier = experiment.clone();
    for (channel, need) in earlier.channels.iter_mut().zip(needs) {
        channel.deadline = channel.deadline.map(|deadline| match deadline > *need {
            true => deadline - *need,
            false => deadline,
        });
    }
    earlier
}

/// The arrivals of a channel at its interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Arrival {
    /// `D`: from the release of a packet, at most.
    latest: Span,
    /// `J`.
    jitter: Span,
}

/// When packets of `channel`, with those promises on its path, arrive at their interface.
fn arrival(experiment: &Experiment, channel: &ChannelSpec, hops: &[Hop]) -> Result<Arrival, Uncovered> {
    let senders = channel.senders();
    let path = hops.get(..senders.len()).ok_or(Uncovered::PathUnbound)?;
    let last = channel.ways.last().map(|network| &experiment.networks[*network]);
    last.map_or(Ok(()), way)?;
    let ps = |span: Span| i128::from(span.as_ps());
    let (mut reached, mut earliest) = (Span::ZERO, None);
    for hop in path {
        let horizon = experiment.horizon(hop.node);
        if experiment.holds(hop.node) && horizon < Span::MAX {
            let launch = experiment.launch(hop.node).unwrap_or_default();
            earliest = earliest.max(Some(ps(reached) + ps(launch) - ps(horizon)));
        }
        reached = reached.saturating_add(hop.kept).saturating_add(hop.way);
    }
    let jitter = ps(reached) - earliest.ok_or(Uncovered::PathAhead)?;
    let jitter = Span::from_ps(u64::try_from(jitter).unwrap_or(u64::MAX));
    Ok(Arrival { latest: reached, jitter })
}

/// The policer of channel `i` at its interface, if it has a bound there.
pub(crate) fn policer(experiment: &Experiment, i: usize, promise: &Promise) -> Option<Policer> {
    let channel = &experiment.channels[i];
    promise.delivery_bound().filter(|_| channel.interface.is_some())?;
    let arrival = arrival(experiment, channel, promise.hops()).ok()?;
    Some(Policer::behind(channel.spec.min_interval, arrival.jitter))
}

/// The promises of `paths` with the bounds of receivers added, and the time that the receiver of each
/// channel needs.
fn received(experiment: &Experiment, mut paths: Promises) -> (Promises, Vec<Span>) {
    let mut needs = vec![Span::ZERO; experiment.channels.len()];
    for receiver in experiment.receivers() {
        at_receiver(experiment, receiver, &mut paths.channels, &mut needs);
    }
    (paths, needs)
}

/// The request of channel `i` at its interface, with promises on its path.
fn request(
    experiment: &Experiment,
    i: usize,
    promise: &Promise,
) -> Result<(usize, Arrival, ReceptionRequest), Uncovered> {
    let channel = &experiment.channels[i];
    let Promise::Admitted(hops) = promise else {
        return Err(Uncovered::PathUnbound);
    };
    let arrival = arrival(experiment, channel, hops)?;
    let deadline = channel.deadline.unwrap_or(Span::MAX).saturating_sub(arrival.latest);
    let spec = TrafficSpec { burst: 1, ..channel.spec };
    let (interface, program) = (channel.interface.unwrap_or(0), channel.program);
    Ok((i, arrival, ReceptionRequest { interface, program, spec, jitter: arrival.jitter, deadline }))
}

/// The same for the channels that end at `receiver`.
fn at_receiver(
    experiment: &Experiment,
    receiver: &ReceiverSpec,
    promises: &mut [Promise],
    needs: &mut [Span],
) {
    let asks = |i: &usize| {
        let channel = &experiment.channels[*i];
        receiver.entry(channel).is_some() && channel.class == Class::RealTime && !promises[*i].is_refused()
    };
    let asking: Vec<usize> = (0..experiment.channels.len()).filter(asks).collect();
    // Packets of a channel without a bound on its path take turns and room of the others.
    let each = asking.iter().map(|i| request(experiment, *i, &promises[*i]));
    let requests = each.collect::<Result<Vec<_>, _>>();
    let (host, requests) = match receiving(experiment, receiver).and_then(|host| Ok((host, requests?))) {
        Ok(found) => found,
        Err(why) => {
            for i in asking {
                if let Promise::Admitted(hops) = &promises[i] {
                    promises[i] = Promise::Unbounded(why, hops.clone());
                }
            }
            return;
        }
    };
    let asked: Vec<ReceptionRequest> = requests.iter().map(|(.., request)| *request).collect();
    let answers = bound::admit(&host, &asked);
    // Of channels that are all admitted, no deadline changes the bounds.
    if answers.iter().any(Result::is_err) {
        let without_end = |request: &ReceptionRequest| ReceptionRequest { deadline: Span::MAX, ..*request };
        let whenever: Vec<ReceptionRequest> = asked.iter().map(without_end).collect();
        note(needs, &requests, &bound::admit(&host, &whenever));
    } else {
        note(needs, &requests, &answers);
    }
    for ((i, _, request), answer) in requests.iter().zip(answers) {
        let channel = &experiment.channels[*i];
        promises[*i] = match answer {
            Ok(bound) => {
                // Network calculus may have a last hop of its own, of a host that takes no time.
                let mut hops = promises[*i].hops()[..channel.senders().len()].to_vec();
                hops.push(hop(channel, request, bound));
                Promise::Admitted(hops)
            }
            Err(ReceptionRefusal { whose, missing }) => {
                let (whose, on_path, _) = requests[whose];
                let missing = match missing {
                    Missing::Time(bound) => Missing::Time(bound.saturating_add(on_path.latest)),
                    other => other,
                };
                Promise::Unreceived(ReceptionRefusal { whose, missing })
            }
        };
    }
}

/// Notes what the receiver needs of the deadline of each channel in `needs`.
fn note(
    needs: &mut [Span],
    requests: &[(usize, Arrival, ReceptionRequest)],
    answers: &[Result<ReceptionBound, ReceptionRefusal>],
) {
    for ((i, ..), answer) in requests.iter().zip(answers) {
        needs[*i] = answer.as_ref().map_or(Span::ZERO, |bound| bound.bound);
    }
}

/// The receiver as the last hop of `channel`.
fn hop(channel: &ChannelSpec, request: &ReceptionRequest, received: ReceptionBound) -> Hop {
    let ReceptionBound { bound, terms, received, packets, room } = received;
    let (interface, program) = terms.split_at(received);
    let (wait, service) = (Breakdown::of(interface.to_vec()), Breakdown::of(program.to_vec()));
    let last = channel.route.len() - 1;
    Hop {
        hop: last,
        node: channel.route[last],
        role: Role::Receive,
        bound: Bound {
            id: AdmissionId::of_number(last as u64),
            priority: 0,
            level: None,
            deadline: request.deadline,
            bound,
            wait: wait.total(),
            service: service.total(),
            higher: Span::ZERO,
            interference: Span::ZERO,
            head_start: Span::ZERO,
        },
        wait,
        service,
        reading: Reading::default(),
        local_deadline: bound,
        kept: bound,
        way: Span::ZERO,
        backlog: packets,
        frames: None,
        room: Some(room),
    }
}
