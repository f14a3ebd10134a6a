//! `[host.receive]` and `[[interface]]`: received packets, the times at which the host takes them,
//! and the costs.

use laxity_model::adapter::Delay;
use laxity_model::reception::{ActivityCost, ClockTicks, InterfaceConfig, ReceptionCosts};
use laxity_qos::costs::HostCosts;
use laxity_qos::reception::{
    Adaptive, Backoff, BackoffParameters, BatchSharing, Clocked, Coalescing, Continuous, CycleLimited,
    Explicit, Guaranteed, Lazy, Limited, Napi, PerCommand, Policy, TakenBuffers, Timed,
};
use laxity_units::Span;
use laxity_world::experiment::InterfaceSpec;

use super::receiver::Placed;
use super::*;
use crate::choice::{CostKind, PolicyKind, SharingKind};
use crate::diagnostic::Diagnostic;
use crate::leaf::word;
use crate::raw::{InterfaceKeys, RawInterface, RawReceive, RawSharing};
use crate::section::{Key, first, strays};
use crate::written::List;

/// Costs of reception at a host with `costs`, its `speedup` in them, and the buffers that its
/// interfaces share.
pub(super) fn costs(
    cx: &mut Context<'_>,
    part: Option<Part<RawReceive>>,
    costs: &HostCosts,
    speedup: f64,
) -> Result<(ReceptionCosts, u32), Reported> {
    let (_, keys) = cx.keys_or_none(part, &WHOLE)?;
    let faster = |span: Span| Delay::fixed(span).divided(speedup).fixed;
    let kind = keys.costs.value?;
    let cost = |span: Span| match kind {
        CostKind::Fixed => ActivityCost::Fixed(span),
        CostKind::Exponential => ActivityCost::Exponential(span),
    };
    let costs = ReceptionCosts {
        interrupt: cost(costs.interrupt),
        poll: cost(keys.poll.value?.map_or(costs.interrupt, faster)),
        switch: ActivityCost::Fixed(costs.context_switch),
        announce: ActivityCost::Fixed(faster(keys.announce.value?)),
        protocol: cost(costs.receive_packet),
        program: cost(faster(keys.program.value?)),
    };
    Ok((costs, keys.pool.value?.small()))
}

pub(super) fn interfaces(
    cx: &mut Context<'_>,
    library: &mut Library<'_>,
    list: Option<List<Part<RawInterface>>>,
) -> Result<Vec<Placed<InterfaceSpec>>, Reported> {
    let mut outcome = Ok(());
    let mut interfaces: Vec<(Placed<InterfaceSpec>, Range<usize>)> = Vec::new();
    for part in cx.items(list)? {
        match interface(cx, library, part) {
            Ok((interface, place)) => {
                let name = &interface.value.name;
                if let Some((_, other)) = interfaces.iter().find(|(other, _)| other.value.name == *name) {
                    let reason = format!("there are two interfaces called `{name}`");
                    let diagnostic = Diagnostic::new(cx.place(&place), reason)
                        .related(cx.place(other).label("the other one"))
                        .help("give each interface a name of its own");
                    outcome = Err(cx.report(diagnostic));
                }
                interfaces.push((interface, place));
            }
            Err(reported) => outcome = Err(reported),
        }
    }
    outcome.map(|()| interfaces.into_iter().map(|(interface, _)| interface).collect())
}

