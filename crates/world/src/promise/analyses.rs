//! The analyses of one station that compete, each with a table of its own.
//!
//! Several proofs may cover an adapter. Arrivals are counted in several ways (`arrivals.rs`), and
//! so is the CPU time of starts and completions of packets ([`Counting`]). Each way is valid. The
//! way with the shortest bounds depends on all work of the station: one way may leave no CPU time
//! where another leaves nearly all of it. An early choice of one way refused a host at 350 times
//! the speed of its profile, and admitted the same channels at 300 and at 600 times.
//!
//! A station therefore has a table for each combination. A channel is admitted if at least one
//! table admits it beside all channels before. A table that refuses a channel is left out until the
//! channel is released. The promise is that of the table of which the bounds have the least sum:
//! EDF orders by the bounds of a station, so one analysis has to cover all its channels.
//!
//! # The bound of a single channel
//!
//! A station may go by levels, by requested deadlines, or by no deadlines at all. Its bounds then
//! order no message, and each bound holds by itself. Where all tables give the channels the same
//! order and the same levels, each channel is promised the least of their bounds.
//!
//! Under `D_order` and EDF a station orders messages by its bounds. Several tables may then have the
//! same order of channels, and the same `W` and `S` for each channel. These tables differ in the
//! work above the handlers alone. Here, too, each channel is promised the least of their bounds.
//!
//! Let `G_a` bound the work above the handlers in table `a`. Let `G(t)` be the maximum of that work
//! in any window of length `t`. `G` is subadditive, and `G ≤ G_a` for each `a`. The response times
//! under `G` are therefore no longer than those in each table. The least bounds are deadlines
//! between the response times under `G` and `I_min`, and EDF keeps all such deadlines
//! (`laxity_admission::table`).
//!
//! If no analysis lengthens a bound when a station gets better, then their combination lengthens
//! none: an analysis that admitted the channels still admits them.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use laxity_admission::{
    AdmissionId, AdmissionRefusal, Bound, Breakdown, Counting, CountingOthers, Deficit, Early, Formula, Pays,
    Request, ResourceModel,
};
use laxity_model::adapter::Notification;
use laxity_qos::channel::LinkId;
use laxity_units::Span;

use super::arrivals::Choice;
use super::asked::Asked;
use super::environment::choices_at;
use super::links::promising;
use super::moderation::{ByModeration, moderated};
use super::station::{GoesBy, Station};
use crate::coverage::{Coverage, Covered, CoveredBy, Uncovered};
use crate::experiment::Experiment;
use crate::traffic::departures::makes;

/// The way in which an analysis counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// The arrivals.
    pub arrivals: Choice,
    /// The interrupts that are counted by the moderation of the adapter.
    pub moderated: ByModeration,
    /// The CPU time of starts and completions.
    pub counting: Counting,
    /// The CPU time of those at the other links of the host.
    pub others: CountingOthers,
    /// The analysis, where one covers the station.
    pub by: Option<CoveredBy>,
    /// The link of the table, at a host with several of which guaranteed channels leave by none: each
    /// link counts packets of its own in one way, and those of the others in another.
    pub link: LinkId,
}

/// All ways in which the analyses of `node` may count.
pub(super) fn readings(
    experiment: &Experiment,
    coverage: &Coverage,
    formula: Formula,
    node: usize,
) -> Vec<Reading> {
    match coverage.of(node) {
        Ok(analyses) if node < experiment.nodes.len() && formula == Formula::Corrected => {
            analyses.iter().flat_map(|covered| readings_by(experiment, covered, node)).collect()
        }
        _ => vec![Reading::default()],
    }
}

