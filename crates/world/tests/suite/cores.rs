//! The promises of a host with several cores, by the placement of its channels and its link
//! scheduler.

use laxity_admission::Formula;
use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::promise::{self, Promise};

/// The bound of the first channel of `text` at its first host.
fn first_bound(text: &str) -> Span {
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}{text}"));
    let promises = promise::promises(&scenario.first(), Formula::Corrected).expect("it is covered").channels;
    match &promises[0] {
        Promise::Admitted(hops) => hops[0].bound.bound,
        other => panic!("there is time for it: {other:?}"),
    }
}

/// The bound of the one guaranteed channel of a host with two cores, of which the link scheduler is
/// a thread or has its timer on `at`, with a lone frame on `film`'s core and best effort of `bulk`
/// packets at a time on the other. The first core handles completions.
fn bound(paradigm: &str, at: u8, film: u8, bulk: u32) -> Option<Span> {
    let text = format!(
        "title = \"two cores\"\n[host]\nprofile = \"mc68040\"\nspeedup = 10\ncores = 2\ncosts = {{ interrupt = \"30 us\" }}\nsubsystem = {{ packet = \"1500 B\", preemption = {{ best_effort = {bulk} }}, \
         link = {{ paradigm = \"{paradigm}\", core = {at} }} }}\n[adapter]\nkind = \"null\"\nstartup = \"10 us\"\nper_byte = \"80 ns\"\n[run]\ntime = \"1 s\"\n\
         [[channel]]\nname = \"film\"\ncore = {film}\nclass = \"real_time\"\nmax_message = \"1500 B\"\nburst = 1\nmin_interval = \"40 ms\"\n\
         deadline = \"30 ms\"\nsource = {{ kind = \"periodic\" }}\n[[channel]]\nname = \"bulk\"\ncore = {}\nclass = \"best_effort\"\n\
         max_message = \"60 KiB\"\nmin_message = \"60 KiB\"\nburst = 4\nsource = {{ kind = \"continuous\" }}\n",
        1 - film
    );
    let scenario = Scenario::from_text("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}{text}"));
    let promises = promise::promises(&scenario.first(), Formula::Corrected).ok()?.channels;
    promises.into_iter().find_map(|promise| match promise {
        Promise::Admitted(hops) => Some(hops[0].bound.bound),
        _ => None,
    })
}

/// Under O1 a handler calls by itself, and blocks of another core do not delay it. A thread waits
/// for those of its own core: with ten packets of best effort in a block longer than with one, by
/// nine for each packet; and where best effort is elsewhere, for none.
#[test]
fn a_thread_waits_for_blocks_of_its_core() {
    let of = |paradigm, at, film, bulk| bound(paradigm, at, film, bulk).expect("there is time for it");
    for film in [0, 1] {
        let other = 1 - film;
        assert_eq!(of("O1", 0, film, 1), of("O1", 0, film, 10));
        assert_eq!(of("O2", film, film, 1), of("O2", film, film, 10));
        let (short, long) = (of("O2", other, film, 1), of("O2", other, film, 10));
        // 17 us more for each packet of a block, but for the first.
        let more = long - short;
        assert!(more >= Span::from_us(9 * 17) && more < Span::from_us(9 * 40), "{short} and {long}");
    }
}

/// Where packets are noticed that were held, interrupts may be pending: longer where completions
/// are heard of, also under O1.
#[test]
fn who_turns_current_is_noticed_by_the_timer_that_has_the_links() {
    let of = |at| bound("O1", at, 1, 1).expect("there is time for it");
    assert!(of(0) > of(1), "{} and {}", of(0), of(1));
}

/// The longer bound of a video stream of twenty packets on core 1, which leaves by the adapter that
/// interrupts core 0, where a call of a sleeping core takes 10 us, at forty times the speed; `bulk`
/// describes a channel without a guarantee, between `a` and `c` over the adapter that interrupts
/// core 1.
fn longer_by_calls(paradigm: &str, at: u8, bulk: &str) -> Span {
    let bound = |ipi: &str| {
        let text = format!(
            "title = \"calls\"\n[host]\nprofile = \"mc68040\"\nspeedup = 40\ncores = 2\ncosts = {{ ipi = \"{ipi}\" }}\nsubsystem = {{ packet = \"1000 B\", link = {{ paradigm = \"{paradigm}\", core = {at} }} }}\n[adapter]\nkind = \"null\"\n\
             [node.a.adapter.slow]\ninterrupts = [0]\n[node.a.adapter.fast]\ninterrupts = [1]\n[node.b.adapter]\ninterrupts = [1]\n[node.c]\n[network.slow]\njoins = [\"a.slow\", \"b\"]\nrate = \"80 Mbit/s\"\n\
             [network.fast]\njoins = [\"a.fast\", \"c\"]\nrate = \"800 Mbit/s\"\n[run]\ntime = \"1 s\"\n\
             [[channel]]\nname = \"film\"\ncore = 1\nclass = \"real_time\"\nfrom = \"a\"\nto = \"b\"\nmax_message = \"20000 B\"\nmin_message = \"20000 B\"\nburst = 1\nmin_interval = \"40 ms\"\ndeadline = \"39 ms\"\nsource = {{ kind = \"periodic\" }}\n\
             [[channel]]\nname = \"bulk\"\nclass = \"best_effort\"\nmax_message = \"1000 B\"\nmin_message = \"1000 B\"\nburst = 1\n{bulk}\n"
        );
        first_bound(&text)
    };
    bound("400 us") - bound("0 us")
}

