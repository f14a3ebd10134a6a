//! An adapter as a table and as a block diagram: the stages of a packet, the cost of each, and
//! which stage saturates first.
//!
//! The totals are of the description alone. A stage with several servers passes packets at a
//! multiple of its rate, and a resource adds up the times of all phases that hold it. So the stage
//! with the longest time need not be the one that limits: in the CIM 250 the limit is the bus that
//! DMA and Fiber Channel share. Host, medium and waiting times need a simulation; the throughput
//! here is an upper bound for packets of one size, sent and not received.

mod diagram;
mod words;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use laxity_model::adapter::{Description, Phase, QueueSelection, Stage};
use laxity_scenario::AdapterFile;
use laxity_units::Bytes;

pub use diagram::svg;
use words::{
    buffers, clean, command_queue, duration, holds, policing, poll, queue, rate, resource, response_queue,
    servers, whose,
};

/// The sizes that tables show.
const SIZES: [Bytes; 4] = [Bytes::new(64), Bytes::new(1500), Bytes::from_kib(4), Bytes::from_kib(64)];

/// The adapter as text for a terminal of `width` columns, ending in a newline; `None` for unlimited
/// width.
pub fn text(file: &AdapterFile, width: Option<u16>) -> String {
    let description = &*file.adapter.described();
    let mut out = format!("{}  {}\n\n", clean(&file.name), clean(&file.title));
    let mut line = |what: &str, says: String| out.push_str(&format!("{what:<17} {says}\n"));
    let interface = &description.interface;
    for (number, queue) in interface.queues.iter().enumerate() {
        line(if number == 0 { "command queues" } else { "" }, command_queue(queue));
    }
    line("commands", poll(interface));
    for (number, queue) in interface.responses.iter().enumerate() {
        line(if number == 0 { "responses" } else { "" }, response_queue(queue, interface.notification));
    }
    line("transmit buffers", buffers(&description.transmit_buffers));
    line("receive buffers", buffers(&description.receive_buffers));
    let both = [("sent", &description.transmit_policing), ("received", &description.receive_policing)];
    for (way, each) in both {
        if let Some(each) = each {
            line("policing", format!("{way}: {}", policing(each)));
        }
    }
    let held = |index: usize| phases(description).any(|phase| phase.holds.contains(&index));
    let resources = description.resources.iter().enumerate().filter(|(index, _)| held(*index));
    for (number, (_, each)) in resources.enumerate() {
        line(if number == 0 { "resources" } else { "" }, resource(each));
    }
    out.push('\n');
    out.push_str(&stages("transmit", &description.transmit, description, width));
    if description.receive.is_empty() {
        out.push_str("\nreceive: a frame is at the host as soon as it has come in\n");
    } else {
        out.push('\n');
        out.push_str(&stages("receive", &description.receive, description, width));
    }
    out.push('\n');
    out.push_str(&limits(description, width));
    out
}

fn phases(description: &Description) -> impl Iterator<Item = &Phase> {
    description.transmit.iter().chain(&description.receive).flat_map(|stage| &stage.phases)
}

/// A row per phase, with the queues at the first phase of a stage, and a sum of all.
fn stages(side: &str, stages: &[Stage], description: &Description, width: Option<u16>) -> String {
    let mut table = table(width);
    let head = [side, "servers", "queues", "phase", "whose", "holds"].map(String::from);
    table.set_header(head.into_iter().chain(SIZES.map(|size| size.to_string())));
    for stage in stages {
        for (number, phase) in stage.phases.iter().enumerate() {
            let first = |text: String| if number == 0 { text } else { String::new() };
            let queues: Vec<String> = stage.queues.iter().map(queue).collect();
            let turn = if stage.selection == QueueSelection::RoundRobin { " in turn" } else { "" };
            let times = SIZES.map(|size| match phase.applies(size) {
                true => duration(phase.time(size)),
                false => "-".into(),
            });
            let row = [
                first(clean(&stage.name)),
                first(servers(stage)),
                first(queues.join("; ") + turn),
                words::phase(phase).join(" + "),
                whose(phase),
                holds(phase, &description.resources),
            ];
            table.add_row(row.into_iter().chain(times));
        }
    }
    let sums = SIZES.map(|size| duration(stages.iter().map(|stage| stage.service(size)).sum()));
    let row = ["sum", "", "", "", "", ""].map(String::from);
    table.add_row(row.into_iter().chain(sums));
    numbers_right(&mut table, 6);
    lines(&table)
}

/// The time of a packet of each size on the limiting part, and the throughput that follows.
fn limits(description: &Description, width: Option<u16>) -> String {
    let mut table = table(width);
    table.set_header(["packets of", "limited by", "which takes", "throughput at most"]);
    for size in SIZES {
        let (part, time) = description.bottleneck(size);
        let part = clean(&part);
        let throughput = if time.is_zero() { "-".into() } else { rate(size, time) };
        table.add_row([size.to_string(), part, duration(time), throughput]);
    }
    numbers_right(&mut table, 2);
    lines(&table)
}

fn table(width: Option<u16>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    match width {
        Some(width) => table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
        None => table.set_content_arrangement(ContentArrangement::Disabled),
    };
    table
}

fn numbers_right(table: &mut Table, from: usize) {
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if number == 0 { 0 } else { 1 }, 1));
        if number >= from {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

fn lines(table: &Table) -> String {
    table.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests;
