//! The trial of an adapter that has none of its own: a load that fills it, from its description.
//!
//! A stream for each command queue sends a long message at the same instants, and a control loop for
//! each a short packet behind them. All that is a share of what the slowest part of the adapter carries,
//! and best effort takes the rest. Window and share are the largest with a bound for every channel: first
//! the window, from the rings of the adapter down to one packet, then the share. Where no analysis covers
//! the receiving adapter, a bound to the last transmission is enough.

use std::fmt::Write as _;
use std::iter::successors;

use laxity_admission::Formula;
use laxity_model::adapter::{CommandQueue, Description, Takes};
use laxity_qos::discipline::Class;
use laxity_units::{Bytes, Span};
use laxity_world::experiment::{AdapterSpec, Experiment};
use laxity_world::promise::{Promise, promises};

/// Percent of what the adapter carries that its channels reserve, the first that is possible.
const SHARES: [u64; 5] = [90, 75, 50, 25, 10];
/// The most packets that the host leaves to the adapter; with more, bounds say less about the adapter
/// than about what is before a packet.
const WINDOW: u32 = 256;
/// Packets of a stream's message.
const MESSAGE: u64 = 64;
/// The most streams of queues to which a hash leads.
const SPREAD: u32 = 8;
/// Bytes of a packet of a stream, and of a loop.
const LONG: Bytes = Bytes::new(1500);
const SHORT: Bytes = Bytes::new(256);

/// How the adapter is loaded.
#[derive(Debug, Clone, Copy)]
struct Load {
    /// Packets that the host leaves to the adapter.
    window: u32,
    /// Percent of what the adapter carries.
    share: u64,
}

/// The text of a scenario that tries `adapter`, described by `file`. `read` reads such a text.
pub(super) fn text(adapter: &AdapterSpec, file: &str, read: impl Fn(&str) -> Option<Experiment>) -> String {
    let description = adapter.described();
    let queues = &description.interface.queues;
    let slots = |queue: &CommandQueue| queue.slots.map(|slots| slots.saturating_mul(queue.spread));
    let rings: Option<u32> =
        queues.iter().try_fold(0_u32, |sum, queue| Some(sum.saturating_add(slots(queue)?)));
    let most = rings.map_or(WINDOW, |rings| rings.clamp(1, WINDOW));
    let windows = successors(Some(most), |window| (*window > 1).then(|| window.next_power_of_two() / 2));
    let levels = levels(queues);
    let written = |load| scenario(&description, &levels, file, load);
    let mut transmitted = None;
    for load in windows.flat_map(|window| SHARES.map(|share| Load { window, share })) {
        let text = written(load);
        match read(&text).and_then(|experiment| is_delivered(&experiment)) {
            Some(true) => return text,
            Some(false) => _ = transmitted.get_or_insert(text),
            None => {}
        }
    }
    transmitted.unwrap_or_else(|| written(Load { window: 1, share: SHARES[0] }))
}

/// Whether the bounds of all channels are until delivery, or else to the last transmission at least;
/// `None` if a channel has no bound within its deadline.
fn is_delivered(experiment: &Experiment) -> Option<bool> {
    let promises = promises(experiment, Formula::Corrected).ok()?;
    promises.channels.iter().try_fold(true, |delivered, promise| match promise {
        Promise::BestEffort | Promise::Admitted(_) => Some(delivered),
        Promise::Unbounded(_, hops) if !hops.is_empty() => Some(false),
        _ => None,
    })
}

/// The level of each stream and its loop, of which there are as many as real time has command queues;
/// `None` where levels play no part.
fn levels(queues: &[CommandQueue]) -> Vec<Option<u8>> {
    let of = |queue: &CommandQueue| match queue.takes {
        Takes::Only(Class::BestEffort) => Vec::new(),
        Takes::Levels(from, _) => vec![Some(from)],
        Takes::All | Takes::Only(_) => vec![None; queue.spread.min(SPREAD) as usize],
    };
    let mut all: Vec<Option<u8>> = queues.iter().flat_map(of).collect();
    if all.iter().any(Option::is_some) {
        all.retain(Option::is_some);
    }
    // A stream alone never waits for another.
    if let &[only] = &all[..] {
        all.push(only);
    }
    all
}

