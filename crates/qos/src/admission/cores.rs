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
//! Completions of a link are `a` apart: what its shortest packet takes, and with depth 1, where the next is started after the one before has been heard of, `C_i + C_l` more. In any `Δ` there are at most `Δ/a + 1`, and up to `D` that are
//! complete and have not been heard of; each that is heard of frees a place, and up to `D` may have been free. So there are at most `Δ/a + D + 1` starts there, and one section in progress: on each core the link scheduler takes
//! for each link
//!
//! ```text
//! C_l (Δ/a + D + 2),   and where its completions are heard of   (C_i + C_l) (Δ/a + D + 2).
//! ```
//!
//! # A core
//!
//! Let `s` and `τ` be as in [`super::trajectory`], for the messages of one core, `τ` being when the last packet of `m` waits at the link, or is through where it ends here. In `(s, τ]` the core is taken by a
//! lower block, level packets, a switch for each level block, work above the handlers, and the link scheduler, as above. With `c` for either and the link whose completions are closest together, `α = a/(a − c)`; what starts and completions of other links take is work above the handlers, and all else is the first phase of [`super::handed`]. A core that sleeps is called by
//! another at most once in it, for it has work from `s` on.
//!
//! EDF goes by the deadlines asked for, those of the whole stay; the demand test says what `R` is ([`super::demand`]).
//!
//! # The link
//!
//! From then on a message waits at its link ([`way`]): it is through within `b` more, and `T = R + b`.
//!
//! # Room
//!
//! A packet has its buffer until its completion has been heard of, which is another core's business: no later than `Y` of that core after it. So a channel is admitted if `T + Y ≤ d`, and with buffers for what is under way in `d` no handler
//! waits for one.
//!
//! # What it takes for granted
//!
//! Guaranteed messages that come in are handled by the core that their adapter interrupts, or the interrupt that brings one could be pending while its handler's core has time; who takes a message is on its handler's core; and
//! nothing is put in line for that core by others, which would call it again and again.

mod way;

use std::collections::BTreeMap;

use laxity_units::{Bytes, Span};

use super::decision::{AdmissionId, Bound, Claimant, Decision, Deficit, Reason, Refusal, Resource};
use super::environment::{Environment, Interference, Request, ResourceModel};
use super::least::least;
use super::rated_host::Unrated;
use super::table::{AdmissionTable, Test};
use super::terms::{Breakdown, ps};
use crate::channel::{CoreId, LinkId};
use crate::costs::{HostCosts, LinkCosts};
use way::{Host, Way};

/// Every promise that a host with several cores has made.
#[derive(Debug, Clone)]
pub struct CoresTable {
    cores: Vec<AdmissionTable>,
    /// By link.
    ways: Vec<Way>,
    reserved: BTreeMap<AdmissionId, Reserved>,
    next: u64,
}

/// A link, as all cores share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WayOut {
    /// Adapter and link.
    pub link: LinkCosts,
    /// The core that the adapter interrupts.
    pub hears: CoreId,
    /// The smallest and the largest packet of anybody that leaves by it; `None` if none does.
    pub sent: Option<(Bytes, Bytes)>,
}

/// Where a channel is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The core of its handler.
    pub core: CoreId,
    /// The link that it leaves by; of what ends here, any.
    pub link: LinkId,
}

#[derive(Debug, Clone, Copy)]
struct Reserved {
    at: Place,
    /// What it is called in the table of its core.
    there: AdmissionId,
    asked: Request,
}

/// What a link comes to.
#[derive(Debug, Clone, Copy)]
struct Through {
    /// `D L_max + C_l + A`.
    lower: Span,
    /// `b`.
    all: Span,
    /// `Y` of the core that hears of completions.
    heard: Span,
}

impl CoresTable {
    /// A host of cores that are, each by itself, as these environments say: with what is placed there, and what is above it; and of these links, at least one.
    pub fn new(each: &[Environment], links: &[WayOut]) -> Result<Self, Unrated> {
        let host = Host::new(each, links).ok_or(Unrated::NothingLeft)?;
        let alone = |(place, core): (usize, &Environment)| {
            let mut starts: Vec<Interference> = host.starts(place).collect();
            starts.sort_by_key(|start| start.interval);
            let (interrupt, apart) =
                starts.first().map(|start| (start.cost, start.interval)).unwrap_or_default();
            let others = starts.into_iter().skip(1);
            let environment = Environment {
                host: HostCosts { interrupt, ..core.host },
                // Of the link a core has to know how close together completions are.
                link: LinkCosts::new(apart, Span::ZERO).into(),
                model: ResourceModel::Core,
                interference: way::interference(core).chain(others).collect(),
                others: Vec::new(),
                ..core.clone()
            };
            AdmissionTable::with_test(environment, Test::Demand).map_err(Unrated::Environment)
        };
        let cores = each.iter().enumerate().map(alone).collect::<Result<_, _>>()?;
        let ways = (0..links.len()).map(|link| host.way(link)).collect();
        Ok(Self { cores, ways, reserved: BTreeMap::new(), next: 0 })
    }

