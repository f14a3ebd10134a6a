//! A cluster of adapters with virtual interfaces, assembled and run: programs that post and take,
//! adapters, and wires.
//!
//! Programs have CPUs enough, as the paper assumes ("the processes can inject/eject messages as
//! needed"): each end of a virtual interface is a process of its own, which does one thing at a
//! time and takes `post` and `reap` for it. The network is a switch that cuts through and never
//! blocks, behind wires of one latency; what an adapter cannot take at once waits there.
//!
//! A message is *sent* when its program hands it over, and *received* when the other program has
//! seen it: that is how the paper measures, at the host.

mod observed;
mod outcome;
mod programs;
mod traced;

pub use observed::Observed;
pub(super) use outcome::resource_names;
pub use outcome::served;

use laxity_engine::trace::TraceSink;
use laxity_engine::{Asked, Calendar, Stream, World};
use laxity_model::source::Source;
use laxity_model::via::{AdapterVi, ViDoorbell, ViMessage, Via, ViaOutput, ViaReport};
use laxity_qos::channel::Dropped;
use laxity_qos::virtual_clock::Vtick;
use laxity_units::{Bytes, Span, Time};
use programs::{Handed, Program};
use traced::Traced;

use super::groups;
use super::live::{Live, LiveChannel};
use super::measured::Measured;
use super::window::Window;
use crate::experiment::{Chance, Experiment, Renegotiation, RunLength, SourceSpec, ViaSpec};
use crate::measure::{Gaps, Meter, Punctuality, Tally};
use crate::promise::{self, Promise};
use crate::results::Run;
use crate::sketch::picoseconds;

/// Bytes of the message that returns credits.
const CREDIT: Bytes = Bytes::new(16);

/// The nodes of `experiment`, of which the channels are virtual interfaces by `spec`, for a run of
/// `length`. `trace` records every step of every message and the work of each unit.
pub(crate) fn of<'a>(
    experiment: &'a Experiment,
    spec: &'a ViaSpec,
    length: RunLength,
    trace: Option<&'a mut dyn TraceSink>,
) -> Cluster<'a> {
    let mut cluster = Cluster::new(experiment, spec, length);
    if let Some(trace) = trace {
        cluster.traced = Some(Traced::new(experiment, trace));
        cluster.adapters.iter_mut().for_each(Via::watch);
    }
    cluster
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    /// A source has a message.
    Arrival { source: u32, size: Bytes },
    /// A program rings a doorbell.
    Ring { node: u32, doorbell: ViDoorbell },
    /// A message that came before its time may be seen now.
    Played { channel: u32, number: u64 },
    /// A program sees that a message has arrived.
    Taken { channel: u32, number: u64 },
    /// A program sees that a message of its was sent.
    Noted { channel: u32 },
    /// A message that waits in a program for its logical arrival is on time.
    Due { channel: u32 },
    /// A program sees that credits have returned.
    Credited { channel: u32 },
    /// A message reaches a node.
    Reach { node: u32, message: ViMessage },
    /// An adapter asked to be called; stale if it has asked anew since.
    Adapter { node: u32, asked: u32 },
    /// The renegotiation of that number takes effect.
    Renegotiated { number: u32 },
    /// The window opens or closes.
    Window,
}

/// How things stood at an edge of the window.
#[derive(Debug, Clone)]
struct Snapshot {
    at: Time,
    reports: Vec<ViaReport>,
    tallies: Vec<Tally>,
}

impl Snapshot {
    fn of(at: Time, adapters: &[Via], meters: &[Meter]) -> Self {
        Self {
            at,
            reports: adapters.iter().map(Via::report).collect(),
            tallies: meters.iter().map(|meter| meter.tally.clone()).collect(),
        }
    }
}

