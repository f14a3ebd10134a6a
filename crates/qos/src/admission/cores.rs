//! A host with several cores that share the way out.
//!
//! # The problem
//!
//! [`super::trajectory`] follows a message backwards through link and CPU; the instant at which it changes from the one to the other has a packet made by a handler of *that* CPU. Of several cores
//! any may have made it, and what others were at is unknown: a message of theirs may have come long before, and still have packets to make. So, as in [`super::rated_host`], the two are told apart.
//! A message is made by `ℓ + R` on its core, which is a CPU by itself; from then on it waits at a link for which all cores make packets.
//!
//! What they share beside it is the link scheduler, which one core is in at a time, for `C_l`, the others spinning in turn without hearing interrupts ([`crate::channel`]). The obvious answer charges each call with a
//! section of each core (MSRP: Gai, Lipari and Di Natale 2001), and each interrupt with a call, for whatever it is about it may find a place and a packet that another core has just made. But who spins does so while another core is in there, and
//! sections are as many as packets that are started. So whatever calls, a core has to do with the link scheduler for no longer than *anybody* is in it.
//!
//! Completions are `a` apart: what the shortest packet takes, and with depth 1, where the next is started after the one before has been heard of, `C_i + C_l` more. In any `Δ` there are at most `Δ/a + 1`, and up to `D` that are
//! complete and have not been heard of; each that is heard of frees a place, and up to `D` may have been free. So there are at most `Δ/a + D + 1` starts, and one section in progress: on each core the link scheduler takes
//!
//! ```text
//! C_l (Δ/a + D + 2),   and where completions are heard of   (C_i + C_l) (Δ/a + D + 2).
//! ```
//!
//! # A core
//!
//! Let `s` and `τ` be as in [`super::trajectory`], for the messages of one core, `τ` being when the last packet of `m` waits at the link, or is through where it ends here. In `(s, τ]` the core is taken by a
//! lower block, level packets, a switch for each level block, work above the handlers, and the link scheduler, as above. With `c` for either, `α = a/(a − c)`, and all else is the first phase of [`super::handed`]. A core that sleeps is called by
//! another at most once in it, for it has work from `s` on.
//!
//! EDF goes by the deadlines asked for, those of the whole stay; the demand test says what `R` is ([`super::demand`]).
//!
//! # The link
//!
//! Let the last packet of `m` leave at `f`, and `t0` be the last instant before at which no current packet waited at the link, of whatever core; it is not after that packet came, so `t0 ≤ ℓ + R`. In `(t0, f)` only current packets
//! are selected, and each belongs to a message that was made after `t0`, so with `ℓ_j ≥ t0 − R_j`. The adapter idles
//!
//! * until packets are handed over that were selected before: `C_l`, for one core is in the link scheduler, and their transmissions, `D L_max`;
//! * then in *gaps*, in which all that it had is complete and nobody has handed over the next, each of which ends with a current packet. What is to end one is the interrupt of the last completion. Its core may be spinning or in the link scheduler: whoever is in there ends the
//!   gap within `C_l`. Then interrupts are served in the order in which they came: those before it, which find no place, or end the gap themselves; its own, `C_i`; and then it calls, and it or who is in there ends the gap within `C_l`;
//! * at `t0` the packet that came may have to wait for interrupts that its core serves before it calls, and one that turned current for the timer's: `A`, for as long as interrupts can be pending at any core.
//!
//! So `n` packets that leave in `(t0, f)` are through by `D L_max + C_l + A + Σ_n (L(n) + C_i + 2C_l) + G`, where `G` is what else interrupts that core. It is served in `(t0, f)` and came in that time, or in `Y` before, the longest
//! that interrupts can be pending there:
//!
//! ```text
//! Y = (C_i + C_l) (⌈Y/a⌉ + D + 2) + Σ_g (burst_g + ⌈Y/interval_g⌉) A_g,   A = Y, or what the same comes to at another core, without C_i
//! b = D L_max + C_l + A + Σ_j ⌈(b + R_j)/I_j⌉ Σ_n (L(n) + C_i + 2C_l) + Σ_g (burst_g + ⌈(b + Y)/interval_g⌉) A_g
//! T = R + b
//! ```
//!
//! by the argument of `rates/together.rs`. In which order current packets go does not matter, nor how many cores there are.
//!
//! # Room
//!
//! A packet has its buffer until its completion has been heard of, which is another core's business: no later than `Y` after it. So a channel is admitted if `T + Y ≤ d`, and with buffers for what is under way in `d` no handler
//! waits for one.
//!
//! # What it takes for granted
//!
//! Guaranteed messages that come in are handled by the core that the adapter interrupts, or the interrupt that brings one could be pending while its handler's core has time; who takes a message is on its handler's core; and
//! nothing is put in line for that core by others, which would call it again and again.

