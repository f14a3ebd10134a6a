//! The channels of a link that is shared by rates: a channel that keeps its contract is as if it
//! had a link of its own.
//!
//! [`AdmissionTable`](super::AdmissionTable) needs the order among channels. Where a discipline
//! gives each channel the rate of its contract, `r = M/I_min`, the order does not matter. The table
//! is the sum of rates, and a channel is late behind its own clock by no more than the discipline's
//! latency ([`Latency`]; each discipline's page has it and its source).
//!
//! # From contracts to clocks
//!
//! Let messages have arrived by their logical arrivals `ℓ_k`, which are `I_min` apart; how much
//! earlier does not matter, since an item that arrives earlier has no later clock. Message `k`
//! takes `M_k/r ≤ I_min` of its own rate, so its last packet is due by the channel's clock at
//!
//! ```text
//! end_k ≤ max(ℓ_k, end_{k−1}) + M_k/r ≤ ℓ_k + I_min            (induction: end_{k−1} ≤ ℓ_{k−1} + I_min ≤ ℓ_k)
//! ```
//!
//! and has left by `ℓ_k + I_min + α`, whatever others send. Several messages of a channel may be
//! under way, so deadlines may be beyond `I_min`. Where latency is counted from the end none below
//! it can be promised, however fast the link; where it is counted from the beginning, `I_min` is
//! `(M − L)/r`. Where the packets arrive from such a link themselves the message is not paid for
//! again, only its largest packet ([`Latency::of_next`]).
//!
//! The promise is the less of that and of the time of all channels with a rate together
//! (`rates/together.rs`). Where a burst is paid for once over several links, only the bound by the
//! clocks is promised.
//!
//! Traffic beyond a contract, and best effort without a share, has no rate and goes when no other
//! traffic waits: one packet of it may have been begun. Clocks are counted in 2⁻³² ps and rounded
//! up, which is [`ROUNDING`] at most.

mod many;
mod row;
#[cfg(test)]
mod tests;
mod together;

use std::collections::BTreeMap;
use std::sync::Arc;

use laxity_units::{Bytes, Span};

use many::Sums;
use row::Late;
pub(super) use together::Together;
pub(super) use together::{Coming, through};

use super::decision::{AdmissionId, AdmissionRefusal, Bound, Claimant, Decision, Deficit, Reason, Scarce};
use super::environment::Request;
use super::terms::{Breakdown, ps};
use crate::station::Rated;
use laxity_qos::discipline::{Messages, Order, Share, Sharing};

/// Error of the clocks.
const ROUNDING: Span = Span::from_ps(2);

/// Request of a channel to such a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateRequest {
    /// Its contract, and by when it has to be through.
    pub request: Request,
    /// Its level, where there are levels.
    pub level: u8,
    /// The place of the group that it is in, where groups count.
    pub group: Option<usize>,
    /// Where its burst is paid for.
    pub pays: Pays,
    /// How early its messages arrive.
    pub early: Early,
    /// Whether its packets come as whole messages, in order and none lost ([`Messages`]).
    pub whole: bool,
}

/// Where a burst is paid for, over a row of links that are shared by rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pays {
    /// At each of them.
    #[default]
    Everywhere,
    /// Here, the first of them, and then no more.
    First,
    /// At the first of them; what the one before this leaves to be added ([`Order::handed_on`]).
    Before(Span),
}

/// How early messages may arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Early {
    /// `E`: before their logical arrival, at most …
    pub by: Span,
    /// … `a`: but for this number.
    pub ahead: u64,
}

/// Every promise that a link has made which is shared by rates.
#[derive(Debug, Clone)]
pub struct RateTable {
    order: Order,
    packet: Bytes,
    /// Its speed, what has no rate, and what has one without a guarantee.
    sharing: Sharing,
    channels: Vec<Channel>,
    /// Over the channels.
    sums: Sums,
    next_id: u64,
    /// How much later than its logical arrivals a channel's messages are there, where a CPU makes
    /// them first.
    late: BTreeMap<AdmissionId, Span>,
    /// The server behind the queue, if it is no link alone.
    behind: Behind,
    /// The stages that it is the first by rates of, if they are an adapter's.
    row: Option<Arc<Rated>>,
}

/// The server behind a queue that is shared by rates: see [`super::rated_host`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Behind {
    /// `D`: items that are under way, at most.
    pub(super) depth: u32,
    /// For how long it may serve no packet, once.
    pub(super) once: Span,
}

