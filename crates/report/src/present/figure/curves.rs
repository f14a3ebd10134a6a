//! Distributions as curves: the share of all values up to a value, or beyond it.

use laxity_world::metric::{Kind, Tail};
use laxity_world::results::Results;

use super::FigureSpec;
use super::lines::{Frame, paint};
use super::series::{Line, Plot, plot};
use super::ticks::Ticks;
use crate::present::units::{Readable, typeset};

/// The figure; its metric is a distribution's curve.
pub(super) fn draw(results: &Results, spec: &FigureSpec) -> String {
    let (plot, frame) = prepared(results, spec);
    paint(spec, &plot, &frame)
}

/// The curves in the units of the axes, and the axes.
pub(super) fn prepared(results: &Results, spec: &FigureSpec) -> (Plot, Frame<'static>) {
    let mut plot = plot(results, spec);
    let frame = frame(spec, &mut plot);
    (plot, frame)
}

/// Units, extents and marks; scales the plot to the units of the axes.
fn frame(spec: &FigureSpec, plot: &mut Plot) -> Frame<'static> {
    let (_, distribution, tail) = spec.y.curve().expect("it is a curve");
    let furthest = plot.lines().flat_map(Line::all_points);
    let time = Kind::Time.scale(furthest.fold(0.0, |m: f64, (value, _)| m.max(value.abs())));
    let share = Kind::Share.scale(1.0);
    for line in plot.panels.iter_mut().flat_map(|panel| &mut panel.lines) {
        for (value, counted) in line.points.iter_mut().chain(&mut line.bounds).chain(&mut line.deadline) {
            *value /= time.size;
            *counted = counted.map(|counted| counted / share.size);
        }
    }
    let shares: Vec<f64> = plot.values().collect();
    let places = plot.lines().flat_map(Line::all_points).map(|(value, _)| *value);
    let places: Vec<f64> = places.collect();
    let log = |wanted: bool, values: &[f64]| wanted.then(|| Ticks::logarithmic(values)).flatten();
    let whole = Ticks { from: 0.0, to: 104.0, at: vec![0.0, 20.0, 40.0, 60.0, 80.0, 100.0], log: false };
    let (unit, of) = (typeset(time.unit), typeset(share.unit));
    Frame {
        x: log(spec.log_x, &places).unwrap_or_else(|| Ticks::between(&places)),
        y: log(spec.log_y, &shares).unwrap_or(whole),
        places: None,
        below: format!("{} ({unit})", distribution.label),
        above: match tail {
            Tail::Up => format!("up to that ({of})"),
            Tail::Down => format!("beyond that ({of})"),
        },
        is_laxity: false,
    }
}
