//! `takes` of queues and phases, and how many of a queue there are.

use laxity_model::adapter::Takes;

use super::*;
use crate::raw::{Level, RawLevels, Spread, TakesWord};

/// Packets that the queue takes; all by default.
pub(super) fn takes(cx: &mut Context<'_>, word: Option<TakesWord>) -> Result<Takes, Reported> {
    match word {
        None => Ok(Takes::All),
        Some(Either::Scalar(word)) => Ok(cx.value(word)?.into_inner()),
        Some(Either::Table(part)) => {
            let part = cx.part(part)?;
            let (span, RawLevels { from, to }) = (part.span(), part.into_inner());
            let level = |cx: &mut Context<'_>, level: Option<Written<Level>>, usual: u8| {
                cx.optional(level).map(|level| level.map_or(usual, |level| level.into_inner().small() as u8))
            };
            let (from, to) = (level(cx, from, 0), level(cx, to, 31));
            let (from, to) = (from?, to?);
            if to < from {
                let reason = format!("no level is at least {from} and at most {to}");
                return Err(cx.fault(&span, reason, "let `to` be no less than `from`"));
            }
            Ok(Takes::Levels(from, to))
        }
    }
}

/// How many equal queues.
pub(super) fn spread(cx: &mut Context<'_>, spread: Option<Written<Spread>>) -> Result<u32, Reported> {
    cx.optional(spread).map(|spread| spread.map_or(1, |spread| spread.into_inner().small()))
}
