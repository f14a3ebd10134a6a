//! Networks with bounds by hand.

use laxity_units::{Bytes, Rate, Span};

use crate::total::Total;
use crate::{
    AnalysisMethod, Bucket, CopyOf, Effort, Flow, FlowBound, Gates, Invalid, QueueNetwork, Server, bounds,
};

const LINK: Server = Server::by_level(Rate::from_bits_per_sec(100_000_000));

/// A flow of frames of `size` bytes, which take 0.08 us each byte, one each `interval` us.
fn flow(path: &[usize], level: u8, size: u64, interval: u64) -> Flow {
    let size = Bytes::new(size);
    let source = vec![Bucket::Frames { size, burst: 1, interval: Span::from_us(interval) }];
    Flow { level, ..Flow::of_frames(path.to_vec(), source, size) }
}

/// The flow with that burst, of which the delay counts from arrivals: by its first limit it has a
/// frame each microsecond, and no logical arrival is much later than the arrival.
fn at_once(burst: u64, flow: Flow) -> Flow {
    let Bucket::Frames { size, interval, .. } = flow.source[0] else { return flow };
    let limit = |interval| Bucket::Frames { size, burst, interval };
    Flow { source: vec![limit(Span::from_us(1)), limit(interval)], ..flow }
}

fn of(servers: Vec<Server>, flows: Vec<Flow>) -> Vec<Option<FlowBound>> {
    bounds(&QueueNetwork::new(servers, flows).expect("a network"), Effort::default())
}

/// The delays in us, without the few picoseconds of rounding.
fn us(bounds: &[Option<FlowBound>]) -> Vec<f64> {
    let delay = |bound: &Option<FlowBound>| bound.as_ref().expect("a bound").delay.as_ps();
    bounds.iter().map(|bound| (delay(bound) / 1000) as f64 / 1000.0).collect()
}

#[test]
fn frames_wait_for_those_of_all_flows() {
    let found = of(vec![LINK], vec![flow(&[0], 0, 500, 4000), flow(&[0], 0, 1000, 4000)]);
    assert_eq!(us(&found), [120.0, 120.0]);
}

/// Both flows arrive over one link, so no frame waits behind it.
#[test]
fn frames_of_one_link_do_not_wait_at_the_next() {
    let two = |entry| Flow { entry, ..flow(&[1], 0, 500, 4000) };
    assert_eq!(us(&of(vec![LINK, LINK], vec![two(Some(0)), two(Some(0))])), [40.0, 40.0]);
    assert_eq!(us(&of(vec![LINK, LINK], vec![two(Some(0)), two(None)])), [80.0, 80.0]);
    let behind = vec![flow(&[0, 1], 0, 500, 4000), flow(&[0, 1], 0, 500, 4000)];
    let found = of(vec![LINK, LINK], behind);
    assert_eq!(us(&found), [120.0, 120.0]);
    let passed = &found[0].as_ref().expect("a bound").passed;
    assert_eq!(passed.iter().map(|span| span.as_ps() / 1000).collect::<Vec<_>>(), [80_000, 120_000]);
}

/// Both flows leave a link of 100 Mbit/s 80 us apart, and one of 200 Mbit/s brings them no closer
/// together: at the last link none waits. A flow that joins at the fast link can delay the first.
#[test]
fn frames_of_a_slow_link_are_apart_behind_a_faster_one() {
    let fast = Server::by_level(Rate::from_bits_per_sec(200_000_000));
    let servers = || vec![LINK, fast.clone(), LINK, LINK];
    let two = || vec![flow(&[0, 1, 2], 0, 1000, 4000), flow(&[0, 1, 2], 0, 1000, 4000)];
    assert_eq!(us(&of(servers(), two())), [160.0 + 40.0 + 80.0; 2]);
    // It delays a frame at the fast link by 20 us, so the next one waits for 20 us at the last.
    let joined = [two(), vec![flow(&[1, 3], 0, 500, 4000)]].concat();
    let network = QueueNetwork::new(servers(), joined).expect("a network");
    let delay = &Total::of(&network, false).delay[0];
    assert_eq!(delay.iter().map(|delay| delay.as_ps() / 1_000_000).collect::<Vec<_>>(), [160, 60, 100]);
    // By the entry of a path likewise.
    let entered = |mut flow: Flow| {
        flow.path.remove(0);
        Flow { entry: Some(0), ..flow }
    };
    let found = us(&of(servers(), two().into_iter().map(entered).collect()));
    assert_eq!(found, [40.0 + 80.0; 2]);
}

