//! Keys of an adapter beside its file.

use laxity_model::adapter::{Description, Moderation};
use laxity_units::Span;
use laxity_world::experiment::AdapterSpec as Valid;

use super::*;

const NULL: &str = "kind = \"null\"\nstartup = \"40 us\"\nper_byte = \"50 ns\"\n";

/// [`RIGHT`] with another adapter, without admission, and with more at its end.
fn scenario(adapter: &str, more: &str) -> String {
    let text = with(NULL, adapter).replace("[run]", "[admission]\nformula = \"off\"\n\n[run]");
    format!("{text}\n{more}")
}

/// An axis of `key`.
fn sweep(key: &str, values: &str) -> String {
    format!("[[sweep]]\nname = \"{}\"\nkey = \"{key}\"\nvalues = [{values}]\n", key.replace('.', "-"))
}

/// Adapter number `at` at each point.
#[track_caller]
fn adapters_of(text: &str, at: usize) -> Vec<Description> {
    let scenario = right(text);
    let described = |point| match &scenario.experiment(&point).adapters[at] {
        Valid::Described(description) => (**description).clone(),
        Valid::Null(_) => panic!("it is described"),
    };
    scenario.points().map(described).collect()
}

#[track_caller]
fn adapters(adapter: &str, more: &str) -> Vec<Description> {
    adapters_of(&scenario(adapter, more), 0)
}

#[track_caller]
fn refused(adapter: &str, more: &str) -> String {
    match read(&scenario(adapter, more)) {
        Ok(_) => panic!("it is valid: {adapter}{more}"),
        Err(errors) => errors.to_string(),
    }
}

fn nic() -> Description {
    adapters("file = \"nic-25g\"\n", "").remove(0)
}

#[test]
fn what_stands_beside_a_file_is_laid_over_it() {
    let nic = nic();
    let [other] = &adapters("file = \"nic-25g\"\ndoorbell = \"600 ns\"\n", "")[..] else { panic!() };
    assert_eq!(other.interface.doorbell, Span::from_ns(600));
    let mut same = other.clone();
    same.interface.doorbell = nic.interface.doorbell;
    assert_eq!(same, nic);
    // Tables are laid over tables, lists take the place of lists, and no number needs a source.
    let said = "file = \"nic-25g\"\ntransmit_buffers = { shared = 9 }\n[[adapter.response_queue]]\nslots = 5\noverload = \"drop\"\nanswers = \"received\"\n[[adapter.response_queue]]\n\n";
    let [other] = &adapters(said, "")[..] else { panic!() };
    assert_eq!(other.interface.responses[0].slots, Some(5));
    assert_eq!(other.interface.responses.len(), 2);
    assert_eq!(other.interface.responses[1].moderation, Moderation::default());
    assert_eq!(other.transmit, nic.transmit);
    assert_ne!(other.transmit_buffers, nic.transmit_buffers);
    // A number in place of one that has its source beside it.
    let [cim] = &adapters("file = \"cim250\"\ncommand = \"1 us\"\n", "")[..] else { panic!() };
    let file = adapters("file = \"cim250\"\n", "").remove(0);
    assert_ne!(*cim, file);
    assert_eq!(cim.transmit[1], file.transmit[1]);
}

#[test]
fn a_sweep_reaches_what_only_the_file_says() {
    let file = "file = \"nic-25g\"\n";
    let moderated = |more: &str| -> Vec<Moderation> {
        adapters(file, more).iter().map(|of| of.interface.responses[0].moderation).collect()
    };
    let of = |frames, delay| Moderation { frames: Some(frames), delay, interval: Span::ZERO };
    let frames = sweep("adapter.response_queue.0.frames", "1, 64");
    let us = Span::from_us;
    assert_eq!(moderated(&frames), [of(1, us(16)), of(64, us(16))]);
    let delay = sweep("adapter.response_queue.00.delay", "\"3 us\", \"50 us\"");
    let both = [of(1, us(3)), of(1, us(50)), of(64, us(3)), of(64, us(50))];
    assert_eq!(moderated(&format!("{frames}{delay}")), both);
    // All else is as it was.
    let mut same = adapters(file, &frames).remove(1);
    same.interface.responses[0].moderation.frames = Some(32);
    assert_eq!(same, nic());
    let batch = adapters(file, &sweep("adapter.transmit.descriptors.batch", "1, 16"));
    assert_eq!(batch.iter().map(|of| of.transmit[0].batch).collect::<Vec<_>>(), [1, 16]);
    let fixed = adapters(file, &sweep("adapter.transmit.data.phase.0.fixed", "\"300 ns\""));
    assert_eq!(fixed[0].transmit[1].phases[0].delay.fixed, Span::from_ns(300));
    let doorbell = adapters(file, &sweep("adapter.doorbell", "\"150 ns\""));
    assert_eq!(doorbell[0].interface.doorbell, Span::from_ns(150));
    // Which file it is may hang on the point, too.
    let files = sweep("adapter.file", "\"nic-25g\", \"nic-25g-tc\"");
    let slots = sweep("adapter.transmit.link.queue.0.slots", "3");
    let each = adapters(file, &format!("{slots}{files}"));
    let link = |of: &Description| {
        let link = of.transmit.iter().find(|stage| stage.name == "link").unwrap();
        link.queues[0].slots
    };
    assert_eq!(each.iter().map(link).collect::<Vec<_>>(), [Some(3), Some(3)]);
    assert_ne!(each[0], each[1]);
}

