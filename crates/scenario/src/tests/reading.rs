//! Experiments from files.

use laxity_admission::Formula;
use laxity_engine::Seed;
use laxity_model::source::{Sizes, SourceParameters};
use laxity_qos::channel::{Block, LinkParadigm};
use laxity_qos::discipline::{Class, EarlyPolicy};
use laxity_units::{Bytes, Rate, Span, Time};

use super::*;

fn only(text: &str) -> Experiment {
    let scenario = right(text);
    let points: Vec<_> = scenario.points().collect();
    assert_eq!(points.len(), 1);
    scenario.experiment(&points[0])
}

#[test]
fn a_scenario_is_what_it_says_and_the_rest_by_default() {
    let scenario = right(RIGHT);
    assert_eq!((scenario.name.as_str(), scenario.seed, scenario.hash.len()), ("test", 1, 64));
    let experiment = only(RIGHT);
    assert_eq!(experiment.host(0).costs.switch(), Span::from_us(145));
    assert_eq!(experiment.host(0).subsystem.preemption.real_time, Block::Packets(4));
    assert_eq!(experiment.host(0).subsystem.packet, Bytes::from_kib(4));
    assert_eq!(experiment.admission.formula, Some(Formula::Corrected));
    let AdapterSpec::Null(costs) = &experiment.adapters[0] else { panic!() };
    assert_eq!(costs.transmit(Bytes::from_kib(4)), Span::from_ns(244_800));
    let [video, bulk] = experiment.channels.as_slice() else { panic!() };
    assert_eq!(video.spec.rate(), Rate::from_bytes_per_sec(1200 * 1024));
    assert_eq!((video.spec.min_message, video.deadline), (Bytes::from_kib(60), Some(Span::from_ms(40))));
    assert_eq!((video.message_slots, video.packet_slots), (12, 180));
    assert_eq!((bulk.class, bulk.deadline), (Class::BestEffort, None));
    let SourceSpec::Timed { parameters: SourceParameters::Bursty(bursty), .. } = &video.source else {
        panic!()
    };
    assert_eq!((bursty.burst, bursty.interval), (12, Span::from_ms(50)));
    let SourceSpec::Timed { parameters: SourceParameters::Periodic(periodic), .. } = &bulk.source else {
        panic!()
    };
    assert_eq!(periodic.interval, Span::from_ms(150));
}

#[test]
fn a_deadline_beyond_the_interval_brings_its_room_along() {
    let text = with("\"40 ms\"", "\"101 ms\"");
    let experiment = only(&text);
    // Eleven that came early and three that are current, of 15 packets each.
    let video = &experiment.channels[0];
    assert_eq!((video.message_slots, video.packet_slots), (14, 210));
    let promises = laxity_world::promise::promises(&experiment, Formula::Corrected).unwrap();
    let bound = promises.channels[0].bound().unwrap();
    assert!(bound < Span::from_ms(101), "{bound}");
    // `D_order` decides for fixed priorities, with one message under way: a promise within the interval.
    let levels = "profile = \"mc68040\"\nsubsystem = { cpu = \"fixed_priority\", link = { order = \"fixed_priority\" } }";
    let experiment = only(&text.replacen("profile = \"mc68040\"", levels, 1));
    let promises = laxity_world::promise::promises(&experiment, Formula::Corrected).unwrap();
    let bound = promises.channels[0].bound().unwrap();
    assert!(bound <= experiment.channels[0].spec.min_interval, "{bound}");
}

#[test]
fn a_rate_is_an_interval_rounded_up() {
    let experiment = only(&with("min_interval = \"50 ms\"", "rate = \"1200 KiB/s\""));
    assert_eq!(experiment.channels[0].spec.min_interval, Span::from_ms(50));
    let experiment = only(&with("min_interval = \"50 ms\"", "rate = \"7 Mbit/s\""));
    assert_eq!(experiment.channels[0].spec.min_interval, Span::from_ps(70_217_142_858));
}

