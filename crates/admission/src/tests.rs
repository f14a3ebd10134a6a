//! Hand-computed figures of the papers' host, and properties of the decision.

mod below;
mod beside;
mod buffers;
pub(crate) mod decided;
mod demand;
mod environment;
mod exact;
mod literature;
mod naive;
mod ports;
mod refusals;
mod release;
mod stations;
mod tandem;

use laxity_units::{Bytes, Span};
pub(super) use naive::Naive;
use proptest::prelude::*;

use super::model::Shared;
use super::population::Population;
use super::trajectory::Beside;
use super::*;
use laxity_qos::channel::{Block, Role};
use laxity_qos::costs::{HostCosts, LinkCosts};
use laxity_qos::traffic::TrafficSpec;

/// structuring Table 1 and resource §3.1.4: the profile of the papers' host.
pub(super) fn mc68040(model: ResourceModel, p: u32, formula: Formula) -> Environment {
    let host = HostCosts {
        context_switch: Span::from_us(55),
        cache_miss: Span::from_us(90),
        first_packet: Span::from_us(420),
        single_packet: Span::from_us(420),
        packet: Span::from_us(170),
        link_scheduling: Span::from_us(160),
        ..HostCosts::default()
    };
    let link = LinkCosts::new(Span::from_us(40), Span::from_ns(50));
    let packet = Bytes::from_kib(4);
    Environment {
        block_real_time: Block::Packets(p),
        block_best_effort: Block::Packets(p),
        formula,
        ..Environment::new(host, link, packet, model)
    }
}

/// A host of which a packet of 1000 B takes 10 us to make, 2 to start, 1 to hear of and `link` for
/// each byte of it on the link; a switch takes no time.
pub(super) fn of_round_figures(model: ResourceModel, link: Span) -> Environment {
    let us = Span::from_us;
    Environment {
        host: HostCosts {
            first_packet: us(10),
            single_packet: us(10),
            packet: us(10),
            link_scheduling: us(2),
            interrupt: us(1),
            receive_packet: us(10),
            ..HostCosts::default()
        },
        link: LinkCosts::new(Span::ZERO, link).into(),
        packet: Bytes::new(1000),
        ..mc68040(model, 1, Formula::Corrected)
    }
}

pub(super) fn spec(kib: u64, interval: Span) -> TrafficSpec {
    let size = Bytes::from_kib(kib);
    TrafficSpec { max_message: size, min_message: size, burst: 1, min_interval: interval }
}

/// A request of whatever deadline.
fn with(spec: TrafficSpec) -> Request {
    Request::new(spec, spec.min_interval).unwrap()
}

fn table(environment: Environment) -> AdmissionTable {
    AdmissionTable::new(environment).unwrap()
}

/// Nanoseconds of service and wait of a 60 KiB message without other traffic.
fn lone(model: ResourceModel, p: u32, formula: Formula) -> (u64, u64) {
    let table = table(mc68040(model, p, formula));
    let spec = spec(60, Span::from_ms(50));
    let ns = |breakdown: Breakdown| breakdown.total().as_ps().div_ceil(1000);
    (ns(table.service_time(&with(spec)).unwrap()), ns(table.wait_time(&with(spec)).unwrap()))
}

#[test]
fn the_papers_formulas_give_the_papers_terms() {
    use Formula::Papers;
    // 420 + 15·244.8 + 15·160 + ⌊14/P⌋·145; C_block^first + ⌈·/244.8⌉·160 + 145 + 244.8.
    assert_eq!(lone(ResourceModel::O1, 4, Papers), (6_927_000, 1_959_800));
    assert_eq!(lone(ResourceModel::O1, 1, Papers), (8_522_000, 1_129_800));
    // 930 + 2·825 + 655 + 11·244.8 + 244.8 + 2400; 420 + 3·170 + 145 + 305.
    assert_eq!(lone(ResourceModel::O2, 4, Papers), (8_572_600, 1_380_000));
    // 420 + 13·315 + 315 + 244.8 + 2400; 420 + 145 + 305.
    assert_eq!(lone(ResourceModel::O2, 1, Papers), (7_474_800, 870_000));
    assert_eq!(lone(ResourceModel::Ideal, 1, Papers), (6_492_000, 244_800));
    assert_eq!(lone(ResourceModel::Ideal, 4, Papers), (6_492_000, 244_800));
}

