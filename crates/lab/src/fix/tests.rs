use laxity_scenario::Scenario;

use super::*;

/// Two senders of one host over a link of 8 Mbit/s, on which 1000 B take 1 ms; the host takes no time.
fn scenario(admission: &str, interval: &str, deadline: &str) -> Scenario {
    let costs = [
        "context_switch",
        "cache_miss",
        "first_packet",
        "packet",
        "link_scheduling",
        "hand_over",
        "interrupt",
        "thread_creation",
        "receive_packet",
        "receive_message",
        "send_call",
    ];
    let costs: Vec<String> = costs.iter().map(|cost| format!("{cost} = \"0 us\"")).collect();
    let channel = |name: &str, interval: &str, deadline: &str| {
        format!(
            "[[channel]]\nname = \"{name}\"\nclass = \"real_time\"\nmax_message = \"1000 B\"\n\
             min_message = \"1000 B\"\nburst = 1\nmin_interval = \"{interval}\"\ndeadline = \"{deadline}\"\n\
             source = {{ kind = \"periodic\" }}\n"
        )
    };
    let text = format!(
        "title = \"a test\"\n[host]\nprofile = \"mc68040\"\ncosts = {{ {} }}\nsubsystem = {{ packet = \"1000 B\" }}\n\
         [adapter]\nkind = \"null\"\nrate = \"8 Mbit/s\"\n[run]\ntime = \"1 s\"\n{admission}{}{}",
        costs.join(", "),
        channel("a", "2 ms", "2 ms"),
        channel("c", interval, deadline),
    );
    crate::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"))
}

fn found(scenario: &Scenario) -> Fixes {
    let point = scenario.points().next().unwrap();
    fix(scenario, &point, None, &mut |_| ())
}

/// The line for `what`, if that change alone is enough.
fn written(fixes: &Fixes, what: &str) -> Option<String> {
    let alone = |fix: &&Fix| fix.things.len() == 1 && fix.things[0].what == what;
    fixes.fixes.iter().find(alone).map(|fix| fix.things[0].then.clone())
}

/// The second sender waits for a packet of the log, for the first, and then sends its own: 3 ms, which
/// is beyond its interval.
#[test]
fn each_thing_is_changed_as_far_as_it_has_to_be() {
    let log = "[[channel]]\nname = \"log\"\nclass = \"best_effort\"\nmax_message = \"1000 B\"\nburst = 1\n\
               source = { kind = \"periodic\", interval = \"1 s\" }\n";
    let scenario = scenario(&format!("[admission]\ntest = \"demand\"\n{log}"), "2.5 ms", "2.5 ms");
    let fixes = found(&scenario);
    assert_eq!((fixes.asked, fixes.lacking, fixes.pairs), (2, 1, 0), "{fixes:#?}");
    assert_eq!(written(&fixes, "deadline of c").as_deref(), Some("3 ms"));
    // Admission confirms each fix that is shown, and a change of 2 % less is not enough.
    let point = scenario.points().next().unwrap();
    for fix in &fixes.fixes {
        let changes: Vec<Change> = fix.things.iter().flat_map(|thing| thing.changes.clone()).collect();
        assert_eq!(lacking(&scenario.changed(&point, &changes).unwrap(), &[]), 0, "{fix:?}");
    }
    let short = Change { key: "channel.c.deadline".into(), value: "\"2.99 ms\"".into() };
    assert_eq!(lacking(&scenario.changed(&point, &[short]).unwrap(), &[]), 1);
    // Sorted: settings, then by how much is changed.
    let factors: Vec<f64> = fixes.fixes.iter().map(Fix::factor).collect();
    assert!(factors.is_sorted(), "{factors:?}");
}

#[test]
fn a_file_that_is_admitted_needs_no_change() {
    let fixes = found(&scenario("[admission]\ntest = \"demand\"\n", "2.5 ms", "3 ms"));
    assert_eq!((fixes.lacking, fixes.things, fixes.fixes), (0, 0, vec![]));
}