    /// Admits `asked` there, or says why not and changes nothing.
    pub fn request(&mut self, asked: Request, at: Place) -> Decision {
        match self.admit(asked, at) {
            Ok((id, bound)) => Decision::Admitted { id, priority: 0, bound },
            Err(refusal) => Decision::Refused(refusal),
        }
    }

    fn admit(&mut self, asked: Request, at: Place) -> Result<(AdmissionId, Span), Refusal> {
        let there = match self.core(at.core).request(asked) {
            Decision::Admitted { id, .. } => id,
            Decision::Refused(refusal) => return Err(self.renamed(at.core, refusal)),
        };
        let id = AdmissionId(self.next);
        self.next += 1;
        self.reserved.insert(id, Reserved { at, there, asked });
        let kept = self.kept(id);
        if kept.is_err() {
            self.release(id);
        }
        kept.map(|bound| (id, bound))
    }

    /// Gives up a reservation; `false` if there is none.
    pub fn release(&mut self, id: AdmissionId) -> bool {
        let Some(Reserved { at, there, .. }) = self.reserved.remove(&id) else { return false };
        self.core(at.core).release(there)
    }

    /// The least deadline that could be promised in place of that of `asked`, within a two-hundredth.
    pub fn least_deadline(&self, asked: &Request, at: Place) -> Result<Span, Refusal> {
        let kept = |deadline| {
            let mut beside = self.clone();
            // Of what is asked for, whatever becomes of it: its own time, and all others' in time.
            beside.admit(asked.within(deadline), at).map(|(_, bound)| bound)
        };
        least(asked.deadline(), kept)
    }

    /// Every bound.
    pub fn bounds(&self) -> Vec<Bound> {
        let made = self.made();
        let through = self.through(&made);
        let of = |(id, reserved): (&AdmissionId, &Reserved)| {
            let own = Bound { id: *id, ..made[id] };
            if !reserved.asked.is_sent() {
                return own;
            }
            let link = usize::from(reserved.at.link.0);
            let Through { lower, all, .. } = through[link].expect("whoever has not is not admitted");
            own.and_then(lower, self.ways[link].service(&reserved.asked), all)
        };
        self.reserved.iter().map(of).collect()
    }

    /// A bound in words.
    pub fn terms(&self, bound: &Bound) -> Result<(Breakdown, Breakdown), Refusal> {
        let Reserved { at, asked, .. } = &self.reserved[&bound.id];
        let table = &self.cores[usize::from(at.core.0)];
        if !asked.is_sent() {
            return Ok((table.wait_time(asked)?, table.service_time(asked)?));
        }
        let lower = self.lower(at.link).unwrap_or_default();
        let wait = Breakdown::default()
            .and("its core, until all of it waits at the link", ps(bound.wait.saturating_sub(lower)))
            .and("packets already with the adapter, and interrupts", ps(lower));
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
        let bound = |reserved: &Reserved| cores[usize::from(reserved.at.core.0)][&reserved.there];
        self.reserved.iter().map(|(id, reserved)| (*id, bound(reserved))).collect()
    }

    /// By when what waits at each link is through; nothing of links where that has no end.
    fn through(&self, made: &BTreeMap<AdmissionId, Bound>) -> Vec<Option<Through>> {
        let of = |(link, way): (u8, &Way)| {
            let lower = self.lower(LinkId(link))?;
            let sent = self.sent_by(LinkId(link)).map(|(id, reserved)| (&reserved.asked, made[id].bound));
            Some(Through { lower, all: way.through(lower, sent)?, heard: way.heard()? })
        };
        (0..).zip(&self.ways).map(of).collect()
    }

    /// `D L_max + C_l + A` of a link.
    fn lower(&self, link: LinkId) -> Option<Span> {
        let made_on = self.sent_by(link).map(|(_, reserved)| reserved.at.core);
        self.ways[usize::from(link.0)].lower(made_on)
    }

    fn sent_by(&self, link: LinkId) -> impl Iterator<Item = (&AdmissionId, &Reserved)> {
        self.sent().filter(move |(_, reserved)| reserved.at.link == link)
    }

    /// Those that leave here.
    fn sent(&self) -> impl Iterator<Item = (&AdmissionId, &Reserved)> {
        self.reserved.iter().filter(|(_, reserved)| reserved.asked.is_sent())
    }

