//! A host that only receives, assembled and run: sources at its interfaces, and a meter for each
//! channel.
//!
//! The host does not send, so there is no node, medium or promise. The sources of the channels
//! deliver whole messages, each at the interface that its channel names. A message is one packet.
//!
//! The world does not depend on the kind of host ([`ReceivingHost`]): a model under virtual time,
//! or a thread under interrupts in real time (the crate `emulator`).

mod host;
pub(super) mod outcome;
mod traced;

use laxity_engine::trace::TraceSink;
use laxity_engine::{Asked, Calendar, World};
use laxity_model::reception::{Arrived, ClockTicks, InterfaceReport, Receiver, Reception, ReceptionUses};
use laxity_model::source::Source;
use laxity_qos::channel::{Dropped, Sent};
use laxity_qos::discipline::Class;
use laxity_qos::reception::Policer;
use laxity_qos::reception::control::Modes;
use laxity_units::{Bytes, Span, Time};

pub use host::ReceivingHost;

use super::live::{Live, LiveChannel};
use super::measured::Measured;
use super::window::Window;
use crate::experiment::{Experiment, ReceiverSpec, ReceptionCommand, RunLength};
use crate::measure::{Meter, Punctuality, Tally};
use crate::promise::{self, Promise};
use crate::results::Run;
use traced::Traced;

/// The host of `experiment`, of which the channels all arrive at interfaces, for a run of `length`.
/// `trace` records the CPU's work and the packets' arrivals at programs.
pub(crate) fn of<'a>(
    experiment: &'a Experiment,
    receiver: &ReceiverSpec,
    length: RunLength,
    trace: Option<&'a mut dyn TraceSink>,
) -> Receiving<'a, Receiver> {
    let receiver = experiment.receiver_at_rest(receiver);
    let mut world = Receiving::new(experiment, length, receiver);
    world.traced = trace.map(|trace| Traced::new(experiment, trace));
    world
}

/// The receiver of an experiment that is all of it.
fn lone(experiment: &Experiment) -> &ReceiverSpec {
    experiment.lone_receiver().expect("the experiment is a host that receives")
}

/// An event. Each has one number, so an event is two words, which stay in registers.
#[derive(Debug, Clone, Copy)]
pub enum ReceivingEvent {
    /// A packet of a channel is whole at its interface, if its source is still the one that said
    /// so.
    Arrival(From),
    /// A command for an adapter, by its number.
    Command(u64),
    /// The host asked to be called; stale if it has asked anew since: how often it had asked.
    Host(u64),
    /// The window opens or closes.
    Window,
}

/// The source of a channel: the place of the channel in the experiment, and the how-manyth source
/// that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct From(u64);

impl From {
    #[inline]
    fn new(channel: usize, source: u32) -> Self {
        Self((channel as u64) << 32 | u64::from(source))
    }

    #[inline]
    fn channel(self) -> usize {
        (self.0 >> 32) as usize
    }
}

/// How things stood at an edge of the window.
#[derive(Debug, Clone)]
struct Snapshot {
    at: Time,
    uses: ReceptionUses,
    beside: Option<Span>,
    interfaces: Vec<InterfaceReport>,
    tallies: Vec<Tally>,
    tags: Tags,
}

/// Packets by their importance.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tags {
    /// Those that have arrived.
    pub(super) arrived: [u64; 8],
    /// Those that their program has taken.
    pub(super) taken: [u64; 8],
}

impl Tags {
    /// A packet has arrived.
    #[inline]
    pub(super) fn arrive(&mut self, importance: u8) {
        self.arrived[usize::from(importance)] += 1;
    }

    /// Its program has taken a packet.
    #[inline]
    pub(super) fn take(&mut self, importance: u8) {
        self.taken[usize::from(importance)] += 1;
    }
}

/// An incoming channel.
#[derive(Debug)]
struct Inflow {
    source: Option<Source>,
    /// The how-manyth source that is.
    number: u32,
    interface: usize,
    class: Class,
    deadline: Option<Span>,
    /// Its policer, if it was admitted with a contract.
    policer: Option<Policer>,
    /// The bytes of the next packet; they wait here, since an event should be short.
    next: Bytes,
}

/// A receiving host, its arrivals and its counts, run by the engine.
pub struct Receiving<'a, H> {
    experiment: &'a Experiment,
    receiver: H,
    asked: Asked,
    /// Per channel.
    inflows: Vec<Inflow>,
    /// Per interface: the modes of its adapter, if its policy has such.
    modes: Vec<Option<Modes>>,
    promises: Vec<Promise>,
    meters: Vec<Meter>,
    tags: Tags,
    window: Window<Snapshot>,
    traced: Option<Traced<'a>>,
}

