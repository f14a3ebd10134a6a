//! Nodes at the ends of paths that receive at interfaces: what is wrong with them, and where.

use super::*;

/// Two hosts at a switch, of which `b` receives at an interface.
const ENDS: &str = r#"
title = "Ends"
[host]
profile = "mc68040"
[node.a]
[node.b]
[node.c]
[node.s]
kind = "switch"
[network.n]
joins = ["s", "a", "b", "c"]
rate = "100 Mbit/s"
[run]
time = "50 ms"
[[interface]]
name = "nic"
node = "b"
policy = "timed"
interval = "1 ms"
quota = 2
[[program]]
name = "control"
[[channel]]
name = "in"
from = "a"
to = "b"
class = "real_time"
max_message = "64 B"
burst = 1
min_interval = "10 ms"
deadline = "10 ms"
source = { kind = "periodic" }
"#;

#[track_caller]
fn with(from: &str, to: &str) -> String {
    replaced(ENDS, from, to)
}

/// The first error, and the line that it points to.
#[track_caller]
pub(super) fn refused(text: &str, line: &str, says: &str) {
    let Err(errors) = read(text) else { panic!("the file is valid: {text}") };
    let shown = errors.to_string();
    assert!(shown.contains(says) && shown.contains(line), "{shown}");
}

#[test]
fn interfaces_and_programs_are_at_nodes_by_name() {
    let scenario = right(ENDS);
    let experiment = scenario.experiment(&scenario.points().next().unwrap());
    let [receiver] = experiment.receivers() else { panic!("one receives") };
    assert_eq!((experiment.name(receiver.node), receiver.programs[0].name.as_str()), ("b".into(), "control"));
    assert_eq!((experiment.channels[0].interface, experiment.schedules()), (Some(0), true));
    let elsewhere = format!(
        "{ENDS}{}",
        "[[channel]]\nname = \"on\"\nfrom = \"a\"\nto = \"c\"\nclass = \"best_effort\"\nmax_message = \"1 MiB\"\nburst = 1\nsource = { kind = \"periodic\", rate = \"1 kB/s\" }\n"
    );
    let scenario = right(&elsewhere);
    assert_eq!(scenario.experiment(&scenario.points().next().unwrap()).channels[1].interface, None);
}

#[test]
fn what_is_wrong_with_a_receiving_node_is_said_at_its_place() {
    let node = "node = \"b\"";
    refused(&with("node = \"b\"\n", ""), "[[interface]]", "is at no node");
    refused(&with(node, "node = \"x\""), "node = \"x\"", "there is no node `x`");
    refused(&with(node, "node = \"s\""), "node = \"s\"", "a switch receives at no interface");
    refused(&with(node, "node = \"c\""), "node = \"c\"", "no channel ends there");
    refused(&with(node, "node = \"a\""), "node = \"a\"", "cannot both send and receive at interfaces");
    refused(
        &with("name = \"control\"", "name = \"control\"\nnode = \"c\""),
        "node = \"c\"",
        "receives at no interface",
    );
    refused(&with("[node.b]", "[node.b.host]\ncores = 2"), node, "with one core");
    refused(
        &with("[node.b]", "[node.b.host]\ncompute = { film = { slice = \"1 ms\" } }"),
        node,
        "programs have the CPU",
    );
    refused(&with("[node.b]", "[node.b.adapter]\nfile = \"end-edd\""), node, "receive side of its adapter");
    refused(
        &with(
            "[run]",
            "[[fault]]\nkind = \"lost_interrupts\"\nnode = \"b\"\nshare = 0.5\nat = \"1 ms\"\n[run]",
        ),
        node,
        "faults are of adapters that send",
    );
    let two = format!("{ENDS}[[interface]]\nname = \"nic2\"\nnode = \"b\"\npolicy = \"interrupt\"\n");
    refused(&two, "[[channel]]", "channel `in` has no `interface`");
}

#[test]
fn what_is_wrong_with_a_channel_that_ends_at_an_interface_is_said_at_its_place() {
    refused(&with("\"64 B\"", "\"5 KiB\""), "max_message = \"5 KiB\"", "more than one packet of 4 KiB");
    refused(
        &with("burst = 1", "burst = 1\nreader = { work = \"1 us\" }"),
        "reader",
        "takes what is received at an interface",
    );
    refused(&with("burst = 1", "burst = 1\njitter = \"1 ms\""), "jitter", "promised its deadline");
    refused(
        &with("burst = 1", "burst = 1\ninterface = \"x\""),
        "interface = \"x\"",
        "there is no interface `x`",
    );
    refused(&with("burst = 1", "burst = 1\nprogram = \"x\""), "program = \"x\"", "there is no program `x`");
    let copies = with("to = \"b\"", "route = [\"a\", \"s\", \"d\"]")
        .replace("[node.c]", "[node.c]\n[node.d]\ncount = 2");
    let copies = copies
        .replace("\"b\", \"c\"]", "\"b\", \"c\", \"d\"]")
        .replace("from = \"a\"\n", "")
        .replace("node = \"b\"", "node = \"d-1\"");
    refused(&copies, "[[channel]]", "end at nodes with different interfaces");
}

#[test]
fn a_network_with_receivers_is_for_virtual_time_and_our_formulas() {
    refused(
        &with("[run]", "[admission]\nformula = \"papers\"\n[run]"),
        "",
        "no formulas for a host that receives",
    );
    refused(
        &with("[run]", "[admission]\nfill = \"in\"\n[run]"),
        "",
        "some of this scenario end at interfaces",
    );
    refused(
        &with("time = \"50 ms\"", "time = \"50 ms\"\nclock = \"real\""),
        "",
        "is alone, without a network",
    );
    refused(
        &with("[run]", "[[command]]\nkind = \"create_periodic\"\nchannel = \"in\"\nat = \"1 ms\"\n[run]"),
        "",
        "commands are for",
    );
    // Nodes by their numbers have one way between them, and no interfaces.
    let alone = "[host]\nprofile = \"mc68040\"\n";
    assert!(read(&format!("title = \"x\"\n{alone}[run]\ntime = \"1 ms\"\n[[interface]]\nname = \"nic\"\nnode = \"b\"\npolicy = \"interrupt\"\n[[channel]]\nname = \"in\"\ninterface = \"nic\"\nclass = \"best_effort\"\nmax_message = \"64 B\"\nburst = 1\nsource = {{ kind = \"periodic\", interval = \"1 ms\" }}\n")).is_err_and(|errors| errors.to_string().contains("has no name")));
}
