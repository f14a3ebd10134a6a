//! Proposals to refused channels, tried in the file: a number of buffers may follow from a deadline.

use laxity_admission::Formula;
use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::experiment::Experiment;
use laxity_world::promise::{self, Advice, Promise};

/// Hosts at switches in a row, `[[from, to, size, burst, interval, deadline], …]` of milliseconds.
struct Net<'a> {
    host: &'a str,
    hosts: &'a [&'a [&'a str]],
    switch: &'a str,
    network: &'a str,
    admission: &'a str,
    channels: &'a [(&'a str, &'a str, &'a str)],
}

fn channel(n: usize, (ends, contract, deadline): (&str, &str, &str)) -> String {
    let (from, to) = ends.split_once(' ').unwrap();
    let [size, burst, interval] = contract.split(' ').collect::<Vec<_>>()[..] else { panic!("{contract}") };
    format!(
        "[[channel]]\nname = \"c{n}\"\nclass = \"real_time\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
         max_message = \"{size} B\"\nburst = {burst}\nmin_interval = \"{interval} ms\"\n\
         deadline = \"{deadline}\"\nsource = {{ kind = \"periodic\" }}\n"
    )
}

impl Net<'_> {
    fn text(&self) -> String {
        let Self { host, hosts, switch, network, admission, channels } = self;
        let mut text =
            format!("title = \"net\"\n[host]\nprofile = \"mc68040\"\n{host}\n[adapter]\nkind = \"null\"\n");
        text += &format!(
            "[admission]\n{admission}\n[run]\ntime = \"50 ms\"\n[network]\n{network}\npropagation = \"500 ns\"\n"
        );
        for (s, names) in hosts.iter().enumerate() {
            text += &format!("[node.s{s}]\nkind = \"switch\"\n{switch}\n");
            let joins: Vec<String> = names.iter().map(|name| format!(", \"{name}\"")).collect();
            text += &format!("[network.e{s}]\njoins = [\"s{s}\"{}]\n", joins.concat());
            names.iter().for_each(|name| text += &format!("[node.{name}]\n"));
        }
        if hosts.len() > 1 {
            text += "[network.trunk]\njoins = [\"s0\", \"s1\"]\n";
        }
        for (n, asked) in channels.iter().enumerate() {
            text += &channel(n, *asked);
        }
        text
    }

    /// The text with that interval, if any, and deadline in place of those of channel `n`.
    fn with(&self, n: usize, interval: Option<String>, deadline: &str) -> String {
        let (ends, contract, _) = self.channels[n];
        let before = channel(n, self.channels[n]);
        let mut after = channel(n, (ends, contract, deadline));
        if let Some(interval) = interval {
            let every = contract.rsplit(' ').next().unwrap();
            after = after.replace(
                &format!("min_interval = \"{every} ms\""),
                &format!("min_interval = \"{interval}\""),
            );
        }
        self.text().replace(&before, &after)
    }
}

fn read(text: &str) -> Experiment {
    Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}")).first()
}

fn answers(experiment: &Experiment) -> Vec<Promise> {
    promise::promises(experiment, Formula::Corrected).unwrap().channels
}

/// Each proposal to a refused channel in words, after a look whether it holds in the file.
fn proposals(net: &Net<'_>) -> Vec<[Option<String>; 2]> {
    let experiment = read(&net.text());
    let before = answers(&experiment);
    let mut advice = Advice::of(&experiment, Formula::Corrected);
    let check = |n: usize, text: String| {
        let after = answers(&read(&text));
        let has_none = |answer: &Promise| answer.is_refused() || answer.uncovered().is_some();
        let lost = |i: &usize| has_none(&after[*i]) && (*i == n || !has_none(&before[*i]));
        let lost: Vec<usize> = (0..after.len()).filter(lost).collect();
        assert!(lost.is_empty(), "{lost:?} in\n{text}");
    };
    let refused = (0..before.len()).filter(|n| before[*n].is_refused());
    let told = refused.map(|n| {
        let fit = advice.fit(n, &before[n]);
        for deadline in [fit.shortfall.proposed, fit.shortfall.admissible].into_iter().flatten() {
            check(n, net.with(n, None, &deadline.to_string()));
        }
        let asked = experiment.channels[n].deadline;
        if let Some((interval, deadline)) = fit.interval {
            let deadline = deadline.or(asked).unwrap().to_string();
            check(n, net.with(n, Some(interval.to_string()), &deadline));
        }
        let text = |span: Span| span.to_string();
        [fit.shortfall.proposed.map(text), fit.interval.map(|(interval, _)| text(interval))]
    });
    told.collect()
}