fn scenario(adapter: &Description, levels: &[Option<u8>], file: &str, load: Load) -> String {
    let (part, pace) = adapter.bottleneck(LONG);
    let count = levels.len() as u64;
    // A loop's packet counts as a long one: what is short may take as long.
    let busy = pace.saturating_mul(count * (MESSAGE + 1));
    let interval = Span::from_ns((busy.as_ps() / 10).div_ceil(load.share).max(1));
    let by_level = levels.iter().any(Option::is_some);
    let (cpu, order) = match by_level {
        true => ("cpu = \"fixed_priority\", ", "order = \"fixed_priority\", "),
        false => ("", ""),
    };
    let Load { window, share } = load;
    let behind = if window == 1 { "1 packet".into() } else { format!("{window} packets") };
    let mut text = format!(
        r#"title = "{behind} in the adapter, {share} % of what it carries"
about = """
A trial from the description of the adapter. {count} streams, one for each command queue of real time and two at least, send {MESSAGE} packets of
{LONG} each at the same instants, when best effort has filled the adapter. A control loop for each sends a packet of {SHORT} behind them.
In all they are {share} % of what the {} carries. The host leaves {behind} to the adapter. Window and share are the largest
with a bound for every channel, of windows up to {WINDOW} packets and the slots of the command queues. The host costs next to nothing,
so that the adapter counts."""

[host]
profile = "mc68040"
costs = {{ context_switch = "20 ns", cache_miss = "0 us", first_packet = "100 ns", packet = "40 ns", link_scheduling = "40 ns", hand_over = "20 ns", interrupt = "0 us", thread_creation = "20 ns", receive_packet = "40 ns", receive_message = "60 ns", send_call = "20 ns" }}
subsystem = {{ packet = "{LONG}", preemption = 2, {cpu}link = {{ paradigm = "O1", {order}depth = {window} }} }}

[adapter]
file = {}

[node.left]

[node.right]

[network.wire]
joins = ["left", "right"]
propagation = "500 ns"

[run]
time = "{}"
warmup = "{}"
"#,
        part,
        super::quoted(file),
        ns(interval.saturating_mul(20)),
        ns(interval),
    );
    for (number, level) in levels.iter().enumerate() {
        let level = level.map_or(String::new(), |level| format!("level = {level}\n"));
        let phase = ns(pace.saturating_mul(count) / 4);
        for (name, size, intervals, source) in [
            ("stream", MESSAGE * LONG.get(), 4, String::new()),
            ("loop", SHORT.get(), 3, format!(", phase = \"{phase}\"")),
        ] {
            let (interval, deadline) = (ns(interval), ns(interval.saturating_mul(intervals)));
            let _ = write!(
                text,
                r#"
[[channel]]
name = "{name}{number}"
class = "real_time"
from = "left"
to = "right"
max_message = "{size} B"
burst = 1
min_interval = "{interval}"
deadline = "{deadline}"
{level}source = {{ kind = "adversary"{source} }}
"#
            );
        }
    }
    text + r#"
[[channel]]
name = "flood"
class = "best_effort"
from = "left"
to = "right"
max_message = "45000 B"
burst = 10
source = { kind = "continuous" }

[[claim]]
id = "kept"
origin = "ours"
says = "Every channel has a bound, and no message of it took longer than that"
holds = 'runs.all(|r| r.rt.all(|c| c.completed > 0 && c.worst <= c.bound))'
shows = '"worst over bound: " + runs[0].rt.map(|c| c.name + " " + percent(c.worst / c.bound))'
"#
}

/// A time as a file has it, rounded up to a nanosecond.
fn ns(time: Span) -> String {
    format!("{} ns", time.as_ps().div_ceil(1000))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::scenario::Scenario;
    use crate::trial::adapter_trial;

    fn tried(adapter: &str) -> Experiment {
        let text = adapter_trial(Path::new(adapter)).unwrap();
        Scenario::from_text("trial.toml", text).unwrap_or_else(|why| panic!("{adapter}: {why}")).first()
    }

    fn bound(experiment: &Experiment, channel: &str) -> Span {
        let promises = promises(experiment, Formula::Corrected).unwrap();
        let place = experiment.channels.iter().position(|it| it.name == channel).unwrap();
        promises.channels[place].end_to_end_bound().unwrap()
    }

    #[test]
    fn the_load_has_bounds_and_fills_what_it_can() {
        for (adapter, window, share, streams) in [
            ("cim250", 1, 50, 2),
            ("end-fifo", 256, 75, 2),
            ("template", 1, 25, 2),
            ("tsn-1g", 4, 90, 4),
            ("nic-25g", 64, 90, 8),
            ("null-25g", 256, 90, 2),
        ] {
            let text = adapter_trial(Path::new(adapter)).unwrap();
            let title = text.lines().next().unwrap();
            let load = format!(
                "= \"{window} packet{} in the adapter, {share} %",
                if window == 1 { "" } else { "s" }
            );
            assert!(title.contains(&load), "{adapter}: {title}");
            let experiment = tried(adapter);
            let delivered = is_delivered(&experiment).expect(adapter);
            assert!(delivered || adapter != "end-fifo", "{adapter}");
            assert_eq!(experiment.channels.len(), 2 * streams + 1, "{adapter}");
        }
    }

    #[test]
    fn rings_by_level_and_one_ring_differ() {
        let levels = tried("tsn-1g");
        assert!(bound(&levels, "loop0") < bound(&levels, "loop3"), "the first ring goes before the last");
        let one = tried("virtio-net");
        assert_eq!(bound(&one, "stream0"), bound(&one, "stream1"), "one ring keeps the order");
    }
}