#[test]
fn the_answer_does_not_depend_on_the_number_of_threads() {
    let scenario = scenario("", "2.5 ms", "2.5 ms");
    let point = scenario.points().next().unwrap();
    let with = |threads| fix(&scenario, &point, NonZero::new(threads), &mut |_| ());
    assert_eq!(with(1), with(3));
}

/// The stated effect of a setting is the real one.
#[test]
fn a_setting_that_admits_is_named() {
    let scenario = scenario("", "2.5 ms", "2.5 ms");
    let point = scenario.points().next().unwrap();
    for setting in settings(&scenario, &point, None) {
        let Ok(changed) = scenario.changed(&point, &setting.thing.changes) else {
            assert!(setting.bounded.is_empty());
            continue;
        };
        assert_eq!(setting.bounded, bounded(&changed, &[]), "{}", setting.thing.what);
    }
}

#[test]
fn a_change_that_the_format_does_not_allow_is_none() {
    let scenario = scenario("", "2.5 ms", "2.5 ms");
    let point = scenario.points().next().unwrap();
    for (key, value) in [
        ("channel.c.deadline", "3"),
        ("channel.d.deadline", "\"3 ms\""),
        ("host.colour", "1"),
        ("host.speedup", "["),
    ] {
        let change = Change { key: key.into(), value: value.into() };
        assert!(scenario.changed(&point, &[change]).is_err(), "{key} = {value}");
    }
}

