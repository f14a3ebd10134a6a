//! Channels that answer others, by hand.

use laxity_scenario::Scenario;
use laxity_world::promise::{ExchangeBounds, Unanswered, exchange_bounds, of_channels};
use laxity_world::results::{Channel, Run};
use laxity_world::run;

use laxity_admission::Formula;
use laxity_units::Span;
use laxity_world::experiment::Experiment;

use crate::common::free;

/// `a`, `b` and `c` at a switch; a packet of 1250 B takes 100 us on each link, so a message 200 us.
fn read(formula: &str, network: &str, channels: &[String]) -> Experiment {
    let text = format!(
        "title = \"loops\"\n[host]\nprofile = \"mc68040\"\ncosts = {{ {} }}\n\
         subsystem = {{ packet = \"1250 B\" }}\n[adapter]\nkind = \"null\"\nrate = \"100 Mbit/s\"\n\
         [node.a]\n[node.b]\n[node.c]\n[node.s]\nkind = \"switch\"\n[network.all]\nrate = \"100 Mbit/s\"\n\
         joins = [\"s\", \"a\", \"b\", \"c\"]\n{network}\n[run]\ntime = \"1 s\"\n\
         [admission]\nformula = \"{formula}\"\ntest = \"demand\"\n{}",
        free(),
        channels.concat()
    );
    Scenario::from_text("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}{text}")).first()
}

/// A channel of packets, guaranteed if it has a burst and an interval in microseconds.
fn channel(name: &str, ends: &str, contract: Option<(u32, u32)>, source: &str) -> String {
    let (from, to) = ends.split_at(1);
    let class = match contract {
        None => "class = \"best_effort\"\nburst = 8".to_string(),
        Some((burst, interval)) => format!(
            "class = \"real_time\"\nburst = {burst}\nmin_interval = \"{interval} us\"\ndeadline = \"20 ms\""
        ),
    };
    format!(
        "[[channel]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{class}\nmax_message = \"1250 B\"\n\
         source = {{ {source} }}\n"
    )
}

fn after(name: &str) -> String {
    format!("kind = \"rounds\", after = \"{name}\"")
}

fn by_name<'a>(run: &'a Run, name: &str) -> &'a Channel {
    run.channels.iter().find(|channel| channel.name == name).unwrap_or_else(|| panic!("no {name}"))
}

/// The shortest and the longest exchange in microseconds, and how many there were.
fn exchanges(channel: &Channel) -> (u64, u64, u64) {
    let us = |seconds: f64| (seconds * 1e6).round() as u64;
    let all = channel.response.as_ref().expect("an answer");
    assert_eq!(channel.response_worst.map(us), Some(us(all.max)));
    (us(all.min), us(all.max), all.count)
}

fn mean_round(channel: &Channel) -> Option<f64> {
    channel.round_mean.map(|seconds| (seconds * 1e10).round() / 1e4)
}

fn us(n: u64) -> Span {
    Span::from_us(n)
}

/// The bounds of the exchange that `name` ends.
fn bounds(experiment: &Experiment, name: &str) -> Result<ExchangeBounds, Unanswered> {
    let promises = of_channels(experiment, Some(Formula::Corrected));
    let i = experiment.channels.iter().position(|channel| channel.name == name).expect("the channel");
    exchange_bounds(experiment, &promises, &experiment.exchange(i).expect("an exchange"))
}

/// Without a contract a loop goes round in 400 us: 2500 times a second, of which the last ends with the run.
#[test]
fn a_loop_without_a_contract_goes_as_fast_as_it_can() {
    let channels =
        [channel("there", "ab", None, &after("back")), channel("back", "ba", None, &after("there"))];
    let run = run(&read("off", "", &channels));
    let back = by_name(&run, "back");
    assert_eq!(exchanges(back).0, 400);
    assert_eq!((exchanges(back).1, mean_round(back)), (400, Some(400.0)));
    assert!((2499..=2500).contains(&exchanges(back).2), "{}", exchanges(back).2);
    assert!(by_name(&run, "there").response.is_none());
}

/// With a message a millisecond each way, the first round takes 400 us, and the others wait for the contract
/// of the first channel: they end at 1.4 ms, 2.4 ms …
#[test]
fn a_loop_keeps_the_contracts_of_its_channels() {
    let contract = Some((1, 1000));
    let channels =
        [channel("there", "ab", contract, &after("back")), channel("back", "ba", contract, &after("there"))];
    let experiment = read("corrected", "", &channels);
    let run = run(&experiment);
    let back = by_name(&run, "back");
    assert_eq!(exchanges(back), (400, 1000, 1000));
    assert_eq!(mean_round(back), Some(999.4));
    assert_eq!(by_name(&run, "there").on_time, Some(1.0));
    // Both ways have a bound of 200 us. The first channel may have to wait for its contract.
    let found = ExchangeBounds { response: us(1000 + 200 + 200), round: Some(us(1000)) };
    assert_eq!(bounds(&experiment, "back"), Ok(found));
    assert_eq!((back.response_bound, back.round_bound), (Some(1.4e-3), Some(1e-3)));
}

/// Three channels in a circle, with bounds that are longer than the contracts' intervals: 600 us.
#[test]
fn a_loop_is_no_slower_than_the_sum_of_its_bounds() {
    let contract = Some((1, 500));
    let channels = [
        channel("one", "ab", contract, &after("three")),
        channel("two", "bc", contract, &after("one")),
        channel("three", "ca", contract, &after("two")),
    ];
    let experiment = read("corrected", "", &channels);
    let run = run(&experiment);
    let three = by_name(&run, "three");
    assert_eq!((exchanges(three).1, mean_round(three)), (600, Some(600.0)));
    let found = ExchangeBounds { response: us(500 + 3 * 200), round: Some(us(600)) };
    assert_eq!(bounds(&experiment, "three"), Ok(found));
    // A part of the loop.
    assert!(by_name(&run, "two").response_bound.is_none());
}

