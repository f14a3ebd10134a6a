//! `source`: the messages that a channel's application sends.
//!
//! The keys of all kinds of source are one table, so that a sweep can change the kind and leave the
//! rest. A key without use for the kind is an error, since its author meant something by it.

mod film;
mod script;

use std::sync::Arc;

use laxity_engine::Seed;
use laxity_model::source::trace::Trace;
use laxity_model::source::{
    AdversaryParameters, BurstyParameters, Multiple, PeriodicParameters, PoissonParameters,
    RecordedParameters, Sizes, Source, SourceParameters, Start, TraceTiming,
};
use laxity_qos::channel::PacketOverflow;
use laxity_qos::limits::Limits;
use laxity_units::{Bytes, Rate, Time};

use super::*;
use crate::choice::SourceKind;
use crate::leaf::{Bounds, Interval, Size, bound, word};
use crate::raw::{RawSizes, RawSource, SourceKeys};
use crate::section::{At, Key, strays};
use crate::written::{Either, List};

/// The channel's contract, from which a source takes what it does not say.
pub(super) struct Allowed {
    /// `I_min`; `None` for best effort.
    pub(super) interval: Option<Span>,
    /// Its further limits.
    pub(super) limits: Limits,
    /// `M_max`.
    pub(super) size: Bytes,
    /// `B_max`.
    pub(super) burst: u32,
    /// Slots of its message queue.
    pub(super) message_slots: u32,
    /// When its packet buffers are full.
    pub(super) packet_overflow: PacketOverflow,
    /// Whether queues have an end.
    pub(super) enforced: bool,
    /// Whether its first link frames packets.
    pub(super) framed: bool,
}

/// A source, and the smallest message that it sends, if it sends any.
pub(super) struct Sends {
    pub(super) spec: SourceSpec,
    pub(super) smallest: Option<Bytes>,
    /// By how much each copy of the channel starts further into the trace than the one before.
    pub(super) stagger: Span,
    /// The channel that its rounds answer.
    pub(super) after: Option<Spanned<Name>>,
}

impl Sends {
    fn new(spec: SourceSpec, smallest: Option<Bytes>) -> Sends {
        Sends { spec, smallest, stagger: Span::ZERO, after: None }
    }
}

/// The source of a copy, counted from 0, of a channel with copies that start `stagger` apart in
/// their trace.
pub(super) fn staggered(spec: &SourceSpec, stagger: Span, copy: u64) -> SourceSpec {
    let mut spec = spec.clone();
    if let SourceSpec::Timed { parameters: SourceParameters::Recorded(recorded), .. } = &mut spec
        && !stagger.is_zero()
    {
        let further = stagger.saturating_mul(copy);
        recorded.from = match recorded.from {
            Start::Cut { within, .. } => Start::Cut { within, further },
            _ => Start::After(further),
        };
    }
    spec
}

