//! Errors as they are shown.

use super::*;

#[track_caller]
pub(super) fn refused(text: &str) -> String {
    refused_in(&memory(text))
}

#[track_caller]
pub(super) fn refused_in(files: &Memory) -> String {
    match read_in(files) {
        Ok(_) => panic!("the file is valid"),
        Err(errors) => errors.to_string(),
    }
}

/// A scenario of two hosts and a switch without a network.
const NODES: &str = r#"title = "Nodes"
[host]
profile = "mc68040"
[node.ada]
[node.ben]
[node.sw]
kind = "switch"
[run]
time = "1 s"
[[channel]]
name = "one"
class = "best_effort"
from = "ada"
to = "ben"
max_message = "1 KiB"
burst = 1
source = { kind = "periodic", interval = "10 ms" }
"#;

/// More than its key allows, and more than any clock counts: the limit of the key is named either way.
#[test]
fn the_limit_of_a_time_is_named() {
    let text = |time: &str| NODES.replace("time = \"1 s\"", &format!("time = \"{time}\""));
    for time in ["721 h", "8760 h", "99999999999 s"] {
        let said = refused(&text(time));
        assert!(said.contains(&format!("`{time}` is more than 720 h")), "{said}");
    }
    let late = NODES.replace(
        "class = \"best_effort\"",
        "class = \"real_time\"\ndeadline = \"9000 h\"\nmin_interval = \"1 s\"",
    );
    assert!(refused(&late).contains("`9000 h` is more than 1 h"), "{}", refused(&late));
}

/// A file of another format may mean other things by its keys: its number is the only error.
#[test]
fn another_format_is_the_only_error() {
    let text = |format: &str| format!("format = {format}\nburts = 3\n{NODES}");
    for format in ["2", "0", "-1", "0x10"] {
        let said = refused(&text(format));
        assert!(said.contains("this program reads format 1") && !said.contains("burts"), "{said}");
    }
    assert!(refused(&text("2")).contains("this file has format 2"));
    for format in ["\"1\"", "1.5", "true"] {
        let said = refused(&text(format));
        assert!(said.contains("valid is a whole number from 1 to 1") && said.contains("burts"), "{said}");
    }
    let network = "[network.lan]\njoins = [\"sw\", \"ada\", \"ben\"]\nrate = \"1 Gbit/s\"";
    let valid = format!("{NODES}{network}");
    let experiment = |text: &str| format!("{:?}", right(text).first());
    assert_eq!(experiment(&format!("format = 1\n{valid}")), experiment(&valid));
}

/// One snapshot of several errors, each under the name of its case.
macro_rules! shown {
    ($($group:ident { $($name:ident: $text:expr;)* })*) => {
        $(
            #[test]
            fn $group() {
                let mut all = String::new();
                $(all += &format!("# {}\n\n{}\n\n\n", stringify!($name), refused(&$text));)*
                insta::assert_snapshot!(stringify!($group), all);
            }
        )*
    };
}

fn sweep(key: &str, values: &str) -> String {
    and(&format!("[[sweep]]\nname = \"load\"\nkey = \"{key}\"\nvalues = [{values}]"))
}

#[test]
fn a_queue_without_an_end_is_never_kept_full() {
    let lawless = with("profile = \"mc68040\"", "profile = \"mc68040\"\nsubsystem = { enforcement = false }");
    let source = "source = { kind = \"periodic\", rate = \"400 KiB/s\" }";
    let endless = lawless.replace(source, "source = { kind = \"continuous\" }");
    assert!(refused(&endless).contains("where no queue has an end"), "{}", refused(&endless));
    right(&lawless.replace(source, "source = { kind = \"closed\" }"));
}

