//! Whether the adapter of a host has buffers for the incoming frames.
//!
//! A frame is lost if it finds no buffer, no slot before a stage, or no slot for its response. The
//! number of frames in the adapter at a time is (4) of
//! `laxity_admission::station::receive::counted`, by links and by the number sent; those of
//! guaranteed channels alone are counted by contract, (1) of `traffic/senders.rs`. Let `N` count
//! all frames and `G` those of guaranteed channels. No guaranteed frame is lost where
//!
//! * buffers for all are at least `N`; or, where waiting best effort gives its buffers up, `G` and
//!   one for each packet in a server, which keeps its buffer;
//! * buffers of a channel's own are at least the maximum of its own frames;
//! * slots of a queue are at least `N`, or before the first stage the number in (5) there, or `G`
//!   if best effort does not wait there or gives way. A stage behind the first may block those
//!   before it, and loses none.
//!
//! *Responses* have their slots until the host has served them. The host notices each within
//! `told`, and serves it within `R`. Interrupts go before all else but a start of the link that is
//! under way, and in the order of their arrival; so a response waits for those that are there
//! before it. Of `D` packets under way, or as many as there are buffers for, these are `k` for each
//! at most, which take `c`, including the starts. Incoming frames take `r` each, those that arrived
//! within `R` before it, and polls and timers likewise:
//!
//! ```text
//! R = (start + k D c + Σ_g (b_g + 1) r) / (1 − Σ_g r/i_g).                                  (1)
//! ```
//!
//! A host with several adapters serves the interrupts of all of them in the order of their arrival:
//! `k D` is the sum over its adapters, and the frames that arrive by others count like polls.
//!
//! So the incoming frames that wait there are at most those that arrive within the longest time in
//! the adapter, `told` and `R`. They are also at most (6) of `counted.rs`, which includes their
//! service: with `k D` tokens; or with none and `k B c` once, as while only interrupts are served
//! no packet is made, and each made packet is complete once. Where one queue is for both
//! directions, add `k D` for complete packets.

use laxity_admission::station::{self, FrameGroup};
use laxity_admission::{AdmissionRefusal, Claimant, Deficit, Reason, ResourceModel, Scarce};
use laxity_model::adapter::{
    AdapterBuffers, Answers, BufferPool, Description, Overload, Own, Queue, ResponseQueue, Stage, Takes,
};
use laxity_qos::channel::LinkId;
use laxity_qos::discipline::Class;
use laxity_units::Span;

use super::analyses::Reading;
use super::answer::Room;
use super::arrivals::{Choice, arrivals, choices};
use super::environment::{looks, receptions, timers};
use crate::coverage::{Covered, Frames};
use crate::experiment::{AdapterSpec, ChannelSpec, Experiment};
use crate::traffic::departures::{Departures, buffers};
use crate::traffic::senders::by_contract;

/// Incoming frames at an adapter of stages, and its shortfall of buffers for them.
pub(super) struct Inside {
    /// The maximum number of frames in it at a time; `None` without a bound.
    pub(super) all: Option<u64>,
    /// The shortfalls by which a guaranteed channel may lose frames.
    short: Vec<Short>,
    /// Buffers, where a channel has some to itself.
    own: Option<BufferPool>,
    stay: Span,
}

/// Something that there may be too little of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Short {
    resource: Scarce,
    key: &'static str,
    has: u64,
    /// The number that is enough; `None` without a bound.
    needs: Option<u64>,
}

impl Inside {
    /// For the adapter of a link of a node, which is so covered; `None` without incoming frames, or by
    /// an adapter that loses no frame.
    pub(super) fn of(experiment: &Experiment, at: (usize, LinkId), covered: &Covered) -> Option<Self> {
        let (node, link) = at;
        let AdapterSpec::Described(description) = experiment.adapter_of(node, link) else { return None };
        let comes_in = |channel: &ChannelSpec| arrivals_by(experiment, channel, at).next().is_some();
        if !experiment.channels.iter().any(comes_in) {
            return None;
        }
        let frames = Frames::of(experiment, at, description);
        let stay = frames.as_ref().map_or(Span::MAX, |frames| frames.stay);
        let counts = Counts { experiment, node, link, frames };
        let (own, mut short) = match description.receive.is_empty() {
            // It has a buffer and gives it back at once.
            true => (None, Vec::new()),
            false => counts.buffers(description, stay),
        };
        short.extend(counts.queues(description, stay));
        short.extend(counts.responses(description, covered));
        Some(Self { all: counts.all(stay), short, own, stay })
    }

