//! One direction through the adapter: a row of stages with their queues, from left to right or
//! mirrored.

use laxity_model::adapter::{PROCESSOR, Phase, QueueSelection, Stage, Takes, Tells};
use laxity_qos::discipline::Class;

use super::super::words::{clean, phase, room, times, whose};
use super::{COLOURS, DASHED, DELAY, FRAME, HEAD, NOTE, QUEUE_PITCH, SYNCHRONOUS, TEXT, THIN, WORK, spread};
use crate::present::svg::{Anchor, Colour, Drawing, Pen};

/// From the entry of a stage's unit to its queues, and from them to its box.
const ENTRY: f64 = 26.0;
const QUEUE: f64 = 56.0;
const MERGE: f64 = 22.0;
const BOX: f64 = 150.0;
const HEADER: f64 = 22.0;
const LANE: f64 = 8.0;
/// How far a box reaches below where packets enter, at least.
const FOOT: f64 = 16.0;

/// A row of stages.
pub(super) struct Row<'a> {
    stages: &'a [Stage],
    /// The resources that are drawn, by index.
    rails: Vec<usize>,
    /// Whether packets go from right to left.
    mirrored: bool,
}

/// Where a row is drawn.
pub(super) struct Place<'a> {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    /// Height at which packets enter and leave stages.
    pub(super) flow: f64,
    /// Height of each rail.
    pub(super) rail: &'a dyn Fn(usize) -> f64,
}

impl<'a> Row<'a> {
    pub(super) fn new(stages: &'a [Stage], rails: Vec<usize>, mirrored: bool) -> Self {
        Self { stages, rails, mirrored }
    }

    /// Of a stage with its queues and wires.
    fn unit(&self) -> f64 {
        ENTRY + QUEUE + MERGE + BOX + LANE * self.rails.len() as f64 + 8.0
    }

    pub(super) fn width(&self) -> f64 {
        self.unit() * self.stages.len() as f64
    }

    /// From the upper edge of the boxes to where packets enter.
    pub(super) fn above(&self) -> f64 {
        let queues = self.stages.iter().map(|stage| stage.queues.len()).max().unwrap_or(0);
        spread(queues) + 34.0
    }

    /// The lower edge of the row.
    pub(super) fn bottom(&self, top: f64, flow: f64) -> f64 {
        let lowest = |stage: &Stage| {
            (top + height(stage)).max(flow + FOOT).max(flow + spread(stage.queues.len()) + 40.0)
        };
        self.stages.iter().map(lowest).fold(flow + 10.0, f64::max)
    }

    /// The position `along` the row, from where packets enter it.
    fn x(&self, place: &Place<'_>, along: f64) -> f64 {
        if self.mirrored { place.right - along } else { place.left + along }
    }

    /// The left edge of something of `width` that begins at `along`.
    fn edge(&self, place: &Place<'_>, along: f64, width: f64) -> f64 {
        if self.mirrored { self.x(place, along) - width } else { self.x(place, along) }
    }

    /// Where the box of a stage begins.
    fn at(&self, number: usize) -> f64 {
        self.unit() * number as f64 + ENTRY + QUEUE + MERGE
    }

    pub(super) fn draw(&self, drawing: &mut Drawing, place: &Place<'_>) {
        for (number, stage) in self.stages.iter().enumerate() {
            self.queues(drawing, place, number, stage);
            self.stage(drawing, place, number, stage);
            if number + 1 < self.stages.len() {
                let (from, to) = (self.at(number) + BOX, self.unit() * (number + 1) as f64);
                drawing.line(&[(self.x(place, from), place.flow), (self.x(place, to), place.flow)], THIN);
            }
        }
    }

    fn queues(&self, drawing: &mut Drawing, place: &Place<'_>, number: usize, stage: &Stage) {
        let start = self.unit() * number as f64;
        let (split, entry) = (start + ENTRY - 16.0, start + ENTRY);
        let (exit, merge) = (entry + QUEUE, entry + QUEUE + 8.0);
        let x = |along: f64| self.x(place, along);
        let mut sorted: Vec<_> = stage.queues.iter().collect();
        sorted.sort_by_key(|queue| queue.priority);
        drawing.line(&[(x(start), place.flow), (x(split), place.flow)], THIN);
        for (number, each) in sorted.iter().enumerate() {
            let y = place.flow - spread(sorted.len()) + QUEUE_PITCH * number as f64;
            drawing.arrow(&[(x(split), place.flow), (x(split), y), (x(entry), y)], THIN);
            let label = match class(each.takes) {
                Some(class) => format!("{}{} {class}", times(each.spread), each.order.short()),
                None => format!("{}{}", times(each.spread), each.order.short()),
            };
            let at = (self.edge(place, entry, QUEUE), y);
            queue(drawing, at, QUEUE, self.mirrored, &label, room(each).as_deref());
            drawing.line(&[(x(exit), y), (x(merge), y), (x(merge), place.flow)], THIN);
        }
        drawing.arrow(&[(x(merge), place.flow), (x(self.at(number)), place.flow)], THIN);
        if stage.selection == QueueSelection::RoundRobin && sorted.len() > 1 {
            let y = place.flow + spread(sorted.len()) + 38.0;
            drawing.text((x(entry + QUEUE / 2.0), y), Anchor::Middle, NOTE, "in turn");
        }
    }

