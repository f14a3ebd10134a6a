//! The scenarios of the page, table by table.

use laxity_scenario::built_in_adapters;

use super::{Section, words};

/// A null device of 100 Mbit/s.
const NULL: &str = "[adapter]\nkind = \"null\"\nstartup = \"1 us\"\nper_byte = \"80 ns\"\n";
/// A link of its own for each station, which takes no key.
const ALONE: &str = "";
/// A ring of which a station has a tenth.
const RING: &str =
    "[network]\nkind = \"token_ring\"\nrotation = \"10 ms\"\nholding = \"1 ms\"\nhandling = \"48 us\"\n";

/// All tables, in the order of the page.
pub(super) fn all() -> Vec<Section> {
    let edf = "The CPU goes by `multiclass_edf`; a row is the order of the link.";
    let levels = "The CPU goes by `fixed_priority`; a row is the order of the link.";
    vec![
        links("A host before a null adapter, CPU by deadlines", edf, "multiclass_edf"),
        links("A host before a null adapter, CPU by levels", levels, "fixed_priority"),
        cpus(),
        by_hand(),
        tests(),
        launches(),
        shapers(),
        adapters(),
        media(),
        stages(),
        machines(),
        ports(),
        classes(),
        receivers(),
        clusters(),
    ]
}

/// One real-time channel and one of best effort; `more` is added to both, such as their route.
fn channels(more: &str) -> String {
    format!(
        "[run]\ntime = \"1 s\"\n[[channel]]\nname = \"control\"\nclass = \"real_time\"\nmax_message = \"1500 B\"\nburst = 1\n\
         min_interval = \"900 ms\"\ndeadline = \"800 ms\"\nsource = {{ kind = \"periodic\" }}\n{more}\n\
         [[channel]]\nname = \"bulk\"\nclass = \"best_effort\"\nmax_message = \"1500 B\"\nburst = 1\n\
         source = {{ kind = \"periodic\", rate = \"100 KiB/s\" }}\n{more}\n"
    )
}

/// A sending host of its own, with the link scheduler `link` and the further keys `more`.
fn host(cpu: &str, link: &str, more: &str) -> String {
    // The bound for an adapter that takes each packet at once may need a slower host; that for a
    // window has no such condition.
    let speedup = if link.contains("\"adapter\"") { 1.0 } else { 10_000.0 };
    format!(
        "title = \"A combination\"\n[host]\nprofile = \"mc68040\"\nspeedup = {speedup:?}\n\
         subsystem = {{ cpu = \"{cpu}\", preemption = 2, packet = \"1500 B\", link = {{ {link} }} }}\n{more}{}",
        channels("")
    )
}

/// The additional key of an order that serves by frames of time.
fn frame(order: &str) -> &'static str {
    match order {
        "stop_and_go" | "hrr" => ", frame = \"5 ms\"",
        _ => "",
    }
}

fn code(words: &[String]) -> Vec<String> {
    words.iter().map(|word| format!("`{word}`")).collect()
}

/// The link's order, by the processor that runs the link scheduler.
fn links(title: &'static str, about: &'static str, cpu: &'static str) -> Section {
    let paradigms = words("host.subsystem.link.paradigm");
    let row = |order: String| {
        let cell = |paradigm: &String| {
            let link = format!("paradigm = \"{paradigm}\", order = \"{order}\"{}", frame(&order));
            (host(cpu, &link, NULL), 0)
        };
        (format!("`{order}`"), paradigms.iter().map(cell).collect())
    };
    let rows = words("host.subsystem.link.order").into_iter().map(row).collect();
    Section { title, about, head: ("order of the link", code(&paradigms)), rows }
}

/// The CPU's order, the link's being the same.
fn cpus() -> Section {
    let row = |order: String| {
        let cell = |paradigm: &str| {
            let link = format!("paradigm = \"{paradigm}\", order = \"{order}\"{}", frame(&order));
            (host(&order, &link, NULL), 0)
        };
        (format!("`{order}`"), vec![cell("O1"), cell("O2")])
    };
    Section {
        title: "CPU and link by the same order",
        about: "A host before a null adapter.",
        head: ("order of both", vec!["`O1`".into(), "`O2`".into()]),
        rows: words("host.subsystem.cpu").into_iter().map(row).collect(),
    }
}

