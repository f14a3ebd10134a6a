//! A host with a link that is shared by rates, while its CPU goes by deadlines.
//!
//! # The problem
//!
//! [`super::trajectory`] follows a message backwards through link and CPU by one order that both go
//! by. Where the link keeps rates apart there is no such order: a message that is urgent on the CPU
//! may wait at the link for its turn, and vice versa. So the two are separated. A message of `j` is
//! made by `ℓ + R_j` on the CPU ([`super::o1`], the first phase alone); from then on it waits at a
//! link that is as late as its order is behind `j`'s own clock. The work that they share must be
//! counted on either side: each packet takes the CPU when it is started and when it is complete.
//!
//! # The CPU
//!
//! A message is through when its last packet waits at the link. In `(s, τ]` of the argument, with
//! `τ` that instant, the CPU is taken as in [`super::o1`]: a lower block, level work with its
//! switches, work above the handlers, and link scheduling. Neither way of counting link scheduling
//! depends on the order in which packets are started, but only on one being started whenever any
//! waits (1 of [`super::counted`] with all packets for the level). EDF goes by the deadlines asked
//! for, which are those of the whole stay and usually longer than `I_min`. So the demand test gives
//! `R_j` ([`super::demand`]), whatever test was chosen for others.
//!
//! No handler waits for a buffer: a packet has one from when it is made until it is complete, by `ℓ
//! + T_j ≤ ℓ + d_j`, and there are buffers for all messages that are under way in `d_j`
//! ([`super::buffers`]).
//!
//! # The link
//!
//! The server behind the queue is the adapter and, between two packets, the CPU: it takes `C_l` to
//! start one and `C_i` when one is complete, both above all handlers. Let something with a rate
//! always wait in `(t0, f)`, where `t0` is when an item was selected or came to an empty queue.
//! Then the adapter idles during starts, completions and interrupts only, so if `n` items are
//! selected after `t0` until the one that leaves at `f`,
//!
//! ```text
//! f − t0 ≤ D (L_max + C_l + C_i) + Σ_n (L(n) + C_l + C_i) + G(f − t0),      G(δ) ≤ β + h δ             (1)
//! ```
//!
//! with up to `D` items under way at `t0`, that which was selected then included, and `G` the work
//! above all handlers, `β = Σ_g (burst_g + 1) A_g` and `h = Σ_g A_g/interval_g`. So it is a server
//! that takes
//!
//! ```text
//! X(L) = (L + C_l + C_i)/(1 − h)
//! ```
//!
//! for an item, and once `(D − 1) X(L_max) + β/(1 − h)` more than such a server (a *fluctuation
//! constrained* one: K. Lee, "Performance bounds in communication networks with variable-rate
//! links", SIGCOMM 1995). For what an order promises then, its clocks must not run by the link's
//! own speed, of which the CPU takes a part: VirtualClock stamps by the flows' rates, SCFQ and SFQ
//! by what is being served, DRR counts bytes. Their bounds count what is served from `t0` to `f`,
//! that is by `X`, and (1) turns it into time (Goyal, Vin and Cheng, "Start-time fair queueing",
//! IEEE/ACM ToN 5(5), 1997, for SFQ; Figueira and Pasquale's argument, in
//! [`VirtualClock`](laxity_qos::discipline::VirtualClock), has it in one line: `Σ_n X(n) ≤ s −
//! t0`). The fluid disciplines reckon with a link that is always there, and frames with one that is
//! there in time; they have no bound here.
//!
//! By [`super::rates`] a message that is all there by `ℓ + R_j`, `I_min` after the one before, has
//! left by
//!
//! ```text
//! T_j = R_j + I_min + α_j,   or   R_j + b,
//! ```
//!
//! where `b` is when all that have a rate are through together, each with arrivals up to `R` before
//! it has all arrived. A channel that a newcomer makes late anywhere refuses it.
//!
//! # Stages that have each packet as it is made
//!
//! Where the adapter schedules the link the CPU is not between two packets: it hands each over as a
//! handler has made it, and hears of it afterwards. The CPU has the first phase of
//! [`super::handed`], and a row of stages is behind it. `T_j` is (4) of [`crate::station::Rated`],
//! or `R_j + b` with the time that [`crate::station::Open`] takes once and for each packet, where
//! every stage separates real time from best effort.

