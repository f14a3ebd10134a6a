//! Adapters of stages that go by another order than their host: all of real time is one level
//! there, whatever order that is, or each channel has its rate.

use laxity_admission::Formula;
use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::promise::{self, Promise};

/// Those that set real time before best effort without a rate.
const ORDERS: [&str; 9] =
    ["virtual_clock", "wfq", "wf2q_plus", "scfq", "sfq", "hsfq", "drr", "fifo_plus", "hop_laxity"];

/// A host before an adapter of two stages, the second in an order of its own.
fn scenario(paradigm: &str, order: &str, share: &str) -> String {
    let channel = |name: &str, interval: u64, deadline: u64| {
        format!(
            r#"
[[channel]]
name = "{name}"
class = "real_time"
max_message = "8 KiB"
burst = 2
min_interval = "{interval} ms"
deadline = "{deadline} ms"
source = {{ kind = "periodic" }}
"#
        )
    };
    let channels = channel("often", 20, 20) + &channel("seldom", 50, 50) + &channel("long", 90, 80);
    format!(
        r#"title = "a test"
[host]
profile = "mc68040"
speedup = 10
subsystem = {{ packet = "4 KiB", preemption = 4, link = {{ paradigm = {paradigm} }} }}
[adapter]
kind = "generic"
transmit = [
  {{ name = "fetch", queue = [{{ takes = "real_time" }}, {{ takes = "best_effort", priority = 1 }}], phase = [{{ fixed = "10 us", per_byte = "5 ns" }}] }},
  {{ name = "link", queue = [{order}], phase = [{{ fixed = "20 us", per_byte = "20 ns", medium = true }}] }},
]
[run]
time = "1 s"
{channels}
[[channel]]
name = "flood"
class = "best_effort"
max_message = "16 KiB"
burst = 4
{share}
source = {{ kind = "continuous" }}
"#
    )
}

/// The promises, or why there are none.
fn bounds(text: &str) -> Result<Vec<Span>, &'static str> {
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}{text}"));
    let promises = promise::promises(&scenario.first(), Formula::Corrected).map_err(|why| why.sentence())?;
    let real_time = promises.channels.iter().filter(|promise| !matches!(promise, Promise::BestEffort));
    real_time
        .map(|promise| match promise {
            Promise::Admitted(hops) => Ok(hops[0].bound.bound),
            Promise::Unbounded(why, _) => Err(why.sentence()),
            other => panic!("{other:?}\n{text}"),
        })
        .collect()
}

fn one_queue(order: &str) -> String {
    format!("{{ order = \"{order}\" }}")
}

fn apart(order: &str) -> String {
    format!("{{ takes = \"real_time\", order = \"{order}\" }}, {{ takes = \"best_effort\", priority = 1 }}")
}

/// One level is one level: each of these orders has the bounds of first come, first served, where
/// that keeps best effort behind, and no better ones than the order of the host.
#[test]
fn each_order_is_as_good_as_another() {
    for paradigm in ["\"O1\", depth = 4", "\"O2\", depth = 4", "\"O3\", depth = 4", "\"adapter\""] {
        let of = |queues: &str| {
            bounds(&scenario(paradigm, queues, ""))
                .unwrap_or_else(|why| panic!("{paradigm}, {queues}: {why}"))
        };
        let first = of(&one_queue(ORDERS[0]));
        for order in ORDERS {
            assert_eq!(of(&one_queue(order)), first, "{paradigm}, {order}");
            assert_eq!(of(&apart(order)), first, "{paradigm}, {order}");
        }
        // The last in the host's order waits for all, whatever the adapter's is.
        let by_deadline = of(&one_queue("edf"));
        assert!(
            by_deadline.iter().zip(&first).all(|(host, alike)| host <= alike),
            "{by_deadline:?} {first:?}"
        );
        // Without a window the first stage, if it is first in, first out, has made one level of all
        // already.
        let some = by_deadline.iter().zip(&first).any(|(host, alike)| host < alike);
        assert_eq!(some, paradigm != "\"adapter\"", "{by_deadline:?} {first:?}");
        assert!(first.iter().all(|bound| *bound == first[0]), "{first:?}");
    }
    let alike = |queues: &str| bounds(&scenario("\"adapter\"", queues, ""));
    assert_eq!(alike(&apart("fifo")), alike(&apart("virtual_clock")));
}

