//! The budgets of applications that compute at hosts.

use laxity_lab::answer::{BudgetRow, budgets};
use laxity_world::experiment::Experiment;
use laxity_world::promise::{Promises, Uncovered};
use laxity_world::text::clean;

use super::in_microseconds;
use super::rows::margin;
use crate::columns;

/// A row for each budget, if there is any.
pub(super) fn table(experiment: &Experiment, promises: &Promises) -> String {
    let heading = ["application", "asked", "bound", "margin"].map(String::from);
    let of = |BudgetRow { name, asked, bound }: BudgetRow| {
        let bound = bound.ok().flatten();
        let shown = bound.map_or("-".into(), in_microseconds);
        [clean(&name), in_microseconds(asked), shown, margin(Some(asked), bound)]
    };
    let rows: Vec<_> = std::iter::once(heading).chain(budgets(experiment, promises).map(of)).collect();
    if rows.len() == 1 {
        return String::new();
    }
    let lines = columns::lines(&rows, [false, true, true, true]).map(|line| line + "\n");
    format!("\n{}", lines.collect::<String>())
}

/// The hosts with budgets that have no bound, and why.
pub(super) fn without_bound(experiment: &Experiment, promises: &Promises) -> Vec<(String, Uncovered)> {
    let of = |(node, bounds): (usize, &Result<_, Uncovered>)| {
        let why = bounds.as_ref().err().filter(|_| experiment.host(node).has_budgets())?;
        Some((experiment.place(node), *why))
    };
    promises.computing.iter().enumerate().filter_map(of).collect()
}