    fn stage(&self, drawing: &mut Drawing, place: &Place<'_>, number: usize, stage: &Stage) {
        let along = self.at(number);
        let x = self.edge(place, along, BOX);
        drawing.rectangle(
            [x, place.top, BOX, height(stage).max(place.flow + FOOT - place.top)],
            "#f6f6f6",
            THIN,
            3.0,
        );
        let servers = match (stage.servers, stage.batch) {
            (1, 1) => String::new(),
            (servers, 1) => format!("×{servers}"),
            (servers, batch) => format!("×{servers}·{batch}"),
        };
        let name = fitting(&clean(&stage.name), 19 - servers.chars().count());
        drawing.text((x + 7.0, place.top + 15.0), Anchor::Start, HEAD, &name);
        drawing.text((x + BOX - 7.0, place.top + 15.0), Anchor::End, TEXT, &servers);
        let mut y = place.top + HEADER;
        // Where each rail's wire leaves the stage, from the highest of its phases.
        let mut wires: Vec<(usize, Vec<f64>)> = self.rails.iter().map(|rail| (*rail, Vec::new())).collect();
        for each in &stage.phases {
            let height = phase_height(each);
            drawing.rectangle([x + 5.0, y, BOX - 10.0, height - 5.0], fill(each), THIN, 2.0);
            let mut line = y + 13.0;
            for term in terms(each) {
                drawing.text((x + 11.0, line), Anchor::Start, TEXT, &term);
                line += 13.0;
            }
            drawing.text((x + 11.0, line - 1.0), Anchor::Start, NOTE, &fitting(&whose(each), 28));
            let held = wires.iter_mut().filter(|(rail, _)| each.holds.contains(rail));
            for (position, (_, dots)) in held.enumerate() {
                dots.push(y + 8.0 + 6.0 * position as f64);
            }
            y += height;
        }
        for (lane, (_, dots)) in wires.iter().enumerate() {
            let colour = COLOURS[lane % COLOURS.len()];
            let (edge, wire) =
                (self.x(place, along + BOX - 5.0), self.x(place, along + BOX + 8.0 + LANE * lane as f64));
            let pen = Pen { colour, width: 1.4, dashed: false };
            let rail = (place.rail)(lane);
            for dot in dots {
                drawing.line(&[(edge, *dot), (wire, *dot)], pen);
                drawing.dot((edge, *dot), 2.4, colour);
            }
            let ends = if self.mirrored { dots.last() } else { dots.first() };
            if let Some(end) = ends {
                drawing.line(&[(wire, *end), (wire, rail)], pen);
                drawing.dot((wire, rail), 3.2, colour);
            }
        }
    }

    /// The adapter's responses to the host, on a line above the stages to `host`.
    pub(super) fn responses(&self, drawing: &mut Drawing, place: &Place<'_>, host: f64, says: &str) {
        let y = place.top - 30.0;
        let Some(last) = self.stages.len().checked_sub(1) else { return };
        let x = |number: usize, part: f64| self.x(place, self.at(number) + BOX * part);
        drawing.arrow(&[(x(last, 0.5), place.top), (x(last, 0.5), y), (host, y)], DASHED);
        for (number, stage) in self.stages.iter().enumerate() {
            if number < last && stage.phases.iter().any(|phase| phase.tells != Tells::Nothing) {
                drawing.line(&[(x(number, 0.5), place.top), (x(number, 0.5), y)], DASHED);
                drawing.dot((x(number, 0.5), y), 2.0, DASHED.colour);
            }
        }
        drawing.text((host + 14.0, y - 5.0), Anchor::Start, NOTE, says);
    }