/// Two messages at once arrive logically 1 ms apart, and the host holds the second until then. They are
/// delivered after 0.2 and 1.2 ms, and answered after 1.4 ms. The next two, of 2 and 3 ms, are answered at
/// 3.4 ms, which is as soon as the contract of the answers allows.
#[test]
fn rounds_of_several_messages_keep_the_contract() {
    let channels = [
        channel("there", "ab", Some((2, 1000)), &format!("{}, outstanding = 2", after("back"))),
        channel("back", "ba", Some((1, 2000)), &after("there")),
    ];
    let experiment = read("corrected", "", &channels);
    let run = run(&experiment);
    let back = by_name(&run, "back");
    assert_eq!(exchanges(back), (1400, 2000, 500));
    assert_eq!(mean_round(back), Some(f64::from(1400 + 499 * 2000) / 500.0));
    // One interval between the messages of a round, two for a whole burst ahead, and the bounds.
    let found = ExchangeBounds { response: us(1000 + 2 * 1000 + 200 + 200), round: Some(us(2000)) };
    assert_eq!(bounds(&experiment, "back"), Ok(found));
}

/// Requests each millisecond, and answers to answers: each exchange takes 200 us a channel.
#[test]
fn a_line_of_answers_takes_the_sum_of_its_bounds() {
    let contract = Some((1, 1000));
    let channels = [
        channel("ask", "ab", contract, "kind = \"periodic\""),
        channel("pass", "bc", contract, &after("ask")),
        channel("tell", "ca", Some((1, 500)), &after("pass")),
    ];
    let experiment = read("corrected", "", &channels);
    let run = run(&experiment);
    assert_eq!(exchanges(by_name(&run, "pass")), (400, 400, 1000));
    assert_eq!(exchanges(by_name(&run, "tell")), (600, 600, 1000));
    assert_eq!(bounds(&experiment, "tell"), Ok(ExchangeBounds { response: us(600), round: None }));
    assert_eq!(mean_round(by_name(&run, "tell")), None);
}

/// Answers that are allowed each 2 ms fall behind requests each millisecond: without end.
#[test]
fn answers_that_fall_behind_have_no_bound() {
    let channels = [
        channel("ask", "ab", Some((1, 1000)), "kind = \"periodic\""),
        channel("tell", "ba", Some((1, 2000)), &after("ask")),
    ];
    let experiment = read("corrected", "", &channels);
    assert_eq!(bounds(&experiment, "tell"), Err(Unanswered::Slow(1)));
    let run = run(&experiment);
    let (least, most, count) = exchanges(by_name(&run, "tell"));
    assert_eq!((least, count), (400, 500));
    assert!(most > 400_000, "{most}");
}

/// The program has a message from 200 to 1200 us. Then it has room for the second of a round, and the third
/// is lost. A loop without a loss goes on, and a line as well.
#[test]
fn a_loop_stops_when_a_message_is_lost() {
    let there = channel("there", "ab", None, &format!("{}, outstanding = 3", after("back")));
    let back = channel("back", "ba", None, &after("there"));
    let slow = there.replace("burst", "reader = { work = \"1 ms\", slots = 1 }\nburst");
    let stopped = |first: &String| {
        let run = run(&read("off", "", &[first.clone(), back.clone()]));
        (by_name(&run, "back").round_stopped.map(|seconds| (seconds * 1e6).round()), run.misses_deadlines())
    };
    assert_eq!(stopped(&there), (None, false));
    assert_eq!(stopped(&slow), (Some(1200.0), true));
    let line = slow
        .replace(&after("back"), "kind = \"bursty\", burst = 3, interval = \"1 ms\"")
        .replace(", outstanding = 3", "");
    assert_eq!(stopped(&line), (None, false));
}

/// A channel that answers one of a loop may fall behind it, and a channel without a guarantee has no bound.
#[test]
fn what_has_no_bound_says_why() {
    let contract = Some((1, 1000));
    let channels = [
        channel("there", "ab", contract, &after("back")),
        channel("back", "ba", contract, &after("there")),
        channel("aside", "bc", contract, &after("there")),
        channel("log", "ba", None, &after("there")),
    ];
    let experiment = read("corrected", "", &channels);
    let why = |name: &str| bounds(&experiment, name);
    assert_eq!((why("aside"), why("log")), (Err(Unanswered::Branch), Err(Unanswered::Unbounded(3))));
    assert_eq!(
        Unanswered::EndsEarly(0).in_words(&experiment, &experiment.exchange(1).unwrap()),
        "the bound of `there` ends before its receiver"
    );
}

/// Of requests of which a network loses some, the others are answered, each after 400 us.
#[test]
fn a_lost_request_has_no_answer() {
    let channels = [
        channel("ask", "ab", None, "kind = \"periodic\", interval = \"1 ms\""),
        channel("tell", "ba", None, &after("ask")),
    ];
    let run = run(&read("off", "impairments = { loss = 0.2 }", &channels));
    let (asked, told) = (by_name(&run, "ask"), by_name(&run, "tell"));
    assert_eq!(asked.delivered, Some(told.messages));
    assert_eq!((exchanges(told).0, exchanges(told).1), (400, 400));
    assert!(told.messages < 900 && exchanges(told).2 < told.messages, "{}", told.messages);
}