use std::collections::BTreeMap;
use std::sync::Arc;

use laxity_units::Span;

use super::decision::{AdmissionId, AdmissionRefusal, Bound, Claimant, Decision};
use super::environment::{Environment, EnvironmentError, Interference, Request, ResourceModel};
use super::least::least;
use super::rates::{Behind, Early, Pays, RateRequest, RateTable};
use super::table::{AdmissionTable, Test};
use super::terms::{Breakdown, ps, span};
use crate::station::Rated;
use laxity_qos::channel::Role;
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::{Order, Sharing};

/// Every promise that such a host has made.
#[derive(Debug, Clone)]
pub struct RatedHost {
    cpu: AdmissionTable,
    link: RateTable,
    /// The channels of the CPU that use the link, and their identifiers there.
    sends: BTreeMap<AdmissionId, AdmissionId>,
}

/// Why a host has no such table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unrated {
    /// It is no host.
    Environment(EnvironmentError),
    /// No bound is known of such an order behind a CPU.
    Order,
    /// Work above all handlers takes all time.
    NothingLeft,
}

impl RatedHost {
    /// A host without channels; of `sharing` only those without a guarantee count, and not its
    /// speed.
    pub fn new(environment: Environment, order: Order, sharing: Sharing) -> Result<Self, Unrated> {
        if !order.goes_by_what_is_served() {
            return Err(Unrated::Order);
        }
        let server = Server::of(&environment).ok_or(Unrated::NothingLeft)?;
        let (packet, depth) = (environment.packet, environment.depth);
        let cpu = AdmissionTable::with_test(environment, Test::Demand).map_err(Unrated::Environment)?;
        let sharing = Sharing { speed: server.speed, ..sharing };
        let link = RateTable::new(order, packet, sharing).ok_or(Unrated::Order)?;
        let link = link.before(Behind { depth, once: server.once });
        Ok(Self { cpu, link, sends: BTreeMap::new() })
    }

    /// The same where each packet is handed to stages as it is made; of `sharing` as much counts.
    pub fn of_stages(environment: Environment, rated: Arc<Rated>, sharing: Sharing) -> Result<Self, Unrated> {
        let environment = Environment { model: ResourceModel::ApartHanded, ..environment };
        let packet = environment.packet;
        let cpu = AdmissionTable::with_test(environment, Test::Demand).map_err(Unrated::Environment)?;
        let link = RateTable::of_stages(rated, packet, sharing).ok_or(Unrated::Order)?;
        Ok(Self { cpu, link, sends: BTreeMap::new() })
    }

    /// Admits `asked`, or says why not and leaves the table unchanged.
    pub fn request(&mut self, asked: RateRequest) -> Decision {
        match self.admit(asked) {
            Ok((id, bound)) => Decision::Admitted { id, priority: 0, bound },
            Err(refusal) => Decision::Refused(refusal),
        }
    }

    fn admit(&mut self, asked: RateRequest) -> Result<(AdmissionId, Span), AdmissionRefusal> {
        let (id, bound) = match self.cpu.request(asked.request) {
            Decision::Admitted { id, bound, .. } => (id, bound),
            Decision::Refused(refusal) => return Err(refusal),
        };
        let (before, next) = (self.link.clone(), self.link.next());
        let sends = goes_out(&asked.request);
        if sends {
            self.sends.insert(id, next);
        }
        self.link.made_late(self.made());
        let answer = match sends {
            // A message that a CPU makes is there on time, whatever preceded it.
            true => {
                let (pays, early) = (at_first(asked.pays), Early::default());
                match self.link.request(RateRequest { pays, early, ..asked }) {
                    Decision::Admitted { bound, .. } => Ok(bound),
                    Decision::Refused(refusal) => Err(refusal),
                }
            }
            false => self.link.check().map(|()| bound),
        };
        answer.map(|bound| (id, bound)).map_err(|refusal| {
            let refusal = AdmissionRefusal { claimant: self.claimant(refusal.claimant), ..refusal };
            self.cpu.release(id);
            self.sends.remove(&id);
            self.link = before;
            refusal
        })
    }

