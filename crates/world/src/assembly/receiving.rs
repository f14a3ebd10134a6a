//! A host that only receives, assembled and run: sources at its interfaces, and a meter for each channel.
//!
//! Nothing is sent, so there is no node, medium or promise: what comes in is what the sources of the channels say, whole,
//! at the interface that each names. A message is one packet.
//!
//! Who the host is, the world need not know ([`ReceivingHost`]): the model's under virtual time, and in real time a thread that is
//! interrupted and works (the crate `emulator`).

mod host;

use std::collections::BTreeMap;

use laxity_engine::trace::{Trace, Track};
use laxity_engine::{Calendar, Seed, Stop, VirtualClock, World};
use laxity_model::reception::{Arrived, InterfaceReport, Receiver, Reception, ReceptionUses, Ticks};
use laxity_model::source::Source;
use laxity_qos::channel::{Dropped, Sent};
use laxity_qos::discipline::Class;
use laxity_qos::reception::Policer;
use laxity_qos::reception::control::Modes;
use laxity_units::{Bytes, Span, Time};

pub use host::ReceivingHost;

use super::outcome::{no_bound, refused};
use super::state::Asked;
use super::{limits, source_stream};
use crate::causes;
use crate::experiment::{Command, Experiment, RunLength};
use crate::measure::{Meter, Punctuality, Tally, seconds};
use crate::prediction;
use crate::promise::{self, Promise};
use crate::results::{Channel, Resource, Run};

/// Runs `experiment`, whose channels all come in at interfaces, for `length`: `None` if it has not ended after so many `events`.
/// `trace` is told what the CPU does and when packets are with their programs.
pub(super) fn run(
    experiment: &Experiment,
    length: RunLength,
    events: u64,
    trace: Option<&mut dyn Trace>,
) -> Option<Run> {
    let host = experiment.host(0);
    let interfaces = experiment.interfaces.iter().map(|interface| interface.config.clone()).collect();
    let programs = experiment.programs.iter().map(|program| program.config).collect();
    let of = experiment.channels.iter().map(|spec| spec.program).collect();
    let receiver = Receiver::new(host.reception, interfaces, Seed::new(experiment.seed), "reception")
        .with_programs(programs, of)
        .with_pool(host.pool);
    let mut world = Receiving::new(experiment, length, receiver);
    world.traced = trace.map(|trace| Traced::new(experiment, trace));
    let mut calendar = Calendar::new();
    world.start(&mut calendar);
    let limits = limits(length).events(events);
    let outcome = laxity_engine::run(&mut world, &mut calendar, &mut VirtualClock, limits);
    (outcome.stop != Stop::Events).then(|| world.into_run(outcome.now).0)
}

/// What can happen.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// A packet of a channel is whole at its interface, if its source is still the one that said so.
    Arrival {
        /// Its place in the experiment.
        channel: usize,
        /// The how-manyth source of the channel.
        source: u32,
        /// The packet's bytes.
        size: Bytes,
    },
    /// An adapter is told something.
    Command {
        /// The how-manyth command.
        number: usize,
    },
    /// The host asked to be called; stale if it has asked anew since.
    Host {
        /// How often it had asked.
        asked: u64,
    },
    /// The window opens or closes.
    Window,
}

/// How things stood at an edge of the window.
#[derive(Debug, Clone)]
struct Snapshot {
    at: Time,
    uses: ReceptionUses,
    beside: Option<Span>,
    interfaces: Vec<InterfaceReport>,
    tallies: Vec<Tally>,
}

/// Reads one of the uses of the CPU.
type Use = fn(&ReceptionUses) -> Span;

/// What is traced of a run.
struct Traced<'a> {
    trace: &'a mut dyn Trace,
    cpu: Track,
    channels: Vec<Track>,
    /// What the CPU is at, and since when.
    at_work: Option<(&'static str, Time)>,
}

impl<'a> Traced<'a> {
    fn new(experiment: &Experiment, trace: &'a mut dyn Trace) -> Self {
        let channels = experiment.channels.iter();
        Self {
            cpu: trace.track("cpu"),
            channels: channels.map(|channel| trace.track(&format!("channel {}", channel.name))).collect(),
            at_work: None,
            trace,
        }
    }

