//! Nodes that receive at interfaces, at the ends of paths.
//!
//! A frame that reaches such a node is put into the slots of the interface of its channel, and the
//! receiver's one CPU takes it from there. The outcomes are those of any receiver: a packet is with
//! its program, or lost for a reason. The host model of the node is idle.

use std::collections::BTreeMap;

use laxity_engine::trace::TraceSink;
use laxity_model::reception::{Arrived, InterfaceReport, Receiver, Reception, ReceptionUses};
use laxity_qos::channel::{ChannelId, Delivery, Dropped, Packet, Slot, Slots};
use laxity_qos::discipline::Class;
use laxity_qos::fragment::Reassembler;
use laxity_qos::reception::Policer;
use laxity_units::Time;

use super::receiving::{Tags, outcome};
use super::state::Snapshot;
use super::{Assembly, Outside};
use crate::experiment::{ChannelSpec, Experiment};
use crate::promise::{self, Promise};
use crate::results::ResourceResults;

/// The end of a packet.
pub(super) enum Ended {
    /// The program has it, and all of its message.
    Delivered(Delivery),
    /// The program has it, and not all of its message, or had it before.
    Passed,
    /// It was lost, of the message of that number.
    Lost(Dropped, u64),
}

/// The receivers of an experiment.
pub(super) struct Terminals {
    all: Vec<Terminal>,
    /// Per node the place of its receiver; empty without receivers.
    places: Vec<Option<usize>>,
}

/// A receiver at the end of paths.
pub(super) struct Terminal {
    receiver: Receiver,
    interfaces: usize,
    /// Packets in the host.
    packets: Slots,
    /// The channels that end here, by their places in the experiment.
    entries: BTreeMap<u32, Entry>,
    /// Packets that their policers dropped, and that are not counted yet.
    policed: Vec<(Time, Arrived)>,
    tags: Tags,
}

struct Entry {
    interface: usize,
    policer: Option<Policer>,
    /// Messages with a guarantee, and those without.
    whole: [Reassembler; 2],
    /// Messages that were lost here since one was whole, and the last of them.
    lost: (u64, Option<u64>),
    /// Whether messages of both kinds are sent, so that numbers are missing in either.
    both: bool,
}

impl Entry {
    fn new(interface: usize, policer: Option<Policer>, both: bool) -> Self {
        Self { interface, policer, whole: Default::default(), lost: (0, None), both }
    }

    /// A packet was lost here.
    fn lose(&mut self, packet: &Packet) {
        if self.lost.1 != Some(packet.message) {
            self.lost = (self.lost.0 + 1, Some(packet.message));
        }
    }

    /// The program has `packet`. Answers whether it has the whole message, and how many it misses
    /// that were not lost here.
    fn take(&mut self, packet: &Packet) -> (bool, u64) {
        let of = usize::from(packet.tag.class == Class::BestEffort);
        let found = self.whole[of].accept(packet.message, packet.index, packet.count);
        let here = found.discarded.min(self.lost.0);
        self.lost.0 -= here;
        (found.complete, if self.both { 0 } else { found.discarded - here })
    }
}

impl Terminals {
    /// The receivers of `experiment`, where `promises` were given.
    pub(super) fn new(experiment: &Experiment, promises: &[Promise]) -> Self {
        let receivers = experiment.receivers().iter();
        let terminal = receivers.map(|receiver| {
            let entry = |(i, channel): (usize, &ChannelSpec)| {
                let interface = receiver.entry(channel)?;
                let policer = promise::policer(experiment, i, &promises[i]);
                Some((i as u32, Entry::new(interface, policer, channel.sends_excess())))
            };
            Terminal {
                receiver: experiment.receiver_at_rest(receiver),
                interfaces: receiver.interfaces.len(),
                packets: Slots::default(),
                entries: experiment.channels.iter().enumerate().filter_map(entry).collect(),
                policed: Vec::new(),
                tags: Tags::default(),
            }
        });
        let mut places = vec![None; experiment.nodes.len()];
        for (place, receiver) in experiment.receivers().iter().enumerate() {
            places[receiver.node] = Some(place);
        }
        Self { all: terminal.collect(), places }
    }

    /// The receiver at `station`, if there is one.
    #[inline]
    pub(super) fn at(&self, station: usize) -> Option<&Terminal> {
        Some(&self.all[(*self.places.get(station)?)?])
    }

    /// The same, to act on.
    #[inline]
    pub(super) fn at_mut(&mut self, station: usize) -> Option<&mut Terminal> {
        Some(&mut self.all[(*self.places.get(station)?)?])
    }

    /// The CPU of the receiver at `node`, if it has one, between two edges; notes what it and its
    /// interfaces did in `figures`.
    pub(super) fn cpu(
        &self,
        experiment: &Experiment,
        node: usize,
        [opened, closed]: [&Snapshot; 2],
        figures: &mut BTreeMap<String, f64>,
    ) -> Option<ResourceResults> {
        let (place, spec) = experiment.receiver_at(node)?;
        let spins = self.at(node)?.receiver.spins();
        let window = closed.at.saturating_since(opened.at).as_secs_f64();
        let (from, to) = (&opened.terminals[place], &closed.terminals[place]);
        let suffix = experiment.suffix(node);
        for ((interface, from), to) in spec.interfaces.iter().zip(&from.interfaces).zip(&to.interfaces) {
            let suffix = match &spec.interfaces[..] {
                [_] => suffix.clone(),
                _ => format!("{suffix}.{}", interface.name),
            };
            outcome::interface(&suffix, [from, to], window, figures);
        }
        if experiment.channels.iter().any(|channel| !channel.importance.is_empty()) {
            outcome::taken(&suffix, [&from.tags, &to.tags], figures);
        }
        Some(outcome::cpu(&suffix, [&from.uses, &to.uses], (window, spins), figures))
    }

