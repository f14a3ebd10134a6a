//! `W` and `S` of a host with round numbers, added up by hand: interrupts that cost, an adapter
//! ahead by more than a packet, channels that pass and end here.

use super::super::model::shares;
use super::super::terms::{Ratio, ps};
use super::*;

/// A switch takes 100 us, starting a packet 160 and its completion 40, and every packet is on the
/// link for 400.
///
/// So under O1 transmissions stretch CPU time by α = (200 + 400)/400 = 3/2 with a depth of 1, and
/// by 400/(400 − 200) = 2 with any other.
pub(super) fn round(model: ResourceModel) -> Environment {
    Environment {
        host: HostCosts {
            context_switch: Span::from_us(60),
            cache_miss: Span::from_us(40),
            interrupt: Span::from_us(40),
            receive_packet: Span::from_us(90),
            receive_message: Span::from_us(60),
            thread_creation: Span::from_us(30),
            ..mc68040(model, 4, Formula::Corrected).host
        },
        link: LinkCosts::new(Span::from_us(400), Span::ZERO).into(),
        ..mc68040(model, 4, Formula::Corrected)
    }
}

/// A request for messages of `packets` packets.
pub(super) fn packets(packets: u64) -> Request {
    with(spec(4 * packets, Span::from_ms(50)))
}

/// Microseconds of `W` and `S`.
fn terms(environment: Environment, request: &Request) -> (u64, u64) {
    let table = table(environment);
    let us = |breakdown: Breakdown| breakdown.total().as_ps() / 1_000_000;
    (us(table.wait_time(request).unwrap()), us(table.service_time(request).unwrap()))
}

fn best_effort(role: Role, kib: u64) -> Vec<BestEffort> {
    vec![BestEffort {
        max_message: Bytes::from_kib(kib),
        min_message: Bytes::from_kib(kib),
        role,
        elsewhere: false,
        program: Span::ZERO,
    }]
}

#[test]
fn completions_interrupt_under_o1() {
    let host = round(ResourceModel::O1);
    // W: 3/2·(100 + 420) + 200 + (400 + 40), and the crossing packet min(3/2·520, 400 + 200). S:
    // 3/2·520 > 600.
    assert_eq!(terms(host.clone(), &packets(1)), (2020, 780));
    // A thread for every message: W: 3/2·550 + 640 + 600; S: 3/2·550.
    assert_eq!(terms(Environment { thread_per_message: true, ..host.clone() }, &packets(1)), (2065, 825));
    // Depth 2, W: 2·520 + 2·(200 + 40 + 2·160) + 2·(400 + 40) + min(2·520, 600).
    let deep = Environment { depth: 2, ..host };
    assert_eq!(terms(deep.clone(), &packets(1)), (3640, 1040));
    // A block of 3, W: 2·(100 + 760) + 1120 + 880 + 600. S: the first on the CPU, 2·520, two on the
    // link, 2·600.
    assert_eq!(terms(deep, &packets(3)), (4320, 2240));
}

/// A switch of 1000 us: the first packet of a block costs 3/2·1170 − 600 more on the CPU than on
/// the link, each further one 600 − 3/2·170 less. Blocks of 4 cost 120 more on the CPU, and most is
/// the first packet of the last.
#[test]
fn a_message_may_cost_most_when_its_last_block_has_just_begun() {
    let mut host = round(ResourceModel::O1);
    host.host.context_switch = Span::from_us(960);
    // 9 of 12: 3/2·(420 + 8·170 + 3·1000) + 3·600; 9 of 11 the same with one less on the link.
    assert_eq!(terms(host.clone(), &packets(12)).1, 8970);
    assert_eq!(terms(host.clone(), &packets(11)).1, 8370);
    // All of 9: the last begins a block.
    assert_eq!(terms(host, &packets(9)).1, 7170);
}

#[test]
fn completions_interrupt_the_ideal_host() {
    // W: 200 + 400 + 40. S: packet 1 on both sides, 3/2·420 and 600 for each.
    assert_eq!(terms(round(ResourceModel::Ideal), &packets(1)), (640, 1230));
    assert_eq!(terms(round(ResourceModel::Ideal), &packets(3)), (640, 2430));
}

#[test]
fn the_link_scheduler_of_o2_starts_what_falls_free_while_it_runs() {
    let host = round(ResourceModel::O2);
    // A run is 100 + 200, per block 100 + 300, per start 100 + 420 + 100 + 200. W: 520 + 300 + 440
    // + min(420 + 400, 400 + 820); S: 400 + 820.
    assert_eq!(terms(host.clone(), &packets(1)), (2080, 1220));
    // Depth 2: q = 2·400/(400 − 200) = 4 starts in a run of 900, so per block 1000. W: 520 + 900 +
    // 880 + min(1420, 1220). S: on the CPU, 420 + 1000.
    assert_eq!(terms(Environment { depth: 2, ..host.clone() }, &packets(1)), (3520, 1420));
    // Depth 3: q = 3·400/200 = 6, a run of 1300. W: 520 + 1300 + 3·440 + 1220; S: 420 + 1400.
    assert_eq!(terms(Environment { depth: 3, ..host }, &packets(1)), (4360, 1820));
}

