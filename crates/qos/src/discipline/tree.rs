//! The guarantees of a tree of groups at each of its nodes.

use std::sync::atomic::{AtomicU32, Ordering};

use laxity_units::{Bytes, Span, Time};
use proptest::prelude::*;

use super::server::{Arrivals, cases, item, send, send_in, server};
use super::*;
use crate::costs::LinkCosts;
use crate::names::ChannelId;
use crate::packet::Carried;
use crate::virtual_clock::Vtick;

/// Number of tested pairs of groups, and of flows in a group, with fair service.
static PAIRS: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Flow(usize),
    Group(usize),
}

/// The parts of each node; the server is last.
fn parts(sharing: &Sharing) -> Vec<Vec<Part>> {
    let mut nodes = vec![Vec::new(); sharing.groups.len() + 1];
    let server = sharing.groups.len();
    for (n, flow) in sharing.flows.iter().enumerate() {
        nodes[flow.group.unwrap_or(server)].push(Part::Flow(n));
    }
    for (n, group) in sharing.groups.iter().enumerate() {
        nodes[group.within.unwrap_or(server)].push(Part::Group(n));
    }
    nodes
}

/// Whether the service of flow `flow` counts for `part`.
fn has(sharing: &Sharing, part: Part, flow: usize) -> bool {
    let Part::Group(group) = part else { return part == Part::Flow(flow) };
    let mut within = sharing.flows[flow].group;
    while let Some(place) = within.filter(|place| *place != group) {
        within = sharing.groups[place].within;
    }
    within == Some(group)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Without groups the discipline is start-time fair queueing.
    #[test]
    fn a_tree_of_flows_alone_is_flat(case in cases()) {
        let of = |order| send(order, &server(&case.sharing), &case.arrivals, true).iter().map(|sent| sent.item).collect::<Vec<_>>();
        prop_assert_eq!(of(Order::HierarchicalFair), of(Order::StartTimeFair));
    }

    /// The services of two waiting parts of a node differ by at most an item of each, whatever the
    /// rest of the tree does.
    fn parts_that_wait_are_served_alike(mut case in cases(), waits in any::<u8>(), more in 10usize..60) {
        let waits = |flow: usize| waits >> flow & 1 == 1;
        for flow in (0..case.sharing.flows.len()).filter(|flow| waits(*flow)) {
            let Share { tick, largest, smallest, .. } = case.sharing.flows[flow];
            let sizes = [largest.get(), smallest.get(), (largest.get() + smallest.get()).div_ceil(2)];
            case.arrivals.retain(|(_, request)| request.flow != ChannelId(flow as u32));
            let items = (0..more).map(|n| (Time::ZERO, item(flow, sizes[n * n % 3], tick, Time::ZERO)));
            case.arrivals.splice(0..0, items);
        }
        let Sharing { flows, groups, .. } = &case.sharing;
        let sent = send_in(&case.groups(), Order::HierarchicalFair, &server(&case.sharing), &case.arrivals, true);
        // Until the first of those flows has begun its last item.
        let mut left = vec![more; flows.len()];
        let last = sent.iter().position(|sent| sent.flow < flows.len() && waits(sent.flow) && {
            left[sent.flow] -= 1;
            left[sent.flow] == 0
        });
        let sent = &sent[..last.unwrap_or(0)];
        for node in parts(&case.sharing) {
            let sharing = &case.sharing;
            let within = |part: Part| (0..flows.len()).filter(move |flow| has(sharing, part, *flow));
            let always = |part: &Part| within(*part).any(waits);
            let node: Vec<Part> = node.into_iter().filter(always).collect();
            for (n, one) in node.iter().enumerate() {
                for other in &node[n + 1..] {
                    let tick = |part: &Part| match part {
                        Part::Flow(flow) => flows[*flow].tick,
                        Part::Group(group) => groups[*group].tick,
                    };
                    let item = |part: &Part| tick(part).of(within(*part).map(|flow| flows[flow].largest).max().unwrap());
                    let (mut ahead, mut most, mut least) = (0i128, 0i128, 0i128);
                    for sent in sent.iter().filter(|sent| sent.flow < flows.len()) {
                        let size = case.arrivals[sent.item].1.size;
                        let had = |part: &Part| if has(&case.sharing, *part, sent.flow) { i128::from(tick(part).of(size).as_ps()) } else { 0 };
                        ahead += had(one) - had(other);
                        (most, least) = (most.max(ahead), least.min(ahead));
                    }
                    let allowed = i128::from((item(one) + item(other)).as_ps()) + 4 * sent.len() as i128;
                    prop_assert!(most - least <= allowed, "{:?} and {:?}: {} of {}", one, other, most - least, allowed);
                    let both = matches!((one, other), (Part::Group(_), Part::Group(_)));
                    let inner = matches!(one, Part::Flow(flow) if flows[*flow].group.is_some());
                    PAIRS[0].fetch_add(u32::from(both), Ordering::Relaxed);
                    PAIRS[1].fetch_add(u32::from(inner), Ordering::Relaxed);
                }
            }
        }
    }
}