fn proposal(net: &Net<'_>) -> [String; 2] {
    let [one] = &proposals(net)[..] else { panic!("one channel is refused") };
    one.clone().map(|told| told.expect("something would be admitted"))
}

const LAN: &str = "rate = \"100 Mbit/s\"\nframing = \"ethernet_vlan\"";

/// With 11 ms three messages of 5 ms may be under way, for which the host has three slots, and the third
/// costs time.
#[test]
fn a_deadline_that_needs_more_slots_is_tried_with_those() {
    let alone = Net {
        host: "subsystem = { packet = \"1500 B\", preemption = 1, link = { paradigm = \"O1\" } }",
        hosts: &[&["h0"], &["h1"]],
        switch: "order = \"wfq\"",
        network: LAN,
        admission: "deadlines = \"alike\"",
        channels: &[("h1 h0", "64 1 5", "10 ms")],
    };
    let [deadline, _] = proposal(&alone);
    assert_ne!(deadline, "11 ms");
    // The first has a promise that some deadlines of the second would break.
    let two = Net {
        host: "subsystem = { packet = \"1500 B\", preemption = 4, link = { paradigm = \"O1\" } }",
        switch: "order = \"strict_priority\"\nlatency = \"5 us\"",
        admission: "deadlines = \"proportional\"",
        channels: &[("h0 h1", "64 1 5", "10 ms"), ("h1 h0", "200 1 2", "5 ms")],
        ..alone
    };
    assert!(proposals(&two).iter().flatten().all(Option::is_some));
}

/// With slots without end no deadline is admitted, and with those that follow from it one is.
#[test]
fn a_deadline_beyond_the_interval_is_found_with_the_slots_that_it_has() {
    let net = Net {
        host: "subsystem = { packet = \"1500 B\", preemption = 2, link = { paradigm = \"O2\" } }",
        hosts: &[&["h0", "h1", "h2"]],
        switch: "order = \"hsfq\"\nlatency = \"2 us\"",
        network: "rate = \"100 Mbit/s\"\nframing = \"ethernet\"",
        admission: "",
        channels: &[("h1 h2", "1500 1 5", "2 ms")],
    };
    assert!(proposals(&net).iter().flatten().all(Option::is_some));
    let beside = "[[channel]]\nname = \"be\"\nclass = \"best_effort\"\nfrom = \"h0\"\nto = \"h1\"\n\
                  max_message = \"1500 B\"\nburst = 8\nsource = { kind = \"continuous\" }\n";
    let experiment = read(&(net.text() + beside));
    let fit = promise::fit(&experiment, Formula::Corrected, 0, &answers(&experiment)[0]);
    assert_eq!(fit.shortfall.proposed.map(|span| span.to_string()).as_deref(), Some("5.25 ms"));
}

