//! `[host]`: costs and policies.

use laxity_model::node::DriverConfig;
use laxity_qos::channel::{Block, Config, CoreId, LinkConfig, LinkParadigm, Order, Oversize, Preemption};
use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_qos::discipline::{EarlyPolicy, Shaper};
use laxity_units::{Bytes, Span};

use super::core::core;
use super::*;
use crate::choice::{PreemptionWord, Resources};
use crate::frame::frame_of;
use crate::leaf::shortly;
use crate::profile::{Profile, Unmeasured};
use crate::raw::{CostsKeys, Packets, RawHost, RawLink, RawPreemption, RawSubsystem};
use crate::section::{At, Key};
use crate::written::Either;

/// Default of `S`.
pub(super) const DEFAULT_PACKET: Bytes = Bytes::from_kib(4);
/// Default of `P`.
const DEFAULT_BLOCK: Block = Block::Packets(4);
/// The least speed-up, so that costs stay in the range of picoseconds.
const SLOWEST: f64 = 0.01;

/// The policies of a host, the shapers of its adapters, and its resources.
type Policies = (Config, Vec<Shaper>, Resources);

pub(super) fn host(
    cx: &mut Context<'_>,
    library: &mut Library<'_>,
    part: Part<RawHost>,
) -> Result<Located<HostSpec, HostSpans>, Reported> {
    let (span, keys) = cx.keys(part, "the host")?;
    let profile = keys
        .profile
        .spanned()
        .and_then(|name| Ok((library.profile(cx, name.get_ref(), &name.span())?, name.span())));
    let costs = cx.keys_or_none(keys.costs, &span);
    let subsystem = self::subsystem(cx, keys.subsystem, &span);
    let named = match (&profile, &subsystem) {
        (Ok((profile, at)), Ok(Located { value: (config, ..), spans })) => {
            let at = spans.packet.as_ref().unwrap_or(at);
            profile
                .costs_for(config.packet)
                .map_err(|error| unmeasured(cx, at, profile, config.packet, &error))
        }
        // Any packet will do to say what else is wrong.
        (Ok((profile, _)), Err(_)) => Ok(profile.costs),
        (Err(reported), _) => Err(*reported),
    };
    let costs = named.and_then(|named| replace(named, &costs?.1));
    let speedup = self::speedup(cx, &keys.speedup);
    let driver = cx.keys_or_none(keys.driver, &span);
    let cores = keys.cores.value.map(|cores| cores.small() as u8);
    let computing = cores.and_then(|cores| super::computing::computing(cx, keys.compute, cores));
    let buses = super::bus::buses(cx, keys.bus);
    let (mut costs, Located { value: (mut subsystem, shapers, resources), spans }) = (costs?, subsystem?);
    let ideal = resources == Resources::Ideal;
    subsystem.cores = cores?;
    core(cx, subsystem.link.core, &spans.core, subsystem.cores, "the host")?;
    if ideal {
        subsystem.preemption.immediate = true;
        (costs.context_switch, costs.cache_miss) = (Span::ZERO, Span::ZERO);
    }
    let speedup = speedup?;
    let costs = if speedup == 1.0 { costs } else { costs.with_speedup(speedup) };
    let (reception, pool) = super::reception::costs(cx, keys.receive, &costs, speedup)?;
    let ((buses, places), (_, driver)) = (buses?, driver?);
    let spans = HostSpans { buses: places, ..spans };
    let host = HostSpec {
        profile: profile?.0.name.clone(),
        costs,
        reception,
        pool,
        speedup,
        applications: keys.applications.value?,
        subsystem,
        shapers,
        ideal,
        driver: DriverConfig { watchdog: driver.watchdog.value?, reset_after: driver.reset_after.value? },
        computing: computing?,
        buses,
    };
    Ok(Located { value: host, spans })
}

