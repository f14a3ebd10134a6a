//! The same workloads on the engine, with components.

use std::collections::VecDeque;
use std::time::Duration;

use laxity_engine::{Calendar, Limits, SimulationClock, Stop, World, run};
use laxity_units::{Span, Time};

use crate::{Polled, SEED, SplitMix64, hold as b, polling as a, timed};

const SLOT: Span = Span::from_ns(a::SLOT);

/// Traffic class of a packet.
#[derive(Clone, Copy)]
enum Class {
    RealTime,
    BestEffort,
}

/// Packet in flight.
#[derive(Clone, Copy)]
struct Packet {
    class: Class,
    arrival: Time,
}

/// Sends packets of the two classes alternately.
struct Source {
    sent: u64,
}

#[derive(Clone, Copy)]
enum SourceEvent {
    Arrive,
}

impl Source {
    /// Packet at `now`, and the time of the next.
    fn on_arrive(&mut self, now: Time) -> (Packet, Time) {
        let packet = Packet {
            class: if self.sent.is_multiple_of(2) { Class::RealTime } else { Class::BestEffort },
            arrival: now,
        };
        self.sent += 1;
        (packet, now + Span::from_ns(a::PERIOD))
    }
}

/// Polls its queues once a slot and serves at most two packets of each class.
struct Adapter {
    queues: [VecDeque<Packet>; 2],
    taken: [u32; 2],
    slot: Time,
    random: SplitMix64,
    served: [u64; 2],
    drops: u64,
    latency: Span,
}

#[derive(Clone, Copy)]
enum AdapterEvent {
    Poll,
    CpuDone,
    SvcDone(Packet),
}

impl Adapter {
    fn accept(&mut self, packet: Packet) {
        let queue = &mut self.queues[packet.class as usize];
        if queue.len() < a::QUEUE {
            queue.push_back(packet);
        } else {
            self.drops += 1;
        }
    }

    /// Next event of the adapter, and its time.
    fn on_event(&mut self, now: Time, event: AdapterEvent) -> (Time, AdapterEvent) {
        match event {
            AdapterEvent::Poll => self.poll(now),
            AdapterEvent::CpuDone => {
                self.taken = [0; 2];
                self.next(now)
            }
            AdapterEvent::SvcDone(packet) => {
                self.served[packet.class as usize] += 1;
                self.latency += now.since(packet.arrival);
                self.next(now)
            }
        }
    }

    fn poll(&mut self, now: Time) -> (Time, AdapterEvent) {
        self.slot = Time::ZERO + SLOT * now.since(Time::ZERO).div_floor(SLOT);
        (now + Span::from_ns(a::CPU), AdapterEvent::CpuDone)
    }

    fn next(&mut self, now: Time) -> (Time, AdapterEvent) {
        let [rt, nrt] = self.taken;
        let class = if rt < 2 && nrt == 0 && !self.queues[0].is_empty() { 0 } else { 1 };
        if (class == 0 || nrt < 2)
            && let Some(packet) = self.queues[class].pop_front()
        {
            self.taken[class] += 1;
            return (now + Span::from_ns(self.random.exp(a::SERVICE)), AdapterEvent::SvcDone(packet));
        }
        let end = self.slot + SLOT;
        if now < end { (end, AdapterEvent::Poll) } else { self.poll(now) }
    }
}

struct Polling {
    source: Source,
    adapter: Adapter,
}

#[derive(Clone, Copy)]
enum PollingEvent {
    Source(SourceEvent),
    Adapter(AdapterEvent),
}

impl World for Polling {
    type Event = PollingEvent;

    fn handle(&mut self, now: Time, event: PollingEvent, calendar: &mut Calendar<PollingEvent>) {
        match event {
            PollingEvent::Source(SourceEvent::Arrive) => {
                let (packet, next) = self.source.on_arrive(now);
                self.adapter.accept(packet);
                calendar.schedule(next, PollingEvent::Source(SourceEvent::Arrive));
            }
            PollingEvent::Adapter(event) => {
                let (at, event) = self.adapter.on_event(now, event);
                calendar.schedule(at, PollingEvent::Adapter(event));
            }
        }
    }
}

/// Workload A.
#[inline(never)]
pub(crate) fn polling() -> (Polled, Duration) {
    let mut world = Polling {
        source: Source { sent: 0 },
        adapter: Adapter {
            queues: [VecDeque::with_capacity(a::QUEUE), VecDeque::with_capacity(a::QUEUE)],
            taken: [0; 2],
            slot: Time::ZERO,
            random: SplitMix64(SEED),
            served: [0; 2],
            drops: 0,
            latency: Span::ZERO,
        },
    };
    let mut calendar = Calendar::new();
    calendar.schedule(Time::from_ns(1), PollingEvent::Source(SourceEvent::Arrive));
    calendar.schedule(Time::from_ns(a::SLOT), PollingEvent::Adapter(AdapterEvent::Poll));
    let limits = Limits::NONE.until(Time::from_ns(a::UNTIL));
    let (outcome, took) = timed(|| run(&mut world, &mut calendar, &mut SimulationClock, limits));
    assert_eq!(outcome.stop, Stop::Until);
    let Adapter { served, drops, latency, .. } = world.adapter;
    (Polled { events: outcome.events, served, drops, latency: latency.as_ps() / 1000 }, took)
}

/// Component of the hold model.
struct Firer {
    spread: u64,
}

/// All components; they share one generator, as the checksum requires.
struct Hold {
    firers: Vec<Firer>,
    random: SplitMix64,
    checksum: u64,
}

#[derive(Clone, Copy)]
struct Fire(u32);

impl Firer {
    /// Contribution to the checksum, and the time of the next event.
    fn on_fire(&mut self, now: Time, random: &mut SplitMix64) -> (u64, Time) {
        ((now.as_ps() / 1000) ^ self.spread, now + Span::from_ns(random.exp(b::MEAN)))
    }
}

impl World for Hold {
    type Event = Fire;

    fn handle(&mut self, now: Time, Fire(i): Fire, calendar: &mut Calendar<Fire>) {
        let (term, next) = self.firers[i as usize].on_fire(now, &mut self.random);
        self.checksum = self.checksum.wrapping_add(term);
        calendar.schedule(next, Fire(i));
    }
}

/// Workload B.
#[inline(never)]
pub(crate) fn hold(components: u32, fires: u64) -> (u64, Duration) {
    let firers = (0..components).map(|i| Firer { spread: u64::from(i).wrapping_mul(b::SPREAD) }).collect();
    let mut world = Hold { firers, random: SplitMix64(SEED), checksum: 0 };
    let mut calendar = Calendar::new();
    for i in 0..components {
        calendar.schedule(Time::from_ns(world.random.exp(b::MEAN)), Fire(i));
    }
    let limits = Limits::NONE.events(fires);
    let (outcome, took) = timed(|| run(&mut world, &mut calendar, &mut SimulationClock, limits));
    assert_eq!((outcome.stop, outcome.events), (Stop::Events, fires));
    (world.checksum, took)
}
