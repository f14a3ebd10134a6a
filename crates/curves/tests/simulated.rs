//! No frame of an exact simulation is later than its bound, and dearer traffic shortens no bound.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use laxity_curves::{Bucket, CopyOf, Effort, Flow, QueueNetwork, Server, bounds};
use laxity_units::{Bytes, Rate, Span};
use proptest::collection::vec;
use proptest::prelude::*;

/// Picoseconds in the arrivals of a test.
const US: u64 = 1_000_000;

/// Picobits in a byte.
const BITS: u128 = 8_000_000_000_000;

#[derive(Debug, Clone, Copy)]
struct Frame {
    flow: usize,
    size: Bytes,
    hop: usize,
    /// From when its delay counts.
    since: u64,
}

/// An event at a server, in the order of simultaneous events: an arrival before a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Source { frame: usize },
    Release { frame: usize },
    Arrival { server: usize, frame: usize },
    Free { server: usize },
    Earned { server: usize },
}

/// Credits of the shapers of a server, in picobits, and the instant up to which they are known.
#[derive(Debug, Clone, Default)]
struct Credits {
    values: Vec<i128>,
    known: u64,
}

impl Credits {
    /// Brings the credits of `server` to `now`: those of levels with frames in `queues`, and of the
    /// one that sends, have grown.
    fn pass(&mut self, server: &Server, now: u64, queues: &[VecDeque<usize>], sends: Option<u8>) {
        self.values.resize(server.shapers.len(), 0);
        for (value, &(level, slope)) in self.values.iter_mut().zip(&server.shapers) {
            let active = sends == Some(level) || !queues[usize::from(level)].is_empty();
            let grown = *value + i128::from(slope.bits_per_sec()) * i128::from(now - self.known);
            *value = if active { grown } else { grown.min(0).max((*value).min(0)) };
        }
        self.known = now;
    }

    /// The first level with a frame and without a debt.
    fn first(&self, server: &Server, queues: &[VecDeque<usize>]) -> Option<u8> {
        let free = |level: u8| {
            let shaper = server.shapers.iter().position(|shaper| shaper.0 == level);
            shaper.is_none_or(|shaper| self.values[shaper] >= 0)
        };
        (0..=255).find(|&level| !queues[usize::from(level)].is_empty() && free(level))
    }

    /// When the first level without a debt can send.
    fn earned(&self, server: &Server, queues: &[VecDeque<usize>]) -> Option<u64> {
        let waits = server.shapers.iter().zip(&self.values);
        let waits = waits.filter(|((level, _), _)| !queues[usize::from(*level)].is_empty());
        let at = waits.map(|((_, slope), value)| {
            let debt = u128::try_from(-value).unwrap_or(0);
            self.known + debt.div_ceil(u128::from(slope.bits_per_sec())) as u64
        });
        at.min()
    }
}

/// The regulators of a server: the last release of each by the server before, or by the flow at its
/// source, and the releases of each flow.
#[derive(Debug, Clone, Default)]
struct Regulators {
    last: BTreeMap<(Option<usize>, u8, usize), u64>,
    released: BTreeMap<usize, Vec<(u64, u128)>>,
}

impl Regulators {
    /// The release of a frame: no window from an earlier release on has more than the limits of the flow.
    fn release(&mut self, now: u64, flows: &[Flow], Frame { flow: index, size, hop, .. }: Frame) -> u64 {
        let flow = &flows[index];
        let from = hop.checked_sub(1).map(|before| flow.path[before]);
        let last = self.last.entry((from, flow.level, if from.is_none() { index } else { 0 })).or_default();
        let released = self.released.entry(index).or_default();
        let mut at = now.max(*last);
        let mut bits = u128::from(size.get()) * BITS;
        for &(before, earlier) in released.iter().rev() {
            bits += earlier;
            for bucket in &flow.source {
                let (burst, amount, time) = match *bucket {
                    Bucket::Fluid { burst, rate } => (burst.get(), u128::from(rate.bits_per_sec()), 1),
                    Bucket::Frames { size, burst, interval } => {
                        (size.get() * burst, u128::from(size.get()) * BITS, interval.as_ps())
                    }
                };
                let missing = bits.saturating_sub(u128::from(burst) * BITS) * u128::from(time);
                let later = missing.div_ceil(amount) as u64;
                at = at.max((before + later).saturating_sub(flow.tolerance.as_ps()));
            }
        }
        released.push((at, u128::from(size.get()) * BITS));
        *last = at;
        at
    }
}

