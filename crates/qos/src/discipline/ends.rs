//! The ends of messages at a server by rates: traffic with which the argument of
//! [`Messages`](super::Messages) is tight.

use laxity_units::{Bytes, Span, Time};

use super::server::{item, send, server};
use super::{Messages, Order, Share, Sharing};
use crate::costs::LinkCosts;
use crate::virtual_clock::Vtick;

/// Cross traffic, from the beginning: ten flows, of which an item of 1 B is left of a message of
/// 101 B (or of one that is larger by 1 B, so that there are two), and then message after message.
/// An item of 1 B takes 901 ns, one of 100 B takes 1 us.
fn lateness(rest: bool) -> (Span, Span) {
    const OTHERS: usize = 10;
    let speed = LinkCosts::new(Span::from_ns(900), Span::from_ns(1));
    let share = |size: u64, largest: u64, smallest: u64| {
        let [size, largest, smallest] = [size, largest, smallest].map(Bytes::new);
        let messages = Some(Messages { least: size, most: size });
        let (tick, level) = (Vtick::new(Span::from_ns(1), Bytes::new(1)), 0);
        Share { tick, burst: size, largest, smallest, messages, level, group: None }
    };
    let mut flows = vec![share(101, 100, 1); OTHERS];
    flows.push(share(100, 100, 100));
    let (frame, groups) = (Span::ZERO, Vec::new());
    let mut sharing = Sharing { speed, flows, without: Bytes::ZERO, frame, groups };
    // Each flow has an eleventh of the server.
    for place in 0..=OTHERS {
        let costly = sharing.costly(&sharing.flows[place]);
        let every = costly.time.saturating_mul(OTHERS as u64 + 1) + Span::from_ps(1);
        sharing.flows[place].tick = Vtick::new(every, costly.size);
    }
    assert!(sharing.fits());
    let message: &[u64] = if rest { &[100, 1, 1] } else { &[100, 1] };
    let sizes = |flow: usize| -> Vec<u64> {
        let own = if flow == OTHERS { &[100][..] } else { message };
        own[own.len().min(1)..].iter().chain(own.repeat(40).iter()).copied().collect()
    };
    let items = |flow: usize| {
        let tick = sharing.flows[flow].tick;
        sizes(flow).into_iter().map(move |size| (Time::ZERO, item(flow, size, tick, Time::ZERO)))
    };
    let arrivals = (0..=OTHERS).flat_map(items).collect();
    let mut clocks = [Time::ZERO; OTHERS + 1];
    let ends: Vec<Time> = (0..=OTHERS)
        .flat_map(|flow| sizes(flow).into_iter().map(move |size| (flow, size)))
        .map(|(flow, size)| {
            clocks[flow] += sharing.flows[flow].tick.of(Bytes::new(size));
            clocks[flow]
        })
        .collect();
    let sent = send(Order::VirtualClock, &server(&sharing), &arrivals, true);
    // While all flows have items.
    let all = clocks.into_iter().min().unwrap();
    let counted = sent.iter().filter(|sent| ends[sent.item] < all);
    let late = counted.map(|sent| sent.left.saturating_since(ends[sent.item])).max().unwrap();
    (late, Order::VirtualClock.latencies(&sharing)[0].unwrap().after())
}

/// The ends are `901 − 1901/101` ns too long for their size each, 8.8 us in all, and twice as long
/// where a rest of 1 B follows them. The promise counts two of them and the item begun before.
#[test]
fn ends_of_messages_delay_all_once() {
    let (late, promised) = lateness(false);
    assert!(late > Span::from_ns(8000) && late <= promised, "{late} of {promised}");
    let (late, promised) = lateness(true);
    assert!(late > promised - Span::from_ns(2000) && late <= promised, "{late} of {promised}");
}