#[test]
fn in_real_time_a_host_that_receives_is_a_thread() {
    let text = |run: &str| {
        let head =
            "title = \"A test\"\nhost = { profile = \"harts-reception\" }\nadmission = { formula = \"off\" }";
        let interface = "[[interface]]\nname = \"in\"\npolicy = \"interrupt\"";
        let source = "source = { kind = \"periodic\", rate = \"1 KiB/s\" }";
        let channel = "[[channel]]\nname = \"a\"\nclass = \"best_effort\"\nmax_message = \"1 KiB\"\nburst = 1\ninterface = \"in\"";
        format!("{head}\nrun = {{ time = \"1 s\"{run} }}\n{interface}\n{channel}\n{source}\n")
    };
    let real = text(", clock = \"real\"");
    let refused = refused(&real);
    assert!(refused.contains("is a thread") && refused.contains("say `host = \"thread\"`"), "{refused}");
    right(&real.replace("[[interface]]", "[emulation]\nhost = \"thread\"\n[[interface]]"));
    right(&text(""));
}

#[test]
fn a_goal_is_read_and_a_bad_one_says_what_would_be_valid() {
    let axis = "[[sweep]]\nname = \"P\"\nkey = \"host.subsystem.preemption\"\nvalues = [1, 2]\n";
    let file = |tune: &str| and(&format!("{axis}[tune]\n{tune}"));
    let good = "over = [\"P\"]\nmost = \"throughput\"\nchannels = [\"bulk\"]\n";
    let need = "[[tune.need]]\nmetric = \"laxity.min\"\n";
    let tune = right(&file(&format!("{good}{need}at_least = \"-1.5 ms\""))).tune.unwrap();
    assert_eq!((tune.over, tune.more, tune.seeds, tune.exhaustive), (vec![0], true, 3, 100));
    assert_eq!((tune.needs[0].bound, tune.needs[0].at_most), (-1.5e-3, false));
    assert_eq!(right(&file(good)).tune.unwrap().goal.channels, ["bulk"]);
    assert_eq!(right(&and("")).tune, None);
    for (wrong, why) in [
        (good.replace("P", "Q"), "there is no axis `Q`"),
        (good.replace("[\"P\"]", "[]"), "there is nothing to choose"),
        (good.replace("[\"P\"]", "[\"P\", \"P\"]"), "this axis is chosen already"),
        (good.replace("throughput", "thruput"), "did you mean `throughput`?"),
        (good.replace("throughput", "latency.cdf"), "is a curve, and no number to compare"),
        (good.replace("bulk", "bulky"), "there is no channel `bulky`"),
        (good.replace("most", "# "), "this says not what is to be most or least"),
        (format!("{good}least = \"used\""), "most of one thing and least of another"),
        (format!("{good}seeds = 0"), "valid is"),
        (format!("{good}{need}"), "this need has no bound"),
        (format!("{good}{need}at_most = \"1 ms\"\nat_least = \"1 ms\""), "a need has one bound"),
        (format!("{good}{need}at_most = 5"), "valid is a time, such as `\"5 ms\"`"),
        (format!("{good}{need}at_most = \"5 KiB\""), "this is no bound on `laxity.min`"),
        (format!("{good}{need}at_most = \"1 ms\"\nchannels = [\"x\"]"), "there is no channel `x`"),
        (format!("{good}[[tune.need]]\nmetric = \"used\"\nat_most = \"1\""), "a share of one, such as `0.3`"),
        (format!("{good}[[tune.need]]\nat_most = 1"), "this need has no `metric`"),
    ] {
        let refused = refused(&file(&wrong));
        assert!(refused.contains(why), "{wrong}\n{refused}");
    }
}

