//! The promises of hosts to the applications that compute on them.

use std::collections::BTreeMap;

use laxity_admission::{AdmissionId, Bound, Early, Pays, RateRequest};
use laxity_qos::channel::{CoreId, LinkId};
use laxity_units::Span;

use super::analyses::Analyses;
use super::asked::Asked;
use super::station::GoesBy;
use super::table::Tables;
use crate::coverage::Uncovered;
use crate::experiment::HostSpec;

/// Reserves in `table` the budgets of the applications of `host`, in their order. Returns their
/// reservations, or the reason: without its CPU time an application is in no analysis.
pub(super) fn reserve(
    host: &HostSpec,
    table: &mut Analyses,
    core: impl Fn(usize) -> CoreId,
) -> Result<Vec<Option<AdmissionId>>, Uncovered> {
    let of = |(number, application): (usize, &crate::experiment::ComputingSpec)| {
        let Some(request) = application.request() else { return Ok(None) };
        let request = request.map_err(|_| Uncovered::BudgetRange)?;
        let (pays, early) = (Pays::Everywhere, Early::default());
        let rate = RateRequest { request, level: 0, group: None, pays, early, whole: false };
        let id = table.request(&Asked { rate, link: LinkId::FIRST, core: core(number) });
        id.map(Some).map_err(|_| Uncovered::Budgets)
    };
    host.computing.iter().enumerate().map(of).collect()
}

/// The bound of each reservation, where a host has a table: the deadline by which EDF goes, or the
/// lower bound where requested deadlines or levels decide.
pub(super) fn bounds(
    tables: &Tables,
    bounds: &[BTreeMap<AdmissionId, Bound>],
) -> Vec<Result<Vec<Option<Span>>, Uncovered>> {
    let of = |(node, ids): (usize, &Vec<Option<AdmissionId>>)| {
        if let Some(why) = tables.without(node) {
            return Err(why);
        }
        let requested = tables.goes_by(node) == GoesBy::Requested;
        let by_bound = |bound: &Bound| requested || bound.level.is_some();
        let kept = |bound: &Bound| if by_bound(bound) { bound.bound } else { bound.deadline };
        Ok(ids.iter().map(|id| bounds[node].get(id.as_ref()?).map(kept)).collect())
    };
    tables.computing().iter().enumerate().map(of).collect()
}
