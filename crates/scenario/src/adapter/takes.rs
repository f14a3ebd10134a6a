//! `takes` of queues and phases, and how many of a queue there are.

use laxity_model::adapter::Takes;

use super::*;
use crate::raw::TakesWord;

/// Packets that the queue takes; all by default.
pub(super) fn takes(cx: &mut Context<'_>, word: Option<TakesWord>) -> Result<Takes, Reported> {
    match word {
        None => Ok(Takes::All),
        Some(Either::Scalar(word)) => Ok(cx.value(word)?.into_inner()),
        Some(Either::Table(part)) => {
            let (span, keys) = cx.keys(part, "")?;
            let (from, to) = (keys.from.value?.small() as u8, keys.to.value?.small() as u8);
            if to < from {
                let reason = format!("no level is at least {from} and at most {to}");
                return Err(cx.fault(&span, reason, "let `to` be no less than `from`"));
            }
            Ok(Takes::Levels(from, to))
        }
    }
}
