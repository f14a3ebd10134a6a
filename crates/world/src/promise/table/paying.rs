//! Where the burst of a channel is paid for, over rows of links that are shared by rates.
//!
//! Each channel has two valid bounds over such rows. By the first, each link pays for the burst, and
//! the bound there may count the arrivals of all channels instead. By the second, the first link pays
//! for the burst by the rate of the channel, and those behind it do not ([`Pays`]). Neither depends
//! on the choice for other channels.
//!
//! A request takes what is less beside the channels before it. The first channel finds empty links,
//! and the arrivals of all are its own; with others beside it, its rate may be worth more. Such a
//! channel was promised 206 ms where seven equal ones that came after it were promised 193, and a
//! faster link lengthened its bound. So the choice is made again with all channels in place.
//!
//! Each station behind counts on local deadlines. A choice by which a station takes longer than its
//! local deadline is therefore left out.

use std::collections::{BTreeMap, BTreeSet};

use laxity_admission::{AdmissionId, Bound, Pays, Request};
use laxity_units::Span;

use super::super::leg::Leg;
use super::among::{Answer, Answers};
use super::{Reserved, Tables};
use crate::experiment::{ChannelSpec, Experiment};

/// The place where a burst is paid for behind a station that left `handed_on` of it to be paid.
pub(in crate::promise) fn behind(once: bool, handed_on: Option<Span>) -> Pays {
    match handed_on {
        _ if !once => Pays::Everywhere,
        Some(before) => Pays::Before(before),
        None => Pays::First,
    }
}

impl Tables {
    /// Whether `channel`, over a row of links that are shared by rates, is promised less if its
    /// burst is paid for at the first of them only.
    pub(super) fn pays_once(&self, experiment: &Experiment, channel: &ChannelSpec, request: Request) -> bool {
        let least = |once| {
            let mut leg = Leg::first((experiment, &self.placement), channel, once);
            let mut sum = Span::ZERO;
            for (node, role) in self.hosts_of(experiment, channel) {
                let asked = leg.asked((node, role), request);
                let Ok(host) = &self.hosts[node] else { break };
                if !host.is_ordered() {
                    sum = sum.saturating_add(host.least_deadline(&asked).unwrap_or(Span::MAX));
                }
                leg.leaves(host.handed_on(&asked), request.deadline());
            }
            sum
        };
        let rates = channel.route.iter().filter(|node| !self.is_ordered(**node)).count();
        channel.copy.is_none() && rates > 1 && least(true) < least(false)
    }

    /// Pays for the burst of each admitted channel where that promises it least, and counts early messages
    /// by what is promised.
    pub(in crate::promise) fn settle(&mut self, experiment: &Experiment, answers: &mut Answers) {
        // A copy has a part of its path, and others count on that of the channel that is copied.
        let apart = |i: &usize| experiment.multicast(*i).len() == 1;
        let by_rates = |it: &&Reserved| self.handed_on(it).is_some();
        let rates = |i: &usize| reserved(&answers[*i]).iter().filter(by_rates).count() > 1;
        let paths: Vec<usize> = (0..answers.len()).filter(apart).filter(rates).collect();
        if !paths.is_empty() {
            let reserved = paths.iter().flat_map(|i| reserved(&answers[*i]));
            let nodes: BTreeSet<usize> = reserved.map(|reserved| reserved.node).collect();
            let [everywhere, once] = [false, true].map(|once| {
                paths.iter().for_each(|i| self.pay(&mut answers[*i], once));
                self.count_early(experiment, answers);
                let bounds = nodes.iter().map(|node| (*node, self.bounds_at(*node))).collect();
                paths.iter().map(|i| sum(&answers[*i], &bounds)).collect::<Vec<_>>()
            });
            for (i, (everywhere, once)) in paths.into_iter().zip(everywhere.into_iter().zip(once)) {
                let once = once.is_some_and(|once| everywhere.is_none_or(|everywhere| once < everywhere));
                self.pay(&mut answers[i], once);
            }
        }
        self.count_early(experiment, answers);
    }

    /// Pays for the burst at the first link of each row of a path, if `once`, or at each link.
    fn pay(&mut self, answer: &mut Answer, once: bool) {
        let Some(Ok(reservation)) = answer else { return };
        let mut pays = behind(once, None);
        for reserved in &mut reservation.reserved {
            reserved.asked.rate.pays = pays;
            pays = behind(once, self.handed_on(reserved));
            self.table(reserved.node).pay(reserved.id, reserved.asked.rate.pays);
        }
    }

    /// The rest of its burst that `reserved` passes on to a rate-based link after its station.
    fn handed_on(&self, Reserved { node, asked, .. }: &Reserved) -> Option<Span> {
        self.hosts[*node].as_ref().ok()?.handed_on(asked)
    }
}

/// The sum of the bounds of a path; `None` if one is beyond its local deadline.
fn sum(answer: &Answer, bounds: &BTreeMap<usize, BTreeMap<AdmissionId, Bound>>) -> Option<u128> {
    let at = |reserved: &Reserved| {
        let bound = bounds[&reserved.node][&reserved.id].bound;
        (bound <= reserved.asked.rate.request.deadline()).then_some(u128::from(bound.as_ps()))
    };
    reserved(answer).iter().map(at).sum()
}

/// The reservations of a channel.
fn reserved(answer: &Answer) -> &[Reserved] {
    answer.as_ref().and_then(|answer| answer.as_ref().ok()).map_or(&[], |it| &it.reserved)
}
