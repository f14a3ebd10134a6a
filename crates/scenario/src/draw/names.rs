//! What nodes and their adapters are called.

/// What hosts are called; the last may be several.
pub(super) const HOSTS: [&str; 4] = ["ada", "ben", "cleo", "dan"];
/// What the adapters of a host that has two are called, and a third.
pub(super) const ADAPTERS: [&str; 3] = ["left", "right", "up"];
/// The host that may have them.
pub(super) const HUB: usize = 1;
/// What switches are called.
pub(super) const SWITCHES: [&str; 6] = ["sw", "sx", "sy", "sz", "ta", "tb"];
