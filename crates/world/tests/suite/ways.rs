//! The trace of messages on their path: their spans, and when they are due.

use std::collections::BTreeMap;

use laxity_engine::trace::{Arguments, TraceFlow, TraceSink, Track};
use laxity_scenario::Scenario;
use laxity_units::{Span, Time};
use laxity_world::observe;

/// Keeps the traced paths.
#[derive(Default)]
struct Ways {
    tracks: Vec<String>,
    spans: Vec<(Track, Time, Time)>,
    /// By the number of the message's way.
    flows: BTreeMap<u64, Vec<(Time, Track, TraceFlow)>>,
    due: Vec<(u64, Time)>,
    /// Messages that were complete, or late.
    ended: Vec<(String, u64)>,
    channels: Vec<(u64, String)>,
    levels: Vec<(Track, Time, i64)>,
}

impl TraceSink for Ways {
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
        match name {
            "deadline" => self.due.push((arguments[0].1, at)),
            ended => self.ended.push((ended.to_string(), arguments[0].1)),
        }
    }

    fn level(&mut self, track: Track, at: Time, value: i64) {
        self.levels.push((track, at, value));
    }

    fn flow(&mut self, track: Track, at: Time, id: u64, flow: TraceFlow) {
        self.flows.entry(id).or_default().push((at, track, flow));
    }

    fn means(&mut self, argument: &'static str, value: u64, name: &str) {
        assert_eq!(argument, "channel");
        self.channels.push((value, name.to_string()));
    }
}

/// Two channels over a relay to a receiver. Each message of either is made on the first CPU, sent,
/// passed on by the second, sent again, and ends on the third: five spans, in each of which it is
/// shown while that goes on. A message with a deadline has a mark there, two links' worth after it
/// was sent.
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
        deadline = "27 ms"
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
        ("node 0 cpu", TraceFlow::Begins),
        ("node 0 link", TraceFlow::Passes),
        ("node 1 cpu", TraceFlow::Passes),
        ("node 1 link", TraceFlow::Passes),
        ("node 2 cpu", TraceFlow::Ends),
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
    let due: Vec<_> = (0..ways.due.len() as u64).map(|n| (n, at(10 * n) + Span::from_ms(27))).collect();
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

/// A frame of 1000 B is 80 us on the host's link and 800 on the port's, which gets it as the host
/// is done and holds it until the host's 2 ms are over: it sends for 800 us, without the frame's
/// wait. Its message is complete once, and not at the host as well.
#[test]
fn a_port_is_shown_to_send_while_it_does() {
    let text = r#"
        title = "a test"
        [host]
        profile = "mc68040"
        costs = { context_switch = "0 us", cache_miss = "0 us", first_packet = "0 us", packet = "0 us", link_scheduling = "0 us", hand_over = "0 us", interrupt = "0 us", receive_packet = "0 us", receive_message = "0 us" }
        subsystem = { packet = "1000 B" }
        [adapter]
        kind = "null"
        per_byte = "80 ns"
        [admission]
        formula = "off"
        [node.a]
        [node.b]
        [node.sw]
        kind = "switch"
        [network.near]
        joins = ["sw", "a"]
        rate = "100 Mbit/s"
        [network.far]
        joins = ["sw", "b"]
        rate = "10 Mbit/s"
        [run]
        time = "39 ms"
        [[channel]]
        name = "x"
        class = "real_time"
        from = "a"
        to = "b"
        max_message = "1000 B"
        burst = 1
        min_interval = "10 ms"
        deadline = "6 ms"
        source = { kind = "periodic" }
        "#;
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
    let mut ways = Ways::default();
    let run = observe(&scenario.first(), &mut ways, None);
    let on = |name: &str| {
        let spans = ways.spans.iter().filter(|(track, ..)| named(&ways, *track) == name);
        spans.map(|(_, begin, end)| (begin.as_ps() / 1_000_000, end.as_ps() / 1_000_000)).collect::<Vec<_>>()
    };
    assert_eq!(on("node a link"), [0, 10_000, 20_000, 30_000].map(|at| (at, at + 80)));
    assert_eq!(on("node sw.b link"), [2000, 12_000, 22_000, 32_000].map(|at| (at, at + 800)));
    // It waits while it is held, and not while it is sent.
    let levels = ways.levels.iter().filter(|(track, ..)| named(&ways, *track) == "node sw.b link queue");
    let waits: Vec<_> = levels.map(|(_, at, waiting)| (at.as_ps() / 1_000_000, *waiting)).collect();
    let expected: Vec<_> =
        (0..4).flat_map(|n| [(80, 1), (2000, 0), (2800, 0)].map(|(at, of)| (10_000 * n + at, of))).collect();
    assert_eq!(waits, expected);
    let [x] = &run.channels[..] else { panic!("it is one") };
    assert_eq!((x.completed, x.missed_messages), (4, 0));
    assert_eq!(ways.ended, [0, 1, 2, 3].map(|message| ("message complete".to_string(), message)));
}