/// A host without scheduling: all its costs are zero.
pub(super) fn none(cx: &mut Context<'_>) -> Result<Located<HostSpec, HostSpans>, Reported> {
    let Located { value: (subsystem, shapers, _), spans } = subsystem(cx, None, &WHOLE)?;
    let costs = HostCosts::default();
    let (reception, pool) = super::reception::costs(cx, None, &costs, 1.0)?;
    let host = HostSpec {
        profile: "none".into(),
        costs,
        reception,
        pool,
        speedup: 1.0,
        applications: Applications::Separate,
        subsystem,
        shapers,
        ideal: false,
        driver: DriverConfig::default(),
        computing: Vec::new(),
        buses: Vec::new(),
    };
    Ok(Located { value: host, spans })
}

/// Refuses a profile for packets that it was not measured with.
fn unmeasured(
    cx: &mut Context<'_>,
    at: &Range<usize>,
    profile: &Profile,
    packet: Bytes,
    error: &Unmeasured,
) -> Reported {
    let (name, (least, most)) = (&profile.name, error.measured);
    let reason = format!(
        "the profile `{name}` was measured with packets of {least} to {most}, and these are of {packet}"
    );
    let valid = format!("valid is `packet` of `[host.subsystem]` from {least} to {most}");
    let help = match packet > most {
        true => format!("{valid}; `laxity calibrate --packet {}` measures up to these", packet.get()),
        false => format!("{valid}; no smaller ones are measured"),
    };
    cx.fault(at, reason, help)
}

/// How many times as fast processors are.
pub(super) fn speedup(cx: &mut Context<'_>, factor: &Key<f64>) -> Result<f64, Reported> {
    let value = factor.value?;
    if let Some(at) = factor.at.as_ref().filter(|_| value < SLOWEST) {
        let reason = format!("{} is less than {SLOWEST}", shortly(value));
        let help = format!("valid is a number from {SLOWEST} to 1000000, such as `12`");
        return Err(cx.fault(at, reason, help));
    }
    Ok(value)
}

/// The costs of a profile with those of a file in their place.
fn replace(profile: HostCosts, keys: &CostsKeys) -> Result<HostCosts, Reported> {
    let mut costs = profile;
    keys.fill(&mut costs)?;
    let has_fast_path = profile.single_packet != profile.first_packet;
    let slow = costs.first_packet;
    let fast = if has_fast_path { profile.single_packet.min(slow) } else { slow };
    costs.single_packet = keys.single_packet.value?.unwrap_or(fast);
    // The cost of the profile, if it has one for each; else the cost of an interrupt here.
    let tells_apart = profile.poll != profile.interrupt;
    let usual = if tells_apart { profile.poll } else { costs.interrupt };
    costs.poll = keys.poll.value?.unwrap_or(usual);
    Ok(costs)
}

fn subsystem(
    cx: &mut Context<'_>,
    part: Option<Part<RawSubsystem>>,
    owner: &Range<usize>,
) -> Result<Located<Policies, HostSpans>, Reported> {
    let (span, keys) = cx.keys_or_none(part, owner)?;
    let preemption = self::preemption(cx, keys.preemption);
    let link = self::link(cx, keys.link, &span);
    let order = keys.cpu.value?;
    if order.has_frames() {
        let at = keys.cpu.at.as_ref().unwrap_or(&span);
        let help = "choose another order for the CPU";
        return Err(cx.fault(at, "frames are of packets, and a CPU has none", help));
    }
    let (link, shapers, mut spans) = link?;
    let (early, oversize) = (keys.early.value?, keys.oversize.value?);
    (spans.unsaid.early, spans.unsaid.oversize) = (early.is_none(), oversize.is_none());
    spans.packet = keys.packet.at;
    let config = Config {
        // The host says how many.
        cores: 1,
        processing: keys.processing.value?,
        order,
        early: early.unwrap_or(EarlyPolicy::HOLD),
        preemption: preemption?,
        link,
        packet: keys.packet.value?,
        enforcement: keys.enforcement.value?,
        oversize: oversize.unwrap_or(Oversize::Intervals),
    };
    Ok(Located { value: (config, shapers, keys.resources.value?), spans })
}

