//! Every number of the table of metrics is measured by some run, and stands in every output under
//! its one name.

use std::collections::BTreeMap;
use std::fs;

use laxity_admission::Formula;
use laxity_lab::attack::{AttackRecord, Attacked, AttackedPoint, Goal};
use laxity_lab::property::drawn;
use laxity_report::claims::Judge;
use laxity_report::glossary;
use laxity_report::present::{Stamp, figure, json, parquet, report};
use laxity_scenario::Claim;
use laxity_scenario::draw;
use laxity_scenario::figure::FigureSpec;
use laxity_world::experiment::Experiment;
use laxity_world::metric::{Kind, distributions, metrics, numbers};
use laxity_world::promise;
use laxity_world::results::{Channel, Provenance, Results, Run};
use laxity_world::{causes, run};

/// Two hosts, and a way that loses frames; one channel keeps its contract, others send more than
/// they may or can.
const SCENARIO: &str = r#"
title = "Everything that can be measured"

[host]
profile = "mc68040"

[adapter]
kind = "null"
startup = "40 us"
per_byte = "50 ns"

[path]
receive = true

[network]
kind = "point_to_point"
IMPAIRED

[admission]
formula = "FORMULA"

[run]
time = "4 s"
warmup = "1 s"
cooldown = "1 s"

[[channel]]
name = "camera"
class = "real_time"
max_message = "16 KiB"
burst = 2
min_interval = "40 ms"
deadline = "30 ms"
source = { kind = "periodic" }

[[channel]]
name = "flood"
class = "SECOND"
max_message = "60 KiB"
burst = 4
packet_slots = 16
packet_overflow = "drop"
source = { kind = "poisson", rate = "4 MiB/s" }
"#;

/// A virtual interface of a rate, beside one that has none.
const VIRTUAL: &str = r#"
title = "What only virtual interfaces have"
[via]
firmware = "pvia"
depth = 1
[run]
time = "20 ms"
[[channel]]
name = "camera"
class = "real_time"
max_message = "4 KiB"
burst = 1
rate = "4 MB/s"
source = { kind = "periodic" }
[[channel]]
name = "flood"
class = "best_effort"
max_message = "4 KiB"
burst = 1
source = { kind = "closed", outstanding = 3 }
"#;

/// A host of which the channels accept late messages.
const CHANCES: &str = r#"
title = "What only channels that accept late messages have"
[host]
profile = "mc68040"
applications = "separate"
[adapter]
kind = "null"
startup = "40 us"
per_byte = "50 ns"
[admission]
test = "demand"
[run]
misses = "expected"
time = "2 s"
[[channel]]
name = "film"
class = "real_time"
count = 40
max_message = "40 KiB"
burst = 1
min_interval = "200 ms"
deadline = "200 ms"
late = 0.5
mean_message = "20 KiB"
source = { kind = "periodic", size = { uniform = ["1 B", "40 KiB"] } }
"#;

/// A channel that is changed, refused another change and lost with a node, beside calls of which
/// some are refused.
const SIGNALLING: &str = r#"
title = "What only nodes with signalling have"
signalling = { lease = "600 ms" }
node = { a = {}, b = {}, c = {} }
[network.ab]
joins = ["a", "b"]
rate = "10 Mbit/s"
[network.bc]
joins = ["b", "c"]
rate = "10 Mbit/s"
[run]
time = "10 s"
[[fault]]
kind = "crash"
node = "c"
at = "9 s"
[[channel]]
name = "film"
class = "real_time"
from = "a"
to = "c"
max_message = "4 kB"
burst = 1
min_interval = "40 ms"
deadline = "60 ms"
change = [{ at = "1 s", deadline = "50 ms" }, { at = "2 s", deadline = "1 ms" }]
source = { kind = "periodic" }
[[channel]]
name = "calls"
class = "real_time"
from = "a"
to = "b"
max_message = "4 kB"
burst = 1
min_interval = "20 ms"
deadline = "60 ms"
calls = { every = "50 ms", hold = "500 ms" }
source = { kind = "periodic" }
"#;

