//! Simulated networks of managers: requests at random under loss, duplication, reordering, delay,
//! partition, crashes, and clocks that drift and step, with the invariants of the protocol checked
//! at every step.
//!
//! A [`Plan`] is a network and a timeline. [`run`] is a function of the plan: the same plan gives
//! the same run. [`draw`] makes a plan of a seed, and [`shrink`] removes what a failing plan does
//! not fail by.
//!
//! A run has an active phase with the timeline and its faults. Then faults stop, and after the
//! stated time ([`Settings::all_free`]) both ends of each channel must agree. Then programs close
//! all channels, every node must be as if it had never held one, and a last request must be
//! established in one round trip and another be refused by the destination.

mod check;
mod draw;
mod network;
mod node;
mod shrink;

use std::fmt;

use laxity_units::{Span, Time};

use crate::contract::ChannelContract;
use crate::faults::Fault;
use crate::identity::NodeId;
use crate::settings::Settings;

pub use draw::{Mix, draw};
pub use network::{SimulationOutcome, run};
pub use shrink::shrink;

/// A network and what happens in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Of the fates of messages.
    pub seed: u64,
    /// Nodes, numbered from 0.
    pub nodes: u32,
    /// Links, each in both directions, with its delay.
    pub links: Vec<(NodeId, NodeId, Span)>,
    /// Messages lost, duplicated and delayed, in thousandths each.
    pub impairments: [u64; 3],
    /// The drift of the clock of each node, in millionths.
    pub drifts: Vec<i64>,
    /// In the order of time.
    pub timeline: Vec<(Time, Action)>,
    /// A node crashes when this many messages have been delivered in the network, and restarts
    /// later.
    pub crash_at: Option<(u64, NodeId)>,
    /// The fault of the protocol, if it has one.
    pub fault: Option<Fault>,
}

/// Something that happens at a given time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A program asks for a channel, called `key` here.
    Open {
        /// Names the channel in the plan.
        key: u32,
        /// Which program of the source.
        program: u32,
        /// From the source to the destination.
        route: Vec<NodeId>,
        /// The contract.
        contract: ChannelContract,
    },
    /// The program asks for another contract.
    Change {
        /// The channel.
        key: u32,
        /// The contract.
        contract: ChannelContract,
    },
    /// The program closes.
    Close {
        /// The channel.
        key: u32,
    },
    /// The receiving program closes.
    Leave {
        /// The channel.
        key: u32,
    },
    /// A program of a node dies and closes none of its channels.
    Die {
        /// The node.
        node: NodeId,
        /// The program.
        program: u32,
    },
    /// A node loses its memory and is off.
    Crash(NodeId),
    /// A node begins another life.
    Restart(NodeId),
    /// A link, by its number, loses everything.
    Cut(usize),
    /// A link works again.
    Mend(usize),
    /// A clock is set forward, or back.
    Step(NodeId, bool, Span),
    /// A neighbour sends a request with a loop in its route.
    Forge {
        /// The neighbour.
        from: NodeId,
        /// The receiver.
        to: NodeId,
    },
}

/// A broken rule, and the time at which it broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// In true time.
    pub at: Time,
    /// Which rule is broken, and by what.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6} s: {}", self.at.as_secs_f64(), self.what)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [loss, duplication, delay] = self.impairments;
        writeln!(
            f,
            "seed {}, {} nodes, loss {loss}, duplication {duplication}, delay {delay} of 1000",
            self.seed, self.nodes
        )?;
        for (number, (a, b, delay)) in self.links.iter().enumerate() {
            writeln!(f, "link {number}: {a} to {b}, {delay}")?;
        }
        if let Some((deliveries, node)) = self.crash_at {
            writeln!(f, "{node} crashes at delivery {deliveries}")?;
        }
        for (at, action) in &self.timeline {
            writeln!(f, "{:.6} s: {action:?}", at.as_secs_f64())?;
        }
        Ok(())
    }
}

/// The settings of every manager of a simulation: short times, small tables.
pub fn settings() -> Settings {
    Settings {
        lease: Span::from_ms(1000),
        patience: Span::from_ms(400),
        refresh: Span::from_ms(250),
        program_lease: Span::from_ms(1500),
        retry: Span::from_ms(20),
        longest_retry: Span::from_ms(160),
        jitter: 64,
        remembered: 8,
        entries: 64,
        peers: 32,
        waiting: 256,
        drift: 300,
        ..Settings::default()
    }
}