use std::collections::BTreeMap;

use laxity_units::{Bytes, Span};

use super::decision::{AdmissionId, Bound, Claimant, Decision, Deficit, Reason, Refusal, Resource};
use super::environment::{Above, Environment, Interference, Request, ResourceModel};
use super::least::least;
use super::rated_host::Unrated;
use super::rates::{Coming, through};
use super::table::{AdmissionTable, Test};
use super::terms::{Breakdown, ps};
use crate::channel::CoreId;
use crate::costs::{HostCosts, LinkCosts};

/// Every promise that a host with several cores has made.
#[derive(Debug, Clone)]
pub struct CoresTable {
    cores: Vec<AdmissionTable>,
    way: Way,
    reserved: BTreeMap<AdmissionId, Reserved>,
    next: u64,
}

/// What all cores share.
#[derive(Debug, Clone)]
struct Way {
    link: LinkCosts,
    packet: Bytes,
    /// `C_i + 2C_l`.
    each: Span,
    /// `D L_max + C_l + A`.
    lower: Span,
    /// `Y`.
    heard: Span,
    /// What else interrupts the core that hears of completions.
    above: Vec<Coming>,
}

#[derive(Debug, Clone, Copy)]
struct Reserved {
    core: CoreId,
    /// What it is called in the table of its core.
    there: AdmissionId,
    asked: Request,
}

