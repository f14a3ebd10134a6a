//! Counts beside channels: of stages of adapters, and of applications that compute.

use laxity_model::adapter::Adapter;
use laxity_qos::channel::Computed;
use laxity_units::{Span, Time};

use super::{Rows, Samples};
use crate::experiment::Experiment;
use crate::sketch::picoseconds;

/// The counts of a stage.
#[derive(Debug, Clone, Default)]
pub(crate) struct StageMeter {
    /// Of each packet for how long it waited, and was served.
    pub(crate) passages: Rows<2>,
}

/// The counts of an application that computes.
#[derive(Debug, Clone, Default)]
pub(crate) struct ComputingMeter {
    /// Budgets done in the window.
    pub(crate) budgets: u64,
    /// Those among them that were done late.
    pub(crate) late: u64,
    /// Budgets done in the whole run.
    pub(crate) done: u64,
    /// The longest from the beginning of a period until its budget was done, of the whole run.
    pub(crate) worst: Option<Span>,
    pub(crate) response: Samples,
}

impl StageMeter {
    /// Those of an adapter, by its stages.
    pub(crate) fn of(adapter: &Adapter) -> Vec<Self> {
        vec![Self::default(); adapter.stages(Time::ZERO).len()]
    }
}

impl ComputingMeter {
    /// A budget was done at `now`; `counted` if within the window.
    pub(crate) fn done(&mut self, now: Time, done: &Computed, counted: bool) {
        self.done += 1;
        self.worst = self.worst.max(Some(now.saturating_since(done.from)));
        if counted {
            self.budgets += 1;
            self.late += u64::from(now > done.due);
            self.response.push([picoseconds(done.from, now)]);
        }
    }
}

/// Meters of all applications, by node.
pub(crate) fn of_computing(experiment: &Experiment) -> Vec<Vec<ComputingMeter>> {
    let of = |node| vec![ComputingMeter::default(); experiment.host(node).computing.len()];
    (0..experiment.nodes.len()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_is_done_when_it_is_due_is_not_late() {
        let ms = |ms: u64| Time::ZERO + Span::from_ms(ms);
        let done = Computed { application: 0, from: ms(10), due: ms(15) };
        let mut meter = ComputingMeter::default();
        meter.done(ms(15), &done, true);
        assert_eq!((meter.budgets, meter.late, meter.worst), (1, 0, Some(Span::from_ms(5))));
        meter.done(ms(15) + Span::from_ps(1), &done, true);
        assert_eq!((meter.budgets, meter.late), (2, 1));
        // The worst is of the whole run.
        meter.done(ms(30), &done, false);
        assert_eq!((meter.budgets, meter.late, meter.worst), (2, 1, Some(Span::from_ms(20))));
        assert_eq!(meter.done, 3);
    }
}