#[test]
fn o2_waits_for_the_cpu_where_the_link_is_slower_than_a_block() {
    // S = 8 KiB, P = 1: C_block = 315 < 449.6, and 449.6 > C_prot^first = 420.
    let table =
        table(Environment { packet: Bytes::from_kib(8), ..mc68040(ResourceModel::O2, 1, Formula::Papers) });
    let spec = spec(32, Span::from_ms(100));
    // 420 + 4·449.6 + 640 + 870.
    assert_eq!(table.service_time(&with(spec)).unwrap().total(), Span::from_ns(3_728_400));
    assert_eq!(table.wait_time(&with(spec)).unwrap().total(), Span::from_us(2 * 870));
    // Assumed for each of the four packets: 420 + 4·449.6 + 640 + 4·870.
    let packet = Bytes::from_kib(8);
    let each = self::table(Environment { packet, ..mc68040(ResourceModel::O2, 1, Formula::PapersEach) });
    assert_eq!(each.service_time(&with(spec)).unwrap().total(), Span::from_ns(6_338_400));
}

#[test]
fn the_misprints_are_read_rightly() {
    // One packet, P = 4: the first block is min(N, P) = 1 packet, and no part of a switch is paid.
    let table = table(mc68040(ResourceModel::O1, 4, Formula::Papers));
    let spec = spec(4, Span::from_ms(50));
    assert_eq!(table.service_time(&with(spec)).unwrap().total(), Span::from_ns(420_000 + 244_800 + 160_000));
    assert_eq!(
        table.wait_time(&with(spec)).unwrap().total(),
        Span::from_ns(420_000 + 320_000 + 145_000 + 244_800)
    );
}

/// O1, 60 KiB, P = 4: C_preempt is 14/4 switches and not 3, and T_wait's first block 420 + 14·170 =
/// 2800, in which ⌈2800/244.8⌉ = 12 packets complete. O2's service begins with that block: 2800 −
/// 930 more than as read.
#[test]
fn the_print_is_taken_literally_where_it_is_asked_for() {
    use Formula::Printed;
    assert_eq!(
        lone(ResourceModel::O1, 4, Printed),
        (6_927_000 + 72_500, 2_800_000 + 1_920_000 + 145_000 + 244_800)
    );
    assert_eq!(lone(ResourceModel::O2, 4, Printed), (8_572_600 + 1_870_000, 1_380_000));
}

#[test]
fn the_corrected_terms_are_as_computed_by_hand() {
    use Formula::Corrected;
    // α = 404.8/244.8 = 253/153. S: split 1: α·565 + 14·404.8. W: α·1075 + 160 + 244.8 + 404.8.
    assert_eq!(lone(ResourceModel::O1, 4, Corrected), (6_601_482, 2_587_215));
    // S: split 15: α·(2800 + 15·145). W: α·565 + 160 + 244.8 + 404.8.
    assert_eq!(lone(ResourceModel::O1, 1, Corrected), (8_226_634, 1_743_882));
    // per_start = 145 + 930 + 145 + 160 = 1380; 15·1624.8. W: 1075 + 305 + 244.8 + (420 + 450).
    assert_eq!(lone(ResourceModel::O2, 4, Corrected), (24_372_000, 2_494_800));
    // per_start = 145 + 420 + 305 = 870; 15·1114.8. W: 565 + 305 + 244.8 + 870.
    assert_eq!(lone(ResourceModel::O2, 1, Corrected), (16_722_000, 1_984_800));
    // Packet 1 on both sides: α·420 + 15·404.8. W: 160 + 244.8.
    assert_eq!(lone(ResourceModel::Ideal, 4, Corrected), (6_766_510, 404_800));
    assert_eq!(lone(ResourceModel::Ideal, 1, Corrected), (6_766_510, 404_800));
}

