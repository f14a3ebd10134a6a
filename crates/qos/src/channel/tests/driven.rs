//! A subsystem with a driver that takes each packet out at once.

use std::ops::{Deref, DerefMut};

use laxity_units::{Bytes, Time};

use crate::channel::{
    ChannelConfig, ChannelCounters, ChannelId, Config, CoreId, Dropped, Finished, Packet, Sent, Slots, Step,
    TakenPacket,
};

const OPEN: &str = "the channel is open";

/// A subsystem with such a driver. Its tests use valid channels, except `misuse.rs`.
pub(super) struct Subsystem {
    pub(super) subsystem: crate::channel::Subsystem,
    pub(super) packets: Slots,
}

impl Subsystem {
    pub(super) fn new(config: Config) -> Self {
        Self { subsystem: crate::channel::Subsystem::new(config), packets: Slots::default() }
    }

    pub(super) fn next_step(&mut self, now: Time) -> Step<Packet> {
        match self.subsystem.next_step(CoreId::FIRST, now) {
            Step::Idle => Step::Idle,
            Step::Process { thread, channel, work, bytes, resumed } => {
                Step::Process { thread, channel, work, bytes, resumed }
            }
            Step::Transmit { thread, packet, new_thread } => {
                Step::Transmit { thread, packet: self.packets.take(packet), new_thread }
            }
            Step::Spin { .. } => unreachable!("there is one core"),
            Step::Application { channel } => Step::Application { channel },
            Step::Compute { thread, application, work } => Step::Compute { thread, application, work },
            Step::Read { thread, channel, work } => Step::Read { thread, channel, work },
        }
    }

    pub(super) fn finish(&mut self, now: Time) -> Finished {
        self.subsystem.finish(CoreId::FIRST, now, &mut self.packets)
    }

    pub(super) fn interrupt_transmit(&mut self, now: Time) -> Option<Packet> {
        match self.subsystem.interrupt_transmit(CoreId::FIRST, now) {
            TakenPacket::Packet(slot) => Some(self.packets.take(slot)),
            TakenPacket::Nothing => None,
            TakenPacket::Held => unreachable!("there is one core"),
        }
    }

    pub(super) fn next_wakeup(&mut self, now: Time) -> Option<Time> {
        self.subsystem.next_wakeup(CoreId::FIRST, now)
    }

    pub(super) fn wakeup(&mut self, now: Time) {
        self.subsystem.wakeup(CoreId::FIRST, now);
    }

    pub(super) fn receive(&mut self, now: Time, channel: ChannelId, packet: Packet) -> Result<(), Dropped> {
        let slot = self.packets.put(&packet);
        let dropped = self.subsystem.receive(now, channel, slot, &mut self.packets);
        dropped.expect(OPEN).map_or(Ok(()), Err)
    }

    pub(super) fn open(&mut self, config: ChannelConfig) -> ChannelId {
        self.subsystem.open(config).expect("a number is free")
    }

    pub(super) fn send(&mut self, now: Time, channel: ChannelId, size: Bytes) -> Sent {
        self.subsystem.send(now, channel, size).expect(OPEN)
    }

    pub(super) fn has_room(&self, now: Time, channel: ChannelId) -> bool {
        self.subsystem.has_room(now, channel).expect(OPEN)
    }

    pub(super) fn room(&self, channel: ChannelId) -> u64 {
        self.subsystem.room(channel).expect(OPEN)
    }

    pub(super) fn counters(&self, channel: ChannelId) -> &ChannelCounters {
        self.subsystem.counters(channel).expect(OPEN)
    }

    pub(super) fn buffers_in_use(&self, channel: ChannelId) -> u64 {
        self.subsystem.buffers_in_use(channel).expect(OPEN)
    }

    pub(super) fn transmitted(&mut self, now: Time, packet: &Packet) {
        self.subsystem.transmitted(CoreId::FIRST, now, packet);
    }

    pub(super) fn failed(&mut self, now: Time, packet: &Packet) {
        self.subsystem.failed(CoreId::FIRST, now, packet, Dropped::Adapter);
    }

    pub(super) fn wants_preemption(&mut self, now: Time) -> bool {
        self.subsystem.wants_preemption(CoreId::FIRST, now)
    }

    pub(super) fn preempt(&mut self, now: Time) {
        self.subsystem.preempt(CoreId::FIRST, now);
    }
}

impl Deref for Subsystem {
    type Target = crate::channel::Subsystem;

    fn deref(&self) -> &crate::channel::Subsystem {
        &self.subsystem
    }
}

impl DerefMut for Subsystem {
    fn deref_mut(&mut self) -> &mut crate::channel::Subsystem {
        &mut self.subsystem
    }
}