    /// Gives up a reservation; `false` if there is none.
    pub fn release(&mut self, id: AdmissionId) -> bool {
        if let Some(at_link) = self.sends.remove(&id) {
            self.link.release(at_link);
        }
        let released = self.cpu.release(id);
        self.link.made_late(self.made());
        released
    }

    /// From now on the burst of an admitted channel is paid for where `pays` says.
    pub fn pay(&mut self, id: AdmissionId, pays: Pays) {
        if let Some(at_link) = self.sends.get(&id) {
            self.link.pay(*at_link, at_first(pays));
        }
    }

    /// The least deadline that could be promised in place of that of `asked`, within 0.5 %.
    ///
    /// A message that takes longer on the CPU is later at the link, and the order of either depends
    /// on the deadline, so the deadline is searched and not computed.
    pub fn least_deadline(&self, asked: &RateRequest) -> Result<Span, AdmissionRefusal> {
        if !goes_out(&asked.request) {
            return self.cpu.least_deadline(&asked.request);
        }
        let kept = |deadline| {
            let mut beside = self.clone();
            beside
                .admit(RateRequest { request: asked.request.within(deadline), ..*asked })
                .map(|(_, bound)| bound)
        };
        least(asked.request.deadline(), kept)
    }

    /// Every bound.
    pub fn bounds(&self) -> Vec<Bound> {
        let at_link: BTreeMap<AdmissionId, Bound> =
            self.link.bounds().into_iter().map(|bound| (bound.id, bound)).collect();
        let of = |bound: Bound| match self.sends.get(&bound.id) {
            Some(id) => Bound { id: bound.id, ..at_link[id] },
            None => bound,
        };
        self.cpu.bounds().into_iter().map(of).collect()
    }

    /// A bound in words.
    pub fn terms(
        &self,
        asked: &RateRequest,
        bound: &Bound,
    ) -> Result<(Breakdown, Breakdown), AdmissionRefusal> {
        match self.sends.get(&bound.id) {
            Some(id) => Ok(self.link.terms(asked, &Bound { id: *id, ..*bound })),
            None => Ok((self.cpu.wait_time(&asked.request)?, self.cpu.service_time(&asked.request)?)),
        }
    }

    /// The burst that a channel hands on to the next link: see [`Pays::Before`].
    pub fn handed_on(&self, asked: &RateRequest) -> Option<Span> {
        goes_out(&asked.request).then(|| self.link.handed_on(asked))
    }

    /// Per channel at the link, by when a message is made.
    fn made(&self) -> BTreeMap<AdmissionId, Span> {
        let at_link = |bound: Bound| Some((*self.sends.get(&bound.id)?, bound.bound));
        self.cpu.bounds_in_short().into_iter().filter_map(at_link).collect()
    }

    /// The claimant, by its identifier at the CPU.
    fn claimant(&self, at_link: Claimant) -> Claimant {
        let Claimant::Channel(id) = at_link else { return at_link };
        let whose = self.sends.iter().find(|(_, at_link)| **at_link == id);
        whose.map_or(at_link, |(id, _)| Claimant::Channel(*id))
    }
}

/// The place where a burst is paid for at a link behind a CPU, which is no link by rates itself.
fn at_first(pays: Pays) -> Pays {
    if pays == Pays::Everywhere { Pays::Everywhere } else { Pays::First }
}

/// Whether it goes over the link.
fn goes_out(request: &Request) -> bool {
    request.work().is_none() && request.role() != Role::Receive
}

