//! Links of their own: every station is granted each request at once.
//!
//! It exists beside the shared media so that an adapter needs no second code for a private link.

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Each station is granted at once, whatever the others do; a grant that was withdrawn before
    /// anybody saw it is void.
    #[test]
    fn every_station_has_its_link() {
        let mut links = PointToPoint::new(3);
        for station in [2, 0, 1] {
            links.request(station);
        }
        links.withdraw(0);
        let granted: Vec<_> = std::iter::from_fn(|| links.poll_output()).collect();
        assert_eq!(granted, [MediumOutput::Grant(2), MediumOutput::Grant(1)]);
        links.sent(2);
        links.request(2);
        assert_eq!(links.poll_output(), Some(MediumOutput::Grant(2)));
        assert_eq!(links.poll_output(), None);
        assert_eq!(links.grants(), [1, 1, 2]);
    }

    #[test]
    #[should_panic(expected = "asks while its frame is being sent")]
    fn nobody_asks_twice() {
        let mut links = PointToPoint::new(1);
        links.request(0);
        links.request(0);
    }

    #[test]
    #[should_panic(expected = "was not granted")]
    fn nobody_sends_unasked() {
        PointToPoint::new(1).sent(0);
    }
}