    /// Traces what the CPU was at, if it is at something else now.
    fn look_at(&mut self, now: Time, work: Option<(&'static str, Time)>) {
        if self.at_work != work {
            if let Some((name, since)) = self.at_work.filter(|(_, since)| *since < now) {
                self.trace.span(self.cpu, name, since, now, &[]);
            }
            self.at_work = work;
        }
    }
}

/// A host that receives, what comes in, and what is counted: what the engine runs.
pub struct Receiving<'a, H> {
    experiment: &'a Experiment,
    length: RunLength,
    receiver: H,
    asked: Asked,
    /// Per channel: where it comes from, the how-manyth source that is, and the interface it comes in at.
    sources: Vec<(Option<Source>, u32, usize)>,
    /// Per interface: the modes of its adapter, if its policy has such.
    modes: Vec<Option<Modes>>,
    /// Per channel: what keeps it to its contract, if it was admitted with one.
    policers: Vec<Option<Policer>>,
    promises: Vec<Promise>,
    meters: Vec<Meter>,
    /// Packets delivered or dropped: what a run's length in packets counts.
    done: u64,
    opened: Option<Snapshot>,
    closed: Option<Snapshot>,
    traced: Option<Traced<'a>>,
}

impl<'a, H: ReceivingHost> Receiving<'a, H> {
    /// What comes in at `host` by the channels of `experiment`, for a run of `length`.
    pub fn new(experiment: &'a Experiment, length: RunLength, host: H) -> Self {
        let promises = promise::of_channels(experiment, experiment.admission.formula);
        let sources = experiment.channels.iter().zip(&promises).enumerate().map(|(i, (spec, promise))| {
            let interface = spec.interface.expect("a channel of a host that receives names its interface");
            let created = experiment.commands.iter().any(|spec| spec.command == Command::Create(i));
            // One that was refused is not established, as where it is sent.
            let source = spec.source.source(source_stream(experiment, i));
            (source.filter(|_| !promise.is_refused() && !created), 0, interface)
        });
        let modes = experiment.interfaces.iter().map(|interface| {
            let interval = interface.config.ticks.as_ref().map(Ticks::mean);
            Modes::of(&interface.config.policy, interval)
        });
        let policers = experiment.channels.iter().zip(&promises);
        let policers = policers
            .map(|(spec, promise)| matches!(promise, Promise::Received(_)).then(|| Policer::new(spec.spec)));
        let meters = experiment.channels.iter().map(|spec| Meter {
            deadline: spec.deadline,
            punctuality: spec.deadline.map(|deadline| Punctuality::new(deadline, None)),
            ..Meter::default()
        });
        Self {
            experiment,
            length,
            receiver: host,
            asked: Asked::default(),
            sources: sources.collect(),
            modes: modes.collect(),
            policers: policers.collect(),
            promises,
            meters: meters.collect(),
            done: 0,
            opened: None,
            closed: None,
            traced: None,
        }
    }

    /// Schedules what happens first.
    pub fn start(&mut self, calendar: &mut Calendar<Event>) {
        if let RunLength::Time { total, warmup, cooldown } = self.length {
            calendar.schedule(Time::ZERO + warmup, Event::Window);
            calendar.schedule(Time::ZERO + (total - cooldown), Event::Window);
        }
        for (number, spec) in self.experiment.commands.iter().enumerate() {
            calendar.schedule(Time::ZERO + spec.at, Event::Command { number });
        }
        self.look_at_window(Time::ZERO);
        for channel in 0..self.sources.len() {
            self.schedule_arrival(channel, calendar);
        }
        self.settle(Time::ZERO, calendar);
    }

    fn schedule_arrival(&mut self, channel: usize, calendar: &mut Calendar<Event>) {
        let (Some(source), number, _) = &mut self.sources[channel] else { return };
        if let Some(arrival) = source.next_arrival() {
            calendar.schedule(arrival.at, Event::Arrival { channel, source: *number, size: arrival.size });
        }
    }