/// A loop with a bound, and one that stops: its program has room for one message of three.
const LOOPS: &str = r#"
title = "metrics of loops"
[host]
profile = "mc68040"
[adapter]
kind = "null"
rate = "100 Mbit/s"
[node.a]
[node.b]
[network.n]
joins = ["a", "b"]
[run]
time = "1 s"
[[channel]]
name = "there"
class = "real_time"
from = "a"
to = "b"
max_message = "1 KiB"
burst = 1
min_interval = "50 ms"
deadline = "50 ms"
source = { kind = "rounds", after = "back" }
[[channel]]
name = "back"
class = "real_time"
from = "b"
to = "a"
max_message = "1 KiB"
burst = 1
min_interval = "50 ms"
deadline = "50 ms"
source = { kind = "rounds", after = "there" }
[[channel]]
name = "ask"
class = "best_effort"
from = "a"
to = "b"
max_message = "1 KiB"
burst = 3
reader = { work = "5 ms", slots = 1 }
source = { kind = "rounds", after = "tell", outstanding = 3 }
[[channel]]
name = "tell"
class = "best_effort"
from = "b"
to = "a"
max_message = "1 KiB"
burst = 1
source = { kind = "rounds", after = "ask" }
"#;

fn scenario(impaired: &str, formula: &str, second: &str) -> String {
    let second = match second {
        "real_time" => "real_time\"\nmin_interval = \"20 ms\"\ndeadline = \"2 ms",
        class => class,
    };
    SCENARIO.replace("IMPAIRED", impaired).replace("FORMULA", formula).replace("SECOND", second)
}

/// Adds the finding of an attack to the first channel of `run` with that `bound`.
fn attack(run: &mut Run, goal: Goal, bound: fn(&Channel) -> Option<f64>) {
    let (name, bound) =
        run.channels.iter().find_map(|of| Some((of.name.clone(), bound(of)?))).expect("a channel has one");
    let bound = laxity_units::Span::from_secs_f64(bound).unwrap().to_string();
    let channels = vec![Attacked { name, goal, bound, worst: "1 ms".into(), file: None }];
    let point = AttackedPoint { points: vec![String::new()], channels };
    AttackRecord { points: vec![point], ..AttackRecord::default() }.tell("", run);
}

