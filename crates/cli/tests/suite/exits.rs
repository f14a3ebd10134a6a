//! Exit codes of commands that had no work.

use crate::common::{CAMERA, Here};

/// An attack without a bound that could be exceeded gives no new knowledge.
#[test]
fn an_attack_of_nothing_is_not_judged() {
    let here = Here::new("attack-of-nothing");
    let refused = CAMERA.replace("deadline = \"30 ms\"", "deadline = \"1 us\"\nrefusal = \"expected\"");
    assert_ne!(refused, CAMERA);
    here.write("refused.toml", &refused);
    let output = here.laxity("attack refused.toml");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("not attacked"), "{said}");
    assert_eq!(output.status.code(), Some(4), "{said}");
}

/// The camera without a claim, changed as said.
fn unclaimed(changes: &[(&str, &str)]) -> String {
    let mut text = CAMERA[..CAMERA.find("[[claim]]").unwrap()].to_string();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text
}

#[test]
fn a_run_that_carried_nothing_is_not_judged_and_says_so() {
    let here = Here::new("nothing-carried");
    let late = ("kind = \"periodic\"", "kind = \"periodic\", phase = \"5 s\"");
    let off = ("[run]", "[admission]\nformula = \"off\"\n\n[run]");
    let refused = ("deadline = \"30 ms\"", "deadline = \"1 us\"\nrefusal = \"expected\"");
    let sweep = "[[channel]]\nname = \"bulk\"\nclass = \"best_effort\"\nmax_message = \"4 KiB\"\nburst = 2\nsource = { kind = \"continuous\" }\n\
                 \n[[sweep]]\nname = \"phase\"\nkey = \"channel.camera.source.phase\"\nvalues = [\"0 s\", \"5 s\"]\n";
    let swept = unclaimed(&[("kind = \"periodic\"", "kind = \"periodic\", phase = \"0 s\"")]) + sweep;
    for (name, text, code, says) in [
        ("kept.toml", unclaimed(&[]), 0, None),
        ("late.toml", unclaimed(&[late]), 4, Some("not judged: nothing was sent in the window")),
        ("off.toml", unclaimed(&[late, off]), 4, Some("not judged: nothing was sent in the window")),
        ("refused.toml", unclaimed(&[refused]), 4, Some("not judged: nothing was")),
        ("swept.toml", swept, 4, Some("not judged at phase = 5 s: channel `camera` has a bound")),
    ] {
        here.write(name, &text);
        let output = here.laxity(&format!("run --no-report {name}"));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let failed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{name}: {said}{failed}");
        assert!(
            said.split_whitespace().collect::<Vec<_>>().join(" ").contains(says.unwrap_or("camera")),
            "{name}: {said}"
        );
    }
}

#[test]
fn the_best_of_settings_at_which_nothing_happens_is_not_known() {
    let here = Here::new("tune-nothing");
    let tune = "[[sweep]]\nname = \"P\"\nkey = \"host.subsystem.preemption\"\nvalues = [1, 2]\n\n\
                [tune]\nover = [\"P\"]\nleast = \"utilisation\"\n";
    for (name, phase, code) in [("busy.toml", "0 s", 0), ("idle.toml", "5 s", 4)] {
        let source = format!("kind = \"periodic\", phase = \"{phase}\"");
        here.write(name, &(unclaimed(&[("kind = \"periodic\"", &source)]) + tune));
        let output = here.laxity(&format!("tune {name}"));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let failed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{name}: {said}{failed}");
        assert_eq!(said.contains("nothing was sent in the window"), code == 4, "{said}");
    }
}

#[test]
fn what_admission_was_not_asked_is_not_judged() {
    let here = Here::new("admit-off");
    let off = ("[run]", "[admission]\nformula = \"off\"\n\n[run]");
    let deadline = ("min_interval = \"40 ms\"\ndeadline = \"30 ms\"\n", "");
    for (name, text, code) in [
        ("on.toml", unclaimed(&[]), 0),
        ("off.toml", unclaimed(&[off]), 4),
        (
            "best-effort.toml",
            unclaimed(&[off, deadline, ("real_time", "best_effort"), ("periodic", "continuous")]),
            0,
        ),
    ] {
        here.write(name, &text);
        let output = here.laxity(&format!("admit {name}"));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let failed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{name}: {said}{failed}");
    }
    // A virtual interface asks for a bound by its bandwidth.
    let interfaces = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/qos-via/v-be.toml");
    assert_eq!(here.laxity(&format!("admit {interfaces}")).status.code(), Some(4));
}