#[derive(Debug, Clone, Copy)]
struct Channel {
    id: AdmissionId,
    asked: RateRequest,
}

/// By which of the two methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Promised {
    /// The bound by its clock.
    ByRate(Span),
    /// The bound by all possible arrivals.
    Together(Span),
}

impl Promised {
    fn bound(self) -> Span {
        match self {
            Promised::ByRate(bound) | Promised::Together(bound) => bound,
        }
    }
}

impl RateTable {
    /// A link without channels, beside what has no guarantee; packets are cut to `packet`. `None`
    /// if no latency is known of `order`.
    pub fn new(order: Order, packet: Bytes, sharing: Sharing) -> Option<Self> {
        let behind = Behind { depth: 1, once: Span::ZERO };
        let late = BTreeMap::new();
        let (channels, row) = (Vec::new(), None);
        order.has_latency().then_some(Self {
            order,
            packet,
            sharing,
            channels,
            sums: Sums::default(),
            next_id: 0,
            late,
            behind,
            row,
        })
    }

    /// The same before what is no link alone.
    pub(super) fn before(self, behind: Behind) -> Self {
        Self { behind, ..self }
    }

    /// Identifier of the next channel to be admitted.
    pub(super) fn next(&self) -> AdmissionId {
        AdmissionId(self.next_id)
    }

    /// From now on, how much later than its logical arrivals each channel's messages are there.
    pub(super) fn made_late(&mut self, late: BTreeMap<AdmissionId, Span>) {
        self.late = late;
    }

    /// Whether every channel is in time, or which is not.
    pub(super) fn check(&self) -> Result<(), AdmissionRefusal> {
        self.kept(&self.channels, &self.sharing, None).map(drop)
    }

    /// Admits `asked`, or says why not and leaves the table unchanged.
    pub fn request(&mut self, asked: RateRequest) -> Decision {
        let bound = match self.least_deadline(&asked) {
            Ok(bound) => bound,
            Err(refusal) => return Decision::Refused(refusal),
        };
        if bound > asked.request.deadline() {
            let late = bound - asked.request.deadline();
            return Decision::Refused(AdmissionRefusal::late(late, Claimant::Newcomer));
        }
        let id = AdmissionId(self.next_id);
        self.next_id += 1;
        self.sums = self.summed(self.sums, &asked);
        self.channels.push(Channel { id, asked });
        self.sharing.flows.push(self.share(&asked));
        Decision::Admitted { id, priority: 0, bound }
    }

    /// Gives up a channel's reservation; `false` if there is none.
    pub fn release(&mut self, id: AdmissionId) -> bool {
        let Some(place) = self.channels.iter().position(|channel| channel.id == id) else { return false };
        let others = self.others();
        self.channels.remove(place);
        self.sharing.flows.remove(others + place);
        self.sums = self.summed_anew();
        true
    }

    /// From now on the burst of an admitted channel is paid for where `pays` says, which changes the
    /// bound of no other.
    pub fn pay(&mut self, id: AdmissionId, pays: Pays) {
        if let Some(channel) = self.channels.iter_mut().find(|channel| channel.id == id) {
            let before = std::mem::replace(&mut channel.asked.pays, pays);
            self.paid(before, pays);
        }
    }

    /// From now on the messages of those channels arrive so early. Answers whether that is new.
    pub fn arrive(&mut self, early: &BTreeMap<AdmissionId, Early>) -> bool {
        let new = arrive(self.channels.iter_mut().map(|it| (it.id, &mut it.asked)), early);
        if new {
            self.sums = self.summed_anew();
        }
        new
    }

    /// The least deadline that could be promised in place of that of `asked`: its bound beside all
    /// others, which are still in time. Beside many a greater one, if all have time to spare.
    pub fn least_deadline(&self, asked: &RateRequest) -> Result<Span, AdmissionRefusal> {
        if let Some(bound) = self.at_once(asked) {
            return Ok(bound);
        }
        let sharing = self.beside(asked);
        if let Some(sharing) = self.overloaded(&sharing) {
            let excess = Deficit::Share(sharing.excess().max(1));
            return Err(AdmissionRefusal::new(Scarce::Link, excess, Reason::Overload, Claimant::Newcomer));
        }
        let own = Channel { id: self.next(), asked: *asked };
        let all: Vec<Channel> = self.channels.iter().copied().chain([own]).collect();
        self.kept(&all, &sharing, Some(own.id))
    }

