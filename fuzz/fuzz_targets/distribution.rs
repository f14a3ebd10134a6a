//! Texts to the reader of distributions: refused in words, or intervals that a clock can tick by
//! and with which a run ends.
#![no_main]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use laxity_scenario::Scenario;
use laxity_scenario::claim::Unread;

const SCENARIO: &str = r#"
title = "an interface polled by a distribution"
host = { profile = "polling-server" }
admission = { formula = "off" }
run = { packets = 50 }
[[interface]]
name = "in"
policy = "soft_timer"
intervals = "fuzz.toml"
quota = 2
buffers = "none"
[[channel]]
name = "a"
class = "best_effort"
max_message = "1 KiB"
burst = 1
interface = "in"
source = { kind = "periodic", rate = "1000 KiB/s" }
"#;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let files = BTreeMap::from([
        (PathBuf::from("/scenario.toml"), SCENARIO.as_bytes().to_vec()),
        (PathBuf::from("/fuzz.toml"), data.to_vec()),
    ]);
    match Scenario::read(Path::new("/scenario.toml"), &files, &Unread) {
        Ok(scenario) => {
            let mut experiment = scenario.first();
            let intervals = match experiment.receivers()[0].interfaces[0].config.ticks.as_ref() {
                Some(ticks) => ticks.moments(),
                None => panic!("a soft timer has a clock"),
            };
            assert!(intervals[0] > 0.0 && intervals[1] >= intervals[0].powi(2) * (1.0 - 1e-6), "{intervals:?}");
            // Ticks of a picosecond would make a run of years.
            if intervals[0] > 1e-5 && intervals[0] < 1.0 {
                experiment.seed = 1;
                assert_eq!(laxity_world::run(&experiment).channels.len(), 1);
            }
        }
        Err(errors) => assert!(!errors.render(true).is_empty()),
    }
});
