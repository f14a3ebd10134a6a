//! A trace that keeps what a page draws: the longest messages with all that went on meanwhile, and
//! queue lengths.
//!
//! A trace of a run is too large to keep, and which message is the longest is known at its end
//! only. So the last spans of all tracks are kept, and the end of a message that exceeds the
//! longest of its channel so far copies those since its logical arrival. The logical arrival
//! follows from the deadline that the trace marks.

mod levels;

use std::collections::{BTreeMap, VecDeque};

use laxity_engine::trace::{Arguments, TraceFlow, TraceSink, Track};
use laxity_units::{Span, Time};
use laxity_world::experiment::Experiment;
use serde_json::{Value, json};

use levels::Level;

/// Spans that are kept, of all tracks.
const KEPT: usize = 1 << 16;
/// Messages under way of which the deadline is kept.
const UNDER_WAY: usize = 1 << 14;
/// Spans of a timeline that are sent, at most.
const SENT: usize = 3000;
/// Parts of a timeline, below which neighbouring spans of one kind are drawn as one.
const PARTS: u64 = 1500;

/// Something that a track did.
#[derive(Debug, Clone, Copy)]
struct Done {
    track: u32,
    name: u32,
    begin: Time,
    end: Time,
    channel: Option<u32>,
    message: Option<u64>,
}

/// The longest message of a channel so far.
#[derive(Debug)]
struct Longest {
    message: u64,
    from: Time,
    to: Time,
    done: Vec<Done>,
}

/// A channel of the experiment.
#[derive(Debug)]
struct Watched {
    name: String,
    /// `None` for best effort, of which no message is watched.
    deadline: Option<Span>,
    received: bool,
    longest: Option<Longest>,
}

/// The trace.
#[derive(Debug)]
pub(crate) struct Watch {
    tracks: Vec<String>,
    by_name: BTreeMap<String, Track>,
    names: Vec<String>,
    name_numbers: BTreeMap<String, u32>,
    /// By the number of a channel's track.
    channel_of_track: BTreeMap<u32, usize>,
    channels: Vec<Watched>,
    done: VecDeque<Done>,
    /// When messages under way are due, by channel and message.
    due: BTreeMap<(usize, u64), Time>,
    levels: BTreeMap<u32, Level>,
}

impl Watch {
    /// For a run of `experiment`.
    pub(crate) fn of(experiment: &Experiment) -> Self {
        let channels = experiment.channels.iter().map(|channel| Watched {
            name: channel.name.clone(),
            deadline: channel.deadline,
            received: channel.received,
            longest: None,
        });
        Self {
            tracks: Vec::new(),
            by_name: BTreeMap::new(),
            names: Vec::new(),
            name_numbers: BTreeMap::new(),
            channel_of_track: BTreeMap::new(),
            channels: channels.collect(),
            done: VecDeque::new(),
            due: BTreeMap::new(),
            levels: BTreeMap::new(),
        }
    }

    fn number_of(&mut self, name: &str) -> u32 {
        if let Some(number) = self.name_numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_string());
        self.name_numbers.insert(name.to_string(), number);
        number
    }

    /// Message `message` of channel `number` is at its end.
    fn ended(&mut self, number: usize, message: u64, now: Time) {
        let Some(due) = self.due.remove(&(number, message)) else { return };
        let channel = &mut self.channels[number];
        let Some(deadline) = channel.deadline else { return };
        let from = due.saturating_sub(deadline);
        let took = now.saturating_since(from);
        let longer = |longest: &Longest| took > longest.to.saturating_since(longest.from);
        if channel.longest.as_ref().is_none_or(longer) {
            let during = |done: &&Done| done.end > from && done.begin < now;
            let done = self.done.iter().filter(during).copied().collect();
            channel.longest = Some(Longest { message, from, to: now, done });
        }
    }

    /// The timelines and queue lengths of a run that ended at `now` seconds.
    pub(crate) fn finish(self, now: f64) -> Value {
        let timelines = self.channels.iter().enumerate().filter_map(|(number, channel)| {
            let longest = channel.longest.as_ref()?;
            Some(self.timeline(number, channel, longest))
        });
        let levels = self.levels.iter().filter(|(_, level)| level.most() > 0);
        let queues = levels.map(|(track, level)| {
            let mut queue = level.finish(now);
            queue["name"] = json!(self.tracks[*track as usize]);
            queue
        });
        json!({
            "timelines": timelines.collect::<Vec<_>>(),
            "queues": queues.collect::<Vec<_>>(),
            "names": self.names,
        })
    }

    fn timeline(&self, number: usize, channel: &Watched, longest: &Longest) -> Value {
        let Longest { message, from, to, ref done } = *longest;
        let own = |done: &Done| {
            done.channel == Some(number as u32) && done.message.is_none_or(|other| other == message)
        };
        // Tracks in the order in which the message was at them; others are left out.
        let mut order: Vec<u32> = Vec::new();
        for done in done.iter().filter(|done| own(done)) {
            if !order.contains(&done.track) {
                order.push(done.track);
            }
        }
        let resolution = Span::from_ps(to.saturating_since(from).as_ps() / PARTS);
        let mut left = SENT;
        let tracks = order.iter().map(|track| {
            let of_track = done.iter().filter(|done| done.track == *track);
            let mut spans = merged(of_track, &own, resolution);
            spans.truncate(left);
            left -= spans.len();
            let seconds = |at: Time| (at.as_ps() as f64 - from.as_ps() as f64) / 1e12;
            let spans = spans.iter().map(|(done, own)| {
                json!([seconds(done.begin), seconds(done.end), done.name, done.channel, own])
            });
            json!({ "name": self.tracks[*track as usize], "spans": spans.collect::<Vec<_>>() })
        });
        json!({
            "channel": channel.name,
            "message": message,
            "from": from.as_ps() as f64 / 1e12,
            "took": to.saturating_since(from).as_secs_f64(),
            "deadline": channel.deadline.map(Span::as_secs_f64),
            "tracks": tracks.collect::<Vec<_>>(),
        })
    }
}