/// Worst delay of each flow in ps, for `arrivals` of `(time, flow, size)` at the sources, with the
/// instant from which the delay counts.
///
/// A frame of best effort is under way whenever a server was idle, which is the worst start of a
/// busy period. `chance` is the share of a server's latency and of the slowness of its link that
/// each frame meets, in turn.
fn simulate(
    servers: &[Server],
    flows: &[Flow],
    arrivals: &[(u64, usize, Bytes, u64)],
    chance: &[u8],
) -> Vec<u64> {
    let mut frames: Vec<Frame> = Vec::new();
    let mut events = BinaryHeap::new();
    let mut chance = chance.iter().copied().cycle();
    let mut share = |most: u64| most * u64::from(chance.next().unwrap_or(255)) / 255;
    let mut ready = vec![0; servers.len()];
    // Frames pass the part before the queue in the order in which they arrived.
    let mut arrives = |now: u64, server: usize, share: &mut dyn FnMut(u64) -> u64| {
        ready[server] = (now + share(servers[server].latency.as_ps())).max(ready[server]);
        ready[server]
    };
    let mut sources = Vec::new();
    for &(sent, flow, size, since) in arrivals {
        sources.push(Reverse((sent, Event::Source { frame: frames.len() })));
        frames.push(Frame { flow, size, hop: 0, since });
    }
    events.extend(sources);
    let mut queues = vec![vec![VecDeque::new(); 256]; servers.len()];
    let mut busy = vec![false; servers.len()];
    // The level that a server sends; none while it sends best effort or waits.
    let mut sends = vec![None; servers.len()];
    let mut credits = vec![Credits::default(); servers.len()];
    let mut regulators = vec![Regulators::default(); servers.len()];
    let mut worst = vec![0; flows.len()];
    while let Some(Reverse((now, event))) = events.pop() {
        match event {
            Event::Source { frame } => {
                let Frame { flow, hop, .. } = frames[frame];
                let server = flows[flow].path[hop];
                let regulated = servers[server].regulated.contains(&flows[flow].level);
                let release = match regulated && !servers[server].fifo {
                    true => regulators[server].release(now, flows, frames[frame]),
                    false => now,
                };
                events.push(Reverse((release, Event::Release { frame })));
            }
            Event::Release { frame } => {
                let Frame { flow, hop, .. } = frames[frame];
                let server = flows[flow].path[hop];
                let ready = arrives(now, server, &mut share);
                events.push(Reverse((ready, Event::Arrival { server, frame })));
            }
            Event::Arrival { server, frame } => {
                let level = if servers[server].fifo { 0 } else { flows[frames[frame].flow].level };
                credits[server].pass(&servers[server], now, &queues[server], sends[server]);
                queues[server][usize::from(level)].push_back(frame);
                if busy[server] {
                    continue;
                }
                if credits[server].first(&servers[server], &queues[server]).is_none() {
                    let earned = credits[server].earned(&servers[server], &queues[server]);
                    events.extend(earned.map(|at| Reverse((at, Event::Earned { server }))));
                } else {
                    busy[server] = true;
                    // Best effort began just before.
                    let below = u128::from(servers[server].below.get()) * BITS;
                    let free = now + (below / u128::from(servers[server].rate.bits_per_sec())) as u64;
                    events.push(Reverse((free, Event::Free { server })));
                }
            }
            Event::Earned { server } => {
                credits[server].pass(&servers[server], now, &queues[server], sends[server]);
                if !busy[server] && credits[server].first(&servers[server], &queues[server]).is_some() {
                    busy[server] = true;
                    // Best effort began just before, while the class was in debt.
                    let below = u128::from(servers[server].below.get()) * BITS;
                    let free = now + (below / u128::from(servers[server].rate.bits_per_sec())) as u64;
                    events.push(Reverse((free, Event::Free { server })));
                }
            }
            Event::Free { server } => {
                credits[server].pass(&servers[server], now, &queues[server], sends[server]);
                sends[server] = None;
                credits[server].pass(&servers[server], now, &queues[server], None);
                let Some(level) = credits[server].first(&servers[server], &queues[server]) else {
                    busy[server] = false;
                    if let Some(at) = credits[server].earned(&servers[server], &queues[server]) {
                        events.push(Reverse((at, Event::Earned { server })));
                    }
                    continue;
                };
                sends[server] = Some(level);
                let frame = queues[server][usize::from(level)].pop_front().expect("a frame waits");
                let Frame { flow, size, since, .. } = frames[frame];
                let shaper = servers[server].shapers.iter().position(|shaper| shaper.0 == level);
                if let Some(shaper) = shaper {
                    credits[server].values[shaper] -= (u128::from(size.get()) * BITS) as i128;
                }
                let time = |rate: Rate| u128::from(size.get()) * BITS / u128::from(rate.bits_per_sec());
                let (fast, slow) = (time(servers[server].peak) as u64, time(servers[server].rate) as u64);
                let end = now + (fast + 1 + share(slow - fast)).min(slow);
                events.push(Reverse((end, Event::Free { server })));
                let arrived = end + servers[server].propagation.as_ps();
                frames[frame].hop += 1;
                let hop = frames[frame].hop;
                for (flow, _) in
                    flows.iter().enumerate().filter(|(_, it)| it.copy == Some(CopyOf { flow, hops: hop }))
                {
                    match flows[flow].path.get(hop) {
                        Some(_) => events.push(Reverse((arrived, Event::Source { frame: frames.len() }))),
                        None => worst[flow] = worst[flow].max(arrived.saturating_sub(since)),
                    }
                    frames.push(Frame { flow, size, hop, since });
                }
                match flows[flow].path.get(hop) {
                    Some(_) => events.push(Reverse((arrived, Event::Source { frame }))),
                    None => worst[flow] = worst[flow].max(arrived.saturating_sub(since)),
                }
            }
        }
    }
    worst
}

