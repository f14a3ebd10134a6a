//! Switches in a row, three to six, with hosts at its ends and beside it, and perhaps one in it
//! that hands on.
//!
//! An early packet gets earlier at every station with a horizon, so bounds beside early packets need
//! several such stations one behind the other. A row has horizons at most of its ports, deadlines of
//! many intervals, and ports by rates among those by deadline.

use laxity_units::Span;

use super::dice::Dice;
use super::names::{HOSTS, SWITCHES};

/// A row, and the places of its hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) hosts: u64,
    pub(super) switches: u64,
    /// Behind which switch the third host is in the row, if it hands on.
    relay: Option<usize>,
    /// Whether that host has an adapter of stages, which reports frames with a delay.
    pub(super) tells_late: bool,
    /// The switches of hosts that are beside the row, the third and the fourth.
    beside: [usize; 2],
}

/// The host that may be in the row.
const RELAY: usize = 2;
/// Names of links from one switch of the row to the next, and of those from a switch to its hosts.
const TRUNKS: [&str; 6] = ["t0", "t1", "t2", "t3", "t4", "t5"];
const BESIDE: [&str; 6] = ["n0", "n1", "n2", "n3", "n4", "n5"];

impl Row {
    pub(super) fn draw(dice: &mut Dice) -> Self {
        let (hosts, switches) = (dice.between(2, 4), dice.between(3, SWITCHES.len() as u64));
        let hands_on = hosts > RELAY as u64 && dice.chance(0.5);
        let relay = hands_on.then(|| dice.below(switches - 1) as usize);
        let beside = [(); 2].map(|()| dice.below(switches) as usize);
        Self { hosts, switches, relay, tells_late: hands_on && dice.chance(0.4), beside }
    }

    /// Whether `name` is in the row and has an adapter of stages.
    pub(super) fn is_told_late(&self, name: &str) -> bool {
        self.tells_late && name == HOSTS[RELAY]
    }

    /// The links: between two of the row, and from each switch to its hosts.
    pub(super) fn joins(&self) -> Vec<(&'static str, Vec<String>)> {
        let row = self.row();
        let mut joins: Vec<_> = TRUNKS.into_iter().zip(row.windows(2).map(owned)).collect();
        for (n, switch) in SWITCHES[..self.switches as usize].iter().enumerate() {
            let hosts = (0..self.hosts as usize).filter(|host| self.switch_of(*host) == Some(n));
            let ends: Vec<&str> = std::iter::once(*switch).chain(hosts.map(|host| HOSTS[host])).collect();
            if ends.len() > 1 {
                joins.push((BESIDE[n], owned(&ends)));
            }
        }
        joins
    }

    /// Whether a host is in the row, with two links.
    pub(super) fn relays(&self, host: usize) -> bool {
        self.switch_of(host).is_none()
    }

    /// Links and switches between two hosts.
    pub(super) fn between(&self, from: usize, to: usize) -> Vec<&'static str> {
        let row = self.row();
        let at = |host: usize| {
            let name = self.switch_of(host).map_or(HOSTS[host], |switch| SWITCHES[switch]);
            row.iter().position(|other| *other == name).expect("each host is in the row or beside it")
        };
        let (first, last) = (at(from), at(to));
        let mut passed: Vec<_> = row[first.min(last)..=first.max(last)].to_vec();
        if first > last {
            passed.reverse();
        }
        passed.retain(|name| ![HOSTS[from], HOSTS[to]].contains(name));
        passed
    }

    fn row(&self) -> Vec<&'static str> {
        let mut row = SWITCHES[..self.switches as usize].to_vec();
        if let Some(switch) = self.relay {
            row.insert(switch + 1, HOSTS[RELAY]);
        }
        row
    }

    /// The switch that a host is at; none in the row.
    fn switch_of(&self, host: usize) -> Option<usize> {
        match host {
            0 => Some(0),
            1 => Some(self.switches as usize - 1),
            RELAY if self.relay.is_some() => None,
            _ => Some(self.beside[host - RELAY]),
        }
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

/// A deadline at stations of a row: mostly of many intervals.
pub(super) fn deadline(dice: &mut Dice, interval: Span) -> Span {
    let intervals = dice.pick(&[1, 2, 6, 19, 19]);
    interval + dice.part_of(interval * intervals)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ada` at the first of four switches, `ben` at the last, `cleo` between the second and the
    /// third, and `dan` at the third.
    #[test]
    fn a_way_goes_along_the_row() {
        let row = Row { hosts: 4, switches: 4, relay: Some(1), tells_late: false, beside: [0, 2] };
        assert_eq!(row.between(0, 1), ["sw", "sx", "cleo", "sy", "sz"]);
        assert_eq!(row.between(3, 0), ["sy", "cleo", "sx", "sw"]);
        assert_eq!(row.between(2, 1), ["sy", "sz"]);
        assert_eq!(row.between(1, 3), ["sz", "sy"]);
        let joins = row.joins();
        let names: Vec<_> = joins.iter().map(|(name, ends)| format!("{name}: {}", ends.join(" "))).collect();
        assert_eq!(names[..4], ["t0: sw sx", "t1: sx cleo", "t2: cleo sy", "t3: sy sz"]);
        assert_eq!(names[4..], ["n0: sw ada", "n2: sy dan", "n3: sz ben"]);
    }
}