/// All ways in which one of them may count.
fn readings_by(experiment: &Experiment, covered: &Covered, node: usize) -> Vec<Reading> {
    let by = Some(covered.by());
    let host = experiment.host(node);
    let costs = host.costs.interrupted_for_each().with_packets_of(host.subsystem.packet);
    let charged =
        [costs.interrupt, costs.link_scheduling, costs.hand_over].iter().any(|cost| !cost.is_zero());
    let made = !makes(experiment, node).is_zero();
    let mut countings = match covered.model {
        ResourceModel::Core if charged && made => vec![Counting::Time, Counting::Packets],
        ResourceModel::O1
        | ResourceModel::O2
        | ResourceModel::O3
        | ResourceModel::Apart
        | ResourceModel::Handed
        | ResourceModel::ApartHanded
            if charged && made && !covered.ahead =>
        {
            vec![Counting::Time, Counting::Packets]
        }
        _ => vec![Counting::Expected],
    };
    let polled = matches!(covered.model, ResourceModel::O1 | ResourceModel::O3 | ResourceModel::Ideal);
    if let Notification::Poll(interval) = experiment.adapter(node).notification()
        && polled
        && charged
        && covered.further.is_empty()
        && !interval.is_zero()
        && host.driver.watchdog.is_none()
    {
        countings.push(Counting::Polls(interval));
    }
    let choices = choices_at(experiment, node);
    let comes_in = choices != [Choice::Expected];
    let handed = matches!(covered.model, ResourceModel::Handed | ResourceModel::ApartHanded);
    let is_way = |way: &ByModeration| match way {
        ByModeration::Nothing => true,
        ByModeration::Arrivals => comes_in && moderated(experiment, node, *way).is_some(),
        ByModeration::All => moderated(experiment, node, *way).is_some(),
    };
    let ways = [ByModeration::Nothing, ByModeration::Arrivals, ByModeration::All];
    let ways: Vec<ByModeration> = ways.into_iter().filter(is_way).collect();
    let adapters = experiment.nodes[node].adapters.len();
    let links = if promising(experiment, node).is_empty() { adapters } else { 1 };
    let others: &[CountingOthers] = match covered.model {
        ResourceModel::Ideal | ResourceModel::O1 | ResourceModel::O2 if charged && adapters > 1 => {
            &[CountingOthers::Expected, CountingOthers::Packets]
        }
        _ => &[CountingOthers::Expected],
    };
    let mut all = Vec::with_capacity(countings.len() * others.len() * choices.len() * ways.len() * links);
    for counting in countings {
        for &others in others {
            for &arrivals in &choices {
                for link in (0..links as u8).map(LinkId) {
                    let of = |&moderated| Reading { arrivals, moderated, counting, others, by, link };
                    all.extend(ways.iter().map(of));
                }
            }
        }
    }
    // By time a start follows a completion at once.
    let by_thread = matches!(covered.model, ResourceModel::O2 | ResourceModel::O3);
    let moderates = |reading: &Reading| handed || reading.counting == Counting::Packets && !by_thread;
    all.retain(|reading| reading.moderated != ByModeration::All || moderates(reading));
    all
}

/// The tables of a station.
#[derive(Clone)]
pub(super) struct Analyses {
    all: Vec<Analysis>,
    /// Channels that were ever admitted.
    named: u64,
    /// The promises, until a channel is added or released.
    chosen: OnceCell<Chosen>,
}

/// The promises of a station.
#[derive(Clone)]
struct Chosen {
    /// The table that promises.
    promising: usize,
    /// The bounds of the channels, in the order of their names at the station, each with the table
    /// that it is from.
    bounds: Vec<(usize, Bound)>,
}

/// One table.
#[derive(Clone)]
struct Analysis {
    station: Station,
    /// The way in which it counts.
    reading: Reading,
    /// By the names of channels at the station, their names in the table.
    names: BTreeMap<AdmissionId, AdmissionId>,
    /// Channels of the station that the table refuses, and those that came since.
    missing: BTreeSet<AdmissionId>,
}

impl Analyses {
    /// Of the tables by `table` that there are of `readings`; why not, if there is none.
    pub(super) fn new(
        readings: &[Reading],
        table: impl Fn(Reading) -> Result<Station, Uncovered>,
    ) -> Result<Self, Uncovered> {
        let (mut all, mut none) = (Vec::new(), Uncovered::Station);
        for reading in readings {
            match table(*reading) {
                Ok(station) => all.push(Analysis {
                    station,
                    reading: *reading,
                    names: BTreeMap::new(),
                    missing: BTreeSet::new(),
                }),
                Err(why) => none = why,
            }
        }
        match all.is_empty() {
            true => Err(none),
            false => Ok(Self { all, named: 0, chosen: OnceCell::new() }),
        }
    }

    fn valid(&self) -> impl Iterator<Item = &Analysis> {
        self.all.iter().filter(|analysis| analysis.missing.is_empty())
    }

    /// Any table that has all channels: there is one.
    fn any(&self) -> &Station {
        let first = self.valid().next();
        &first.expect("each admitted channel left a table").station
    }

    pub(super) fn request(&mut self, asked: &Asked) -> Result<AdmissionId, AdmissionRefusal> {
        let name = AdmissionId::of_number(self.named);
        let mut answers = Vec::with_capacity(self.all.len());
        let mut refused: Option<AdmissionRefusal> = None;
        for analysis in &mut self.all {
            let answer = analysis.missing.is_empty().then(|| analysis.station.request(asked));
            if let Some(Err(refusal)) = &answer {
                let less = refused.as_ref().is_none_or(|other| severity(refusal) < severity(other));
                refused = if less { Some(analysis.renamed(*refusal)) } else { refused };
            }
            answers.push(answer.and_then(Result::ok));
        }
        if let (true, Some(refusal)) = (answers.iter().all(Option::is_none), refused) {
            return Err(refusal);
        }
        for (analysis, answer) in self.all.iter_mut().zip(answers) {
            match answer {
                Some(id) => drop(analysis.names.insert(name, id)),
                None => drop(analysis.missing.insert(name)),
            }
        }
        self.named += 1;
        self.chosen.take();
        Ok(name)
    }

