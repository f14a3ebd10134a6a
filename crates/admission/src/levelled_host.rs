//! A host whose CPU goes by fixed priorities, and its link by deadlines: the set-up of thesis
//! chapter 3.
//!
//! # The problem
//!
//! [`super::trajectory`] follows a message backwards through link and CPU by one order that both go
//! by. Here a message that is urgent on the CPU may be due late, and wait at the link for one that
//! was made after it. So, as in [`super::rated_host`], the two are separated. A message of `j` is
//! made by `ℓ + R_j` on the CPU, and from then on it waits at the link. The order there needs only
//! this property: *current packets go before packets that are not current*, and both before packets
//! without a guarantee.
//!
//! # The CPU
//!
//! A message is through when its last packet waits at the link. In `(s, τ]` of the argument, with
//! `τ` that instant, the CPU is taken as in [`super::o1`] or [`super::o2`]: a lower block, level
//! work with its switches, work above the handlers, and link scheduling. Neither way of counting
//! link scheduling depends on the order in which packets are started, but only on one being started
//! whenever any waits. So it is the first phase of O1 or of O2 alone. `R_j` is the response time by
//! fixed priorities as in [`super::table`], for deadlines `d_j` of the whole stay, `d_j ≤ I_j`,
//! which give the priority order. A handler that works ahead has made a message sooner.
//!
//! No handler waits for a buffer: a packet has one from when it is made until it is complete, by `ℓ
//! + T_j ≤ ℓ + d_j`, and there are buffers for what is under way in `d_j`.
//!
//! # The link
//!
//! Let the last packet of `m` leave at `f`, and `t0` be the last instant before at which no current
//! packet waited at the link. It is not after that packet arrived or turned current, so `t0 ≤ ℓ +
//! R`. From then on only current packets are selected, each as soon as there is a slot. The handler
//! that makes it selects it, or the interrupt that frees a slot or that of a timer (O1), or the
//! link scheduler's thread after a block (O2). Time behind the link scheduler is then, for every
//! `x` in `(t0, f)`, as in the second phase of [`super::o1`] and [`super::o2`] with all current
//! packets for the level ([`crate::station::window`] for an adapter of stages, whose queues go by
//! the same order as the link or by none),
//!
//! ```text
//! x − t0 < once + D (L(S) + C_i) + C_l + Σ_n (L(n) + per_start) + G(x − t0),      G(δ) ≤ Σ_g (burst_g + ⌈(δ + Y)/interval_g⌉) A_g            (1)
//! ```
//!
//! over the packets `n` selected in `(t0, x)`, with `per_start = C_l + C_i` under O1 and with the
//! block before it under O2, `G` being the work above all handlers, with what it keeps of the
//! adapter and what it costs to go back, and `Y` for how long that may have been pending at `t0`.
//! Each packet is of a message that was made, or turned current, after `t0`, so with `ℓ_j ≥ t0 −
//! R_j`, and before `x`. If no handler works ahead, `t0` is when a handler has made a packet:
//! interrupts are served before a handler goes on, so none is pending but those that a start
//! masked, `Y = C_l`. If packets turn current at the link, they do so at any time, and `Y` is how
//! long interrupts may be pending in a row, starts and completions among them (as in
//! [`super::cores`]).
//!
//! By the argument of `rates/together.rs`
//!
//! ```text
//! b = once + D (L(S) + C_i) + C_l + Σ_j ⌈(b + R_j)/I_j⌉ S_j + G(b)
//! T_j = R_j + b
//! ```
//!
//! with `S_j` what a message takes in (1). In which order current packets go does not matter, so it
//! is the same under any order that sets them before the rest; and a deadline is kept if `T_j ≤
//! d_j`. On the CPU a newcomer goes as high as the channels there tolerate it, but below each that
//! the link then makes late.

use std::collections::BTreeMap;

use laxity_units::Span;

use super::decision::{AdmissionId, AdmissionRefusal, Bound, Claimant, Decision};
use super::environment::{Above, Environment, Interference, Request, ResourceModel};
use super::least::least;
use super::o2;
use super::population::Population;
use super::rated_host::Unrated;
use super::rates::{Coming, through};
use super::table::{AdmissionTable, Test};
use super::terms::{Breakdown, ps, span};
use super::transmission::{in_adapter, message, once_behind, start};

/// Every promise that such a host has made.
#[derive(Debug, Clone)]
pub struct LevelledHost {
    cpu: AdmissionTable,
    /// The host with its link, which the CPU's table looks at from one side.
    environment: Environment,
    sends: BTreeMap<AdmissionId, Request>,
}

