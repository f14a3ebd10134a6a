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

/// Event by event no station goes on by itself, and in one run the next station does: at shared
/// media, at ports, and where interrupts get lost.
#[test]
fn a_run_event_by_event_is_the_same_run() {
    const STAGES: &str = "kind = \"generic\"\n[[adapter.transmit]]\nname = \"dma\"\nphase = [{ fixed = \"90 us\" }]\n\
        [[adapter.transmit]]\nname = \"link\"\nphase = [{ fixed = \"50 us\", per_byte = \"10 ns\", medium = true }]\n";
    const NULL: &str = "kind = \"null\"\nstartup = \"40 us\"\nper_byte = \"50 ns\"\n";
    const SWITCH: &str = "[node.a]\n[node.b]\n[node.s]\nkind = \"switch\"\n[network.n]\njoins = [\"s\", \"a\", \"b\"]\nrate = \"100 Mbit/s\"\n";
    const LOST: &str =
        "[[fault]]\nkind = \"lost_interrupts\"\nat = \"200 ms\"\nfor = \"300 ms\"\nshare = 0.3\n";
    const RING: &str = "kind = \"token_ring\"\nrotation = \"600 us\"\nholding = \"190 us\"\n";
    const BUS: &str = "kind = \"csma\"\nrate = \"100 Mbit/s\"\n";
    let alone = |medium: &str| format!("[network]\n{medium}");
    let three = |medium: &str| {
        format!("[node.a]\n[node.b]\n[node.c]\n[network.n]\njoins = [\"a\", \"b\", \"c\"]\n{medium}")
    };
    let worlds = [
        (STAGES, alone(RING), ["", ""]),
        (STAGES, alone(BUS), ["", ""]),
        (STAGES, three(RING), ["from = \"a\"\nto = \"c\"", "from = \"b\"\nto = \"c\""]),
        (STAGES, three(BUS), ["from = \"a\"\nto = \"c\"", "from = \"b\"\nto = \"c\""]),
        (NULL, LOST.into(), ["", ""]),
        ("kind = \"null\"\n", SWITCH.into(), ["from = \"a\"\nto = \"b\"", "from = \"b\"\nto = \"a\""]),
    ];
    let channel = |name: &str, source: &str, ends: &str| {
        format!(
            "[[channel]]\nname = \"{name}\"\n{ends}\nclass = \"real_time\"\nmax_message = \"9 KiB\"\nburst = 2\nmin_interval = \"8 ms\"\n\
             deadline = \"8 ms\"\nsource = {{ {source} }}\n"
        )
    };
    let lengths = (100..104).map(|packets| format!("packets = {packets}"));
    let lengths: Vec<String> = lengths.chain(["time = \"1 s\"\nwarmup = \"100 ms\"".into()]).collect();
    for ((adapter, more, ends), length) in
        worlds.iter().flat_map(|world| lengths.iter().map(move |l| (world, l)))
    {
        let text = format!(
            "title = \"a test\"\n[host]\nprofile = \"mc68040\"\nspeedup = 4\ndriver = {{ watchdog = \"2 ms\" }}\n[adapter]\n{adapter}{more}\
             [admission]\nformula = \"off\"\n[run]\n{length}\n{}{}",
            channel("even", "kind = \"periodic\"", ends[0]),
            channel("drawn", "kind = \"poisson\", interval = \"9 ms\"", ends[1]),
        );
        let scenario =
            Scenario::from_text("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}{text}"));
        let experiment = scenario.first();
        let mut steps = Steps::open(&experiment).expect("it is a run");
        while steps.step() {}
        let (stepped, whole) = (steps.close(), run(&experiment));
        assert!(stepped == whole, "{text}");
        let enough = if length.starts_with("packets") { 3 } else { 20 };
        assert!(whole.channels.iter().all(|channel| channel.completed >= enough), "{text}");
    }
}