/// A real-time channel that names its level, by the order of the link and the adapter.
fn by_hand() -> Section {
    let paradigms = words("host.subsystem.link.paradigm");
    let row = |(order, name): (&str, &str)| {
        let adapter = if name == "null" { NULL.into() } else { format!("[adapter]\nfile = \"{name}\"\n") };
        let cell = |paradigm: &String| {
            let link = format!("paradigm = \"{paradigm}\", order = \"{order}\"");
            let text = host("fixed_priority", &link, &adapter);
            (text.replacen("deadline =", "level = 3\ndeadline =", 1), 0)
        };
        (format!("`{order}`, `{name}`"), paradigms.iter().map(cell).collect())
    };
    let pairs = [("fixed_priority", "null"), ("multiclass_edf", "null"), ("fixed_priority", "nic-25g-tc")];
    Section {
        title: "Levels by hand",
        about: "The CPU goes by `fixed_priority`, and the channel has a `level`.",
        head: ("order of the link, adapter", code(&paradigms)),
        rows: pairs.map(row).into(),
    }
}

/// The test of admission, by the order of CPU and link.
fn tests() -> Section {
    let tests = words("admission.test");
    let row = |order: &str| {
        let cell = |test: &String| {
            let more = format!("{NULL}[admission]\ntest = \"{test}\"\n");
            (host(order, &format!("order = \"{order}\""), &more), 0)
        };
        (format!("`{order}`"), tests.iter().map(cell).collect())
    };
    Section {
        title: "The test of admission",
        about: "A host before a null adapter under `O1`; a column is `test` of `[admission]`.",
        head: ("order of both", code(&tests)),
        rows: ["multiclass_edf", "fixed_priority"].map(row).into(),
    }
}

/// Launch times, by the orders of CPU and link.
fn launches() -> Section {
    let row = |order: String| {
        let cell = |link: &str| {
            let link = format!("paradigm = \"adapter\", launch = \"200 ms\", order = \"{link}\"");
            (host(&order, &link, NULL), 0)
        };
        (format!("`{order}`"), vec![cell("fifo"), cell("multiclass_edf"), cell("rcsp")])
    };
    Section {
        title: "Launch times",
        about: "A host before a null adapter by the paradigm `adapter`; a row is the order of the CPU.",
        head: (
            "order of the CPU",
            ["fifo", "multiclass_edf", "rcsp"].map(|link| format!("link by `{link}`")).into(),
        ),
        rows: ["multiclass_edf", "fixed_priority", "fifo"].map(|order| row(order.into())).into(),
    }
}

/// Credit-based shapers of a host, by the orders of CPU and link.
fn shapers() -> Section {
    let row = |order: &str| {
        let cell = |(startup, link): (&str, &str)| {
            let shapers = "[{ level = 0, idle_slope = \"25 Mbit/s\" }]";
            let link = format!("paradigm = \"adapter\", shapers = {shapers}, order = \"{link}\"");
            (host(order, &link, &NULL.replace("1 us", startup)), 0)
        };
        let cells = [("0 us", "fifo"), ("0 us", "multiclass_edf"), ("0 us", "rcsp"), ("1 us", "fifo")];
        (format!("`{order}`"), cells.map(cell).into())
    };
    let links = ["link by `fifo`", "link by `multiclass_edf`", "link by `rcsp`", "`startup` of the adapter"];
    Section {
        title: "Shapers of a host",
        about: "A host before a null adapter by the paradigm `adapter`; a row is the order of the CPU.",
        head: ("order of the CPU", links.map(String::from).into()),
        rows: ["multiclass_edf", "fixed_priority", "fifo"].map(row).into(),
    }
}

/// How the host passes packets to an adapter of stages: the heading of a column, and the keys of
/// the link.
const WINDOWS: [(&str, &str); 5] = [
    ("`O1`, one packet", "paradigm = \"O1\", depth = 1"),
    ("`O1`, eight packets", "paradigm = \"O1\", depth = 8"),
    ("`O2`, eight packets", "paradigm = \"O2\", depth = 8"),
    ("`O3`, eight packets", "paradigm = \"O3\", depth = 8"),
    ("`adapter`", "paradigm = \"adapter\""),
];

