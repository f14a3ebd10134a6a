//! What a world keeps beside its components: events to come, how things stood, who asked to be called when.

use laxity_model::adapter::Adapter;
use laxity_model::host::Uses;
use laxity_model::node::Node;
use laxity_model::switch::PortReport;
use laxity_qos::channel::{ChannelId, LinkId, Slot};
use laxity_units::{Bytes, Span, Time};

use super::switches::Switches;
use crate::measure::{Meter, Tally};

/// What can happen in an [`Assembly`]: two words, for a calendar moves its events about. What is longer waits beside it.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// The source of a channel sends.
    Arrival {
        /// The channel's place in the experiment.
        channel: u32,
        /// Size of the message.
        size: Bytes,
    },
    /// A node asked to be called; stale if it has asked anew since.
    Node {
        /// The node.
        node: u32,
        /// How often it had asked.
        asked: u64,
    },
    /// The medium asked to be called; stale if it has asked anew since.
    Medium {
        /// The network.
        network: u32,
        /// How often it had asked.
        asked: u64,
    },
    /// A frame reaches a node.
    Reach {
        /// The node.
        node: u32,
        /// By which of its links.
        link: LinkId,
        /// Where the frame lies.
        frame: Slot,
    },
    /// What came from outside first, of what waits, happens: it was read at this time, when the world was not as far.
    Input,
    /// A fault begins or ends.
    Fault {
        /// Its place in the experiment.
        number: u32,
        /// Whether it begins.
        begins: bool,
    },
    /// The window opens or closes.
    Window,
}

/// What nodes had been busy with and channels had come to at an edge of the window.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub(super) at: Time,
    /// Of each core of each node.
    pub(super) uses: Vec<Vec<Uses>>,
    /// CPU time in which each application that computes did.
    pub(super) computed: Vec<Vec<Span>>,
    /// For how long each stage of each adapter had been busy, and how many packets had passed it.
    pub(super) stages: Vec<Vec<(Span, u64)>>,
    /// What each port of a switch had been through.
    pub(super) ports: Vec<PortReport>,
    pub(super) tallies: Vec<Tally>,
}

impl Snapshot {
    /// What channels had come to by their meters; nodes are asked later.
    pub(super) fn of_meters(at: Time, meters: &[Meter]) -> Self {
        let tallies = meters.iter().map(|meter| meter.tally.clone()).collect();
        Self { at, uses: Vec::new(), computed: Vec::new(), stages: Vec::new(), ports: Vec::new(), tallies }
    }

    /// Adds what `nodes` and `switches` have come to.
    #[must_use]
    pub(super) fn with(mut self, nodes: &[Node], switches: &Switches) -> Self {
        self.ports = switches.reports().collect();
        for node in nodes {
            self.uses.push(node.host().map_or_else(Vec::new, |host| host.uses().to_vec()));
            self.computed.push(node.host().map_or_else(Vec::new, |host| host.computed().to_vec()));
            let stages = node.adapters().flat_map(Adapter::stages);
            self.stages.push(stages.map(|stage| (stage.busy, stage.passed)).collect());
        }
        for host in nodes.iter().filter_map(Node::host) {
            for (ChannelId(channel), counters) in host.subsystem().all_counters() {
                let tally = &mut self.tallies[channel as usize];
                *tally = std::mem::take(tally).with(counters);
            }
        }
        self
    }
}
