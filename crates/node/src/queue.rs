//! The queue of a receiving program.

use std::collections::VecDeque;

use crate::command::ProgramMessage;

/// Messages for a program, in the order of delivery.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    messages: VecDeque<ProgramMessage>,
    /// Messages of channels; the others are datagrams.
    of_channels: usize,
}

impl Queue {
    pub(crate) fn push(&mut self, message: ProgramMessage) {
        self.of_channels += usize::from(message.channel.is_some());
        self.messages.push_back(message);
    }

    pub(crate) fn pop(&mut self) -> Option<ProgramMessage> {
        let message = self.messages.pop_front()?;
        self.of_channels -= usize::from(message.channel.is_some());
        Some(message)
    }

    pub(crate) fn first(&self) -> Option<&ProgramMessage> {
        self.messages.front()
    }

    /// Messages of channels that wait.
    pub(crate) fn of_channels(&self) -> usize {
        self.of_channels
    }

    /// Datagrams that wait.
    pub(crate) fn datagrams(&self) -> usize {
        self.messages.len() - self.of_channels
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}