/// Nodes, wires and what is counted.
pub(crate) struct Cluster<'a> {
    experiment: &'a Experiment,
    spec: &'a ViaSpec,
    adapters: Vec<Via>,
    asked: Vec<Asked>,
    /// The sources and their channels.
    sources: Vec<(u32, Source)>,
    programs: Vec<Program>,
    promises: Vec<Promise>,
    meters: Vec<Meter>,
    gaps: Vec<Gaps>,
    random: Vec<Stream>,
    /// Messages received or lost are what a run's length in packets counts.
    window: Window<Snapshot>,
    traced: Option<Traced<'a>>,
}

impl<'a> Cluster<'a> {
    fn new(experiment: &'a Experiment, spec: &'a ViaSpec, length: RunLength) -> Self {
        let promises = promise::of_channels(experiment, experiment.admission.formula);
        // Credits return on virtual interfaces of their own, which are numbered after the channels.
        let channels = 0..experiment.channels.len();
        let vis = channels.clone().map(|i| experiment.vi(i, spec.receives));
        let credits = channels.map(|i| AdapterVi { share: None, ..experiment.vi(i, None) });
        let vis: Vec<_> = vis.chain(credits).collect();
        let adapter = |node| {
            let mut via = Via::new(spec.adapter, vis.iter().copied());
            if let Some(rate) = experiment.grouped_rate(node) {
                via.group(&groups(experiment), rate);
            }
            via
        };
        let mut sources = Vec::new();
        for (i, channel) in experiment.channels.iter().enumerate() {
            // One that was refused is not established.
            let streams = if promises[i].is_refused() { 0 } else { channel.streams };
            for stream in 0..streams {
                sources.extend(experiment.source(i, stream).map(|source| (i as u32, source)));
            }
        }
        let meters = experiment.channels.iter().map(|channel| Meter {
            deadline: channel.deadline,
            punctuality: channel.deadline.map(|deadline| Punctuality::new(deadline, None)),
            ..Meter::default()
        });
        let gaps = experiment.channels.iter();
        Self {
            adapters: (0..experiment.nodes.len()).map(adapter).collect(),
            asked: vec![Asked::default(); experiment.nodes.len()],
            sources,
            programs: Program::of(experiment, spec, &promises),
            promises,
            meters: meters.collect(),
            gaps: gaps.map(|channel| Gaps::new(channel.vtick().map(|vtick| vtick.interval()))).collect(),
            random: (0..experiment.channels.len()).map(|i| experiment.chance(Chance::Source(i))).collect(),
            window: Window::of(length),
            traced: None,
            experiment,
            spec,
        }
    }

    fn schedule_arrival(&mut self, source: usize, calendar: &mut Calendar<Event>) {
        if let Some(arrival) = self.sources[source].1.next_arrival() {
            calendar.schedule(arrival.at, Event::Arrival { source: source as u32, size: arrival.size });
        }
    }

    /// The program of `channel` has a message more to send, of its source's size.
    fn offer_another(&mut self, now: Time, channel: usize, calendar: &mut Calendar<Event>) {
        let size = match self.experiment.channels[channel].source {
            SourceSpec::Closed { sizes, .. } | SourceSpec::Rounds { sizes, .. } => {
                sizes.draw(&mut self.random[channel])
            }
            _ => return,
        };
        self.offer(now, channel, size, calendar);
    }

    /// The program of `channel` has something to send, which goes in as many messages as it takes.
    fn offer(&mut self, now: Time, channel: usize, size: Bytes, calendar: &mut Calendar<Event>) {
        let largest = self.experiment.channels[channel].spec.max_message;
        let mut left = size;
        while !left.is_zero() {
            let piece = left.min(largest);
            left = left.saturating_sub(piece);
            let counted = self.counts();
            let negotiation = self.gaps[channel].current();
            let handed = Handed { at: now, size: piece, last: left.is_zero(), negotiation };
            // A message that its program holds is due from then on.
            let from = self.programs[channel].offer(handed);
            let meter = &mut self.meters[channel];
            let number = meter.tally.messages;
            meter.offer(piece);
            if let Some(punctuality) = &mut meter.punctuality {
                punctuality.offer(now, counted);
                let accepted = laxity_qos::channel::Sent::Accepted { message: number };
                punctuality.answer(from, piece, accepted, counted);
            }
        }
        self.post(now, channel, calendar);
    }

