//! Buffers of a channel's own and for all, and when they are free.

use super::*;
use crate::adapter::Own;

fn pooled(pool: BufferPool, overload: Overload, transmit: Vec<Stage>) -> Description {
    Description { transmit_buffers: AdapterBuffers { pool, overload }, ..description(transmit) }
}

fn link() -> Vec<Stage> {
    vec![stage("link", vec![phase(10, None)])]
}

/// One for each channel and one for all. Best effort has both of those that it can, so its third is
/// lost; real time has its own, and no second. At 10 best effort gives back what is for all, though
/// it has one of its own too: real time has it at 11.
#[test]
fn a_channel_has_its_own_and_then_what_is_for_all() {
    let mut handed = best_effort(&[0, 0, 0]);
    handed.extend([9, 8].map(|n| (1, packet(n, Class::RealTime, 50))));
    handed.extend([7, 6].map(|n| (11, packet(n, Class::RealTime, 50))));
    let pool = BufferPool::Reserved { own: Own::Each(1), shared: 1 };
    let (out, failed) = run(pooled(pool, Overload::Drop, link()), &handed);
    assert_eq!(out, [(0, 10), (1, 20), (9, 30), (7, 40)]);
    assert_eq!(failed, [2, 8, 6]);
}

/// The contract has two packets in its burst, and best effort none: it has one, of the shared ones.
/// Waiting does not block other channels.
#[test]
fn a_contract_has_the_buffers_of_its_burst() {
    let mut handed = best_effort(&[0, 0]);
    handed.extend([7, 8, 9].map(|n| (1, packet(n, Class::RealTime, 50))));
    let pool = BufferPool::Reserved { own: Own::Contract, shared: 1 };
    let (out, failed) = run(pooled(pool, Overload::Drop, link()), &handed);
    assert_eq!((out, failed), (vec![(0, 10), (7, 20), (8, 30)], vec![1, 9]));
    let (out, failed) = run(pooled(pool, Overload::Block, link()), &handed);
    // Fetched: 0, 7 and 8 at once, 1 when 0 has left at 10, 9 when 7 has.
    assert_eq!((out, failed), (vec![(0, 10), (7, 20), (8, 30), (1, 40), (9, 50)], vec![]));
}

/// One buffer: the second packet is fetched when the first has left at 14, or when it has been copied at 4.
#[test]
fn a_buffer_is_free_when_its_packet_is_copied() {
    let stages = |releases| {
        let copy = Phase { releases, ..phase(4, None) };
        vec![stage("copy", vec![copy]), stage("link", vec![phase(10, None)])]
    };
    let outcome =
        |releases, pool| run(pooled(pool, Overload::Block, stages(releases)), &best_effort(&[0, 0, 0])).0;
    for pool in [
        BufferPool::Shared(1),
        BufferPool::PerChannel(1),
        BufferPool::Reserved { own: Own::Contract, shared: 1 },
    ] {
        assert_eq!(outcome(false, pool), [(0, 14), (1, 28), (2, 42)]);
        assert_eq!(outcome(true, pool), [(0, 14), (1, 24), (2, 34)]);
    }
}

/// A packet behind the copying stage has no buffer to give: real time takes that of a packet that
/// waits before it, if there is one.
#[test]
fn a_buffer_that_is_free_is_not_given_up() {
    let copy = Phase { releases: true, ..phase(4, None) };
    let stages = || vec![stage("copy", vec![copy.clone()]), stage("link", vec![phase(30, None)])];
    let mut handed = best_effort(&[0, 0, 9]);
    handed.push((10, packet(9, Class::RealTime, 50)));
    // Packet 1 finds no buffer at 0. At 10 packet 0 is on the link, and 2 is being copied in the only one.
    let (out, failed) = run(pooled(BufferPool::Shared(1), Overload::Priority, stages()), &handed);
    assert_eq!((out, failed), (vec![(0, 34), (2, 64)], vec![1, 9]));
    let (out, failed) = run(pooled(BufferPool::Shared(2), Overload::Priority, stages()), &handed);
    assert_eq!((out, failed), (vec![(0, 34), (1, 64), (2, 94), (9, 124)], vec![]));
    handed.push((10, packet(3, Class::BestEffort, 0)));
    handed.push((11, packet(8, Class::RealTime, 50)));
    // Two buffers, of 2 and 9 at 10, so 3 is lost; at 11 best effort waits for the link, without one.
    let (out, failed) = run(pooled(BufferPool::Shared(2), Overload::Priority, stages()), &handed);
    assert_eq!((out.len(), failed), (4, vec![3, 8]));
}
