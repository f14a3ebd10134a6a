//! `[run]`: how long, by packets or by time, and how much of it at either end is not counted.

use super::*;
use crate::section::example;

/// How long the run is, of which what is counted, and the clock that it is under.
pub(super) fn run(
    cx: &mut Context<'_>,
    part: Part<RawRun>,
    (clock, misses): (&mut ClockKind, &mut MissesEffect),
) -> Result<RunLength, Reported> {
    let (span, keys) = cx.keys(part, "")?;
    (*clock, *misses) = (keys.clock.value?, keys.misses.value?);
    let (warmup, cooldown) = (keys.warmup.placed(), keys.cooldown.placed());
    match (&keys.packets.at, &keys.time.at) {
        (Some(span), None) => {
            let warmup = warmup.and_then(|warmup| in_packets(cx, warmup.as_ref()));
            let cooldown = cooldown.and_then(|cooldown| in_packets(cx, cooldown.as_ref()));
            let (total, warmup, cooldown) = (keys.packets.value?.map_or(0, Whole::get), warmup?, cooldown?);
            if warmup + cooldown >= total {
                let reason = format!("warm-up and cool-down leave nothing of {total} packets to count");
                return Err(cx.fault(span, reason, "run longer, or leave out less"));
            }
            Ok(RunLength::Packets { total, warmup, cooldown })
        }
        (None, Some(span)) => {
            let warmup = warmup.and_then(|warmup| in_time(cx, warmup.as_ref()));
            let cooldown = cooldown.and_then(|cooldown| in_time(cx, cooldown.as_ref()));
            let (total, warmup, cooldown) = (keys.time.value?.unwrap_or_default(), warmup?, cooldown?);
            if warmup.saturating_add(cooldown) >= total {
                let reason = format!("warm-up and cool-down leave nothing of {total} to count");
                return Err(cx.fault(span, reason, "run longer, or leave out less"));
            }
            Ok(RunLength::Time { total, warmup, cooldown })
        }
        (Some(_), Some(time)) => {
            let help = "keep either `packets` or `time`";
            Err(cx.fault(time, "a run ends by packets or by time, not by both", help))
        }
        (None, None) => {
            let help = "add `packets = 32768` or `time = \"10 s\"`";
            Err(cx.fault(&span, "nothing says when the run ends", help))
        }
    }
}

fn in_packets(cx: &mut Context<'_>, amount: Option<&Spanned<Amount>>) -> Result<u64, Reported> {
    match amount.map(|amount| (amount.span(), amount.get_ref())) {
        None => Ok(0),
        Some((_, Or::This(packets))) => Ok(packets.get()),
        Some((span, Or::That(_))) => {
            let help = format!("valid is {}", example::<Whole<0, 1_000_000_000_000>>());
            Err(cx.fault(&span, "the run is counted in packets, and so must this be", help))
        }
    }
}

fn in_time(cx: &mut Context<'_>, amount: Option<&Spanned<Amount>>) -> Result<Span, Reported> {
    match amount.map(|amount| (amount.span(), amount.get_ref())) {
        None => Ok(Span::ZERO),
        Some((_, Or::That(time))) => Ok(time.get()),
        Some((span, Or::This(_))) => {
            let help = format!("valid is {}", example::<Bounded<Length>>());
            Err(cx.fault(&span, "the run is measured in time, and so must this be", help))
        }
    }
}
