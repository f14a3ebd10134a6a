//! Networks of servers, and the flows through them.

use std::fmt;

use laxity_units::{Bytes, Rate, Span};

use crate::arrival::Bucket;
use crate::cyclic::Cyclic;
use crate::gates::Gates;

/// An output: a link and the queues before it.
///
/// Frames of a level leave in the order of their arrival (FIFO). A more urgent level goes first, and
/// a frame that has begun is not interrupted unless [`preemption`](Self::preemption) says so. A
/// network of one level is a FIFO network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Least rate of the link while frames wait; not zero.
    pub rate: Rate,
    /// Highest rate of the link; not below `rate`, and above it where transmission times are
    /// rounded.
    pub peak: Rate,
    /// Longest time from the arrival of a frame until it can be sent, e.g. of the switching fabric.
    /// It can vary from zero to this, and keeps the order.
    pub latency: Span,
    /// Time from the end of a transmission to the arrival at the next server; always the same.
    pub propagation: Span,
    /// Whether all flows are of one level here, whatever their own.
    pub fifo: bool,
    /// Longest frame below all flows that exists at this server, e.g. of best effort; zero if none.
    pub below: Bytes,
    /// Levels with a credit-based shaper and their idle slopes, which are not zero.
    pub shapers: Vec<(u8, Rate)>,
    /// Gates of the levels; `None` if all are always open.
    pub gates: Option<Gates>,
    /// Levels with cyclic queueing, above all others. A server with such levels has no gates.
    pub cyclic: Vec<Cyclic>,
    /// Levels with interleaved regulators before their queue (see `regulator`). The flows of a level
    /// from one server share a regulator. Each flow from its source has one of its own.
    pub regulated: Vec<u8>,
    /// Preemption of frames, at a server without shapers and cyclic levels. With gates, all levels with
    /// frames that can be interrupted have one gate, and frames are interrupted when it closes.
    pub preemption: Option<FramePreemption>,
}

/// Frames that are interrupted by more urgent ones and go on later (IEEE 802.1Qbu).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FramePreemption {
    /// The most urgent level with frames that can be interrupted. The frames of more urgent levels,
    /// which are express, interrupt them and not each other.
    pub from: u8,
    /// Bytes on the link for which a frame that can be interrupted keeps an express frame waiting at
    /// most.
    pub wait: Bytes,
    /// Bytes on the link that an interruption adds. Each express frame interrupts one frame at most.
    pub overhead: Bytes,
}

impl Server {
    /// A link of always the same `rate` before which frames wait by level, with nothing else.
    pub const fn by_level(rate: Rate) -> Self {
        Self {
            rate,
            peak: rate,
            latency: Span::ZERO,
            propagation: Span::ZERO,
            fifo: false,
            below: Bytes::ZERO,
            shapers: Vec::new(),
            gates: None,
            cyclic: Vec::new(),
            regulated: Vec::new(),
            preemption: None,
        }
    }

    /// The same in order of arrival.
    pub fn first_come(rate: Rate) -> Self {
        Self { fifo: true, ..Self::by_level(rate) }
    }

    /// The idle slope of `level`, if the level has a shaper.
    pub(crate) fn idle_slope(&self, level: u8) -> Option<Rate> {
        self.shapers.iter().find(|shaper| shaper.0 == level).map(|shaper| shaper.1)
    }

    /// Whether flows of `level` pass a regulator here.
    pub(crate) fn regulates(&self, level: u8) -> bool {
        !self.fifo && self.regulated.contains(&level)
    }
}

/// A flow of frames along a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// Indices of the servers, from the source; none twice.
    pub path: Vec<usize>,
    /// Priority at all servers that have levels: 0 is the most urgent.
    pub level: u8,
    /// Limits that the flow keeps at its source, all of them. If the first one is of frames,
    /// deadlines count from its logical arrivals: each message counts as arriving no sooner than
    /// its interval after the one before.
    pub source: Vec<Bucket>,
    /// How far frames can be shifted against each other between the source and the first server,
    /// e.g. by the sending host.
    pub jitter: Span,
    /// How far frames can be shifted against each other behind a regulator, which restores the limits
    /// of the source.
    pub tolerance: Span,
    /// A server that sends the flow to the first one over its link. Its queue is not part of the
    /// analysis. `None` if frames arrive in any number at once.
    pub entry: Option<usize>,
    /// Shortest frame, with all that surrounds it on a link.
    pub shortest: Bytes,
    /// Longest frame, with all that surrounds it on a link.
    pub longest: Bytes,
    /// The flow of a multicast of which it is a copy; `None` for a flow of its own.
    pub copy: Option<CopyOf>,
}