/// A drawn flow: its servers as bits, level, size, burst, interval in us, fluid or frames.
type Draw = (u8, u8, u64, u64, u64, bool);

fn flow(&(path, level, size, burst, interval, fluid): &Draw, servers: usize) -> Flow {
    let mut path: Vec<usize> = (0..servers).filter(|server| path >> server & 1 == 1).collect();
    if path.is_empty() {
        path.push(usize::from(level) % servers);
    }
    let longest = Bytes::new(size);
    let shortest = if fluid { Bytes::new(size.div_ceil(3)) } else { longest };
    let source = if fluid {
        // Rounded up, so that a full bucket every interval conforms.
        let rate = Rate::from_bits_per_sec((size * 8_000_000).div_ceil(interval));
        vec![Bucket::Fluid { burst: Bytes::new(size * burst), rate }]
    } else {
        vec![Bucket::Frames { size: longest, burst, interval: Span::from_us(interval) }]
    };
    Flow { level, source, shortest, longest, ..Flow::of_frames(path, Vec::new(), longest) }
}

/// Adds a copy of flow `of` that has `hops` servers of its path, and then those of `path` that are not of
/// them. It is made where it parts from the last of the flow and its copies.
fn add_copy(flows: &mut Vec<Flow>, of: usize, hops: usize, path: &[usize]) {
    let own = &flows[of];
    let mut shared = own.path[..1 + hops % own.path.len()].to_vec();
    shared.extend(path.iter().filter(|server| !shared.contains(server)).collect::<Vec<_>>());
    let root = |flow: usize| {
        std::iter::successors(Some(flow), |flow| Some(flows[*flow].copy?.flow)).last().expect("the first")
    };
    let common = |flow: &usize| {
        flows[*flow].path.iter().zip(&shared).take_while(|(server, other)| server == other).count()
    };
    let group = (0..flows.len()).filter(|flow| root(*flow) == root(of));
    let (hops, mut flow) = group.map(|flow| (common(&flow), flow)).max().expect("the flow");
    if hops == shared.len() || hops == flows[flow].path.len() {
        return;
    }
    while let Some(copy) = flows[flow].copy.filter(|copy| copy.hops >= hops) {
        flow = copy.flow;
    }
    flows.push(Flow { path: shared, copy: Some(CopyOf { flow, hops }), ..flows[of].clone() });
}

