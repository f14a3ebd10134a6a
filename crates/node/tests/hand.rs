//! Timelines by hand over a line of nodes.

mod line;

use laxity_node::faults::NodeFault;
use laxity_node::{Command, Failure, Node, Response};
use laxity_signalling::bound::{SignallingChannel, establishment};
use laxity_signalling::contract::ChannelContract;
use laxity_signalling::event::SourceEvent;
use laxity_signalling::identity::{GlobalChannelId, NodeId, Owner, Port, Program};
use laxity_signalling::refusal::{Alternative, NodeResource, Shortage};
use laxity_signalling::settings::Settings;
use laxity_units::{Span, Time};
use line::{Line, PORT, PROGRAM, SIGNALLING, Seen, WAY, config, contract, us};

const ROUTE: [u32; 4] = [0, 1, 2, 3];

/// `Ask` has 107 + 16 k bytes and a header of 72 at hop `k` of four nodes, `Commit` 61 and 72.
/// `Refresh` has 32 and 72, and waits for the spacing of 2 ms. A byte takes 1 us, the way 100 us.
#[test]
fn a_channel_over_three_hops_is_established_in_one_round_trip() {
    let mut line = Line::new(4, None);
    let id = line.open(contract(), &ROUTE);
    line.until(us(10_000));
    let left: Vec<_> = line.left(None).into_iter().map(|(at, node, [.., end])| (node, at, end)).collect();
    let ask = [(0, us(0), us(195)), (1, us(295), us(506)), (2, us(606), us(833))];
    let commit = [(3, us(933), us(1066)), (2, us(1166), us(1299)), (1, us(1399), us(1532))];
    let refresh = [(0, us(2000), us(2104)), (1, us(2295), us(2399)), (2, us(2606), us(2710))];
    let refreshed = [(3, us(2933), us(3029)), (2, us(3166), us(3262)), (1, us(3399), us(3495))];
    assert_eq!(left, [ask, commit, refresh, refreshed].concat());
    assert_eq!(line.established(id), Some(us(1632)));
    let opened = line.seen.iter().find(|(.., seen)| matches!(seen, Seen::Event(SourceEvent::Opened { .. })));
    assert_eq!(opened.map(|(at, node, _)| (*at, *node)), Some((us(2810), 3)));
}

/// The first request leaves at once. The slot at 2 ms takes the five others, of 123 bytes each, and the
/// first channel's `Refresh` of 32: 647 bytes of 731, and a header of 72.
#[test]
fn requests_that_wait_share_a_frame() {
    let mut line = Line::new(4, None);
    let ids: Vec<GlobalChannelId> = (0..6).map(|_| line.open(contract(), &ROUTE)).collect();
    line.until(us(3000));
    let left: Vec<_> = line.left(None).into_iter().filter(|(_, node, _)| *node == 0).collect();
    let left: Vec<_> = left.into_iter().map(|(at, _, [.., end])| (at, end)).collect();
    assert_eq!(left, [(us(0), us(195)), (us(2000), us(2719))]);
    line.until(us(20_000));
    assert!(ids.into_iter().all(|id| line.established(id).is_some()));
}

/// A node promises 3250 us at least: a datagram of 1072 us that it waits for, two signalling
/// messages of 803 us, and the packet of 572 us. The destination needs no time. Of 30 000 us 20 250 are
/// left. The destination counts as a tenth of the mean in their division, 243.75 us, so a node has
/// 3250 + 20 250 × 3250 / 9993.75 = 9835.366 us. Remaining time travels in whole nanoseconds.
#[test]
fn a_message_is_held_at_each_node_until_its_logical_arrival() {
    let mut line = Line::new(4, None);
    let id = line.open(contract(), &ROUTE);
    line.until(us(20_000));
    assert_eq!(line.send(id, 500), us(50_300));
    line.until(us(60_000));
    let ps = |ps| Time::ZERO + Span::from_ps(ps);
    let held = [(0, 20_000_000_000), (1, 29_935_365_000), (2, 39_870_730_000)];
    let deadlines = [9_835_365_853; 3];
    let expected: Vec<_> = held
        .into_iter()
        .zip(deadlines)
        .map(|((node, at), d)| (ps(at), node, [ps(at), ps(at + d), ps(at + 572_000_000)]))
        .collect();
    assert_eq!(line.left(Some(id)), expected);
    let delivered: Vec<_> = delivered(&line);
    assert_eq!(delivered, [(ps(40_542_730_000), 500)]);
}