#[test]
fn parts_that_wait_are_served_alike_and_there_are_some() {
    parts_that_wait_are_served_alike();
    let pairs = PAIRS.each_ref().map(|count| count.load(Ordering::Relaxed));
    assert!(pairs.iter().all(|count| *count > 20), "{pairs:?} pairs");
}

fn one_in(parts: u64) -> Vtick {
    Vtick::new(Span::from_ns(parts), Bytes::new(1))
}

/// A byte takes a nanosecond. Flows 0 and 1 are in group 0, flow 2 is in group 1, which is in group
/// 0, and flow 3 is in no group.
fn groups() -> Groups {
    let group = |parts, within| Group { tick: one_in(parts), within };
    let members = [(0, 0), (1, 0), (2, 1)].map(|(flow, group)| (ChannelId(flow), group));
    Groups::new(vec![group(2, None), group(8, Some(0))], members)
}

fn flows(arrivals: &Arrivals) -> Vec<usize> {
    let speed = LinkCosts::new(Span::ZERO, Span::from_ns(1));
    let server = ServerParameters { speed, ..ServerParameters::with(EarlyPolicy::CONSERVE) };
    send_in(&groups(), Order::HierarchicalFair, &server, arrivals, true)
        .iter()
        .map(|sent| sent.flow)
        .collect()
}

/// Group 0 has half of the link, flow 3 the other half, and all items are of 1. In group 0 flow 0
/// has a half, flow 1 and group 1 a quarter each; but flow 0 sends no item.
///
/// The link takes turns: G at 0, 3 at 0, G at 2, 3 at 2 …  In the group flow 1 and group 1 begin at
/// 0, 8, 16, and take turns as well: flow 1 arrived first. Flow 3 gets no part of the quarter that
/// flow 0 leaves. With the rates of flows alone it would have had two of each three.
#[test]
fn what_a_flow_leaves_is_its_groups_before_it_is_others() {
    let all = [(1, 8), (2, 8), (3, 2)].into_iter();
    let arrivals: Arrivals = all
        .flat_map(|(flow, parts)| (0..4).map(move |_| (Time::ZERO, item(flow, 1, one_in(parts), Time::ZERO))))
        .collect();
    assert_eq!(flows(&arrivals), [1, 3, 2, 3, 1, 3, 2, 3, 1, 2, 1, 2]);
}

/// Flow 1 has five items from the beginning, and its group has the link alone: its start tags there
/// are 0, 8, 16, 24, 32. While the item with tag 16 is in service five of flow 0 arrive, at a
/// quarter: 16, 20, 24, 28, 32. With a clock of the group that ignored the item in service they
/// would begin at 0, and all precede the 24.
#[test]
fn the_clock_of_a_group_is_what_of_it_is_in_service() {
    let at = |ps| Time::ZERO + Span::from_ps(ps);
    let mut arrivals: Arrivals = (0..5).map(|_| (at(0), item(1, 1, one_in(8), at(0)))).collect();
    arrivals.extend((0..5).map(|_| (at(2500), item(0, 1, one_in(4), at(2500)))));
    assert_eq!(flows(&arrivals), [1, 1, 1, 0, 0, 1, 0, 0, 1, 0]);
}

