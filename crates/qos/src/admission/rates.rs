//! The channels of a link that is shared by rates: whoever keeps its contract is as if it had a link of its own.
//!
//! [`AdmissionTable`](super::AdmissionTable) asks who goes before whom. Where a discipline gives each channel the rate of its contract,
//! `r = M/I_min`, nobody's order matters: the table is the sum of rates, and a channel is late behind its own clock by no more than the
//! discipline's latency ([`Latency`]; each discipline's page has it and its source).
//!
//! # From contracts to clocks
//!
//! Let messages have come by their logical arrivals `ℓ_k`, which are `I_min` apart; how much earlier does not matter, since an item that comes earlier has no later clock.
//! Message `k` takes `M_k/r ≤ I_min` of its own rate, so its last packet is due by the channel's clock at
//!
//! ```text
//! end_k ≤ max(ℓ_k, end_{k−1}) + M_k/r ≤ ℓ_k + I_min            (induction: end_{k−1} ≤ ℓ_{k−1} + I_min ≤ ℓ_k)
//! ```
//!
//! and has left by `ℓ_k + I_min + α`, whatever others send. Several messages of a channel may be under way, so deadlines may be beyond `I_min`. Where latency is counted from the end none below it can be promised, however fast
//! the link; where it is counted from the beginning, `I_min` is `(M − L)/r`. Where the packets come from such a link themselves the message is not paid for again, only its largest packet
//! ([`Latency::of_next`]).
//!
//! What exceeds a contract, and best effort without a share, has no rate and goes when nothing else waits: one packet of it may have been begun. Clocks are counted in
//! 2⁻³² ps and rounded up, which is [`ROUNDING`] at most.

use laxity_units::{Bytes, Span};

use super::decision::{AdmissionId, Bound, Claimant, Decision, Deficit, Reason, Refusal, Resource};
use super::environment::Request;
use super::terms::{Breakdown, ps};
use crate::discipline::{Latency, Order, Share, Sharing};
use crate::virtual_clock::Vtick;

/// What clocks are off by.
const ROUNDING: Span = Span::from_ps(2);

/// What a channel asks of such a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateRequest {
    /// Its contract, and by when it has to be through.
    pub request: Request,
    /// Its level, where there are levels.
    pub level: u8,
    /// What the link before leaves to be added, if that is shared by rates as well ([`Latency::handed_on`]).
    pub before: Option<Span>,
}

/// Every promise that a link has made which is shared by rates.
#[derive(Debug, Clone)]
pub struct RateTable {
    order: Order,
    packet: Bytes,
    /// Its speed, what has no rate, and what has one without a guarantee.
    sharing: Sharing,
    channels: Vec<Channel>,
    next_id: u64,
}

#[derive(Debug, Clone, Copy)]
struct Channel {
    id: AdmissionId,
    asked: RateRequest,
}

impl RateTable {
    /// A link without channels, beside what has no guarantee; packets are cut to `packet`. Nothing if no latency is known of `order`.
    pub fn new(order: Order, packet: Bytes, sharing: Sharing) -> Option<Self> {
        order.has_latency().then_some(Self { order, packet, sharing, channels: Vec::new(), next_id: 0 })
    }

    /// Admits `asked`, or says why not and changes nothing.
    pub fn request(&mut self, asked: RateRequest) -> Decision {
        let bound = match self.kept_beside(&asked) {
            Ok(bound) => bound,
            Err(refusal) => return Decision::Refused(refusal),
        };
        if bound > asked.request.deadline() {
            let deficit = Deficit::Time(bound - asked.request.deadline());
            return Decision::Refused(refusal(Resource::Deadline, deficit, Claimant::Newcomer, Reason::Late));
        }
        let id = AdmissionId(self.next_id);
        self.next_id += 1;
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
        true
    }

    /// The least deadline that could be promised in place of that of `asked`.
    pub fn least_deadline(&self, asked: &RateRequest) -> Result<Span, Refusal> {
        self.kept_beside(asked)
    }

