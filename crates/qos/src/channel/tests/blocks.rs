//! The block of a handler between preemption points: each kind of block, and each class with its
//! own.

use super::*;

fn preemption(real_time: Block, early: Block, best_effort: Block) -> Preemption {
    Preemption { real_time, early, best_effort, immediate: false }
}

/// Best effort of exactly three packets a message.
fn best_effort() -> ChannelConfig {
    ChannelConfig::best_effort(PACKET * 3, 4, PACKET)
}

/// Handler 0 has two messages of three packets, handler 1 one. Best effort is first come, first
/// served, so a handler that yields goes behind the other.
///
/// * one packet: in turns, until the end of handler 1's message and from there alone;
/// * two: 0 0, 1 1, 0 and its message ends, which ends the block, 1, then all of 0's second
///   message;
/// * four, or a message: whole messages, because no block extends past one;
/// * never: the queue of handler 0 first.
#[test]
fn a_block_is_so_many_packets_or_a_message_or_the_queue() {
    for (block, expected) in [
        (Block::Packets(1), [0, 1, 0, 1, 0, 1, 0, 0, 0]),
        (Block::Packets(2), [0, 0, 1, 1, 0, 1, 0, 0, 0]),
        (Block::Packets(4), [0, 0, 0, 1, 1, 1, 0, 0, 0]),
        (Block::Message, [0, 0, 0, 1, 1, 1, 0, 0, 0]),
        (Block::Never, [0, 0, 0, 0, 0, 0, 1, 1, 1]),
    ] {
        let other = Block::Packets(7);
        let mut s = Subsystem::new(Config { preemption: preemption(other, other, block), ..config() });
        let (a, b) = (s.open(best_effort()), s.open(best_effort()));
        for id in [a, a, b] {
            s.send(at(0), id, PACKET * 3);
        }
        assert_eq!(threads(&drain(&mut s, at(0)).0), expected, "{block:?}");
    }
}

/// Number of packets of a four-packet message that its handler makes before one of an earlier
/// deadline, which arrives in the middle of the first packet.
fn before_the_other(preemption: Preemption, early: bool) -> usize {
    let mut s = Subsystem::new(Config { preemption, early: EarlyPolicy::CONSERVE, ..config() });
    let slow = s.open(real_time(9));
    let fast = s.open(real_time(5));
    if early {
        // Advances the logical clock of the slow channel, so that its next message is early.
        s.send(at(0), slow, PACKET);
        drain(&mut s, at(0));
        s.send(at(0), slow, SPEC.max_message);
        assert!(matches!(s.next_step(at(0)), Step::Process { thread: Thread::Proxy(0), .. }));
        s.finish(at(0));
    } else {
        s.send(at(0), slow, SPEC.max_message);
    }
    assert!(matches!(s.next_step(at(0)), Step::Process { thread: Thread::Handler(0), .. }));
    s.send(at(0), fast, PACKET);
    s.finish(at(0));
    1 + threads(&drain(&mut s, at(0)).0).iter().take_while(|thread| **thread == 0).count()
}

#[test]
fn each_class_has_blocks_of_its_own() {
    let wrong = Block::Packets(3);
    for (block, packets) in
        [(Block::Packets(1), 1), (Block::Packets(2), 2), (Block::Message, 4), (Block::Never, 4)]
    {
        assert_eq!(before_the_other(preemption(block, wrong, wrong), false), packets, "on time, {block:?}");
        assert_eq!(before_the_other(preemption(wrong, block, wrong), true), packets, "early, {block:?}");
    }
}

/// A handler that is never preempted drains its queue, except a message that is held; if the CPU
/// works ahead it drains that too, and needs no proxy.
#[test]
fn draining_stops_at_what_is_held() {
    let never = preemption(Block::Never, Block::Never, Block::Never);
    for (early, expected) in
        [(EarlyPolicy::HOLD, [0, 0, 0, 0].as_slice()), (EarlyPolicy::CONSERVE, &[0, 0, 0, 0, 0, 0, 0, 0])]
    {
        let mut s = Subsystem::new(Config { preemption: never, early, ..config() });
        let id = s.open(real_time(5));
        s.send(at(0), id, SPEC.max_message);
        s.send(at(0), id, SPEC.max_message);
        assert_eq!(threads(&drain(&mut s, at(0)).0), expected, "{early:?}");
    }
}

/// Only immediate preemption takes the CPU within a packet, only for a higher priority, and only
/// while a packet is being made. The preempted packet is resumed, once.
#[test]
fn immediate_preemption_is_for_the_more_urgent() {
    for immediate in [false, true] {
        let block = Block::Packets(2);
        let preemption = Preemption { immediate, ..preemption(block, block, block) };
        let mut s = Subsystem::new(Config { preemption, ..config() });
        let slow = s.open(real_time(9));
        let (equal, fast) = (s.open(real_time(9)), s.open(real_time(5)));
        s.send(at(0), slow, PACKET);
        assert!(!s.wants_preemption(at(0)), "nothing is being made");
        assert!(matches!(s.next_step(at(0)), Step::Process { resumed: false, .. }));
        s.send(at(0), equal, PACKET);
        assert!(!s.wants_preemption(at(0)), "an equal waits");
        s.send(at(0), fast, PACKET);
        assert_eq!(s.wants_preemption(at(0)), immediate);
        if immediate {
            s.preempt(at(0));
            let mut steps = Vec::new();
            loop {
                match s.next_step(at(0)) {
                    Step::Process { thread: Thread::Handler(n), resumed, .. } => {
                        steps.push((n, resumed));
                        s.finish(at(0));
                    }
                    Step::Transmit { .. } => {
                        assert!(!s.wants_preemption(at(0)), "the link scheduler is kept");
                    }
                    _ => break,
                }
            }
            // The handler of equal priority waited in the queue while the first had the CPU.
            assert_eq!(steps, [(2, false), (1, false), (0, true)]);
        }
    }
}

/// Without enforcement a message is whole, however large: a block of a message is its nine packets
/// though its contract has four, and there are no pieces.
#[test]
fn a_message_without_enforcement_is_whole() {
    let whole = preemption(Block::Message, Block::Message, Block::Message);
    for order in [Order::Fifo, Order::MultiClassEdf] {
        let mut s = Subsystem::new(Config { preemption: whole, order, enforcement: false, ..config() });
        let (large, other) = (s.open(real_time(5)), s.open(real_time(9)));
        s.send(at(0), large, PACKET * 9);
        s.send(at(0), other, PACKET);
        let (done, sent) = drain(&mut s, at(0));
        assert_eq!(threads(&done), [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        let mut deadlines = vec![sent[0].tag.deadline];
        let mut last = sent[0];
        loop {
            s.transmitted(at(0), &last);
            let Some(next) = s.interrupt_transmit(at(0)) else { break };
            last = next;
            deadlines.push(last.tag.deadline);
        }
        assert_eq!(deadlines, [vec![at(5); 9], vec![at(9)]].concat());
    }
}