#[test]
fn a_deadline_or_a_rate_that_is_there_is_found() {
    let sharing = Net {
        host: "subsystem = { packet = \"1500 B\", preemption = 4, link = { paradigm = \"O2\" } }",
        hosts: &[&["h0", "h1", "h2", "h3"]],
        switch: "order = \"virtual_clock\"\nlatency = \"0 us\"",
        network: LAN,
        admission: "deadlines = \"slowest\"",
        channels: &[
            ("h3 h2", "4000 1 10", "1 ms"),
            ("h1 h2", "200 1 2", "2 ms"),
            ("h1 h2", "64 2 2", "10 ms"),
            ("h0 h1", "4000 2 5", "5 ms"),
        ],
    };
    // No deadline or rate of the second itself would free the time that it lacks.
    let told = proposals(&sharing);
    assert_eq!(told.len(), 3);
    let found = |one: usize| told[one].iter().all(Option::is_some);
    assert!(found(0) && found(2), "{told:?}");
    let slow = Net {
        host: "speedup = 100\nsubsystem = { packet = \"1500 B\", preemption = 1, link = { paradigm = \"O1\" } }",
        switch: "order = \"wfq\"\nlatency = \"0 us\"",
        network: "rate = \"10 Mbit/s\"\nframing = \"none\"",
        admission: "deadlines = \"proportional\"",
        channels: &[
            ("h3 h2", "4000 2 5", "10 ms"),
            ("h0 h3", "64 1 5", "10 ms"),
            ("h0 h3", "200 2 10", "2 ms"),
            ("h2 h0", "1500 2 10", "2 ms"),
        ],
        ..sharing
    };
    let told = proposals(&slow);
    let found = |one: &[Option<String>; 2]| one.iter().any(Option::is_some);
    assert!(!told.is_empty() && told.iter().all(found), "{told:?}");
}

/// A reader that takes 4 of each 5 ms has one slot, and two messages may wait for it.
#[test]
fn a_program_that_lacks_slots_is_named() {
    let text = "title = \"reader\"\n[host]\nprofile = \"mc68040\"\nspeedup = 100\nsubsystem = { packet = \"1500 B\" }\n\
                [adapter]\nkind = \"null\"\n[node.a]\n[node.b]\n[network.w]\njoins = [\"a\", \"b\"]\nrate = \"100 Mbit/s\"\n\
                framing = \"ethernet\"\n[run]\ntime = \"1 s\"\n[[channel]]\nname = \"f\"\nclass = \"real_time\"\n\
                from = \"a\"\nto = \"b\"\nmax_message = \"200 B\"\nburst = 1\nmin_interval = \"5 ms\"\ndeadline = \"5 ms\"\n\
                source = { kind = \"periodic\" }\nreader = { work = \"400 ms\" }\n";
    let experiment = read(text);
    let reason = answers(&experiment)[0].refusal(&experiment, 0).expect("one slot is too few");
    assert!(reason.contains("`reader.slots`") && reason.ends_with("; one more is needed"), "{reason}");
    let fit = promise::fit(&experiment, Formula::Corrected, 0, &answers(&experiment)[0]);
    let deadline = fit.shortfall.proposed.expect("more than the interval").to_string();
    let changed = read(&text.replace("deadline = \"5 ms\"", &format!("deadline = \"{deadline}\"")));
    assert!(!answers(&changed)[0].is_refused(), "{deadline}");
}

/// Beside the third the messages of the first take longer than their interval, though not longer than its
/// deadline.
#[test]
fn a_message_that_exceeds_its_interval_is_no_late_one() {
    let channels = [("1500", 2, 5), ("4000", 5, 10), ("64", 5, 10), ("1500", 1, 20)].map(|(size, interval, deadline)| {
        format!(
            "[[channel]]\nname = \"c{deadline}-{size}\"\nclass = \"real_time\"\nmax_message = \"{size} B\"\nburst = 2\n\
             min_interval = \"{interval} ms\"\ndeadline = \"{deadline} ms\"\nsource = {{ kind = \"periodic\" }}\n"
        )
    });
    let beside = "[[channel]]\nname = \"be\"\nclass = \"best_effort\"\nmax_message = \"1500 B\"\nburst = 8\n\
                  source = { kind = \"continuous\" }\n";
    let text = format!(
        "title = \"stages\"\n[host]\nprofile = \"mc68040\"\nspeedup = 2\n\
         subsystem = {{ packet = \"1500 B\", preemption = 4, link = {{ depth = 1, paradigm = \"O1\" }} }}\n\
         [adapter]\nkind = \"generic\"\ntransmit = [{{ name = \"link\", phase = [{{ medium = true, rate = \"100 Mbit/s\" }}] }}]\n\
         response_queue = [{{ delay = \"50 us\" }}]\n[run]\ntime = \"50 ms\"\n{}{beside}",
        channels.concat()
    );
    let experiment = read(&text);
    let reason = answers(&experiment)[2].refusal(&experiment, 2).expect("the third is refused");
    assert!(reason.contains("reserve more than there is, 234.9 %") && !reason.contains("0 ps"), "{reason}");
}

