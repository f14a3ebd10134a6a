//! `[run]`: how long, by packets or by time, and how much of it at either end is not counted.

use super::*;

/// How long the run is, of which what is counted, and the clock that it is under.
pub(super) fn run(
    cx: &mut Context<'_>,
    part: Part<RawRun>,
    (clock, misses): (&mut ClockKind, &mut MissesEffect),
) -> Result<RunLength, Reported> {
    let part = cx.part(part)?;
    let (span, raw) = (part.span(), part.into_inner());
    let RawRun { clock: kind, misses: failure, packets, time, warmup, cooldown } = raw;
    *clock = cx.or(kind, ClockKind::Virtual)?;
    *misses = cx.or(failure, MissesEffect::Fail)?;
    match (packets, time) {
        (Some(packets), None) => {
            let total = cx.value(packets);
            let warmup = cx.optional(warmup).and_then(|warmup| in_packets(cx, warmup.as_ref()));
            let cooldown = cx.optional(cooldown).and_then(|cooldown| in_packets(cx, cooldown.as_ref()));
            let (total, warmup, cooldown) = (total?, warmup?, cooldown?);
            let (span, total) = (total.span(), total.into_inner().get());
            if warmup + cooldown >= total {
                let reason = format!("warm-up and cool-down leave nothing of {total} packets to count");
                return Err(cx.fault(&span, reason, "run longer, or leave out less"));
            }
            Ok(RunLength::Packets { total, warmup, cooldown })
        }
        (None, Some(time)) => {
            let total = cx.value(time);
            let warmup = cx.optional(warmup).and_then(|warmup| in_time(cx, warmup.as_ref()));
            let cooldown = cx.optional(cooldown).and_then(|cooldown| in_time(cx, cooldown.as_ref()));
            let (total, warmup, cooldown) = (total?, warmup?, cooldown?);
            let (span, total) = (total.span(), total.into_inner().get());
            if warmup.saturating_add(cooldown) >= total {
                let reason = format!("warm-up and cool-down leave nothing of {total} to count");
                return Err(cx.fault(&span, reason, "run longer, or leave out less"));
            }
            Ok(RunLength::Time { total, warmup, cooldown })
        }
        (Some(_), Some(time)) => {
            let help = "keep either `packets` or `time`";
            Err(cx.fault(&time.span, "a run ends by packets or by time, not by both", help))
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
            let help = format!("valid is {}", valid::<Whole<0, 1_000_000_000_000>>());
            Err(cx.fault(&span, "the run is counted in packets, and so must this be", help))
        }
    }
}

fn in_time(cx: &mut Context<'_>, amount: Option<&Spanned<Amount>>) -> Result<Span, Reported> {
    match amount.map(|amount| (amount.span(), amount.get_ref())) {
        None => Ok(Span::ZERO),
        Some((_, Or::That(time))) => Ok(time.get()),
        Some((span, Or::This(_))) => {
            let help = format!("valid is {}", valid::<Bounded<Length>>());
            Err(cx.fault(&span, "the run is measured in time, and so must this be", help))
        }
    }
}

/// The valid values of a `T`, in words.
fn valid<T: Leaf>() -> String {
    T::read(Scalar::List).err().map(|fault| fault.valid).unwrap_or_default()
}