    pub(super) fn release(&mut self, id: AdmissionId) -> bool {
        self.chosen.take();
        let mut released = false;
        for analysis in &mut self.all {
            let own = analysis.names.remove(&id);
            let in_table = own.is_some_and(|own| analysis.station.release(own));
            released |= analysis.missing.remove(&id) || in_table;
        }
        released
    }

    /// From now on the burst of a channel is paid for where `pays` says.
    pub(super) fn pay(&mut self, id: AdmissionId, pays: Pays) {
        self.chosen.take();
        for analysis in &mut self.all {
            if let Some(own) = analysis.names.get(&id) {
                analysis.station.pay(*own, pays);
            }
        }
    }

    /// Orders channels with levels by their deadlines.
    pub(super) fn order_by_deadline(&mut self) {
        self.chosen.take();
        self.all.iter_mut().for_each(|analysis| analysis.station.order_by_deadline());
    }

    /// From now on the messages of those channels arrive so early. Answers whether that changes a bound.
    pub(super) fn arrive(&mut self, early: &BTreeMap<AdmissionId, Early>) -> bool {
        let mut new = false;
        for analysis in &mut self.all {
            let own = |(name, early): (&AdmissionId, &Early)| Some((*analysis.names.get(name)?, *early));
            new |= analysis.station.arrive(&early.iter().filter_map(own).collect());
        }
        if new {
            self.chosen.take();
        }
        new
    }

    /// The number of copies of `asked`, at most `most`, that it would surely admit one after the
    /// other; zero where that is not known at once.
    pub(super) fn alike(&self, asked: &Asked, most: u64) -> u64 {
        self.valid().map(|analysis| analysis.station.alike(asked, most)).min().unwrap_or(0)
    }

    /// Admits `number` copies, no more than that.
    pub(super) fn request_alike(&mut self, asked: &Asked, number: u64) {
        self.chosen.take();
        for analysis in self.all.iter_mut().filter(|analysis| analysis.missing.is_empty()) {
            analysis.station.request_alike(asked, number);
        }
    }

    /// The least deadline that it would admit in place of that of `asked`.
    pub(super) fn least_deadline(&self, asked: &Asked) -> Result<Span, AdmissionRefusal> {
        let mut least: Option<Result<Span, AdmissionRefusal>> = None;
        for analysis in self.valid() {
            let own = analysis.station.least_deadline(asked).map_err(|refusal| analysis.renamed(refusal));
            let less = match (&least, &own) {
                (None, _) | (Some(Err(_)), Ok(_)) => true,
                (Some(Ok(least)), Ok(own)) => own < least,
                (Some(Err(least)), Err(own)) => severity(own) < severity(least),
                (Some(Ok(_)), Err(_)) => false,
            };
            least = if less { Some(own) } else { least };
        }
        least.expect("each admitted channel left a table")
    }

    /// The latest deadline that it considers.
    pub(super) fn latest_deadline(&self, asked: &Asked) -> Span {
        let all = self.valid().map(|analysis| analysis.station.latest_deadline(asked));
        all.max().expect("each admitted channel left a table")
    }

    /// The promises: those of the table of which the bounds have the least sum, of all that have all
    /// channels, and lower bounds of other tables where they hold beside them.
    fn chosen(&self) -> &Chosen {
        self.chosen.get_or_init(|| {
            let valid = self.all.iter().enumerate().filter(|(_, analysis)| analysis.missing.is_empty());
            let all: Vec<(usize, Vec<Bound>)> = valid.map(|(place, one)| (place, one.bounds())).collect();
            let sum = |bounds: &[Bound]| bounds.iter().map(|bound| u128::from(bound.bound.as_ps())).sum();
            let least = all.iter().min_by_key::<u128, _>(|(_, bounds)| sum(bounds));
            let (promising, own) = least.expect("each admitted channel left a table");
            let strict = self.all[*promising].station.goes_by_bounds();
            let mut bounds: Vec<(usize, Bound)> = own.iter().map(|bound| (*promising, *bound)).collect();
            for (place, others) in all.iter().filter(|(place, _)| place != promising) {
                let alike = |((_, one), other): (&(usize, Bound), &Bound)| alike(one, other, strict);
                if bounds.len() == others.len() && bounds.iter().zip(others).all(alike) {
                    for (one, other) in bounds.iter_mut().zip(others) {
                        *one = if other.bound < one.1.bound { (*place, *other) } else { *one };
                    }
                }
            }
            Chosen { promising: *promising, bounds }
        })
    }

