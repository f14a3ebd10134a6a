//! Lines over an axis of the sweep, in one panel or several.

use laxity_world::metric::Kind;
use laxity_world::results::{Axis, Results};
use laxity_world::text::clean;
use plotters::prelude::*;

use super::FigureSpec;
use super::series::{Line, Panel, Plot, Point, is_numeric, plot, position};
use super::style::{
    ALARM, AXIS, Anchor, Area, FINE, GRID, INK, MUTED, colour, cut, cut_middle, document, drawn, fine, font,
    hollow, marker, width, write, write_bold,
};
use super::ticks::Ticks;
use crate::present::units::{Readable, fixed, short, typeset};

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Ticks, Ticks>>;

const WIDE: f64 = 840.0;
const MARGIN: f64 = 18.0;
const LEGEND_TYPE: f64 = 12.5;
const LABEL_TYPE: f64 = 12.0;

/// Everything that all panels share.
pub(super) struct Frame<'a> {
    pub(super) x: Ticks,
    pub(super) y: Ticks,
    /// The horizontal axis, if its values are names and not numbers.
    pub(super) places: Option<&'a Axis>,
    /// The label below the horizontal axis.
    pub(super) below: String,
    /// The label above the vertical axis.
    pub(super) above: String,
    pub(super) is_laxity: bool,
}

/// The figure; its axes have been checked to exist.
pub(super) fn draw(results: &Results, spec: &FigureSpec) -> String {
    let (plot, frame) = prepared(results, spec);
    paint(spec, &plot, &frame)
}

/// The lines in the units of the axes, and the axes.
pub(super) fn prepared<'a>(results: &'a Results, spec: &FigureSpec) -> (Plot, Frame<'a>) {
    let axis = results.axes.iter().find(|axis| axis.name == spec.x).expect("a checked axis");
    let mut plot = plot(results, spec);
    let frame = frame(axis, spec, &mut plot);
    (plot, frame)
}

/// The figure of these lines in that frame.
pub(super) fn paint(spec: &FigureSpec, plot: &Plot, frame: &Frame<'_>) -> String {
    let legend = legend_rows(plot, frame, spec);

    let columns = if plot.panels.len() > 4 { 3 } else { plot.panels.len().clamp(1, 2) };
    let rows = plot.panels.len().div_ceil(columns).max(1);
    let panel_height = match columns {
        1 => 372.0,
        2 => 290.0,
        _ => 240.0,
    };
    let top = 52.0
        + if plot.note.is_empty() { 0.0 } else { 18.0 }
        + legend.len() as f64 * 22.0
        + if columns > 1 { 14.0 } else { 0.0 };
    let foot = if columns > 1 { 32.0 } else { 8.0 };
    let size = (WIDE as i32, (top + rows as f64 * panel_height + foot) as i32);
    document(size, &spec.title(), |root| {
        write_bold(root, &cut(&spec.title(), 17.0, WIDE - 2.0 * MARGIN), (MARGIN, 27.0), 17.0);
        let mut at = 54.0;
        if !plot.note.is_empty() {
            write(root, &plot.note, (MARGIN, at - 4.0), 12.0, MUTED, Anchor::Start);
            at += 18.0;
        }
        for row in &legend {
            draw_legend(root, row, at);
            at += 22.0;
        }
        if plot.lines().next().is_none() {
            let nothing = format!("no run measured {}", spec.y.label());
            write(root, &nothing, (WIDE / 2.0, top + 150.0), 14.0, MUTED, Anchor::Middle);
            return;
        }
        if columns > 1 {
            let above = cut(&frame.above, LABEL_TYPE, WIDE - 2.0 * MARGIN);
            write(root, &above, (MARGIN, top - 6.0), LABEL_TYPE, MUTED, Anchor::Start);
            let below = cut(&frame.below, LABEL_TYPE, WIDE - 2.0 * MARGIN);
            let bottom = f64::from(size.1) - 16.0;
            write(root, &below, (WIDE / 2.0, bottom), LABEL_TYPE, MUTED, Anchor::Middle);
        }
        let panel_width = (WIDE - MARGIN) / columns as f64;
        for (i, panel) in plot.panels.iter().enumerate() {
            let (x, y) = ((i % columns) as f64 * panel_width, top + (i / columns) as f64 * panel_height);
            let (left, upper) = fine((x, y));
            let (right, lower) = fine((x + panel_width, y + panel_height));
            let area = root.clone().shrink((left, upper), (right - left, lower - upper));
            draw_panel(&area, panel, frame, panel_width, columns);
        }
    })
}

