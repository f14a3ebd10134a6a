//! Captures to the reader of traces. Input that is none is made to start like one, or the fuzzer
//! would spend its time on finding four bytes.
#![no_main]

use laxity_model::source::trace::{TraceLimits, parse};

const MAGIC: [[u8; 4]; 5] = [
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x0a, 0x0d, 0x0d, 0x0a],
];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut file = data.to_vec();
    if let Some(start) = file.first_chunk_mut::<4>()
        && !MAGIC.contains(start)
    {
        *start = MAGIC[usize::from(start[0]) % MAGIC.len()];
    }
    let limits = TraceLimits { frames: 1000, bytes: 1 << 16 };
    match parse("fuzz", &mut file.as_slice(), limits) {
        Ok(trace) => {
            assert!(trace.frames().windows(2).all(|pair| pair[0].at <= pair[1].at));
            assert!(trace.statistics().peak_to_mean() >= 1.0);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
