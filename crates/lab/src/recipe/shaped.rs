//! Queues of a port by class with shapers, gates, cycles or preemption; and packets with a launch time.

use laxity_qos::discipline::{GateList, LOWEST, Selection};
use laxity_units::Span;

use super::classes::map;
use super::missing::Missing;
use super::port::Port;
use super::section::{Section, nanoseconds};

pub(super) fn write(port: &Port<'_>, selection: &Selection, section: &mut Section, missing: &mut Missing) {
    let Selection { shapers, gates, cyclic, ats } = selection;
    match gates {
        Some(gates) => {
            by_gates(port, gates, section, missing);
            if !shapers.is_empty() {
                let what = "shapers behind gates: a credit that keeps its value while the gate is closed";
                missing.at(port.place, what);
            }
            if port.preemptable_from.is_some() {
                let what = "preemption beside gates: adapters that hold frames before a window have settings of their own";
                missing.at(port.place, what);
            }
        }
        None if !cyclic.is_empty() => by_cycles(port, selection, section, missing),
        None if !ats.is_empty() => {
            missing.at(
                port.place,
                "regulators of IEEE 802.1Qcr: Linux has none, so a burst can grow from port to port",
            );
            port.by_class(section);
        }
        None => {
            debug_assert!(!shapers.is_empty(), "a selection has a part");
            by_credit(port, selection, section, missing);
        }
    }
}

/// The level of a class, as its channels have it; best effort has the last.
fn level(port: &Port<'_>, priority: u8) -> u8 {
    let levels = port.members(priority).into_iter().map(|i| port.channel(i).level.unwrap_or(0));
    if priority == 0 { LOWEST } else { levels.min().unwrap_or(LOWEST) }
}

/// `queues 1@0 1@1 …`: a transmit queue for each class.
fn queues(classes: usize) -> String {
    (0..classes).map(|class| format!("1@{class}")).collect::<Vec<_>>().join(" ")
}

/// `mqprio` with a queue for each class, the first the most urgent.
fn mqprio(port: &Port<'_>, present: &[u8], hardware: &str, section: &mut Section) {
    section.comment(format!(
        "A transmit queue for each class, the first the most urgent: {}.",
        port.named(present)
    ));
    section.comment(format!(
        "The adapter needs {} transmit queues and serves queue 0 first, as Intel's i210 does.",
        present.len()
    ));
    section.tc(
        "qdisc replace",
        format!(
            "root handle 1: mqprio num_tc {} map {} queues {} {hardware}",
            present.len(),
            map(present, false),
            queues(present.len())
        ),
    );
}

/// Preemption of frames (IEEE 802.1Qbu): `fp` has the express classes and the preemptable ones, and the
/// MAC merge sublayer of both ends is on.
pub(super) fn by_preemption(port: &Port<'_>, from: u8, section: &mut Section, missing: &mut Missing) {
    let present = port.classes.present(&port.channels);
    let status = |priority: &u8| if level(port, *priority) < from { "E" } else { "P" };
    let each: Vec<&str> = present.iter().map(status).collect();
    mqprio(port, &present, &format!("hw 1 fp {}", each.join(" ")), section);
    section.comment("E: express, P: preemptable. The other end of the link needs `pmac-enabled on`, too.");
    section.line("ethtool --set-mm \"$dev\" pmac-enabled on tx-enabled on verify-enabled on");
    missing.at(port.place, "memory of ports by class: the queues are those of the hardware");
}

