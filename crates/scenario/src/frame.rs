//! `frame` of a queue, wherever there is one.

use std::ops::Range;

use laxity_qos::channel::Order;
use laxity_units::Span;

use crate::context::{Context, Reported};
use crate::section::Key;

/// The shortest frame of a queue, which an order that has frames needs; others leave it, so that
/// orders can be swept.
pub(crate) fn frame_of(
    cx: &mut Context<'_>,
    frame: &Key<Option<Span>>,
    order: Order,
    owner: &Range<usize>,
) -> Result<Span, Reported> {
    match frame.value? {
        Some(frame) => Ok(frame),
        None if order.has_frames() => {
            Err(cx.fault(owner, "this order is in frames of time", "say `frame`, such as `\"1 ms\"`"))
        }
        None => Ok(Span::ZERO),
    }
}
