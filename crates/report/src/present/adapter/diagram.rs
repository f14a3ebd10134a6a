//! An adapter as a block diagram.
//!
//! ```text
//!        ◀┄┄┄┄┄┄┄┄ responses ┄┄┄┄┄┄┄┄┄┄┄┐
//!  host ─▶ command queues ─▶ queues ▸ stage ─▶ queues ▸ stage ─▶ ║ medium
//!                                       │                 │      ║
//!                        resource ━━━━━━●━━━━━━━━━━━━━━━━━●━━━   ║
//!                                                         │      ║
//!       ◀───────────────────────────── stage ◂ queues ◀───────── ║
//! ```
//!
//! A resource is a rail from left to right, as a bus is drawn in a circuit: a phase that holds it
//! has a dot at its edge and a wire to the rail. With an arrow for each pair of phase and resource,
//! four stages on two resources would be illegible.

mod row;

use laxity_model::adapter::{AdapterBuffers, BufferPool, CommandQueue, Description, HostSide, PROCESSOR};

use super::AdapterFile;
use super::words::{buffers, clean, poll, resource, response_queue, times};
use crate::present::svg::{Anchor, Colour, Drawing, Pen, Type};
use row::{Row, queue};

const INK: Colour = "#222222";
const FAINT: Colour = "#666666";
const THIN: Pen = Pen { colour: INK, width: 1.1, dashed: false };
const DASHED: Pen = Pen { colour: FAINT, width: 1.0, dashed: true };
const FRAME: Pen = Pen { colour: INK, width: 2.2, dashed: false };
const TEXT: Type = Type { size: 11.0, bold: false, colour: INK };
const NOTE: Type = Type { size: 9.5, bold: false, colour: FAINT };
const HEAD: Type = Type { size: 12.0, bold: true, colour: INK };
const WORK: Colour = "#dbe7f3";
const SYNCHRONOUS: Colour = "#f7e6cf";
const DELAY: Colour = "#ffffff";
/// The processor's colour first; colour-blind readers can distinguish them (Tol's bright scheme).
const COLOURS: [Colour; 6] = ["#4477aa", "#ee6677", "#228833", "#aa3377", "#ccbb44", "#66ccee"];

const MARGIN: f64 = 18.0;
const HOST: f64 = 64.0;
/// From the host to its command queues, and from there to the first stage.
const COMMANDS: f64 = 128.0;
const RAIL: f64 = 24.0;
/// Of a queue with what is written above and below it.
const QUEUE_PITCH: f64 = 52.0;

/// The adapter as an SVG file.
pub fn svg(file: &AdapterFile) -> String {
    let description = &*file.adapter.described();
    let held = |index: usize| super::phases(description).any(|phase| phase.holds.contains(&index));
    let rails: Vec<usize> = (0..description.resources.len()).filter(|index| held(*index)).collect();
    let left = MARGIN + HOST;
    let transmit = Row::new(&description.transmit, rails.clone(), false);
    let receive = Row::new(&description.receive, rails.clone(), true);
    let right = left + (COMMANDS + transmit.width()).max(receive.width() + 60.0) + 30.0;
    let commands = spread(description.interface.queues.len());

    let mut drawing = Drawing::default();
    let title = format!("{} ({})", clean(&file.title), clean(&file.name));
    drawing.text((MARGIN, MARGIN + 8.0), Anchor::Start, Type { size: 14.0, ..HEAD }, &title);
    let top = MARGIN + 78.0;
    let flow = top + transmit.above().max(commands + 30.0);
    let bottom = transmit.bottom(top, flow).max(flow + commands + 44.0);
    let with_bracket = |pool: &AdapterBuffers| if pool.pool == BufferPool::Unlimited { 0.0 } else { 24.0 };
    let first_rail = bottom + 26.0 + with_bracket(&description.transmit_buffers);
    let rail = |number: usize| first_rail + RAIL * number as f64;
    let receive_top = rail(rails.len()) + 26.0;
    let receive_flow = receive_top + receive.above();
    let receive_bottom = receive.bottom(receive_top, receive_flow);
    let end = receive_bottom + with_bracket(&description.receive_buffers);

    // The rails lie below everything that crosses them.
    for (number, index) in rails.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let y = rail(number);
        drawing.line(&[(left + 26.0, y), (right - 16.0, y)], Pen { colour, width: 2.6, dashed: false });
        let name = resource(&description.resources[*index]);
        drawing.text((left + 28.0, y - 5.0), Anchor::Start, Type { colour, ..NOTE }, &name);
    }
    ends(&mut drawing, left, right, top - 40.0, end + 8.0);
    interface(&mut drawing, &description.interface, left, flow);

    let place = row::Place { left: left + COMMANDS, right, top, flow, rail: &rail };
    transmit.draw(&mut drawing, &place);
    let interface = &description.interface;
    let says: Vec<_> =
        interface.responses.iter().map(|queue| response_queue(queue, interface.notification)).collect();
    let says = format!("responses: {}", says.join("; "));
    transmit.responses(&mut drawing, &place, left, &says);
    transmit.frames(&mut drawing, &place);
    if description.transmit_buffers.pool != BufferPool::Unlimited {
        transmit.bracket(
            &mut drawing,
            &place,
            bottom,
            &format!("transmit buffers: {}", buffers(&description.transmit_buffers)),
        );
    }

    let place = row::Place { left, right, top: receive_top, flow: receive_flow, rail: &rail };
    receive.draw(&mut drawing, &place);
    receive.received(&mut drawing, &place);
    if description.receive_buffers.pool != BufferPool::Unlimited && !description.receive.is_empty() {
        receive.bracket(
            &mut drawing,
            &place,
            receive_bottom,
            &format!("receive buffers: {}", buffers(&description.receive_buffers)),
        );
    }

    let lowest = legend(&mut drawing, description, end + 34.0, right + 14.0);
    let width = (right + 14.0).max(MARGIN + title.chars().count() as f64 * 7.2) + MARGIN;
    drawing.finish("adapter", &title, width, lowest + 14.0)
}