    /// Every channel's bound, in the order in which they were admitted.
    pub fn bounds(&self) -> Vec<Bound> {
        let latencies = self.latencies(&self.sharing);
        let own = self.sharing.flows.iter().zip(latencies).skip(self.others());
        let together = self.together(&self.channels, &self.sharing);
        let lower = self.lower(&self.sharing);
        let of = |(place, (channel, (share, latency))): (usize, (&Channel, (&Share, Option<Late>)))| {
            let latency = latency.expect("it was admitted");
            let together = together.as_ref().and_then(|together| together.of(place));
            let promised = self.promised(channel, share, latency, together);
            let bound = promised.bound();
            let (wait, service) = match promised {
                Promised::ByRate(_) => {
                    let service = alone(&channel.asked, share).min(bound);
                    (bound - service, service)
                }
                Promised::Together(_) => {
                    (lower.saturating_add(self.late(channel.id)), self.message(&channel.asked))
                }
            };
            Bound {
                id: channel.id,
                priority: 0,
                level: None,
                deadline: channel.asked.request.deadline(),
                bound,
                wait,
                service,
                higher: bound.saturating_sub(wait).saturating_sub(service),
                interference: Span::ZERO,
                head_start: Span::ZERO,
            }
        };
        self.channels.iter().zip(own).enumerate().map(of).collect()
    }

    /// The burst that a channel hands on to the next link: see [`Pays::Before`].
    pub fn handed_on(&self, asked: &RateRequest) -> Span {
        self.last().handed_on(&self.share(asked))
    }

    /// A bound in words: what others cost, and what the channel takes by itself.
    pub fn terms(&self, asked: &RateRequest, bound: &Bound) -> (Breakdown, Breakdown) {
        let late = self.late(bound.id);
        let terms = |wait, service| {
            let made = Breakdown::default().and("the CPU, until all of it waits at the link", ps(late));
            (
                made.and(wait, ps(bound.wait.saturating_sub(late))),
                Breakdown::default().and(service, ps(bound.service)),
            )
        };
        let alone = alone(asked, &self.share(asked));
        let by_rate = bound.service == alone.min(bound.bound)
            && (alone == bound.service || bound.service != self.message(asked));
        match (by_rate, asked.pays) {
            (false, _) => terms("a packet without a rate, already begun", "transmission of the message"),
            (true, Pays::Everywhere | Pays::First) => terms(
                "others between what its rate is worth",
                "the largest message at the rate of the contract",
            ),
            (true, Pays::Before(_)) => terms(
                "others between what its rate is worth",
                "its largest packet at that rate; the message was paid for before",
            ),
        }
    }

    /// The bound of the last of `channels`, if all are in time but for `newcomer`, which need not
    /// be.
    fn kept(
        &self,
        channels: &[Channel],
        sharing: &Sharing,
        newcomer: Option<AdmissionId>,
    ) -> Result<Span, AdmissionRefusal> {
        let latencies = self.latencies(sharing);
        let together = self.together(channels, sharing);
        let flows = sharing.flows.iter().zip(latencies).skip(self.others());
        let mut last = Span::ZERO;
        for (place, (channel, (share, latency))) in channels.iter().zip(flows).enumerate() {
            let whose = match Some(channel.id) == newcomer {
                true => Claimant::Newcomer,
                false => Claimant::Channel(channel.id),
            };
            let Some(latency) = latency else {
                return Err(AdmissionRefusal::new(
                    Scarce::Link,
                    Deficit::Unbounded,
                    Reason::NoRoomInFrames,
                    whose,
                ));
            };
            let together = together.as_ref().and_then(|together| together.of(place));
            last = self.promised(channel, share, latency, together).bound();
            if whose != Claimant::Newcomer && last > channel.asked.request.deadline() {
                return Err(AdmissionRefusal::late(last - channel.asked.request.deadline(), whose));
            }
        }
        Ok(last)
    }

