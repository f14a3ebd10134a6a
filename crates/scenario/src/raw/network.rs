//! The raw form of the network and of what goes wrong.

use laxity_scenario_keys::keys;

use super::NodeName;
use crate::choice::{FaultKind, Framing, NetworkKind};
use crate::leaf::{Bounded, Delay, EndName, Flow, Interval, Length, Name, Share, Size, Whole};
use crate::written::{List, Part, Written};

/// The network between the adapters.
#[keys(kind = NetworkKind)]
pub(crate) struct RawNetwork {
    /// The kind of network. Named networks are `point_to_point` by default.
    pub(crate) kind: Option<Written<NetworkKind>>,
    /// Hosts at the network. Default: those of the path. With two or more, and no relays, every channel goes
    /// straight from one to another and ends where it is received.
    pub(crate) stations: Option<Written<Whole<1, 65>>>,
    /// Token ring: TTRT, target token rotation time.
    #[key(of(TokenRing))]
    pub(crate) rotation: Option<Written<Bounded<Interval>>>,
    /// Token ring: THT, token holding time of each station. Either this or `holdings`.
    #[key(of(TokenRing))]
    pub(crate) holding: Option<Written<Bounded<Interval>>>,
    /// Token ring: THT of each station by itself, in ring order.
    #[key(of(TokenRing))]
    pub(crate) holdings: Option<List<Written<Bounded<Interval>>>>,
    /// Token ring: passing the token from a station to the next, part of what the stations leave of
    /// the rotation.
    #[key(of(TokenRing), default = "0 us")]
    pub(crate) latency: Option<Written<Bounded<Delay>>>,
    /// Token ring: time of a station's adapter for the arriving token, before its first frame, and
    /// again before the token goes on, both in its holding time: the requests to the time device
    /// that the emulation of a token needs (thesis §6.4.1). Work: `host.speedup` divides it.
    #[key(of(TokenRing), default = "0 us")]
    pub(crate) handling: Option<Written<Bounded<Delay>>>,
    /// The nodes that it joins, by name, or by that of one of their adapters, as `gateway.left`. A
    /// `point_to_point` network has a link from the first, which may be a switch, to each of the
    /// others, for both directions at once.
    pub(crate) joins: Option<List<Written<EndName>>>,
    /// Propagation delay of each link of a named network. {default} A frame arrives with its last
    /// byte. The interframe gap of its `framing` delays the next frame only. A link without a
    /// propagation delay models no cable: the frame arrives at the end of its time on the link, the
    /// gap included. A frame also arrives then from an adapter of stages, or from an adapter with
    /// `reset_after`, if the gap is longer than the propagation delay and the latency of the next
    /// switch together.
    #[key(default = "0 us")]
    pub(crate) propagation: Option<Written<Bounded<Delay>>>,
    /// CSMA/CD: bit rate, from which slot time, interframe gap and jam follow. The adapter's own
    /// delay per byte has to agree with it. Named links: their bit rate; the slower of it and a
    /// null adapter's own is what a packet takes. Needed where a switch is.
    pub(crate) rate: Option<Written<Bounded<Flow>>>,
    /// Named links with a `rate`: what is sent with each packet.
    #[key(default = "none", said = "`none`: the bytes of a packet are all that take time")]
    pub(crate) framing: Option<Written<Framing>>,
    /// Named links: the largest packet. Default: `1500 B` in frames of Ethernet, else any.
    pub(crate) mtu: Option<Written<Bounded<Size>>>,
    /// CSMA/CD: other stations that offer traffic of their own.
    #[key(of(Csma))]
    pub(crate) others: Option<Part<RawOthers>>,
    /// Impairments of frames on the network.
    pub(crate) impairments: Option<Part<RawImpairments>>,
}

/// Stations that are on the medium and are not modelled further.
#[keys]
pub(crate) struct RawOthers {
    /// How many.
    #[key(required)]
    pub(crate) stations: Option<Written<Whole<1, 1024>>>,
    /// Size of their frames.
    #[key(required)]
    pub(crate) frame: Option<Written<Bounded<Size>>>,
    /// Their total offered load, as Poisson arrivals.
    #[key(required)]
    pub(crate) load: Option<Written<Bounded<Flow>>>,
}

/// Impairments of frames on the network. Without `reordering` they arrive in order, whatever the
/// jitter.
#[keys]
pub(crate) struct RawImpairments {
    /// Delay of every frame.
    #[key(default = "0 us")]
    pub(crate) delay: Option<Written<Bounded<Delay>>>,
    /// Further delay of each frame, uniform from zero to this.
    #[key(default = "0 us")]
    pub(crate) jitter: Option<Written<Bounded<Delay>>>,
    /// Share of frames that are lost.
    #[key(default = 0)]
    pub(crate) loss: Option<Written<Share>>,
    /// Share that arrives damaged, and is thrown away there.
    #[key(default = 0)]
    pub(crate) corruption: Option<Written<Share>>,
    /// Share that arrives twice.
    #[key(default = 0)]
    pub(crate) duplication: Option<Written<Share>>,
    /// Share that is held back by `reorder_by`, while later ones pass.
    #[key(default = 0)]
    pub(crate) reordering: Option<Written<Share>>,
    /// By how much.
    #[key(default = "0 us", silent)]
    pub(crate) reorder_by: Option<Written<Bounded<Delay>>>,
}

/// Something that goes wrong.
#[keys]
pub(crate) struct RawFault {
    /// Kind of the fault.
    #[key(required)]
    pub(crate) kind: Option<Written<FaultKind>>,
    /// When it begins.
    #[key(required)]
    pub(crate) at: Option<Written<Bounded<Delay>>>,
    /// How long it lasts. Default: to the end, or until the driver resets the adapter.
    #[serde(rename = "for")]
    pub(crate) length: Option<Written<Bounded<Length>>>,
    /// Stall: how long after it began it begins again, longer than it lasts. Default: never. Bounds
    /// count such stalls.
    pub(crate) every: Option<Written<Bounded<Length>>>,
    /// At which node. Default 0, the first; a crash has to say it.
    pub(crate) node: Option<Written<NodeName>>,
    /// Cut: the network, by its name.
    pub(crate) network: Option<Written<Name>>,
    /// At which adapter of it, where it has several. Default: the first by name.
    pub(crate) adapter: Option<Written<Name>>,
    /// Stall: the adapter's resource that stands still.
    pub(crate) resource: Option<Written<Name>>,
    /// Lost interrupts: which share of them. Default 1, all.
    pub(crate) share: Option<Written<Share>>,
}
