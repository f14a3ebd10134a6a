//! Bounds by hand.

use laxity_units::Bytes;

use super::*;
use laxity_qos::traffic::TrafficSpec;

pub(super) fn us(n: u64) -> Span {
    Span::from_us(n)
}

/// Polled every 100 us, 4 packets of 5 us of which 2 are real time's, at 3 us a tick.
pub(super) fn polled() -> Service {
    Service {
        turn: Turn::Ticks { least: us(100), most: us(100) },
        quota: 4,
        real_time: 2,
        signal: us(3),
        switch: Span::ZERO,
        packet: us(5),
        slots: 64,
        buffers: Some(64),
    }
}

fn reserved() -> Service {
    Service { turn: Turn::Reserved { period: us(200), spare: 1, refusal: None }, quota: 3, ..polled() }
}

/// 10 us a packet, 30 us of each millisecond.
pub(super) fn worker() -> Worker {
    Worker { work: us(10), packet: us(10), reserved: Some((us(30), us(1000))), rest: true }
}

fn request(burst: u32, interval: u64) -> ReceptionRequest {
    let size = Bytes::new(64);
    let spec = TrafficSpec { max_message: size, min_message: size, burst, min_interval: us(interval) };
    ReceptionRequest { interface: 0, program: 0, spec, jitter: Span::ZERO, deadline: us(1_000_000) }
}

/// The second program has no packets, so that the first does not have the host to itself.
fn one(service: Service, worker: Worker) -> ReceptionHost {
    ReceptionHost { interfaces: vec![service], programs: vec![worker, Worker { reserved: None, ..worker }] }
}

fn terms(host: &ReceptionHost, requests: &[ReceptionRequest]) -> Vec<u64> {
    let bound = admit(host, requests).pop().unwrap().unwrap();
    assert_eq!(bound.terms.iter().fold(Span::ZERO, |all, term| all + term.cost), bound.bound);
    bound.terms.iter().map(|term| term.cost.as_ps() / 1_000_000).collect()
}

#[test]
fn a_polled_interface_alone() {
    // Two of real time: R is the packet in hand 5, the tick 3, and 10. V is a packet of any channel
    // 10, one of its own 10, two of real time 20, and the time of one interface in W: 23 for each
    // tick: 40 → n = 2 → 86 → n = 2. Where one arrives at a time, one is enough: 5 less, and 10
    // less.
    assert_eq!(terms(&one(polled(), worker()), &[request(1, 5000)]), [100, 13, 1000, 76]);
    assert_eq!(terms(&one(polled(), worker()), &[request(2, 5000)]), [100, 18, 1000, 86]);
    // Without best effort all three packets of the budget are real time's: 10 + 30 + 46.
    let alone = Worker { rest: false, ..worker() };
    assert_eq!(one(polled(), alone).period(0), Some((3, us(86))));
}

#[test]
fn a_burst_takes_turns_of_interface_and_program() {
    // Five at two a turn: three turns, and three periods.
    assert_eq!(terms(&one(polled(), worker()), &[request(5, 50_000)]), [100, 200, 18, 1000, 2000, 86]);
    // Five channels of one each are the same.
    assert_eq!(terms(&one(polled(), worker()), &[request(1, 50_000); 5]), [100, 200, 18, 1000, 2000, 86]);
}

#[test]
fn other_interfaces_take_what_they_are_let() {
    let mut host = one(polled(), worker());
    // A thread's tick is in the way of the kernel, its batch is not: (18, n = 2) + 2·3 = 24; of the
    // program both: 86 + 2·(3 + 20 + 20).
    host.interfaces.push(Service { turn: Turn::Thread(us(500)), switch: us(20), ..polled() });
    assert_eq!(host.turn(0), Some((2, us(24))));
    // The thread: tick 3, switch 20, the whole batch 20, a program's packet 10, and the kernel's 23
    // a tick: 53 + 46 = 99, n = 2.
    assert_eq!(host.turn(1), Some((2, us(99))));
    // Programs: 40 + 86 = 126, n = 3 for the kernel's: 40 + 69 + 86 → 195, n = 3.
    assert_eq!(host.period(0), Some((2, us(195))));
}

