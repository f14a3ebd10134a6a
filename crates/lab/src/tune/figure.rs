//! The frontier: how a better goal worsens the needs.

use std::collections::BTreeMap;

use laxity_report::present;
use laxity_scenario::Scenario;
use laxity_scenario::figure::FigureSpec;
use laxity_scenario::tune::Tune;
use laxity_world::metric::{Kind, Metric};
use laxity_world::results::{Axis, AxisPoint, Results, Run};

use super::{TuneSetting, Tuned, better, in_words};

/// A range this much wider than its least value is shown on a logarithmic axis.
const WIDE: f64 = 20.0;

/// The settings that no other setting dominates (better in the goal or in a need, and as good in
/// the rest), in the order of the first need's metric (of the goal, if there is no need).
pub fn frontier<'t>(goal: &Tune, tuned: &'t Tuned) -> Vec<&'t TuneSetting> {
    let measured = |setting: &&TuneSetting| {
        setting.refused.is_none() && setting.goal.is_some() && setting.needs.iter().all(Option::is_some)
    };
    // All that counts, turned so that more is better.
    let worth = |setting: &TuneSetting| {
        let needs = goal.needs.iter().zip(&setting.needs);
        let needs =
            needs.map(|(need, value)| value.map_or(f64::NEG_INFINITY, |v| if need.at_most { -v } else { v }));
        std::iter::once(better(goal, setting.goal)).chain(needs).collect::<Vec<f64>>()
    };
    let all: Vec<(&TuneSetting, Vec<f64>)> =
        tuned.settings.iter().filter(measured).map(|setting| (setting, worth(setting))).collect();
    let beats = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| a >= b) && a != b;
    let mut kept: Vec<&TuneSetting> = Vec::new();
    for (setting, worth) in &all {
        if !all.iter().any(|(_, other)| beats(other, worth)) {
            kept.push(setting);
        }
    }
    let along =
        |setting: &TuneSetting| setting.needs.first().copied().flatten().or(setting.goal).unwrap_or_default();
    kept.sort_by(|a, b| along(a).total_cmp(&along(b)));
    kept
}

/// The frontier as a drawing: the goal over the first need's metric, the settings that meet all
/// needs in one line, the others in another, and the best. `None` without a need to draw it over,
/// or without settings on it.
pub fn figure(scenario: &Scenario, tuned: &Tuned) -> Option<String> {
    let goal = scenario.tune.as_ref()?;
    let need = goal.needs.first()?;
    let settings = frontier(goal, tuned);
    if settings.is_empty() {
        return None;
    }
    let y = Named::of(&goal.goal.metric, settings.iter().filter_map(|setting| setting.goal));
    let x = Named::of(&need.wanted.metric, settings.iter().filter_map(|setting| setting.needs[0]));
    let best = tuned.best().map(|trial| &trial.setting.place);
    let groups = ["keeps what is needed", "falls short", "best"];
    let mut points: Vec<f64> = settings.iter().filter_map(|setting| setting.needs[0]).collect();
    points.extend(tuned.best().and_then(|trial| trial.setting.needs[0]));
    points.sort_by(f64::total_cmp);
    points.dedup();
    let mut runs = Vec::new();
    let mut add = |setting: &TuneSetting, group: usize| {
        let place = points.iter().position(|point| Some(*point) == setting.needs[0]);
        if let (Some(place), Some(value)) = (place, setting.goal) {
            let figures = BTreeMap::from([(y.name.clone(), value / y.size)]);
            runs.push(Run { point: vec![group, place], figures, ..Run::default() });
        }
    };
    for setting in &settings {
        add(setting, usize::from(!setting.is_good()));
    }
    for setting in tuned.settings.iter().filter(|setting| best == Some(&setting.place)) {
        add(setting, 2);
    }
    let point = |text: String, value| AxisPoint { text, value };
    let axes = vec![
        Axis {
            name: "settings".into(),
            label: "settings".into(),
            points: groups.iter().map(|group| point((*group).into(), None)).collect(),
        },
        Axis {
            name: "x".into(),
            label: x.name.clone(),
            points: points.iter().map(|v| point(format!("{v}"), Some(v / x.size))).collect(),
        },
    ];
    let results = Results { provenance: Default::default(), axes, runs };
    let bound = in_words(&need.wanted.metric, Some(need.bound));
    let side = if need.at_most { "at most" } else { "at least" };
    let title = format!("The frontier; {} is to be {side} {bound}", need.wanted.metric.label());
    let metric = format!("figure:{}", y.name).parse::<Metric>().ok()?;
    // An extreme outlier would press the rest, among which the choice is, into a corner.
    let log_x = points.first().is_some_and(|least| *least > 0.0 && points[points.len() - 1] > WIDE * least);
    let spec = FigureSpec { title, log_x, by: Some("settings".into()), ..FigureSpec::new("x", metric) };
    present::figure::svg(&results, &spec).ok()
}

/// A metric with the unit in which its values read well.
struct Named {
    name: String,
    size: f64,
}

impl Named {
    fn of(metric: &Metric, values: impl Iterator<Item = f64>) -> Self {
        let largest = values.fold(0.0, |most: f64, value| most.max(value.abs()));
        let (unit, size) = present::unit(metric.kind(), largest);
        let label = metric.label();
        let name = if unit.is_empty() { label } else { format!("{label} ({unit})") };
        debug_assert!(
            Kind::of_figure(&name) == Kind::Count || unit.is_empty(),
            "{name} would be scaled twice"
        );
        Self { name, size }
    }
}