    /// How each stands at `at`.
    pub(super) fn states(&self, at: Time) -> Vec<TerminalState> {
        self.all.iter().map(|terminal| terminal.state(at)).collect()
    }
}

/// The counters of a receiver at a time.
#[derive(Debug, Clone)]
pub(super) struct TerminalState {
    pub(super) uses: ReceptionUses,
    pub(super) interfaces: Vec<InterfaceReport>,
    pub(super) tags: Tags,
}

impl Terminal {
    /// A packet of `channel` is whole at its interface.
    pub(super) fn arrive(&mut self, now: Time, (channel, spec): (usize, &ChannelSpec), packet: &Packet) {
        let entry =
            self.entries.get_mut(&(channel as u32)).expect("a channel ends at an interface of its node");
        let class = packet.tag.class;
        let importance = spec.importance_of(packet.message);
        self.tags.arrive(importance);
        let slot = self.packets.put(packet);
        let arrived = Arrived {
            stream: channel as u32,
            number: u64::from(slot.0),
            class,
            size: packet.size,
            at: now,
            due: packet.carried.due,
            importance,
        };
        // A message beyond the contract is best effort here, and is not policed.
        let policed = entry.policer.as_mut().filter(|_| class == spec.class);
        if policed.is_some_and(|policer| !policer.passes(now)) {
            self.policed.push((now, arrived));
            return;
        }
        self.receiver.arrive(now, entry.interface, arrived);
    }

    /// The time that [`next_deadline`](Self::next_deadline) named is reached.
    pub(super) fn timer(&mut self, now: Time) {
        self.receiver.timer(now);
    }

    /// When it is to be called next.
    #[inline]
    pub(super) fn next_deadline(&self) -> Option<Time> {
        self.receiver.next_deadline()
    }

    /// The next packet that ended, when, and how; to be asked until there is none. Behind that, how
    /// many messages its program then misses that were lost before the interface.
    pub(super) fn next_ended(&mut self) -> Option<(Time, ChannelId, Ended, u64)> {
        let (at, Reception { packet, lost }) = match self.policed.pop() {
            Some((at, packet)) => (at, Reception::dropped(packet, Dropped::Contract)),
            None => *self.receiver.next_output()?,
        };
        let Arrived { stream, number, importance, .. } = packet;
        let slot = Slot(u32::try_from(number).expect("it is the number of a slot"));
        let packet = *self.packets.free(slot);
        let entry = self.entries.get_mut(&stream).expect("it arrived at an interface");
        let (ended, missing) = match lost {
            Some(cause) => {
                entry.lose(&packet);
                (Ended::Lost(cause, packet.message), 0)
            }
            None => {
                self.tags.take(importance);
                let (whole, missing) = entry.take(&packet);
                let delivery = Delivery {
                    channel: packet.channel,
                    message: packet.message,
                    class: packet.tag.class,
                    size: packet.message_size,
                    sent: packet.sent,
                    due_from: packet.due_from,
                };
                (if whole { Ended::Delivered(delivery) } else { Ended::Passed }, missing)
            }
        };
        Some((at, ChannelId(stream), ended, missing))
    }

    fn state(&self, at: Time) -> TerminalState {
        TerminalState {
            uses: self.receiver.uses(at),
            interfaces: (0..self.interfaces).map(|i| self.receiver.report(i)).collect(),
            tags: self.tags,
        }
    }
}

impl<T: TraceSink, O: Outside> Assembly<'_, '_, T, O> {
    /// A frame reaches an interface of `node`.
    pub(super) fn arrive(&mut self, now: Time, node: usize, frame: Slot) {
        let packet = self.around.flying.take(frame);
        let channel = self.around.laps.channel(packet.channel);
        let spec = &self.experiment.channels[channel];
        if let Some(terminal) = self.terminals.at_mut(node) {
            terminal.arrive(now, (channel, spec), &packet);
        }
        self.count_ended(node);
    }

    /// The deadline of a receiver is reached.
    pub(super) fn wake(&mut self, now: Time, node: usize) {
        if let Some(terminal) = self.terminals.at_mut(node) {
            terminal.timer(now);
        }
        self.count_ended(node);
    }

    /// Counts what became of packets at `node`.
    fn count_ended(&mut self, node: usize) {
        let Some(terminal) = self.terminals.at_mut(node) else { return };
        while let Some((at, channel, ended, missing)) = terminal.next_ended() {
            let channel = channel.0 as usize;
            let tally = &mut self.around.meters[channel].tally;
            if missing > 0 {
                tally.dropped.add(Dropped::Incomplete, missing);
            }
            match ended {
                Ended::Delivered(delivery) => self.around.deliver(node, at, channel, &delivery),
                Ended::Passed => {}
                Ended::Lost(cause, message) => {
                    tally.dropped.add(cause, 1);
                    tally.dropped_packets += 1;
                    self.around.meters[channel].spoil(at, message);
                }
            }
        }
    }
}
