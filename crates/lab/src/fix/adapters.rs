//! The knobs of adapters: interrupt moderation, the depth of queues and rings, and a plain link's
//! rate.
//!
//! The lists of an adapter may be in a file of its own, so they are read from the parsed adapter.

use laxity_model::adapter::{BufferPool, Description, Notification};
use laxity_world::experiment::AdapterSpec;

use super::knob::{Knob, Turn};
use super::owned::{Owned, Towards};
use super::quantity::Quantity;

/// Interrupt delays to try where there is none.
const DELAYS: [&str; 6] = ["5 us", "20 us", "50 us", "100 us", "250 us", "1 ms"];
/// How often the host may look instead of being interrupted.
const POLLS: [&str; 4] = ["50 us", "100 us", "250 us", "1 ms"];

/// The knobs of every adapter.
pub(super) fn knobs(owned: &Owned<'_>) -> Vec<Knob> {
    let mut knobs = Vec::new();
    let nodes = owned.nodes(false);
    let own = |name: &String| {
        let path = format!("node.{name}.adapter");
        let table = owned.value(&path).and_then(|value| value.as_table());
        table.is_some_and(|table| ["kind", "file"].iter().any(|key| table.contains_key(*key)))
    };
    if owned.value("adapter").is_some() {
        let node = nodes.iter().find(|name| !own(name)).map_or(Some(0), |name| owned.place(name));
        let (whom, wide) = if nodes.is_empty() { ("the adapter", false) } else { ("all adapters", true) };
        if nodes.is_empty() || nodes.iter().any(|name| !own(name)) {
            knobs.extend(node.into_iter().flat_map(|node| of(owned, "adapter", whom, wide, node)));
        }
    }
    for name in &nodes {
        let at = format!("node.{name}.adapter");
        let whom = format!("the adapter of {name}");
        knobs.extend(owned.place(name).into_iter().flat_map(|node| of(owned, &at, &whom, false, node)));
    }
    knobs
}

/// Those of the adapter in the table `at`, which `node` has.
fn of(owned: &Owned<'_>, at: &str, whom: &str, wide: bool, node: usize) -> Vec<Knob> {
    let plain =
        [("rate", "rate of", Towards::More, None), ("per_byte", "time per byte of", Towards::Less, None)];
    let beneath = (at != "adapter").then_some("adapter");
    let mut knobs = owned.rules(&plain, at, beneath, whom, wide);
    if owned.experiment.nodes[node].adapters.len() == 1
        && let AdapterSpec::Described(description) = owned.experiment.adapter(node)
    {
        knobs.extend(described(description, at, whom, wide));
    }
    knobs
}

fn described(description: &Description, at: &str, whom: &str, wide: bool) -> Vec<Knob> {
    let mut knobs = Vec::new();
    let set = |key: String, what: String, now: String, values: &[&str]| -> Vec<Knob> {
        let knob = |value: &&str| Knob {
            what: what.clone(),
            wide,
            turn: Turn::set(std::slice::from_ref(&key), &now, value),
        };
        values.iter().filter(|value| **value != now).map(knob).collect()
    };
    let notification = format!("{at}.notification");
    match description.interface.notification {
        Notification::Interrupt => {
            knobs.extend(set(notification, format!("notification of {whom}"), "interrupt".into(), &POLLS));
        }
        Notification::Poll(interval) => {
            let what = format!("polling interval of {whom}");
            knobs.extend(Towards::Either.knobs(&what, wide, &notification, Quantity::Time(interval)));
            knobs.extend(set(notification, what, interval.to_string(), &["interrupt"]));
        }
    }
    for (number, queue) in description.interface.responses.iter().enumerate() {
        let key = |key: &str| format!("{at}.response_queue.{number}.{key}");
        let what = |what: &str| match description.interface.responses.len() {
            1 => format!("{what} of {whom}"),
            _ => format!("{what} of queue {number} of {whom}"),
        };
        let moderation = &queue.moderation;
        if moderation.delay.is_zero() {
            knobs.extend(set(key("delay"), what("interrupt delay"), "0 us".into(), &DELAYS));
        } else {
            let (key, what) = (key("delay"), what("interrupt delay"));
            knobs.extend(Towards::Either.knobs(&what, wide, &key, Quantity::Time(moderation.delay)));
            knobs.extend(set(key, what, moderation.delay.to_string(), &["0 us"]));
        }
        let mut scaled = |leaf: &str, name: &str, towards: Towards, now: Option<Quantity>| {
            knobs.extend(now.into_iter().flat_map(|now| towards.knobs(&what(name), wide, &key(leaf), now)));
        };
        let count = |n: Option<u32>| n.map(|n| Quantity::Count(n.into()));
        scaled("frames", "frames per interrupt", Towards::Either, count(moderation.frames));
        let interval = (!moderation.interval.is_zero()).then_some(Quantity::Time(moderation.interval));
        scaled("interval", "time between interrupts", Towards::Either, interval);
        scaled("slots", "response slots", Towards::More, count(queue.slots));
    }
    for (number, queue) in description.interface.queues.iter().enumerate() {
        let key = format!("{at}.queue.{number}.slots");
        let now = queue.slots.map(|slots| Quantity::Count(slots.into()));
        let what = format!("depth of command queue {number} of {whom}");
        knobs.extend(now.into_iter().flat_map(|now| Towards::Either.knobs(&what, wide, &key, now)));
    }
    for (side, stages) in [("transmit", &description.transmit), ("receive", &description.receive)] {
        for stage in stages {
            for (number, queue) in stage.queues.iter().enumerate() {
                let key = format!("{at}.{side}.{}.queue.{number}.slots", stage.name);
                let what = format!("depth of queue {number} before {} of {whom}", stage.name);
                let now = queue.slots.map(|slots| Quantity::Count(slots.into()));
                knobs.extend(now.into_iter().flat_map(|now| Towards::Either.knobs(&what, wide, &key, now)));
            }
        }
    }
    let buffers = [
        ("transmit_buffers", "transmit buffers", description.transmit_buffers),
        ("receive_buffers", "receive buffers", description.receive_buffers),
    ];
    for (key, what, buffers) in buffers {
        let (leaf, now) = match buffers.pool {
            BufferPool::Shared(shared) => ("shared", shared),
            BufferPool::PerChannel(each) => ("per_channel", each),
            _ => continue,
        };
        let (key, what) = (format!("{at}.{key}.{leaf}"), format!("{what} of {whom}"));
        knobs.extend(Towards::More.knobs(&what, wide, &key, Quantity::Count(now.into())));
    }
    knobs
}
