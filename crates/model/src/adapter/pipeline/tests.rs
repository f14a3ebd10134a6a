//! Adapters as descriptions, at work.

mod buffers;
mod cells;
mod choosing;
mod express;
mod losses;
mod policing;
mod rates;
mod responses;
mod rings;
mod stations;

use laxity_qos::channel::{Carried, ChannelId, Order};
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::{Class, Tag};
use laxity_qos::traffic::TrafficSpec;
use laxity_qos::virtual_clock::Vtick;
use laxity_units::Bytes;

use super::*;
use crate::adapter::{Adapter, PROCESSOR};
use crate::adapter::{
    AdapterBuffers, AdapterContract, BufferPool, CommandQueue, Delay, HostSide, MediumAccess, Notification,
    Phase, Queue, QueueSelection, Resource, ResponseQueue, Stage, Takes,
};
use crate::told::Told;

fn packet(number: u64, class: Class, deadline: u64) -> Packet {
    let deadline = Time::ZERO + Span::from_us(deadline);
    Packet {
        channel: ChannelId(u32::from(class == Class::BestEffort)),
        message: number,
        index: 0,
        count: 1,
        size: Bytes::new(100),
        message_size: Bytes::new(100),
        tag: Tag { class, logical_arrival: Time::ZERO, deadline, tick: Vtick::NONE, level: 31 },
        due_from: Time::ZERO,
        sent: Time::ZERO,
        created: Time::ZERO,
        handed: Time::ZERO,
        carried: Carried::NOTHING,
    }
}

/// Two packets at once, and one in 10; due at the end of its way when its packets say so.
fn contract() -> AdapterContract {
    let (size, min_interval) = (Bytes::new(100), Span::from_us(10));
    let spec = TrafficSpec { max_message: size, min_message: size, burst: 2, min_interval };
    AdapterContract { spec, packets: 2 }
}

/// An adapter through which channel 0 is established.
fn pipeline(description: Description) -> Told<Adapter, AdapterOutput> {
    let mut pipeline = Told::new(Adapter::Pipeline(Box::new(Pipeline::new(description))));
    pipeline.establish(ChannelId(0), &contract());
    pipeline
}

/// A phase that takes so long, and holds resource 1 with a priority.
fn phase(us: u64, bus: Option<u8>) -> Phase {
    let holds = bus.map_or(Vec::new(), |_| vec![1]);
    let delay = Delay::fixed(Span::from_us(us));
    Phase { delay, holds, priority: bus.unwrap_or_default(), ..Phase::default() }
}

fn queue(takes: Takes, order: Order, priority: u8) -> Queue {
    Queue { takes, order, priority, ..Queue::default() }
}

fn stage(name: &str, phases: Vec<Phase>) -> Stage {
    let queues = vec![queue(Takes::All, Order::Fifo, 0)];
    Stage { name: name.into(), queues, phases, ..Stage::default() }
}

fn description(transmit: Vec<Stage>) -> Description {
    let resource = |name: &str, preemptive| Resource {
        name: name.into(),
        servers: 1,
        preemptive,
        urgent: false,
        host: false,
        bus: None,
    };
    Description {
        interface: HostSide {
            queues: vec![CommandQueue::default()],
            selection: QueueSelection::Priority,
            doorbell: Span::ZERO,
            poll: None,
            notification: Notification::Interrupt,
            responses: vec![ResponseQueue::default()],
        },
        resources: vec![resource("processor", false), resource("bus", true)],
        transmit,
        receive: Vec::new(),
        transmit_buffers: AdapterBuffers::default(),
        receive_buffers: AdapterBuffers::default(),
        transmit_policing: None,
        receive_policing: None,
        link: LinkCosts::default(),
    }
}

