//! The results of a run.

use std::ops::RangeInclusive;

use laxity_node::SIGNALS;
use laxity_signalling::bound::{SignallingChannel, establishment};
use laxity_signalling::message::Body;

use super::*;
use crate::assembly::outcome::expects_misses;
use crate::experiment::{ChannelSpec, Routing};
use crate::results::{Channel, ResourceResults};

/// Student's t for 95 of 100 and 19 degrees of freedom.
const STUDENT: f64 = 2.093;

impl Managed<'_> {
    /// Closes the run that ended at `end`.
    pub(super) fn closed(mut self, end: Time) -> Run {
        self.now = end;
        self.judge_messages(end);
        self.judge_end(end);
        self.look_at_window(end);
        let stands = || Snapshot {
            at: end,
            tallies: self.counted.iter().map(|channel| channel.meter.tally.clone()).collect(),
            asks: self.counted.iter().map(|channel| channel.asks.clone()).collect(),
            busy: self.links.iter().map(|link| link.busy).collect(),
        };
        let opened = self.window.opened.take().unwrap_or_else(stands);
        let closed = self.window.closed.take().unwrap_or_else(stands);
        let window = closed.at.saturating_since(opened.at).as_secs_f64();
        let bounds: Vec<_> =
            (0..self.counted.len()).map(|channel| self.establishment_bound(channel)).collect();
        let mut run = Run { simulated: end.as_secs_f64(), window, ..Run::default() };
        run.resources = self.resources(&opened, &closed, window);
        run.figures = self.figures();
        run.answers = std::mem::take(&mut self.answers);
        let counted = std::mem::take(&mut self.counted);
        run.channels = counted
            .into_iter()
            .enumerate()
            .map(|(i, counted)| self.channel(i, counted, bounds[i], (&opened, &closed, window)))
            .collect();
        run
    }

    fn channel(
        &self,
        i: usize,
        counted: Counted,
        answer: Option<(Span, u64)>,
        (opened, closed, window): (&Snapshot, &Snapshot, f64),
    ) -> Channel {
        let spec = &self.experiment.channels[i];
        let real_time = spec.deadline.is_some();
        let Counted { mut meter, asks: all, establishment, slowest, parts, closest, due, refused, routes: _ } =
            counted;
        let tally = closed.tallies[i].since(&opened.tallies[i]);
        let (before, after) = (&opened.asks[i], &closed.asks[i]);
        let asked = |count: fn(&Asks) -> u64| real_time.then(|| count(after) - count(before));
        let rate = |bytes: Bytes| if window > 0.0 { bytes.get() as f64 / window } else { 0.0 };
        let [_, laxity, _] = meter.timeliness(self.experiment.curves);
        let seconds = |span: Option<Span>| span.map(Span::as_secs_f64);
        let due = Some(due).filter(|(due, _)| *due > 0);
        let answered = real_time.then(|| parts.iter().map(|(asked, _)| asked).sum::<u64>());
        let blocked = parts.iter().map(|(_, refused)| refused).sum::<u64>();
        Channel {
            name: spec.name.clone(),
            class: if real_time { "real_time" } else { "best_effort" }.into(),
            reserved: real_time.then(|| spec.spec.rate().bytes_per_sec_f64()),
            deadline: seconds(spec.deadline),
            delivery_bound: seconds(closest.0.map(|(_, bound)| bound)),
            delivery_worst: seconds(closest.0.and_then(|(worst, _)| worst)),
            no_bound: match closest.0 {
                None if real_time && refused.is_none() => "it was not established".into(),
                _ => String::new(),
            },
            refused,
            offered: rate(tally.offered),
            throughput: rate(tally.transmitted),
            goodput: rate(tally.delivered_bytes),
            messages: tally.messages,
            completed: tally.completed,
            packets: tally.packets,
            delivered: Some(tally.delivered),
            delivered_late: real_time.then_some(tally.delivered_late),
            late_outside: meter.tally.late() - tally.late(),
            due_messages: due.map(|(due, _)| due),
            failed_messages: due.map(|(due, in_time)| due - in_time),
            // Those that a fault touched are not due.
            impaired_messages: 0,
            on_time: due.map(|(due, in_time)| in_time as f64 / due as f64),
            misses_expected: expects_misses(self.experiment, i),
            drops: tally.dropped.named().collect(),
            lost_packets: tally.lost_packets,
            impaired_packets: 0,
            delivery: std::mem::take(&mut meter.delivery).summary(self.experiment.curves),
            laxity: laxity.filter(|_| real_time),
            requests: asked(|asks| asks.requests),
            established: asked(|asks| asks.established),
            refused_requests: asked(|asks| asks.refused),
            refusals: all.refusals,
            changed: asked(|asks| asks.changed),
            refused_changes: asked(|asks| asks.changes_refused),
            lost: asked(|asks| asks.lost),
            unexpected: real_time.then_some(all.unexpected),
            blocking: answered.filter(|asked| *asked > 0).map(|asked| blocked as f64 / asked as f64),
            blocking_half: half_width(&parts),
            establishment: establishment.summary(self.experiment.curves),
            establishment_worst: seconds(slowest),
            establishment_bound: seconds(answer.map(|(bound, _)| bound)),
            establishment_queue: answer.map(|(_, before)| before),
            ..Channel::default()
        }
    }

    /// The bound on the time to an answer where no message is lost, and the most signalling messages
    /// that it counts before one at a link; `None` for best effort. Both follow from the file.
    fn establishment_bound(&self, channel: usize) -> Option<(Span, u64)> {
        let spec = &self.experiment.channels[channel];
        spec.deadline?;
        let asked = &self.counted[channel].routes;
        let routes = asked.iter().chain(asked.is_empty().then_some(&spec.route));
        routes.map(|route| self.bound_over(route)).max()?
    }

    /// The same over one route.
    fn bound_over(&self, route: &[usize]) -> Option<(Span, u64)> {
        let drift = self.quality.drift;
        // A timer of a node is late by up to a grain.
        let interval = drift.longest_true(self.spec.spacing.saturating_add(self.quality.grain));
        let links: Option<Vec<_>> = route
            .windows(2)
            .map(|pair| {
                let link = self.spec.between(pair[0], pair[1])?;
                let way = self.spec.link(self.experiment, link).way;
                Some(SignallingChannel {
                    interval,
                    deadline: interval,
                    way,
                    before: self.before(pair[0], pair[1]),
                })
            })
            .collect();
        let links = links?;
        let before = links.iter().map(|link| link.before).max().unwrap_or(0);
        Some((establishment(&links, Span::ZERO, 0, &self.settings), before))
    }

    /// The most signalling messages that wait for the link from `from` to `to` when one arrives there,
    /// or left within the last spacing.
    ///
    /// At most one message of each kind waits for each channel, and one request and one reply for each
    /// node that sets its clock. Ours is one of them, and one more left before. Repeated requests
    /// are about any number of channels, and the node limits the queue.
    pub(super) fn before(&self, from: usize, to: usize) -> u64 {
        let count = |kinds: RangeInclusive<u8>| kinds.count() as u64;
        let [forward, backward] = [count(Body::FORWARD), count(Body::BACKWARD)];
        let of_channel = |spec: &ChannelSpec| match (&spec.asked, self.spec.routes) {
            _ if spec.deadline.is_none() => 0,
            (AskedTimes::Calls { .. }, _) => SIGNALS as u64,
            (AskedTimes::Once { .. }, Routing::Widest) => forward + backward,
            (AskedTimes::Once { .. }, Routing::FewestHops) => {
                let passes = |link: [usize; 2]| u64::from(spec.route.windows(2).any(|pair| pair == link));
                forward * passes([from, to]) + backward * passes([to, from])
            }
        };
        let channels: u64 = self.experiment.channels.iter().map(of_channel).sum();
        let clocks = if self.spec.synchronise.is_some() { 2 * self.stations.len() as u64 } else { 0 };
        (channels + clocks).min(SIGNALS as u64)
    }

    fn resources(&self, opened: &Snapshot, closed: &Snapshot, window: f64) -> Vec<ResourceResults> {
        let share = |from: Span, to: Span| match window > 0.0 {
            // A frame counts whole when it begins.
            true => (to.saturating_sub(from).as_secs_f64() / window).min(1.0),
            false => 0.0,
        };
        let resource = |(i, link): (usize, &Directed)| {
            let shares = [0, 1, 2].map(|kind| share(opened.busy[i][kind], closed.busy[i][kind]));
            let uses = KINDS.into_iter().zip(shares);
            ResourceResults {
                name: link.name(self.experiment),
                utilisation: shares.iter().sum::<f64>().min(1.0),
                uses: uses.map(|(name, share)| (name.to_string(), share)).collect(),
                longest_queue: Some(link.most[1] as u64),
            }
        };
        self.links.iter().enumerate().map(resource).collect()
    }

    fn figures(&self) -> BTreeMap<String, f64> {
        let mut figures = BTreeMap::new();
        for node in 0..self.stations.len() {
            let suffix = self.experiment.suffix(node);
            if let Some(up) = &self.stations[node].node {
                figures.insert(format!("contracts_held{suffix}"), up.manager().held().count() as f64);
            }
            if let Some(new) = self.is_as_new(node) {
                figures.insert(format!("as_new{suffix}"), f64::from(u8::from(new)));
            }
        }
        let most = self.links.iter().map(|link| link.most[0]).max().unwrap_or(0);
        figures.insert("signalling_waiting".into(), most as f64);
        self.clock_figures(&mut figures);
        let broken = self.broken.values().sum::<u64>();
        if broken > 0 {
            figures.insert("broken_rules".into(), broken as f64);
        }
        figures
    }
}

/// Half the width of the 95 % interval of the share of requests that was refused, by the parts of
/// the window: the ratio estimate's, over parts with requests.
fn half_width(parts: &[(u64, u64); PARTS]) -> Option<f64> {
    let (asked, refused) = parts.iter().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    if parts.iter().any(|(asked, _)| *asked == 0) {
        return None;
    }
    let n = PARTS as f64;
    let (share, mean) = (refused as f64 / asked as f64, asked as f64 / n);
    let residue = |(asked, refused): &(u64, u64)| (*refused as f64 - share * *asked as f64).powi(2);
    let variance = parts.iter().map(residue).sum::<f64>() / (n - 1.0);
    Some(STUDENT * (variance / n).sqrt() / mean)
}
