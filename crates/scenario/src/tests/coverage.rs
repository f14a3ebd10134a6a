//! Channels that lose their bound at a station without an analysis: those that pass it or arrive
//! behind it, and no others.

mod stations;

use laxity_admission::Formula;
use laxity_world::promise::{Promise, Uncovered, promises};

use super::*;

#[track_caller]
fn only(text: &str) -> Experiment {
    right(text).first()
}

/// Hosts at a switch, `ben` being as it says, and channels that are as they say from one to the other.
fn star(ben: &str, more: &str, channels: &[(&str, &str, &str)]) -> String {
    let mut text = format!(
        r#"title = "A star"
[host]
profile = "mc68040"
subsystem = {{ packet = "1500 B" }}
[node.ada]
[node.ben]
{ben}
[node.cleo]
[node.dan]
[node.sw]
kind = "switch"
[network]
rate = "100 Mbit/s"
[network.star]
joins = ["sw", "ada", "ben", "cleo", "dan"]
[run]
time = "1 s"
{more}
"#
    );
    for (class, from, to) in channels {
        let contract = match *class {
            "real_time" => "min_interval = \"60 ms\"\ndeadline = \"250 ms\"\nburst = 1",
            _ => "burst = 1",
        };
        text += &format!(
            "[[channel]]\nname = \"{class}-{from}-{to}\"\nclass = \"{class}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
             max_message = \"1500 B\"\n{contract}\nsource = {{ kind = \"continuous\" }}\n"
        );
    }
    text
}

/// Bounds of each channel: to its last transmission and to the receiver (2), the first only (1), or
/// none, with the hosts that still promise a bound.
fn bounds(text: &str) -> Vec<(u8, Vec<String>)> {
    let experiment = only(text);
    let answers = promises(&experiment, Formula::Corrected).unwrap().channels;
    let of = |promise: &Promise| {
        let bounds = u8::from(promise.bound().is_some()) + u8::from(promise.delivery_bound().is_some());
        let hops = match promise {
            Promise::Unbounded(_, hops) => hops.iter().map(|hop| experiment.name(hop.node)).collect(),
            Promise::Refused(refused) => panic!("{}", refused.in_words(&experiment)),
            _ => Vec::new(),
        };
        (bounds, hops)
    };
    answers.iter().map(of).collect()
}

const RCSP: &str = "host = { subsystem = { cpu = \"rcsp\" } }";
const RT: &str = "real_time";

#[test]
fn a_station_without_an_analysis_takes_the_bounds_of_those_behind_it() {
    let all = [(RT, "ada", "cleo"), (RT, "cleo", "dan"), (RT, "cleo", "ada")];
    assert_eq!(bounds(&star("", "", &all)), [(2, vec![]), (2, vec![]), (2, vec![])]);
    // Ben sends no message; then best effort, in any amount, to the destination of Ada's messages.
    assert_eq!(bounds(&star(RCSP, "", &all)), [(2, vec![]), (2, vec![]), (2, vec![])]);
    let beside = [all[0], all[1], ("best_effort", "ben", "cleo")];
    assert_eq!(bounds(&star(RCSP, "", &beside)), [(2, vec![]), (2, vec![]), (0, vec![])]);
    // Then with a contract that Ben need not keep: channels to Cleo use the same port.
    let after = [all[0], (RT, "ada", "dan"), (RT, "ben", "cleo")];
    assert_eq!(bounds(&star(RCSP, "", &after)), [(0, vec!["ada".into()]), (2, vec![]), (0, vec![])]);
    // And Cleo, which gets Ben's messages late, promises no bound to Dan, nor Dan to Ada.
    let beyond = [all[1], (RT, "ben", "cleo"), (RT, "dan", "ada"), (RT, "ada", "ben")];
    assert_eq!(bounds(&star("", "", &beyond)), vec![(2, vec![]); 4]);
    let only_cleo = [all[1], (RT, "ben", "cleo"), (RT, "ada", "ben")];
    assert_eq!(bounds(&star(RCSP, "", &only_cleo)), [(0, vec![]), (0, vec![]), (1, vec![])]);
    assert!(promises(&only(&star(RCSP, "", &beyond)), Formula::Corrected).is_err(), "nobody is left");
}

#[test]
fn a_receiver_without_an_analysis_leaves_the_bound_to_the_last_link() {
    let all = [(RT, "ada", "ben"), (RT, "ada", "cleo")];
    assert_eq!(bounds(&star(RCSP, "", &all)), [(1, vec![]), (2, vec![])]);
}

#[test]
fn a_fault_is_its_own_hosts() {
    let fault = "[[fault]]\nkind = \"lost_interrupts\"\nat = \"1 ms\"\nnode = \"ben\"";
    let all = [(RT, "ben", "dan"), (RT, "ada", "cleo")];
    assert_eq!(bounds(&star("", fault, &all)), [(0, vec![]), (2, vec![])]);
}

