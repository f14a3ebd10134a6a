//! How long one decision takes beside ten thousand admitted channels.
//!
//! Ten thousand channels need a fast host: every cost is a microsecond or less here, and the link
//! takes 0.1 ns per byte. Targets: a decision within 10 ms, the set built within 60 s.

use std::sync::Arc;
use std::time::{Duration, Instant};

use laxity_admission::station::{Behind, Link, Station, StationPhase, StationStage};
use laxity_admission::{
    AdmissionId, AdmissionTable, Decision, Early, Environment, Formula, Pays, RateRequest, RateTable,
    Request, ResourceModel, Test,
};
use laxity_qos::channel::Block;
use laxity_qos::costs::{Delay, HostCosts, LinkCosts};
use laxity_qos::discipline::{Order, Sharing};
use laxity_qos::traffic::TrafficSpec;
use laxity_units::{ByteTime, Bytes, Span};

const CHANNELS: usize = 10_000;
const PROBES: usize = 201;
const ODD: u64 = 21;

fn host(formula: Formula) -> Environment {
    let host = HostCosts {
        context_switch: Span::from_ns(100),
        cache_miss: Span::from_ns(100),
        first_packet: Span::from_ns(800),
        single_packet: Span::from_ns(800),
        packet: Span::from_ns(300),
        link_scheduling: Span::from_ns(100),
        hand_over: Span::ZERO,
        interrupt: Span::from_ns(100),
        ..HostCosts::default()
    };
    let link = LinkCosts::new(Span::from_ns(100), Span::from_ps(100));
    let packet = Bytes::from_kib(4);
    Environment {
        block_real_time: Block::Packets(4),
        block_best_effort: Block::Packets(4),
        formula,
        ..Environment::new(host, link, packet, ResourceModel::O1)
    }
}

/// The same behind an adapter of three stages with four packets in it: fetching, copying, the link.
fn three_stages() -> Environment {
    let stage = |name: &str, fixed, per_byte| {
        let delay =
            Delay { fixed: Span::from_ns(fixed), per_byte: ByteTime::from_ps(per_byte), ..Delay::default() };
        let phases = vec![StationPhase { delay, ..StationPhase::default() }];
        StationStage { name: name.into(), phases, ..StationStage::default() }
    };
    let station =
        Station::of_stages(vec![stage("fetch", 200, 0), stage("copy", 50, 60), stage("link", 20, 100)]);
    let link = Link::Behind(Arc::new(Behind::new(station, 4, Bytes::from_kib(4))));
    Environment { link, depth: 4, ..host(Formula::Corrected) }
}

/// A fixed stream of numbers: the same set on every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn request(packets: u64, interval: Span, deadline: Span) -> Request {
    let size = Bytes::from_kib(4) * packets;
    let spec = TrafficSpec { max_message: size, min_message: size, burst: 1, min_interval: interval };
    Request::new(spec, deadline).expect("the deadline is within the interval")
}

/// Intervals from 20 ms to 2 s, deadlines from half of them up: what a busy host looks like.
fn heterogeneous(numbers: &mut Numbers) -> Request {
    let interval = Span::from_us(20_000 << numbers.below(7)) + Span::from_us(numbers.below(20_000));
    let deadline = interval / 2 + Span::from_us(numbers.below(interval.as_ps() / 2_000_000));
    request(1 + numbers.below(4), interval, deadline)
}

/// A quarter at 7 ms, the rest with deadlines just past three of those: the demand at the deadline
/// counts a fourth release of every short one, the response time does not reach it. The quick test
/// fails for thousands of channels and the exact one for none.
fn staircase(numbers: &mut Numbers) -> Request {
    match numbers.below(4) {
        0 => request(1, Span::from_ms(7), Span::from_ms(7)),
        _ => request(1, Span::from_ms(25), Span::from_us(21_050)),
    }
}

/// All alike, and as many as fit: every channel is looked at before the answer is no.
fn uniform(_: &mut Numbers) -> Request {
    request(1, Span::from_us(13_925), Span::from_us(13_925))
}

/// As `heterogeneous`, with deadlines of half an interval to three.
fn beyond(numbers: &mut Numbers) -> Request {
    let interval = Span::from_us(20_000 << numbers.below(7)) + Span::from_us(numbers.below(20_000));
    let deadline = interval / 2 + Span::from_us(numbers.below(interval.as_ps() / 400_000));
    request(1 + numbers.below(4), interval, deadline)
}

/// Little demand, no order: newcomers with the shortest deadlines go to the very top, others far
/// down.
fn sparse(numbers: &mut Numbers) -> Request {
    let interval = Span::from_ms(100 + numbers.below(10_000));
    request(1, interval, Span::from_ms(40 + numbers.below(61)))
}