impl<'a, H: ReceivingHost> Receiving<'a, H> {
    /// The arrivals at `host` by the channels of `experiment`, for a run of `length`.
    pub fn new(experiment: &'a Experiment, length: RunLength, host: H) -> Self {
        let promises = promise::of_channels(experiment, experiment.admission.formula);
        let inflows = experiment.channels.iter().zip(&promises).enumerate().map(|(i, (spec, promise))| {
            let interface = spec.interface.expect("a channel of a host that receives names its interface");
            let created = experiment.commands.iter().any(|spec| spec.command == ReceptionCommand::Create(i));
            // One that was refused is not established, as where it is sent.
            let source = experiment.source(i, 0);
            let source = source.filter(|_| !promise.is_refused() && !created);
            let policer = matches!(promise, Promise::Received(_)).then(|| Policer::new(spec.spec));
            let (class, deadline) = (spec.class, spec.deadline);
            Inflow { source, number: 0, interface, class, deadline, policer, next: Bytes::ZERO }
        });
        let modes = lone(experiment).interfaces.iter().map(|interface| {
            let interval = interface.config.ticks.as_ref().map(ClockTicks::mean);
            Modes::of(&interface.config.policy, interval)
        });
        let meters = experiment.channels.iter().map(|spec| Meter {
            deadline: spec.deadline,
            punctuality: spec.deadline.map(|deadline| Punctuality::new(deadline, None)),
            ..Meter::default()
        });
        Self {
            experiment,
            receiver: host,
            asked: Asked::default(),
            inflows: inflows.collect(),
            modes: modes.collect(),
            promises,
            meters: meters.collect(),
            tags: Tags::default(),
            window: Window::of(length),
            traced: None,
        }
    }

    /// Schedules what happens first.
    pub fn start(&mut self, calendar: &mut Calendar<ReceivingEvent>) {
        for edge in self.window.edges() {
            calendar.schedule(edge, ReceivingEvent::Window);
        }
        for (number, spec) in (0..).zip(&self.experiment.commands) {
            calendar.schedule(Time::ZERO + spec.at, ReceivingEvent::Command(number));
        }
        self.look_at_window(Time::ZERO);
        for channel in 0..self.inflows.len() {
            self.schedule_arrival(channel, calendar);
        }
        self.settle(Time::ZERO, calendar);
    }

    #[inline(always)]
    fn schedule_arrival(&mut self, channel: usize, calendar: &mut Calendar<ReceivingEvent>) {
        let inflow = &mut self.inflows[channel];
        if let Some(arrival) = inflow.source.as_mut().and_then(Source::next_arrival) {
            inflow.next = arrival.size;
            calendar.schedule(arrival.at, ReceivingEvent::Arrival(From::new(channel, inflow.number)));
        }
    }