    /// The shortfalls by which `channel`, which arrives at `hop` of its path, may lose frames.
    fn short<'a>(
        &'a self,
        experiment: &'a Experiment,
        channel: &'a ChannelSpec,
        hop: usize,
    ) -> impl Iterator<Item = Short> + 'a {
        let own = self.own.and_then(|pool| {
            let most = of_channel(experiment, channel, hop).map(|group| within(group, self.stay));
            let (key, resource) = ("receive_buffers.per_channel", Scarce::ReceiveBuffers);
            match pool {
                BufferPool::PerChannel(each) => Some(Short { resource, key, has: each.into(), needs: most }),
                BufferPool::Reserved { own, shared } => {
                    let own = match own {
                        Own::Each(each) => each,
                        Own::Contract => experiment.burst(channel).unwrap_or(0),
                    };
                    let enough = self.all.is_some_and(|all| all <= shared.into());
                    (!enough).then_some(Short { resource, key, has: own.into(), needs: most })
                }
                BufferPool::Unlimited | BufferPool::Shared(_) => None,
            }
        });
        self.short.iter().copied().chain(own).filter(Short::is_short)
    }

    /// Why `channel` is not admitted where it arrives at `hop` of its path, if so.
    pub(super) fn refuses(
        &self,
        experiment: &Experiment,
        channel: &ChannelSpec,
        hop: usize,
    ) -> Option<AdmissionRefusal> {
        self.short(experiment, channel, hop).next().map(|short| {
            let places = short.needs.map_or(Deficit::Unbounded, |needs| Deficit::Places(needs - short.has));
            AdmissionRefusal::new(short.resource, places, Reason::NoRoomInAdapter, Claimant::Newcomer)
        })
    }

    /// The numbers of buffers with which it would be admitted; empty if there is no bound.
    pub(super) fn rooms(&self, experiment: &Experiment, channel: &ChannelSpec, hop: usize) -> Vec<Room> {
        let of = |short: Short| Some(Room { key: short.key, has: short.has, least: short.needs? });
        self.short(experiment, channel, hop).map(of).collect::<Option<_>>().unwrap_or_default()
    }
}

impl Short {
    fn is_short(&self) -> bool {
        self.needs.is_none_or(|needs| needs > self.has)
    }
}

/// The counts of incoming frames at an adapter of a node.
struct Counts<'a> {
    experiment: &'a Experiment,
    node: usize,
    link: LinkId,
    frames: Option<Frames>,
}

