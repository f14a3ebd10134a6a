//! No frame is later than its bound at a link with gates and shapers. The link is followed by whole
//! microseconds, at which gates change, and by the instants at which credits become positive.

use std::collections::VecDeque;

use laxity_curves::{Bucket, Effort, Flow, Gates, QueueNetwork, Server, bounds};
use laxity_units::{Bytes, Rate, Span};
use proptest::collection::vec;
use proptest::prelude::*;

/// Picoseconds.
const US: u64 = 1_000_000;

/// Picobits in a byte.
const BITS: u128 = 8_000_000_000_000;

const LEVELS: usize = 3;

/// 100 Mbit/s: a byte takes 80 ns.
const LINK: Rate = Rate::from_bits_per_sec(100_000_000);

fn takes(size: u64) -> u64 {
    size * 80_000
}

/// A window of the cycle, in us, and whether the gates of the levels and of frames below are open.
type Windows = Vec<(u64, [bool; LEVELS + 1])>;

struct Link {
    windows: Windows,
    cycle: u64,
    /// Idle slopes in bit/s.
    slopes: [Option<u64>; LEVELS],
    credits: [i128; LEVELS],
    queues: [VecDeque<(u64, usize, u64)>; LEVELS],
    now: u64,
}

impl Link {
    /// Whether the gate is open in the microsecond of `at`.
    fn open(&self, level: usize, at: u64) -> bool {
        let mut left = at / US % self.cycle;
        for (length, open) in &self.windows {
            match left.checked_sub(*length) {
                Some(after) => left = after,
                None => return open[level],
            }
        }
        unreachable!("the windows are the cycle")
    }

    fn stays_open(&self, level: usize, time: u64) -> bool {
        let last = (self.now + time - 1) / US;
        (self.now / US..=last).all(|us| self.open(level, us * US))
    }

    /// Time passes until `until`, while a frame of `sends` is on the link.
    fn pass(&mut self, until: u64, sends: Option<usize>) {
        while self.now < until {
            let next = until.min((self.now / US + 1) * US);
            for level in 0..LEVELS {
                let Some(slope) = self.slopes[level] else { continue };
                let time = if self.open(level, self.now) { i128::from(next - self.now) } else { 0 };
                let credit = &mut self.credits[level];
                let grown = *credit + i128::from(slope) * time;
                let active = sends == Some(level) || !self.queues[level].is_empty();
                *credit = if active { grown } else { grown.min(0).max((*credit).min(0)) };
            }
            self.now = next;
        }
    }

    /// The level that can send.
    fn first(&self) -> Option<usize> {
        let can = |level: &usize| {
            let front = self.queues[*level].front();
            let earned = self.slopes[*level].is_none() || self.credits[*level] >= 0;
            front.is_some_and(|(_, _, size)| earned && self.stays_open(*level, takes(*size)))
        };
        (0..LEVELS).find(can)
    }

    /// The next instant at which something can change.
    fn next(&self) -> u64 {
        let mut next = (self.now / US + 1) * US;
        for level in
            (0..LEVELS).filter(|level| !self.queues[*level].is_empty() && self.open(*level, self.now))
        {
            if let (Some(slope), debt) = (self.slopes[level], -self.credits[level])
                && debt > 0
            {
                next = next.min(self.now + (debt as u128).div_ceil(u128::from(slope)) as u64);
            }
        }
        next
    }
}

/// Worst delay of each flow in ps, for `arrivals` of `(time, flow, size)` in order, of which the delay counts
/// from logical arrivals. A frame below begins whenever no other can, with one of the sizes in turn; zero is
/// none.
fn simulate(link: &mut Link, flows: &[Flow], arrivals: &[(u64, usize, u64)], below: &[u64]) -> Vec<u64> {
    let mut logical = vec![0; flows.len()];
    let mut since = |at: u64, flow: usize| {
        let Bucket::Frames { interval, .. } = flows[flow].source[0] else { return at };
        let from = at.max(logical[flow]);
        logical[flow] = from + interval.as_ps();
        from
    };
    let mut arrivals: VecDeque<_> = arrivals.iter().copied().collect();
    let mut below = below.iter().copied().cycle();
    let mut worst = vec![0; flows.len()];
    let last = arrivals.back().map_or(0, |arrival| arrival.0) + 60_000 * US;
    while link.now < last {
        while let Some(&(at, flow, size)) = arrivals.front().filter(|arrival| arrival.0 <= link.now) {
            link.queues[usize::from(flows[flow].level)].push_back((at, flow, size));
            arrivals.pop_front();
        }
        let (sends, size) = match link.first() {
            Some(level) => {
                let (at, flow, size) = link.queues[level].pop_front().expect("a frame waits");
                worst[flow] = worst[flow].max((link.now + takes(size)).saturating_sub(since(at, flow)));
                if link.slopes[level].is_some() {
                    link.credits[level] -= (u128::from(size) * BITS) as i128;
                }
                (Some(level), size)
            }
            None => match below.next().filter(|size| *size > 0 && link.stays_open(LEVELS, takes(*size))) {
                Some(size) => (None, size),
                None => {
                    let arrives = arrivals.front().map_or(u64::MAX, |arrival| arrival.0);
                    let next = link.next().min(arrives);
                    link.pass(next, None);
                    continue;
                }
            },
        };
        // Frames that arrive meanwhile let the credit of their level grow.
        let end = link.now + takes(size);
        while let Some(&(at, flow, size)) = arrivals.front().filter(|arrival| arrival.0 < end) {
            link.pass(at, sends);
            link.queues[usize::from(flows[flow].level)].push_back((at, flow, size));
            arrivals.pop_front();
        }
        link.pass(end, sends);
        // A level without a frame keeps no credit.
        for level in (0..LEVELS).filter(|level| link.queues[*level].is_empty()) {
            link.credits[level] = link.credits[level].min(0);
        }
    }
    worst
}