#[test]
fn best_effort_and_interference_are_waited_for() {
    let best_effort = BestEffort {
        max_message: Bytes::from_kib(60),
        min_message: Bytes::from_kib(60),
        role: Role::Send,
        elsewhere: false,
        program: Span::ZERO,
    };
    let base = mc68040(ResourceModel::O1, 4, Formula::Corrected);
    let spec = spec(4, Span::from_ms(50));
    let wait = |environment| table(environment).wait_time(&with(spec)).map(|wait| wait.total());
    let alone = wait(base.clone()).unwrap();
    let beside = Environment { best_effort: vec![best_effort], ..base.clone() };
    // A block of 4 packets instead of 1: α·3·170 more.
    let more = wait(beside.clone()).unwrap() - alone;
    assert_eq!(more.as_ps().div_ceil(1000), 843_334);
    let message = Environment { block_best_effort: Block::Message, ..beside.clone() };
    assert_eq!((wait(message).unwrap() - alone).as_ps().div_ceil(1000), 3_935_556);
    let never = Environment { block_best_effort: Block::Never, ..beside.clone() };
    assert_eq!(wait(never).unwrap_err().reason, Reason::BestEffortNeverYields);

    let application = |us| Interference {
        above: Above::Thread,
        cost: Span::from_us(us),
        adapter: Span::ZERO,
        burst: 1,
        interval: Span::from_ms(5),
    };
    let request = Request::new(spec, Span::from_ms(50)).unwrap();
    let bound = |environment| {
        let mut table = table(environment);
        let decision = table.request(request);
        (decision, table.bounds())
    };
    let (_, bounds) = bound(Environment { interference: vec![application(100)], ..base.clone() });
    // α·(100 + 145), twice within 5 ms: once for the burst.
    assert_eq!(bounds[0].interference.as_ps().div_ceil(1000), 810_262);
    assert_eq!(bounds[0].bound, bounds[0].wait + bounds[0].service + bounds[0].interference);
    let (decision, _) = bound(Environment { interference: vec![application(4000)], ..base });
    assert!(matches!(
        decision,
        Decision::Refused(AdmissionRefusal {
            resource: Scarce::Cpu,
            reason: Reason::InterferenceTakesAll,
            ..
        })
    ));
}

#[test]
fn short_packets_may_take_all_of_the_cpu() {
    let deep = Environment { depth: 2, ..mc68040(ResourceModel::O1, 4, Formula::Corrected) };
    let tail = TrafficSpec { min_message: Bytes::new(1), ..spec(60, Span::from_ms(50)) };
    for (model, spec, works) in [
        (ResourceModel::O1, spec(60, Span::from_ms(50)), true),
        (ResourceModel::O1, tail, false),
        (ResourceModel::O2, tail, false),
        (ResourceModel::Ideal, tail, false),
    ] {
        let wait = table(Environment { model, ..deep.clone() }).wait_time(&with(spec));
        assert_eq!(
            wait.map_err(|refusal| refusal.reason).err(),
            (!works).then_some(Reason::InterruptsTakeAll)
        );
    }
    let shallow = table(Environment { depth: 1, ..deep });
    assert!(shallow.wait_time(&with(tail)).is_ok());
}

#[test]
fn requests_and_hosts_are_parsed() {
    let spec = spec(4, Span::from_ms(10));
    assert_eq!(Request::new(spec, Span::ZERO), Err(RequestError::ZeroDeadline));
    let zero = Environment { depth: 0, ..mc68040(ResourceModel::O1, 4, Formula::Papers) };
    assert_eq!(AdmissionTable::new(zero).unwrap_err(), EnvironmentError::NoDepth);
    let zero = mc68040(ResourceModel::O1, 0, Formula::Papers);
    assert_eq!(AdmissionTable::new(zero).unwrap_err(), EnvironmentError::EmptyBlock);
}