shown! {
    keys {
        unknown_key: with("deadline", "dedline");
        unknown_table: and("[hosts]\nprofile = \"x\"");
        wrong_type_table: with("[run]\npackets = 32768\nwarmup = 2048", "").replace("title = \"A test\"", "title = \"A test\"\nrun = 32768");
        one_table_for_a_list: with("[[channel]]\nname = \"video\"", "[channel]\nname = \"video\"").replace("[[channel]]\nname = \"bulk\"", "[other]\nname = \"bulk\"");
        missing_keys: with("title = \"A test\"\n", "").replace("burst = 12\n", "").replace("deadline = \"40 ms\"\n", "");
        nothing_at_all: *"";
        syntax: with("burst = 12", "burst = = 12").replace("burst = 10", "burst 10");
        duplicate_key: with("burst = 12", "burst = 12\nburst = 13");
        large_number: with("12", "99999999999999999999999999");
        deep: format!("title = {}", "[".repeat(5000));
    }
    networks {
        no_network: *NODES;
        nothing_joined: format!("{NODES}[network.lan]\nrate = \"1 Gbit/s\"");
        no_such_node: format!("{NODES}[network.lan]\njoins = [\"sw\", \"adda\", \"ben\"]\nrate = \"1 Gbit/s\"");
        alone: format!("{NODES}[network.lan]\njoins = [\"sw\", \"ada\"]\nrate = \"1 Gbit/s\"");
        no_rate: format!("{NODES}[network.lan]\njoins = [\"sw\", \"ada\", \"ben\"]");
        twice: format!("{NODES}[network.lan]\njoins = [\"sw\", \"ada\", \"ben\"]\nrate = \"1 Gbit/s\"\n[network.other]\njoins = [\"ben\", \"sw\"]\nrate = \"1 Gbit/s\"");
        frames: format!("{NODES}[network.lan]\njoins = [\"sw\", \"ada\", \"ben\"]\nrate = \"1 Gbit/s\"\nframing = \"ethernet\"");
        unlike_links: networks::network("").replace("joins = [\"sx\", \"server\", \"desk\"]", "joins = [\"sx\", \"server\", \"desk\"]\n[network.fast]\njoins = [\"desk\", \"server\"]\nrate = \"1 Gbit/s\"");
        no_way: networks::network("").replace("[network.trunk]\njoins = [\"sw\", \"sx\"]", "[network.trunk]\njoins = [\"sx\", \"desk\"]").replace("\"server\", \"desk\"]", "\"server\"]");
        not_joined: networks::network("").replace("from = \"cam\"\nto = \"server\"", "route = [\"cam\", \"sx\", \"server\"]");
        to_itself: networks::network("").replace("from = \"cam\"\nto = \"server\"", "route = [\"desk\", \"desk\", \"sx\", \"server\"]");
        ends_at_a_switch: networks::network("").replace("to = \"server\"", "to = \"sx\"");
        by_number: networks::network("").replace("to = \"server\"", "to = 1");
        by_name_without_names: and("[[channel]]\nname = \"x\"\nclass = \"best_effort\"\nmax_message = \"1 KiB\"\nburst = 1\nsource = { kind = \"none\" }\nto = \"server\"");
        a_path: networks::network("[path]\nrelays = 1");
        switch_with_a_host: networks::network("").replace("kind = \"switch\"\nlatency", "kind = \"switch\"\nhost = { speedup = 2.0 }\nlatency");
        host_with_memory: networks::network("").replace("[node.server]", "[node.server]\nmemory = \"1 KiB\"");
        unlike_packets: networks::network("").replace("depth = 3 } }", "depth = 3 }, packet = \"1 KiB\" }");
        cut_through_and_reset: networks::network("").replace("latency = \"2 us\"", "forwarding = \"cut_through\"").replace("[node.cam]", "driver = { reset_after = \"1 s\" }\n[node.cam]");
        names_without_nodes: and("[network]\nkind = \"point_to_point\"\n[network.lan]\njoins = [\"a\", \"b\"]");
        misspelt: and("[network]\nkind = \"point_to_point\"\nstatons = 3");
    }
    values {
        missing_unit: with("\"40 ms\"", "\"40\"");
        missing_quotes: with("\"40 ms\"", "40");
        negative_rate: with("\"400 KiB/s\"", "\"-400 KiB/s\"");
        ambiguous_unit: with("\"60 KiB\"", "\"60 KB\"");
        wrong_type: with("burst = 12", "burst = \"twelve\"");
        not_a_truth_value: with("profile = \"mc68040\"", "profile = \"mc68040\"\nsubsystem = { enforcement = \"yes\" }");
        zero_interval: with("\"50 ms\"", "\"0 ms\"");
        zero_packet: with("profile = \"mc68040\"", "profile = \"mc68040\"\nsubsystem = { packet = \"0 B\" }");
        endless_without_end: with("profile = \"mc68040\"", "profile = \"mc68040\"\nsubsystem = { enforcement = false }").replace("{ kind = \"bursty\" }", "{ kind = \"continuous\" }");
        endless_at_a_host_that_is_wrong: with("profile = \"mc68040\"", "profile = \"mc68040\"\ncosts = { first_packet = \"-1 us\" }").replace("{ kind = \"bursty\" }", "{ kind = \"continuous\" }");
        endless_at_one_instant: with("profile = \"mc68040\"", "profile = \"mc68040\"\ncosts = { first_packet = \"0 us\" }").replace("{ kind = \"bursty\" }", "{ kind = \"continuous\" }").replace("burst = 12", "burst = 12\npacket_overflow = \"drop\"");
        endless_small_messages: with("profile = \"mc68040\"", "profile = \"mc68040\"\ncosts = { single_packet = \"0 us\" }").replace("{ kind = \"bursty\" }", "{ kind = \"continuous\", size = \"100 B\" }").replace("burst = 12", "burst = 12\npacket_overflow = \"drop\"");
        endless_losses: with("profile = \"mc68040\"", "profile = \"mc68040\"\ncosts = { first_packet = \"0 us\", hand_over = \"0 us\", interrupt = \"0 us\", response = \"0 us\" }\nsubsystem = { link = { paradigm = \"adapter\" } }").replace("{ kind = \"bursty\" }", "{ kind = \"continuous\" }").replace("kind = \"null\"\nstartup = \"40 us\"\nper_byte = \"50 ns\"\n", "kind = \"generic\"\ntransmit = [{ name = \"t\", queue = [{ slots = 2, overload = \"drop\" }], phase = [{ fixed = \"45 us\", medium = true }] }]\n");
        endless_and_never_waiting: with("{ kind = \"bursty\" }", "{ kind = \"continuous\" }").replace("burst = 12", "burst = 12\npacket_overflow = \"decay\"");
        zero_depth: with("profile = \"mc68040\"", "profile = \"mc68040\"\nsubsystem = { link = { depth = 0 } }");
        unknown_word: with("\"bursty\"", "\"bursy\"");
        preemption_of_neither_kind: with("profile = \"mc68040\"", "profile = \"mc68040\"\nsubsystem = { preemption = \"sometimes\" }");
    }
    experiments {
        late_deadline: with("\"40 ms\"", "\"60 ms\"") + "\n[admission]\ntest = \"d_order\"";
        duplicate_channels: with("\"bulk\"", "\"video\"");
        copies_of_the_same_name: with("name = \"bulk\"", "name = \"video\"\ncount = 2").replace("name = \"video\"\nclass = \"real_time\"", "name = \"video-2\"\nclass = \"real_time\"");
        best_effort_with_deadline: with("class = \"real_time\"", "class = \"best_effort\"");
        best_effort_without_rate: with(", rate = \"400 KiB/s\"", "");
        rate_twice: with("min_interval = \"50 ms\"", "min_interval = \"50 ms\"\nrate = \"1 Mbit/s\"");
        rate_too_low: with("\"400 KiB/s\"", "\"1 bit/s\"");
        key_of_another_source: with("\"bursty\"", "\"none\", multiple = 2");
        smaller_than_promised: with("\"bursty\"", "\"bursty\", size = \"1 KiB\"").replace("burst = 12", "burst = 12\nmin_message = \"2 KiB\"");
        too_many_packets: with("\"60 KiB\"", "\"1 GiB\"").replace("profile = \"mc68040\"", "profile = \"mc68040\"\nsubsystem = { packet = \"16 B\" }");
        run_by_both: with("packets = 32768", "packets = 32768\ntime = \"1 s\"");
        run_too_short: with("32768", "1000");
        warmup_of_another_kind: with("warmup = 2048", "warmup = \"1 s\"");
        nothing_sent: with("\"bursty\"", "\"none\"").replace("kind = \"periodic\", rate = \"400 KiB/s\"", "kind = \"none\"");
        fill_of_best_effort: and("[admission]\nfill = \"bulk\"");
        launched_by_the_host: with("profile = \"mc68040\"", "profile = \"mc68040\"\nsubsystem = { link = { launch = \"1 ms\" } }");
        launched_at_once: with("profile = \"mc68040\"", "profile = \"mc68040\"\nsubsystem = { link = { paradigm = \"adapter\", launch = \"0 us\" } }");
        launched_by_stages: with("profile = \"mc68040\"", "profile = \"mc68040\"\nsubsystem = { link = { paradigm = \"adapter\", launch = \"1 ms\" } }").replace("kind = \"null\"\nstartup = \"40 us\"\nper_byte = \"50 ns\"\n", "file = \"tsn-1g\"\n");
        shaped_by_the_host: with("profile = \"mc68040\"", "profile = \"mc68040\"\nsubsystem = { link = { shapers = [{ level = 0, idle_slope = \"1 Mbit/s\" }] } }");
        shaped_and_launched: with("profile = \"mc68040\"", "profile = \"mc68040\"\nsubsystem = { link = { paradigm = \"adapter\", launch = \"1 ms\", shapers = [{ level = 0, idle_slope = \"1 Mbit/s\" }] } }");
        shaped_twice: with("profile = \"mc68040\"", "profile = \"mc68040\"\nsubsystem = { link = { paradigm = \"adapter\", shapers = [{ level = 2, idle_slope = \"1 Mbit/s\" }, { level = 2, idle_slope = \"2 Mbit/s\" }] } }");
        shaped_by_stages: with("profile = \"mc68040\"", "profile = \"mc68040\"\nsubsystem = { link = { paradigm = \"adapter\", shapers = [{ level = 0, idle_slope = \"1 Mbit/s\" }] } }").replace("kind = \"null\"\nstartup = \"40 us\"\nper_byte = \"50 ns\"\n", "file = \"tsn-1g\"\n");
        demand_by_the_bound: and("[admission]\ntest = \"demand\"\nlocal_deadline = \"bound\"");
        demand_of_the_papers: and("[admission]\ntest = \"demand\"\nformula = \"papers\"");
        no_profile: with("mc68040", "mc86040");
        no_profile_of_that_path: with("mc68040", "../mine.toml");
        no_film: with("\"bursty\"", "\"mpeg\"");
        film_with_a_summary: with("\"bursty\"", "\"mpeg\", film = \"dino\", max = \"20 kB\"");
        film_of_half_a_summary: with("\"bursty\"", "\"mpeg\", min = \"1 kB\", max = \"20 kB\"");
        film_that_cannot_be: with("\"bursty\"", "\"mpeg\", min = \"1 kB\", max = \"20 kB\", mean = \"2 kB\", deviation = \"5 kB\"");
        film_of_no_pattern: with("\"bursty\"", "\"mpeg\", pattern = \"BBI\"");
        film_from_two_places: with("\"bursty\"", "\"mpeg\", film = \"dino\", start = 5, stagger = \"60 s\"");
        no_trace: with("\"bursty\"", "\"recorded\", trace = \"film.csv\"");
    }
    sweeps {
        sweep_of_no_key: sweep("channel.bulk.source.rat", "\"1 Mbit/s\"");
        sweep_of_no_section: sweep("hots.profile", "\"mc68040\"");
        sweep_of_no_channel: sweep("channel.bulky.burst", "1, 2");
        sweep_of_a_wrong_value: sweep("channel.bulk.source.rate", "\"1 Mbit/s\", \"2 Mbit\", \"3 Mbit/s\"");
        sweep_through_a_value: sweep("host.profile.name", "1");
        sweep_to_a_late_deadline: sweep("channel.video.min_interval", "\"50 ms\", \"30 ms\"") + "\n[admission]\ntest = \"d_order\"";
        sweep_without_values: sweep("channel.bulk.burst", "");
        sweep_of_the_same_value: sweep("channel.bulk.burst", "1, 2, 1");
        sweep_of_everything: format!("{}\n[[sweep]]\nname = \"b\"\nkey = \"channel.video.burst\"\nvalues = [{}]", sweep("channel.bulk.burst", &numbers(1000)), numbers(1000));
        sweep_of_the_same_key_twice: format!("{}\n[[sweep]]\nname = \"b\"\nkey = \"channel.*.burst\"\nvalues = [3]", sweep("channel.bulk.burst", "1, 2"));
        sweep_of_unquoted_keys: and("[[sweep]]\nname = \"v\"\npoints = [{ name = \"a\", set = { host.subsystem.packet = \"1 KiB\" } }]");
    }
    figures {
        figure_of_no_axis: format!("{}\n[[figure]]\nx = \"laod\"\ny = \"throughput\"\nchannels = [\"video\"]", sweep("channel.bulk.burst", "1"));
        figure_of_no_metric: and("[[figure]]\ny = \"troughput\"");
        figure_of_no_figure: and("[[figure]]\ny = \"figure:admited@2\"");
        curve_over_an_axis: format!("{}\n[[figure]]\nx = \"load\"\ny = \"latency.ccdf\"", sweep("channel.bulk.burst", "1"));
        figure_of_no_channel: and("[[figure]]\ny = \"throughput\"\nchannels = [\"vide\"]");
    }
}

