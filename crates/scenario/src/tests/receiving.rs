//! Hosts that receive: what files say of programs, commands and promises, and what is wrong with them.

use laxity_admission::Formula;
use laxity_units::Span;
use laxity_world::experiment::HostPlace;
use laxity_world::promise::{Promise, promises};

use super::*;

/// A poll every 100 us takes 2 packets of real time and 2 of the rest. The costs are zero, except
/// for the protocol, 400 us divided by 100, and the program.
const RECEIVING: &str = r#"
title = "Receiving"
[host]
profile = "harts-reception"
speedup = 100
receive = { program = "100 us", pool = 3 }
[run]
time = "50 ms"
[[interface]]
name = "lan"
policy = "hard_timer"
interval = "100 us"
quota = 4
slots = 16
buffers = 20
buffers_real_time = 10
discard = "importance"
sharing = { kind = "weighted", real_time = 2, best_effort = 2 }
[[program]]
name = "control"
order = "class"
budget = "100 us"
period = "1 ms"
[[program]]
name = "rest"
[[channel]]
name = "in"
class = "real_time"
max_message = "64 B"
burst = 2
min_interval = "1 ms"
deadline = "5 ms"
interface = "lan"
source = { kind = "adversary" }
[[channel]]
name = "flood"
class = "best_effort"
max_message = "64 B"
burst = 1
interface = "lan"
program = "rest"
source = { kind = "periodic", interval = "3 us" }
"#;

fn only(text: &str) -> Experiment {
    let scenario = right(text);
    scenario.experiment(&scenario.points().next().unwrap())
}

#[track_caller]
fn with(from: &str, to: &str) -> String {
    assert!(RECEIVING.contains(from), "{from}");
    RECEIVING.replacen(from, to, 1)
}

#[track_caller]
fn refused(text: &str, says: &[&str]) {
    let Err(errors) = read(text) else { panic!("the file is valid") };
    let shown = errors.to_string();
    assert!(says.iter().all(|part| shown.contains(part)), "{shown}");
}

#[test]
fn a_guaranteed_channel_is_promised_a_time_to_its_program_and_keeps_it() {
    let experiment = only(RECEIVING);
    assert_eq!(
        (experiment.host(0).pool, experiment.channels[0].program, experiment.channels[1].program),
        (3, 0, 1)
    );
    let Promise::Received(received) = &promises(&experiment, Formula::Corrected).unwrap().channels[0] else {
        panic!("it is admitted")
    };
    let run = laxity_world::run(&experiment);
    let (channel, flood) = (&run.channels[0], &run.channels[1]);
    assert_eq!(channel.bound, Some(received.bound.as_secs_f64()));
    assert!(channel.worst <= channel.bound && channel.worst > Some(100e-6), "{channel:?}");
    assert_eq!((channel.on_time, channel.dropped_packets, channel.missed_packets), (Some(1.0), 0, 0));
    assert!(
        flood.dropped_packets > flood.completed,
        "what the host cannot take is lost before it costs anything"
    );
    assert_eq!(flood.drops.keys().collect::<Vec<_>>(), ["ring"]);
}

#[test]
fn what_is_beyond_a_contract_is_kept_from_the_others() {
    let experiment = only(&with("\"adversary\"", "\"periodic\", multiple = 10"));
    let channel = laxity_world::run(&experiment).channels.swap_remove(0);
    // Two at once, then one a millisecond of ten that arrive.
    assert_eq!((channel.messages, channel.drops["contract"]), (500, 500 - 51));
    assert_eq!((channel.completed, channel.missed_packets), (51, 0));
    let off = only(&format!(
        "{}[admission]\nformula = \"off\"",
        with("\"adversary\"", "\"periodic\", multiple = 10")
    ));
    assert!(!laxity_world::run(&off).channels[0].drops.contains_key("contract"));
}

#[test]
fn a_refused_channel_says_what_would_fit_and_does_not_come_in() {
    let experiment = only(&with("deadline = \"5 ms\"", "deadline = \"110 us\""));
    let run = laxity_world::run(&experiment);
    let refusal = run.channels[0].refused.as_ref().expect("110 us are too few");
    assert!(refusal.reason.contains("longer than its deadline"), "{}", refusal.reason);
    let least = Span::from_secs_f64(refusal.admissible.unwrap()).unwrap();
    assert_eq!((run.channels[0].messages, run.figures["refused"]), (0, 1.0));
    let fits = only(&with("deadline = \"5 ms\"", &format!("deadline = \"{least}\"")));
    assert!(laxity_world::run(&fits).channels[0].refused.is_none());
    let buffers = only(&with("buffers_real_time = 10", "buffers_real_time = 1"));
    let refusal = laxity_world::run(&buffers).channels[0].refused.clone().unwrap();
    assert!(refusal.reason.contains("receive buffers for real time and has 1"), "{}", refusal.reason);
}

