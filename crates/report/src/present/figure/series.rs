//! Which lines a figure has, before anything is drawn.

use std::collections::BTreeMap;

use laxity_world::metric::{Distribution, Field, Metric, MetricOwner, Tail};
use laxity_world::results::{Axis, Channel, Results, Run};

use super::FigureSpec;
use crate::interval::interval;
use crate::misses::REPETITIONS;
use crate::present::merge::by_class;

/// The maximum number of distinguishable lines: channels are merged by class, further lines left
/// out.
pub(super) const LINES: usize = 10;
/// More panels than this cannot be read.
pub(super) const PANELS: usize = 12;

/// A position and what was measured there, if anything was.
pub(super) type Point = (f64, Option<f64>);

/// One line: a channel, a resource, or a value of the `by` axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Line {
    pub(super) name: String,
    /// Index into colours and markers; a name has the same index in every panel.
    pub(super) look: usize,
    /// Positions from left to right; `None` where a value was not measured.
    pub(super) points: Vec<Point>,
    /// The bound on each value, where there is one.
    pub(super) bounds: Vec<Point>,
    /// The deadline that a distribution of times is compared with, as a vertical line.
    pub(super) deadline: Vec<Point>,
    /// Where a point is the mean of repetitions: its position, and the ends of the interval around it.
    pub(super) spread: Vec<(f64, [f64; 2])>,
}

/// The lines at one combination of the axes that the figure does not name.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) lines: Vec<Line>,
    /// Printed values: the place of their name among those of the plot, and the values.
    pub(super) marks: Vec<(usize, Vec<(f64, f64)>)>,
}

/// All of a figure's lines.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Plot {
    pub(super) panels: Vec<Panel>,
    /// Names of the looks, for the legend.
    pub(super) legend: Vec<String>,
    /// Names of the printed values.
    pub(super) marks: Vec<String>,
    /// The lines and panels left out, in words; empty if there are none.
    pub(super) note: String,
}

impl Plot {
    pub(super) fn lines(&self) -> impl Iterator<Item = &Line> {
        self.panels.iter().flat_map(|panel| &panel.lines)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = f64> {
        let all = self.lines().flat_map(Line::all_points);
        let ends = self.lines().flat_map(|line| &line.spread).flat_map(|(_, ends)| *ends);
        let marks = self.panels.iter().flat_map(|panel| &panel.marks).flat_map(|(_, marks)| marks);
        all.filter_map(|(_, value)| *value).chain(ends).chain(marks.map(|(_, value)| *value))
    }
}

impl Line {
    /// The measurement, the bound and the request.
    pub(super) fn all_points(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().chain(&self.bounds).chain(&self.deadline)
    }