pub(super) fn source(
    cx: &mut Context<'_>,
    library: &mut Library<'_>,
    part: Part<RawSource>,
    allowed: &Allowed,
) -> Result<Sends, Reported> {
    let (owner, keys) = cx.keys(part, "this source")?;
    let kind = keys.kind.value?;
    let mut outcome = Ok(());
    for (stray, at) in strays(keys.owned(), kind) {
        let reason = format!("a `{}` source has no use for `{}`", word(kind), stray.key);
        let all = keys.owned().into_iter().filter(|owned| owned.of.contains(&kind));
        let help = format!("besides `kind`, its keys are {}", list(all.map(|owned| owned.key)));
        outcome = Err(cx.fault(&at, reason, help));
    }
    let film = film::read(cx, &keys);
    let sizes = self::sizes(cx, keys.size, allowed);
    outcome?;
    let (interval, rate, sizes) = (keys.interval.placed()?, keys.rate.placed()?, sizes?);
    let multiple = self::multiple(cx, &keys.multiple)?;
    let film = film?;
    let (at, random) = match keys.phase.value? {
        Or::This(_) => (Time::ZERO, true),
        Or::That(phase) => (Time::ZERO + phase.get(), false),
    };
    let jitter = |period: Span| if random { period } else { Span::ZERO };
    match kind {
        SourceKind::None => return Ok(Sends::new(SourceSpec::None, None)),
        SourceKind::Continuous => {
            if !allowed.enforced {
                let reason = "a source that keeps its queue full never stops where no queue has an end";
                let help = "use a source with a rate, or `closed`, or leave `enforcement` on";
                return Err(cx.fault(&owner, reason, help));
            }
            return Ok(Sends::new(SourceSpec::Continuous(sizes), Some(smallest(sizes))));
        }
        SourceKind::Closed => {
            let slots = allowed.message_slots;
            let outstanding = keys.outstanding.value?.small();
            if let Some(at) = keys.outstanding.at.filter(|_| outstanding > slots) {
                let reason = format!("{slots} messages fit the channel's queue");
                let help = "have fewer outstanding, or say `message_slots` or `burst` on the channel";
                return Err(cx.fault(&at, reason, help));
            }
            if allowed.packet_overflow == PacketOverflow::Drop {
                let reason =
                    "a message dropped for want of packet buffers never completes, and its source waits";
                return Err(cx.fault(&owner, reason, "say `packet_overflow = \"block\"` on the channel"));
            }
            return Ok(Sends::new(SourceSpec::Closed { sizes, outstanding }, Some(smallest(sizes))));
        }
        SourceKind::Rounds => {
            let Some(after) = keys.after.placed()? else {
                let valid = "the name of the channel back";
                return Err(cx.missing("after", &owner, "this source", valid));
            };
            let window = keys.outstanding.value?.small();
            // Those of a contract wait until it has room for them.
            let slots = allowed.message_slots;
            if let Some(at) = keys.outstanding.at.filter(|_| allowed.interval.is_none() && window > slots) {
                let reason =
                    format!("{slots} messages fit the channel's queue, and a lost one is never answered");
                let help = "have fewer outstanding, or say `message_slots` or `burst` on the channel";
                return Err(cx.fault(&at, reason, help));
            }
            // Which channel that is, is known when all are read.
            let spec = SourceSpec::Rounds { sizes, window, after: usize::MAX };
            return Ok(Sends { after: Some(after), ..Sends::new(spec, Some(smallest(sizes))) });
        }
        SourceKind::Script => {
            if random {
                let help = "say when it starts, such as `phase = \"5 ms\"`, or leave `phase` out";
                return Err(cx.fault(&owner, "a script has no period to draw its phase from", help));
            }
            return script::read(cx, keys.messages, sizes, at, &owner);
        }
        SourceKind::Recorded | SourceKind::Mpeg => {
            let interval = interval.map(Spanned::into_inner);
            let (trace, place) = match (kind, keys.trace.placed()?) {
                (SourceKind::Mpeg, _) => film::make(cx, library, film, &owner)?,
                (_, Some(name)) => {
                    (library.trace_for(cx, name.get_ref(), &name.span(), allowed.framed)?, name.span())
                }
                (_, None) => {
                    let valid = "the path of a trace in quotes, relative to this file";
                    return Err(cx.missing("trace", &owner, "this source", valid));
                }
            };
            let (start, stagger) = (keys.start.value?, keys.stagger.value?);
            if let (Some(_), Or::This(_), Some(at)) = (&keys.start.at, start, &keys.stagger.at) {
                let help = "keep either `start` or `stagger`";
                return Err(cx.fault(at, "the source's start in its trace is given twice", help));
            }
            let period = interval.or(trace.frame_interval());
            let from = match start {
                Or::This(frame) => Start::Frame(frame.get()),
                Or::That(_) if stagger.is_some() => {
                    let frames = trace.frames().len() as u64;
                    let within = period.unwrap_or_else(|| mean_gap(&trace)).saturating_mul(frames);
                    Start::Cut { within, further: Span::ZERO }
                }
                Or::That(_) => Start::Random,
            };
            let least = Some(trace.smallest());
            let recorded = RecordedParameters {
                timing: interval.map_or(TraceTiming::Recorded, TraceTiming::Interval),
                from,
                repeat: keys.repeat.value?,
                pace: multiple,
                start: at,
                jitter: jitter(period.unwrap_or_else(|| mean_gap(&trace))),
                trace,
            };
            let spec = timed(cx, SourceParameters::Recorded(recorded), Span::ZERO, &place)?;
            let stagger = stagger.unwrap_or_default();
            return Ok(Sends { spec, smallest: least, stagger, after: None });
        }
        _ => {}
    }
    let (place, interval) = match (interval, rate) {
        (Some(interval), None) => (interval.span(), interval.into_inner()),
        (None, Some(rate)) => {
            let interval = interval_of(cx, mean_size(sizes), *rate.get_ref(), &rate.span())?;
            (rate.span(), interval)
        }
        (Some(_), Some(rate)) => {
            let help = "keep either `interval` or `rate`";
            return Err(cx.fault(&rate.span(), "the source's rate is given twice", help));
        }
        (None, None) => match allowed.interval {
            Some(interval) => (owner.clone(), interval),
            None => {
                let help = "add `rate = \"400 KiB/s\"` or `interval = \"50 ms\"`";
                let reason = "best effort has no rate of its own, and nothing says how much is sent";
                return Err(cx.fault(&owner, reason, help));
            }
        },
    };
    let burst = keys.burst.value?.map(Whole::small);
    let burst = burst.unwrap_or(if kind == SourceKind::Periodic { 1 } else { allowed.burst });
    let period = interval.saturating_mul(burst.into());
    if period > Span::from_secs(30 * 24 * 3600) {
        let reason = format!("a burst of {burst} messages, one every {interval}, is worth more than 30 days");
        return Err(cx.fault(&place, reason, "send fewer messages at once, or more often"));
    }
    let parameters = match kind {
        SourceKind::Periodic if burst == 1 => {
            SourceParameters::Periodic(PeriodicParameters { interval, multiple, sizes, start: at })
        }
        SourceKind::Periodic | SourceKind::Bursty => {
            SourceParameters::Bursty(BurstyParameters { burst, interval, multiple, sizes, start: at })
        }
        SourceKind::Poisson => {
            let mean_interval = quickened(interval, multiple).unwrap_or(interval);
            SourceParameters::Poisson(PoissonParameters { mean_interval, sizes, start: at })
        }
        _ => SourceParameters::Adversary(AdversaryParameters {
            burst,
            interval,
            limits: allowed.limits,
            sizes,
            start: at,
            allowance: keys.allowance.value?,
        }),
    };
    let period = if kind == SourceKind::Poisson { interval } else { period };
    let spec = timed(cx, parameters, jitter(period), &place)?;
    Ok(Sends::new(spec, Some(smallest(sizes))))
}