    /// The bound of `newcomer`, if everybody is in time.
    fn kept(&self, newcomer: AdmissionId) -> Result<Span, Refusal> {
        let made = self.made();
        let through = self.through(&made);
        let mut own = made[&newcomer].bound;
        for (id, reserved) in self.sent() {
            let link = usize::from(reserved.at.link.0);
            let none = Refusal::new(Resource::Link, Deficit::Unbounded, Reason::Overload, Claimant::Newcomer);
            let Through { all, heard, .. } = through[link].ok_or(none)?;
            let through = made[id].bound.saturating_add(all);
            let late = through.saturating_add(heard).saturating_sub(reserved.asked.deadline());
            if !late.is_zero() {
                let claimant = if *id == newcomer { Claimant::Newcomer } else { Claimant::Channel(*id) };
                return Err(Refusal::new(Resource::Deadline, Deficit::Time(late), Reason::Late, claimant));
            }
            if *id == newcomer {
                own = through;
            }
        }
        Ok(own)
    }

    /// A refusal of a core, with those in it as they are called here.
    fn renamed(&self, core: CoreId, refusal: Refusal) -> Refusal {
        let whose = |there: AdmissionId| {
            let is = |reserved: &Reserved| (reserved.at.core, reserved.there) == (core, there);
            self.reserved.iter().find(|(_, reserved)| is(reserved)).map(|(id, _)| *id)
        };
        let claimant = match refusal.claimant {
            Claimant::Newcomer => Claimant::Newcomer,
            Claimant::Channel(there) => whose(there).map_or(Claimant::Newcomer, Claimant::Channel),
        };
        Refusal { claimant, blocked_by: refusal.blocked_by.and_then(whose), ..refusal }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Above;
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

    fn of(cores: &[Environment]) -> CoresTable {
        let link = cores[0].link.alone().expect("it is alone");
        let way = WayOut { link, hears: CoreId(0), sent: Some((SIZE, SIZE)) };
        CoresTable::new(cores, &[way]).expect("it is a host")
    }

    /// The handler is on that core, and what it makes leaves by the one link.
    fn on(core: u8) -> Place {
        Place { core: CoreId(core), link: LinkId::FIRST }
    }

    fn table(second: Vec<Interference>) -> CoresTable {
        of(&[core(Vec::new()), core(second)])
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
        let id = match table.request(asks(100, 98), on(1)) {
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
        let Decision::Refused(refusal) = table.request(asks(100, 97), on(1)) else { panic!("it is late") };
        assert_eq!((refusal.deficit, refusal.claimant), (Deficit::Time(ns(600)), Claimant::Newcomer));
        assert!(bounds(&table).is_empty());
    }

    /// The first core hears of completions: `α = 22/19`, and `R = α (10 + 10 + 9)`. Both are through the link in 33 + 2 · 24.
    #[test]
    fn the_core_that_is_interrupted_is_slower() {
        let mut table = table(Vec::new());
        for core in [0, 1] {
            assert!(matches!(table.request(asks(300, 300), on(core)), Decision::Admitted { .. }));
        }
        assert_eq!(bounds(&table), [Span::from_ps(33_578_949) + us(81), ns(28_600) + us(81)]);
        let Decision::Refused(refusal) = table.request(asks(300, 145), on(1)) else {
            panic!("a third makes all of them later")
        };
        assert_eq!((refusal.deficit, refusal.claimant), (Deficit::Time(ns(600)), Claimant::Newcomer));
        let least = table.least_deadline(&asks(300, 300), on(1)).unwrap();
        assert!(matches!(table.request(asks(300, 300).within(least), on(1)), Decision::Admitted { .. }));
    }

    /// Up to two with the adapter: completions are 19 apart. `α = 19/17` there, four sections in progress, `R = α (10 + 10 + 8)`; `Y = 3 (1 + 4)`, and `b = 2 · 19 + 2 + 15 + 24`.
    #[test]
    fn more_may_be_started_at_once_where_more_are_under_way() {
        let deep = Environment { depth: 2, ..core(Vec::new()) };
        let cores = vec![deep.clone(), deep];
        let mut table = of(&cores);
        assert!(matches!(table.request(asks(300, 300), on(1)), Decision::Admitted { .. }));
        // Each part rounded up.
        assert_eq!(bounds(&table), [Span::from_ps(2 * 11_176_471 + 8_941_177) + us(79)]);
    }

    /// A timer of 3, once on its own core, where interrupts are pending for 2 (1 + 3) + 3 then: less than 12.
    #[test]
    fn timers_are_above_the_handlers_of_their_core() {
        let mut table = table(vec![timer(3, 900)]);
        assert!(matches!(table.request(asks(100, 400), on(1)), Decision::Admitted { .. }));
        assert_eq!(bounds(&table), [ns(28_600 + 3_300 + 57_000)]);
    }

    /// Messages are made up to 28.6 late, so a second of the channel may be there in 57: ⌈(57 + 28.6)/80⌉ = 2, and `b = 33 + 2 · 24`.
    #[test]
    fn messages_are_late_by_what_their_core_takes() {
        let mut table = table(Vec::new());
        assert!(matches!(table.request(asks(80, 200), on(1)), Decision::Admitted { .. }));
        assert_eq!(bounds(&table), [ns(28_600 + 81_000)]);
    }

    /// A timer of 3 each 70 where completions are heard of: interrupts are pending for 12 + 3 there, and as one may have been pending for so long, there are two in 63: `b = 19 + 2 + 15 + 24 + 2 · 3`.
    #[test]
    fn interrupts_may_have_been_pending() {
        let cores = vec![core(vec![timer(3, 70)]), core(Vec::new())];
        let mut table = of(&cores);
        assert!(matches!(table.request(asks(200, 400), on(1)), Decision::Admitted { .. }));
        assert_eq!(bounds(&table), [ns(28_600 + 66_000)]);
    }

    /// A second link of 39 us a packet, whose completions are heard of where the handler is, 42 apart; those of the first are 22 apart and heard of at the other core. There `Y = 3 · 4 + 2 · 4`, and here `2 · 4 + 3 · 4`.
    /// What the first link takes here is `α = 22/20`, and of the second four completions come in 41.8: `R = α (10 + 10 + 6 + 4 · 3)`. At the link `39 + 2 + 20` for what is there, the packet with `1 + 2 · 2`, and of the first link
    /// ⌈(125 + 20)/22⌉ + 3 sections: `b = 61 + 44 + 2 · 10`. Its completion is heard of 20 later.
    #[test]
    fn links_share_the_link_scheduler() {
        let way = |time, hears| WayOut {
            link: LinkCosts::new(us(time), Span::ZERO),
            hears: CoreId(hears),
            sent: Some((SIZE, SIZE)),
        };
        let cores = [core(Vec::new()), core(Vec::new())];
        let mut table = CoresTable::new(&cores, &[way(19, 0), way(39, 1)]).expect("it is a host");
        let second = Place { core: CoreId(1), link: LinkId(1) };
        assert!(matches!(table.request(asks(300, 187), second), Decision::Admitted { .. }));
        assert_eq!(bounds(&table), [ns(41_800) + us(125)]);
        let mut table = CoresTable::new(&cores, &[way(19, 0), way(39, 1)]).expect("it is a host");
        let Decision::Refused(refusal) = table.request(asks(300, 186), second) else { panic!("it is late") };
        assert_eq!((refusal.deficit, refusal.claimant), (Deficit::Time(ns(800)), Claimant::Newcomer));
        // By the first link, of the second no more than what is started: `b = 19 + 2 + 20 + 24 + 2 (⌈(b + 20)/42⌉ + 3)`.
        assert!(matches!(table.request(asks(300, 300), on(1)), Decision::Admitted { .. }));
        assert_eq!(bounds(&table), [ns(41_800) + us(77)]);
    }

    fn timer(cost: u64, interval: u64) -> Interference {
        let (above, adapter) = (Above::Interrupt, Span::ZERO);
        Interference { above, cost: us(cost), adapter, burst: 0, interval: us(interval) }
    }

    /// Where interrupts take all of a core, nothing is promised to who is on it, or whose completions are heard of there; and everybody else is.
    #[test]
    fn a_core_that_has_no_time_is_nothing_to_others() {
        let way = |hears| WayOut {
            link: LinkCosts::new(us(19), Span::ZERO),
            hears: CoreId(hears),
            sent: Some((SIZE, SIZE)),
        };
        let cores = [core(Vec::new()), core(vec![timer(7, 7)])];
        let mut table = CoresTable::new(&cores, &[way(0), way(1)]).expect("it is a host");
        let by = |core, link| Place { core: CoreId(core), link: LinkId(link) };
        for place in [by(1, 0), by(0, 1), by(1, 1)] {
            let refused = table.request(asks(300, 300), place);
            assert!(matches!(refused, Decision::Refused(_)), "{place:?} has no time");
            assert!(table.least_deadline(&asks(300, 300), place).is_err(), "{place:?}");
        }
        assert!(matches!(table.request(asks(300, 300), by(0, 0)), Decision::Admitted { .. }));
        let refused = table.request(asks(300, 300), by(1, 0));
        assert!(matches!(refused, Decision::Refused(_)) && table.bounds().len() == 1);
        let first = [core(vec![timer(7, 7)]), core(Vec::new())];
        let mut table = CoresTable::new(&first, &[way(1)]).expect("it is a host");
        assert!(
            matches!(table.request(asks(300, 300), on(1)), Decision::Refused(_)),
            "who is early waits there"
        );
    }
}
