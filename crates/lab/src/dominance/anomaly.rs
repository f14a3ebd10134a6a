//! The pairs to which no law applies, each with its reason: `docs/design/laws.md` lists them.

use std::collections::{BTreeMap, BTreeSet};

use laxity_admission::{Formula, Test};
use laxity_model::adapter::Description;
use laxity_model::host::Applications;
use laxity_model::source::Envelope;
use laxity_qos::channel::{ChannelId, LinkParadigm, Order};
use laxity_qos::discipline::Class;
use laxity_qos::reception::Policy;
use laxity_units::Span;
use laxity_world::conforms;
use laxity_world::experiment::{AdapterSpec, ChannelSpec, Experiment, HostSpec, Placement, SourceSpec};
use laxity_world::promise::{Promise, Promises, Reading, passes_queues, tests, undelivered};

use super::change::{FileChange, Law};

/// An anomaly of the order of a station.
const NEWCOMER: &str = "`D_order` gives a newcomer the highest priority that those below tolerate, so a cheaper one may come before others";

/// An anomaly of promises that are shorter than what is asked for.
const SOONER: &str = "a channel is promised a shorter deadline than it asks for, and precedes others by that";

/// An anomaly of a path over several stations.
const OTHER_DEADLINES: &str = "the stations of a path are asked for other deadlines, and by those messages are ahead of their time behind them";

/// Why no law speaks of a change, if so.
pub(super) fn anomaly(before: &Experiment, after: &Experiment, change: &FileChange) -> Option<&'static str> {
    let named = changed(before, change);
    let divided = named.clone().any(|channel| channel.route.len() > 1);
    let renegotiates = before.virtual_interfaces().is_some_and(|via| !via.renegotiations.is_empty());
    let shortest = |experiment: &Experiment| {
        changed(experiment, change).map(|channel| channel.spec.smallest_packet(experiment.packet())).min()
    };
    let slots = |experiment: &Experiment| -> u64 {
        let of = |channel: &ChannelSpec| channel.packet_slots.saturating_add(channel.message_slots.into());
        experiment.channels.iter().fold(0, |sum: u64, channel| sum.saturating_add(of(channel)))
    };
    if !placed_alike(before, after) {
        return Some(
            "what has no core of its own is placed on cores in turn, and a removal moves what is behind",
        );
    }
    // The property of `laxity_curves` compares the bounds of queues by themselves.
    if passes_queues(before) || passes_queues(after) {
        return Some(
            "frames that leave a FIFO queue sooner may meet others at the next, and a linear program has few digits",
        );
    }
    if exceeds(before, after, change) {
        return Some(
            "a source that kept the contract exceeds the changed one, and any number of messages may be ahead",
        );
    }
    match change.law {
        Law::Size
            if before.virtual_interfaces().is_some()
                && named.clone().any(|channel| channel.class == Class::BestEffort) =>
        {
            Some("best effort without an end sends shorter messages the faster")
        }
        Law::Burst | Law::Size if wakes_otherwise(before, after) => Some(
            "a source of shorter bursts or messages wakes its application more often, on a CPU that others share",
        ),
        Law::Size if shortest(after) < shortest(before) => {
            Some("shorter frames follow each other faster, and so do their completions and interrupts")
        }
        Law::Size if virtual_source_exceeds(after, change) => {
            Some("a virtual interface carries the messages of its source, also those beyond the contract")
        }
        Law::Size if due_sooner(before, after) => Some(
            "a jitter counts from the shortest delay of a message, so a channel of smaller ones is due sooner",
        ),
        Law::Rate | Law::Size if takes_turns(before) => Some(
            "turns are in proportion to rates, and the lowest rate has a packet: a lower one makes the round longer",
        ),
        Law::Burst | Law::Deadline if polices(before) => Some(
            "an adapter polices by bursts: a shorter one, or a longer deadline, may be more than it tolerates",
        ),
        Law::Deadline if has_stages(before) => Some(
            "a message with a longer deadline waits longer at its CPU, and meets others at the link later",
        ),
        Law::Deadline if slots(after) > slots(before) => {
            Some("a longer deadline has more buffers, and more of its packets may be with the adapter")
        }
        Law::Deadline
            if named.clone().any(|channel| {
                let same = after.channels.iter().find(|same| same.name == channel.name);
                by_rates(before, channel) && same.is_some_and(|same| under_way(same) > under_way(channel))
            }) =>
        {
            Some("a longer deadline lets more messages be under way, which wait for a link by rates together")
        }
        Law::Deadline if divided => Some(OTHER_DEADLINES),
        Law::Size if renegotiates => {
            Some("a channel that is given another rate sends more messages, if these are smaller")
        }
        _ => None,
    }
}

