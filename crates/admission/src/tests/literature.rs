//! Printed results against closed forms of the literature, where there are any: same network, same
//! traffic.
//!
//! Where the setting is the literature's the two are equal, but for the rounding of clocks; where
//! it is not, the test says on which side ours has to be.

use super::super::terms::ps;
use super::exact::packets;
use super::*;
use crate::station::{Behind, Open, Station, StationPhase, StationStage, Turns};
use laxity_qos::costs::Delay;
use laxity_qos::discipline::{Order, Sharing};

fn us(us: u64) -> Span {
    Span::from_us(us)
}

/// Messages of three packets of 1000 B each 30 us, of which links take 1 us each: `r = C/10`, `L/r
/// = 10 us`.
fn asked(pays: Pays) -> RateRequest {
    let size = Bytes::new(3000);
    let spec = TrafficSpec { max_message: size, min_message: size, burst: 1, min_interval: us(30) };
    let request = Request::new(spec, us(10_000)).unwrap();
    // A number of early messages that leaves no wait for the end of them: the promise is by rates.
    RateRequest {
        request,
        level: 0,
        group: None,
        pays,
        early: Early { by: Span::ZERO, ahead: 1000 },
        whole: false,
    }
}

/// The promise to the first of `flows` alike at a link in `order`, which had `before` to pay, and
/// the burst that it hands on.
fn at_a_link(order: Order, flows: usize, pays: Pays) -> (Span, Span) {
    let speed = LinkCosts::new(Span::ZERO, Span::from_ns(1));
    let sharing =
        Sharing { speed, flows: Vec::new(), without: Bytes::ZERO, frame: Span::ZERO, groups: Vec::new() };
    let mut table = RateTable::new(order, Bytes::new(1000), sharing).expect("it shares by rates");
    for _ in 0..flows {
        assert!(matches!(table.request(asked(pays)), Decision::Admitted { .. }));
    }
    (table.bounds()[0].bound, table.handed_on(&asked(pays)))
}

/// The promise over `links` in `order`.
fn over_a_row(order: Order, flows: usize, links: u64) -> Span {
    let (mut sum, mut pays) = (Span::ZERO, Pays::First);
    for _ in 0..links {
        let (bound, handed_on) = at_a_link(order, flows, pays);
        sum += bound;
        pays = Pays::Before(handed_on);
    }
    sum
}

/// A row of `K` packetised servers, a leaky bucket `(σ, ρ)` with `σ = 3 L` that has `r = ρ` at
/// each, among `N` alike of a tenth of `C`:
///
/// ```text
/// PGPS (WFQ), WF2Q+, VirtualClock    σ/r + (K − 1) L/r + K L_max/C
/// SCFQ                               σ/r + (K − 1) L/r + K Σ_{j ≠ i} L_j/C
/// SFQ                                (σ − L)/r + K Σ_j L_j/C
/// DRR                                σ/r + K (3 F − 2 φ)/C,  F = N φ,  φ = L
/// ```
///
/// Ours is more for DRR alone, `(K − 1) L/r`: its latency holds of the service of whole packets,
/// and behind its clock is all that is said of it here.
///
/// Parekh and Gallager, "… the multiple node case", ToN 2(2), 1994, Theorem 3 with (40); Figueira
/// and Pasquale, "An upper bound on delay for the VirtualClock service discipline", ToN 3(4), 1995;
/// Golestani, JSAC 13(6), 1995; Goyal, Vin and Cheng, SIGCOMM 1996; Stiliadis and Varma, ToN 6(5),
/// 1998, Table I.
#[test]
fn rows_of_rate_servers_have_the_published_delays() {
    for (flows, links) in [(1, 1), (2, 1), (9, 1), (4, 2), (9, 3), (9, 5)] {
        let (n, k) = (flows as u64, links);
        let by_rate = us(30 + (k - 1) * 10);
        for (order, published) in [
            (Order::WeightedFair, by_rate + us(k)),
            (Order::WorstCaseFair, by_rate + us(k)),
            (Order::VirtualClock, by_rate + us(k)),
            (Order::SelfClocked, by_rate + us(k * (n - 1))),
            (Order::StartTimeFair, us(20) + us(k * n)),
            (Order::DeficitRoundRobin, us(30) + us(k * (3 * n - 2))),
        ] {
            let ours = over_a_row(order, flows, links);
            let more = if order == Order::DeficitRoundRobin { us((k - 1) * 10) } else { Span::ZERO };
            let clocks = Span::from_ps(2 * links);
            assert_eq!(ours, published + more + clocks, "{order:?}, {flows} flows, {links} links");
        }
    }
}

