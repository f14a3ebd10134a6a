//! The two phases of establishment: each hop of a path is asked for the least deadline that it can
//! promise, and the deadline from end to end is shared out among them.
//!
//! A path that passes a station several times asks it as if the other passages were not there. The
//! station may then refuse what it said it could promise; the passages are raised until it admits
//! all of them, and lowered by halves where that was too far.

use laxity_admission::{Deficit, Request};
use laxity_qos::channel::{PacketOverflow, Role};
use laxity_units::Span;

use super::super::analyses::Analyses;
use super::super::answer::Refused;
use super::super::division::{self, Needs, enough};
use super::super::environment::applications;
use super::super::fifo;
use super::super::leg::Leg;
use super::{Reservation, Tables, longest_way};
use crate::coverage::{is_queue, thread_per_message};
use crate::experiment::{ChannelSpec, Division, Experiment};

/// The forward phase of establishment: what the hops of a path can promise.
pub(super) struct Forward {
    pub(super) hops: Vec<Needs>,
    /// The least deadlines before they were raised, if they were.
    before: Vec<Span>,
    /// The longest time between the hops: propagation, and how late each hears of a frame.
    between: Span,
}

/// Divisions that are tried where a path passes a station several times.
const TRIES: usize = 32;
/// Halvings of the distance between a deadline that is refused and one that is admitted.
const HALVINGS: usize = 8;

impl Forward {
    /// The local deadlines of a path of that many `hops`, where `request` is shared out.
    pub(super) fn deadlines(
        &self,
        experiment: &Experiment,
        request: Request,
        hops: usize,
    ) -> Result<Vec<Span>, Refused> {
        let shared = (request.deadline(), self.between);
        let mut deadlines = division::divide(&self.hops, shared, experiment.admission.division)?;
        // A hop that no analysis covers reserves no capacity.
        deadlines.resize(hops, request.deadline());
        Ok(deadlines)
    }

    /// Raises the least deadline of the hops at the station that `refused` for want of time, where
    /// there are several: each was asked as if the others were not there. Answers whether there
    /// are.
    fn raise(&mut self, refused: &Refused) -> bool {
        let Deficit::Time(missing) = refused.refusal.deficit else { return false };
        let at = |needs: &Needs| needs.node == refused.node;
        let several = self.hops.iter().filter(|needs| at(needs)).count() > 1;
        if several {
            self.before = self.hops.iter().map(|needs| needs.least).collect();
            for needs in self.hops.iter_mut().filter(|needs| at(needs)) {
                // Twice what is missing: each passage takes time from the others.
                let raised = needs.least.saturating_add(missing).saturating_add(missing);
                needs.least = raised.min(needs.latest.max(needs.least));
            }
        }
        several
    }

    /// Takes back half of what the hops were raised by. Answers whether there is such a half.
    fn halve(&mut self) -> bool {
        let mut halved = false;
        for (needs, before) in self.hops.iter_mut().zip(&self.before) {
            let half = needs.least.saturating_sub(*before) / 2;
            needs.least -= half;
            halved |= !half.is_zero();
        }
        halved
    }
}

impl Tables {
    /// Reserves for `channel` at every host of its way as far as that is covered, or at none.
    ///
    /// Where only the receiving host is not covered there is a bound all the same, to the end of
    /// the last transmission.
    pub(in crate::promise) fn admit(
        &mut self,
        experiment: &Experiment,
        channel: &ChannelSpec,
        request: Request,
    ) -> Result<Reservation, Refused> {
        let hops = self.hosts_of(experiment, channel).count();
        if hops == 1 {
            return self.reserve(experiment, channel, request, &[request.deadline()]);
        }
        let mut forward = self.forward(experiment, channel, request)?;
        let mut refused = None;
        for _ in 0..TRIES {
            let deadlines = match forward.deadlines(experiment, request, hops) {
                Ok(deadlines) => deadlines,
                // The hops were raised too far.
                Err(_) if forward.halve() => continue,
                Err(late) => return Err(refused.unwrap_or(late)),
            };
            match self.reserve(experiment, channel, request, &deadlines) {
                Err(why) if forward.raise(&why) => refused = Some(why),
                answer => return answer,
            }
        }
        Err(refused.expect("each try that is not the last was refused"))
    }

    /// The least end-to-end deadline in place of that of `request` that the hops of the path would
    /// admit now, if all of them would admit any.
    pub(in crate::promise) fn least_deadline(
        &mut self,
        experiment: &Experiment,
        channel: &ChannelSpec,
        request: Request,
    ) -> Option<Span> {
        let mut forward = self.forward(experiment, channel, request).ok()?;
        let division = experiment.admission.division;
        let mut too_short = None;
        for _ in 0..=TRIES {
            let least = division::least(&forward.hops, division).saturating_add(forward.between);
            match self.admit(experiment, channel, request.within(least)) {
                Ok(reservation) => {
                    self.give_up(&reservation.reserved);
                    return Some(self.shorter(experiment, channel, request, too_short, least));
                }
                Err(refused) if forward.raise(&refused) => too_short = Some(least),
                Err(_) => return Some(least),
            }
        }
        None
    }

