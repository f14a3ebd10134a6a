//! Channels with several receivers, by hand.

use laxity_scenario::Scenario;
use laxity_world::results::{Channel, Run};
use laxity_world::run;

use crate::common::free;

/// `a` and `d` at switch `s`, `b` and `c` at `t` behind it; a packet of 1250 B takes 100 us on each link.
fn of(order: &str, switch: &str, trunk: &str, more: &str) -> Run {
    by("test = \"demand\"", order, switch, trunk, more)
}

fn by(admission: &str, order: &str, switch: &str, trunk: &str, more: &str) -> Run {
    let costs = free();
    let text = format!(
        "title = \"a tree\"\n[host]\nprofile = \"mc68040\"\ncosts = {{ {costs} }}\n\
         subsystem = {{ packet = \"1250 B\", cpu = \"fifo\", link = {{ order = \"fifo\" }} }}\n\
         [adapter]\nkind = \"null\"\nrate = \"100 Mbit/s\"\n[node.a]\n[node.b]\n[node.c]\n[node.d]\n\
         [node.s]\nkind = \"switch\"\norder = \"{order}\"\n{switch}\n[node.t]\nkind = \"switch\"\norder = \"{order}\"\n{switch}\n\
         [network]\nrate = \"100 Mbit/s\"\n[network.near]\njoins = [\"s\", \"a\", \"d\"]\n\
         [network.far]\njoins = [\"t\", \"b\", \"c\"]\n[network.trunk]\njoins = [\"s\", \"t\"]\n{trunk}\n\
         [run]\ntime = \"1 s\"\n[admission]\n{admission}\n{more}"
    );
    let scenario = Scenario::from_text("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}{text}"));
    run(&scenario.first())
}

/// A channel from `a` to all others, of one packet each `interval`.
fn all(interval: &str, deadline: &str) -> String {
    format!(
        "[[channel]]\nname = \"all\"\nfrom = \"a\"\nto = \"d\"\nreceivers = [{{ to = \"b\" }}, {{ to = \"c\" }}]\n\
         class = \"real_time\"\nmax_message = \"1250 B\"\nmin_message = \"1250 B\"\nburst = 1\n\
         min_interval = \"{interval}\"\ndeadline = \"{deadline}\"\nsource = {{ kind = \"periodic\" }}\n"
    )
}

