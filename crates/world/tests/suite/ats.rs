//! Asynchronous traffic shaping of ports: bounds beside exact timelines by hand.

use laxity_units::Span;
use laxity_world::promise::Promise;
use laxity_world::run;

use super::fifo::{HEAD, STAR, bound_and_worst, channel, of, promises, why};

/// A channel between nodes that sends at each of these times in us, one message an interval.
fn sends(name: &str, nodes: [&str; 2], size: u32, interval: u32, at: &[f64]) -> String {
    let at: Vec<String> = at.iter().map(|us| format!("{{ at = \"{us} us\" }}")).collect();
    let script = format!("script\", messages = [{}]", at.join(", "));
    channel(name, nodes[0], nodes[1], &format!("{size} B"), "4 ms")
        .replace("min_interval = \"4 ms\"", &format!("min_interval = \"{interval} us\""))
        .replace("periodic\"", &script)
}

fn regulated(text: &str, keys: &str) -> String {
    text.replace("order = \"fifo\"\n", &format!("order = \"strict_priority\"\n{keys}"))
}

const LEVEL: &str = "ats = [{ level = 0 }]\n";

/// Both frames leave their hosts after 40 us and the port after 80 and 120 us. Frames of one host could
/// be released together, so the bound counts both frames twice.
#[test]
fn a_port_adds_its_own_wait() {
    let star = regulated(STAR, LEVEL);
    let sends = |from| sends("b", [from, "r"], 462, 4000, &[0.0]);
    let found =
        bound_and_worst(&[HEAD, &star, &channel("a", "a", "r", "462 B", "4 ms"), &sends("b")].concat());
    assert_eq!(found.iter().map(|(bound, _)| *bound).collect::<Vec<_>>(), [120.0, 120.0]);
    assert_eq!(found.iter().map(|(_, worst)| *worst).fold(0.0, f64::max), 120.0);
    let found =
        bound_and_worst(&[HEAD, &star, &channel("a", "a", "r", "462 B", "4 ms"), &sends("a")].concat());
    assert_eq!(found.iter().map(|(bound, _)| *bound).collect::<Vec<_>>(), [160.0, 160.0]);
    assert_eq!(found.iter().map(|(_, worst)| *worst).fold(0.0, f64::max), 120.0);
}

/// Two switches in a line: `a` and `b` at the first, `r` and `x` at the second.
const LINE: &str = r#"[node.a]
[node.b]
[node.r]
[node.x]
[node.s]
kind = "switch"
order = "fifo"
[node.t]
kind = "switch"
order = "fifo"
[network.left]
joins = ["s", "a", "b"]
[network.trunk]
joins = ["s", "t"]
[network.right]
joins = ["t", "r", "x"]
"#;

/// Frames of `a` are at the first switch 121 and 221 us after the start, and a frame of 120 us of `b`
/// 1 us before. They leave it by 280 and 320 us. The second switch releases the second frame an interval
/// of 100 us after the first, less the picosecond of a rounded period, so each takes 239 us until 320
/// and 420 us. Without a regulator the second takes 179 us.
#[test]
fn a_regulator_restores_the_distance_of_frames() {
    let late = sends("a", ["a", "r"], 462, 100, &[81.0, 181.0]);
    let both = [late.clone(), sends("b", ["b", "x"], 1462, 4000, &[0.0])].concat();
    let found = bound_and_worst(&[HEAD, &regulated(LINE, LEVEL), &both].concat());
    // 40 us at the host, 160 us at the first port, and 40 us at the second.
    assert_eq!(found[0], (240.0, 239.0));
    let mean =
        |text: &str| run(&of(text)).channels[0].delivery.as_ref().expect("messages arrived").mean * 1e6;
    assert!((mean(&[HEAD, &regulated(LINE, LEVEL), &both].concat()) - 239.0).abs() < 1e-5);
    assert!((mean(&[HEAD, &regulated(LINE, ""), &both].concat()) - 209.0).abs() < 1e-5);
}