/// A frame of 1500 B below takes 120 us. The flow below waits for one frame of 40 us above, which
/// returns after 4 ms only; the hull of its steps adds 1 %.
#[test]
fn a_more_urgent_level_waits_for_one_frame_below() {
    let server = Server { below: Bytes::new(1500), ..LINK };
    let found = us(&of(vec![server], vec![flow(&[0], 0, 500, 4000), flow(&[0], 1, 1000, 4000)]));
    assert_eq!(found[0], 120.0 + 40.0);
    assert!(found[1] > 120.0 + 40.0 + 80.0 && found[1] < 242.0, "{found:?}");
    // Without best effort the frame of the flow below counts.
    let found = us(&of(vec![LINK], vec![flow(&[0], 0, 500, 4000), flow(&[0], 1, 1000, 4000)]));
    assert_eq!(found[0], 80.0 + 40.0);
}

#[test]
fn latency_and_propagation_are_added() {
    let server = Server { latency: Span::from_us(7), propagation: Span::from_us(5), ..LINK };
    let found = of(vec![server; 3], vec![flow(&[0, 1, 2], 0, 500, 4000)]);
    assert_eq!(us(&found), [3.0 * (40.0 + 7.0 + 5.0)]);
}

/// Frames that the sender shifts by up to an interval arrive two at once.
#[test]
fn jitter_of_the_sender_is_a_burst() {
    let late = |jitter| Flow { jitter: Span::from_us(jitter), ..flow(&[0], 0, 500, 4000) };
    assert_eq!(us(&of(vec![LINK], vec![at_once(1, late(3000))])), [40.0]);
    assert_eq!(us(&of(vec![LINK], vec![at_once(1, late(4000))])), [80.0]);
    let other = flow(&[0], 0, 250, 4000);
    assert_eq!(us(&of(vec![LINK], vec![late(4000), other])), [60.0, 100.0]);
}

/// A link that is slower than it can be shifts frames against each other.
#[test]
fn a_rate_that_varies_is_jitter() {
    let slow = Server { rate: Rate::from_bits_per_sec(50_000_000), ..LINK };
    let found = of(vec![slow, LINK], vec![flow(&[0, 1], 0, 500, 4000)]);
    assert_eq!(found[0].as_ref().expect("a bound").jitter[1], Span::from_ps(40_000_001));
    assert_eq!(us(&found), [80.0 + 40.0]);
}

/// Three flows over two servers each of a ring of three.
#[test]
fn a_ring_has_a_bound_at_low_load_only() {
    let ring = |size| (0..3).map(|start| flow(&[start, (start + 1) % 3], 0, size, 1000)).collect();
    let low = of(vec![LINK; 3], ring(500));
    assert!(us(&low).iter().all(|&delay| (120.0..170.0).contains(&delay)), "{low:?}");
    assert_eq!(of(vec![LINK; 3], ring(6500)), [None, None, None], "104 % of the link");
}

/// A flow without a bound takes the bounds of all that its frames can delay, and of no others.
#[test]
fn overload_spreads_to_later_servers_only() {
    let flows = vec![flow(&[0, 1], 0, 500, 10), flow(&[1], 0, 500, 4000), flow(&[2], 0, 500, 4000)];
    let found = of(vec![LINK; 3], flows.clone());
    assert!(found[0].is_none() && found[1].is_none() && found[2].is_some(), "{found:?}");
    let mut flows = flows;
    flows[0].level = 1;
    let found = of(vec![LINK; 3], flows);
    assert!(found[0].is_none() && found[1].is_some(), "a level below blocks by one frame: {found:?}");
}

