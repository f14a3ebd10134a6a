//! Results of a run of virtual interfaces.

use laxity_model::via::{Unit, ViStep, ViaReport};
use laxity_units::{Span, Time};

use super::super::outcome::{self, expects_misses};
use super::{Cluster, Observed, Snapshot};
use crate::experiment::Experiment;
use crate::measure::{Gaps, Kept, Meter, Tally};
use crate::promise::{Advice, Promise};
use crate::results::{Channel, ResourceResults, Run};

/// The results of the adapters of `experiment` that served real programs until `end`, and of the
/// `channels` that these programs used.
pub fn served(experiment: &Experiment, adapters: &[ViaReport], channels: Vec<Observed>, end: Time) -> Run {
    let before = vec![ViaReport::default(); adapters.len()];
    let mut run = Run { simulated: end.as_secs_f64(), window: end.as_secs_f64(), ..Run::default() };
    let channels = channels.into_iter().enumerate();
    run.channels = channels.filter_map(|(i, channel)| channel.into_channel(experiment, i, end)).collect();
    tell_adapters(&mut run, experiment, (&before, adapters, adapters));
    run
}

/// The names of the units of all adapters.
pub(in crate::assembly) fn resource_names(experiment: &Experiment) -> Vec<String> {
    let units = |node| Unit::ALL.map(|unit| format!("{}{}", unit.resource(), experiment.suffix(node)));
    (0..experiment.nodes.len()).flat_map(units).collect()
}

/// How busy units were between two looks, and what adapters had been through at the end.
fn tell_adapters(
    run: &mut Run,
    experiment: &Experiment,
    (opened, closed, ended): (&[ViaReport], &[ViaReport], &[ViaReport]),
) {
    let window = run.window;
    for (node, report) in ended.iter().enumerate() {
        let suffix = experiment.suffix(node);
        let between = opened[node].units.into_iter().zip(closed[node].units);
        for (unit, (from, to)) in Unit::ALL.into_iter().zip(between) {
            let busy = to.busy.saturating_sub(from.busy).as_secs_f64();
            // A transfer that ended in the window counts whole, so it may be a little more than
            // there was.
            let utilisation = if window > 0.0 { (busy / window).min(1.0) } else { 0.0 };
            let name = format!("{}{suffix}", unit.resource());
            run.resources.push(ResourceResults { name, utilisation, ..ResourceResults::default() });
        }
        let mut note = |name: &str, value: f64| run.figures.insert(format!("{name}{suffix}"), value);
        for step in ViStep::ALL {
            if let Some(mean) = report.steps.mean(*step) {
                note(step.figure(), mean.as_secs_f64());
            }
        }
        note("displaced_requests", report.displaced as f64);
        note("longest_doorbells", report.longest_doorbells as f64);
        note("longest_hdma_queue", report.longest_hdma as f64);
        note("longest_nsdma_queue", report.longest_nsdma as f64);
        note("longest_best_effort_wait", report.longest_outside.as_secs_f64());
        note("left_in_adapter", report.backlog as f64);
    }
}

impl Cluster<'_> {
    /// Closes the run that ended at `end`.
    pub(super) fn closed(mut self, end: Time) -> Run {
        let ended = Snapshot::of(end, &self.adapters, &self.meters);
        let opened = self.window.opened.take().unwrap_or_else(|| ended.clone());
        let closed = self.window.closed.take().unwrap_or_else(|| ended.clone());
        let window = closed.at.saturating_since(opened.at).as_secs_f64();
        let mut advice = outcome::advice(self.experiment);
        let channels: Vec<Channel> = (0..self.meters.len())
            .map(|i| {
                let tallies = (&opened.tallies[i], &closed.tallies[i], &ended.tallies[i]);
                self.channel(i, tallies, window, end, &mut advice)
            })
            .collect();
        let mut run = Run { simulated: end.as_secs_f64(), window, channels, ..Run::default() };
        tell_adapters(&mut run, self.experiment, (&opened.reports, &closed.reports, &ended.reports));
        let per_second = |count: u64| if window > 0.0 { count as f64 / window } else { 0.0 };
        let received = run.channels.iter().filter_map(|channel| channel.delivered).sum();
        run.figures.insert("received_per_second".into(), per_second(received));
        if self.experiment.admission.formula.is_some() {
            let refused = self.promises.iter().filter(|promise| promise.is_refused()).count();
            run.figures.insert("refused".into(), refused as f64);
        }
        run
    }

    fn channel(
        &mut self,
        i: usize,
        (opened, closed, ended): (&Tally, &Tally, &Tally),
        window: f64,
        end: Time,
        advice: &mut Option<Advice<'_>>,
    ) -> Channel {
        let counted = Counted { opened, closed, ended, window, end };
        let meter = std::mem::take(&mut self.meters[i]);
        counted.channel(self.experiment, i, (meter, &self.gaps[i]), &self.promises[i], advice)
    }
}

