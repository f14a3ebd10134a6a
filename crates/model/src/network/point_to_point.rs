//! Links of their own: every station is granted what it asks for, at once.
//!
//! It stands beside the shared media so that an adapter needs no second code for a link that nobody else
//! uses.

use std::collections::VecDeque;

use super::MediumOutput;

/// A dedicated link for each station.
#[derive(Debug)]
pub struct PointToPoint {
    grants: Vec<u64>,
    sending: Vec<bool>,
    output: VecDeque<MediumOutput>,
}

impl PointToPoint {
    /// Links for `stations` stations.
    pub fn new(stations: usize) -> PointToPoint {
        PointToPoint { grants: vec![0; stations], sending: vec![false; stations], output: VecDeque::new() }
    }

    pub(super) fn request(&mut self, station: usize) {
        assert!(!self.sending[station], "station {station} asks while its frame is being sent");
        self.sending[station] = true;
        self.grants[station] += 1;
        self.output.push_back(MediumOutput::Grant(station));
    }

    pub(super) fn sent(&mut self, station: usize) {
        assert!(self.sending[station], "station {station} has sent a frame that was not granted");
        self.sending[station] = false;
    }

    pub(super) fn withdraw(&mut self, station: usize) {
        self.sending[station] = false;
        self.output.retain(|output| *output != MediumOutput::Grant(station));
    }

    pub(super) fn poll_output(&mut self) -> Option<MediumOutput> {
        self.output.pop_front()
    }

    pub(super) fn grants(&self) -> &[u64] {
        &self.grants
    }
}