    /// Frames on the path to the medium: after the phase on it, or after all.
    pub(super) fn frames(&self, drawing: &mut Drawing, place: &Place<'_>) {
        let Some(last) = self.stages.len().checked_sub(1) else { return };
        let link = self.stages.iter().position(|stage| stage.phases.iter().any(|phase| phase.medium));
        let end = |number: usize| self.x(place, self.at(number) + BOX);
        match link {
            Some(link) if link != last => {
                let (x, y) = (end(link) - 20.0, place.top - 14.0);
                drawing.arrow(&[(x, place.top), (x, y), (place.right, y)], FRAME);
                drawing.text((place.right - 10.0, y - 5.0), Anchor::End, NOTE, "frames");
            }
            _ => drawing.arrow(&[(end(last), place.flow), (place.right, place.flow)], FRAME),
        }
    }

    /// Received frames, from the medium and to the host.
    pub(super) fn received(&self, drawing: &mut Drawing, place: &Place<'_>) {
        let (start, host) = (place.right, place.left);
        match self.stages.len().checked_sub(1) {
            None => {
                drawing.arrow(&[(start, place.flow), (host, place.flow)], FRAME);
                let middle = (start + host) / 2.0;
                drawing.text((middle, place.flow - 6.0), Anchor::Middle, NOTE, "received frames");
            }
            Some(last) => {
                drawing.line(&[(start, place.flow), (start - 6.0, place.flow)], FRAME);
                let from = self.x(place, self.at(last) + BOX);
                drawing.arrow(&[(from, place.flow), (host, place.flow)], THIN);
                drawing.text((host + 14.0, place.flow - 6.0), Anchor::Start, NOTE, "received");
            }
        }
    }

    /// The bracket of the stages between which the buffers are held.
    pub(super) fn bracket(&self, drawing: &mut Drawing, place: &Place<'_>, bottom: f64, says: &str) {
        let Some(last) = self.stages.len().checked_sub(1) else { return };
        let (from, to) = (self.x(place, ENTRY), self.x(place, self.at(last) + BOX));
        let y = bottom + 10.0;
        drawing.line(&[(from, y - 4.0), (from, y), (to, y), (to, y - 4.0)], DASHED);
        // There are no wires on the input side.
        let anchor = if self.mirrored { Anchor::End } else { Anchor::Start };
        drawing.text((from, y + 12.0), anchor, NOTE, says);
    }
}

fn fill(phase: &Phase) -> Colour {
    match (phase.work, phase.holds.contains(&PROCESSOR)) {
        (true, _) => WORK,
        (false, true) => SYNCHRONOUS,
        (false, false) => DELAY,
    }
}

/// The terms of a phase, with a plus before each but the first.
fn terms(each: &Phase) -> Vec<String> {
    let terms = phase(each).into_iter().enumerate();
    terms.map(|(number, term)| if number == 0 { term } else { format!("+ {term}") }).collect()
}

fn phase_height(phase: &Phase) -> f64 {
    13.0 * (terms(phase).len() + 1) as f64 + 10.0
}

fn height(stage: &Stage) -> f64 {
    HEADER + stage.phases.iter().map(phase_height).sum::<f64>()
}

/// The short name of a class; `None` for all classes.
pub(super) fn class(takes: Takes) -> Option<String> {
    match takes {
        Takes::All => None,
        Takes::Only(Class::RealTime) => Some("RT".into()),
        Takes::Only(Class::BestEffort) => Some("BE".into()),
        Takes::Levels(from, to) => Some(format!("{from}-{to}")),
    }
}

/// A queue of `width` from `x` on around `y`, open on its input side, and its labels.
pub(super) fn queue(
    drawing: &mut Drawing,
    (x, y): (f64, f64),
    width: f64,
    mirrored: bool,
    label: &str,
    room: Option<&str>,
) {
    let (entry, exit) = if mirrored { (x + width, x) } else { (x, x + width) };
    let inward = if mirrored { 1.0 } else { -1.0 };
    drawing.rectangle([x, y - 11.0, width, 22.0], "#ffffff", Pen { width: 0.0, ..THIN }, 0.0);
    drawing.line(&[(entry, y - 11.0), (exit, y - 11.0), (exit, y + 11.0), (entry, y + 11.0)], THIN);
    for bar in 1..=3 {
        let at = exit + inward * 10.0 * f64::from(bar);
        drawing.line(&[(at, y - 11.0), (at, y + 11.0)], Pen { width: 0.8, ..THIN });
    }
    let middle = x + width / 2.0;
    drawing.text((middle, y - 15.0), Anchor::Middle, NOTE, label);
    if let Some(room) = room {
        drawing.text((middle, y + 22.0), Anchor::Middle, NOTE, room);
    }
}

/// `text` in at most `most` characters.
fn fitting(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        None => text.to_string(),
    }
}