    /// Every channel's bound, in the order in which they were admitted.
    pub fn bounds(&self) -> Vec<Bound> {
        let latencies = self.order.latencies(&self.sharing);
        let own = self.sharing.flows.iter().zip(latencies).skip(self.others());
        let of = |(channel, (share, latency)): (&Channel, (&Share, Option<Latency>))| {
            let bound = bound(&channel.asked, share, latency.expect("it was admitted"));
            let service = alone(&channel.asked, share);
            Bound {
                id: channel.id,
                priority: 0,
                level: None,
                deadline: channel.asked.request.deadline(),
                bound,
                wait: bound.saturating_sub(service),
                service: service.min(bound),
                higher: Span::ZERO,
                interference: Span::ZERO,
                head_start: Span::ZERO,
            }
        };
        self.channels.iter().zip(own).map(of).collect()
    }

    /// What a channel hands on to the next link: see [`RateRequest::before`].
    pub fn handed_on(&self, asked: &RateRequest) -> Span {
        self.order.handed_on(&self.share(asked))
    }

    /// A bound in words: what others cost, and what the channel takes by itself.
    pub fn terms(asked: &RateRequest, bound: &Bound) -> (Breakdown, Breakdown) {
        let of_others = Breakdown::default().and("others between what its rate is worth", ps(bound.wait));
        let name = match asked.before {
            None => "the largest message at the rate of the contract",
            Some(_) => "its largest packet at that rate; the message was paid for before",
        };
        (of_others, Breakdown::default().and(name, ps(bound.service)))
    }

    /// The bound of `asked` beside all others, which are still in time.
    fn kept_beside(&self, asked: &RateRequest) -> Result<Span, Refusal> {
        let sharing = self.beside(asked);
        if !sharing.fits() {
            let excess = Deficit::Share(sharing.excess().max(1));
            return Err(refusal(Resource::Link, excess, Claimant::Newcomer, Reason::Overload));
        }
        let own = Channel { id: AdmissionId(self.next_id), asked: *asked };
        let all = self.channels.iter().chain([&own]);
        let latencies = self.order.latencies(&sharing);
        let flows = sharing.flows.iter().zip(latencies).skip(self.others());
        let mut last = Span::ZERO;
        for (channel, (share, latency)) in all.zip(flows) {
            let whose = match channel.id == own.id {
                true => Claimant::Newcomer,
                false => Claimant::Channel(channel.id),
            };
            let Some(latency) = latency else {
                return Err(refusal(Resource::Link, Deficit::Unbounded, whose, Reason::NoRoomInFrames));
            };
            last = bound(&channel.asked, share, latency);
            if whose != Claimant::Newcomer && last > channel.asked.request.deadline() {
                let late = Deficit::Time(last - channel.asked.request.deadline());
                return Err(refusal(Resource::Deadline, late, whose, Reason::Late));
            }
        }
        Ok(last)
    }

    /// Everybody, and `asked` last.
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
            tick: Vtick { interval: spec.min_interval, size: spec.max_message },
            burst: spec.max_message,
            largest: spec.max_message.min(self.packet),
            smallest: spec.smallest_packet(self.packet),
            level: asked.level,
        }
    }
}

fn bound(asked: &RateRequest, share: &Share, latency: Latency) -> Span {
    let bound = match asked.before {
        None => latency.of_bucket(share),
        Some(before) => latency.of_next(before, share),
    };
    bound.saturating_add(ROUNDING)
}

/// What a channel would take with a link of its own rate.
fn alone(asked: &RateRequest, share: &Share) -> Span {
    asked.before.unwrap_or_else(|| share.tick.of(share.burst))
}

