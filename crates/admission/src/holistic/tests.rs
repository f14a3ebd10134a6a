//! Response times and ways worked out by hand.

use super::*;

fn us(us: u64) -> Span {
    Span::from_us(us)
}

fn stage(server: usize, cost: u64, parent: Option<usize>) -> FlowStage {
    FlowStage { server, least: us(cost), most: us(cost), parent, scans: Vec::new() }
}

fn flow(count: u64, interval: u64, stages: &[FlowStage]) -> HolisticFlow {
    HolisticFlow {
        slots: ArrivalSlots { count, interval: us(interval) },
        urgent: true,
        stages: stages.to_vec(),
    }
}

/// Of flows that are all urgent.
fn urgent(servers: &[HolisticServer], flows: &[HolisticFlow]) -> Vec<Span> {
    responses(servers, flows, &[]).unwrap().iter().map(|response| response.urgent).collect()
}

#[test]
fn one_server_is_busy_until_what_has_come_is_done() {
    // 3 every 10 and 4 every 20: at once 7, and 7 later no other has arrived.
    let flows = [flow(1, 10, &[stage(0, 3, None)]), flow(1, 20, &[stage(0, 4, None)])];
    assert_eq!(urgent(&[HolisticServer::default()], &flows), vec![us(7)]);
    // With 4 more every 20: 11 at once, and the first arrives again: 14.
    let more = [flows[0].clone(), flows[1].clone(), flows[1].clone()];
    assert_eq!(urgent(&[HolisticServer::default()], &more), vec![us(14)]);
    // Two slots arrive twice at once.
    assert_eq!(urgent(&[HolisticServer::default()], &[flow(2, 10, &[stage(0, 3, None)])]), vec![us(6)]);
}

#[test]
fn what_comes_in_lumps_is_counted_in_lumps() {
    // At the first server 6 and 3 are 9 at most, so the first flow's arrival at the second varies
    // by 3. Two of it, 10 apart, may lie 7 apart there, and its 8 are not done by then.
    let flows =
        [flow(1, 10, &[stage(0, 6, None), stage(1, 8, Some(0))]), flow(1, 1000, &[stage(0, 3, None)])];
    assert_eq!(urgent(&[HolisticServer::default(); 2], &flows), vec![us(9), us(16)]);
    // Without the other there is no lump: 8 in every 10.
    assert_eq!(urgent(&[HolisticServer::default(); 2], &flows[..1]), vec![us(6), us(8)]);
}

#[test]
fn who_cannot_is_named() {
    let flows = [flow(1, 10, &[stage(0, 1, None), stage(1, 11, Some(0))])];
    let Err(Overloaded { server, utilisation, endless: false, .. }) =
        responses(&[HolisticServer::default(); 2], &flows, &[])
    else {
        panic!("11 in every 10")
    };
    assert_eq!((server, (utilisation * 10.0).round()), (1, 11.0));
}

#[test]
fn a_place_costs_more_the_more_may_wait() {
    let scanning = FlowStage { scans: vec![(1, us(1))], ..stage(0, 5, None) };
    let flows = [flow(1, 100, &[scanning, stage(1, 20, Some(0)), stage(1, 2, Some(0))])];
    // Two may wait at the other server, and a search from the nearer end passes one.
    assert_eq!(urgent(&[HolisticServer::default(); 2], &flows), vec![us(6), us(22)]);
    let blocked = [HolisticServer::default(), HolisticServer { blocked: us(3), ..HolisticServer::default() }];
    assert_eq!(urgent(&blocked, &flows), vec![us(6), us(25)]);
}

