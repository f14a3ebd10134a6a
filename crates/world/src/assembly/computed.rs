//! The results of applications that compute.

use laxity_engine::trace::TraceSink;
use laxity_units::{Span, Time};

use super::Assembly;
use super::Outside;
use super::outcome::Edges;
use super::state::Snapshot;
use crate::experiment::{ComputingSpec, MissesEffect};
use crate::promise;
use crate::results::Computation;

impl<T: TraceSink, O: Outside> Assembly<'_, '_, T, O> {
    /// How far the applications came that compute.
    pub(super) fn computations(&mut self, edges: &Edges<'_>) -> Vec<Computation> {
        let window = edges.closed.at.saturating_since(edges.opened.at).as_secs_f64();
        let experiment = self.experiment;
        let bounds = promise::of_computing(experiment, experiment.admission.formula);
        let mut computations = Vec::new();
        let meters = std::mem::take(&mut self.around.computing);
        for (node, (meters, bounds)) in meters.into_iter().zip(bounds).enumerate() {
            let specs = experiment.host(node).computing.iter().zip(bounds);
            for (i, (meter, (spec, bound))) in meters.into_iter().zip(specs).enumerate() {
                let at = |edge: &Snapshot| edge.computed[node].get(i).copied().unwrap_or_default();
                let spent = at(edges.closed).saturating_sub(at(edges.opened)).as_secs_f64();
                computations.push(Computation {
                    name: format!("{}{}", spec.name, experiment.suffix(node)),
                    budget_share: spec.budget.map(|b| b.time.as_secs_f64() / b.period.as_secs_f64()),
                    progress: if window > 0.0 { spent / window } else { 0.0 },
                    budgets: meter.budgets,
                    late: meter.late,
                    unfinished: unfinished(spec, meter.done, edges.ended.at),
                    misses_expected: experiment.misses == MissesEffect::Expected,
                    deadline: spec.budget.map(|budget| budget.deadline.as_secs_f64()),
                    bound: bound.map(Span::as_secs_f64),
                    worst: meter.worst.map(Span::as_secs_f64),
                    response: meter.response.summary(false),
                });
            }
        }
        computations
    }
}

/// Budgets of `spec` that were due before `end` and are not among the `done` first.
///
/// An application that is never done with a budget is late with none of them.
fn unfinished(spec: &ComputingSpec, done: u64, end: Time) -> u64 {
    let Some(budget) = spec.budget else { return 0 };
    let first = (Time::ZERO + budget.start).saturating_add(budget.deadline);
    // Work that is done at the instant of its deadline is in time, and the run may end at that instant.
    let since = end.saturating_since(first).as_ps();
    since.div_ceil(budget.period.as_ps()).saturating_sub(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::BudgetSpec;

    /// Due at 13, 23 and 33 ms.
    #[test]
    fn a_budget_that_is_due_and_not_done_is_unfinished() {
        let ms = Span::from_ms;
        let (time, period, start, deadline) = (ms(2), ms(10), ms(5), ms(8));
        let budget = Some(BudgetSpec { time, period, start, deadline, level: 0 });
        let spec = ComputingSpec { name: "film".into(), core: None, slice: ms(1), budget };
        let at = |done, end| unfinished(&spec, done, Time::ZERO + end);
        let ps = Span::from_ps(1);
        assert_eq!([ms(0), ms(13), ms(13) + ps, ms(23), ms(23) + ps].map(|end| at(0, end)), [0, 0, 1, 1, 2]);
        assert_eq!([at(1, ms(30)), at(2, ms(30)), at(3, ms(30))], [1, 0, 0]);
        assert_eq!(unfinished(&ComputingSpec { budget: None, ..spec }, 0, Time::ZERO + ms(30)), 0);
    }
}
