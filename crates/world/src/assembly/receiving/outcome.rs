//! Results of a run: tables and figures of the counts in its window.

use std::collections::BTreeMap;

use laxity_model::reception::{InterfaceReport, ReceptionUses};
use laxity_qos::discipline::Class;
use laxity_units::{Span, Time};

use super::{Receiving, ReceivingHost, Snapshot, Tags};
use crate::assembly::outcome::{advice, expects_misses, no_bound, refused};
use crate::measure::{Kept, Tally};
use crate::prediction;
use crate::promise::Advice;
use crate::results::{Channel, ResourceResults, Run};

/// Reads one of the uses of the CPU.
type Use = fn(&ReceptionUses) -> Span;

/// The CPU of a receiving host with that `suffix`, by its uses at the edges of a window of that many
/// seconds. A host that `spins` polls whenever it is idle. The share that reception leaves is noted in
/// `figures`.
pub(in crate::assembly) fn cpu(
    suffix: &str,
    [opened, closed]: [&ReceptionUses; 2],
    (window, spins): (f64, bool),
    figures: &mut BTreeMap<String, f64>,
) -> ResourceResults {
    let share = |of: Use| match window > 0.0 {
        true => of(closed).saturating_sub(of(opened)).as_secs_f64() / window,
        false => 0.0,
    };
    let uses: [(&str, Use); 6] = [
        ("interrupt", |uses| uses.signals),
        ("switch", |uses| uses.switches),
        ("announcement", |uses| uses.announcements),
        ("protocol", |uses| uses.protocol),
        ("wasted", |uses| uses.wasted),
        ("program", |uses| uses.program),
    ];
    let reception = share(ReceptionUses::reception);
    let total = reception + share(|uses| uses.program);
    let utilisation = if spins { 1.0 } else { total };
    figures.insert(format!("cpu_left_share{suffix}"), if spins { 0.0 } else { 1.0 - reception });
    figures.insert(format!("cpu_idle_share{suffix}"), 1.0 - utilisation);
    ResourceResults {
        name: format!("cpu{suffix}"),
        utilisation,
        uses: uses.map(|(name, of)| (name.to_string(), share(of))).into(),
        ..ResourceResults::default()
    }
}

/// Notes what an interface with that `suffix` did in a window.
pub(in crate::assembly) fn interface(
    suffix: &str,
    [from, to]: [&InterfaceReport; 2],
    window: f64,
    figures: &mut BTreeMap<String, f64>,
) {
    let per_second = |count: u64| if window > 0.0 { count as f64 / window } else { 0.0 };
    let mut note = |name: &str, value: f64| figures.insert(format!("{name}{suffix}"), value);
    note("interrupts_per_second", per_second(to.interrupts - from.interrupts));
    note("ticks_per_second", per_second(to.ticks - from.ticks));
    note("missed_ticks", (to.missed_ticks - from.missed_ticks) as f64);
    note("batches_per_second", per_second(to.batches - from.batches));
    note("longest_ring", f64::from(to.longest_queue));
}

/// Notes which share of the packets of each importance programs took in a window.
pub(in crate::assembly) fn taken(
    suffix: &str,
    [opened, closed]: [&Tags; 2],
    figures: &mut BTreeMap<String, f64>,
) {
    let counted = |of: fn(&Tags) -> &[u64; 8], n: usize| of(closed)[n] - of(opened)[n];
    for importance in 0..8 {
        let arrived = counted(|tags| &tags.arrived, importance);
        if arrived > 0 {
            let taken = counted(|tags| &tags.taken, importance) as f64;
            let name = format!("taken_share_importance_{importance}{suffix}");
            figures.insert(name, taken / arrived as f64);
        }
    }
}