/// Arrivals within the limit of a drawn flow: bursts after pauses, then one frame an interval.
fn arrivals(index: usize, draw: &Draw, offset: u64, pauses: &[u8]) -> Vec<(u64, usize, Bytes)> {
    let &(_, _, size, burst, interval, fluid) = draw;
    let interval = interval * US;
    let mut out: Vec<(u64, usize, Bytes)> = Vec::new();
    // Logical arrivals are an interval apart; a frame can be up to `burst − 1` intervals before its own.
    let mut logical = offset;
    for (number, &pause) in pauses.iter().enumerate() {
        let at =
            logical.saturating_sub((burst - 1) * interval).max(out.last().map_or(offset, |&(at, ..)| at));
        let pause =
            if pause > 200 { interval * u64::from(pause - 200) } else { u64::from(pause % 8) * 5 * US };
        let at = if number == 0 || pause < 8 * US { at } else { at + pause };
        logical = logical.max(at) + interval;
        if fluid && pause % 2 == 1 {
            // As three small frames, which are within the bucket.
            out.extend([(at, index, Bytes::new(size.div_ceil(3))); 2]);
        } else {
            out.push((at, index, Bytes::new(size)));
        }
    }
    out
}

/// Delays the frames of a drawn flow until a further limit allows them, `burst` at once and one
/// each `tenths` of its interval, and adds the limit to the flow. The frames still keep the first
/// limit.
fn spread(flow: &mut Flow, sent: &mut [(u64, usize, Bytes)], (burst, tenths): (u64, u64)) {
    let Bucket::Frames { size, interval, .. } = flow.source[0] else { return };
    let interval = interval * tenths / 10;
    flow.source.push(Bucket::Frames { size, burst, interval });
    let (mut logical, mut last) = (0, 0);
    for (at, ..) in sent {
        *at = (*at).max(last).max(u64::saturating_sub(logical, (burst - 1) * interval.as_ps()));
        (logical, last) = (logical.max(*at) + interval.as_ps(), *at);
    }
}

/// When the delays of `sent`, by a drawn flow, count: from logical arrivals, or of a fluid from arrivals.
fn counts(draw: &Draw, sent: &[(u64, usize, Bytes)]) -> Vec<u64> {
    let &(.., interval, fluid) = draw;
    let since = |before: &mut u64, &(at, ..): &(u64, usize, Bytes)| {
        let logical = if fluid { at } else { at.max(*before) };
        *before = logical + interval * US;
        Some(logical)
    };
    sent.iter().scan(0, since).collect()
}

