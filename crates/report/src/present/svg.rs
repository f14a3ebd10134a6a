//! The few shapes that a diagram is drawn with.

use std::fmt::Write;

use laxity_world::text::clean;

/// A colour, `#rrggbb`.
pub(super) type Colour = &'static str;

/// Where text stands from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How text looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Type {
    pub(super) size: f64,
    pub(super) bold: bool,
    pub(super) colour: Colour,
}

/// How a line looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pen {
    pub(super) colour: Colour,
    pub(super) width: f64,
    pub(super) dashed: bool,
}

/// A drawing; coordinates in pixels from its upper left corner.
#[derive(Debug, Default)]
pub(super) struct Drawing(String);

impl Drawing {
    /// A rectangle with its left upper corner at `(x, y)`.
    pub(super) fn rectangle(&mut self, [x, y, w, h]: [f64; 4], fill: Colour, pen: Pen, round: f64) {
        let stroke = stroke(pen);
        let _ = writeln!(
            self.0,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{w:.1}" height="{h:.1}" rx="{round}" fill="{fill}"{stroke}/>"#
        );
    }

    /// Straight lines from point to point.
    pub(super) fn line(&mut self, points: &[(f64, f64)], pen: Pen) {
        self.polyline(points, pen);
    }

    /// The same, with a head at the end.
    pub(super) fn arrow(&mut self, points: &[(f64, f64)], pen: Pen) {
        self.polyline(points, pen);
        // Drawn as a shape and not as a marker, which some SVG programs do not support.
        if let [.., (ax, ay), (bx, by)] = *points {
            let length = (bx - ax).hypot(by - ay).max(1e-9);
            let (ux, uy) = ((bx - ax) / length, (by - ay) / length);
            let (long, half) = (6.0 + pen.width, 2.4 + pen.width * 0.6);
            let (rx, ry) = (bx - ux * long, by - uy * long);
            let (px, py) = (-uy * half, ux * half);
            let _ = writeln!(
                self.0,
                r#"<polygon points="{bx:.1},{by:.1} {:.1},{:.1} {:.1},{:.1}" fill="{}"/>"#,
                rx + px,
                ry + py,
                rx - px,
                ry - py,
                pen.colour
            );
        }
    }

    fn polyline(&mut self, points: &[(f64, f64)], pen: Pen) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(self.0, r#"<polyline points="{}" fill="none"{}/>"#, points.join(" "), stroke(pen));
    }

    /// A filled circle.
    pub(super) fn dot(&mut self, (x, y): (f64, f64), radius: f64, fill: Colour) {
        let _ = writeln!(self.0, r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius}" fill="{fill}"/>"#);
    }

    /// A line of text with its baseline at `y`.
    pub(super) fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, look: Type, text: &str) {
        self.turned((x, y), 0.0, anchor, look, text);
    }

    /// The same, turned clockwise by `degrees` about its start.
    pub(super) fn turned(
        &mut self,
        (x, y): (f64, f64),
        degrees: f64,
        anchor: Anchor,
        look: Type,
        text: &str,
    ) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let weight = if look.bold { r#" font-weight="bold""# } else { "" };
        let turn = match degrees {
            0.0 => String::new(),
            degrees => format!(r#" transform="rotate({degrees} {x:.1} {y:.1})""#),
        };
        let _ = writeln!(
            self.0,
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" font-size="{}" fill="{}"{weight}{turn}>{}</text>"#,
            look.size,
            look.colour,
            escaped(text)
        );
    }

    /// The drawing as a file of that size, on white; `of` is the kind of what it shows.
    pub(super) fn finish(self, of: &str, title: &str, width: f64, height: f64) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"laxity-{of}\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"Helvetica, Arial, sans-serif\">\n\
             <title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
            escaped(title),
            self.0
        )
    }
}

fn stroke(pen: Pen) -> String {
    if pen.width == 0.0 {
        return String::new();
    }
    let dashes = if pen.dashed { r#" stroke-dasharray="4 3""# } else { "" };
    format!(r#" stroke="{}" stroke-width="{}"{dashes}"#, pen.colour, pen.width)
}

/// `text` with XML's special characters escaped and forbidden characters replaced.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}