fn delivered(line: &Line) -> Vec<(Time, usize)> {
    let of = |(at, _, seen): &(Time, usize, Seen)| match seen {
        Seen::Message(message) => Some((*at, message.payload.len())),
        _ => None,
    };
    line.seen.iter().filter_map(of).collect()
}

/// When messages at 20, 70 and 150 ms leave node 1, if the first one is 20 ms late.
fn after_a_late_packet(fault: Option<NodeFault>) -> Vec<Time> {
    let mut line = Line::new(4, fault);
    let id = line.open(contract(), &ROUTE);
    for (at, delay) in [(20_000, Span::from_ms(20)), (70_000, Span::ZERO), (150_000, Span::ZERO)] {
        line.until(us(at));
        line.delay = delay;
        line.send(id, 500);
        line.until(us(at + 1000));
        line.delay = Span::ZERO;
    }
    line.until(us(200_000));
    line.left(Some(id)).into_iter().filter(|(_, node, _)| *node == 1).map(|(at, ..)| at).collect()
}

/// Without the fault a message leaves node 1 9935.365 us after it leaves the source. The regulator
/// keeps 50 ms behind the late message, and the pause before the third message makes up for it.
#[test]
fn lateness_stays_until_the_source_pauses() {
    let ns = |ns| Time::ZERO + Span::from_ns(ns);
    assert_eq!(after_a_late_packet(None), [ns(49_935_365), ns(99_935_365), ns(159_935_365)]);
    let broken = after_a_late_packet(Some(NodeFault::RegulatorMissing));
    assert_eq!(broken, [ns(49_935_365), ns(79_935_365), ns(159_935_365)]);
}

/// Node 1 stops from 20 to 75 ms, and has the messages of 20 and 70 ms at once. The second one leaves it when
/// it does without a stop, 9935.365 us after it leaves the source.
#[test]
fn a_stop_does_not_move_messages_together() {
    let mut line = Line::new(4, None);
    let id = line.open(contract(), &ROUTE);
    for at in [20_000, 70_000, 120_000] {
        line.until(us(at));
        line.stop = Some((1, us(20_000), us(75_000)));
        line.send(id, 500);
    }
    line.until(us(200_000));
    let left = line.left(Some(id)).into_iter().filter(|(_, node, _)| *node == 1).map(|(at, ..)| at);
    let ns = |ns| Time::ZERO + Span::from_ns(ns);
    assert_eq!(left.collect::<Vec<_>>(), [us(75_000), ns(79_935_365), ns(129_935_365)]);
}

/// The messages of 70 and 120 ms do not leave the source's link.
#[test]
fn the_message_behind_tells_of_those_that_were_lost() {
    let mut line = Line::new(4, None);
    let id = line.open(contract(), &ROUTE);
    for at in [20_000, 70_000, 120_000, 170_000, 220_000] {
        line.until(us(at));
        line.cut = (60_000..130_000).contains(&at);
        line.send(id, 500);
    }
    line.until(us(300_000));
    let lost = line.seen.iter().filter_map(|(.., seen)| match seen {
        Seen::Message(message) => Some((message.number, message.lost)),
        _ => None,
    });
    assert_eq!(lost.collect::<Vec<_>>(), [(0, 0), (3, 2), (4, 0)]);
}

/// A film at the rate of its contract: it has 150 ms of its 200 ms at the nodes that send, as no
/// local deadline is longer than its interval of 50 ms. After the change it has 75 ms there.
///
/// The times at which messages are due, counted from their commands, of five messages that are 25 ms
/// apart from the change on.
fn due_after_change(deadline: Span) -> (Line, Vec<Span>) {
    let old = ChannelContract { deadline: Span::from_ms(200), ..contract() };
    let mut line = Line::new(4, None);
    let id = line.open(old, &ROUTE);
    line.until(us(20_000));
    line.send(id, 500);
    line.until(us(50_000));
    let new = ChannelContract { min_interval: Span::from_ms(25), deadline, ..old };
    line.command(0, Command::Change(id, new));
    line.until(us(70_000));
    let changed =
        |(_, _, seen): &(Time, usize, Seen)| matches!(seen, Seen::Event(SourceEvent::Changed { .. }));
    assert!(line.seen.iter().any(changed));
    let mut due = Vec::new();
    for at in [70_000, 95_000, 120_000, 145_000, 300_000] {
        line.until(us(at));
        due.push(line.send(id, 500).since(us(at)));
    }
    line.until(us(600_000));
    (line, due)
}

