//! The table of one station. The station is a host or port by deadlines or levels, a host with
//! several links, a port with a rate-based link, a host with such a link, a host of which the CPU
//! goes by levels and its link by deadlines, a host with launch times or shapers, a host that serves messages
//! as they arrive, or a host with several cores.

use std::collections::BTreeMap;

use laxity_admission::{
    AdmissionId, AdmissionRefusal, AdmissionTable, Bound, Breakdown, CoresTable, Decision, Early,
    LaunchedHost, LevelledHost, Pays, RateTable, RatedHost, Request, ShapedHost, Test, UnheldHost,
};
use laxity_qos::channel::LinkId;
use laxity_units::Span;

use super::asked::Asked;
use super::links::Links;

/// The promises of a station.
#[derive(Clone)]
pub(super) enum Station {
    /// CPU and link by EDF, or by fixed priorities.
    Ordered(Box<AdmissionTable>),
    /// The same with several links.
    Several(Links),
    /// A link by rates.
    Rates(Box<RateTable>),
    /// A CPU by EDF, and its link by rates.
    Host(Box<RatedHost>),
    /// A CPU by fixed priorities, and its link by EDF.
    Levelled(Box<LevelledHost>),
    /// A CPU by EDF that hands packets over ahead of their launch times.
    Launched(Box<LaunchedHost>),
    /// A CPU by EDF that hands packets over to credit-based shapers.
    Shaped(Box<ShapedHost>),
    /// A CPU and a link that serve messages as they arrive.
    Unheld(Box<UnheldHost>),
    /// Several cores by EDF, and their links.
    Cores(Box<CoresTable>),
}

impl Station {
    pub(super) fn request(&mut self, asked: &Asked) -> Result<AdmissionId, AdmissionRefusal> {
        let decision = match self {
            Station::Ordered(table) => table.request(asked.rate.request),
            Station::Several(links) => return links.request(asked),
            Station::Rates(table) => table.request(asked.rate),
            Station::Host(table) => table.request(asked.rate),
            Station::Levelled(table) => table.request(asked.rate.request),
            Station::Launched(table) => table.request(asked.rate.request),
            Station::Shaped(table) => table.request(asked.rate.request),
            Station::Unheld(table) => table.request(asked.rate),
            Station::Cores(table) => table.request(asked.rate.request, asked.place()),
        };
        match decision {
            Decision::Admitted { id, .. } => Ok(id),
            Decision::Refused(refusal) => Err(refusal),
        }
    }

    /// The number of copies of `asked`, at most `most`, that it would surely admit one after the
    /// other; zero where that is not known at once.
    pub(super) fn alike(&self, asked: &Asked, most: u64) -> u64 {
        match self {
            Station::Ordered(table) => table.alike(&asked.rate.request, most),
            Station::Several(_)
            | Station::Rates(_)
            | Station::Host(_)
            | Station::Levelled(_)
            | Station::Launched(_)
            | Station::Shaped(_)
            | Station::Unheld(_)
            | Station::Cores(_) => 0,
        }
    }

    /// Admits `number` copies, no more than that.
    pub(super) fn request_alike(&mut self, asked: &Asked, number: u64) {
        match self {
            Station::Ordered(table) => table.request_alike(asked.rate.request, number),
            Station::Several(_)
            | Station::Rates(_)
            | Station::Host(_)
            | Station::Levelled(_)
            | Station::Launched(_)
            | Station::Shaped(_)
            | Station::Unheld(_)
            | Station::Cores(_) => assert_eq!(number, 0, "nothing is told at once here"),
        }
    }

    pub(super) fn release(&mut self, id: AdmissionId) -> bool {
        match self {
            Station::Ordered(table) => table.release(id),
            Station::Several(links) => links.release(id),
            Station::Rates(table) => table.release(id),
            Station::Host(table) => table.release(id),
            Station::Levelled(table) => table.release(id),
            Station::Launched(table) => table.release(id),
            Station::Shaped(table) => table.release(id),
            Station::Unheld(table) => table.release(id),
            Station::Cores(table) => table.release(id),
        }
    }

    /// From now on the burst of a channel is paid for where `pays` says.
    pub(super) fn pay(&mut self, id: AdmissionId, pays: Pays) {
        match self {
            Station::Rates(table) => table.pay(id, pays),
            Station::Host(table) => table.pay(id, pays),
            Station::Ordered(_)
            | Station::Several(_)
            | Station::Levelled(_)
            | Station::Launched(_)
            | Station::Shaped(_)
            | Station::Unheld(_)
            | Station::Cores(_) => {}
        }
    }

    /// From now on the messages of those channels arrive so early. Answers whether that changes a bound.
    pub(super) fn arrive(&mut self, early: &BTreeMap<AdmissionId, Early>) -> bool {
        match self {
            Station::Rates(table) => table.arrive(early),
            Station::Unheld(table) => table.arrive(early),
            Station::Ordered(_)
            | Station::Several(_)
            | Station::Host(_)
            | Station::Levelled(_)
            | Station::Launched(_)
            | Station::Shaped(_)
            | Station::Cores(_) => false,
        }
    }

    /// Orders channels with levels by their deadlines, where one table has all of them.
    pub(super) fn order_by_deadline(&mut self) {
        if let Station::Ordered(table) = self {
            table.order_by_deadline();
        }
    }