    /// The program of `channel` posts what it has and may.
    fn post(&mut self, now: Time, channel: usize, calendar: &mut Calendar<Event>) {
        while let Some((number, size)) = self.programs[channel].next_to_post(now) {
            let node = self.experiment.channels[channel].route[0] as u32;
            let message = ViMessage { vi: channel as u32, number, size, directed: false, in_turn: false };
            let process = self.programs[channel].sender;
            let at = self.busy(process, now, self.spec.post);
            calendar.schedule(at, Event::Ring { node, doorbell: ViDoorbell::Send(message) });
        }
        if let Some(due) = self.programs[channel].next_due(now) {
            calendar.schedule(due, Event::Due { channel: channel as u32 });
        }
    }

    /// A process takes `cost` for something, as soon as it is free; when it is done with it.
    fn busy(&mut self, process: usize, now: Time, cost: Span) -> Time {
        let free = &mut self.programs[process / 2].free[process % 2];
        *free = (*free).max(now).saturating_add(cost);
        *free
    }

    /// Handles the output of `node`, and schedules its next call.
    fn settle(&mut self, now: Time, node: usize, calendar: &mut Calendar<Event>) {
        while let Some((at, output)) = self.adapters[node].next_output() {
            self.hear(at.max(now), node, output, calendar);
        }
        if let Some((at, asked)) = self.asked[node].change(self.adapters[node].next_deadline()) {
            calendar.schedule(at.max(now), Event::Adapter { node: node as u32, asked });
        }
    }

    fn hear(&mut self, now: Time, node: usize, output: ViaOutput, calendar: &mut Calendar<Event>) {
        let channels = self.experiment.channels.len();
        match output {
            ViaOutput::Departs(message) => {
                let vi = message.vi as usize;
                let route = &self.experiment.channels[vi % channels].route;
                let to = if vi < channels { route[1] } else { route[0] };
                let at = now.saturating_add(self.spec.latency);
                calendar.schedule(at, Event::Reach { node: to as u32, message });
            }
            ViaOutput::Sent(message) if (message.vi as usize) < channels => {
                let channel = message.vi as usize;
                let at = self.busy(self.programs[channel].sender, now, self.spec.reap);
                calendar.schedule(at, Event::Noted { channel: message.vi });
            }
            // A program that returned credits does not wait for completion.
            ViaOutput::Sent(_) => {}
            ViaOutput::Received(message) if (message.vi as usize) < channels => {
                let (channel, number) = (message.vi as usize, message.number);
                let playout = self.experiment.channels[channel].playout;
                let due = playout
                    .zip(self.programs[channel].sent_at(number))
                    .map(|(after, sent)| sent.saturating_add(after));
                match due.filter(|due| *due > now) {
                    Some(due) => calendar.schedule(due, Event::Played { channel: message.vi, number }),
                    None => self.see(now, channel, number, calendar),
                }
            }
            ViaOutput::Received(message) => {
                let channel = message.vi as usize % channels;
                let at = self.busy(self.programs[channel].sender, now, self.spec.reap);
                calendar.schedule(at, Event::Credited { channel: channel as u32 });
            }
            ViaOutput::Dropped(message) => {
                let channel = message.vi as usize;
                self.programs[channel].end(message.number);
                let meter = &mut self.meters[channel];
                meter.tally.dropped.add(Dropped::NoDescriptor, 1);
                meter.tally.dropped_packets += 1;
                meter.spoil(now, message.number);
                self.ended(now);
            }
            // This world has no memory.
            ViaOutput::Moved(..) | ViaOutput::Posted(_) => {}
            ViaOutput::Did(step, message, base) => self.trace_step(now, step, message, base),
            ViaOutput::Worked(unit, what, message, since) => {
                self.trace_work(node, unit, what, message, (since, now));
            }
        }
    }