    /// A deadline that is admitted, between one that is `too_short`, if any is known, and the
    /// `admitted` one.
    fn shorter(
        &mut self,
        experiment: &Experiment,
        channel: &ChannelSpec,
        request: Request,
        too_short: Option<Span>,
        mut admitted: Span,
    ) -> Span {
        let Some(mut refused) = too_short else { return admitted };
        for _ in 0..HALVINGS {
            let between = refused + (admitted - refused) / 2;
            match self.would_admit(experiment, channel, request.within(between)) {
                true => admitted = between,
                false => refused = between,
            }
        }
        admitted
    }

    /// The number of hops of `channel` up to the last one that counts early messages, where local deadlines
    /// are no longer than they are worth.
    pub(super) fn spared(&self, experiment: &Experiment, channel: &ChannelSpec) -> usize {
        if self.enough.is_none() || experiment.admission.division != Division::Proportional {
            return 0;
        }
        let counts = |node: usize| self.hosts[node].as_ref().is_ok_and(Analyses::counts_early);
        let hops: Vec<(usize, Role)> = self.hosts_of(experiment, channel).collect();
        hops.iter().rposition(|(node, _)| counts(*node)).map_or(0, |last| last + 1)
    }

    /// Asks each hop of the path for the least deadline that it can promise, as far as an analysis
    /// covers the path.
    pub(super) fn forward(
        &self,
        experiment: &Experiment,
        channel: &ChannelSpec,
        request: Request,
    ) -> Result<Forward, Refused> {
        let (mut hops, mut between) = (Vec::new(), Span::ZERO);
        let goes_on = fifo::goes_on(experiment, channel, self);
        let spared = self.spared(experiment, channel);
        let enough = |hop: usize, least: Span| match self.enough {
            Some(quarters) if hop < spared => enough(least, channel.spec.min_interval, quarters),
            _ => Span::MAX,
        };
        let mut leg =
            Leg::first((experiment, &self.placement), channel, self.pays_once(experiment, channel, request));
        for (hop, (node, role)) in self.hosts_of(experiment, channel).enumerate() {
            let mut asked = leg.asked((node, role), request);
            let way = |hop: usize| longest_way(experiment, channel, hop, &self.notices);
            let before = hop.checked_sub(1).map_or(Span::ZERO, way);
            let Ok(host) = &self.hosts[node] else {
                if goes_on && is_queue(experiment, node) {
                    // Its bound is not known yet, and is no less than this.
                    let packet = channel.spec.largest_packet(experiment.packet());
                    let link = experiment.link(node, experiment.link_out(channel, hop));
                    let least = link.map_or(Span::ZERO, |link| link.transmit(packet));
                    let needs = Needs { node, least, latest: Span::MAX, enough: enough(hop, least) };
                    hops.push(needs);
                    between = between.saturating_add(before);
                    leg.leaves(None, request.deadline().min(needs.most()));
                    continue;
                }
                break;
            };
            if let Some(least) = self.shared_at(channel, hop) {
                hops.push(Needs { node, least, latest: least, enough: least });
                between = between.saturating_add(before);
                leg.leaves(host.handed_on(&asked), request.deadline());
                continue;
            }
            let room = match (role, asked.rate.request.program()) {
                (Role::Send, _) => buffered(experiment, channel),
                (_, Some(program)) => channel.spec.min_interval.saturating_mul(program.slots.into()),
                (Role::Relay | Role::Receive, None) => Span::MAX,
            };
            let latest = host.latest_deadline(&asked).min(room);
            // The hop need not have buffers for the whole deadline.
            asked.rate.request = asked.rate.request.within(request.deadline().min(latest));
            let least =
                host.least_deadline(&asked).map_err(|refusal| Refused { node, refusal, whose: None })?;
            let needs = Needs { node, least, latest, enough: enough(hop, least) };
            hops.push(needs);
            between = between.saturating_add(before);
            let most = if hop < spared { needs.most() } else { request.deadline() };
            leg.leaves(host.handed_on(&asked), request.deadline().min(most));
        }
        Ok(Forward { hops, before: Vec::new(), between })
    }
}

/// The latest deadline for which `channel` has buffers at its source: beside a burst there are as
/// many messages as become current before the first one is due, and one more where a thread has each
/// message and applications delay each other (`laxity_admission::Buffers`).
fn buffered(experiment: &Experiment, channel: &ChannelSpec) -> Span {
    let packets = channel.spec.fragmentation(experiment.packet()).packets().max(1);
    let early = u64::from(channel.spec.burst) - 1;
    let early_in_packets = if channel.packet_overflow == PacketOverflow::Block { 0 } else { early };
    let source = channel.route[0];
    let threads = thread_per_message(experiment.host(source).subsystem.processing);
    let delayed = threads && applications(experiment, source).is_ok_and(|work| !work.is_empty());
    let messages = u64::from(channel.message_slots).saturating_sub(early + u64::from(delayed));
    let in_packets = (channel.packet_slots / packets).saturating_sub(early_in_packets);
    channel.spec.min_interval.saturating_mul(messages.min(in_packets))
}
