//! How many frames the host has not served: by hand, and against a host that serves them in order.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::incoming::{by, incoming, link};
use super::*;

fn group(burst: u64, interval: u64) -> FrameGroup {
    FrameGroup { burst, interval: us(interval) }
}

fn host(each: u64, tokens: u64, token: u64) -> NotifiedHost {
    let none = Span::ZERO;
    NotifiedHost { hears: none, each: us(each), tokens, token: us(token), once: none, rate: 0 }
}

/// Take a link with frames 2 us apart, of which 99 may have waited before and one more arrives each
/// 10 us. 1 + Δ/2 and 100 + Δ/10 cross after 247.5 us, when there are 124.75, counted as 126. At 4
/// us each 60 have been served by then, and with one more 67 wait. With four tokens of 6 us there
/// are 34 us before the first, and with 16 that wait 5.5 us for each: 38 by then.
#[test]
fn what_waited_in_ports_is_served_while_it_comes() {
    let mut row = incoming(vec![stage(vec![phase(1, 0)])], vec![link(2, 0, (100, 1000))]);
    assert_eq!(row.unserved(&host(4, 0, 0)), None, "the link alone brings more than that");
    row.sources[0].senders = by(vec![group(99, 10)]);
    assert_eq!(row.unserved(&host(4, 0, 0)), Some(126 - 60 + 1));
    assert_eq!(row.unserved(&host(4, 4, 6)), Some(126 - 38 + 16));
    // All of it 50 us later, and a tenth of the time, with 20 us, goes elsewhere: (0.9 · 197.5 −
    // 24)/4 = 38.4, and of the crossing as many.
    let busy = NotifiedHost { hears: us(50), once: us(20), rate: NotifiedHost::PARTS / 10, ..host(4, 0, 0) };
    assert_eq!(row.unserved(&busy), Some(126 - 38 + 1));
    // A host that takes no time has none but what it has not heard of, and what came in the 20 us
    // that it was elsewhere: rounded up, 36 in 70 us after the first.
    let quick = NotifiedHost { hears: us(50), once: us(20), ..host(0, 0, 0) };
    assert_eq!(row.unserved(&quick), Some(1 + 36 + 1 + 1));
    assert_eq!(row.unserved(&host(10, 0, 0)), None, "it is as slow as they come");
}

/// Short frames of a guaranteed channel and long ones of others: the link brings either, and of the
/// short ones there are few. The adapter takes 30 ns for a byte, of which a link takes 100 after 2
/// us, so short ones it can follow and long ones too; but 40 us more that it takes for any frame
/// are more than a short one's 12.
#[test]
fn guaranteed_frames_are_counted_and_others_by_the_link() {
    let mut row = incoming(vec![stage(vec![phase(40, 30)])], vec![link(2, 100, (100, 1000))]);
    assert_eq!(row.stay(), Err(EndlessFrames));
    let guaranteed = vec![group(1, 1000)];
    let others = vec![group(500, 90)];
    row.sources[0].senders = Some(FrameSenders { guaranteed, others, sizes: (KILO, KILO) });
    // Two of 70 at once and one each ms, and the others' 70 of 102: 210/(1 − 0.07 − 0.686), where
    // by sender there are 503 of 70.
    let stay = row.stay().unwrap().as_ps() as f64 / 1e6;
    assert!((stay - 210.0 / (1.0 - 0.07 - 70.0 / 102.0)).abs() < 0.01, "{stay}");
    // In that 1 + 1 guaranteed and 1 + 8 others.
    assert_eq!(row.within(row.stay().unwrap()), Some(11));
    // With none but those, the link has no say in what is guaranteed.
    row.sources[0].senders.as_mut().unwrap().others.clear();
    assert_eq!(row.within(us(800)), Some(2));
}

proptest! {
    /// Frames as close as link and groups let them arrive, or later, of which the host hears late,
    /// beside tokens that return at once or later: never more wait.
    #[test]
    fn no_more_wait_than_are_counted(
        burst in 1u64..40,
        (apart, interval) in (1u64..6, 5u64..30),
        (each, tokens, token) in (0u64..8, 0u64..5, 0u64..8),
        (hears, returns) in (0u64..40, 0u64..30),
        late in prop::collection::vec((0u64..3, 0u64..2), 120),
    ) {
        let mut row = incoming(vec![stage(vec![phase(0, 0)])], vec![link(apart, 0, (100, 1000))]);
        row.sources[0].senders = by(vec![group(burst, interval)]);
        let bound = row.unserved(&NotifiedHost { hears: us(hears), ..host(each, tokens, token) });
        prop_assume!(bound.is_some());
        let mut come: Vec<u64> = Vec::new();
        for (n, (later, _)) in late.iter().enumerate() {
            let after = |back: usize, by: u64| n.checked_sub(back).map_or(0, |before| come[before] + by);
            // Of b + j + 1 frames the last arrives more than j intervals after the first.
            let groups = (0..=n).map(|j| after(burst as usize + j, j as u64 * interval + 1));
            let link = after(1, apart);
            come.push(groups.fold(link, u64::max) + if *later == 2 { 5 } else { 0 });
        }
        let mut told: Vec<u64> = come.iter().zip(&late).map(|(at, (_, slow))| at + slow * hears).collect();
        told.sort_unstable();
        // In order of arrival; a token is there from the beginning.
        let mut frames = told.iter().copied().peekable();
        // Those that take no time and return at once are always there and delay no frame.
        let mut waiting: VecDeque<bool> = (0..tokens).filter(|_| token + returns > 0).map(|_| false).collect();
        let mut back: VecDeque<u64> = VecDeque::new();
        let (mut now, mut served, mut ends) = (0u64, 0usize, Vec::new());
        while served < told.len() {
            loop {
                let frame = frames.peek().copied().filter(|at| *at <= now);
                let token = back.front().copied().filter(|at| *at <= now);
                match (frame, token) {
                    (Some(at), other) if other.is_none_or(|other| at <= other) => {
                        frames.next();
                        waiting.push_back(true);
                    }
                    (_, Some(_)) => {
                        back.pop_front();
                        waiting.push_back(false);
                    }
                    _ => break,
                }
            }
            match waiting.pop_front() {
                Some(true) => {
                    now += each;
                    served += 1;
                    ends.push(now);
                }
                Some(false) => {
                    now += token;
                    back.push_back(now + returns);
                }
                None => now = frames.peek().copied().into_iter().chain(back.front().copied()).min().unwrap_or(now),
            }
        }
        // `k`th to arrive, `k`th to be served at the latest.
        let most = come.iter().enumerate().map(|(n, at)| {
            let gone = ends.partition_point(|end| *end < *at);
            n as u64 + 1 - gone as u64
        });
        let most = most.max().unwrap_or(0);
        prop_assert!(most <= bound.unwrap(), "{most} of {bound:?}");
    }
}
