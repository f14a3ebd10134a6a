//! The applications of a host: when they send, and what becomes of a send that finds no room.

use std::collections::VecDeque;

use laxity_lab::promise::Promise;
use laxity_lab::scenario::{Experiment, RunLength, Task};
use laxity_lab::world::source_stream;
use laxity_model::host::{Applications as Placement, Endless};
use laxity_model::source::{Arrival, Source};
use laxity_qos::channel::{ChannelId, Packet, Sent, Subsystem};
use laxity_units::{Bytes, Time};

/// One per channel.
pub(super) struct Applications {
    placement: Placement,
    all: Vec<Application>,
    /// Which sends next, and when: a list, since looking at it every time must be cheap and most are far off.
    next: Option<Time>,
    /// After this nobody sends.
    until: Time,
}

#[derive(Default)]
struct Application {
    source: Option<Source>,
    next: Option<Arrival>,
    endless: Option<Endless>,
    /// Produced and not sent: waiting for the CPU, or for room.
    pending: VecDeque<Bytes>,
    waits_for_cpu: bool,
    offered: (u64, Bytes),
}

impl Applications {
    pub(super) fn new(experiment: &Experiment, promises: &[Promise]) -> Self {
        let application = |(i, promise): (usize, &Promise)| {
            let spec = &experiment.channels[i];
            if matches!(promise, Promise::Refused(_)) {
                return Application::default();
            }
            // The same stream as under virtual time: the same messages are sent.
            let chance = || source_stream(experiment, i);
            let mut source = spec.source.source(chance());
            let next = source.as_mut().and_then(Source::next_arrival);
            Application { source, next, endless: spec.source.endless(chance()), ..Application::default() }
        };
        let all: Vec<Application> = promises.iter().enumerate().map(application).collect();
        let until = match experiment.task {
            Task::Simulate(RunLength::Time { total, .. }) => Time::ZERO + total,
            Task::Simulate(RunLength::Packets { .. }) | Task::Fill(_) => Time::MAX,
        };
        let next = all.iter().filter_map(|application| application.next.map(|next| next.at)).min();
        Self { placement: experiment.host.applications, all, next, until }
    }

    /// Lets every application send that wants to by `now`.
    #[inline]
    pub(super) fn start(&mut self, now: Time, subsystem: &mut Subsystem) {
        let now = now.min(self.until);
        if self.next.is_none_or(|at| at > now) {
            return;
        }
        for i in 0..self.all.len() {
            while let Some(arrival) = self.all[i].next.filter(|arrival| arrival.at <= now) {
                let application = &mut self.all[i];
                application.next = application.source.as_mut().and_then(Source::next_arrival);
                application.offer(arrival.size);
                self.schedule(now, ChannelId(i as u32), subsystem);
            }
        }
        self.next = self.all.iter().filter_map(|application| application.next.map(|next| next.at)).min();
    }

    fn schedule(&mut self, now: Time, channel: ChannelId, subsystem: &mut Subsystem) {
        let application = &mut self.all[channel.0 as usize];
        match self.placement {
            Placement::Separate => self.send(now, channel, subsystem),
            Placement::Shared if application.waits_for_cpu => {}
            Placement::Shared => {
                application.waits_for_cpu = true;
                subsystem.application_ready(channel);
            }
        }
    }

    /// The application of `channel` has the CPU; answers how many messages it will send.
    pub(super) fn ready(&mut self, channel: ChannelId) -> u64 {
        let application = &mut self.all[channel.0 as usize];
        application.waits_for_cpu = false;
        application.pending.len() as u64
    }

    /// Sends what the application of `channel` has, as far as there is room.
    pub(super) fn send(&mut self, now: Time, channel: ChannelId, subsystem: &mut Subsystem) {
        let application = &mut self.all[channel.0 as usize];
        while let Some(&size) = application.pending.front() {
            if subsystem.send(now, channel, size) == Sent::WouldBlock {
                break;
            }
            application.pending.pop_front();
        }
    }

    /// Lets those try again that found no room, and those send that always have something.
    pub(super) fn retry(&mut self, now: Time, subsystem: &mut Subsystem) {
        for (i, application) in self.all.iter_mut().enumerate() {
            let channel = ChannelId(i as u32);
            if application.waits_for_cpu || (application.pending.is_empty() && application.endless.is_none())
            {
                continue;
            }
            while subsystem.has_room(channel) {
                let size = match (application.pending.pop_front(), &mut application.endless) {
                    (Some(size), _) => size,
                    (None, endless) => {
                        let Some(size) = endless.as_mut().and_then(Endless::draw) else { break };
                        application.offered.0 += 1;
                        application.offered.1 += size;
                        size
                    }
                };
                let answer = subsystem.send(now, channel, size);
                if let Some(endless) = &mut application.endless {
                    endless.answered(answer);
                }
            }
        }
    }

    /// A packet is out of the adapter; its application may wait for that.
    pub(super) fn completed(&mut self, packet: &Packet) {
        if let Some(endless) = &mut self.all[packet.channel.0 as usize].endless {
            endless.returned(packet);
        }
    }

    /// Per channel: messages offered, and their bytes.
    pub(super) fn into_offered(self) -> Vec<(u64, Bytes)> {
        self.all.into_iter().map(|application| application.offered).collect()
    }
}

impl Application {
    fn offer(&mut self, size: Bytes) {
        self.offered.0 += 1;
        self.offered.1 += size;
        self.pending.push_back(size);
    }
}