/// A copy of a multicast flow: the first servers of its path send each frame once, for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyOf {
    /// Index of the flow that is copied, of the same frames and limits; less than that of the copy.
    pub flow: usize,
    /// Servers at the beginning of both paths that send a frame once; at least 1. Behind them it is for
    /// another server than the flow and all other copies.
    pub hops: usize,
}

impl Flow {
    /// A flow of the most urgent level with frames of one `size`, which arrive at the first server as
    /// `source` sends them.
    pub fn of_frames(path: Vec<usize>, source: Vec<Bucket>, size: Bytes) -> Self {
        Self {
            path,
            level: 0,
            source,
            jitter: Span::ZERO,
            tolerance: Span::ZERO,
            entry: None,
            shortest: size,
            longest: size,
            copy: None,
        }
    }
}

/// Why a description is no network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invalid {
    /// The server has a rate, an idle slope or a cycle of zero, or a highest rate below the least.
    NoRate {
        /// Index of the server.
        server: usize,
    },
    /// The path or the entry of the flow is empty, names no server, or visits a server twice; or it begins
    /// otherwise than the flow of which it is a copy.
    Path {
        /// Index of the flow.
        flow: usize,
    },
    /// The flow has no limit, a limit without interval or frames, or a shortest frame above the longest.
    Source {
        /// Index of the flow.
        flow: usize,
    },
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Invalid::NoRate { server } => write!(f, "server {server} has no rate"),
            Invalid::Path { flow } => {
                write!(f, "the path of flow {flow} is empty, unknown or visits a server twice")
            }
            Invalid::Source { flow } => write!(f, "flow {flow} has no valid limit"),
        }
    }
}

impl std::error::Error for Invalid {}

/// One flow at one server of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) flow: usize,
    pub(crate) hop: usize,
    pub(crate) level: u8,
    /// The server before on its path, or its entry; `None` at a source without one, and behind a
    /// regulator, which can release frames of one link together.
    pub(crate) from: Option<usize>,
}

/// Servers and flows, checked.
#[derive(Debug, Clone)]
pub struct QueueNetwork {
    pub(crate) servers: Vec<Server>,
    pub(crate) flows: Vec<Flow>,
    /// Visits at each server, by level and by the server before.
    pub(crate) visits: Vec<Vec<Visit>>,
    /// By flow: its first hop with a regulator, and its limits from there on.
    shaped: Vec<Option<(usize, Vec<Bucket>)>>,
    /// By flow: the hop from which its frames count. Those before count as frames of another flow.
    counted: Vec<usize>,
}

impl QueueNetwork {
    /// A network of `servers` with `flows`.
    ///
    /// # Errors
    ///
    /// [`Invalid`] names the first server or flow that has no meaning.
    pub fn new(servers: Vec<Server>, flows: Vec<Flow>) -> Result<Self, Invalid> {
        let rateless = |server: &Server| {
            let idle = server.shapers.iter().any(|shaper| shaper.1.is_zero());
            let stands = server.gates.as_ref().is_some_and(|gates| gates.cycle.is_zero());
            let stands = stands || server.cyclic.iter().any(|cyclic| cyclic.cycle.is_zero());
            server.rate.is_zero() || server.peak < server.rate || idle || stands
        };
        if let Some(server) = servers.iter().position(rateless) {
            return Err(Invalid::NoRate { server });
        }
        let mut visits = vec![Vec::new(); servers.len()];
        for (index, flow) in flows.iter().enumerate() {
            let meaningless = |bucket: &Bucket| match bucket {
                Bucket::Fluid { burst, .. } => *burst < flow.longest,
                Bucket::Frames { size, burst, interval } => {
                    *burst == 0 || interval.is_zero() || *size < flow.longest
                }
            };
            let sizes = flow.shortest <= flow.longest;
            if flow.source.is_empty() || flow.source.iter().any(meaningless) || !sizes {
                return Err(Invalid::Source { flow: index });
            }
            let known = |server: &usize| *server < servers.len();
            let twice = |(hop, server): (usize, &usize)| flow.path[..hop].contains(server);
            let entered = flow.entry.is_none_or(|entry| known(&entry) && !flow.path.contains(&entry));
            let passes = !flow.path.is_empty() && flow.path.iter().all(known);
            let begins = |CopyOf { flow: of, hops }: CopyOf| {
                let other = flows[..index].get(of)?;
                let alike = hops > 0 && flow.path.get(..hops)? == other.path.get(..hops)?;
                let next = flow.path.get(hops);
                let siblings = flows[..index].iter().filter(|other| other.copy == flow.copy);
                let meets = std::iter::once(other)
                    .chain(siblings)
                    .any(|other| next.is_some() && other.path.get(hops) == next);
                Some(alike && !meets && (flow.entry, flow.level) == (other.entry, other.level))
            };
            let begins = flow.copy.is_none_or(|copy| begins(copy) == Some(true));
            if !entered || !passes || !begins || flow.path.iter().enumerate().any(twice) {
                return Err(Invalid::Path { flow: index });
            }
            for (hop, &server) in flow.path.iter().enumerate() {
                let from = hop.checked_sub(1).map_or(flow.entry, |before| Some(flow.path[before]));
                let from = from.filter(|_| !servers[server].regulates(flow.level));
                let level = if servers[server].fifo { 0 } else { flow.level };
                visits[server].push(Visit { flow: index, hop, level, from });
            }
        }
        for visits in &mut visits {
            visits.sort_by_key(|visit| (visit.level, visit.from));
        }
        let shaped = |flow: &Flow| {
            let first = flow.path.iter().position(|&server| servers[server].regulates(flow.level))?;
            Some((first, flow.source.iter().map(|bucket| bucket.in_bits()).collect()))
        };
        let shaped = flows.iter().map(shaped).collect();
        let counted = flows.iter().map(|flow| flow.copy.map_or(0, |copy| copy.hops)).collect();
        Ok(Self { servers, flows, visits, shaped, counted })
    }

