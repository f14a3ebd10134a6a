//! The parts of an adapter in a few words, the same in table and diagram.

use laxity_model::adapter::{
    AdapterBuffers, Answers, BufferPool, CommandQueue, Excess, HostSide, LatePolicy, Moderation,
    Notification, Overload, Own, PROCESSOR, Phase, Policing, Queue, QueueSelection, Release, Resource,
    ResponseQueue, Stage, Takes, Tells,
};
use laxity_qos::discipline::Class;
use laxity_units::{Bytes, Span};
pub(super) use laxity_world::text::clean;

/// A time to four digits.
pub(super) fn duration(span: Span) -> String {
    let ps = span.as_ps() as f64;
    let (value, unit) = match span.as_ps() {
        0..1_000_000 => (ps / 1e3, "ns"),
        1_000_000..1_000_000_000 => (ps / 1e6, "us"),
        1_000_000_000..1_000_000_000_000 => (ps / 1e9, "ms"),
        _ => (ps / 1e12, "s"),
    };
    format!("{} {unit}", digits(value))
}

/// `size` in each `time`.
pub(super) fn rate(size: Bytes, time: Span) -> String {
    let per_second = size.get() as f64 * 1e12 / time.as_ps() as f64;
    match per_second {
        r if r < 1024.0 => format!("{} B/s", digits(r)),
        r if r < 1024.0 * 1024.0 => format!("{} KiB/s", digits(r / 1024.0)),
        r => format!("{} MiB/s", digits(r / 1024.0 / 1024.0)),
    }
}

