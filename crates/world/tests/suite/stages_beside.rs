//! A host of one core with several adapters of stages: promises and times worked out by hand.

use laxity_admission::{Formula, Reason};
use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::experiment::Experiment;
use laxity_world::promise::{self, Promise};
use laxity_world::run;

/// Host `a` makes a packet of 1000 B in 10 us, starts it in 2 us and serves an interrupt in 3 us; a
/// switch takes no time. It sends to `b` by an adapter of 10 us and 20 us, and to `c` by one of `right`,
/// which are phases of one stage.
fn text(link: &str, right: &str, channels: &[String]) -> String {
    format!(
        r#"title = "adapters of stages"
[host]
profile = "mc68040"
[host.costs]
context_switch = "0 us"
cache_miss = "0 us"
first_packet = "10 us"
single_packet = "10 us"
packet = "10 us"
receive_packet = "0 us"
receive_message = "0 us"
hand_over = "0 us"
link_scheduling = "2 us"
interrupt = "3 us"
response = "0 us"
timer = "0 us"
thread_creation = "5 us"
[host.subsystem]
packet = "1000 B"
link = {{ {link} }}
[adapter]
kind = "null"
per_byte = "1 ns"
[node.a.adapter.left]
kind = "generic"
transmit = [
  {{ name = "fetch", queue = [{{ order = "fifo" }}], phase = [{{ fixed = "10 us" }}] }},
  {{ name = "link", queue = [{{ order = "fifo" }}], phase = [{{ fixed = "20 us", medium = true }}] }},
]
[node.a.adapter.right]
kind = "generic"
transmit = [{{ name = "link", queue = [{{ order = "fifo" }}], phase = {right} }}]
[node.b]
[node.c]
[network.left]
joins = ["a.left", "b"]
[network.right]
joins = ["a.right", "c"]
[run]
time = "1 s"
{}"#,
        channels.concat()
    )
}

fn of_text(text: &str) -> Experiment {
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}{text}"));
    scenario.first()
}

fn experiment(link: &str, right: &str, channels: &[String]) -> Experiment {
    of_text(&text(link, right, channels))
}

/// A channel of packets of 1000 B to that host, sent by `source`.
fn channel(name: &str, to: &str, class: &str, source: &str) -> String {
    let contract = match class {
        "real_time" => "min_interval = \"10 ms\"\ndeadline = \"9 ms\"\n",
        _ => "",
    };
    format!(
        "[[channel]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"{to}\"\nclass = \"{class}\"\nmax_message = \"1000 B\"\nmin_message = \"1000 B\"\nburst = 1\npacket_slots = 8\n{contract}source = {{ {source} }}\n"
    )
}

/// The bound of the first channel at its first host.
fn first_bound(experiment: &Experiment) -> Span {
    let promises = promise::promises(experiment, Formula::Corrected).expect("it is covered").channels;
    match &promises[0] {
        Promise::Admitted(hops) => hops[0].bound.bound,
        other => panic!("there is time for it: {other:?}"),
    }
}

/// When the last bit of the film leaves, after it was sent.
fn worst(link: &str, right: u32) -> Span {
    let at = |times: &[u32]| {
        let messages: Vec<String> = times.iter().map(|at| format!("{{ at = \"{at} us\" }}")).collect();
        format!("kind = \"script\", messages = [{}]", messages.join(", "))
    };
    let channels = [
        channel("film", "b", "real_time", &at(&[995])),
        channel("bulk", "b", "best_effort", &at(&[970])),
        channel("side", "c", "best_effort", &at(&[972, 973])),
    ];
    let run = run(&experiment(link, &format!("[{{ fixed = \"{right} us\" }}]"), &channels));
    run.channels[0].worst.and_then(Span::from_secs_f64).expect("the film is sent")
}

const ONE_STAGE: &str = "[{ fixed = \"40 us\" }]";
const REPORTS: &str = "[{ fixed = \"20 us\", tells = \"progress\" }, { fixed = \"20 us\" }]";

/// The bound of a film of one packet by the left adapter, beside best effort by both, or by the left
/// alone without a `right` adapter.
fn bound(link: &str, right: Option<&str>) -> f64 {
    let mut channels = vec![
        channel("film", "b", "real_time", "kind = \"periodic\""),
        channel("bulk", "b", "best_effort", "kind = \"continuous\""),
    ];
    channels.extend(right.map(|_| channel("side", "c", "best_effort", "kind = \"continuous\"")));
    first_bound(&experiment(link, right.unwrap_or(ONE_STAGE), &channels)).as_secs_f64() * 1e6
}

fn about(bound: f64, expected: f64) {
    assert!((bound - expected).abs() < 0.001, "{bound} for {expected} us");
}