/// The channels that `change` names, as far as `experiment` has them.
fn changed<'a>(
    experiment: &'a Experiment,
    change: &'a FileChange,
) -> impl Iterator<Item = &'a ChannelSpec> + Clone {
    experiment.channels.iter().filter(|channel| change.channels.contains(&channel.name))
}

/// Whether the source of a changed channel kept the contract before, and does not after the change.
fn exceeds(before: &Experiment, after: &Experiment, change: &FileChange) -> bool {
    let exceeds =
        |name: &str| changed(after, change).any(|channel| channel.name == name && !conforms(channel));
    changed(before, change).any(|channel| conforms(channel) && exceeds(&channel.name))
}

/// Whether a changed channel is a virtual interface of which the source exceeds the contract.
fn virtual_source_exceeds(after: &Experiment, change: &FileChange) -> bool {
    after.virtual_interfaces().is_some() && changed(after, change).any(|channel| !conforms(channel))
}

/// Whether a channel that asks for a jitter has a smaller smallest message after the change.
fn due_sooner(before: &Experiment, after: &Experiment) -> bool {
    let mut both = before.channels.iter().zip(&after.channels);
    both.any(|(one, other)| one.asks.jitter.is_some() && other.spec.min_message < one.spec.min_message)
}

/// Messages of a channel that are under way at a time by its deadline.
fn under_way(channel: &ChannelSpec) -> u64 {
    channel.deadline.map_or(1, |deadline| deadline.div_ceil(channel.spec.min_interval))
}

/// Whether a channel crosses two resources at a host that are analysed one by one: one of several cores,
/// or the CPU before shapers, and then a link.
fn has_stages(experiment: &Experiment) -> bool {
    let stations = experiment.channels.iter().flat_map(|channel| channel.route.iter().copied());
    let mut hosts = stations.filter(|station| *station < experiment.nodes.len());
    hosts.any(|host| experiment.cores(host) > 1 || !experiment.shapers(host).is_empty())
}

/// Whether a station gives its channels turns by their rates.
fn takes_turns(experiment: &Experiment) -> bool {
    let of_hosts = experiment.hosts.iter().map(|host| host.subsystem.link.order);
    let of_ports = experiment.outlets.iter().map(|outlet| outlet.config.order);
    of_hosts.chain(of_ports).any(|order| order == Order::DeficitRoundRobin)
}

/// Whether an adapter polices contracts.
fn polices(experiment: &Experiment) -> bool {
    experiment.adapters.iter().any(|adapter| match adapter {
        AdapterSpec::Described(described) => {
            let Description { transmit_policing, receive_policing, .. } = &**described;
            transmit_policing.is_some() || receive_policing.is_some()
        }
        AdapterSpec::Null(_) => false,
    })
}

