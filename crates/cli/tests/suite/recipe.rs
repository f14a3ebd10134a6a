//! `laxity recipe`: scenarios as settings of Linux, and `tc` that reads them.

use std::process::{Command, Stdio};

use crate::common::{Here, err, out};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Scenarios with options, by the name of their snapshot: each discipline and each part of a recipe.
const RECIPES: [(&str, &str); 18] = [
    ("gates", "experiments/tsn/tas.toml"),
    ("launch", "experiments/tsn/launch.toml --host launched"),
    ("shapers", "experiments/tsn/cbs-host.toml --host shaped"),
    ("cycles", "experiments/tsn/cqf.toml --host s-2"),
    ("preemption", "experiments/tsn/preemption.toml --host s-1"),
    ("shaper", "experiments/tsn/avb.toml --host s-1"),
    ("two_shapers", "experiments/tsn/avb-two-classes.toml --host s-2"),
    ("fifo", "experiments/afdx/five-links.toml"),
    ("cores", "experiments/networks/cores.toml --host controller --point 3"),
    ("deadlines", "experiments/networks/office.toml --host core"),
    ("levels", "experiments/networks/office.toml --host floor --point 2"),
    ("groups", "experiments/disciplines/groups.toml --host switch --point 30"),
    ("rates", "experiments/networks/rates.toml --host ada --set host.subsystem.link.order=wfq"),
    ("turns", "experiments/networks/rates.toml --host s-2 --point 6"),
    ("frames", "experiments/networks/rates.toml --host s-2 --point 7"),
    ("adapter", "experiments/networks/office-25g.toml --host server --point 2"),
    ("two_interfaces", "experiments/receive-livelock/l10-two-interfaces.toml"),
    ("camera", "examples/network/hall.toml --host camera-1"),
];

/// The recipe of a scenario of the repository.
fn recipe(here: &Here, arguments: &str) -> String {
    let output = here.laxity(&format!("recipe {ROOT}/{arguments}"));
    assert_eq!(output.status.code(), Some(0), "{arguments}: {}", err(&output));
    out(&output)
}

#[test]
fn recipes_are_as_they_were() {
    let here = Here::new("recipe");
    for (name, arguments) in RECIPES {
        insta::assert_snapshot!(name, recipe(&here, arguments));
    }
}

/// The example of tc-cbs(8): 20 Mbit/s of a link of 1 Gbit/s, frames of 1500 B.
#[test]
fn credits_are_those_of_the_manual() {
    let here = Here::new("recipe-credits");
    let channel = |name: &str, class: &str| {
        format!(
            "[[channel]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\nmax_message = \"1500 B\"\nburst = 1\n{class}\n"
        )
    };
    let text = [
        "title = \"Credits\"\n[host]\nprofile = \"mc68040\"\nsubsystem = { packet = \"1500 B\" }\n[adapter]\nkind = \"null\"\n\
         rate = \"1 Gbit/s\"\n[network.n]\njoins = [\"s\", \"a\", \"b\"]\nrate = \"1 Gbit/s\"\n[node.a]\n[node.b]\n[node.s]\n\
         kind = \"switch\"\norder = \"strict_priority\"\nshapers = [{ level = 0, idle_slope = \"20 Mbit/s\" }]\n[run]\ntime = \"1 s\"\n"
            .to_string(),
        channel(
            "rt",
            "class = \"real_time\"\nlevel = 0\nmin_interval = \"2 ms\"\ndeadline = \"1 s\"\nsource = { kind = \"periodic\" }",
        ),
        channel("be", "class = \"best_effort\"\nsource = { kind = \"continuous\" }"),
        "[admission]\nformula = \"off\"\n".into(),
    ];
    here.write("credits.toml", &text.concat());
    let output = here.laxity("recipe credits.toml --host s");
    let text = out(&output);
    let wanted = "cbs idleslope 20000 sendslope -980000 hicredit 30 locredit -1470 offload 0";
    assert!(text.contains(wanted), "{text}{}", err(&output));
}

#[test]
fn what_has_no_recipe_says_why() {
    let here = Here::new("recipe-none");
    for (arguments, reason) in [
        ("experiments/qos-via/v-adm.toml", "virtual interfaces (`[via]`)"),
        ("experiments/tsn/tas.toml --host z", "valid is one of a, b, flood, r, s"),
        ("experiments/tsn/tas.toml --point 9", "there is no point 9; valid is 0 to 0"),
        ("profiles/mc68040.toml", "it is a profile of the costs of a host"),
    ] {
        let output = here.laxity(&format!("recipe {ROOT}/{arguments}"));
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(err(&output).contains(reason), "{}", err(&output));
    }
    for code in [0, 0] {
        let output = here.laxity(&format!("recipe {ROOT}/experiments/tsn/tas.toml -o tas.sh"));
        assert_eq!(output.status.code(), Some(code), "a recipe replaces one: {}", err(&output));
    }
    here.write("mine.sh", "echo mine\n");
    let output = here.laxity(&format!("recipe {ROOT}/experiments/tsn/tas.toml -o mine.sh"));
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(here.read("mine.sh"), "echo mine\n");
}

/// A network namespace of the test's own, gone afterwards.
#[cfg(target_os = "linux")]
struct Namespace(String);

#[cfg(target_os = "linux")]
impl Namespace {
    /// `None` if this machine lets the test have none; then the reason is printed.
    fn new() -> Option<Self> {
        let name = format!("lxrecipe-{}", std::process::id());
        let made = Command::new("ip").args(["netns", "add", &name]).output();
        let tc = Command::new("tc").arg("-Version").output();
        match (made, tc) {
            (Ok(made), Ok(_)) if made.status.success() => Some(Self(name)),
            (Ok(made), Ok(_)) => {
                eprintln!("skipped: no network namespace: {}", err(&made));
                None
            }
            _ => {
                eprintln!("skipped: `ip` and `tc` of iproute2 are not installed");
                None
            }
        }
    }