#[test]
fn the_threads_of_o3_are_created_each_time() {
    let host = round(ResourceModel::O3);
    // A burst is 40 + 160 and a thread, 100 + 30: α = (330 + 400)/400. W: α·520 + 330 + (400 + 40)
    // and the crossing packet's α·520, its link share being 400 + (100 + 420) + 200. S is that.
    assert_eq!(terms(host.clone(), &packets(1)), (949 + 330 + 440 + 949, 1120));
    // A handler calls after each packet of a block of 3, the first of which is the longest. W:
    // α·860 + 330 + 440 and the link share, S: 3·1120.
    assert_eq!(terms(host.clone(), &packets(3)), (1569 + 330 + 440 + 949, 3360));
    // An application that computes does not call: 100 + 1000 before a thread, 100 + 30 + 200. W:
    // α·1100 + 330 + 440 + α·520.
    let computes = Environment { slice: Span::from_us(1000), ..host.clone() };
    assert_eq!(terms(computes, &packets(1)), (2007 + 330 + 440 + 949, 400 + 1430));
    // Depth 2: α = 400/70. W: α·520 + α·(330 + 40 + 2·290) + 2·440 + 1120. S: α·520.
    assert_eq!(terms(Environment { depth: 2, ..host }, &packets(1)), (10_400, 2971));
}

#[test]
fn scheduling_that_costs_nothing_takes_nothing_even_of_an_instant_link() {
    let expected =
        [(ResourceModel::Ideal, (0, 420)), (ResourceModel::O1, (520, 520)), (ResourceModel::O2, (1240, 620))];
    for (model, expected) in expected {
        for depth in [1, 2] {
            let mut host = Environment { depth, link: LinkCosts::default().into(), ..round(model) };
            // While scheduling costs something, starts and completions never end.
            let wait = table(host.clone()).wait_time(&packets(1));
            assert_eq!(wait.unwrap_err().reason, Reason::InterruptsTakeAll);
            host.host.link_scheduling = Span::ZERO;
            host.host.interrupt = Span::ZERO;
            // O1: W: 100 + 420, the crossing packet's link share is zero. O2: a run of 100 more;
            // the crossing packet adds min(420 + 200, 620) and is 420 + 100 + 100 late for the
            // link.
            assert_eq!(terms(host, &packets(1)), expected, "{model:?}, depth {depth}");
        }
    }
}

#[test]
fn a_host_that_only_receives_is_not_interrupted_by_transmissions() {
    let host = round(ResourceModel::O1);
    // A block of 3: 3·90 + 60. W: 100 + 330; S: the same.
    assert_eq!(terms(host.clone(), &packets(3).at(Role::Receive)), (430, 430));
    // Blocks of 2. W: 100 + 180 + 60; S: 330 and two switches.
    let twos = Environment { block_real_time: Block::Packets(2), ..host };
    assert_eq!(terms(twos, &packets(3).at(Role::Receive)), (340, 530));
}

/// A packet takes the link 100 us, and 300 with its start and completion; a handler makes one in
/// 170 at least. So no more than 1 + (100 + 40 + 300 + 200 + 200)/170 wait, 6 in whole ones, and 3
/// are made in a block of 420.
#[test]
fn packets_that_are_made_slowly_are_counted() {
    let host = |link, makes: Option<u64>| {
        let link = LinkCosts::new(Span::from_us(link), Span::ZERO).into();
        Environment { link, makes: makes.map(Span::from_us), ..round(ResourceModel::O1) }
    };
    // By time α is 3. W: 3·520 + 200 + 140 + min(3·520, 300); S: 3·(420 + 7·170 + 2·100).
    assert_eq!(terms(host(100, None), &packets(8)), (3 * (520 + 510) + 640, 3 * 1810));
    // Counted. W: 930 + 100 + 200·(6 + 6 + 3) + 140 + min(620 + 100, 300); S: 1810 + 8·200.
    assert_eq!(terms(host(100, Some(170)), &packets(8)), (1030 + 3000 + 440, 3410));
    // One packet is made sooner by the other.
    assert_eq!(terms(host(100, Some(170)), &packets(1)), terms(host(100, None), &packets(1)));
    // In 99 a packet may be made before the link has taken the one before; and a handler that works
    // ahead makes more wait.
    assert_eq!(terms(host(100, Some(99)), &packets(40)), terms(host(100, None), &packets(40)));
    assert_ne!(terms(host(100, Some(100)), &packets(40)), terms(host(100, None), &packets(40)));
    let ahead = |makes| Environment { ahead: true, ..host(100, makes) };
    assert_eq!(terms(ahead(Some(170)), &packets(8)), terms(ahead(None), &packets(8)));
    // No more wait than there are buffers for, however fast they are made: 930/99 are made in a block.
    let buffers = |makes, buffers| Environment { buffers: Some(buffers), ..host(100, Some(makes)) };
    assert_eq!(terms(buffers(99, 10), &packets(8)), (1030 + 200 * (10 + 10 + 3) + 440, 3410));
    assert_eq!(terms(buffers(170, 3), &packets(8)), (1030 + 200 * (3 + 6 + 3) + 440, 3410));
    assert_eq!(terms(buffers(170, 7), &packets(8)), terms(host(100, Some(170)), &packets(8)));
}