/// A message that returns to its start is one message of one channel on the whole path, on every
/// core with the same name: two hosts of two cores, between which it goes there, back and there
/// again.
#[test]
fn what_turns_back_is_one_message() {
    let text = r#"
        title = "a test"
        [host]
        profile = "mc68040"
        cores = 2
        subsystem = { packet = "1000 B" }
        [adapter]
        kind = "null"
        per_byte = "50 ns"
        [admission]
        formula = "off"
        [node.a]
        [node.b]
        [network.wire]
        joins = ["a", "b"]
        [run]
        time = "95 ms"
        [[channel]]
        name = "first"
        class = "best_effort"
        from = "a"
        to = "b"
        max_message = "1000 B"
        burst = 1
        source = { kind = "none" }
        [[channel]]
        name = "rounds"
        class = "real_time"
        route = ["a", "b", "a", "b"]
        max_message = "1000 B"
        burst = 1
        min_interval = "10 ms"
        deadline = "8 ms"
        source = { kind = "periodic" }
        "#;
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
    let mut ways = Ways::default();
    let run = observe(&scenario.first(), &mut ways, None);
    assert_eq!((run.channels[1].delivered, run.channels[1].delivered_late), (Some(9), Some(0)));
    let expected = [
        ("node a cpu 1", TraceFlow::Begins),
        ("node a link", TraceFlow::Passes),
        ("node b cpu 1", TraceFlow::Passes),
        ("node b link", TraceFlow::Passes),
        ("node a cpu 1", TraceFlow::Passes),
        ("node a link", TraceFlow::Passes),
        ("node b cpu 1", TraceFlow::Ends),
    ];
    let whole: Vec<_> = ways.flows.iter().filter(|(_, flow)| flow.len() == expected.len()).collect();
    assert_eq!(whole.len(), 9);
    for (id, flow) in whole {
        assert_eq!(id >> 40, 1, "it is a message of the second channel");
        let seen: Vec<_> = flow.iter().map(|(_, track, flow)| (named(&ways, *track), *flow)).collect();
        assert_eq!(seen, expected);
    }
}

/// A forwarded frame arrives by one link and is seen to leave by the other, whichever is its first;
/// an own frame leaves by the other alone. Each adapter counts the frames through its own stages,
/// of which one has more than the other.
#[test]
fn what_is_passed_on_leaves_by_the_other_link() {
    for names in [["left", "right"], ["z", "y"]] {
        let [left, right] = names;
        let text = format!(
            r#"
            title = "a test"
            [host]
            profile = "mc68040"
            subsystem = {{ packet = "1000 B" }}
            [adapter]
            kind = "generic"
            transmit = [{{ name = "link", phase = [{{ per_byte = "50 ns", medium = true }}] }}]
            receive = [{{ name = "store", phase = [{{ fixed = "5 us" }}] }}]
            [admission]
            formula = "off"
            [node.a]
            [node.b]
            adapter = {{ {left} = {{ transmit = [{{ name = "fetch", phase = [{{ fixed = "1 us" }}] }}, {{ name = "link", phase = [{{ per_byte = "50 ns", medium = true }}] }}] }}, {right} = {{}} }}
            [node.c]
            [network.near]
            joins = ["a", "b.{left}"]
            [network.far]
            joins = ["b.{right}", "c"]
            [run]
            time = "95 ms"
            [[channel]]
            name = "over"
            class = "best_effort"
            route = ["a", "b", "c"]
            max_message = "1000 B"
            burst = 1
            source = {{ kind = "periodic", interval = "10 ms" }}
            [[channel]]
            name = "back"
            class = "best_effort"
            from = "b"
            to = "a"
            max_message = "1000 B"
            burst = 1
            source = {{ kind = "periodic", interval = "10 ms" }}
            "#
        );
        let scenario = Scenario::from_text("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
        let mut ways = Ways::default();
        let run = observe(&scenario.first(), &mut ways, None);
        assert_eq!([0, 1].map(|n| run.channels[n].delivered), [Some(10), Some(10)]);
        let seen = |channel: u64| -> Vec<Vec<String>> {
            let own = ways.flows.iter().filter(|(id, _)| *id >> 40 == channel);
            own.map(|(_, flow)| flow.iter().map(|(_, track, _)| named(&ways, *track).to_string()).collect())
                .collect()
        };
        let (link, passed) = (|name: &str| format!("node b link {name}"), |channel| seen(channel).remove(0));
        assert_eq!(passed(0), ["node a cpu", "node a link", "node b cpu", &link(right), "node c cpu"]);
        assert_eq!(passed(1), ["node b cpu", &link(left), "node a cpu"]);
        let at = |stage: &str, name: &str| {
            let found = run.stages.iter().find(|found| found.name == format!("{stage}@b.{name}"));
            found.and_then(|stage| stage.served.as_ref()).map_or(0, |served| served.count)
        };
        let counts =
            [("fetch", left), ("link", left), ("rx store", left), ("link", right), ("rx store", right)];
        assert_eq!(counts.map(|(stage, name)| at(stage, name)), [10, 10, 10, 10, 0]);
    }
}