    /// The answer of `tc` to a command in a batch; empty if the kernel did it.
    fn batch(&self, command: &str) -> String {
        use std::io::Write;
        let mut tc = Command::new("tc")
            .args(["-n", &self.0, "-batch", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        tc.stdin.take().unwrap().write_all(format!("{command}\n").as_bytes()).unwrap();
        let output = tc.wait_with_output().unwrap();
        if output.status.success() { String::new() } else { err(&output) }
    }
}

#[cfg(target_os = "linux")]
impl Drop for Namespace {
    fn drop(&mut self) {
        drop(Command::new("ip").args(["netns", "del", &self.0]).status());
    }
}

/// Whether `tc` parses `command`: the kernel did it, or has no module for the queue or for that to which
/// it belongs.
#[cfg(target_os = "linux")]
fn parses(space: &Namespace, command: &str, unknown: &mut Vec<String>) -> Result<(), String> {
    let said = space.batch(command);
    let no_module = |said: &str| said.contains("Specified qdisc kind is unknown");
    let words: Vec<&str> = command.split(' ').collect();
    let after = |word: &str| words.iter().position(|w| *w == word).and_then(|at| words.get(at + 1)).copied();
    if no_module(&said) {
        unknown.extend(after("handle").map(|handle| handle.to_string()));
    }
    if said.is_empty() || no_module(&said) {
        return Ok(());
    }
    // The parent is not there: a queue alone has the same syntax at the root.
    let parent =
        after("parent").and_then(|parent| parent.split_once(':')).map(|(major, _)| format!("{major}:"));
    if !parent.as_ref().is_some_and(|parent| unknown.contains(parent)) {
        return Err(said);
    }
    match words.first() {
        Some(&"qdisc") => {
            let alone = command.replace(&format!("parent {}", after("parent").unwrap()), "root");
            drop(space.batch("qdisc del dev lo root"));
            let said = space.batch(&alone);
            if said.is_empty() || no_module(&said) { Ok(()) } else { Err(said) }
        }
        // Of classes and filters the kernel answers only that there is no such queue.
        _ if ["No such file or directory", "Parent Qdisc doesn't exist"]
            .iter()
            .any(|none| said.contains(none)) =>
        {
            Ok(())
        }
        _ => Err(said),
    }
}

/// The kernel may lack the modules of most queues; `tc` parses the commands all the same.
#[cfg(target_os = "linux")]
#[test]
fn tc_reads_every_command() {
    let Some(space) = Namespace::new() else { return };
    let here = Here::new("recipe-tc");
    // Since iproute2 6.3.
    let version = Command::new("tc").arg("-V").output().map(|output| out(&output)).unwrap_or_default();
    let number = |part: Option<&str>| part.and_then(|part| part.parse::<u32>().ok());
    let version = version.split_once("iproute2-").map_or("", |(_, after)| after);
    let mut parts = version.split(|c: char| !c.is_ascii_digit());
    let preempts = (number(parts.next()), number(parts.next())) >= (Some(6), Some(3));
    let mut wrong = Vec::new();
    let (mut kinds, mut commands) = (std::collections::BTreeSet::new(), 0);
    for (name, arguments) in RECIPES {
        let mut unknown = Vec::new();
        for line in recipe(&here, arguments)
            .lines()
            .filter(|line| !line.contains("||"))
            .filter_map(|line| line.trim().strip_prefix("tc "))
        {
            let line = line.split("  #").next().unwrap().replace("\"$dev\"", "lo");
            // `fp` is the last of its command.
            let line = match line.split_once(" fp ") {
                Some((before, _)) if !preempts => before.to_owned(),
                _ => line,
            };
            if line.contains(" root ") {
                drop(space.batch("qdisc del dev lo root"));
                unknown.clear();
            }
            commands += 1;
            for kind in ["mqprio", "taprio", "etf", "cbs", "prio", "fq", "pfifo", "bfifo", "htb", "drr"] {
                kinds.extend(line.contains(&format!(" {kind} ")).then_some(kind));
            }
            if line.ends_with(" drr") {
                kinds.insert("drr");
            }
            if let Err(said) = parses(&space, &line, &mut unknown) {
                wrong.push(format!("{name}: {line}\n{said}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(commands > 50 && kinds.len() == 10, "{commands} commands of {kinds:?}");
    // The judge is no rubber stamp.
    for bad in [
        "qdisc replace dev lo root handle 1: cbs idleslope 1 slope 2",
        "qdisc replace dev lo root handle 1: taprio num_tc 2 map 0 1 sched-entry X 01 5",
        "qdisc replace dev lo root handle 1: htb default zz",
        "qdisc replace dev lo root handle 1: prio bands 3 priomap 0 9 9",
    ] {
        assert!(parses(&space, bad, &mut Vec::new()).is_err(), "{bad}");
    }
}

/// The script is one of POSIX's shell.
#[cfg(unix)]
#[test]
fn a_shell_reads_every_recipe() {
    let here = Here::new("recipe-sh");
    for (name, arguments) in RECIPES {
        here.write(name, &recipe(&here, arguments));
        let output = Command::new("sh").args(["-n", name]).current_dir(&here.0).output().unwrap();
        assert!(output.status.success(), "{name}: {}", err(&output));
    }
    let said =
        Command::new("sh").args(["gates", "z"]).current_dir(&here.0).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(said.status.code(), Some(2), "{}", err(&said));
}