/// Completions are as close together as their cost, so by time they take all of the CPU. By buffers W is
/// 520 + 200·(5 + 420/100 + 1 + 2 + 1), the two packets with the adapter of 200 and their completions of
/// 40, and min(520 + 200, 400). S is a packet by the CPU, 520 + 200, or by the link.
#[test]
fn a_window_before_a_fast_link_has_a_bound_by_its_buffers() {
    let host = |buffers| Environment {
        depth: 2,
        link: LinkCosts::new(Span::from_us(200), Span::ZERO).into(),
        makes: Some(Span::from_us(100)),
        buffers,
        ..round(ResourceModel::O1)
    };
    let none = table(host(None)).wait_time(&packets(1)).unwrap_err();
    assert_eq!(none.reason, Reason::InterruptsTakeAll);
    assert_eq!(terms(host(Some(5)), &packets(1)), (520 + 200 * (5 + 5 + 4) + 400 + 80 + 400, 720));
}

#[test]
fn a_relay_pays_for_receiving_and_for_the_link() {
    // W: 3/2·(100 + 3·90) + 640 + min(3/2·(90 + 100), 600); S: all three on the link, 3·600.
    assert_eq!(terms(round(ResourceModel::O1), &packets(3).at(Role::Relay)), (1480, 1800));
}

#[test]
fn a_block_of_received_best_effort_goes_on_past_the_end_of_a_message() {
    let beside = |role, block| {
        let host = Environment { block_best_effort: block, ..round(ResourceModel::O1) };
        terms(Environment { best_effort: best_effort(role, 12), ..host }, &packets(1).at(Role::Receive)).0
    };
    // Messages of 3 packets and blocks of 4, each of which may complete a message: 100 + 4·(90 +
    // 60).
    assert_eq!(beside(Role::Receive, Block::Packets(4)), 700);
    assert_eq!(beside(Role::Receive, Block::Message), 550);
    // Passed on they are not completed, but transmitted: 3/2·(100 + 4·90) + 640.
    assert_eq!(beside(Role::Relay, Block::Packets(4)), 1330);
    assert_eq!(beside(Role::Relay, Block::Message), 1195);
    // Sent, a block ends with its message: 3/2·(100 + 420 + 2·170) + 640.
    assert_eq!(beside(Role::Send, Block::Packets(4)), 1930);
}

#[test]
fn a_later_block_may_be_the_longer_one() {
    let mut host = Environment { block_real_time: Block::Packets(2), ..round(ResourceModel::O1) };
    host.host.first_packet = Span::from_us(100);
    host.host.single_packet = host.host.first_packet;
    // Of 3 packets in blocks of 2 the second could have been 2·170 long. W: 3/2·440 + 640 +
    // 3/2·(170 + 100).
    assert_eq!(terms(host.clone(), &packets(3)).0, 1705);
    // Of 2 there is one block, 100 + 170. W: 3/2·370 + 640 + 405.
    assert_eq!(terms(host.clone(), &packets(2)).0, 1600);
    // One packet: 3/2·200 + 640 + 3/2·200.
    assert_eq!(terms(host, &packets(1)).0, 1240);
}

#[test]
fn what_runs_above_is_charged_what_it_preempts() {
    let bound = |model, above| {
        let work = Interference {
            above,
            cost: Span::from_us(50),
            adapter: Span::ZERO,
            burst: 2,
            interval: Span::from_ms(50),
        };
        let [by_order, by_demand] = [Test::DOrder, Test::Demand].map(|test| {
            let host = Environment { interference: vec![work], ..round(model) };
            let mut table = AdmissionTable::with_test(host, test).unwrap();
            for _ in 0..2 {
                assert!(matches!(table.request(packets(1)), Decision::Admitted { .. }));
            }
            let lower = table.bounds()[1];
            assert_eq!(lower.higher, lower.service);
            lower.interference.as_ps() / 1_000_000
        });
        assert_eq!(by_order, by_demand);
        by_order
    };
    // Two of the burst and one more, each 3/2·(50 + 100), or without the switch back.
    assert_eq!(bound(ResourceModel::O1, Above::Thread), 675);
    assert_eq!(bound(ResourceModel::O1, Above::Interrupt), 225);
    // O2: not stretched, and a run of the link scheduler after a thread.
    assert_eq!(bound(ResourceModel::O2, Above::Thread), 3 * (50 + 100 + 300));
    // An interrupt in a run of it: 200 for a start in each 400.
    assert_eq!(bound(ResourceModel::O2, Above::Interrupt), 3 * (50 + 25));
    assert_eq!(bound(ResourceModel::Ideal, Above::Thread), 225);
}

