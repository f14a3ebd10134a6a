//! Wakes of the adapters' process, and the inputs that it reads then: doorbells round-robin, and
//! pending orders.

use laxity_engine::{Calendar, World};
use laxity_units::Time;
use laxity_vi::provider;

use super::super::bells::Rung;
use super::super::inputs::Inputs;
use super::{Cluster, Event};

/// Descriptors for which one process is served in one round.
const TURN: u32 = 8;

impl Cluster {
    /// Reads the doorbells of every process, at most one round; returns whether all doorbells
    /// before a pending order were read.
    fn hear(&mut self) -> bool {
        let Self { heard, violations, bells, .. } = self;
        let mut all = true;
        for (process, place) in (0..).zip(bells.all().iter_mut()) {
            let Some((memory, hearer)) = place.as_mut().filter(|(memory, hearer)| hearer.is_rung(memory))
            else {
                continue;
            };
            hearer.hear(memory, TURN, |doorbell| match doorbell {
                Some(provider::Doorbell { vi, queue, count }) => {
                    heard.push(Rung { process, vi, which: queue, count });
                }
                None => violations.garbled_doorbells += 1,
            });
            all &= !hearer.is_before_mark();
        }
        all
    }

    /// Reads doorbells and pending orders when the world is woken at `at`; returns the time of the
    /// read, and whether an order is to be handled. `None` at the end of a log.
    fn listen(&mut self, at: Time) -> Option<(Time, bool)> {
        if let Inputs::Logged(_) = self.inputs {
            let (read_at, garbled, asked) = self.inputs.wake(&mut self.heard)?;
            self.violations.garbled_doorbells += garbled;
            return Some((read_at.max(at), asked));
        }
        // The elapsed time is not ignored: inputs read now happen now. The end does not wait for
        // late events.
        let is_over = self.desk.is_over();
        let now = self.epoch.filter(|_| !is_over).map_or(at, |epoch| epoch.now().max(at));
        // All doorbells rung before an order are handled before it, still round-robin: a process
        // that sends orders without end gets no more of its doorbells handled than others.
        if self.desk.hear() {
            self.asks = true;
            self.bells.mark();
        }
        let before = self.violations.garbled_doorbells;
        let asked = (self.hear() || is_over) && std::mem::take(&mut self.asks);
        let garbled = self.violations.garbled_doorbells - before;
        self.inputs.keep(self.events, (at, now), &self.heard, (garbled, asked));
        Some((now, asked))
    }
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
            Event::Played { vi, number } => {
                self.play(now, vi, number, calendar);
                self.calm(now, calendar);
            }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    use laxity_model::via::{Firmware, ViaConfig};
    use laxity_units::Span;

    use super::super::super::desk::Desk;
    use super::super::Setup;
    use super::*;

    /// Rings for `count` descriptors of `vi`, by the layout that the crate `vi` documents.
    fn ring(memory: &provider::Memory, vi: u64, count: u64) {
        let rung = memory.word32(0).load(Ordering::Relaxed);
        memory.word64(512 + 8 * rung as usize).store(vi | count << 32, Ordering::Relaxed);
        memory.word32(0).store(rung + 1, Ordering::Release);
    }

    /// One process rings for 256 descriptors on each of four virtual interfaces, continues to ring,
    /// and sends an order; another rings for one descriptor after each round.
    #[test]
    fn whoever_rings_for_much_is_heard_by_turns_and_holds_up_nobody() {
        let adapter = ViaConfig::table_1(Firmware::QualityOfService);
        let setup =
            Setup { adapter, nodes: 1, latency: Span::ZERO, longest: Setup::LONGEST, recorded: false };
        let (desk, counter) = Desk::with_counter(&Arc::default());
        let mut cluster = Cluster::new(setup, None, desk);
        let memories = [0, 1].map(|process| {
            let (memory, file) = provider::doorbells().unwrap();
            cluster.bells.put(process, provider::Memory::map(&file, memory.bytes()).unwrap());
            memory
        });
        (0..4).for_each(|vi| ring(&memories[0], vi, 256));
        counter.asked.store(true, Ordering::Release);
        for turn in 1..=128 {
            ring(&memories[1], 9, 1);
            let (_, asked) = cluster.listen(Time::ZERO).unwrap();
            let heard: Vec<_> =
                cluster.heard.drain(..).map(|rung| (rung.process, rung.vi, rung.count)).collect();
            assert_eq!(heard, [(0, (turn - 1) / 32, 8), (1, 9, 1)]);
            assert_eq!(asked, turn == 128, "{turn}");
            // After the order.
            ring(&memories[0], 5, 256);
        }
        let (_, asked) = cluster.listen(Time::ZERO).unwrap();
        assert!(!asked && cluster.heard[0].vi == 5);
    }

    /// A process has rung for more than one round, and the adapters are a second behind: the end is
    /// still the next event.
    #[test]
    fn an_end_waits_neither_for_doorbells_nor_for_late_events() {
        let adapter = ViaConfig::table_1(Firmware::QualityOfService);
        let setup =
            Setup { adapter, nodes: 1, latency: Span::ZERO, longest: Setup::LONGEST, recorded: false };
        let over = Arc::default();
        let (desk, counter) = Desk::with_counter(&over);
        let epoch = laxity_engine::TickEpoch::starting_in(
            Span::ZERO,
            laxity_engine::Ticks::calibrate(),
            laxity_engine::Dilation::NONE,
        );
        let mut cluster = Cluster::new(setup, Some(epoch), desk);
        let (memory, file) = provider::doorbells().unwrap();
        cluster.bells.put(0, provider::Memory::map(&file, memory.bytes()).unwrap());
        (0..4).for_each(|vi| ring(&memory, vi, 256));
        let at = Time::from_ps(7);
        counter.asked.store(true, Ordering::Release);
        let (now, asked) = cluster.listen(at).unwrap();
        assert!(now > at && !asked, "an order happens when it is read, after what was rung before it");
        over.store(true, Ordering::Release);
        assert!(cluster.desk.is_asked());
        assert_eq!(cluster.listen(at).unwrap(), (at, true));
        assert!(!cluster.desk.is_asked(), "it is heard once");
        counter.asked.store(true, Ordering::Release);
        assert_eq!(cluster.listen(at).unwrap(), (at, true), "the order to stop");
    }
}
