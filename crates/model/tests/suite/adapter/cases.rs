//! Random adapters, and random packets for them.

use laxity_engine::{Seed, Stream};
use laxity_model::adapter::{
    AdapterBuffers, AdapterContract, Answers, BufferPool, CommandQueue, Delay, Description, Excess, HostSide,
    LatePolicy, Moderation, Notification, Overload, Own, Phase, Policing, Queue, QueueSelection, Release,
    Resource, ResponseQueue, Stage, Takes, Tells,
};
use laxity_qos::channel::{Carried, ChannelId, Order, Packet};
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::{Class, Tag};
use laxity_qos::traffic::TrafficSpec;
use laxity_qos::virtual_clock::Vtick;
use laxity_units::{ByteTime, Bytes, Span, Time};

/// The largest packet of a case.
pub(crate) const LARGEST: u64 = 9000;

/// Dice for one case.
pub(crate) struct Dice(pub(crate) Stream);

impl Dice {
    pub(crate) fn new(seed: u64, what: &str) -> Self {
        Self(Seed::new(seed).stream(what))
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.0.below(n) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.0.below(of.len() as u64) as usize]
    }

    pub(crate) fn us(&mut self, below: u64) -> Span {
        Span::from_us(self.0.below(below))
    }
}

/// An adapter that passes [`Description::check`]: any number of stages, servers and phases, queues of every
/// discipline, length and overload, buffers of every pool, with or without a shared medium.
pub(crate) fn description(dice: &mut Dice) -> Description {
    let resources = (0..1 + dice.below(3))
        .map(|n| Resource {
            name: format!("r{n}"),
            servers: 1 + dice.below(2) as u32,
            preemptive: dice.one_in(2),
            urgent: dice.one_in(3),
            host: dice.one_in(3),
            bus: None,
        })
        .collect::<Vec<_>>();
    let mut transmit: Vec<Stage> =
        (0..1 + dice.below(4)).map(|n| stage(dice, n, resources.len(), false)).collect();
    if !dice.one_in(4) {
        let at = dice.below(transmit.len() as u64) as usize;
        let stage = &mut transmit[at];
        (stage.servers, stage.batch, stage.linger) = (1, 1, Span::ZERO);
        let phase = dice.below(stage.phases.len() as u64) as usize;
        let phase = &mut stage.phases[phase];
        (phase.medium, phase.from, phase.up_to) = (true, Bytes::ZERO, None);
        (phase.takes, phase.yields) = (Takes::All, false);
    }
    let sent = transmit.iter().position(|stage| stage.phases.iter().any(|phase| phase.medium));
    for stage in transmit.iter_mut().skip(sent.map_or(usize::MAX, |sent| sent + 1)) {
        stage.queues.iter_mut().for_each(|queue| queue.late = LatePolicy::Keep);
    }
    let mut receive: Vec<Stage> =
        (0..dice.below(4)).map(|n| stage(dice, n, resources.len(), n == 0)).collect();
    for way in [&mut transmit, &mut receive] {
        let before_last = way.len().saturating_sub(1);
        for stage in way.iter_mut().take(before_last).filter(|stage| stage.batch == 1) {
            stage.ahead = dice.one_in(3).then(|| dice.below(3) as u32);
        }
    }
    let transmit_buffers = buffers(dice, &[Overload::Block, Overload::Drop, Overload::Priority]);
    let mut receive_buffers = buffers(dice, &[Overload::Block, Overload::Drop, Overload::Priority]);
    if receive_buffers.overload == Overload::Block {
        receive_buffers.pool = BufferPool::Unlimited;
    }
    for (way, buffers) in [(&mut transmit, transmit_buffers), (&mut receive, receive_buffers)] {
        if buffers.pool != BufferPool::Unlimited && dice.one_in(3) && !way.is_empty() {
            let stage = dice.below(way.len() as u64) as usize;
            let phase = dice.below(way[stage].phases.len() as u64) as usize;
            way[stage].phases[phase].releases = true;
        }
    }
    let queues = lines(dice)
        .into_iter()
        .map(|takes| CommandQueue {
            takes,
            priority: dice.below(3) as u8,
            slots: slots(dice),
            release: dice.pick(&[Release::Fetched, Release::Completed]),
            spread: spread(dice),
        })
        .collect();
    let description = Description {
        interface: HostSide {
            queues,
            selection: dice.pick(&[QueueSelection::Priority, QueueSelection::RoundRobin]),
            doorbell: if dice.one_in(3) { dice.us(10) } else { Span::ZERO },
            poll: dice.one_in(4).then(|| Span::from_us(1 + dice.below(40))),
            notification: match dice.one_in(4) {
                true => Notification::Poll(Span::from_us(1 + dice.below(200))),
                false => Notification::Interrupt,
            },
            responses: responses(dice, receive.is_empty()),
        },
        resources,
        transmit,
        receive,
        transmit_buffers,
        receive_buffers,
        transmit_policing: policing(dice),
        receive_policing: policing(dice),
        link: match dice.one_in(4) {
            true => LinkCosts::new(dice.us(10), Span::from_ns(dice.below(12))),
            false => LinkCosts::default(),
        },
    };
    assert_eq!(description.check(), Ok(()));
    description
}

