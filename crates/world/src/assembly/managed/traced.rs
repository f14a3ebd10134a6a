//! The trace of nodes with signalling: frames on each link by their kind, what waits there, and what
//! happens to each channel.

use laxity_engine::trace::{TraceFlow, TraceSink, Track};
use laxity_node::split_clock;
use laxity_signalling::codec;
use laxity_signalling::message::Body;
use laxity_transport::TransportHeader;

use super::*;

/// The trace of a run.
pub(super) struct Traced<'a> {
    trace: &'a mut dyn TraceSink,
    /// Of each link: its frames, the frames that wait, and until when it is in use.
    links: Vec<(Track, Track, Time)>,
    channels: Vec<Track>,
}

impl<'a> Traced<'a> {
    pub(super) fn new(experiment: &Experiment, links: &[Directed], trace: &'a mut dyn TraceSink) -> Self {
        let names = links.iter().map(|link| link.name(experiment));
        let links = names
            .map(|name| (trace.track(&name), trace.track(&format!("{name} queue")), Time::ZERO))
            .collect();
        let mut channels = Vec::new();
        for (number, channel) in (0..).zip(&experiment.channels) {
            channels.push(trace.track(&format!("channel {}", channel.name)));
            trace.means("channel", number, &channel.name);
        }
        Self { trace, links, channels }
    }
}

impl Managed<'_> {
    /// Frames wait for a link.
    pub(super) fn trace_waiting(&mut self, link: usize, waiting: usize) {
        let Some(traced) = &mut self.traced else { return };
        traced.trace.level(traced.links[link].1, self.now, waiting as i64);
    }

    /// A link begins with a frame, which it has for the span `takes`.
    pub(super) fn trace_frame(&mut self, link: usize, frame: &[u8], takes: Span, kind: usize) {
        let now = self.now;
        if self.traced.is_none() {
            return;
        }
        let Ok((header, payload)) = TransportHeader::decode(frame) else { return };
        let (from, to) = (self.links[link].from, self.links[link].to);
        let packet = self.packet_of(&header).map(|(channel, message)| {
            let route = &self.experiment.channels[channel].route;
            let ends = [route.first() == Some(&from), route.last() == Some(&to)];
            (channel as u64, message, ends)
        });
        let Some(traced) = &mut self.traced else { return };
        let (track, _, free) = &mut traced.links[link];
        // A node that crashed leaves a frame on its link, and sends anew when it is up again.
        let begin = now.max(*free);
        let end = now.saturating_add(takes).max(begin);
        *free = end;
        let length = ("bytes", frame.len() as u64);
        let (name, arguments) = match (kind, packet) {
            (0, _) => (words(payload), vec![length]),
            (1, Some((channel, message, _))) => {
                let fragment = u64::from(header.fragment);
                (
                    "packet".into(),
                    vec![("channel", channel), ("message", message), ("fragment", fragment), length],
                )
            }
            _ => (KINDS[kind].into(), vec![length]),
        };
        traced.trace.span(*track, &name, begin, end, &arguments);
        let last = header.fragment + 1 == header.fragments;
        if let Some((channel, message, [first, ends])) = packet.filter(|_| last) {
            let flow = if first {
                TraceFlow::Begins
            } else if ends {
                TraceFlow::Ends
            } else {
                TraceFlow::Passes
            };
            // A message that one link carries has no flow.
            if !(first && ends) {
                traced.trace.flow(*track, begin, channel << 40 | message, flow);
            }
        }
    }

    /// Something happens to a channel, by name or by number.
    pub(super) fn trace_channel(&mut self, channel: &str, what: &str) {
        let Some(traced) = &mut self.traced else { return };
        let number = self.experiment.channels.iter().position(|spec| spec.name == channel);
        let Some(number) = number else { return };
        traced.trace.instant(traced.channels[number], what, self.now, &[]);
    }

    /// Something happens to a message.
    pub(super) fn trace_message(&mut self, channel: usize, what: &str, message: u32) {
        let Some(traced) = &mut self.traced else { return };
        let arguments = [("message", u64::from(message))];
        traced.trace.instant(traced.channels[channel], what, self.now, &arguments);
    }

    /// The channel and the message that a packet is of.
    fn packet_of(&self, header: &TransportHeader) -> Option<(usize, u64)> {
        let epoch = laxity_signalling::identity::Epoch(header.epoch);
        let id = GlobalChannelId { node: NodeId(header.channel.node), epoch, local: header.channel.local };
        let call = self.ids.get(&id).and_then(|call| self.calls.get(call))?;
        Some((call.channel, header.message & u64::from(u32::MAX)))
    }
}

/// The signalling messages of a frame in words, and those of clock synchronisation.
fn words(mut payload: &[u8]) -> String {
    let mut words = Vec::new();
    while !payload.is_empty() {
        if let Some((_, rest)) = split_clock(payload) {
            words.push("clock");
            payload = rest;
            continue;
        }
        let (first, rest) = codec::split(payload);
        words.push(match codec::decode(first).map(|message| message.body) {
            Ok(Body::Ask(_)) => "ask",
            Ok(Body::Commit { .. }) => "commit",
            Ok(Body::Refuse { .. }) => "refuse",
            Ok(Body::Refresh { .. }) => "refresh",
            Ok(Body::Refreshed) => "refreshed",
            Ok(Body::Release { .. }) => "release",
            Ok(Body::Released { .. }) => "released",
            Ok(Body::Unknown) => "unknown",
            Ok(Body::Left) => "left",
            Err(_) => "malformed",
        });
        payload = rest;
    }
    words.join(", ")
}
