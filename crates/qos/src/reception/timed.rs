//! Timed polling: a clock interrupt every `I` makes a polling thread ready, which takes up to `Q`
//! commands.
//!
//! At most `Q / I` commands a second are taken, so that a share of the CPU is protected from any
//! offered load. The same limit holds when the CPU is otherwise idle, and wastes capacity then (Eq.
//! 7.4). The thread waits for the program to finish a packet. A tick that finds the thread still at
//! work is missed: it costs no time and starts no batch, so that the thread cannot have all of the
//! CPU (thesis 7.2.2).

use super::{Context, Operations};

/// Polling by a clock, in a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timed {
    /// `Q`: maximum number of commands taken at a tick; at least 1.
    pub quota: u32,
}

impl Operations for Timed {
    fn context(&self) -> Context {
        Context::Thread
    }

    fn quota(&self) -> u32 {
        self.quota
    }
}