/// The columns of [`WINDOWS`] for a host before `adapter` on `medium`.
fn windows(adapter: &str, medium: &str) -> Vec<(String, usize)> {
    WINDOWS.map(|(_, link)| (host("multiclass_edf", link, &format!("{adapter}{medium}")), 0)).into()
}

fn window_headings() -> Vec<String> {
    WINDOWS.map(|(heading, _)| heading.to_string()).into()
}

/// The medium that suits an adapter: the ring for those that ask for a token.
fn medium(adapter: &str) -> &'static str {
    if adapter.starts_with("ring") { RING } else { ALONE }
}

/// The adapters included in Laxity, by how the host passes packets to them.
fn adapters() -> Section {
    let row = |name: &str| {
        let adapter = format!("[adapter]\nfile = \"{name}\"\n");
        (format!("`{name}`"), windows(&adapter, medium(name)))
    };
    Section {
        title: "The adapters in `adapters/`",
        about: "The host goes by `multiclass_edf`. Adapters whose names begin with `ring` are at a token ring, others have a\nlink of their own.",
        head: ("adapter", window_headings()),
        rows: built_in_adapters().into_iter().map(row).collect(),
    }
}

/// The adapters included in Laxity, by medium, with one packet in the adapter.
fn media() -> Section {
    let media = words("network.kind");
    let row = |name: &str| {
        let cell = |kind: &String| {
            let medium = match kind.as_str() {
                "token_ring" => RING.to_string(),
                "csma_cd" => "[network]\nkind = \"csma_cd\"\nrate = \"10 Mbit/s\"\n".to_string(),
                _ => format!("[network]\nkind = \"{kind}\"\n"),
            };
            let more = format!("[adapter]\nfile = \"{name}\"\n{medium}");
            (host("multiclass_edf", "paradigm = \"O1\", depth = 1", &more), 0)
        };
        (format!("`{name}`"), media.iter().map(cell).collect())
    };
    Section {
        title: "Adapter and medium",
        about: "The host goes by `multiclass_edf` under `O1`, with one packet in the adapter.",
        head: ("adapter", code(&media)),
        rows: built_in_adapters().into_iter().map(row).collect(),
    }
}

/// The order of a queue within an adapter of two stages.
fn stages() -> Section {
    let row = |order: String| {
        let frame = frame(&order);
        let adapter = format!(
            "[adapter]\nkind = \"generic\"\ntransmit = [{{ name = \"first\", queue = [{{ order = \"{order}\"{frame} }}], \
             phase = [{{ fixed = \"5 us\" }}] }}, {{ name = \"link\", phase = [{{ fixed = \"1 us\", per_byte = \"8 ns\" }}] }}]\n"
        );
        (format!("`{order}`"), windows(&adapter, ALONE))
    };
    Section {
        title: "The order within an adapter of stages",
        about: "The adapter has two stages, of which the first has one queue for all packets; a row is the order of that queue.",
        head: ("order of the queue", window_headings()),
        rows: words("adapter.transmit.queue.order").into_iter().map(row).collect(),
    }
}

/// Hosts of several cores or adapters, by the processor that runs the link scheduler.
fn machines() -> Section {
    let paradigms = words("host.subsystem.link.paradigm");
    let staged = "kind = \"generic\"\ntransmit = [{ name = \"link\", phase = [{ fixed = \"1 us\", per_byte = \"8 ns\" }] }]";
    let null = NULL.strip_prefix("[adapter]\n").expect("it is the adapter's table");
    let row = |(name, cores, adapter, several): (&str, u32, &str, bool)| {
        let cell = |paradigm: &String| {
            let (adapters, at) = match several {
                true => ("adapter = { left = {}, right = {} }", ("host.left", "host.right")),
                false => ("", ("host", "host")),
            };
            let file = format!(
                "title = \"A combination\"\n[host]\nprofile = \"mc68040\"\nspeedup = 1000.0\ncores = {cores}\n\
                 subsystem = {{ packet = \"1500 B\", link = {{ paradigm = \"{paradigm}\" }} }}\n[adapter]\n{adapter}\n\
                 [node.host]\n{adapters}\n[node.one]\n[node.two]\n\
                 [network.one]\njoins = [\"{}\", \"one\"]\n[network.two]\njoins = [\"{}\", \"two\"]\n{}",
                at.0,
                at.1,
                channels("from = \"host\"\nto = \"one\"")
            );
            (file, 0)
        };
        (name.to_string(), paradigms.iter().map(cell).collect())
    };
    let rows = [
        ("one core, one null adapter", 1, null, false),
        ("one core, two null adapters", 1, null, true),
        ("one core, two adapters of a stage", 1, staged, true),
        ("two cores, one null adapter", 2, null, false),
        ("two cores, two null adapters", 2, null, true),
        ("two cores, one adapter of a stage", 2, staged, false),
        ("two cores, two adapters of a stage", 2, staged, true),
    ];
    Section {
        title: "Several cores and several adapters",
        about: "CPU and links go by `multiclass_edf`; packets come in and go out by interrupts.",
        head: ("host", code(&paradigms)),
        rows: rows.map(row).into(),
    }
}