#[test]
fn a_start_below_changes_nothing() {
    let flows = [
        flow(1, 100, &[stage(0, 6, None), stage(1, 20, Some(0)), stage(0, 9, Some(1))]),
        flow(1, 150, &[stage(1, 30, None), stage(0, 5, Some(0))]),
    ];
    let servers = [HolisticServer::default(), HolisticServer { blocked: us(7), ..HolisticServer::default() }];
    let part = responses(&servers, &flows[..1], &[]).unwrap();
    assert_eq!(responses(&servers, &flows, &part), responses(&servers, &flows, &[]));
    assert!(responses(&servers, &flows, &[]).unwrap()[0].urgent > part[0].urgent);
}

#[test]
fn who_is_urgent_waits_for_what_is_in_hand_and_what_stays() {
    let bulk = HolisticFlow { urgent: false, ..flow(1, 20, &[stage(0, 15, None), stage(1, 15, Some(0))]) };
    let flows = [flow(1, 50, &[stage(0, 4, None)]), flow(1, 60, &[stage(0, 5, None)]), bulk];
    let order =
        |stay| HolisticServer { blocked: us(1), urgent_first: Some(stay), ..HolisticServer::default() };
    // One in hand, and both: 1 + 15 + 4 + 5; others have all arrivals: three of theirs, the first
    // twice, the second.
    let found = responses(&[order(0), HolisticServer::default()], &flows, &[]).unwrap();
    assert_eq!(found[0], ServerResponse { urgent: us(25), other: us(59) });
    // One stays before each of the two: 25 + 30 = 55, within which the first arrives again: 74, and
    // the second: 94, and so on without end; in any order it is over by 59.
    let found = responses(&[order(1), HolisticServer::default()], &flows, &[]).unwrap();
    assert_eq!(found[0].urgent, us(59));
    // Without an order there is the same for all.
    let found = responses(
        &[HolisticServer { blocked: us(1), ..HolisticServer::default() }, HolisticServer::default()],
        &flows,
        &[],
    );
    assert_eq!(found.unwrap()[0].urgent, us(59));
}

#[test]
fn along_its_way_a_message_waits_for_one_of_others_at_each_visit() {
    let order = |stay| HolisticServer { blocked: us(1), urgent_first: Some(stay), urgent_passed: Some(0) };
    let servers = [order(0), order(1)];
    let mine = flow(1, 1000, &[stage(0, 4, None), stage(1, 20, Some(0)), stage(0, 6, Some(1))]);
    let endless = |stages: &[FlowStage]| HolisticFlow {
        slots: ArrivalSlots::ENDLESS,
        urgent: false,
        stages: stages.to_vec(),
    };
    let others = endless(&[stage(0, 9, None), stage(1, 30, None)]);
    let found = |flows: &[HolisticFlow]| {
        let known = responses(&servers, flows, &[]).unwrap();
        along(&servers, flows, &known, 0, &[0, 1, 2])
    };
    // 30 of its own, and at each visit a look in vain: 33. Of others 9 twice; and 30 in hand, and
    // one that stays.
    assert_eq!(found(std::slice::from_ref(&mine)), Some(us(33)));
    assert_eq!(found(&[mine.clone(), others.clone()]), Some(us(33 + 18 + 60)));
    // An urgent one that arrives once in that time, and in its possible earlier wait; and one that
    // is done beside its way.
    let rare = flow(1, 100_000, &[stage(1, 5, None)]);
    assert_eq!(found(&[mine.clone(), others.clone(), rare]), Some(us(33 + 18 + 60 + 5)));
    let mut with_tail = mine.clone();
    with_tail.stages.push(stage(0, 2, Some(1)));
    assert_eq!(found(&[with_tail, others.clone()]), Some(us(33 + 18 + 60 + 2)));
    // One of its own flow arrives within its way: the window is 111 and its response at the first
    // server.
    let often = HolisticFlow { slots: ArrivalSlots { count: 1, interval: us(120) }, ..mine.clone() };
    assert!(found(&[often, others.clone()]) > Some(us(111)));
    // A server without an order takes none first, and others use it.
    let plain = [HolisticServer::default(), order(1)];
    let known = responses(&servers, &[mine.clone(), others.clone()], &[]).unwrap();
    assert_eq!(along(&plain, &[mine.clone(), others.clone()], &known, 0, &[0, 1]), None);
    assert_eq!(along(&servers, &[mine, others], &known, 1, &[0]), None);
}

