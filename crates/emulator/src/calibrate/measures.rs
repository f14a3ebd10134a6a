//! Measurements, one function each.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use laxity_engine::Ticks;
use laxity_machine::RefusedBySystem;
use laxity_machine::place::{ThreadPlacement, spawn_on};
use laxity_machine::ring::ring;
use laxity_machine::signal::InterruptLine;
use laxity_qos::channel::{
    Block, ChannelConfig, ChannelId, Config, CoreId, LinkConfig, LinkParadigm, Order, Oversize, Packet,
    Preemption, Processing, Role, Slots, Step, Subsystem, Work,
};
use laxity_qos::discipline::EarlyPolicy;
use laxity_units::{Bytes, Time};
use laxity_world::experiment::Transfer;

use super::{ADAPTER_START, INTERRUPT_LATENCY, MeasuredCost, median};
use crate::host::Workshop;

/// Batches per measurement and round.
const BATCHES: usize = 67;
/// Packets in a message, to separate the first from the others.
const PACKETS: u64 = 16;
/// Bytes accessed between two uses to evict the caches: more than any second-level cache.
const SWEEP: usize = 4 << 20;

pub(super) fn all(
    ticks: Ticks,
    sizes: &[u64],
    here: Option<usize>,
    other: Option<usize>,
) -> Result<Vec<MeasuredCost>, RefusedBySystem> {
    let [mut first, mut further, mut link, mut hand_over] = [const { Sizes::new() }; 4];
    let [mut receive, mut complete, mut cache, mut send] = [const { Sizes::new() }; 4];
    for size in sizes {
        let packet = Bytes::new(*size);
        let sent = sending(ticks, packet);
        for (into, batches) in [&mut first, &mut further, &mut link, &mut hand_over].into_iter().zip(sent) {
            into.push((*size, batches));
        }
        let [one, completing] = receiving(ticks, packet);
        receive.push((*size, one));
        complete.push((*size, completing));
        cache.push((*size, cache_misses(ticks, packet)));
        send.push((*size, send_call(ticks, packet)));
    }
    let [interrupt, latency] = interrupt(ticks, other)?;
    let copied = "scheduling a handler, copying and summing up a packet, its bookkeeping";
    let measured = |name, sizes, method: &str| MeasuredCost::at_sizes(name, sizes, method);
    Ok(vec![
        switch(ticks, here)?,
        measured(
            "cache_miss",
            cache,
            "copying and summing up a packet after 4 MiB of other data, less without",
        ),
        measured("first_packet", first, &format!("{copied}; the first of a message")),
        measured("packet", further, &format!("{copied}; the 15 that follow it")),
        measured(
            "link_scheduling",
            link,
            "choosing a packet, writing its header and the command into a ring",
        ),
        measured("hand_over", hand_over, "writing a packet's header and the command into a ring"),
        interrupt,
        creation(ticks, here)?,
        measured("receive_packet", receive, "demultiplexing, copying and summing up a received packet"),
        measured("receive_message", complete, "the last packet of a message, less what any other takes"),
        measured("send_call", send, "policing a message and putting it into its queue"),
        start(ticks, other)?,
        latency,
    ])
}

type Sizes = Vec<(u64, Vec<f64>)>;

pub(super) fn parts(ticks: Ticks, sizes: &[u64]) -> Vec<MeasuredCost> {
    const TIMES: u64 = 32;
    let over = |work: &mut dyn FnMut(&mut Workshop)| -> Sizes {
        let at = |size: &u64| {
            let mut workshop = Workshop::new(Transfer::Full, Bytes::new(*size));
            let values = batches(|| each(ticks, TIMES, || work(&mut workshop)));
            black_box(workshop.sum);
            (*size, values)
        };
        sizes.iter().map(at).collect()
    };
    vec![
        MeasuredCost::at_sizes("copy", over(&mut Workshop::copy_next), "copying a packet"),
        MeasuredCost::at_sizes("checksum", over(&mut Workshop::sum_up), "summing up a packet"),
    ]
}

