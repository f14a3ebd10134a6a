//! Events outside of the window are not counted, and a received message counts at its delivery.

use laxity_scenario::Scenario;
use laxity_world::results::Run;
use laxity_world::run;

const NULL: &str = "[adapter]\nkind = \"null\"\nstartup = \"1 us\"\nper_byte = \"10 ns\"\n";

/// A host that sends one packet of 1000 B every 40 ms for a second, of which the window is from 200
/// to 800 ms; `more` is said of it, and `host` of the host.
fn ran(host: &str, more: &str) -> Run {
    let text = format!(
        r#"
        title = "a test"
        [host]
        profile = "mc68040"
        {host}
        [run]
        time = "1 s"
        warmup = "200 ms"
        cooldown = "200 ms"
        [[channel]]
        name = "c"
        class = "real_time"
        max_message = "1000 B"
        burst = 1
        min_interval = "40 ms"
        deadline = "20 ms"
        source = {{ kind = "periodic" }}
        {more}
        "#
    );
    run(&Scenario::from_text("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}")).first())
}

/// Messages at 200, 240 … 760 ms pass each stage within the window: 15 of 25.
#[test]
fn stages_measure_what_passes_them_in_the_window() {
    let stage =
        |name: &str| format!("[[adapter.transmit]]\nname = \"{name}\"\nphase = [{{ fixed = \"50 us\" }}]\n");
    let run = ran("", &format!("[adapter]\nkind = \"generic\"\n{}{}", stage("dma"), stage("link")));
    assert_eq!(run.stages.len(), 2);
    for stage in &run.stages {
        let samples = [&stage.waited, &stage.served].map(|summary| summary.as_ref().map(|s| s.count));
        assert_eq!((stage.packets, samples), (15, [Some(15); 2]), "{}", stage.name);
    }
}

/// A budget of 1 ms every 10 ms: those of periods that end in the window, which is 600 ms.
#[test]
fn budgets_are_counted_in_the_window() {
    let run = ran("compute.film = { budget = \"1 ms\", slice = \"1 ms\", period = \"10 ms\" }", NULL);
    let film = &run.computations[0];
    assert_eq!((film.budgets, film.late), (60, 0), "{film:?}");
    assert_eq!(film.response.as_ref().map(|response| response.count), Some(60));
}

/// Messages leave the sender in time and are delivered 100 times later than one takes here: none is
/// on time, for what a program is promised is that it gets them.
#[test]
fn what_is_received_is_on_time_when_it_is_delivered() {
    let two = |slow: &str| {
        let nodes =
            format!("{NULL}[node.a]\n[node.b]\nhost = {{ {slow} }}\n[network.n]\njoins = [\"a\", \"b\"]\n");
        let run = ran("", &format!("from = \"a\"\nto = \"b\"\n{nodes}[admission]\nformula = \"off\"\n"));
        let channel = &run.channels[0];
        assert_eq!(channel.completed, 15);
        (channel.missed_messages, channel.delivered_late, channel.on_time)
    };
    assert_eq!(two(""), (0, Some(0), Some(1.0)));
    assert_eq!(two("speedup = 0.02"), (0, Some(15), Some(0.0)));
}
