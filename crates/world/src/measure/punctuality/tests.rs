use laxity_qos::traffic::TrafficSpec;

use super::*;

const SPEC: TrafficSpec = TrafficSpec {
    max_message: Bytes::from_kib(4),
    min_message: Bytes::from_kib(4),
    burst: 3,
    min_interval: Span::from_ms(10),
};

impl Punctuality {
    fn share(self, end: Time) -> Option<f64> {
        self.kept(end).map(Kept::share)
    }
}

fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_ms(n)
}

/// Three messages at once, due at 5, 15 and 25 ms.
fn burst() -> Punctuality {
    let mut punctuality = Punctuality::new(Span::from_ms(5), Some(LogicalClock::new(SPEC)));
    for message in 0..3 {
        punctuality.offer(ms(0), true);
        punctuality.answer(ms(0), SPEC.max_message, Sent::Accepted { message }, true);
    }
    punctuality
}

#[test]
fn what_is_not_due_yet_is_not_asked_about() {
    assert_eq!(burst().share(ms(4)), None);
    assert_eq!(burst().share(ms(20)), Some(0.0));
    let mut some = burst();
    some.arrive(ms(3), 0, ms(0));
    assert_eq!((some.clone().share(ms(4)), some.clone().share(ms(14))), (None, Some(1.0)));
    some.arrive(ms(16), 1, ms(10));
    assert_eq!(some.share(ms(24)), Some(0.5));
}

#[test]
fn what_was_dropped_or_never_taken_was_not_in_time() {
    let mut punctuality = burst();
    (0..3).for_each(|n| punctuality.arrive(ms(n), n, ms(10 * n)));
    punctuality.offer(ms(1), true);
    punctuality.answer(ms(1), SPEC.max_message, Sent::Dropped(Dropped::MessageQueue), true);
    assert_eq!(punctuality.clone().share(ms(100)), Some(0.75));
    // The application waits for a slot that is never free.
    punctuality.offer(ms(90), true);
    assert_eq!((punctuality.clone().share(ms(94)), punctuality.share(ms(95))), (Some(0.75), Some(0.6)));
}

/// Impairments that take ten packets of a message excuse that message, and not the one that was lost.
#[test]
fn impairments_excuse_the_messages_that_they_hit() {
    let mut punctuality = burst();
    (0..10).for_each(|n| punctuality.impair(ms(n), 0));
    punctuality.lose(ms(11), 1);
    punctuality.impair(ms(12), 2);
    punctuality.arrive(ms(13), 2, ms(20));
    let kept = punctuality.kept(ms(100)).unwrap();
    assert_eq!((kept.due, kept.failed(), kept.impaired), (3, 2, 1));
}

/// The deadline is 5 ms, and the run ends at 1 ms.
#[test]
fn what_was_lost_has_failed_before_its_deadline() {
    let kept = |due, in_time| Some(Kept { due, in_time, blocked: 0, impaired: 0 });
    let mut punctuality = burst();
    punctuality.lose(ms(1), 1);
    assert_eq!(punctuality.clone().kept(ms(1)), kept(1, 0));
    // Another packet of the same message, and a message that is unknown.
    punctuality.lose(ms(1), 1);
    punctuality.lose(ms(1), 7);
    assert_eq!(punctuality.clone().kept(ms(1)), kept(1, 0));
    assert_eq!(punctuality.clone().kept(ms(20)), kept(2, 0));
    // The packet that was lost was one of two copies.
    punctuality.arrive(ms(2), 1, ms(10));
    assert_eq!((punctuality.clone().kept(ms(2)), punctuality.kept(ms(15))), (None, kept(2, 1)));

    let mut dropped = burst();
    dropped.offer(ms(1), true);
    dropped.answer(ms(1), SPEC.max_message, Sent::Dropped(Dropped::MessageQueue), true);
    assert_eq!(dropped.kept(ms(1)), Some(Kept { due: 1, in_time: 0, blocked: 1, impaired: 0 }));

    let mut outside = Punctuality::new(Span::from_ms(5), None);
    outside.offer(ms(0), false);
    outside.answer(ms(0), SPEC.max_message, Sent::Accepted { message: 0 }, false);
    outside.lose(ms(1), 0);
    assert_eq!(outside.kept(ms(20)), None);
}

/// Every other one is late. In a long run only the last message that was in time waits to be
/// counted, until the next arrives.
#[test]
fn what_is_past_is_counted_and_gone() {
    let mut punctuality = Punctuality::new(Span::from_ms(5), None);
    for message in 0..1000 {
        let at = ms(10 * message);
        punctuality.offer(at, true);
        punctuality.answer(at, SPEC.max_message, Sent::Accepted { message }, true);
        punctuality.arrive(at + Span::from_ms(if message % 2 == 0 { 1 } else { 6 }), message, at);
        assert_eq!(punctuality.settled.len() as u64, (message + 1) % 2, "{message}");
        assert!(punctuality.under_way.is_empty());
    }
    assert_eq!(punctuality.share(ms(20_000)), Some(0.5));
}