/// Numbers of the messages that are delivered, with their delays.
fn numbers(line: &Line) -> Vec<(u32, Span)> {
    let of = |(_, _, seen): &(Time, usize, Seen)| match seen {
        Seen::Message(message) => Some((message.number, message.delay)),
        _ => None,
    };
    line.seen.iter().filter_map(of).collect()
}

/// The destination may hold messages of the new contract for 125 ms, so all are due by their bound.
#[test]
fn a_source_that_uses_all_of_its_contract_has_no_gap_at_a_change() {
    let (line, due) = due_after_change(Span::from_ms(200));
    assert_eq!(due, [Span::from_ms(200); 5]);
    assert_eq!(numbers(&line).iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    assert!(numbers(&line).iter().all(|(_, delay)| *delay <= Span::from_ms(200)));
}

/// The message at 20 ms is at the destination by 170.301 ms, and what is sent at 70 ms is not due
/// before: 60 ms are too short by 40.301 ms. So are those behind it, until the source pauses.
#[test]
fn with_a_shorter_deadline_messages_are_due_with_the_last_of_the_old_contract() {
    let (line, due) = due_after_change(Span::from_ms(60));
    let late = Span::from_us(100_301);
    assert_eq!(due, [late, late, late, late, Span::from_ms(60)]);
    assert_eq!(numbers(&line).iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    assert!(numbers(&line).iter().all(|(_, delay)| *delay <= Span::from_ms(200)));
}

/// The source is ahead of its contract by the burst, a message, all the time. After the first change
/// it may be so once more, and its messages are due later than by the contract by what the earlier
/// ones still have to wait. So they are after the second change, and the contract before it, which by
/// itself is over after 80.3 ms, lasts as much longer.
#[test]
fn a_second_change_loses_no_message_that_the_first_one_delayed() {
    let mut line = Line::new(4, None);
    let id = line.open(contract(), &ROUTE);
    let mut sent = 0;
    let mut send = |line: &mut Line, number: u32| {
        for _ in 0..number {
            line.send(id, 500);
        }
        sent += number;
    };
    let mut at = 20_000;
    for period in 0..20 {
        line.until(us(at));
        send(&mut line, if period == 0 { 2 } else { 1 });
        if [4, 10].contains(&period) {
            line.command(0, Command::Change(id, contract()));
            at += 10_000;
            line.until(us(at));
            send(&mut line, 2);
        }
        at += 50_000;
    }
    line.until(us(1_500_000));
    let changed =
        |(_, _, seen): &&(Time, usize, Seen)| matches!(seen, Seen::Event(SourceEvent::Changed { .. }));
    assert_eq!(line.seen.iter().filter(changed).count(), 2);
    let delivered: Vec<u32> = numbers(&line).iter().map(|(number, _)| *number).collect();
    assert_eq!(delivered, (0..sent).collect::<Vec<u32>>());
}

/// Messages within a node, beside floods on its links: they are 50 ms apart at the receiver, and the
/// fourth is beyond the burst. The contract needs the time of the host only.
#[test]
fn a_channel_within_a_node_is_policed_and_waits_for_no_link() {
    let mut line = Line::new(3, None);
    line.flood = true;
    line.until(us(20_000));
    let burst = ChannelContract { burst: 2, deadline: Span::from_ps(1), ..contract() };
    let id = line.open(burst, &[1]);
    assert_eq!(line.established(id), Some(us(20_000)));
    let due = [(); 3].map(|()| line.send(id, 500));
    assert_eq!(due, [20_000, 70_000, 120_000].map(|at| us(at) + Span::from_ps(1)));
    let excess = line.nodes[1].command(line.now, PROGRAM, Command::Send(id, vec![7]));
    assert_eq!(excess, Err(Failure::Excess));
    // Behind a change a message waits for those of the contract before, 1 us for rounding.
    line.command(1, Command::Change(id, ChannelContract { min_interval: Span::from_ms(20), ..burst }));
    assert_eq!(line.send(id, 400), us(120_001));
    line.until(us(119_000));
    assert_eq!(delivered(&line), [(us(20_000), 500), (us(70_000), 500)]);
    line.until(us(300_000));
    let delays = |seen: &Seen| if let Seen::Message(message) = seen { Some(message.delay) } else { None };
    assert!(line.seen.iter().filter_map(|(.., seen)| delays(seen)).all(|delay| delay.is_zero()));
    assert_eq!(delivered(&line)[2..], [(us(120_000), 500), (us(120_001) - Span::from_ps(1), 400)]);
    assert!(line.left(Some(id)).is_empty());
    line.command(1, Command::Close(id));
    line.until(us(400_000));
    let config = config(1, 3);
    let fresh = Node::new(config.clone(), Box::new(|| 0)).unwrap();
    assert_eq!(line.nodes[1].holdings(), fresh.holdings());
    // A host that takes 300 us.
    let mut slow = config;
    slow.links.values_mut().for_each(|link| link.hosts = Span::from_us(300));
    let mut node = Node::new(slow, Box::new(|| 0)).unwrap();
    node.command(us(0), PROGRAM, Command::Listen(PORT)).unwrap();
    let mut outcome = |deadline| {
        let contract = ChannelContract { deadline, ..contract() };
        let (owner, route) = (Owner(1), vec![NodeId(1)]);
        node.command(us(0), PROGRAM, Command::Open { owner, port: PORT, contract, route }).unwrap();
        node.poll_answer().unwrap().event
    };
    let SourceEvent::Refused { refused, .. } = outcome(Span::from_us(299)) else { panic!() };
    let would_do = Alternative::Deadline(Span::from_us(300));
    let shortage = Shortage::of(NodeResource::Deadline, 1_000_000).but(would_do);
    assert_eq!((refused.node, refused.shortage), (NodeId(1), shortage));
    assert!(matches!(outcome(Span::from_us(300)), SourceEvent::Established { .. }));
}

/// The receiver of a channel within a node closes it, and no other program may use it.
#[test]
fn both_ends_within_a_node_are_programs_of_their_own() {
    let mut node = Node::new(config(1, 3), Box::new(|| 0)).unwrap();
    let [sender, receiver] = [Program(2), Program(3)];
    node.command(us(0), receiver, Command::Listen(PORT)).unwrap();
    let open = Command::Open { owner: Owner(1), port: PORT, contract: contract(), route: vec![NodeId(1)] };
    let Ok(Response::Opening(id)) = node.command(us(0), sender, open) else { panic!() };
    assert_eq!(node.command(us(0), receiver, Command::Send(id, vec![1])), Err(Failure::NotYours));
    assert_eq!(node.command(us(0), receiver, Command::Change(id, contract())), Err(Failure::NotYours));
    assert_eq!(node.command(us(0), PROGRAM, Command::Close(id)), Err(Failure::NotYours));
    let datagram = |port| Command::Datagram { to: NodeId(1), port, payload: vec![5] };
    assert_eq!(node.command(us(0), sender, datagram(PORT)), Ok(Response::Done));
    assert_eq!(node.command(us(0), sender, datagram(Port(77))), Err(Failure::NoRoom));
    let Ok(Response::Received(message)) = node.command(us(0), receiver, Command::Receive(PORT)) else {
        panic!()
    };
    assert_eq!((message.channel, message.payload), (None, vec![5]));
    while node.poll_answer().is_some() {}
    node.command(us(0), receiver, Command::Close(id)).unwrap();
    let lost = node.poll_answer().unwrap();
    assert_eq!((lost.program, lost.event), (Some(sender), SourceEvent::Lost { channel: id, left: true }));
    // Without a receiver a channel ends as it begins.
    node.command(us(0), receiver, Command::Unlisten(PORT)).unwrap();
    let open = Command::Open { owner: Owner(1), port: PORT, contract: contract(), route: vec![NodeId(1)] };
    node.command(us(0), sender, open).unwrap();
    let events: Vec<SourceEvent> =
        std::iter::from_fn(|| node.poll_answer()).map(|answer| answer.event).collect();
    assert!(
        matches!(events[..], [_, SourceEvent::Established { .. }, SourceEvent::Lost { .. }, _]),
        "{events:?}"
    );
}

/// Reservations of the source that are not free yet, at 21, 69.999 and 70 ms.
fn retained(fault: Option<NodeFault>) -> [usize; 3] {
    let mut line = Line::new(4, fault);
    let id = line.open(contract(), &ROUTE);
    line.until(us(20_000));
    line.send(id, 500);
    line.until(us(21_000));
    line.command(0, Command::Close(id));
    [21_000, 69_999, 70_000].map(|at| {
        line.until(us(at));
        line.nodes[0].holdings().1[3]
    })
}

/// The message at 20 ms has used the link time of the 50 ms behind it.
#[test]
fn link_time_that_is_used_is_not_free() {
    assert_eq!(retained(None), [1, 1, 0]);
    assert_eq!(retained(Some(NodeFault::ReservationFreedEarly)), [0, 0, 0]);
}

/// Requests to a neighbour, of 99 bytes each, that each node makes just before our message is there,
/// both ways.
const BEFORE: u32 = 5;

/// Establishment over three flooded hops, with `BEFORE` requests to the next node at each of the
/// instants `extra`, in the order of the nodes that our request and its answer leave.
fn flooded(extra: &[Time]) -> (Line, GlobalChannelId) {
    let mut line = Line::new(4, None);
    line.flood = true;
    let start = us(50_000);
    line.until(start);
    let crossings = [(0, 1), (1, 2), (2, 3), (3, 2), (2, 1), (1, 0)];
    let mut id = None;
    for (at, (from, to)) in extra.iter().zip(crossings) {
        line.until(*at);
        for _ in 0..BEFORE {
            line.open(ChannelContract { min_interval: Span::from_secs(10), ..contract() }, &[from, to]);
        }
        id = id.or_else(|| {
            Some(line.open(ChannelContract { deadline: Span::from_ms(100), ..contract() }, &ROUTE))
        });
    }
    line.until(*extra.last().expect("one at least") + Span::from_ms(100));
    (line, id.expect("the first crossing opens it"))
}

/// All requests of a node wait for a datagram, and then share a frame with ours. The bound counts one
/// frame more, which may have left just before.
#[test]
fn establishment_under_flood_is_within_its_bound() {
    let mut extra = vec![us(50_000)];
    for crossing in 0..5 {
        let (line, _) = flooded(&extra);
        let node = [0, 1, 2, 3, 2, 1][crossing];
        let next = extra[crossing];
        let ours = line
            .left(None)
            .into_iter()
            .find(|(_, at, [logical, ..])| *at == node && *logical >= next)
            .expect("it leaves");
        extra.push(ours.2[2] + WAY - Span::from_ps(1));
    }
    let (line, id) = flooded(&extra);
    let took = line.established(id).expect("it is established").since(extra[0]);
    let link = SignallingChannel { interval: SIGNALLING, deadline: SIGNALLING, way: WAY, before: 1 };
    let bound = establishment(&[link; 3], Span::ZERO, 0, &Settings::default());
    assert!(took <= bound && took > bound / 4, "{took} of {bound}");
    assert_eq!((took, bound), (Span::from_ps(9_391_999_999), Span::from_us(24_600)));
}

/// A record of 42 bytes and a header of 72 take 114 us and 100 us at each of two links. The other
/// messages are dropped: node 3 has no route to node 9, and a record that goes in a circle ends.
#[test]
fn messages_of_synchronisation_travel_in_frames_of_signalling() {
    use laxity_clock::ClockMessage;
    use laxity_signalling::identity::NodeId;
    let mut line = Line::new(4, None);
    let length = 72 + laxity_node::RECORD as u64;
    line.nodes[0].send_clock(us(0), NodeId(2), &ClockMessage::Request { number: 7 });
    line.command(0, Command::Renew);
    line.until(us(2 * (length + 100) - 1));
    assert_eq!(line.nodes[2].poll_clock(), None);
    line.until(us(2 * (length + 100)));
    assert_eq!(line.nodes[2].poll_clock(), Some((NodeId(0), ClockMessage::Request { number: 7 })));
    assert_eq!(line.nodes[1].poll_clock(), None);
    let left: Vec<_> = line.left(None).into_iter().map(|(at, node, _)| (at, node)).collect();
    assert_eq!(left, [(us(0), 0), (us(length + 100), 1)]);
    line.nodes[3].send_clock(line.now, NodeId(9), &ClockMessage::Request { number: 8 });
    assert_eq!(line.nodes[3].waiting(NodeId(2)), 0);
    let nowhere = [(NodeId(9), NodeId(1))].into();
    line.nodes[0].set_routes(nowhere);
    line.nodes[1].set_routes([(NodeId(9), NodeId(0))].into());
    let now = line.now;
    line.nodes[0].send_clock(now, NodeId(9), &ClockMessage::Request { number: 9 });
    line.command(0, Command::Renew);
    line.until(us(200_000));
    let circles = line.left(None).len() - 2;
    assert_eq!(circles, 32);
}