    pub(super) fn bounds(&self) -> Vec<Bound> {
        self.chosen().bounds.iter().map(|(_, bound)| *bound).collect()
    }

    /// The table that the bound of a channel is from.
    fn of(&self, id: AdmissionId) -> &Analysis {
        let Chosen { promising, bounds } = self.chosen();
        let own = bounds.binary_search_by_key(&id, |(_, bound)| bound.id);
        &self.all[own.map_or(*promising, |own| bounds[own].0)]
    }

    /// The way in which the table counts that the bound of a channel is from.
    pub(super) fn reading(&self, id: AdmissionId) -> Reading {
        self.of(id).reading
    }

    /// `W` and `S` of an admitted request that has this bound.
    pub(super) fn terms(
        &self,
        asked: &Asked,
        bound: &Bound,
    ) -> Result<(Breakdown, Breakdown), AdmissionRefusal> {
        let analysis = self.of(bound.id);
        let id = analysis.names.get(&bound.id).copied().unwrap_or(bound.id);
        analysis.station.terms(asked, &Bound { id, ..*bound })
    }

    /// The same where a channel starts that leaves by `link`, as if it were admitted now.
    pub(super) fn terms_of(&self, request: &Request, link: LinkId) -> Option<(Breakdown, Breakdown)> {
        let terms = self.valid().filter_map(|analysis| analysis.station.terms_of(request, link));
        terms.min_by_key(|(_, service)| service.total())
    }

    /// The rest of a burst that a channel passes on to a rate-based link after this station: see
    /// [`Pays::Before`](laxity_admission::Pays).
    pub(super) fn handed_on(&self, asked: &Asked) -> Option<Span> {
        self.any().handed_on(asked)
    }

    /// By which deadlines it goes. An analysis that holds in any order leaves the choice to another.
    pub(super) fn goes_by(&self) -> GoesBy {
        let all = || self.valid().map(|analysis| analysis.station.goes_by());
        all().find(|by| *by == GoesBy::Requested).unwrap_or_else(|| self.any().goes_by())
    }

    /// Whether its tables are of channels in an order.
    pub(super) fn is_ordered(&self) -> bool {
        self.any().is_ordered()
    }

    /// Whether its bounds count early messages.
    pub(super) fn counts_early(&self) -> bool {
        self.all.iter().any(|analysis| analysis.station.counts_early())
    }

    /// Whether its tables say the least deadline without a search: those of channels in an order, those
    /// of a port by rates, and those of a host that serves messages as they arrive.
    pub(super) fn tells_at_once(&self) -> bool {
        self.is_ordered() || matches!(self.any(), Station::Rates(_) | Station::Unheld(_))
    }

    /// Whether a request checks all pairs of channels.
    pub(super) fn looks_at_pairs(&self) -> bool {
        matches!(self.any(), Station::Host(_))
    }
}

impl Analysis {
    /// The bounds of the channels, in the order of their names at the station.
    fn bounds(&self) -> Vec<Bound> {
        let bounds: BTreeMap<AdmissionId, Bound> =
            self.station.bounds().into_iter().map(|bound| (bound.id, bound)).collect();
        let of = |(name, own): (&AdmissionId, &AdmissionId)| Some(Bound { id: *name, ..*bounds.get(own)? });
        self.names.iter().filter_map(of).collect()
    }

    /// `refusal` by the names of channels at the station.
    fn renamed(&self, refusal: AdmissionRefusal) -> AdmissionRefusal {
        let name = |own: AdmissionId| {
            let named = self.names.iter().find(|(_, other)| **other == own);
            named.map_or(own, |(name, _)| *name)
        };
        refusal.named(name)
    }
}

/// Whether two bounds of a channel differ in their lengths alone; if `strict`, in the work above the
/// handlers alone.
fn alike(one: &Bound, other: &Bound, strict: bool) -> bool {
    let of = |bound: &Bound| (bound.id, bound.priority, bound.level);
    of(one) == of(other) && (!strict || (one.wait, one.service) == (other.wait, other.service))
}

/// How far a refusal is from being none: time and places can be counted, a share of all time is
/// more, and what has no end is the most.
fn severity(refusal: &AdmissionRefusal) -> (u8, u64) {
    match refusal.deficit {
        Deficit::Time(late) => (0, late.as_ps()),
        Deficit::Places(places) => (1, places),
        Deficit::Share(share) => (2, share),
        Deficit::Unbounded => (3, 0),
    }
}
