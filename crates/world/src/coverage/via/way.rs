//! The requests of a message to units, processes and the wire, one stage after the other, on its
//! whole path.

use laxity_admission::holistic::FlowStage;
use laxity_model::via::{Doorbells, Firmware, FirmwareCosts, ViaConfig};
use laxity_qos::discipline::Class;
use laxity_units::{Bytes, Span};

use super::unit::{H, N, OF_NODE, P, R, Taken};
use crate::experiment::{Experiment, SourceSpec, ViaSpec};

/// The stages of a message, as they are put together.
#[derive(Default)]
struct Builder {
    stages: Vec<FlowStage>,
    critical: Vec<usize>,
}

impl Builder {
    /// A request after stage `parent`, that costs `least` to `most`.
    fn then(&mut self, parent: Option<usize>, server: usize, (least, most): (Span, Span)) -> Option<usize> {
        self.stages.push(FlowStage { server, least, most, parent, scans: Vec::new() });
        Some(self.stages.len() - 1)
    }

    /// The same, on the way to the receiver.
    fn on_way(&mut self, parent: Option<usize>, server: usize, cost: (Span, Span)) -> Option<usize> {
        let stage = self.then(parent, server, cost);
        self.critical.extend(stage);
        stage
    }

    /// Stage `stage` passes what waits at `queue`.
    fn scans(&mut self, stage: Option<usize>, queue: usize, each: Span) {
        if let Some(stage) = stage.filter(|_| !each.is_zero()) {
            self.stages[stage].scans.push((queue, each));
        }
    }
}

/// The costs of steps for messages of a size.
struct Costs<'a> {
    costs: &'a FirmwareCosts,
    /// A round of looks.
    round: Span,
}

impl Costs<'_> {
    /// The longest from the end of a message on the network until the processor has programmed the
    /// next, where it has to: it handles at most one doorbell, one thing of HDMA's and one arrival
    /// before.
    fn notice(&self, size: Bytes) -> Span {
        let costs = self.costs;
        let program = self.program(size);
        let transferred =
            [program, costs.queue.saturating_add(costs.start), costs.status, costs.finish, costs.note];
        let transferred = transferred.into_iter().max().unwrap_or_default();
        // Each of the three with its look, a look in vain, and that at NSDMA.
        let looks = costs.poll.saturating_mul(5);
        [costs.doorbell.max(costs.note), transferred, program.max(costs.note), costs.start, looks]
            .into_iter()
            .fold(Span::ZERO, Span::saturating_add)
    }

    /// The same where the processor handles that before anything else that it finds: what it has in
    /// hand, looks in vain, and a round that finds it.
    fn notice_first(&self, size: Bytes) -> Span {
        let costs = self.costs;
        let program = self.program(size);
        let others = [costs.doorbell, costs.note, costs.queue.saturating_add(costs.start), costs.finish];
        let status = costs.start.saturating_add(costs.status);
        let hand = others.into_iter().fold(program.max(status), Span::max);
        [hand, costs.start, self.round * 3].into_iter().fold(Span::ZERO, Span::saturating_add)
    }

    /// The processor's time for an event: a poll and its handling, or all the polls until then.
    fn handling(&self, takes: Span) -> (Span, Span) {
        (takes, takes.saturating_add(self.round))
    }

    fn program(&self, size: Bytes) -> Span {
        self.costs.data.saturating_add(self.costs.further(size))
    }
}

pub(super) fn least_of(stages: &[FlowStage], which: &[usize]) -> Span {
    which.iter().fold(Span::ZERO, |sum, k| sum.saturating_add(stages[*k].least))
}

fn between(least: Span, most: Span) -> (Span, Span) {
    (least.min(most), most)
}

/// The requests of a message on its whole path.
pub(super) struct Way {
    pub(super) stages: Vec<FlowStage>,
    pub(super) critical: Vec<usize>,
    /// The number of stages on the sender's side.
    pub(super) sending: usize,
    /// The least from its doorbell to its completion.
    pub(super) turn: Span,
    /// How much of the wire's time passes with NSDMA.
    pub(super) wire_begins: Span,
    /// The least that its transmission takes.
    pub(super) transmission: Span,
}

