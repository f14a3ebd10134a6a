//! The table of one station: of a host or port that goes by deadlines or levels, of a port's link that is shared by rates, or of a host with such a link.

use laxity_qos::admission::{
    AdmissionId, AdmissionTable, Bound, Breakdown, Decision, RateRequest, RateTable, RatedHost, Refusal,
    Request, Test,
};
use laxity_units::Span;

/// What a station has promised.
pub(super) enum Station {
    /// CPU and link by EDF, or by fixed priorities.
    Ordered(Box<AdmissionTable>),
    /// A link by rates.
    Rates(RateTable),
    /// A CPU by EDF, and its link by rates.
    Host(Box<RatedHost>),
}

impl Station {
    pub(super) fn request(&mut self, asked: RateRequest) -> Result<AdmissionId, Refusal> {
        let decision = match self {
            Station::Ordered(table) => table.request(asked.request),
            Station::Rates(table) => table.request(asked),
            Station::Host(table) => table.request(asked),
        };
        match decision {
            Decision::Admitted { id, .. } => Ok(id),
            Decision::Refused(refusal) => Err(refusal),
        }
    }

    pub(super) fn release(&mut self, id: AdmissionId) -> bool {
        match self {
            Station::Ordered(table) => table.release(id),
            Station::Rates(table) => table.release(id),
            Station::Host(table) => table.release(id),
        }
    }

    /// The least deadline that it would admit in place of that of `asked`.
    pub(super) fn least_deadline(&self, asked: &RateRequest) -> Result<Span, Refusal> {
        match self {
            Station::Ordered(table) => table.least_deadline(&asked.request),
            Station::Rates(table) => table.least_deadline(asked),
            Station::Host(table) => table.least_deadline(asked),
        }
    }

    /// The latest deadline that it considers.
    pub(super) fn latest_deadline(&self, asked: &RateRequest) -> Span {
        match self {
            Station::Ordered(table) if table.test() == Test::DOrder => asked.request.spec().min_interval,
            Station::Ordered(_) | Station::Rates(_) | Station::Host(_) => Span::MAX,
        }
    }

    pub(super) fn bounds(&self) -> Vec<Bound> {
        match self {
            Station::Ordered(table) => table.bounds(),
            Station::Rates(table) => table.bounds(),
            Station::Host(table) => table.bounds(),
        }
    }

    /// `W` and `S` of an admitted request that has this bound.
    pub(super) fn terms(
        &self,
        asked: &RateRequest,
        bound: &Bound,
    ) -> Result<(Breakdown, Breakdown), Refusal> {
        match self {
            Station::Ordered(table) => {
                Ok((table.wait_time(&asked.request)?, table.service_time(&asked.request)?))
            }
            Station::Rates(table) => Ok(table.terms(asked, bound)),
            Station::Host(table) => table.terms(asked, bound),
        }
    }

    /// The same where a channel starts, as if it were admitted now.
    pub(super) fn terms_of(&self, request: &Request) -> Option<(Breakdown, Breakdown)> {
        let Station::Ordered(table) = self else { return None };
        Some((table.wait_time(request).ok()?, table.service_time(request).ok()?))
    }

    /// What a channel that leaves here brings to a link that is shared by rates: see [`Pays::Before`](laxity_qos::admission::Pays).
    pub(super) fn handed_on(&self, asked: &RateRequest) -> Option<Span> {
        match self {
            Station::Ordered(_) => None,
            Station::Rates(table) => Some(table.handed_on(asked)),
            Station::Host(table) => table.handed_on(asked),
        }
    }

    /// By which deadlines it goes.
    pub(super) fn goes_by(&self) -> GoesBy {
        match self {
            Station::Ordered(_) => GoesBy::Either,
            Station::Rates(_) => GoesBy::None,
            Station::Host(_) => GoesBy::Requested,
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