/// Whether the source of a channel sends shorter bursts or messages more often after the change, and its
/// application shares the CPU of the host.
///
/// Enforcement limits the messages of a channel, and not how often its application wakes.
fn wakes_otherwise(before: &Experiment, after: &Experiment) -> bool {
    let envelope = |channel: &ChannelSpec| match &channel.source {
        SourceSpec::Timed { parameters, .. } => parameters.envelope(),
        _ => None,
    };
    let mut both = before.channels.iter().zip(&after.channels);
    both.any(|(one, other)| {
        let shared = before.host(one.route[0]).applications == Applications::Shared;
        let oftener = |(one, other): (Envelope, Envelope)| other.every < one.every || other.extra > one.extra;
        shared && envelope(one).zip(envelope(other)).is_some_and(oftener)
    })
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
    if by_order(before) && !agree(&orders(before, first), &orders(after, second)) {
        return Some(NEWCOMER);
    }
    if sooner(before, first) != sooner(after, second) {
        return Some(SOONER);
    }
    if reaches_further(before, after) {
        return Some("a promise ended at the last transmission, and reaches the receiving host now");
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

/// The channels at one station that are promised a shorter deadline than they ask for, with that deadline.
fn sooner<'a>(experiment: &'a Experiment, promises: &Promises) -> BTreeMap<&'a str, Span> {
    let named = experiment.channels.iter().zip(&promises.channels);
    let of = |(channel, promise): (&'a ChannelSpec, &Promise)| {
        let [hop] = promise.hops() else { return None };
        let is_sooner = channel.deadline.is_some_and(|deadline| hop.bound.deadline < deadline);
        is_sooner.then_some((channel.name.as_str(), hop.bound.deadline))
    };
    named.filter_map(of).collect()
}

/// Whether the delivery of a channel is analysed in the second scenario alone, so that its deadline
/// has to be enough for more.
fn reaches_further(before: &Experiment, after: &Experiment) -> bool {
    let undelivered = |experiment| undelivered(experiment, Formula::Corrected).into_iter();
    let first: BTreeMap<&str, bool> = before
        .channels
        .iter()
        .map(|channel| channel.name.as_str())
        .zip(undelivered(before).map(|why| why.is_some()))
        .collect();
    let mut second = after.channels.iter().zip(undelivered(after));
    second.any(|(channel, why)| why.is_none() && first.get(channel.name.as_str()) == Some(&true))
}

/// Why a channel may be refused after a change where the tables that promise are not the same, if so:
/// that of the first scenario may have another order in the second.
pub(super) fn ordered_otherwise(
    (before, first): (&Experiment, &Promises),
    (after, second): (&Experiment, &Promises),
) -> Option<&'static str> {
    (by_order(before) && count_otherwise((before, first), (after, second))).then_some(NEWCOMER)
}

/// Whether tables promise that count in another way.
fn count_otherwise(
    (before, first): (&Experiment, &Promises),
    (after, second): (&Experiment, &Promises),
) -> bool {
    let readings = |experiment: &Experiment, promises: &Promises| -> BTreeMap<(String, usize), Reading> {
        let named = experiment.channels.iter().zip(&promises.channels);
        let of = |(channel, promise): (&ChannelSpec, &Promise)| {
            let hops = promise.hops().iter().map(|hop| ((channel.name.clone(), hop.hop), hop.reading));
            hops.collect::<Vec<_>>()
        };
        named.flat_map(of).collect()
    };
    let (one, other) = (readings(before, first), readings(after, second));
    one.iter().any(|(hop, reading)| other.get(hop).is_some_and(|other| other != reading))
}

/// Why a bound may be longer after a change, if so.
pub(super) fn lengthened(
    (before, first): (&Experiment, &Promises),
    (after, second): (&Experiment, &Promises),
    change: &FileChange,
) -> Option<&'static str> {
    if count_otherwise((before, first), (after, second)) {
        return Some("the table with the least sum of bounds counts in another way");
    }
    if let Some(why) = filled(before, after) {
        return Some(why);
    }
    let mut interfaces = after.receivers().iter().flat_map(|receiver| &receiver.interfaces);
    let reserved = interfaces.any(|interface| matches!(interface.config.policy, Policy::Guaranteed(_)));
    (change.law == Law::Receiver && reserved)
        .then_some("a faster program finishes more packets in its budget, and each lets a spare one be taken")
}

/// Why a bound may be longer, or a channel refused, where an adapter has fewer packets, if so.
pub(super) fn filled(before: &Experiment, after: &Experiment) -> Option<&'static str> {
    fills_less(before, after)
        .then_some("packets that are fewer than the window is deep fill the stages of an adapter less")
}

