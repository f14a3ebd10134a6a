//! Rings of commands and batches: doorbells, fetching several at once, writing back, and queues by
//! level and by flow.

use super::*;
use crate::adapter::Release;

fn of_channel(channel: u32, number: u64) -> Packet {
    Packet { channel: ChannelId(channel), ..packet(number, Class::BestEffort, 0) }
}

fn batched(name: &str, batch: u32, linger: u64, delay: Delay) -> Stage {
    let linger = Span::from_us(linger);
    Stage { batch, linger, ..stage(name, vec![Phase { delay, ..Phase::default() }]) }
}

/// 10 for each time it goes for descriptors and 1 for each of them.
const FETCH: Delay = Delay { per_packet: Span::from_us(1), ..Delay::fixed(Span::from_us(10)) };

/// The doorbell is heard 2 after it rings. Up to four descriptors are fetched at once: the first
/// two by 14 in 10 + 2, and what has come meanwhile, four of them, by 28, the rest by 39.
#[test]
fn descriptors_are_fetched_several_at_once() {
    let mut description =
        description(vec![batched("fetch", 4, 0, FETCH), stage("link", vec![phase(1, None)])]);
    description.interface.doorbell = Span::from_us(2);
    let done = run(description, &best_effort(&[0, 0, 3, 3, 3, 3, 3])).0;
    assert_eq!(done, [(0, 15), (1, 16), (2, 29), (3, 30), (4, 31), (5, 32), (6, 40)]);
}

/// Completions are written together: three of them, or what there is 20 after the first. The link
/// is done with them at 5, 10, 15 and 20: the first three at 15 + 10 + 3, and the fourth, which
/// waits from when that is over, 28, to 48, by 59.
#[test]
fn completions_wait_for_company() {
    let link = stage("link", vec![phase(5, None)]);
    let done = times(vec![link.clone(), batched("write back", 3, 20, FETCH)], &[0, 0, 0, 0]);
    assert_eq!(done, [(0, 28), (1, 28), (2, 28), (3, 59)]);
    // Two of them are all there are: from 5 they wait until 25.
    assert_eq!(times(vec![link, batched("write back", 3, 20, FETCH)], &[0, 0]), [(0, 37), (1, 37)]);
}

/// A place behind it holds up a batch one by one: the first is fetched alone by 11, as it comes,
/// and four together by 25, for a link with one place that takes 5 for each. The last of them
/// leaves at 35, and only then, not at 25, the sixth is fetched, in 11.
#[test]
fn a_batch_leaves_as_there_is_room() {
    let narrow = Queue { slots: Some(1), ..Queue::default() };
    let link = Stage { queues: vec![narrow], ..stage("link", vec![phase(5, None)]) };
    let done = times(vec![batched("fetch", 4, 0, FETCH), link], &[0, 0, 0, 0, 0, 0]);
    assert_eq!(done, [(0, 16), (1, 30), (2, 35), (3, 40), (4, 45), (5, 51)]);
}

/// A ring of two entries: one that is fetched at once has its place until the packet is through, at 10.
#[test]
fn an_entry_has_its_place_until_it_is_written_back() {
    for (release, room) in [(Release::Fetched, true), (Release::Completed, false)] {
        let mut description = description(vec![stage("link", vec![phase(10, None)])]);
        description.interface.queues =
            vec![CommandQueue { slots: Some(2), release, ..CommandQueue::default() }];
        let mut adapter = pipeline(description);
        for number in 0..2 {
            assert!(adapter.transmit(Time::ZERO, &of_channel(0, number)), "there is room");
        }
        let at = |us| Time::ZERO + Span::from_us(us);
        assert_eq!(adapter.transmit(at(9), &of_channel(0, 2)), room);
        adapter.timer(at(10));
        assert!(adapter.transmit(at(10), &of_channel(0, 3)));
        assert!(!adapter.transmit(at(10), &of_channel(0, 4)) || room);
        adapter.reset(at(11));
        assert_eq!(adapter.held(), 0);
        for number in 5..7 {
            assert!(adapter.transmit(at(12), &of_channel(0, number)), "a reset empties the ring");
        }
    }
}

