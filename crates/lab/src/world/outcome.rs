//! What the meters and counters of a finished run come to.

use std::collections::BTreeMap;

use laxity_engine::trace::Trace;
use laxity_model::host::Use;
use laxity_qos::admission::Formula;
use laxity_qos::channel::{ChannelId, Dropped, Order};
use laxity_qos::discipline::Class;
use laxity_units::{Bytes, Span, Time};

use super::Lab;
use crate::promise::{self, Promise};
use crate::results::{Channel, Resource, Run};
use crate::scenario::{LocalDeadline, SourceSpec};

impl<T: Trace> Lab<'_, '_, T> {
    pub(super) fn into_run(mut self, end: Time) -> Run {
        let opened = self.window.opened.take().unwrap_or_else(|| self.snapshot(end));
        let closed = self.window.closed.take().unwrap_or_else(|| self.snapshot(end));
        let window = closed.0.saturating_since(opened.0).as_secs_f64();
        let share = |from: Span, to: Span| {
            if window > 0.0 { to.saturating_sub(from).as_secs_f64() / window } else { 0.0 }
        };
        let mut resources = Vec::new();
        let mut stage = 0;
        for (i, node) in self.nodes.iter().enumerate() {
            let suffix = if i == 0 { String::new() } else { format!("@{i}") };
            let (from, to) = (&opened.1[i], &closed.1[i]);
            let uses = Use::ALL.map(|u| (u.name().to_string(), share(from.of(u), to.of(u))));
            let (_, longest) = node.host().subsystem().link_queue();
            resources.push(Resource {
                name: format!("cpu{suffix}"),
                utilisation: share(from.total(), to.total()),
                uses: uses.into(),
                ..Resource::default()
            });
            for (name, _) in node.adapter().busy() {
                resources.push(Resource {
                    name: format!("{name}{suffix}"),
                    utilisation: share(opened.2[stage], closed.2[stage]),
                    longest_queue: Some(longest as u64),
                    ..Resource::default()
                });
                stage += 1;
            }
        }
        let figures = self.figures();
        let channels = (0..self.meters.len()).map(|i| self.channel(i, window)).collect();
        Run { point: Vec::new(), simulated: end.as_secs_f64(), window, channels, resources, figures }
    }

    fn figures(&self) -> BTreeMap<String, f64> {
        let mut figures = BTreeMap::new();
        let refused = self.promises.iter().filter(|p| matches!(p, Promise::Refused(_))).count();
        if refused > 0 {
            figures.insert("refused".into(), refused as f64);
        }
        // Formulas predict the throughput of messages that follow each other without a pause.
        let first = &self.experiment.channels[0];
        if self.experiment.admission.formula.is_some() && matches!(first.source, SourceSpec::Continuous(_)) {
            let both = [("papers_throughput", Formula::Papers), ("corrected_throughput", Formula::Corrected)];
            for (name, formula) in both {
                if let Some(service) = promise::service(self.experiment, formula).filter(|s| !s.is_zero()) {
                    figures.insert(name.into(), first.spec.max_message.get() as f64 / service.as_secs_f64());
                }
            }
        }
        figures
    }

    fn channel(&mut self, i: usize, window: f64) -> Channel {
        let spec = &self.experiment.channels[i];
        let meter = std::mem::take(&mut self.meters[i]);
        let rate = |bytes: Bytes| if window > 0.0 { bytes.get() as f64 / window } else { 0.0 };
        let real_time = spec.class == Class::RealTime;
        let mut drops: BTreeMap<String, u64> = BTreeMap::new();
        let mut dropped_packets = 0;
        for node in &self.nodes {
            let counters = node.host().subsystem().counters(ChannelId(i as u32));
            dropped_packets += counters.dropped_packets;
            for (cause, count) in &counters.dropped {
                *drops.entry(cause_name(*cause).into()).or_default() += count;
            }
        }
        // Each hop but the last adds its local deadline and the way: until then a packet is early at the next.
        let relays = u64::from(self.experiment.path.relays);
        let end_to_end = |promise: &Promise| {
            let bound = promise.bound()?;
            let requested = spec.deadline?;
            let local = match self.experiment.admission.local_deadline {
                LocalDeadline::Bound => bound,
                LocalDeadline::Requested => requested,
            };
            let last = if self.orders_by_bound() { bound } else { requested };
            Some(((local + self.experiment.path.propagation) * relays + last).as_secs_f64())
        };
        let (bound, papers) = (end_to_end(&self.promises[i]), end_to_end(&self.papers[i]));
        Channel {
            name: spec.name.clone(),
            class: if real_time { "real_time" } else { "best_effort" }.into(),
            reserved: real_time.then(|| spec.spec.rate().bytes_per_sec_f64()),
            deadline: meter.deadline.map(Span::as_secs_f64),
            bound,
            bound_papers: papers.filter(|p| Some(*p) != bound),
            worst: meter.worst.map(Span::as_secs_f64).filter(|_| real_time),
            offered: rate(meter.offered),
            throughput: rate(meter.transmitted),
            messages: meter.messages,
            completed: meter.completed,
            packets: meter.packets,
            missed_packets: meter.missed_packets,
            missed_messages: meter.missed_messages,
            drops,
            dropped_packets,
            laxity: meter.laxity.summary(),
            latency: meter.latency.summary(),
            sojourn: meter.sojourn.summary(),
            queueing: meter.queueing.summary(),
            access: meter.access.summary(),
        }
    }

    /// Whether what CPU and link order by makes the bound itself hold: fixed priorities in admission's order,
    /// or EDF by the bounds. EDF by the requested deadlines keeps those.
    fn orders_by_bound(&self) -> bool {
        self.experiment.host.subsystem.order == Order::FixedPriority
            || self.experiment.admission.local_deadline == LocalDeadline::Bound
    }
}

fn cause_name(cause: Dropped) -> &'static str {
    match cause {
        Dropped::MessageQueue => "message_queue",
        Dropped::PacketQueue => "packet_queue",
        Dropped::Undersized => "undersized",
        Dropped::Incomplete => "incomplete",
        Dropped::Adapter => "adapter",
    }
}
