//! Messages of a channel in flight, with their slots.

use std::collections::VecDeque;

pub(super) struct Flight {
    messages: VecDeque<(u64, u32)>,
    budget: usize,
    /// Maximum distance by which a message may be overtaken.
    overtaken: u64,
}

impl Flight {
    pub(super) fn new(budget: usize, overtaken: u64) -> Self {
        Self { messages: VecDeque::with_capacity(budget), budget, overtaken }
    }

    pub(super) fn budget(&self) -> usize {
        self.budget
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(super) fn reduce(&mut self, share: f64) {
        self.budget = ((self.budget as f64 * share) as usize).max(1);
    }

    /// Adds `message` in `slot`. Returns the slot of the oldest if the capacity was exhausted.
    #[inline]
    pub(super) fn begin(&mut self, message: u64, slot: u32) -> Option<u32> {
        let oldest = if self.messages.len() >= self.budget { self.messages.pop_front() } else { None };
        self.messages.push_back((message, slot));
        oldest.map(|(_, slot)| slot)
    }

    /// Slot of a message that can no longer arrive, now that `arrived` has.
    #[inline]
    pub(super) fn overdue(&mut self, arrived: u64) -> Option<u32> {
        let (message, slot) = *self.messages.front()?;
        (message.saturating_add(self.overtaken) < arrived).then(|| {
            self.messages.pop_front();
            slot
        })
    }

    /// Removes `message`, which has arrived, and returns its slot.
    #[inline]
    pub(super) fn land(&mut self, message: u64) -> Option<u32> {
        // The first, if the network keeps the order.
        let at = self.messages.iter().take_while(|(number, _)| *number < message).count();
        let (found, slot) = *self.messages.get(at)?;
        (found == message).then(|| {
            self.messages.remove(at);
            slot
        })
    }
}