#[test]
fn a_sweep_makes_every_combination() {
    let scenario = right(&and(r#"[[sweep]]
name = "load"
key = "channel.bulk.source.rate"
values = ["200 KiB/s", "400 KiB/s"]

[[sweep]]
name = "variant"
points = [
  { name = "O1", set = { "host.subsystem.link.paradigm" = "O1" } },
  { name = "O2", set = { "host.subsystem.link.paradigm" = "O2", "channel.*.packet_slots" = 7 } },
  { name = "hold off", set = { "host.subsystem.early" = "below_best_effort", "host.costs.interrupt" = "28 us" } },
]"#));
    assert_eq!(scenario.axes[0].label, "load (KiB/s)");
    assert_eq!(scenario.axes[0].points[1].value, Some(400.0));
    assert_eq!(scenario.axes[1].points[2].value, None);
    let points: Vec<_> = scenario.points().collect();
    assert_eq!(points.len(), 6);
    assert_eq!(scenario.describe(&points[4]), "load = 400 KiB/s, variant = O2");
    let experiment = scenario.experiment(&points[4]);
    assert_eq!(experiment.host(0).subsystem.link.paradigm, LinkParadigm::O2);
    assert!(experiment.channels.iter().all(|channel| channel.packet_slots == 7));
    let experiment = scenario.experiment(&points[2]);
    assert_eq!(experiment.host(0).subsystem.early, EarlyPolicy::CONSERVE);
    assert_eq!(experiment.host(0).costs.interrupt, Span::from_us(28));
    let SourceSpec::Timed { parameters: SourceParameters::Periodic(p), .. } = &experiment.channels[1].source
    else {
        panic!()
    };
    assert_eq!(p.interval, Span::from_ms(300));
}

#[test]
fn what_is_swept_can_be_left_out_of_the_base() {
    let scenario = right(&format!(
        "{}\n[[sweep]]\nname = \"load\"\nkey = \"channel.bulk.source.rate\"\nvalues = [\"1 Mbit/s\"]",
        with(", rate = \"400 KiB/s\"", "")
    ));
    assert_eq!(scenario.points().count(), 1);
}

#[test]
fn several_keys_take_a_value_together_and_numbers_are_numbers() {
    let scenario = right(&and(
        "[[sweep]]\nname = \"P\"\nkeys = [\"host.subsystem.preemption\", \"channel.video.burst\"]\nvalues = [1, 2, 15]",
    ));
    let values: Vec<_> = scenario.axes[0].points.iter().map(|point| point.value).collect();
    assert_eq!(values, [Some(1.0), Some(2.0), Some(15.0)]);
    let last = scenario.points().last().unwrap();
    let experiment = scenario.experiment(&last);
    assert_eq!(experiment.host(0).subsystem.preemption.best_effort, Block::Packets(15));
    assert_eq!(experiment.channels[0].spec.burst, 15);
}

#[test]
fn copies_have_names_of_their_own() {
    let experiment = only(&with("class = \"best_effort\"", "class = \"best_effort\"\ncount = 3"));
    let names: Vec<_> = experiment.channels.iter().map(|channel| channel.name.as_str()).collect();
    assert_eq!(names, ["video", "bulk-1", "bulk-2", "bulk-3"]);
}

#[test]
fn ideal_resources_switch_at_once_and_for_nothing() {
    let experiment =
        only(&with("profile = \"mc68040\"", "profile = \"mc68040\"\nsubsystem = { resources = \"ideal\" }"));
    assert!(experiment.host(0).subsystem.preemption.immediate && experiment.host(0).ideal);
    assert_eq!(experiment.host(0).costs.switch(), Span::ZERO);
    let experiment = only(&with(
        "profile = \"mc68040\"",
        "profile = \"mc68040\"\nsubsystem = { preemption = \"immediate\" }",
    ));
    assert!(experiment.host(0).subsystem.preemption.immediate && !experiment.host(0).ideal);
    assert_eq!(experiment.host(0).costs.switch(), Span::from_us(145));
}

#[test]
fn sources_know_their_sizes() {
    let source = |source: &str| only(&with("{ kind = \"bursty\" }", source)).channels[0].clone();
    let uniform =
        source("{ kind = \"poisson\", size = { uniform = [\"1 KiB\", \"3 KiB\"] }, multiple = 1.5 }");
    assert_eq!(uniform.spec.min_message, Bytes::from_kib(1));
    let SourceSpec::Timed { parameters: SourceParameters::Poisson(p), .. } = uniform.source else { panic!() };
    assert_eq!(p.mean_interval, Span::from_ps(33_333_333_333));
    let none = source("{ kind = \"none\" }");
    assert_eq!(none.spec.min_message, Bytes::new(1));
    let continuous = source("{ kind = \"continuous\", size = \"100 B\" }");
    assert!(
        matches!(continuous.source, SourceSpec::Continuous(Sizes::Fixed(size)) if size == Bytes::new(100))
    );
}

#[test]
fn a_random_phase_is_within_a_period() {
    let channel = only(&with("\"bursty\"", "\"bursty\", phase = \"random\"")).channels[0].clone();
    let first = |seed: u64| {
        let mut source = channel.source.source(Seed::new(seed).stream("video")).unwrap();
        source.next_arrival().unwrap().at
    };
    assert_eq!(first(1), first(1));
    assert_ne!(first(1), first(2));
    assert!((0..100).all(|seed| first(seed) < Time::ZERO + Span::from_ms(600)));
}

/// Copies show one film, each a minute further on, as in the thesis: the k-th begins with the frame that the
/// first sends after k minutes.
#[test]
fn copies_of_a_film_are_staggered() {
    let film = "\"mpeg\", film = \"news\", stagger = \"60 s\"";
    let text = with("\"bursty\"", film).replace("name = \"video\"", "name = \"video\"\ncount = 3");
    let channels = only(&text).channels;
    let sizes = |copy: usize, frames: usize| {
        let mut source = channels[copy].source.source(Seed::new(7).stream("any")).unwrap();
        let sent = std::iter::from_fn(|| source.next_arrival()).take(frames);
        sent.map(|arrival| (arrival.at, arrival.size)).collect::<Vec<_>>()
    };
    let first = sizes(0, 4000);
    for copy in [1, 2] {
        let after = Span::from_secs(60 * copy as u64);
        let from = first.iter().position(|(at, _)| *at >= Time::ZERO + after).unwrap();
        let shown: Vec<Bytes> = first[from..][..200].iter().map(|(_, size)| *size).collect();
        assert_eq!(sizes(copy, 200).iter().map(|(_, size)| *size).collect::<Vec<_>>(), shown);
        assert_eq!(sizes(copy, 2)[1].0, Time::ZERO + Span::from_ms(33));
    }
    assert_eq!(channels[2].spec.min_message, Bytes::new(2));
    let own = "\"mpeg\", min = \"110 B\", max = \"14954 B\", mean = \"1635 B\", deviation = \"1844 B\", \
               pattern = \"IBBPBB\", start = \"random\", phase = \"random\", interval = \"40 ms\"";
    assert_eq!(only(&with("\"bursty\"", own)).channels[0].spec.min_message, Bytes::new(110));
}

/// A drawn cut moves all copies of a film together, and another seed moves them elsewhere.
#[test]
fn copies_of_a_film_keep_apart_wherever_it_is_cut() {
    let cut = |stagger: &str, seed: u64| {
        let film = format!("\"mpeg\", film = \"news\", stagger = \"{stagger}\", start = \"random\"");
        let text = with("\"bursty\"", &film).replace("name = \"video\"", "name = \"video\"\ncount = 2");
        let experiment = Experiment { seed, ..only(&text) };
        let sizes = |copy: usize| {
            let mut source = experiment.source(copy, 0).unwrap();
            std::iter::from_fn(|| source.next_arrival()).take(400).map(|sent| sent.size).collect::<Vec<_>>()
        };
        [sizes(0), sizes(1)]
    };
    let [first, second] = cut("3300 ms", 1);
    assert_eq!(first[100..], second[..300], "100 frames of 33 ms");
    assert_ne!(first, cut("3300 ms", 2)[0]);
    assert_eq!(first, cut("66 ms", 1)[0], "the place is the same whatever the copies do");
}

/// `draws` is a last axis of seeds that no other axis sets.
#[test]
fn draws_are_a_last_axis_of_seeds() {
    let sweep =
        "\n[[sweep]]\nname = \"P\"\nkey = \"host.subsystem.preemption\"\nsetting = \"2\"\nvalues = [1, 2]\n";
    let claim = "\n[[claim]]\nid = \"a\"\nsays = \"so\"\nholds = \"true\"\nrange = \"P\"\n";
    let text = format!("draws = 3\n{RIGHT}{sweep}{claim}");
    let scenario = right(&text);
    assert_eq!(scenario.axes.iter().map(|axis| axis.name.as_str()).collect::<Vec<_>>(), ["P", "seed"]);
    let seeds: Vec<u64> = scenario.points().map(|point| scenario.experiment(&point).seed).collect();
    assert_eq!(seeds, [1, 2, 3, 1, 2, 3]);
    assert_eq!((scenario.claims[0].by_draw, scenario.claims[0].setting), (true, Some(1)));
    let wrong = |text: &str| read_in(&memory(text)).unwrap_err().to_string();
    assert!(wrong(&format!("seed = 5\n{text}")).contains("the seed is given twice"));
    assert!(wrong(&text.replace("setting = \"2\"", "setting = \"3\"")).contains("no value on the axis `P`"));
}

#[test]
fn traces_and_profiles_are_found_and_hashed() {
    let text = with(
        "{ kind = \"bursty\" }",
        "{ kind = \"recorded\", trace = \"../traces/a.txt\", interval = \"40 ms\" }",
    );
    let text = text.replace("profile = \"mc68040\"", "profile = \"mine\"");
    let mut files = memory(&text);
    let (_, profile) = crate::profile::BUILT_IN[0];
    files.insert("experiments/../traces/a.txt".into(), b"100\n70\n200\n".to_vec());
    files.insert("profiles/mine.toml".into(), profile.into());
    let scenario = read_in(&files).unwrap_or_else(|errors| panic!("{errors}"));
    let experiment = scenario.experiment(&scenario.points().next().unwrap());
    assert_eq!(experiment.host(0).profile, "mine");
    assert_eq!(experiment.channels[0].spec.min_message, Bytes::new(70));
    files.insert("experiments/../traces/a.txt".into(), b"100\n71\n200\n".to_vec());
    assert_ne!(read_in(&files).unwrap().hash, scenario.hash);
    // Beside the scenario goes first.
    files.insert("experiments/mine.toml".into(), crate::profile::BUILT_IN.last().unwrap().1.into());
    let scenario = read_in(&files).unwrap();
    let experiment = scenario.experiment(&scenario.points().next().unwrap());
    assert_eq!(experiment.host(0).costs.context_switch, Span::from_us(55));
}

#[test]
fn the_same_file_gives_the_same_scenario() {
    let marked = format!("\u{feff}{RIGHT}");
    assert_eq!(right(&marked).hash, right(RIGHT).hash);
    assert_eq!(right(RIGHT).hash, right(RIGHT).hash);
}

#[test]
fn the_raw_figure_has_the_keys_of_the_figure() {
    let mut raw = written::keys::<raw::RawFigure>().to_vec();
    let mut spec = written::keys::<crate::figure::FigureSpec>().to_vec();
    raw.sort_unstable();
    spec.sort_unstable();
    assert_eq!(raw, spec);
}

#[test]
fn the_schema_describes_every_key() {
    fn walk(value: &serde_json::Value, path: &str) {
        if let Some(properties) = value.get("properties").and_then(|p| p.as_object()) {
            for (key, property) in properties {
                assert!(property.get("description").is_some(), "{path}.{key} has no description: {property}");
            }
        }
        match value {
            serde_json::Value::Object(object) => {
                object.iter().for_each(|(key, v)| walk(v, &format!("{path}.{key}")));
            }
            serde_json::Value::Array(items) => items.iter().for_each(|item| walk(item, path)),
            serde_json::Value::String(text) if path.ends_with(".type") => assert_ne!(text, "null", "{path}"),
            _ => {}
        }
    }
    walk(&schema(), "scenario");
    walk(&profile_schema(), "profile");
    walk(&adapter_schema(), "adapter");
    let required = &schema()["required"];
    assert_eq!(*required, serde_json::json!(["title", "channel"]));
    assert_eq!(schema()["additionalProperties"], false);
}

#[test]
#[ignore = "a measurement: how long reading the largest sweep takes"]
fn the_largest_sweep() {
    let values = |n: usize| (1..=n).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let text = and(&format!(
        "[[sweep]]\nname = \"a\"\nkey = \"channel.video.burst\"\nvalues = [{}]\n\
         [[sweep]]\nname = \"b\"\nkey = \"channel.bulk.burst\"\nvalues = [{}]\n",
        values(400),
        values(250)
    ));
    assert_eq!(right(&text).points().count(), MOST_POINTS);
}