fn server() -> impl Strategy<Value = Server> {
    let below = prop_oneof![Just(0), 64_u64..1500];
    let slowness = prop_oneof![Just(1), 2_u64..30];
    let shapers = prop_oneof![Just(Vec::new()), vec((0_u8..3, 1_u64..10), 1..4)];
    let regulated = prop_oneof![Just(Vec::new()), vec(0_u8..3, 1..4)];
    (1_u64..=4, 0_u64..3, 0_u64..3, below, slowness, any::<bool>(), shapers, regulated).prop_map(
        |(rate, latency, propagation, below, slowness, fifo, shapers, regulated)| {
            // Of the highest rate; a transmission that is rounded down is faster than it.
            let least = rate * 25_000_000 / slowness * (slowness - slowness / 2);
            let shapers: BTreeMap<u8, u64> = shapers.into_iter().collect();
            let slope = |(level, tenths)| (level, Rate::from_bits_per_sec(least / 10 * tenths));
            Server {
                rate: Rate::from_bits_per_sec(least),
                peak: Rate::from_bits_per_sec(rate * 25_000_000 + 1_000),
                latency: Span::from_us(latency * 4),
                propagation: Span::from_us(propagation),
                fifo,
                below: Bytes::new(below),
                shapers: shapers.into_iter().map(slope).collect(),
                gates: None,
                cyclic: Vec::new(),
                regulated,
                preemption: None,
            }
        },
    )
}

fn has_regulator(server: &Server, level: u8) -> bool {
    !server.fifo && server.regulated.contains(&level)
}

fn draw() -> impl Strategy<Value = Draw> {
    (1_u8..32, 0_u8..3, 64_u64..1500, 1_u64..4, 300_u64..4000, any::<bool>())
}

