//! Which hosts that receive have a bound, and why others have none.
//!
//! The proof is `laxity_admission::reception::bound`. It needs to know of every interface how often
//! the adapter is heard and how much is taken each time, so one interface without a limit leaves
//! all channels of the host without a bound.

use laxity_admission::reception::bound::{ReceptionHost, Service, Turn, Worker};
use laxity_model::reception::{ActivityCost, ClockTicks, InterfaceConfig, ProgramConfig, ReceptionCosts};
use laxity_qos::discipline::Class;
use laxity_qos::reception::{BatchSharing, Operations, Policy};
use laxity_units::Span;

use super::reason::Uncovered;
use crate::experiment::{ClockKind, CommandSpec, Experiment, ReceiverSpec, ReceptionCommand};

/// A host of `experiment` that receives at interfaces, as the proof sees it.
pub(crate) fn receiving(
    experiment: &Experiment,
    receiver: &ReceiverSpec,
) -> Result<ReceptionHost, Uncovered> {
    let ReceiverSpec { node, interfaces, programs } = receiver;
    if experiment.clock == ClockKind::Real {
        return Err(Uncovered::Thread);
    }
    let host = experiment.host(*node);
    if !host.subsystem.enforcement {
        return Err(Uncovered::Enforcement);
    }
    for CommandSpec { at: _, command } in &experiment.commands {
        match command {
            // A channel keeps its contract whenever it begins and ends.
            ReceptionCommand::Create(_) | ReceptionCommand::Clear(_) => {}
            ReceptionCommand::Mode(..) => {
                return Err(Uncovered::ToldPolicy);
            }
        }
    }
    let costs = fixed(&host.reception)?;
    let interfaces = (0..interfaces.len()).map(|i| service((experiment, receiver), i, &costs));
    let interfaces: Vec<Service> = interfaces.collect::<Result<_, _>>()?;
    let programs = (0..programs.len()).map(|p| worker((experiment, receiver), p, &costs));
    let programs: Vec<Worker> = programs.collect::<Result<_, _>>()?;
    // Each packet that a program finishes lets a spare one be taken.
    let spare = interfaces.iter().any(|service| matches!(service.turn, Turn::Reserved { .. }));
    if spare
        && interfaces.iter().any(|service| service.buffers.is_some())
        && programs.iter().any(|p| p.work.is_zero())
    {
        return Err(Uncovered::FreeProgram);
    }
    Ok(ReceptionHost { interfaces, programs })
}

/// A receiver, and the experiment that it is part of.
type At<'a> = (&'a Experiment, &'a ReceiverSpec);

/// Costs that do not vary.
struct Fixed {
    interrupt: Span,
    poll: Span,
    switch: Span,
    announce: Span,
    protocol: Span,
}

fn fixed(costs: &ReceptionCosts) -> Result<Fixed, Uncovered> {
    // The time of a program is part of its own description.
    let ReceptionCosts { interrupt, poll, switch, announce, protocol, program: _ } = *costs;
    Ok(Fixed {
        interrupt: always(interrupt)?,
        poll: always(poll)?,
        switch: always(switch)?,
        announce: always(announce)?,
        protocol: always(protocol)?,
    })
}

fn always(cost: ActivityCost) -> Result<Span, Uncovered> {
    match cost {
        ActivityCost::Fixed(span) => Ok(span),
        ActivityCost::Exponential(mean) if mean.is_zero() => Ok(mean),
        ActivityCost::Exponential(_) => Err(Uncovered::DrawnCosts),
    }
}