#[test]
fn others_may_ask_too_much_where_nothing_hangs_on_it() {
    let others = |stages: &[FlowStage]| HolisticFlow { urgent: false, ..flow(1, 10, stages) };
    let order = HolisticServer { urgent_first: Some(0), ..HolisticServer::default() };
    let mine = flow(1, 50, &[stage(0, 4, None)]);
    let flows = [mine.clone(), others(&[stage(0, 12, None)])];
    assert_eq!(urgent(&[order], &flows), vec![us(16)]);
    // A stage follows it, in lumps that have no end.
    let flows = [mine, others(&[stage(0, 12, None), stage(1, 1, Some(0))])];
    assert!(responses(&[order, HolisticServer::default()], &flows, &[]).is_err());
}

#[test]
fn servers_as_one_are_asked_for_the_sum_and_once() {
    // To and fro between two, then to a third, and back.
    let there = [(0, 5, None), (1, 20, Some(0)), (0, 9, Some(1)), (2, 7, Some(1)), (1, 3, Some(3))];
    let stages = there.map(|(server, cost, parent)| stage(server, cost, parent));
    let (merged, parts) = flow(1, 100, &stages).through(&[0, 0, 2]);
    assert_eq!(parts, [0, 0, 0, 1, 2]);
    let of = |server, least, most, parent| FlowStage {
        server,
        least: us(least),
        most: us(most),
        parent,
        scans: Vec::new(),
    };
    // The part that goes on to the third does so after 25 at the earliest, when 9 may be left.
    assert_eq!(merged.stages, [of(0, 25, 34, None), of(2, 7, 7, Some(0)), of(0, 0, 3, Some(1))]);
    // Two flows of these are at once 68 and twice 3, and 6 once more: a return may be (80 − 25) +
    // (14 − 7) later than at least, so the last of the time before and the next are within 80.
    let both = [merged.clone(), merged];
    assert_eq!(urgent(&[HolisticServer::default(); 3], &both), [us(80), us(0), us(14)]);
}

/// Of 10 us, 4 are asked for by what has an end, and no number says how much by what has none.
#[test]
fn what_has_no_end_is_no_share_of_the_time() {
    let endless =
        HolisticFlow { slots: ArrivalSlots::ENDLESS, urgent: false, stages: vec![stage(0, 1, None)] };
    // A stage follows it, so its response there matters.
    let mine = flow(1, 10, &[stage(0, 4, None), stage(1, 1, Some(0))]);
    let found = responses(&[HolisticServer::default(); 2], &[mine, endless], &[]);
    let Err(Overloaded { server: 0, utilisation, endless: true, .. }) = found else { panic!("{found:?}") };
    assert!((utilisation - 0.4).abs() < 1e-12, "{utilisation}");
}

/// A search of a queue costs what waits there, of which there is no bound: the share that is stated has none.
#[test]
fn the_share_of_an_overloaded_server_has_no_searches() {
    let scanning = FlowStage { scans: vec![(1, us(1))], ..stage(0, 5, None) };
    let share = |cost: u64| {
        let flows = [flow(40, 400, &[scanning.clone(), stage(1, cost, Some(0)), stage(1, 2, Some(0))])];
        let found = responses(&[HolisticServer::default(); 2], &flows, &[]);
        let Err(overloaded) = found else { panic!("{found:?}") };
        assert!(!overloaded.endless);
        (overloaded.server, (overloaded.utilisation * 100.0).round(), overloaded.searches)
    };
    // Forty requests of 5 us in every 400, however far the responses of the other server were followed.
    assert_eq!([7, 9, 18].map(share), [(0, 50.0, true); 3]);
}