    /// A message is there for its program to see, which takes it as soon as it is free.
    fn see(&mut self, now: Time, channel: usize, number: u64, calendar: &mut Calendar<Event>) {
        let at = self.busy(self.programs[channel].receiver, now, self.spec.reap);
        calendar.schedule(at, Event::Taken { channel: channel as u32, number });
    }

    /// A program has a message.
    fn taken(&mut self, now: Time, channel: usize, number: u64, calendar: &mut Calendar<Event>) {
        let counted = self.counts();
        let spec = &self.experiment.channels[channel];
        let (mut last, mut logical, mut negotiation) = (false, now, 0);
        if let Some(handed) = self.programs[channel].end(number) {
            let (meter, sent) = (&mut self.meters[channel], handed.at);
            (last, logical, negotiation) = (handed.last, sent, handed.negotiation);
            meter.take(now, sent, handed.size, counted);
            if let Some(punctuality) = &mut meter.punctuality {
                punctuality.arrive(now, number, sent);
            }
            if spec.class == laxity_qos::discipline::Class::RealTime {
                meter.delivery_worst = meter.delivery_worst.max(Some(now.saturating_since(sent)));
            }
        }
        self.gaps[channel].receive(now, logical, negotiation, counted);
        let (receiver, node) = (self.programs[channel].receiver, spec.route[1] as u32);
        if self.spec.receives.is_some() {
            let at = self.busy(receiver, now, self.spec.post);
            let doorbell = ViDoorbell::Receive(channel as u32);
            calendar.schedule(at, Event::Ring { node, doorbell });
        }
        if self.programs[channel].returns_credits() {
            let at = self.busy(receiver, now, self.spec.post);
            let vi = (self.experiment.channels.len() + channel) as u32;
            let doorbell =
                ViDoorbell::Send(ViMessage { vi, number, size: CREDIT, directed: false, in_turn: false });
            calendar.schedule(at, Event::Ring { node, doorbell });
        }
        if last && let Some((answer, window)) = self.programs[channel].round() {
            for _ in 0..window {
                self.offer_another(now, answer, calendar);
            }
        }
        self.ended(now);
    }

    /// Program and both adapters go by what is negotiated anew.
    fn renegotiate(&mut self, now: Time, number: usize, calendar: &mut Calendar<Event>) {
        let Renegotiation { at: _, channel, interval } = self.spec.renegotiations[number];
        if self.promises[channel].is_refused() {
            return;
        }
        self.gaps[channel].renegotiate(interval);
        self.programs[channel].renegotiate(now, interval, self.gaps[channel].current());
        let spec = &self.experiment.channels[channel];
        let vtick = Vtick::new(interval, spec.spec.max_message);
        for node in [spec.route[0], spec.route[1]] {
            self.adapters[node].renegotiate(now, channel as u32, Some(vtick));
            self.settle(now, node, calendar);
        }
    }

    fn ended(&mut self, now: Time) {
        if self.window.pass() {
            self.look_at_window(now);
        }
    }

    fn counts(&self) -> bool {
        self.window.counts()
    }

    fn look_at_window(&mut self, now: Time) {
        let Self { window, adapters, meters, .. } = self;
        window.look(now, |_| Snapshot::of(now, adapters, meters));
    }
}

impl Meter {
    /// A program has a message of `size` that was handed over at `sent`.
    fn take(&mut self, now: Time, sent: Time, size: Bytes, counted: bool) {
        self.tally.delivered += 1;
        self.tally.delivered_bytes += size;
        self.tally.transmitted += size;
        let due = self.deadline.map(|deadline| sent.saturating_add(deadline));
        self.tally.delivered_late += u64::from(due.is_some_and(|due| now > due));
        if counted {
            self.delivery.push([picoseconds(sent, now)]);
        }
    }