/// The flow pays its burst of 16 frames at each server by total flow analysis, and once otherwise.
#[test]
fn a_burst_is_paid_once() {
    let fast = Server {
        rate: Rate::from_bits_per_sec(200_000_000),
        peak: Rate::from_bits_per_sec(200_000_000),
        ..LINK
    };
    let main = at_once(16, flow(&[0, 1, 2], 0, 500, 2000));
    let others = [0, 1, 2].map(|server| flow(&[server], 0, 500, 2000));
    let found = of(vec![fast; 3], [vec![main], others.to_vec()].concat());
    let bound = found[0].as_ref().expect("a bound");
    assert_ne!(bound.method, AnalysisMethod::Total);
    // 16 frames and one other at the first, then one own and one other at each.
    assert!(bound.delay >= Span::from_us(17 * 20 + 2 * 40) && bound.delay < Span::from_us(450), "{bound:?}");
}

/// Frames of 102 B pass a link with frames of 1500 B that are for other servers behind it. Such a frame on
/// the link does not delay them at the last server. Other tools (TFA, SFA and PLP) have 1307.9 us at least.
#[test]
fn a_long_frame_for_another_server_costs_nothing_behind() {
    let flows = [
        (0, 2, 102, 500),
        (3, 4, 1500, 5000),
        (5, 2, 102, 1000),
        (6, 4, 1500, 2000),
        (0, 4, 1500, 500),
        (3, 4, 1500, 2000),
        (5, 2, 102, 500),
        (6, 7, 1500, 2000),
        (0, 4, 102, 5000),
        (3, 4, 1500, 20_000),
        (5, 7, 1500, 5000),
        (6, 4, 1500, 5000),
        (0, 7, 1500, 500),
    ];
    let flows = flows.map(|(host, last, size, interval)| flow(&[host, 1, last], 0, size, interval));
    let found = of(vec![LINK; 8], flows.to_vec());
    let bound = found[0].as_ref().expect("a bound");
    assert_eq!(bound.method, AnalysisMethod::Program);
    assert!(us(&found)[0] < 1278.0, "{bound:?}");
}

/// Behind the first link, four frames of 500 B each 400 us are 16 000 bits and 10 bits a microsecond times
/// 120 us, in which that link sends a frame of 1000 B of another flow and one of 500 B.
#[test]
fn a_burst_of_its_own_raises_no_burst() {
    let source = vec![Bucket::Frames { size: Bytes::new(500), burst: 4, interval: Span::from_us(400) }];
    let burst = Flow { source, ..flow(&[0, 1], 0, 500, 400) };
    let network =
        QueueNetwork::new(vec![LINK; 2], vec![burst, flow(&[0], 0, 1000, 4000)]).expect("a network");
    let total = Total::of(&network, true);
    let visits = &network.visits[1];
    let bits = |line: &crate::arrival::Line| (line.burst / 1_000_000_000_000, line.rate);
    assert_eq!(bits(&total.arrival(&network, &visits[0]).last()), (17_200, 10_000_000));
    let together: Vec<_> = total.outputs.together(&network, 0, visits).iter().map(bits).collect();
    assert!(together.contains(&(17_200, 10_000_000)), "{together:?}");
}

/// A burst of eight frames arrives over a link of 10 Mbit/s. A linear program without limits behind queues
/// has 8871 us for the first flow, because its tree has no room for the host of the burst.
#[test]
fn a_burst_from_a_slow_link_is_paid_once() {
    let link = |mbit: u64| Server::first_come(Rate::from_bits_per_sec(mbit * 1_000_000));
    let late = |mbit| Server { latency: Span::from_us(16), ..link(mbit) };
    let servers = vec![
        link(10),
        link(100),
        Server { propagation: Span::from_ns(500), ..link(100) },
        Server { propagation: Span::from_ns(500), ..link(10) },
        late(100),
        late(100),
        link(100),
        late(10),
        link(100),
        link(10),
        link(10),
        late(10),
        link(10),
        late(100),
        link(10),
        late(100),
    ];
    let burst = |path: &[usize], size, burst, interval| {
        let source =
            vec![Bucket::Frames { size: Bytes::new(size), burst, interval: Span::from_us(interval) }];
        Flow { source, ..flow(path, 0, size, interval) }
    };
    let flows = vec![
        burst(&[0, 1, 2, 3, 4, 5], 238, 1, 16_000),
        burst(&[6, 4, 7], 238, 1, 2000),
        burst(&[8, 2, 9], 238, 8, 2000),
        burst(&[10, 3, 11], 1538, 1, 8000),
        burst(&[12, 4, 13], 500, 3, 500),
        burst(&[14, 1, 2, 3, 4, 15], 1538, 8, 2000),
    ];
    let found = of(servers, flows);
    assert!(us(&found)[0] < 7485.0, "{:?}", found[0]);
}

