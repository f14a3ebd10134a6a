//! Texts to the reader of scenarios: refused in words, or valid at every point of the sweep.
#![no_main]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let files = BTreeMap::from([(PathBuf::from("/fuzz.toml"), data.to_vec())]);
    match laxity_lab::read(Path::new("/fuzz.toml"), &files) {
        Ok(scenario) => scenario.points().take(100).for_each(|point| drop(scenario.experiment(&point))),
        Err(errors) => assert!(!errors.render(true).is_empty()),
    }
});
