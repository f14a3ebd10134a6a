//! `min_interval` or `rate`, and `deadline`: how often a channel may send, and how soon that is to be there.

use super::source::interval_of;
use super::*;
use crate::diagnostic::Diagnostic;
use crate::leaf::{Flow, Interval};

/// The keys of a file for either.
pub(super) type Timing =
    (Option<Written<Bounded<Interval>>>, Option<Written<Bounded<Flow>>>, Option<Written<Bounded<Interval>>>);

/// `I_min` and the deadline of a real-time channel.
pub(super) fn contract(
    cx: &mut Context<'_>,
    (interval, rate, deadline): Timing,
    size: &Result<Spanned<Bounded<crate::leaf::Size>>, Reported>,
    owner: &Range<usize>,
    (what, hops): (&str, usize),
    around: &Surroundings,
) -> Result<(Span, Option<Span>), Reported> {
    let interval = match (interval, rate) {
        (Some(interval), None) => {
            cx.value(interval).map(|interval| (interval.span(), interval.into_inner().get()))
        }
        (None, Some(rate)) => cx.value(rate).and_then(|rate| {
            let size = size.as_ref().map_err(|reported| *reported)?.get_ref().get();
            let interval = interval_of(cx, size, rate.get_ref().get(), &rate.span())?;
            Ok((rate.span(), interval))
        }),
        (Some(_), Some(rate)) => {
            let help = "keep either `min_interval` or `rate`";
            Err(cx.fault(&rate.span, format!("{what} has its rate given twice"), help))
        }
        (None, None) => {
            let help = "add `min_interval = \"50 ms\"` or `rate = \"1200 KiB/s\"`";
            Err(cx.fault(owner, format!("{what} is real-time, and nothing says how often it may send"), help))
        }
    };
    let deadline = match deadline {
        // A virtual interface reserves a bandwidth.
        None if around.cluster => Ok(None),
        deadline => cx.required(deadline, "deadline", owner, what).map(Some),
    };
    let ((at, interval), deadline) = (interval?, deadline?);
    let Some(deadline) = deadline else { return Ok((interval, None)) };
    let (span, deadline) = (deadline.span(), deadline.into_inner().get());
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