/// A second message of `a` at 181 us waits in the regulator of the second switch, and so does a frame of
/// `c`, which came over the same link behind it; one of `x`, which is at the second switch, does not.
#[test]
fn frames_of_one_link_keep_their_order() {
    let keys = "[network.left]\njoins = [\"s\", \"a\", \"b\", \"c\"]";
    let line = regulated(LINE, LEVEL).replace("[network.left]\njoins = [\"s\", \"a\", \"b\"]", keys);
    let line = line
        .replace("[node.x]", "[node.x]\n[node.c]\n[node.y]")
        .replace("\"r\", \"x\"", "\"r\", \"x\", \"y\"");
    let sent = [
        sends("a", ["a", "r"], 462, 100, &[81.0, 181.0]),
        sends("b", ["b", "y"], 1462, 4000, &[0.0]),
        sends("c", ["c", "r"], 462, 4000, &[182.0]),
        sends("x", ["x", "r"], 462, 4000, &[300.0]),
    ];
    let found = bound_and_worst(&[HEAD, &line, &sent.concat()].concat());
    assert!(found.iter().all(|(bound, worst)| worst <= bound), "{found:?}");
    // The frame of `c` leaves the first switch at 360 us, is released with the one before, at 380 us, and
    // leaves the second at 460 us. The frame of `x` is at the second switch at 340 us, and leaves at once.
    assert_eq!((found[2].1, found[3].1), (460.0 - 182.0, 80.0));
    // A frame of another level has a regulator of its own: it is at the second switch at 360 us, where
    // the second of `a` waits from 320 to 380 us, and leaves at once.
    let both = line.replace("ats = [{ level = 0 }]", "ats = [{ level = 0 }, { level = 1 }]");
    let below = |text: &String| text.replace("burst", "level = 1\nburst");
    let sent = [below(&sent[0]), sent[1].clone(), sends("c", ["c", "r"], 462, 4000, &[261.0])];
    let found = bound_and_worst(&[HEAD, &both, &sent.concat()].concat());
    assert!(found.iter().all(|(bound, worst)| worst <= bound), "{found:?}");
    assert_eq!(found[2].1, 400.0 - 261.0, "{found:?}");
}

/// Six switches in a ring, a host at each, and channels over four links of the ring each: `regulated` as
/// their order and keys.
fn ring(order: &str) -> String {
    let mut text = HEAD.to_owned();
    for n in 0..6 {
        let next = (n + 1) % 6;
        text += &format!(
            "[node.h{n}]\n[node.s{n}]\nkind = \"switch\"\n{order}\n[network.at{n}]\njoins = [\"s{n}\", \"h{n}\"]\n[network.ring{n}]\njoins = [\"s{n}\", \"s{next}\"]\n"
        );
    }
    for n in 0..6 {
        let stations: Vec<String> = (0..5).map(|hop| format!("\"s{}\"", (n + hop) % 6)).collect();
        let route = format!("[\"h{n}\", {}, \"h{}\"]", stations.join(", "), (n + 4) % 6);
        let from = channel(&format!("c{n}"), &format!("h{n}"), &format!("h{}", (n + 4) % 6), "462 B", "1 s");
        let from = from.replace("min_interval = \"4 ms\"", "min_interval = \"165 us\"");
        text += &from.replace("from = ", &format!("route = {route}\nfrom = "));
    }
    // The route has both ends.
    let ends = |line: &&str| !line.starts_with("from = ") && !line.starts_with("to = ");
    text.lines().filter(ends).collect::<Vec<_>>().join("\n")
}

/// 40 us at the host, four frames of 40 us at each of four links of the ring, and one at the last port.
/// With FIFO queues the bursts grow around the ring.
#[test]
fn a_ring_has_the_sum_of_its_hops() {
    let found = bound_and_worst(&ring("order = \"strict_priority\"\nats = [{ level = 0 }]"));
    assert!(
        found.iter().all(|(bound, worst)| *bound == 40.0 + 4.0 * 160.0 + 40.0 && worst <= bound),
        "{found:?}"
    );
    let fifo = of(&ring("order = \"fifo\""));
    assert!(promises(&fifo).iter().any(|promise| matches!(promise, Promise::Refused(_))));
}