fn digits(value: f64) -> String {
    let decimals = match value {
        v if v >= 1000.0 || v == 0.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// The class of packets that a part takes.
pub(super) fn takes(takes: Takes) -> String {
    match takes {
        Takes::All => "all".into(),
        Takes::Only(Class::RealTime) => "real time".into(),
        Takes::Only(Class::BestEffort) => "best effort".into(),
        Takes::Levels(from, to) => format!("levels {from} to {to}"),
    }
}

/// Before what is there several times.
pub(super) fn times(spread: u32) -> String {
    if spread == 1 { String::new() } else { format!("{spread} x ") }
}

/// How many packets a stage serves at once.
pub(super) fn servers(stage: &Stage) -> String {
    let linger = if stage.linger.is_zero() { String::new() } else { format!(" or {}", stage.linger) };
    let ahead = stage.ahead.map(|ahead| format!(", {ahead} ahead")).unwrap_or_default();
    match stage.batch {
        1 => format!("{}{ahead}", stage.servers),
        batch => format!("{} x {batch}{linger}{ahead}", stage.servers),
    }
}

/// The treatment of a packet that finds the queue full.
pub(super) fn overload(overload: Overload) -> &'static str {
    match overload {
        Overload::Block => "block",
        Overload::Drop => "drop",
        Overload::Priority => "by class",
        Overload::Importance => "by importance",
    }
}

/// The capacity of a queue, and what happens when it is full; `None` for an unbounded queue.
pub(super) fn room(queue: &Queue) -> Option<String> {
    queue.slots.map(|slots| format!("{slots}, {}", overload(queue.overload)))
}

pub(super) fn queue(queue: &Queue) -> String {
    let room = room(queue).map(|room| format!(" of {room}")).unwrap_or_default();
    let late = match (queue.late, queue.margin.is_zero()) {
        (LatePolicy::Keep, _) => String::new(),
        (LatePolicy::Drop, true) => ", none late".into(),
        (LatePolicy::Drop, false) => format!(", none due within {}", queue.margin),
    };
    format!("{}{} {}{room}{late}", times(queue.spread), takes(queue.takes), queue.order.short())
}

pub(super) fn command_queue(queue: &CommandQueue) -> String {
    let room = match queue.slots {
        None => "FIFO, unlimited".into(),
        Some(1) => "mailbox".into(),
        Some(slots) => format!("FIFO of {slots}"),
    };
    let held = if queue.release == Release::Completed { ", until completed" } else { "" };
    let takes = takes(queue.takes);
    format!("{}{takes}: {room}{held}, priority {}", times(queue.spread), queue.priority)
}

pub(super) fn poll(interface: &HostSide) -> String {
    let turns = if interface.selection == QueueSelection::RoundRobin { ", queues in turn" } else { "" };
    match interface.poll {
        Some(every) => format!("polled every {every}{turns}"),
        None if interface.doorbell.is_zero() => format!("a doorbell{turns}"),
        None => format!("a doorbell, heard after {}{turns}", interface.doorbell),
    }
}

/// The purpose and capacity of a response queue, and how the host is notified.
pub(super) fn response_queue(queue: &ResponseQueue, notification: Notification) -> String {
    let about = match queue.answers {
        Answers::All => None,
        Answers::Received => Some("received"),
        Answers::Sent => Some("sent"),
    };
    let whose = Some(takes(queue.takes)).filter(|_| queue.takes != Takes::All);
    let whose = [about.map(String::from), whose].into_iter().flatten().collect::<Vec<_>>().join(", ");
    let whose = format!("{}{whose}", times(queue.spread));
    let room =
        queue.slots.map(|slots| format!(" of {slots}, {},", overload(queue.overload))).unwrap_or_default();
    let Moderation { frames, delay, interval } = queue.moderation;
    let told = match notification {
        Notification::Poll(every) => format!("polled every {every}"),
        Notification::Interrupt if queue.moderation.is_none() => "an interrupt each".into(),
        Notification::Interrupt => {
            let frames = frames.map(|frames| format!("{frames} or "));
            let apart = (!interval.is_zero()).then(|| format!(", {interval} apart"));
            format!("an interrupt for {}{delay}{}", frames.unwrap_or_default(), apart.unwrap_or_default())
        }
    };
    let sep = if whose.is_empty() && room.is_empty() { "" } else { ": " };
    format!("{whose}{}{sep}{told}", room.trim_end_matches(','))
}

pub(super) fn buffers(buffers: &AdapterBuffers) -> String {
    let then = overload(buffers.overload);
    match buffers.pool {
        BufferPool::Unlimited => "unlimited".into(),
        BufferPool::Shared(count) => format!("{count} shared, {then}"),
        BufferPool::PerChannel(count) => format!("{count} per channel, {then}"),
        BufferPool::Reserved { own: Own::Each(count), shared } => {
            format!("{count} per channel and {shared} shared, {then}")
        }
        BufferPool::Reserved { own: Own::Contract, shared } => {
            format!("a burst per contract and {shared} shared, {then}")
        }
    }
}

/// The treatment of packets in excess of a contract.
pub(super) fn policing(policing: &Policing) -> String {
    let excess = match policing.excess {
        Excess::Drop => "dropped",
        Excess::Demote => "best effort",
    };
    match policing.tolerance.is_zero() {
        true => format!("excess is {excess}"),
        false => format!("excess is {excess}, {} tolerated", policing.tolerance),
    }
}

pub(super) fn resource(resource: &Resource) -> String {
    // The host defines the bus.
    if let Some(bus) = &resource.bus {
        return format!(
            "{} (the host's bus `{}`, shared with others at it)",
            clean(&resource.name),
            clean(bus)
        );
    }
    let servers = match resource.servers {
        1 => String::new(),
        several => format!("{several} servers, "),
    };
    let preemptive = match (resource.preemptive, resource.urgent) {
        (true, false) => "preemptive",
        (false, false) => "not preemptive",
        (true, true) => "by urgency, preemptive",
        (false, true) => "by urgency, not preemptive",
    };
    let host = if resource.host { ", the host first" } else { "" };
    format!("{} ({servers}{preemptive}{host})", clean(&resource.name))
}

/// The time of a phase, term by term, its packets, and the response to the host.
pub(super) fn phase(phase: &Phase) -> Vec<String> {
    let delay = &phase.delay;
    let mut terms = Vec::new();
    if !delay.fixed.is_zero() {
        terms.push(delay.fixed.to_string());
    }
    if !delay.per_packet.is_zero() {
        terms.push(format!("{} each", delay.per_packet));
    }
    if !delay.segment.is_zero() && !delay.per_segment.is_zero() {
        terms.push(format!("{} per {}", delay.per_segment, delay.segment));
    }
    match delay.knee.is_zero() {
        true if delay.per_byte.is_zero() => {}
        true => terms.push(delay.per_byte.to_string()),
        false => {
            terms.push(format!("{} to {}", delay.per_byte, delay.knee));
            terms.push(format!("{} past it", delay.per_byte_past));
        }
    }
    if terms.is_empty() {
        terms.push("no time".into());
    }
    terms
}

/// Which sizes go through a phase, if not all.
pub(super) fn sizes(phase: &Phase) -> Option<String> {
    match (phase.from.get() > 1, phase.up_to) {
        (false, None) => None,
        (true, None) => Some(format!("from {}", phase.from)),
        (false, Some(most)) => Some(format!("up to {most}")),
        (true, Some(most)) => Some(format!("{} to {most}", phase.from)),
    }
}

/// The processor or resource of a phase, the packets that pass through it, and its side effects.
pub(super) fn whose(phase: &Phase) -> String {
    let whose = match (phase.work, phase.holds.contains(&PROCESSOR)) {
        (true, _) => "work",
        (false, true) => "synchronous",
        (false, false) => "delay",
    };
    let told = match phase.tells {
        Tells::Nothing => None,
        Tells::Progress => Some("tells host".to_string()),
        Tells::Handshake => Some("asks host".to_string()),
    };
    let medium = phase.medium.then(|| "medium".to_string());
    let cut = phase.yields.then(|| "segment by segment".to_string());
    let trailer = (!phase.trailer.is_zero()).then(|| format!("{} behind it", phase.trailer));
    let copied = phase.releases.then(|| "frees its buffer".to_string());
    let since = phase.since_service.then(|| "since the stage began".to_string());
    let class = (phase.takes != Takes::All).then(|| takes(phase.takes));
    let parts = [Some(whose.to_string()), since, class, sizes(phase), trailer, cut, medium, copied, told];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

pub(super) fn holds(phase: &Phase, resources: &[Resource]) -> String {
    let rank = if phase.priority == 0 { String::new() } else { format!(" ({})", phase.priority) };
    let names: Vec<String> = phase.holds.iter().map(|index| clean(&resources[*index].name)).collect();
    if names.is_empty() { "-".into() } else { format!("{}{rank}", names.join(", ")) }
}