fn stage(time: u64) -> StationStage {
    let delay = Delay { fixed: us(time), ..Default::default() };
    StationStage {
        name: "s".into(),
        phases: vec![StationPhase { delay, ..StationPhase::default() }],
        ..StationStage::default()
    }
}

fn station(times: &[u64]) -> Station {
    Station::of_stages(times.iter().map(|time| stage(*time)).collect())
}

/// A tandem of FIFO servers behind a host that takes no time, all of real time one level of it:
/// channels of those numbers of packets a message.
fn over_a_tandem(times: &[u64], messages: &[u64]) -> Span {
    let open = Open::new(station(times), Bytes::from_kib(4)).unwrap();
    let environment = Environment {
        host: HostCosts::default(),
        link: crate::station::Link::Open(std::sync::Arc::new(open)),
        levels: Some(1),
        ..mc68040(ResourceModel::Handed, 4, Formula::Corrected)
    };
    let mut table = table(environment);
    for &of in messages {
        let decision = table.request(packets(of));
        assert!(matches!(decision, Decision::Admitted { .. }), "{decision:?}");
    }
    table.bounds().iter().map(|bound| bound.bound).max().unwrap()
}

/// Leaky buckets that all come at once, `n` packets together, through FIFO servers of `t_k` a
/// packet, each of which may just have begun a packet that goes behind. All packets of the level
/// are done in the order in which they came, so the last is out after what each server had, its own
/// way, and `n − 1` of the slowest:
///
/// ```text
/// Σ t_k + Σ t_k + (n − 1) max t_k
/// ```
///
/// Network calculus: server `k` offers the aggregate a rate of `1/t_k` after a latency of `t_k`
/// (non-preemptive priority), and hands on whole packets, `+ t_k` at each but the last. The
/// convolution has the least rate and the sum of latencies, and a burst of `n` takes `Σ t_k + n max
/// t_k + Σ_{k < K} t_k` (Le Boudec and Thiran, "Network calculus", 2001, 1.4.3 and 1.7): the same
/// where the last is the slowest, and more where it is not. A sum of the servers' own delays (Cruz,
/// "A calculus for network delay, part II", IEEE Trans. IT 37(1), 1991) is more by bursts that are
/// paid for again.
#[test]
fn a_tandem_of_fifo_servers_pays_its_burst_once() {
    for times in
        [&[10][..], &[10, 30], &[30, 10], &[10, 20, 30], &[30, 20, 10], &[20, 20, 20], &[5, 40, 5, 10]]
    {
        for messages in [&[1][..], &[4], &[1, 2], &[3, 3, 3, 3], &[1, 1, 1, 1, 1, 1, 1, 1]] {
            let n: u64 = messages.iter().sum();
            let (all, slowest): (u64, u64) = (times.iter().sum(), *times.iter().max().unwrap());
            let ours = over_a_tandem(times, messages);
            assert_eq!(ours, us(2 * all + (n - 1) * slowest), "{times:?} {messages:?}");
            let but_last: u64 = times[..times.len() - 1].iter().sum();
            let calculus = us(all + n * slowest + but_last);
            assert!(ours <= calculus, "{times:?} {messages:?}");
            assert_eq!(ours == calculus, times.last() == Some(&slowest), "{times:?}");
            let one_by_one = us(times.iter().map(|time| time + n * time).sum());
            assert!(ours <= one_by_one, "{times:?} {messages:?}");
        }
    }
}

/// A window of one before such a tandem is a server of the sum, one without an end of its slowest
/// after the way once: what a closed cyclic queue takes a packet in the long run (Reiser and
/// Lavenberg 1980 for constant times; asymptotic bounds of Denning and Buzen 1978, `max(t_max, Σ
/// t/W)`).
#[test]
fn a_window_has_the_asymptotes_of_a_closed_tandem() {
    for times in [&[10, 30][..], &[30, 10], &[10, 20, 30], &[20, 20, 20], &[5, 40, 5, 10]] {
        let (all, slowest): (u64, u64) = (times.iter().sum(), *times.iter().max().unwrap());
        for window in [1, 2, 3, 4, 8, 64] {
            let charge = Behind::new(station(times), window, Bytes::from_kib(4)).charge(Bytes::from_kib(4));
            let least = ps(us(slowest)).max(ps(us(all)) / u128::from(window));
            assert!(charge >= least, "{times:?} with {window}: {charge}");
            // Its part of a round is paid for beside the slowest: no more than both asymptotes
            // together.
            assert!(
                charge <= ps(us(slowest)) + ps(us(all - slowest)).div_ceil(u128::from(window)),
                "{times:?} {window}"
            );
        }
        let alone = Behind::new(station(times), 1, Bytes::from_kib(4));
        assert_eq!((alone.charge(Bytes::from_kib(4)), alone.once().len()), (ps(us(all)), 0));
    }
}

