//! `[via]`: nodes whose adapters have virtual interfaces.

use laxity_model::via::{Doorbells, Engine, Engines, Firmware, FirmwareCosts, ViLimits, ViaConfig};
use laxity_units::{Bytes, Time};
use laxity_world::experiment::{Renegotiation, ViaSpec};

use super::*;
use crate::choice::{DoorbellsKind, FirmwareKind};
use crate::leaf::Cost;
use crate::raw::{RawRenegotiation, RawVia, RawViaCosts};
use crate::written::List;

/// Default costs of programs and wires: a Pentium Pro of 400 MHz that writes a descriptor and a
/// doorbell across PCI, or finds completion information by polling, and a Myrinet switch. The paper
/// prints neither, so its claims are judged over a range.
const PROGRAM: Span = Span::from_us(2);
const LATENCY: Span = Span::from_ns(500);

/// Default number of items without a bandwidth that are inside at a time.
const AHEAD: u32 = 4;

/// The longest time between two messages that is a bandwidth.
const LONGEST: Span = Span::from_secs(1_000_000);

/// The cluster, its nodes, and what is to be read when there are channels.
pub(super) type Read = (ViaSpec, usize, Option<List<Part<RawRenegotiation>>>);

/// Reads `[via]`.
pub(super) fn via(cx: &mut Context<'_>, part: Part<RawVia>) -> Result<Read, Reported> {
    let part = cx.part(part)?;
    let (owner, raw) = (part.span(), part.into_inner());
    let RawVia {
        firmware,
        overlap,
        nodes,
        latency,
        post,
        reap,
        receives,
        credits,
        depth,
        send_buffers,
        receive_buffers,
        nsdma_queue,
        guard,
        best_effort,
        doorbells,
        ahead,
        speedup,
        costs,
        renegotiate,
    } = raw;
    let kind = cx.required(firmware, "firmware", &owner, "the cluster").map(Spanned::into_inner);
    if let Ok(kind) = kind {
        of_firmware(cx, kind, &overlap, &[FirmwareKind::Sequential], "it waits for nothing else")?;
        let parallel = [FirmwareKind::Parallel, FirmwareKind::QualityOfService];
        let one = "a sequence has one message in hand";
        of_firmware(cx, kind, &send_buffers, &parallel, one)?;
        of_firmware(cx, kind, &nsdma_queue, &parallel, one)?;
        let stamped = [FirmwareKind::QualityOfService];
        of_firmware(cx, kind, &guard, &stamped, "its queues are in order of arrival")?;
        of_firmware(cx, kind, &best_effort, &stamped, "it tells nobody from best effort")?;
        of_firmware(cx, kind, &doorbells, &stamped, "it tells nobody from others")?;
    }
    let doorbells = doorbells_of(cx, doorbells, ahead)?;
    let overlap = cx.or(overlap, false);
    let nodes = cx.optional(nodes).map(|nodes| nodes.map_or(2, |nodes| nodes.into_inner().small()));
    let latency = cx.optional(latency).map(|span| span.map_or(LATENCY, |span| span.into_inner().get()));
    let post = cost(cx, post, PROGRAM);
    let reap = cost(cx, reap, PROGRAM);
    if let (Some(credits), Some(receives)) = (&credits, &receives)
        && let (Ok(window), Ok(posted)) = (&credits.value, &receives.value)
        && window.get() > posted.get()
    {
        let (window, posted) = (window.get(), posted.get());
        let reason = format!(
            "of {window} messages with credit, {posted} find a descriptor, and credits of lost ones are lost"
        );
        let help = format!("say at most {posted} here, or post more by `receives`");
        return Err(cx.fault(&credits.span, reason, help));
    }
    let receives = few(cx, receives);
    let credits = few(cx, credits);
    let depth = few(cx, depth);
    let send_buffers = few(cx, send_buffers);
    let receive_buffers = few(cx, receive_buffers);
    let nsdma_queue = cx.or(nsdma_queue, false);
    let guard = cx
        .optional(guard)
        .map(|guard| guard.map_or(ViLimits::NONE.guard, |guard| guard.into_inner().small()));
    let best_effort = cx.optional(best_effort);
    let firmware = match (kind?, overlap?) {
        (FirmwareKind::Sequential, overlap) => Firmware::Sequential { overlap },
        (FirmwareKind::Parallel, _) => Firmware::Parallel,
        (FirmwareKind::QualityOfService, _) => Firmware::QualityOfService,
    };
    let speedup = host::speedup(cx, speedup)?;
    let costs = self::costs(cx, firmware, costs, &owner);
    let limits = ViLimits {
        send_buffers: send_buffers?,
        receive_buffers: receive_buffers?,
        nsdma_queue: nsdma_queue?,
        guard: guard?,
        best_effort: best_effort?.map(|rate| rate.into_inner().get()),
        doorbells,
    };
    let (costs, engines) = costs?;
    let costs = if speedup == 1.0 { costs } else { costs.with_speedup(speedup) };
    let (receives, credits, depth) = (receives?, credits?, depth?);
    let spec = ViaSpec {
        adapter: ViaConfig { firmware, costs, engines, limits },
        post: post?,
        reap: reap?,
        latency: latency?,
        receives,
        credits,
        depth,
        renegotiations: Vec::new(),
    };
    Ok((spec, nodes? as usize, renegotiate))
}