/// A run with bounds, one without bounds and with many errors, one of virtual interfaces, two with
/// requests beside the deadline, one of nodes with signalling, and one of loops.
fn results() -> Results {
    let of = |text: String| {
        let scenario =
            laxity_lab::from_text("metrics.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
        run(&scenario.first())
    };
    let asks = "deadline = \"30 ms\"\njitter = \"30 ms\"\nloss = 0.5";
    let lossless = scenario("impairments = { loss = 0.001 }", "corrected", "best_effort");
    let asked = of(lossless.replace("deadline = \"30 ms\"", asks));
    let mut bounded: Run = of(scenario("", "corrected", "best_effort"));
    attack(&mut bounded, Goal::Sent, |channel| channel.bound);
    attack(&mut bounded, Goal::Delivery, |channel| channel.delivery_bound);
    let mut loops: Run = of(LOOPS.into());
    attack(&mut loops, Goal::Exchange, |channel| channel.response_bound);
    let lossy = of(scenario("impairments = { loss = 0.05 }", "off", "real_time"));
    // Enough messages for the last of the percentiles.
    let many = [
        ("\"mc68040\"", "\"mc68040\"\nspeedup = 8.0"),
        ("60 KiB", "1 KiB"),
        ("4 MiB/s", "2 MiB/s"),
        ("4 s", "8 s"),
    ];
    let many = many.iter().fold(scenario("", "corrected", "best_effort"), |text, (a, b)| text.replace(a, b));
    Results {
        provenance: Provenance::default(),
        axes: Vec::new(),
        runs: vec![
            bounded,
            lossy,
            of(many),
            of(VIRTUAL.into()),
            asked,
            of(CHANCES.into()),
            of(SIGNALLING.into()),
            loops,
        ],
    }
}

#[test]
fn each_number_is_measured_and_stands_in_every_output() {
    let results = results();
    let channels = || results.runs.iter().flat_map(|run| &run.channels);
    let json = json::text(&results, &[]);
    let table = String::from_utf8_lossy(&parquet::bytes(&results).unwrap()).into_owned();
    let html = report::html(&results, &[], &[], None, &Stamp::default()).unwrap().replace("&#x27;", "'");
    let (claims, words) = (glossary::claims_reference(), glossary::glossary());
    let mut scripts = Vec::new();
    for (field, number) in numbers() {
        let name = field.name;
        assert!(
            channels().any(|channel| field.number(channel).is_some_and(|v| v != 0.0)),
            "{name} is never measured"
        );
        assert!(json.contains(&format!("\"{name}\":")), "{name} is not in the JSON file");
        assert!(table.contains(name), "{name} is not in the Parquet file");
        assert!(html.contains(number.column.title), "{name} has no column in the report");
        assert!(claims.contains(&format!("| `{name}` |")), "{name} is not among the fields of claims");
        assert!(
            words.contains(&format!("| channels | {} |", number.column.title)),
            "{name}: no column is explained"
        );
        assert!(number.kind == Kind::Count || number.counts.is_none(), "{name} is counted in a unit");
        scripts.push(name.to_string());
    }
    for (field, distribution) in distributions() {
        let name = field.name;
        assert!(channels().any(|channel| field.summary(channel).is_some()), "{name} is never measured");
        assert!(json.contains(&format!("\"{name}\":")) && table.contains(&format!("{name}_p99")), "{name}");
        for (statistic, column) in distribution.columns {
            assert!(html.contains(column.title), "{name}.{statistic} has no column in the report");
        }
        scripts.push(format!("{name}.p99"));
    }
    for name in scripts {
        let claim = Claim {
            id: name.clone(),
            holds: format!("runs.any(|r| r.channels.any(|c| c.{name} != ()))"),
            ..Claim::default()
        };
        let judgement = Judge::compile(&[claim]).unwrap().judge(&results, None);
        assert!(judgement.errors.is_empty(), "{:?}", judgement.errors);
    }
}

#[test]
fn each_metric_is_an_axis_of_a_figure_and_is_explained() {
    let results = results();
    let words = glossary::glossary();
    for (name, _) in metrics() {
        assert!(words.contains(&format!("| `{name}` |")), "{name} is not in the glossary");
        let ours = [
            ("<distribution>", "latency"),
            ("<cause>", "adapter"),
            ("<use>", "protocol"),
            ("<name>", "refused"),
        ];
        let written = ours.iter().fold(name, |name, (word, one)| name.replace(word, one));
        let figure = FigureSpec::new("", written.parse().unwrap_or_else(|error| panic!("{error}")));
        assert!(figure::svg(&results, &figure).is_ok(), "{written} cannot be drawn");
    }
}

#[test]
fn causes_have_one_list() {
    let (claims, results) = (glossary::claims_reference(), results());
    for (cause, name, means) in causes::ALL {
        assert_eq!(causes::name(*cause), *name);
        assert!(claims.contains(&format!("| `{name}` | {means} |")), "{name} is not explained");
    }
    let dropped = results.runs.iter().flat_map(|run| &run.channels).flat_map(|channel| channel.drops.keys());
    let mut dropped = dropped.peekable();
    assert!(dropped.peek().is_some());
    assert!(dropped.all(|name| causes::ALL.iter().any(|(_, known, _)| known == name)));
}

/// The terms of all bounds of experiments and of drawn scenarios.
#[test]
fn each_term_of_a_bound_is_explained() {
    let mut terms = BTreeMap::new();
    let mut add = |from: String, experiment: &Experiment| {
        let Ok(promises) = promise::promises(experiment, Formula::Corrected) else { return };
        for hop in promises.channels.iter().flat_map(|promise| promise.hops()) {
            for term in hop.wait.terms().iter().chain(hop.service.terms()) {
                terms.entry(term.name).or_insert_with(|| from.clone());
            }
        }
    };
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");
    for file in ["networks", "tsn"].iter().flat_map(|of| fs::read_dir(format!("{folder}/{of}")).unwrap()) {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|end| end == "toml") {
            let scenario =
                laxity_lab::load(&path).unwrap_or_else(|errors| panic!("{}", errors.render(false)));
            add(path.display().to_string(), &scenario.first());
        }
    }
    for number in 0..800 {
        if let Ok(scenario) = drawn(&draw::scenario(1, number).file.text()) {
            add(format!("drawn {number}"), &scenario.first());
        }
    }
    let unknown: Vec<_> = terms.iter().filter(|(name, _)| glossary::explain(name).is_err()).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
    assert!(terms.len() > 35, "{}", terms.len());
}