/// A deadline is until delivery. Where packets share a bus by segments no bound reaches the receiving
/// host.
#[test]
fn a_bound_that_ends_at_the_last_transmission_decides_no_deadline() {
    let here = Here::new("admit-undelivered");
    for (adapter, code) in [("end-fifo", 0), ("template", 4)] {
        let trial = here.laxity(&format!("adapter trial {adapter}"));
        here.write("trial.toml", &String::from_utf8_lossy(&trial.stdout));
        let output = here.laxity("admit trial.toml");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert_eq!(said.contains("to the last transmission, and not to the receiving host: "), code == 4);
    }
}

/// Other files of Laxity where a scenario is expected have one error, with the command for them.
#[test]
fn another_kind_of_file_is_named() {
    let here = Here::new("another-kind");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    for (file, what, help) in [
        ("examples/nodes/network.toml", "it is a network of node files, and no scenario", "`laxity run`"),
        (
            "examples/nodes/camera.toml",
            "it is the file of a node, and no scenario",
            "`laxity serve` reads it",
        ),
        ("profiles/mc68040.toml", "it is a profile of the costs of a host, and no scenario", "profile = \""),
    ] {
        let output = here.laxity(&format!("admit {root}/{file}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(what) && said.contains(help) && said.matches("error").count() == 1, "{said}");
    }
    let output = here.laxity(&format!("run {root}/examples/nodes/network.toml --seed 7"));
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("which `run` takes without options"));
}

/// `check` reads the files of the service, too, and names what is wrong in one of them.
#[test]
fn files_of_the_service_are_checked() {
    let here = Here::new("check-service");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let output = here.laxity(&format!("check {root}/examples/nodes"));
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("the node camera with 1 link") && said.contains("a network of 2 nodes"), "{said}");
    let node = std::fs::read_to_string(format!("{root}/examples/nodes/camera.toml")).unwrap();
    for (right, wrong, what) in [
        ("[host]\ndelay", "[host]\ndely", "unknown field `dely`"),
        ("peer_id = 2", "", "missing field `peer_id`"),
        ("peer_id = 2", "peer_id = 1", "`peer` and `peer_id` name one neighbour"),
    ] {
        assert!(node.contains(right));
        here.write("node.toml", &node.replace(right, wrong));
        let output = here.laxity("check node.toml");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(what) && said.matches("error").count() <= 2, "{said}");
    }
}

