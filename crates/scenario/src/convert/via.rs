//! `[via]`: nodes whose adapters have virtual interfaces.

use laxity_model::via::{Doorbells, Engine, Engines, Firmware, FirmwareCosts, ViLimits, ViaConfig};
use laxity_units::{Bytes, Time};
use laxity_world::experiment::{Renegotiation, ViaSpec};

use super::*;
use crate::choice::{DoorbellsKind, FirmwareKind};
use crate::leaf::word;
use crate::raw::{RawRenegotiation, RawVia, RawViaCosts};
use crate::section::{Key, strays};
use crate::written::List;

/// The longest time between two messages that is a bandwidth.
const LONGEST: Span = Span::from_secs(1_000_000);

/// The cluster, its nodes, and what is to be read when there are channels.
pub(super) type Read = (ViaSpec, usize, Option<List<Part<RawRenegotiation>>>);

/// Reads `[via]`.
pub(super) fn via(cx: &mut Context<'_>, part: Part<RawVia>) -> Result<Read, Reported> {
    let (owner, keys) = cx.keys(part, "the cluster")?;
    if let Ok(kind) = keys.firmware.value
        && let Some((stray, at)) = strays(keys.owned(), kind).next()
    {
        let reason = match stray.key {
            "overlap" => "it waits for nothing else",
            "guard" => "its queues are in order of arrival",
            "best_effort" => "it tells nobody from best effort",
            "doorbells" => "it tells nobody from others",
            _ => "a sequence has one message in hand",
        };
        let reason = format!("`{}` has no use for this: {reason}", word(kind));
        let words = stray.of.iter().map(|kind| word(*kind));
        let help = format!("remove this, or use the firmware {}", list(words));
        return Err(cx.fault(&at, reason, help));
    }
    let doorbells = doorbells_of(cx, keys.doorbells.value?, &keys.ahead)?;
    let (receives, credits) = (keys.receives.value?, keys.credits.value?);
    if let (Some(window), Some(posted)) = (credits, receives)
        && window.get() > posted.get()
    {
        let (window, posted) = (window.get(), posted.get());
        let reason = format!(
            "of {window} messages with credit, {posted} find a descriptor, and credits of lost ones are lost"
        );
        let help = format!("say at most {posted} here, or post more by `receives`");
        return Err(cx.fault(&keys.credits.at.unwrap_or_default(), reason, help));
    }
    let few = |few: Option<Whole<1, 1_000_000>>| few.map(Whole::small);
    let firmware = match (keys.firmware.value?, keys.overlap.value?) {
        (FirmwareKind::Sequential, overlap) => Firmware::Sequential { overlap },
        (FirmwareKind::Parallel, _) => Firmware::Parallel,
        (FirmwareKind::QualityOfService, _) => Firmware::QualityOfService,
    };
    let speedup = host::speedup(cx, &keys.speedup)?;
    let (costs, engines) = self::costs(cx, firmware, keys.costs, &owner)?;
    let limits = ViLimits {
        send_buffers: few(keys.send_buffers.value?),
        receive_buffers: few(keys.receive_buffers.value?),
        nsdma_queue: keys.nsdma_queue.value?,
        guard: keys.guard.value?.small(),
        best_effort: keys.best_effort.value?,
        doorbells,
    };
    let costs = if speedup == 1.0 { costs } else { costs.with_speedup(speedup) };
    let spec = ViaSpec {
        adapter: ViaConfig { firmware, costs, engines, limits },
        post: keys.post.value?,
        reap: keys.reap.value?,
        latency: keys.latency.value?,
        receives: few(receives),
        credits: few(credits),
        depth: few(keys.depth.value?),
        renegotiations: Vec::new(),
    };
    Ok((spec, keys.nodes.value?.get() as usize, keys.renegotiate))
}

/// How doorbells wait.
fn doorbells_of(
    cx: &mut Context<'_>,
    kind: DoorbellsKind,
    ahead: &Key<Whole<1, 1000>>,
) -> Result<Doorbells, Reported> {
    match kind {
        DoorbellsKind::Merged => {
            let reason = "doorbells that are merged are taken as they come";
            cx.foreign(ahead, reason, "remove this, or say `doorbells = \"apart\"`")?;
            Ok(Doorbells::Merged)
        }
        DoorbellsKind::Apart => Ok(Doorbells::Apart { ahead: ahead.value?.small() }),
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
    let (_, keys) = cx.keys(part, "the renegotiation")?;
    let (name, at, rate) = (keys.channel.spanned()?, Time::ZERO + keys.at.value?, keys.rate.spanned()?);
    let Some(channel) = channels.iter().position(|channel| channel.name == name.get_ref().0) else {
        let help = format!("channels are {}", list(channels.iter().map(|channel| &channel.name)));
        return Err(cx.fault(&name.span(), format!("there is no channel `{}`", name.get_ref().0), help));
    };
    if channels[channel].class == Class::BestEffort {
        let reason = format!("`{}` is best effort and has no bandwidth", name.get_ref().0);
        return Err(cx.fault(&name.span(), reason, "name a channel of the class `real_time`"));
    }
    let (span, rate) = (rate.span(), rate.into_inner());
    let interval = rate.time_for_ceil(channels[channel].spec.max_message);
    if interval > LONGEST {
        let reason = format!("a message every {interval} is no bandwidth");
        return Err(cx.fault(&span, reason, format!("let there be one every {LONGEST} at least")));
    }
    Ok(Renegotiation { at, channel, interval })
}

fn costs(
    cx: &mut Context<'_>,
    firmware: Firmware,
    part: Option<Part<RawViaCosts>>,
    owner: &Range<usize>,
) -> Result<(FirmwareCosts, Engines), Reported> {
    let (_, keys) = cx.keys_or_none(part, owner)?;
    let mut costs = FirmwareCosts::table_1(firmware, keys.poll.value?);
    keys.fill(&mut costs)?;
    let table = Engines::TABLE_1;
    let startup = keys.hdma.value?.unwrap_or(table.down.startup);
    let engine = |startup, per_byte: Key<Option<Span>>, usual: Engine| {
        Ok(Engine { startup, per_byte: per_byte.value?.unwrap_or(usual.per_byte) })
    };
    let engines = Engines {
        down: engine(startup, keys.down, table.down)?,
        up: engine(startup, keys.up, table.up)?,
        descriptor: keys.descriptor.value?.unwrap_or(table.descriptor),
        status: keys.completion.value?.unwrap_or(table.status),
        network: engine(keys.frame.value?.unwrap_or(table.network.startup), keys.byte, table.network)?,
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
        () if instant && channels.iter().any(|channel| channel.source.is_untimed()) => (
            "a source without end sends for ever at one instant where the network takes no time",
            "give `[via.costs]` a `frame` or `byte`, or the channel a source with a rate",
        ),
        () => return Ok(()),
    };
    Err(cx.fault(&WHOLE, reason, help))
}