/// Of five messages at once the contract covers three, and one more after each interval. The
/// two that exceed the contract do not count, whatever becomes of them, and do not move the
/// clock of the contract.
#[test]
fn what_exceeds_the_contract_does_not_count() {
    let mut punctuality = Punctuality::new(Span::from_ms(5), Some(LogicalClock::new(SPEC)))
        .within(vec![LogicalClock::new(SPEC)]);
    for message in 0..3 {
        punctuality.offer(ms(0), true);
        punctuality.answer(ms(0), SPEC.max_message, Sent::Accepted { message }, true);
        punctuality.arrive(ms(0), message, ms(10 * message));
    }
    for _ in 0..2 {
        punctuality.offer(ms(0), true);
        punctuality.answer(ms(0), SPEC.max_message, Sent::Dropped(Dropped::MessageQueue), true);
    }
    assert_eq!(punctuality.clone().kept(ms(100)), Some(Kept { due: 3, in_time: 3, blocked: 0, impaired: 0 }));
    // One message a picosecond early, which is beyond the contract, and one in time, which is
    // lost.
    for at in [ms(10) - Span::from_ps(1), ms(10)] {
        punctuality.offer(at, true);
        punctuality.answer(at, SPEC.max_message, Sent::Dropped(Dropped::MessageQueue), true);
    }
    assert_eq!(punctuality.kept(ms(100)), Some(Kept { due: 4, in_time: 3, blocked: 0, impaired: 0 }));
}

/// Of five messages at once three are within the contract, and the host takes all. What it drops next
/// for want of room is within the contract by the messages that are, and behind the other two: until
/// the clock of the host is at most two intervals ahead, the drop is no failure.
#[test]
fn what_its_own_excess_leaves_no_room_for_is_no_failure() {
    let outcome = |contract: Option<LogicalClock>, at: u64| {
        let mut punctuality =
            Punctuality::new(Span::from_ms(5), contract).within(vec![LogicalClock::new(SPEC)]);
        for message in 0..5 {
            punctuality.offer(ms(0), true);
            punctuality.answer(ms(0), SPEC.max_message, Sent::Accepted { message }, true);
            punctuality.arrive(ms(0), message, ms(0));
        }
        punctuality.offer(ms(at), true);
        punctuality.answer(ms(at), SPEC.max_message, Sent::Dropped(Dropped::MessageQueue), true);
        let kept = punctuality.kept(ms(100)).unwrap();
        (kept.due, kept.in_time, kept.failed())
    };
    let enforced = Some(LogicalClock::new(SPEC));
    assert_eq!([10, 29, 30].map(|at| outcome(enforced, at)), [(4, 3, 0), (4, 3, 0), (4, 3, 1)]);
    // A host without enforcement spends no contract.
    assert_eq!(outcome(None, 10), (4, 3, 1));
}

/// Every second message of a source within its contract is dropped: all of these are failures.
#[test]
fn a_source_within_its_contract_is_not_blamed() {
    let mut punctuality = Punctuality::new(Span::from_ms(5), Some(LogicalClock::new(SPEC)))
        .within(vec![LogicalClock::new(SPEC)]);
    for message in 0..10 {
        let at = ms(30 * (message / 3));
        let dropped = Sent::Dropped(Dropped::MessageQueue);
        let answer = if message % 2 == 0 { Sent::Accepted { message } } else { dropped };
        punctuality.offer(at, true);
        punctuality.answer(at, SPEC.max_message, answer, true);
        punctuality.arrive(at, message, at);
    }
    let kept = punctuality.kept(ms(1000)).unwrap();
    assert_eq!((kept.due, kept.in_time, kept.failed()), (10, 5, 5));
}

#[test]
fn a_message_that_is_dropped_for_its_size_does_not_count() {
    let mut punctuality = Punctuality::new(Span::from_ms(5), Some(LogicalClock::new(SPEC)))
        .within(vec![LogicalClock::new(SPEC)]);
    let one = Bytes::new(1);
    for (size, cause) in
        [(SPEC.max_message + one, Dropped::Oversize), (SPEC.min_message - one, Dropped::Undersized)]
    {
        punctuality.offer(ms(0), true);
        punctuality.answer(ms(0), size, Sent::Dropped(cause), true);
    }
    assert_eq!(punctuality.clone().kept(ms(100)), None);
    // In pieces, of which the last is one interval ahead, it is within the contract.
    punctuality.offer(ms(0), true);
    punctuality.answer(ms(0), SPEC.max_message + one, Sent::Dropped(Dropped::MessageQueue), true);
    assert_eq!(punctuality.kept(ms(100)).map(Kept::failed), Some(1));
}