/// The same adapter with one unlimited command queue, and mostly plain stages: a packet is often
/// alone there, so the express path applies.
pub(crate) fn plain(mut description: Description, dice: &mut Dice) -> Description {
    let interface = &mut description.interface;
    interface.queues = vec![CommandQueue::default()];
    (interface.poll, interface.doorbell) = (None, Span::ZERO);
    interface.responses = vec![ResponseQueue::default()];
    description.transmit_policing = None;
    for stage in description.transmit.iter_mut().chain(&mut description.receive) {
        stage.ahead = None;
        for phase in &mut stage.phases {
            (phase.releases, phase.delay) = (false, phase.delay.divided(20.0));
        }
    }
    for stage in &mut description.transmit {
        if dice.one_in(12) {
            continue;
        }
        (stage.batch, stage.linger) = (1, Span::ZERO);
        let slots = if dice.one_in(3) { Some(1 + dice.below(3) as u32) } else { None };
        stage.queues = vec![Queue { slots, ..Queue::default() }];
        for phase in &mut stage.phases {
            (phase.takes, phase.from, phase.up_to) = (Takes::All, Bytes::ZERO, None);
            if !dice.one_in(12) {
                (phase.yields, phase.since_service, phase.tells) = (false, false, Tells::Nothing);
            }
        }
    }
    assert_eq!(description.check(), Ok(()));
    description
}

/// Response queues of every kind: one for all, or one for each direction, by class or not.
fn responses(dice: &mut Dice, at_once: bool) -> Vec<ResponseQueue> {
    let about = match dice.below(4) {
        0 => vec![Answers::Received, Answers::Sent],
        1 => vec![Answers::Received, Answers::All],
        _ => vec![Answers::All],
    };
    let mut queues = Vec::new();
    for answers in about {
        for takes in lines(dice) {
            let drops = answers == Answers::Received && dice.one_in(2);
            // A received packet without a stage has no place to wait.
            let waits = at_once && answers != Answers::Sent && !drops;
            let delay = if dice.one_in(2) { Span::ZERO } else { dice.us(300) };
            queues.push(ResponseQueue {
                answers,
                takes,
                slots: (!waits && dice.one_in(2)).then(|| 1 + dice.below(6) as u32),
                overload: if drops { Overload::Drop } else { Overload::Block },
                spread: spread(dice),
                moderation: Moderation {
                    frames: (!delay.is_zero() && dice.one_in(2)).then(|| 1 + dice.below(5) as u32),
                    delay,
                    interval: if dice.one_in(3) { dice.us(200) } else { Span::ZERO },
                },
            });
        }
    }
    queues
}

fn pool(dice: &mut Dice) -> BufferPool {
    match dice.below(6) {
        0 | 1 => BufferPool::Unlimited,
        2 => BufferPool::Shared(1 + dice.below(6) as u32),
        3 => BufferPool::PerChannel(1 + dice.below(3) as u32),
        4 => BufferPool::Reserved { own: Own::Each(1 + dice.below(2) as u32), shared: dice.below(3) as u32 },
        _ => BufferPool::Reserved { own: Own::Contract, shared: 1 + dice.below(2) as u32 },
    }
}