/// The source if it can be made; whatever else the model refuses is reported here and not in a run.
fn timed(
    cx: &mut Context<'_>,
    parameters: SourceParameters,
    jitter: Span,
    span: &Range<usize>,
) -> Result<SourceSpec, Reported> {
    match Source::new(parameters.clone(), Seed::new(0).stream("")) {
        Ok(_) => Ok(SourceSpec::Timed { parameters, jitter }),
        // The model's own words would name its parameters, and not the key that is missing here.
        Err(error) if error.parameter() == "timing" => {
            let reason = format!("the source's timing {}", error.reason());
            Err(cx.fault(span, reason, "add `interval = \"40 ms\"` to the source, or another"))
        }
        Err(error) => {
            let reason = format!("the source's {} {}", error.parameter(), error.reason());
            Err(cx.fault(span, reason, format!("valid is {}", error.valid())))
        }
    }
}

fn sizes(
    cx: &mut Context<'_>,
    raw: Option<Either<Bounded<Size>, RawSizes>>,
    allowed: &Allowed,
) -> Result<Sizes, Reported> {
    match raw {
        None => Ok(Sizes::Fixed(allowed.size)),
        Some(Either::Scalar(written)) => Ok(Sizes::Fixed(cx.value(written)?.into_inner().get())),
        Some(Either::Table(part)) => {
            let (owner, keys) = cx.keys(part, "")?;
            let place = keys.uniform.at().unwrap_or(owner);
            let bounds = cx.items(keys.uniform)?;
            let bounds: Vec<_> = bounds.into_iter().map(|size| cx.value(size)).collect();
            let bounds = bounds.into_iter().collect::<Result<Vec<_>, _>>()?;
            match bounds.as_slice() {
                [least, most] if least.get_ref().get() <= most.get_ref().get() => {
                    Ok(Sizes::Uniform { least: least.get_ref().get(), most: most.get_ref().get() })
                }
                [least, most] => {
                    let (least, most) = (least.get_ref().get(), most.get_ref().get());
                    let help = "put the smaller size first";
                    Err(cx.fault(&place, format!("the range goes from {least} down to {most}"), help))
                }
                other => {
                    let reason = format!("a range has two ends, not {}", other.len());
                    Err(cx.fault(&place, reason, "valid is `{ uniform = [\"1 KiB\", \"60 KiB\"] }`"))
                }
            }
        }
    }
}