/// Hosts at both sides of a switch with these keys.
fn switch(keys: &str, channels: &str) -> String {
    format!(
        "title = \"A combination\"\n[host]\nprofile = \"mc68040\"\nspeedup = 1000.0\nsubsystem = {{ packet = \"1500 B\" }}\n{NULL}\
         [node.left]\n[node.right]\n[node.switch]\nkind = \"switch\"\n{keys}\n\
         [network.star]\njoins = [\"switch\", \"left\", \"right\"]\nrate = \"100 Mbit/s\"\nframing = \"ethernet\"\n{channels}"
    )
}

/// The order of a switch's ports.
fn ports() -> Section {
    let row = |order: String| {
        let frame = frame(&order).trim_start_matches(", ");
        let channels = channels("from = \"left\"\nto = \"right\"");
        // A rate by frames of time is worth several of them for a packet, which is longer than the
        // interval.
        let channels = if frame.is_empty() { channels } else { channels.replace("\"800 ms\"", "\"10 s\"") };
        let file = switch(&format!("order = \"{order}\"\n{frame}"), &channels);
        (format!("`{order}`"), vec![(file, 1)])
    };
    Section {
        title: "The ports of a switch",
        about: "Hosts with null adapters by `multiclass_edf` at both sides; a row is the order of the ports.",
        head: ("order of the port", vec!["proof".into()]),
        rows: words("node.NAME.order").into_iter().map(row).collect(),
    }
}

/// The classes of a switch by strict priority.
fn classes() -> Section {
    let shapers = ("`shapers`", "shapers = [{ level = 0, idle_slope = \"25 Mbit/s\" }]");
    let gates =
        ("`gates`", "gates = [{ for = \"400 us\", levels = [0] }, { for = \"400 us\", best_effort = true }]");
    let preemption = ("`preemptable_from`", "preemptable_from = 1");
    let kinds = [
        shapers,
        gates,
        ("`cyclic`", "cyclic = [{ level = 0, cycle = \"1 ms\" }]"),
        ("`ats`", "ats = [{ level = 0 }]"),
        preemption,
        ("`policing`", "policing = \"1 ms\""),
    ];
    let row = |(name, keys): (String, String)| {
        let channels = channels("from = \"left\"\nto = \"right\"");
        (name, vec![(switch(&format!("order = \"strict_priority\"\n{keys}"), &channels), 1)])
    };
    let pair = |one: (&str, &str), other: (&str, &str)| {
        (format!("{} and {}", one.0, other.0), format!("{}\n{}", one.1, other.1))
    };
    let alone = kinds.map(|(name, keys)| (name.to_string(), keys.to_string()));
    Section {
        title: "The classes of a switch",
        about: "The ports go by `strict_priority`; a row has the keys of the switch.",
        head: ("keys", vec!["proof".into()]),
        rows: alone.into_iter().chain([pair(shapers, gates), pair(gates, preemption)]).map(row).collect(),
    }
}

