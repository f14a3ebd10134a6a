//! Answers of a table about a request that it refuses, and about those that are in it: exact
//! figures on a host with round numbers.

use super::decided::{admitted, refused};
use super::exact::{packets, round};
use super::*;

/// Messages of `count` packets, due at the next.
fn every(count: u64, interval: Span) -> Request {
    with(spec(4 * count, interval))
}

/// One message of a packet: W = 2020 and S = 780 us.
#[test]
fn a_lone_channel_is_late_by_what_is_missing() {
    for test in [Test::DOrder, Test::Demand] {
        let decide = |us| {
            let mut table = AdmissionTable::with_test(round(ResourceModel::O1), test).unwrap();
            table.request(Request::new(spec(4, Span::from_ms(50)), Span::from_us(us)).unwrap())
        };
        assert!(matches!(decide(2800), Decision::Admitted { priority: 0, .. }));
        let late = refused(decide(2790));
        assert_eq!(
            (late.resource, late.deficit, late.reason),
            (Scarce::Deadline, Deficit::Time(Span::from_us(10)), Reason::Late)
        );
        assert_eq!((late.claimant, late.blocked_by), (Claimant::Newcomer, None));
    }
}

/// 160 packets: S = 780 + 159·600 = 96 180 us, of which ten fit in a second and an eleventh does
/// not. The link needs 400 for each packet, the CPU 420 + 159·170 + 40·100 + 160·200 = 63 450 for
/// all.
#[test]
fn an_overload_names_what_there_is_less_of_and_by_how_much() {
    for test in [Test::DOrder, Test::Demand] {
        let overload = |host: Environment, admitted: usize| {
            let mut table = AdmissionTable::with_test(host, test).unwrap();
            let request = every(160, Span::from_secs(1));
            for _ in 0..admitted {
                assert!(matches!(table.request(request), Decision::Admitted { .. }));
            }
            let refusal = refused(table.request(request));
            assert_eq!((refusal.reason, refusal.claimant), (Reason::Overload, Claimant::Newcomer));
            (refusal.resource, refusal.deficit)
        };
        assert_eq!(overload(round(ResourceModel::O1), 10), (Scarce::Link, Deficit::Share(57_980)));
        // Interrupts of 50: 65 050 on the CPU, 64 000 on the link. α = 61/40 and S = α·520 +
        // 159·610 = 97 783.
        let mut host = round(ResourceModel::O1);
        host.host.interrupt = Span::from_us(50);
        assert_eq!(overload(host, 10), (Scarce::Cpu, Deficit::Share(75_613)));
    }
}

/// One that takes all of its interval leaves no time to wait in.
#[test]
fn whoever_uses_everything_is_an_overload() {
    let mut table = table(round(ResourceModel::O1));
    let refusal = refused(table.request(every(1, Span::from_us(780))));
    assert_eq!((refusal.reason, refusal.deficit), (Reason::Overload, Deficit::Share(1)));
}

/// A: one packet every 50 ms within 2900 us, for which W + S = 2800. A larger W makes it late
/// wherever the newcomer stands.
#[test]
fn a_newcomer_that_changes_the_wait_is_refused_for_another_s_sake() {
    let refused = |host: Environment, test, newcomer: Request| {
        let mut table = AdmissionTable::with_test(host, test).unwrap();
        let a =
            admitted(table.request(Request::new(spec(4, Span::from_ms(50)), Span::from_us(2900)).unwrap())).0;
        let refusal = refused(table.request(newcomer));
        assert_eq!((refusal.claimant, refusal.reason), (Claimant::Channel(a), Reason::Late));
        assert_eq!((refusal.resource, refusal.blocked_by), (Scarce::Deadline, None));
        assert_eq!(table.len(), 1);
        refusal.deficit
    };
    for test in [Test::DOrder, Test::Demand] {
        // Blocks of 4: W = 3/2·(100 + 930) + 1240 = 2785, and 665 too much.
        let late = refused(round(ResourceModel::O1), test, every(4, Span::from_secs(1)));
        assert_eq!(late, Deficit::Time(Span::from_us(665)));
        // A block of 160, beyond eight deadlines: W = 3/2·(100 + 27 450) + 1240 = 42 565.
        let message = Environment { block_real_time: Block::Message, ..round(ResourceModel::O1) };
        let late = refused(message, test, every(160, Span::from_secs(1)));
        assert_eq!(late, Deficit::Time(Span::from_us(40_445)));
    }
}