/// Frame `k` of a burst of 40 counts from `k` intervals later, when the frames before it are gone: 120 us
/// at each server. Another flow at the first one waits for the whole burst.
#[test]
fn a_burst_of_its_own_delays_no_flow() {
    let burst = |burst| {
        let source = vec![Bucket::Frames { size: Bytes::new(1500), burst, interval: Span::from_us(10_000) }];
        Flow { source, ..flow(&[0, 1], 0, 1500, 10_000) }
    };
    let found = of(vec![LINK, LINK], vec![burst(40)]);
    assert_eq!(us(&found), [240.0]);
    let bound = found[0].as_ref().expect("a bound");
    assert_eq!((bound.method, bound.stays[0]), (AnalysisMethod::Logical, Span::from_us(40 * 120)));
    let found = us(&of(vec![LINK], vec![Flow { path: vec![0], ..burst(40) }, flow(&[0], 0, 500, 10_000)]));
    assert_eq!(found[0], 120.0 + 40.0);
    assert!(found[1] >= 40.0 * 120.0 + 40.0, "{found:?}");
    // An interval is as short as the frames are long: the link has no idle time, and none is late.
    let dense = |burst| {
        let source = vec![Bucket::Frames { size: Bytes::new(1500), burst, interval: Span::from_us(121) }];
        Flow { source, ..flow(&[0], 0, 1500, 121) }
    };
    assert_eq!(us(&of(vec![LINK], vec![dense(9)])), [120.0]);
}

/// A flow and two copies of it, of 40 us, with one other of 80 us at the first server. The link there has
/// each frame once, and so has server 1, behind which the second copy is made of the first.
#[test]
fn a_copied_frame_passes_a_shared_link_once() {
    let copy = |path: &[usize], flow_, hops| Flow {
        copy: Some(CopyOf { flow: flow_, hops }),
        ..flow(path, 0, 500, 4000)
    };
    let other = flow(&[0, 3], 0, 1000, 4000);
    let all = vec![flow(&[0, 2], 0, 500, 4000), copy(&[0, 1, 2], 0, 1), copy(&[0, 1, 3], 1, 2), other];
    let found = us(&of(vec![LINK; 4], all.clone()));
    // At server 2 the frame of the other link can arrive together with the one of this.
    assert_eq!(found[..2], [120.0 + 80.0, 120.0 + 40.0 + 80.0]);
    // At server 3 the frames of both links wait for each other.
    assert_eq!(found[2..], [120.0 + 40.0 + 120.0, 120.0 + 120.0]);
    let apart = all.into_iter().map(|flow| Flow { copy: None, ..flow }).collect();
    assert!(us(&of(vec![LINK; 4], apart)).iter().zip(found).all(|(apart, copied)| *apart > copied));
}

/// All analyses count the burst of a copy at the servers that it shares, and once: they give the copy the
/// bound that it would have alone.
#[test]
fn a_copy_has_the_bound_of_a_flow_alone() {
    let fast = Rate::from_bits_per_sec(200_000_000);
    let fast = Server { rate: fast, peak: fast, ..LINK };
    let main = |path: &[usize]| at_once(16, flow(path, 0, 500, 2000));
    let others: Vec<Flow> = [0, 1, 2, 3].map(|server| flow(&[server], 0, 500, 2000)).to_vec();
    let alone = of(vec![fast.clone(); 4], [vec![main(&[0, 1, 2])], others.clone()].concat());
    let copy = Flow { copy: Some(CopyOf { flow: 0, hops: 2 }), ..main(&[0, 1, 2]) };
    let both = of(vec![fast; 4], [vec![main(&[0, 1, 3]), copy], others].concat());
    let [alone, both] = [&alone[0], &both[1]].map(|bound| bound.as_ref().expect("a bound"));
    assert_eq!(both, alone);
    assert_ne!(alone.method, AnalysisMethod::Total);
}