/// Whether a host has fewer packet buffers after a change, and fewer than the window of its adapter
/// of stages.
fn fills_less(before: &Experiment, after: &Experiment) -> bool {
    let slots = |experiment: &Experiment, node: usize| -> u64 {
        let here = experiment.channels.iter().filter(|channel| channel.route[0] == node);
        here.fold(0, |sum: u64, channel| sum.saturating_add(channel.packet_slots))
    };
    let fewer = |node: usize| {
        let depth = u64::from(after.host(node).subsystem.link.depth);
        slots(after, node) < slots(before, node).min(depth)
    };
    let staged = |node: &usize| {
        after.nodes[*node].adapters.len() == 1 && matches!(after.adapter(*node), AdapterSpec::Described(_))
    };
    (0..after.nodes.len()).filter(staged).any(fewer)
}

/// The bounds of a channel that the law of `change` covers, each with a name.
pub(super) fn bounds_of(
    experiment: &Experiment,
    channel: &ChannelSpec,
    promise: &Promise,
    change: &FileChange,
) -> Vec<(String, Span)> {
    let own = change.channels.contains(&channel.name);
    // A longer deadline may be used, and a lower rate is a lower share of a rate-based scheduler.
    if own && (change.law == Law::Deadline || by_rates(experiment, channel)) {
        return Vec::new();
    }
    // A station with a requested deadline keeps that, whatever its link, and the gap behind a frame
    // is part of it.
    if change.law == Law::Link && (!experiment.admission.orders_by_bounds() || !hosts_are_free(experiment)) {
        // A burst is paid at one port with rates, and it is not always the same.
        let at_ports = promise.hops().iter().filter(|hop| experiment.outlet(hop.node).is_some());
        let sum = at_ports.map(|hop| hop.kept).reduce(Span::saturating_add);
        return sum.map(|sum| ("at ports".to_string(), sum)).into_iter().collect();
    }
    let both = [("departs", promise.bound()), ("arrives", promise.delivery_bound())];
    both.into_iter().filter_map(|(which, bound)| Some((which.to_string(), bound?))).collect()
}

/// Why a channel may be refused after `change`, if so.
pub(super) fn excuse(
    experiment: &Experiment,
    channel: &ChannelSpec,
    promise: &Promise,
    change: &FileChange,
) -> Option<&'static str> {
    let own = change.channels.contains(&channel.name);
    // Another is refused if the changed channel could not keep its promise beside it.
    let changed = |other: &ChannelSpec| {
        let crosses = |node| experiment.hops(other).any(|(station, _)| station == node);
        let refused = matches!(promise, Promise::Refused(refused) if crosses(refused.node));
        change.channels.contains(&other.name) && (own || refused) && by_rates(experiment, other)
    };
    if (own || change.law == Law::Rate) && experiment.channels.iter().any(changed) {
        return Some("a lower rate is a lower share where links go by rates");
    }
    if own && change.law == Law::Rate && channel.route.len() > 1 {
        return Some(OTHER_DEADLINES);
    }
    if by_order(experiment)
        && let Promise::Refused(refused) = promise
        && (computes(experiment, refused.node) || passes_again(experiment, channel, refused.node))
    {
        return Some(NEWCOMER);
    }
    closer(experiment, change)
}

/// Whether `D_order` decides at a station.
pub(super) fn by_order(experiment: &Experiment) -> bool {
    tests(experiment).contains(&Some(Test::DOrder))
}

/// Whether `channel` has several passages at `node`, each of which is a newcomer to the others.
fn passes_again(experiment: &Experiment, channel: &ChannelSpec, node: usize) -> bool {
    experiment.hops(channel).filter(|(station, _)| *station == node).count() > 1
}

/// Whether budgets are reserved at `node`, which `D_order` gives priorities among the channels'.
fn computes(experiment: &Experiment, node: usize) -> bool {
    let host = experiment.nodes.get(node).map(|_| experiment.host(node));
    host.is_some_and(HostSpec::has_budgets)
}

