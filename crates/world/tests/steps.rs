//! A run in pieces is the same run, and can be looked at between them.

use laxity_scenario::Scenario;
use laxity_units::{Span, Time};
use laxity_world::experiment::Experiment;
use laxity_world::{Steps, run};

fn experiment(length: &str) -> Experiment {
    let text = format!(
        r#"
        title = "a test"
        [host]
        profile = "mc68040"
        [adapter]
        kind = "null"
        startup = "40 us"
        per_byte = "50 ns"
        [admission]
        formula = "off"
        [run]
        {length}
        [[channel]]
        name = "varied"
        class = "real_time"
        max_message = "30 KiB"
        min_message = "1 KiB"
        burst = 4
        min_interval = "50 ms"
        deadline = "40 ms"
        source = {{ kind = "adversary", allowance = "saving", size = {{ uniform = ["1 KiB", "30 KiB"] }} }}
        [[channel]]
        name = "bulk"
        class = "best_effort"
        max_message = "60 KiB"
        burst = 10
        source = {{ kind = "poisson", rate = "1500 KiB/s" }}
        "#
    );
    Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}")).first()
}

#[test]
fn a_run_in_pieces_is_the_same_run() {
    for length in ["time = \"2 s\"\nwarmup = \"100 ms\"", "packets = 2000\nwarmup = 100"] {
        let experiment = experiment(length);
        let mut steps = Steps::open(&experiment).expect("it is a run");
        let (mut at, mut messages) = (Time::ZERO, 0);
        for _ in 0..10 {
            assert!(steps.step());
        }
        loop {
            at += Span::from_ms(7);
            let goes_on = steps.until(at);
            let live = steps.live();
            assert!(live.now == steps.now() && live.now <= at && live.channels[1].messages >= messages);
            messages = live.channels[1].messages;
            if !goes_on {
                break;
            }
            assert_eq!(steps.now(), at);
        }
        assert!(!steps.step() && messages > 50, "{messages}");
        assert_eq!(steps.close(), run(&experiment), "{length}");
    }
}

#[test]
fn a_run_that_is_closed_early_is_what_it_came_to() {
    let experiment = experiment("time = \"2 s\"");
    let mut steps = Steps::open(&experiment).expect("it is a run");
    assert!(steps.until(Time::ZERO + Span::from_ms(500)) && !steps.finish_within(3));
    let run = steps.close();
    assert!((0.5..0.6).contains(&run.simulated) && run.channels[0].messages > 5, "{}", run.simulated);
}
