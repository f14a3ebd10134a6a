//! Levels that the file gives to channels and budgets, at stations that go by fixed priorities.
//!
//! Admission finds a level for each channel, or takes those of the file for all of them
//! (`laxity_admission`, `table/by_hand.rs`). Real time on the level of best effort would wait for any
//! amount of it.

use laxity_qos::discipline::{Class, LOWEST};

use super::covered::Covered;
use super::reason::Uncovered;
use crate::experiment::{ChannelSpec, Experiment};

/// Whether the levels of everything at `station`, which is so covered, have a proof.
pub(super) fn levels(experiment: &Experiment, station: usize, covered: &Covered) -> Result<(), Uncovered> {
    let budgets = station < experiment.nodes.len() && experiment.host(station).has_budgets();
    let passes = |channel: &&ChannelSpec| channel.class == Class::RealTime && channel.is_at(station);
    let levels: Vec<Option<u8>> = experiment.channels.iter().filter(passes).map(|it| it.level).collect();
    let (some, all) = (levels.iter().any(Option::is_some), levels.iter().all(Option::is_some));
    if covered.is_levelled() {
        return match (some, budgets) {
            (true, _) => Err(Uncovered::LevelsBeforeDeadlines),
            (false, true) => Err(Uncovered::BudgetLevels),
            (false, false) => Ok(()),
        };
    }
    if !covered.by_level {
        return Ok(());
    }
    if some && !all {
        return Err(Uncovered::LevelsOfSome);
    }
    if budgets && !all {
        return Err(Uncovered::BudgetLevels);
    }
    match levels.contains(&Some(LOWEST)) {
        true => Err(Uncovered::LowestLevel),
        false => Ok(()),
    }
}
