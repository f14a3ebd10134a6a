//! Hosts, adapters and sources, against timelines by hand and against drawn cases.

mod adapter;
mod common;
mod host;
mod soundness;
mod sources;
mod timelines;
mod traces;
