//! Selection of the next doorbell for the firmware.
//!
//! The firmware handles doorbells first come, first served, so a process that rings without end
//! would delay all others. The firmware therefore gets only a few doorbells of each process at a
//! time; the others wait outside, where the virtual interfaces of the process alternate. One with a
//! bandwidth has a share of its own: where a rate is reserved for best effort, the firmware itself
//! delays best-effort traffic. An adapter without step times has no waiting doorbells, and
//! gets all.

use std::collections::VecDeque;

use laxity_model::via::ViDoorbell;
use laxity_vi::provider::Which;

/// Maximum number of doorbells of a share in the firmware. More than the units that a message
/// passes have no benefit.
const AHEAD: u32 = 8;

/// Share whose doorbells are counted together: those of a process without a bandwidth, or those of
/// one virtual interface with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    /// Adapter: remaining work of a process may outlive it, and a process at another adapter may
    /// get its number.
    pub(super) node: u32,
    /// Process.
    pub(super) process: u32,
    /// Endpoint in the firmware of the virtual interface, if it has a bandwidth.
    pub(super) reserved: Option<u32>,
}

/// Doorbells of a share. None waits outside while the firmware has fewer than the maximum.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Number of doorbells in the firmware.
    ahead: u32,
    /// Queues with waiting doorbells, in round-robin order.
    behind: VecDeque<(u32, Which, VecDeque<ViDoorbell>)>,
    /// Empty queues, kept for their allocations.
    spare: Vec<VecDeque<ViDoorbell>>,
}

impl Turns {
    /// Adds a doorbell of a queue of `vi`; returns it if the firmware is to get it at once.
    pub(super) fn ring(&mut self, vi: u32, which: Which, doorbell: ViDoorbell) -> Option<ViDoorbell> {
        if self.ahead < AHEAD {
            self.ahead += 1;
            return Some(doorbell);
        }
        match self.behind.iter_mut().find(|(other, queue, _)| (*other, *queue) == (vi, which)) {
            Some((_, _, waiting)) => waiting.push_back(doorbell),
            None => {
                let mut waiting = self.spare.pop().unwrap_or_default();
                waiting.push_back(doorbell);
                self.behind.push_back((vi, which, waiting));
            }
        }
        None
    }

    /// Removes a finished doorbell; returns the next one for the firmware.
    pub(super) fn done(&mut self) -> Option<ViDoorbell> {
        let Some((.., waiting)) = self.behind.front_mut() else {
            self.ahead = self.ahead.saturating_sub(1);
            return None;
        };
        let next = waiting.pop_front();
        match waiting.is_empty() {
            true => self.spare.extend(self.behind.pop_front().map(|(.., waiting)| waiting)),
            false => self.behind.rotate_left(1),
        }
        next
    }
}

/// Shares, each at the index that its members keep.
#[derive(Debug, Default)]
pub(super) struct Shares(Vec<Option<(Share, u32, Turns)>>);

impl Shares {
    /// Adds a virtual interface to `share`, and returns the index.
    pub(super) fn enter(&mut self, share: Share) -> usize {
        let is =
            |place: &Option<(Share, u32, Turns)>| place.as_ref().is_some_and(|(other, ..)| *other == share);
        let place = self.0.iter().position(is).or_else(|| self.0.iter().position(Option::is_none));
        let place = place.unwrap_or_else(|| {
            self.0.push(None);
            self.0.len() - 1
        });
        self.0[place].get_or_insert_with(|| (share, 0, Turns::default())).1 += 1;
        place
    }

    /// Removes a virtual interface without doorbells from the share at this index.
    pub(super) fn leave(&mut self, place: usize) {
        if let Some((_, users, _)) = &mut self.0[place] {
            *users -= 1;
            self.0[place].take_if(|(_, users, _)| *users == 0);
        }
    }

    /// Whether `share` is at this index.
    pub(super) fn is(&self, place: usize, share: Share) -> bool {
        self.0[place].as_ref().is_some_and(|(other, ..)| *other == share)
    }

    /// Doorbells of the share at this index.
    pub(super) fn at(&mut self, place: usize) -> Option<&mut Turns> {
        self.0[place].as_mut().map(|(.., turns)| turns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_at_a_time_each_virtual_interface_in_its_turn() {
        let mut turns = Turns::default();
        let bell = ViDoorbell::Receive;
        for n in 0..AHEAD {
            assert_eq!(turns.ring(1, Which::Receive, bell(n)), Some(bell(n)));
        }
        for (vi, which, n) in
            [(1, Which::Receive, 8), (1, Which::Receive, 9), (2, Which::Receive, 100), (1, Which::Send, 200)]
        {
            assert_eq!(turns.ring(vi, which, bell(n)), None);
        }
        let told = |turns: &mut Turns, count| (0..count).map(|_| turns.done()).collect::<Vec<_>>();
        assert_eq!(told(&mut turns, 3), [8, 100, 200].map(|n| Some(bell(n))));
        assert_eq!(turns.ring(2, Which::Send, bell(300)), None, "the firmware has enough");
        assert_eq!(told(&mut turns, 3), [Some(bell(9)), Some(bell(300)), None]);
        assert_eq!(turns.ring(1, Which::Send, bell(400)), Some(bell(400)));
        assert_eq!(turns.ring(1, Which::Send, bell(401)), None);
    }

    #[test]
    fn a_share_is_there_while_somebody_is_counted_in_it() {
        let (mut shares, share) = (Shares::default(), |process| Share { node: 0, process, reserved: None });
        let places = [1, 2, 1].map(|process| shares.enter(share(process)));
        assert_eq!(places, [0, 1, 0]);
        shares.at(0).unwrap().ring(5, Which::Send, ViDoorbell::Receive(0));
        shares.leave(0);
        assert!(shares.is(0, share(1)) && !shares.is(0, share(2)));
        assert_eq!(shares.at(0).unwrap().ahead, 1);
        shares.leave(0);
        assert!(shares.at(0).is_none());
        assert_eq!(shares.enter(share(3)), 0);
        assert_eq!(shares.at(0).unwrap().ahead, 0, "nobody else's are counted");
    }
}