/// A host that receives at an interface, with commands for one of its channels to begin later and
/// to end.
fn receiving(length: &str) -> String {
    format!(
        r#"
        title = "a test"
        [host]
        profile = "polling-server"
        receive = {{ poll = "1.59 us", program = "3 us", costs = "exponential" }}
        [admission]
        formula = "off"
        [run]
        {length}
        [[interface]]
        name = "nic"
        policy = "hard_timer"
        interval = "100 us"
        quota = 10
        buffers = 16
        [[channel]]
        name = "samples"
        class = "real_time"
        max_message = "64 B"
        burst = 1
        min_interval = "500 us"
        deadline = "5 ms"
        interface = "nic"
        source = {{ kind = "periodic" }}
        [[channel]]
        name = "flood"
        class = "best_effort"
        max_message = "1 kB"
        burst = 1
        interface = "nic"
        source = {{ kind = "poisson", interval = "10 us" }}
        "#
    )
}

/// Virtual interfaces: a film, and a ping-pong beside it.
fn via(length: &str) -> String {
    let round = |name: &str, ends: &str, after: &str| {
        format!(
            "[[channel]]\nname = \"{name}\"\nclass = \"best_effort\"\n{ends}\nmax_message = \"1 KiB\"\nburst = 1\n\
             source = {{ kind = \"rounds\", after = \"{after}\" }}\n"
        )
    };
    format!(
        "title = \"a test\"\n[via]\nfirmware = \"qosvia\"\nnodes = 2\n[admission]\nformula = \"off\"\n[run]\n{length}\n\
         [[channel]]\nname = \"film\"\nclass = \"real_time\"\nfrom = 0\nto = 1\nmax_message = \"4 KiB\"\nburst = 1\n\
         rate = \"20 MB/s\"\nsource = {{ kind = \"poisson\", interval = \"150 us\" }}\n{}{}",
        round("ping", "from = 0\nto = 1", "pong"),
        round("pong", "from = 1\nto = 0", "ping"),
    )
}

/// Hosts that receive at interfaces, and virtual interfaces, are run like hosts at networks: at
/// once, event by event and by time it is one run; closed early it has the results so far, and an
/// observer sees the counts.
#[test]
fn every_kind_of_run_is_taken_in_pieces() {
    let lengths = ["packets = 700\nwarmup = 50", "time = \"20 ms\"\nwarmup = \"5 ms\""];
    for (text, stage) in lengths
        .map(receiving)
        .map(|text| (text, "interface"))
        .into_iter()
        .chain(lengths.map(via).map(|text| (text, "adapter@1")))
    {
        let scenario =
            Scenario::from_text("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}{text}"));
        let experiment = scenario.first();
        let open = || Steps::open(&experiment).expect("it is a run");
        let whole = run(&experiment);
        assert!(whole.channels.iter().all(|channel| channel.completed > 10), "{text}");

        let (mut events, mut by_event) = (0, open());
        while by_event.step() {
            events += 1;
        }
        assert!(events > 1000 && by_event.close() == whole, "{events} {text}");

        let (mut by_time, mut messages, mut waited) = (open(), 0, 0);
        while by_time.until(by_time.now() + Span::from_us(333)) {
            let live = by_time.live();
            let offered = live.channels.iter().map(|channel| channel.messages).sum();
            assert!(live.now == by_time.now() && offered >= messages, "{text}");
            messages = offered;
            let (_, waiting) = live.stages.iter().find(|(name, _)| name == stage).expect("it is told of");
            waited = waited.max(*waiting);
        }
        assert!(messages > 100 && waited > 0 && by_time.close() == whole, "{messages} {waited} {text}");

        let mut early = open();
        assert!(!early.finish_within(events / 2) && early.now() < Time::ZERO + Span::from_ms(20));
        let early = early.close();
        assert!(early.simulated > 0.0 && early.simulated < whole.simulated, "{}", early.simulated);
    }
}