/// Channels of different hosts that met at a port without regulators share one at the next, which has
/// no bound then. One channel alone has one, and so have channels that came from one host.
#[test]
fn a_regulator_behind_another_queue_has_no_bound() {
    let at_second = LINE.replacen("order = \"fifo\"", "order = \"strict_priority\"", 1);
    let at_second = regulated(&at_second, LEVEL);
    let one = channel("a", "a", "r", "462 B", "4 ms");
    let both = |from| [one.clone(), channel("b", from, "r", "462 B", "4 ms")].concat();
    let reason = why(&[HEAD, &at_second, &both("b")].concat());
    assert!(reason.contains("a regulator has a bound where"), "{reason}");
    let same = bound_and_worst(&[HEAD, &at_second, &both("a")].concat());
    // 80 us at the host, 40 us at the first port, and 80 us at the second.
    assert!(same.iter().all(|(bound, worst)| *bound == 80.0 + 40.0 + 80.0 && worst <= bound), "{same:?}");
    let apart = [one.clone(), channel("b", "b", "x", "462 B", "4 ms")].concat();
    assert!(
        bound_and_worst(&[HEAD, &at_second, &apart].concat()).iter().all(|(bound, worst)| worst <= bound)
    );
}

/// A host under multi-class EDF promises 40 us. It sends by logical arrival, and each of its channels has a
/// regulator of its own, so no message is shifted behind the first port: 40, 80 and 80 us.
#[test]
fn a_host_with_a_table_sends_into_regulators() {
    let edf = r#"cpu = "multiclass_edf""#;
    let head = HEAD.replace(r#"cpu = "fifo", link = { order = "fifo" }"#, edf);
    let both = [channel("a", "a", "r", "462 B", "4 ms"), channel("b", "b", "r", "462 B", "4 ms")].concat();
    let found = bound_and_worst(&[&head[..], &regulated(STAR, LEVEL), &both].concat());
    assert!(found.iter().all(|(bound, worst)| *bound == 120.0 && worst <= bound), "{found:?}");
    let line = bound_and_worst(&[&head[..], &regulated(LINE, LEVEL), &both].concat());
    assert!(line.iter().all(|(bound, worst)| *bound == 40.0 + 80.0 + 80.0 && worst <= bound), "{line:?}");
    // The adapter of such a host gets each packet as the CPU makes it.
    let handed = head
        .replace("cpu = \"multiclass_edf\"", "cpu = \"multiclass_edf\", link = { paradigm = \"adapter\" }");
    let handed = handed.replace(" packet = \"0 us\", link", " packet = \"200 us\", link");
    let twice = [both.clone(), channel("c", "a", "r", "462 B", "4 ms")].concat();
    let handed = of(&[&handed[..], &regulated(LINE, LEVEL), &twice].concat());
    let worst = run(&handed).channels.into_iter().map(|channel| channel.worst.expect("messages are sent"));
    for (promise, worst) in promises(&handed).iter().zip(worst) {
        assert!(worst <= promise.bound().expect("a bound").as_secs_f64(), "{worst} of {promise:?}");
    }
    // The CPU of a host with costs does not keep the order of a link by arrival.
    let mixed = head.replace(edf, "cpu = \"multiclass_edf\", link = { order = \"fifo\" }");
    let costs = mixed.replace(" packet = \"0 us\", link", " packet = \"1 us\", link");
    assert_ne!(costs, mixed);
    assert!(why(&[&costs[..], &regulated(STAR, LEVEL), &both].concat()).contains("in the same queues since"));
}

/// A host in order of arrival sends messages up to a horizon of 2 ms early. The buckets have that much
/// more, 250 B of 500 B each 4 ms, so no frame waits in a regulator: 40 us at the host and 60 us at each
/// port, as of 750 B.
#[test]
fn a_horizon_is_a_tolerance() {
    let early = r#"cpu = "multiclass_edf", link = { order = "fifo" }"#;
    let head = HEAD.replace(r#"cpu = "fifo", link = { order = "fifo" }"#, early);
    let twice = sends("a", ["a", "r"], 462, 4000, &[0.0, 0.0]).replace("burst = 1", "burst = 2");
    let mut experiment = of(&[&head[..], &regulated(LINE, LEVEL), &twice].concat());
    assert_eq!(promises(&experiment)[0].bound(), Some(Span::from_us(40 + 40 + 40)));
    experiment.hosts[0].subsystem.early.horizon = Span::from_ms(2);
    assert_eq!(promises(&experiment)[0].bound(), Some(Span::from_us(40 + 60 + 60)));
    let found = run(&experiment).channels.remove(0);
    assert_eq!(found.delivered, Some(2));
    assert!(found.worst.expect("messages are sent") <= 120e-6, "{found:?}");
}
