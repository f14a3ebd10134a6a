//! Hosts with several cores, by hand.

use super::*;
use crate::tests::of_round_figures;
use crate::{Above, BestEffort};
use laxity_qos::channel::{Block, Role};
use laxity_qos::traffic::TrafficSpec;

const SIZE: Bytes = Bytes::new(1000);
const CALLS: Caller = Caller { core: CoreId::FIRST, is_thread: false };

fn us(us: u64) -> Span {
    Span::from_us(us)
}

fn ns(ns: u64) -> Span {
    Span::from_ns(ns)
}

/// 19 us for a packet on the link, so completions are 22 apart.
fn core(interference: Vec<Interference>) -> Environment {
    Environment { interference, ..of_round_figures(ResourceModel::O1, ns(19)) }
}

/// A link on which a packet takes that many microseconds, and of which that core hears.
fn way(time: u64, hears: u8) -> WayOut {
    WayOut {
        link: LinkCosts::new(us(time), Span::ZERO).into(),
        hears: CoreId(hears),
        called: false,
        sent: Some((SIZE, SIZE)),
        buffers: None,
        makers: 2,
    }
}

fn of(cores: &[Environment]) -> CoresTable {
    let way = WayOut { link: cores[0].link.clone(), ..way(19, 0) };
    CoresTable::new(cores, &[way], CALLS).expect("it is a host")
}

/// The handler is on that core, and what it makes leaves by the one link.
fn on(core: u8) -> CorePlace {
    CorePlace { core: CoreId(core), link: LinkId::FIRST }
}

fn table(second: Vec<Interference>) -> CoresTable {
    of(&[core(Vec::new()), core(second)])
}

fn asks(interval: u64, deadline: u64) -> Request {
    let spec = TrafficSpec { max_message: SIZE, min_message: SIZE, burst: 1, min_interval: us(interval) };
    Request::new(spec, us(deadline)).unwrap()
}

/// In tens of nanoseconds: each part of a bound is rounded up.
fn rounded(span: Span) -> u64 {
    span.div_ceil(Span::from_ns(10))
}

fn bounds(table: &CoresTable) -> Vec<Span> {
    table.bounds().into_iter().map(|bound| bound.bound).collect()
}

/// The second core: `α = 22/20`, and three sections of 2 in progress. A packet of its own may have
/// been begun, 10, and is made in 10: `R = α (10 + 10 + 6)`. Interrupts are pending for `Y = 3 (1 +
/// 3)` at most. At the link 19 + 2 for what is there, as long as that, and the packet with 1 + 2 ·
/// 2: `b = 57`. Its completion is heard of 12 later.
#[test]
fn a_core_and_then_the_link() {
    let mut table = table(Vec::new());
    let id = match table.request(asks(100, 98), on(1)) {
        Decision::Admitted { id, bound, .. } => {
            assert_eq!(bound, ns(28_600 + 57_000));
            id
        }
        Decision::Refused(refusal) => panic!("{refusal}"),
    };
    let [bound] = table.bounds()[..] else { panic!("there is one") };
    assert_eq!((bound.id, bound.bound), (id, ns(85_600)));
    assert_eq!((bound.wait, bound.service, bound.higher), (ns(28_600 + 33_000), us(24), Span::ZERO));
    let (wait, service) = table.terms(&bound).unwrap();
    assert_eq!((wait.total(), service.total()), (bound.wait, bound.service));
    assert!(table.release(id) && !table.release(id));
    let Decision::Refused(refusal) = table.request(asks(100, 97), on(1)) else { panic!("it is late") };
    assert_eq!((refusal.deficit, refusal.claimant), (Deficit::Time(ns(600)), Claimant::Newcomer));
    assert!(bounds(&table).is_empty());
}

/// The first core hears of completions: `α = 22/19`, and `R = α (10 + 10 + 9)`. Both are through
/// the link in 33 + 2 · 24.
#[test]
fn the_core_that_is_interrupted_is_slower() {
    let mut table = table(Vec::new());
    for core in [0, 1] {
        assert!(matches!(table.request(asks(300, 300), on(core)), Decision::Admitted { .. }));
    }
    assert_eq!(bounds(&table), [Span::from_ps(33_578_949) + us(81), ns(28_600) + us(81)]);
    let Decision::Refused(refusal) = table.request(asks(300, 145), on(1)) else {
        panic!("a third makes all of them later")
    };
    assert_eq!((refusal.deficit, refusal.claimant), (Deficit::Time(ns(600)), Claimant::Newcomer));
    let least = table.least_deadline(&asks(300, 300), on(1)).unwrap();
    assert!(matches!(table.request(asks(300, 300).within(least), on(1)), Decision::Admitted { .. }));
}

