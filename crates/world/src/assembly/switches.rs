//! The switches of a run, by the stations that their ports are.

use laxity_model::around::Around;
use laxity_model::switch::{PortReport, Switch, SwitchOutput};
use laxity_qos::channel::{ChannelId, Label, Slot};
use laxity_units::Time;

use super::parts;
use crate::experiment::{Experiment, Laps};
use crate::promise::Promise;

/// All switches of an experiment.
pub(super) struct Switches {
    switches: Vec<Switch>,
    /// Per port: its switch, and which port it is there.
    places: Vec<(u32, u32)>,
    /// The station that is the first port.
    first: usize,
}

impl Switches {
    /// The switches of `experiment`, with the channels open that pass them.
    pub(super) fn new(experiment: &Experiment, laps: &Laps, promises: &[Promise]) -> Self {
        let (switches, places) = parts::switches(experiment, laps, promises);
        let places = places.into_iter().map(|(switch, port)| (switch as u32, port as u32)).collect();
        Self { switches, places, first: experiment.nodes.len() }
    }

    /// Whether `station` is a port.
    #[inline]
    pub(super) fn has(&self, station: usize) -> bool {
        station >= self.first
    }

    fn place(&self, station: usize) -> (usize, usize) {
        let (switch, port) = self.places[station - self.first];
        (switch as usize, port as usize)
    }

    /// Where a port keeps a channel, for later frames.
    pub(super) fn label(&self, station: usize, channel: ChannelId) -> Label {
        let (switch, port) = self.place(station);
        self.switches[switch].label(port, channel)
    }

    /// Prefetches a port's channel for a frame.
    #[inline]
    pub(super) fn fetch(&self, station: usize, label: Label) {
        let (switch, port) = self.place(station);
        self.switches[switch].fetch(port, label);
    }

    /// A frame is there for a port.
    pub(super) fn receive(
        &mut self,
        now: Time,
        station: usize,
        frame: Slot,
        around: &mut impl Around<SwitchOutput<Slot>>,
    ) {
        let (switch, port) = self.place(station);
        self.switches[switch].receive(now, port, frame, around);
    }

    /// The timer of a port has expired.
    pub(super) fn timer(&mut self, now: Time, station: usize, around: &mut impl Around<SwitchOutput<Slot>>) {
        let (switch, port) = self.place(station);
        self.switches[switch].timer(now, port, around);
    }

    /// When a port next wants to be called.
    pub(super) fn next_deadline(&self, station: usize) -> Option<Time> {
        let (switch, port) = self.place(station);
        self.switches[switch].next_deadline(port)
    }

    /// Frames that wait at `station`, beside the one that it sends.
    pub(super) fn waiting(&self, station: usize) -> usize {
        let (switch, port) = self.place(station);
        self.switches[switch].waiting(port)
    }

    /// The most frames of `channel` with a guarantee that were at `station` at a time.
    pub(super) fn most(&self, station: usize, channel: ChannelId) -> u64 {
        let (switch, port) = self.place(station);
        self.switches[switch].most(port, channel)
    }

    /// The counters of each port at `now`, in the order of the stations.
    pub(super) fn reports(&self, now: Time) -> impl Iterator<Item = PortReport> {
        self.places
            .iter()
            .map(move |(switch, port)| self.switches[*switch as usize].report(*port as usize, now))
    }
}
