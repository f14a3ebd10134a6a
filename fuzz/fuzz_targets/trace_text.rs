//! Texts to the reader of traces: rows, lists of sizes, JSON, and whatever the fuzzer makes of them.
#![no_main]

use laxity_model::source::trace::{TraceLimits, parse};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let limits = TraceLimits { frames: 1000, bytes: 1 << 16 };
    match parse("fuzz", &mut &data[..], limits) {
        Ok(trace) => {
            assert!(trace.frames().windows(2).all(|pair| pair[0].at <= pair[1].at));
            assert!(trace.statistics().peak_to_mean() >= 1.0);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