/// The adapter and the CPU between two packets, as one server: by (1).
struct Server {
    speed: LinkCosts,
    once: Span,
}

impl Server {
    /// `None` where work above all handlers takes everything.
    fn of(environment: &Environment) -> Option<Self> {
        const PARTS: u128 = 1 << 40;
        let host = &environment.host;
        let link = environment.link.alone()?;
        let back = ps(host.switch());
        let cost = |work: &Interference| ps(work.cost) + ps(work.adapter) + back;
        let works = environment.interference.iter();
        let taken: u128 = works.clone().map(|work| (cost(work) * PARTS).div_ceil(ps(work.interval))).sum();
        let once: u128 = works.map(|work| cost(work) * (u128::from(work.burst) + 1)).sum();
        let free = PARTS.checked_sub(taken).filter(|free| *free > 0)?;
        let slowed = |time: u128| span((time * PARTS).div_ceil(free));
        let rounding = link.per_byte.rounding();
        let startup = ps(link.startup + rounding) + ps(host.link_scheduling) + ps(host.interrupt);
        let [parts, left] = [PARTS, free].map(|part| u64::try_from(part).expect("it is at most 2⁴⁰"));
        let per_byte = link.per_byte.scaled(parts, left);
        let speed = LinkCosts { startup: slowed(startup), per_byte, ..link };
        Some(Self { speed, once: slowed(once) })
    }
}

#[cfg(test)]
mod tests {
    use laxity_units::Bytes;

    use super::*;
    use crate::station::{Link, Open, StageLine, Station};
    use crate::tests::of_round_figures;
    use crate::{Above, Reason, ResourceModel};
    use laxity_qos::traffic::TrafficSpec;

    fn us(us: u64) -> Span {
        Span::from_us(us)
    }

    /// 20 us for a packet on the link.
    fn host(depth: u32, interference: Vec<Interference>) -> Environment {
        let host = of_round_figures(ResourceModel::Apart, Span::from_ns(20));
        Environment { depth, interference, ..host }
    }

    fn table(order: Order, depth: u32, interference: Vec<Interference>) -> RatedHost {
        let sharing = Sharing {
            speed: LinkCosts::default(),
            flows: Vec::new(),
            without: Bytes::ZERO,
            frame: Span::ZERO,
            groups: Vec::new(),
        };
        RatedHost::new(host(depth, interference), order, sharing).expect("it is known")
    }

    fn asks(packets: u64, interval: u64, deadline: u64) -> RateRequest {
        let size = Bytes::new(1000) * packets;
        let spec = TrafficSpec { max_message: size, min_message: size, burst: 1, min_interval: us(interval) };
        let request = Request::new(spec, us(deadline)).unwrap();
        RateRequest {
            request,
            level: 0,
            group: None,
            pays: Pays::Everywhere,
            early: Early::default(),
            whole: false,
        }
    }

    fn bounds(table: &RatedHost) -> Vec<Span> {
        table.bounds().into_iter().map(|bound| bound.bound).collect()
    }

