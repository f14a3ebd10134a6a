//! Texts to the reader of adapter files: refused in words, or an adapter that can be shown and drawn.
#![no_main]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use laxity_report::present::adapter;
use laxity_scenario::AdapterFile;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let files = BTreeMap::from([(PathBuf::from("/fuzz.toml"), data.to_vec())]);
    match AdapterFile::read(Path::new("/fuzz.toml"), &files) {
        Ok(file) => {
            assert!(!adapter::text(&file, Some(80)).is_empty());
            assert!(adapter::svg(&file).starts_with("<svg"));
        }
        Err(errors) => assert!(!errors.render(true).is_empty()),
    }
});
