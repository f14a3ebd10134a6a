//! The messages of a channel that are on their way, with their slots.

use std::collections::VecDeque;

/// Messages in the order of their numbers.
pub(super) struct Flight {
    messages: VecDeque<(u64, u32)>,
    budget: usize,
    /// How many messages later a message may still come.
    overtaken: u64,
}

impl Flight {
    pub(super) fn new(budget: usize, overtaken: u64) -> Self {
        Self { messages: VecDeque::with_capacity(budget), budget, overtaken }
    }

    /// How many it holds at most.
    pub(super) fn budget(&self) -> usize {
        self.budget
    }

    /// Whether no message is on its way.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Takes only that share of what it held.
    pub(super) fn reduce(&mut self, share: f64) {
        self.budget = ((self.budget as f64 * share) as usize).max(1);
    }

    /// `message` is on its way and lies in `slot`. Answers the slot of the oldest if there were as many as may be.
    #[inline]
    pub(super) fn begin(&mut self, message: u64, slot: u32) -> Option<u32> {
        let oldest = if self.messages.len() >= self.budget { self.messages.pop_front() } else { None };
        self.messages.push_back((message, slot));
        oldest.map(|(_, slot)| slot)
    }

    /// The slot of a message that can no longer come, now that `arrived` has.
    #[inline]
    pub(super) fn overdue(&mut self, arrived: u64) -> Option<u32> {
        let (message, slot) = *self.messages.front()?;
        (message.saturating_add(self.overtaken) < arrived).then(|| {
            self.messages.pop_front();
            slot
        })
    }

    /// Answers the slot of `message`, which has arrived.
    #[inline]
    pub(super) fn land(&mut self, message: u64) -> Option<u32> {
        // In a network that keeps the order it is the first.
        let at = self.messages.iter().take_while(|(number, _)| *number < message).count();
        let (found, slot) = *self.messages.get(at)?;
        (found == message).then(|| {
            self.messages.remove(at);
            slot
        })
    }
}