/// A station that has the token for `H` of each `T`: without overruns a slot of time division, in
/// which `C` of work takes `C + ⌈C/H⌉ (T − H)` at most, of which the line of rate `H/T` and latency
/// `T − H` is the least above (Wandeler and Thiele, "Optimal TDMA time slot and cycle length
/// allocation", ASP-DAC 2006). On FDDI, where stations may overrun by what is Σ F ≤ H in all, `⌊t/T
/// − 1⌋ H` of it is done by `t` (Agrawal, Chen, Zhao and Davari, "Guaranteeing synchronous message
/// deadlines with the timed token medium access control protocol", IEEE Trans. Computers 43(3),
/// 1994; Johnson 1987 for `2 T`).
#[test]
fn a_token_is_a_rate_and_a_latency() {
    for (rotation, holding) in [(1000, 100), (1000, 500), (800, 300), (100, 99)] {
        let turns = |others| Turns {
            rotation: us(rotation),
            holding: us(holding),
            handling: Span::ZERO,
            longest: Span::ZERO,
            others: us(others),
        };
        let line = |work: u64, others| turns(others).latency() + turns(others).stretch(us(work));
        assert_eq!(turns(0).latency(), us(rotation - holding));
        for work in 1..=4 * holding {
            let slots = us(work + work.div_ceil(holding) * (rotation - holding));
            assert!(line(work, 0) >= slots, "{work} of {holding} in {rotation}");
            // Just beyond whole slots it is reached.
            if work % holding == 1 {
                let beyond = line(work, 0) - slots;
                assert!(beyond <= us(rotation.div_ceil(holding)), "{work}: {beyond}");
            }
            let timed_token = us((work.div_ceil(holding) + 1) * rotation);
            assert!(line(work, holding) <= timed_token, "{work} of {holding} in {rotation}");
        }
    }
}

/// A link of EDF without preemption, deadlines `D_i ≤ T_i`: Jeffay, Stanat and Martel ("On
/// non-preemptive scheduling of periodic and sporadic tasks", RTSS 1991) and George, Rivierre and
/// Spuri (INRIA RR-2966, 1996) have it as feasible if `Σ_{D_j ≤ t} (⌊(t − D_j)/T_j⌋ + 1) C_j +
/// max_{D_j > t} C_j ≤ t`. Ours is that, in whichever order the channels ask.
#[test]
fn a_port_by_the_demand_test_is_edf_without_preemption() {
    let jobs = |t: u64, d: u64, i: u64| if t < d { 0 } else { (t - d) / i + 1 };
    let (mut both, mut neither) = (0, 0);
    for seed in 0..4000u64 {
        let dice = |n: u64| (seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (n * 7)) % 64;
        let tasks: Vec<(u64, u64, u64)> = (0..3)
            .map(|n| {
                let (c, i) = (20 + 5 * (dice(n) % 16), 200 + 20 * (dice(n + 3) % 32));
                (c, (i * (40 + dice(n + 6) % 60) / 100).max(c), i)
            })
            .collect();
        let horizon = 8000;
        let without_preemption = (1..horizon).all(|t| {
            let due: u64 = tasks.iter().map(|&(c, d, i)| jobs(t, d, i) * c).sum();
            let below = tasks.iter().filter(|&&(_, d, _)| d > t).map(|&(c, ..)| c).max().unwrap_or(0);
            due == 0 || due + below <= t
        });
        let environment = Environment {
            host: HostCosts::default(),
            link: LinkCosts::new(Span::ZERO, Span::from_ns(10)).into(),
            packet: Bytes::from_kib(64),
            ..mc68040(ResourceModel::Ideal, 1, Formula::Corrected)
        };
        let mut table = AdmissionTable::with_test(environment, Test::Demand).unwrap();
        // A microsecond of the link for each 100 B.
        let request = |&(c, d, i): &(u64, u64, u64)| {
            let size = Bytes::new(100 * c);
            let spec = TrafficSpec { max_message: size, min_message: size, burst: 1, min_interval: us(i) };
            Request::new(spec, us(d)).unwrap()
        };
        let admitted =
            tasks.iter().all(|task| matches!(table.request(request(task)), Decision::Admitted { .. }));
        assert_eq!(admitted, without_preemption, "{tasks:?}");
        both += u32::from(admitted);
        neither += u32::from(!admitted);
    }
    assert!(both > 500 && neither > 500, "{both} by both, {neither} by neither");
}