/// Nanoseconds per repetition of `work`, over `times` repetitions.
fn each(ticks: Ticks, times: u64, mut work: impl FnMut()) -> f64 {
    let began = ticks.read();
    (0..times).for_each(|_| work());
    ticks.span(ticks.read() - began).as_secs_f64() * 1e9 / times as f64
}

fn batches(mut batch: impl FnMut() -> f64) -> Vec<f64> {
    // Warm-up of caches and branch predictors.
    (0..5).for_each(|_| {
        black_box(batch());
    });
    (0..BATCHES).map(|_| batch()).collect()
}

fn config(packet: Bytes) -> Config {
    let block = Block::Packets(4);
    Config {
        cores: 1,
        processing: Processing::PerChannel,
        order: Order::MultiClassEdf,
        early: EarlyPolicy::HOLD,
        preemption: Preemption { real_time: block, early: block, best_effort: block, immediate: false },
        link: LinkConfig {
            paradigm: LinkParadigm::O1,
            core: CoreId::FIRST,
            order: Order::MultiClassEdf,
            early: EarlyPolicy::HOLD,
            depth: 1,
            launch: None,
            speed: laxity_qos::costs::LinkCosts::default(),
            frame: laxity_units::Span::ZERO,
        },
        packet,
        enforcement: true,
        oversize: Oversize::Intervals,
    }
}

/// Subsystem with one channel, with messages of `PACKETS` packets.
fn subsystem(packet: Bytes, role: Role) -> Subsystem {
    let mut subsystem = Subsystem::new(config(packet));
    let message = Bytes::new(packet.get() * PACKETS);
    let config = ChannelConfig { role, ..ChannelConfig::best_effort(message, 8, packet) };
    subsystem.open(config).expect("the first number is free");
    subsystem
}

/// `C_p` of first and further packets, `C_l`, and its remainder if the adapter schedules.
fn sending(ticks: Ticks, packet: Bytes) -> [Vec<f64>; 4] {
    let mut subsystem = subsystem(packet, Role::Send);
    let mut packets = Slots::default();
    let mut workshop = Workshop::new(Transfer::Full, packet);
    let message = Bytes::new(packet.get() * PACKETS);
    let now = Time::from_ns(1);
    let (mut first, mut further, mut link, mut hand_over) = (vec![], vec![], vec![], vec![]);
    let (mut producer, mut consumer) = ring::<Packet>(64);
    let nanoseconds = |from: u64, to: u64| ticks.span(to - from).as_secs_f64() * 1e9;
    for _ in 0..BATCHES * 4 {
        subsystem.send(now, ChannelId(0), message).expect("the channel is open");
        let (mut sum_further, mut sum_link, mut sum_hand) = (0.0, 0.0, 0.0);
        let mut done = 0;
        while done < PACKETS {
            let began = ticks.read();
            match subsystem.next_step(CoreId::FIRST, now) {
                Step::Process { work, .. } => {
                    workshop.process(work, message);
                    subsystem.finish(CoreId::FIRST, now, &mut packets);
                    let took = nanoseconds(began, ticks.read());
                    if matches!(work, Work::FirstPacket { .. }) {
                        first.push(took);
                    } else {
                        sum_further += took;
                    }
                }
                Step::Transmit { packet, .. } => {
                    let chosen = ticks.read();
                    let packet = packets.take(packet);
                    workshop.write(&packet);
                    let _ = producer.push(packet);
                    let ended = ticks.read();
                    sum_link += nanoseconds(began, ended);
                    sum_hand += nanoseconds(chosen, ended);
                    black_box(consumer.pop());
                    subsystem.transmitted(CoreId::FIRST, now, &packet);
                    done += 1;
                }
                Step::Idle
                | Step::Application { .. }
                | Step::Compute { .. }
                | Step::Read { .. }
                | Step::Spin { .. } => {
                    unreachable!("a message is in hand")
                }
            }
        }
        further.push(sum_further / (PACKETS - 1) as f64);
        link.push(sum_link / PACKETS as f64);
        hand_over.push(sum_hand / PACKETS as f64);
    }
    black_box(workshop.sum);
    [first, further, link, hand_over]
}