#[test]
fn each_reason_for_no_bound_is_said() {
    for (from, to, why) in [
        ("policy = \"hard_timer\"\ninterval = \"100 us\"", "policy = \"napi\"", "polls that go on"),
        ("order = \"class\"", "order = \"arrival\"", ""),
        ("receive = { ", "receive = { costs = \"exponential\", ", "drawn from a distribution"),
        ("discard", "handshake = true\ndiscard", "two commands"),
        ("sharing = { kind = \"weighted\", real_time = 2, best_effort = 2 }", "", "share a queue"),
        ("program = \"rest\"\n", "", ""),
        ("speedup = 100", "speedup = 100\nsubsystem = { enforcement = false }", "enforcement"),
    ] {
        match promises(&only(&with(from, to)), Formula::Corrected) {
            Ok(_) => assert_eq!(why, "", "{to}"),
            Err(uncovered) => assert!(
                !why.is_empty() && uncovered.sentence().contains(why),
                "{to}: {}",
                uncovered.sentence()
            ),
        }
    }
    let both = with("order = \"class\"\n", "").replacen("program = \"rest\"\n", "", 1);
    let uncovered = promises(&only(&both), Formula::Corrected).unwrap_err();
    assert!(uncovered.sentence().contains("takes them by arrival"), "{}", uncovered.sentence());
}

#[test]
fn commands_begin_and_end_what_comes_and_change_how_it_is_taken() {
    let text = with("policy = \"hard_timer\"\ninterval = \"100 us\"\nquota = 4", "policy = \"interrupt\"");
    let create = "[[command]]\nkind = \"create_periodic\"\nat = \"10 ms\"\nchannel = \"in\"\n";
    let clear = "[[command]]\nkind = \"clear_periodic\"\nat = \"20 ms\"\nchannel = \"in\"\n";
    let quiet =
        text.replace("interval = \"3 us\"", "interval = \"300 us\"").replace("\"adversary\"", "\"periodic\"");
    let run = laxity_world::run(&only(&format!("{quiet}{create}{clear}")));
    assert_eq!(run.channels[0].messages, 10, "at 10, 11 ... 19 ms");
    let poll = "[[command]]\nkind = \"mode_poll\"\nat = \"25 ms\"\ninterface = \"lan\"\nquota = 4\ninterval = \"1 ms\"\n";
    let run = laxity_world::run(&only(&format!("{quiet}{poll}")));
    let (half, ticks) = (run.figures["interrupts_per_second"], run.figures["ticks_per_second"]);
    // Half of 3333 and 1000 a second, then a tick each millisecond.
    assert!((2120.0..2220.0).contains(&half) && (480.0..=520.0).contains(&ticks), "{half} {ticks}");
    let back = "[[command]]\nkind = \"mode_intr\"\nat = \"25 ms\"\ninterface = \"lan\"\n";
    assert_eq!(only(&format!("{quiet}{poll}{back}")).commands.len(), 2);
    let uncovered = promises(&only(&format!("{quiet}{poll}")), Formula::Corrected).unwrap_err();
    assert!(uncovered.sentence().contains("during the run"), "{}", uncovered.sentence());
}