impl Counts<'_> {
    /// `N`: all arrivals within `span`.
    fn all(&self, span: Span) -> Option<u64> {
        self.frames.as_ref()?.within(span)
    }

    /// `G`: of guaranteed channels.
    fn guaranteed(&self, span: Span) -> Option<u64> {
        let channels = self.experiment.channels.iter().filter(|channel| channel.class == Class::RealTime);
        let at = (self.node, self.link);
        let mut come_in = channels
            .flat_map(|channel| arrivals_by(self.experiment, channel, at).map(move |hop| (channel, hop)));
        let of = |(channel, hop)| Some(within(of_channel(self.experiment, channel, hop)?, span));
        let by_contract = come_in.try_fold(0u64, |all, one| Some(all.saturating_add(of(one)?)));
        by_contract.into_iter().chain(self.all(span)).min()
    }

    /// Buffers of a channel's own, or what is short of those for all.
    fn buffers(&self, description: &Description, stay: Span) -> (Option<BufferPool>, Vec<Short>) {
        let AdapterBuffers { pool, overload } = description.receive_buffers;
        let BufferPool::Shared(has) = pool else {
            return (Some(pool).filter(|pool| *pool != BufferPool::Unlimited), Vec::new());
        };
        let phases = || description.receive.iter().flat_map(|stage| &stage.phases);
        let served =
            description.receive.iter().map(|stage| u64::from(stage.servers) * u64::from(stage.batch));
        let give_way = match overload {
            // A copied frame waits without a buffer to give up, and frames that are not copied may
            // wait there, too.
            Overload::Priority if !phases().any(|phase| phase.releases) => {
                self.guaranteed(stay).map(|most| most.saturating_add(served.sum()))
            }
            Overload::Priority | Overload::Block | Overload::Drop | Overload::Importance => None,
        };
        let needs = self.all(stay).into_iter().chain(give_way).min();
        let key = "receive_buffers.shared";
        (None, vec![Short { resource: Scarce::ReceiveBuffers, key, has: has.into(), needs }])
    }

    fn queues(&self, description: &Description, stay: Span) -> Vec<Short> {
        // Before the first stage fewer wait than there may be.
        let first = self.frames.as_ref().and_then(Frames::before_the_first);
        let of = |(n, stage): (usize, &Stage)| {
            let waiting = |all: Option<u64>| all.into_iter().chain(first.filter(|_| n == 0)).min();
            let mut queues: Vec<&Queue> = stage.queues.iter().collect();
            queues.sort_by_key(|queue| queue.priority);
            let takes: Vec<Takes> = queues.iter().map(|queue| queue.takes).collect();
            let of = |(queue, alone): (&&Queue, bool)| {
                let has = u64::from(queue.slots?);
                let needs = match queue.overload {
                    Overload::Block => return None,
                    Overload::Priority | Overload::Importance => waiting(self.guaranteed(stay)),
                    Overload::Drop if alone => waiting(self.guaranteed(stay)),
                    Overload::Drop => waiting(self.all(stay)),
                };
                Some(Short { resource: Scarce::ReceiveQueue, key: "receive.queue.slots", has, needs })
            };
            let meets = guaranteed_by(&takes);
            queues.iter().zip(meets).filter_map(|(queue, meets)| of((queue, meets?))).collect::<Vec<_>>()
        };
        description.receive.iter().enumerate().flat_map(of).collect()
    }

    fn responses(&self, description: &Description, covered: &Covered) -> Vec<Short> {
        let about: Vec<&ResponseQueue> =
            description.interface.responses.iter().filter(|queue| queue.answers != Answers::Sent).collect();
        let of = |(queue, alone): (&ResponseQueue, bool)| {
            if queue.overload != Overload::Drop {
                return None;
            }
            let has = u64::from(queue.slots?);
            let needs = self.unserved(covered, alone).map(|comes_in| {
                let complete = match queue.answers {
                    Answers::All => self.interrupts_of(covered, self.link) * u64::from(covered.depth),
                    Answers::Received | Answers::Sent => 0,
                };
                comes_in.saturating_add(complete)
            });
            Some(Short { resource: Scarce::ResponseQueue, key: "response_queue.slots", has, needs })
        };
        let takes: Vec<Takes> = about.iter().map(|queue| queue.takes).collect();
        let meets = guaranteed_by(&takes);
        about.into_iter().zip(meets).filter_map(|(queue, meets)| of((queue, meets?))).collect()
    }

    /// Frames that came in, or those of guaranteed channels alone, of which the host has not served
    /// the responses.
    fn unserved(&self, covered: &Covered, alone: bool) -> Option<u64> {
        let frames = self.frames.as_ref()?;
        let notice = frames.stay.saturating_add(frames.told);
        let host = self.host(covered, notice)?;
        let in_order = self.served(&host, notice).map(|served| notice.saturating_add(served));
        let made = buffers(self.experiment, self.node, |_| true).and_then(|all| {
            let links = self.experiment.links_of(self.node);
            let each = links.map(|link| self.interrupts_of(covered, link)).max().unwrap_or(1);
            let all = all.checked_mul(each)?;
            let once = host.once.saturating_add(host.token.saturating_mul(all));
            frames.unserved(&station::NotifiedHost { tokens: 0, once, ..host })
        });
        let ways = [in_order.and_then(|within| self.all(within)), frames.unserved(&host), made];
        let guaranteed = in_order.filter(|_| alone).and_then(|within| self.guaranteed(within));
        ways.into_iter().chain([guaranteed]).flatten().min()
    }

    /// The host's work at interrupts; `None` if it is not known.
    fn host(&self, covered: &Covered, hears: Span) -> Option<station::NotifiedHost> {
        let Self { experiment, node, link: own, frames: _ } = self;
        let host = experiment.host(*node);
        // A core also waits for other cores that start packets for other adapters.
        if covered.model == ResourceModel::Core && !covered.further.is_empty() {
            return None;
        }
        let costs = host.costs.interrupted_for_each().with_packets_of(experiment.packet());
        if host.driver.watchdog.is_some() && !costs.poll.is_zero() {
            return None;
        }
        let start = costs.transmit(host.subsystem.link.paradigm).saturating_add(costs.thread_creation);
        let each = costs.interrupt;
        let under_way = buffers(experiment, *node, |_| true).unwrap_or(u64::MAX).min(covered.depth.into());
        let tokens = experiment.links_of(*node).try_fold(0u64, |all, link| {
            all.checked_add(under_way.checked_mul(self.interrupts_of(covered, link))?)
        })?;
        let mut above: Vec<_> = looks(experiment, *node).chain(timers(experiment, *node)).collect();
        for link in experiment.links_of(*node).filter(|link| link != own) {
            let reading = Reading { arrivals: Choice::Expected, ..Reading::default() };
            above.extend(receptions(experiment, *node, Some(link), reading).ok()?);
        }
        let (mut once, mut rate) = (u128::from(start.as_ps()), 0u128);
        for above in above {
            let cost = u128::from(above.cost.as_ps());
            once = once.checked_add(cost.checked_mul(u128::from(above.burst) + 1)?)?;
            let interval = u128::from(above.interval.as_ps()).max(1);
            rate = rate.checked_add(cost.checked_mul(station::NotifiedHost::PARTS)?.div_ceil(interval))?;
        }
        let once = Span::from_ps(u64::try_from(once).ok()?);
        Some(station::NotifiedHost { hears, each, tokens, token: each.saturating_add(start), once, rate })
    }

    /// Interrupts of a packet that leaves by `link`.
    fn interrupts_of(&self, covered: &Covered, link: LinkId) -> u64 {
        covered.links().nth(link.0.into()).map_or(1, |link| link.interrupts().all.into())
    }

    /// `R`, by (1); `None` if interrupts may never be done.
    fn served(&self, host: &station::NotifiedHost, notice: Span) -> Option<Span> {
        let choices = match host.each.is_zero() {
            true => vec![Choice::Expected],
            false => choices(self.experiment, (self.node, Some(self.link)), notice),
        };
        choices.into_iter().filter_map(|choice| self.served_of(host, notice, choice)).min()
    }

    /// `R`, by (1), where arrivals are counted by that choice.
    fn served_of(&self, host: &station::NotifiedHost, notice: Span, choice: Choice) -> Option<Span> {
        const PARTS: u128 = station::NotifiedHost::PARTS;
        let ps = |span: Span| u128::from(span.as_ps());
        let station::NotifiedHost { each, tokens, token, once, mut rate, .. } = *host;
        let mut once = ps(token).checked_mul(tokens.into())?.checked_add(ps(once))?;
        if !each.is_zero() {
            for Departures { burst, interval } in
                arrivals(self.experiment, (self.node, Some(self.link)), (each, notice), choice).ok()?
            {
                once = once.checked_add(ps(each).checked_mul(u128::from(burst) + 1)?)?;
                rate = rate.checked_add(ps(each).checked_mul(PARTS)?.div_ceil(ps(interval).max(1)))?;
            }
        }
        let free = PARTS.checked_sub(rate).filter(|free| *free > 0)?;
        Some(Span::from_ps(u64::try_from(once.checked_mul(PARTS)?.div_ceil(free)).ok()?))
    }
}

