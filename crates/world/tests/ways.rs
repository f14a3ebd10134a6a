//! What a trace shows of messages on their way: by which spans each goes, and when it is due.

use std::collections::BTreeMap;

use laxity_engine::trace::{Arguments, Flow, Trace, Track};
use laxity_scenario::Scenario;
use laxity_units::{Span, Time};
use laxity_world::observe;

/// Keeps what is told of ways.
#[derive(Default)]
struct Ways {
    tracks: Vec<String>,
    spans: Vec<(Track, Time, Time)>,
    /// By the number of the message's way.
    flows: BTreeMap<u64, Vec<(Time, Track, Flow)>>,
    due: Vec<(u64, Time)>,
    channels: Vec<(u64, String)>,
}

impl Trace for Ways {
    fn track(&mut self, name: &str) -> Track {
        let known = self.tracks.iter().position(|track| track == name);
        let number = known.unwrap_or_else(|| {
            self.tracks.push(name.to_string());
            self.tracks.len() - 1
        });
        Track::new(number as u32)
    }

    fn span(&mut self, track: Track, _: &str, begin: Time, end: Time, _: Arguments<'_>) {
        self.spans.push((track, begin, end));
    }

    fn instant(&mut self, _: Track, name: &str, at: Time, arguments: Arguments<'_>) {
        if name == "deadline" {
            self.due.push((arguments[0].1, at));
        }
    }

    fn level(&mut self, _: Track, _: Time, _: i64) {}

    fn flow(&mut self, track: Track, at: Time, id: u64, flow: Flow) {
        self.flows.entry(id).or_default().push((at, track, flow));
    }

    fn means(&mut self, argument: &'static str, value: u64, name: &str) {
        assert_eq!(argument, "channel");
        self.channels.push((value, name.to_string()));
    }
}

/// Two channels over a relay to a receiver. Each message of either is made on the first CPU, sent, passed on by the second, sent again, and
/// ends on the third: five spans, in each of which it is shown while that goes on. What has a deadline has a mark there, two links' worth
/// after it was sent.
#[test]
fn a_message_is_shown_from_cpu_to_cpu() {
    let text = r#"
        title = "a test"
        [host]
        profile = "mc68040"
        applications = "separate"
        subsystem = { packet = "1000 B" }
        [adapter]
        kind = "null"
        per_byte = "50 ns"
        [path]
        relays = 1
        receive = true
        propagation = "7 us"
        [run]
        time = "95 ms"
        [[channel]]
        name = "film"
        class = "real_time"
        max_message = "2500 B"
        burst = 1
        min_interval = "10 ms"
        deadline = "9 ms"
        source = { kind = "periodic" }
        [[channel]]
        name = "bulk"
        class = "best_effort"
        max_message = "1500 B"
        burst = 1
        source = { kind = "periodic", interval = "30 ms" }
        "#;
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
    let mut ways = Ways::default();
    let run = observe(&scenario.first(), &mut ways, None);
    assert_eq!(ways.channels, [(0, "film".into()), (1, "bulk".into())]);
    let expected = [
        ("node 0 cpu", Flow::Begins),
        ("node 0 link", Flow::Passes),
        ("node 1 cpu", Flow::Passes),
        ("node 1 link", Flow::Passes),
        ("node 2 cpu", Flow::Ends),
    ];
    let whole: Vec<_> = ways.flows.values().filter(|flow| flow.len() == expected.len()).collect();
    let delivered: u64 = run.channels.iter().filter_map(|channel| channel.delivered).sum();
    assert!(delivered >= 12 && whole.len() as u64 >= delivered, "{} of {delivered}", whole.len());
    for flow in whole {
        assert!(flow.is_sorted_by_key(|(at, ..)| *at), "{flow:?}");
        let seen: Vec<_> = flow.iter().map(|(_, track, flow)| (named(&ways, *track), *flow)).collect();
        assert_eq!(seen, expected);
        for (at, track, _) in flow {
            let within = |(of, begin, end): &&(Track, Time, Time)| of == track && begin <= at && at < end;
            assert!(ways.spans.iter().any(|span| within(&span)), "nothing goes on there at {at}");
        }
    }
    let due: Vec<_> =
        (0..ways.due.len() as u64).map(|n| (n, at(10 * n) + Span::from_ms(18) + Span::from_us(7))).collect();
    assert!(due.len() >= 9, "{}", due.len());
    assert_eq!(ways.due, due);
}

fn named(ways: &Ways, track: Track) -> &str {
    let known = (0..ways.tracks.len()).find(|number| Track::new(*number as u32) == track);
    &ways.tracks[known.expect("it was named")]
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}