/// Best effort with a rate is served between guaranteed packets, except in a queue of its own, or
/// where the order uses no rates.
#[test]
fn best_effort_with_a_rate_needs_a_queue_of_its_own() {
    const SHARE: &str = "share = \"1 Mbit/s\"";
    for order in ORDERS {
        let of = |queues: &str, share: &str| bounds(&scenario("\"O1\", depth = 4", queues, share));
        assert_eq!(of(&apart(order), SHARE), of(&apart(order), ""), "{order}");
        let by_rate = !["fifo_plus", "hop_laxity"].contains(&order);
        let expected = match by_rate {
            true => Err("best effort with a rate of its own passes real time within the adapter"),
            false => of(&one_queue(order), ""),
        };
        assert_eq!(of(&one_queue(order), SHARE), expected, "{order}");
    }
    // Each packet that the adapter has at once is soon gone again, if the host is slower: best
    // effort with a rate, too.
    let slow = scenario("\"adapter\"", &one_queue("scfq"), SHARE).replace("speedup = 10\n", "");
    assert!(bounds(&slow).is_ok());
}

/// `text` with a host that is slow enough for the first stage, and deadlines longer than the
/// intervals.
fn patient(text: &str) -> String {
    let text = text.replace("speedup = 10\n", "speedup = 5\n");
    let later = |text: String, (from, to)| {
        text.replace(&format!("deadline = \"{from} ms\""), &format!("deadline = \"{to} ms\""))
    };
    let text = text.replace("[run]", "[admission]\ntest = \"demand\"\n[run]");
    [(20, 60), (50, 120), (80, 240)].into_iter().fold(text, later)
}

/// Each of those that keep rates apart promises a channel its rate, whatever others send, where an
/// adapter that has each packet as it is made would be full of best effort. Beside any share of it
/// that there is room for under VirtualClock it is the same, and where one level is enough the less
/// of both is promised.
#[test]
fn stages_by_rates_promise_a_rate() {
    let of = |queues: &str, share: &str| bounds(&patient(&scenario("\"adapter\"", queues, share)));
    let share = |rate: &str| format!("share = \"{rate} Mbit/s\"");
    for order in ORDERS.into_iter().filter(|order| !["fifo_plus", "hop_laxity"].contains(order)) {
        let alone = of(&one_queue(order), "").unwrap_or_else(|why| panic!("{order}: {why}"));
        let beside = of(&one_queue(order), &share("1")).unwrap_or_else(|why| panic!("{order}: {why}"));
        assert!(
            alone.iter().zip(&beside).all(|(alone, beside)| alone < beside),
            "{order}: {alone:?} {beside:?}"
        );
        // A message takes its interval by a clock of its own, or all of it but a packet where that
        // counts from beginnings, and not twice that.
        let intervals = [20, 50, 90].map(Span::from_ms);
        let within = |(bound, interval): (&Span, Span)| *bound > interval / 2 && *bound < interval * 2;
        assert!(order == "drr" || beside.iter().zip(intervals).all(within), "{order}: {beside:?}");
    }
    let by_clock = |rate: &str| of(&one_queue("virtual_clock"), &share(rate));
    assert!(by_clock("1").is_ok());
    assert_eq!(by_clock("1"), by_clock("100"));
    // A queue of its own behind real time takes no time from it, whatever its share.
    assert_eq!(of(&apart("virtual_clock"), &share("100")), of(&apart("virtual_clock"), ""));
}