/// Messages of more packets than any other, the last of which is shorter than any other.
fn odd(number: u64) -> Request {
    let size = Bytes::from_kib(4) * (5 + number % 4) + Bytes::new(3000 + number);
    let interval = Span::from_ms(400);
    let spec = TrafficSpec { max_message: size, min_message: size, burst: 1, min_interval: interval };
    Request::new(spec, interval / 2).expect("the deadline is within the interval")
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// How long `table` takes for a `request`, and whether that is admitted, which is taken back each
/// time: the least of several, for whatever else the machine does makes some of them longer and
/// none shorter.
#[allow(clippy::disallowed_methods, reason = "a benchmark is what clocks are for")]
fn least<T>(
    table: &mut T,
    request: impl Fn(&mut T) -> Decision,
    release: impl Fn(&mut T, AdmissionId) -> bool,
) -> (Duration, bool) {
    let mut once = || {
        let start = Instant::now();
        let decision = request(table);
        let took = start.elapsed();
        let id = if let Decision::Admitted { id, .. } = decision { Some(id) } else { None };
        assert!(id.is_none_or(|id| release(table, id)), "what was admitted is there");
        (took, id.is_some())
    };
    (0..5).map(|_| once()).min().expect("it was asked")
}

#[allow(clippy::disallowed_methods, reason = "a benchmark is what clocks are for")]
fn run(name: &str, environment: Environment, test: Test, next: fn(&mut Numbers) -> Request) {
    let mut numbers = Numbers(1);
    let mut table = AdmissionTable::with_test(environment, test).expect("the host is valid");
    let start = Instant::now();
    let mut asked = 0;
    while table.len() < CHANNELS && asked < CHANNELS + 2_000 {
        table.request(next(&mut numbers));
        asked += 1;
    }
    let built = start.elapsed();
    let mut decisions = Vec::with_capacity(PROBES);
    let mut admitted = 0;
    for _ in 0..PROBES {
        let newcomer = next(&mut numbers);
        let (took, fits) = least(&mut table, |table| table.request(newcomer), |table, id| table.release(id));
        decisions.push(took);
        admitted += usize::from(fits);
    }
    // One with a packet shorter, or a message longer, than any other: the common waiting time
    // changes, so the table looks at all channels again.
    let mut changing: Vec<Duration> = (0..ODD)
        .map(|number| {
            let newcomer = odd(number);
            least(&mut table, |table| table.request(newcomer), |table, id| table.release(id)).0
        })
        .collect();
    let start = Instant::now();
    let bounds = table.bounds();
    let all = start.elapsed();
    let longest = *changing.iter().max().expect("there are some");
    let worst = *decisions.iter().max().expect("there are probes");
    println!(
        "{name:<24} {:>6} of {asked:>6}  built {built:>10.1?}  decision median {:>9.1?} worst {worst:>9.1?} \
         ({admitted} of {PROBES} admitted)  changing {:>9.1?} worst {longest:>9.1?}  all bounds {all:>9.1?}  lowest {}",
        table.len(),
        median(&mut decisions),
        median(&mut changing),
        bounds.last().expect("a channel is admitted").bound,
    );
}

/// One more channel at a link that is shared by rates.
#[allow(clippy::disallowed_methods, reason = "a benchmark is what clocks are for")]
fn by_rates(order: Order) {
    let speed = LinkCosts::new(Span::from_ns(10), Span::from_ps(20));
    let sharing = Sharing {
        speed,
        flows: Vec::new(),
        without: Bytes::from_kib(4),
        frame: Span::ZERO,
        groups: Vec::new(),
    };
    let mut table = RateTable::new(order, Bytes::from_kib(4), sharing).expect("it shares by rates");
    let mut numbers = Numbers(1);
    let mut next = || {
        let request = heterogeneous(&mut numbers);
        let deadline = request.spec().min_interval * 40;
        RateRequest {
            request: request.within(deadline),
            level: 0,
            group: None,
            pays: Pays::Everywhere,
            early: Early::default(),
            whole: false,
        }
    };
    let mut refused = 0;
    for _ in 0..CHANNELS {
        refused += u64::from(matches!(table.request(next()), Decision::Refused(_)));
    }
    let mut decisions = Vec::with_capacity(PROBES);
    for _ in 0..PROBES {
        let newcomer = next();
        let took = least(&mut table, |table| table.request(newcomer), |table, id| table.release(id)).0;
        decisions.push(took);
    }
    let worst = *decisions.iter().max().expect("there are probes");
    let name = order.short();
    println!(
        "{name:<24} {refused} of {CHANNELS} refused  decision median {:.1?} worst {worst:.1?}",
        median(&mut decisions)
    );
}

fn main() {
    // `cargo test --benches` runs this too; then once, and small enough to forget.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    for formula in [Formula::Corrected, Formula::Papers] {
        println!("{formula:?}");
        run("heterogeneous", host(formula), Test::DOrder, heterogeneous);
        run("staircase", host(formula), Test::DOrder, staircase);
        run("sparse", host(formula), Test::DOrder, sparse);
        run("uniform, full", host(formula), Test::DOrder, uniform);
    }
    println!("Corrected, three stages");
    run("heterogeneous", three_stages(), Test::DOrder, heterogeneous);
    run("staircase", three_stages(), Test::DOrder, staircase);
    run("sparse", three_stages(), Test::DOrder, sparse);
    run("uniform, full", three_stages(), Test::DOrder, uniform);
    run("heterogeneous, demand", three_stages(), Test::Demand, heterogeneous);
    println!("By rates");
    for order in [Order::VirtualClock, Order::SelfClocked, Order::DeficitRoundRobin, Order::RateControlled] {
        by_rates(order);
    }
    println!("Corrected, by the demand test");
    run("heterogeneous", host(Formula::Corrected), Test::Demand, heterogeneous);
    run("staircase", host(Formula::Corrected), Test::Demand, staircase);
    run("sparse", host(Formula::Corrected), Test::Demand, sparse);
    run("uniform, full", host(Formula::Corrected), Test::Demand, uniform);
    run("beyond the interval", host(Formula::Corrected), Test::Demand, beyond);
}
