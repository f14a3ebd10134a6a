//! Clocks that nodes synchronise with a reference, and what the synchronisation reaches.
//!
//! The data path needs no common time. Programs may, and a scenario shows what they get: the true
//! error, the error that the node states, and the bound beforehand.

use laxity_clock::{
    ClockMessage, Crossing, CrossingHop, Known, Responder, Synchroniser, SynchroniserOutcome,
    SynchroniserPolicy, Tolerance,
};
use laxity_transport::HEADER_LEN;

use super::*;
use crate::experiment::SynchroniseSpec;

/// Requests that wait at the reference.
const WAITING: usize = 64;
/// The rate at which corrections are made, in billionths.
const SLEW: i64 = 10_000_000;

/// The synchronisation of a node.
pub(super) struct Synchronised {
    synchroniser: Synchroniser,
    /// When it is called next.
    wake: Time,
    /// Requests without an adopted answer since the last one, and the most of them.
    failed: [u64; 2],
}

/// The greatest errors of a node: true ones, and stated ones.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Errors {
    true_error: Option<Span>,
    stated: Option<Span>,
    /// The most failures in a row, over all lives.
    failed: u64,
}

impl SynchroniseSpec {
    fn policy(&self) -> SynchroniserPolicy {
        let slew = Tolerance::of(laxity_clock::Drift::from_ppb(SLEW).expect("it is small"));
        let Self { accept, period, retry, .. } = *self;
        SynchroniserPolicy { accept, period, retry, slew, jump: Span::from_ms(1) }
    }
}

