//! Applications of a host: the times of their sends. The model handles a send that finds a full
//! queue ([`Senders`]).

use laxity_model::host::Senders;
use laxity_model::source::{Arrival, Source};
use laxity_qos::channel::{ChannelId, CoreId, Packet, Sent, Subsystem};
use laxity_units::{Bytes, Time};
use laxity_world::Said;
use laxity_world::experiment::{Chance, Experiment, RunLength, Task};
use laxity_world::promise::Promise;

pub(super) struct Applications {
    senders: Senders,
    all: Vec<Application>,
    /// Earliest next send of all applications, cached because it is checked often.
    next: Option<Time>,
    /// Last time of a send.
    until: Time,
}

#[derive(Default)]
struct Application {
    source: Option<Source>,
    next: Option<Arrival>,
    offered: (u64, Bytes),
    /// Sends and their results, if the application has a deadline.
    said: Option<Vec<(Time, Said)>>,
}

impl Applications {
    pub(super) fn new(experiment: &Experiment, promises: &[Promise]) -> Self {
        let mut senders = Senders::new(experiment.host(0).applications);
        let mut all = Vec::with_capacity(promises.len());
        for (i, promise) in promises.iter().enumerate() {
            senders.open(ChannelId(i as u32), CoreId::FIRST);
            if promise.is_refused() {
                all.push(Application::default());
                continue;
            }
            let spec = &experiment.channels[i];
            // The same stream as under virtual time, hence the same messages.
            let chance = || experiment.chance(Chance::Source(i));
            let mut source = experiment.source(i, 0);
            let next = source.as_mut().and_then(Source::next_arrival);
            if let Some(endless) = spec.source.endless(chance()) {
                senders.send_without_end(ChannelId(i as u32), endless);
            }
            let said = spec.deadline.map(|_| Vec::new());
            all.push(Application { source, next, said, ..Application::default() });
        }
        let until = match experiment.task {
            Task::Simulate(RunLength::Time { total, .. }) => Time::ZERO + total,
            Task::Simulate(RunLength::Packets { .. }) | Task::Fill(_) => Time::MAX,
        };
        let next = all.iter().filter_map(|application| application.next.map(|next| next.at)).min();
        Self { senders, all, next, until }
    }

    /// Lets every application with a send due by `now` send.
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
                application.count(arrival.size);
                application.say(now, Said::Offered);
                let mut hear = heard(&mut self.all, now);
                self.senders.offer(now, ChannelId(i as u32), arrival.size, subsystem, &mut hear);
            }
        }
        self.next = self.all.iter().filter_map(|application| application.next.map(|next| next.at)).min();
    }

    /// Gives the CPU to the application of `channel`; returns the number of messages that it will
    /// send.
    pub(super) fn dispatch(&mut self, channel: ChannelId, subsystem: &Subsystem) -> u64 {
        self.senders.dispatch(channel, subsystem)
    }

    /// Sends the messages for which the application of `channel` has had the CPU.
    pub(super) fn send(&mut self, now: Time, channel: ChannelId, subsystem: &mut Subsystem) {
        self.senders.send(now, channel, subsystem, &mut heard(&mut self.all, now));
    }

    /// Retries sends that found a full queue, and lets sources without end send.
    pub(super) fn retry(&mut self, now: Time, subsystem: &mut Subsystem) {
        let all = &mut self.all;
        self.senders.retry(now, CoreId::FIRST, subsystem, &mut |channel, size, answer| {
            // Offered messages of a source are counted at the offer; those of a source without end,
            // when sent.
            let application = &mut all[channel.0 as usize];
            if application.source.is_none() {
                application.count(size);
            }
            application.say(now, Said::Answered(size, answer));
        });
    }

    /// Notifies the application of a packet that has left the adapter.
    pub(super) fn completed(&mut self, packet: &Packet) {
        self.senders.returned(packet);
    }

    /// Per channel: number and bytes of the messages offered so far.
    pub(super) fn offered(&self) -> Vec<(u64, Bytes)> {
        self.all.iter().map(|application| application.offered).collect()
    }

    /// Per channel: sends and their results; empty without a deadline.
    pub(super) fn into_said(self) -> Vec<Vec<(Time, Said)>> {
        self.all.into_iter().map(|application| application.said.unwrap_or_default()).collect()
    }
}

impl Application {
    fn count(&mut self, size: Bytes) {
        self.offered.0 += 1;
        self.offered.1 += size;
    }

    fn say(&mut self, now: Time, said: Said) {
        if let Some(all) = &mut self.said {
            all.push((now, said));
        }
    }
}

fn heard(all: &mut [Application], now: Time) -> impl FnMut(ChannelId, Bytes, Sent) {
    move |channel, size, answer| all[channel.0 as usize].say(now, Said::Answered(size, answer))
}