    /// The promise if all are through `together`, if they are known to be.
    fn promised(
        &self,
        channel: &Channel,
        share: &Share,
        Late { latency, more }: Late,
        together: Option<Span>,
    ) -> Promised {
        let Channel { id, asked } = channel;
        let late = self.late(*id);
        let by_rate = match asked.pays {
            Pays::Everywhere | Pays::First => latency.of_bucket(share),
            Pays::Before(before) => latency.of_next(before, share),
        };
        let by_rate = by_rate.saturating_add(ROUNDING).saturating_add(more);
        match together.filter(|together| *together < by_rate && asked.pays == Pays::Everywhere) {
            Some(together) => Promised::Together(together.saturating_add(late)),
            None => Promised::ByRate(by_rate.saturating_add(late)),
        }
    }

    /// By how much the server behind the queue adds to a latency.
    fn behind(&self, sharing: &Sharing) -> Span {
        let Behind { depth, once } = self.behind;
        sharing.longest().saturating_mul(u64::from(depth) - 1).saturating_add(once)
    }

    /// The largest traffic under way when no packet with a rate waits. At a port it is an item
    /// without a rate, or another channel's rate would be waited for; else as many items of any
    /// channel as there may be.
    fn lower(&self, sharing: &Sharing) -> Span {
        if let Some(open) = self.row.as_ref().and_then(|row| row.alike()) {
            return open.once().iter().fold(Span::ZERO, |once, term| once.saturating_add(term.cost));
        }
        match self.behind {
            Behind { depth: 1, once: Span::ZERO } => sharing.without(),
            Behind { depth, once } => sharing.longest().saturating_mul(u64::from(depth)).saturating_add(once),
        }
    }

    /// By when all are through, if `channels` are all arrivals; `None` where others may send
    /// anything.
    fn together(&self, channels: &[Channel], sharing: &Sharing) -> Option<Together> {
        let alike = self.row.as_ref().is_none_or(|row| row.alike().is_some());
        if !self.order.serves_rates_first() || self.others() > 0 || !alike {
            return None;
        }
        let coming = |Channel { id, asked }: &Channel| self.coming(asked, self.late(*id));
        Some(Together::new(self.lower(sharing), channels.iter().map(coming).collect()))
    }

    /// Messages of `asked` that are there so `late` after their logical arrivals.
    fn coming(&self, asked: &RateRequest, late: Span) -> Coming {
        let early = asked.early.by.saturating_add(late);
        Coming { ahead: asked.early.ahead, ..Coming::of(&asked.request, self.message(asked), early) }
    }

    /// How much later than its logical arrivals the messages of `id` are there.
    fn late(&self, id: AdmissionId) -> Span {
        self.late.get(&id).copied().unwrap_or_default()
    }

    /// `S`: what the largest message takes.
    fn message(&self, asked: &RateRequest) -> Span {
        let fragmentation = asked.request.spec().fragmentation(self.packet);
        let whole = self.takes(self.packet).saturating_mul(fragmentation.packets() - 1);
        whole.saturating_add(self.takes(fragmentation.last()))
    }

    /// All channels, and `asked` last.
    fn beside(&self, asked: &RateRequest) -> Sharing {
        let mut sharing = self.sharing.clone();
        sharing.flows.push(self.share(asked));
        sharing
    }

    /// Flows that have a rate and no guarantee.
    fn others(&self) -> usize {
        self.sharing.flows.len() - self.channels.len()
    }

    fn share(&self, asked: &RateRequest) -> Share {
        let spec = asked.request.spec();
        Share {
            tick: spec.tick(),
            burst: spec.max_message,
            largest: spec.largest_packet(self.packet),
            smallest: spec.smallest_packet(self.packet),
            messages: asked.whole.then_some(Messages { least: spec.min_message, most: spec.max_message }),
            level: asked.level,
            group: asked.group,
        }
    }
}

/// From now on messages of those of `channels` arrive so early. Answers whether that is new.
pub(super) fn arrive<'a>(
    channels: impl Iterator<Item = (AdmissionId, &'a mut RateRequest)>,
    early: &BTreeMap<AdmissionId, Early>,
) -> bool {
    let mut new = false;
    for (id, asked) in channels {
        if let Some(early) = early.get(&id).filter(|early| **early != asked.early) {
            (asked.early, new) = (*early, true);
        }
    }
    new
}

/// Time of a channel with a link of its own rate.
fn alone(asked: &RateRequest, share: &Share) -> Span {
    match asked.pays {
        Pays::Everywhere | Pays::First => share.tick.of(share.burst),
        Pays::Before(before) => before,
    }
}
