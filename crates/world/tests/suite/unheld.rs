//! Hosts that serve messages as they arrive: FIFO, plain EDF, strict priority, orders by rates.

use crate::fifo::{bounds_and_channels, why};

/// Orders that serve real time before best effort, and hold no message.
const ORDERS: [&str; 9] =
    ["edf", "strict_priority", "fifo_plus", "hop_laxity", "virtual_clock", "wfq", "scfq", "sfq", "drr"];

/// Three hosts in a row with costs: a packet takes 30 us of the CPU where it is made, 10 where it arrives,
/// and 80 ns a byte on the link.
fn hosts(cpu: &str, link: &str, channels: &[String]) -> String {
    format!(
        "title = \"a test\"\n[host]\nprofile = \"mc68040\"\n\
         costs = {{ context_switch = \"2 us\", cache_miss = \"0 us\", first_packet = \"30 us\", \
         single_packet = \"30 us\", packet = \"30 us\", link_scheduling = \"3 us\", hand_over = \"0 us\", \
         interrupt = \"4 us\", thread_creation = \"0 us\", receive_packet = \"10 us\", \
         receive_message = \"5 us\", send_call = \"0 us\" }}\n\
         subsystem = {{ packet = \"1500 B\", cpu = \"{cpu}\", link = {{ order = \"{link}\" }} }}\n\
         [adapter]\nkind = \"null\"\nrate = \"100 Mbit/s\"\n[node.a]\n[node.b]\n[node.c]\n\
         [node.s]\nkind = \"switch\"\n[network.all]\nrate = \"100 Mbit/s\"\njoins = [\"s\", \"a\", \"b\", \"c\"]\n\
         [run]\ntime = \"1 s\"\n{}",
        channels.concat()
    )
}

fn channel(name: &str, ends: &str, size: u32, (burst, interval): (u32, u32), source: &str) -> String {
    let (from, to) = ends.split_at(1);
    format!(
        "[[channel]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nclass = \"real_time\"\n\
         max_message = \"{size} B\"\nmin_message = \"{size} B\"\nburst = {burst}\nmin_interval = \"{interval} us\"\n\
         deadline = \"{} us\"\nlevel = 1\nsource = {{ {source} }}\n",
        3 * interval
    )
}

/// Two channels from `a` to `c`, one from `b` that begins with a burst, and one back.
fn four() -> [String; 4] {
    [
        channel("x", "ac", 1000, (1, 2000), "kind = \"periodic\""),
        channel("y", "ac", 3000, (1, 5000), "kind = \"periodic\""),
        channel("z", "bc", 500, (3, 3000), "kind = \"bursty\""),
        channel("back", "ca", 1000, (1, 2000), "kind = \"periodic\""),
    ]
}

const FLOOD: &str = "[[channel]]\nname = \"flood\"\nclass = \"best_effort\"\nmax_message = \"1000 B\"\n\
                     burst = 1\nfrom = \"a\"\nto = \"c\"\nsource = { kind = \"continuous\" }\n";

/// Bound and worst of the guaranteed channels in us, until delivery.
fn bound_and_worst(text: &str) -> Vec<(f64, f64)> {
    let found = bounds_and_channels(text).into_iter().filter(|(_, channel)| channel.deadline.is_some());
    let us = |seconds: f64| (seconds * 1e9).round() / 1e3;
    let of = |(bound, channel): (Option<f64>, laxity_world::results::Channel)| {
        let bound = bound.unwrap_or_else(|| panic!("no bound of {} in {text}", channel.name));
        (bound, us(channel.delivery_worst.expect("messages arrived")))
    };
    found.map(of).collect()
}

/// Each order of CPU and link has the same bounds, for they hold in any order, and keeps them.
#[test]
fn each_order_that_holds_no_message_has_the_same_bounds() {
    let fifo = bound_and_worst(&hosts("fifo", "fifo", &four()));
    for cpu in ORDERS {
        for link in ["fifo", cpu] {
            let found = bound_and_worst(&hosts(cpu, link, &four()));
            for ((bound, worst), (same, _)) in found.iter().zip(&fifo) {
                assert_eq!(bound, same, "{cpu}, {link}");
                assert!(worst <= bound, "{cpu}, {link}: {worst} of {bound}");
            }
        }
    }
    assert!(fifo.iter().all(|(bound, worst)| worst <= bound && *worst > 0.25 * bound), "{fifo:?}");
}