/// Reception of a packet, and completion of a message.
fn receiving(ticks: Ticks, packet: Bytes) -> [Vec<f64>; 2] {
    let mut sender = subsystem(packet, Role::Send);
    let mut receiver = subsystem(packet, Role::Receive);
    let mut slots = Slots::default();
    let mut workshop = Workshop::new(Transfer::Full, packet);
    let message = Bytes::new(packet.get() * PACKETS);
    let now = Time::from_ns(1);
    let (mut one, mut completing) = (vec![], vec![]);
    for _ in 0..BATCHES * 4 {
        sender.send(now, ChannelId(0), message).expect("the channel is open");
        let mut packets = Vec::new();
        while packets.len() < PACKETS as usize {
            match sender.next_step(CoreId::FIRST, now) {
                Step::Process { .. } => drop(sender.finish(CoreId::FIRST, now, &mut slots)),
                Step::Transmit { packet, .. } => {
                    let packet = slots.take(packet);
                    sender.transmitted(CoreId::FIRST, now, &packet);
                    packets.push(packet);
                }
                Step::Idle
                | Step::Application { .. }
                | Step::Compute { .. }
                | Step::Read { .. }
                | Step::Spin { .. } => {
                    unreachable!("a message is in hand")
                }
            }
        }
        let mut sum = 0.0;
        for packet in &packets {
            let began = ticks.read();
            let _ = receiver.receive(now, ChannelId(0), slots.put(packet), &mut slots);
            if let Step::Process { work, .. } = receiver.next_step(CoreId::FIRST, now) {
                workshop.process(work, message);
            }
            let delivered = receiver.finish(CoreId::FIRST, now, &mut slots).delivered;
            black_box(receiver.next_step(CoreId::FIRST, now));
            let took = ticks.span(ticks.read() - began).as_secs_f64() * 1e9;
            if delivered.is_some() { completing.push(took) } else { sum += took }
        }
        one.push(sum / (PACKETS - 1) as f64);
    }
    let plain = median(one.clone());
    let surplus = completing.iter().map(|took| (took - plain).max(0.0)).collect();
    [one, surplus]
}

fn send_call(ticks: Ticks, packet: Bytes) -> Vec<f64> {
    batches(|| {
        let mut subsystem = subsystem(packet, Role::Send);
        each(ticks, 8, || {
            black_box(subsystem.send(Time::from_ns(1), ChannelId(0), packet)).expect("the channel is open");
        })
    })
}

/// Additional processing time of a packet after other code has used the caches.
fn cache_misses(ticks: Ticks, packet: Bytes) -> Vec<f64> {
    let mut workshop = Workshop::new(Transfer::Full, packet);
    let mut sweep = vec![0_u8; SWEEP];
    let mut work = move || each(ticks, 1, || workshop.process(Work::Packet, packet));
    let warm = batches(&mut work);
    let warm = median(warm);
    batches(|| {
        sweep.iter_mut().step_by(64).for_each(|byte| *byte = byte.wrapping_add(1));
        black_box(&sweep);
        (work() - warm).max(0.0)
    })
}

/// Two threads on one processor that alternately wake each other and sleep.
fn switch(ticks: Ticks, here: Option<usize>) -> Result<MeasuredCost, RefusedBySystem> {
    const TURNS: u64 = 50;
    let main = thread::current();
    let over = Arc::new(AtomicBool::new(false));
    let turn = Arc::new(AtomicBool::new(false));
    let (theirs, ended) = (turn.clone(), over.clone());
    let (send, receive) = std::sync::mpsc::channel();
    let partner = spawn_on(ThreadPlacement { core: here, fifo: None }, "calibrate", move || {
        let _ = send.send(thread::current());
        while !ended.load(Ordering::Acquire) {
            if theirs.swap(false, Ordering::AcqRel) {
                main.unpark();
            }
            thread::park();
        }
    })?;
    let other = receive.recv().expect("the thread says who it is");
    let values = batches(|| {
        each(ticks, TURNS, || {
            turn.store(true, Ordering::Release);
            other.unpark();
            while turn.load(Ordering::Acquire) {
                thread::park();
            }
        }) / 2.0
    });
    over.store(true, Ordering::Release);
    other.unpark();
    partner.join().expect("the other thread ends");
    Ok(MeasuredCost::of(
        "context_switch",
        values,
        "two threads on one processor that wake each other by a futex, half a turn",
    ))
}

