//! Hosts of which CPU and link go by different orders.

use crate::fifo::{HEAD, bounds_and_channels, channel, of, why};

/// A host with costs, its CPU by `cpu` and its link by `link`, and a receiver without costs.
fn host(cpu: &str, link: &str) -> String {
    let orders = format!("cpu = \"{cpu}\", link = {{ order = \"{link}\" }}");
    let head = HEAD.replace("cpu = \"fifo\", link = { order = \"fifo\" }", &orders);
    let costs = "context_switch = \"2 us\", first_packet = \"30 us\", single_packet = \"30 us\", packet = \"10 us\", \
                 link_scheduling = \"3 us\", interrupt = \"4 us\", ";
    let cheap =
        head.split_once("costs = { ").expect("a host has costs").1.split_once(" }").expect("an end").0;
    let rest = cheap.split(", ").filter(|cost| !costs.contains(cost.split(' ').next().unwrap_or_default()));
    let rest: Vec<&str> = rest.collect();
    let free = head.replace(cheap, &format!("{costs}{}", rest.join(", ")));
    format!(
        "{free}[node.a]\n[node.b.host]\ncosts = {{ {cheap}, single_packet = \"0 us\" }}\nsubsystem = {{ link = {{ order = \"multiclass_edf\" }} }}\n[network.n]\njoins = [\"a\", \"b\"]\n"
    )
}

fn on_level(level: u8, name: &str, size: &str) -> String {
    channel(name, "a", "b", size, "3 ms").replace("burst", &format!("level = {level}\nburst"))
}

const FLOOD: &str = "[[channel]]\nname = \"flood\"\nclass = \"best_effort\"\nmax_message = \"1000 B\"\n\
                     burst = 1\nfrom = \"a\"\nto = \"b\"\nsource = { kind = \"continuous\" }\n";

/// Bound and worst of the three channels in us, until delivery.
fn bound_and_worst(text: &str) -> Vec<(f64, f64)> {
    let found = bounds_and_channels(text).into_iter().take(3).map(|(bound, channel)| {
        let worst = channel.delivery_worst.expect("messages arrived");
        (
            bound.unwrap_or_else(|| panic!("no bound of {} in {text}", channel.name)),
            (worst * 1e9).round() / 1e3,
        )
    });
    found.collect()
}

fn three() -> String {
    let [a, b, c] = [(0, "x", "462 B"), (1, "y", "900 B"), (2, "z", "1400 B")]
        .map(|(level, name, size)| on_level(level, name, size));
    [a, b, c].concat()
}

/// A message that is held until its logical arrival makes no early packet. So strict priority serves packets
/// in the order of fixed priorities, and the bounds are the same.
#[test]
fn strict_priority_by_hand_is_fixed_priority() {
    let of_link = |link| bound_and_worst(&(host("fixed_priority", link) + &three() + FLOOD));
    let (strict, fixed) = (of_link("strict_priority"), of_link("fixed_priority"));
    assert_eq!(strict, fixed);
    assert!(strict.iter().all(|(bound, worst)| worst <= bound), "{strict:?}");
    assert!(strict[0].0 < strict[1].0 && strict[1].0 < strict[2].0, "{strict:?}");
}

fn without_levels() -> String {
    let lines = three();
    let kept: Vec<&str> = lines.lines().filter(|line| !line.starts_with("level")).collect();
    kept.join("\n") + "\n"
}

/// Where the orders differ, all real time is one level: each message waits for one of each other channel, as
/// the last by fixed priorities does.
#[test]
fn real_time_is_one_level_where_orders_differ() {
    let bounds = |cpu, link, flood: &str| -> Vec<f64> {
        let found = bound_and_worst(&(host(cpu, link) + &without_levels() + flood));
        assert!(found.iter().all(|(bound, worst)| worst <= bound), "{cpu}, {link}: {found:?}");
        found.iter().map(|found| found.0).collect()
    };
    let last = |flood| bounds("fixed_priority", "fixed_priority", flood).into_iter().fold(0.0, f64::max);
    let beside = last(FLOOD);
    for link in ["strict_priority", "fixed_priority", "hop_laxity", "fifo_plus", "edf", "wfq", "wf2q_plus"] {
        let found = bounds("multiclass_edf", link, FLOOD);
        assert!(found.iter().all(|bound| *bound == beside), "{link}: {found:?} and {beside}");
    }
    let alone = last("");
    for cpu in ["multiclass_edf", "fixed_priority"] {
        assert_eq!(bounds(cpu, "fifo", ""), [alone; 3], "{cpu}");
    }
}

/// Packets that are ahead, best effort in a FIFO queue, and best effort with a rate pass real time.
#[test]
fn what_may_pass_real_time_takes_the_bound() {
    let bounded = |text: String| {
        let experiment = of(&text);
        laxity_world::promise::promises(&experiment, laxity_admission::Formula::Corrected)
            .is_ok_and(|found| found.channels[0].bound().is_some())
    };
    assert!(bounded(host("multiclass_edf", "fifo") + &three()));
    assert!(!bounded(host("multiclass_edf", "fifo") + &three() + FLOOD));
    let share = FLOOD.replace("burst", "share = \"1 Mbit/s\"\nburst");
    assert!(bounded(host("multiclass_edf", "wfq") + &three() + FLOOD));
    assert!(!bounded(host("multiclass_edf", "wfq") + &three() + &share));
    let lowest = three().replace("level = 2", "level = 31");
    assert!(!bounded(host("multiclass_edf", "strict_priority") + &lowest));
    let ahead = host("multiclass_edf", "strict_priority")
        .replace("link = {", "early = \"below_best_effort\", link = {");
    assert!(!bounded(ahead + &three()));
}

/// A host that takes no time by strict priority: a frame of 1038 B of best effort takes 83 us, and those of
/// the channels 40, 75 and 115. A level waits for one frame below, and for those above.
#[test]
fn a_host_without_costs_has_a_bound_for_each_level() {
    let head = HEAD.replace("link = { order = \"fifo\" }", "link = { order = \"strict_priority\" }");
    let head = format!("{head}[node.a]\n[node.b]\n[network.n]\njoins = [\"a\", \"b\"]\n");
    let found = bound_and_worst(&[&head[..], &three(), FLOOD].concat());
    let times = [40.0, 75.04, 115.04];
    assert_eq!(found[0].0, 155.04, "{found:?}");
    assert!(found.iter().all(|(bound, worst)| worst <= bound), "{found:?}");
    let last = 83.04 + times.iter().sum::<f64>();
    assert!(found[2].0 >= last && found[2].0 < 1.02 * last, "{found:?}");
    // Two packets below may be with the adapter, which the bound for each level does not cover.
    let two = head.replace("\"strict_priority\" }", "\"strict_priority\", depth = 2 }");
    assert_ne!(two, head);
    assert!(why(&[&two[..], &three(), FLOOD].concat()).starts_with("best effort shares a FIFO CPU"));
}
