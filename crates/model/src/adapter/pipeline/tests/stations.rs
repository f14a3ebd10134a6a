//! Stations alone, instant by instant: service order, allocation of resources, blocking.

use super::*;

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn real_time(number: u64, deadline: u64, level: u8) -> Packet {
    let packet = packet(number, Class::RealTime, deadline);
    Packet { tag: Tag { level, ..packet.tag }, ..packet }
}

/// One stage of two queues, real time before best effort, that takes 10 for a packet.
fn two_queues(selection: QueueSelection) -> Description {
    let queues = vec![
        queue(Takes::Only(Class::BestEffort), Order::Fifo, 1),
        queue(Takes::Only(Class::RealTime), Order::Edf, 0),
    ];
    description(vec![Stage { queues, selection, ..stage("link", vec![phase(10, None)]) }])
}

/// Best effort 0, 1 and 2 at 0, of which 0 is served at once; real time 7, 8 and 9 at 1, 9 with the
/// earliest deadline. In turn it is the real-time queue's from 10 on; by priority that queue is
/// served until it is empty.
#[test]
fn a_round_robin_turns_and_a_priority_does_not() {
    let mut handed = best_effort(&[0, 0, 0]);
    handed.extend([(7, 60), (8, 50), (9, 40)].map(|(n, deadline)| (1, real_time(n, deadline, 0))));
    assert_eq!(
        run(two_queues(QueueSelection::RoundRobin), &handed).0,
        [(0, 10), (9, 20), (1, 30), (8, 40), (2, 50), (7, 60)]
    );
    assert_eq!(
        run(two_queues(QueueSelection::Priority), &handed).0,
        [(0, 10), (9, 20), (8, 30), (7, 40), (1, 50), (2, 60)]
    );
}

/// A turn of an empty queue passes to the next at once.
#[test]
fn an_empty_queue_misses_its_turn() {
    let mut handed = best_effort(&[0, 0, 0]);
    handed.push((25, real_time(9, 40, 0)));
    assert_eq!(run(two_queues(QueueSelection::RoundRobin), &handed).0, [(0, 10), (1, 20), (2, 30), (9, 40)]);
}

/// Best effort 0 is being served; best effort 1, real time 2 with a deadline of 50 at level 1, and
/// real time 3 with one of 40 at level 5 wait.
#[test]
fn a_queue_has_its_order() {
    for (order, expected) in [
        (Order::Fifo, [(0, 10), (1, 20), (2, 30), (3, 40)]),
        (Order::Edf, [(0, 10), (3, 20), (2, 30), (1, 40)]),
        (Order::MultiClassEdf, [(0, 10), (3, 20), (2, 30), (1, 40)]),
        (Order::FixedPriority, [(0, 10), (2, 20), (3, 30), (1, 40)]),
    ] {
        let queues = vec![queue(Takes::All, order, 0)];
        let stages = vec![Stage { queues, ..stage("link", vec![phase(10, None)]) }];
        let late = |number| (u64::from(number > 0), packet(number, Class::BestEffort, 1_000_000));
        let handed = [late(0), late(1), (1, real_time(2, 50, 1)), (1, real_time(3, 40, 5))];
        assert_eq!(run(description(stages), &handed).0, expected, "{order:?}");
    }
}

/// The host has released its packets: one with its time a second away is not held, and goes before
/// best effort.
#[test]
fn an_adapter_holds_nothing_back() {
    for order in [Order::MultiClassEdf, Order::FixedPriority] {
        let queues = vec![queue(Takes::All, order, 0)];
        let stages = vec![Stage { queues, ..stage("link", vec![phase(10, None)]) }];
        let early = real_time(9, 2_000_000, 0);
        let early = Packet { tag: Tag { logical_arrival: at(1_000_000), ..early.tag }, ..early };
        let mut handed = best_effort(&[0, 0]);
        handed.push((1, early));
        assert_eq!(run(description(stages), &handed).0, [(0, 10), (9, 20), (1, 30)], "{order:?}");
    }
}

