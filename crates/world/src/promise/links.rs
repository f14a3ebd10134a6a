//! The tables of a host with several links: one for each link by which guaranteed channels leave,
//! of all channels.
//!
//! A channel is admitted if every table admits it: that of its own link with all its work, the
//! others with its CPU time
//! ([`Request::by_another_link`](laxity_admission::Request::by_another_link)). EDF goes by the
//! latest of their bounds for it, which is the promise: by `D_order` a table's bounds hold under
//! any local deadlines between its own bound and the requested one. Under the demand test EDF goes
//! by the requested deadline, which is the same in all tables.
//!
//! Under levels no order depends on a deadline, and the promise is the own link's bound. A channel
//! that ends here leaves by no link; its promise is the least bound of all tables, since each is
//! valid. But a channel has one level, which is its position in a table as there are no more
//! channels than levels, and a bound holds only with the channels above it that its table has above
//! it. By `D_order` a newcomer's position is the highest that the channels below tolerate, which
//! depends on the waits of the table. A position that they tolerate stays tolerable further down.
//! So the lowest of these positions is the highest in which all tables agree, and all have the
//! channels in one order.

use std::collections::{BTreeMap, BTreeSet};

use laxity_admission::station::Link;
use laxity_admission::{
    AdmissionId, AdmissionRefusal, AdmissionTable, Bound, Breakdown, Decision, OtherLink, Test,
};
use laxity_qos::channel::{LinkId, MessageOverflow, PacketOverflow, Role};
use laxity_qos::discipline::Class;
use laxity_units::Span;

use super::asked::Asked;
use super::backlog::held;
use crate::coverage::{Uncovered, notice};
use crate::experiment::{ChannelSpec, Experiment, Task};

/// The promises of a host with several links.
#[derive(Clone)]
pub(super) struct Links {
    /// By the links that they are of; at least one.
    tables: Vec<(LinkId, AdmissionTable)>,
    /// By its name in the first table: the link that a channel leaves by, if it does, and its name
    /// in each.
    names: BTreeMap<AdmissionId, (Option<LinkId>, Vec<AdmissionId>)>,
}

impl Links {
    /// Of `tables` without channels. Panics if there is none.
    pub(super) fn new(tables: Vec<(LinkId, AdmissionTable)>) -> Self {
        assert!(!tables.is_empty(), "whatever ends here needs the CPU");
        Self { tables, names: BTreeMap::new() }
    }

    pub(super) fn request(&mut self, asked: &Asked) -> Result<AdmissionId, AdmissionRefusal> {
        let (from, mut names) = (self.highest_in_all(asked), Vec::new());
        for (link, table) in &mut self.tables {
            match table.request_from(asked.of_link(*link), from) {
                Decision::Admitted { id, .. } => names.push(id),
                Decision::Refused(refusal) => {
                    self.release_all(&names);
                    return Err(refusal);
                }
            }
        }
        let name = names[0];
        let leaves = asked.rate.request.role() != Role::Receive;
        self.names.insert(name, (leaves.then_some(asked.link), names));
        Ok(name)
    }

    /// The highest place that all tables would give it, where that has to be the same. Which of
    /// them refuses it at any says so when it is asked.
    fn highest_in_all(&self, asked: &Asked) -> usize {
        if !self.has_one_order() {
            return 0;
        }
        let of = |(link, table): &(LinkId, AdmissionTable)| table.highest_priority(&asked.of_link(*link));
        self.tables.iter().filter_map(of).max().unwrap_or(0)
    }

    /// Whether the order of channels is more than each table's own affair. By the demand test it is
    /// that of deadlines.
    fn has_one_order(&self) -> bool {
        let first = &self.tables[0].1;
        first.has_levels() && first.test() == Test::DOrder
    }

    pub(super) fn release(&mut self, id: AdmissionId) -> bool {
        let Some((_, names)) = self.names.remove(&id) else { return false };
        self.release_all(&names);
        true
    }

    fn release_all(&mut self, names: &[AdmissionId]) {
        for ((_, table), name) in self.tables.iter_mut().zip(names) {
            table.release(*name);
        }
    }

    /// The least deadline that all of them would admit.
    pub(super) fn least_deadline(&self, asked: &Asked) -> Result<Span, AdmissionRefusal> {
        let from = self.highest_in_all(asked);
        let of = |(link, table): &(LinkId, AdmissionTable)| match table.test() {
            Test::DOrder => table.least_deadline_from(&asked.of_link(*link), from),
            Test::Demand => table.least_deadline(&asked.of_link(*link)),
        };
        self.tables.iter().map(of).try_fold(Span::ZERO, |least, one| Ok(least.max(one?)))
    }

    /// The bounds by the names in the first table. The excess of another table over a channel's own
    /// is time of other channels.
    pub(super) fn bounds(&self) -> Vec<Bound> {
        self.bounds_with_tables().into_iter().map(|(_, bound)| bound).collect()
    }