/// The second core hears of completions, for up to `3 (1 + 3)`, and a handler that makes a packet
/// there calls after that; at the first, which has the timer, interrupts are pending for `2 (1 +
/// 3)`.
#[test]
fn who_makes_a_packet_waits_for_what_is_pending_there() {
    let cores = [core(Vec::new()), core(Vec::new())];
    let way = way(19, 1);
    let bound = |place| {
        let mut table = CoresTable::new(&cores, std::slice::from_ref(&way), CALLS).expect("it is a host");
        assert!(matches!(table.request(asks(300, 300), on(place)), Decision::Admitted { .. }));
        bounds(&table)[0]
    };
    assert_eq!(bound(1), Span::from_ps(33_578_949) + us(19 + 2 + 12 + 24));
    assert_eq!(bound(0), ns(28_600) + us(19 + 2 + 8 + 24));
}

/// Up to two with the adapter: completions are 19 apart. `α = 19/17` there, four sections in
/// progress, `R = α (10 + 10 + 8)`; `Y = 3 (1 + 4)`, and `b = 2 · 19 + 2 + 15 + 24`.
#[test]
fn more_may_be_started_at_once_where_more_are_under_way() {
    let deep = Environment { depth: 2, ..core(Vec::new()) };
    let cores = vec![deep.clone(), deep];
    let mut table = of(&cores);
    assert!(matches!(table.request(asks(300, 300), on(1)), Decision::Admitted { .. }));
    // Each part rounded up.
    assert_eq!(bounds(&table), [Span::from_ps(2 * 11_176_471 + 8_941_177) + us(79)]);
}

/// A timer of 3, once on its own core, where interrupts are pending for 2 (1 + 3) + 3 then: less
/// than 12.
#[test]
fn timers_are_above_the_handlers_of_their_core() {
    let mut table = table(vec![timer(3, 900)]);
    assert!(matches!(table.request(asks(100, 400), on(1)), Decision::Admitted { .. }));
    assert_eq!(bounds(&table), [ns(28_600 + 3_300 + 57_000)]);
}

/// Messages are made up to 28.6 late, so a second of the channel may be there in 57: ⌈(57 +
/// 28.6)/80⌉ = 2, and `b = 33 + 2 · 24`.
#[test]
fn messages_are_late_by_what_their_core_takes() {
    let mut table = table(Vec::new());
    assert!(matches!(table.request(asks(80, 200), on(1)), Decision::Admitted { .. }));
    assert_eq!(bounds(&table), [ns(28_600 + 81_000)]);
}

/// A timer of 3 each 70 where completions are heard of: interrupts are pending for 12 + 3 there,
/// and as one may have been pending for so long, there are two in 63: `b = 19 + 2 + 15 + 24 + 2 ·
/// 3`.
#[test]
fn interrupts_may_have_been_pending() {
    let cores = vec![core(vec![timer(3, 70)]), core(Vec::new())];
    let mut table = of(&cores);
    assert!(matches!(table.request(asks(200, 400), on(1)), Decision::Admitted { .. }));
    assert_eq!(bounds(&table), [ns(28_600 + 66_000)]);
}

