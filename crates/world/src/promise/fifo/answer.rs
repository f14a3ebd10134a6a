//! The answer to a channel that passes queues: its promises, or why there are none.

use laxity_admission::{AdmissionId, Bound, Breakdown, Deficit, Scarce, Term};
use laxity_curves::{FlowBound, Unbounded};
use laxity_qos::channel::{LinkId, Role};
use laxity_units::Span;

use super::super::analyses::Reading;
use super::super::answer::{Hop, Promise};
use super::super::asks;
use super::{Entry, Part, Row, through};
use crate::coverage::{Uncovered, delivers_at_once};
use crate::experiment::ChannelSpec;

/// The answer to a channel that passes queues.
pub(super) enum Answer {
    /// The promises of its queues, and of the stations that have messages from them.
    Kept(Vec<Hop>),
    /// No bound is known from that hop on. The promises of the queues before are those of copies, too.
    Unknown(usize, Uncovered, Vec<Hop>),
    /// The resource that is too small, by how much, and at which station.
    Refused(Scarce, Deficit, usize),
}

impl Part<'_> {
    /// The answer to a channel of which these are the rows of queues, and `tables` the promises of the
    /// other stations.
    pub(super) fn answer(&self, rows: &[Row<'_>], tables: &[Hop]) -> Answer {
        let channel = self.channel(rows[0].entry);
        let mut kept = Vec::new();
        for Row { entry, known, found } in rows {
            let (first, stations) = (entry.hops.start, self.stations(entry));
            if let Err(why) = known {
                if let Some(Ok(found)) = found {
                    kept.extend(self.queues(entry, found));
                }
                return Answer::Unknown(first, *why, kept);
            }
            let found = match found {
                Some(Ok(found)) => found,
                Some(Err(Unbounded { hop: _, disordered: true })) => {
                    return Answer::Unknown(first, Uncovered::AtsOrder, kept);
                }
                Some(Err(Unbounded { hop, disordered: false })) => {
                    return Answer::Refused(Scarce::Link, Deficit::Unbounded, stations[*hop]);
                }
                None => return Answer::Refused(Scarce::Link, Deficit::Unbounded, stations[0]),
            };
            if let Some((slots, lacks)) = self.lacks(entry, found).filter(|_| first == 0) {
                return Answer::Refused(slots, Deficit::Places(lacks), stations[0]);
            }
            if let Err(why) = self.passes_meter(entry, found) {
                return Answer::Unknown(first, why, kept);
            }
            kept.extend(self.row(entry, found, tables));
        }
        let others = tables.iter().filter(|table| kept.iter().all(|hop| hop.hop != table.hop));
        let mut all: Vec<Hop> = others.chain(&kept).cloned().collect();
        all.sort_by_key(|hop| hop.hop);
        if let Some(hop) = (0..channel.senders().len()).find(|hop| all.iter().all(|known| known.hop != *hop))
        {
            return Answer::Unknown(hop, self.all.without_table(channel, hop), kept);
        }
        self.judged(channel, kept, all)
    }

    /// Whether `all` promises keep the deadline of `channel`, of which `kept` are new.
    fn judged(&self, channel: &ChannelSpec, kept: Vec<Hop>, all: Vec<Hop>) -> Answer {
        let deadline = asks::deadline(self.experiment, channel).unwrap_or(Span::MAX);
        let slowest = kept.iter().max_by_key(|hop| hop.kept).map_or(channel.route[0], |hop| hop.node);
        match Promise::Admitted(all).end_to_end_bound() {
            Some(bound) if bound <= deadline => Answer::Kept(kept),
            Some(bound) => {
                let late = Deficit::Time(bound.saturating_sub(deadline));
                Answer::Refused(Scarce::Deadline, late, slowest)
            }
            None => Answer::Refused(Scarce::Link, Deficit::Unbounded, slowest),
        }
    }

    /// The promises of queues in a row.
    fn queues(&self, entry: &Entry, found: &FlowBound) -> Vec<Hop> {
        let (experiment, channel) = (self.experiment, self.channel(entry));
        let packets = channel.spec.fragmentation(experiment.packet()).packets();
        let mut hops = Vec::new();
        let mut passed = Span::ZERO;
        for (place, &by) in found.passed.iter().enumerate() {
            let hop = entry.hops.start + place;
            let (kept, node) = (by.saturating_sub(passed), channel.route[hop]);
            passed = passed.max(by);
            let link = experiment.link(node, LinkId::FIRST).unwrap_or_default();
            let own = link.transmit(channel.spec.largest_packet(experiment.packet())).min(kept);
            let backlog = self.present(entry, found, place).saturating_mul(packets);
            let role = if hop == 0 { Role::Send } else { Role::Relay };
            hops.push(self.hop(channel, (hop, node, role), (kept.saturating_sub(own), own), backlog));
        }
        hops
    }

    /// The promises of queues in a row, and of the station behind them.
    fn row(&self, entry: &Entry, found: &FlowBound, tables: &[Hop]) -> Vec<Hop> {
        let (experiment, channel) = (self.experiment, self.channel(entry));
        let packets = channel.spec.fragmentation(experiment.packet()).packets();
        let mut hops = self.queues(entry, found);
        let (next, last) = (entry.hops.end, channel.route.len() - 1);
        let until = through(hops.iter());
        // A message can wait for the bound of the row, and is early by its jitter at most.
        let present = |stay: Span| {
            let window =
                until.saturating_add(stay).saturating_add(found.jitter[0]).saturating_add(found.jitter[0]);
            self.within(entry, window).saturating_mul(packets)
        };
        if next == last && channel.received && delivers_at_once(experiment, channel.route[last]) {
            let here = (last, channel.route[last], Role::Receive);
            hops.push(self.hop(channel, here, (Span::ZERO, Span::ZERO), present(Span::ZERO)));
        } else if let Some(table) = tables.iter().find(|table| table.hop == next) {
            let backlog = present(table.kept.saturating_add(self.all.notice(table.node)));
            hops.push(Hop { backlog, ..table.clone() });
        }
        hops
    }

    fn hop(
        &self,
        channel: &ChannelSpec,
        (hop, node, role): (usize, usize, Role),
        (wait, service): (Span, Span),
        backlog: u64,
    ) -> Hop {
        let kept = wait.saturating_add(service);
        let (id, deadline) = (AdmissionId::of_number(hop as u64), channel.deadline.unwrap_or(kept));
        let (higher, interference, head_start) = (Span::ZERO, Span::ZERO, Span::ZERO);
        let bound = Bound {
            id,
            priority: 0,
            level: None,
            deadline,
            bound: kept,
            wait,
            service,
            higher,
            interference,
            head_start,
        };
        let term = |name, cost: Span| {
            Breakdown::of((!cost.is_zero()).then_some(Term { name, cost }).into_iter().collect())
        };
        Hop {
            hop,
            node,
            role,
            bound,
            wait: term("frames before it in the FIFO queue", wait),
            service: term("its own transmission", service),
            reading: Reading::default(),
            local_deadline: kept,
            kept,
            way: self.all.way(channel, hop),
            backlog,
            frames: None,
            room: None,
        }
    }
}
