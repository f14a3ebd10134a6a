//! `min_interval` or `rate`, and `deadline`: how often a channel may send, and how soon that is to be there.

use super::source::interval_of;
use super::*;
use crate::diagnostic::Diagnostic;
use crate::raw::ChannelKeys;

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
