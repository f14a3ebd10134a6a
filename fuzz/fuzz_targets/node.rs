//! Bytes choose what the neighbours and programs of a node do. No choice makes the node panic, or
//! hold more than it is set to, and after the end of all leases it is as before.
#![no_main]

#[path = "../../crates/node/tests/hostile/script.rs"]
mod script;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    script::run(data, None);
});
