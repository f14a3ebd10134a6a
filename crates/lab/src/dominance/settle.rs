//! The first scenario of a pair, and the pairs without a law.

use std::collections::BTreeMap;

use laxity_admission::{Formula, Test};
use laxity_qos::channel::ChannelId;
use laxity_units::Span;
use laxity_world::experiment::{Adapter, ChannelSpec, Experiment, Host, Placement, Task};
use laxity_world::promise::{Promise, Promises, promises};

use super::change::{Change, Law};
use super::file::File;
use crate::property::experiment_of;

/// The scenario `text` without the channels that admission refuses; `None` if no channel with a
/// bound is left, or no law applies to the scenario.
pub fn settled(text: &str) -> Option<String> {
    let mut text = text.to_string();
    loop {
        let experiment = experiment_of(&text).ok()?;
        if experiment.admission.formula != Some(Formula::Corrected)
            || matches!(experiment.task, Task::Fill(_))
        {
            return None;
        }
        let promises = promises(&experiment, Formula::Corrected).ok()?;
        let file = File::new(&text);
        let refused = |place: &usize| {
            let channels = file.at(*place).channels_of(&experiment);
            channels.iter().any(|i| promises.channels[*i].is_refused())
        };
        let refused: Vec<usize> = file.channels().into_iter().filter(refused).collect();
        if refused.is_empty() {
            let has = promises.channels.iter().any(Promise::is_bound);
            return has.then_some(text);
        }
        if refused.len() == file.channels().len() {
            return None;
        }
        text = file.without(&refused[..1]);
    }
}

/// An anomaly of a path over several stations.
const OTHER_DEADLINES: &str = "the stations of a path are asked for other deadlines, and by those messages are ahead of their time behind them";

/// Why no law speaks of a change, if so.
pub(super) fn anomaly(before: &Experiment, after: &Experiment, change: &Change) -> Option<&'static str> {
    let named = before.channels.iter().filter(|channel| change.channels.contains(&channel.name));
    let divided = named.clone().any(|channel| channel.route.len() > 1);
    let renegotiates = before.via.as_ref().is_some_and(|via| !via.renegotiations.is_empty());
    let shortest = |experiment: &Experiment| {
        let named = experiment.channels.iter().filter(|channel| change.channels.contains(&channel.name));
        named.map(|channel| channel.spec.smallest_packet(experiment.packet())).min()
    };
    if !placed_alike(before, after) {
        return Some(
            "what has no core of its own is placed on cores in turn, and a removal moves what is behind",
        );
    }
    match change.law {
        Law::Size if shortest(after) < shortest(before) => {
            Some("shorter frames follow each other faster, and so do their completions and interrupts")
        }
        Law::Deadline if divided => Some(OTHER_DEADLINES),
        Law::Size if renegotiates => {
            Some("a channel that is given another rate sends more messages, if these are smaller")
        }
        _ => None,
    }
}

/// Whether everything that both scenarios have is on the same cores.
fn placed_alike(before: &Experiment, after: &Experiment) -> bool {
    let (one, other) = (Placement::new(before), Placement::new(after));
    let of_channel = |(number, channel): (u32, &ChannelSpec)| {
        let same = (0..).zip(&after.channels).find(|(_, same)| same.name == channel.name);
        let Some((now, _)) = same else { return true };
        let at = |node: &usize| one.of(*node, ChannelId(number)) == other.of(*node, ChannelId(now));
        channel.route.iter().all(at)
    };
    let computes = |node: usize| {
        let same = |number| one.of_computing(node, number) == other.of_computing(node, number);
        (0..before.host(node).computing.len()).all(same)
    };
    (0..).zip(&before.channels).all(of_channel) && (0..before.nodes.len()).all(computes)
}

/// Why no law applies to the bounds of two scenarios, if so.
pub(super) fn told_apart(
    (before, first): (&Experiment, &Promises),
    (after, second): (&Experiment, &Promises),
) -> Option<&'static str> {
    if before.admission.test == Test::DOrder && !agree(&orders(before, first), &orders(after, second)) {
        return Some(
            "`D_order` gives a newcomer the highest priority that those below tolerate, so a cheaper one may come before others",
        );
    }
    let asked = |experiment: &Experiment, promises: &Promises| -> BTreeMap<(String, usize), Span> {
        let named = experiment.channels.iter().zip(&promises.channels);
        let of = |(channel, promise): (&ChannelSpec, &Promise)| {
            let name = channel.name.clone();
            promise.hops().iter().map(|hop| ((name.clone(), hop.hop), hop.bound.deadline)).collect::<Vec<_>>()
        };
        named.filter(|(channel, _)| channel.route.len() > 1).flat_map(of).collect()
    };
    let (first, second) = (asked(before, first), asked(after, second));
    let differs =
        |(key, deadline): (&(String, usize), &Span)| second.get(key).is_some_and(|other| other != deadline);
    first.iter().any(differs).then_some(OTHER_DEADLINES)
}