pub(super) fn way(experiment: &Experiment, spec: &ViaSpec, i: usize, taken: Taken) -> Way {
    let channel = &experiment.channels[i];
    let ViaConfig { firmware, costs, engines, limits } = &spec.adapter;
    let (from, to) = (channel.route[0] * OF_NODE, channel.route[1] * OF_NODE);
    let process = experiment.nodes.len() * OF_NODE + 2 * i;
    // The receiver answers.
    let receiver = match channel.source {
        SourceSpec::Rounds { after, .. } => experiment.nodes.len() * OF_NODE + 2 * after,
        _ => process + 1,
    };
    let (most, least) = (channel.spec.max_message, channel.smallest_piece());
    let largest = experiment.channels.iter().map(|channel| channel.spec.max_message).max().unwrap_or(most);
    let round = costs.poll * if matches!(firmware, Firmware::Sequential { .. }) { 2 } else { 4 };
    let of = Costs { costs, round };
    let apart = limits.doorbells != Doorbells::Merged;
    let exactly = |span: Span| (span, span);
    let network = between(engines.network.takes(least), engines.network.takes(most));
    let down = between(engines.down.takes(least), engines.down.takes(most));
    let up = between(engines.up.takes(least), engines.up.takes(most));
    let program = between(of.program(least), of.program(most));
    let programming = (program.0, program.1.saturating_add(round));
    let scan = if *firmware == Firmware::QualityOfService { costs.scan } else { Span::ZERO };
    let mut path = Builder::default();
    let posted = path.on_way(None, process, exactly(spec.post));
    // The stages up to N and those after N; the processor's work for the message, whatever waits.
    // The least time from a doorbell to the completion: the sender's work for it, one step after
    // the other.
    let (departure, wire_begins, turn) = match firmware {
        Firmware::Sequential { .. } => {
            let until_begun = |size: Bytes| {
                [
                    costs.doorbell,
                    engines.descriptor,
                    of.program(size),
                    engines.down.takes(size),
                    costs.queue,
                    costs.start,
                ]
                .into_iter()
                .fold(Span::ZERO, Span::saturating_add)
            };
            let rest = [engines.network.takes(most), costs.status, engines.status, costs.finish, round];
            let all = rest.into_iter().fold(until_begun(most), Span::saturating_add);
            // The message is on its way before the end, and no earlier than NSDMA can begin with
            // it.
            let sent = path.on_way(posted, from + P, (until_begun(least), all));
            path.then(sent, process, exactly(spec.reap));
            let until_sent = [network.0, costs.status, engines.status];
            (sent, Span::ZERO, until_sent.into_iter().fold(until_begun(least), Span::saturating_add))
        }
        Firmware::Parallel | Firmware::QualityOfService => {
            // A message in a group waits outside once its doorbell is noted.
            let noted = match channel.group {
                Some(_) => path.on_way(posted, from + P, of.handling(costs.note)),
                None => posted,
            };
            let rung = path.on_way(noted, from + P, of.handling(costs.doorbell));
            path.scans(rung, from + H, scan);
            let described = path.on_way(rung, from + H, exactly(engines.descriptor));
            let programmed = path.on_way(described, from + P, programming);
            path.scans(programmed, from + H, scan);
            let fetched = path.on_way(programmed, from + H, down);
            let queue = costs.queue.saturating_add(costs.start);
            let queued = path.on_way(fetched, from + P, (costs.queue, queue.saturating_add(round)));
            path.scans(queued, from + N, scan);
            // Where P and N are one, what P does meanwhile is counted.
            let stands = !limits.nsdma_queue && taken != Taken::Whole;
            let notice = match (stands, apart) {
                (true, true) => of.notice_first(largest),
                (true, false) => of.notice(largest),
                (false, _) => Span::ZERO,
            };
            let sent = path.on_way(queued, from + N, (network.0, network.1.saturating_add(notice)));
            if stands && let Some(sent) = sent.filter(|_| !scan.is_zero()) {
                // A doorbell, a request of HDMA's and an arrival may each look for a place in
                // HDMA's queue before, or for one in NSDMA's.
                let most = if apart { 1 } else { 3 };
                path.stages[sent].scans = vec![(from + H, scan * most), (from + N, scan)];
            }
            if apart && stands {
                // The status of another message may have to be handled first.
                let others = costs.status.saturating_add(costs.start).saturating_add(round);
                let off = path.then(queued, from + P, (Span::ZERO, others));
                path.scans(off, from + H, scan);
            }
            // The next is started in the same visit.
            let after = costs.status.saturating_add(costs.start).saturating_add(round);
            let noticed = path.then(sent, from + P, (costs.status, after));
            path.scans(noticed, from + H, scan);
            let told = path.then(noticed, from + H, exactly(engines.status));
            let until_told: Vec<usize> = (1..path.stages.len()).collect();
            let turn = least_of(&path.stages, &until_told);
            path.then(told, from + P, of.handling(costs.finish));
            path.then(told, process, exactly(spec.reap));
            if limits.best_effort.is_some()
                && !apart
                && channel.class == Class::BestEffort
                && channel.group.is_none()
            {
                // It is noted before, and waits outside.
                path.then(posted, from + P, of.handling(costs.note));
            }
            // It begins at the latest when all waits are over except its own transmission, and
            // later steps before the next one.
            let after = if apart { notice } else { Span::ZERO };
            (sent, network.0.saturating_add(after), turn)
        }
    };
    let sending = path.stages.len();
    // The first bit arrives when NSDMA begins, so bursts there are bursts here.
    let arrived = path.on_way(departure, to + R, network);
    let received = match firmware {
        Firmware::Sequential { .. } => {
            let sequence = |size: Bytes| {
                [engines.descriptor, engines.up.takes(size), engines.status]
                    .into_iter()
                    .fold(of.program(size), Span::saturating_add)
                    .saturating_add(costs.doorbell)
                    .saturating_add(costs.status)
            };
            let all = sequence(most).saturating_add(costs.finish).saturating_add(round);
            path.on_way(arrived, to + P, (sequence(least), all))
        }
        Firmware::Parallel | Firmware::QualityOfService => {
            let programmed = path.on_way(arrived, to + P, programming);
            path.scans(programmed, to + H, scan);
            let moved = path.on_way(programmed, to + H, up);
            let noticed = path.on_way(moved, to + P, of.handling(costs.status));
            path.scans(noticed, to + H, scan);
            let told = path.on_way(noticed, to + H, exactly(engines.status));
            path.then(told, to + P, of.handling(costs.finish));
            told
        }
    };
    path.on_way(received, receiver, exactly(spec.reap));
    Way { stages: path.stages, critical: path.critical, sending, turn, wire_begins, transmission: network.0 }
}
