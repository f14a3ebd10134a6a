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
    /// Begin of the first window in us.
    offset: u64,
    /// Idle slopes in bit/s.
    slopes: [Option<u64>; LEVELS],
    credits: [i128; LEVELS],
    queues: [VecDeque<(u64, usize, u64)>; LEVELS],
    now: u64,
}

impl Link {
    /// Whether the gate is open in the microsecond of `at`.
    fn open(&self, level: usize, at: u64) -> bool {
        let mut left = (at / US + self.cycle - self.offset) % self.cycle;
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

/// Arrival and end of each frame in ps and its flow, for `arrivals` of `(time, flow, size)` in order. A frame
/// below begins whenever no other can, with one of the sizes in turn; zero is none.
fn simulate(
    link: &mut Link,
    flows: &[Flow],
    arrivals: &[(u64, usize, u64)],
    below: &[u64],
) -> Vec<(u64, u64, usize)> {
    let mut arrivals: VecDeque<_> = arrivals.iter().copied().collect();
    let mut below = below.iter().copied().cycle();
    let mut left = Vec::new();
    let last = arrivals.back().map_or(0, |arrival| arrival.0) + 60_000 * US;
    while link.now < last {
        while let Some(&(at, flow, size)) = arrivals.front().filter(|arrival| arrival.0 <= link.now) {
            link.queues[usize::from(flows[flow].level)].push_back((at, flow, size));
            arrivals.pop_front();
        }
        let (sends, size) = match link.first() {
            Some(level) => {
                let (at, flow, size) = link.queues[level].pop_front().expect("a frame waits");
                left.push((at, link.now + takes(size), flow));
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
    left
}

/// The instants from which delays of a flow count, arrival by arrival: its logical arrivals.
fn counts(flow: &Flow) -> impl FnMut(u64) -> u64 {
    let interval = match flow.source[..] {
        [Bucket::Frames { interval, .. }] => interval.as_ps(),
        _ => 0,
    };
    let mut next = 0;
    move |at| {
        let logical = at.max(next);
        next = logical + interval;
        logical
    }
}

/// The server of a link from which frames arrive `behind` ps after their end.
fn server(link: &Link, below: u64, behind: i64) -> Server {
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
        gates: Some(Gates { cycle: Span::from_us(link.cycle), open: levels.collect(), behind: Some(behind) }),
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
            offset: 0,
            slopes: std::array::from_fn(slope),
            credits: [0; LEVELS],
            queues: Default::default(),
            now: 0,
        };
        let server = server(&link, below.iter().copied().max().unwrap_or(0), 0);
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
        let mut counts: Vec<_> = flows.iter().map(counts).collect();
        for (at, end, flow) in simulate(&mut link, &flows, &arrivals, &below) {
            let delay = end.saturating_sub(counts[flow](at));
            if let Some(bound) = &found[flow] {
                prop_assert!(delay <= bound.delay.as_ps(), "flow {flow}: {delay} after {bound:?}");
            }
        }
    }

    /// A row of links with windows at different times, in cycles of which one is twice the others.
    #[test]
    fn no_frame_behind_rows_of_gates_is_later_than_its_bound(
        windows in vec((5_u64..60, any::<[bool; LEVELS + 1]>()), 2..5),
        alike in any::<bool>(),
        others in vec((vec((5_u64..60, any::<[bool; LEVELS + 1]>()), 2..5), 0_u64..1000, any::<bool>()), 1..4),
        behind in -1000_i64..20_000,
        draws in vec((0_u8..2, 64_u64..400, 1_u64..4, 1_u64..5, 0_u64..3000, vec((0_u64..300, 0_u64..3), 1..12), 0_usize..4, 0_usize..4), 1..5),
        below in vec(prop_oneof![Just(0), 64_u64..300], 1..6),
    ) {
        let cycle: u64 = windows.iter().map(|window| window.0).sum();
        let mut lists = vec![(windows.clone(), 0)];
        for (mut other, offset, twice) in others {
            let wanted = if twice { 2 * cycle } else { cycle };
            let last = wanted.saturating_sub(other.iter().map(|window| window.0).sum());
            other.push((last, [true, false, true, true]));
            let fits = !alike && last > 0;
            lists.push((if fits { other } else { windows.clone() }, offset));
        }
        let mut links: Vec<Link> = lists.into_iter().map(|(windows, offset)| {
            let cycle = windows.iter().map(|window| window.0).sum();
            let offset = offset % cycle;
            Link { windows, cycle, offset, slopes: [None; LEVELS], credits: [0; LEVELS], queues: Default::default(), now: 0 }
        }).collect();
        let most = below.iter().copied().max().unwrap_or(0);
        let servers = links.iter().map(|link| server(link, most, behind * 1000)).collect();
        let (mut flows, mut sources) = (Vec::new(), Vec::new());
        for (index, (level, size, burst, cycles, offset, pauses, one, other)) in draws.into_iter().enumerate() {
            let last = links.len() - 1;
            let path = one.min(other).min(last)..=one.max(other).min(last);
            let source = vec![Bucket::Frames { size: Bytes::new(size), burst, interval: Span::from_us(cycles * cycle) }];
            flows.push(Flow { level, ..Flow::of_frames(path.collect(), source, Bytes::new(size)) });
            let mut at = offset * US;
            for (us, ps) in pauses {
                sources.extend((0..burst).map(|_| (at, index, size)));
                at += (burst * cycles * cycle + us) * US + ps;
            }
        }
        let network = QueueNetwork::new(servers, flows.clone()).expect("a network");
        let found = bounds(&network, Effort::default());
        prop_assume!(found.iter().any(Option::is_some));
        let mut left: Vec<(u64, u64, usize)> = Vec::new();
        let mut ends = vec![Vec::new(); flows.len()];
        for (place, link) in links.iter_mut().enumerate() {
            let goes_on = |flow: &usize| flows[*flow].path.contains(&place);
            let come = left.drain(..).map(|(_, end, flow)| (end.saturating_add_signed(behind * 1000), flow));
            let begins = sources.iter().filter(|source| flows[source.1].path[0] == place);
            let mut arrivals: Vec<(u64, usize, u64)> = come
                .filter(|(_, flow)| goes_on(flow))
                .map(|(at, flow)| (at, flow, flows[flow].longest.get()))
                .chain(begins.copied())
                .collect();
            arrivals.sort_by_key(|arrival| arrival.0);
            left = simulate(link, &flows, &arrivals, &below);
            for (_, end, flow) in left.iter().filter(|(_, _, flow)| flows[*flow].path.last() == Some(&place)) {
                ends[*flow].push(*end);
            }
        }
        // The frames of a flow keep their order.
        for (flow, ends) in ends.iter().enumerate() {
            let begins = sources.iter().filter(|source| source.1 == flow).map(|source| source.0);
            let mut counts = counts(&flows[flow]);
            for (at, end) in begins.zip(ends) {
                let since = counts(at);
                let Some(bound) = &found[flow] else { continue };
                let paths = behind * 1000 * (flows[flow].path.len() as i64 - 1);
                let delay = end.saturating_add_signed(-paths).saturating_sub(since);
                prop_assert!(delay <= bound.delay.as_ps(), "flow {flow}: {delay} after {bound:?}");
            }
        }
    }
}