    /// The same, each with the table that it is of.
    fn bounds_with_tables(&self) -> Vec<(usize, Bound)> {
        let by_id = |(_, table): &(LinkId, AdmissionTable)| {
            table.bounds().into_iter().map(|bound| (bound.id, bound)).collect()
        };
        let bounds: Vec<BTreeMap<AdmissionId, Bound>> = self.tables.iter().map(by_id).collect();
        let of = |(id, (link, names)): (&AdmissionId, &(Option<LinkId>, Vec<AdmissionId>))| {
            let at = |table: usize| bounds[table][&names[table]];
            let all = || 0..names.len();
            let table = match link {
                Some(link) => self.place(*link),
                None if self.tables[0].1.has_levels() => {
                    all().min_by_key(|table| at(*table).bound).unwrap_or(0)
                }
                None => 0,
            };
            let own = at(table);
            debug_assert!(all().all(|table| at(table).level == own.level), "levels agree");
            let latest = match self.tables[0].1.test() {
                _ if own.level.is_some() => own.bound,
                Test::DOrder => all().map(|table| at(table).bound).max().unwrap_or(own.bound),
                Test::Demand => own.bound,
            };
            let higher = own.higher.saturating_add(latest.saturating_sub(own.bound));
            (table, Bound { id: *id, bound: latest, higher, ..own })
        };
        self.names.iter().map(of).collect()
    }

    /// `W` and `S` of an admitted request that has this bound.
    pub(super) fn terms(
        &self,
        asked: &Asked,
        bound: &Bound,
    ) -> Result<(Breakdown, Breakdown), AdmissionRefusal> {
        let table = match self.names.get(&bound.id) {
            Some((None, _)) if self.tables[0].1.has_levels() => self
                .bounds_with_tables()
                .into_iter()
                .find(|(_, one)| one.id == bound.id)
                .map(|(table, _)| table),
            _ => None,
        };
        let (request, table) =
            (&asked.rate.request, &self.tables[table.unwrap_or_else(|| self.place(asked.link))].1);
        Ok((table.wait_time(request)?, table.service_time(request)?))
    }

    /// The table of a link; the first for what leaves by none.
    pub(super) fn of(&self, link: LinkId) -> &AdmissionTable {
        &self.tables[self.place(link)].1
    }

    fn place(&self, link: LinkId) -> usize {
        self.tables.iter().position(|(of, _)| *of == link).unwrap_or(0)
    }
}

/// The links by which guaranteed channels leave `node`.
pub(super) fn promising(experiment: &Experiment, node: usize) -> BTreeSet<LinkId> {
    let out = |channel: &'_ ChannelSpec| {
        channel.passages_from(node).map(|hop| experiment.link_out(channel, hop)).collect::<Vec<_>>()
    };
    let guaranteed = experiment.channels.iter().filter(|channel| channel.class == Class::RealTime);
    guaranteed.flat_map(out).collect()
}

/// The links of `node` beside `at`, as far as packets leave by them.
pub(super) fn other_links(
    experiment: &Experiment,
    (node, at): (usize, LinkId),
    links: &[Link],
) -> Result<Vec<OtherLink>, Uncovered> {
    let mut others = Vec::new();
    for (link, behind) in (0..).map(LinkId).zip(links).filter(|(link, _)| *link != at) {
        let sent = leaving(experiment, (node, link));
        let packet = experiment.packet();
        let spec = |(i, _): &(usize, usize)| experiment.channels[*i].spec;
        let Some(smallest) = sent.iter().map(|i| spec(i).smallest_packet(packet)).min() else { continue };
        let largest = sent.iter().map(|i| spec(i).largest_packet(packet)).max().unwrap_or(packet);
        let longest = behind.alone().map(|link| link.transmit(largest));
        let apart = behind.apart(smallest);
        if apart.is_zero() {
            return Err(Uncovered::CoresOther);
        }
        let buffers = buffers(experiment, &sent);
        others.push(OtherLink { apart, longest, interrupts: behind.interrupts().all, buffers });
    }
    Ok(others)
}

/// The channels that leave a node by a link, each with the hop.
pub(super) fn leaving(experiment: &Experiment, (node, link): (usize, LinkId)) -> Vec<(usize, usize)> {
    let leaves = |(i, channel): (usize, &ChannelSpec)| {
        let hops = channel.passages_from(node).filter(|hop| experiment.link_out(channel, *hop) == link);
        hops.map(|hop| (i, hop)).collect::<Vec<_>>()
    };
    experiment.channels.iter().enumerate().flat_map(leaves).collect()
}

/// Packets of those channels that may be at their nodes and not complete; `None` if that has no end.
pub(super) fn buffers(experiment: &Experiment, sent: &[(usize, usize)]) -> Option<u64> {
    sent.iter().try_fold(0u64, |all, (i, hop)| Some(all.saturating_add(room(experiment, *i, *hop)?)))
}

/// Packets of channel `i` that may be at the node of that hop, which sends them, and not complete;
/// `None` if that has no end.
fn room(experiment: &Experiment, i: usize, hop: usize) -> Option<u64> {
    let channel = &experiment.channels[i];
    // The number of copies is not known yet.
    if matches!(experiment.task, Task::Fill(_)) || channel.packet_overflow == PacketOverflow::DecayDeadline {
        return None;
    }
    let lanes = 1 + u64::from(channel.message_overflow == MessageOverflow::BestEffort);
    // A relay has buffers for early messages. No local deadline is longer than the whole.
    let local = |_| channel.deadline.unwrap_or(Span::MAX);
    let passing = held(experiment, i, hop, notice(experiment, channel.route[hop]), local);
    Some(channel.packet_slots.max(passing).saturating_mul(lanes))
}
