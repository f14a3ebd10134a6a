//! The table of one station: of a host or port that goes by deadlines or levels, or of a link that is shared by rates.

use laxity_qos::admission::{
    AdmissionId, AdmissionTable, Bound, Breakdown, Decision, RateRequest, RateTable, Refusal, Request, Test,
};
use laxity_units::Span;

/// What a station has promised.
pub(super) enum Station {
    /// CPU and link by EDF, or by fixed priorities.
    Ordered(Box<AdmissionTable>),
    /// A link by rates.
    Rates(RateTable),
}

impl Station {
    pub(super) fn request(&mut self, asked: RateRequest) -> Result<AdmissionId, Refusal> {
        let decision = match self {
            Station::Ordered(table) => table.request(asked.request),
            Station::Rates(table) => table.request(asked),
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
        }
    }

    /// The least deadline that it would admit in place of that of `asked`.
    pub(super) fn least_deadline(&self, asked: &RateRequest) -> Result<Span, Refusal> {
        match self {
            Station::Ordered(table) => table.least_deadline(&asked.request),
            Station::Rates(table) => table.least_deadline(asked),
        }
    }

    /// The latest deadline that it considers.
    pub(super) fn latest_deadline(&self, asked: &RateRequest) -> Span {
        match self {
            Station::Ordered(table) if table.test() == Test::DOrder => asked.request.spec().min_interval,
            Station::Ordered(_) | Station::Rates(_) => Span::MAX,
        }
    }

    pub(super) fn bounds(&self) -> Vec<Bound> {
        match self {
            Station::Ordered(table) => table.bounds(),
            Station::Rates(table) => table.bounds(),
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
            Station::Rates(_) => Ok(RateTable::terms(asked, bound)),
        }
    }

    /// The same where a channel starts, as if it were admitted now.
    pub(super) fn terms_of(&self, request: &Request) -> Option<(Breakdown, Breakdown)> {
        let Station::Ordered(table) = self else { return None };
        Some((table.wait_time(request).ok()?, table.service_time(request).ok()?))
    }

    /// What a channel that leaves here brings to a link that is shared by rates: see [`RateRequest::before`].
    pub(super) fn handed_on(&self, asked: &RateRequest) -> Option<Span> {
        match self {
            Station::Ordered(_) => None,
            Station::Rates(table) => Some(table.handed_on(asked)),
        }
    }

    /// Whether what it promises is so in whatever order deadlines would have it.
    pub(super) fn is_shared_by_rates(&self) -> bool {
        matches!(self, Station::Rates(_))
    }
}