fn interface(
    cx: &mut Context<'_>,
    library: &mut Library<'_>,
    part: Part<RawInterface>,
) -> Result<(Placed<InterfaceSpec>, Range<usize>), Reported> {
    let (owner, keys) = cx.keys(part, "this interface")?;
    let kind = keys.policy.spanned();
    let policy = kind.and_then(|kind| Ok((self::policy(cx, library, *kind.get_ref(), &keys, &owner)?, kind)));
    let sharing = keys.sharing.map_or(Ok(BatchSharing::Common), |part| self::sharing(cx, part));
    let mut outcome = Ok(());
    if !sharing.as_ref().is_ok_and(|sharing| sharing.tells_classes_apart()) {
        let help = "remove this, or say how the quota is shared in `sharing`";
        outcome = outcome.and(cx.foreign(&keys.slots_best_effort, "classes are not told apart", help));
    }
    if keys.handshake.value == Ok(false) {
        let help = "remove this, or say `handshake = true`";
        let reason = "without a handshake a packet is in host memory when its command is posted";
        outcome = outcome.and(cx.foreign(&keys.transfer, reason, help));
    }
    let ((policy, ticks), kind) = policy?;
    let buffers = match keys.buffers.value? {
        Or::That(count) => Some(count.small()),
        Or::This(_) if matches!(policy, Policy::Lazy(_)) => {
            let reason = "the program does the protocol, and there is none without buffers";
            let help = "say how many, such as `buffers = 128`, or use another policy";
            return Err(cx.fault(&keys.buffers.at.unwrap_or_default(), reason, help));
        }
        Or::This(_) => None,
    };
    let buffers_real_time = keys.buffers_real_time.value?.small();
    if let Some(at) = keys.buffers_real_time.at {
        match buffers {
            None => {
                let help = "remove this, or say how many buffers there are";
                return Err(cx.fault(&at, "there are no buffers", help));
            }
            Some(all) if all < buffers_real_time => {
                let reason = format!("{buffers_real_time} of {all} buffers cannot be for real time");
                return Err(cx.fault(&at, reason, format!("valid is up to {all}")));
            }
            Some(_) => {}
        }
    }
    if let (Policy::Backoff(_), None) = (&policy, buffers) {
        let help = "say how many, such as `buffers = 128`";
        return Err(cx.fault(&kind.span(), "backoff goes by free buffers, and there are none", help));
    }
    outcome?;
    let (name, slots) = (keys.name.spanned()?, keys.slots.value?.small());
    let config = InterfaceConfig {
        policy,
        sharing: sharing?,
        slots,
        slots_best_effort: keys.slots_best_effort.value?.map_or(slots, |slots| slots.small()),
        handshake: keys.handshake.value?,
        transfer: Delay::fixed(keys.transfer.value?),
        early_drop: keys.early_drop.value?,
        buffers,
        buffers_real_time,
        discard: keys.discard.value?,
        ticks,
    };
    let value = InterfaceSpec { name: name.get_ref().0.clone(), config };
    Ok((Placed { value, node: keys.node.placed()?, whole: owner }, name.span()))
}

/// The policy that the keys describe, and the clock that goes with it.
fn policy(
    cx: &mut Context<'_>,
    library: &mut Library<'_>,
    kind: PolicyKind,
    keys: &InterfaceKeys,
    owner: &Range<usize>,
) -> Result<(Policy, Option<ClockTicks>), Reported> {
    let what = format!("an interface with the policy `{}`", word(kind));
    let mut outcome = Ok(());
    for (stray, at) in strays(keys.owned(), kind) {
        let reason = format!("`{}` says nothing to the policy `{}`", stray.key, word(kind));
        let help = format!("remove this; it is for {}", list(stray.of.iter().map(|kind| word(*kind))));
        outcome = Err(cx.fault(&at, reason, help));
    }
    outcome?;
    let quota =
        |cx: &mut Context<'_>| keys.quota.needed(cx, owner, &what).map(|quota| quota.into_inner().small());
    let interval = |cx: &mut Context<'_>| keys.interval.needed(cx, owner, &what).map(Spanned::into_inner);
    Ok(match kind {
        PolicyKind::Interrupt => (Policy::PerCommand(PerCommand::ROUTINE), None),
        PolicyKind::InterruptKernel => (Policy::PerCommand(PerCommand::KERNEL), None),
        PolicyKind::Continuous => (Policy::Continuous(Continuous { quota: quota(cx)? }), None),
        PolicyKind::Timed => {
            let (quota, interval) = (quota(cx), interval(cx));
            (Policy::Timed(Timed { quota: quota? }), Some(ClockTicks::Hard(interval?)))
        }
        PolicyKind::HardTimer => {
            let (quota, interval) = (quota(cx), interval(cx));
            (Policy::Clocked(Clocked { quota: quota? }), Some(ClockTicks::Hard(interval?)))
        }
        PolicyKind::SoftTimer => {
            let quota = quota(cx);
            let (name, bound) = (keys.intervals.needed(cx, owner, &what)?, keys.bound.value?);
            let distribution = library.distribution(cx, name.get_ref(), &name.span())?;
            (Policy::Clocked(Clocked { quota: quota? }), Some(ClockTicks::Soft(distribution.bounded(bound))))
        }
        PolicyKind::Explicit => {
            let (quota, interval) = (quota(cx), interval(cx));
            (Policy::Explicit(Explicit::new(quota?, interval?)), None)
        }
        PolicyKind::Limited => {
            let (quota, interval) = (quota(cx), interval(cx));
            (Policy::Limited(Limited::new(quota?, interval?)), None)
        }
        PolicyKind::Backoff => {
            let InterfaceKeys { minimum, maximum, factor, restore, threshold, taken, .. } = keys;
            let keys = (minimum, maximum, factor, restore, threshold, taken);
            let quota = quota(cx);
            let parameters = backoff(cx, keys, owner, &what)?;
            (Policy::Backoff(Backoff::new(BackoffParameters { quota: quota?, ..parameters })), None)
        }
        PolicyKind::Guaranteed => {
            let (quota, interval) = (quota(cx), interval(cx));
            let spare = keys.spare.value?.small();
            (Policy::Guaranteed(Guaranteed::new(quota?, interval?, spare)), None)
        }
        PolicyKind::Coalescing => {
            let (frames, delay) = (keys.frames.needed(cx, owner, &what), keys.delay.needed(cx, owner, &what));
            let (frames, delay) = (frames?.into_inner().small(), delay?.into_inner());
            (Policy::Coalescing(Coalescing::new(frames, delay)), None)
        }
        PolicyKind::Adaptive => (Policy::Adaptive(Adaptive::default()), None),
        PolicyKind::Napi => {
            let quota = quota(cx);
            (Policy::Napi(Napi::new(quota?, keys.restarts.value?.small())), None)
        }
        PolicyKind::CycleLimited => {
            let (quota, interval) = (quota(cx), interval(cx));
            let share = keys.share.needed(cx, owner, &what)?;
            let (quota, interval) = (quota?, interval?);
            let limit = Span::from_ps((interval.as_ps() as f64 * share.get_ref()) as u64);
            if limit.is_zero() {
                let help = "valid is a share above 0, such as `0.5`";
                return Err(cx.fault(&share.span(), "polls that may take no time take nothing", help));
            }
            (Policy::CycleLimited(CycleLimited::new(quota, interval, limit)), None)
        }
        PolicyKind::Lazy => (Policy::Lazy(Lazy::BY_ADAPTER), None),
        PolicyKind::LazySoftware => (Policy::Lazy(Lazy::IN_SOFTWARE), None),
    })
}