/// A lone film, under O1.
///
/// *One packet in the adapter.* `c = 5 us` and `L = 30 us`, so `α = 35/30`. `W` is a block of 10 us, with
/// `c` once, 30 us of a packet before and its interrupt, and the film's packet on the CPU again: `α (10
/// + 10) + 5 + 30 + 3`. `S = L + c`. Packets of the right adapter are 40 us apart, each `α 5 us`: two and
/// one for each 40 us. With a report of progress each is `α 8 us`.
///
/// *Two packets.* Stages and host are side by side, with 20 us for a packet. 15 us fill the stages and 5
/// us start the first packet. Completions are 20 us apart, so `α = 20/15`, and `2 c + C_i + 2 C_l` is
/// once. `W = α (10 + 10 + 17) + 40 + 20` and `S = 20 us`. The right adapter has two packets more.
#[test]
fn completions_of_another_adapter_of_stages_interrupt() {
    let one = |right| bound("paradigm = \"O1\"", right);
    let alpha = 35.0 / 30.0;
    let alone = alpha * 20.0 + 38.0 + 35.0;
    about(one(None), alone);
    about(one(Some(ONE_STAGE)), alone + alpha * 5.0 * (2.0 + 4.0));
    about(one(Some(REPORTS)), alone + alpha * 8.0 * (2.0 + 4.0));
    let two = |right| bound("paradigm = \"O1\", depth = 2", right);
    let alpha = 20.0 / 15.0;
    let alone = alpha * 37.0 + 60.0 + 20.0;
    about(two(None), alone);
    about(two(Some(ONE_STAGE)), alone + alpha * 5.0 * (4.0 + 5.0));
    about(two(Some(REPORTS)), alone + alpha * 8.0 * (4.0 + 6.0));
}

/// Under O2 a run of the thread is 5 us. `W` is a block of 10 us and a run, a packet before and its
/// interrupt, and the film's block and run again; `S` waits for a block. In each 30 us that a start or
/// an interrupt of the right adapter takes, one packet more of the left is started, in 5 us.
///
/// With two packets such a start or interrupt would be one packet more at least, so packets are
/// counted: 16 of the left adapter wait, two were made, two are with the adapter and one in part, 5 us
/// each. Whatever delays a run lets it start no more of these. `W` is a block of 10 us, those, 40 us of
/// the packets before and 10 us for the stages, and the film's block and run; `S` is a stage and a wait
/// for a block.
#[test]
fn a_thread_starts_packets_of_another_adapter_of_stages() {
    let one = |right| bound("paradigm = \"O2\"", right);
    let each = 35.0 / 30.0;
    about(one(None), 15.0 + 33.0 + 15.0 + 45.0);
    about(one(Some(ONE_STAGE)), 108.0 + each * 5.0 * (2.0 + 4.0));
    about(one(Some(REPORTS)), 108.0 + each * 8.0 * (2.0 + 5.0));
    let two = |right| bound("paradigm = \"O2\", depth = 2", right);
    let counted = 10.0 + 5.0 * (16.0 + 2.0 + 2.0 + 1.0) + 50.0 + 15.0 + 20.0 + 15.0;
    about(two(Some(ONE_STAGE)), counted + 5.0 * (4.0 + 7.0));
    about(two(Some(REPORTS)), counted + 8.0 * (4.0 + 8.0));
}

/// Under O3 a thread is created in 5 us for each start, so `c = 10 us` and `α = 40/30`. Alone a handler
/// calls after its packet; beside another adapter that handler may call for the other, and a thread of 5
/// us follows its block.
#[test]
fn threads_start_packets_of_another_adapter_of_stages() {
    let of = |right| bound("paradigm = \"O3\"", right);
    let alpha = 40.0 / 30.0;
    let wait = alpha * 20.0 + 10.0 + 33.0;
    about(of(None), wait + 30.0 + 15.0);
    about(of(Some(ONE_STAGE)), wait + 30.0 + 20.0 + alpha * 10.0 * (2.0 + 6.0));
    about(of(Some(REPORTS)), wait + 30.0 + 20.0 + alpha * 13.0 * (2.0 + 7.0));
}

/// A packet of best effort is made from 970 to 980 us and started until 982, and is in the left adapter
/// until 1012. A packet to the right is made until 992 and is in the right adapter from 994 to 1014;
/// another is made until 1004, and the film, which was sent at 995, after that.
///
/// Under O1 the film's packet is interrupted at 1012 by the left adapter and at 1014 by the right, for 3
/// us each and 2 us to start the next packet to the right. It is made at 1022, started at 1024, and
/// leaves at 1054. Under O2 the thread starts the next packet to the right behind it: at 1020 the film's
/// packet is made, and at 1022 it is started.
///
/// A right adapter of 40 us interrupts later, and the film is made at 1017 and leaves at 1049.
#[test]
fn an_interrupt_of_the_other_adapter_delays_a_packet() {
    let us = Span::from_us;
    for (paradigm, leaves) in [("O1", 1054), ("O2", 1052)] {
        let link = format!("paradigm = \"{paradigm}\"");
        assert_eq!(worst(&link, 20), us(leaves - 995), "{paradigm}");
        assert_eq!(worst(&link, 40), us(1049 - 995), "{paradigm}");
    }
}

