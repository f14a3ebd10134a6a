//! `[adapter]` without a file's name: a family and its numbers, as scenarios and adapter files
//! write them alike.

mod cim250;
mod flaw;
mod generic;
mod places;
mod resources;
mod responses;
mod stage;
mod takes;

use std::ops::Range;

use laxity_model::adapter::{Delay, Description};
use laxity_qos::costs::LinkCosts;
use laxity_units::{ByteTime, Bytes, Rate};

use laxity_units::Span;
use laxity_world::experiment::AdapterSpec;
use serde_spanned::Spanned;

use crate::choice::AdapterKind;
use crate::context::{Context, Reported};
use crate::leaf::{Bounded, Bounds, Or, PerByte, bound, word};
use crate::raw::{AdapterKeys, RawAdapter};
use crate::section::{At, Key, Section, first, strays};
use crate::written::{Either, List, Part};

/// Source of numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// The part that the numbers belong to, in words: "the stage `dma`".
    pub what: String,
    /// Table, measurement or argument.
    pub source: String,
}

/// The adapter of a scenario that says itself what it is, and the place that stands for it.
pub(crate) fn of_scenario(
    cx: &mut Context<'_>,
    span: &Range<usize>,
    raw: RawAdapter,
) -> Result<(AdapterSpec, Range<usize>), Reported> {
    described(cx, &mut Sources { needed: false, list: Vec::new() }, span, raw)
}

/// The adapter of an adapter file, and the sources of its numbers.
pub(crate) fn of_file(
    cx: &mut Context<'_>,
    part: Part<RawAdapter>,
) -> Result<(AdapterSpec, Vec<Citation>), Reported> {
    let part = cx.part(part)?;
    let (span, mut raw) = (part.span(), part.into_inner());
    if let Some(file) = raw.file.take() {
        let help = "say here what the adapter is; scenarios name its file";
        return Err(cx.fault(&file.span, "an adapter file cannot name another", help));
    }
    if let Some(interrupts) = raw.interrupts.take() {
        let help = "remove this; the scenario says it beside `file`";
        return Err(cx.fault(
            &interrupts.span,
            "which cores an adapter interrupts is its host's choice",
            help,
        ));
    }
    let mut sources = Sources { needed: true, list: Vec::new() };
    let (adapter, _) = described(cx, &mut sources, &span, raw)?;
    Ok((adapter, sources.list))
}

/// The source of every number.
struct Sources {
    /// Whether there must be a source beside every number.
    needed: bool,
    list: Vec<Citation>,
}

impl Sources {
    /// Notes `source` as that of `what`, at `owner`; `numbers` says whether there are any.
    fn cite(
        &mut self,
        cx: &mut Context<'_>,
        source: Result<Option<Spanned<String>>, Reported>,
        numbers: bool,
        owner: &Range<usize>,
        what: &str,
    ) -> Result<(), Reported> {
        const NAME: &str = "name the table or the measurement, or write `own choice:` and the argument";
        match source? {
            Some(source) if source.get_ref().trim().is_empty() => {
                Err(cx.fault(&source.span(), "the source of a number cannot be empty", NAME))
            }
            Some(source) => {
                let source = source.get_ref().trim().to_string();
                self.list.push(Citation { what: what.to_string(), source });
                Ok(())
            }
            None if self.needed && numbers => {
                let reason =
                    format!("in an adapter file every number has a source, and {what} has no `source`");
                Err(cx.fault(owner, reason, NAME))
            }
            None => Ok(()),
        }
    }
}

