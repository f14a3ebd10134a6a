//! Timelines worked out by hand, and conservation over random ones.

use laxity_engine::Seed;
use laxity_qos::channel::{Carried, Slots};
use laxity_qos::discipline::LOWEST;
use laxity_qos::traffic::TrafficSpec;
use proptest::prelude::*;

use laxity_units::ByteTime;

use super::*;
use crate::around::Heard;

mod preemption;

/// A switch with a packet table, which records its outputs and frees frames that have left.
struct Bench {
    switch: Switch,
    packets: Slots,
}

impl Bench {
    fn new(ports: impl IntoIterator<Item = PortConfig>, shared: Bytes) -> Self {
        Self { switch: Switch::new(ports, shared), packets: Slots::default() }
    }

    fn receive(
        &mut self,
        now: Time,
        port: usize,
        packet: &Packet,
        hear: &mut impl FnMut(SwitchOutput<&Packet>),
    ) {
        let slot = self.packets.put(packet);
        let hear = |packets: &mut Slots, output| told(packets, output, hear);
        self.switch.receive(now, port, slot, &mut Heard { packets: &mut self.packets, hear });
    }

    fn timer(&mut self, now: Time, port: usize, hear: &mut impl FnMut(SwitchOutput<&Packet>)) {
        let hear = |packets: &mut Slots, output| told(packets, output, hear);
        self.switch.timer(now, port, &mut Heard { packets: &mut self.packets, hear });
    }
}

fn told(packets: &mut Slots, output: SwitchOutput<Slot>, hear: &mut impl FnMut(SwitchOutput<&Packet>)) {
    hear(match output {
        SwitchOutput::Begun(slot, until) => SwitchOutput::Begun(packets.at(slot), until),
        SwitchOutput::Interrupted(slot) => SwitchOutput::Interrupted(packets.at(slot)),
        SwitchOutput::Resumed(slot) => SwitchOutput::Resumed(packets.at(slot)),
        SwitchOutput::Departed(slot) => SwitchOutput::Departed(packets.free(slot)),
        SwitchOutput::Discarded(slot) => SwitchOutput::Discarded(packets.free(slot)),
    });
}

impl std::ops::Deref for Bench {
    type Target = Switch;

    fn deref(&self) -> &Switch {
        &self.switch
    }
}

