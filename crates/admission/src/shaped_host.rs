//! A host that hands packets over to the credit-based shapers of its adapter (IEEE 802.1Qav).
//!
//! # The problem
//!
//! The adapter has a transmit queue for each class, as a port of a switch has. A class with a shaper
//! sends while its credit is not negative. At a port frames arrive from links, which keep them apart.
//! Here a CPU makes them, and it can make messages late and several of them at once. The bound is in
//! two parts: the CPU, and the link with traffic that is shifted by the CPU.
//!
//! # The CPU
//!
//! The CPU hands each packet over as it is made, which is the first phase of [`super::handed`].
//! Completions are as far apart as transmissions, or are counted by the packets that the adapter has.
//! Neither depends on the order in which the adapter takes packets, nor on how long it keeps one. EDF
//! goes by the requested deadlines, and the demand test ([`super::demand`]) gives `R_j`: a message of
//! `j` with logical arrival `ℓ` is all with the adapter by `ℓ + R_j`. The CPU holds early messages, so
//! no packet is there before `ℓ`.
//!
//! # The link
//!
//! Logical arrivals are `I_j` apart. A message of `j` is handed over within `[ℓ, ℓ + R_j]`. A closed
//! window of length `Δ` therefore has packets of at most
//!
//! ```text
//! 1 + ⌊(Δ + R_j) / I_j⌋                                                            (1)
//! ```
//!
//! messages of `j`, of `C_j` bits each with all that surrounds packets on the link. This is the arrival
//! curve of a flow with jitter `R_j` (Le Boudec and Thiran 2001, theorem 1.4.3).
//!
//! The link is a server of [`laxity_curves`] by strict priority, the one of a port. A class with idle
//! slope `I` has the service `I t − V_max`. Its highest credit `V_max` counts one lower frame, which is
//! not preempted, and what higher classes send meanwhile (De Azua and Boyer, *Complete modelling of
//! AVB in network calculus framework*, RTNS 2014; Mohammadpour, Stai, Mohiuddin and Le Boudec, *Latency
//! and backlog bounds in time-sensitive networking with credit based shapers and asynchronous traffic
//! shaping*, ITC 2018). A class without a shaper has what the classes above it leave. Packets of a class
//! leave in the order in which they were handed over. So the horizontal deviation between the sum of (1)
//! over the class and its service bounds the wait of each packet until it begins (Bouillard, Boyer and
//! Le Corronc, *Deterministic Network Calculus*, 2018, chapter 5). With the own transmission it is `D_j`.
//! A message is through within
//!
//! ```text
//! T_j = R_j + D_j                                                                  (2)
//! ```
//!
//! of its logical arrival. `R_j` counts twice: in (1) it can bring two messages together, and in (2)
//! the second of them is itself late.
//!
//! A class of which the channels reserve more than its idle slope has no bound.
//!
//! # Room
//!
//! A packet has its buffer until it is through, by `ℓ + T_j ≤ ℓ + d_j`. The table of the CPU has the
//! requested deadlines, so it asks for buffers of all messages that are under way in `d_j`
//! ([`super::buffers`]).

use std::collections::BTreeMap;

use laxity_curves::{Bucket, Effort, Flow, QueueNetwork, Server, bounds_where};
use laxity_qos::costs::LinkCosts;
use laxity_units::{Bytes, Span};

use super::decision::{AdmissionId, AdmissionRefusal, Bound, Claimant, Decision, Deficit, Reason, Scarce};
use super::environment::{Environment, Request, ResourceModel};
use super::least::least;
use super::rated_host::Unrated;
use super::table::{AdmissionTable, Test};
use super::terms::{Breakdown, ps};

/// Every promise that such a host has made.
#[derive(Debug, Clone)]
pub struct ShapedHost {
    cpu: AdmissionTable,
    link: LinkCosts,
    packet: Bytes,
    /// The link with its shapers.
    server: Server,
    /// The channels that leave, as they asked.
    sends: BTreeMap<AdmissionId, Request>,
}

impl ShapedHost {
    /// A host without channels, of which the link is that `server`.
    pub fn new(environment: Environment, server: Server) -> Result<Self, Unrated> {
        let link = environment.link.alone().ok_or(Unrated::Order)?;
        if environment.levels.is_some() || environment.ahead || !link.startup.is_zero() {
            return Err(Unrated::Order);
        }
        let environment = Environment { model: ResourceModel::ApartHanded, ..environment };
        let packet = environment.packet;
        let cpu = AdmissionTable::with_test(environment, Test::Demand).map_err(Unrated::Environment)?;
        Ok(Self { cpu, link, packet, server, sends: BTreeMap::new() })
    }