fn by_name<'a>(run: &'a Run, name: &str) -> &'a Channel {
    run.channels.iter().find(|channel| channel.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn us(seconds: Option<f64>) -> u64 {
    (seconds.expect("a time") * 1e6).round() as u64
}

/// One packet each 250 us takes two fifths of each link, over two hops to `d` and three to the others,
/// whatever the order of ports.
#[test]
fn a_common_link_has_a_packet_once() {
    for order in ["fifo", "strict_priority", "multiclass_edf", "fixed_priority", "wfq"] {
        let run = of(order, "", "", &all("250 us", "10 ms"));
        for (name, hops) in [("all", 2), ("all-b", 3), ("all-c", 3)] {
            let channel = by_name(&run, name);
            assert!(channel.refused.is_none(), "{order} {name}: {:?}", channel.refused);
            assert_eq!(us(channel.delivery_worst), hops * 100, "{order} {name}");
            assert_eq!(
                (channel.on_time, channel.delivered),
                (Some(1.0), Some(4000 - u64::from(hops == 3))),
                "{order} {name}"
            );
            let bound = channel.bound.map_or(u64::MAX, |bound| us(Some(bound)));
            assert!(bound >= hops * 100 && bound <= 10_000, "{order} {name}: {bound}");
        }
        let link = run.resources.iter().find(|resource| resource.name == "link@s.t").expect("the trunk");
        assert!((link.utilisation - 0.4).abs() < 0.01, "{order}: {}", link.utilisation);
    }
}

/// FIFO ports have the bounds of the network without queues: no packet waits for another.
#[test]
fn a_copy_does_not_wait_for_the_other() {
    let run = of("fifo", "", "", &all("250 us", "10 ms"));
    for (name, hops) in [("all", 2), ("all-b", 3), ("all-c", 3)] {
        assert_eq!(us(by_name(&run, name).delivery_bound), hops * 100, "{name}");
    }
}

/// A frame that the trunk loses reaches neither `b` nor `c`, and `d` all the same.
#[test]
fn a_loss_on_a_common_link_is_a_loss_to_all_behind_it() {
    let run = of("fifo", "", "impairments = { loss = 0.4 }", &all("1 ms", "10 ms"));
    let delivered = |name: &str| by_name(&run, name).delivered.expect("a count");
    assert_eq!(delivered("all"), 1000);
    assert!((500..700).contains(&delivered("all-b")), "{}", delivered("all-b"));
    assert_eq!(delivered("all-b"), delivered("all-c"));
    let lost = |name: &str| by_name(&run, name).lost_packets;
    let missing = 1000 - delivered("all-b");
    assert_eq!((lost("all"), lost("all-b"), lost("all-c")), (0, missing, missing));
}

/// The port of the trunk has room for two frames, and four of five leave it.
#[test]
fn a_frame_that_a_common_port_drops_fails_for_all_behind_it() {
    let off = all("1 ms", "10 ms");
    let run = by("formula = \"off\"", "fifo", "memory = \"2500 B\"", "rate = \"8 Mbit/s\"", &off);
    let failed = |name: &str| by_name(&run, name).failed_messages.unwrap_or(0);
    assert!(failed("all") == 0 && (150..250).contains(&failed("all-b")), "{}", failed("all-b"));
    assert_eq!(failed("all-b"), failed("all-c"));
}

/// Each port passes a frame on as its first bits are there: the copies leave together.
#[test]
fn copies_cut_through() {
    let switch = "forwarding = \"cut_through\"";
    let run = of("fifo", switch, "", &all("1 ms", "10 ms"));
    let times = ["all", "all-b", "all-c"].map(|name| us(by_name(&run, name).delivery_worst));
    assert!(times[1] == times[2] && times[0] < times[1] && times[1] < 150, "{times:?}");
}

/// `e` is behind a link that is too slow, so no receiver is admitted, and a later channel of the file finds
/// the trunk free.
#[test]
fn a_multicast_is_admitted_to_all_or_to_none() {
    let then = "[[channel]]\nname = \"then\"\nfrom = \"d\"\nto = \"c\"\nclass = \"real_time\"\nmax_message = \"1250 B\"\n\
        min_message = \"1250 B\"\nburst = 1\nmin_interval = \"250 us\"\ndeadline = \"10 ms\"\nsource = { kind = \"periodic\" }\n";
    for order in ["fifo", "multiclass_edf"] {
        let slow = "[network.b]\njoins = [\"t\", \"e\"]\nrate = \"40 Mbit/s\"\n[node.e]\n[node.e.adapter]\nrate = \"40 Mbit/s\"\n";
        let channel = all("150 us", "10 ms").replace("{ to = \"b\" }", "{ to = \"e\" }");
        let run = of(order, "", slow, &format!("{channel}{then}"));
        for name in ["all", "all-e", "all-c"] {
            let channel = by_name(&run, name);
            assert!(channel.refused.is_some(), "{order} {name}");
            assert_eq!(channel.delivered.unwrap_or(0), 0, "{order} {name}");
        }
        let then = by_name(&run, "then");
        assert!(then.refused.is_none() && then.delivered > Some(3900), "{order}: {:?}", then.delivered);
    }
}

/// Messages that a host drops were sent to all.
#[test]
fn a_message_that_the_host_drops_is_dropped_for_all() {
    let excess =
        all("1 ms", "10 ms").replace("{ kind = \"periodic\" }", "{ kind = \"periodic\", multiple = 3.0 }");
    let slots = excess.replace("burst = 1", "burst = 1\nmessage_slots = 1\npacket_slots = 1");
    let run = of("fifo", "", "", &slots);
    let dropped = ["all", "all-b", "all-c"].map(|name| by_name(&run, name).dropped_packets);
    let offered = ["all", "all-b", "all-c"].map(|name| by_name(&run, name).messages);
    assert!(offered[0] > 2900 && offered.iter().all(|other| *other == offered[0]), "{offered:?}");
    assert!(dropped.iter().all(|other| *other == dropped[0]), "{dropped:?}");
}