impl std::ops::DerefMut for Bench {
    fn deref_mut(&mut self) -> &mut Switch {
        &mut self.switch
    }
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// 1 us for each byte.
fn port(order: Order, memory: u64) -> PortConfig {
    let link = LinkCosts { per_byte: ByteTime::from_us(1), ..LinkCosts::default() };
    PortConfig {
        link,
        order,
        early: EarlyPolicy::HOLD,
        frame: Span::from_us(3),
        selection: None,
        preemptable_from: None,
        memory: Bytes::new(memory),
    }
}

fn flow(class: Class, deadline: u64, reserved: u64) -> PortFlow {
    let level = if class == Class::RealTime { 0 } else { LOWEST };
    PortFlow {
        class,
        deadline: Span::from_us(deadline),
        tick: Vtick::new(Span::from_ms(1), Bytes::new(10)),
        level,
        reserved,
    }
}

/// A packet that was due at the place before at `due`.
fn packet(channel: u32, message: u64, size: u64, class: Class, due: u64) -> Packet {
    let size = Bytes::new(size);
    let deadline = if class == Class::RealTime { at(due) } else { Time::MAX };
    let tag = Tag { class, logical_arrival: at(0), deadline, tick: Vtick::NONE, level: 0 };
    Packet {
        channel: ChannelId(channel),
        message,
        index: 0,
        count: 1,
        size,
        message_size: size,
        tag,
        due_from: at(0),
        sent: at(0),
        created: at(0),
        handed: at(0),
        carried: Carried::NOTHING,
    }
}

/// A packet arrives at a time in microseconds for a port; `lost` has the messages of those that are dropped.
fn come(switch: &mut Bench, (time, port): (u64, usize), packet: &Packet, lost: &mut Vec<u64>) {
    switch.receive(at(time), port, packet, &mut |output| {
        if let SwitchOutput::Discarded(packet) = output {
            lost.push(packet.message);
        }
    });
}

/// Lets `switch` go on until `until`; answers what leaves `port`, as message and time in microseconds.
fn run(switch: &mut Bench, port: usize, until: u64) -> Vec<(u64, u64)> {
    let mut left = Vec::new();
    while let Some(due) = switch.next_deadline(port).filter(|due| *due <= at(until)) {
        switch.timer(due, port, &mut |output| {
            if let SwitchOutput::Departed(packet) = output {
                left.push((packet.message, due.saturating_since(Time::ZERO).as_ps() / 1_000_000));
            }
        });
    }
    left
}

use Class::{BestEffort, RealTime};

/// Best effort of 10 us goes first, for the link is free. Meanwhile three arrive: best effort, one
/// that is due at 0 + 40 and one due at 5 + 20, which by its deadline goes first. So 0 leaves at
/// 10, 3 at 14, 2 at 17, 1 at 22.
#[test]
fn deadlines_order_what_waits() {
    let mut switch = Bench::new([port(Order::MultiClassEdf, 1000)], Bytes::ZERO);
    for (channel, flow) in
        [flow(BestEffort, 0, 0), flow(RealTime, 40, 9), flow(RealTime, 20, 9)].iter().enumerate()
    {
        switch.open(0, ChannelId(channel as u32), *flow);
    }
    let mut begun = Vec::new();
    let came = [
        (0, packet(0, 0, 10, BestEffort, 0)),
        (1, packet(0, 1, 5, BestEffort, 0)),
        (2, packet(1, 2, 3, RealTime, 0)),
        (5, packet(2, 3, 4, RealTime, 5)),
    ];
    for (time, packet) in came {
        switch.receive(at(time), 0, &packet, &mut |output| match output {
            SwitchOutput::Begun(packet, until) => begun.push((packet.message, until)),
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(begun, [(0, at(10))], "the others wait");
    assert_eq!([5, 9, 10].map(|now| switch.report(0, at(now)).busy), [5, 9, 10].map(Span::from_us));
    assert_eq!(switch.report(0, at(5)).waiting, 3);
    assert_eq!(run(&mut switch, 0, 100), [(0, 10), (3, 14), (2, 17), (1, 22)]);
    let report =
        PortReport { busy: Span::from_us(22), passed: 4, lost: 0, policed: 0, waiting: 0, longest: 3 };
    assert_eq!(switch.report(0, at(100)), report);
}

/// Its deadline at the previous hop was 50, and it arrived at 3: it is held until 50, and best
/// effort that arrives at 20 goes first. With an endless horizon it goes at once.
#[test]
fn what_is_ahead_of_its_time_is_held() {
    for (early, expected) in
        [(EarlyPolicy::HOLD, [(1, 30), (0, 54)]), (EarlyPolicy::CONSERVE, [(0, 7), (1, 30)])]
    {
        let config = PortConfig { early, ..port(Order::MultiClassEdf, 1000) };
        let mut switch = Bench::new([config], Bytes::ZERO);
        switch.open(0, ChannelId(0), flow(RealTime, 10, 1));
        switch.open(0, ChannelId(1), flow(BestEffort, 0, 0));
        switch.receive(at(3), 0, &packet(0, 0, 4, RealTime, 50), &mut |_| {});
        let mut left = run(&mut switch, 0, 20);
        switch.receive(at(20), 0, &packet(1, 1, 10, BestEffort, 0), &mut |_| {});
        left.extend(run(&mut switch, 0, 100));
        assert_eq!(left, expected, "{early:?}");
    }
}

/// The meter of channel 0 has two messages of 5 bytes at once and one each 20 us, with a tolerance of 3 us.
/// Two pass at 0. The third would be within the contract at 20, so it passes from 17 on: not at 16. A
/// dropped frame takes no tokens. Channel 1 has no meter, and best effort of channel 0 passes its own.
#[test]
fn a_meter_drops_what_is_beyond_the_contract() {
    let mut switch = Bench::new([port(Order::Fifo, 1000)], Bytes::ZERO);
    switch.open(0, ChannelId(0), flow(RealTime, 0, 0));
    switch.open(0, ChannelId(1), flow(RealTime, 0, 0));
    let message = Bytes::new(5);
    let interval = Span::from_us(20);
    let spec = TrafficSpec { max_message: message, min_message: message, burst: 2, min_interval: interval };
    switch.meter(0, ChannelId(0), TokenBucket::new(&spec, Span::from_us(3)));
    let came = [
        (0, packet(0, 0, 5, RealTime, 0)),
        (0, packet(0, 1, 5, RealTime, 0)),
        (0, packet(0, 2, 1, RealTime, 0)),
        (0, packet(1, 3, 5, RealTime, 0)),
        (16, packet(0, 4, 5, RealTime, 0)),
        (16, packet(0, 5, 5, BestEffort, 0)),
        (17, packet(0, 6, 5, RealTime, 0)),
        (36, packet(0, 7, 5, RealTime, 0)),
        (37, packet(0, 8, 4, RealTime, 0)),
        (37, packet(0, 9, 2, RealTime, 0)),
    ];
    let mut dropped = Vec::new();
    for (time, packet) in came {
        come(&mut switch, (time, 0), &packet, &mut dropped);
    }
    assert_eq!(dropped, [2, 4, 7, 9]);
    let report = switch.report(0, at(37));
    assert_eq!((report.policed, report.lost), (4, 0));
}

/// Port 0 has 10 bytes to itself and port 1 none; both share 10. A frame of 8 at each: one in port
/// 0's own, the other shared. The next frame of 8 finds neither, whichever port. A guaranteed frame
/// finds its reserved place, a second does not; when the link has sent the first it does again.
#[test]
fn room_is_reserved_owned_or_shared() {
    let mut switch = Bench::new([port(Order::Fifo, 10), port(Order::Fifo, 0)], Bytes::new(10));
    for port in [0, 1] {
        switch.open(port, ChannelId(0), flow(BestEffort, 0, 0));
        switch.open(port, ChannelId(1), flow(RealTime, 10, 1));
    }
    let mut lost = Vec::new();
    let mut come = |switch: &mut Bench, time, port, packet| come(switch, (time, port), &packet, &mut lost);
    for (message, port) in [(0, 0), (1, 1), (2, 0), (3, 1)] {
        come(&mut switch, 0, port, packet(0, message, 8, BestEffort, 0));
    }
    come(&mut switch, 1, 1, packet(1, 4, 8, RealTime, 0));
    come(&mut switch, 1, 1, packet(1, 5, 8, RealTime, 0));
    // 1 leaves port 1 at 8, and what it took of the shared memory is free again; 4 leaves at 16.
    assert_eq!(run(&mut switch, 1, 8), [(1, 8)]);
    come(&mut switch, 8, 1, packet(0, 6, 9, BestEffort, 0));
    come(&mut switch, 8, 0, packet(0, 7, 2, BestEffort, 0));
    come(&mut switch, 8, 0, packet(0, 8, 2, BestEffort, 0));
    assert_eq!(run(&mut switch, 1, 16), [(4, 16)]);
    come(&mut switch, 16, 1, packet(1, 9, 8, RealTime, 0));
    assert_eq!(run(&mut switch, 1, 100), [(6, 25), (9, 33)]);
    assert_eq!(run(&mut switch, 0, 100), [(0, 8), (7, 10)]);
    assert_eq!(lost, [2, 3, 5, 8]);
    assert_eq!([switch.report(0, at(100)).lost, switch.report(1, at(100)).lost], [2, 2]);
}

/// A frame that exceeded its contract has no guarantee here either: it takes no reserved memory,
/// and waits behind best effort.
#[test]
fn excess_stays_without_a_guarantee() {
    let mut switch = Bench::new([port(Order::MultiClassEdf, 20)], Bytes::ZERO);
    switch.open(0, ChannelId(0), flow(RealTime, 10, 5));
    switch.open(0, ChannelId(1), flow(BestEffort, 0, 0));
    let came = [packet(1, 0, 8, BestEffort, 0), packet(0, 1, 8, BestEffort, 0), packet(0, 2, 8, RealTime, 0)];
    let mut lost = 0;
    for packet in came.iter().chain([&packet(0, 3, 8, BestEffort, 0)]) {
        switch.receive(at(0), 0, packet, &mut |output| {
            lost += u64::from(matches!(output, SwitchOutput::Discarded(_)));
        });
    }
    assert_eq!((run(&mut switch, 0, 100), lost), (vec![(0, 8), (2, 16), (1, 24)], 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// For any arrivals: each frame leaves its port once or was lost, none with reserved memory is
    /// lost, the link sends one at a time, and at the end all memory is free.
    #[test]
    fn every_frame_leaves_or_was_lost(seed in any::<u64>(), order in prop::sample::select(Order::ALL)) {
        let mut random = Seed::new(seed).stream("switch");
        let ports = 1 + random.below(3) as usize;
        let configs: Vec<_> = (0..ports)
            .map(|_| PortConfig { early: if random.below(2) == 0 { EarlyPolicy::HOLD } else { EarlyPolicy::CONSERVE }, ..port(order, random.below(60)) })
            .collect();
        let shared = Bytes::new(random.below(40));
        let mut switch = Bench::new(configs, shared);
        let classes = [RealTime, BestEffort];
        for port in 0..ports {
            for (channel, class) in classes.iter().enumerate() {
                switch.open(port, ChannelId(channel as u32), flow(*class, 30, 3));
            }
        }
        let (mut now, mut begun, mut left, mut lost) = (0, [0; 3], 0, Vec::new());
        let mut under_way = [0u64; 3];
        let frames = 60;
        for message in 0..frames {
            now += random.below(20);
            for port in 0..ports {
                while let Some(due) = switch.next_deadline(port).filter(|due| *due <= at(now)) {
                    switch.timer(due, port, &mut |output| match output {
                        SwitchOutput::Departed(packet) => {
                            left += 1;
                            begun[port] -= 1;
                            under_way[port] -= u64::from(packet.tag.class == RealTime);
                        }
                        SwitchOutput::Begun(..) => begun[port] += 1,
                        other => unreachable!("nothing came: {other:?}"),
                    });
                    prop_assert!(begun[port] <= 1);
                }
            }
            let (port, channel) = (random.below(ports as u64) as usize, random.below(2) as u32);
            let class = classes[channel as usize];
            let had_room = class == RealTime && under_way[port] < 3;
            let packet = packet(channel, message, 1 + random.below(20), class, now + random.below(40));
            let mut refused = false;
            switch.receive(at(now), port, &packet, &mut |output| match output {
                SwitchOutput::Begun(..) => begun[port] += 1,
                SwitchOutput::Discarded(packet) => refused = packet.message == message,
                other => unreachable!("only time lets a frame leave: {other:?}"),
            });
            prop_assert!(!(refused && had_room));
            if refused { lost.push(message) } else { under_way[port] += u64::from(class == RealTime) }
        }
        for port in 0..ports {
            left += run(&mut switch, port, 1_000_000).len() as u64;
            prop_assert_eq!(switch.ports[port].memory.taken, 0);
            prop_assert!(switch.ports[port].flows.iter().all(|(_, leaving)| leaving.used == 0 && leaving.here == 0));
        }
        prop_assert_eq!((switch.shared.taken, switch.packets.len()), (0, 0));
        prop_assert_eq!(left + lost.len() as u64, frames);
    }
}

/// Of a port in the order of FIFO+ the second frame waits 10 us, of which a 64th is what one waits
/// from then on.
#[test]
fn a_port_adds_to_what_a_frame_carries() {
    let mut switch = Bench::new([port(Order::FifoPlus, 1000)], Bytes::ZERO);
    switch.open(0, ChannelId(0), flow(Class::RealTime, 20, 4));
    let mut left = Vec::new();
    for message in 0..2 {
        switch.receive(at(0), 0, &packet(0, message, 10, Class::RealTime, 50), &mut |_| {});
    }
    for now in [10, 20] {
        switch.timer(at(now), 0, &mut |output| {
            if let SwitchOutput::Departed(packet) = output {
                left.push(packet.carried.excess);
            }
        });
    }
    assert_eq!(left, [0, 10_000_000 - 10_000_000 / 64]);
}

/// One frame has reserved memory, the next uses the port's own memory; a third finds neither.
#[test]
fn what_finds_no_reserved_place_has_the_ports_own_memory() {
    let mut switch = Bench::new([port(Order::Fifo, 10)], Bytes::ZERO);
    switch.open(0, ChannelId(0), flow(RealTime, 10, 1));
    let mut lost = Vec::new();
    for message in 0..3 {
        come(&mut switch, (0, 0), &packet(0, message, 8, RealTime, 0), &mut lost);
    }
    assert_eq!((run(&mut switch, 0, 100), lost), (vec![(0, 8), (1, 16)], vec![2]));
}

/// The rate of a channel is for its guaranteed traffic: the excess has none of it.
#[test]
fn excess_has_no_part_in_the_rate_of_its_channel() {
    let mut switch = Bench::new([port(Order::Fifo, 10)], Bytes::ZERO);
    switch.open(0, ChannelId(0), flow(RealTime, 10, 1));
    switch.open(0, ChannelId(1), flow(BestEffort, 0, 0));
    for channel in [0, 1] {
        switch.receive(at(3), 0, &packet(channel, 0, 5, BestEffort, 0), &mut |_| {});
    }
    let mut tags = Vec::new();
    while let Some(due) = switch.next_deadline(0) {
        switch.timer(due, 0, &mut |output| {
            if let SwitchOutput::Departed(packet) = output {
                tags.push(packet.tag);
            }
        });
    }
    assert_eq!(tags, [Tag::best_effort(at(3)), Tag::sharing(at(3), flow(BestEffort, 0, 0).tick)]);
}