fn buffers(dice: &mut Dice, overloads: &[Overload]) -> AdapterBuffers {
    let (pool, overload) = (pool(dice), dice.pick(overloads));
    match (pool, overload) {
        (BufferPool::Reserved { .. }, Overload::Priority) => {
            AdapterBuffers { pool, overload: Overload::Drop }
        }
        _ => AdapterBuffers { pool, overload },
    }
}

fn policing(dice: &mut Dice) -> Option<Policing> {
    let excess = dice.pick(&[Excess::Drop, Excess::Demote]);
    dice.one_in(3).then(|| Policing { excess, tolerance: dice.us(500) })
}

/// The contract of `channel`, one of the two with a guarantee: some of its packets exceed it.
pub(crate) fn contract(channel: u32) -> AdapterContract {
    let spec = TrafficSpec {
        max_message: Bytes::new(LARGEST),
        min_message: Bytes::new(1),
        burst: 1 + channel,
        min_interval: Span::from_us(400),
    };
    AdapterContract { spec, packets: 1 + channel }
}

/// One queue, or several by flow.
fn spread(dice: &mut Dice) -> u32 {
    if dice.one_in(4) { 2 + dice.below(3) as u32 } else { 1 }
}

fn slots(dice: &mut Dice) -> Option<u32> {
    (!dice.one_in(3)).then(|| 1 + dice.below(5) as u32)
}

/// Queues that together take every class.
fn lines(dice: &mut Dice) -> Vec<Takes> {
    let by_class = [Takes::Only(Class::RealTime), Takes::Only(Class::BestEffort)];
    match dice.below(5) {
        0 => by_class.to_vec(),
        2 => vec![Takes::Levels(0, 1), by_class[1], Takes::Levels(2, 31)],
        1 => vec![by_class[0], Takes::All],
        _ => vec![Takes::All],
    }
}

fn stage(dice: &mut Dice, number: u64, resources: usize, first_received: bool) -> Stage {
    let orders = [&[Order::Fifo; 8], Order::ALL].concat();
    let overloads =
        [Overload::Block, Overload::Block, Overload::Drop, Overload::Priority, Overload::Importance];
    let queues = lines(dice)
        .into_iter()
        .map(|takes| {
            let overload = dice.pick(&overloads);
            let order: Order = dice.pick(&orders);
            let counts = overload == Overload::Importance && !order.displaces();
            let overload = if counts { Overload::Drop } else { overload };
            let holds_up_the_medium = first_received && overload == Overload::Block;
            Queue {
                takes,
                order,
                late: if dice.one_in(5) { LatePolicy::Drop } else { LatePolicy::Keep },
                margin: if dice.one_in(2) { dice.us(100) } else { Span::ZERO },
                frame: Span::from_us(1 + dice.below(400)),
                priority: dice.below(3) as u8,
                slots: slots(dice).filter(|_| !holds_up_the_medium),
                overload,
                spread: spread(dice),
            }
        })
        .collect();
    let mut phases: Vec<Phase> = (0..1 + dice.below(3)).map(|_| phase(dice, resources)).collect();
    for phase in &mut phases {
        let cut = phase.delay.segment > Bytes::ZERO && !phase.holds.is_empty() && !phase.since_service;
        phase.yields = cut && dice.one_in(2);
    }
    let batch = if dice.one_in(4) { 1 + dice.below(5) as u32 } else { 1 };
    if batch > 1 {
        for phase in &mut phases {
            (phase.takes, phase.from, phase.up_to) = (Takes::All, Bytes::ZERO, None);
            phase.tells = Tells::Nothing;
            (phase.yields, phase.trailer) = (false, Bytes::ZERO);
        }
    }
    Stage {
        name: format!("s{number}"),
        servers: 1 + dice.below(3) as u32,
        batch,
        linger: if batch > 1 && dice.one_in(2) { dice.us(80) } else { Span::ZERO },
        queues,
        selection: dice.pick(&[QueueSelection::Priority, QueueSelection::RoundRobin]),
        phases,
        ahead: None,
    }
}

