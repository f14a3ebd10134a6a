//! `limits` of a channel: what is read, and errors at their place.

use laxity_qos::limits::MessageLimit;
use laxity_units::Span;

use super::errors::refused;
use super::*;

/// The right file with these limits of `video`, which has a burst of 12 and an interval of 50 ms.
fn limited(limits: &str) -> String {
    with("deadline = \"40 ms\"", &format!("deadline = \"40 ms\"\nlimits = {limits}"))
}

#[test]
fn limits_are_read_in_their_order() {
    let file =
        limited("[{ burst = 1, min_interval = \"125 us\" }, { burst = 100, min_interval = \"60 ms\" }]");
    let of = |name: &str| {
        let first = right(&file).first();
        let channel = first.channels.iter().find(|channel| channel.name == name);
        channel.expect("a channel").limits.iter().collect::<Vec<_>>()
    };
    let limit = |burst, min_interval| MessageLimit { burst, min_interval };
    assert_eq!(of("video"), [limit(1, Span::from_us(125)), limit(100, Span::from_ms(60))]);
    assert_eq!(of("bulk"), []);
}

#[test]
fn limits_that_say_nothing_are_errors_at_their_place() {
    let limit = |burst: u32, interval: &str| format!("{{ burst = {burst}, min_interval = \"{interval}\" }}");
    let (own, four) = (limit(12, "50 ms"), (1..5).map(|n| limit(n, &format!("{n} ms"))));
    let four: Vec<String> = four.collect();
    let both = |one: &str, other: &str| format!("[{one}, {other}]");
    let five = format!("[{}, {}]", four.join(", "), limit(5, "5 ms"));
    right(&limited(&format!("[{}]", four.join(", "))));
    for (limits, at, why) in [
        (format!("[{own}]"), &*own, "the channel's own limit of 12 messages, one every 50 ms, implies"),
        (format!("[{}]", limit(13, "50 ms")), "burst = 13", "the channel's own limit"),
        (format!("[{}]", limit(12, "49 ms")), "49 ms", "the channel's own limit"),
        (both(&limit(2, "1 ms"), &limit(1, "1 ms")), "burst = 2", "another limit of 1 messages"),
        (both(&limit(1, "1 ms"), &limit(1, "1 ms")), "burst = 1", "another limit of 1 messages"),
        (five, "limits", "at most 4 further limits, not 5"),
        ("[{ burst = 1 }]".into(), "burst = 1", "this limit has no `min_interval`"),
        ("[{ min_interval = \"1 ms\" }]".into(), "1 ms", "this limit has no `burst`"),
        (format!("[{}]", limit(1_000_000, "1 h")), "1000000", "worth more than 30 days"),
        ("3".into(), "3", "wrong type"),
    ] {
        let said = refused(&limited(&limits));
        assert!(said.contains(why) && said.contains(at), "{limits}\n{said}");
    }
    // An equal limit is one too many once.
    let equal = refused(&limited(&both(&limit(1, "1 ms"), &limit(1, "1 ms"))));
    assert_eq!(equal.matches("implies this one").count(), 1, "{equal}");
}

#[test]
fn best_effort_has_no_limits() {
    let limits = "limits = [{ burst = 1, min_interval = \"1 ms\" }]";
    let said = refused(&with("burst = 10", &format!("burst = 10\n{limits}")));
    assert!(said.contains("best effort is promised nothing"), "{said}");
}
