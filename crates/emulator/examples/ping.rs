//! Ping-pong and ping-bulk between two programs: how long a message is on its way, beside what the paper prints.
//! `ADAPTER=DIR/1 cargo run --example ping` answers and `ADAPTER=DIR/0 cargo run --example ping` plays.

#[cfg(target_os = "linux")]
include!("vi/ping.rs");

#[cfg(not(target_os = "linux"))]
fn main() {}