/// Flow 2 sends four from 0 to 4, alone; so its group is at 32 then, and group 0 at 8. Half after
/// 4, when no item waits, two of flow 2 and two of flow 1 arrive. All nodes have advanced to their
/// latest tag, 32 in group 0, for both flows, which take turns in order of arrival. With a clock of
/// group 0 that had stayed at the tag last in service, 24, flow 1 would begin there, and go first.
///
/// The link serves one item of flow 3 from 4 to 14 beside: the group is idle, the link is not.
#[test]
fn a_group_of_which_nothing_waits_begins_anew_while_others_are_served() {
    let at = |ps| Time::ZERO + Span::from_ps(ps);
    let mut arrivals: Arrivals = (0..4).map(|_| (at(0), item(2, 1, one_in(8), at(0)))).collect();
    arrivals.push((at(3500), item(3, 10, one_in(2), at(3500))));
    let later = [2, 2, 1, 1].map(|flow| (at(4500), item(flow, 1, one_in(8), at(4500))));
    arrivals.extend(later);
    assert_eq!(flows(&arrivals), [2, 2, 2, 2, 3, 2, 1, 2, 1]);
}

/// An evicted item leaves no trace: of two groups at a link, one has an item of best effort alone.
/// Without that item the group does not wait, and its next item is that of a flow that arrives at
/// an idle group.
#[test]
fn who_is_put_out_was_never_there() {
    let tag = Tag::sharing(Time::ZERO, one_in(8));
    let of =
        |flow| ItemRequest { flow: ChannelId(flow), size: Bytes::new(1), tag, carried: Carried::NOTHING };
    let mut queue = Order::HierarchicalFair.discipline(&ServerParameters::with(EarlyPolicy::CONSERVE));
    queue.group(&groups());
    queue.enqueue(Time::ZERO, &item(3, 1, one_in(2), Time::ZERO), 3);
    queue.enqueue(Time::ZERO, &of(2), 2);
    assert_eq!((queue.evict(), queue.evict(), queue.len()), (Some(2), None, 1));
    queue.enqueue(Time::ZERO, &item(1, 1, one_in(8), Time::ZERO), 1);
    let order: Vec<i32> = std::iter::from_fn(|| queue.select(Time::ZERO).map(|(_, item)| item)).collect();
    assert_eq!(order, [3, 1]);
}

/// 1 ns a byte, and items of 100 B. A group with half of the link has flows of a quarter, an eighth
/// and an eighth, one of the eighths in a group of its own; a flow with a quarter is beside the
/// group. 150 B have no rate.
///
/// Link: 150 behind, and its parts take 100 + 100. Group 0: 150 + 200 + 200 = 550 behind, and its
/// parts take 3 · 200. Group 1: 550 + 600 + 800 behind, and its one part takes 800.
#[test]
fn bounds_by_hand() {
    let share = |parts, group| {
        let (tick, item) = (one_in(parts), Bytes::new(100));
        Share { tick, burst: item, largest: item, smallest: item, level: 0, messages: None, group }
    };
    let group = |parts, within| Group { tick: one_in(parts), within };
    let flows = vec![share(4, Some(0)), share(8, Some(0)), share(8, Some(1)), share(4, None)];
    let speed = LinkCosts::new(Span::ZERO, Span::from_ns(1));
    let (groups, without) = (vec![group(2, None), group(8, Some(0))], Bytes::new(150));
    let sharing = Sharing { speed, flows, without, frame: Span::ZERO, groups };
    let after = |sharing: &Sharing| {
        let latencies = Order::HierarchicalFair.latencies(sharing);
        latencies
            .into_iter()
            .map(|latency| latency.map(|latency| latency.after().as_ps() / 1000))
            .collect::<Vec<_>>()
    };
    assert_eq!(after(&sharing), [Some(550 + 600), Some(1150), Some(1950 + 800), Some(150 + 200)]);
    // A group with a smaller rate than is reserved in it has no bound, nor do the groups in it; the
    // flow beside it has one.
    let less = Sharing { groups: vec![group(3, None), group(8, Some(0))], ..sharing.clone() };
    assert_eq!(after(&less), [None, None, None, Some(350)]);
    // The result is equal if all flows together exceed the link.
    let mut crowded = sharing.clone();
    crowded.flows.extend([share(2, Some(0)); 3]);
    assert!(!crowded.fits() && after(&crowded)[..4] == [None, None, None, Some(350)]);
    // No flow has a bound where the groups exceed the link, though the flows reserve less.
    let more = Sharing { groups: vec![group(1, None), group(8, Some(0))], ..sharing };
    assert_eq!(after(&more), [None; 4]);
}
