//! A horizontal bar per channel: the used share of its bound and of its deadline.

use laxity_world::metric::MetricOwner;
use laxity_world::results::{Channel, Results};
use plotters::prelude::*;

use super::FigureSpec;
use super::style::{
    ALARM, Anchor, Area, BAND, FINE, GOOD, GRID, INK, MUTED, cut, cut_middle, document, drawn, fine, width,
    write, write_bold,
};
use super::ticks::Ticks;
use crate::present::grid::{self, Mark};
use crate::present::merge::tightness;
use crate::present::units::{Readable, fixed, typeset};

const WIDE: f64 = 840.0;
const MARGIN: f64 = 18.0;
const ROW: f64 = 34.0;
/// More bars than this are a wall: the tightest are shown.
const BARS: usize = 24;

/// One bar.
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) bound: Option<f64>,
    pub(super) deadline: Option<f64>,
    pub(super) alarm: bool,
}

/// The figure.
pub(super) fn draw(results: &Results, spec: &FigureSpec) -> String {
    let (bars, total, unit) = prepared(results, spec);
    let marked = bars.iter().any(|b| b.bound.is_some() || b.deadline.is_some());
    let top = if marked { 74.0 } else { 50.0 };
    let height = top + ROW * bars.len().max(2) as f64 + 52.0;
    document((WIDE as i32, height as i32), &spec.title(), |root| {
        write_bold(root, &cut(&spec.title(), 17.0, WIDE - 2.0 * MARGIN), (MARGIN, 27.0), 17.0);
        if bars.is_empty() {
            let nothing = format!("no channel measured {}", spec.y.label());
            write(root, &nothing, (WIDE / 2.0, top + ROW), 14.0, MUTED, Anchor::Middle);
            return;
        }
        if marked {
            legend(root, &bars);
        }
        rows(root, &bars, top, &unit);
        if total > bars.len() {
            let note = format!("the {} tightest of {total} channels", bars.len());
            write(root, &note, (WIDE - MARGIN, 27.0), 12.0, MUTED, Anchor::End);
        }
    })
}

/// The bars in one unit, how many there would be in all, and the unit.
pub(super) fn prepared(results: &Results, spec: &FigureSpec) -> (Vec<Bar>, usize, String) {
    let (mut bars, total) = bars(results, spec);
    let scale = spec.y.kind().scale(
        bars.iter()
            .flat_map(|b| [Some(b.value), b.bound, b.deadline])
            .flatten()
            .fold(0.0, |m: f64, v| m.max(v.abs())),
    );
    for bar in &mut bars {
        bar.value /= scale.size;
        bar.bound = bar.bound.map(|v| v / scale.size);
        bar.deadline = bar.deadline.map(|v| v / scale.size);
    }
    (bars, total, typeset(scale.unit))
}

fn bars(results: &Results, spec: &FigureSpec) -> (Vec<Bar>, usize) {
    let wanted = |name: &String| spec.channels.is_empty() || spec.channels.contains(name);
    if spec.y.owner() == MetricOwner::Resource {
        let all = results.runs.iter().flat_map(|run| &run.resources).filter(|r| wanted(&r.name));
        let mut bars: Vec<Bar> = Vec::new();
        for (resource, value) in all.filter_map(|r| spec.y.of_resource(r).map(|v| (r, v))) {
            match bars.iter_mut().find(|b| b.name == resource.name) {
                Some(bar) => bar.value = bar.value.max(value),
                None => bars.push(Bar {
                    name: resource.name.clone(),
                    value,
                    bound: None,
                    deadline: None,
                    alarm: false,
                }),
            }
        }
        let total = bars.len();
        bars.truncate(BARS);
        return (bars, total);
    }
    let bounded = spec.y.is_bounded();
    let mut shown: Vec<&Channel> = if bounded {
        grid::tightest(results).into_iter().map(|(_, channel)| channel).collect()
    } else {
        results.runs.iter().take(1).flat_map(|run| &run.channels).collect()
    };
    shown.retain(|c| wanted(&c.name) && spec.y.of_channel(c).is_some());
    let total = shown.len();
    if total > BARS {
        shown.sort_by(|a, b| tightness(b).total_cmp(&tightness(a)));
        shown.truncate(BARS);
    }
    let bars = shown.into_iter().map(|c| Bar {
        name: c.name.clone(),
        value: spec.y.of_channel(c).unwrap_or(0.0),
        bound: c.bound.filter(|v| bounded && v.is_finite()),
        deadline: c.deadline.filter(|v| bounded && v.is_finite()),
        alarm: bounded && (grid::mark(c) == Mark::Broken || c.fails() || c.worst > c.deadline.or(c.worst)),
    });
    (bars.collect(), total)
}

