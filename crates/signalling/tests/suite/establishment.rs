//! Establishment, refusal, renegotiation and release over a row of nodes, step by step.

use std::collections::{BTreeMap, VecDeque};

use laxity_signalling::Manager;
use laxity_signalling::contract::{ChannelContract, QuotaClaim};
use laxity_signalling::division::{Division, Needs};
use laxity_signalling::event::{OpenRequest, SourceEvent, Unfit};
use laxity_signalling::exact::{Capacity, Exact};
use laxity_signalling::identity::{Epoch, GlobalChannelId, NodeId, Owner, Port, Program, Version};
use laxity_signalling::message::{Ask, Body, ContractMessage};
use laxity_signalling::quota::{Quota, Quotas};
use laxity_signalling::refusal::{Alternative, Denial, NodeResource, Shortage};
use laxity_signalling::resources::Resources;
use laxity_signalling::settings::Settings;
use laxity_units::{Bytes, Span, Time};

/// Managers in a row. A message takes 1 ms from node to node.
struct Row {
    nodes: Vec<Manager<Exact>>,
    now: Time,
    under_way: VecDeque<(Time, NodeId, NodeId, ContractMessage)>,
    /// How many messages were sent, by kind.
    sent: BTreeMap<&'static str, u32>,
}

const HOP: Span = Span::from_ms(1);

impl Row {
    fn new(nodes: u32) -> Self {
        Self::of(nodes, |_| Quotas::default())
    }

    fn of(nodes: u32, quotas: impl Fn(u32) -> Quotas) -> Self {
        let node = |id: u32| {
            let beside = id.checked_sub(1).into_iter().chain((id + 1 < nodes).then_some(id + 1));
            // The links become slower along the row.
            let links = beside
                .map(|to| (NodeId(to), (6_000_000 / u64::from(to.max(id)), Span::from_us(100))))
                .collect();
            let exact = Exact::new(Capacity { links, cpu: Span::from_us(50), buffers: 40, places: 10 });
            Manager::new(NodeId(id), Epoch(1), Settings::default(), exact, Box::new(|| 0))
                .with_quotas(quotas(id))
        };
        let nodes = (0..nodes).map(node).collect();
        Self { nodes, now: Time::ZERO, under_way: VecDeque::new(), sent: BTreeMap::new() }
    }

    fn open(&mut self, contract: ChannelContract) -> GlobalChannelId {
        let route = (0..self.nodes.len() as u32).map(NodeId).collect();
        let open = OpenRequest { program: Program(1), owner: Owner(1), port: Port(1), contract, route };
        let channel = self.nodes[0].open(self.now, open);
        self.take(0);
        channel
    }

    fn take(&mut self, node: usize) {
        while let Some((to, message)) = self.nodes[node].poll_transmit() {
            let kind = match message.body {
                Body::Ask(_) => "ask",
                Body::Commit { .. } => "commit",
                Body::Refuse { .. } => "refuse",
                Body::Release { .. } => "release",
                _ => "other",
            };
            *self.sent.entry(kind).or_default() += 1;
            self.under_way.push_back((self.now + HOP, NodeId(node as u32), to, message));
        }
    }

    /// Delivers and waits until `end`.
    fn until(&mut self, end: Time) {
        loop {
            let timer = |node: &Manager<Exact>| node.poll_timeout();
            let due = self.nodes.iter().enumerate().filter_map(|(n, node)| Some((timer(node)?, n))).min();
            let arrival = self.under_way.front().map(|(at, ..)| *at);
            match (arrival, due) {
                (Some(at), _) if at <= end && due.is_none_or(|(timer, _)| at <= timer) => {
                    let (at, from, to, message) = self.under_way.pop_front().unwrap();
                    self.now = at;
                    self.nodes[to.0 as usize].handle(at, from, message);
                    self.take(to.0 as usize);
                }
                (_, Some((at, node))) if at <= end => {
                    self.now = at.max(self.now);
                    self.nodes[node].handle_timeout(self.now);
                    self.take(node);
                }
                _ => {
                    self.now = end;
                    return;
                }
            }
        }
    }

    fn pass(&mut self, span: Span) {
        self.until(self.now + span);
    }

    fn events(&mut self, node: usize) -> Vec<SourceEvent> {
        std::iter::from_fn(|| self.nodes[node].poll_event()).collect()
    }