/// Forty frames of 120 us each 40 ms, of which two are 125 us apart: a frame of another flow waits
/// for one of them. Without a distance it waits for forty.
#[test]
fn frames_at_a_distance_delay_others_by_one() {
    let frames = |burst, interval| {
        let (size, interval) = (Bytes::new(1500), Span::from_us(interval));
        Bucket::Frames { size, burst, interval }
    };
    let others = |source| {
        let burst = Flow { source, ..flow(&[0], 0, 1500, 1000) };
        us(&of(vec![LINK], vec![burst, flow(&[0], 0, 500, 40_000)]))
    };
    let train = vec![frames(40, 1000)];
    assert!(others(train.clone())[1] >= 40.0 * 120.0 + 40.0);
    let spread = others([&train[..], &[frames(1, 125)]].concat());
    assert_eq!(spread, [160.0, 160.0]);
    // The order of the two says from when the delays of the train count.
    let turned = others([&[frames(1, 125)][..], &train].concat());
    assert_eq!(turned, spread);
}

#[test]
fn what_has_no_meaning_is_refused() {
    let slow = Server { rate: Rate::from_bits_per_sec(200_000_000), ..LINK };
    let good = flow(&[0], 0, 500, 4000);
    let invalid = |server, flow| QueueNetwork::new(vec![server; 2], vec![flow]).expect_err("no network");
    assert_eq!(invalid(slow, good.clone()), Invalid::NoRate { server: 0 });
    for path in [vec![], vec![2], vec![0, 1, 0]] {
        assert_eq!(invalid(LINK, Flow { path, ..good.clone() }), Invalid::Path { flow: 0 });
    }
    assert_eq!(invalid(LINK, Flow { entry: Some(0), ..good.clone() }), Invalid::Path { flow: 0 });
    for (copy, path) in [((0, 1), vec![1]), ((0, 0), vec![0]), ((0, 2), vec![0, 1]), ((1, 1), vec![0])] {
        let copy = Flow { path, copy: Some(CopyOf { flow: copy.0, hops: copy.1 }), ..good.clone() };
        let network = QueueNetwork::new(vec![LINK; 2], vec![good.clone(), copy]);
        assert_eq!(network.expect_err("no network"), Invalid::Path { flow: 1 });
    }
    for source in [vec![], vec![Bucket::Fluid { burst: Bytes::new(499), rate: LINK.rate }]] {
        assert_eq!(invalid(LINK, Flow { source, ..good.clone() }), Invalid::Source { flow: 0 });
    }
    assert_eq!(invalid(LINK, Flow { shortest: Bytes::new(501), ..good }), Invalid::Source { flow: 0 });
}

/// Class A with 50 Mbit/s: a frame of 500 B waits 120 us for best effort, and the second of a burst
/// until its class has earned the first again: 80 us and not 40 us after it. A class below waits for
/// best effort, the frames that the credit of A allows, and its own.
#[test]
fn a_shaped_class_has_its_idle_slope() {
    let shapers = vec![(0, Rate::from_bits_per_sec(50_000_000))];
    let server = Server { below: Bytes::new(1500), shapers, ..LINK };
    let found = us(&of(vec![server.clone()], vec![at_once(2, flow(&[0], 0, 500, 4000))]));
    assert_eq!(found, [120.0 + 80.0 + 40.0]);
    let both = vec![at_once(5, flow(&[0], 0, 500, 4000)), flow(&[0], 1, 1000, 4000)];
    let found = us(&of(vec![server], both));
    // The frame of 1500 B, and A with 50 Mbit/s and half a frame: (120 + 20) / 0.5 us.
    assert!(found[1] >= 280.0 + 80.0 && found[1] < 360.01, "{found:?}");
}

