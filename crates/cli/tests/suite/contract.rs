//! `laxity contract`: what a recording must reserve.

use crate::common::{Here, err, out};

/// A frame of 3000 B, two of 1000 B and so on, 10 ms apart. In pieces of 1500 B that is four in 30 ms.
/// The first piece of 77 is sent at the beginning; that of the last large frame, the 77th, counts at
/// 570 + 10 ms at the latest: by (1) of the module, `77 I ≤ 580 ms`.
fn film() -> String {
    (0..60).map(|i| if i % 3 == 0 { "3000\n" } else { "1000\n" }).collect()
}

#[test]
fn the_chosen_contract_is_kept_by_the_recording() {
    let here = Here::new("contract");
    here.write("film.txt", &film());
    let said = here.laxity("contract film.txt --interval 10ms --svg film.svg");
    let text = out(&said);
    assert_eq!(said.status.code(), Some(0), "{}", err(&said));
    assert!(text.contains("60 messages of at most 3000 B in 0.590 s"), "{text}");
    assert!(std::fs::read_to_string(here.path("film.svg")).unwrap().contains("What film.txt must reserve"));
    let channel = &text[text.find("[[channel]]").expect("a channel to copy")..];
    assert!(
        channel.contains("max_message = \"1500 B\"\nburst = 3\nmin_interval = \"7532.467 us\"\n"),
        "{channel}"
    );
    let claim = "[[claim]]\nid = \"kept\"\nsays = \"None is early beyond its burst\"\n\
        holds = 'runs[0].channel(\"film\").completed == 60 && runs[0].channel(\"film\").on_time == 1'\n";
    let head = "title = \"x\"\n[host]\nprofile = \"mc68040\"\n[adapter]\nkind = \"null\"\nper_byte = \"50 ns\"\n[run]\ntime = \"1 s\"\n";
    here.write("film.toml", &[head, channel, claim].concat());
    let run = here.laxity("run film.toml");
    assert_eq!(run.status.code(), Some(0), "{}{}", out(&run), err(&run));
}

/// Three frames 125 us apart each 10 ms.
#[test]
fn the_least_distance_is_a_limit() {
    let here = Here::new("contract-distance");
    let train = (0..20).flat_map(|g| [0, 125, 250].map(|us| 10_000 * g + us));
    let frames: String =
        train.map(|us| format!("packet,{}.{:06},1000,K_\n", us / 1_000_000, us % 1_000_000)).collect();
    here.write("train.csv", &frames);
    let said = here.laxity("contract train.csv --wait 9ms");
    let text = out(&said);
    assert_eq!(said.status.code(), Some(0), "{}", err(&said));
    assert!(text.contains("limits = [{ burst = 1, min_interval = \"125 us\" }]\ndeadline"), "{text}");
    let json = out(&here.laxity("contract train.csv --wait 9ms --json"));
    assert!(json.contains("\"least_distance\": 0.000125"), "{json}");
    let channel = &text[text.find("[[channel]]").expect("a channel to copy")..];
    let head = "title = \"x\"\n[host]\nprofile = \"mc68040\"\n[adapter]\nkind = \"null\"\nper_byte = \"50 ns\"\n[run]\ntime = \"1 s\"\n";
    let claim = "[[claim]]\nid = \"kept\"\nsays = \"All are within the contract\"\n\
        holds = 'runs[0].channel(\"train\").due_messages == 60'\n";
    here.write("train.toml", &[head, channel, claim].concat());
    let run = here.laxity("run train.toml");
    assert_eq!(run.status.code(), Some(0), "{}{}", out(&run), err(&run));
}

#[test]
fn what_has_no_contract_says_why() {
    let here = Here::new("contract-none");
    here.write("film.txt", &film());
    here.write("one.txt", "100\n");
    for (arguments, code, reason) in [
        ("film.txt", 2, "has no times; `--interval 40ms`"),
        ("one.txt --interval 10ms", 2, "messages of one instant only"),
        ("film.txt --interval 10ms --message 0B", 2, "carries nothing"),
        ("film.txt --interval 10ms --message 1500B --wait 0s", 1, "a longer `--wait` does"),
        ("film.txt --interval 10ms --message 3001B", 2, "is larger than 3000 B"),
        ("film.txt --interval 0s", 2, "valid is 1 ns to 1 h"),
        ("film.txt --interval 10ms --wait 100h", 2, "is no bound"),
        ("nothing.pcap", 2, "nothing.pcap"),
    ] {
        let said = here.laxity(&format!("contract {arguments}"));
        assert_eq!(said.status.code(), Some(code), "{arguments}: {}", err(&said));
        assert!(err(&said).contains(reason), "{arguments}: {}", err(&said));
    }
}

/// Thirteen messages at once each 33 ms are 2.48 ms apart in the mean, and such a wait reserves 13 in it.
/// Sixteen times the spacing is 39.7 ms.
#[test]
fn a_wait_too_short_for_groups_names_a_longer_one() {
    let here = Here::new("contract-groups");
    let groups: String = (0..40)
        .flat_map(|group| {
            (0..13).map(move |_| format!("packet,{}.{:03},1000,K_\n", 33 * group / 1000, 33 * group % 1000))
        })
        .collect();
    here.write("groups.csv", &groups);
    let said = here.laxity("contract groups.csv");
    assert_eq!(said.status.code(), Some(0), "{}", err(&said));
    assert!(err(&said).contains("`--wait 40ms` would reserve"), "{}{}", out(&said), err(&said));
    let longer = here.laxity("contract groups.csv --wait 40ms");
    assert!(longer.status.code() == Some(0) && !err(&longer).contains("--wait"), "{}", err(&longer));
}
