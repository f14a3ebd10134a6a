//! Figures as data, for programs that draw themselves: the same lines, units and labels as in the
//! SVG.

use laxity_scenario::figure::{FigureError, FigureSpec};
use laxity_world::results::Results;
use serde::Serialize;

use super::series::{Plot, Point};
use super::ticks::Ticks;
use super::{bars, check_names, curves, lines};

/// A figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Data {
    /// The name of its file, without the ending.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// The horizontal axis; of bars that of their lengths.
    pub x: Scale,
    /// The vertical axis; `None` of bars.
    pub y: Option<Scale>,
    /// Lines side by side; empty of bars.
    pub panels: Vec<Panel>,
    /// Horizontal bars; empty of lines.
    pub bars: Vec<Bar>,
    /// What was left out, in words; empty if nothing was.
    pub note: String,
}

/// An axis of a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scale {
    /// Its label, with the unit of the values.
    pub label: String,
    /// Whether it is logarithmic.
    pub log: bool,
    /// Names of the positions 0, 1, 2 …, if its values are names.
    pub names: Vec<String>,
}

/// The lines at one combination of the axes that the figure does not name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Panel {
    /// That combination in words; empty if the panel is the only one.
    pub title: String,
    /// The lines.
    pub lines: Vec<FigureLine>,
}

/// A line, in the units of the axes: pairs of a position and a value there, if there is one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FigureLine {
    /// The channel, resource or value that it shows.
    pub name: String,
    /// The same number for the same name in all panels, from 0 on.
    pub look: usize,
    /// The measurements.
    pub points: Vec<Point>,
    /// The bound on each; of a distribution a vertical line.
    pub bounds: Vec<Point>,
    /// The deadline of a distribution, as a vertical line.
    pub deadline: Vec<Point>,
    /// The 95 % confidence interval of means of draws: position, lower and upper end.
    pub spread: Vec<(f64, [f64; 2])>,
}

/// A bar, in the unit of the axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bar {
    /// The channel or resource.
    pub name: String,
    /// The measurement.
    pub value: f64,
    /// Its bound.
    pub bound: Option<f64>,
    /// Its deadline.
    pub deadline: Option<f64>,
    /// Whether the measurement exceeds one of them.
    pub alarm: bool,
}

/// The figure as data.
///
/// # Errors
///
/// A figure that names an axis, a value or a channel that the results do not have.
pub fn data(results: &Results, spec: &FigureSpec) -> Result<Data, FigureError> {
    spec.check(&results.axes)?;
    check_names(spec, results)?;
    let empty = Data {
        name: spec.name(),
        title: spec.title(),
        x: Scale { label: String::new(), log: false, names: Vec::new() },
        y: None,
        panels: Vec::new(),
        bars: Vec::new(),
        note: String::new(),
    };
    Ok(match (spec.y.curve(), spec.x.is_empty()) {
        (Some(_), _) => of_lines(empty, curves::prepared(results, spec)),
        (None, false) => of_lines(empty, lines::prepared(results, spec)),
        (None, true) => {
            let (bars, total, unit) = bars::prepared(results, spec);
            let label = match unit.is_empty() {
                true => spec.y.label(),
                false => format!("{} ({unit})", spec.y.label()),
            };
            let shown = bars.len();
            let note = if total > shown { format!("the {shown} tightest of {total}") } else { String::new() };
            let bars = bars.into_iter().map(|bar| Bar {
                name: bar.name,
                value: bar.value,
                bound: bar.bound,
                deadline: bar.deadline,
                alarm: bar.alarm,
            });
            Data { x: Scale { label, ..empty.x }, bars: bars.collect(), note, ..empty }
        }
    })
}

fn of_lines(empty: Data, (plot, frame): (Plot, lines::Frame<'_>)) -> Data {
    let scale = |label: &str, ticks: &Ticks| Scale { label: label.into(), log: ticks.log, names: Vec::new() };
    let names = frame.places.map(|axis| axis.points.iter().map(|point| point.text.clone()).collect());
    let panels = plot.panels.into_iter().map(|panel| Panel {
        title: panel.title,
        lines: panel
            .lines
            .into_iter()
            .map(|line| FigureLine {
                name: line.name,
                look: line.look,
                points: line.points,
                bounds: line.bounds,
                deadline: line.deadline,
                spread: line.spread,
            })
            .collect(),
    });
    Data {
        x: Scale { names: names.unwrap_or_default(), ..scale(&frame.below, &frame.x) },
        y: Some(scale(&frame.above, &frame.y)),
        panels: panels.collect(),
        note: plot.note,
        ..empty
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::sample;
    use super::*;

    fn spec(x: &str, y: &str) -> FigureSpec {
        FigureSpec::new(x, y.parse().unwrap())
    }

    #[test]
    fn lines_have_the_values_of_the_runs_in_the_unit_of_the_axis() {
        let results = sample::sweep();
        let figure = data(&results, &spec("load", "worst")).unwrap();
        let all: Vec<&FigureLine> = figure.panels.iter().flat_map(|panel| &panel.lines).collect();
        let line = all.iter().find(|line| line.name == "rt0").expect("a line for each channel");
        let measured: Vec<f64> = results.runs.iter().filter_map(|run| run.channel("rt0")?.worst).collect();
        assert_eq!(line.points.len(), measured.len());
        let factor = measured[0] / line.points[0].1.unwrap();
        for ((_, value), worst) in line.points.iter().zip(&measured) {
            assert!((value.unwrap() * factor - worst).abs() < 1e-12 * worst);
        }
        assert!(line.bounds.iter().any(|(_, bound)| bound.is_some()));
        assert!(figure.x.label.contains("KiB/s") && figure.bars.is_empty());
    }

    #[test]
    fn bars_have_bounds_and_wrong_names_are_errors() {
        let figure = data(&sample::single(), &spec("", "worst")).unwrap();
        assert!(figure.panels.is_empty() && figure.bars.iter().any(|bar| bar.bound.is_some()));
        assert!(data(&sample::sweep(), &spec("lod", "worst")).is_err());
    }
}
