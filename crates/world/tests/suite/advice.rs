//! Reasons and advice for channels through FIFO queues and shapers.

use laxity_admission::Formula;
use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::experiment::{Experiment, SourceSpec};
use laxity_world::promise;

use crate::fifo::{HEAD, STAR, channel, of};

/// Two senders at a switch: a frame takes 40 us. `switch` and `a` are lines of the switch and of the
/// first channel in place of those there.
fn two_senders(switch: &str, a: &str) -> Experiment {
    let channel = |name: &str| channel(name, name, "r", "462 B", "4 ms");
    let star = STAR.replace("order = \"fifo\"", switch);
    let first = channel("a").replace("burst = 1\nmin_interval = \"4 ms\"\ndeadline = \"4 ms\"", a);
    let text = [HEAD, &star, &first, &channel("b")].concat();
    Scenario::from_text("two.toml", text).unwrap_or_else(|errors| panic!("{errors}")).first()
}

/// A frame of `a` takes 40 us at its host, and at the switch 40 behind one of `b`. Its own burst of 97 frames
/// is no wait for `a`, because a message counts from its logical arrival.
#[test]
fn a_refusal_names_the_promise_that_would_not_hold() {
    let of = |burst: u32, deadline: &str| {
        let a = format!("burst = {burst}\nmin_interval = \"4 ms\"\ndeadline = \"{deadline}\"\n");
        let experiment = two_senders("order = \"fifo\"", &a);
        let answers = promise::promises(&experiment, Formula::Corrected).unwrap().channels;
        answers.iter().enumerate().map(|(i, answer)| answer.refusal(&experiment, i)).collect::<Vec<_>>()
    };
    assert_eq!(of(1, "120 us"), [None, None]);
    assert_eq!(of(97, "120 us"), [None, None]);
    let [None, Some(reason)] = &of(1, "119 us")[..] else { panic!("{:?}", of(1, "119 us")) };
    assert!(reason.starts_with("with it the promise of `a` would not hold: s.r: deadline: "), "{reason}");
}

fn refusals(text: &str) -> Vec<Option<String>> {
    let experiment = of(text);
    let answers = promise::promises(&experiment, Formula::Corrected).unwrap().channels;
    answers.iter().enumerate().map(|(i, answer)| answer.refusal(&experiment, i)).collect()
}

/// A message of `hasty` waits for 24 frames of `hog`, 960 us, and takes 40. The next one arrives a rounded
/// picosecond before that, and there is a slot for one.
#[test]
fn a_channel_that_takes_the_slots_of_another_is_refused() {
    let beside = |burst: u32| {
        let hasty = channel("hasty", "a", "r", "462 B", "2 ms");
        let hasty = hasty.replace("min_interval = \"4 ms\"", "message_slots = 1\nmin_interval = \"1 ms\"");
        let hog = channel("hog", "a", "r", "462 B", "4 ms");
        let hog = hog.replace(
            "burst = 1\nmin_interval = \"4 ms\"",
            &format!("burst = {burst}\nmin_interval = \"1 s\""),
        );
        refusals(&[HEAD, STAR, &hasty, &hog].concat())
    };
    assert_eq!(beside(23), [None, None]);
    let [None, Some(reason)] = &beside(24)[..] else { panic!("{:?}", beside(24)) };
    assert!(
        reason.starts_with("with it the promise of `hasty` would not hold: a: message slots: "),
        "{reason}"
    );
}

/// A bucket of 200 messages has no more than 200 in the host, of which 100 leave within an interval.
#[test]
fn a_burst_has_room_in_its_own_slots() {
    let long = channel("a", "a", "r", "462 B", "4 ms").replace("burst = 1", "burst = 200");
    assert_eq!(refusals(&[HEAD, STAR, &long].concat()), [None]);
}

/// A frame of 500 B with its header each 1 ms asks for 4 Mbit/s of a slope of 3, of which `b` has one: no
/// less than twice the time does.
#[test]
fn the_interval_of_a_shaped_channel_is_that_of_its_slope() {
    let switch = "order = \"strict_priority\"\nshapers = [{ level = 0, idle_slope = \"3 Mbit/s\" }]";
    let experiment =
        two_senders(switch, "burst = 1\nmin_interval = \"1 ms\"\ndeadline = \"1 ms\"\nlevel = 0");
    let answers = promise::promises(&experiment, Formula::Corrected).unwrap().channels;
    let reason = answers[0].refusal(&experiment, 0).expect("4 Mbit/s are no 3");
    assert!(reason.starts_with("s.r: link: "), "the port shapes, and not the host: {reason}");
    let fit = promise::fit(&experiment, Formula::Corrected, 0, &answers[0]);
    let (interval, deadline) = fit.interval.expect("there is room for it");
    assert!((Span::from_ms(2)..Span::from_ms(4)).contains(&interval), "{interval}");
    let mut changed = experiment;
    changed.channels[0].spec.min_interval = interval;
    changed.channels[0].deadline = deadline;
    changed.channels[0].source = SourceSpec::None;
    let answers = promise::promises(&changed, Formula::Corrected).unwrap().channels;
    assert!(answers.iter().all(|answer| !answer.is_refused()), "{answers:?}");
}
