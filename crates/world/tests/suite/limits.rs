//! Contracts of several limits: bounds of FIFO queues beside exact timelines by hand.

use laxity_admission::Formula;
use laxity_world::conforms;
use laxity_world::promise;
use laxity_world::run;

use super::fifo::{HEAD, STAR, bound_and_worst, bounds_and_channels, channel, of, promises, why};

/// Frames of 1500 B from a node to `r` with that burst, interval in us and further limits. A frame
/// takes a link 120 us. The deadline is 40 ms.
fn train(name: &str, from: &str, (burst, interval): (u32, u32), limits: &str) -> String {
    channel(name, from, "r", "1462 B", "40 ms")
        .replace("burst = 1", &format!("burst = {burst}"))
        .replace("min_interval = \"4 ms\"", &format!("min_interval = \"{interval} us\"\n{limits}"))
        .replace("periodic", "adversary")
}

/// A frame of 500 B each 40 ms, sent a picosecond after the start.
fn other(from: &str) -> String {
    let other = channel("other", from, "r", "462 B", "40 ms").replace("4 ms", "40 ms");
    other.replace("\"periodic\"", "\"periodic\", phase = \"1 ps\"")
}

const DISTANCE: &str = "limits = [{ burst = 1, min_interval = \"125 us\" }]";

/// At the host a frame waits 120 us for one frame of a train of forty, and not 4.8 ms for all. At
/// the switch frames of one link wait for the longest of them.
///
/// 0 to 120 us: train 1 at the host. 120 to 160 us: the other frame. 120 to 240 us: train 1 at the port.
/// 240 to 280 us: the other frame.
#[test]
fn a_frame_waits_for_one_of_a_train_at_a_distance() {
    let of = |limits: &str| {
        bound_and_worst(&[HEAD, STAR, &train("train", "a", (40, 1000), limits), &other("a")].concat())
    };
    let [train, other] = of(DISTANCE)[..] else { panic!("two channels") };
    assert_eq!(other, (280.0, 280.0));
    assert!(train.1 <= train.0 && train.0 <= 320.0, "{train:?}");
    let all = 40.0 * 120.0 + 40.0 + 120.0;
    assert_eq!(of("")[1], (all, all));
}

/// A source that sends all forty at once does not keep the distance. It keeps the rest of its contract, and
/// has the bounds of that.
#[test]
fn a_limit_that_the_source_does_not_keep_takes_no_bound() {
    let of = |limits: &str| {
        let burst = train("train", "a", (40, 1000), limits).replace("adversary", "bursty");
        bound_and_worst(&[HEAD, STAR, &burst, &other("a")].concat())
    };
    assert_eq!(of(DISTANCE), of(""));
}

/// The same from another host: over links of 1 Gbit/s all forty frames are at the port at once.
#[test]
fn a_train_from_another_host_is_short_where_links_are_fast() {
    let fast = STAR.replace(
        "joins = [\"s\", \"a\", \"b\", \"r\"]",
        "rate = \"1 Gbit/s\"\njoins = [\"s\", \"a\", \"b\"]\n[network.out]\njoins = [\"s\", \"r\"]",
    );
    let head = HEAD.replacen("rate = \"100 Mbit/s\"", "rate = \"1 Gbit/s\"", 1);
    let of = |limits: &str| {
        bound_and_worst(&[&*head, &fast, &train("train", "a", (40, 1000), limits), &other("b")].concat())
    };
    let [_, short] = of(DISTANCE)[..] else { panic!("two channels") };
    // 4 us at the host, and 120 + 40 us at the port, where the hull of steps adds little.
    assert!((164.0..170.0).contains(&short.0), "{short:?}");
    let [_, long] = of("")[..] else { panic!("two channels") };
    // Forty frames of 120 us arrive within 480 us.
    assert!((4360.0..4900.0).contains(&long.0), "{long:?}");
}

/// Three flows of a frame each 250 us are more than a link carries. With at most eight at once and
/// one each 2 ms on average they are a sixth of it, wherever their hosts hold them.
#[test]
fn a_longer_average_leaves_room() {
    let average = "limits = [{ burst = 8, min_interval = \"2 ms\" }]";
    let star = STAR.replace("[node.b]", "[node.b]\n[node.c]").replace("\"b\"", "\"b\", \"c\"");
    let held = HEAD.replace("cpu = \"fifo\"", "cpu = \"multiclass_edf\"");
    let by_deadline = held.replace("order = \"fifo\"", "order = \"edf\"");
    let ahead = by_deadline.replace("order = \"edf\"", "order = \"edf\", horizon = \"50 us\"");
    for head in [HEAD, &held, &by_deadline, &ahead] {
        let all = |limits: &str| {
            let all = ["a", "b", "c"].map(|from| train(from, from, (1, 250), limits)).concat();
            [head, &star, &all].concat()
        };
        let refuses = |text: &str| promises(&of(text)).iter().any(|promise| promise.is_refused());
        assert!(refuses(&all("")));
        // The first limit alone holds of a source that sends more than the average.
        let beyond = all(average).replace("adversary\"", "periodic\"");
        assert!(head == HEAD || refuses(&beyond));
        // The port has 24 frames within 1.75 ms, and sends 14 of them by then. At most five
        // more wait: one of each host, and two at its own host.
        for (bound, worst) in bound_and_worst(&all(average)) {
            assert!(1000.0 < worst && worst <= bound && bound <= 1200.0 + 5.0 * 120.0, "{worst} {bound}");
        }
    }
}