fn preemption(
    cx: &mut Context<'_>,
    raw: Option<Either<Or<Packets, PreemptionWord>, RawPreemption>>,
) -> Result<Preemption, Reported> {
    let all = |block, immediate| Preemption { real_time: block, early: block, best_effort: block, immediate };
    match raw {
        None => Ok(all(DEFAULT_BLOCK, false)),
        Some(Either::Scalar(written)) => Ok(match cx.value(written)?.into_inner() {
            Or::This(packets) => all(Block::Packets(packets.small()), false),
            Or::That(PreemptionWord::Block(block)) => all(block, false),
            // Immediate preemption has no preemption points.
            Or::That(PreemptionWord::Immediate(_)) => all(Block::Packets(1), true),
        }),
        Some(Either::Table(part)) => {
            let (_, keys) = cx.keys(part, "")?;
            let block = |block| match block {
                Or::This(packets) => Block::Packets(Packets::small(packets)),
                Or::That(block) => block,
            };
            Ok(Preemption {
                real_time: block(keys.real_time.value?),
                early: block(keys.early.value?),
                best_effort: block(keys.best_effort.value?),
                immediate: false,
            })
        }
    }
}

fn link(
    cx: &mut Context<'_>,
    part: Option<Part<RawLink>>,
    owner: &Range<usize>,
) -> Result<(LinkConfig, Vec<Shaper>, HostSpans), Reported> {
    let (span, keys) = cx.keys_or_none(part, owner)?;
    let shaped = keys.shapers.at();
    let shapers = super::selection::shapers(cx, keys.shapers);
    let (paradigm, horizon) = (keys.paradigm.value?, keys.horizon.value?);
    let above_best_effort = keys.early_above_best_effort.value?;
    let unsaid =
        Unsaid { early: true, oversize: true, horizon: horizon.is_none() && above_best_effort.is_none() };
    let spans = HostSpans {
        core: keys.core.at.unwrap_or_else(|| span.clone()),
        unsaid,
        packet: None,
        buses: Vec::new(),
    };
    // Where the adapter schedules, the host neither orders nor limits what it hands over.
    let (usual_order, usual_depth) = match paradigm {
        LinkParadigm::Adapter => (Order::Fifo, u32::MAX),
        _ => (Order::MultiClassEdf, 1),
    };
    let order = keys.order.value?.unwrap_or(usual_order);
    let launch = match keys.launch.placed()? {
        Some(launch) if paradigm != LinkParadigm::Adapter => {
            let reason =
                "a packet waits for its launch time in the adapter, which has each packet as it is made";
            return Err(cx.fault(&launch.span(), reason, "say `paradigm = \"adapter\"`, or remove this"));
        }
        launch => launch,
    };
    let shapers = shapers?;
    if let Some(span) = shaped.filter(|_| !shapers.is_empty()) {
        if paradigm != LinkParadigm::Adapter {
            let reason = "a packet waits for its credit in the adapter, which has each packet as it is made";
            return Err(cx.fault(&span, reason, "say `paradigm = \"adapter\"`, or remove this"));
        }
        if launch.is_some() {
            let reason = "an adapter has launch times or shapers, and not both";
            return Err(cx.fault(&span, reason, "remove this, or remove `launch`"));
        }
    }
    let config = LinkConfig {
        paradigm,
        core: CoreId(keys.core.value?.small() as u8),
        order,
        frame: frame_of(cx, &keys.frame, order, &span)?,
        // The adapter decides the speed.
        speed: LinkCosts::default(),
        early: EarlyPolicy {
            horizon: horizon.unwrap_or_default(),
            above_best_effort: above_best_effort.unwrap_or_default(),
        },
        depth: keys.depth.value?.map_or(usual_depth, Whole::small),
        launch: launch.map(Spanned::into_inner),
    };
    Ok((config, shapers, spans))
}