/// Two commands with successive doorbells, or found by one poll, before a stage with a free server
/// and a queue of one slot: the server takes one and the slot the other, whatever happens to a
/// third. With an ordered queue the more urgent is served first if both are found at once.
#[test]
fn a_free_server_takes_what_a_full_queue_would_lose() {
    let outcome = |order, overload, poll: bool, packets: &[Packet]| {
        let queues = vec![Queue { slots: Some(1), overload, ..queue(Takes::All, order, 0) }];
        let mut description = description(vec![Stage { queues, ..stage("link", vec![phase(10, None)]) }]);
        description.interface.poll = poll.then_some(Span::from_us(5));
        let handed: Vec<_> = packets.iter().map(|packet| (1, *packet)).collect();
        run(description, &handed)
    };
    let two = [real_time(0, 90, 0), real_time(1, 60, 0)];
    for order in [Order::Fifo, Order::Edf, Order::MultiClassEdf, Order::FixedPriority] {
        for overload in [Overload::Drop, Overload::Block, Overload::Priority] {
            assert_eq!(outcome(order, overload, false, &two), (vec![(0, 11), (1, 21)], vec![]), "{order:?}");
            let (out, lost) = outcome(order, overload, true, &two);
            assert_eq!((out.len(), lost), (2, vec![]), "{order:?} {overload:?}");
            assert_eq!([out[0].1, out[1].1], [15, 25], "{order:?} {overload:?}");
        }
    }
    // Best effort that has the only place does not give it up for real time that a server could
    // make room for.
    let mixed = [packet(0, Class::BestEffort, 1_000_000), real_time(1, 60, 0)];
    for order in [Order::Fifo, Order::MultiClassEdf] {
        for poll in [false, true] {
            assert_eq!(outcome(order, Overload::Priority, poll, &mixed).1, [0; 0], "{order:?}");
        }
    }
    // A third is one too many.
    let three = [two[0], two[1], real_time(2, 70, 0)];
    for poll in [false, true] {
        assert_eq!(outcome(Order::Edf, Overload::Drop, poll, &three).1, [2]);
    }
}

/// Three servers want a bus with capacity two: the third, with the youngest packet, waits for 10.
#[test]
fn a_resource_has_so_many_servers() {
    let stages = || vec![Stage { servers: 3, ..stage("a", vec![phase(10, Some(0))]) }];
    let mut two = description(stages());
    two.resources[1].servers = 2;
    assert_eq!(run(two, &best_effort(&[0, 0, 0])).0, [(0, 10), (1, 10), (2, 20)]);
    assert_eq!(run(description(stages()), &best_effort(&[0, 0, 0])).0, [(0, 10), (1, 20), (2, 30)]);
}

/// The second stage needs processor and bus, of higher priority: it has both 10-15, while the first
/// stage of the next packet, which has just got the bus, waits until 15. A third party on the
/// processor alone, 12 long from 3 on, blocks the second stage from both: the bus serves the next
/// packet 10-20, until the processor is free at 15 and the bus is preempted.
#[test]
fn a_phase_has_all_its_resources_or_none() {
    let both = || Phase { holds: vec![PROCESSOR, 1], priority: 0, ..phase(5, None) };
    let stages = || vec![stage("a", vec![phase(10, Some(1))]), stage("b", vec![both()])];
    assert_eq!(run(description(stages()), &best_effort(&[0, 0])).0, [(0, 15), (1, 30)]);
    let mut received = description(stages());
    received.receive = vec![stage("rx", vec![Phase { holds: vec![PROCESSOR], ..phase(12, None) }])];
    let mut adapter = pipeline(received);
    for (_, packet) in best_effort(&[0, 0]) {
        assert!(adapter.transmit(at(0), &packet), "there is room");
    }
    adapter.receive(at(3), &packet(9, Class::BestEffort, 0));
    let mut out = Vec::new();
    while let Some(now) = adapter.next_deadline() {
        adapter.timer(now);
        let responses = std::iter::from_fn(|| adapter.poll_output()).filter_map(|output| match output {
            AdapterOutput::Response(AdapterResponse::Transmitted(p) | AdapterResponse::Received(p)) => {
                Some(p.message)
            }
            _ => None,
        });
        out.extend(responses.map(|number| (number, now.since(Time::ZERO).as_ps() / 1_000_000)));
    }
    // Received at 15. Both resources 15-20 for packet 0; packet 1 has had the bus 10-15 and has it
    // again 20-25, then both 25-30.
    assert_eq!(out, [(9, 15), (0, 20), (1, 30)]);
}

