//! Credit-based shapers of hosts: bounds beside exact timelines by hand.
//!
//! A packet takes its host 10 us, and 2 us more to be handed over. 500 B take the link 40 us, in which 25
//! Mbit/s earn 1000 of their 4000 bits: the class pauses 120 us after each.

use super::common::free;
use super::fifo::{of, promises, why};
use laxity_world::promise::Promise;
use laxity_world::run;

/// A host with these shapers, and the `rest` of a file.
fn head(shapers: &str, rest: &str) -> String {
    let costs = free().replace("packet = \"0 us\"", "packet = \"10 us\"");
    let costs = costs.replace("hand_over = \"0 us\"", "hand_over = \"2 us\"");
    let costs = costs.replace("receive_packet = \"10 us\"", "receive_packet = \"0 us\"");
    format!(
        "title = \"a test\"\n[host]\nprofile = \"mc68040\"\ncosts = {{ {costs} }}\n\
         subsystem = {{ packet = \"1500 B\", link = {{ paradigm = \"adapter\", shapers = [{shapers}] }} }}\n\
         [adapter]\nkind = \"null\"\nrate = \"100 Mbit/s\"\n[run]\ntime = \"40 ms\"\n{rest}"
    )
}

/// The shaper of a level, in Mbit/s.
fn shaper(level: u8, mbit: u32) -> String {
    format!("{{ level = {level}, idle_slope = \"{mbit} Mbit/s\" }}")
}

/// A channel of messages of 500 B, at least 4 ms apart, that sends at each of these times in us.
fn sends(name: &str, level: u8, at: &[f64]) -> String {
    let at: Vec<String> = at.iter().map(|us| format!("{{ at = \"{us} us\" }}")).collect();
    format!(
        "[[channel]]\nname = \"{name}\"\nclass = \"real_time\"\nlevel = {level}\nmax_message = \"500 B\"\nburst = 1\n\
         min_interval = \"4 ms\"\ndeadline = \"2 ms\"\nsource = {{ kind = \"script\", messages = [{}] }}\n",
        at.join(", ")
    )
}

/// Best effort that sends 1500 B, 120 us, at each of these times in us.
fn bulk(at: &[f64]) -> String {
    let at: Vec<String> = at.iter().map(|us| format!("{{ at = \"{us} us\" }}")).collect();
    format!(
        "[[channel]]\nname = \"bulk\"\nclass = \"best_effort\"\nmax_message = \"1500 B\"\nburst = 4\n\
         source = {{ kind = \"script\", messages = [{}] }}\n",
        at.join(", ")
    )
}

/// The bound and the worst delay of each real-time channel in us, until its last byte has left.
fn sent(text: &str) -> Vec<(f64, f64)> {
    let us = |seconds: f64| (seconds * 1e9).round() / 1e3;
    let channels = run(&of(text)).channels.into_iter().filter(|channel| channel.class == "real_time");
    channels.map(|it| (us(it.bound.expect("a bound")), us(it.worst.expect("messages left")))).collect()
}

fn worst(text: &str) -> Vec<f64> {
    sent(text).into_iter().map(|(_, worst)| worst).collect()
}

/// Packets are handed over after 12, 24, 36, 48 and 60 us. The first begins at 12. Best effort has the link
/// from 60 to 180, which is 8 us after the credit is zero again, and earns the second 200 bits. The third
/// has its credit again at 332, waits for best effort from 262 to 382, and earns 1250 bits. So the fourth
/// begins 110 us after the third, and not 160.
#[test]
fn a_class_spends_its_credit() {
    let all = ["a", "b", "c", "d"].map(|name| sends(name, 0, &[0.0])).concat();
    let text = head(&shaper(0, 25), &[all, bulk(&[0.0, 250.0])].concat());
    assert_eq!(worst(&text), [52.0, 220.0, 422.0, 532.0]);
    let bulk = run(&of(&text)).channels.pop().and_then(|bulk| bulk.latency).expect("bulk left");
    assert_eq!([bulk.min, bulk.max].map(|delay| (delay * 1e9).round() / 1e3), [132.0, 180.0]);
}

/// A positive credit is lost with the last packet: from 332 us on two classes have as much as at the begin.
#[test]
fn an_empty_queue_keeps_no_credit() {
    let all = [sends("a", 0, &[0.0]), sends("b", 0, &[1000.0]), sends("c", 0, &[1000.0])].concat();
    assert_eq!(worst(&head(&shaper(0, 25), &all)), [52.0, 52.0, 212.0]);
}

