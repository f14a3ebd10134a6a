//! Hosts with several cores: channels placed anywhere on them, and with any link, keep the bounds
//! of [`CoresTable`].

use laxity_admission::{Caller, CoresTable, WayOut};

use super::*;

/// Where everything is: channels, those without a guarantee, and applications that compute.
struct Places<'a> {
    case: &'a Case,
    cores: u8,
    links: u8,
}

impl Places<'_> {
    fn at(&self, place: usize) -> CoreId {
        CoreId((self.case.dice[place % 60] / 7 % u32::from(self.cores)) as u8)
    }

    fn placed(&self, place: usize) -> CorePlace {
        let link = self.case.dice[(place + 10) % 60] / 11 % u32::from(self.links);
        CorePlace { core: self.at(place), link: LinkId(link as u8) }
    }

    fn channel(&self, i: usize) -> CorePlace {
        self.placed(i)
    }

    fn best_effort(&self, i: usize) -> CorePlace {
        self.placed(20 + i)
    }

    /// The links, and the cores that their adapters interrupt. One alone is the case's own, and
    /// interrupts the first core.
    fn links(&self) -> Vec<(LinkCosts, CoreId)> {
        let of = |number: u8| {
            let dice = u64::from(self.case.dice[usize::from(50 + number)]);
            let slower = u64::from(number > 0) * (dice / 5 % 3);
            let per_byte = self.case.link.per_byte.scaled(1 + slower, 1);
            let link = LinkCosts { per_byte, ..self.case.link };
            (link, if self.links == 1 { CoreId::FIRST } else { self.at(usize::from(50 + number)) })
        };
        (0..self.links).map(of).collect()
    }

    fn computing(&self, i: usize) -> CoreId {
        self.at(40 + i)
    }

    /// Cost of calls of idle cores, in one case of two; in one of three of these it is large.
    fn ipi(&self) -> Span {
        let dice = self.case.dice[61];
        let much = if (dice / 80).is_multiple_of(3) { 10 } else { 1 };
        Span::from_us(if dice.is_multiple_of(2) { u64::from(dice / 2 % 40) * much } else { 0 })
    }

    /// Whether other cores queue work for `core`: best effort there waits for buffers that they
    /// return.
    fn is_called(&self, core: CoreId) -> bool {
        let links = self.links();
        let waits = |at: CorePlace| at.core == core && links[usize::from(at.link.0)].1 != core;
        let ahead = self.case.early != EarlyPolicy::HOLD;
        (0..self.case.best_effort.len()).any(|i| waits(self.best_effort(i)))
            || ahead && (0..self.case.channels.len()).any(|i| waits(self.channel(i)))
    }

    /// The costs of `host` here. In one case of three switches dominate, and calls of the link
    /// scheduler are almost free.
    fn costs(&self, host: HostCosts) -> HostCosts {
        let host = HostCosts { ipi: self.ipi(), ..host };
        match self.case.dice[59].is_multiple_of(3) {
            true => HostCosts {
                context_switch: host.context_switch * 4 + Span::from_us(50),
                link_scheduling: host.link_scheduling / 8,
                ..host
            },
            false => host,
        }
    }

    fn table(&self) -> Option<CoresTable> {
        let case = self.case;
        let common = case.environment(Formula::Corrected);
        let of = |core: CoreId| Environment {
            host: self.costs(common.host),
            best_effort: (0..common.best_effort.len())
                .filter(|i| self.best_effort(*i).core == core)
                .map(|i| common.best_effort[i])
                .collect(),
            slice: (0..case.computing.len())
                .filter(|i| self.computing(*i) == core && case.computing[*i].budget.is_none())
                .map(|i| case.computing[i].slice)
                .max()
                .unwrap_or_default(),
            ..common.clone()
        };
        let tail = |size: &Bytes| Bytes::new((size.get() - 1) % case.packet.get() + 1);
        let way = |(number, (link, hears)): (u8, (LinkCosts, CoreId))| {
            let by = |place: CorePlace| place.link == LinkId(number);
            let specs = (0..case.channels.len()).filter(|i| by(self.channel(*i)));
            let specs = specs.map(|i| *case.request(i).spec());
            let sizes =
                specs.map(|spec| (spec.smallest_packet(case.packet), spec.largest_packet(case.packet)));
            let without = case.best_effort.iter().enumerate().filter(|(i, _)| by(self.best_effort(*i)));
            let without = without.map(|(_, size)| (tail(size), (*size).min(case.packet)));
            let sent = sizes.chain(without).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
            WayOut { link: link.into(), hears, called: self.is_called(hears), sent, buffers: None, makers: 0 }
        };
        let links: Vec<WayOut> = (0..).zip(self.links()).map(way).collect();
        let each: Vec<Environment> = (0..self.cores).map(CoreId).map(of).collect();
        let caller = Caller { core: self.at(62), is_thread: self.case.model == ResourceModel::O2 };
        CoresTable::new(&each, &links, caller).ok()
    }

    /// Admits what can be admitted, and runs it.
    fn simulate(&self) -> Option<Vec<Outcome>> {
        let case = self.case;
        let mut table = self.table()?;
        let mut computing = Vec::new();
        for (i, application) in case.computing.iter().enumerate() {
            let core = self.computing(i);
            let application = Computing { core, ..*application };
            let Some(budget) = application.budget else {
                computing.push((application, None));
                continue;
            };
            let work = ApplicationWork { time: budget.time, slice: application.slice };
            let request = Request::computing(work, budget.period, budget.deadline).expect("it is a budget");
            if let Decision::Admitted { id, .. } =
                table.request(request, CorePlace { core, link: LinkId::FIRST })
            {
                computing.push((application, Some(id)));
            }
        }
        let mut ids = Vec::new();
        for i in 0..case.channels.len() {
            if let Decision::Admitted { id, .. } = table.request(case.request(i), self.channel(i)) {
                ids.push((id, i));
            }
        }
        let bounds = table.bounds();
        let bound =
            |id: AdmissionId| bounds.iter().find(|bound| bound.id == id).expect("it was admitted").bound;
        let admitted: Vec<Admitted> = ids
            .iter()
            .map(|(id, i)| Admitted { request: case.request(*i), bound: bound(*id), priority: 0 })
            .collect();
        let computing: Vec<_> =
            computing.into_iter().map(|(application, id)| (application, id.map(bound))).collect();
        let mut config = case.config();
        config.cores = self.cores;
        config.link.core = self.at(62);
        let on = ids.iter().map(|(_, i)| self.channel(*i));
        let on: Vec<CorePlace> = on.chain((0..case.best_effort.len()).map(|i| self.best_effort(i))).collect();
        let host = self.costs(case.host());
        run_admitted(case, (host, config, &self.links()), (&admitted, &computing), &on)
    }
}

