//! Bytes to the reader of emulation logs: refused in words, or read to an end.
#![no_main]

use laxity_emulator::log::Log;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(error) = Log::open(data) {
        assert!(!error.to_string().is_empty());
    }
});
