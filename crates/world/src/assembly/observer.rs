//! The observable output of a run: a trace, and the packets as a network would carry them.

mod adapters;

use laxity_engine::trace::{TraceFlow, TraceSink, Track};
use laxity_model::host::Busy;
use laxity_model::node::HostNode;
use laxity_qos::channel::{ChannelId, CoreId, LinkId, Packet, Thread};
use laxity_qos::wire::Header;
use laxity_units::{Span, Time};

use super::FrameSink;
use crate::experiment::{AdapterSpec, Experiment, Placed, Placement};
use adapters::AdapterTracks;

/// Passes on what happens, if anyone listens.
pub(super) struct Observer<'a, 'f, T: TraceSink> {
    trace: &'a mut T,
    frames: Option<&'a mut FrameSink<'f>>,
    nodes: Vec<Tracks>,
    channels: Vec<Track>,
    frame: Vec<u8>,
    departures: u64,
    /// Departures while a node acts, traced afterwards; only while a trace is kept.
    seen: Vec<Seen>,
}

/// A packet that has departed.
struct Seen {
    station: usize,
    link: LinkId,
    packet: Packet,
    /// From where its message set out.
    first: bool,
    /// To nowhere else.
    ends: bool,
    /// By the last station that sends it, as its completion is measured.
    departs: bool,
    /// When a port began to send it.
    began: Option<Time>,
}

/// A frame that leaves a station, for an observer.
#[derive(Debug, Clone, Copy)]
pub struct Departed<'a> {
    /// From where.
    pub station: usize,
    /// The hop or the link over which it leaves.
    pub along: Along,
    /// When.
    pub at: Time,
    /// The priority in a VLAN tag (see [`Tag::priority`](laxity_qos::discipline::Tag::priority)).
    pub priority: u8,
    /// The packet, its header first.
    pub bytes: &'a [u8],
}

/// Where a frame goes.
#[derive(Debug, Clone, Copy)]
pub enum Along {
    /// Over this hop of its channel's route, with the header of `laxity_qos::wire`.
    Hop(usize),
    /// To this neighbour of a node with signalling, with the header of `laxity_transport`.
    Link(usize),
}

/// The number by which a trace knows a message on its way.
fn flow_of(channel: ChannelId, message: u64) -> u64 {
    u64::from(channel.0) << 40 | message & ((1 << 40) - 1)
}

/// Just before `at`, when what ends then was still going on.
fn before(at: Time) -> Time {
    at.saturating_sub(Span::from_ns(1))
}

/// The lines of one node in the trace.
struct Tracks {
    /// By core; a port of a switch has one idle core.
    cpus: Vec<Track>,
    /// The core of each channel's handlers, where there are several.
    placed: Vec<Placed>,
    links: Vec<LinkTrack>,
    queue: Track,
    /// By link; none at a port of a switch.
    adapters: Vec<AdapterTracks>,
}

impl Tracks {
    /// The line of the core that `does` something for `channel`.
    fn cpu_that(&self, channel: ChannelId, does: fn(&Placed) -> CoreId) -> Track {
        self.cpus[self.placed.get(channel.0 as usize).map_or(0, |placed| usize::from(does(placed).0))]
    }
}

/// The line of a link.
struct LinkTrack {
    track: Track,
    /// When the link was last free: with several packets in the adapter the next begins then.
    free: Time,
    /// The start of the frame that a port sends. Its frames are held or queued, and were handed to
    /// the adapter before.
    began: Option<Time>,
}

impl<'a, 'f, T: TraceSink> Observer<'a, 'f, T> {
    pub(super) fn new(trace: &'a mut T, frames: Option<&'a mut FrameSink<'f>>) -> Self {
        Self {
            trace,
            frames,
            nodes: Vec::new(),
            channels: Vec::new(),
            frame: Vec::new(),
            departures: 0,
            seen: Vec::new(),
        }
    }

