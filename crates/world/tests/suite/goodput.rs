//! The goodput, by hand: wherever a message ends, all of it counts when it is there whole, and lost
//! messages do not count.

use laxity_scenario::Scenario;
use laxity_world::results::Channel;
use laxity_world::run;

/// The first channel of a run.
fn first(text: &str) -> Channel {
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}{text}"));
    run(&scenario.first()).channels.swap_remove(0)
}

/// Messages of 16 KiB, four packets each, every 40 ms, of which 50 are in the window of two
/// seconds.
fn host(adapter: &str, path: &str, channel: &str) -> Channel {
    first(&format!(
        "title = \"a test\"\n[host]\nprofile = \"mc68040\"\nspeedup = 8\n{adapter}{path}[admission]\nformula = \"off\"\n\
         [run]\ntime = \"4 s\"\nwarmup = \"1 s\"\ncooldown = \"1 s\"\n\
         [[channel]]\nname = \"film\"\nclass = \"real_time\"\nmax_message = \"16 KiB\"\nburst = 1\nmin_interval = \"40 ms\"\n\
         deadline = \"30 ms\"\n{channel}source = {{ kind = \"periodic\" }}\n"
    ))
}

const NULL: &str = "[adapter]\nkind = \"null\"\nstartup = \"40 us\"\nper_byte = \"50 ns\"\n";
const STAGES: &str = "[adapter]\nkind = \"generic\"\n[[adapter.transmit]]\nname = \"dma\"\nphase = [{ fixed = \"90 us\" }]\n\
    [[adapter.transmit]]\nname = \"link\"\nphase = [{ fixed = \"50 us\", per_byte = \"10 ns\", medium = true }]\n";
const RECEIVED: &str = "[path]\nreceive = true\n";

#[test]
fn all_comes_to_its_end_where_nothing_is_lost() {
    for adapter in [NULL, STAGES] {
        for path in ["", RECEIVED] {
            let film = host(adapter, path, "");
            assert_eq!((film.messages, film.goodput), (50, 50.0 * 16_384.0 / 2.0), "{adapter}{path}");
            assert_eq!(film.throughput, film.goodput);
        }
    }
}

/// A message with a lost packet is not received, and its packets that arrived count as departed.
#[test]
fn what_is_lost_on_the_way_is_no_goodput() {
    let film = host(
        NULL,
        "[path]\nreceive = true\n[network]\nkind = \"point_to_point\"\nimpairments = { loss = 0.1 }\n",
        "",
    );
    let delivered = film.delivered.expect("somebody receives");
    assert!((20..50).contains(&delivered), "{delivered}");
    assert_eq!(film.goodput, delivered as f64 * 16_384.0 / 2.0);
    assert_eq!(film.throughput, 50.0 * 16_384.0 / 2.0);
}

/// A program that takes 60 ms (480 at the speed of the costs) for a message every 40 ms: messages
/// that arrive while it works find no buffer, or no slot at the program.
#[test]
fn what_its_program_does_not_take_is_no_goodput() {
    let film = host(NULL, RECEIVED, "reader = { work = \"480 ms\", slots = 1 }\n");
    let delivered = film.delivered.expect("somebody receives");
    assert!(film.incomplete > 10 && (20..40).contains(&delivered), "{delivered} {:?}", film.drops);
    assert_eq!(film.goodput, delivered as f64 * 16_384.0 / 2.0);
    assert_eq!(film.throughput, 50.0 * 16_384.0 / 2.0);
}

/// Over a network and through a switch.
#[test]
fn through_a_network_it_is_the_same() {
    let film = host(
        "[adapter]\nkind = \"null\"\n",
        "[node.a]\n[node.b]\n[node.s]\nkind = \"switch\"\n[network.n]\njoins = [\"s\", \"a\", \"b\"]\nrate = \"100 Mbit/s\"\n",
        "from = \"a\"\nto = \"b\"\n",
    );
    assert_eq!((film.delivered, film.goodput), (Some(50), 50.0 * 16_384.0 / 2.0));
}

/// At an interface a message is a packet, of 64 bytes every 500 us; beside a flood some find no
/// buffer.
#[test]
fn at_an_interface_it_is_what_programs_have() {
    let text = |flood: &str| {
        format!(
            "title = \"a test\"\n[host]\nprofile = \"polling-server\"\nreceive = {{ poll = \"1 us\", program = \"20 us\" }}\n\
             [admission]\nformula = \"off\"\n[run]\ntime = \"40 ms\"\nwarmup = \"10 ms\"\ncooldown = \"10 ms\"\n\
             [[interface]]\nname = \"nic\"\npolicy = \"hard_timer\"\ninterval = \"100 us\"\nquota = 10\nbuffers = 8\n\
             [[channel]]\nname = \"samples\"\nclass = \"real_time\"\nmax_message = \"64 B\"\nburst = 1\nmin_interval = \"500 us\"\n\
             deadline = \"5 ms\"\ninterface = \"nic\"\nsource = {{ kind = \"periodic\" }}\n\
             [[channel]]\nname = \"flood\"\nclass = \"best_effort\"\nmax_message = \"1 kB\"\nburst = 1\ninterface = \"nic\"\n\
             source = {{ kind = \"poisson\", interval = \"{flood}\" }}\n"
        )
    };
    let alone = first(&text("900 ms"));
    assert_eq!((alone.completed, alone.goodput), (40, 40.0 * 64.0 / 0.02));
    let beside = first(&text("5 us"));
    assert!(beside.completed < 40 && beside.messages == 40, "{}", beside.completed);
    assert_eq!(beside.goodput, beside.completed as f64 * 64.0 / 0.02);
}

/// A virtual interface's message counts when its program has it: 4 KiB every 1.024 ms are 4 MB/s.
#[test]
fn of_a_virtual_interface_it_is_what_its_program_has() {
    let film = first(
        "title = \"a test\"\n[via]\nfirmware = \"pvia\"\n[run]\ntime = \"40 ms\"\nwarmup = \"10 ms\"\ncooldown = \"10 ms\"\n\
         [[channel]]\nname = \"film\"\nclass = \"real_time\"\nmax_message = \"4 KiB\"\nburst = 1\nrate = \"4 MB/s\"\n\
         source = { kind = \"periodic\" }\n",
    );
    let delivered = film.delivered.expect("a program has them");
    assert!((19..=20).contains(&delivered), "{delivered}");
    assert_eq!(film.goodput, delivered as f64 * 4096.0 / 0.02);
}