    /// Completions are at least 20 us apart and take 3 of the CPU, so `α = 23/20`; a block of its
    /// own, 10 us, may have been begun. `R = α (10 + 10) + 3 = 26` us. A packet is 23 us for the
    /// link, and alone it waits for one, its own channel's: 23 and 23, by all arrivals; its rate
    /// alone would take 100.
    #[test]
    fn a_message_is_made_and_then_waits_for_its_rate_or_for_all() {
        let mut table = table(Order::VirtualClock, 1, Vec::new());
        let asked = asks(1, 100, 200);
        let Decision::Admitted { bound, .. } = table.request(asked) else { panic!("it fits") };
        assert_eq!(bound, us(26 + 23));
        // A message that arrives again before the link is done with the first may be there, too, and goes
        // after it.
        let mut often = self::table(Order::VirtualClock, 1, Vec::new());
        assert!(matches!(often.request(asks(1, 40, 200)), Decision::Admitted { .. }));
        assert_eq!(bounds(&often), [us(26 + 23)]);
        let terms = table.terms(&asked, &table.bounds()[0]).unwrap();
        assert_eq!((terms.0.total(), terms.1.total()), (us(26), us(23)));
        // With clocks: 26 + 100, and an item of any channel, 23.
        let first = RateRequest { pays: Pays::First, ..asked };
        let mut row = self::table(Order::VirtualClock, 1, Vec::new());
        let Decision::Admitted { bound, .. } = row.request(first) else { panic!("it fits") };
        assert_eq!(bound, us(26 + 100 + 23) + Span::from_ps(2));
        assert_eq!(row.handed_on(&first), Some(us(100)));
        // Behind another such link the CPU makes it anew, so it pays again.
        let mut next = self::table(Order::VirtualClock, 1, Vec::new());
        let again = RateRequest { pays: Pays::Before(us(5)), ..asked };
        let Decision::Admitted { bound, .. } = next.request(again) else { panic!("it fits") };
        assert_eq!(bound, us(26 + 100 + 23) + Span::from_ps(2));
    }

    /// The CPU that hands packets over is interrupted each 20 us, for 1, which three times may be
    /// pending, two and one that came in a handing over: `α = 20/19` and `R = α (10 + 10 + 3)`. A
    /// packet is 20 in the one stage, where one may be in the server: 40 for all arrivals, or 100
    /// and 20 by its rate.
    #[test]
    fn stages_that_are_handed_packets_take_nothing_of_the_cpu() {
        let of_link = Station::of_link(LinkCosts::new(Span::ZERO, Span::from_ns(20)));
        let open = Arc::new(Open::new(of_link, Bytes::new(1000)).unwrap());
        let line = StageLine::Rates(Order::VirtualClock, LinkCosts::default());
        let table = |alike| {
            let environment = Environment { link: Link::Open(open.clone()), ..host(u32::MAX, Vec::new()) };
            let rated = Rated::new(open.clone(), &[line], Span::ZERO, alike).unwrap();
            let sharing = Sharing {
                speed: LinkCosts::default(),
                flows: Vec::new(),
                without: Bytes::ZERO,
                frame: Span::ZERO,
                groups: Vec::new(),
            };
            RatedHost::of_stages(environment, Arc::new(rated), sharing).unwrap()
        };
        let made = Span::from_ps(2 * 10_526_316 + 3_157_895);
        let bound = |alike, asked| match table(alike).request(asked) {
            Decision::Admitted { bound, .. } => bound,
            Decision::Refused(refusal) => panic!("{refusal:?}"),
        };
        assert_eq!(bound(true, asks(1, 100, 200)), made + us(40));
        assert_eq!(bound(false, asks(1, 100, 200)), made + us(120) + Span::from_ps(2));
        // Twice as much as its interval has.
        let refused = table(true).request(asks(6, 100, 900));
        assert!(matches!(refused, Decision::Refused(_)), "{refused:?}");
    }

    /// With two packets in the adapter there may be two before: `R` counts completions closer, and
    /// the link 23 more.
    #[test]
    fn what_is_under_way_is_waited_for() {
        let [one, two] = [1, 2].map(|depth| {
            let mut table = table(Order::SelfClocked, depth, Vec::new());
            let first = RateRequest { pays: Pays::First, ..asks(1, 100, 300) };
            assert!(matches!(table.request(first), Decision::Admitted { .. }));
            let made = table.made().into_values().next().unwrap();
            bounds(&table)[0].saturating_sub(made)
        });
        assert_eq!(two - one, us(23));
    }