/// Why a channel with a bound on its delay has none on its jitter.
const UNEVEN: &str = "for the jitter of a source that does not send at its negotiated rate";

/// How a channel stood at the edges of a window, and at the end.
pub(super) struct Counted<'a> {
    pub(super) opened: &'a Tally,
    pub(super) closed: &'a Tally,
    pub(super) ended: &'a Tally,
    pub(super) window: f64,
    pub(super) end: Time,
}

impl Counted<'_> {
    /// The results of channel `i` of `experiment`.
    pub(super) fn channel(
        &self,
        experiment: &Experiment,
        i: usize,
        (mut meter, gaps): (Meter, &Gaps),
        promise: &Promise,
        advice: &mut Option<Advice<'_>>,
    ) -> Channel {
        let Self { opened, closed, ended, window, end } = *self;
        let spec = &experiment.channels[i];
        let counted = closed.since(opened);
        let rate = |count: f64| if window > 0.0 { count / window } else { 0.0 };
        let kept = meter.punctuality.take().and_then(|punctuality| punctuality.kept(end));
        let [latency, ..] = meter.timeliness(experiment.curves);
        let real_time = spec.class == laxity_qos::discipline::Class::RealTime;
        Channel {
            name: spec.name.clone(),
            class: if real_time { "real_time" } else { "best_effort" }.into(),
            reserved: real_time.then(|| spec.spec.rate().bytes_per_sec_f64()),
            deadline: spec.deadline.map(Span::as_secs_f64),
            delivery_bound: promise.delivery_bound().map(Span::as_secs_f64),
            delivery_worst: meter.delivery_worst.map(Span::as_secs_f64),
            refused: outcome::refused(experiment, i, promise, advice),
            no_bound: match promise {
                Promise::Connected(_) if !gaps.is_even() => UNEVEN.into(),
                _ => outcome::no_bound(experiment, i, promise, advice),
            },
            offered: rate(counted.offered.get() as f64),
            throughput: rate(counted.transmitted.get() as f64),
            goodput: rate(counted.delivered_bytes.get() as f64),
            messages: counted.messages,
            completed: counted.completed,
            packets: counted.packets,
            delivered: Some(counted.delivered),
            delivered_late: spec.deadline.map(|_| counted.delivered_late),
            late_outside: ended.late() - counted.late(),
            due_messages: kept.map(|kept| kept.due),
            failed_messages: kept.map(Kept::failed),
            impaired_messages: kept.map_or(0, |kept| kept.impaired),
            on_time: kept.map(Kept::share),
            misses_expected: expects_misses(experiment, i),
            drops: counted.dropped.named().collect(),
            incomplete: counted.dropped.incomplete(),
            dropped_packets: counted.dropped_packets,
            latency,
            delivery: meter.delivery.summary(experiment.curves),
            jitter_duration: gaps.mean(),
            jitter_fraction: gaps.fraction(),
            jitter_fraction_bound: match promise {
                Promise::Connected(connection) if gaps.is_even() => Some(connection.jitter_fraction),
                _ => None,
            },
            jittered: gaps.share(),
            ..Channel::default()
        }
    }
}
