//! The names of the proofs that a station's bound rests on: the modules that contain them.

use laxity_admission::station::Link;
use laxity_admission::{ResourceModel, Test};

use crate::coverage::{Coverage, Covered, Holding, Uncovered, coverage, queue, receiving};
use crate::experiment::{Experiment, MediumSpec};

/// The modules with the proofs that cover `station` of `experiment`, or the reason why none does.
///
/// Stations are the nodes, then the ports of switches. The names are of modules of the crate that
/// contains the proofs, such as `o1` and `station::window`; `curves` is a crate. Where several analyses
/// compete they are those of the first.
pub fn proofs(experiment: &Experiment, station: usize) -> Result<Vec<&'static str>, Uncovered> {
    if let Some((_, receiver)) = experiment.receiver_at(station) {
        return receiving(experiment, receiver).map(|_| vec!["reception::bound"]);
    }
    if experiment.virtual_interfaces().is_some() {
        return super::promises(experiment, Default::default()).map(|_| vec!["holistic"]);
    }
    if let Some(bounded) = queue(experiment, station) {
        return bounded.map(|()| vec!["curves"]);
    }
    Ok(names(experiment, coverage(experiment)?.first(station)?))
}

/// Per station, the test that decides which channels fit together where one of channels in an order
/// does.
pub fn tests(experiment: &Experiment) -> Vec<Option<Test>> {
    let of = |coverage: &Coverage, station: usize| {
        let covered = coverage.first(station).ok()?;
        let in_order = covered.rates.is_none() && covered.row.is_none() && !covered.unheld;
        in_order.then(|| covered.test(experiment.admission.test))
    };
    let all = |coverage: Coverage| (0..experiment.stations()).map(|station| of(&coverage, station)).collect();
    coverage(experiment).map_or_else(|_| vec![None; experiment.stations()], all)
}

fn names(experiment: &Experiment, covered: &Covered) -> Vec<&'static str> {
    let Covered { model, further, rates, row, holding, unheld, .. } = covered;
    if *unheld {
        return vec!["unheld_host"];
    }
    let test = match covered.test(experiment.admission.test) {
        Test::Demand => "demand",
        Test::DOrder => "table",
    };
    let apart = |with_rates| if rates.is_some() { with_rates } else { "levelled_host" };
    let mut names = match model {
        // A port is an ideal host without costs; by rates its table is all.
        ResourceModel::Ideal if rates.is_some() => return vec!["rates"],
        ResourceModel::Ideal => vec!["ideal"],
        ResourceModel::O1 => vec!["o1"],
        ResourceModel::O2 => vec!["o2"],
        ResourceModel::O3 => vec!["o3"],
        ResourceModel::Handed => vec!["handed"],
        ResourceModel::Apart => vec![apart("rated_host")],
        ResourceModel::ApartByThread => vec!["levelled_host"],
        ResourceModel::ApartHanded => vec![match holding {
            Some(Holding::Launch(_)) => "launched_host",
            Some(Holding::Shapers) => "shaped_host",
            None => "rates::row",
        }],
        ResourceModel::Core => vec!["cores"],
    };
    if !further.is_empty() {
        names.push("beside");
    }
    let Some(staged) = covered.links().find(|link| !link.is_alone()) else {
        return [names, vec![test]].concat();
    };
    names.push(match (staged, row) {
        (Link::Behind(_) | Link::Alone(_), _) => "station::window",
        (Link::Open(_), None) => "station::open",
        (Link::Open(_), Some(_)) => "station::rated",
    });
    let shared = |medium: &MediumSpec| matches!(medium, MediumSpec::TokenRing(_));
    if experiment.networks.iter().any(|network| shared(&network.medium)) {
        names.push("station::ring");
    }
    names.push(test);
    names
}