    /// The least deadline that it would admit in place of that of `asked`.
    pub(super) fn least_deadline(&self, asked: &Asked) -> Result<Span, AdmissionRefusal> {
        match self {
            Station::Ordered(table) => table.least_deadline(&asked.rate.request),
            Station::Several(links) => links.least_deadline(asked),
            Station::Rates(table) => table.least_deadline(&asked.rate),
            Station::Host(table) => table.least_deadline(&asked.rate),
            Station::Levelled(table) => table.least_deadline(&asked.rate.request),
            Station::Launched(table) => table.least_deadline(&asked.rate.request),
            Station::Shaped(table) => table.least_deadline(&asked.rate.request),
            Station::Unheld(table) => table.least_deadline(&asked.rate),
            Station::Cores(table) => table.least_deadline(&asked.rate.request, asked.place()),
        }
    }

    /// The latest deadline that it considers.
    pub(super) fn latest_deadline(&self, asked: &Asked) -> Span {
        if let Station::Levelled(_) = self {
            return asked.rate.request.spec().min_interval;
        }
        match self.by_order(asked.link).is_none_or(AdmissionTable::reaches_beyond_interval) {
            true => Span::MAX,
            false => asked.rate.request.spec().min_interval,
        }
    }

    pub(super) fn bounds(&self) -> Vec<Bound> {
        match self {
            Station::Ordered(table) => table.bounds(),
            Station::Several(links) => links.bounds(),
            Station::Rates(table) => table.bounds(),
            Station::Host(table) => table.bounds(),
            Station::Levelled(table) => table.bounds(),
            Station::Launched(table) => table.bounds(),
            Station::Shaped(table) => table.bounds(),
            Station::Unheld(table) => table.bounds(),
            Station::Cores(table) => table.bounds(),
        }
    }

    /// `W` and `S` of an admitted request that has this bound.
    pub(super) fn terms(
        &self,
        asked: &Asked,
        bound: &Bound,
    ) -> Result<(Breakdown, Breakdown), AdmissionRefusal> {
        let request = &asked.rate.request;
        match self {
            Station::Ordered(table) => table.terms(request, bound),
            Station::Several(links) => links.terms(asked, bound),
            Station::Rates(table) => Ok(table.terms(&asked.rate, bound)),
            Station::Host(table) => table.terms(&asked.rate, bound),
            Station::Levelled(table) => table.terms(request, bound),
            Station::Launched(table) => table.terms(request),
            Station::Shaped(table) => table.terms(request, bound),
            Station::Unheld(table) => table.terms(&asked.rate),
            Station::Cores(table) => table.terms(bound),
        }
    }

    /// The same where a channel starts that leaves by `link`, as if it were admitted now.
    pub(super) fn terms_of(&self, request: &Request, link: LinkId) -> Option<(Breakdown, Breakdown)> {
        let table = self.by_order(link)?;
        Some((table.wait_time(request).ok()?, table.service_time(request).ok()?))
    }

    /// The table of a link that goes by deadlines or levels.
    fn by_order(&self, link: LinkId) -> Option<&AdmissionTable> {
        match self {
            Station::Ordered(table) => Some(table),
            Station::Several(links) => Some(links.of(link)),
            Station::Rates(_)
            | Station::Host(_)
            | Station::Levelled(_)
            | Station::Launched(_)
            | Station::Shaped(_)
            | Station::Unheld(_)
            | Station::Cores(_) => None,
        }
    }

    /// The rest of a burst that a channel passes on to a rate-based link after this station: see
    /// [`Pays::Before`](laxity_admission::Pays).
    pub(super) fn handed_on(&self, asked: &Asked) -> Option<Span> {
        match self {
            Station::Ordered(_)
            | Station::Several(_)
            | Station::Levelled(_)
            | Station::Launched(_)
            | Station::Shaped(_)
            | Station::Unheld(_)
            | Station::Cores(_) => None,
            Station::Rates(table) => Some(table.handed_on(&asked.rate)),
            Station::Host(table) => table.handed_on(&asked.rate),
        }
    }

    /// Whether one table of channels in an order is all that it has for a link.
    pub(super) fn is_ordered(&self) -> bool {
        self.by_order(LinkId::FIRST).is_some()
    }

    /// Whether its bounds count early messages.
    pub(super) fn counts_early(&self) -> bool {
        matches!(self, Station::Rates(_) | Station::Unheld(_))
    }

    /// Whether it orders messages by its bounds.
    pub(super) fn goes_by_bounds(&self) -> bool {
        let by_bounds = |table: &AdmissionTable| table.test() == Test::DOrder && !table.has_levels();
        self.by_order(LinkId::FIRST).is_some_and(by_bounds)
    }

    /// By which deadlines it goes. The demand test is about EDF by those that were asked for.
    pub(super) fn goes_by(&self) -> GoesBy {
        match (self, self.by_order(LinkId::FIRST).map(AdmissionTable::test)) {
            (_, Some(Test::DOrder)) => GoesBy::Either,
            (Station::Rates(_) | Station::Unheld(_), _) => GoesBy::None,
            (_, Some(Test::Demand) | None) => GoesBy::Requested,
        }
    }
}

/// By which deadlines a station goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoesBy {
    /// By its bounds, or by those that were asked for, as is chosen.
    Either,
    /// By those that were asked for.
    Requested,
    /// By none: what it promises is so in whatever order they would have.
    None,
}