    /// Admits `asked`, or says why not and leaves the table unchanged.
    pub fn request(&mut self, asked: Request) -> Decision {
        match self.admit(asked) {
            Ok((id, bound)) => Decision::Admitted { id, priority: 0, bound },
            Err(refusal) => Decision::Refused(refusal),
        }
    }

    fn admit(&mut self, asked: Request) -> Result<(AdmissionId, Span), AdmissionRefusal> {
        let id = match self.cpu.request(asked) {
            Decision::Admitted { id, .. } => id,
            Decision::Refused(refusal) => return Err(refusal),
        };
        if asked.is_sent() {
            self.sends.insert(id, asked);
        }
        self.kept(id).map(|bound| (id, bound)).inspect_err(|_| {
            self.release(id);
        })
    }

    /// Gives up a reservation; `false` if there is none.
    pub fn release(&mut self, id: AdmissionId) -> bool {
        self.sends.remove(&id);
        self.cpu.release(id)
    }

    /// The least deadline that could be promised in place of that of `asked`, within 0.5 %.
    ///
    /// A message that takes longer on the CPU shifts the traffic of the link, so the deadline is searched.
    pub fn least_deadline(&self, asked: &Request) -> Result<Span, AdmissionRefusal> {
        if !asked.is_sent() {
            return self.cpu.least_deadline(asked);
        }
        let kept = |deadline| self.clone().admit(asked.within(deadline)).map(|(_, bound)| bound);
        least(asked.deadline(), kept)
    }

    /// Every bound.
    pub fn bounds(&self) -> Vec<Bound> {
        let made = self.cpu.bounds_in_short();
        let through = self.through(&made);
        let of = |own: Bound| {
            let Some(asked) = self.sends.get(&own.id) else { return own };
            let through = through[&own.id].unwrap_or(Span::MAX);
            own.and_then(Span::ZERO, self.service(asked), through)
        };
        made.into_iter().map(of).collect()
    }

    /// A bound in words.
    pub fn terms(&self, asked: &Request, bound: &Bound) -> Result<(Breakdown, Breakdown), AdmissionRefusal> {
        if !asked.is_sent() {
            return Ok((self.cpu.wait_time(asked)?, self.cpu.service_time(asked)?));
        }
        let wait = Breakdown::default().and("the CPU, until all of it waits at the link", ps(bound.wait));
        let service = Breakdown::default().and("its own transmission", ps(bound.service));
        Ok((wait, service))
    }

    /// The longest packet and the shortest one of `asked`, with all that surrounds them on the link.
    fn frames(&self, asked: &Request) -> (Bytes, Bytes) {
        let spec = asked.spec();
        let longest = self.link.on_link(spec.largest_packet(self.packet));
        (longest, self.link.on_link(spec.smallest_packet(self.packet)))
    }

    /// The time of the longest packet of `asked` on the link.
    fn service(&self, asked: &Request) -> Span {
        self.link.transmit(asked.spec().largest_packet(self.packet))
    }

    /// `C_j`.
    fn message(&self, asked: &Request) -> Bytes {
        let fragmentation = asked.spec().fragmentation(self.packet);
        let full = self.link.on_link(self.packet).get().saturating_mul(fragmentation.packets() - 1);
        Bytes::new(full.saturating_add(self.link.on_link(fragmentation.last()).get()))
    }

    /// `D_j` by channel, where messages are made by these bounds; `None` if there is none.
    fn through(&self, made: &[Bound]) -> BTreeMap<AdmissionId, Option<Span>> {
        let sent: Vec<(&Bound, &Request)> =
            made.iter().filter_map(|bound| Some((bound, self.sends.get(&bound.id)?))).collect();
        let flow = |(bound, asked): &(&Bound, &Request)| {
            let (longest, shortest) = self.frames(asked);
            let (size, interval) = (self.message(asked), asked.spec().min_interval);
            let limits = vec![Bucket::Frames { size, burst: 1, interval }];
            let level = u8::try_from(asked.level().unwrap_or(0)).unwrap_or(u8::MAX);
            Flow { level, jitter: bound.bound, shortest, ..Flow::of_frames(vec![0], limits, longest) }
        };
        let network = QueueNetwork::new(vec![self.server.clone()], sent.iter().map(flow).collect())
            .expect("the link has a rate, and channels have contracts");
        let found = bounds_where(&network, Effort::default(), |_, _| false);
        let ids = sent.iter().map(|(bound, _)| bound.id);
        ids.zip(found.into_iter().map(|found| found.ok().map(|found| found.delay))).collect()
    }