/// Units, extents and marks; scales the values of the plot to the unit of the axis.
fn frame<'a>(axis: &'a Axis, spec: &FigureSpec, plot: &mut Plot) -> Frame<'a> {
    let kind = spec.y.kind();
    let largest = plot.values().fold(0.0, |m: f64, v| m.max(v.abs()));
    let scale = kind.scale(largest);
    for line in plot.panels.iter_mut().flat_map(|panel| &mut panel.lines) {
        for (_, value) in line.points.iter_mut().chain(&mut line.bounds) {
            *value = value.map(|v| v / scale.size);
        }
        line.spread.iter_mut().flat_map(|(_, ends)| ends).for_each(|end| *end /= scale.size);
    }
    let marks = || plot.panels.iter().flat_map(|panel| &panel.marks).flat_map(|(_, marks)| marks);
    let mut xs: Vec<f64> = (0..axis.points.len()).map(|i| position(axis, i)).collect();
    xs.extend(marks().map(|(x, _)| *x));
    for (_, marks) in plot.panels.iter_mut().flat_map(|panel| &mut panel.marks) {
        marks.iter_mut().for_each(|(_, value)| *value /= scale.size);
    }
    let values: Vec<f64> = plot.values().collect();
    let y = Some(spec.log_y).filter(|log| *log).and_then(|_| Ticks::logarithmic(&values));
    let y = y.unwrap_or_else(|| match kind {
        Kind::Share if spec.y.name() == "utilisation" && values.iter().all(|v| (0.0..=100.0).contains(v)) => {
            Ticks { from: 0.0, to: 104.0, at: vec![0.0, 20.0, 40.0, 60.0, 80.0, 100.0], log: false }
        }
        Kind::Count => Ticks::counts(&values),
        _ => Ticks::from_zero(&values),
    });

    let x = if is_numeric(axis) {
        let log = Some(spec.log_x).filter(|log| *log).and_then(|_| Ticks::logarithmic(&xs));
        log.unwrap_or_else(|| few_points(&xs).unwrap_or_else(|| Ticks::between(&xs)))
    } else {
        Ticks::places(axis.points.len())
    };
    let unit = typeset(scale.unit);
    let above = if unit.is_empty() { spec.y.label() } else { format!("{} ({unit})", spec.y.label()) };
    let below = if axis.label.is_empty() { axis.name.clone() } else { axis.label.clone() };
    Frame { x, y, places: (!is_numeric(axis)).then_some(axis), below, above, is_laxity: spec.y.is_laxity() }
}

/// Marks at the points themselves, if they are few and far apart: `P` = 1, 2, 4 has no 2.5.
fn few_points(xs: &[f64]) -> Option<Ticks> {
    let ticks = Ticks::between(xs);
    let mut at = xs.to_vec();
    at.sort_by(f64::total_cmp);
    let apart = at.windows(2).all(|pair| pair[1] - pair[0] > (ticks.to - ticks.from) / 15.0);
    (at.len() <= 9 && apart).then_some(Ticks { at, ..ticks })
}

