//! What a world keeps beside its components: events to come, the window, who asked to be called when.

use laxity_model::host::Uses;
use laxity_qos::channel::Packet;
use laxity_units::{Bytes, Span, Time};

use super::Input;
use crate::experiment::RunLength;
use crate::measure::Tally;

/// What can happen in a [`Assembly`].
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// The source of a channel sends.
    Arrival {
        /// The channel's place in the experiment.
        channel: usize,
        /// Size of the message.
        size: Bytes,
    },
    /// A node asked to be called; stale if it has asked anew since.
    Node {
        /// The node.
        node: usize,
        /// How often it had asked.
        asked: u64,
    },
    /// The medium asked to be called; stale if it has asked anew since.
    Medium {
        /// How often it had asked.
        asked: u64,
    },
    /// A frame reaches a node.
    Reach {
        /// The node.
        node: usize,
        /// The frame.
        packet: Packet,
    },
    /// What came from outside happens: it was read at this time, when the world was not as far.
    Input(Input),
    /// A fault begins or ends.
    Fault {
        /// Its place in the experiment.
        number: usize,
        /// Whether it begins.
        begins: bool,
    },
    /// The window opens or closes.
    Window,
}

/// Which part of a run is counted.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) length: RunLength,
    pub(super) departed: u64,
    pub(super) opened: Option<Snapshot>,
    pub(super) closed: Option<Snapshot>,
}

/// What nodes had been busy with and channels had come to at an edge of the window.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub(super) at: Time,
    pub(super) uses: Vec<Uses>,
    /// For how long each stage had been busy, and how many packets had passed it.
    pub(super) stages: Vec<Vec<(Span, u64)>>,
    pub(super) tallies: Vec<Tally>,
}

impl Window {
    pub(super) fn counts(&self) -> bool {
        self.opened.is_some() && self.closed.is_none()
    }
}

/// When a component is to be called, and how often that has changed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asked {
    pub(super) at: Option<Time>,
    pub(super) times: u64,
}

impl Asked {
    /// Answers whether a new event is due for `deadline`, and when.
    pub(super) fn change(&mut self, deadline: Option<Time>) -> Option<Time> {
        if self.at == deadline {
            return None;
        }
        self.at = deadline;
        self.times += 1;
        deadline
    }
}