/// Per queue, whether frames of guaranteed channels are alone there, where a packet joins the first
/// queue that takes it; `None` if they are never there.
fn guaranteed_by(takes: &[Takes]) -> Vec<Option<bool>> {
    let takes_all = |takes: &Takes, class| *takes == Takes::All || *takes == Takes::Only(class);
    let of = |n: usize| {
        let before = |class| takes[..n].iter().any(|before| takes_all(before, class));
        let none = takes[n] == Takes::Only(Class::BestEffort) || before(Class::RealTime);
        let alone = takes[n] == Takes::Only(Class::RealTime) || before(Class::BestEffort);
        (!none).then_some(alone)
    };
    (0..takes.len()).map(of).collect()
}

/// The hops at which `channel` arrives at a node by a link.
fn arrivals_by<'a>(
    experiment: &'a Experiment,
    channel: &'a ChannelSpec,
    (node, link): (usize, LinkId),
) -> impl Iterator<Item = usize> + 'a {
    channel.passages(node).filter(move |hop| experiment.link_in(channel, *hop) == Some(link))
}

/// The arrivals of `channel` after `hop` of its path.
fn of_channel(experiment: &Experiment, channel: &ChannelSpec, hop: usize) -> Option<Departures> {
    let pushed = experiment.networks[channel.ways[hop - 1]].impairments.jitter;
    Some(by_contract(experiment, channel, hop)?.pushed(pushed))
}

fn within(group: Departures, span: Span) -> u64 {
    FrameGroup::from(group).within(span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guaranteed_join_the_first_queue_that_takes_them() {
        let (all, real_time) = (Takes::All, Takes::Only(Class::RealTime));
        let (best_effort, levels) = (Takes::Only(Class::BestEffort), Takes::Levels(0, 7));
        let (alone, beside) = (Some(true), Some(false));
        for (queues, found) in [
            ([all, all], [beside, None]),
            ([real_time, all], [alone, None]),
            ([best_effort, all], [None, alone]),
            ([levels, all], [beside, beside]),
            ([best_effort, levels], [None, alone]),
            ([levels, real_time], [beside, alone]),
        ] {
            assert_eq!(guaranteed_by(&queues), found, "{queues:?}");
        }
    }
}