#[test]
fn what_a_way_multiplies_is_felt_where_it_comes_in() {
    let doubled = "[network.side]\njoins = [\"ben\", \"dan\"]\nimpairments = { duplication = 0.5 }";
    let all = [("best_effort", "ben", "dan"), (RT, "dan", "ben"), (RT, "ada", "cleo"), (RT, "ada", "dan")];
    // All frames to Dan interrupt it, so Dan's own messages have no bound.
    assert_eq!(bounds(&star("", doubled, &all)), [(0, vec![]), (0, vec![]), (2, vec![]), (1, vec![])]);
}

/// A link from Ben to Dan with an adapter that sends frames at unknown distances: they interrupt
/// Dan.
#[test]
fn interrupts_of_frames_need_a_bound() {
    let stages = "adapter = { kind = \"generic\", transmit = [{ name = \"t\", servers = 2, phase = [{ fixed = \"1 us\" }] }] }";
    let free = "first_packet = \"0 us\", packet = \"0 us\", link_scheduling = \"0 us\"";
    let several =
        format!("{stages}\nhost = {{ costs = {{ {free} }}, subsystem = {{ link = {{ depth = 2 }} }} }}");
    let side = "[network.side]\njoins = [\"ben\", \"dan\"]";
    let all = [("best_effort", "ben", "dan"), (RT, "dan", "ben"), (RT, "ada", "cleo")];
    let costly =
        |text: String| text.replacen("[node.ada]", "costs = { interrupt = \"1 us\" }\n[node.ada]", 1);
    assert_eq!(bounds(&costly(star("", side, &all)))[1..], [(2, vec![]), (2, vec![])]);
    // One at a time they are as far apart as each takes, and several as a host takes to make them.
    assert_eq!(bounds(&costly(star(stages, side, &all)))[1..], [(2, vec![]), (2, vec![])]);
    assert_eq!(bounds(&costly(star(&several, side, &all)))[1..], [(0, vec![]), (2, vec![])]);
}

#[test]
fn if_nobody_has_a_bound_there_is_one_reason() {
    let experiment = only(&star(RCSP, "", &[(RT, "ben", "ada"), ("best_effort", "ada", "cleo")]));
    let why = promises(&experiment, Formula::Corrected).unwrap_err();
    assert_eq!(
        why.sentence(),
        "bounds hold behind a CPU by multi-class EDF or fixed priorities; behind one by another order, with one core and one adapter, if neither CPU nor link holds messages"
    );
}

/// Ports in orders that keep rates apart have bounds where the host can do with less than the port;
/// a port that rests on what others send has none.
#[test]
fn ports_that_keep_rates_apart_have_bounds() {
    let all = [(RT, "ada", "cleo"), (RT, "ben", "cleo"), ("best_effort", "dan", "cleo")];
    let star = |order: &str, more: &str| {
        let switch = format!("kind = \"switch\"\norder = \"{order}\"");
        star("", more, &all).replace("kind = \"switch\"", &switch)
    };
    let shared = "[admission]\ndeadlines = \"shared\"\n";
    for order in ["virtual_clock", "wfq", "wf2q_plus", "scfq", "sfq", "hsfq", "drr", "rcsp"] {
        let text = star(order, shared);
        assert_eq!(bounds(&text)[..2], [(2, vec![]), (2, vec![])], "{order}");
        // A rate counts a message in its interval, and 50 ms are less. All channels with a rate are
        // through together before that, and where beginnings count one packet counts as zero.
        let alike = only(&text.replace("shared", "alike"));
        let answers = promises(&alike, Formula::Corrected).unwrap().channels;
        assert!(matches!(answers[0], Promise::Admitted(_)), "{order}: {:?}", answers[0]);
    }
    // A group of 60 Mbit/s, in which all channels of this port have a rate: its channels have
    // bounds, and have none if the group has less than they reserve.
    let grouped = |rate: &str| {
        let group = format!("{shared}[group.red]\nrate = \"{rate}\"\n");
        let text =
            star("hsfq", &group).replace("class = \"real_time\"", "class = \"real_time\"\ngroup = \"red\"");
        promises(&only(&text), Formula::Corrected).unwrap().channels
    };
    assert!(grouped("60 Mbit/s")[..2].iter().all(|promise| promise.bound().is_some()));
    assert!(matches!(grouped("300 kbit/s")[..2], [Promise::Admitted(_), Promise::Refused(_)]));
    let none = promises(&only(&star("hop_laxity", shared)), Formula::Corrected).unwrap_err();
    assert_eq!(none, Uncovered::PortOrders);
}
