//! The raw form of what only an emulation needs: the real clock, where things run, and ports to
//! real software.

use laxity_scenario_keys::keys;
use laxity_world::experiment::{HostPlace, Pace, Transfer};

use super::NodeName;
use crate::choice::PortKind;
use crate::leaf::Whole;
use crate::written::Written;

/// How an emulation is carried out; without effect under virtual time.
#[keys]
pub(crate) struct RawEmulation {
    /// Where the first node's host is.
    #[key(default = "model")]
    pub(crate) host: Option<Written<HostPlace>>,
    /// Duration of a step of a host in a thread.
    #[key(default = "profile")]
    pub(crate) pace: Option<Written<Pace>>,
    /// Part of a packet that is moved between host and adapter.
    #[key(default = "full")]
    pub(crate) transfer: Option<Written<Transfer>>,
    /// The core of the emulated adapter, which it takes whole. Default the last.
    pub(crate) core: Option<Written<Whole<0, 4095>>>,
    /// The core of a host in a thread. Default the first.
    pub(crate) host_core: Option<Written<Whole<0, 4095>>>,
}

/// A port: where real software meets a node.
#[keys]
pub(crate) struct RawPort {
    /// The kind of port.
    #[key(default = "tap")]
    pub(crate) kind: Option<Written<PortKind>>,
    /// The node that has this network interface. Default 0, the first.
    pub(crate) node: Option<Written<NodeName>>,
    /// The interface's name, at most 15 characters.
    #[key(required)]
    pub(crate) interface: Option<Written<String>>,
    /// The network namespace to make it in, which is made and removed with it. Default the one that
    /// Laxity runs in.
    pub(crate) namespace: Option<Written<String>>,
    /// Its address and prefix, `10.77.0.1/24`. No two ports have one address, and a channel that
    /// carries frames is between ports of one subnet.
    pub(crate) address: Option<Written<String>>,
    /// Its MTU. {default} A channel that carries its frames takes messages of the MTU and 14 B of
    /// Ethernet. `max_message` may be smaller only on a real-time channel of `udp`, `icmp` or
    /// `dscp`: its programs choose the length of their datagrams.
    #[key(default = 1500)]
    pub(crate) mtu: Option<Written<Whole<68, 9000>>>,
}
