//! The time until a host notices a frame is a part of the bound on its delivery.

use laxity_admission::Formula;
use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::promise::{self, Promise};

/// A video stream from `a` to `b`.
fn film(deadline: &str) -> String {
    format!(
        r#"[[channel]]
        name = "film"
        class = "real_time"
        from = "a"
        to = "b"
        max_message = "8 KiB"
        burst = 1
        min_interval = "40 ms"
        deadline = "{deadline}"
        source = {{ kind = "periodic" }}"#
    )
}

/// The promise to the first channel of a scenario.
fn first_promise(text: &str) -> Promise {
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}{text}"));
    let promises = promise::promises(&scenario.first(), Formula::Corrected).expect("it is covered");
    promises.channels.into_iter().next().expect("there is a channel")
}

/// The promise to a video stream over adapters of stages, if the receiving one has `queue` for its
/// responses, by `local` deadlines.
fn promised(queue: &str, local: &str) -> Promise {
    let text = format!(
        r#"
        title = "a test"
        [host]
        profile = "mc68040"
        speedup = 10
        subsystem = {{ packet = "4 KiB", link = {{ paradigm = "O1", depth = 2 }} }}
        [adapter]
        kind = "generic"
        transmit = [{{ name = "link", queue = [{{ order = "fifo" }}], phase = [{{ fixed = "20 us", medium = true }}] }}]
        receive = [{{ name = "store", queue = [{{ order = "fifo" }}], phase = [{{ fixed = "5 us" }}] }}]
        [node.a]
        [node.b.adapter]
        response_queue = [{queue}]
        [network.n]
        joins = ["a", "b"]
        [admission]
        deadlines = "alike"
        test = "d_order"
        local_deadline = "{local}"
        [run]
        time = "1 s"
        {film}
        "#,
        film = film("60 ms")
    );
    first_promise(&text)
}

/// Its bound on delivery.
fn delivered(queue: &str) -> Span {
    promised(queue, "bound").delivery_bound().expect("it is received")
}

/// A response waits for company for its delay, or until so long after the last interrupt, whichever
/// is longer; in a queue of its own as in one for all.
#[test]
fn a_response_waits_for_the_longer_of_delay_and_interval() {
    let at_once = delivered("{ answers = \"all\" }");
    let later = |queue: &str| delivered(queue) - at_once;
    let us = Span::from_us;
    assert_eq!(later("{ answers = \"all\", delay = \"100 us\" }"), us(100));
    assert_eq!(later("{ answers = \"all\", delay = \"10 us\", interval = \"100 us\" }"), us(100));
    assert_eq!(later("{ answers = \"all\", delay = \"30 us\", interval = \"10 us\" }"), us(30));
    let apart = "{ answers = \"received\", delay = \"40 us\" }, { answers = \"sent\", delay = \"200 us\" }";
    assert_eq!(later(apart), us(40));
}

/// A message may be early at the receiver by the local deadline of its sender, and stays until its
/// own local deadline is over. Both are 30 ms, less the receiver's late notice: 60 ms in all are
/// two intervals of 40 ms, and one begun at either end, of two packets each. Bounds are less than
/// ten milliseconds together: one interval, or two where the notice is 50 ms late.
#[test]
fn who_hears_late_has_room_for_what_came_meanwhile() {
    let room = |queue: &str, local: &str| promised(queue, local).hops()[1].backlog;
    assert_eq!(room("{ answers = \"all\" }", "requested"), (2 + 2) * 2);
    assert_eq!(room("{ answers = \"all\", delay = \"50 ms\" }", "bound"), (2 + 2) * 2);
    assert_eq!(room("{ answers = \"all\" }", "bound"), (1 + 2) * 2);
}

/// The bound on delivery of a film from `a` to `b`, if frames that arrive hold `bus` and outgoing
/// packets hold the bus `up`, and `b` sends what `back` says.
fn delivered_over(bus: &str, back: &str) -> Span {
    let resource = |name| format!("{{ name = \"{name}\", preemptive = false }}");
    let resources = if bus == "up" { resource("up") } else { resource("up") + ", " + &resource(bus) };
    let text = format!(
        r#"
        title = "a test"
        [host]
        profile = "mc68040"
        speedup = 10
        subsystem = {{ packet = "4 KiB", link = {{ paradigm = "O1", depth = 2 }} }}
        [adapter]
        kind = "generic"
        resource = [{resources}]
        receive = [{{ name = "store", phase = [{{ fixed = "7 us", holds = ["{bus}"] }}] }}]
        [[adapter.transmit]]
        name = "link"
        phase = [{{ fixed = "20 us", medium = true }}]
        [[adapter.transmit]]
        name = "completion"
        phase = [{{ fixed = "3 us", holds = ["up"] }}]
        [node.a]
        [node.b]
        [network.n]
        joins = ["a", "b"]
        [run]
        time = "1 s"
        {film}
        {back}"#,
        film = film("30 ms")
    );
    first_promise(&text).delivery_bound().expect("it is received")
}

/// A frame that arrives waits for the bus only where packets leave, too.
#[test]
fn frames_do_not_wait_for_packets_of_a_node_that_only_receives() {
    let back = r#"
        [[channel]]
        name = "back"
        class = "best_effort"
        from = "b"
        to = "a"
        max_message = "4 KiB"
        burst = 1
        source = { kind = "periodic", interval = "40 ms" }
        "#;
    assert_eq!(delivered_over("up", ""), delivered_over("own", ""));
    assert!(delivered_over("up", back) > delivered_over("own", back));
}