#[test]
fn reservations_wait_for_a_routine_of_the_period_before_and_for_what_is_spare() {
    // One routine 3 + 15, then 3 + 10, and two spare packets of 8.
    let host = one(reserved(), worker());
    assert_eq!(host.turn(0), Some((2, us(18 + 13 + 16))));
    // Refusals: seven more commands for each packet, 3 + 1 each.
    let refusal = Turn::Reserved { period: us(200), spare: 1, refusal: Some(us(1)) };
    let refuses = Service { turn: refusal, ..reserved() };
    assert_eq!((refuses.at_the_top(), refuses.batch()), (ps(us(3 * 8 * 3)), ps(us(15 + 21))));
    // V: 10 + 10 + 20; spare packets: 2, and one for each of 4 that programs finish: 6·8; in 112 us
    // two periods of 3·8.
    assert_eq!(host.period(0), Some((2, us(40 + 48 + 48))));
}

#[test]
fn limited_interrupts_are_as_far_apart_as_they_are_heard_late() {
    let limited = Service { turn: Turn::Limited(us(300)), ..polled() };
    let host = ReceptionHost { interfaces: vec![limited, polled()], programs: vec![worker()] };
    // All of its batch, 3 + 20, and the other's ticks twice.
    assert_eq!(host.turn(0), Some((2, us(29))));
    assert_eq!(limited.every(us(29)), us(329));
}

#[test]
fn programs_with_shorter_periods_go_before() {
    let mut host = one(polled(), worker());
    host.programs.push(Worker { reserved: Some((us(20), us(500))), rest: false, ..worker() });
    // The other may have 20 + 10 in each of two periods: 40 + 60 + 46 = 146 → ticks 3: 169.
    assert_eq!(host.period(0), Some((2, us(169))));
    // It waits for a packet only: 10 + 20 + 46.
    assert_eq!(host.period(2), Some((2, us(76))));
}

#[test]
fn what_does_not_fit_into_a_turn_is_not_promised() {
    // A quota of 30 at 5 us is more than 100 us; (100 − 1 ps − 8)/5 is.
    let greedy = Service { quota: 30, real_time: 30, ..polled() };
    assert_eq!(one(greedy, worker()).turn(0), Some((18, us(98))));
    // And the program, behind 153 in each 100, gets no time.
    assert_eq!(one(greedy, worker()).period(0), None);
    assert_eq!(admit(&one(greedy, worker()), &[request(1, 5000)]), [refused(0, Missing::Budget)]);
    let slow = Service { packet: us(60), ..polled() };
    assert_eq!(admit(&one(slow, worker()), &[request(1, 5000)]), [refused(0, Missing::Turn)]);
}

fn refused(whose: usize, missing: Missing) -> Result<ReceptionBound, ReceptionRefusal> {
    Err(ReceptionRefusal { whose, missing })
}

#[test]
fn what_is_missing_is_said() {
    let host = one(polled(), worker());
    let taken = Missing::Taken { packets: 2, every: us(100) };
    assert_eq!(admit(&host, &[request(1, 40)]), [refused(0, taken)]);
    let done = Missing::Done { packets: 2, every: us(1000) };
    assert_eq!(admit(&host, &[request(1, 400)]), [refused(0, done)]);
    let nothing = Worker { reserved: None, ..worker() };
    let mut several = one(polled(), nothing);
    let unreserved = Missing::Reservation { buffers: 64 };
    assert_eq!(admit(&several, &[request(1, 5000)]), [refused(0, unreserved)]);
    several.interfaces[0].buffers = Some(0);
    let said = admit(&several, &[request(1, 5000)])[0].as_ref().unwrap_err().missing.to_string();
    assert!(said.contains("`budget` and `period`") && said.contains("`buffers_real_time`"), "{said}");
    let slots = Service { slots: 2, ..polled() };
    let three = admit(&one(slots, worker()), &[request(3, 50_000)]);
    assert_eq!(three, [refused(0, Missing::Slots { needed: 3, has: 2 })]);
    // In 218 and 1000 + 1000 + 86 us one more arrives of one every 2 ms.
    let buffers = Service { buffers: Some(3), ..polled() };
    let three = admit(&one(buffers, worker()), &[request(3, 2000)]);
    assert_eq!(three, [refused(0, Missing::Buffers { needed: 4, has: 3 })]);
    let hasty = ReceptionRequest { deadline: us(1188), ..request(1, 5000) };
    assert_eq!(admit(&host, &[hasty]), [refused(0, Missing::Time(us(1189)))]);
    assert!(admit(&host, &[ReceptionRequest { deadline: us(1189), ..hasty }])[0].is_ok());
}