fn numbers(n: usize) -> String {
    (1..=n).map(|n| n.to_string()).collect::<Vec<_>>().join(", ")
}

#[test]
fn broken_profile() {
    let mut files = memory(&with("mc68040", "mine"));
    let (_, profile) = crate::profile::BUILT_IN[1];
    let broken = profile.replace("value = \"90 us\"", "value = \"90\"").replace("[send_call]", "[send]");
    files.insert("profiles/mine.toml".into(), broken.into());
    insta::assert_snapshot!(refused_in(&files));
}

#[test]
fn broken_trace() {
    let mut files = memory(&with("\"bursty\"", "\"recorded\", trace = \"film.csv\""));
    files.insert("experiments/film.csv".into(), b"534\n13x\n".to_vec());
    insta::assert_snapshot!(refused_in(&files));
}

#[test]
fn trace_without_times() {
    let mut files = memory(&with("\"bursty\"", "\"recorded\", trace = \"film.csv\""));
    files.insert("experiments/film.csv".into(), b"534\n13\n".to_vec());
    insta::assert_snapshot!(refused_in(&files));
}

#[test]
fn files_that_are_no_text() {
    let mut all = String::new();
    let latin = RIGHT.replace("A test", "\u{1}\u{2}");
    let latin = latin
        .into_bytes()
        .into_iter()
        .map(|b| if b == 2 { 0xe4 } else { b })
        .map(|b| if b == 1 { b'M' } else { b });
    let large = vec![b'#'; 17 << 20];
    for bytes in [latin.collect(), b"\xff\xfet\0i\0".to_vec(), b"\xfe\xff\0t".to_vec(), large, vec![0, 1, 2]]
    {
        all += &refused_in(&Memory::from([("experiments/test.toml".into(), bytes)]));
        all += "\n\n";
    }
    all += &refused_in(&Memory::new());
    insta::assert_snapshot!(all);
}