/// A node's keys lie over those that it has in common with others, and those over the file.
#[test]
fn nodes_lay_over_the_file_too() {
    let nodes = r#"
[node.a]
[node.b.adapter]
doorbell = "600 ns"
[node.c.adapter]
file = "nic-25g-tc"
doorbell = "150 ns"
[node.switch]
kind = "switch"
[network]
rate = "1 Gbit/s"
[network.left]
joins = ["a", "switch"]
[network.middle]
joins = ["b", "switch"]
[network.right]
joins = ["c", "switch"]
"#;
    let adapter = "file = \"nic-25g\"\nselection = \"priority\"\n";
    let text = scenario(adapter, nodes);
    let text = text.replacen("[[channel]]", "[[channel]]\nfrom = \"a\"\nto = \"b\"", 9);
    let own = |at| adapters_of(&text, at).remove(0);
    let (common, b, c) = (own(0), own(1), own(2));
    assert_eq!((common.interface.doorbell, b.interface.doorbell), (Span::from_ns(300), Span::from_ns(600)));
    assert_eq!(b.interface.selection, common.interface.selection);
    assert_ne!(b.interface.selection, nic().interface.selection);
    assert_eq!(c.interface.doorbell, Span::from_ns(150));
    assert_ne!(c.transmit, b.transmit);
    // A list that is common to all is a node's own once a sweep puts something into it there.
    let common = sweep("adapter.response_queue.0.delay", "\"3 us\"");
    let own = sweep("node.b.adapter.response_queue.0.frames", "7");
    let at = |at| adapters_of(&format!("{text}\n{own}{common}"), at)[0].interface.responses[0].moderation;
    assert_eq!((at(0).frames, at(0).delay), (Some(32), Span::from_us(3)));
    assert_eq!((at(1).frames, at(1).delay), (Some(7), Span::from_us(3)));
    assert_eq!((at(2).frames, at(2).delay), (Some(32), Span::from_us(16)));
}

#[test]
fn what_is_wrong_is_shown_where_it_stands() {
    let file = "file = \"nic-25g\"\n";
    let mut all = String::new();
    let cases = [
        ("in_the_scenario", refused("file = \"nic-25g\"\ndoorbell = \"fast\"\n", "")),
        ("misspelt", refused("file = \"nic-25g\"\ndoorbel = \"1 us\"\n", "")),
        ("in_the_sweep", refused(file, &sweep("adapter.response_queue.0.frames", "0"))),
        ("in_the_file_for_the_scenario", refused("file = \"nic-25g\"\nnotification = \"1 ms\"\n", "")),
        ("another_kind", refused("file = \"nic-25g\"\nstartup = \"1 us\"\n", "")),
        ("said_twice", refused("file = \"null-25g\"\nper_byte = \"1 ns\"\n", "")),
        ("no_such_queue", refused(file, &sweep("adapter.response_queue.2.frames", "1, 2"))),
        ("no_such_stage", refused(file, &sweep("adapter.transmit.lnik.ahead", "1"))),
        ("no_such_list", refused("file = \"null-25g\"\n", &sweep("adapter.transmit.link.ahead", "1"))),
        ("no_such_file", refused("file = \"nic-25\"\ndoorbell = \"1 us\"\n", "")),
    ];
    for (name, errors) in cases {
        all += &format!("# {name}\n\n{errors}\n\n\n");
    }
    insta::assert_snapshot!(all);
}

/// The list of a point may be shorter than the list of the scenario.
#[test]
fn a_list_and_an_item_of_it_can_be_set_at_once() {
    let set = |item: usize| {
        let list = r#""adapter.queue" = [{ slots = 8 }]"#;
        format!(
            "[[sweep]]\nname = \"n\"\npoints = [{{ name = \"x\", set = {{ {list}, \"adapter.queue.{item}.slots\" = 5 }} }}]\n"
        )
    };
    let adapter = "file = \"nic-25g\"\nqueue = [{ takes = { to = 3 }, slots = 2 }, { slots = 3 }]\n";
    assert_eq!(adapters(adapter, &set(0))[0].interface.queues[0].slots, Some(5));
    assert!(refused(adapter, &set(1)).contains("`queue` has no such item at this point"));
}

/// A file of one's own is found beside the scenario, and changes its hash; the point's document can
/// be written out.
#[test]
fn a_file_of_ones_own_lies_beneath_as_well() {
    let file = "title = \"Mine\"\n[adapter]\nkind = \"generic\"\n[[adapter.transmit]]\nname = \"link\"\n\
                phase = [{ fixed = \"1 us\", source = \"a test\" }]\n";
    let text = scenario("file = \"mine\"\n", &sweep("adapter.transmit.link.phase.0.fixed", "\"7 us\""));
    let mut files = memory(&text);
    files.insert("adapters/mine.toml".into(), file.into());
    let scenario = read_in(&files).unwrap_or_else(|errors| panic!("{errors}"));
    let point = scenario.points().next().unwrap();
    let Valid::Described(adapter) = scenario.experiment(&point).adapters[0].clone() else { panic!() };
    assert_eq!(adapter.transmit[0].phases[0].delay.fixed, Span::from_us(7));
    let stages = scenario.with_document(&point, |document| {
        let adapter = document["adapter"].get_ref().as_table().unwrap();
        adapter["transmit"].get_ref().as_array().unwrap().len()
    });
    assert_eq!(stages, 1);
    let hash = scenario.hash.clone();
    files.insert("adapters/mine.toml".into(), file.replace("a test", "another").into());
    assert_ne!(read_in(&files).unwrap().hash, hash);
}
