//! A link with its queue, for tests: it sends the selected items, one after the other. And traffic
//! for it.

use laxity_units::{Bytes, Span, Time};
use proptest::prelude::*;

use super::sharing::Costly;
use super::{
    EarlyPolicy, Group, Groups, ItemRequest, Messages, Order, ServerParameters, Share, Sharing, Tag,
};
use crate::costs::LinkCosts;
use crate::fragment::Cut;
use crate::names::ChannelId;
use crate::packet::Carried;
use crate::traffic::TrafficSpec;
use crate::virtual_clock::Vtick;

#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    /// Index among the arrivals.
    pub(super) item: usize,
    pub(super) flow: usize,
    pub(super) came: Time,
    pub(super) began: Time,
    pub(super) left: Time,
}

/// Arrivals: time and request.
pub(super) type Arrivals = Vec<(Time, ItemRequest)>;

/// Sends all `arrivals`, which are in order, of flows in no groups. Panics if a work-conserving
/// link idles while an item waits.
pub(super) fn send(
    order: Order,
    server: &ServerParameters,
    arrivals: &Arrivals,
    conserving: bool,
) -> Vec<Sent> {
    send_in(&Groups::default(), order, server, arrivals, conserving)
}

/// Sends all `arrivals` of flows in groups, as [`send`] does.
pub(super) fn send_in(
    groups: &Groups,
    order: Order,
    server: &ServerParameters,
    arrivals: &Arrivals,
    conserving: bool,
) -> Vec<Sent> {
    let mut queue = order.discipline(server);
    queue.group(groups);
    let mut sent = Vec::new();
    let (mut coming, mut now) = (arrivals.iter().enumerate().peekable(), Time::ZERO);
    while sent.len() < arrivals.len() {
        while let Some((item, (at, request))) = coming.next_if(|(_, (at, _))| *at <= now) {
            queue.enqueue(now.max(*at), request, item);
        }
        let next = coming.peek().map(|(_, (at, _))| *at);
        if let Some((_, item)) = queue.select(now) {
            let (came, request) = arrivals[item];
            let left = now + server.speed.transmit(request.size);
            // Items that arrive during a transmission are queued at their arrival, while the link
            // is busy.
            while let Some((item, (at, request))) = coming.next_if(|(_, (at, _))| *at < left) {
                queue.enqueue(*at, request, item);
            }
            sent.push(Sent { item, flow: request.flow.0 as usize, came, began: now, left });
            now = left;
        } else {
            assert!(!conserving || queue.is_empty(), "{order:?} idles at {now} with {} waiting", queue.len());
            if queue.is_empty() {
                queue.idle();
            }
            let held = queue.next_eligible(now);
            assert!(held.is_none_or(|at| at > now), "{order:?} is to be asked at {held:?}, now it is {now}");
            now = Time::earlier(next, held).expect("whoever waits goes some time");
        }
    }
    sent
}

pub(super) fn item(flow: usize, size: u64, tick: Vtick, at: Time) -> ItemRequest {
    let tag = Tag::real_time(at, Span::from_ms(1), tick, flow.min(30) as u8);
    ItemRequest { flow: ChannelId(flow as u32), size: Bytes::new(size), tag, carried: Carried::NOTHING }
}

#[derive(Debug, Clone)]
struct Drawn {
    /// Its part of the reserved rate.
    weight: u64,
    sizes: (u64, u64),
    /// Packets of a message, if its items are parts of messages, and whether all have that size.
    message: Option<(u64, bool)>,
    /// Size of its bucket in largest items or messages.
    burst: u64,
    /// Whether it ignores its bucket.
    cheats: bool,
    /// Its choice among the groups, or no group.
    group: usize,
    /// Its intended traffic: gap after the item before, and size between its smallest and largest.
    wants: Vec<(u64, u64)>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let gap = prop_oneof![3 => Just(0u64), 1 => 0u64..20_000, 1 => 0u64..400];
    let size = prop_oneof![Just(0u64), Just(u64::MAX), any::<u64>()];
    let sizes = prop_oneof![(1u64..1500, Just(0u64)), (1u64..200, 0u64..1400)];
    let wants = prop::collection::vec((gap, size), 1..40);
    let message = prop::option::of((1u64..6, any::<bool>()));
    (1u64..30, (sizes, message), 1u64..5, (prop::bool::weighted(0.3), any::<usize>()), wants).prop_map(
        |(weight, ((least, more), message), burst, (cheats, group), wants)| Drawn {
            weight,
            sizes: (least, least + more),
            message,
            burst,
            cheats,
            group,
            wants,
        },
    )
}