/// How doorbells wait.
fn doorbells_of(
    cx: &mut Context<'_>,
    kind: Option<Written<DoorbellsKind>>,
    ahead: Option<Written<Whole<1, 1000>>>,
) -> Result<Doorbells, Reported> {
    match cx.or(kind, DoorbellsKind::Merged)? {
        DoorbellsKind::Merged => {
            let reason = "doorbells that are merged are taken as they come";
            cx.foreign(&ahead, reason, "remove this, or say `doorbells = \"apart\"`")?;
            Ok(Doorbells::Merged)
        }
        DoorbellsKind::Apart => {
            let ahead = cx.optional(ahead)?.map_or(AHEAD, |ahead| ahead.into_inner().small());
            Ok(Doorbells::Apart { ahead })
        }
    }
}

/// The renegotiations of `channels`, in the order of time.
pub(super) fn renegotiations(
    cx: &mut Context<'_>,
    list: Option<List<Part<RawRenegotiation>>>,
    channels: &[ChannelSpec],
) -> Result<Vec<Renegotiation>, Reported> {
    let parts = cx.items(list)?;
    let all: Vec<_> = parts.into_iter().map(|part| renegotiation(cx, part, channels)).collect();
    let mut all: Vec<Renegotiation> = all.into_iter().collect::<Result<_, _>>()?;
    all.sort_by_key(|new| new.at);
    Ok(all)
}

fn renegotiation(
    cx: &mut Context<'_>,
    part: Part<RawRenegotiation>,
    channels: &[ChannelSpec],
) -> Result<Renegotiation, Reported> {
    let part = cx.part(part)?;
    let (owner, raw) = (part.span(), part.into_inner());
    let RawRenegotiation { channel, at, rate } = raw;
    let what = "the renegotiation";
    let name = cx.required(channel, "channel", &owner, what);
    let at = cx.required(at, "at", &owner, what);
    let rate = cx.required(rate, "rate", &owner, what);
    let (name, at, rate) = (name?, Time::ZERO + at?.into_inner().get(), rate?);
    let Some(channel) = channels.iter().position(|channel| channel.name == name.get_ref().0) else {
        let help = format!("channels are {}", list(channels.iter().map(|channel| &channel.name)));
        return Err(cx.fault(&name.span(), format!("there is no channel `{}`", name.get_ref().0), help));
    };
    if channels[channel].class == Class::BestEffort {
        let reason = format!("`{}` is best effort and has no bandwidth", name.get_ref().0);
        return Err(cx.fault(&name.span(), reason, "name a channel of the class `real_time`"));
    }
    let (span, rate) = (rate.span(), rate.into_inner().get());
    let interval = rate.time_for_ceil(channels[channel].spec.max_message);
    if interval > LONGEST {
        let reason = format!("a message every {interval} is no bandwidth");
        return Err(cx.fault(&span, reason, format!("let there be one every {LONGEST} at least")));
    }
    Ok(Renegotiation { at, channel, interval })
}

/// Refuses a key that another firmware has no use for.
fn of_firmware(
    cx: &mut Context<'_>,
    kind: FirmwareKind,
    written: &dyn crate::section::At,
    with: &[FirmwareKind],
    reason: &str,
) -> Result<(), Reported> {
    if with.contains(&kind) {
        return Ok(());
    }
    let words = with.iter().map(|kind| crate::leaf::word(*kind));
    let help = format!("remove this, or use the firmware {}", list(words));
    cx.foreign(written, &format!("`{}` has no use for this: {reason}", crate::leaf::word(kind)), &help)
}