/// An adapter of one stage that is the link. Up to `depth` packets are in it, and several may complete
/// at once.
#[test]
fn an_adapter_of_stages_keeps_its_bounds_in_any_order() {
    let stages = "kind = \"generic\"\n[[adapter.transmit]]\nname = \"mac\"\n\
                  phase = [{ per_byte = \"80 ns\", medium = true }]\n";
    let with = |order: &str, more: &[String]| {
        let text = hosts(order, order, &[&four()[..], more].concat());
        bound_and_worst(&text.replace("kind = \"null\"\nrate = \"100 Mbit/s\"\n", stages))
    };
    let flood = [FLOOD.to_string()];
    for order in ORDERS {
        for more in [&[][..], &flood] {
            let (found, null) =
                (with(order, more), bound_and_worst(&hosts(order, order, &[&four()[..], more].concat())));
            for ((bound, worst), (link, _)) in found.iter().zip(&null) {
                assert!(
                    worst <= bound && *bound < 3.0 * link,
                    "{order}: {worst} of {bound}, {link} of a link"
                );
            }
        }
    }
}

/// Best effort beside real time takes a block of the CPU and a packet of the link, and no bound.
#[test]
fn best_effort_is_behind_real_time() {
    let beside = [&four()[..], &[FLOOD.to_string()]].concat();
    for order in ORDERS {
        let (alone, found) =
            (bound_and_worst(&hosts(order, order, &four())), bound_and_worst(&hosts(order, order, &beside)));
        for ((bound, worst), (before, _)) in found.iter().zip(&alone) {
            assert!(worst <= bound && bound >= before, "{order}: {worst} of {bound}, {before} alone");
        }
    }
}

/// A message of 1000 B alone: 30 us to make its packet, 3 us to start it, 80 us on the link, 80 us from the
/// switch, and 4 + 10 + 5 us where it ends. No other thread has the CPU in between.
#[test]
fn a_message_alone_takes_what_its_steps_take() {
    let alone = [channel("x", "ac", 1000, (1, 2000), "kind = \"periodic\"")];
    // A switch by deadlines would hold the packet until the bound of its sender.
    let text =
        hosts("fifo", "fifo", &alone).replace("kind = \"switch\"", "kind = \"switch\"\norder = \"fifo\"");
    let [(bound, worst)] = bound_and_worst(&text)[..] else { panic!("one channel") };
    assert_eq!(worst, 30.0 + 3.0 + 80.0 + 80.0 + 4.0 + 10.0 + 5.0);
    assert!(bound < 1.5 * worst, "{bound}");
}

#[test]
fn what_such_a_host_cannot_have_is_said() {
    let with = |cpu: &str, link: &str, more: &[String]| why(&hosts(cpu, link, &[&four()[..], more].concat()));
    let starts = |found: &str, reason: &str| assert!(found.starts_with(reason), "{found}");
    starts(with("fifo", "edf", &[FLOOD.into()]), "best effort shares a FIFO CPU");
    let beyond = channel("w", "ac", 500, (1, 3000), "kind = \"periodic\", multiple = 2");
    starts(with("edf", "edf", &[beyond]), "a CPU that holds no message serves all that its sources send");
    starts(with("edf", "multiclass_edf", &[]), "bounds hold behind a CPU by multi-class EDF");
    let lowest = channel("w", "ac", 500, (1, 3000), "kind = \"periodic\"").replace("level = 1", "level = 31");
    starts(with("strict_priority", "fifo", &[lowest]), "");
    let share = FLOOD.replace("burst", "share = \"1 Mbit/s\"\nburst");
    starts(with("wfq", "wfq", &[share]), "best effort");
}