/// In tens of microseconds.
const TASKS: [(u64, u64); 3] = [(4, 100), (8, 40), (12, 60)];

/// Frames of 40, 80 and 120 us each 1000, 400 and 600 us over a link that serves the least `rank` of a
/// frame and its release without preemption, in all phases on a grid of 10 us.
fn worst_of_all_phases(rank: impl Fn(usize, u64) -> u64) -> [u64; 3] {
    let mut worst = [0; 3];
    for phases in 0..100 * 40 * 60 {
        let mut next = [phases % 100, phases / 100 % 40, phases / 4000];
        let mut now = 0;
        while now < 240 {
            let released = (0..3).filter(|&n| next[n] <= now);
            let Some(first) = released.min_by_key(|&n| rank(n, next[n])) else {
                now = next.into_iter().min().unwrap();
                continue;
            };
            now += TASKS[first].0;
            worst[first] = worst[first].max(now - next[first]);
            next[first] += TASKS[first].1;
        }
    }
    worst.map(|units| units * 10)
}

/// pyRTA 0.1.1, the analyses that PROSA has verified, has 240, 199 and 239 us for these (in its
/// microseconds, a frame that blocks having begun one before), and that is reached. By hand, the
/// first has the two others before it and none is due later than it, the second has the third's
/// frame in its way, and the third the second and the first's.
#[test]
fn a_port_pays_for_the_longest_frame_that_is_due_later() {
    assert_eq!(worst_of_all_phases(|n, released| released + TASKS[n].1), [240, 190, 230]);
    let bounds = |best_effort| bounds_at_a_port(None, best_effort);
    // Beside frames of best effort of 120 us all three have one in their way, and the bounds are
    // what can be.
    assert_eq!((bounds(1), bounds(12_000)), (vec![240, 200, 240], vec![360, 200, 320]));
}

/// By fixed priorities each newcomer goes to the top, as those below it tolerate that. The first is then the
/// lowest and waits for no lower frame, the second for one of it, and the third for one of the second.
#[test]
fn a_port_with_levels_pays_for_the_longest_frame_below() {
    assert_eq!(worst_of_all_phases(|n, _| 2 - n as u64), [240, 230, 190]);
    let bounds = |levels, best_effort| bounds_at_a_port(Some(levels), best_effort);
    assert_eq!((bounds(8, 1), bounds(8, 12_000)), (vec![240, 240, 200], vec![360, 320, 240]));
    // On one level there is no lower frame, and both others are before it.
    assert_eq!((bounds(1, 1), bounds(1, 12_000)), (vec![240; 3], vec![360; 3]));
}

/// In microseconds, in the order of [`TASKS`], beside frames of best effort.
fn bounds_at_a_port(levels: Option<u32>, best_effort: u64) -> Vec<u64> {
    let class = BestEffort {
        max_message: Bytes::new(best_effort),
        min_message: Bytes::new(best_effort),
        role: Role::Send,
        elsewhere: false,
        program: Span::ZERO,
    };
    let environment = Environment {
        levels,
        host: HostCosts::default(),
        link: LinkCosts::new(Span::ZERO, Span::from_ns(10)).into(),
        packet: Bytes::from_kib(64),
        best_effort: vec![class],
        ..mc68040(ResourceModel::Ideal, 1, Formula::Corrected)
    };
    let test = if levels.is_some() { Test::DOrder } else { Test::Demand };
    let mut table = AdmissionTable::with_test(environment, test).unwrap();
    let ids: Vec<AdmissionId> = TASKS
        .into_iter()
        .map(|(frame, interval)| (10 * frame, 10 * interval))
        .map(|(frame, interval)| {
            let size = Bytes::new(100 * frame);
            let spec =
                TrafficSpec { max_message: size, min_message: size, burst: 1, min_interval: us(interval) };
            match table.request(Request::new(spec, us(interval)).unwrap()) {
                Decision::Admitted { id, .. } => id,
                refused => panic!("{refused:?}"),
            }
        })
        .collect();
    let all = table.bounds();
    let of = |id: &AdmissionId| all.iter().find(|bound| bound.id == *id).unwrap().bound;
    ids.iter().map(|id| of(id).div_floor(us(1))).collect()
}