    /// The bound of `newcomer`, if every channel is in time.
    fn kept(&self, newcomer: AdmissionId) -> Result<Span, AdmissionRefusal> {
        let made = self.cpu.bounds_in_short();
        let through = self.through(&made);
        let mut own = Span::MAX;
        for bound in made {
            let claimant = Claimant::of(bound.id, newcomer);
            let bounded = match through.get(&bound.id) {
                // The deadline stands for a response time that takes too long to be found.
                Some(_) if bound.bound >= bound.deadline => {
                    let (deficit, reason) = (Deficit::Unbounded, Reason::Untold);
                    return Err(AdmissionRefusal::new(Scarce::Deadline, deficit, reason, claimant));
                }
                Some(Some(through)) => bound.bound.saturating_add(*through),
                Some(None) => {
                    let (deficit, reason) = (Deficit::Unbounded, Reason::Shaped);
                    return Err(AdmissionRefusal::new(Scarce::Link, deficit, reason, claimant));
                }
                None => bound.bound,
            };
            let late = bounded.saturating_sub(bound.deadline);
            if !late.is_zero() {
                return Err(AdmissionRefusal::late(late, claimant));
            }
            if bound.id == newcomer {
                own = bounded;
            }
        }
        Ok(own)
    }
}

#[cfg(test)]
mod tests {
    use laxity_units::Rate;

    use super::*;
    use crate::tests::{decided, of_round_figures};
    use laxity_qos::channel::Role;
    use laxity_qos::traffic::TrafficSpec;

    const MBIT: u64 = 1_000_000;

    fn us(us: u64) -> Span {
        Span::from_us(us)
    }

    /// 10 us to make a packet of 1000 B, and 20 us for it on the link of 400 Mbit/s. Level 0 has an idle
    /// slope of 100 Mbit/s, and best effort packets of 500 B, 10 us.
    fn host() -> ShapedHost {
        let environment = of_round_figures(ResourceModel::ApartHanded, Span::from_ns(20));
        let link = Server::by_level(Rate::from_bits_per_sec(400 * MBIT));
        let shapers = vec![(0, Rate::from_bits_per_sec(100 * MBIT))];
        let server = Server { below: Bytes::new(500), shapers, ..link };
        ShapedHost::new(Environment { depth: u32::MAX, ..environment }, server).unwrap()
    }

    fn asks(level: u32, packets: u64, interval: Span, deadline: Span) -> Request {
        let size = Bytes::new(1000) * packets;
        let spec = TrafficSpec { max_message: size, min_message: size, burst: 1, min_interval: interval };
        Request::new(spec, deadline).unwrap().on_level(level)
    }

    fn admitted(host: &mut ShapedHost, asked: Request) -> (AdmissionId, Span) {
        decided::admitted(host.request(asked))
    }

    fn refused(host: &mut ShapedHost, asked: Request) -> AdmissionRefusal {
        let before = host.bounds();
        let refusal = decided::refused(host.request(asked));
        assert_eq!(host.bounds(), before, "a refusal leaves all as it was");
        refusal
    }

    /// `(10 + 10 n + 3) · 20/19` for `n` messages: completions are 20 us apart and take 1 of the CPU.
    fn made(messages: u64) -> Span {
        Span::from_ps((us(13 + 10 * messages).as_ps() * 20).div_ceil(19))
    }

    fn near(found: Span, by_hand: Span) {
        let off = found.saturating_sub(by_hand).max(by_hand.saturating_sub(found));
        assert!(off <= Span::from_ps(10), "{found} and not {by_hand}");
    }

    /// 10 us of best effort and 20 us for its own packet. A second message of the class waits 80 us more,
    /// in which the class earns the 8000 bits of the first.
    #[test]
    fn a_message_waits_for_the_cpu_for_a_lower_packet_and_for_credit() {
        let mut host = host();
        let asked = asks(0, 1, us(400), us(500));
        near(admitted(&mut host, asked).1, made(1) + us(30));
        let (id, bound) = admitted(&mut host, asked);
        near(bound, made(2) + us(110));
        for bound in host.bounds() {
            let (wait, service) = host.terms(&asked, &bound).unwrap();
            assert_eq!((wait.total(), service.total()), (bound.wait, us(20)));
            assert_eq!(bound.wait + bound.service + bound.higher, bound.bound);
        }
        assert!(host.release(id) && !host.release(id));
        // A message of two packets waits for the credit of its first.
        near(admitted(&mut self::host(), asks(0, 2, us(400), us(500))).1, made(2) + us(110));
    }