    /// Makes one point of what stands at one position: the mean of what was measured there, with
    /// its confidence interval.
    fn pool(&mut self) {
        let mut pooled: Vec<(f64, Vec<f64>, Option<f64>)> = Vec::new();
        for ((at, value), (_, bound)) in self.points.iter().zip(&self.bounds) {
            if pooled.last().is_none_or(|(last, ..)| last != at) {
                pooled.push((*at, Vec::new(), None));
            }
            let (_, values, least) = pooled.last_mut().expect("there is one now");
            values.extend(value);
            // The bound of all repetitions is the smallest bound of any.
            *least = [*least, *bound].into_iter().flatten().reduce(f64::min);
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        self.bounds = pooled.iter().map(|(at, _, bound)| (*at, *bound)).collect();
        self.points =
            pooled.iter().map(|(at, values, _)| (*at, (!values.is_empty()).then(|| mean(values)))).collect();
        let intervals = pooled.iter().filter_map(|(at, values, _)| Some((*at, interval(values)?)));
        self.spread = intervals.map(|(at, i)| (at, [i.mean - i.half, i.mean + i.half])).collect();
    }
}

/// The position of a point of `axis`: its number, or its place in the order if the axis has no
/// numbers.
pub(super) fn position(axis: &Axis, point: usize) -> f64 {
    if is_numeric(axis) { axis.points[point].value.unwrap_or(point as f64) } else { point as f64 }
}

pub(super) fn is_numeric(axis: &Axis) -> bool {
    axis.points.iter().all(|p| p.value.is_some_and(f64::is_finite))
}

/// The lines of a figure. The caller has checked that its axes exist.
pub(super) fn plot(results: &Results, spec: &FigureSpec) -> Plot {
    let index = |name: &str| results.axes.iter().position(|axis| axis.name == name).expect("a checked axis");
    // The horizontal axis of a distribution is no axis of the sweep.
    let x = (!spec.x.is_empty()).then(|| index(&spec.x));
    let fixed: Vec<(usize, &str)> =
        spec.only.iter().map(|(name, text)| (index(name), text.as_str())).collect();
    let runs: Vec<&Run> = results.runs.iter().filter(|run| fixed_at(results, run, &fixed)).collect();
    let subjects = subjects(&runs, spec);
    let several = |i: usize| results.axes[i].points.len() > 1 && fixed.iter().all(|(f, _)| *f != i);
    let named = |i: usize| Some(i) == x || spec.by.as_ref().is_some_and(|by| index(by) == i);
    // Curves of a distribution cannot be averaged: each repetition has its own.
    let repeats = |i: usize| results.axes[i].name == REPETITIONS && !named(i) && spec.y.curve().is_none();
    let is_open = |i: &usize| Some(*i) != x && several(*i) && !repeats(*i);
    let mut rest: Vec<usize> = (0..results.axes.len()).filter(is_open).collect();
    let repeated = (0..results.axes.len()).any(|i| repeats(i) && several(i));
    let by = match &spec.by {
        Some(name) => Some(index(name)),
        // One line per panel wastes the panels.
        None if subjects.len() == 1 => rest.first().copied(),
        None => None,
    };
    rest.retain(|i| Some(*i) != by);

    let mut panels = Panels::new();
    for run in &runs {
        let key: Vec<usize> = rest.iter().map(|i| run.point[*i]).collect();
        let panel = panels.entry(key).or_default();
        let at = x.map_or(0.0, |x| position(&results.axes[x], run.point[x]));
        let owned = channels_of(run, &subjects);
        for (s, subject) in subjects.iter().enumerate() {
            let by_point = by.map_or(0, |i| run.point[i]);
            let line = panel.entry((s, by_point)).or_default();
            let by_text = by.map(|i| (&results.axes[i], run.point[i]));
            line.name = line_name(subject, by_text, subjects.len() > 1);
            if let Some(curve) = spec.y.curve() {
                (line.points, line.bounds, line.deadline) = subject.curve(curve, &owned).unwrap_or_default();
                continue;
            }
            let (value, bound) = subject.read(&spec.y, run, &owned);
            line.points.push((at, value));
            line.bounds.push((at, if spec.y.is_bounded() { bound } else { None }));
        }
    }

    let mut plot = Plot::default();
    let mut left_out = Vec::new();
    // The bound of a curve is vertical and does not cross the bounds of other curves.
    let panels = if x.is_some() { apart(panels, &mut left_out) } else { panels };
    if panels.len() > PANELS {
        left_out.push(format!("{PANELS} of {} panels shown", panels.len()));
    }
    let mut hidden = 0;
    for (key, lines) in panels.into_iter().take(PANELS) {
        let names = rest.iter().zip(&key).map(|(i, p)| value_name(&results.axes[*i], *p));
        let mut names: Vec<String> = names.collect();
        // A panel of one line, split off, has the name of that line.
        if key.len() > rest.len() {
            names.extend(lines.values().map(|line| line.name.clone()));
        }
        let mut panel = Panel { title: names.join(", "), ..Panel::default() };
        for mut line in lines.into_values().filter(|line| line.points.iter().any(|p| p.1.is_some())) {
            line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
            line.bounds.sort_by(|a, b| a.0.total_cmp(&b.0));
            if repeated {
                line.pool();
            }
            line.look = match plot.legend.iter().position(|name| *name == line.name) {
                Some(look) => look,
                None if plot.legend.len() < LINES => {
                    plot.legend.push(line.name.clone());
                    plot.legend.len() - 1
                }
                None => {
                    hidden += 1;
                    continue;
                }
            };
            panel.lines.push(line);
        }
        for marks in spec.marks.iter().filter(|marks| marks.panel.is_empty() || marks.panel == panel.title) {
            let name = plot.marks.iter().position(|name| *name == marks.name).unwrap_or_else(|| {
                plot.marks.push(marks.name.clone());
                plot.marks.len() - 1
            });
            panel.marks.push((name, marks.x.iter().copied().zip(marks.y.iter().copied()).collect()));
        }
        plot.panels.push(panel);
    }
    if hidden > 0 {
        left_out.push(format!("{hidden} lines not shown"));
    }
    plot.note = left_out.join("; ");
    plot
}

/// The lines of each panel, by the panel's place on the axes that are panels.
type Panels = BTreeMap<Vec<usize>, BTreeMap<(usize, usize), Line>>;

/// Gives each line a panel of its own if somewhere a value of one lies above the bound of another:
/// the two dashes and dots away from each other would read as a bound that is exceeded, the one
/// thing a figure must not make up.
fn apart(panels: Panels, left_out: &mut Vec<String>) -> Panels {
    let crosses = |(a, b): (&Line, &Line)| {
        a.points
            .iter()
            .any(|(x, value)| b.bounds.iter().any(|(at, bound)| x == at && bound.is_some() && value > bound))
    };
    let confused = panels.values().any(|lines| {
        let pairs = lines.iter().flat_map(|a| lines.iter().map(move |b| (a, b)));
        pairs.filter(|(a, b)| a.0 != b.0).any(|(a, b)| crosses((a.1, b.1)))
    });
    if !confused {
        return panels;
    }
    let measured = |line: &Line| line.points.iter().any(|(_, value)| value.is_some());
    let lines = panels.values().flat_map(BTreeMap::values).filter(|line| measured(line)).count();
    if lines > PANELS {
        left_out.push("bounds not drawn, as they lie among the lines of others: see the table".into());
        let unbounded = |mut lines: BTreeMap<(usize, usize), Line>| {
            lines.values_mut().flat_map(|line| &mut line.bounds).for_each(|(_, bound)| *bound = None);
            lines
        };
        return panels.into_iter().map(|(key, lines)| (key, unbounded(lines))).collect();
    }
    let mut split = Panels::new();
    for (key, lines) in panels {
        for (place, line) in lines.into_iter().filter(|(_, line)| measured(line)) {
            let key = key.iter().copied().chain([place.0, place.1]).collect();
            split.insert(key, BTreeMap::from([(place, line)]));
        }
    }
    split
}

fn fixed_at(results: &Results, run: &Run, fixed: &[(usize, &str)]) -> bool {
    // A run without a position on every axis cannot be placed.
    let placed = run.point.len() == results.axes.len()
        && run.point.iter().zip(&results.axes).all(|(p, axis)| *p < axis.points.len());
    placed && fixed.iter().all(|(i, text)| results.axes[*i].points[run.point[*i]].text == *text)
}

/// The subject of the metric of a line.
#[derive(Debug, Clone, PartialEq)]
enum Whose {
    Channel(String),
    Class(String),
    Resource(String),
    Run,
}

impl Whose {
    /// The metric and the bound on it in `run`; `owned` are the run's channels, merged if classes are shown.
    fn read(&self, metric: &Metric, run: &Run, owned: &[Channel]) -> (Option<f64>, Option<f64>) {
        let of = |channel: Option<&Channel>| {
            let bound = channel.and_then(|c| c.bound).filter(|b| b.is_finite());
            (channel.and_then(|c| metric.of_channel(c)), bound)
        };
        match self {
            Whose::Channel(name) => of(owned.iter().find(|c| c.name == *name)),
            Whose::Class(class) => of(owned.iter().find(|c| c.class == *class)),
            Whose::Resource(name) => {
                let resource = run.resources.iter().find(|r| r.name == *name);
                (resource.and_then(|r| metric.of_resource(r)), None)
            }
            Whose::Run => (metric.of_run(run), None),
        }
    }
}

impl Whose {
    /// The curve of a distribution, and the bound on it and its deadline as lines upright; `None`
    /// where it was not kept.
    fn curve(
        &self,
        (field, _, tail): (&Field, &Distribution, Tail),
        owned: &[Channel],
    ) -> Option<(Vec<Point>, Vec<Point>, Vec<Point>)> {
        let Whose::Channel(name) = self else { return None };
        let channel = owned.iter().find(|c| c.name == *name)?;
        let share = |share: f64| if tail == Tail::Down { 1.0 - share } else { share };
        let curve = &field.summary(channel)?.curve;
        let points: Vec<Point> = curve.iter().map(|(s, value)| (*value, Some(share(*s)))).collect();
        let bound = match field.name {
            "latency" => channel.bound,
            "delivery" => channel.delivery_bound,
            "laxity" => channel.deadline.zip(channel.bound).map(|(deadline, bound)| deadline - bound),
            _ => None,
        };
        let shares = points.iter().filter_map(|(_, share)| *share).filter(|share| *share > 0.0);
        let least = shares.fold(1.0, f64::min);
        let deadline = match field.name {
            "latency" | "delivery" => channel.deadline,
            _ => None,
        };
        let upright = |at: Option<f64>| {
            let at = at.filter(|at| at.is_finite() && channel.class == "real_time");
            at.map_or(Vec::new(), |at| vec![(at, Some(least)), (at, Some(1.0))])
        };
        Some((points, upright(bound), upright(deadline)))
    }
}

fn channels_of(run: &Run, subjects: &[Whose]) -> Vec<Channel> {
    match subjects.first() {
        Some(Whose::Class(_)) => by_class(&run.channels),
        Some(Whose::Channel(_)) => run.channels.clone(),
        _ => Vec::new(),
    }
}

/// The subjects of the figure's lines: those named, or all that have the metric anywhere.
fn subjects(runs: &[&Run], spec: &FigureSpec) -> Vec<Whose> {
    let mut found: Vec<Whose> = Vec::new();
    let mut add = |whose: Whose| {
        if !found.contains(&whose) {
            found.push(whose);
        }
    };
    let wanted = |name: &String| spec.channels.is_empty() || spec.channels.contains(name);
    let curve = spec.y.curve();
    let has = |channel: &Channel| match curve {
        Some((field, ..)) => field.summary(channel).is_some_and(|summary| !summary.curve.is_empty()),
        None => spec.y.of_channel(channel).is_some(),
    };
    for run in runs {
        match spec.y.owner() {
            MetricOwner::Run => add(Whose::Run),
            MetricOwner::Channel => run
                .channels
                .iter()
                .filter(|c| wanted(&c.name) && has(c))
                .for_each(|c| add(Whose::Channel(c.name.clone()))),
            MetricOwner::Resource => run
                .resources
                .iter()
                .filter(|r| wanted(&r.name) && spec.y.of_resource(r).is_some())
                .for_each(|r| add(Whose::Resource(r.name.clone()))),
        }
    }
    // Distributions of several cannot be had from those of each.
    let merged = spec.y.owner() == MetricOwner::Channel && curve.is_none();
    if merged && spec.channels.is_empty() && found.len() > LINES {
        let mut classes = Vec::new();
        for channel in runs.iter().flat_map(|run| &run.channels) {
            let class = Whose::Class(channel.class.clone());
            if spec.y.of_channel(channel).is_some() && !classes.contains(&class) {
                classes.push(class);
            }
        }
        return classes;
    }
    found
}

fn line_name(whose: &Whose, by: Option<(&Axis, usize)>, several: bool) -> String {
    let name = match whose {
        Whose::Channel(name) | Whose::Resource(name) => name.clone(),
        Whose::Class(class) => format!("all {}", crate::present::merge::class_name(class)),
        Whose::Run => String::new(),
    };
    match by {
        None => name,
        Some((axis, point)) if several => format!("{name}, {}", value_name(axis, point)),
        Some((axis, point)) => value_name(axis, point),
    }
}

/// The label of a value of an axis that is not drawn: `P = 4`, but a self-explanatory `O2` alone.
fn value_name(axis: &Axis, point: usize) -> String {
    let text = &axis.points[point].text;
    if is_numeric(axis) { format!("{} = {text}", axis.name) } else { text.clone() }
}