/// A second link of 39 us a packet, whose completions are noticed on the handler's core, 42 apart;
/// those of the first are 22 apart and noticed on the other core. There `Y = 3 · 4 + 2 · 4`, and
/// here `2 · 4 + 3 · 4`. The first link takes `α = 22/20` here, and of the second there are four
/// completions in 41.8: `R = α (10 + 10 + 6 + 4 · 3)`. At the link `39 + 2 + 20` for what is there,
/// the packet with `1 + 2 · 2`, and of the first link ⌈(125 + 20)/22⌉ + 3 sections: `b = 61 + 44 +
/// 2 · 10`. Its completion is heard of 20 later.
#[test]
fn links_share_the_link_scheduler() {
    let cores = [core(Vec::new()), core(Vec::new())];
    let mut table = CoresTable::new(&cores, &[way(19, 0), way(39, 1)], CALLS).expect("it is a host");
    let second = CorePlace { core: CoreId(1), link: LinkId(1) };
    assert!(matches!(table.request(asks(300, 187), second), Decision::Admitted { .. }));
    assert_eq!(bounds(&table), [ns(41_800) + us(125)]);
    let mut table = CoresTable::new(&cores, &[way(19, 0), way(39, 1)], CALLS).expect("it is a host");
    let Decision::Refused(refusal) = table.request(asks(300, 186), second) else { panic!("it is late") };
    assert_eq!((refusal.deficit, refusal.claimant), (Deficit::Time(ns(800)), Claimant::Newcomer));
    // By the first link, of the second no more than what is started: `b = 19 + 2 + 20 + 24 + 2 (⌈(b
    // + 20)/42⌉ + 3)`.
    assert!(matches!(table.request(asks(300, 300), on(1)), Decision::Admitted { .. }));
    assert_eq!(bounds(&table), [ns(41_800) + us(77)]);
}

fn timer(cost: u64, interval: u64) -> Interference {
    let (above, adapter) = (Above::Interrupt, Span::ZERO);
    Interference { above, cost: us(cost), adapter, burst: 0, interval: us(interval) }
}

/// Where interrupts take all of a core, channels on it, or with completions noticed there, have no
/// guarantee; all others have.
#[test]
fn a_core_that_has_no_time_is_nothing_to_others() {
    let cores = [core(Vec::new()), core(vec![timer(7, 7)])];
    let mut table = CoresTable::new(&cores, &[way(19, 0), way(19, 1)], CALLS).expect("it is a host");
    let by = |core, link| CorePlace { core: CoreId(core), link: LinkId(link) };
    for place in [by(1, 0), by(0, 1), by(1, 1)] {
        let refused = table.request(asks(300, 300), place);
        assert!(matches!(refused, Decision::Refused(_)), "{place:?} has no time");
        assert!(table.least_deadline(&asks(300, 300), place).is_err(), "{place:?}");
    }
    assert!(matches!(table.request(asks(300, 300), by(0, 0)), Decision::Admitted { .. }));
    let refused = table.request(asks(300, 300), by(1, 0));
    assert!(matches!(refused, Decision::Refused(_)) && table.bounds().len() == 1);
    let first = [core(vec![timer(7, 7)]), core(Vec::new())];
    let mut table = CoresTable::new(&first, &[way(19, 1)], CALLS).expect("it is a host");
    assert!(matches!(table.request(asks(300, 300), on(1)), Decision::Refused(_)), "who is early waits there");
}

/// A call of 5 that the first core's others make once: `R = α (10 + 10 + 6 + 5)`, interrupts are
/// pending for `12 + 5` there, and `b = 19 + 2 + 17 + 24 + 5`. A core that is called again and
/// again may be at a call when the completion of any packet arrives. A thread there is called, too,
/// or waits for a block; where it is elsewhere, the completion waits, and then the thread.
#[test]
fn a_core_that_is_called_hears_late_of_each_packet() {
    let core = || {
        let core = core(Vec::new());
        Environment { host: HostCosts { ipi: us(5), ..core.host }, ..core }
    };
    let cores = [core(), core()];
    let bound = |called, caller| {
        let way = WayOut { called, ..way(19, 0) };
        let mut table = CoresTable::new(&cores, &[way], caller).expect("it is a host");
        assert!(matches!(table.request(asks(300, 300), on(1)), Decision::Admitted { .. }));
        bounds(&table)[0]
    };
    assert_eq!(bound(false, CALLS), ns(34_100) + us(67));
    let thread = |core| Caller { core: CoreId(core), is_thread: true };
    for (caller, more) in [(CALLS, 5), (thread(0), 0), (thread(1), 5)] {
        assert_eq!(bound(true, caller), bound(false, caller) + us(more), "{caller:?}");
    }
}