fn creation(ticks: Ticks, here: Option<usize>) -> Result<MeasuredCost, RefusedBySystem> {
    spawn_on(ThreadPlacement { core: here, fifo: None }, "calibrate", || ())?
        .join()
        .expect("nothing can go wrong");
    let values = batches(|| {
        each(ticks, 4, || {
            if let Ok(thread) = spawn_on(ThreadPlacement { core: here, fifo: None }, "calibrate", || ()) {
                let _ = thread.join();
            }
        })
    });
    Ok(MeasuredCost::of(
        "thread_creation",
        values,
        "creating a thread on this processor and waiting for its end",
    ))
}

/// Gap that a signal makes in a computing thread, and the time from the signal to its detection.
fn interrupt(ticks: Ticks, other: Option<usize>) -> Result<[MeasuredCost; 2], RefusedBySystem> {
    let (mut line, raise) = InterruptLine::line(ticks)?;
    let over = Arc::new(AtomicBool::new(false));
    // Time at which the oldest undetected signal was raised; 0 if there is none.
    let raised = Arc::new(AtomicU64::new(0));
    let (ended, raised_at) = (over.clone(), raised.clone());
    let raiser = spawn_on(ThreadPlacement { core: other, fifo: None }, "calibrate", move || {
        while !ended.load(Ordering::Acquire) {
            let _ = raised_at.compare_exchange(0, ticks.read(), Ordering::AcqRel, Ordering::Relaxed);
            let _ = raise.raise();
            let until = ticks.read() + ticks.in_span(laxity_units::Span::from_us(50));
            while ticks.read() < until {
                std::hint::spin_loop();
            }
        }
    })?;
    let (mut values, mut latencies) = (Vec::new(), Vec::new());
    let (mut last, mut widest) = (ticks.read(), 0);
    while values.len() < BATCHES * 4 {
        let now = ticks.read();
        widest = widest.max(now - last);
        last = now;
        if line.take().is_some() {
            // The signal may have arrived since the last reading.
            let seen = ticks.read();
            widest = widest.max(seen - last);
            let raised = raised.swap(0, Ordering::AcqRel);
            if raised > 0 {
                latencies.push(ticks.span(seen.saturating_sub(raised)).as_secs_f64() * 1e9);
            }
            values.push(ticks.span(widest).as_secs_f64() * 1e9);
            (last, widest) = (ticks.read(), 0);
        }
    }
    over.store(true, Ordering::Release);
    raiser.join().expect("the other thread ends");
    Ok([
        MeasuredCost::of("interrupt", values, "the gap that a spinning thread sees when a signal strikes it"),
        MeasuredCost::of(
            INTERRUPT_LATENCY,
            latencies,
            "from raising a signal on another processor to a spinning thread's seeing it",
        ),
    ])
}

/// `C_x`: time from writing a command until the other processor has read it, half a round trip.
fn start(ticks: Ticks, other: Option<usize>) -> Result<MeasuredCost, RefusedBySystem> {
    let (mut commands, mut far) = ring::<u64>(64);
    let (mut back, mut responses) = ring::<u64>(64);
    let over = Arc::new(AtomicBool::new(false));
    let ended = over.clone();
    let echo = spawn_on(ThreadPlacement { core: other, fifo: None }, "calibrate", move || {
        while !ended.load(Ordering::Acquire) {
            if let Some(entry) = far.pop() {
                let _ = back.push(entry);
            }
        }
    })?;
    let values = batches(|| {
        each(ticks, 32, || {
            let _ = commands.push(1);
            while responses.pop().is_none() {
                std::hint::spin_loop();
            }
        }) / 2.0
    });
    over.store(true, Ordering::Release);
    echo.join().expect("the other thread ends");
    Ok(MeasuredCost::of(
        ADAPTER_START,
        values,
        "a command to another processor and back through rings, half a turn",
    ))
}