/// Level 1 has what level 0 leaves. Its third packet waits 16 us for the first and earns 800 bits, so with
/// 50 Mbit/s the fourth begins 64 us after it.
#[test]
fn lower_classes_send_while_a_class_pauses() {
    let all = ["a", "b"].map(|name| sends(name, 0, &[0.0])).concat();
    let all = [all, sends("c", 1, &[0.0]), sends("d", 1, &[0.0])].concat();
    assert_eq!(worst(&head(&shaper(0, 25), &all)), [52.0, 212.0, 92.0, 132.0]);
    let both = [shaper(0, 25), shaper(1, 50)].join(", ");
    assert_eq!(worst(&head(&both, &all)), [52.0, 212.0, 92.0, 156.0]);
    // Without shapers packets leave as they were made.
    assert_eq!(worst(&head("", &all)), [52.0, 92.0, 132.0, 172.0]);
}

/// The CPU takes 12 us for a message and 12 us for a block of best effort before it. The link has 120 us
/// of best effort, and 40 us of its own. Best effort begins at 132 us, and the packet is there a
/// nanosecond later.
#[test]
fn the_bound_is_met_behind_best_effort() {
    let text = [sends("a", 0, &[108.002]), bulk(&[0.0, 0.0, 108.001])].concat();
    assert_eq!(sent(&head(&shaper(0, 25), &text)), [(184.0, 183.998)]);
    assert_eq!(sent(&head(&shaper(1, 25), &text)), [(184.0, 183.998)], "that of another class");
}

/// A class of 5 Mbit/s has two messages of 4000 bits each 4 ms. The second waits 800 us behind the first. On
/// the CPU a block that has begun can precede both messages.
#[test]
fn the_bound_counts_all_messages_of_the_class() {
    let all = ["a", "b"].map(|name| sends(name, 0, &[0.0, 4000.0])).concat();
    let found = sent(&head(&shaper(0, 5), &all));
    assert_eq!(found.iter().map(|(_, worst)| *worst).collect::<Vec<_>>(), [52.0, 852.0]);
    let bound = 36.0 + 800.0 + 40.0;
    assert!(found.iter().all(|(found, _)| *found == bound), "{found:?}");
}

#[test]
fn a_class_that_reserves_more_than_its_slope_is_refused_by_the_key() {
    // 4000 bits each 4 ms are 1 Mbit/s.
    let all = ["a", "b"].map(|name| sends(name, 0, &[0.0])).concat();
    let promised = promises(&of(&head(&shaper(0, 1), &all)));
    let Promise::Refused(refused) = &promised[1] else { panic!("{promised:?}") };
    assert!(refused.refusal.to_string().contains("`host.subsystem.link.shapers`"), "{}", refused.refusal);
    assert!(!promised[0].is_refused());
}

/// A port behind the host has the same classes. A receiver that takes no time delivers at once.
#[test]
fn shaped_packets_join_the_queues_of_a_port() {
    let receiver = format!(
        "host = {{ costs = {{ {} }}, subsystem = {{ link = {{ paradigm = \"O1\", order = \"fifo\", shapers = [] }} }} }}",
        free()
    );
    let star = format!(
        "[node.a]\n[node.b]\n[node.r]\n{receiver}\n[node.s]\nkind = \"switch\"\norder = \"strict_priority\"\n\
         shapers = [{}]\n[network.all]\njoins = [\"s\", \"a\", \"b\", \"r\"]\nrate = \"100 Mbit/s\"\n",
        shaper(0, 50)
    );
    let to =
        |from: &str, text: String| text.replace("class", &format!("from = \"{from}\"\nto = \"r\"\nclass"));
    let all = ["a", "b"].map(|name| to(name, sends(name, 0, &[0.0, 4000.0, 8000.0]))).concat();
    let text = head(&shaper(0, 25), &[star, all, to("a", bulk(&[0.0, 3990.0]))].concat());
    let found = run(&of(&text)).channels;
    for channel in found.iter().filter(|channel| channel.class == "real_time") {
        assert!(channel.delivery_worst <= channel.delivery_bound, "{channel:?}");
        assert!(channel.delivery_worst > Some(91.9e-6), "{channel:?}");
    }
}

#[test]
fn what_has_no_proof_says_which_key_would_have_one() {
    let text = head(&shaper(0, 25), &sends("a", 0, &[0.0]));
    let levels = text.replace("packet = \"1500 B\"", "packet = \"1500 B\", cpu = \"fixed_priority\"");
    assert!(why(&levels).contains("`cpu = \"multiclass_edf\"`"), "{}", why(&levels));
    let ahead = text.replace("packet = \"1500 B\"", "packet = \"1500 B\", early = \"below_best_effort\"");
    assert!(why(&ahead).contains("`early = \"hold\"`"), "{}", why(&ahead));
    let slow = text.replace("rate = \"100 Mbit/s\"", "startup = \"1 us\"\nper_byte = \"80 ns\"");
    assert!(why(&slow).contains("`startup = \"0 us\"`"), "{}", why(&slow));
    let lowest = text.replace("level = 0\n", "level = 31\n");
    assert!(why(&lowest).contains("`level = 30`"), "{}", why(&lowest));
    let resets = text.replace("[adapter]", "driver = { reset_after = \"1 s\" }\n[adapter]");
    assert!(why(&resets).contains("resets"), "{}", why(&resets));
}