/// The bounds of a channel that the law of `change` covers, each with a name.
pub(super) fn bounds_of(
    experiment: &Experiment,
    channel: &ChannelSpec,
    promise: &Promise,
    change: &Change,
) -> Vec<(String, Span)> {
    let own = change.channels.contains(&channel.name);
    // A longer deadline may be used, and a lower rate is a lower share of a rate-based scheduler.
    if own && (change.law == Law::Deadline || by_rates(experiment, channel)) {
        return Vec::new();
    }
    if change.law == Law::Link && !hosts_are_free(experiment) {
        let at_ports = promise.hops().iter().filter(|hop| experiment.outlet(hop.node).is_some());
        return at_ports.map(|hop| (format!("at {}", hop.hop), hop.kept)).collect();
    }
    let both = [("departs", promise.bound()), ("arrives", promise.delivery_bound())];
    both.into_iter().filter_map(|(which, bound)| Some((which.to_string(), bound?))).collect()
}

/// Why a channel may be refused after `change`, if so.
pub(super) fn excuse(
    experiment: &Experiment,
    channel: &ChannelSpec,
    promise: &Promise,
    change: &Change,
) -> Option<&'static str> {
    let own = change.channels.contains(&channel.name);
    if own && change.law == Law::Deadline && promise.lacks_room() {
        return Some("a longer deadline lets more messages be under way, which need room");
    }
    if own && by_rates(experiment, channel) {
        return Some("a lower rate is a lower share where links go by rates");
    }
    (change.law == Law::Link && !hosts_are_free(experiment))
        .then_some("a slower link keeps completions and interrupts apart, which take the CPU of hosts")
}

/// Whether a station of its path shares a link by rates.
fn by_rates(experiment: &Experiment, channel: &ChannelSpec) -> bool {
    let by_rates = |station: &usize| match experiment.outlet(*station) {
        Some(outlet) => outlet.config.order.has_latency(),
        None => {
            experiment.host(*station).subsystem.link.order.has_latency()
                || matches!(experiment.adapter(*station), Adapter::Described(_))
        }
    };
    channel.route.iter().any(by_rates)
}

/// Whether neither completions nor interrupts take the CPU of any host.
fn hosts_are_free(experiment: &Experiment) -> bool {
    let free = |host: &Host| host.costs.interrupt.is_zero() && host.costs.link_scheduling.is_zero();
    experiment.hosts.iter().all(free)
        && experiment.adapters.iter().all(|adapter| matches!(adapter, Adapter::Null(_)))
}

/// Per station, the channels by their priority, each with its hop.
type Orders = BTreeMap<String, Vec<(String, usize)>>;

fn orders(experiment: &Experiment, promises: &Promises) -> Orders {
    let mut all: BTreeMap<String, Vec<(usize, String, usize)>> = BTreeMap::new();
    for (channel, promise) in experiment.channels.iter().zip(&promises.channels) {
        for hop in promise.hops() {
            let at = all.entry(experiment.name(hop.node)).or_default();
            at.push((hop.bound.priority, channel.name.clone(), hop.hop));
        }
    }
    let sorted = |mut at: Vec<(usize, String, usize)>| {
        at.sort();
        at.into_iter().map(|(_, name, hop)| (name, hop)).collect()
    };
    all.into_iter().map(|(station, at)| (station, sorted(at))).collect()
}

/// Whether the channels that both contain have the same order at each station.
fn agree(one: &Orders, other: &Orders) -> bool {
    let within = |orders: &Orders, all: &Orders| -> Orders {
        let of = |(station, at): (&String, &Vec<(String, usize)>)| {
            let has = |of: &&(String, usize)| all.get(station).is_some_and(|at| at.contains(of));
            (station.clone(), at.iter().filter(has).cloned().collect())
        };
        let mut all: Orders = orders.iter().map(of).collect();
        all.retain(|_, at: &mut Vec<_>| !at.is_empty());
        all
    };
    within(one, other) == within(other, one)
}
