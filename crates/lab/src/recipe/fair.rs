//! Queues that share a link by rates: `htb`, and `drr` for queues in turn.

use laxity_qos::channel::Order;
use laxity_qos::discipline::Class;
use laxity_qos::virtual_clock::Vtick;

use super::missing::Missing;
use super::port::{Port, UNCOUNTED, counted};
use super::section::Section;

/// The class of the link as a whole.
const LINK: usize = 1;
/// The class of traffic without a rate.
const REST: usize = 2;
/// The classes of channels begin here, those of groups there.
const CHANNELS: usize = 0x10;
const GROUPS: usize = 0x8000;

/// The class of the channel at that place of a port.
pub(super) fn class(place: usize) -> usize {
    CHANNELS + place
}

/// Whether channel `i` has a class of its own.
pub(super) fn has_class(port: &Port<'_>, i: usize) -> bool {
    rate(port, i).is_some()
}

/// The rate of channel `i` in bits per second, with its frames; `None` if it has what is left.
fn rate(port: &Port<'_>, i: usize) -> Option<u64> {
    let channel = port.channel(i);
    match channel.class {
        Class::RealTime => {
            let packets = channel.spec.fragmentation(port.experiment.packet()).packets();
            let uncounted = if port.stab().is_empty() { 0 } else { packets.saturating_mul(UNCOUNTED) };
            let bytes = counted(channel, port.experiment.packet(), port.network).saturating_add(uncounted);
            let interval = channel.spec.min_interval.as_secs_f64();
            (interval > 0.0).then(|| ((bytes as f64 * 8.0 / interval).ceil() as u64).max(1))
        }
        Class::BestEffort => of_tick(channel.share),
    }
}

fn of_tick(tick: Vtick) -> Option<u64> {
    let interval = tick.interval().as_secs_f64();
    (tick != Vtick::NONE && interval > 0.0)
        .then(|| ((tick.size().get() as f64 * 8.0 / interval).ceil() as u64).max(1))
}

/// A class of `htb` for each channel with a rate, and one for the rest.
pub(super) fn by_rates(port: &Port<'_>, section: &mut Section, missing: &mut Missing) {
    let (link, groups) = (port.rate(), &port.experiment.groups);
    let hierarchical = port.order == Order::HierarchicalFair;
    let short = port.order.short();
    missing.at(
        port.place,
        format!("the order {short} of a link: HTB keeps the rates, and lets a class send a burst"),
    );
    if port.order.has_frames() {
        missing.at(port.place, "frames of time of a link");
    }
    section.comment(format!("{short}: a class for each channel, with its rate."));
    section.tc("qdisc replace", format!("root handle 1: {}htb default {REST:x}", port.stab()));
    section.tc("class replace", format!("parent 1: classid 1:{LINK:x} htb rate {link}bit ceil {link}bit"));
    if hierarchical {
        for (place, group) in groups.iter().enumerate() {
            let parent = group.within.map_or(LINK, |within| GROUPS + within);
            let rate = of_tick(group.tick).unwrap_or(link).min(link);
            section.tc(
                "class replace",
                format!(
                    "parent 1:{parent:x} classid 1:{:x} htb rate {rate}bit ceil {link}bit  # group {}",
                    GROUPS + place,
                    group.name
                ),
            );
        }
    }
    let mut reserved: u64 = 0;
    for (place, &i) in port.channels.iter().enumerate() {
        let Some(rate) = rate(port, i).map(|rate| rate.min(link)) else { continue };
        reserved = reserved.saturating_add(rate);
        let parent = match port.channel(i).group.filter(|_| hierarchical) {
            Some(group) => GROUPS + group,
            None => LINK,
        };
        let ceil = if port.order.holds() { rate } else { link };
        let prio = match port.order {
            Order::RateControlled => format!(" prio {}", 7 - port.classes.priority(i)),
            _ => String::new(),
        };
        let largest = port.frame(i);
        section.tc(
            "class replace",
            format!(
                "parent 1:{parent:x} classid 1:{:x} htb rate {rate}bit ceil {ceil}bit burst {largest} quantum {}{prio}  # {}",
                class(place),
                largest.clamp(1000, 60_000),
                port.channel(i).name
            ),
        );
        section
            .tc("qdisc replace", format!("parent 1:{0:x} handle {0:x}: {1}", class(place), port.fifo(&[i])));
    }
    let left = link.saturating_sub(reserved).max(link / 1000).max(1000);
    let rest: Vec<usize> = port.channels.iter().copied().filter(|i| rate(port, *i).is_none()).collect();
    section.tc(
        "class replace",
        format!("parent 1:{LINK:x} classid 1:{REST:x} htb rate {left}bit ceil {link}bit prio 7"),
    );
    section.tc("qdisc replace", format!("parent 1:{REST:x} handle {REST:x}: {}", port.fifo(&rest)));
    filters(port, section, missing);
}

/// A class of `drr` for each channel, with a quantum in proportion to its rate.
pub(super) fn in_turn(port: &Port<'_>, section: &mut Section, missing: &mut Missing) {
    let rates: Vec<Option<u64>> = port.channels.iter().map(|i| rate(port, *i)).collect();
    let least = rates.iter().flatten().min().copied().unwrap_or(1);
    let largest = port.largest(&port.channels).max(1);
    section
        .comment("A class for each channel; a quantum is in proportion to its rate, and a frame at least.");
    section.tc("qdisc replace", "root handle 1: drr");
    for (place, (i, rate)) in port.channels.iter().zip(&rates).enumerate() {
        let Some(rate) = rate else { continue };
        let quantum = (largest as f64 * *rate as f64 / least as f64).min(f64::from(u32::MAX)) as u64;
        section.tc(
            "class replace",
            format!(
                "parent 1: classid 1:{:x} drr quantum {quantum}  # {}",
                class(place),
                port.channel(*i).name
            ),
        );
    }
    section.tc("class replace", format!("parent 1: classid 1:{REST:x} drr quantum {largest}"));
    section
        .tc("filter replace", format!("parent 1: prio 99 handle 1 protocol all matchall classid 1:{REST:x}"));
    missing.at(port.place, "DRR of traffic without a rate behind all other traffic: it has a turn as well");
    filters(port, section, missing);
}

/// How packets that no program of this node sends find their classes.
fn filters(port: &Port<'_>, section: &mut Section, missing: &mut Missing) {
    if port.programs {
        section.comment("A program chooses its class by SO_PRIORITY, as below.");
        return;
    }
    missing
        .at(port.place, "classes of channels by themselves: filters by address, which are to be filled in");
    for (place, &i) in port.channels.iter().enumerate().filter(|(_, i)| rate(port, **i).is_some()) {
        section.comment(format!(
            "tc filter add dev \"$dev\" parent 1: protocol ip flower dst_ip ADDRESS ip_proto udp dst_port PORT \
             classid 1:{:x}  # {}",
            class(place),
            port.channel(i).name
        ));
    }
}