fn refusal(resource: Resource, deficit: Deficit, claimant: Claimant, reason: Reason) -> Refusal {
    Refusal { resource, deficit, claimant, reason, blocked_by: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::LinkCosts;
    use crate::traffic::TrafficSpec;

    /// 1 ns a byte, packets of 1000 B.
    fn table(order: Order, without: u64) -> RateTable {
        let speed = LinkCosts::new(Span::ZERO, Span::from_ns(1));
        let sharing =
            Sharing { speed, flows: Vec::new(), without: Bytes::new(without), frame: Span::from_us(8) };
        RateTable::new(order, Bytes::new(1000), sharing).expect("it shares by rates")
    }

    fn asks(message: u64, interval: Span, deadline: Span) -> RateRequest {
        let (size, burst) = (Bytes::new(message), 3);
        let spec = TrafficSpec { max_message: size, min_message: size, burst, min_interval: interval };
        RateRequest { request: Request::new(spec, deadline).unwrap(), level: 0, before: None }
    }

    fn us(us: u64) -> Span {
        Span::from_us(us)
    }

    /// A message of 2500 B each 10 us, packets of up to 1000: 10 us and the longest packet of anybody, 1 us, or 1.5 us of best effort. Behind another such
    /// link its largest packet is worth 4 us.
    #[test]
    fn a_message_takes_its_interval_and_one_packet_of_another() {
        let asked = asks(2500, us(10), us(12));
        for (without, longest) in [(0, Span::from_us(1)), (1500, Span::from_ns(1500))] {
            let mut table = table(Order::VirtualClock, without);
            assert_eq!(table.least_deadline(&asked), Ok(us(10) + longest + ROUNDING));
            let next = RateRequest { before: Some(table.handed_on(&asked)), ..asked };
            assert_eq!(next.before, Some(us(4)));
            assert_eq!(table.least_deadline(&next), Ok(us(4) + longest + ROUNDING));
            assert!(matches!(table.request(next), Decision::Admitted { .. }));
            let (wait, service) = RateTable::terms(&next, &table.bounds()[0]);
            assert_eq!((wait.total(), service.total()), (longest + ROUNDING, us(4)));
        }
    }

    /// A quarter of the link each: four fit, and no fifth. One that is given back is there again.
    #[test]
    fn rates_are_all_that_is_reserved() {
        let mut table = table(Order::WeightedFair, 0);
        let asked = asks(2500, us(10), us(20));
        let mut admitted = Vec::new();
        for _ in 0..4 {
            let Decision::Admitted { id, .. } = table.request(asked) else { panic!("it fits") };
            admitted.push(id);
        }
        let Decision::Refused(refused) = table.request(asked) else { panic!("it does not fit") };
        assert_eq!((refused.resource, refused.reason), (Resource::Link, Reason::Overload));
        assert_eq!(refused.deficit, Deficit::Share(250_000));
        assert!(table.release(admitted[1]) && !table.release(admitted[1]));
        assert!(matches!(table.request(asked), Decision::Admitted { .. }));
        assert_eq!(table.bounds().len(), 4);
        assert!(
            table.bounds().iter().all(|bound| bound.bound == us(11) + ROUNDING && bound.service == us(10))
        );
    }

    /// Self-clocked, each other channel is a packet more to wait for: one that is admitted with just enough time is in the way of any other.
    #[test]
    fn a_newcomer_may_not_make_others_late() {
        let mut table = table(Order::SelfClocked, 0);
        let tight = asks(1000, us(10), us(10) + ROUNDING);
        let Decision::Admitted { id, bound, .. } = table.request(tight) else { panic!("it is alone") };
        assert_eq!(bound, us(10) + ROUNDING);
        let Decision::Refused(refused) = table.request(asks(1000, us(10), us(20))) else {
            panic!("one is late")
        };
        assert_eq!((refused.claimant, refused.deficit), (Claimant::Channel(id), Deficit::Time(us(1))));
        let late = asks(1000, us(10), us(9));
        let Decision::Refused(refused) = super::tests::table(Order::SelfClocked, 0).request(late) else {
            panic!()
        };
        assert_eq!((refused.reason, refused.deficit), (Reason::Late, Deficit::Time(us(1) + ROUNDING)));
    }

    /// Frames of 8 us have no room for seven of them, a packet, and one of another; they have for an eighth.
    #[test]
    fn frames_without_room_promise_nothing() {
        let table = table(Order::HierarchicalRoundRobin, 1500);
        let refused = table.least_deadline(&asks(7000, us(8), us(90))).unwrap_err();
        assert_eq!((refused.reason, refused.deficit), (Reason::NoRoomInFrames, Deficit::Unbounded));
        assert_eq!(table.least_deadline(&asks(1000, us(8), us(90))), Ok(us(24) + ROUNDING));
        assert!(RateTable::new(Order::StopAndGo, Bytes::new(1), table.sharing).is_none());
    }
}