#[test]
fn a_newcomer_may_not_take_what_was_promised() {
    let host = one(polled(), worker());
    let first = ReceptionRequest { deadline: us(1204), ..request(2, 50_000) };
    let answers = admit(&host, &[first, request(1, 50_000), request(1, 50_000)]);
    // A third at once would make the first wait for further turns: it is refused for that, and a
    // fourth as well.
    assert!(answers[0].is_ok());
    for answer in &answers[1..] {
        assert_eq!(*answer, refused(0, Missing::Time(us(1204 + 100 + 1000))));
    }
}

#[test]
fn a_budget_that_is_never_spent_is_not_waited_for() {
    // 10 of any channel, one of its own, two ticks of 23. In 1000 + 66 + 113 us one arrives, or
    // two, of the three that it may do.
    let alone = Worker { rest: false, ..worker() };
    assert_eq!(terms(&one(polled(), alone), &[request(1, 5000)]), [100, 13, 10 + 10 + 46]);
    assert_eq!(terms(&one(polled(), alone), &[request(1, 600)]), [100, 13, 66]);
    // Three at once: two turns, 10 + 30 + 46; a fourth in 1000 + 86 + 218 us is one too many.
    assert_eq!(terms(&one(polled(), alone), &[request(3, 1305)]), [100, 100, 18, 86]);
    assert_eq!(terms(&one(polled(), alone), &[request(3, 1304)]), [100, 100, 18, 1000, 86]);
    // A program with a shorter period goes before.
    let mut host = one(polled(), alone);
    host.programs.push(Worker { reserved: Some((us(20), us(500))), ..worker() });
    assert_eq!(terms(&host, &[request(1, 5000)]), [100, 13, 10 + 10 + 2 * 30 + 3 * 23]);
}

/// By turns of a budget 1 ms more; without one the same. Work that takes all of the CPU has no bound.
#[test]
fn a_program_that_has_the_host_to_itself_needs_no_budget() {
    for reserved in [worker().reserved, None] {
        let programs = vec![Worker { reserved, ..worker() }];
        let host = ReceptionHost { interfaces: vec![polled()], programs };
        assert_eq!(terms(&host, &[request(1, 5000)]), [100, 13, 66]);
        let none = Service { buffers: Some(0), ..polled() };
        let host = ReceptionHost { interfaces: vec![none], programs: host.programs };
        let buffers = Missing::Buffers { needed: 1, has: 0 };
        assert_eq!(admit(&host, &[request(1, 5000)]), [refused(0, buffers)]);
    }
    let slow = Worker { packet: us(4000), reserved: None, ..worker() };
    let host = ReceptionHost { interfaces: vec![polled()], programs: vec![slow] };
    assert_eq!(admit(&host, &[request(1, 5000)]), [refused(0, Missing::Left)]);
}

#[test]
fn an_interface_without_a_program_delivers_when_the_protocol_is_done() {
    let service = Service { buffers: None, ..polled() };
    assert_eq!(terms(&one(service, Worker { reserved: None, ..worker() }), &[request(1, 5000)]), [100, 13]);
}

/// A budget of 600 us is enough for 59 packets of 10 us, and each that is done lets a spare one be
/// taken for 8 us. To promise all 59 would take 1.1 ms; one is done in 10 + 20, 5 spare ones and
/// two routines of 24.
#[test]
fn a_cheaper_program_promises_no_more() {
    let of = |work: u64| {
        let worker =
            Worker { work: us(work), packet: us(work), reserved: Some((us(600), us(2000))), rest: true };
        terms(&one(reserved(), worker), &[request(1, 5000)])[3]
    };
    assert_eq!(of(10), 10 + 20 + 5 * 8 + 24 * 2);
    let bounds: Vec<u64> = [1, 2, 4, 8, 16, 32, 64, 128].map(of).to_vec();
    assert!(bounds.is_sorted(), "{bounds:?}");
}