/// The distance from the middle of the first of `queues` queues to the middle of all.
fn spread(queues: usize) -> f64 {
    queues.saturating_sub(1) as f64 * QUEUE_PITCH / 2.0
}

/// The host at the left and the medium at the right, as high as both ways.
fn ends(drawing: &mut Drawing, left: f64, right: f64, top: f64, bottom: f64) {
    drawing.rectangle([MARGIN, top, HOST, bottom - top], "#eeeeee", THIN, 3.0);
    let middle = (top + bottom) / 2.0;
    drawing.text(((MARGIN + left) / 2.0, middle + 4.0), Anchor::Middle, HEAD, "host");
    drawing.rectangle([right, top, 14.0, bottom - top], "#dddddd", THIN, 0.0);
    drawing.turned((right + 3.5, middle), 90.0, Anchor::Middle, HEAD, "medium");
}

fn interface(drawing: &mut Drawing, interface: &HostSide, left: f64, flow: f64) {
    let mut queues: Vec<&CommandQueue> = interface.queues.iter().collect();
    queues.sort_by_key(|queue| queue.priority);
    let (x, width) = (left + 34.0, 56.0);
    for (number, command) in queues.iter().enumerate() {
        let y = flow - spread(queues.len()) + QUEUE_PITCH * number as f64;
        let room = match command.slots {
            None => None,
            Some(1) => Some("mailbox".to_string()),
            Some(slots) => Some(slots.to_string()),
        };
        let class = row::class(command.takes).unwrap_or("commands".into());
        let class = format!("{}{class}", times(command.spread));
        queue(drawing, (x, y), width, false, &class, room.as_deref());
        drawing.arrow(&[(left, y), (x, y)], THIN);
        drawing.line(&[(x + width, y), (x + width + 12.0, y), (x + width + 12.0, flow)], THIN);
    }
    drawing.line(&[(x + width + 12.0, flow), (left + COMMANDS, flow)], THIN);
    let below = flow + spread(queues.len()) + 38.0;
    // Starts at the host's edge: long text centred below the queues would begin inside the host.
    drawing.text((left + 4.0, below), Anchor::Start, NOTE, &poll(interface));
}

/// The meaning of fills and letters, in as many lines as needed; returns the lowest y.
fn legend(drawing: &mut Drawing, description: &Description, y: f64, right: f64) -> f64 {
    let is = |work: bool, held: bool| {
        super::phases(description).any(|p| p.work == work && p.holds.contains(&PROCESSOR) == held)
    };
    let stages = || description.transmit.iter().chain(&description.receive);
    let classes = stages().flat_map(|s| &s.queues).any(|queue| row::class(queue.takes).is_some());
    let ends = stages().flat_map(|s| &s.queues).any(|queue| queue.slots.is_some());
    let entries = [
        (is(true, true), Some(WORK), "work of the processor"),
        (is(false, true), Some(SYNCHRONOUS), "delay that keeps the processor waiting"),
        (is(false, false), Some(DELAY), "delay of the hardware"),
        (stages().any(|stage| stage.servers > 1), None, "×n: n servers"),
        (stages().any(|stage| stage.batch > 1), None, "×n·m: of m packets each"),
        (classes, None, "RT, BE: only real time, best effort"),
        (ends, None, "below a queue: its places, and what becomes of one too many"),
    ];
    let (mut x, mut y) = (MARGIN, y);
    for (_, fill, text) in entries.into_iter().filter(|(is, ..)| *is) {
        let swatch = if fill.is_some() { 19.0 } else { 0.0 };
        let width = swatch + text.chars().count() as f64 * 4.7;
        if x > MARGIN && x + width > right {
            (x, y) = (MARGIN, y + 17.0);
        }
        if let Some(fill) = fill {
            drawing.rectangle([x, y - 9.0, 14.0, 11.0], fill, THIN, 0.0);
        }
        drawing.text((x + swatch, y), Anchor::Start, NOTE, text);
        x += width + 20.0;
    }
    y
}