fn phase(dice: &mut Dice, resources: usize) -> Phase {
    let delay = Delay {
        fixed: dice.us(30),
        per_packet: if dice.one_in(3) { dice.us(5) } else { Span::ZERO },
        segment: Bytes::new(dice.pick(&[0, 256, 2048])),
        per_segment: Span::from_ns(dice.below(3000)),
        per_byte: ByteTime::from_ns(dice.below(12)),
        knee: Bytes::new(dice.pick(&[0, 4096])),
        per_byte_past: ByteTime::from_ns(dice.below(12)),
    };
    let (from, up_to) = match dice.below(5) {
        0 => (Bytes::new(dice.below(LARGEST)), None),
        1 => (Bytes::ZERO, Some(Bytes::new(dice.below(LARGEST)))),
        _ => (Bytes::ZERO, None),
    };
    let tells = [Tells::Nothing, Tells::Nothing, Tells::Nothing, Tells::Progress, Tells::Handshake];
    Phase {
        delay: if dice.one_in(8) { Delay::default() } else { delay },
        takes: dice.pick(&[
            Takes::All,
            Takes::All,
            Takes::Only(Class::RealTime),
            Takes::Only(Class::BestEffort),
            Takes::Levels(1, 3),
        ]),
        from,
        up_to,
        holds: (0..resources).filter(|_| dice.one_in(3)).collect(),
        priority: dice.below(3) as u8,
        work: dice.one_in(2),
        medium: false,
        tells: dice.pick(&tells),
        since_service: dice.one_in(4),
        releases: false,
        yields: false,
        trailer: Bytes::new(if dice.one_in(4) { 8 } else { 0 }),
    }
}

/// Packet `number` of one of four channels, two of each class. Frames from outside have numbers of their own.
pub(crate) fn packet(dice: &mut Dice, number: u64, now: Time) -> Packet {
    let channel = dice.below(4) as u32;
    let class = if channel < 2 { Class::RealTime } else { Class::BestEffort };
    let deadline = match class {
        Class::RealTime => now + dice.us(3000),
        Class::BestEffort => Time::MAX,
    };
    let size = Bytes::new(1 + dice.below(LARGEST));
    // A channel's own: queues that go by it would else part its packets.
    let level = if class == Class::RealTime { 2 * channel as u8 } else { 31 };
    // A channel's own, too, and one of best effort has none.
    let tick = match channel {
        3 => Vtick::NONE,
        _ => Vtick::new(Span::from_us(700), Bytes::new(LARGEST)),
    };
    Packet {
        channel: ChannelId(channel),
        message: number,
        index: 0,
        count: 1,
        size,
        message_size: size,
        tag: Tag { class, logical_arrival: now, deadline, tick, level },
        due_from: now,
        sent: now,
        created: now,
        handed: now,
        carried: Carried { due: deadline, ..Carried::NOTHING },
    }
}

/// Whether the packets of a channel pass `stages` in order: one server and FIFO everywhere, and no
/// replacement.
pub(crate) fn keeps_order(stages: &[Stage], buffers: &AdapterBuffers) -> bool {
    let fifo = |stage: &Stage| {
        stage.servers == 1
            && stage
                .queues
                .iter()
                .all(|queue| queue.order == Order::Fifo && queue.overload != Overload::Priority)
    };
    stages.iter().all(fifo) && buffers.overload != Overload::Priority
}

/// Whether some packets of a channel go on as others of it do not.
pub(crate) fn demotes(description: &Description) -> bool {
    description.transmit_policing.is_some_and(|policing| policing.excess == Excess::Demote)
}

/// Maximum time during which a packet is in service or waits only for the host.
pub(crate) fn longest_way(description: &Description, answer: Span) -> Span {
    let stages = description.transmit.iter().chain(&description.receive);
    let phases = stages.flat_map(|stage| &stage.phases);
    let one = |phase: &Phase| {
        // An answer, and an entry for the response.
        let answer = if phase.tells == Tells::Nothing { Span::ZERO } else { answer * 2 };
        phase.time(Bytes::new(LARGEST)) + answer
    };
    let linger = description.transmit.iter().chain(&description.receive).map(|stage| stage.linger);
    let linger = linger.sum::<Span>() + description.interface.doorbell;
    phases.map(one).sum::<Span>()
        + description.link.transmit(Bytes::new(LARGEST))
        + linger
        + answer
        + description.interface.poll.unwrap_or_default()
}