#[test]
fn a_directory_is_no_scenario() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let error = Scenario::load(here, &Unread).unwrap_err().to_string();
    assert!(error.contains("this is a directory, not a file"), "{error}");
    let error = Scenario::load(&here.join("no-such.toml"), &Unread).unwrap_err().to_string();
    assert!(error.contains("there is no such file"), "{error}");
}

#[cfg(unix)]
#[test]
fn an_endless_file_is_refused() {
    let error = Scenario::load(Path::new("/dev/zero"), &Unread).unwrap_err().to_string();
    assert!(error.contains("not a regular file"), "{error}");
}

/// The scenario in memory, and all that it names on the disk.
#[cfg(unix)]
struct Beside(Memory);

#[cfg(unix)]
impl crate::files::Files for Beside {
    fn open(&self, path: &Path) -> std::io::Result<crate::files::Opened<'_>> {
        match self.0.contains_key(path) {
            true => self.0.open(path),
            false => crate::files::Disk.open(path),
        }
    }
}

/// A pipe without a writer would be waited for, and a device read without an end; files that this
/// process was handed are read.
#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_refused_where_it_is_named() {
    let pipe = std::env::temp_dir().join(format!("laxity-pipe-{}", std::process::id()));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo is there").success());
    let error_of = |what: &str| {
        let text = with("\"bursty\"", &format!("\"recorded\", trace = \"{what}\""));
        let files = Beside(memory(&text));
        let read = Scenario::read(Path::new("experiments/test.toml"), &files, &Unread);
        read.map(|_| ()).unwrap_err().to_string()
    };
    for what in [pipe.to_str().expect("its name is text"), "/dev/zero", "/dev/null"] {
        let error = error_of(what);
        assert!(error.contains("not a regular file") && error.contains("experiments/test.toml:"), "{error}");
        let error = Scenario::load(Path::new(what), &Unread).unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{error}");
    }
    assert!(error_of("/").contains("this is a directory"));
    std::fs::remove_file(&pipe).expect("it was made");
    // Naming a file that this process was handed is intended; it may be a pipe.
    assert!(crate::files::is_handed_over(Path::new("/dev/fd/63")));
    assert!(crate::files::is_handed_over(Path::new("/dev/stdin")) && !crate::files::is_handed_over(&pipe));
}

