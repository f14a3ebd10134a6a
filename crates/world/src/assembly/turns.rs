//! The order in which stations act, are notified and are called next.
//!
//! An event happens at one station. Shared media notify other stations at the same instant; then
//! each of these stations reports its next deadline. In most cases the first of these deadlines is
//! the next event, at the same station: the station is called at once, and the calendar only
//! [advances](Calendar::leap).

use laxity_engine::trace::TraceSink;
use laxity_engine::{Calendar, World};
use laxity_qos::seldom::seldom;
use laxity_units::Time;

use super::networks::Told;
use super::state::{AssemblyEvent, Call};
use super::{Assembly, Outside};

impl<T: TraceSink, O: Outside> Assembly<'_, '_, T, O> {
    /// The deadline of a station is reached.
    #[inline]
    pub(super) fn call(&mut self, now: Time, station: usize, calendar: &mut Calendar<AssemblyEvent>) {
        match self.switches.has(station) {
            false if self.terminals.at(station).is_some() => self.wake(now, station),
            false => self.nodes[station].timer(now, &mut self.around.of(station, now, calendar)),
            true => {
                self.switches.timer(now, station, &mut self.around.of_port(station, now, calendar));
                self.look_at_port(station, now);
            }
        }
    }

    /// A station has acted at `now`. It goes on as long as its deadline is the next event; then the
    /// deadline is scheduled.
    #[inline]
    pub(super) fn acted(&mut self, station: usize, mut now: Time, calendar: &mut Calendar<AssemblyEvent>) {
        let mut leapt = false;
        loop {
            self.look_after(station, now);
            self.schedule_rounds(calendar);
            if self.around.networks.is_touched() {
                self.settle(now, calendar);
                self.ask_others(station, calendar);
            }
            let deadline = self.deadline(station).filter(|_| !self.is_finished());
            // An earlier call of the station is not before that, or it would be next.
            let Some(at) = deadline.filter(|at| calendar.leap(*at)) else { break };
            (now, leapt) = (at, true);
            self.call(now, station, calendar);
        }
        if leapt {
            self.asked[station].leapt();
        }
        self.ask(station, calendar);
    }

    /// A medium has been called.
    pub(super) fn granted(&mut self, now: Time, calendar: &mut Calendar<AssemblyEvent>) {
        self.settle(now, calendar);
        if let Some(station) = self.restless.pop() {
            self.ask_others(station, calendar);
            self.acted(station, now, calendar);
        }
    }

    /// Schedules the calls of stations that a medium has notified, except `station`.
    #[inline]
    fn ask_others(&mut self, station: usize, calendar: &mut Calendar<AssemblyEvent>) {
        while let Some(other) = self.restless.pop() {
            if other != station {
                self.ask(other, calendar);
            }
        }
    }

    /// The context may have recorded something that needs the nodes. `station` is the one that acted.
    #[inline]
    pub(super) fn look_after(&mut self, station: usize, now: Time) {
        if seldom(self.around.unasked) {
            self.around.ask((&self.nodes, &self.switches, &self.terminals));
        }
        if seldom(self.around.observer.has_seen()) {
            self.around.observer.look_at(now, &self.nodes);
        }
        if self.around.observer.is_kept() {
            self.around.observer.look_at_adapters(station, now, &self.nodes);
        }
    }

    /// A packet has arrived at a port or left it.
    #[inline]
    pub(super) fn look_at_port(&mut self, port: usize, now: Time) {
        if self.around.observer.is_kept() {
            self.around.observer.waits(port, now, self.switches.waiting(port));
        }
    }

    /// When a station next wants to be called.
    #[inline]
    fn deadline(&self, station: usize) -> Option<Time> {
        match self.switches.has(station) {
            false => match self.terminals.at(station) {
                Some(terminal) => terminal.next_deadline(),
                None => self.nodes[station].next_deadline(),
            },
            true => self.switches.next_deadline(station),
        }
    }

    /// Schedules the next call of a station, if that has changed.
    #[inline]
    pub(super) fn ask(&mut self, station: usize, calendar: &mut Calendar<AssemblyEvent>) {
        let deadline = self.deadline(station);
        if let Some((at, asked)) = self.asked[station].change(deadline) {
            calendar.schedule(at, AssemblyEvent::Node(Call::new(station, asked)));
        }
    }

    /// Passes the grants of media to nodes, and schedules the calls of the media.
    #[inline]
    pub(super) fn settle(&mut self, now: Time, calendar: &mut Calendar<AssemblyEvent>) {
        while let Some(told) = self.around.networks.poll() {
            match told {
                Told::Access((node, link), access) => {
                    self.nodes[node].medium_at(now, link, access, &mut self.around.of(node, now, calendar));
                    self.look_after(node, now);
                    self.restless.push(node);
                }
                Told::Called(network, deadline) => {
                    if let Some((at, asked)) = self.media_asked[network].change(deadline) {
                        calendar.schedule(at, AssemblyEvent::Medium(Call::new(network, asked)));
                    }
                }
            }
        }
    }
}