/// The spans of one track, those of one kind that are closer than `resolution` as one; and whether
/// each is the message's own.
fn merged<'a>(
    done: impl Iterator<Item = &'a Done>,
    own: &dyn Fn(&Done) -> bool,
    resolution: Span,
) -> Vec<(Done, bool)> {
    let mut spans: Vec<(Done, bool)> = Vec::new();
    for done in done {
        let own = own(done);
        match spans.last_mut() {
            Some((last, of_message))
                if last.name == done.name
                    && last.channel == done.channel
                    && *of_message == own
                    && done.begin <= last.end.saturating_add(resolution) =>
            {
                last.end = last.end.max(done.end);
            }
            _ => spans.push((*done, own)),
        }
    }
    spans
}

impl TraceSink for Watch {
    fn track(&mut self, name: &str) -> Track {
        if let Some(track) = self.by_name.get(name) {
            return *track;
        }
        let number = self.tracks.len() as u32;
        self.tracks.push(name.to_string());
        self.by_name.insert(name.to_string(), Track::new(number));
        let channel = name.strip_prefix("channel ");
        let place = channel.and_then(|name| self.channels.iter().position(|channel| channel.name == name));
        if let Some(place) = place {
            self.channel_of_track.insert(number, place);
        }
        Track::new(number)
    }

    fn span(&mut self, track: Track, name: &str, begin: Time, end: Time, arguments: Arguments<'_>) {
        let argument =
            |wanted: &str| arguments.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
        let channel = argument("channel").map(|channel| channel as u32);
        let (message, name) = (argument("message"), self.number_of(name));
        if self.done.len() == KEPT {
            self.done.pop_front();
        }
        self.done.push_back(Done { track: track.number(), name, begin, end, channel, message });
    }

    fn instant(&mut self, track: Track, name: &str, at: Time, arguments: Arguments<'_>) {
        let Some(&channel) = self.channel_of_track.get(&track.number()) else { return };
        let Some(&(_, message)) = arguments.iter().find(|(name, _)| *name == "message") else { return };
        match name {
            "deadline" => {
                self.due.insert((channel, message), at);
                if self.due.len() > UNDER_WAY {
                    // Messages that were lost have no end.
                    self.due.pop_first();
                }
            }
            "message complete" | "message late" if !self.channels[channel].received => {
                self.ended(channel, message, at);
            }
            _ => {}
        }
    }

    fn level(&mut self, track: Track, at: Time, value: i64) {
        self.levels.entry(track.number()).or_default().set(at, u32::try_from(value).unwrap_or(0));
    }

    fn flow(&mut self, _track: Track, at: Time, id: u64, flow: TraceFlow) {
        // The number of a flow is that of its channel and of its message.
        let (channel, message) = ((id >> 40) as usize, id & ((1 << 40) - 1));
        let received = self.channels.get(channel).is_some_and(|channel| channel.received);
        if flow == TraceFlow::Ends && received {
            // A flow is marked a nanosecond before the end of its last span.
            self.ended(channel, message, at.saturating_add(Span::from_ns(1)));
        }
    }
}