impl CoresTable {
    /// A host of cores that are, each by itself, as these environments say: with what is placed there, and what is above it. The adapter interrupts core `hears`, and packets of these sizes are sent,
    /// the smallest and the largest of anybody; nothing if none are.
    pub fn new(each: &[Environment], hears: CoreId, sent: Option<(Bytes, Bytes)>) -> Result<Self, Unrated> {
        let first = each.first().ok_or(Unrated::NothingLeft)?;
        let (link, packet, depth) = (first.link.alone().ok_or(Unrated::Order)?, first.packet, first.depth);
        let HostCosts { link_scheduling: section, interrupt, ipi, .. } = first.host;
        let completion = interrupt.saturating_add(section);
        let between = if depth == 1 { completion } else { Span::ZERO };
        let apart = sent.map(|(smallest, _)| link.transmit(smallest).saturating_add(between));
        let hears_there = |place: usize| place == usize::from(hears.0);
        // `c`.
        let takes = |place: usize| if hears_there(place) { completion } else { section };
        let interference = |core: &Environment| {
            let called = Interference {
                above: Above::Interrupt,
                cost: ipi,
                adapter: Span::ZERO,
                burst: 0,
                interval: Span::MAX,
            };
            let also = Some(called).filter(|_| !ipi.is_zero());
            core.interference.iter().copied().chain(also).collect::<Vec<_>>()
        };
        let coming = |core: &Environment| {
            let interrupts = interference(core).into_iter().filter(|work| work.above == Above::Interrupt);
            let of = |work: Interference| Coming {
                service: work.cost,
                interval: work.interval,
                early: Span::ZERO,
                ahead: u64::from(work.burst),
            };
            interrupts.map(of).collect::<Vec<_>>()
        };
        if apart.is_some_and(Span::is_zero) {
            return Err(Unrated::NothingLeft);
        }
        let pending = |(place, core): (usize, &Environment)| {
            let starts = apart.map(|apart| Coming {
                service: takes(place),
                interval: apart,
                early: Span::ZERO,
                ahead: u64::from(depth) + 2,
            });
            let all: Vec<Coming> = coming(core).into_iter().chain(starts).collect();
            through(Span::ZERO, &all).ok_or(Unrated::NothingLeft)
        };
        let pending = each.iter().enumerate().map(pending).collect::<Result<Vec<Span>, _>>()?;
        let (heard, longest) =
            (pending[usize::from(hears.0)], pending.iter().copied().max().unwrap_or_default());
        let above = coming(&each[usize::from(hears.0)]);
        let largest = sent.map_or(Span::ZERO, |(_, largest)| link.transmit(largest));
        let way = Way {
            link,
            packet,
            each: completion.saturating_add(section),
            lower: largest.saturating_mul(depth.into()).saturating_add(section).saturating_add(longest),
            heard,
            above: above.into_iter().map(|work| Coming { early: heard, ..work }).collect(),
        };
        let alone = |(place, core): (usize, &Environment)| {
            let environment = Environment {
                host: HostCosts { interrupt: apart.map_or(Span::ZERO, |_| takes(place)), ..core.host },
                // Of the link a core has to know how close together completions are.
                link: LinkCosts::new(apart.unwrap_or_default(), Span::ZERO).into(),
                model: ResourceModel::Core,
                interference: interference(core),
                ..core.clone()
            };
            AdmissionTable::with_test(environment, Test::Demand).map_err(Unrated::Environment)
        };
        let cores = each.iter().enumerate().map(alone).collect::<Result<_, _>>()?;
        Ok(Self { cores, way, reserved: BTreeMap::new(), next: 0 })
    }

    /// Admits `asked` at `core`, or says why not and changes nothing.
    pub fn request(&mut self, asked: Request, core: CoreId) -> Decision {
        match self.admit(asked, core) {
            Ok((id, bound)) => Decision::Admitted { id, priority: 0, bound },
            Err(refusal) => Decision::Refused(refusal),
        }
    }

    fn admit(&mut self, asked: Request, core: CoreId) -> Result<(AdmissionId, Span), Refusal> {
        let there = match self.core(core).request(asked) {
            Decision::Admitted { id, .. } => id,
            Decision::Refused(refusal) => return Err(self.renamed(core, refusal)),
        };
        let id = AdmissionId(self.next);
        self.next += 1;
        self.reserved.insert(id, Reserved { core, there, asked });
        let kept = self.kept(id);
        if kept.is_err() {
            self.release(id);
        }
        kept.map(|bound| (id, bound))
    }

    /// Gives up a reservation; `false` if there is none.
    pub fn release(&mut self, id: AdmissionId) -> bool {
        let Some(Reserved { core, there, .. }) = self.reserved.remove(&id) else { return false };
        self.core(core).release(there)
    }

    /// The least deadline that could be promised in place of that of `asked`, within a two-hundredth.
    pub fn least_deadline(&self, asked: &Request, core: CoreId) -> Result<Span, Refusal> {
        let kept = |deadline| {
            let mut beside = self.clone();
            // Of what is asked for, whatever becomes of it: its own time, and all others' in time.
            beside.admit(asked.within(deadline), core).map(|(_, bound)| bound)
        };
        least(asked.deadline(), kept)
    }

