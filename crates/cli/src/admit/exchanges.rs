//! The exchanges of channels that answer each other.

use laxity_lab::answer::{ExchangeRow, exchanges};
use laxity_world::experiment::Experiment;
use laxity_world::promise::Promises;
use laxity_world::text::clean;

use super::in_microseconds;
use crate::columns;

/// A row for each exchange, if there is any, and the reasons of those without a bound.
pub(super) fn table(experiment: &Experiment, promises: &Promises) -> String {
    let heading = ["exchange", "bound", "round mean"].map(String::from);
    let mut reasons = String::new();
    let of = |ExchangeRow { names, bounds }: ExchangeRow| {
        let names = names.iter().map(|name| clean(name)).collect::<Vec<_>>().join(" > ");
        if let Err(why) = &bounds {
            reasons += &format!("exchange {names} has no bound: {}\n", clean(why));
        }
        let bounds = bounds.ok();
        let shown = |span| Option::map_or(span, "-".into(), in_microseconds);
        [names, shown(bounds.map(|bounds| bounds.response)), shown(bounds.and_then(|bounds| bounds.round))]
    };
    let rows: Vec<_> = std::iter::once(heading).chain(exchanges(experiment, promises).map(of)).collect();
    if rows.len() == 1 {
        return String::new();
    }
    let lines = columns::lines(&rows, [false, true, true]).map(|line| line + "\n");
    format!("\n{}{reasons}", lines.collect::<String>())
}
