//! `[host.receive]` and `[[interface]]`: received packets, the times at which the host takes them,
//! and the costs.

use laxity_model::adapter::Delay;
use laxity_model::reception::{ActivityCost, ClockTicks, Discard, InterfaceConfig, ReceptionCosts};
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
use crate::leaf::{Factor, Interval, Share, word};
use crate::raw::{RawInterface, RawReceive, RawSharing};
use crate::written::List;

/// Default number of buffers, and of slots of an adapter: thesis §7.2.3 has as many buffers.
const ROOM: u32 = 128;

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
    let part = cx.part(part)?;
    let owner = part.span();
    let mut raw = part.into_inner();
    let node = cx.optional(raw.node.take());
    let name = cx.required(raw.name.take(), "name", &owner, "this interface");
    let kind = cx.required(raw.policy.take(), "policy", &owner, "the interface");
    let (sharing, handshake, transfer) = (raw.sharing.take(), raw.handshake.take(), raw.transfer.take());
    let (slots, slots_best_effort) = (raw.slots.take(), raw.slots_best_effort.take());
    let (early_drop, buffers) = (raw.early_drop.take(), raw.buffers.take());
    let (buffers_real_time, discard) = (raw.buffers_real_time.take(), raw.discard.take());
    let policy = kind.and_then(|kind| Ok((self::policy(cx, library, *kind.get_ref(), raw, &owner)?, kind)));
    let sharing = sharing.map_or(Ok(BatchSharing::Common), |part| self::sharing(cx, part));
    let slots = cx.optional(slots).map(|slots| slots.map_or(ROOM, |slots| slots.into_inner().small()));
    let apart = sharing.as_ref().is_ok_and(|sharing| sharing.tells_classes_apart());
    let slots_best_effort = match apart {
        true => cx.optional(slots_best_effort).map(|slots| slots.map(|slots| slots.into_inner().small())),
        false => {
            let help = "remove this, or say how the quota is shared in `sharing`";
            cx.foreign(&slots_best_effort, "classes are not told apart", help).map(|()| None)
        }
    };
    let handshake = cx.or(handshake, false);
    let transfer = match handshake {
        Ok(true) | Err(_) => {
            cx.optional(transfer).map(|span| span.map_or(Span::ZERO, |span| span.into_inner().get()))
        }
        Ok(false) => {
            let help = "remove this, or say `handshake = true`";
            let reason = "without a handshake a packet is in host memory when its command is posted";
            cx.foreign(&transfer, reason, help).map(|()| Span::ZERO)
        }
    };
    let early_drop = cx.or(early_drop, false);
    let discard = cx.or(discard, Discard::Newest);
    let buffers = cx.optional(buffers);
    let buffers_real_time = cx.optional(buffers_real_time);
    let ((policy, ticks), kind) = policy?;
    let buffers = match buffers?.map(|buffers| (buffers.span(), buffers.into_inner())) {
        None => Some(ROOM),
        Some((_, Or::That(count))) => Some(count.small()),
        Some((span, Or::This(_))) if matches!(policy, Policy::Lazy(_)) => {
            let reason = "the program does the protocol, and there is none without buffers";
            return Err(cx.fault(
                &span,
                reason,
                "say how many, such as `buffers = 128`, or use another policy",
            ));
        }
        Some((_, Or::This(_))) => None,
    };
    let buffers_real_time = match buffers_real_time? {
        Some(written) => {
            let (span, count) = (written.span(), written.into_inner().small());
            match buffers {
                None => {
                    let help = "remove this, or say how many buffers there are";
                    return Err(cx.fault(&span, "there are no buffers", help));
                }
                Some(all) if all < count => {
                    let reason = format!("{count} of {all} buffers cannot be for real time");
                    return Err(cx.fault(&span, reason, format!("valid is up to {all}")));
                }
                Some(_) => count,
            }
        }
        None => 0,
    };
    if let (Policy::Backoff(_), None) = (&policy, buffers) {
        let help = "say how many, such as `buffers = 128`";
        return Err(cx.fault(&kind.span(), "backoff goes by free buffers, and there are none", help));
    }
    let (name, slots) = (name?, slots?);
    let config = InterfaceConfig {
        policy,
        sharing: sharing?,
        slots,
        slots_best_effort: slots_best_effort?.unwrap_or(slots),
        handshake: handshake?,
        transfer: Delay::fixed(transfer?),
        early_drop: early_drop?,
        buffers,
        buffers_real_time,
        discard: discard?,
        ticks,
    };
    let value = InterfaceSpec { name: name.get_ref().0.clone(), config };
    Ok((Placed { value, node: node?, whole: owner }, name.span()))
}