/// A camera for each of three recorders, which take 10 ms for the ten packets of a message, and a
/// host that does no more than send a loop to a controller.
fn plant() -> Scenario {
    let recorders = ["rec1", "rec2", "rec3"];
    let channels: String = recorders
        .iter()
        .map(|to| {
            format!(
                "[[channel]]\nname = \"to-{to}\"\nclass = \"real_time\"\nfrom = \"camera\"\nto = \"{to}\"\n\
                 max_message = \"10000 B\"\nmin_message = \"10000 B\"\nburst = 1\nmin_interval = \"40 ms\"\n\
                 deadline = \"9 ms\"\nsource = {{ kind = \"periodic\" }}\n"
            )
        })
        .collect();
    let nodes: String = recorders.iter().map(|name| format!("[node.{name}]\n")).collect();
    let text = format!(
        "title = \"a test\"\n[host]\nprofile = \"mc68040\"\n\
         costs = {{ context_switch = \"0 us\", cache_miss = \"0 us\", first_packet = \"0 us\", packet = \"0 us\", \
         link_scheduling = \"0 us\", hand_over = \"0 us\", interrupt = \"0 us\", thread_creation = \"0 us\", \
         receive_packet = \"1 ms\", receive_message = \"0 us\", send_call = \"0 us\" }}\n\
         subsystem = {{ packet = \"1000 B\" }}\n[adapter]\nkind = \"null\"\n[node.camera]\n[node.idle]\n{nodes}\
         [node.sw]\nkind = \"switch\"\n[network.lan]\njoins = [\"sw\", \"camera\", \"idle\", \"rec1\", \"rec2\", \"rec3\"]\n\
         rate = \"1 Gbit/s\"\n[run]\ntime = \"1 s\"\n{channels}"
    );
    crate::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn hosts_of_one_kind_are_changed_as_one() {
    let scenario = plant();
    let fixes = found(&scenario);
    assert_eq!((fixes.asked, fixes.lacking), (3, 3), "{fixes:#?}");
    let what = "speed of the receiving hosts rec1, rec2 and rec3";
    let group = |fix: &&Fix| fix.things.len() == 1 && fix.things[0].what == what;
    let fix = fixes.fixes.iter().find(group).unwrap_or_else(|| panic!("{fixes:#?}"));
    let changes = &fix.things[0].changes;
    let keys: Vec<&str> = changes.iter().map(|change| change.key.as_str()).collect();
    assert_eq!(keys, ["rec1", "rec2", "rec3"].map(|name| format!("node.{name}.host.speedup")));
    assert!(changes.iter().all(|change| change.value == changes[0].value), "{changes:?}");
    let point = scenario.points().next().unwrap();
    assert_eq!(lacking(&scenario.changed(&point, changes).unwrap(), &[]), 0);
    // Two of the three are too few.
    assert_ne!(lacking(&scenario.changed(&point, &changes[..2]).unwrap(), &[]), 0);
}

/// Hosts at a switch, or at two.
fn network(head: &str, channels: &[(&str, &str, &str)]) -> Scenario {
    let channels: String = channels
        .iter()
        .enumerate()
        .map(|(n, (ends, size, times))| {
            let (from, to) = ends.split_once(' ').unwrap();
            let (interval, deadline) = times.split_once(' ').unwrap();
            format!(
                "[[channel]]\nname = \"c{n}\"\nclass = \"real_time\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
                 max_message = \"{size} B\"\nburst = 1\nmin_interval = \"{interval} ms\"\ndeadline = \"{deadline} ms\"\n\
                 source = {{ kind = \"periodic\" }}\n"
            )
        })
        .collect();
    let text = format!(
        "title = \"a test\"\n{head}\n[adapter]\nkind = \"null\"\n[admission]\ndeadlines = \"alike\"\n[run]\ntime = \"50 ms\"\n{channels}"
    );
    crate::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Deadlines that are divided in proportion admit the first channel, and none of the others.
#[test]
fn a_setting_that_costs_others_their_promise_says_so() {
    let head = "[host]\nprofile = \"mc68040\"\nspeedup = 400\n\
                subsystem = { packet = \"1500 B\", preemption = 4, link = { paradigm = \"O2\" } }\n\
                [node.h0]\n[node.h1]\n[node.h2]\n[node.s0]\nkind = \"switch\"\norder = \"hsfq\"\nlatency = \"0 us\"\n\
                [network]\nrate = \"100 Mbit/s\"\nframing = \"ethernet_vlan\"\npropagation = \"500 ns\"\n\
                [network.e0]\njoins = [\"s0\", \"h0\", \"h1\", \"h2\"]\n\
                [[channel]]\nname = \"be\"\nclass = \"best_effort\"\nfrom = \"h1\"\nto = \"h2\"\nmax_message = \"1500 B\"\n\
                burst = 8\nsource = { kind = \"continuous\" }";
    let channels = [
        ("h0 h2", "4000", "2 1"),
        ("h2 h0", "4000", "10 2"),
        ("h2 h0", "64", "2 2"),
        ("h0 h2", "4000", "5 2"),
        ("h2 h0", "1500", "2 1"),
    ];
    let scenario = network(head, &channels);
    let point = scenario.points().next().unwrap();
    let before = bounded(&scenario.experiment(&point), &[]);
    assert_eq!(before, [false, false, true, true, true, true]);
    let settings = settings(&scenario, &point, None);
    let of = |key: &str, value: &str| {
        let is = |change: &Change| change.key == key && change.value == format!("\"{value}\"");
        settings.iter().find(|setting| setting.thing.changes.iter().any(is)).unwrap()
    };
    let proportional = of("admission.deadlines", "proportional");
    assert!(proportional.bounded[1] && proportional.loses, "{proportional:?}");
    for setting in settings.iter().filter(|setting| !setting.bounded.is_empty()) {
        let lost = before.iter().zip(&setting.bounded).any(|(was, is)| *was && !is);
        assert_eq!(setting.loses, lost, "{setting:?}");
    }
}

/// No analysis covers the arrival at a host of several cores: a second one admits the channel as far as its
/// last transmission only.
#[test]
fn a_change_that_ends_a_bound_early_is_no_fix() {
    let head = "[host]\nprofile = \"mc68040\"\nspeedup = 100\n\
                subsystem = { packet = \"1500 B\", preemption = 2, link = { paradigm = \"O2\" } }\n\
                [node.h0]\n[node.h1]\n[node.h2]\n[node.s0]\nkind = \"switch\"\norder = \"virtual_clock\"\nlatency = \"5 us\"\n\
                [node.s1]\nkind = \"switch\"\norder = \"virtual_clock\"\n[network]\nrate = \"10 Mbit/s\"\n\
                framing = \"ethernet_vlan\"\npropagation = \"500 ns\"\n[network.e0]\njoins = [\"s0\", \"h0\", \"h1\"]\n\
                [network.e1]\njoins = [\"s1\", \"h2\"]\n[network.tr]\njoins = [\"s0\", \"s1\"]";
    let scenario = network(head, &[("h1 h0", "200", "2 1"), ("h1 h0", "64", "10 10")]);
    let fixes = found(&scenario);
    assert!(fixes.lacking > 0 && !fixes.fixes.is_empty(), "{fixes:#?}");
    let point = scenario.points().next().unwrap();
    for fix in &fixes.fixes {
        let changes: Vec<Change> = fix.things.iter().flat_map(|thing| thing.changes.clone()).collect();
        let changed = scenario.changed(&point, &changes).unwrap();
        let promises = promise::promises(&changed, changed.admission.formula.unwrap()).unwrap();
        assert!(promises.channels.iter().all(|it| it.delivery_bound().is_some()), "{fix:?}");
    }
}

/// A host that takes packets of two interfaces at limited interrupts, `extra` beside each of them.
fn receiver(extra: &str, programs: &str) -> Scenario {
    let interface = |name: &str| {
        format!(
            "[[interface]]\nname = \"{name}\"\npolicy = \"limited\"\ninterval = \"500 us\"\nquota = 16\nslots = 64\n\
             buffers = 64\nsharing = {{ kind = \"weighted\", real_time = 8, best_effort = 8 }}\n{extra}\
             [[channel]]\nname = \"rt-{name}\"\nclass = \"real_time\"\nmax_message = \"1 KiB\"\nburst = 4\n\
             min_interval = \"1 ms\"\ndeadline = \"5 ms\"\ninterface = \"{name}\"\nprogram = \"app\"\n\
             source = {{ kind = \"periodic\" }}\n\
             [[channel]]\nname = \"be-{name}\"\nclass = \"best_effort\"\nmax_message = \"1 KiB\"\nburst = 4\n\
             interface = \"{name}\"\nprogram = \"app\"\nsource = {{ kind = \"poisson\", rate = \"60 MB/s\" }}\n"
        )
    };
    let text = format!(
        "title = \"a test\"\n[host]\nprofile = \"harts-reception\"\n\
         costs = {{ interrupt = \"1 us\", context_switch = \"2 us\", receive_packet = \"2 us\" }}\n\
         receive = {{ program = \"3 us\" }}\n[run]\ntime = \"1 s\"\n{}{}{programs}",
        interface("q0"),
        interface("q1"),
    );
    crate::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The order of the program and the buffers of both interfaces are missing at once.
#[test]
fn a_receiver_is_told_what_real_time_needs_together() {
    let what = "programs and buffers of receivers";
    let shared = found(&receiver("", "[[program]]\nname = \"app\"\n"));
    assert_eq!((shared.lacking, written(&shared, what).as_deref()), (2, Some("real time first")));
    let changes = &shared.fixes[0].things[0].changes;
    let keys: Vec<&str> = changes.iter().map(|change| &change.key[..]).collect();
    let buffers = ["interface.q0.buffers_real_time", "interface.q1.buffers_real_time"];
    assert_eq!(keys, ["program.app.order", buffers[0], buffers[1]]);
    // A second program can take the CPU, so both need budgets.
    let programs = "[[program]]\nname = \"app\"\norder = \"class\"\n[[program]]\nname = \"log\"\n";
    let several = found(&receiver("buffers_real_time = 32\n", programs));
    let half = Some("real time first, half of the CPU in budgets");
    assert!(several.lacking == 2 && written(&several, what).as_deref() == half, "{several:#?}");
}