    /// Whether the frames of a flow count at a hop. Those of a copy do from where it is made.
    pub(crate) fn counts(&self, flow: usize, hop: usize) -> bool {
        hop >= self.counted[flow]
    }

    /// The network in which the frames of `flow` count at all of its hops: a flow of which it is a copy
    /// counts from where the two part.
    pub(crate) fn led_by(&self, flow: usize) -> Self {
        let mut network = self.clone();
        network.counted[flow] = 0;
        let mut copy = self.flows[flow].copy;
        while let Some(CopyOf { flow, hops }) = copy {
            network.counted[flow] = hops;
            copy = self.flows[flow].copy;
        }
        network
    }

    /// Whether a regulator is before hop `hop` of `flow`.
    pub(crate) fn regulates(&self, flow: usize, hop: usize) -> bool {
        let Flow { path, level, .. } = &self.flows[flow];
        self.servers[path[hop]].regulates(*level)
    }

    /// The limits that `flow` keeps at hop `hop`, but for its jitter there. A regulator counts bits, so
    /// it can release small messages together.
    pub(crate) fn limits(&self, flow: usize, hop: usize) -> &[Bucket] {
        match &self.shaped[flow] {
            Some((first, limits)) if *first <= hop => limits,
            _ => &self.flows[flow].source,
        }
    }

    /// Whether a flow of `level` waits with `flow` at `server`.
    pub(crate) fn together(&self, server: usize, level: u8, flow: usize) -> bool {
        self.servers[server].fifo || self.flows[flow].level == level
    }

    /// The flows, in the order in which they were given.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Servers in an order in which each is after all that send to it, and those that are on or
    /// behind a ring, for which there is no such order. Traffic behind a regulator does not depend on
    /// the server before.
    pub(crate) fn order(&self) -> (Vec<usize>, Vec<usize>) {
        let mut next = vec![Vec::new(); self.servers.len()];
        for flow in &self.flows {
            for pair in flow.path.windows(2).filter(|pair| !self.servers[pair[1]].regulates(flow.level)) {
                next[pair[0]].push(pair[1]);
            }
        }
        let mut missing = vec![0_usize; self.servers.len()];
        for servers in &mut next {
            servers.sort_unstable();
            servers.dedup();
            servers.iter().for_each(|&server| missing[server] += 1);
        }
        let mut order: Vec<usize> = (0..self.servers.len()).filter(|&server| missing[server] == 0).collect();
        let mut done = 0;
        while let Some(&server) = order.get(done) {
            done += 1;
            for &after in &next[server] {
                missing[after] -= 1;
                if missing[after] == 0 {
                    order.push(after);
                }
            }
        }
        let ring = (0..self.servers.len()).filter(|&server| missing[server] > 0).collect();
        (order, ring)
    }
}