/// Drawn networks of a test; `LAXITY_CURVES_CASES` asks for more.
fn cases() -> u32 {
    std::env::var("LAXITY_CURVES_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn no_simulated_frame_is_later_than_its_bound(
        servers in vec(server(), 2..6),
        draws in vec((draw(), 0_u64..40, vec(any::<u8>(), 1..12)), 2..9),
        one_level in any::<bool>(),
        copies in vec((any::<prop::sample::Index>(), 0_usize..5, draw()), 0..5),
        chance in vec(prop_oneof![Just(255_u8), Just(0), any::<u8>()], 1..40),
        further in vec(prop::option::of((1_u64..4, 1_u64..20)), 9),
    ) {
        let flows: Vec<Flow> = draws.iter().map(|(draw, ..)| flow(draw, servers.len())).collect();
        let mut flows: Vec<Flow> =
            flows.into_iter().map(|flow| if one_level { Flow { level: 0, ..flow } } else { flow }).collect();
        for (of, hops, path) in copies {
            let of = of.index(flows.len());
            add_copy(&mut flows, of, hops, &flow(&path, servers.len()).path);
        }
        let mut sent = Vec::new();
        for (index, (draw, offset, pauses)) in draws.iter().enumerate() {
            let mut own = arrivals(index, draw, offset * 20 * US, pauses);
            if let Some(further) = further[index] {
                spread(&mut flows[index], &mut own, further);
            }
            let since = counts(draw, &own);
            sent.extend(own.into_iter().zip(since).map(|((at, flow, size), since)| (at, flow, size, since)));
        }
        let network = QueueNetwork::new(servers.clone(), flows.clone()).expect("a network");
        let worst = simulate(&servers, &flows, &sent, &chance);
        for (flow, bound) in bounds(&network, Effort::default()).into_iter().enumerate() {
            if let Some(bound) = bound {
                prop_assert!(worst[flow] <= bound.delay.as_ps(), "flow {flow}: {} after {bound:?}", worst[flow]);
            }
        }
    }

    /// Most servers have regulators, paths are parts of a ring, and frames are late at their source.
    #[test]
    fn no_regulated_frame_is_later_than_its_bound(
        servers in vec(server(), 2..6),
        regulates in vec(prop::bool::weighted(0.8), 5),
        draws in vec((draw(), 0_u64..40, vec(any::<u8>(), 1..12), 0_usize..5, 0_u64..200, any::<bool>()), 2..9),
        copies in vec((any::<prop::sample::Index>(), 0_usize..5, draw()), 0..3),
        chance in vec(prop_oneof![Just(255_u8), Just(0), any::<u8>()], 1..40),
    ) {
        let mut servers = servers;
        for (server, _) in servers.iter_mut().zip(&regulates).filter(|(_, regulates)| **regulates) {
            (server.fifo, server.regulated) = (false, vec![0, 1, 2]);
        }
        let (mut flows, mut sent) = (Vec::new(), Vec::new());
        for (index, (draw, offset, pauses, turn, jitter, tolerates)) in draws.iter().enumerate() {
            let mut flow = flow(draw, servers.len());
            let turn = turn % flow.path.len();
            flow.path.rotate_left(turn);
            flow.jitter = Span::from_us(*jitter);
            flow.tolerance = if *tolerates { flow.jitter } else { Span::ZERO };
            // The bound of a flow that exceeds its bucket counts from the latest arrival, and that of a flow
            // without a regulator from the logical one.
            let own = arrivals(index, draw, offset * 20 * US, pauses);
            let logical = counts(draw, &own);
            let regulated = flow.path.iter().any(|server| has_regulator(&servers[*server], flow.level));
            let mut before = 0;
            for (nth, ((at, flow, size), logical)) in own.into_iter().zip(logical).enumerate() {
                let share = u64::from(chance[nth % chance.len()]);
                let comes = (at + jitter * US * share / 255).max(before);
                before = comes;
                let since = match (regulated, *tolerates) {
                    (true, true) => comes,
                    (true, false) => at + jitter * US,
                    (false, _) => logical + jitter * US,
                };
                sent.push((comes, flow, size, since));
            }
            flows.push(flow);
        }
        for (of, hops, path) in copies {
            let of = of.index(flows.len());
            let before = flows.len();
            add_copy(&mut flows, of, hops, &flow(&path, servers.len()).path);
            // The delays of a copy count from the same instants.
            let regulated = |flow: &Flow| flow.path.iter().any(|it| has_regulator(&servers[*it], flow.level));
            if flows[before..].iter().any(|copy| regulated(copy) != regulated(&flows[of])) {
                flows.truncate(before);
            }
        }
        let network = QueueNetwork::new(servers.clone(), flows.clone()).expect("a network");
        let worst = simulate(&servers, &flows, &sent, &chance);
        let found = bounds(&network, Effort::default());
        for (flow, bound) in found.into_iter().enumerate() {
            if let Some(bound) = bound {
                prop_assert!(worst[flow] <= bound.delay.as_ps(), "flow {flow}: {} after {bound:?}", worst[flow]);
            }
        }
    }

    #[test]
    fn dearer_traffic_shortens_no_bound(
        servers in vec(server(), 2..5),
        draws in vec(draw(), 2..7),
        which in any::<prop::sample::Index>(),
        how in 0..5,
        further in (1_u64..4, 1_u64..20),
    ) {
        let mut before: Vec<Flow> = draws.iter().map(|draw| flow(draw, servers.len())).collect();
        let mut dearer = draws.clone();
        let changed = which.index(draws.len());
        let (_, _, size, burst, interval, _) = &mut dearer[changed];
        let mut after_servers = servers.clone();
        match how {
            0 => *size += 100,
            1 => *burst += 1,
            2 => *interval -= *interval / 5,
            // A further limit is no more.
            3 => spread(&mut before[changed], &mut [], further),
            _ => after_servers.iter_mut().for_each(|server| server.below += Bytes::new(50)),
        }
        let after: Vec<Flow> = dearer.iter().map(|draw| flow(draw, servers.len())).collect();
        let before = bounds(&QueueNetwork::new(servers, before).expect("a network"), Effort::default());
        let after = bounds(&QueueNetwork::new(after_servers, after).expect("a network"), Effort::default());
        for (flow, (before, after)) in before.into_iter().zip(after).enumerate() {
            let Some(after) = after else { continue };
            let before = before.expect("cheaper traffic has a bound").delay.as_ps();
            // The solver works in floating point, so the proof of a program can be off by a little.
            let most = after.delay.as_ps() + after.delay.as_ps() / 1_000_000 + 10;
            prop_assert!(before <= most, "flow {flow}: {before} before, {after:?} after {how}");
        }
    }
}