/// Behind a link with a shaper a class arrives at its idle slope, although its burst is long: no
/// frame of it waits for another at a link of the same slope.
#[test]
fn a_shaped_class_arrives_at_its_idle_slope() {
    let shapers = vec![(0, Rate::from_bits_per_sec(50_000_000))];
    let server = Server { shapers, ..LINK };
    let found = of(vec![server.clone(), server], vec![at_once(10, flow(&[0, 1], 0, 500, 4000))]);
    let passed = &found[0].as_ref().expect("a bound").passed;
    let us: Vec<f64> = passed.iter().map(|span| (span.as_ps() / 1000) as f64 / 1000.0).collect();
    assert_eq!(us, [9.0 * 80.0 + 40.0, 9.0 * 80.0 + 80.0]);
}

/// In a cycle of 500 us level 0 has 100 us, and the others have 400 us. Level 1 has 50 Mbit/s in them.
/// Its frame of 250 B (20 us) waits for one of 1500 B, then 20 us in which it does not fit, then 100
/// us. The second of two has 2000 bits before it. The rate with the least latency is what the credit
/// earns from the end of a window until 140 us before that of the next, 50 · 260 / 360 Mbit/s: 55.38 us
/// more. Without shaper the second follows at once.
#[test]
fn a_shaped_class_behind_gates_has_the_bounds_by_hand() {
    let us = Span::from_us;
    let late = vec![(us(100), us(400))];
    let open = vec![(0, vec![(us(0), us(100))]), (1, late.clone()), (Gates::BELOW, late)];
    let shapers = vec![(1, Rate::from_bits_per_sec(50_000_000))];
    let gates = Some(Gates { cycle: us(500), open, behind: None });
    let shaped = Server { below: Bytes::new(1500), shapers, gates, ..LINK };
    let burst = |burst| at_once(burst, flow(&[0], 1, 250, 4000));
    assert_eq!(us_of(&shaped, burst(1)), 260.0);
    let second = 240.0 + 2000.0 / (50.0 * 260.0 / 360.0) + 20.0;
    let found = us_of(&shaped, burst(2));
    assert!(found > second - 0.001 && found < second + 0.001, "{found} for {second}");
    let plain = Server { shapers: Vec::new(), ..shaped };
    assert_eq!((us_of(&plain, burst(1)), us_of(&plain, burst(2))), (260.0, 280.0));
}

fn us_of(server: &Server, flow: Flow) -> f64 {
    us(&of(vec![server.clone()], vec![flow]))[0]
}

/// Six servers in a ring, and a flow from each over `hops` of them, of 40 us each `interval` us.
fn ring(hops: usize, interval: u64) -> Vec<Option<FlowBound>> {
    let path = |n: usize| (0..hops).map(|hop| (n + hop) % 6).collect::<Vec<_>>();
    of(vec![LINK; 6], (0..6).map(|n| flow(&path(n), 0, 500, interval)).collect())
}

/// Rounding ends no iteration: there is a bound up to 85 % of each link, and it rises with the load. What
/// grows without an end is no bound.
#[test]
fn a_ring_has_a_bound_that_rises_with_its_load() {
    for hops in 2..6 {
        let mut least = Span::ZERO;
        for load in [10, 30, 50, 60, 70, 75, 80, 85, 90, 95, 97, 99] {
            let bounds = ring(hops, 40 * hops as u64 * 100 / load);
            assert!(load > 85 || bounds.iter().all(Option::is_some), "{hops} servers, {load} %");
            for bound in bounds.iter().flatten() {
                assert!(
                    bound.delay >= least && bound.delay < Span::from_ms(10),
                    "{hops}, {load} %: {bound:?}"
                );
            }
            least = bounds[0].as_ref().map_or(least, |bound| bound.delay);
        }
        assert_eq!(ring(hops, 40 * hops as u64 * 99 / 100), [None, None, None, None, None, None]);
    }
}
