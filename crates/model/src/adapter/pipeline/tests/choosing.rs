//! Selection ahead, and packets that are dropped instead: late ones, or the least important.

use super::*;
use crate::adapter::LatePolicy;

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Choosing takes 4, the link 10. Four of best effort at 0, and real time at 11, which goes before
/// all that is not chosen by then.
///
/// *Any number*: 0, 1, 2 have been chosen by 12, so it is the fourth. *None*: at 14 the link is
/// free, and the choice is made then; so each packet takes 14. *One*: 1 was chosen at 4, it is
/// chosen at 14 while 1 is on the link, and the link never waits.
#[test]
fn a_stage_chooses_so_far_ahead() {
    let outcome = |ahead| {
        let queues = vec![
            queue(Takes::Only(Class::RealTime), Order::Fifo, 0),
            queue(Takes::Only(Class::BestEffort), Order::Fifo, 1),
        ];
        let select = Stage { queues, ahead, ..stage("select", vec![phase(4, None)]) };
        let mut handed = best_effort(&[0, 0, 0, 0]);
        handed.push((11, packet(9, Class::RealTime, 50)));
        run(description(vec![select, stage("link", vec![phase(10, None)])]), &handed).0
    };
    assert_eq!(outcome(None), [(0, 14), (1, 24), (2, 34), (9, 44), (3, 54)]);
    assert_eq!(outcome(Some(0)), [(0, 14), (9, 28), (1, 42), (2, 56), (3, 70)]);
    assert_eq!(outcome(Some(1)), [(0, 14), (1, 24), (9, 34), (2, 44), (3, 54)]);
    assert_eq!(outcome(Some(2)), [(0, 14), (1, 24), (2, 34), (9, 44), (3, 54)]);
}

/// Two servers behind it are free for two; a reset, and what is lost there, make room again.
#[test]
fn who_chooses_counts_all_servers() {
    let select = Stage { ahead: Some(0), servers: 4, ..stage("select", vec![phase(0, None)]) };
    let link = Stage { servers: 2, ..stage("link", vec![phase(10, None)]) };
    let stages = vec![select, link];
    assert_eq!(
        run(description(stages.clone()), &best_effort(&[0, 0, 0, 5])).0,
        [(0, 10), (1, 10), (2, 20), (3, 20)]
    );
    let mut adapter = pipeline(description(stages));
    for (_, packet) in best_effort(&[0, 0, 0]) {
        assert!(adapter.transmit(at(0), &packet), "there is room");
    }
    adapter.reset(at(5));
    assert!(adapter.transmit(at(6), &packet(7, Class::BestEffort, 0)), "there is room");
    assert_eq!(adapter.next_deadline(), Some(at(16)));
}

fn due(number: u64, us: u64) -> Packet {
    let packet = packet(number, Class::RealTime, us);
    Packet { carried: Carried { due: at(us), ..packet.carried }, ..packet }
}

/// At 10 packet 1, due at 8, is late, and 2, due at this instant, is not. At 30 packet 3 is late on
/// arrival; it would have been served at once.
#[test]
fn what_is_late_is_not_served() {
    let outcome = |late| {
        let queues = vec![Queue { late, ..Queue::default() }];
        let link = Stage { queues, ..stage("link", vec![phase(10, None)]) };
        let handed = [(0, due(0, 100)), (0, due(1, 8)), (0, due(2, 10)), (30, due(3, 29)), (30, due(4, 30))];
        run(description(vec![link]), &handed)
    };
    assert_eq!(outcome(LatePolicy::Drop), (vec![(0, 10), (2, 20), (4, 40)], vec![1, 3]));
    assert_eq!(outcome(LatePolicy::Keep).0, [(0, 10), (1, 20), (2, 30), (3, 40), (4, 50)]);
}

