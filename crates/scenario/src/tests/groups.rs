//! `[group.NAME]`: channels that have a rate together.

use super::*;

const FILE: &str = r#"
title = "Groups"
[host]
profile = "mc68040"
subsystem = { link = { order = "hsfq" } }
[adapter]
kind = "null"
rate = "160 Mbit/s"
[admission]
formula = "off"
[run]
time = "1 s"
[[channel]]
name = "film"
class = "real_time"
group = "films"
max_message = "4 KiB"
burst = 1
min_interval = "50 ms"
deadline = "50 ms"
source = { kind = "periodic" }
[[channel]]
name = "rest"
class = "best_effort"
max_message = "4 KiB"
burst = 1
source = { kind = "poisson", rate = "1 kB/s" }
"#;

fn with(groups: &str) -> String {
    format!("{FILE}\n{groups}")
}

/// A group within another stands behind it, wherever the file has it.
#[test]
fn groups_are_a_tree() {
    let text =
        with("[group.films]\nrate = \"30 MB/s\"\nwithin = \"tenant\"\n[group.tenant]\nrate = \"60 MB/s\"");
    let experiment = right(&text).first();
    let groups: Vec<_> = experiment.groups.iter().map(|group| (group.name.as_str(), group.within)).collect();
    assert_eq!(groups, [("tenant", None), ("films", Some(0))]);
    assert_eq!(experiment.channels.iter().map(|channel| channel.group).collect::<Vec<_>>(), [Some(1), None]);
}

#[test]
fn what_makes_no_group_is_said() {
    let films = "[group.films]\nrate = \"30 MB/s\"";
    let all = [
        with(""),
        with("[group.others]\nrate = \"30 MB/s\""),
        with("[group.films]"),
        with("[group.\"the films\"]\nrate = \"30 MB/s\""),
        with(&format!("{films}\nwithin = \"tenant\"")),
        with(&format!("{films}\nwithin = \"a\"\n[group.a]\nrate = \"1 MB/s\"\nwithin = \"films\"")),
        with(films).replace("name = \"rest\"", "name = \"rest\"\ngroup = \"films\""),
    ];
    insta::assert_snapshot!(
        "groups",
        all.map(|text| match read(&text) {
            Ok(_) => panic!("the file is valid"),
            Err(errors) => errors.to_string(),
        })
        .join("\n\n")
    );
}