fn rows(root: &Area<'_>, bars: &[Bar], top: f64, unit: &str) {
    let names = bars.iter().map(|b| width(&b.name, 13.0)).fold(0.0, f64::max).clamp(40.0, 210.0);
    let (left, right) = (MARGIN + names + 14.0, WIDE - MARGIN - 150.0);
    let values: Vec<f64> = bars.iter().flat_map(|b| [Some(b.value), b.bound, b.deadline]).flatten().collect();
    let ticks = Ticks::tight(&values);
    let x = |v: f64| left + (v - ticks.from) / (ticks.to - ticks.from) * (right - left);
    let bottom = top + ROW * bars.len() as f64;
    let fractional = ticks.at.iter().any(|v| (v - v.round()).abs() > 1e-9);
    for at in &ticks.at {
        let line = vec![fine((x(*at), top - 4.0)), fine((x(*at), bottom + 4.0))];
        drawn(root.draw(&PathElement::new(line, GRID.stroke_width(FINE as u32))));
        let text = typeset(&crate::present::units::short(*at));
        write(root, &text, (x(*at), bottom + 17.0), 12.0, MUTED, Anchor::Middle);
    }
    write(root, unit, ((left + right) / 2.0, bottom + 36.0), 12.0, MUTED, Anchor::Middle);
    let least = values.iter().copied().filter(|v| *v > 0.0).reduce(f64::min).unwrap_or(1.0);
    let enough = (2.0 - least.log10().floor()).clamp(0.0, 6.0) as usize;
    let decimals = enough.max(if fractional || ticks.to < 10.0 { 3 } else { 2 });
    for (i, bar) in bars.iter().enumerate() {
        let middle = top + ROW * (i as f64 + 0.5);
        write(root, &cut_middle(&bar.name, 13.0, names), (MARGIN, middle), 13.0, INK, Anchor::Start);
        let until = bar.deadline.into_iter().chain(bar.bound).fold(bar.value, f64::max);
        let block = |from: f64, to: f64, half: f64, colour: RGBColor| {
            let corners = [fine((from, middle - half)), fine((to, middle + half))];
            drawn(root.draw(&Rectangle::new(corners, colour.filled())));
        };
        block(x(0.0), x(until), 9.0, BAND);
        block(x(0.0), x(bar.value), 9.0, if bar.alarm { ALARM } else { GOOD });
        if let Some(bound) = bar.bound {
            block(x(bound) - 1.5, x(bound) + 1.5, 13.0, INK);
        }
        if let Some(deadline) = bar.deadline {
            diamond(root, (x(deadline), middle));
        }
        let text = match bar.bound.or(bar.deadline).filter(|limit| *limit > 0.0) {
            Some(limit) => format!(
                "{} of {} {unit}, {} %",
                trimmed(bar.value, decimals),
                trimmed(limit, decimals),
                fixed(bar.value / limit * 100.0, 1)
            ),
            None => format!("{} {unit}", trimmed(bar.value, decimals)),
        };
        let colour = if bar.alarm { ALARM } else { MUTED };
        write(root, &text, (WIDE - MARGIN, middle), 12.0, colour, Anchor::End);
    }
}

fn trimmed(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

fn diamond(root: &Area<'_>, at: (f64, f64)) {
    let corners = |r: f64| {
        vec![fine((at.0, at.1 - r)), fine((at.0 + r, at.1)), fine((at.0, at.1 + r)), fine((at.0 - r, at.1))]
    };
    drawn(root.draw(&Polygon::new(corners(7.5), super::style::PAPER.filled())));
    drawn(root.draw(&Polygon::new(corners(6.0), super::style::LINES[1].filled())));
}

fn legend(root: &Area<'_>, bars: &[Bar]) {
    let y = 52.0;
    let mut x = MARGIN;
    let mut entry = |wide: f64, text: &str, draw: &dyn Fn(f64)| {
        draw(x);
        write(root, text, (x + wide + 7.0, y), 12.5, INK, Anchor::Start);
        x += wide + 7.0 + width(text, 12.5) + 22.0;
    };
    let block = |x: f64, wide: f64, half: f64, colour: RGBColor| {
        let corners = [fine((x, y - half)), fine((x + wide, y + half))];
        drawn(root.draw(&Rectangle::new(corners, colour.filled())));
    };
    entry(26.0, "worst measured", &|x| block(x, 26.0, 6.0, GOOD));
    if bars.iter().any(|b| b.alarm) {
        entry(26.0, "over its bound or deadline", &|x| block(x, 26.0, 6.0, ALARM));
    }
    if bars.iter().any(|b| b.bound.is_some()) {
        entry(6.0, "bound", &|x| block(x + 1.5, 3.0, 9.0, INK));
    }
    if bars.iter().any(|b| b.deadline.is_some()) {
        entry(12.0, "deadline", &|x| diamond(root, (x + 6.0, y)));
    }
}