    /// An adapter is told `command`.
    fn command(&mut self, now: Time, command: Command, calendar: &mut Calendar<Event>) {
        match command {
            Command::Create(channel) => {
                let source = &mut self.sources[channel];
                source.1 += 1;
                if !self.promises[channel].is_refused() {
                    let (spec, chance) =
                        (&self.experiment.channels[channel].source, source_stream(self.experiment, channel));
                    source.0 = spec.source_from(now.since(Time::ZERO), chance);
                }
                self.schedule_arrival(channel, calendar);
            }
            Command::Clear(channel) => {
                let source = &mut self.sources[channel];
                (source.0, source.1) = (None, source.1 + 1);
            }
            Command::Mode(interface, command) => {
                let modes = self.modes[interface].as_mut().expect("a policy that is commanded has modes");
                let before = modes.policy();
                modes.set(command);
                let (policy, interval) = modes.policy();
                if (&policy, interval) != (&before.0, before.1) {
                    self.receiver.change_policy(now, interface, policy, interval);
                }
            }
        }
    }

    fn arrive(&mut self, now: Time, channel: usize, size: Bytes) {
        let counted = self.counts();
        let meter = &mut self.meters[channel];
        let number = meter.tally.messages;
        meter.offer(size);
        if let Some(punctuality) = &mut meter.punctuality {
            punctuality.offer(now, counted);
            punctuality.answer(now, size, Sent::Accepted { message: number }, counted);
        }
        let class = self.experiment.channels[channel].class;
        let due = self.meters[channel].deadline.map_or(Time::MAX, |deadline| now.saturating_add(deadline));
        let packet = Arrived { stream: channel as u32, number, class, size, at: now, due };
        if self.policers[channel].as_mut().is_some_and(|policer| !policer.passes(now)) {
            self.end(now, now, &Reception::Dropped(packet, Dropped::Contract));
            return;
        }
        self.receiver.arrive(now, self.sources[channel].2, packet);
    }

    /// Counts what has become of packets, and asks the host when it wants to be called next.
    fn settle(&mut self, now: Time, calendar: &mut Calendar<Event>) {
        while let Some((at, output)) = self.receiver.next_output(now) {
            self.end(now, at, &output);
        }
        if let Some(traced) = &mut self.traced {
            traced.look_at(now, self.receiver.work());
        }
        if let Some(at) = self.asked.change(self.receiver.next_deadline()) {
            calendar.schedule(at.max(now), Event::Host { asked: self.asked.times });
        }
    }

    /// That is what became of a packet.
    fn end(&mut self, now: Time, at: Time, output: &Reception) {
        self.count(at, output);
        self.done += 1;
        if matches!(self.length, RunLength::Packets { .. }) {
            self.look_at_window(now);
        }
    }

    fn count(&mut self, now: Time, output: &Reception) {
        let counted = self.counts();
        match output {
            Reception::Delivered(packet) => {
                if let Some(traced) = &mut self.traced {
                    let name = if now > packet.due { "message late" } else { "message complete" };
                    let line = traced.channels[packet.stream as usize];
                    traced.trace.instant(line, name, now, &[("message", packet.number)]);
                }
                let meter = &mut self.meters[packet.stream as usize];
                meter.receive(now, packet.at, packet.class, packet.size, counted);
                if let Some(punctuality) = &mut meter.punctuality {
                    punctuality.arrive(now, packet.number, packet.at);
                }
            }
            Reception::Dropped(packet, cause) => {
                let tally = &mut self.meters[packet.stream as usize].tally;
                *tally.dropped.entry(*cause).or_default() += 1;
                tally.dropped_packets += 1;
            }
        }
    }

    fn counts(&self) -> bool {
        self.opened.is_some() && self.closed.is_none()
    }

