//! Program of the README: a video stream with its own bandwidth beside a flood. `ADAPTER=DIR/0
//! cargo run --example film`, with `sink` at `DIR/1`.

#[cfg(target_os = "linux")]
include!("vi/film.rs");

#[cfg(not(target_os = "linux"))]
fn main() {}