#[test]
fn absurd_requests_are_refused_and_not_a_panic() {
    for model in [ResourceModel::Ideal, ResourceModel::O1, ResourceModel::O2] {
        for formula in [Formula::Papers, Formula::Corrected] {
            let mut table = table(mc68040(model, 4, formula));
            let huge = TrafficSpec {
                max_message: Bytes::new(1 << 40),
                min_message: Bytes::ZERO,
                burst: u32::MAX,
                min_interval: Span::MAX,
            };
            let huge = Request::new(huge, Span::MAX).unwrap();
            // A terabyte in 213 days is a low rate; the test is that no value overflows.
            table.request(huge);
            let never = Environment { block_real_time: Block::Never, ..mc68040(model, 4, formula) };
            self::table(never).request(huge);
            let quick = TrafficSpec { min_interval: Span::from_ps(1), ..spec(4, Span::from_ms(1)) };
            let decision = table.request(Request::new(quick, Span::from_ps(1)).unwrap());
            assert!(matches!(decision, Decision::Refused(_)), "{decision:?}");
        }
    }
}

fn role() -> impl Strategy<Value = Role> {
    prop_oneof![4 => Just(Role::Send), 1 => Just(Role::Relay), 1 => Just(Role::Receive)]
}

pub(super) fn environments() -> impl Strategy<Value = Environment> {
    let model = prop_oneof![
        Just(ResourceModel::Ideal),
        Just(ResourceModel::O1),
        Just(ResourceModel::O2),
        Just(ResourceModel::O3)
    ];
    let formula = prop_oneof![Just(Formula::Papers), Just(Formula::Corrected)];
    let block = prop_oneof![(1u32..6).prop_map(Block::Packets), Just(Block::Message), Just(Block::Never)];
    (model, formula, block, 1u32..4, 0usize..3, 0usize..2, role()).prop_map(
        |(model, formula, block, depth, interference, best_effort, role)| Environment {
            host: HostCosts {
                interrupt: Span::from_us(5),
                link_scheduling: Span::from_us(20),
                thread_creation: Span::from_us(30),
                receive_packet: Span::from_us(90),
                receive_message: Span::from_us(60),
                ..mc68040(model, 1, formula).host
            },
            block_real_time: block,
            depth,
            thread_per_message: depth == 2,
            makes: None,
            buffers: None,
            others: Vec::new(),
            interference: (0..interference as u32)
                .map(|burst| Interference {
                    above: Above::Thread,
                    cost: Span::from_us(50),
                    adapter: Span::ZERO,
                    burst,
                    interval: Span::from_ms(3),
                })
                .collect(),
            best_effort: vec![
                BestEffort {
                    max_message: Bytes::from_kib(9),
                    min_message: Bytes::from_kib(4),
                    role,
                    elsewhere: false,
                    program: Span::ZERO
                };
                best_effort
            ],
            ..mc68040(model, 1, formula)
        },
    )
}

