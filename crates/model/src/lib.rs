//! Models of hardware and workload: hosts, adapters, networks and sources of traffic.

pub mod adapter;
pub mod around;
pub mod bus;
pub mod host;
pub mod network;
pub mod node;
pub mod reception;
pub mod source;
pub mod switch;
pub mod told;
pub mod via;