impl LevelledHost {
    /// A host without channels that goes by `levels` of this environment, under O1 or O2.
    pub fn new(environment: Environment) -> Result<Self, Unrated> {
        let model = match environment.model {
            ResourceModel::O1 | ResourceModel::Apart => ResourceModel::Apart,
            ResourceModel::O2 | ResourceModel::ApartByThread => ResourceModel::ApartByThread,
            _ => return Err(Unrated::Order),
        };
        let environment = Environment { model, ..environment };
        if environment.levels.is_none() {
            return Err(Unrated::Order);
        }
        let cpu =
            AdmissionTable::with_test(environment.clone(), Test::DOrder).map_err(Unrated::Environment)?;
        Ok(Self { cpu, environment, sends: BTreeMap::new() })
    }

    /// Admits `asked`, or says why not and leaves the table unchanged.
    pub fn request(&mut self, asked: Request) -> Decision {
        match self.admit(asked) {
            Ok((id, bound)) => {
                let place = self.cpu.bounds().into_iter().find(|bound| bound.id == id);
                Decision::Admitted { id, priority: place.map_or(0, |bound| bound.priority), bound }
            }
            Err(refusal) => Decision::Refused(refusal),
        }
    }

    fn admit(&mut self, asked: Request) -> Result<(AdmissionId, Span), AdmissionRefusal> {
        let at_cpu = self.at_cpu(asked)?;
        let mut highest = 0;
        loop {
            let (id, place) = match self.cpu.request_from(at_cpu, highest) {
                Decision::Admitted { id, priority, .. } => (id, priority),
                Decision::Refused(refusal) => return Err(refusal),
            };
            if asked.is_sent() {
                self.sends.insert(id, asked);
            }
            let refusal = match self.kept(id) {
                Ok(bound) => return Ok((id, bound)),
                Err(refusal) => refusal,
            };
            let late = match refusal.claimant {
                Claimant::Channel(late) => self.cpu.bounds().iter().position(|bound| bound.id == late),
                Claimant::Newcomer => None,
            };
            self.release(id);
            match late.filter(|late| *late > place) {
                Some(late) => highest = late,
                None => return Err(refusal),
            }
        }
    }

    /// The part of its deadline that `asked` leaves the CPU: the link takes `b` at the least as it
    /// is before any channel is later than now. Priorities are given out by what is left.
    fn at_cpu(&self, asked: Request) -> Result<Request, AdmissionRefusal> {
        if !asked.is_sent() || asked.deadline() > asked.spec().min_interval {
            return Ok(asked);
        }
        let all = self.population().with(&self.environment, &asked);
        let own = Coming::of(&asked, self.service(&asked, &all), Span::ZERO);
        let through = self.through_beside(&self.cpu.bounds(), &all, Some(own));
        let through = through.ok_or_else(|| AdmissionRefusal::endless(Claimant::Newcomer))?;
        let left = asked.deadline().saturating_sub(through);
        let late = through.saturating_sub(asked.deadline()).max(Span::from_ps(1));
        match left.is_zero() {
            true => Err(AdmissionRefusal::late(late, Claimant::Newcomer)),
            false => Ok(asked.within(left)),
        }
    }

    /// Gives up a reservation; `false` if there is none.
    pub fn release(&mut self, id: AdmissionId) -> bool {
        self.sends.remove(&id);
        self.cpu.release(id)
    }

    /// The least deadline that could be promised in place of that of `asked`, within a
    /// two-hundredth.
    pub fn least_deadline(&self, asked: &Request) -> Result<Span, AdmissionRefusal> {
        if !asked.is_sent() {
            return self.cpu.least_deadline(asked);
        }
        let kept = |deadline| self.clone().admit(asked.within(deadline)).map(|(_, bound)| bound);
        least(asked.deadline(), kept)
    }

    /// Every bound.
    pub fn bounds(&self) -> Vec<Bound> {
        let (made, all) = (self.cpu.bounds(), self.population());
        let lower = self.lower(&all);
        let through = self.through(&made).unwrap_or(Span::MAX);
        let of = |own: Bound| {
            let Some(asked) = self.sends.get(&own.id) else { return own };
            let own = Bound { deadline: asked.deadline(), ..own };
            own.and_then(lower.total(), self.service(asked, &all), through)
        };
        made.into_iter().map(of).collect()
    }

