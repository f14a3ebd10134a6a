//! Colours, type and the SVG frame of all figures.
//!
//! Plotters draws on whole pixels; figures are drawn on a canvas [`FINE`] times as large and scaled
//! down, so that lines end at their exact values.

use laxity_world::text::clean;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Canvas pixels per shown pixel.
pub(super) const FINE: i32 = 8;

pub(super) const PAPER: RGBColor = RGBColor(0xff, 0xff, 0xff);
pub(super) const INK: RGBColor = RGBColor(0x1d, 0x25, 0x2c);
pub(super) const MUTED: RGBColor = RGBColor(0x5b, 0x67, 0x70);
pub(super) const GRID: RGBColor = RGBColor(0xe3, 0xe7, 0xea);
pub(super) const AXIS: RGBColor = RGBColor(0x9a, 0xa5, 0xad);
pub(super) const BAND: RGBColor = RGBColor(0xf1, 0xf4, 0xf6);
pub(super) const ALARM: RGBColor = RGBColor(0xc6, 0x28, 0x28);
pub(super) const GOOD: RGBColor = RGBColor(0x2f, 0x7f, 0xb5);

/// The palette of Okabe and Ito, with colours that are distinct in every common colour-blindness.
/// The yellow, which is invisible on white paper, is replaced; markers distinguish lines in a grey
/// print.
pub(super) const LINES: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xa8, 0x4f, 0x8b),
    RGBColor(0xd9, 0x93, 0x00),
    RGBColor(0x4f, 0xae, 0xdf),
    RGBColor(0x6b, 0x5b, 0x4f),
];

/// Colours on dark paper, in pairs with those on white.
const DARK: &[(RGBColor, &str)] = &[
    (PAPER, "#161b20"),
    (INK, "#e8ecef"),
    (MUTED, "#9fabb4"),
    (GRID, "#2a3239"),
    (AXIS, "#66727b"),
    (BAND, "#232b32"),
    (ALARM, "#ff6b6b"),
    (GOOD, "#4fa3d8"),
    (LINES[0], "#4aa3df"),
    (LINES[1], "#ff8a3d"),
    (LINES[2], "#2fc79a"),
    (LINES[3], "#dd8fc3"),
    (LINES[4], "#f0b43c"),
    (LINES[5], "#8fd0f5"),
    (LINES[6], "#c2ad9c"),
];

/// The colour of the line that has a look.
pub(super) fn colour(look: usize) -> RGBColor {
    LINES[look % LINES.len()]
}

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Runs `draw` on a canvas of that size and gives the document.
pub(super) fn document(size: (i32, i32), label: &str, draw: impl FnOnce(&Area<'_>)) -> String {
    let mut body = String::new();
    {
        let canvas = ((size.0 * FINE) as u32, (size.1 * FINE) as u32);
        let root = SVGBackend::with_string(&mut body, canvas).into_drawing_area();
        drawn(root.fill(&PAPER));
        draw(&root);
        drawn(root.present());
    }
    // The library's own opening tag sizes the figure by its canvas and has no text for a screen
    // reader.
    let body = body.split_once('>').map_or("", |(_, rest)| rest).trim_start();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"laxity-figure\" role=\"img\" aria-label=\"{}\" \
         width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\">\n<style>{}</style>\n{body}",
        escaped(label),
        size.0,
        size.1,
        size.0 * FINE,
        size.1 * FINE,
        sheet(),
    )
}

/// Drawing into a string fails only if the library breaks.
pub(super) fn drawn<T, E: std::fmt::Debug>(result: Result<T, E>) -> T {
    result.expect("drawing into memory succeeds")
}

fn sheet() -> String {
    let mut sheet = String::from(
        ".laxity-figure text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',\
         'DejaVu Sans',sans-serif;font-variant-numeric:tabular-nums}\
         .laxity-figure polyline{stroke-linejoin:round;stroke-linecap:round}\
         @media screen and (prefers-color-scheme:dark){",
    );
    for (light, dark) in DARK {
        let light = format!("#{:02X}{:02X}{:02X}", light.0, light.1, light.2);
        for attribute in ["fill", "stroke"] {
            sheet.push_str(&format!(".laxity-figure [{attribute}=\"{light}\"]{{{attribute}:{dark}}}"));
        }
    }
    sheet.push('}');
    sheet
}

/// Which way a text runs from where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A text style of that size in shown pixels, for the library's own labels.
pub(super) fn font(size: f64, colour: RGBColor) -> TextStyle<'static> {
    // The library treats the size as a line height and writes a font size of 1/1.24 of it.
    ("sans-serif", size * 1.24 * f64::from(FINE)).into_font().color(&colour)
}