/// A message of five frames that arrives by the right adapter needs buffers for them there, and none in
/// the left.
///
/// Where a core reads responses of one adapter while another starts packets, no number of slots is known
/// to be enough for a response queue that drops frames.
#[test]
fn frames_need_the_room_of_the_adapter_by_which_they_arrive() {
    let arrives = channel("film", "a", "real_time", "kind = \"periodic\"")
        .replace("from = \"a\"", "from = \"c\"")
        .replace("\"1000 B\"", "\"5000 B\"");
    let receives = |adapter: &str, more: &str, cores: u32| {
        let stage = "receive = [{ name = \"store\", queue = [{ order = \"fifo\" }], phase = [{ fixed = \"5 us\" }] }]";
        let generic = |name: &str| format!("[node.a.adapter.{name}]\nkind = \"generic\"\n");
        let text = text("paradigm = \"O1\"", ONE_STAGE, std::slice::from_ref(&arrives))
            .replace("[host.costs]", &format!("cores = {cores}\n[host.costs]\nipi = \"0 us\""))
            .replace(&generic("left"), &format!("{}{stage}\n", generic("left")))
            .replace(&generic("right"), &format!("{}{stage}\n", generic("right")))
            .replace(&generic(adapter), &format!("{}{more}\n", generic(adapter)));
        let promises =
            promise::promises(&of_text(&text), Formula::Corrected).expect("it is covered").channels;
        match &promises[0] {
            Promise::Admitted(_) => Ok(()),
            Promise::Refused(refused) => Err(refused.refusal.reason),
            other => panic!("{other:?}"),
        }
    };
    let no_room = Err(Reason::NoRoomInAdapter);
    let buffers = |shared: u32| format!("receive_buffers = {{ shared = {shared}, overload = \"drop\" }}");
    let queue = "response_queue = [{ answers = \"received\", slots = 500, overload = \"drop\" }, { answers = \"sent\" }]";
    for cores in [1, 2] {
        assert_eq!(receives("left", &buffers(1), cores), Ok(()), "{cores}");
        assert_eq!(receives("right", &buffers(1), cores), no_room, "{cores}");
        assert_eq!(receives("right", &buffers(500), cores), Ok(()), "{cores}");
        assert_eq!(receives("left", queue, cores), Ok(()), "{cores}");
        assert_eq!(receives("right", queue, cores), if cores == 1 { Ok(()) } else { no_room }, "{cores}");
    }
}

/// A host of two cores with two packets in each adapter. Adapters interrupt core 0, and all packets are
/// made on core 1.
///
/// Completions are 20 us apart by the left adapter and 40 us by the right. Interrupts can be pending at core
/// 0 for `A = 5 (⌈A/20⌉ + 4) + 5 (⌈A/40⌉ + 4) = 70 us`.
///
/// *Under O1* a section of the link scheduler is 2 us, so `α = 20/18` on core 1. Behind a block the film
/// has `R = α (10 + 10 + 2 (2 + 2) + 2 (4 + ⌈R/40⌉))`, the last for starts to the right: `⌈R/40⌉ = 2`.
/// Then `b = 2 (20 + 3) + 10 + 2 + A + 20 + 3 + 2 · 2 + 5 (4 + ⌈(b + A)/40⌉) = 210 us`.
///
/// *Under O2* the thread is on core 0 and waits for no block. `R = 10 + 10`, and the film's packet has one
/// call of the thread: `b = 2 (20 + 3) + 10 + 2 + A + 20 + 3 + 2 + 5 (4 + ⌈(b + A)/40⌉) = 208 us`.
#[test]
fn two_adapters_of_stages_behind_two_cores() {
    let on_core_1 = |channel: String| channel.replace("source = {", "core = 1\nsource = {");
    let channels = [
        channel("film", "b", "real_time", "kind = \"periodic\""),
        channel("side", "c", "best_effort", "kind = \"continuous\""),
    ];
    let bound = |paradigm| {
        let link = format!("paradigm = \"{paradigm}\", depth = 2");
        let text = text(&link, ONE_STAGE, &channels.clone().map(on_core_1));
        let text = text.replace("[host.costs]", "cores = 2\n[host.costs]\nipi = \"0 us\"");
        first_bound(&of_text(&text)).as_secs_f64() * 1e6
    };
    about(bound("O1"), 40.0 * 20.0 / 18.0 + 210.0);
    about(bound("O2"), 20.0 + 208.0);
}