/// The second stage takes 30 and has room for one: the first, which takes 10, is held up with its
/// third packet from 30 to 40, when that room is free, and with its fourth from 50 to 70. Being
/// held up is not being busy.
#[test]
fn a_full_queue_blocks_for_so_long() {
    let narrow = Queue { slots: Some(1), ..queue(Takes::All, Order::Fifo, 0) };
    let stages = vec![
        stage("a", vec![phase(10, None)]),
        Stage { queues: vec![narrow], ..stage("b", vec![phase(30, None)]) },
    ];
    let mut adapter = pipeline(description(stages));
    adapter.record();
    for (_, packet) in best_effort(&[0, 0, 0, 0]) {
        assert!(adapter.transmit(at(0), &packet), "there is room");
    }
    assert_eq!((adapter.held(), adapter.buffers_in_use()), (4, 4));
    let (mut passed, mut done) = (Vec::new(), Vec::new());
    while let Some(now) = adapter.next_deadline() {
        adapter.timer(now);
        for output in std::iter::from_fn(|| adapter.poll_output()) {
            match output {
                AdapterOutput::Passed(passage) => {
                    let us = [passage.joined, passage.began, passage.ended];
                    passed.push((passage.stage, us.map(|at| at.since(Time::ZERO).as_ps() / 1_000_000)));
                }
                AdapterOutput::Response(AdapterResponse::Transmitted(packet)) => {
                    done.push((packet.message, now.since(Time::ZERO).as_ps() / 1_000_000));
                }
                _ => {}
            }
        }
    }
    assert_eq!(done, [(0, 40), (1, 70), (2, 100), (3, 130)]);
    // Joined, began, done: a packet that is done at the first stage joins the second when it can.
    assert_eq!(
        passed,
        [
            (0, [0, 0, 10]),
            (0, [0, 10, 20]),
            (0, [0, 20, 30]),
            (1, [10, 10, 40]),
            (0, [0, 40, 50]),
            (1, [20, 40, 70]),
            (1, [40, 70, 100]),
            (1, [70, 100, 130]),
        ]
    );
    let reports = adapter.stages(at(1000));
    let report = |name: &str, busy, longest| StageReport {
        name: name.into(),
        busy: Span::from_us(busy),
        waiting: 0,
        longest,
        passed: 4,
    };
    assert_eq!(reports, [report("a", 40, 3), report("b", 120, 1)]);
    assert_eq!((adapter.held(), adapter.buffers_in_use()), (0, 0));
}

/// A full queue of real-time packets has no packet to replace; the best-effort packet that would be
/// served last is replaced, and the one in service is not.
#[test]
fn who_gives_way() {
    let queues = |slots| {
        vec![Queue {
            slots: Some(slots),
            overload: Overload::Priority,
            ..queue(Takes::All, Order::MultiClassEdf, 0)
        }]
    };
    let link =
        |slots| description(vec![Stage { queues: queues(slots), ..stage("link", vec![phase(10, None)]) }]);
    let mut handed = best_effort(&[0, 0]);
    handed.extend([7, 8, 9].map(|n| (1, real_time(n, 50 + n, 0))));
    // One slot: 1 waits, 7 takes its place, 8 and 9 find no best effort.
    assert_eq!(run(link(1), &handed), (vec![(0, 10), (7, 20)], vec![1, 8, 9]));
    // Two slots: 7 has the second, 8 takes the place of 1, and 9 finds none.
    assert_eq!(run(link(2), &handed), (vec![(0, 10), (7, 20), (8, 30)], vec![1, 9]));
}

/// Stage by stage in order of priority of the queues, whatever the order in which they are written:
/// a command queue too.
#[test]
fn command_queues_are_looked_at_by_priority() {
    let mut description = description(vec![stage("link", vec![phase(10, None)])]);
    description.interface.poll = Some(Span::from_us(100));
    description.interface.queues = vec![
        CommandQueue {
            takes: Takes::Only(Class::BestEffort),
            priority: 1,
            slots: Some(2),
            ..CommandQueue::default()
        },
        CommandQueue { takes: Takes::Only(Class::RealTime), slots: Some(1), ..CommandQueue::default() },
    ];
    let mut adapter = pipeline(description.clone());
    let mut handed = best_effort(&[1, 2]);
    handed.push((3, real_time(9, 50, 0)));
    for (us, packet) in &handed {
        assert!(adapter.transmit(at(*us), packet), "there is room");
    }
    // Each queue is full, on its own.
    for (_, packet) in &handed[1..] {
        assert!(!adapter.transmit(at(4), packet));
    }
    assert_eq!(adapter.next_deadline(), Some(at(100)));
    assert_eq!(run(description, &handed).0, [(9, 110), (0, 120), (1, 130)]);
}

