//! Channels with several receivers: their routes, and what they cannot be.

use laxity_world::experiment::CopyOf;

use super::ends::refused;
use super::*;

/// `a` at switch `s`, `b` and `c` at `t` behind it, and `d` at `s` itself.
const TREE: &str = r#"
title = "Tree"
[host]
profile = "mc68040"
[adapter]
kind = "null"
rate = "100 Mbit/s"
[node.a]
[node.b]
[node.c]
[node.d]
[node.s]
kind = "switch"
[node.t]
kind = "switch"
[network]
rate = "100 Mbit/s"
[network.near]
joins = ["s", "a", "d"]
[network.far]
joins = ["t", "b", "c"]
[network.trunk]
joins = ["s", "t"]
[run]
time = "50 ms"
[[channel]]
name = "all"
from = "a"
to = "d"
receivers = [{ to = "b" }, { to = "c" }]
class = "real_time"
max_message = "1 KiB"
burst = 1
min_interval = "10 ms"
deadline = "10 ms"
source = { kind = "periodic" }
"#;

#[track_caller]
fn with(from: &str, to: &str) -> String {
    replaced(TREE, from, to)
}

/// The name of a channel, where it ends, and the channel that it is a copy of with the hops that both share.
type Row = (String, String, Option<(usize, usize)>);

fn channels(text: &str) -> Vec<Row> {
    let scenario = right(text);
    let experiment = scenario.experiment(&scenario.points().next().unwrap());
    let of = |channel: &laxity_world::experiment::ChannelSpec| {
        let copy = channel.copy.map(|CopyOf { channel, hops }| (channel, hops));
        (channel.name.clone(), experiment.name(*channel.route.last().unwrap()), copy)
    };
    experiment.channels.iter().map(of).collect()
}

/// The copy to `b` parts from the channel at `s`, behind `a`. That to `c` goes with it to `t`.
#[test]
fn a_copy_is_made_where_routes_part() {
    let row = |name: &str, end: &str, copy| (name.to_string(), end.to_string(), copy);
    let all = [row("all", "d", None), row("all-b", "b", Some((0, 1))), row("all-c", "c", Some((1, 2)))];
    assert_eq!(channels(TREE), all);
    let written = r#"receivers = [{ route = ["a", "s", "t", "b"] }, { route = ["a", "s", "t", "c"] }]"#;
    assert_eq!(channels(&with(r#"receivers = [{ to = "b" }, { to = "c" }]"#, written)), all);
    let twice = channels(&with("class =", "count = 2\nclass ="));
    assert_eq!(
        twice[3..],
        [row("all-2", "d", None), row("all-2-b", "b", Some((3, 1))), row("all-2-c", "c", Some((4, 2))),]
    );
}

/// A name of several nodes stands for all of them, and the first channel goes to each of its own in turn.
#[test]
fn a_receiver_of_several_nodes_is_each_of_them() {
    let several =
        with("[node.c]", "[node.c]\ncount = 2").replace("{ to = \"b\" }, { to = \"c\" }", "{ to = \"c\" }");
    let names: Vec<String> = channels(&several).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["all", "all-c-1", "all-c-2"]);
}

#[test]
fn what_is_no_multicast_is_refused_at_its_place() {
    let receivers = r#"receivers = [{ to = "b" }, { to = "c" }]"#;
    let say = |text: &str| with(receivers, &format!("receivers = [{text}]"));
    refused(&say(r#"{ to = "d" }"#), "receivers", "is there twice");
    refused(&say(r#"{ to = "b" }, { to = "b" }"#), "receivers", "there are two channels called `all-b`");
    refused(&say(r#"{ to = "x" }"#), "receivers", "there is no node `x`");
    refused(&say(r#"{ to = "s" }"#), "receivers", "a switch neither sends nor receives");
    refused(&say(r#"{ to = "a" }"#), "receivers", "would send to itself");
    refused(&say("{}"), "receivers", "this receiver has no `to`");
    refused(&say(r#"{ to = "b", route = ["a", "s", "t", "b"] }"#), "receivers", "the route says where");
    refused(&say(r#"{ route = ["b", "t", "c"] }"#), "receivers", "a multicast has one sender");
    refused(&say(r#"{ route = ["a", "s", "t", "s", "d"] }"#), "receivers", "is there twice");
    refused(
        &say(r#"{ route = ["a", "s", "d", "s", "t", "b"] }"#),
        "receivers",
        "through one of its receivers",
    );
    refused(&say(r#"{ route = ["a", "s", "a", "s", "t", "b"] }"#), "receivers", "passes a node twice");
    let by_route = with("from = \"a\"\nto = \"d\"", r#"route = ["a", "s", "d"]"#);
    refused(&by_route, "receivers", "this receiver has none");
    let line =
        with(r#"joins = ["t", "b", "c"]"#, "joins = [\"t\", \"b\"]\n[network.on]\njoins = [\"b\", \"c\"]");
    refused(&line, "receivers", "would pass through one of its receivers");
    let beside = with(
        r#"joins = ["s", "a", "d"]"#,
        "joins = [\"s\", \"a\"]\n[network.direct]\njoins = [\"a\", \"d\"]",
    );
    refused(&beside, "receivers", "would send a multicast over two links");
    refused(&with("burst = 1", "burst = 1\ncarries = \"udp\""), "receivers", "frames of programs");
    let clash = format!(
        "{TREE}[[channel]]\nname = \"all-c\"\nfrom = \"d\"\nto = \"c\"\nclass = \"best_effort\"\n\
        max_message = \"1 KiB\"\nburst = 1\nsource = {{ kind = \"periodic\", rate = \"1 kB/s\" }}\n"
    );
    refused(&clash, "all-c", "there are two channels called `all-c`");
}