fn draw_panel(area: &Area<'_>, panel: &Panel, frame: &Frame<'_>, wide: f64, columns: usize) {
    let decimals = decimals(&frame.y);
    let y_text = |place: f64| {
        if frame.y.log { typeset(&short(frame.y.value(place))) } else { typeset(&fixed(place, decimals)) }
    };
    let longest = frame.y.at.iter().map(|v| width(&y_text(*v), LABEL_TYPE)).fold(0.0, f64::max);
    let left = MARGIN + longest + 10.0;
    // A single panel has its own heading; several share that of the figure.
    let alone = columns == 1;
    let head = if alone { 32.0 } else { 34.0 };
    if alone {
        let above = cut(&frame.above, LABEL_TYPE, wide - MARGIN);
        write(area, &above, (MARGIN, 10.0), LABEL_TYPE, MUTED, Anchor::Start);
    } else {
        let title = cut(&panel.title, 13.0, wide - MARGIN);
        write(area, &title, (left, 16.0), 13.0, INK, Anchor::Start);
    }

    let room = wide - left - 2.0 * MARGIN;
    let x_texts = x_texts(frame, room);
    let px = |v: f64| (v * f64::from(FINE)) as i32;
    let mut chart: Chart<'_, '_> = drawn(
        ChartBuilder::on(area)
            .margin_top(px(head))
            .margin_right(px(MARGIN * 1.5))
            .x_label_area_size(px(if alone { 42.0 } else { 24.0 }))
            .y_label_area_size(px(left))
            .build_cartesian_2d(
                Ticks { at: x_texts.iter().map(|(at, _)| *at).collect(), ..frame.x.clone() },
                frame.y.clone(),
            ),
    );
    let x_text = |place: &f64| {
        let text = x_texts.iter().find(|(at, _)| at == place).map(|(_, text)| text.clone());
        text.unwrap_or_default()
    };
    drawn(
        chart
            .configure_mesh()
            .bold_line_style(GRID.stroke_width(FINE as u32))
            .light_line_style(TRANSPARENT)
            .axis_style(AXIS.stroke_width(FINE as u32))
            .set_all_tick_mark_size(px(3.0))
            .x_labels(x_texts.len().max(1))
            .y_labels(frame.y.at.len().max(1))
            .label_style(font(LABEL_TYPE, MUTED))
            .axis_desc_style(font(LABEL_TYPE, MUTED))
            .x_desc(if alone { cut(&clean(&frame.below), LABEL_TYPE, room) } else { String::new() })
            .x_label_formatter(&x_text)
            .y_label_formatter(&|place| y_text(*place))
            .draw(),
    );
    // Below the line of the deadline, messages are late.
    if frame.is_laxity && !frame.y.log {
        let (from, to) = (frame.x.from, frame.x.to);
        drawn(chart.draw_series(LineSeries::new(
            [(from, 0.0), (to, 0.0)],
            ALARM.stroke_width((1.5 * f64::from(FINE)) as u32),
        )));
    }
    // The first line of the file is drawn last, on top.
    for (i, line) in panel.lines.iter().enumerate().rev() {
        let hidden = panel.lines[..i].iter().filter(|upper| coincide(upper, line, frame)).count();
        draw_line(&mut chart, line, frame, hidden.min(3) as f64);
    }
    let area = chart.plotting_area();
    let plain = area.strip_coord_spec();
    let (left, upper) = plain.get_base_pixel();
    for (look, marks) in &panel.marks {
        let places = marks.iter().filter_map(|(x, y)| frame.x.place(*x).zip(frame.y.place(*y)));
        for place in places {
            let (x, y) = area.map_coordinate(&place);
            hollow(&plain, (x - left, y - upper), *look, 5.5);
        }
    }
}

/// Whether `upper` would hide `line`. At zero it may, because lines without anything to show lie
/// there.
fn coincide(upper: &Line, line: &Line, frame: &Frame<'_>) -> bool {
    let near = 0.003 * (frame.y.to - frame.y.from);
    let hides = |(a, b): (&Point, &Point)| match (a.1, b.1) {
        (Some(upper), Some(lower)) => upper != 0.0 && a.0 == b.0 && (upper - lower).abs() < near,
        _ => false,
    };
    let hidden = upper.points.iter().zip(&line.points).filter(|pair| hides(*pair)).count();
    hidden * 2 > line.points.len()
}

