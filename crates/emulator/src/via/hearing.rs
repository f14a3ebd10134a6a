//! When the adapters' process is called, and what it hears then: doorbells by turns, and whether something is asked for.

use laxity_engine::{Calendar, World};
use laxity_model::via::ViaOutput;
use laxity_units::Time;
use laxity_vi::provider;

use super::cluster::{Cluster, Event, Rung};
use super::inputs::Inputs;

/// Doorbells of one process that are heard before it is another's turn.
const TURN: u32 = 8;

impl Cluster {
    /// What every process rang, so many of each at `most`.
    fn hear(&mut self, most: u32) {
        let Self { heard, violations, bells, .. } = self;
        for (process, place) in (0..).zip(bells.all().iter_mut()) {
            let Some((memory, hearer)) = place.as_mut().filter(|(memory, hearer)| hearer.is_rung(memory))
            else {
                continue;
            };
            hearer.hear(memory, most, |doorbell| match doorbell {
                Some(provider::Doorbell { vi, queue, count }) => {
                    heard.push(Rung { process, vi, which: queue, count });
                }
                None => violations.garbled_doorbells += 1,
            });
        }
    }

    /// Hears what was rung, and whether something is asked for, when the world is woken at a time: with when that was read. `None` if the log says no more.
    fn listen(&mut self, at: Time) -> Option<(Time, bool)> {
        if let Inputs::Logged(_) = self.inputs {
            let (read_at, garbled, asked) = self.inputs.wake(&mut self.heard)?;
            self.violations.garbled_doorbells += garbled;
            return Some((read_at.max(at), asked));
        }
        // Time that has passed unseen has passed: what is read now happens now.
        let now = self.epoch.map_or(at, |epoch| epoch.now().max(at));
        // What was rung before something was asked for is heard before it, all of it.
        let (asked, before) = (self.desk.hear(), self.violations.garbled_doorbells);
        self.hear(if asked { u32::MAX } else { TURN });
        let garbled = self.violations.garbled_doorbells - before;
        self.inputs.keep(self.events, (at, now), &self.heard, (garbled, asked));
        Some((now, asked))
    }
}

/// A digest of what adapters have done up to now, and of this.
pub(super) fn digest(before: u64, node: usize, at: Time, output: ViaOutput) -> u64 {
    let (kind, vi, number) = match output {
        ViaOutput::Departs(message) => (0, message.vi, message.number),
        ViaOutput::Sent(message) => (1, message.vi, message.number),
        ViaOutput::Received(message) => (2, message.vi, message.number),
        ViaOutput::Dropped(message) => (3, message.vi, message.number),
        ViaOutput::Posted(vi) => (4, vi, 0),
        // They follow from these.
        ViaOutput::Moved(..) | ViaOutput::Did(..) | ViaOutput::Worked(..) => return before,
    };
    [kind << 56 | (node as u64) << 32 | u64::from(vi), number, at.as_ps()].into_iter().fold(
        before,
        |state, word| {
            // The step of splitmix64.
            let z = (state ^ word).wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ (z >> 31)
        },
    )
}

impl World for Cluster {
    type Event = Event;

    fn handle(&mut self, now: Time, event: Event, calendar: &mut Calendar<Event>) {
        self.events += 1;
        self.over |= !self.inputs.happened();
        match event {
            Event::Rung(rung) => {
                self.rung(now, rung, calendar);
                self.calm(now, calendar);
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
            Event::Asked => self.answer(now, calendar),
        }
        self.tell_programs();
    }

    fn poll_inputs(&mut self, at: Time, calendar: &mut Calendar<Event>) {
        let Some((now, asked)) = self.listen(at) else {
            self.over = true;
            return;
        };
        let mut heard = std::mem::take(&mut self.heard);
        if calendar.next_time().is_some_and(|next| next <= now) {
            heard.drain(..).for_each(|rung| calendar.schedule(now, Event::Rung(rung)));
        } else {
            heard.drain(..).for_each(|rung| self.rung(now, rung, calendar));
            self.calm(now, calendar);
            self.tell_programs();
        }
        self.heard = heard;
        if asked {
            calendar.schedule(now, Event::Asked);
        }
    }

    fn is_finished(&self) -> bool {
        self.over
    }
}
