//! Receives the messages of `film`: `ADAPTER=DIR/1 cargo run --example sink`.

#[cfg(target_os = "linux")]
include!("vi/sink.rs");

#[cfg(not(target_os = "linux"))]
fn main() {}