    /// A bound in words.
    pub fn terms(&self, asked: &Request, bound: &Bound) -> Result<(Breakdown, Breakdown), AdmissionRefusal> {
        if !asked.is_sent() {
            return Ok((self.cpu.wait_time(asked)?, self.cpu.service_time(asked)?));
        }
        let lower = self.lower(&self.population());
        let made = bound.wait.saturating_sub(lower.total());
        let wait = Breakdown::default()
            .and("the CPU, until all of it waits at the link", ps(made))
            .with(lower.terms());
        let service = Breakdown::default().and(self.environment.link.by(), ps(bound.service));
        Ok((wait, service))
    }

    /// The terms that occur once in (1), without the work above the handlers.
    fn lower(&self, all: &Population) -> Breakdown {
        let environment = &self.environment;
        let (occupied, completions) = in_adapter(environment, all);
        Breakdown::default()
            .and("packets already with the adapter", occupied)
            .and("their completions", completions)
            .with(once_behind(environment, all))
            .and("link scheduling in progress", ps(environment.host.link_scheduling))
    }

    fn population(&self) -> Population {
        let all = Population::of_best_effort(&self.environment);
        self.sends.values().fold(all, |all, asked| all.with(&self.environment, asked))
    }

    /// The part of (1) for a packet's start.
    fn per_start(&self, all: &Population) -> u128 {
        match self.environment.model {
            ResourceModel::ApartByThread => o2::per_start(&self.environment, all),
            _ if self.environment.link.has_starts() => 0,
            _ => start(&self.environment),
        }
    }

    /// `S_j` beside all these.
    fn service(&self, asked: &Request, all: &Population) -> Span {
        message(&self.environment, asked, self.per_start(all))
    }

    /// `A_g`.
    fn activation(&self, work: &Interference, all: &Population) -> Option<Span> {
        let back = work.cost.saturating_add(self.environment.host.switch()).saturating_add(work.adapter);
        Some(match self.environment.model {
            ResourceModel::ApartByThread => {
                span(o2::charges_of_cpu(&self.environment, all).ok()?.activation(work)).max(back)
            }
            _ => back,
        })
    }

    /// `Y`.
    fn pending(&self, all: &Population) -> Option<Span> {
        let Environment { host, link, interference, depth, ahead, .. } = &self.environment;
        if !ahead {
            return Some(host.link_scheduling);
        }
        let interrupts = interference.iter().filter(|work| work.above == Above::Interrupt);
        let interrupts = interrupts.map(|work| Coming::above(work, work.cost));
        let starts = Coming {
            service: span(start(&self.environment)),
            interval: link.apart(all.smallest_packet),
            early: Span::ZERO,
            ahead: u64::from(*depth) + 2,
        };
        let starts = Some(starts).filter(|starts| all.largest_packet.is_some() && !starts.interval.is_zero());
        through(Span::ZERO, &interrupts.chain(starts).collect::<Vec<_>>())
    }

    /// `b`, where messages are made by these bounds.
    fn through(&self, made: &[Bound]) -> Option<Span> {
        self.through_beside(made, &self.population(), None)
    }

    /// The same with one more.
    fn through_beside(&self, made: &[Bound], all: &Population, one: Option<Coming>) -> Option<Span> {
        let pending = self.pending(all)?;
        let sent = made.iter().filter_map(|bound| Some((bound, self.sends.get(&bound.id)?)));
        let coming = sent.map(|(bound, asked)| Coming::of(asked, self.service(asked, all), bound.bound));
        let mut coming: Vec<Coming> = coming.chain(one).collect();
        for work in &self.environment.interference {
            coming.push(Coming { early: pending, ..Coming::above(work, self.activation(work, all)?) });
        }
        through(self.lower(all).total(), &coming)
    }

    /// The bound of `newcomer`, if every channel is in time.
    fn kept(&self, newcomer: AdmissionId) -> Result<Span, AdmissionRefusal> {
        let made = self.cpu.bounds();
        let own = made.iter().find(|bound| bound.id == newcomer).map_or(Span::MAX, |bound| bound.bound);
        if self.sends.is_empty() {
            return Ok(own);
        }
        let through = self.through(&made).ok_or_else(|| AdmissionRefusal::endless(Claimant::Newcomer))?;
        for bound in made {
            let Some(asked) = self.sends.get(&bound.id) else { continue };
            let late = bound.bound.saturating_add(through).saturating_sub(asked.deadline());
            if !late.is_zero() {
                return Err(AdmissionRefusal::late(late, Claimant::of(bound.id, newcomer)));
            }
        }
        Ok(if self.sends.contains_key(&newcomer) { own.saturating_add(through) } else { own })
    }
}

#[cfg(test)]
mod tests {
    use laxity_units::Bytes;