    fn look_at_window(&mut self, now: Time) {
        let (opens, closes) = match self.length {
            RunLength::Packets { total, warmup, cooldown } => {
                (self.done >= warmup, self.done >= total - cooldown)
            }
            RunLength::Time { total, warmup, cooldown } => {
                (now >= Time::ZERO + warmup, now >= Time::ZERO + (total - cooldown))
            }
        };
        if opens && self.opened.is_none() {
            self.opened = Some(self.snapshot(now));
        }
        if closes && self.closed.is_none() {
            self.closed = Some(self.snapshot(now));
        }
    }

    fn snapshot(&self, at: Time) -> Snapshot {
        Snapshot {
            at,
            uses: self.receiver.uses(at),
            beside: self.receiver.beside(),
            interfaces: (0..self.experiment.interfaces.len()).map(|i| self.receiver.report(i)).collect(),
            tallies: self.meters.iter().map(|meter| meter.tally.clone()).collect(),
        }
    }

    /// Closes the run that ended at `end`; the host comes back.
    pub fn into_run(mut self, end: Time) -> (Run, H) {
        let opened = self.opened.take().unwrap_or_else(|| self.snapshot(end));
        let closed = self.closed.take().unwrap_or_else(|| self.snapshot(end));
        let ended = self.snapshot(end);
        let window = closed.at.saturating_since(opened.at).as_secs_f64();
        let share = |of: Use| match window > 0.0 {
            true => of(&closed.uses).saturating_sub(of(&opened.uses)).as_secs_f64() / window,
            false => 0.0,
        };
        let uses: [(&str, Use); 6] = [
            ("interrupt", |uses| uses.signals),
            ("switch", |uses| uses.switches),
            ("announcement", |uses| uses.announcements),
            ("protocol", |uses| uses.protocol),
            ("wasted", |uses| uses.wasted),
            ("program", |uses| uses.program),
        ];
        let reception = share(ReceptionUses::reception);
        let total = reception + share(|uses| uses.program);
        let utilisation = if self.receiver.spins() { 1.0 } else { total };
        let cpu = Resource {
            name: "cpu".into(),
            utilisation,
            uses: uses.map(|(name, of)| (name.to_string(), share(of))).into(),
            ..Resource::default()
        };
        let channels: Vec<Channel> = (0..self.meters.len())
            .map(|i| self.channel(i, &opened.tallies[i], &closed.tallies[i], &ended.tallies[i], window, end))
            .collect();
        let mut figures = BTreeMap::new();
        let left = if self.receiver.spins() { 0.0 } else { 1.0 - reception };
        figures.insert("cpu_left_share".into(), left);
        figures.insert("cpu_idle_share".into(), 1.0 - utilisation);
        if let (Some(from), Some(to)) = (opened.beside, closed.beside)
            && window > 0.0
        {
            figures.insert("cpu_beside_share".into(), to.saturating_sub(from).as_secs_f64() / window);
        }
        let per_second = |count: u64| if window > 0.0 { count as f64 / window } else { 0.0 };
        for (i, (from, to)) in opened.interfaces.iter().zip(&closed.interfaces).enumerate() {
            let suffix = if i == 0 { String::new() } else { format!("@{i}") };
            let mut note = |name: &str, value: f64| figures.insert(format!("{name}{suffix}"), value);
            note("interrupts_per_second", per_second(to.interrupts - from.interrupts));
            note("ticks_per_second", per_second(to.ticks - from.ticks));
            note("missed_ticks", (to.missed_ticks - from.missed_ticks) as f64);
            note("batches_per_second", per_second(to.batches - from.batches));
            note("longest_ring", f64::from(to.longest_queue));
        }
        let arrivals = per_second(channels.iter().map(|channel| channel.messages).sum());
        let received = per_second(channels.iter().map(|channel| channel.completed).sum());
        figures.insert("received_per_second".into(), received);
        let refused = self.promises.iter().filter(|promise| promise.is_refused()).count();
        if self.experiment.admission.formula.is_some() {
            figures.insert("refused".into(), refused as f64);
        }
        if let Some(capacity) = prediction::capacity(self.experiment) {
            figures.insert("predicted_per_second".into(), capacity.of(arrivals));
        }
        if let Some(estimate) = prediction::queueing(self.experiment, arrivals) {
            figures.insert("queueing_throughput_per_second".into(), estimate.throughput);
            figures.insert("queueing_blocking_share".into(), estimate.blocking);
            figures.insert("queueing_latency".into(), estimate.latency);
        }
        let run = Run {
            simulated: end.as_secs_f64(),
            window,
            channels,
            resources: vec![cpu],
            figures,
            ..Run::default()
        };
        (run, self.receiver)
    }

