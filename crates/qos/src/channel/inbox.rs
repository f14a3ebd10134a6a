//! The messages of a channel that wait for its program.

use std::collections::VecDeque;

use laxity_units::{Bytes, Span};

use super::message::Delivery;
use crate::tag::Tag;

/// A message, or a piece of one, that waits for a program.
#[derive(Debug)]
pub(super) struct Waiting {
    /// What is delivered when the program is done with it: nothing with a piece that is not the last.
    pub(super) delivery: Option<Delivery>,
    pub(super) size: Bytes,
    pub(super) tag: Tag,
}

/// What waits for a program.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    pub(super) waiting: VecDeque<Waiting>,
    /// The latest message of which a piece found no place.
    pub(super) spoilt: Option<u64>,
    /// What is left of the first, which the program has begun and was taken the CPU from.
    pub(super) left: Option<Span>,
}

impl Inbox {
    /// Whether no message waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
