//! A lost message has failed when it is lost, and a run without deliveries is not judged.

use laxity_scenario::Scenario;
use laxity_world::results::{Channel, Run};
use laxity_world::run;

fn of(text: &str) -> Run {
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}{text}"));
    run(&scenario.first())
}

/// The outcome of ten messages in a second, of which the deadlines lie behind its end.
fn counts(channel: &Channel) -> (Option<u64>, Option<u64>, bool) {
    (channel.due_messages, channel.failed_messages, channel.fails())
}

const HOST: &str = "title = \"a test\"\n[host]\nprofile = \"mc68040\"\nspeedup = 100.0\n";
const NULL: &str = "[adapter]\nkind = \"null\"\nstartup = \"1 us\"\nper_byte = \"1 ns\"\n";
const OFF: &str = "[admission]\nformula = \"off\"\n[run]\ntime = \"1 s\"\n";
const FILM: &str = "[[channel]]\nname = \"film\"\nclass = \"real_time\"\nmax_message = \"15000 B\"\nburst = 1\n\
    min_interval = \"100 ms\"\ndeadline = \"2 s\"\nsource = { kind = \"periodic\" }\n";

/// A network that loses all has a bound, misses no deadline, and delivers no message.
#[test]
fn a_total_loss_behind_the_last_transmission_carries_nothing() {
    let of_loss = |loss: &str| {
        of(&format!(
            "{HOST}subsystem = {{ packet = \"1500 B\" }}\n{NULL}[node.a]\n[node.b]\n[network.w]\njoins = [\"a\", \"b\"]\nrate = \"100 Mbit/s\"\n\
             framing = \"ethernet\"\n{loss}[run]\ntime = \"1 s\"\n[[channel]]\nname = \"film\"\nclass = \"real_time\"\n\
             from = \"a\"\nto = \"b\"\nmax_message = \"200 B\"\nburst = 1\nmin_interval = \"5 ms\"\ndeadline = \"5 ms\"\n\
             source = {{ kind = \"periodic\" }}\n"
        ))
    };
    let (all, none) = (of_loss("impairments = { loss = 1.0 }\n"), of_loss(""));
    assert!(all.channels[0].packets > 190 && all.channels[0].worst.is_some(), "they were transmitted");
    assert_eq!((all.channels[0].delivered, all.channels[0].fails()), (Some(0), false));
    assert!(all.shows_nothing().unwrap().contains("nothing was carried"));
    assert_eq!(none.shows_nothing(), None);
}

/// Networks that lose all by their impairments are as the file has declared them.
#[test]
fn a_declared_loss_fails_no_message_before_its_deadline() {
    let run = of(&format!(
        "{HOST}{NULL}[path]\nreceive = true\n[network]\nkind = \"point_to_point\"\nimpairments = {{ loss = 1.0 }}\n\
         {OFF}{FILM}"
    ));
    assert_eq!(counts(&run.channels[0]), (None, None, false));
    assert!(run.shows_nothing().is_some());
}

#[test]
fn a_message_that_is_lost_at_a_port_has_failed() {
    let of_memory = |memory: &str| {
        let film = FILM.replace("max_message", "from = \"a\"\nto = \"b\"\nmax_message");
        of(&format!(
            "{HOST}{NULL}[node.a]\n[node.b]\n[node.s]\nkind = \"switch\"\norder = \"fifo\"\nmemory = \"{memory}\"\n\
             [network]\nrate = \"1 Gbit/s\"\n[network.i]\njoins = [\"s\", \"a\"]\n[network.o]\njoins = [\"s\", \"b\"]\n\
             rate = \"10 Mbit/s\"\n{OFF}{film}"
        ))
    };
    let lossy = of_memory("3000 B");
    assert_eq!(counts(&lossy.channels[0]), (Some(10), Some(10), true));
    assert_eq!(counts(&of_memory("100 KiB").channels[0]), (None, None, false));
}

/// Four packets of 4 ms each at a link, for which the sender has two slots; and a program on a core of
/// its own that takes 400 ms for a message, with one slot.
#[test]
fn a_message_that_a_host_drops_has_failed() {
    let host = |keys: &str, adapter: &str, path: &str, channel: &str| {
        let film = FILM.replace("source", &format!("{channel}source"));
        let host = HOST.replace("speedup = 100.0\n", keys);
        of(&format!("{host}{adapter}{path}{OFF}{film}")).channels.swap_remove(0)
    };
    let slow = NULL.replace("1 ns", "1 us");
    let narrow = |overflow: &str| {
        host("speedup = 100.0\n", &slow, "", &format!("packet_slots = 2\npacket_overflow = \"{overflow}\"\n"))
    };
    let (blocks, drops) = (narrow("block"), narrow("drop"));
    assert_eq!((counts(&blocks), blocks.completed), ((None, None, false), 10));
    assert_eq!((counts(&drops), drops.drops["packet_queue"]), ((Some(10), Some(10), true), 10));
    let reader = |slots: u32| {
        let reader = format!("core = 0\nreader = {{ work = \"400 ms\", slots = {slots}, core = 1 }}\n");
        host("cores = 2\n", NULL, "[path]\nreceive = true\n", &reader)
    };
    assert_eq!(counts(&reader(20)), (None, None, false));
    let full = reader(1);
    let lost = full.drops.get("program_queue").copied();
    assert!(lost > Some(1), "{:?}", full.drops);
    assert_eq!(counts(&full), (lost, lost, true));
}

/// Budgets of 5 ms in all each 4 ms: the one behind is late, or never done.
#[test]
fn late_budgets_fail_a_run() {
    let of_budgets = |first: &str, misses: &str| {
        let application = |name: &str, budget: &str, level: u8| {
            format!(
                "[host.compute.{name}]\nbudget = \"{budget}\"\nperiod = \"4 ms\"\nslice = \"10 us\"\nlevel = {level}\n"
            )
        };
        let (first, second) = (application("first", first, 0), application("second", "2 ms", 1));
        of(&format!(
            "{HOST}subsystem = {{ cpu = \"fixed_priority\" }}\n{first}{second}{NULL}[run]\ntime = \"1 s\"\n{misses}\
             [[channel]]\nname = \"rest\"\nclass = \"best_effort\"\nmax_message = \"1 B\"\nburst = 1\n\
             source = {{ kind = \"periodic\", interval = \"1 s\" }}\n"
        ))
    };
    let late = |run: &Run| {
        let of = &run.computations[1];
        (of.late > 0, of.unfinished > 0, of.fails(), run.misses_deadlines())
    };
    assert_eq!(late(&of_budgets("1 ms", "")), (false, false, false, false));
    assert_eq!(late(&of_budgets("3 ms", "")), (true, true, true, true));
    assert_eq!(late(&of_budgets("4 ms", "")), (false, true, true, true));
    assert_eq!(late(&of_budgets("3 ms", "misses = \"expected\"\n")), (true, true, false, false));
}
