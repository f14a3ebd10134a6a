//! Interrupts: responses of an adapter, and their handling by the host.

use std::sync::atomic::Ordering;

use laxity_model::adapter::{AdapterResponse, Directive};
use laxity_model::host::{Use, cost_of_transmit};
use laxity_qos::channel::{CoreId, Packet, Slot, TakenPacket};
use laxity_units::{Span, Time};
use laxity_world::Input;

use super::EmulatedHost;

impl EmulatedHost<'_> {
    /// Checks for events: due sends, timers, interrupts.
    pub(super) fn attend(&mut self, now: Time) {
        self.applications.start(now, &mut self.subsystem);
        if self.wakeup.is_some_and(|at| at <= now) {
            self.subsystem.wakeup(CoreId::FIRST, now);
            self.wakeup = None;
            // One timer serves all packets that became eligible, and there may be several free
            // places.
            let mut at = now;
            while self.transmit_in_interrupt(at) {
                at = self.epoch.now();
            }
            self.wakeup = self.subsystem.next_wakeup(CoreId::FIRST, now);
        }
        let announced = self.wires.interrupts.as_mut().is_some_and(|line| line.take().is_some());
        if announced || self.look.is_some_and(|at| at <= now) {
            self.read(now);
        } else if self.look.is_none() {
            self.look = self.watchdog.next_look(now);
        }
        if self.watchdog.gives_up(now) {
            self.watchdog.has_reset();
            self.push(Input::Reset { node: 0 });
        }
    }

    fn read(&mut self, now: Time) {
        self.watchdog.looked(now);
        self.look = self.watchdog.next_look(now);
        while let Some(response) = self.wires.responses.pop() {
            let began = self.epoch.now();
            self.spend(began, self.costs.interrupt, Use::Interrupt, false);
            let now = self.epoch.now();
            match response {
                AdapterResponse::Progress(_) => {}
                AdapterResponse::Handshake(packet) => self.write(Directive::Proceed(packet)),
                AdapterResponse::Transmitted(packet) => {
                    self.subsystem.transmitted(CoreId::FIRST, now, &packet);
                    self.settled(&packet);
                }
                AdapterResponse::Failed(packet, loss) => {
                    self.subsystem.failed(CoreId::FIRST, now, &packet, loss.cause());
                    self.settled(&packet);
                }
                AdapterResponse::Received(packet) => {
                    let slot = self.packets.put(&packet);
                    // A packet that finds no buffer is in the subsystem's counters.
                    let received = self.subsystem.receive(now, packet.channel, slot, &mut self.packets);
                    received.expect("an adapter receives packets of open channels only");
                }
            }
            self.transmit_in_interrupt(now);
        }
        self.wakeup = self.subsystem.next_wakeup(CoreId::FIRST, self.epoch.now());
    }

    fn settled(&mut self, packet: &Packet) {
        self.watchdog.returned(&packet.name());
        self.applications.completed(packet);
    }

    /// Starts the next packet, if there is one and a place for it; returns whether it did.
    fn transmit_in_interrupt(&mut self, now: Time) -> bool {
        let TakenPacket::Packet(packet) = self.subsystem.interrupt_transmit(CoreId::FIRST, now) else {
            return false;
        };
        self.spend(now, self.cost_of_transmit(packet), Use::LinkScheduling, false);
        self.hand_over(packet);
        true
    }

    /// Cost of handing `packet` to the adapter.
    pub(super) fn cost_of_transmit(&self, packet: Slot) -> Span {
        let paradigm = self.experiment.host(0).subsystem.link.paradigm;
        cost_of_transmit(&self.costs, paradigm, self.packets.at(packet).size)
    }

    pub(super) fn write(&mut self, command: Directive) {
        self.push(Input::Command { node: 0, command });
    }

    /// Writes into the command ring; waits while it is full, since the adapter keeps reading.
    fn push(&mut self, input: Input) {
        while self.wires.commands.push(input).is_err() {
            if self.wires.over.load(Ordering::Acquire) {
                return;
            }
            std::hint::spin_loop();
        }
    }
}