    /// Work above everything takes a fifth of the CPU, 4 us each 20, so a packet is 23/0.8 for the
    /// link, and once (4 + 4)/0.8 for what is begun.
    #[test]
    fn what_takes_the_cpu_takes_the_link() {
        let work = Interference {
            above: Above::Interrupt,
            cost: us(4),
            adapter: Span::ZERO,
            burst: 1,
            interval: us(20),
        };
        let server = Server::of(&host(1, vec![work])).unwrap();
        let close = |found: Span, us: f64| (found.as_secs_f64() * 1e6 - us).abs() < 2e-3;
        assert!(close(server.speed.transmit(Bytes::new(1000)), 23.0 / 0.8), "{:?}", server.speed);
        assert!(close(server.once, 10.0), "{}", server.once);
        assert!(Server::of(&host(1, vec![Interference { interval: us(4), ..work }])).is_none());
    }

    /// The second has the same deadline and may be made first, which leaves the first 15 us less:
    /// it had 49 of 50, and refuses.
    #[test]
    fn who_is_made_late_refuses_the_newcomer_and_all_is_as_before() {
        let mut table = table(Order::StartTimeFair, 1, Vec::new());
        let Decision::Admitted { id, .. } = table.request(asks(1, 100, 50)) else { panic!("it fits") };
        let before = bounds(&table);
        let Decision::Refused(refused) = table.request(asks(1, 100, 50)) else { panic!("both are late") };
        assert_eq!((refused.claimant, refused.reason), (Claimant::Channel(id), Reason::Late));
        assert_eq!(bounds(&table), before);
        let least = table.least_deadline(&asks(1, 100, 50));
        assert!(least.is_err(), "no deadline of its own helps the first: {least:?}");
        assert!(table.release(id) && !table.release(id));
        assert_eq!(table.least_deadline(&asks(1, 100, 10)), Ok(us(49)));
        assert!(matches!(table.request(asks(1, 100, 50)), Decision::Admitted { .. }));
        // A message that only ends here takes CPU time, is in time itself, and makes the sender
        // late, too.
        let ends = RateRequest { request: asks(1, 100, 45).request.at(Role::Receive), ..asks(1, 100, 45) };
        let Decision::Refused(refused) = table.request(ends) else { panic!("the other is late") };
        assert!(matches!(refused.claimant, Claimant::Channel(_)), "{refused:?}");
        assert_eq!(bounds(&table), before);
        assert!(matches!(table.request(asks(1, 30, 900)), Decision::Refused(_)), "the link is full");
    }

    /// The deadline found is admitted, and a hundredth less is refused, whatever was asked for.
    #[test]
    fn the_least_deadline_is_the_least() {
        for order in [Order::VirtualClock, Order::SelfClocked, Order::StartTimeFair, Order::DeficitRoundRobin]
        {
            for others in 0..4 {
                let mut table = table(order, 1 + others % 2, Vec::new());
                for other in 0..u64::from(others) {
                    assert!(matches!(
                        table.request(asks(1, 400 + 90 * other, 390)),
                        Decision::Admitted { .. }
                    ));
                }
                for (packets, interval) in [(1, 500), (2, 900), (3, 700)] {
                    let due = |due: Span| RateRequest {
                        request: asks(packets, interval, 1).request.within(due),
                        ..asks(packets, interval, 1)
                    };
                    for asked in [1, 30, 10_000] {
                        let least = table.least_deadline(&due(us(asked))).unwrap();
                        let refused = |by| matches!(table.clone().request(due(by)), Decision::Refused(_));
                        assert!(!refused(least), "{order:?} {others} {packets}: {least}");
                        assert!(refused(least - least / 100), "{order:?} {others} {packets}: {least}");
                    }
                }
            }
        }
    }

    #[test]
    fn orders_that_reckon_with_the_link_have_no_such_table() {
        let sharing = || Sharing {
            speed: LinkCosts::default(),
            flows: Vec::new(),
            without: Bytes::ZERO,
            frame: Span::ZERO,
            groups: Vec::new(),
        };
        for order in [Order::WeightedFair, Order::RateControlled, Order::MultiClassEdf] {
            let none = RatedHost::new(host(1, Vec::new()), order, sharing());
            assert!(matches!(none, Err(Unrated::Order)), "{order:?}");
        }
    }
}