#[test]
fn what_is_wrong_is_said_with_what_would_be_right() {
    let command = |keys: &str| format!("{RECEIVING}[[command]]\nat = \"1 ms\"\n{keys}");
    refused(
        &command("kind = \"mode_intr\"\ninterface = \"lan\""),
        &["has no control commands", "`explicit`"],
    );
    refused(&command("kind = \"mode_intr\"\nchannel = \"in\""), &["is about an interface"]);
    refused(
        &command("kind = \"clear_periodic\"\nchannel = \"out\""),
        &["no channel `out`", "`in` and `flood`"],
    );
    refused(&command("kind = \"clear_periodic\"\nchannel = \"in\"\nquota = 2"), &["has no quota"]);
    refused(&command("kind = \"mode_poll\"\ninterface = \"wan\""), &["no interface `wan`"]);
    refused(&with("budget = \"100 us\"\n", ""), &["by a budget in each period"]);
    refused(&with("budget = \"100 us\"", "budget = \"2 ms\""), &["do not fit into a period of 1 ms"]);
    refused(&with("name = \"rest\"", "name = \"control\""), &["two programs called `control`"]);
    refused(
        &with("program = \"rest\"", "program = \"other\""),
        &["no program `other`", "`control` and `rest`"],
    );
    refused(&with("buffers_real_time = 10", "buffers_real_time = 21"), &["valid is up to 20"]);
    refused(&with("buffers = 20", "buffers = \"none\""), &["there are no buffers"]);
    refused(&format!("{RECEIVING}[admission]\nformula = \"papers\""), &["the papers have no formulas"]);
    refused(
        &format!("{RECEIVING}[admission]\nfill = \"in\""),
        &["copies are counted of channels that are sent"],
    );
    refused(&format!("{RIGHT}\n[[program]]\nname = \"p\""), &["receives at no interface"]);
    refused(
        &format!("{RIGHT}\n[[command]]\nkind = \"mode_intr\"\nat = \"1 ms\""),
        &["receives at no interface"],
    );
}

#[test]
fn a_kernel_is_the_host_of_what_its_adapter_decides_alone() {
    let plain = r#"
title = "By a kernel"
[host]
profile = "harts-reception"
[admission]
formula = "off"
[run]
clock = "real"
time = "50 ms"
[emulation]
host = "kernel"
[[interface]]
name = "lan"
policy = "limited"
quota = 4
interval = "1 ms"
[[channel]]
name = "flood"
class = "best_effort"
max_message = "9014 B"
burst = 1
interface = "lan"
source = { kind = "periodic", interval = "3 us" }
"#;
    assert_eq!(only(plain).emulation.host, HostPlace::Kernel);
    refused(&plain.replace("limited", "hard_timer"), &["a kernel polls as it likes", "`limited`"]);
    refused(
        &plain.replace("policy = \"limited\"\nquota = 4\ninterval = \"1 ms\"", "policy = \"lazy\""),
        &["a kernel polls as it likes"],
    );
    refused(
        &plain.replace("quota = 4", "quota = 4\nbuffers = \"none\""),
        &["a kernel's program has buffers"],
    );
    refused(&plain.replace("9014 B", "9015 B"), &["9014 bytes at most"]);
    refused(
        &format!("{plain}[[program]]\nname = \"p\"\nbudget = \"1 ms\"\nperiod = \"2 ms\""),
        &["has one program"],
    );
    refused(&format!("{RIGHT}\n[emulation]\nhost = \"kernel\""), &["add an `[[interface]]`"]);
    // In virtual time the place of the host does not matter.
    assert_eq!(
        only(&plain.replace("clock = \"real\"", "").replace("limited", "timed")).receivers()[0]
            .interfaces
            .len(),
        1
    );
}

#[test]
fn sweeps_set_programs_by_name_and_commands_as_a_list() {
    let sweep = |points: &str| format!("{RECEIVING}[[sweep]]\nname = \"s\"\npoints = [{points}]");
    let budgets = sweep(
        "{ name = \"a\", set = { \"program.control.budget\" = \"90 us\" } }, { name = \"b\", set = { \"program.*.work\" = \"7 us\" } }",
    );
    let scenario = right(&budgets);
    let points: Vec<Experiment> = scenario.points().map(|point| scenario.experiment(&point)).collect();
    let budget = |experiment: &Experiment| {
        experiment.receivers()[0].programs[0].config.reserved.map(|reserved| reserved.budget)
    };
    assert_eq!(budget(&points[0]), Some(Span::from_us(90)));
    assert_eq!(budget(&points[1]), Some(Span::from_us(100)));
    refused(
        &sweep("{ name = \"a\", set = { \"program.budget\" = \"90 us\" } }"),
        &["`program.control.budget`"],
    );
    refused(
        &sweep("{ name = \"a\", set = { \"command.kind\" = \"mode_intr\" } }"),
        &["commands have no names"],
    );
    let told = sweep(
        "{ name = \"a\", set = { \"command\" = [{ kind = \"clear_periodic\", at = \"1 ms\", channel = \"flood\" }] } }, { name = \"b\", set = { \"command\" = [] } }",
    );
    let scenario = right(&told);
    let counts: Vec<usize> =
        scenario.points().map(|point| scenario.experiment(&point).commands.len()).collect();
    assert_eq!(counts, [1, 0]);
}