    fn is_fresh(&self) -> bool {
        self.nodes.iter().all(|node| {
            let empty = Exact::new(node.resources().capacity().clone());
            node.resources().snapshot() == empty.snapshot()
                && node.held().next().is_none()
                && node.quotas().is_unused()
        })
    }
}

fn contract() -> ChannelContract {
    ChannelContract {
        max_message: Bytes::new(6000),
        min_message: Bytes::new(1),
        min_interval: Span::from_ms(50),
        burst: 2,
        deadline: Span::from_ms(90),
    }
}

/// Over three hops: three messages out, three back, and the channel is established after six times
/// the delay of a hop. The deadlines are in proportion to what each link can promise, and use the
/// whole deadline.
#[test]
fn three_hops_are_established_in_one_round_trip() {
    let mut row = Row::new(4);
    let channel = row.open(contract());
    row.pass(HOP * 6 - Span::from_ps(1));
    assert!(row.events(0).is_empty());
    row.pass(Span::from_ps(1));
    let Some(SourceEvent::Established { channel: established, deadline }) = row.events(0).pop() else {
        panic!()
    };
    assert_eq!((established, row.sent["ask"], row.sent["commit"]), (channel, 3, 3));
    let held = |row: &Row, n: usize| row.nodes[n].held().next().unwrap();
    assert_eq!(held(&row, 0).deadline, Some(deadline));
    // Messages of 1, 2 and 3 ms: the least is twice that, as half of a link is left to others. Of
    // 90 ms 0.3 are between the nodes.
    let shares: Vec<u64> =
        (0..4).map(|n| held(&row, n).deadline.unwrap().div_ceil(Span::from_us(1))).collect();
    assert_eq!(shares, [14_950, 29_900, 44_850, 0]);
    // The receiver is notified when the source confirms.
    assert!(row.events(3).is_empty());
    row.pass(HOP * 3);
    assert_eq!(row.events(3), [SourceEvent::Opened { channel, port: Port(1) }]);
}

#[test]
fn a_channel_that_is_closed_leaves_nothing() {
    let mut row = Row::new(4);
    let channel = row.open(contract());
    row.pass(Span::from_secs(60));
    assert!(
        !row.is_fresh()
            && matches!(
                row.events(0)[..],
                [SourceEvent::Established { .. }, SourceEvent::Closed { .. }]
                    | [SourceEvent::Established { .. }]
            )
    );
    let mut row = Row::new(4);
    let second = row.open(contract());
    row.pass(Span::from_ms(20));
    assert_eq!(channel, second);
    row.events(0);
    row.events(3);
    row.nodes[0].close(row.now, second).unwrap();
    assert_eq!(row.nodes[0].close(row.now, second), Err(Unfit::NotHeld));
    row.take(0);
    row.pass(HOP * 6);
    assert_eq!(row.events(0), [SourceEvent::Closed { channel: second, everywhere: true }]);
    assert_eq!(row.events(3), [SourceEvent::Ended { channel: second }]);
    assert!(row.is_fresh());
}