fn server(link: &Link, below: u64) -> Server {
    let levels = (0..=LEVELS).filter_map(|level| {
        let cycle = link.cycle;
        let open = |us: u64| link.open(level, us % cycle * US);
        (0..cycle).find(|us| !open(*us)).map(|_| {
            let begins = (0..cycle).filter(|us| open(*us) && !open(us + cycle - 1));
            let length = |from: u64| (from..).take_while(|us| open(*us)).count() as u64;
            let windows = begins.map(|from| (Span::from_us(from), Span::from_us(length(from)))).collect();
            (if level == LEVELS { Gates::BELOW } else { level as u8 }, windows)
        })
    });
    let slopes = link.slopes.iter().enumerate();
    Server {
        below: Bytes::new(below),
        gates: Some(Gates { cycle: Span::from_us(link.cycle), open: levels.collect() }),
        shapers: slopes
            .filter_map(|(level, slope)| Some((level as u8, Rate::from_bits_per_sec((*slope)?))))
            .collect(),
        ..Server::by_level(LINK)
    }
}

/// Drawn networks of a test; `LAXITY_CURVES_CASES` asks for more.
fn cases() -> u32 {
    std::env::var("LAXITY_CURVES_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn no_frame_behind_gates_is_later_than_its_bound(
        windows in vec((10_u64..200, any::<[bool; LEVELS + 1]>()), 2..5),
        slopes in any::<[bool; LEVELS]>(),
        parts in any::<[u8; LEVELS]>(),
        draws in vec((0_u8..LEVELS as u8, 64_u64..800, 1_u64..4, 1000_u64..6000, 0_u64..3000, vec(any::<u8>(), 1..8)), 1..5),
        below in vec(prop_oneof![Just(0), 64_u64..1000], 1..6),
    ) {
        let slope = |level: usize| slopes[level].then(|| 1_000_000 * (1 + u64::from(parts[level]) * 98 / 255));
        let mut link = Link {
            cycle: windows.iter().map(|window| window.0).sum(),
            windows,
            slopes: std::array::from_fn(slope),
            credits: [0; LEVELS],
            queues: Default::default(),
            now: 0,
        };
        let server = server(&link, below.iter().copied().max().unwrap_or(0));
        let (mut flows, mut arrivals) = (Vec::new(), Vec::new());
        for (index, (level, size, burst, interval, offset, pauses)) in draws.iter().enumerate() {
            let source = vec![Bucket::Frames { size: Bytes::new(*size), burst: *burst, interval: Span::from_us(*interval) }];
            flows.push(Flow { level: *level, ..Flow::of_frames(vec![0], source, Bytes::new(*size)) });
            // Bursts, then a pause of a number of intervals and of some microseconds.
            let mut at = offset * US;
            for pause in pauses {
                arrivals.extend((0..*burst).map(|_| (at, index, *size)));
                at += burst * interval * US + u64::from(*pause) * 7 * US + u64::from(*pause) * 1000;
            }
        }
        arrivals.sort_by_key(|arrival| arrival.0);
        let network = QueueNetwork::new(vec![server], flows.clone()).expect("a network");
        let found = bounds(&network, Effort::default());
        prop_assume!(found.iter().any(Option::is_some));
        let worst = simulate(&mut link, &flows, &arrivals, &below);
        for (flow, bound) in found.into_iter().enumerate() {
            if let Some(bound) = bound {
                prop_assert!(worst[flow] <= bound.delay.as_ps(), "flow {flow}: {} after {bound:?}", worst[flow]);
            }
        }
    }
}