/// The keys that each policy of an interface needs beside its word.
fn policy_keys(policy: &str) -> &'static str {
    match policy {
        "interrupt" | "interrupt_kernel" | "adaptive" | "lazy" | "lazy_software" => "",
        "continuous" | "napi" => "quota = 8",
        "timed" | "hard_timer" | "explicit" | "limited" | "guaranteed" => "interval = \"2 ms\"\nquota = 8",
        "soft_timer" => "intervals = \"st-apache\"\nbound = \"2 ms\"\nquota = 8",
        "backoff" => "minimum = \"1 ms\"\nmaximum = \"50 ms\"\nfactor = 2.0\nrestore = 0.5\nquota = 8",
        "coalescing" => "frames = 8\ndelay = \"100 us\"",
        "cycle_limited" => "interval = \"10 ms\"\nshare = 0.5\nquota = 8",
        other => panic!("the keys of the policy {other} are not written down here"),
    }
}

/// The receive policies of hosts, without a network and at the end of a path.
fn receivers() -> Section {
    let row = |policy: String| {
        let cell = |sharing: &str| {
            let more = "interface = \"nic\"";
            let file = format!(
                "title = \"A combination\"\n[host]\nprofile = \"polling-server\"\ncosts = {{ context_switch = \"2 us\" }}\n\
                 receive = {{ poll = \"1 us\", program = \"3 us\" }}\n[[interface]]\nname = \"nic\"\npolicy = \"{policy}\"\n{}\n\
                 slots = 64\nbuffers = 64\nbuffers_real_time = 32\n{sharing}[[program]]\nname = \"control\"\norder = \"class\"\n\
                 budget = \"500 us\"\nperiod = \"1 ms\"\n{}",
                policy_keys(&policy),
                channels(&format!("{more}\nprogram = \"control\""))
            );
            (file, 0)
        };
        let behind = |sharing: &str| {
            let file = format!(
                "title = \"A combination\"\n[host]\nprofile = \"polling-server\"\ncosts = {{ context_switch = \"2 us\" }}\n\
                 receive = {{ poll = \"1 us\", program = \"3 us\" }}\nsubsystem = {{ packet = \"1500 B\" }}\n\
                 [node.left]\n[node.right]\n[node.switch]\nkind = \"switch\"\n[network.star]\n\
                 joins = [\"switch\", \"left\", \"right\"]\nrate = \"100 Mbit/s\"\n[[interface]]\nname = \"nic\"\n\
                 node = \"right\"\npolicy = \"{policy}\"\n{}\nslots = 64\nbuffers = 64\nbuffers_real_time = 32\n{sharing}\
                 [[program]]\nname = \"control\"\norder = \"class\"\nbudget = \"500 us\"\nperiod = \"1 ms\"\n{}",
                policy_keys(&policy),
                channels("from = \"left\"\nto = \"right\"")
            );
            (file, 2)
        };
        let weighted = "[interface.sharing]\nkind = \"weighted\"\nreal_time = 4\nbest_effort = 4\n";
        (format!("`{policy}`"), vec![cell(""), cell(weighted), behind(weighted)])
    };
    Section {
        title: "A host that receives at interfaces",
        about: "A row is the `policy` of the interface.",
        head: (
            "policy",
            vec![
                "one queue for all classes".into(),
                "classes told apart".into(),
                "and behind a switch".into(),
            ],
        ),
        rows: words("interface.policy").into_iter().map(row).collect(),
    }
}

/// Clusters of virtual interfaces.
fn clusters() -> Section {
    let variants = [
        ("best effort with an end", "depth = 1"),
        ("best effort without an end", ""),
        ("credits", "depth = 1\ncredits = 4"),
        ("send buffers", "depth = 1\nsend_buffers = 8"),
        ("doorbells apart", "doorbells = \"apart\""),
        ("a rate for best effort", "depth = 1\nbest_effort = \"1 MB/s\""),
    ];
    let row = |firmware: String| {
        let cell = |(_, keys): (&str, &str)| {
            let file = format!(
                "title = \"A combination\"\n[via]\nfirmware = \"{firmware}\"\nnodes = 2\nspeedup = 4.0\n{keys}\n{}",
                channels("from = 0\nto = 1")
            );
            (file, 0)
        };
        (format!("`{firmware}`"), variants.map(cell).into())
    };
    Section {
        title: "Virtual interfaces",
        about: "A row is the firmware of the adapters.",
        head: ("firmware", variants.map(|(name, _)| name.to_string()).into()),
        rows: words("via.firmware").into_iter().map(row).collect(),
    }
}