/// Hands over packets at the given microseconds, grants the medium and answers handshakes at once;
/// returns the transmitted packets with the times of their responses, and the failed ones.
fn run(description: Description, handed: &[(u64, Packet)]) -> (Vec<(u64, u64)>, Vec<u64>) {
    let mut adapter = pipeline(description);
    let mut handed = handed.iter().peekable();
    let (mut out, mut failed) = (Vec::new(), Vec::new());
    loop {
        let arrival = handed.peek().map(|(us, _)| Time::ZERO + Span::from_us(*us));
        let Some(now) = [arrival, adapter.next_deadline()].into_iter().flatten().min() else {
            assert_eq!(adapter.held(), 0, "nothing is forgotten");
            return (out, failed);
        };
        if arrival == Some(now) {
            let (_, packet) = handed.next().expect("it was peeked");
            assert!(adapter.transmit(now, packet), "there is room");
        } else {
            adapter.timer(now);
        }
        while let Some(output) = adapter.poll_output() {
            match output {
                AdapterOutput::Response(AdapterResponse::Transmitted(packet)) => {
                    out.push((packet.message, now.as_ps() / 1_000_000));
                }
                AdapterOutput::Response(AdapterResponse::Failed(packet, _)) => failed.push(packet.message),
                AdapterOutput::Response(AdapterResponse::Handshake(packet)) => {
                    adapter.proceed(now, &packet);
                }
                AdapterOutput::Request => adapter.medium(now, MediumAccess::Granted),
                _ => {}
            }
        }
    }
}

fn best_effort(times: &[u64]) -> Vec<(u64, Packet)> {
    (0..).zip(times).map(|(number, us)| (*us, packet(number, Class::BestEffort, 0))).collect()
}

fn times(transmit: Vec<Stage>, handed: &[u64]) -> Vec<(u64, u64)> {
    run(description(transmit), &best_effort(handed)).0
}

#[test]
fn stages_overlap_and_keep_order() {
    let stages = vec![stage("a", vec![phase(10, None)]), stage("b", vec![phase(4, None)])];
    assert_eq!(times(stages, &[0, 0, 0]), [(0, 14), (1, 24), (2, 34)]);
}

/// The transmission of the first packet takes the bus from the second's DMA, which later resumes with
/// what it had left.
#[test]
fn a_higher_priority_takes_the_bus_and_gives_it_back() {
    let dma = stage("dma", vec![phase(10, Some(1))]);
    let fc = stage("fc", vec![phase(4, None), phase(20, Some(0))]);
    // First: DMA 0-10, then 4 off the bus, then the bus 14-34. Second's DMA: 10-14, stopped, 34-40; then
    // 4 off the bus and 20 on it.
    assert_eq!(times(vec![dma, fc], &[0, 0]), [(0, 34), (1, 64)]);
}

#[test]
fn a_resource_that_is_not_preemptive_is_kept() {
    let dma = stage("dma", vec![phase(10, Some(1))]);
    let fc = stage("fc", vec![phase(4, None), phase(20, Some(0))]);
    let mut description = description(vec![dma, fc]);
    description.resources[1].preemptive = false;
    assert_eq!(run(description, &best_effort(&[0, 0])).0, [(0, 40), (1, 64)]);
}

#[test]
fn equal_priorities_do_not_interrupt() {
    let dma = stage("dma", vec![phase(10, Some(0))]);
    let fc = stage("fc", vec![phase(20, Some(0))]);
    // After its DMA the first packet wants the bus; so does the second. The later stage drains.
    assert_eq!(times(vec![dma, fc], &[0, 0]), [(0, 30), (1, 60)]);
}

#[test]
fn a_stage_without_delay_takes_none() {
    let stages = vec![stage("a", vec![phase(0, None), phase(0, Some(0))]), stage("b", vec![phase(5, None)])];
    assert_eq!(times(stages, &[3, 3]), [(0, 8), (1, 13)]);
}

#[test]
fn several_servers_serve_at_once() {
    let stages = vec![Stage { servers: 2, ..stage("a", vec![phase(10, None)]) }];
    assert_eq!(times(stages, &[0, 0, 0]), [(0, 10), (1, 10), (2, 20)]);
}

