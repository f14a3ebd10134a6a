//! `min_interval` or `rate`, `limits` and `deadline`: how often a channel may send, and how soon
//! that is to be there.

use laxity_qos::limits::{Limits, MOST_LIMITS, MessageLimit};

use super::channel::LONGEST_BURST;
use super::source::interval_of;
use super::*;
use crate::diagnostic::Diagnostic;
use crate::raw::{ChannelKeys, RawLimit};
use crate::section::At;
use crate::written::List;

/// `I_min` and the deadline of a real-time channel.
pub(super) fn contract(
    cx: &mut Context<'_>,
    keys: &ChannelKeys,
    owner: &Range<usize>,
    (what, hops): (&str, usize),
    around: &Surroundings,
) -> Result<(Span, Option<Span>), Reported> {
    let interval = match (&keys.min_interval.at, &keys.rate.at) {
        (Some(at), None) => {
            keys.min_interval.value.map(|interval| (at.clone(), interval.unwrap_or_default()))
        }
        (None, Some(at)) => keys.rate.needed(cx, owner, what).and_then(|rate| {
            Ok((at.clone(), interval_of(cx, keys.max_message.value?, rate.into_inner(), at)?))
        }),
        (Some(_), Some(rate)) => {
            let help = "keep either `min_interval` or `rate`";
            Err(cx.fault(rate, format!("{what} has its rate given twice"), help))
        }
        (None, None) => {
            let help = "add `min_interval = \"50 ms\"` or `rate = \"1200 KiB/s\"`";
            Err(cx.fault(owner, format!("{what} is real-time, and nothing says how often it may send"), help))
        }
    };
    let deadline = match keys.deadline.at {
        // A virtual interface reserves a bandwidth.
        None if around.cluster => Ok(None),
        _ => keys.deadline.needed(cx, owner, what).map(Some),
    };
    let ((at, interval), deadline) = (interval?, deadline?);
    let Some(deadline) = deadline else { return Ok((interval, None)) };
    let (span, deadline) = (deadline.span(), deadline.into_inner());
    // Over several hops each local deadline ends with the interval, and a longer end-to-end
    // deadline does no harm.
    if !around.beyond && hops == 1 && deadline > interval {
        let reason =
            format!("the deadline of {what}, {deadline}, is later than its next message, {interval} on");
        let diagnostic = Diagnostic::new(cx.place(&span), reason)
            .related(cx.place(&at).label(format!("a message every {interval}")))
            .help(format!(
                "`d_order` has one message of a channel under way at a time: use at most `\"{interval}\"`"
            ))
            .help("or say `test = \"demand\"` under `[admission]`, with EDF on CPU and link")
            .help("or say `formula = \"off\"` under `[admission]` to run without bounds");
        return Err(cx.report(diagnostic));
    }
    Ok((interval, Some(deadline)))
}

/// The further limits of a channel of which the burst and the interval are `own`; best effort has none.
pub(super) fn limits(
    cx: &mut Context<'_>,
    list: Option<List<Part<RawLimit>>>,
    own: Option<MessageLimit>,
    around: &Surroundings,
) -> Result<Limits, Reported> {
    let place = list.at();
    let (reason, help) = match own {
        None => ("best effort is promised nothing", "remove this, or say `class = \"real_time\"`"),
        _ if around.is_managed() => (
            "the contracts that nodes with signalling exchange have one burst and one interval",
            "remove this, or `[signalling]`",
        ),
        _ if around.cluster => ("a virtual interface reserves a bandwidth", "remove this"),
        _ => ("", ""),
    };
    if !reason.is_empty() {
        cx.foreign(&place, reason, help)?;
    }
    let Some(own) = own else { return Ok(Limits::NONE) };
    let mut known = vec![(own, None)];
    for part in cx.items(list)? {
        let (span, (_, keys)) = (part.span.clone(), cx.keys(part, "this limit")?);
        let burst = keys.burst.value?.small();
        let min_interval = keys.min_interval.value?;
        if min_interval.saturating_mul(burst.into()) > LONGEST_BURST {
            let reason =
                format!("a burst of {burst} messages, one every {min_interval}, is worth more than 30 days");
            return Err(cx.fault(&span, reason, "allow fewer messages in a burst, or more often"));
        }
        known.push((MessageLimit { burst, min_interval }, Some(span)));
    }
    for (i, (limit, span)) in known.iter().enumerate() {
        let Some(span) = span else { continue };
        // Of two equal limits the later one is of no use.
        let implies = |(j, (other, _)): &(usize, &(MessageLimit, Option<Range<usize>>))| {
            *j != i && other.implies(*limit) && (*j < i || !limit.implies(*other))
        };
        let Some((j, (other, _))) = known.iter().enumerate().find(implies) else { continue };
        let of = if j == 0 { "the channel's own limit" } else { "another limit" };
        let MessageLimit { burst, min_interval } = other;
        let reason = format!("{of} of {burst} messages, one every {min_interval}, implies this one");
        let help = "remove this, allow fewer messages at once, or say a longer `min_interval`";
        return Err(cx.fault(span, reason, help));
    }
    let further: Vec<MessageLimit> = known[1..].iter().map(|(limit, _)| *limit).collect();
    Limits::new(&further).ok_or_else(|| {
        let reason = format!("a channel has at most {MOST_LIMITS} further limits, not {}", further.len());
        cx.fault(&place.unwrap_or_default(), reason, "keep those that matter")
    })
}
