//! The adapter's tracks in a trace agree with the measurements of a run.

use std::collections::BTreeMap;

use laxity_engine::trace::{Arguments, TraceSink, Track};
use laxity_scenario::Scenario;
use laxity_units::{Span, Time};
use laxity_world::{observe, run};

/// Keeps spans and levels by the names of their tracks.
#[derive(Default)]
struct Kept {
    tracks: Vec<String>,
    spans: BTreeMap<String, Vec<(Time, Time)>>,
    levels: BTreeMap<String, Vec<(Time, i64)>>,
}

impl Kept {
    fn name(&self, track: Track) -> String {
        self.tracks[track.number() as usize].clone()
    }

    /// Time for which `track` was at its levels, each weighed by its value, until `end`.
    fn weighed(&self, track: &str, end: Time) -> f64 {
        let levels = &self.levels[track];
        let ends = levels.iter().skip(1).map(|(at, _)| *at).chain([end]);
        let parts =
            levels.iter().zip(ends).map(|((at, level), end)| *level as f64 * end.since(*at).as_secs_f64());
        parts.sum()
    }
}

impl TraceSink for Kept {
    fn track(&mut self, name: &str) -> Track {
        let known = self.tracks.iter().position(|known| known == name);
        let number = known.unwrap_or_else(|| {
            self.tracks.push(name.into());
            self.tracks.len() - 1
        });
        Track::new(number as u32)
    }

    fn span(&mut self, track: Track, _: &str, begin: Time, end: Time, _: Arguments<'_>) {
        let spans = self.spans.entry(self.name(track)).or_default();
        // A track shows one thing at a time; packets of a batch are one.
        let last = spans.last().copied();
        assert!(last.is_none_or(|(began, ended)| ended <= begin || (began, ended) == (begin, end)));
        spans.push((begin, end));
    }

    fn instant(&mut self, _: Track, _: &str, _: Time, _: Arguments<'_>) {}

    fn level(&mut self, track: Track, at: Time, value: i64) {
        let levels = self.levels.entry(self.name(track)).or_default();
        assert!(value >= 0 && levels.last().is_none_or(|(before, _)| *before <= at));
        levels.push((at, value));
    }
}

/// A flood and a control loop over an Ethernet adapter of four rings.
const RINGS: &str = r#"
    title = "a test"
    [host]
    profile = "mc68040"
    speedup = 400.0
    subsystem = { packet = "1500 B", link = { depth = 64 } }
    [adapter]
    file = "tsn-1g"
    [node.left]
    [node.right]
    [network.wire]
    joins = ["left", "right"]
    [admission]
    formula = "off"
    [run]
    time = "20 ms"
    [[channel]]
    name = "control"
    class = "real_time"
    from = "left"
    to = "right"
    max_message = "300 B"
    burst = 1
    min_interval = "1 ms"
    deadline = "1 ms"
    source = { kind = "periodic" }
    [[channel]]
    name = "flood"
    class = "best_effort"
    from = "left"
    to = "right"
    max_message = "15000 B"
    burst = 20
    source = { kind = "continuous" }
"#;

#[test]
fn stages_rings_and_resources_are_busy_as_the_results_say() {
    let scenario = Scenario::from_text("test.toml", RINGS).unwrap_or_else(|errors| panic!("{errors}"));
    let experiment = scenario.first();
    let mut kept = Kept::default();
    let measured = observe(&experiment, &mut kept, None);
    assert_eq!(measured, run(&experiment), "a trace changes no result");
    let end = Time::ZERO + Span::from_secs_f64(measured.window).unwrap();
    let utilisation = |name: &str| {
        let resource = measured.resources.iter().find(|resource| resource.name == name);
        resource.unwrap_or_else(|| panic!("no {name}: {:?}", measured.resources)).utilisation
    };
    // Of each stage with one server and one phase that never waits: the medium's.
    let spans = &kept.spans["node left stage link"];
    let busy: f64 = spans.iter().map(|(begin, end)| end.since(*begin).as_secs_f64()).sum();
    let (traced, told) = (busy / measured.window, utilisation("link@left"));
    assert!(told > 0.5 && (traced - told).abs() < 0.002, "{traced} of {told}");
    let sent: u64 = measured.channels.iter().map(|channel| channel.packets).sum();
    assert!(spans.len().abs_diff(sent as usize) <= 1, "{} of {sent}", spans.len());
    // One packet holds a direction of the bus at a time.
    for bus in ["node left resource pcie-down", "node left resource pcie-up"] {
        assert!(kept.levels[bus].iter().all(|(_, level)| *level <= 1), "{bus}");
        assert!(kept.weighed(bus, end) > 0.0 && kept.weighed(bus, end) < measured.window, "{bus}");
    }
    // The host leaves 64 packets to the adapter, in rings of 256 entries; entries are free when
    // their packets have left.
    let rings: Vec<&String> = kept.levels.keys().filter(|name| name.contains("left command ring")).collect();
    assert!(!rings.is_empty());
    let most = rings.iter().flat_map(|ring| &kept.levels[*ring]).map(|(_, level)| *level).max();
    assert!(most.is_some_and(|most| (32..=64).contains(&most)), "{most:?}");
    let waiting = kept.levels.iter().filter(|(name, _)| name.contains("left queue of"));
    assert!(waiting.flat_map(|(_, levels)| levels).any(|(_, level)| *level > 1), "packets wait at stages");
}
