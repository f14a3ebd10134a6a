//! `frame` of a queue, wherever there is one.

use std::ops::Range;

use laxity_qos::channel::Order;
use laxity_units::Span;

use crate::context::{Context, Reported};
use crate::leaf::{Bounded, Interval};
use crate::written::Written;

/// The shortest frame of a queue, which an order that has frames needs; others leave it, so that
/// orders can be swept.
pub(crate) fn frame_of(
    cx: &mut Context<'_>,
    frame: Option<Written<Bounded<Interval>>>,
    order: Order,
    owner: &Range<usize>,
) -> Result<Span, Reported> {
    match cx.optional(frame)? {
        Some(frame) => Ok(frame.into_inner().get()),
        None if order.has_frames() => {
            Err(cx.fault(owner, "this order is in frames of time", "say `frame`, such as `\"1 ms\"`"))
        }
        None => Ok(Span::ZERO),
    }
}