/// The policy that the keys left in `raw` describe, and the clock that goes with it.
fn policy(
    cx: &mut Context<'_>,
    library: &mut Library<'_>,
    kind: PolicyKind,
    raw: RawInterface,
    owner: &Range<usize>,
) -> Result<(Policy, Option<ClockTicks>), Reported> {
    let what = format!("an interface with the policy `{}`", word(kind));
    only(cx, kind, &raw)?;
    let RawInterface {
        quota,
        interval,
        intervals,
        bound,
        minimum,
        maximum,
        factor,
        restore,
        threshold,
        taken,
        spare,
        frames,
        delay,
        restarts,
        share,
        // The interface's own.
        name: _,
        node: _,
        policy: _,
        sharing: _,
        slots: _,
        slots_best_effort: _,
        handshake: _,
        transfer: _,
        early_drop: _,
        buffers: _,
        buffers_real_time: _,
        discard: _,
    } = raw;
    let quota = |cx: &mut Context<'_>| {
        cx.required(quota, "quota", owner, &what).map(|quota| quota.into_inner().small())
    };
    let interval = |cx: &mut Context<'_>| {
        cx.required(interval, "interval", owner, &what).map(|interval| interval.into_inner().get())
    };
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
            let name = cx.required(intervals, "intervals", owner, &what);
            let bound = cx.optional(bound)?.map(|bound| bound.into_inner().get());
            let name = name?;
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
            let keys = (minimum, maximum, factor, restore, threshold, taken);
            let quota = quota(cx);
            let parameters = backoff(cx, keys, owner, &what)?;
            (Policy::Backoff(Backoff::new(BackoffParameters { quota: quota?, ..parameters })), None)
        }
        PolicyKind::Guaranteed => {
            let (quota, interval) = (quota(cx), interval(cx));
            let spare = cx.optional(spare)?.map_or(1, |spare| spare.into_inner().small());
            (Policy::Guaranteed(Guaranteed::new(quota?, interval?, spare)), None)
        }
        PolicyKind::Coalescing => {
            let frames = cx.required(frames, "frames", owner, &what);
            let delay = cx.required(delay, "delay", owner, &what);
            let (frames, delay) = (frames?.into_inner().small(), delay?.into_inner().get());
            (Policy::Coalescing(Coalescing::new(frames, delay)), None)
        }
        PolicyKind::Adaptive => (Policy::Adaptive(Adaptive::default()), None),
        PolicyKind::Napi => {
            let quota = quota(cx);
            let restarts = cx.optional(restarts)?.map_or(10, |restarts| restarts.into_inner().small());
            (Policy::Napi(Napi::new(quota?, restarts)), None)
        }
        PolicyKind::CycleLimited => {
            let (quota, interval) = (quota(cx), interval(cx));
            let share = cx.required(share, "share", owner, &what)?;
            let (quota, interval) = (quota?, interval?);
            let limit = Span::from_ps((interval.as_ps() as f64 * share.get_ref().get()) as u64);
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

pub(super) type BackoffKeys = (
    Option<Written<Bounded<Interval>>>,
    Option<Written<Bounded<Interval>>>,
    Option<Written<Factor>>,
    Option<Written<Share>>,
    Option<Written<Share>>,
    Option<Written<TakenBuffers>>,
);

pub(super) fn backoff(
    cx: &mut Context<'_>,
    (minimum, maximum, factor, restore, threshold, taken): BackoffKeys,
    owner: &Range<usize>,
    what: &str,
) -> Result<BackoffParameters, Reported> {
    let minimum = cx.required(minimum, "minimum", owner, what);
    let maximum = cx.required(maximum, "maximum", owner, what);
    let factor = cx.required(factor, "factor", owner, what);
    let restore = cx.required(restore, "restore", owner, what);
    let threshold = cx.optional(threshold)?.map_or(0.25, |share| share.into_inner().get());
    let taken = cx.or(taken, TakenBuffers::Filled)?;
    let (minimum, maximum) = (minimum?.into_inner().get(), maximum?);
    let (at, maximum) = (maximum.span(), maximum.into_inner().get());
    if maximum < minimum {
        let help = format!("valid is {minimum} or more");
        return Err(cx.fault(&at, format!("{maximum} is less than the minimum, {minimum}"), help));
    }
    let (factor, restore) = (factor?, restore?);
    let (at, factor) = (factor.span(), factor.into_inner().get());
    if factor <= 1.0 {
        let reason = format!("the period would not grow by {factor}");
        return Err(cx.fault(&at, reason, "valid is a factor above 1, such as `1.5`"));
    }
    let (at, restore) = (restore.span(), restore.into_inner().get());
    if restore <= 0.0 || restore >= 1.0 {
        let reason = format!("the period is multiplied by {restore} when the load is lower");
        return Err(cx.fault(&at, reason, "valid is a number above 0 and below 1, such as `0.8`"));
    }
    // The quota is the caller's.
    Ok(BackoffParameters { quota: 1, minimum, maximum, factor, restore, threshold, taken })
}

/// A key by its name, its place if it is there, and the policies it is for.
type Key<'a> = (&'static str, Option<Range<usize>>, &'a [PolicyKind]);

/// Refuses keys that are another policy's.
fn only(cx: &mut Context<'_>, kind: PolicyKind, raw: &RawInterface) -> Result<(), Reported> {
    use PolicyKind as P;
    fn place<T>(key: &Option<Written<T>>) -> Option<Range<usize>> {
        key.as_ref().map(|key| key.span.clone())
    }
    let by_quota = [
        P::Continuous,
        P::Timed,
        P::HardTimer,
        P::SoftTimer,
        P::Explicit,
        P::Limited,
        P::Backoff,
        P::Guaranteed,
        P::Napi,
        P::CycleLimited,
    ];
    let by_interval = [P::Timed, P::HardTimer, P::Explicit, P::Limited, P::Guaranteed, P::CycleLimited];
    let keys: [Key; 15] = [
        ("quota", place(&raw.quota), &by_quota),
        ("interval", place(&raw.interval), &by_interval),
        ("intervals", place(&raw.intervals), &[P::SoftTimer]),
        ("bound", place(&raw.bound), &[P::SoftTimer]),
        ("minimum", place(&raw.minimum), &[P::Backoff]),
        ("maximum", place(&raw.maximum), &[P::Backoff]),
        ("factor", place(&raw.factor), &[P::Backoff]),
        ("restore", place(&raw.restore), &[P::Backoff]),
        ("threshold", place(&raw.threshold), &[P::Backoff]),
        ("taken", place(&raw.taken), &[P::Backoff]),
        ("spare", place(&raw.spare), &[P::Guaranteed]),
        ("frames", place(&raw.frames), &[P::Coalescing]),
        ("delay", place(&raw.delay), &[P::Coalescing]),
        ("restarts", place(&raw.restarts), &[P::Napi]),
        ("share", place(&raw.share), &[P::CycleLimited]),
    ];
    let mut outcome = Ok(());
    for (key, span, of) in keys {
        if let Some(span) = span.filter(|_| !of.contains(&kind)) {
            let reason = format!("`{key}` says nothing to the policy `{}`", word(kind));
            let help = format!("remove this; it is for {}", list(of.iter().map(|kind| word(*kind))));
            outcome = Err(cx.fault(&span, reason, help));
        }
    }
    outcome
}

fn sharing(cx: &mut Context<'_>, part: Part<RawSharing>) -> Result<BatchSharing, Reported> {
    let part = cx.part(part)?;
    let (owner, RawSharing { kind, real_time, best_effort }) = (part.span(), part.into_inner());
    let kind = cx.required(kind, "kind", &owner, "sharing")?.into_inner();
    if kind == SharingKind::Exhaustive {
        let (reason, help) = ("real time is served as long as there is any", "say `kind = \"weighted\"`");
        cx.foreign(&real_time, reason, help)?;
        cx.foreign(&best_effort, reason, help)?;
        return Ok(BatchSharing::Exhaustive);
    }
    let real_time = cx.required(real_time, "real_time", &owner, "this sharing");
    let best_effort = cx.required(best_effort, "best_effort", &owner, "this sharing");
    let (real_time, best_effort) = (real_time?.into_inner().small(), best_effort?.into_inner().small());
    Ok(match kind {
        SharingKind::Turns => BatchSharing::Turns { real_time, best_effort },
        SharingKind::Weighted | SharingKind::Exhaustive => BatchSharing::Weighted { real_time, best_effort },
    })
}