/// Twenty calls, one for each packet, where the other core wakes threads of the core that handles
/// its completions: bulk has its handler there and waits for buffers that the other frees, arrives
/// there, or its application is on the other. Else there are a few.
#[test]
fn a_core_may_be_called_before_each_completion() {
    let away = "from = \"a\"\nto = \"c\"";
    let comes = "from = \"c\"\nto = \"a\"\nsource = { kind = \"continuous\" }";
    let source = |core| format!("source = {{ kind = \"continuous\", core = {core} }}");
    let called = [
        format!("{away}\ncore = 0\n{}", source(0)),
        format!("{away}\ncore = 0\npacket_overflow = \"drop\"\n{}", source(1)),
        format!("{comes}\ncore = 0"),
    ];
    let others = [
        format!("{away}\ncore = 0\npacket_overflow = \"drop\"\n{}", source(0)),
        format!("{away}\ncore = 1\n{}", source(1)),
        format!("{away}\ncore = 1\n{}", source(0)),
        format!("{comes}\ncore = 1"),
    ];
    let few = |span: Span| span < Span::from_us(100);
    for (paradigm, at) in [("O1", 0), ("O2", 1)] {
        for bulk in &called {
            let longer = longer_by_calls(paradigm, at, bulk);
            assert!(longer >= Span::from_us(200), "{paradigm}, {bulk}: {longer}");
        }
        for bulk in &others {
            let longer = longer_by_calls(paradigm, at, bulk);
            assert!(few(longer), "{paradigm}, {bulk}: {longer}");
        }
    }
    // A thread that handles completions itself waits for a call or a block, from any core.
    assert_eq!(longer_by_calls("O2", 0, &called[1]), longer_by_calls("O2", 0, &others[0]));
}

/// A frame of 4 KiB on core 1, before an adapter of two stages with a window, by hand.
///
/// *10 us and 20 us, two places.* A section of the link scheduler takes 2 us and completions are 20 us
/// apart, so `α = 20/18`. Behind a block that is made early, a message of 10 us has `R = α (10 + 10 + 2
/// (2 + 2))`. Side by side, `L = 20 us` and 10 us once. Interrupts can be pending at core 0, which hears of
/// completions and starts packets, for `A = 30 us`: six completions of 3 us, each with a start. So `b = 2
/// (20 + 3) + 10 + 2 + A + 20 + 3 + 2·2 = 115 us`. A second frame in the message is 10 us more of it and
/// of the block before it, and 27 us of the link.
///
/// *1 us and 2 us, eight places.* Completions are closer together than core 0 hears of them, so they are
/// counted by packets: eight have buffers, and one core makes one in 10 us. `R = 10 + 10 + 2 (8 + 1 + 1 +
/// ⌈R/10⌉) = 50 us`, `A = 5 (10 + ⌈A/10⌉) = 100 us`, and `b = 8 (2 + 3) + 1 + 2 + A + 2 + 3 + 2·2 = 152 us`.
#[test]
fn an_adapter_of_stages_behind_two_cores_by_hand() {
    let bound = |bytes: u32, (fetch, link, depth): (u32, u32, u32)| {
        let text = format!(
            r#"title = "two cores before stages"
[host]
profile = "mc68040"
cores = 2
[host.costs]
context_switch = "0 us"
cache_miss = "0 us"
first_packet = "10 us"
single_packet = "10 us"
packet = "10 us"
interrupt = "3 us"
response = "0 us"
link_scheduling = "2 us"
timer = "0 us"
ipi = "0 us"
[host.subsystem]
packet = "4 KiB"
link = {{ paradigm = "O1", depth = {depth} }}
[adapter]
kind = "generic"
transmit = [
  {{ name = "fetch", queue = [{{ order = "fifo" }}], phase = [{{ fixed = "{fetch} us" }}] }},
  {{ name = "link", queue = [{{ order = "fifo" }}], phase = [{{ fixed = "{link} us", medium = true }}] }},
]
[run]
time = "1 s"
[[channel]]
name = "film"
core = 1
class = "real_time"
max_message = "{bytes} B"
min_message = "{bytes} B"
burst = 1
packet_slots = 8
min_interval = "40 ms"
deadline = "30 ms"
source = {{ kind = "periodic" }}
"#
        );
        first_bound(&text)
    };
    let about = |bound: Span, expected: f64| {
        assert!((bound.as_secs_f64() * 1e6 - expected).abs() < 0.001, "{bound} for {expected} us");
    };
    about(bound(4096, (10, 20, 2)), 28.0 * 20.0 / 18.0 + 115.0);
    about(bound(8192, (10, 20, 2)), 48.0 * 20.0 / 18.0 + 115.0 + 27.0);
    about(bound(4096, (1, 2, 8)), 50.0 + 152.0);
}
