//! Two links in a row, in all their ways on a small grid: what is promised there ([`RateTable`])
//! against the worst that there is.
//!
//! Two flows go over both links, a third over the second only, and at each there is one item of
//! best effort. Messages are of one or two packets, at each phase of a grid; a microsecond is a
//! packet's time, an interval, a phase. The test is exhaustive and not random, so its maximum is
//! the worst of the grid, and says how much of the bounds is slack.

use laxity_qos::channel::{Carried, ChannelId};
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::{
    EarlyPolicy, ItemRequest as Item, Order, ServerParameters, Share, Sharing, Tag,
};
use laxity_qos::traffic::TrafficSpec;
use laxity_qos::virtual_clock::Vtick;
use laxity_units::{Bytes, Span, Time};

use crate::{Decision, Early, Pays, RateRequest, RateTable, Request as Asked};

/// Items in the order of their arrival.
type Arrivals = Vec<(Time, Item)>;

/// An item that the link has sent.
struct Sent {
    /// Its index among the arrivals.
    item: usize,
    flow: usize,
    left: Time,
}

/// Sends all `arrivals`, which are in order. Panics if the link idles while an item waits.
fn send(order: Order, sharing: &Sharing, arrivals: &Arrivals) -> Vec<Sent> {
    let server = ServerParameters {
        speed: sharing.speed,
        frame: sharing.frame,
        ..ServerParameters::with(EarlyPolicy::CONSERVE)
    };
    let mut queue = order.discipline(&server);
    let (mut sent, mut now) = (Vec::new(), Time::ZERO);
    let mut coming = arrivals.iter().enumerate().peekable();
    while sent.len() < arrivals.len() {
        while let Some((item, (at, request))) = coming.next_if(|(_, (at, _))| *at <= now) {
            queue.enqueue(now.max(*at), request, item);
        }
        if let Some((_, item)) = queue.select(now) {
            let request = arrivals[item].1;
            let left = now + server.speed.transmit(request.size);
            while let Some((item, (at, request))) = coming.next_if(|(_, (at, _))| *at < left) {
                queue.enqueue(*at, request, item);
            }
            sent.push(Sent { item, flow: request.flow.0 as usize, left });
            now = left;
        } else {
            assert!(queue.is_empty(), "{order:?} idles at {now} with {} waiting", queue.len());
            queue.idle();
            now = coming.peek().expect("an item is still to arrive").1.0;
        }
    }
    sent
}

/// `size` bytes of `flow`, which has the rate of `tick`.
fn item(flow: usize, size: u64, tick: Vtick, at: Time) -> Item {
    let tag = Tag::real_time(at, Span::from_ms(1), tick, flow.min(30) as u8);
    Item { flow: ChannelId(flow as u32), size: Bytes::new(size), tag, carried: Carried::NOTHING }
}

/// `I`, in packets' times.
const INTERVAL: u64 = 9;
/// Packets of a message, and of an item of best effort.
const MOST: u64 = 2;
/// When the message is sent that is looked at, so that others can be before it.
const AT: u64 = 12;