impl Drawn {
    /// Its smallest and largest message or item, and whether they are messages.
    fn whole(&self) -> (u64, u64, bool) {
        let (least, packet) = self.sizes;
        match self.message {
            None => (least, packet, false),
            Some((packets, fixed)) => {
                let most = (packet * (packets - 1) + least).max(least);
                (if fixed { most } else { least }, most, true)
            }
        }
    }

    /// Its share by `speed`, of which all weights are `weights`.
    fn share(&self, (speed, weights): (LinkCosts, u64), level: u8, group: Option<usize>) -> Share {
        let (least, most, whole) = self.whole();
        let [min_message, max_message, largest] = [least, most, self.sizes.1].map(Bytes::new);
        let spec = TrafficSpec { max_message, min_message, burst: 1, min_interval: Span::from_ns(1) };
        let smallest = if whole { spec.smallest_packet(largest) } else { min_message };
        let largest = largest.min(max_message);
        let messages = whole.then_some(Messages { least: min_message, most: max_message });
        let tick = Vtick::new(Span::from_ns(1), Bytes::new(1));
        let burst = max_message * self.burst;
        let share = Share { tick, burst, largest, smallest, messages, level, group };
        let (frame, groups) = (Span::ZERO, Vec::new());
        let alone = Sharing { speed, flows: vec![share], without: Bytes::ZERO, frame, groups };
        let Costly { time, size } = alone.costly(&share);
        let interval = time.scale_ceil(weights, self.weight).scale_ceil(max_message.get(), size.get());
        Share { tick: Vtick::new(interval + Span::from_ps(1), max_message), ..share }
    }

    /// The items of a message that `size` is drawn for.
    fn items(&self, size: u64, share: &Share) -> Vec<Bytes> {
        let (least, most, whole) = self.whole();
        let size = Bytes::new(least + size % (most - least + 1));
        if !whole {
            return vec![size];
        }
        // A cheat has messages that are too large, with the shortest rest.
        let rest = if self.cheats && size.get().is_multiple_of(2) { share.smallest } else { Bytes::ZERO };
        let size = if rest.is_zero() { size } else { Bytes::new(most) + rest };
        let cut = Cut::new(size, Bytes::new(most), share.largest);
        (0..cut.packets()).map(|index| cut.size(index)).collect()
    }
}

/// Groups that have the rates reserved in them, and some a few percent more: each in an earlier
/// one, or in none.
fn grouped(flows: &[Share], drawn: &[(usize, u64)]) -> Vec<Group> {
    const SIZE: Bytes = Bytes::from_kib(1024);
    let within = |place: usize, choice: usize| (choice % (place + 1)).checked_sub(1);
    let mut rates = vec![0; drawn.len()];
    for flow in flows {
        let rate =
            (u128::from(flow.tick.size().get()) << 64).div_ceil(u128::from(flow.tick.interval().as_ps()));
        flow.group.inspect(|place| rates[*place] += rate);
    }
    let mut groups = Vec::new();
    for (place, (choice, more)) in drawn.iter().enumerate().rev() {
        let rate = (rates[place] * (100 + u128::from(*more))).div_ceil(100).max(1 << 44);
        let interval = (u128::from(SIZE.get()) << 64) / rate;
        let within = within(place, *choice);
        within.inspect(|outer| rates[*outer] += rate + 1);
        groups.push(Group { tick: Vtick::new(Span::from_ps(interval as u64), SIZE), within });
    }
    groups.reverse();
    groups
}

/// A link with a nanosecond for a byte, sometimes with an overhead; flows that reserve all of it or
/// a part; best effort.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) sharing: Sharing,
    pub(super) cheats: Vec<bool>,
    pub(super) arrivals: Arrivals,
}