    /// Every bound.
    pub fn bounds(&self) -> Vec<Bound> {
        let made = self.made();
        let through = self.through(&made).unwrap_or(Span::MAX);
        let of = |(id, reserved): (&AdmissionId, &Reserved)| {
            let own = Bound { id: *id, ..made[id] };
            if !reserved.asked.is_sent() {
                return own;
            }
            let bound = own.bound.saturating_add(through);
            let wait = own.bound.saturating_add(self.way.lower);
            let service = self.way.service(&reserved.asked);
            Bound {
                bound,
                wait,
                service,
                higher: bound.saturating_sub(wait).saturating_sub(service),
                interference: Span::ZERO,
                head_start: Span::ZERO,
                ..own
            }
        };
        self.reserved.iter().map(of).collect()
    }

    /// A bound in words.
    pub fn terms(&self, bound: &Bound) -> Result<(Breakdown, Breakdown), Refusal> {
        let Reserved { core, asked, .. } = &self.reserved[&bound.id];
        let table = &self.cores[usize::from(core.0)];
        if !asked.is_sent() {
            return Ok((table.wait_time(asked)?, table.service_time(asked)?));
        }
        let made = bound.wait.saturating_sub(self.way.lower);
        let wait = Breakdown::default()
            .and("its core, until all of it waits at the link", ps(made))
            .and("packets already with the adapter, and interrupts", ps(self.way.lower));
        let service = "transmission, and for each packet a completion and two turns of the link scheduler";
        Ok((wait, Breakdown::default().and(service, ps(bound.service))))
    }

    fn core(&mut self, core: CoreId) -> &mut AdmissionTable {
        &mut self.cores[usize::from(core.0)]
    }

    /// The bounds of the cores, by whose they are.
    fn made(&self) -> BTreeMap<AdmissionId, Bound> {
        let of = |table: &AdmissionTable| {
            table.bounds().into_iter().map(|bound| (bound.id, bound)).collect::<BTreeMap<_, _>>()
        };
        let cores: Vec<BTreeMap<AdmissionId, Bound>> = self.cores.iter().map(of).collect();
        let bound = |reserved: &Reserved| cores[usize::from(reserved.core.0)][&reserved.there];
        self.reserved.iter().map(|(id, reserved)| (*id, bound(reserved))).collect()
    }

    /// `b`.
    fn through(&self, made: &BTreeMap<AdmissionId, Bound>) -> Option<Span> {
        let sent = self.reserved.iter().filter(|(_, reserved)| reserved.asked.is_sent());
        let coming = sent.map(|(id, Reserved { asked, .. })| Coming {
            service: self.way.service(asked),
            interval: asked.spec().min_interval,
            early: made[id].bound,
            ahead: 0,
        });
        let all: Vec<Coming> = coming.chain(self.way.above.iter().copied()).collect();
        through(self.way.lower, &all)
    }

    /// The bound of `newcomer`, if everybody is in time.
    fn kept(&self, newcomer: AdmissionId) -> Result<Span, Refusal> {
        let refusal = |resource, deficit, reason, claimant| Refusal {
            resource,
            deficit,
            claimant,
            reason,
            blocked_by: None,
        };
        let made = self.made();
        let sends = |id: &AdmissionId| self.reserved[id].asked.is_sent();
        if !self.reserved.keys().any(sends) {
            return Ok(made[&newcomer].bound);
        }
        let none = refusal(Resource::Link, Deficit::Unbounded, Reason::Overload, Claimant::Newcomer);
        let through = self.through(&made).ok_or(none)?;
        for (id, own) in made.iter().filter(|(id, _)| sends(id)) {
            let heard = own.bound.saturating_add(through).saturating_add(self.way.heard);
            let late = heard.saturating_sub(self.reserved[id].asked.deadline());
            if !late.is_zero() {
                let claimant = if *id == newcomer { Claimant::Newcomer } else { Claimant::Channel(*id) };
                return Err(refusal(Resource::Deadline, Deficit::Time(late), Reason::Late, claimant));
            }
        }
        let own = made[&newcomer].bound;
        Ok(if sends(&newcomer) { own.saturating_add(through) } else { own })
    }