/// Two packets wait for the host from 10 on. It answers for the second at 20, which is done after 5
/// more, and for the first at 30; an answer for a packet that requested none, at 32, has no effect.
#[test]
fn an_answer_is_for_its_packet() {
    let asks = Phase { tells: Tells::Handshake, ..phase(10, None) };
    let stages = vec![Stage { servers: 2, ..stage("talk", vec![asks, phase(5, None)]) }];
    let mut adapter = pipeline(description(stages));
    let packets = [packet(0, Class::BestEffort, 0), packet(1, Class::BestEffort, 0)];
    for packet in packets {
        assert!(adapter.transmit(at(0), &packet), "there is room");
    }
    adapter.timer(at(10));
    assert_eq!((adapter.next_deadline(), adapter.held()), (None, 2));
    adapter.proceed(at(20), &packets[1]);
    assert_eq!(adapter.next_deadline(), Some(at(25)));
    adapter.timer(at(25));
    let mut done = Vec::new();
    let mut look = |adapter: &mut Told<Adapter, AdapterOutput>| {
        while let Some(output) = adapter.poll_output() {
            if let AdapterOutput::Response(AdapterResponse::Transmitted(packet)) = output {
                done.push(packet.message);
            }
        }
        done.clone()
    };
    assert_eq!(look(&mut adapter), [1]);
    adapter.proceed(at(30), &packets[0]);
    adapter.proceed(at(32), &packets[0]);
    assert_eq!(adapter.next_deadline(), Some(at(35)));
    adapter.timer(at(35));
    assert_eq!((look(&mut adapter), adapter.held()), (vec![1, 0], 0));
}

/// Each frame reports whether more wait: of three, the first two. A link of the adapter's own needs
/// no request.
#[test]
fn a_frame_says_whether_more_wait() {
    for owns in [false, true] {
        let on_medium = Phase { medium: true, ..phase(10, None) };
        let mut adapter = pipeline(description(vec![stage("link", vec![on_medium])]));
        assert!(adapter.asks_for_medium());
        if owns {
            adapter.own_the_link();
            assert!(!adapter.asks_for_medium());
        }
        for (_, packet) in best_effort(&[0, 0, 0]) {
            assert!(adapter.transmit(at(0), &packet), "there is room");
        }
        let (mut asked, mut frames, mut now) = (0, Vec::new(), at(0));
        loop {
            while let Some(output) = adapter.poll_output() {
                match output {
                    AdapterOutput::Request => {
                        asked += 1;
                        adapter.medium(now, MediumAccess::Granted);
                    }
                    AdapterOutput::Frame { packet, more } => frames.push((packet.message, more)),
                    _ => {}
                }
            }
            let Some(next) = adapter.next_deadline() else { break };
            now = next;
            adapter.timer(now);
        }
        assert_eq!(frames, [(0, true), (1, true), (2, false)]);
        assert_eq!((asked, now), (if owns { 0 } else { 3 }, at(30)));
    }
    assert!(!pipeline(description(vec![stage("link", vec![phase(10, None)])])).asks_for_medium());
}

/// Each adapter method is forwarded to its family.
#[test]
fn an_adapter_is_its_family() {
    let on_medium = Phase { medium: true, ..phase(10, None) };
    let pipeline = pipeline(description(vec![stage("link", vec![on_medium])]));
    let costs = laxity_qos::costs::LinkCosts::new(Span::from_us(10), Span::ZERO);
    let null = Told::new(Adapter::Null(crate::adapter::Null::new(costs)));
    let families = [pipeline, null];
    for (mut adapter, described) in families.into_iter().zip([true, false]) {
        assert_eq!(adapter.asks_for_medium(), described);
        assert_eq!(adapter.notification(), Notification::Interrupt);
        for (_, packet) in best_effort(&[0, 0]) {
            assert!(adapter.transmit(at(0), &packet), "there is room");
        }
        assert_eq!((adapter.held(), adapter.buffers_in_use()), (2, if described { 2 } else { 0 }));
        assert_eq!(adapter.stages(at(0)).iter().map(|stage| stage.waiting).collect::<Vec<_>>(), [1]);
        adapter.reset(at(5));
        assert_eq!((adapter.held(), adapter.next_deadline()), (0, None));
        let failed = std::iter::from_fn(|| adapter.poll_output()).filter(|output| {
            matches!(output, AdapterOutput::Response(AdapterResponse::Failed(_, Loss::Reset)))
        });
        assert_eq!(failed.count(), 2);
    }
}
