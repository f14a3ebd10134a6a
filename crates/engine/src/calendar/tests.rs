//! Order of events, and leaps past them.

use super::*;

fn ps(n: u64) -> Time {
    Time::from_ps(n)
}

#[test]
fn the_last_instant_can_be_named() {
    let mut calendar = Calendar::new();
    calendar.schedule(Time::MAX, 'b');
    calendar.schedule(Time::ZERO, 'a');
    assert_eq!(calendar.pop(), Some((Time::ZERO, 'a')));
    assert_eq!(calendar.next_time(), Some(Time::MAX));
    assert_eq!(calendar.pop(), Some((Time::MAX, 'b')));
    assert_eq!(calendar.next_time(), None);
}

/// A leap passes neither events pending at the first check, nor events scheduled since, nor the
/// permitted limit.
#[test]
fn who_goes_on_by_itself_passes_nothing() {
    let mut calendar = Calendar::new();
    calendar.schedule(ps(100), 'd');
    assert!(!calendar.leap(ps(1)), "nobody has let it");
    calendar.set_free(ps(60), 8);
    assert!(calendar.leap(ps(10)) && calendar.leap(ps(12)));
    calendar.schedule(ps(20), 'a');
    assert!(!calendar.leap(ps(20)) && calendar.leap(ps(19)));
    assert_eq!(calendar.pop(), Some((ps(20), 'a')));
    // After an event that has just happened, and beside those scheduled in its place.
    assert!(calendar.leap(ps(25)));
    calendar.set_free(ps(27), 8);
    assert!(!calendar.leap(ps(27)) && calendar.leap(ps(26)));
    calendar.set_free(ps(60), 9);
    calendar.schedule(ps(40), 'c');
    calendar.schedule(ps(30), 'b');
    assert!(!calendar.leap(ps(31)) && !calendar.leap(ps(30)) && calendar.leap(ps(29)));
    assert_eq!(calendar.pop(), Some((ps(30), 'b')));
    assert_eq!(calendar.pop(), Some((ps(40), 'c')));
    assert!(!calendar.leap(ps(59)), "so many have happened");
    calendar.set_free(ps(60), 10);
    assert!(!calendar.leap(ps(60)) && calendar.leap(ps(59)) && !calendar.leap(ps(59)));
    assert_eq!((calendar.now(), calendar.pop()), (ps(59), Some((ps(100), 'd'))));
}

/// The same with mostly far events: a leap never reaches the next event, and nearly always the
/// picosecond before it.
#[test]
fn who_goes_on_among_many_passes_nothing() {
    let mut calendar = Calendar::new();
    calendar.set_free(Time::MAX, u64::MAX);
    (1..=10_000).for_each(|n| calendar.schedule(ps(n * 7 % 10_007 * 10), n));
    let mut leaps = 0;
    while let Some(next) = calendar.next_time() {
        assert!(!calendar.leap(next));
        leaps += u32::from(calendar.leap(ps(next.as_ps() - 1)));
        assert!(!calendar.leap(next));
        assert_eq!(calendar.pop().map(|(at, _)| at), Some(next));
    }
    assert!(leaps > 9_000, "{leaps}");
}

#[test]
#[should_panic(expected = "before now")]
fn the_past_is_closed() {
    let mut calendar = Calendar::new();
    calendar.advance(ps(2));
    calendar.schedule(ps(1), ());
}

#[test]
#[should_panic(expected = "past an event")]
fn time_does_not_pass_an_event() {
    let mut calendar = Calendar::new();
    calendar.schedule(ps(1), ());
    calendar.advance(ps(2));
}
