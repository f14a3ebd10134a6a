//! The messages of a channel that wait for its program.

use std::collections::VecDeque;

use laxity_units::{Bytes, Span};

use super::message::Delivery;
use crate::tag::Tag;

/// A message, or a piece of one, that waits for a program.
#[derive(Debug)]
pub(super) struct Waiting {
    /// The message to deliver after the program has read it; `None` for a piece that is not the
    /// last.
    pub(super) delivery: Option<Delivery>,
    pub(super) size: Bytes,
    pub(super) tag: Tag,
}

/// The queue of a program.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    pub(super) waiting: VecDeque<Waiting>,
    /// The latest message of which a piece found no slot.
    pub(super) spoilt: Option<u64>,
    /// Remaining work of the first message, if the program was preempted.
    pub(super) left: Option<Span>,
}

impl Inbox {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