/// A node is both ends: every answer is there at once, no message leaves, and no lease ends the
/// channel.
#[test]
fn a_channel_within_a_node_needs_no_message() {
    let mut row = Row::new(2);
    let open = |row: &mut Row| {
        let (program, owner, port, route) = (Program(1), Owner(1), Port(1), vec![NodeId(0)]);
        row.nodes[0].open(row.now, OpenRequest { program, owner, port, contract: contract(), route })
    };
    let channel = open(&mut row);
    let deadline = Span::ZERO;
    let opened = SourceEvent::Opened { channel, port: Port(1) };
    assert_eq!(row.events(0), [SourceEvent::Established { channel, deadline }, opened]);
    let held = row.nodes[0].held().next().unwrap();
    assert_eq!((held.total, held.rest), (Some(Span::ZERO), Some(Span::from_ms(90))));
    // The program is alive, so time alone does not end the channel.
    for _ in 0..10 {
        row.pass(Span::from_secs(30));
        row.nodes[0].renew(row.now, Program(1));
    }
    assert_eq!(row.events(0), []);
    // Ten places at the receiver: a burst of 9 beside that of 2 is refused, and one of 3 is not.
    let change = |row: &mut Row, burst| {
        let version =
            row.nodes[0].change(row.now, channel, ChannelContract { burst, ..contract() }, Span::ZERO);
        (version.unwrap(), row.events(0))
    };
    let (version, events) = change(&mut row, 9);
    let [SourceEvent::ChangeRefused { refused, .. }] = events[..] else { panic!("{events:?}") };
    assert_eq!((version, refused.node, refused.shortage.missing), (Version(2), NodeId(0), 1));
    let (version, events) = change(&mut row, 3);
    assert_eq!(events, [SourceEvent::Changed { channel, version, deadline }]);
    assert_eq!((version, row.nodes[0].held().count()), (Version(3), 2));
    // 2 × 50 + 90 ms later the last message of the old contract is delivered.
    row.pass(Span::from_ms(190));
    assert_eq!(row.nodes[0].held().count(), 1);
    row.nodes[0].close(row.now, channel).unwrap();
    assert_eq!(
        row.events(0),
        [SourceEvent::Ended { channel }, SourceEvent::Closed { channel, everywhere: true }]
    );
    assert!(row.is_fresh());
    // The receiver leaves; and a program that is dead leaves its channel for its lease.
    for leaves in [true, false] {
        let channel = open(&mut row);
        assert_eq!(row.events(0).len(), 2);
        if leaves {
            row.nodes[0].leave(row.now, channel).unwrap();
            assert_eq!(row.nodes[0].leave(row.now, channel), Err(Unfit::NotHeld));
            assert_eq!(
                row.events(0),
                [SourceEvent::Lost { channel, left: true }, SourceEvent::Ended { channel }]
            );
        } else {
            row.pass(Settings::default().program_lease);
            assert_eq!(row.events(0).last(), Some(&SourceEvent::Closed { channel, everywhere: true }));
        }
        assert!(row.is_fresh());
    }
    assert_eq!((row.sent.len(), row.nodes[0].entries()), (0, [0; 6]));
}

/// A neighbour with a valid certificate says what it wants of channels that are none of its own: one
/// within the node, one from the node, and one of another neighbour.
#[test]
fn a_neighbour_ends_no_channel_of_others() {
    let mut row = Row::new(3);
    let open = |row: &mut Row, at: u32, route: &[u32]| {
        let route = route.iter().map(|node| NodeId(*node)).collect();
        let (program, owner, port) = (Program(1), Owner(1), Port(1));
        let channel = row.nodes[at as usize]
            .open(row.now, OpenRequest { program, owner, port, contract: contract(), route });
        row.take(at as usize);
        channel
    };
    let channels = [open(&mut row, 1, &[1]), open(&mut row, 1, &[1, 0]), open(&mut row, 0, &[0, 1])];
    row.pass(HOP * 10);
    assert_eq!(row.nodes[1].held().count(), 3);
    let hostile = NodeId(2);
    for channel in channels {
        for epoch in [channel.epoch, Epoch(u32::MAX)] {
            let channel =
                if channel.node == NodeId(1) { GlobalChannelId { epoch, ..channel } } else { channel };
            for body in [
                Body::Release { route: vec![hostile, NodeId(1)] },
                Body::Release { route: vec![NodeId(0), hostile, NodeId(1)] },
                Body::Refresh { changing: None, life: Epoch(1) },
                Body::Refreshed,
                Body::Unknown,
                Body::Commit { deadlines: vec![Span::ZERO; 2], life: Epoch(1) },
                Body::Released { route: vec![NodeId(1), hostile] },
            ] {
                let message = ContractMessage { channel, version: Version::FIRST, sequence: 99, body };
                row.nodes[1].handle(row.now, hostile, message);
                assert_eq!(row.nodes[1].held().count(), 3);
            }
        }
    }
    // Another life of node 0, and the end of its next channel before it begins.
    let next = GlobalChannelId { local: 1, ..channels[2] };
    let route = vec![NodeId(0), hostile, NodeId(1)];
    let needs = Needs { least: Span::ZERO, latest: Span::ZERO };
    let ask = Ask {
        contract: contract(),
        owner: Owner(9),
        port: Port(2),
        division: Division::Proportional,
        current: None,
        balance: Span::from_ms(90),
        between: Span::ZERO,
        route: route.clone(),
        hops: vec![needs; 2],
    };
    let forged = GlobalChannelId { epoch: Epoch(u32::MAX), ..next };
    for (channel, body) in [(next, Body::Release { route }), (forged, Body::Ask(ask))] {
        let message = ContractMessage { channel, version: Version::FIRST, sequence: 1, body };
        row.nodes[1].handle(row.now, hostile, message);
    }
    assert!(channels.iter().all(|channel| row.nodes[1].held_of(*channel).next().is_some()));
    row.events(0);
    assert_eq!(open(&mut row, 0, &[0, 1]), next);
    row.pass(HOP * 10);
    assert!(matches!(row.events(0)[..], [SourceEvent::Established { .. }]));
    // A request of the neighbour itself ends with its lease.
    row.pass(Settings::default().lease);
    assert_eq!(row.nodes[1].held().count(), 4);
}