/// A name of something that is in error itself may be right.
#[test]
fn what_names_something_in_error_is_no_further_error() {
    let run = "[run]\ntime = \"1 s\"\n";
    let channel = |keys: &str| {
        format!(
            "[[channel]]\nname = \"one\"\nmax_message = \"64 B\"\nburst = 1\n{keys}\
             source = {{ kind = \"periodic\", interval = \"30 ms\" }}\n"
        )
    };
    let real_time = "class = \"real_time\"\nmin_interval = \"10 ms\"\ndeadline = \"5 ms\"\n";
    let host = "title = \"x\"\n[host]\nprofile = \"mc68040\"\n";
    let interface = "[[interface]]\nname = \"i\"\npolicy = \"interrupt\"\n";
    let adapter = "[adapter]\nkind = \"null\"\nper_byte = \"50 ns\"\n";
    let at = format!("{real_time}interface = \"i\"\n");
    let network = |keys: &str| format!("{host}{adapter}[network]\nstations = 3\n{keys}{run}");
    let between = format!("class = \"best_effort\"\n{}", "from = 2\nto = 1\n");
    let late = real_time.replace("5 ms", "50 ms");
    let signalled = |keys: &str| {
        format!(
            "title = \"x\"\n[node.a]\n[node.b]\n[network]\nrate = \"1 Gbit/s\"\n[network.w]\njoins = [\"a\", \"b\"]\n[signalling]\n{keys}{run}"
        )
    };
    let owned = format!("{real_time}from = \"a\"\nto = \"b\"\nowner = \"me\"\nopen = \"1 ms\"\n");
    let files = [
        format!("{host}{run}{interface}typo = 1\n{}", channel(&at)),
        format!(
            "{host}{run}{interface}[[program]]\nname = \"p\"\ntypo = 1\n{}",
            channel(&format!("{at}program = \"p\"\n"))
        ),
        format!("{}{}", network("typo = 1\n"), channel(&between)),
        format!("{}{}", network("typo = 1\n"), channel(&late)),
        format!("{}{}", signalled("typo = 1\n[signalling.owner.me]\nchannels = 1\n"), channel(&owned)),
    ];
    for file in files {
        let said = refused(&file);
        assert_eq!(said.matches("error").count(), 1, "{said}\n{file}");
        assert!(said.contains("typo"), "{said}\n{file}");
    }
    // A name that is wrong beside something that is right is an error.
    let said = refused(&format!("{host}{run}{interface}{}", channel(&at.replace("\"i\"", "\"j\""))));
    assert!(said.contains("there is no interface `j`"), "{said}");
    let said = refused(&format!(
        "{}{}",
        network("kind = \"point_to_point\"\n"),
        channel(&between.replace("2", "7"))
    ));
    assert!(said.contains("there is no node 7"), "{said}");
}