/// The keys of a backoff, of an interface or of a command.
pub(super) type BackoffKeys<'k> = (
    &'k Key<Option<Span>>,
    &'k Key<Option<Span>>,
    &'k Key<Option<f64>>,
    &'k Key<Option<f64>>,
    &'k Key<f64>,
    &'k Key<TakenBuffers>,
);

pub(super) fn backoff(
    cx: &mut Context<'_>,
    (minimum, maximum, factor, restore, threshold, taken): BackoffKeys<'_>,
    owner: &Range<usize>,
    what: &str,
) -> Result<BackoffParameters, Reported> {
    let (minimum, maximum) = (minimum.needed(cx, owner, what), maximum.needed(cx, owner, what));
    let (factor, restore) = (factor.needed(cx, owner, what), restore.needed(cx, owner, what));
    let (threshold, taken) = (threshold.value?, taken.value?);
    let (minimum, maximum) = (minimum?.into_inner(), maximum?);
    let (at, maximum) = (maximum.span(), maximum.into_inner());
    if maximum < minimum {
        let help = format!("valid is {minimum} or more");
        return Err(cx.fault(&at, format!("{maximum} is less than the minimum, {minimum}"), help));
    }
    let (factor, restore) = (factor?, restore?);
    let (at, factor) = (factor.span(), factor.into_inner());
    if factor <= 1.0 {
        let reason = format!("the period would not grow by {factor}");
        return Err(cx.fault(&at, reason, "valid is a factor above 1, such as `1.5`"));
    }
    let (at, restore) = (restore.span(), restore.into_inner());
    if restore <= 0.0 || restore >= 1.0 {
        let reason = format!("the period is multiplied by {restore} when the load is lower");
        return Err(cx.fault(&at, reason, "valid is a number above 0 and below 1, such as `0.8`"));
    }
    // The quota is the caller's.
    Ok(BackoffParameters { quota: 1, minimum, maximum, factor, restore, threshold, taken })
}

fn sharing(cx: &mut Context<'_>, part: Part<RawSharing>) -> Result<BatchSharing, Reported> {
    let (owner, keys) = cx.keys(part, "sharing")?;
    let kind = keys.kind.value?;
    if kind == SharingKind::Exhaustive {
        let (reason, help) = ("real time is served as long as there is any", "say `kind = \"weighted\"`");
        cx.foreign(&first([&keys.real_time, &keys.best_effort]), reason, help)?;
        return Ok(BatchSharing::Exhaustive);
    }
    let real_time = keys.real_time.needed(cx, &owner, "this sharing");
    let best_effort = keys.best_effort.needed(cx, &owner, "this sharing");
    let (real_time, best_effort) = (real_time?.into_inner().small(), best_effort?.into_inner().small());
    Ok(match kind {
        SharingKind::Turns => BatchSharing::Turns { real_time, best_effort },
        SharingKind::Weighted | SharingKind::Exhaustive => BatchSharing::Weighted { real_time, best_effort },
    })
}