/// Credit-based shapers (IEEE 802.1Qav): `cbs`, in kbit/s and bytes.
///
/// A frame of class k waits for the largest frame below it and for the classes above it, which send
/// what they saved meanwhile. With `C` the rate of the link, `M` the largest frames and `I` the idle
/// slopes, that takes at most `M_below / (C − ΣI) + M_above / C` behind one class. Behind several
/// the sum of their frames is divided by `C − ΣI` too, which is no less (IEEE 802.1Q-2018, Annex L).
fn by_credit(port: &Port<'_>, selection: &Selection, section: &mut Section, missing: &mut Missing) {
    let present = port.classes.present(&port.channels);
    if present.len() == 1 {
        return port.by_arrival(section);
    }
    mqprio(port, &present, "hw 0", section);
    section.comment("Credits are in bytes with all that surrounds a frame on the link; slopes in kbit/s.");
    if port.programs {
        section.comment(
            "`offload 1` is for adapters with a shaper in these queues, as i210 and i225 have in two.",
        );
    }
    let link = port.rate() as f64;
    let (mut above_slopes, mut above_frames, mut above) = (0.0, 0.0, 0);
    for (place, &priority) in present.iter().enumerate() {
        let members = port.members(priority);
        let own = port.largest(&members) as f64;
        let shaper = selection.shapers.iter().find(|shaper| shaper.level == level(port, priority));
        let parent = format!("parent 1:{0:x} handle {0:x}0: ", place + 1);
        let Some(shaper) = shaper.filter(|_| priority > 0) else {
            section.tc("qdisc replace", format!("{parent}{}", port.leaf(priority)));
            if priority > 0 && place + 1 < present.len() {
                missing.at(port.place, "credits behind a class without a shaper: they have no limit there");
            }
            continue;
        };
        let idle = shaper.idle_slope.bits_per_sec() as f64;
        let below: Vec<usize> = present[place + 1..].iter().flat_map(|low| port.members(*low)).collect();
        // Other traffic of the host has frames of the largest packet.
        let below = port.largest(&below).max(largest_frame(port)) as f64;
        let left = (link - above_slopes).max(1.0);
        let wait = match above {
            0 => below / link,
            1 => below / left + above_frames / link,
            _ => (below + above_frames) / left,
        };
        let send = idle - link;
        section.tc(
            "qdisc replace",
            format!(
                "{parent}{}cbs idleslope {} sendslope {} hicredit {} locredit {} offload {}",
                port.stab(),
                (idle / 1000.0).ceil() as i64,
                (send / 1000.0).floor() as i64,
                (idle * wait).ceil() as i64,
                (own * send / link).floor() as i64,
                u8::from(port.programs),
            ),
        );
        above_slopes += idle;
        above_frames += own;
        above += 1;
    }
}

/// The largest frame that any channel can have here.
fn largest_frame(port: &Port<'_>) -> u64 {
    port.link.on_link(port.experiment.packet()).get()
}

/// Time-aware gates (IEEE 802.1Qbv): `taprio`. Its classes count from the least urgent.
fn by_gates(port: &Port<'_>, gates: &GateList, section: &mut Section, missing: &mut Missing) {
    let present = port.classes.present(&port.channels);
    let entries = gates.windows().iter().map(|window| {
        let open = |priority: u8| {
            let mut levels = port.members(priority).into_iter().map(|i| port.channel(i).level.unwrap_or(0));
            match priority {
                // Best effort has its own gate.
                0 => is_open(window.open, LOWEST),
                _ => levels.any(|level| is_open(window.open, level)),
            }
        };
        let mask = present
            .iter()
            .rev()
            .enumerate()
            .fold(0u32, |mask, (class, priority)| mask | u32::from(open(*priority)) << class);
        (mask, window.length)
    });
    let entries: Vec<(u32, Span)> = entries.collect();
    taprio(port, &present, gates.offset(), &entries, section, missing);
    if gates.windows().iter().any(|window| window.length.as_ps() % 1000 != 0) {
        missing.at(port.place, "windows of gates below a nanosecond");
    }
}

fn is_open(open: u32, level: u8) -> bool {
    open >> level & 1 == 1
}

