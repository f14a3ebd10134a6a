//! Runs as a whole: repeatable, unchanged by observation, and without loss on a path of several
//! hosts.

use laxity_engine::trace::TraceHasher;
use laxity_qos::wire::Header;

use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::experiment::Experiment;
use laxity_world::results::Run;
use laxity_world::{observe, run};

/// Three channels, one of them random, over a path of one host or more.
fn experiment(seed: u64, path: &str) -> Experiment {
    let text = format!(
        r#"
        title = "a test"
        seed = {seed}
        [host]
        profile = "mc68040"
        applications = "shared"
        [adapter]
        kind = "null"
        startup = "40 us"
        per_byte = "50 ns"
        [admission]
        formula = "off"
        [path]
        {path}
        [run]
        time = "3 s"
        [[channel]]
        name = "steady"
        class = "real_time"
        max_message = "20 KiB"
        burst = 2
        min_interval = "40 ms"
        deadline = "30 ms"
        source = {{ kind = "periodic" }}
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
    let scenario = Scenario::from_text("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
    scenario.first()
}

#[test]
fn a_continuous_source_draws_its_sizes() {
    let text = r#"
        title = "a test"
        [host]
        profile = "mc68040"
        [adapter]
        kind = "null"
        per_byte = "50 ns"
        [admission]
        formula = "off"
        [run]
        time = "2 s"
        [[channel]]
        name = "bulk"
        class = "best_effort"
        max_message = "8 KiB"
        burst = 4
        source = { kind = "continuous", size = { uniform = ["1 KiB", "8 KiB"] } }
    "#;
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
    let run = run(&scenario.first());
    let bulk = &run.channels[0];
    let mean = bulk.offered * run.window / bulk.messages as f64;
    assert!((4200.0..5000.0).contains(&mean), "messages of {mean} bytes on average, not of 4.5 KiB");
}

fn hashed(experiment: &Experiment) -> (Run, u64) {
    let mut trace = TraceHasher::new();
    let run = observe(experiment, &mut trace, None);
    assert!(trace.records() > 1000, "the trace tells what happened");
    (run, trace.hash())
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let (first, again, other) =
        (hashed(&experiment(7, "")), hashed(&experiment(7, "")), hashed(&experiment(8, "")));
    assert_eq!(first, again);
    assert_ne!(first.1, other.1, "another seed is another run");
    assert_eq!(first.0, run(&experiment(7, "")), "watching a run does not change it");
}

#[test]
fn frames_are_packets_that_decode() {
    let experiment = experiment(1, "");
    let (mut frames, mut bytes) = (0, 0);
    let mut sink = |laxity_world::Departed { bytes: frame, .. }: laxity_world::Departed<'_>| {
        let (_, payload) = Header::decode(frame).expect("a packet on the wire is well formed");
        frames += 1;
        bytes += payload.len() as u64;
    };
    let run = observe(&experiment, &mut laxity_engine::trace::NoTrace, Some(&mut sink));
    assert_eq!(frames, run.channels.iter().map(|c| c.packets).sum::<u64>());
    let throughput: f64 = run.channels.iter().map(|c| c.throughput).sum();
    assert!((bytes as f64 / run.window - throughput).abs() < 1.0);
}

#[test]
fn a_path_of_hosts_relays_and_delivers() {
    let lone = run(&experiment(3, ""));
    // As much at each of four hosts, and the propagation between them.
    let mut path = experiment(3, "relays = 2\nreceive = true\npropagation = \"100 us\"");
    for deadline in path.channels.iter_mut().filter_map(|channel| channel.deadline.as_mut()) {
        *deadline = *deadline * 4 + Span::from_us(300);
    }
    let path = run(&path);
    for (near, far) in lone.channels.iter().zip(&path.channels) {
        assert!(far.completed > 0, "{}", far.name);
        assert!(far.completed <= near.completed, "{}", far.name);
        // Early at every hop until the deadline of the one before, so later by about two of them.
        if far.class == "real_time" {
            assert_eq!(far.missed_packets, 0, "{}", far.name);
            assert!(far.worst > near.worst);
            let expected = near.deadline.unwrap() * 4.0 + 300e-6;
            assert!((far.deadline.unwrap() - expected).abs() < 1e-9);
        }
    }
    assert_eq!(path.resources.iter().filter(|r| r.name.starts_with("cpu")).count(), 4);
}

/// The results of a camera of 16 KiB every 40 ms that sends at a multiple of its declared rate.
fn camera(multiple: &str) -> laxity_world::results::Channel {
    let text = format!(
        "title = \"a camera\"\n[host]\nprofile = \"mc68040\"\n[adapter]\nkind = \"null\"\nstartup = \"40 us\"\n\
         per_byte = \"50 ns\"\n[run]\ntime = \"10 s\"\nwarmup = \"1 s\"\n[[channel]]\nname = \"camera\"\n\
         class = \"real_time\"\nmax_message = \"16 KiB\"\nburst = 2\nmin_interval = \"40 ms\"\ndeadline = \"30 ms\"\n\
         source = {{ kind = \"periodic\", multiple = {multiple} }}\n"
    );
    let scenario = Scenario::from_text("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}"));
    run(&scenario.first()).channels.remove(0)
}

#[test]
fn a_camera_whose_every_tenth_frame_is_dropped_misses_no_deadline_and_is_not_on_time() {
    let (whole, cut) = (camera("1.0"), camera("1.1"));
    assert_eq!((whole.missed_messages, whole.on_time), (0, Some(1.0)));
    assert_eq!(cut.missed_messages, 0);
    let on_time = cut.on_time.expect("its deadlines lie in the run");
    assert!((0.90..0.92).contains(&on_time), "{on_time}, {:?}", cut.drops);
}
