//! The number of frames that arrive at a host in an interval, worked out by hand: an application
//! there waits for that number of interrupts.
//!
//! `a` and `c` are behind a switch, of which the port sends to `b`: 1000 B are 0.8 us on each link.
//! Only `b` takes time: an interrupt 10 us, and an application that computes 300 us in each five
//! milliseconds, in one slice. So by the link alone frames could take all of its CPU, and they are
//! counted by sender.

use crate::common::free;
use laxity_admission::Formula;
use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::experiment::Experiment;
use laxity_world::promise::promises;

fn us(us: u64) -> Span {
    Span::from_us(us)
}

fn experiment(switch: &str, sender: &str, channels: &str) -> Experiment {
    let free = free();
    let text = format!(
        r#"
        title = "a test"
        [host]
        profile = "mc68040"
        costs = {{ {free} }}
        subsystem = {{ packet = "1000 B", link = {{ paradigm = "O1" }} }}
        [admission]
        test = "demand"
        deadlines = "alike"
        [node.a]
        {sender}
        [node.b]
        host = {{ costs = {{ interrupt = "10 us" }}, compute = {{ own = {{ budget = "300 us", period = "5 ms", slice = "300 us" }} }} }}
        [node.c]
        [node.s]
        kind = "switch"
        {switch}
        [network.wire]
        joins = ["s", "a", "b", "c"]
        rate = "10 Gbit/s"
        [run]
        time = "400 ms"
        {channels}
        "#
    );
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
    scenario.first()
}

fn channel(name: &str, from: &str, more: &str) -> String {
    format!("[[channel]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"b\"\n{more}\n")
}

/// Of two packets, each two milliseconds, within one and a half.
fn film(more: &str) -> String {
    let more = format!(
        "class = \"real_time\"\nmax_message = \"2000 B\"\nburst = 3\nmin_interval = \"2 ms\"\ndeadline = \"4500 us\"\n\
         {more}\nsource = {{ kind = \"periodic\", phase = \"0 us\" }}"
    );
    channel("film", "a", &more)
}

/// By when the application at `b` has what it computes.
fn own(experiment: &Experiment) -> Span {
    let promises = promises(experiment, Formula::Corrected).expect("all of it is covered");
    assert!(promises.channels.iter().all(|promise| !promise.is_refused()));
    promises.computing[1].as_ref().expect("it has a bound")[0].expect("it is admitted")
}

/// The number of charged interrupts: the difference to a host with free interrupts.
fn charged(experiment: &Experiment) -> u64 {
    let mut free = experiment.clone();
    let host = free.nodes[1].host;
    free.hosts[host].costs.interrupt = Span::ZERO;
    let more = own(experiment) - own(&free);
    assert!(more.as_ps().is_multiple_of(us(10).as_ps()), "{more}");
    more.as_ps() / us(10).as_ps()
}

/// In `Δ` at most `N (⌈E/I⌉ + 2 + a) + ⌈Δ N/I⌉` frames: `N = 2` and `I = 2 ms`. `E` is the local
/// deadline of the port. It is not known before admission, but never more than the whole of 4.5 ms.
/// That is `2 (3 + 2)`, and one for each begun millisecond of the bound, which is less.
#[test]
fn a_guaranteed_channel_brings_what_its_contract_and_lateness_let_it() {
    let experiment = experiment("", "", &film(""));
    assert_eq!(charged(&experiment), 10 + 1);
    // Jitter of one millisecond makes `E` 5.5 ms, three intervals still, and lets one frame more
    // arrive with the others: `2 (3 + 2) + 1`.
    let mut jitter = self::experiment("", "", &film(""));
    jitter.networks[0].impairments.jitter = us(1000);
    assert_eq!(charged(&jitter), 10 + 1 + 1);
}

/// A message may be at the port 4.5 ms before it is due there, since `a` holds it until its logical
/// arrival: that is three messages of one each 2 ms. A horizon of three milliseconds at the port
/// lets two of them go ahead, one of thirty all three, whatever the burst. A horizon of three
/// milliseconds at `a` lets `⌈3/2⌉ = 2` messages go, which makes five at the port: its own horizon
/// lets two go, or all.
#[test]
fn what_goes_ahead_at_the_last_port_comes_with_the_rest() {
    let two = experiment("horizon = \"3 ms\"", "", &film(""));
    assert_eq!(charged(&two), 2 * (3 + 2 + 2) + 1);
    let burst = experiment("horizon = \"30 ms\"", "", &film(""));
    assert_eq!(charged(&burst), 2 * (3 + 2 + 3) + 1);
    for (at_the_port, go) in [("3 ms", 2), ("30 ms", 5)] {
        let mut early = experiment(&format!("horizon = \"{at_the_port}\""), "", &film(""));
        early.hosts.iter_mut().for_each(|host| host.subsystem.link.early.horizon = us(3000));
        assert_eq!(charged(&early), 2 * (3 + 2 + go) + 1);
    }
}

/// Best effort was made by `a`, which takes 400 us for a packet and 100 to start it, and has two
/// buffers and one packet with its adapter: by (1) of `departures.rs` `n ≤ 1 + ⌈(100 + (2 + 1)
/// 400)/500⌉ = 4` and `D = 1`, so 5 and one each 500 us. And it waits at the port, of which the
/// memory of 4 kB has four.
#[test]
fn best_effort_brings_what_its_host_makes_and_its_ports_have_room_for() {
    let sender =
        "host = { costs = { first_packet = \"400 us\", packet = \"400 us\", link_scheduling = \"100 us\" } }";
    let mail = |slots: u32| {
        channel(
            "mail",
            "a",
            &format!(
                "class = \"best_effort\"\nmax_message = \"1000 B\"\nmin_message = \"1000 B\"\nburst = 2\npacket_slots = {slots}\n\
                 source = {{ kind = \"continuous\" }}"
            ),
        )
    };
    let memory = "memory = \"3 kB\"\nshared_memory = \"1 kB\"";
    let experiment = experiment(memory, sender, &mail(2));
    assert_eq!(charged(&experiment), 5 + 4 + own(&experiment).div_ceil(us(500)));
}

/// Each ten milliseconds the application begins just before the video stream's two frames arrive,
/// for `a` is through with them at once: 300 us and both interrupts. No run has the four that may
/// arrive beyond that, for no message here is ever late.
#[test]
fn frames_of_a_message_come_while_it_computes() {
    let experiment = experiment("", "", &film(""));
    let run = laxity_world::run(&experiment);
    let worst = run.computations[0].worst.and_then(Span::from_secs_f64).expect("it computes");
    assert_eq!(worst, us(300 + 2 * 10));
    assert!(worst <= own(&experiment));
}