/// Draws a line, wider and with larger markers if `under` others lie on it: they become its core.
fn draw_line(chart: &mut Chart<'_, '_>, line: &Line, frame: &Frame<'_>, under: f64) {
    let colour = colour(line.look);
    for part in parts(&line.bounds, frame) {
        let style = colour.stroke_width((1.6 * f64::from(FINE)) as u32);
        drawn(chart.draw_series(DashedLineSeries::new(part, 6 * FINE, 5 * FINE, style)));
    }
    for part in self::parts(&line.deadline, frame) {
        let style = colour.stroke_width((2.2 * f64::from(FINE)) as u32);
        drawn(chart.draw_series(DashedLineSeries::new(part, 2 * FINE, 4 * FINE, style)));
    }
    draw_spread(chart, line, frame);
    let parts = parts(&line.points, frame);
    for part in &parts {
        let style = colour.stroke_width(((2.2 + 3.0 * under) * f64::from(FINE)) as u32);
        drawn(chart.draw_series(LineSeries::new(part.iter().copied(), style)));
    }
    let area = chart.plotting_area();
    let plain = area.strip_coord_spec();
    let (left, upper) = plain.get_base_pixel();
    let points: Vec<(f64, f64)> = parts.into_iter().flatten().collect();
    // Markers on every point of a fine sweep would hide the line.
    let every = points.len().div_ceil(24).max(1);
    for point in points.iter().step_by(every) {
        let (x, y) = area.map_coordinate(point);
        marker(&plain, (x - left, y - upper), line.look, 4.0 + 2.2 * under);
    }
}

/// Draws the interval around each mean, with caps.
fn draw_spread(chart: &mut Chart<'_, '_>, line: &Line, frame: &Frame<'_>) {
    let style = colour(line.look).stroke_width((1.6 * f64::from(FINE)) as u32);
    let cap = 0.006 * (frame.x.to - frame.x.from);
    for (at, [low, high]) in &line.spread {
        let ends = frame.y.place(*low).zip(frame.y.place(*high));
        let Some((x, (low, high))) = frame.x.place(*at).zip(ends) else { continue };
        for stroke in
            [[(x, low), (x, high)], [(x - cap, low), (x + cap, low)], [(x - cap, high), (x + cap, high)]]
        {
            drawn(chart.draw_series(LineSeries::new(stroke, style)));
        }
    }
}