impl<H: ReceivingHost> Receiving<'_, H> {
    /// Closes the run that ended at `end`, and returns the host.
    pub fn into_run(mut self, end: Time) -> (Run, H) {
        let snapshot = || Snapshot::of(end, &self.receiver, self.experiment, (&self.meters, self.tags));
        let opened = self.window.opened.take().unwrap_or_else(snapshot);
        let closed = self.window.closed.take().unwrap_or_else(snapshot);
        let ended = snapshot();
        let window = closed.at.saturating_since(opened.at).as_secs_f64();
        let mut figures = BTreeMap::new();
        let edges = [&opened.uses, &closed.uses];
        let cpu = cpu("", edges, (window, self.receiver.spins()), &mut figures);
        let mut advice = advice(self.experiment);
        let channels: Vec<Channel> = (0..self.meters.len())
            .map(|i| {
                let tallies = (&opened.tallies[i], &closed.tallies[i], &ended.tallies[i]);
                self.channel(i, tallies, window, end, &mut advice)
            })
            .collect();
        if let (Some(from), Some(to)) = (opened.beside, closed.beside)
            && window > 0.0
        {
            figures.insert("cpu_beside_share".into(), to.saturating_sub(from).as_secs_f64() / window);
        }
        let per_second = |count: u64| if window > 0.0 { count as f64 / window } else { 0.0 };
        for (i, (from, to)) in opened.interfaces.iter().zip(&closed.interfaces).enumerate() {
            let suffix = if i == 0 { String::new() } else { format!("@{i}") };
            interface(&suffix, [from, to], window, &mut figures);
        }
        if self.experiment.channels.iter().any(|channel| !channel.importance.is_empty()) {
            taken("", [&opened.tags, &closed.tags], &mut figures);
        }
        let arrivals = per_second(channels.iter().map(|channel| channel.messages).sum());
        let received = per_second(channels.iter().map(|channel| channel.completed).sum());
        figures.insert("received_per_second".into(), received);
        let refused = self.promises.iter().filter(|promise| promise.is_refused()).count();
        if self.experiment.admission.formula.is_some() {
            figures.insert("refused".into(), refused as f64);
        }
        if let Some(capacity) = prediction::capacity(self.experiment) {
            figures.insert("predicted_per_second".into(), capacity.of(arrivals));
        }
        if let Some(estimate) = prediction::queueing(self.experiment, arrivals) {
            figures.insert("queueing_throughput_per_second".into(), estimate.throughput);
            figures.insert("queueing_blocking_share".into(), estimate.blocking);
            figures.insert("queueing_latency".into(), estimate.latency);
        }
        let run = Run {
            simulated: end.as_secs_f64(),
            window,
            channels,
            resources: vec![cpu],
            figures,
            ..Run::default()
        };
        (run, self.receiver)
    }

    fn channel(
        &mut self,
        i: usize,
        (opened, closed, ended): (&Tally, &Tally, &Tally),
        window: f64,
        end: Time,
        advice: &mut Option<Advice<'_>>,
    ) -> Channel {
        let spec = &self.experiment.channels[i];
        let mut meter = std::mem::take(&mut self.meters[i]);
        let counted = closed.since(opened);
        let rate = |count: f64| if window > 0.0 { count / window } else { 0.0 };
        let kept = meter.punctuality.take().and_then(|punctuality| punctuality.kept(end));
        let [latency, laxity, _] = meter.timeliness(self.experiment.curves);
        let real_time = spec.class == Class::RealTime;
        Channel {
            name: spec.name.clone(),
            class: if real_time { "real_time" } else { "best_effort" }.into(),
            reserved: real_time.then(|| spec.spec.rate().bytes_per_sec_f64()),
            deadline: spec.deadline.map(Span::as_secs_f64),
            bound: self.promises[i].bound().map(Span::as_secs_f64),
            refused: refused(self.experiment, i, &self.promises[i], advice),
            no_bound: no_bound(self.experiment, i, &self.promises[i], advice),
            worst: meter.worst.map(Span::as_secs_f64),
            offered: rate(counted.offered.get() as f64),
            throughput: rate(counted.transmitted.get() as f64),
            goodput: rate(counted.completed_bytes.get() as f64),
            messages: counted.messages,
            completed: counted.completed,
            packets: counted.packets,
            missed_packets: counted.missed_packets,
            missed_messages: counted.missed_messages,
            late_outside: ended.late() - counted.late(),
            due_messages: kept.map(|kept| kept.due),
            failed_messages: kept.map(Kept::failed),
            impaired_messages: kept.map_or(0, |kept| kept.impaired),
            on_time: kept.map(Kept::share),
            misses_expected: expects_misses(self.experiment, i),
            drops: counted.dropped.named().collect(),
            incomplete: counted.dropped.incomplete(),
            dropped_packets: counted.dropped_packets,
            laxity,
            latency,
            ..Channel::default()
        }
    }
}
