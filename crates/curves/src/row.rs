//! Servers with gates in a row, with windows of a known phase.
//!
//! A frame waits for a window at one server and then arrives at the next one at a known time of the cycle.
//! So the waits for windows are not added up, as the bounds of single servers are.
//!
//! **The row as a function.** A frame that arrives at `t` has left server `i` of the row by `E_i(t)`
//! ([`timetable`](crate::gates::timetable)), and by `t` and the bound of that server at any phase. The
//! path to the next server takes always the same time `w_i`. `E_i` is monotone, so the frame has left the
//! row by
//!
//! ```text
//! G(t)  =  E_n( … w_2 + E_2( w_1 + E_1(t) ) )
//! ```
//!
//! Any phase of the arrivals at the first server is possible, so the bound of the row is the maximum of
//! `G(t) - t` over a period.
//!
//! **The maximum.** `G` is monotone too, so no frame that arrives between `a` and `b` takes longer than
//! `G(b) - a`. The span with the highest limit is cut in two until it is one picosecond long. That takes too
//! many cuts where all delays in a long span are equal. The bound is then the highest limit of all spans that
//! are a small part of a cycle long.

use std::collections::BinaryHeap;

use laxity_units::Span;

use crate::arrival::picobits;
use crate::gates::timetable::{Timetable, common};
use crate::network::{QueueNetwork, Visit};
use crate::total::{Share, Total};

/// Flows up to which a network has rows.
const FLOWS: usize = 100;

/// Parts of the shortest cycle in which the maximum is searched first.
const PARTS: u128 = 512;

/// Cuts of spans until they are that short, and further ones.
const MOST: usize = 600;
const MORE: usize = 150;

/// A server of a row.
struct Stage<'a> {
    table: &'a Timetable,
    /// Longest time from the arrival to the end of the transmission, at any phase.
    delay: u128,
    /// From there to the arrival at the next server.
    behind: i128,
}

/// Servers of a flow with frames between two sizes, in picobits.
struct Row<'a> {
    stages: Vec<Stage<'a>>,
    period: u128,
    sizes: (u128, u128),
}

impl Row<'_> {
    /// The instant by which a frame has left that arrives at `at`.
    fn leaves(&self, at: u128) -> u128 {
        let (mut at, mut end) = (at, at);
        for Stage { table, delay, behind } in &self.stages {
            let latest = table.latest(at, self.sizes);
            end = latest.map_or(at + delay, |latest| latest.min(at + delay));
            at = end.saturating_add_signed(*behind);
        }
        end
    }

    /// Longest time in the row, if it is less than `known`.
    fn longest(&self, known: u128) -> u128 {
        // No table looks at times before zero.
        let before = self.stages.iter().map(|stage| stage.table.begin()).max().unwrap_or(0);
        let begin = before.next_multiple_of(self.period);
        let end = begin + self.period;
        let shortest = self.stages.iter().map(|stage| stage.table.cycle()).min().unwrap_or(1);
        let short = shortest.div_ceil(PARTS);
        let limit = |from: u128, (to, leaves): (u128, u128)| (leaves - from, from, to, leaves);
        let mut spans = BinaryHeap::from([limit(begin, (end, self.leaves(end)))]);
        let (mut coarse, mut left) = (None, MOST);
        while let Some((most, from, to, leaves)) = spans.pop() {
            if to - from == 1 || leaves - to >= known {
                return most.min(known);
            }
            if coarse.is_none() && to - from <= short {
                (coarse, left) = (Some(most), left.min(MORE));
            }
            if left == 0 {
                return coarse.unwrap_or(most).min(known);
            }
            left -= 1;
            let middle = from.midpoint(to);
            spans.extend([limit(from, (middle, self.leaves(middle))), limit(middle, (to, leaves))]);
        }
        known
    }
}

impl Total {
    /// The class of `share` at `server` by the time, if it has windows that no higher class disturbs.
    pub(crate) fn timetable(
        &self,
        network: &QueueNetwork,
        server: usize,
        share: &Share,
    ) -> Option<Timetable> {
        let examined = !network.servers[server].fifo && network.flows.len() <= FLOWS;
        let (steps, _) = share.steps.as_ref().filter(|_| examined)?;
        let visits = &network.visits[server][share.visits.clone()];
        let busy = steps.busy(&self.padded(network, visits, share.longest))?;
        Timetable::of(network, visits, (steps.clone(), busy), |own| self.stairs(network, own, busy))
    }

    /// Growth of the bound at the server of `visit`, where a frame stays for `delay` at most at any phase of
    /// the windows: `delay`, or less behind servers with gates.
    pub(crate) fn growth_in_row(&self, network: &QueueNetwork, visit: &Visit, delay: Span) -> Span {
        let Visit { flow: index, hop, .. } = *visit;
        let flow = &network.flows[index];
        let table = |hop: usize| self.timetables[flow.path[hop]].get(&flow.level);
        let (Some(last), false) = (table(hop), (0..=hop).any(|hop| network.regulates(index, hop))) else {
            return delay;
        };
        let ps = |span: Span| u128::from(span.as_ps());
        let mut row = Row {
            stages: vec![Stage { table: last, delay: ps(delay), behind: 0 }],
            period: last.period,
            sizes: (picobits(flow.shortest), picobits(flow.longest)),
        };
        let (mut first, mut before) = (hop, 0);
        while let Some(hop) = first.checked_sub(1) {
            let found = table(hop).zip(network.servers[flow.path[hop]].behind());
            let period = found.and_then(|(table, _)| common(row.period, table.period));
            let (Some((table, behind)), Some(period)) = (found, period) else { break };
            row.stages.insert(0, Stage { table, delay: ps(self.delay[index][hop]), behind });
            before += ps(self.growth[index][hop]) as i128 + behind;
            (row.period, first) = (period, hop);
        }
        let known = ps(delay).saturating_add_signed(before);
        let longest = row.longest(known).saturating_add_signed(-before);
        let sending = network.servers[flow.path[hop]].rate.time_for_ceil(flow.shortest);
        Span::from_ps(u64::try_from(longest).unwrap_or(u64::MAX)).clamp(sending, delay)
    }
}

#[cfg(test)]
mod tests;