#[test]
fn only_what_was_sent_in_the_window_is_asked_about() {
    let mut punctuality = Punctuality::new(Span::from_ms(5), None);
    for (message, at) in [0, 10, 20].into_iter().enumerate() {
        punctuality.offer(ms(at), at == 10);
        let message = message as u64;
        punctuality.answer(ms(at), SPEC.max_message, Sent::Accepted { message }, at == 10);
    }
    // The first and the last are late, and were sent outside.
    punctuality.arrive(ms(9), 0, ms(0));
    punctuality.arrive(ms(14), 1, ms(10));
    assert_eq!(punctuality.share(ms(100)), Some(1.0));
}

/// Due at 5 and 15, they arrive at 5 and just after 15; the one due at 25 is checked from then
/// on.
#[test]
fn what_comes_when_it_is_due_is_in_time() {
    let mut punctuality = burst();
    punctuality.arrive(ms(5), 0, ms(0));
    assert_eq!(punctuality.clone().share(ms(5)), Some(1.0));
    punctuality.arrive(ms(15) + Span::from_ps(1), 1, ms(10));
    assert_eq!(punctuality.clone().share(ms(24)), Some(0.5));
    assert_eq!(punctuality.share(ms(25)), Some(1.0 / 3.0));
}

/// A run may end before what came in it is due: that is asked about if the two are at the same
/// time.
#[test]
fn what_is_due_when_the_run_ends_is_asked_about() {
    let mut punctuality = burst();
    punctuality.arrive(ms(3), 0, ms(0));
    assert_eq!(punctuality.clone().share(ms(5)), Some(1.0));
    assert_eq!(punctuality.share(ms(4)), None);
}

/// Of four messages at once the second was dropped after it had been taken. So the third is due
/// from 10 on where our clock has 20, and the fourth at 25 where it has 35: by 30 both missing
/// ones are late.
#[test]
fn what_the_host_takes_back_makes_later_messages_due_sooner() {
    let mut punctuality = burst();
    punctuality.offer(ms(0), true);
    punctuality.answer(ms(0), SPEC.max_message, Sent::Accepted { message: 3 }, true);
    punctuality.arrive(ms(1), 0, ms(0));
    punctuality.arrive(ms(12), 2, ms(10));
    assert_eq!(punctuality.share(ms(30)), Some(0.5));
}

/// Responses as the window opens and as it closes: the first is in the window. It arrives at
/// the instant at which it is said to have been sent.
#[test]
fn what_is_told_at_the_edges_is_counted_at_the_first() {
    let size = SPEC.max_message;
    let mut elsewhere = Punctuality::new(Span::from_ms(5), None).told_later();
    let answered = |at, message| (at, Said::Answered(size, Sent::Accepted { message }));
    elsewhere.arrive(ms(20), 0, ms(20));
    elsewhere.hear(&[answered(ms(20), 0), answered(ms(30), 1)], ms(20), ms(30));
    assert_eq!(elsewhere.share(ms(100)), Some(1.0));
}

#[test]
fn a_host_that_tells_at_the_end_comes_to_the_same() {
    let size = SPEC.max_message;
    let mut here = Punctuality::new(Span::from_ms(5), Some(LogicalClock::new(SPEC)));
    let mut elsewhere = here.clone().told_later();
    let mut said = Vec::new();
    for message in 0..4 {
        let at = ms(2 * message);
        let answer = match message {
            3 => Sent::Dropped(Dropped::MessageQueue),
            message => Sent::Accepted { message },
        };
        said.extend([(at, Said::Offered), (at, Said::Answered(size, answer))]);
        here.offer(at, true);
        here.answer(at, size, answer, true);
        if message < 2 {
            let (came, from) = (at + Span::from_ms(1), ms(10 * message));
            here.arrive(came, message, from);
            elsewhere.arrive(came, message, from);
        } else if message == 2 {
            here.lose(at, message);
            elsewhere.lose(at, message);
        }
    }
    assert_eq!(here.clone().kept(ms(6)), Some(Kept { due: 3, in_time: 1, blocked: 1, impaired: 0 }));
    elsewhere.hear(&said, ms(0), ms(100));
    let share = elsewhere.share(ms(200));
    assert_eq!(share, Some(0.5));
    assert_eq!(share, here.share(ms(200)));
}