fn few(cx: &mut Context<'_>, written: Option<Written<Whole<1, 1_000_000>>>) -> Result<Option<u32>, Reported> {
    Ok(cx.optional(written)?.map(|count| count.into_inner().small()))
}

fn cost(
    cx: &mut Context<'_>,
    written: Option<Written<Bounded<Cost>>>,
    default: Span,
) -> Result<Span, Reported> {
    Ok(cx.optional(written)?.map_or(default, |cost| cost.into_inner().get()))
}

fn costs(
    cx: &mut Context<'_>,
    firmware: Firmware,
    part: Option<Part<RawViaCosts>>,
    owner: &Range<usize>,
) -> Result<(FirmwareCosts, Engines), Reported> {
    let RawViaCosts {
        poll,
        doorbell,
        note,
        data,
        fragment,
        queue,
        start,
        status,
        finish,
        scan,
        descriptor,
        completion,
        hdma,
        down,
        up,
        frame,
        byte,
    } = cx.part_or_empty(part, owner)?.into_inner();
    let poll = cost(cx, poll, FirmwareCosts::LOOK)?;
    let by_table = FirmwareCosts::table_1(firmware, poll);
    let costs = FirmwareCosts {
        poll,
        doorbell: cost(cx, doorbell, by_table.doorbell)?,
        note: cost(cx, note, by_table.note)?,
        data: cost(cx, data, by_table.data)?,
        fragment: cost(cx, fragment, by_table.fragment)?,
        queue: cost(cx, queue, by_table.queue)?,
        start: cost(cx, start, by_table.start)?,
        status: cost(cx, status, by_table.status)?,
        finish: cost(cx, finish, by_table.finish)?,
        scan: cost(cx, scan, by_table.scan)?,
    };
    let table = Engines::TABLE_1;
    let mut per_byte = |written: Option<Written<Bounded<crate::leaf::PerByte>>>, default: Span| {
        Ok(cx.optional(written)?.map_or(default, |span| span.into_inner().get()))
    };
    let (down, up, byte) = (
        per_byte(down, table.down.per_byte)?,
        per_byte(up, table.up.per_byte)?,
        per_byte(byte, table.network.per_byte)?,
    );
    let startup = cost(cx, hdma, table.down.startup)?;
    let engines = Engines {
        down: Engine { startup, per_byte: down },
        up: Engine { startup, per_byte: up },
        descriptor: cost(cx, descriptor, table.descriptor)?,
        status: cost(cx, completion, table.status)?,
        network: Engine { startup: cost(cx, frame, table.network.startup)?, per_byte: byte },
    };
    Ok((costs, engines))
}

/// Refuses what a cluster of virtual interfaces has no part of, and what would never end.
pub(super) fn only_virtual_interfaces(
    cx: &mut Context<'_>,
    experiment: &Experiment,
    via: &ViaSpec,
) -> Result<(), Reported> {
    let Experiment { faults, ports, clock, admission, task, channels, .. } = experiment;
    let instant = via.adapter.engines.network.takes(Bytes::new(1)).is_zero();
    let (reason, help) = match () {
        () if admission.formula.is_some_and(Formula::is_published) => (
            "the papers have no formulas for virtual interfaces",
            "use the formula `\"corrected\"`, or `\"off\"`",
        ),
        () if matches!(task, Task::Fill(_)) => {
            ("no copies are counted of virtual interfaces", "remove `fill` under `[admission]`")
        }
        () if !faults.is_empty() => ("faults are of adapters in stages", "remove `[[fault]]`"),
        () if !ports.is_empty() => ("ports are of hosts that schedule", "remove `[[port]]`"),
        () if *clock == ClockKind::Real => {
            ("virtual interfaces run under virtual time", "remove `clock` under `[run]`")
        }
        () if channels.iter().any(|channel| matches!(channel.source, SourceSpec::Continuous(_))) => (
            "a source that keeps its queue full has none to fill here",
            "use `closed` with messages `outstanding`, or a source with a rate",
        ),
        () if instant && channels.iter().any(|channel| channel.source.is_endless()) => (
            "a source without end sends for ever at one instant where the network takes no time",
            "give `[via.costs]` a `frame` or `byte`, or the channel a source with a rate",
        ),
        () => return Ok(()),
    };
    Err(cx.fault(&WHOLE, reason, help))
}