/// A synchronous phase keeps the processor from everything else, an asynchronous one does not.
#[test]
fn a_synchronous_delay_idles_the_processor() {
    let holds = |us| Phase { holds: vec![PROCESSOR], ..phase(us, None) };
    let by_cpu = vec![stage("pio", vec![holds(10)]), stage("link", vec![holds(2), phase(20, None)])];
    assert_eq!(times(by_cpu, &[0, 0]), [(0, 32), (1, 54)]);
    let by_dma = vec![stage("dma", vec![phase(10, None)]), stage("link", vec![holds(2), phase(20, None)])];
    assert_eq!(times(by_dma, &[0, 0]), [(0, 32), (1, 54)]);
    let two = vec![stage("pio", vec![holds(10)]), stage("link", vec![holds(12), phase(1, None)])];
    // The second copy has the processor first, and the first packet's second stage waits for it.
    assert_eq!(times(two, &[0, 5]), [(0, 23), (1, 45)]);
}

#[test]
fn short_packets_go_another_way_than_long_ones() {
    let pio = Phase { up_to: Some(Bytes::new(99)), ..phase(1, None) };
    let dma = Phase { from: Bytes::new(100), ..phase(7, None) };
    assert_eq!(times(vec![stage("move", vec![pio, dma])], &[0]), [(0, 7)]);
}

/// A short queue behind the scheduled one leaves the choice where the schedule is.
#[test]
fn a_full_queue_holds_the_stage_before_it() {
    let select = Stage {
        queues: vec![
            queue(Takes::Only(Class::RealTime), Order::Edf, 0),
            queue(Takes::Only(Class::BestEffort), Order::Fifo, 1),
        ],
        ..stage("select", vec![phase(0, None)])
    };
    let link = |slots| {
        let queues = vec![Queue { slots, ..queue(Takes::All, Order::Fifo, 0) }];
        Stage { queues, ..stage("link", vec![Phase { medium: true, ..phase(10, None) }]) }
    };
    let mut handed = best_effort(&[0, 0, 0, 0]);
    handed.push((1, packet(9, Class::RealTime, 50)));
    handed.push((1, packet(8, Class::RealTime, 40)));
    let order = |slots| {
        let (out, failed) = run(description(vec![select.clone(), link(slots)]), &handed);
        assert!(failed.is_empty());
        out.into_iter().map(|(number, _)| number).collect::<Vec<_>>()
    };
    assert_eq!(order(None), [0, 1, 2, 3, 9, 8]);
    // One on the medium, one in the queue, one waiting at the stage before: these three are committed.
    assert_eq!(order(Some(1)), [0, 1, 2, 8, 9, 3]);
}

#[test]
fn overload_drops_or_gives_way_to_real_time() {
    let link = |overload| {
        let queues = vec![Queue { slots: Some(2), overload, ..queue(Takes::All, Order::MultiClassEdf, 0) }];
        description(vec![Stage { queues, ..stage("link", vec![phase(10, None)]) }])
    };
    let mut handed = best_effort(&[0, 0, 0, 0]);
    handed.push((1, packet(9, Class::RealTime, 50)));
    assert_eq!(run(link(Overload::Drop), &handed), (vec![(0, 10), (1, 20), (2, 30)], vec![3, 9]));
    assert_eq!(run(link(Overload::Priority), &handed), (vec![(0, 10), (9, 20), (1, 30)], vec![3, 2]));
    assert_eq!(run(link(Overload::Block), &handed).0.len(), 5);
}

#[test]
fn buffers_are_shared_or_reserved() {
    let with = |pool, overload| {
        let mut description = description(vec![stage("link", vec![phase(10, None)])]);
        description.transmit_buffers = AdapterBuffers { pool, overload };
        description
    };
    let mut handed = best_effort(&[0, 0, 0]);
    handed.push((1, packet(9, Class::RealTime, 50)));
    // Shared and full, the real-time packet waits behind; reserved, only its own connection's packets do.
    let order = |description| run(description, &handed).0.iter().map(|(n, _)| *n).collect::<Vec<_>>();
    assert_eq!(order(with(BufferPool::Shared(1), Overload::Block)), [0, 1, 2, 9]);
    assert_eq!(order(with(BufferPool::PerChannel(1), Overload::Block)), [0, 9, 1, 2]);
    assert_eq!(run(with(BufferPool::Shared(2), Overload::Drop), &handed).1, [2, 9]);
    assert_eq!(run(with(BufferPool::Shared(2), Overload::Priority), &handed).1, [2, 1]);
}