/// The share of a processor's time grows with the rate that is set aside for best effort.
#[test]
fn more_best_effort_asks_for_more_of_a_processor() {
    let shares = (75..=80).filter_map(|rate| {
        let text = format!(
            "title = \"via\"\n[via]\nfirmware = \"qosvia\"\nnodes = 3\nbest_effort = \"{rate}00 kB/s\"\ndoorbells = \"apart\"\n\
             depth = 1\n[run]\ntime = \"100 ms\"\n[[channel]]\nname = \"film\"\nclass = \"real_time\"\nfrom = 0\nto = 1\n\
             max_message = \"4 KiB\"\nburst = 1\nrate = \"1 MB/s\"\ndeadline = \"4 ms\"\nsource = {{ kind = \"periodic\" }}\n\
             [[channel]]\nname = \"bulk\"\nclass = \"best_effort\"\nfrom = 0\nto = 2\nmax_message = \"4 KiB\"\nburst = 1\n\
             source = {{ kind = \"closed\", outstanding = 1 }}\n"
        );
        let experiment = read(&text);
        let reason = answers(&experiment)[0].refusal(&experiment, 0)?;
        let (before, _) = reason.split_once(" %").unwrap_or_else(|| panic!("{reason}"));
        let percent = before.rsplit([' ', '(']).next().unwrap().parse::<u32>().unwrap();
        Some((reason.split_once(" is asked").map(|(name, _)| name.to_string()), percent))
    });
    let shares: Vec<_> = shares.collect();
    assert!(
        shares.len() > 3 && shares.windows(2).all(|two| two[0].0 != two[1].0 || two[0].1 <= two[1].1),
        "{shares:?}"
    );
}

/// The host refuses the deadline. It would take a rarer message, and then the switch has no bound.
#[test]
fn a_station_without_a_bound_behind_the_one_that_refuses_is_named() {
    let net = Net {
        host: "subsystem = { packet = \"1500 B\", link = { paradigm = \"adapter\" } }",
        hosts: &[&["h0", "h1"]],
        switch: "order = \"strict_priority\"\nforwarding = \"cut_through\"",
        network: LAN,
        admission: "",
        channels: &[("h0 h1", "1000 1 1", "100 us")],
    };
    assert_eq!(proposals(&net), [[None, None]]);
    let experiment = read(&net.text());
    let answer = &answers(&experiment)[0];
    let fit = Advice::of(&experiment, Formula::Corrected).fit(0, answer);
    let why = fit.unanalysed.expect("the switch has no bound").to_string();
    assert!(why.contains("strict-priority ports") && why.contains("store_and_forward"), "{why}");
    // A switch that waits for whole frames has a bound.
    let whole = Net { switch: "order = \"strict_priority\"", ..net };
    assert!(proposal(&whole).iter().all(|told| !told.is_empty()));
}

/// The links alone take 80 ms of the 10. The refusal says what is missing for them, and for the stations.
#[test]
fn a_path_that_is_longer_than_the_deadline_is_refused_by_all_that_is_missing() {
    let net = Net {
        host: "subsystem = { packet = \"1500 B\" }",
        hosts: &[&["h0", "h1"]],
        switch: "",
        network: LAN,
        admission: "",
        channels: &[("h0 h1", "1000 1 200", "10 ms")],
    };
    let missing = |propagation: &str| {
        let text =
            net.text().replace("propagation = \"500 ns\"", &format!("propagation = \"{propagation}\""));
        let experiment = read(&text);
        let refused = answers(&experiment)[0].refusal(&experiment, 0)?;
        let (_, by) = refused.rsplit_once(" by ").expect("an amount");
        Some(by.parse::<Span>().expect("a time").as_ps() / 1_000_000_000)
    };
    let whole = missing("5 ms").expect("it is refused");
    assert!(whole < 5, "{whole}");
    assert_eq!(missing("40 ms"), Some(whole + 70));
}