    /// Applies `command` to an adapter.
    fn command(&mut self, now: Time, command: ReceptionCommand, calendar: &mut Calendar<ReceivingEvent>) {
        match command {
            ReceptionCommand::Create(channel) => {
                let inflow = &mut self.inflows[channel];
                inflow.number += 1;
                if !self.promises[channel].is_refused() {
                    inflow.source = self.experiment.source_from(channel, 0, now.since(Time::ZERO));
                }
                self.schedule_arrival(channel, calendar);
            }
            ReceptionCommand::Clear(channel) => {
                let inflow = &mut self.inflows[channel];
                (inflow.source, inflow.number) = (None, inflow.number + 1);
            }
            ReceptionCommand::Mode(interface, command) => {
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

    /// A packet of `channel` arrives; whether it does more than wait.
    #[inline]
    fn arrive(&mut self, now: Time, channel: usize, size: Bytes) -> bool {
        let (inflow, meter) = (&mut self.inflows[channel], &mut self.meters[channel]);
        let number = meter.tally.messages;
        meter.offer(size);
        if let Some(punctuality) = &mut meter.punctuality {
            let counted = self.window.counts();
            punctuality.offer(now, counted);
            punctuality.answer(now, size, Sent::Accepted { message: number }, counted);
        }
        let due = inflow.deadline.map_or(Time::MAX, |deadline| now.saturating_add(deadline));
        let class = inflow.class;
        let importance = self.experiment.channels[channel].importance_of(number);
        self.tags.arrive(importance);
        let packet = Arrived { stream: channel as u32, number, class, size, at: now, due, importance };
        if inflow.policer.as_mut().is_some_and(|policer| !policer.passes(now)) {
            let dropped = Reception::dropped(packet, Dropped::Contract);
            count(now, &dropped, &mut self.meters, &mut self.tags, &mut self.traced, self.window.counts());
            if self.window.pass() {
                self.look_at_window(now);
            }
            return false;
        }
        self.receiver.arrive(now, inflow.interface, packet)
    }

    /// Counts what has become of packets, and asks the host when it wants to be called next.
    #[inline(always)]
    fn settle(&mut self, now: Time, calendar: &mut Calendar<ReceivingEvent>) {
        while let Some((at, output)) = self.receiver.next_output() {
            count(*at, output, &mut self.meters, &mut self.tags, &mut self.traced, self.window.counts());
            if self.window.pass() {
                self.look_at_window(now);
            }
        }
        if let Some(traced) = &mut self.traced {
            traced.look_at(now, self.receiver.work());
        }
        if let Some((at, asked)) = self.asked.change(self.receiver.next_deadline()) {
            calendar.schedule(at.max(now), ReceivingEvent::Host(asked.into()));
        }
    }

    #[inline(never)]
    fn look_at_window(&mut self, now: Time) {
        let (receiver, counts) = (&self.receiver, (&self.meters[..], self.tags));
        self.window.look(now, |_| Snapshot::of(now, receiver, self.experiment, counts));
    }
}

/// Counts what became of a packet at `now`: delivered or dropped, that is what a length in packets
/// counts here.
#[inline(always)]
fn count(
    now: Time,
    output: &Reception,
    meters: &mut [Meter],
    tags: &mut Tags,
    traced: &mut Option<Traced<'_>>,
    counted: bool,
) {
    let packet = &output.packet;
    let meter = &mut meters[packet.stream as usize];
    match output.lost {
        None => {
            if let Some(traced) = traced {
                let name = if now > packet.due { "message late" } else { "message complete" };
                let line = traced.channels[packet.stream as usize];
                traced.trace.instant(line, name, now, &[("message", packet.number)]);
            }
            tags.take(packet.importance);
            meter.receive(now, packet.at, packet.class, packet.size, counted);
            if let Some(punctuality) = &mut meter.punctuality {
                punctuality.arrive(now, packet.number, packet.at);
            }
        }
        Some(cause) => {
            meter.tally.dropped.add(cause, 1);
            meter.tally.dropped_packets += 1;
            meter.spoil(now, packet.number);
        }
    }
}

impl Snapshot {
    fn of(
        at: Time,
        host: &impl ReceivingHost,
        experiment: &Experiment,
        (meters, tags): (&[Meter], Tags),
    ) -> Self {
        Self {
            at,
            tags,
            uses: host.uses(at),
            beside: host.beside(),
            interfaces: (0..lone(experiment).interfaces.len()).map(|i| host.report(i)).collect(),
            tallies: meters.iter().map(|meter| meter.tally.clone()).collect(),
        }
    }
}

impl<H: ReceivingHost> World for Receiving<'_, H> {
    type Event = ReceivingEvent;

    #[inline]
    fn handle(&mut self, now: Time, event: ReceivingEvent, calendar: &mut Calendar<ReceivingEvent>) {
        match event {
            ReceivingEvent::Arrival(from) => {
                let channel = from.channel();
                // A source that was cleared may have a pending arrival.
                if from != From::new(channel, self.inflows[channel].number) {
                    return;
                }
                let size = self.inflows[channel].next;
                self.schedule_arrival(channel, calendar);
                if !self.arrive(now, channel, size) {
                    return;
                }
            }
            ReceivingEvent::Host(asked) => {
                if !self.asked.comes(asked as u32) {
                    return;
                }
                self.receiver.timer(now);
            }
            ReceivingEvent::Command(number) => {
                self.command(now, self.experiment.commands[number as usize].command, calendar);
            }
            ReceivingEvent::Window => return self.look_at_window(now),
        }
        self.settle(now, calendar);
    }

    fn poll_inputs(&mut self, now: Time, calendar: &mut Calendar<ReceivingEvent>) {
        self.receiver.timer(now);
        self.settle(now, calendar);
    }

    fn is_finished(&self) -> bool {
        self.window.is_over()
    }
}

impl<H: ReceivingHost> Measured for Receiving<'_, H> {
    fn start(&mut self, calendar: &mut Calendar<ReceivingEvent>) {
        Receiving::start(self, calendar);
    }

    fn through(&self) -> u64 {
        self.window.through
    }

    fn live(&self, now: Time) -> Live {
        let mut waiting = vec![0; lone(self.experiment).interfaces.len()];
        for (inflow, meter) in self.inflows.iter().zip(&self.meters) {
            let Tally { messages, completed, dropped_packets, .. } = &meter.tally;
            waiting[inflow.interface] += messages - completed - dropped_packets;
        }
        let name = |i| if i == 0 { "interface".into() } else { format!("interface@{i}") };
        let stages = waiting.into_iter().enumerate().map(|(i, waiting)| (name(i), waiting as usize));
        Live { now, channels: self.meters.iter().map(LiveChannel::of).collect(), stages: stages.collect() }
    }

    fn into_run(self, end: Time) -> Run {
        Receiving::into_run(self, end).0
    }
}