#[test]
fn work_above_that_takes_everything_says_by_how_much() {
    let decide = |us: &[u64]| {
        let work = |us: &u64| Interference {
            above: Above::Interrupt,
            cost: Span::from_us(*us),
            adapter: Span::ZERO,
            burst: 0,
            interval: Span::from_us(1500),
        };
        let interference = us.iter().map(work).collect();
        let mut table = table(Environment { interference, ..round(ResourceModel::O2) });
        match table.request(packets(1)) {
            Decision::Refused(refusal) => (refusal.reason, refusal.deficit),
            Decision::Admitted { .. } => panic!("nothing is left"),
        }
    };
    // Each with half of that for packets that complete meanwhile, of fifteen hundred: just
    // everything, and a quarter too much.
    assert_eq!(decide(&[500, 500]), (Reason::InterferenceTakesAll, Deficit::Share(0)));
    assert_eq!(decide(&[500, 750]), (Reason::InterferenceTakesAll, Deficit::Share(250_000)));
    // One that does not fit by itself asks for 1501.5 of 1500, and the other for 750.
    assert_eq!(decide(&[1001, 500]), (Reason::InterferenceTakesAll, Deficit::Share(501_000)));
    assert_eq!(decide(&[10_000]), (Reason::InterferenceTakesAll, Deficit::Share(9_000_000)));
}

#[test]
fn what_a_message_needs_of_cpu_and_link_at_the_least() {
    let of = |model, role| {
        let link = LinkCosts::new(Span::from_us(40), Span::from_ns(50)).into();
        let host = Environment { block_real_time: Block::Packets(2), link, ..round(model) };
        // 3 packets, the last of 1 KiB.
        let (cpu, link) = shares(&host, &with(spec(9, Span::from_ms(50))).at(role));
        (cpu / 1_000, link / 1_000)
    };
    // On the link 2·244.8 + 91.2. On the CPU 420 + 2·170, three starts of 200, and two switches, or
    // five with the scheduler's.
    assert_eq!(of(ResourceModel::Ideal, Role::Send), (1_360_000, 580_800));
    assert_eq!(of(ResourceModel::O1, Role::Send), (1_560_000, 580_800));
    assert_eq!(of(ResourceModel::O2, Role::Send), (1_860_000, 580_800));
    assert_eq!(of(ResourceModel::O1, Role::Relay), (1_070_000, 580_800));
    assert_eq!(of(ResourceModel::O1, Role::Receive), (530_000, 0));
}

#[test]
fn the_papers_formulas_where_the_cpu_is_slower_than_the_link() {
    let papers =
        |model, p, bytes| Environment { packet: Bytes::new(bytes), ..mc68040(model, p, Formula::Papers) };
    let service = |environment, message| {
        let spec = TrafficSpec { max_message: Bytes::new(message), ..spec(1, Span::from_ms(50)) };
        table(environment).service_time(&with(spec)).unwrap().total()
    };
    // 2 KiB take 142.4 < 170: 420 + 3·170 + 4·160 + 142.4 + ⌊3/2⌋·145.
    assert_eq!(service(papers(ResourceModel::O1, 2, 2048), 8192), Span::from_ns(1_857_400));
    // 5500 B take 315 = C_p + C_sw + C_cm, a block of one: 420 + max(315, 315) + 315 + 2·160.
    assert_eq!(service(papers(ResourceModel::O2, 1, 5500), 11_000), Span::from_us(1370));
}

#[test]
fn parts_are_named_and_what_takes_no_time_is_no_part() {
    let sum =
        Breakdown::default().and("a", ps(Span::from_us(1))).and("nothing", 0).and("b", ps(Span::from_us(2)));
    assert_eq!(sum.terms().iter().map(|term| term.name).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(sum.to_string(), "          1 us  a\n          2 us  b\n          3 us  total");
}

#[test]
fn what_cannot_be_computed_is_beyond_any_span() {
    let half_more = Ratio { numerator: 3, denominator: 2 };
    assert_eq!((half_more.scale(4), half_more.scale(5)), (6, 8));
    assert!(half_more.scale(u128::MAX) > u128::from(u64::MAX));
}
