//! The program of docs/vi.md: a video stream with a bandwidth of its own beside a flood. `ADAPTER=DIR/0
//! cargo run --example film`, with `sink` at `DIR/1`.

#[cfg(target_os = "linux")]
include!("vi/film.rs");

#[cfg(not(target_os = "linux"))]
fn main() {}