    /// A refusal of a core, with those in it as they are called here.
    fn renamed(&self, core: CoreId, refusal: Refusal) -> Refusal {
        let whose = |there: AdmissionId| {
            let is = |reserved: &Reserved| (reserved.core, reserved.there) == (core, there);
            self.reserved.iter().find(|(_, reserved)| is(reserved)).map(|(id, _)| *id)
        };
        let claimant = match refusal.claimant {
            Claimant::Newcomer => Claimant::Newcomer,
            Claimant::Channel(there) => whose(there).map_or(Claimant::Newcomer, Claimant::Channel),
        };
        Refusal { claimant, blocked_by: refusal.blocked_by.and_then(whose), ..refusal }
    }
}

impl Way {
    /// What the largest message takes in the second phase.
    fn service(&self, asked: &Request) -> Span {
        let fragmentation = asked.spec().fragmentation(self.packet);
        let packets = fragmentation.packets();
        let full = self.link.transmit(self.packet).saturating_mul(packets - 1);
        let last = self.link.transmit(fragmentation.last());
        full.saturating_add(last).saturating_add(self.each.saturating_mul(packets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::tests::of_round_figures;
    use crate::traffic::TrafficSpec;

    const SIZE: Bytes = Bytes::new(1000);

    fn us(us: u64) -> Span {
        Span::from_us(us)
    }

    fn ns(ns: u64) -> Span {
        Span::from_ns(ns)
    }

    /// 19 us for a packet on the link, so completions are 22 apart.
    fn core(interference: Vec<Interference>) -> Environment {
        Environment { interference, ..of_round_figures(ResourceModel::O1, ns(19)) }
    }

    fn table(second: Vec<Interference>) -> CoresTable {
        CoresTable::new(&[core(Vec::new()), core(second)], CoreId(0), Some((SIZE, SIZE)))
            .expect("it is a host")
    }

    fn asks(interval: u64, deadline: u64) -> Request {
        let spec = TrafficSpec { max_message: SIZE, min_message: SIZE, burst: 1, min_interval: us(interval) };
        Request::new(spec, us(deadline)).unwrap()
    }

    fn bounds(table: &CoresTable) -> Vec<Span> {
        table.bounds().into_iter().map(|bound| bound.bound).collect()
    }

    /// The second core: `α = 22/20`, and three sections of 2 in progress. A packet of its own may have been begun, 10, and is made in 10: `R = α (10 + 10 + 6)`. Interrupts are pending for `Y = 3 (1 + 3)` at most. At the link
    /// 19 + 2 for what is there, as long as that, and the packet with 1 + 2 · 2: `b = 57`. Its completion is heard of 12 later.
    #[test]
    fn a_core_and_then_the_link() {
        let mut table = table(Vec::new());
        let id = match table.request(asks(100, 98), CoreId(1)) {
            Decision::Admitted { id, bound, .. } => {
                assert_eq!(bound, ns(28_600 + 57_000));
                id
            }
            Decision::Refused(refusal) => panic!("{refusal}"),
        };
        let [bound] = table.bounds()[..] else { panic!("there is one") };
        assert_eq!((bound.id, bound.bound), (id, ns(85_600)));
        assert_eq!((bound.wait, bound.service, bound.higher), (ns(28_600 + 33_000), us(24), Span::ZERO));
        let (wait, service) = table.terms(&bound).unwrap();
        assert_eq!((wait.total(), service.total()), (bound.wait, bound.service));
        assert!(table.release(id) && !table.release(id));
        let Decision::Refused(refusal) = table.request(asks(100, 97), CoreId(1)) else {
            panic!("it is late")
        };
        assert_eq!((refusal.deficit, refusal.claimant), (Deficit::Time(ns(600)), Claimant::Newcomer));
        assert!(bounds(&table).is_empty());
    }

    /// The first core hears of completions: `α = 22/19`, and `R = α (10 + 10 + 9)`. Both are through the link in 33 + 2 · 24.
    #[test]
    fn the_core_that_is_interrupted_is_slower() {
        let mut table = table(Vec::new());
        for core in [CoreId(0), CoreId(1)] {
            assert!(matches!(table.request(asks(300, 300), core), Decision::Admitted { .. }));
        }
        assert_eq!(bounds(&table), [Span::from_ps(33_578_949) + us(81), ns(28_600) + us(81)]);
        let Decision::Refused(refusal) = table.request(asks(300, 145), CoreId(1)) else {
            panic!("a third makes all of them later")
        };
        assert_eq!((refusal.deficit, refusal.claimant), (Deficit::Time(ns(600)), Claimant::Newcomer));
        let least = table.least_deadline(&asks(300, 300), CoreId(1)).unwrap();
        assert!(matches!(table.request(asks(300, 300).within(least), CoreId(1)), Decision::Admitted { .. }));
    }

    /// Up to two with the adapter: completions are 19 apart. `α = 19/17` there, four sections in progress, `R = α (10 + 10 + 8)`; `Y = 3 (1 + 4)`, and `b = 2 · 19 + 2 + 15 + 24`.
    #[test]
    fn more_may_be_started_at_once_where_more_are_under_way() {
        let deep = Environment { depth: 2, ..core(Vec::new()) };
        let cores = vec![deep.clone(), deep];
        let mut table = CoresTable::new(&cores, CoreId(0), Some((SIZE, SIZE))).expect("it is a host");
        assert!(matches!(table.request(asks(300, 300), CoreId(1)), Decision::Admitted { .. }));
        // Each part rounded up.
        assert_eq!(bounds(&table), [Span::from_ps(2 * 11_176_471 + 8_941_177) + us(79)]);
    }

    /// A timer of 3, once on its own core, where interrupts are pending for 2 (1 + 3) + 3 then: less than 12.
    #[test]
    fn timers_are_above_the_handlers_of_their_core() {
        let mut table = table(vec![timer(3, 900)]);
        assert!(matches!(table.request(asks(100, 400), CoreId(1)), Decision::Admitted { .. }));
        assert_eq!(bounds(&table), [ns(28_600 + 3_300 + 57_000)]);
    }

    /// Messages are made up to 28.6 late, so a second of the channel may be there in 57: ⌈(57 + 28.6)/80⌉ = 2, and `b = 33 + 2 · 24`.
    #[test]
    fn messages_are_late_by_what_their_core_takes() {
        let mut table = table(Vec::new());
        assert!(matches!(table.request(asks(80, 200), CoreId(1)), Decision::Admitted { .. }));
        assert_eq!(bounds(&table), [ns(28_600 + 81_000)]);
    }

    /// A timer of 3 each 70 where completions are heard of: interrupts are pending for 12 + 3 there, and as one may have been pending for so long, there are two in 63: `b = 19 + 2 + 15 + 24 + 2 · 3`.
    #[test]
    fn interrupts_may_have_been_pending() {
        let cores = vec![core(vec![timer(3, 70)]), core(Vec::new())];
        let mut table = CoresTable::new(&cores, CoreId(0), Some((SIZE, SIZE))).expect("it is a host");
        assert!(matches!(table.request(asks(200, 400), CoreId(1)), Decision::Admitted { .. }));
        assert_eq!(bounds(&table), [ns(28_600 + 66_000)]);
    }

    fn timer(cost: u64, interval: u64) -> Interference {
        let (above, adapter) = (Above::Interrupt, Span::ZERO);
        Interference { above, cost: us(cost), adapter, burst: 0, interval: us(interval) }
    }

    /// Where interrupts take all of a core nothing is known of when completions are heard of.
    #[test]
    fn cores_that_have_no_time_have_no_table() {
        let of = |first| CoresTable::new(&[core(first), core(Vec::new())], CoreId(0), Some((SIZE, SIZE)));
        assert!(matches!(of(vec![timer(7, 7)]), Err(Unrated::NothingLeft)));
        assert!(of(Vec::new()).is_ok());
    }
}