#[test]
fn an_adapter_that_polls_finds_commands_at_its_turns() {
    let mut description = description(vec![stage("link", vec![phase(3, None)])]);
    description.interface.poll = Some(Span::from_us(10));
    assert_eq!(run(description, &best_effort(&[1, 10, 12])).0, [(0, 13), (1, 16), (2, 23)]);
}

/// While an adapter stands still it keeps everything, and a reset gives everything back.
#[test]
fn a_reset_gives_back_what_a_stopped_adapter_has() {
    let stages = vec![stage("dma", vec![phase(10, Some(0))]), stage("link", vec![phase(10, None)])];
    let mut adapter = pipeline(description(stages));
    let at = |us| Time::ZERO + Span::from_us(us);
    for (_, packet) in best_effort(&[0, 0, 0]) {
        assert!(adapter.transmit(at(0), &packet), "there is room");
    }
    adapter.timer(at(10));
    adapter.break_down(at(15), AdapterBreakdown::Stop, true);
    assert_eq!((adapter.next_deadline(), adapter.held()), (None, 3));
    adapter.reset(at(50));
    let failed = std::iter::from_fn(|| adapter.poll_output())
        .filter(|output| matches!(output, AdapterOutput::Response(AdapterResponse::Failed(_, Loss::Reset))));
    assert_eq!((failed.count(), adapter.held()), (3, 0));
    assert!(adapter.transmit(at(60), &packet(7, Class::BestEffort, 0)), "it works again");
    // The end of the first stage at 70 is not observable.
    assert_eq!(adapter.next_deadline(), Some(at(80)));
}

#[test]
fn a_stalled_resource_resumes_where_it_was() {
    let mut adapter = pipeline(description(vec![stage("dma", vec![phase(10, Some(0))])]));
    let at = |us| Time::ZERO + Span::from_us(us);
    assert!(adapter.transmit(at(0), &packet(0, Class::BestEffort, 0)), "there is room");
    adapter.break_down(at(4), AdapterBreakdown::Stall(1), true);
    assert_eq!(adapter.next_deadline(), None);
    adapter.break_down(at(30), AdapterBreakdown::Stall(1), false);
    assert_eq!(adapter.next_deadline(), Some(at(36)));
}

/// A packet that has been on the link for 5 of its 10 goes on when the adapter does: at 50 it has 5 to go.
#[test]
fn what_needs_no_resource_stands_still_too() {
    let mut adapter = pipeline(description(vec![stage("link", vec![phase(10, None)])]));
    let at = |us| Time::ZERO + Span::from_us(us);
    assert!(adapter.transmit(at(10), &packet(0, Class::BestEffort, 0)), "there is room");
    adapter.break_down(at(15), AdapterBreakdown::Stop, true);
    adapter.timer(at(30));
    assert_eq!((adapter.next_deadline(), adapter.held()), (None, 1));
    adapter.break_down(at(50), AdapterBreakdown::Stop, false);
    assert_eq!(adapter.next_deadline(), Some(at(55)));
}

#[test]
fn a_reset_ends_a_stall() {
    let mut adapter = pipeline(description(vec![stage("dma", vec![phase(10, Some(0))])]));
    let at = |us| Time::ZERO + Span::from_us(us);
    adapter.break_down(at(0), AdapterBreakdown::Stall(1), true);
    assert!(adapter.transmit(at(5), &packet(0, Class::BestEffort, 0)), "there is room");
    assert_eq!(adapter.next_deadline(), None);
    adapter.reset(at(20));
    assert!(adapter.transmit(at(30), &packet(1, Class::BestEffort, 0)), "there is room");
    assert_eq!(adapter.next_deadline(), Some(at(40)));
}
