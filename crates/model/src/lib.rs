//! What imitates hardware and workload: hosts, adapters and sources of traffic.

pub mod adapter;
pub mod host;
pub mod node;
pub mod source;
