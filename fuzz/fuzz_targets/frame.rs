//! Frames from any program: classified without a panic, and always alike.
#![no_main]

use laxity_world::experiment::Carries;
use laxity_emulator::frame::Headers;

libfuzzer_sys::fuzz_target!(|frame: &[u8]| {
    let headers = Headers::of(frame);
    assert!(headers.are_carried(Carries::All));
    let tcp = headers.are_carried(Carries::Tcp(None));
    assert!(!(tcp && headers.are_carried(Carries::Udp(None))), "a frame is of one protocol");
});
