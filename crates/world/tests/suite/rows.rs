//! The rows of a run, by figures worked out by hand.

use crate::common::free;
use laxity_scenario::Scenario;
use laxity_world::results::Run;
use laxity_world::run;

fn ran_as(text: &str) -> Run {
    run(&Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}")).first())
}

/// Two hosts that do everything in no time, but for what `costs` says of it. Each 100 ms a
/// guaranteed packet of 1000 B goes from `a` to `b`, and halfway between mail; an adapter takes
/// 21.001 ms for either, and the first is due in 20.
fn ran(host: &str, costs: &str) -> Run {
    let free = free();
    let text = format!(
        r#"
        title = "a test"
        [host]
        profile = "mc68040"
        costs = {{ {free} }}
        {host}
        [adapter]
        kind = "null"
        startup = "21 ms"
        per_byte = "1 ns"
        [node.a]
        [node.b]
        [network.n]
        joins = ["a", "b"]
        [admission]
        formula = "off"
        [run]
        time = "1 s"
        warmup = "200 ms"
        cooldown = "200 ms"
        [[channel]]
        name = "film"
        class = "real_time"
        from = "a"
        to = "b"
        max_message = "1000 B"
        burst = 1
        min_interval = "100 ms"
        deadline = "20 ms"
        source = {{ kind = "periodic" }}
        [[channel]]
        name = "mail"
        class = "best_effort"
        from = "a"
        to = "b"
        max_message = "1000 B"
        burst = 1
        source = {{ kind = "periodic", interval = "100 ms", phase = "50 ms" }}
        "#
    );
    let text = match costs {
        "" => text,
        _ => text.replace("context_switch = \"0 us\"", costs),
    };
    ran_as(&text)
}

/// Ten packets are late, of which six leave between 200 and 800 ms.
#[test]
fn what_is_late_outside_of_the_window_is_told_beside() {
    let film = &ran("", "").channels[0];
    assert_eq!((film.messages, film.missed_messages, film.late_outside), (6, 6, 4));
}

/// Mail arrives as late as the video stream, but has no deadline.
#[test]
fn what_has_no_deadline_has_no_figures_of_one() {
    let run = ran("", "");
    let [film, mail] = &run.channels[..] else { panic!("two channels") };
    assert_eq!((film.delivered, film.delivered_late), (Some(6), Some(6)));
    assert!(film.worst.is_some_and(|worst| worst > 0.021) && film.delivery_worst == film.worst);
    assert_eq!((mail.delivered, mail.delivered_late), (Some(6), None));
    assert_eq!((mail.worst, mail.delivery_worst, mail.deadline), (None, None, None));
}

/// A message that finds a free slot at once has not waited for it.
#[test]
fn a_driver_in_which_nothing_waits_has_no_backlog() {
    let run = ran("", "");
    let of_drivers: Vec<_> = run.figures.keys().filter(|name| name.starts_with("driver")).collect();
    assert_eq!(of_drivers, ["driver_interrupts@a", "driver_interrupts@b"]);
}

/// All cores of a host put packets into one queue.
#[test]
fn the_queue_for_links_is_told_of_the_first_core() {
    let run = ran("cores = 2", "");
    let longest = |name: &str| run.resources.iter().find(|r| r.name == name).expect("a core").longest_queue;
    assert_eq!(["cpu0@a", "cpu1@a"].map(longest), [Some(1), None]);
}

/// A budget of 1 ms in each 10, to be done by 4: a tenth of the window's 600 ms, too.
#[test]
fn an_application_has_its_budget_by_the_period_and_its_deadline() {
    let run = ran(
        "compute.video = { budget = \"1 ms\", slice = \"1 ms\", period = \"10 ms\", deadline = \"4 ms\" }",
        "",
    );
    let video = &run.computations[0];
    assert_eq!((video.budget_share, video.deadline, video.budgets), (Some(0.1), Some(0.004), 60));
    assert!((video.progress - 0.1).abs() < 1e-9, "{}", video.progress);
}

/// Handlers of the two channels have their turn one after the other: twelve switches of 10 us in
/// 600 ms, at either host, and no others.
#[test]
fn a_switch_is_no_work() {
    let run = ran("", "context_switch = \"10 us\"");
    for name in ["cpu@a", "cpu@b"] {
        let cpu = run.resources.iter().find(|resource| resource.name == name).expect("a host");
        let spent: Vec<_> = cpu.uses.iter().filter(|(_, share)| **share > 0.0).collect();
        assert!(
            matches!(spent[..], [(used, share)] if used == "switch" && (share - 2e-4).abs() < 1e-12),
            "{spent:?}"
        );
    }
}

/// An adapter that fetches a packet in 1 us, sends one in 100 and keeps one between the two loses
/// 98 or 99 of 100. Each is answered, so that its program, of which four may be under way, goes on.
#[test]
fn who_sends_when_something_has_come_back_goes_on_when_it_was_lost() {
    let free = free();
    let text = format!(
        r#"
        title = "a test"
        [host]
        profile = "mc68040"
        costs = {{ {free} }}
        subsystem = {{ packet = "1000 B", link = {{ depth = 8 }} }}
        [adapter]
        kind = "generic"
        transmit = [
          {{ name = "fetch", queue = [{{ order = "fifo" }}], phase = [{{ fixed = "1 us" }}] }},
          {{ name = "link", queue = [{{ order = "fifo", slots = 1, overload = "drop" }}], phase = [{{ fixed = "100 us", medium = true }}] }},
        ]
        [admission]
        formula = "off"
        [run]
        time = "100 ms"
        [[channel]]
        name = "mail"
        class = "best_effort"
        max_message = "1000 B"
        burst = 8
        source = {{ kind = "closed", outstanding = 4 }}
        "#
    );
    let run = ran_as(&text);
    let mail = &run.channels[0];
    // The first has been fetched at 1 and each 100 us one more is sent.
    assert_eq!(mail.completed, 999);
    assert!(mail.messages > 99_000, "one each microsecond: {}", mail.messages);
    assert!(mail.messages - mail.completed - mail.lost_packets <= 4, "{mail:?}");
}

/// Where a packet starts there may be two of them, and where it is handed on three: one of two is
/// more. `20 + 20` ms and the way, by the contract's 100, and two more.
#[test]
fn the_backlog_is_told_where_it_comes_nearest_to_its_bound() {
    let free = free();
    let text = format!(
        r#"
        title = "a test"
        [host]
        profile = "mc68040"
        costs = {{ {free} }}
        subsystem = {{ packet = "1000 B" }}
        [adapter]
        kind = "null"
        startup = "1 ms"
        per_byte = "1 ns"
        [node.a]
        [node.b]
        [node.c]
        [network.n]
        joins = ["a", "b"]
        [network.m]
        joins = ["b", "c"]
        [run]
        time = "1 s"
        [[channel]]
        name = "film"
        class = "real_time"
        route = ["a", "b", "c"]
        max_message = "1000 B"
        burst = 1
        min_interval = "100 ms"
        deadline = "20 ms"
        packet_slots = 2
        source = {{ kind = "periodic" }}
        "#
    );
    let run = ran_as(&text);
    let film = &run.channels[0];
    assert_eq!((film.backlog, film.backlog_bound), (Some(1), Some(2)));
}