    /// Notifies a program that a message was sent; `from` is its hand-over time, if that counts.
    /// The deadline is checked where the message is taken.
    fn complete(&mut self, now: Time, from: Option<Time>) {
        self.tally.completed += 1;
        self.tally.packets += 1;
        if let Some(from) = from {
            let latency = picoseconds(from, now);
            self.timely.push([latency, latency]);
        }
    }
}

impl World for Cluster<'_> {
    type Event = Event;

    fn handle(&mut self, now: Time, event: Event, calendar: &mut Calendar<Event>) {
        match event {
            Event::Arrival { source, size } => {
                self.schedule_arrival(source as usize, calendar);
                let channel = self.sources[source as usize].0 as usize;
                self.offer(now, channel, size, calendar);
            }
            Event::Ring { node, doorbell } => {
                self.adapters[node as usize].ring(now, doorbell);
                self.settle(now, node as usize, calendar);
            }
            Event::Reach { node, message } => {
                self.adapters[node as usize].reach(now, message);
                self.settle(now, node as usize, calendar);
            }
            Event::Adapter { node, asked } if self.asked[node as usize].comes(asked) => {
                self.adapters[node as usize].timer(now);
                self.settle(now, node as usize, calendar);
            }
            Event::Adapter { .. } => {}
            Event::Played { channel, number } => self.see(now, channel as usize, number, calendar),
            Event::Taken { channel, number } => self.taken(now, channel as usize, number, calendar),
            Event::Noted { channel } => {
                let (i, counted) = (channel as usize, self.counts());
                let handed = self.programs[i].noted();
                self.meters[i].complete(now, handed.filter(|_| counted).map(|handed| handed.at));
                // There is room for another descriptor.
                self.post(now, i, calendar);
                let closed = matches!(self.experiment.channels[i].source, SourceSpec::Closed { .. });
                if closed && handed.is_some_and(|handed| handed.last) {
                    self.offer_another(now, i, calendar);
                }
            }
            Event::Due { channel } => self.post(now, channel as usize, calendar),
            Event::Credited { channel } => {
                self.programs[channel as usize].credited();
                self.post(now, channel as usize, calendar);
            }
            Event::Renegotiated { number } => self.renegotiate(now, number as usize, calendar),
            Event::Window => self.look_at_window(now),
        }
    }

    fn is_finished(&self) -> bool {
        self.window.is_over()
    }
}

impl Measured for Cluster<'_> {
    fn start(&mut self, calendar: &mut Calendar<Event>) {
        for edge in self.window.edges() {
            calendar.schedule(edge, Event::Window);
        }
        self.look_at_window(Time::ZERO);
        for (number, new) in (0..).zip(&self.spec.renegotiations) {
            calendar.schedule(new.at, Event::Renegotiated { number });
        }
        for source in 0..self.sources.len() {
            self.schedule_arrival(source, calendar);
        }
        for channel in 0..self.experiment.channels.len() {
            if self.promises[channel].is_refused() {
                continue;
            }
            let first = match self.experiment.channels[channel].source {
                SourceSpec::Closed { outstanding, .. } => outstanding,
                // The channel that is first in the file begins.
                SourceSpec::Rounds { window, after, .. } if channel < after => window,
                _ => 0,
            };
            for _ in 0..first {
                self.offer_another(Time::ZERO, channel, calendar);
            }
        }
    }

    fn through(&self) -> u64 {
        self.window.through
    }

    fn live(&self, now: Time) -> Live {
        let stages = self.adapters.iter().enumerate().map(|(node, adapter)| {
            (format!("adapter{}", self.experiment.suffix(node)), adapter.report().backlog)
        });
        Live { now, channels: self.meters.iter().map(LiveChannel::of).collect(), stages: stages.collect() }
    }

    fn into_run(self, end: Time) -> Run {
        self.closed(end)
    }
}