/// A message stays at the host for 160 us at most, in which two arrive. Without a distance forty
/// can be there.
#[test]
fn a_train_at_a_distance_needs_few_slots() {
    let refuses = |limits: &str, slots: u32| {
        let train = train("train", "a", (40, 1000), limits);
        let train = train.replace("burst = 40", &format!("burst = 40\nmessage_slots = {slots}"));
        let found = promises(&of(&[HEAD, STAR, &train, &other("a")].concat()));
        found.iter().any(|promise| promise.is_refused())
    };
    assert!(refuses(DISTANCE, 1) && !refuses(DISTANCE, 2));
    assert!(refuses("", 39) && !refuses("", 45));
}

/// A port by deadlines behind a FIFO host holds messages until their logical arrival. Of forty
/// within 4.9 ms it has sent six at most by then.
#[test]
fn early_messages_wait_behind_a_queue() {
    let by_deadline = STAR.replace("order = \"fifo\"\n", "");
    let found = run(&of(&[HEAD, &by_deadline, &train("train", "a", (40, 1000), DISTANCE)].concat()));
    let of = &found.channels[0];
    let (bound, backlog) = (of.backlog_bound.expect("a bound"), of.backlog.expect("packets were counted"));
    assert!(found.exceeded().count() == 0 && backlog <= bound, "{backlog} of {bound}");
    assert!((34..=40).contains(&backlog), "{backlog}");
}

/// A source keeps its contract by all limits. A FIFO queue behind its host has a bound if it keeps the first.
#[test]
fn a_source_keeps_all_limits() {
    let average = "limits = [{ burst = 50, min_interval = \"2 ms\" }]";
    let keeps = |limits: &str, source: &str| {
        let text = train("train", "a", (40, 1000), limits).replace("{ kind = \"adversary\" }", source);
        let text = [HEAD, STAR, &text].concat();
        let keeps = conforms(&of(&text).channels[0]);
        let found = promise::promises(&of(&text), Formula::Corrected);
        let bound = found.ok().and_then(|found| found.channels[0].delivery_bound());
        assert_eq!(source.contains("poisson"), bound.is_none(), "{limits} {source}");
        assert!(bound.is_some() || why(&text).contains("passes excess on"));
        keeps
    };
    let script = |at: &[u64]| {
        let at: Vec<String> = at.iter().map(|us| format!("{{ at = \"{us} us\" }}")).collect();
        format!("{{ kind = \"script\", messages = [{}] }}", at.join(", "))
    };
    for (source, by) in [
        ("{ kind = \"adversary\" }", [true, true, true]),
        ("{ kind = \"adversary\", burst = 2 }", [true, true, true]),
        ("{ kind = \"periodic\" }", [true, true, false]),
        ("{ kind = \"periodic\", interval = \"2 ms\" }", [true, true, true]),
        ("{ kind = \"periodic\", interval = \"2 ms\", multiple = 1.5 }", [true, true, false]),
        ("{ kind = \"bursty\" }", [true, false, false]),
        ("{ kind = \"bursty\", burst = 2, interval = \"4 ms\" }", [true, false, true]),
        ("{ kind = \"poisson\" }", [false, false, false]),
        (&script(&[0, 125, 250]), [true, true, true]),
        (&script(&[0, 125, 249]), [true, false, true]),
    ] {
        assert_eq!(["", DISTANCE, average].map(|limits| keeps(limits, source)), by, "{source}");
    }
}

/// A flow meter and a regulator go by the burst and the interval. So a meter passes all, and behind
/// a regulator the bound is that without further limits.
#[test]
fn meters_and_regulators_go_by_the_first_limit() {
    let met = STAR.replace("order = \"fifo\"", "order = \"fifo\"\npolicing = \"1 ms\"");
    let regulated = STAR.replace("order = \"fifo\"", "order = \"strict_priority\"\nats = [{ level = 0 }]");
    let of = |star: &str, limits: &str| {
        bound_and_worst(&[HEAD, star, &train("train", "a", (4, 1000), limits), &other("a")].concat())[1].0
    };
    assert_eq!(of(&met, DISTANCE), 280.0);
    assert_eq!(of(&regulated, DISTANCE), of(&regulated, ""));
}

/// Of three messages at once two keep the burst, and one of them the distance. A host that holds messages
/// promises a bound for the first limit alone.
#[test]
fn messages_beyond_a_further_limit_are_beyond_the_contract() {
    let due = |limits: &str| {
        let three = train("three", "a", (2, 1000), limits);
        let three = three.replace(
            "{ kind = \"adversary\" }",
            "{ kind = \"script\", messages = [{ at = \"0 us\", count = 3 }, { at = \"5 ms\" }] }",
        );
        let head = HEAD.replace("cpu = \"fifo\"", "cpu = \"multiclass_edf\"").replace("40 ms", "80 ms");
        let (bound, channel) = bounds_and_channels(&[&head, STAR, &three].concat()).remove(0);
        assert_eq!(bound, Some(240.0));
        channel.due_messages
    };
    assert_eq!([due(""), due(DISTANCE)], [Some(3), Some(2)]);
}