pub(super) fn requests() -> impl Strategy<Value = Vec<Request>> {
    let request =
        (1u64..20, 0u64..3, 20u64..900, 1u64..=10, role()).prop_map(|(kib, varies, ms, tenths, role)| {
            let spec = TrafficSpec {
                min_message: if varies == 0 { Bytes::new(4096) } else { Bytes::from_kib(kib + 3) },
                ..spec(kib + 3, Span::from_ms(ms))
            };
            Request::new(spec, Span::from_ms(ms) * tenths / 10).unwrap().at(role)
        });
    prop::collection::vec(request, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_decision_is_d_order(
        environment in environments(), requests in requests(), from in prop::collection::vec(0usize..8, 40),
    ) {
        let mut naive = Naive { environment: environment.clone(), admitted: Vec::new() };
        let mut table = table(environment);
        for (request, from) in requests.into_iter().zip(from) {
            let before = table.bounds();
            // Half of them may be as high as they like.
            let from = if from <= table.len() { from } else { 0 };
            let loosest = Naive { environment: naive.environment.clone(), admitted: naive.admitted.clone() }
                .request(request.loosest(), 0);
            prop_assert_eq!(table.highest_priority(&request), loosest.map(|(place, _)| place));
            let decision = table.request_from(request, from);
            match (decision, naive.request(request, from)) {
                (Decision::Admitted { priority, bound, .. }, Some((place, r))) => {
                    prop_assert_eq!((priority, u128::from(bound.as_ps())), (place, r));
                }
                (Decision::Refused(_), None) => prop_assert_eq!(table.bounds(), before),
                (ours, reference) => prop_assert!(false, "{:?} against {:?}", ours, reference),
            }
            let shared = naive.shared(&naive.admitted);
            for (place, bound) in table.bounds().iter().enumerate() {
                let r = naive.response(shared.as_ref().unwrap(), &naive.admitted, place);
                prop_assert_eq!(Some(u128::from(bound.bound.as_ps())), r);
                prop_assert!(bound.bound <= bound.deadline);
                let parts = bound.wait + bound.service + bound.higher + bound.interference;
                prop_assert_eq!(bound.bound, parts);
            }
        }
    }

    #[test]
    fn a_newcomer_helps_nobody_and_a_release_restores(
        environment in environments(), requests in requests(), leaves in 0usize..40,
    ) {
        let mut table = table(environment);
        for request in requests {
            let before = table.bounds();
            let Decision::Admitted { id, .. } = table.request(request) else { continue };
            let after = table.bounds();
            for old in &before {
                let new = after.iter().find(|bound| bound.id == old.id).unwrap();
                prop_assert!(new.bound >= old.bound && new.bound <= new.deadline);
            }
            let mut left = table.clone();
            prop_assert!(left.release(id) && !left.release(id));
            prop_assert_eq!(left.bounds(), before);
        }
        // Leaving in any order keeps what a fresh table in that order would have.
        let bounds = table.bounds();
        if let Some(gone) = bounds.get(leaves % bounds.len().max(1)) {
            prop_assert!(table.release(gone.id));
            for bound in table.bounds() {
                let old = bounds.iter().find(|old| old.id == bound.id).unwrap();
                prop_assert!(bound.bound <= old.bound);
            }
        }
    }

    #[test]
    fn levels_suffice_for_whoever_is_admitted(
        environment in environments(), requests in requests(), levels in 1u32..12,
    ) {
        let mut table = table(Environment { levels: Some(levels), ..environment.clone() });
        let mut apart = AdmissionTable::new(environment).unwrap();
        for request in requests {
            let before = table.bounds();
            match table.request(request) {
                Decision::Admitted { id, bound, .. } => {
                    prop_assert!(bound <= request.deadline());
                    prop_assert_eq!(table.bounds().iter().find(|b| b.id == id).map(|b| b.bound), Some(bound));
                    apart.request(request);
                }
                Decision::Refused(_) => prop_assert_eq!(table.bounds(), before),
            }
        }
        // The same channels, each with a priority of its own.
        let (shared, own) = (table.bounds(), apart.bounds());
        prop_assert_eq!(shared.len(), own.len());
        prop_assert!(shared.is_sorted_by_key(|b| b.level));
        for (shared, own) in shared.iter().zip(&own) {
            prop_assert!(shared.level.is_some_and(|level| level < levels));
            prop_assert!(own.bound <= shared.bound && shared.bound <= shared.deadline);
            prop_assert!(shared.bound == own.bound || own.level.is_none() && levels < table.len() as u32);
        }
    }

    #[test]
    fn the_split_maximum_is_found(environment in environments(), request in requests()) {
        let request = &request[0];
        let all = Population::of_best_effort(&environment).with(&environment, request);
        let beside = Beside::of(&environment, &all);
        let charges = match environment.model {
            ResourceModel::Ideal => ideal::charges(&environment, &all, &beside),
            ResourceModel::O1 => o1::charges(&environment, &all, &beside),
            ResourceModel::O2 => o2::charges(&environment, &all, &beside),
            ResourceModel::O3 => o3::charges(&environment, &all),
            ResourceModel::Handed => handed::charges(&environment, &all),
            ResourceModel::Apart => o1::charges_of_cpu(&environment, &all),
            ResourceModel::ApartByThread => o2::charges_of_cpu(&environment, &all),
            ResourceModel::ApartHanded => handed::charges_of_cpu(&environment, &all),
            ResourceModel::Core => handed::charges_of_core(&environment, &all),
        };
        if let Ok(charges) = charges {
            let n = request.spec().fragmentation(environment.packet).packets();
            let from = if request.role() == Role::Receive { n } else { u64::from(charges.preemptible) };
            let most = (from..=n).map(|k| charges.split(&environment, request, k).total()).max();
            prop_assert_eq!(Some(charges.service(&environment, request).total()), most);
        }
    }
}
