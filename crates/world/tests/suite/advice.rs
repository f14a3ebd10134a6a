//! Reasons and advice for channels through FIFO queues and shapers.

use laxity_admission::Formula;
use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::experiment::Experiment;
use laxity_world::promise;

/// Two hosts that send over FIFO links and a switch to a third, all at 100 Mbit/s: a frame of 462 B
/// takes 40 us.
fn two_senders(switch: &str, a: &str) -> Experiment {
    let channel = |name: &str, more: &str| {
        format!(
            "[[channel]]\nname = \"{name}\"\nclass = \"real_time\"\nmax_message = \"462 B\"\nroute = [\"{name}\", \"s\", \"r\"]\n\
             source = {{ kind = \"periodic\" }}\n{more}\n"
        )
    };
    let costs = "context_switch cache_miss first_packet packet link_scheduling hand_over interrupt \
                 thread_creation receive_packet receive_message send_call";
    let costs = costs.split(' ').map(|cost| format!("{cost} = \"0 us\"")).collect::<Vec<_>>().join(", ");
    let text = format!(
        "title = \"x\"\nnode = {{ a = {{}}, b = {{}}, r = {{}}, s = {{ kind = \"switch\", {switch} }} }}\n\
         [host]\nprofile = \"mc68040\"\ncosts = {{ {costs} }}\n\
         subsystem = {{ packet = \"1500 B\", cpu = \"fifo\", link = {{ order = \"fifo\" }} }}\n\
         [adapter]\nkind = \"null\"\nrate = \"100 Mbit/s\"\n[run]\ntime = \"1 s\"\n\
         [network]\nrate = \"100 Mbit/s\"\nframing = \"ethernet\"\n[network.all]\njoins = [\"s\", \"a\", \"b\", \"r\"]\n{}{}",
        channel("a", a),
        channel("b", "burst = 1\nmin_interval = \"4 ms\"\ndeadline = \"4 ms\""),
    );
    Scenario::from_text("two.toml", text).unwrap_or_else(|errors| panic!("{errors}")).first()
}

/// A burst of 98 frames takes 3920 us, 40 more at the switch, and 80 behind two frames of `b`.
#[test]
fn a_refusal_names_the_promise_that_would_not_hold() {
    let of = |burst: u32| {
        let a = format!("burst = {burst}\nmin_interval = \"4 ms\"\ndeadline = \"4 ms\"\n");
        let experiment = two_senders("order = \"fifo\"", &a);
        let answers = promise::promises(&experiment, Formula::Corrected).unwrap().channels;
        answers.iter().enumerate().map(|(i, answer)| answer.refusal(&experiment, i)).collect::<Vec<_>>()
    };
    assert_eq!(of(90), [None, None]);
    let [None, Some(reason)] = &of(98)[..] else { panic!("{:?}", of(98)) };
    assert!(reason.starts_with("with it the promise of `a` would not hold: a: deadline: "), "{reason}");
}

/// A frame of 500 B with its header each 1 ms asks for 4 Mbit/s of a slope of 3: a third more time does.
#[test]
fn the_interval_of_a_shaped_channel_is_that_of_its_slope() {
    let switch = "order = \"strict_priority\", shapers = [{ level = 0, idle_slope = \"3 Mbit/s\" }]";
    let experiment =
        two_senders(switch, "burst = 1\nmin_interval = \"1 ms\"\ndeadline = \"1 ms\"\nlevel = 0");
    let answers = promise::promises(&experiment, Formula::Corrected).unwrap().channels;
    assert!(answers[0].is_refused(), "{:?}", answers[0]);
    let fit = promise::fit(&experiment, Formula::Corrected, 0, &answers[0]);
    assert_eq!(fit.interval.map(|(interval, _)| interval), Some(Span::from_us(1340)));
}