    use super::*;
    use crate::station::{Behind, Station, StationPhase, StationStage};
    use crate::tests::{decided, of_round_figures};
    use crate::{Above, Deficit, Interference};
    use laxity_qos::channel::Role;
    use laxity_qos::traffic::TrafficSpec;

    const SIZE: Bytes = Bytes::new(1000);

    fn us(us: u64) -> Span {
        Span::from_us(us)
    }

    fn ns(ns: u64) -> Span {
        Span::from_ns(ns)
    }

    /// 20 us for a packet on the link, 10 to make one, 2 to start it and 1 to hear of its
    /// completion.
    fn host(depth: u32, interference: Vec<Interference>) -> Environment {
        let host = of_round_figures(ResourceModel::O1, Span::from_ns(20));
        Environment { depth, interference, levels: Some(31), ..host }
    }

    fn table(depth: u32, interference: Vec<Interference>) -> LevelledHost {
        LevelledHost::new(host(depth, interference)).expect("it is a host")
    }

    fn asks(packets: u64, interval: u64, deadline: u64) -> Request {
        let size = SIZE * packets;
        let spec = TrafficSpec { max_message: size, min_message: size, burst: 1, min_interval: us(interval) };
        Request::new(spec, us(deadline)).unwrap()
    }

    fn admitted(table: &mut LevelledHost, asked: Request) -> (AdmissionId, Span) {
        decided::admitted(table.request(asked))
    }

    fn late(table: &mut LevelledHost, asked: Request) -> (Deficit, Claimant) {
        let refusal = decided::refused(table.request(asked));
        (refusal.deficit, refusal.claimant)
    }

    /// `α = 23/20`; a block of its own may have been begun: `R = α (10 + 10) + 3`. At the link 20
    /// and 1 for the packet that is there, 2 for a start in progress, and 23 for its own.
    #[test]
    fn a_message_is_made_and_then_waits_for_all_that_is_current() {
        let mut table = table(1, Vec::new());
        let (id, bound) = admitted(&mut table, asks(1, 100, 100));
        assert_eq!(bound, us(26 + 23 + 23));
        let [bound] = table.bounds()[..] else { panic!("there is one") };
        assert_eq!((bound.wait, bound.service, bound.higher), (us(26 + 23), us(23), Span::ZERO));
        let (wait, service) = table.terms(&asks(1, 100, 100), &bound).unwrap();
        assert_eq!((wait.total(), service.total()), (bound.wait, bound.service));
        assert!(table.release(id) && !table.release(id));
        assert_eq!(late(&mut table, asks(1, 100, 71)), (Deficit::Time(us(1)), Claimant::Newcomer));
        assert!(table.bounds().is_empty());
        assert_eq!(table.least_deadline(&asks(1, 100, 10)), Ok(us(72)));
    }

    /// Two packets in the adapter: `R = 20/17 (10 + 10 + 3 + 1 + 4)`, two packets with their
    /// completions before, 42.
    #[test]
    fn what_is_under_way_is_waited_for() {
        let (_, bound) = admitted(&mut table(2, Vec::new()), asks(1, 200, 200));
        let made = bound.saturating_sub(us(42 + 2 + 23));
        assert!(made > us(31) && made < us(34), "{made}");
    }

    /// The link leaves the first 110 − 46 us, so `D_order` lets the second go before it on the CPU:
    /// `R = 26` and `26 + 11.5`. Before both a third would leave the first `49 + 92` of 110, and
    /// behind both `37.5 + 92`.
    #[test]
    fn a_channel_that_is_made_late_refuses_the_newcomer() {
        let mut table = table(1, Vec::new());
        let (first, _) = admitted(&mut table, asks(1, 400, 110));
        let (_, bound) = admitted(&mut table, asks(1, 400, 150));
        assert_eq!(bound, us(26 + 69));
        let bounds = |table: &LevelledHost| -> Vec<(Span, Span)> {
            table.bounds().into_iter().map(|bound| (bound.bound, bound.deadline)).collect()
        };
        let before = bounds(&table);
        assert_eq!(before, [(us(26 + 69), us(150)), (ns(37_500) + us(69), us(110))]);
        assert_eq!(
            late(&mut table, asks(1, 400, 300)),
            (Deficit::Time(ns(19_500)), Claimant::Channel(first))
        );
        assert_eq!(bounds(&table), before);
        // A message that ends here is through when the CPU is.
        let mut table = self::table(1, Vec::new());
        admitted(&mut table, asks(1, 400, 110));
        let (_, ends) = admitted(&mut table, asks(1, 400, 200).at(Role::Receive));
        assert!(ends < us(69), "{ends}");
    }

