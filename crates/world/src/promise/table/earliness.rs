//! How early messages arrive where bounds count early messages, by promised delays.
//!
//! A request counts on requested local deadlines, for a later channel may lengthen a promise up to them.
//! With all channels in place a message is due at the next station when the *promised* delay has passed
//! (`Hop::kept`), so it is early there by no more than that. Two channels by WFQ had 1011 and 516 us, and
//! 1995 and 516 when the second asked for twice its deadline: it was counted as 40 messages early, and was
//! promised to leave its host after 4 us.
//!
//! Where messages are less early bounds are shorter, and so are the promises of the stations before. Each
//! round begins with promises that hold, so its own hold too.

use std::collections::BTreeMap;

use laxity_admission::{AdmissionId, Bound, Early};
use laxity_units::Span;

use super::super::analyses::Analyses;
use super::among::{Answer, Answers};
use super::{Reserved, Tables, on_path};
use crate::experiment::Experiment;
use crate::traffic::ahead;

/// Rounds after which the promises are as short as they need to be.
const ROUNDS: usize = 8;

/// The stations of a channel.
struct Path<'a> {
    channel: usize,
    reserved: Vec<&'a Reserved>,
    /// By when those that are FIFO queues are through.
    queues: BTreeMap<usize, Span>,
}

impl Tables {
    /// Counts early messages by requested local deadlines, and then by promised delays: those of tables, and
    /// of FIFO queues as far as they are known.
    pub(in crate::promise) fn count_early(&mut self, experiment: &Experiment, answers: &Answers) {
        let counts = |reserved: &Reserved| {
            reserved.hop > 0 && self.hosts[reserved.node].as_ref().is_ok_and(|host| host.counts_early())
        };
        let path = |(channel, answer): (usize, &Answer)| {
            let Some(Ok(reservation)) = answer else { return None };
            let reserved = on_path(experiment, answers, channel).collect();
            let mut queues = reservation.counted_on.clone();
            queues.extend(reservation.queues.iter().map(|it| (it.hop, it.kept)));
            reservation.reserved.iter().any(counts).then_some(Path { channel, reserved, queues })
        };
        let paths: Vec<Path> = answers.iter().enumerate().filter_map(path).collect();
        let mut bounds = None;
        for round in 0..=ROUNDS {
            let new = self.arrive(experiment, &paths, bounds.as_ref());
            if !new && round > 0 {
                break;
            }
            let nodes = paths.iter().flat_map(|path| path.reserved.iter().map(|it| it.node));
            let mut found = BTreeMap::new();
            for node in nodes {
                found.entry(node).or_insert_with(|| self.bounds_at(node));
            }
            bounds = Some(found);
        }
    }

    /// Whether FIFO queues keep what stations behind them counted on, and stations their local deadlines.
    pub(in crate::promise) fn are_kept(&self, answers: &Answers) -> bool {
        let bounds = self.bounds();
        let counts = |it: &Reserved| self.hosts[it.node].as_ref().is_ok_and(Analyses::counts_early);
        let late = |it: &&Reserved| bounds[it.node][&it.id].bound > it.asked.rate.request.deadline();
        answers.iter().flatten().flatten().all(|answer| {
            let by = |hop: usize| answer.queues.iter().find(|it| it.hop == hop).map(|it| it.kept);
            let on_time = |(hop, most): (&usize, &Span)| by(*hop).is_some_and(|by| by <= *most);
            !answer.reserved.iter().filter(late).any(counts) && answer.counted_on.iter().all(on_time)
        })
    }

    /// Counts on stations before that keep `bounds`, or requested local deadlines. Answers whether that
    /// changes a bound.
    fn arrive(
        &mut self,
        experiment: &Experiment,
        paths: &[Path],
        bounds: Option<&BTreeMap<usize, BTreeMap<AdmissionId, Bound>>>,
    ) -> bool {
        let mut early: BTreeMap<usize, BTreeMap<AdmissionId, Early>> = BTreeMap::new();
        for Path { channel, reserved, queues } in paths {
            let channel = &experiment.channels[*channel];
            let kept = |reserved: &Reserved| match bounds {
                Some(bounds) if self.promises_bounds(experiment, reserved.node) => {
                    bounds[&reserved.node][&reserved.id].bound
                }
                _ => reserved.asked.rate.request.deadline(),
            };
            let mut local = queues.clone();
            local.extend(reserved.iter().map(|it| (it.hop, kept(it))));
            let local = |hop: usize| local.get(&hop).copied().or(channel.deadline).unwrap_or(Span::MAX);
            for Reserved { hop, node, id, .. } in reserved.iter().copied().filter(|it| it.hop > 0) {
                let own = ahead::early(experiment, channel, *hop, local);
                early.entry(*node).or_default().insert(*id, own);
            }
        }
        let of = |(node, early): (usize, BTreeMap<_, _>)| self.table(node).arrive(&early);
        early.into_iter().map(of).fold(false, |any, new| any | new)
    }
}
