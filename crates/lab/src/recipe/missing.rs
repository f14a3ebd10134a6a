//! The parts of a scenario that a recipe cannot keep.

use laxity_qos::channel::{Block, LinkParadigm, MessageOverflow, Order, PacketOverflow};
use laxity_qos::discipline::Class;
use laxity_units::Span;
use laxity_world::experiment::{AdapterSpec, ClockKind, Experiment, Forwarding, MediumSpec, Task};

use super::classes::Classes;

/// Places that a line names.
const NAMED: usize = 4;

/// Properties of the scenario that Linux does not have, with the places that have them.
#[derive(Debug, Default)]
pub(super) struct Missing {
    notes: Vec<(String, Vec<String>)>,
}

impl Missing {
    /// Notes that `what` is not kept at `place`.
    pub(super) fn at(&mut self, place: &str, what: impl Into<String>) {
        let what = what.into();
        match self.notes.iter_mut().find(|(known, _)| *known == what) {
            Some((_, places)) if places.iter().any(|known| known == place) => {}
            Some((_, places)) => places.push(place.into()),
            None => self.notes.push((what, vec![place.into()])),
        }
    }

    /// Notes that `what` is not kept anywhere, once.
    fn everywhere(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.notes.iter().any(|(known, _)| *known == what) {
            self.notes.push((what, Vec::new()));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.notes.is_empty()
    }

    /// One comment a note.
    pub(super) fn lines(&self) -> String {
        let places = |places: &Vec<String>| match places.len() {
            0 => String::new(),
            n if n > NAMED => format!(" (at {} and {} more)", places[..NAMED].join(", "), n - NAMED),
            _ => format!(" (at {})", places.join(", ")),
        };
        self.notes.iter().map(|(what, at)| format!("# Not kept: {what}{}.\n", places(at))).collect()
    }

    /// Notes on the host of `node`, whatever its links are.
    pub(super) fn of_host(&mut self, experiment: &Experiment, node: usize, place: &str) {
        let host = experiment.host(node);
        let subsystem = &host.subsystem;
        let sends = experiment.channels.iter().any(|channel| channel.senders().contains(&node));
        if !sends {
            return;
        }
        if subsystem.order != Order::Fifo {
            self.at(
                place,
                format!(
                    "the order {} of handlers on the CPU; Linux runs programs by `chrt` and `nice`",
                    subsystem.order.short()
                ),
            );
        }
        if subsystem.preemption.real_time != Block::Message || subsystem.preemption.immediate {
            self.at(place, "preemption points of handlers; Linux preempts a program at any time");
        }
        if subsystem.link.paradigm != LinkParadigm::Adapter && subsystem.link.depth == 1 {
            self.at(
                place,
                "one packet at a time in the adapter; the limit of its queue in bytes is near that",
            );
        }
        let held = [subsystem.early.horizon, subsystem.link.early.horizon];
        if subsystem.enforcement && held.iter().any(|horizon| !horizon.is_zero() && *horizon < Span::MAX) {
            self.at(place, "horizons: how far ahead of its time a packet can leave");
        }
        if !host.computing.is_empty() {
            self.at(place, "budgets of computing applications, except by the `chrt` in the comments");
        }
        if !host.buses.is_empty() {
            self.at(place, "priorities at I/O buses");
        }
        if host.driver.reset_after.is_some() || host.driver.watchdog.is_some() {
            self.at(place, "the times of the driver's watchdog");
        }
    }

    /// Notes on the network as a whole.
    pub(super) fn of_experiment(&mut self, experiment: &Experiment, classes: &Classes) {
        if experiment.admission.formula.is_some() {
            self.everywhere(
                "admission and its bounds: Linux reserves nothing, so check each new channel with `laxity admit`",
            );
        }
        let profiles: std::collections::BTreeSet<&str> =
            experiment.hosts.iter().map(|host| host.profile.as_str()).collect();
        let profiles: Vec<&str> = profiles.into_iter().collect();
        self.everywhere(format!(
            "costs of the host profile {}: they are those of the machine, which `laxity calibrate` measures",
            profiles.join(", ")
        ));
        let channels = &experiment.channels;
        let guaranteed = || channels.iter().filter(|channel| channel.class == Class::RealTime);
        if guaranteed().any(|channel| channel.message_overflow == MessageOverflow::BestEffort) {
            self.everywhere("messages beyond a contract as best effort");
        }
        if channels.iter().any(|channel| channel.packet_overflow != PacketOverflow::Block) {
            self.everywhere("the treatment of full packet buffers");
        }
        if classes.merged {
            self.everywhere("more than seven priorities above best effort: some channels share one");
        }
        if !classes.by_level && guaranteed().count() > 1 {
            self.everywhere("levels that admission chooses: priorities follow the deadlines of channels");
        }
        let mediums = experiment.networks.iter().map(|network| &network.medium);
        for medium in mediums {
            match medium {
                MediumSpec::PointToPoint => {}
                MediumSpec::TokenRing(_) => self.everywhere("the token ring: Linux has Ethernet"),
                MediumSpec::Csma(_) => self.everywhere("collisions: links of today are switched"),
            }
        }
        if experiment.networks.iter().any(|network| network.impairments != Default::default()) {
            self.everywhere("impairments of networks; `tc netem` imitates loss and delay in a test");
        }
        let switches = &experiment.switches;
        if switches.iter().any(|switch| switch.forwarding == Forwarding::CutThrough) {
            self.everywhere(
                "cut-through forwarding: a Linux bridge has all of a frame before it passes it on",
            );
        }
        if switches.iter().any(|switch| !switch.latency.is_zero()) {
            self.everywhere("latencies of switches: they are those of the device");
        }
        if switches.iter().any(|switch| !switch.shared.is_zero()) {
            self.everywhere("memory that ports of a switch share");
        }
        if experiment.adapters.iter().any(|adapter| matches!(adapter, AdapterSpec::Described(_))) {
            self.everywhere("stages, buffers and policing inside adapters: they are those of the device");
        }
        if experiment.signalling().is_some() {
            self.everywhere("signalling: `laxity serve` runs nodes that establish channels");
        }
        if channels.iter().any(|channel| channel.reader.is_some()) {
            self.everywhere("slots and work of the programs that read");
        }
        if !experiment.faults.is_empty() || !experiment.commands.is_empty() {
            self.everywhere("faults and commands during the run");
        }
        if experiment.clock == ClockKind::Real || matches!(experiment.task, Task::Fill(_)) {
            self.everywhere("the task of the experiment: the recipe sets hosts up, and runs nothing");
        }
    }
}
