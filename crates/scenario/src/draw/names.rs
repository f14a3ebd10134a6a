//! Names of nodes and their adapters.

/// Names of hosts; the last may be several.
pub(super) const HOSTS: [&str; 4] = ["ada", "ben", "cleo", "dan"];
/// Names of the adapters of a host that has two, and of a third.
pub(super) const ADAPTERS: [&str; 3] = ["left", "right", "up"];
/// The host that may have them.
pub(super) const HUB: usize = 1;
/// Names of switches.
pub(super) const SWITCHES: [&str; 6] = ["sw", "sx", "sy", "sz", "ta", "tb"];