/// The adapter, and the place that stands for it.
fn described(
    cx: &mut Context<'_>,
    sources: &mut Sources,
    span: &Range<usize>,
    mut raw: RawAdapter,
) -> Result<(AdapterSpec, Range<usize>), Reported> {
    let kind = match raw.kind.take() {
        Some(kind) => cx.value(kind)?,
        None => {
            let valid = "`\"null\"`, `\"generic\"` or `\"cim250\"`; or name an adapter's `file`";
            return Err(cx.missing("kind", span, "the adapter", valid));
        }
    };
    let (place, kind) = (kind.span(), kind.into_inner());
    let keys = raw.read(cx, span, "the adapter");
    let mut familiar = Ok(());
    for (stray, at) in strays(keys.owned(), kind) {
        let (key, family) = (stray.key, word(stray.of[0]));
        let reason = format!("`{key}` is for adapters of the kind `{family}`, and this is `{}`", word(kind));
        familiar = Err(cx.fault(&at, reason, format!("say `kind = \"{family}\"`, or remove this")));
    }
    let numbers = first([&keys.poll, &keys.doorbell]).is_some()
        || matches!(kind, AdapterKind::Null)
        || matches!(keys.notification.value, Ok(Or::That(_)));
    let cited = sources.cite(cx, keys.source.placed(), numbers, span, "the adapter's own table");
    let adapter = match kind {
        AdapterKind::Null => null(cx, &keys, span).map(AdapterSpec::Null),
        AdapterKind::Generic => generic::description(cx, sources, keys, span).map(boxed),
        AdapterKind::Cim250 => cim250::description(cx, sources, keys, span).map(boxed),
    };
    let adapter = adapter?;
    familiar.and(cited)?;
    Ok((adapter, place))
}

fn boxed(description: Description) -> AdapterSpec {
    AdapterSpec::Described(Box::new(description))
}

fn null(cx: &mut Context<'_>, keys: &AdapterKeys, owner: &Range<usize>) -> Result<LinkCosts, Reported> {
    let Some(per_byte) = per_byte(cx, &keys.per_byte, &keys.rate)? else {
        let help = "add `per_byte = \"50 ns\"` or `rate = \"160 Mbit/s\"`";
        return Err(cx.fault(owner, "nothing says how fast the adapter is", help));
    };
    Ok(LinkCosts { startup: keys.startup.value?, per_byte, ..LinkCosts::default() })
}

/// Time per byte, written so or as a rate.
fn per_byte(
    cx: &mut Context<'_>,
    per_byte: &Key<Option<Span>>,
    rate: &Key<Option<Rate>>,
) -> Result<Option<ByteTime>, Reported> {
    match (per_byte.placed()?, rate.placed()?) {
        (Some(per_byte), None) => Ok(Some(ByteTime::of(per_byte.into_inner()))),
        (None, Some(rate)) => {
            let (span, rate) = (rate.span(), rate.into_inner());
            let per_byte = ByteTime::at(rate);
            let most: Span = bound(PerByte::MOST);
            if per_byte > ByteTime::of(most) {
                let reason = format!("a byte takes more than {most} at {rate}");
                return Err(cx.fault(&span, reason, "use a faster rate"));
            }
            Ok(Some(per_byte))
        }
        (Some(_), Some(rate)) => {
            let help = "keep either `per_byte` or `rate`";
            Err(cx.fault(&rate.span(), "the time per byte is given twice", help))
        }
        (None, None) => Ok(None),
    }
}

/// Refuses phases that sum to what no clock counts: each number is in its bounds, but a byte can be
/// a segment.
pub(crate) fn within_reason(
    cx: &mut Context<'_>,
    description: &Description,
    packet: Bytes,
    place: &Range<usize>,
) -> Result<(), Reported> {
    const MOST: Span = Span::from_secs(3600);
    for stage in description.transmit.iter().chain(&description.receive) {
        for phase in &stage.phases {
            let Delay { fixed, per_packet, segment, per_segment, per_byte, per_byte_past, .. } = phase.delay;
            let packet = packet + phase.trailer;
            let segments = if segment.is_zero() { 0 } else { packet.div_ceil(segment) };
            let bytes = u128::from(packet.get()) * u128::from(per_byte.max(per_byte_past).ceil().as_ps());
            let segments = u128::from(segments) * u128::from(per_segment.as_ps());
            // A batch of packets is served together, each perhaps of the largest size.
            let each = u128::from(per_packet.as_ps()) + segments + bytes;
            if u128::from(fixed.as_ps()) + each * u128::from(stage.batch) > u128::from(MOST.as_ps()) {
                let reason = format!("the stage `{}` takes longer than {MOST} for {packet}", stage.name);
                return Err(cx.fault(place, reason, "use shorter times, larger segments or smaller packets"));
            }
        }
    }
    Ok(())
}

/// All items, or the report of one that is none.
fn all<T>(items: Vec<Result<T, Reported>>) -> Result<Vec<T>, Reported> {
    items.into_iter().collect()
}