/// A thread of the second core hands packets over, a switch is 1, and a call of a core that sleeps
/// 5. The handler's core hears of completions only, `α = 22/21`: a packet begun and its own, each
///    with its switch, three completions and a call, `R = α (11 + 11 + 3 + 5)`. Interrupts are
///    pending there for `4 + 5`, and where the thread is for `1 + 2 (1 + 3) + 5`. No other work is
///    there, so it may sleep: `b = 19 + 1 + 3 + 14` for what is there, the packet with `1 + 5 + 1 +
///    2`, and a call of either core.
#[test]
fn a_thread_on_another_core_is_called() {
    let core = || {
        let core = core(Vec::new());
        Environment { host: HostCosts { context_switch: us(1), ipi: us(5), ..core.host }, ..core }
    };
    let cores = [core(), core()];
    let thread = Caller { core: CoreId(1), is_thread: true };
    let mut table = CoresTable::new(&cores, &[way(19, 0)], thread).expect("it is a host");
    assert!(matches!(table.request(asks(300, 300), on(0)), Decision::Admitted { .. }));
    let own = Span::from_ps((30 * 22_000_000u64).div_ceil(21));
    assert_eq!(rounded(bounds(&table)[0]), rounded(own + us(75)));
    let [bound] = table.bounds()[..] else { panic!("there is one") };
    let (wait, service) = table.terms(&bound).unwrap();
    assert_eq!((wait.total(), service.total()), (bound.wait, us(28)));
    assert_eq!(bound.service, service.total());
    // A handler there keeps the thread from the core for 11, longer than a call takes, and by as
    // much the first is through later; of two messages now.
    assert!(matches!(table.request(asks(300, 300), on(1)), Decision::Admitted { .. }));
    assert_eq!(rounded(bounds(&table)[0]), rounded(own + us(75 + 6 + 34)));
}

/// Where the thread's core has the handler, and hears of completions, each block has a switch and
/// the run's behind it: `α = 22/19`, `R = α (12 + 12 + 9)`. Interrupts are pending for `1 + 3 · 4`.
/// At the link `19 + 1 + 3 + 13` for what is there, the packet with `1 + 11 + 1 + 2`. Packets that
/// leave by a second link of 39 are started there, too, in runs and 42 apart, but another core
/// hears of them. So there are four more starts while a message is made, and two for begun 42 and
/// three at the link, where `Y` is 8 longer.
#[test]
fn a_thread_has_a_block_before_each_packet() {
    let core = || {
        let core = core(Vec::new());
        Environment { host: HostCosts { context_switch: us(1), ..core.host }, ..core }
    };
    let cores = [core(), core()];
    let thread = Caller { core: CoreId::FIRST, is_thread: true };
    let mut table = CoresTable::new(&cores, &[way(19, 0)], thread).expect("it is a host");
    let by_first = CorePlace { core: CoreId::FIRST, link: LinkId::FIRST };
    assert!(matches!(table.request(asks(300, 300), by_first), Decision::Admitted { .. }));
    let own = |work: u64| Span::from_ps((work * 22_000_000).div_ceil(19));
    assert_eq!(rounded(bounds(&table)[0]), rounded(own(33) + us(70)));
    let mut table = CoresTable::new(&cores, &[way(19, 0), way(39, 1)], thread).expect("it is a host");
    assert!(matches!(table.request(asks(300, 300), by_first), Decision::Admitted { .. }));
    let expected = own(33 + 2 * 5) + us(70 + 8 + 2 * 6);
    assert_eq!(rounded(bounds(&table)[0]), rounded(expected));
}

/// Best effort that never yields keeps its core for good, and with it a thread that schedules
/// links: then no channel has a bound, wherever it is made. A handler that calls by itself is on
/// another core.
#[test]
fn a_thread_may_be_kept_from_its_core() {
    let endless = BestEffort {
        max_message: SIZE,
        min_message: SIZE,
        role: Role::Send,
        elsewhere: false,
        program: Span::ZERO,
    };
    let second =
        Environment { block_best_effort: Block::Never, best_effort: vec![endless], ..core(Vec::new()) };
    let way = way(19, 0);
    let refused = |caller: Caller| {
        let cores = [Environment { block_best_effort: Block::Never, ..core(Vec::new()) }, second.clone()];
        let mut table = CoresTable::new(&cores, std::slice::from_ref(&way), caller).expect("it is a host");
        match table.request(asks(300, 300), on(0)) {
            Decision::Admitted { .. } => None,
            Decision::Refused(refusal) => Some((refusal.resource, refusal.reason)),
        }
    };
    let thread = |core| Caller { core: CoreId(core), is_thread: true };
    assert_eq!((refused(CALLS), refused(thread(0))), (None, None));
    assert_eq!(refused(thread(1)), Some((Scarce::Cpu, Reason::BestEffortNeverYields)));
}