/// The refusal names the node, the resource and what is missing, and the contract that it says
/// would be accepted is accepted.
#[test]
fn a_refusal_says_what_would_be_accepted() {
    let accepted = |asked: ChannelContract, with: &dyn Fn(Alternative) -> ChannelContract| {
        let mut row = Row::new(4);
        let channel = row.open(asked);
        row.pass(HOP * 6);
        let Some(SourceEvent::Refused { channel: refused, refused: why }) = row.events(0).pop() else {
            panic!()
        };
        assert!(refused == channel && row.is_fresh());
        row.open(with(why.shortage.acceptable));
        row.pass(HOP * 6);
        assert!(matches!(row.events(0)[..], [SourceEvent::Established { .. }]), "{why:?}");
        why
    };
    // 2 + 4 + 6 ms and 0.3 ms between: 12 ms are too short at the third node, by 300 µs.
    let late = ChannelContract { deadline: Span::from_ms(12), ..contract() };
    let Denial { node, shortage } = accepted(late, &|acceptable| match acceptable {
        Alternative::Deadline(deadline) => ChannelContract { deadline, ..late },
        other => panic!("{other:?}"),
    });
    assert_eq!(
        (node, shortage.resource, shortage.missing),
        (NodeId(2), NodeResource::Deadline, Span::from_us(300).as_ps())
    );
    // The third link takes 3 ms for a message.
    let fast = ChannelContract { min_interval: Span::from_us(2500), ..contract() };
    let Denial { node, shortage } = accepted(fast, &|acceptable| match acceptable {
        Alternative::Interval(min_interval) => ChannelContract { min_interval, ..fast },
        other => panic!("{other:?}"),
    });
    assert_eq!((node, shortage.resource, shortage.missing), (NodeId(2), NodeResource::Link, 200_000));
    // The queue at the destination has 10 places.
    let bursty = ChannelContract { burst: 13, ..contract() };
    let Denial { node, shortage } = accepted(bursty, &|acceptable| match acceptable {
        Alternative::Burst(burst) => ChannelContract { burst, ..bursty },
        other => panic!("{other:?}"),
    });
    assert_eq!((node, shortage.resource, shortage.missing), (NodeId(3), NodeResource::ReceivePlaces, 3));
}

/// The new contract is admitted beside the old one, which stays until the last message under it is
/// delivered.
#[test]
fn a_change_is_made_beside_the_old_contract() {
    let mut row = Row::new(3);
    let channel = row.open(contract());
    row.pass(Span::from_ms(20));
    row.events(0);
    let wider = ChannelContract { max_message: Bytes::new(9000), ..contract() };
    assert_eq!(row.nodes[0].change(row.now, channel, wider, Span::ZERO), Ok(Version(2)));
    row.take(0);
    assert_eq!(row.nodes[0].change(row.now, channel, wider, Span::ZERO), Err(Unfit::Busy));
    row.pass(HOP * 4);
    assert!(matches!(row.events(0)[..], [SourceEvent::Changed { version: Version(2), .. }]));
    let versions = |row: &Row| -> Vec<usize> { row.nodes.iter().map(|node| node.held().count()).collect() };
    // Two messages of the burst, 50 ms apart, and 90 ms of the deadline.
    row.pass(Span::from_ms(190) - Span::from_us(1));
    assert_eq!(versions(&row), [2, 2, 2]);
    row.pass(Span::from_us(1) + HOP * 2);
    assert_eq!(versions(&row), [1, 1, 1]);
    assert!(row.nodes.iter().all(|node| node.held().all(|held| held.contract == wider)));
    // A change that does not fit leaves the contract in place.
    let late = ChannelContract { deadline: Span::from_ms(1), ..contract() };
    row.nodes[0].change(row.now, channel, late, Span::ZERO).unwrap();
    row.take(0);
    row.pass(Span::from_ms(20));
    assert!(matches!(row.events(0)[..], [SourceEvent::ChangeRefused { version: Version(3), .. }]));
    assert_eq!(versions(&row), [1, 1, 1]);
    row.pass(Span::from_secs(50));
    assert!(matches!(row.events(0)[..], []));
}