fn service((experiment, receiver): At<'_>, i: usize, costs: &Fixed) -> Result<Service, Uncovered> {
    let InterfaceConfig {
        policy,
        sharing,
        slots,
        slots_best_effort: _,
        handshake,
        transfer: _,
        early_drop,
        buffers,
        buffers_real_time,
        // Late packets are dropped before any work for them. No packet with a bound is late. By tags
        // a packet is dropped where there is no slot, and one with a bound finds a slot.
        discard: _,
        ticks,
    } = &receiver.interfaces[i].config;
    if *handshake {
        return Err(Uncovered::TwoCommands);
    }
    let here = |class| experiment.arrives(receiver, class, |channel| channel.interface == Some(i));
    let rest = here(Class::BestEffort);
    if rest && here(Class::RealTime) && !sharing.tells_classes_apart() {
        return Err(Uncovered::SharedQueue);
    }
    let turn = turn(policy, ticks.as_ref(), early_drop.then_some(costs.announce))?;
    let for_real_time = match (buffers, rest) {
        (Some(all), false) => Some(*all),
        (Some(_), true) => Some(*buffers_real_time),
        (None, _) => None,
    };
    if let Turn::Reserved { spare, .. } = turn {
        // Or what is refused would not count as something for programs to do, and there would be no
        // end to what is spare.
        let open = buffers.map(|all| all - buffers_real_time);
        if open.is_none_or(|open| open <= spare) {
            return Err(Uncovered::Spare);
        }
    }
    let quota = policy.quota().min(quota(policy));
    let real_time = match sharing {
        BatchSharing::Common | BatchSharing::Exhaustive => quota,
        BatchSharing::Weighted { real_time, best_effort: _ } => *real_time,
        BatchSharing::Turns { .. } => return Err(Uncovered::Batches),
    };
    let (signal, switch) = match turn {
        Turn::Ticks { .. } => (costs.poll, Span::ZERO),
        Turn::Thread(_) => (costs.interrupt, costs.switch),
        Turn::Limited(_) | Turn::Reserved { .. } => (costs.interrupt, Span::ZERO),
    };
    Ok(Service {
        turn,
        quota,
        real_time: real_time.min(quota),
        signal,
        switch,
        packet: if *early_drop { costs.protocol.max(costs.announce) } else { costs.protocol },
        slots: *slots,
        buffers: for_real_time,
    })
}

/// The turns of a policy, where `refusal` is the time to refuse a packet; or why they have no
/// bound.
fn turn(policy: &Policy, ticks: Option<&ClockTicks>, refusal: Option<Span>) -> Result<Turn, Uncovered> {
    match policy {
        Policy::Clocked(_) => match ticks {
            Some(ClockTicks::Hard(period)) => Ok(Turn::Ticks { least: *period, most: *period }),
            Some(ClockTicks::Soft(intervals)) => {
                Ok(Turn::Ticks { least: intervals.shortest(), most: intervals.longest() })
            }
            None => Err(Uncovered::NoClock),
        },
        Policy::Timed(_) => match ticks {
            Some(ClockTicks::Hard(period)) => Ok(Turn::Thread(*period)),
            Some(ClockTicks::Soft(_)) | None => Err(Uncovered::SoftTimers),
        },
        Policy::Limited(limited) => Ok(Turn::Limited(limited.interval())),
        Policy::Explicit(explicit) => Ok(Turn::Limited(explicit.interval())),
        Policy::Guaranteed(guaranteed) => {
            Ok(Turn::Reserved { period: guaranteed.period(), spare: guaranteed.spare(), refusal })
        }
        Policy::PerCommand(_) | Policy::Coalescing(_) | Policy::Adaptive(_) => Err(Uncovered::InterruptFlood),
        Policy::Backoff(_) => Err(Uncovered::Backoff),
        Policy::Continuous(_) | Policy::Napi(_) => Err(Uncovered::PollsGoOn),
        Policy::CycleLimited(_) => Err(Uncovered::CycleShare),
        Policy::Lazy(_) => Err(Uncovered::ProtocolInProgram),
    }
}

/// Packets in a turn: those of guaranteed shares are of a period, and not of a batch.
fn quota(policy: &Policy) -> u32 {
    match policy {
        Policy::Guaranteed(guaranteed) => guaranteed.packets(),
        _ => u32::MAX,
    }
}

fn worker((experiment, receiver): At<'_>, p: usize, costs: &Fixed) -> Result<Worker, Uncovered> {
    let ProgramConfig { work, real_time_first, reserved } = receiver.programs[p].config;
    let work = always(work)?;
    let has = |class| experiment.arrives(receiver, class, |channel| channel.program == p);
    let rest = has(Class::BestEffort);
    if rest && has(Class::RealTime) && !real_time_first {
        return Err(Uncovered::ProgramOrder);
    }
    Ok(Worker {
        work,
        packet: if receiver.programs.len() > 1 { work.saturating_add(costs.switch) } else { work },
        reserved: reserved.map(|reserved| (reserved.budget, reserved.period)),
        rest,
    })
}
