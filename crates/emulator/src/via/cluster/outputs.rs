//! Execution of adapters' outputs, and of their consequences, until there are none.

use laxity_engine::{Calendar, splitmix64};
use laxity_model::via::{ViDirection, ViaOutput};
use laxity_units::Time;
use laxity_vi::{Reliability, ViFault};

use super::super::RecordedOutput;
use super::{Cluster, Event};

/// Maximum number of recorded outputs.
const MOST_RECORDS: usize = 1 << 20;

impl Cluster {
    /// Executes an adapter's outputs, and their consequences.
    pub(super) fn settle(&mut self, now: Time, node: usize, calendar: &mut Calendar<Event>) {
        self.stir(node);
        self.calm(now, calendar);
    }

    /// Executes all outputs, and schedules the adapters' next timers.
    pub(super) fn calm(&mut self, now: Time, calendar: &mut Calendar<Event>) {
        while let Some(node) = self.restless.pop() {
            while let Some((at, output)) = self.adapters[node].next_output() {
                if self.inputs.are_kept() {
                    self.digest = digest(self.digest, node, at, output);
                }
                self.carry_out(at.max(now), node, output, calendar);
            }
            if let Some((at, asked)) = self.asked[node].change(self.adapters[node].next_deadline()) {
                calendar.schedule(at.max(now), Event::Adapter { node: node as u32, asked });
            }
        }
    }

    fn carry_out(&mut self, now: Time, node: usize, output: ViaOutput, calendar: &mut Calendar<Event>) {
        let whose = |endpoint: u32| self.endpoints[node][endpoint as usize];
        match output {
            ViaOutput::Did(..) | ViaOutput::Worked(..) => {
                if self.recorded.len() < MOST_RECORDS {
                    self.recorded.push(RecordedOutput { node: node as u32, at: now, output });
                }
            }
            ViaOutput::Moved(ViDirection::Send, message) => {
                whose(message.vi).inspect(|vi| self.fetch(*vi, message.number));
            }
            ViaOutput::Departs(message) => {
                whose(message.vi).inspect(|vi| self.depart(now, *vi, message, calendar));
            }
            ViaOutput::Sent(message) => {
                let Some(vi) = whose(message.vi) else { return };
                self.rung_out(now, vi);
                let Self { interfaces, channels, .. } = self;
                let own = interfaces[vi as usize].as_mut();
                if let Some((channel, outgoing)) =
                    own.and_then(|own| Some((own.channel, own.outgoing.item(message.number)?)))
                {
                    outgoing.sent = true;
                    if let Some((channel, rung_at)) = channel.zip(outgoing.rung_at)
                        && outgoing.flaw.is_none()
                    {
                        channels[channel as usize].complete(now, rung_at);
                    }
                }
                self.complete_sends(now, vi, calendar);
            }
            ViaOutput::Moved(ViDirection::Receive, message) => {
                whose(message.vi).inspect(|vi| self.store(*vi, message.number));
            }
            ViaOutput::Received(message) => {
                whose(message.vi).inspect(|vi| self.come(now, *vi, message.number, calendar));
            }
            ViaOutput::Dropped(message) => {
                let Some(vi) = whose(message.vi) else { return };
                let Some(interface) = self.interface(vi) else { return };
                interface.tally.lost += 1;
                let breaks = interface.reliability == Reliability::Reliable;
                if let Some(arrival) = interface.arrivals.item(message.number) {
                    arrival.over = true;
                    let (of, void) = (arrival.of, arrival.void);
                    of.into_iter().for_each(|channel| self.channels[channel as usize].lose());
                    if breaks && !void {
                        self.break_off(now, vi, ViFault::ReceiveQueueEmpty, calendar);
                    }
                }
                self.sweep(now, vi);
            }
            ViaOutput::Posted(endpoint) => {
                let Some(vi) = whose(endpoint) else { return };
                if let Some(interface) = self.interface(vi) {
                    interface.unposted = interface.unposted.saturating_sub(1);
                }
                self.rung_out(now, vi);
                self.sweep(now, vi);
            }
        }
    }
}

/// Digest of all outputs up to this one.
fn digest(before: u64, node: usize, at: Time, output: ViaOutput) -> u64 {
    let (kind, vi, number) = match output {
        ViaOutput::Departs(message) => (0, message.vi, message.number),
        ViaOutput::Sent(message) => (1, message.vi, message.number),
        ViaOutput::Received(message) => (2, message.vi, message.number),
        ViaOutput::Dropped(message) => (3, message.vi, message.number),
        ViaOutput::Posted(vi) => (4, vi, 0),
        // They follow from the others.
        ViaOutput::Moved(..) | ViaOutput::Did(..) | ViaOutput::Worked(..) => return before,
    };
    let words = [kind << 56 | (node as u64) << 32 | u64::from(vi), number, at.as_ps()];
    words.into_iter().fold(before, |state, word| splitmix64(state ^ word))
}
