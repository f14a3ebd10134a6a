//! Ping-pong and ping-bulk between two programs: message latencies, compared with the paper's.
//! `ADAPTER=DIR/1 cargo run --example ping` responds and `ADAPTER=DIR/0 cargo run --example ping`
//! measures.

#[cfg(target_os = "linux")]
include!("vi/ping.rs");

#[cfg(not(target_os = "linux"))]
fn main() {}