    /// The link leaves the first 100 − 46 us, so `D_order` lets the second go before it on the CPU,
    /// and then it has `37.5 + 69` of 100. Behind it the second does no harm.
    #[test]
    fn a_newcomer_goes_below_a_channel_that_the_link_makes_late() {
        let mut table = table(1, Vec::new());
        let (_, first) = admitted(&mut table, asks(1, 400, 100));
        assert_eq!(first, us(26 + 46));
        let (_, second) = admitted(&mut table, asks(1, 400, 150));
        assert_eq!(second, ns(37_500) + us(69));
        let bounds: Vec<Span> = table.bounds().into_iter().map(|bound| bound.bound).collect();
        assert_eq!(bounds, [us(26 + 69), second]);
    }

    /// Of 60 us the link takes 46, and the CPU 26.
    #[test]
    fn the_cpu_has_what_the_link_leaves() {
        let mut table = table(1, Vec::new());
        assert_eq!(late(&mut table, asks(1, 60, 60)), (Deficit::Time(us(12)), Claimant::Newcomer));
        assert_eq!(late(&mut table, asks(1, 60, 40)), (Deficit::Time(us(6)), Claimant::Newcomer));
        assert!(matches!(table.request(asks(1, 60, 70)), Decision::Refused(_)), "beyond its interval");
    }

    /// Interrupts of 4, two at once and each 200: twice on the CPU, where each is `α 4`, and three
    /// times at the link.
    #[test]
    fn work_above_the_handlers_counts_on_either_side() {
        let work = Interference {
            above: Above::Interrupt,
            cost: us(4),
            adapter: Span::ZERO,
            burst: 1,
            interval: us(200),
        };
        let (_, bound) = admitted(&mut table(1, vec![work]), asks(1, 300, 300));
        assert_eq!(bound, us(26) + ns(9200) + us(46 + 8));
    }

    /// Two stages of 10 and 20, one packet in them: 30 for each.
    #[test]
    fn the_link_may_be_an_adapter_of_stages() {
        let stage = |time| StationStage {
            phases: vec![StationPhase {
                delay: laxity_qos::costs::Delay { fixed: us(time), ..Default::default() },
                ..StationPhase::default()
            }],
            ..StationStage::default()
        };
        let behind = Behind::new(Station::of_stages(vec![stage(10), stage(20)]), 1, SIZE);
        let link = crate::station::Link::Behind(std::sync::Arc::new(behind));
        let mut table = LevelledHost::new(Environment { link, ..host(1, Vec::new()) }).unwrap();
        // `α = 33/30`.
        assert_eq!(admitted(&mut table, asks(1, 200, 200)).1, us(22 + 3) + us(30 + 1 + 2 + 33));
    }

    /// A run is 3 and is once in each block: `R = 10 + 3 + 1 + 10 + 3`. At the link each start may
    /// wait for a block, 10.
    #[test]
    fn a_thread_starts_packets_after_blocks() {
        let by_thread = Environment { model: ResourceModel::O2, ..host(1, Vec::new()) };
        let mut table = LevelledHost::new(by_thread).unwrap();
        assert_eq!(admitted(&mut table, asks(1, 200, 200)).1, us(27 + 23 + 33));
    }

    /// A timer of 4 each 300: once on the CPU, `α 4`. Interrupts may be pending for 4 and 3 starts
    /// and one more in the 13 that take 3 each, so the window of the link has at most one.
    #[test]
    fn what_turns_current_at_the_link_waits_for_interrupts() {
        let timer = Interference {
            above: Above::Interrupt,
            cost: us(4),
            adapter: Span::ZERO,
            burst: 0,
            interval: us(300),
        };
        let ahead = Environment { ahead: true, ..host(1, vec![timer]) };
        let mut table = LevelledHost::new(ahead.clone()).unwrap();
        assert_eq!(table.pending(&Population::of_best_effort(&ahead)), Some(us(4)));
        let (_, bound) = admitted(&mut table, asks(1, 300, 300));
        assert_eq!(bound, us(26) + Span::from_ns(4600) + us(46 + 4));
        assert_eq!(table.pending(&table.population()), Some(us(4 + 4 * 3)));
    }

    #[test]
    fn a_host_without_levels_has_no_such_table() {
        let none = LevelledHost::new(Environment { levels: None, ..host(1, Vec::new()) });
        assert!(matches!(none, Err(Unrated::Order)));
        let created = LevelledHost::new(Environment { model: ResourceModel::O3, ..host(1, Vec::new()) });
        assert!(matches!(created, Err(Unrated::Order)));
    }
}
