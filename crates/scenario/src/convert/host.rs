//! `[host]`: costs and policies.

use laxity_model::node::DriverConfig;
use laxity_qos::channel::{
    Block, Config, CoreId, LinkConfig, LinkParadigm, Order, Oversize, Preemption, Processing,
};
use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_qos::discipline::{EarlyPolicy, Shaper};
use laxity_units::{Bytes, Span};

use super::core::{core, core_number};
use super::*;
use crate::choice::{PreemptionWord, Resources};
use crate::frame::frame_of;
use crate::leaf::{Cost, Factor, shortly};
use crate::profile::{Profile, Unmeasured};
use crate::raw::{Packets, RawCosts, RawDriver, RawHost, RawLink, RawPreemption, RawSubsystem};
use crate::written::{Either, Written};

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
    let part = cx.part(part)?;
    let (span, raw) = (part.span(), part.into_inner());
    let RawHost { profile, applications, cores, costs, speedup, subsystem, driver, compute, bus, receive } =
        raw;
    let profile = cx
        .required(profile, "profile", &span, "the host")
        .and_then(|name| Ok((library.profile(cx, name.get_ref(), &name.span())?, name.span())));
    let applications = cx.or(applications, Applications::Separate);
    let costs = cx.part_or_empty(costs, &span).map(|costs| costs.into_inner());
    let subsystem = self::subsystem(cx, subsystem, &span);
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
    let costs = match (named, costs) {
        (Ok(named), Ok(raw)) => replace(cx, named, raw),
        // Still says what is wrong with the overrides.
        (Err(reported), Ok(raw)) => replace(cx, HostCosts::default(), raw).and(Err(reported)),
        (_, Err(reported)) => Err(reported),
    };
    let speedup = self::speedup(cx, speedup);
    let driver = self::driver(cx, driver, &span);
    let many = cx.optional(cores).map(|cores| cores.map_or(1, |cores| cores.into_inner().small() as u8));
    let computing = match &many {
        Ok(cores) => super::computing::computing(cx, compute, *cores),
        Err(reported) => Err(*reported),
    };
    let buses = super::bus::buses(cx, bus);
    let (mut costs, Located { value: (mut subsystem, shapers, resources), spans }) = (costs?, subsystem?);
    let ideal = resources == Resources::Ideal;
    subsystem.cores = many?;
    core(cx, subsystem.link.core, &spans.core, subsystem.cores, "the host")?;
    if ideal {
        subsystem.preemption.immediate = true;
        (costs.context_switch, costs.cache_miss) = (Span::ZERO, Span::ZERO);
    }
    let speedup = speedup?;
    let costs = if speedup == 1.0 { costs } else { costs.with_speedup(speedup) };
    let (reception, pool) = super::reception::costs(cx, receive, &costs, speedup)?;
    let (buses, places) = buses?;
    let spans = HostSpans { buses: places, ..spans };
    let host = HostSpec {
        profile: profile?.0.name.clone(),
        costs,
        reception,
        pool,
        speedup,
        applications: applications?,
        subsystem,
        shapers,
        ideal,
        driver: driver?,
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
pub(super) fn speedup(cx: &mut Context<'_>, factor: Option<Written<Factor>>) -> Result<f64, Reported> {
    let Some(factor) = cx.optional(factor)? else { return Ok(1.0) };
    if factor.get_ref().get() < SLOWEST {
        let reason = format!("{} is less than {SLOWEST}", shortly(factor.get_ref().get()));
        let help = format!("valid is a number from {SLOWEST} to 1000000, such as `12`");
        return Err(cx.fault(&factor.span(), reason, help));
    }
    Ok(factor.into_inner().get())
}

fn driver(
    cx: &mut Context<'_>,
    part: Option<Part<RawDriver>>,
    owner: &Range<usize>,
) -> Result<DriverConfig, Reported> {
    let RawDriver { watchdog, reset_after } = cx.part_or_empty(part, owner)?.into_inner();
    let watchdog = cx.optional(watchdog);
    let reset_after = cx.optional(reset_after);
    Ok(DriverConfig {
        watchdog: watchdog?.map(|every| every.into_inner().get()),
        reset_after: reset_after?.map(|time| time.into_inner().get()),
    })
}

fn replace(cx: &mut Context<'_>, costs: HostCosts, raw: RawCosts) -> Result<HostCosts, Reported> {
    let RawCosts {
        context_switch,
        cache_miss,
        first_packet,
        single_packet,
        packet,
        real_time_packet,
        link_scheduling,
        hand_over,
        interrupt,
        poll,
        response,
        timer,
        ipi,
        thread_creation,
        receive_packet,
        receive_message,
        send_call,
        send_byte,
        receive_byte,
        transfer_byte,
    } = raw;
    let mut or = |written: Option<Written<Bounded<Cost>>>, cost: Span| {
        cx.optional(written).map(|written| written.map_or(cost, |written| written.into_inner().get()))
    };
    let context_switch = or(context_switch, costs.context_switch);
    let cache_miss = or(cache_miss, costs.cache_miss);
    let has_fast_path = costs.single_packet != costs.first_packet;
    let first_packet = or(first_packet, costs.first_packet);
    let slow = first_packet.as_ref().map_or(Span::ZERO, |cost| *cost);
    let fast = if has_fast_path { costs.single_packet.min(slow) } else { slow };
    let single_packet = or(single_packet, fast);
    let packet = or(packet, costs.packet);
    let real_time_packet = or(real_time_packet, costs.real_time_packet);
    let link_scheduling = or(link_scheduling, costs.link_scheduling);
    let hand_over = or(hand_over, costs.hand_over);
    // The cost of the profile, if it has one for each; else the cost of an interrupt here.
    let tells_apart = costs.poll != costs.interrupt;
    let interrupt = or(interrupt, costs.interrupt);
    let usual = if tells_apart { costs.poll } else { interrupt.as_ref().map_or(Span::ZERO, |cost| *cost) };
    let poll = or(poll, usual);
    let response = or(response, costs.response);
    let timer = or(timer, costs.timer);
    let ipi = or(ipi, costs.ipi);
    let thread_creation = or(thread_creation, costs.thread_creation);
    let receive_packet = or(receive_packet, costs.receive_packet);
    let receive_message = or(receive_message, costs.receive_message);
    let send_call = or(send_call, costs.send_call);
    let send_byte = or(send_byte, costs.send_byte);
    let receive_byte = or(receive_byte, costs.receive_byte);
    let transfer_byte = or(transfer_byte, costs.transfer_byte);
    Ok(HostCosts {
        context_switch: context_switch?,
        cache_miss: cache_miss?,
        first_packet: first_packet?,
        single_packet: single_packet?,
        packet: packet?,
        real_time_packet: real_time_packet?,
        link_scheduling: link_scheduling?,
        hand_over: hand_over?,
        interrupt: interrupt?,
        poll: poll?,
        response: response?,
        timer: timer?,
        ipi: ipi?,
        thread_creation: thread_creation?,
        receive_packet: receive_packet?,
        receive_message: receive_message?,
        send_call: send_call?,
        send_byte: send_byte?,
        receive_byte: receive_byte?,
        transfer_byte: transfer_byte?,
    })
}

fn subsystem(
    cx: &mut Context<'_>,
    part: Option<Part<RawSubsystem>>,
    owner: &Range<usize>,
) -> Result<Located<Policies, HostSpans>, Reported> {
    let part = cx.part_or_empty(part, owner)?;
    let span = part.span();
    let RawSubsystem { processing, cpu, early, preemption, resources, enforcement, oversize, packet, link } =
        part.into_inner();
    let processing = cx.or(processing, Processing::PerChannel);
    let cpu_at = cpu.as_ref().map_or_else(|| span.clone(), |cpu| cpu.span.clone());
    let order = cx.or(cpu, Order::MultiClassEdf).and_then(|order| match order.has_frames() {
        true => Err(cx.fault(
            &cpu_at,
            "frames are of packets, and a CPU has none",
            "choose another order for the CPU",
        )),
        false => Ok(order),
    });
    let early = cx.optional(early);
    let preemption = self::preemption(cx, preemption);
    let resources = cx.or(resources, Resources::Real);
    let enforcement = cx.or(enforcement, true);
    let oversize = cx.optional(oversize);
    let packet = cx.optional(packet);
    let link = self::link(cx, link, &span);
    let (link, shapers, mut spans) = link?;
    let early = early?.map(Spanned::into_inner);
    spans.unsaid.early = early.is_none();
    let oversize = oversize?.map(Spanned::into_inner);
    spans.unsaid.oversize = oversize.is_none();
    let packet = packet.map(|packet| {
        spans.packet = packet.as_ref().map(Spanned::span);
        packet.map_or(DEFAULT_PACKET, |packet| packet.into_inner().get())
    });
    let config = Config {
        // The host says how many.
        cores: 1,
        processing: processing?,
        order: order?,
        early: early.unwrap_or(EarlyPolicy::HOLD),
        preemption: preemption?,
        link,
        packet: packet?,
        enforcement: enforcement?,
        oversize: oversize.unwrap_or(Oversize::Intervals),
    };
    Ok(Located { value: (config, shapers, resources?), spans })
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
            let RawPreemption { real_time, early, best_effort } = cx.part(part)?.into_inner();
            let mut or = |written: Option<Written<Or<Packets, Block>>>| {
                let block = cx.optional(written)?.map(|written| match written.into_inner() {
                    Or::This(packets) => Block::Packets(packets.small()),
                    Or::That(block) => block,
                });
                Ok(block.unwrap_or(DEFAULT_BLOCK))
            };
            let (real_time, early, best_effort) = (or(real_time), or(early), or(best_effort));
            Ok(Preemption {
                real_time: real_time?,
                early: early?,
                best_effort: best_effort?,
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
    let part = cx.part_or_empty(part, owner)?;
    let span = part.span();
    let RawLink { paradigm, core, order, frame, horizon, depth, launch, shapers, early_above_best_effort } =
        part.into_inner();
    let paradigm = cx.optional(paradigm);
    let core = core_number(cx, core);
    let order = cx.optional(order);
    let horizon = cx.optional(horizon).map(|horizon| horizon.map(|horizon| horizon.into_inner().get()));
    let depth = cx.optional(depth);
    let launch = cx.optional(launch);
    let shaped = shapers.as_ref().map(|list| list.span.clone());
    let shapers = super::selection::shapers(cx, shapers);
    let above_best_effort = cx.optional(early_above_best_effort);
    let paradigm = paradigm?;
    let (horizon, above_best_effort) = (horizon?, above_best_effort?.map(Spanned::into_inner));
    let unsaid =
        Unsaid { early: true, oversize: true, horizon: horizon.is_none() && above_best_effort.is_none() };
    let core = core?;
    let spans = HostSpans {
        core: core.as_ref().map_or(span.clone(), |(_, at)| at.clone()),
        unsaid,
        packet: None,
        buses: Vec::new(),
    };
    let paradigm = paradigm.map_or(LinkParadigm::O1, Spanned::into_inner);
    // Where the adapter schedules, the host neither orders nor limits what it hands over.
    let (usual_order, usual_depth) = match paradigm {
        LinkParadigm::Adapter => (Order::Fifo, u32::MAX),
        _ => (Order::MultiClassEdf, 1),
    };
    let order = order?.map_or(usual_order, Spanned::into_inner);
    let launch = match launch? {
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
        core: core.map_or(CoreId::FIRST, |(core, _)| core),
        order,
        frame: {
            let frame = crate::section::Key::optional(cx, frame, "frame", |frame| frame.get());
            frame_of(cx, &frame, order, &span)?
        },
        // The adapter decides the speed.
        speed: LinkCosts::default(),
        early: EarlyPolicy {
            horizon: horizon.unwrap_or_default(),
            above_best_effort: above_best_effort.unwrap_or_default(),
        },
        depth: depth?.map_or(usual_depth, |depth| depth.into_inner().small()),
        launch: launch.map(|launch| launch.into_inner().get()),
    };
    Ok((config, shapers, spans))
}