impl Case {
    pub(super) fn groups(&self) -> Groups {
        let flows = self.sharing.flows.iter().enumerate();
        let members = flows.filter_map(|(n, flow)| Some((ChannelId(n as u32), flow.group?)));
        Groups::new(self.sharing.groups.clone(), members)
    }

    /// Whether all flows keep their buckets.
    pub(super) fn is_honest(&self) -> bool {
        !self.cheats.contains(&true)
    }
}

pub(super) fn cases() -> impl Strategy<Value = Case> {
    let few = prop::collection::vec((0u64..40_000, 1u64..1500), 0..12);
    // Or a best-effort backlog from the beginning, large enough that the link always continues with
    // it and never idles.
    let flood = prop::collection::vec((Just(0u64), 500u64..1500), 60..160);
    let best_effort = prop_oneof![3 => few, 1 => flood];
    let slack = prop_oneof![Just(0u64), 0u64..60];
    let groups = prop::collection::vec((any::<usize>(), prop_oneof![3 => Just(0u64), 1 => 0u64..30]), 0..4);
    (prop::collection::vec(drawn(), 1..7), best_effort, (slack, groups), 0usize..3, -3i32..5).prop_map(
        |(flows, others, (slack, groups), startup, shift)| {
            let speed = LinkCosts::new(Span::from_ns([0, 20, 300][startup]), Span::from_ns(1));
            let weights: u64 = flows.iter().map(|flow| flow.weight).sum::<u64>() * (4 + slack) / 4 + 1;
            let share = |(n, flow): (usize, &Drawn)| {
                let group = (flow.group % (groups.len() + 1)).checked_sub(1);
                flow.share((speed, weights), n as u8, group)
            };
            let shares: Vec<Share> = flows.iter().enumerate().map(share).collect();
            let groups = grouped(&shares, &groups);
            let frame = shares[0].tick.interval();
            let frame = Span::from_ps((frame.as_ps() << shift.max(0)) >> (-shift).max(0));
            let mut arrivals = Vec::new();
            for (n, (flow, share)) in flows.iter().zip(&shares).enumerate() {
                let (mut at, mut full) = (Time::ZERO, Time::ZERO);
                for (gap, wanted) in &flow.wants {
                    let items = flow.items(*wanted, share);
                    at += Span::from_ns(*gap);
                    let size = items.iter().copied().sum();
                    let (tick, bucket) = (share.tick.of(size), share.tick.of(share.burst));
                    if !flow.cheats {
                        // The bucket is full again at `full`, and covers this item from `full` plus
                        // the item's tick minus the bucket's depth on.
                        at = at.max(full.max(at).saturating_add(tick).saturating_sub(bucket));
                        full = full.max(at) + tick;
                    }
                    // The rest of a cheat's message may come when its begin has been served.
                    for (place, size) in items.iter().enumerate() {
                        let begun = flow.cheats && place > 0 && wanted & 1 << (place % 60) > 0;
                        at += if begun { Span::from_ns(gap / 8 + 1500) } else { Span::ZERO };
                        arrivals.push((at, item(n, size.get(), share.tick, at)));
                    }
                }
            }
            for (at, size) in &others {
                let at = Time::ZERO + Span::from_ns(*at);
                let (flow, tag) = (ChannelId(100), Tag::best_effort(at));
                arrivals.push((
                    at,
                    ItemRequest { flow, size: Bytes::new(*size), tag, carried: Carried::NOTHING },
                ));
            }
            arrivals.sort_by_key(|(at, _)| *at);
            let without = Bytes::new(others.iter().map(|(_, size)| *size).max().unwrap_or(0));
            Case {
                sharing: Sharing { speed, flows: shares, without, frame, groups },
                cheats: flows.iter().map(|flow| flow.cheats).collect(),
                arrivals,
            }
        },
    )
}

pub(super) fn server(sharing: &Sharing) -> ServerParameters {
    ServerParameters {
        speed: sharing.speed,
        frame: sharing.frame,
        ..ServerParameters::with(EarlyPolicy::CONSERVE)
    }
}
