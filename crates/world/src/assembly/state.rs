//! The state of a world beside its components: future events, snapshots, pending calls.

use laxity_model::bus::BusReport;
use laxity_model::host::Uses;
use laxity_model::node::HostNode;
use laxity_model::switch::PortReport;
use laxity_qos::channel::{LinkId, Slot};
use laxity_units::{Span, Time};

use super::multicast::Copies;
use super::switches::Switches;
use super::terminals::{TerminalState, Terminals};
use crate::experiment::{Experiment, Laps};
use crate::measure::{Meter, Tally};

/// An event in an [`Assembly`](super::Assembly). Each has one number, so an event is two words, which stay in
/// registers; longer data is kept beside it.
#[derive(Debug, Clone, Copy)]
pub enum AssemblyEvent {
    /// The source of a channel sends.
    Arrival(Sending),
    /// A node asked to be called; stale if it has asked anew since.
    Node(Call),
    /// The medium of a network asked to be called; stale likewise.
    Medium(Call),
    /// A frame reaches a node.
    Reach(Arriving),
    /// The first waiting input from outside happens: it was read at this time, when the world was
    /// not as far.
    Input,
    /// A fault begins: its place in the experiment.
    Breaks(u64),
    /// A fault ends.
    Heals(u64),
    /// The window opens or closes.
    Window,
}

const _: () = assert!(size_of::<AssemblyEvent>() == 16, "an event is two words");

/// Which channel's source sends, and the station from where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending(u64);

impl Sending {
    #[inline]
    pub(super) fn new(channel: usize, station: u32) -> Self {
        Self(u64::from(station) << 32 | channel as u64)
    }

    /// The channel's place in the experiment.
    #[inline]
    pub(super) fn channel(self) -> usize {
        self.0 as u32 as usize
    }

    #[inline]
    pub(super) fn station(self) -> usize {
        (self.0 >> 32) as usize
    }
}

/// The station of a call, and the number of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call(u64);

impl Call {
    #[inline]
    pub(super) fn new(who: usize, asked: u32) -> Self {
        Self((who as u64) << 32 | u64::from(asked))
    }

    #[inline]
    pub(super) fn who(self) -> usize {
        (self.0 >> 32) as usize
    }

    #[inline]
    pub(super) fn asked(self) -> u32 {
        self.0 as u32
    }
}

/// Where a frame lies, and which node it reaches by which of its links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arriving(u64);

impl Arriving {
    /// The number of stations that a number can hold.
    const STATIONS: u32 = 1 << 24;

    #[inline]
    pub(super) fn new(node: u32, link: LinkId, frame: Slot) -> Self {
        debug_assert!(node < Self::STATIONS);
        Self(u64::from(node) << 40 | u64::from(link.0) << 32 | u64::from(frame.0))
    }

    #[inline]
    pub(super) fn node(self) -> usize {
        (self.0 >> 40) as usize
    }

    #[inline]
    pub(super) fn link(self) -> LinkId {
        LinkId((self.0 >> 32) as u8)
    }

    #[inline]
    pub(super) fn frame(self) -> Slot {
        Slot(self.0 as u32)
    }
}

/// The nodes, the ports of switches, and the receivers at nodes.
pub(super) type Stations<'a> = (&'a [HostNode], &'a Switches, &'a Terminals);

/// The counters of nodes and channels at an edge of the window.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub(super) at: Time,
    /// Of each core of each node.
    pub(super) uses: Vec<Vec<Uses>>,
    /// CPU time in which each application that computes did.
    pub(super) computed: Vec<Vec<Span>>,
    /// For how long each stage of each adapter had been busy, and how many packets had passed it.
    pub(super) stages: Vec<Vec<(Span, u64)>>,
    /// The occupancy of each bus of each node.
    pub(super) buses: Vec<Vec<BusReport>>,
    /// The counters of each port of a switch.
    pub(super) ports: Vec<PortReport>,
    /// The counters of each receiver.
    pub(super) terminals: Vec<TerminalState>,
    pub(super) tallies: Vec<Tally>,
}

impl Snapshot {
    /// The counters of channels by their meters; nodes follow later.
    pub(super) fn of_meters(at: Time, meters: &[Meter]) -> Self {
        let tallies = meters.iter().map(|meter| meter.tally.clone()).collect();
        Self {
            at,
            uses: Vec::new(),
            computed: Vec::new(),
            stages: Vec::new(),
            buses: Vec::new(),
            ports: Vec::new(),
            terminals: Vec::new(),
            tallies,
        }
    }

    /// Adds the counters of stations.
    #[must_use]
    pub(super) fn with(
        mut self,
        experiment: &Experiment,
        (nodes, switches, terminals): Stations<'_>,
        (laps, copies): (&Laps, &Copies),
    ) -> Self {
        let at = self.at;
        self.terminals = terminals.states(at);
        self.ports = switches.reports(at).collect();
        for node in nodes {
            let (uses, computed) = node.host().map(|host| host.uses_until(at)).unwrap_or_default();
            self.uses.push(uses);
            self.computed.push(computed);
            let stages = node.adapters().flat_map(|adapter| adapter.stages(at));
            self.stages.push(stages.map(|stage| (stage.busy, stage.passed)).collect());
            self.buses.push(node.buses(at).collect());
        }
        for (node, host) in nodes.iter().enumerate().filter_map(|(node, it)| Some((node, it.host()?))) {
            for (number, counters) in host.subsystem().all_counters() {
                let channel = laps.channel(number);
                let copies = copies.behind(experiment, channel, node);
                for channel in std::iter::once(channel).chain(copies) {
                    let tally = &mut self.tallies[channel];
                    *tally = std::mem::take(tally).with(counters);
                }
            }
        }
        self
    }
}