/// Writes `text` with its middle at height `at.1`.
pub(super) fn write(
    area: &Area<'_>,
    text: &str,
    at: (f64, f64),
    size: f64,
    colour: RGBColor,
    anchor: Anchor,
) {
    let h = match anchor {
        Anchor::Start => HPos::Left,
        Anchor::Middle => HPos::Center,
        Anchor::End => HPos::Right,
    };
    let style = font(size, colour).pos(Pos::new(h, VPos::Center));
    drawn(area.draw(&Text::new(clean(text), fine(at), style)));
}

/// The same in bold, from its start.
pub(super) fn write_bold(area: &Area<'_>, text: &str, at: (f64, f64), size: f64) {
    let bold = ("sans-serif", size * 1.24 * f64::from(FINE), FontStyle::Bold).into_font().color(&INK);
    let style = bold.pos(Pos::new(HPos::Left, VPos::Center));
    drawn(area.draw(&Text::new(clean(text), fine(at), style)));
}

/// Shown pixels as canvas pixels.
pub(super) fn fine(at: (f64, f64)) -> (i32, i32) {
    let f = f64::from(FINE);
    ((at.0 * f).round() as i32, (at.1 * f).round() as i32)
}

/// The approximate width of `text` at that size: the fonts are the reader's, so the exact width is
/// unknown.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let narrow =
        |c: char| matches!(c, 'i' | 'l' | 'j' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | ' ' | 't' | 'f');
    text.chars()
        .map(|c| {
            if narrow(c) {
                0.34
            } else if c.is_uppercase() || c == 'm' || c == 'w' {
                0.78
            } else {
                0.6
            }
        })
        .sum::<f64>()
        * size
}

/// `text` cut to fit into `room`, with an ellipsis if some of it is missing.
pub(super) fn cut(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.into();
    }
    let mut kept = String::new();
    for c in clean(text).chars() {
        if width(&kept, size) + 1.4 * size > room {
            break;
        }
        kept.push(c);
    }
    format!("{}…", kept.trim_end())
}

/// `text` cut to fit into `room` without its middle: names in a row differ at their ends.
pub(super) fn cut_middle(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.into();
    }
    let letters: Vec<char> = text.chars().collect();
    let joined = |kept: usize| -> String {
        let head = letters[..kept.div_ceil(2)].iter().collect::<String>();
        let tail = letters[letters.len() - kept / 2..].iter().collect::<String>();
        format!("{}…{}", head.trim_end(), tail.trim_start())
    };
    (0..letters.len()).rev().map(joined).find(|short| width(short, size) <= room).unwrap_or_default()
}

/// Draws the marker of a look around a canvas position.
pub(super) fn marker(area: &Area<'_>, at: (i32, i32), look: usize, radius: f64) {
    let fill = colour(look).filled();
    match corners(at, look, radius) {
        Some(corners) => drawn(area.draw(&Polygon::new(corners, fill))),
        None => drawn(area.draw(&Circle::new(at, (radius * f64::from(FINE)).round() as i32, fill))),
    }
}

/// The outline of a marker, in the colour of text: a value that was printed and not measured.
pub(super) fn hollow(area: &Area<'_>, at: (i32, i32), look: usize, radius: f64) {
    let stroke = INK.stroke_width((1.6 * f64::from(FINE)) as u32);
    match corners(at, look, radius) {
        Some(mut corners) => {
            corners.push(corners[0]);
            drawn(area.draw(&PathElement::new(corners, stroke)));
        }
        None => drawn(area.draw(&Circle::new(at, (radius * f64::from(FINE)).round() as i32, stroke))),
    }
}

/// The corners of a marker; `None` for a circle.
fn corners(at: (i32, i32), look: usize, radius: f64) -> Option<Vec<(i32, i32)>> {
    let r = radius * f64::from(FINE);
    let point = |dx: f64, dy: f64| (at.0 + (dx * r).round() as i32, at.1 + (dy * r).round() as i32);
    Some(match look % 5 {
        0 => return None,
        1 => vec![point(-0.9, -0.9), point(0.9, -0.9), point(0.9, 0.9), point(-0.9, 0.9)],
        2 => vec![point(0.0, -1.25), point(1.15, 0.8), point(-1.15, 0.8)],
        3 => vec![point(0.0, -1.35), point(1.35, 0.0), point(0.0, 1.35), point(-1.35, 0.0)],
        _ => vec![point(0.0, 1.25), point(1.15, -0.8), point(-1.15, -0.8)],
    })
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in clean(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