/// Two rings by level, of which the first before all has the second's place, too; in turn they have
/// one command each.
#[test]
fn rings_are_fetched_by_priority_or_in_turn() {
    let order = |selection| {
        let narrow = Queue { slots: Some(1), ..Queue::default() };
        let link = Stage { queues: vec![narrow], ..stage("link", vec![phase(10, None)]) };
        let mut description = description(vec![link]);
        description.interface.queues = vec![
            CommandQueue { takes: Takes::Levels(0, 15), ..CommandQueue::default() },
            CommandQueue { takes: Takes::Levels(16, 31), priority: 1, ..CommandQueue::default() },
        ];
        description.interface.selection = selection;
        let level = |number, level| {
            let mut packet = packet(number, Class::RealTime, 50);
            packet.tag.level = level;
            (0, packet)
        };
        let handed: Vec<_> =
            [(0, 16), (1, 16), (2, 31), (3, 0), (4, 15), (5, 3)].map(|(n, l)| level(n, l)).to_vec();
        run(description, &handed).0.into_iter().map(|(number, _)| number).collect::<Vec<_>>()
    };
    // The link and its place have the first two; then it is the host's levels that decide.
    assert_eq!(order(QueueSelection::Priority), [0, 1, 3, 4, 5, 2]);
    assert_eq!(order(QueueSelection::RoundRobin), [0, 1, 3, 2, 4, 5]);
}

/// Four queues by flow, taken in turn whichever way queues are selected, for they are of one rank:
/// what one channel has queued does not hold up another's, unless they share a queue.
#[test]
fn flows_have_queues_of_their_own() {
    [QueueSelection::RoundRobin, QueueSelection::Priority].into_iter().for_each(have_queues_of_their_own);
}

fn have_queues_of_their_own(selection: QueueSelection) {
    let spread = Queue { spread: 4, ..Queue::default() };
    let link = Stage { queues: vec![spread], selection, ..stage("link", vec![phase(10, None)]) };
    let handed: Vec<_> = (0..6).map(|n| (0, of_channel(0, n))).collect();
    let own = |channel| {
        let mut handed = handed.clone();
        handed.push((1, of_channel(channel, 9)));
        let done = run(description(vec![link.clone()]), &handed).0;
        done.into_iter().find(|(number, _)| *number == 9).map(|(_, us)| us)
    };
    let ends: Vec<_> = (1..20).map(own).collect();
    assert!(ends.contains(&Some(20)) && ends.contains(&Some(70)), "{ends:?}");
    assert!(ends.iter().all(|end| [Some(20), Some(30), Some(70)].contains(end)), "{ends:?}");
}

/// A frame of 100 B is on the medium for 10; at a link that takes 2 and 0.1 for each byte for 12,
/// and for 8 at one that is faster.
#[test]
fn a_frame_takes_what_the_slower_of_adapter_and_link_takes() {
    let sent = |per_byte| {
        let on_medium = Phase { medium: true, ..phase(10, None) };
        let mut description = description(vec![stage("link", vec![on_medium])]);
        description.link = LinkCosts::new(Span::from_us(2), Span::from_ns(per_byte));
        run(description, &best_effort(&[0])).0
    };
    assert_eq!((sent(100), sent(60)), (vec![(0, 12)], vec![(0, 10)]));
}

/// Costs by class: 3 for real time, 7 for best effort, and 1 for both.
#[test]
fn a_phase_may_be_for_one_class() {
    let only = |us, class| Phase { takes: Takes::Only(class), ..phase(us, None) };
    let phases = vec![only(3, Class::RealTime), only(7, Class::BestEffort), phase(1, None)];
    let handed = [(0, packet(0, Class::RealTime, 50)), (0, packet(1, Class::BestEffort, 0))];
    assert_eq!(run(description(vec![stage("link", phases)]), &handed).0, [(0, 4), (1, 12)]);
}