    /// The second level has 300 Mbit/s, less 500 B of best effort and three quarters of a packet of the
    /// first: 10 000 bits.
    #[test]
    fn a_class_without_a_shaper_has_the_rest() {
        let mut host = host();
        admitted(&mut host, asks(0, 1, us(400), us(500)));
        let (_, bound) = admitted(&mut host, asks(1, 1, us(400), us(500)));
        near(bound, made(2) + Span::from_ps(33_333_334) + us(20));
        // The first waits for a packet of the second, which is longer than best effort.
        near(host.bounds()[0].bound, made(2) + us(20) + us(20));
    }

    /// Two messages may be 80 us apart less what the CPU varies: 100 - 24.2 us. So the second waits 10 us
    /// for best effort, and the rest of the 80 us.
    #[test]
    fn messages_that_the_cpu_brings_together_wait_for_each_other() {
        let late = us(80) - (us(100) - made(1));
        let (_, bound) = admitted(&mut host(), asks(0, 1, us(100), us(200)));
        near(bound, made(1) + us(10) + late + us(20));
    }

    /// 8000 bits each 70 us are more than 100 Mbit/s. Each 100 us they are 80, and twice is too much.
    #[test]
    fn a_class_that_reserves_more_than_its_slope_has_no_bound() {
        let over = refused(&mut host(), asks(0, 1, us(70), us(500)));
        assert_eq!(
            (over.resource, over.reason, over.claimant),
            (Scarce::Link, Reason::Shaped, Claimant::Newcomer)
        );
        assert!(over.to_string().contains("host.subsystem.link.shapers"), "{over}");
        let mut host = host();
        let (first, _) = admitted(&mut host, asks(0, 1, us(100), us(500)));
        assert_eq!(refused(&mut host, asks(0, 1, us(100), us(500))).claimant, Claimant::Channel(first));
        // Another level is another class.
        admitted(&mut host, asks(1, 1, us(100), us(500)));
    }

    #[test]
    fn a_late_channel_is_named_and_the_least_deadline_is_one_that_is_kept() {
        let mut host = host();
        let (first, _) = admitted(&mut host, asks(0, 1, us(400), us(60)));
        let late = refused(&mut host, asks(0, 1, us(400), us(500)));
        assert_eq!((late.reason, late.claimant), (Reason::Late, Claimant::Channel(first)));
        assert_eq!(refused(&mut host, asks(1, 1, us(400), us(50))).claimant, Claimant::Newcomer);
        let asked = asks(0, 1, us(400), us(40));
        let least = self::host().least_deadline(&asked).unwrap();
        assert!(least >= made(1) + us(30) && least < made(1) + us(31), "{least}");
        admitted(&mut self::host(), asked.within(least));
    }

    /// A message that ends here takes 10 us of the CPU, and does not use the link.
    #[test]
    fn what_ends_here_takes_the_cpu_and_not_the_link() {
        let mut host = host();
        let (_, ends) = admitted(&mut host, asks(0, 1, us(60), us(100)).at(Role::Receive));
        assert!(ends <= us(100));
        let (_, bound) = admitted(&mut host, asks(0, 1, us(400), us(500)));
        assert!(bound < made(4) + us(30), "{bound}");
        assert_eq!(refused(&mut host, asks(0, 1, us(60), us(5)).at(Role::Receive)).reason, Reason::Late);
    }

    #[test]
    fn a_host_with_levels_or_early_work_has_no_such_table() {
        let of = |environment: Environment| {
            ShapedHost::new(environment, Server::by_level(Rate::from_bits_per_sec(MBIT))).err()
        };
        let plain = || of_round_figures(ResourceModel::ApartHanded, Span::from_ns(20));
        assert_eq!(of(plain()), None);
        assert_eq!(of(Environment { levels: Some(31), ..plain() }), Some(Unrated::Order));
        assert_eq!(of(Environment { ahead: true, ..plain() }), Some(Unrated::Order));
        let slow = LinkCosts::new(us(1), Span::from_ns(20)).into();
        assert_eq!(of(Environment { link: slow, ..plain() }), Some(Unrated::Order));
    }
}