/// The same under the one schedule that the proof is about.
fn on_cores(model: ResourceModel, case: Case) -> Case {
    Case { model, schedule: Schedule::EdfByDemand, ..case }
}

fn option() -> impl Strategy<Value = ResourceModel> {
    prop_oneof![Just(ResourceModel::O1), Just(ResourceModel::O2)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8000, max_shrink_iters: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nobody_on_several_cores_exceeds_a_bound(case in case(), model in option(), cores in 1u8..5) {
        let case = on_cores(model, case);
        let outcome = Places { case: &case, cores, links: 1 }.simulate().unwrap_or_default();
        let late = outcome.iter().find(|outcome| outcome.worst > outcome.promised);
        prop_assert!(late.is_none(), "{late:?}");
    }

    #[test]
    fn nobody_on_several_cores_before_several_links_exceeds_a_bound(case in case(), model in option(), cores in 1u8..5, links in 2u8..5) {
        let case = on_cores(model, case);
        let outcome = Places { case: &case, cores, links }.simulate().unwrap_or_default();
        let late = outcome.iter().find(|outcome| outcome.worst > outcome.promised);
        prop_assert!(late.is_none(), "{late:?}");
    }
}

/// Of several hundred sets many have members, and some delay is close to its bound.
#[test]
fn the_bounds_of_several_cores_are_of_use() {
    // Of several links each start of the others counts as if it came when it disturbs most, and
    // under O2 each packet as if a block were before it.
    let least = [
        (ResourceModel::O1, 1, 600),
        (ResourceModel::O1, 3, 200),
        (ResourceModel::O2, 1, 300),
        (ResourceModel::O2, 3, 100),
    ];
    for (model, links, least) in least {
        let (mut admitted, mut closest) = (0, 0);
        for (place, case) in drawn(400).enumerate() {
            let case = on_cores(model, case);
            let places = Places { case: &case, cores: 2 + (place % 3) as u8, links };
            let outcome = places.simulate().unwrap_or_default();
            admitted += outcome.len();
            closest = outcome.iter().map(|o| percent(o.worst, o.promised)).max().unwrap_or(0).max(closest);
        }
        println!("{model:?}, {links} links: {admitted} admitted; closest to its bound {closest} %");
        assert!(
            admitted > least && closest > 70,
            "{model:?}, {links} links: {admitted} admitted; closest to its bound {closest} %"
        );
    }
}
