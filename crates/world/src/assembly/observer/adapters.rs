//! The tracks of an adapter in a trace: one for each server of a stage, and its levels.
//!
//! Levels (rings, queues, resources, buffers) are read after each event of their node, and written
//! if they have changed. Traced adapters simulate each phase as an event, so that no change is
//! missed.

use laxity_engine::trace::{TraceSink, Track};
use laxity_model::adapter::{Adapter, PacketDirection, Passage};
use laxity_model::node::HostNode;
use laxity_qos::channel::LinkId;
use laxity_units::Time;

use super::Observer;

/// The tracks of one adapter.
pub(super) struct AdapterTracks {
    /// The names of its node and of the adapter, and a space.
    prefix: String,
    /// Transmit stages first.
    stages: Vec<StageTracks>,
    /// Number of transmit stages.
    transmitting: usize,
    /// By level its track, and the value that was written last.
    levels: Vec<(Track, u64)>,
    /// Kept to reuse its memory.
    now: Vec<u64>,
}

/// The tracks of one stage.
struct StageTracks {
    name: String,
    servers: Vec<Server>,
}

/// A track on which one packet is served at a time; packets of a batch are served together.
struct Server {
    track: Track,
    /// The span that was written last.
    began: Time,
    ended: Time,
}

impl AdapterTracks {
    /// Those of `adapter`, whose names begin with `prefix`, with so many transmit stages.
    pub(super) fn new(
        prefix: String,
        adapter: &Adapter,
        transmitting: usize,
        trace: &mut impl TraceSink,
    ) -> Self {
        let names = adapter.level_names();
        let levels = names.iter().map(|name| (trace.track(&format!("{prefix}{name}")), 0)).collect();
        let stages = adapter.stages(Time::ZERO).into_iter();
        let stages = stages.map(|stage| StageTracks { name: stage.name, servers: Vec::new() }).collect();
        Self { prefix, stages, transmitting, levels, now: Vec::new() }
    }

    /// Writes that a packet has passed a stage.
    fn passed(&mut self, passage: &Passage, trace: &mut impl TraceSink) {
        let Passage { direction, stage, packet: (channel, message, packet), began, ended, .. } = *passage;
        let first = if direction == PacketDirection::Transmit { 0 } else { self.transmitting };
        // A null adapter has no stages that pass packets.
        let Some(stage) = self.stages.get_mut(first + stage) else { return };
        let server = stage.server(began, ended, &self.prefix, trace);
        let arguments =
            [("channel", u64::from(channel.0)), ("message", message), ("packet", u64::from(packet))];
        trace.span(server, &stage.name, began, ended, &arguments);
    }

    /// Writes the levels that have changed.
    fn look_at(&mut self, now: Time, adapter: &Adapter, trace: &mut impl TraceSink) {
        self.now.clear();
        adapter.levels(&mut self.now);
        for ((track, written), value) in self.levels.iter_mut().zip(&self.now) {
            if written != value {
                *written = *value;
                trace.level(*track, now, *value as i64);
            }
        }
    }
}

impl StageTracks {
    /// The track for a packet that was served from `began` to `ended`: that of its batch, or of the
    /// server that was free last before; spans are recorded in the order of their ends.
    fn server(&mut self, began: Time, ended: Time, prefix: &str, trace: &mut impl TraceSink) -> Track {
        let same = |server: &Server| server.began == began && server.ended == ended;
        let place = self.servers.iter().position(same).or_else(|| {
            let free = self.servers.iter().enumerate().filter(|(_, server)| server.ended <= began);
            free.max_by_key(|(_, server)| server.ended).map(|(place, _)| place)
        });
        let place = place.unwrap_or_else(|| {
            let number = self.servers.len();
            let name = match number {
                0 => format!("{prefix}stage {}", self.name),
                number => format!("{prefix}stage {}, server {}", self.name, number + 1),
            };
            self.servers.push(Server { track: trace.track(&name), began, ended });
            number
        });
        let server = &mut self.servers[place];
        (server.began, server.ended) = (began, ended);
        server.track
    }
}

impl<T: TraceSink> Observer<'_, '_, T> {
    /// A packet has passed a stage of an adapter.
    pub(in crate::assembly) fn passed(&mut self, node: usize, link: LinkId, passage: &Passage) {
        if self.trace.is_kept() {
            self.nodes[node].adapters[usize::from(link.0)].passed(passage, self.trace);
        }
    }

    /// Something has happened at `node`, if that is one and not a port.
    pub(in crate::assembly) fn look_at_adapters(&mut self, node: usize, now: Time, nodes: &[HostNode]) {
        let Some(of) = nodes.get(node) else { return };
        for (tracks, adapter) in self.nodes[node].adapters.iter_mut().zip(of.adapters()) {
            tracks.look_at(now, adapter, self.trace);
        }
    }
}