/// Where a packet without bytes takes 10 us, α = 21: the S of A is 21·520 = 10 920, more than its
/// interval.
#[test]
fn a_newcomer_of_short_packets_may_take_another_s_whole_interval() {
    let link = LinkCosts::new(Span::from_us(10), Span::from_ps(122_500)).into();
    let mut table = table(Environment { link, packet: Bytes::new(4000), ..round(ResourceModel::O1) });
    let sized = |min, interval| TrafficSpec {
        min_message: Bytes::new(min),
        max_message: Bytes::new(4000),
        ..spec(4, interval)
    };
    // A: α = 7/5, W = 728 + 740 + 700 and S = 728.
    let a = admitted(table.request(with(sized(4000, Span::from_us(2900))))).0;
    assert_eq!(table.bounds()[0].bound, Span::from_us(2896));
    let refusal = refused(table.request(with(sized(0, Span::from_secs(1)))));
    assert_eq!(
        (refusal.claimant, refusal.deficit),
        (Claimant::Channel(a), Deficit::Time(Span::from_us(10_920 - 2900)))
    );
}

/// W = 2020, S = 780 for each; the second waits for the first, and not for it when it has gone.
#[test]
fn a_table_knows_who_is_in_it() {
    for test in [Test::DOrder, Test::Demand] {
        let mut table = AdmissionTable::with_test(round(ResourceModel::O1), test).unwrap();
        assert!(table.is_empty() && table.bounds().is_empty());
        let tight = Request::new(spec(4, Span::from_ms(50)), Span::from_us(2900)).unwrap();
        let (first, second) = (admitted(table.request(tight)).0, admitted(table.request(packets(1))).0);
        assert_eq!((table.len(), table.is_empty()), (2, false));
        assert_eq!((table.admitted(first), table.admitted(second)), (Some(&tight), Some(&packets(1))));
        let bounds = |table: &AdmissionTable| {
            let us = |span: Span| span.as_ps() / 1_000_000;
            let parts =
                |b: &Bound| (b.id, us(b.bound), us(b.wait), us(b.service), us(b.higher), us(b.interference));
            table.bounds().iter().map(parts).collect::<Vec<_>>()
        };
        assert_eq!(bounds(&table), [(first, 2800, 2020, 780, 0, 0), (second, 3580, 2020, 780, 780, 0)]);
        assert!(table.release(first) && !table.release(first));
        assert_eq!((table.len(), table.admitted(first)), (1, None));
        assert_eq!(bounds(&table), [(second, 2800, 2020, 780, 0, 0)]);
        assert!(table.release(second) && table.is_empty());
    }
}

/// With W = 2020 and S = 780 the two that are due at 2900 and 3700 do without another above them
/// and not with one. A third below them has 2020 + 3·780. By the demand test no less will do
/// either: by then three are due.
#[test]
fn the_least_deadline_is_what_those_who_are_in_leave() {
    for test in [Test::DOrder, Test::Demand] {
        let mut table = AdmissionTable::with_test(round(ResourceModel::O1), test).unwrap();
        let request = |us| Request::new(spec(4, Span::from_ms(50)), Span::from_us(us)).unwrap();
        assert_eq!(table.least_deadline(&packets(1)), Ok(Span::from_us(2800)));
        admitted(table.request(request(2900)));
        let second = admitted(table.request(request(3700))).0;
        assert_eq!(table.least_deadline(&packets(1)), Ok(Span::from_us(4360)));
        let late = refused(table.request(request(4300)));
        assert_eq!((late.deficit, late.reason), (Deficit::Time(Span::from_us(60)), Reason::Late));
        // Only an order identifies the channel in the way.
        assert_eq!(late.blocked_by, (test == Test::DOrder).then_some(second));
        assert!(matches!(table.request(request(4360)), Decision::Admitted { priority: 2, .. }));
    }
}

/// W = 2020, S = 780. When the first of two has gone, the second, due at 3700, has room for one
/// above it and not for another.
#[test]
fn what_was_given_up_can_be_given_once() {
    let mut table = table(round(ResourceModel::O1));
    let request = |us| Request::new(spec(4, Span::from_ms(50)), Span::from_us(us)).unwrap();
    let gone = admitted(table.request(request(2900))).0;
    admitted(table.request(request(3700)));
    assert!(table.release(gone));
    for priority in [0, 2, 2] {
        let decision = table.request(packets(1));
        assert!(matches!(decision, Decision::Admitted { priority: p, .. } if p == priority), "{decision:?}");
    }
}