fn us(us: u64) -> Span {
    Span::from_us(us)
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn packets(packets: u64) -> Bytes {
    Bytes::new(1000) * packets
}

const TICK: Vtick = Vtick::new(Span::from_us(INTERVAL), Bytes::new(1000 * MOST));

/// A link of a packet each microsecond that is shared in `order`, with the bounds of `channels` of
/// it.
fn bounds(order: Order, channels: &[(Pays, Span)]) -> Vec<Span> {
    let sharing = Sharing {
        speed: SPEED,
        flows: Vec::new(),
        without: packets(MOST),
        frame: Span::ZERO,
        groups: Vec::new(),
    };
    let mut table = RateTable::new(order, packets(1), sharing).expect("it shares by rates");
    let spec = TrafficSpec {
        max_message: packets(MOST),
        min_message: packets(1),
        burst: 1,
        min_interval: us(INTERVAL),
    };
    for &(pays, by) in channels {
        let request = Asked::new(spec, us(1000)).expect("it is a request");
        let asked =
            RateRequest { request, level: 0, group: None, pays, early: Early { by, ahead: 0 }, whole: false };
        assert!(matches!(table.request(asked), Decision::Admitted { .. }), "{order:?}");
    }
    table.bounds().into_iter().map(|bound| bound.bound).collect()
}

const SPEED: LinkCosts = LinkCosts::new(Span::ZERO, Span::from_ns(1));

/// Adds a message of `size` packets.
fn message(to: &mut Arrivals, flow: usize, size: u64, when: Time) {
    to.extend((0..size).map(|_| (when, item(flow, 1000, TICK, when))));
}

/// Adds what has no rate, if there is any.
fn lower(to: &mut Arrivals, when: Option<u64>) {
    to.extend(when.map(|when| (at(when), item(100, 1000 * MOST, Vtick::NONE, at(when)))));
}

fn when_last_left(
    order: Order,
    arrivals: &mut Arrivals,
    sharing: &Sharing,
    then: Option<&mut Arrivals>,
) -> Time {
    arrivals.sort_by_key(|(at, _)| *at);
    let sent = send(order, sharing, arrivals);
    if let Some(then) = then {
        let on = sent.iter().filter(|sent| sent.flow < 2);
        then.extend(on.map(|sent| (sent.left, arrivals[sent.item].1)));
    }
    // The first message of flow 0 is the one at `AT`, of as many packets as there are.
    let own = sent.iter().filter(|sent| sent.flow == 0).take(MOST as usize);
    own.map(|sent| sent.left).max().expect("it was sent")
}

/// The worst delay of the message over both links.
fn worst(order: Order) -> Span {
    let share = Share {
        tick: TICK,
        burst: packets(MOST),
        largest: packets(1),
        smallest: packets(1),
        level: 0,
        messages: None,
        group: None,
    };
    let sharing = |flows: usize| Sharing {
        speed: SPEED,
        flows: vec![share; flows],
        without: packets(MOST),
        frame: Span::ZERO,
        groups: Vec::new(),
    };
    let (first, second) = (sharing(2), sharing(3));
    let phases = |from: u64, to: u64| (from..to).map(Some).chain([None]);
    let mut worst = Span::ZERO;
    for size in 1..=MOST {
        for other in AT - INTERVAL + 1..=AT + 2 {
            for begun in phases(AT - 2, AT + 1) {
                let (mut here, mut there) = (Vec::new(), Vec::new());
                for again in 0..2 {
                    message(&mut here, 0, MOST, at(AT + again * INTERVAL));
                    message(&mut here, 1, size, at(other + again * INTERVAL));
                }
                lower(&mut here, begun);
                when_last_left(order, &mut here, &first, Some(&mut there));
                for third in AT - INTERVAL..=AT + 6 {
                    for below in phases(AT - 1, AT + 6) {
                        let mut there = there.clone();
                        (0..2).for_each(|again| message(&mut there, 2, MOST, at(third + again * INTERVAL)));
                        lower(&mut there, below);
                        let left = when_last_left(order, &mut there, &second, None);
                        worst = worst.max(left.since(at(AT)));
                    }
                }
            }
        }
    }
    worst
}

/// By all arrivals there are 2 of best effort and two messages at the first link: 6. The second
/// has, of messages up to 6 early, three of each flow of two and two of the third: 18. A rate is
/// worth 9 there, and others 2 (as an item of any flow), under SCFQ an item of each other, so it is
/// 11, 13 and 12. With the burst paid for at the first: 9 and 4.5 and what others are.
#[test]
fn no_way_of_the_grid_exceeds_what_is_promised() {
    let orders = [
        Order::VirtualClock,
        Order::WeightedFair,
        Order::WorstCaseFair,
        Order::SelfClocked,
        Order::StartTimeFair,
        Order::DeficitRoundRobin,
    ];
    let mut shares = Vec::new();
    for order in orders {
        let here = bounds(order, &[(Pays::Everywhere, Span::ZERO); 2])[0];
        assert_eq!(here, us(6), "{order:?}");
        let third = (Pays::Everywhere, Span::ZERO);
        let there = bounds(order, &[(Pays::Everywhere, here), (Pays::Everywhere, here), third])[0];
        let first = bounds(order, &[(Pays::First, Span::ZERO); 2])[0];
        let before = order.handed_on(&Share {
            tick: TICK,
            burst: packets(MOST),
            largest: packets(1),
            smallest: packets(1),
            level: 0,
            messages: None,
            group: None,
        });
        let next = (Pays::Before(before), first);
        let once = first + bounds(order, &[next, next, third])[0];
        let worst = worst(order);
        assert!(worst <= here + there && worst <= once, "{order:?}: {worst} of {} and {once}", here + there);
        shares.push((order, worst.as_secs_f64() / (here + there).min(once).as_secs_f64()));
    }
    // The second link assumes both flows as early as the first may be late, though that lets one
    // after the other go: a third of the bounds is reached at least.
    assert!(shares.iter().all(|(_, share)| *share > 0.32), "{shares:?}");
}