/// At 10 packet 1, due at 18, has 8 left: enough for a margin of 8, and not for one of 9, by which
/// it is late at 9.
#[test]
fn what_could_not_be_in_time_is_late() {
    let served = |margin| {
        let queues =
            vec![Queue { late: LatePolicy::Drop, margin: Span::from_us(margin), ..Queue::default() }];
        let link = Stage { queues, ..stage("link", vec![phase(10, None)]) };
        run(description(vec![link]), &[(0, due(0, 100)), (0, due(1, 18))]).1
    };
    assert_eq!((served(8), served(9)), (vec![], vec![1]));
    // A packet without a deadline is never late.
    let queues = vec![Queue { late: LatePolicy::Drop, margin: Span::from_secs(1), ..Queue::default() }];
    let link = Stage { queues, ..stage("link", vec![phase(10, None)]) };
    assert_eq!(run(description(vec![link]), &best_effort(&[0])).1, [0; 0]);
}

/// Only the queue that says so looks: late best effort has no deadline to miss, and late real time
/// of another queue is kept.
#[test]
fn only_the_queue_that_says_so_drops_what_is_late() {
    let queues = vec![
        Queue { late: LatePolicy::Drop, ..queue(Takes::Levels(0, 3), Order::Edf, 0) },
        queue(Takes::All, Order::Fifo, 1),
    ];
    let link = Stage { queues, ..stage("link", vec![phase(10, None)]) };
    let level = |level, packet: Packet| (0, Packet { tag: Tag { level, ..packet.tag }, ..packet });
    let handed = [
        level(3, due(0, 100)),
        level(3, due(1, 5)),
        level(4, due(2, 5)),
        level(31, packet(3, Class::BestEffort, 0)),
    ];
    assert_eq!(run(description(vec![link]), &handed), (vec![(0, 10), (2, 20), (3, 30)], vec![1]));
}

/// A frame that is late is discarded with its buffer, and the host never hears of it.
#[test]
fn a_late_frame_does_not_reach_the_host() {
    let mut description = description(vec![stage("link", vec![phase(1, None)])]);
    let queues = vec![Queue { late: LatePolicy::Drop, ..Queue::default() }];
    description.receive = vec![Stage { queues, ..stage("store", vec![phase(10, None)]) }];
    let mut adapter = pipeline(description);
    for packet in [due(0, 50), due(1, 9), due(2, 50)] {
        adapter.receive(at(0), &packet);
    }
    adapter.timer(at(10));
    assert_eq!((adapter.held(), adapter.buffers_in_use()), (1, 1));
    adapter.timer(at(20));
    let (mut received, mut discarded) = (Vec::new(), Vec::new());
    while let Some(output) = adapter.poll_output() {
        match output {
            AdapterOutput::Response(AdapterResponse::Received(packet)) => received.push(packet.message),
            AdapterOutput::Discarded(packet, loss) => discarded.push((packet.message, loss)),
            _ => {}
        }
    }
    assert_eq!((received, discarded), (vec![0, 2], vec![(1, Loss::Late)]));
}

/// Two slots, taken by deadlines of 50 and 60: one of 55 replaces 60, and 70 and best effort
/// replace none. Best effort is replaced first.
#[test]
fn the_least_important_is_lost() {
    for order in [Order::Edf, Order::MultiClassEdf, Order::FixedPriority] {
        let queues =
            vec![Queue { slots: Some(2), overload: Overload::Importance, ..queue(Takes::All, order, 0) }];
        let link = || vec![Stage { queues: queues.clone(), ..stage("link", vec![phase(10, None)]) }];
        let mut handed = best_effort(&[0]);
        handed.extend(
            [(5, 50), (6, 60), (7, 55), (8, 70)]
                .map(|(n, deadline)| (1, packet(n, Class::RealTime, deadline))),
        );
        handed.push((1, packet(1, Class::BestEffort, 1_000_000)));
        let outcome = run(description(link()), &handed);
        assert_eq!(outcome, (vec![(0, 10), (5, 20), (7, 30)], vec![6, 8, 1]), "{order:?}");
        let best_effort = |number| (0, packet(number, Class::BestEffort, 1_000_000));
        let handed = [
            best_effort(0),
            best_effort(1),
            (1, packet(5, Class::RealTime, 90)),
            (1, packet(6, Class::RealTime, 95)),
        ];
        assert_eq!(
            run(description(link()), &handed),
            (vec![(0, 10), (5, 20), (6, 30)], vec![1]),
            "{order:?}"
        );
    }
}
