//! Files of another tool are a scenario that is read back, or are refused at a line of one of them.
#![no_main]

use laxity_lab::import::{ImportInput, import};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let input =
        |(number, text): (usize, &str)| ImportInput { name: number.to_string(), text: text.to_string() };
    // Tables of tsnkit are several files.
    let inputs: Vec<ImportInput> = text.split('\0').enumerate().map(input).collect();
    match import(&inputs, None) {
        Ok(it) => assert!(laxity_scenario::Scenario::from_text("imported.toml", &it.scenario).is_ok()),
        Err(why) => assert!(!why.to_string().is_empty()),
    }
});