/// Why a channel may have no bound after `change` at the hosts of its path, if so.
pub(super) fn closer(experiment: &Experiment, change: &FileChange) -> Option<&'static str> {
    (change.law == Law::Link && !hosts_are_free(experiment))
        .then_some("a slower link keeps completions and interrupts apart, which take the CPU of hosts")
}

/// Whether a station of its path shares a link by rates.
fn by_rates(experiment: &Experiment, channel: &ChannelSpec) -> bool {
    let described = |station: usize| {
        experiment.outlet(station).is_none()
            && matches!(experiment.adapter(station), AdapterSpec::Described(_))
    };
    let by_rates = |station: &usize| experiment.link_order(*station).has_latency() || described(*station);
    channel.route.iter().any(by_rates)
}

/// Whether neither completions nor interrupts take the CPU of any host.
fn hosts_are_free(experiment: &Experiment) -> bool {
    let free = |host: &HostSpec| {
        let by_thread = host.subsystem.link.paradigm == LinkParadigm::O3;
        let costs = [host.costs.interrupt, host.costs.response, host.costs.link_scheduling];
        costs.iter().all(|cost| cost.is_zero()) && !by_thread
    };
    experiment.hosts.iter().all(free)
        && experiment.adapters.iter().all(|adapter| matches!(adapter, AdapterSpec::Null(_)))
}

/// A hop of a channel.
type AtHop = (String, usize);

/// The channels of a station by their priority, each with its hop, and its level if it has one.
/// Applications that compute there, without names, have the places between them.
type Ordered = Vec<(AtHop, Option<u32>)>;

/// By the names of stations.
type Orders = BTreeMap<String, Ordered>;

/// What applications are called in [`Ordered`]; no channel has such a name.
const COMPUTES: &str = "";

fn orders(experiment: &Experiment, promises: &Promises) -> Orders {
    let mut all: BTreeMap<usize, BTreeMap<(usize, AtHop), Option<u32>>> = BTreeMap::new();
    for (channel, promise) in experiment.channels.iter().zip(&promises.channels) {
        for hop in promise.hops() {
            let place = (hop.bound.priority, (channel.name.clone(), hop.hop));
            all.entry(hop.node).or_default().insert(place, hop.bound.level);
        }
    }
    let mut orders = Orders::new();
    for (node, mut at) in all {
        let taken: BTreeSet<usize> = at.keys().map(|(priority, _)| *priority).collect();
        let computing = experiment.nodes.get(node).map_or(&[][..], |_| &experiment.host(node).computing);
        let reserved = computing.iter().filter(|application| application.budget.is_some());
        let free = (0..).filter(|priority| !taken.contains(priority)).zip(0..);
        for (priority, number) in free.take(reserved.count()) {
            at.insert((priority, (COMPUTES.to_string(), number)), None);
        }
        let order = at.into_iter().map(|((_, channel), level)| (channel, level)).collect();
        orders.insert(experiment.name(node), order);
    }
    orders
}

/// Whether the channels that both contain have the same order at each station, and the same of them
/// share a level.
fn agree(one: &Orders, other: &Orders) -> bool {
    within(one, other) == within(other, one)
}

/// The order of those channels that `all` contains, too, with levels told apart by their order
/// alone.
fn within(orders: &Orders, all: &Orders) -> Orders {
    let mut common = Orders::new();
    for (station, order) in orders {
        let Some(all) = all.get(station) else { continue };
        let mut left = order.clone();
        left.retain(|(channel, _)| all.iter().any(|(other, _)| other == channel));
        let levels: BTreeSet<Option<u32>> = left.iter().map(|(_, level)| *level).collect();
        for (_, level) in &mut left {
            *level = level.and_then(|level| u32::try_from(levels.range(..Some(level)).count()).ok());
        }
        if !left.is_empty() {
            common.insert(station.clone(), left);
        }
    }
    common
}