/// The stretches of a line that have values and positions.
fn parts(points: &[Point], frame: &Frame<'_>) -> Vec<Vec<(f64, f64)>> {
    let mut parts = vec![Vec::new()];
    for (x, y) in points {
        match frame.x.place(*x).zip(y.and_then(|y| frame.y.place(y))) {
            Some(point) => parts.last_mut().expect("there is a part").push(point),
            None => parts.push(Vec::new()),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The labels of the horizontal marks, thinned until they do not overlap.
fn x_texts(frame: &Frame<'_>, room: f64) -> Vec<(f64, String)> {
    let all = frame.x.at.iter().map(|at| {
        let text = match frame.places {
            None => typeset(&short(frame.x.value(*at))),
            Some(axis) => {
                let slot = room / frame.x.at.len().min(8) as f64;
                cut_middle(&clean(&axis.points[*at as usize].text), LABEL_TYPE, slot - 8.0)
            }
        };
        (*at, text)
    });
    let all: Vec<(f64, String)> = all.collect();
    let extent = frame.x.to - frame.x.from;
    let fits = |every: usize| {
        let kept: Vec<&(f64, String)> = all.iter().step_by(every).collect();
        kept.windows(2).all(|pair| {
            let apart = (pair[1].0 - pair[0].0) / extent * room;
            apart >= (width(&pair[0].1, LABEL_TYPE) + width(&pair[1].1, LABEL_TYPE)) / 2.0 + 8.0
        })
    };
    let every = (1..=all.len()).find(|every| fits(*every)).unwrap_or(1);
    all.into_iter().step_by(every).collect()
}

/// The number of decimals that distinguishes neighbouring marks.
fn decimals(ticks: &Ticks) -> usize {
    let whole = |d: i32| {
        ticks
            .at
            .iter()
            .all(|v| (v * 10f64.powi(d)).fract().abs().min(1.0 - (v * 10f64.powi(d)).fract().abs()) < 1e-6)
    };
    (0..6).find(|d| whole(*d)).unwrap_or(6) as usize
}

/// An entry of a legend.
enum Key {
    Line(String, usize),
    Bound,
    Deadline,
    /// A deadline among times, which has the colour of its channel.
    Asked,
    Spread,
    /// Printed values of that name.
    Printed(String, usize),
}

/// The legend in rows that fit; none for a single line that the heading names already.
fn legend_rows(plot: &Plot, frame: &Frame<'_>, spec: &FigureSpec) -> Vec<Vec<(f64, Key)>> {
    let mut keys: Vec<Key> = Vec::new();
    let named = plot.legend.iter().enumerate().filter(|(_, name)| !name.is_empty());
    keys.extend(named.map(|(look, name)| Key::Line(cut_middle(name, LEGEND_TYPE, 300.0), look)));
    if plot.lines().any(|line| line.bounds.iter().any(|(_, bound)| bound.is_some())) {
        keys.push(Key::Bound);
    }
    if frame.is_laxity && !spec.log_y && plot.lines().next().is_some() {
        keys.push(Key::Deadline);
    }
    if plot.lines().any(|line| !line.deadline.is_empty()) {
        keys.push(Key::Asked);
    }
    if plot.lines().any(|line| !line.spread.is_empty()) {
        keys.push(Key::Spread);
    }
    let printed = plot.marks.iter().enumerate();
    keys.extend(printed.map(|(look, name)| Key::Printed(cut_middle(name, LEGEND_TYPE, 300.0), look)));
    let mut rows: Vec<Vec<(f64, Key)>> = Vec::new();
    let mut x = f64::INFINITY;
    for key in keys {
        let wide = 34.0 + width(key.text(), LEGEND_TYPE) + 22.0;
        if x + wide > WIDE - MARGIN {
            rows.push(Vec::new());
            x = MARGIN;
        }
        rows.last_mut().expect("there is a row").push((x, key));
        x += wide;
    }
    rows
}

impl Key {
    fn text(&self) -> &str {
        match self {
            Key::Line(name, _) | Key::Printed(name, _) => name,
            Key::Bound => "bound (dashed)",
            Key::Deadline => "deadline",
            Key::Asked => "deadline (dotted)",
            Key::Spread => "mean over seeds, 95 % confidence",
        }
    }
}

fn draw_legend(root: &Area<'_>, row: &[(f64, Key)], y: f64) {
    let stroke = |colour: RGBColor, wide: f64| colour.stroke_width((wide * f64::from(FINE)) as u32);
    for (x, key) in row {
        let line = vec![fine((*x, y)), fine((x + 26.0, y))];
        match key {
            Key::Line(_, look) => {
                drawn(root.draw(&PathElement::new(line, stroke(colour(*look), 2.2))));
                marker(root, fine((x + 13.0, y)), *look, 4.0);
            }
            Key::Bound => {
                for dash in [0.0, 10.0, 20.0] {
                    let dash = vec![fine((x + dash, y)), fine((x + dash + 6.0, y))];
                    drawn(root.draw(&PathElement::new(dash, stroke(MUTED, 1.6))));
                }
            }
            Key::Asked => {
                for dot in 0..5 {
                    let dot = f64::from(dot) * 6.0;
                    let dot = vec![fine((x + dot, y)), fine((x + dot + 2.0, y))];
                    drawn(root.draw(&PathElement::new(dot, stroke(MUTED, 2.2))));
                }
            }
            Key::Spread => {
                let (at, y) = (x + 13.0, y);
                let lines = [
                    [(at, y - 7.0), (at, y + 7.0)],
                    [(at - 4.0, y - 7.0), (at + 4.0, y - 7.0)],
                    [(at - 4.0, y + 7.0), (at + 4.0, y + 7.0)],
                ];
                let lines = lines.map(|[a, b]| PathElement::new(vec![fine(a), fine(b)], stroke(MUTED, 1.6)));
                lines.into_iter().for_each(|line| drawn(root.draw(&line)));
            }
            Key::Printed(_, look) => hollow(root, fine((x + 13.0, y)), *look, 5.5),
            Key::Deadline => drawn(root.draw(&PathElement::new(line, stroke(ALARM, 1.5)))),
        }
        write(root, key.text(), (x + 33.0, y), LEGEND_TYPE, INK, Anchor::Start);
    }
}
