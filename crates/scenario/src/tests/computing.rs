//! Applications that compute beside channels, and programs that take their messages: keys, errors
//! and promises.

use laxity_admission::Formula;
use laxity_units::Span;
use laxity_world::promise::{of_computing, promises};

use super::*;

const HOST: &str = "[host]\n";

/// [`RIGHT`] with these applications.
fn beside(tables: &str) -> String {
    and(tables)
}

#[track_caller]
fn refused(tables: &str) -> String {
    match read(&beside(tables)) {
        Ok(_) => panic!("the file is valid"),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn a_budget_is_due_by_the_end_of_its_period_unless_it_says_otherwise() {
    assert!(RIGHT.contains(HOST));
    let text = beside(
        "[host.compute.rest]\nslice = \"1 ms\"\n[host.compute.film]\nbudget = \"2 ms\"\nperiod = \"10 ms\"\nslice = \"500 us\"\n\
         [host.compute.late]\nbudget = \"1 ms\"\nperiod = \"50 ms\"\ndeadline = \"60 ms\"\nstart = \"3 ms\"\nlevel = 4\nslice = \"1 ms\"",
    );
    let experiment = right(&text).first();
    let computing = &experiment.host(0).computing;
    let of = |name: &str| computing.iter().find(|spec| spec.name == name).expect("it is there");
    assert_eq!((of("rest").slice, of("rest").budget), (Span::from_ms(1), None));
    let film = of("film").budget.expect("it has one");
    assert_eq!((film.deadline, film.start, film.level), (Span::from_ms(10), Span::ZERO, 0));
    let late = of("late").budget.expect("it has one");
    assert_eq!((late.deadline, late.start, late.level), (Span::from_ms(60), Span::from_ms(3), 4));
}

#[test]
fn what_makes_no_application_is_said() {
    let all = [
        "[host.compute.film]\nbudget = \"2 ms\"\nslice = \"1 ms\"",
        "[host.compute.film]\nbudget = \"2 ms\"\nperiod = \"1 ms\"\nslice = \"1 ms\"",
        "[host.compute.film]\nperiod = \"1 ms\"\nslice = \"1 ms\"",
        "[host.compute.film]",
        "[host.compute.\"a film\"]\nslice = \"1 ms\"",
        "[host.compute.film]\nbudget = \"2 ms\"\nperiod = \"9 ms\"\nslice = \"1 ms\"\nlevel = 31",
    ];
    insta::assert_snapshot!("computing", all.map(refused).join("\n\n"));
}

/// With `D_order` a budget keeps the deadline by which EDF orders; with the demand test it keeps
/// the shorter one that the test finds. A budget that does not fit leaves no channel a bound, and
/// levels of budgets are not those of the proof.
#[test]
fn a_budget_is_promised_beside_channels() {
    let film = "[host.compute.film]\nbudget = \"1 ms\"\nperiod = \"20 ms\"\nslice = \"1 ms\"\n";
    let bounds = |text: &str| of_computing(&right(text).first(), Some(Formula::Corrected));
    let order = bounds(&beside(&format!("{film}[admission]\ntest = \"d_order\"")));
    assert_eq!(order, [[Some(Span::from_ms(20))]]);
    let demand = bounds(&beside(film));
    assert!(demand[0][0].is_some_and(|bound| bound < Span::from_ms(20)), "{demand:?}");
    let why = |text: &str| promises(&right(text).first(), Formula::Corrected).err().map(|why| why.sentence());
    assert_eq!(why(&beside(film)), None);
    let full = "[host.compute.film]\nbudget = \"20 ms\"\nperiod = \"20 ms\"\nslice = \"1 ms\"\n";
    assert_eq!(why(&beside(full)), Some("the CPU cannot keep the budgets of its applications"));
    assert_eq!(bounds(&beside(full)), [[None]]);
    let by_level = with(
        HOST,
        "[host]\nsubsystem = { cpu = \"fixed_priority\", link = { order = \"fixed_priority\" } }\n",
    );
    assert_eq!(
        why(&format!("{by_level}\n{film}")),
        Some(
            "admission proves bounds for levels that it chooses, and not for those of budgets: a `level` for each channel"
        )
    );
    let rest = "[host.compute.rest]\nslice = \"1 ms\"\n";
    assert_eq!(why(&format!("{by_level}\n{rest}")), None);
    assert_eq!(bounds(&beside(rest)), [[None]]);
}

/// A channel waits for a slice, or for a block if that is longer.
#[test]
fn a_channel_waits_for_one_slice() {
    let bound = |slice: &str| {
        let text = beside(&format!("[host.compute.rest]\nslice = \"{slice}\"\n"));
        let all = promises(&right(&text).first(), Formula::Corrected).expect("it is covered").channels;
        all.iter().find_map(|promise| promise.bound()).expect("a channel has a bound")
    };
    assert_eq!(bound("1 ns"), bound("10 us"));
    assert!(bound("10 ms") >= bound("5 ms") + Span::from_ms(5));
    // A budget's slice as well, which is waited for though the budget is due after the channel.
    let beside_budget = |slice: &str| {
        let film = "budget = \"10 ms\"\nperiod = \"10 s\"\ndeadline = \"9 s\"";
        let text = beside(&format!("[host.compute.film]\n{film}\nslice = \"{slice}\"\n"));
        let all = promises(&right(&text).first(), Formula::Corrected).expect("it is covered").channels;
        all.iter().find_map(|promise| promise.bound()).expect("a channel has a bound")
    };
    assert!(beside_budget("10 ms") >= beside_budget("5 ms") + Span::from_ms(4));
}

/// Two hosts, the second with a speed and a program for received messages.
fn received(host: &str, channel: &str) -> String {
    format!(
        r#"title = "A program"
[host]
profile = "mc68040"
subsystem = {{ packet = "1500 B" }}
[adapter]
kind = "null"
per_byte = "80 ns"
[node.ada]
[node.ben]
{host}
[network.line]
joins = ["ada", "ben"]
[run]
time = "1 s"
[[channel]]
name = "one"
class = "real_time"
from = "ada"
to = "ben"
max_message = "3000 B"
burst = 3
min_interval = "30 ms"
deadline = "25 ms"
source = {{ kind = "adversary" }}
{channel}
"#
    )
}

/// The message, and each of its bytes, at a host of twice the speed; places for what a channel that
/// keeps its contract may have.
#[test]
fn a_program_takes_messages() {
    let reader = |host: &str, channel: &str| {
        let experiment = right(&received(host, channel)).first();
        experiment.channels[0].reader_at(experiment.host(1).speedup)
    };
    assert_eq!(reader("", ""), None);
    let of = |slots, work, per_byte| {
        let (work, per_byte) = (Span::from_us(work), Span::from_ns(per_byte));
        Some(laxity_qos::channel::Reader { core: Default::default(), slots, work, per_byte })
    };
    assert_eq!(reader("", "reader = {}"), of(3, 0, 0));
    let said = "reader = { work = \"400 us\", work_byte = \"20 ns\", slots = 7 }";
    assert_eq!(reader("", said), of(7, 400, 20));
    assert_eq!(reader("host = { speedup = 2 }", said), of(7, 200, 10));
}

/// The bound to the receiver grows by the program's work and the switch to it, at the receiver
/// only; too few places are refused, and handlers that work ahead may fill any number.
#[test]
fn a_program_is_part_of_the_bound_to_the_receiver() {
    let promise = |host: &str, channel: &str| {
        let promises = promises(&right(&received(host, channel)).first(), Formula::Corrected);
        promises.expect("a host is covered").channels.swap_remove(0)
    };
    let (without, with) = (promise("", ""), promise("", "reader = { work = \"2 ms\", slots = 1 }"));
    assert_eq!(without.bound(), with.bound());
    let longer = with.delivery_bound().unwrap() - without.delivery_bound().unwrap();
    // One wait for a block of another message, one for its own, and the switch, which is part of a
    // block of its own.
    assert!(longer >= Span::from_ms(2) && longer < Span::from_ms(7), "{longer}");
    let ahead = "host = { subsystem = { early = \"below_best_effort\" } }";
    assert!(promise(ahead, "").delivery_bound().is_some());
    assert_eq!(promise(ahead, "reader = { slots = 9 }").delivery_bound(), None);
    let demand = |slots: u32| {
        let channel =
            format!("reader = {{ work = \"1 ms\", slots = {slots} }}\n[admission]\ntest = \"demand\"");
        let text = received("", &channel).replace("deadline = \"25 ms\"", "deadline = \"110 ms\"");
        let promised = promises(&right(&text).first(), Formula::Corrected).unwrap();
        promised.channels[0].hops()[1].local_deadline
    };
    // A program with one slot is asked for no deadline beyond the interval.
    assert!(demand(1) == Span::from_ms(30) && demand(2) > Span::from_ms(30), "{} {}", demand(1), demand(2));
}

#[test]
fn a_program_wants_a_host_that_receives() {
    let alone = with("name = \"video\"", "name = \"video\"\nreader = { work = \"1 ms\" }");
    let errors = match read(&alone) {
        Ok(_) => panic!("nobody receives"),
        Err(errors) => errors.to_string(),
    };
    assert!(errors.contains("no host receives this channel for a program"), "{errors}");
    assert!(errors.contains("reader = { work"), "{errors}");
}