    fn channel(
        &mut self,
        i: usize,
        opened: &Tally,
        closed: &Tally,
        ended: &Tally,
        window: f64,
        end: Time,
    ) -> Channel {
        let spec = &self.experiment.channels[i];
        let mut meter = std::mem::take(&mut self.meters[i]);
        let counted = closed.since(opened);
        let rate = |count: f64| if window > 0.0 { count / window } else { 0.0 };
        let curves = self.experiment.curves;
        let real_time = spec.class == Class::RealTime;
        let drops = counted.dropped.iter().map(|(cause, count)| (causes::name(*cause).into(), *count));
        Channel {
            name: spec.name.clone(),
            class: if real_time { "real_time" } else { "best_effort" }.into(),
            reserved: real_time.then(|| spec.spec.rate().bytes_per_sec_f64()),
            deadline: spec.deadline.map(Span::as_secs_f64),
            bound: self.promises[i].bound().map(Span::as_secs_f64),
            refused: refused(self.experiment, i, &self.promises[i]),
            no_bound: no_bound(self.experiment, i, &self.promises[i]),
            worst: meter.worst.map(Span::as_secs_f64),
            offered: rate(counted.offered.get() as f64),
            throughput: rate(counted.transmitted.get() as f64),
            messages: counted.messages,
            completed: counted.completed,
            packets: counted.packets,
            missed_packets: counted.missed_packets,
            missed_messages: counted.missed_messages,
            late_outside: ended.late() - counted.late(),
            on_time: meter.punctuality.take().and_then(|punctuality| punctuality.share(end)),
            drops: drops.collect(),
            dropped_packets: counted.dropped_packets,
            laxity: meter.laxity.summary(curves),
            latency: meter.latency.summary(curves),
            ..Channel::default()
        }
    }
}

impl Meter {
    /// A packet that was whole at `from` is with its program.
    fn receive(&mut self, now: Time, from: Time, class: Class, size: Bytes, counted: bool) {
        self.tally.packets += 1;
        self.tally.completed += 1;
        self.tally.transmitted += size;
        let due = self.deadline.map(|deadline| from.saturating_add(deadline));
        let missed = u64::from(due.is_some_and(|due| now > due));
        self.tally.missed_packets += missed;
        self.tally.missed_messages += missed;
        if class == Class::RealTime {
            self.worst = self.worst.max(Some(now.saturating_since(from)));
        }
        if counted {
            self.latency.push(seconds(from, now));
            if let Some(due) = due {
                self.laxity.push(seconds(now, due));
            }
        }
    }
}

impl<H: ReceivingHost> World for Receiving<'_, H> {
    type Event = Event;

    fn handle(&mut self, now: Time, event: Event, calendar: &mut Calendar<Event>) {
        match event {
            Event::Arrival { channel, source, size } if source == self.sources[channel].1 => {
                self.schedule_arrival(channel, calendar);
                self.arrive(now, channel, size);
            }
            Event::Command { number } => {
                self.command(now, self.experiment.commands[number].command, calendar);
            }
            Event::Host { asked } if self.asked.times == asked => {
                self.asked.at = None;
                self.receiver.timer(now);
            }
            Event::Arrival { .. } | Event::Host { .. } => return,
            Event::Window => return self.look_at_window(now),
        }
        self.settle(now, calendar);
    }

    fn poll_inputs(&mut self, now: Time, calendar: &mut Calendar<Event>) {
        self.receiver.timer(now);
        self.settle(now, calendar);
    }

    fn is_finished(&self) -> bool {
        matches!(self.length, RunLength::Packets { total, .. } if self.done >= total)
    }
}