impl Managed<'_> {
    /// The responder of the reference of this network.
    pub(super) fn responder(spec: &SignallingSpec) -> Option<Responder<NodeId>> {
        spec.synchronise.is_some().then(|| Responder::new(WAITING))
    }

    /// A node that started asks the reference.
    pub(super) fn synchronise(&mut self, node: usize, calendar: &mut Calendar<Event>) {
        let Some(spec) = self.spec.synchronise.filter(|spec| spec.reference != node) else { return };
        let (known, policy) = (self.known(node, spec.reference), spec.policy());
        let life = self.stations[node].life;
        let first = self.experiment.chance(Chance::Jitter(node, life)).next_u64();
        let synchroniser = Synchroniser::new(known, policy, self.shown(node), first);
        let wake = Time::MAX;
        self.stations[node].synchronised = Some(Synchronised { synchroniser, wake, failed: [0; 2] });
        self.ask_reference(node, calendar);
    }

    /// The facts by which a node bounds its error.
    fn known(&self, node: usize, reference: usize) -> Known {
        let route = routes::described(self.spec).route(NodeId(node as u32), NodeId(reference as u32));
        let hops = route.map_or(0, |route| route.len() as u64 - 1);
        // No route has fewer hops, and no hop is faster than the fastest link.
        let length = HEADER_LEN + laxity_node::RECORD;
        let fastest = self.links.iter().map(|link| link.config.transmission(length) + link.propagation).min();
        let least = fastest.unwrap_or_default().saturating_mul(hops);
        let grain = |node: usize| self.spec.clocks[node].grain.max(Span::from_ps(1));
        Known {
            own: self.quality.drift,
            reference: self.quality.drift,
            own_grain: grain(node),
            reference_grain: grain(reference),
            least_request: least,
            least_reply: least,
        }
    }

    /// The synchronisation of a node does its part of this instant.
    pub(super) fn ask_reference(&mut self, node: usize, calendar: &mut Calendar<Event>) {
        self.compare(node);
        let shown = self.shown(node);
        let Some(reference) = self.spec.synchronise.map(|spec| spec.reference) else { return };
        let Station { node: up, synchronised, .. } = &mut self.stations[node];
        let (Some(up), Some(of)) = (up, synchronised) else { return };
        of.synchroniser.handle_timeout(shown);
        if let Some(request) = of.synchroniser.poll_transmit(shown) {
            of.failed[0] += 1;
            of.failed[1] = of.failed[1].max(of.failed[0]);
            up.send_clock(shown, NodeId(reference as u32), &request);
            self.pump(node, calendar);
        }
        self.call_again(node, calendar);
    }

    fn call_again(&mut self, node: usize, calendar: &mut Calendar<Event>) {
        let next = self.now.saturating_add(Span::from_ps(1));
        let station = &mut self.stations[node];
        let Some(of) = &mut station.synchronised else { return };
        let due = of.synchroniser.poll_timeout().and_then(|due| station.clock.first_at(due, next));
        if let Some(at) = due.filter(|at| *at != of.wake) {
            of.wake = at;
            calendar.schedule(at, Event::Synchronise { node: node as u32 });
        }
    }

    /// A node is called at the time that its synchronisation asked for, unless it asked anew.
    pub(super) fn wake_synchronisation(&mut self, node: usize, calendar: &mut Calendar<Event>) {
        let now = self.now;
        let Some(of) = self.stations[node].synchronised.as_mut().filter(|of| of.wake == now) else { return };
        of.wake = Time::MAX;
        self.ask_reference(node, calendar);
    }

    /// Takes the messages of synchronisation that arrived at a node.
    pub(super) fn take_clocks(&mut self, node: usize, calendar: &mut Calendar<Event>) {
        while let Some((from, message)) =
            self.stations[node].node.as_mut().and_then(laxity_node::Node::poll_clock)
        {
            let shown = self.shown(node);
            if self.spec.synchronise.is_some_and(|spec| spec.reference == node) {
                self.reply(node, shown, from, message);
                continue;
            }
            self.compare(node);
            let Some(of) = &mut self.stations[node].synchronised else { continue };
            if let SynchroniserOutcome::Adopted { .. } = of.synchroniser.handle(shown, message) {
                of.failed[0] = 0;
            }
            self.compare(node);
            self.call_again(node, calendar);
        }
    }

    /// The reference answers at once.
    fn reply(&mut self, node: usize, shown: Time, from: NodeId, message: ClockMessage) {
        let (Some(responder), Some(up)) = (&mut self.responder, &mut self.stations[node].node) else {
            return;
        };
        responder.handle(shown, from, message);
        while let Some((to, reply)) = responder.poll_transmit(shown) {
            up.send_clock(shown, to, &reply);
        }
    }

    /// Compares the synchronised clock of a node with that of the reference.
    fn compare(&mut self, node: usize) {
        let Some(SynchroniseSpec { reference, .. }) = self.spec.synchronise else { return };
        let (shown, right) = (self.shown(node), self.shown(reference));
        let Some(of) = &mut self.stations[node].synchronised else { return };
        let Some(seen) = of.synchroniser.show(shown) else { return };
        let failed = of.failed[1];
        let difference = seen.time.max(right).since(seen.time.min(right));
        let steady = [node, reference].iter().all(|node| self.spec.clocks[*node].steps.is_empty());
        let errors = &mut self.stations[node].errors;
        errors.true_error = errors.true_error.max(Some(difference));
        errors.stated = errors.stated.max(seen.error);
        errors.failed = errors.failed.max(failed);
        // A step of either clock shows with the next success only.
        if steady && seen.error.is_some_and(|error| difference > error) {
            let detail = format!("node {}, by {difference}", self.experiment.name(node));
            self.fail(rules::STATED, "", detail);
        }
    }

    /// The errors of synchronised clocks, and the terms that clocks add to a bound in either mode.
    pub(super) fn clock_figures(&self, figures: &mut BTreeMap<String, f64>) {
        let Some(spec) = self.spec.synchronise else { return };
        let mut worst = Some(Span::ZERO);
        for node in (0..self.stations.len()).filter(|node| *node != spec.reference) {
            let Errors { true_error, stated, failed } = self.stations[node].errors;
            let suffix = self.experiment.suffix(node);
            let known = self.known(node, spec.reference);
            let bound = Synchroniser::steady_error(&known, &spec.policy(), failed);
            worst = worst.zip(bound).map(|(worst, bound)| worst.max(bound));
            let all = [("clock_error", true_error), ("clock_stated", stated), ("clock_bound", bound)];
            for (name, span) in all {
                if let Some(span) = span {
                    figures.insert(format!("{name}{suffix}"), span.as_secs_f64());
                }
            }
        }
        let longest = self.experiment.channels.iter().filter_map(|channel| self.hops(channel));
        let (Some(hops), Some(error)) = (longest.max_by_key(Vec::len), worst) else { return };
        let nominal: Span = hops.iter().map(|hop| hop.delay + hop.most_transit).sum();
        for (name, way) in
            [("term_remaining", Crossing::Remaining), ("term_deadline", Crossing::Deadline { error })]
        {
            let term = way.delay(&hops, self.quality) - nominal;
            figures.insert(name.into(), term.as_secs_f64());
            let jitter = way.jitter(&hops, self.quality);
            figures.insert(name.replace("term", "jitter"), jitter.as_secs_f64());
        }
    }

    /// The hops of a channel with its deadline in equal parts; `None` for best effort.
    fn hops(&self, channel: &crate::experiment::ChannelSpec) -> Option<Vec<CrossingHop>> {
        let deadline = channel.deadline?;
        let links: Option<Vec<CrossingHop>> = channel
            .route
            .windows(2)
            .map(|pair| {
                let link = self.spec.between(pair[0], pair[1])?;
                let most_transit = self.spec.link(self.experiment, link).way;
                let least_transit = self.experiment.networks[link.network].propagation;
                Some(CrossingHop { delay: Span::ZERO, least_transit, most_transit })
            })
            .collect();
        let mut hops = links?;
        let between: Span = hops.iter().map(|hop| hop.most_transit).sum();
        let delay = deadline.saturating_sub(between) / (hops.len() as u64).max(1);
        hops.iter_mut().for_each(|hop| hop.delay = delay);
        Some(hops)
    }
}