/// The quota of an owner holds at each node, and what a channel took of it is back after the
/// release.
#[test]
fn an_owner_is_held_to_its_quota() {
    let claim = QuotaClaim { bandwidth: 270_000, buffers: u64::MAX, cpu: u64::MAX };
    let limited = |id| if id == 1 { Quotas::new(Quota { channels: 9, claim }) } else { Quotas::default() };
    let mut row = Row::of(3, limited);
    let first = row.open(contract());
    row.open(contract());
    row.pass(Span::from_ms(20));
    row.open(contract());
    row.pass(Span::from_ms(20));
    let Some(SourceEvent::Refused { refused, .. }) = row.events(0).pop() else { panic!() };
    let shortage = Shortage::of(NodeResource::QuotaBandwidth, 90_000).but(Alternative::Later);
    assert_eq!(refused, Denial { node: NodeId(1), shortage });
    row.nodes[0].close(row.now, first).unwrap();
    row.take(0);
    row.pass(Span::from_ms(20));
    row.open(contract());
    row.pass(Span::from_ms(20));
    assert!(matches!(row.events(0).last(), Some(SourceEvent::Established { .. })));
}

/// A change names the owner and the queue of the channel, or no node could pay the quota back.
#[test]
fn a_change_with_another_owner_is_refused() {
    let mut row = Row::new(2);
    let channel = row.open(contract());
    row.pass(Span::from_ms(20));
    let route = vec![NodeId(0), NodeId(1)];
    let mut ask = Ask {
        contract: contract(),
        owner: Owner(1),
        port: Port(1),
        division: Division::Proportional,
        current: Some(Version(1)),
        balance: contract().deadline,
        between: Span::ZERO,
        route: route.clone(),
        hops: vec![Needs { least: Span::from_ms(1), latest: Span::from_ms(1) }],
    };
    let destination = &mut row.nodes[1];
    let used = destination.quotas().used(Owner(1));
    for (sequence, owner, port) in [(10, 2, 1), (11, 1, 2)] {
        (ask.owner, ask.port) = (Owner(owner), Port(port));
        let body = Body::Ask(ask.clone());
        destination.handle(
            row.now,
            NodeId(0),
            ContractMessage { channel, version: Version(2), sequence, body },
        );
        let answer = destination.poll_transmit().map(|(_, message)| message.body);
        let shortage = Shortage::of(NodeResource::Valid, 0);
        let refused = Denial { node: NodeId(1), shortage };
        assert_eq!(answer, Some(Body::Refuse { refused, beyond: false }));
        assert_eq!((destination.quotas().used(Owner(1)), destination.quotas().used(Owner(2)).0), (used, 0));
    }
    let body = Body::Release { route };
    destination.handle(
        row.now,
        NodeId(0),
        ContractMessage { channel, version: Version(1), sequence: 12, body },
    );
    assert!(destination.quotas().is_unused());
}

/// A program that renews keeps its channel; one that does not loses it after its lease, and then
/// each node is as before.
#[test]
fn a_program_keeps_its_channel_by_renewal() {
    let mut row = Row::new(3);
    let channel = row.open(contract());
    for _ in 0..4 {
        row.pass(Span::from_secs(40));
        row.nodes[0].renew(row.now, Program(1));
    }
    assert!(matches!(row.events(0)[..], [SourceEvent::Established { .. }]));
    row.pass(Span::from_secs(59));
    assert!(row.events(0).is_empty() && !row.is_fresh());
    row.pass(Span::from_secs(2));
    assert_eq!(row.events(0), [SourceEvent::Closed { channel, everywhere: true }]);
    assert!(row.is_fresh());
}

/// Two requests at once over the same links: the first leaves room for the second, and both are
/// kept.
#[test]
fn requests_at_once_leave_room_for_each_other() {
    let mut row = Row::new(4);
    let channels = [row.open(contract()), row.open(contract())];
    row.pass(Span::from_ms(20));
    let established: Vec<SourceEvent> = row.events(0);
    assert_eq!(established.len(), 2, "{established:?}");
    for channel in channels {
        let sum = |n: usize| {
            row.nodes[n].held_of(channel).map(|held| held.deadline.unwrap() + held.way).next().unwrap()
        };
        assert!((0..4).map(sum).sum::<Span>() <= contract().deadline);
    }
}