/// `taprio` with these windows, each with the classes that are open.
fn taprio(
    port: &Port<'_>,
    present: &[u8],
    offset: Span,
    entries: &[(u32, Span)],
    section: &mut Section,
    missing: &mut Missing,
) {
    section.comment(format!(
        "Classes, the most urgent first: {}. taprio counts them from the last.",
        port.named(present)
    ));
    section.comment(format!(
        "The adapter needs {} transmit queues. Kernels from 6.3 serve the highest class first.",
        present.len()
    ));
    section.comment(
        "Clocks of all nodes need PTP (ptp4l and phc2sys); `flags 0x2` gives the gates to the adapter.",
    );
    let windows: Vec<String> = entries
        .iter()
        .map(|(open, length)| format!("sched-entry S {open:02x} {}", nanoseconds(*length)))
        .collect();
    section.tc(
        "qdisc replace",
        format!(
            "root handle 1: taprio num_tc {} map {} queues {} base-time {} {} clockid CLOCK_TAI",
            present.len(),
            map(present, true),
            queues(present.len()),
            nanoseconds(offset),
            windows.join(" ")
        ),
    );
    missing.at(port.place, "one clock for all gates: nodes synchronise theirs to about a microsecond");
}

/// Cyclic queueing (IEEE 802.1Qch): two queues for each class, filled and emptied in turn.
fn by_cycles(port: &Port<'_>, selection: &Selection, section: &mut Section, missing: &mut Missing) {
    let present = port.classes.present(&port.channels);
    let cyclic = |priority: u8| {
        let level = level(port, priority);
        selection.cyclic.iter().find(|class| class.level == level).filter(|_| priority > 0)
    };
    let cycles: Vec<Span> =
        present.iter().filter_map(|priority| cyclic(*priority)).map(|c| c.cycle).collect();
    let Some(&cycle) = cycles.iter().min() else {
        return port.by_class(section);
    };
    if cycles.iter().any(|other| *other != cycle) {
        missing.at(port.place, "cycles of different lengths: the shortest is used for all");
    }
    // Class 0 is the least urgent. A cyclic class has two in turn; the second has the priority below.
    let (mut even, mut odd, mut classes) = (0u32, 0u32, Vec::new());
    for &priority in present.iter().rev() {
        let class = classes.len();
        classes.push(priority);
        match cyclic(priority) {
            None => {
                even |= 1 << class;
                odd |= 1 << class;
            }
            Some(_) => {
                classes.push(priority);
                even |= 1 << class;
                odd |= 1 << (class + 1);
            }
        }
    }
    classes.reverse();
    section.comment("Each cyclic class has two queues, of which one is open and the other one is filled.");
    section.comment(format!(
        "Gates where frames arrive (tc-gate, IEEE 802.1Qci) put them into the queues in turn, every {} ns.",
        nanoseconds(cycle)
    ));
    taprio(port, &classes, Span::ZERO, &[(even, cycle), (odd, cycle)], section, missing);
    missing.at(
        port.place,
        "cyclic queueing: the queue of a frame is that of its arrival, which needs gates of the switch's hardware",
    );
}

/// Packets with a launch time: `etf` for their class, `lead` before it.
pub(super) fn launched(port: &Port<'_>, lead: Span, section: &mut Section) {
    let mut present = port.classes.present(&port.channels);
    if present.len() == 1 {
        // No class is above best effort; the packets with a time have one.
        present.insert(0, 7);
    }
    mqprio(port, &present, "hw 0", section);
    section.comment(
        "etf drops a packet without SO_TXTIME; its delta covers the latency of the kernel, so measure it.",
    );
    for (place, &priority) in present.iter().enumerate() {
        let parent = format!("parent 1:{0:x} handle {0:x}0: ", place + 1);
        let leaf = match priority {
            0 => port.leaf(0),
            _ => format!("etf clockid CLOCK_TAI delta {}", nanoseconds(lead)),
        };
        section.tc("qdisc replace", format!("{parent}{leaf}"));
    }
}