    /// Names what will be seen, before anything happens.
    pub(super) fn watch(&mut self, nodes: &mut [HostNode], experiment: &Experiment, placement: &Placement) {
        if !self.trace.is_kept() {
            return;
        }
        nodes.iter_mut().for_each(|node| {
            node.record_cpu();
            node.step_through();
        });
        for station in 0..experiment.stations() {
            let name = experiment.name(station);
            let mut track = |what: &str| self.trace.track(&format!("node {name} {what}"));
            let cores = experiment.cores(station);
            let cpus = match cores {
                1 => vec![track("cpu")],
                cores => (0..cores).map(|core| track(&format!("cpu {core}"))).collect(),
            };
            let channels = (0..experiment.channels.len() as u32).filter(|_| cores > 1).map(ChannelId);
            let placed = channels.map(|channel| placement.of(station, channel)).collect();
            let adapters = experiment.nodes.get(station).map_or(&[][..], |node| &node.adapters);
            let links = match adapters {
                [] | [_] => vec![track("link")],
                several => {
                    let names = several.iter().filter_map(|adapter| adapter.name.as_deref());
                    names.map(|name| track(&format!("link {name}"))).collect()
                }
            };
            let links =
                links.into_iter().map(|track| LinkTrack { track, free: Time::ZERO, began: None }).collect();
            let queue = track("link queue");
            let adapters = nodes.get(station).into_iter().flat_map(HostNode::adapters).enumerate();
            let adapters = adapters.map(|(link, adapter)| {
                let named = experiment.nodes[station].adapters[link].name.as_deref();
                let prefix = named.map_or(format!("node {name} "), |named| format!("node {name} {named} "));
                let transmitting = match experiment.adapter_of(station, LinkId(link as u8)) {
                    AdapterSpec::Described(description) => description.transmit.len(),
                    AdapterSpec::Null(_) => 1,
                };
                AdapterTracks::new(prefix, adapter, transmitting, self.trace)
            });
            let adapters = adapters.collect();
            self.nodes.push(Tracks { cpus, placed, links, queue, adapters });
        }
        for (number, channel) in experiment.channels.iter().enumerate() {
            self.channels.push(self.trace.track(&format!("channel {}", channel.name)));
            self.trace.means("channel", number as u64, &channel.name);
        }
    }

    pub(super) fn busy(&mut self, node: usize, busy: &Busy) {
        let channel = busy.channel.map(|channel| ("channel", u64::from(channel.0)));
        let who = match busy.thread {
            None => ("interrupt", 1),
            Some(Thread::Handler(n) | Thread::Proxy(n)) => ("thread", u64::from(n)),
            Some(Thread::LinkScheduler) => ("link_scheduler", 1),
            Some(Thread::LinkThread(n)) => ("link_thread", u64::from(n)),
            Some(Thread::Application(channel)) => ("application", u64::from(channel.0)),
            Some(Thread::Computing(n)) => ("computing", u64::from(n)),
            Some(Thread::Reader(channel)) => ("program", u64::from(channel.0)),
        };
        let arguments: Vec<_> = channel.into_iter().chain([who]).collect();
        let cpu = self.nodes[node].cpus[usize::from(busy.core.0)];
        self.trace.span(cpu, busy.used.name(), busy.began, busy.ended, &arguments);
    }

    /// A digest of what has departed: which packet, from which node, when, and in which order.
    pub(super) fn departures(&self) -> u64 {
        self.departures
    }

    /// Whether an observer keeps the trace.
    #[inline]
    pub(super) fn is_kept(&self) -> bool {
        self.trace.is_kept()
    }

    /// The number of frames that wait at a port, beside the one in transmission.
    pub(super) fn waits(&mut self, port: usize, now: Time, waiting: usize) {
        self.trace.level(self.nodes[port].queue, now, waiting as i64);
    }

    /// A port stops in the middle of `packet`, a packet of `channel`.
    pub(super) fn interrupted(&mut self, port: usize, now: Time, (channel, packet): (ChannelId, &Packet)) {
        if !self.trace.is_kept() {
            return;
        }
        let link = &mut self.nodes[port].links[0];
        let part = [("channel", u64::from(channel.0)), ("message", packet.message)];
        let began = link.began.take().unwrap_or(link.free);
        self.trace.span(link.track, "transmit a part", began, now, &part);
        link.free = now;
    }

    /// A port begins with a frame, or goes on with one.
    #[inline]
    pub(super) fn begun(&mut self, port: usize, now: Time) {
        if self.trace.is_kept() {
            self.nodes[port].links[0].began = Some(now);
        }
    }

