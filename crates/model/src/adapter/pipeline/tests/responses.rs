//! Response queues that are full.

use super::*;
use crate::adapter::{Answers, Tells};

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Responses of the adapter until no event is left, or `until`, with their times.
fn said(adapter: &mut Told<Adapter, AdapterOutput>, now: u64, until: u64) -> Vec<(u64, &'static str, u64)> {
    let mut said = Vec::new();
    let mut now = at(now);
    loop {
        while let Some(output) = adapter.poll_output() {
            let (word, packet) = match output {
                AdapterOutput::Response(AdapterResponse::Transmitted(packet)) => ("transmitted", packet),
                AdapterOutput::Response(AdapterResponse::Received(packet)) => ("received", packet),
                AdapterOutput::Response(AdapterResponse::Failed(packet, _)) => ("failed", packet),
                AdapterOutput::Response(AdapterResponse::Progress(packet)) => ("progress", packet),
                AdapterOutput::Discarded(packet, _) => ("discarded", packet),
                _ => continue,
            };
            said.push((now.since(Time::ZERO).as_ps() / 1_000_000, word, packet.message));
        }
        match adapter.next_deadline().filter(|next| *next <= at(until)) {
            Some(next) => now = next,
            None => return said,
        }
        adapter.timer(now);
    }
}

fn with(queues: &[(Answers, Option<u32>, Overload)], tells: Tells) -> Told<Adapter, AdapterOutput> {
    let told = Phase { tells, ..phase(10, None) };
    let mut description = description(vec![stage("link", vec![told])]);
    description.receive = vec![stage("up", vec![phase(10, None)])];
    description.interface.responses = queues
        .iter()
        .map(|(answers, slots, overload)| ResponseQueue {
            answers: *answers,
            slots: *slots,
            overload: *overload,
            ..ResponseQueue::default()
        })
        .collect();
    pipeline(description)
}

/// One entry: the packet transmitted by 10 is reported at once, the one by 20 when the first is
/// read, at 35, and only then is the server free for the third.
#[test]
fn a_host_that_does_not_read_holds_up_the_adapter() {
    let mut adapter = with(&[(Answers::All, Some(1), Overload::Block)], Tells::Nothing);
    for (_, packet) in best_effort(&[0, 0, 0]) {
        assert!(adapter.transmit(at(0), &packet), "there is room");
    }
    assert_eq!(said(&mut adapter, 0, 34), [(10, "transmitted", 0)]);
    assert_eq!((adapter.held(), adapter.next_deadline()), (2, None));
    adapter.has_read(at(35), 0);
    assert_eq!(said(&mut adapter, 35, 99), [(35, "transmitted", 1)]);
    adapter.has_read(at(100), 0);
    assert_eq!((said(&mut adapter, 100, 200), adapter.held()), (vec![(100, "transmitted", 2)], 0));
}

/// A received packet without an entry is lost where the queue says so, and never blocks the
/// transmit side.
#[test]
fn what_comes_in_is_lost_without_a_place() {
    let queues = [(Answers::Received, Some(1), Overload::Drop), (Answers::Sent, None, Overload::Block)];
    let mut adapter = with(&queues, Tells::Nothing);
    for number in 0..2 {
        adapter.receive(at(0), &packet(number, Class::BestEffort, 0));
    }
    assert!(adapter.transmit(at(5), &packet(7, Class::BestEffort, 0)), "there is room");
    let expected = [(10, "received", 0), (15, "transmitted", 7), (20, "discarded", 1)];
    assert_eq!(said(&mut adapter, 0, 50), expected);
    adapter.has_read(at(60), 0);
    adapter.receive(at(60), &packet(2, Class::BestEffort, 0));
    assert_eq!((said(&mut adapter, 60, 99), adapter.held()), (vec![(70, "received", 2)], 0));
}

/// Where the same queue blocks, the second frame waits in its stage.
#[test]
fn what_comes_in_may_wait_for_a_place() {
    let mut adapter = with(&[(Answers::All, Some(1), Overload::Block)], Tells::Nothing);
    for number in 0..2 {
        adapter.receive(at(0), &packet(number, Class::BestEffort, 0));
    }
    assert_eq!(said(&mut adapter, 0, 50), [(10, "received", 0)]);
    adapter.has_read(at(60), 0);
    assert_eq!((said(&mut adapter, 60, 99), adapter.held()), (vec![(60, "received", 1)], 0));
}

/// A phase with a response waits for an entry with its packet: the phase is reported at 10, and the
/// transmission when that is read.
#[test]
fn what_a_phase_tells_takes_a_place_too() {
    let mut adapter = with(&[(Answers::All, Some(1), Overload::Block)], Tells::Progress);
    for (_, packet) in best_effort(&[0, 0]) {
        assert!(adapter.transmit(at(0), &packet), "there is room");
    }
    assert_eq!(said(&mut adapter, 0, 50), [(10, "progress", 0)]);
    adapter.has_read(at(60), 0);
    // The second's phase runs from 60 to 70 and finds no entry for its response.
    assert_eq!(said(&mut adapter, 60, 99), [(60, "transmitted", 0)]);
    adapter.has_read(at(100), 0);
    assert_eq!(said(&mut adapter, 100, 150), [(100, "progress", 1)]);
}

/// A packet that is lost has no server to wait at; its answer waits by itself, and a reset gives it
/// to the driver without a queue.
#[test]
fn the_answer_of_a_lost_packet_waits_too() {
    let mut adapter = with(&[(Answers::All, Some(1), Overload::Block)], Tells::Nothing);
    let Adapter::Pipeline(inner) = &mut *adapter else { panic!("it is described") };
    inner.transmit_buffers =
        Buffering::new(AdapterBuffers { pool: BufferPool::Shared(1), overload: Overload::Drop });
    for (_, packet) in best_effort(&[0, 0, 0]) {
        assert!(adapter.transmit(at(0), &packet), "there is room");
    }
    assert_eq!((said(&mut adapter, 0, 5), adapter.held()), (vec![(0, "failed", 1)], 2));
    adapter.has_read(at(6), 0);
    assert_eq!(said(&mut adapter, 6, 9), [(6, "failed", 2)]);
    assert!(adapter.transmit(at(7), &packet(3, Class::BestEffort, 0)), "there is room");
    adapter.reset(at(8));
    assert_eq!(said(&mut adapter, 8, 99), [(8, "failed", 3), (8, "failed", 0)]);
    assert_eq!((adapter.held(), adapter.buffers_in_use()), (0, 0));
}