fn smallest(sizes: Sizes) -> Bytes {
    match sizes {
        Sizes::Fixed(size) => size,
        Sizes::Uniform { least, .. } => least,
    }
}

/// The mean size, rounded up: so that a rate of messages is never above what was asked.
fn mean_size(sizes: Sizes) -> Bytes {
    match sizes {
        Sizes::Fixed(size) => size,
        Sizes::Uniform { least, most } => Bytes::new((least.get() + most.get()).div_ceil(2)),
    }
}

/// The factor as an exact ratio, by the digits of its shortest decimal form.
fn multiple(cx: &mut Context<'_>, factor: &Key<f64>) -> Result<Multiple, Reported> {
    let number = factor.value?;
    number.to_string().parse().map_err(|_| {
        let help = "valid is a number with few digits, such as `1.5`";
        let at = factor.at.clone().unwrap_or_default();
        cx.fault(&at, format!("{number} has more digits than can be kept exactly"), help)
    })
}

/// `interval` at `multiple` of its rate.
fn quickened(interval: Span, multiple: Multiple) -> Option<Span> {
    let factor: f64 = multiple.to_string().split_once('/').map_or_else(
        || multiple.to_string().parse().ok(),
        |(numerator, denominator)| Some(numerator.parse::<f64>().ok()? / denominator.parse::<f64>().ok()?),
    )?;
    Span::from_secs_f64(interval.as_secs_f64() / factor).filter(|interval| !interval.is_zero())
}

/// Mean time from one frame of a trace with times to the next; zero without times.
fn mean_gap(trace: &Arc<Trace>) -> Span {
    let frames = trace.frames();
    let last = frames.last().and_then(|frame| frame.at).map(|at| at.since(Time::ZERO));
    last.map_or(Span::ZERO, |last| last / (frames.len() as u64 - 1).max(1))
}

/// The interval at which messages of `size` make `rate`, rounded up to the picosecond.
pub(super) fn interval_of(
    cx: &mut Context<'_>,
    size: Bytes,
    rate: Rate,
    span: &Range<usize>,
) -> Result<Span, Reported> {
    let ps = (u128::from(size.get()) * 8_000_000_000_000).div_ceil(u128::from(rate.bits_per_sec().max(1)));
    let (least, most): (Span, Span) = (bound(Interval::LEAST), bound(Interval::MOST));
    match u64::try_from(ps).map(Span::from_ps) {
        Ok(interval) if interval < least => {
            let reason = format!("at {rate} messages of {size} come less than {least} apart");
            Err(cx.fault(span, reason, "use a lower rate, or larger messages"))
        }
        Ok(interval) if interval <= most => Ok(interval),
        _ => {
            let reason = format!("at {rate} messages of {size} come more than {} apart", Interval::MOST);
            Err(cx.fault(span, reason, "use a higher rate, or smaller messages"))
        }
    }
}