    /// A packet of `channel` has departed from a node by a link, on that hop of its path: `ends` if
    /// the path ends there, and `departs` if no station forwards it.
    pub(super) fn departed(
        &mut self,
        (node, link, hop): (usize, LinkId, usize),
        now: Time,
        (channel, packet): (ChannelId, &Packet),
        (ends, departs): (bool, bool),
    ) {
        // A multiplication by an odd number is invertible, and the shift brings the high bits down
        // to the next word. The hash distinguishes runs that were not made to collide.
        let who = (node as u64) << 32 | u64::from(channel.0);
        for word in [now.as_ps(), who, packet.message, u64::from(packet.index)] {
            let mixed = (self.departures ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            self.departures = mixed ^ (mixed >> 29);
        }
        if self.trace.is_kept() {
            let began = self.nodes[node].links[usize::from(link.0)].began.take();
            let packet = Packet { channel, ..*packet };
            self.seen.push(Seen { station: node, link, packet, first: hop == 0, ends, departs, began });
        }
        if let Some(frames) = &mut self.frames {
            self.frame.clear();
            self.frame.extend(Header::from(&Packet { channel, ..*packet }).encode());
            self.frame.resize(self.frame.len() + packet.size.get() as usize, 0);
            let priority = packet.tag.priority();
            frames(Departed { station: node, along: Along::Hop(hop), at: now, priority, bytes: &self.frame });
        }
    }

    /// A message of `channel` has been delivered at `node`, by what its CPU has just done.
    pub(super) fn delivered(&mut self, node: usize, now: Time, channel: ChannelId, message: u64) {
        if self.trace.is_kept() {
            let cpu = self.nodes[node].cpu_that(channel, |placed| placed.reader);
            self.trace.flow(cpu, before(now), flow_of(channel, message), TraceFlow::Ends);
        }
    }

    /// Whether [`look_at`](Self::look_at) has anything to trace.
    #[inline]
    pub(super) fn has_seen(&self) -> bool {
        self.trace.is_kept() && !self.seen.is_empty()
    }

    /// Traces what has departed at `now`, and how long the link queues of hosts are after it.
    pub(super) fn look_at(&mut self, now: Time, nodes: &[HostNode]) {
        for Seen { station: node, link, packet, first, ends, departs, began } in self.seen.drain(..) {
            let tracks = &mut self.nodes[node];
            let arguments = [
                ("channel", u64::from(packet.channel.0)),
                ("message", packet.message),
                ("packet", u64::from(packet.index)),
                ("bytes", packet.size.get()),
            ];
            let cpu = tracks.cpu_that(packet.channel, |placed| placed.handler);
            let link = &mut tracks.links[usize::from(link.0)];
            let began = began.unwrap_or_else(|| packet.handed.max(link.free));
            self.trace.span(link.track, "transmit", began, now, &arguments);
            link.free = now;
            if packet.is_last() {
                // Made, or passed on, by what the CPU did until then; a port of a switch has none.
                let id = flow_of(packet.channel, packet.message);
                if nodes.get(node).is_some_and(|node| node.host().is_some()) {
                    let flow = if first { TraceFlow::Begins } else { TraceFlow::Passes };
                    self.trace.flow(cpu, before(packet.created), id, flow);
                }
                let flow = if ends { TraceFlow::Ends } else { TraceFlow::Passes };
                self.trace.flow(link.track, before(now), id, flow);
                if first && packet.carried.due < Time::MAX {
                    let track = self.channels[packet.channel.0 as usize];
                    self.trace.instant(track, "deadline", packet.carried.due, &[("message", packet.message)]);
                }
            }
            // The queue of a port is traced at each change.
            if let Some(of_host) = nodes.get(node) {
                let waiting = of_host.host().map_or(0, |host| host.subsystem().link_queue().0);
                self.trace.level(tracks.queue, now, waiting as i64);
            }
            // Once, where its completion is measured, and late after the mark of its deadline: a
            // station on the way has deadlines of its own.
            if packet.is_last() && departs {
                let late = now > packet.carried.due;
                let name = if late { "message late" } else { "message complete" };
                let track = self.channels[packet.channel.0 as usize];
                self.trace.instant(track, name, now, &[("message", packet.message)]);
            }
        }
    }
}