/// The daemon of a node with `ingress` needs `nft`.
#[test]
fn a_node_file_says_that_nft_is_missing() {
    let here = Here::new("check-nft");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let node = std::fs::read_to_string(format!("{root}/examples/nodes/camera.toml")).unwrap();
    here.write("node.toml", &format!("{node}ingress = \"8 Mbit/s\"\n"));
    here.write("nft", "");
    let said = |path: &std::path::Path| {
        let output = here.command("check node.toml").env("PATH", path).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(said(&here.path("empty")).contains("`nft`, which `ingress` needs, is not in `PATH`"));
    assert!(!said(&here.path("")).contains("nft"));
}

/// Built-in adapters are known by name, as in a scenario.
#[test]
fn built_in_adapters_are_shown_by_name() {
    let here = Here::new("adapter-by-name");
    for arguments in ["adapter check nic-25g", "adapter show nic-25g --svg nic.svg"] {
        let output = here.laxity(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(here.read("nic.svg").contains("<svg"));
    assert_eq!(here.laxity("adapter show nic-26g").status.code(), Some(2));
}

#[test]
fn a_number_of_zero_says_what_is_valid() {
    let here = Here::new("number-of-zero");
    for arguments in ["--steps 0", "--steps some", "--threads 0"] {
        let output = here.laxity(&format!("attack camera.toml {arguments}"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("valid is a whole number from 1"), "{said}");
    }
}

/// A scenario of `host` and best effort that sends once each `interval`.
fn at_rest(host: &str, interval: &str, run: &str) -> String {
    format!(
        "title = \"at rest\"\n[host]\nprofile = \"mc68040\"\n{host}[adapter]\nkind = \"null\"\nrate = \"1 Gbit/s\"\n\
         [run]\n{run}\n[[channel]]\nname = \"rest\"\nclass = \"best_effort\"\nmax_message = \"1 B\"\nburst = 1\n\
         source = {{ kind = \"periodic\", interval = \"{interval}\" }}\n"
    )
}

#[test]
fn budgets_that_the_cpu_cannot_keep_fail_a_run_and_are_not_admitted() {
    let here = Here::new("budgets");
    let host = |budget: &str| {
        let of = |(name, budget): (&str, &str)| {
            format!("[host.compute.{name}]\nbudget = \"{budget}\"\nperiod = \"40 ms\"\nslice = \"1 ms\"\n")
        };
        [("one", budget), ("two", "2 ms")].map(of).concat()
    };
    let expected = "misses = \"expected\"\n[admission]\nrefusal = \"expected\"";
    for (name, budget, more, code) in
        [("fits.toml", "1 ms", "", 0), ("full.toml", "39 ms", "", 1), ("known.toml", "39 ms", expected, 0)]
    {
        here.write(name, &at_rest(&host(budget), "1 s", &format!("time = \"1 s\"\n{more}")));
        for command in ["run --no-report", "admit"] {
            let output = here.laxity(&format!("{command} {name}"));
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(output.status.code(), Some(code), "{command} {name}: {said}");
            let says =
                if command == "admit" { "cannot keep the budgets" } else { "budgets late or not done" };
            assert_eq!(said.contains(says), name != "fits.toml", "{command} {name}: {said}");
        }
    }
}

/// Ports of switches have no applications.
#[test]
fn a_network_with_fifo_queues_is_admitted() {
    let here = Here::new("queues");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/networks/unmanaged.toml");
    let output = here.laxity(&format!("admit {file}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("follow") && !said.contains("application"), "{said}");
    assert_eq!(output.status.code(), Some(0), "{said}");
}

/// Two budgets by levels of the file have bounds, and none beside a channel of which admission chooses the
/// level.
#[test]
fn budgets_have_bounds_or_a_reason() {
    let here = Here::new("levels");
    let text = |more: &str| {
        let of = |(name, budget, level): (&str, &str, u8)| {
            format!(
                "[host.compute.{name}]\nbudget = \"{budget}\"\nperiod = \"40 ms\"\nslice = \"1 ms\"\nlevel = {level}\n"
            )
        };
        let budgets = [("first", "4 ms", 0), ("second", "1 ms", 1)].map(of).concat();
        let host = format!("[host.subsystem]\ncpu = \"fixed_priority\"\n{budgets}");
        at_rest(&host, "1 s", &format!("time = \"1 s\"{more}"))
    };
    let channel = "\n[[channel]]\nname = \"film\"\nclass = \"real_time\"\nmax_message = \"1 KiB\"\nburst = 1\n\
                   min_interval = \"40 ms\"\ndeadline = \"40 ms\"\nsource = { kind = \"periodic\" }";
    for (name, more, code, says) in [
        ("kept.toml", "", 0, "40000.0 us"),
        (
            "without.toml",
            channel,
            4,
            "nothing can be promised: admission proves bounds for levels that it chooses",
        ),
    ] {
        here.write(name, &text(more));
        let output = here.laxity(&format!("admit {name}"));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(code), "{name}: {said}");
        assert!(said.contains(says), "{name}: {said}");
        assert_eq!(said.contains("second") && !said.contains("  -"), code == 0, "{name}: {said}");
    }
}

#[test]
fn packets_that_take_longer_than_any_run_are_given_up() {
    let here = Here::new("packets");
    for (packets, code) in [("720", 0), ("1000000", 4)] {
        here.write("hours.toml", &at_rest("", "1 h", &format!("packets = {packets}")));
        let output = here.laxity("run --no-report hours.toml");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert_eq!(said.contains("720 h"), code == 4, "{said}");
    }
}
