//! Nodes that establish, change and tear down channels over drawn networks.

mod codec;
mod establishment;
mod networks;
mod steps;
mod tables;
